"""Every page in a real browser: opened, used, gone back from, and looked at by axe-core."""

import base64
import json
import math
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from headcount.report import zoo_page
from headcount.report.study_page import write_page
from tests.browser.conftest import PAGES, RUN
from tests.report.test_study_pages import zoo

AXE = os.environ.get("AXE_CORE", "")
PICTURES = os.environ.get("BROWSER_PICTURES", "")
ALL = (Keys.CONTROL, "a", Keys.NULL)  # what is in a field, to be written over
CURVE = "#answer ~ .card figure path"
DROP = """const zone = document.querySelector('.drop'), bag = new DataTransfer();
bag.items.add(new File([arguments[0]], arguments[1]));
zone.dispatchEvent(new DragEvent('drop', {dataTransfer: bag, bubbles: true, cancelable: true}));"""


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_without_a_fault(window, page):
    window.open(page)
    assert window.text("h1")
    assert window.one("nav a[aria-current]").get_attribute("data-page") == page
    assert window.faults() == []


def test_the_slider_moves_the_figure_and_the_address(window):
    window.open("heads?heads=3")
    before, error = window.one(CURVE).get_attribute("d"), window.text("#error")
    window.type("#heads", Keys.ARROW_RIGHT)
    window.until(lambda: window.text("#answer").startswith("4 lin heads"), "the answer stayed")
    window.settle()
    assert window.one(CURVE).get_attribute("d") != before
    assert window.text("#error") != error
    assert window.text("#brief").startswith(f"Error {window.text('#error')} in l1")
    assert window.driver.current_url.endswith("#/heads")  # power:1.5 and 4 heads are the defaults
    window.driver.back()
    window.until(lambda: window.text("#answer").startswith("3 lin heads"), "back did nothing")
    window.driver.forward()
    window.until(lambda: window.text("#answer").startswith("4 lin heads"), "forward did nothing")
    assert window.faults() == []


def test_how_many_lags_exist_can_be_chosen(window):
    window.open("heads?kernel=power%3A1.5&heads=2")
    before = float(window.text("#error"))
    few = window.driver.find_element(By.XPATH, "//label[.='Lags that exist']/../select")
    few.find_element(By.CSS_SELECTOR, "option[value='64']").click()
    window.until(lambda: float(window.text("#error")) < 0.9 * before, "the lags stayed")
    assert "window=64" in window.driver.current_url
    window.settle()
    window.open("heads?kernel=power%3A1.5&heads=2&window=100")  # what no choice offers is kept
    chosen = window.driver.find_element(By.XPATH, "//label[.='Lags that exist']/../select")
    assert chosen.get_property("value") == "100"
    assert window.faults() == []


def test_a_format_that_does_well_by_chance_is_told(window):
    window.open("heads?kernel=lag%3A2&heads=3")
    assert window.text("#chance").startswith("bfloat16: by chance.")
    assert "float32 loses" in window.text("#lost")


def test_neighbours_on_the_slider_are_computed_ahead(window):
    window.open("heads?kernel=lag%3A3&heads=4")
    window.run(
        "window.asked = []; const before = window.fetch;"
        "window.fetch = (address, options) => {"
        " if (options?.body) window.asked.push(JSON.parse(options.body).heads);"
        " return before(address, options); };"
    )
    window.type("#heads", Keys.ARROW_RIGHT)
    window.until(lambda: window.text("#answer").startswith("5 lin heads"), "the answer stayed")
    window.until(lambda: {4, 6} <= set(window.run("return window.asked")), "no neighbour was asked")
    assert window.faults() == []


def test_the_bound_comes_before_a_fit_that_takes_long(window):
    window.open("heads?kernel=lag%3A4&heads=4")
    window.run(
        "const before = window.fetch;"
        "window.fetch = (address, options) => String(address).endsWith('/fit')"
        " ? new Promise(done => setTimeout(done, 9000)).then(() => before(address, options))"
        " : before(address, options);"
    )
    window.type("#heads", Keys.ARROW_LEFT)
    window.until(
        lambda: all(w in window.text("#answer") for w in ("No sum does better", "goes on")),
        "no bound beside the sketch",
    )
    window.until(lambda: "goes on" not in window.text("#answer"), "the fit did not come")
    assert "No sum does better" in window.text("#answer")
    assert window.faults() == []


