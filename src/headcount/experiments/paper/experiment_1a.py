"""Experiment 1a: for a language model, do more layers gain more than more heads (paper, Section 6)?

The paper trains on OpenWebText for 10,000 steps and reports a gain of 0.802 nats from layers and
0.136 from heads, without seeds or intervals. Here: three arms on real text,

    base   1 layer,  H heads,   m neurons
    deep   L layers, H heads,   m neurons      gain of layers = base - deep
    wide   1 layer,  L H heads, L m neurons    gain of heads  = base - wide

deep and wide have the same attention and network weights, number by number, so they differ in
parameters by norms only; they see the same tokens in the same order. gain_L - gain_H = wide - deep:
the base cancels, and the criterion (docs/experiments.md#criteria) is gain_L - gain_H > 0.02 nats.
The paper's own setting is `studies/openwebtext.toml`.
"""

from headcount.core.refs import Ref
from headcount.experiments.recipes import TRIVIAL, TextSize, gpt, no_floor, recipe, text, text_sizes
from headcount.lab.judge.hypothesis import Benefit, Hypothesis, Part, Reported
from headcount.lab.judge.statistics import Scale
from headcount.lab.study import Arm, Profile, Study, Variant

HEADS = 4
SIZES = text_sizes(laptop_seeds=5, full_steps=1000)
DEPTH = {Profile.SMOKE: 2, Profile.LAPTOP: 4, Profile.FULL: 4}
TESTS = {Profile.SMOKE: 64, Profile.LAPTOP: 512, Profile.FULL: 1024}


def studies(profile: Profile, corpus: str | None = None) -> tuple[Study, ...]:
    """One study; `corpus` is a text file or a folder of texts instead of the standard library."""
    size, depth = SIZES[profile], DEPTH[profile]
    seeds = tuple(range(size.seeds))
    shapes = {
        "base": {"layers": 1, "heads": HEADS, "hidden": size.neurons},
        "deep": {"layers": depth, "heads": HEADS, "hidden": size.neurons},
        "wide": {"layers": 1, "heads": depth * HEADS, "hidden": depth * size.neurons},
    }
    train = {
        **recipe(size.length, size.batch, size.steps, size.lr, TESTS[profile]),
        "effort": size.effort,
    }
    arms = tuple(
        Arm(
            name,
            {
                "memory": text(size, corpus),
                "model": gpt(size.width, size.head_dim, size.length, **shape),
                "train": train,
            },
            no_floor,
            name,
        )
        for name, shape in shapes.items()
    )
    return (_study(arms, seeds, size, depth, corpus),)


def _study(
    arms: tuple[Arm, ...], seeds: tuple[int, ...], size: TextSize, depth: int, corpus: str | None
) -> Study:
    hypothesis = Hypothesis(
        id="1a",
        claim="For a language model, layers gain more than heads do at equal parameters.",
        ref=Ref("wang-e-2024", "Section 6, experiment 1a"),
        parts=(Part("layers against heads", Benefit("wide", "deep", equal_parameters=True)),),
        scale=Scale.NATS,
        trivial=TRIVIAL,
        reported=(Reported("gain of layers, nats", 0.802), Reported("gain of heads, nats", 0.136)),
        seeds=seeds,
        expected="supported: a prototype with 2 seeds gave gains of 0.24 and 0.12 nats",
        deviations=(
            (
                f"bytes of {'the given corpus' if corpus else 'the standard library'} instead of"
                " OpenWebText (studies/openwebtext.toml has that setting)"
            ),
            (
                f"{size.steps} steps, windows of {size.length} bytes, width {size.width}, one"
                f" learning rate ({size.lr})"
            ),
        ),
    )
    return Study(
        "1a",
        Variant.AS_MEANT,
        "Language: layers or heads?",
        hypothesis.claim,
        arms,
        seeds,
        hypothesis=hypothesis,
        x_label="architecture",
        y_label="nats per byte, held-out files",
        x_log=False,
        y_log=False,
        ratios=False,
        notes=(
            (
                f"base: 1 layer of {HEADS} heads; deep: {depth} such layers; wide: 1 layer of"
                f" {depth * HEADS} heads and {depth * size.neurons} neurons"
            ),
            (
                "gain of layers = base - deep, gain of heads = base - wide; deep and wide are equal"
                " in parameters"
            ),
        ),
    )
