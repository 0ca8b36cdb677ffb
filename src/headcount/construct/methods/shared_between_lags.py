"""Heads shared between the lags of a fixed memory: a rate belongs to a head, its output matrix may
write into every slot.

    memory_k = sum_h a_kh sum_s phi(s; b_h) x_{t-s} + direct_k x_t,
    W_O of head h = (a_1h, …, a_Mh)

Theorem 3.1 gives every lag heads of its own. One set of rates that draws the longest lag draws the
shorter ones too (`blocks/shared_rates.py`), so that M lags cost about as many heads as the longest
alone. x_t comes free: what the heads miss at lag 0 is written by the embedding. Errors are those of
each slot's kernel, measured in ball arithmetic for the doubles that are written; the readout
network sees (token, memory_1, …, memory_M) as in Theorem 3.1.
"""

import dataclasses
import math

import numpy as np

from headcount.construct.blocks.drawn_heads import DECAYING, DrawnHeads, bias_of, divided, facts_of
from headcount.construct.blocks.readout_networks import readout_for
from headcount.construct.blocks.shared_rates import shared_heads
from headcount.construct.blocks.slots import (
    Ending,
    one_layer,
    share_of_tolerance,
    slot_names,
    slot_space,
)
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Draft, Refusal, RefusalKind, Request
from headcount.construct.method import AbstractMethod, methods
from headcount.construct.methods.sums_of_decays import (
    NORMALISERS,
    first_of,
    lag_slots,
    length_notes,
    one_position_reasons,
    window_of,
)
from headcount.core.refs import Ref
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import Lag
from headcount.model.attention import Attention
from headcount.model.scores import DotFree

REF = Ref("headcount", "heads shared between lags: one set of rates, W_O writes every slot")


@methods.register(
    "shared",
    formula="memory_k = sum_h a_kh sum_s phi(s; b_h) x_{t-s} + direct_k x_t, y = FFN(memories)",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class SharedBetweenLags(AbstractMethod):
    """One layer, no dot product; lin, log or log1p bias; about as many heads as the longest lag."""

    ref = REF
    cost = 2
    drafted_first = True
    families = (FixedMemory,)
    noun = "fixed memory"
    biases = DECAYING
    normalisers = NORMALISERS
    bounded_tokens = True
    reads_slots = True

    def further(self, target: FixedMemory, request: Request) -> list[Refusal]:
        reasons = one_position_reasons(target, request)
        if request.heads is not None:
            got = "a number of heads"
            reasons.append(Refusal(RefusalKind.HEADS, got, expected="a tolerance (--tol)"))
        return reasons

    def weights(self, target: FixedMemory, request: Request) -> Draft:
        readout = readout_for(target.readout, len(target.lags) + 1, target.inputs, request)
        each = share_of_tolerance(request, readout, target.inputs.bound, len(target.lags))
        kernels = tuple(Lag(T) for T in target.lags)
        window = max(window_of(kernel, request) for kernel in kernels)
        memories = shared_heads(kernels, request.bias, each, request.precision, window)
        space = slot_space(len(memories), target.inputs.dim)
        direct = [heads.missing_at_zero() for heads in memories]
        ending = Ending(
            REF,
            length_notes(request, list(memories)),
            {**facts_of(memories), "heads_by_memory": [memories[0].count]},
            first_of(request),
        )
        slots = lag_slots(target, request, list(memories), direct)
        radius = target.inputs.bound * math.sqrt(len(slots) + 1)
        attend = writing(space, memories, request)
        return one_layer(space, attend, slots, readout, radius, ending)


def writing(space: Space, memories: tuple[DrawnHeads, ...], request: Request) -> Attention:
    """Heads of the common curves; W_V divides out the normaliser, W_O writes all slots."""
    count, d = memories[0].count, space.sizes["token"]
    unit = dataclasses.replace(memories[0], coefficients=np.ones(count))
    gains, normaliser = divided([unit], request)
    w_value = gains[:, None, None] * space.read("token")[None]  # [H, d, D]
    writes = np.stack([space.write(name) for name in slot_names(len(memories))])  # [M, D, d]
    a = np.stack([heads.coefficients for heads in memories])  # [M, H]
    w_out = np.einsum("mh,mde->hde", a, writes)
    assert w_out.shape == (count, space.width, d)
    return Attention(DotFree(), bias_of(memories[0].curves, request), normaliser, w_value, w_out)
