"""Every part of a model in plain NumPy float64: what `run.py` of a saved model is picked from.

It shares no code with the model. A part's fields are those of `config.json`; a class has the name
of the class it stands for.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
EPSILON = 1e-5  # of norms


class Part:
    """A piece of the model; its fields are named in config.json."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


# Tokens to the stream


class LinearEmbedding(Part):
    """x -> W_E x + b_E for real tokens."""

    def stream(self, x):  # [N, d] -> [N, D]
        return self.position.added(x @ self.weight.T + self.offset)


class TokenEmbedding(Part):
    """A vector per integer token; the padding token -1 has the zero vector."""

    def stream(self, x):  # [N] -> [N, D]
        return self.position.added(np.where((x >= 0)[:, None], self.weight[np.maximum(x, 0)], 0.0))


class NoPosition(Part):
    """No absolute position."""

    def added(self, stream):
        return stream


class Learned(Part):
    """A vector per position."""

    def added(self, stream):
        if len(stream) > len(self.table):
            raise SystemExit(f"error: {len(stream)} tokens; expected at most {len(self.table)}")
        return stream + self.table[: len(stream)]


class Sinusoidal(Part):
    """sin(t theta_j), cos(t theta_j), theta_j = base^(-2j/D)."""

    def added(self, stream):
        half = self.width // 2
        angle = np.arange(len(stream))[:, None] * self.base ** (-np.arange(half) / half)
        return stream + np.concatenate([np.sin(angle), np.cos(angle)], axis=1)


# Biases: what a head's logit owes to the lag.  lag [*], position [*] (from 1) -> [H, *]


def per_head(values, lag):
    """[H] -> [H, 1, ...], one axis for each of the lag's."""
    return np.asarray(values).reshape(-1, *(1,) * np.ndim(lag))


class Decaying(Part):
    """A rate p >= 0 per head, stored plainly (|r|) or through softplus."""

    def p(self, lag):
        stored = per_head(self.rate, lag)
        return np.abs(stored) if self.positive == "abs" else np.logaddexp(stored, 0.0)


class Lin(Decaying):
    """-p s"""

    first_lag = 0

    def logits(self, lag, position):
        return -self.p(lag) * lag


class Log(Decaying):
    """-p log s for s >= 1; lag 0 is not seen."""

    first_lag = 1

    def logits(self, lag, position):
        return np.where(lag >= 1, -self.p(lag) * np.log(np.maximum(lag, 1)), -np.inf)


class Log1p(Decaying):
    """-p log(1 + s)"""

    first_lag = 0

    def logits(self, lag, position):
        return -self.p(lag) * np.log1p(lag)


class KerpleLog(Part):
    """-r1 log(1 + r2 s)"""

    first_lag = 0

    def logits(self, lag, position):
        rate, scale = per_head(self.rate, lag), per_head(self.scale, lag)
        return -np.abs(rate) * np.log1p(np.abs(scale) * lag)


class KerplePower(Part):
    """-r1 s^r2, 0.01 <= r2 <= 2"""

    first_lag = 0

    def logits(self, lag, position):
        exponent = np.clip(np.abs(per_head(self.exponent, lag)), 0.01, 2.0)
        power = np.where(lag > 0, np.maximum(lag, 1e-30) ** exponent, 0.0)
        return -np.abs(per_head(self.rate, lag)) * power


class Alibi(Part):
    """-m s with fixed slopes m"""

    first_lag = 0

    def logits(self, lag, position):
        return -per_head(self.slopes, lag) * lag


class NoBias(Part):
    """0"""

    first_lag = 0

    def logits(self, lag, position):
        return np.zeros((self.count, *np.shape(lag)))


class Peak(Part):
    """-p (s - T)^2"""

    first_lag = 0

    def logits(self, lag, position):
        return -np.abs(per_head(self.rate, lag)) * (lag - per_head(self.centre, lag)) ** 2


class Table(Part):
    """A number per lag; nothing is seen beyond the table. Real lags are interpolated."""

    first_lag = 0

    def logits(self, lag, position):
        last = self.table.shape[1] - 1
        low = np.clip(np.floor(lag), 0, last).astype(int)
        part, above = lag - low, self.table[:, np.minimum(low + 1, last)]
        with np.errstate(invalid="ignore"):  # an exact lag may have a neighbour at -inf
            between = (1 - part) * self.table[:, low] + part * above
        return np.where(lag <= last, np.where(part == 0, self.table[:, low], between), -np.inf)


