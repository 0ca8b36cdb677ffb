"""How long answers take: CPU seconds on one thread, interleaved, with the bar of each.

Growth with heads and with lags is part of the table. `again` is the same question asked twice, the
second time from the cache on disk. Errors are relative to the kernel's norm.

    python -m benchmarks latency
"""

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from benchmarks.timing import interleaved

SNIPPET = """
import headcount as hc
fit = hc.fit_kernel("lag:2", bias="lin", heads=4, budget=1000)
fit.error.l1, fit.lower_bound.value, fit.rounded["bfloat16"].error.l1
"""
# kernel, bias, heads, budget, window, bar in seconds
FITS = [
    *(("power:1.5", "lin", heads, math.inf, 1000, 0.3) for heads in (4, 8, 16)),
    *(("lag:4", "log", heads, 1e3, None, 1.0) for heads in (8, 16, 32, 64)),
    *(("lag:4", "lin", heads, 1e3, None, 1.0) for heads in (8, 16, 32)),
    *(("lag:4", "lin", 8, 1e3, lags, 1.0) for lags in (64, 256, 4096)),
    ("osc:0.05,0.3", "lin", 8, math.inf, None, None),
    ("window:5", "lin", 16, 200.0, None, None),
    # kernel and heads of two families: their tail is summed cell by cell
    *(("power:1.5", "lin", heads, math.inf, None, 0.3) for heads in (4, 8, 16)),
    *(("power:1.5", "log1p", 8, budget, None, 1.0) for budget in (math.inf, 1e3)),
]
# kernel, bias, heads, budget, norm of whole answers on all lags: fit, error, certificate, rounding
ANSWERS = [
    ("power:1.5", "lin", 4, math.inf, "l1"),
    ("power:1.5", "lin", 16, math.inf, "l1"),
    *(("power:1.5", "log1p", heads, 1e3, "l1") for heads in (8, 16)),
    ("power:1.5", "log1p", 8, 1e3, "sup"),
    ("power:2", "log1p", 16, math.inf, "l1"),
    ("exp:0.01", "log", 4, math.inf, "l1"),
    ("exp:0.01", "log", 16, math.inf, "sup"),
    ("lag:16", "log1p", 16, math.inf, "sup"),
]
ANSWER_BAR = 1.0
CERTIFICATES = [("lag:4", "log", 1e3), ("lag:4", "lin", 1e3), ("lag:2", "lin", 1e3)]
CERTIFICATE_BAR, SNIPPET_BAR, AGAIN_BAR = 1.5, 3.0, 0.1
# target, tolerance, dtype, bar in seconds
PLANS = [
    ("essential:kernel=power:1.5", 0.01, "float32", 5.0),
    *((target, 0.1, "float32", 2.0) for target in ("fixed:lags=3", "fixed:lags=1+2+3")),
    *((target, 0.01, "float32", 2.0) for target in ("prop42", "pointer-chain:hops=3,symbols=3")),
    *((t, 0.01, "float32", 2.0) for t in ("adaptive-boolean", "essential:kernel=exp:0.01")),
    ("fixed:lags=3", 1e-10, "float64", 10.0),
]
BUILDS = ["fixed:lags=1", "essential:kernel=exp:0.3", "induction:symbols=4"]
BUILD_BAR = 3.0


def row(what: str, seconds: float, bar: float | None, note: str = "") -> None:
    told = "" if bar is None else ("ok" if seconds < bar else "missed")
    shown = "" if bar is None else f"< {bar:g}"
    print(f"{what:44} {seconds:8.3f} {shown:>7} {told:7} {note}", flush=True)


def snippet() -> float:
    """CPU seconds of the README's first snippet in a process of its own, nothing cached."""
    before = os.times()
    subprocess.run(
        [sys.executable, "-c", SNIPPET], check=True, env={**os.environ, "HEADCOUNT_CACHE": "off"}
    )
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def forget() -> None:
    """Drop what fits of this process remember: samples, with all that was found on them, and
    measured sums.
    """
    from headcount.theory import heads, measure
    from headcount.theory.fit.sample import sample

    for kept in (sample, measure._at_first, heads._finite_powers):
        kept.cache_clear()


