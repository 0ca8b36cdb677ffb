"""Ask every case and store the answers: `python -m tests.golden.record` writes `golden.json`.

Recorded once from the code as it was before the rebuilding, with one BLAS thread and the compiler
flags of the tests (`tests.conftest`, imported first): both change the last digits. A refusal is an
answer too: its exit code and message are stored.
"""

import contextlib
import io
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests import conftest as conftest
from tests.golden.cases import CASES, Case

FILE = Path(__file__).with_name("golden.json")
# Times and places differ from run to run.
DROPPED = frozenset({"seconds", "folder", "report"})
# The weights of a head sum are not unique and lose digits to cancellation: what they achieve is
# stored, not they.
WEIGHTS = frozenset({"rates", "coefficients", "sink"})


def answer(case: Case) -> Any:
    """What the code says today, as plain JSON values."""
    ask = {"fit-residual": _fit_residual, "lower-bound": _lower_bound}.get(case.verb, _command)
    return _kept(ask(case.words))


def _command(words: list[str]) -> Any:
    """The command line, in process, in a folder of its own."""
    from headcount.cli import app
    from headcount.core.errors import HeadcountError

    printed = io.StringIO()
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                app([*words, "--json"], standalone_mode=False)
        except HeadcountError as error:
            return {"exit": error.exit_code, "error": " ".join(str(error).split())}
        finally:
            os.chdir(before)
    return json.loads(printed.getvalue())


def _options(words: list[str]) -> dict[str, Any]:
    """`VERB KERNEL --name value …` as keywords; a word without a value is True."""
    _, kernel, *rest = words
    found: dict[str, Any] = {"kernel": kernel}
    while rest:
        name = rest.pop(0).removeprefix("--")
        found[name] = rest.pop(0) if rest and not rest[0].startswith("--") else True
    numbers = {"heads": int, "window": int, "budget": float}
    return {name: numbers.get(name, lambda v: v)(value) for name, value in found.items()}


def _fit_residual(words: list[str]) -> Any:
    from headcount import fit_kernel

    return fit_kernel(**_options(words), residual=True).to_json()


def _lower_bound(words: list[str]) -> Any:
    from headcount import kernels
    from headcount.theory.bounds import lower_bound
    from headcount.theory.heads import family
    from headcount.theory.problem import Norm, Problem

    asked = _options(words)
    problem = Problem(
        kernels.build(asked["kernel"]),
        family(asked.get("bias", "lin")),
        Norm(asked.get("norm", "l1")),
        asked.get("window"),
        asked.get("budget", math.inf),
        asked.get("residual", False),
    )
    found = lower_bound(problem, asked.get("heads"))
    return {"value": found.value, "method": found.method}


def _kept(value: Any) -> Any:
    """Without times, places and weights; numbers that JSON does not have are null."""
    if isinstance(value, dict):
        return {k: _kept(v) for k, v in value.items() if k not in DROPPED | WEIGHTS}
    if isinstance(value, list | tuple):
        return [_kept(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def main() -> None:
    """Answers that are stored already are kept: an interrupted recording goes on."""
    stored = json.loads(FILE.read_text()) if FILE.exists() else {}
    for case in CASES:
        if case.name not in stored:
            started = time.perf_counter()
            stored[case.name] = answer(case)
            print(f"{time.perf_counter() - started:7.2f} s  {case.name}", file=sys.stderr)
            text = json.dumps(stored, indent=1, allow_nan=False)
            FILE.write_text(text + "\n")


if __name__ == "__main__":
    main()
