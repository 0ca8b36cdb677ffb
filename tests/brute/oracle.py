"""Good head sums by brute force: what a lower bound must not contradict.

Nothing of `headcount` is used. A question asks how close a sum of at most H curves can come to a
kernel; the oracle searches dense rates (also 0, infinity and nearly coincident ones), solves for
the coefficients exactly (linear programme, or least squares), polishes the rates, and measures the
error of what it found in 40 digits. The answer is an error that some head sum has: an upper bound
of the best one, whatever the search missed.
"""

import dataclasses
import itertools
import math

import mpmath
import numpy as np
from scipy.optimize import linprog, minimize, nnls
from scipy.special import zeta

DIGITS = 40
FAR = 192  # lags taken one by one where every lag counts; the rest is bounded
SUBSETS = 700  # rate sets looked at for one question
DENSE = 300  # rates of one programme for any number of heads
POLISHED, STEPS = 2, 25  # how many of them are polished, in how many steps


@dataclasses.dataclass(frozen=True)
class Question:
    """The lags first..stop-1 count (stop None: all), with rates b >= lowest (b > lowest where
    `open`), at most `heads` heads, sum|a| <= budget. `rates_from`: slower ones are not admitted."""

    kernel: tuple[str, tuple[float, ...]]  # name, parameters
    bias: str
    norm: str
    heads: int
    budget: float = math.inf
    first: int = 0
    stop: int | None = None
    rates_from: float = 0.0

    @property
    def lowest(self) -> tuple[float, bool]:
        """The admissible rates: from here on; True: this rate itself is not admitted, because the
        heads' own tail would have no norm."""
        if self.stop is not None or self.norm == "sup":
            return self.rates_from, False
        if self.bias == "lin":
            return 0.0, True
        return (1.0, True) if self.norm == "l1" else (0.5, True)


@dataclasses.dataclass(frozen=True)
class Found:
    """Rates and coefficients, and the error they have, rounded up."""

    rates: tuple[float, ...]
    coefficients: tuple[float, ...]
    error: float


def kernel_value(kernel: tuple[str, tuple[float, ...]], s: int) -> mpmath.mpf:
    """rho(s), in the working precision."""
    name, p = kernel
    if name == "lag":
        return mpmath.mpf(s == p[0])
    if name == "window":
        return mpmath.mpf(s < p[0])
    if name == "array":
        return mpmath.mpf(p[s]) if s < len(p) else mpmath.mpf(0)
    if name == "exp":
        return mpmath.exp(-mpmath.mpf(p[0]) * s)
    if name == "power":
        return mpmath.mpf(s) ** -mpmath.mpf(p[0]) if s > 0 else mpmath.mpf(0)
    assert name == "osc"
    return mpmath.exp(-mpmath.mpf(p[0]) * s) * mpmath.cos(mpmath.mpf(p[1]) * s)


def kernel_tail(kernel: tuple[str, tuple[float, ...]], norm: str, start: int) -> float:
    """An upper bound of the norm of rho over the lags >= start."""
    name, p = kernel
    if name in ("lag", "window", "array"):
        beyond = {"lag": p[0] + 1, "window": p[0], "array": len(p)}[name]
        assert start >= beyond
        return 0.0
    if name == "power":
        return _power_tail(p[0], norm, start)
    return _exponential_tail(p[0], norm, start)


def _power_tail(b: float, norm: str, start: int) -> float:
    """Of n^-b over n >= start."""
    if norm == "sup":
        return start**-b
    return float(zeta(b, start)) if norm == "l1" else math.sqrt(float(zeta(2 * b, start)))


def _exponential_tail(b: float, norm: str, start: int) -> float:
    """Of e^{-bs} over s >= start."""
    if norm == "sup":
        return math.exp(-b * start)
    k = 1 if norm == "l1" else 2
    return (math.exp(-k * b * start) / -math.expm1(-k * b)) ** (1 / k)


def head_tail(bias: str, b: float, norm: str, start: int) -> float:
    """The norm of one head's curve over the lags >= start."""
    if math.isinf(b):
        return 0.0
    if bias == "lin":
        return _exponential_tail(b, norm, start)
    return _power_tail(b, norm, start + (bias == "log1p"))


