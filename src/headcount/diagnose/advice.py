"""From a diagnosis to an architecture: the memory as a target of `plan`, and the cheapest row whose
claim is proved or measured there.

A model answers at the newest element it sees. Where a series continues itself, that element is lag
1 of the answer, so that lag s of the diagnosis is lag s - 1 of the model.
"""

import dataclasses
import itertools
from typing import Any

import numpy as np

from headcount.core.errors import CheckFailed, InputError
from headcount.diagnose import upper_tails
from headcount.diagnose.kernel_tail import TailClass
from headcount.diagnose.records import Addressing, Advice, Diagnosis, Memory
from headcount.diagnose.samples import Setting
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.essential import EssentialMemory
from headcount.memory.inputs import OneHot, Uniform
from headcount.memory.kernels import ArrayKernel
from headcount.memory.lag_functions import Table
from headcount.memory.target import AbstractTarget, Family, MemoryProfile

TOLERANCE = 0.05
SHORTEST, MOST_LAGS = 16, 12
MOST_COMBINATIONS = 4096  # of letters, for a table of all of them
MOST_MULTIPLIED = 3  # lags of a product whose network is written
LONGEST_KERNEL = 64  # numbers of a kernel that is handed to `plan` as such
BIASES = {
    Memory.FIXED: ("peak", "table"),
    Memory.ESSENTIAL: ("lin", "log1p", "table"),
    Memory.ADAPTIVE: ("peak", "table"),
}
APART: tuple[str, ...] = ("peak",)  # every lag by a head of its own, whatever is done with them


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
        return _lags_wish(found, found.past_lags if past else ())
    if memory is Memory.ESSENTIAL:
        return _kernel_wish(found)
    if found.addressing is Addressing.CONTENT:
        return _recall_wish(found)
    return _map_wish(found)


def _lags_wish(found: Diagnosis, past: tuple[int, ...]) -> Wish | None:
    """A function of a few elements. What a head adds up, it cannot tell apart: real values that
    enter by one weighted sum may share a head per sign (a function of the sum is left to the
    neurons), others take one head each. Of few letters every combination has a sum of its own.
    """
    every = past or found.lag_numbers
    lags = model_lags(found, every)
    if not lags or len(lags) > MOST_LAGS:
        return None
    newest = len(set(every)) > len(lags)
    current = ":current=true" if newest else ""
    symbols = found.method.alphabet
    biases = BIASES[Memory.FIXED]
    if symbols is not None:
        if symbols ** (len(lags) + newest) <= MOST_COMBINATIONS:
            parts = f"inputs=onehot:symbols={symbols},readout=lookup{current}"
        else:
            parts, biases = f"inputs=onehot:symbols={symbols}", APART
    elif past or _linear(found):
        parts = f"inputs=uniform,readout=linear:weights={_weights(found, past, newest)}"
    elif len(lags) <= MOST_MULTIPLIED:
        parts = f"inputs=uniform,readout=product{current}"
    else:
        parts, biases = "inputs=uniform", APART
    name = f"fixed:lags={'+'.join(map(str, lags))},{parts}"
    return Wish(name, name, max(SHORTEST, lags[-1] + 2), biases)


def _linear(found: Diagnosis) -> bool:
    """One weight per lag says it all, up to a function of the sum."""
    one_channel = len({lag.channel for lag in found.lags}) == 1
    return one_channel and all(lag.weight is not None for lag in found.lags)


def _weights(found: Diagnosis, past: tuple[int, ...], newest: bool) -> str:
    """Weights in the order of lags, the largest one 1; unknown ones change their sign from lag to
    lag, which asks for most.
    """
    weights = [lag.weight or 0.0 for lag in sorted(found.lags, key=lambda lag: lag.lag)]
    if past:
        weights = [(-1.0) ** k for k in range(len(set(past)))]
    largest = max(map(abs, weights)) or 1.0
    return "+".join(f"{weight / largest:.3g}" for weight in weights)


