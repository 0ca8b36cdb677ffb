"""From a diagnosis to an architecture: the memory as a target of `plan`, and the cheapest row whose
claim is proved or measured there.

A model answers at the newest element it sees. Where a series continues itself, that element is lag
1 of the answer, so that lag s of the diagnosis is lag s - 1 of the model.
"""

import dataclasses
from typing import Any

from headcount.core.errors import CheckFailed, InputError
from headcount.diagnose.kernel_tail import TailClass
from headcount.diagnose.records import Addressing, Advice, Diagnosis, Memory
from headcount.diagnose.samples import Setting
from headcount.diagnose.sign_flips import Shape
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.inputs import OneHot
from headcount.memory.lag_functions import Table
from headcount.memory.target import AbstractTarget, Family, MemoryProfile

TOLERANCE = 0.05
SHORTEST, MOST_LAGS = 16, 12
BIASES = {
    Memory.FIXED: ("peak", "table"),
    Memory.ESSENTIAL: ("lin", "log", "log1p", "table"),
    Memory.ADAPTIVE: ("peak", "table"),
}


@dataclasses.dataclass(frozen=True)
class Wish:
    """What is asked of `plan`."""

    target: str | AbstractTarget
    name: str | None  # a word for the command line, where there is one
    length: int
    biases: tuple[str, ...]


def advise(found: Diagnosis, detrend: bool = False) -> Advice | None:
    """The architecture for what was found; None where there is no memory or no construction."""
    memory = found.suspected or found.memory
    if memory not in BIASES or found.memory is Memory.UNDECIDED:
        past = _by_past(found, detrend)
        if past is None:
            return None
        memory = past
    wish = wish_of(found, memory, detrend)
    if wish is None:
        return _without_attention(found, memory)
    from headcount.construct.plan import plan  # jax: only where advice is asked for

    try:
        row = plan(wish.target, TOLERANCE, length=wish.length, biases=wish.biases).recommended
    except (InputError, CheckFailed):
        row = None
    if row is None or row.architecture is None:
        return _by_theorem(found, memory)
    a = row.architecture
    return Advice(
        wish.name,
        a.layers,
        a.heads,
        row.bias,
        row.attention,
        a.width or None,
        row.attention != "dp-free",
        {"words": str(row.claims[0]), **row.claims[0].to_json()},
        f"headcount plan '{wish.name}' --tol {TOLERANCE:g} --length {wish.length}"
        if wish.name
        else None,
    )


def _by_past(found: Diagnosis, detrend: bool) -> Memory | None:
    """With a clock that is not to be taken away beforehand, its lags are a fixed memory."""
    few = 0 < len(found.past_lags) <= MOST_LAGS
    return Memory.FIXED if few and not detrend and found.memory is Memory.NONE else None


def model_lags(found: Diagnosis, lags: tuple[int, ...]) -> tuple[int, ...]:
    """Lags as a model counts them, without the newest element (which it always has)."""
    shift = 1 if found.method.setting is Setting.SELF else 0
    return tuple(sorted({lag - shift for lag in lags} - {0}))


def wish_of(found: Diagnosis, memory: Memory, detrend: bool) -> Wish | None:
    if memory is Memory.FIXED:
        clock = found.clock
        past = clock and clock.step is None and not detrend and found.past_lags
        lags = model_lags(found, found.past_lags if past else found.lag_numbers)
        if not lags or len(lags) > MOST_LAGS:
            return None
        joint = any(lag.family == str(Shape.PAIR) for lag in found.lags) and not past
        readout = ",readout=product" if joint and len(lags) == 2 else ""
        name = f"fixed:lags={'+'.join(map(str, lags))}{readout}"
        return Wish(name, name, max(SHORTEST, lags[-1] + 2), BIASES[memory])
    if memory is Memory.ESSENTIAL:
        return _kernel_wish(found)
    if found.addressing is Addressing.CONTENT:
        symbols = min(found.method.alphabet or 16, 64)
        name = f"induction:symbols={symbols}"
        return Wish(name, name, 64, ("none", "table"))
    return _map_wish(found)


def _kernel_wish(found: Diagnosis) -> Wish | None:
    tail = found.tail
    if tail is None or tail.rate is None:
        return None
    length = found.method.max_lag + 1
    name = f"essential:kernel={tail.shape}:{tail.rate:.3g}"
    biases = ("lin",) if tail.shape is TailClass.EXP else ("log", "table")
    return Wish(name, name, max(SHORTEST, length), biases)


def _map_wish(found: Diagnosis) -> Wish | None:
    """One lag per token and level, as a table of lags on one-hot tokens."""
    levels: dict[int, list[tuple[int, ...]]] = {}
    for entry in found.map:
        levels.setdefault(entry.level, []).append(entry.lags)
    if any(len(lags) != 1 for level in levels.values() for lags in level):
        return None
    shift = 1 if found.method.setting is Setting.SELF else 0
    tables: list[Any] = []
    for level in sorted(levels):
        lags = tuple(lags[0] - shift for lags in levels[level])
        if found.method.alphabet != len(lags):
            return None  # rare tokens were left out
        tables.append(Table(lags=lags, allow_zero=min(lags) == 0))
    longest = max(lag for table in tables for lag in table.lags)
    try:
        target = AdaptiveMemory(
            tuple(tables), nesting=len(tables) - 1, inputs=OneHot(len(tables[0].lags))
        )
    except (InputError, TypeError):
        return None
    return Wish(target, None, max(SHORTEST, longest + 2), BIASES[Memory.ADAPTIVE])


def _without_attention(found: Diagnosis, memory: Memory) -> Advice | None:
    """Only the newest element is read: a feed-forward layer, no head."""
    newest = memory is Memory.FIXED and found.lags and not model_lags(found, found.lag_numbers)
    if newest:
        return Advice(None, 1, 0, "no", "none", None, False, None, None)
    return _by_theorem(found, memory)


def _by_theorem(found: Diagnosis, memory: Memory) -> Advice | None:
    """Where no weights were written: the depth that Theorem 4.4 gives for adaptive lags."""
    if memory is not Memory.ADAPTIVE or not found.map:
        return None
    most = max(len(entry.lags) for entry in found.map)
    profile = MemoryProfile(Family.ADAPTIVE, found.nesting + most, found.nesting)
    layers = profile.retrievals + 1
    claim = {"words": f"{layers} layers suffice (Theorem 4.4)", "theorem": "4.4"}
    return Advice(None, layers, most, "peak", "dot", None, True, claim, None)
