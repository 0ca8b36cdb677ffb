"""A plan of runs: a baseline, and what is changed in it.

    >>> axes = {"model.heads": [1, 2], "train.lr": [0.1, 0.01]}
    >>> plan = SweepPlan(baseline={"model": {"width": 8}}, axes=axes, seeds=3)
    >>> len(plan.changes_made()), plan.changes_made()[0]
    (12, {'model.heads': 1, 'train.lr': 0.1, 'seed': 0})

Three ways to change it, crossed with each other and with the seeds: `axes` (every combination, or
with `one_at_a_time` the baseline and then each value on its own) and `changes` (a list of sets of
values that go together). Keys are dotted paths into the baseline. Every run is read and checked
before the first one starts, and all faults are told at once.
"""

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import pydantic

from headcount.core.arguments import checked
from headcount.core.errors import InputError, require
from headcount.core.files import SPEC_ENDINGS, read_mapping
from headcount.core.overrides import with_values
from headcount.core.spec import Spec, SpecError, content_hash

LARGEST = 100_000
SHOWN = 12  # reasons that are told; more are counted

# a small ready plan to start from: about a minute on two cores
EXAMPLE = """\
# How many heads does gradient descent need for a lag?
# Without an FFN, 4 lin heads can draw lag 3 and fewer cannot.
# Save this as plan.yaml, then:
#   headcount sweep plan.yaml --dry-run
#   headcount sweep plan.yaml
#   headcount results runs.sqlite --csv
name: heads-for-a-lag
baseline:                       # one run, as for headcount train
  memory: fixed:lags=3,readout=linear
  model: {width: 16, attention: dp-free, bias: lin, ffn: none}
  train: {steps: 100000, batch: 100, length: 32, lr: 0.003, schedule: {shape: cosine}}
# every combination; with one_at_a_time: true the baseline and each change on its own
axes:
  model.heads: [1, 2, 4, 8]
seeds: 5                        # 0, 1, 2, 3, 4; or a list of seeds
"""


class SweepPlan(Spec):
    """Baseline and changes. `seeds` is a number (seeds 0, 1, …) or the seeds themselves."""

    name: str = ""
    baseline: dict[str, Any]
    axes: dict[str, list[Any]] = {}
    one_at_a_time: bool = False
    changes: list[dict[str, Any]] = []
    seeds: Annotated[int, pydantic.Field(ge=1)] | list[int] | None = None

    @pydantic.model_validator(mode="after")
    def _check(self) -> "SweepPlan":
        for key, values in self.axes.items():
            require(
                values,
                f"axis {key!r} has no values",
                "at least one",
                "add a value or drop the axis",
            )
            clash = [key for change in self.changes if key in change]
            require(not clash, f"{key!r} is an axis and in a change", "one of the two", "drop one")
        require(
            self.seeds != [],
            "an empty list of seeds",
            "at least one",
            "give seeds: 3, or leave it out",
        )
        twice = self.seeds is not None and "seed" in {
            *self.axes,
            *self.baseline,
            *(key for change in self.changes for key in change),
        }
        require(
            not twice, "seeds, and seed in the baseline or an axis", "one of the two", "drop one"
        )
        count = len(self.seeds) if isinstance(self.seeds, list) else self.seeds or 1
        for values in self.axes.values():
            count *= 1 if self.one_at_a_time else len(values)
        require(count <= LARGEST, f"{count} runs", f"at most {LARGEST}", "split the plan")
        return self

    @classmethod
    @checked
    def read(cls, path: str | Path) -> Self:
        """The plan of a YAML, TOML or JSON file."""
        path = Path(path)
        require(
            path.suffix in SPEC_ENDINGS,
            f"plan {path}",
            f"a file that ends in {', '.join(SPEC_ENDINGS)}",
            "see headcount sweep --example",
        )
        values = read_mapping(path)
        try:
            return cls.from_values(values)
        except InputError as error:
            raise InputError(f"{path}: {error.got}", error.expected, error.fix) from None

    def changes_made(self) -> list[dict[str, Any]]:
        """What each run changes in the baseline: dotted key → value."""
        named = [[(key, value) for value in values] for key, values in self.axes.items()]
        if self.one_at_a_time:
            along: list[dict[str, Any]] = [
                {},
                *({key: value} for axis in named for key, value in axis),
            ]
        else:
            along = [dict(point) for point in itertools.product(*named)]
        seeds = (
            self.seeds
            if isinstance(self.seeds, list)
            else range(self.seeds)
            if self.seeds
            else [None]
        )
        drawn = [{} if seed is None else {"seed": seed} for seed in seeds]
        return [
            {**change, **point, **seed}
            for change in self.changes or [{}]
            for point in along
            for seed in drawn
        ]

    def specs(self, read: Callable[[Mapping[str, Any]], Spec]) -> list[Spec]:
        """Every run, each once, or an `InputError` with every fault of every run."""
        specs: dict[str, Spec] = {}
        reasons: dict[str, list[str]] = {}
        made = self.changes_made()
        for change in made:
            try:
                spec = read(with_values(self.baseline, change))
                specs.setdefault(content_hash(spec), spec)
            except InputError as error:
                reasons.setdefault(reason(error), []).append(_told(change))
        if reasons:
            raise _refusal(reasons, len(made))
        return list(specs.values())


def reason(error: InputError) -> str:
    """One fault among several. The list of all valid keys, with which the fault of a lone spec
    ends, would be told again and again.
    """
    if isinstance(error, SpecError):
        return error.got
    return f"{error.got} (expected {error.expected}; {error.fix})"


def _told(change: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in change.items()) or "the baseline"


def _refusal(reasons: dict[str, list[str]], total: int) -> InputError:
    """All reasons on one line, each with the first run that has it. A fault of every run is told
    as the plan's own.
    """
    parts = []
    for reason, where in itertools.islice(reasons.items(), SHOWN):
        others = f" and {len(where) - 1} more" if len(where) > 1 else ""
        parts.append(reason if len(where) == total else f"{where[0]}{others}: {reason}")
    if len(reasons) > SHOWN:
        parts.append(f"{len(reasons) - SHOWN} further reasons")
    bad = len({run for where in reasons.values() for run in where})
    return InputError(
        f"{bad} of {total} runs are impossible: {'; '.join(parts)}",
        "possible runs only",
        "correct the plan and run again",
    )
