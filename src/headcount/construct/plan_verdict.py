"""What a row of a plan asks, and what claims answer: reached, out of reach, or undecided and why.

The row's own question is whether *any* model of its kind reaches the tolerance: any number of
heads, any weights, any function behind the heads, on the lags that exist. Head outputs are then
known to one rounding unit of the format (`Scope.resolution`): "computed in float32" itself is
nobody's theorem.
"""

import dataclasses
import math

from headcount.construct.draft import Request, Unreachable
from headcount.construct.method import AbstractMethod
from headcount.construct.plan_record import Row
from headcount.core.claims import (
    FIELDS,
    Claim,
    Lags,
    Precision,
    Readout,
    Scope,
    Sense,
    Status,
    Tokens,
    rounded,
    subject_words,
)
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import Uniform
from headcount.memory.kernels import Lag
from headcount.memory.named import unnamed
from headcount.memory.readouts import Linear
from headcount.memory.target import AbstractTarget
from headcount.theory.bounds import check as check_claim
from headcount.theory.bounds.recovery import recovery_claim
from headcount.theory.heads import family
from headcount.theory.problem import Problem

NOTHING_FOUND = "undecided: no construction found here"


def question_of(target: AbstractTarget, method: AbstractMethod, request: Request) -> Scope:
    """What the row asks: can any model of this kind answer, whatever its weights?"""
    return Scope(
        bias=request.bias,
        layers=method.layers,
        dot_product=method.attention != "dp-free",
        readout=Readout.ANY,
        precision=None,
        resolution=request.precision.unit,
        lags=Lags(0, request.length),
        tokens=tokens_of(target),
    )


def tokens_of(target: AbstractTarget) -> Tokens:
    """The letters, symbols by their number; or all vectors up to a norm."""
    if target.vocabulary is not None:
        return Tokens(frozenset((float(symbol),) for symbol in range(target.vocabulary)))
    inputs = unnamed(target).inputs  # type: ignore[attr-defined]
    if inputs.alphabet is None:
        return Tokens(None, inputs.bound)
    return Tokens(frozenset(tuple(map(float, letter)) for letter in inputs.alphabet))


def isolated_lag(target: AbstractTarget) -> int | None:
    """T where the answer is x_{t-T} itself (a linear readout of one lag, weight 1)."""
    found = unnamed(target)
    if isinstance(found, FixedMemory) and len(found.lags) == 1:
        readout = found.readout
        if isinstance(readout, Linear) and readout.full(2).tolist() == [0.0, 1.0]:
            return found.lags[0]
    return None


def fills_a_line(target: AbstractTarget) -> bool:
    """Do tokens fill the line on which a pair lies? An array of data may hold letters alone, which
    one head packs into a code.
    """
    return isinstance(getattr(unnamed(target), "inputs", None), Uniform)


def any_readout(
    target: AbstractTarget, method: AbstractMethod, request: Request
) -> tuple[Claim, ...]:
    """What no readout of any number of decaying heads can do, where tokens fill a ball and the
    answer is one lag: head outputs are known to one rounding unit.
    """
    lag = isolated_lag(target) if fills_a_line(target) else None
    decays = request.bias in ("lin", "log", "log1p") and method.attention == "dp-free"
    if lag is None or not decays or method.layers != 1:
        return ()
    radius = unnamed(target).inputs.bound  # type: ignore[attr-defined]
    problem = Problem(Lag(lag), family(request.bias), window=max(request.length, lag + 1))
    claim = recovery_claim(problem, resolution=request.precision.unit, radius=radius)
    return (dataclasses.replace(claim, subject=target.kind),) if check_claim(claim) else ()


def excluded(
    row: Row, subject: str, claims: tuple[Claim, ...], question: Scope, refusal: Unreachable
) -> Row:
    """Out of reach where a claim about this target covers the question; else undecided, and why."""
    tol = row.request.tol or math.inf
    # what is proved of one kernel says nothing of a target that is more than it
    if any(claim.subject == subject and claim.excludes(question, tol) for claim in claims):
        return dataclasses.replace(row, reachable=False, claims=claims, reason=str(claims[0]))
    gaps = {gap.field: gap for claim in claims for gap in claim.answers(question).gaps}
    words = [FIELDS[name][2](gap.claimed) for name, gap in gaps.items()]
    other = any(claim.subject != subject for claim in claims)
    told = f": {refusal}"
    if claims:
        least = f"error at least {rounded(claims[0].value, 3, up=False)}"
        about = f" on the kernel {subject_words(claims[0].subject)}" if other else ""
        told = f"; {least}{about} is proved for {', '.join(words)}"
    return dataclasses.replace(
        row,
        claims=claims,
        missing=(*(["subject"] if other else []), *gaps),
        reason=f"{NOTHING_FOUND}{told}",
    )


def reached(target: AbstractTarget, method: AbstractMethod, row: Row) -> Row:
    """The claims that a draft makes, and whether they reach the question: what is promised, for a
    computation in float64, and what was measured in the precision asked for.
    """
    assert row.draft is not None
    assert row.architecture is not None
    assert row.error is not None
    question, tol = question_of(target, method, row.request), row.request.tol or math.inf
    held = dataclasses.replace(
        question, heads=row.architecture.heads, layers=row.architecture.layers, resolution=0.0
    )
    found = [(Precision.FLOAT64, row.error, row.draft.status)]
    if row.error_float32 is not None:
        found.append((Precision.FLOAT32, max(row.error, row.error_float32), Status.MEASURED))
    claims = tuple(
        Claim(
            target.kind,
            dataclasses.replace(held, precision=precision),
            Sense.AT_MOST,
            value,
            status,
            method.kind,
            method.ref,
        )
        for precision, value, status in found
    )
    good = all(
        claim.reaches(
            dataclasses.replace(question, precision=claim.scope.precision, resolution=0.0), tol
        )
        for claim in claims
    )
    last = claims[-1]
    reason = f"error {row.error:.3g} {row.draft.status}, {last.value:.3g} in {last.scope.precision}"
    return dataclasses.replace(
        row, claims=claims, reachable=True if good else None, reason="" if good else reason
    )
