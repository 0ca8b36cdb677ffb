"""What is done with each sort of input, and what must hold afterwards."""

import random
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

import headcount as hc
from headcount.core.cache import SWITCH
from headcount.core.files import read_mapping
from headcount.core.overrides import with_changes
from headcount.core.sizes import MEMORY, MINUTES
from tests.command import run
from tests.fuzz.mutate import Choice, Mutator
from tests.fuzz.strategies import (
    EDITS,
    FILE_NAMES,
    FILE_TEXTS,
    HOSTILE_TEXT,
    MAPPINGS,
    PARTS,
    REGISTRIES,
    VALUES,
    command_lines,
    guarded,
)

SECONDS = 60  # of CPU time, for any input
GIGABYTES = 4.0
CHANGED = 19  # inputs made from each one that is drawn
RUN = """memory: exp-4b
model: {attention: dp-free, ffn: none, width: 4}
train: {steps: 2, batch: 2, length: 8, log: 1}
"""
quiet: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "database": None,
}


def prepare(folder: Path) -> dict[str, str]:
    """Files that command lines may name, and the environment of a small machine."""
    (folder / "run.yaml").write_text(RUN)
    rows = np.random.default_rng(0).normal(size=(60, 2))
    np.savetxt(folder / "data.csv", rows, delimiter=",", header="x,y", comments="")
    np.save(folder / "kernel.npy", 0.5 ** np.arange(6))
    hc.Store(folder / "runs.sqlite").close()
    import jax

    model = hc.ModelSpec(width=2, hidden=2, heads=1).build(jax.random.key(0), dim=1, outputs=1)
    hc.save(model, folder / "model")
    (folder / "cache").mkdir(mode=0o700)
    return {MEMORY: "2", MINUTES: "0.5", SWITCH: str(folder / "cache"), "COLUMNS": "80"}


def refused_or_made(make: Callable[[], Any]) -> Any:
    """Only an `InputError` of one short line is a refusal."""
    try:
        return make()
    except hc.InputError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 7000
    return None


def a_part(named: tuple[str, str], values: Any) -> None:
    noun, text = named
    registry = REGISTRIES[noun]
    spec = refused_or_made(lambda: registry.spec(text))
    if spec is not None:
        assert refused_or_made(lambda: registry.spec(spec.to_plain())) == spec or "nan" in text
    if noun in ("kernel", "memory", "readout", "input", "lag-function", "read"):
        refused_or_made(lambda: registry.build(text))
        refused_or_made(lambda: registry.build(values))


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


READERS: dict[str, tuple[Callable[[str], Any], ...]] = {
    "model/config.json": (lambda name: hc.load("model"),),
    "model/model.safetensors": (lambda name: hc.load("model"),),
    "kernel.npy": (hc.kernels.build,),
    "data.csv": (hc.kernels.build,),
    "runs.sqlite": (hc.results, hc.status),
    "run.yaml": (lambda name: hc.RunSpec.from_values(read_mapping(Path(name))),),
}


def some_bytes(name: str, edits: list[tuple[float, bytes, int]]) -> None:
    """A file of ours with bytes changed, read by whoever reads such files; then as it was."""
    path = Path(name)
    whole = path.read_bytes()
    content = bytearray(whole)
    for share, new, cut in edits:
        at = int(share * len(content))
        content[at : at + cut] = new
    try:
        path.write_bytes(content)
        for call in READERS[name]:
            refused_or_made(lambda call=call: call(name))
        assert path.read_bytes() == content, f"{name} was written by a reader"
    finally:
        path.write_bytes(whole)


