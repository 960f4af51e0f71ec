"""Made-up conversations, written down in the forms of programs that record them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Row = dict[str, Any]
DAY = 1_772_355_600  # 2026-03-01T09:00:00Z, in seconds


class Used(NamedTuple):
    """A tool that was used."""

    id: str
    name: str
    arguments: Row
    answer: str
    failed: bool = False


class Turn(NamedTuple):
    """What was asked, which tools were used, and what was answered."""

    prompt: str
    used: tuple[Used, ...]
    reply: str


TURNS = (
    Turn(
        "Which port has the till?",
        (
            Used("c1", "look", {"path": "till.toml"}, "port = 8080"),
            Used("c2", "grep", {"word": "port"}, "no such file", failed=True),
        ),
        "The till listens on 8080.",
    ),
    Turn("Write it down.", (Used("c3", "write", {"text": "8080"}, "ok"),), "Done."),
    Turn("And the oven?", (), "The oven has no port."),
    Turn("Write it down.", (), "Done."),
)


def expected(turns: tuple[Turn, ...] = TURNS) -> list[tuple[str, str]]:
    """What an import of the turns keeps."""
    captures = []
    for turn in turns:
        captures.append(("prompt", turn.prompt))
        captures += [("tool_used", used.name) for used in turn.used]
        captures.append(("turn_ended", turn.reply))
    return captures


class Step(NamedTuple):
    """One step of a conversation: a prompt, a call, an answer or a reply."""

    kind: str
    text: str = ""
    used: Used | None = None


def steps(turns: tuple[Turn, ...] = TURNS) -> list[Step]:
    listed = []
    for turn in turns:
        listed.append(Step("prompt", turn.prompt))
        for used in turn.used:
            listed += [Step("call", used=used), Step("answer", used=used)]
        listed.append(Step("reply", turn.reply))
    return listed


def iso(second: float) -> str:
    minutes, rest = divmod(second, 60)
    return f"2026-03-01T09:{int(minutes):02d}:{rest:06.3f}Z"


def nanoseconds(second: int) -> str:
    return str((DAY + second) * 1_000_000_000)


# OpenTelemetry


def otel_message(step: Step) -> Row:
    """A step as a message with parts."""
    if step.used is None:
        role = "user" if step.kind == "prompt" else "assistant"
        return {"role": role, "parts": [{"type": "text", "content": step.text}]}
    part: Row = {"type": "tool_call", "id": step.used.id, "name": step.used.name}
    if step.kind == "call":
        part["arguments"] = step.used.arguments
        return {"role": "assistant", "parts": [part]}
    answer = {"id": step.used.id, "response": step.used.answer}
    return {"role": "tool", "parts": [{"type": "tool_call_response", **answer}]}


def model_calls(turns: tuple[Turn, ...] = TURNS) -> Iterator[tuple[list[Step], Step]]:
    """Each request, with the whole conversation before it, and its reply."""
    listed = steps(turns)
    for index, step in enumerate(listed):
        if step.kind in ("call", "reply"):
            yield listed[:index], step


def otel_spans(turns: tuple[Turn, ...] = TURNS, *, inside: bool = False) -> list[Row]:
    """The SDK's spans: a model's calls and a tool's, in the order of their ends.

    Args:
        turns: The turns.
        inside: Messages are structured, not JSON in a text.
    """
    spans = []
    for number, (request, reply) in enumerate(model_calls(turns)):
        messages = [otel_message(step) for step in request]
        replies = [{**otel_message(reply), "finish_reason": "stop"}]
        attributes: Row = {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": "talk-1",
            "gen_ai.input.messages": messages if inside else json.dumps(messages),
            "gen_ai.output.messages": replies if inside else json.dumps(replies),
        }
        spans.append(otel_span(f"{number:016x}", 10 * number, attributes))
        if reply.used is not None:
            spans.append(otel_tool_span(reply.used, number))
    return spans


def otel_tool_span(used: Used, number: int) -> Row:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "talk-1",
        "gen_ai.tool.name": used.name,
        "gen_ai.tool.call.id": used.id,
        "gen_ai.tool.call.arguments": json.dumps(used.arguments),
        "gen_ai.tool.call.result": used.answer,
    }
    span = otel_span(f"t{number:015x}", 10 * number + 5, attributes)
    if used.failed:
        span["status"] = {"status_code": "ERROR"}
    return span


def otel_span(span_id: str, second: int, attributes: Row) -> Row:
    """A span as the SDK prints it."""
    return {
        "name": "chat model",
        "context": {"trace_id": "0x" + "a" * 32, "span_id": span_id},
        "start_time": iso(second),
        "end_time": iso(second + 4),
        "status": {"status_code": "UNSET"},
        "attributes": attributes,
        "events": [],
    }


def otlp_value(value: object) -> Row:
    """A value as OTLP wraps it by its type."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(each) for each in value]}}
    assert isinstance(value, dict)
    return {"kvlistValue": {"values": otlp_attributes(value)}}


