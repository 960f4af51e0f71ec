"""Data files that are refused: other bytes than published, failed downloads, malformed
content.
"""

from __future__ import annotations

import gzip
import hashlib
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_datasets import (
    FAKE,
    LISTED,
    TEXT,
    Server,
    archive,
    cache,  # noqa: F401 - a fixture
    own,  # noqa: F401 - a fixture
    server,  # noqa: F401 - a fixture
)

from theorex_lab import InvalidInput, StorageError
from theorex_lab.eval.datasets import dataset_files, parsing, recorded_runs
from theorex_lab.eval.datasets.dataset_files import FileContent, members_of, read_files

PLAIN = f"/owner/repo/{FAKE.commit}/data/A%26B/plain%20text.txt"


@pytest.mark.parametrize("packed", [False, True])
def test_other_bytes_in_the_own_folder_name_file_expected_and_got(
    own: Path, packed: bool
) -> None:
    path = own / ("plain.txt.gz" if packed else "plain.txt")
    (own / "plain.txt").unlink()
    path.write_bytes(gzip.compress(b"other") if packed else b"other")
    with pytest.raises(InvalidInput) as caught:
        read_files(FAKE)
    for part in (
        str(path),
        FAKE.files[0].sha256,
        hashlib.sha256(b"other").hexdigest(),
        "remove it",
    ):
        assert part in str(caught.value)
    assert path.exists()


@pytest.mark.parametrize(
    "members",
    [
        {"a/1.json": b"[1]"},
        {"a/1.json": b"[1]", "b/2.json": b"[3]"},
        {"a/1.json": b"[1]", "c/2.json": b"[2]"},
    ],
)
def test_an_archive_of_other_members_is_refused(
    own: Path, members: dict[str, bytes]
) -> None:
    (own / "packed.tar.gz").write_bytes(archive(members, "w:gz"))
    with pytest.raises(
        InvalidInput, match=rf"packed\.tar\.gz.*members.*{FAKE.files[1].sha256}"
    ):
        read_files(FAKE)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain.txt.gz", b"not gzip"),
        ("plain.txt.gz", gzip.compress(TEXT)[:-9]),
        ("plain.txt.gz", gzip.compress(TEXT)[:40] + b"\xff" * 30),
        ("packed.tar.gz", gzip.compress(b"no tar" * 200)),
        ("packed.tar.gz", gzip.compress(archive({"a/1.json": b"x" * 2000})[:1200])),
    ],
    # Named: by their bytes they would be called after the second in which they were
    # compressed.
    ids=["no gzip", "cut off", "overwritten", "no archive", "archive cut off"],
)
def test_damaged_files_are_named(own: Path, name: str, data: bytes) -> None:
    (own / "plain.txt").rename(own / "plain.txt.gz")
    (own / "plain.txt.gz").write_bytes(gzip.compress(TEXT))
    (own / name).write_bytes(data)
    with pytest.raises(InvalidInput, match=name):
        read_files(FAKE)


def refused_download(info: Any, cache: Path) -> str:
    """The message; nothing may have entered the cache but parts to go on with."""
    with pytest.raises((StorageError, InvalidInput)) as caught:
        read_files(info)
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert [path for path in files if not path.parent.name.endswith(".parts")] == []
    return str(caught.value)


def test_address_not_found(server: Server, cache: Path) -> None:
    server.serve(PLAIN, b"", status=404)
    message = refused_download(server.info, cache)
    for part in (
        server.url + PLAIN,
        "404",
        "call again",
        "THEOREX_DATA",
        "fake/plain.txt",
    ):
        assert part in message


def test_member_not_found(server: Server, cache: Path) -> None:
    info = replace(server.info, files=server.info.files[1:])
    server.serve(f"/owner/repo/{FAKE.commit}/data/runs/a/1.json", b"", status=503)
    assert (
        f"{server.url}/owner/repo/{FAKE.commit}/data/runs/a/1.json"
        in refused_download(info, cache)
    )


def test_truncated_download(server: Server, cache: Path) -> None:
    server.serve(PLAIN, TEXT[:1000], length=len(TEXT))
    assert server.url + PLAIN in refused_download(server.info, cache)


def test_wrong_bytes_from_the_net(server: Server, cache: Path) -> None:
    server.serve(PLAIN, b"<html>log in</html>")
    message = refused_download(server.info, cache)
    for part in (
        server.url + PLAIN,
        FAKE.files[0].sha256,
        hashlib.sha256(b"<html>log in</html>").hexdigest(),
    ):
        assert part in message


