import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.core.errors import InputError
from headcount.core.text import split_outside, split_part


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("lag:99", ("lag", ["99"], {})),
        ("osc:0.05,0.3", ("osc", ["0.05", "0.3"], {})),
        ("prop42", ("prop42", [], {})),
        ("fixed:lags=3+17,readout=linear", ("fixed", [], {"lags": "3+17", "readout": "linear"})),
        ("essential:kernel=osc:0.05,0.3", ("essential", [], {"kernel": "osc:0.05,0.3"})),
        (
            "fixed:lags=1,readout=teacher(neurons=8,seed=2)",
            ("fixed", [], {"lags": "1", "readout": "teacher(neurons=8,seed=2)"}),
        ),
        ("window:3,kernel=exp:1e-3", ("window", ["3"], {"kernel": "exp:1e-3"})),
    ],
)
def test_texts_of_the_command_line(text, parts):
    assert split_part(text) == parts


@pytest.mark.parametrize("text", ["", "{", "3lags", "a(b", "a:b=1,b=2", "a:x=f(1"])
def test_malformed_text_is_refused(text):
    with pytest.raises(InputError):
        split_part(text)


def test_the_plus_of_an_exponent_is_no_separator():
    assert split_outside("1e+5+2", "+") == ["1e+5", "2"]


@given(
    st.lists(st.from_regex(r"[a-z]{1,4}(\([a-z,]{0,4}\))?", fullmatch=True), min_size=1, max_size=5)
)
def test_splitting_undoes_joining(pieces):
    assert split_outside(",".join(pieces), ",") == pieces
