import dataclasses
import math

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.core.errors import InputError
from headcount.core.spec import Spec, canonical_json, content_hash, plain


class Toy(Spec):
    heads: int = pydantic.Field(1, ge=1)
    rate: float = 0.5


def test_an_unknown_key_names_the_nearest_and_all_faults_come_at_once():
    with pytest.raises(InputError) as caught:
        Toy.from_values({"head": 3, "rate": "fast"})
    message = str(caught.value)
    assert "unknown key 'head' (nearest: 'heads')" in message
    assert "rate is 'fast'" in message
    assert "\n" not in message


def test_specs_are_frozen():
    with pytest.raises(pydantic.ValidationError):
        Toy().heads = 2


def test_the_hash_does_not_depend_on_key_order_or_number_spelling():
    assert content_hash(Toy.from_values({"rate": 1, "heads": 2})) == content_hash(
        Toy(heads=2, rate=1.0)
    )
    assert content_hash(Toy()) != content_hash(Toy(rate=0.25))


def test_infinite_numbers_have_a_spelling():
    assert plain(math.inf) == {"float": "inf"}


def test_what_cannot_be_written_is_refused():
    with pytest.raises(InputError, match="cannot be written to a spec"):
        canonical_json({"f": print})


@dataclasses.dataclass(frozen=True)
class Part:
    a: int
    b: tuple[float, ...]
    kind = "part"


def test_parts_are_written_with_their_kind():
    assert canonical_json(Part(1, (2.0,))) == '{"a":1,"b":[2.0],"kind":"part"}'


@given(
    st.dictionaries(
        st.text(), st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    )
)
def test_canonical_json_is_a_function_of_content(values):
    assert canonical_json(values) == canonical_json(dict(reversed(values.items())))
