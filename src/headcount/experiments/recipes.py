"""What runs of several experiments share: models and the fields of a run. Equal recipes of
different studies are trained once. Signs at lags have their own (`sparse_runs`).

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
from headcount.experiments.tuning import SPREADS as SPREADS
from headcount.lab.judge.statistics import Looks
from headcount.lab.numbers import Numbers
from headcount.lab.study import Profile, Study
from headcount.memory.named import english, targets
from headcount.memory.named.corpus import LARGEST_BYTE
from headcount.memory.named.text import AbstractText


def if_installed(study: Study) -> Study:
    """A study on English, or its claims as not judged where the extra `text` is missing."""
    return study if english.installed() else not_run(study)


def not_run(study: Study) -> Study:
    """The claims of a study that a profile has no time for: registered, and not judged here."""
    return dataclasses.replace(study, seeds=())


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


SEEDS = {Profile.SMOKE: 3, Profile.LAPTOP: 5, Profile.FULL: 10}
FAR_SEEDS = {Profile.SMOKE: 3, Profile.LAPTOP: 3, Profile.FULL: 5}  # no hypothesis hangs on them


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


TEXT_LOOKS = Looks((10, 20))  # each text run takes half a minute
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
    decay: float = 0.0  # the table of lags starts from (1 + s)^-decay


TEXT_SIZES: Mapping[Profile, TextSize] = {
    Profile.SMOKE: TextSize(
        width=32,
        head_dim=8,
        neurons=64,
        length=32,
        batch=8,
        steps=60,
        seeds=1,
        megabytes=0.3,
        effort="low",
        layers=1,
        tests=64,
    ),
    # About 50 CPU seconds a run. Windows of 256 bytes in the same time see 2000 batches of 2: there
    # the gain of dot products is still growing with the steps (English, two pilot seeds: 0.02 nats)
    Profile.FULL: TextSize(
        width=64,
        head_dim=16,
        neurons=170,
        length=96,
        batch=16,
        steps=1600,
        seeds=10,
        megabytes=5.0,
        tests=1024,
    ),
}


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
