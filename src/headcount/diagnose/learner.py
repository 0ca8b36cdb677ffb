"""A learner that knows no structure: how much is there to be explained at all?

Gradient boosting of scikit-learn (extra `diagnose`). Without it the comparison is left to the dense
models, and a note says so.
"""

import importlib.util

import numpy as np

from headcount.diagnose.held_out import Candidate, ModelKind
from headcount.diagnose.samples import Column, Fold
from headcount.diagnose.value_models import Problem, squared

TREES, LEAVES, MOST_ROWS = 80, 15, 20_000


def available() -> bool:
    return importlib.util.find_spec("sklearn") is not None


def boosted_values(problem: Problem, seed: int) -> Candidate:
    """Squared errors of boosted trees on all lags."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    x, y, errors = problem.features.values[:, :, 0], problem.y, []
    for fit, _ in problem.folds:
        fit = fit[-MOST_ROWS:]
        model = HistGradientBoostingRegressor(
            max_iter=TREES, max_leaf_nodes=LEAVES, early_stopping=False, random_state=seed
        )
        errors.append(y - model.fit(x[fit], y[fit]).predict(x))
    losses = squared(problem, errors)
    columns = problem.features.columns
    return Candidate(ModelKind.GENERIC, columns, np.inf, name="boosted trees", **losses)


def boosted_labels(
    x: np.ndarray, y: np.ndarray, folds: tuple[Fold, ...], columns: tuple[Column, ...], seed: int
) -> Candidate:
    """-log p of boosted trees on all lags, tokens as categories."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    losses = []
    size = int(y.max()) + 1
    for fit, held in folds:
        fit = fit[-MOST_ROWS:]
        model = HistGradientBoostingClassifier(
            max_iter=TREES,
            max_leaf_nodes=LEAVES,
            early_stopping=False,
            random_state=seed,
            categorical_features=list(range(x.shape[1])),
        )
        model.fit(x[fit], y[fit])
        p = np.full((len(held), size), 1e-3 / size)
        p[:, model.classes_] += (1 - 1e-3) * model.predict_proba(x[held])
        losses.append(-np.log(p[np.arange(len(held)), y[held]]))
    return Candidate(ModelKind.GENERIC, columns, np.inf, np.concatenate(losses), "boosted trees")
