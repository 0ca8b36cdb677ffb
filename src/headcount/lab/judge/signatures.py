"""Failure signatures: from the pattern of a run's loss, which resource was missing — depth, heads,
the bias — or training.

A single loss cannot tell why a model failed; *where* it is large can. Each signature answers yes,
no or undecided from observables of `lab/judge/patterns.py`, and `diagnose` names a failure only if
exactly one answers yes.

**Too little depth — a cliff in the number of hops.** One attention layer retrieves with addresses
computed before it, so a chain in which each address is the token found by the last jump costs
layers. Theorem 4.4 follows K hops with K+1; K suffice where the embedding holds the first pointer,
as in a pointer chain, and ceil(log2 K)+1 by doubling (`construct/methods/pointer_jumps.py`). A
network with fewer follows chains up to some length and has no such circuit for longer ones:
accuracy is near 1 up to hop r and *drops* at r+1. Every other failure spoils each single hop a
little, so that skill decays like q^j: no cliff. The cliff is the drop beyond that compounding.
Where each number of hops has a run of its own, a drop may also be a longer chain that was not
learned: it counts only if a model with layers enough, trained alike, does follow it. Where there
are the layers by which doubling makes r+1 hops, depth is not what is missing, and the answer is no.
(Sufficient, not necessary: one layer with a head for every lag in reach and a network wide enough
would do too, so shallow networks may well show no cliff.)

**Too few heads — lags lost regardless of distance, or a loss at its floor that falls with heads.**
A sharp head reads one lag; H heads read about H, and training spends them on the lags that matter
most. So some lags are read, others are not, and a *nearer* one is lost while a farther one is read:
the bias reaches it, only nobody looked. With floors the statement is direct: training did what H
heads can do (loss within 3 x floor) and twice the heads can do ten times better.

**The wrong bias — far lags lost although there are heads for them, or a loss at its floor that
heads do not lower.** Decaying heads tell lag T from its neighbours only with weights that grow like
(3+2 sqrt 2)^T: they lose lags in order of distance. Without such an order, that all read lags are
nearer than all lost ones has probability 1/C(M, read), so it counts only where this is at most 5%.
With floors: more heads of this bias leave more than half of the floor, another bias leaves under a
tenth. If both more heads and another bias would do, the failure is called too few heads: 'wrong' is
a bias that heads cannot mend. Where the floors of all biases compared are near the constant answer,
none of them can draw the memory: that is no evidence for the one at hand, and the answer is
undecided.

**The wrong bias beyond the trained length — learned there, lost on longer sequences.** A target
with all its lags inside the trained length asks for nothing new on longer ones; only the positional
part sees arguments that it never saw: the bias, and with softmax the sum over lags that it divides
by. So a rise from learned to not learned is the bias as it is normalised. It is a name of its own,
since within the trained length nothing is wrong.

**Not trained — not learned, and the loss is far above (10 x) the floor of the very same
architecture.** Then depth, heads and bias suffice by computation: those three answer no, or
undecided where their own pattern says yes.
"""

import dataclasses
import enum
import math
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from headcount.core.refs import Ref
from headcount.lab.judge.evidence import FAR_ABOVE_FLOOR, ROUNDING
from headcount.lab.judge.patterns import (
    FloorPattern,
    HopPattern,
    LagPattern,
    LengthPattern,
    RunPattern,
)

# of the trivial loss: the normalised MSE below which the paper counts a task as solved (1b)
LEARNED = 0.01
AT_FLOOR = 3.0  # loss within this factor of the floor: training did what the architecture can
HELPS, HELPS_NOT = 0.1, 0.5  # a floor that falls to a tenth is a cure, one that keeps half is none
READ, LOST = 0.1, 0.5  # partial errors
FOLLOWED = 0.9  # skill at which a hop counts as followed
CLIFF, SMOOTH = 0.2, 0.05  # drop of skill beyond compounding
CHANCE_ORDER = 0.05


Pattern = TypeVar("Pattern")


class Answer(enum.Enum):
    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


