"""The API against its own OpenAPI document: requests made up from it, answers held to it, none above 499.

A few requests for each address in the usual run, several hundred in `make test-deep`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from agents.api.app import document
from tests.api.served import Served, said

EXAMPLES = 300 if os.environ.get("FACTDRIFT_TEST_PROFILE", "default") != "default" else 6

TIMEOUT_S = 60
TOKEN = "a-token-of-some-length"
STREAM = "/v1/changes"
"""Never ends; `test_changes` reads it."""


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that has something to tell, and takes any number of requests."""
    served = Served(
        tmp_path_factory.mktemp("schema") / "log",
        FACTDRIFT_API_RATE_PER_S="0",
        FACTDRIFT_API_TOKENS=TOKEN,
        FACTDRIFT_TICK_S="0.5",
    )
    served.client.headers["Authorization"] = f"Bearer {TOKEN}"
    served.learn(
        said("kim", "Oslo", "2024-01-10", observation_id="k1"),
        said("kim", "Rome", "2024-03-10", observation_id="k2", source={"id": "s", "document": "d"}),
        *[said("ann", value, f"2024-02-{n:02}") for n, value in enumerate(["A", "B"] * 6, start=1)],
    )
    yield served
    served.end()


REFUSALS = [400, 401, 404, 405, 409, 413, 415, 422, 431]

requests = schemathesis.openapi.from_dict(
    document(),
    config=schemathesis.Config.from_dict(
        {"checks": {"negative_data_rejection": {"expected-statuses": REFUSALS}}}
    ),
).exclude(path=STREAM)


@schemathesis.serializer("application/x-ndjson")
def ndjson(_context: Any, value: Any) -> bytes:
    """A text goes out as it is; anything else on one line."""
    return value.encode("utf-8", "replace") if isinstance(value, str) else json.dumps(value).encode()


@requests.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_the_document_says_and_none_is_a_fault_of_ours(case: Any, strict: Served) -> None:
    response = case.call(base_url=strict.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=TIMEOUT_S)

    # What a document cannot say (times in words, names that hold a letter) may be refused all the same.
    excluded = [schemathesis.checks.positive_data_acceptance]
    if is_valid_as_sent(case, response.request.url):
        excluded.append(schemathesis.checks.negative_data_rejection)
    case.validate_response(response, excluded_checks=excluded)


def is_valid_as_sent(case: Any, url: str) -> bool:
    """Whether nothing is left of a fault that was made up: an address knows no list of one, and no empty one.

    The token is put into the header whatever was made up there.
    """
    faulty = {str(where.value) for where, made in case.meta.components.items() if made.mode.is_negative}
    if not faulty <= {"query", "header", "cookie"}:
        return False
    known = {p["name"]: p for p in case.operation.definition.raw.get("parameters", ()) if p["in"] == "query"}
    sent = parse_qs(urlsplit(url).query, keep_blank_values=True)
    if any(parameter.get("required") and name not in sent for name, parameter in known.items()):
        return False
    return all(name in known and fits(known[name]["schema"], values) for name, values in sent.items())


def fits(schema: dict[str, Any], values: list[str]) -> bool:
    """Whether a parameter that was given with these texts is what its schema asks for, in any reading."""
    readings: list[Any] = [values]
    if len(values) == 1:
        readings.append(values[0])
        with contextlib.suppress(ValueError):
            readings.append(json.loads(values[0]))
    validator = jsonschema.Draft202012Validator(schema)
    return any(validator.is_valid(reading) for reading in readings)


def test_the_document_tells_of_every_address_with_what_it_takes_and_answers(strict: Served) -> None:
    found = strict.get("/openapi.json")

    assert found == document()
    assert len(found["paths"]) >= 25
    for path, methods in found["paths"].items():
        for method, told in methods.items():
            where = f"{method} {path}"
            assert told["summary"], where
            assert told["description"], where
            assert "200" in told["responses"], where
            if path.startswith("/v1/"):
                assert told["security"], where
                assert "application/problem+json" in told["responses"]["401"]["content"], where
            assert all("schema" in parameter for parameter in told.get("parameters", [])), where
