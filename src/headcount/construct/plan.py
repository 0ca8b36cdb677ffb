"""`plan`: for a target and a tolerance, the smallest architecture found for every bias and
attention kind, side by side.

A row is one method with one bias. Its draft (weights and a bound) makes claims: the error is at
most so much. Where no draft is found, what is proved about the search comes along as claims: the
error is at least so much. The row's own question is whether *any* model of its kind reaches the
tolerance: any number of heads, any weights, any function behind the heads, in the precision asked
for, on the lags that exist. The verdict comes from claims alone:

    reachable    True where claims reach the question, False where a proved and checked claim
                 excludes it, else None: undecided, with the fields that keep the claims silent.

The recommended row has passed the whole check of a build, with the draft that it has.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

from headcount.construct.check import Probe, check, layerwise, sampled
from headcount.construct.construct import by_cost
from headcount.construct.construction import Architecture, in_precision
from headcount.construct.draft import (
    NORMALISERS,
    Draft,
    Request,
    Unreachable,
    known_parts,
    longest_of,
    offered_precision,
)
from headcount.construct.impossible import accepted
from headcount.construct.method import AbstractMethod, methods
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
)
from headcount.core.errors import CheckFailed, InputError, require
from headcount.core.refs import Ref
from headcount.memory.named import targets, unnamed
from headcount.memory.target import AbstractTarget
from headcount.model.cost import count_parameters

BIASES = ("lin", "log", "log1p", "peak", "table", "rope", "none")
NOTHING_FOUND = "undecided: no construction found here"
Progress = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Row:
    """One bias with one kind of attention."""

    bias: str
    attention: str
    normaliser: str
    source: Ref
    construction: str
    request: Request
    reachable: bool | None = None  # None: undecided
    reason: str = ""
    draft: Draft | None = None
    architecture: Architecture | None = None
    parameters: int | None = None
    error: float | None = None  # promised, in float64: `status` says whether proved
    error_float32: float | None = None  # measured
    claims: tuple[Claim, ...] = ()
    missing: tuple[str, ...] = ()  # fields of the scope that keep the claims silent

    @property
    def cost(self) -> tuple[int, float]:
        """Reachable rows first, by parameters."""
        return {True: 0, None: 1, False: 2}[self.reachable], (
            self.parameters if self.parameters is not None else math.inf
        )

    @property
    def status(self) -> Status | None:
        """What stands behind `error`."""
        return None if self.draft is None else self.draft.status

    @property
    def impossibilities(self) -> tuple[Claim, ...]:
        return tuple(claim for claim in self.claims if claim.sense is Sense.AT_LEAST)

    def to_json(self) -> dict[str, Any]:
        a, below = self.architecture, self.impossibilities
        certificate = None
        if below:
            first = below[0]
            told = {"method": first.method, "source": str(first.ref)}
            certificate = {"claim": str(first.words()), **told}
        return {
            "bias": self.bias,
            "attention": self.attention,
            "normaliser": self.normaliser,
            "layers": a.layers if a else None,
            "heads": a.heads if a else None,
            "width": a.width if a else None,
            "stream": a.stream if a else None,
            "parameters": self.parameters,
            "error": self.error,
            "status": None if self.status is None else str(self.status),
            "error_float32": self.error_float32,
            "reachable": self.reachable,
            "reason": self.reason,
            "claims": [claim.to_json() for claim in self.claims],
            "missing": list(self.missing),
            "source": str(self.source),
            "construction": self.construction,
            "certificate": certificate,
        }


@dataclasses.dataclass(frozen=True)
class Plan:
    """Rows by cost, and the one to take; None where no row is reachable."""

    target: AbstractTarget
    tol: float
    precision: Precision
    length: int
    rows: tuple[Row, ...]
    recommended: Row | None

    def to_json(self, target: str) -> dict[str, Any]:
        best = self.recommended
        return {
            "target": target,
            "tol": self.tol,
            "dtype": str(self.precision),
            "length": self.length,
            "rows": [row.to_json() for row in self.rows],
            "recommended": (
                None if best is None else {**best.to_json(), "command": self.command(target)}
            ),
        }

    def command(self, target: str) -> str:
        """How to build the recommended row."""
        best = self.recommended
        assert best is not None
        parts = f"--bias {best.bias} --normaliser {best.request.normaliser}"
        return (
            f"headcount build '{target}' --tol {self.tol:g} {parts} --theorem {best.construction}"
            f" --precision {self.precision} --length {self.length} -o model"
        )


def plan(
    target: AbstractTarget | str,
    tol: float = 0.01,
    dtype: str = "float32",
    *,
    normaliser: str | None = None,
    length: int | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The smallest (layers, heads, width) found for each bias and attention kind that reaches `tol`
    (sup error) in this precision.
    """
    built = targets.build(target)
    require(tol > 0, f"tol {tol}", "a positive error", "pass for example --tol 0.01")
    known_parts(None, normaliser)
    precision, longest = offered_precision(dtype, "dtype"), longest_of(built, length)
    say = progress or (lambda message: None)
    probe: list[Probe] = []
    rows: list[Row] = []
    for method, request in _attempts(built, tol, precision, normaliser, longest):
        if any(
            row.reachable and (row.bias, row.attention) == (request.bias, method.attention)
            for row in rows
        ):
            continue  # a cheaper method of the kind serves already
        say(f"{method.kind}, bias {request.bias}")
        probe = probe or [sampled(built, request)]
        rows.append(_row(built, method, request, probe[0]))
    require(
        rows,
        f"no construction serves {built.kind}",
        "a target of a known family",
        "see headcount list construction",
    )
    ordered = sorted(_best_of_each(rows), key=lambda row: row.cost)
    ordered, recommended = _recommended(built, ordered, say)
    return Plan(built, tol, precision, longest, tuple(ordered), recommended)


