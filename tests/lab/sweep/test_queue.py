from headcount.lab.sweep.engine import Job
from headcount.lab.sweep.queue import ATTEMPTS, LARGEST, Queue
from tests.lab.sweep.toy import Toy, ToySpec


def jobs(count, shape="a"):
    return [Toy().job(ToySpec(value=i, shape=shape)) for i in range(count)]


def test_batches_hold_one_key_shrink_towards_the_end_and_give_everything_once():
    every = jobs(40, "a") + jobs(10, "b")
    queue, batches = Queue(every, workers=2), []
    while len(queue):
        batches.append(queue.take([None]))
    assert all(len({job.key for job in batch}) == 1 for batch in batches)
    assert sorted(job.id for batch in batches for job in batch) == sorted(job.id for job in every)
    sizes = [len(batch) for batch in batches]
    assert max(sizes) == LARGEST
    assert sizes[-1] == 1
    assert queue.take([None]) == []


def test_a_worker_gets_more_of_what_it_has_compiled_and_a_fresh_one_something_new():
    queue = Queue(jobs(8, "a") + jobs(8, "b") + jobs(4, "c"), workers=3)
    assert queue.take(["b"])[0].key == "b"
    assert queue.take([None], busy=["a"])[0].key == "b"
    assert queue.take(["gone"], busy=["a", "b"])[0].key == "c"
    assert queue.take([None], busy=["a", "b", "c"])[0].key == "a"  # the most left


def test_a_broken_batch_is_tried_again_one_at_a_time():
    queue = Queue([], workers=2)
    three = jobs(3)
    assert queue.broken(three, in_company=True, lost=False) == []
    assert [queue.take([None]) for _ in range(4)] == [[three[0]], [three[1]], [three[2]], []]


def test_alone_an_error_is_final_and_a_death_after_some_attempts():
    queue = Queue([], workers=2)
    job: Job = jobs(1)[0]
    assert queue.broken([job], in_company=False, lost=False) == [job]
    other = jobs(2)[1]
    for _ in range(ATTEMPTS - 1):
        assert queue.broken([other], in_company=False, lost=True) == []
        assert queue.take([None]) == [other]
    assert queue.broken([other], in_company=False, lost=True) == [other]
