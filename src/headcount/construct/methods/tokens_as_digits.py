"""One head as a code, neurons that decode it: heads traded for neurons, on finitely many letters.

A head without dot product adds up the past with weights phi(s). On letters that are finitely many
numbers v(x) in [-1, 1], the sum

    c_t = sum_s phi(s) v(x_{t-s})

is a number whose digits are tokens: for phi(s) = e^{-bs} with e^{-b} < 1/2 and letters ±1, c_t lies
in a Cantor set, and its place tells the last tokens one by one. The answer depends on the last
W = `shortest` tokens (a fixed or adaptive memory), hence on the first digits. With

    centres  c(w) = sum_{s<W} phi(s) v(w_s), one for each window w,
    tail     tau = sum_{W <= s < length} phi(s), what later tokens can add,

every code lies within tau of the centre of its window, and the intervals are apart by

    gap = min over neighbours |c(w) - c(w')| - 2 tau > 0,   w, w' of different answers.

A piecewise linear function that is flat on every interval gives the answer exactly: two neurons per
change of the answer from one interval to the next (`zigzag`). Where x_t does not matter it is taken
out of the code by the residual stream, and W - 1 digits are left. A table (one logit per lag) puts
digits on the lags of a fixed memory alone: M digits in one head, and no tail.

Stream: `number` (v(x_t)), `code`. Error in exact arithmetic: 0 up to the rounding of centres. The
price is precision: rounding is multiplied by the steepest slope (largest step of the answer)/gap,
which grows like e^{bW}. The rate is chosen for the largest gap.

Windows at the beginning: where every read has W tokens before it, all digits exist; otherwise a
missing token is one more letter, 0, which ends the window.
"""

import dataclasses
import functools
import itertools
import math

import numpy as np

from headcount.construct.blocks.drawn_heads import Decay, DrawnHeads, Gathering, gather
from headcount.construct.blocks.layers import Neurons, layer, relu_ffn
from headcount.construct.blocks.networks import lipschitz_of
from headcount.construct.blocks.space import Space
from headcount.construct.draft import (
    Bound,
    Draft,
    Refusal,
    RefusalKind,
    Request,
    SlotPromise,
    Unreachable,
)
from headcount.construct.method import AbstractMethod, methods
from headcount.construct.methods.sums_of_decays import one_position_reasons
from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import ArrayKernel
from headcount.memory.read import At, Last
from headcount.memory.readouts.network import zigzag
from headcount.model.embedding import LinearEmbedding, NoPosition
from headcount.model.transformer import Transformer
from headcount.theory.shaped_curves import Table

REF = Ref("headcount", "tokens as digits: one head as a code, decoded by neurons")
MOST_WINDOWS = 2**11  # windows that are enumerated, and about as many neurons
RATES = {"lin": (0.7, 6.0), "log1p": (1.5, 24.0), "log": (1.5, 24.0)}
TRIED = 48  # rates in that range
ROUNDINGS = 4.0  # units of a code that float arithmetic is given, times the slope, within tol
BASES = (0.5, 0.45, 0.4, 1 / 3, 0.3, 0.25, 0.2, 0.15, 0.1)  # weights of the digits of a table
Coded = FixedMemory | AdaptiveMemory


@dataclasses.dataclass(frozen=True, eq=False)
class Code:
    """A head's weights by lag and the window they encode."""

    heads: DrawnHeads
    weights: np.ndarray  # [W] phi of the window's lags, 0 where a lag is left out
    tail: float  # tau


