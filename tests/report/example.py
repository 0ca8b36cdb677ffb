"""A worked example with made-up numbers, shaped like a real report: every kind of section,
outcome, curve and refusal mark.
"""

import math

from headcount.core.refs import Ref
from headcount.experiments.errata import Erratum
from headcount.lab.judge.hypothesis import ArmResult, Benefit, Hypothesis, NoBenefit, Part, Reported
from headcount.lab.judge.patterns import FloorPattern, RunPattern
from headcount.lab.judge.signatures import diagnose
from headcount.lab.judge.statistics import Scale
from headcount.lab.judge.verdict import Verdict, decide_family
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Study, Variant
from headcount.lab.study_outcome import ArmOutcome, Learned, StudyOutcome
from headcount.report.document import Report, Section, SpecFile, Table
from headcount.report.figure_data import Axis, Curve, FigureData

HEADS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
REF = Ref("wang-e-2024", "Section 6")


def _runs(levels: dict[str, float], floors: dict[str, float], cells=("default",)):
    """Ten seeds around 10^level, with a spread that does not need a random generator."""
    for arm, level in levels.items():
        for cell in cells:
            for seed in range(10):
                yield ArmResult(
                    arm,
                    cell,
                    seed,
                    10 ** (level + 0.08 * math.sin(7 * seed + sum(map(ord, arm + cell)))),
                    floor=floors.get(arm),
                )


def verdicts() -> tuple[Verdict, ...]:
    """Through the real engine: one verdict of each outcome."""
    cells = ("lr=0.001,p=uniform", "lr=0.001,p=log-spaced")
    common = {"ref": REF, "scale": Scale.LOG10_RATIO, "trivial": 7.5}
    tails = Part("16 heads", Benefit(worse="lin-16", better="log-16"))
    width = Part("m = 256", NoBenefit(plain="H-4", added="H-16"))
    hypotheses = (
        Hypothesis(id="4a",
                   claim="On a heavy-tailed memory, log heads learn better than lin heads.",
                   parts=(tails,), cells=cells, expected="supported, trainability only",
                   reported=(Reported("log, 1 head: MSE", 1e-5, "<"),
                             Reported("lin, 64 heads: MSE", 0.19)), **common),
        Hypothesis(id="2a", claim="Width helps a complex readout, heads do not.", parts=(width,),
                   deviations=("x uniform on [-1, 1] instead of one bit",), **common),
        Hypothesis(id="4b",
                   claim="On a light-tailed memory, lin heads learn better than log heads.",
                   parts=(tails,), **common),
        Hypothesis(id="1b", claim="One layer is enough for a fixed sparse memory.", parts=(width,),
                   outside="lags 901 to 952 are out of reach", **common),
    )  # fmt: skip
    floors = {"lin-16": 4e-8, "log-16": 0.0}
    results = {
        "4a": [*_runs({"lin-16": -0.7, "log-16": -5.2}, floors, cells)],
        "2a": [*_runs({"H-4": -0.3, "H-16": -1.4}, {})],
        "4b": [*_runs({"lin-16": -3.0, "log-16": -3.3}, {"lin-16": 1e-9})],
        "1b": [*_runs({"H-4": 0.4, "H-16": 0.4}, {"H-4": 2.7})],
    }
    return decide_family(hypotheses, results, 8, resamples=199)


def learned(mean=0.5, low=None, high=None, seeds=3, diverged=0, cell="default", **told) -> Learned:
    """So many equal seeds, of which the last diverged."""
    losses = (mean,) * (seeds - diverged) + (math.inf,) * diverged
    low, high = mean if low is None else low, mean if high is None else high
    return Learned(cell, losses, mean, low, high, **told)


def arm(name, numbers=None, *cells: Learned, run=None, finals=(), parameters=None) -> ArmOutcome:
    """An arm with its four numbers."""
    made = Arm(name, run or {}, lambda: numbers or Numbers())
    return ArmOutcome(made, numbers or Numbers(), cells or (learned(),), parameters, tuple(finals))


def studied(id, *arms: ArmOutcome, variant=Variant.AS_MEANT, verdict=None, diagnoses=None, y="MSE"):
    """A study of these arms, and of those that the verdict needs."""
    hypothesis = verdict and verdict.hypothesis
    needed = [Arm(name, {}) for name in (hypothesis.arms if hypothesis else ())]
    study = Study(
        id,
        variant,
        f"Study {id}",
        "Does it?",
        (*(each.arm for each in arms), *needed),
        hypothesis.seeds if hypothesis else (1, 2, 3),
        {cell: {} for cell in hypothesis.cells} if hypothesis else {"default": {}},
        hypothesis,
        y_label=y,
    )
    return StudyOutcome(study, arms, verdict, diagnoses or {})


