"""What a worker process does: takes questions from a pipe, answers them one after the other.

A worker computes on one thread, with a limit on its memory. It may be ended at any moment: it holds
no lock and writes only to temporary folders.
"""

import os

# Read when numpy and jax load; a user's own setting wins (see `headcount.cli`).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NPROC", "1")

import contextlib
import functools
import json
import sys
import tempfile
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from headcount.core.errors import HeadcountError
from headcount.core.registry import without_files
from headcount.lab.sweep.schema import patience
from headcount.web import asked
from headcount.web.views.catalogue import catalogue_view
from headcount.web.views.drafts import bound_view, draft_view
from headcount.web.views.dropped_files import data_view
from headcount.web.views.head_views import heads_view
from headcount.web.views.memories import memory_view
from headcount.web.views.models import model_view
from headcount.web.views.plain_numbers import finite
from headcount.web.views.plans import plan_view, zip_view
from headcount.web.work_words import ANSWERED, BEGUN, FAILED, READY, REFUSED

STORE_SECONDS = 5.0  # that a store is waited for: less than any question has
MEMORY_BYTES = 6 * 2**30

# A worker that has nothing to do at first answers these to itself: libraries that load late are
# then there when somebody asks.
PAUSE = 0.2  # seconds
FIRST: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory", {"memory": "fixed:lags=1"}),
    ("draft", {"kernel": "power:1", "heads": 2}),
    ("fit", {"kernel": "power:1", "heads": 2, "budget": 10.0, "certify": True}),
)


def _stores() -> Any:
    """Views of stores and studies. They bring statistics and figures, half of what there is to
    load, and no page that one opens first needs them.
    """
    from headcount.web.views import stores

    return stores


# question → its answer as bytes; JSON, but for the zip
TASKS: dict[str, Callable[..., bytes]] = {
    "catalogue": lambda values, root: as_json(catalogue_view()),
    "draft": lambda values, root: as_json(draft_view(asked.AskDraft(**values))),
    "bound": lambda values, root: as_json(bound_view(asked.AskBound(**values))),
    "fit": lambda values, root: as_json(heads_view(asked.AskFit(**values))),
    "memory": lambda values, root: as_json(memory_view(asked.AskMemory(**values))),
    "plan": lambda values, root: as_json(plan_view(asked.AskPlan(**values))),
    "build": lambda values, root: zip_view(asked.AskBuild(**values)),
    "model": lambda values, root: as_json(model_view(asked.AskModel(**values), root)),
    "runs": lambda values, root: as_json(_stores().runs_view(asked.AskRuns(**values), root)),
    "sweep": lambda values, root: as_json(_stores().sweep_view(asked.AskSweep(**values), root)),
    "study": lambda values, root: as_json(_stores().study_view(asked.AskStudy(**values), root)),
    "diagnose": lambda values, root: as_json(data_view(**values)),
}


def as_json(document: dict[str, Any]) -> bytes:
    """Plain JSON: null for what is no finite number."""
    return json.dumps(finite(document), allow_nan=False, separators=(",", ":")).encode()


def answer(question: str, values: dict[str, Any], root: str) -> tuple[str, bytes]:
    """A verdict word and the bytes of the answer, or of one line that says why there is none."""
    try:
        with without_files(), patience(STORE_SECONDS):
            return ANSWERED, TASKS[question](values, root)
    except HeadcountError as error:
        return REFUSED, _line(_without_places(str(error), root))
    except MemoryError:
        return REFUSED, _line("the memory limit was reached; expected a smaller question")
    except RecursionError:
        return REFUSED, _line("nested too deeply; expected fewer levels; flatten it")
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        return FAILED, _line(f"the computation failed ({type(error).__name__}); this is a bug")


def _without_places(message: str, root: str) -> str:
    """The same with paths as the client knows them: where root and temporary files lie is no
    business of theirs.
    """
    for folder in sorted({root, str(Path(root).resolve()), tempfile.gettempdir()}, key=len)[::-1]:
        if folder != os.sep:
            message = message.replace(folder + os.sep, "").replace(folder, ".")
    return message


def _line(message: str) -> bytes:
    return " ".join(message.split())[:2000].encode()


def serve(pipe: Connection, root: str) -> None:
    """The life of a worker: until the pipe closes."""
    _limit_memory()
    pipe.send((READY,))
    begin: list[Callable[[], Any]] = [
        *(functools.partial(answer, question, values, root) for question, values in FIRST),
        _stores,
    ]
    while begin and not pipe.poll(PAUSE):  # who asks does not wait for the rest
        begin.pop(0)()
    while True:
        try:
            question, values = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send((BEGUN,))
        pipe.send(answer(question, values, root))


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        wanted = MEMORY_BYTES if most == resource.RLIM_INFINITY else min(MEMORY_BYTES, most)
        resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
