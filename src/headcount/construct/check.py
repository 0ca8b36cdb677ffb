"""Every build is checked: promises layer by layer, answers against the float64 reference.

Inputs are random sequences, extreme ones (each letter, or the ends of the axes, held constant or
alternating), the shortest and the longest, and adversarial ones: starting from random sequences,
tokens are moved where the gradient of the error says, to a letter or to the edge of the ball. For a
linear readout behind dot-product-free heads one such step is the worst sign pattern of the l1
error. What fails, fails loudly, and names the first layer whose promise broke.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from headcount.construct import backward, forward
from headcount.construct.construction import LayerError, Measured, in_precision
from headcount.construct.draft import Draft, Request
from headcount.core.claims import Precision
from headcount.core.errors import CheckFailed
from headcount.core.xla import QUICK, SOUND, known
from headcount.memory.named import unnamed
from headcount.memory.read import AbstractRead, At, Everywhere
from headcount.memory.target import AbstractTarget
from headcount.model.stream import Stream
from headcount.model.transformer import Transformer

BATCH = 8
EVERYWHERE_BATCH = 2
EVERYWHERE_LENGTH = 64  # sequences on which every position is read
ASCENTS = 3
MANY_PAIRS = 10**7  # of tokens: beyond these a program runs longer than it takes to compile
SLACK = 1e-13  # of the promise's own evaluation in float64


def once(function: Callable[..., Any], *arguments: Any, options: Mapping[str, Any] = QUICK) -> Any:
    """A call compiled for speed of compilation; arguments may be models. Equal structures and
    sizes share a program.
    """
    # rows stay NumPy: they are static
    arrays, rest = eqx.partition(arguments, lambda leaf: isinstance(leaf, jax.Array))
    leaves, tree = jax.tree.flatten(rest)
    fixed = tuple(_Same(leaf) for leaf in leaves)
    return _compiled(tuple(options.items()))(arrays, function, fixed, tree)


@functools.cache
def _compiled(options: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    return jax.jit(_called, static_argnums=(1, 2, 3), compiler_options=known(dict(options)))


def _called(
    arrays: Any, function: Callable[..., Any], fixed: tuple["_Same", ...], tree: Any
) -> Any:
    return function(*eqx.combine(arrays, jax.tree.unflatten(tree, [leaf.value for leaf in fixed])))


class _Same:
    """A static argument, equal by content: NumPy arrays (rows) have no hash of their own."""

    def __init__(self, value: Any):
        self.value = value
        self.key = (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclasses.dataclass(frozen=True, eq=False)
class Probe:
    """Sequences of one kind, and where they are read."""

    target: AbstractTarget
    kind: str
    x: np.ndarray  # [B, N, d] or [B, N]
    read: AbstractRead

    @functools.cached_property
    def wanted(self) -> tuple[np.ndarray, np.ndarray]:
        """The right answers and which of them count: every row of a plan is compared with them."""
        return reference(self.target, self.x, self.read)

    def spread(self, count: int) -> "Probe":
        """So many of the sequences, of every kind."""
        if count >= len(self.x):
            return self
        chosen = np.linspace(0, len(self.x) - 1, count).round().astype(int)
        return Probe(self.target, self.kind, self.x[chosen], self.read)


def sampled(target: AbstractTarget, request: Request) -> Probe:
    """Random and extreme sequences of the longest length."""
    longest = max(request.length, target.shortest)
    return Probe(
        target,
        "random, extreme",
        np.concatenate([_sample(target, longest), _extremes(target, longest)]),
        target.read,
    )


def probes(
    target: AbstractTarget, drawn: Probe, model: Transformer, only_longest: bool,
    starts: int = BATCH,
) -> list[Probe]:  # fmt: skip
    """All inputs of a build, from the longest ones that were drawn. Shorter ones are beginnings of
    longer ones: they are samples as well. The adversary begins with `starts` random ones.
    """
    made = [drawn]
    x = made[0].x
    if target.vocabulary is None:
        moved = _adversarial(target, model, x[:starts], target.read)
        made.append(Probe(target, "adversarial", moved, target.read))
    if not only_longest:
        # the row that is read must exist
        least = max(target.shortest, target.read.position if isinstance(target.read, At) else 1)
        made.append(Probe(target, "shortest", x[:, :least], target.read))
        every = max(min(EVERYWHERE_LENGTH, x.shape[1]), target.shortest)
        if every <= 4 * EVERYWHERE_LENGTH:
            made.append(Probe(target, "every position", x[:EVERYWHERE_BATCH, :every], Everywhere()))
    return _joined(made)


def _joined(made: list[Probe]) -> list[Probe]:
    """Probes of one length and read as one: every shape costs a compilation."""
    groups: dict[tuple[int, AbstractRead], list[Probe]] = {}
    for probe in made:
        groups.setdefault((probe.x.shape[1], probe.read), []).append(probe)
    return [
        g[0]
        if len(g) == 1
        else Probe(
            g[0].target, ", ".join(p.kind for p in g), np.concatenate([p.x for p in g]), read
        )
        for (_, read), g in groups.items()
    ]


def _sample(target: AbstractTarget, length: int) -> np.ndarray:
    return np.asarray(once(lambda key: target.sample(key, BATCH, length).x, jax.random.key(0)))


def _letters(target: AbstractTarget) -> np.ndarray:
    """The tokens at the edge of what may come: the alphabet, else the ends of the ball's axes.
    [V, d]
    """
    inputs = unnamed(target).inputs  # type: ignore[attr-defined]
    if inputs.alphabet is not None:
        return np.array(inputs.alphabet)
    axes = np.eye(inputs.dim) * inputs.bound
    return np.concatenate([axes, -axes])


def _steepest(target: AbstractTarget, slope: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The tokens that a linear error of this slope is largest for: a letter, else the point of the
    ball that lies in its direction; tokens that do not matter stay.  [B, N, d]
    """
    inputs = unnamed(target).inputs  # type: ignore[attr-defined]
    if inputs.alphabet is None:
        size = np.linalg.norm(slope, axis=-1, keepdims=True)
        return np.where(size > 0, inputs.bound * slope / np.where(size > 0, size, 1), z)
    letters = np.array(inputs.alphabet)
    gain = np.einsum("bnd,vd->bnv", slope, letters)
    return np.where((gain.max(-1) > gain.min(-1))[..., None], letters[gain.argmax(-1)], z)


