"""What is known, without training, of an architecture on a memory: its approximation and float32
terms.

    linear memory      a filter of `taps` lags                closed form, mean over the reads
                       heads without a network                the best l2 fit (`experiments.floors`)
                       (softmax or none, read at one position)
    fixed lags         table heads with a ReLU network        weights by formula, tried on sequences
                       (softmax, no norm, all lags in the     (`experiments.table_numbers`)
                       table, room for every copy, reads
                       that see every lag)
    linear memory      a diagonal recurrence, complex modes   roots of unity (`recurrence_floor`)
    everything else    unknown here

A position sees the lags that exist there: t tokens have the lags 0, …, t - 1. Floors are in the
units of the risk, and never above the risk of the best constant.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from headcount.core.registry import PartSpec
from headcount.experiments.floors import kernel_numbers
from headcount.experiments.table_numbers import copied_numbers, copies_needed
from headcount.lab.numbers import Numbers
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import AbstractKernel, ArrayKernel
from headcount.memory.named import unnamed
from headcount.memory.readouts import Linear
from headcount.memory.target import AbstractTarget
from headcount.model.spec import ModelSpec
from headcount.studies.decomposition import Floor
from headcount.theory.heads import DECAYS, family
from headcount.train.run_spec import read_model

UNKNOWN = "no weights are known for this architecture: approximation is part of optimisation"


def linear_kernel(target: AbstractTarget) -> AbstractKernel | None:
    """The kernel of a memory that is linear in independent tokens of one number, else None."""
    memory: Any = unnamed(target)
    plain = isinstance(memory, (EssentialMemory, FixedMemory)) and memory.dim == 1
    if not plain or not isinstance(memory.readout, Linear) or not memory.inputs.iid:
        return None
    if isinstance(memory, FixedMemory):
        values = np.zeros(memory.lags[-1] + 1)
        values[[0, *memory.lags]] = memory.readout.full(len(memory.lags) + 1)
        return ArrayKernel(tuple(map(float, values))) if values.any() else None
    one = len(memory.kernel) == 1 and memory.readout == Linear()
    return memory.kernel[0] if one else None


def modes_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Complex modes whose sum is any kernel on its N lags: values(s) = Re sum_k c_k m_k^s exactly,
    with floor(N/2) + 1 modes m_k = r e^(2 pi i k/N), 0 < r < 1.

    Proof: values(s) r^-s is the inverse Fourier transform of its transform on 0..N-1; of a real
    sequence the terms k and N - k are conjugate, so that half of them, counted twice but for k = 0
    and N/2, give it by their real part. With r = e^(-1/N) coefficients grow at most e-fold.
    """
    n = len(values)
    r = np.exp(-1 / n)
    spectrum = np.fft.rfft(values * r ** -np.arange(n)) / n  # [N//2 + 1]
    twice = np.full(len(spectrum), 2.0)
    twice[0] = 1.0
    if n % 2 == 0:
        twice[-1] = 1.0
    return r * np.exp(2j * np.pi * np.arange(len(spectrum)) / n), twice * spectrum


def recurrence_floor(values: np.ndarray, pairs: int) -> Floor:
    """The share of a kernel's energy that a diagonal recurrence of so many complex modes can come
    down to by `modes_of`, and what stepping it in complex64 adds; empty where it has too few.
    """
    if pairs < len(values) // 2 + 1:
        return Floor()
    modes, weights = (each.astype(np.complex64) for each in modes_of(values))
    state, found = np.ones_like(modes), []
    for _ in values:
        found.append((weights * state).real.sum())
        state = state * modes
    return Floor(0.0, float(np.sum((np.array(found) - values) ** 2) / np.sum(values**2)))


def floor_of(target: AbstractTarget, model: Mapping[str, Any], length: int) -> Floor:
    """The floor of a model, by the fields of its spec, on sequences of `length` tokens."""
    kernel, spec = linear_kernel(target), read_model(model)
    if kernel is not None:
        found = _linear(kernel, _variance(target), spec, target.read.rows(length))
        if found is not None:
            return found
    memory = unnamed(target)
    if isinstance(memory, FixedMemory) and isinstance(spec, ModelSpec):
        need = copies_needed(target)
        if need is not None and _copies(spec, memory, need[0], length):
            numbers = copied_numbers(target, spec.heads, spec.hidden, length, normalised=False)
            return _floor(numbers, math.inf)
    return Floor(why=UNKNOWN)


