import pytest

from headcount.core.errors import InputError
from headcount.core.pick_source import named, pick

SOURCE = '''"""A file."""

import json
import math

import numpy as np

# One section

LIMIT = 3


# why it is so
def area(r):
    return math.pi * r**2


# Another section


@property
def unused():
    return json.dumps(LIMIT)


class Ball:
    def size(self):
        return np.min([area(1), LIMIT])


TABLE = {}
'''


def test_only_what_is_used_is_kept_with_its_comments():
    found = pick(SOURCE, ["area"])
    assert found == (
        "import math\n\n\n# One section\n\n\n"
        "# why it is so\ndef area(r):\n    return math.pi * r**2\n"
    )


def test_what_is_used_by_what_is_used_comes_too():
    found = pick(SOURCE, ["Ball"])
    assert "LIMIT = 3" in found
    assert "def area" in found
    assert "unused" not in found
    assert "import json" not in found
    assert found.index("# Another section") < found.index("class Ball")
    exec(compile(found, "picked", "exec"), space := {})
    assert space["Ball"]().size() == 3


def test_a_definition_is_filled_in():
    assert pick(SOURCE, ["TABLE"], {"TABLE": "TABLE = {1: 2}"}).endswith("TABLE = {1: 2}\n")


def test_all_names_are_found_and_others_refused():
    assert named(SOURCE) == ["LIMIT", "area", "unused", "Ball", "TABLE"]
    with pytest.raises(InputError, match="unknown definition 'aera'"):
        pick(SOURCE, ["aera"])
