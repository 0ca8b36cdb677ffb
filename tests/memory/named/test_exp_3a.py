from headcount.memory.named import Exp3a, Exp3aRepaired
from headcount.memory.target import targets


def test_the_paper_and_the_repaired_lags():
    assert Exp3a(reading="lags").memory_profile().lags == (48, 56, 99)
    assert Exp3aRepaired().memory_profile().lags == (1, 2)
    assert "3a" in targets["exp-3a"].ref.where