def test_why_not_fewer_shows_the_claim(window):
    window.open("heads?kernel=lag%3A2&heads=2")
    window.click("#why summary")
    shown = window.text("#why")
    assert "at least 1 in l1" in shown
    assert "proved and checked: theorem-a" in shown
    assert "Lags: 2" in shown


def test_a_kernel_is_drawn(window):
    window.open("heads?kernel=lag%3A2&heads=2&bias=peak")
    window.choose("select[aria-label=Kernel]", "drawn")
    window.settle()
    area = window.one(".draw")
    window.run("arguments[0].scrollIntoView({block: 'center'})", area)
    before = window.driver.current_url
    hand = ActionChains(window.driver)
    hand.move_to_element_with_offset(area, -60, -40).click_and_hold()
    hand.move_by_offset(40, 60).move_by_offset(20, -30).release().perform()
    window.until(lambda: window.driver.current_url != before, "the address stayed")
    window.settle()
    drawn = window.driver.current_url
    window.type(".draw", Keys.ARROW_UP)  # and by the keyboard
    window.until(lambda: window.driver.current_url != drawn, "the keyboard drew nothing")
    window.settle()
    assert "array" not in window.text("main") or window.text("#error")
    assert window.faults() == []


def test_memories_follow_ruler_and_rule(window):
    window.open("memory")
    window.click(".ruler button[aria-label='lag 7']")
    window.until(lambda: "longest lag 7" in window.text("main"), "the ruler did nothing")
    assert "lags=1%2B3%2B7" in window.driver.current_url
    window.type("input[aria-label='lag for the letter +1']", *ALL, "5", Keys.TAB)
    window.until(lambda: "longest lag 5" in window.text("main"), "the rule did nothing")
    window.settle()
    window.type("#at", Keys.ARROW_LEFT)
    window.until(lambda: window.text("main").count("position 47: y") == 3, "nothing moved")
    assert "at=47" in window.driver.current_url
    assert window.faults() == []


def test_a_plan_and_its_model_at_work(window):
    window.open("plan")
    told = window.text("#answer")
    assert "Take 1 layer" in told
    window.driver.find_element(By.LINK_TEXT, "Watch it at work").click()
    window.until(lambda: window.all("#moment"), "no model at work")
    before = window.text("#moment")
    window.type("input[aria-label=position]", Keys.ARROW_LEFT)
    assert window.text("#moment") != before
    assert "What arrives in answer" in window.text("main")
    assert "no model has fewer" in told
    window.settle()
    window.press("Play")
    window.until(lambda: "step=" in window.driver.current_url, "it did not play")
    assert window.faults() == []


def test_a_model_is_the_one_that_plan_recommends_or_says_why_not(window):
    window.open("model")
    assert "1 layer with 1 head" in window.text("#answer")
    assert window.text("#chosen").startswith("Recommended for this memory")
    window.open("model?bias=lin")
    assert "2 heads" in window.text("#answer")
    told = window.text("#chosen")
    assert told.startswith("The first construction that applies with bias lin; smaller may be")
    window.driver.find_element(By.LINK_TEXT, "folded").click()
    window.until(lambda: "1 layer with 1 head" in window.text("#answer"), "no other model")
    assert "as asked" in window.text("#chosen")
    window.driver.find_element(By.LINK_TEXT, "Plan compares all").click()
    window.until(lambda: "Which Transformer" in window.text("h1"), "no plan")
    assert window.faults() == []


def test_a_saved_model_and_a_typed_sequence(window):
    window.open("model?folder=lag1&sequence=1+-1+1+-1")
    assert window.text("#moment").startswith("Token 4: -1.")
    typed = window.driver.find_element(By.XPATH, "//label[.='Sequence']/following-sibling::input")
    typed.send_keys(*ALL, "1 1 -1", Keys.ENTER)
    window.until(lambda: window.text("#moment").startswith("Token 3: -1."), "nothing changed")
    told = window.text("#steps")
    assert "In comes token -1 at position 3" in told
    assert "token 1 at lag 1" in told
    assert window.faults() == []


