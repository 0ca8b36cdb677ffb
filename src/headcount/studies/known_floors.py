"""What is known, without training, of an architecture on a memory: its approximation and float32
terms.

    linear memory      a filter of `taps` lags                closed form
                       heads without a network                the best l2 fit (`experiments.floors`)
    fixed lags         table heads with a ReLU network        copies by formula, where they fit
                       (softmax, no norm, all lags in the table, room for every copy)
    linear memory      a diagonal recurrence, complex modes   roots of unity (`recurrence_floor`)
    everything else    unknown here
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headcount.core.errors import InputError
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
from headcount.theory.heads import DECAYS
from headcount.train.run_spec import read_model

UNKNOWN = "no weights are known for this architecture: approximation is part of optimisation"


def linear_kernel(target: AbstractTarget) -> AbstractKernel | None:
    """The kernel of a memory that is linear in independent tokens of one number, else None."""
    memory = unnamed(target)
    plain = isinstance(memory, (EssentialMemory, FixedMemory)) and memory.readout == Linear()
    if not plain or memory.dim != 1 or not memory.inputs.iid:  # type: ignore[attr-defined]
        return None
    if isinstance(memory, FixedMemory):
        values = np.zeros(memory.lags[-1] + 1)
        values[list(memory.lags)] = 1.0
        return ArrayKernel(tuple(values))
    kernels = memory.kernel  # type: ignore[attr-defined]
    return kernels[0] if len(kernels) == 1 else None


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
    kernel = linear_kernel(target)
    variance = getattr(getattr(unnamed(target), "inputs", None), "variance", 1.0)
    if kernel is not None and model.get("kind") == "filter":
        missed = kernel.values(length)[int(model.get("taps", 16)) :]
        return Floor(float(variance * np.sum(missed**2)), 0.0)
    numbers = _numbers(target, kernel, model, length, variance)
    if numbers is None or numbers.possible is None or numbers.constant:
        return Floor(why=UNKNOWN if numbers is None else (numbers.note or UNKNOWN))
    rounded = numbers.floor or numbers.possible
    return Floor(numbers.possible, max(0.0, rounded - numbers.possible), numbers.note)


def _numbers(
    target: AbstractTarget, kernel: AbstractKernel | None, model: Mapping[str, Any], length: int,
    variance: float,
) -> Numbers | None:  # fmt: skip
    spec = read_model(model)
    if isinstance(spec, PartSpec):  # of the baselines only bare heads
        if kernel is None or spec.kind != "heads":
            return None
        kind, heads = spec.options["bias"].kind, spec.options["heads"]
        return kernel_numbers(kernel, kind, heads, length, variance) if kind in DECAYS else None
    if kernel is not None and _adds_up(spec):
        return kernel_numbers(kernel, spec.bias.kind, spec.heads, length, variance, residual=True)
    try:
        if isinstance(unnamed(target), FixedMemory) and _copies(spec, target, length):
            return copied_numbers(target, spec.heads, spec.hidden, length)
    except (InputError, TypeError, KeyError):
        return None
    return None


def _plain(spec: ModelSpec) -> bool:
    """One layer without dot products in which nothing but the heads acts on the stream."""
    kinds = (spec.attention.kind, spec.norm.kind, spec.position.kind)
    return spec.layers == 1 and kinds == ("dp-free", "none", "none")


def _adds_up(spec: ModelSpec) -> bool:
    """Is the answer a sum of decays and of x_t, each with a coefficient of its own?"""
    linear = spec.ffn.kind == "none" and spec.readout == "linear"
    weighs = spec.normaliser.kind in ("softmax", "none") and spec.bias.kind in DECAYS
    return _plain(spec) and linear and weighs


def _copies(spec: ModelSpec, target: AbstractTarget, length: int) -> bool:
    """Does the model hold the weights of `copied_numbers`? Its tables reach every lag, its stream
    has room for x_t and each copy, each head carries a token, and ReLU reads them out.
    """
    if not _plain(spec) or spec.bias.kind != "table" or spec.bias.options["window"] < length:
        return False
    copies, _ = copies_needed(target)
    dim = unnamed(target).dim
    room = dim * (1 + copies) + (spec.readout == "linear")  # there the answer has a place too
    carried = spec.head_dim or spec.width // spec.heads
    reads = spec.ffn.kind == "relu" and spec.normaliser.kind == "softmax"
    return reads and spec.width >= room and carried >= dim
