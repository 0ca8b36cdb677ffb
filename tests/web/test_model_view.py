"""A model at work: its named parts whole, and what its folder says."""

import json

import numpy as np
import pytest

from headcount.construct import construct
from headcount.core.errors import InputError
from headcount.model.save import named_spaces, promised_length, read_config
from headcount.web.asked import AskBuild, AskModel
from headcount.web.views.models import MOST_COORDINATES, model_view

RECALL = "recall:pairs=4"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    construct(RECALL, "table", tol=0.2, length=16).save(place / "recall", RECALL)
    return place


def test_what_a_subspace_holds_is_not_cut_with_the_picture():
    build = AskBuild(memory=RECALL, tol=0.2, bias="table", normaliser="softmax", length=16)
    found = model_view(AskModel(build=build), ".")
    (answer,) = found["layers"][1]["spaces"]
    space = next(space for space in found["subspaces"] if space["name"] == "answer")
    assert space["stop"] > MOST_COORDINATES
    assert found["stream_cut"]
    assert len(found["layers"][1]["after_attention"][0]) == MOST_COORDINATES
    held = np.array(answer["values"])
    assert held.shape == (16, found["vocabulary"])
    assert np.allclose(held.sum(axis=1), 1)  # a token each
    assert np.allclose(held[8:], np.array(found["y"])[8:])
    assert answer["writes"][0] == pytest.approx(1)
    assert answer["largest"][0] == pytest.approx(1)


def test_a_folder_gives_names_and_the_length_of_its_promise(root):
    found = model_view(AskModel(folder="recall"), str(root))
    assert [space["name"] for space in found["subspaces"]] == ["previous", "answer"]
    assert found["longest"] == len(found["x"]) == 16  # 24 tokens would be drawn
    longer = model_view(AskModel(folder="recall", sequence=[1.0] * 20), str(root))
    assert (len(longer["x"]), longer["longest"]) == (20, 16)


def test_a_folder_written_before_says_nothing_of_its_length(root):
    file = root / "recall" / "config.json"
    written = file.read_text()
    config = json.loads(written)
    del config["length"]
    try:
        file.write_text(json.dumps(config))
        assert promised_length(root / "recall") is None
        assert model_view(AskModel(folder="recall"), str(root))["longest"] is None
        file.write_text(json.dumps({**config, "length": 0}))
        with pytest.raises(InputError, match="the length 0; expected a whole number from 1"):
            read_config(root / "recall")
    finally:
        file.write_text(written)
    assert named_spaces(root / "recall")[0].name == "previous"


def test_a_folder_that_is_none_is_called_as_it_was_typed(root):
    with pytest.raises(InputError, match=r"^folder 'nosuch'"):
        model_view(AskModel(folder="nosuch"), str(root))
