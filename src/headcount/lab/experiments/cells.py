"""The settings that a claim is silent about: two learning rates times two initial spreads of the
rates (theory 5).

A verdict must hold in all four, else it "depends on optimiser/init". The smoke profile has the
first cell only.
"""

from collections.abc import Mapping
from typing import Any

from headcount.lab.experiments.study import Profile
from headcount.lab.hypothesis import cross

LEARNING_RATES = (0.001, 0.003)
SPREADS: dict[str, dict[str, Any]] = {
    "uniform": {"low": 0.0, "high": 1.0, "spacing": "uniform"},  # the paper's U(0, 1)
    "log-spaced": {"low": 10**-3.5, "high": 10.0, "spacing": "log"},
}


def rate_cells(
    profile: Profile, spreads: Mapping[str, Mapping[str, Any]] = SPREADS
) -> dict[str, dict[str, Any]]:
    """Cell name → changes, for arms whose bias is given as a mapping with its kind."""
    points = [(lr, name) for lr in LEARNING_RATES for name in spreads]
    made = {
        name: {"train": {"lr": lr}, "model": {"bias": dict(spreads[spread])}}
        for name, (lr, spread) in zip(
            cross(lr=LEARNING_RATES, p=tuple(spreads)), points, strict=True
        )
    }
    return dict(list(made.items())[:1]) if profile is Profile.SMOKE else made
