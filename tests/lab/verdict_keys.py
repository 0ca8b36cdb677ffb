"""The fields that every verdict in JSON begins with: scripts read them."""

VERDICT_KEYS = [
    "id",
    "claim",
    "verdict",
    "qualifier",
    "paper",
    "measured",
    "ci",
    "floor",
    "seeds",
    "p_adjusted",
    "deviations",
]
