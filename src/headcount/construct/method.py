"""A method: one theorem or idea as weights, and what it serves, declared as data.

A method is a registered part. What it serves stands on the class: families of targets, biases,
normalisers, whether tokens must be bounded, whether a readout network is needed. `refusals` turns
every mismatch into a `Refusal`, in one place for all methods; what data on the class cannot say
(too few heads for these lags, …) a method adds in `further`. All reasons come at once, as values;
they become words only where they are printed.
"""

import abc
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from headcount.construct.blocks.readout_networks import readout_refusals
from headcount.construct.blocks.slots import memory_count
from headcount.construct.draft import Draft, Refusal, RefusalKind, Request
from headcount.core.refs import Ref
from headcount.core.registry import Registry
from headcount.memory.named import unnamed
from headcount.memory.target import AbstractTarget


class AbstractMethod(abc.ABC):
    """Frozen dataclasses whose fields are their options."""

    kind: ClassVar[str]
    ref: ClassVar[Ref]
    cost: ClassVar[int] = 0  # where several apply, the least is tried first
    drafted_first: ClassVar[bool] = False  # `plan` drafts it before others of its bias: it is small
    planned: ClassVar[bool] = True  # False: another method serves all that it does with less
    saves_heads: ClassVar[bool] = False  # `plan` drafts it beside rows of more than one head
    attention: ClassVar[str] = "dp-free"  # the score its heads use
    layers: ClassVar[int | None] = 1  # how many it uses; None: as many as the target takes

    families: ClassVar[tuple[type[AbstractTarget], ...]]
    noun: ClassVar[str]  # the families in words
    biases: ClassVar[tuple[str, ...]]
    normalisers: ClassVar[tuple[str, ...]]
    # why no other bias or normaliser does ("bias", "normaliser"), or why one of them does not
    hints: ClassVar[Mapping[str, str]] = {}
    bounded_tokens: ClassVar[bool] = False  # an error of a kernel is no error of unbounded answers
    reads_slots: ClassVar[bool] = False  # the answer is a network on (token, memories)

    def refusals(self, target: AbstractTarget, request: Request) -> list[Refusal]:
        """Every reason why it cannot serve; none where it can."""
        found = self.own(target)
        if found is None:
            return [Refusal(RefusalKind.FAMILY, target.kind, expected=self.noun)]
        return [
            *_declared(self, request),
            *self.further(found, request),
            *_of_tokens_and_readout(self, found, request),
        ]

    def own(self, target: AbstractTarget) -> Any:
        """The target as a member of the method's families, by whatever name it was asked for; None
        where it is none.
        """
        return next((t for t in (target, unnamed(target)) if isinstance(t, self.families)), None)

    def further(self, target: Any, request: Request) -> list[Refusal]:
        """Reasons that depend on the numbers of this target."""
        return []

    def slot_radius(self, target: Any, request: Request) -> float | None:
        """The norm that a memory slot can reach; None where slots are tokens."""
        return None

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        """The weights and the promises; `refusals` was empty."""
        return self.weights(self.own(target), request)

    @abc.abstractmethod
    def weights(self, target: Any, request: Request) -> Draft:
        """The same for a member of the method's families."""


def _declared(method: AbstractMethod, request: Request) -> list[Refusal]:
    """Bias and normaliser against what the class declares."""
    asked = (
        (RefusalKind.BIAS, request.bias, method.biases),
        (RefusalKind.NORMALISER, request.normaliser, method.normalisers),
    )
    return [
        Refusal(
            kind,
            f"{kind} {name} is not one of {', '.join(served)}",
            method.hints.get(name) or method.hints.get(kind, ""),
        )
        for kind, name, served in asked
        if name not in served
    ]


def _of_tokens_and_readout(method: AbstractMethod, found: Any, request: Request) -> list[Refusal]:
    reasons = []
    if method.bounded_tokens and not math.isfinite(found.inputs.bound):
        why = "no kernel error bounds the answer's"
        reasons.append(
            Refusal(RefusalKind.TOKENS, f"{found.inputs.kind} tokens are unbounded", why)
        )
    if method.reads_slots:
        radius = method.slot_radius(found, request)
        reasons += readout_refusals(found.readout, memory_count(found) + 1, found.inputs, radius)
    return reasons


methods: Registry[AbstractMethod] = Registry("construction", AbstractMethod)