class T5(Part):
    """A number per bucket of lags: exact below B/2, then logarithmic up to `farthest`."""

    first_lag = 0

    def logits(self, lag, position):
        count = self.table.shape[1]
        exact = count // 2
        ratio = np.log(np.maximum(lag, exact) / exact) / math.log(self.farthest / exact)
        far = exact + np.floor(ratio * (count - exact) + 1e-6).astype(int)
        bucket = np.where(lag < exact, np.asarray(lag).astype(int), np.minimum(far, count - 1))
        return self.table[:, bucket]


class Rope(Part):
    """q0' R(s) k0: a sum of cosines of the lag; with a dot product (q + q0)' R(s) (k + k0)."""

    first_lag = 0
    rotary = True

    def frequencies(self):
        half = self.query.shape[1] // 2
        return self.base ** (-np.arange(half) / half)

    def logits(self, lag, position):
        q1, q2 = np.split(self.query, 2, axis=1)
        k1, k2 = np.split(self.key, 2, axis=1)
        angle = np.asarray(lag)[..., None] * self.frequencies()  # [*, q/2]
        along, across = q1 * k1 + q2 * k2, q1 * k2 - q2 * k1
        return np.einsum("hj,...j->h...", along, np.cos(angle)) + np.einsum(
            "hj,...j->h...", across, np.sin(angle)
        )

    def turned(self, x):
        """Each pair of coordinates turned by t theta_j.  [N, H, q]"""
        angle = np.arange(len(x))[:, None, None] * self.frequencies()
        a, b = np.split(x, 2, axis=-1)
        cos, sin = np.cos(angle), np.sin(angle)
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


class Fire(Part):
    """A small network of psi(s) / psi(max(t, L)), psi(s) = log(1 + c s)."""

    first_lag = 0

    def logits(self, lag, position):
        stretch = np.abs(self.stretch) + 1e-6
        longest = np.maximum(position, np.abs(self.threshold) + 1)
        share = np.log1p(stretch * np.maximum(lag, 0)) / np.log1p(stretch * longest)
        neurons = np.maximum(share[..., None] * self.w_in + self.b_in, 0)
        return np.einsum("hm,...m->h...", self.w_out, neurons)


# Scores: what a head's logit owes to content.  stream [N, D] -> [H, N, N]


class DotFree(Part):
    """The bias alone."""

    def logits(self, x, lag, position, bias):
        return bias.logits(lag, position)


class DotProduct(Part):
    """<W_Q x_t, W_K x_(t-s)> + bias(s)"""

    def logits(self, x, lag, position, bias):
        q, k = (np.einsum("nd,hqd->nhq", x, w) for w in (self.w_query, self.w_key))
        if getattr(bias, "rotary", False):
            q, k = bias.turned(q + bias.query), bias.turned(k + bias.key)
            return np.einsum("rhq,nhq->hrn", q, k)
        return np.einsum("rhq,nhq->hrn", q, k) + bias.logits(lag, position)


class TMX(Part):
    """bias(s) - bias(max(w.x_t, first lag))"""

    def logits(self, x, lag, position, bias):
        asked = np.maximum(x @ self.direction.T, bias.first_lag)  # [N, H]
        every = bias.logits(asked, np.broadcast_to(position[:, :1], asked.shape))  # [H, N, H]
        return bias.logits(lag, position) - np.einsum("hrh->hr", every)[..., None]


class PeakTMX(Part):
    """-p (s - w.x_t)^2 + bias(s)"""

    def logits(self, x, lag, position, bias):
        asked = (x @ self.direction.T).T[..., None]  # [H, N, 1]
        rate = np.abs(self.rate)[:, None, None]
        return -rate * (lag - asked) ** 2 + bias.logits(lag, position)


# Normalisers: logits [H, N, N], -inf in the future -> weights


def divided(logits, sink=None):
    """e^z / (sum e^z + e^sink); a row that sees nothing gives 0.  sink [H, N]"""
    top = logits.max(-1) if sink is None else np.maximum(logits.max(-1), sink)
    shift = np.where(np.isfinite(top), top, 0.0)
    rise = np.exp(logits - shift[..., None])
    total = rise.sum(-1) + (0.0 if sink is None else np.exp(sink - shift))
    return rise / np.where(total > 0, total, 1.0)[..., None]


class Softmax(Part):
    """e^(z_s) / sum_j e^(z_j)"""

    def weights(self, logits, bias):
        return divided(logits)


