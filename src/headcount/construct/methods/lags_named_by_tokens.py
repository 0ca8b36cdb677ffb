"""Lags that tokens name, by moved lin or log heads: Theorems 4.1, 4.4, Propositions 4.3, 4.5.

Theorem 4.1: an adaptive M-sparse memory by two layers, normalisation-free.

    layer 1  attention idle (W_O = 0, docs/errata.md#e3); the precision FFN writes
             lag_r = [g_r(x_t)] and the constant 1 (lin), or
             lag_r = log[e^{log g_r(x_t)}] and the constant log 2 (log)
    layer 2  dot-product heads: the query reads lag_r, the key the constant, so that the bias
             -b phi(s) is moved by the lag asked for (`moved_heads`):
             memory_r = sum_h a_h sum_s e^{-b_h (s - g_r + T)} x_{t-s};
             a network reads out f(token, memory_1, …, memory_M)

One set of coefficients serves every lag up to T_r (Lemmas F.2, F.5), with l1 error e_r for each of
them; the lags are exact (rounding, `LagNetwork`), so the answer is off by at most
E_FFN + Lip sqrt(sum_r e_r^2) (docs/errata.md#e12).

What it costs: a linear sum of lin heads that isolates lag T among all lags takes T + 1 heads and
sum|a| ~ e^{2.46 T} (Theorems A and B): here that ends at about lag 5 in float32 and 10 in float64;
log heads are weak beyond lag 3. Then this refuses, with what is proved. `peak-tmx` has no such
limit.

Theorem 4.4 and Proposition 4.5: lags that depend on tokens found before, one retrieval per layer.

H^Adap(K, M): t_i = g_i(x_t, x_{t-t_1}, …) needs what the retrievals before it found. There are
L = K + 1 + 1{M >= K+1} layers (`retrieval`): layer l writes lag_l with its FFN, layer l+1 finds
memory_l; the lags K+1, …, M depend on the first K memories only and are found together.

The chain holds because lags are whole numbers: memory_j is off by e_j, a later g_l by at most
Lip(g_l) sqrt(sum_j e_j^2), and while that is below 1/2 (log: log(1 + 1/(2T_l))) rounding returns
the exact lag and no error is passed on. The paper leaves these head conditions out
(docs/errata.md#e9); here each is a check with its numbers (facts["rounding"]), and with a tolerance
the heads of memory j are chosen so that all of them hold.

Proposition 4.5, `deep`: the same for K = 0 with one memory per layer, M + 1 layers. All heads of a
layer serve one memory, which lowers heads and neurons per layer, not in total (docs/errata.md#e12).

Proposition 4.3: TMX, the bias measured against the lag asked for, in place of the dot product.

    z = b (phi(s) - phi(w . x_t)),   w = e_lag:

D numbers per head instead of two D x q matrices, and no constant in the stream. The heads are those
of Theorem 4.1, so are the layers and the errors (Theorem 4.4 for K > 0); only what moves the bias
differs (`moved_heads`). Two repairs (docs/errata.md#e6): for log heads the paper stores log g,
whereupon phi_log(log g) = -log log g; here the stream holds g itself, rounded to whole numbers (so
that the width condition is the lin one), and the score clamps, phi_log(max(1, .)),
phi_lin(max(0, .)).
"""

import dataclasses
import math

from headcount.construct.blocks.drawn_heads import DrawnHeads
from headcount.construct.blocks.moved_heads import (
    BIASES,
    CANCELLED,
    FREE,
    NORMALISERS,
    DotRetrieval,
    Limits,
    TmxRetrieval,
    adaptive_for_tol,
    sink_note,
    split_adaptive,
    tmx_limits,
)
from headcount.construct.blocks.networks import NetworkFit
from headcount.construct.blocks.readout_networks import readout_for
from headcount.construct.blocks.retrieval import (
    LagNetwork,
    Stages,
    Wiring,
    assemble,
    lag_networks,
    lag_refusals,
    one_by_one,
    stages,
)
from headcount.construct.blocks.slots import Ending, share_of_tolerance
from headcount.construct.draft import Draft, Refusal, RefusalKind, Request
from headcount.construct.method import AbstractMethod, methods
from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory

ADAPTIVE = Ref("wang-e-2024", "Theorem 4.1")
TMX = Ref("wang-e-2024", "Proposition 4.3")
NESTED = Ref("wang-e-2024", "Theorem 4.4")
DEEP = Ref("wang-e-2024", "Proposition 4.5")
MARGIN = 0.8  # of what rounding can mend, for the tokens found first


