"""`plan`: for a target and a tolerance, the smallest architecture found for every bias and
attention kind, side by side, and the front of those that no other beats.

A row is one method with one bias, under softmax or without. Its draft (weights and a bound) makes
claims: the error is at most so much. Where no draft is found, what is proved about the search comes
along as claims: the error is at least so much. The row's own question is whether *any* model of its
kind reaches the tolerance: any number of heads, any weights, any function behind the heads, on the
lags that exist. The verdict comes from claims alone:

    reachable    True where claims reach the question, False where a proved and checked claim
                 excludes it, else None: undecided, with the fields that keep the claims silent.

Head outputs are then known to one rounding unit of the format (`Scope.resolution`): "computed in
float32" itself is nobody's theorem.

What is drafted. Small methods first; where one serves a bias, dearer ones of that bias are not
drafted, since they only add sizes. Rows are measured without a compiler. The recommended row has
passed the whole check of a build, with the draft that it has.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

from headcount.construct.check import Probe, check, errors, sampled
from headcount.construct.construct import by_cost
from headcount.construct.construction import Architecture, in_precision
from headcount.construct.draft import (
    Draft,
    Request,
    Unreachable,
    known_parts,
    longest_of,
    offered_precision,
    refuse_nothing,
    refuse_unbounded,
    require_tolerance,
)
from headcount.construct.impossible import accepted
from headcount.construct.method import AbstractMethod, methods
from headcount.construct.plan_minimum import minima
from headcount.construct.plan_record import SOFTMAX, T5_EXACT, Need, Plan, Row, front_of
from headcount.construct.plan_verdict import (
    NOTHING_FOUND,
    any_readout,
    excluded,
    question_of,
    reached,
)
from headcount.core.arguments import checked
from headcount.core.claims import Precision
from headcount.core.errors import CheckFailed, InputError, require
from headcount.core.threads import one_thread
from headcount.memory.named import targets, unnamed
from headcount.memory.target import AbstractTarget
from headcount.model.cost import count_parameters

BIASES = ("rope", "table", "lin", "log1p", "log", "none", "peak")
STANDARD = ("rope", "lin", "table")  # of --standard: RoPE, ALiBi, T5
Progress = Callable[[str], None]


@checked
@one_thread()
def plan(
    target: AbstractTarget | str,
    tol: float = 0.01,
    dtype: str = "float32",
    *,
    normaliser: str | None = None,
    length: int | None = None,
    standard: bool = False,
    biases: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The smallest (layers, heads, width) found for each bias (of `biases`, or all) and attention
    kind that reaches `tol` (sup error) in this precision. `standard`: softmax with RoPE, ALiBi or
    T5 alone.
    """
    built = targets.build(target)
    require_tolerance(tol)
    known_parts(None, normaliser)
    precision, longest = offered_precision(dtype, "dtype"), longest_of(built, length)
    refuse_nothing(unnamed(built), longest)
    refuse_unbounded(built)
    say = progress or (lambda message: None)
    probe: list[Probe] = []
    rows: list[Row] = []
    for method, request in _attempts(built, tol, precision, normaliser, longest, standard, biases):
        if not _worthwhile(rows, method, request):
            continue
        say(f"{method.kind}, bias {request.bias}")
        probe = probe or [sampled(built, request)]
        row = _row(built, method, request, probe[0])
        rows.append(_uncommon(row) if standard and Need.PEAK in row.needs else row)
    require(
        rows,
        f"no construction serves {built.kind}" + (" with standard parts" if standard else ""),
        "a target of a known family",
        "see headcount list construction",
    )
    ordered = sorted(_best_of_each(rows), key=lambda row: row.cost)
    ordered, recommended = _recommended(built, ordered, probe[0], say)
    least = minima(built, recommended, longest)
    return Plan(built, tol, precision, longest, tuple(ordered), recommended, least)


