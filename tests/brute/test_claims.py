"""No lower bound lies above an error that brute force finds: random small questions.

What a question means (and what a bound must therefore cover):

- `Problem(window=S)`: lags >= S do not exist, for every kernel;
- without a window every lag counts, also where the kernel is zero; only where the kernel has no
  norm at all (power laws that cannot be summed) the first 1024 lags count;
- rates b >= 0 are admitted wherever the heads then have a norm: on a window, and in sup on all
  lags; on all lags log and log1p heads need b > 1 in l1 and b > 1/2 in l2.
"""

import math

import numpy as np
import pytest

from headcount.memory.kernels import kernels
from headcount.theory.bounds import lower_bound
from headcount.theory.heads import family
from headcount.theory.problem import DEFAULT_WINDOW, Norm, Problem
from tests.brute.oracle import Found, Question, best_found, exact_error

QUICK, ALL, BATCH = 25, 10_000, 250
EMPTY_LAGS = ("lag", "window", "array")  # kernels that end


def drawn(seed: int) -> tuple[Question, Problem, int | None]:
    """A random small question, as oracle and code read it; None heads: any number of them."""
    rng = np.random.default_rng([20261116, seed])
    kernel, ends = _kernel(rng)
    bias = str(rng.choice(["lin", "log", "log1p"]))
    norm = str(rng.choice(["l1", "l2", "sup"]))
    heads = int(rng.integers(1, 5))
    budget = math.inf if rng.random() < 0.4 else float(10 ** rng.uniform(0, 4))
    residual = bool(rng.random() < 0.3)
    window = None if rng.random() < 0.2 else int(rng.integers(max(2, ends), 13))
    if window is not None and rng.random() < 0.3:
        window = max(2, ends)  # lags end where the kernel does
    first = 1 if residual or bias == "log" or kernel[0] == "power" else 0
    if window is not None:
        window = max(window, first + 1)
    name, numbers = kernel
    text = f"{name}:" + ("+" if name == "array" else ",").join(f"{p!r}" for p in numbers)
    problem = Problem(kernels.build(text), family(bias), Norm(norm), window, budget, residual)
    summable = not (name == "power" and numbers[0] <= 1)
    stop = window if window is not None or summable else DEFAULT_WINDOW
    question = Question(kernel, bias, norm, heads, budget, first, stop)
    # Bounds by budget alone are asked for too: they hold for these heads among others.
    counted = heads if math.isinf(budget) or rng.random() < 0.8 else None
    return question, problem, counted


def _kernel(rng: np.random.Generator) -> tuple[tuple[str, tuple], int]:
    """A kernel, and the number of lags that it needs."""
    name = str(rng.choice(["lag", "window", "array", "exp", "power", "osc"]))
    if name in ("lag", "window"):
        size = int(rng.integers(1, 8))
        return (name, (size,)), size + (name == "lag")
    if name == "array":
        size = int(rng.integers(2, 9))
        values = rng.normal(size=size) * (rng.random(size) < 0.7)
        values[-1] = 1.0
        return (name, tuple(float(v) for v in np.round(values, 3))), size
    if name == "exp":
        return (name, (float(np.round(10 ** rng.uniform(-2, 0.5), 4)),)), 1
    if name == "power":
        return (name, (float(np.round(rng.uniform(0.2, 3), 3)),)), 1
    rate, frequency = 10 ** rng.uniform(-1.5, 0), rng.uniform(0.1, 3)
    return (name, (float(np.round(rate, 4)), float(np.round(frequency, 3)))), 1


def contradicted(value: float, question: Question) -> Found | None:
    """Heads with a smaller error than `value`, where brute force finds some."""
    found = best_found(question)
    return found if value > found.error * (1 + 1e-9) else None


def contradiction(seed: int) -> str | None:
    """What is wrong with the bound of this question, with the heads that show it; None: nothing."""
    question, problem, heads = drawn(seed)
    bound = lower_bound(problem, heads)
    found = contradicted(bound.value, question) if bound.value > 0 else None
    if found is None:
        return None
    return f"question {seed}: at least {bound.value!r} ({bound.method}) for {question}, but {found}"