def test_a_budget_with_few_heads_has_its_proof(window):
    window.open("heads?kernel=osc%3A0.05%2C0.3&heads=1&budget=10")
    window.click("#why summary")
    assert "A tree of cases" in window.text("#why")
    assert window.all("#why figure svg path")
    assert window.faults() == []


def test_formulas_are_set(window):
    window.open("heads?kernel=power%3A1.5&heads=2")
    labels = [m.get_attribute("aria-label") for m in window.all("form [role=math]")]
    assert "rho(s) = s^{-exponent}, rho(0) = 0" in labels
    assert window.run("return document.querySelector('form math msup') !== null")


def test_an_error_is_one_line_on_the_page(window):
    window.open("heads")
    window.type("input[aria-label='Kernel as text']", *ALL, "pwer:1.5", Keys.ENTER)
    window.until(lambda: window.all("[role=alert]"), "no message")
    assert "nearest: 'power'" in window.text("[role=alert]")
    window.type("input[aria-label='Kernel as text']", *ALL, "lag:1", Keys.TAB)
    window.until(lambda: not window.all("[role=alert]"), "the message stayed")
    window.settle()
    # the browser itself notes an answer of 422; the page has no fault of its own
    assert all("422" in fault for fault in window.faults())


def test_a_file_is_dropped(window, tmp_path):
    window.open("data")
    window.run(DROP, "x\n" + "\n".join(str(math.sin(i * i)) for i in range(120)), "mine.csv")
    window.until(lambda: window.all("#answer .answer"), "nothing was said of it")
    assert "memory" in window.text("#answer .answer")
    window.click("#example")
    window.until(lambda: "lags 2 and 7" in window.text("#answer .answer"), "no example")
    assert "sum of lags 2, 7" in window.text("main")
    assert "fixed" in window.driver.find_element(
        By.LINK_TEXT, "Plan this Transformer"
    ).get_attribute("href")
    picture = tmp_path / "picture.exe"
    picture.write_bytes(b"MZ")
    window.type("#file", str(picture))
    window.until(lambda: ".csv" in " ".join(e.text for e in window.all("[role=alert]")), "no line")
    assert all("422" in fault for fault in window.faults())


def test_several_columns_and_the_way_back_to_them(window):
    window.open("data")
    x = [math.sin(i * i) for i in range(160)]
    lines = "\n".join(f"{x[i]},{x[i - 2] if i > 1 else 0}" for i in range(160))
    window.run(DROP, f"driver,price\n{lines}", "prices.csv")
    window.until(lambda: window.all("#answer .answer"), "nothing was said of it")
    assert "column price, the last one, is predicted" in window.text("main")
    told = window.text("#answer .answer")
    assert "element of price depends on lag 2 of driver" in told
    window.click("nav a[data-page=plan]")
    window.until(lambda: window.all("#minimal"), "no plan")
    window.driver.back()
    window.until(lambda: window.text("#answer .answer") == told, "the diagnosis was lost")
    window.choose("#answer select", "driver")  # the same file, asked again
    window.until(lambda: "element of driver" in window.text("#answer .answer"), "not asked again")
    window.type("#column", *ALL, "prise")
    window.run(DROP, f"driver,price\n{lines}", "prices.csv")
    window.until(lambda: "nearest: 'price'" in window.text("[role=alert]"), "no message")
    assert all("422" in fault for fault in window.faults())


def test_a_promise_that_begins_late_is_told(window):
    window.open("plan?memory=fixed%3Alags%3D3%2B17")
    assert "at least 18 tokens: planned for 18, not for 16" in window.text("#longer")
    assert "from position 18 on" in window.text("#first")
    window.driver.find_element(By.LINK_TEXT, "Watch it at work").click()
    window.until(lambda: window.all("#moment"), "no model at work")
    assert not window.all("#early")
    window.type("input[aria-label=position]", Keys.ARROW_LEFT)
    window.until(lambda: "from position 18 on" in window.text("#early"), "no word of it")
    assert "not promised here" in window.text("main")
    assert window.faults() == []


def test_a_recall_model_is_watched(window):
    window.open("plan?memory=recall%3Apairs%3D2%2Csymbols%3D3")
    window.driver.find_element(By.LINK_TEXT, "Watch it at work").click()
    window.until(lambda: window.all("#moment"), "no model at work")
    assert window.text("#moment").startswith("Token 16:")
    assert window.faults() == []


