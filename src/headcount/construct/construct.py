"""`construct`: a target and a wish in, a checked model out."""

import dataclasses
import time
from collections.abc import Sequence

from headcount.construct.check import check
from headcount.construct.construction import Construction, in_precision
from headcount.construct.draft import (
    NORMALISERS,
    Refusal,
    RefusalKind,
    Request,
    known_parts,
    longest_of,
    offered_precision,
    refuse_unbounded,
)
from headcount.construct.method import AbstractMethod, methods
from headcount.core.arguments import checked
from headcount.core.claims import Precision
from headcount.core.errors import CheckFailed, InputError
from headcount.core.registry import Entry
from headcount.core.threads import one_thread
from headcount.memory.named import targets
from headcount.memory.target import AbstractTarget


@checked
@one_thread()
def construct(
    target: AbstractTarget | str,
    bias: str = "lin",
    heads: int | None = None,
    width: int | None = None,
    precision: str = "float32",
    *,
    tol: float | None = None,
    normaliser: str | None = None,
    length: int | None = None,
    theorem: str | None = None,
) -> Construction:
    """A model by formula for a target, checked against its float64 reference; nothing is trained.

    Give `tol` (the largest error allowed) or `heads`. `width` limits the FFN neurons, `length` is
    the longest sequence to serve, `theorem` names the method (see `headcount list
    construction`), else the first that applies is used. Without a `normaliser`, none is used where
    the method works without one, else softmax.
    """
    started = time.perf_counter()
    built = targets.build(target)
    refuse_unbounded(built)
    known_parts(bias, normaliser)
    wanted = offered_precision(precision, "precision")
    if heads is None and tol is None:
        tol = 0.01
    wish = Request(
        bias, tol, heads, width, normaliser or NORMALISERS[0], wanted, longest_of(built, length)
    )
    method, request = choose(
        built, wish, theorem, NORMALISERS if normaliser is None else (normaliser,)
    )
    draft = method.draft(built, request)
    measured, narrow, budget = check(built, request, draft)
    _require_tolerance(request, measured.sup, narrow.sup)
    model = in_precision(draft.model, request.precision)
    return Construction(
        built, request, draft, model, measured, narrow, budget, time.perf_counter() - started
    )


def choose(
    target: AbstractTarget, wish: Request, theorem: str | None, normalisers: Sequence[str]
) -> tuple[AbstractMethod, Request]:
    """The method asked for, or the cheapest that applies, under the first normaliser it takes; else
    all the reasons why none does.
    """
    names = [theorem] if theorem else [entry.name for entry in by_cost()]
    reasons: dict[str, list[Refusal]] = {}
    for name in names:
        candidate = methods.build(name)
        for normaliser in normalisers:
            request = dataclasses.replace(wish, normaliser=normaliser)
            why = candidate.refusals(target, request)
            if not why:
                return candidate, request
            reasons.setdefault(name, why)
    # where some method is meant for this kind of target, the others have nothing to say
    near = {
        name: why
        for name, why in reasons.items()
        if all(reason.kind is not RefusalKind.FAMILY for reason in why)
    } or reasons
    told = "; ".join(f"{name}: {', '.join(map(str, why))}" for name, why in near.items())
    asked = f"with bias {wish.bias} and normaliser {' or '.join(normalisers)}"
    raise InputError(
        f"no construction for {target.kind} {asked} ({told})",
        "one that applies",
        "change what the reasons name",
    )


def small_ones_beside(made: Construction) -> list[str]:
    """Methods that `plan` drafts first, because their models are small, and that serve the same
    request as the one that was taken.
    """
    candidates = [methods.build(entry.name) for entry in by_cost()]
    return [
        method.kind
        for method in candidates
        if method.drafted_first
        and method.ref != made.draft.theorem
        and not method.refusals(made.target, made.request)
    ]


def by_cost() -> list[Entry[AbstractMethod]]:
    """All methods, those to be tried first in front."""
    return sorted(methods.entries(), key=lambda entry: entry.part.cost)


def _require_tolerance(request: Request, wide: float, narrow: float) -> None:
    """The error in the precision asked for must be within the tolerance."""
    found = narrow if request.precision is Precision.FLOAT32 else wide
    if request.tol is not None and not found <= request.tol:
        fault = (
            f"error {found:.3g} in {request.precision} exceeds the tolerance {request.tol:g}"
            f" (float64: {wide:.3g})"
        )
        raise CheckFailed(
            f"{fault}; nothing was written; raise the tolerance or pass --precision float64"
        )
