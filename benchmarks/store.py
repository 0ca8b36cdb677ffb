"""What the store and the driver add to a study: 10,000 runs of `study robustness`' kind go through
them with a runner that answers at once; the CPU time of all processes, a run, against that of a
real cell (compiled once, 7 seeds). Bar: below 3% of the time of the real runs.
"""

import dataclasses
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from headcount.lab.sweep.driver import sweep
from headcount.lab.sweep.local_engine import LocalEngine
from headcount.lab.sweep.progress import cpu_of
from headcount.lab.sweep.store import Store
from headcount.lab.sweep.trainer import Trainer
from headcount.train.run_spec import RunSpec

RUNS, SEEDS, BAR = 10_000, 7, 0.03


@dataclasses.dataclass(frozen=True)
class Answered(Trainer):
    """Gives every run the record of a real one."""

    record: dict[str, Any] | None = None

    def key(self, spec):
        return "all"

    def work(self, spec):
        return 1.0

    def run(self, specs):
        for spec in specs:
            yield spec, self.record, {}


def specs(count: int) -> list[RunSpec]:
    """Insight 2b as it is, in the laptop profile."""
    from headcount.studies import robustness
    from headcount.studies.probes import BASE, PROBES

    probe = next(p for p in PROBES if p.insight == "2b")
    effort = robustness.EFFORTS[robustness.Profile.LAPTOP]
    first = robustness._specs((probe, (BASE,)), effort, 1)[0][0]
    return [first.model_copy(update={"seed": seed}) for seed in range(count)]


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main() -> None:
    os.environ["HEADCOUNT_CACHE"] = "off"  # compiled as for a user's first run
    with tempfile.TemporaryDirectory() as folder:
        real = Path(folder) / "real.sqlite"
        assert sweep(specs(SEEDS), real, engine=LocalEngine(1)).complete
        with Store(real, read_only=True) as opened:
            rows = opened.rows(None)[0]
        each = sorted(cpu_of(row.record) for row in rows)
        cell, warm = sum(each) / len(each), each[len(each) // 2]
        runner = Answered(record=dict(rows[0].record))
        few, many = specs(1000), specs(RUNS)
        before = _cpu()
        assert sweep(
            few, Path(folder) / "few.sqlite", engine=LocalEngine(1), runner=runner
        ).complete
        middle, started = _cpu(), time.perf_counter()
        assert sweep(many, Path(folder) / "many.sqlite", engine=LocalEngine(1),
                     runner=runner).complete  # fmt: skip
        after, clock = _cpu(), time.perf_counter() - started
        # the start of a worker is in both
        one = ((after - middle) - (middle - before)) / (RUNS - len(few))
    print(
        f"{RUNS} runs through the store: {clock:.0f} s on the clock, {1e3 * one:.2f} ms CPU a run"
    )
    print(f"a real run: {cell:.3f} s CPU with its share of the compilation, {warm:.3f} s without")
    print(f"overhead: {one / cell:.2%} (bar {BAR:.0%}); without compilation {one / warm:.2%}")
