"""The samples that an error needs in a sentence, or why no number is known."""

from headcount.studies.decomposition import RiskPoint
from headcount.studies.sample_planner import Outcome, SamplesNeeded


def needed_words(need: SamplesNeeded, last: RiskPoint) -> str:
    """One sentence; `last` ends the curve."""
    if need.n is None:
        return _unknown(need, last)
    error, about = f"{need.error:g}", count(need.n)
    match need.outcome:
        case Outcome.AT_MOST:
            unsure = need.high is None or need.high > need.n
            return (
                f"A risk of {error} takes at most {about} samples (the smallest size tried)"
                f"{f' [{_upper(need.high)}]' if unsure else ''}; {need.dominant} dominates at that"
                " size."
            )
        case Outcome.BETWEEN:
            return (
                f"A risk of {error} takes about {about} samples {interval(need)}: between two sizes"
                f" the risk falls too steeply to say more; {need.dominant} dominates at the nearest"
                " size."
            )
    drawn = " (drawn on beyond the sizes measured)" if need.extrapolated else ""
    where = "at the largest size measured" if need.extrapolated else "at the nearest size measured"
    return (
        f"A risk of {error} takes about {about} samples {interval(need)}{drawn};"
        f" {need.dominant} dominates {where}."
    )


def _unknown(need: SamplesNeeded, last: RiskPoint) -> str:
    """Why there is no number."""
    error, left, fresh = f"{need.error:g}", last.risk.value, float(last.fresh.mean())
    ends = f"{last.n} samples leave {left:.3g}, above {error}"
    if need.outcome is Outcome.FRESH_ABOVE:
        return (
            f"No size tried reaches {error}, and fresh data leave {fresh:.3g}: with this model and"
            " training more samples are not expected to reach it."
        )
    why = {
        Outcome.NOT_KEPT: f"{need.reached} reach it, but {ends}.",
        Outcome.FRESH_WORSE: f"{ends}, and training on fresh data leaves {fresh:.3g}, so that they"
        " are no limit to go by.",
        Outcome.FRESH_NEAR: f"{ends}, and the {fresh:.3g} that fresh data leave are too near to it"
        " for so few seeds.",
        Outcome.IN_NOISE: f"{ends}, and so few seeds do not tell this from the {fresh:.3g} that"
        " fresh data leave.",
        Outcome.ONE_SIZE: f"{ends}, and one size tells no slope; pass at least two --sizes.",
        Outcome.NO_SLOPE: f"{ends}, and the risk does not fall at the last sizes, or too slowly to"
        " be drawn on; pass larger --sizes.",
    }[need.outcome]
    return f"How many samples reach {error} is not known: {why}"


def interval(need: SamplesNeeded) -> str:
    """'[82, 130]'; an end that is not known in words."""
    if need.low is None:
        return "[no interval from these seeds]" if need.high is None else f"[{_upper(need.high)}]"
    low = count(need.low)
    return f"[{low} and more]" if need.high is None else f"[{low}, {count(need.high)}]"


def _upper(high: float | None) -> str:
    return "and more" if high is None else f"up to {count(high)}"


def count(n: float) -> str:
    """Two digits of a number of samples, as a reader writes it.

    >>> count(1234.5), count(2.5e6)
    ('1,200', '2,500,000')
    """
    return f"{float(f'{n:.2g}'):,.0f}"
