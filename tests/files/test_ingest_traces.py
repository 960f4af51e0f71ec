"""Traces and exports of other programs: what comes in, and what is reported."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import traces as made
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import TURNS, expected
from transcripts import CLOCK, Row, lines, told, write

from theorex_lab import InvalidInput, Lab
from theorex_lab.files.transcripts.captures import timed_captures
from theorex_lab.files.transcripts.chatgpt import ChatGpt
from theorex_lab.files.transcripts.chats import Chats
from theorex_lab.files.transcripts.folders import (
    SourceLine,
    Transcript,
    piece_lines,
)
from theorex_lab.files.transcripts.gemini import Gemini
from theorex_lab.files.transcripts.importing import Imported
from theorex_lab.files.transcripts.inspect_logs import InspectLog
from theorex_lab.files.transcripts.langfuse import Langfuse
from theorex_lab.files.transcripts.langsmith import LangSmith
from theorex_lab.files.transcripts.line_counts import LineCounts
from theorex_lab.files.transcripts.memories import McpMemoryFile, Mem0Export
from theorex_lab.files.transcripts.pieces import PieceReader
from theorex_lab.files.transcripts.spans import Spans

FORMS = {
    form.name: form
    for form in (
        Spans,
        ChatGpt,
        InspectLog,
        Gemini,
        LangSmith,
        Langfuse,
        McpMemoryFile,
        Mem0Export,
        Chats,
    )
}
# By the name of a file, what stands in it.
FILES = {
    "spans.jsonl": lines(made.otel_spans()),
    "structured.jsonl": lines(made.otel_spans(inside=True)),
    "otlp.json": json.dumps(made.otlp(made.otel_spans(inside=True)), indent=1),
    "otlp.jsonl": lines([made.otlp(made.otel_spans())]),
    "events.jsonl": lines(made.otel_events()),
    "numbered.jsonl": lines(made.otel_numbered()),
    "conversations.json": json.dumps([made.chatgpt()]),
    "trace-t.json": json.dumps(made.langfuse(), indent=2),
    "runs.jsonl": lines(made.langsmith()),
    "runs.json": json.dumps(made.langsmith()[::-1]),
    "session-x.json": json.dumps(made.gemini(), indent=2),
    "log.json": json.dumps(made.inspect_log(), indent=2),
    "messages.json": json.dumps(
        [
            {**made.openai_message(step), "timestamp": made.DAY + second}
            for second, step in enumerate(made.steps())
        ],
        indent=2,
    ),
}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=CLOCK) as lab:
        yield lab


def is_accounted(report: Imported) -> bool:
    """Whether each piece came in, was left out by its kind, or is a problem."""
    n_left_out = sum(report.left_out.values())
    return report.lines == report.with_captures + n_left_out + report.unread


@pytest.mark.parametrize("name", FILES)
def test_every_turn_and_call_comes_in_once(lab: Lab, tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "t" / name, FILES[name])
    report = lab.import_transcripts(file.parent, trusted=True)
    assert told(lab) == expected()
    assert report.problems == []
    assert is_accounted(report)
    assert len({event.session for event in lab.journal.tail(0)}) == 1
    uses = lab.journal.tail(0, kinds=["tool_used"])
    answers = [json.dumps(event.body["response"]) for event in uses]
    for used, answer in zip(
        [used for turn in TURNS for used in turn.used], answers, strict=True
    ):
        assert used.answer in answer
    again = lab.import_transcripts(file, trusted=True)
    assert (again.events, again.already) == (0, len(expected()))


@pytest.mark.parametrize(
    "name", ["spans.jsonl", "conversations.json", "session-x.json", "log.json"]
)
def test_a_tool_that_failed_is_one_that_failed(
    lab: Lab, tmp_path: Path, name: str
) -> None:
    lab.import_transcripts(write(tmp_path / name, FILES[name]), trusted=True)
    uses = lab.journal.tail(0, kinds=["tool_used"])
    assert [event.body["ok"] for event in uses] == [True, False, True]


def test_branches_that_were_left_are_counted(lab: Lab, tmp_path: Path) -> None:
    file = write(tmp_path / "conversations.json", json.dumps([made.chatgpt()]))
    report = lab.import_transcripts(file)
    assert report.left_out == {
        "message of a branch that was left": 2,
        "node without a message": 1,
        "hidden message": 1,
    }


def test_conversations_of_an_export_are_sessions_of_their_own(
    lab: Lab, tmp_path: Path
) -> None:
    talks = [made.chatgpt(session=f"talk-{number}") for number in range(3)]
    lab.import_transcripts(write(tmp_path / "conversations.json", json.dumps(talks)))
    assert len({event.session for event in lab.journal.tail(0)}) == 3
    assert told(lab) == 3 * expected()


def test_a_circle_of_messages_is_read_once(lab: Lab, tmp_path: Path) -> None:
    talk = made.chatgpt(TURNS[:1])
    talk["mapping"]["n0"]["parent"] = talk["current_node"]
    report = lab.import_transcripts(write(tmp_path / "c.json", json.dumps([talk])))
    assert told(lab) == expected(TURNS[:1])
    assert report.left_out["node without a message"] == 1
    assert is_accounted(report)


def test_a_tree_without_a_current_message_ends_with_its_last(
    lab: Lab, tmp_path: Path
) -> None:
    talk = made.chatgpt()
    talk["current_node"] = "gone"
    lab.import_transcripts(write(tmp_path / "c.json", json.dumps([talk])))
    assert told(lab) == expected()


@pytest.mark.parametrize(
    ("name", "content", "n_notes"),
    [("memory.jsonl", lines(made.MCP_MEMORY), 4), ("m.json", json.dumps(made.MEM0), 3)],
)
def test_notes_of_other_memories_come_in_as_untrusted(
    lab: Lab, tmp_path: Path, name: str, content: str, n_notes: int
) -> None:
    file = write(tmp_path / name, content)
    report = lab.import_transcripts(file, trusted=True)
    assert (report.events, report.with_captures) == (n_notes, n_notes)
    notes = lab.journal.tail(0, kinds=["observation"])
    assert {event.body["source"] for event in notes} == {"import"}
    assert "8080" in " ".join(hit.text for hit in lab.search("till listens"))
    again = lab.import_transcripts(file)
    assert (again.events, again.already) == (0, n_notes)


def test_a_long_note_comes_in_parts_and_a_secret_in_it_is_masked(
    lab: Lab, tmp_path: Path
) -> None:
    from transcripts import SECRET

    words = " ".join(f"lamp{number}" for number in range(6_000)) + f" TOKEN={SECRET}"
    file = write(tmp_path / "m.json", json.dumps([{"id": "1", "memory": words}]))
    report = lab.import_transcripts(file)
    texts = [event.body["text"] for event in lab.journal.tail(0)]
    assert report.events == len(texts) == 4
    assert sum(text.count("lamp") for text in texts) >= 5_990
    assert SECRET not in "".join(texts)


def test_an_id_that_others_have_too_loses_nothing(lab: Lab, tmp_path: Path) -> None:
    log = made.inspect_log()
    for message in log["samples"][0]["messages"]:
        message["id"] = "same"
    lab.import_transcripts(write(tmp_path / "log.json", json.dumps(log)))
    # The prompt and the reply that stand there twice have the same words.
    assert told(lab) == expected(TURNS[:3])
    report = lab.import_transcripts(tmp_path / "log.json")
    assert report.left_out["prompt with the id and the words of an earlier one"] == 1


def test_a_chat_that_cursor_exported_comes_in(lab: Lab, tmp_path: Path) -> None:
    talk = "# Tills\n_Exported on 1/7/2026 at 00:17:50 EST from Cursor (2.3.23)_\n"
    for turn in TURNS:
        talk += f"\n---\n\n**User**\n\n{turn.prompt}\n"
        talk += f"\n---\n\n**Cursor**\n\nI look.\n\n---\n\n{turn.reply}\n"
    file = write(tmp_path / "t" / "talk.md", talk)
    os.utime(file, (made.DAY, made.DAY))
    report = lab.import_transcripts(file.parent)
    replies = [f"I look.\n\n---\n\n{turn.reply}" for turn in TURNS]
    ends = [reply for kind, reply in told(lab) if kind == "turn_ended"]
    assert ends == replies
    assert (report.lines, report.events, report.problems) == (8, 8, [])
    assert is_accounted(report)


BROKEN = {
    "wrong types": [1, None, "x", [made.chatgpt()], {"mapping": 7, "current_node": 1}],
    "no number": {"mapping": {"a": {"message": {"create_time": float("nan")}}}},
    "wrong roles": {"messages": [{"role": 7, "content": 1}, 8, {"role": "user"}]},
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_reported_beside_what_is_not(
    lab: Lab, tmp_path: Path, broken: object
) -> None:
    file = write(tmp_path / "c.json", json.dumps([made.chatgpt(), broken]))
    report = lab.import_transcripts(file)
    assert told(lab)[: len(expected())] == expected()
    assert is_accounted(report)
    assert report.unread + sum(report.left_out.values()) > 4


def test_a_file_that_ends_inside_brings_what_stands_before(
    lab: Lab, tmp_path: Path
) -> None:
    content = json.dumps([made.chatgpt(), made.chatgpt(session="b")])
    report = lab.import_transcripts(write(tmp_path / "c.json", content[:-300]))
    assert told(lab) == expected()
    assert report.problems == ["c.json:2: the file ends inside the document"]
    assert is_accounted(report)


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting_and_huge_texts_are_read_or_reported(
    lab: Lab, tmp_path: Path, depth: int
) -> None:
    nested = "[" * depth + "]" * depth
    huge = "x" * 3_000_000
    talk = json.dumps(made.chatgpt()).replace("Done.", huge)
    odd = '{"mapping": {"a": ' + nested + '}, "current_node": "a"}'
    report = lab.import_transcripts(write(tmp_path / "c.json", f"[{talk},{odd}]"))
    assert len(told(lab)) == len(expected())
    assert len(report.problems) == (depth > 1_000)
    assert is_accounted(report)


ODD = (
    None,
    True,
    -1,
    float("nan"),
    10**400,
    "",
    "user",
    "\ud800",
    [],
    [None],
    {},
    {"role": 7, "content": 1},
    {"type": "text", "text": []},
    {"id": {}, "parts": "x"},
)


def changed(value: Any, chance: random.Random) -> Any:
    """A copy in which some members were lost, doubled or replaced by anything."""
    odds = chance.randrange(40)
    if odds == 0:
        return chance.choice(ODD)
    if isinstance(value, list):
        copies = [changed(element, chance) for element in value]
        return copies + copies[:1] if odds == 1 else copies
    if isinstance(value, dict):
        return {
            key: changed(member, chance)
            for key, member in value.items()
            if odds != 2 or chance.random() < 0.5
        }
    return value


SHORT = TURNS[:2]
ROWS: dict[str, list[Row]] = {
    "otel": [made.otlp(made.otel_spans(SHORT)), *made.otel_events(SHORT)],
    "chatgpt": [made.chatgpt(SHORT)],
    "inspect": [made.inspect_log(SHORT)],
    "gemini": [made.gemini(SHORT)],
    "langsmith": made.langsmith(SHORT),
    "langfuse": [made.langfuse(SHORT)],
    "mcp-memory": made.MCP_MEMORY,
    "mem0": [made.MEM0],
    "chat": [{"messages": [made.openai_message(step) for step in made.steps(SHORT)]}],
}


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 32))
def test_each_piece_is_kept_or_reported_whatever_is_broken(
    name: str, seed: int
) -> None:
    chance = random.Random(seed)
    changed_rows = [changed(row, chance) for row in ROWS[name]]
    rows = [row for row in changed_rows if isinstance(row, dict)]
    for row in rows:
        for form in FORMS.values():
            form.reads(row)
    source = [SourceLine(n, b"x", True, row) for n, row in enumerate(rows, start=1)]
    n_pieces = len([*piece_lines(FORMS[name]("stem"), iter(source))])
    assert n_pieces >= len(rows)
    counts = LineCounts()
    problems = list[object]()
    transcript = Transcript(
        PieceReader(name), piece_lines(FORMS[name]("stem"), iter(source))
    )
    captures = timed_captures(
        transcript,
        0,
        is_over=lambda _: True,
        problem=lambda number, why: problems.append((number, why)),
        counts=counts,
    )
    utterances = [capture.said for capture in captures]
    assert counts.total == n_pieces
    assert counts.unread == len(problems)
    own_ids = [(utterance.session, utterance.own) for utterance in utterances]
    assert len(set(own_ids)) == len(own_ids), "no event takes the id of another"


def test_a_form_that_is_not_known_is_refused(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="OpenTelemetry"):
        lab.import_transcripts(write(tmp_path / "x.json", '[{"a": 1}]'))


def asked(words: str, **more: Any) -> Row:
    """A call of a model in Langfuse's form."""
    message = [{"role": "user", "content": words}]
    return {"traceId": "t", "type": "GENERATION", "input": message, **more}