def test_after_an_error_the_earlier_answer_cannot_be_used(window):
    window.open("plan")
    window.type("main textarea", *ALL, "fixd:lags=1")
    window.press("Plan")
    window.until(lambda: window.all("[role=alert]"), "no message")
    assert window.run("return document.querySelector('#answer').closest('[inert]') !== null")
    window.type("main textarea", *ALL, "fixed:lags=1")
    window.press("Plan")
    window.until(lambda: not window.all("[role=alert], main [inert]"), "it stayed out of use")
    window.open("model")
    window.press("Play")
    window.until(lambda: "step=" in window.driver.current_url, "it did not play")
    window.type("input[placeholder]", "x", Keys.ENTER)
    window.until(lambda: window.all("[role=alert]"), "no message")
    window.until(lambda: "Pause" not in window.text("main"), "it plays on")
    assert all("422" in fault for fault in window.faults())


def test_a_link_leads_to_the_top_of_its_page(window):
    low = {"width": 1400, "height": 300, "deviceScaleFactor": 1, "mobile": False}
    window.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", low)
    try:
        window.open("heads")
        window.run("scrollTo(0, 300)")
        assert window.run("return scrollY") == 300
        window.run("document.querySelector('nav a[data-page=plan]').click()")
        window.until(lambda: "Which Transformer" in window.text("h1"), "the page stayed")
        assert window.run("return scrollY") == 0
    finally:
        window.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("kernel", ["[]", '[1,2,"x"]', "1/s"])
def test_a_kernel_that_is_none_is_one_line(window, kernel):
    window.open(f"heads?kernel={quote(kernel)}")
    window.until(lambda: window.all("[role=alert]"), "no message")
    told = window.text("[role=alert]")
    assert kernel in told
    assert "expected" in told
    assert "lambda" not in told
    assert all("422" in fault for fault in window.faults())


def test_a_field_shows_the_value_that_is_used(window):
    window.open("memory")
    for typed, used in (("999", "24"), ("1.5", "2"), ("-3", "0")):
        window.type("input[aria-label='lag for the letter +1']", *ALL, typed, Keys.TAB)
        letter = window.one("input[aria-label='lag for the letter +1']")
        assert letter.get_property("value") == used
        assert f"from 0 to 24: {used} is used for +1" in window.text("main")
    window.type("input[aria-label='lag for the letter +1']", *ALL, "9", Keys.TAB)
    assert "is used for" not in window.text("main")
    window.click(".ruler button[aria-label='lag 3']")
    window.click(".ruler button[aria-label='lag 1']")
    assert "At least one lag is needed" in window.text("main")
    assert window.one(".ruler button[aria-label='lag 1']").get_attribute("aria-pressed") == "true"
    assert window.faults() == []


def test_messages_keep_names_and_use_the_words_of_the_page(window):
    window.open("studies?folder=nope")
    window.until(lambda: window.all("[role=alert]"), "no message")
    assert window.text("[role=alert]").startswith("nope/verdicts.json")
    window.open("memory?seed=-3")
    window.until(lambda: window.all("[role=alert]"), "no message")
    assert window.text("[role=alert]").startswith("Sequence number is -3")
    window.faults()  # the browser's own lines about 422


def test_what_rounding_loses_and_what_suffices_is_told(window):
    window.open("heads?kernel=lag%3A2&heads=3")
    assert "reach 4e18 and cancel: float32 loses" in window.text("#lost")
    window.open("heads?kernel=lag%3A2&bias=peak&heads=2")
    assert "One suffices" in window.text("#answer")
    assert not window.all("#lost")


def test_a_static_copy_offers_what_it_can_do(window, static):
    window.driver.get("about:blank")
    window.driver.get(f"{static}#/data")
    window.until(lambda: "needs the server" in window.text("main"), "no word of it")
    window.driver.get("about:blank")
    window.driver.get(f"{static}#/memory")
    window.until(lambda: "one example of each" in window.text("main"), "no word of it")
    assert not window.one(".ruler button").is_enabled()
    assert not window.one("select[aria-label=Kernel]").is_enabled()
    window.driver.get("about:blank")
    window.driver.get(f"{static}#/plan")
    window.until(lambda: "answers these" in window.text("main"), "no word of it")
    assert not window.one("main textarea").is_enabled()
    assert "Download" not in window.text("main")
    assert window.faults() == []


