"""docs/commands.md, made from the commands themselves."""

import textwrap
from collections.abc import Iterator
from typing import Any

import typer.main

from headcount.cli.verb_examples import EXAMPLES

WIDTH = 100
OPENING = """# Commands

Made from the program (`python -m headcount.cli.reference > docs/commands.md`). Every verb takes
`--json` where it prints results: stdout is then one JSON document. Exit code 0: done; 2: bad input,
one line on stderr; 1: a check that was asked for fails; 130: interrupted. Words are explained in
the [glossary](glossary.md).
"""


def page() -> str:
    """The whole page."""
    from headcount.cli import app

    group: Any = typer.main.get_command(app)
    return "\n".join([OPENING, *(_verb(name, command) for name, command in _commands(group))])


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its whole name: 'study rivals' for one of a group."""
    for name in sorted(group.commands):
        command = group.commands[name]
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _verb(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.help]
    told = [
        *(f"- `{p.name}`: {_help(p)}" for p in arguments),
        *(f"- `{', '.join([*p.opts, *p.secondary_opts])}`: {_help(p)}" for p in options),
    ]
    lines = [
        f"## headcount {name} {' '.join(p.name.upper() for p in arguments)}".rstrip(),
        "",
        _wrapped(command.help or "", ""),
        "",
        *(_wrapped(line, "  ") for line in told),
        "",
        *(f"    {part.strip()}" for part in EXAMPLES[name.split()[-1]].split(";")),
        "",
    ]
    return "\n".join(lines)


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _help(parameter: Any) -> str:
    told = " ".join((parameter.help or "").split())
    default = parameter.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    return f"{told} (default {default})" if plain and default != "" else told


if __name__ == "__main__":
    print(page(), end="")
