"""Bounded features of every element: what a scan correlates the answer with.

F1 is the standardised value, clipped at 4. With u = 2 rank/n - 1 in [-1, 1], P2, P3 and P4 are the
Legendre polynomials of u with unit variance: they see even and higher dependence, and since they
are bounded, heavy tails cannot dominate. Hinges of u serve shapes that four columns cannot follow.
"""

import dataclasses

import numpy as np

from headcount.diagnose.samples import Column, Samples, Setting

CLIP_X, CLIP_Y = 4.0, 6.0
KNOTS = np.linspace(-1, 1, 12)[1:-1]  # ten hinges


@dataclasses.dataclass(frozen=True)
class Features:
    """All features of all columns, [n, P, 4] float32, and u itself for hinges."""

    columns: tuple[Column, ...]
    values: np.ndarray  # [n, P, 4]
    ranks: np.ndarray  # [n, P], u in [-1, 1]

    def take(self, rows: np.ndarray) -> "Features":
        return Features(self.columns, self.values[rows], self.ranks[rows])

    def hinges(self, place: int) -> np.ndarray:  # [n, 10]
        return np.maximum(self.ranks[:, [place]] - KNOTS, 0)


def features(samples: Samples, fitted: np.ndarray) -> Features:
    """Features by the marginal law of the rows `fitted`: one law for all lags of a channel in a
    series, one per column for independent windows.
    """
    table = samples.table()  # [n, P]
    u, standard = np.empty(table.shape, np.float32), np.empty(table.shape, np.float32)
    shared = samples.source.setting is not Setting.ROWS
    for c in range(len(samples.source.channels)):
        places = [i for i, column in enumerate(samples.columns) if column.channel == c]
        if shared:
            used = samples.source.values[samples.position[fitted] - min(samples.lags), c]
            groups = [(places, used)]
        else:
            groups = [([i], table[fitted, i]) for i in places]
        for where, law in groups:
            law = np.sort(law)
            block = table[:, where]
            middle = np.searchsorted(law, block, "left") + np.searchsorted(law, block, "right")
            u[:, where] = np.clip(middle / len(law) - 1, -1, 1)
            spread = law.std() or 1.0
            standard[:, where] = np.clip((block - law.mean()) / spread, -CLIP_X, CLIP_X)
    square = u * u
    values = np.empty((*u.shape, 4), np.float32)  # filled one by one: four at once are large
    values[:, :, 0] = standard
    values[:, :, 1] = np.sqrt(5) / 2 * (3 * square - 1)
    values[:, :, 2] = np.sqrt(7) / 2 * (5 * square - 3) * u
    values[:, :, 3] = 3 / 8 * ((35 * square - 30) * square + 3)
    return Features(samples.columns, values, u)


def standardised(y: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1 on the fitted rows, clipped at 6."""
    law = y[fitted]
    return np.clip((y - law.mean()) / (law.std() or 1.0), -CLIP_Y, CLIP_Y)
