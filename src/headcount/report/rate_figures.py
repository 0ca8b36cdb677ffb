"""Rate tables as figures, and their slopes side by side."""

import re
from collections.abc import Sequence

from headcount.experiments.further.rates import Law, RateTable
from headcount.report.document import Section, Table
from headcount.report.figure_data import Axis, Curve, FigureData

RATES = Section(
    "rates",
    "Rates: approximation error against heads and neurons",
    (
        (
            "",
            (
                "Theory and measurement on the same axes; nothing is trained. The fitted slope"
                " carries a 90% interval."
            ),
        ),
    ),
    check=True,
)


def rate_figures(tables: Sequence[RateTable]) -> list[FigureData]:
    """One figure per table: measured, promised, certified bound, fitted line."""
    return [_rate_figure(table) for table in tables]


def _rate_figure(table: RateTable) -> FigureData:
    x = tuple(float(v) for v in table.x)
    curves = [Curve("measured", "measured", x, tuple(table.measured))]
    if table.slope is not None:
        curves.append(
            Curve(
                "fit",
                "fit",
                table.slope.x,
                tuple(table.slope.at(v) for v in table.slope.x),
                family="measured",
            )
        )
    if any(v is not None for v in table.lower):
        curves.append(Curve("certified lower bound", "lower", x, tuple(table.lower)))
    # A bound that says nothing would squeeze the figure into a line; the caption tells it.
    useful = tuple(
        v if v is not None and v <= 10 * max(table.measured) else None for v in table.promised
    )
    if any(v is not None for v in useful):
        curves.append(Curve("promised", "promised", x, useful))
    beyond = [
        v for v, kept in zip(table.promised, useful, strict=True) if kept is None and v is not None
    ]
    told = f" The promised bound is off the scale ({min(beyond):.2g} at best)." if beyond else ""
    name = "rates-" + re.sub(r"[^\w]+", "-", table.name).strip("-") + f"-{table.bias}"
    slope = "" if table.slope is None else f" Fitted: {slope_text(table)}."
    scale = "log" if table.slope is not None and table.slope.law is Law.POWER else "linear"
    title = f"{table.name}, {table.bias}" if table.bias else table.name
    return FigureData(
        name,
        "rates",
        title,
        Axis(table.x_label, scale),
        Axis(table.y_label, "log"),
        tuple(curves),
        f"{table.source}.{slope}{told}",
    )


def slope_text(table: RateTable) -> str:
    """The fitted law in words."""
    s = table.slope
    assert s is not None
    law = f"x^{s.value:.2f}" if s.law is Law.POWER else f"e^({s.value:.2f} x)"
    return f"{law}, 90% interval [{s.low:.2f}, {s.high:.2f}], {s.points} points"


def compared(table: RateTable) -> str:
    """Slower errors contradict a bound from above; faster ones do not confirm it."""
    if table.budget is not None and table.declared is not None:
        return f"nothing to compare: sum|a| <= {table.budget:g} here, unlimited there"
    return {True: "not contradicted", False: "contradicted", None: "nothing to compare"}[
        table.agrees
    ]


def rate_table(tables: Sequence[RateTable]) -> Table:
    """The slopes side by side."""
    rows = tuple(
        (
            table.name,
            table.bias,
            slope_text(table) if table.slope is not None else "too few points above rounding",
            table.declared,
            compared(table),
            "; ".join(table.notes),
        )
        for table in tables
    )
    columns = ("memory", "bias", "fitted", "declared power", "declared against fitted", "notes")
    return Table("rates", "Fitted slopes beside the declared ones", columns, rows)
