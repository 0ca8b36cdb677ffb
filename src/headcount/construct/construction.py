"""A finished construction: the model, what was promised, what was measured, and what it took."""

import dataclasses
import html
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from headcount.construct.draft import Bound, Draft, Request
from headcount.core.claims import Precision, Status
from headcount.core.plural import counted
from headcount.core.refs import Ref
from headcount.memory.target import AbstractTarget, short_sequence
from headcount.model.attention import Attention
from headcount.model.card import NamedSpace
from headcount.model.cost import count_parameters
from headcount.model.save import save
from headcount.model.transformer import Transformer


@dataclasses.dataclass(frozen=True)
class Architecture:
    """The sizes of a Transformer, layer by layer where they differ."""

    layers: int
    heads: int  # the most in one layer
    width: int  # the most FFN neurons in one layer: m of the paper
    stream: int  # D of the paper
    heads_per_layer: tuple[int, ...]
    width_per_layer: tuple[int, ...]
    bias: str
    attention: str
    normaliser: str

    def words(self) -> str:
        """`1 layer, 4 heads, 0 neurons`."""
        sizes = {"layer": self.layers, "head": self.heads, "neuron": self.width}
        return ", ".join(counted(size, noun) for noun, size in sizes.items())

    @classmethod
    def of(cls, model: Transformer) -> "Architecture":
        layers = model.layers
        heads = tuple(_heads(layer.attention) for layer in layers)
        neurons = tuple(_neurons(layer.ffn) for layer in layers)
        busy = _busy(model)
        kinds = [
            _joined(getattr(a, part).kind for a in busy) for part in ("bias", "score", "normaliser")
        ]
        return cls(
            len(layers), max(heads), max(neurons), busy[0].w_value.shape[2], heads, neurons, *kinds
        )

    @staticmethod
    def biases_of(model: Transformer) -> tuple[str, ...]:
        """The biases of the layers whose heads write, each once, in the order of the layers."""
        return tuple(dict.fromkeys(attention.bias.kind for attention in _busy(model)))


def _heads(attention: Attention) -> int:
    """Heads that write anything."""
    return attention.heads if np.any(np.asarray(attention.w_out)) else 0


def _busy(model: Transformer) -> list[Attention]:
    """The attention of the layers whose heads write; of the last layer where none does."""
    every = [layer.attention for layer in model.layers]
    return [attention for attention in every if _heads(attention)] or every[-1:]


def _joined(kinds: Any) -> str:
    return "+".join(dict.fromkeys(kinds))


def _neurons(ffn: Any) -> int:
    inner = getattr(ffn, "inner", ffn)
    return inner.w_in.shape[0] if hasattr(inner, "w_in") else 0


@dataclasses.dataclass(frozen=True)
class LayerError:
    """One line of the error budget: what a subspace was allowed to be off, and what it was at
    most on the checked inputs.
    """

    layer: int
    part: str
    space: str
    promised: float
    measured: float
    why: str


@dataclasses.dataclass(frozen=True)
class Measured:
    """Errors of the answers against the target's independent float64 reference."""

    sup: float
    mse: float
    inputs: int  # sequences
    answers: int
    kinds: tuple[str, ...]  # random, extreme, adversarial, shortest, …


