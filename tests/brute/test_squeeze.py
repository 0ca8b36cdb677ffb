"""The squeeze against brute force: power laws on random small windows."""

import math

import numpy as np
import pytest

from headcount.memory.kernels import Power
from headcount.theory.bounds import check
from headcount.theory.bounds.squeeze import squeeze_claim
from headcount.theory.heads import family
from headcount.theory.problem import Problem
from tests.brute.oracle import Question, best_found


def contradiction(seed: int) -> str | None:
    """What is wrong with the bound of this question; None: nothing, or no bound."""
    rng = np.random.default_rng([20261117, seed])
    heads, exponent = int(rng.integers(1, 5)), float(np.round(rng.uniform(0.1, 4), 3))
    window = 2 * heads + int(rng.integers(3, 30))
    claim = squeeze_claim(Problem(Power(exponent), family("lin"), window=window), heads)
    if claim is None:
        return None
    question = Question(("power", (exponent,)), "lin", "l1", heads, math.inf, 1, window)
    found = best_found(question)
    if not check(claim):
        return f"question {seed}: refused"
    return (
        f"{seed}: {claim.value} for {question}, but {found}" if found.error < claim.value else None
    )


def test_no_squeeze_contradicts_brute_force():
    found = [said for said in map(contradiction, range(4)) if said is not None]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_no_squeeze_contradicts_brute_force_on_many_questions():
    found = [said for said in map(contradiction, range(4, 200)) if said is not None]
    assert not found, "\n".join(found)
