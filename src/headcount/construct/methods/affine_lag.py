"""Proposition 4.2, both halves: one attention layer, no FFN, with the dot product and without.

With it. x_t itself names the lag: where g is affine on the letters, g(x) = c.x + offset (the
paper's x + 1; any table on one-hot tokens), the embedding supplies the constant 1 (b_E) and one
layer does

    query  sqrt(b) (c.x_t + offset - T),   key    sqrt(b) 1,
    logit  -b (s - g(x_t) + T),            value  a_h x_{t-s}:

the lin heads of Theorem 4.1 without its first layer (docs/errata.md#e7: an embedding that contains
g saves a layer). The paper's bound is O(1/H); these heads fall exponentially in H until float
rounding ends it. Lag 0 is seen by lin heads and needs no exception.

Without it, the answer is an affine map of the window, and no affine map comes closer than answering
0: `dp_free_floor` returns the certified optimum, 1 for the paper's target (its own bound is 2/3,
docs/errata.md#e16), as data that `theory.bounds.dp_free.check_floor` re-verifies.

    >>> from headcount.memory.named import targets
    >>> dp_free_floor(targets.build("prop42")).value
    1.0
"""

import dataclasses
import itertools

import numpy as np

from headcount.construct.blocks.drawn_heads import DrawnHeads
from headcount.construct.blocks.moved_heads import (
    CANCELLED,
    FREE,
    NORMALISERS,
    AbstractMovedRetrieval,
    adaptive_for_tol,
    longest,
    sink_note,
    split_adaptive,
)
from headcount.construct.blocks.networks import LinearReadout
from headcount.construct.blocks.retrieval import by_definition, memory_of
from headcount.construct.blocks.slots import Ending, Slot, one_layer, share_of_tolerance, slot_space
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Draft, Refusal, RefusalKind, Request
from headcount.construct.method import AbstractMethod, methods
from headcount.core.claims import Claim
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.lag_functions import AbstractLagFunction, Alphabet
from headcount.memory.named import unnamed
from headcount.memory.read import Last
from headcount.memory.readouts import Linear
from headcount.memory.target import AbstractTarget
from headcount.model.scores import AbstractScore, DotProduct
from headcount.theory.bounds.dp_free import Answer, two_lag_floor

REF = Ref("wang-e-2024", "Proposition 4.2")
STEPS = 4  # slopes are multiples of 1/4, so that lags are exact in every format


