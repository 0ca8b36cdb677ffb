"""Every part of a model in PyTorch: what an exported `model.py` is picked from.

It shares no code with the model. A part's fields are those of `config.json`, so the names of
parameters are the same here and there; a class has the name of the class it stands for.
"""

import json
import math
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

HERE = Path(__file__).parent
EPSILON = 1e-5  # of norms


class Part(nn.Module):
    """A piece of the model. Arrays become parameters, parts become submodules, the rest stays."""

    def __init__(self, **fields):
        super().__init__()
        for name, value in fields.items():
            if isinstance(value, torch.Tensor):
                value = nn.Parameter(value)
            elif isinstance(value, list) and value and isinstance(value[0], nn.Module):
                value = nn.ModuleList(value)
            elif isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
                value = nn.ParameterList(value)
            setattr(self, name, value)


# Tokens to the stream


class LinearEmbedding(Part):
    """x -> W_E x + b_E for real tokens."""

    def forward(self, x):  # [B, N, d] -> [B, N, D]
        return self.position(x.to(self.weight.dtype) @ self.weight.T + self.offset)


class TokenEmbedding(Part):
    """A vector per integer token; the padding token -1 has the zero vector."""

    def forward(self, x):  # [B, N] -> [B, N, D]
        found = nn.functional.embedding(x.clamp(min=0), self.weight)
        return self.position(torch.where((x >= 0)[..., None], found, torch.zeros_like(found)))


class NoPosition(Part):
    """No absolute position."""

    def forward(self, stream):
        return stream


class Learned(Part):
    """A vector per position."""

    def forward(self, stream):
        return stream + self.table[: stream.shape[1]]


class Sinusoidal(Part):
    """sin(t theta_j), cos(t theta_j), theta_j = base^(-2j/D)."""

    def forward(self, stream):
        half = self.width // 2
        like = {"dtype": stream.dtype, "device": stream.device}
        theta = self.base ** (-torch.arange(half, **like) / half)
        angle = torch.arange(stream.shape[1], **like)[:, None] * theta
        return stream + torch.cat([angle.sin(), angle.cos()], dim=1)


# Biases: what a head's logit owes to the lag.  lag [*], position [*] (from 1) -> [H, *]


def per_head(values, lag):
    """[H] -> [H, 1, ...], one axis for each of the lag's."""
    return values.reshape(-1, *(1,) * lag.ndim)


class Decaying(Part):
    """A rate p >= 0 per head, stored plainly (|r|) or through softplus."""

    def p(self, lag):
        stored = per_head(self.rate, lag)
        return (
            stored.abs()
            if self.positive == "abs"
            else stored.clamp(min=0) + torch.log1p(torch.exp(-stored.abs()))
        )


class Lin(Decaying):
    """-p s"""

    first_lag = 0

    def logits(self, lag, position):
        return -self.p(lag) * lag


class Log(Decaying):
    """-p log s for s >= 1; lag 0 is not seen."""

    first_lag = 1

    def logits(self, lag, position):
        seen = -self.p(lag) * torch.log(lag.clamp(min=1).to(self.rate.dtype))
        return seen.masked_fill(lag < 1, -math.inf)


class Log1p(Decaying):
    """-p log(1 + s)"""

    first_lag = 0

    def logits(self, lag, position):
        return -self.p(lag) * torch.log1p(lag.to(self.rate.dtype))


class KerpleLog(Part):
    """-r1 log(1 + r2 s)"""

    first_lag = 0

    def logits(self, lag, position):
        rate, scale = per_head(self.rate, lag), per_head(self.scale, lag)
        return -rate.abs() * torch.log1p(scale.abs() * lag)


class KerplePower(Part):
    """-r1 s^r2, 0.01 <= r2 <= 2"""

    first_lag = 0

    def logits(self, lag, position):
        exponent = per_head(self.exponent, lag).abs().clamp(0.01, 2.0)
        power = torch.exp(exponent * torch.log(lag.to(self.rate.dtype).clamp(min=1e-30)))
        return -per_head(self.rate, lag).abs() * power.masked_fill(lag <= 0, 0.0)


