"""`diagnose`: sequences in, their memory out.

>>> import numpy as np
>>> x = np.random.default_rng(0).normal(size=800)
>>> y = np.roll(x, 3) + 0.3 * np.random.default_rng(1).normal(size=800)
>>> found = diagnose(x, y, max_lag=16, advise=False, learner=False)
>>> str(found.memory), found.lag_numbers
('fixed', (3,))
"""

import dataclasses
from typing import Any

import numpy as np

from headcount.core.arguments import checked
from headcount.core.beside import Beside, quick_turns
from headcount.core.errors import require
from headcount.core.threads import one_thread
from headcount.diagnose import learner as generic
from headcount.diagnose.arrays import sequences_of
from headcount.diagnose.black_box import probe
from headcount.diagnose.conclusion import conclude_values
from headcount.diagnose.find_tokens import TokenFindings, find_tokens, token_findings
from headcount.diagnose.find_values import Options, Say, ValueFindings, find_values
from headcount.diagnose.records import Diagnosis
from headcount.diagnose.repeats import repeated
from headcount.diagnose.samples import Note, Samples, Sequences, Setting, lagged
from headcount.diagnose.token_conclusion import conclude_tokens

FEWEST_ROWS = 50
USUAL_LAGS, USUAL_TOKEN_LAGS = 128, 64
LEAST_ALPHA = 0.001  # below, a share of the level asks for ten thousands of replicates
MOST_CELLS = 20_000_000  # rows times columns of real values


@checked
def diagnose(
    x: Any,
    y: Any = None,
    *,
    max_lag: int | None = None,
    lags: tuple[int, ...] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    order: int = 2,
    tokens: bool | None = None,
    detrend: bool = False,
    replicates: int = 199,
    learner: bool = True,
    clock: bool = True,
    advise: bool = True,
    verify: bool = False,
    window: int | None = None,
    symbols: int | None = None,
    progress: Say | None = None,
) -> Diagnosis:
    """The memory of sequences x, with answers y or (None) continuing themselves.

    `x` is an array ([T], [n, S], [n, S, d]), a list of sequences, a pandas or polars frame with `y`
    the name of a column, `Sequences` from `read`, or a function of arrays [n, window] (of numbers,
    or of tokens below `symbols`) that is probed.
    """
    require(
        LEAST_ALPHA <= alpha < 0.5,
        f"alpha {alpha}",
        f"a level from {LEAST_ALPHA} to 0.5",
        "for example 0.05",
    )
    require(order in (2, 3), f"order {order}", "2 or 3", "products of more lags are not searched")
    require(seed >= 0, f"seed {seed}", "a whole number from 0", "for example 0")
    require(replicates >= 19, f"replicates {replicates}", "at least 19", "take 199")
    probed = None
    if callable(x) and not isinstance(x, Sequences):
        require(
            window is not None,
            "a black box without a window",
            "the length of its sequences",
            "pass window=32",
        )
        assert window is not None
        probed = probe(x, window, symbols=symbols, seed=seed)
        source = probed.sequences
    else:
        source = _source(x, y, tokens)
    samples = rows_of(source, max_lag, lags)
    options = Options(
        samples.lags, alpha, replicates, seed, order == 3, learner and generic.available(), clock
    )
    say = progress or (lambda message: None)
    with quick_turns():
        loaded = options.learner and (samples.source.tokens or generic.loads_here())
        Beside(_load, loaded, advise)
        found = repeated(_found(samples, options, say), source)
    found = dataclasses.replace(found, answer=source.answer)
    if learner and not generic.available():
        notes = (*found.notes, Note("no generic learner", {"extra": "diagnose"}))
        found = dataclasses.replace(found, notes=notes)
    if probed is not None:
        notes = (*found.notes, Note("interventions", {"count": probed.questions}))
        effects = tuple((e.lag, e.share, e.error) for e in probed.effects)
        found = dataclasses.replace(found, notes=notes, interventions=effects)
    if advise and not found.interrupted:
        found = _advised(found, detrend, say)
    if verify and found.advice is not None and not found.interrupted:
        from headcount.diagnose.verify import verified

        found = dataclasses.replace(found, verified=verified(found, samples, seed, say))
    return found


def _load(learner: bool, advise: bool) -> None:
    """Two seconds of imports that are needed after the scan, taken beside it. One thread for all
    of them: two that load parts of one package may each wait for the other.
    """
    if learner:
        import sklearn.ensemble  # noqa: F401
    if advise:
        import headcount.construct.plan
        import headcount.diagnose.advice  # noqa: F401


