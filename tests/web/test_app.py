"""The routes over a real worker: right answers, and one line for everything else."""

import io
import zipfile

import numpy as np
import pytest

from headcount.core.spec import canonical_json
from headcount.lab.sweep.schema import FINISHED, Row
from headcount.lab.sweep.store import Store
from headcount.memory.kernels import kernels
from headcount.report.palette import DARK
from headcount.theory.bounds.weight import budget_claim
from headcount.theory.heads import family
from headcount.theory.kernel_fit import fit_kernel
from headcount.theory.problem import Problem
from headcount.train.run_spec import RunSpec
from headcount.web.views.head_views import evidence

RUN = {
    "memory": "exp-4b",
    "model": {"attention": "dp-free", "ffn": "none", "width": 4, "heads": 1, "bias": "lin"},
    "train": {"steps": 4, "length": 8, "loss": "population"},
    "seed": 0,
}


def test_a_fit_is_that_of_the_library(ask):
    status, found = ask("fit", kernel="lag:2", heads=2)
    assert status == 200
    mine = fit_kernel("lag:2", heads=2)
    assert found["error"] == mine.to_json()["error"]
    assert found["lower_bound"]["words"] == mine.lower_bound.words()
    assert found["evidence"] == {"kind": "isolated", "places": [2]}
    assert len(found["curves"]["heads"]) == 2


EVIDENCE = [  # each kind of proof, and what the page draws of it
    ({"kernel": "osc:0.05,0.3", "heads": 1, "budget": 10}, "branch", "vectors"),
    ({"kernel": "power:1.5", "heads": 2}, "squeeze", "y"),
    ({"kernel": "exp:0.1", "bias": "log", "heads": 3, "budget": 10}, "dual", "y"),
    ({"kernel": "osc:0.05,0.3", "heads": 2}, "zeros", "blocks"),
]


@pytest.mark.parametrize(("asked", "kind", "drawn"), EVIDENCE)
def test_every_kind_of_evidence_is_told(ask, asked, kind, drawn):
    status, found = ask("fit", **asked)
    assert status == 200, found
    proof = found["evidence"]
    assert proof["kind"] == kind
    assert proof[drawn]
    if "lags" in proof:
        lengths = {len(v) for v in proof.get("vectors", [proof.get("y")])}
        assert lengths == {len(proof["lags"])}


def test_a_polynomial_is_drawn_by_lag():
    """The memory answers the test sequence with 1, and a head with at most `maximum`."""
    problem = Problem(kernels.build("lag:4"), family("lin"), budget=100.0)
    claim = budget_claim(problem)
    proof = evidence(claim)
    assert proof["y"][proof["lags"].index(4)] in (1, -1)
    x = np.linspace(0, 1, 501)
    sums = sum(y * x**lag for lag, y in zip(proof["lags"], proof["y"], strict=True))
    assert np.abs(sums).max() <= proof["maximum"] * 1.01  # drawn with six digits


def test_the_same_question_is_answered_from_memory(client):
    first = client.post("/api/fit", json={"kernel": "lag:1", "heads": 1, "certify": False})
    again = client.post("/api/fit", json={"certify": False, "heads": 1, "kernel": "lag:1"})
    assert (first.headers["x-from-memory"], again.headers["x-from-memory"]) == ("no", "yes")
    assert first.content == again.content


def test_a_drawn_kernel(ask):
    status, found = ask("fit", kernel=[0, 1, 0.5], bias="peak", heads=3)
    assert status == 200
    assert found["curves"]["kernel"][:4] == [0, 1, 0.5, 0]


def test_a_memory_reads_what_it_says(ask):
    status, found = ask("memory", memory="fixed:lags=1+3", length=6)
    assert status == 200
    x, y = found["x"], found["y"]
    assert found["reads"][5] == [[1, 1.0], [3, 1.0]]
    assert y[5] == pytest.approx(x[4] + x[2])


def test_an_adaptive_rule(ask):
    table = {"kind": "table", "lags": [0, 1, 2], "alphabet": [[-1], [0], [1]], "allow_zero": True}
    rule = {"kind": "adaptive", "inputs": "ternary", "lag_functions": [table]}
    status, found = ask("memory", memory=rule, length=8)
    assert status == 200
    lags = {-1.0: 0, 0.0: 1, 1.0: 2}
    for t, reads in enumerate(found["reads"]):
        lag = lags[found["x"][t]]
        assert reads == ([[lag, 1.0]] if lag <= t else [])


