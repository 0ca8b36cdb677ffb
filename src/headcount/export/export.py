"""`export`: a model, or the folder of one, for PyTorch or ONNX.

An exported folder is a saved model with more files: the weights have the same names in PyTorch, so
`headcount.load` reads it like any other, and weights that were trained there come back
(`weights_back.py`).
"""

import enum
import shutil
import tempfile
from pathlib import Path
from typing import Any

import jax

from headcount.construct.construction import Construction
from headcount.core.arguments import checked
from headcount.core.errors import InputError, unknown
from headcount.core.files import refuse_occupied, whole_folder
from headcount.export.torch_file import look_inside, torch_file
from headcount.model.base import AbstractModel
from headcount.model.card import tokens_in_words, with_section
from headcount.model.save import class_names, described_arrays, load, read_config, save


class Form(enum.StrEnum):
    """What a model can be written for."""

    TORCH = "torch"
    ONNX = "onnx"


USE = {
    Form.TORCH: """## In PyTorch

```python
from model import load
model = load()
y = model(x)  # answers at every position
```

`look_inside.py` shows attention by head and the stream by name.
""",
    Form.ONNX: """## With ONNX Runtime

```python
import onnxruntime
session = onnxruntime.InferenceSession("model.onnx")
y = session.run(None, {"tokens": x})[0]  # answers at every position
```
""",
}


@checked
def export(model: Any, folder: str | Path, to: str = "torch") -> Path:
    """Write a model (or a construction, or the folder of a saved model) for another tool.

    `to` is "torch" (model.py, an `nn.Module` that needs torch and safetensors alone) or "onnx"
    (model.onnx, checked against ours with ONNX Runtime before anything is written).
    """
    if to not in list(Form):
        raise unknown("form to export to", str(to), [str(form) for form in Form])
    form, out = Form(to), Path(folder)
    refuse_occupied(out)
    with tempfile.TemporaryDirectory() as scratch:
        source = _saved(model, Path(scratch) / "saved")
        with jax.enable_x64(True):
            whole = load(source)  # refuses a broken folder, with the reason
        with whole_folder(out) as work:
            for file in ("config.json", "model.safetensors", "README.md", "run.py"):
                if (source / file).is_file():
                    shutil.copy(source / file, work / file)
            _write_torch(work, whole)
            if form is Form.ONNX:
                from headcount.export.onnx_file import write_onnx  # torch: an extra

                write_onnx(work, whole)
            readme = work / "README.md"
            page = readme.read_bytes().decode(errors="replace") if readme.exists() else ""
            readme.write_text(with_section(page, USE[form]).lstrip(), encoding="utf-8")
            for made in work.iterdir():
                made.chmod(0o644)
    return out


def _saved(model: Any, place: Path) -> Path:
    """The folder of a saved model."""
    if isinstance(model, str | Path):
        return Path(model)
    if isinstance(model, Construction):
        return model.save(place, model.target.kind)
    if not isinstance(model, AbstractModel):
        raise InputError(
            f"a {type(model).__name__}",
            "a model, a construction, or the folder of a saved model",
            "for example export(hc.load('folder'), 'out')",
        )
    return save(model, place)


def _write_torch(work: Path, model: AbstractModel) -> None:
    config = read_config(work)
    shapes = {name: shape for name, (_, shape) in described_arrays(config["model"]).items()}
    text = torch_file(class_names(config), tokens_in_words(model), shapes)
    (work / "model.py").write_text(text, encoding="utf-8")
    program = work / "run.py"
    inside = look_inside(config)
    # a folder that was saved by an earlier version has no example in its run.py
    if inside and program.exists() and b"def example()" in program.read_bytes():
        (work / "look_inside.py").write_text(inside, encoding="utf-8")
