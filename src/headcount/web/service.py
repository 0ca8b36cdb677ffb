"""Answers to questions: from memory where the same was asked before, together where the same is
being computed, else from a worker.
"""

import asyncio
import dataclasses
from collections import OrderedDict
from typing import Any

from headcount.core.spec import content_hash
from headcount.web.pool import Pool
from headcount.web.work_words import ANSWERED

KEPT_BYTES = 64 * 2**20
# seconds of work per question
LIMITS = {
    "catalogue": 60.0,
    "draft": 30.0,
    "bound": 60.0,
    "fit": 90.0,
    "memory": 30.0,
    "plan": 240.0,
    "build": 120.0,
    "model": 120.0,
    "runs": 30.0,
    "sweep": 30.0,
    "study": 30.0,
    "diagnose": 300.0,
}
PURE = frozenset({"catalogue", "draft", "bound", "fit", "memory", "plan", "build"})


def is_pure(question: str, values: dict[str, Any]) -> bool:
    """Does the question say it all? A model of a folder may change."""
    return question in PURE or (question == "model" and values["folder"] is None)


def _key(question: str, values: dict[str, Any]) -> str:
    return content_hash({"question": question, "values": values})


class Kept:
    """The answers asked for last, up to a number of bytes."""

    def __init__(self, most: int = KEPT_BYTES):
        self.most, self.size = most, 0
        self._answers: OrderedDict[str, bytes] = OrderedDict()

    def get(self, key: str) -> bytes | None:
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def put(self, key: str, answer: bytes) -> None:
        if len(answer) > self.most // 4 or key in self._answers:
            return
        self._answers[key] = answer
        self.size += len(answer)
        while self.size > self.most:
            _, old = self._answers.popitem(last=False)
            self.size -= len(old)


@dataclasses.dataclass
class _Shared:
    """One computation and how many wait for it."""

    task: "asyncio.Task[tuple[str, bytes]]"
    waiting: int = 0


class Service:
    """The only way from a route to a worker."""

    def __init__(self, pool: Pool):
        self.pool, self.kept = pool, Kept()
        self._running: dict[str, _Shared] = {}

    def known(self, question: str, values: dict[str, Any]) -> bytes | None:
        """The answer from memory, at once: nobody waits for a worker to be told what is known."""
        if not is_pure(question, values):
            return None
        return self.kept.get(_key(question, values))

    async def ask(self, question: str, values: dict[str, Any]) -> tuple[str, bytes]:
        """(answered | refused | failed, bytes) of a worker. The computation ends when the last one
        who waits for it leaves.
        """
        if not is_pure(question, values):
            return await self.pool.ask(question, values, LIMITS[question])
        key = _key(question, values)
        shared = self._running.get(key)
        if shared is None:
            shared = _Shared(asyncio.ensure_future(self._compute(key, question, values)))
            self._running[key] = shared
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if shared.waiting == 0 and not shared.task.done():
                self._running.pop(key, None)
                shared.task.cancel()

    async def _compute(self, key: str, question: str, values: dict[str, Any]) -> tuple[str, bytes]:
        try:
            word, answer = await self.pool.ask(question, values, LIMITS[question])
        finally:
            self._running.pop(key, None)
        if word == ANSWERED:
            self.kept.put(key, answer)
        return word, answer
