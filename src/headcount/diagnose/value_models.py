"""Held-out losses of every model of real values: none, sets of lags, a gate, kernels, dense.

Where answers are autocorrelated by themselves, models are fitted and judged behind one filter, that
of what the richest model leaves on the rows of the fit: else slow noise hides what a lag is worth.
"""

import dataclasses
from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from headcount.diagnose.features import Features
from headcount.diagnose.held_out import Candidate, ModelKind
from headcount.diagnose.kernel_tail import Curve, TailClass, best_curve, kernel
from headcount.diagnose.samples import Column, Fold
from headcount.diagnose.sign_flips import Filter, Shape
from headcount.diagnose.value_scan import HINGE_P, Gate, Term, basis, f_test, named, path, places_of

KINKS = np.linspace(0, 1, 12)[1:-1]  # quantiles of a sum at which a function of it may bend
TURNS = 3  # Gauss-Newton steps of the weights of that sum
SUM_COST, NONLINEAR_COST, MAP_COST, CURVE_COST, DENSE_COST = 0.2, 0.3, 2.4, 2.5, 50.0
SMALL_RIDGE = 1e-8


@dataclasses.dataclass(frozen=True)
class Problem:
    """What models are fitted to and judged on."""

    y: np.ndarray  # [n], standardised
    features: Features
    folds: tuple[Fold, ...]
    found_in: np.ndarray  # rows in which structure was looked for
    sequence: np.ndarray | None = None  # set: least squares behind a filter
    filters: tuple[Filter, ...] = ()  # one per fold; (): none

    @property
    def judged(self) -> np.ndarray:
        return np.concatenate([fold.judge for fold in self.folds])


@dataclasses.dataclass(frozen=True)
class OneSum:
    """The lags of these terms enter by one weighted sum, and a function of it."""

    terms: tuple[Term, ...]
    weights: tuple[float, ...]  # in the order of places


class Losses(TypedDict):
    """Squared errors on the judged rows, as `Candidate` takes them."""

    losses: np.ndarray  # [m]
    plain: np.ndarray | None


def squared(problem: Problem, errors: Sequence[np.ndarray]) -> Losses:
    """From the errors [n] of each fold's model; all rows, for a filter to look back."""
    held = [e[fold.judge] ** 2 for e, fold in zip(errors, problem.folds, strict=True)]
    if not problem.filters:
        return {"losses": np.concatenate(held), "plain": None}
    behind = [
        filters(e, problem.sequence)[fold.judge] ** 2
        for e, fold, filters in zip(errors, problem.folds, problem.filters, strict=True)
    ]
    return {"losses": np.concatenate(behind), "plain": np.concatenate(held)}


def linear_losses(problem: Problem, columns: np.ndarray, ridge: float | None = SMALL_RIDGE):
    """Squared errors of least squares on these columns, fold by fold."""
    errors = [
        _errors(problem, columns, fit, least_squares(problem, columns, ridge, k))
        for k, (fit, _) in enumerate(problem.folds)
    ]
    return squared(problem, errors)


def least_squares(
    problem: Problem, columns: np.ndarray, ridge: float | None = SMALL_RIDGE, fold: int = 0
) -> np.ndarray:
    """Weights from the rows of one fold's fit, behind its filter."""
    x, y, fit = columns, problem.y, problem.folds[fold].fit
    if problem.filters:
        x, y = (problem.filters[fold](a, problem.sequence) for a in (x, y))
    return ridge_weights(x[fit], y[fit], ridge)[0]


def _errors(problem: Problem, columns: np.ndarray, fit: np.ndarray, weights: np.ndarray):  # [n]
    """What these weights leave of all answers; means are those of the fit."""
    centred = columns - columns[fit].mean(0)
    return problem.y - problem.y[fit].mean() - centred @ weights