def fits() -> None:
    from headcount.memory.kernels import kernels
    from headcount.theory.fit import fit_heads
    from headcount.theory.heads import family
    from headcount.theory.measure import measure
    from headcount.theory.problem import Problem

    runs: dict[str, Callable[[], object]] = {}
    bars, errors = {}, {}
    for kernel, bias, heads, budget, window, bar in FITS:
        problem = Problem(kernels.build(kernel), family(bias), window=window, budget=budget)
        name = f"fit {kernel} {bias} H={heads} C={budget:g} lags={window or 'all'}"

        def run(problem=problem, heads=heads, name=name):
            forget()
            errors[name] = (problem, fit_heads(problem, heads).head_sum)

        runs[name], bars[name] = run, bar
    for name, seconds in interleaved(runs, rounds=3, clock=time.process_time).items():
        problem, found = errors[name]
        note = f"l1 {measure(problem, found).relative.l1:.6g}, {found.heads} heads used"
        row(name, seconds, bars[name], note)


def answers() -> None:
    """What a slider asks for, nothing cached."""
    from headcount.theory.kernel_fit import fit_kernel

    os.environ["HEADCOUNT_CACHE"] = "off"
    for kernel, bias, heads, budget, norm in ANSWERS:
        start = time.process_time()
        made = fit_kernel(kernel, bias=bias, heads=heads, budget=budget, norm=norm)
        seconds, bound = time.process_time() - start, made.lower_bound
        note = (
            f"{norm} {made.errors.relative[norm]:.6g}, at least {bound.value if bound else 0:.3g}"
        )
        row(f"answer {kernel} {bias} H={heads} C={budget:g} {norm}", seconds, ANSWER_BAR, note)


def certificates() -> None:
    from headcount.memory.kernels import kernels
    from headcount.theory.bounds import lower_bound
    from headcount.theory.heads import family
    from headcount.theory.problem import Problem

    runs: dict[str, Callable[[], object]] = {}
    for kernel, bias, budget in CERTIFICATES:
        problem = Problem(kernels.build(kernel), family(bias), budget=budget)
        runs[f"certificate {kernel} {bias} C={budget:g}"] = lambda p=problem: lower_bound(p, 8)
    for name, seconds in interleaved(runs, rounds=3, clock=time.process_time).items():
        row(name, seconds, CERTIFICATE_BAR)


def plans_and_builds() -> None:
    """Each once, after one of another target that loads what all of them use."""
    import headcount as hc

    hc.plan("fixed:lags=2", 0.1, length=64)
    for target, tol, dtype, bar in PLANS:
        start = time.process_time()
        made = hc.plan(target, tol, dtype)
        row(f"plan {target} {tol:g} {dtype}", time.process_time() - start, bar, made.words(target))
    for target in BUILDS:
        start = time.process_time()
        built = hc.construct(target, tol=0.05)
        note = f"{built.parameters} parameters"
        row(f"build {target}", time.process_time() - start, BUILD_BAR, note)


def again() -> None:
    from headcount.theory.kernel_fit import fit_kernel

    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADCOUNT_CACHE"] = folder
        asked = {"kernel": "lag:4", "bias": "lin", "heads": 8, "budget": 1e3}
        fit_kernel(**asked)
        found = interleaved({"again": lambda: fit_kernel(**asked)}, clock=time.process_time)
        row("fit_kernel asked before", found["again"], AGAIN_BAR)
        os.environ["HEADCOUNT_CACHE"] = "off"


def main() -> None:
    print(f"{'what':44} {'CPU s':>8} {'bar':>7}")
    row("first README snippet, process and imports", snippet(), SNIPPET_BAR)
    fits()
    answers()
    certificates()
    plans_and_builds()
    again()


if __name__ == "__main__":
    main()
