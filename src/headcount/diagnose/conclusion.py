"""From what was found to a verdict.

nothing detected     the learner gains nothing → none; it gains → undecided, not located
something detected   the best held-out model is "none" → undecided, not held
                     lags → fixed; map, pointer, recall → adaptive; a kernel → essential
at the end           the learner explains clearly more → undecided, with what was found
"""

import dataclasses
from typing import Any

import numpy as np

from headcount.diagnose.find_values import SPENDING, Options, ValueFindings
from headcount.diagnose.held_out import Candidate, Judged, ModelKind, mean_error
from headcount.diagnose.kernel_tail import Tail, TailClass
from headcount.diagnose.records import (
    Addressing,
    Diagnosis,
    LagFound,
    MapEntry,
    Memory,
    Method,
    ModelScore,
    Reason,
)
from headcount.diagnose.sample_size import rows_for_gain, rows_for_partial_r2
from headcount.diagnose.samples import Note, Setting
from headcount.diagnose.sign_flips import Shape
from headcount.diagnose.value_models import OneSum
from headcount.diagnose.value_scan import Gate, Term

SHARE_ENOUGH = 0.7  # of the best gain of all models
LEARNER_Z = 3.0  # a gain of the learner where nothing was found
LEARNER_BETTER = 2.0  # standard errors, and more than a small share of the gain
SMALL_SHARE = 0.95
FEW_ROWS = 300  # of a series, for a kernel and a few lags to be told apart
FEW = 6  # lags: an additive model of more is dense
WEAK_R2 = 0.01  # "none" is said with the rows that such an effect would take

FAMILY = {
    ModelKind.NONE: Memory.NONE,
    ModelKind.LAGS: Memory.FIXED,
    ModelKind.MAP: Memory.ADAPTIVE,
    ModelKind.POINTER: Memory.ADAPTIVE,
    ModelKind.RECALL: Memory.ADAPTIVE,
    ModelKind.EXP: Memory.ESSENTIAL,
    ModelKind.POWER: Memory.ESSENTIAL,
    ModelKind.DENSE: Memory.ESSENTIAL,
}


