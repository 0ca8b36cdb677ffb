"""Shared set-up: quick compilation (tests compile much and compute little), and float64 on
demand.
"""

import os
import shutil
import signal
import tempfile
import threading

# Read when jax starts, so before anything imports it. Without fusion emitters tests take half the
# CPU time.
QUICKLY = ("multi_thread_eigen=false", "use_fusion_emitters=false")
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

import jax
import pytest

COMPILED = pytest.StashKey[str]()


def pytest_configure(config):
    """What one test process has compiled, the others of this session load: a folder of the session,
    since compiled code is for this very machine and compiler.
    """
    cache = getattr(config, "cache", None)
    if cache is None:
        return
    given = getattr(config, "workerinput", {}).get("compiled")
    folder = given or tempfile.mkdtemp(dir=cache.mkdir("compiled"))
    config.stash[COMPILED] = folder
    if given is None:
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Called by xdist for every test process before it starts."""
    node.workerinput["compiled"] = node.config.stash.get(COMPILED, None)


@pytest.fixture
def x64():
    """Run the test in float64."""
    with jax.enable_x64(True):
        yield
