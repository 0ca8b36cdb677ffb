"""Lag functions as networks, and the condition under which rounding makes their lags exact (errata
8, 9, 10).

Layer l writes g_i of the tokens it has found, or log g_i for log heads, through the precision FFN:
[z] = floor(z + 1/2) or log[e^z]. The network equals g_i on all letters (the zero of a missing token
included); the tokens found are off by E. Rounding returns the exact lag as long as

    network error + Lip * E  <  1/2                 (lin: to the nearest whole number)
                             <  log(1 + 1/(2T))     (log: e^z must stay within 1/2 of g <= T, and
                               log is steepest below)

This is measured and checked for every lag function of a build, not assumed: a build that breaks it
is refused with the numbers. Lip is the network's own constant, which holds beyond the letters too.
"""

import dataclasses
import functools
import math

import numpy as np

from headcount.construct.blocks.networks import lipschitz_of
from headcount.construct.blocks.readout_networks import lag_network
from headcount.construct.draft import Bound, Precision, Request, Unreachable
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.lag_functions import combinations
from headcount.memory.readouts.network import ReluNetwork

OPERATIONS = 8  # roundings a neuron, generously


@dataclasses.dataclass(frozen=True)
class LagNetwork:
    """g_i (or log g_i) on `arguments` tokens: a network that is off by at most `error` on the
    letters.
    """

    index: int  # i, from 1
    arguments: int
    largest: int  # T_i
    network: ReluNetwork
    error: float
    log: bool

    @property
    def tolerance(self) -> float:
        """What rounding can mend."""
        return math.log1p(1 / (2 * self.largest)) if self.log else 0.5

    @functools.cached_property
    def lipschitz(self) -> float:
        return lipschitz_of(self.network)

    def found(self, tokens: Bound, radius: float) -> Bound:
        """How far the network's value may be off before rounding, for tokens that are off so
        much.
        """
        net = self.network
        size = float(np.abs(net.a) @ (np.linalg.norm(net.b, axis=1) * radius + np.abs(net.c))) * (
            net.b.shape[1] + net.neurons + OPERATIONS
        )
        return Bound(self.error) + tokens.through(self.lipschitz, size)

    def require_exact(self, tokens: Bound, radius: float) -> Bound:
        """The condition of the module docstring, or `Unreachable` with its numbers."""
        off = self.found(tokens, radius)
        if not off.at(Precision.FLOAT64) < self.tolerance:
            scale = "log(1 + 1/(2T))" if self.log else "1/2"
            raise Unreachable(
                f"lag function g_{self.index}: network error {self.error:.3g} + Lip"
                f" {self.lipschitz:.3g} x token error {tokens.error:.3g} = {off.error:.3g}",
                f"below {self.tolerance:.3g} ({scale}), so that rounding gives the exact lag",
                "ask for a smaller tolerance or more heads: the tokens found first must be more"
                " exact",
            )
        return off


def lag_refusals(target: AdaptiveMemory, log: bool) -> list[str]:
    """Why the lags cannot be computed exactly."""
    if target.inputs.alphabet is None:
        return [
            f"inputs {target.inputs.kind} are not from a finite alphabet: a whole-valued continuous"
            " lag function is constant on connected sets (errata 8)"
        ]
    reasons = []
    for i, (g, n) in enumerate(zip(target.lag_functions, target.arguments, strict=True), start=1):
        points = combinations(target.inputs.alphabet, n)
        if points is None:
            reasons.append(f"g_{i} has too many combinations of letters for an exact network")
        elif log and min(g.reference(tokens) for tokens in points) < 1:
            reasons.append(
                f"g_{i} can ask for lag 0, which log heads never see (log 0); use lin or peak"
            )
    return reasons


def lag_networks(
    target: AdaptiveMemory, request: Request, stages: tuple[tuple[int, ...], ...], log: bool
) -> list[LagNetwork]:
    """A network for every lag function, exact unless the width (of the layer that holds a
    stage's functions and the constant) forbids it.
    """
    assert target.inputs.alphabet is not None  # else `lag_refusals` spoke
    together = {i: len(stage) for stage in stages for i in stage}
    made = []
    for i, (g, n) in enumerate(zip(target.lag_functions, target.arguments, strict=True), start=1):
        width = None if request.width is None else max((request.width - 1) // together[i], 1)
        fit = lag_network(g, n, target.inputs.alphabet, width, log)
        points = combinations(target.inputs.alphabet, n)
        assert fit is not None
        assert points is not None
        lags = np.array([g.reference(tokens) for tokens in points], dtype=np.float64)
        off = np.abs(
            fit.networks[0](points.reshape(len(points), -1)) - (np.log(lags) if log else lags)
        )
        # x_t itself is never missing
        present = np.array([tuple(tokens[0]) in target.inputs.alphabet for tokens in points])
        made.append(
            LagNetwork(i, n, int(lags[present].max()), fit.networks[0], float(off.max()), log)
        )
    return made
