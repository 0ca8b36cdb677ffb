"""Head families: the curve over lags that one attention head with a relative bias can draw.

A dot-product-free layer of H heads adds up H curves, kernel(s) ~ sum_h a_h phi(s; b_h). Which
curves there are is the positional bias's doing: lin draws e^{-b s}, log draws s^{-b} (lag 0
excluded), log1p (1+s)^{-b}. Everything in `theory` that concerns a family asks this one interface.

Worked example — the best single exponential for the lag-1 kernel is zero (Theorem A):

    family = Lin(); columns = family.columns(np.array([0.5, 2.0]), np.arange(4))   # [S, H]
"""

import abc
import dataclasses
import math
from typing import ClassVar

import numpy as np
from flint import arb

from headcount.core.claims import Norm
from headcount.core.errors import unknown
from headcount.core.refs import Ref

# sum s^-b, sum s^-2b and max s^-b are finite for b above (sup: from) these
SLOWEST_POWER = {Norm.L1: 1.0, Norm.L2: 0.5, Norm.SUP: 0.0}


class AbstractFamily(abc.ABC):
    """Curves phi(s; b) of one real rate b >= 0, decaying, phi <= 1, decreasing in b."""

    name: ClassVar[str]
    formula: ClassVar[str]
    ref: ClassVar[Ref]
    first_lag: ClassVar[int]  # smallest lag that the family can see

    @abc.abstractmethod
    def slowest(self, norm: Norm) -> float:
        """The infimum of the rates whose curve has a finite norm over all lags."""

    @abc.abstractmethod
    def columns(self, rates: np.ndarray, lags: np.ndarray) -> np.ndarray:
        """phi(s; b) in float64, [S, H]; zero at lags that the family cannot see."""

    @abc.abstractmethod
    def slopes(self, rates: np.ndarray, lags: np.ndarray) -> np.ndarray:
        """d phi / d log b, [S, H]."""

    @abc.abstractmethod
    def curve(self, rate: float, length: int) -> list[arb]:
        """phi(0..length-1; b) as balls; `rate` enters exactly, `inf` gives the limit curve."""

    @abc.abstractmethod
    def tail(self, rate: float, start: int) -> arb:
        """sum_{s >= start} phi(s; b) as a ball (infinite where it diverges)."""


@dataclasses.dataclass(frozen=True)
class Lin(AbstractFamily):
    """e^{-b s}: every bias that is linear in the lag (lin, ALiBi)."""

    name = "lin"
    formula = "phi(s) = e^{-b s}"
    ref = Ref("wang-e-2024", "Lemma F.1")
    first_lag = 0

    def slowest(self, norm):
        return 0.0

    def columns(self, rates, lags):
        with np.errstate(invalid="ignore"):
            return np.exp(np.where(lags[:, None] == 0, 0.0, -rates[None, :] * lags[:, None]))

    def slopes(self, rates, lags):
        z = rates[None, :] * lags[:, None]
        return np.where(np.isfinite(z), -z * np.exp(-np.minimum(z, 745.0)), 0.0)

    def curve(self, rate, length):
        if math.isinf(rate):
            return [arb(1)] + [arb(0)] * (length - 1)
        base = (-arb(rate)).exp()
        return _powers(base, length)

    def tail(self, rate, start):
        if math.isinf(rate):
            return arb(1 if start == 0 else 0)
        b = arb(rate)
        return (-b * start).exp() / -(-b).expm1()


@dataclasses.dataclass(frozen=True)
class Log(AbstractFamily):
    """s^{-b} from lag 1 on: the paper's logarithmic bias. Lag 0 is invisible to it."""

    name = "log"
    formula = "phi(s) = s^{-b}, s >= 1; phi(0) = 0"
    ref = Ref("wang-e-2024", "Lemma F.4")
    first_lag = 1

    def slowest(self, norm):
        return SLOWEST_POWER[norm]

    def columns(self, rates, lags):
        return _shifted_power(rates, np.asarray(lags, dtype=np.float64))

    def slopes(self, rates, lags):
        return _shifted_power_slopes(rates, np.asarray(lags, dtype=np.float64))

    def curve(self, rate, length):
        return [arb(0), *_integer_powers(rate, length)][:length]

    def tail(self, rate, start):
        return _zeta_tail(rate, max(start, 1))


@dataclasses.dataclass(frozen=True)
class Log1p(AbstractFamily):
    """(1+s)^{-b}: the logarithmic bias shifted by one lag (KERPLE), which sees lag 0."""

    name = "log1p"
    formula = "phi(s) = (1+s)^{-b}"
    ref = Ref("chi-2022", "eq. (5), r2 = 1")
    first_lag = 0

    def slowest(self, norm):
        return SLOWEST_POWER[norm]

    def columns(self, rates, lags):
        return _shifted_power(rates, np.asarray(lags, dtype=np.float64) + 1)

    def slopes(self, rates, lags):
        return _shifted_power_slopes(rates, np.asarray(lags, dtype=np.float64) + 1)

    def curve(self, rate, length):
        return _integer_powers(rate, length + 1)[:length]

    def tail(self, rate, start):
        return _zeta_tail(rate, start + 1)


FAMILIES: dict[str, AbstractFamily] = {family.name: family for family in (Lin(), Log(), Log1p())}


def family(name: str) -> AbstractFamily:
    """The family of that name, or an error that lists them."""
    if name not in FAMILIES:
        raise unknown("head family", name, FAMILIES)
    return FAMILIES[name]


def _powers(base: arb, length: int) -> list[arb]:
    """base^0 … base^(length-1); each by its own power so that radii do not pile up."""
    return [base**s for s in range(length)]


def _shifted_power(rates: np.ndarray, u: np.ndarray) -> np.ndarray:
    """u^{-b} for u >= 1, zero for u < 1.  [S, H]"""
    logs = np.log(np.maximum(u, 1.0))[:, None]
    with np.errstate(invalid="ignore"):
        curve = np.exp(np.where(logs == 0, 0.0, -rates[None, :] * logs))
    return np.where(u[:, None] >= 1, curve, 0.0)


def _shifted_power_slopes(rates: np.ndarray, u: np.ndarray) -> np.ndarray:
    z = rates[None, :] * np.log(np.maximum(u, 1.0))[:, None]
    return np.where(np.isfinite(z) & (u[:, None] >= 1), -z * np.exp(-np.minimum(z, 745.0)), 0.0)


def _integer_powers(rate: float, length: int) -> list[arb]:
    """1^-b, 2^-b, …, (length-1)^-b: one power for each prime, products for the rest."""
    if math.isinf(rate):
        return [arb(1)] + [arb(0)] * (length - 2)
    powers = {1: arb(1)}
    exponent = -arb(rate)
    for n in range(2, length):
        if n not in powers:
            powers[n] = arb(n) ** exponent
        for p in range(2, min(n, (length - 1) // n) + 1):
            if p * n not in powers:
                powers[p * n] = powers[p] * powers[n]
    return [powers[n] for n in range(1, length)]


def _zeta_tail(rate: float, start: int) -> arb:
    """sum_{n >= start} n^-b (Hurwitz zeta), infinite for b <= 1."""
    if math.isinf(rate):
        return arb(1 if start == 1 else 0)
    if rate <= 1:
        return arb("inf")
    return arb(rate).zeta(arb(start))