def test_a_saved_model_at_work(ask, root):
    import jax.numpy as jnp
    import numpy as np

    from headcount.memory.read import Everywhere
    from headcount.model.save import load

    status, found = ask("model", folder="models/small", sequence=[1.0, -1.0, 1.0])
    assert status == 200
    model = load(root / "models" / "small")
    wanted = model(jnp.array([[[1.0], [-1.0], [1.0]]]), Everywhere())[0]
    assert np.allclose(found["y"], wanted, atol=1e-5)
    (layer,) = found["layers"]
    assert np.allclose(np.sum(layer["weights"], axis=2), 1.0, atol=1e-5)
    assert layer["by_lag"][0] == layer["weights"][0][-1][::-1]


def test_a_build_can_be_taken_away_and_opened(client, root):
    asked = {"memory": "fixed:lags=1", "tol": 0.2, "bias": "peak", "length": 8}
    taken = client.post("/api/build", json=asked)
    assert taken.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(taken.content)) as archive:
        archive.extractall(root / "models" / "taken")
    found = client.post("/api/model", json={"folder": "models/taken/model", "length": 8}).json()
    assert [space["name"] for space in found["subspaces"]] == ["memory_1"]
    built = client.post("/api/model", json={"build": asked, "length": 8}).json()
    assert built["exact"][0]["name"] == "memory_1"
    assert built["parameters"] == found["parameters"]
    long = client.post("/api/model", json={"build": asked, "sequence": [1.0] * 9})
    assert (long.status_code, "at most 8" in long.json()["error"]) == (422, True)


def test_studies_and_what_is_found(client, ask):
    found = client.get("/api/found").json()
    assert "models/small" in found["models"]
    assert found["studies"] == ["map", "report"]
    status, study = ask("study", folder="report")
    assert status == 200
    assert study["verdicts"][0]["outcome"] == "supported"
    assert [arm["learned"] for arm in study["arms"]] == [0.5, None]
    assert "under 10 minutes" in study["caveat"]
    figure = client.get("/api/figure", params={"name": "report/figures/one.svg"})
    assert figure.status_code == 200
    assert "sandbox" in figure.headers["content-security-policy"]


def test_a_figure_comes_in_the_colours_of_the_page(client, root):
    drawn = "<svg xmlns='http://www.w3.org/2000/svg'><path style='fill: #ffffff'/></svg>"
    (root / "report" / "figures" / "two.svg").write_text(drawn)
    name = {"name": "report/figures/two.svg"}
    assert client.get("/api/figure", params=name).text == drawn
    dark = client.get("/api/figure", params={**name, "face": "dark"}).text
    assert dark == drawn.replace("#ffffff", DARK["paper"])


def test_a_report_is_opened_alone(client, root):
    """Whatever a report.html holds: it runs nothing, and nothing else is opened so."""
    page = root / "report" / "report.html"
    page.write_text("<title>mine</title><script>alert(1)</script>")
    found = client.get("/api/report", params={"name": "report/report.html"})
    assert (found.status_code, "mine" in found.text) == (200, True)
    policy = found.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert policy.endswith("sandbox")
    (root / "report" / "other.html").write_text("x")
    for name in ("report/other.html", "report/verdicts.json", "report", "", "../report.html"):
        assert client.get("/api/report", params={"name": name}).status_code in (404, 422)


def test_another_study(ask, root):
    status, found = ask("study", folder="map")
    assert (status, found["kind"], found["map"]) == (200, "robustness", [])
    assert found["caveat"] is None
    words = '"sentences": ["The hoeffding bound is 3e-06."], "notes": 7'
    quick = f'{{"kind": "robustness", "map": [], "profile": "smoke", {words}}}'
    (root / "map" / "result.json").write_text(quick)
    smoke = ask("study", folder="map")[1]
    assert "for a verdict" in smoke["caveat"]
    assert (smoke["sentences"], smoke["notes"]) == (["The Hoeffding bound is 3e-6."], [])
    (root / "map" / "result.json").write_text('{"kind": "poem"}')
    status, told = ask("study", folder="map")
    assert (status, "headcount study" in told["error"]) == (422, True)


