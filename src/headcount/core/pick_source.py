"""The part of a source file that is needed: definitions by name, with all that they use.

Files that are written for a reader hold the parts of one model and nothing else. They are picked
from a whole file that is linted and tested like any other.

>>> text = "import math\\n\\n# half a turn\\ndef f():\\n    return g() / 2\\n\\ndef g():\\n"
>>> print(pick(text + "    return math.pi\\n\\ndef h():\\n    return 0\\n", ["g"]))
import math
<BLANKLINE>
<BLANKLINE>
def g():
    return math.pi
<BLANKLINE>
"""

import ast
import re
from collections.abc import Iterable, Mapping

from headcount.core.errors import unknown


def pick(source: str, names: Iterable[str], filled: Mapping[str, str] | None = None) -> str:
    """The imports that are used, then the definitions of `names` and of all names they use, in the
    file's order.

    A comment right above a definition belongs to it; one that stands by itself opens a section and
    is kept where anything of the section is. The file's docstring is left out. A definition that is
    `filled` in has this text instead.
    """
    filled = filled or {}
    body = ast.parse(source).body
    places = {name: node for node in body for name in defined(node)}
    kept, used = _closure(places, names)
    lines, last = source.splitlines(), 0
    imports: list[str] = []
    pieces: list[str] = []
    section = ""
    for node in body:
        start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        *before, above = re.split(r"\n\s*\n", "\n" + "\n".join(lines[last : start - 1]) + "\n")
        section = next((part.strip() for part in reversed(before) if part.strip()), section)
        gap, last = start - 1 - last, node.end_lineno or node.lineno
        if isinstance(node, ast.Import | ast.ImportFrom):
            if {(alias.asname or alias.name).split(".")[0] for alias in node.names} & used:
                imports += [""] * min(gap, 1) * bool(imports) + lines[start - 1 : last]
        elif kept & set(defined(node)):
            text = [filled[n] for n in defined(node) if n in filled] or lines[start - 1 : last]
            pieces += [section] * bool(section) + ["\n".join([*above.split("\n")[:-1], *text])]
            section = ""
    return "\n".join(imports) + "\n\n\n" + "\n\n\n".join(pieces) + "\n"


def _closure(places: Mapping[str, ast.stmt], names: Iterable[str]) -> tuple[set[str], set[str]]:
    """The definitions needed for these names, and every name that they use."""
    kept: set[str] = set()
    used: set[str] = set()
    wanted = [*names]
    while wanted:
        name = wanted.pop()
        if name not in places:
            raise unknown("definition", name, places)
        if name not in kept:
            kept.add(name)
            here = {n.id for n in ast.walk(places[name]) if isinstance(n, ast.Name)}
            used |= here
            wanted.extend(here & set(places))
    return kept, used


def named(source: str) -> list[str]:
    """All names that a file defines."""
    return [name for node in ast.parse(source).body for name in defined(node)]


def defined(node: ast.stmt) -> list[str]:
    """The names that a statement of a file defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []
