"""Error rates of two approximations inside `diagnose`, and what its learner's thresholds do.

python -m benchmarks.diagnose_shortcuts gumbel 1000      law of extremes on tokens
python -m benchmarks.diagnose_shortcuts large 200        the whole way of large data, made small
python -m benchmarks.diagnose_shortcuts pointer 100      pointers in autocorrelated tokens
python -m benchmarks.diagnose_shortcuts learner 30       verdicts with and without the learner
"""

import sys
import time
from unittest import mock

import numpy as np

from benchmarks import diagnose_cases as cases
from benchmarks.diagnose import binomial

LEVEL = 0.025  # of the greedy scan


def gumbel(repetitions: int, first_seed: int) -> None:
    """How often the largest G of nothing is significant by a Gumbel law of 19 replicates."""
    from headcount.diagnose.token_counts import Strata, TokenRows, max_test

    for size, lags, n in ((4, 64, 4000), (16, 128, 4000), (64, 64, 20_000)):
        hits, started = 0, time.process_time()
        for seed in range(first_seed, first_seed + repetitions):
            rng = np.random.default_rng([78, seed])
            flat = rng.integers(0, size, n + lags)
            place = np.arange(lags, n + lags)
            rows = TokenRows(flat, place, flat[place], tuple(range(1, lags + 1)), size, size, False)
            strata = Strata.of(rows=n)
            tested = max_test(rows, strata, rng, alpha=LEVEL, replicates=199, gumbel=True)
            hits += tested.p <= LEVEL
        spent = (time.process_time() - started) / repetitions
        print(f"Gumbel, V={size}, {lags} lags, {n:,} rows, level {LEVEL}: "
              f"{binomial(hits, repetitions)} {spent:.2f} s", flush=True)  # fmt: skip


def large(repetitions: int, first_seed: int) -> None:
    """False detections of the way that large data take, on data small enough to repeat it."""
    from headcount.diagnose import diagnose, find_tokens

    hits = 0
    for seed in range(first_seed, first_seed + repetitions):
        x = np.random.default_rng([79, seed]).integers(0, 4, 3000)
        with mock.patch.object(find_tokens, "MANY_COUNTS", 0.0):
            found = diagnose(x, max_lag=128, seed=seed, advise=False, learner=False)
        hits += found.memory != "none"
    print(f"large data, iid token series, level 0.05: {binomial(hits, repetitions)}", flush=True)


def pointer(repetitions: int, first_seed: int) -> None:
    """Markov chains of order 2 have no pointers: in how many runs does a stratum show one, and in
    how many do all of them, which the verdict asks for?
    """
    from headcount.diagnose import diagnose, find_tokens

    plain = find_tokens.pointer
    some = every = wrong = asked = 0
    for seed in range(first_seed, first_seed + repetitions):
        x = cases.chain(np.random.default_rng([77, seed]), 3000, 3, 2)
        seen = []

        def watched(rows, pivot, mapped, *rest, seen=seen, **options):
            found = plain(rows, pivot, mapped, *rest, **options)
            seen.append((found, mapped))
            return found

        with mock.patch.object(find_tokens, "pointer", watched):
            found = diagnose(x, seed=seed, advise=False, learner=False)
        asked += bool(seen)
        some += any(p.lag for p, _ in seen)
        every += any(set(p.lag) == set(mapped.lags) for p, mapped in seen)
        wrong += found.nesting > 0
    print(
        f"pointers in Markov-2 chains: looked for in {asked}, some stratum "
        f"{binomial(some, repetitions)}, all strata {every}, in the verdict {wrong}",
        flush=True,
    )


CHECKED = (
    ("two lags, n=2000", "VALUES"),
    ("tanh(x3 x40) + x97, 128 lags", "VALUES"),
    ("|x9|, n=1000", "VALUES"),
    ("AR(2) .5 -.6", "VALUES"),
    ("exp kernel, x iid", "VALUES"),
    ("gate by quarter of x_t", "VALUES"),
    ("y = x5 + AR(.9) noise", "VALUES"),
    ("parity, V=2, n=1000", "TOKENS"),
    ("map x_{t-g(x_t)}, n=1000", "TOKENS"),
    ("mixture of lags 7 and 31, n=1000", "TOKENS"),
)
HIDDEN = {
    "product of three lags": cases.lagging(lambda at, e: at(2) * at(5) * at(9) + 0.5 * e, 3000, 12),
    "largest of five lags": cases.lagging(
        lambda at, e: np.max([at(s) for s in (1, 3, 6, 8, 10)], axis=0) + 0.2 * e, 3000, 12
    ),
}


def learner(repetitions: int, first_seed: int) -> None:
    """Known memories must stay right beside the learner; what the search has no form for should
    not be called `none`, nor few lags that explain much less than the learner does.
    """
    from headcount.diagnose import diagnose

    for name, kind in CHECKED:
        case = getattr(cases, kind)[name]
        right, better = 0, 0
        for seed in range(first_seed, first_seed + repetitions):
            made = case.make(np.random.default_rng([77, seed]))
            found = diagnose(**made, seed=seed, advise=False)
            right += case.right(found)
            better += found.reason == "a generic learner explains clearly more"
        print(f"with the learner, {name}: right {binomial(right, repetitions)}, "
              f"undecided for the learner {better}", flush=True)  # fmt: skip
    for name, make in HIDDEN.items():
        said: dict[str, int] = {}
        for seed in range(first_seed, first_seed + repetitions):
            found = diagnose(**make(np.random.default_rng([77, seed])), seed=seed, advise=False)
            words = f"{found.memory} {found.reason or ''}".strip()
            said[words] = said.get(words, 0) + 1
        print(f"without a form, {name}: {said}", flush=True)


if __name__ == "__main__":
    which, count, *seed = sys.argv[1:]
    chosen = {"gumbel": gumbel, "large": large, "pointer": pointer, "learner": learner}[which]
    chosen(int(count), int(seed[0]) if seed else 910_000)
