"""What is known, without training, of an architecture on a memory: its approximation and float32
terms.

    linear memory      a filter of `taps` lags                closed form
                       heads without a network                the best l2 fit (`experiments.floors`)
    fixed lags         table heads with a ReLU network        copies by formula, where they fit
    everything else    unknown here
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headcount.core.errors import InputError
from headcount.experiments.floors import kernel_numbers
from headcount.experiments.table_numbers import copied_numbers
from headcount.lab.numbers import Numbers
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import AbstractKernel, ArrayKernel
from headcount.memory.named import unnamed
from headcount.memory.readouts import Linear
from headcount.memory.target import AbstractTarget
from headcount.studies.decomposition import Floor
from headcount.theory.heads import DECAYS

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
    bias = model.get("bias", "lin")
    kind = bias if isinstance(bias, str) else bias["kind"]
    bare = model.get("kind") == "heads"
    free = bare or model.get("attention") == "dp-free"
    heads, layers = int(model.get("heads", 1)), int(model.get("layers", 1))
    affine = bare or (model.get("ffn") == "none" and model.get("readout") == "linear")
    if kernel is not None and free and affine and layers == 1 and kind in DECAYS:
        return kernel_numbers(kernel, kind, heads, length, variance, residual=not bare)
    if isinstance(unnamed(target), FixedMemory) and free and layers == 1 and kind == "table":
        try:
            return copied_numbers(target, heads, int(model.get("hidden", 256)), length)
        except (InputError, TypeError, KeyError):
            return None
    return None
