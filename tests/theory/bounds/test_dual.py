import itertools

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.kernels import Exponential, Lag, Oscillating
from headcount.theory.bounds import check
from headcount.theory.bounds.dual import Rows, Scene, dual_claim, rate_grid
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

TABLE = [("lin", 1, 10, 0.22730), ("log", 2, 10, 0.72209), ("log", 3, 1e5, 0.03108)]
MORE = [
    ("lin", 2, 1e3, 0.03580),
    ("lin", 4, 1e5, 0.29298),
    ("lin", 4, 1e3, 0.98375),
    ("log", 4, 1e7, 0.1008),
    ("log", 5, 1e5, 0.9987),
    ("lin", 2, 10, 0.94583),
    ("lin", 3, 10, 0.99708),
    ("lin", 3, 1e3, 0.70793),
    ("lin", 3, 1e5, 0.00687),
    ("lin", 4, 10, 0.999837),
    ("lin", 4, 1e7, 0.0014),
    ("lin", 5, 1e3, 0.9991),
    ("lin", 5, 1e5, 0.9132),
    ("lin", 5, 1e7, 0.1074),
    ("lin", 6, 1e3, 0.999955),
    ("lin", 6, 1e5, 0.99555),
    ("lin", 6, 1e7, 0.5813),
    ("log", 2, 1e3, 0.00247),
    ("log", 3, 10, 0.99687),
    ("log", 3, 1e3, 0.68706),
    ("log", 3, 1e7, 0.0001),
    ("log", 4, 10, 0.999977),
    ("log", 4, 1e3, 0.99771),
    ("log", 4, 1e5, 0.77120),
    ("log", 5, 1e3, 0.999986),
    ("log", 5, 1e7, 0.8716),
    ("log", 6, 1e5, 0.999994),
    ("log", 6, 1e7, 0.99945),
]


def study_value(name, T, budget, theirs):
    problem = Problem(Lag(T), family(name), budget=float(budget))
    bound = dual_claim(problem)
    assert theirs - 1e-5 <= bound.value <= theirs + 1e-4
    assert check(bound)


@pytest.mark.parametrize(("name", "T", "budget", "theirs"), TABLE)
def test_lags(name, T, budget, theirs):
    study_value(name, T, budget, theirs)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "T", "budget", "theirs"), MORE)
def test_lags_all(name, T, budget, theirs):
    study_value(name, T, budget, theirs)


@pytest.mark.parametrize(
    ("window", "budget", "found"), [(32, 1e7, 0.0010105), (64, 1e7, 0.001317), (64, 3e7, 0.0001368)]
)
def test_large_budgets_lose_nothing_to_rounding(window, budget, found):
    bound = dual_claim(Problem(Lag(4), family("lin"), window=window, budget=budget))
    assert bound.value > found * (1 - 1e-3)


@pytest.mark.parametrize(
    ("kernel", "name", "window", "budget", "theirs"),
    [
        (Exponential(0.1), "log", None, 1e3, 0.1100),
        pytest.param(Exponential(0.1), "log", None, 1e5, 0.01995, marks=pytest.mark.slow),
        (Oscillating(0.05, 0.3), "lin", 1000, 1e3, 0.4128),
        (Oscillating(0.05, 0.3), "log", None, 1e5, 0.6435),
    ],
)
def test_other_kernels(kernel, name, window, budget, theirs):
    problem = Problem(kernel, family(name), window=window, budget=budget)
    assert dual_claim(problem).value / np.abs(problem.target).sum() >= theirs


def test_log1p_is_log_one_lag_later():
    by_log = dual_claim(Problem(Lag(3), family("log"), window=300, budget=1e3)).value
    by_log1p = dual_claim(Problem(Lag(2), family("log1p"), window=299, budget=1e3)).value
    assert by_log > 0.1
    assert by_log1p == pytest.approx(by_log, abs=1e-5)


