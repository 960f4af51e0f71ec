"""Spans of memory operations, for a program that has set OpenTelemetry up.

A program that observes itself by OpenTelemetry has imported its API; then each operation of
a memory is a span, named and described as the conventions for generative AI say
(`gen_ai.operation.name`, `gen_ai.memory.*`). Nothing is imported here, so that no other
program pays for it.

Texts may hold what nobody but the owner of a memory should read. They stay out of spans
unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says otherwise.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

CREATE = "create_memory"
SEARCH = "search_memory"
DELETE = "delete_memory"
CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURED = frozenset({"true", "1", "span_only", "span_and_event"})
_INSTRUMENTATION = "theorex_lab"


class MemorySpan:
    """A span of one operation; it does nothing where there is none.

    Attributes:
        holds_texts: Whether texts may be put into it.
    """

    def __init__(self, span: Any = None) -> None:
        """Describe an operation.

        Args:
            span: The span of OpenTelemetry; None where the program has not set it up.
        """
        self._span = span
        setting = os.environ.get(CAPTURE_VARIABLE, "") if span is not None else ""
        self.holds_texts = setting.strip().lower() in _CAPTURED

    def asked(self, query: str) -> None:
        """Note what is searched for, where texts may be noted.

        Args:
            query: The text of the query.
        """
        if self.holds_texts:
            self._span.set_attribute("gen_ai.memory.query.text", query)

    def records(self, records: Iterable[tuple[str, str]]) -> None:
        """Note what was stored, found or removed.

        Args:
            records: The id and the text of each record, in order.
        """
        if self._span is None:
            return
        rows = list(records)
        self._span.set_attribute("gen_ai.memory.record.count", len(rows))
        if len(rows) == 1 and rows[0][0]:
            self._span.set_attribute("gen_ai.memory.record.id", rows[0][0])
        if self.holds_texts:
            values = [{"id": id, "content": text} for id, text in rows]
            as_json = json.dumps(values, ensure_ascii=False)
            self._span.set_attribute("gen_ai.memory.records", as_json)


@contextmanager
def memory_operation(
    operation: str, store: str, *, agent: str = ""
) -> Iterator[MemorySpan]:
    """Give the span of an operation as long as it runs.

    Args:
        operation: The name of the operation, such as `search_memory`.
        store: The project whose memory it is; '' for that of all projects.
        agent: Whose memory it is; '' for that of all agents.

    >>> with memory_operation("search_memory", "till") as span:
    ...     span.records([("e1", "The port is 8080.")])
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield MemorySpan()
        return
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _INSTRUMENTATION,
    }
    if store:
        attributes["gen_ai.memory.store.id"] = store
    if agent:
        attributes["gen_ai.agent.name"] = agent
    tracer = trace.get_tracer(_INSTRUMENTATION)
    # The text of an error may quote what is stored: its type alone is noted.
    with tracer.start_as_current_span(
        f"{operation} {store}".rstrip(),
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield MemorySpan(span)
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(trace.StatusCode.ERROR)
            raise
