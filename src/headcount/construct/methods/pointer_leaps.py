"""Pointer chains without positions: 2^L - 1 hops in L layers of one head.

p(t) = t - x_t - 1 is a lag, and lags add up: m hops from t lead back by

    disp_m(t) = sum_{i<m} (x_{p^i(t)} + 1),   disp_{2h}(t) = disp_h(t) + disp_h(p^h(t)).

Both are linear in what a row has found. A peak-TMX head stands on any lag that is linear in the
stream, so no row needs to know where it is. Layer j (from 0) goes h = 2^j hops back and copies

    leap_j   = disp_h there, one number, so that disp_{2h} = disp_h + leap_j (not in the last layer;
               and not in layer 0 where found_1 is copied, which says the same), and
    found_m' = found_m there (found_0 = x), m' = m + h, if bit j of k is 1.

After the top bit of k the token k hops back is found: L = ceil(log2(k + 1)) layers, all bits 1 for
k = 2^L - 1. `doubling` knows one hop less, because its positions have to be found first.

No fewer. A row after L layers of H heads that each read one addressed row depends on at most
(H+1)^L tokens, and k hops need k + 1: L >= log_{H+1}(k+1) (docs/theory.md#depth). For H = 1 that is
attained here.

The bound. The lag asked for is whole; with delta its error, the row asked for has the logit
-gap delta^2 and every other at most -gap (1 - delta)^2, so that beside it all weights together are
at most  mu = 2 e^{-gap (1 - 2 delta)} / (1 - e^{-gap}).  With eps_v the error and c the size of
what is copied,

    softmax  eps <= eps_v + 2 mu (c + eps_v),
    none     eps <= eps_v + (2 mu + gap delta^2) (c + eps_v).

delta is the sum of the errors of the leaps before. With gap = 128 mu is 1e-55: in every format each
head copies exactly. Rows whose chain leaves the sequence have no answer, and nothing is promised
there; what they hold stays bounded, because heads copy and never add up.
"""

import dataclasses
import functools
import math

import numpy as np

from headcount.construct.blocks.layers import layer, linear_readout, no_ffn, token_embedding
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Bound, Draft, Request, SlotPromise
from headcount.construct.method import AbstractMethod, methods
from headcount.construct.methods.pointer_jumps import flat
from headcount.core.refs import Ref
from headcount.memory.named.pointer_chain import PointerChain
from headcount.model.attention import Attention
from headcount.model.normalisers import NoNormaliser, Softmax
from headcount.model.scores import PeakTMX
from headcount.model.transformer import Transformer

REF = Ref("headcount", "pointer leaps: displacements add up, 2^L - 1 hops in L layers")
GAP = 128.0
ROUNDING = 16  # units per layer: one exponential, one quotient, one product


@dataclasses.dataclass(frozen=True)
class Leap:
    """Layer j: go 2^j hops back; copy the leap and the token, where wanted."""

    hops: int  # 2^j
    leap: str | None  # the number it writes
    reads: str | None  # the token copied …
    found: str | None  # … and where it is written
    after: int  # hops behind the token found so far


