"""Models as folders: `config.json` (what it is), `model.safetensors` (its weights), `README.md`
(for a reader) and `run.py` (the same answers in plain NumPy). No pickle.

The config mirrors the object: every part by its registered kind with its plain fields, every array
by type and shape. Loading rebuilds exactly that, or says what does not fit; nothing is executed
from the folder. A field that came after the folder was written takes its default, which is what the
part did before it had the field.
"""

import dataclasses
import enum
import json
import typing
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from headcount.core.arguments import checked, fits, in_words
from headcount.core.errors import InputError, nearest, require, shown, unknown
from headcount.core.files import read_text, refuse_endless, whole_folder
from headcount.memory.read import Last
from headcount.model import attention, baselines, embedding, norms, transformer
from headcount.model.base import AbstractModel
from headcount.model.biases import biases
from headcount.model.card import NamedSpace, card, tokens_in_words
from headcount.model.embedding import positions
from headcount.model.ffn import ffns
from headcount.model.head_roles import reach
from headcount.model.normalisers import normalisers
from headcount.model.run_file import parts_of, run_file
from headcount.model.scores import scores

FORMAT = 1
SAMPLED, FARTHEST = 8, 1024  # tokens that run.py draws behind the farthest lag, and that lag
REGISTRIES = (biases, scores, normalisers, ffns, norms.norms, positions)
STRUCTURE: dict[str, type[eqx.Module]] = {
    cls.__name__: cls
    for cls in (
        transformer.Transformer,
        transformer.Layer,
        attention.Attention,
        embedding.LinearEmbedding,
        embedding.TokenEmbedding,
        norms.Scale,
        baselines.GRU,
        baselines.LSTM,
        baselines.DiagonalSSM,
        baselines.CausalConvolution,
        baselines.Heads,
        baselines.LinearFilter,
        baselines.GatedLayer,
        baselines.GatedRecurrence,
    )
}


@checked
def save(
    model: AbstractModel,
    folder: str | Path,
    note: str = "",
    spaces: Sequence[NamedSpace] = (),
    length: int | None = None,
    example: Sequence[Any] = (),
    first: int = 1,
) -> Path:
    """Write the four files; the folder appears whole or not at all. `spaces` name parts of the
    stream, for whoever looks inside; `length` is that of the longest sequences it was made for,
    `example` the tokens of one, which `run.py` tries; positions before the `first` have no promise.
    """
    folder = Path(folder)
    require(length is None or length > 0, f"length {length}", "1 or more", "leave it out")
    _check_example(model, example)
    arrays: dict[str, np.ndarray] = {}
    config: dict[str, Any] = {"format": FORMAT, "model": _described(model, "", arrays)}
    if spaces:
        config["spaces"] = [space.to_json() for space in spaces]
    if first > 1:
        config["first_position"] = first
    if length is not None:
        config["length"] = length
    parts = class_names(config)
    tokens = tokens_in_words(model)
    drawn = max(SAMPLED + min(reach(model), FARTHEST), first)
    tried = example if len(example) >= first else ()
    program = run_file(parts, *model.tokens, tokens, drawn, tried, first)
    with whole_folder(folder) as work:
        (work / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        safetensors.numpy.save_file(
            arrays, work / "model.safetensors", metadata={"format": "headcount"}
        )
        text = card(model, formulas(parts), note, spaces, program is not None, length)
        (work / "README.md").write_text(text, encoding="utf-8", errors="backslashreplace")
        if program is not None:
            (work / "run.py").write_text(program, encoding="utf-8")
        for file in work.iterdir():
            file.chmod(0o644)  # whatever the library that wrote it chose
    return folder


def _check_example(model: AbstractModel, example: Sequence[Any]) -> None:
    """Tokens that the model takes, as plain numbers."""
    vocabulary, dim = model.tokens
    try:
        found = np.array(example, dtype=np.float64)
    except (TypeError, ValueError, RecursionError):
        found = np.array(np.nan)
    shape = (len(example),) if vocabulary else (len(example), dim)
    require(
        len(example) == 0 or (found.shape == shape and bool(np.isfinite(found).all())),
        f"an example of {len(example)} tokens that the model does not take",
        tokens_in_words(model),
        "pass the tokens of one sequence as a list of numbers",
    )


def class_names(config: Mapping[str, Any]) -> dict[str, str]:
    """The parts of a config: name → the name of its class."""
    return {part: _class(part).__name__ for part in parts_of(config["model"])}


def described_arrays(config: Any, path: str = "") -> dict[str, tuple[str, list[int]]]:
    """Type and shape of every array that a description names."""
    if isinstance(config, Mapping) and "array" in config:
        return {path: (str(config["array"][0]), list(config["array"][1]))}
    inside: Any = enumerate(config) if isinstance(config, list) else ()
    inside = config.items() if isinstance(config, Mapping) else inside
    return {
        name: array
        for key, item in inside
        for name, array in described_arrays(item, f"{path}.{key}".lstrip(".")).items()
    }


def formulas(parts: Collection[str]) -> dict[str, str]:
    """The formula of every registered part among them."""
    by_noun = {registry.noun: registry for registry in REGISTRIES}
    split = {part: part.partition("/") for part in parts}
    return {
        part: by_noun[noun][kind].formula for part, (noun, slash, kind) in split.items() if slash
    }


def read_config(folder: Path) -> dict[str, Any]:
    """`config.json` of a saved model, its outer keys checked."""
    try:
        config = json.loads(read_text(folder / "config.json"))
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{folder / 'config.json'} is not JSON ({error})",
            "a config written by save",
            "restore the file",
        ) from None
    beside = ("spaces", "first_position", "length")
    _keys(config, ("format", "model", *beside), "config.json", optional=beside)
    require(
        config["format"] == FORMAT and not isinstance(config["format"], bool),
        f"config format {shown(config['format'])}",
        f"format {FORMAT}",
        "use the version of headcount that wrote it",
    )
    spaces = config.get("spaces", [])
    require(
        isinstance(spaces, list) and all(map(_names_a_space, spaces)),
        f"config.json has the spaces {shown(spaces)}",
        "names with coordinates, layer, part and holds",
        "restore config.json",
    )
    for key in ("first_position", "length"):
        found = config.get(key, 1)
        require(
            isinstance(found, int) and not isinstance(found, bool) and found >= 1,
            f"config.json has the {key.replace('_', ' ')} {shown(found)}",
            "a whole number from 1 on",
            "restore config.json",
        )
    return config