def test_runs_and_studies(window):
    window.open("runs")
    window.choose("main select", "report/runs.sqlite")
    window.until(lambda: "0 of 1 runs" in window.text("main"), "no store")
    window.press("Continue")
    window.until(lambda: "1 of 1 runs" in window.text("main"), "it did not continue")
    window.click("main table input[type=checkbox]")
    window.until(lambda: "Learning curves" in window.text("main"), "no curve")
    window.until(lambda: "looks again every" in window.text("main .busy"), "it looks no more")
    looked, box = window.text("main .busy"), window.one("main table input[type=checkbox]")
    window.until(lambda: window.text("main .busy") != looked, "it did not look again")
    window.until(lambda: "looks again every" in window.text("main .busy"), "it looks no more")
    assert box.is_displayed()  # what stays the same is not drawn anew under the hand
    window.open("studies?folder=map")
    assert "✓ 1.5" in window.text("table.map")
    window.open("studies")
    window.choose("main select", "report")
    window.until(lambda: "✓ supported" in window.text("main"), "no verdict")
    assert window.faults() == []


def test_the_keyboard_keeps_its_place_while_runs_are_drawn_anew(window, root):
    """Whatever it holds: a summary, a button, a box."""
    from headcount.core.spec import canonical_json
    from headcount.lab.sweep.store import Store
    from headcount.train.run_spec import RunSpec

    def add(seed):
        spec = RunSpec.from_values({**RUN, "seed": seed})
        with Store(root / "focus.sqlite") as store:
            store.add({spec.content_hash: canonical_json(spec)})

    add(1)
    window.open("runs?store=focus.sqlite")
    window.until(lambda: "0 of 1 runs" in window.text("main"), "no store")
    window.run("[...document.querySelectorAll('main button')].at(-1).focus()")
    held = window.run("return document.activeElement.textContent")
    assert held == "Continue"
    add(2)
    window.until(lambda: "0 of 2 runs" in window.text("main"), "it did not look again")
    assert window.run("return document.activeElement.textContent") == held
    assert "at work on" not in window.text("main")
    assert window.faults() == []


def test_a_smoke_study_is_not_painted_as_a_verdict(window):
    window.open("studies?folder=zoo")
    window.until(lambda: "gru reaches 0" in window.text("main"), "no study")
    told = window.text("main")
    assert told.index("No verdict.") < told.index("gru reaches 0")
    assert "not judged" in told
    assert not window.all("main .bad")


def test_a_report_on_a_phone_says_what_scrolls(window, tmp_path):
    assert AXE, "AXE_CORE must name axe.min.js"
    write_page(zoo_page.page(zoo()), zoo().to_json(), tmp_path / "zoo")
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    window.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        window.driver.get((tmp_path / "zoo" / "report.html").as_uri())
        assert window.one(".swipe").is_displayed()
        drawing = window.one(".drawing")
        assert drawing.get_property("scrollWidth") > drawing.get_property("clientWidth")
        assert window.run("return document.documentElement.scrollWidth") <= 390
        assert axe_faults(window) == []
    finally:
        window.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_arrow_keys_make_one_step_of_the_history_per_pause(window):
    window.open("heads?heads=2")
    for _ in range(3):
        window.type("#heads", Keys.ARROW_RIGHT)
    window.until(lambda: window.text("#answer").startswith("5 lin heads"), "the answer stayed")
    window.driver.back()
    window.until(lambda: window.text("#answer").startswith("2 lin heads"), "back did nothing")
    assert window.faults() == []


def test_how_many_heads_are_needed_is_answered_while_idle(window):
    window.open("heads?kernel=lag%3A3&heads=2&budget=1000000000000")
    window.until(lambda: ": 4; fewer are proved" in window.text("#needed"), "no answer")
    assert "at most 1 % of the kernel" in window.text("#needed")
    window.driver.find_element(By.XPATH, "//label[.='10 %']").click()
    window.until(lambda: "at most 10 %" in window.text("#needed"), "another share was not taken")
    assert "below=10" in window.driver.current_url
    assert window.faults() == []


