"""A report from a store of 10,000 runs: CPU seconds from the finished sweep to the page, its size,
and whether the same rows give the same bytes again.

The studies are those of profile full that train without texts, their maps with as many seeds as
make 10,000 runs; every run has a record like that of a real one, with losses of its own. What is
known without training is left out: a finished command reads it from the store.
"""

import dataclasses
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from headcount.core.spec import canonical_json
from headcount.experiments import EXPERIMENTS, studies_of
from headcount.experiments.tuning import registration
from headcount.lab.numbers import Numbers
from headcount.lab.run_studies import planned, run_studies
from headcount.lab.study import Profile, Study
from headcount.lab.sweep.schema import FINISHED, Row
from headcount.lab.sweep.store import Store
from headcount.report.from_studies import report_of
from headcount.report.write import files

RUNS, POINTS, BAR_SECONDS, BAR_BYTES = 10_000, 20, 20.0, 5 * 10**6
TEXTS = ("Python-source", "English")


def studies(runs: int = RUNS) -> list[Study]:
    """Those without texts; maps are widened until there are so many runs."""
    found = [s for s in studies_of(list(EXPERIMENTS), Profile.FULL, None, 0) if s.name not in TEXTS]
    maps = [s for s in found if not s.hypotheses and s.seeds]
    fixed = sum(len(s.arms) * len(s.seeds) for s in found if s not in maps)  # of all looks
    each = sum(len(s.arms) * len(s.cells) for s in maps)
    seeds = tuple(range(1000, 1000 + (runs - fixed) // each))
    return [dataclasses.replace(s, seeds=seeds) if s in maps else s for s in found]


def filled(store: Path, wanted: list[Study]) -> int:
    """Rows for every run, also those of later looks; how many there are."""
    from headcount.train.run_record import versions

    random, made = np.random.default_rng(0), versions()
    counts = {(s.key, arm.name): len(s.seeds) for s in wanted for arm in s.arms}
    unique = {run.spec.content_hash: run for s in wanted for run in planned(s, counts)}
    with Store(store) as opened:
        opened.add({id: canonical_json(run.spec.to_plain()) for id, run in unique.items()})
        for id in unique:
            opened.put(Row(id, FINISHED, record(random, made)))
    return len(unique)


def record(random: np.random.Generator, versions: dict[str, str]) -> dict[str, Any]:
    """As a trainer writes it: a loss that falls, and where it ends."""
    steps = np.arange(1, POINTS + 1) * 500
    loss = np.exp(random.normal(-4, 2) - np.linspace(0, 4, POINTS) + random.normal(0, 0.1, POINTS))
    last = float(loss[-1])
    final = {"eval_loss": last, "train_loss": last, "relative_loss": last, "accuracy": 0.5}
    metrics = {"step": steps.tolist(), "train_loss": loss.tolist(), "eval_loss": loss.tolist()}
    sentence = f"finished {steps[-1]} steps: test loss {last:.3e}"
    return {
        "outcome": "finished",
        "step": None,
        "sentence": sentence,
        "metrics": metrics,
        "final": final,
        "seconds": {"run": 1.0},
        "versions": versions,
    }


def reported(store: Path, wanted: list[Study]) -> dict[str, bytes]:
    """From the store to the files of the report."""
    none = {s.key: {arm.name: Numbers() for arm in s.arms} for s in wanted}
    done = run_studies(wanted, store, numbers=lambda _: none)
    report = report_of(
        done.outcomes,
        profile=Profile.FULL,
        command="headcount reproduce --profile full",
        store=store.name,
        versions=done.versions,
        pilots=registration(),
    )
    return files(report)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store, wanted = Path(folder) / "runs.sqlite", studies()
        count = filled(store, wanted)
        started = time.process_time()
        first = reported(store, wanted)
        new = time.process_time() - started
        again = reported(store, wanted)
        kept = time.process_time() - started - new
    page = len(first["report.html"])
    print(f"{count} runs: report in {new:.1f} s CPU (bar {BAR_SECONDS:.0f}), again {kept:.1f} s")
    print(f"page {page / 1e6:.2f} MB (bar {BAR_BYTES / 1e6:.0f}); {len(first)} files")
    print(f"the same bytes again: {'yes' if first == again else 'no'}")
