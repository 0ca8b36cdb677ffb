"""A model at work on one sequence, layer by layer: where every head looks, what it carries, and
what the named subspaces of the residual stream hold.
"""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from headcount.construct.construct import small_ones_beside
from headcount.construct.construction import Architecture, Construction
from headcount.core.claims import Precision
from headcount.core.errors import InputError, require
from headcount.memory.named import unnamed
from headcount.memory.read import Everywhere
from headcount.model import paths
from headcount.model.cost import count_parameters
from headcount.model.save import first_position, load, named_spaces, promised_length
from headcount.model.stream import Stream
from headcount.model.transformer import Layer, Transformer
from headcount.web.asked import AskModel
from headcount.web.root import Root
from headcount.web.views.memories import drawn
from headcount.web.views.plain_numbers import rows, short
from headcount.web.views.plans import SUBSPACES, built, subspaces

READ = ("config.json", "model.safetensors", SUBSPACES)
MOST_NAMES = 100_000  # bytes of them
LARGEST_FILE = 64 * 2**20
MOST_COORDINATES = 64  # of the picture of the stream
MOST_HEADS = 64
MOST_HELD = 200_000  # numbers of one named subspace


def model_view(asked: AskModel, root: str) -> dict[str, Any]:
    """The model of a folder or of a construction, and its way through one sequence."""
    given = (asked.folder is None) + (asked.build is None)
    require(given == 1, "a model by folder and build, or neither", "one of them", "choose one")
    # a saved model in float64 loads only where that is switched on
    with jax.enable_x64(True):
        if asked.build is not None:
            made = built(asked.build)
            names, model = subspaces(made), made.model
            x = _sequence(asked, model, made)
            ends = made.request.length  # promises end there
            require(
                x.shape[1] <= ends,
                f"a sequence of {x.shape[1]} tokens",
                f"at most {ends}, for which the model is built",
                "raise the longest sequence",
            )
            exact, first, rounded = _exact(made, x), made.draft.first, made.request.precision
            longest: int | None = ends
            beside = small_ones_beside(made) if asked.build.theorem is None else []
        else:
            assert asked.folder is not None
            folder = Root(root).with_files(asked.folder, *READ)
            model = opened(folder)
            there = range(1, len(model.layers) + 1)
            names = [space for space in _names(folder) if space["layer"] in there]
            longest = promised_length(folder)
            x, exact, first = _sequence(asked, model, None, longest), None, first_position(folder)
            beside, rounded = [], None
        told = {
            "subspaces": names,
            "exact": exact,
            "precision": rounded,  # of what is allowed; None where nothing is
            "first_position": first,
            "longest": longest,  # tokens: nothing is promised beyond; None: the folder does not say
            "beside": beside,  # constructions that may be smaller
        }
        return {**_sizes(model), **at_work(model, x, names), **told}


def opened(folder: Path) -> Transformer:
    """The Transformer of a folder; too large ones and other models are refused."""
    weights = folder / "model.safetensors"
    here = f"folder {folder.name!r}"
    require(weights.is_file(), here, "a folder with a saved model", "choose another")
    size = weights.stat().st_size
    require(
        size <= LARGEST_FILE,
        f"a model of {size / 2**20:.0f} MB",
        f"at most {LARGEST_FILE // 2**20} MB",
        "open it in Python with headcount.load",
    )
    model = load(folder)
    if not isinstance(model, Transformer):
        fix = "open it in Python with headcount.load"
        raise InputError(f"a saved {type(model).__name__}", "a Transformer", fix)
    return model


def _names(folder: Path) -> list[dict[str, Any]]:
    """The names that a download of the explorer keeps, else those of the folder's config."""
    try:
        found = _begun(folder / SUBSPACES)
        keys = ("layer", "part", "name", "start", "stop", "why")
        kinds = (int, str, str, int, int, str)
        good = all(
            all(isinstance(space[key], kind) for key, kind in zip(keys, kinds, strict=True))
            for space in found
        )
        kept = [{key: space[key] for key in keys} for space in found] if good else []
    except (OSError, ValueError, KeyError, TypeError):
        kept = []
    return kept or [
        {
            "layer": space.layer,
            "part": space.part,
            "name": space.name,
            "start": space.start,
            "stop": space.stop,
            "why": space.holds,
        }
        for space in named_spaces(folder)
    ]


def _begun(path: Path) -> Any:
    """The JSON of a small file; a ValueError for any other, before it is read."""
    if not path.is_file():  # a pipe has no end
        raise ValueError
    with path.open("rb") as file:
        text = file.read(MOST_NAMES)
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError from None


def _sizes(model: Transformer) -> dict[str, Any]:
    a = Architecture.of(model)
    return {
        "layers_count": a.layers,
        "heads_per_layer": list(a.heads_per_layer),
        "neurons_per_layer": list(a.width_per_layer),
        "stream_width": a.stream,
        "bias": a.bias,
        "attention": a.attention,
        "normaliser": a.normaliser,
        "parameters": count_parameters(model),
        "vocabulary": model.tokens[0],
    }


