"""Several layers, and width: what depth must pay, in states, in layers, in neurons.

**State** (lin networks without nonlinearity or denominators, any number of layers). A lin head
keeps S_t = e^{-b} S_{t-1} + W_V X_t, a state of dimension rank(W_V) (of W_V restricted to its
range), and adds W_O S_t to the stream. Later layers read what earlier ones wrote at the same
position. So the network is one linear system S_t = A S_{t-1} + B x_t, y_t = C S_t + D x_t, where A
is block triangular, layer by layer, with diagonal e^{-b_h}, each as often as the rank of its head:
n = sum of rank(W_V) over all heads and layers. By Cayley-Hamilton its kernel k(s) = C A^s B, s >= 1
(lag 0 is free through D), satisfies the recurrence with the positive roots e^{-b_h}, which is all
that the lin proof of Theorem A uses. So lag T needs n >= T, and what Theorem A says of n heads it
says of every such network with state n, however many layers it has.

**Layers** (heads that read r positions each, named by their own row). What a row holds after a
layer depends on what it held before and on the rows read; by induction a row depends on at most
(rH + 1)^L tokens after L layers, and which ones depends on these tokens alone. Let x be a sequence
and x^(1), …, x^(n) differ from it in one token each, at different positions, with answers that
differ from that of x by at least 2e. If n > (rH + 1)^L, one of these positions is not looked at on
x; so the network answers the same on x and on that x^(i), and its error is at least e. (n is at
most the sensitivity of the answer at x. FFNs may be anything.)

For a pointer chain of k hops: tokens 0 (one step back) everywhere, but 1 at the end of the chain.
Each of the k + 1 tokens on the chain, when changed, moves the end to a 0 or is it: n = k + 1, and
L >= log_{H+1}(k+1) for r = 1. With one head, 2^L - 1 hops in L layers are attained: each layer
doubles the hops that a row knows, and one more.

**Width** (one layer without dot product, m ReLU neurons, any number of heads of any bias). On a
line of inputs, x = x_0 + tau (x_1 - x_0), head outputs and x_t are affine in tau, so that a network
with one hidden layer of m ReLU neurons is piecewise linear in tau with at most m + 1 pieces, each
of which crosses a level at most once. If the answers along the line lie alternately e above and e
below a level, A times, an error below e needs A <= m + 1. (No three corners of a cube lie on a
line: this is about tokens that fill an interval; for letters see `codes`.)
"""

import dataclasses
import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction

from headcount.core.claims import Claim, Lags, Norm, Readout, Scope, Sense, Status, Tokens
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.theory.bounds.theorem_a import heads_claim
from headcount.theory.heads import Lin
from headcount.theory.problem import Problem

STATE = Ref("headcount", "docs/proved.md#state")
LAYERS = Ref("headcount", "docs/proved.md#layers")
WIDTH = Ref("headcount", "docs/proved.md#width")

Token = tuple[float, ...]
Words = tuple[Token, ...]  # a sequence, oldest token first
Answer = Callable[[Words], float]


def state_claim(problem: Problem, state: int) -> Claim | None:
    """Theorem A for every lin network without nonlinearity and denominators whose value ranks sum
    up to at most `state`; None where it says nothing.
    """
    lin, summed = isinstance(problem.family, Lin), problem.norm is Norm.L1
    require(lin, f"{problem.family.name} heads", "lin heads", "states are about lin heads")
    require(summed, f"norm {problem.norm}", "l1", "ask in l1")
    require(state >= 1, f"state {state}", "at least 1", "pass the sum of rank(W_V)")
    free = dataclasses.replace(problem, residual=True, budget=math.inf)
    found = heads_claim(free, state)
    if found is None or found.evidence["kind"] != "isolated":
        return None
    scope = dataclasses.replace(
        found.scope, heads=None, layers=None, state=state, normalised=False, neurons=0
    )
    return dataclasses.replace(found, scope=scope, method="state", ref=STATE)


def layers_claim(
    subject: Hashable,
    answer: Answer,
    base: Words,
    changes: Sequence[tuple[int, Token]],
    heads: int,
    layers: int,
    reads: int = 1,
) -> Claim:
    """The error of networks that cannot look at every token of `base` whose change matters;
    `changes` are (lag, new token). Value 0 where they can.
    """
    require(heads >= 1 and reads >= 1, f"{heads} heads of {reads} reads", "at least 1", "add one")
    require(layers >= 1, f"{layers} layers", "at least 1", "pass layers=1 or more")
    lags = [lag for lag, _ in changes]
    inside = len(set(lags)) == len(lags) and all(0 <= lag < len(base) for lag in lags)
    require(inside, f"changes at lags {lags}", "different lags of the sequence", "list each once")
    told = answer(base)
    spreads = [abs(answer(changed(base, lag, token)) - told) for lag, token in changes]
    enough = len(changes) > (reads * heads + 1) ** layers
    value = min(spreads) / 2 if enough else 0.0
    tokens = {*base, *(token for _, token in changes)}
    scope = Scope(
        lowest_rate=-math.inf,
        heads=heads,
        layers=layers,
        dot_product=True,
        readout=Readout.ANY,
        reads=reads,
        lags=Lags(0, len(base)),
        tokens=Tokens(frozenset(tokens)),
    )
    evidence = {"kind": "sensitive", "base": base, "changes": tuple(changes)}
    lower, proved = Sense.AT_LEAST, Status.PROVED
    return Claim(subject, scope, lower, value, proved, "adversary", LAYERS, evidence)