def outcomes() -> tuple[StudyOutcome, ...]:
    """Studies with a verdict of each kind, with arms, and with both."""
    judged = {verdict.hypothesis.id: verdict for verdict in verdicts()}
    theorem = {"promised_text": "does not apply: s^-0.5 is not summable"}
    pattern = RunPattern(
        floors=FloorPattern(loss=0.19, floor=4e-8, trivial=7.5, more_heads=4e-8, other_bias=0.0)
    )
    exact = Numbers(
        possible=0.0,
        lower=0.0,
        certificate="exact: the kernel is one log head",
        float32=0.0,
        bfloat16=0.0,
        **theorem,
    )
    lin = Numbers(
        possible=4.02e-8,
        lower=1.1e-8,
        certificate="dual certificate, ball arithmetic",
        float32=4.1e-8,
        bfloat16=2.3e-3,
        **theorem,
    )
    far = Numbers(possible=2.81, lower=2.7, certificate="least squares at sum|a| <= 1e9")
    wave = Numbers(
        12.5,
        "Theorem 3.1, vacuous here",
        0.0,
        0.0,
        certificate="63 breakpoints",
        float32=3e-7,
        bfloat16=4e-3,
    )
    return (
        studied("1a", arm("L = 4, H = 4", None, learned(1.93, 1.92, 1.94, 5), parameters=151_000),
                y="nats per token"),
        studied("1b", verdict=judged["1b"]),
        studied("2a", arm("m = 256, lags 48, 56, 99", far, learned(2.95, 2.9, 3.0, 10)),
                variant=Variant.AS_WRITTEN),
        studied("2a",
                arm("m = 256, lag 1", wave, learned(0.002, 0.0011, 0.0031, 10), parameters=770),
                verdict=judged["2a"]),
        studied("4a", arm("lin, 8 heads", lin, learned(0.19, 0.17, 0.22, 10), parameters=25),
                arm("log, 1 head", exact, learned(6.3e-6, 5e-6, 8e-6, 10, 1), parameters=4),
                verdict=judged["4a"], diagnoses={"lin, 8 heads": diagnose(pattern)}),
        studied("4b", verdict=judged["4b"]),
        studied("depth", arm("3 layers", None, learned(0.975, 0.96, 0.99, 5)),
                arm("diverging", None, learned(math.inf, seeds=5, diverged=5)),
                variant=Variant.FURTHER),
    )  # fmt: skip


def figures() -> tuple[FigureData, ...]:
    heads = Axis("heads H", "log")
    learned = [2.4 * h**-0.6 for h in HEADS]
    rates = FigureData(
        "4a-heads", "4a", "Heavy tail s^-0.5: what lin heads could do, and what they learn",
        heads, Axis("MSE", "log"),
        (
            Curve("lin learned", "measured", HEADS, (*learned,), (*(0.8 * y for y in learned),),
                  (*(1.3 * y for y in learned),), "lin"),
            Curve("lin floor", "floor", HEADS[:4], (1.87, 0.212, 1.7e-3, 4e-8), family="lin"),
            Curve("log learned", "measured", HEADS, (6e-6, 5e-6, 7e-6, 9e-6, 2e-5, 3e-5, 2e-5),
                  (4e-6,) * 7, (4e-5,) * 7, "log"),
            Curve("log floor", "floor", HEADS, (0.0,) * 7, family="log"),
            Curve("log paper", "paper", (1.0,), (1e-5,), family="log"),
            Curve("lin paper", "paper", (64.0,), (0.19,), family="lin"),
        ),
        "Lines with markers: mean over ten seeds, band: 90% interval."
        " The dashed floors are computed, not trained.",
    )  # fmt: skip
    many = tuple(
        Curve(
            f"bias {name}",
            "measured",
            HEADS[:5],
            tuple(0.4 * (k + 1) ** 0.15 * h**-0.5 for h in HEADS[:5]),
            family=name,
        )
        for k, name in enumerate(("lin", "log", "log1p", "kerple", "rotary", "table", "t5 buckets"))
    )
    crowded = FigureData(
        "bias",
        "bias",
        "Seven biases whose lines end close together",
        heads,
        Axis("normalised MSE", "log"),
        many,
        "Seven families.",
    )
    text = Axis(
        "arm",
        "category",
        (
            "L = 1, H = 4",
            "L = 4, H = 4",
            "L = 1, H = 16, m = 680 (equal parameters)",
            "L = 2, dot-product-free",
        ),
    )
    dots = FigureData(
        "1a-arms", "1a", "Depth or heads on text", text, Axis("held-out loss, nats per byte"),
        (
            Curve("stdlib", "measured", (0.0, 1.0, 2.0, 3.0), (2.12, 1.93, 2.04, 2.11),
                  (2.10, 1.92, 2.02, 2.08), (2.14, 1.94, 2.06, 2.14)),
            Curve("recall", "measured", (0.0, 1.0, 3.0), (2.3, 1.7, 2.25),
                  (2.25, 1.66, 2.2), (2.35, 1.74, 2.3)),
            Curve("recall floor", "floor", (0.0, 1.0), (1.6, 1.5), family="recall"),
        ),
        "Equal parameters within 5%; 90% intervals over five seeds.",
    )  # fmt: skip
    hops = FigureData(
        "depth-hops", "depth", "Accuracy by hops: a cliff & <not> a slope, for $3",
        Axis("hops"), Axis("accuracy"),
        tuple(
            Curve(f"{layers} layers", "measured", (1.0, 2.0, 3.0, 4.0),
                  tuple(0.99 if hop < layers else 0.35 - 0.02 * layers for hop in range(1, 5)))
            for layers in (2, 3, 4)
        ),
        "Each extra layer follows one more pointer.",
    )  # fmt: skip
    lags = tuple(float(s) for s in range(1, 400))
    slope = FigureData(
        "rates-lag", "rates", "Error by lag with a fitted law",
        Axis("lag", "log"), Axis("error", "log"),
        (
            Curve("error", "measured", lags,
                  tuple(s**-1.5 * (1 + 0.2 * math.sin(s)) for s in lags), family="lin"),
            Curve("slope", "fit", (1.0, 399.0), (1.0, 399.0**-1.5),
                  family="slope -1.50 [-1.53, -1.47]"),
            Curve("bound", "promised", (1.0, 399.0), (40.0, 0.2), family="lin"),
            Curve("float32", "representable", (1.0, 100.0, 399.0), (1.0, 2e-3, 1e-3), family="lin"),
        ),
        "Theory and measurement on the same axes.",
    )  # fmt: skip
    return (rates, crowded, dots, hops, slope)