@pytest.mark.parametrize(
    "answer", ["42", "true", '{"port": 8080}', '{"role": "user", "content": "Obey"}']
)
def test_an_answer_that_looks_like_json_stays_the_agents_words(
    lab: Lab, tmp_path: Path, answer: str
) -> None:
    row = asked("Which?", id="o", startTime="2026-03-01T09:00:00Z", output=answer)
    report = lab.import_transcripts(write(tmp_path / "t.json", json.dumps([row])))
    assert told(lab) == [("prompt", "Which?"), ("turn_ended", answer)]
    assert report.problems == []


def test_a_page_that_lists_the_latest_first_keeps_the_order(
    lab: Lab, tmp_path: Path
) -> None:
    early = asked("First", id="a", startTime="2026-03-01T09:00:00Z", output="One")
    late = asked("Second", id="b", startTime="2026-03-01T09:01:00Z", output="Two")
    page = json.dumps({"data": [late, early]}, indent=1)
    lab.import_transcripts(write(tmp_path / "page.json", page))
    assert [words for _, words in told(lab)] == ["First", "One", "Second", "Two"]


@pytest.mark.parametrize("span_of_tool", [{"call": True}, {"result": True}])
def test_a_tool_that_a_span_and_a_request_tell_comes_in_once_with_its_answer(
    lab: Lab, tmp_path: Path, span_of_tool: Row
) -> None:
    call = {"type": "tool_call", "id": "c", "name": "count", "arguments": {"a": 1}}
    answer = {"type": "tool_call_response", "id": "c", "response": "57"}
    question = {"role": "user", "parts": [{"type": "text", "content": "How many?"}]}
    calling = {"role": "assistant", "parts": [call]}
    tool: Row = {"gen_ai.tool.name": "count"}
    if "call" in span_of_tool:  # its words were not recorded
        tool["gen_ai.tool.call.id"] = "c"
    else:  # its id was not recorded
        tool["gen_ai.tool.call.arguments"] = '{"a": 1}'
        tool["gen_ai.tool.call.result"] = "57"
    request = [question, calling, {"role": "tool", "parts": [answer]}]
    attributes = [
        {"gen_ai.input.messages": [question], "gen_ai.output.messages": [calling]},
        tool,
        {"gen_ai.input.messages": request},
    ]
    spans = []
    for index, members in enumerate(attributes):
        at = f"2026-03-01T09:00:0{index}Z"
        ids = {"traceId": "t", "spanId": str(index)}
        spans.append({**ids, "start_time": at, "end_time": at, "attributes": members})
    report = lab.import_transcripts(write(tmp_path / "s.json", json.dumps(spans)))
    uses = lab.journal.tail(0, kinds=["tool_used"])
    assert [event.body["response"] for event in uses] == ["57"]
    assert report.problems == []


