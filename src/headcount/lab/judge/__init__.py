"""Judging: hypotheses fixed in advance, verdicts on them, and why a run failed."""