def first_position(folder: str | Path) -> int:
    """From which position on the answers of a saved model are promised."""
    return int(read_config(Path(folder)).get("first_position", 1))


def promised_length(folder: str | Path) -> int | None:
    """Up to how many tokens the answers of a saved model are promised; None: it does not say."""
    length = read_config(Path(folder)).get("length")
    return None if length is None else int(length)


def named_spaces(folder: str | Path) -> list[NamedSpace]:
    """The parts of the stream that a saved model names."""
    return [
        NamedSpace(s["name"], start, stop, s["layer"], s["part"], s["holds"])
        for s in read_config(Path(folder)).get("spaces", [])
        for start, stop in [s["coordinates"]]
    ]


def _names_a_space(space: Any) -> bool:
    """Is this what `NamedSpace.to_json` writes?"""
    keys = {"name", "coordinates", "layer", "part", "holds"}
    if not isinstance(space, dict) or set(space) != keys:
        return False
    ends = space["coordinates"]
    return (
        isinstance(space["name"], str)
        and isinstance(ends, list)
        and [type(end) for end in ends] == [int, int]
        and 0 <= ends[0] < ends[1]
        and type(space["layer"]) is int
        and space["layer"] >= 1
        and space["part"] in ("attention", "ffn")
    )


@checked
def load(folder: str | Path) -> AbstractModel:
    """The model of a folder, bit for bit; an `InputError` says what is missing, broken or
    unexpected.
    """
    folder = Path(folder)
    config = read_config(folder)
    return with_weights(config, _arrays(folder / "model.safetensors"))


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        refuse_endless(path)
        return safetensors.numpy.load_file(path)
    # of its own kind, or of NumPy's for a number type that it does not have (8-bit floats)
    except Exception as error:
        raise InputError(
            f"cannot read {path} ({getattr(error, 'strerror', None) or error})",
            "a whole safetensors file",
            "restore the file",
        ) from None


def with_weights(config: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> AbstractModel:
    """The model that a config describes, with these arrays by their dotted names."""
    try:
        model = _rebuilt(config["model"], "", arrays)
    except RecursionError:
        raise InputError(
            "config.json is nested too deeply", "a model's parts", "restore the file"
        ) from None
    require(
        not arrays,
        f"weights that the config does not name: {', '.join(sorted(arrays)[:3])}",
        "none",
        "restore the matching config.json",
    )
    require(
        isinstance(model, AbstractModel),
        f"a saved {type(model).__name__}",
        "a whole model",
        "save the model itself",
    )
    _runs(model)
    return model


def _runs(model: AbstractModel) -> None:
    """Refuse weights that do not go together: the forward pass is traced for one token, which
    computes nothing.
    """
    try:
        vocabulary, dim = model.tokens
        kind = model_dtype(model) if vocabulary is None else jnp.int32
        token = jax.ShapeDtypeStruct((1, 1) if vocabulary else (1, 1, dim), kind)
        eqx.filter_eval_shape(model, token, Last())
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"the parts of the model do not fit together ({reason})",
            "weights whose shapes agree",
            "restore the matching pair of files",
        ) from None


