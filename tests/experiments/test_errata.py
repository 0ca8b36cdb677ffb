"""The errata page: complete, and its numbers computed."""

import itertools
import math
import re

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from headcount.core.errors import InputError
from headcount.experiments.errata import ERRATA, FINDINGS, Erratum, Severity, every_evidence
from headcount.experiments.errata_evidence import jackson

POINTS = (*FINDINGS, *ERRATA)
NUMBER = r"(?<![\d.])(inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?!\.?\d)"  # whole: no part of a longer one


@pytest.fixture(scope="module")
def said():
    return {e.id: shown for e, shown in zip(POINTS, every_evidence(), strict=True)}


def told(text: str, pattern: str) -> tuple[float, ...]:
    """The numbers that stand in the text where the pattern has #."""
    found = re.search(re.escape(pattern).replace(r"\#", NUMBER), text)
    assert found, f"{pattern!r} is not in {text!r}"
    return tuple(float(number) for number in found.groups())


def test_numbers_are_read_whole():
    assert told("off by 0.87, by 2e-05.", "by #, by #") == (0.87, 2e-05)
    assert told("0.1 for", "# for") == (0.1,)


def test_every_point_is_there_once():
    # 24 of the paper's text, and what 4a leaves open
    assert [e.id for e in ERRATA] == [str(i) for i in range(1, 26)]
    assert [e.id for e in FINDINGS] == [f"F{i}" for i in range(1, 9)]


def test_points_of_every_severity():
    assert {point.severity for point in POINTS} == set(Severity)


def test_every_point_says_what_is_printed_found_and_done():
    for e in (*FINDINGS, *ERRATA):
        assert e.where
        assert e.printed
        assert e.found
        assert e.does
        assert "arXiv:2402.00522" in str(e.ref)


def test_every_point_has_evidence_of_its_own_in_neutral_words():
    texts = [" ".join((e.printed, e.found, e.does)) for e in (*FINDINGS, *ERRATA)]
    assert not [
        text for text in texts for word in ("slip", "silently", "hoped", "wrong") if word in text
    ]
    seen = {e.id: e.seen for e in (*FINDINGS, *ERRATA) if e.seen}
    assert set(seen) == {"3", "7", "8", "22", "25"}  # matters of reading; all others are computed
    assert len(set(seen.values())) == len(seen)
    with pytest.raises(InputError, match="evidence and seen"):
        Erratum("x", Severity.DETAIL, "w", "p", "f", "d")


def test_jackson_constants_are_below_one_where_they_are_used():
    assert max(jackson(n, m) for n in range(1, 8) for m in range(1, 60)) <= 1
    assert max(jackson(n, m) for n in range(8, 16) for m in range(n, 60)) <= 1
    assert jackson(8, 5) > 1
    assert jackson(1, 1) == pytest.approx(0.5)  # 2 / 4 by the interpolation of a constant


def test_evidence_is_computed(said):
    assert all(said.values())
    assert sum(e.evidence is not None for e in POINTS) == 28
    shared = [
        ids for text in set(said.values()) if len(ids := [i for i in said if said[i] == text]) > 1
    ]
    assert shared == [["F4", "17"]]  # the same point
    assert told(said["1"], "= # as printed, # transposed") == (0, 2.1)  # rate x g
    assert "g_1 = 3 reads 5, the head for g_2 = 5 reads 1;" in said["2"]
    assert told(said["2"], "= # without 1/log 2 counts as #") == pytest.approx(
        (math.log(3), math.log(3) * math.log(2)), rel=1e-2
    )
    # 1/18 = 0.056
    assert "0.05 changes 0 of 10 lags, a retrieval error of 0.06 changes 10 of 10" in said["9"]
    assert told(said["4"], "= # per derivative") == (63.5,)
    # memories that cost about the same
    assert told(said["12"], "a factor of #") == pytest.approx((math.sqrt(3),), abs=0.01)
    assert "(2, 3, 3) in whole numbers" in said["13"]
    assert told(said["24"], ": # against 1/sqrt m = #") == pytest.approx(
        (4 * math.sqrt(5) / 16, 1 / 16), rel=1e-2
    )
    assert "K = 8: 4 against 9" in said["F8"]
    assert float(said["17"].split()[-1]) < 1e-15


def test_readouts_of_signs_are_exact(said):
    assert told(
        said["20"], "2 neurons on one sign are off by #, 8 on 3 signs by #"
    ) == pytest.approx((0, 0), abs=1e-12)


def test_constant_of_every_n(said):
    """e 2^n M(n) (1-e^-alpha)^-n / (1-e^-gamma), n = 1."""
    constant = (
        math.e * 2 * _largest_derivative(1) / ((1 - math.exp(-0.005 / 3)) * (1 - math.exp(-0.0025)))
    )
    assert told(said["15"], "gives n = # with C = #") == pytest.approx((1, constant), rel=0.05)


