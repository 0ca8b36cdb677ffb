"""A worked example with made-up numbers, shaped like a real report: every kind of section,
outcome, curve, table and refusal mark.
"""

import functools
import math

from headcount.core.refs import Ref
from headcount.experiments.errata import Erratum, Severity
from headcount.lab.judge.existence import Can, Cannot, Existence
from headcount.lab.judge.hypothesis import (
    AccuracyAtLeast,
    ArmResult,
    BelowThreshold,
    Benefit,
    Hypothesis,
    Kind,
    NoBenefit,
    Part,
    Reported,
)
from headcount.lab.judge.patterns import FloorPattern, RunPattern
from headcount.lab.judge.signatures import diagnose
from headcount.lab.judge.statistics import Scale
from headcount.lab.judge.verdict import Verdict, judge
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Study, StudyRole, Variant
from headcount.lab.study_outcome import ArmOutcome, Learned, LearningCurve, StudyOutcome, summarised
from headcount.report.document import Report, Section, SpecFile, Table
from headcount.report.figure_data import Axis, Curve, FigureData
from headcount.report.from_studies import study_figures
from headcount.report.headline import all_reported
from headcount.report.rate_figures import RATES
from headcount.report.study_tables import study_tables

HEADS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
REF = Ref("wang-e-2024", "Section 6")
TRIVIAL = 7.5
SEEDS = tuple(range(100, 140))
RATES_TRIED = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
PAPER = (Reported("log, 1 head: MSE", 1e-5, "<"), Reported("lin, 64 heads: MSE", 0.19))


def _part(name, claim):
    return (Part(name, claim),)


def hypotheses() -> tuple[Hypothesis, ...]:
    """Two per insight, and one that the paper does not make."""
    ratio, explained = Scale.LOG10_RATIO, Scale.EXPLAINED
    claims = (
        ("1a", Kind.TRAINED, "Four layers learn nested memories.",
         _part("hops", AccuracyAtLeast("L = 4", 0.9))),
        ("1a", Kind.CONTRAST, "More layers help more than more heads.",
         _part("text", Benefit("L = 1", "L = 4", Scale.NATS))),
        ("1b", Kind.TRAINED, "One layer learns a fixed sparse memory.",
         _part("H = 4", BelowThreshold("H-4", 0.075))),
        ("1b", Kind.CONTRAST, "A second layer adds nothing.",
         _part("L = 2", NoBenefit("H-4", "L-2", explained))),
        ("2a", Kind.TRAINED, "256 neurons learn a complex readout.",
         _part("m = 256", BelowThreshold("H-4", 0.075))),
        ("2a", Kind.CONTRAST, "Width helps a complex readout, heads do not.",
         (Part("m = 256", NoBenefit("H-4", "H-16", ratio)),
          Part("1 heads", Benefit("m-16", "H-4", ratio)))),
        ("4a", Kind.TRAINED, "One log head learns a heavy tail.",
         _part("log", BelowThreshold("log-1", 1e-5))),
        ("4a", Kind.CONTRAST, "On a heavy-tailed memory, one log head beats 64 lin heads.",
         _part("1 against 64", Benefit("lin-64", "log-1", ratio))),
        ("4b", Kind.TRAINED, "One lin head learns a light tail.",
         _part("lin", BelowThreshold("lin-1", 1e-7))),
        ("4b", Kind.CONTRAST, "On a light-tailed memory, lin heads beat log heads.",
         _part("1 against 64", Benefit("log-64", "lin-1", ratio))),
    )  # fmt: skip
    told = {"4a": PAPER}
    main = tuple(
        Hypothesis(
            insight,
            kind,
            claim,
            parts,
            TRIVIAL,
            reported=told.get(insight, ()),
            ref=REF,
            notes=("x uniform on [-1, 1] instead of one bit",) if insight == "2a" else (),
        )
        for insight, kind, claim, parts in claims
    )
    further = Hypothesis(
        "4a",
        Kind.CONTRAST,
        "At 16 heads, too, log beats lin.",
        _part("16 heads", Benefit("lin-16", "log-16", ratio)),
        TRIVIAL,
        further=True,
        name="16 heads",
        ref=Ref("headcount"),
    )
    return (*main, further)