def an_argument(values: Any, other: Any) -> None:
    """Every public function with arguments of any type; what is refused never starts."""
    calls = [
        lambda: hc.fit_kernel(other, heads=values, certify=False),
        lambda: hc.fit_kernel("lag:2", heads=1, budget=values, certify=False),
        lambda: hc.bound(values, other),
        lambda: hc.construct("fixed:lags=1", heads=values, width="no"),
        lambda: hc.construct("fixed:lags=1", width=values, tol=other, heads="no"),
        lambda: hc.plan("fixed:lags=1", tol=values, length="no"),
        lambda: hc.diagnose(values, other, max_lag="no"),
        lambda: hc.export(values, other),
        lambda: hc.cost(values, other, hc.Last()),
        lambda: hc.load(values),
        lambda: hc.save(values, "x"),
        lambda: hc.results(values),
        lambda: hc.sweep(values, "x.sqlite", watch="no"),
        lambda: hc.train(other, values, seed="no"),
        lambda: hc.reproduce(values, profile=3),
        lambda: hc.zoo(values, other, profile=3),
        lambda: hc.plot.four_numbers(values, other, "no"),
        lambda: hc.Seeds(values),
        lambda: hc.At(values),
        lambda: hc.LocalEngine(values),
        lambda: hc.FixedMemory(lags=values),
        lambda: hc.EssentialMemory(kernel=values, readout=other),
        lambda: hc.AdaptiveMemory(lag_functions=values),
        lambda: hc.RunSpec(memory=values),
        lambda: hc.ModelSpec(bias=values, heads=other),
        lambda: hc.canonical_json(values),
    ]
    for call in calls:
        refused_or_made(call)


def a_command(words: list[str]) -> None:
    words = guarded(words)
    done = run(*words)
    assert not done.faults(), (words, done.faults())
    left = [path.name for path in Path.cwd().iterdir() if path.name.startswith(".")]
    assert not left, (words, left)


SORTS: dict[str, tuple[Callable[..., None], tuple[st.SearchStrategy[Any], ...]]] = {
    "parts": (a_part, (PARTS, VALUES)),
    "specs": (a_spec, (MAPPINGS, HOSTILE_TEXT)),
    "files": (a_file, (FILE_NAMES.map(Choice), FILE_TEXTS)),
    "bytes": (some_bytes, (st.sampled_from(sorted(READERS)).map(Choice), EDITS)),
    "arguments": (an_argument, (VALUES, VALUES)),
    "commands": (a_command, (command_lines(),)),
}


@dataclass
class Tally:
    """What was tried: how many inputs, how many different ones, the slowest, the largest memory."""

    inputs: int = 0
    different: set[int] = field(default_factory=set)
    seconds: float = 0.0
    slowest: tuple[float, str] = (0.0, "")
    gigabytes: float = 0.0

    def add(self, values: tuple[Any, ...], seconds: float) -> None:
        said = repr(values)
        self.inputs += 1
        self.different.add(hash(said))
        self.seconds += seconds
        self.slowest = max(self.slowest, (seconds, said[:300]))
        self.gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def attack(
    sort: str,
    count: int,
    seed: int | None = 0,
    tally: Tally | None = None,
    mutator: Mutator | None = None,
) -> Tally:
    """So many inputs of a sort; the first fault is an `AssertionError`, made small. With a mutator
    each input is followed by `CHANGED` that are made from it.
    """
    action, strategies = SORTS[sort]
    tally = Tally() if tally is None else tally
    if seed is None:
        seed = random.SystemRandom().randrange(2**32)

    @seeded(seed)
    @settings(max_examples=count, phases=(Phase.generate, Phase.shrink), **quiet)
    @given(st.tuples(*strategies))
    def each(values: tuple[Any, ...]) -> None:
        _try(action, values, tally)
        if mutator is not None:
            mutator.see(values)
            for _ in range(CHANGED):
                _try(action, mutator.of(values), tally)

    each()
    return tally


def _try(action: Callable[..., None], values: tuple[Any, ...], tally: Tally) -> None:
    def too_long(*_: object) -> None:
        raise AssertionError(f"{values}: more than {SECONDS} s")

    begun = time.process_time()
    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # CPU time: a busy machine is no fault
    try:
        action(*values)
    except Exception as error:
        error.add_note(f"the input: {values!r}")
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        tally.add(values, time.process_time() - begun)
    assert tally.gigabytes < GIGABYTES, f"{values}: {tally.gigabytes} GB"
