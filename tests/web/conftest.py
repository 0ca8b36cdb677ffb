"""One small explorer for all tests of the folder: one worker process, a root with a saved model."""

import json
import threading
import time

import pytest

pytest.importorskip("starlette")

import uvicorn
from starlette.testclient import TestClient

from headcount.model.spec import ModelSpec
from headcount.web import server as servers
from headcount.web.app import application
from headcount.web.server import bound_socket, configuration, hosts_of

HOST = "localhost:8642"
VERDICT = {"insight": "1", "kind": "trained", "outcome": "supported", "sentence": "it does"}


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A folder with a model, a report, and a secret beside it."""
    import jax

    from headcount.model.save import save

    place = tmp_path_factory.mktemp("explorer")
    (place / "secret.json").write_text('{"secret": 1}')
    opened = place / "opened"
    model = ModelSpec(heads=2, width=4, hidden=8, attention="dp-free").build(
        jax.random.key(0), dim=1
    )
    save(model, opened / "models" / "small")
    report = opened / "report"
    (report / "figures").mkdir(parents=True)
    (report / "verdicts.json").write_text(json.dumps({"profile": "smoke", "verdicts": [VERDICT]}))
    (report / "arms.csv").write_text("experiment,arm,learned\n4b,lin-1,0.5\n4b,log-2,\n")
    (report / "figures" / "one.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (opened / "map").mkdir()
    (opened / "map" / "result.json").write_text('{"kind": "robustness", "map": []}')
    (opened / "out").symlink_to(place)
    return opened


@pytest.fixture(scope="session")
def client(root):
    app = application(root, (HOST,), workers=1, waiting=2)
    with TestClient(app, base_url=f"http://{HOST}") as made:
        yield made


@pytest.fixture
def ask(client):
    """Post a question, get (status, document)."""

    def post(question, **values):
        answer = client.post(f"/api/{question}", json=values)
        return answer.status_code, answer.json()

    return post


@pytest.fixture(scope="session")
def address(root):
    """A server with one worker and four places in its queue, on a free port."""
    patience = pytest.MonkeyPatch()
    patience.setattr(servers, "HEAD_SECONDS", 2.0)
    listening = bound_socket("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = application(root, hosts_of("127.0.0.1", port), workers=1, waiting=4)
    running = uvicorn.Server(configuration(app))
    thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.05)
    yield ("127.0.0.1", port, app.app.state.service)
    running.should_exit = True
    thread.join(20)
    patience.undo()
