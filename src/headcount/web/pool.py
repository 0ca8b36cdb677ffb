"""Worker processes for heavy questions: a fixed number, a bounded queue, a time limit, an end at
once when nobody waits any more.

Numerics cannot be interrupted from within a process, so that the end of a question is the end of
its worker; a new one takes its place. Workers come from a fork server that has loaded the library,
which makes that cheap; where there is none they are spawned. Where none can be started, who waits
is told so, and it is tried again.
"""

import asyncio
import contextlib
import multiprocessing
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from headcount.core.children import safe_children
from headcount.web.work_words import BEGUN, FAILED, READY

T = TypeVar("T")

PRELOADED = ["headcount.web.work"]
START_SECONDS = 90.0  # until a worker has loaded the library, on a busy machine
WAIT_SECONDS = 120.0  # in the queue
PAUSE_SECONDS, LONGEST_PAUSE = 1.0, 60.0  # before a failed start is tried again; twice each time
MOST_FAILED = 3  # starts in a row, then who waits is told


def _life(pipe: Any, root: str, folder: str) -> None:
    """What a worker runs; the server itself never loads the numerics."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C is for the server, which ends its workers
    threading.Thread(target=_leave_with, args=(pipe, folder), daemon=True).start()
    tempfile.tempdir = folder  # the server removes it, however the worker ends
    with contextlib.suppress(BrokenPipeError):  # the server ended while we had something to say
        try:
            from headcount.web.work import serve
        except Exception as error:
            pipe.send((FAILED, type(error).__name__))
        else:
            serve(pipe, root)


def _leave_with(pipe: Any, folder: str) -> None:
    """End when the other end of the pipe is closed, also in the middle of a computation: a server
    that was killed leaves nothing behind.
    """
    if hasattr(select, "poll"):
        watch = select.poll()
        watch.register(pipe.fileno(), 0)  # the end is told unasked
        watch.poll()
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # others of this server are still there
            Path(folder).parent.rmdir()
        os._exit(0)


class Busy(Exception):
    """All workers are at work, and the queue is full."""


class Late(Exception):
    """The time limit passed."""


class Died(Exception):
    """A worker ended by itself: most likely the system refused it memory."""


class NotBegun(Exception):
    """A worker was gone before it took the question: another one may."""


class Down(Exception):
    """No worker can be started; the text says why, as far as it is known."""


class Worker:
    """One process, the pipe to it, and a folder for what it writes in between."""

    def __init__(self, context: Any, root: str, folder: str):
        self.folder = tempfile.mkdtemp(dir=folder)
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, root, self.folder)
        self.process = context.Process(target=_life, args=arguments, daemon=True)
        try:
            self.process.start()
            theirs.close()
            if not self.pipe.poll(START_SECONDS):
                raise Down("too slow")
            word, *told = self.pipe.recv()
            if word != READY:
                raise Down(*told)
        except BaseException:
            theirs.close()
            self.end()
            raise

    @property
    def alive(self) -> bool:
        return self.process.is_alive()

    def ask(self, question: str, values: dict[str, Any]) -> tuple[str, bytes]:
        """Blocks until the answer is there; `NotBegun` or `Died` where the process ends first."""
        begun = False
        try:
            self.pipe.send((question, values))
            begun = self.pipe.recv()[0] == BEGUN
            return self.pipe.recv()
        except (EOFError, OSError):
            raise (Died if begun else NotBegun) from None

    def end(self) -> None:
        """At once."""
        if self.process.pid is not None:
            self.process.kill()
            self.process.join(5)
        self.pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)


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
        self._one_start = threading.Lock()  # the fork server takes one call at a time
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._closed = self._down = False
        self._idle: deque[Worker] = deque()
        self._all: set[Worker] = set()
        self._queue: deque[asyncio.Future[Worker]] = deque()
        self._starting: set[asyncio.Task[None]] = set()
        self.ended = 0  # questions whose worker was ended before it answered

    def start(self) -> None:
        """Start all workers, without waiting for them: who asks meanwhile waits in the queue."""
        self._folder = tempfile.TemporaryDirectory(prefix="headcount-", ignore_cleanup_errors=True)
        for _ in range(self.size):
            self._begin_one()

    def close(self) -> None:
        """End all workers; who waits for one is told. A second time does nothing."""
        self._closed = True
        self._tell_down()
        for task in self._starting:
            task.cancel()
        for worker in list(self._all):
            worker.end()
        self._all.clear()
        self._idle.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._folder is not None:
            self._folder.cleanup()

    async def ask(self, question: str, values: dict[str, Any], seconds: float) -> tuple[str, bytes]:
        """The answer of a worker. `Busy` at once where the queue is full; `Late` after `seconds`
        of work; a cancelled call ends the work.
        """
        try:
            return await self._asked(question, values, seconds)
        except NotBegun:  # it had died while nobody asked
            pass
        try:
            return await self._asked(question, values, seconds)
        except NotBegun:
            raise Died from None

    async def _asked(
        self, question: str, values: dict[str, Any], seconds: float
    ) -> tuple[str, bytes]:
        worker = await self._free()
        if self._closed:
            raise Down
        loop = asyncio.get_running_loop()
        asking = loop.run_in_executor(self._threads, worker.ask, question, values)
        try:
            found = await asyncio.wait_for(asyncio.shield(asking), seconds)
        except BaseException as error:
            # its process goes, and with it the thread that waits for the pipe
            asking.add_done_callback(lambda done: done.cancelled() or done.exception())
            self.ended += not isinstance(error, NotBegun)
            await asyncio.shield(self._replace(worker))
            if isinstance(error, TimeoutError):
                raise Late from None
            raise
        self._release(worker)
        return found

    async def _free(self) -> Worker:
        while self._idle:
            worker = self._idle.popleft()
            if worker.alive:
                return worker
            await self._replace(worker)
        if self._down or self._closed:
            raise Down
        if len(self._queue) >= self.most_waiting:
            raise Busy
        turn: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return await turn
        except (asyncio.CancelledError, TimeoutError) as error:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._release(turn.result())
            elif turn in self._queue:
                self._queue.remove(turn)
            if isinstance(error, TimeoutError):
                raise Busy from None
            raise

    def _release(self, worker: Worker) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(worker)
                return
        self._idle.append(worker)

    async def _replace(self, worker: Worker) -> None:
        """Another one in its place; nobody waits until that is there."""
        self._all.discard(worker)
        if self._closed:
            return
        await asyncio.get_running_loop().run_in_executor(None, worker.end)
        self._begin_one()

    def _begin_one(self) -> None:
        task = asyncio.ensure_future(self._add())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _add(self) -> None:
        """One more worker; what fails is tried again, after a pause."""
        failed = 0
        while not self._closed:
            try:
                worker = await asyncio.wait_for(
                    on_a_thread(self._started, Worker.end), START_SECONDS * 2
                )
            except Exception as error:
                failed += 1
                if failed == MOST_FAILED:
                    self._give_up(error)
                await asyncio.sleep(min(PAUSE_SECONDS * 2 ** (failed - 1), LONGEST_PAUSE))
                continue
            self._down = False
            self._all.add(worker)
            self._release(worker)
            return

    def _started(self) -> Worker:
        with self._one_start, safe_children():
            _prepared(self._context)
            assert self._folder is not None
            try:
                worker = Worker(self._context, self.root, self._folder.name)
            except OSError as error:
                if error.errno is not None:
                    raise
                # Python's own complaint that the name of the fork server's socket is too long
                self._context = multiprocessing.get_context("spawn")
                worker = Worker(self._context, self.root, self._folder.name)
        if self._closed:
            worker.end()
        return worker

    def _give_up(self, error: Exception) -> None:
        """Tell all who wait, unless some worker is there to take them."""
        if self._all:
            return
        if not self._down:
            why = str(error) if isinstance(error, Down) else type(error).__name__
            print(f"error: no worker process can be started ({why})", file=sys.stderr)
        self._down = True
        self._tell_down()

    def _tell_down(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_exception(Down())


def _prepared(context: Any) -> None:
    """Let what is started from this thread be deaf to ^C from its first moment; the tracker of
    shared memory sees to that itself.
    """
    if context.get_start_method() == "forkserver":
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


async def on_a_thread(work: Callable[[], T], unwanted: Callable[[T], None]) -> T:
    """What `work` returns, of a thread for which the end of the process does not wait; `unwanted`
    gets it where nobody waits any more.
    """
    loop = asyncio.get_running_loop()
    made: asyncio.Future[T] = loop.create_future()

    def found(value: T) -> None:
        unwanted(value) if made.done() else made.set_result(value)

    def failed(error: Exception) -> None:
        if not made.done():
            made.set_exception(error)

    def run() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            try:
                value = work()
            except Exception as error:
                loop.call_soon_threadsafe(failed, error)
            else:
                loop.call_soon_threadsafe(found, value)

    threading.Thread(target=run, daemon=True).start()
    return await made
