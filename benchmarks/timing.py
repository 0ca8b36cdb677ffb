"""Interleaved timing: every round runs each candidate once, so that a noisy machine slows all of them alike."""

import resource
import statistics
import time
from collections.abc import Callable


def interleaved(candidates: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Median seconds of each candidate over interleaved rounds (after one warm-up call each)."""
    for run in candidates.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def peak_memory_mb() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
