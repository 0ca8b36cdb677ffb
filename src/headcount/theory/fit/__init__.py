"""Fitting: the best sum of heads for a kernel. `fit_heads` chooses the method;
`best_coefficients` is for given rates.
"""

from headcount.theory.fit.choose import Fit, fewest_heads, fit_heads
from headcount.theory.fit.fixed import best_coefficients

__all__ = ["Fit", "best_coefficients", "fewest_heads", "fit_heads"]
