import pytest

import headcount as hc
from headcount.construct.draft import Request


def test_the_verb_and_the_folder_are_one_name():
    import headcount.construct as folder

    assert hc.construct is folder
    assert callable(folder)
    assert folder.construct.__doc__ == folder.__call__.__doc__


def test_all_reasons_at_once():
    with pytest.raises(hc.InputError, match="softmax-bos repairs lin heads alone"):
        hc.construct("fixed:lags=1", bias="log", tol=0.1, normaliser="softmax-bos", theorem="fixed")


def test_plain_softmax_serves_one_position_alone():
    with pytest.raises(hc.InputError, match="one position alone can be exact"):
        hc.construct(
            "fixed:lags=1,read=all", bias="lin", tol=0.1, normaliser="softmax", theorem="fixed"
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "one of the two"),
        ({"tol": 0.1, "heads": 2}, "one of the two"),
        ({"tol": -1.0}, "positive"),
        ({"heads": 0}, "at least 1"),
        ({"heads": 1, "width": 0}, "neurons"),
        ({"heads": 1, "length": 0}, "length 0"),
    ],
)  # fmt: skip
def test_requests_are_checked(options, words):
    with pytest.raises(hc.InputError, match=words):
        Request("lin", **options)


def test_unknown_precision_and_construction():
    with pytest.raises(hc.InputError, match="float16"):
        hc.construct("fixed:lags=1", precision="float16")
    with pytest.raises(hc.InputError, match="nearest: 'fixed'"):
        hc.construct("fixed:lags=1", theorem="fixd")


@pytest.mark.parametrize(
    ("lag", "tol", "least"),
    [(5, 0.003, "0.98"), pytest.param(6, 0.01, "0.99", marks=pytest.mark.slow)],
)
def test_a_tolerance_that_float32_cannot_keep_is_refused_before_anything_is_made(lag, tol, least):
    with pytest.raises(hc.InputError, match=rf"leave an l1 error of at least {least}"):
        hc.construct(f"fixed:lags={lag}", bias="lin", tol=tol, theorem="fixed")
