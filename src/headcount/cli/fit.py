"""`headcount fit KERNEL`: the best sum of heads found for a memory kernel, its certificate and the
other numbers.
"""

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, print_json, progress
from headcount.core.claims import phrase, rounded
from headcount.core.errors import InputError, require

if TYPE_CHECKING:
    from headcount.theory.kernel_fit import KernelFit

PLOT_ENDINGS = (".svg", ".png")


def fit(
    kernel: Annotated[
        str,
        typer.Argument(
            help="lag:99, exp:0.1, power:1.5, osc:0.05,0.3, or a .npy/.csv file, one value per lag"
        ),
    ],
    bias: Annotated[str, typer.Option(help="lin, log, log1p, peak, table or rope")] = "lin",
    heads: Annotated[int | None, typer.Option(help="number of heads")] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            help="instead of --heads: the fewest found for this error, relative to the kernel"
        ),
    ] = None,
    budget: Annotated[float | None, typer.Option(help="largest sum of |coefficients|")] = None,
    norm: Annotated[str, typer.Option(help="l1, l2 or sup, over lags")] = "l1",
    window: Annotated[
        int | None, typer.Option(help="number of lags that exist; without it every lag counts")
    ] = None,
    dtype: Annotated[
        str | None, typer.Option(help="float32 or bfloat16: the best heads for that format")
    ] = None,
    lower_bound: Annotated[bool, typer.Option(help="compute the certified lower bound")] = True,
    plot: Annotated[
        Path | None,
        typer.Option(help="write kernel, fit and residual by lag to this .svg or .png file"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """The best sum of heads found for a memory kernel: its error, what is proved of all others, and
    what float32 keeps of it.
    """
    from headcount.theory.kernel_fit import fit_kernel  # scipy and flint: not needed for --help

    if plot is not None:
        require(
            plot.suffix in PLOT_ENDINGS,
            f"plot file {plot}",
            f"a name that ends in {' or '.join(PLOT_ENDINGS)}",
            "rename it",
        )
        require(
            plot.parent.is_dir(),
            f"plot file {plot}",
            "an existing folder",
            "create the folder first",
        )
        require(
            os.access(plot.parent, os.W_OK),
            f"plot file {plot}",
            "a folder that can be written to",
            "choose another place",
        )
    with progress() as say:
        result = fit_kernel(
            kernel,
            bias=bias,
            heads=heads,
            tol=tol,
            budget=math.inf if budget is None else budget,
            norm=norm,
            window=window,
            dtype=dtype,
            certify=lower_bound,
            progress=say,
        )
    if plot is not None:
        draw(result, plot)
    if json:
        print_json(result.to_json())
    else:
        console.print(table(result))
    if result.interrupted:  # what was found is printed; a script still learns that it was not all
        raise KeyboardInterrupt


def register(app: typer.Typer) -> None:
    app.command("fit")(fit)


def table(result: "KernelFit") -> Table:
    """The four numbers (learned is what training finds: `headcount train`)."""
    size = result.errors.kernel[result.norm]
    count = f"{result.heads} {result.bias} head{'s' if result.heads != 1 else ''}"
    made = Table(
        title=(
            f"{escape(result.kernel)}: {count}, {result.norm} error (the kernel itself: {size:.4g})"
        )
    )
    made.add_column("number")
    made.add_column("value", justify="right")
    made.add_column("where it comes from")
    made.add_row("promised", *_promised_cells(result))
    made.add_row(
        "possible",
        f"{result.error[result.norm]:.4g}",
        escape(f"{result.method}; {_plain_sum(result)}"),
    )
    made.add_row("  at least", *_bound_cells(result))
    for name, held in result.rounded.items():
        made.add_row(
            "representable",
            f"{held.error[result.norm]:.4g}" if held.finite else "overflows",
            f"the same heads in {name}",
        )
    tail = result.errors.tail
    if tail.included and tail.bound > 1e-9 * result.error.l1:
        made.add_row("tail", f"{tail.bound:.2g}", f"l1 beyond lag {tail.start - 1}: {tail.reason}")
    for note in result.notes:
        made.add_row("note", "", escape(note))
    return made


def _promised_cells(result: "KernelFit") -> tuple[str, str]:
    promised = result.promised
    if not promised.applies:
        return "does not apply", "; ".join(promised.reasons)
    value = (
        f"{promised.value:.4g}" if promised.value is not None else f"1e{promised.log10_value:.0f}"
    )
    return (
        value + (" (vacuous)" if promised.vacuous else ""),
        f"{promised.source}, n = {promised.n}",
    )


def _bound_cells(result: "KernelFit") -> tuple[str, str]:
    bound = result.lower_bound
    if bound is None:
        decays = result.bias in ("lin", "log", "log1p")
        return (
            "-",
            (
                "no lower bound was asked for"
                if decays
                else f"no lower bound is known for {result.bias}"
            ),
        )
    if bound.value == 0:
        return "0", "no positive lower bound is known here"
    shown = rounded(bound.value, 4, up=False)
    return shown, f"{phrase(bound.scope)}; {bound.method} ({bound.status})"


def _plain_sum(result: "KernelFit") -> str:
    total = result.coefficient_sum
    shown = f"{total:.3g}" if isinstance(total, float) else f"{total[:4]}e{total.split('e')[1]}"
    return f"sum|a| = {shown}, {result.digits_lost:.1f} digits lost to cancellation"


def draw(result: "KernelFit", path: Path) -> None:
    """Kernel and fit above, residual below, by lag."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (upper, lower) = pyplot.subplots(
        2, 1, sharex=True, figsize=(8, 6), layout="constrained"
    )
    lags = range(len(result.target))
    upper.plot(
        lags,
        result.target,
        color="black",
        linewidth=1.5,
        drawstyle="steps-mid",
        label=f"kernel {result.kernel}",
    )
    drawn = result.drawn()
    upper.plot(
        lags,
        drawn,
        color="tab:red",
        linewidth=1,
        linestyle="--",
        drawstyle="steps-mid",
        label=f"{result.heads} {result.bias} heads",
    )
    upper.set_ylabel("weight")
    upper.legend()
    residual: Any = result.target - drawn
    lower.plot(lags, residual, color="tab:blue", linewidth=1)
    lower.set_xlabel("lag")
    lower.set_ylabel("kernel - fit")
    lower.set_title(f"{result.norm} error {result.error[result.norm]:.4g}", fontsize="medium")
    lower.set_xlim(0, _shown(result))
    try:
        figure.savefig(path)
    except OSError as error:
        raise InputError(
            f"cannot write {path} ({error})", "a writable file", "choose another place"
        ) from None
    finally:
        pyplot.close(figure)


def _shown(result: "KernelFit") -> int:
    """Lags up to where 99.9 % of the kernel's mass lies, and a little more."""
    mass = abs(result.target).cumsum()
    inside = int((mass < 0.999 * mass[-1]).sum()) + 1
    return min(len(result.target) - 1, max(8, round(1.5 * inside)))