def family(candidate: Candidate) -> Memory:
    """The class of memory that a model stands for."""
    if candidate.kind is ModelKind.ADDITIVE:
        return Memory.FIXED if len(candidate.columns) <= FEW else Memory.ESSENTIAL
    return FAMILY[candidate.kind]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Memory, or why not."""

    memory: Memory
    reason: Reason | None
    suspected: Memory | None
    share: float | None
    best: str | None


def verdict(judged: Judged, detected: bool) -> Verdict:
    """The tree above."""
    generic = [c for c in judged.candidates if c.kind is ModelKind.GENERIC]
    if not detected:
        for learner in generic:
            gain, error = judged.gain(learner)
            if gain > LEARNER_Z * error and gain > 0:
                reason = Reason.NOT_LOCATED
                return Verdict(Memory.UNDECIDED, reason, None, 0.0, learner.name)
        return Verdict(Memory.NONE, None, None, None, None)
    named = family(judged.chosen)
    if named is Memory.NONE:
        return Verdict(Memory.UNDECIDED, Reason.NOT_HELD, None, None, None)
    gain, best = judged.gain(judged.chosen)[0], judged.gain(judged.best)[0]
    share = max(gain, 0.0) / best if best > 0 else None
    if share is not None:
        for learner in generic:
            more, noise = _lead(judged, learner)
            clear = more > LEARNER_BETTER * noise and gain < SMALL_SHARE * (gain + more)
            if clear or (share < SHARE_ENOUGH and learner is judged.best):
                reason = Reason.LEARNER_BETTER
                return Verdict(Memory.UNDECIDED, reason, named, share, learner.name)
    return Verdict(named, None, None, share, judged.best.name)


def _lead(judged: Judged, other: Candidate) -> tuple[float, float]:
    """How much smaller the loss of another model is than that of the chosen one."""
    return mean_error(judged.chosen.losses - other.losses, judged.blocks)


def scores(judged: Judged | None) -> tuple[ModelScore, ...]:
    if judged is None:
        return ()
    base = judged.none.loss or 1.0
    made = []
    for c in sorted(judged.candidates, key=lambda c: (c.simplicity, c.loss)):
        gain, error = judged.none.loss - c.loss, judged.gain(c)[1]
        lags = tuple(column.lag for column in c.columns) if len(c.columns) <= 12 else ()
        made.append(ModelScore(c.kind, c.name, lags, gain / base, error / base, c is judged.chosen))
    return tuple(made)


def conclude_values(known: ValueFindings, options: Options) -> Diagnosis:
    """The diagnosis of real values, from whatever is known."""
    method, judged = _method(known, options), known.judged
    shared: dict[str, Any] = {
        "clock": known.clock,
        "past_lags": known.past_lags,
        "variance": known.variance,
        "profile": _profile(known),
        "kernel": known.kernel,
        "long_memory": known.long,
        "notes": (*known.samples.source.notes, *known.notes, *_warnings(known, options)),
    }
    found = tuple(_lag(term, place, known) for term in known.terms for place in term.places)
    if judged is None:
        return Diagnosis(
            Memory.UNDECIDED,
            method,
            Reason.INTERRUPTED,
            lags=_once(found),
            interrupted=True,
            **shared,
        )
    said = verdict(judged, known.detected)
    if known.shift_or_lag:
        said = dataclasses.replace(
            said, memory=Memory.UNDECIDED, reason=Reason.SHIFT_OR_LAG, suspected=said.memory
        )
    said = _short_or_long(said, known, judged)
    chosen = judged.chosen
    parts = _parts(known, chosen) if said.reason is not Reason.NOT_LOCATED else {}
    gain, error = judged.gain(chosen)
    explained = judged.explained(chosen)
    return Diagnosis(
        said.memory,
        method,
        said.reason,
        said.suspected,
        models=scores(judged),
        r2=None if explained is None else explained[0],
        r2_error=None if explained is None else explained[1],
        loss_error=judged.loss_error(chosen),
        share=said.share,
        best_model=said.best,
        n_needed=_needed(known, judged, said, gain, error),
        **parts,
        **shared,
    )


def _short_or_long(said: Verdict, known: ValueFindings, judged: Judged) -> Verdict:
    """On few rows of a series that wanders or has long memory, lags and kernels that predict alike
    (within two standard errors) are not told apart.
    """
    kernels, chosen = (ModelKind.EXP, ModelKind.POWER), judged.chosen.kind
    if len(known.samples.y) >= FEW_ROWS or chosen not in (ModelKind.LAGS, *kernels):
        return said
    long = known.long is not None and known.long.long
    wanders = known.clock is not None and known.clock.wanders
    others = kernels if chosen is ModelKind.LAGS else (ModelKind.LAGS,)
    alike = False
    for other in (c for c in judged.candidates if c.kind in others and len(c.columns) > 1):
        lead, error = _lead(judged, other)
        alike |= lead > -2 * error
    if said.memory is not Memory.UNDECIDED and alike and (long or wanders):
        return dataclasses.replace(
            said, memory=Memory.UNDECIDED, reason=Reason.SHORT_OR_LONG, suspected=said.memory
        )
    return said


def _parts(known: ValueFindings, chosen: Candidate) -> dict[str, Any]:
    memory = family(chosen)
    if memory is Memory.ESSENTIAL:
        tail = known.tail
        kind = {ModelKind.EXP: TailClass.EXP, ModelKind.POWER: TailClass.POWER}.get(chosen.kind)
        if tail is None and kind is not None:
            tail = Tail(TailClass.UNDECIDED, None, None, 0.0, None)
        return {"tail": tail, "addressing": Addressing.LAG}
    if chosen.kind is ModelKind.MAP:
        gate: Gate = chosen.detail  # type: ignore[assignment]
        return _gate_parts(gate, known)
    if chosen.kind is ModelKind.LAGS:
        bent = isinstance(chosen.detail, OneSum)
        terms: tuple[Term, ...] = chosen.detail.terms if bent else chosen.detail  # type: ignore
        found = [_lag(term, place, known) for term in terms for place in term.places]
        return {"lags": _once(tuple(found)), "addressing": Addressing.LAG, "bent": bent}
    return {}


def _gate_parts(gate: Gate, known: ValueFindings) -> dict[str, Any]:
    columns = known.problem.features.columns  # type: ignore[union-attr]
    edges = (-np.inf, *gate.edges, np.inf)
    entries = []
    for c, (places, levels) in enumerate(zip(gate.lags, gate.p, strict=True)):
        quarter = f"u in [{edges[c]:.2g}, {edges[c + 1]:.2g}) of lag {columns[gate.place].lag}"
        lags = tuple(columns[p].lag for p in places)
        pivot = columns[gate.place].lag
        entries.append(MapEntry(1, quarter, lags, max(levels, default=None), pivot))
    union = {lag for entry in entries for lag in entry.lags}
    most = max(len(entry.lags) for entry in entries)
    return {
        "map": tuple(entries),
        "addressing": Addressing.LAG,
        "adaptivity": 1 - most / len(union) if union else None,
    }


def _lag(term: Term, place: int, known: ValueFindings) -> LagFound:
    assert known.problem is not None
    columns = known.problem.features.columns
    column, source = columns[place], known.samples.source
    effect = known.effects.get(place)
    partners = tuple(columns[p].lag for p in term.places if p != place)
    return LagFound(
        column.lag,
        source.channels[column.channel],
        None if effect is None else effect[0],
        None if effect is None else _share_interval(*effect),
        term.p,
        str(term.shape),
        partners,
        known.weights.get(place),
    )


def _share_interval(share: float, error: float) -> tuple[float, float]:
    """95 %; a share of the variance is at most 1."""
    return share - 1.96 * error, min(share + 1.96 * error, 1.0)


def _once(found: tuple[LagFound, ...]) -> tuple[LagFound, ...]:
    """One entry per lag and channel, in order of lag; products keep all their partners."""
    kept: dict[tuple[str, int], LagFound] = {}
    for lag in found:
        key = lag.channel, lag.lag
        if key in kept:
            before = kept[key]
            partners = tuple(sorted({*before.partners, *lag.partners}))
            word = lag.family if lag.family == str(Shape.PAIR) else before.family
            p = min(q for q in (before.p, lag.p) if q is not None)
            lag = dataclasses.replace(before, partners=partners, family=word, p=p)
        kept[key] = lag
    return tuple(kept[key] for key in sorted(kept))


def _profile(known: ValueFindings) -> tuple[tuple[str, int, float], ...]:
    if known.first is None or known.problem is None:
        return ()
    names, columns = known.samples.source.channels, known.problem.features.columns
    return tuple(
        (names[column.channel], column.lag, float(z))
        for column, z in zip(columns, known.first.steps[0].profile, strict=True)
    )


def _needed(
    known: ValueFindings, judged: Judged, said: Verdict, gain: float, error: float
) -> int | None:
    if said.reason is Reason.NOT_HELD:
        best = min((c for c in judged.candidates if c.kind is not ModelKind.NONE),
                   key=lambda c: c.loss)  # fmt: skip
        return rows_for_gain(len(known.samples.y), *judged.gain(best))
    if said.memory is Memory.NONE:
        return rows_for_partial_r2(WEAK_R2, len(known.samples.columns))
    if said.reason is Reason.SHORT_OR_LONG:
        return FEW_ROWS
    if known.tail is not None and family(judged.chosen) is Memory.ESSENTIAL:
        return known.tail.n_needed
    return None


def _warnings(known: ValueFindings, options: Options) -> list[Note]:
    made = []
    samples, problem = known.samples, known.problem
    y = samples.y
    skew = float(((y - y.mean()) ** 3).mean() / max(y.std() ** 3, 1e-300))
    if abs(skew) > 1:
        made.append(Note("skewed answers", {"skew": skew}))
    if problem is not None and len(problem.folds) > 1:
        made.append(Note("blocked folds", {"folds": len(problem.folds)}))
    longest, most = max((t.places for t in known.terms), default=None), max(samples.lags)
    if longest is not None and problem is not None:
        lag = max(problem.features.columns[p].lag for t in known.terms for p in t.places)
        if lag > 0.8 * most:
            made.append(Note("lag near the largest searched", {"lag": lag, "searched": most}))
    if not options.triples:
        made.append(Note("products of three not searched", {}))
    return made


NULLS = {
    Setting.ROWS: "sign flips",
    Setting.PAIRED: "sign flips behind a filter",
    Setting.SELF: "sign flips",
}


def _method(known: ValueFindings, options: Options) -> Method:
    samples, problem = known.samples, known.problem
    return Method(
        samples.source.setting,
        False,
        len(samples.y),
        0 if problem is None else len(problem.judged),
        0 if problem is None else len(problem.folds),
        known.effective_rows or float(len(samples.y)),
        max(samples.lags),
        None,
        options.replicates,
        options.alpha,
        {name: share * options.alpha for name, share in SPENDING.items()},
        options.seed,
        NULLS[samples.source.setting],
        known.filter_order,
    )
