"""`headcount fit KERNEL`: the best sum of heads found for a memory kernel, its certificate and the
other numbers; `--heads 1..16`: the error against the number of heads.
"""

import dataclasses
import io
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, print_json, progress, tell
from headcount.cli.options import JSON
from headcount.core.claims import rounded
from headcount.core.errors import require
from headcount.core.files import write_whole
from headcount.theory.fit_text import curve_figure, four_numbers, head_rows, title

if TYPE_CHECKING:
    from headcount.memory.kernels import FileKernel
    from headcount.theory.fit_record import KernelFit

PLOT_ENDINGS = (".svg", ".png")
MOST_COUNTS = 64


KERNEL = Annotated[
    str | None,
    typer.Argument(
        help="lag:99, exp:0.1, power:1.5, osc:0.05,0.3, or a .npy/.csv file, one value per lag"
    ),
]
CSV = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        help="instead of KERNEL: a .csv file of values from lag 0 on, or of lag,value; a header"
        " is optional",
    ),
]
PLOT = Annotated[
    Path | None,
    typer.Option(
        "--plot", "-o", help="write the fit by lag, or the error against heads: .svg or .png"
    ),
]


def fit(
    kernel: KERNEL = None,
    csv: CSV = None,
    bias: Annotated[str, typer.Option(help="lin, log, log1p, peak, table or rope")] = "lin",
    heads: Annotated[
        str | None, typer.Option(help="number of heads, or 1..16 for the error against heads")
    ] = None,
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
    plot: PLOT = None,
    json: JSON = False,
) -> None:
    """The best sum of heads found for a memory kernel: its error, what is proved of all others, and
    what float32 keeps of it.
    """
    memory = kernel_of(kernel, csv)
    asked: list[int | None] = [None] if heads is None else [*counts(str(heads))]
    if plot is not None:
        check_place(plot)
    options = {
        "bias": bias, "tol": tol, "budget": math.inf if budget is None else budget, "norm": norm,
        "window": window, "dtype": dtype, "certify": lower_bound,
    }  # fmt: skip
    results = as_proved_of_more(never_worse(searched(memory, asked, options)))
    tell_results(results, one=".." not in str(heads), plot=plot, json=json)
    if tol is not None and not json:
        tell_tolerance(results[0], tol)
    if results[-1].interrupted:  # what was found is printed; a script learns that it was not all
        raise KeyboardInterrupt


def kernel_of(kernel: str | None, csv: Path | None) -> "str | FileKernel":
    """The kernel that one of both names."""
    from headcount.memory.kernels import FileKernel

    require(
        (kernel is None) != (csv is None),
        "no kernel" if kernel is None else f"kernel {kernel} and --csv",
        "a kernel or --csv FILE",
        "for example headcount fit lag:2 --heads 4",
    )
    if csv is not None:
        return FileKernel(str(csv))
    assert kernel is not None
    return kernel


def searched(
    memory: "str | FileKernel", asked: Sequence[int | None], options: dict[str, Any]
) -> "list[KernelFit]":
    """A fit per number of heads, up to ^C."""
    from headcount.theory.kernel_fit import fit_kernel  # numpy and flint: not needed for --help

    results = []
    with progress() as say:
        for count in asked:
            results.append(fit_kernel(memory, heads=count, **options, progress=say))
            if results[-1].interrupted:
                break
    return results


def tell_results(results: "list[KernelFit]", one: bool, plot: Path | None, json: bool) -> None:
    """One fit, or the errors against heads: as a figure, and as a document or tables."""
    if plot is not None:
        write_figure(results[0].plot() if one else curve_figure(results), plot)
    if json:
        found = [result.to_json() for result in results]
        print_json(found[0] if one else {"kernel": results[0].kernel, "fits": found})
        return
    console.print(table(results[0]) if one else curve_table(results))
    if not one:
        tell_curve(results)
    if plot is not None:
        tell(f"written to {plot}")


def register(app: typer.Typer) -> None:
    app.command("fit")(fit)


def table(result: "KernelFit") -> Group:
    """The four numbers (learned is what training finds: `headcount train`), then the heads."""
    made = Table(title=escape(title(result)))
    made.add_column("number")
    made.add_column("value", justify="right")
    made.add_column("what it says")
    for row in four_numbers(result):
        made.add_row(*map(escape, row))
    heads = Table(title="heads")
    heads.add_column("head", justify="right")
    heads.add_column("rate" if not result.parameters else "curve")
    heads.add_column("coefficient", justify="right")
    for row in head_rows(result):
        heads.add_row(*map(escape, row))
    return Group(made, heads)


