"""Fitting against the plain scipy route, in one interleaved run: seconds, their ratio, and the
error each reaches.

The plain route is what one would first write: `scipy.optimize.least_squares` in the logarithms of
the rates with the coefficients by `lstsq` inside, from evenly spaced rates, then HiGHS on the raw
columns for the l1 coefficients (with sum|a| <= C as a row). Errors are relative l1, recomputed in
ball arithmetic from the numbers returned.

    python -m benchmarks fit_speed
"""

import math

import numpy as np
from scipy.optimize import least_squares, linprog

from benchmarks.timing import interleaved
from headcount.memory.kernels import Exponential, Lag, Oscillating, Power
from headcount.theory.fit import fit_heads
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import family
from headcount.theory.measure import measure
from headcount.theory.problem import Problem

LAGS = 1024
CASES: dict[str, tuple[Problem, int]] = {
    "s^-0.5 lin, 4 heads": (Problem(Power(0.5), family("lin"), window=LAGS), 4),
    "s^-0.5 lin, 8 heads": (Problem(Power(0.5), family("lin"), window=LAGS), 8),
    "s^-0.5 lin, 16 heads": (Problem(Power(0.5), family("lin"), window=LAGS), 16),
    "s^-1.5 lin, 8 heads": (Problem(Power(1.5), family("lin"), window=LAGS), 8),
    "s^-3 lin, 8 heads": (Problem(Power(3.0), family("lin"), window=LAGS), 8),
    "e^-0.1s log, 6 heads, C=1e3": (
        Problem(Exponential(0.1), family("log"), window=LAGS, budget=1e3),
        6,
    ),
    "lag 2 lin, 4 heads, C=1e3": (Problem(Lag(2), family("lin"), window=LAGS, budget=1e3), 4),
    "oscillation lin, 6 heads, C=1e3": (
        Problem(Oscillating(0.05, 0.3), family("lin"), window=LAGS, budget=1e3),
        6,
    ),
}


def plain(problem: Problem, heads: int) -> HeadSum:
    """Least squares in log-rates, then one linear program on the raw columns; no heads where
    HiGHS finds no solution.
    """
    target, lags, columns = problem.target, problem.lags, problem.family.columns

    def residual(log_rates: np.ndarray) -> np.ndarray:
        A = columns(np.exp(log_rates), lags)
        return target - A @ np.linalg.lstsq(A, target, rcond=None)[0]

    start = np.linspace(
        math.log(1 / LAGS if problem.family.name == "lin" else 0.5), math.log(4.0), heads
    )
    rates = np.exp(least_squares(residual, start, bounds=(-9.0, 4.0)).x)
    A, S = columns(rates, lags), len(lags)  # a = p - q, |residual| <= e
    G = np.vstack([np.hstack([A, -A, -np.eye(S)]), np.hstack([-A, A, -np.eye(S)])])
    h = np.concatenate([target, -target])
    if math.isfinite(problem.budget):
        G, h = (
            np.vstack([G, np.concatenate([np.ones(2 * heads), np.zeros(S)])]),
            np.append(h, problem.budget),
        )
    answer = linprog(
        np.concatenate([np.zeros(2 * heads), np.ones(S)]), A_ub=G, b_ub=h, bounds=(0, None)
    )
    if answer.x is None:
        return HeadSum(problem.family, (), ())
    return HeadSum.of(problem.family, rates, answer.x[:heads] - answer.x[heads : 2 * heads])


def main() -> None:
    print(
        f"{'case':32} {'ours s':>8} {'plain s':>8} {'ratio':>6} {'ours error':>11}"
        f" {'plain error':>12}"
    )
    for name, (problem, heads) in CASES.items():
        found: dict[str, HeadSum] = {}

        def ours(problem=problem, heads=heads, found=found):
            found["ours"] = fit_heads(problem, heads).head_sum

        def theirs(problem=problem, heads=heads, found=found):
            found["plain"] = plain(problem, heads)

        seconds = interleaved({"ours": ours, "plain": theirs}, rounds=3)
        errors = {who: measure(problem, heads_).relative.l1 for who, heads_ in found.items()}
        ratio = seconds["plain"] / seconds["ours"]
        print(
            f"{name:32} {seconds['ours']:8.2f} {seconds['plain']:8.2f} {ratio:6.1f}"
            f" {errors['ours']:11.3g} {errors['plain']:12.3g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
