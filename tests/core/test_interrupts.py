"""^C is raised where it is asked for, and at the latest at the end of the block."""

import os
import signal
import threading

import pytest

from headcount.core.interrupts import held_back


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_for_the_check():
    before = signal.getsignal(signal.SIGINT)
    done = []
    with pytest.raises(KeyboardInterrupt), held_back() as check:
        press()
        done.append("after it came")
        check()
        done.append("never")
    assert done == ["after it came"]
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_that_nobody_checks_comes_at_the_end():
    with pytest.raises(KeyboardInterrupt), held_back():
        press()


def test_another_error_is_not_replaced():
    with pytest.raises(ValueError), held_back():
        press()
        raise ValueError


def test_who_handles_interrupts_goes_on_doing_so():
    came, before = [], signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, lambda *given: came.append(given))
    try:
        with held_back() as check:
            press()
            check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(came) == 1


def test_beside_the_main_thread_nothing_changes():
    seen = []

    def work():
        with held_back() as check:
            check()
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
