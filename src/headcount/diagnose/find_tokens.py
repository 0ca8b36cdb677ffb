"""The way through tokens: lags, map, pointers, pairs, models, recall, learner."""

import dataclasses

import numpy as np

from headcount.core.plural import counted
from headcount.diagnose import learner, upper_tails
from headcount.diagnose.decay import decay
from headcount.diagnose.find_values import Options, Say
from headcount.diagnose.held_out import Candidate, Judged, ModelKind, block_count, judge, mean_error
from headcount.diagnose.recall import Recalled, agreement, previous, recalled, rules
from headcount.diagnose.records import Decay, RecallFound
from headcount.diagnose.samples import Column, Fold, Note, Samples, Setting, split
from headcount.diagnose.token_counts import Strata, Tested, TokenRows, max_test, mixed_blocks
from headcount.diagnose.token_models import (
    additive_model,
    fits_additive,
    lag_models,
    recall_losses,
    recall_z,
    table_losses,
)
from headcount.diagnose.token_scan import (
    MOST_PAIR_SYMBOLS,
    MOST_POINTED,
    ROWS_PER_TOKEN,
    Greedy,
    Pointer,
    Together,
    TokenMap,
    greedy,
    pointer,
    together,
    token_map,
)

SPENDING = {"greedy": 0.5, "map": 0.2, "pointer": 0.15, "recall": 0.1, "pairs": 0.05}
MAP_COST, RECALL_COST, POINTER_COST, DENSE_COST = 2.4, 1.5, 3.4, 50.0
MOST_MAPPED, MOST_POINTER_SYMBOLS = 64, 8
ROWS_PER_POINTER_CELL = 5  # times V^3: rows for pointers to be looked for
MANY_COUNTS = (
    2e9  # tokens or cells counted in all replicates; above, a few replicates and a Gumbel law
)
MOST_CONDITIONED = 200_000  # rows of the conditional steps of large data
KEPT_LAGS = 64
LARGE_REPLICATES = 99  # of the conditional steps of large data
DEEPEST = 3
TREES_FOR_LABELS = 8
SHOWS = 0.5  # level over all lags at which a lag shows by itself


@dataclasses.dataclass
class TokenFindings:
    """What is known so far."""

    samples: Samples
    rows: TokenRows
    found_in: np.ndarray
    folds: tuple[Fold, ...]
    greedy: Greedy | None = None
    map: TokenMap | None = None
    pointers: tuple[tuple[Pointer, TokenMap], ...] = ()  # pointer, then the map by what it read
    pair: Together | None = None
    recall: RecallFound | None = None
    recall_p: float = 1.0
    judged: Judged | None = None
    decay: Decay | None = None
    effects: dict[int, tuple[float, float]] = dataclasses.field(default_factory=dict)
    gumbel: bool = False
    notes: list[Note] = dataclasses.field(default_factory=list)

    @property
    def first(self) -> int:
        return min(self.rows.lags)

    @property
    def detected(self) -> bool:
        mapped = self.map is not None and any(self.map.lags.values())
        lags = self.greedy is not None and bool(self.greedy.lags)
        return lags or mapped or self.pair is not None or self.recall is not None


def token_findings(samples: Samples) -> TokenFindings:
    source = samples.source
    labels = len(source.labels) or len(source.alphabet)
    found_in, folds = split(samples)
    rows = TokenRows(
        source.values,
        samples.position,
        samples.y,
        samples.lags,
        len(source.alphabet),
        labels,
        source.setting is Setting.PAIRED,
    )
    return TokenFindings(samples, rows, found_in, folds)


def find_tokens(known: TokenFindings, options: Options, say: Say) -> None:
    """Fill in what can be found; every stage leaves `known` usable."""
    rows = known.rows.rows(known.found_in)
    say(f"lags: G-tests of {len(rows.lags)} lags on {len(rows):,} rows")
    rows = _lags(known, rows, options, say)
    say("map: which lags each token reads")
    _map(known, rows, options)
    say("lags that matter only together")
    _pairs(known, rows, options)
    say("models on held-out rows")
    known.judged = _judge(known, options, [])
    say("recall: the latest earlier match")
    _recall(known, options)
    if options.learner and learner.available():
        say("generic learner")
        _learner(known, options)
    say("decay of mutual information")
    source = known.samples.source
    if source.setting is not Setting.ROWS:
        longest = max(known.rows.lags) * 4
        known.decay = decay(source.values, source.starts, known.rows.size, longest, options.seed)
    _effects(known)


def _level(name: str, options: Options) -> float:
    return SPENDING[name] * options.alpha