LEVELS = {  # log10 of the losses, and floors
    "1a": ({"L = 4": 0.28, "L = 1": 0.30}, {}),
    "1b": ({"H-4": -2.4, "L-2": -2.5}, {}),
    "2a": ({"H-4": -0.3, "H-16": -1.4, "m-16": 0.4}, {}),
    "4a": ({"lin-64": -0.7, "log-1": -5.2, "lin-16": -0.5, "log-16": -5.0},
           {"lin-64": 4e-8, "log-1": 0.0}),
}  # fmt: skip


def _runs(levels: dict[str, float], floors: dict[str, float], seeds=SEEDS[:10]):
    """Seeds around 10^level, with a spread that does not need a random generator."""
    for name, level in levels.items():
        for seed in seeds:
            noise = 0.08 * math.sin(7 * seed + sum(map(ord, name)))
            accuracy = min(1.0, 0.97 + noise / 4) if name == "L = 4" else None
            yield ArmResult(name, seed, 10 ** (level + noise), floors.get(name), accuracy, 25)


def _scattered(seeds=SEEDS):
    """A difference on both sides of the margin."""
    for name, level in (("lin-1", -6.9), ("log-64", -6.55)):
        for seed in seeds:
            noise = 0.5 * math.sin(3 * seed) if name == "lin-1" else 0.0
            yield ArmResult(name, seed, 10 ** (level + noise), 1e-9)


def existences() -> tuple[Existence, ...]:
    lin = Numbers(possible=4.02e-8, lower=1.1e-8, certificate="dual certificate")
    wave = Numbers(possible=1e-14, note="63 breakpoints")
    gap = Numbers(possible=0.3, lower=0.001, certificate="least squares")
    return (
        Existence("1a", "Four layers can follow three pointers.",
                  (Can("4 layers", lambda: wave, 0.01),), ref=REF),
        Existence("1b", "One layer can.", (Can("4 heads", lambda: gap, 0.075),), ref=REF),
        Existence("2a", "256 neurons can.", (Can("256 neurons", lambda: wave, 0.01),), ref=REF),
        Existence("4a", "64 lin heads cannot.", (Cannot("8 lin heads", lambda: lin, 0.19),),
                  reported=PAPER, ref=REF),
    )  # fmt: skip


@functools.cache
def verdicts() -> tuple[Verdict, ...]:
    """Through the real engine: every outcome, every kind. 1b-contrast reaches no look."""
    everything = hypotheses()
    main = [h for h in everything if not h.further]
    results = {}
    for h in everything:
        if h.insight == "4b":
            results[h.key] = [run for run in _scattered() if run.arm in h.arms]
            continue
        levels, floors = LEVELS[h.insight]
        mine = {name: level for name, level in levels.items() if name in h.arms}
        short = h.key == "1b-contrast"
        results[h.key] = [*_runs(mine, floors, SEEDS[:3] if short else SEEDS[:10])]
    seeds = {h.key: SEEDS for h in everything}
    found = [
        verdict
        for family, size in ((main, 16), ([h for h in everything if h.further], None))
        for verdict in judge(
            family, {h.key: results[h.key] for h in family},
            {h.key: seeds[h.key] for h in family}, size,
        )
    ]  # fmt: skip
    return (*(existence.decide() for existence in existences()), *found)


def of(insight: str) -> tuple[Verdict, ...]:
    """The verdicts of one insight."""
    return tuple(verdict for verdict in verdicts() if verdict.insight == insight)


def learned(mean=0.5, low=None, high=None, seeds=3, diverged=0, cell="tuned", **told) -> Learned:
    """So many equal seeds, of which the last diverged."""
    losses = (mean,) * (seeds - diverged) + (math.inf,) * diverged
    low, high = mean if low is None else low, mean if high is None else high
    return Learned(cell, losses, mean, low, high, **told)


def arm(
    name, numbers=None, *cells: Learned, run=None, finals=(), parameters=None, curve=None
) -> ArmOutcome:
    """An arm with its four numbers."""
    made = Arm(name, run or {}, lambda: numbers or Numbers())
    return ArmOutcome(
        made,
        numbers or Numbers(),
        cells or (learned(),),
        parameters,
        tuple(finals),
        curve or LearningCurve(),
    )