def test_what_no_number_of_heads_can_is_said_of_all(window):
    window.open("heads?kernel=lag%3A2&heads=4&budget=1000")
    told = "No number of heads has an error of at most 1 % of the kernel"
    window.until(lambda: window.text("#needed").startswith(told), "no word of it")
    window.driver.find_element(By.XPATH, "//label[.='10 %']").click()
    window.until(lambda: "Smallest number" in window.text("#needed"), "it stayed")
    assert window.faults() == []


def test_a_lag_far_back_is_in_the_picture(window):
    window.open("heads?kernel=lag%3A99&bias=table&heads=1")
    tops = window.run(
        "return [...document.querySelectorAll('#answer + .card circle')]"
        ".map(dot => +dot.getAttribute('cy'))"
    )
    assert len(tops) > 100
    assert min(tops) < 0.5 * max(tops)
    told = window.text("#answer") + window.text("main")
    assert "no sum can do better" in told
    assert "promised: does not apply" in told  # beside errors of 0
    assert "All of them" not in told


def test_what_is_known_where_no_bound_is_above_zero(window):
    window.open("heads?kernel=lag%3A2&heads=3")
    assert window.text("#claim").startswith("No error is the smallest: 3 such heads")
    window.open("heads?kernel=lag%3A2&heads=2")
    assert "this sum is optimal" in window.text("#claim")
    window.open("heads?kernel=power%3A1.0&heads=2")
    assert "only the window counts" in window.text("#notes")
    few = window.driver.find_element(By.XPATH, "//label[.='Lags that exist']/../select")
    assert few.find_element(By.CSS_SELECTOR, "option").text == "1024 (not summable)"
    assert window.faults() == []


def test_a_sketch_is_no_worse_than_the_fit_with_fewer_heads(window):
    window.open("heads?kernel=exp%3A0.15&bias=log&heads=5")
    five = float(window.text("#error"))
    window.run(
        "const before = window.fetch;"
        "window.fetch = (address, options) => String(address).endsWith('/fit')"
        " ? new Promise(done => setTimeout(done, 4000)).then(() => before(address, options))"
        " : before(address, options);"
    )
    window.type("#heads", Keys.ARROW_RIGHT)
    window.until(lambda: "goes on" in window.text("#answer"), "no sketch")
    sketched = float(window.text("#error"))
    assert sketched <= five
    if "at most" in window.text("#brief"):
        known = ("The heads of the fit with 5", "The heads of the fit with 6")  # 6: filled in idle
        assert window.text("#claim").startswith(known)
    window.settle()
    assert window.faults() == []


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("heads?budget=abc", "Budget “abc”: expected a number above 0, or nothing."),
        ("heads?heads=abc", "Heads “abc”: expected a whole number of at least 1 and at most 64."),
        ("plan?tol=abc", "Largest error allowed “abc”: expected a number above 0."),
        ("model?folder=nosuch", "Folder 'nosuch'; expected a folder with a saved model;"),
    ],
)
def test_an_address_that_is_wrong_is_told_in_one_line(window, address, told):
    window.open(address)
    window.until(lambda: window.all("[role=alert]"), "no message")
    assert window.text("[role=alert]").startswith(told)
    assert all("422" in fault for fault in window.faults())


def test_a_message_goes_with_its_question(window):
    window.open("heads?kernel=pwer%3A1")
    window.until(lambda: window.all("[role=alert]"), "no message")
    window.run(
        "const before = window.fetch; window.fetch = (...given) =>"
        " new Promise(done => setTimeout(done, 3000)).then(() => before(...given));"
    )
    window.type("input[aria-label='Kernel as text']", *ALL, Keys.BACKSPACE, Keys.TAB)
    window.until(lambda: not window.all("[role=alert]"), "the message stayed")
    assert not window.all("#answer")  # it went before an answer came
    window.settle()
    window.faults()  # the browser's own line about 422