def otlp_attributes(attributes: Row) -> list[Row]:
    return [
        {"key": key, "value": otlp_value(value)} for key, value in attributes.items()
    ]


def otlp(spans: list[Row]) -> Row:
    """The SDK's spans as OTLP has them, the first last."""
    rows = []
    for number, span in enumerate(spans):
        failed = span["status"]["status_code"] == "ERROR"
        rows.append(
            {
                "traceId": "b" * 32,
                "spanId": span["context"]["span_id"],
                "name": span["name"],
                "startTimeUnixNano": nanoseconds(10 * number),
                "endTimeUnixNano": nanoseconds(10 * number + 4),
                "attributes": otlp_attributes(span["attributes"]),
                "status": {"code": 2} if failed else {},
            }
        )
    return {"resourceSpans": [{"scopeSpans": [{"spans": rows[::-1]}]}]}


def otel_events(turns: tuple[Turn, ...] = TURNS) -> list[Row]:
    """Spans with the events of earlier versions."""
    spans = []
    for number, (request, reply) in enumerate(model_calls(turns)):
        attributes = {"gen_ai.operation.name": "chat"}
        span = otel_span(f"{number:016x}", 10 * number, attributes)
        for step in request:
            role = {"prompt": "user", "answer": "tool"}.get(step.kind, "assistant")
            body = openai_message(step)
            body["id"] = body.pop("tool_call_id", None)
            name = f"gen_ai.{role}.message"
            content = {"gen_ai.event.content": json.dumps(body)}
            span["events"].append({"name": name, "attributes": content})
        choice = {"index": 0, "message": openai_message(reply)}
        content = {"gen_ai.event.content": json.dumps(choice)}
        span["events"].append({"name": "gen_ai.choice", "attributes": content})
        spans.append(span)
    return spans


def otel_numbered(turns: tuple[Turn, ...] = TURNS) -> list[Row]:
    """Spans whose messages stand in attributes with numbers."""
    spans = []
    for number, (request, reply) in enumerate(model_calls(turns)):
        attributes: Row = {"gen_ai.operation.name": "chat"}
        for group, listed in (("prompt", request), ("completion", [reply])):
            for index, step in enumerate(listed):
                start = f"gen_ai.{group}.{index}"
                for name, value in openai_message(step).items():
                    if name != "tool_calls":
                        attributes[f"{start}.{name}"] = value
                        continue
                    call = value[0]
                    attributes[f"{start}.tool_calls.0.id"] = call["id"]
                    attributes[f"{start}.tool_calls.0.name"] = call["function"]["name"]
                    arguments = call["function"]["arguments"]
                    attributes[f"{start}.tool_calls.0.arguments"] = arguments
        spans.append(otel_span(f"{number:016x}", 10 * number, attributes))
    return spans


