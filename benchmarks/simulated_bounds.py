"""How often the explicit bounds fail, on 2,000 small problems for each size and case.

    held out         losses of Beta and Bernoulli laws, clipped errors of least squares that fit too
                     few samples, ten models of which each must be covered
    path norm        for each sample the networks of norm Q that its noise flatters most: the single
                     neurons, and averages of those that correlate best with it; least squares with
                     tokens of another range; overlapping windows of one series. Exact risks: all
                     inputs are counted
    identification   is the lag found, and is a false one; tokens signs and normal

The head deficit is about a class of targets and an exponent: it cannot be simulated.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy import stats

from headcount.theory.sample_bounds import (
    effective_samples,
    empirical_bernstein,
    hoeffding,
    lag_samples,
    path_norm_gap,
)
from headcount.theory.sample_claims import Rows

PROBLEMS, DELTA, POWER, ALPHA = 2000, 0.05, 0.9, 0.05
SIZES = (5, 10, 30, 100, 300, 1000)
WINDOW = 8
Failures = Iterator[tuple[str, str, int, int]]  # (bound, case, n, problems in which it failed)


def interval(count: int, of: int) -> str:
    """The 95% interval of a rate by Clopper and Pearson."""
    low = stats.beta.ppf(0.025, count, of - count + 1) if count else 0.0
    high = stats.beta.ppf(0.975, count + 1, of - count) if count < of else 1.0
    return f"{count} of {of}, [{low:.4f}, {high:.4f}]"


def report() -> None:
    """The size at which each bound fails most often, for each case."""
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for part in (held_out(), selected(), clipped_errors(), worst_networks(), fitted(), series()):
        for bound, case, n, failed in part:
            found.setdefault((bound, case), []).append((failed, n))
    for (bound, case), each in found.items():
        failed, n = max(each)
        sizes = sorted(n for _, n in each)
        print(f"{bound:20} {case:34} n = {sizes[0]} to {sizes[-1]}: at most"
              f" {interval(failed, PROBLEMS)} (n = {n}), {DELTA:g} allowed"
              f"{'' if failed <= DELTA * PROBLEMS else '  VIOLATED'}", flush=True)  # fmt: skip
    identification()


def held_out() -> Failures:
    for n in SIZES:
        rng = np.random.default_rng(n)
        shapes = rng.uniform(0.2, 5, (2, PROBLEMS))
        cases = {"Beta": (rng.beta(*shapes[:, :, None], (PROBLEMS, n)), shapes[0] / shapes.sum(0))}
        for p in (0.01, 0.05, 0.2, 0.5, 0.9):
            cases[f"Bernoulli {p:g}"] = rng.random((PROBLEMS, n)) < p, np.full(PROBLEMS, p)
        for case, (losses, risks) in cases.items():
            yield from _held_out(case, losses, risks, 1.0)


def _held_out(case: str, losses: np.ndarray, risks: np.ndarray, top: float) -> Failures:
    """Each problem a row of losses, with its true risk."""
    n, pairs = losses.shape[1], list(zip(losses.astype(float), risks, strict=True))
    wrong = sum(hoeffding(float(each.mean()), n, top, DELTA).value < risk for each, risk in pairs)
    yield "hoeffding", case, n, wrong
    wrong = sum(empirical_bernstein(each, top, DELTA).value < risk for each, risk in pairs)
    yield "empirical bernstein", case, n, wrong


def selected(models: int = 10) -> Failures:
    """It fails where one of ten models is not covered."""
    for n in SIZES:
        rng = np.random.default_rng([n, models])
        losses = (rng.random((PROBLEMS, models, n)) < 0.5).astype(float)
        held = [[hoeffding(float(x.mean()), n, 1.0, DELTA, models).value for x in each]
                for each in losses]  # fmt: skip
        yield "hoeffding", "Bernoulli 0.5, 10 models", n, int((np.min(held, axis=1) < 0.5).sum())
        held = [min(empirical_bernstein(x, 1.0, DELTA, models).value for x in each)
                for each in losses]  # fmt: skip
        yield "empirical bernstein", "Bernoulli 0.5, 10 models", n, sum(v < 0.5 for v in held)


def every_input(window: int = WINDOW) -> np.ndarray:
    """All sign sequences.  [2^window, window]"""
    return np.array(np.meshgrid(*[[-1.0, 1.0]] * window)).reshape(window, -1).T


def clipped_errors() -> Failures:
    """Least squares of y = x_1 + e on n samples, held out on n others without noise."""
    every = every_input()
    design = np.concatenate([every, np.ones((len(every), 1))], axis=1)
    for n in (10, 12, 15, 30, 100):
        rng = np.random.default_rng([n, 2])
        drawn = rng.integers(0, len(every), (2, PROBLEMS, n))
        losses, risks = [], []
        for train, held in zip(*drawn, strict=True):
            y = every[train, 0] + rng.normal(size=n)
            answers = design @ np.linalg.lstsq(design[train], y, rcond=None)[0]
            each = (np.clip(answers, -1, 1) - every[:, 0]) ** 2  # [2^window]
            losses.append(each[held])
            risks.append(each.mean())
        yield from _held_out("clipped least squares", np.array(losses), np.array(risks), 4.0)


def neurons(every: np.ndarray) -> np.ndarray:
    """a relu(s x_j) and constants, of path norm 1 on signs, a and s signs.  [2^window, 4 w + 2]"""
    half = np.maximum(np.concatenate([every, -every, np.ones((len(every), 1))], axis=1), 0)
    return np.concatenate([half, -half], axis=1)


def _worst_gap(
    values: np.ndarray, norm: float, counts: np.ndarray, share: np.ndarray
) -> np.ndarray:
    """The largest gap over networks of norm at most `norm` for each sample, [problems].

    `values` [k, m] of m neurons of norm 1 on k inputs; `counts` [problems, 2, k] of the sample with
    y = -1 and 1, `share` [2, k] of the law.
    """
    signs = np.array([-1.0, 1.0])[:, None]
    n = counts.sum(axis=(1, 2))[:, None]
    aligned = np.einsum("psk,s,km->pm", counts, signs[:, 0], values, optimize=True)
    order = np.argsort(-aligned, axis=1)  # neurons that say what the sample's answers say
    worst = np.full(len(counts), -np.inf)
    for scale in (norm / 4, norm / 2, norm):
        losses = (np.clip(scale * values, -1, 1) - signs[:, :, None]) ** 2  # [2, k, m]
        risk = np.einsum("sk,skm->m", share, losses)
        seen = counts.reshape(len(counts), -1) @ losses.reshape(-1, values.shape[1]) / n
        worst = np.maximum(worst, (risk - seen).max(axis=1))
        for top in (2, 4, 8, 12):
            for p, chosen in enumerate(order[:, :top]):
                answers = np.clip(scale * values[:, chosen].mean(axis=1), -1, 1)
                each = (answers - signs) ** 2
                gap = ((share - counts[p] / n[p]) * each).sum()
                worst[p] = max(worst[p], gap)
    return worst


def worst_networks() -> Failures:
    """Answers are random signs, so that whatever fits them is noise."""
    every = every_input()
    values, share = neurons(every), np.full((2, len(every)), 0.5 / len(every))
    for n in SIZES:
        rng = np.random.default_rng([n, 3])
        counts = rng.multinomial(n, share.ravel(), PROBLEMS).reshape(PROBLEMS, 2, -1).astype(float)
        for norm in (0.3, 1.0, 3.0, 10.0):
            claim = path_norm_gap(norm, n, WINDOW, lipschitz=4, loss_range=4, delta=DELTA)
            wrong = int((_worst_gap(values, norm, counts, share) > claim.value).sum())
            yield "path norm", f"worst networks, Q = {norm:g}", n, wrong


def fitted() -> Failures:
    """Least squares of random signs, tokens of several ranges: Q is what the fit ends with."""
    every = every_input()
    design = np.concatenate([every, np.ones((len(every), 1))], axis=1)
    for radius in (0.5, 3.0, 1e6):
        scaled = design * np.array([radius] * WINDOW + [1.0])
        for n in SIZES:
            rng = np.random.default_rng([n, 4])
            wrong = 0
            for _ in range(PROBLEMS):
                drawn, y = rng.integers(0, len(every), n), rng.choice([-1.0, 1.0], n)
                w = np.linalg.lstsq(scaled[drawn], y, rcond=None)[0]
                norm = 2 * (radius * np.abs(w[:-1]).sum() + abs(w[-1]))
                answers = np.clip(scaled @ w, -1, 1)
                gap = (1 + answers**2).mean() - ((answers[drawn] - y) ** 2).mean()
                claim = path_norm_gap(norm, n, WINDOW, lipschitz=4, loss_range=4, delta=DELTA,
                                      radius=radius)  # fmt: skip
                wrong += gap > claim.value
            yield "path norm", f"least squares, |x| <= {radius:g}", n, wrong


def series() -> Failures:
    """Rows are overlapping windows of one series of fair signs, y = x_0 x_1; n counts the rows."""
    every = every_input()
    values, y = neurons(every), every[:, 0] * every[:, 1]
    place = ((every > 0) @ 2 ** np.arange(WINDOW)).astype(int)  # of each input
    share = np.stack([y < 0, y > 0]) / len(every)
    for n in (30, 100, 300, 1000, 3000):
        rng = np.random.default_rng([n, 5])
        bits = rng.integers(0, 2, (PROBLEMS, n + WINDOW - 1))
        codes = sum(bits[:, j : j + n] << j for j in range(WINDOW))  # [problems, n]
        seen = np.stack([np.bincount(row, minlength=len(every)) for row in codes])[:, place]
        counts = seen[:, None, :] * np.stack([y < 0, y > 0])  # [problems, 2, k]
        blocks = effective_samples(n, WINDOW, independent=False)
        for norm in (1.0, 10.0):
            claim = path_norm_gap(norm, blocks, WINDOW, lipschitz=4, loss_range=4, delta=DELTA,
                                  rows=Rows.WINDOWS)  # fmt: skip
            wrong = int((_worst_gap(values, norm, counts.astype(float), share) > claim.value).sum())
            yield "path norm", f"windows of a series, Q = {norm:g}", n, wrong
        most = (every > 0).sum(axis=1) > WINDOW / 2
        losses, risk = (seen * most).sum(axis=1) / n, most.mean()
        held = [hoeffding(float(x), blocks, 1.0, DELTA, rows=Rows.WINDOWS).value for x in losses]
        yield "hoeffding", "windows of a series", n, sum(v < risk for v in held)


def identification(lags: int = 32) -> None:
    """Power, and false lags, of the test of each lag alone at level alpha/lags."""
    for share in (0.99, 0.9, 0.7, 0.5, 0.2, 0.05):
        n = int(lag_samples(share, lags, ALPHA, POWER).value)
        for tokens in ("signs", "normal"):
            found, false = _tested(n, lags, share, tokens, rest=None)
            print(f"lag {share:4g} of {lags}, n = {n:4}, {tokens:6}: not found in"
                  f" {interval(PROBLEMS - found, PROBLEMS)}, {1 - POWER:.1g} allowed; a false lag"
                  f" in {interval(false, PROBLEMS)}, {ALPHA:g} allowed", flush=True)  # fmt: skip
    for rest in (1, 2, 4):
        n = int(lag_samples(1 / (rest + 1), lags, ALPHA, POWER).value)
        found, _ = _tested(n, lags, 1 / (rest + 1), "signs", rest)
        print(f"one of {rest + 1} lags of {lags}, no noise, n = {n:4}, signs : not found in"
              f" {interval(PROBLEMS - found, PROBLEMS)}", flush=True)  # fmt: skip


def _tested(n: int, lags: int, share: float, tokens: str, rest: int | None) -> tuple[int, int]:
    """Problems in which lag 0 is found, and in which a lag that plays no part is; the rest of an
    answer is normal, or so many other lags.
    """
    rng = np.random.default_rng([n, lags, tokens == "signs", rest or 0])
    found = false = 0
    cut = stats.t.isf(ALPHA / lags / 2, n - 2)
    for _ in range(PROBLEMS):
        x = rng.choice([-1.0, 1.0], (n, lags)) if tokens == "signs" else rng.normal(size=(n, lags))
        if rest is None:
            y = math.sqrt(share) * x[:, 0] + math.sqrt(1 - share) * rng.normal(size=n)
        else:
            y = x[:, : rest + 1].sum(axis=1)
        dx, dy = x - x.mean(axis=0), y - y.mean()
        spread = np.sqrt((dx**2).sum(axis=0) * (dy**2).sum())
        r = np.divide(dx.T @ dy, spread, out=np.zeros(lags), where=spread > 1e-9)
        r = np.clip(r, -1 + 1e-15, 1 - 1e-15)
        hit = np.abs(r) * np.sqrt((n - 2) / (1 - r**2)) > cut
        found += bool(hit[0])
        false += bool(hit[(rest or 0) + 1 :].any())
    return found, false