class AbstractMoved(AbstractMethod):
    """Heads that the lag moves, behind lags that networks compute."""

    layers = None
    families = (AdaptiveMemory,)
    noun = "adaptive memory"
    biases = BIASES
    normalisers = NORMALISERS
    hints = {"softmax": CANCELLED}
    reads_slots = True
    attention = "dot"

    def further(self, target: AdaptiveMemory, request: Request) -> list[Refusal]:
        return [*self.order_reasons(target), *lag_refusals(target, request)]

    def order_reasons(self, target: AdaptiveMemory) -> list[Refusal]:
        """Why another method is meant for lags that depend on each other in this way."""
        return []

    def order(self, target: AdaptiveMemory) -> Stages:
        """Which memories each layer finds."""
        return stages(target)

    def weights(self, target: AdaptiveMemory, request: Request) -> Draft:
        order, tmx = self.order(target), self.attention == "tmx"
        networks = lag_networks(target, request, order, request.bias == "log" and not tmx)
        readout = readout_for(target.readout, len(networks) + 1, target.inputs, request)
        limits = [tmx_limits(net.largest, request) if tmx else FREE for net in networks]
        heads = choose_heads(target, request, order, networks, readout, limits)
        kind = TmxRetrieval if tmx else DotRetrieval
        retrieval = kind(heads, request, target.inputs.bound)
        ending = Ending(self.ref, sink_note(request), retrieval.facts)
        return assemble(Wiring(target, order, networks, retrieval, readout, ending))


def _nested_reasons(target: AdaptiveMemory) -> list[Refusal]:
    if len(stages(target)) == 1:
        return []
    got = f"lags depend on tokens that other lags find (K = {target.nesting})"
    return [Refusal(RefusalKind.LAGS, got, expected="nested")]


@methods.register(
    "adaptive",
    formula=(
        "lag_r = [g_r(x_t)], memory_r = sum_h a_h sum_s e^{-b_h (s - lag_r)} x_{t-s}, y ="
        " FFN(token, memories)"
    ),
    ref=ADAPTIVE,
)
@dataclasses.dataclass(frozen=True)
class TwoLayers(AbstractMoved):
    """Two layers for lags that the current token decides; heads moved by a dot product."""

    ref = ADAPTIVE
    cost = 2

    def order_reasons(self, target: AdaptiveMemory) -> list[Refusal]:
        return _nested_reasons(target)


@methods.register(
    "nested",
    formula=(
        "lag_i = [g_i(token, memory_1, …)], memory_i = x_{t-lag_i}, layer by layer; y = FFN(token,"
        " memories)"
    ),
    ref=NESTED,
)
@dataclasses.dataclass(frozen=True)
class Nested(AbstractMoved):
    """K + 1 + 1{M > K} layers for a K-adaptive memory; lin or log heads moved by a dot product."""

    ref = NESTED
    cost = 3

    def order_reasons(self, target: AdaptiveMemory) -> list[Refusal]:
        if len(stages(target)) > 1:
            return []
        got = "no lag depends on a token that another lag finds"
        return [Refusal(RefusalKind.LAGS, got, expected="adaptive (Theorem 4.1), two layers")]


@methods.register("deep", formula="as nested with one memory per layer, M + 1 layers", ref=DEEP)
@dataclasses.dataclass(frozen=True)
class Deep(AbstractMoved):
    """M + 1 layers in place of more heads per layer, for lags that x_t decides (K = 0)."""

    ref = DEEP
    cost = 4

    def order_reasons(self, target: AdaptiveMemory) -> list[Refusal]:
        reasons = _nested_reasons(target)
        if len(target.lag_functions) == 1:
            got = "one memory takes one layer anyway"
            reasons.append(Refusal(RefusalKind.LAGS, got, expected="adaptive"))
        return reasons

    def order(self, target: AdaptiveMemory) -> Stages:
        return one_by_one(target)


@methods.register(
    "tmx",
    formula=(
        "memory_i = sum_h a_h sum_s e^{b_h (phi(s) - phi(lag_i))} x_{t-s}, y = FFN(token, memories)"
    ),
    ref=TMX,
)
@dataclasses.dataclass(frozen=True)
class Tmx(AbstractMoved):
    """As `adaptive` and `nested`, with TMX heads: O(D) parameters per head."""

    ref = TMX
    cost = 5
    attention = "tmx"


def choose_heads(
    target: AdaptiveMemory,
    request: Request,
    order: Stages,
    networks: list[LagNetwork],
    readout: NetworkFit,
    limits: list[Limits],
) -> tuple[DrawnHeads, ...]:
    """Heads for every memory: the fewest within the tolerance (and the rounding conditions), or
    the number given, layer by layer.
    """
    if request.tol is None:
        made: dict[int, DrawnHeads] = {}
        for stage in order:
            shared = split_adaptive(
                [networks[i - 1].largest for i in stage], request, [limits[i - 1] for i in stage]
            )
            made.update(zip(stage, shared, strict=True))
        return tuple(made[net.index] for net in networks)
    size = target.inputs.bound
    each = share_of_tolerance(request, readout, size, len(networks))
    found = {
        net.index: adaptive_for_tol(
            net.largest,
            request.bias,
            min(each, _mendable(net, networks) / size, 0.999),
            request.precision,
            limits[net.index - 1],
        )
        for net in sorted(networks, key=lambda n: -n.largest)  # refused first, if at all
    }
    return tuple(found[net.index] for net in networks)


def _mendable(net: LagNetwork, networks: list[LagNetwork]) -> float:
    """How far `memory_i` may be off so that every later lag function still rounds to the exact
    lag (docs/errata.md#e9).
    """
    later = [n for n in networks if n.arguments > net.index]
    return min(
        (
            MARGIN * n.tolerance / (max(n.lipschitz, 1e-300) * math.sqrt(n.arguments - 1))
            for n in later
        ),
        default=math.inf,
    )