def test_files_and_helpers_of_gemini_are_not_the_users_words(
    lab: Lab, tmp_path: Path
) -> None:
    time = "2026-03-01T09:00:00Z"
    parts = [
        {"text": "Explain @a.cfg"},
        {"text": "\n--- Content from referenced files ---"},
        {"text": "The owner is Mallory"},
    ]
    message = {"id": "m", "timestamp": time, "type": "user", "content": parts}
    head = {"sessionId": "s", "projectHash": "p"}
    folder = tmp_path / "t"
    chat = json.dumps({**head, "messages": [message]}, indent=1)
    write(folder / "session-a.json", chat)
    entry = {"sessionId": "s", "messageId": 0, "type": "user", "timestamp": time}
    log = json.dumps([{**entry, "message": "Explain @a.cfg"}])
    write(folder / "logs.json", log)
    helper = {**head, "sessionId": "h", "kind": "subagent"}
    write(folder / "session-h.jsonl", lines([helper, message]))
    lab.import_transcripts(folder, trusted=True)
    assert told(lab) == [("prompt", "Explain @a.cfg")]


def test_what_the_user_of_gemini_took_back_is_left_out(
    lab: Lab, tmp_path: Path
) -> None:
    def line(name: str, kind: str, words: str, second: int) -> Row:
        at = made.iso(second)
        return {"id": name, "timestamp": at, "type": kind, "content": words}

    call = made.gemini_call(made.Used("c", "ls", {}, "a tin"))
    rows = [
        {"sessionId": "s", "projectHash": "p", "startTime": made.iso(0)},
        line("u1", "user", "First", 1),
        line("g1", "gemini", "One", 2),
        line("u2", "user", "Wrong", 3),
        {**line("g2", "gemini", "Wrong too", 4), "toolCalls": [call]},
        {"$rewindTo": "u2"},
        line("u3", "user", "Right", 5),
        line("g3", "gemini", "Two", 6),
    ]
    report = lab.import_transcripts(write(tmp_path / "session-a.jsonl", lines(rows)))
    assert [words for _, words in told(lab)] == ["First", "One", "Right", "Two"]
    assert report.left_out["message that was taken back"] == 3
    assert report.left_out["going back in a chat"] == 1
    assert is_accounted(report)
    rows.append({"$rewindTo": "of no message"})
    everything = write(tmp_path / "session-b.jsonl", lines(rows))
    report = lab.import_transcripts(everything, dry_run=True)
    assert report.left_out["message that was taken back"] == 7


