"""The description of the JSON interface, made from the records that check it."""

from collections.abc import Mapping
from typing import Any

import headcount
from headcount.core.spec import Spec

REFUSALS = {
    "400": "no JSON object",
    "403": "from another site",
    "408": "the body came too slowly",
    "413": "too large",
    "415": "content of another type",
    "421": "another Host",
    "422": "not what was expected, in one line",
    "500": "a bug",
    "503": "too many questions at once",
    "504": "no answer within the time limit",
}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string"}},
    "additionalProperties": False,
}


def document(questions: Mapping[str, type[Spec]]) -> dict[str, Any]:
    """OpenAPI 3.1."""
    shared: dict[str, Any] = {}
    paths: dict[str, Any] = {
        f"/api/{name}": {"post": _post(name, record, shared)} for name, record in questions.items()
    }
    paths["/api/catalogue"] = {"get": _get("catalogue", "What can be chosen.")}
    paths["/api/found"] = {"get": _get("found", "Models, stores and reports below the root.")}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headcount explorer", "version": headcount.__version__},
        "paths": paths,
        "components": {"schemas": shared},
    }


def schema_of(record: type[Spec], shared: dict[str, Any]) -> dict[str, Any]:
    """The schema of a record; records inside it are put among the shared ones."""
    made = record.model_json_schema(ref_template="#/components/schemas/{model}")
    shared.update(made.pop("$defs", {}))
    return made


def _post(name: str, record: type[Spec], shared: dict[str, Any]) -> dict[str, Any]:
    kind = "application/zip" if name == "build" else "application/json"
    schema = {"type": "string", "format": "binary"} if name == "build" else {"type": "object"}
    return {
        "operationId": name,
        "summary": (record.__doc__ or "").strip().split("\n")[0],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema_of(record, shared)}},
        },
        "responses": {"200": _answer("the answer", kind, schema), **_refusals()},
    }


def _get(name: str, summary: str) -> dict[str, Any]:
    answer = _answer("the answer", "application/json", {"type": "object"})
    return {"operationId": name, "summary": summary, "responses": {"200": answer, **_refusals()}}


def _answer(text: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {kind: {"schema": schema}}}


def _refusals() -> dict[str, Any]:
    return {code: _answer(text, "application/json", ERROR) for code, text in REFUSALS.items()}
