"""Nothing points outside: every citation of a page in docs/ has its file and its anchor, and no
text cites notes that are not shipped.

A citation is `docs/errata.md#e16`; further anchors of the same page may follow it, as in
`docs/errata.md#e12, #e13`. Between pages, links are relative: `[why](theory.md#recovery)`.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "tests", "benchmarks", "studies", "docs")
KINDS = (".py", ".md", ".toml", ".html")
CITATION = re.compile(r"\bdocs/(?P<page>[\w-]+\.md)(?P<anchors>#[\w-]+(?:,\s+(?:# )?#[\w-]+)*)?")
LINK = re.compile(r"\]\((?P<page>[\w/-]+\.md)?(?P<anchors>#[\w-]+)?\)")
# Notes that were written beside the project and never were part of it.
UNSHIPPED = re.compile(
    r"\btheory(?: notes)?,? \d|\btheory notes\b|\bnumerics(?:,? \d|, (?:section|headline)|:)"
    r"|\b[Ee]rrata,? (?:items? )?\d|\bdesign\.md\b|\bdiagnosis\.md\b|\bstyle\.md\b"
)


def texts(*kinds: str) -> dict[Path, str]:
    """The project's own texts; this file names what it refuses."""
    found = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in kinds]
    pages = [*found, *(p for p in ROOT.glob("*.md"))]
    return {p: p.read_text() for p in pages if p != Path(__file__)}


def anchors(page: str) -> set[str]:
    """Explicit anchors of a page, and the slugs that headings have."""
    headings = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", text.lower()).strip().replace(" ", "-") for text in headings}
    return set(re.findall(r'<a id="([\w-]+)"></a>', page)) | slugs


def broken(text: str, pages: dict[str, str]) -> list[str]:
    """Citations in `text` that lead nowhere."""
    missing = []
    for found in CITATION.finditer(text):
        page = pages.get(found["page"])
        wanted = re.findall(r"#([\w-]+)", found["anchors"] or "")
        if page is None or not set(wanted) <= anchors(page):
            missing.append(found.group())
    return missing


def unshipped(text: str) -> list[str]:
    """Citations of notes outside the project. A Markdown link's words are no citation: its address
    is checked instead."""
    flat = re.sub(r"\s*\n\s*(?:# )?", " ", re.sub(r"\[[^][]*\]\([^()]*\)", "", text))
    return [found.group() for found in UNSHIPPED.finditer(flat)]


PAGES = {p.name: p.read_text() for p in (ROOT / "docs").glob("*.md")}


def test_every_citation_has_its_page_and_anchor():
    found = {str(p.relative_to(ROOT)): broken(text, PAGES) for p, text in texts(*KINDS).items()}
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_citations_are_found_at_all():
    cited = [c for text in texts(".py").values() for c in CITATION.findall(text)]
    assert len(cited) > 20


def test_every_link_between_pages_has_its_anchor():
    missing = []
    for path, text in texts(".md").items():
        for link in LINK.finditer(text):
            target = (path.parent / link["page"]).resolve() if link["page"] else path
            known = anchors(target.read_text()) if target.exists() else set()
            wanted = (link["anchors"] or "").removeprefix("#")
            if not target.exists() or (wanted and wanted not in known):
                missing.append(f"{path.name}: {link.group()}")
    assert missing == []


def test_an_anchor_stands_once_on_a_page():
    for name, page in PAGES.items():
        ids = re.findall(r'<a id="([\w-]+)"></a>', page)
        assert len(ids) == len(set(ids)), name


def test_nothing_cites_notes_that_are_not_shipped():
    found = {str(p.relative_to(ROOT)): unshipped(text) for p, text in texts(*KINDS).items()}
    assert {name: cited for name, cited in found.items() if cited} == {}


def test_the_checks_refuse_what_they_should():
    page = {"errata.md": '<a id="e1"></a>\n## Point one\n'}
    assert broken("see docs/errata.md#e1, #e2", page) == ["docs/errata.md#e1, #e2"]
    assert broken("docs/errata.md#e1 and docs/errata.md#point-one", page) == []
    assert broken("docs/other.md", page) == ["docs/other.md"]
    refused = (
        *("(theory 2.5)", "theory notes, 2.2", "numerics 5", "numerics, section 2"),
        *("numerics: XLA's", "Errata 9:", "errata, item 3", "(errata\n    16, second half)"),
    )
    for words in refused:
        assert unshipped(words), words
    for words in ("[errata 17](errata.md#e17)", "docs/errata.md#e17", "theory/bounds", "a theory"):
        assert not unshipped(words), words
