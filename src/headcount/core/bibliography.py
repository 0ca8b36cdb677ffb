"""docs/bibliography.md: every paper that is cited, as BibTeX, from `core/refs.py`.

>>> print(bibtex("press-2022", PAPERS["press-2022"]).splitlines()[0])
@misc{press-2022,
"""

import textwrap

from headcount.core.refs import PAPERS, Paper

OPENING = """# Bibliography

Every source that the software cites, made from `core/refs.py` (`python -m
headcount.core.bibliography > docs/bibliography.md`).
"""


def bibtex(key: str, paper: Paper) -> str:
    """One entry."""
    names = paper.authors.replace(" et al.", " and others").replace(", ", " and ")
    kind, _, number = paper.link.partition(":")
    where = {"arXiv": f"eprint = {{{number}}},\n  archivePrefix = {{arXiv}}"}.get(
        kind, f"note = {{{paper.link}}}"
    )
    title = textwrap.fill(paper.title, 80, subsequent_indent="    ")
    return (
        f"@misc{{{key},\n  title = {{{{{title}}}}},\n  author = {{{names}}},\n"
        f"  year = {{{paper.year}}},\n  {where},\n}}"
    )


def page() -> str:
    """The whole page."""
    entries = "\n\n".join(bibtex(key, paper) for key, paper in sorted(PAPERS.items()))
    return f"{OPENING}\n```bibtex\n{entries}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
