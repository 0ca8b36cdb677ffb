"""The page as files: its colours, its defaults, its imports; and the static copy."""

import json
import re

import pytest

from headcount.core.errors import InputError
from headcount.report.palette import BADGES, DARK, LIGHT, contrast
from headcount.web import asked, static_site
from headcount.web.assets_folder import assets
from headcount.web.views.plain_numbers import short_one

CSS = (assets() / "app.css").read_text()


def colours(theme):
    block = re.search(re.escape(theme) + r" \{(.*?)\}", CSS, re.DOTALL)[1]
    return dict(re.findall(r"--(\w+): (#\w{6});", block))


@pytest.mark.parametrize(
    ("theme", "palette"), [(":root", LIGHT), (':root[data-theme="dark"]', DARK)]
)
def test_the_colours_are_those_of_the_report(theme, palette):
    found = colours(theme)
    assert {name: found[name] for name in palette} == palette
    for name in ("ink", "muted", "good", "bad", "open", "accent"):
        assert contrast(found[name], found["paper"]) >= 4.5
        assert contrast(found[name], found["card"]) >= 4.5
    assert contrast(found["accent"], found["on"] if "on" in found else found["paper"]) >= 4.5


def test_outcomes_look_as_in_the_report():
    names = {"supported": "good", "refuted": "bad", "undecided": "open"}
    light, dark = colours(":root"), colours(':root[data-theme="dark"]')
    for badge in BADGES.values():
        if badge.css in names:
            assert (light[names[badge.css]], dark[names[badge.css]]) == (badge.light, badge.dark)


def test_the_page_knows_the_defaults_of_every_question():
    text = (assets() / "js" / "api.js").read_text()
    block = re.search(r"const DEFAULTS = (\{.*?\n\});", text, re.DOTALL)[1]
    found = json.loads(re.sub(r",(\s*\})", r"\1", re.sub(r"(\w+):(?= )", r'"\1":', block)))
    records = {"fit": asked.AskFit, "memory": asked.AskMemory, "plan": asked.AskPlan}
    records |= {"build": asked.AskBuild, "model": asked.AskModel}
    assert found == {name: record().to_plain() for name, record in records.items()}


def test_scripts_import_only_what_is_there_and_nothing_from_elsewhere():
    scripts = list(assets().rglob("*.js"))
    assert len(scripts) > 8
    for script in scripts:
        text = script.read_text()
        for name in re.findall(r'from "([^"]+)"', text):
            assert (script.parent / name).resolve().is_file(), f"{script.name} imports {name}"
        assert not re.search(r"https?://(?!www\.w3\.org)", text)
        assert "innerHTML" not in text


def test_the_page_is_small():
    assert sum(p.stat().st_size for p in assets().rglob("*") if p.is_file()) < 170_000


def _handed(path):
    """The JSON that a script of a static copy hands to the page."""
    text = path.read_text().removeprefix(f'headcountAnswers["{path.name}"] = ')
    return json.loads(text.removesuffix(";\n"))


def test_a_static_copy(tmp_path, monkeypatch):
    few = [("memory", asked.AskMemory().to_plain()), ("catalogue", {})]
    monkeypatch.setattr(static_site, "questions", lambda: few)
    site = static_site.write_site(tmp_path / "site", lambda line: None)
    assert site.views == 2
    assert static_site.STATIC in (tmp_path / "site" / "index.html").read_text()
    data = tmp_path / "site" / "data"
    index = _handed(data / "index.js")
    assert _handed(data / index[0]["file"])["kind"] == "fixed"
    page = (tmp_path / "site" / "index.html").read_text()
    assert 'type="module"' not in page
    assert f'src="{static_site.SCRIPT}"' in page
    static_site.write_site(tmp_path / "site", lambda line: None)  # an earlier site is replaced
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="empty folder"):
        static_site.write_site(tmp_path / "other", lambda line: None)


def test_every_static_question_is_one_that_may_be_asked():
    records = {"fit": asked.AskFit, "memory": asked.AskMemory, "plan": asked.AskPlan}
    records["model"] = asked.AskModel
    for question, values in static_site.questions():
        if question in records:
            assert records[question](**values).to_plain() == values


def test_the_static_copy_plans_the_examples_of_the_page():
    text = (assets() / "js" / "pages" / "plan.js").read_text()
    examples = re.search(r"const EXAMPLES = \[(.*?)\];", text, re.DOTALL)[1]
    assert tuple(re.findall(r'\["([^"]+)", "', examples)) == static_site.PLANS
    defaults = re.search(r"defaults = \{(.*?)\}", text)[1]
    assert f'tol: "{static_site.TOL}"' in defaults
    assert f'length: "{static_site.LENGTH}"' in defaults


def test_a_plan_brings_its_model_into_the_static_copy():
    values = asked.AskPlan(memory="fixed:lags=1", tol=0.2, length=16).to_plain()
    best = {"bias": "table", "construction": "folded", "normaliser": "softmax"}
    ((question, asked_for),) = static_site.recommended(values, {"recommended": best, "length": 16})
    assert question == "model"
    assert asked_for["build"]["theorem"] == "folded"
    assert static_site.recommended(values, {"recommended": None, "length": 16}) == []


def test_numbers_are_short():
    assert short_one(1 / 3) == 0.333333
    assert short_one(float("nan")) is None
