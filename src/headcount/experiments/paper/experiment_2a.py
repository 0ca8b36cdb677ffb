"""Experiment 2a: with a complex readout and a simple memory neurons help markedly, heads bring
almost no benefit. (Paper, Appendix H; docs/errata.md#e20.)

The printed target g*(x_99) is a function of one sign, hence affine: two neurons are exact, and
neither neurons nor heads can show an effect of the architecture. So the claim is judged where the
question makes sense: a teacher of 64 ReLU neurons of one 8-dimensional token, one step back.

    exists    one head and 64 neurons are exact
    trained   one head and 256 neurons have a normalised squared error below 0.01
    contrast  256 neurons beat 16 by a factor of 2, and 8 heads gain at most 0.01 of explained
              variance on 1 (one-sided)

Further claims: the same contrast as printed. The map shows which readings of the print give its two
numbers.
"""

from typing import Any

from headcount.experiments import reading_map
from headcount.experiments import sparse_runs as runs
from headcount.experiments.reading_map import Size
from headcount.experiments.sparse_runs import THRESHOLD, TRIVIAL
from headcount.experiments.table_numbers import copied_numbers
from headcount.experiments.tuning import tuned
from headcount.lab.judge.existence import Can, Existence
from headcount.lab.judge.hypothesis import (
    BelowThreshold,
    Benefit,
    Hypothesis,
    Kind,
    NoBenefit,
    Part,
    Reported,
)
from headcount.lab.judge.statistics import Scale
from headcount.lab.numbers import Numbers
from headcount.lab.study import Arm, Profile, Study, StudyRole, Variant

Sizes = tuple[tuple[int, int], ...]  # heads and neurons

JUDGED: Sizes = ((1, 16), (1, 256), (8, 256))
SHOWN: Sizes = ((1, 64), (8, 16), (8, 64))  # the rest of the table, in the setting of 1 and 256
PRINTED = "exp-2a"
REPORTED = (Reported("MSE at small m", 0.49), Reported("MSE at large m", 0.002))
SIZES = (Size(8, 2, 2, 0.49), Size(8, 256, 256, 0.002))  # of the map


def studies(profile: Profile) -> tuple[Study, ...]:
    """The teacher of one token; in full also the printed target and its readings."""
    found = (as_meant(profile),)
    return (*found, as_printed(profile), readings(profile)) if profile is Profile.FULL else found


def tuned_arms() -> list[tuple[str, dict[str, Any]]]:
    """Every arm with a pilot of its own, before its setting is chosen."""
    full = Profile.FULL
    return [
        *((f"2a/{runs.size_name(*size)}", runs.token_run(*size, full)) for size in JUDGED),
        *((f"2a/printed-{runs.size_name(*size)}", _printed_run(*size, full)) for size in JUDGED),
    ]


def as_meant(profile: Profile) -> Study:
    """Heads and neurons on a teacher of one token."""
    sizes = JUDGED[:1] if profile is Profile.SMOKE else (*JUDGED, *SHOWN)
    return Study(
        "2a",
        Variant.AS_MEANT,
        "A complex readout: neurons or heads?",
        "Do neurons help a readout of 64 ReLU neurons of one token, and heads not?",
        tuple(_token_arm(*size, profile) for size in sizes),
        tuple(range(runs.REGISTERED[profile])),
        hypotheses=()
        if profile is Profile.SMOKE
        else (_trained(), _contrast("", runs.size_name), _swapped()),
        existences=(EXISTS,),
        metric=runs.METRIC,
        x_label="neurons",
        y_label=runs.LABEL,
        shown=runs.SHOWN[profile],
        notes=(NOTE,),
        role=StudyRole.SIZE_TABLE,
    )


def token_numbers(heads: int, neurons: int) -> Numbers:
    """Exact from one head and 64 neurons on."""
    memory = runs.token_run(heads, neurons, Profile.FULL)["memory"]
    return copied_numbers(memory, heads, neurons, runs.TOKEN_LENGTH)


def _token_arm(heads: int, neurons: int, profile: Profile) -> Arm:
    setting = (heads, neurons) if (heads, neurons) in JUDGED else (1, 256)
    return Arm(
        runs.size_name(heads, neurons),
        tuned(f"2a/{runs.size_name(*setting)}", runs.token_run(heads, neurons, profile)),
        lambda: token_numbers(heads, neurons),
        x=neurons,
        at={"H": heads, "m": neurons},
    )


