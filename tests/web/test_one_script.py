"""The page as one script."""

import re

import pytest

from headcount.core.errors import CheckFailed
from headcount.web.assets_folder import assets
from headcount.web.one_script import one_script


def test_every_module_is_there_once_and_before_it_is_used():
    text = one_script(assets() / "js" / "app.js")
    made = re.findall(r"^const (module_\w+) = \(\(\) =>", text, re.MULTILINE)
    assert len(made) == len(set(made)) == len(list(assets().rglob("*.js"))) - 1  # app.js is last
    for use in re.finditer(r"^const .* = (module_\w+);$", text, re.MULTILINE):
        assert text.index(f"const {use[1]} = (") < use.start()
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    assert "«" not in text


@pytest.mark.parametrize("line", ["export default 1;", 'import x from "./a.js";', "import('a');"])
def test_what_it_cannot_join_is_refused(tmp_path, line):
    (tmp_path / "app.js").write_text(f"{line}\n")
    with pytest.raises(CheckFailed, match=r"app\.js"):
        one_script(tmp_path / "app.js")


def test_a_circle_is_refused(tmp_path):
    (tmp_path / "app.js").write_text('import { b } from "./b.js";\n')
    (tmp_path / "b.js").write_text('import { a } from "./app.js";\nexport const b = 1;\n')
    with pytest.raises(CheckFailed, match="itself"):
        one_script(tmp_path / "app.js")