def filtered(problem: Problem, terms: tuple[Term, ...]) -> Problem:
    """With one filter per fold, where a series has answers of its own: that of what all lags and
    all terms leave on the rows of the fit.
    """
    if problem.sequence is None:
        return problem
    lags = problem.features.values[:, :, 0].astype(float)
    columns = np.column_stack([lags, basis(terms, problem.features)])
    made = []
    for fit, _ in problem.folds:
        weights, _, _ = ridge_weights(columns[fit], problem.y[fit], None)
        left = _errors(problem, columns, fit, weights)
        made.append(Filter.of(left[fit], problem.sequence[fit]))
    return dataclasses.replace(problem, filters=tuple(made) if any(f.weights for f in made) else ())


def one_sum(problem: Problem, places: tuple[int, ...]) -> tuple[np.ndarray, Losses]:
    """A piecewise linear function of one weighted sum of these lags: the weights [k], from the
    first fold, and the losses. Least squares gives the direction to begin with.
    """
    x, y = problem.features.values[:, places, 0].astype(float), problem.y
    weights, errors = [], []
    for fit, _ in problem.folds:
        along = ridge_weights(x[fit], y[fit], SMALL_RIDGE)[0]
        for turn in range(TURNS + 1):
            kinks = np.quantile((x @ along)[fit], KINKS)
            total = (x @ along)[:, None]
            bent = np.column_stack([total, np.maximum(total - kinks, 0)])
            parts = ridge_weights(bent[fit], y[fit], SMALL_RIDGE)[0]
            left = _errors(problem, bent, fit, parts)
            slope = parts[0] + (total > kinks) @ parts[1:]  # [n]
            if turn < TURNS:
                along = along + ridge_weights((slope[:, None] * x)[fit], left[fit], SMALL_RIDGE)[0]
        weights.append(along)
        errors.append(left)
    return weights[0], squared(problem, errors)


def ridge_weights(x: np.ndarray, y: np.ndarray, ridge: float | None) -> tuple:
    """(weights, centre of x, mean of y); `ridge` relative to the mean square, None: by GCV."""
    centre, level = x.mean(0), y.mean()
    x, y = x - centre, y - level
    if x.shape[1] == 0:
        return np.zeros(0), centre, level
    values, vectors = np.linalg.eigh(x.T @ x)
    values = np.maximum(values, 0)
    along = vectors.T @ (x.T @ y)
    scale = max(values.mean(), 1e-300)
    choices = np.geomspace(1e-6, 1e3, 28) if ridge is None else np.array([ridge])
    costs = []
    for r in choices:
        shrunk = along / (values + r * scale)
        fitted = y @ y - 2 * shrunk @ along + (shrunk**2) @ values
        freedom = 1 - (values / (values + r * scale)).sum() / len(y)
        costs.append(fitted / max(freedom, 1e-3) ** 2)
    best = choices[int(np.argmin(costs))]
    return vectors @ (along / (values + best * scale)), centre, level


def candidates(problem: Problem, terms: tuple[Term, ...], gate: Gate | None) -> list[Candidate]:
    """Every explanatory model, with its losses."""
    y, features, seen = problem.y, problem.features, problem.found_in
    none = np.empty((len(y), 0))
    made = [Candidate(ModelKind.NONE, (), 0.0, name="none", **linear_losses(problem, none))]
    for kept in path(terms, y[seen], none[seen], features.take(seen)):
        made += _lag_models(problem, kept)
    if gate is not None and all(gate.lags):
        made.append(_gate_model(problem, gate))
    return made + dense_models(problem)