def _variance(target: AbstractTarget) -> float:
    """Of independent tokens of one number."""
    memory: Any = unnamed(target)
    return float(memory.inputs.variance)


def _linear(
    kernel: AbstractKernel, variance: float, spec: ModelSpec | PartSpec, rows: np.ndarray
) -> Floor | None:
    """Of a model that is linear in the tokens; None for others."""
    if isinstance(spec, PartSpec) and spec.kind == "filter":
        energy = variance * kernel.values(int(rows.max()) + 1) ** 2
        beyond = [energy[spec.options["taps"] : row + 1].sum() for row in rows]
        return Floor(float(np.mean(beyond)), 0.0)
    # under softmax a head is another kernel at every position: one position only
    if len(rows) != 1:
        return None
    window = int(rows[0]) + 1
    if isinstance(spec, PartSpec):  # of the other baselines only bare heads
        options = spec.options
        if spec.kind != "heads" or not _weighs(options["bias"].kind, options["normaliser"].kind):
            return None
        bias, heads, residual = options["bias"].kind, options["heads"], False
    elif _adds_up(spec):
        bias, heads, residual = spec.bias.kind, spec.heads, True
    else:
        return None
    values = kernel.values(window)
    if not values[residual:].any():  # nothing for heads to do
        return Floor(0.0, 0.0)
    unseen = 0.0
    if not residual:  # x_t counts: a head that sees it must not disturb it, others cannot answer it
        sees = family(bias).first_lag == 0
        unseen = 0.0 if sees else variance * float(values[0] ** 2)
        kernel = ArrayKernel(tuple(map(float, values))) if sees else kernel
    numbers = kernel_numbers(kernel, bias, heads, window, variance, residual=residual)
    return _floor(numbers, variance * float((values**2).sum()), unseen)


def _floor(numbers: Numbers, constant: float, unseen: float = 0.0) -> Floor:
    """From the numbers of an arm and what it does not count; the best constant, whose risk is
    given, is in every model.
    """
    if numbers.possible is None or numbers.constant:
        return Floor(why=numbers.note or UNKNOWN)
    possible = min(numbers.possible + unseen, constant)
    rounded = min((numbers.floor or 0.0) + unseen, constant)
    return Floor(possible, max(0.0, rounded - possible), numbers.note)


def _plain(spec: ModelSpec) -> bool:
    """One layer without dot products in which nothing but the heads acts on the stream."""
    kinds = (spec.attention.kind, spec.norm.kind, spec.position.kind)
    return spec.layers == 1 and kinds == ("dp-free", "none", "none")


def _adds_up(spec: ModelSpec) -> bool:
    """Is the answer a sum of decays and of x_t, each with a coefficient of its own?"""
    linear = spec.ffn.kind == "none" and spec.readout == "linear"
    return _plain(spec) and linear and _weighs(spec.bias.kind, spec.normaliser.kind)


def _weighs(bias: str, normaliser: str) -> bool:
    """Is each head a decay up to a factor?"""
    return normaliser in ("softmax", "none") and bias in DECAYS


def _copies(spec: ModelSpec, memory: FixedMemory, copies: int, length: int) -> bool:
    """Does the model hold the weights of `copied_numbers`, but for heads and neurons? Its tables
    reach every lag, its stream has room for x_t and each copy, each head carries a token, and ReLU
    reads them out.
    """
    if not _plain(spec) or spec.bias.kind != "table" or spec.bias.options["window"] < length:
        return False
    room = memory.dim * (1 + copies) + (spec.readout == "linear")  # there the answer has a place
    carried = spec.head_dim or spec.width // spec.heads
    reads = spec.ffn.kind == "relu" and spec.normaliser.kind == "softmax"
    return reads and spec.width >= room and carried >= memory.dim
