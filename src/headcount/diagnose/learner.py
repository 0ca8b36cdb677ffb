"""A learner that knows no structure: how much is there to be explained at all?

Gradient boosting of scikit-learn (extra `diagnose`). Without it the comparison is left to the dense
models, and a note says so.

Loading it takes longer than its trees and holds the interpreter, which the scan and the loading of
`plan` need at that time. So the first diagnosis of a process asks another process for the trees;
later ones load it, once.
"""

import contextlib
import importlib.util
import sys
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from headcount.core.beside import Apart, Beside
from headcount.diagnose.held_out import Candidate, ModelKind
from headcount.diagnose.samples import Column, Fold
from headcount.diagnose.value_models import Problem, squared

TREES, LEAVES, MOST_ROWS = 80, 15, 20_000

Errors = list[np.ndarray]

MODULES = ("sklearn.ensemble", __name__)  # what a process for the trees loads
_begun: list[bool] = []  # one entry per process that was begun for the trees
_waiting: list[Apart] = []  # begun by a command before this module was loaded


def available() -> bool:
    return importlib.util.find_spec("sklearn") is not None


def loads_here() -> bool:
    """Is it loaded into this process, or to be loaded?"""
    return not _waiting and (bool(_begun) or "sklearn" in sys.modules)


def other_process() -> Apart | None:
    """One that loads scikit-learn at once; None where this one does."""
    if _waiting:
        return _waiting.pop()
    if loads_here():
        return None
    _begun.append(True)
    return Apart(*MODULES)


@contextlib.contextmanager
def waiting(process: Apart | None) -> Iterator[None]:
    """Inside the block the first diagnosis takes this process, which may be loading already."""
    if process is not None:
        _begun.append(True)
        _waiting.append(process)
    try:
        yield
    finally:
        for left in _waiting:
            left.leave()
        _waiting.clear()


def begin(
    x: np.ndarray, y: np.ndarray, folds: tuple[Fold, ...], seed: int, process: Apart | None
) -> Beside[Errors]:
    """The trees of `boosted_values`, begun beside the scan."""
    if process is None:
        return Beside(boosted_values, x, y, folds, seed)
    return process.ask(boosted_values, x, y, folds, seed)


def boosted_values(x: np.ndarray, y: np.ndarray, folds: tuple[Fold, ...], seed: int) -> Errors:
    """What boosted trees on all lags x [n, P] leave of y [n], per fold: [n] each."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    errors = []
    for fit, _ in folds:
        fit = fit[-MOST_ROWS:]
        model = HistGradientBoostingRegressor(
            max_iter=TREES, max_leaf_nodes=LEAVES, early_stopping=False, random_state=seed
        )
        with threadpool_limits(1, user_api="openmp"):  # the scan has the other core
            errors.append(y - model.fit(x[fit], y[fit]).predict(x))
    return errors


def judged_values(problem: Problem, errors: Errors) -> Candidate:
    """These errors as a candidate, behind the filters of the problem."""
    losses, columns = squared(problem, errors), problem.features.columns
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
        p = np.full((len(held), size), 1e-3 / size)
        first = y[fit][0]
        if (y[fit] == first).all():  # nothing to learn: the one label, always
            p[:, first] += 1 - 1e-3
        else:
            model.fit(x[fit], y[fit])
            p[:, model.classes_] += (1 - 1e-3) * model.predict_proba(x[held])
        losses.append(-np.log(p[np.arange(len(held)), y[held]]))
    return Candidate(ModelKind.GENERIC, columns, np.inf, np.concatenate(losses), "boosted trees")
