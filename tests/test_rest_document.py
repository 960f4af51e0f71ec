"""Whatever the OpenAPI document allows, and what it does not, the server answers as the document says, and never with a fault of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from faults import opened
from hypothesis import HealthCheck, settings
from schemathesis import checks
from schemathesis.specs.openapi import checks as of_openapi
from test_rest import RIGHT, running

from theorex_lab import Lab

CHECKS = [
    checks.not_a_server_error,
    of_openapi.status_code_conformance,
    of_openapi.content_type_conformance,
    of_openapi.response_schema_conformance,
    of_openapi.negative_data_rejection,
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with opened(tmp_path_factory.mktemp("rest") / "home") as lab:
        for number in range(3):
            actions = [
                {"action": f"make(target={number})", "result": "ok", "ok": True},
                {"action": "upload()", "ok": True},
            ]
            lab.dreams.capture("deploy the site", actions)
        yield lab


@pytest.fixture(scope="module")
def document(lab: Lab) -> Iterator[Any]:
    with running(lab) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json")


schema = schemathesis.pytest.from_fixture("document")


@schema.parametrize()
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_document_holds(case: Any) -> None:
    case.call_and_validate(headers=RIGHT, checks=CHECKS)
