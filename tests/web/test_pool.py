"""Workers: a bounded queue, a time limit, an end when nobody waits, and answers asked once."""

import asyncio
import time
from pathlib import Path

import pytest

from headcount.web import pool as pools
from headcount.web.pool import Busy, Died, Down, Late, Pool, on_a_thread
from headcount.web.service import Kept, Service
from headcount.web.work_words import ANSWERED, BEGUN, READY


def _life(pipe, root, folder):
    """A worker for tests: sleeps, dies or answers as it is told."""
    pipe.send((READY,))
    while True:
        question, values = pipe.recv()
        if question == "die unbegun":
            return
        pipe.send((BEGUN,))
        if question == "die":
            return
        time.sleep(values.get("sleep", 0))
        pipe.send((ANSWERED, repr((question, values)).encode()))


@pytest.fixture
def run(monkeypatch):
    """Run an async test over a pool of one worker and one place in the queue."""
    monkeypatch.setattr(pools, "_life", _life)
    monkeypatch.setattr(pools, "PRELOADED", [])

    def go(test):
        async def whole():
            pool = Pool(1, 1, ".")
            pool.start()
            try:
                await test(pool)
            finally:
                pool.close()

        asyncio.run(whole())

    return go


def test_it_answers_and_refuses_when_full(run):
    async def test(pool):
        assert (await pool.ask("a", {}, 30))[0] == ANSWERED
        first = asyncio.ensure_future(pool.ask("b", {"sleep": 0.5}, 30))
        second = asyncio.ensure_future(pool.ask("c", {}, 30))
        await asyncio.sleep(0.1)
        with pytest.raises(Busy):
            await pool.ask("d", {}, 30)
        assert [word for word, _ in await asyncio.gather(first, second)] == [ANSWERED] * 2

    run(test)


def test_late_and_dead_workers_are_replaced(run):
    async def test(pool):
        with pytest.raises(Late):
            await pool.ask("a", {"sleep": 60}, 0.2)
        with pytest.raises(Died):
            await pool.ask("die", {}, 30)
        assert (await pool.ask("b", {}, 30))[0] == ANSWERED
        assert pool.ended == 2

    run(test)


def test_the_work_ends_when_the_last_one_leaves(run):
    async def test(pool):
        service = Service(pool)
        await pool.ask("a", {}, 30)  # the worker is there
        asking = [
            asyncio.ensure_future(service.ask("fit", {"sleep": 60, "kernel": 1})) for _ in range(3)
        ]
        await asyncio.sleep(0.3)
        asking[0].cancel()
        await asyncio.sleep(0.1)
        assert pool.ended == 0  # two still wait for the same answer
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        assert service.known("fit", {"kernel": 2}) is None
        word, answer = await service.ask("fit", {"kernel": 2})
        assert (word, pool.ended) == (ANSWERED, 1)
        assert service.known("fit", {"kernel": 2}) == answer

    run(test)


def test_a_worker_that_died_idle_costs_nobody_an_answer(run):
    async def test(pool):
        await pool.ask("a", {}, 30)
        (worker,) = pool._all
        worker.process.kill()
        worker.process.join()
        assert (await pool.ask("b", {}, 30))[0] == ANSWERED
        assert worker not in pool._all
        with pytest.raises(Died):  # asked twice, and died twice before it began
            await pool.ask("die unbegun", {}, 30)
        assert (await pool.ask("c", {}, 30))[0] == ANSWERED
        assert pool.ended == 0

    run(test)


def test_where_no_worker_starts_who_waits_is_told_and_it_is_tried_again(monkeypatch, capsys):
    monkeypatch.setattr(pools, "_life", _life)
    monkeypatch.setattr(pools, "PRELOADED", [])
    monkeypatch.setattr(pools, "PAUSE_SECONDS", 0.01)
    good, starts = pools.Worker, []

    def worker(*arguments):
        starts.append(arguments)
        if len(starts) <= pools.MOST_FAILED:
            raise BlockingIOError(11, "no more processes")
        while len(starts) == pools.MOST_FAILED + 1 and not told:
            time.sleep(0.01)
        return good(*arguments)

    told = []
    monkeypatch.setattr(pools, "Worker", worker)
    worker.end = good.end

    async def test():
        pool = Pool(1, 4, ".")
        pool.start()
        try:
            found = await asyncio.gather(
                *(pool.ask("a", {}, 30) for _ in range(3)), return_exceptions=True
            )
            assert [type(error) for error in found] == [Down] * 3
            with pytest.raises(Down):  # and at once, as long as there is none
                await pool.ask("a", {}, 30)
            told.append(True)
            while pool._down:
                await asyncio.sleep(0.01)
            assert (await pool.ask("a", {}, 30))[0] == ANSWERED
        finally:
            pool.close()

    asyncio.run(test())
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "error: no worker process can be started (BlockingIOError)"


def test_nobody_waits_for_ever(run, monkeypatch):
    monkeypatch.setattr(pools, "WAIT_SECONDS", 0.2)

    async def test(pool):
        while not pool._idle:
            await asyncio.sleep(0.01)
        first = asyncio.ensure_future(pool.ask("a", {"sleep": 1}, 30))
        await asyncio.sleep(0.05)
        with pytest.raises(Busy):
            await pool.ask("b", {}, 30)
        assert (await first)[0] == ANSWERED

    run(test)


def test_a_start_that_comes_too_late_is_undone(monkeypatch):
    undone = []

    async def test():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(on_a_thread(lambda: time.sleep(0.2) or 7, undone.append), 0.05)
        await asyncio.sleep(0.3)

    asyncio.run(test())
    assert undone == [7]


def test_what_a_worker_wrote_goes_with_it_and_with_the_server(run):
    places = []

    async def test(pool):
        await pool.ask("a", {}, 30)
        (worker,) = pool._all
        Path(worker.folder, "upload.csv").write_text("x")
        with pytest.raises(Died):
            await pool.ask("die", {}, 30)
        assert not Path(worker.folder).exists()
        places.append(Path(pool._folder.name))
        assert places[0].is_dir()

    run(test)
    assert not places[0].exists()


def test_one_who_waits_in_the_queue_may_leave(run):
    async def test(pool):
        first = asyncio.ensure_future(pool.ask("a", {"sleep": 0.4}, 30))
        await asyncio.sleep(0.05)
        second = asyncio.ensure_future(pool.ask("b", {}, 30))
        await asyncio.sleep(0.05)
        second.cancel()
        await first
        assert (await pool.ask("c", {}, 30))[0] == ANSWERED
        assert pool.ended == 0

    run(test)


def test_kept_answers_are_bounded():
    kept = Kept(100)
    for i in range(10):
        kept.put(str(i), b"x" * 20)
    assert kept.size <= 100
    assert kept.get("0") is None
    assert kept.get("9") is not None
    kept.put("large", b"x" * 90)
    assert kept.get("large") is None
