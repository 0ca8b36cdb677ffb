"""Head curves that are not decays: a quadratic bias (peak), a free bias per lag (table), a rotary
embedding (rope).

Each is the exponential of a logit, scaled so that its largest value is about 1 (softmax does not
see the scale):

    peak    e^{-p (s-c)^2}
    table   e^{z_s} on the lags of the table, 0 beyond
    rope    exp( sum_j r_j cos(theta_j s + f_j) - offset ),  theta_j = base^{-2j/dims}, j < dims/2

A rotary head is what a dot product of rotated, constant queries and keys draws: amplitude r_j and
phase f_j of each frequency pair are free. It does not decay, so that it is judged on a finite
window only.
"""

import abc
import dataclasses
import math
from typing import Any, ClassVar

import numpy as np
from flint import arb, arb_mat

from headcount.core.errors import require
from headcount.core.refs import Ref


class AbstractShape(abc.ABC):
    """One head's curve over lags."""

    name: ClassVar[str]
    ref: ClassVar[Ref]
    summable: ClassVar[bool] = True  # has it a tail that can be summed?

    @abc.abstractmethod
    def values(self, length: int) -> np.ndarray:
        """The curve in float64.  [S]"""

    @abc.abstractmethod
    def balls(self, length: int) -> list[arb]:
        """The curve as balls; the parameters enter exactly.  [S]"""

    @abc.abstractmethod
    def tail(self, start: int) -> arb:
        """An upper bound of the curve's sum over lags >= start."""

    def parameters(self) -> dict[str, Any]:
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class Peak(AbstractShape):
    """e^{-p (s-c)^2}."""

    centre: float
    sharpness: float
    name = "peak"
    ref = Ref("headcount", "quadratic bias")

    def __post_init__(self):
        require(
            self.sharpness > 0 and math.isfinite(self.sharpness),
            f"sharpness {self.sharpness}",
            "a positive number",
            "choose p > 0",
        )

    def values(self, length):
        return np.exp(-self.sharpness * (np.arange(length) - self.centre) ** 2)

    def balls(self, length):
        p, c = arb(self.sharpness), arb(self.centre)
        return [(-p * (s - c) * (s - c)).exp() for s in range(length)]

    def tail(self, start):
        """Geometric bound: beyond the centre successive ratios only fall."""
        p, distance = arb(self.sharpness), arb(start) - arb(self.centre)
        if not distance > 0:
            return arb("inf")
        return (-p * distance * distance).exp() / -(-p * (2 * distance + 1)).expm1()


@dataclasses.dataclass(frozen=True)
class Table(AbstractShape):
    """A free logit per lag; -inf switches a lag off."""

    logits: tuple[float, ...]
    name = "table"
    ref = Ref("raffel-2020", "Section 2.1, relative position embeddings")

    def values(self, length):
        z = np.full(length, -np.inf)
        z[: len(self.logits)] = self.logits[:length]
        return np.exp(z)

    def balls(self, length):
        own = [arb(0) if math.isinf(z) else arb(z).exp() for z in self.logits[:length]]
        return own + [arb(0)] * (length - len(own))

    def tail(self, start):
        return sum((arb(z).exp() for z in self.logits[start:] if math.isfinite(z)), arb(0))

    def parameters(self):
        return {"logits": [z if math.isfinite(z) else None for z in self.logits]}


@dataclasses.dataclass(frozen=True)
class Rotary(AbstractShape):
    """exp(sum_j r_j cos(theta_j s + f_j) - offset); the offset only sets the scale."""

    amplitudes: tuple[float, ...]
    phases: tuple[float, ...]
    offset: float
    base: float = 10000.0
    name = "rope"
    ref = Ref("su-2021", "Section 3.2")
    summable = False

    @property
    def dims(self) -> int:
        return 2 * len(self.amplitudes)

    def values(self, length):
        # [S, J]
        angles = np.outer(np.arange(length), frequencies(self.dims, self.base)) + np.array(
            self.phases
        )
        return np.exp(np.cos(angles) @ np.array(self.amplitudes) - self.offset)

    def balls(self, length):
        """With s = n a + b, n = sqrt(length), a cosine of a sum is two products: the logits are one
        product of matrices, and 2 n angles are evaluated instead of n^2.
        """
        if length == 0:
            return []
        n = math.isqrt(length - 1) + 1
        theta = [arb(float(t)) for t in frequencies(self.dims, self.base)]
        far, near = [], [list[arb]() for _ in range(2 * len(theta))]
        for a in range(-(-length // n)):
            turned = [(t * (n * a) + f).sin_cos() for t, f in zip(theta, self.phases, strict=True)]
            sizes = [arb(r) for r in self.amplitudes]
            far.append([r * c for r, (_, c) in zip(sizes, turned, strict=True)])
            far[-1] += [-r * s for r, (s, _) in zip(sizes, turned, strict=True)]
        for j, t in enumerate(theta):
            for b in range(n):
                sine, cosine = (t * b).sin_cos()
                near[j].append(cosine)
                near[j + len(theta)].append(sine)
        offset = arb(self.offset)
        return [(z - offset).exp() for z in (arb_mat(far) * arb_mat(near)).entries()[:length]]

    def tail(self, start):
        return arb("inf")


def frequencies(dims: int, base: float = 10000.0) -> np.ndarray:
    """theta_j = base^{-2j/dims}.  [J]"""
    require(
        dims >= 2 and dims % 2 == 0,
        f"{dims} rotary dimensions",
        "a positive even number",
        "pass for example 64",
    )
    return base ** (-np.arange(0, dims, 2) / dims)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
