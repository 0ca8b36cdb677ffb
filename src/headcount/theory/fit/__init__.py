"""Fitting: the best sum of heads for a kernel. `fit_heads` chooses the method;
`best_coefficients` is for given rates.
"""

from headcount.theory.fit.choose import (
    enough_heads,
    error_near,
    fewest_heads,
    fit_heads,
    least_error,
)
from headcount.theory.fit.given_rates import best_coefficients
from headcount.theory.fit.shaped_fit import DEFAULT_LEAK

__all__ = [
    "DEFAULT_LEAK",
    "best_coefficients",
    "enough_heads",
    "error_near",
    "fewest_heads",
    "fit_heads",
    "least_error",
]
