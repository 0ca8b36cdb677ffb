"""Experiment 1a: nested memories gain more from layers than from heads and width.

The paper trains on OpenWebText for 10,000 steps and reports a gain of 0.802 nats from layers and
0.136 from heads, without seeds or intervals. The memory of text is not known, so the claims about
what exists and what is trained are on memories that are nested by design: pointer chains, where
each token points 1 to 4 tokens back and the answer is the token after K hops.

    exists    K layers of one head each follow K hops: they are built and checked
    trained   two layers follow two hops (accuracy at least 0.99)
    contrast  on text (the standard library of Python), at equal parameters

        base   1 layer,  H heads,   m neurons
        deep   L layers, H heads,   m neurons      gain of layers = base - deep
        wide   1 layer,  L H heads, L m neurons    gain of heads  = base - wide

deep and wide have the same attention and network weights, number by number, and see the same tokens
in the same order. gain of layers - gain of heads = wide - deep: the base cancels, and the criterion
is more than 0.02 nats. Further claims: the same on English, and on pointer chains of three hops.
The paper's own setting is `studies/openwebtext.toml`.
"""

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

from headcount.construct import construct
from headcount.core.claims import Status
from headcount.experiments.recipes import (
    ENGLISH,
    TEXT_LOOKS,
    TEXT_SIZES,
    TRIVIAL,
    TextSize,
    gpt,
    if_installed,
    no_floor,
    not_run,
    recipe,
    text_run,
)
from headcount.experiments.tuning import tuned
from headcount.lab.judge.existence import Can, Existence
from headcount.lab.judge.hypothesis import (
    AccuracyAtLeast,
    Benefit,
    Hypothesis,
    Kind,
    Part,
    Reported,
)
from headcount.lab.judge.statistics import Scale
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, Variant
from headcount.memory.named import targets

HEADS = 4
DEPTH = 4  # of deep, on text
TEXT_STEPS = 1000  # four layers take a minute for as many
SYMBOLS = 4  # of pointer chains: lags 1 to 4
NESTED_LENGTH = 14
NESTED_WIDTH = 32
NESTED_STEPS = 2500
REPORTED = (Reported("gain of layers, nats", 0.802), Reported("gain of heads, nats", 0.136))


def studies(profile: Profile, corpus: str | None = None) -> tuple[Study, ...]:
    """Pointer chains, then text; `corpus` is a text file or a folder of texts instead of the
    standard library.
    """
    if profile is Profile.SMOKE:
        return (_nested(40, 1, judged=False), _text(TEXT_SIZES[profile], corpus, judged=False))
    if profile is Profile.LAPTOP:  # three hops take a quarter of a minute per run
        nested = _nested(NESTED_STEPS, 20, names=("two-hops",))
        return (nested, not_run(_text(TEXT_SIZES[Profile.FULL], corpus)))
    nested = _nested(NESTED_STEPS, 40)
    size = dataclasses.replace(TEXT_SIZES[profile], steps=TEXT_STEPS)
    return (nested, _text(size, corpus), if_installed(_text(size, ENGLISH, further=True)))


# --- pointer chains -------------------------------------------------------------------------------

SHAPES = {
    "two-hops": (2, {"layers": 2, "heads": HEADS, "hidden": 128}),
    "deep": (3, {"layers": 3, "heads": HEADS, "hidden": 128}),
    "wide": (3, {"layers": 1, "heads": 3 * HEADS, "hidden": 3 * 128}),
}


def tuned_arms() -> list[tuple[str, dict[str, Any]]]:
    """What the pilot tries: the runs of pointer chains, untuned."""
    return [(f"1a/{name}", _nested_run(name, NESTED_STEPS)) for name in SHAPES]


def _nested_run(name: str, steps: int) -> dict[str, Any]:
    hops, shape = SHAPES[name]
    model = gpt(NESTED_WIDTH, 8, NESTED_LENGTH, norm="none", attention="dot", **shape)
    return {
        "memory": {"kind": "pointer-chain", "hops": hops, "symbols": SYMBOLS},
        "model": model,
        "train": recipe(NESTED_LENGTH, 32, steps, 0.003, 1024),
    }


