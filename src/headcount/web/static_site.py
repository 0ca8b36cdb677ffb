"""The explorer as a static site: the same page with answers that were computed before.

`data/index.js` lists every question with the file of its answer. The page looks a question up there
instead of asking a server, and says so where it is not among them. Answers are scripts, and the
page is one script too, so that the folder works from any file server and from the disk.
"""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headcount.core.errors import CheckFailed, require
from headcount.core.files import refuse_unwritable
from headcount.core.spec import content_hash
from headcount.web import asked
from headcount.web.assets_folder import assets
from headcount.web.one_script import one_script
from headcount.web.work import answer
from headcount.web.work_words import ANSWERED

MARK, PAGE, SCRIPT = "data/index.js", "index.html", "explorer.js"
MODULES = '<script type="module" src="js/app.js"></script>'
STATIC = '<meta name="headcount-static" content="yes">'  # tells the page to look answers up
FITS: tuple[tuple[str, asked.Bias, int], ...] = (
    ("lag:2", "lin", 6),
    ("power:1.5", "lin", 8),
    ("exp:0.1", "log", 5),
    ("lag:6", "rope", 2),
)
# the examples of the page, as it asks them: a test compares
PLANS = ("fixed:lags=1", "fixed:lags=3+17", "prop42", "essential:kernel=exp:0.5", "parity:lags=1+2")
TOL, LENGTH = 0.2, 16
# what the page asks when it is opened
RULE = {"kind": "table", "lags": [2, 5, 9], "alphabet": [[-1], [0], [1]], "allow_zero": True}
MEMORIES: tuple[Any, ...] = (
    "fixed:lags=1+3",
    "essential:kernel=power:1.5",
    {"kind": "adaptive", "inputs": "ternary", "lag_functions": [RULE]},
)


@dataclasses.dataclass(frozen=True)
class Site:
    """How many answers were written, and their size together."""

    views: int
    size: int


def questions() -> list[tuple[str, dict[str, Any]]]:
    """What the static site can answer: every step of the sliders of its examples."""
    fits = [
        asked.AskFit(kernel=kernel, bias=bias, heads=heads, certify=certify)
        for kernel, bias, most in FITS
        for heads in range(1, most + 1)
        for certify in (False, True)
    ]
    memories = [asked.AskMemory(memory=memory) for memory in MEMORIES]
    plans = [asked.AskPlan(memory=memory, tol=TOL, length=LENGTH) for memory in PLANS]
    return [
        ("catalogue", {}),
        *(("fit", fit.to_plain()) for fit in fits),
        *(("memory", memory.to_plain()) for memory in memories),
        *(("plan", plan.to_plain()) for plan in plans),
    ]


def recommended(values: dict[str, Any], plan: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The model that a plan recommends, at work: what its link on the page asks for."""
    best = plan["recommended"]
    if best is None:
        return []
    build = asked.AskBuild(
        memory=values["memory"],
        tol=values["tol"],
        bias=best["bias"],
        theorem=best["construction"],
        normaliser=best["normaliser"],
        length=plan["length"],
    )
    return [("model", asked.AskModel(build=build).to_plain())]


def write_site(folder: Path, say: Callable[[str], None]) -> Site:
    """Write page and answers; a folder that holds anything else is refused."""
    folder = Path(folder)
    ours = not folder.exists() or (folder / MARK).is_file() or not any(folder.iterdir())
    require(ours, f"{folder}", "a new or empty folder, or an earlier site", "choose another place")
    refuse_unwritable(folder)
    index, size, files = [], 0, {}
    asked_for = questions()
    for i, (question, values) in enumerate(asked_for):  # a plan adds its model
        say(f"{question} ({i + 1} of {len(asked_for)})")
        word, content = answer(question, values, str(folder))
        if word != ANSWERED:
            raise CheckFailed(f"{question} {values}: {content.decode()}; nothing was written")
        name = f"{question}-{content_hash({'question': question, 'values': values})}.js"
        files[name] = content
        index.append({"question": question, "values": values, "file": name})
        if question == "plan":
            asked_for += recommended(values, json.loads(content))
        size += len(content)
    folder.mkdir(parents=True, exist_ok=True)
    for plain in ("app.css", "icon.svg"):
        shutil.copy(assets() / plain, folder)
    (folder / PAGE).write_text(_page(), encoding="utf-8")
    (folder / SCRIPT).write_text(one_script(assets() / "js" / "app.js"), encoding="utf-8")
    (folder / "data").mkdir(exist_ok=True)
    files[Path(MARK).name] = json.dumps(index).encode()
    for name, content in files.items():
        (folder / "data" / name).write_bytes(_answer(name, content))
    return Site(len(index), size)


def _page() -> str:
    page = (assets() / PAGE).read_text(encoding="utf-8")
    page = page.replace(MODULES, f'<script defer src="{SCRIPT}"></script>')
    return page.replace("<title>", f"{STATIC}\n<title>", 1)


def _answer(name: str, content: bytes) -> bytes:
    """JSON as a script that hands it to the page."""
    return f"headcountAnswers[{json.dumps(name)}] = ".encode() + content + b";\n"
