"""Is the advice right? The advised model and two rivals, trained on the user's own rows.

Each is trained on the rows that structure was looked for in and judged on the held-out rows, in the
loss of the diagnosis. The advice held if the advised model reaches the loss that the diagnosis
foretold (within two standard errors); a rival of one size less should not.
"""

import dataclasses

import numpy as np

from headcount.diagnose.clock import Clock
from headcount.diagnose.features import standardised
from headcount.diagnose.find_values import Say, cleared
from headcount.diagnose.records import Diagnosis, Trained, Verified
from headcount.diagnose.samples import Column, Samples, lagged, split

STEPS, BATCH, RATE = 2000, 128, 3e-3
WIDTH_PER_HEAD, HIDDEN = 16, 64
MOST_ROWS = 20_000


@dataclasses.dataclass(frozen=True)
class Size:
    """What is trained."""

    role: str
    layers: int
    heads: int
    bias: str
    attention: str


def verified(found: Diagnosis, samples: Samples, seed: int, say: Say) -> Verified | None:
    """None where no advice can be trained."""
    if found.advice is None or found.r2 is None or found.r2_error is None:
        return None
    samples = _without_clock(found, samples)
    seen, folds = split(samples)
    held = np.concatenate([fold.judge for fold in folds])
    x, y = _arrays(samples, seen)
    base = _loss_of_none(y, seen, held)
    share, error = found.r2, found.r2_error
    expected = base * (1 - share - 2 * error), base * (1 - share + 2 * error)
    runs = []
    for size in sizes(found):
        say(f"training: {size.role}")
        runs.append(_trained(size, x, y, seen, held, seed))
    advised = runs[0].loss <= expected[1]
    smaller = [run for run in runs if run.role == "one size smaller"]
    failed = smaller[0].loss > expected[1] if smaller else None
    return Verified(expected, tuple(runs), bool(advised), failed)


def sizes(found: Diagnosis) -> list[Size]:
    """Advised, one size smaller, another bias. Constructed attention is trained as a dot product,
    peaked biases as a table: the learnable forms of the same idea.
    """
    advice = found.advice
    assert advice is not None
    attention = "dot" if advice.dot_product else "dp-free"
    bias = {"peak": "table", "no": "none", "none": "table"}.get(advice.bias, advice.bias)
    heads = max(advice.heads, 1)
    made = [Size("advised", advice.layers, heads, bias, attention)]
    if heads > 1:
        made.append(Size("one size smaller", advice.layers, heads - 1, bias, attention))
    elif advice.dot_product:
        made.append(Size("one size smaller", max(advice.layers - 1, 1), heads, bias, "dp-free"))
    other = "log" if bias == "lin" else "lin"
    made.append(Size("another bias", advice.layers, heads, other, attention))
    return made


def _without_clock(found: Diagnosis, samples: Samples) -> Samples:
    """The rows as they were diagnosed."""
    clock = found.clock
    if not clock:
        return samples
    source, fitted = samples.source, int(0.7 * len(samples.source.values))
    if clock.degree or clock.periods:
        source = cleared(source, dataclasses.replace(clock, step=None), fitted)
    if clock.step is not None:
        source = cleared(source, Clock(step=clock.step), len(source.values))
    return lagged(source, samples.lags)


def _arrays(samples: Samples, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Windows in the order of time, [n, L] tokens or [n, L, d], and answers."""
    lags = sorted(samples.lags, reverse=True)
    if samples.source.tokens:
        return samples.table(tuple(Column(0, lag) for lag in lags)), samples.y
    channels = range(samples.source.values.shape[1])
    x = np.stack(
        [samples.table(tuple(Column(c, lag) for lag in lags)) for c in channels], axis=2
    )  # [n, L, d]
    scale = x[seen].std((0, 1)) + 1e-12
    x = np.clip((x - x[seen].mean((0, 1))) / scale, -4, 4)
    return x, standardised(samples.y, seen)


def _loss_of_none(y: np.ndarray, seen: np.ndarray, held: np.ndarray) -> float:
    if y.dtype.kind == "f":
        return float(((y[held] - y[seen].mean()) ** 2).mean())
    share = np.bincount(y[seen], minlength=int(y.max()) + 1) + 1.0
    return float(-np.log(share / share.sum())[y[held]].mean())


def _trained(
    size: Size, x: np.ndarray, y: np.ndarray, seen: np.ndarray, held: np.ndarray, seed: int
) -> Trained:
    from headcount.memory.read import Last
    from headcount.model.cost import count_parameters
    from headcount.train import train

    fit = seen[-MOST_ROWS:]
    width = WIDTH_PER_HEAD * size.heads
    model = {
        "layers": size.layers,
        "heads": size.heads,
        "width": width,
        "hidden": HIDDEN,
        "attention": size.attention,
        "bias": size.bias,
    }
    schedule = {"shape": "cosine", "warmup": 100}
    data = {"test": 0.05, "validation": 0.15, "patience": 5}
    spec = {"steps": STEPS, "batch": min(BATCH, len(fit) // 2), "lr": RATE, "schedule": schedule,
            "data": data}  # fmt: skip
    real = y.dtype.kind == "f"
    given = (x[fit].astype(np.float32) if real else x[fit], y[fit, None])
    run = train(given, model, spec, seed)
    answers = np.concatenate(
        [
            np.asarray(run.model(_device(x[part], real), Last()))[:, 0]
            for part in np.array_split(held, max(1, len(held) // 512))
        ]
    )
    loss = _loss(answers, y[held])
    count = int(count_parameters(run.model))
    return Trained(size.role, size.layers, size.heads, size.bias, size.attention, loss, count)


def _device(x: np.ndarray, real: bool):
    import jax.numpy as jnp

    return jnp.asarray(x, jnp.float32 if real else jnp.int32)


def _loss(answers: np.ndarray, y: np.ndarray) -> float:
    """Mean squared error, or mean -log p."""
    if y.dtype.kind == "f":
        return float(((answers[:, 0] - y) ** 2).mean())
    scores = answers - answers.max(1, keepdims=True)
    return float((np.log(np.exp(scores).sum(1)) - scores[np.arange(len(y)), y]).mean())