def _attempts(
    target: AbstractTarget,
    tol: float,
    precision: Precision,
    normaliser: str | None,
    length: int,
    standard: bool,
    biases: Sequence[str] | None,
) -> Iterator[tuple[AbstractMethod, Request]]:
    """Every method of the target's family with every bias it takes, under softmax (the first kind
    of it that the method takes) and without; small methods first.
    """
    modes: tuple[tuple[str, ...], ...] = (SOFTMAX, ("none",))
    if standard:
        modes = (("softmax",),)
    if normaliser:
        modes = ((normaliser,),)
    made = [methods.build(entry.name) for entry in by_cost()]
    planned = [method for method in made if method.planned]
    for method in sorted(planned, key=lambda m: (not m.drafted_first, not m.saves_heads)):
        for bias in STANDARD if standard else BIASES:
            if biases is not None and bias not in biases:
                continue
            if standard and bias == "table" and target.shortest > T5_EXACT:
                continue  # T5's buckets do not tell these lags apart
            for names in modes:
                for name in names:
                    request = Request(
                        bias, tol, normaliser=name, precision=precision, length=length
                    )
                    if not method.refusals(target, request):
                        yield method, request
                        break


def _worthwhile(rows: list[Row], method: AbstractMethod, request: Request) -> bool:
    """Not where a row of its bias and attention serves already: only a code may save heads."""
    served = [
        row
        for row in rows
        if row.reachable
        and row.bias == request.bias
        and row.attention == method.attention
        and row.softmax == (request.normaliser in SOFTMAX)
    ]
    if not served:
        return True
    sizes = [row.architecture for row in served if row.architecture]
    return method.saves_heads and all(a.layers > 1 or a.heads > 1 for a in sizes)


def _row(target: AbstractTarget, method: AbstractMethod, request: Request, probe: Probe) -> Row:
    kind = (request.bias, method.attention, request.normaliser, method.ref, method.kind)
    row = Row(*kind, request, layers_asked=method.layers)
    try:
        draft = method.draft(target, request)
    except Unreachable as refusal:
        claims = tuple(claim for claim in refusal.claims if accepted(claim))
        claims = (*any_readout(target, method, request), *claims)
        question = question_of(target, method, request)
        return excluded(row, target.kind, claims, question, refusal)
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
        error_float32=_measured(target, draft, probe) if asked else None,
    )
    return reached(target, method, drafted)


def _uncommon(row: Row) -> Row:
    """A row asked for in standard parts whose draft takes a part of ours beside them: undecided."""
    reason = f"{NOTHING_FOUND} with standard parts; the one that was found takes {Need.PEAK}"
    return Row(
        *(row.bias, row.attention, row.normaliser, row.source, row.construction, row.request),
        reason=reason,
        layers_asked=row.layers_asked,
    )


def _measured(target: AbstractTarget, draft: Draft, probe: Probe) -> float:
    return float(errors(target, draft.model, probe, Precision.FLOAT32).max(initial=0.0))


def _best_of_each(rows: list[Row]) -> list[Row]:
    """The cheapest row of every bias and attention kind, those of the front, and beside them one
    that tells what is proved of the rest.
    """
    groups: dict[tuple[str, str, bool, bool], list[Row]] = {}
    for row in rows:
        kind = (row.bias, row.attention, row.softmax, bool(row.impossibilities))
        groups.setdefault(kind, []).append(row)
    best = [min(group, key=lambda row: row.cost) for group in groups.values()]
    front = [
        row
        for bias, softmax in dict.fromkeys((row.bias, row.softmax) for row in rows)
        for row in front_of(
            [r for r in rows if r.reachable and (r.bias, r.softmax) == (bias, softmax)]
        )
    ]
    kept = [row for row in rows if row in best or row in front]
    served = {(row.bias, row.softmax) for row in kept if row.reachable}
    # a search that failed says nothing where another served, unless it proves something
    return [
        row
        for row in kept
        if row.reachable or row.impossibilities or (row.bias, row.softmax) not in served
    ]


def _recommended(
    target: AbstractTarget, rows: list[Row], drawn: Probe, say: Progress
) -> tuple[list[Row], Row | None]:
    """The cheapest reachable row that passes the whole check; a row that does not is called
    undecided, with what was seen.
    """
    for i, row in enumerate(rows):
        if row.reachable is not True or row.draft is None:
            break
        say(f"checking {row.construction}, bias {row.bias}")
        precision, tol = row.request.precision, row.request.tol or math.inf
        measured, narrow, _ = check(target, row.request, row.draft, drawn, blink=True)
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
