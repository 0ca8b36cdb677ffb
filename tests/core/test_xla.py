import jax
import pytest

from headcount.core.xla import PLAIN, QUICK, known


def test_an_unknown_option_is_left_out():
    assert known({"xla_no_such_option": 1, "xla_cpu_multi_thread_eigen": False}) == {
        "xla_cpu_multi_thread_eigen": False
    }
    assert known({"xla_no_such_option": 1}) == known({}) == {}


def test_an_option_with_a_value_of_another_type_is_left_out():
    assert known({"xla_backend_optimization_level": "much"}) == {}


@pytest.mark.parametrize("options", [PLAIN, QUICK])
def test_the_installed_jaxlib_compiles_with_what_is_known(options):
    x = jax.numpy.arange(3.0)
    program = jax.jit(lambda x: 2 * x).lower(x).compile(compiler_options=known(options))
    assert program(x).tolist() == [0, 2, 4]


def test_quick_spares_all_that_plain_does():
    assert PLAIN.items() < QUICK.items()


def test_options_are_for_the_cpu(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert known(QUICK) == {}
