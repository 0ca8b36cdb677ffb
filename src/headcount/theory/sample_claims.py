"""Statements about so many samples as values: what is bounded, of which models and samples.

A scope is part of the statement and is printed with it; left out, the statement would be false.

Worked example: the exponent of a theorem about a class of targets that is not this project's.

    >>> scope = RetrievalScope(length=256, retrievals=4, heads=2, head_width=4)
    >>> print(scope.words()[:75])
    every target y = F(z_1, ..., z_4) with z_i = min over t in S_i of f_i(x_t),
"""

import dataclasses
import enum

from headcount.core.claims import Status, rounded
from headcount.core.plural import counted
from headcount.core.refs import Ref


class Quantity(enum.StrEnum):
    """What a statement bounds."""

    RISK = "risk"  # at most
    CLIPPED_RISK = "risk of clipped answers"  # at most
    WRONG = "share of wrong answers"  # at most
    GAP = "risk minus empirical risk"  # at most
    CLIPPED_GAP = "risk minus empirical risk of clipped answers"  # at most
    SAMPLES = "samples"  # that suffice
    EXPONENT = "exponent of the parameters"  # at least


class Rows(enum.StrEnum):
    """What counts as one sample."""

    INDEPENDENT = "independent"
    WINDOWS = "windows of a series"  # overlapping; its tokens are independent
    # Yu's blocks add 2 (n - 1) beta to the chance of failing, beta the mixing coefficient
    MIXING = "windows of a dependent series"

    def words(self, samples: int) -> str:
        """So many of them."""
        if self is Rows.INDEPENDENT:
            return counted(samples, "independent sample")
        blocks = counted(samples, "block")
        if self is Rows.WINDOWS:
            return f"{blocks} of overlapping windows of one series of independent tokens"
        return f"{blocks} of one series of dependent tokens, up to its unknown mixing coefficient"

    @property
    def status(self) -> Status:
        """What a proved bound is worth on such samples."""
        return Status.CONJECTURED if self is Rows.MIXING else Status.PROVED


class Unit(enum.StrEnum):
    """What one loss is."""

    ANSWER = "a loss is that of one answer"
    SEQUENCE = "a loss is the mean over the answers of a sequence that has any"


@dataclasses.dataclass(frozen=True)
class SampleScope:
    """What a statement about losses is about. None: it plays no part."""

    samples: int
    loss_range: float  # losses lie in [0, B]
    rows: Rows = Rows.INDEPENDENT
    models: int | None = 1  # compared, fixed before the samples were seen; None: all of a class
    lipschitz: float | None = None  # of the loss in the answer
    path_norm: float | None = None  # Q of the class
    radius: float | None = None  # coordinates of tokens lie in [-R, R]
    clip: float | None = None  # answers are cut to [-M, M]
    unit: Unit = Unit.ANSWER

    def words(self) -> str:
        parts = [self.rows.words(self.samples), f"losses in [0, {self.loss_range:g}]"]
        if self.clip is not None:
            parts.append(f"answers clipped to ±{self.clip:g}")
        if self.unit is Unit.SEQUENCE:
            parts.append(str(self.unit))
        if self.radius is not None:
            parts.append(f"tokens |x| <= {self.radius:g} in each coordinate")
        if self.path_norm is not None:
            parts.append(f"any network of path norm {rounded(self.path_norm, 4, up=True)}")
        elif self.models is not None:
            parts.append(f"{counted(self.models, 'model')} fixed before")
        return ", ".join(parts)


@dataclasses.dataclass(frozen=True)
class LagScope:
    """One lag is found when the t-test of the answers on its token alone rejects at alpha/S.

    A lag that plays no part has normal tokens whatever the answers are, so that its test is exact;
    few signs may equal those of the true lag.
    """

    lags: int  # S, each tested
    alpha: float
    share: float  # of the variance of the answers that this lag alone explains, r2

    def words(self) -> str:
        return (
            f"a lag that alone explains the share {rounded(self.share, 4, up=True)} of the"
            f" variance is found by the t-test of each of {self.lags} lags alone at level"
            f" {self.alpha:g}/{self.lags}, independent samples, tokens signs or normal, the rest"
            " of the answer normal; a false lag is found too with probability at most"
            f" {self.alpha:g} where tokens are normal, more often of few signs"
        )


@dataclasses.dataclass(frozen=True)
class RetrievalScope:
    """Retrieval by content, as Yu et al. define it; no lag of a memory here is one."""

    length: int  # T tokens
    retrievals: int  # D at the same time
    heads: int  # s < D
    head_width: int  # e

    def words(self) -> str:
        return (
            f"every target y = F(z_1, ..., z_{self.retrievals}) with z_i = min over t in S_i of"
            f" f_i(x_t), on {self.length} tokens, by one layer with"
            f" {counted(self.heads, 'head')} of width {self.head_width}, as the error falls;"
            " not about memories of fixed lags"
        )


@dataclasses.dataclass(frozen=True)
class SampleClaim:
    """`quantity` is at most (an exponent: at least) `value` with probability `confidence`."""

    quantity: Quantity
    value: float
    confidence: float
    scope: SampleScope | LagScope | RetrievalScope
    method: str
    ref: Ref
    status: Status = Status.PROVED
    measured: float | None = None  # the same quantity on sequences that no bound used
    constant: float | None = None  # what the best constant answer has of it

    def __str__(self) -> str:
        up = self.quantity is not Quantity.EXPONENT
        side = "at most" if up else "at least"
        if self.quantity is Quantity.SAMPLES:
            side = "enough:"
        chance = f" with probability {self.confidence:g}" if self.confidence < 1 else ""
        return (
            f"{self.quantity} {side} {rounded(self.value, 4, up)}{chance}:"
            f" {self.scope.words()} ({_SAID[self.status]}: {self.method})"
        )

    def about(
        self, quantity: Quantity, *, clip: float | None = None, unit: Unit = Unit.ANSWER,
        measured: float | None = None, constant: float | None = None,
    ) -> "SampleClaim":  # fmt: skip
        """The same of losses that are known to be more than numbers in [0, B]."""
        assert isinstance(self.scope, SampleScope)
        scope = dataclasses.replace(self.scope, clip=clip, unit=unit)
        return dataclasses.replace(
            self, quantity=quantity, scope=scope, measured=measured, constant=constant
        )

    @property
    def trivial(self) -> bool:
        """Does it say no more than the range of the loss?"""
        return isinstance(self.scope, SampleScope) and self.value >= self.scope.loss_range

    @property
    def beats_constant(self) -> bool:
        """Is it below what the best constant answer has? False where that is not known."""
        return self.constant is not None and self.value < self.constant

    def to_json(self) -> dict[str, object]:
        return {
            "quantity": str(self.quantity), "value": self.value, "confidence": self.confidence,
            "method": self.method, "status": str(self.status), "source": str(self.ref),
            "scope": {"about": type(self.scope).__name__, **dataclasses.asdict(self.scope)},
            "measured": self.measured, "constant": self.constant, "words": str(self),
        }  # fmt: skip


_SAID = {Status.PROVED: "proved", Status.MEASURED: "approximate", Status.CONJECTURED: "not proved"}
