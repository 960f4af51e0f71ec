"""Any memory that speaks MCP: a file says which tool writes and which one searches."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.adapters.stored_texts import StoredTexts
from theorex_lab.files.formats.schema import FileRecord, Text, checked

_PLACE = re.compile(r"\{(text|number|query|limit|folder)\}")
# A part of an answer that is shorter says nothing by itself.
_SHORTEST_HIT = 12
_Table = Annotated[dict[str, Any], Field(description="a table")]
_Texts = Annotated[
    list[str], Field(default_factory=list, description="a list of texts")
]
_Variables = Annotated[
    dict[str, str], Field(default_factory=dict, description="a table of texts")
]


class Call(FileRecord):
    """A tool, and what it is given.

    Attributes:
        tool: The name of the tool.
        arguments: Its arguments. {text}, {number}, {query}, {limit} and {folder} in
            their texts stand for what is written or asked; what is only `{limit}` or
            `{number}` becomes a number.
    """

    tool: Text
    arguments: _Table


class _ServerTable(FileRecord):
    command: _Texts
    env: _Variables
    url: Text = ""
    write: _Table
    search: _Table


class ServerFile(NamedTuple):
    """How a server is started and asked.

    Attributes:
        command: The program and its arguments; {folder} is a folder of its own.
        env: Variables of its environment.
        url: The address of a server that runs already, where there is no command.
        write: The tool that takes in a text.
        search: The tool that answers a query.
    """

    command: list[str]
    env: dict[str, str]
    url: str
    write: Call
    search: Call


class McpServer(StoredTexts):
    """Gives what the search tool of an MCP server answers.

    A hit is a text that was written, wherever it stands in the answer; what else is
    in the answer is given as it is, and rests on no event.

    Raises:
        InvalidInput: The file cannot be read, or a call is refused by the server.
    """

    def __init__(self, file: Path) -> None:
        about = read_server_file(file)
        super().__init__()
        self._about = about
        self._n_written = 0
        self._open = ExitStack()
        try:
            self._connect()
        except BaseException:  # whatever it was, the folder and the server must go
            self.close()
            raise

    def _connect(self) -> None:
        """Start the server, with a loop of its own in another thread."""
        from anyio.from_thread import start_blocking_portal
        from mcp import Client, StdioServerParameters

        about = self._about
        server: Any = about.url
        if about.command:
            program, *words = self._filled(about.command)
            server = StdioServerParameters(
                command=program, args=words, env=self._filled(about.env)
            )
        self._portal = self._open.enter_context(start_blocking_portal())
        self._client = self._open.enter_context(
            self._portal.wrap_async_context_manager(Client(server))
        )

    def add(self, texts: Sequence[str], at: Sequence[int]) -> None:
        """Call the writing tool once a text."""
        for text in texts:
            self._n_written += 1
            self._ask(self._about.write, text=text, number=self._n_written)

    def find(self, query: str, limit: int) -> Sequence[str]:
        """Call the searching tool."""
        hits = list[str]()
        for part in self._ask(self._about.search, query=query, limit=limit):
            hits += self._hits_in(part)
        return hits[:limit]

    def _hits_in(self, part: str) -> Iterator[str]:
        """Yield the written texts that stand in a part of an answer, and what else does."""
        try:
            texts = list(_texts_of(json.loads(part)))
        except ValueError:
            texts = part.splitlines()
        for text in texts:
            if text in self._events:
                yield text
            elif len(text) >= _SHORTEST_HIT:
                inside = [written for written in self._events if written in text]
                yield max(inside, key=len) if inside else text

    def _ask(self, call: Call, **values: object) -> list[str]:
        """Return the texts that a tool answers.

        Raises:
            InvalidInput: The server refuses the call.
        """
        arguments = self._filled(call.arguments, **values)
        result = self._portal.call(self._client.call_tool, call.tool, arguments)
        texts = list[str]()
        for part in result.content:
            if part.type == "text":
                texts.append(part.text)
        if result.is_error:
            raise InvalidInput(
                f"got an error of the tool {call.tool}: {' '.join(texts)[:300]}; give"
                " arguments that it takes"
            )
        return texts

    def _filled(self, value: Any, **values: object) -> Any:
        """Return a value with its places filled, at every depth."""
        if isinstance(value, Mapping):
            return {name: self._filled(part, **values) for name, part in value.items()}
        if isinstance(value, list):
            return [self._filled(part, **values) for part in value]
        if not isinstance(value, str):
            return value
        values_by_place = {**values, "folder": self.folder}
        alone = _PLACE.fullmatch(value)
        if alone and isinstance(values_by_place.get(alone[1]), int):
            return values_by_place[alone[1]]
        return _PLACE.sub(partial(_filling, values_by_place), value)

    def close(self) -> None:
        """End the server, and remove its folder."""
        self._open.close()
        super().close()


def read_server_file(file: Path) -> ServerFile:
    """Return what a file says of a server.

    Raises:
        InvalidInput: It cannot be read, or is not of this form.
    """
    try:
        table = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(
            f"got {file}, which cannot be read ({error}); give a TOML file with command"
            " (or url), write and search"
        ) from error
    try:
        about = checked(_ServerTable, table)
        write = checked(Call, about.write)
        search = checked(Call, about.search)
    except InvalidInput as error:
        raise InvalidInput(f"got {file}: {error}") from error
    if bool(about.command) == bool(about.url):
        raise InvalidInput(f"got {file}; give one of command and url, and not both")
    return ServerFile(about.command, about.env, about.url, write, search)


def _filling(values_by_place: Mapping[str, object], place: re.Match[str]) -> str:
    """Return what stands at a place; a place without a value stays."""
    return str(values_by_place.get(place[1], place[0]))


def _texts_of(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value in their order."""
    if isinstance(value, str):
        yield value
        return
    parts: Iterable[Any] = ()
    if isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, list):
        parts = value
    for part in parts:
        yield from _texts_of(part)
