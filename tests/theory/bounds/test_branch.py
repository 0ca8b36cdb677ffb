"""Branch and bound over rates: tighter than the dual, and refused when its evidence is changed."""

import dataclasses
import math

import pytest

from headcount.core.claims import Claim, Lags
from headcount.memory.kernels import AbstractKernel, Exponential, Lag, Oscillating, Window
from headcount.theory.bounds import check, lower_bound
from headcount.theory.bounds.branch import branch_claim
from headcount.theory.bounds.dual import dual_claim
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem


def problem(kernel: AbstractKernel, bias="lin", norm=Norm.L1, budget=1e3) -> Problem:
    return Problem(kernel, family(bias), norm, window=200, budget=budget)


@pytest.fixture(scope="module")
def window() -> Claim:
    found = branch_claim(problem(Window(10)), 1, 6)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def two_heads() -> Claim:
    found = branch_claim(problem(Window(10)), 2, 20)
    assert found is not None
    assert check(found)
    return found


def test_one_head_for_a_window_is_nearly_settled(window):
    # one head of rate 0.09: 5.42, and no weight helps
    assert 5.4 < window.value < 5.4198
    assert check(window)
    assert window.value > 2.5 * dual_claim(problem(Window(10))).value


@pytest.mark.parametrize(
    ("kernel", "bias", "norm", "heads", "least"),
    [
        (Oscillating(0.05, 0.3), "lin", Norm.L1, 2, 7.7),
        (Exponential(0.05), "log", Norm.L1, 1, 10.0),
        (Lag(3), "lin", Norm.SUP, 1, 0.45),
        (Lag(3), "lin", Norm.L2, 1, 0.8),
    ],
)
def test_few_heads(kernel, bias, norm, heads, least):
    asked = problem(kernel, bias, norm)
    claim = branch_claim(asked, heads, 12 * heads)
    assert claim is not None
    assert check(claim)
    assert claim.value > least
    assert claim.value > dual_claim(asked).value


def test_four_heads_within_a_fifth_of_what_is_reached():
    # 2.4565 is reached; the dual proves 1.795
    asked = problem(Window(10))
    claim = branch_claim(asked, 4, 120, reached=2.4565)
    assert claim is not None
    assert check(claim)
    assert claim.value > 2.4565 / 1.2


def test_a_wrong_aim_proves_nothing_wrong():
    asked = problem(Window(10))
    for reached in (0.1, 1.0, 20.0):
        claim = branch_claim(asked, 2, 12, reached)
        assert claim is None or (check(claim) and claim.value < 3.8707)


def test_the_best_bound_takes_it(window):
    best = lower_bound(problem(Window(10)), 1)
    assert best.method == "branch"
    assert best.value >= 0.98 * window.value


def test_it_wants_a_budget_and_few_heads():
    assert branch_claim(problem(Window(4), budget=math.inf), 1, 4) is None
    assert branch_claim(problem(Window(4)), 9, 4) is None
    far = Problem(Lag(5000), family("lin"), budget=1e3)  # lies beyond the lags that it looks at
    assert branch_claim(far, 1, 4) is None


def forged(claim: Claim, **evidence) -> Claim:
    return dataclasses.replace(claim, evidence={**claim.evidence, **evidence})


def test_changed_evidence_is_refused(window):
    trees, vectors = window.evidence["trees"], window.evidence["vectors"]
    assert not check(dataclasses.replace(window, value=window.value * 1.05))
    assert not check(dataclasses.replace(window, subject=Window(9)))
    for changed in (
        {"heads": 2}, {"heads": None}, {"weight": math.inf}, {"bias": "log"},
        {"norm": Norm.SUP}, {"lags": Lags(0, 50)},
    ):  # fmt: skip
        other = dataclasses.replace(window.scope, **changed)
        assert not check(dataclasses.replace(window, scope=other)), changed
    assert not check(forged(window, heads=2))
    assert not check(forged(window, trees=trees[1:]))
    assert not check(forged(window, trees=trees[::-1]))
    assert not check(forged(window, vectors=vectors[1:]))
    assert not check(forged(window, vectors=tuple(y[:-1] for y in vectors)))


def test_a_changed_tree_is_refused(two_heads):
    trees = two_heads.evidence["trees"]
    at = next(i for i, tree in enumerate(trees) if isinstance(tree, tuple))
    split = trees[at]
    other = dataclasses.replace(two_heads.scope, bias="log1p")
    assert not check(dataclasses.replace(two_heads, scope=other))
    # one leaf for all rates; a cut elsewhere; a leaf that does not exist; sides exchanged; a slot
    # that does not exist
    for tree in (
        0,
        (split[0], 4.0, *split[2:]),
        (*split[:3], 999),
        (*split[:2], split[3], split[2]),
        (3, *split[1:]),
    ):
        changed = tuple(tree if i == at else kept for i, kept in enumerate(trees))
        assert not check(forged(two_heads, trees=changed)), tree
