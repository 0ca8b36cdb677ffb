"""Which lags matter, for real values: steps of `sign_flips`, each given what was found before.

A lag that entered linearly is held fixed by its value alone (linear first); one that entered
nonlinearly by four columns, and by hinges where an F test asks for them; a product by both lags'
columns and their nine products. The path at the end is nested: from all lags found down to one, by
the residual sum of squares. It lets a deterministic map, where x_{t-2} determines y too, be read as
what it is.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable

import numpy as np

from headcount.diagnose import upper_tails
from headcount.diagnose.features import Features
from headcount.diagnose.samples import Column
from headcount.diagnose.sign_flips import Hit, Shape, Step, flip_step

MOST_TERMS = 12
HINGE_P = 1e-3


@dataclasses.dataclass(frozen=True)
class Term:
    """One thing found. `hinged` places need more than four columns."""

    shape: Shape
    places: tuple[int, ...]
    p: float
    hinged: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Scan:
    """All that was found, in order; `steps` holds the last, empty-handed one too."""

    terms: tuple[Term, ...]
    steps: tuple[Step, ...]

    @property
    def places(self) -> tuple[int, ...]:
        return places_of(self.terms)


def places_of(terms: Iterable[Term]) -> tuple[int, ...]:
    return tuple(sorted({place for term in terms for place in term.places}))


def basis(terms: Iterable[Term], features: Features, hinged: bool = False) -> np.ndarray:
    """[n, k] columns of these terms; `hinged` adds hinges for every nonlinear place."""
    terms = tuple(terms)
    curved = {place for term in terms if term.shape is not Shape.LINEAR for place in term.places}
    hinges = curved if hinged else {place for term in terms for place in term.hinged}
    linear = {place for term in terms for place in term.places} - curved
    x = features.values
    parts = [x[:, [place], 0] for place in sorted(linear)]
    parts += [x[:, place, :] for place in sorted(curved)]
    parts += [features.hinges(place) for place in sorted(hinges)]
    for term in terms:
        if term.shape is Shape.PAIR:
            i, j = term.places
            nine = x[:, i, :3, None] * x[:, j, None, :3]
            parts.append(nine.reshape(len(x), 9))
        elif term.shape is Shape.TRIPLE:
            a, b, c = (x[:, place, 0] for place in term.places)
            parts.append(np.stack([a * b, a * c, b * c, a * b * c], axis=1))
    return np.concatenate(parts, axis=1).astype(float) if parts else np.empty((len(x), 0))


def scan(
    y: np.ndarray,
    known: np.ndarray,
    features: Features,
    rng: np.random.Generator,
    *,
    alpha: float,
    replicates: int,
    sequence: np.ndarray | None = None,
    pairs: bool = True,
    triples: bool = False,
    watch: Callable[["Scan"], None] | None = None,
) -> Scan:
    """Steps until nothing is left at level `alpha`, then terms that the others made needless go.
    `watch` is told what is known after every step.
    """
    terms: tuple[Term, ...] = ()
    steps: list[Step] = []
    while len(terms) < MOST_TERMS:
        base = np.column_stack([known, basis(terms, features)])
        if base.shape[1] > len(y) // 4:
            break
        step = flip_step(
            y,
            base,
            features,
            rng,
            replicates=replicates,
            sequence=sequence,
            pairs=pairs,
            triples=triples,
        )
        steps.append(step)
        if step.hit.p > alpha:
            break
        terms = _added(terms, step.hit, y, known, features)
        if watch is not None:
            watch(Scan(terms, tuple(steps)))
    return Scan(_needed(terms, y, known, features, alpha), tuple(steps))


def _added(
    terms: tuple[Term, ...], hit: Hit, y: np.ndarray, known: np.ndarray, features: Features
) -> tuple[Term, ...]:
    term = Term(hit.shape, hit.places, hit.p)
    if hit.shape is Shape.NONLINEAR:
        terms = tuple(t for t in terms if t.places != hit.places)
        base = np.column_stack([known, basis((*terms, term), features)])
        if f_test(y, base, features.hinges(hit.places[0])) < HINGE_P:
            term = dataclasses.replace(term, hinged=hit.places)
    return (*terms, term)


def _needed(
    terms: tuple[Term, ...], y: np.ndarray, known: np.ndarray, features: Features, alpha: float
) -> tuple[Term, ...]:
    """Without the terms whose own columns add nothing to the others."""
    kept = terms
    while len(kept) > 1:
        worth = []
        for term in kept:
            rest = tuple(t for t in kept if t is not term)
            base = np.column_stack([known, basis(rest, features)])
            worth.append(f_test(y, base, basis((term,), features)))
        worst = int(np.argmax(worth))
        if worth[worst] <= alpha:
            break
        kept = tuple(t for i, t in enumerate(kept) if i != worst)
    return kept


def rss(y: np.ndarray, columns: np.ndarray) -> float:
    """Residual sum of squares given a constant and these columns."""
    q, _ = np.linalg.qr(np.column_stack([np.ones(len(y)), columns]))
    return float(((y - q @ (q.T @ y)) ** 2).sum())


def f_test(y: np.ndarray, base: np.ndarray, added: np.ndarray) -> float:
    """p of the added columns."""
    more = np.column_stack([base, added])
    left = len(y) - np.linalg.matrix_rank(more) - 1
    extra = np.linalg.matrix_rank(more) - np.linalg.matrix_rank(base)
    if left < 5 or extra < 1:
        return 1.0
    small, large = rss(y, base), rss(y, more)
    return upper_tails.f((small - large) / extra / max(large / left, 1e-300), extra, left)


def path(
    terms: tuple[Term, ...], y: np.ndarray, known: np.ndarray, features: Features
) -> tuple[tuple[Term, ...], ...]:
    """Nested sets of terms, from all lags down to one; each step drops the lag that costs least."""
    sets = [terms] if terms else []
    while len(places_of(terms)) > 1:
        smaller = [without(terms, place) for place in places_of(terms)]
        few = len(places_of(terms)) <= 3
        costs = [rss(y, np.column_stack([known, basis(s, features, few)])) for s in smaller]
        terms = smaller[int(np.argmin(costs))]
        sets.append(terms)
    return tuple(sets)


def without(terms: tuple[Term, ...], place: int) -> tuple[Term, ...]:
    """The terms without one lag; what was multiplied with it stays, nonlinear."""
    kept = [term for term in terms if place not in term.places]
    for term in terms:
        if place in term.places and len(term.places) > 1:
            for other in term.places:
                if other != place and not any(t.places == (other,) for t in kept):
                    kept.append(Term(Shape.NONLINEAR, (other,), term.p))
    return tuple(kept)


@dataclasses.dataclass(frozen=True)
class Gate:
    """Which lags are read depends on the value at `place`: lags per class of that value."""

    place: int
    edges: tuple[float, ...]  # of u, between the classes
    lags: tuple[tuple[int, ...], ...]  # places read in each class
    p: tuple[tuple[float, ...], ...]

    def classes(self, features: Features) -> np.ndarray:  # [n]
        return np.searchsorted(self.edges, features.ranks[:, self.place], side="right")


CLASSES = 4


def gate_place(terms: tuple[Term, ...]) -> int | None:
    """The lag that all products share, if there are two of them or more."""
    pairs = [set(term.places) for term in terms if term.shape is Shape.PAIR]
    shared = set.intersection(*pairs) if len(pairs) >= 2 else set()
    return shared.pop() if len(shared) == 1 else None


def gated(
    y: np.ndarray,
    known: np.ndarray,
    features: Features,
    place: int,
    rng: np.random.Generator,
    alpha: float,
) -> Gate:
    """A linear scan inside each quarter of the value at `place`."""
    edges = tuple(float(q) for q in np.quantile(features.ranks[:, place], (0.25, 0.5, 0.75)))
    empty = Gate(place, edges, (), ())
    which = empty.classes(features)
    lags, levels = [], []
    for c in range(CLASSES):
        rows = np.flatnonzero(which == c)
        inside = scan(
            y[rows],
            known[rows],
            features.take(rows),
            rng,
            alpha=alpha / CLASSES,
            replicates=max(499, math.ceil(CLASSES / alpha)),
            pairs=False,
        )
        terms = [term for term in inside.terms if term.shape is Shape.LINEAR]
        lags.append(tuple(term.places[0] for term in terms))
        levels.append(tuple(term.p for term in terms))
    return dataclasses.replace(empty, lags=tuple(lags), p=tuple(levels))


def named(places: Iterable[int], features: Features) -> tuple[Column, ...]:
    return tuple(features.columns[place] for place in places)
