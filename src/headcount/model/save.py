"""Models as folders: `config.json` (what it is), `model.safetensors` (its weights), `README.md`
(for a reader). No pickle.

The config mirrors the object: every part by its registered kind with its plain fields, every array
by type and shape. Loading rebuilds exactly that, or says what does not fit; nothing is executed
from the folder. A field that came after the folder was written takes its default, which is what the
part did before it had the field.
"""

import dataclasses
import enum
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from headcount.core.errors import InputError, nearest, require, unknown
from headcount.core.files import read_text, whole_folder
from headcount.model import attention, baselines, embedding, norms, transformer
from headcount.model.base import AbstractModel
from headcount.model.biases import biases
from headcount.model.cost import count_parameters
from headcount.model.embedding import positions
from headcount.model.ffn import ffns
from headcount.model.normalisers import normalisers
from headcount.model.scores import scores

FORMAT = 1
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
    )
}


def save(model: AbstractModel, folder: str | Path, note: str = "") -> Path:
    """Write the three files; the folder appears whole or not at all."""
    folder = Path(folder)
    arrays: dict[str, np.ndarray] = {}
    config = {"format": FORMAT, "model": _described(model, "", arrays)}
    with whole_folder(folder) as work:
        (work / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        safetensors.numpy.save_file(
            arrays, work / "model.safetensors", metadata={"format": "headcount"}
        )
        (work / "README.md").write_text(_card(model, note), encoding="utf-8")
    return folder


def load(folder: str | Path) -> AbstractModel:
    """The model of a folder, bit for bit; an `InputError` says what is missing, broken or
    unexpected.
    """
    folder = Path(folder)
    try:
        config = json.loads(read_text(folder / "config.json"))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{folder / 'config.json'} is not JSON ({error})",
            "a config written by save",
            "restore the file",
        ) from None
    _keys(config, ("format", "model"), "config.json")
    require(
        config["format"] == FORMAT,
        f"config format {config['format']}",
        f"format {FORMAT}",
        "use the version of headcount that wrote it",
    )
    try:
        arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(
            f"cannot read {folder / 'model.safetensors'} ({error})",
            "a whole safetensors file",
            "restore the file",
        ) from None
    model = _rebuilt(config["model"], "", arrays)
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
    return model


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
    enums = {
        f.name: f.type for f in fields if isinstance(f.type, type) and issubclass(f.type, enum.Enum)
    }
    # weights in the middle of training need not pass the checks made on hand-written ones
    made = object.__new__(cls)
    for name in (f.name for f in fields):
        value = (
            _rebuilt(config[name], f"{path}.{name}".lstrip("."), arrays)
            if name in config
            else defaults[name]
        )
        object.__setattr__(made, name, _member(enums[name], value) if name in enums else value)
    return made


def _member(choices: type[enum.Enum], value: Any) -> enum.Enum:
    known = [choice.value for choice in choices]
    if value not in known:
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
    got, wanted = [str(array.dtype), list(array.shape)], list(described)
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


def _card(model: AbstractModel, note: str) -> str:
    vocabulary, dim = model.tokens
    tokens = f"integers below {vocabulary}" if vocabulary else f"real vectors of size {dim}"
    return (
        f"# A {type(model).__name__} saved by"
        f" Headcount\n\n{note + chr(10) + chr(10) if note else ''}- tokens: {tokens}; answers of"
        f" size {model.outputs}\n- parameters: {count_parameters(model)}\n\n```python\nimport"
        ' headcount as hc\nmodel = hc.load("path/to/this/folder")\n```\n'
    )
