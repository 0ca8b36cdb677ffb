import hashlib

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named.corpus import END_OF_FILE, python_corpus


def write(root, **files):
    for name, data in files.items():
        path = root / name.replace("__", "/")
        path = path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def test_files_are_clipped_closed_split_and_hashed(tmp_path):
    write(tmp_path, a=b"x = 1\n", b="é".encode(), c=b"pass")
    corpus = python_corpus(tmp_path, 1.0)
    order = sorted(
        ("a.py", "b.py", "c.py"), key=lambda name: hashlib.sha256(name.encode()).digest()
    )
    assert corpus.test_files == (order[0],)
    assert corpus.train_files == tuple(order[1:])
    expected = {"a.py": b"x = 1\n", "b.py": b"\x7f\x7f", "c.py": b"pass"}
    train = b"".join(expected[name] + bytes([END_OF_FILE]) for name in order[1:])
    test = expected[order[0]] + bytes([END_OF_FILE])
    assert (corpus.train.tobytes(), corpus.test.tobytes()) == (train, test)
    assert corpus.sha256 == hashlib.sha256(train + test).hexdigest()


def test_packages_tests_and_machine_dependent_files_are_left_out(tmp_path):
    write(
        tmp_path,
        good=b"1",
        fine=b"2",
        **{
            f"{folder}__bad": b"3" for folder in ("site-packages", "test", "tests", "config-3.11-x")
        },
    )
    write(tmp_path, sub__test__bad=b"4", sub__testing=b"5")
    (tmp_path / "_sysconfigdata_x.py").write_bytes(b"6")
    corpus = python_corpus(tmp_path, 1.0)
    assert set(corpus.train_files + corpus.test_files) == {"good.py", "fine.py", "sub/testing.py"}


def test_the_limit_holds_and_every_tenth_file_is_for_testing(tmp_path):
    write(tmp_path, **{f"f{i}": bytes([65 + i % 20]) * 1000 for i in range(60)})
    corpus = python_corpus(tmp_path, 0.04)
    assert corpus.train.size + corpus.test.size == 39 * 1001
    assert (len(corpus.train_files), len(corpus.test_files)) == (35, 4)
    assert corpus.train.dtype == np.uint8


def test_no_sources_is_one_clear_line(tmp_path):
    with pytest.raises(InputError, match=r"0 usable \*\.py files"):
        python_corpus(tmp_path, 1.0)
    with pytest.raises(InputError, match="megabytes"):
        python_corpus(tmp_path, 0.0)
