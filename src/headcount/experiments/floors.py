"""What lower bounds say about an arm, in the units of its loss.

A bound is a claim (`core.claims`): no model of its class has an error below its value. It is a
floor of an arm only where its scope reaches the arm's; where it is about a smaller class of models
(bounded weights, a linear readout), it is shown with that class beside it, in words made from the
scope. An l2 error e over the lags means a mean squared error of v e^2 for inputs of variance v, and
what no readout of this kind can reach (`rest`) comes on top.
"""

import dataclasses
import math

from headcount.core.claims import FIELDS, Claim, Lags, Readout, Role, Scope, Sense, Status
from headcount.theory.bounds import LowerBound
from headcount.theory.problem import Problem


@dataclasses.dataclass(frozen=True)
class LossBound:
    """No model of the class has a smaller mean squared error; `holds_for` names the class where it
    is smaller than the one asked about.
    """

    value: float
    certificate: str
    holds_for: str = ""


def claim_of(problem: Problem, bound: LowerBound) -> Claim:
    """The bound as a claim. The one place that reads a bound's own record, which has no lags: those of
    the problem stand for it.
    """
    asked = question(problem, heads=bound.heads, weight=bound.budget)
    scope = dataclasses.replace(asked, lowest_rate=bound.lowest_rate, norm=bound.norm)
    status = Status.PROVED if bound.certified else Status.CONJECTURED
    return Claim(
        problem.kernel, scope, Sense.AT_LEAST, bound.value, status, bound.method, bound.ref
    )


def question(
    problem: Problem,
    heads: int | None,
    weight: float | None = None,
    readout: Readout = Readout.LINEAR,
) -> Scope:
    """What an arm may use: so many heads of the problem's bias with any rate that a model may have.
    On a window that is every rate >= 0; over all lags a head must be summable.
    """
    windowed = problem.window is not None
    return Scope(
        bias=problem.family.name,
        lowest_rate=0.0 if windowed else problem.family.lowest_rate,
        heads=heads,
        weight=math.inf if weight is None else weight,
        readout=readout,
        norm=problem.norm,
        lags=Lags(1 if problem.residual else 0, problem.window),
    )


def loss_bound(
    claim: Claim, asked: Scope, variance: float = 1.0, rest: float = 0.0
) -> LossBound | None:
    """The claim as a bound on a loss: None where it is not proved or counts errors that the question
    does not.
    """
    gaps = claim.answers(asked).gaps
    if claim.status is not Status.PROVED or any(
        FIELDS[gap.field][0] is Role.MEASURE for gap in gaps
    ):
        return None
    words = ", ".join(FIELDS[gap.field][2](gap.claimed) for gap in gaps)
    value = rest + variance * claim.value**2
    certificate = f"{claim.method}, {claim.ref}" if value else "a squared error is not negative"
    return LossBound(value, certificate, words)