class Alibi(Part):
    """-m s with fixed slopes m"""

    first_lag = 0

    def logits(self, lag, position):
        slopes = torch.tensor(self.slopes, dtype=torch.float64, device=lag.device)
        return -per_head(slopes, lag) * lag


class NoBias(Part):
    """0"""

    first_lag = 0

    def logits(self, lag, position):
        return torch.zeros((self.count, *lag.shape), device=lag.device)


class Peak(Part):
    """-p (s - T)^2"""

    first_lag = 0

    def logits(self, lag, position):
        return -per_head(self.rate, lag).abs() * (lag - per_head(self.centre, lag)) ** 2


class Table(Part):
    """A number per lag; nothing is seen beyond the table. Real lags are interpolated."""

    first_lag = 0

    def logits(self, lag, position):
        last = self.table.shape[1] - 1
        if not lag.is_floating_point():
            return self.table[:, lag.clamp(0, last)].masked_fill(lag > last, -math.inf)
        low = torch.floor(lag).clamp(0, last).long()
        part, above = lag - low, self.table[:, (low + 1).clamp(max=last)]
        between = (1 - part) * self.table[:, low] + part * above
        # an exact lag may have a neighbour at -inf
        found = torch.where(part == 0, self.table[:, low], between)
        return found.masked_fill(lag > last, -math.inf)


class T5(Part):
    """A number per bucket of lags: exact below B/2, then logarithmic up to `farthest`."""

    first_lag = 0

    def logits(self, lag, position):
        count = self.table.shape[1]
        exact = count // 2
        ratio = torch.log(lag.clamp(min=exact) / exact) / math.log(self.farthest / exact)
        far = (exact + torch.floor(ratio * (count - exact) + 1e-6).long()).clamp(max=count - 1)
        return self.table[:, torch.where(lag < exact, lag.long(), far)]


class Rope(Part):
    """q0' R(s) k0: a sum of cosines of the lag; with a dot product (q + q0)' R(s) (k + k0)."""

    first_lag = 0
    rotary = True

    def frequencies(self):
        half = self.query.shape[1] // 2
        steps = torch.arange(half, dtype=self.query.dtype, device=self.query.device)
        return self.base ** (-steps / half)

    def logits(self, lag, position):
        q1, q2 = self.query.chunk(2, dim=1)
        k1, k2 = self.key.chunk(2, dim=1)
        angle = lag[..., None] * self.frequencies()  # [*, q/2]
        along, across = q1 * k1 + q2 * k2, q1 * k2 - q2 * k1
        return torch.einsum("hj,...j->h...", along, angle.cos()) + torch.einsum(
            "hj,...j->h...", across, angle.sin()
        )

    def turned(self, x, rows):
        """Each pair of coordinates turned by t theta_j.  [B, R, H, q]"""
        angle = (rows[:, None] * self.frequencies())[:, None, :]
        a, b = x.chunk(2, dim=-1)
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Fire(Part):
    """A small network of psi(s) / psi(max(t, L)), psi(s) = log(1 + c s)."""

    first_lag = 0

    def logits(self, lag, position):
        stretch = self.stretch.abs() + 1e-6
        longest = torch.maximum(position.to(stretch.dtype), self.threshold.abs() + 1)
        share = torch.log1p(stretch * lag.clamp(min=0)) / torch.log1p(stretch * longest)
        neurons = torch.relu(share[..., None] * self.w_in + self.b_in)
        return torch.einsum("hm,...m->h...", self.w_out, neurons)


# Scores: what a head's logit owes to content.
# queries [B, R, D] (the stream at the rows), keys [B, N, D] -> [B or 1, H, R, N]


class DotFree(Part):
    """The bias alone."""

    def logits(self, queries, keys, rows, lag, position, bias):
        return bias.logits(lag, position)[None]