NOTE = (
    "a teacher of 64 neurons of one 8-dimensional uniform token at lag 1 instead of a function of"
    " one sign, which is affine"
)
EXISTS = Existence(
    "2a",
    "One head and 64 neurons can compute a readout of 64 neurons.",
    (Can("1 head and 64 neurons", lambda: token_numbers(1, 64), THRESHOLD, "normalised MSE"),),
    notes=(NOTE,),
)


def _trained() -> Hypothesis:
    return Hypothesis(
        "2a",
        Kind.TRAINED,
        "One head and 256 neurons learn a readout of 64 neurons.",
        (Part("256 neurons", BelowThreshold("heads-1-m-256", THRESHOLD)),),
        TRIVIAL,
        REPORTED,
        notes=(NOTE,),
    )


def _contrast(name: str, arm: Any) -> Hypothesis:
    few, many, more_heads = (arm(*size) for size in JUDGED)
    return Hypothesis(
        "2a",
        Kind.CONTRAST,
        "With a complex readout neurons help, heads bring almost no benefit.",
        (
            Part("neurons", Benefit(few, many, Scale.LOG10_RATIO)),
            Part("heads", NoBenefit(many, more_heads, Scale.EXPLAINED)),
        ),
        TRIVIAL,
        REPORTED,
        further=bool(name),
        name=name,
        notes=() if name else (NOTE,),
    )


def _swapped() -> Hypothesis:
    """The control: neurons and heads change places. It must not be supported beside the claim."""
    few, many, more_heads = (runs.size_name(*size) for size in JUDGED)
    return Hypothesis(
        "2a",
        Kind.CONTRAST,
        "Control: heads help, neurons bring almost no benefit.",
        (
            Part("heads", Benefit(many, more_heads, Scale.LOG10_RATIO)),
            Part("neurons", NoBenefit(few, many, Scale.EXPLAINED)),
        ),
        TRIVIAL,
        further=True,
        name="swapped",
    )


# --- as printed -----------------------------------------------------------------------------------


def _printed_run(heads: int, neurons: int, profile: Profile) -> dict[str, Any]:
    memory = runs.of_run(PRINTED)
    return runs.printed_run(memory, profile, heads=heads, width=16, hidden=neurons)


def as_printed(profile: Profile) -> Study:
    """The same contrast for a function of one sign."""
    arms = tuple(
        Arm(
            runs.size_name(heads, neurons),
            tuned(
                f"2a/printed-{runs.size_name(heads, neurons)}",
                _printed_run(heads, neurons, profile),
            ),
            lambda heads=heads, neurons=neurons: copied_numbers(  # type: ignore[misc]
                runs.of_run(PRINTED), heads, neurons, runs.LENGTH
            ),
            f"{heads} heads" if heads > 1 else "1 head",
            neurons,
        )
        for heads, neurons in JUDGED
    )
    return Study(
        "2a",
        Variant.FURTHER,
        "A function of one sign, as printed: neurons or heads?",
        "Do neurons help where the target is affine?",
        arms,
        tuple(range(runs.REGISTERED[profile])),
        hypotheses=(_contrast("as printed", runs.size_name),),
        metric=runs.METRIC,
        x_label="neurons",
        y_label=runs.LABEL,
        notes=("a function of one sign is affine: two neurons are exact", runs.TABLE_NOTE),
    )


def readings(profile: Profile) -> Study:
    """Which reading gives 0.49 at few and 0.002 at many neurons."""
    arms = reading_map.map_arms(runs.of_run(PRINTED), SIZES, _map_numbers, profile)
    return Study(
        "2a",
        Variant.AS_WRITTEN,
        "Readings of the printed 2a",
        "Which reading gives the published numbers?",
        arms,
        tuple(range(reading_map.SEEDS)),
        reading_map.CELLS,
        x_label="neurons",
        y_label="MSE",
        notes=(reading_map.NOTE,),
        role=StudyRole.READING_MAP,
    )


def _map_numbers(bias: str, reading: str, size: Size) -> Numbers:
    return Numbers(note="every run has its own g*: no floor in common")
