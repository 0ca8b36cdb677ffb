"""Every method of bounds by itself, attacked in the scope that its claims say of themselves.

The best bound of a question hides the others, and a claim often says more than was asked: any
number of heads, any weights, fewer lags, slower rates. So each method is asked questions that suit
it, and brute force searches the whole scope of its claim, not the question.
"""

from collections.abc import Callable

import numpy as np
import pytest

from headcount.core.claims import Claim, Scope
from headcount.memory.kernels import kernels
from headcount.theory.bounds import check, weight_needed
from headcount.theory.bounds.branch import branch_claim
from headcount.theory.bounds.dual import dual_claim
from headcount.theory.bounds.squeeze import squeeze_claim
from headcount.theory.bounds.theorem_a import heads_claim
from headcount.theory.bounds.weight import budget_claim
from headcount.theory.bounds.zeros import zeros_claim
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem
from tests.brute.oracle import Found, Question, best_found, best_of_many

QUICK, ALL = 1, 220
MOST_LAGS = 64  # of a programme over many rates
MOST_HEADS = 6  # polished where a claim says "any number"
SPLITS = {1: 8, 2: 40, 3: 60, 4: 60}
Rng = np.random.Generator
Kernel = tuple[str, tuple]
Asked = tuple[Kernel, Claim | None]  # what a claim is about, as the oracle reads it


def _any_kernel(rng: Rng) -> Kernel:
    name = str(rng.choice(["lag", "window", "array", "exp", "power", "osc"]))
    if name in ("lag", "window"):
        return name, (int(rng.integers(1, 7)),)
    if name == "array":
        return name, (*map(float, np.round(rng.normal(size=rng.integers(1, 6)), 2)), 1.0)
    if name == "exp":
        return name, (float(np.round(10 ** rng.uniform(-2, 0.5), 4)),)
    if name == "power":
        return name, (float(np.round(rng.uniform(0.2, 3), 3)),)
    return name, (float(np.round(10 ** rng.uniform(-1.5, 0), 4)), float(rng.uniform(0.1, 3)))


def _lags_needed(kernel: Kernel) -> int:
    name, p = kernel
    return {"lag": p[0] + 1, "window": p[0], "array": len(p)}.get(name, 1)


def _problem(rng: Rng, kernel: Kernel, bias: str = "", norm: str = "", **more) -> Problem:
    """The kernel with what is left open drawn: bias, norm, window, residual, slowest rate."""
    name, numbers = kernel
    text = f"{name}:" + ("+" if name == "array" else ",").join(f"{p!r}" for p in numbers)
    asked = {
        "window": None if rng.random() < 0.3 else _lags_needed(kernel) + int(rng.integers(2, 24)),
        "residual": bool(rng.random() < 0.3),
        "rates_from": 0.0 if rng.random() < 0.7 else float(np.round(rng.uniform(0, 0.8), 2)),
    }
    return Problem(
        kernels.build(text),
        family(bias or str(rng.choice(["lin", "log", "log1p"]))),
        Norm(norm or str(rng.choice(["l1", "l2", "sup"]))),
        **asked | more,
    )


def _budget(rng: Rng, most: float = 4.0) -> float:
    return float(np.round(10 ** rng.uniform(-0.5, most), 3))


def theorem_a(rng: Rng) -> Asked:
    """Few heads against a lag that lies far, or values at some lags."""
    heads = int(rng.integers(1, 5))
    kernel = ("lag", (heads + int(rng.integers(0, 4)),))
    if rng.random() < 0.4:
        gaps = [0.0] * (heads + int(rng.integers(1, 3)))
        kernel = ("array", (*gaps, float(np.round(rng.normal(), 2)) or 1.0, *gaps, 1.0))
    return kernel, heads_claim(_problem(rng, kernel), heads)


def differences(rng: Rng) -> Asked:
    """Moving sums."""
    heads = int(rng.integers(1, 5))
    kernel = ("window", (heads + int(rng.integers(1, 4)),))
    return kernel, heads_claim(_problem(rng, kernel), heads)


def zero_counting(rng: Rng) -> Asked:
    heads = int(rng.integers(1, 5))
    more = {"window": 2 * heads + int(rng.integers(7, 24))} if rng.random() < 0.7 else {}
    kernel = _any_kernel(rng)
    return kernel, zeros_claim(_problem(rng, kernel, **more), heads)