class DotProduct(Part):
    """<W_Q x_t, W_K x_(t-s)> + bias(s)"""

    def logits(self, queries, keys, rows, lag, position, bias):
        q = torch.einsum("brd,hqd->brhq", queries, self.w_query)
        k = torch.einsum("bnd,hqd->bnhq", keys, self.w_key)
        if getattr(bias, "rotary", False):
            every = torch.arange(keys.shape[1], device=keys.device)
            q, k = bias.turned(q + bias.query, rows), bias.turned(k + bias.key, every)
            return torch.einsum("brhq,bnhq->bhrn", q, k)
        return torch.einsum("brhq,bnhq->bhrn", q, k) + bias.logits(lag, position)


class TMX(Part):
    """bias(s) - bias(max(w.x_t, first lag))"""

    def logits(self, queries, keys, rows, lag, position, bias):
        asked = (queries @ self.direction.T).clamp(min=bias.first_lag)  # [B, R, H]
        every = bias.logits(asked, (rows[None, :, None] + 1).expand(asked.shape))  # [H, B, R, H]
        own = torch.diagonal(every, dim1=0, dim2=3).permute(0, 2, 1)  # [B, H, R]
        return bias.logits(lag, position)[None] - own[..., None]


class PeakTMX(Part):
    """-p (s - w.x_t)^2 + bias(s)"""

    def logits(self, queries, keys, rows, lag, position, bias):
        asked = (queries @ self.direction.T).permute(0, 2, 1)[..., None]  # [B, H, R, 1]
        rate = self.rate.abs()[:, None, None]
        return -rate * (lag - asked) ** 2 + bias.logits(lag, position)


# Normalisers: logits [B or 1, H, R, N], -inf in the future -> weights


def divided(logits, sink=None):
    """e^z / (sum e^z + e^sink); a row that sees nothing gives 0.  sink [H, R]"""
    sink = None if sink is None else sink.to(logits.dtype)
    top = logits.amax(-1) if sink is None else torch.maximum(logits.amax(-1), sink)
    shift = torch.where(torch.isfinite(top), top, torch.zeros_like(top)).detach()
    rise = torch.exp(logits - shift[..., None])
    total = rise.sum(-1) if sink is None else rise.sum(-1) + torch.exp(sink - shift)
    return rise / torch.where(total > 0, total, torch.ones_like(total))[..., None]


class Softmax(Part):
    """e^(z_s) / sum_j e^(z_j)"""

    def forward(self, logits, rows, bias):
        return divided(logits)


class NoNormaliser(Part):
    """e^(z_s), the exponent capped below overflow"""

    def forward(self, logits, rows, bias):
        return torch.exp(logits.clamp(max=0.7 * math.log(torch.finfo(logits.dtype).max)))


class SoftmaxSink(Part):
    """A learned logit of a column with value 0"""

    def forward(self, logits, rows, bias):
        return divided(logits, self.logit[:, None].expand(-1, len(rows)))


class SoftmaxBos(Part):
    """The sink is a zero-valued token before the first, with its natural bias plus c."""

    def forward(self, logits, rows, bias):
        return divided(logits, bias.logits(rows + 1, rows + 1) + self.logit[:, None])


class SoftmaxTail(Part):
    """The sink stands for lags not reached yet, up to `horizon`."""

    def forward(self, logits, rows, bias):
        lags = torch.arange(self.horizon, device=rows.device)
        mass = bias.logits(lags, torch.full_like(lags, self.horizon))  # [H, horizon]
        unreached = torch.logcumsumexp(mass.flip(1), dim=1).flip(1)
        beyond = torch.full_like(unreached[:, :1], -math.inf)
        position = (rows + 1).clamp(max=self.horizon)
        return divided(logits, torch.cat([unreached, beyond], dim=1)[:, position])


class Sigmoid(Part):
    """1 / (1 + e^-(z_s + c)), each lag by itself"""

    def forward(self, logits, rows, bias):
        return torch.sigmoid(logits + self.offset[:, None, None])