class Failure(enum.Enum):
    """What a run lacked, with the sentence that a report prints."""

    DEPTH = (
        "too little depth",
        (
            "Short chains are followed, longer ones fall off a cliff; known constructions take more"
            " layers."
        ),
    )
    HEADS = ("too few heads", "What these heads can do was done; more of them would do more.")
    BIAS = (
        "the wrong bias",
        "The positional bias cannot draw this memory, and more heads do not mend it.",
    )
    EXTRAPOLATION = (
        "the wrong bias beyond the trained length",
        (
            "Learned at the trained length and lost on longer sequences: the bias, as it is"
            " normalised, does not carry over."
        ),
    )
    TRAINING = ("not trained", "The same architecture can do far better than this run learned.")
    NONE = (
        "none",
        (
            "The task is learned on every observable given: a loss below 1% of the constant"
            " answer's, hops followed, lags read."
        ),
    )
    UNDECIDED = ("undecided", "The observables given do not single out one cause.")

    def __init__(self, text: str, sentence: str):
        self.text, self.sentence = text, sentence


@dataclasses.dataclass(frozen=True)
class Check:
    """One signature's answer and the reason for it; `measured`: was there anything to read?"""

    answer: Answer
    because: str
    measured: bool = True


@dataclasses.dataclass(frozen=True)
class Signature:
    """A named check: which failure it shows, what identifies it, which observables decide it."""

    failure: Failure
    identified_by: str
    ref: Ref
    readings: tuple[Callable[[RunPattern], Iterator[Check]], ...]

    def check(self, run: RunPattern) -> Check:
        """Yes if an observable says yes and none says no, and conversely; else undecided."""
        checks = [check for reading in self.readings for check in reading(run)]
        if not checks:
            return Check(Answer.UNDECIDED, f"not measured: {self.identified_by}", measured=False)
        decided = {check.answer for check in checks} - {Answer.UNDECIDED}
        if len(decided) == 1:
            answer = decided.pop()
            return Check(
                answer, "; ".join(check.because for check in checks if check.answer is answer)
            )
        mixed = len({check.answer for check in checks}) > 1
        because = "; ".join(
            f"{check.answer.value}: {check.because}" if mixed else check.because for check in checks
        )
        return Check(Answer.UNDECIDED, because)


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Which failure it is, and every signature's answer; `cell` is the one whose runs were read,
    where a study has several.
    """

    failure: Failure
    checks: dict[Failure, Check]
    cell: str = ""

    @property
    def sentence(self) -> str:
        return (
            f"In the cell {self.cell}: {self.failure.sentence}"
            if self.cell
            else self.failure.sentence
        )

    def to_json(self) -> dict:
        checks = {
            failure.text: {"answer": check.answer.value, "because": check.because}
            for failure, check in self.checks.items()
        }
        return {
            "failure": self.failure.text,
            "sentence": self.sentence,
            "checks": checks,
            "cell": self.cell,
        }


def diagnose(run: RunPattern, cell: str = "") -> Diagnosis:
    """The one failure whose signature the run shows; 'none' if it learned; else undecided."""
    checks = {signature.failure: signature.check(run) for signature in SIGNATURES}
    shown = [failure for failure, check in checks.items() if check.answer is Answer.YES]
    if len(shown) == 1:
        return Diagnosis(shown[0], checks, cell)
    learned = not shown and _learned(run)
    return Diagnosis(Failure.NONE if learned else Failure.UNDECIDED, checks, cell)


def _learned(run: RunPattern) -> bool:
    """Every observable that was given is good, and at least one was given."""
    good = []
    if run.floors is not None:
        good.append(run.floors.loss <= LEARNED * run.floors.trivial)
    if run.hops is not None:
        good.append(bool((run.hops.skill >= FOLLOWED).all()))
    if run.lags is not None:
        good.append(bool((run.lags.error <= READ).all()))
    if run.lengths is not None:
        good.append(bool((run.lengths.loss <= LEARNED * run.lengths.trivial).all()))
    return bool(good) and all(good)


def _read(
    pattern: Callable[[RunPattern], Pattern | None], reader: Callable[[Pattern], Check]
) -> Callable[[RunPattern], Iterator[Check]]:
    """A reader of one pattern as a reader of runs: silent where the pattern was not measured."""

    def reading(run: RunPattern) -> Iterator[Check]:
        given = pattern(run)
        if given is not None:
            yield reader(given)

    return reading


def sufficient_layers(hops: int) -> int:
    """ceil(log2 hops) + 1: the layers of `construct/methods/pointer_jumps.py`.

    >>> [sufficient_layers(hops) for hops in (1, 2, 3, 4, 5)]
    [1, 2, 3, 3, 4]
    """
    return (hops - 1).bit_length() + 1


def _cliff(p: HopPattern) -> Check:
    skill, error, hops = p.skill, p.error, len(p.skill)
    # leading hops that are followed
    followed = next((j for j in range(hops) if skill[j] < FOLLOWED), hops)
    if followed == hops:
        return Check(Answer.NO, f"all {hops} hops are followed")
    if followed == 0:
        return Check(Answer.UNDECIDED, "not even one hop is followed")
    if p.layers >= sufficient_layers(followed + 1):
        return Check(
            Answer.NO,
            f"{sufficient_layers(followed + 1)} layers suffice for {followed + 1} hops, and there"
            f" are {p.layers}",
        )
    if p.deeper_skill is not None and p.deeper_skill[followed] < FOLLOWED:
        found = f"skill {p.deeper_skill[followed]:.2f} at hop {followed + 1}"
        return Check(
            Answer.UNDECIDED,
            f"models with layers enough, trained alike, do not follow it either ({found}): it may"
            " be training",
        )
    if (skill[followed + 1 :] >= FOLLOWED).any():
        return Check(Answer.NO, "a longer chain is followed where a shorter one is not")
    # q^{r+1} with q = skill_r^{1/r}
    compounded = min(1.0, skill[followed - 1]) ** ((followed + 1) / followed)
    drop, doubt = compounded - skill[followed], 3 * error[followed]
    said = f"hop {followed + 1}: skill {skill[followed]:.2f}, compounding predicts {compounded:.2f}"
    if drop - doubt >= CLIFF:
        return Check(Answer.YES, said)
    return Check(Answer.NO if drop + doubt <= SMOOTH else Answer.UNDECIDED, said)


def _heads_by_floor(p: FloorPattern) -> Check:
    if p.loss <= LEARNED * p.trivial:
        return Check(Answer.NO, f"learned: loss {p.loss:.3g} of {p.trivial:.3g}")
    if not p.loss <= AT_FLOOR * p.floor:
        return Check(Answer.UNDECIDED, f"loss {p.loss:.3g} is not at its floor {p.floor:.3g}")
    said = f"loss {p.loss:.3g} at its floor {p.floor:.3g}, with more heads {p.more_heads:.3g}"
    if p.more_heads <= HELPS * p.floor:
        return Check(Answer.YES, said)
    return Check(Answer.NO if p.more_heads > HELPS_NOT * p.floor else Answer.UNDECIDED, said)


def _bias_by_floor(p: FloorPattern) -> Check:
    if p.loss <= LEARNED * p.trivial:
        return Check(Answer.NO, f"learned: loss {p.loss:.3g} of {p.trivial:.3g}")
    if not p.loss <= AT_FLOOR * p.floor:
        return Check(Answer.UNDECIDED, f"loss {p.loss:.3g} is not at its floor {p.floor:.3g}")
    said = (
        f"loss {p.loss:.3g} at its floor {p.floor:.3g}, with more heads {p.more_heads:.3g}, with"
        f" another bias {p.other_bias:.3g}"
    )
    if p.more_heads > HELPS * p.floor and min(p.floor, p.other_bias) > HELPS_NOT * p.trivial:
        return Check(
            Answer.UNDECIDED,
            f"{said}: near the constant answer {p.trivial:.3g}, whichever of these biases",
        )
    if p.more_heads <= HELPS * p.floor or p.other_bias > HELPS_NOT * p.floor:
        return Check(Answer.NO, said)
    cured = p.more_heads > HELPS_NOT * p.floor and p.other_bias <= HELPS * p.floor
    return Check(Answer.YES if cured else Answer.UNDECIDED, said)


def _training_by_floor(p: FloorPattern) -> Check:
    said = f"loss {p.loss:.3g}, floor {p.floor:.3g}"
    if p.loss <= max(LEARNED * p.trivial, AT_FLOOR * p.floor):
        return Check(Answer.NO, said)
    return Check(Answer.YES if _far_above_floor(p) else Answer.UNDECIDED, said)


def _architecture_suffices(p: FloorPattern) -> Check:
    """For depth, heads and bias alike: none of them is short where the floor is far below a loss
    that is large.
    """
    if _far_above_floor(p) and p.loss > LEARNED * p.trivial:
        return Check(
            Answer.NO, f"the same architecture can reach {p.floor:.3g}, the run {p.loss:.3g}"
        )
    return Check(Answer.UNDECIDED, f"loss {p.loss:.3g}, floor {p.floor:.3g}: nothing against it")


def _far_above_floor(p: FloorPattern) -> bool:
    return p.loss > FAR_ABOVE_FLOOR * max(p.floor, ROUNDING * p.trivial)


def _split(p: LagPattern) -> tuple[np.ndarray, np.ndarray, str]:
    """Lags read and lags lost, and a reason why the pattern cannot be used, or ''."""
    read, lost = p.lags[p.error <= READ], p.lags[p.error >= LOST]
    between = len(p.lags) - len(read) - len(lost)
    if between > len(p.lags) / 4:
        return read, lost, f"{between} of {len(p.lags)} lags are half read"
    if len(lost) and not len(read):
        return read, lost, "no lag is read"
    return read, lost, ""


def _heads_by_lag(p: LagPattern) -> Check:
    read, lost, unusable = _split(p)
    if unusable:
        return Check(Answer.UNDECIDED, unusable)
    if not len(lost):
        return Check(Answer.NO, "no lag is lost")
    if lost.min() < read.max() and len(read) <= p.heads < len(p.lags):
        said = f"{p.heads} heads for {len(p.lags)} lags: {len(read)} read"
        return Check(
            Answer.YES, f"{said}, lag {lost.min():g} lost and the farther lag {read.max():g} read"
        )
    return Check(
        Answer.UNDECIDED,
        f"{p.heads} heads, {len(read)} of {len(p.lags)} lags read, which is not the pattern of"
        " short heads",
    )


def _bias_by_lag(p: LagPattern) -> Check:
    read, lost, unusable = _split(p)
    if unusable:
        return Check(Answer.UNDECIDED, unusable)
    if not len(lost):
        return Check(Answer.NO, "no lag is lost")
    if lost.min() < read.max():
        return Check(
            Answer.NO, f"lag {read.max():g} is read, so the bias reaches lag {lost.min():g}"
        )
    by_chance = 1 / math.comb(len(read) + len(lost), len(read))
    said = (
        f"lags up to {read.max():g} read, from {lost.min():g} on lost ({by_chance:.2g} by chance),"
        f" {p.heads} heads for {len(p.lags)} lags"
    )
    return Check(
        Answer.YES if by_chance <= CHANCE_ORDER and p.heads >= len(p.lags) else Answer.UNDECIDED,
        said,
    )


def _lost_beyond(p: LengthPattern) -> Check:
    trained, longer = p.loss[0], p.loss[1:].max()
    if p.reach >= p.lengths[0]:
        return Check(
            Answer.UNDECIDED,
            "the target has lags beyond the trained length: longer sequences ask for something new",
        )
    if trained > LEARNED * p.trivial:
        return Check(
            Answer.UNDECIDED,
            f"not learned at the trained length: loss {trained:.3g} of {p.trivial:.3g}",
        )
    said = f"loss {trained:.3g} at the trained length {p.lengths[0]:g}, up to {longer:.3g} beyond"
    if longer >= FAR_ABOVE_FLOOR * trained and longer > LEARNED * p.trivial:
        return Check(Answer.YES, said)
    return Check(
        Answer.NO if longer <= 2 * trained or longer <= LEARNED * p.trivial else Answer.UNDECIDED,
        said,
    )


_FLOOR = _read(lambda run: run.floors, _architecture_suffices)

SIGNATURES: tuple[Signature, ...] = (
    Signature(
        Failure.DEPTH,
        "accuracy by hops",
        Ref("sanford-2024", "pointer doubling"),
        (_read(lambda run: run.hops, _cliff), _FLOOR),
    ),
    Signature(
        Failure.HEADS,
        "partial error by lag, or floors",
        Ref("wang-e-2024", "Theorem 3.1"),
        (
            _read(lambda run: run.floors, _heads_by_floor),
            _read(lambda run: run.lags, _heads_by_lag),
            _FLOOR,
        ),
    ),
    Signature(
        Failure.BIAS,
        "partial error by lag, or floors",
        Ref("wang-e-2024", "Theorem 5.1"),
        (
            _read(lambda run: run.floors, _bias_by_floor),
            _read(lambda run: run.lags, _bias_by_lag),
            _FLOOR,
        ),
    ),
    Signature(
        Failure.EXTRAPOLATION,
        "loss by length or by position",
        Ref("press-2022", "extrapolation"),
        (_read(lambda run: run.lengths, _lost_beyond),),
    ),
    Signature(
        Failure.TRAINING,
        "floors",
        Ref("headcount", "learned loss against computed floor"),
        (_read(lambda run: run.floors, _training_by_floor),),
    ),
)


def signature(failure: Failure) -> Signature:
    """The signature of a failure."""
    return next(found for found in SIGNATURES if found.failure is failure)
