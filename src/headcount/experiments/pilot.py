"""The pilot: every tuned arm in the settings of the grid, on seeds that no verdict is judged on.

Two rounds, at half the cost of the whole grid:

    1. every setting (24 where heads have decay rates) with the first pilot seed;
    2. the `KEPT` best of them with the other pilot seeds too: two, or nine for runs on the exact
       loss, which take a second.

The choice is the smallest worst loss among the settings that ran with all seeds; what the others
reached with the first seed stays in the record (`tuning.Pilot`). Runs go through the ordinary sweep
into a store, so that a pilot that was interrupted goes on where it stopped.

    pilots = retune(["4a", "4b/lin-1"], folder)
    print(chosen_table(registration(), pilots))
    written({**registration(), **pilots}, file)
"""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headcount.core.errors import CheckFailed, unknown
from headcount.experiments.tuning import (
    PILOT_SEEDS,
    Pilot,
    Setting,
    grid,
    has_rates,
    in_setting,
    pilot_seeds,
)
from headcount.lab.run_studies import loss_of
from headcount.lab.sweep.driver import sweep
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.progress import Say, progress_teller, silent
from headcount.lab.sweep.schema import FINISHED, Row
from headcount.lab.sweep.store import Store
from headcount.train.run_spec import RunSpec

TUNED = ("1a", "1b", "2a", "2b", "3a", "3b", "4a", "4b")  # experiments with `tuned_arms`
KEPT = 6  # settings of the second round
STORE = "pilot.sqlite"

Runs = Mapping[str, Mapping[str, Any]]  # arm → fields of its run, untuned
Asked = Sequence[tuple[str, Setting, int]]  # arm, setting, seed


def tuned_runs(names: Iterable[str] = ()) -> dict[str, Mapping[str, Any]]:
    """The arms asked for, by experiment ('4a') or one by one ('4a/lin-64'); all without a name."""
    wanted = list(names) or list(TUNED)
    ids = dict.fromkeys(name.split("/")[0] for name in wanted)
    for id in ids:
        if id not in TUNED:
            raise unknown("tuned experiment", id, TUNED)
    known = {
        name: run
        for id in ids
        for name, run in importlib.import_module(
            f"headcount.experiments.paper.experiment_{id}"
        ).tuned_arms()
    }
    for name in wanted:
        if "/" in name and name not in known:
            raise unknown("tuned arm", name, known)
    return {
        name: run for name, run in known.items() if name in wanted or name.split("/")[0] in wanted
    }


def retune(
    names: Iterable[str], folder: Path, say: Say = silent, engine: AbstractEngine | None = None
) -> dict[str, Pilot]:
    """The pilots of the arms asked for (`tuned_runs`), their runs kept in a store in `folder`."""
    return pilots_of(tuned_runs(names), folder, say, engine)


def pilots_of(
    runs: Runs, folder: Path, say: Say = silent, engine: AbstractEngine | None = None
) -> dict[str, Pilot]:
    """Both rounds, for any runs."""
    settings = {name: grid(has_rates(run)) for name, run in runs.items()}
    seeds = {name: pilot_seeds(run) for name, run in runs.items()}
    first = PILOT_SEEDS[0]
    every = [(name, setting, first) for name in runs for setting in settings[name]]
    say(f"pilot, round 1: {len(every)} runs", now=True)
    losses = _losses(runs, every, folder, say, engine)
    again = [
        (name, setting, seed)
        for name in runs
        for setting in _best({s: losses[name, s, first] for s in settings[name]})
        for seed in seeds[name][1:]
    ]
    say(f"pilot, round 2: {len(again)} runs", now=True)
    losses |= _losses(runs, again, folder, say, engine)
    return {
        name: Pilot(
            {
                setting: tuple(
                    losses[name, setting, seed]
                    for seed in seeds[name]
                    if (name, setting, seed) in losses
                )
                for setting in settings[name]
            }
        )
        for name in runs
    }


def _best(losses: Mapping[Setting, float]) -> list[Setting]:
    """The settings of the second round; of equal ones the first of the grid."""
    return sorted(losses, key=lambda setting: losses[setting])[:KEPT]


def _losses(
    runs: Runs, asked: Asked, folder: Path, say: Say, engine: AbstractEngine | None
) -> dict[tuple[str, Setting, int], float]:
    """Final losses, inf where a run diverged, to the four digits that are registered."""
    specs = {
        each: RunSpec.from_values({**in_setting(runs[each[0]], each[1]), "seed": each[2]})
        for each in asked
    }
    if not specs:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    unique = {spec.content_hash: spec for spec in specs.values()}
    summary = sweep(
        list(unique.values()), folder / STORE, engine=engine, watch=progress_teller(say)
    )
    if summary.interrupted:
        raise KeyboardInterrupt
    with Store(folder / STORE, read_only=True) as opened:
        rows = {row.id: row for row in opened.rows(set(unique))[0]}
    bad = [row.error for row in rows.values() if row.status != FINISHED]
    if bad or summary.missing:
        why = f"the first with: {bad[0]}" if bad else "all of them missing"
        raise CheckFailed(f"{len(bad) + summary.missing} runs of the pilot failed, {why}")
    return {each: float(f"{_loss(rows[spec.content_hash]):.4g}") for each, spec in specs.items()}


def _loss(row: Row) -> float:
    """Squared losses as parts of the constant answer's: another seed may have another target."""
    relative = "relative_loss" in row.record["final"]
    return loss_of(row, "relative_loss" if relative else "eval_loss")


def chosen_table(old: Mapping[str, Pilot], new: Mapping[str, Pilot]) -> str:
    """What a new pilot would choose beside what is registered, one arm per line, with the worst
    loss of each choice in its own pilot.
    """
    rows = [("arm", "registered", "this pilot", "")]
    for name in sorted(new):
        found, before, change = _told(new[name]), "nothing", "new"
        if name in old:
            before = _told(old[name])
            change = "same" if old[name].chosen == new[name].chosen else "differs"
        rows.append((name, before, found, change))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _told(pilot: Pilot) -> str:
    return f"{pilot.chosen.label} ({pilot.worst(pilot.chosen):.2g})"