def test_slider_and_figure_are_on_a_phone_together(window):
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    window.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        window.open("heads")
        window.run("document.querySelector('#answer + .card').scrollIntoView({block: 'end'})")
        seen = window.run(
            "return ['#heads', '#brief', '#answer + .card svg'].map(css => {"
            " const box = document.querySelector(css).getBoundingClientRect();"
            " return box.top >= 0 && box.bottom <= innerHeight; })"
        )
        assert seen == [True, True, True]
        assert window.text("#brief").startswith("Error 0.132 in l1")
    finally:
        window.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_plan_calls_models_by_all_their_biases(window):
    window.open("plan?memory=recall%3Apairs%3D2%2Csymbols%3D3&tol=0.1")
    assert "bias table (T5)" in window.text("#answer")
    assert "in float64" in window.text("#answer")
    assert "peak+lin" in window.text("table.cards")
    assert "lin (ALiBi)" not in window.text("table.cards")
    assert "common parts come before small size" in window.text("#why-taken")
    assert "recommended" in window.text("main figure .legend")
    assert window.faults() == []


def test_tokens_are_named_and_promises_end(window):
    window.open("model?memory=recall%3Apairs%3D4&tol=0.1")
    steps = window.text("#steps")
    assert "It holds token" in steps
    assert "(exactly: token" in steps
    assert "0, 0, 0" not in window.text("main")
    window.open("model?folder=lag1")
    assert "up to 16 tokens" in window.text("#longest")
    assert "memory_1" in window.text("#answer")
    assert window.text("#moment").startswith("Token 16:")
    window.open("model?folder=lag1&sequence=" + "+".join("1" for _ in range(20)))
    assert "20 tokens" in window.text("#too-long")
    assert window.faults() == []


def test_a_static_copy_answers_from_its_files(window, static):
    window.driver.get("about:blank")
    window.driver.get(f"{static}#/heads")
    window.settle()
    assert "static copy" in window.text("#static-note")
    window.type("#heads", Keys.ARROW_LEFT)
    window.until(lambda: window.text("#answer").startswith("3 lin heads"), "nothing moved")
    assert window.one("#heads").get_attribute("max") == "4"  # as far as it was computed
    window.driver.get(f"{static}#/heads?kernel=lag%3A9")
    window.until(lambda: "examples only" in window.text("[role=alert]"), "no word of it")
    assert window.faults() == []


def test_the_keyboard_reaches_everything(window):
    window.open("heads")
    window.run("document.activeElement.blur()")
    reached = set()
    for _ in range(40):
        window.driver.switch_to.active_element.send_keys(Keys.TAB)
        active = window.driver.switch_to.active_element
        reached.add(active.get_attribute("id") or active.get_attribute("type") or active.tag_name)
    assert {"heads", "radio", "theme"} <= reached


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(window, page, theme):
    assert AXE, "AXE_CORE must name axe.min.js"
    window.open(page)
    window.run("document.documentElement.dataset.theme = arguments[0]", theme)
    for summary in window.all("main details:not([open]) > summary")[:3]:
        window.run("arguments[0].click()", summary)
    serious = [fault for fault in axe_faults(window) if fault[0] in ("serious", "critical")]
    assert serious == []


def axe_faults(window):
    """Impact, rule and places of everything that axe-core finds."""
    window.run(Path(AXE).read_text(encoding="utf-8"))
    found = window.driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {resultTypes: ['violations']}).then(r => done(JSON.stringify("
        "r.violations.map(v => [v.impact, v.id, v.nodes.slice(0, 3).map(n => n.html)]))))"
    )
    return json.loads(found)


VIEWS = {
    "heads": "heads?kernel=lag%3A2&heads=4&budget=1000",
    "runs": "runs?store=report/runs.sqlite",
    "studies": "studies?folder=map",
}


@pytest.mark.skipif(not PICTURES, reason="BROWSER_PICTURES names no folder")
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_pictures_for_people(window, page, theme, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    window.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        window.open(VIEWS.get(page, page))
        if page == "data":
            window.click("#example")
            window.until(lambda: window.all("#answer .answer"), "no answer to the example")
        window.run("document.documentElement.dataset.theme = arguments[0]", theme)
        wide = window.run("return document.documentElement.scrollWidth")
        box = window.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": width, "height": min(box["height"], 4000), "scale": 1}
        shot = window.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        name = f"{page}-{width}-{theme}.png"
        (Path(PICTURES) / name).write_bytes(base64.b64decode(shot["data"]))
        assert wide <= width, "the page is wider than the screen"
    finally:
        window.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