def columns(bias: str, rates: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """The curves in float64.  [S, H]"""
    depth = lags if bias == "lin" else np.log(lags + (bias == "log1p"))  # phi = e^{-b depth}
    with np.errstate(invalid="ignore"):
        exponent = np.where(depth[:, None] == 0, 0.0, depth[:, None] * rates[None, :])
    return np.exp(-exponent)


def exact_error(question: Question, rates, coefficients) -> float:
    """The error of these heads, in 40 digits, with the tail bounded, rounded up."""
    stop = question.stop or FAR
    with mpmath.workdps(DIGITS):
        exact = [(mpmath.mpf(float(a)), b) for a, b in zip(coefficients, rates, strict=True)]
        errors = [
            abs(
                kernel_value(question.kernel, s) - sum(a * _curve(question, b, s) for a, b in exact)
            )
            for s in range(question.first, stop)
        ]
        total = _norm(errors, question.norm)
        if question.stop is None:
            far = kernel_tail(question.kernel, question.norm, stop) + sum(
                abs(float(a)) * head_tail(question.bias, b, question.norm, stop)
                for a, b in exact
                if a
            )
            total = _norm([total, mpmath.mpf(far) * (1 + mpmath.mpf(10) ** -9)], question.norm)
        return math.nextafter(float(total), math.inf)


def _norm(errors: list, norm: str) -> mpmath.mpf:
    if norm == "l1":
        return mpmath.fsum(errors)
    return max(errors) if norm == "sup" else mpmath.sqrt(mpmath.fsum(e * e for e in errors))


def _curve(question: Question, b: float, s: int) -> mpmath.mpf:
    n = s + (question.bias == "log1p")
    if n == (0 if question.bias == "lin" else 1):
        return mpmath.mpf(1)
    if math.isinf(b):
        return mpmath.mpf(0)
    return (
        mpmath.exp(-mpmath.mpf(b) * n)
        if question.bias == "lin"
        else mpmath.mpf(n) ** -mpmath.mpf(b)
    )


def best_found(question: Question, seed: int = 0) -> Found:
    """The best head sum of the search; never worse than no heads at all."""
    sums = _Sums(question)
    none = Found((), (), exact_error(question, (), ()))
    candidates = sorted(
        sums.screened(np.random.default_rng(seed)), key=lambda rates: sums.solve(rates)[0]
    )
    found = [none]
    for rates in candidates[:POLISHED]:
        rates = sums.polished(rates)
        a = sums.solve(rates)[1]
        found.append(Found(tuple(map(float, rates)), tuple(map(float, a)), math.inf))
    return min(
        (
            dataclasses.replace(f, error=exact_error(question, f.rates, f.coefficients))
            for f in found
        ),
        key=lambda f: f.error,
    )


def best_of_many(question: Question) -> Found:
    """Any number of heads within the budget: one programme over dense rates, which leaves little
    to a better choice of them. Whole lags count, so that only short windows are worth it."""
    sums, lowest = _Sums(question), question.lowest[0]
    rates = np.concatenate([[lowest], lowest + np.geomspace(1e-4, 60.0, DENSE), [math.inf]])
    a = sums.solve(rates)[1]
    used = np.flatnonzero(a)
    chosen = tuple(map(float, rates[used])), tuple(map(float, a[used]))
    return Found(*chosen, exact_error(question, *chosen))


class _Sums:
    """The numbers of one question in float64: lags [S] with weights [S], kernel [S], tails."""

    def __init__(self, question: Question):
        self.question = question
        stop = question.stop or FAR
        every = np.arange(question.first, stop, dtype=float)
        near = every[every < 40]
        far = np.unique(np.geomspace(40, stop, 24).astype(int))[:-1] if stop > 64 else every[40:]
        self.lags = np.unique(np.concatenate([near, far[far < stop]]))
        # A lag stands for those up to the next one that is looked at.
        self.gaps = np.diff(np.append(self.lags, stop))
        self.rho = np.array([float(kernel_value(question.kernel, int(s))) for s in self.lags])
        self.far = question.stop is None
        self.kernel_tail = kernel_tail(question.kernel, question.norm, stop) if self.far else 0.0
        self.stop = stop

    def tails(self, rates: np.ndarray) -> np.ndarray:
        q = self.question
        if not self.far:
            return np.zeros(len(rates))
        return np.array([head_tail(q.bias, float(b), q.norm, self.stop) for b in rates])

    def grid(self) -> np.ndarray:
        """Rates from nearly constant to nearly gone after a lag, the limits, and those between."""
        lowest, is_open = self.question.lowest
        steps = np.geomspace(2e-3, 30.0, 22)
        ends = [math.inf] if is_open else [lowest, math.inf]
        return np.concatenate([lowest + steps, ends])

    def screened(self, rng: np.random.Generator) -> list[np.ndarray]:
        """The most promising rate sets, by least squares with several ridges."""
        grid, heads = self.grid(), self.question.heads
        sets = list(itertools.combinations(grid, heads))
        if len(sets) > SUBSETS:
            sets = [sets[i] for i in rng.choice(len(sets), SUBSETS, replace=False)]
        lowest = self.question.lowest[0]
        for start, step in itertools.product(np.geomspace(0.01, 4, 8), (1e-3, 0.03, 0.3)):
            sets.append(tuple(lowest + start * (1 + step) ** k for k in range(heads)))
            # evenly spaced from 0 on: nearly coincident curves that draw a polynomial
            sets.append(
                tuple(lowest + start * step * (k + self.question.lowest[1]) for k in range(heads))
            )
        rates = np.array(sets)  # [n, H]
        worth = self._least_squares(rates)
        chosen, order = [], np.argsort(worth)
        for i in order:
            place = np.minimum(np.log(rates[i] + 1e-3), 5.0)
            if all(np.abs(place - np.minimum(np.log(c + 1e-3), 5.0)).max() > 0.5 for c in chosen):
                chosen.append(rates[i])
            if len(chosen) == 3 * POLISHED:
                break
        return chosen

    def _least_squares(self, rates: np.ndarray) -> np.ndarray:
        """The smallest error over several ridges of each rate set, coefficients cut to budget."""
        q, scale = self.question, np.sqrt(self.gaps)
        n, heads = rates.shape
        phi = columns(q.bias, rates.ravel(), self.lags).reshape(-1, n, heads).transpose(1, 0, 2)
        u, s, vt = np.linalg.svd(scale[:, None] * phi, full_matrices=False)
        tails = self.tails(rates.ravel()).reshape(n, heads)
        inner = np.einsum("nsh,s->nh", u, scale * self.rho)
        worth = np.full(n, math.inf)
        for ridge in (1e-14, 1e-8, 1e-4, 1e-2):
            a = np.einsum("nhk,nh->nk", vt, s / (s * s + ridge) * inner)
            total = np.abs(a).sum(axis=1)
            a *= np.minimum(1.0, q.budget / np.maximum(total, 1e-300))[:, None]
            errors = np.abs(self.rho - np.einsum("nsh,nh->ns", phi, a))
            with np.errstate(invalid="ignore", over="ignore"):
                tail = np.nansum(np.abs(a) * tails, axis=1) + self.kernel_tail
            worth = np.minimum(worth, self._total(errors, tail))
        return worth

    def _total(self, errors: np.ndarray, tail: np.ndarray) -> np.ndarray:
        if self.question.norm == "l1":
            return errors @ self.gaps + tail
        if self.question.norm == "sup":
            return np.maximum(errors.max(axis=-1), tail)
        return np.sqrt((errors**2) @ self.gaps + tail**2)

    def solve(self, rates: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Error and best coefficients for these rates, within the budget, and how the error moves
        with the kernel's values (the multipliers of the programme)."""
        phi, tails = columns(self.question.bias, rates, self.lags), self.tails(rates)
        nothing = math.inf, np.zeros(len(rates)), np.zeros(len(self.lags))
        if not np.isfinite(tails).all():
            return nothing
        solved = (
            self._quadratic(phi, tails) if self.question.norm == "l2" else self._linear(phi, tails)
        )
        if solved is None:
            return nothing
        a, pull = solved
        a = a * min(1.0, self.question.budget / max(np.abs(a).sum(), 1e-300)) * (1 - 2e-16)
        tail = np.abs(a) @ tails + self.kernel_tail
        return float(self._total(np.abs(self.rho - phi @ a), tail)), a, pull

    def _linear(self, phi: np.ndarray, tails: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The linear programme of l1 or sup: coefficients as differences of positive ones."""
        size, heads = phi.shape
        signed = np.concatenate([phi, -phi], axis=1)  # [S, 2H]
        if self.question.norm == "l1":
            slack = -np.eye(size)
            cost = np.concatenate([tails, tails, self.gaps])
            extra = np.zeros((0, 2 * heads + size))
        else:
            slack = -np.ones((size, 1))
            cost = np.append(np.zeros(2 * heads), 1.0)
            extra = np.concatenate([tails, tails, [-1.0]])[None, :]
        rows = np.block([[signed, slack], [-signed, slack]])
        right = np.concatenate([self.rho, -self.rho])
        if self.far and len(extra):
            rows, right = np.concatenate([rows, extra]), np.append(right, -self.kernel_tail)
        if math.isfinite(self.question.budget):
            limit = np.zeros(rows.shape[1])
            limit[: 2 * heads] = 1.0
            rows, right = (
                np.concatenate([rows, limit[None]]),
                np.append(right, self.question.budget),
            )
        done = linprog(cost, A_ub=rows, b_ub=right, bounds=(0, None), method="highs-ds")
        if done.status != 0:
            return None
        pull = done.ineqlin.marginals
        return done.x[:heads] - done.x[heads : 2 * heads], pull[:size] - pull[size : 2 * size]

    def _quadratic(
        self, phi: np.ndarray, tails: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Least squares; where it breaks the budget, with sum|a| = budget as a heavy row."""

        def with_pull(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            residual = self.rho - phi @ a
            size = math.sqrt(self.gaps @ residual**2 + (np.abs(a) @ tails + self.kernel_tail) ** 2)
            return a, self.gaps * residual / max(size, 1e-300)

        scale = np.sqrt(self.gaps)[:, None]
        a = np.linalg.lstsq(scale * phi, scale[:, 0] * self.rho, rcond=1e-15)[0]
        if not self.far and np.abs(a).sum() <= self.question.budget:
            return with_pull(a)
        rows = np.concatenate([scale * phi, -scale * phi], axis=1)
        right = scale[:, 0] * self.rho
        if self.far:
            rows = np.concatenate([rows, np.concatenate([tails, tails])[None]])
            right = np.append(right, -self.kernel_tail)
        if np.abs(a).sum() > self.question.budget:
            heavy = 1e5 / self.question.budget
            rows = np.concatenate([rows, np.full((1, rows.shape[1]), heavy)])
            right = np.append(right, heavy * self.question.budget)
        try:
            found = nnls(rows, right, maxiter=300)[0]
        except RuntimeError:
            return None
        half = len(found) // 2
        return with_pull(found[:half] - found[half:])

    def polished(self, rates: np.ndarray) -> np.ndarray:
        """Quasi-Newton steps over the logarithms of the rates that can move.

        The coefficients are optimal at each step, so that the error moves with a rate as if they
        stood still; the tails' share in that is left out (the steps then stop early, no more).
        """
        lowest = self.question.lowest[0]
        moving = np.isfinite(rates) & (rates > lowest)
        if not moving.any():
            return rates
        depth = (
            self.lags
            if self.question.bias == "lin"
            else np.log(self.lags + (self.question.bias == "log1p"))
        )
        best = (self.solve(rates)[0], rates)

        def error_and_slope(theta: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal best
            made = rates.copy()
            made[moving] = lowest + np.exp(theta)
            error, a, pull = self.solve(made)
            if error < best[0]:
                best = (error, made)
            b = made[moving]
            slopes = -depth[:, None] * np.exp(-depth[:, None] * b) * (b - lowest)  # d phi / d theta
            return min(error, 1e6), -(pull @ slopes) * a[moving]

        minimize(
            error_and_slope,
            np.log(rates[moving] - lowest),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-12.0, 5.0)] * int(moving.sum()),
            options={"maxfun": STEPS, "maxiter": STEPS},
        )
        return best[1]
