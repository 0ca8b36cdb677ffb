"""`headcount export MODEL --to torch -o DIR`: a saved model for PyTorch or ONNX, and back."""

from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.common import print_json, tell
from headcount.cli.options import JSON
from headcount.core.errors import require, unknown

FORMS = ("torch", "onnx", "headcount")
USE = {
    "torch": "In that folder: from model import load; model = load(); y = model(x). Try python"
    " look_inside.py there; README.md tells the rest.",
    "onnx": "ONNX Runtime gave our answers. In that folder: import onnxruntime; session ="
    ' onnxruntime.InferenceSession("model.onnx"); y = session.run(None, {{"tokens": x}})[0]',
    "headcount": 'Load it: import headcount as hc; model = hc.load("{out}")',
}


def export(
    model: Annotated[Path, typer.Argument(help="the folder of a saved model")],
    to: Annotated[
        str,
        typer.Option(help="torch (one readable file), onnx, or headcount (trained weights back)"),
    ] = "torch",
    out: Annotated[Path, typer.Option("-o", "--out", help="folder to write")] = Path("exported"),
    weights: Annotated[
        Path | None,
        typer.Option(help="with --to headcount: a safetensors file of a trained state dict"),
    ] = None,
    json: JSON = False,
) -> None:
    """A saved model as one readable PyTorch file with its weights, or as ONNX; or weights that were
    trained in PyTorch back as a model of ours.
    """
    if to not in FORMS:
        raise unknown("form to export to", to, FORMS)
    require(
        (weights is not None) == (to == "headcount"),
        f"--to {to} {'with' if weights else 'without'} --weights",
        "--weights with --to headcount and nowhere else",
        "see headcount export --help",
    )
    if to == "headcount":
        _back(model, Path(str(weights)), out)
    else:
        from headcount.export import export as exported  # jax: not needed for --help

        exported(model, out, to)
    files = sorted(file.name for file in out.iterdir())
    if json:
        print_json({"model": str(model), "to": to, "folder": str(out), "files": files})
        return
    tell(f"written to {out}: {', '.join(files)}")
    tell(USE[to].format(out=out))


def _back(folder: Path, weights: Path, out: Path) -> None:
    import jax

    from headcount.export import import_torch
    from headcount.model.save import save

    with jax.enable_x64(True):
        save(import_torch(weights, folder), out, f"Trained outside, from {folder.name}.")


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("export")(export)
