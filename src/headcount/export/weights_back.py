"""Weights that were trained in PyTorch, back as a model of ours: for floors, plots and reports.

The exported file keeps our names, so a state dict is all that is needed beside the folder's
`config.json`. Numbers are brought to the type that the config says.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from headcount.core.arguments import checked
from headcount.core.errors import InputError, require
from headcount.core.files import refuse_endless
from headcount.model.base import AbstractModel
from headcount.model.save import described_arrays, read_config, with_weights


@checked
def import_torch(weights: Any, folder: str | Path) -> AbstractModel:
    """The model of an exported folder with other weights.

    `weights`: the PyTorch module, its state dict, or a safetensors file of it. A float64 model
    must be read inside `jax.enable_x64(True)`.
    """
    config = read_config(Path(folder))
    arrays = described_arrays(config["model"])
    found = {
        name: _array(name, value, arrays[name][0] if name in arrays else "float32")
        for name, value in _state(weights).items()
    }
    return with_weights(config, found)


def _state(weights: Any) -> Mapping[str, Any]:
    if isinstance(weights, str | Path):
        try:
            refuse_endless(Path(weights))
            return safetensors.numpy.load_file(weights)
        # of its own kind, or of NumPy's for a number type that it does not have (8-bit floats)
        except Exception as error:
            raise InputError(
                f"cannot read {weights} ({getattr(error, 'strerror', None) or error})",
                "a safetensors file",
                'write it with `save(model, "trained.safetensors")` of the exported model.py',
            ) from None
    state = weights.state_dict() if hasattr(weights, "state_dict") else weights
    require(
        isinstance(state, Mapping),
        f"weights of type {type(weights).__name__}",
        "a module, a state dict, or a safetensors file",
        "pass model.state_dict()",
    )
    return state


def _array(name: str, value: Any, dtype: str) -> np.ndarray:
    """A tensor (or array) as an array of this type."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()
    if dtype == "bfloat16":
        import ml_dtypes  # comes with jax

        wanted: Any = ml_dtypes.bfloat16
    else:
        wanted = dtype
    try:
        return np.asarray(value).astype(wanted)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is a {type(value).__name__}", "a tensor of numbers", "pass model.state_dict()"
        ) from None
