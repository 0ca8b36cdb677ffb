"""A server over a small root, and a headless browser that looks at it."""

import contextlib
import functools
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

selenium = pytest.importorskip("selenium")

from selenium.common.exceptions import (
    ElementNotInteractableException,
    NoSuchElementException,
    StaleElementReferenceException,
)
from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

BROWSER = os.environ.get("BROWSER_BINARY", "/usr/bin/chromium")
DRIVER = os.environ.get("BROWSER_DRIVER", "/usr/bin/chromedriver")
PAGES = ("memory", "heads", "plan", "model", "runs", "studies", "data")
# A status line is empty only before the first question of a panel, or on pages that ask none
CALM = """
const waits = [...document.querySelectorAll('.busy')].some(e => /computing/.test(e.textContent));
const asks = !/^#.(runs|studies|data)/.test(location.hash);
const silent = [...document.querySelectorAll('.busy')].some(e => asks && e.textContent === ''
  && !document.querySelector('[role=alert]'));
const claim = document.querySelector('#claim')?.textContent ?? '';
return !!document.querySelector('h1') && !waits && !silent && !/being computed|goes on/.test(claim);
"""
RUN = {
    "memory": "exp-4b",
    "model": {"attention": "dp-free", "ffn": "none", "width": 4, "heads": 1, "bias": "lin"},
    "train": {"steps": 4, "length": 8, "loss": "population", "log": 4, "effort": "low"},
    "seed": 0,
}
CELL = {"insight": "4a", "factor": "norm", "variant": "none", "outcome": "supported", "effect": 1.5}
CELL |= {"interval": [1.0, 2.0], "scale": "log10 ratio", "seeds": 10}
MAP = {"kind": "robustness", "map": [CELL], "refused": [], "sentences": ["It survives."]}
LEFT = {"memory": "lag-5", "family": "fixed", "learned": 0.96, "accuracy": None, "reached": False}
LEFT |= {"minimum": None, "parameters": 432, "refused": ""}
ZOO = {"kind": "zoo", "model": "gru", "profile": "smoke", "rows": [LEFT]}
ZOO |= {"sentences": ["gru reaches 0 of 1 memories."]}
# What is drawn anew is gone, or not yet in its place, for a moment
GONE = (NoSuchElementException, StaleElementReferenceException, ElementNotInteractableException)
PATIENCE = 300  # seconds for one answer on a busy machine


def pytest_collection_modifyitems(items):
    """Only on request: a browser is no dependency of the tests."""
    if os.environ.get("HEADCOUNT_BROWSER") != "yes":
        skip = pytest.mark.skip(reason="run by `make browser-test`")
        for item in items:
            if Path(str(item.fspath)).parent == Path(__file__).parent:
                item.add_marker(skip)


class Window:
    """The browser, with what these tests do in it."""

    def __init__(self, driver, base):
        self.driver, self.base = driver, base

    def open(self, address):
        self.driver.get("about:blank")
        self.driver.get(f"{self.base}#/{address}")
        self.settle()

    def one(self, css):
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def click(self, css):
        self.act(lambda: self.one(css).click(), f"no {css} to click")

    def type(self, css, *keys):
        self.act(lambda: self.one(css).send_keys(*keys), f"no {css} to type into")

    def choose(self, css, value):
        self.act(lambda: Select(self.one(css)).select_by_value(value), f"no {value} in {css}")

    def text(self, css):
        told = []
        self.act(lambda: told.append(self.one(css).text), f"no {css} to read")
        return told[-1]

    def press(self, text):
        """The button with this text."""
        path = f"//main//button[.='{text}']"
        self.act(lambda: self.driver.find_element(By.XPATH, path).click(), f"no button {text}")

    def act(self, what, fault):
        """Once what is acted on stands still: a page draws anew while it computes."""
        self.until(lambda: what() is None, fault)

    def until(self, test, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(*GONE):
                if test():
                    return
            time.sleep(0.1)
        raise AssertionError(f"{what}; the page shows: {self.one('main').text[:600]}")

    def settle(self):
        """Until no panel computes, twice in a row."""

        def quiet():
            calm = self.run(CALM)
            time.sleep(0.5)
            return calm and self.run(CALM)

        self.until(quiet, "the page did not settle")

    def faults(self):
        """What the console holds against the page."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] == "SEVERE"]


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A built model, a report, a map of robustness and a store with one run to do."""
    from headcount.construct import construct

    place = tmp_path_factory.mktemp("opened")
    construct("fixed:lags=1", "peak", tol=0.2, length=16).save(place / "lag1", "fixed:lags=1")
    report = place / "report"
    report.mkdir()
    verdict = {"insight": "1", "kind": "trained", "outcome": "supported", "sentence": "it does"}
    (report / "verdicts.json").write_text(json.dumps({"profile": "smoke", "verdicts": [verdict]}))
    (report / "arms.csv").write_text(
        "experiment,variant,arm,cell,promised,possible,learned,seeds\n"
        "4b,,lin-1,,3,0.01,0.5,2\n4b,,log-2,,,0.2,0.3,2\n"
    )
    from headcount.core.spec import canonical_json
    from headcount.lab.sweep.store import Store
    from headcount.train.run_spec import RunSpec

    spec = RunSpec.from_values(RUN)
    with Store(report / "runs.sqlite") as store:
        store.add({spec.content_hash: canonical_json(spec)})
    (place / "zoo").mkdir()
    (place / "zoo" / "result.json").write_text(json.dumps(ZOO))
    (place / "map").mkdir()
    (place / "map" / "result.json").write_text(json.dumps(MAP))
    return place


@pytest.fixture(scope="session")
def copied(tmp_path_factory):
    """A static copy with four heads at most."""
    from headcount.web import asked, static_site

    fits = [
        asked.AskFit(kernel="power:1.5", heads=n, certify=certify)
        for n in (3, 4)
        for certify in (False, True)
    ]
    few = [("catalogue", {}), *(("fit", fit.to_plain()) for fit in fits)]
    few += [("memory", asked.AskMemory(memory=m).to_plain()) for m in static_site.MEMORIES]
    plan = asked.AskPlan(tol=static_site.TOL, length=static_site.LENGTH)
    few.append(("plan", plan.to_plain()))
    place = tmp_path_factory.mktemp("static") / "site"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_site, "questions", lambda: few)
        static_site.write_site(place, lambda line: None)
    return place


@pytest.fixture(params=["http", "file"])
def static(request, copied):
    """Its address: behind Python's own file server, and on the disk."""
    if request.param == "file":
        yield copied.as_uri() + "/index.html"
        return
    handler = functools.partial(Quiet, directory=str(copied))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def base(root):
    """The address of `headcount serve` as a user starts it."""
    command = [sys.executable, "-m", "headcount.cli", "serve", "--port", "0", "--root", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        yield line.split()[4]
        server.terminate()


@pytest.fixture(scope="session")
def window(base):
    options = Options()
    options.binary_location = BROWSER
    for word in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1400,1100"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(PATIENCE)
    yield Window(driver, base)
    driver.quit()