def studied(id, *arms: ArmOutcome, variant=Variant.AS_MEANT, told=(), diagnoses=None, y="MSE"):
    """A study of these arms, and of those that its verdicts (`told`) need."""
    keys = {verdict.key for verdict in told}
    claims = tuple(h for h in hypotheses() if h.key in keys)
    weights = tuple(e for e in existences() if e.key in keys)
    have = {each.arm.name for each in arms}
    needed = dict.fromkeys(name for h in claims for name in h.arms if name not in have)
    run = {"train": {"lr": 0.003, "schedule": {"shape": "cosine"}, "steps": 10_000}}
    cells = dict.fromkeys(found.cell for each in arms for found in each.learned)
    study = Study(
        id,
        variant,
        f"Study {id}",
        "Does it?",
        (*(each.arm for each in arms), *(Arm(name, run) for name in needed)),
        SEEDS,
        {cell: {} for cell in cells} or {"tuned": {}},
        claims,
        weights,
        y_label=y,
    )
    return StudyOutcome(study, arms, tuple(told), diagnoses or {})


def curve(start: float, end: float) -> LearningCurve:
    """A loss that falls by a power of the step."""
    steps = tuple(500 * i for i in range(1, 21))
    power = math.log(end / start) / math.log(steps[-1] / steps[0])
    median = tuple(start * (step / steps[0]) ** power for step in steps)
    return LearningCurve(
        steps, median, tuple(0.7 * y for y in median), tuple(1.6 * y for y in median)
    )


def outcomes() -> tuple[StudyOutcome, ...]:
    """Studies with verdicts of each kind, with arms, and with both."""
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
        studied("1a", arm("L = 4", None, learned(1.93, 1.92, 1.94, 5), parameters=151_000),
                y="nats per token", told=of("1a")),
        studied("1b", told=of("1b")),
        studied("2a", arm("m = 256, lags 48, 56, 99", far, learned(2.95, 2.9, 3.0, 10)),
                variant=Variant.AS_WRITTEN),
        studied("2a",
                arm("m = 256, lag 1", wave, learned(0.002, 0.0011, 0.0031, 10), parameters=770),
                told=of("2a")),
        size_table(),
        studied("4a", arm("lin-64", lin, learned(0.19, 0.17, 0.22, 10), parameters=25,
                          curve=curve(3.0, 0.19)),
                arm("log-1", exact, learned(6.3e-6, 5e-6, 8e-6, 10, 1), parameters=4,
                    curve=curve(0.4, 6.3e-6)),
                told=of("4a"), diagnoses={"lin-64": diagnose(pattern)}),
        headline(exact, lin),
        reading_map(),
        studied("4b", told=of("4b")),
        studied("depth", arm("3 layers", None, learned(0.975, 0.96, 0.99, 5)),
                arm("diverging", None, learned(math.inf, seeds=5, diverged=5)),
                variant=Variant.FURTHER),
    )  # fmt: skip


def headline(exact: Numbers, lin: Numbers) -> StudyOutcome:
    """One log head and 1, 8, 64 lin heads over the learning rate; cells differ by it."""
    cells = {f"lr {lr:g}": {"train": {"lr": lr}} for lr in RATES_TRIED}
    floors = {
        "log, 1 heads": (exact, 1e-5, (4.6, 4.4, 0.3, 6e-4, 3e-6, 9e-7)),
        "lin, 1 heads": (Numbers(possible=1.87, lower=1.86), None, (5.0, 3.3, 2.0, 1.9, 1.88, 1.9)),
        "lin, 8 heads": (lin, None, (3.9, 1.2, 0.08, 2e-3, 4e-4, 9e-4)),
        "lin, 64 heads": (Numbers(possible=2e-14), 0.19, (2.45, 0.184, 3.7e-4, 8e-5, 3e-5, 2e-3)),
    }
    arms = []
    for name, (numbers, paper, medians) in floors.items():
        made = Arm(name, {"train": {"steps": 10_000}}, lambda n=numbers: n, paper=paper)
        found = []
        for lr, cell, median in zip(RATES_TRIED, cells, medians, strict=True):
            losses = [median * 1.6**k for k in (-1, 0, 1)]
            if name == "lin, 64 heads" and lr > 0.02:
                losses[2] = math.inf
            found.append(summarised(cell, losses, True))
        arms.append(ArmOutcome(made, numbers, tuple(found), 25))
    study = Study(
        "4a", Variant.FURTHER, "Heavy tail: the learning rate decides what is learned",
        "Which learning rate gives the published numbers?", tuple(a.arm for a in arms), (1, 2, 3),
        cells, y_label="loss after 10,000 steps", role=StudyRole.HEADLINE,
    )  # fmt: skip
    return StudyOutcome(study, tuple(arms))


