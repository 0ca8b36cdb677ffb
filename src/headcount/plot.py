"""Figures to look at in a notebook: `hc.plot.four_numbers("lag", 1, 8)`."""

from collections.abc import Callable, Mapping
from typing import Any

from headcount.core.arguments import checked
from headcount.core.errors import require
from headcount.core.plural import counted
from headcount.memory.kernels import kernels
from headcount.theory.kernel_fit import fit_kernel

MOST = 64  # points of one figure


@checked
def four_numbers(
    kernel: str,
    first: int,
    last: int,
    *,
    bias: str = "lin",
    heads: int = 8,
    budget: float = 1000.0,
    learned: Mapping[int, float] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Any:
    """Promised, possible (with what is proved to be out of reach) and representable errors of a
    kernel family over its parameter: lags `first` to `last` for "lag". Returns a matplotlib figure.

    `learned` are errors that you measured, by parameter; nothing is trained here. A point takes
    one or two seconds: `progress=print` tells which one is computed.
    """
    require(
        isinstance(kernel, str) and kernel in kernels.names(),
        f"kernel {kernel!r}",
        f"one of {', '.join(kernels.names())}",
        'for example four_numbers("lag", 1, 8)',
    )
    require(
        first <= last < first + MOST,
        f"{kernel} from {first} to {last}",
        f"at most {MOST} values, in order",
        "choose a shorter range",
    )
    from headcount.core.picture import line_plot

    values = list(range(first, last + 1))
    fits = []
    for v in values:
        if progress is not None:
            progress(f"{kernel}:{v}")
        fits.append(fit_kernel(f"{kernel}:{v}", bias=bias, heads=heads, budget=budget))
    lines: dict[str, list[float | None]] = {
        "promised by the theorem": [fit.promised.value for fit in fits],
        "possible (best heads found)": [fit.error.l1 for fit in fits],
        "no heads do better (proved)": [
            None if fit.lower_bound is None else fit.lower_bound.value for fit in fits
        ],
    }
    for dtype in ("float32", "bfloat16"):
        lines[f"representable in {dtype}"] = [_rounded(fit, dtype) for fit in fits]
    if learned:
        lines["learned"] = [learned.get(v) for v in values]
    title = f"{kernel}, {counted(heads, 'head')}, bias {bias}, sum|a| at most {budget:g}"
    return line_plot(values, lines, (kernel, "l1 error of the kernel"), title)


def _rounded(fit: Any, dtype: str) -> float | None:
    found = fit.rounded.get(dtype)
    return None if found is None else found.error.l1
