"""Is the advice right? The advised model and two rivals, trained on the user's own rows.

Each is trained on the rows that structure was looked for in and judged on rows behind them, in the
loss of the diagnosis. The advice held if the advised model reaches the loss that the diagnosis
foretold, within two standard errors (of the loss itself or of the gain over no memory, whichever is
smaller); a rival of one size less should not.

The question is what a size can do, not what gradient descent finds from nothing: heads with a table
begin at the lags that were found, and the smaller rival's too, as far as it has heads for them.
"""

import dataclasses
from typing import Any

import numpy as np

from headcount.diagnose.clock import Clock
from headcount.diagnose.features import standardised
from headcount.diagnose.find_values import Say, cleared
from headcount.diagnose.records import Addressing, Diagnosis, Trained, Verified
from headcount.diagnose.samples import Column, Samples, Setting, split

BATCH, MOST_ROWS = 128, 20_000
LEAST_ERROR = 5e-4  # of the loss without memory: a rule without exceptions has none of its own
APART = 0.7  # logits of a head at its lags to begin with: each one less than the one before
UNTRAINED = ("peak", "none", "no")  # biases that a table stands for
ADVISED, SMALLER, OTHER = "advised", "one size smaller", "another bias"


@dataclasses.dataclass(frozen=True)
class Effort:
    """How a model is trained."""

    steps: int
    rate: float
    width_per_head: int
    hidden: int
    start: float  # logit of a head at its first lag
    weight_decay: float
    validation: float  # share of the rows
    patience: int


SWIFT = Effort(2000, 3e-3, 16, 64, 4.0, 0.0, 0.15, 5)
# real values at known lags: a few thousand rows with noise are learned by heart by a larger model
STEADY = Effort(6000, 1e-3, 8, 32, 8.0, 0.1, 0.1, 40)


@dataclasses.dataclass(frozen=True)
class Size:
    """What is trained. No layers: the newest element alone; no heads either: nothing is read."""

    role: str
    layers: int
    heads: int
    bias: str
    attention: str
    position: str = "none"
    starts: tuple[tuple[int, ...], ...] = ()  # per head, the lags that it begins at
    linear: bool = False  # one weight per lag says it all: no neurons, which would learn noise


def verified(
    found: Diagnosis, samples: Samples, seed: int, say: Say, rivals: int = 2
) -> Verified | None:
    """None where no advice can be trained. The first rival is the smaller one."""
    if found.advice is None or found.r2 is None or found.r2_error is None:
        return None
    samples = _without_clock(found, samples)
    seen, folds = split(samples)
    held = folds[0].judge if len(folds) == 1 else np.arange(seen[-1] + 1, len(samples.y))
    x, y = _arrays(samples, seen)
    base = _loss_of_none(y, seen, held)
    share, error = found.r2, max(min(found.r2_error, found.loss_error or np.inf), LEAST_ERROR)
    expected = max(0.0, base * (1 - share - 2 * error)), base * (1 - share + 2 * error)
    runs = []
    for size in sizes(found)[: rivals + 1]:
        say(f"training: {size.role}")
        runs.append(_trained(size, x, y, seen, held, seed))
    smaller = next(run for run in runs if run.role == SMALLER)
    held_up = runs[0].loss <= expected[1]
    return Verified(expected, tuple(runs), bool(held_up), bool(smaller.loss > expected[1]))


def sizes(found: Diagnosis) -> list[Size]:
    """Advised, one size smaller, another bias. Peaked biases are trained as a table; where the
    newest element names the lag, the dot product sees learned positions: the learnable forms of the
    same idea.
    """
    advice = found.advice
    assert advice is not None
    by_lag = advice.dot_product and found.addressing is not Addressing.CONTENT
    advised = Size(
        ADVISED,
        advice.layers if advice.heads else 0,
        advice.heads,
        "table" if advice.bias in UNTRAINED else advice.bias,
        "dot" if advice.dot_product else "dp-free",
        "learned" if by_lag else "none",
        () if advice.dot_product else starts(found, advice.heads),
        bool(found.lags) and not found.bent and all(lag.weight is not None for lag in found.lags),
    )
    other = "log1p" if advised.bias == "lin" else "lin"
    rival = dataclasses.replace(advised, role=OTHER, bias=other, starts=())
    return [advised, _smaller(found, advised), *([rival] if advised.heads else [])]


