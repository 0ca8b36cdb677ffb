"""What a diagnosis says, as values. Words are made from them elsewhere (`words.py`).

Worked example, y_t = 0.7 x_{t-7} + 0.7 x_{t-31} + noise:

    memory=FIXED, addressing=LAG, lags=(lag 7, lag 31 with effect, interval, p, shape),
    models=(none 0.00, lags 7 31 *, ridge, boosted trees), share=1.0, advice: one layer, two heads
"""

import dataclasses
import enum
import math
from typing import Any

from headcount.diagnose.clock import Clock
from headcount.diagnose.held_out import ModelKind
from headcount.diagnose.kernel_tail import LongMemory, Tail
from headcount.diagnose.samples import Note, Setting


class Memory(enum.StrEnum):
    """The verdict."""

    NONE = "none"
    FIXED = "fixed"
    ADAPTIVE = "adaptive"
    ESSENTIAL = "essential"
    UNDECIDED = "undecided"


class Reason(enum.StrEnum):
    """Why undecided."""

    NOT_LOCATED = "dependence exists, not located"
    NOT_HELD = "found on the first rows, no gain on the held-out rows"
    LEARNER_BETTER = "a generic learner explains clearly more"
    SHIFT_OR_LAG = "a shift of the level or a lag"
    SHORT_OR_LONG = "few lags or long memory"
    INTERRUPTED = "interrupted"


class Addressing(enum.StrEnum):
    """How the place to read is named."""

    LAG = "lag"
    CONTENT = "content"


@dataclasses.dataclass(frozen=True)
class LagFound:
    """One lag that the answer depends on."""

    lag: int
    channel: str
    effect: float | None  # held-out partial R^2 (tokens: nats)
    ci: tuple[float, float] | None
    p: float | None  # adjusted for everything that was searched in its step
    family: str  # linear, nonlinear, product, tokens
    partners: tuple[int, ...] = ()  # lags that it is multiplied with
    weight: float | None = None  # of the standardised value, where all enter by one weighted sum


@dataclasses.dataclass(frozen=True)
class MapEntry:
    """For one value of the pointing element: the lags that are read."""

    level: int  # 1: by x_t; 2: by what was read at level 1
    value: str
    lags: tuple[int, ...]
    p: float | None
    pivot: int | None = None  # the lag of the pointing element, where it is a real value


@dataclasses.dataclass(frozen=True)
class RecallFound:
    """Content addressing: find the latest earlier place with the same key, read beside it."""

    key_lag: int
    key_length: int
    offset: int  # 1: the element after the match
    weight: float  # share of answers that follow the rule
    z: float  # on held-out rows, given the model without it


@dataclasses.dataclass(frozen=True)
class Variance:
    """Memory in the size of what is left."""

    lag: int
    p: float


@dataclasses.dataclass(frozen=True)
class ModelScore:
    """A model's held-out gain over no memory (behind the filter, where the method has one)."""

    kind: ModelKind
    name: str
    lags: tuple[int, ...]
    gain: float
    error: float
    chosen: bool


@dataclasses.dataclass(frozen=True)
class Decay:
    """Two-point mutual information by lag: about the process, not about the map."""

    lags: tuple[int, ...]
    nats: tuple[float, ...]
    floor: float
    shape: str | None
    rate: float | None
    fitted: tuple[int, int] | None  # first and last lag of the fit


@dataclasses.dataclass(frozen=True)
class Method:
    """How it was found: everything needed to do it again."""

    setting: Setting
    tokens: bool
    rows: int
    judged: int
    folds: int
    effective_rows: float
    max_lag: int
    alphabet: int | None
    replicates: int
    alpha: float
    spending: dict[str, float]
    seed: int
    null: str
    filter_order: int = 0


@dataclasses.dataclass(frozen=True)
class Advice:
    """An architecture, and the claim it rests on."""

    target: str | None  # a target for `headcount plan`, where the memory is one
    layers: int
    heads: int
    bias: str
    attention: str
    neurons: int | None
    dot_product: bool
    claim: dict[str, Any] | None  # its words, and the claim itself as values
    command: str | None


@dataclasses.dataclass(frozen=True)
class Trained:
    """One model trained by --verify."""

    role: str
    layers: int
    heads: int
    bias: str
    attention: str
    loss: float
    parameters: int


@dataclasses.dataclass(frozen=True)
class Verified:
    """Did the advice hold? `expected` is the interval of the loss that the diagnosis predicted."""

    expected: tuple[float, float]
    runs: tuple[Trained, ...]
    held: bool
    smaller_failed: bool | None


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Everything that is said about one data set."""

    memory: Memory
    method: Method
    reason: Reason | None = None
    suspected: Memory | None = None  # what the parts look like, where undecided
    addressing: Addressing | None = None
    lags: tuple[LagFound, ...] = ()
    bent: bool = False  # one weighted sum of the lags says it all, but not linearly
    map: tuple[MapEntry, ...] = ()
    recall: RecallFound | None = None
    nesting: int = 0
    adaptivity: float | None = None
    tail: Tail | None = None
    long_memory: LongMemory | None = None
    decay: Decay | None = None
    clock: Clock | None = None
    past_lags: tuple[int, ...] = ()  # with a clock: lags of the series as it is
    variance: Variance | None = None
    models: tuple[ModelScore, ...] = ()
    r2: float | None = None  # held-out share of variance (tokens: of nats) that is explained
    r2_error: float | None = None  # its standard error
    loss_error: float | None = None  # that of the loss which is left, in the same unit
    share: float | None = None  # of what the best of all models explains
    best_model: str | None = None
    n_needed: int | None = None
    advice: Advice | None = None
    verified: Verified | None = None
    notes: tuple[Note, ...] = ()
    profile: tuple[tuple[str, int, float], ...] = ()  # (channel, lag, z): marginal, not lags
    kernel: tuple[tuple[int, float, float], ...] = ()  # (lag, weight, standard error)
    interventions: tuple[tuple[int, float, float], ...] = ()  # (lag, share changed, error)
    interrupted: bool = False
    answer: str = ""  # the column that is predicted, where there are several
    period: int | None = None  # of symbols that repeat themselves exactly

    @property
    def lag_numbers(self) -> tuple[int, ...]:
        return tuple(found.lag for found in self.lags)

    def __str__(self) -> str:
        from headcount.diagnose.words import whole

        return whole(self)

    def __repr__(self) -> str:
        from headcount.diagnose.words import sentence

        return f"<{type(self).__name__}: {sentence(self)}>"

    def to_json(self) -> dict[str, Any]:
        from headcount.diagnose.words import note_words, sentence

        plain = _plain(dataclasses.asdict(self))
        if self.tail is not None:
            plain["tail"]["class"] = plain["tail"].pop("shape")
            plain["tail"]["ci"] = plain["tail"].pop("interval")
        plain["notes"] = [
            {"kind": note.kind, "text": note_words(note), **_plain(note.numbers)}
            for note in self.notes
        ]
        return {"sentence": sentence(self), **plain}


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.item() if hasattr(value, "item") else value
