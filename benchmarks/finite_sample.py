"""The bars of `study finite-sample`: terms, bounds, planner. `PARTS` may be named on the command
line: python -c "from benchmarks import finite_sample as f; f.main(['bounds'])".

    terms     filters on kernels with closed-form terms: how often the 90% intervals cover them
    bounds    2,000 small problems per size and case: how often each bound fails, with its binomial
              interval (`simulated_bounds`), and from which n on it says something
    planner   targets that played no part in building it, with seeds of their own: is the risk at
              half the planned n above the error asked for, and at twice that n below it? For
              filters the true n comes from exact least squares: does the interval hold it?
    coverage  how often the planner's interval holds the true n of a filter, simulated by exact
              least squares with 5 seeds first and 10 at most, sizes added as the study does
"""

import dataclasses
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import simulated_bounds
from benchmarks.simulated_bounds import interval
from headcount.lab.study import Profile
from headcount.lab.sweep.local_engine import LocalEngine
from headcount.memory.named import targets, unnamed
from headcount.studies.decomposition import Term
from headcount.studies.enough_effort import NEGLIGIBLE
from headcount.studies.finite_sample import MORE_SIZES, finite_sample
from headcount.studies.known_floors import linear_kernel
from headcount.studies.sample_planner import SamplesNeeded, more_sizes, samples_needed
from headcount.theory.sample_bounds import (
    empirical_bernstein,
    hoeffding,
    least_squares_risk,
    path_norm_gap,
)

