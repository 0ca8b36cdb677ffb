"""A sequence of symbols that repeats itself exactly: its period says the next element, and every
other description (a kernel over all lags, a table of contexts) only imitates it.

>>> import numpy as np
>>> period_of(np.array([0, 1, 1, 2] * 5)), period_of(np.array([0, 1, 1, 2] * 2))
(4, None)
"""

import dataclasses

import numpy as np

from headcount.diagnose.records import Addressing, Diagnosis, LagFound, Memory
from headcount.diagnose.samples import Sequences, Setting

TURNS = 3  # a sequence that is seen fewer times than this may go on in any way
START = 32  # elements compared first, to find the few periods worth a look at all of them


def period_of(values: np.ndarray) -> int | None:
    """The smallest p with values[t] = values[t - p] everywhere, seen at least `TURNS` times."""
    most = len(values) // TURNS
    same = np.ones(most, bool)  # by p - 1
    for k in range(min(START, len(values) - most)):
        same &= values[1 + k : 1 + k + most] == values[k]
    for p in np.flatnonzero(same) + 1:
        if (values[p:] == values[:-p]).all():
            return int(p)
    return None


def repeated(found: Diagnosis, source: Sequences) -> Diagnosis:
    """What is said of a sequence that repeats itself; anything else as it was found."""
    whole = source.tokens and source.setting is Setting.SELF and len(source.starts) == 2
    period = period_of(source.values) if whole and not found.interrupted else None
    if period is None:
        return found
    lag = LagFound(period, source.channels[0], None, None, None, "tokens")
    unchosen = tuple(dataclasses.replace(model, chosen=False) for model in found.models)
    return dataclasses.replace(
        found, memory=Memory.FIXED, reason=None, suspected=None, addressing=Addressing.LAG,
        lags=(lag,), map=(), recall=None, nesting=0, adaptivity=None, tail=None, period=period,
        models=unchosen, r2=None, r2_error=None, share=None, best_model=None, n_needed=None,
    )  # fmt: skip
