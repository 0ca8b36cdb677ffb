"""The least layers and heads of any model of a plan's kind, where it is proved."""

import dataclasses
import math

from headcount.construct.impossible import accepted
from headcount.construct.plan_record import Minimum, Row
from headcount.construct.plan_verdict import fills_a_line, isolated_lag, tokens_of
from headcount.core.claims import Lags
from headcount.memory.kernels import Lag
from headcount.memory.named.pointer_chain import PointerChain
from headcount.memory.target import AbstractTarget
from headcount.theory.bounds.check_depth import check_depth
from headcount.theory.bounds.depth import chain_adversary, chain_layers, layers_claim
from headcount.theory.bounds.recovery import recovery_claim
from headcount.theory.heads import family
from headcount.theory.problem import Problem


def minima(target: AbstractTarget, row: Row | None, length: int) -> tuple[Minimum, ...]:
    """The least layers, heads and neurons of any model of the recommended row's kind."""
    if row is None or row.architecture is None:
        return ()
    layers, heads = Minimum("layers", 1), Minimum("heads", 1)
    if isinstance(target, PointerChain):
        layers = chain_minimum(target, row.architecture.heads, row.request.tol or math.inf)
    lag = isolated_lag(target) if fills_a_line(target) else None
    if lag is not None and row.bias in ("lin", "log", "log1p") and row.architecture.layers == 1:
        claim = recovery_claim(
            Problem(Lag(lag), family(row.bias), window=max(length, lag + 1)), heads=max(lag - 1, 1)
        )
        question = dataclasses.replace(
            claim.scope, heads=lag - 1, tokens=tokens_of(target), lags=Lags(0, length)
        )
        if lag > 1 and claim.excludes(question, row.request.tol or math.inf) and accepted(claim):
            heads = Minimum("heads", lag, claim)
    return layers, heads, Minimum("neurons", 0)


def chain_minimum(target: PointerChain, heads: int, tol: float) -> Minimum:
    """The fewest layers of heads that read one addressed row each, by the adversary that changes
    a token which was not looked at; the answer is the token found, 0 or 1 on its sequences. Nothing
    is said of other heads, nor where a constant answer is within the tolerance.
    """
    least = chain_layers(target.hops, heads)
    if least == 1:
        return Minimum("layers", 1)
    base, changes = chain_adversary(target.hops)

    def found(words: tuple[tuple[float, ...], ...]) -> float:
        tokens = [int(word[0]) for word in words]
        return float(target.answer(tokens, len(tokens) - 1))

    claim = layers_claim(target.kind, found, base, changes, heads, least - 1)
    proved = claim.excludes(claim.scope, tol) and check_depth(claim, found)
    return Minimum("layers", least, claim) if proved else Minimum("layers", 1)
