"""The exact expectation of the squared loss, without a single sample.

A linear model reads kappa: answer_o = c_o + sum_{s,j} kappa_o(s, j) x_{t-s,j}; a linear target
reads rho in the same way. For independent centred tokens with E x x^T = v I,

    E (answer - y)^2 = v ||kappa - rho||^2 + (c - c')^2

(docs/experiments.md#population: what experiments 4a and 4b are trained on). A kernel is the
gradient of the answer in the input, at any point since the map is affine: one backward pass, O(N
H), where the answers to N basis inputs would be O(N^2 H).

The same two kernels say where the loss is: at a lag s that a fixed memory reads,
||kappa(s) - rho(s)||^2 / ||rho(s)||^2 is 0 where the lag is read exactly and 1 where it is not read
at all.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import InputError
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.named.base import AbstractNamed
from headcount.memory.read import AbstractRead
from headcount.memory.readouts import Linear
from headcount.memory.target import AbstractTarget
from headcount.model.baselines import Heads, LinearFilter
from headcount.model.embedding import LinearEmbedding
from headcount.model.ffn import NoFFN
from headcount.model.transformer import Transformer

Answers = Callable[[jax.Array, AbstractRead], jax.Array]


def kernel(
    answers: Answers, read: AbstractRead, length: int, dim: int
) -> tuple[jax.Array, jax.Array]:
    """Kernel [o, N, d] and constant [o] of an affine map, by rows of input: row t-1-s is lag s."""
    zero = jnp.zeros((1, length, dim), jnp.result_type(float))
    constant, pull = jax.vjp(lambda x: answers(x, read)[0, 0], zero)
    return (
        jax.vmap(lambda unit: pull(unit)[0][0])(jnp.eye(len(constant), dtype=constant.dtype)),
        constant,
    )


class Gap(NamedTuple):
    """What is between a model and a target, both affine."""

    kernel: jax.Array  # [o, N, d] kappa - rho
    constant: jax.Array  # [o]
    target: jax.Array  # [o, N, d] rho


def gap(model: Answers, target: Answers, read: AbstractRead, length: int, dim: int) -> Gap:
    """The two kernels and constants, one taken from the other."""
    kappa, c = kernel(model, read, length, dim)
    rho, c_target = kernel(target, read, length, dim)
    return Gap(kappa - rho, c - c_target, rho)


def population_loss(between: Gap, variance: float) -> jax.Array:
    """E (answer - y)^2 over the inputs' law, averaged over outputs."""
    return jnp.mean(variance * jnp.sum(between.kernel**2, axis=(1, 2)) + between.constant**2)


def lag_errors(between: Gap, read: AbstractRead, lags: tuple[int, ...]) -> jax.Array:
    """The share of each lag that is left unread, over outputs and coordinates.  [M]"""
    length = between.target.shape[1]
    rows = int(read.rows(length)[0]) - np.array(lags, int)
    off, whole = (
        jnp.sum(each[:, rows] ** 2, axis=(0, 2)) for each in (between.kernel, between.target)
    )
    return off / whole


def lags_read(target: object) -> tuple[int, ...]:
    """The lags of a fixed memory that its linear readout gives a weight; none for other
    memories, which read every lag a little.
    """
    member = _member(target)
    if not (isinstance(member, FixedMemory) and isinstance(member.readout, Linear)):
        return ()
    weights = member.readout.full(len(member.lags) + 1)[1:]
    return tuple(lag for lag, weight in zip(member.lags, weights, strict=True) if weight)


def target_variance(target: AbstractTarget, read: AbstractRead, length: int) -> float:
    """The variance of y: the loss of the best constant."""
    rho, _ = kernel(target.evaluate, read, length, target.dim)
    return variance_of(target) * float(jnp.mean(jnp.sum(rho**2, axis=(1, 2))))


def variance_of(target: object) -> float:
    """v of the inputs' law."""
    return _member(target).inputs.variance


def _member(target: object) -> Any:
    return target.target if isinstance(target, AbstractNamed) else target


def exact_risk(model: Answers, target: AbstractTarget, length: int) -> jax.Array:
    """E (answer - y)^2 of given weights, where `check_population` has nothing to say."""
    between = gap(model, target.evaluate, target.read, length, target.dim)
    return population_loss(between, variance_of(target))


def check_population(target: object, model: object, length: int, samples: int) -> None:
    """Refuse, with all the reasons, where the formula does not hold."""
    reasons = [*_of_target(target, length), *_of_model(model)]
    if samples:
        reasons.append(f"the data are {samples} samples, not fresh")
    if reasons:
        raise InputError(
            f"loss population: {', and '.join(reasons)}",
            "a fixed or essential memory with linear readout on independent inputs, read at one"
            " position, and a linear model (attention dp-free, ffn none, norm none, real tokens; or"
            " bare heads or a filter)",
            "change these, or use loss squared",
        )


def _of_target(target: object, length: int) -> list[str]:
    member = _member(target)
    if not isinstance(member, (FixedMemory, EssentialMemory)):
        return [
            f"the target ({getattr(type(target), 'kind', type(target).__name__)}) is no fixed or"
            " essential memory"
        ]
    reasons = []
    if not isinstance(member.readout, Linear):
        reasons.append(f"the target's readout is {member.readout.kind}, not linear")
    if not (member.inputs.iid and member.inputs.variance is not None):
        reasons.append(f"the inputs ({member.inputs.kind}) are not independent and centred")
    if len(target.read.rows(length)) != 1:  # type: ignore[attr-defined]
        reasons.append("the target is read at more than one position")
    return reasons


def _of_model(model: object) -> list[str]:
    if isinstance(model, LinearFilter):
        return []
    if isinstance(model, Heads):
        return (
            []
            if model.attention.score.content_free
            else [f"the attention is {model.attention.score.kind}, not dp-free"]
        )
    if not isinstance(model, Transformer):
        return [f"the model is a {type(model).__name__}, no Transformer"]
    reasons = (
        [] if isinstance(model.embedding, LinearEmbedding) else ["the embedding is not linear"]
    )
    for i, layer in enumerate(model.layers, start=1):
        if not layer.attention.score.content_free:
            reasons.append(
                f"the attention of layer {i} is {layer.attention.score.kind}, not dp-free"
            )
        if not isinstance(layer.ffn, NoFFN):
            reasons.append(f"the ffn of layer {i} is {layer.ffn.kind}, not none")
        if {layer.attention_norm.kind, layer.ffn_norm.kind} != {"none"}:
            reasons.append(f"layer {i} has a norm")
    if model.final_norm is not None and model.final_norm.kind != "none":
        reasons.append("there is a final norm")
    return reasons
