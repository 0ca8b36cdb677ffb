"""Depth and width by brute force: networks and decision trees drawn here, in fractions."""

import itertools
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from headcount.memory.kernels import Lag
from headcount.theory.bounds.depth import chain_adversary, chain_layers, state_claim
from headcount.theory.heads import family
from headcount.theory.problem import Problem


def network_kernel(rng, layers: int, width: int, lags: int):
    """(kernel by lag, decay of every state) of a random lin network without nonlinearity, run on an
    impulse in fractions; values of rank 1."""
    draw = lambda *shape: [[Fraction(int(v), 4) for v in row] for row in rng.integers(-4, 5, shape)]  # noqa: E731
    stream = [[Fraction(int(t == 0))] + [Fraction(0)] * (width - 1) for t in range(lags)]
    decays = []
    for _ in range(layers):
        added = [[Fraction(0)] * width for _ in range(lags)]
        for _ in range(int(rng.integers(1, 3))):
            base = Fraction(int(rng.integers(1, 8)), 8)
            decays.append(base)
            (value,), (out,) = draw(1, width), draw(1, width)
            state = Fraction(0)
            for t in range(lags):
                state = base * state + sum(v * x for v, x in zip(value, stream[t], strict=True))
                added[t] = [a + o * state for a, o in zip(added[t], out, strict=True)]
        stream = [
            [x + a for x, a in zip(*rows, strict=True)] for rows in zip(stream, added, strict=True)
        ]
    (read,) = draw(1, width)
    return [sum(r * x for r, x in zip(read, row, strict=True)) for row in stream], decays


def test_a_linear_network_obeys_the_recurrence_of_its_states():
    """From lag 1 on, whatever the residual gives at lag 0: Cayley-Hamilton, exactly."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        layers = int(rng.integers(1, 4))
        kernel, decays = network_kernel(rng, layers, 3, 20)
        polynomial = [Fraction(1)]
        for x in decays:
            polynomial = [
                a - x * b
                for a, b in zip([*polynomial, Fraction(0)], [Fraction(0), *polynomial], strict=True)
            ]
        n = len(decays)
        for s in range(1, 20 - n):
            assert sum(c * kernel[s + n - j] for j, c in enumerate(polynomial)) == 0


def best_state(T: int, bases, lags: int) -> float:
    """The l1 error of lag T over the lags 1..lags-1 by the best kernel with these eigenvalues,
    repeated ones included: sums of s^j x^s, by a linear programme."""
    s = np.arange(1, lags, dtype=float)
    columns = []
    for x, count in bases:
        columns += [s**j * x**s for j in range(count)]
    phi = np.array([c / np.abs(c).max() for c in columns]).T
    size, n = phi.shape
    w = (s == T).astype(float)
    rows = np.block([[phi, -np.eye(size)], [-phi, -np.eye(size)]])
    cost = np.concatenate([np.zeros(n), np.ones(size)])
    free = [(None, None)] * n + [(0, None)] * size
    return linprog(cost, rows, np.concatenate([w, -w]), bounds=free).fun


def test_no_state_below_the_lag_reaches_it():
    rng = np.random.default_rng(4)
    for _ in range(40):
        T = int(rng.integers(2, 6))
        left, bases = T - 1, []
        while left:
            count = int(rng.integers(1, left + 1))
            bases.append((float(rng.uniform(0.02, 0.98)), count))
            left -= count
        claim = state_claim(Problem(Lag(T), family("lin")), T - 1)
        assert best_state(T, bases, 60) >= claim.value - 1e-6
    # with T states something is gained: a repeated small eigenvalue
    assert best_state(3, [(0.05, 3)], 60) < 0.5


def test_no_decision_tree_with_fewer_looks_tells_the_chain():
    """Every way to look at as many tokens as the layers can: an adversary keeps a change unseen."""
    for hops, heads in ((2, 1), (3, 1), (4, 1), (4, 2), (7, 1)):
        base, changes = chain_adversary(hops)
        looks = (heads + 1) ** (chain_layers(hops, heads) - 1)
        assert looks < len(changes)
        for seen in itertools.combinations(range(len(base)), looks):
            assert any(lag not in seen for lag, _ in changes)
        # and with the layers it says, there are looks enough
        assert (heads + 1) ** chain_layers(hops, heads) >= len(changes)


def test_no_small_network_crosses_more_often_than_it_has_pieces():
    """Random ReLU networks of head outputs along random lines of inputs."""
    rng = np.random.default_rng(6)
    for _ in range(300):
        m, heads, lags = int(rng.integers(1, 6)), int(rng.integers(1, 4)), 5
        phi = np.exp(-np.outer(np.arange(lags), rng.uniform(0, 3, heads)))  # [S, H]
        start, stop = rng.uniform(-1, 1, (2, lags))
        tau = np.linspace(0, 1, 4001)[:, None]
        z = (start + tau * (stop - start)) @ phi
        hidden = np.maximum(z @ rng.normal(size=(heads, m)) + rng.normal(size=m), 0)
        y = hidden @ rng.normal(size=m) * 5 + z @ rng.normal(size=heads)
        for level in np.quantile(y, [0.2, 0.5, 0.8]):
            assert np.count_nonzero(np.diff((y > level).astype(int))) <= m + 1