class NoNormaliser(Part):
    """e^(z_s), the exponent capped below overflow"""

    def weights(self, logits, bias):
        return np.exp(np.minimum(logits, 0.7 * math.log(np.finfo(np.float64).max)))


class SoftmaxSink(Part):
    """A learned logit of a column with value 0"""

    def weights(self, logits, bias):
        return divided(logits, np.broadcast_to(self.logit[:, None], logits.shape[:2]))


class SoftmaxBos(Part):
    """The sink is a zero-valued token before the first, with its natural bias plus c."""

    def weights(self, logits, bias):
        position = np.arange(1, logits.shape[1] + 1)
        return divided(logits, bias.logits(position, position) + self.logit[:, None])


class SoftmaxTail(Part):
    """The sink stands for lags not reached yet, up to `horizon`."""

    def weights(self, logits, bias):
        lags = np.arange(self.horizon)
        mass = bias.logits(lags, np.full_like(lags, self.horizon))  # [H, horizon]
        unreached = np.logaddexp.accumulate(mass[:, ::-1], axis=1)[:, ::-1]
        unreached = np.concatenate([unreached, np.full((len(mass), 1), -np.inf)], axis=1)
        position = np.minimum(np.arange(1, logits.shape[1] + 1), self.horizon)
        return divided(logits, unreached[:, position])


class Sigmoid(Part):
    """1 / (1 + e^-(z_s + c)), each lag by itself"""

    def weights(self, logits, bias):
        z = logits + self.offset[:, None, None]
        return np.where(logits == -np.inf, 0.0, 1 / (1 + np.exp(-np.maximum(z, -700.0))))


class Attention(Part):
    """sum_h W_O^h W_V^h sum_s w_h(t, s) x_(t-s)"""

    def pattern(self, x):
        """The weights of every head.  [N, D] -> [H, N, N], row t, column of the token seen"""
        rows = np.arange(len(x))
        past = rows[None, :] <= rows[:, None]
        lag = np.maximum(rows[:, None] - rows[None, :], 0)
        position = np.broadcast_to(rows[:, None] + 1, lag.shape)
        logits = self.score.logits(x, lag, position, self.bias)
        return self.normaliser.weights(np.where(past, logits, -np.inf), self.bias)

    def __call__(self, x):  # [N, D] -> [N, D]
        values = np.einsum("nd,hvd->hnv", x, self.w_value)
        return np.einsum("hrv,hdv->rd", self.pattern(x) @ values, self.w_out)


# Feed-forward networks, the same at every row


class ReLU(Part):
    """sum_k a_k relu(b_k.x + c_k)"""

    def __call__(self, x):
        return np.maximum(x @ self.w_in.T + self.offset, 0) @ self.w_out.T


class GELU(Part):
    """sum_k a_k gelu(b_k.x + c_k), exact form"""

    def __call__(self, x):
        z = x @ self.w_in.T + self.offset
        return (z * 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(z / math.sqrt(2)))) @ (
            self.w_out.T
        )


class SwiGLU(Part):
    """W_2 (swish(W_g x) * W_1 x)"""

    def __call__(self, x):
        gate = x @ self.w_gate.T
        return (gate / (1 + np.exp(-gate)) * (x @ self.w_in.T)) @ self.w_out.T


class NoFFN(Part):
    """Nothing, or a linear map where an answer is read out."""

    def __call__(self, x):
        return np.zeros_like(x) if self.w_out is None else x @ self.w_out.T


class Precision(Part):
    """Another network, its outputs rounded to whole numbers or to logs of them."""

    def __call__(self, x):
        z = self.inner(x)
        if self.rounding == "lin":
            return np.floor(z + 0.5)
        return np.log(np.maximum(np.floor(np.exp(np.minimum(z, 80.0)) + 0.5), 1))


# Norms: a sublayer f acts as outer(x + after(f(before(x))))


class Norm(Part):
    """Four places around a sublayer; the identity where nothing is done."""

    def before(self, x):
        return x

    def after(self, x):
        return x

    def kept(self, x):
        return x

    def outer(self, x):
        return x


class NoNorm(Norm):
    """x + f(x)"""


class NoResidual(Norm):
    """f(x)"""

    def kept(self, x):
        return np.zeros_like(x)


class Scale(Part):
    """LayerNorm: (x - mean) / deviation, then scale and shift."""

    def __call__(self, x):
        centred = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return centred / deviation * self.scale + self.offset


