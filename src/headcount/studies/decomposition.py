"""The excess risk of a trained model as a sum of four terms, each measured on its own.

    approximation   the smallest loss of weights of this architecture that are known
    precision       how much of it float32 adds
    optimisation    what training on fresh data (no sample is seen twice) leaves above that
    estimation      what n samples leave above fresh data, after as many steps

Risks are against the clean answer, so that noise is in none of them. Means over seeds are used, for
only means add up: risk(n) = approximation + precision + optimisation + estimation(n), exactly. The
intervals are t-intervals of the mean over seeds; a seed means the same initial weights with n
samples as with fresh data, so that estimation is a paired difference. It may be negative: with few
steps, samples that are seen again can help.

A curve is read as a whole, so its intervals hold *together* with 90%: those of k sizes are taken at
1 - 0.1/k each (Bonferroni).
"""

import dataclasses
import enum
from typing import Any

import numpy as np

from headcount.lab.judge.statistics import Interval, t_interval

CONFIDENCE = 0.90


class Term(enum.StrEnum):
    """A part of the risk."""

    APPROXIMATION = "approximation"
    PRECISION = "precision"
    ESTIMATION = "estimation"
    OPTIMISATION = "optimisation"


@dataclasses.dataclass(frozen=True)
class Measured:
    """A mean over seeds; a computed number has no interval."""

    value: float
    interval: Interval | None = None

    @classmethod
    def over(cls, values: np.ndarray, together: int = 1) -> "Measured":
        """[seeds]; the interval is one of `together` that hold at once."""
        level = 1 - (1 - CONFIDENCE) / together
        return cls(float(np.mean(values)), t_interval(np.asarray(values), level))

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "interval": self.interval and self.interval.to_json()}


@dataclasses.dataclass(frozen=True)
class Floor:
    """What is known of an architecture without training. None: not known, and the terms that need
    it are told together with `optimisation`.
    """

    approximation: float | None = None
    precision: float | None = None
    why: str = ""

    @property
    def known(self) -> float:
        return (self.approximation or 0.0) + (self.precision or 0.0)


@dataclasses.dataclass(frozen=True)
class RiskPoint:
    """One size: n samples (None: fresh data) of a model `at` some heads, neurons, layers."""

    n: int | None
    at: dict[str, int]
    risks: np.ndarray  # [seeds]
    fresh: np.ndarray  # [seeds] of the same model on fresh data
    floor: Floor
    effective: int | None = None  # samples that count as independent
    together: int = 1  # sizes of the curve, whose intervals hold at once

    @property
    def risk(self) -> Measured:
        """A risk is never below 0, and so its interval is cut there."""
        found = Measured.over(self.risks, self.together)
        ends = found.interval
        if ends is None or ends.low >= 0:
            return found
        return Measured(found.value, Interval(0.0, ends.high))

    @property
    def terms(self) -> dict[Term, Measured | None]:
        """They add up to `risk`; unknown floors count as 0 and are None here."""
        floor = self.floor
        return {
            Term.APPROXIMATION: None
            if floor.approximation is None
            else Measured(floor.approximation),
            Term.PRECISION: None if floor.precision is None else Measured(floor.precision),
            Term.ESTIMATION: Measured.over(self.risks - self.fresh, self.together),
            Term.OPTIMISATION: Measured.over(self.fresh - floor.known, self.together),
        }

    @property
    def dominant(self) -> Term:
        """The largest term."""
        known = {term: found.value for term, found in self.terms.items() if found is not None}
        return max(known, key=lambda term: known[term])

    def to_json(self) -> dict[str, Any]:
        terms = {str(t): None if m is None else m.value for t, m in self.terms.items()}
        intervals = {str(t): m.to_json()["interval"] for t, m in self.terms.items() if m}
        risk = self.risk
        return {
            "n": self.n, **self.at, "risk": risk.value, **terms,
            "interval": risk.interval and risk.interval.to_json(), "intervals": intervals,
            "dominant": str(self.dominant), "seeds": len(self.risks), "effective": self.effective,
        }  # fmt: skip