@methods.register(
    "coded",
    formula="c_t = sum_s phi(s) v(x_{t-s}), y = sum_k a_k relu(c_t - direct v(x_t) - knot_k)",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class TokensAsDigits(AbstractMethod):
    """One layer, one head without dot product, neurons that decode; finite alphabets."""

    ref = REF
    cost = 6
    saves_heads = True
    families = (FixedMemory, AdaptiveMemory)
    noun = "fixed or adaptive memory"
    biases = ("lin", "log1p", "log", "table")
    normalisers = ("softmax", "softmax-bos", "softmax-tail", "none")

    def further(self, target: Coded, request: Request) -> list[Refusal]:
        reasons = []
        if target.readout.outputs != 1:
            reasons.append(Refusal(RefusalKind.READOUT, "an answer of several numbers"))
        if target.inputs.alphabet is None:
            got = f"inputs {target.inputs.kind} are not from a finite alphabet"
            reasons.append(Refusal(RefusalKind.TOKENS, got, "a code needs digits"))
        else:
            if letter_values(target) is None:
                got = "letters that no one direction tells apart evenly"
                reasons.append(Refusal(RefusalKind.TOKENS, got))
            count = windows_count(target, request)
            if count > MOST_WINDOWS:
                got = f"{count:.3g} windows of {digit_lags(target, request)[-1] + 1} lags"
                reasons.append(Refusal(RefusalKind.WIDTH, got, f"at most {MOST_WINDOWS}"))
        if request.bias == "log" and sees_now(target):
            reasons.append(Refusal(RefusalKind.BIAS, "log heads do not see x_t, which matters"))
        if request.bias == "table" and isinstance(target, AdaptiveMemory):
            reasons.append(Refusal(RefusalKind.BIAS, "a table for lags that change"))
        reasons += one_position_reasons(target, request)
        if request.bias == "table" and request.normaliser in ("softmax", "softmax-bos"):
            if not late(target):
                got = "softmax divides by the lags that exist, and one head has several"
                reasons.append(Refusal(RefusalKind.NORMALISER, got, expected="softmax-tail"))
            elif request.normaliser == "softmax-bos":
                got = "the sink sees no lag of a table"
                reasons.append(Refusal(RefusalKind.NORMALISER, got, expected="softmax"))
        return reasons

    def weights(self, target: Coded, request: Request) -> Draft:
        digits, answers, lags = windows_of(target, request)  # [K, W], [K]
        code = best_code(digits, answers, lags, request)
        direct, sees_now = 0.0, 0 in lags
        now = code.heads.curves[0].values(1)[0] if request.bias != "table" else 0.0
        if not sees_now:
            direct = -float(now)
        centres = digits @ code.weights
        knots, values = plateaus(centres, answers, code.tail)
        space = Space(number=1, code=1)
        net = zigzag(np.ones(1), knots, values)
        ffn = relu_ffn(space, [Neurons(net, ("code",), "answer")], Space(answer=1))
        size = digit_size(target)
        along = direction_of(target)
        embedding = LinearEmbedding(
            np.stack([along, direct * along]),  # type: ignore[arg-type]
            np.zeros(2),  # type: ignore[arg-type]
            NoPosition(),
        )
        attend = gather(space, [Gathering(code.heads, "code", "number")], request)
        model = Transformer(embedding, (layer(attend, ffn, reads_out=True),), None, None)
        slot = code.heads.bound(request.length, size) + Bound(0.0, 8 * size * (abs(direct) + 1))
        slope = lipschitz_of(net)
        reach = float(np.abs(knots).max()) + 1
        own = float(np.abs(net.a) @ (reach + np.abs(net.c))) * 8
        exact = functools.partial(
            _codes, heads=code.heads, along=along, direct=direct, bias=request.bias
        )
        why = f"one head as a code of {len(digits)} windows, slope {slope:.3g} behind it"
        promise = SlotPromise(1, "attention", "code", space.where("code"), exact, slot, why)
        output = slot.through(slope, own) + Bound(float(1e-12 * np.abs(values).max(initial=1.0)))
        told, first = [f"holds for sequences up to {request.length} tokens"], 1
        if request.normaliser == "softmax":
            first = request.length
            told = [f"plain softmax: exact for sequences of exactly {request.length} tokens"]
        elif late(target):
            first = target.shortest
            told.append(f"exact from position {first} on, not before")
        facts = {
            "windows": len(digits), "slope": slope, "tail": code.tail, "neurons": net.neurons,
            "heads_by_memory": [1], "kernel_errors": [0.0], "coefficient_sums": [1.0],
        }  # fmt: skip
        return Draft(model, (promise,), output, REF, tuple(told), facts, first)


def late(target: Coded) -> bool:
    """Do all lags exist wherever it is read?"""
    read = target.read
    return isinstance(read, Last) or (isinstance(read, At) and read.position >= target.shortest)


def direction_of(target: Coded) -> np.ndarray:
    """v(x) = direction . x: the token itself, or one number per coordinate of a one-hot token.
    [d]
    """
    d = target.inputs.dim
    return np.ones(1) if d == 1 else np.linspace(-1.0, 1.0, d)


def letter_values(target: Coded) -> np.ndarray | None:
    """v of the letters, increasing; None where two of them agree.  [V]"""
    letters = np.array(target.inputs.alphabet, dtype=np.float64)
    values = np.unique(letters @ direction_of(target))
    return values if len(values) == len(letters) else None


def digit_size(target: Coded) -> float:
    values = letter_values(target)
    assert values is not None
    return float(np.abs(values).max())


def sees_now(target: Coded) -> bool:
    """Does the answer depend on x_t?"""
    if isinstance(target, AdaptiveMemory):
        return True
    current = getattr(target.readout, "current", None)
    weights = getattr(target.readout, "full", None)
    if weights is not None:
        return bool(weights(len(target.lags) + 1)[0])
    return current is not False


def digit_lags(target: Coded, request: Request) -> list[int]:
    """The lags whose tokens are digits: all that a decay sees before the last one asked for, or
    the lags of the memory alone for a table.
    """
    first = 0 if sees_now(target) else 1
    if request.bias == "table":
        assert isinstance(target, FixedMemory)
        return [0] * (first == 0) + list(target.lags)
    return list(range(max(first, 1 if request.bias == "log" else 0), target.shortest))


def windows_count(target: Coded, request: Request) -> float:
    lags = (
        1
        if request.bias == "table" and isinstance(target, AdaptiveMemory)
        else len(digit_lags(target, request))
    )
    letters = len(target.inputs.alphabet or ()) + (not late(target))
    try:
        return float(letters) ** lags
    except OverflowError:  # beyond any number of windows that could be listed
        return math.inf


def windows_of(target: Coded, request: Request) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Every window as numbers by digit, its answer, and the lags of the digits.  [K, W], [K]"""
    lags = digit_lags(target, request)
    letters = np.array(target.inputs.alphabet, dtype=np.float64)
    d, W = letters.shape[1], target.shortest
    choices = len(letters) + (not late(target))  # the last choice: no token
    padded = np.concatenate([letters, np.zeros((1, d))])
    rows, answers = [], []
    for word in itertools.product(range(choices), repeat=len(lags)):
        missing = [lag for lag, k in zip(lags, word, strict=True) if k == len(letters)]
        cut = min(missing, default=W)
        if any(k != len(letters) for lag, k in zip(lags, word, strict=True) if lag >= cut):
            continue  # tokens before the first one
        if cut == 0:
            continue
        window = np.tile(letters[0], (W, 1))
        for lag, k in zip(lags, word, strict=True):
            window[lag] = padded[k]
        sequence = window[: min(cut, W)][::-1]
        rows.append([float(padded[k] @ direction_of(target)) for k in word])
        answers.append(float(target.reference(sequence[None], Last()).item()))
    return np.array(rows), np.array(answers), lags


def best_code(digits: np.ndarray, answers: np.ndarray, lags: list[int], request: Request) -> Code:
    """The code with the gentlest slope; `Unreachable` where rounding would exceed the tolerance."""
    found = [
        (slope_of(digits @ code.weights, answers, code.tail), code)
        for code in _codes_of(lags, float(np.abs(digits).max(initial=1.0)), request)
    ]
    slope, code = min(found, key=lambda pair: pair[0])
    allowed = (request.tol or 0.1) / (ROUNDINGS * request.precision.unit)
    if not slope <= allowed:
        told = "the windows' codes overlap" if math.isinf(slope) else f"slope {slope:.3g}"
        raise Unreachable(
            f"{len(lags)} tokens as digits of one {request.bias} head: {told}",
            f"a slope of at most {allowed:.3g}, what {request.precision} can tell apart",
            "use more heads, more digits, or another bias",
        )
    return code


def _codes_of(lags: list[int], size: float, request: Request) -> list[Code]:
    """The codes that are tried."""
    if request.bias == "table":
        made = []
        for base in BASES:
            logits = np.full(lags[-1] + 1, -np.inf)
            logits[lags] = np.log(base) * np.arange(len(lags))
            weights = np.exp(logits[lags])
            made.append(Code(_one(Table(tuple(logits.tolist()))), weights, 0.0))
        return made
    low, high = RATES[request.bias]
    made = []
    for rate in np.geomspace(low, high, TRIED):
        curve = Decay(request.bias, float(rate)).values(max(request.length, lags[-1] + 1))
        tail = size * float(curve[lags[-1] + 1 :].sum()) * (1 + 1e-12)
        made.append(Code(_one(Decay(request.bias, float(rate))), curve[lags], tail))
    return made


def _one(curve: Decay | Table) -> DrawnHeads:
    """One head of coefficient 1; its kernel is its own curve."""
    return DrawnHeads(ArrayKernel((0.0,)), (curve,), np.ones(1), 0.0, "one head as a code")


def plateaus(
    centres: np.ndarray, answers: np.ndarray, tail: float
) -> tuple[np.ndarray, np.ndarray]:
    """Knots and values that are flat wherever a code can be: neighbours of one answer joined.
    [k], [k]
    """
    order = np.argsort(centres, kind="stable")
    c, y = centres[order], answers[order]
    new = np.flatnonzero(np.diff(y, prepend=np.nan) != 0)  # the first of each run
    last = np.append(new[1:] - 1, len(c) - 1)
    slack = 1e-13 * (1 + np.abs(c).max())
    starts, ends = c[new] - tail - slack, c[last] + tail + slack
    knots = np.stack([starts, ends], axis=1).ravel()
    values = np.repeat(y[new], 2)
    return knots, values


def slope_of(centres: np.ndarray, answers: np.ndarray, tail: float) -> float:
    """The steepest piece between plateaus; infinite where they overlap."""
    knots, values = plateaus(centres, answers, tail)
    steps = np.diff(knots)[1::2]
    rises = np.abs(np.diff(values))[1::2]
    if len(steps) == 0:
        return 0.0
    return float((rises / steps).max()) if steps.min() > 0 else math.inf


def _codes(
    x: np.ndarray, heads: DrawnHeads, along: np.ndarray, direct: float, bias: str
) -> np.ndarray:
    """c_t - direct v(x_t) from the definition.  [N, d] → [N, 1]"""
    v = np.asarray(x, np.float64) @ along
    curve = heads.curves[0].values(len(v))
    code = np.array([curve[: t + 1] @ v[t::-1] for t in range(len(v))])
    return (code + direct * v)[:, None]