def _extremes(target: AbstractTarget, length: int) -> np.ndarray:
    """Each of the first letters held constant, and all of them in turn, forwards and backwards.
    [B, N, d] or [B, N]
    """
    letters = (
        np.arange(target.vocabulary, dtype=np.int32)
        if target.vocabulary is not None
        else _letters(target)
    )
    constant = np.repeat(letters[:8, None], length, axis=1)
    turns = np.stack(
        [letters[np.arange(length) % len(letters)], letters[-1 - np.arange(length) % len(letters)]]
    )
    return np.concatenate([constant, turns])


def _adversarial(
    target: AbstractTarget, model: Transformer, x: np.ndarray, read: AbstractRead
) -> np.ndarray:
    """Tokens chosen to raise the error at the last row read, its own token kept (it may decide
    the lags).  [B, N, d]
    """
    row = int(read.rows(x.shape[1])[-1])
    slope = (_slope_of_known if backward.served(model) else _slope_compiled)(target, model, read)
    z = np.array(x, np.float64)
    for _ in range(ASCENTS):
        moved = _steepest(target, np.nan_to_num(slope(z)), z)
        moved[:, row] = z[:, row]
        if np.array_equal(moved, z):
            break
        z = moved
    return z


# of the error at the last row read, in every token  [B, N, d] → [B, N, d]
Slope = Callable[[np.ndarray], np.ndarray]


