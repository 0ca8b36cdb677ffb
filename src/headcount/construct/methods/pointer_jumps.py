"""Following pointers: one head per layer, positions as sign codes; by doubling or one by one.

Stream: `token` (one-hot x_t), `place` (t written with n = log2 N signs: codes c_i of +-1 with
<c_i, c_i> = n and <c_i, c_j> <= n - 2), `one` (1), and `place_h`, `found_h`: the code of, and the
token at, the place h jumps back, p^h(t), p(t) = t - x_t - 1. Layer 1 is a peak-TMX head: its logit
-gap (s - (x_t + 1))^2 stands on the lag that the token names; it copies code and token. Every later
layer is a dot-product head that goes where `place_h` says:

    z_i = gap/2 (<place_h(t), c_i> - n):  0 at the place asked for, at most -gap elsewhere,

and copies what stands there: p^m at p^h(t) is p^{m+h}(t). A layer composes, and that is all it
does. The size of the stream grows with log N, not with N (one-hot positions would take N); the rest
does not depend on N.

Chains that leave the sequence. Under softmax the peak stands on the first row, which then points at
itself: jumps stop there. Without normaliser no row is near, `place_h` is 0, every later logit is
-n gap/2 and everything stays 0: zero before the first token. Either way all numbers stay bounded;
padding asks for lag 0 and points at itself.

The bound. With eps_v and eps_q the entry-wise errors of what is copied and of what is asked, and
mu = N e^{-gap (1 - n eps_q)},

    softmax  eps <= eps_v + 2 mu (1 + eps_v),
    none     eps <= eps_v + 2 mu (1 + eps_v) + (e^{gap n eps_q / 2} - 1)(1 + eps_v).

The gap is a power of two, so logits are exact, and at least 128 (more where many layers follow
without normaliser), so that e^-gap vanishes beside 1 in every format: each head copies exactly, and
rounding adds nothing up.

Doubling: k jumps in ceil(log2 k) + 1 layers of one head. Write k - 1 = sum_j b_j 2^j. Layer 1 holds
place_1 and found_1. Layer l >= 2 goes h = 2^{l-2} jumps back, where it copies

    place_h  (so that it holds place_{2h}), unless it is the last, and
    found_m  (so that it holds found_{m+h}), if b_{l-2} = 1, with m = 1 + sum of the digits done.

It is one head, because both copies go to the same place. After the last digit m = k. With
L - 1 = ceil(log2 k) digits the largest k is 2^{L-1}, and the top digit of k - 1 is 1, so the last
layer always has something to copy.

A layer of this kind composes two things known before it, so that the number of jumps at most
doubles, and layer 1 knows one: among schedules of such heads none is shorter. Other circuits are
not covered by that. Theorem 4.4 would take k + 1 layers. For k-hop induction, the like task,
O(log k) layers suffice and, under a conjecture on parallel computation, are needed by any
Transformer of moderate size (Sanford, Hsu and Telgarsky).

The plain chain: one jump per layer, k layers for k jumps; what doubling is to be compared with.
Layer 1 holds place_1 and found_1. Layer l < k goes l - 1 jumps back and copies place_1, which makes
place_l; layer k copies found_1 instead. It is the order of the paper's Theorem 4.4 (one nesting per
layer), with tokens and positions instead of lags.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from headcount.construct.blocks.layers import layer, linear_readout, no_ffn, token_embedding
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Draft, Request, SlotPromise
from headcount.construct.method import AbstractMethod, methods
from headcount.core.refs import Ref
from headcount.memory.named.pointer_chain import PointerChain
from headcount.model.attention import Attention
from headcount.model.biases import AbstractBias, Lin, NoBias, Peak
from headcount.model.normalisers import AbstractNormaliser, NoNormaliser, Softmax
from headcount.model.scores import AbstractScore, DotProduct, PeakTMX
from headcount.model.transformer import Transformer

DOUBLING = Ref("sanford-2024", "pointer doubling; weights and bound by headcount")
CHAIN = Ref("headcount", "one jump per layer, after Wang and E 2024, Theorem 4.4")
SMALLEST_GAP = 128.0
WANTED = 1e-30  # entry-wise error in exact arithmetic, far below what any format tells from 0
ROUNDING = 16  # units per layer: one exponential, one quotient, one product


class Copy(NamedTuple):
    """One part of the stream, `place` or `found`, copied from where the head looks."""

    kind: str
    reads: str
    writes: str
    jumps: int  # behind it after the copy


@dataclasses.dataclass(frozen=True)
class Stage:
    """One layer: go `ask` jumps back (0: by the token itself) and copy what is known there,
    `place` and `found` jumps further.
    """

    ask: int
    place: int | None  # jumps of the place copied (0: the row's own), None for none
    found: int | None  # jumps of the token copied

    @property
    def jumps(self) -> int:
        """How far this layer's head goes."""
        return self.ask or 1

    def copies(self) -> list[Copy]:
        """What the stage's head moves."""
        known = [
            (kind, m) for kind, m in (("place", self.place), ("found", self.found)) if m is not None
        ]
        return [
            Copy(kind, _named(kind, m), _named(kind, m + self.jumps), m + self.jumps)
            for kind, m in known
        ]


