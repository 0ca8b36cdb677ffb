"""Workers: a bounded queue, a time limit, an end when nobody waits, and answers asked once."""

import asyncio
import time

import pytest

from headcount.web import pool as pools
from headcount.web.pool import Busy, Died, Late, Pool
from headcount.web.service import Kept, Service
from headcount.web.work_words import ANSWERED


def _life(pipe, root):
    """A worker for tests: sleeps, dies or answers as it is told."""
    while True:
        question, values = pipe.recv()
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
