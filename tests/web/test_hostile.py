"""What a hostile client may try: each is refused with a status and one line, and the server goes
on.
"""

import contextlib
import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.core.errors import InputError
from headcount.web.asked import AskFit, safe_part
from headcount.web.guard import BODY_BYTES, Refused, depth, parsed
from headcount.web.root import Root


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


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1"])
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
        [[[[[[[[[[1]]]]]]]]]],
        {"kind": "fixed", "lags": [10**30]},
    ],
)
def test_parts_that_read_files_or_call_functions_are_refused(part):
    with pytest.raises(InputError):
        safe_part(part)


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
