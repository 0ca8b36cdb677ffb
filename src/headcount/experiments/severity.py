"""How much a point of the errata matters, for the order in which a reader meets them."""

import enum


class Severity(enum.StrEnum):
    """Gravest first."""

    CONCLUSION = "changes what may be concluded"
    CONDITION = "changes a condition or a constant"
    DETAIL = "a slip in a proof or a definition"


_CONCLUSION = ("F1", "F2", "F3", "F4", "F5", "F7", "F8", "17", "18", "19", "20", "21", "25")
_CONDITION = ("F6", "4", "5", "6", "8", "9", "12", "14", "15", "16", "23", "24")
_DETAIL = ("1", "2", "3", "7", "10", "11", "13", "22")
SEVERITIES = {
    **dict.fromkeys(_CONCLUSION, Severity.CONCLUSION),
    **dict.fromkeys(_CONDITION, Severity.CONDITION),
    **dict.fromkeys(_DETAIL, Severity.DETAIL),
}


def severity_of(point: str) -> Severity:
    """Of a point by its id; one that nobody has weighed yet stands among the details."""
    return SEVERITIES.get(point, Severity.DETAIL)
