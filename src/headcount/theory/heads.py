"""Heads: the curve over lags that one attention head with a relative bias can draw.

A dot-product-free layer of H heads adds up H curves, kernel(s) ~ sum_h a_h phi_h(s) (`head_sum`).
Which curves there are is the positional bias's doing. One family for each bias:

    lin, log, log1p     decays e^{-b l(s)} of one rate b, with l(s) = s, log s, log(1+s)
    peak, table, rope   curves of a shape of their own, see `shaped_curves`

Everything in `theory` that concerns a bias asks the family; nothing asks for its name.

Worked example — the best single exponential for the lag-1 kernel is zero (Theorem A):

    family = Lin(); columns = family.columns(np.array([0.5, 2.0]), np.arange(4))   # [S, H]
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import flint
import numpy as np
from flint import arb, arb_series

from headcount.core.claims import Norm
from headcount.core.errors import require, unknown
from headcount.core.refs import Ref
from headcount.theory.shaped_curves import AbstractShape, Peak, Rotary, Table

# sum s^-b, sum s^-2b and max s^-b are finite for b above (sup: from) these
SLOWEST_POWER = {Norm.L1: 1.0, Norm.L2: 0.5, Norm.SUP: 0.0}


class AbstractFamily(abc.ABC):
    """The curves of one bias. A curve is told by its parameter: a rate, or a record of
    `shaped_curves`.
    """

    name: ClassVar[str]
    ref: ClassVar[Ref]
    first_lag: ClassVar[int]  # smallest lag that the family can see
    summable: ClassVar[bool] = True  # do its curves have a tail that can be summed?

    @abc.abstractmethod
    def slowest(self, norm: Norm) -> float:
        """The infimum of the rates whose curve has a finite norm over all lags."""

    @abc.abstractmethod
    def columns(self, curves: Any, lags: np.ndarray) -> np.ndarray:
        """phi_h(s) in float64, [S, H]; zero at lags that the family cannot see."""

    @abc.abstractmethod
    def curve(self, curve: Any, length: int) -> list[arb]:
        """phi(0..length-1) as balls; the parameter enters exactly."""

    @abc.abstractmethod
    def tail(self, curve: Any, start: int) -> arb:
        """sum_{s >= start} phi(s) as a ball or an upper bound (infinite if it diverges)."""

    @abc.abstractmethod
    def probabilities(self, curves: Any, length: int) -> np.ndarray:
        """phi_h / Z_h over the lags that the family sees, as a float32 softmax draws it.  [S, H]"""

    @abc.abstractmethod
    def mass(self, curve: Any, first: int, length: int, power: int = 1) -> arb:
        """sum of phi(s)^power over first <= s < length."""

    @abc.abstractmethod
    def parameters(self, curve: Any) -> dict[str, Any]:
        """The curve's parameters as JSON holds them."""

    def scaled(self, a: arb, curve: Any, length: int) -> list[arb]:
        """a phi(0..length-1) as balls."""
        return [a * c for c in self.curve(curve, length)]

    def size(self, curve: Any, norm: Norm, first: int, length: int) -> arb:
        """The norm of the curve over first <= s < length."""
        if norm is Norm.L2:
            return self.mass(curve, first, length, 2).sqrt()
        if norm is Norm.SUP:
            return functools.reduce(arb.max, self.curve(curve, length)[first:], arb(0))
        return self.mass(curve, first, length)

    @abc.abstractmethod
    def check(self, curve: Any) -> None:
        """Refuse a parameter that is no curve of the family."""


