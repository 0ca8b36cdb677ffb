"""`KernelFit`: four numbers for a kernel and a bias, and the heads behind them."""

import dataclasses
import math
from typing import Any

import numpy as np
from flint import arb

from headcount.core.claims import Claim, Norm, Status
from headcount.theory.balls import precision
from headcount.theory.head_sum import HeadSum
from headcount.theory.measure import Errors, Norms, head_values
from headcount.theory.problem import Problem
from headcount.theory.promised import Promised
from headcount.theory.returned_numbers import Number
from headcount.theory.rounding import Rounded


@dataclasses.dataclass(frozen=True, repr=False)
class KernelFit:
    """Four numbers for a kernel and a bias: promised, possible (`error`, `lower_bound`),
    representable (float32, bfloat16).
    """

    kernel: str
    bias: str
    heads: int
    norm: Norm
    window: int | None
    budget: float
    rates: tuple[float, ...]
    coefficients: tuple[Number, ...]
    errors: Errors
    rounded: dict[str, Rounded]
    coefficient_sum: Number
    digits_lost: float
    lower_bound: Claim | None
    promised: Promised
    method: str
    notes: tuple[str, ...]
    parameters: tuple[dict[str, Any], ...]
    problem: Problem
    head_sum: HeadSum
    softmax_weight_sum: Number | None = None
    sink: dict[str, Any] | None = None
    seconds: float = 0.0
    # ^C ended the search early: the result holds, but a longer search may do better
    interrupted: bool = False

    @property
    def error(self) -> Norms:
        """Upper ends of the enclosures of the l1, l2 and sup error, tail included."""
        return self.errors.absolute

    def by_chance(self, dtype: str) -> bool:
        """Does the format do well only because roundings happen to agree?"""
        whole = self.errors.kernel[self.norm]
        return self.rounded[dtype].by_chance(self.norm, whole, self.digits_lost)

    @property
    def target(self) -> np.ndarray:
        """The kernel on lags 0..length-1, float64.  [S]"""
        return self.problem.kernel.values(self.problem.length)

    def drawn(self) -> np.ndarray:
        """The fitted kernel on lags 0..length-1, float64.  [S]"""
        return _drawn(self.problem, self.head_sum)

    def plot(self) -> Any:
        """A matplotlib figure: kernel and fit above, what is left below, by lag."""
        from headcount.theory.fit_text import figure

        return figure(self)

    def __repr__(self) -> str:
        from headcount.theory.fit_text import one_line

        return f"<KernelFit {one_line(self)}>"

    def _repr_html_(self) -> str:
        from headcount.theory.fit_text import html

        return html(self)

    def to_json(self) -> dict[str, Any]:
        """Plain values; null stands for 'no limit' (budget), 'no number' (a rounded evaluation
        that overflows) or 'none asked for'.
        """
        bound = self.lower_bound
        return {
            "kernel": self.kernel,
            "bias": self.bias,
            "heads": self.heads,
            "norm": str(self.norm),
            "window": self.window,
            "budget": finite_or(self.budget),
            "rates": [finite_or(b, "inf") for b in self.rates],
            "coefficients": list(self.coefficients),
            "error": _json_norms(self.errors.absolute),
            "error_float32": finite_or(self.rounded["float32"].error[self.norm]),
            "error_bfloat16": finite_or(self.rounded["bfloat16"].error[self.norm]),
            "coefficient_sum": self.coefficient_sum,
            "digits_lost": self.digits_lost,
            "lower_bound": None if bound is None else json_bound(bound),
            "promised": self.promised.to_json(),
            "seconds": self.seconds,
            "error_relative": _json_norms(self.errors.relative),
            "error_window": _json_norms(self.errors.window),
            "kernel_norm": _json_norms(self.errors.kernel),
            "tail": {
                **dataclasses.asdict(self.errors.tail),
                "bound": finite_or(self.errors.tail.bound),
            },
            "rounding": {
                name: {
                    **_json_norms(r.error),
                    "finite": r.finite,
                    "by_chance": self.by_chance(name),
                }
                for name, r in self.rounded.items()
            },
            "softmax_weight_sum": self.softmax_weight_sum,
            "sink": self.sink,
            "parameters": list(self.parameters),
            "method": self.method,
            "notes": list(self.notes),
        }


def json_bound(bound: Claim) -> dict[str, Any]:
    """The claim, and beside it its main fields under the names that scripts know."""
    return {
        **bound.to_json(),
        "certified": bound.status is Status.PROVED,
        "budget": finite_or(bound.scope.weight),
        "heads": bound.scope.heads,
        "missing": "",
        "lowest_rate": bound.scope.lowest_rate,
    }


def _drawn(problem: Problem, head_sum: HeadSum) -> np.ndarray:
    """The sum of heads on lags 0..length-1, at a precision that holds the cancellation.  [S]"""
    with precision(100 + head_sum.weight_bits):
        balls = head_values(
            problem, head_sum.curves, [arb(a) for a in head_sum.coefficients], problem.length
        )
        return np.array([float(x) for x in balls])


def finite_or(value: float, otherwise: str | None = None) -> Any:
    """The number, or what stands for none."""
    return value if math.isfinite(value) else otherwise


def _json_norms(norms: Norms) -> dict[str, Any]:
    return {name: finite_or(value) for name, value in norms.to_json().items()}
