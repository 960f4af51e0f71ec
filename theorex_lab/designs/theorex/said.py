"""Who said what in a captured event: what an agent did is its own word, what a tool answered is the tool's."""

import json
import re
from typing import NamedTuple

from theorex_lab.journal.event import Body
from theorex_lab.text.paths import shown_path, without_far_paths

# Members of a tool's input in which an agent says what it does; the others may hold anything it has read.
_MEMBER = re.compile(r'"(command|file_path|path|notebook_path)":"((?:\\.|[^"\\])*)"?')
# Names of members, escapes and signs of JSON, whole or cut: no word of what is said.
_FORM = re.compile(r'"[^"\\\n]{1,64}"\s*:|\\(?:u[0-9a-fA-F]{4}|[nrtbf/\\"])|[{}\[\]"]')
_BROKEN_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?…?$")


class SaidText(NamedTuple):
    """A text and how far it is trusted: `source` is a key of TRUST."""

    source: str
    text: str


def said(body: Body) -> list[SaidText]:
    """What an event says, by who said it: a prompt alone; of a tool call what the agent did, then all else.

    >>> said({"input": '{"command":"make test","note":"x"}', "response": "ok", "source": "tool"})
    [SaidText(source='agent', text='make test'), SaidText(source='tool', text='x\\nok')]
    """
    source, given, answer = str(body["source"]), str(body.get("input", "")), str(body.get("response", ""))
    if "text" in body:
        return [SaidText(source, str(body["text"]))]
    done, rest = (given, "") if not given.startswith(("{", "[")) else _own_words(given)
    uses = body.get("paths")
    paths = [path for found in uses.values() for path in found] if isinstance(uses, dict) else []
    own = [*filter(shown_path, paths), without_far_paths(done)]
    heard = without_far_paths(f"{_values(rest)}\n{_values(answer)}")
    if source != "tool":  # a whole event that came from elsewhere
        return [SaidText(source, "\n".join([*own, heard]).strip())]
    parts = SaidText("agent", "\n".join(filter(None, own)).strip()), SaidText("tool", heard.strip())
    return [part for part in parts if part.text]


def _values(given: str) -> str:
    """What the values of a text in JSON say; any other text as it is."""
    return " ".join(_FORM.sub(" ", given).split()).strip(" ,") if given.startswith(("{", "[", ",")) else given


def _own_words(given: str) -> tuple[str, str]:
    """The command and the project's paths of an input in JSON, which may be cut; and what is left of it."""
    words = []
    for name, value in _MEMBER.findall(given):
        text = _unescaped(value)
        words.append(text if name == "command" else shown_path(text))
    return "\n".join(filter(None, words)), _MEMBER.sub("", given)


def _unescaped(value: str) -> str:
    try:
        return str(json.loads(f'"{_BROKEN_ESCAPE.sub("", value)}"', strict=False))
    except ValueError:
        return value
