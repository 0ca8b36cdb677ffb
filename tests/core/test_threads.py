"""One BLAS thread inside, the setting that was there before outside."""

import threading
import time

import pytest
import scipy.linalg  # noqa: F401  (its BLAS is not numpy's)
from threadpoolctl import ThreadpoolController, threadpool_limits

from headcount.construct import construct, plan
from headcount.construct.method import AbstractMethod
from headcount.core.errors import InputError
from headcount.core.threads import one_thread
from headcount.memory.kernels import Lag
from headcount.theory.bounds import best, lower_bound
from headcount.theory.heads import Lin
from headcount.theory.kernel_fit import fit_kernel
from headcount.theory.problem import Problem


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().info()}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield blas_threads()  # {2}, or what a BLAS that knows one thread alone makes of it


def test_one_inside_and_as_before_outside(two_threads):
    with one_thread():
        assert blas_threads() == {1}
        with one_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == two_threads


def test_restored_after_an_error(two_threads):
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert blas_threads() == two_threads


def test_another_python_thread_leaves_the_setting_as_it_was(two_threads):
    @one_thread()
    def work():
        seen.append(blas_threads())

    seen: list[set[int]] = []
    other = threading.Thread(target=work)
    with one_thread():
        other.start()
        other.join()
        assert blas_threads() == {1}
    assert seen == [{1}]
    assert blas_threads() == two_threads


def test_nesting_is_quick():
    with one_thread():
        start = time.perf_counter()
        for _ in range(1000):
            with one_thread():
                pass
        assert time.perf_counter() - start < 0.1


def test_a_fit_runs_on_one_thread(two_threads):
    seen = []
    fit_kernel(
        "lag:2", heads=4, budget=1e3, certify=False, progress=lambda _: seen.append(blas_threads())
    )
    assert seen
    assert all(threads == {1} for threads in seen)
    assert blas_threads() == two_threads


def test_a_lower_bound_runs_on_one_thread(two_threads, monkeypatch):
    seen = []
    dual = best.dual_claim

    def watched(*arguments, **options):
        seen.append(blas_threads())
        return dual(*arguments, **options)

    monkeypatch.setattr(best, "dual_claim", watched)
    lower_bound(Problem(Lag(2), Lin(), budget=1e3), 4)
    assert seen
    assert all(threads == {1} for threads in seen)
    assert blas_threads() == two_threads


def test_plans_and_builds_compute_on_one_thread(two_threads, monkeypatch):
    seen = []

    def told(*arguments):
        seen.append(blas_threads())
        raise InputError("seen", "enough", "stop")

    monkeypatch.setattr(AbstractMethod, "draft", told)
    plan("fixed:lags=1", 0.1, length=8)
    with pytest.raises(InputError):
        construct("fixed:lags=1", tol=0.1, length=8)
    assert len(seen) >= 2
    assert all(threads == {1} for threads in seen)
    assert blas_threads() == two_threads