class PreLN(Norm):
    """x + f(LN(x))"""

    def before(self, x):
        return self.inner(x)


class PostLN(Norm):
    """LN(x + f(x))"""

    def outer(self, x):
        return self.last(x)


class PreRMS(Norm):
    """x + f(x / rms(x) * g)"""

    def before(self, x):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON) * self.scale


class Sandwich(Norm):
    """x + LN(f(LN(x)))"""

    def before(self, x):
        return self.inner(x)

    def after(self, x):
        return self.exit(x)


# Whole models: one sequence -> answers at every position


class Layer(Part):
    """X + Attn(X), then + FFN; a readout layer's FFN replaces the stream by its output."""

    def __call__(self, x):
        first, second = self.attention_norm, self.ffn_norm
        x = first.outer(first.kept(x) + first.after(self.attention(first.before(x))))
        update = self.ffn(second.before(x))
        return second.outer(second.kept(x) + second.after(update)) if self.residual else update


class Transformer(Part):
    """An embedding, layers, a readout."""

    def __call__(self, x):  # [N, d] or [N] -> [N, o]
        stream = self.embedding.stream(x)
        for layer in self.layers:
            stream = layer(stream)
        if self.final_norm is not None:
            stream = self.final_norm.before(stream)
        return stream if self.unembedding is None else stream @ self.unembedding.T


class Heads(Part):
    """Bare heads on the tokens themselves."""

    def __call__(self, x):
        return self.attention(x)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


class GRU(Part):
    """Gated recurrent unit, then a linear readout."""

    def __call__(self, x):
        state, states = np.zeros(self.w_state.shape[1]), []
        for gate in self.embedding.stream(x) @ self.w_input.T + self.offset:
            reset_x, update_x, candidate_x = np.split(gate, 3)
            reset_h, update_h, candidate_h = np.split(self.w_state @ state, 3)
            update = sigmoid(update_x + update_h)
            candidate = np.tanh(candidate_x + sigmoid(reset_x + reset_h) * candidate_h)
            state = (1 - update) * candidate + update * state
            states.append(state)
        return np.array(states) @ self.readout.T


class LSTM(Part):
    """Long short-term memory, then a linear readout."""

    def __call__(self, x):
        hidden = cell = np.zeros(self.w_state.shape[1])
        states = []
        for gate in self.embedding.stream(x) @ self.w_input.T + self.offset:
            enter, forget, candidate, leave = np.split(gate + self.w_state @ hidden, 4)
            cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(candidate)
            hidden = sigmoid(leave) * np.tanh(cell)
            states.append(hidden)
        return np.array(states) @ self.readout.T


class DiagonalSSM(Part):
    """Decaying complex modes, a skip, a ReLU layer, a readout."""

    def __call__(self, x):
        u = self.embedding.stream(x)  # [N, D]
        decay = np.exp(-np.exp(self.log_decay))  # [D, S]
        turn, gain = decay * np.exp(1j * self.frequency), np.sqrt(1 - decay**2)
        state, filtered = np.zeros(decay.shape, complex), []
        for token in u:
            state = turn * state + gain * token[:, None]
            filtered.append((state.real * self.c_real - state.imag * self.c_imag).sum(-1))
        y = np.array(filtered) + self.skip * u
        return np.maximum(y @ self.w_in.T + self.offset, 0) @ self.readout.T


class CausalConvolution(Part):
    """Dilated causal convolutions with residuals, then a linear readout."""

    def __call__(self, x):
        u = self.embedding.stream(x)  # [N, D]
        for depth, (kernel, offset) in enumerate(zip(self.kernels, self.offsets, strict=True)):
            total = np.zeros_like(u) + offset
            for k, matrix in enumerate(kernel):
                lag = k * len(kernel) ** depth
                total[lag:] += u[: max(len(u) - lag, 0)] @ matrix.T
            u = u + np.maximum(total, 0)
        return u @ self.readout.T


class LinearFilter(Part):
    """A free matrix per lag and a constant."""

    def __call__(self, x):
        total = np.zeros((len(x), len(self.offset))) + self.offset
        for lag, matrix in enumerate(self.weight):
            total[lag:] += x[: max(len(x) - lag, 0)] @ matrix.T
        return total