def _kernel_wish(found: Diagnosis) -> Wish | None:
    """An exponential by its rate; a power law and any other kernel as numbers, since a model's
    newest element is at lag 0, where s^-b has none.
    """
    tail = found.tail
    length = max(SHORTEST, min(found.method.max_lag + 1, LONGEST_KERNEL))
    if tail is not None and tail.rate is not None and tail.shape is TailClass.EXP:
        name = f"essential:kernel=exp:{tail.rate:.3g},inputs=uniform"
        return Wish(name, name, length, ("lin",))
    if tail is not None and tail.rate is not None:
        values = np.arange(1, length + 1.0) ** -tail.rate
        return _kernel_of(values, length, ("log1p",))
    if not found.kernel:
        return None
    values = _drawn(found, length)
    return _kernel_of(values / np.abs(values).max(), length, ("table",))


def _drawn(found: Diagnosis, length: int) -> np.ndarray:  # [length]
    """The kernel as it was estimated. A weight of the rarer sign counts only where it is beyond
    its noise: a second head for the other sign must not rest on that.
    """
    shift = 1 if found.method.setting is Setting.SELF else 0
    lags, weights, errors = (np.array(part) for part in zip(*found.kernel, strict=True))
    common = np.sign(weights[np.abs(weights).argmax()])
    noise = np.abs(weights) < upper_tails.normal_quantile(TOLERANCE / 2 / len(weights)) * errors
    weights = np.where(noise & (np.sign(weights) != common), 0.0, weights)
    values, places = np.zeros(length), lags.astype(int) - shift
    inside = places < length
    values[places[inside]] = weights[inside]
    return values


def _kernel_of(values: np.ndarray, length: int, biases: tuple[str, ...]) -> Wish:
    numbers = tuple(float(f"{value:.4g}") for value in values)
    return Wish(EssentialMemory((ArrayKernel(numbers),), inputs=Uniform()), None, length, biases)


def _recall_wish(found: Diagnosis) -> Wish | None:
    """Induction as it is written: the newest element is the key, the element after it the answer"""
    rule = found.recall
    if rule is None or (rule.key_lag, rule.key_length, rule.offset) != (0, 1, 1):
        return None
    name = f"induction:symbols={min(found.method.alphabet or 16, 64)}"
    return Wish(name, name, 64, ("none", "table"))


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


def _by_intervals(found: Diagnosis) -> bool:
    """Does the newest value alone pick one lag, and each lag on one interval of it? Then one head
    is enough: of scores b_s x_t + c_s, with slopes b_s in the order of the intervals, the largest
    is that of the interval (the upper envelope of lines), and the larger all scores, the clearer.
    """
    newest = 1 if found.method.setting is Setting.SELF else 0
    read = [entry.lags for entry in found.map]
    if any(entry.pivot != newest for entry in found.map) or any(len(lags) != 1 for lags in read):
        return False
    runs = [lags for lags, _ in itertools.groupby(read)]
    return len(set(runs)) == len(runs)


def _by_theorem(found: Diagnosis, memory: Memory) -> Advice | None:
    """Where no weights were written: the depth that Theorem 4.4 gives for adaptive lags; for recall
    by a longer key, induction with a head per element of the key, for which nothing is claimed.
    """
    if found.recall is not None and found.addressing is Addressing.CONTENT:
        return Advice(None, 2, found.recall.key_length, "table", "dot", None, True, None, None)
    if memory is not Memory.ADAPTIVE or not found.map:
        return None
    if _by_intervals(found):
        words = "one layer suffices: scores linear in the newest value pick one lag per interval"
        return Advice(None, 1, 1, "table", "dot", None, True, {"words": words}, None)
    most = max(len(entry.lags) for entry in found.map)
    profile = MemoryProfile(Family.ADAPTIVE, found.nesting + most, found.nesting)
    layers = profile.retrievals + 1
    claim = {"words": f"{layers} layers suffice (Theorem 4.4)", "theorem": "4.4"}
    return Advice(None, layers, most, "peak", "dot", None, True, claim, None)