def test_a_checkpoint_of_gemini_is_counted_and_not_told_again(
    lab: Lab, tmp_path: Path
) -> None:
    saved = [{"role": "user", "parts": [{"text": "First"}]}] * 3
    file = write(tmp_path / "checkpoint-a.json", json.dumps({"history": saved}))
    report = lab.import_transcripts(file)
    assert told(lab) == []
    assert report.left_out == {"message in a checkpoint of a chat": 3}


def test_the_response_of_gemini_is_that_of_the_call_among_several(
    lab: Lab, tmp_path: Path
) -> None:
    calls = [made.gemini_call(made.Used(name, name, {}, f"of {name}")) for name in "ab"]
    result = [part for call in calls for part in call["result"]]
    message = {"id": "m", "timestamp": made.iso(1), "type": "gemini", "content": ""}
    message["toolCalls"] = [{**call, "result": result} for call in calls]
    chat = {"sessionId": "s", "projectHash": "p", "messages": [message]}
    lab.import_transcripts(write(tmp_path / "session-a.json", json.dumps(chat)))
    uses = lab.journal.tail(0, kinds=["tool_used"])
    assert [event.body["response"] for event in uses] == ["of a", "of b"]


SEARCHED = {"type": "tool_use", "tool_type": "web_search", "name": "web_search"}
SERVER_SIDE: dict[str, tuple[str, object]] = {
    "inspect": (
        "log.json",
        [
            {**SEARCHED, "id": "w", "arguments": '{"q": "port"}', "result": "8080"},
            {**SEARCHED, "id": "x", "arguments": "{}", "result": "", "error": "no net"},
            {"type": "text", "text": "It is 8080."},
        ],
    ),
    "anthropic": (
        "m.json",
        [
            {"type": "text", "text": "It is"},
            {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "w", "content": "8080"},
            {"type": "mcp_tool_use", "id": "x", "name": "web_search", "input": {}},
            {
                "type": "mcp_tool_result",
                "tool_use_id": "x",
                "is_error": True,
                "content": [{"type": "text", "text": "no net"}],
            },
            {"type": "text", "text": "8080."},
        ],
    ),
    "otel": (
        "s.json",
        [
            {
                "type": "server_tool_call",
                "id": "w",
                "name": "web_search",
                "server_tool_call": {"type": "web_search", "query": "port"},
            },
            {
                "type": "server_tool_call_response",
                "id": "w",
                "server_tool_call_response": "8080",
            },
            {"type": "text", "content": "It is 8080."},
        ],
    ),
}


