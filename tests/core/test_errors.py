import pickle

import pytest

from headcount.core.errors import InputError, nearest, require, unknown


def test_message_is_one_line_with_got_expected_and_fix():
    error = InputError("heads is\n0", "at least 1", "pass heads=1")
    assert str(error) == "heads is 0; expected at least 1; pass heads=1"
    assert error.exit_code == 2


def test_an_error_survives_a_process_boundary():
    error = pickle.loads(pickle.dumps(InputError("a", "b", "c")))
    assert (error.got, error.expected, error.fix) == ("a", "b", "c")


def test_nearest_names_a_close_choice_and_nothing_else():
    assert nearest("lgo", ["log", "lin"]) == " (nearest: 'log')"
    assert nearest("zzzz", ["log", "lin"]) == ""


def test_unknown_lists_the_choices():
    assert "one of lin, log" in str(unknown("bias", "lag", ["log", "lin"]))


def test_require_raises_only_when_false():
    require(True, "a", "b", "c")
    with pytest.raises(InputError, match="a; expected b; c"):
        require(False, "a", "b", "c")
