"""How fast two-point mutual information falls with the lag: a statement about the process, not
about what an answer depends on.

Counts never cross a border of sequences. The bias is measured by shuffling inside sequences, so
that a difference between sequences is not taken for memory. A shape is named only where it fits
(log-RMSE below 0.35) and is 20 times likelier than the other, on the lags above three times the
floor; the exponent of real text depends on that range, so that both are told together.
"""

import numpy as np

from headcount.diagnose.kernel_tail import LIKELIER
from headcount.diagnose.records import Decay
from headcount.diagnose.token_counts import xlogx

POINTS, PARTS, ABOVE, ROUGH = 25, 10, 3.0, 0.35
MOST_TOKENS = 1_000_000


def decay(flat: np.ndarray, starts: np.ndarray, size: int, longest: int, seed: int) -> Decay:
    """Mutual information at about 25 lags up to `longest`."""
    flat = flat[:MOST_TOKENS]
    starts = np.append(starts[starts < len(flat)], len(flat))
    sequence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    lags = np.unique(np.geomspace(1, max(longest, 1), POINTS).round().astype(int))
    lags = lags[lags < np.diff(starts).max()]
    rng = np.random.default_rng([seed, 8])
    mixed = flat[np.lexsort((rng.random(len(flat)), sequence))]
    bound = int(size) ** 2
    raw = np.array([_information(flat, sequence, s, size) for s in lags])
    floors = np.array(
        [_information(mixed, sequence, s, size) for s in lags[:: max(1, len(lags) // 5)]]
    )
    floor = float(floors.mean()) if len(floors) else 0.0
    nats = raw - floor
    errors = np.array([_error(flat, sequence, int(s), size) for s in lags])
    use = nats > ABOVE * np.maximum(max(floor, 1 / (2 * len(flat)) * min(bound, 1)), errors)
    last = int(np.argmin(use)) if not use.all() else len(use)
    shape, rate, fitted = _shape(lags[:last], nats[:last], errors[:last])
    return Decay(tuple(map(int, lags)), tuple(map(float, nats)), floor, shape, rate, fitted)


def _information(flat: np.ndarray, sequence: np.ndarray, lag: int, size: int) -> float:
    same = sequence[lag:] == sequence[:-lag]
    a, b = flat[:-lag][same], flat[lag:][same]
    n = len(a)
    if n == 0:
        return 0.0
    both = np.bincount(a * size + b, minlength=size * size)
    one, two = np.bincount(a, minlength=size), np.bincount(b, minlength=size)
    total = xlogx(both, n).sum() - xlogx(one, n).sum() - xlogx(two, n).sum()
    return float(total / n + np.log(n))


def _error(flat: np.ndarray, sequence: np.ndarray, lag: int, size: int) -> float:
    """Standard error from contiguous parts, each corrected by its own share of the bias."""
    parts = [
        _information(f, s, lag, size)
        for f, s in zip(np.array_split(flat, PARTS), np.array_split(sequence, PARTS), strict=True)
        if len(f) > 2 * lag
    ]
    return float(np.std(parts, ddof=1) / np.sqrt(len(parts))) if len(parts) > 2 else 0.0


def _shape(lags: np.ndarray, nats: np.ndarray, errors: np.ndarray):
    """(shape, rate, range) or Nones: log-linear fits in s and in log s."""
    if len(lags) < 5:
        return None, None, None
    log = np.log(nats)
    spread = np.maximum(errors / nats, 0.02)
    found = {}
    for name, x in (("exp", lags.astype(float)), ("power", np.log(lags))):
        slope, level = np.polyfit(x, log, 1, w=1 / spread)
        left = log - level - slope * x
        found[name] = -float(slope), float(np.sqrt((left**2).mean())), float((left**2).sum())
    n = len(lags)
    ratio = n / 2 * np.log(found["power"][2] / max(found["exp"][2], 1e-12))
    better = "exp" if ratio > 0 else "power"
    rate, rough, _ = found[better]
    if rough > ROUGH or abs(ratio) < LIKELIER:
        return None, None, (int(lags[0]), int(lags[-1]))
    return better, rate, (int(lags[0]), int(lags[-1]))