class Attention(Part):
    """sum_h W_O^h W_V^h sum_s w_h(t, s) x_(t-s)

    Hook points: hook_pattern [B, H, R, N], hook_value [B, N, H, v], hook_result [B, R, H, D].
    """

    def __init__(self, **fields):
        super().__init__(**fields)
        self.hook_pattern, self.hook_value = nn.Identity(), nn.Identity()
        self.hook_result = nn.Identity()

    def forward(self, x, rows):  # [B, N, D], [R] -> [B, R, D]
        columns = torch.arange(x.shape[1], device=x.device)
        lag = (rows[:, None] - columns[None, :]).clamp(min=0)  # [R, N]
        position = (rows[:, None] + 1).expand(lag.shape)
        logits = self.score.logits(x[:, rows], x, rows, lag, position, self.bias)
        future = columns[None, :] > rows[:, None]
        logits = logits.to(x.dtype).masked_fill(future, -math.inf)
        pattern = self.normaliser(logits, rows, self.bias)
        pattern = self.hook_pattern(pattern.expand(x.shape[0], -1, -1, -1))
        values = self.hook_value(torch.einsum("bnd,hvd->bnhv", x, self.w_value))
        mixed = torch.einsum("bhrn,bnhv->brhv", pattern, values)
        result = self.hook_result(torch.einsum("brhv,hdv->brhd", mixed, self.w_out))
        return result.sum(2)


# Feed-forward networks, the same at every row


class ReLU(Part):
    """sum_k a_k relu(b_k.x + c_k)"""

    def forward(self, x):
        return torch.relu(x @ self.w_in.T + self.offset) @ self.w_out.T


class GELU(Part):
    """sum_k a_k gelu(b_k.x + c_k), exact form"""

    def forward(self, x):
        return nn.functional.gelu(x @ self.w_in.T + self.offset) @ self.w_out.T


class SwiGLU(Part):
    """W_2 (swish(W_g x) * W_1 x)"""

    def forward(self, x):
        return (nn.functional.silu(x @ self.w_gate.T) * (x @ self.w_in.T)) @ self.w_out.T


class NoFFN(Part):
    """Nothing, or a linear map where an answer is read out."""

    def forward(self, x):
        return torch.zeros_like(x) if self.w_out is None else x @ self.w_out.T


class Precision(Part):
    """Another network, its outputs rounded to whole numbers or to logs of them; gradients pass."""

    def forward(self, x):
        z = self.inner(x)
        if self.rounding == "lin":
            rounded = torch.floor(z + 0.5)
        else:
            whole = torch.floor(torch.exp(z.clamp(max=80.0)) + 0.5)
            rounded = torch.log(whole.clamp(min=1))
        return z + (rounded - z).detach()


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
        return torch.zeros_like(x)


class Scale(Part):
    """LayerNorm: (x - mean) / deviation, then scale and shift."""

    def forward(self, x):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale, self.offset, EPSILON)


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
        return x * torch.rsqrt((x**2).mean(-1, keepdim=True) + EPSILON) * self.scale


class Sandwich(Norm):
    """x + LN(f(LN(x)))"""

    def before(self, x):
        return self.inner(x)

    def after(self, x):
        return self.exit(x)


# Whole models: tokens -> answers at some rows (counted from 0), by default at all


class Layer(Part):
    """X + Attn(X), then + FFN; a readout layer's FFN replaces the stream by its output.

    Hook points of the stream at the rows: hook_pre, hook_mid (after attention), hook_post.
    """

    def __init__(self, **fields):
        super().__init__(**fields)
        self.hook_pre, self.hook_mid, self.hook_post = nn.Identity(), nn.Identity(), nn.Identity()

    def forward(self, x, rows):  # [B, N, D], [R] -> [B, R, D or o]
        first, second = self.attention_norm, self.ffn_norm
        attended = first.after(self.attention(first.before(x), rows))
        x = self.hook_mid(first.outer(first.kept(self.hook_pre(x[:, rows])) + attended))
        update = self.ffn(second.before(x))
        return self.hook_post(
            second.outer(second.kept(x) + second.after(update)) if self.residual else update
        )


