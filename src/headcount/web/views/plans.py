"""Plans and built models: the documents of `headcount plan` and `build`, and the model as a zip."""

import functools
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from headcount.construct import construct, plan
from headcount.construct.construction import Construction
from headcount.core.spec import canonical_json
from headcount.web.asked import AskBuild, AskPlan

SUBSPACES = "subspaces.json"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model, the same bytes


def plan_view(asked: AskPlan) -> dict[str, Any]:
    """`plan --json`, and the first position at which the recommended model is promised."""
    found = plan(asked.memory, asked.tol, asked.dtype, length=asked.length)  # type: ignore[arg-type]
    best = found.recommended
    first = None if best is None or best.draft is None else best.draft.first
    return {**found.to_json(as_text(asked.memory)), "first_position": first}


def as_text(memory: Any) -> str:
    """A memory as one would type it; a mapping as JSON."""
    return memory if isinstance(memory, str) else json.dumps(memory)


def built(asked: AskBuild) -> Construction:
    """The construction; a worker keeps its last few."""
    return _built(canonical_json(asked))


@functools.lru_cache(maxsize=4)
def _built(text: str) -> Construction:
    asked = AskBuild(**json.loads(text))
    return construct(
        asked.memory,  # type: ignore[arg-type]
        asked.bias,
        tol=asked.tol,
        normaliser=asked.normaliser,
        theorem=asked.theorem,
        precision=asked.precision,
        length=asked.length,
    )


def subspaces(made: Construction) -> list[dict[str, Any]]:
    """The named parts of the residual stream that hold a memory, with what is promised of each."""
    return [
        {
            "layer": promise.layer,
            "part": promise.part,
            "name": promise.space,
            "start": promise.coordinates.start,
            "stop": promise.coordinates.stop,
            "why": promise.why,
        }
        for promise in made.draft.promises
    ]


def zip_view(asked: AskBuild) -> bytes:
    """The model folder as `build -o` writes it, and beside it the names of the subspaces."""
    made = built(asked)
    with tempfile.TemporaryDirectory() as work:
        folder = made.save(Path(work) / "model", as_text(asked.memory))
        (folder / SUBSPACES).write_text(json.dumps(subspaces(made), indent=2) + "\n")
        return zipped({path.name: path.read_bytes() for path in sorted(folder.iterdir())})


def zipped(files: dict[str, bytes]) -> bytes:
    """One folder `model/` as a zip."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(f"model/{name}", EPOCH), content)
    return out.getvalue()
