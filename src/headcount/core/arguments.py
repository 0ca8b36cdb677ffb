"""The arguments of public functions and classes, checked against their annotations.

`@checked` on a function, or on a class for its constructor, refuses a wrong argument with an
`InputError` before the body runs: the annotation is the rule, so no function has to repeat it. A
whole number is any integer type but no bool; a float is any real number but NaN; a path is text or
a `Path`; a class is an instance of it. `Any` is left to the function itself.

>>> @checked
... def repeat(word: str, times: int = 2) -> str:
...     return word * times
>>> repeat("a", times=3)
'aaa'
>>> repeat("a", times=2.5)
Traceback (most recent call last):
headcount.core.errors.InputError: repeat: times is 2.5; expected a whole number; see help(repeat)
"""

import collections.abc
import enum
import functools
import inspect
import math
import numbers
import types
import typing
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import numpy as np

from headcount.core.errors import InputError, nearest, shown

F = TypeVar("F")


def checked(subject: F) -> F:
    """The same function, or class, that refuses arguments which do not fit its annotations."""
    if isinstance(subject, type):
        subject.__init__ = _checked(subject.__init__, subject.__name__)  # type: ignore[misc]
        return typing.cast(F, subject)
    return typing.cast(F, _checked(subject, subject.__name__))  # type: ignore[attr-defined]


def complete(subject: F) -> F:
    """The same class, whose constructor refuses missing and unknown arguments in one line. Their
    types are left to it: weights may be arrays, shapes or nothing while jax looks at a model.
    """
    made = subject.__init__  # type: ignore[misc]
    subject.__init__ = _checked(made, subject.__name__, types=False)  # type: ignore
    return subject


def _checked(function: Any, name: str, types: bool = True) -> Any:
    signature = inspect.signature(function)

    @functools.cache
    def hints() -> dict[str, Any]:  # read late: names of types may be defined below the function
        return typing.get_type_hints(function)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            bound = signature.bind(*arguments, **options)
        except TypeError as error:
            raise _misfit(name, error, signature, options) from None
        for key, value in bound.arguments.items() if types else ():
            hint = hints().get(key, Any)
            if signature.parameters[key].kind in (
                inspect.Parameter.VAR_POSITIONAL,
                inspect.Parameter.VAR_KEYWORD,
            ):
                continue
            if not fits(
                value, hint
            ):  # the words are made where they are needed: a model's are long
                got = f"{name}: {key} is {shown(value)}"
                raise InputError(got, in_words(hint), f"see help({name})")
        return function(*arguments, **options)

    call.checks_arguments = types  # type: ignore[attr-defined]
    return call


def _misfit(
    name: str, error: TypeError, signature: inspect.Signature, options: dict[str, Any]
) -> InputError:
    """Too many, missing or unknown arguments."""
    known = [key for key in signature.parameters if key != "self"]
    strange = [key for key in options if key not in known]
    near = nearest(strange[0], known) if strange else ""
    return InputError(
        f"{name}: {error}{near}", f"arguments {', '.join(known)}", f"see help({name})"
    )


def fits(value: Any, hint: Any) -> bool:
    """Is the value of this type?"""
    origin, members = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, (TypeVar, str)):
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin is typing.Annotated:
        return fits(value, members[0])
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, member) for member in members)
    if origin is typing.Literal:
        return value in members
    if origin is collections.abc.Callable or hint is collections.abc.Callable:
        return callable(value)
    if origin is type:
        return isinstance(value, type)
    if origin is not None:
        return _holds(value, origin, members)
    return _is_a(value, hint)


def _holds(value: Any, origin: Any, members: tuple[Any, ...]) -> bool:
    """A container and what is in it."""
    if not isinstance(value, origin) or isinstance(value, (str, bytes)):
        return False
    if isinstance(value, collections.abc.Mapping):
        key, item = members if len(members) == 2 else (*members, Any)
        return all(fits(k, key) and fits(v, item) for k, v in value.items())
    if origin is tuple and members and members[-1] is not Ellipsis:
        return len(value) == len(members) and all(map(fits, value, members))
    if isinstance(value, (tuple, list, set, frozenset)) and members:
        return all(fits(item, members[0]) for item in value)
    return True  # an iterator is not looked into: that would use it up


def _is_a(value: Any, hint: Any) -> bool:
    if hint is bool:
        return isinstance(value, (bool, np.bool_))
    if hint is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if hint is float:
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        try:
            return real and not math.isnan(value)
        except OverflowError:  # a whole number beyond every float
            return False
    if hint is Path:
        return isinstance(value, Path)
    if getattr(hint, "__module__", "").startswith("jax") and hint.__name__ == "Array":
        return hasattr(value, "shape") and hasattr(value, "dtype")  # traced, NumPy's or JAX's
    if getattr(hint, "_is_protocol", False) or not isinstance(hint, type):
        return True
    return isinstance(value, hint)


def require_parts(made: Any, **kinds: type) -> None:
    """Refuse an object whose fields are not of these kinds."""
    for name, kind in kinds.items():
        value = getattr(made, name)
        if isinstance(value, kind):
            continue  # before it is written out: layers have many numbers
        raise InputError(
            f"{type(made).__name__}: {name} is {shown(value)}",
            in_words(kind),
            f"see help({type(made).__name__})",
        )


WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a real number (nan is none)",
    str: "text",
    bool: "True or False",
    Path: "a path",
    type(None): "None",
}


def in_words(hint: Any) -> str:
    """A type as a message names it."""
    origin, members = get_origin(hint), get_args(hint)
    if getattr(hint, "__module__", "").startswith("jax"):
        return "an array"
    if hint in WORDS:
        return WORDS[hint]
    if origin in (typing.Union, types.UnionType):
        return " or ".join(in_words(member) for member in members)
    if origin is typing.Annotated:
        return in_words(members[0])
    if origin is collections.abc.Callable:
        return "a function"
    if origin is tuple and members[-1] is Ellipsis:
        return f"a tuple, each {in_words(members[0])}"
    if origin is not None and issubclass(origin, collections.abc.Mapping):
        return "a mapping"
    if origin is not None and members:
        return f"a {origin.__name__.lower()}, each {in_words(members[0])}"
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return f"one of {', '.join(str(choice.value) for choice in hint)}"
    name = getattr(hint, "__name__", str(hint)).removeprefix("Abstract")
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"
