"""Random targets for `plan`, and what would contradict its answers.

A "no" is contradicted by a model of its kind that reaches: another row of the same plan, a row of a
plan for a smaller tolerance, or, for one lag of tokens that fill an interval, a linear programme
over many rates that shares no code with the bounds. A "smallest" is contradicted by a row of the
same kind with less.

    python -m tests.brute.referee SEED COUNT
"""

import math
import random
import sys
import time

import numpy as np
from scipy.optimize import linprog

import headcount as hc
from headcount.construct.plan_record import Plan, Row
from headcount.construct.plan_verdict import fills_a_line, isolated_lag
from headcount.core.errors import HeadcountError

KERNELS = ["exp:{a}", "power:{p}", "osc:{a},{w}", "window:{n}", "lag:{n}", "mexican-hat:{n},3"]
READOUTS = ["", ",readout=linear", ",readout=product", ",readout=relu-sum", ",readout=parity"]
INPUTS = ["", ",inputs=uniform", ",inputs=markov(symbols=3)", ",inputs=uniform(d=2)"]
NAMED = [
    "prop42", "adaptive-boolean", "pointer-chain:hops={h},symbols={v}", "recall:pairs={h}",
    "induction:symbols={v}", "n-gram:n={h},symbols={v}", "parity:lags={lags}", "algebraic",
    "selective-copy:items={h},symbols={v}", "wavelet",
]  # fmt: skip
RATES = np.concatenate([np.geomspace(1e-3, 40.0, 400)])


def draw(rng: random.Random) -> tuple[str, float, int]:
    """A target, a tolerance between 1e-6 and 0.3, a length between 2 and 4,096."""
    length = round(math.exp(rng.uniform(math.log(2), math.log(4096))))
    tol = math.exp(rng.uniform(math.log(1e-6), math.log(0.3)))
    lags = sorted({rng.randint(1, max(1, length - 1)) for _ in range(rng.choice((1, 1, 1, 2, 3)))})
    if rng.random() < 0.5:  # short ones are where decaying heads have something to say
        lags = sorted({rng.randint(1, 8) for _ in lags})
    words = {
        "a": f"{math.exp(rng.uniform(-4, 1)):.3g}", "p": f"{rng.uniform(0.6, 3):.2f}",
        "w": f"{rng.uniform(0.1, 2):.2f}", "n": str(rng.randint(1, 12)),
        "h": str(rng.randint(1, 4)), "v": str(rng.randint(2, 6)), "lags": "+".join(map(str, lags)),
    }  # fmt: skip
    kind = rng.random()
    if kind < 0.5:
        target = "fixed:lags={lags}" + rng.choice(READOUTS) + rng.choice(INPUTS)
    elif kind < 0.75:
        target = f"essential:kernel={rng.choice(KERNELS)}" + rng.choice(READOUTS[:2])
    else:
        target = rng.choice(NAMED)
    return target.format(**words), float(f"{tol:.2g}"), length


def reached_by_programme(bias: str, lag: int, length: int, unit: float) -> float:
    """min |w - a_0 delta_0 - Phi a|_1 + unit |a|_1 on many rates: what a linear readout of heads
    that are known to one unit reaches for tokens of size 1."""
    lags = np.arange(1, max(length, lag + 1), dtype=float)[: 8 * lag + 64]
    distance = {"lin": lags, "log": np.log(lags), "log1p": np.log1p(lags)}[bias]
    phi = np.exp(-RATES[None, :] * distance[:, None])
    target, (S, H) = (lags == lag).astype(float), phi.shape
    cost = np.concatenate([np.full(2 * H, unit), np.ones(S)])
    A = np.vstack([np.hstack([phi, -phi, -np.eye(S)]), np.hstack([-phi, phi, -np.eye(S)])])
    solved = linprog(cost, A, np.concatenate([target, -target]), bounds=(0, None))
    return float(solved.fun) if solved.x is not None else math.inf


def kind_of(row: Row) -> tuple[str, bool, bool]:
    return row.bias, row.softmax, row.attention == "dp-free"


def contradictions(made: Plan, stricter: Plan | None) -> list[str]:
    """What is false in a plan, judged by its own rows, a plan for a smaller tolerance and a
    programme."""
    found = []
    others = [*made.rows, *(stricter.rows if stricter else ())]
    reached = [row for row in others if row.reachable and row.architecture]
    for row in made.rows:
        if row.reachable is not False:
            continue
        for other in reached:
            one_layer = other.architecture is not None and other.architecture.layers == 1
            if kind_of(other) == kind_of(row) and one_layer:
                found.append(f"no for {row!r}, but {other!r}")
        lag = isolated_lag(made.target) if fills_a_line(made.target) else None
        if lag is not None and row.bias in ("lin", "log", "log1p"):
            unit = row.request.precision.unit
            best = reached_by_programme(row.bias, lag, made.length, unit)
            if best < 0.98 * made.tol:
                found.append(f"no for {row!r}, but a programme reaches {best:.3g}")
    best_row = made.recommended
    for least in made.minimum if best_row else ():
        for other in reached:
            size = {"layers": 0, "heads": 1, "neurons": 2}[least.size]
            same = kind_of(other) == kind_of(best_row) and (
                least.size == "layers" or other.architecture.layers == best_row.architecture.layers
            )
            if same and other.sizes[size] < least.least:
                found.append(f"at least {least.least} {least.size}, but {other!r}")
    return found


def referee(seed: int, count: int, stricter: bool = True) -> list[str]:
    """Contradictions in so many random plans, one line per plan on the way."""
    rng, false = random.Random(seed), []
    for i in range(count):
        target, tol, length = draw(rng)
        start = time.process_time()
        try:
            made = hc.plan(target, tol, length=length)
            took = time.process_time() - start
            more = hc.plan(target, tol / 10, length=length) if stricter else None
            wrong = contradictions(made, more)
        except HeadcountError as refusal:
            took, wrong = time.process_time() - start, []
            told = f"refused: {refusal}"[:80]
        else:
            verdicts = [row.reachable for row in made.rows]
            told = f"{verdicts.count(True)} yes, {verdicts.count(False)} no"
        print(f"{i} {target} --tol {tol:g} --length {length}: {took:.1f} s, {told}", flush=True)
        for line in wrong:
            print("  FALSE", line, flush=True)
        false += [f"{target} {tol} {length}: {line}" for line in wrong]
    return false


if __name__ == "__main__":
    sys.exit(bool(referee(int(sys.argv[1]), int(sys.argv[2]))))
