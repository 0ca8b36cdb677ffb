from headcount.memory.named import Exp1b, Exp3a, Exp3aRepaired
from headcount.memory.target import targets


def test_the_paper_and_the_repaired_lags():
    assert Exp3a(reading="lags").memory_profile().lags == (48, 56, 99)
    assert Exp3aRepaired().memory_profile().lags == (1, 2)
    assert "3a" in targets["exp-3a"].ref.where


def test_it_keeps_its_own_name_beside_1b():
    assert (Exp3a.kind, Exp1b.kind) == ("exp-3a", "exp-1b")
    assert targets["exp-3a"].formula == targets["exp-1b"].formula
    assert Exp3a() != Exp1b()
