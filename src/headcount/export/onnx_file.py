"""`model.onnx`: the PyTorch form, traced with free batch and length, and compared with our own
answers before it is kept.
"""

import contextlib
import importlib.util
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import CheckFailed, InputError
from headcount.memory.read import Everywhere
from headcount.model.base import AbstractModel

NEEDED = ("torch", "onnxscript", "onnxruntime")
TOLERANCE = 1e-5  # of the largest answer
LENGTHS = (9, 14)  # traced with the first, compared at both


def exported_module(folder: Path) -> ModuleType:
    """The exported `model.py`, imported."""
    spec = importlib.util.spec_from_file_location("exported_model", folder / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_onnx(work: Path, model: AbstractModel) -> None:
    """Trace, write and compare; what cannot be traced or differs is refused."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"{', '.join(missing)} not installed",
            f"{', '.join(NEEDED)}",
            "pip install 'headcount[torch,onnx]'",
        )
    import torch

    traced = exported_module(work).load(work)
    tokens = torch.export.Dim("batch", min=1), torch.export.Dim("length", min=2)
    x = torch.from_numpy(sample(model, LENGTHS[0]))
    try:
        with warnings.catch_warnings(), _quiet():
            warnings.simplefilter("ignore")  # the tracer's own
            torch.onnx.export(
                traced,
                (x,),
                work / "model.onnx",
                dynamo=True,
                verbose=False,
                external_data=False,
                input_names=["tokens"],
                output_names=["answers"],
                dynamic_shapes=({0: tokens[0], 1: tokens[1]},),
            )
    except Exception as error:  # whatever the tracer does not know
        line = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(
            f"this model cannot be written as ONNX ({line[:200]})",
            "parts that torch.onnx can trace",
            "use --to torch",
        ) from None
    for length in LENGTHS:
        _compare(work / "model.onnx", model, length)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the tracer's log, which tells of packages that a model does not need."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def sample(model: AbstractModel, length: int) -> np.ndarray:
    """Tokens to compare on, of the type that the model takes."""
    draw = np.random.default_rng(length)
    vocabulary, dim = model.tokens
    if vocabulary:
        return draw.integers(0, vocabulary, (2, length))
    return draw.uniform(-1, 1, (2, length, dim)).astype(np.float32)


def _compare(path: Path, model: AbstractModel, length: int) -> None:
    import onnxruntime

    x = sample(model, length)
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        found: Any = session.run(None, {"tokens": x})[0]
    except Exception as error:  # the runtime has error types of its own
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"ONNX Runtime does not run it at length {length} ({said})",
            "a model that can be traced for every length (no recurrence)",
            "use --to torch",
        ) from None
    ours = np.asarray(jax.jit(lambda z: model(z, Everywhere()))(jnp.asarray(x)))
    off = float(np.abs(found - ours).max()) / max(1.0, float(np.abs(ours).max()))
    if not off <= TOLERANCE:
        raise CheckFailed(
            f"ONNX Runtime's answers differ by {off:.3g}, {TOLERANCE:g} is allowed; nothing was"
            " written; use --to torch"
        )
