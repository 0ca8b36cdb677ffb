"""The question every file of this folder answers part of, and the answer's shape.

Question (`Problem`): how close can  sum_h a_h phi(s; b_h)  come to kernel(s), in which norm, over
which lags? Answer (`HeadSum`): curves and coefficients a_h. Errors are never stored with it:
`measure.measure` recomputes them from these numbers in ball arithmetic, whoever produced them.

Which lags count. An explicit `window` S says that lags >= S do not exist (sequences are no longer
than S). Without one every lag counts, and so does the tail of the heads, unless the kernel itself
cannot be summed (s^-0.5): then the first 1024 lags count.

Which rates are admitted. A head does not grow with the lag: b >= 0. On finitely many lags that is
all. On all lags an error can be finite only if every head's own norm is: a sum of different powers
s^-b falls as slowly as its slowest term. So for log and log1p heads b > 1 in l1 and b > 1/2 in l2,
and any b >= 0 in the sup norm (`AbstractFamily.slowest`).

Lag 0. A model that answers w(x_t + sum of heads) has the coefficient of x_t for free: with
`residual` lag 0 costs nothing. Counted from lag 1 a head is as good as before: e^{-b s} = e^{-b}
e^{-b(s-1)}, and where (1+s)^{-b} = int x^s dG(x) it is int x^{s-1} x dG(x). So bounds by lags
counted from 0 hold for lags counted from 1: lag T needs T lin heads instead of T+1.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from headcount.core.claims import Claim, Lags, Norm, Scope, Sense, Status
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.kernels import AbstractKernel
from headcount.theory.heads import AbstractDecay, AbstractFamily, Lin, as_decay

DEFAULT_WINDOW = 1024
LONGEST = 2**20  # lags handled one by one


@dataclasses.dataclass(frozen=True)
class Problem:
    """A kernel, the curves to add up, and the norm. `budget` bounds sum_h |a_h|; `residual`: x_t
    comes free, lag 0 costs nothing.
    """

    kernel: AbstractKernel
    family: AbstractFamily
    norm: Norm = Norm.L1
    window: int | None = None
    budget: float = math.inf
    residual: bool = False
    rates_from: float = 0.0  # slower heads are not wanted

    @property
    def lowest_rate(self) -> float:
        """Rates b >= this are admitted (module docstring)."""
        possible = self.family.slowest(self.norm) if self.tail_counts else 0.0
        return max(possible, self.rates_from)

    def scope(self, heads: int | None = None) -> Scope:
        """What a claim about this problem and at most so many heads is about."""
        return Scope(
            bias=self.family.name,
            lowest_rate=self.lowest_rate,
            heads=heads,
            weight=self.budget,
            norm=self.norm,
            lags=Lags(self.first_lag, None if self.tail_counts else self.length),
        )

    def at_least(
        self, value: float, method: str, ref: Ref, evidence: dict[str, Any], **proved: Any
    ) -> Claim:
        """The claim that no sum of heads comes closer. `proved` are the fields of the scope in
        which the proof covers more than the problem asks (all weights, fewer lags, …)."""
        scope = dataclasses.replace(self.scope(), **proved)
        return Claim(
            self.kernel, scope, Sense.AT_LEAST, value, Status.PROVED, method, ref, evidence
        )

    def __post_init__(self):
        support, window = self.kernel.support, self.window
        require(
            window is None or window >= 1,
            f"window {window}",
            "at least 1 lag",
            "pass a longer --window",
        )
        short = window is not None and support is not None and window < support
        require(
            not short,
            f"window {window} ends before the kernel does (lag {(support or 1) - 1})",
            f"at least {support}",
            "pass a longer --window",
        )
        lags = self.length
        require(
            lags <= LONGEST, f"{lags} lags", f"at most {LONGEST}", "use a shorter lag or --window"
        )
        fix = "a head cannot grow with the lag"
        require(self.rates_from >= 0, f"rates from {self.rates_from}", "at least 0", fix)
        require(
            self.budget > 0,
            f"budget {self.budget}",
            "a positive number",
            "pass --budget 1000, or leave it out for none",
        )

    @property
    def decay(self) -> AbstractDecay:
        """The family, where it is one of decays: all that searches rates, and all bounds."""
        return as_decay(self.family)

    @property
    def first_lag(self) -> int:
        """The first lag that counts: visible to the heads, where the kernel has a value of its own,
        and not given by the residual.

        Lag 0 is x_t: where the kernel is singular there (s^-b) or the heads do not see it (log),
        the readout takes care of it in any case (docs/errata.md#e5). Bounds use no earlier lag:
        leaving one out only lowers the norm.
        """
        return max(self.family.first_lag, 1 if self.kernel.singular_at_zero or self.residual else 0)

    def used_after(self, heads: int) -> int:
        """R of Theorem A (`bounds.theorem_a`): how many lags after an isolated one its proof for so
        many heads uses.
        """
        return (heads + 1) // 2 if isinstance(self.family, Lin) else heads // 2 + 1

    def interpolated_by(self, heads: int) -> bool:
        """Without a budget these heads come as close to the kernel as one likes: one per lag of a
        finite support, each much faster than the last, so that nothing is left beyond it.
        """
        support = self.kernel.support
        return support is not None and heads >= support - self.first_lag

    @property
    def lags(self) -> np.ndarray:
        """The lags that are fitted, float64.  [S]"""
        return np.arange(self.first_lag, self.length, dtype=np.float64)

    @property
    def length(self) -> int:
        """Number of lags 0..length-1 handled one by one."""
        if self.window is not None:
            return self.window
        return max(DEFAULT_WINDOW, 2 * (self.kernel.support or 0))

    @property
    def tail_counts(self) -> bool:
        """Do lags >= length count? Not where an explicit window says that they do not exist."""
        return self.window is None and self.kernel.summable

    @property
    def target(self) -> np.ndarray:
        """The kernel on `lags`, float64.  [S]"""
        return self.kernel.values(self.length)[self.first_lag :]
