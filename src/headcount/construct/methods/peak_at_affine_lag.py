"""One layer for a lag that the current token names: a peak stands on it at once.

`peak-tmx` computes the lag with an FFN in a first layer. Where the lag is affine on the letters,
g_i(x) = c_i.x + offset_i (the paper's x + 1; any table on one-hot tokens), the embedding supplies
the constant 1 and the head's own direction does it:

    z(t, s) = -p (s - c_i.x_t - offset_i)^2,   value x_{t-s}.

Stream: `token`, `memory_1` … `memory_M`, `one`. One layer, one head per memory; a linear readout
takes no neurons. Slopes and offsets are multiples of 1/4 (`affine_lag`), so that the lag is exact
in every format, and the error is that of one peak (`peak_at_lag`: 2 to 4 e^{-p}, also where the lag
leads before the first token and a sink or no normaliser is used).
"""

import dataclasses

import numpy as np

from headcount.construct.blocks.layers import Head, attention
from headcount.construct.blocks.networks import LinearReadout, NetworkFit
from headcount.construct.blocks.readout_networks import readout_for, readout_refusals
from headcount.construct.blocks.retrieval import by_definition, memory_of
from headcount.construct.blocks.slots import Ending, Slot, one_layer, slot_space
from headcount.construct.draft import Draft, Refusal, RefusalKind, Request
from headcount.construct.method import AbstractMethod, methods
from headcount.construct.methods.affine_lag import affine_lag, readout_row
from headcount.construct.methods.peak_at_lag import RATE, PeakRetrieval, reads_early
from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.readouts import Linear
from headcount.model.biases import NoBias
from headcount.model.scores import PeakTMX

REF = Ref("headcount", "peak TMX on an affine lag: one layer")


@methods.register(
    "named-lag",
    formula="memory_i = sum_s e^{-p (s - c_i.x_t - offset_i)^2} x_{t-s}, y = f(token, memories)",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class PeakAtAffineLag(AbstractMethod):
    """One layer, one peak-TMX head per memory, for lags affine in the current token."""

    ref = REF
    cost = 1
    drafted_first = True
    attention = "peak-tmx"
    families = (AdaptiveMemory,)
    noun = "adaptive memory"
    biases = ("peak", "peak-tmx")
    normalisers = ("softmax", "softmax-sink", "none")

    def further(self, target: AdaptiveMemory, request: Request) -> list[Refusal]:
        reasons = []
        if any(n > 1 for n in target.arguments):
            got = "a lag that depends on a token found first needs another layer"
            reasons.append(Refusal(RefusalKind.LAGS, got, expected="peak-tmx"))
        elif any(affine_lag(g, target.inputs.alphabet) is None for g in target.lag_functions):
            got = "a lag that is not affine in the current token needs an FFN in front"
            reasons.append(Refusal(RefusalKind.LAGS, got, expected="peak-tmx"))
        if request.normaliser == "softmax" and reads_early(target, request.length):
            got = (
                "plain softmax must look somewhere even where the lag leads before the first token"
            )
            use = "read=last or softmax-sink"
            reasons.append(Refusal(RefusalKind.NORMALISER, got, expected=use))
        memories = len(target.lag_functions)
        if request.heads is not None and request.heads < memories:
            got = f"{request.heads} heads for {memories} memories"
            reasons.append(Refusal(RefusalKind.HEADS, got, "each needs its own"))
        if not isinstance(target.readout, Linear):
            reasons += readout_refusals(target.readout, memories + 1, target.inputs)
        return reasons

    def weights(self, target: AdaptiveMemory, request: Request) -> Draft:
        maps = [affine_lag(g, target.inputs.alphabet) for g in target.lag_functions]
        affine = [found for found in maps if found is not None]
        M, d, size = len(maps), target.inputs.dim, target.inputs.bound
        assert len(affine) == M
        readout: LinearReadout | NetworkFit
        if isinstance(target.readout, Linear):
            readout = LinearReadout(readout_row(target), d, size)
        else:
            readout = readout_for(target.readout, M + 1, target.inputs, request)
        space, found = slot_space(M, d, one=1), by_definition(target)
        peak = PeakRetrieval(RATE, request.normaliser, size)
        score = PeakTMX(
            np.full(M, RATE),  # type: ignore[arg-type]
            np.stack([space.vector(token=c, one=offset) for c, offset in affine]),  # type: ignore[arg-type]
        )
        heads = [Head("token", f"memory_{i}") for i in range(1, M + 1)]
        attend = attention(space, heads, score, NoBias(M), peak.normaliser_of(M))
        slots = [Slot(memory_of(found, i), peak.bound(i), peak.why(i)) for i in range(1, M + 1)]
        only = request.normaliser == "softmax"
        told = (
            f"plain softmax: exact for reads at position {target.shortest} or later, where every"
            " lag leads to a token"
        )
        facts = {"rate": RATE, "kernel_error": peak.kernel_error}
        ending = Ending(REF, (told,) if only else (), facts, target.shortest if only else 1)
        radius = size * np.sqrt(M + 1)
        return one_layer(space, attend, slots, readout, float(radius), ending, one=1.0)
