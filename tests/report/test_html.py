"""The page: well formed, whole, escaped, self-contained, and usable without sight of it."""

import dataclasses
import itertools
import re
from html.parser import HTMLParser

import pytest

from headcount.core.claims import Status
from headcount.experiments.errata import POINTS
from headcount.lab.judge.evidence import Blocked
from headcount.lab.judge.verdict import Outcome
from headcount.lab.numbers import Numbers
from headcount.lab.study import Variant
from headcount.report.document import Report, Section
from headcount.report.figure_data import Place
from headcount.report.figures import render
from headcount.report.grid import grid
from headcount.report.html import html
from headcount.report.wording import interval, number, plural, spread
from tests.report import example
from tests.report.example import arm, learned, page_of

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Tags must balance; collects ids, references, headings, tables, and the text."""

    def __init__(self, text: str):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.text = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.links += [f"#{name}" for name in given.get("aria-labelledby", "").split()]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def count(self, tag):
        return sum(found == tag for found, _ in self.tags)


def _html(report: Report) -> str:
    return html(report, {figure.name: render(figure)["svg"] for figure in report.figures})


@pytest.fixture(scope="module")
def text():
    return _html(example.report())


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_ids_are_unique_and_links_inside_the_page_are_found(page):
    assert len(set(page.ids)) == len(page.ids)
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert len(inside) > 30
    assert set(inside) <= set(page.ids)


def test_nothing_is_fetched_and_nothing_runs(page, text):
    outside = [link for link in page.links if not link.startswith("#")]
    assert all(re.fullmatch(r"figures/[\w-]+\.csv", link) for link in outside)
    assert not any(
        key in given
        for _, given in page.tags
        for key in ("src", "srcset", "onclick", "onload", "action")
    )
    assert page.count("script") == page.count("link") == page.count("iframe") == 0
    assert "url(" not in re.sub(r"url\(#", "", text)
    assert "@import" not in text


def test_text_is_escaped(text, page):
    assert "<not a result>" not in text
    assert "Synthetic example <not a result>" in "".join(page.text)
    nasty = Report(
        "<script>alert(1)</script>",
        "p",
        "<b>",
        (Section("4a", "<i>", (("", "{{ 7*7 }}"),)),),
        notes=("<u>&",),
    )
    made = _html(nasty)
    assert "<script>" not in made
    assert "<b>" not in made
    assert "<i>" not in made
    assert "<u>" not in made
    assert "{{ 7*7 }}" in made


def test_headings_go_down_one_step_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_tables_have_captions_and_figures_have_text(page):
    assert page.count("caption") == page.count("table") >= 10
    drawings = [given for tag, given in page.tags if tag == "svg"]
    assert len(drawings) == len(example.report().figures)
    assert all(given["role"] == "img" and given["aria-labelledby"] for given in drawings)
    assert all("scope" in given for tag, given in page.tags if tag == "th")


def test_every_section_and_result_is_shown(page):
    shown = " ".join("".join(page.text).split())
    report = example.report()
    for title in (
        "Summary",
        "The paper's experiments",
        "Further checks",
        "Failure signatures",
        "Errata",
        "Methods",
        "Run it again",
    ):
        assert title in shown
    for verdict in report.verdicts:
        assert verdict.claim in shown
        assert plural(verdict.sentence) in shown
        assert all(criterion in shown for criterion in verdict.criteria)
        assert all(note in shown for note in verdict.notes)
        assert all(str(short) in shown for short in verdict.shortfalls)
        assert f"verdict-{verdict.key.replace(' ', '-')}" in page.ids
    for row in grid(report.verdicts):
        assert row.claim in shown
        assert shown.count(row.sentence) == 1
    assert "best of 24 settings on 3 pilot seeds" in shown
    assert "lr 0.003, cosine, 10000 steps" in shown
    for each in (each for outcome in report.outcomes for each in outcome.arms):
        assert each.arm.name in shown
        assert each.numbers.certificate in shown
    for _, evidence in report.errata:
        assert evidence in shown
    assert "4.02e-8" in shown
    assert "Not run in this profile." not in shown
    assert "not trained" in shown
    assert "5 diverged" in shown


def test_a_contradiction_is_shown():
    made = _html(page_of(arm("lin", Numbers(possible=0.3, lower=0.2), learned(0.1))))
    assert "lin: learned 0.1 lies below the lower bound 0.2" in made
    assert "Check these numbers" in made


def test_a_bound_for_a_smaller_class_is_marked_and_a_constant_answer_is_called_so():
    numbers = Numbers(
        possible=1.0, lower=0.9, lower_for="affine readouts only", certificate="dual", constant=True
    )
    made = _html(page_of(arm("lin", numbers, learned(0.8))))
    assert re.search(r"0\.9<br><span[^>]*>affine readouts only</span>", made)
    assert re.search(r">1<br><span[^>]*>constant answer</span>", made)
    assert "0.8 lies below the lower bound 0.9, which holds for affine readouts only" in made


def test_what_stands_behind_the_possible_value_is_told():
    arms = (
        arm("fit", Numbers(possible=0.3)),
        arm("built", Numbers(possible=0.25, status=Status.MEASURED)),
        arm("unknown"),
    )
    made = _html(page_of(*arms))
    assert re.search(r">0\.3<br><span[^>]*>found</span>", made)
    assert re.search(r">0\.25<br><span[^>]*>measured</span>", made)
    assert made.count(">found<") == 1


def test_accuracy_and_the_trained_length_have_columns_only_where_they_are_known():
    plain = arm("lin", None, learned(0.5, 0.4, 0.6))
    longer = {"train": {"length": 64, "evaluation": {"length": 256}}}
    told = arm(
        "log",
        None,
        learned(0.5, 0.4, 0.6, accuracy=0.875),
        run=longer,
        finals=[{"train_loss": 0.125}] * 3,
    )
    assert "accuracy</th>" not in _html(page_of(plain))
    assert "trained length" not in _html(page_of(plain))
    both = _html(page_of(plain, told))
    assert "accuracy</th>" in both
    assert "trained length</th>" in both
    assert 'trained length">0.125</td>' in both
    assert ">0.875</div>" in both


def test_findings_show_both_scales_and_both_intervals():
    verdict = next(v for v in example.verdicts() if v.key == "4a-contrast")
    (finding,) = verdict.findings
    made = html_text(_html(page_of(outcomes=(example.studied("4a", told=(verdict,)),))))
    shown = " ".join(made.split())
    assert interval(finding.interval) in shown
    assert interval(finding.t) in shown
    assert re.search(r"0\.0255\s?explained variance", shown)
    assert f"{number(verdict.p)} for support, {number(verdict.p_refute)} for refutation" in shown


def test_what_blocks_a_part_is_told():
    verdict = next(v for v in example.verdicts() if v.key == "4a-contrast")
    finding = dataclasses.replace(verdict.findings[0], blocked=Blocked.UNLEARNED, part="1 heads")
    blocked = dataclasses.replace(verdict, findings=(finding,))
    made = _html(page_of(outcomes=(example.studied("4a", told=(blocked,)),)))
    assert f"Decides nothing: {Blocked.UNLEARNED.value}" in made
    assert "1 heads" not in made


def test_what_was_not_judged_does_not_look_like_a_verdict(text):
    (cell,) = re.findall(r'<td class="outcome-unjudged.*?</td>', text, re.DOTALL)
    assert "not judged here" in cell
    assert "aria-hidden" not in cell  # no sign
    assert "power" not in cell
    assert 'class="outcome ' not in cell
    for sign in ("✓ </span>", "✗", "?"):
        assert sign not in cell


def test_a_profile_that_judges_nothing_trained_says_so_first(text):
    unjudged = dataclasses.replace(
        example.of("1b")[-1], outcome=Outcome.NOT_JUDGED, sentence="Not judged here: 0 of 10."
    )
    made = _html(page_of(section="1b", outcomes=(example.studied("1b", told=(unjudged,)),)))
    assert made.index("Nothing trained is judged in this run") < made.index("<table")
    assert "Nothing trained is judged" not in text


def test_a_quick_look_says_what_ran_and_that_nothing_is_judged():
    made = _html(page_of(section="1b", outcomes=(example.studied("1b", arm("a"), arm("b")),)))
    assert made.index("Nothing trained is judged in this run") < made.index("<table")
    assert "shown: the seeds of 2 arms" in made


def test_the_headline_stands_once_on_the_first_screen(text):
    (name,) = [f.name for f in example.report().figures if f.place is Place.HEADLINE]
    assert text.count(f'id="figure-{name}-title"') == 1
    assert text.index('class="lead"') < text.index(f"figure-{name}-title")
    assert text.index(f"figure-{name}-title") < text.index('class="grid"')
    assert text.index(f"figure-{name}-title") < text.index('id="sections-1"')


def test_learning_curves_are_folded(text):
    curves = text.index("figure-4a-as-meant-curves-title")
    opened = text.rindex("<details>", 0, curves)
    assert "Learning curves" in text[opened:curves]
    assert "</details>" not in text[opened:curves]


def test_signatures_without_their_observable_are_left_out(text):
    diagnosis = next(d for o in example.outcomes() for d in o.diagnoses.values())
    silent = [c for c in diagnosis.checks.values() if not c.measured]
    assert silent
    assert not any(check.because in text for check in silent)
    assert all(
        check.because in html_text(text) for check in diagnosis.checks.values() if check.measured
    )


def html_text(made: str) -> str:
    return "".join(Page(made).text)


def test_an_empty_report_says_so():
    made = _html(Report("t", "smoke", "c", (Section("4a", "tails"),)))
    Page(made)
    assert "No claim was judged" in made
    assert "Nothing trained is judged" not in made  # nothing was trained either
    assert "Not run in this profile." in made
    assert 'id="errata"' not in made


def test_two_variants_of_an_experiment_are_kept_apart():
    outcomes = tuple(
        example.studied("2b", arm("H = 4"), variant=variant)
        for variant in (Variant.AS_WRITTEN, Variant.AS_MEANT)
    )
    made = _html(page_of(section="2b", outcomes=outcomes))
    assert made.count('id="experiment-2b"') == 1
    assert "The four numbers, as written: MSE" in made
    assert "The four numbers, as meant: MSE" in made


def test_both_faces_define_every_colour(text):
    light, dark = re.findall(r":root \{([^}]*)\}", text)
    names = set(re.findall(r"var\((--[\w-]+)\)", text))
    assert names <= set(re.findall(r"(--[\w-]+):", light))
    assert names <= set(re.findall(r"(--[\w-]+):", dark))


def test_the_cells_of_an_arm_share_a_row():
    cells = ("lr=0.001", "lr=0.003")
    numbers = Numbers(possible=0.3, lower=0.2, certificate="dual")
    made = _html(
        page_of(arm("lin", numbers, *(learned(0.4, 0.35, 0.45, 5, cell=cell) for cell in cells)))
    )
    assert made.count("Certificate: dual") == 1
    assert all(made.count(cell) == 1 for cell in cells)


def test_terms_have_tooltips_that_the_keyboard_reaches(text):
    for word in ("promised", "learned", "Contrast"):
        assert re.search(rf'<abbr title="[^"]{{20,}}" tabindex="0">{word}</abbr>', text)


def test_cells_know_their_column_for_the_cards_of_a_phone(text):
    assert text.count('data-label="Trained"') >= 1
    assert "table.grid td[data-label]::before" in text


def test_one_seed_has_no_interval():
    assert spread(0.5, 0.5, 1) == "1 seed"


def test_errata_stand_by_severity(text):
    assert "changes what may be concluded" in text
    assert text.index('<table class="errata">') < text.index('id="erratum-')


def test_errata_of_the_experiments_stand_open_and_the_others_are_folded():
    found = {point.id: (point, "seen") for point in POINTS}
    made = _html(page_of(section="4a", errata=tuple(found.values())))
    start = made.index('<h2 id="errata">')
    fold = made.index("<details>\n<summary>Errata about theorems", start)
    for id in ("18", "25", "F5"):
        assert start < made.index(f'id="erratum-{id}"') < fold
    for id in ("1", "F1", "19"):
        assert fold < made.index(f'id="erratum-{id}"')


def test_landmarks_have_names_of_their_own(text):
    names = re.findall(r'role="region" aria-label="([^"]*)"', text)
    titles = re.findall(r"<h[23][^>]*>([^<]*)</h", text)
    assert len(set(names)) == len(names)
    assert not set(names) & set(titles)


def test_learned_is_explained_in_one_wording(text):
    assert text.count("of fewer than 3 seeds the lowest and the highest") >= 2
    assert "mean and 90% interval over seeds" not in text
