"""Branch and bound against brute force: random small questions with a budget."""

import math

import pytest

from headcount.theory.bounds import check
from headcount.theory.bounds.branch import branch_claim
from tests.brute.test_claims import contradicted, drawn


def contradiction(seed: int) -> str | None:
    """What is wrong with the bound of this question; None: nothing, or no bound."""
    question, problem, _ = drawn(seed)
    # with and without something to aim at, be it reached or not
    aim = (math.inf, 1.0, 0.3)[seed % 3]
    claim = branch_claim(problem, question.heads, 8 * question.heads, aim)
    if claim is None:
        return None
    if not check(claim):
        return f"question {seed}: refused"
    found = contradicted(claim.value, question)
    return found and f"question {seed}: at least {claim.value!r} for {question}, but {found}"


def test_no_branch_contradicts_brute_force():
    found = [said for said in map(contradiction, range(30)) if said is not None]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_no_branch_contradicts_brute_force_on_many_questions():
    found = [said for said in map(contradiction, range(30, 600)) if said is not None]
    assert not found, "\n".join(found)
