"""Run recipes that experiments 1b, 2a and 3a share: equal recipes of different studies are
trained once.
"""

from typing import Any

from headcount.lab.experiments.cells import SPREADS
from headcount.lab.experiments.study import Profile

FAR_LENGTH = 1000  # the paper's N
NEAR = "exp-1b-repaired"  # lags 1 and 2
NEAR_LENGTH = 16
NEAR_MODEL: dict[str, Any] = {"heads": 4, "width": 16}
NEAR_HIDDEN = 256
NEAR_STEPS = {Profile.SMOKE: 300, Profile.LAPTOP: 2000, Profile.FULL: 4000}
FAR_STEPS = {Profile.SMOKE: 100, Profile.LAPTOP: 500, Profile.FULL: 2000}
NEAR_TESTS = {"batches": 50}  # 5000 short sequences
FAR_TESTS = {"batches": 20}  # 2000 of 1000 tokens
SEEDS = {Profile.SMOKE: 3, Profile.LAPTOP: 5, Profile.FULL: 10}
FAR_SEEDS = {Profile.SMOKE: 3, Profile.LAPTOP: 3, Profile.FULL: 5}  # no hypothesis hangs on them
# H = 32, m = 256 as printed
PAPER_MODEL: dict[str, Any] = {"heads": 32, "width": 64, "hidden": 256}


def near_run(
    bias: str,
    profile: Profile,
    attention: str = "dp-free",
    layers: int = 1,
    hidden: int = NEAR_HIDDEN,
) -> dict[str, Any]:
    """Two signs at lags 1 and 2, fresh batches; the bias's initial rates come from the cell."""
    return {
        "memory": NEAR,
        "model": {
            **NEAR_MODEL,
            "attention": attention,
            "bias": {"kind": bias},
            "layers": layers,
            "hidden": hidden,
        },
        "train": {
            "steps": NEAR_STEPS[profile],
            "length": NEAR_LENGTH,
            "loss": "squared",
            "log": 10,
            "evaluation": NEAR_TESTS,
        },
    }


def far_memory(name: str, reading: str) -> str:
    """The printed target, its numbers read as positions (lags 901, 944, 952) or as lags (48, 56,
    99).
    """
    return f"{name}:reading={reading}"


def far_run(memory: str, bias: str, profile: Profile, **changes: Any) -> dict[str, Any]:
    """The printed setting: N = 1000, read at position 1000, H = 32, m = 256, batches of 100
    signs.
    """
    return {
        "memory": memory,
        "model": {
            "attention": "dp-free",
            "bias": {"kind": bias, **SPREADS["uniform"]},
            **PAPER_MODEL,
            **changes,
        },
        "train": {
            "steps": FAR_STEPS[profile],
            "length": FAR_LENGTH,
            "loss": "squared",
            "log": 5,
            "evaluation": FAR_TESTS,
        },
    }
