"""Whatever the OpenAPI document allows, and what it does not, the server answers as the
document says, and never with a fault of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from faults import opened
from hypothesis import HealthCheck, assume, given, settings
from page_memory import OWNER, PAGE_TOKEN
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as of_openapi
from test_rest import RIGHT, running

from theorex_lab import Lab, installed
from theorex_lab.app.server.memory_page.keys import PageKeys
from theorex_lab.app.server.memory_page.projects import PAGE_ROUTES

CHECKS = [
    checks.not_a_server_error,
    of_openapi.status_code_conformance,
    of_openapi.content_type_conformance,
    of_openapi.response_schema_conformance,
    of_openapi.negative_data_rejection,
    of_openapi.unsupported_method,
]
_LONGEST_QUERY_BYTES = 60_000  # a head may have 64 KiB
PLACES = [
    f"{route.method} {route.path}"
    for one in installed()
    for route in one.routes()
    if route.method != "WS"
]
PLACES += [f"{route.method} {route.path}" for route in PAGE_ROUTES]


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
def operations(lab: Lab) -> Iterator[dict[str, Any]]:
    with running(lab, keys=PageKeys(PAGE_TOKEN)) as url:
        found = [
            each.ok()
            for each in schemathesis.openapi.from_url(
                f"{url}/openapi.json"
            ).get_all_operations()
        ]
        yield {each.label: each for each in found}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", GenerationMode)
def test_the_document_holds(
    operations: dict[str, Any], place: str, mode: GenerationMode
) -> None:
    operation = operations[place]
    if mode is GenerationMode.NEGATIVE and not (operation.query or operation.body):
        return

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        # The server ends the connection at a longer head, and a client that still sends
        # may then see a reset in the place of the answer.
        query = urlencode(case.query or {}, doseq=True, errors="surrogatepass")
        assume(len(query) < _LONGEST_QUERY_BYTES)
        headers = OWNER if " /memory/" in place else RIGHT
        case.call_and_validate(headers=headers, checks=CHECKS)

    ask()