def _slope_of_known(target: AbstractTarget, model: Transformer, read: AbstractRead) -> Slope:
    """Only the target's own slope is compiled: a program of a few lines."""
    with jax.enable_x64(True):
        answers_back = jax.jit(
            lambda z, toward: jax.vjp(lambda x: target.evaluate(x, read), z)[1](toward)[0],
            compiler_options=known(QUICK),
        )

    def slope(z: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            off = forward.answers(model, z, read, np.float64) - target.reference(z, read)
            toward = np.sign(off)
            toward[:, :-1] = 0.0
            own = backward.slope(model, z, read, toward)
        with jax.enable_x64(True):
            return own - np.asarray(answers_back(jax.device_put(z), jax.device_put(toward)))

    return slope


def _slope_compiled(target: AbstractTarget, model: Transformer, read: AbstractRead) -> Slope:
    with jax.enable_x64(True):
        wide = in_precision(model, Precision.FLOAT64)

        def error(z: jax.Array) -> jax.Array:
            return jnp.abs(wide(z, read) - target.evaluate(z, read))[:, -1].sum()

        compiled = jax.jit(jax.grad(error), compiler_options=known(QUICK))

    def slope(z: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(compiled(jax.device_put(z)))

    return slope


def check(
    target: AbstractTarget, request: Request, draft: Draft, drawn: Probe | None = None,
    blink: bool = False,
) -> tuple[Measured, Measured, tuple[LayerError, ...]]:  # fmt: skip
    """Errors in float64 and float32, and the budget; `CheckFailed` where a promise is broken.
    `drawn` is what `sampled` gives, where it is at hand. In a `blink` a model that compares many
    pairs of tokens is attacked from, and run as shipped on, a few sequences only; promises and
    answers are compared on all of them, and a build does the rest.
    """
    drawn = drawn or sampled(target, request)
    few = _affordable(draft.model, drawn) if blink else len(drawn.x)
    inputs = probes(target, drawn, draft.model, draft.only_longest, min(few, BATCH))
    budget = _budget(draft, inputs)
    measured = measure(target, draft.model, inputs, Precision.FLOAT64)
    narrow = measure(target, draft.model, inputs, Precision.FLOAT32)
    narrow = dataclasses.replace(
        narrow, sup=max(narrow.sup, as_shipped(target, draft.model, inputs[0].spread(few)))
    )
    promised = draft.output.at(Precision.FLOAT64) * (1 + SLACK) + SLACK
    if not measured.sup <= promised:
        fault = "the readout (all layers before it kept their promises)"
        told = (
            f"measured error {measured.sup:.3g} exceeds the promised {promised:.3g}; at fault:"
            f" {fault}"
        )
        raise CheckFailed(f"{draft.theorem}: {told}; nothing was written")
    return measured, narrow, budget


def _budget(draft: Draft, inputs: list[Probe]) -> tuple[LayerError, ...]:
    """Each promise with the largest deviation seen, in float64; a broken one stops the build."""
    worst = [0.0] * len(draft.promises)
    for probe in inputs:
        found_in = streams(draft.model, probe.x)
        counted = probe.read.rows(probe.x.shape[1]) if draft.only_longest else slice(None)
        for i, promise in enumerate(draft.promises):
            found = found_in[promise.layer, promise.part][:, :, promise.coordinates]
            wanted = np.stack([promise.exact(np.asarray(seq)) for seq in probe.x])  # [B, N, size]
            off = np.linalg.norm(found - wanted, axis=-1)[:, counted]
            worst[i] = max(worst[i], float(np.max(off, initial=0.0, where=~np.isnan(off))))
    lines = tuple(
        LayerError(p.layer, p.part, p.space, p.bound.at(Precision.FLOAT64), w, p.why)
        for p, w in zip(draft.promises, worst, strict=True)
    )
    for line in lines:
        if not line.measured <= line.promised * (1 + SLACK) + SLACK:
            fault = (
                f"layer {line.layer} ({line.part}) writes {line.space} with error"
                f" {line.measured:.3g}, promised {line.promised:.3g}"
            )
            raise CheckFailed(f"{draft.theorem}: {fault} ({line.why}); nothing was written")
    return lines


def streams(model: Transformer, x: np.ndarray) -> dict[tuple[int, str], np.ndarray]:
    """The stream after every sublayer but the readout, in float64.  [B, N, D]"""
    if forward.served(model):
        return forward.streams(model, x, np.float64)
    with jax.enable_x64(True):
        wide = in_precision(model, Precision.FLOAT64)
        found = once(_all_streams, wide, jax.device_put(x))
        return {place: np.asarray(stream) for place, stream in found.items()}


def _all_streams(model: Transformer, x: jax.Array) -> dict[tuple[int, str], jax.Array]:
    found, stream, rows = {}, model.embedding.stream(x), np.arange(x.shape[1])
    for number, layer in enumerate(model.layers, start=1):
        middle = stream.full() + layer.attention(stream, rows)
        found[number, "attention"] = middle
        if layer.residual:
            found[number, "ffn"] = middle + layer.ffn(middle)
            stream = Stream(found[number, "ffn"])
    return found


def measure(
    target: AbstractTarget, model: Transformer, inputs: list[Probe], precision: Precision
) -> Measured:
    """The answers' errors of a model computed in this format."""
    sup, square, answers, sequences = 0.0, 0.0, 0, 0
    for probe in inputs:
        off = errors(target, model, probe, precision)
        sup, square = max(sup, float(off.max(initial=0.0))), square + float((off**2).sum())
        answers, sequences = answers + off.size, sequences + len(probe.x)
    return Measured(
        sup, square / max(answers, 1), sequences, answers, tuple(p.kind for p in inputs)
    )


def errors(
    target: AbstractTarget, model: Transformer, probe: Probe, precision: Precision
) -> np.ndarray:
    """|answer - reference| of the answers that count; nothing is compiled for known parts.  [n]"""
    if not forward.served(model):
        return compiled_errors(target, model, probe, precision)
    dtype = np.float64 if precision is Precision.FLOAT64 else np.float32
    with np.errstate(over="ignore", invalid="ignore"):
        found = forward.answers(model, probe.x, probe.read, dtype)
    return _off(probe, np.asarray(found, np.float64))


def compiled_errors(
    target: AbstractTarget, model: Transformer, probe: Probe, precision: Precision
) -> np.ndarray:
    """The same by the model as it is shipped.  [n]"""
    with jax.enable_x64(precision is Precision.FLOAT64):
        shipped = in_precision(model, precision)
        dtype = shipped.layers[0].attention.w_value.dtype
        x = probe.x.astype(dtype) if target.vocabulary is None else probe.x
        call = functools.partial(_answers, read=probe.read)
        much = _pairs(model, probe) > MANY_PAIRS
        found = once(call, shipped, jax.device_put(x), options=SOUND if much else QUICK)
        return _off(probe, np.asarray(found, np.float64))


def _affordable(model: Transformer, probe: Probe) -> int:
    """Sequences, at least two, on which not too many pairs are compared."""
    each = max(1, _pairs(model, probe) // len(probe.x))
    return min(len(probe.x), max(2, MANY_PAIRS // each))


def _pairs(model: Transformer, probe: Probe) -> int:
    """Pairs of tokens that heads with an eye on tokens compare."""
    length, rows = probe.x.shape[1], len(probe.read.rows(probe.x.shape[1]))
    counts = [length] * (len(model.layers) - 1) + [rows]
    return len(probe.x) * sum(
        count * length * layer.attention.w_value.shape[0]
        for layer, count in zip(model.layers, counts, strict=True)
        if layer.attention.score.kind != "dp-free"
    )


def _answers(model: Transformer, x: jax.Array, read: AbstractRead) -> jax.Array:
    return model(x, read)


def as_shipped(target: AbstractTarget, model: Transformer, probe: Probe) -> float:
    """The largest error of the compiled float32 model: one shape, one compilation."""
    return float(compiled_errors(target, model, probe, Precision.FLOAT32).max(initial=0.0))


def _off(probe: Probe, found: np.ndarray) -> np.ndarray:
    wanted, counted = probe.wanted
    off = np.abs(found - wanted)[counted]
    return np.where(np.isfinite(off), off, np.inf)


def reference(
    target: AbstractTarget, x: np.ndarray, read: AbstractRead
) -> tuple[np.ndarray, np.ndarray]:
    """The right answers (labels as one-hot vectors) and which of them count.  [B, R, o], [B, R]"""
    y = target.reference(x, read)
    if not target.labels:
        return y, np.ones(y.shape[:2], bool)
    known = y >= 0
    return np.eye(target.outputs)[np.where(known, y, 0)], known
