"""`headcount plan TARGET --tol EPS`: the smallest architecture found of each kind, side by side."""

import math
import re
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from headcount.cli.common import console, print_json, printable, progress, tell
from headcount.cli.options import JSON, LENGTH, TARGET

if TYPE_CHECKING:
    from headcount.construct import Plan


def plan(
    target: TARGET,
    tol: Annotated[float, typer.Option(help="largest error of an answer")] = 0.01,
    dtype: Annotated[
        str, typer.Option(help="float32 or float64: where the error must hold")
    ] = "float32",
    normaliser: Annotated[str | None, typer.Option(help="plan for this normaliser only")] = None,
    length: LENGTH = None,
    standard: Annotated[
        bool,
        typer.Option(
            "--standard",
            help="standard parts alone: softmax; RoPE, ALiBi, T5, learned or sinusoidal positions",
        ),
    ] = False,
    json: JSON = False,
) -> None:
    """For a memory and a tolerance: layers, heads and neurons with each positional bias and
    attention kind, and which to take.
    """
    from headcount.construct import plan as make_plan  # jax: not needed for --help

    with progress() as say:
        made = make_plan(
            target,
            tol,
            dtype,
            normaliser=normaliser,
            length=length,
            standard=standard,
            progress=say,
        )
    if json:
        print_json(made.to_json(target))
        return
    show(target, made, standard)


def show(target: str, made: "Plan", standard: bool = False) -> None:
    """The answer, the table, its footnotes, how to build it."""
    from headcount.construct import plan_words

    tell(made.words(target))
    console.print()
    console.print(table(made))
    tell(
        f"error: the largest difference from the target (sup error) that"
        f" {plan_words.measure(made)}, on up to {made.length} tokens"
    )
    tell("*  on the front: no other row is as good in every size and in error")
    for number, text in enumerate(plan_words.footnotes(made)[0], start=1):
        tell(f"{number}  {text}")
    if any(row.impossibilities for row in made.rows):
        tell("sum|a|: the coefficients of the heads added up without their signs")
    if standard:
        tell(f"not planned: {plan_words.unplanned(made)}")
    console.print()
    best = made.recommended
    if best is None or best.architecture is None:
        console.print("recommended: nothing here reaches the tolerance")
        return
    smaller = any(
        row.reachable and (row.parameters or math.inf) < (best.parameters or 0) for row in made.rows
    )
    tell(
        f"recommended{', common parts before small size' if smaller else ''}: bias {best.bias},"
        f" attention {best.attention}, {best.parameters} parameters;"
        f" {plan_words.minimum_words(made)}"
    )
    tell(f"words: headcount explain {best.attention}, headcount explain {best.bias}, …")
    for line in broken(f"build it: {made.command(target)}", console.width):
        # no markup: its escapes would double the backslash
        console.print(printable(line), markup=False, soft_wrap=True)


def broken(command: str, width: int) -> list[str]:
    """A command over several lines, as a shell reads them, where there is no room for one.

    >>> broken("build 'a --b' --tol 0.01 --length 16", 30)
    ["build 'a --b' --tol 0.01 \\\\", '  --length 16']
    """
    if len(command) <= width:
        return [command]
    lines: list[str] = []
    words = re.findall(r"""(?:'[^']*'|"[^"]*"|\S)+""", command)
    options = [" ".join(group) for group in _by_option(words)]
    for option in options:
        if lines and len(lines[-1]) + len(option) + len("  \\") <= width:
            lines[-1] += f" {option}"
        else:
            lines.append(f"  {option}" if lines else option)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _by_option(words: list[str]) -> list[list[str]]:
    """The verb with its target, then each option with its value."""
    groups: list[list[str]] = [[]]
    for word in words:
        if word.startswith("-"):
            groups.append([])
        groups[-1].append(word)
    return groups


def table(made: "Plan") -> Table:
    """One line per bias and attention kind, at most 80 columns."""
    from headcount.construct import plan_words

    shown = Table(box=None, padding=(0, 1, 0, 0))
    for name in ("", *plan_words.COLUMNS, "notes"):
        left = name in ("", "bias", "softmax", "reaches", "notes")
        shown.add_column(name, justify="left" if left else "right", no_wrap=True)
    marks = plan_words.footnotes(made)[1]
    for row, mark in zip(made.rows, marks, strict=True):
        star = "*" if row in made.front else ""
        shown.add_row(star, *plan_words.cells(row), mark)
    return shown


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("plan")(plan)