class AbstractDecay(AbstractFamily):
    """Curves phi(s; b) = e^{-b l(s)} of one real rate b >= 0: decaying, phi <= 1, falling in b.

    `inf` is the rate of the limit curve: 1 at the first lag (l = 0) and 0 after it.
    """

    formula: ClassVar[str]
    unit: ClassVar[float]  # l of the nearest lag that tells rates apart
    fastest: ClassVar[float]  # e^{-b unit} of larger rates is below float64's resolution of 1
    geometric: ClassVar[bool]  # l(s) = s: heads are powers of e^{-b}, sums of heads polynomials

    @abc.abstractmethod
    def distance(self, lags: np.ndarray) -> np.ndarray:
        """l(s) in float64, inf where the family does not see the lag.  [S]"""

    @abc.abstractmethod
    def exact_distance(self, lag: int) -> arb:
        """l(s) as a ball."""

    @abc.abstractmethod
    def lag_at(self, start: int, x: arb) -> arb:
        """The real lag s with l(s) = l(start) + x."""

    @abc.abstractmethod
    def series(self, rate: float, middle: arb, half: arb, order: int) -> tuple[list[arb], arb]:
        """Taylor's coefficients of phi in t = (s - middle) / half, and a bound of what they leave
        for |t| <= 1.  [order]
        """

    @abc.abstractmethod
    def steepness(self, rate: float, lag: int) -> Fraction:
        """-(log phi)'(s) = b l'(s), exactly."""

    @abc.abstractmethod
    def eventual(self, rate: float) -> tuple[int, Fraction]:
        """Sorts curves of all families by how fast they fall far out."""

    @abc.abstractmethod
    def total(self, rate: float) -> float:
        """sum of phi over all lags, in float64."""

    @abc.abstractmethod
    def block_sums(self, rates: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """sum over start <= s < end of phi(s; b), starts >= 20, ends may be inf (rates that can be
        summed).  [K, H]
        """

    @abc.abstractmethod
    def block_slopes(
        self, rates: np.ndarray, starts: np.ndarray, ends: np.ndarray, sums: np.ndarray
    ) -> np.ndarray:
        """d/db of these block sums, rates above 0.  [K, H]"""

    @abc.abstractmethod
    def quadrature(self, length: int, slowest: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and logarithms of quadrature weights for the lags from `length` on, as far as
        the slowest head is felt.  [count] each
        """

    @abc.abstractmethod
    def least_searched(self, length: int, slowest: float, finite_support: bool) -> float:
        """The smallest rate that a search may use on `length` lags, where rates up to `slowest` are
        not admitted.
        """

    @abc.abstractmethod
    def sink(self, rates: Sequence[float]) -> dict[str, Any]:
        """A zero-value token whose logit stands in for the lags before the sequence began: softmax
        at position t then divides by all of Z.
        """

    def check(self, curve):
        require(
            not (math.isnan(curve) or curve < 0),
            f"rate {curve}",
            "a rate of at least 0 (a head cannot grow with the lag)",
            "use decaying heads",
        )

    def parameters(self, curve):
        return {"rate": curve}

    def value(self, rate: float, lag: int) -> arb:
        """phi(s; b) at one lag."""
        return (-arb(rate) * self.exact_distance(lag)).exp()

    def columns(self, curves, lags):
        l = self.distance(lags)[:, None]
        with np.errstate(invalid="ignore"):
            values = np.exp(np.where(l == 0, 0.0, -curves[None, :] * l))
        if self.first_lag and len(lags):
            values[lags < self.first_lag] = 0.0
        return values

    def slopes(self, rates: np.ndarray, lags: np.ndarray) -> np.ndarray:
        """d phi / d log b, [S, H]."""
        with np.errstate(invalid="ignore"):
            z = rates[None, :] * self.distance(lags)[:, None]
        return np.where(np.isfinite(z), -z * np.exp(-np.minimum(z, 745.0)), 0.0)

    def probabilities(self, curves, length):
        lags = np.arange(self.first_lag, length, dtype=np.float64)
        distance = self.distance(lags).astype(np.float32)[:, None]
        rates = np.array(curves, dtype=np.float32)
        with np.errstate(invalid="ignore", under="ignore"):
            values = np.exp(np.where(distance == 0, np.float32(0), -rates[None, :] * distance))
            return values / values.sum(axis=0, keepdims=True, dtype=np.float32)

    def mass(self, curve, first, length, power=1):
        """A difference of closed forms, lag by lag where they diverge."""
        if math.isinf(curve):
            return arb(1 if first <= self.first_lag else 0)
        rate = power * arb(curve)
        mass = self.tail(rate, first) - self.tail(rate, length)
        if mass.is_finite():
            return mass
        return sum((x**power for x in self.curve(curve, length)[first:]), arb(0))

    def size(self, curve, norm, first, length):
        if norm is Norm.SUP:  # at its first lag
            return arb(1) if first <= self.first_lag else self.curve(curve, first + 1)[first]
        return super().size(curve, norm, first, length)


@dataclasses.dataclass(frozen=True)
class Lin(AbstractDecay):
    """e^{-b s}: every bias that is linear in the lag (lin, ALiBi)."""

    name = "lin"
    formula = "phi(s) = e^{-b s}"
    ref = Ref("wang-e-2024", "Lemma F.1")
    first_lag = 0
    unit = 1.0
    fastest = 45.0
    geometric = True

    def slowest(self, norm):
        return 0.0

    def distance(self, lags):
        return np.asarray(lags, dtype=np.float64)

    def exact_distance(self, lag):
        return arb(lag)

    def lag_at(self, start, x):
        return start + x

    def series(self, rate, middle, half, order):
        b = arb(rate)
        values = _coefficients(lambda s: (-b * s).exp(), middle, half, order + 1)
        # the last derivative is largest at the left end
        return values[:order], abs(values[order]) * (b * half).exp()

    def steepness(self, rate, lag):
        return Fraction(rate)

    def eventual(self, rate):
        return (1 if rate > 0 else 0), Fraction(rate)

    def total(self, rate):
        return 1 / -math.expm1(-rate)

    def curve(self, curve, length):
        if math.isinf(curve):
            return [arb(1)] + [arb(0)] * (length - 1)
        base = (-arb(curve)).exp()
        return [base**s for s in range(length)]  # each by its own power: radii do not pile up

    def scaled(self, a, curve, length):
        """a, a q, a q^2, … by one product per lag. Once they are below the working precision a ball
        about 0 stands for the rest.
        """
        if math.isinf(curve):
            return super().scaled(a, curve, length)
        ratio = (-arb(curve)).exp()
        small = arb(2) ** -(flint.ctx.prec + 64)
        values = [a]
        for _ in range(length - 1):
            following = values[-1] * ratio
            if abs(following) < small and ratio < 1:
                size = abs(following).upper()
                return values + [(-size).union(size)] * (length - len(values))
            values.append(following)
        return values

    def tail(self, curve, start):
        b = arb(curve)
        if not b.is_finite():
            return arb(1 if start == 0 else 0)
        return (-b * start).exp() / -(-b).expm1()

    def block_sums(self, rates, starts, ends):
        s, count, b = starts[:, None], (ends - starts)[:, None], np.asarray(rates)[None, :]
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = np.exp(-b * s) * (np.expm1(-b * count) / np.expm1(-b))
        return sums if b.all() else np.where(b == 0, count, sums)

    def block_slopes(self, rates, starts, ends, sums):
        """By the derivative of the logarithm, -s + n/(e^{bn} - 1) - 1/(e^b - 1) for n lags."""
        s, count, b = starts[:, None], (ends - starts)[:, None], np.asarray(rates)[None, :]
        with np.errstate(invalid="ignore", over="ignore"):
            falling = count / np.expm1(b * count)
        falling = np.where(np.isinf(count), 0.0, falling)
        return sums * (falling - s - 1 / np.expm1(b))

    def quadrature(self, length, slowest, count):
        edges = np.linspace(length, length + 25 / slowest, count + 1)
        return (edges[1:] + edges[:-1] - 1) / 2, np.log(np.diff(edges))

    def least_searched(self, length, slowest, finite_support):
        return 1e-3 / length  # the search works in log b, so that 0 is out of its reach

    def sink(self, rates):
        bias = [-math.log(-math.expm1(-b)) if 0 < b < math.inf else None for b in rates]
        return {"formula": "logit(t) = -rate (t+1) + bias, value 0", "bias": bias}


class AbstractPower(AbstractDecay):
    """(s + shift)^{-b}: the logarithmic biases."""

    shift: ClassVar[int]
    unit = math.log(2.0)
    fastest = 65.0
    geometric = False
    # heads for kernels of finite support decay this much faster than 1/s at least
    slowest_search: ClassVar[float] = 0.05

    def slowest(self, norm):
        return SLOWEST_POWER[norm]

    def distance(self, lags):
        u = np.asarray(lags, dtype=np.float64) + self.shift
        return np.where(u >= 1, np.log(np.maximum(u, 1.0)), np.inf)

    def exact_distance(self, lag):
        return arb(lag + self.shift).log()

    def value(self, rate, lag):
        return arb(lag + self.shift) ** -arb(rate)

    def lag_at(self, start, x):
        return (start + self.shift) * x.exp() - self.shift

    def series(self, rate, middle, half, order):
        b, u = arb(rate), middle + self.shift
        values = _coefficients(lambda s: s**-b, u, half, order + 1)
        # the last derivative is largest at the left end
        return values[:order], abs(values[order]) * (u / (u - half)) ** (b + order)

    def steepness(self, rate, lag):
        return Fraction(rate) / (lag + self.shift)

    def eventual(self, rate):
        return 0, Fraction(rate)

    def total(self, rate):
        from scipy.special import zeta  # slow to load

        return float(zeta(rate))

    def curve(self, curve, length):
        values = _integer_powers(curve, length + self.shift)
        return [*([arb(0)] * (1 - self.shift)), *values][:length]

    def tail(self, curve, start):
        """Hurwitz zeta, infinite for b <= 1."""
        b, start = arb(curve), max(start + self.shift, 1)
        if not b.is_finite():
            return arb(1 if start == 1 else 0)
        if b <= 1:
            return arb("inf")
        return b.zeta(arb(start))

    def block_sums(self, rates, starts, ends):
        """By Euler-Maclaurin, exact to 1e-11 of the first term for rates up to 5 at lag 40; faster
        heads are next to nothing there. The integral is written so that b = 1, where it is a
        logarithm, is an ordinary point:

            int_s^e t^-b dt = s^(1-b) L g((1-b) L),   L = log(e/s),   g(z) = (e^z - 1)/z.
        """
        s, e, b = starts[:, None] + self.shift, ends[:, None] + self.shift, rates[None, :]
        near, last = np.exp(-b * np.log(s)), len(s) - int(np.isinf(e[-1:]).sum())
        sums = near * _maclaurin(b, s)
        L = np.log(e[:last] / s[:last])
        sums[:last] += near[:last] * s[:last] * L * _mean_exponential((1 - b) * L)
        sums[:last] -= np.exp(-b * np.log(e[:last])) * _maclaurin(b, e[:last])
        sums[last:] += near[last:] * s[last:] / (b - 1)
        return sums

    def block_slopes(self, rates, starts, ends, sums):
        """Of the same terms; g'/g = 1/2 + (coth y - 1/y)/2 at y = z/2."""
        s, e, b = starts[:, None] + self.shift, ends[:, None] + self.shift, rates[None, :]
        near, last = np.exp(-b * np.log(s)), len(s) - int(np.isinf(e[-1:]).sum())
        slopes = near * _maclaurin_slope(b, s)
        L = np.log(e[:last] / s[:last])
        z = (1 - b) * L
        integral = near[:last] * s[:last] * L * _mean_exponential(z)
        slopes[:last] -= integral * (np.log(s[:last]) + L / 2 * (1 + _langevin(z / 2)))
        slopes[:last] -= np.exp(-b * np.log(e[:last])) * _maclaurin_slope(b, e[:last])
        slopes[last:] -= near[last:] * s[last:] * (np.log(s[last:]) * (b - 1) + 1) / (b - 1) ** 2
        return slopes

    def quadrature(self, length, slowest, count):
        start = math.log(length + self.shift - 0.5)
        u = start + 25 / max(slowest - 1, 1e-3) * np.linspace(0, 1, count + 1) ** 3
        middle = (u[1:] + u[:-1]) / 2  # sum f(s) ~ int f(e^u) e^u du
        return middle, np.log(np.diff(u)) + middle

    def least_searched(self, length, slowest, finite_support):
        # Heads just above the slowest live beyond e^30 lags, in the last block, where they may
        # change sign unseen.
        margin = self.slowest_search if finite_support else 1e-6
        return slowest + margin if slowest > 0 else 1e-4

    def sink(self, rates):
        formula = f"logit(t) = log zeta(rate, t+{1 + self.shift}), value 0"
        return {"formula": formula, "bias": None}


@dataclasses.dataclass(frozen=True)
class Log(AbstractPower):
    """s^{-b} from lag 1 on: the paper's logarithmic bias. Lag 0 is invisible to it."""

    name = "log"
    formula = "phi(s) = s^{-b}, s >= 1; phi(0) = 0"
    ref = Ref("wang-e-2024", "Lemma F.4")
    first_lag = 1
    shift = 0


@dataclasses.dataclass(frozen=True)
class Log1p(AbstractPower):
    """(1+s)^{-b}: the logarithmic bias shifted by one lag (KERPLE), which sees lag 0."""

    name = "log1p"
    formula = "phi(s) = (1+s)^{-b}"
    ref = Ref("chi-2022", "eq. (5), r2 = 1")
    first_lag = 0
    shift = 1


@functools.lru_cache(maxsize=64)
def _balls(shape: AbstractShape, length: int, bits: int) -> tuple[arb, ...]:
    """A curve at this precision: a search for the fewest heads measures each many times."""
    return tuple(shape.balls(length))


@dataclasses.dataclass(frozen=True)
class Shaped(AbstractFamily):
    """Curves given by a record of `shaped_curves`: peak, table or rope."""

    kind: type[AbstractShape]
    first_lag = 0

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.kind.name

    @property
    def ref(self) -> Ref:  # type: ignore[override]
        return self.kind.ref

    @property
    def summable(self) -> bool:  # type: ignore[override]
        return self.kind.summable

    def slowest(self, norm):
        return 0.0

    def columns(self, curves, lags):
        at, length = np.asarray(lags, dtype=int), int(np.max(lags, initial=-1)) + 1
        values = [shape.values(length)[at] for shape in curves]
        return np.stack(values, axis=1) if values else np.zeros((len(at), 0))

    def curve(self, curve, length):
        return list(_balls(curve, length, flint.ctx.prec))

    def tail(self, curve, start):
        return curve.tail(start)

    def probabilities(self, curves, length):
        values = self.columns(curves, np.arange(length))
        return (values / values.sum(axis=0)).astype(np.float32)

    def mass(self, curve, first, length, power=1):
        return arb(float((curve.values(length)[first:] ** power).sum()))

    def parameters(self, curve):
        return curve.parameters()

    def check(self, curve):
        require(
            isinstance(curve, self.kind),
            f"{type(curve).__name__}",
            f"a curve of {self.name} heads",
            f"pass a {self.kind.__name__}",
        )


DECAYS: dict[str, AbstractDecay] = {family.name: family for family in (Lin(), Log(), Log1p())}
SHAPED: dict[str, Shaped] = {kind.name: Shaped(kind) for kind in (Peak, Table, Rotary)}
FAMILIES: dict[str, AbstractFamily] = {**DECAYS, **SHAPED}


def as_decay(family: AbstractFamily) -> AbstractDecay:
    """The family itself, refused where its curves have no rate."""
    require(
        isinstance(family, AbstractDecay),
        f"{family.name} heads",
        "lin, log or log1p heads, which have a rate",
        "choose one of these",
    )
    return family  # type: ignore[return-value]


def family(name: str) -> AbstractFamily:
    """The family of that bias, or an error that lists them."""
    if name not in FAMILIES:
        raise unknown("head family", name, FAMILIES)
    return FAMILIES[name]


def _coefficients(
    function: Callable[[arb_series], arb_series], middle: arb, half: arb, count: int
) -> list[arb]:
    """Taylor's coefficients of function(middle + half t) in t.  [count]"""
    before = flint.ctx.cap
    flint.ctx.cap = count  # flint cuts series off there
    try:
        found = function(arb_series([middle, half], prec=count)).coeffs()
    finally:
        flint.ctx.cap = before
    return [*found, *[arb(0)] * (count - len(found))]


def _integer_powers(rate: float, length: int) -> list[arb]:
    """1^-b, 2^-b, …, (length-1)^-b: one power for each prime, products for the rest."""
    if math.isinf(rate):
        return [arb(1)] + [arb(0)] * (length - 2)
    return _finite_powers(rate, length, flint.ctx.prec)


@functools.lru_cache(maxsize=128)
def _finite_powers(rate: float, length: int, bits: int) -> list[arb]:
    """At the working precision, which is `bits`. Heads that serve several lags are measured for
    each of them, at the same rates.
    """
    powers = {1: arb(1)}
    exponent = -arb(rate)
    for n in range(2, length):
        if n not in powers:
            powers[n] = arb(n) ** exponent
        for p in range(2, min(n, (length - 1) // n) + 1):
            if p * n not in powers:
                powers[p * n] = powers[p] * powers[n]
    return [powers[n] for n in range(1, length)]


def _maclaurin(b: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(sum_{t >= s} t^-b - integral) s^b, without the integral."""
    third = b * (b + 1) * (b + 2)
    fifth = third * (b + 3) * (b + 4)
    return 0.5 + b * (1 / (12 * s)) - third * (1 / (720 * s**3)) + fifth * (1 / (30240 * s**5))


def _maclaurin_slope(b: np.ndarray, s: np.ndarray) -> np.ndarray:
    """d/db of s^-b _maclaurin(b, s), divided by s^-b."""
    third = 3 * b**2 + 6 * b + 2
    fifth = 5 * b**4 + 40 * b**3 + 105 * b**2 + 100 * b + 24
    slope = 1 / (12 * s) - third * (1 / (720 * s**3)) + fifth * (1 / (30240 * s**5))
    return slope - np.log(s) * _maclaurin(b, s)


def _mean_exponential(z: np.ndarray) -> np.ndarray:
    """(e^z - 1)/z."""
    return np.divide(np.expm1(z), z, out=np.ones_like(z), where=z != 0)


def _langevin(y: np.ndarray) -> np.ndarray:
    """coth y - 1/y, by its first term where the difference would cancel."""
    small = np.abs(y) < 1e-3
    far = np.where(small, 1.0, y)
    return np.where(small, y / 3, 1 / np.tanh(far) - 1 / far)
