"""The command line: `headcount VERB … [--json]`. Thin: parse, call, print.

Exit 0 when the command did its work, 2 with one line `error: …` for bad input, 1 when a check it
was asked to enforce fails, 130 on ^C.
"""

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
from headcount.cli import bound, build, doctor, fit, listing, plan, reproduce, sweep, train
from headcount.core.errors import HeadcountError

app = typer.Typer(
    name="headcount",
    no_args_is_help=True,
    add_completion=False,
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


for verb in (fit, bound, plan, build, train, sweep, reproduce, listing, doctor):
    verb.register(app)


def main() -> None:
    """Entry point of the `headcount` command."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
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
        # only usage errors are expected here; a bug shows its traceback
        if not hasattr(error, "format_message"):
            raise
        _fail(f"{error.format_message().rstrip('.')}{_given(error)}; see headcount --help", 2)
    sys.exit(code if isinstance(code, int) else 0)


def _given(error: Exception) -> str:
    """' (got …)' for a refused option: the parser's own message leaves out what was written."""
    options = getattr(getattr(error, "param", None), "opts", [])
    written = [word for before, word in itertools.pairwise(sys.argv) if before in options]
    return f" (got {written[0]!r})" if written else ""


def _fail(message: str, code: int) -> None:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