class Transformer(Part):
    """An embedding, layers, a readout. Only the last layer is computed at the rows alone."""

    def forward(self, x, rows=None):  # [B, N, d] or [B, N] -> [B, R, o]
        stream = self.embedding(x)
        every = torch.arange(stream.shape[1], device=stream.device)
        # negative rows count from the end
        rows = every if rows is None else every[torch.as_tensor(rows, device=stream.device)]
        for layer in self.layers[:-1]:
            stream = layer(stream, every)
        out = self.layers[-1](stream, rows)
        if self.final_norm is not None:
            out = self.final_norm.before(out)
        return out if self.unembedding is None else out @ self.unembedding.T


class Heads(Part):
    """Bare heads on the tokens themselves."""

    def forward(self, x, rows=None):
        every = torch.arange(x.shape[1], device=x.device)
        x = x.to(self.attention.w_value.dtype)
        return self.attention(x, every if rows is None else every[torch.as_tensor(rows)])


def at(x, rows):
    """Some rows of [B, N, o], or all."""
    return x if rows is None else x[:, torch.as_tensor(rows)]


class GRU(Part):
    """Gated recurrent unit, then a linear readout."""

    def forward(self, x, rows=None):
        gates = self.embedding(x) @ self.w_input.T + self.offset
        state, states = gates.new_zeros(len(gates), self.w_state.shape[1]), []
        for gate in gates.unbind(1):
            reset_x, update_x, candidate_x = gate.chunk(3, dim=-1)
            reset_h, update_h, candidate_h = (state @ self.w_state.T).chunk(3, dim=-1)
            update = torch.sigmoid(update_x + update_h)
            candidate = torch.tanh(candidate_x + torch.sigmoid(reset_x + reset_h) * candidate_h)
            state = (1 - update) * candidate + update * state
            states.append(state)
        return at(torch.stack(states, 1) @ self.readout.T, rows)


class LSTM(Part):
    """Long short-term memory, then a linear readout."""

    def forward(self, x, rows=None):
        gates = self.embedding(x) @ self.w_input.T + self.offset
        hidden = cell = gates.new_zeros(len(gates), self.w_state.shape[1])
        states = []
        for gate in gates.unbind(1):
            parts = (gate + hidden @ self.w_state.T).chunk(4, dim=-1)
            enter, forget, leave = (torch.sigmoid(parts[i]) for i in (0, 1, 3))
            cell = forget * cell + enter * torch.tanh(parts[2])
            hidden = leave * torch.tanh(cell)
            states.append(hidden)
        return at(torch.stack(states, 1) @ self.readout.T, rows)


class DiagonalSSM(Part):
    """Decaying complex modes, a skip, a ReLU layer, a readout."""

    def forward(self, x, rows=None):
        u = self.embedding(x)  # [B, N, D]
        decay = torch.exp(-torch.exp(self.log_decay))  # [D, S]
        turn_real, turn_imag = decay * self.frequency.cos(), decay * self.frequency.sin()
        gain = torch.sqrt(1 - decay**2)
        real = imag = u.new_zeros(len(u), *decay.shape)
        filtered = []
        for token in u.unbind(1):
            real, imag = (
                turn_real * real - turn_imag * imag + gain * token[:, :, None],
                turn_real * imag + turn_imag * real,
            )
            filtered.append((real * self.c_real).sum(-1) - (imag * self.c_imag).sum(-1))
        y = torch.stack(filtered, 1) + self.skip * u
        return at(torch.relu(y @ self.w_in.T + self.offset) @ self.readout.T, rows)


class CausalConvolution(Part):
    """Dilated causal convolutions with residuals, then a linear readout."""

    def forward(self, x, rows=None):
        u = self.embedding(x)  # [B, N, D]
        length = u.shape[1]
        for depth, (kernel, offset) in enumerate(zip(self.kernels, self.offsets, strict=True)):
            size = len(kernel)
            dilation = size**depth
            padded = nn.functional.pad(u, (0, 0, (size - 1) * dilation, 0))
            starts = [(size - 1 - k) * dilation for k in range(size)]  # tap k is lag k * dilation
            taps = [padded[:, s : s + length] @ kernel[k].T for k, s in enumerate(starts)]
            u = u + torch.relu(sum(taps) + offset)
        return at(u @ self.readout.T, rows)


