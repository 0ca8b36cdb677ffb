"""Rates and errata as records: nothing is claimed beyond what was fitted or proved."""

import dataclasses

import pytest

from headcount.core.refs import Ref
from headcount.lab.experiments.errata import ERRATA, FINDINGS
from headcount.lab.experiments.rates import RateTable, fitted_slope
from headcount.memory.target import Family
from headcount.report import checks

X = (1.0, 2.0, 3.0, 4.0, 5.0)
Y = (1.0, 1.0, 0.1, 0.01, 0.001)
TABLE = RateTable(
    "t", Family.FIXED, "lin", "heads", "l1 error", X, Y, (None,) * 5, (0.9, 0.9, 0.05, None, None), fitted_slope(X, Y, trivial=0.999),
    -1.0, Ref("headcount", "x"),
)  # fmt: skip


def test_the_fitted_line_ends_with_the_fitted_points():
    (figure,) = checks.rate_figures([TABLE])
    kinds = {curve.kind: curve for curve in figure.curves}
    assert kinds["fit"].x == (3.0, 4.0, 5.0)
    assert kinds["lower"].y == TABLE.lower
    assert "floor" not in kinds


def test_a_bound_from_above_is_at_most_not_contradicted():
    assert checks.compared(TABLE) == "not contradicted"
    slow = dataclasses.replace(
        TABLE,
        slope=fitted_slope(X, [x**-0.5 for x in X]),
        measured=tuple(x**-0.5 for x in X),
        lower=(None,) * 5,
    )
    assert checks.compared(slow) == "contradicted"
    assert checks.compared(dataclasses.replace(slow, budget=1e3)).startswith(
        "nothing to compare: sum|a| <= 1000"
    )
    assert checks.compared(dataclasses.replace(TABLE, declared=None)) == "nothing to compare"
    assert checks.rate_table([TABLE]).rows[0][4] == "not contradicted"


def test_the_errata_page_has_the_findings_first_and_all_their_evidence():
    points = [*FINDINGS, *ERRATA]
    page = checks.errata_page([f"seen at {e.id}" for e in points])
    assert [e.id for e in page][:9] == [*(f"F{i}" for i in range(1, 9)), "1"]
    assert all(row.evidence == f"seen at {row.id}" for row in page)
    with pytest.raises(ValueError):
        checks.errata_page(["too few"])


def test_what_is_shown_beside_the_studies():
    evidence = [f"seen at {e.id}" for e in (*FINDINGS, *ERRATA)]
    both, none = checks.Beside.of(evidence, [], [TABLE]), checks.Beside.of(evidence, [], [])
    assert (len(both.tables), len(both.figures), both.sections) == (1, 1, (checks.RATES,))
    # no section without its tables
    assert (none.tables, none.figures, none.sections) == ((), (), ())
    assert both.errata == none.errata != ()
