"""The settings in which each arm is judged: chosen on pilot seeds, then registered.

A practitioner tunes what a paper leaves open, so every arm has a learning rate, a schedule and an
initial spread of its rates of its own. They are the best of the grid below by the worst loss over
`PILOT_SEEDS`, which no verdict is judged on: the best median would be at a learning rate so large
that one run in three learns nothing. A setting whose first seed is worse than the worst of the
chosen one needs no other seeds. What was chosen is in `registration.json` beside the losses of the
whole pilot; `headcount reproduce --retune` repeats it (`experiments/pilot.py`) and shows what it
would choose. Running an experiment costs the registered seeds only.

    >>> changes = Setting(0.003, Shape.COSINE, "uniform").changes(has_rates=True)
    >>> changes["train"]
    {'lr': 0.003, 'schedule': {'shape': 'cosine', 'warmup': 0, 'final': 0.0}}
"""

import dataclasses
import functools
import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from headcount.core.errors import unknown
from headcount.core.overrides import merged
from headcount.train.run_spec import Shape

PILOT_SEEDS = (0, 1, 2)
EXACT_SEEDS = tuple(range(10))  # of runs on the exact loss, which take a second
LEARNING_RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
SCHEDULES = (Shape.CONSTANT, Shape.COSINE)
SPREADS: dict[str, dict[str, Any]] = {
    "uniform": {"low": 0.0, "high": 1.0, "spacing": "uniform"},  # the paper's U(0, 1)
    "log-spaced": {"low": 10**-3.5, "high": 10.0, "spacing": "log"},
}
FILE = "registration.json"


@dataclasses.dataclass(frozen=True)
class Setting:
    """One point of the grid; `spread` is None for arms without decay rates."""

    lr: float
    schedule: Shape
    spread: str | None = None

    def changes(self, has_rates: bool) -> dict[str, Any]:
        """What it changes in the fields of a run."""
        final = 1.0 if self.schedule is Shape.CONSTANT else 0.0
        train = {
            "lr": self.lr,
            "schedule": {"shape": str(self.schedule), "warmup": 0, "final": final},
        }
        rates = {"model": {"bias": SPREADS[self.spread]}} if has_rates and self.spread else {}
        return {"train": train, **rates}

    @property
    def label(self) -> str:
        parts = (f"lr {self.lr:g}", str(self.schedule), self.spread)
        return ", ".join(filter(None, parts))

    def to_json(self) -> dict[str, Any]:
        return {"lr": self.lr, "schedule": str(self.schedule), "spread": self.spread}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Setting":
        return cls(values["lr"], Shape(values["schedule"]), values["spread"])


def grid(has_rates: bool) -> tuple[Setting, ...]:
    """Every setting that an arm is tried in."""
    spreads: Sequence[str | None] = tuple(SPREADS) if has_rates else (None,)
    return tuple(
        Setting(lr, schedule, spread)
        for lr in LEARNING_RATES
        for schedule in SCHEDULES
        for spread in spreads
    )


@dataclasses.dataclass(frozen=True)
class Pilot:
    """The losses of an arm over the grid, by seed (inf where it diverged), and the choice.

    Settings that were given up after the first seed have one loss (`experiments/pilot.py`).
    """

    losses: Mapping[Setting, tuple[float, ...]]

    def worst(self, setting: Setting) -> float:
        return max(self.losses[setting])

    @property
    def chosen(self) -> Setting:
        """The smallest worst loss among those with the most seeds; of equal ones the first of the
        grid.
        """
        most = max(map(len, self.losses.values()))
        tried = [setting for setting, losses in self.losses.items() if len(losses) == most]
        return min(tried, key=self.worst)

    def to_json(self) -> dict[str, Any]:
        tried = [
            {**setting.to_json(), "losses": [x if math.isfinite(x) else None for x in losses]}
            for setting, losses in self.losses.items()
        ]
        return {"chosen": self.chosen.to_json(), "pilot": tried}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Pilot":
        return cls(
            {
                Setting.from_json(row): tuple(math.inf if x is None else x for x in row["losses"])
                for row in values["pilot"]
            }
        )


@functools.cache
def registration() -> dict[str, Pilot]:
    """Every pilot that was run, by 'insight/arm'."""
    text = (resources.files("headcount.experiments") / FILE).read_text(encoding="utf-8")
    return {name: Pilot.from_json(values) for name, values in json.loads(text).items()}


def tuned(name: str, run: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a run in the registered setting of the arm `name` ('4a/lin-64')."""
    if name not in registration():
        raise unknown("tuned arm", name, registration())
    return in_setting(run, registration()[name].chosen)


def in_setting(run: Mapping[str, Any], setting: Setting) -> dict[str, Any]:
    """The fields of a run in a setting; the grid wins over what the run says."""
    return merged(run, setting.changes(has_rates(run)))


def pilot_seeds(run: Mapping[str, Any]) -> tuple[int, ...]:
    """The seeds that a setting is tried with."""
    return EXACT_SEEDS if run["train"].get("loss") == "population" else PILOT_SEEDS


def has_rates(run: Mapping[str, Any]) -> bool:
    """Does its bias have decay rates whose initial spread can be chosen?"""
    bias = run["model"].get("bias")
    kind = bias.get("kind") if isinstance(bias, Mapping) else bias
    return kind in ("lin", "log", "log1p")


def written(pilots: Mapping[str, Pilot], file: Path) -> None:
    """The registration file, one arm per line: a retuned arm changes one line."""
    lines = (f"{json.dumps(name)}: {json.dumps(pilots[name].to_json())}" for name in sorted(pilots))
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