def _sequence(
    asked: AskModel, model: Transformer, made: Construction | None, longest: int | None = None
) -> np.ndarray:
    """The typed sequence in the model's own form, or one drawn by the seed, no longer than is
    promised.  [1, N, d] or [1, N]"""
    vocabulary, dim = model.tokens
    if asked.sequence is not None:
        values = np.asarray(asked.sequence, np.float64)
        if vocabulary is not None:
            good = np.all(values == np.round(values)) and np.all(
                (0 <= values) & (values < vocabulary)
            )
            require(good, "tokens", f"whole numbers from 0 to {vocabulary - 1}", "retype them")
            return values.astype(np.int32)[None]
        assert dim is not None
        require(
            len(values) % dim == 0,
            f"{len(values)} numbers",
            f"a multiple of {dim}, the size of a token",
            "type whole tokens",
        )
        return values.reshape(1, -1, dim)
    if made is not None and vocabulary is None:
        target = unnamed(made.target)
        length = max(min(asked.length, made.request.length), target.shortest)
        require(length <= 256, f"{length} tokens", "at most 256", "use shorter lags")
        return drawn(target.inputs, asked.seed, length)  # type: ignore[attr-defined]
    ends = longest if made is None else made.request.length
    rng, length = np.random.default_rng(asked.seed), min(asked.length, ends or asked.length)
    if vocabulary is not None:
        return rng.integers(0, vocabulary, (1, length)).astype(np.int32)
    return rng.choice([-1.0, 1.0], (1, length, dim or 1))


def at_work(model: Transformer, x: np.ndarray, names: list[dict[str, Any]]) -> dict[str, Any]:
    """The forward pass with everything on the way kept: attention [H, N, N] and stream [N, D] of
    every layer, what its named subspaces hold, and the answers [N, o].
    """
    dtype = jax.tree.leaves(model)[0].dtype
    tokens = jnp.asarray(x) if x.ndim == 2 else jnp.asarray(x, dtype)
    every = np.arange(x.shape[1])
    stream, layers = model.embedding.stream(tokens), []
    start = np.asarray(stream.full()[0])
    for k, layer in enumerate(model.layers, start=1):
        own = [space for space in names if (space["layer"], space["part"]) == (k, "attention")]
        layers.append(_seen(layer, stream, every, own))
        stream = Stream(layer(stream, every))
    answers = np.asarray(model(tokens, Everywhere()))[0]  # [N, o]
    last = x[0] if x.ndim == 2 else x[0].reshape(x.shape[1], -1)
    return {
        "x": last.tolist(),
        "embedded": rows(start[:, :MOST_COORDINATES]),
        "stream_cut": start.shape[1] > MOST_COORDINATES,
        "layers": layers,
        "y": rows(answers),
    }


def _seen(
    layer: Layer, stream: Stream, every: np.ndarray, names: list[dict[str, Any]]
) -> dict[str, Any]:
    norm, attend = layer.attention_norm, layer.attention
    seen = stream.full() if norm.identity else norm.before(stream.full())  # [1, N, D]
    logits = attend.score.logits(seen, seen, every, attend.bias)
    weights = paths.weights(attend.bias, attend.normaliser, logits, jnp.asarray(every))[0]
    written = norm.after(attend(Stream(seen), every))
    held = np.asarray(norm.outer(norm.kept(stream.full()) + written))[0]
    maps = np.einsum("hev,hvd->hed", np.asarray(attend.w_out), np.asarray(attend.w_value))
    maps = maps[: min(attend.heads, MOST_HEADS)]
    heads = len(maps)
    return {
        "bias": attend.bias.kind,
        "attention": attend.score.kind,
        "normaliser": attend.normaliser.kind,
        "content_free": attend.score.content_free,
        "heads": attend.heads,
        # weight of every lag at the last position, newest first: what a head looks at
        "by_lag": rows(np.asarray(weights)[:heads, -1, ::-1]),
        "weights": [rows(head) for head in np.asarray(weights)[:8]],
        # the coordinate that a head writes to most; null where it writes nothing
        "strongest": [int(np.argmax(w)) if w.any() else None for w in np.linalg.norm(maps, axis=2)],
        "spaces": [_space(space, maps, held) for space in names],
        "after_attention": rows(held[:, :MOST_COORDINATES]),
    }


def _space(space: dict[str, Any], maps: np.ndarray, held: np.ndarray) -> dict[str, Any]:
    """A named subspace whole: what it holds [N, k], and what every head of W_O W_V [H, D, D] puts
    there: how strongly, its largest entry with the sign, and its first."""
    start, stop = space["start"], space["stop"]
    into, kept = maps[:, start:stop], held[:, start:stop]
    flat = into.reshape(len(into), -1)
    none = flat.shape[1] == 0
    largest = [0.0 if none else float(row[np.argmax(np.abs(row))]) for row in flat]
    return {
        "name": space["name"],
        "writes": short(np.linalg.norm(into, axis=2).max(axis=1, initial=0.0)),
        "largest": short(largest),
        "first": short([0.0] * len(into) if none else into[:, 0, 0]),
        "values": rows(kept) if kept.size <= MOST_HELD else None,
    }


def _exact(made: Construction, x: np.ndarray) -> list[dict[str, Any]]:
    """What every subspace should hold on this sequence, and how far it may be off."""
    return [
        {
            "name": promise.space,
            "layer": promise.layer,
            "values": [short(row) for row in np.asarray(promise.exact(x[0]), np.float64)],
            "allowed": promise.bound.at(Precision(made.request.precision)),
        }
        for promise in made.draft.promises
    ]
