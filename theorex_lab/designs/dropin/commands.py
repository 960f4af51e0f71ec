"""The commands `theorex dropin …`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from theorex_lab.core.errors import ConfigError
from theorex_lab.core.strict_json import unambiguous
from theorex_lab.designs.dropin.graph import graph_document
from theorex_lab.designs.dropin.graph_view import KnowledgeGraph
from theorex_lab.designs.dropin.memory_tool import MemoryTool
from theorex_lab.files.command_line import (
    command,
    emit,
    fail,
    home_command,
    one_row,
    open_lab,
    reads_project,
)
from theorex_lab.files.command_line.options import OWN_AGENT, agent_option, own_agent
from theorex_lab.memory.contract import Home
from theorex_lab.text.redact.redaction_scope import kept_text

Output = tuple[dict[str, Any], str]  # the result of a command, and the text for people
_MOST_BYTES = 1 << 24
_SHOWN_CHARACTERS = 60  # of what is no command
_STDIN = "-"


def _call(home: Home, command: str, agent: str) -> Output:
    """COMMAND is the JSON that the model sent as the tool's input; - reads it from
    standard input.

    The commands are view, create, str_replace, insert, delete and rename. The answer is
    the text for the model. A command that the tool refuses ends with the exit code 1; its
    answer says why, and goes to the model too, as an error.

    \b
        theorex dropin call '{"command": "view", "path": "/memories"}'

    JSON: {text, is_error}
    """  # noqa: D205, D301 - the help's first line is the table's; \b is click's
    result = MemoryTool(home, agent).run(_read_command(command))
    if result.is_error:
        fail(result.text, text=result.text, is_error=True)
    return {"text": result.text, "is_error": False}, result.text


def _read_command(text: str) -> Any:
    """Return the command in a text, or in what standard input holds."""
    if text == _STDIN:
        text = sys.stdin.buffer.read(_MOST_BYTES).decode("utf-8", "replace")
    try:
        return json.loads(
            text, object_pairs_hook=lambda pairs: unambiguous("the command", pairs)
        )
    except ConfigError as error:
        raise click.UsageError(kept_text(str(error))) from error
    except (ValueError, RecursionError) as error:
        start = kept_text(text)[:_SHOWN_CHARACTERS]
        raise click.UsageError(
            f"got {start!r} for COMMAND; allowed is a JSON object such as"
            ' {"command": "view", "path": "/memories"}'
        ) from error


def _graph(agent: str | None) -> None:
    """The graph is the agent's, in the project. `theorex mcp --tools reference` lets an
    agent write it.

    JSON: {entities: [{name, entityType, observations}], relations: [{from, to,
    relationType}]}
    """  # noqa: D205 - the help's first line is the table's
    graph = open_lab().design("dropin").read_graph(own_agent(agent))
    text = _graph_rows(graph) or "nothing yet"
    emit(graph_document(graph), text)


def _graph_rows(graph: KnowledgeGraph) -> str:
    rows: list[str] = []
    for entity in graph.entities.values():
        heading = f"{entity.name} ({entity.entity_type})"
        rows.append(one_row(heading))
        for text in entity.texts():
            rows.append(one_row(f"    {text}"))
    for relation in graph.relations:
        source, target, name = relation.key
        row = f"{source} {name} {target}"
        rows.append(one_row(row))
    return "\n".join(rows)


CALL = home_command(
    "call", "", _call, OWN_AGENT, click.argument("command", metavar="COMMAND")
)
GRAPH = command("graph")(
    reads_project(
        agent_option("Whose graph; default: $THEOREX_AGENT, else main.")(_graph)
    )
)
