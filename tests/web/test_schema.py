"""The interface is what its own description says: schemathesis asks it what the schema allows and
what it forbids.
"""

import pytest

schemathesis = pytest.importorskip("schemathesis")

from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode

from headcount.web.app import QUESTIONS
from headcount.web.openapi import document

QUICK = ("memory", "runs", "study")


def test_a_question_is_described_by_its_record(client):
    described = client.get("/api/openapi.json").json()
    assert described == document(QUESTIONS)
    body = described["paths"]["/api/fit"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"] == QUESTIONS["fit"].model_json_schema()
    assert list(described["components"]["schemas"]) == ["AskBuild"]  # of the question `model`


def asked_at_random(address, name, mode, examples):
    """Every answer has a status, a type and a shape that are described; none is a fault."""
    schema = schemathesis.openapi.from_dict(document(QUESTIONS))
    method = "GET" if name in ("found", "catalogue") else "POST"
    operation = schema[f"/api/{name}"][method]
    # text that is no part is refused with 422, which a schema cannot say
    excluded = [schemathesis.checks.positive_data_acceptance]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
        derandomize=True,
        database=None,
    )
    def ask(case):
        case.call_and_validate(
            base_url=f"http://{address[0]}:{address[1]}", excluded_checks=excluded, timeout=120
        )

    ask()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("name", ["memory", "runs"])
def test_answers_are_those_described(address, name, mode):
    asked_at_random(address, name, mode, 15)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_all_answers_are_those_described(address, name, mode):
    asked_at_random(address, name, mode, 40 if name in QUICK else 12)
