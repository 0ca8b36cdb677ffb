"""What a run shows of itself, as plain arrays: the observables from which `lab/judge/signatures.py`
reads why it failed.

Each record is one way to cut a run's loss, says how to obtain it, and refuses values that cannot be
one.
"""

import dataclasses
import itertools
import math

import numpy as np

from headcount.core.errors import require


@dataclasses.dataclass(frozen=True)
class FloorPattern:
    """A learned loss beside three computed floors (best loss of an architecture, from theory or
    fitting, not trained).

    `floor`: this architecture; `more_heads`: the same bias with at least twice the heads;
    `other_bias`: the best of the other biases with the same number of heads. `trivial` is the loss
    of the best constant predictor.
    """

    loss: float
    trivial: float
    floor: float
    more_heads: float
    other_bias: float

    def __post_init__(self):
        require(
            0 < self.loss < math.inf,
            f"loss {self.loss:g}",
            "a finite number > 0",
            "a diverged run has no pattern",
        )
        require(
            0 < self.trivial < math.inf,
            f"trivial loss {self.trivial:g}",
            "a finite number > 0",
            "1 for normalised MSE",
        )
        floors = [self.floor, self.more_heads, self.other_bias]
        require(
            all(0 <= f < math.inf for f in floors),
            f"floors {floors}",
            "finite numbers >= 0",
            "leave the pattern out if unknown",
        )
        require(
            self.more_heads <= self.floor,
            f"{self.more_heads:g} with more heads, {self.floor:g} with fewer",
            "not more",
            "fit longer",
        )


@dataclasses.dataclass(frozen=True)
class HopPattern:
    """Accuracy [K] of an architecture of `layers` layers on chains of 1..K hops, each over
    `samples` held-out answers.

    From one run that is tested by number of hops, or from one run for each number of hops with all
    else equal. In the latter case each hop count was learned anew, perhaps not at all, and `deeper`
    [K] is the control: the best accuracy with layers that suffice for that many hops, trained alike
    (`chance` where there is none).
    """

    accuracy: np.ndarray
    chance: float
    samples: int
    layers: int
    deeper: np.ndarray | None = None

    def __post_init__(self):
        accuracy = _vector(self, "accuracy", 2)
        require(
            ((accuracy >= 0) & (accuracy <= 1)).all(),
            f"accuracy {accuracy.tolist()}",
            "numbers in [0, 1]",
            "give fractions",
        )
        require(
            0 <= self.chance < 1,
            f"chance {self.chance:g}",
            "a number in [0, 1)",
            "1/symbols for uniform answers",
        )
        require(
            self.samples >= 1, f"{self.samples} samples", "at least 1", "test on more sequences"
        )
        require(
            self.layers >= 1, f"{self.layers} layers", "at least 1", "count the attention layers"
        )
        if self.deeper is not None:
            deeper = _vector(self, "deeper", 2)
            require(
                len(deeper) == len(accuracy),
                f"{len(deeper)} accuracies of deeper models",
                f"{len(accuracy)}",
                "one for each hop",
            )

    @property
    def skill(self) -> np.ndarray:
        """[K] accuracy above chance, 0 for guessing and 1 for always right."""
        return self._skill(self.accuracy)

    @property
    def deeper_skill(self) -> np.ndarray | None:
        """[K] that of the control."""
        return None if self.deeper is None else self._skill(self.deeper)

    def _skill(self, accuracy: np.ndarray) -> np.ndarray:
        return (accuracy - self.chance) / (1 - self.chance)

    @property
    def error(self) -> np.ndarray:
        """[K] standard error of the skill; never that of a perfect score, which would be 0 (one
        answer is added).
        """
        a = (self.accuracy * self.samples + 0.5) / (self.samples + 1)
        return np.sqrt(a * (1 - a) / self.samples) / (1 - self.chance)


