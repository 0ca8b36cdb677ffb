"""Further checks: rates, depth, heads, bias, failures."""
