"""What is known of an arm without training it: the first three of its four numbers."""

import dataclasses
import math

from headcount.core.claims import Status
from headcount.core.errors import require

ROUNDING = 1e-9  # a bound may exceed the value that it bounds by this: both are rounded doubles


@dataclasses.dataclass(frozen=True)
class Numbers:
    """What is known of an arm without training it, in the units of its loss. None: not known,
    and `note` says why.
    """

    promised: float | None = None
    promised_text: str = ""
    possible: float | None = None  # best weights constructed or fitted
    lower: float | None = None  # no weights of this class can be better
    lower_for: str = ""  # the class, where it is smaller than that of the arm
    certificate: str = ""
    float32: float | None = None
    bfloat16: float | None = None
    note: str = ""
    # possible is the constant answer: it says nothing about the architecture
    constant: bool = False
    status: Status = Status.FOUND  # of `possible`: by a search, or measured on sequences

    def __post_init__(self):
        low, high = self.lower, self.possible
        require(
            low is None or high is None or low <= high * (1 + ROUNDING),
            f"lower bound {self.lower} above the possible value {self.possible}",
            "a bound below it",
            "check both",
        )

    @property
    def explanation(self) -> str:
        """The certificate and the note."""
        return "; ".join(filter(None, (self.certificate, self.note)))

    @property
    def floor(self) -> float | None:
        """What the arm could reach in training: the best weights known, as float32 holds them where
        that was computed.

        Training is in float32, so that a loss of 1e-31 (float64) is out of its reach: a loss of
        1e-13 beside it is no failure to learn. None where only the constant answer is known: any
        architecture reaches that, and better weights may exist.
        """
        if self.constant or self.possible is None:
            return None
        rounded = self.float32 if self.float32 is not None and math.isfinite(self.float32) else 0.0
        return max(self.possible, rounded)
