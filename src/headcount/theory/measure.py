"""The error of a sum of heads, recomputed from its numbers in ball arithmetic.

`measure` trusts nobody: it takes rates and coefficients, whoever produced them, and encloses the
l1, l2 and sup norm of kernel - sum over every lag that counts. Coefficients may cancel 200 digits;
the working precision starts at log2(sum|a|) + 100 bits and doubles until the enclosure is narrow.
What is reported is the upper end, rounded up: an upper bound of the true error that is also within
1e-8 of it, except where `tail.exact` is False.

Lags before `Problem.lags` begins (lag 0 for log, which cannot see it) are left to the residual
stream and do not count.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flint import arb, fmpq

from headcount.theory.balls import kernel_values, precision
from headcount.theory.cells import Sums
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import AbstractDecay
from headcount.theory.problem import Norm, Problem
from headcount.theory.tails import TailBalls, Term, closed_form, tail_balls

NARROW = 1e-8  # relative width at which an enclosure counts as a number
MOST_LAGS = 1 << 16
MOST_BITS = 1 << 15
HUGE = 1e300
SHAPE_BITS = 160  # curves that are not decays do not cancel much
NOTHING = 2.0**-150  # an error below this fraction of the kernel is as good as zero


@dataclasses.dataclass(frozen=True)
class Norms:
    """The three norms over lags."""

    l1: float
    l2: float
    sup: float

    def __getitem__(self, norm: Norm | str) -> float:
        return {"l1": self.l1, "l2": self.l2, "sup": self.sup}[str(norm)]

    def to_json(self) -> dict[str, float]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Tail:
    """Lags >= start: whether they count, the most that they add to the l1 error, whether exact."""

    included: bool
    start: int
    bound: float
    exact: bool
    reason: str


@dataclasses.dataclass(frozen=True)
class Errors:
    """Upper ends of enclosures. `relative` divides by the kernel's norm over the same lags."""

    absolute: Norms
    relative: Norms
    window: Norms  # over the lags below `Problem.length` only
    kernel: Norms
    tail: Tail

    @property
    def l1(self) -> float:
        return self.absolute.l1

    @property
    def l2(self) -> float:
        return self.absolute.l2

    @property
    def sup(self) -> float:
        return self.absolute.sup

    def __getitem__(self, norm: Norm | str) -> float:
        return self.absolute[norm]


@dataclasses.dataclass(frozen=True)
class _Balls:
    """l1, l2, sup as balls."""

    l1: arb
    l2: arb
    sup: arb

    def up(self) -> Norms:
        return Norms(round_up(self.l1), round_up(self.l2), round_up(self.sup))


def round_up(ball: arb) -> float:
    """The smallest convenient double that is at least everything in the ball; inf where the ball
    is unbounded.
    """
    if not ball.is_finite():
        return math.inf
    top = ball.upper()
    value = float(top)
    while not arb(value) >= top:
        value = math.nextafter(value, math.inf)
    return max(value, 0.0)


def norm_of(values: np.ndarray, norm: Norm) -> float:
    """The norm of float64 values, for comparing candidates."""
    if norm is Norm.L1:
        return float(np.abs(values).sum())
    if norm is Norm.L2:
        return float(np.linalg.norm(values))
    return float(np.abs(values).max(initial=0.0))


def measure(problem: Problem, head_sum: HeadSum, most_lags: int = MOST_LAGS) -> Errors:
    """Enclose kernel - sum of heads. Where the tail is not told exactly, up to `most_lags` lags are
    handled one by one before it.
    """
    if not isinstance(head_sum.family, AbstractDecay):
        return _measure_shapes(problem, head_sum)
    errors, final = _at_first(problem, head_sum)
    if final or most_lags <= problem.length:
        return errors
    return _measured(problem, head_sum, most_lags)[0]


@functools.lru_cache(maxsize=64)
def _at_first(problem: Problem, head_sum: HeadSum) -> tuple[Errors, bool]:
    """Without more lags than the problem has, and whether that is the end of it. Searches ask for
    it, and so does whoever gets their answer.
    """
    return _measured(problem, head_sum, 0)


def _measured(problem: Problem, head_sum: HeadSum, most_lags: int) -> tuple[Errors, bool]:
    def coefficients() -> list[arb]:
        return [arb(a) for a in head_sum.coefficients]

    return _narrowed(problem, head_sum.rates, coefficients, head_sum.weight_bits, most_lags)


