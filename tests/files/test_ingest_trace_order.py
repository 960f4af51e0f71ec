"""What a file of a trace states comes in the order of its times, however it is listed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import traces as made
from traces import TURNS, expected
from transcripts import CLOCK, Row, lines, told, write

from theorex_lab import Lab
from theorex_lab.files.transcripts.folders import SourceLine, piece_lines
from theorex_lab.files.transcripts.pieces import TraceEntry
from theorex_lab.files.transcripts.spans import Spans
from theorex_lab.files.transcripts.time_order import HeldEntries


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=CLOCK) as lab:
        yield lab


def timed_messages() -> list[Row]:
    return [
        {**made.openai_message(step), "timestamp": made.DAY + second}
        for second, step in enumerate(made.steps())
    ]


def log_records() -> list[Row]:
    """The events of earlier versions as records of a log, each with its own time."""
    records = []
    for number, span in enumerate(made.otel_events()):
        for index, event in enumerate(span["events"]):
            second = 10 * number + index / 10
            body = json.loads(event["attributes"]["gen_ai.event.content"])
            records.append(
                {
                    "trace_id": "a" * 32,
                    "span_id": f"{number:016x}",
                    "timeUnixNano": 0,
                    "observed_timestamp": made.iso(second),
                    "event_name": event["name"],
                    "body": body,
                    "attributes": {},
                }
            )
    return records


def langfuse_observations() -> list[Row]:
    return [{**row, "sessionId": "talk-1"} for row in made.langfuse()["observations"]]


def gemini_lines() -> list[Row]:
    chat = made.gemini()
    head = {**chat, "messages": None}
    del head["messages"]
    messages = []
    for second, message in enumerate(chat["messages"]):
        messages.append({**message, "timestamp": made.iso(second)})
    return [head, *messages]


def conversations() -> list[Row]:
    talks = []
    for number in range(3):
        talk = made.chatgpt(TURNS[number : number + 1], session=f"talk-{number}")
        for node in talk["mapping"].values():
            if node["message"]:
                node["message"]["create_time"] += 1_000 * number
        talks.append({**talk, "create_time": made.DAY + 1_000 * number})
    return talks


def inspect_samples() -> list[Row]:
    samples = []
    for number in range(3):
        (sample,) = made.inspect_log(TURNS[number : number + 1])["samples"]
        samples.append({**sample, "id": number, "started_at": made.iso(10 * number)})
    return samples


class Listing(NamedTuple):
    """Entries of a form, and the content of a file that lists them."""

    entries: list[Row]
    content: Callable[[list[Row]], str]
    name: str


def otlp_of(spans: list[Row]) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def otlp_spans() -> list[Row]:
    (resource,) = made.otlp(made.otel_spans())["resourceSpans"]
    spans: list[Row] = resource["scopeSpans"][0]["spans"]
    return spans


def wrapped(name: str, head: Row) -> Callable[[list[Row]], str]:
    return lambda rows: json.dumps({**head, name: rows}, indent=1)


INSPECT_HEAD = {**made.inspect_log(), "samples": []}
LISTINGS = {
    "spans in lines": Listing(made.otel_spans(), lines, "s.jsonl"),
    "spans in a list": Listing(made.otel_spans(), json.dumps, "s.json"),
    "spans of one request": Listing(otlp_spans(), otlp_of, "s.json"),
    "requests in lines": Listing(
        [json.loads(otlp_of([span])) for span in otlp_spans()], lines, "s.jsonl"
    ),
    "spans with events": Listing(made.otel_events(), lines, "s.jsonl"),
    "records of a log": Listing(log_records(), lines, "s.jsonl"),
    "runs in lines": Listing(made.langsmith(), lines, "r.jsonl"),
    "a page of runs": Listing(made.langsmith(), wrapped("runs", {}), "r.json"),
    "observations": Listing(langfuse_observations(), lines, "o.jsonl"),
    "observations of a trace": Listing(
        made.langfuse()["observations"],
        wrapped("observations", {"id": "t", "sessionId": "talk-1"}),
        "trace-t.json",
    ),
    "messages in lines": Listing(timed_messages(), lines, "m.jsonl"),
    "a conversation": Listing(timed_messages(), wrapped("messages", {}), "m.json"),
    "lines of a chat": Listing(gemini_lines(), lines, "session-x.jsonl"),
    "messages of a chat": Listing(
        gemini_lines()[1:],
        wrapped("messages", {"sessionId": "talk-1", "projectHash": "f"}),
        "session-x.json",
    ),
    "conversations": Listing(conversations(), json.dumps, "conversations.json"),
    "samples": Listing(inspect_samples(), wrapped("samples", INSPECT_HEAD), "l.json"),
    "memories": Listing(
        [
            {
                "id": str(number),
                "memory": f"Lamp {number}",
                "created_at": made.iso(number),
            }
            for number in range(5)
        ],
        wrapped("results", {}),
        "m.json",
    ),
}


def events_of(lab: Lab) -> list[tuple[str, int, Any]]:
    """What came in, in the order of the journal, with its time."""
    names = ("text", "tool", "message")
    events = []
    for event in lab.journal.tail(0):
        words = [event.body[name] for name in names if name in event.body]
        events.append((event.kind, event.at, words))
    return events


@pytest.mark.parametrize("order", ["latest first", 1, 2, 3])
@pytest.mark.parametrize("name", LISTINGS)
def test_the_order_of_a_file_does_not_matter_where_its_entries_have_times(
    tmp_path: Path, name: str, order: object
) -> None:
    listing = LISTINGS[name]
    entries = listing.entries[::-1]
    if isinstance(order, int):
        random.Random(order).shuffle(entries)
    imported = []
    for folder, rows in (("listed", listing.entries), ("mixed", entries)):
        file = write(tmp_path / folder / listing.name, listing.content(rows))
        with Lab(tmp_path / f"home {folder}", clock=CLOCK) as lab:
            report = lab.import_transcripts(file, trusted=True)
            assert report.problems == []
            imported.append(events_of(lab))
    assert imported[1] == imported[0]
    times = [at for _, at, _ in imported[0]]
    assert times == sorted(times), "the journal's order is that of the times"
    assert len(imported[0]) >= 5


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("m.jsonl", [made.openai_message(step) for step in made.steps()]),
        ("memory.jsonl", made.MCP_MEMORY),
    ],
)
def test_without_times_the_order_is_that_of_the_file(
    tmp_path: Path, name: str, rows: list[Row]
) -> None:
    texts = []
    for folder, listed in (("a", rows), ("b", rows[::-1])):
        file = write(tmp_path / folder / name, lines(listed))
        with Lab(tmp_path / f"home {folder}", clock=CLOCK) as lab:
            lab.import_transcripts(file)
            texts.append([words for _, _, words in events_of(lab)])
    first_words = rows[0].get("content") or rows[0]["name"]
    assert first_words in str(texts[0][0])
    assert texts[0] != texts[1]


def test_a_call_around_others_tells_its_prompt_before_them_and_its_answer_after(
    lab: Lab, tmp_path: Path
) -> None:
    def span(name: str, start: int, end: int, **attributes: str) -> Row:
        row = made.otel_span(
            name, start, {f"gen_ai.{k}": v for k, v in attributes.items()}
        )
        return {**row, "end_time": made.iso(end)}

    agent = span("agent", 0, 30)
    agent["attributes"] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": json.dumps(
            [made.otel_message(made.Step("prompt", "Count"))]
        ),
        "gen_ai.output.messages": json.dumps(
            [made.otel_message(made.Step("reply", "57"))]
        ),
    }
    tool = made.otel_tool_span(made.Used("c", "count", {}, "57"), 1)
    for member in (agent, tool):
        member["attributes"]["gen_ai.conversation.id"] = "talk"
    lab.import_transcripts(write(tmp_path / "s.jsonl", lines([tool, agent])))
    assert told(lab) == [
        ("prompt", "Count"),
        ("tool_used", "count"),
        ("turn_ended", "57"),
    ]


def test_entries_of_one_time_keep_the_order_of_a_file_that_lists_the_latest_first() -> (
    None
):
    held = HeldEntries(Spans("s"))
    for number, start in enumerate([9, 5, 5, 5, 2]):
        held.add(
            TraceEntry({}, number, start * 10**7, kind="a span is no object of JSON")
        )
    numbers = [moment.number for moment in held.in_time_order()]
    assert numbers[::2] == [4, 3, 2, 1, 0]


def test_what_is_too_large_is_put_in_order_so_many_at_a_time() -> None:
    rows = made.otel_spans()[::-1]
    source = [SourceLine(n, b"x", True, row) for n, row in enumerate(rows, start=1)]
    n_whole = len([*piece_lines(Spans("s"), iter(source))])
    in_file_order = [*piece_lines(Spans("s"), iter(source), most_bytes=0)]
    assert str(in_file_order[0].number).partition(".")[0] == "1"
    assert len(in_file_order) == n_whole


def test_bytes_that_are_no_text_are_counted_once(lab: Lab, tmp_path: Path) -> None:
    content = lines(made.otel_spans()).encode()
    broken = content.replace(b"Which port has", b"Which p\xffrt has", 1)
    file = tmp_path / "s.jsonl"
    file.write_bytes(broken)
    report = lab.import_transcripts(file)
    assert report.substituted == 1
    assert len(told(lab)) >= len(expected())
