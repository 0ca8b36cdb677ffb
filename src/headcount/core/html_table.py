"""Small HTML tables for notebooks. Every text is escaped.

>>> html_table("a < b", ["x"], [["1"]])
'<table><caption>a &lt; b</caption><tr><th>x</th></tr><tr><td>1</td></tr></table>'
"""

import html
from collections.abc import Iterable


def html_table(title: str, header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A caption, a row of headings, rows of cells."""
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><caption>{html.escape(title)}</caption><tr>{head}</tr>{body}</table>"