@dataclasses.dataclass(frozen=True)
class Construction:
    """Weights with their proof. `model` is in the precision asked for; float64 ones run inside
    `jax.enable_x64(True)`.
    """

    target: AbstractTarget
    request: Request
    draft: Draft
    model: Transformer
    measured: Measured
    float32: Measured
    budget: tuple[LayerError, ...]
    seconds: float

    @property
    def promised(self) -> Bound:
        return self.draft.output

    @property
    def theorem(self) -> Ref:
        return self.draft.theorem

    @property
    def status(self) -> Status:
        """Is what is promised proved, or measured in part?"""
        return self.draft.status

    @property
    def notes(self) -> tuple[str, ...]:
        return self.draft.notes

    @property
    def architecture(self) -> Architecture:
        return Architecture.of(self.draft.model)

    @property
    def parameters(self) -> int:
        return count_parameters(self.model)

    def __repr__(self) -> str:
        a = self.architecture
        return (
            f"Construction({self.target.kind}: {a.words()},"
            f" {counted(self.parameters, 'parameter')}, error {self.measured.sup:.3g}"
            f" of {self.promised.at(Precision.FLOAT64):.3g} promised)"
        )

    def _repr_html_(self) -> str:
        lines = "".join(
            f"<tr><td>layer {line.layer} {html.escape(line.part)}</td>"
            f"<td>{html.escape(line.space)}</td><td>{line.measured:.3g}</td>"
            f"<td>{line.promised:.3g}</td><td>{html.escape(line.why)}</td></tr>"
            for line in self.budget
        )
        head = "<tr><th>part</th><th>slot</th><th>measured</th><th>allowed</th><th>why</th></tr>"
        return f"<p>{html.escape(repr(self))}</p><table>{head}{lines}</table>"

    def to_json(self, target: str) -> dict[str, Any]:
        """Plain values for `headcount build --json`; `target` as the user wrote it."""
        return {
            "target": target,
            "architecture": dataclasses.asdict(self.architecture),
            "parameters": self.parameters,
            "parameters_nonzero": int(
                sum(
                    np.count_nonzero(np.asarray(a))
                    for a in jax.tree.leaves(self.draft.model)
                    if eqx.is_array_like(a)
                )
            ),
            "precision": str(self.request.precision),
            "length": self.request.length,
            "first_position": self.draft.first,  # earlier ones have no promise
            "error_measured": {
                "sup": self.measured.sup,
                "mse": self.measured.mse,
                "inputs": self.measured.inputs,
                "answers": self.measured.answers,
                "kinds": list(self.measured.kinds),
            },
            "error_promised": self.promised.at(Precision.FLOAT64),
            "status": str(self.status),
            "error_float32": self.float32.sup,
            "budget": [dataclasses.asdict(line) for line in self.budget],
            "theorem": str(self.theorem),
            "facts": self.draft.facts,
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def save(self, folder: str | Path, target: str) -> Path:
        """The model folder, with the numbers of this construction in its README."""
        told = json.dumps(
            {k: v for k, v in self.to_json(target).items() if k not in ("budget", "facts")},
            indent=2,
        )
        lines = [
            f"Built by formula for `{target}`: {self.theorem}. Nothing was trained.",
            "",
            *(f"- {note}" for note in self.notes),
            "",
            f"```json\n{told}\n```",
        ]
        length = self.request.length
        example = short_sequence(self.target, length)
        first = self.draft.first
        return save(self.model, folder, "\n".join(lines), self.spaces, length, example, first)

    @property
    def spaces(self) -> tuple[NamedSpace, ...]:
        """The subspaces of the stream that are promised to hold something, each where it first
        does.
        """
        found: dict[str, NamedSpace] = {}
        for promise in self.draft.promises:
            where = promise.coordinates
            named = NamedSpace(
                promise.space, where.start, where.stop, promise.layer, promise.part, promise.why
            )
            found.setdefault(promise.space, named)
        return tuple(found.values())


def in_precision(model: Transformer, precision: Precision) -> Transformer:
    """The NumPy weights as arrays of this type. NumPy rounds them and they are only handed over:
    `jnp.asarray` would compile a program for every shape.
    """
    wide = precision is Precision.FLOAT64
    dtype = np.float64 if wide else np.float32

    def rounded(leaf: Any) -> Any:
        return jax.device_put(leaf.astype(dtype)) if isinstance(leaf, np.ndarray) else leaf

    with jax.enable_x64(wide), np.errstate(over="ignore"):
        return jax.tree.map(rounded, model)
