"""Held-out losses (-log p) of every model of tokens.

A table backs off from many lags to few: p_j = (count + V p_{j-1}) / (N + V), p_0 by the answers
alone. Maps and pointers are tables too, whose columns are read at lags that differ by row.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from headcount.diagnose.held_out import Candidate, ModelKind
from headcount.diagnose.recall import Recalled
from headcount.diagnose.samples import Column, Fold
from headcount.diagnose.token_counts import TokenRows, compressed

MOST_INPUTS = 1024  # one-hot inputs of an additive model
MOST_CELLS = 30_000_000
EM_STEPS = 60


@dataclasses.dataclass(frozen=True)
class Table:
    """A back-off table over nested contexts, fitted on some rows of a common numbering."""

    codes: tuple[np.ndarray, ...]  # per depth, [n] code of the context of every row
    fit: np.ndarray
    labels: int
    y: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[np.ndarray], y: np.ndarray, fit: np.ndarray, labels: int):
        codes = [np.zeros(len(y), np.int64)]
        for column in columns:
            codes.append(compressed(codes[-1], column)[0])
        return cls(tuple(codes), fit, labels, y)

    def p(self, rows: np.ndarray, answers: np.ndarray, own: bool = False) -> np.ndarray:
        """Probability of each answer at each row; `own`: the row's own count is left out (rows of
        the fit, answers of the rows).
        """
        p = np.full(len(rows), 1 / self.labels)
        less = 1.0 if own else 0.0
        for code in self.codes:
            joint = code * self.labels + self.y
            counts = _looked_up(joint[self.fit], code[rows] * self.labels + answers)
            totals = _looked_up(code[self.fit], code[rows])
            p = (counts - less + self.labels * p) / (totals - less + self.labels)
        return p


def _looked_up(seen: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """How often each asked code was seen."""
    top = int(max(seen.max(initial=0), asked.max(initial=0))) + 1
    if top <= MOST_CELLS:
        return np.bincount(seen, minlength=top)[asked].astype(float)
    kinds, counts = np.unique(seen, return_counts=True)
    place = np.minimum(np.searchsorted(kinds, asked), len(kinds) - 1)
    return np.where(kinds[place] == asked, counts[place], 0).astype(float)


def table_losses(
    columns: Sequence[np.ndarray], rows: TokenRows, folds: tuple[Fold, ...]
) -> np.ndarray:
    made = []
    for fit, held in folds:
        table = Table.of(columns, rows.y, fit, rows.labels)
        made.append(-np.log(table.p(held, rows.y[held])))
    return np.concatenate(made)


def lag_models(rows: TokenRows, lags: tuple[int, ...], folds: tuple[Fold, ...]) -> list[Candidate]:
    """The first lag, the first two, …; and an additive model of all of them."""
    made = []
    for j in range(1, len(lags) + 1):
        columns = [rows.at(lag) for lag in lags[:j]]
        losses = table_losses(columns, rows, folds)
        named = tuple(Column(0, lag) for lag in lags[:j])
        made.append(Candidate(ModelKind.LAGS, named, float(j), losses, "table", lags[:j]))
    if len(lags) >= 2 and fits_additive(rows, lags, folds):
        made.append(additive_model(rows, lags, folds, len(lags) + 0.5))
    return made


def fits_additive(rows: TokenRows, lags: Sequence[int], folds: tuple[Fold, ...]) -> bool:
    inputs = rows.size * len(lags)
    return inputs <= MOST_INPUTS and inputs * len(folds[0].fit) <= MOST_CELLS


def additive_model(
    rows: TokenRows, lags: Sequence[int], folds: tuple[Fold, ...], simplicity: float
) -> Candidate:
    """Multinomial logistic regression on the tokens at these lags."""
    eye = np.eye(rows.size, dtype=np.float32)
    x = np.concatenate([eye[rows.at(lag)] for lag in lags], axis=1)
    losses = [logistic_losses(x, rows.y, rows.labels, fold) for fold in folds]
    named = tuple(Column(0, lag) for lag in lags)
    kind = ModelKind.ADDITIVE
    return Candidate(kind, named, simplicity, np.concatenate(losses), "additive", tuple(lags))


def logistic_losses(x: np.ndarray, y: np.ndarray, labels: int, fold: Fold) -> np.ndarray:
    """-log p on the judged rows, fitted with a ridge of one pseudo-count per input."""
    from scipy import optimize

    inside, target = x[fold.fit], np.eye(labels, dtype=np.float32)[y[fold.fit]]
    n = len(inside)

    def cost(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = flat.reshape(x.shape[1] + 1, labels)
        scores = inside @ w[:-1].astype(np.float32) + w[-1].astype(np.float32)
        scores -= scores.max(1, keepdims=True)
        p = np.exp(scores)
        total = p.sum(1, keepdims=True)
        value = float((np.log(total[:, 0]) - (scores * target).sum(1)).mean())
        left = p / total - target
        slope = np.vstack([inside.T @ left, left.sum(0, keepdims=True)]) / n + w / n
        return value + float((w**2).sum()) / (2 * n), slope.ravel().astype(float)

    start = np.zeros((x.shape[1] + 1) * labels)
    best = optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 60})
    w = best.x.reshape(x.shape[1] + 1, labels)
    scores = x[fold.judge] @ w[:-1] + w[-1]
    scores -= scores.max(1, keepdims=True)
    held = np.arange(len(scores))
    return np.log(np.exp(scores).sum(1)) - scores[held, y[fold.judge]]


def recall_losses(
    columns: Sequence[np.ndarray], rows: TokenRows, folds: tuple[Fold, ...], found: Recalled
) -> tuple[np.ndarray, float]:
    """P(y) = w 1[y = r] + (1 - w) table; the weight by EM on the rows of the fit, each without
    its own count. The last fold's weight is returned too.
    """
    losses, weight = [], 0.0
    for fit, held in folds:
        table = Table.of(columns, rows.y, fit, rows.labels)
        matched = fit[found.token[fit] >= 0]
        hit = rows.y[matched] == found.token[matched]
        base = np.maximum(table.p(matched, rows.y[matched], own=True), 1e-9)
        weight = 0.5
        for _ in range(EM_STEPS):
            share = weight * hit / (weight * hit + (1 - weight) * base)
            weight = float(share.mean()) if len(share) else 0.0
        weight = min(weight, 1 - 1 / (len(matched) + 2))
        p = table.p(held, rows.y[held])
        seen = found.token[held] >= 0
        mixed = weight * (rows.y[held] == found.token[held]) + (1 - weight) * p
        losses.append(-np.log(np.where(seen, mixed, p)))
    return np.concatenate(losses), weight


def recall_z(
    columns: Sequence[np.ndarray], rows: TokenRows, folds: tuple[Fold, ...], found: Recalled
) -> float:
    """Held-out surplus of y = r over what the model without recall expects, in its own spread."""
    surplus = spread = 0.0
    for fit, held in folds:
        held = held[found.token[held] >= 0]
        table = Table.of(columns, rows.y, fit, rows.labels)
        guess = found.token[held]
        inside = guess < rows.labels
        p = np.where(inside, table.p(held, np.minimum(guess, rows.labels - 1)), 0.0)
        surplus += float(((rows.y[held] == guess) - p).sum())
        spread += float((p * (1 - p)).sum())
    return surplus / np.sqrt(max(spread, 1e-9))
