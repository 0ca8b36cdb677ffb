"""What is diagnosed: sequences, and the rows (answer, earlier elements) that are made from them.

All sequences stand one behind the other in `Sequences.values`; `starts` are their borders. A row of
`Samples` is a position with an answer, and its element at lag s is `values[position - s]`: never
from another sequence. With answers of their own, lag 0 is the element at the same place; without,
the answer is the element itself, and lags count from 1.

    >>> import numpy as np
    >>> series = Sequences(np.arange(12.0)[:, None], np.array([0, 12]))
    >>> rows = lagged(series, (1, 2))
    >>> rows.y[:2].tolist(), rows.column(Column(0, 2))[:2].tolist()
    ([2.0, 3.0], [0.0, 1.0])
"""

import dataclasses
import enum
from typing import NamedTuple

import numpy as np

from headcount.core.errors import require


class Setting(enum.StrEnum):
    """How rows hang together: it decides what a replicate of "no memory" is."""

    ROWS = "independent rows"
    PAIRED = "series with answers of their own"
    SELF = "series that continue themselves"


class Column(NamedTuple):
    """One possible place of memory."""

    channel: int
    lag: int


@dataclasses.dataclass(frozen=True)
class Sequences:
    """Sequences of real vectors [T, d], or of tokens [T] coded 0, 1, …"""

    values: np.ndarray  # [T, d] float64, or [T] int64
    starts: np.ndarray  # [sequences + 1] borders, from 0 to T
    answers: np.ndarray | None = None  # [T]; NaN (tokens: -1) where none; None: the next element
    channels: tuple[str, ...] = ("x",)
    target: int = 0  # without answers: the channel whose next value is asked for
    alphabet: tuple[str, ...] = ()  # names of the tokens; () for real values
    labels: tuple[str, ...] = ()  # names of the answers, where they are labels
    notes: "tuple[Note, ...]" = ()
    answer: str = ""  # the name of what is predicted, where several columns have names

    def __post_init__(self):
        borders = self.starts
        fine = borders[0] == 0 and borders[-1] == len(self.values) and (np.diff(borders) > 0).all()
        require(fine, f"borders {borders[:4]}…", "0 < … < length", "give the starts of sequences")

    @property
    def tokens(self) -> bool:
        return self.values.ndim == 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    @property
    def setting(self) -> Setting:
        if self.answers is None:
            return Setting.SELF
        given = np.flatnonzero(_given(self.answers))
        per_sequence = np.bincount(np.searchsorted(self.starts, given, side="right") - 1)
        return Setting.ROWS if per_sequence.max(initial=0) <= 1 else Setting.PAIRED


class Note(NamedTuple):
    """Something the reader must know. `kind` is for programs, the numbers go into the words."""

    kind: str
    numbers: dict[str, object]


@dataclasses.dataclass(frozen=True)
class Samples:
    """Rows in the order of time; every row has an element at every lag."""

    source: Sequences
    columns: tuple[Column, ...]
    position: np.ndarray  # [n] into source.values
    y: np.ndarray  # [n] float64, or int64 labels

    @property
    def lags(self) -> tuple[int, ...]:
        return tuple(sorted({column.lag for column in self.columns}))

    @property
    def sequence(self) -> np.ndarray:
        """[n] the number of each row's sequence."""
        return np.searchsorted(self.source.starts, self.position, side="right") - 1

    def column(self, column: Column) -> np.ndarray:  # [n]
        values, place = self.source.values, self.position - column.lag
        return values[place] if self.source.tokens else values[place, column.channel]

    def table(self, columns: tuple[Column, ...] | None = None) -> np.ndarray:  # [n, P]
        return np.stack([self.column(c) for c in columns or self.columns], axis=1)

    def of(self, source: Sequences) -> "Samples":
        """The same rows of other values, such as those without a trend."""
        return dataclasses.replace(self, source=source, y=_answers(source)[self.position])

    def rows(self, keep: np.ndarray) -> "Samples":
        return dataclasses.replace(self, position=self.position[keep], y=self.y[keep])


def _given(answers: np.ndarray) -> np.ndarray:
    return answers >= 0 if answers.dtype.kind == "i" else ~np.isnan(answers)


def _answers(source: Sequences) -> np.ndarray:  # [T]
    if source.answers is not None:
        return source.answers
    return source.values if source.tokens else source.values[:, source.target]


def lagged(source: Sequences, lags: tuple[int, ...]) -> Samples:
    """Rows for these lags, each with its whole past inside its own sequence."""
    longest = max(lags)
    place = np.arange(len(source.values))
    start = np.repeat(source.starts[:-1], source.lengths)
    keep = place - start >= longest
    if source.answers is not None:
        keep &= _given(source.answers)
    position = place[keep]
    channels = range(1 if source.tokens else source.values.shape[1])
    columns = tuple(Column(c, s) for c in channels for s in lags)
    return Samples(source, columns, position, _answers(source)[position])


class Fold(NamedTuple):
    """Row numbers to fit on and to judge on."""

    fit: np.ndarray
    judge: np.ndarray


SHARE = 0.7  # of the rows, first in time: where structure is looked for
FEWEST_JUDGED = 100  # below, every row is judged once by five blocks
BLOCKS = 5
MANY_SEQUENCES = 10  # from here on whole sequences go to one side


def split(samples: Samples) -> tuple[np.ndarray, tuple[Fold, ...]]:
    """The rows in which structure is looked for, and the folds in which models are judged. Whole
    sequences, or a gap of the longest lag, keep the two sides apart.
    """
    n, sequence = len(samples.y), samples.sequence
    gap = 0 if samples.source.setting is Setting.ROWS else max(samples.lags)
    if len(np.unique(sequence)) >= MANY_SEQUENCES:
        gap = 0
        edges = np.flatnonzero(np.diff(sequence)) + 1
        cut = int(edges[np.abs(edges - SHARE * n).argmin()])
    else:
        cut = int(SHARE * n)
    rows = np.arange(n)
    if n - cut - gap >= FEWEST_JUDGED:
        return rows[:cut], (Fold(rows[:cut], rows[cut + gap :]),)
    gap = min(gap, n // 20)
    folds = []
    for block in np.array_split(rows, BLOCKS):
        away = (rows < block[0] - gap) | (rows > block[-1] + gap)
        folds.append(Fold(rows[away], block))
    return rows[:cut], tuple(folds)