def test_no_bound_contradicts_brute_force():
    found = [said for said in map(contradiction, range(QUICK)) if said is not None]
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(ALL // BATCH))
def test_no_bound_contradicts_brute_force_on_many_questions(batch):
    seeds = range(batch * BATCH, (batch + 1) * BATCH)
    found = [said for said in map(contradiction, seeds) if said is not None]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("kernel", "bias", "norm", "heads", "budget", "window"),
    [
        (("lag", (6,)), "lin", "l1", 6, math.inf, 7),
        (("lag", (5,)), "lin", "sup", 5, math.inf, 6),
        (("exp", (0.01,)), "log", "l1", 4, 2e4, 60),
        (("power", (0.3,)), "log", "l1", 1, 100.0, None),
        (("lag", (3,)), "log", "sup", 6, 100.0, None),
        (("exp", (0.3,)), "log", "l2", 1, math.inf, 2),  # one lag counts
    ],
)
def test_questions_that_were_answered_wrongly(kernel, bias, norm, heads, budget, window):
    first = 1 if bias == "log" else 0
    stop = DEFAULT_WINDOW if kernel[0] == "power" else window
    text = f"{kernel[0]}:{kernel[1][0]}"
    problem = Problem(kernels.build(text), family(bias), Norm(norm), window, budget)
    question = Question(kernel, bias, norm, heads, budget, first, stop)
    assert not contradicted(lower_bound(problem, heads).value, question)


def test_questions_are_of_every_sort():
    """Each combination that has been wrong once is among the quick questions, with a bound."""
    asked = [drawn(seed)[0] for seed in range(QUICK)]
    assert {q.norm for q in asked} == {"l1", "l2", "sup"}
    assert {q.heads for q in asked} == {1, 2, 3, 4}
    assert any(q.bias == "log" and q.stop is not None and q.budget < math.inf for q in asked)
    assert any(q.kernel[0] in EMPTY_LAGS and q.stop is not None for q in asked)
    assert any(q.stop is None and q.budget == math.inf for q in asked)


@pytest.mark.parametrize(
    ("question", "best"),
    [
        # one over the largest coefficient of (x-1)^T: curves that draw a polynomial
        (Question(("lag", (2,)), "lin", "l1", 2, stop=3), 1 / 2),
        (Question(("lag", (3,)), "lin", "l1", 3, stop=4), 1 / 3),
        # lag 1 needs two lin heads on all lags: with one, nothing is best (Theorem A)
        (Question(("lag", (1,)), "lin", "l1", 1), 1.0),
        (Question(("exp", (0.3,)), "lin", "l2", 1), 0.0),
        (Question(("power", (0.3,)), "log", "sup", 1, budget=2.0, first=1, stop=12), 0.0),
        # a constant and a budget of 1/2 against the constant 1
        (Question(("window", (4,)), "lin", "sup", 2, budget=0.5, stop=4), 0.5),
        (Question(("window", (4,)), "log1p", "l1", 2, budget=0.5, stop=4), 2.0),
        (Question(("window", (4,)), "lin", "l2", 3, budget=0.5, stop=4), 1.0),
    ],
)
def test_the_oracle_finds_what_is_known_to_be_best(question, best):
    found = best_found(question)
    assert best <= found.error + 1e-12
    assert found.error <= best + 2e-3
    assert sum(map(abs, found.coefficients)) <= question.budget
    assert min(found.rates, default=0.0) >= question.lowest[0]
    assert len(found.rates) <= question.heads


def test_the_oracle_measures_what_it_says():
    """e^{-s} for e^{-2s}, by hand; and heads that never end cost their tail."""
    window = Question(("exp", (2.0,)), "lin", "l1", 1, stop=3)
    by_hand = sum(abs(math.exp(-2 * s) - math.exp(-s)) for s in range(3))
    assert exact_error(window, (1.0,), (1.0,)) == pytest.approx(by_hand, rel=1e-14)
    endless = Question(("exp", (2.0,)), "lin", "l1", 1)
    whole = 1 / (1 - math.exp(-1)) - 1 / (1 - math.exp(-2))
    assert exact_error(endless, (1.0,), (1.0,)) == pytest.approx(whole, rel=1e-8)
    assert exact_error(endless, (), ()) == pytest.approx(1 / (1 - math.exp(-2)), rel=1e-8)
    assert Found((), (), 0.0).error == 0


def test_a_claim_beyond_its_scope_is_seen():
    """What Theorem A proves on all lags, said of a window that ends where the kernel does."""
    problem = Problem(kernels.build("lag:3"), family("lin"))
    value = lower_bound(problem, 3).value
    assert value == 1.0
    assert not contradicted(value, Question(("lag", (3,)), "lin", "l1", 3))
    assert contradicted(value, Question(("lag", (3,)), "lin", "l1", 3, stop=4))
