"""The page's modules as one plain script: a browser that opens a file from the disk loads no
modules, and no JSON either, but it runs scripts.

Every module becomes a function that returns what it exports, in an order in which each finds what
it imports. Our modules write imports and exports at the start of a line, one name or one list each;
what is written otherwise is refused.
"""

import re
from pathlib import Path

from headcount.core.errors import CheckFailed

IMPORT = re.compile(r'^import (?:\* as (\w+)|(\{[^}]*\})) from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
LEFT = re.compile(r"^(?:import|export)\b.*$|\bimport\(", re.MULTILINE)


def one_script(first: Path) -> str:
    """The module and all that it imports, each once."""
    made: dict[Path, str] = {}
    _add(first.resolve(), made, ())
    *modules, (_, last) = made.items()
    parts = [f"const {_name(path, first)} = (() => {{\n{body}}})();\n" for path, body in modules]
    text = "".join([*parts, last])
    for path in made:
        text = text.replace(f"«{path}»", _name(path, first))
    return f'"use strict";\n(async () => {{\n{text}}})();\n'


def _add(path: Path, made: dict[Path, str], within: tuple[Path, ...]) -> None:
    """What a module imports, then the module."""
    if path in made:
        return
    if path in within:
        raise CheckFailed(f"{path.name} imports itself by way of {within[-1].name}")
    text = path.read_text(encoding="utf-8")
    for found in IMPORT.finditer(text):
        _add((path.parent / found[3]).resolve(), made, (*within, path))
    body = IMPORT.sub(
        lambda found: f"const {found[1] or found[2]} = «{(path.parent / found[3]).resolve()}»;",
        text,
    )
    names = EXPORT.findall(body)
    body = EXPORT.sub("", body)
    left = LEFT.search(body)
    if left:
        raise CheckFailed(f"{path.name}: {left[0][:80]!r} is no import or export that is known")
    made[path] = f"{body}return {{ {', '.join(names)} }};\n" if names else body


def _name(path: Path, first: Path) -> str:
    below = path.relative_to(first.resolve().parent).with_suffix("")
    return "module_" + "_".join(below.parts)