class GatedLayer(Part):
    """S_t = diag(a_t) S_{t-1} + k_t v_t^T, out_t = q_t S_t, then a ReLU network."""

    def __call__(self, u):
        keys, out = len(self.gate), []
        state, last = np.zeros((keys, self.w_out.shape[1])), np.zeros(u.shape[1])
        for token in u:
            joined = self.w_in[0] @ token + self.w_in[1] @ last
            query, key, gate, value = np.split(joined, (keys, 2 * keys, 3 * keys))
            keep = sigmoid(gate + self.gate)[:, None]
            state = keep * state + np.outer(key, value) / np.sqrt(keys)
            mixed = token + self.w_out @ (query @ state)
            hidden = np.maximum(self.w_up @ mixed + self.offset, 0)
            out.append(mixed + self.w_down @ hidden)
            last = token
        return np.array(out)


class GatedRecurrence(Part):
    """Gated linear recurrences, then a linear readout."""

    def __call__(self, x):
        u = self.embedding.stream(x)  # [N, D]
        for layer in self.layers:
            u = layer(u)
        return u @ self.readout.T


# Reading the folder

# Filled in for the model at hand: its parts, and what tokens it takes.
PARTS = {}
VOCABULARY = DIM = LENGTH = 0
FIRST = 1  # the first position with a promise
EXAMPLE = []


def arrays(path):
    """A safetensors file: the length of a header, the header in JSON, the numbers."""
    raw = Path(path).read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    types = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I32": "<i4", "I64": "<i8"}
    found = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name != "__metadata__":
            low, high = entry["data_offsets"]
            values = np.frombuffer(raw[start + low : start + high], types[entry["dtype"]])
            if entry["dtype"] == "BF16":  # the upper half of a float32
                values = (values.astype("<u4") << 16).view("<f4")
            found[name] = values.reshape(entry["shape"]).astype(np.float64)
    return found


def rebuilt(config, path, weights):
    """The parts that config.json names, with their weights."""
    if isinstance(config, list):
        return [rebuilt(item, f"{path}.{i}", weights) for i, item in enumerate(config)]
    if not isinstance(config, dict):
        return config
    if "array" in config:
        return weights[path]
    fields = {
        name: rebuilt(value, f"{path}.{name}".lstrip("."), weights)
        for name, value in config.items()
        if name != "part"
    }
    return PARTS[config["part"]](**fields)


def load(folder=HERE):
    """The model of a folder: a function from one sequence to its answers at every position."""
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    return rebuilt(config["model"], "", arrays(Path(folder) / "model.safetensors"))


def answers(x, folder=HERE):
    """[B, N, d] real or [B, N] integer tokens -> [B, N, o], computed in float64."""
    x = np.asarray(x)
    model = load(folder)
    tokens = x.astype(int) if np.issubdtype(x.dtype, np.integer) else x.astype(np.float64)
    return np.stack([model(sequence) for sequence in tokens])


def example():
    """A sequence to try: of the memory that the model was made for where it is known, else of
    random tokens.  [1, N, d] or [1, N]
    """
    draw = np.random.default_rng(0)
    if EXAMPLE:
        return np.array([EXAMPLE])
    if VOCABULARY:
        return draw.integers(0, VOCABULARY, (1, LENGTH))
    return draw.uniform(-1, 1, (1, LENGTH, DIM)).round(2)


def main():
    """python run.py TOKENS.npy [ANSWERS.npy]; without a file, an example."""
    if len(sys.argv) > 1:
        x, shown = np.load(sys.argv[1]), slice(None)
    else:
        x, shown = example(), slice(-8, None)
        kind = "sequence of the memory" if EXAMPLE else "random sequence"
        print(f"a {kind}, {x.shape[1]} tokens; the last of them and their answers:")
    if x.ndim != (2 if VOCABULARY else 3):
        wanted = "[sequences, tokens]" if VOCABULARY else f"[sequences, tokens, {DIM}]"
        print(f"error: an array of shape {[*x.shape]}; expected {wanted}", file=sys.stderr)
        sys.exit(2)
    y = answers(x)
    if len(sys.argv) > 2:
        np.save(sys.argv[2], y)
    for number, (tokens, found) in enumerate(zip(x, y, strict=True), 1):
        if len(x) > 1:
            print(f"sequence {number}")
        for t in range(len(tokens))[shown]:
            early = "  (not promised so early)" if t + 1 < FIRST else ""
            print(f"{t + 1:6} token {plain(tokens[t])}  answer {plain(found[t])}{early}")


def plain(values):
    """Numbers on one line, four decimals each."""
    return " ".join(f"{value:.4g}" for value in np.ravel(values).round(4) + 0)
