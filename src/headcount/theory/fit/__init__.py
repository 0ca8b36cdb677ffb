"""Fitting: the best sum of heads for a kernel. `fit_heads` chooses the method; `best_coefficients` is for given rates."""

from headcount.theory.fit.choose import Fit, fewest_heads, fit_heads

__all__ = ["Fit", "fewest_heads", "fit_heads"]
