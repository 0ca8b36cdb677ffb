"""What attention without dot product cannot do: the floor of every affine map of the window
(docs/errata.md#e16, second half of Proposition 4.2).

Without dot product a head's weights do not depend on the tokens. So attention, residual and linear
readout together are an affine map L of the window, whatever the bias, the normaliser, the number of
heads and the number of such layers. Duality: if weights w_k on inputs X_k satisfy

    sum_k w_k = 0,   sum_k w_k X_k = 0   (every affine map averages to 0),   sum_k |w_k| = 1,

then for the answers y_k:  max_k |y_k - L(X_k)| >= |sum_k w_k (y_k - L(X_k))| = |sum_k w_k y_k|.

For y_t = <v, x_{t-g(x_t)}>, let letters u, u' ask for lags i != j, and let p, q be letters with <v,
p - q> = 2r. The four inputs with x_t = u or u' and (x_{t-i}, x_{t-j}) = (p, q) or (q, p), all other
tokens alike, with weights 1/4 times

    (u, p, q): +1    (u, q, p): -1    (u', p, q): -1    (u', q, p): +1

average every affine map to 0 and the answers to r (each of the four contributes r/4): the error is
at least r, which is what a constant answer costs. Where i = 0 the two answers for u are equal and
r/2 is left. An FFN behind the attention is not affine, and solves it.

The certificate is the inputs and the weights; `check_floor` redoes the averages in fractions, with
answers that it asks for itself.
"""

import dataclasses
import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction

from headcount.core.claims import BALL, Claim, Lags, Readout, Scope, Sense, Status, Tokens
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.theory.balls import round_down

REF = Ref("headcount", "docs/errata.md#e16: affine maps of the window average to zero")

Token = tuple[float, ...]
Answer = Callable[[tuple[Token, ...]], float]  # a sequence, oldest token first → its last answer


def affine_scope(tokens: Tokens, length: int | None) -> Scope:
    """Every affine map of the window: any bias, normaliser, number of heads and of layers, with
    residual and a linear readout, without FFN.
    """
    return Scope(lowest_rate=-math.inf, layers=None, lags=Lags(0, length), tokens=tokens)


def two_lag_floor(
    asking: tuple[Token, Token],
    lags: tuple[int, int],
    swing: tuple[Token, Token],
    answer: Answer,
    subject: Hashable,
) -> Claim:
    """The four inputs of the module docstring: letters (u, u') ask for lags (i, j), letters (p,
    q) stand there.
    """
    (i, j), (p, q) = lags, swing
    fix = "choose letters that ask for different ones"
    require(i != j, f"lags {i} and {j}", "two different lags", fix)
    inputs, weights = [], []
    for u, side in zip(asking, (1, -1), strict=True):
        for here, there, sign in ((p, q, side), (q, p, -side)):
            window = [p] * (max(i, j) + 1)
            window[i], window[j] = here, there
            window[0] = u  # by lag: lag 0 is the token that asks
            inputs.append(tuple(reversed(window)))
            weights.append(Fraction(sign, 4))
    total = sum(
        (w * Fraction(answer(x)) for w, x in zip(weights, inputs, strict=True)), Fraction(0)
    )
    scope = affine_scope(_tokens(inputs), max(i, j) + 1)
    evidence = {"kind": "affine", "inputs": tuple(inputs), "weights": tuple(weights)}
    value = round_down(abs(total))
    return Claim(subject, scope, Sense.AT_LEAST, value, Status.PROVED, "affine", REF, evidence)


def check_floor(claim: Claim, answer: Answer) -> bool:
    """Do inputs and weights prove the value for these answers, in the whole of the scope?"""
    inputs, weights = claim.evidence.get("inputs", ()), claim.evidence.get("weights", ())
    lower = claim.sense is Sense.AT_LEAST and claim.status is Status.PROVED
    if not (lower and math.isfinite(claim.value) and claim.value >= 0):
        return False
    if not len(inputs) == len(weights) >= 1 or len({_shape(x) for x in inputs}) != 1:
        return False
    if not all(math.isfinite(c) for x in inputs for token in x for c in token):
        return False
    linear = claim.scope.readout is Readout.LINEAR and not claim.scope.dot_product
    counted = len(inputs[0]) - 1 in claim.scope.lags and claim.scope.lags.first == 0
    exact = claim.scope.precision is None and _tokens(inputs) <= claim.scope.tokens
    whole = dataclasses.replace(claim.scope, lags=Lags(), tokens=BALL) == affine_scope(BALL, None)
    if not (linear and counted and exact and whole):
        return False
    weights = [Fraction(w) for w in weights]
    flat = [[Fraction(c) for token in x for c in token] for x in inputs]
    averages = [
        sum(w * row[k] for w, row in zip(weights, flat, strict=True)) for k in range(len(flat[0]))
    ]
    if sum(weights) != 0 or any(averages) or sum(abs(w) for w in weights) > 1:
        return False
    answers = [Fraction(float(answer(x))) for x in inputs]
    proved = abs(sum((w * y for w, y in zip(weights, answers, strict=True)), Fraction(0)))
    return proved >= Fraction(claim.value)


def _tokens(inputs: Sequence[tuple[Token, ...]]) -> Tokens:
    return Tokens(frozenset(tuple(map(float, token)) for x in inputs for token in x))


def _shape(x: Sequence[Token]) -> tuple[int, ...]:
    return tuple(len(token) for token in x)