def _nested(
    steps: int, seeds: int, judged: bool = True, names: Iterable[str] = tuple(SHAPES)
) -> Study:
    arms = tuple(
        Arm(
            name,
            tuned(f"1a/{name}", _nested_run(name, steps)),
            no_floor_of_chains,
            "pointer chains",
        )
        for name in names
    )
    claims = (
        Hypothesis(
            insight="1a",
            kind=Kind.TRAINED,
            claim="A nested memory is learned by layers: two follow two hops.",
            parts=(Part("two hops", AccuracyAtLeast("two-hops", 0.99)),),
            trivial=TRIVIAL,
            notes=(f"pointer chains over {SYMBOLS} symbols instead of text, whose memory is open",),
        ),
        Hypothesis(
            insight="1a",
            kind=Kind.CONTRAST,
            name="pointer chains",
            further=True,
            claim="On three nested hops three layers learn more than one layer of their size.",
            parts=(Part("layers", Benefit("wide", "deep", Scale.NATS, equal_parameters=True)),),
            trivial=TRIVIAL,
        ),
    )
    return Study(
        "1a",
        Variant.AS_MEANT,
        "Pointer chains: layers or heads?",
        "Where memories are nested, do layers learn more than heads and width?",
        arms,
        tuple(range(seeds)),
        hypotheses=tuple(h for h in claims if judged and set(h.arms) <= set(names)),
        existences=(_existence(),) if judged else (),
        x_label="architecture",
        y_label="nats per answer",
        x_log=False,
        y_log=False,
        ratios=False,
        notes=(
            f"each token points 1 to {SYMBOLS} tokens back; the answer is the token after the hops",
            "two-hops: 2 layers; deep: 3 layers on 3 hops; wide: one layer with their weights",
        ),
        name="pointer chains",
    )


def no_floor_of_chains() -> Numbers:
    """The constructions address with another score than the arms do, so they are no floor."""
    return Numbers(
        promised_text="Theorem 4.4 has K + 1 layers without normalisation",
        certificate="none",
        note="what is constructed has heads that point by their token, and no table of lags",
    )


def _existence() -> Existence:
    return Existence(
        "1a",
        "Layers can follow nested memories: as many as there are hops, with one head each.",
        tuple(
            Can(
                f"{hops} layers of one head on {hops} hops",
                functools.partial(_followed, hops),
                0.01,
                "largest error of an answer",
            )
            for hops in (2, 3)
        ),
        notes=(
            "the first head of each construction points by its token (peak-tmx), not by a table",
            "that one layer cannot, with heads of any number, is open here",
        ),
    )


def _followed(hops: int) -> Numbers:
    """Built, and run on sequences: the largest error of an answer."""
    target = targets.build({"kind": "pointer-chain", "hops": hops, "symbols": SYMBOLS})
    found = construct(target, "none", normaliser="softmax", length=NESTED_LENGTH)
    return Numbers(
        promised_text="Theorem 4.4 has K + 1 layers without normalisation",
        possible=found.measured.sup,
        float32=found.float32.sup,
        status=Status.MEASURED,
        certificate="none",
        note=f"{found.architecture.layers} layers, {found.parameters} parameters, constructed",
    )


# --- text -----------------------------------------------------------------------------------------


def _text(size: TextSize, corpus: str | None, further: bool = False, judged: bool = True) -> Study:
    depth = DEPTH if size.layers > 1 else 2
    shapes = {
        "base": {"layers": 1, "heads": HEADS, "hidden": size.neurons},
        "deep": {"layers": depth, "heads": HEADS, "hidden": size.neurons},
        "wide": {"layers": 1, "heads": depth * HEADS, "hidden": depth * size.neurons},
    }
    arms = tuple(
        Arm(name, text_run(size, corpus, attention="dot", **shape), no_floor, name)
        for name, shape in shapes.items()
    )
    where = {None: "Python source", ENGLISH: "English"}.get(corpus, "the given texts")
    claim = Hypothesis(
        insight="1a",
        kind=Kind.CONTRAST,
        name=where if further else "",
        further=further,
        claim=f"On text, layers gain more than heads do at equal parameters ({where}).",
        parts=(
            Part(
                "layers against heads", Benefit("wide", "deep", Scale.NATS, equal_parameters=True)
            ),
        ),
        trivial=TRIVIAL,
        reported=REPORTED,
        looks=TEXT_LOOKS,
        notes=_deviations(size, where),
    )
    return Study(
        "1a",
        Variant.FURTHER if further else Variant.AS_MEANT,
        f"Language ({where}): layers or heads?",
        claim.claim,
        arms,
        tuple(range(2 * size.seeds if judged else 1)),
        hypotheses=(claim,) if judged else (),
        shown=3,
        x_label="architecture",
        y_label="nats per byte, held-out files",
        x_log=False,
        y_log=False,
        ratios=False,
        notes=(
            f"base: 1 layer of {HEADS} heads; deep: {depth} such layers; wide: 1 layer of"
            f" {depth * HEADS} heads and {depth * size.neurons} neurons",
            "gain of layers = base - deep, gain of heads = base - wide; deep and wide are equal in"
            " parameters",
        ),
        name=where,
    )


def _deviations(size: TextSize, where: str) -> tuple[str, ...]:
    return (
        f"bytes of {where} instead of OpenWebText (studies/openwebtext.toml has that setting)",
        f"{size.steps} steps, windows of {size.length} bytes, width {size.width}, one learning rate"
        f" ({size.lr})",
    )