def _lags(known: TokenFindings, rows: TokenRows, options: Options, say: Say) -> TokenRows:
    """The greedy scan; of large data all lags once, then the best of them on fewer rows."""
    rng, alpha = options.rng(11), _level("greedy", options)
    each = max(len(rows), rows.size * rows.labels)  # elements counted, or cells of a table
    work = float(each) * len(rows.lags) * (options.replicates + 1)
    known.gumbel = work > MANY_COUNTS
    if known.gumbel:

        def watch(seen: Tested, done: str) -> None:
            known.greedy = Greedy((), seen, False)  # an interruption leaves at least the profile
            say(f"lags: all {len(rows.lags)} of them, {done}")

        strata = Strata.of(rows=len(rows))
        tested = max_test(rows, strata, rng, alpha=alpha, replicates=199, gumbel=True, watch=watch)
        say(f"lags: the best {KEPT_LAGS} of them, each given those before")
        best = np.sort(np.argsort(tested.scores[0])[:KEPT_LAGS])
        kept = tuple(sorted({rows.lags[i] for i in best} | {rows.lags[0]}))
        known.notes.append(Note("large data", {"rows": len(rows), "kept_lags": len(kept)}))
        few = rows.rows(np.arange(max(0, len(rows) - MOST_CONDITIONED), len(rows)))
        few = dataclasses.replace(few, lags=kept)
        replicates = options.replicates_for(alpha, LARGE_REPLICATES)
        found = greedy(few, rng, alpha=alpha, replicates=replicates, gumbel=True)
        if tested.p > alpha:
            found = dataclasses.replace(found, lags=())
        known.greedy = dataclasses.replace(found, marginal=tested)
        return few
    replicates = options.replicates_for(alpha)
    known.greedy = greedy(rows, rng, alpha=alpha, replicates=replicates, gumbel=False)
    if known.greedy.sparse:
        known.notes.append(Note("too sparse to condition further", {}))
    return rows


def _map(known: TokenFindings, rows: TokenRows, options: Options) -> None:
    if rows.size > MOST_MAPPED or len(rows) < 2 * ROWS_PER_TOKEN:
        return
    pivot = rows.at(known.first)
    level, pointing = _level("map", options), _level("pointer", options)
    usual = LARGE_REPLICATES if known.gumbel else max(options.replicates, 199)
    replicates = options.replicates_for(level, usual)
    mapped = token_map(rows, pivot, options.rng(12), alpha=level, replicates=replicates)
    known.map = mapped
    if mapped.skipped:
        known.notes.append(Note("tokens skipped in the map", {"count": len(mapped.skipped)}))
    enough = len(rows) >= ROWS_PER_POINTER_CELL * rows.size**3
    if rows.size > MOST_POINTER_SYMBOLS or not enough:
        return
    simulate = _autocorrelated(rows)
    for depth in range(DEEPEST):
        several = max(map(len, mapped.lags.values()), default=0) >= 2
        if not (several or (depth == 0 and known.greedy and len(known.greedy.lags) >= 2)):
            return
        targets = _targets(known, mapped)
        found = pointer(
            rows,
            pivot,
            mapped,
            targets,
            options.rng(13 + depth),
            alpha=pointing,
            replicates=options.replicates_for(pointing, usual),
            simulate=simulate,
        )
        if set(found.lag) != set(mapped.lags):
            return
        if simulate:
            known.notes.append(Note("pointer p approximate", {}))
        pivot = _pointed(rows, pivot, found)
        mapped = token_map(rows, pivot, options.rng(16 + depth), alpha=level, replicates=replicates)
        known.pointers = (*known.pointers, (found, mapped))


def _targets(known: TokenFindings, mapped: TokenMap) -> tuple[int, ...]:
    """The lags that may be read: those of the map, then those that show by themselves."""
    read = {lag for lags in mapped.lags.values() for lag in lags}
    assert known.greedy is not None
    scores = known.greedy.marginal.scores[0]
    order = np.argsort(scores)
    low = -upper_tails.normal_quantile(SHOWS / len(scores))
    shows = [known.rows.lags[i] for i in order if scores[i] < low]
    return tuple(dict.fromkeys([*sorted(read), *shows]))[:MOST_POINTED]


def _pointed(rows: TokenRows, pivot: np.ndarray, found: Pointer) -> np.ndarray:
    """The token that the pointer reads, per row; the pivot's own where it has none."""
    read = pivot.copy()
    for v, lag in found.lag.items():
        here = np.flatnonzero(pivot == v)
        read[here] = rows.flat[rows.position[here] - lag]
    return read


def _autocorrelated(rows: TokenRows) -> bool:
    """Does an element depend on the one before it?"""
    from scipy import stats  # 0.4 s to load: only where pointers were found

    a, b = rows.at(rows.lags[0]), rows.at(rows.lags[min(1, len(rows.lags) - 1)])
    table = np.bincount(a * rows.size + b, minlength=rows.size**2).reshape(rows.size, rows.size)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    return min(table.shape) > 1 and stats.chi2_contingency(table).pvalue < 0.001