def _largest_derivative(n: int) -> float:
    """sup |Psi^(n)| on a grid, Psi = exp(-1/(1-x^2))."""
    x = np.linspace(-1, 1, 200_001)[1:-1]
    factor = {1: -2 * x / (1 - x**2) ** 2, 2: (6 * x**4 - 2) / (1 - x**2) ** 4}[n]
    return float(np.abs(np.exp(-1 / (1 - x**2)) * factor).max())


def test_heavy_tail_has_no_sum(said):
    """Euler-Maclaurin: 2 sqrt S + zeta(1/2) + 1/(2 sqrt S); zeta(1/2) = -1.46035."""
    sizes = np.array([1e3, 1e4, 1e5])
    sums = 2 * np.sqrt(sizes) - 1.4603545 + 0.5 / np.sqrt(sizes)
    assert told(said["18"], "sums over #, #, # lags: s^-0.5 #, #, # (") == pytest.approx(
        (*sizes, *sums), rel=1e-3
    )
    assert told(said["18"], "that is #, #, # times 2 sqrt S") == pytest.approx(
        tuple(sums / (2 * np.sqrt(sizes))), abs=1e-3
    )
    assert "(Theorem 5.1 applies with neither lin nor log)" in said["18"]
    assert told(said["18"], "s^-2.5 #, #, # (Theorem 5.1 applies with log)") == pytest.approx(
        (scipy.special.zeta(2.5),) * 3, rel=1e-3
    )
    assert told(said["18"], "at s = 0 s^-0.5 is #") == (math.inf,)


def test_light_tail_is_lag_0(said):
    mass = told(said["19"], "e^(-5s): of its mass # lies beyond lag 0, # beyond lag 9")
    assert mass == pytest.approx((math.exp(-5), math.exp(-50)), rel=0.05, abs=0)
    lost = told(said["19"], "weigh lag 0 by #: without a residual they leave at least # of #")
    assert lost == pytest.approx(
        (0, 1, sum(math.exp(-10 * s) for s in range(9))), rel=1e-5, abs=1e-9
    )
    s = np.arange(1000.0)
    shifted, around = _one_head(np.exp(-5 * s), 1 + s), _one_head(np.exp(-5 * s[1:]), s[1:])
    left = told(
        said["19"], "one log1p head leaves #, the residual alone #, the residual and one log head #"
    )
    assert left == pytest.approx(
        (shifted, sum(math.exp(-10 * s) for s in range(1, 9)), around), rel=0.05, abs=0
    )


def _one_head(kernel: np.ndarray, base: np.ndarray) -> float:
    """min over a, p of ||kernel - a base^-p||^2."""

    def left(p: float) -> float:
        head = base**-p
        return float(((kernel - (kernel @ head) / (head @ head) * head) ** 2).sum())

    found = scipy.optimize.minimize_scalar(
        left, bounds=(2, 20), method="bounded", options={"xatol": 1e-12}
    )
    return found.fun


def test_floors_without_dot_product(said):
    """Both choices of g beside a linear program over all affine maps of the window."""
    printed, legal = _affine_optimum((0, 1, 2)), _affine_optimum((1, 2, 3))
    assert told(
        said["16"], "g in {0, 1, 2} (lag 0 is outside the class): #; g in {1, 2, 3}: #;"
    ) == pytest.approx((printed, legal))
    assert told(said["16"], "the answer 0 costs #") == pytest.approx((printed,))
    assert told(
        said["F6"], "# for attention without dot product and without FFN, printed #"
    ) == pytest.approx((printed, 2 / 3), rel=1e-3)


def _affine_optimum(lags: tuple[int, int, int]) -> float:
    """min over affine maps of the largest error on all windows of the letters -1, 0, 1, newest
    first.
    """
    x = np.array(list(itertools.product((-1, 0, 1), repeat=max(lags) + 1)), dtype=float)
    y = np.array([row[lags[int(row[0]) + 1]] for row in x])
    columns, slack = np.column_stack([x, np.ones(len(x))]), -np.ones((len(x), 1))
    limits = np.block([[columns, slack], [-columns, slack]])
    cost = np.eye(limits.shape[1])[-1]
    return scipy.optimize.linprog(
        cost, A_ub=limits, b_ub=np.concatenate([y, -y]), bounds=(None, None)
    ).fun


def _splits(heads: int) -> np.ndarray:
    """All ways to give whole numbers of heads to three memories, [N, 3]."""
    return np.array(
        [(i, j, heads - i - j) for i in range(1, heads) for j in range(1, heads - i)], dtype=float
    )