def _lag_models(problem: Problem, kept: tuple[Term, ...]) -> list[Candidate]:
    places = places_of(kept)
    columns = named(places, problem.features)
    curved = any(term.shape is not Shape.LINEAR for term in kept)
    cost = len(places) + (NONLINEAR_COST if curved else 0.0)
    losses = linear_losses(problem, basis(kept, problem.features))
    made = [Candidate(ModelKind.LAGS, columns, cost, name="lags", detail=kept, **losses)]
    if len(places) >= 2:
        along, losses = one_sum(problem, places)
        whole, cost = OneSum(kept, tuple(map(float, along))), len(places) + SUM_COST
        if _bends(problem, places, along):
            made.append(
                Candidate(ModelKind.LAGS, columns, cost, name="one sum", detail=whole, **losses)
            )
    if len(places) <= 2:
        bent = tuple(dataclasses.replace(t, hinged=t.places) for t in _bent(kept))
        losses = linear_losses(problem, basis(bent, problem.features))
        cost = len(places) + NONLINEAR_COST
        made.append(
            Candidate(ModelKind.LAGS, columns, cost, name="lags, hinges", detail=bent, **losses)
        )
    return made


def _bends(problem: Problem, places: tuple[int, ...], along: np.ndarray) -> bool:
    """Is a function of this sum more than the sum itself, where structure was looked for?"""
    x, y = (a[problem.found_in] for a in (problem.features.values[:, places, 0], problem.y))
    total = x.astype(float) @ along
    bends = np.maximum(total[:, None] - np.quantile(total, KINKS), 0)
    return f_test(y, x.astype(float), bends) < HINGE_P


def _bent(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    return tuple(
        dataclasses.replace(t, shape=Shape.NONLINEAR) if t.shape is Shape.LINEAR else t
        for t in terms
    )


def _gate_model(problem: Problem, gate: Gate) -> Candidate:
    x, which = problem.features.values[:, :, 0].astype(float), gate.classes(problem.features)
    parts = []
    for c, places in enumerate(gate.lags):
        inside = (which == c).astype(float)[:, None]
        parts += [inside, inside * x[:, list(places)]]
    columns = named(sorted({p for places in gate.lags for p in places}), problem.features)
    losses = linear_losses(problem, np.column_stack(parts))
    return Candidate(ModelKind.MAP, columns, MAP_COST, name="map by value", detail=gate, **losses)


def dense_models(problem: Problem) -> list[Candidate]:
    """Ridge on all lags; with one channel also an exponential and a power law."""
    x = problem.features.values[:, :, 0].astype(float)
    columns = problem.features.columns
    ridge = linear_losses(problem, x, None)
    made = [Candidate(ModelKind.DENSE, columns, DENSE_COST, name="ridge", **ridge)]
    single = len({c.channel for c in columns}) == 1 and len(columns) >= 4
    if not single or any(len(fit) <= 3 * len(columns) for fit, _ in problem.folds):
        return made
    for shape in (TailClass.EXP, TailClass.POWER):
        drawn = [
            fitted_curve(problem, x, fit, shape).weights(lag_array(columns))
            for fit, _ in problem.folds
        ]
        errors = [
            _errors(problem, x, fit, w) for (fit, _), w in zip(problem.folds, drawn, strict=True)
        ]
        kind = ModelKind(shape.value)
        losses = squared(problem, errors)
        made.append(Candidate(kind, columns, CURVE_COST, name=shape.value, **losses))
    return made


def lag_array(columns: tuple[Column, ...]) -> np.ndarray:
    return np.array([column.lag for column in columns], float)


def fitted_kernel(problem: Problem, x: np.ndarray, rows: np.ndarray):
    """Weights of all lags on these rows; behind a filter where the answers are autocorrelated."""
    lags, y = lag_array(problem.features.columns), problem.y
    found = kernel(x[rows], y[rows], lags)
    if problem.sequence is None:
        return found
    sequence = problem.sequence[rows]
    whiten = Filter.of(y[rows] - y[rows].mean() - (x[rows] - x[rows].mean(0)) @ found.weights,
                       sequence)  # fmt: skip
    if not whiten.weights:
        return found
    return kernel(whiten(x[rows], sequence), whiten(y[rows], sequence), lags)


def fitted_curve(problem: Problem, x: np.ndarray, rows: np.ndarray, shape: TailClass) -> Curve:
    return best_curve(fitted_kernel(problem, x, rows), shape)
