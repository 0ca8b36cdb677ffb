import pytest

from headcount.core.errors import InputError
from headcount.core.refs import PAPERS, Ref


def test_a_reference_prints_author_year_place_and_link():
    assert (
        str(Ref("wang-e-2024", "Theorem 3.1")) == "Wang and E 2024, Theorem 3.1 (arXiv:2402.00522)"
    )


def test_an_unknown_paper_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="nearest: 'wang-e-2024'"):
        Ref("wang-2024")


@pytest.mark.parametrize("key", PAPERS)
def test_every_paper_is_complete(key):
    paper = PAPERS[key]
    assert paper.title
    assert paper.authors
    assert paper.link
    assert 1900 < paper.year < 2100
    assert str(Ref(key)).endswith(f"({paper.link})")