def report(**changes) -> Report:
    errata = (
        (Erratum("18", "Section 6, 4a", "The kernel rho(1000 - s) at s = 1000 is 0^-0.5.",
                 "The value is not finite, and t^-0.5 is not summable.",
                 "Uses lags 1 to 999 and says 'finite window'.", seen="Section 6"),
         "Lag 0 has infinite weight; the sum over lags grows like the square root of the window."),
        (Erratum("20", "Section 6, 2a", "The readout of x_99 in {-1, 1} is called complex.",
                 "Any function of one bit is a relu(x) + b relu(-x).",
                 "Runs it as written, and a triangle wave of 32 teeth as meant.", seen="Section 6"),
         "Two neurons reproduce every such readout exactly."),
    )  # fmt: skip
    values = {
        "title": "Synthetic example <not a result>",
        "profile": "smoke",
        "seconds": 83.4,
        "command": "headcount reproduce all --profile smoke -o out",
        "sections": (
            Section(
                "1a",
                "Depth or heads on text",
                (("", "Python's standard library, bytes, files split 9:1."),),
            ),
            Section("1b", "One layer for fixed sparse memory"),
            Section("2a", "Width for a complex readout"),
            Section(
                "4a",
                "Heavy tails: log or lin",
                (("as written", "y = sum of s^-0.5 x_{t-s} over lags 1 to 999."),),
            ),
            Section("4b", "Light tails: lin or log"),
            Section("rates", "Approximation rates", check=True),
            Section("depth", "Depth for nested memory", check=True),
            Section("bias", "Every bias on every tail", check=True),
        ),
        "outcomes": outcomes(),
        "figures": figures(),
        "tables": (
            Table(
                "rates",
                "Fitted slopes",
                ("family", "slope", "90% interval"),
                (("lin", -1.5, "[-1.53, -1.47]"), ("log", None, "")),
            ),
        ),
        "errata": errata,
        "specs": (
            SpecFile.of("4a", {"experiment": "4a", "heads": [1, 4, 16], "seeds": list(range(10))}),
        ),
        "notes": ("All numbers on this page are made up.",),
        "versions": (("headcount", "0.1.0"), ("numpy", "2.3.0")),
        "store": "store.sqlite",
    }
    return Report(**{**values, **changes})


def page_of(*arms: ArmOutcome, section="4a", **changes) -> Report:
    """A report of one study."""
    made = studied(section, *arms)
    return Report(
        "t", "smoke", 1.0, "c", (Section(section, "tails"),), **{"outcomes": (made,), **changes}
    )
