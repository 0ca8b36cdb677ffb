"""What heads with a free bias per lag can do, before anything is trained.

A head whose table is 0 at some lags and -100 elsewhere answers their mean, up to a weight of
N e^-100 on all others. With one head per lag the slots of a fixed memory stand in the stream, and
what follows is a two-layer network:

    M signs      f(x) = sum_v f(v) relu(v . x - M + 1) over the 2^M sign patterns v: the neuron of v
                 is 1 at v and 0 at every other pattern, so that 2^M neurons are exact for every f
    a teacher    its own weights: 64 neurons
    a sum        M times the mean that **one** head of all lags answers, u = relu(u) - relu(-u)

More heads, neurons or layers contain it (their other weights are 0), and so does a dot product
(queries 0). The errors are measured on random sequences in float64, in float32, and in float32 with
weights rounded to bfloat16, and divided by the variance of the answers. For teachers of the run's
seed the largest of several seeds counts.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from headcount.core.claims import Status
from headcount.core.seeds import Seeds
from headcount.lab.numbers import Numbers
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import Boolean
from headcount.memory.named import targets, unnamed
from headcount.memory.readouts import Linear, ReluNetwork
from headcount.theory.rounding import Dtype

LOW = -100.0  # e^-100 of a weight is far below the rounding of float64
SEQUENCES = 512
TEACHERS = 3  # seeds whose g* is tried
Formats = dict[str, float]


def copied_numbers(memory: Any, heads: int, neurons: int, length: int) -> Numbers:
    """The construction, where so many heads and neurons suffice for it."""
    needed, width = copies_needed(memory)
    if heads < needed or neurons < width:
        return Numbers(
            lower=0.0,
            certificate="a squared error is not negative",
            note=(
                f"no weights are known: {needed} heads and {width} neurons are exact, of which it"
                f" has {heads} and {neurons}"
            ),
        )
    found = _errors(_key(memory), length)
    return Numbers(
        promised_text="no theorem of the paper is about this bias",
        possible=found["float64"],
        status=Status.MEASURED,
        lower=0.0,
        certificate="a squared error is not negative",
        float32=found["float32"],
        bfloat16=found["bfloat16"],
        note=f"{needed} head{'s' * (needed > 1)} and {width} neurons, by formula",
    )


def copies_needed(memory: Any) -> tuple[int, int]:
    """Heads and neurons of the construction for a memory."""
    return _needed(_key(memory))


def _key(memory: Any) -> str | tuple[Any, ...]:
    """A memory as something that a cache can hold."""
    if isinstance(memory, dict):
        return tuple(sorted((name, _key(value)) for name, value in memory.items()))
    return tuple(memory) if isinstance(memory, list) else memory


def _memory(key: Any) -> FixedMemory:
    """Back from a cache's key."""

    def plain(value: Any) -> Any:
        named = isinstance(value, tuple) and value and isinstance(value[0], tuple)
        return {name: plain(inner) for name, inner in value} if named else value

    found = unnamed(targets.build(plain(key)))
    assert isinstance(found, FixedMemory)
    return found


@functools.lru_cache(maxsize=16)
def _needed(key: Any) -> tuple[int, int]:
    """Heads and neurons of the construction."""
    memory = _memory(key)
    if isinstance(memory.readout, Linear):
        return 1, 2
    if isinstance(memory.inputs, Boolean):
        return len(memory.lags), 2 ** len(memory.lags)
    return len(memory.lags), memory.readout.neurons  # type: ignore[attr-defined]


@functools.lru_cache(maxsize=16)
def _errors(key: Any, length: int) -> Formats:
    """The largest normalised mean squared error over several teachers, by format."""
    memory = _memory(key)
    found: list[Formats] = []
    for seed in range(TEACHERS):
        filled = memory.filled(memory.left_open(seed))
        assert isinstance(filled, FixedMemory)
        found.append(_measured(filled, length, seed))
        if filled is memory:  # every run has the same
            break
    return {name: max(errors[name] for errors in found) for name in found[0]}


def _measured(memory: FixedMemory, length: int, seed: int) -> Formats:
    lags, d = memory.lags, memory.inputs.dim
    key = Seeds(seed).data("test")
    x = np.asarray(memory.inputs.sample(key, SEQUENCES, length), np.float64)[:, ::-1]  # lag first
    summed = isinstance(memory.readout, Linear)
    tables = np.full((1 if summed else len(lags), length), LOW)
    for row, lag in enumerate(lags):
        tables[0 if summed else row, lag] = 0.0
    net = _sum(len(lags)) if summed else _network(memory, len(lags) + 1, d)
    slots = np.stack([x[:, 0], *(x[:, lag] for lag in lags)], axis=1)  # [n, M+1, d]
    y = np.array([float(memory.readout.reference(row)[0]) for row in slots])
    errors = {}
    for name, stored, used in (
        ("float64", np.float64, np.float64),
        ("float32", Dtype.FLOAT32.scalar, np.float32),
        ("bfloat16", Dtype.BFLOAT16.scalar, np.float32),
    ):
        answers = _answers(x, _as(stored, used, tables), net, _held(stored, used))
        errors[name] = float(np.mean((answers - y) ** 2) / y.var())
    return errors


def _network(memory: FixedMemory, slots: int, d: int) -> ReluNetwork:
    """The readout of the memories alone: by sign patterns, or its own weights."""
    if isinstance(memory.inputs, Boolean):
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=slots - 1)))  # [2^M, M]
        values = [memory.readout.reference(np.append(0.0, v)[:, None])[0] for v in signs]
        return ReluNetwork(np.array(values), signs, np.full(len(signs), 2.0 - slots))
    net = memory.readout.network(slots, d)
    assert net is not None
    return dataclasses.replace(net, b=net.b[:, d:])


def _sum(lags: int) -> ReluNetwork:
    """M times its one input."""
    return ReluNetwork(np.array([1.0, -1.0]), np.array([[lags], [-lags]], float), np.zeros(2))


def _as(stored: Any, used: Any, weights: np.ndarray) -> np.ndarray:
    return weights.astype(stored).astype(used)


def _held(stored: Any, used: Any) -> Callable[[np.ndarray], np.ndarray]:
    return functools.partial(_as, stored, used)


def _answers(
    x: np.ndarray, tables: np.ndarray, net: ReluNetwork, held: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """[n, N, d] tokens by lag → [n], all in the format of the tables."""
    weights = np.exp(tables)
    weights = weights / weights.sum(axis=1, keepdims=True)  # [H, N]
    slots = np.einsum("hs,nsd->nhd", weights, x.astype(tables.dtype))
    a, b, c = held(net.a), held(net.b), held(net.c)
    return np.maximum(slots.reshape(len(x), -1) @ b.T + c, 0) @ a
