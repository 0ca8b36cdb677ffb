"""From what was found in tokens to a verdict: the same tree as for real values."""

from typing import Any

from headcount.diagnose.conclusion import Verdict, family, scores, verdict
from headcount.diagnose.find_tokens import SPENDING, TokenFindings
from headcount.diagnose.find_values import Options
from headcount.diagnose.held_out import Candidate, ModelKind
from headcount.diagnose.records import (
    Addressing,
    Diagnosis,
    LagFound,
    MapEntry,
    Memory,
    Method,
    Reason,
)
from headcount.diagnose.sample_size import rows_for_gain, rows_for_nats
from headcount.diagnose.samples import Note, Setting
from headcount.diagnose.token_counts import FEW_REPLICATES
from headcount.diagnose.token_scan import Pointer, TokenMap

WEAK_NATS = 0.01
NULLS = {
    Setting.ROWS: "answers permuted inside strata",
    Setting.SELF: "answers permuted inside strata",
    Setting.PAIRED: "answers permuted in blocks along the series",
}


def conclude_tokens(known: TokenFindings, options: Options) -> Diagnosis:
    """The diagnosis of tokens, from whatever is known."""
    method, judged = _method(known, options), known.judged
    shared: dict[str, Any] = {
        "decay": known.decay,
        "profile": _profile(known),
        "notes": (*known.samples.source.notes, *known.notes, *_warnings(known, options)),
    }
    if judged is None:
        lags = known.greedy.lags if known.greedy else ()
        found = tuple(LagFound(f.lag, "x", None, None, f.p, "tokens") for f in lags)
        return Diagnosis(
            Memory.UNDECIDED, method, Reason.INTERRUPTED, lags=found, interrupted=True, **shared
        )
    said = verdict(judged, known.detected)
    gain, error = judged.gain(judged.chosen)
    explained = judged.explained(judged.chosen)
    parts = {} if said.reason is Reason.NOT_LOCATED else _parts(known, judged.chosen)
    return Diagnosis(
        said.memory,
        method,
        said.reason,
        said.suspected,
        models=scores(judged),
        r2=None if explained is None else explained[0],
        r2_error=None if explained is None else explained[1],
        loss_error=judged.loss_error(judged.chosen),
        share=said.share,
        best_model=said.best,
        n_needed=_needed(known, said, gain, error),
        **parts,
        **shared,
    )


def _parts(known: TokenFindings, chosen: Candidate) -> dict[str, Any]:
    if chosen.kind is ModelKind.RECALL:
        return {"recall": known.recall, "addressing": Addressing.CONTENT}
    if chosen.kind is ModelKind.MAP:
        assert known.map is not None
        entries = _entries(known, known.map, 1)
        return {"map": entries, "addressing": Addressing.LAG, "adaptivity": known.map.adaptivity}
    if chosen.kind is ModelKind.POINTER:
        return _pointer_parts(known, int(chosen.detail))  # type: ignore[call-overload]
    if family(chosen) is Memory.FIXED:
        return {"lags": _lags(known, chosen), "addressing": Addressing.LAG}
    return {"addressing": Addressing.LAG} if family(chosen) is Memory.ESSENTIAL else {}


def _entries(known: TokenFindings, mapped: TokenMap, level: int) -> tuple[MapEntry, ...]:
    names = known.samples.source.alphabet
    return tuple(
        MapEntry(level, names[v], lags, mapped.p.get(v)) for v, lags in sorted(mapped.lags.items())
    )


def _pointer_parts(known: TokenFindings, depth: int) -> dict[str, Any]:
    names = known.samples.source.alphabet
    entries: list[MapEntry] = []
    mapped = known.map
    for level, (found, by_read) in enumerate(known.pointers[: depth + 1], start=1):
        pointing: Pointer = found
        entries += [
            MapEntry(level, names[v], (lag,), pointing.p) for v, lag in sorted(pointing.lag.items())
        ]
        mapped = by_read
    assert mapped is not None
    entries += _entries(known, mapped, depth + 2)
    return {
        "map": tuple(entries),
        "addressing": Addressing.LAG,
        "nesting": depth + 1,
        "adaptivity": mapped.adaptivity,
    }


def _lags(known: TokenFindings, chosen: Candidate) -> tuple[LagFound, ...]:
    mapped = known.map
    levels = {lag: mapped.p[v] for v in mapped.p for lag in mapped.lags[v]} if mapped else {}
    levels |= {f.lag: f.p for f in known.greedy.lags} if known.greedy else {}
    joint = known.pair.lags if known.pair else ()
    found = []
    for column in sorted(chosen.columns, key=lambda c: c.lag):
        lag = column.lag
        effect = known.effects.get(lag)
        p = levels.get(lag, known.pair.p if known.pair and lag in joint else None)
        partners = tuple(other for other in joint if other != lag) if lag in joint else ()
        found.append(
            LagFound(
                lag,
                known.samples.source.channels[0],
                None if effect is None else effect[0],
                None
                if effect is None
                else (effect[0] - 1.96 * effect[1], effect[0] + 1.96 * effect[1]),
                p,
                "tokens",
                partners,
            )
        )
    return tuple(found)


def _profile(known: TokenFindings) -> tuple[tuple[str, int, float], ...]:
    """Marginal G minus its df, in spreads of chi-squared: what a lag shows by itself."""
    if known.greedy is None:
        return ()
    tested = known.greedy.marginal
    z = (tested.g[0] - tested.df[0]) / (2 * tested.df[0].clip(1)) ** 0.5
    return tuple(("x", lag, float(v)) for lag, v in zip(known.rows.lags, z, strict=False))


def _needed(known: TokenFindings, said: Verdict, gain: float, error: float) -> int | None:
    judged = known.judged
    assert judged is not None
    if said.reason is Reason.NOT_HELD:
        best = min(
            (c for c in judged.candidates if c.kind is not ModelKind.NONE), key=lambda c: c.loss
        )
        return rows_for_gain(len(known.rows), *judged.gain(best))
    if said.memory is Memory.NONE:
        df = (known.rows.size - 1) * (known.rows.labels - 1)
        return rows_for_nats(WEAK_NATS, df, len(known.rows.lags))
    return None


def _warnings(known: TokenFindings, options: Options) -> list[Note]:
    made = []
    if len(known.folds) > 1:
        made.append(Note("blocked folds", {"folds": len(known.folds)}))
    lags = [f.lag for f in known.greedy.lags] if known.greedy else []
    most = max(known.rows.lags)
    if lags and max(lags) > 0.8 * most:
        made.append(Note("lag near the largest searched", {"lag": max(lags), "searched": most}))
    if not options.triples:
        made.append(Note("products of three not searched", {}))
    return made


def _method(known: TokenFindings, options: Options) -> Method:
    return Method(
        known.samples.source.setting,
        True,
        len(known.rows),
        sum(len(fold.judge) for fold in known.folds),
        len(known.folds),
        float(len(known.rows)),
        max(known.samples.lags),
        known.rows.size,
        FEW_REPLICATES if known.gumbel else options.replicates,
        options.alpha,
        {name: share * options.alpha for name, share in SPENDING.items()},
        options.seed,
        NULLS[known.samples.source.setting] + (", a Gumbel law" if known.gumbel else ""),
    )