@methods.register(
    "prop42",
    formula="y_t = sum_h a_h sum_s e^{-b_h (s - c.x_t - offset)} x_{t-s}: one layer, no FFN",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class AffineLag(AbstractMethod):
    """One dot-product layer without FFN, for a lag affine in x_t and a linear readout."""

    ref = REF
    cost = 1
    attention = "dot"
    families = (AdaptiveMemory,)
    noun = "adaptive memory"
    biases = ("lin",)
    normalisers = NORMALISERS
    hints = {
        "softmax": CANCELLED,
        "log": "log heads need log g, which no affine map of the token gives; use adaptive",
    }

    def further(self, target: AdaptiveMemory, request: Request) -> list[Refusal]:
        reasons = []
        if any(n > 1 for n in target.arguments):
            got = "a lag that depends on a token found first needs another layer"
            reasons.append(Refusal(RefusalKind.LAGS, got, expected="nested"))
        elif any(affine_lag(g, target.inputs.alphabet) is None for g in target.lag_functions):
            got = "a lag that is not affine in the current token needs an FFN in front"
            reasons.append(Refusal(RefusalKind.LAGS, got, expected="adaptive"))
        if not isinstance(target.readout, Linear):
            got = f"readout {target.readout.kind} needs an FFN behind the attention"
            reasons.append(Refusal(RefusalKind.READOUT, got, expected="adaptive"))
        return reasons

    def weights(self, target: AdaptiveMemory, request: Request) -> Draft:
        maps = [affine_lag(g, target.inputs.alphabet) for g in target.lag_functions]
        affine = tuple(m for m in maps if m is not None)
        assert len(affine) == len(maps)
        d, M, size = target.inputs.dim, len(maps), target.inputs.bound
        readout = LinearReadout(readout_row(target), d, size)
        heads = _heads(target, request, readout)
        retrieval = TokenRetrieval(heads, request, size, affine)
        space, found = slot_space(M, d, one=1), by_definition(target)
        attend = retrieval.attend(space, tuple(range(1, M + 1)))
        slots = [
            Slot(memory_of(found, i), retrieval.bound(i), retrieval.why(i)) for i in range(1, M + 1)
        ]
        ending = Ending(REF, sink_note(request), retrieval.facts)
        return one_layer(space, attend, slots, readout, 0.0, ending, one=1.0)


def affine_lag(
    g: AbstractLagFunction, alphabet: Alphabet | None
) -> tuple[np.ndarray, float] | None:
    """(c, offset) in multiples of 1/4 with g(x) = c.x + offset on every letter, exactly; None
    where there is none.
    """
    if alphabet is None:
        return None
    letters = np.array(alphabet)
    lags = np.array([g.reference(letter[None]) for letter in letters], dtype=np.float64)
    system = np.concatenate([letters, np.ones((len(letters), 1))], axis=1)
    found = np.round(np.linalg.lstsq(system, lags, rcond=None)[0] * STEPS) / STEPS
    return (found[:-1], float(found[-1])) if np.array_equal(system @ found, lags) else None


def _largest(target: AdaptiveMemory) -> list[int]:
    letters = np.array(target.inputs.alphabet)
    return [max(g.reference(letter[None]) for letter in letters) for g in target.lag_functions]


def _heads(
    target: AdaptiveMemory, request: Request, readout: LinearReadout
) -> tuple[DrawnHeads, ...]:
    lags = [max(T, 1) for T in _largest(target)]
    if request.tol is None:
        return tuple(split_adaptive(lags, request, [FREE] * len(lags)))
    each = share_of_tolerance(request, readout, target.inputs.bound, len(lags))
    return tuple(
        adaptive_for_tol(T, request.bias, min(each, 0.999), request.precision) for T in lags
    )


def readout_row(target: AdaptiveMemory) -> np.ndarray:
    """The linear readout as a row [1, (M+1) d] on (token, memories), from values on unit slots."""
    slots, d = len(target.lag_functions) + 1, target.inputs.dim
    return np.array(
        [[target.readout.reference(unit.reshape(slots, d)).item() for unit in np.eye(slots * d)]]
    )


@dataclasses.dataclass(frozen=True)
class TokenRetrieval(AbstractMovedRetrieval):
    """Moved by the token itself, through an affine map per memory."""

    maps: tuple[tuple[np.ndarray, float], ...]

    log = False
    one = 1.0

    def _score(self, space: Space, memories: tuple[int, ...]) -> AbstractScore:
        queries, keys = [], []
        for i in memories:
            heads, (slope, offset) = self.heads[i - 1], self.maps[i - 1]
            roots = np.sqrt(heads.rates)[:, None]
            queries.append(roots * space.vector(token=slope, one=offset - longest(heads)))
            keys.append(roots * space.vector(one=1.0))
        return DotProduct(np.concatenate(queries)[:, None, :], np.concatenate(keys)[:, None, :])  # type: ignore[arg-type]


def dp_free_floor(target: AbstractTarget) -> Claim:
    """The least error of attention without dot product (no FFN) for y_t = <v, x_{t-g(x_t)}>,
    with its certificate.
    """
    found = unnamed(target)
    fits = (
        isinstance(found, AdaptiveMemory)
        and len(found.lag_functions) == 1
        and isinstance(found.readout, Linear)
    )
    require(
        fits,
        f"{target.kind}",
        "an adaptive memory with one lag function and a linear readout",
        "the floor is about y_t = <v, x_{t-g(x_t)}>",
    )
    assert isinstance(found, AdaptiveMemory)
    letters = found.inputs.alphabet
    require(
        letters is not None,
        f"inputs {found.inputs.kind}",
        "a finite alphabet",
        "use boolean, ternary or one-hot tokens",
    )
    assert letters is not None
    g, answer = found.lag_functions[0], answers(found)
    lags = {letter: g.reference(np.array([letter])) for letter in letters}
    pairs = [(u, v) for u, v in itertools.combinations(letters, 2) if lags[u] != lags[v]]
    require(
        pairs,
        f"{target.kind}, whose lag is the same for every token",
        "at least two different lags",
        "a fixed lag needs no dot product",
    )
    row = readout_row(found)[0, found.inputs.dim :]
    swing = max(
        itertools.combinations(letters, 2), key=lambda pq: abs(float(row @ np.subtract(*pq)))
    )
    return max(
        (two_lag_floor((u, v), (lags[u], lags[v]), swing, answer, target) for u, v in pairs),
        key=lambda floor: floor.value,
    )


def answers(target: AbstractTarget) -> Answer:
    """The target's own answer at the last position of a sequence, from its reference."""
    return lambda x: float(target.reference(np.array([x]), Last()).item())
