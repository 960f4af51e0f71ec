"""Guards that hold at every door: a secret that comes in is in no file of the home.

The doors are listed in `tests/helpers/doors.py`, and the commands in
`test_json_fields.CASES`. What the package has and no list names is found here.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import click
import doors
import httpx
import pytest
from doors import filled
from faults import opened
from first_day import Newcomer
from hostile_server import HostileServer, completion
from page_memory import OWNER, PAGE_TOKEN
from PIL import Image, PngImagePlugin
from secret_lines import drawn
from test_json_fields import (
    CASES,
    COMMANDS,
    PROGRAMS,
    call,
    first_saved,
    prepare,
    value_at,
    words_of,
)
from test_mcp import PLAIN
from test_rest import RIGHT, running, spoken

import theorex_lab.eval.tour
from theorex_lab import Lab, installed
from theorex_lab.app import hook
from theorex_lab.app.server.mcp import build_server
from theorex_lab.app.server.memory_page.keys import PageKeys
from theorex_lab.core import processes
from theorex_lab.designs.dreams.demos import hypotheses
from theorex_lab.eval.metrics import access, causal
from theorex_lab.eval.tour import run_tour
from theorex_lab.files.formats.home_files import export_home, import_home
from theorex_lab.files.ingest.code import CODE, LANGUAGES
from theorex_lab.files.ingest.media import images
from theorex_lab.files.ingest.text import FORMS
from theorex_lab.memory.hook_payloads import BODIES
from theorex_lab.search.embed import OnnxEmbedder
from theorex_lab.text.redact.hints import MASK
from theorex_lab.text.redact.redaction_scope import door

# A password that no shape gives away, and a key that its prefix does.
PASSWORD = drawn("l", 12, "password of the doors")
KEY = "AKI" + "A" + drawn("u", 16, "key of the doors")
TEXT = f"the password is {PASSWORD}, use {KEY} too"
SECRETS = (PASSWORD.encode(), KEY.encode())


def files_with_secrets(folder: Path) -> list[str]:
    """Return the names of the files below a folder that hold a secret, or are named so."""
    return [
        str(file.relative_to(folder))
        for file in sorted(folder.rglob("*"))
        if KEY in str(file.relative_to(folder))
        or (file.is_file() and any(secret in file.read_bytes() for secret in SECRETS))
    ]


def kept_texts(lab: Lab) -> str:
    """Return what the events of a lab hold, as JSON."""
    events = lab.journal.tail(0)
    return json.dumps([[event.body, event.session, event.agent] for event in events])


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened(tmp_path / "home") as lab:
        yield lab


def check_masked(lab: Lab) -> None:
    """Check that a lab kept texts, and no secret in any file."""
    home = lab.folder
    assert MASK in kept_texts(lab)
    lab.close()
    assert files_with_secrets(home) == []


# The lists are whole


def test_every_tool_is_listed(lab: Lab) -> None:
    tools = asyncio.run(build_server(lab).list_tools())
    assert {tool.name for tool in tools} == set(doors.TOOL_ARGUMENTS)
    tools = asyncio.run(build_server(lab, tools="reference").list_tools())
    assert {tool.name for tool in tools} == set(doors.REFERENCE_TOOL_ARGUMENTS)


def test_every_route_is_listed(lab: Lab) -> None:
    with running(lab) as url:
        document = httpx.get(f"{url}/openapi.json", verify=PLAIN).json()
    paths = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
        if path not in ("/", "/api", "/health", "/openapi.json")
    }
    sockets = {path for path in doors.ROUTE_ARGUMENTS if path.startswith("WS ")}
    assert paths == set(doors.ROUTE_ARGUMENTS) - sockets
    assert sockets == {
        f"WS {route.path}"
        for design in installed()
        for route in design.routes()
        if route.method == "WS"
    }


def objects_of(lab: Lab) -> list[object]:
    """Return the objects of the Python interface."""
    parts = [lab.dispatcher, lab.tasks, lab.outcomes]
    faces = [lab.design(design.name) for design in lab.home.designs]
    return [lab, lab.agent("main"), *faces, *parts]


def test_every_method_is_listed(lab: Lab) -> None:
    for one in objects_of(lab):
        kind = type(one).__name__
        methods = {
            name
            for name, member in inspect.getmembers(type(one))
            if not name.startswith("_") and callable(member)
        }
        storing = {
            path.partition(".")[2]
            for path in doors.STORING_METHODS
            if path.startswith(f"{kind}.")
        }
        others = set(doors.OTHER_METHODS[kind].split())
        assert methods == storing | others, kind
        assert not storing & others


def test_every_event_of_a_hook_is_listed() -> None:
    assert set(doors.HOOK_EVENTS) == {"SessionStart", *BODIES}


def test_every_kind_of_file_is_listed() -> None:
    assert set(FORMS) == {*doors.DOCUMENTS, ".ipynb", ".pdf"}
    assert set(LANGUAGES) == set(doors.SOURCES)


# What comes in


@pytest.mark.parametrize("name", sorted(doors.TOOL_ARGUMENTS))
def test_a_tool_keeps_no_secret(lab: Lab, name: str) -> None:
    lab.agent("main").write(f"The token is {MASK}")
    server = build_server(lab)
    arguments = filled(doors.TOOL_ARGUMENTS[name], TEXT)
    schema = next(
        tool.input_schema["properties"]
        for tool in asyncio.run(server.list_tools())
        if tool.name == name
    )
    before = lab.journal.last_seq()
    asyncio.run(server.call_tool(name, filled(doors.TOOL_ARGUMENTS[name], KEY)))
    for field in schema:
        for text in (TEXT, KEY):
            # Whether it is taken or refused, nothing of it is kept.
            with contextlib.suppress(Exception):
                asyncio.run(server.call_tool(name, {**arguments, field: text}))
    assert (lab.journal.last_seq() > before) or name not in doors.TOOLS_THAT_STORE
    check_masked(lab)


@pytest.mark.parametrize("name", sorted(doors.REFERENCE_TOOL_ARGUMENTS))
def test_a_tool_of_the_reference_server_keeps_no_secret(lab: Lab, name: str) -> None:
    lab.agent("main").write(f"The token is {MASK}")
    server = build_server(lab, tools="reference")
    before = lab.journal.last_seq()
    for text in (KEY, TEXT):
        arguments = filled(doors.REFERENCE_TOOL_ARGUMENTS[name], text)
        with contextlib.suppress(Exception):
            asyncio.run(server.call_tool(name, arguments))
    stores = name in doors.REFERENCE_TOOLS_THAT_STORE
    assert (lab.journal.last_seq() > before) or not stores
    check_masked(lab)


@pytest.mark.parametrize("path", sorted(doors.ROUTE_ARGUMENTS))
def test_a_route_keeps_no_secret(lab: Lab, path: str) -> None:
    item = lab.agent("main").write(f"The token is {MASK}").event_id
    before = lab.journal.last_seq()
    stores = path in doors.ROUTES_THAT_STORE
    with running(lab, keys=PageKeys(PAGE_TOKEN)) as url:
        for text in (TEXT, KEY):
            arguments = filled(doors.ROUTE_ARGUMENTS[path], text)
            if "item" in arguments and stores:
                arguments["item"] = item
            status = status_of(url, path, arguments)
            assert status < 500
            assert status < 300 or not stores
    assert (lab.journal.last_seq() > before) or not stores
    check_masked(lab)


def status_of(url: str, path: str, arguments: dict[str, Any]) -> int:
    """Return how a route of a server answers; 200 for a web socket that says something."""
    method, _, way = path.partition(" ")
    if method == "WS":
        with spoken(url, way) as socket:
            socket.send(json.dumps(arguments))
            assert socket.recv(timeout=60)
        return 200
    for name in [name for name in arguments if f"{{{name}}}" in way]:
        way = way.replace(f"{{{name}}}", quote(arguments.pop(name), safe=""))
    headers = OWNER if way.startswith("/memory") else RIGHT
    how = {"params": arguments} if method == "GET" else {"json": arguments}
    answer = httpx.request(
        method, url + way, headers=headers, verify=PLAIN, timeout=60, **how
    )
    return answer.status_code


@pytest.mark.parametrize("path", sorted(doors.STORING_METHODS))
def test_a_method_keeps_no_secret(lab: Lab, path: str) -> None:
    doors.STORING_METHODS[path](lab, TEXT)
    check_masked(lab)


@pytest.mark.parametrize("name", sorted(doors.HOOK_EVENTS))
def test_a_hook_keeps_no_secret(
    lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a session leaves is seen to by a process of its own, which is another door.
    monkeypatch.setattr(processes, "start_in_background", lambda *_: None)
    lab.agent("main").write(f"The token is {MASK}")
    for text in (TEXT, KEY):
        fields = filled(doors.HOOK_EVENTS[name], text)
        for session in ("s", KEY):
            for cwd in ("/srv/shop", f"/srv/shop-{KEY}"):
                payload = {
                    **fields,
                    "hook_event_name": name,
                    "session_id": session,
                    "cwd": cwd,
                }
                problem = hook.take(json.dumps(payload).encode(), str(lab.folder))
                assert KEY not in problem
                assert PASSWORD not in problem
    check_masked(lab)


@pytest.mark.parametrize("suffix", sorted({**doors.DOCUMENTS, ".ipynb": ""}))
def test_a_document_keeps_no_secret(lab: Lab, tmp_path: Path, suffix: str) -> None:
    content = (
        doors.notebook(TEXT)
        if suffix == ".ipynb"
        else doors.DOCUMENTS[suffix].replace("{text}", TEXT)
    )
    folder = tmp_path / f"notes-{KEY}"
    folder.mkdir()
    (folder / f"till-{KEY}{suffix}").write_text(content)
    report = lab.ingest(folder)
    assert report.new == 1, report
    check_masked(lab)


@pytest.mark.parametrize("suffix", sorted(doors.SOURCES))
def test_a_source_file_keeps_no_secret(lab: Lab, tmp_path: Path, suffix: str) -> None:
    content = doors.SOURCES[suffix].replace("{{", "{").replace("}}", "}")
    file = tmp_path / f"till-{KEY}{suffix}"
    file.write_text(content.replace("{text}", TEXT))
    report = lab.ingest(file, reader=CODE)
    assert report.new == 1, report
    check_masked(lab)


def test_a_picture_keeps_no_secret(lab: Lab, tmp_path: Path) -> None:
    words = PngImagePlugin.PngInfo()
    words.add_text("Description", TEXT)
    Image.new("RGB", (30, 20)).save(tmp_path / "till.png", pnginfo=words)
    lab.ingest(tmp_path / "till.png", reader=images(lab.home))
    lab.agent("main").write(f"The token is {MASK}")
    check_masked(lab)


@pytest.mark.parametrize("form", sorted(doors.SESSIONS))
def test_a_recorded_session_keeps_no_secret(
    lab: Lab, tmp_path: Path, form: str
) -> None:
    suffix, make = doors.SESSIONS[form]
    file = tmp_path / ".specstory" / "history" / f"2026-03-01_09-00-{KEY}{suffix}"
    file.parent.mkdir(parents=True)
    file.write_text(make(TEXT))
    imported = lab.import_transcripts(file)
    assert imported.events, imported
    check_masked(lab)


def test_files_of_other_homes_and_systems_keep_no_secret(
    lab: Lab, tmp_path: Path
) -> None:
    """An export of a home that holds secrets is read by every layout."""
    folder = tmp_path / "files"
    with opened(tmp_path / "careless") as careless, door(keep_secrets=True):
        for run in doors.STORING_METHODS.values():
            # A password that became a name of its own would look like any word.
            run(careless, f"use {KEY} too")
        export_home(careless.home, careless.searcher, folder)
    written = files_with_secrets(folder)
    assert len(written) > 10
    for trusted in (False, True):
        reports = import_home(
            lab.home, lambda: lab.searcher, folder, agent="main", trusted=trusted
        )
        assert reports
    check_masked(lab)


# The command line


# What click refuses by itself unless it is one of few values, a number or a path.
BOUND_TYPES = (click.Choice, click.Path, type(click.INT), type(click.FLOAT))


class Line(NamedTuple):
    """A call of a command in which a word is a secret."""

    folder: str
    words: list[str]


def lines_with(case: Any, words: list[str]) -> Iterator[Line]:
    """Yield calls of a case in which one word, or one option more, is a secret."""
    n_names = len(case.path.split())
    for number, word in enumerate(words[n_names:], n_names):
        if not word.startswith("--"):
            yield Line(case.folder, [*words[:number], TEXT, *words[number + 1 :]])
    for option in COMMANDS[case.path].params:
        is_option = isinstance(option, click.Option) and not option.is_flag
        if is_option and not isinstance(option.type, BOUND_TYPES):
            yield Line(case.folder, [*words, option.opts[-1], KEY])


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes what it gives for equal arguments once a folder.

    Most options of a command change nothing of what is computed. A call with one runs
    the whole command but for this.
    """
    results: dict[bytes, Any] = {}

    def computed(*arguments: Any, **options: Any) -> Any:
        asked = pickle.dumps((str(Path.cwd()), arguments, options))
        if asked not in results:
            results[asked] = function(*arguments, **options)
        return results[asked]

    return computed


