"""Rates as figures: nothing is claimed beyond what was fitted or proved."""

import dataclasses

from headcount.core.refs import Ref
from headcount.experiments.errata import POINTS
from headcount.experiments.further.rates import RateTable, fitted_slope
from headcount.memory.target import Family
from headcount.report import rate_figures
from headcount.report.from_studies import report_of

X = (1.0, 2.0, 3.0, 4.0, 5.0)
Y = (1.0, 1.0, 0.1, 0.01, 0.001)
TABLE = RateTable(
    "t", Family.FIXED, "lin", "heads", "l1 error", X, Y, (None,) * 5, (0.9, 0.9, 0.05, None, None),
    fitted_slope(X, Y, trivial=0.999), -1.0, Ref("headcount", "x"),
)  # fmt: skip


def test_the_fitted_line_ends_with_the_fitted_points():
    (figure,) = rate_figures.rate_figures([TABLE])
    kinds = {curve.kind: curve for curve in figure.curves}
    assert kinds["fit"].x == (3.0, 4.0, 5.0)
    assert kinds["lower"].y == TABLE.lower
    assert "floor" not in kinds


def test_a_bound_from_above_is_at_most_not_contradicted():
    assert rate_figures.compared(TABLE) == "not contradicted"
    slow = dataclasses.replace(
        TABLE,
        slope=fitted_slope(X, [x**-0.5 for x in X]),
        measured=tuple(x**-0.5 for x in X),
        lower=(None,) * 5,
    )
    assert rate_figures.compared(slow) == "contradicted"
    assert rate_figures.compared(dataclasses.replace(slow, budget=1e3)).startswith(
        "nothing to compare: sum|a| <= 1000"
    )
    assert rate_figures.compared(dataclasses.replace(TABLE, declared=None)) == "nothing to compare"
    assert rate_figures.rate_table([TABLE]).rows[0][4] == "not contradicted"


def test_the_errata_page_has_the_findings_first():
    assert [e.id for e in POINTS][:9] == [*(f"F{i}" for i in range(1, 9)), "1"]


def test_what_is_shown_beside_the_studies():
    told = {"profile": "smoke", "command": "c", "store": "", "versions": {}}
    errata = [(point, f"seen at {point.id}") for point in POINTS]
    both = report_of([], rates=[TABLE], errata=errata, **told)
    none = report_of([], errata=errata, **told)
    assert (len(both.tables), len(both.figures), both.sections) == (1, 1, (rate_figures.RATES,))
    # no section without its tables
    assert (none.tables, none.figures, none.sections) == ((), (), ())
    assert both.errata == none.errata != ()