def _attempts(
    target: AbstractTarget, tol: float, precision: Precision, normaliser: str | None, length: int
) -> Iterator[tuple[AbstractMethod, Request]]:
    """Every method of the target's family with every bias it takes, under the first normaliser it
    takes; cheap ones first.
    """
    for entry in by_cost():
        method = methods.build(entry.name)
        for bias in BIASES:
            for name in (normaliser,) if normaliser else NORMALISERS:
                request = Request(bias, tol, normaliser=name, precision=precision, length=length)
                if not method.refusals(target, request):
                    yield method, request
                    break


def _row(target: AbstractTarget, method: AbstractMethod, request: Request, probe: Probe) -> Row:
    kind = (request.bias, method.attention, request.normaliser, method.ref, method.kind)
    row = Row(*kind, request)
    try:
        draft = method.draft(target, request)
    except Unreachable as refusal:
        claims = tuple(claim for claim in refusal.claims if accepted(claim))
        question = question_of(target, method, request)
        return _excluded(row, target.kind, claims, question, refusal)
    except (InputError, CheckFailed) as refusal:
        return dataclasses.replace(row, reason=f"{NOTHING_FOUND}: {refusal}")
    narrow = in_precision(draft.model, Precision.FLOAT32)
    architecture, error = Architecture.of(draft.model), draft.output.at(Precision.FLOAT64)
    asked = request.precision is Precision.FLOAT32
    drafted = dataclasses.replace(
        row,
        attention=architecture.attention,
        normaliser=architecture.normaliser,
        draft=draft,
        architecture=architecture,
        parameters=count_parameters(narrow),
        error=error,
        error_float32=layerwise(target, narrow, probe) if asked else None,
    )
    return _reached(target, method, drafted)


def question_of(target: AbstractTarget, method: AbstractMethod, request: Request) -> Scope:
    """What the row asks: can any model of this kind answer, whatever its weights?"""
    return Scope(
        bias=request.bias,
        layers=method.layers,
        dot_product=method.attention != "dp-free",
        readout=Readout.ANY,
        precision=request.precision,
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


def _excluded(
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
        about = f" of the kernel {kernel_words(claims[0].subject)}" if other else ""
        told = f"; {least}{about} is proved for {', '.join(words)}"
    return dataclasses.replace(
        row,
        claims=claims,
        missing=(*(["subject"] if other else []), *gaps),
        reason=f"{NOTHING_FOUND}{told}",
    )


def kernel_words(subject: Any) -> str:
    """`lag:6` for the kernel that a claim is about."""
    values = ",".join(str(value) for value in vars(subject).values())
    return f"{subject.kind}:{values}" if len(values) < 40 else str(subject.kind)


def _reached(target: AbstractTarget, method: AbstractMethod, row: Row) -> Row:
    """The claims that a draft makes, and whether they reach the question: what is promised, for a
    computation in float64, and what was measured in the precision asked for.
    """
    assert row.draft is not None
    assert row.architecture is not None
    assert row.error is not None
    question, tol = question_of(target, method, row.request), row.request.tol or math.inf
    held = dataclasses.replace(
        question, heads=row.architecture.heads, layers=row.architecture.layers
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
        claim.reaches(dataclasses.replace(question, precision=claim.scope.precision), tol)
        for claim in claims
    )
    last = claims[-1]
    reason = f"error {row.error:.3g} {row.draft.status}, {last.value:.3g} in {last.scope.precision}"
    return dataclasses.replace(
        row, claims=claims, reachable=True if good else None, reason="" if good else reason
    )


def _best_of_each(rows: list[Row]) -> list[Row]:
    """The cheapest row of every bias and attention kind, and beside it one that tells what is
    proved of the rest.
    """
    groups: dict[tuple[str, str, bool], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.bias, row.attention, bool(row.impossibilities)), []).append(row)
    return [min(group, key=lambda row: row.cost) for group in groups.values()]


def _recommended(
    target: AbstractTarget, rows: list[Row], say: Progress
) -> tuple[list[Row], Row | None]:
    """The cheapest reachable row that passes the whole check; a row that does not is called
    undecided, with what was seen.
    """
    for i, row in enumerate(rows):
        if row.reachable is not True or row.draft is None:
            break
        say(f"checking {row.construction}, bias {row.bias}")
        precision, tol = row.request.precision, row.request.tol or math.inf
        measured, narrow, _ = check(target, row.request, row.draft)
        seen = narrow.sup if precision is Precision.FLOAT32 else measured.sup
        if seen <= tol:
            worst = max(narrow.sup, row.error_float32 or 0.0)
            return rows, dataclasses.replace(row, error_float32=worst)
        rows[i] = dataclasses.replace(
            row,
            reachable=None,
            reason=f"error {seen:.3g} in {precision} on adversarial inputs",
            error_float32=narrow.sup,
        )
    return sorted(rows, key=lambda row: row.cost), None
