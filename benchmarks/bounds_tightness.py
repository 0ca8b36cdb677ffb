"""How tight the lower bounds are: what is found divided by what is proved, with CPU seconds.

    python benchmarks/bounds_tightness.py            all tables, about 20 CPU minutes
    python benchmarks/bounds_tightness.py --quick    a sample of each

- fit / bound by kernel, norm and number of heads, with a budget (1 is optimal, — no bound), and
  which proof it is, with all the effort there is (`--quick`: what `fit` shows);
- power laws on all lags, no budget, in l1;
- 1/s by exponential sums in the sup norm, 6 to 16 terms: the sum behind the bound;
- any readout: lag T with head outputs known to a format's unit, any number of heads, the bound
  and what a linear readout of heads on dense rates reaches (a linear programme).
"""

import argparse
import math
import time

import numpy as np
from scipy.optimize import linprog

from headcount.core.claims import Norm, Precision
from headcount.memory.kernels import (
    AbstractKernel,
    Exponential,
    Lag,
    MexicanHat,
    Oscillating,
    Power,
    Window,
)
from headcount.theory.bounds import Effort, check, lower_bound
from headcount.theory.bounds.recovery import recovery_claim
from headcount.theory.bounds.zeros import zeros_claim
from headcount.theory.fit.choose import fit_heads
from headcount.theory.heads import family
from headcount.theory.measure import measure
from headcount.theory.problem import Problem

WINDOW, BUDGET = 1000, 1e3
KERNELS: list[tuple[str, AbstractKernel, str]] = [
    ("power:0.3", Power(0.3), "lin"),
    ("power:2", Power(2.0), "lin"),
    ("mexican-hat", MexicanHat(20.0, 5.0), "lin"),
    ("window:10", Window(10), "lin"),
    ("osc:0.05,0.3", Oscillating(0.05, 0.3), "lin"),
    ("exp:0.01", Exponential(0.01), "log"),
    ("lag:3", Lag(3), "lin"),
]
HEADS = (1, 2, 3, 4, 5, 6, 8, 12, 16)


def ratio_table(norm: Norm, quick: bool) -> None:
    """Fit over bound, one row per kernel; the letter is the proof's."""
    heads, effort = (HEADS[1:5:3], Effort.QUICK) if quick else (HEADS, Effort.DEEP)
    print(f"\nfit / bound in {norm}, budget {BUDGET:g}, {WINDOW} lags")
    print(f"{'':14s}" + "".join(f"{f'H={h}':>10s}" for h in heads) + "    CPU s")
    for name, kernel, bias in KERNELS[:: 3 if quick else 1]:
        start, cells = time.process_time(), []
        problem = Problem(kernel, family(bias), norm, window=WINDOW, budget=BUDGET)
        for h in heads:
            found = measure(problem, fit_heads(problem, h).head_sum)[norm]
            bound = lower_bound(problem, h, effort, reached=found)
            ratio = found / bound.value if bound.value > 0 else math.inf
            cells.append("—" if bound.value <= 0 else f"{ratio:.4g} {bound.method[0]}")
        spent = time.process_time() - start
        print(f"{name:14s}" + "".join(f"{c:>10s}" for c in cells) + f"{spent:9.1f}", flush=True)


def all_lags_table(quick: bool) -> None:
    """Power laws by lin heads in l1, every lag counted, any weights: fit over bound, and the last
    lag that the proof uses."""
    counts = HEADS[1:5:3] if quick else (1, 2, 3, 4, 5, 6, 8)
    print("\nfit / bound in l1, all lags, no budget (lags up to 10^n used)")
    print(f"{'':14s}" + "".join(f"{f'H={h}':>16s}" for h in counts) + "    CPU s")
    for exponent in (1.5,) if quick else (1.1, 1.2, 1.5, 2.0, 3.0):
        start, cells = time.process_time(), []
        problem = Problem(Power(exponent), family("lin"))
        for h in counts:
            found = measure(problem, fit_heads(problem, h).head_sum).l1
            bound = lower_bound(problem, h, Effort.QUICK if quick else Effort.DEEP, reached=found)
            ratio = found / bound.value if bound.value > 0 else math.inf
            reach = math.log10(bound.scope.lags.stop or math.inf)
            cells.append(f"{ratio:.4g} {bound.method[0]} ({reach:.1f})")
        spent = time.process_time() - start
        print(f"power:{exponent:<8g}" + "".join(f"{c:>16s}" for c in cells) + f"{spent:9.1f}")


def inverse_table(quick: bool) -> None:
    """1/s on lags 1..R: the bound, the sum that it compares with, and the published error."""
    published = {(6, 100): 4.8e-5, (8, 1000): 2.3e-5, (10, 1000): 2.4e-6}
    published |= {(12, 1000): 2.4e-7, (14, 1000): 2.4e-8, (16, 1000): 2.4e-9}
    print(
        f"\n1/s, sup norm\n{'terms':>5s}{'R':>6s}{'published':>11s}{'found':>12s}{'/ bound':>11s}"
    )
    for (terms, R), theirs in list(published.items())[:: 4 if quick else 1]:
        problem = Problem(Power(1.0), family("lin"), Norm.SUP, window=R + 1)
        claim = zeros_claim(problem, terms)
        if claim is None or not check(claim):
            print(f"{terms:5d}{R:6d} no bound")
            continue
        rates, a = (np.array(claim.evidence[key]) for key in ("rates", "coefficients"))
        found = np.abs(problem.target - problem.decay.columns(rates, problem.lags) @ a).max()
        print(f"{terms:5d}{R:6d}{theirs:11.1e}{found:12.4e}{found / claim.value:11.6f}", flush=True)


def readout_table(quick: bool) -> None:
    """Lag T, any readout, any number of heads: bound, and a linear readout of dense rates."""
    print("\nany readout: error of lag T at the resolution of a format (proved / reached)")
    for precision in (Precision.FLOAT32, Precision.BFLOAT16):
        for bias in ("lin", "log", "log1p"):
            cells = []
            for T in (2, 4) if quick else range(1, 9):
                problem = Problem(Lag(T), family(bias), window=64, residual=True)
                claim = recovery_claim(problem, resolution=precision.unit)
                reached = linear_readout(problem, precision.unit)
                mark = "" if check(claim) else "!"
                cells.append(f"{T}: {claim.value:.4f}{mark}/{reached:.4f}")
            print(f"{precision.value:9s}{bias:6s} " + "  ".join(cells), flush=True)


def linear_readout(problem: Problem, eta: float) -> float:
    """min ||w - Phi a||_1 + eta ||a||_1 over dense rates, measured for the a that was found: with
    weights of 10^6 the programme's own figure is too low."""
    rates = np.append(np.geomspace(1e-3, 30, 160), math.inf)
    phi = problem.decay.columns(rates, problem.lags)
    size, n = phi.shape
    both = np.concatenate([phi, -phi], axis=1)
    rows = np.block([[both, -np.eye(size)], [-both, -np.eye(size)]])
    cost = np.concatenate([np.full(2 * n, eta), np.ones(size)])
    solved = linprog(cost, rows, np.concatenate([problem.target, -problem.target]))
    a = solved.x[:n] - solved.x[n : 2 * n]
    return float(np.abs(problem.target - phi @ a).sum() + eta * np.abs(a).sum())


def main(argv: list[str] | None = None) -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a sample of each table")
    quick = parser.parse_args(argv).quick
    all_lags_table(quick)
    inverse_table(quick)
    readout_table(quick)
    for norm in (Norm.SUP, Norm.L2, Norm.L1):
        ratio_table(norm, quick)


if __name__ == "__main__":
    main()