def size_table() -> StudyOutcome:
    """Heads by neurons, one cell of which the paper gives."""
    losses = {(1, 16): 0.028, (1, 256): 0.0042, (8, 16): 0.0155, (8, 256): 0.0035}
    arms = tuple(
        ArmOutcome(
            Arm(
                f"H = {h}, m = {m}",
                {},
                at={"H": h, "m": m},
                paper=0.03 if (h, m) == (1, 16) else None,
            ),
            Numbers(),
            (summarised("tuned", [loss, 0.9 * loss, 1.2 * loss], True),),
            100,
        )
        for (h, m), loss in losses.items()
    )
    study = Study(
        "2a", Variant.FURTHER, "Heads by neurons", "What helps?", tuple(a.arm for a in arms),
        (1, 2, 3), y_label="normalised MSE", role=StudyRole.SIZE_TABLE,
    )  # fmt: skip
    return StudyOutcome(study, arms)


def reading_map() -> StudyOutcome:
    """Readings of what the paper leaves open, by learning rate."""
    found = {
        "lin-64 bare, softplus": (0.19, (2.45, 0.184, 3.7e-4)),
        "lin-64 bare, abs": (0.19, (2.1, 0.5, math.inf)),
        "log-1 bare, softplus": (1e-5, (4.6, 4.4, 4e-6)),
    }
    cells = {f"lr {lr:g}": {"train": {"lr": lr}} for lr in RATES_TRIED[:3]}
    arms = tuple(
        ArmOutcome(
            Arm(name, {}, paper=paper),
            Numbers(),
            tuple(
                summarised(cell, [loss] * 3, True) for cell, loss in zip(cells, row, strict=True)
            ),
            64,
        )
        for name, (paper, row) in found.items()
    )
    study = Study(
        "4a", Variant.AS_WRITTEN, "Readings of 4a", "Which reading gives which number?",
        tuple(a.arm for a in arms), (1, 2, 3), cells, role=StudyRole.READING_MAP,
    )  # fmt: skip
    return StudyOutcome(study, arms)


def drawn() -> tuple[FigureData, ...]:
    """By the report's own functions: the headline and the learning curves of 4a."""
    said = all_reported(outcomes())
    return tuple(
        figure
        for outcome in outcomes()
        if outcome.study.id == "4a"
        for figure in study_figures(outcome, said["4a"])
        if figure.name.endswith(("headline", "curves"))
    )


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
        (Erratum("18", Severity.CONCLUSION, "Section 6, 4a",
                 "The kernel rho(1000 - s) at s = 1000 is 0^-0.5.",
                 "The value is not finite, and t^-0.5 is not summable.",
                 "Uses lags 1 to 999 and says 'finite window'.", seen="Section 6"),
         "Lag 0 has infinite weight; the sum over lags grows like the square root of the window."),
        (Erratum("20", Severity.CONCLUSION, "Section 6, 2a",
                 "The readout of x_99 in {-1, 1} is called complex.",
                 "Any function of one bit is a relu(x) + b relu(-x).",
                 "Runs it as written, and a triangle wave of 32 teeth as meant.", seen="Section 6"),
         "Two neurons reproduce every such readout exactly."),
    )  # fmt: skip
    values = {
        "title": "Synthetic example <not a result>",
        "profile": "smoke",
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
            RATES,
            Section("depth", "Depth for nested memory", check=True),
            Section("bias", "Every bias on every tail", check=True),
        ),
        "outcomes": outcomes(),
        "figures": (*figures(), *drawn()),
        "tables": (
            *(t for o in outcomes() for t in study_tables(o, all_reported(outcomes())["4a"])),
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
        "pilots": {"4a/log-1": "best of 24 settings on 3 pilot seeds: 5e-6"},
    }
    return Report(**{**values, **changes})


def page_of(*arms: ArmOutcome, section="4a", **changes) -> Report:
    """A report of one study."""
    made = studied(section, *arms)
    return Report(
        "t", "smoke", "c", (Section(section, "tails"),), **{"outcomes": (made,), **changes}
    )
