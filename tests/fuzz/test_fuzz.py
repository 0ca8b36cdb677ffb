"""Inputs by the thousand: no traceback, exit 0, 1, 2 or 130, nothing half-written, in little time
and memory.

`HEADCOUNT_FUZZ=N` with `-m slow` tries N inputs of each sort; the quick tests try some.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.core.files import read_mapping
from headcount.core.overrides import with_changes
from headcount.core.sizes import MEMORY, MINUTES
from tests.command import run
from tests.fuzz.strategies import (
    FILE_NAMES,
    FILE_TEXTS,
    HOSTILE_TEXT,
    KERNELS,
    MAPPINGS,
    TARGETS,
    VALUES,
    command_lines,
)

MANY = int(os.environ.get("HEADCOUNT_FUZZ", "1000"))
SECONDS = 60
quiet = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


@pytest.fixture(autouse=True)
def small_machine(monkeypatch, tmp_path):
    """A working folder of its own, two gigabytes, half a minute."""
    monkeypatch.setenv(MEMORY, "2")
    monkeypatch.setenv(MINUTES, "0.5")
    monkeypatch.chdir(tmp_path)


def refused_or_made(make: Callable[[], Any]) -> Any:
    """Only an `InputError` of one short line is a refusal."""
    try:
        return make()
    except hc.InputError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 7000
    return None


def a_part(kernel: str, target: str, values: Any) -> None:
    refused_or_made(lambda: hc.kernels.build(kernel))
    refused_or_made(lambda: hc.targets.build(target))
    for registry in (hc.kernels, hc.targets, hc.readouts, hc.inputs, hc.lag_functions, hc.reads):
        refused_or_made(lambda registry=registry: registry.build(values))


def a_spec(mapping: dict[str, Any], change: str) -> None:
    changed = refused_or_made(lambda: with_changes(mapping, [change]))
    for spec in (hc.RunSpec, hc.TrainSpec, hc.ModelSpec, hc.SweepPlan, hc.PartSpec):
        made = refused_or_made(lambda spec=spec: spec.from_values(changed or mapping))
        if made is not None:
            refused_or_made(lambda made=made: hc.content_hash(made))


def a_file(name: str, text: str) -> None:
    path = Path(name)
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    refused_or_made(lambda: read_mapping(path))
    refused_or_made(lambda: hc.targets.build(name))
    refused_or_made(lambda: hc.kernels.build(name))
    refused_or_made(lambda: hc.SweepPlan.read(path))
    for call in (hc.load, hc.results, hc.status):
        refused_or_made(lambda call=call: call(path))


def an_argument(values: Any, other: Any) -> None:
    """Every public function with arguments of any type; what is refused never starts."""
    calls = [
        lambda: hc.fit_kernel(other, heads=values, certify=False),
        lambda: hc.fit_kernel("lag:2", heads=1, budget=values, certify=False),
        lambda: hc.bound(values, other),
        lambda: hc.construct("fixed:lags=1", heads=values, width=other),
        lambda: hc.plan("fixed:lags=1", tol=values, length="no"),
        lambda: hc.cost(values, other, hc.Last()),
        lambda: hc.load(values),
        lambda: hc.save(values, "x"),
        lambda: hc.results(values),
        lambda: hc.sweep(values, "x.sqlite", watch="no"),
        lambda: hc.train(other, values, seed="no"),
        lambda: hc.reproduce(values, profile=3),
        lambda: hc.Seeds(values),
        lambda: hc.At(values),
        lambda: hc.FixedMemory(lags=values),
        lambda: hc.EssentialMemory(kernel=values, readout=other),
        lambda: hc.AdaptiveMemory(lag_functions=values),
        lambda: hc.RunSpec(memory=values),
        lambda: hc.canonical_json(values),
    ]
    for call in calls:
        refused_or_made(call)


def a_command(words: list[str]) -> None:
    def too_long(*_: object) -> None:
        raise AssertionError(f"{words} takes more than {SECONDS} s")

    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # CPU time: a busy machine is no fault
    try:
        done = run(*words)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    assert not done.faults(), (words, done.faults())
    left = [path.name for path in Path.cwd().iterdir() if path.name.startswith(".")]
    assert not left, (words, left)


SORTS = {
    "parts": (a_part, (KERNELS, TARGETS, VALUES)),
    "specs": (a_spec, (MAPPINGS, HOSTILE_TEXT)),
    "files": (a_file, (FILE_NAMES, FILE_TEXTS)),
    "arguments": (an_argument, (VALUES, VALUES)),
    "commands": (a_command, (command_lines(),)),
}
QUICK = {"parts": 60, "specs": 60, "files": 60, "arguments": 12, "commands": 15}


def attacked(sort: str, count: int, seeded: bool) -> None:
    action, strategies = SORTS[sort]

    @settings(max_examples=count, derandomize=seeded, **quiet)
    @given(st.tuples(*strategies))
    def each(values: tuple[Any, ...]) -> None:
        action(*values)

    each()


@pytest.mark.parametrize("sort", SORTS)
def test_some_inputs(sort):
    attacked(sort, QUICK[sort], seeded=True)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("sort", SORTS)
def test_many_inputs(sort):
    attacked(sort, MANY, seeded=False)