def _pairs(known: TokenFindings, rows: TokenRows, options: Options) -> None:
    if rows.size > MOST_PAIR_SYMBOLS or rows.labels > 2 * MOST_PAIR_SYMBOLS:
        return
    found = tuple(f.lag for f in known.greedy.lags) if known.greedy else ()
    level = _level("pairs", options)
    known.pair = together(rows, found, options.rng(19), alpha=level)
    if known.pair is None and options.triples and rows.size <= 4:
        known.pair = together(rows, found, options.rng(20), alpha=level, order=3)


def _judge(known: TokenFindings, options: Options, extra: list[Candidate]) -> Judged:
    """Every model that was found, on the held-out rows."""
    rows, folds = known.rows, known.folds
    lags = tuple(f.lag for f in known.greedy.lags) if known.greedy else ()
    made = [Candidate(ModelKind.NONE, (), 0.0, table_losses([], rows, folds), "none")]
    made += lag_models(rows, lags, folds) if lags else []
    if known.pair is not None:
        made += _pair_models(known, lags)
    pivot = rows.at(known.first)
    blocks = block_count(known.samples.source.setting, sum(len(f.judge) for f in folds))
    if known.map is not None and any(known.map.lags.values()):
        made += _map_models(known, known.map, pivot, blocks)
    for depth, (found, mapped) in enumerate(known.pointers):
        pivot = _pointed(rows, pivot, found)
        if mapped.complete and mapped.adaptivity:  # else what was pointed at chooses nothing
            cost = POINTER_COST + depth
            made.append(_mapped(known, mapped, [pivot], ModelKind.POINTER, cost, "pointer", depth))
    if fits_additive(rows, rows.lags, folds) and (lags or len(rows) < 20_000):
        dense = additive_model(rows, rows.lags, folds, DENSE_COST)
        made.append(dense if lags else dataclasses.replace(dense, kind=ModelKind.GENERIC))
    return judge([*made, *extra], blocks)


def _pair_models(known: TokenFindings, lags: tuple[int, ...]) -> list[Candidate]:
    assert known.pair is not None
    rows, made = known.rows, []
    sets = [known.pair.lags]
    if set(lags) - set(known.pair.lags):
        sets.append((*(lag for lag in lags if lag not in known.pair.lags), *known.pair.lags))
    for chosen in sets:
        columns = [rows.at(lag) for lag in chosen]
        losses = table_losses(columns, rows, known.folds)
        named = tuple(Column(0, lag) for lag in sorted(chosen))
        made.append(
            Candidate(ModelKind.LAGS, named, float(len(chosen)), losses, "joint table", chosen)
        )
    return made


def _map_models(
    known: TokenFindings, mapped: TokenMap, pivot: np.ndarray, blocks: int | None
) -> list[Candidate]:
    """A map, if tokens read different lags. Where one of them reads all that the others read (as
    in a Markov chain), it is a table of the newest element and those lags: nothing is addressed,
    and the newest element, which was not tested for, must be worth two standard errors.
    """
    if mapped.adaptivity:
        return [_mapped(known, mapped, [pivot], ModelKind.MAP, MAP_COST, "map", mapped)]
    rows, folds = known.rows, known.folds
    read = tuple(lag for lag in max(mapped.lags.values(), key=len) if lag != known.first)
    chosen = (known.first, *read)
    losses = table_losses([rows.at(lag) for lag in chosen], rows, folds)
    without = table_losses([rows.at(lag) for lag in read], rows, folds)
    gain, error = mean_error(without - losses, blocks)
    if gain <= 2 * error:
        return []
    named = tuple(Column(0, lag) for lag in sorted(chosen))
    return [Candidate(ModelKind.LAGS, named, float(len(chosen)), losses, "table", chosen)]


def _mapped(
    known: TokenFindings,
    mapped: TokenMap,
    pivots: list[np.ndarray],
    kind: ModelKind,
    cost: float,
    name: str,
    detail: object,
) -> Candidate:
    rows = known.rows
    columns = [*pivots, *mapped.columns(rows, pivots[-1])]
    union = sorted({lag for lags in mapped.lags.values() for lag in lags})
    losses = table_losses(columns, rows, known.folds)
    return Candidate(kind, tuple(Column(0, lag) for lag in union), cost, losses, name, detail)


def _contexts(known: TokenFindings, chosen: Candidate) -> list[np.ndarray]:
    """The columns of a table model, to compare recall with; the newest element for others."""
    rows = known.rows
    if chosen.kind in (ModelKind.LAGS, ModelKind.ADDITIVE):
        return [rows.at(lag) for lag in list(chosen.detail)[:4]]  # type: ignore[call-overload]
    pivot = rows.at(known.first)
    if chosen.kind is ModelKind.MAP and known.map is not None:
        return [pivot, *known.map.columns(rows, pivot)]
    if chosen.kind is ModelKind.POINTER:
        depth = int(chosen.detail)  # type: ignore[call-overload]
        for found, _ in known.pointers[: depth + 1]:
            pivot = _pointed(rows, pivot, found)
        return [pivot, *known.pointers[depth][1].columns(rows, pivot)]
    return []