def _measure_shapes(problem: Problem, head_sum: HeadSum) -> Errors:
    """Curves without a closed form for their tail: lag by lag, and a bound beyond. Where they
    cannot be summed only the window counts.
    """
    family = head_sum.family
    with precision(SHAPE_BITS):
        coefficients, rest = [arb(a) for a in head_sum.coefficients], arb(0)
        values = head_values(problem, head_sum.curves, coefficients, problem.length)
        if family.summable:
            rest = sum(
                (
                    abs(a) * family.tail(curve, problem.length)
                    for a, curve in zip(coefficients, head_sum.curves, strict=True)
                ),
                arb(0),
            )
        errors = measure_values(problem, values, rest)
    if family.summable or not problem.tail_counts:
        return errors
    reason = "a rotary head does not decay: window only"
    tail = dataclasses.replace(errors.tail, included=False, reason=reason)
    return dataclasses.replace(errors, tail=tail)


def measure_curves(
    problem: Problem,
    rates: Sequence[float],
    coefficients: Callable[[], list[arb]],
    bits: int,
    most_lags: int = MOST_LAGS,
) -> Errors:
    """The same for coefficients that are balls, made anew at each working precision; `bits` is
    about log2 of their absolute sum.
    """
    return _narrowed(problem, rates, coefficients, bits, most_lags)[0]


def _narrowed(
    problem: Problem,
    rates: Sequence[float],
    coefficients: Callable[[], list[arb]],
    bits: int,
    most_lags: int,
) -> tuple[Errors, bool]:
    """Errors, and whether more lags than `most_lags` would change nothing."""
    length, bits, beyond = problem.length, bits + 100, arb(HUGE)
    while True:
        with precision(bits):
            error, window, kernel, tail = _enclose(problem, rates, coefficients(), length)
            explicit_narrow, tight = _narrow(window, kernel), _narrow(error, kernel)
            # heads so slow that their tail hardly falls would have no end
            endless = tail is None or not tail[problem.norm] <= beyond / 2
            last, most = endless or length >= most_lags, bits >= MOST_BITS
            if tight or (explicit_narrow and last) or most:
                errors = _report(problem, error, window, kernel, tail, length)
                return errors, tight or endless or most
        if explicit_narrow and tail is not None:
            # the lags are exact, the tail is not: handle more lags one by one
            length, beyond = 4 * length, tail[problem.norm]
        else:
            bits *= 2


def measure_values(problem: Problem, values: list[arb], rest: arb) -> Errors:
    """Enclose kernel - values for curves of any shape: `values` on lags 0..length-1, `rest` bounds
    their absolute sum beyond.

    The caller chooses the precision at which the values are narrow.
    """
    length, first = problem.length, problem.first_lag
    kernel = kernel_values(problem.kernel, length)
    explicit = norms([k - v for k, v in zip(kernel, values, strict=True)][first:])
    if not problem.tail_counts:
        error = join(explicit, None)
        return _report(problem, error, error, join(norms(kernel[first:]), None), None, length)
    form = closed_form(problem.kernel)
    own = [Term(arb(1), *form)] if form else []
    beyond = 0.0 if form or problem.kernel.support is not None else problem.kernel.tail(length)
    tail = tail_balls(own, beyond + round_up(rest), length)
    own_norms = join(norms(kernel[first:]), tail_balls(own, beyond, length))
    return _report(problem, join(explicit, tail), join(explicit, None), own_norms, tail, length)


def head_values(
    problem: Problem, curves: Sequence[Any], coefficients: list[arb], length: int
) -> list[arb]:
    """sum_h a_h phi_h(s) for s < length.  [S]"""
    total = [arb(0)] * length
    for curve, a in zip(curves, coefficients, strict=True):
        if not a.is_zero():
            values = problem.family.scaled(a, curve, length)
            total = [x + c for x, c in zip(total, values, strict=True)]
    return total


def norms(values: Sequence[arb]) -> tuple[arb, arb, arb]:
    """l1, squared l2 and sup of explicit values."""
    l1, squared, sup = arb(0), arb(0), arb(0)
    for value in values:
        if value.is_zero():
            continue
        size = abs(value)
        l1, squared = l1 + size, squared + size * size
        if not size < sup:
            sup = sup.max(size)
    return l1, squared, sup