def _smaller(found: Diagnosis, advised: Size) -> Size:
    """Without the dot product where a lag is named by an element; one layer less where elements are
    nested or recalled; else one head less, down to the newest element alone, and to nothing.
    """
    one = dataclasses.replace(advised, role=SMALLER)
    if advised.attention == "dot" and advised.layers > 1:
        return dataclasses.replace(one, layers=advised.layers - 1)
    if advised.attention == "dot":
        return dataclasses.replace(one, attention="dp-free", position="none")
    if advised.heads > 1:
        fewer = advised.heads - 1
        return dataclasses.replace(one, heads=fewer, starts=starts(found, fewer))
    return dataclasses.replace(one, layers=0, heads=advised.layers - 1, starts=())


def starts(found: Diagnosis, heads: int) -> tuple[tuple[int, ...], ...]:
    """The lags found, as a model counts them, on so many heads: by sign where one weight per lag
    says it all, else in turn.
    """
    shift = 1 if found.method.setting is Setting.SELF else 0
    ordered = sorted(found.lags, key=lambda lag: -(lag.effect or 0.0))
    made: list[list[int]] = [[] for _ in range(heads)]
    for turn, lag in enumerate(lag for lag in ordered if lag.lag > shift):
        by_sign = lag.weight is not None and heads == 2
        head = int((lag.weight or 0.0) < 0) if by_sign else turn % heads
        made[head].append(lag.lag - shift)
    return tuple(map(tuple, made))


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
    return samples.of(source)


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

    if size.heads < 0:
        loss = _loss_of_none(y, seen, held)
        return Trained(size.role, 0, 0, size.bias, size.attention, loss, 0)
    fit, real = seen[-MOST_ROWS:], y.dtype.kind == "f"
    if not size.layers:
        x = x[:, -1:]
    schedule = {"shape": "cosine", "warmup": 100}
    effort = _effort(size, real)
    data = {"test": 0.02, "validation": effort.validation, "patience": effort.patience}
    spec = {"steps": effort.steps, "batch": min(BATCH, len(fit) // 2), "lr": effort.rate,
            "schedule": schedule, "data": data, "effort": "medium",
            "optimiser": {"weight_decay": effort.weight_decay}}  # fmt: skip
    given = (x[fit].astype(np.float32) if real else x[fit], y[fit, None])
    run = train(given, fresh(size, x, y, seed), spec, seed)
    answers = np.concatenate(
        [
            np.asarray(run.model(_device(x[part], real), Last()))[:, 0]
            for part in np.array_split(held, max(1, len(held) // 512))
        ]
    )
    loss = _loss(answers, y[held])
    count = int(count_parameters(run.model))
    return Trained(size.role, size.layers, size.heads, size.bias, size.attention, loss, count)


def _effort(size: Size, real: bool) -> Effort:
    return STEADY if real and size.attention == "dp-free" else SWIFT


def fresh(size: Size, x: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Random weights, but heads that begin at lags."""
    import equinox as eqx
    import jax

    from headcount.model.spec import ModelSpec

    heads, length, real = max(size.heads, 1), x.shape[1], y.dtype.kind == "f"
    effort = _effort(size, real)
    spec = ModelSpec(
        layers=max(size.layers, 1),
        heads=heads,
        width=effort.width_per_head * heads,
        hidden=effort.hidden,
        ffn="none" if size.linear else "relu",
        head_dim=0,
        attention=size.attention,
        bias=f"table:window={length}" if size.bias == "table" else size.bias,
        position=f"learned:longest={length}" if size.position == "learned" else size.position,
    )
    sizes = {"dim": x.shape[2]} if real else {"vocabulary": int(x.max()) + 1}
    made = spec.build(
        jax.random.key(seed), **sizes, outputs=1 if real else max(int(y.max()) + 1, 2)
    )
    if not any(size.starts) or size.bias != "table":
        return made
    bias: Any = made.layers[0].attention.bias
    table = np.array(bias.table)
    for head, lags in enumerate(size.starts):
        for k, lag in enumerate(lags):
            table[head, lag] += effort.start - APART * k
    return eqx.tree_at(lambda m: m.layers[0].attention.bias.table, made, jax.numpy.asarray(table))


def _device(x: np.ndarray, real: bool):
    import jax.numpy as jnp

    return jnp.asarray(x, jnp.float32 if real else jnp.int32)


def _loss(answers: np.ndarray, y: np.ndarray) -> float:
    """Mean squared error, or mean -log p."""
    if y.dtype.kind == "f":
        return float(((answers[:, 0] - y) ** 2).mean())
    scores = answers - answers.max(1, keepdims=True)
    return float((np.log(np.exp(scores).sum(1)) - scores[np.arange(len(y)), y]).mean())
