"""The commands of what other products' memory tools bring, on the command line."""

from __future__ import annotations

import json

import pytest
from conftest import Ended, Run

KEY = "sk_live_" + 12 * "a1b2"


def call(run: Run, command: object, *more: str) -> Ended:
    ended: Ended = run("dropin", "call", json.dumps(command), *more)
    return ended


def test_half_a_surrogate_pair_is_answered_as_any_other_error(run: Run) -> None:
    created = {"command": "create", "path": "/memories/a.md", "file_text": "a"}
    assert call(run, created).code == 0
    wrong = {
        "command": "str_replace",
        "path": "/memories/a.md",
        "old_str": "\ud800",
        "new_str": "",
    }
    refused = call(run, wrong, "--json")
    assert refused.code == 1
    assert refused.json["is_error"]
    assert "old_str `?` did not appear" in refused.json["text"]


def test_an_error_of_the_tool_is_called_an_error_once(run: Run) -> None:
    refused = call(run, {"command": "delete", "path": "/memories/none.md"})
    assert refused.code == 1
    assert refused.err.startswith("Error: The path /memories/none.md does not exist")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (f"{{'path' {KEY}}}", "allowed is a JSON object"),
        (f'{{"{KEY}": 1, "{KEY}": 2}}', "stands there twice"),
        ('{"command": "view", "command": "delete"}', "stands there twice"),
    ],
)
def test_what_is_no_command_is_refused_without_its_secrets(
    run: Run, command: str, why: str
) -> None:
    refused = run("dropin", "call", command)
    assert refused.code == 2
    assert why in refused.err
    assert "a1b2" not in refused.err
