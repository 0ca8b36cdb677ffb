"""Worker processes for heavy questions: a fixed number, a bounded queue, a time limit, an end at
once when nobody waits any more.

Numerics cannot be interrupted from within a process, so that the end of a question is the end of
its worker; a new one takes its place. Workers come from a fork server that has loaded the library,
which makes that cheap; where there is none they are spawned.
"""

import asyncio
import multiprocessing
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

PRELOADED = ["headcount.web.work"]


def _life(pipe: Any, root: str) -> None:
    """What a worker runs; the server itself never loads the numerics."""
    from headcount.web.work import serve

    serve(pipe, root)


class Busy(Exception):
    """All workers are at work, and the queue is full."""


class Late(Exception):
    """The time limit passed."""


class Died(Exception):
    """A worker ended by itself: most likely the system refused it memory."""


class Worker:
    """One process and the pipe to it."""

    def __init__(self, context: Any, root: str):
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_life, args=(theirs, root), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, question: str, values: dict[str, Any]) -> tuple[str, bytes]:
        """Blocks until the answer is there; `Died` where the process ends first."""
        try:
            self.pipe.send((question, values))
            return self.pipe.recv()
        except (EOFError, OSError):
            raise Died from None

    def end(self) -> None:
        """At once."""
        self.process.kill()
        self.process.join(5)
        self.pipe.close()


class Pool:
    """`size` workers and room for `waiting` questions behind them."""

    def __init__(self, size: int, waiting: int, root: str):
        self.size, self.most_waiting, self.root = size, waiting, root
        methods = multiprocessing.get_all_start_methods()
        method = "forkserver" if "forkserver" in methods else "spawn"
        self._context = multiprocessing.get_context(method)
        if method == "forkserver":
            self._context.set_forkserver_preload(PRELOADED)
        # one thread per worker that is asked, and one per worker that is being ended
        self._threads = ThreadPoolExecutor(2 * size)
        self._starter = ThreadPoolExecutor(1)  # the fork server takes one call at a time
        self._closed = False
        self._idle: deque[Worker] = deque()
        self._all: set[Worker] = set()
        self._queue: deque[asyncio.Future[Worker]] = deque()
        self.ended = 0  # questions whose worker was ended before it answered

    def start(self) -> None:
        """Start all workers, without waiting for them: who asks meanwhile waits in the queue."""
        self._starting = [asyncio.ensure_future(self._add()) for _ in range(self.size)]

    def close(self) -> None:
        """End all workers."""
        self._closed = True
        for worker in list(self._all):
            worker.end()
        self._all.clear()
        self._idle.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._starter.shutdown(wait=False, cancel_futures=True)

    async def ask(self, question: str, values: dict[str, Any], seconds: float) -> tuple[str, bytes]:
        """The answer of a worker. `Busy` at once where the queue is full; `Late` after `seconds`
        of work; a cancelled call ends the work.
        """
        worker = await self._free()
        loop = asyncio.get_running_loop()
        try:
            asking = loop.run_in_executor(self._threads, worker.ask, question, values)
            found = await asyncio.wait_for(asyncio.shield(asking), seconds)
        except BaseException as error:
            # its process goes, and with it the thread that waits for the pipe
            asking.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.shield(self._replace(worker))
            if isinstance(error, TimeoutError):
                raise Late from None
            raise
        self._release(worker)
        return found

    async def _free(self) -> Worker:
        if self._idle:
            return self._idle.popleft()
        if len(self._queue) >= self.most_waiting:
            raise Busy
        turn: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(turn.result())
            elif turn in self._queue:
                self._queue.remove(turn)
            raise

    def _release(self, worker: Worker) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(worker)
                return
        self._idle.append(worker)

    async def _replace(self, worker: Worker) -> None:
        self.ended += 1
        self._all.discard(worker)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, worker.end)
        await self._add()

    async def _add(self) -> None:
        loop = asyncio.get_running_loop()
        worker = await loop.run_in_executor(self._starter, Worker, self._context, self.root)
        if self._closed:
            worker.end()
            return
        self._all.add(worker)
        self._release(worker)
