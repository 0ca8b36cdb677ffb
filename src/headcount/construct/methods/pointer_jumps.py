"""Following pointers: one head a layer, positions as sign codes; shared by `doubling.py` and
`chain.py`.

Stream: `token` (one-hot x_t), `place` (t written with n = log2 N signs: codes c_i of +-1, <c_i,
c_i> = n, <c_i, c_j> <= n - 2), `one` (1), and `place_h`, `found_h`: the code of, and the token at,
the place h jumps back, p^h(t), p(t) = t - x_t - 1. Layer 1 is a peak-TMX head: its logit -gap (s -
(x_t + 1))^2 stands on the lag that the token names; it copies code and token. Every later layer is
a dot-product head that goes where `place_h` says:
    z_i = gap/2 (<place_h(t), c_i> - n):  0 at the place asked for, at most -gap elsewhere,
and copies what stands there: p^m at p^h(t) is p^{m+h}(t). A layer composes, and that is all it
does. The size of the stream grows with log N, not with N (one-hot positions would take N); the rest
does not depend on N.

Chains that leave the sequence. Under softmax the peak stands on the first row, which then points at
itself: jumps stop there. Without normaliser no row is near, `place_h` is 0, every later logit is -n
gap/2 and everything stays 0: zero before the first token. Either way all numbers stay bounded;
padding asks for lag 0 and points at itself.

The bound, eps_v, eps_q the entry-wise errors of what is copied and of what is asked, mu = N e^{-gap
(1 - n eps_q)}:
    eps <= eps_v + 2 mu (1 + eps_v) + (without normaliser) (e^{gap n eps_q / 2} - 1)(1 + eps_v).
The gap is a power of two, so logits are exact, and at least 128 (more where many layers follow
without normaliser), so that e^-gap vanishes beside 1 in every format: each head copies exactly, and
rounding adds nothing up.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from headcount.construct.blocks.layers import layer, linear_readout, no_ffn, token_embedding
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Claim, Draft, Request
from headcount.core.refs import Ref
from headcount.memory.named.pointer_chain import PointerChain
from headcount.model.attention import Attention
from headcount.model.biases import AbstractBias, Lin, NoBias, Peak
from headcount.model.normalisers import AbstractNormaliser, NoNormaliser, Softmax
from headcount.model.scores import AbstractScore, DotProduct, PeakTMX
from headcount.model.transformer import Transformer

SMALLEST_GAP = 128.0
WANTED = 1e-30  # entry-wise error in exact arithmetic, far below what any format tells from 0
BIASES = ("lin", "peak", "none")
NORMALISERS = ("softmax", "none")
ROUNDING = 16  # units a layer: one exponential, one quotient, one product


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

    def copies(self) -> list[tuple[str, str, int]]:
        """(reads, writes, jumps after)."""
        known = [
            (kind, m) for kind, m in (("place", self.place), ("found", self.found)) if m is not None
        ]
        return [
            (_named(kind, m), _named(kind, m + self.jumps), m + self.jumps) for kind, m in known
        ]


def _named(kind: str, jumps: int) -> str:
    return f"{kind}_{jumps}" if jumps else {"place": "place", "found": "token"}[kind]


def pointer_refusals(request: Request) -> list[str]:
    """Why the circuit cannot run as asked."""
    reasons = []
    if request.bias not in BIASES:
        reasons.append(
            f"bias {request.bias} is not one of {', '.join(BIASES)} (heads go by content; the bias"
            " must be able to be flat)"
        )
    if request.normaliser not in NORMALISERS:
        reasons.append(f"normaliser {request.normaliser} is not one of {', '.join(NORMALISERS)}")
    return reasons


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
        "layers": len(stages), "heads": [1] * len(stages), "width": 0, "stream": space.width, "code_bits": bits,
        "jumps_after_layer": [max(jumps for *_, jumps in stage.copies()) for stage in stages], "logit_gap": gap, "float32_exact": True,
    }  # fmt: skip
    note = (
        f"positions up to {request.length} as {bits} signs: the stream grows with the logarithm of"
        " the length"
    )
    output = Bound(errors[_named("found", target.hops)], ROUNDING * len(stages))
    return Draft(model, _claims(space, stages, request, errors), output, theorem, (note,), facts)


def _space(target: PointerChain, stages: list[Stage], bits: int) -> Space:
    written = {
        writes: bits if writes.startswith("place") else target.vocabulary
        for stage in stages
        for _, writes, _ in stage.copies()
    }
    return Space(token=target.vocabulary, place=bits, one=1, **written)


def _follow(space: Space, stage: Stage, gap: float, request: Request) -> Attention:
    """The stage's head: where it looks, and one value map for all that it copies."""
    reads, writes, _ = zip(*stage.copies(), strict=True)
    normaliser: AbstractNormaliser = (
        Softmax() if request.normaliser == "softmax" else NoNormaliser()
    )
    score = (
        _by_token(space, gap)
        if stage.ask == 0
        else _by_place(space, _named("place", stage.ask), gap)
    )
    return Attention(
        score, flat(request.bias), normaliser, space.read(*reads)[None], space.write(*writes)[None]
    )  # type: ignore[arg-type]


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
        for reads, writes, _ in stage.copies():
            errors[writes] = stage_error(errors[reads], asked, bits, request, gap)
    return errors


def logit_gap(stages: list[Stage], bits: int, request: Request) -> float:
    """The smallest power of two from 128 on that keeps all errors below `WANTED`."""
    gap = SMALLEST_GAP
    while max(entry_errors(stages, bits, request, gap).values()) > WANTED:
        gap *= 2
    return gap


def _claims(
    space: Space, stages: list[Stage], request: Request, errors: dict[str, float]
) -> tuple[Claim, ...]:
    """What every stage writes, with its bound in Euclidean norm."""
    claims = []
    for number, stage in enumerate(stages, start=1):
        for _, writes, jumps in stage.copies():
            size = space.sizes[writes]
            table = _code_rows if writes.startswith("place") else _token_rows
            exact = functools.partial(
                _landed, jumps=jumps, clamp=request.normaliser == "softmax", table=table, size=size
            )
            bound = Bound(errors[writes], ROUNDING * number).through(math.sqrt(size))
            why = f"{jumps} jumps, entry-wise error {errors[writes]:.3g}"
            claims.append(
                Claim(number, "attention", writes, space.where(writes), exact, bound, why)
            )
    return tuple(claims)


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
