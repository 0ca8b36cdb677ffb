"""`plan`: for a target and a tolerance, the smallest architecture of every bias and attention kind,
side by side.

Each row is drafted by a construction (so that the sizes are backed by weights and a proved bound)
and run once in both precisions. A row is reachable where the proved error and the error in the
wanted precision are within the tolerance; unreachable only where a certificate says so and the
checker accepts it; else undecided, with the reason. The recommended row has passed the whole check
of a build.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

from headcount.construct.check import Probe, check, layerwise, sampled
from headcount.construct.construction import Architecture, in_precision
from headcount.construct.draft import (
    LONGEST,
    NORMALISERS,
    AbstractConstruction,
    Precision,
    Request,
    Unreachable,
    constructions,
)
from headcount.core.claims import Claim
from headcount.core.errors import CheckFailed, InputError, require, unknown
from headcount.core.refs import Ref
from headcount.memory.named import targets
from headcount.memory.target import AbstractTarget
from headcount.model.cost import count_parameters
from headcount.theory.bounds import check as check_bound

BIASES = ("lin", "log", "log1p", "peak", "table", "rope", "none")
Progress = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Row:
    """One bias with one kind of attention."""

    bias: str
    attention: str
    normaliser: str
    source: Ref
    construction: str
    reachable: bool | None  # None: undecided
    reason: str = ""
    architecture: Architecture | None = None
    parameters: int | None = None
    error: float | None = None  # proved
    error_float32: float | None = None  # measured
    certificate: Any = None

    @property
    def cost(self) -> tuple[int, float]:
        """Reachable rows first, by parameters."""
        return {True: 0, None: 1, False: 2}[self.reachable], (
            self.parameters if self.parameters is not None else math.inf
        )

    def to_json(self) -> dict[str, Any]:
        a = self.architecture
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
            "error_float32": self.error_float32,
            "reachable": self.reachable,
            "reason": self.reason,
            "source": str(self.source),
            "construction": self.construction,
            "certificate": describe(self.certificate),
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
        parts = f"--bias {best.bias} --normaliser {best.normaliser} --theorem {best.construction}"
        return (
            f"headcount build '{target}' --tol {self.tol:g} {parts} --precision {self.precision}"
            f" --length {self.length} -o model"
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
    """The smallest (layers, heads, width) of each bias and attention kind that reaches `tol`
    (sup error) in this precision.
    """
    built = targets.build(target)
    require(tol > 0, f"tol {tol}", "a positive error", "pass for example --tol 0.01")
    if dtype not in list(Precision):
        raise unknown("dtype", dtype, [str(p) for p in Precision])
    longest = max(length or LONGEST, built.shortest)
    say = progress or (lambda message: None)
    probe: list[Probe] = []
    rows: list[Row] = []
    for construction, request in _attempts(built, tol, Precision(dtype), normaliser, longest):
        if any(
            row.reachable and (row.bias, row.attention) == (request.bias, construction.attention)
            for row in rows
        ):
            continue  # a cheaper construction of the kind serves already
        say(f"{construction.kind}, bias {request.bias}")
        probe = probe or [sampled(built, request)]
        rows.append(_row(built, construction, request, probe))
    require(
        rows,
        f"no construction serves {built.kind}",
        "a target of a known family",
        "see headcount list construction",
    )
    ordered = sorted(_best_of_each(rows), key=lambda row: row.cost)
    ordered, recommended = _recommended(built, tol, Precision(dtype), longest, ordered, say)
    return Plan(built, tol, Precision(dtype), longest, tuple(ordered), recommended)


def _attempts(
    target: AbstractTarget, tol: float, precision: Precision, normaliser: str | None, length: int
) -> Iterator[tuple[AbstractConstruction, Request]]:
    """Every construction of the target's family with every bias it takes, under the first
    normaliser it takes; cheap ones first.
    """
    for entry in sorted(constructions.entries(), key=lambda entry: entry.part.cost):
        construction = constructions.build(entry.name)
        for bias in BIASES:
            for name in (normaliser,) if normaliser else NORMALISERS:
                request = Request(bias, tol, normaliser=name, precision=precision, length=length)
                if not construction.refusals(target, request):
                    yield construction, request
                    break


def _row(
    target: AbstractTarget, construction: AbstractConstruction, request: Request, probe: list[Probe]
) -> Row:
    base = Row(
        request.bias,
        construction.attention,
        request.normaliser,
        construction.ref,
        construction.kind,
        None,
    )
    try:
        draft = construction.draft(target, request)
    except Unreachable as refusal:
        proved = accepted(refusal.certificate)
        return dataclasses.replace(
            base,
            reachable=False if proved else None,
            reason=str(refusal),
            certificate=refusal.certificate if proved else None,
        )
    except (InputError, CheckFailed) as refusal:
        return dataclasses.replace(base, reason=str(refusal))
    error = draft.output.at(Precision.FLOAT64)
    found = error
    if request.precision is Precision.FLOAT32:
        found = layerwise(target, in_precision(draft.model, Precision.FLOAT32), probe[0])
    good = max(error, found) <= (request.tol or math.inf)
    architecture = Architecture.of(draft.model)
    return dataclasses.replace(
        base,
        attention=architecture.attention,
        normaliser=architecture.normaliser,
        reachable=True if good else None,
        reason="" if good else f"proved error {error:.3g}, in {request.precision} {found:.3g}",
        architecture=architecture,
        parameters=count_parameters(in_precision(draft.model, Precision.FLOAT32)),
        error=error,
        error_float32=found if request.precision is Precision.FLOAT32 else None,
    )


def accepted(certificate: Any) -> bool:
    """Does an independent checker accept it?"""
    return isinstance(certificate, Claim) and check_bound(certificate)


def describe(certificate: Claim | None) -> dict[str, Any] | None:
    """A certificate as plain data: what it proves, by which method."""
    if certificate is None:
        return None
    return {"claim": str(certificate), "method": certificate.method, "source": str(certificate.ref)}


def _best_of_each(rows: list[Row]) -> list[Row]:
    """The cheapest row of every bias and attention kind, and beside it what is proved out of
    reach.
    """
    groups: dict[tuple[str, str, bool], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.bias, row.attention, row.reachable is False), []).append(row)
    return [min(group, key=lambda row: row.cost) for group in groups.values()]


def _recommended(
    target: AbstractTarget,
    tol: float,
    precision: Precision,
    length: int,
    rows: list[Row],
    say: Progress,
) -> tuple[list[Row], Row | None]:
    """The cheapest reachable row that passes the whole check; a row that does not is called
    undecided, with what was seen.
    """
    for i, row in enumerate(rows):
        if row.reachable is not True:
            break
        say(f"checking {row.construction}, bias {row.bias}")
        request = Request(
            row.bias,
            tol,
            normaliser=row.normaliser.split("+")[0],
            precision=precision,
            length=length,
        )
        measured, narrow, _ = check(
            target, request, constructions.build(row.construction).draft(target, request)
        )
        seen = narrow.sup if precision is Precision.FLOAT32 else measured.sup
        if seen <= tol:
            return rows, dataclasses.replace(
                row, error_float32=max(narrow.sup, row.error_float32 or 0.0)
            )
        rows[i] = dataclasses.replace(
            row,
            reachable=None,
            reason=f"error {seen:.3g} in {precision} on adversarial inputs",
            error_float32=narrow.sup,
        )
    return sorted(rows, key=lambda row: row.cost), None