def join(explicit: tuple[arb, arb, arb], tail: TailBalls | None) -> _Balls:
    """Explicit lags and the tail together."""
    l1, squared, sup = explicit
    if tail is None:
        return _Balls(l1, squared.sqrt(), sup)
    return _Balls(
        l1 + tail.l1, (squared + tail.l2_squared).nonnegative_part().sqrt(), sup.max(tail.sup)
    )


def _enclose(
    problem: Problem, rates: Sequence[float], coefficients: list[arb], length: int
) -> tuple[_Balls, _Balls, _Balls, TailBalls | None]:
    """Error, error inside the window, kernel norms, tail of the error."""
    rates, coefficients, merged = _with_kernel(problem, rates, coefficients)
    first = problem.first_lag
    kernel = kernel_values(problem.kernel, length)
    heads = head_values(problem, rates, coefficients, length)
    residual = (
        [-h for h in heads] if merged else [k - h for k, h in zip(kernel, heads, strict=True)]
    )
    explicit = inside = norms(residual[first:])
    if length > problem.length:
        inside = norms(residual[first : problem.length])
    if not problem.tail_counts:
        return join(explicit, None), join(inside, None), join(norms(kernel[first:]), None), None
    terms = [Term(-a, problem.decay, b) for b, a in zip(rates, coefficients, strict=True)]
    form = closed_form(problem.kernel)
    own = [Term(arb(1), *form)] if form else []
    rest = 0.0 if form or problem.kernel.support is not None else problem.kernel.tail(length)
    tail = tail_balls(terms + ([] if merged else own), rest, length, Sums(*explicit))
    return (
        join(explicit, tail),
        join(inside, None),
        join(norms(kernel[first:]), tail_balls(own, rest, length)),
        tail,
    )


def _with_kernel(
    problem: Problem, rates: Sequence[float], coefficients: list[arb]
) -> tuple[Sequence[float], list[arb], bool]:
    """Take the kernel off the head that has its very curve, so that an exact fit measures
    exactly zero.
    """
    form = closed_form(problem.kernel)
    if form is None or form[0] != problem.family or form[1] not in rates:
        return rates, coefficients, False
    reduced = list(coefficients)
    reduced[list(rates).index(form[1])] -= 1
    return rates, reduced, True


def _narrow(balls: _Balls, kernel: _Balls) -> bool:
    pairs = ((balls.l1, kernel.l1), (balls.l2, kernel.l2), (balls.sup, kernel.sup))
    return all(_small_radius(ball, scale) for ball, scale in pairs)


def _small_radius(ball: arb, scale: arb) -> bool:
    if not ball.is_finite():
        return True  # a head that cannot be summed: no precision will help
    return bool(ball.rad() <= NARROW * ball.mid() or ball.upper() <= NOTHING * scale.upper())


def _report(
    problem: Problem,
    error: _Balls,
    window: _Balls,
    kernel: _Balls,
    tail: TailBalls | None,
    length: int,
) -> Errors:
    parts = ((error.l1, kernel.l1), (error.l2, kernel.l2), (error.sup, kernel.sup))
    relative = Norms(
        *(round_up(e / k) if k > 0 else (math.inf if round_up(e) else 0.0) for e, k in parts)
    )
    return Errors(
        error.up(), relative, window.up(), kernel.up(), _tail(problem, tail, error, length)
    )


def _tail(problem: Problem, tail: TailBalls | None, error: _Balls, length: int) -> Tail:
    if tail is None:
        why = (
            "lags beyond the window do not exist"
            if problem.window is not None
            else "the kernel is not summable: only the window counts"
        )
        return Tail(False, length, 0.0, True, why)
    bound = round_up(tail.l1)
    if math.isinf(bound):
        return Tail(
            True, length, bound, False, "a head decays too slowly to be summed over all lags"
        )
    exact = bool(tail.l1.rad() <= NARROW * error.l1.mid()) or bound == 0
    return Tail(
        True,
        length,
        bound,
        exact,
        "closed form or negligible" if exact else "upper bound by the triangle inequality",
    )


def exact_coefficient(ball: arb) -> fmpq:
    """The midpoint of a ball as an exact rational: how irrational closed forms become
    coefficients.
    """
    mantissa, exponent = ball.mid().man_exp()
    return fmpq(int(mantissa)) * fmpq(2) ** int(exponent)
