"""Who is alive: processes that exist and counters that move; never a wall clock."""

import dataclasses
import inspect
import os
import subprocess
import sys
import time

from headcount.lab.sweep import driver, owners, store
from headcount.lab.sweep.owners import Owner, Watch


def test_this_process_is_alive_and_another_start_time_is_another_process():
    me = Owner.this()
    assert me.pid == os.getpid()
    assert me.exists
    assert Watch().alive(me)
    assert not dataclasses.replace(me, started="1").exists
    assert not Watch().alive(dataclasses.replace(me, started="1"))


def test_a_process_that_ended_is_gone_even_as_a_zombie():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = dataclasses.replace(Owner.this(), pid=child.pid, started=owners.started(child.pid))
    assert owner.exists
    child.stdin.close()
    until = time.monotonic() + 20
    while owner.exists and time.monotonic() < until:  # not waited for: a zombie
        time.sleep(0.01)
    assert not owner.exists
    child.wait()
    assert not owner.exists


def test_a_counter_that_stands_still_means_dead_after_the_grace(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(owners.time, "monotonic", lambda: now[0])
    watch, other = Watch(grace=30), Owner("x", "another machine", 1, "1")
    assert watch.alive(other)
    now[0] += 29
    assert watch.alive(other)
    moved = dataclasses.replace(other, beat=1)
    assert watch.alive(moved)
    now[0] += 29
    assert watch.alive(moved)
    now[0] += 2
    assert not watch.alive(moved)
    assert watch.alive(dataclasses.replace(other, beat=2)), "it goes on: alive again"


def test_no_decision_reads_a_wall_clock():
    for module in (owners, driver):
        assert "time.time" not in inspect.getsource(module)
        assert "datetime" not in inspect.getsource(module)
    # the date a row is stored, for people
    assert inspect.getsource(store).count("datetime.datetime") == 1