@methods.register(
    "leaps",
    formula="disp_2h(t) = disp_h(t) + disp_h(t - disp_h(t)), found_{m+h}(t) = found_m(t - disp_h)",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class PointerLeaps(AbstractMethod):
    """ceil(log2(k + 1)) layers, one peak-TMX head each, no FFN, no positions."""

    ref = REF
    cost = 1
    drafted_first = True
    layers = None
    attention = "peak-tmx"
    families = (PointerChain,)
    noun = "pointer chain"
    biases = ("none", "peak", "lin")
    normalisers = ("softmax", "none")
    hints = {"bias": "heads go by content; the bias must be able to be flat"}

    def weights(self, target: PointerChain, request: Request) -> Draft:
        schedule, V = leaps_of(target.hops), target.vocabulary
        written = {name: 1 for s in schedule if (name := s.leap)}
        written |= {name: V for s in schedule if (name := s.found)}
        space = Space(token=V, **written)
        asked = displacements(space, schedule)
        attend = [_head(space, s, row, request) for s, row in zip(schedule, asked, strict=True)]
        answer = schedule[-1].found
        assert answer is not None
        readout = linear_readout(space, np.eye(V), [answer])
        layers = (
            *(layer(a, no_ffn(space)) for a in attend[:-1]),
            layer(attend[-1], readout, reads_out=True),
        )
        model = Transformer(token_embedding(space), layers, None, None)
        errors = entry_errors(schedule, V, request.normaliser)
        facts = {
            "layers": len(schedule), "heads": [1] * len(schedule), "width": 0,
            "stream": space.width, "hops_of_layer": [s.hops for s in schedule],
            "logit_gap": GAP, "float32_exact": True,
        }  # fmt: skip
        output = Bound(errors[answer], ROUNDING * len(schedule))
        promises = _promises(space, schedule, errors, V)
        return Draft(model, promises, output, REF, (), facts)


def leaps_of(hops: int) -> list[Leap]:
    """The schedule for k = `hops`; 6 is 110 in binary.

    >>> [(s.hops, s.leap, s.reads, s.found) for s in leaps_of(6)]  # doctest: +NORMALIZE_WHITESPACE
    [(1, 'leap_0', None, None), (2, 'leap_1', 'token', 'found_2'), (4, None, 'found_2', 'found_6')]
    """
    made, found, count = [], 0, hops.bit_length()
    for j in range(count):
        taken, last = bool(hops >> j & 1), j == count - 1
        name = f"found_{found}" if found else "token"
        after = found + (1 << j) * taken
        leap = None if last or (j == 0 and taken) else f"leap_{j}"
        made.append(
            Leap(1 << j, leap, name if taken else None, f"found_{after}" if taken else None, after)
        )
        found = after
    return made


def displacements(space: Space, schedule: list[Leap]) -> list[np.ndarray]:
    """disp_{2^j} as a linear form of the stream, one for each layer.  [L, D]"""
    lags = np.arange(1.0, space.sizes["token"] + 1)
    rows = [lags @ space.read("token")]
    for s in schedule[:-1]:
        leap = space.read(s.leap)[0] if s.leap else lags @ space.read("found_1")
        rows.append(rows[-1] + leap)
    return rows


def _head(space: Space, s: Leap, disp: np.ndarray, request: Request) -> Attention:
    """The head of one layer: it stands on the lag disp_h; one value map for all that it copies."""
    reads, writes = [], []
    if s.leap:
        reads.append(disp[None])
        writes.append(space.write(s.leap))
    if s.reads and s.found:
        reads.append(space.read(s.reads))
        writes.append(space.write(s.found))
    return Attention(
        PeakTMX(np.array([GAP]), disp[None]),  # type: ignore[arg-type]
        flat(request.bias),
        Softmax() if request.normaliser == "softmax" else NoNormaliser(),
        np.concatenate(reads)[None],  # type: ignore[arg-type]
        np.concatenate(writes, axis=1)[None],  # type: ignore[arg-type]
    )


def entry_errors(schedule: list[Leap], vocabulary: int, normaliser: str) -> dict[str, float]:
    """eps of every subspace, by the recursion of the module docstring."""
    errors, disp = {"token": 0.0}, 0.0  # disp: the error of disp_h before the layer
    for s in schedule:
        loose = 2 * math.exp(-GAP * max(1 - 2 * disp, 0.0)) / -math.expm1(-GAP)
        share = 2 * loose + (0.0 if normaliser == "softmax" else GAP * disp**2)
        step = disp + share * (s.hops * vocabulary + disp)
        if s.leap:
            errors[s.leap] = step
        if s.reads and s.found:
            errors[s.found] = errors[s.reads] + share * (1 + errors[s.reads])
            if not s.leap:  # the leap is read off the token found
                step = vocabulary**2 * errors[s.found]
        disp += step
    return errors


def _promises(
    space: Space, schedule: list[Leap], errors: dict[str, float], vocabulary: int
) -> tuple[SlotPromise, ...]:
    made = []
    for number, s in enumerate(schedule, start=1):
        if s.leap:
            exact = functools.partial(_leap_rows, hops=s.hops)
            bound = Bound(errors[s.leap], ROUNDING * number * s.hops * vocabulary)
            why = f"{s.hops} hops further, error {errors[s.leap]:.3g}"
            made.append(
                SlotPromise(number, "attention", s.leap, space.where(s.leap), exact, bound, why)
            )
        if s.found:
            exact = functools.partial(_found_rows, hops=s.after, vocabulary=vocabulary)
            bound = Bound(errors[s.found], ROUNDING * number).through(math.sqrt(vocabulary))
            why = f"the token {s.after} hops back, error {errors[s.found]:.3g}"
            made.append(
                SlotPromise(number, "attention", s.found, space.where(s.found), exact, bound, why)
            )
    return tuple(made)


def landing(x: np.ndarray, hops: int) -> np.ndarray:
    """Where each row is after so many hops, -1 where the chain leaves.  [N] → [N]"""
    places = np.arange(len(x))
    for _ in range(hops):
        places = np.array([t - x[t] - 1 if t >= 0 and x[t] >= 0 else -1 for t in places])
        places = np.maximum(places, -1)
    return places


def _leap_rows(x: np.ndarray, hops: int) -> np.ndarray:
    """disp_hops at the row `hops` hops back; NaN where the chain leaves.  [N, 1]"""
    first, second = landing(x, hops), landing(x, 2 * hops)
    return np.where(second >= 0, first - second, np.nan)[:, None]


def _found_rows(x: np.ndarray, hops: int, vocabulary: int) -> np.ndarray:
    places = landing(x, hops)
    tokens = np.where(places >= 0, np.asarray(x)[places], -1)
    return np.where(tokens[:, None] >= 0, np.eye(vocabulary)[tokens], np.nan)
