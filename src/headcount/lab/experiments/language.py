"""What the language-model experiments share: the corpus, a small GPT, and the training recipe, at
CPU scale.

Text: next-byte prediction on the standard library of the running Python (or the user's texts);
windows of training files, losses on windows of held-out files. Model: pre-LayerNorm, ReLU network,
one learned number per lag and head (the strongest positional part that one head can have, so that
what differs between arms is depth, heads or the dot product and never the bias), a linear readout.
Arms "of equal parameters" are made equal by the neurons of their networks, which are the cheapest
to vary.
"""

import dataclasses
import math
from typing import Any

from headcount.core.errors import require
from headcount.lab.experiments.study import Numbers
from headcount.memory.named import targets
from headcount.memory.named.corpus import LARGEST_BYTE
from headcount.memory.named.stdlib import Stdlib

TRIVIAL = math.log(LARGEST_BYTE + 1)  # every byte alike: what a diverged run counts as
NO_FLOOR = Numbers(
    promised_text="none: the memory of text is not known",
    certificate="none",
    note="natural text: no theorem gives its memory, so neither a bound nor a floor is known",
)


def no_floor() -> Numbers:
    """Of an arm that is trained on text."""
    return NO_FLOOR


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


def text(size: TextSize, corpus: str | None) -> dict[str, Any]:
    """The memory of a run on text."""
    options = {"path": str(corpus)} if corpus else {}
    return {"kind": "stdlib", "megabytes": size.megabytes, **options}


def check_corpus(size: TextSize, corpus: str) -> None:
    """Refuse texts that do not have a window for training and one for testing, before anything
    runs.
    """
    built = targets.build(text(size, corpus))
    assert isinstance(built, Stdlib)
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
    """Neurons that weigh as much as the query and key maps: 2 H q D numbers against 2 D + 1 a
    neuron.
    """
    return round(2 * heads * head_dim * width / (2 * width + 1))
