"""Registries: stable short names → parts, with formula and reference, open to third parties.

A part is a class. Its options are the parameters of its constructor or, where the class has a
classmethod `init(shape, key, *, …)` that makes weights, the keyword-only parameters of that method:
the signature is the schema, so a default stands in one place. Options may be other parts, given as
objects or as text.

Third parties add an entry by an entry point in the group `headcount.<noun>` that names the
decorated class.
"""

import contextlib
import contextvars
import dataclasses
import functools
import importlib.metadata
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin

import pydantic

from headcount.core.arguments import checked
from headcount.core.errors import InputError, require, shown, unknown
from headcount.core.files import SPEC_ENDINGS, read_mapping
from headcount.core.refs import Ref
from headcount.core.spec import Options, Spec, faults, plain
from headcount.core.text import split_outside, split_part

T = TypeVar("T")

_FILES_OPEN = contextvars.ContextVar("files_open", default=True)


@contextlib.contextmanager
def without_files() -> Iterator[None]:
    """Inside the block no registry opens a file because a text names it, nor looks whether it is
    there: for texts that come from somebody else.
    """
    before = _FILES_OPEN.set(False)
    try:
        yield
    finally:
        _FILES_OPEN.reset(before)


class PartSpec(Spec):
    """A part by name with validated options, before it is built: what run specs store."""

    kind: str
    options: dict[str, Any] = {}

    def to_plain(self) -> dict[str, Any]:
        """As one would write it in a file: the kind beside the options."""
        return {"kind": self.kind, **{name: plain(value) for name, value in self.options.items()}}


def recipe(registry: "Registry[Any]") -> Any:
    """The type of a field that holds a validated `PartSpec`, readable from text or a mapping: a
    part to be built later.
    """
    return Annotated[
        PartSpec, pydantic.BeforeValidator(registry.spec), pydantic.Field(validate_default=True)
    ]


