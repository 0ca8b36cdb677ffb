"""The bars of `study finite-sample`: terms, bounds, planner. `PARTS` may be named on the command
line: python -c "from benchmarks import finite_sample as f; f.main(['bounds'])".

    terms     filters on kernels with closed-form terms: how often the 90% intervals cover them
    bounds    2,000 small problems per size and case: how often each bound fails, with its binomial
              interval (`simulated_bounds`), and from which n on it says something
    planner   targets that played no part in building it: is the risk at half the planned n above
              the error asked for, and at twice that n below it?
"""

import dataclasses
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import simulated_bounds
from benchmarks.simulated_bounds import interval
from headcount.lab.sweep.local_engine import LocalEngine
from headcount.studies.decomposition import Term
from headcount.studies.enough_effort import NEGLIGIBLE
from headcount.studies.finite_sample import finite_sample
from headcount.theory.sample_bounds import (
    empirical_bernstein,
    hoeffding,
    least_squares_risk,
    path_norm_gap,
)

DELTA = 0.05
KERNELS = {"exp:0.7": 0.7, "exp:0.1": 0.1}
TAPS, SIGMA = 8, 0.5
# (target, model, noise, error): none of them occurs in the source or the tests of the planner
PLANNED = (
    ("essential:kernel=exp:0.15,inputs=gaussian", "filter:taps=24", 0.4, 0.02),
    ("essential:kernel=exp:0.5,inputs=gaussian", "filter:taps=12", 1.0, 0.05),
    ("essential:kernel=power:1.2", "filter:taps=30", 0.3, 0.03),
    ("essential:kernel=power:2", "filter:taps=10", 0.6, 0.02),
    ("essential:kernel=window:6", "filter:taps=9", 0.5, 0.01),
    ("essential:kernel=osc:0.1,0.8", "filter:taps=28", 0.3, 0.05),
    ("essential:kernel=mexican-hat(centre=8,scale=2)", "filter:taps=24", 0.5, 0.02),
    ("fixed:lags=2+7", "filter:taps=9", 0.7, 0.03),
    ("fixed:lags=4,inputs=uniform", "filter:taps=6", 0.4, 0.01),
    ("fixed:lags=1+2+3,inputs=gaussian", "filter:taps=16", 1.0, 0.1),
    ("essential:kernel=exp:0.2,inputs=uniform", None, 0.5, 0.02),
    ("fixed:lags=2", None, 0.5, 0.1),
)


def terms(folder: Path, kernels: Sequence[str] = tuple(KERNELS)) -> None:
    """Coverage of the measured terms on filters, with seeds that nothing else uses: by the study's
    intervals, which hold for a whole curve at once, and by 90% intervals of single points.
    """
    hits = {(term, kind): [0, 0] for term in (Term.ESTIMATION, Term.OPTIMISATION)
            for kind in ("curve", "point")}  # fmt: skip
    worst = 0.0
    for number, name in enumerate(kernels):
        rate = KERNELS[name]
        missed = math.exp(-2 * rate * TAPS) / -math.expm1(-2 * rate)
        found = finite_sample(
            f"essential:kernel={name},inputs=gaussian", f"filter:taps={TAPS}", noise=SIGMA,
            profile="smoke", sizes=[30, 100, 300, 1000, 3000], length=64,
            first_seed=42_000 + 1000 * number, seeds=20, folder=folder / str(number),
            engine=LocalEngine(1),
        )  # fmt: skip
        print(f"{name}: {found.effort.sentence()}")
        for place, point in enumerate(found.curve):
            spread = math.sqrt(SIGMA**2 + missed)
            truth = {
                Term.ESTIMATION: least_squares_risk(spread, TAPS + 1, point.n or 1, constant=True),
                Term.OPTIMISATION: 0.0,
            }
            sides = []
            alone = dataclasses.replace(point, together=1)
            for term, true in truth.items():
                measured = point.terms[term]
                for kind, of in (("curve", measured), ("point", alone.terms[term])):
                    ends = of.interval
                    if term is Term.ESTIMATION or place == 0:  # one optimisation a curve
                        hits[term, kind][0] += (
                            ends.low <= true <= ends.high
                            or abs(of.value - true) <= NEGLIGIBLE * found.trivial
                        )
                        hits[term, kind][1] += 1
                ends = measured.interval
                sides.append(f"{term} {measured.value:.4g} [{ends.low:.4g}, {ends.high:.4g}]"
                             f" (true {true:.4g})")  # fmt: skip
            total = math.fsum(t.value for t in point.terms.values() if t is not None)
            worst = max(worst, abs(total - point.risk.value) / point.risk.value)
            print(f"{name:8} n = {point.n:5}: {'; '.join(sides)}", flush=True)
    for (term, kind), (inside, of) in hits.items():
        print(
            f"{term}: the 90% interval of a {kind} covers the closed form in {interval(inside, of)}"
        )
    print(f"sum of the terms against the risk: relative difference at most {worst:.1e}")