def openai_message(step: Step) -> Row:
    """A step as a message of OpenAI's form."""
    if step.used is None:
        role = "user" if step.kind == "prompt" else "assistant"
        return {"role": role, "content": step.text}
    if step.kind == "answer":
        return {
            "role": "tool",
            "tool_call_id": step.used.id,
            "content": step.used.answer,
        }
    arguments = json.dumps(step.used.arguments)
    function = {"name": step.used.name, "arguments": arguments}
    call = {"id": step.used.id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


# ChatGPT


def chatgpt(turns: tuple[Turn, ...] = TURNS, *, session: str = "talk-1") -> Row:
    """A conversation with a branch that was left, and a hidden message."""
    nodes: Row = {"root": {"id": "root", "message": None, "parent": None}}
    last = "root"

    def add(name: str, message: Row, parent: str) -> str:
        message = {"id": name, "create_time": DAY + len(nodes), **message}
        node = {"id": name, "message": message, "parent": parent, "children": []}
        nodes[name] = node
        return name

    hidden = {"is_visually_hidden_from_conversation": True}
    last = add("n0", {**chatgpt_message("system", ""), "metadata": hidden}, last)
    add("left", chatgpt_message("user", "A prompt that was edited"), last)
    add("left too", chatgpt_message("assistant", "An answer to it"), "left")
    for number, step in enumerate(steps(turns), start=1):
        last = add(f"n{number}", chatgpt_step(step), last)
    return {
        "title": "The till",
        "create_time": DAY,
        "mapping": nodes,
        "current_node": last,
        "conversation_id": session,
    }


def chatgpt_step(step: Step) -> Row:
    if step.used is None:
        role = "user" if step.kind == "prompt" else "assistant"
        return chatgpt_message(role, step.text)
    if step.kind == "call":
        message = chatgpt_message("assistant", json.dumps(step.used.arguments))
        return {**message, "recipient": step.used.name}
    message = chatgpt_message("tool", step.used.answer)
    message["author"]["name"] = step.used.name
    if step.used.failed:
        text = step.used.answer
        message["content"] = {"content_type": "system_error", "text": text}
    return message


def chatgpt_message(role: str, text: str) -> Row:
    content = {"content_type": "text", "parts": [text]}
    return {"author": {"role": role}, "content": content, "recipient": "all"}


# Others


def langfuse(turns: tuple[Turn, ...] = TURNS) -> Row:
    """A trace with its observations, the latest first."""
    observations: list[Row] = [{"id": "o", "traceId": "t", "type": "SPAN"}]
    for number, (request, reply) in enumerate(model_calls(turns)):
        generation = {
            "id": f"g{number}",
            "traceId": "t",
            "type": "GENERATION",
            "startTime": iso(10 * number),
            "endTime": iso(10 * number + 4),
            "input": {"messages": [openai_message(step) for step in request]},
            "output": openai_message(reply),
        }
        observations.append(generation)
        if reply.used is not None and reply.used.failed:
            tool = {
                "id": f"o{number}",
                "traceId": "t",
                "type": "TOOL",
                "name": reply.used.name,
                "startTime": iso(10 * number + 5),
                "input": reply.used.arguments,
                "output": {
                    "tool_call_id": reply.used.id,
                    "content": reply.used.answer,
                },
                "level": "ERROR",
            }
            observations.append(tool)
    return {"id": "t", "sessionId": "talk-1", "observations": observations[::-1]}


def langchain_message(step: Step) -> Row:
    kwargs: Row = {"content": step.text}
    name = "HumanMessage" if step.kind == "prompt" else "AIMessage"
    if step.used is not None and step.kind == "call":
        call = {"id": step.used.id, "name": step.used.name, "args": step.used.arguments}
        kwargs["tool_calls"] = [call]
    elif step.used is not None:
        name = "ToolMessage"
        status = "error" if step.used.failed else "success"
        kwargs = {"content": step.used.answer, "status": status}
        kwargs["tool_call_id"] = step.used.id
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": kwargs}


def langsmith(turns: tuple[Turn, ...] = TURNS) -> list[Row]:
    """Runs as they are listed, the latest first."""
    runs: list[Row] = []
    for number, (request, reply) in enumerate(model_calls(turns)):
        messages = [langchain_message(step) for step in request]
        generation = {"text": "", "message": langchain_message(reply)}
        runs.append(
            {
                "id": f"r{number}",
                "run_type": "llm",
                "trace_id": "trace-1",
                "start_time": iso(10 * number),
                "end_time": iso(10 * number + 4),
                "inputs": {"messages": [messages]},
                "outputs": {"generations": [[generation]]},
            }
        )
        if reply.used is not None:
            answer = langchain_message(Step("answer", used=reply.used))
            runs.append(
                {
                    "id": f"t{number}",
                    "run_type": "tool",
                    "name": reply.used.name,
                    "trace_id": "trace-1",
                    "start_time": iso(10 * number + 5),
                    "inputs": {"input": json.dumps(reply.used.arguments)},
                    "outputs": {"output": answer},
                }
            )
    return [{"id": "c", "run_type": "chain", "inputs": {}, "trace_id": "x"}, *runs]


def gemini(turns: tuple[Turn, ...] = TURNS) -> Row:
    messages: list[Row] = [{"id": "m", "type": "info", "content": "Welcome"}]
    for number, turn in enumerate(turns):
        at = {"timestamp": iso(10 * number)}
        prompt = [{"text": turn.prompt}]
        messages.append({"id": f"u{number}", "type": "user", "content": prompt, **at})
        calls = [gemini_call(used) for used in turn.used]
        if calls:
            message = {"id": f"t{number}", "type": "gemini", "content": "", **at}
            messages.append({**message, "toolCalls": calls})
        reply = {"id": f"g{number}", "type": "gemini", "content": turn.reply, **at}
        messages.append(reply)
    return {
        "sessionId": "talk-1",
        "projectHash": "f" * 64,
        "startTime": iso(0),
        "messages": messages,
    }


def gemini_call(used: Used) -> Row:
    member = "error" if used.failed else "output"
    response = {"id": used.id, "response": {member: used.answer}}
    return {
        "id": used.id,
        "name": used.name,
        "args": used.arguments,
        "status": "error" if used.failed else "success",
        "result": [{"functionResponse": response}],
    }


def inspect_log(turns: tuple[Turn, ...] = TURNS) -> Row:
    messages: list[Row] = [{"id": "s", "role": "system", "content": "Be a clerk."}]
    for number, step in enumerate(steps(turns)):
        message = {"id": f"m{number}", **openai_message(step)}
        for call in message.get("tool_calls", []):
            function = call["function"]
            call["function"] = function["name"]
            call["arguments"] = json.loads(function["arguments"])
        if step.used is not None and step.kind == "answer":
            message["function"] = step.used.name
            if step.used.failed:
                message["error"] = {"type": "unknown", "message": step.used.answer}
        messages.append(message)
    sample = {"id": 1, "epoch": 1, "messages": messages}
    head = {"task": "tills", "run_id": "run-1", "created": iso(0)}
    return {"version": 2, "status": "success", "eval": head, "samples": [sample]}


MCP_MEMORY: list[Row] = [
    {
        "type": "entity",
        "name": "till",
        "entityType": "device",
        "observations": ["listens on 8080", {"content": "stands by the door"}],
    },
    {"type": "entity", "name": "oven", "entityType": "device", "observations": []},
    {"type": "relation", "from": "till", "to": "oven", "relationType": "stands beside"},
]
MEM0: Row = {
    "results": [
        {"id": "1", "memory": "The till listens on 8080", "created_at": iso(1)},
        {"id": "2", "memory": "Nobody works on Mondays", "run_id": "run-1"},
    ],
    "relations": [
        {"source": "till", "relationship": "stands_beside", "target": "oven"}
    ],
}
