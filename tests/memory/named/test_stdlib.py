import jax.numpy as jnp
import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named.stdlib import Stdlib
from headcount.memory.named.text import Split
from headcount.memory.read import Last
from headcount.memory.target import targets


def test_windows_are_real_and_labels_are_the_next_bytes(draw):
    target = Stdlib(megabytes=0.3)
    batch = draw(target, 4, 50)
    x, y = np.asarray(batch.x), np.asarray(batch.y)
    assert x.dtype == np.int32
    np.testing.assert_array_equal(y[:, :-1], x[:, 1:])
    assert not np.asarray(batch.mask)[:, -1].any()
    assert np.asarray(batch.mask)[:, :-1].all()
    text = target.data.tobytes()
    assert all(bytes(row.tolist()) in text for row in x)


def test_test_windows_come_from_test_files_only(draw):
    target = Stdlib(megabytes=0.3)
    held = target.held_out()
    assert held.split is Split.TEST
    assert not set(target.files) & set(held.files)
    assert held.held_out() == held
    x = np.asarray(draw(held, 20, 200).x)
    assert all(bytes(row.tolist()) in held.data.tobytes() for row in x)
    assert sum(bytes(row.tolist()) in target.data.tobytes() for row in x) < 20


def test_the_hash_is_stable_recorded_and_enforced():
    target = targets.build("stdlib:megabytes=0.3")
    assert len(target.corpus_hash) == 64
    assert Stdlib(megabytes=0.3, sha256=target.corpus_hash) == target
    assert Stdlib(megabytes=0.2).corpus_hash != target.corpus_hash
    with pytest.raises(InputError, match="Python version"):
        Stdlib(megabytes=0.3, sha256="0" * 64)


def test_the_default_corpus_is_nearly_three_megabytes_split_nine_to_one():
    target = Stdlib()
    total = target.data.size + target.held_out().data.size
    assert 2.9e6 < total <= 3.0e6
    assert len(target.files) == pytest.approx(9 * len(target.held_out().files), abs=9)


def test_the_answer_is_in_the_future():
    assert not Stdlib.causal
    changed = Stdlib(megabytes=0.2).evaluate(jnp.array([[65, 66, 67], [65, 66, 68]]))
    assert changed[0, 1] != changed[1, 1]


def test_refusals(draw):
    with pytest.raises(InputError, match="more megabytes"):
        draw(Stdlib(megabytes=0.2), 2, 10**7)
    with pytest.raises(InputError, match="read=all"):
        draw(Stdlib(megabytes=0.2, read=Last()), 2, 10)


def test_the_users_own_texts_by_folder_and_by_file(tmp_path, draw):
    for i in range(20):
        (tmp_path / f"{i}.md").write_text(f"chapter {i}\n" * 20)
    (tmp_path / "picture.bin").write_bytes(bytes(500))
    target = Stdlib(path=str(tmp_path))
    assert len(target.files) == 18
    assert len(target.held_out().files) == 2
    assert "picture.bin" not in {*target.files, *target.held_out().files}
    assert target.data.tobytes().count(b"chapter") == 18 * 20
    one = Stdlib(path=str(tmp_path / "3.md"))
    assert one.data.size == 9 * one.held_out().data.size == 9 * 20
    assert draw(one, 2, 16).x.shape == (2, 16)
    with pytest.raises(InputError, match="check the path"):
        Stdlib(path=str(tmp_path / "none"))
    with pytest.raises(InputError, match="at least 2"):
        Stdlib(path=str(tmp_path), megabytes=0.0002)
