"""Memory operations are spans where a program has set OpenTelemetry up, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from theorex_lab import InvalidInput, Lab
from theorex_lab.core.spans import CAPTURE_VARIABLE

SECRET = "sk-proj-" + "Ab3Cd5Ef7Gh9Jk2Lm4Np6Qr8St1Uv3Wx5Yz7"  # made up


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Give what a program that has set OpenTelemetry up exports."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    monkeypatch.delenv(CAPTURE_VARIABLE, raising=False)
    yield exporter
    provider.shutdown()


def attributes_of(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def use(lab: Lab) -> None:
    written = lab.agent("main").write("The till rounds half up", source="user")
    assert lab.search("till rounds")
    assert lab.agent("main").search("till rounds")
    lab.briefing("How does the till round?")
    assert lab.erase(ids=[written.event_id]) == [written.event_id]


def test_each_operation_is_a_span_without_texts(
    exporter: InMemorySpanExporter, lab: Lab
) -> None:
    use(lab)
    spans = exporter.get_finished_spans()
    names = [attributes_of(span)["gen_ai.operation.name"] for span in spans]
    assert names == [
        "create_memory",
        "search_memory",
        "search_memory",
        "search_memory",
        "delete_memory",
    ]
    for span in spans:
        attributes = attributes_of(span)
        assert attributes["gen_ai.provider.name"] == "theorex_lab"
        assert "till" not in json.dumps([span.name, attributes])
    assert attributes_of(spans[0])["gen_ai.agent.name"] == "main"
    assert attributes_of(spans[1])["gen_ai.memory.record.count"] == 1
    assert "gen_ai.agent.name" not in attributes_of(spans[1])
    assert attributes_of(spans[2])["gen_ai.agent.name"] == "main"
    created = attributes_of(spans[0])["gen_ai.memory.record.id"]
    assert created == attributes_of(spans[4])["gen_ai.memory.record.id"]


def test_texts_are_in_spans_where_the_program_asks_for_them_and_never_secrets(
    exporter: InMemorySpanExporter, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE_VARIABLE, "true")
    lab.agent("main").write(f"The till's key is {SECRET} for good")
    lab.search(f"till's key {SECRET}")
    create, search = map(attributes_of, exporter.get_finished_spans())
    [record] = json.loads(str(create["gen_ai.memory.records"]))
    assert record["content"].startswith("The till's key is")
    assert str(search["gen_ai.memory.query.text"]).startswith("till's key")
    assert SECRET not in json.dumps([create, search])


def test_a_failure_is_told_by_its_type_alone(
    exporter: InMemorySpanExporter, lab: Lab
) -> None:
    with pytest.raises(InvalidInput):
        lab.search("   ")
    [span] = exporter.get_finished_spans()
    assert attributes_of(span)["error.type"] == "InvalidInput"
    assert span.status.status_code is trace.StatusCode.ERROR
    assert not span.status.description
    assert not span.events


def test_a_program_without_it_imports_nothing_of_it() -> None:
    program = (
        "import sys; from theorex_lab import Lab\n"
        "with Lab.temporary() as lab:\n"
        "    lab.agent('main').write('The till rounds half up')\n"
        "    lab.search('till'); lab.briefing()\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
