"""What runs of several experiments share: cells, models, and the fields of a run. Equal recipes of
different studies are trained once.

**Cells** are the settings that a claim is silent about: two learning rates times two initial
spreads of the rates. A verdict must hold in all four, else it "depends on optimiser/init". The
smoke profile has the first cell only.

**Signs at lags**: short sequences with lags 1 and 2 (`near_run`), and the printed setting with lags
in the hundreds (`far_run`).

**Text**: next-byte prediction on the standard library of the running Python, on English (the extra
`text`) or on the user's texts; windows of training files, losses on windows of held-out files, with
those of repeated contexts told apart (`repeat_loss`, `novel_loss`). Model: pre-LayerNorm, ReLU
network, one learned number per lag and head (the strongest positional part that one head can have,
so that what differs between arms is depth, heads or the dot product and never the bias), a linear
readout. Arms "of equal parameters" are made equal by the neurons of their networks, which are the
cheapest to vary.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from headcount.core.errors import require
from headcount.lab.judge.hypothesis import cross
from headcount.lab.study import Numbers, Profile
from headcount.memory.named import targets
from headcount.memory.named.corpus import LARGEST_BYTE
from headcount.memory.named.text import AbstractText

# --- cells ----------------------------------------------------------------------------------------

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


# --- heads with a linear readout ------------------------------------------------------------------

WIDTH = 64


def linear_model(bias: Mapping[str, Any] | str, heads: int) -> dict[str, Any]:
    """Heads and a linear readout of the stream: the kernel of a head sum, x_t by the residual."""
    return {
        "attention": "dp-free",
        "ffn": "none",
        "readout": "linear",
        "bias": bias,
        "heads": heads,
        "width": WIDTH,
        "head_dim": 1,
    }


def bare_model(bias: Mapping[str, Any], heads: int, head_dim: int) -> dict[str, Any]:
    """Heads with nothing around them: x_t itself comes through no residual."""
    return {"kind": "heads", "heads": heads, "head_dim": head_dim, "bias": bias}


# --- signs at lags --------------------------------------------------------------------------------

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
    """The printed target, its numbers as positions (lags 901, 944, 952) or lags (48, 56, 99)."""
    return f"{name}:reading={reading}"


def far_run(memory: str, bias: str, profile: Profile, **changes: Any) -> dict[str, Any]:
    """The printed setting: N = 1000, read at 1000, H = 32, m = 256, batches of 100 signs."""
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


# --- text -----------------------------------------------------------------------------------------

TRIVIAL = math.log(LARGEST_BYTE + 1)  # every byte alike: what a diverged run counts as
NO_FLOOR = Numbers(
    promised_text="none: the memory of text is not known",
    certificate="none",
    note="natural text: no theorem gives its memory, so neither a bound nor a floor is known",
)


def no_floor() -> Numbers:
    """Of an arm that is trained on text."""
    return NO_FLOOR


ENGLISH = "english"  # instead of a path: the corpus of the extra `text`


@dataclasses.dataclass(frozen=True)
class TextSize:
    """How large a language-model run is."""

    width: int  # of the stream
    head_dim: int
    neurons: int  # of a layer with 4 heads
    length: int
    batch: int
    steps: int
    seeds: int
    megabytes: float
    lr: float = 0.003
    effort: str = "high"  # of the compiler: these are the longest runs
    layers: int = 2  # of the arms that are compared with and without dot products
    tests: int = 512  # held-out windows
    decay: float = 1.0  # the table of lags starts from (1 + s)^-decay


LAPTOP_TEXT = TextSize(
    width=64, head_dim=16, neurons=170, length=96, batch=8, steps=400, seeds=5, megabytes=3.0
)
TEXT_SIZES: Mapping[Profile, TextSize] = {
    Profile.SMOKE: TextSize(
        width=32,
        head_dim=8,
        neurons=64,
        length=32,
        batch=8,
        steps=60,
        seeds=3,
        megabytes=0.3,
        effort="low",
        layers=1,
        tests=64,
    ),
    Profile.LAPTOP: LAPTOP_TEXT,
    # about 30 CPU seconds a run with dot products, 17 without. More steps lower both losses and do
    # not widen the gap between them (English: 0.019 and 0.024 nats after 2000 steps with two seeds,
    # 0.013 after 3600 with one of them)
    Profile.FULL: dataclasses.replace(
        LAPTOP_TEXT, length=256, batch=2, steps=2000, lr=0.006, seeds=10, megabytes=5.0, tests=256
    ),
}


def text_sizes(laptop_seeds: int, full_steps: int) -> Mapping[Profile, TextSize]:
    """Sizes with windows of 96 bytes, where the two numbers differ between experiments."""
    laptop = dataclasses.replace(LAPTOP_TEXT, seeds=laptop_seeds)
    full = dataclasses.replace(laptop, batch=16, steps=full_steps, seeds=10)
    return {**TEXT_SIZES, Profile.LAPTOP: laptop, Profile.FULL: full}


def text(size: TextSize, corpus: str | None) -> dict[str, Any]:
    """The memory of a run on text: the standard library, `ENGLISH`, or the texts at a path."""
    if corpus == ENGLISH:
        return {"kind": "english", "megabytes": size.megabytes}
    options = {"path": str(corpus)} if corpus else {}
    return {"kind": "stdlib", "megabytes": size.megabytes, **options}


def text_run(size: TextSize, corpus: str | None, **shape: Any) -> dict[str, Any]:
    """A whole run on text; `shape` is layers, heads, hidden and attention."""
    start = {"kind": "table", "window": size.length, "decay": size.decay}
    return {
        "memory": text(size, corpus),
        "model": gpt(size.width, size.head_dim, size.length, bias=start, **shape),
        "train": {
            **recipe(size.length, size.batch, size.steps, size.lr, size.tests),
            "effort": size.effort,
        },
    }


def check_corpus(size: TextSize, corpus: str) -> None:
    """Refuse texts without a window for training and one for testing, before anything runs."""
    built = targets.build(text(size, corpus))
    assert isinstance(built, AbstractText)
    for split in (built, built.held_out()):
        short = f"{split.data.size} bytes for the {split.split} split of {corpus}"
        require(
            split.data.size > size.length,
            short,
            f"more than a window of {size.length}",
            "give more text",
        )


def gpt(width: int, head_dim: int, window: int, **sizes: Any) -> dict[str, Any]:
    """A small GPT: `sizes` are layers, heads, hidden and attention, and another norm where that
    learns faster.
    """
    return {
        "width": width,
        "head_dim": head_dim,
        "bias": {"kind": "table", "window": window},
        "norm": "pre-ln",
        "readout": "linear",
        **sizes,
    }


def recipe(length: int, batch: int, steps: int, lr: float, tests: int) -> dict[str, Any]:
    """AdamW with warm-up and a cosine: `tests` held-out sequences."""
    return {
        "length": length,
        "batch": batch,
        "steps": steps,
        "lr": lr,
        "optimiser": {"b2": 0.98},
        "schedule": {"shape": "cosine", "warmup": max(1, steps // 20), "final": 0.05},
        "evaluation": {"batches": math.ceil(tests / batch)},
        "log": 5,
    }


def queries_as_neurons(width: int, head_dim: int, heads: int) -> int:
    """Neurons as heavy as the query and key maps: 2 H q D numbers against 2 D + 1 per neuron."""
    return round(2 * heads * head_dim * width / (2 * width + 1))
