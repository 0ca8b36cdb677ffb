"""What time alone explains in one series: a trend, periods, one shift of the level.

A trend or period is accepted only if it extrapolates: fitted on the first part of the rows that
structure is looked for in, it must beat the series without it on the rest of them. A peak of the
spectrum that does not is a cycle, not a clock. Where the series wanders like a random walk, the
same is asked of its differences, and a trend must be a drift that a random walk would not show.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from headcount.diagnose.held_out import mean_error
from headcount.diagnose.kernel_tail import long_memory

FIT_SHARE, BLOCKS, BEATS = 0.7, 15, 2.33
HOLDS = 1.65  # standard errors on the rows that are kept for judging
PEAK_LEVEL = 0.01
MOST_PERIODS, MOST_HARMONICS = 3, 4
UNIT_ROOT, UNIT_D = 0.98, 0.75
DRIFT_Z = 2.58
ROUNDING = 1e-7  # of the spread of a series: less is not looked at
MOST_MEDIANS = 20_000  # frequencies with a median of their own
FEWEST = 60  # rows for a clock to be looked for


@dataclasses.dataclass(frozen=True)
class Period:
    """A line of the spectrum, with its harmonics."""

    length: float
    harmonics: int = 1


@dataclasses.dataclass(frozen=True)
class Clock:
    """Accepted parts, and what was seen but not accepted."""

    degree: int = 0
    periods: tuple[Period, ...] = ()
    step: int | None = None  # place of a shift of the level
    step_p: float | None = None
    r2: float = 0.0  # on the rows that it was fitted to
    wanders: bool = False  # like a random walk
    cycles: tuple[float, ...] = ()  # periods that do not extrapolate

    def __bool__(self) -> bool:
        return bool(self.degree or self.periods or self.step is not None)

    def columns(self, time: np.ndarray, span: int) -> np.ndarray:  # [n, k], without a constant
        made = [(time / span) ** k for k in range(1, self.degree + 1)]
        for period in self.periods:
            for h in range(1, period.harmonics + 1):
                angle = 2 * np.pi * h * time / period.length
                made += [np.sin(angle), np.cos(angle)]
        if self.step is not None:
            made.append((time >= self.step).astype(float))
        return np.stack(made, axis=1) if made else np.empty((len(time), 0))


def find_clock(series: np.ndarray, fitted: int) -> Clock:
    """The clock of a series from its first `fitted` values."""
    v = series[:fitted]
    if fitted < FEWEST:
        return Clock()
    rest = _left(v, Clock(degree=2))
    d = long_memory(rest).d_wide
    wanders = _lag_one(rest) > UNIT_ROOT or d > UNIT_D
    clock = Clock(wanders=wanders)
    if wanders:
        if abs(_drift(v)) > DRIFT_Z:
            clock = dataclasses.replace(clock, degree=1)
            more = dataclasses.replace(clock, degree=2)
            clock = more if _extrapolates(v, more, clock, False) else clock
    else:
        for degree in (1, 2):
            more = dataclasses.replace(clock, degree=degree)
            if _extrapolates(v, more, Clock(), False) and _extrapolates(v, more, clock, False):
                clock = more
    clock = _with_periods(v, clock)
    clock = _holding(series, fitted, clock)
    return dataclasses.replace(clock, r2=_r2(v, clock))


def _holding(series: np.ndarray, fitted: int, clock: Clock) -> Clock:
    """Without the parts that do not hold on the rest of the series, period by period: the phase of
    a cycle drifts, that of a clock does not.
    """
    kept: list[Period] = []
    cycles = list(clock.cycles)
    for period in clock.periods:
        less = dataclasses.replace(clock, periods=tuple(kept))
        more = dataclasses.replace(clock, periods=(*kept, period))
        if _extrapolates(series, more, less, clock.wanders, fitted, HOLDS):
            kept.append(period)
        else:
            cycles.append(period.length)
    return dataclasses.replace(clock, periods=tuple(kept), cycles=tuple(cycles))


def without_clock(series: np.ndarray, clock: Clock, fitted: int) -> np.ndarray:
    """The series minus its clock, fitted on the first values (a shift of the level: on all)."""
    time = np.arange(len(series))
    used = time if clock.step is not None else time[:fitted]
    columns = np.column_stack([np.ones(len(series)), clock.columns(time, fitted)])
    weights, *_ = np.linalg.lstsq(columns[used], series[used], rcond=None)
    return series - columns @ weights


def _with_periods(v: np.ndarray, clock: Clock) -> Clock:
    cycles: list[float] = []
    while len(clock.periods) < MOST_PERIODS:
        length = _peak(v, clock, cycles)
        if length is None:
            break
        more = dataclasses.replace(clock, periods=(*clock.periods, Period(length)))
        if not _extrapolates(v, more, clock, clock.wanders):
            cycles.append(length)
            if len(cycles) >= MOST_PERIODS:
                break
            continue
        clock = more
        for harmonics in range(2, MOST_HARMONICS + 1):
            if length / harmonics < 2:
                break
            fuller = (*clock.periods[:-1], Period(length, harmonics))
            richer = dataclasses.replace(clock, periods=fuller)
            if not _extrapolates(v, richer, clock, clock.wanders):
                break
            clock = richer
        clock = _refined(v, clock)
    return dataclasses.replace(clock, cycles=tuple(cycles))


def _refined(v: np.ndarray, clock: Clock) -> Clock:
    """The last period again, with all its harmonics (and in differences where v wanders)."""
    last, n = clock.periods[-1], len(v)

    def at(frequency: float) -> Clock:
        periods = (*clock.periods[:-1], Period(1 / frequency, last.harmonics))
        return dataclasses.replace(clock, periods=periods)

    def cost(frequency: float) -> float:
        columns, target = _design(at(frequency), n), v
        if clock.wanders:
            columns, target = np.diff(columns, axis=0), np.diff(v)
        weights, *_ = np.linalg.lstsq(columns, target, rcond=None)
        return float(((target - columns @ weights) ** 2).sum())

    near = 1 / last.length - 0.2 / n, min(1 / last.length + 0.2 / n, 0.5)
    return at(_least(cost, near, n))


def negligible(rest: np.ndarray, series: np.ndarray) -> bool:
    """Is what a clock leaves only rounding?"""
    return bool(rest.std() <= ROUNDING * series.std())


def _design(clock: Clock, n: int) -> np.ndarray:
    return np.column_stack([np.ones(n), clock.columns(np.arange(n), n)])


def _left(v: np.ndarray, clock: Clock) -> np.ndarray:
    columns = _design(clock, len(v))
    weights, *_ = np.linalg.lstsq(columns, v, rcond=None)
    return v - columns @ weights


def _r2(v: np.ndarray, clock: Clock) -> float:
    return float(1 - _left(v, clock).var() / v.var()) if v.var() > 0 else 0.0


def _lag_one(v: np.ndarray) -> float:
    return float(v[1:] @ v[:-1] / max(v[:-1] @ v[:-1], 1e-300))


def _drift(v: np.ndarray) -> float:
    """z of the mean step, with a long-run variance (Bartlett)."""
    steps = np.diff(v)
    e, n = steps - steps.mean(), len(steps)
    reach = int(4 * n ** (1 / 3))
    variance = e @ e / n + 2 * sum(
        (1 - k / (reach + 1)) * (e[k:] @ e[:-k]) / n for k in range(1, reach + 1)
    )
    floor = 0.1 * e @ e / n  # a season makes the sum small
    return float(steps.mean() / np.sqrt(max(variance, floor, 1e-300) / n))


def _extrapolates(
    v: np.ndarray,
    more: Clock,
    less: Clock,
    differences: bool,
    cut: int | None = None,
    beats: float = BEATS,
) -> bool:
    """Does the larger clock, fitted on the first part, beat the smaller one on the rest?"""
    cut = cut or int(FIT_SHARE * len(v))
    losses = []
    for clock in (less, more):
        columns, target = _design(clock, len(v)), v
        if differences:
            columns, target = np.diff(columns, axis=0), np.diff(v)
            columns[:, 0] = 1.0
        weights, *_ = np.linalg.lstsq(columns[:cut], target[:cut], rcond=None)
        losses.append((target - columns @ weights)[cut:] ** 2)
    gain, error = mean_error(losses[0] - losses[1], min(BLOCKS, (len(v) - cut) // 2))
    return gain > beats * error


def _peak(v: np.ndarray, clock: Clock, refused: list[float]) -> float | None:
    """The period of the strongest line that stands out of its neighbourhood, if any does."""
    rest = _left(v, clock)
    if negligible(rest, v):
        return None
    if clock.wanders:
        rest = np.diff(rest)
    n = len(rest)
    power = np.abs(np.fft.rfft(rest - rest.mean())) ** 2
    power = power[1 : (n - 1) // 2 + 1]  # frequencies k / n, k = 1, …
    m = len(power)
    width = max(int(m**0.6), 5)
    ratio = power / np.maximum(_running_median(power, width) / np.log(2), 1e-300)
    ratio[:2] = 0  # fewer than three turns: a trend
    for length in refused:
        ratio[np.abs(np.arange(1, m + 1) - n / length) < 2.5] = 0
    at = int(ratio.argmax())
    if ratio[at] <= peak_threshold(m):
        return None

    def cost(frequency: float) -> float:
        more = dataclasses.replace(clock, periods=(*clock.periods, Period(1 / frequency)))
        return float((_left(v, more) ** 2).sum())

    centre = (at + 1) / n
    grid = np.linspace(centre - 1 / n, centre + 1 / n, 21)
    start = grid[int(np.argmin([cost(f) for f in grid]))]
    near = (start - 0.1 / n, min(start + 0.1 / n, 0.5))
    return 1 / _least(cost, near, n)


def _least(cost: Callable[[float], float], near: tuple[float, float], n: int) -> float:
    """The best frequency, as exactly as numbers allow."""
    from scipy import optimize  # 0.2 s to load, which not every diagnosis needs

    found = optimize.minimize_scalar(
        cost, bounds=near, method="bounded", options={"xatol": 1e-8 / n}
    )
    return float(found.x)


def _running_median(power: np.ndarray, width: int) -> np.ndarray:  # [m]
    """Of `width` neighbours on either side; between places of a grid where they are many."""
    m = len(power)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(power, width, mode="reflect"), 2 * width + 1
    )
    places = np.arange(m) if m <= MOST_MEDIANS else np.arange(0, m, width // 16)
    return np.interp(np.arange(m), places, np.median(windows[places], axis=1))


@dataclasses.dataclass(frozen=True)
class Shift:
    """The most striking shift of the level, and its p over all places."""

    place: int
    p: float


def level_shift(
    y: np.ndarray, known: np.ndarray, rng: np.random.Generator, replicates: int = 499
) -> Shift:
    """The largest |z| of a step over the middle 80 %, given `known`, against sign flips."""
    n = len(y)
    q, _ = np.linalg.qr(np.column_stack([np.ones(n), known]))
    e = y - q @ (q.T @ y)
    signs = rng.integers(0, 2, (replicates, n), dtype=np.int8) * 2 - 1
    flipped = signs * e
    flipped = np.vstack([e, flipped - (flipped @ q) @ q.T])
    later = np.cumsum(flipped[:, ::-1], axis=1)[:, ::-1]  # sums from each place on
    inner = np.cumsum(q[::-1], axis=0)[::-1]
    size = np.arange(n, 0, -1) - (inner**2).sum(1)  # |M step|^2
    middle = slice(int(0.1 * n), int(np.ceil(0.9 * n)))
    z = np.abs(later[:, middle]) / np.sqrt(np.maximum(size[middle], 1e-9 * n) * e.var())
    largest = z.max(1)
    return Shift(middle.start + int(z[0].argmax()), float((largest >= largest[0]).mean()))


def shift_fits_better(series: np.ndarray, clock: Clock) -> bool:
    """Does one step of the level fit the whole series better than the clock's trend?"""
    n = len(series)
    trend = Clock(degree=clock.degree)
    below = np.cumsum(series)[:-1]  # sums of the first 1, 2, … values
    size = np.arange(1, n)
    between = below**2 / size + (series.sum() - below) ** 2 / (n - size)
    middle = slice(int(0.1 * n), int(np.ceil(0.9 * n)))
    step = float((series**2).sum() - between[middle].max())
    return step < float((_left(series, trend) ** 2).sum())


def peak_threshold(frequencies: int) -> float:
    """What the largest of so many exponential ratios exceeds in 1 % of series without a line."""
    return float(-np.log(1 - (1 - PEAK_LEVEL) ** (1 / frequencies)))