def test_wrong_member_from_the_net(server: Server, cache: Path) -> None:
    info = replace(server.info, files=server.info.files[1:])
    server.serve(f"/owner/repo/{FAKE.commit}/data/runs/b/2.json", b"[9]")
    message = refused_download(info, cache)
    assert f"{server.url}/owner/repo/{FAKE.commit}/data/runs/" in message
    assert hashlib.sha256(LISTED.encode()).hexdigest() in message
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_offline_fails_at_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as taken:  # bound but not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        info = replace(FAKE, base_url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        waits: list[float] = []
        monkeypatch.setattr(time, "sleep", waits.append)
        message = refused_download(info, cache)
    assert waits == [], "it is not tried again after a while"
    assert info.address(info.files[0]) in message
    assert "THEOREX_DATA" in message


def test_silent_server_is_given_up(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(dataset_files, "TIMEOUT_SECONDS", (0.1, 0.1))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        message = refused_download(
            replace(FAKE, base_url=f"http://127.0.0.1:{silent.getsockname()[1]}"), cache
        )
    assert "timed out" in message


def test_a_cache_that_cannot_be_written(server: Server, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(StorageError, match=r"cache.*cannot be written.*THEOREX_DATA"):
        read_files(server.info)


def test_data_folder_that_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("THEOREX_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match=r"THEOREX_DATA.*nowhere"):
        recorded_runs.fetch_whoandwhen()


def test_no_tar() -> None:
    with pytest.raises(InvalidInput, match="x.tar is no readable tar"):
        members_of(FileContent("x.tar", b"text"))


def read_scores(
    scores: bytes, queries: bytes = b'{"query": "q", "task_name": "t", "metric": "m"}'
) -> object:
    prices = b'{"a": {"size": "7B", "input_price": 1, "output_price": 2}}'
    texts = {
        "routing_train.json": scores,
        "routing_test.json": b"[]",
        "default_llm.json": prices,
    }
    texts |= {"query_train.jsonl": queries, "query_test.jsonl": b""}
    return parsing.llmrouter(
        {name: FileContent("p", text) for name, text in texts.items()}, "L"
    )


def read_answers(text: bytes) -> object:
    return parsing.routellm({}, {"mmlu_x.csv": FileContent("p", text)})


def read_reflexion(**trials: str) -> object:
    contents = {
        f"{name.split('_')[0]}_run_logs/env_results_trial_{name.split('_')[1]}.json": (
            FileContent(f"p {name}", text.encode())
        )
        for name, text in trials.items()
    }
    return parsing.reflexion(contents, "L")


def one(parse: Callable[..., object], text: bytes) -> Callable[[], object]:
    return lambda: parse(FileContent("p", text), "L")


TAU = b"""{"task_id": 0, "trial": 0, "reward": 1, "info": {"user_cost": null, "task": {"user_id": "u", "instruction": "i",
"actions": [], "outputs": []}}, "traj": [{"role": "assistant", "content": null, "tool_calls": [{"id": "1",
"function": {"name": "f", "arguments": "{}"}}]}]}"""
RUN = b"""{"question_ID": "", "question": "", "ground_truth": "", "level": "1", "system_prompt": {"A": "x"},
"history": [{"name": "A", "role": "user", "content": "c"}], "mistake_agent": "A", "mistake_step": "0", "mistake_reason": "r"}"""
TRIAL = '[{"name": "e", "memory": ["m"], "is_success": true}]'
FORGOT = '[{"name": "e", "memory": [], "is_success": true}]'

ANSWERS = f"prompt,{parsing.WEAK_MODEL},{parsing.STRONG_MODEL}\n".encode()

MALFORMED: dict[str, tuple[Callable[[], object], str]] = {
    "no UTF-8": (one(parsing.taubench, b'["ab\xff"]'), r"p.*JSON"),
    "nested too deep": (one(parsing.taubench, b"[" * 100_000), r"p.*JSON"),
    "no list": (
        one(parsing.taubench, b"{}"),
        r"p: got \{\}; Input should be a valid (?:list|tuple|array)",
    ),
    "no object": (
        one(parsing.taubench, b"[[]]"),
        r"p: 0: got \[\]; Input should be .*(?:object|dictionary)",
    ),
    "field missing": (
        one(parsing.taubench, b"[" + TAU.replace(b'"trial": 0,', b"") + b"]"),
        r"p: 0: trial.*required",
    ),
    "negative trial": (
        one(parsing.taubench, b"[" + TAU.replace(b'l": 0', b'l": -1') + b"]"),
        r"p: 0: trial: got -1",
    ),
    "reward no number": (
        one(parsing.taubench, b"[" + TAU.replace(b'd": 1', b'd": NaN') + b"]"),
        r"p: 0: reward: got nan",
    ),
    "trial twice": (
        one(parsing.taubench, b"[" + TAU + b"," + TAU + b"]"),
        r"p: got 'task 0, trial 0 again'",
    ),
    "arguments no JSON": (
        one(parsing.taubench, b"[" + TAU.replace(b'"{}"', b'"{"') + b"]"),
        r"traj.*JSON",
    ),
    "arguments no object": (
        one(parsing.taubench, b"[" + TAU.replace(b'"{}"', b'"7"') + b"]"),
        r"traj.*arguments",
    ),
    "huge task number": (
        one(
            parsing.taubench,
            b"[" + TAU.replace(b'task_id": 0', b'task_id": 999999999') + b"]",
        ),
        r"task_id.*less than 100000",
    ),
    "role": (
        one(parsing.taubench, b"[" + TAU.replace(b'"assistant"', b'"robot"') + b"]"),
        r"role.*robot",
    ),
    "step out of the run": (
        lambda: parsing.whoandwhen(
            {"1.json": FileContent("p:1.json", RUN.replace(b'"0"', b'"1"'))}, "L"
        ),
        r"p:1.json: mistake_step.*0 to 0",
    ),
    "trial missing": (
        lambda: read_reflexion(base_0=TRIAL, reflexion_1=TRIAL),
        r"reflexion trials 0, 1",
    ),
    "odd name of a trial": (
        lambda: parsing.reflexion({"x.json": FileContent("p:x.json", b"[]")}, "L"),
        r"p:x.json.*env_results",
    ),
    "memory that shrinks": (
        lambda: read_reflexion(base_0=TRIAL, reflexion_0=TRIAL, reflexion_1=FORGOT),
        r"p base_0: memory: got 0",
    ),
    "environments differ": (
        lambda: read_reflexion(base_0=TRIAL.replace('"e"', '"f"'), reflexion_0=TRIAL),
        r"p base_0.*environments",
    ),
    "score above 1": (
        lambda: read_scores(b'[{"question": "q", "scores": {"a": 1.5}}]'),
        r"p: 0: scores: a.*1.5",
    ),
    "model without price": (
        lambda: read_scores(b'[{"question": "q", "scores": {"b": 1}}]'),
        r"a price for b",
    ),
    "score missing": (
        lambda: read_scores(
            b'[{"question": "q", "scores": {"a": 1}}, {"question": "q", "scores": {}}]'
        ),
        r"p: 1: scores.*one of a each",
    ),
    "query not described": (
        lambda: read_scores(b'[{"question": "z", "scores": {"a": 1}}]'),
        r"p: 0: got 'z'",
    ),
    "no JSON line": (
        lambda: read_scores(
            b"[]", b'{"query": "q", "task_name": "t", "metric": "m"}\n\n{'
        ),
        r"p, line 3.*JSON",
    ),
    "header": (lambda: read_answers(b"prompt,other\n"), r"p.*the header prompt"),
    "header misnamed": (
        lambda: read_answers(ANSWERS.replace(b"prompt", b"text")),
        r"p.*the header prompt",
    ),
    "empty table": (lambda: read_answers(b""), r"p.*columns prompt"),
    "cells": (
        lambda: read_answers(ANSWERS + b"a,True,False\nb,True,False,1\n"),
        r"p.*columns prompt",
    ),
    "answer": (lambda: read_answers(ANSWERS + b"a,True,maybe\n"), r"p.*columns prompt"),
    "answer missing": (
        lambda: read_answers(ANSWERS + b"a,True\n"),
        r"p.*columns prompt",
    ),
    "open quote": (
        lambda: read_answers(ANSWERS + b'"a,True,False\n'),
        r"p.*columns prompt",
    ),
    "table no UTF-8": (
        lambda: read_answers(ANSWERS + b"\xff,True,False\n"),
        r"p.*columns prompt",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_content_names_the_place(case: str) -> None:
    read, pattern = MALFORMED[case]
    with pytest.raises(InvalidInput, match=pattern):
        read()
