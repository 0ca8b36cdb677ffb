"""Weights by formula: models that are written down, not trained."""