def _recall(known: TokenFindings, options: Options) -> None:
    """The rule that agrees best where structure was looked for, tested on the held-out rows
    against the model chosen without it.
    """
    rows, source = known.rows, known.samples.source
    if rows.labels != rows.size and source.answers is not None:
        return  # answers are of another alphabet
    judged = known.judged
    assert judged is not None
    context = _contexts(known, judged.chosen)
    strata = Strata.of(*context, rows=len(rows))
    if strata.count > len(known.found_in) / 5:
        strata = Strata.of(*context[:1], rows=len(rows))
    longest = 3 if rows.size > 32 else 2
    earlier = {k: previous(source.values, source.starts, k) for k in range(1, longest + 1)}
    seen = known.found_in
    every = [
        recalled(rows, source.starts, rule, earlier[rule.length], known.first)
        for rule in rules(longest)
    ]
    z = [agreement(rows.y[seen], r.token[seen], strata.code[seen], strata.count) for r in every]
    best, top = every[int(np.argmax(z))], max(z)
    if top < 2.0 or (rows.paired and not _beats_blocks(known, every, strata, top, options)):
        return
    surplus = recall_z(context, rows, known.folds, best)
    known.recall_p = float(upper_tails.normal(surplus))
    if known.recall_p > _level("recall", options):
        return
    extra, weight = _recall_models(known, best, context)
    known.recall = RecallFound(
        best.rule.key_lag, best.rule.length, best.rule.offset, weight, surplus
    )
    known.judged = _judge(known, options, extra)
    if known.judged.chosen.kind is not ModelKind.RECALL:
        known.recall = None


def _beats_blocks(
    known: TokenFindings, every: list[Recalled], strata: Strata, top: float, options: Options
) -> bool:
    """Where series and answers are autocorrelated: the best agreement of all rules against that of
    answers (and strata) in mixed blocks.
    """
    seen, rng, level = known.found_in, options.rng(23), _level("recall", options)
    y, code, tokens = known.rows.y[seen], strata.code[seen], [r.token[seen] for r in every]
    replicates = max(199, int(np.ceil(1 / level)) - 1)
    allowed, reached = int(level * (replicates + 1) + 1e-9) - 1, 0
    for _ in range(replicates):
        order = mixed_blocks(len(seen), max(known.rows.lags), rng)
        made = (agreement(y[order], token, code[order], strata.count) for token in tokens)
        reached += any(z >= top for z in made)
        if reached > allowed:
            return False
    return True


def _recall_models(
    known: TokenFindings, best: Recalled, context: list[np.ndarray]
) -> tuple[list[Candidate], float]:
    rows, made, weight = known.rows, [], 0.0
    newest = rows.at(known.first)
    bases = [[], [newest]]
    if len(context) > 1 or (context and not np.array_equal(context[0], newest)):
        bases.append(context)
    for base in bases:
        losses, weight = recall_losses(base, rows, known.folds, best)
        name = f"recall over {counted(len(base), 'lag')}" if base else "recall alone"
        cost = RECALL_COST + 0.1 * len(base)
        made.append(Candidate(ModelKind.RECALL, (), cost, losses, name, best.rule))
    return made, weight


def _learner(known: TokenFindings, options: Options) -> None:
    rows, judged = known.rows, known.judged
    assert judged is not None
    if rows.labels > TREES_FOR_LABELS or rows.size > 64 or len(rows) > 50_000:
        return
    x = np.stack([rows.at(lag) for lag in rows.lags], axis=1)
    columns = tuple(Column(0, lag) for lag in rows.lags)
    made = learner.boosted_labels(x, rows.y, known.folds, columns, options.seed)
    known.judged = dataclasses.replace(judged, candidates=(*judged.candidates, made))


def _effects(known: TokenFindings) -> None:
    """Held-out nats that each lag of the chosen table is worth."""
    judged, rows = known.judged, known.rows
    assert judged is not None
    if judged.chosen.kind not in (ModelKind.LAGS, ModelKind.ADDITIVE):
        return
    lags: tuple[int, ...] = tuple(judged.chosen.detail)  # type: ignore[arg-type]
    whole = table_losses([rows.at(lag) for lag in lags], rows, known.folds)
    for lag in lags:
        rest = [rows.at(other) for other in lags if other != lag]
        lost = table_losses(rest, rows, known.folds) - whole
        known.effects[lag] = mean_error(lost, judged.blocks)