class LinearFilter(Part):
    """A free matrix per lag and a constant."""

    def forward(self, x, rows=None):
        x = x.to(self.weight.dtype)
        taps, length = len(self.weight), x.shape[1]
        padded = nn.functional.pad(x, (0, 0, taps - 1, 0))
        starts = [taps - 1 - k for k in range(taps)]  # tap k is lag k
        total = sum(padded[:, s : s + length] @ self.weight[k].T for k, s in enumerate(starts))
        return at(total + self.offset, rows)


class GatedLayer(Part):
    """S_t = diag(a_t) S_{t-1} + k_t v_t^T, out_t = q_t S_t, then a ReLU network."""

    def forward(self, u):  # [B, N, D]
        keys = len(self.gate)
        before = nn.functional.pad(u, (0, 0, 1, 0))[:, :-1]
        joined = u @ self.w_in[0].T + before @ self.w_in[1].T
        sizes = (keys, keys, keys, joined.shape[-1] - 3 * keys)
        query, key, gate, value = joined.split(sizes, dim=-1)
        keep = torch.sigmoid(gate + self.gate)
        state, found = u.new_zeros(len(u), keys, sizes[3]), []
        for t in range(u.shape[1]):
            added = key[:, t, :, None] * value[:, t, None, :] / keys**0.5
            state = keep[:, t, :, None] * state + added
            found.append((query[:, t, None, :] @ state)[:, 0])
        u = u + torch.stack(found, 1) @ self.w_out.T
        return u + torch.relu(u @ self.w_up.T + self.offset) @ self.w_down.T


class GatedRecurrence(Part):
    """Gated linear recurrences, then a linear readout."""

    def forward(self, x, rows=None):
        u = self.embedding(x)
        for layer in self.layers:
            u = layer(u)
        return at(u @ self.readout.T, rows)


# Reading and writing the folder

# Filled in for the model at hand.
PARTS = {}


def rebuilt(config, path, weights):
    """The parts that config.json names, with their weights."""
    if isinstance(config, list):
        return [rebuilt(item, f"{path}.{i}", weights) for i, item in enumerate(config)]
    if not isinstance(config, dict):
        return config
    if "array" in config:
        # a half-precision model is computed in float32
        found = weights[path]
        return found.float() if found.dtype in (torch.bfloat16, torch.float16) else found
    fields = {
        name: rebuilt(value, f"{path}.{name}".lstrip("."), weights)
        for name, value in config.items()
        if name != "part"
    }
    return PARTS[config["part"]](**fields)


def load(folder=HERE):
    """The model of this folder, an `nn.Module` in evaluation mode."""
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    model = rebuilt(config["model"], "", load_file(Path(folder) / "model.safetensors"))
    named = config.get("spaces", [])
    model.spaces = {s["name"]: slice(*s["coordinates"]) for s in named}
    after = {"attention": "hook_mid", "ffn": "hook_post"}  # where a subspace can be read first
    model.written = {
        s["name"]: (model.spaces[s["name"]], f"layers.{s['layer'] - 1}.{after[s['part']]}")
        for s in named
    }
    return model.eval()


def save(model, path):
    """Its weights as a safetensors file, for `headcount export DIR --weights PATH`."""
    save_file({name: w.detach().contiguous() for name, w in model.state_dict().items()}, path)


def run_with_cache(model, x, rows=None):
    """Answers, and what passed each hook point: cache["layers.0.attention.hook_pattern"]."""
    cache = {}
    points = [(n, m) for n, m in model.named_modules() if n.split(".")[-1].startswith("hook_")]
    handles = [
        module.register_forward_hook(lambda _, __, out, name=name: cache.__setitem__(name, out))
        for name, module in points
    ]
    try:
        return model(x, rows), cache
    finally:
        for handle in handles:
            handle.remove()