def curve_table(results: "list[KernelFit]") -> Table:
    """Error against heads, each with its certificate."""
    first = results[0]
    made = Table(title=escape(f"{first.kernel}: {first.norm} error against {first.bias} heads"))
    for name in ("heads", "possible", "at least", "float32", "bfloat16", "sum|a|"):
        made.add_column(name, justify="right")
    for result in results:
        bound = result.lower_bound
        total = result.coefficient_sum
        made.add_row(
            str(result.heads),
            f"{result.error[result.norm]:.4g}",
            "-" if bound is None else rounded(bound.value, 4, up=False),
            *(
                f"{held.error[result.norm]:.4g}" if held.finite else "overflows"
                for held in result.rounded.values()
            ),
            f"{total:.3g}" if isinstance(total, float) else f"{total[:4]}e{total.split('e')[1]}",
        )
    return made


def tell_curve(results: "list[KernelFit]") -> None:
    """What the columns mean, and where a search with more heads found less."""
    tell("possible: the best heads found; at least: no such heads come closer, proved")
    tell("float32, bfloat16: the same heads in that format; sum|a|: their coefficients added up")
    for result in results:
        for note in result.notes:
            tell(f"{result.heads} heads: {note}")


def tell_tolerance(result: "KernelFit", tol: float) -> None:
    """A tolerance is a share of the kernel, the table's errors are not."""
    share = result.errors.relative[result.norm]
    tell(
        f"tolerance: {share:.2g} of the kernel itself;"
        f" {'at most' if share <= tol else 'not within'} {tol:g}, as asked"
    )


def counts(text: str) -> list[int]:
    """'8' or '1..16', both ends counted."""
    first, dots, last = text.partition("..")
    fine = all(part.isascii() and part.isdigit() and len(part) < 6 for part in (first, last or "1"))
    require(
        fine and (last or not dots),
        f"heads {text!r}",
        "a whole number, or two with .. between them",
        "pass --heads 8, or --heads 1..16 for the error against heads",
    )
    low, high = int(first), int(last or first)
    require(
        low <= high and high - low < MOST_COUNTS,
        f"heads {text!r}",
        f"an ascending range of at most {MOST_COUNTS} numbers",
        "pass for example --heads 1..16",
    )
    return list(range(low, high + 1))


def never_worse(results: "list[KernelFit]") -> "list[KernelFit]":
    """Where a search with more heads found less than one with fewer, it is told beside it."""
    told, least = [], None
    for result in results:
        error = result.error[result.norm]
        if least is not None and error > least.error[least.norm] * (1 + 1e-9):
            note = f"{least.heads} heads were found to reach {least.error[least.norm]:.4g}"
            result = dataclasses.replace(result, notes=(*result.notes, note))
        if least is None or error < least.error[least.norm]:
            least = result
        told.append(result)
    return told


def as_proved_of_more(results: "list[KernelFit]") -> "list[KernelFit]":
    """What is proved of more heads holds for fewer: the larger bound stands beside both."""
    from headcount.theory.kernel_fit import with_bound

    told: list[KernelFit] = []
    for result in reversed(results):
        own, more = result.lower_bound, told[-1].lower_bound if told else None
        if own is not None and more is not None:
            known = more.answers(result.problem.scope(result.heads)).value
            if known is not None and known > own.value:
                result = with_bound(result.problem, result, more, None)
        told.append(result)
    return told[::-1]


def check_place(path: Path) -> None:
    """A figure's name and folder, before any work."""
    endings = " or ".join(PLOT_ENDINGS)
    require(
        path.suffix in PLOT_ENDINGS,
        f"plot file {path}",
        f"a name that ends in {endings}",
        "rename it",
    )
    longest = os.pathconf(path.parent, "PC_NAME_MAX") if path.parent.is_dir() else len(path.name)
    require(
        len(os.fsencode(path.name)) <= longest and not path.is_dir(),
        f"plot file {path}",
        f"a file name of at most {longest} bytes that is no folder",
        "choose another name",
    )
    require(
        path.parent.is_dir(), f"plot file {path}", "an existing folder", "create the folder first"
    )
    require(
        os.access(path.parent, os.W_OK),
        f"plot file {path}",
        "a folder that can be written to",
        "choose another place",
    )


def write_figure(made: Any, path: Path) -> None:
    content = io.BytesIO()
    made.savefig(content, format=path.suffix[1:])
    write_whole(path, content.getvalue())
