"""What heads with a free bias per lag can do, before anything is trained.

A softmax head whose table is ln w(s) at some lags and -100 elsewhere answers their mean with the
weights w, up to N e^-100 of all others. What follows is a two-layer network of x_t and the heads'
answers:

    a sum          sum_i w_i x_{t-T_i}: one head for the lags of each sign, times their sum of
                   |w_i|; u = relu(u) - relu(-u)
    a network      the readout's own weights, on one head per lag: 64 neurons for a teacher
    n signs        f(x) = sum_v f(v) relu(v . x - n + 1) over the 2^n sign patterns v: the neuron of
                   v is 1 at v and 0 at every other pattern, so that 2^n neurons are exact for every
                   f of n bits; x_t takes part where the readout reads it

The one with the fewest neurons is taken. More heads, neurons or layers contain it (their other
weights are 0), and so does a dot product (queries 0). It is right at positions that see every lag;
at earlier ones a softmax answers a mean of what is there. The errors are measured on random
sequences in float64, in float32, and in float32 with weights rounded to bfloat16; weights that are
not exact up to rounding are no construction. For teachers of the run's seed the largest error of
several seeds counts.
"""

import dataclasses
import functools
import itertools
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
MOST_BITS = 12  # 4,096 sign patterns
EXACT = 1e-18  # of the mean square of the answers: a squared error at the rounding of float64
Formats = dict[str, float]


@dataclasses.dataclass(frozen=True, eq=False)
class Copies:
    """Heads and a network behind them that answer a memory."""

    logits: tuple[dict[int, float], ...]  # of each head, by lag; LOW at all others
    net: ReluNetwork  # on the heads' answers, or on (x_t, the heads' answers)

    def tables(self, lags: int) -> np.ndarray:
        """[H, lags]"""
        found = np.full((len(self.logits), lags), LOW)
        for row, head in enumerate(self.logits):
            for lag, logit in head.items():
                found[row, lag] = logit
        return found


def copied_numbers(
    memory: Any, heads: int, neurons: int, length: int, normalised: bool = True
) -> Numbers:
    """The construction, where there is one and so many heads and neurons suffice for it; errors
    are divided by the variance of the answers if `normalised`.
    """
    need = copies_needed(memory)
    if need is None:
        return _none("no formula has weights for this readout and these tokens")
    needed, width = need
    if heads < needed or neurons < width:
        return _none(
            f"no weights are known: {needed} heads and {width} neurons are exact, of which it has"
            f" {heads} and {neurons}"
        )
    key = _key(memory)
    if _memory(key).read.rows(length).min() < _memory(key).lags[-1]:
        return _none("no weights are known: some positions that are read do not see every lag")
    found = _errors(key, length, normalised)
    if found is None:
        return _none("no weights are known: those by formula are not exact here")
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


def _none(why: str) -> Numbers:
    return Numbers(lower=0.0, certificate="a squared error is not negative", note=why)


def copies_needed(memory: Any) -> tuple[int, int] | None:
    """Heads and neurons of the construction for a memory; None where there is none."""
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
def _needed(key: Any) -> tuple[int, int] | None:
    """Heads and neurons of the construction."""
    found = _copies(_filled(_memory(key), 0))
    return None if found is None else (len(found.logits), found.net.neurons)


def _filled(memory: FixedMemory, seed: int) -> FixedMemory:
    found = memory.filled(memory.left_open(seed))
    assert isinstance(found, FixedMemory)
    return found


@functools.lru_cache(maxsize=16)
def _errors(key: Any, length: int, normalised: bool) -> Formats | None:
    """The largest mean squared error over several teachers, by format; None where the weights are
    not exact.
    """
    memory = _memory(key)
    found: list[Formats] = []
    for seed in range(TEACHERS):
        filled = _filled(memory, seed)
        answers, y = _answered(filled, length, seed)
        errors = {name: float(np.mean((each - y) ** 2)) for name, each in answers.items()}
        if errors["float64"] > EXACT * float(np.mean(y**2)):
            return None
        unit = (float(y.var()) or 1.0) if normalised else 1.0
        found.append({name: error / unit for name, error in errors.items()})
        if filled is memory:  # every run has the same
            break
    return {name: max(errors[name] for errors in found) for name in found[0]}