def pooled_once(pool: Callable[..., Any]) -> Callable[..., Any]:
    """Return how a model's states are pooled, each batch of texts once."""
    results: dict[bytes, Any] = {}

    def pooled(embedder: OnnxEmbedder, token_ids: Sequence[Sequence[int]]) -> Any:
        asked = pickle.dumps(token_ids)
        if asked not in results:
            results[asked] = pool(embedder, token_ids)
        return results[asked].copy()

    return pooled


def test_no_command_keeps_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None is given the home, nor writes but for a folder among its arguments.
    monkeypatch.setattr(access, "tune", once(access.tune))
    monkeypatch.setattr(causal, "score_advice", once(causal.score_advice))
    monkeypatch.setattr(hypotheses, "run_hypotheses", once(hypotheses.run_hypotheses))
    monkeypatch.setattr(theorex_lab.eval.tour, "run_tour", once(run_tour))
    monkeypatch.setattr(OnnxEmbedder, "_pool", pooled_once(OnnxEmbedder._pool))
    (tmp_path / "day").mkdir()
    newcomer = Newcomer(tmp_path / "day", programs=PROGRAMS)
    place = newcomer.repository
    failures = []
    with HostileServer(completion('{"score": 25}')) as server:
        prepare(place, monkeypatch, newcomer)
        saved = first_saved(newcomer, server)
        tried: set[str] = set()
        for case in CASES:
            monkeypatch.chdir(place / case.folder)
            words = words_of(case, saved)
            if case.path not in tried:
                tried.add(case.path)
                for line in lines_with(case, words):
                    ended = call(*line.words, "--json")
                    if ended.code == -1:
                        failures.append((line.words, ended.err[-300:]))
            ended = call(*words, "--json")
            for name, way in case.saves.items():
                with contextlib.suppress(LookupError, ValueError):
                    saved[name] = value_at(way, ended.json)
    assert failures == []
    home = Path(newcomer.environment["THEOREX_HOME"])
    assert files_with_secrets(home) == []