def chain_adversary(hops: int) -> tuple[Words, tuple[tuple[int, Token], ...]]:
    """The sequence of the module docstring, and the k + 1 changes that a chain of k hops feels. It
    is as long as k steps of two can reach back.
    """
    require(hops >= 1, f"{hops} hops", "at least 1", "follow a pointer")
    by_lag = [(0.0,)] * (2 * hops + 1)
    by_lag[hops] = (1.0,)
    changes = [(lag, (1.0,)) for lag in range(hops)]
    return tuple(reversed(by_lag)), (*changes, (hops, (0.0,)))


def chain_layers(hops: int, heads: int, reads: int = 1) -> int:
    """The fewest layers for k hops with heads that read so many positions each: (rH+1)^L >= k+1.

    >>> [chain_layers(hops, 1) for hops in (1, 2, 3, 4, 7, 8)], chain_layers(8, 2)
    ([1, 2, 2, 3, 3, 4], 2)
    """
    require(hops >= 1, f"{hops} hops", "at least 1", "follow a pointer")
    require(heads >= 1 and reads >= 1, f"{heads} heads of {reads} reads", "at least 1", "add one")
    layers = 1
    while (reads * heads + 1) ** layers < hops + 1:
        layers += 1
    return layers


def changed(base: Words, lag: int, token: Token) -> Words:
    """The sequence with another token at this lag."""
    place = len(base) - 1 - lag
    return (*base[:place], token, *base[place + 1 :])


def width_claim(
    subject: Hashable, answer: Answer, start: Words, stop: Words, points: Sequence[Fraction]
) -> Claim:
    """The neurons that answers along the line from `start` to `stop` ask for, looked at in these
    points of [0, 1]: a level halfway between the extremes, the largest distance kept by every
    crossing. Value 0 where there are fewer than two crossings.
    """
    alike = list(map(len, start)) == list(map(len, stop))
    require(alike, "two sequences of different shapes", "equal shapes", "pad the shorter one")
    ordered = sorted({Fraction(p) for p in points})
    known = len(ordered) >= 2 and ordered[0] >= 0 and ordered[-1] <= 1
    require(known, "points outside [0, 1]", "two or more between 0 and 1", "choose others")
    answers = [Fraction(float(answer(on_line(start, stop, p)))) for p in ordered]
    level = (max(answers) + min(answers)) / 2
    kept, sides = _turning(answers, level)
    crossings = len(kept) - 1
    value = float(min(abs(a - level) for a in sides)) if crossings >= 2 else 0.0
    scope = Scope(
        lowest_rate=-math.inf,
        readout=Readout.ANY,
        neurons=max(0, crossings - 2),
        lags=Lags(0, len(start)),
        tokens=Tokens(None, _radius((*start, *stop))),
    )
    evidence = {
        "kind": "line", "start": start, "stop": stop, "level": level,
        "points": tuple(ordered[k] for k in kept),
    }  # fmt: skip
    lower, proved = Sense.AT_LEAST, Status.PROVED
    return Claim(subject, scope, lower, value, proved, "pieces", WIDTH, evidence)


def on_line(start: Words, stop: Words, point: Fraction) -> Words:
    """The sequence at this point of the line; refused where a double cannot hold it."""
    exact = [
        [Fraction(a) + point * (Fraction(b) - Fraction(a)) for a, b in zip(one, two, strict=True)]
        for one, two in zip(start, stop, strict=True)
    ]
    held = all(Fraction(float(v)) == v for token in exact for v in token)
    fix = "use multiples of a power of 1/2"
    require(held, f"point {point}", "tokens that float64 holds exactly", fix)
    return tuple(tuple(float(v) for v in token) for token in exact)


def _radius(tokens: Words) -> float:
    """A double that is certainly at least the largest norm."""
    square = max(sum((Fraction(v) ** 2 for v in token), Fraction(0)) for token in tokens)
    radius = math.sqrt(square)
    return radius if Fraction(radius) ** 2 >= square else math.nextafter(radius, math.inf)


def _turning(answers: list[Fraction], level: Fraction) -> tuple[list[int], list[Fraction]]:
    """The furthest answer of each run on one side of the level: places and values."""
    kept: list[int] = []
    for k, a in enumerate(answers):
        if a == level:
            continue
        if kept and (answers[kept[-1]] > level) == (a > level):
            if abs(a - level) > abs(answers[kept[-1]] - level):
                kept[-1] = k
        else:
            kept.append(k)
    return kept, [answers[k] for k in kept]