def squeeze(rng: Rng) -> Asked:
    heads = int(rng.integers(1, 5))
    kernel = ("power", (float(np.round(rng.uniform(0.1, 4), 3)),))
    window = 2 * heads + int(rng.integers(3, 30))
    return kernel, squeeze_claim(_problem(rng, kernel, "lin", "l1", window=window), heads)


def chebyshev(rng: Rng) -> Asked:
    kernel = ("lag", (int(rng.integers(1, 8)),))
    problem = _problem(rng, kernel, norm="l1", budget=_budget(rng))
    if rng.random() < 0.5:
        return kernel, weight_needed(problem, float(np.round(rng.uniform(0, 0.95), 2)))
    return kernel, budget_claim(problem)


def binomial(rng: Rng) -> Asked:
    kernel = ("lag", (int(rng.integers(1, 8)),))
    tol = float(np.round(rng.uniform(0, 0.95), 2))
    return kernel, weight_needed(_problem(rng, kernel, norm="l1"), tol, "binomial")


def dual(rng: Rng) -> Asked:
    # On all lags these claims use a thousand of them: brute force is slow there.
    more = {"window": int(rng.integers(8, 40))} if rng.random() < 0.9 else {}
    kernel = _any_kernel(rng)
    return kernel, dual_claim(_problem(rng, kernel, budget=_budget(rng, 2.5), **more))


def branch(rng: Rng) -> Asked:
    heads = int(rng.choice([1, 1, 2, 2, 3, 4]))
    more = {"window": int(rng.integers(8, 40))} if rng.random() < 0.8 else {}
    kernel = _any_kernel(rng)
    problem = _problem(rng, kernel, budget=_budget(rng, 2.5), **more)
    return kernel, branch_claim(problem, heads, SPLITS[heads])


METHODS: dict[str, Callable[[Rng], Asked]] = {
    "theorem-a": theorem_a,
    "theorem-a-differences": differences,
    "zero-counting": zero_counting,
    "squeeze": squeeze,
    "chebyshev": chebyshev,
    "binomial": binomial,
    "dual": dual,
    "branch": branch,
}


def drawn(method: str, seed: int) -> tuple[Kernel, Claim] | None:
    """A claim of this method that says something; None: this seed has none."""
    rng = np.random.default_rng([20261119, list(METHODS).index(method), seed])
    kernel, claim = METHODS[method](rng)
    if claim is None or claim.method != method or claim.value <= 0:
        return None
    return kernel, claim


def best_admitted(kernel: Kernel, scope: Scope, seed: int) -> Found:
    """The smallest error that brute force finds among all heads that this scope admits."""
    heads = scope.heads or int(np.random.default_rng(seed).integers(1, MOST_HEADS + 1))
    bias, lags = scope.bias or "", scope.lags
    question = Question(
        kernel, bias, str(scope.norm), heads, scope.weight, lags.first, lags.stop, scope.lowest_rate
    )
    found = best_found(question, seed)
    if scope.heads is None and lags.stop is not None and lags.stop <= MOST_LAGS:
        return min(found, best_of_many(question), key=lambda f: f.error)
    return found


def contradiction(kernel: Kernel, claim: Claim, seed: int) -> str | None:
    """What is wrong with this claim; None: nothing."""
    if not check(claim):
        return f"{seed}: refused by the checker: {claim}"
    found = best_admitted(kernel, claim.scope, seed)
    if claim.value <= found.error * (1 + 1e-9):
        return None
    return f"{seed}: {claim}, but {found}"


def wrong(method: str, count: int) -> list[str]:
    """What is wrong with the first so many claims of this method."""
    tested, said = 0, []
    for seed in range(20 * count):
        asked = drawn(method, seed)
        if asked is not None:
            tested += 1
            said.append(contradiction(*asked, seed))
        if tested == count:
            break
    assert tested == count, f"{tested} claims of {method}, expected {count}"
    return [line for line in said if line is not None]


@pytest.mark.parametrize("method", METHODS)
def test_no_method_contradicts_brute_force(method):
    assert not wrong(method, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_no_method_contradicts_brute_force_on_many_questions(method):
    assert not wrong(method, ALL)