@dataclasses.dataclass(frozen=True)
class Entry(Generic[T]):
    """One registered part: its name, the class, and what `headcount list` says of it."""

    name: str
    part: type[T]
    formula: str
    ref: Ref

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.part) or "").split("\n")[0]

    @property
    def maker(self) -> Any:
        """What makes the part: `init` where weights are drawn, else the class."""
        return getattr(self.part, "init", self.part)

    @functools.cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """The options, in order."""
        every = inspect.signature(self.maker).parameters.values()
        return [
            p for p in every if p.kind is inspect.Parameter.KEYWORD_ONLY or self.maker is self.part
        ]

    @functools.cached_property
    def schema(self) -> type[pydantic.BaseModel]:
        """A strict pydantic model of the options."""
        hints = typing.get_type_hints(
            self.part.__init__ if self.maker is self.part else self.maker, include_extras=True
        )
        fields: dict[str, Any] = {}
        for p in self.parameters:
            default = ... if p.default is inspect.Parameter.empty else p.default
            fields[p.name] = (_readable(hints.get(p.name, Any)), default)
        return pydantic.create_model(self.name, __base__=Options, **fields)

    def options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Validated options, defaults filled in, nested parts built."""
        try:
            made = self.schema.model_validate(dict(values))
        except pydantic.ValidationError as error:
            raise faults(error, self.name, [p.name for p in self.parameters]) from None
        return {name: getattr(made, name) for name in type(made).model_fields}

    def from_text(self, positional: list[str], named: dict[str, str]) -> dict[str, Any]:
        """Options of the text form: values without a key fill the options in order."""
        names = [p.name for p in self.parameters]
        require(
            len(positional) <= len(names),
            f"{self.name} with {len(positional)} values",
            f"at most {len(names)} ({', '.join(names)})",
            "drop the rest",
        )
        values = dict(zip(names, positional, strict=False))
        for name in named:
            require(
                name not in values,
                f"{self.name}: {name!r} given twice",
                "each option once",
                "remove one",
            )
        return {**values, **named}


class Registry(Generic[T]):
    """The parts of one sort: `noun` is the word used in messages, `base` their abstract class;
    `meant` says what a text of another sort is written like here, if it is known.
    """

    by_base: typing.ClassVar[dict[type, "Registry[Any]"]] = {}

    def __init__(
        self,
        noun: str,
        base: type[T],
        from_path: Callable[[Path], T] | None = None,
        meant: Callable[[str], str | None] = lambda text: None,
    ):
        self.noun, self.base, self.from_path, self.meant = noun, base, from_path, meant
        self._entries: dict[str, Entry[T]] = {}
        self._plugins_loaded = False
        Registry.by_base[base] = self

    @checked
    def register(self, name: str, *, formula: str, ref: Ref) -> Callable[[type[T]], type[T]]:
        """Class decorator. `formula` is plain text; `ref` the theorem or paper."""

        def add(part: type[T]) -> type[T]:
            require(
                issubclass(part, self.base),
                f"{self.noun} {name!r} is {part.__name__}",
                f"a subclass of {self.base.__name__}",
                "derive it",
            )
            require(
                name not in self._entries,
                f"{self.noun} {name!r} registered twice",
                "one entry per name",
                "choose another name",
            )
            part.kind = name  # type: ignore[attr-defined]
            entry = self._entries[name] = Entry(name, part, formula, ref)
            if entry.maker is part and dataclasses.is_dataclass(part):
                _validate_when_made(entry)
            return part

        return add

    def names(self) -> list[str]:
        self._load_plugins()
        return sorted(self._entries)

    def entries(self) -> list[Entry[T]]:
        return [self._entries[name] for name in self.names()]

    def __getitem__(self, name: str) -> Entry[T]:
        if not isinstance(name, str):
            raise InputError(
                f"{self.noun} {shown(name)}", "a name", f"see {', '.join(self.names())}"
            )
        if name not in self._entries:
            self._load_plugins()
        if name not in self._entries:
            raise unknown(self.noun, name, self._entries)
        return self._entries[name]

    def read(self, value: "str | Mapping[str, Any] | PartSpec") -> tuple[Entry[T], dict[str, Any]]:
        """Entry and validated options of text, of a mapping with `kind`, of a spec file or of a
        `PartSpec`.
        """
        if isinstance(value, PartSpec):
            return self[value.kind], self[value.kind].options(value.options)
        if isinstance(value, str) and value.endswith(SPEC_ENDINGS):
            self._require_open(value)
            value = read_mapping(Path(value))
        if isinstance(value, str):
            name, positional, named = split_part(value)
            self._require_own(value, name)
            return self[name], self[name].options(self[name].from_text(positional, named))
        example = next(iter(self._entries), "name")
        require(
            isinstance(value, Mapping),
            f"{self.noun} {shown(value)}",
            "text, a mapping, or a part",
            f"for example {self.noun}={example!r}",
        )
        values = dict(value)
        require(
            "kind" in values,
            f"{self.noun} without 'kind'",
            "a mapping with its kind",
            f"add kind: one of {', '.join(self._entries)}",
        )
        entry = self[str(values.pop("kind"))]
        return entry, entry.options(values)

    def spec(self, value: "str | Mapping[str, Any] | PartSpec") -> PartSpec:
        """The part as a validated `PartSpec` (defaults filled in), without building it."""
        entry, options = self.read(value)
        return PartSpec(kind=entry.name, options=options)

    def build(self, value: "T | str | Mapping[str, Any] | PartSpec", *context: Any) -> T:
        """The part itself. `context` is what `init` takes before its options (shape and key)."""
        if isinstance(value, self.base):
            return value
        if isinstance(value, str) and self.from_path and Path(value).suffix in (".npy", ".csv"):
            self._require_open(value)
            return self.from_path(Path(value))
        entry, options = self.read(value)  # type: ignore[arg-type]
        return entry.maker(*context, **options)

    def _require_open(self, text: str) -> None:
        """Refuse the name of a file where files are closed, in words that tell nothing of it."""
        require(
            _FILES_OPEN.get(),
            f"{self.noun} {shown(text)} names a file",
            f"a {self.noun} by its name",
            "use the command line for files",
        )

    def _require_own(self, text: str, name: str) -> None:
        """Refuse a text of another sort with what was meant."""
        if name not in self.names() and (instead := self.meant(text)):
            raise InputError(f"{shown(text)}", f"a {self.noun}", f"write {instead}")

    def _load_plugins(self) -> None:
        if self._plugins_loaded:
            return
        self._plugins_loaded = True
        for point in importlib.metadata.entry_points(group=f"headcount.{self.noun}"):
            try:
                point.load()  # importing the class runs its decorator
            except Exception as error:
                raise InputError(
                    f"the plug-in {point.name!r} ({point.value}) fails to load: {error}",
                    "an importable class",
                    "mend or uninstall it",
                ) from error


def _validate_when_made(entry: Entry[Any]) -> None:
    """Let the constructor read its arguments as the registry reads options: one rule for a part
    made by its class, from text, or from a file.
    """
    made = entry.part.__init__
    names = [name for name in inspect.signature(made).parameters if name != "self"]

    @functools.wraps(made)
    def init(self: Any, *arguments: Any, **options: Any) -> None:
        require(
            len(arguments) <= len(names) and not set(names[: len(arguments)]) & set(options),
            f"{entry.name} with {len(arguments)} values and {', '.join(options) or 'no names'}",
            f"each of {', '.join(names) or '(none)'} at most once",
            "name them",
        )
        made(self, **entry.options({**dict(zip(names, arguments, strict=False)), **options}))

    entry.part.__init__ = init


def _readable(hint: Any) -> Any:
    """The same type, also readable from text: parts by name, tuples joined by '+'."""
    registry = Registry.by_base.get(hint) if isinstance(hint, type) else None
    if registry is not None:
        return Annotated[Any, pydantic.BeforeValidator(registry.build)]
    if get_origin(hint) is tuple and get_args(hint)[-1] is Ellipsis:
        inner = _readable(get_args(hint)[0])
        return Annotated[tuple[inner, ...], pydantic.BeforeValidator(_listed)]  # type: ignore[valid-type]
    if get_origin(hint) in (typing.Union, types.UnionType):
        return typing.Union[tuple(_readable(member) for member in get_args(hint))]  # noqa: UP007 — built at run time
    return hint


def _listed(value: Any) -> Any:
    """'3+17' → ['3', '17']; a single value → [value]."""
    if isinstance(value, str):
        return split_outside(value, "+")
    return list(value) if isinstance(value, (list, tuple)) else [value]
