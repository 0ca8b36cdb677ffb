"""Every point of the errata is weighed."""

from headcount.experiments.errata import POINTS
from headcount.experiments.severity import SEVERITIES, Severity, severity_of


def test_every_point_is_weighed_and_nothing_else():
    assert set(SEVERITIES) == {point.id for point in POINTS}
    assert {severity_of(point.id) for point in POINTS} == set(Severity)
    assert severity_of("99") is Severity.DETAIL
