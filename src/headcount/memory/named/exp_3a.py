"""Experiment 3a: does the dot product help on a fixed sparse memory? (The paper: marginally.)

The targets are those of 1b, `exp_1b`: as published, and with lags that lin and log heads reach.

Worked example — at position 100, x_99 is one step back, x_56 and x_48 are 44 and 52 back:

    >>> Exp3a(position=100).target.lags
    (1, 44, 52)
    >>> Exp3aRepaired().target.lags
    (1, 2)
"""

from headcount.core.refs import Ref
from headcount.memory.named.exp_1b import Exp1b, Exp1bRepaired
from headcount.memory.target import targets


@targets.register(
    "exp-3a", formula=targets["exp-1b"].formula, ref=Ref("wang-e-2024", "Section 6, experiment 3a")
)
class Exp3a(Exp1b):
    """Experiment 3a as published."""


@targets.register(
    "exp-3a-repaired",
    formula=targets["exp-1b-repaired"].formula,
    ref=Ref("headcount", "experiment 3a with reachable lags"),
)
class Exp3aRepaired(Exp1bRepaired):
    """Experiment 3a with lags that lin and log heads reach."""
