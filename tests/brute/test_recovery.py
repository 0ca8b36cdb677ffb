"""No bound of every readout lies above the error of a readout that exists: random small questions.

A linear readout a_0 x_t + sum_h a_h z_h of heads known to ±eta has the worst-case error
||w - a_0 delta_0 - Phi a||_1 + eta ||a||_1, which a linear programme minimises (scipy) and exact
fractions of 40 digits measure. Nothing of `headcount` draws the curves. The pair behind a bound is
run through heads drawn here, too.
"""

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

from headcount.memory.kernels import kernels
from headcount.theory.bounds import check
from headcount.theory.bounds.recovery import recovery_at_rates, recovery_claim, sequences
from headcount.theory.heads import family
from headcount.theory.problem import Problem
from tests.brute.codes import curve

QUICK, ALL, BATCH = 14, 3_000, 100


def drawn(seed: int) -> tuple[str, np.ndarray, str, tuple[float, ...], float]:
    """A random kernel (text and values over the window), bias, rates, resolution."""
    rng = np.random.default_rng([20261117, seed])
    size = int(rng.integers(2, 9))
    values = np.round(rng.normal(size=size) * (rng.random(size) < 0.6), 2)
    values[-1] = 1.0
    window = size + int(rng.integers(0, 8))
    rates = tuple(float(b) for b in np.round(10 ** rng.uniform(-2, 0.8, rng.integers(1, 5)), 3))
    eta = 0.0 if rng.random() < 0.3 else float(10 ** rng.uniform(-8, -0.5))
    text = "array:" + "+".join(f"{v!r}" for v in map(float, values))
    bias = str(rng.choice(["lin", "log", "log1p"]))
    return text, np.pad(values, (0, window - size)), bias, rates, eta


def best_linear(w: np.ndarray, phi: np.ndarray, eta: float) -> float:
    """The error of the best linear readout found, measured in 40 digits.  w [S], phi [S, H]"""
    S, H = phi.shape
    columns = np.concatenate([phi, -phi], axis=1)[1:]  # x_t is free: lag 0 costs nothing
    rows = np.block([[columns, -np.eye(S - 1)], [-columns, -np.eye(S - 1)]])
    cost = np.concatenate([np.full(2 * H, eta), np.ones(S - 1)])
    found = linprog(cost, rows, np.concatenate([w[1:], -w[1:]]), bounds=(0, None))
    with mpmath.workdps(40):
        a = [
            mpmath.mpf(x) - mpmath.mpf(y)
            for x, y in zip(found.x[:H], found.x[H : 2 * H], strict=True)
        ]
        left = [
            abs(mpmath.mpf(w[s]) - sum(c * mpmath.mpf(phi[s, h]) for h, c in enumerate(a)))
            for s in range(1, S)
        ]
        return float(mpmath.fsum(left) + eta * mpmath.fsum(map(abs, a)))


def contradiction(seed: int) -> str | None:
    text, w, bias, rates, eta = drawn(seed)
    problem = Problem(kernels.build(text), family(bias), window=len(w))
    phi = np.stack([curve(bias, b, len(w)) for b in rates], axis=1)  # [S, H]
    reached = best_linear(w, phi, eta) * (1 + 1e-9) + 1e-12
    claims = [recovery_at_rates(problem, rates, eta), recovery_claim(problem, len(rates), eta)]
    for claim in claims:
        if not check(claim):
            return f"{seed}: {claim} is not accepted"
        if claim.value > reached:
            return f"{seed}: {claim}, but a linear readout has {reached} ({drawn(seed)})"
        if claim.method == "pair" and eta > 0:
            by_lag = np.array(sequences(claim.evidence)[0])[::-1, 0]
            heads = phi if claim is claims[0] else dense(bias, len(w))
            seen = np.abs(by_lag @ heads[: len(by_lag)]).max()
            if seen > eta * (1 + 1e-6) + 1e-15 or by_lag @ w[: len(by_lag)] < claim.value - 1e-12:
                return f"{seed}: the pair of {claim} is seen ({seen} > {eta})"
    if claims[0].value < 0.999 * reached - 1e-6:
        return f"{seed}: {claims[0]} is not sharp: a linear readout has {reached}"
    return None


def dense(bias: str, length: int) -> np.ndarray:
    rates = [0.0, *np.geomspace(1e-3, 50, 400)]
    return np.stack([curve(bias, b, length) for b in rates], axis=1)


def test_no_bound_contradicts_a_readout():
    found = [said for said in map(contradiction, range(QUICK)) if said is not None]
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(ALL // BATCH))
def test_no_bound_contradicts_a_readout_on_many_questions(batch):
    seeds = range(batch * BATCH, (batch + 1) * BATCH)
    found = [said for said in map(contradiction, seeds) if said is not None]
    assert not found, "\n".join(found)


def test_questions_are_of_every_sort():
    asked = [drawn(seed) for seed in range(QUICK)]
    assert {bias for _, _, bias, _, _ in asked} == {"lin", "log", "log1p"}
    assert {len(rates) for _, _, _, rates, _ in asked} == {1, 2, 3, 4}
    assert any(eta == 0 for *_, eta in asked)
    assert not math.isnan(sum(eta for *_, eta in asked))
