"""What a worker does before anybody asks."""

import multiprocessing
import threading
import time

import pytest

from headcount.web import work
from headcount.web.work_words import ANSWERED, BEGUN, READY


@pytest.mark.parametrize("question", work.FIRST, ids=lambda q: q[0])
def test_first_questions_have_answers(question, tmp_path):
    told, answer = work.answer(*question, str(tmp_path))
    assert told == ANSWERED
    assert answer


@pytest.mark.parametrize("waits", [False, True])
def test_a_worker_prepares_only_while_nobody_asks(waits, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(work, "answer", lambda *q: asked.append(q[0]) or (ANSWERED, b"{}"))
    monkeypatch.setattr(work, "_limit_memory", lambda: None)
    monkeypatch.setattr(work, "PAUSE", 0.01)
    ours, theirs = multiprocessing.Pipe()
    if waits:
        ours.send(("catalogue", {}))
    worker = threading.Thread(target=work.serve, args=(theirs, str(tmp_path)))
    worker.start()
    if not waits:
        while len(asked) < len(work.FIRST):
            time.sleep(0.001)
        ours.send(("catalogue", {}))
    assert [ours.recv() for _ in range(3)] == [(READY,), (BEGUN,), (ANSWERED, b"{}")]
    ours.close()
    worker.join()
    assert asked == [*([] if waits else [q for q, _ in work.FIRST]), "catalogue"]
