"""The command line: `headcount VERB … [--json]`. Thin: parse, call, print.

Exit 0 when the command did its work, 2 with one line `error: …` for bad input, 1 when a check it
was asked to enforce fails, 130 on ^C.
"""

import gc
import itertools
import os
import sys

# The matrices of kernel fits are small: a second BLAS thread only spins (ten times the CPU time on
# a busy machine). Read when numpy loads, so set before our imports; a user's own setting wins.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# XLA splits work by the cores it sees, which changes the order of sums: with one, a run's figures
# are those of a sweep's worker, to the bit, and small models train in half the CPU time.
os.environ.setdefault("NPROC", "1")

from typing import Annotated

import typer

import headcount
from headcount.cli import (
    bound,
    build,
    cache,
    diagnose,
    doctor,
    explain,
    export,
    fit,
    listing,
    plan,
    reproduce,
    serve,
    study,
    sweep,
    train,
)
from headcount.cli.common import printable
from headcount.cli.verb_examples import epilog
from headcount.core.children import safe_children
from headcount.core.errors import HeadcountError, machine_fault

app = typer.Typer(
    name="headcount",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help=(
        "How much Transformer does a memory need? Heads, layers, neurons, positional bias: from"
        " theory, by construction, with certificates."
    ),
)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"headcount {headcount.__version__}")
        raise typer.Exit


VERBS = (
    fit, bound, plan, build, export, train, sweep, reproduce,
    study, serve, cache, diagnose, listing, explain, doctor,
)  # fmt: skip
for verb in VERBS:
    verb.register(app)
for command in (*app.registered_commands, *study.study.registered_commands):
    command.name = command.name or command.callback.__name__  # type: ignore[union-attr]
    command.epilog = epilog(command.name)


def main() -> None:
    """Entry point of the `headcount` command."""
    try:
        with safe_children():  # whatever processes a verb starts
            _run()
    finally:
        gc.freeze()  # the process ends: a search for garbage among 100,000 objects takes 0.6 s


def _run() -> None:
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="headcount", standalone_mode=False)
        sys.stdout.flush()
        if code == 130:
            raise KeyboardInterrupt
    except HeadcountError as error:
        _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted; run the same command again", 130)
    except BrokenPipeError:  # the reader of a pipe left; not our error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        # usage errors and faults of the machine are expected here; a bug shows its traceback
        if hasattr(error, "format_message"):
            said = error.format_message().rstrip(".")
            _fail(f"{said}{_given(error)}; see {_help(error)}", 2)
        fault = machine_fault(error)
        if fault is None:
            raise
        _fail(fault, 2)
    sys.exit(code if isinstance(code, int) else 0)


def _help(error: Exception) -> str:
    """Where the words of a refused command are explained: the verb's own help, if there is one."""
    context = getattr(error, "ctx", None)
    return f"{'headcount' if context is None else context.command_path} --help"


def _given(error: Exception) -> str:
    """' (got …)' for a refused option: the parser's own message leaves out what was written."""
    options = getattr(getattr(error, "param", None), "opts", [])
    written = [word for before, word in itertools.pairwise(sys.argv) if before in options]
    return f" (got {written[0]!r})" if written else ""


def _fail(message: str, code: int) -> None:
    sys.stderr.write(f"error: {printable(' '.join(message.split()))}\n")
    sys.exit(code)