def _named(kind: str, jumps: int) -> str:
    return f"{kind}_{jumps}" if jumps else {"place": "place", "found": "token"}[kind]


class AbstractPointers(AbstractMethod):
    """One head per layer, no FFN; softmax or no normaliser."""

    layers = None
    attention = "peak-tmx+dot"
    families = (PointerChain,)
    noun = "pointer chain"
    biases = ("lin", "peak", "none")
    normalisers = ("softmax", "none")
    hints = {"bias": "heads go by content; the bias must be able to be flat"}


@methods.register(
    "doubling",
    formula="place_{2h}(t) = place_h(place_h(t)), found_{m+h}(t) = found_m(place_h(t))",
    ref=DOUBLING,
)
@dataclasses.dataclass(frozen=True)
class Doubling(AbstractPointers):
    """ceil(log2 k) + 1 layers, one head each, no FFN; softmax or no normaliser."""

    ref = DOUBLING

    def weights(self, target: PointerChain, request: Request) -> Draft:
        return pointer_draft(target, request, doubling_stages(target.hops), DOUBLING)


@methods.register(
    "chain",
    formula="place_l(t) = place_1(place_{l-1}(t)), found_k(t) = found_1(place_{k-1}(t))",
    ref=CHAIN,
)
@dataclasses.dataclass(frozen=True)
class Chain(AbstractPointers):
    """k layers, one head each, no FFN; softmax or no normaliser."""

    ref = CHAIN
    cost = 1  # doubling takes fewer layers

    def weights(self, target: PointerChain, request: Request) -> Draft:
        return pointer_draft(target, request, chain_stages(target.hops), CHAIN)


def doubling_stages(hops: int) -> list[Stage]:
    """The schedule for k = `hops`; below, k - 1 = 5 is 101 in binary.

    >>> [(stage.ask, stage.place, stage.found) for stage in doubling_stages(6)]
    [(0, 0, 0), (1, 1, 1), (2, 2, None), (4, None, 2)]
    """
    digits = hops - 1
    count = digits.bit_length()
    stages, found = [Stage(0, 0 if count else None, 0)], 1
    for j in range(count):
        jumps, taken = 1 << j, bool(digits >> j & 1)
        stages.append(Stage(jumps, jumps if j < count - 1 else None, found if taken else None))
        found += jumps * taken
    return stages


def chain_stages(hops: int) -> list[Stage]:
    """The schedule for k = `hops`.

    >>> [(stage.ask, stage.place, stage.found) for stage in chain_stages(3)]
    [(0, 0, 0), (1, 1, None), (2, None, 1)]
    """
    if hops == 1:
        return [Stage(0, None, 0)]
    return [
        Stage(0, 0, 0),
        *(Stage(h, 1, None) for h in range(1, hops - 1)),
        Stage(hops - 1, None, 1),
    ]


def pointer_draft(
    target: PointerChain, request: Request, stages: list[Stage], theorem: Ref
) -> Draft:
    """The layers of a schedule whose last stage finds the token `target.hops` jumps back."""
    bits = code_bits(request.length)
    gap = logit_gap(stages, bits, request)
    space = _space(target, stages, bits)
    codes = np.zeros((request.length, space.width))
    codes[:, space.where("place")], codes[:, space.where("one")] = (
        sign_codes(request.length, bits),
        1.0,
    )
    answer = linear_readout(space, np.eye(target.vocabulary), [_named("found", target.hops)])
    attend = [_follow(space, stage, gap, request) for stage in stages]
    layers = (
        *(layer(a, no_ffn(space)) for a in attend[:-1]),
        layer(attend[-1], answer, reads_out=True),
    )
    errors = entry_errors(stages, bits, request, gap)
    model = Transformer(token_embedding(space, positions=codes), layers, None, None)
    facts = {
        "layers": len(stages), "heads": [1] * len(stages), "width": 0, "stream": space.width,
        "code_bits": bits,
        "jumps_after_layer": [max(c.jumps for c in stage.copies()) for stage in stages],
        "logit_gap": gap, "float32_exact": True,
    }  # fmt: skip
    note = (
        f"positions up to {request.length} as {bits} signs: the stream grows with the logarithm of"
        " the length"
    )
    output = Bound(errors[_named("found", target.hops)], ROUNDING * len(stages))
    return Draft(model, _promises(space, stages, request, errors), output, theorem, (note,), facts)


def _space(target: PointerChain, stages: list[Stage], bits: int) -> Space:
    written = {
        copy.writes: bits if copy.kind == "place" else target.vocabulary
        for stage in stages
        for copy in stage.copies()
    }
    return Space(token=target.vocabulary, place=bits, one=1, **written)


