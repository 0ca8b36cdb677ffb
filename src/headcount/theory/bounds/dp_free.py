"""What attention without dot product cannot do: the floor of every affine map of the window (errata
16, second half of Proposition 4.2).

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
from collections.abc import Callable, Sequence
from fractions import Fraction

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.theory.balls import round_down

REF = Ref("headcount", "errata 16: affine maps of the window average to zero")
SCOPE = (
    "one or more layers of dot-product-free attention, any bias, normaliser and number of heads,"
    " residual, linear readout, no FFN"
)

Token = tuple[float, ...]
# a sequence, oldest token first → the answer at its last position
Answer = Callable[[tuple[Token, ...]], float]


@dataclasses.dataclass(frozen=True)
class AffineFloor:
    """Every affine map of the window is off by at least `value` on one of the inputs."""

    value: float
    inputs: tuple[tuple[Token, ...], ...]
    weights: tuple[Fraction, ...]
    scope: str = SCOPE
    ref: Ref = REF


def two_lag_floor(
    asking: tuple[Token, Token], lags: tuple[int, int], swing: tuple[Token, Token], answer: Answer
) -> AffineFloor:
    """The four inputs of the module docstring: letters (u, u') ask for lags (i, j), letters (p,
    q) stand there.
    """
    (i, j), (p, q) = lags, swing
    require(
        i != j,
        f"lags {i} and {j}",
        "two different lags",
        "choose letters that ask for different ones",
    )
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
    return AffineFloor(round_down(abs(total)), tuple(inputs), tuple(weights))


def check_floor(floor: AffineFloor, answer: Answer) -> bool:
    """Do inputs and weights prove the value, for these answers?"""
    if not (
        math.isfinite(floor.value)
        and floor.value >= 0
        and len(floor.inputs) == len(floor.weights) >= 1
    ):
        return False
    if len({_shape(x) for x in floor.inputs}) != 1 or not all(
        math.isfinite(c) for x in floor.inputs for token in x for c in token
    ):
        return False
    weights = [Fraction(w) for w in floor.weights]
    flat = [[Fraction(c) for token in x for c in token] for x in floor.inputs]
    averages = [
        sum(w * row[k] for w, row in zip(weights, flat, strict=True)) for k in range(len(flat[0]))
    ]
    if sum(weights) != 0 or any(averages) or sum(abs(w) for w in weights) > 1:
        return False
    proved = abs(
        sum(
            (w * Fraction(float(answer(x))) for w, x in zip(weights, floor.inputs, strict=True)),
            Fraction(0),
        )
    )
    return proved >= Fraction(floor.value)


def _shape(x: Sequence[Token]) -> tuple[int, ...]:
    return tuple(len(token) for token in x)
