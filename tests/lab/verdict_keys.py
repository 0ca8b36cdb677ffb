"""The fields that every verdict in JSON begins with: scripts read them."""

VERDICT_KEYS = [
    "insight",
    "kind",
    "outcome",
    "effect",
    "interval",
    "scale",
    "seeds",
    "power",
    "floor",
    "paper",
    "sentence",
    "further",
]
