"""The way through real values: clock, scan, shift of the level, models, learner, verdict."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from headcount.core.beside import Apart, Beside
from headcount.diagnose import learner
from headcount.diagnose.clock import (
    Clock,
    Shift,
    find_clock,
    level_shift,
    negligible,
    shift_fits_better,
    without_clock,
)
from headcount.diagnose.features import features, standardised
from headcount.diagnose.held_out import Candidate, Judged, ModelKind, block_count, judge, mean_error
from headcount.diagnose.kernel_tail import LongMemory, Tail, TailClass, best_curve, long_memory
from headcount.diagnose.kernel_tail import tail_of as named_tail
from headcount.diagnose.records import Variance
from headcount.diagnose.samples import Note, Samples, Sequences, Setting, split
from headcount.diagnose.sign_flips import Filter, Shape, flip_step
from headcount.diagnose.value_models import (
    OneSum,
    Problem,
    candidates,
    filtered,
    fitted_kernel,
    least_squares,
    linear_losses,
    one_sum,
)
from headcount.diagnose.value_scan import (
    Gate,
    Scan,
    Term,
    basis,
    gate_place,
    gated,
    places_of,
    scan,
    without,
)

SPENDING = {"scan": 0.8, "sum": 0.1, "variance": 0.1}
SHIFT_P = 0.01

Say = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Options:
    """What the user may set."""

    lags: tuple[int, ...]
    alpha: float = 0.05
    replicates: int = 199
    seed: int = 0
    triples: bool = False
    learner: bool = True
    clock: bool = True

    def replicates_for(self, level: float, usual: int | None = None) -> int:
        """As many as usual (as asked for), or as it takes for a p at this level."""
        usual = self.replicates if usual is None else usual
        return usual if (usual + 1) * level >= 1 - 1e-9 else math.ceil(1 / level)

    def rng(self, stage: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, stage])


@dataclasses.dataclass
class ValueFindings:
    """What is known so far; an interruption leaves the rest empty."""

    samples: Samples
    clock: Clock | None = None
    past_lags: tuple[int, ...] = ()
    first: Scan | None = None
    terms: tuple[Term, ...] = ()
    shift_or_lag: bool = False
    sum_p: float = 1.0
    filter_order: int = 0
    variance: Variance | None = None
    gate: Gate | None = None
    problem: Problem | None = None
    judged: Judged | None = None
    tail: Tail | None = None
    long: LongMemory | None = None
    kernel: tuple[tuple[int, float, float], ...] = ()
    effects: dict[int, tuple[float, float]] = dataclasses.field(default_factory=dict)
    weights: dict[int, float] = dataclasses.field(default_factory=dict)
    effective_rows: float = 0.0
    notes: list[Note] = dataclasses.field(default_factory=list)
    trees: Beside[learner.Errors] | None = None  # the generic learner, begun beside the scan

    @property
    def detected(self) -> bool:
        return bool(self.terms) or self.sum_p <= SPENDING["sum"] * self.alpha

    alpha: float = 0.05


def find_values(known: ValueFindings, options: Options, say: Say) -> None:
    """Fill in what can be found; every stage leaves `known` usable."""
    process = learner.other_process() if options.learner and learner.available() else None
    try:
        _find(known, options, process, say)
    finally:
        if process is not None:
            process.leave()


def _find(known: ValueFindings, options: Options, process: Apart | None, say: Say) -> None:
    source = known.samples.source
    known.alpha = options.alpha
    single = len(source.starts) == 2 and source.setting is not Setting.ROWS
    if single and options.clock:
        say("clock: trend and periods")
        _find_clock(known, options)
    if known.clock and negligible(known.samples.y, _series(source)):
        _nothing_left(known, options)
        return
    say("scan: linear, nonlinear and products of all pairs of lags")
    _scan(known, options, process)
    if single and options.clock:
        say("shift of the level")
        _shift(known, options)
    _gate(known, options)
    _variance(known, options)
    say("models on held-out rows")
    _judge(known, options)
    if known.trees is not None:
        say("generic learner")
        _learner(known, known.trees.answer())
    _kernel(known)
    _effects(known)


def _find_clock(known: ValueFindings, options: Options) -> None:
    source = known.samples.source
    series = _series(source)
    fitted = int(0.7 * len(series))
    clock = find_clock(series, fitted)
    if clock.degree and not clock.wanders and shift_fits_better(series, clock):
        clock = dataclasses.replace(clock, degree=0)  # left to the test of a shift
    known.clock = clock
    for length in clock.cycles:
        known.notes.append(Note("cycle, not clock", {"period": length}))
    if clock.wanders:
        known.notes.append(Note("trend or unit root", {}))
    if clock:
        plain = _prepared(known.samples, options)
        found = scan(
            plain.y[plain.found_in],
            np.empty((len(plain.found_in), 0)),
            plain.features.take(plain.found_in),
            options.rng(9),
            alpha=SPENDING["scan"] * options.alpha,
            replicates=options.replicates_for(SPENDING["scan"] * options.alpha, 99),
            sequence=None if plain.sequence is None else plain.sequence[plain.found_in],
            pairs=False,
        )
        known.past_lags = tuple(plain.features.columns[p].lag for p in found.places)
        known.samples = known.samples.of(cleared(source, clock, fitted))


def _nothing_left(known: ValueFindings, options: Options) -> None:
    """Time alone says it all."""
    known.problem = problem = _prepared(known.samples, options)
    none = linear_losses(problem, np.empty((len(problem.y), 0)))
    known.judged = judge([Candidate(ModelKind.NONE, (), 0.0, name="none", **none)], None)


def _series(source: Sequences) -> np.ndarray:
    return source.values[:, source.target] if source.answers is None else source.answers


def cleared(source: Sequences, clock: Clock, fitted: int) -> Sequences:
    """The sequences without their clock."""
    left = without_clock(_series(source), clock, fitted)
    if source.answers is not None:
        return dataclasses.replace(source, answers=left)
    values = source.values.copy()
    values[:, source.target] = left
    return dataclasses.replace(source, values=values)


def _prepared(samples: Samples, options: Options) -> Problem:
    found_in, folds = split(samples)
    paired = samples.source.setting is Setting.PAIRED
    return Problem(
        standardised(samples.y, found_in),
        features(samples, found_in),
        folds,
        found_in,
        samples.sequence if paired else None,
    )


def _scan(known: ValueFindings, options: Options, process: Apart | None = None) -> None:
    known.problem = problem = _prepared(known.samples, options)
    rows = problem.found_in
    if options.learner and learner.available():
        lags = problem.features.values[:, :, 0]
        known.trees = learner.begin(lags, problem.y, problem.folds, options.seed, process)

    def watch(so_far: Scan) -> None:  # an interruption leaves what was found
        known.first, known.terms = so_far, so_far.terms

    found = scan(
        problem.y[rows],
        np.empty((len(rows), 0)),
        problem.features.take(rows),
        options.rng(1),
        alpha=SPENDING["scan"] * options.alpha,
        replicates=options.replicates_for(SPENDING["sum"] * options.alpha),
        sequence=None if problem.sequence is None else problem.sequence[rows],
        triples=options.triples,
        watch=watch,
    )
    known.first, known.terms = found, found.terms
    known.sum_p, known.filter_order = found.steps[0].sum_p, found.steps[-1].whitened


def _shift(known: ValueFindings, options: Options) -> None:
    """A shift of the level against lags: which of them explains the other away?"""
    problem, clock = known.problem, known.clock or Clock()
    assert problem is not None
    y, rng = problem.y, options.rng(2)
    columns = basis(known.terms, problem.features)
    given = _shift_given(problem, columns, rng)
    alone = given if not known.terms else _shift_given(problem, columns[:, :0], rng)
    if alone.p > SHIFT_P or clock.wanders or _near_unit_root(problem, known.terms):
        return
    place = given.place if given.p <= SHIFT_P else alone.place
    step = (np.arange(len(y)) >= place).astype(float)[:, None]
    if _long_without(y, place):
        return
    left = _scan_given(problem, step, known.terms, options)
    if given.p > SHIFT_P and left:
        return  # lags explain the shift
    position = int(known.samples.position[place])
    if given.p > SHIFT_P:
        known.shift_or_lag = True
        known.clock = dataclasses.replace(clock, step=position, step_p=alone.p)
        return
    known.clock = dataclasses.replace(clock, step=position, step_p=given.p)
    source = cleared(known.samples.source, Clock(step=position), len(known.samples.source.values))
    known.samples = known.samples.of(source)
    _scan(known, options)
    known.terms = known.terms if left else ()


def _long_without(y: np.ndarray, place: int) -> bool:
    """Long memory wanders as if its level shifted. It stays when the step is taken away; that of a
    series whose level did shift goes with it.
    """
    before, after = y[:place], y[place:]
    return long_memory(np.concatenate([before - before.mean(), after - after.mean()])).long


def _shift_given(problem: Problem, columns: np.ndarray, rng: np.random.Generator) -> Shift:
    """Behind a filter where answers are autocorrelated by themselves: a filtered step is a step."""
    y, sequence = problem.y, problem.sequence
    if sequence is not None:
        q, _ = np.linalg.qr(np.column_stack([np.ones(len(y)), columns]))
        filters = Filter.of(y - q @ (q.T @ y), sequence)
        y, columns = filters(y, sequence), filters(columns, sequence)
    return level_shift(y, columns, rng)


def _near_unit_root(problem: Problem, terms: tuple[Term, ...]) -> bool:
    """Does the linear part add up to nearly one?"""
    places = [t.places[0] for t in terms if t.shape is Shape.LINEAR]
    if not places:
        return False
    x = problem.features.values[:, places, 0].astype(float)
    weights, *_ = np.linalg.lstsq(x - x.mean(0), problem.y - problem.y.mean(), rcond=None)
    return bool(weights.sum() > 0.95)


def _scan_given(
    problem: Problem, step: np.ndarray, terms: tuple[Term, ...], options: Options
) -> tuple[Term, ...]:
    """What is found given the step; products are looked for again where some were found before."""
    return scan(
        problem.y,
        step,
        problem.features,
        options.rng(3),
        alpha=options.alpha,
        replicates=options.replicates_for(options.alpha),
        sequence=problem.sequence,
        pairs=any(len(term.places) > 1 for term in terms),
        triples=any(term.shape is Shape.TRIPLE for term in terms),
    ).terms


def _gate(known: ValueFindings, options: Options) -> None:
    place = gate_place(known.terms)
    if place is None:
        return
    assert known.problem is not None
    rows = known.problem.found_in
    none = np.empty((len(rows), 0))
    part = known.problem.features.take(rows)
    known.gate = gated(
        known.problem.y[rows], none, part, place, options.rng(4), SPENDING["scan"] * options.alpha
    )


def _variance(known: ValueFindings, options: Options) -> None:
    """The linear scan once more, of |what is left| on |x|."""
    problem = known.problem
    assert problem is not None
    rows = problem.found_in
    part = problem.features.take(rows)
    columns = np.column_stack([np.ones(len(rows)), basis(known.terms, part)])
    q, _ = np.linalg.qr(columns)
    left = problem.y[rows] - q @ (q.T @ problem.y[rows])
    size = np.minimum(np.abs(left), 4 * left.std())
    values, level = part.values.copy(), SPENDING["variance"] * options.alpha
    values[:, :, 0] = np.abs(values[:, :, 0])
    step = flip_step(
        size,
        np.empty((len(rows), 0)),
        dataclasses.replace(part, values=values * np.array([1, 0, 0, 0], np.float32)),
        options.rng(5),
        replicates=options.replicates_for(level),
        sequence=None if problem.sequence is None else problem.sequence[rows],
        pairs=False,
    )
    if step.hit.p <= level:
        lag = part.columns[step.hit.places[0]].lag
        known.variance = Variance(lag, step.hit.p)


def _judge(known: ValueFindings, options: Options) -> None:
    assert known.problem is not None
    known.problem = problem = filtered(known.problem, known.terms)
    made = candidates(problem, known.terms, known.gate)
    if not known.detected:
        made = [c for c in made if c.kind in (ModelKind.NONE, ModelKind.DENSE)]
        made = [_as_generic(c) for c in made]
    blocks = block_count(known.samples.source.setting, len(problem.judged))
    known.judged = judge(made, blocks)


def _as_generic(candidate: Candidate) -> Candidate:
    """Where nothing was detected, a dense model only tells whether there is something to find."""
    dense = candidate.kind is ModelKind.DENSE
    return dataclasses.replace(candidate, kind=ModelKind.GENERIC) if dense else candidate


def _learner(known: ValueFindings, errors: learner.Errors) -> None:
    problem, judged = known.problem, known.judged
    assert problem is not None
    assert judged is not None
    made = learner.judged_values(problem, errors)
    known.judged = dataclasses.replace(judged, candidates=(*judged.candidates, made))


def _kernel(known: ValueFindings) -> None:
    """Weights of all lags and their tail; for a series of its own also long memory."""
    problem, samples = known.problem, known.samples
    assert problem is not None
    rows, columns = problem.found_in, problem.features.columns
    single = len({c.channel for c in columns}) == 1
    if single and len(rows) > 3 * len(columns) and len(columns) >= 4:
        found = fitted_kernel(problem, problem.features.values[:, :, 0].astype(float), rows)
        exp, power = (best_curve(found, shape) for shape in (TailClass.EXP, TailClass.POWER))
        known.tail = named_tail(exp, power, len(samples.y))
        known.kernel = tuple(
            (column.lag, float(w), float(s))
            for column, w, s in zip(columns, found.weights, found.errors, strict=True)
        )
    if samples.source.setting is Setting.SELF and len(samples.source.starts) == 2:
        known.long = long_memory(_series(samples.source))
    known.effective_rows = _effective_rows(known)


def _effective_rows(known: ValueFindings) -> float:
    """n / (1 + 2 sum acf_e acf_x), e what is left, for a series; n for independent rows."""
    samples = known.samples
    n = len(samples.y)
    if samples.source.setting is Setting.ROWS:
        return float(n)
    reach = min(50, n // 10)
    assert known.problem is not None
    columns = np.column_stack([np.ones(n), basis(known.terms, known.problem.features)])
    q, _ = np.linalg.qr(columns)
    left = known.problem.y - q @ (q.T @ known.problem.y)
    x = samples.source.values[samples.position - min(samples.lags), 0]
    acfs = []
    for v in (left, x):
        e = v - v.mean()
        acfs.append([float(e[k:] @ e[: n - k]) / max(float(e @ e), 1e-300)
                     for k in range(1, reach + 1)])  # fmt: skip
    inflation = 1 + 2 * sum(a * b for a, b in zip(*acfs, strict=True))
    return n / max(inflation, 1.0)


def _effects(known: ValueFindings) -> None:
    """Held-out partial R^2 of each lag of the chosen model."""
    problem, judged = known.problem, known.judged
    assert problem is not None
    assert judged is not None
    chosen = judged.chosen
    if chosen.kind is not ModelKind.LAGS:
        return
    summed = chosen.detail if isinstance(chosen.detail, OneSum) else None
    terms: tuple[Term, ...] = summed.terms if summed else chosen.detail  # type: ignore[assignment]
    spread = float(judged.none.losses.mean()) or 1.0
    for place in places_of(terms):
        others = tuple(other for other in places_of(terms) if other != place)
        smaller = (
            one_sum(problem, others)[1]
            if summed
            else linear_losses(problem, basis(without(terms, place), problem.features))
        )
        lost = smaller["losses"] - chosen.losses
        error = mean_error(lost, judged.blocks)[1]
        known.effects[place] = float(lost.mean()) / spread, error / spread
    if summed:
        known.weights = dict(zip(places_of(terms), summed.weights, strict=True))
    elif all(term.shape is Shape.LINEAR for term in terms):
        fitted = least_squares(problem, basis(terms, problem.features))
        known.weights = dict(zip(places_of(terms), map(float, fitted), strict=True))