def test_a_store_of_runs(ask, root):
    with Store(root / "runs.sqlite"):
        pass
    status, found = ask("runs", store="runs.sqlite")
    assert (status, found["runs"], found["lines"]) == (200, 0, [])
    assert (found["axes"], found["study"]) == ([], None)
    with Store(root / "report" / "runs.sqlite"):
        pass
    assert ask("runs", store="report/runs.sqlite")[1]["study"] == "report"


def test_runs_come_with_their_summary_and_models(client, ask, root):
    """By axis, as the command line prints it; a kept model is reached from its run alone."""
    (root / "swept").mkdir()
    with Store(root / "swept" / "runs.sqlite") as store:
        specs = {}
        for heads, loss in ((1, 0.5), (2, 0.25)):
            spec = RunSpec.from_values({**RUN, "model": {**RUN["model"], "heads": heads}})
            specs[spec.content_hash] = (canonical_json(spec), loss)
        store.add({id: text for id, (text, _) in specs.items()})
        for id, (_, loss) in specs.items():
            record = {"outcome": "finished", "final": {"eval_loss": loss}, "metrics": {}}
            store.put(Row(id, FINISHED, record))
        kept = store.weights / next(iter(specs))
        kept.mkdir(parents=True)
    (kept / "config.json").write_text("{}")
    (kept / "model.safetensors").write_bytes(b"")
    found = ask("runs", store="swept/runs.sqlite")[1]
    assert [(a["axis"], a["value"], a["median"]) for a in found["axes"]] == [
        ("model.heads", "1", 0.5), ("model.heads", "2", 0.25),
    ]  # fmt: skip
    models = [line["model"] for line in found["lines"]]
    assert models == [f"swept/runs.sqlite.weights/{kept.name}", None]
    assert not [m for m in client.get("/api/found").json()["models"] if "weights" in m]


def test_the_catalogue_offers_nothing_that_reads_files(client):
    parts = client.get("/api/catalogue").json()["parts"]
    assert {"lag", "power"} <= {entry["name"] for entry in parts["kernel"]}
    assert not {"file", "callable", "stdlib"} & {e["name"] for part in parts.values() for e in part}


def test_the_page_and_its_policy(client):
    page = client.get("/")
    assert "js/app.js" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert client.get("/js/app.js").status_code == 200
    assert client.get("/nothing").json() == {"error": "nothing is here"}


def test_from_which_position_on_a_model_is_promised(ask):
    """Plain softmax divides by what is there so far: three tokens back are right from the fourth
    on.
    """
    parts = {"bias": "rope", "normaliser": "softmax", "tol": 0.2, "length": 8}
    status, found = ask("model", build={"memory": "fixed:lags=3", **parts})
    assert status == 200, found
    assert found["first_position"] == 4
    status, found = ask("plan", memory="fixed:lags=3+5", tol=0.2, length=6)
    assert status == 200, found
    assert found["recommended"]["normaliser"] == "softmax"
    assert found["first_position"] == 6


def test_a_drawn_sequence_fits_the_model(ask):
    build = {"memory": "recall:pairs=2,symbols=3", "bias": "lin", "tol": 0.2, "length": 16}
    status, found = ask("model", build=build)
    assert status == 200, found
    assert len(found["x"]) == 16
    assert found["first_position"] == 1


def test_the_column_to_predict_is_asked_for(client):
    lines = "\n".join(f"{np.sin(i * i)},{np.cos(i * i)}" for i in range(60))
    head = {"content-type": "application/octet-stream"}
    place = "/api/diagnose?name=two.csv&column=nothing"
    answer = client.post(place, content=f"x,y\n{lines}", headers=head)
    assert answer.status_code == 422
    assert "no column 'nothing'" in answer.json()["error"]


@pytest.mark.parametrize(
    ("kernel", "got"), [("1/s", "'1/s'"), ([], "[]"), ([1, 2, "x"], "[1, 2, 'x']"), ([True], "")]
)
def test_a_kernel_that_is_none_is_refused_in_one_line(ask, kernel, got):
    status, found = ask("fit", kernel=kernel)
    assert status == 422
    assert found["error"].startswith(f"AskFit: kernel: {got}")
    assert "like 'power:1.5'" in found["error"] or kernel == [True]
    assert not any(word in found["error"] for word in ("lambda", "list[", "function"))
