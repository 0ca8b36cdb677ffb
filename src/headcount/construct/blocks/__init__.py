"""Parts that methods share: named subspaces, layers, slots, heads with coefficients, networks."""
