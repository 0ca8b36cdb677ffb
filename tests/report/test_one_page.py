"""The page of a study or a diagnosis: three sentences, a figure, tables, and its twin."""

import re

from matplotlib.figure import Figure

from headcount.report.one_page import OnePage, PageFigure, PageTable, files, html, markdown, svg_of


def drawing():
    figure = Figure(figsize=(2, 1))
    figure.add_subplot().plot([1, 2], [2, 1])
    return figure


def page(**changes):
    values = {
        "title": "A <study>",
        "sentences": ("One.", "Two.", "Three.", "Four."),
        "figures": [PageFigure("f", "Figure", "What it shows.", svg_of(drawing(), "f"))],
        "tables": [PageTable("Numbers", ("n", "loss", "interval"), [(3, 0.12345, None)])],
        "notes": ["A note."],
    }
    return OnePage(**{**values, **changes})


def test_three_sentences_and_the_figure_come_before_the_table():
    made = html(page())
    assert "A &lt;study&gt;" in made
    assert made.count('class="lead"') == 3
    folded = re.search(r"<details>.*?</details>", made, re.DOTALL)[0]
    assert "Four." in folded
    assert made.index("<svg") < made.index("<table")
    assert '<td class="n brief" data-label="loss">0.123</td>' in made
    assert '<td data-label="interval">–</td>' in made


def test_short_columns_share_a_line_of_a_phone():
    rows = [("lag-5", "two layers of eight heads"), ("recall", "x")]
    assert PageTable("T", ("memory", "n", "model"), [(*r[:1], 3, r[1]) for r in rows]).brief == [
        True, True, False,
    ]  # fmt: skip
    assert PageTable("T", ("memory", "model"), rows).brief == [False, False]  # nothing beside it


def test_columns_without_names_have_no_labels():
    made = html(page(tables=[PageTable("How", ("", ""), [("rows", "360")])]))
    assert "<td>rows</td><td>360</td>" in made
    assert "<thead>" not in made  # a head without words is none
    half = html(page(tables=[PageTable("How", ("", "value"), [("rows", "360")])]))
    assert '<td></td><th scope="col">value</th>' in half


def test_a_wide_figure_is_as_wide_as_the_page():
    drawn = PageFigure("f", "Figure", "What it shows.", svg_of(drawing(), "f"), wide=True)
    assert '<figure class="whole">' in html(page(figures=[drawn]))
    assert '<figure class="whole">' not in html(page())


def test_a_figure_that_scrolls_is_reached_by_the_keyboard_and_says_so():
    made = html(page())
    region = '<div class="drawing" tabindex="0" role="region" aria-label="Drawing: Figure"><svg'
    assert region in made
    assert "swipe sideways" in made


def test_nothing_is_fetched_and_phones_are_served():
    made = html(page(banner="Too few runs."))
    assert "<script" not in made
    assert not re.search(r"(?:src|href)=.https?:", made)
    assert 'name="viewport"' in made
    assert made.index("Too few runs.") < made.index("One.")


def test_the_same_values_give_the_same_bytes():
    assert files(page()) == files(page())


def test_a_long_table_is_folded():
    rows = [(i, 0.5, "") for i in range(50)]
    assert "50 rows</summary>" in html(page(tables=[PageTable("N", ("n", "loss", "i"), rows)]))


def test_the_twin_says_the_same():
    made = markdown(page(banner="Too few runs."))
    assert made.startswith("# A \\<study\\>\n\n> Too few runs.\n\nOne.\n\nTwo.")
    assert "![Figure](f.svg)" in made
    assert "| 3 | 0.123 | – |" in made
    assert made.endswith("- A note.\n")