DELTA = 0.05
KERNELS = {"exp:0.7": 0.7, "exp:0.1": 0.1}
TAPS, SIGMA = 8, 0.5
LENGTH, START = 64, (30, 100, 300, 1000, 3000)  # the planner's targets: tokens, first sizes
# (target, model, noise, error): the filters on which the interval was tried while it was built
BUILT_ON = (
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
)
# none of these occurs in the planner's source or tests, nor was it tried while that was built
PLANNED = (
    ("essential:kernel=exp:0.25,inputs=gaussian", "filter:taps=20", 0.6, 0.03),
    ("essential:kernel=exp:0.4", "filter:taps=14", 0.8, 0.008),
    ("essential:kernel=power:1.5,inputs=gaussian", "filter:taps=18", 0.5, 0.04),
    ("essential:kernel=power:0.8", "filter:taps=40", 0.2, 0.08),
    ("essential:kernel=window:4", "filter:taps=12", 0.4, 0.002),
    ("essential:kernel=osc:0.2,0.5", "filter:taps=22", 0.5, 0.03),
    ("essential:kernel=mexican-hat(centre=5,scale=1.5)", "filter:taps=16", 0.3, 0.01),
    ("fixed:lags=3+10", "filter:taps=12", 0.5, 0.005),
    ("fixed:lags=6,inputs=uniform", "filter:taps=8", 0.6, 0.02),
    ("fixed:lags=1+4+5,inputs=gaussian", "filter:taps=10", 1.2, 0.2),
    ("essential:kernel=exp:0.35,inputs=uniform", None, 0.4, 0.02),
    ("fixed:lags=5", None, 0.4, 0.1),
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


@dataclasses.dataclass(frozen=True)
class LeastSquares:
    """A filter by exact least squares: draws of its risk, without the training loop."""

    kernel: np.ndarray  # [S]
    taps: int
    noise: float
    law: str  # of the tokens

    @classmethod
    def of(cls, target: str, model: str | None, noise: float) -> "LeastSquares | None":
        """None for a model that is no filter."""
        if model is None:
            return None
        built = targets.build(target)
        values = linear_kernel(built).values(LENGTH)
        return cls(values, int(model.split("=")[1]), noise, unnamed(built).inputs.kind)

    @property
    def variance(self) -> float:
        return 1 / 3 if self.law == "uniform" else 1.0

    @property
    def fresh(self) -> float:
        return self.variance * float((self.kernel[self.taps :] ** 2).sum())

    def tokens(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        if self.law == "gaussian":
            return rng.standard_normal(shape)
        return rng.uniform(-1, 1, shape) if self.law == "uniform" else rng.choice([-1.0, 1], shape)

    def risks(self, rng: np.random.Generator, n: int, seeds: int) -> np.ndarray:
        """[seeds]"""
        x = self.tokens(rng, (seeds, n, len(self.kernel)))
        y = x @ self.kernel + self.noise * rng.standard_normal((seeds, n))
        seen = np.concatenate([x[:, :, : self.taps], np.ones((seeds, n, 1))], axis=2)
        if n > 2 * seen.shape[2]:  # well conditioned: normal equations
            across = np.swapaxes(seen, 1, 2)
            w = np.linalg.solve(across @ seen, across @ y[..., None])[..., 0]
        else:
            w = (np.linalg.pinv(seen) @ y[..., None])[..., 0]
        off = self.variance * ((w[:, :-1] - self.kernel[: self.taps]) ** 2).sum(axis=1)
        return off + w[:, -1] ** 2 + self.fresh

    def true_n(self, rng: np.random.Generator, error: float) -> int:
        """Where the mean of 2,000 draws falls to the error."""
        low, high = self.taps + 2, 4000
        while high - low > 1:
            middle = (low + high) // 2
            mean = np.mean([self.risks(rng, middle, 50).mean() for _ in range(40)])
            low, high = (middle, high) if mean > error else (low, middle)
        return high


def planner(folder: Path) -> None:
    """Planned with seeds that no other target has; judged by ten seeds that it never saw."""
    from headcount.studies import finite_sample as study

    held, known, answered, within = 0, 0, 0, 0
    for number, (target, model, noise, error) in enumerate(PLANNED):
        asked = dict(noise=noise, error=error, length=LENGTH, engine=LocalEngine(1))
        place, seeds = folder / f"plan-{number}", 200_000 + 1000 * number
        found = finite_sample(target, model, profile="laptop", sizes=START,
                              folder=place, first_seed=seeds, **asked)  # fmt: skip
        need = found.needed
        if need is None or need.n is None or not math.isfinite(need.n):
            print(f"{target}: no answer ({found.sentences()[1]})")
            continue
        answered += 1
        design = study.Design.of(target, model, noise, False, "n", [2], 0, error, LENGTH, "laptop")
        design = dataclasses.replace(design, first_seed=seeds + 500)
        runner = study._Study(design, place, LocalEngine(1), study.silent)
        tried = [max(2, round(n)) for n in (need.n / 2, need.n, 2 * need.n)]
        seen = runner.risks([(n, n) for n in tried], found.effort.effort, 10)
        risks = [float(seen[n, n].mean()) for n in tried]
        good = risks[0] > error >= risks[2]
        within += good
        exact = LeastSquares.of(target, model, noise)
        true = None if exact is None else exact.true_n(np.random.default_rng(number), error)
        if true is not None:
            known += 1
            held += (need.low or 0) <= true <= (need.high or math.inf)
        ends = [None if end is None else round(end) for end in (need.low, need.high)]
        print(f"{target}: {error:g} planned n = {need.n:.0f} {ends} ({need.outcome}), true {true},"
              f" risk at n/2, n, 2n = {', '.join(f'{r:.3g}' for r in risks)}"
              f" -> {'within' if good else 'NOT within'} a factor 2", flush=True)  # fmt: skip
    print(f"within a factor 2: {interval(within, answered)} answers, {len(PLANNED)} targets")
    print(f"the interval holds the true n: {interval(held, known)} filters")


def coverage(trials: int = 200) -> None:
    """How often the interval holds the true n, over all filters."""
    hits, total = 0, 0
    for number, (target, model, noise, error) in enumerate((*BUILT_ON, *PLANNED)):
        exact = LeastSquares.of(target, model, noise)
        if exact is None:
            continue
        rng = np.random.default_rng(100 + number)
        true = exact.true_n(rng, error)
        ratios, held, few = [], 0, 0
        pool = {n: np.concatenate([exact.risks(rng, n, 50) for _ in range(20)]) for n in START}
        for _ in range(trials):
            need, seeds = _simulated(exact, rng, error, pool)
            held += need.n is not None and (need.low or 0) <= true <= (need.high or math.inf)
            few += seeds == 5
            ratios += [] if need.n is None else [need.n / true]
        hits, total = hits + held, total + trials
        print(f"{target}: true n = {true}, held in {interval(held, trials)}; n / true"
              f" {np.round(np.quantile(ratios, [0.05, 0.5, 0.95]), 2)}; 5 seeds were enough in"
              f" {few / trials:.0%}", flush=True)  # fmt: skip
    print(f"the interval holds the true n: {interval(hits, total)}")


def _simulated(
    exact: LeastSquares, rng: np.random.Generator, error: float, pool: dict[int, np.ndarray]
) -> tuple[SamplesNeeded, int]:
    """What a laptop study would answer, and with how many seeds; `pool` holds 1,000 risks at each
    of the first sizes.
    """
    sizes, seeds = list(START), 5
    drawn = {n: rng.choice(risks, 10) for n, risks in pool.items()}
    while True:
        drawn |= {n: exact.risks(rng, n, 10) for n in sizes if n not in drawn}
        risks = np.stack([drawn[n][:seeds] for n in sizes])
        found = samples_needed(sizes, risks, error, exact.fresh)
        more = (
            more_sizes(found, sizes, risks)
            if len(sizes) < len(START) + MORE_SIZES[Profile.LAPTOP]
            else []
        )
        if more:
            sizes = sorted({*sizes, *more})
        elif found.wide and seeds < 10:
            seeds = 10
        else:
            return found, seeds


PARTS = ("bounds", "terms", "coverage", "planner")


def main(parts: Sequence[str] = PARTS) -> None:
    with tempfile.TemporaryDirectory() as held:
        for part in parts:
            print(f"-- {part}", flush=True)
            {"bounds": bounds, "terms": lambda: terms(Path(held)), "coverage": coverage,
             "planner": lambda: planner(Path(held))}[part]()  # fmt: skip