def _follow(space: Space, stage: Stage, gap: float, request: Request) -> Attention:
    """The stage's head: where it looks, and one value map for all that it copies."""
    _, reads, writes, _ = zip(*stage.copies(), strict=True)
    normaliser: AbstractNormaliser = (
        Softmax() if request.normaliser == "softmax" else NoNormaliser()
    )
    score = (
        _by_token(space, gap)
        if stage.ask == 0
        else _by_place(space, _named("place", stage.ask), gap)
    )
    return Attention(
        score,
        flat(request.bias),
        normaliser,
        space.read(*reads)[None],  # type: ignore[arg-type]
        space.write(*writes)[None],  # type: ignore[arg-type]
    )


def _by_token(space: Space, gap: float) -> AbstractScore:
    """The lag x_t + 1, linear in the one-hot token."""
    lags = np.arange(1.0, space.sizes["token"] + 1) @ space.read("token")
    return PeakTMX(np.array([gap]), lags[None])  # type: ignore[arg-type]


def _by_place(space: Space, asked: str, gap: float) -> AbstractScore:
    """z_i = gap/2 (<asked, place_i> - n)."""
    bits = space.sizes["place"]
    query = space.read(asked, "one")  # [n + 1, D]
    key = gap / 2 * np.concatenate([space.read("place"), -bits * space.read("one")])
    return DotProduct(query[None], key[None])  # type: ignore[arg-type]


def flat(bias: str) -> AbstractBias:
    """The bias that takes nothing from any lag: rate 0 where there is a rate."""
    zero = np.zeros(1)
    return {"lin": Lin(zero), "peak": Peak(zero, zero), "none": NoBias(1)}[bias]  # type: ignore[arg-type]


def code_bits(length: int) -> int:
    """n, at least 2: a head that is asked for nothing must see -n gap/2 <= -gap."""
    return max(2, math.ceil(math.log2(length)))


def sign_codes(length: int, bits: int) -> np.ndarray:
    """Row t is t in binary, digits 0 and 1 as -1 and +1.  [N, n]"""
    digits = np.arange(length)[:, None] >> np.arange(bits) & 1
    return 2.0 * digits - 1.0


def stage_error(copied: float, asked: float, bits: int, request: Request, gap: float) -> float:
    """The recursion for eps in the module's docstring."""
    loose = math.exp(min(700.0, math.log(request.length) - gap * (1 - bits * asked)))
    drift = (
        0.0 if request.normaliser == "softmax" else math.expm1(min(700.0, gap * bits * asked / 2))
    )
    return copied + (2 * loose + drift) * (1 + copied)


def entry_errors(stages: list[Stage], bits: int, request: Request, gap: float) -> dict[str, float]:
    """eps of every subspace that the schedule writes."""
    errors = {"token": 0.0, "place": 0.0}
    for stage in stages:
        asked = errors[_named("place", stage.ask)]
        for _, reads, writes, _ in stage.copies():
            errors[writes] = stage_error(errors[reads], asked, bits, request, gap)
    return errors


def logit_gap(stages: list[Stage], bits: int, request: Request) -> float:
    """The smallest power of two from 128 on that keeps all errors below `WANTED`."""
    gap = SMALLEST_GAP
    while max(entry_errors(stages, bits, request, gap).values()) > WANTED:
        gap *= 2
    return gap


def _promises(
    space: Space, stages: list[Stage], request: Request, errors: dict[str, float]
) -> tuple[SlotPromise, ...]:
    """What every stage writes, with its bound in Euclidean norm."""
    promises = []
    for number, stage in enumerate(stages, start=1):
        for kind, _, writes, jumps in stage.copies():
            size = space.sizes[writes]
            table = _code_rows if kind == "place" else _token_rows
            exact = functools.partial(
                _landed, jumps=jumps, clamp=request.normaliser == "softmax", table=table, size=size
            )
            bound = Bound(errors[writes], ROUNDING * number).through(math.sqrt(size))
            why = f"{jumps} jumps, entry-wise error {errors[writes]:.3g}"
            promises.append(
                SlotPromise(number, "attention", writes, space.where(writes), exact, bound, why)
            )
    return tuple(promises)


def landing(x: np.ndarray, jumps: int, clamp: bool) -> np.ndarray:
    """Where each row is after so many jumps; beyond the first row it is that row (`clamp`) or
    nowhere, -1.  [N] → [N]
    """
    places = np.arange(len(x))
    for _ in range(jumps):
        places = np.array([t if t < 0 else t - x[t] - 1 for t in places])
        places = np.maximum(places, 0 if clamp else -1)
    return places


def _landed(
    x: np.ndarray, jumps: int, clamp: bool, table: Callable[..., np.ndarray], size: int
) -> np.ndarray:
    return table(x, landing(x, jumps, clamp), size)


def _code_rows(x: np.ndarray, places: np.ndarray, bits: int) -> np.ndarray:
    return np.where(places[:, None] >= 0, sign_codes(len(x), bits)[places], 0.0)


def _token_rows(x: np.ndarray, places: np.ndarray, vocabulary: int) -> np.ndarray:
    tokens = np.where(places >= 0, x[places], -1)
    return np.where(tokens[:, None] >= 0, np.eye(vocabulary)[tokens], 0.0)