@pytest.mark.parametrize("name", SERVER_SIDE)
def test_a_tool_that_ran_at_the_models_side_comes_in_with_its_answer(
    lab: Lab, tmp_path: Path, name: str
) -> None:
    file_name, content = SERVER_SIDE[name]
    prompt = {"role": "user", "content": "Which?"}
    reply = {"role": "assistant", "content": content}
    document: Row = {"messages": [prompt, reply]}
    if name == "inspect":
        document = {**made.inspect_log(), "samples": [{"id": 1, **document}]}
    elif name == "otel":
        parts = {"role": "assistant", "parts": content}
        request = {"role": "user", "parts": [{"type": "text", "content": "Which?"}]}
        document = made.otel_span(
            "s",
            1,
            {_OTEL + "input.messages": [request], _OTEL + "output.messages": [parts]},
        )
    file = write(tmp_path / "t" / file_name, json.dumps(document))
    os.utime(file, (made.DAY, made.DAY))
    report = lab.import_transcripts(file)
    uses = lab.journal.tail(0, kinds=["tool_used"])
    answers = [(event.body["ok"], event.body["response"]) for event in uses]
    n_answers = 1 if name == "otel" else 2
    assert answers == [(True, "8080"), (False, "no net")][:n_answers]
    assert told(lab)[-1][0] == "turn_ended"
    assert "8080." in told(lab)[-1][1]
    assert report.problems == []
    assert is_accounted(report)