def _source(x: Any, y: Any, tokens: bool | None) -> Sequences:
    if isinstance(x, Sequences):
        return x
    if hasattr(x, "columns"):
        from headcount.diagnose.columns import from_frame

        require(
            y is None or isinstance(y, str),
            f"y of type {type(y).__name__} beside a frame",
            "the name of a column",
            "pass y='column', or y='next:column'",
        )
        return from_frame(x, y)
    return sequences_of(x, y, tokens=tokens)


def _advised(found: Diagnosis, detrend: bool, say: Say) -> Diagnosis:
    from headcount.diagnose.advice import advise  # jax: only where advice is asked for

    say("advice: the architecture for this memory")
    try:
        return dataclasses.replace(found, advice=advise(found, detrend))
    except KeyboardInterrupt:
        return dataclasses.replace(found, interrupted=True)


@one_thread()
def _found(samples: Samples, options: Options, say: Say) -> Diagnosis:
    """The engine for this kind of data; an interruption ends it with what is known."""
    known = token_findings(samples) if samples.source.tokens else ValueFindings(samples)
    stopped = False
    try:
        if isinstance(known, TokenFindings):
            find_tokens(known, options, say)
        else:
            find_values(known, options, say)
    except KeyboardInterrupt:
        stopped = True
    if isinstance(known, TokenFindings):
        found = conclude_tokens(known, options)
    else:
        found = conclude_values(known, options)
    return dataclasses.replace(found, interrupted=stopped)


def rows_of(source: Sequences, max_lag: int | None, lags: tuple[int, ...] | None) -> Samples:
    """Rows for the lags asked for, or for as many as the data allow."""
    first = 1 if source.setting is Setting.SELF else 0
    shortest = int(source.lengths.min())
    if lags is not None:
        lags = tuple(sorted(set(lags)))
        require(
            lags and lags[0] >= first,
            f"lags {lags}",
            f"whole numbers from {first}",
            "lag 0 is the answer itself" if first else "give for example 1,2,4,8",
        )
    else:
        lags = tuple(range(first, first + _usual(source, first, max_lag)))
    one = len(source.starts) == 2
    if not one:
        require(
            max(lags) < shortest,
            f"lag {max(lags)} in sequences of {shortest}",
            f"at most {shortest - 1}",
            "choose a smaller --max-lag",
        )
    require(
        max(lags) < len(source.values),
        f"lag {max(lags)} in {len(source.values)} elements",
        "a shorter one",
        "choose a smaller --max-lag",
    )
    samples = lagged(source, lags)
    n, columns = len(samples.y), len(samples.columns)
    require(
        n >= FEWEST_ROWS,
        f"{n} rows after lagging",
        f"at least {FEWEST_ROWS}",
        "give more data or a smaller --max-lag",
    )
    require(
        columns <= n // 4,
        f"{columns} lags (over all channels) for {n} rows",
        f"at most a quarter of the rows, {n // 4}",
        f"--max-lag {_largest(source, n)}",
    )
    most = MOST_CELLS // columns
    if not source.tokens and n > most:
        samples = samples.rows(np.arange(n - most, n))
        note = Note("rows cut", {"rows": most})
        notes = (*source.notes, note)
        samples = dataclasses.replace(samples, source=dataclasses.replace(source, notes=notes))
    return samples


def _largest(source: Sequences, n: int) -> int:
    channels = 1 if source.tokens else source.values.shape[1]
    return max(1, n // 5 // channels)


def _usual(source: Sequences, first: int, max_lag: int | None) -> int:
    """How many lags are searched."""
    channels = 1 if source.tokens else source.values.shape[1]
    n = len(source.values)
    if max_lag is not None:
        require(
            max_lag >= first and max_lag >= 1,
            f"max_lag {max_lag}",
            "at least 1",
            "for example --max-lag 16",
        )
        require(
            max_lag < n,
            f"max_lag {max_lag:,} in {n:,} elements",
            "a shorter one",
            "choose a smaller --max-lag",
        )
        return max_lag + 1 - first
    most = USUAL_TOKEN_LAGS if source.tokens else USUAL_LAGS
    if source.setting is Setting.ROWS:
        return min(int(source.lengths.min()), max(1, (len(source.starts) - 1) // 4 // channels))
    if len(source.starts) > 2:
        half = int(source.lengths.min()) // 2
        return max(1, min(most, half, n // 10 // channels))
    return max(1, min(most, n // 10 // channels))