def test_depth_saves_heads_per_layer_and_not_in_total(said):
    """The best of all splits of 48 heads, with constants computed here; a layer each has no
    better one.
    """
    step = 1 - math.exp(-0.01)
    constants = [
        math.e * _largest_derivative(2) * step**-2 * math.exp(0.03 * T) / step for T in (2, 4, 8)
    ]
    splits = _splits(48)
    errors = np.sqrt(((constants * splits**-2) ** 2).sum(axis=1))
    best, equal = errors.min(), math.hypot(*constants) / 16**2
    total, *counts, shallow = told(
        said["F7"], "lags (2, 4, 8), n = 2: one layer of #, shared as (#, #, #): #"
    )
    assert counts == list(splits[errors.argmin()])
    *layers, most, deep_total, deep = told(
        said["F7"], "layers of (#, #, #), at most # per layer, # in total: #"
    )
    assert layers == counts
    assert most == max(counts) < total == deep_total == sum(counts) == 48
    assert shallow == deep == pytest.approx(best, rel=1e-5)
    assert told(
        said["F7"], "layers of (16, 16, 16), at most # per layer, # in total: #"
    ) == pytest.approx((16, 48, equal), rel=1e-5)
    assert equal > best


def test_formulas_of_d2(said):
    """The best split of 60 heads among three equal memories, errors added, against 60 heads for
    each and a root of squares.
    """
    two, more = 60 * (1 / _splits(60)).sum(axis=1).min(), 60 * math.hypot(1 / 60, 1 / 60, 1 / 60)
    leaves = told(
        said["11"],
        "3 equal memories, n = 1: Theorem 4.1 leaves # H^-1 (2 layers), Proposition 4.5 # H^-1 (M +"
        " 1 layers)",
    )
    assert leaves == pytest.approx((two, more), rel=1e-2)
    needs = told(
        said["11"],
        "2 layers need # times as many heads per layer as M + 1,"
        " with the formulas as D.2 places them # times",
    )
    assert needs == pytest.approx((two / more, more / two), rel=1e-2)
    assert "H_need in D.2 beside E_Attn of Theorem 4.1 and of Proposition 4.5" in said["11"]


def test_trained_losses_beside_floors(said):
    could, energy, reported = told(
        said["F5"], "4a: 8 lin heads could leave # of #, reported for 64 trained ones: #"
    )
    assert could == pytest.approx(_best_lin_heads(8), rel=0.05)
    assert energy == pytest.approx(sum(1 / s for s in range(1, 1000)), rel=1e-2)
    assert reported == 0.19
    floor, variance, small = told(
        said["F5"],
        "weights up to 1e+09, leave at least # of #, certified; reported MSE at large H: #",
    )
    assert floor == min(
        told(said["21"], "lin, positions: #; log, positions: #; lin, lags: #; log, lags: #")
    )
    assert (variance, small) == (3, 1e-6)


def _best_lin_heads(heads: int) -> float:
    """min ||s^-1/2 - sum_h a_h e^(-b_h s)||^2 over lags 1 to 999, the a_h by least squares."""
    s = np.arange(1, 1000.0)
    kernel = s**-0.5

    def left(log_rates: np.ndarray) -> np.ndarray:
        columns = np.exp(-np.outer(s, np.exp(log_rates)))
        return kernel - columns @ np.linalg.lstsq(columns, kernel)[0]

    start = np.log(np.geomspace(1e-3, 3, heads))
    return 2 * scipy.optimize.least_squares(left, start, xtol=1e-14, ftol=1e-14, gtol=1e-14).cost


def test_floors_of_far_lags_are_almost_reached(said):
    """Ridge regression on 100 rates, weights within 1e9, is above every floor and comes within
    0.02.
    """
    floors = told(
        said["21"],
        "out of 3, affine readouts, weights up to 1e+09: lin, positions: #; log, positions: #; lin,"
        " lags: #; log, lags: #",
    )
    s, rates = np.arange(1, 1000.0), np.geomspace(1e-3, 10, 100)
    heads = {"lin": np.exp(-np.outer(s, rates)), "log": s[:, None] ** -rates}
    reached = [
        _within(np.isin(s, lags), heads[bias], 1e9)
        for lags in ((952, 944, 901), (48, 56, 99))
        for bias in ("lin", "log")
    ]
    gaps = np.subtract(reached, floors)
    assert gaps.min() > 0
    assert gaps.max() < 0.02


def _within(kernel: np.ndarray, columns: np.ndarray, budget: float) -> float:
    """The least squared error of ridge regression with sum|a| <= budget."""
    u, sizes, v = np.linalg.svd(columns, full_matrices=False)
    weights = [
        v.T @ (u.T @ kernel * sizes / (sizes**2 + ridge**2)) for ridge in np.geomspace(1e-12, 1, 60)
    ]
    return min(
        float(((kernel - columns @ a) ** 2).sum()) for a in weights if np.abs(a).sum() <= budget
    )


def test_what_is_about_an_experiment_says_so_as_data():
    for e in (*FINDINGS, *ERRATA):
        named = re.findall(r"\b[1-4][ab]\b", e.where.partition("experiment")[2])
        assert set(named) <= set(e.experiments)