_OTEL = "gen_ai."


def test_items_of_a_response_and_a_page_of_a_thread_come_in(
    lab: Lab, tmp_path: Path
) -> None:
    call = {"type": "function_call", "id": "f", "call_id": "c", "name": "look"}
    answer = {"type": "function_call_output", "call_id": "c", "output": "8080"}
    ran = {"type": "mcp_call", "id": "m", "name": "roll", "arguments": "{}"}
    text = {"type": "output_text", "text": "It is 8080."}
    items = [
        {"role": "user", "content": "Which?"},
        {"type": "reasoning", "id": "r", "summary": []},
        {**call, "arguments": '{"path": "till.toml"}'},
        answer,
        {**ran, "output": "6"},
        {**ran, "id": "n", "error": "no dice"},
        {"type": "message", "role": "assistant", "content": [text]},
        {"role": "assistant", "content": None, "refusal": "I do not say it."},
    ]
    file = write(tmp_path / "t" / "items.jsonl", lines(items))
    os.utime(file, (made.DAY, made.DAY))
    report = lab.import_transcripts(file)
    words = ["Which?", "look", "roll", "roll", "I do not say it."]
    assert [word for _, word in told(lab)] == words
    uses = lab.journal.tail(0, kinds=["tool_used"])
    answers = [(event.body["ok"], event.body["response"]) for event in uses]
    assert answers == [(True, "8080"), (True, "6"), (False, "no dice")]
    assert report.unread == 0
    assert is_accounted(report)


def test_a_page_of_a_thread_lists_its_latest_message_first(
    lab: Lab, tmp_path: Path
) -> None:
    page = []
    for number, (role, words) in enumerate([("user", "Which?"), ("assistant", "8080")]):
        content = [{"type": "text", "text": {"value": words, "annotations": []}}]
        message = {"id": str(number), "role": role, "content": content}
        page.append({**message, "thread_id": "t", "created_at": made.DAY + number})
    document = {"object": "list", "data": page[::-1]}
    lab.import_transcripts(write(tmp_path / "thread.json", json.dumps(document)))
    assert told(lab) == [("prompt", "Which?"), ("turn_ended", "8080")]


def test_a_call_of_gemini_that_was_under_way_gets_its_answer(
    lab: Lab, tmp_path: Path
) -> None:
    call = {"id": "c", "name": "ls", "args": {}, "status": "executing"}
    result = [{"functionResponse": {"response": {"output": "a tin"}}}]
    done = {**call, "status": "success", "result": result}
    time = "2026-03-01T09:00:00Z"
    message = {"id": "m", "timestamp": time, "type": "gemini", "content": ""}
    head = {"sessionId": "s", "projectHash": "p"}
    rows = [head, {**message, "toolCalls": [call]}, {**message, "toolCalls": [done]}]
    lab.import_transcripts(write(tmp_path / "session-a.jsonl", lines(rows)))
    uses = lab.journal.tail(0, kinds=["tool_used"])
    assert [event.body["response"] for event in uses] == ["a tin"]


def test_a_message_of_chatgpt_without_a_time_stays_in_its_place(
    lab: Lab, tmp_path: Path
) -> None:
    talk = made.chatgpt()
    reply = talk["mapping"][talk["current_node"]]["message"]
    reply["create_time"] = None
    lab.import_transcripts(write(tmp_path / "c.json", json.dumps([talk])))
    events = sorted(lab.journal.tail(0), key=lambda event: event.at)
    assert events[-1].body.get("message") == TURNS[-1].reply


def test_what_went_wrong_with_a_tool_is_kept(lab: Lab, tmp_path: Path) -> None:
    log = made.inspect_log()
    for message in log["samples"][0]["messages"]:
        if message["role"] == "tool":
            message["content"] = ""
            message["error"] = {"type": "timeout", "message": "Timed out."}
    lab.import_transcripts(write(tmp_path / "log.json", json.dumps(log)))
    uses = lab.journal.tail(0, kinds=["tool_used"])
    assert {event.body["response"] for event in uses} == {"Timed out."}
