"""Wavelet features: a function of wavelet coefficients of the past at dyadic scales.

    y_t = f(c_1(t), …, c_M(t)),  c_j(t) = sum_s psi((s - 4·2^j)/2^j) x_{t-s},  j = 0, 1, …

psi is the Mexican hat (1 - u²) e^{-u²/2}, the Morlet wavelet cos(5u) e^{-u²/2}, or both. They are
centred four scales back, so that at lag 0 they are down to 0.005 and 0.00014 of their height and
the cut there hardly matters. The kernels change sign and peak far from lag 0: sums of decaying
heads must cancel to make them.

Worked example — the first Mexican hat is centred on lag 4, where it is 1; a single 1 stands there:

    >>> import jax.numpy as jnp
    >>> from headcount.memory.readouts import Linear
    >>> x = jnp.zeros((1, 10, 1)).at[0, 5, 0].set(1.0)
    >>> round(float(WaveletFeatures(scales=1, readout=Linear()).evaluate(x).item()), 5)
    1.0
"""

import dataclasses
import enum

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.essential import EssentialMemory
from headcount.memory.kernels import AbstractKernel, MexicanHat, Morlet
from headcount.memory.named.base import AbstractNamed
from headcount.memory.read import AbstractRead, Last
from headcount.memory.readouts import AbstractReadout, Teacher
from headcount.memory.target import targets

SCALES_BACK = 4.0  # the centre, in units of the scale


class Wavelet(enum.StrEnum):
    """The mother wavelet."""

    MEXICAN_HAT = "mexican-hat"
    MORLET = "morlet"
    BOTH = "both"


@targets.register(
    "wavelet",
    formula="y_t = f(X*psi_0, X*psi_1, …), psi_j(s) = psi((s - 4·2^j)/2^j)",
    ref=Ref("mallat-1999", "Section 4.3"),
)
@dataclasses.dataclass(frozen=True)
class WaveletFeatures(AbstractNamed):
    """A readout of wavelet coefficients at scales 1, 2, 4, …"""

    wavelet: Wavelet = Wavelet.MEXICAN_HAT
    scales: int = 3
    readout: AbstractReadout = Teacher()
    read: AbstractRead = Last()

    def describe(self):
        require(
            1 <= self.scales <= 20,
            f"{self.scales} scales",
            "1 to 20",
            "each scale doubles the reach",
        )
        widths = [2.0**j for j in range(self.scales)]
        hats: list[AbstractKernel] = [MexicanHat(SCALES_BACK * width, width) for width in widths]
        morlets: list[AbstractKernel] = [Morlet(SCALES_BACK * width, width) for width in widths]
        chosen = {Wavelet.MEXICAN_HAT: hats, Wavelet.MORLET: morlets, Wavelet.BOTH: hats + morlets}[
            Wavelet(self.wavelet)
        ]
        return EssentialMemory(tuple(chosen), self.readout, read=self.read)
