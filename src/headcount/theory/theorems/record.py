"""A theorem evaluated for a target and an architecture: the bound with its constants, every
assumption with true or false and why.
"""

import dataclasses
import math
from typing import Any

from headcount.core.refs import Ref


@dataclasses.dataclass(frozen=True)
class Assumption:
    """One thing the theorem asks for."""

    name: str
    holds: bool
    why: str


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """|||target - Transformer||| <= E_FFN + Lip E_Attn.

    `value` is None where an assumption fails or the number exceeds a double; `log10_value` then
    still says how large. `vacuous`: no better than attention that adds nothing.
    """

    theorem: str
    ref: Ref
    assumptions: tuple[Assumption, ...]
    layers: int
    log_attention: float | None = None  # natural logarithm of E_Attn
    ffn: float | None = None
    lipschitz: float | None = None
    n: int | None = None
    heads_split: tuple[int, ...] = ()
    log10_constants: tuple[float, ...] = ()  # C(n) of every memory
    radius: float | None = None
    width_needed: int | None = None
    zero_attention: float | None = None  # E_Attn of heads that draw nothing
    lower: dict[str, Any] | None = None  # a lower bound that the theorem also states

    @property
    def applies(self) -> bool:
        return all(a.holds for a in self.assumptions)

    @property
    def log10_value(self) -> float | None:
        """log10 of the whole bound; None where the theorem does not apply."""
        if not self.applies or self.log_attention is None:
            return None
        through = self.log_attention + math.log(self.lipschitz) if self.lipschitz else -math.inf
        top = max(through, math.log(self.ffn) if self.ffn else -math.inf)
        if top == -math.inf:
            return -math.inf
        return (
            top + math.log(math.exp(through - top) + (self.ffn or 0.0) * math.exp(-top))
        ) / math.log(10)

    @property
    def value(self) -> float | None:
        size = self.log10_value
        return None if size is None or size > 300 else 10.0**size

    @property
    def vacuous(self) -> bool:
        return (
            self.applies
            and self.log_attention is not None
            and self.zero_attention is not None
            and self.log_attention >= math.log(self.zero_attention)
        )

    def to_json(self) -> dict[str, Any]:
        attention = (
            None
            if self.log_attention is None or self.log_attention > 700
            else math.exp(self.log_attention)
        )
        return {
            "theorem": self.theorem,
            "source": str(self.ref),
            "value": self.value,
            "log10_value": self.log10_value,
            "applies": self.applies,
            "vacuous": self.vacuous,
            "assumptions": [dataclasses.asdict(a) for a in self.assumptions],
            "layers": self.layers,
            "constants": {
                "n": self.n,
                "log10_C": list(self.log10_constants),
                "E_Attn": attention,
                "log10_E_Attn": (
                    None if self.log_attention is None else self.log_attention / math.log(10)
                ),
                "E_FFN": self.ffn,
                "lipschitz": self.lipschitz,
                "radius": self.radius,
                "heads_by_memory": list(self.heads_split),
                "width_needed": self.width_needed,
            },
            "lower_bound": self.lower,
        }