@dataclasses.dataclass(frozen=True)
class LagPattern:
    """Partial error [M] at each lag that the target reads, 0 where the lag is read exactly and 1
    where it is not read.

    For a linear target, (kappa(s)-rho(s))^2/rho(s)^2 with kappa the model's response to an impulse
    at lag s. In general, the share of that lag's contribution left unexplained:
    E[(E[y-f|x_{t-s}])^2]/E[(E[y|x_{t-s}])^2]. `heads`: of the layer.
    """

    lags: np.ndarray
    error: np.ndarray
    heads: int

    def __post_init__(self):
        lags, error = _vector(self, "lags", 1), _vector(self, "error", 1)
        require(
            len(lags) == len(error),
            f"{len(lags)} lags, {len(error)} errors",
            "one error per lag",
            "drop the rest",
        )
        require(
            (lags >= 0).all() and (np.diff(lags) > 0).all(),
            f"lags {lags.tolist()}",
            "increasing lags >= 0",
            "sort them",
        )
        require(
            (error >= 0).all(),
            f"errors {error.tolist()}",
            "numbers >= 0",
            "partial errors are squares",
        )
        require(
            self.heads >= 1, f"{self.heads} heads", "at least 1", "count the heads of the layer"
        )


@dataclasses.dataclass(frozen=True)
class LengthPattern:
    """Loss [J] at sequence `lengths` [J], of which the first is the trained one. `reach` is the
    largest lag of the target.
    """

    lengths: np.ndarray
    loss: np.ndarray
    reach: int
    trivial: float

    def __post_init__(self):
        lengths, loss = _vector(self, "lengths", 2), _vector(self, "loss", 2)
        require(
            len(lengths) == len(loss),
            f"{len(lengths)} lengths, {len(loss)} losses",
            "one loss per length",
            "drop the rest",
        )
        require(
            lengths[0] >= 1 and (np.diff(lengths) > 0).all(),
            f"lengths {lengths.tolist()}",
            "increasing, trained first",
            "sort them",
        )
        require((loss > 0).all(), f"losses {loss.tolist()}", "numbers > 0", "evaluate in float64")
        require(
            self.reach >= 0, f"reach {self.reach}", "a lag >= 0", "give the target's largest lag"
        )
        require(
            0 < self.trivial < math.inf,
            f"trivial loss {self.trivial:g}",
            "a finite number > 0",
            "1 for normalised MSE",
        )

    @classmethod
    def from_positions(
        cls, loss: np.ndarray, trained: int, reach: int, trivial: float
    ) -> "LengthPattern":
        """From the loss [N] by position of sequences longer than trained: the mean over the trained
        positions, then over octaves.

        Positions that do not have all lags behind them yet (t <= reach) are left out.

        >>> loss = np.array([9.0, 1, 1, 1, 5, 5])
        >>> LengthPattern.from_positions(loss, trained=4, reach=1, trivial=10).loss.tolist()
        [1.0, 5.0]
        """
        loss = np.asarray(loss, float)
        require(
            loss.ndim == 1,
            f"losses of shape {loss.shape}",
            "one loss per position [N]",
            "average over sequences first",
        )
        require(
            reach < trained < len(loss),
            f"trained length {trained} of {len(loss)}",
            f"between {reach} and N",
            "test longer sequences",
        )
        edges = [reach, trained]
        while edges[-1] < len(loss):
            edges.append(min(2 * edges[-1], len(loss)))
        means = [loss[a:b].mean() for a, b in itertools.pairwise(edges)]
        return cls(np.array(edges[1:]), np.array(means), reach, trivial)


@dataclasses.dataclass(frozen=True)
class RunPattern:
    """All that is known of a run; what was not measured is None, and signatures that need it
    answer 'undecided'.
    """

    floors: FloorPattern | None = None
    hops: HopPattern | None = None
    lags: LagPattern | None = None
    lengths: LengthPattern | None = None


def _vector(record: object, name: str, least: int) -> np.ndarray:
    """The field as a float64 vector, stored back read-only: a frozen record must not change
    through its array.
    """
    values = np.array(getattr(record, name), float)
    require(
        values.ndim == 1 and len(values) >= least,
        f"{name} of shape {values.shape}",
        f"at least {least} numbers",
        "pass a flat list",
    )
    require(
        bool(np.isfinite(values).all()),
        f"{name} {values.tolist()}",
        "finite numbers",
        "a diverged run has no pattern",
    )
    values.setflags(write=False)
    object.__setattr__(record, name, values)
    return values
