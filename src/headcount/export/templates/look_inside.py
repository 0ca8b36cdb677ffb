"""What happens inside the model of this folder: attention by head, the stream by name, and what
changes when a head is switched off.
"""

import torch
from run import example

from model import load, run_with_cache

torch.set_grad_enabled(False)
model = load()
x = torch.from_numpy(example())  # the tokens that run.py tries
y, cache = run_with_cache(model, x)
print("answers", tuple(y.shape), "and what passes each hook point:")
for name, value in cache.items():
    print("   ", name, tuple(value.shape))

# attention by head: [head, row, token seen]; here the last row
for number in range(len(model.layers)):
    pattern = cache[f"layers.{number}.attention.hook_pattern"][0]
    for head, row in enumerate(pattern[:, -1]):
        lag = len(row) - 1 - int(row.argmax())
        print(f"layer {number + 1} head {head + 1}: most weight {row.max():.3f} at lag {lag}")

# the stream by name at the last row, after the sublayer that writes each part of it
for name, (where, written) in model.written.items():
    print(f"{name} ({written}):", cache[written][0, -1, where].tolist())

# a hook may also change what passes: without the first head of the first layer
point = model.layers[0].attention.hook_result
handle = point.register_forward_hook(
    lambda _, __, out: torch.cat([torch.zeros_like(out[:, :, :1]), out[:, :, 1:]], dim=2)
)
print("largest change without layer 1 head 1:", float((model(x) - y).abs().max()))
handle.remove()