@pytest.mark.parametrize("norm", [Norm.L1, pytest.param(Norm.L2, marks=pytest.mark.slow), Norm.SUP])
def test_more_budget_never_raises_the_bound(norm):
    values = [
        dual_claim(Problem(Lag(2), family("lin"), norm=norm, window=128, budget=c)).value
        for c in (1.0, 30.0, 300.0, 3000.0)
    ]
    assert all(a >= b - 1e-6 for a, b in itertools.pairwise(values))
    assert values[0] > 0.5 * values[-1] >= 0


def test_norms_are_ordered():
    l1, l2, sup = (
        dual_claim(Problem(Lag(2), family("lin"), norm=n, window=128, budget=50.0)).value
        for n in (Norm.L1, Norm.L2, Norm.SUP)
    )
    assert l1 > l2 > sup > 0


def test_a_window_admits_slow_rates_and_all_lags_do_not():
    """On 200 lags nine log heads with rates from 0 draw e^-0.01s to 0.0139; on all lags no log
    head slower than 1/s has a finite sum.
    """
    window = dual_claim(Problem(Exponential(0.01), family("log"), window=200, budget=2e4))
    everywhere = dual_claim(Problem(Exponential(0.01), family("log"), budget=2e4))
    assert window.scope.lowest_rate == 0.0
    assert everywhere.scope.lowest_rate == 1.0
    assert window.value < 0.0139 < 1 < everywhere.value


def test_rates_of_a_finite_norm_over_all_lags():
    lowest = {n: Problem(Lag(2), family("log"), norm=n).lowest_rate for n in Norm}
    assert lowest == {Norm.L1: 1.0, Norm.L2: 0.5, Norm.SUP: 0.0}
    assert {Problem(Lag(2), family("lin"), norm=n).lowest_rate for n in Norm} == {0.0}


def test_long_windows_are_thinned_and_stay_valid():
    problem = Problem(Oscillating(0.05, 0.3), family("lin"), window=6000, budget=100.0)
    bound = dual_claim(problem)
    assert len(bound.evidence["lags"]) < 2000
    assert check(bound)
    # a smaller budget and a longer window than the study's 1e3
    assert bound.value / np.abs(problem.target).sum() > 0.4128


def test_the_same_twice():
    problem = Problem(Lag(2), family("lin"), window=64, budget=20.0)
    assert dual_claim(problem) == dual_claim(problem)


def test_a_kernel_that_the_family_cannot_see_at_all():
    assert dual_claim(Problem(Lag(0), family("log"), budget=5.0)).value == 0


def test_bad_input():
    with pytest.raises(InputError):
        dual_claim(Problem(Lag(2), family("lin")))


@pytest.mark.parametrize("norm", list(Norm))
def test_a_vector_on_blocks_is_one_on_lags_of_the_same_size(norm):
    lags, rng = np.arange(1.0, 401.0), np.random.default_rng(3)
    decay, rho = family("lin"), np.exp(-0.05 * lags)
    grid = rate_grid(decay, lags, 0.0)
    scene = Scene(decay, norm, lags, rho, 10.0, grid, decay.columns(grid, lags))
    rows = Rows.blocks(scene)
    assert not rows.single
    assert rows.lengths.sum() == len(lags)
    y = rng.uniform(-1, 1, len(rows.starts))
    sizes = {Norm.L1: np.abs(y).max(), Norm.L2: np.linalg.norm(y), Norm.SUP: np.abs(y).sum()}
    np.testing.assert_allclose(scene.size(rows.spread(y)), sizes[norm])
    np.testing.assert_allclose(rows.spread(y) @ rho, y @ rows.of(rho))
    np.testing.assert_allclose(rows.spread(y) @ scene.columns, y @ rows.of(scene.columns))


def test_rates_that_no_budget_tells_apart_are_one():
    lags, decay = np.arange(0.0, 50.0), family("lin")
    grid = rate_grid(decay, lags, 0.0)
    scene = Scene(decay, Norm.L1, lags, lags == 2, 1e3, grid, decay.columns(grid, lags))
    assert scene.told_apart(np.array([2.0, 1.0, 1.0 + 1e-13, 40.0, 43.0])).tolist() == [1, 2, 40]
    assert len(scene.told_apart(np.zeros(0))) == 0
