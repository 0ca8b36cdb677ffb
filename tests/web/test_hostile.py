"""What a hostile client may try: each is refused with a status and one line, and the server goes
on.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.construct.method import methods
from headcount.core.errors import InputError
from headcount.lab.sweep.store import Store
from headcount.web import work
from headcount.web.asked import AskFit, AskModel, safe_part
from headcount.web.guard import BODY_BYTES, Refused, Room, depth, parsed
from headcount.web.root import Root
from headcount.web.work_words import ANSWERED, REFUSED


def test_a_body_is_looked_through_once():
    """Strings that never close would take minutes if each quote were tried anew."""
    endless = b'"' + b'\\"' * 100_000
    started = time.process_time()
    assert depth(endless) == 0
    assert depth(b"[" * 200_000, 16) == 17
    assert time.process_time() - started < 2


def refused(answer, status):
    assert answer.status_code == status, answer.text
    (line,) = answer.json().values()
    assert line
    assert "\n" not in line
    assert "Traceback" not in line
    return line


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost", "127.0.0.1:1", "", "localhost:8642.x"]
)
def test_other_hosts_are_refused(client, host):
    refused(client.get("/api/found", headers={"host": host}), 421)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost:1",
        "http://https://localhost:8642",
        "localhost:8642",
        "ftp://localhost:8642",
    ],
)
def test_other_origins_are_refused(client, origin):
    refused(client.post("/api/fit", json={}, headers={"origin": origin}), 403)


def test_another_site_cannot_post(client):
    refused(client.post("/api/fit", json={}, headers={"sec-fetch-site": "cross-site"}), 403)
    plain = {"content-type": "text/plain"}
    refused(client.post("/api/fit", content="{}", headers=plain), 415)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[1]", 400),
        (b"{", 400),
        (b'{"heads": NaN}', 400),
        (b'{"budget": Infinity}', 400),
        (b'{"heads": 1, "heads": 2}', 400),
        (b"\xff\xfe", 400),
        ('{"heads": 1}'.encode("utf-16"), 400),
        (b'{"kernel": "lag:9_999_999_999"}', 422),
        (b'{"kernel": [1e-300], "heads": 1, "certify": false}', 422),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, 400),
        (b'{"heads": ' + b"9" * 5000 + b"}", 400),
        (b'{"x":"' + b"a" * BODY_BYTES + b'"}', 413),
        (b'{"heads": 1e999}', 422),
        (b'{"heads": "3"}', 422),
        (b'{"heads": true}', 422),
        (b'{"heads": 0}', 422),
        (b'{"heads": 65}', 422),
        (b'{"heads": null}', 422),
        (b'{"budget": -1}', 422),
        (b'{"hedas": 3}', 422),
        (b'{"kernel": []}', 422),
        (b'{"kernel": [[1]]}', 422),
        (b'{"kernel": "nothing"}', 422),
        (b'{"kernel": "lag:-1"}', 422),
        (b'{"kernel": "lag:99999999999"}', 422),
        (b'{"bias": "quadratic"}', 422),
    ],
)
def test_bad_bodies(client, body, status):
    json_type = {"content-type": "application/json"}
    refused(client.post("/api/fit", content=body, headers=json_type), status)


PATHS = [
    "../secret.json",
    "/etc/passwd",
    "..",
    "a/../../secret.json",
    "out/secret.json",
    "~/x",
    "..\\secret.json",
    "\0",
    "",
    "C:/x",
    "%2e%2e/secret.json",
]


@pytest.mark.parametrize("name", PATHS)
def test_nothing_outside_the_root_is_read(client, name):
    refused(client.post("/api/model", json={"folder": name}), 422)
    refused(client.post("/api/study", json={"folder": name}), 422)
    refused(client.post("/api/runs", json={"store": name}), 422)
    assert client.get("/api/figure", params={"name": name}).status_code in (404, 422)
    assert client.get("/api/report", params={"name": name}).status_code in (404, 422)


@pytest.mark.parametrize("path", ["/../secret.json", "/%2e%2e/%2e%2e/app.py", "/js/../../app.py"])
def test_no_file_beside_the_page_is_served(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "part",
    [
        "k.npy",
        "/etc/x.csv",
        "file:secret",
        "spec.json",
        "spec. toml",
        "callable:os",
        "stdlib",
        "fixed:lags=1,readout=callable(function=os)",
        {"kind": "essential", "kernel": {"kind": "file", "path": "x"}},
        {"kind": "essential", "kernel": "k.csv"},
        {"kind": "stdlib", "path": "/etc"},
        "fixed:lags=" + "1+" * 400,
        "fixed:lags=9_999_999_999",
        [[[[[[[[[[1]]]]]]]]]],
        {"kind": "fixed", "lags": [10**30]},
    ],
)
def test_parts_that_read_files_or_call_functions_are_refused(part):
    with pytest.raises(InputError):
        safe_part(part)


@pytest.mark.parametrize("key", ["theorem", "bias", "normaliser"])
def test_no_name_of_a_part_opens_a_file(client, root, key):
    """Nor tells whether it is there: the answers are the same but for the name."""
    told = []
    for name in ("secret.json", "absent.json"):
        path = str(root.parent / name)
        for asked in ({key: path}, {key: f"../{name}"}):
            line = refused(client.post("/api/build", json=asked), 422)
            told.append(line.replace(path, "").replace(f"../{name}", ""))
            refused(client.post("/api/model", json={"build": asked}), 422)
    assert len(set(told)) == 1


def test_workers_open_no_file_because_a_text_names_it(root):
    """Whatever a record lets through: the worker closes its registries."""
    path = root / "kind.json"
    path.write_text('{"kind": "secret"}')
    word, line = work.answer("catalogue", {}, str(root))
    assert word == ANSWERED
    tasks = {"x": lambda values, place: methods.build(str(path))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "TASKS", tasks)
        word, line = work.answer("x", {}, str(root))
    assert (word, b"secret" in line, b"names a file" in line) == (REFUSED, False, True)
    assert str(root).encode() not in line
    path.unlink()


@pytest.fixture
def place(tmp_path):
    """A folder to be opened, and a secret beside it."""
    (tmp_path / "secret").write_text('{"kind": "zoo", "verdicts": [{"secret": 1}], "a": 2}')
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.svg").write_text("<svg/>")
    report = tmp_path / "opened" / "report"
    report.mkdir(parents=True)
    (report / "verdicts.json").write_text('{"verdicts": []}')
    return tmp_path / "opened"


def asked_of(place, question, **values):
    word, line = work.answer(question, values, str(place))
    assert str(place).encode() not in line
    return word, line.decode()


@pytest.mark.parametrize(
    "name", ["verdicts.json", "result.json", "arms.csv", "figures", "report.html"]
)
def test_links_beside_a_report_that_lead_out_are_refused(place, name):
    (place / "report" / name).unlink(missing_ok=True)
    outside = "folder" if name == "figures" else "secret"
    (place / "report" / name).symlink_to(place.parent / outside)
    word, line = asked_of(place, "study", folder="report")
    assert (word, "leads out of the opened folder" in line) == (REFUSED, True), line


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "subspaces.json"])
def test_links_beside_a_model_that_lead_out_are_refused(place, root, name):
    shutil.copytree(root / "models" / "small", place / "model")
    (place / "model" / name).unlink(missing_ok=True)
    (place / "model" / name).symlink_to(place.parent / "secret")
    word, line = asked_of(place, "model", folder="model", build=None)
    assert (word, "leads out of the opened folder" in line) == (REFUSED, True), line


def test_links_beside_a_store_that_lead_out_are_not_followed(place):
    store = place / "report" / "a.sqlite"
    Store(store).close()
    (place / "report" / "verdicts.json").unlink()
    (place / "report" / "verdicts.json").symlink_to(place.parent / "secret")
    word, line = asked_of(place, "runs", store="report/a.sqlite")
    assert (word, json.loads(line)["verdicts"]) == (ANSWERED, [])
    store.with_name("a.sqlite-wal").symlink_to(place.parent / "secret")
    word, line = asked_of(place, "runs", store="report/a.sqlite")
    assert (word, "leads out" in line) == (REFUSED, True)


def test_a_link_that_stays_inside_is_followed(place):
    (place / "kept.csv").write_text("arm\nlin-1\n")
    (place / "report" / "arms.csv").symlink_to(place / "kept.csv")
    word, line = asked_of(place, "study", folder="report")
    assert (word, json.loads(line)["arms"]) == (ANSWERED, [{"arm": "lin-1"}])


def test_odd_names_do_not_hide_the_others(place):
    odd = os.fsencode(place) + b"/bad\xff"
    os.mkdir(odd)
    with open(odd + b"/verdicts.json", "w") as file:
        file.write("{}")
    with open(os.fsencode(place) + b"/\xfe.sqlite", "w"):
        pass
    assert Root(place).holding("verdicts.json") == ["report"]
    assert Root(place).ending(".sqlite") == []


def test_odd_files_of_a_report_are_refused_in_one_line(place):
    (place / "report" / "arms.csv").write_text("a,b\n" + "x" * 200_000 + ",1\n")
    word, line = asked_of(place, "study", folder="report")
    assert (word, line.split(" (")[0]) == (REFUSED, "report/arms.csv")
    (place / "report" / "arms.csv").unlink()
    deep = '{"kind": "zoo", "rows": ' + "[" * 900 + "]" * 900 + "}"
    (place / "report" / "result.json").write_text(deep)
    assert asked_of(place, "study", folder="report")[0] in (ANSWERED, REFUSED)


@pytest.mark.parametrize("content", ["[" * 90_000, '{"a": ' * 9000, "\x00", "7", None])
def test_odd_names_of_subspaces_are_left_out(place, root, content):
    shutil.copytree(root / "models" / "small", place / "model")
    names = place / "model" / "subspaces.json"
    os.mkfifo(names) if content is None else names.write_text(content)  # a pipe has no end
    word, line = asked_of(place, "model", **AskModel(folder="model").to_plain())
    assert word == ANSWERED, line


def test_paths_of_the_machine_are_not_told(place):
    (place / "model").mkdir()
    (place / "model" / "config.json").write_text("{")
    (place / "model" / "model.safetensors").write_text("x")
    word, line = asked_of(place, "model", **AskModel(folder="model").to_plain())
    assert (word, "model/config.json" in line) == (REFUSED, True), line
    word, line = asked_of(place, "diagnose", name="a.npy", content=b"x" * 99, column="")
    assert (word, tempfile.gettempdir() in line, "a.npy" in line) == (REFUSED, False, True), line
    assert "pickle" not in line


def test_a_store_that_another_program_holds_is_told_in_time(place, monkeypatch):
    monkeypatch.setattr(work, "STORE_SECONDS", 0.1)
    store = place / "a.sqlite"
    Store(store).close()
    holder = sqlite3.connect(store, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    started = time.monotonic()
    word, line = asked_of(place, "sweep", store="a.sqlite", act="stop")
    assert (word, "end the other program that holds it" in line) == (REFUSED, True), line
    assert time.monotonic() - started < 5
    holder.close()


def test_files_of_all_clients_have_a_bounded_room():
    room = Room(10)
    small = SimpleNamespace(headers={"content-length": "4"})
    unknown = SimpleNamespace(headers={})
    with room.holding(small, 8), room.holding(small, 8):
        for request in (small, unknown):
            with pytest.raises(Refused, match="too many files"), room.holding(request, 8):
                pass
    assert room.taken == 0
    with room.holding(unknown, 8):
        assert room.taken == 8


def test_a_file_that_is_no_data(client):
    octets = {"content-type": "application/octet-stream"}
    refused(client.post("/api/diagnose?name=x.exe", content=b"x", headers=octets), 422)
    refused(client.post("/api/diagnose?name=x.csv", content=b"", headers=octets), 422)


def test_a_link_that_leads_out_is_refused(root):
    with pytest.raises(InputError, match="below the opened folder"):
        Root(root).inside("out/secret.json")
    assert "out" not in " ".join(Root(root).ending(".json"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*AskFit.model_fields, "x"]), JSON, max_size=4))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_values_are_taken_or_refused(values):
    with contextlib.suppress(InputError):
        asked = AskFit(**values)
        assert isinstance(asked.heads, int)
        assert 1 <= asked.heads <= 64


@given(st.binary(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_parsed_or_refused(body):
    found = None
    with contextlib.suppress(Refused):
        found = parsed(body)
    assert found is None or isinstance(found, dict)


@given(JSON)
@settings(max_examples=100, deadline=None)
def test_depth_counts_brackets_outside_strings(value):
    def deep(inner):
        if isinstance(inner, dict):
            return 1 + max(map(deep, inner.values()), default=0)
        return 1 + max(map(deep, inner), default=0) if isinstance(inner, list) else 0

    assert depth(json.dumps(value).encode()) == deep(value)