def model_dtype(model: AbstractModel) -> jnp.dtype:
    """The float type of the first weight."""
    weights = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    return weights[0].dtype if weights else jnp.result_type(float)


def _described(value: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    """A part as JSON; its arrays are put aside under their dotted path."""
    if eqx.is_array(value):
        arrays[path] = np.asarray(value)
        return {"array": [str(value.dtype), list(value.shape)]}
    if isinstance(value, enum.Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, tuple):
        return [_described(item, f"{path}.{i}", arrays) for i, item in enumerate(value)]
    if isinstance(value, eqx.Module):
        fields = {
            f.name: _described(getattr(value, f.name), f"{path}.{f.name}".lstrip("."), arrays)
            for f in dataclasses.fields(value)
        }
        return {"part": _name(type(value)), **fields}
    raise InputError(
        f"{path} is a {type(value).__name__}",
        "registered parts, numbers and arrays",
        "register the part before saving",
    )


def _name(cls: type) -> str:
    """'bias/lin' for registered parts, the class name for the model's own structure."""
    for registry in REGISTRIES:
        if issubclass(cls, registry.base):
            return f"{registry.noun}/{cls.kind}"
    if STRUCTURE.get(cls.__name__) is not cls:
        raise InputError(
            f"{cls.__name__} cannot be saved",
            f"registered parts or {', '.join(STRUCTURE)}",
            "register the part",
        )
    return cls.__name__


def _class(name: str) -> type[eqx.Module]:
    noun, slash, kind = name.partition("/")
    for registry in REGISTRIES:
        if slash and registry.noun == noun:
            return registry[kind].part
    if name not in STRUCTURE:
        raise unknown("part", name, [*STRUCTURE, *(f"{r.noun}/…" for r in REGISTRIES)])
    return STRUCTURE[name]


def _rebuilt(config: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(config, list):
        return tuple(_rebuilt(item, f"{path}.{i}", arrays) for i, item in enumerate(config))
    if not isinstance(config, dict):
        return config
    if "array" in config:
        return _array(config["array"], path, arrays)
    require(
        "part" in config,
        f"config at {path or 'model'} has no 'part'",
        "a part's name",
        "restore config.json",
    )
    cls = _class(str(config["part"]))
    fields = dataclasses.fields(cls)
    defaults = {f.name: f.default for f in fields if f.default is not dataclasses.MISSING}
    _keys(
        config,
        ("part", *(f.name for f in fields)),
        f"config at {path or 'model'}",
        optional=defaults,
    )
    hints = typing.get_type_hints(cls)
    enums = {
        name: kind
        for name, kind in hints.items()
        if isinstance(kind, type) and issubclass(kind, enum.Enum)
    }
    # weights in the middle of training need not pass the checks made on hand-written ones
    made = object.__new__(cls)
    for name in (f.name for f in fields):
        value = (
            _rebuilt(config[name], f"{path}.{name}".lstrip("."), arrays)
            if name in config
            else defaults[name]
        )
        value = _member(enums[name], value) if name in enums else value
        require(
            fits(value, hints[name]),
            f"{name} of {config['part']} at {path or 'model'} is {shown(value)}",
            in_words(hints[name]),
            "restore config.json",
        )
        object.__setattr__(made, name, value)
    return made


def _member(choices: type[enum.Enum], value: Any) -> enum.Enum:
    known = [choice.value for choice in choices]
    if not isinstance(value, str) or value not in known:
        raise unknown(choices.__name__.lower(), str(value), known)
    return choices(value)


def _array(described: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    require(
        path in arrays,
        f"weight {path} is missing",
        "every array of config.json",
        "restore model.safetensors",
    )
    array = arrays.pop(path)
    got, wanted = [str(array.dtype), list(array.shape)], described
    require(
        got == wanted,
        f"weight {path} is {got}",
        f"{wanted} as config.json says",
        "restore the matching pair of files",
    )
    loaded = jnp.asarray(array)
    require(
        str(loaded.dtype) == got[0],
        f"weight {path} is {got[0]}",
        "float64 switched on",
        "load inside `with jax.enable_x64(True):`",
    )
    return loaded


def _keys(config: Any, names: tuple[str, ...], where: str, optional: Collection[str] = ()) -> None:
    require(
        isinstance(config, dict),
        f"{where} is a {type(config).__name__}",
        "a mapping",
        "restore config.json",
    )
    extra, missing = (
        sorted(set(config) - set(names)),
        sorted(set(names) - set(config) - set(optional)),
    )
    fault = (
        f"an unknown key {extra[0]!r}{nearest(extra[0], names)}"
        if extra
        else f"no key {missing[0]!r}"
        if missing
        else ""
    )
    require(not fault, f"{where} has {fault}", f"keys {', '.join(names)}", "restore config.json")