def _copies(memory: FixedMemory) -> Copies | None:
    """The construction with the fewest neurons."""
    readout, inputs = memory.readout, memory.inputs
    slots, d = len(memory.lags) + 1, inputs.dim
    if isinstance(readout, Linear):
        return _sum(memory.lags, readout.full(slots), d)
    one_each = tuple({lag: 0.0} for lag in memory.lags)
    net = readout.network(slots, d) if readout.holds(inputs.bound, inputs.alphabet) else None
    current = getattr(readout, "current", True)  # does it read x_t? A function may
    bits = (slots if current else slots - 1) * d
    few = bits <= MOST_BITS and (net is None or 2**bits < net.neurons)
    if isinstance(inputs, Boolean) and readout.outputs == 1 and few:
        net = _patterns(memory, bits)
    elif net is not None and not net.b[:, :d].any():  # x_t does not take part
        net = dataclasses.replace(net, b=net.b[:, d:])
    return None if net is None else Copies(one_each, net)


def _sum(lags: tuple[int, ...], weights: np.ndarray, d: int) -> Copies:
    """A head for each sign among the weights of the lags; coordinates are averaged."""
    by_sign = [
        {lag: float(w) for lag, w in zip(lags, weights[1:], strict=True) if sign * w > 0}
        for sign in (1, -1)
    ]
    heads = [head for head in by_sign if head] or [dict.fromkeys(lags, 0.0)]
    scales = [sum(head.values()) for head in heads]
    logits = tuple(
        {lag: float(np.log(abs(w / max(head.values(), key=abs)))) for lag, w in head.items() if w}
        for head in heads
    )
    row = np.array([weights[0], *scales] if weights[0] else scales)
    b = np.repeat(row / np.sqrt(d), d)
    return Copies(logits, ReluNetwork(np.array([1.0, -1.0]), np.stack([b, -b]), np.zeros(2)))


def _patterns(memory: FixedMemory, bits: int) -> ReluNetwork:
    """One neuron per sign pattern of the last slots."""
    slots, d = len(memory.lags) + 1, memory.inputs.dim
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=bits)))  # [2^bits, bits]
    values = []
    for v in signs:
        slotted = np.zeros(slots * d)
        slotted[slots * d - bits :] = v / np.sqrt(d)
        values.append(memory.readout.reference(slotted.reshape(slots, d))[0])
    return ReluNetwork(np.array(values), np.sqrt(d) * signs, np.full(len(signs), 1.0 - bits))


def _answered(
    memory: FixedMemory, length: int, seed: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The construction's answers by format, and the memory's, at the first position that is read:
    all see every lag, and tokens are alike.
    """
    made = _copies(memory)
    assert made is not None
    row = int(memory.read.rows(length)[0])
    key = Seeds(seed).data("test")
    x = np.asarray(memory.inputs.sample(key, SEQUENCES, length), np.float64)
    x = x[:, row::-1]  # lag first
    slots = np.stack([x[:, 0], *(x[:, lag] for lag in memory.lags)], axis=1)  # [n, M+1, d]
    y = np.array([float(memory.readout.reference(one)[0]) for one in slots])
    formats = (
        ("float64", np.float64, np.float64),
        ("float32", Dtype.FLOAT32.scalar, np.float32),
        ("bfloat16", Dtype.BFLOAT16.scalar, np.float32),
    )
    return {name: _answers(x, made, stored, used) for name, stored, used in formats}, y


def _answers(x: np.ndarray, made: Copies, stored: Any, used: Any) -> np.ndarray:
    """[n, N, d] tokens by lag → [n], with weights stored in one format and used in another."""

    def held(weights: np.ndarray) -> np.ndarray:
        return weights.astype(stored).astype(used)

    weights = np.exp(held(made.tables(x.shape[1])))
    weights = weights / weights.sum(axis=1, keepdims=True)  # [H, N]
    tokens = x.astype(used)
    slots = np.einsum("hs,nsd->nhd", weights, tokens).reshape(len(x), -1)
    a, b, c = held(made.net.a), held(made.net.b), held(made.net.c)
    if b.shape[1] > slots.shape[1]:  # x_t takes part
        slots = np.concatenate([tokens[:, 0], slots], axis=1)
    return np.maximum(slots @ b.T + c, 0) @ a
