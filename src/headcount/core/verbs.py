"""Folders that are also verbs: `hc.construct(…)` and `hc.train(…)` while `headcount.construct` and
`headcount.train` are packages.

Importing a package binds it as an attribute of its parent, over any function of the same name. So
the package itself is made callable, and both readings of the name give the same object whatever was
imported first.
"""

import functools
import sys
import types
from collections.abc import Callable
from typing import Any


def verb(package: str, function: Callable[..., Any]) -> None:
    """Make calling the package call the function, with its signature and documentation."""

    class Verb(types.ModuleType):
        @functools.wraps(function)
        def __call__(self, *arguments: Any, **options: Any) -> Any:
            return function(*arguments, **options)

    sys.modules[package].__class__ = Verb