def bounds() -> None:
    """Violations over many small problems, and the size at which each bound begins to speak."""
    simulated_bounds.report()
    for loss in (0.01, 0.1, 0.5):
        first = next(n for n in range(1, 10**6) if not hoeffding(loss, n, 1.0, DELTA).trivial)
        print(f"hoeffding, mean loss {loss:g} of 1: below the range from n = {first} on")
    for loss in (0.01, 0.1):
        spread = next(n for n in range(2, 10**6)
                      if not empirical_bernstein(np.full(n, loss), 1.0, DELTA).trivial)  # fmt: skip
        print(f"empirical bernstein, equal losses {loss:g}: below the range from n = {spread} on")
    for norm in (1, 3, 10):
        claim = path_norm_gap(norm, 10**6, 32, lipschitz=4, loss_range=4, delta=DELTA)
        for name, limit in (("the range", 4), ("a best constant's risk of 1", 1)):
            print(f"path norm Q = {norm}, 32 lags, squared loss of answers in [-1, 1]: below {name}"
                  f" from n = {math.ceil(10**6 * (claim.value / limit) ** 2):.3g} on")  # fmt: skip


def planner(folder: Path) -> None:
    """Planned with the study's own seeds; judged by ten seeds that it never saw."""
    from headcount.studies import finite_sample as study

    held, answered, within = 0, 0, 0
    for number, (target, model, noise, error) in enumerate(PLANNED):
        asked = dict(noise=noise, error=error, length=64, engine=LocalEngine(1))
        place = folder / f"plan-{number}"
        found = finite_sample(target, model, profile="laptop", sizes=[30, 100, 300, 1000, 3000],
                              folder=place, **asked)  # fmt: skip
        need = found.needed
        if need is None or need.n is None or not math.isfinite(need.n):
            print(f"{target}: no answer ({found.sentences()[1]})")
            continue
        answered += 1
        design = study.Design.of(target, model, noise, False, "n", [2], 0, error, 64, "laptop")
        design = dataclasses.replace(design, first_seed=9000)
        runner = study._Study(design, place, LocalEngine(1), study.silent)
        tried = [max(2, round(n)) for n in (need.n / 2, need.n, 2 * need.n)]
        seen = runner.risks([(n, n) for n in tried], found.effort.effort, 10)
        risks = [float(seen[n, n].mean()) for n in tried]
        good = risks[0] > error >= risks[2]
        within += good
        held += need.low <= need.n <= need.high
        print(f"{target}: {error:g} planned n = {need.n:.0f} [{need.low:.0f}, {need.high:.0f}],"
              f" risk at n/2, n, 2n = {', '.join(f'{r:.3g}' for r in risks)}"
              f" -> {'within' if good else 'NOT within'} a factor 2", flush=True)  # fmt: skip
    print(f"within a factor 2: {within} of {answered} answers, {len(PLANNED)} targets")


PARTS = ("bounds", "terms", "planner")


def main(parts: Sequence[str] = PARTS) -> None:
    with tempfile.TemporaryDirectory() as held:
        for part in parts:
            print(f"-- {part}", flush=True)
            {"bounds": bounds, "terms": lambda: terms(Path(held)),
             "planner": lambda: planner(Path(held))}[part]()  # fmt: skip
