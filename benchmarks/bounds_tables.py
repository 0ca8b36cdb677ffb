"""Certified lower bounds: the reference tables of the project's numerical study next to ours, with
pass/fail and seconds.

    python benchmarks/bounds_tables.py            all tables, a few minutes on one core
    python benchmarks/bounds_tables.py --quick    a sample of each

A row passes when ours is at least the printed figure up to its rounding and when the
independent checker accepts the certificate.
"""

import argparse
import dataclasses
import math
import time
from decimal import Decimal

import numpy as np

from headcount.memory.kernels import AbstractKernel, Exponential, Lag, Oscillating, Power
from headcount.theory.bounds import check, log10_weight, lower_bound, weight_needed
from headcount.theory.heads import family
from headcount.theory.problem import Problem

BUDGETS = ("10", "1e3", "1e5", "1e7")
# Lower bounds for lag T with sum|a| <= C, any number of heads, window 1024. '1-x' prints the
# distance from one.
INDICATORS = {
    "lin": {
        1: ("0.2273", "0", "0", "0"),
        2: ("0.9458", "0.0358", "0", "0"),
        3: ("0.9971", "0.7079", "0.0069", "0"),
        4: ("0.999837", "0.9838", "0.2930", "0.0014"),
        5: ("0.999991", "0.9991", "0.9132", "0.1074"),
        6: ("0.999999", "0.999955", "0.9956", "0.5813"),
        8: ("1-1e-07", "1-4e-07", "0.999988", "0.9988"),
    },
    "log": {
        1: ("0", "0", "0", "0"),
        2: ("0.7221", "0.0025", "0", "0"),
        3: ("0.9969", "0.6871", "0.0311", "0.0001"),
        4: ("0.999977", "0.9977", "0.7712", "0.1008"),
        5: ("1-1e-07", "0.999986", "0.9987", "0.8716"),
        6: ("1-1e-09", "1-1e-07", "0.999994", "0.9995"),
        8: ("1-1e-10", "1-1e-08", "1-3e-07", "0.999999"),
    },
}
# Relative l1 over 1000 lags, any number of heads.
KERNELS: list[tuple[AbstractKernel, str, int, float, str]] = [
    (Power(0.5), "log", 1001, 1e3, "0.0359"),
    (Power(0.5), "log", 1001, 1e5, "3.7e-5"),
    (Exponential(0.1), "log", 1001, 1e3, "0.110"),
    (Exponential(0.1), "log", 1001, 1e5, "0.01995"),
    (Exponential(0.1), "log", 1001, 1e7, "0.0048"),
    (Oscillating(0.05, 0.3), "lin", 1000, 1e3, "0.413"),
    (Oscillating(0.05, 0.3), "lin", 1000, 1e5, "0.2575"),
    (Oscillating(0.05, 0.3), "lin", 1000, 1e7, "0.159"),
    (Oscillating(0.05, 0.3), "log", 1001, 1e3, "0.737"),
    (Oscillating(0.05, 0.3), "log", 1001, 1e5, "0.6435"),
    (Oscillating(0.05, 0.3), "log", 1001, 1e7, "0.557"),
]
# s^-0.5 by H = 1.. lin heads, relative l1 over 1000 lags, no budget.
BY_HEADS = (
    "9.3e-2",
    "1.8e-2",
    "4.2e-3",
    "1.1e-3",
    "2.6e-4",
    "6.2e-5",
    "1.4e-5",
    "3.4e-6",
    "7.6e-7",
    "1.7e-7",
    "3.7e-8",
    "8.0e-9",
)
# certified minimum heads for 1e-2, 1e-4, 1e-6
FEWEST = {0.5: (3, 6, 9), 1.5: (4, 7, 10), 3.0: (2, 4, 7)}
CHEBYSHEV = {4: "6912", 8: "3.7e7", 16: "3.9e16", 32: "2.0e33", 99: "6.0e105", 256: "3.4e275"}
BINOMIAL = {
    2: "6.75",
    3: "37",
    4: "177",
    5: "899",
    6: "5.2e3",
    8: "1.4e5",
    10: "4.7e6",
    20: "1.5e14",
    48: "2.7e35",
    99: "2e74",
    952: "7e726",
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of a table."""

    label: str
    theirs: str
    ours: str
    passed: bool
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.label:34s} {self.theirs:>10s} {self.ours:>14s} "
            f" {'pass' if self.passed else 'FAIL'} {self.seconds:7.2f} s"
        )


def least(printed: str) -> float:
    """The smallest number that rounds to the printed one."""
    if printed.startswith("1-"):
        return 1 - least_size(printed[2:]) - 1e-12
    value = Decimal(printed)
    half = float(Decimal(1).scaleb(int(value.as_tuple().exponent))) / 2
    return float(value) - half


def least_size(printed: str) -> float:
    """Upper end of a distance that prints so."""
    value = Decimal(printed)
    return float(value) + float(Decimal(1).scaleb(int(value.as_tuple().exponent))) / 2


def measured(
    label: str, theirs: str, problem: Problem, heads: int | None, scale: float = 1.0
) -> Row:
    start = time.perf_counter()
    bound = lower_bound(problem, heads)
    seconds = time.perf_counter() - start
    value = bound.value / scale
    shown = f"{value:.6g}" if value < 0.999999 else f"1-{1 - value:.1e}"
    return Row(label, theirs, shown, value >= least(theirs) and check(bound), seconds)


def indicator_rows(quick: bool) -> list[Row]:
    rows = []
    for name, table in INDICATORS.items():
        for T, line in table.items():
            for budget, theirs in zip(BUDGETS, line, strict=True):
                if not quick or (T in (1, 3) and budget in ("10", "1e5")):
                    problem = Problem(Lag(T), family(name), window=1024, budget=float(budget))
                    rows.append(measured(f"lag {T}, {name}, C={budget}", theirs, problem, None))
    return rows


def kernel_rows(quick: bool) -> list[Row]:
    rows = []
    for kernel, name, window, budget, theirs in KERNELS[:: 4 if quick else 1]:
        problem = Problem(kernel, family(name), window=window, budget=budget)
        scale = float(np.abs(problem.target).sum())
        rows.append(measured(f"{kernel.kind}, {name}, C={budget:g}", theirs, problem, None, scale))
    return rows


def heads_rows(quick: bool) -> list[Row]:
    problem = Problem(Power(0.5), family("lin"), window=1001)
    scale = float(np.abs(problem.target).sum())
    chosen = [4, 8] if quick else range(1, len(BY_HEADS) + 1)
    return [measured(f"s^-0.5, lin, {h} heads", BY_HEADS[h - 1], problem, h, scale) for h in chosen]


def fewest_rows(quick: bool) -> list[Row]:
    rows = []
    for exponent, line in FEWEST.items():
        problem = Problem(Power(exponent), family("lin"), window=1001)
        scale = float(np.abs(problem.target).sum())
        for tol, theirs in list(zip((1e-2, 1e-4, 1e-6), line, strict=True))[: 1 if quick else 3]:
            start, fewest = time.perf_counter(), 1
            while lower_bound(problem, fewest).value / scale > tol:
                fewest += 1
            rows.append(
                Row(
                    f"heads for {tol:g}, s^-{exponent:g}",
                    str(theirs),
                    str(fewest),
                    fewest >= theirs,
                    time.perf_counter() - start,
                )
            )
    return rows


def weight_rows() -> list[Row]:
    rows = []
    for method, table, tol in (("chebyshev", CHEBYSHEV, 0.0), ("binomial", BINOMIAL, 0.5)):
        for T, theirs in table.items():
            start = time.perf_counter()
            claim = weight_needed(Problem(Lag(T), family("lin")), tol, method)
            found = log10_weight(claim)
            reached = found >= float(Decimal(theirs).log10()) + math.log10(1 - 0.06)
            shown = f"{10**found:.4g}" if found < 300 else f"10^{found:.2f}"
            rows.append(
                Row(
                    f"weight, lag {T}, {method}",
                    theirs,
                    shown,
                    reached and check(claim),
                    time.perf_counter() - start,
                )
            )
    return rows


def main(argv: list[str] | None = None) -> int:
    """Print every table; the number of rows that fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a sample of each table")
    quick = parser.parse_args(argv).quick
    failed = 0
    tables = {
        "Lag T with a budget, any number of heads (l1, window 1024)": lambda: indicator_rows(quick),
        "Other kernels with a budget (relative l1, 1000 lags)": lambda: kernel_rows(quick),
        "By number of heads, no budget (relative l1, 1000 lags)": lambda: heads_rows(quick),
        "Certified minimum heads": lambda: fewest_rows(quick),
        "Weight needed, any number of heads (exact)": weight_rows,
    }
    for title, rows in tables.items():
        print(f"\n{title}\n{'':34s} {'study':>10s} {'here':>14s}", flush=True)
        for row in rows():
            print(row, flush=True)
            failed += not row.passed
    print(f"\n{failed} rows failed")
    return failed


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
