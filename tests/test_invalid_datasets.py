"""Data files that are refused: other bytes than published, failed downloads, malformed content."""

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
from test_datasets import AUDIT, FAKE, LISTED, LOCOMO, TEXT, Server, archive, cache, own, server  # noqa: F401

from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.experiments.data import dataset_files, datasets
from theorex_lab.experiments.data.dataset_files import Content, members_of, read_files
from theorex_lab.experiments.data.parsing import conversations, fields, graphs, pairs, routing, runs, touches

PLAIN = f"/owner/repo/{FAKE.commit}/data/A%26B/plain%20text.txt"


@pytest.mark.parametrize("packed", [False, True])
def test_other_bytes_in_the_own_folder_name_file_expected_and_got(own: Path, packed: bool) -> None:  # noqa: F811
    path = own / ("plain.txt.gz" if packed else "plain.txt")
    (own / "plain.txt").unlink()
    path.write_bytes(gzip.compress(b"other") if packed else b"other")
    with pytest.raises(InvalidInput) as caught:
        read_files(FAKE)
    for part in (str(path), FAKE.files[0].sha256, hashlib.sha256(b"other").hexdigest(), "remove it"):
        assert part in str(caught.value)
    assert path.exists()


@pytest.mark.parametrize(
    "members",
    [{"a/1.json": b"[1]"}, {"a/1.json": b"[1]", "b/2.json": b"[3]"}, {"a/1.json": b"[1]", "c/2.json": b"[2]"}],
)
def test_an_archive_of_other_members_is_refused(own: Path, members: dict[str, bytes]) -> None:  # noqa: F811
    (own / "packed.tar.gz").write_bytes(archive(members, "w:gz"))
    with pytest.raises(InvalidInput, match=rf"packed\.tar\.gz.*members.*{FAKE.files[1].sha256}"):
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
    # Named: by their bytes they would be called after the second in which they were compressed.
    ids=["no gzip", "cut off", "overwritten", "no archive", "archive cut off"],
)
def test_damaged_files_are_named(own: Path, name: str, data: bytes) -> None:  # noqa: F811
    (own / "plain.txt").rename(own / "plain.txt.gz")
    (own / "plain.txt.gz").write_bytes(gzip.compress(TEXT))
    (own / name).write_bytes(data)
    with pytest.raises(InvalidInput, match=name):
        read_files(FAKE)


def refused_download(info: Any, cache: Path) -> str:  # noqa: F811
    """The message; nothing may have entered the cache."""
    with pytest.raises((StorageError, InvalidInput)) as caught:
        read_files(info)
    assert not [path for path in cache.rglob("*") if path.is_file()]
    return str(caught.value)


def test_address_not_found(server: Server, cache: Path) -> None:  # noqa: F811
    server.serve(PLAIN, b"", status=404)
    message = refused_download(server.info, cache)
    for part in (server.url + PLAIN, "404", "call again", "THEOREX_DATA", "fake/plain.txt"):
        assert part in message


def test_member_not_found(server: Server, cache: Path) -> None:  # noqa: F811
    info = replace(server.info, files=server.info.files[1:])
    server.serve(f"/owner/repo/{FAKE.commit}/data/runs/a/1.json", b"", status=503)
    assert f"{server.url}/owner/repo/{FAKE.commit}/data/runs/a/1.json" in refused_download(info, cache)


def test_truncated_download(server: Server, cache: Path) -> None:  # noqa: F811
    server.serve(PLAIN, TEXT[:1000], length=len(TEXT))
    assert server.url + PLAIN in refused_download(server.info, cache)


def test_wrong_bytes_from_the_net(server: Server, cache: Path) -> None:  # noqa: F811
    server.serve(PLAIN, b"<html>log in</html>")
    message = refused_download(server.info, cache)
    for part in (server.url + PLAIN, FAKE.files[0].sha256, hashlib.sha256(b"<html>log in</html>").hexdigest()):
        assert part in message


def test_wrong_member_from_the_net(server: Server, cache: Path) -> None:  # noqa: F811
    info = replace(server.info, files=server.info.files[1:])
    server.serve(f"/owner/repo/{FAKE.commit}/data/runs/b/2.json", b"[9]")
    message = refused_download(info, cache)
    assert f"{server.url}/owner/repo/{FAKE.commit}/data/runs/" in message
    assert hashlib.sha256(LISTED.encode()).hexdigest() in message


def test_offline_fails_at_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
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


def test_silent_server_is_given_up(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(dataset_files, "TIMEOUT_SECONDS", (0.1, 0.1))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        message = refused_download(replace(FAKE, base_url=f"http://127.0.0.1:{silent.getsockname()[1]}"), cache)
    assert "timed out" in message


def test_a_cache_that_cannot_be_written(server: Server, cache: Path) -> None:  # noqa: F811
    cache.write_text("a file where the folder should be")
    with pytest.raises(StorageError, match=r"cache.*cannot be written.*THEOREX_DATA"):
        read_files(server.info)


def test_derived_set_says_how_it_is_made(cache: Path) -> None:  # noqa: F811
    with pytest.raises(StorageError) as caught:
        datasets.fetch_git_touches_pfr()
    for part in (
        "https://github.com/teorth/pfr",
        "01c9b666945e",
        "git log --no-merges",
        "THEOREX_DATA",
        "touches.log.gz",
    ):
        assert part in str(caught.value)


def test_data_folder_that_does_not_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THEOREX_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match=r"THEOREX_DATA.*nowhere"):
        datasets.fetch_stsb()


def test_no_tar() -> None:
    with pytest.raises(InvalidInput, match="x.tar is no readable tar"):
        members_of(Content("x.tar", b"text"))


def test_changed_metadata_type_names_the_value_and_the_range() -> None:
    record = fields.Record("p", {"a": True, "b": float("nan"), "c": "²", "d": -1, "e": [1], "f": 9})
    for read, name, allowed in [
        (record.number, "a", "a finite number"),
        (record.number, "b", "a finite number"),
        (record.whole, "c", "a whole number"),
        (record.whole, "d", "a whole number"),
        (record.texts, "e", "a list of texts"),
        (record.text, "f", "a text"),
        (record.optional_text, "e", "a text or a number"),
        (record.flag, "f", "true or false"),
        (record.record, "e", "an object"),
        (record.records, "e", "an object"),
        (lambda name: record.whole(name, below=9), "f", "0 to 8"),
        (lambda name: record.choice(name, ("x", "y")), "f", "x or y"),
        (record.text, "missing", "'missing'"),
    ]:
        with pytest.raises(InvalidInput, match=rf"\Ap.*{allowed}"):
            read(name)


def read_locomo(text: bytes, audit: bytes = AUDIT) -> object:
    return conversations.locomo(
        {"locomo10.json": Content("p", text), "locomo_audit_errors.json": Content("audit", audit)}, "L"
    )


def read_theories(laws: bytes = b"x = x\nx = y", entries: bytes = b"[]", duals: bytes = b"[[1, 2]]") -> object:
    texts = {"equations.txt": laws, "full_entries.json": entries, "duals.json": duals}
    return graphs.equational_theories({name: Content("p", text) for name, text in texts.items()}, "L")


def read_scores(scores: bytes, queries: bytes = b'{"query": "q", "task_name": "t", "metric": "m"}') -> object:
    prices = b'{"a": {"size": "7B", "input_price": 1, "output_price": 2}}'
    texts = {"routing_train.json": scores, "routing_test.json": b"[]", "default_llm.json": prices}
    texts |= {"query_train.jsonl": queries, "query_test.jsonl": b""}
    return routing.llmrouter({name: Content("p", text) for name, text in texts.items()}, "L")


def read_reflexion(**trials: str) -> object:
    contents = {
        f"{name.split('_')[0]}_run_logs/env_results_trial_{name.split('_')[1]}.json": Content(
            f"p {name}", text.encode()
        )
        for name, text in trials.items()
    }
    return runs.reflexion(contents, "L")


def read_aider(text: bytes) -> object:
    return routing.aider({name: Content("p", text) for name in routing.BOARDS.values()})


def one(parse: Callable[..., object], text: bytes) -> Callable[[], object]:
    return lambda: parse(Content("p", text), "L")


TAU = b"""{"task_id": 0, "trial": 0, "reward": 1, "info": {"user_cost": null, "task": {"user_id": "u", "instruction": "i",
"actions": [], "outputs": []}}, "traj": [{"role": "assistant", "content": null, "tool_calls": [{"id": "1",
"function": {"name": "f", "arguments": "{}"}}]}]}"""
RUN = b"""{"question_ID": "", "question": "", "ground_truth": "", "level": "1", "system_prompt": {"A": "x"},
"history": [{"name": "A", "role": "user", "content": "c"}], "mistake_agent": "A", "mistake_step": "0", "mistake_reason": "r"}"""
MEETING = b"""{"meeting_transcripts": [{"speaker": "A", "content": "c"}], "general_query_list": [], "topic_list": [],
"specific_query_list": [{"query": "q", "answer": "a", "relevant_text_span": [["0", "0"]]}]}"""
TRIAL = '[{"name": "e", "memory": ["m"], "is_success": true}]'
FORGOT = '[{"name": "e", "memory": [], "is_success": true}]'

MALFORMED: dict[str, tuple[Callable[[], object], str]] = {
    "no UTF-8": (one(conversations.qmsum, b"ab\xff"), r"p, byte 2"),
    "no JSON line": (one(conversations.qmsum, MEETING.replace(b"\n", b"") + b"\n{"), r"p, line 2"),
    "nested too deep": (one(runs.taubench, b"[" * 100_000), r"p.*JSON"),
    "no list": (one(runs.taubench, b"{}"), r"p.*list of objects"),
    "no object": (one(runs.taubench, b"[[]]"), r"p, item 0.*an object"),
    "span out of the meeting": (
        one(conversations.qmsum, MEETING.replace(b'"0"]', b'"1"]').replace(b"\n", b"")),
        r"span.*\['0', '1'\]",
    ),
    "span not in pairs": (
        one(conversations.qmsum, MEETING.replace(b'["0", "0"]', b'["0"]').replace(b"\n", b"")),
        r"span.*0 to 0",
    ),
    "time of a session": (lambda: read_locomo(LOCOMO.replace(b"8 May", b"31 June")), r"session_1_date_time.*31 June"),
    "hour of a session": (lambda: read_locomo(LOCOMO.replace(b"1:56", b"13:56")), r"session_1_date_time"),
    "month of a session": (lambda: read_locomo(LOCOMO.replace(b"May", b"Mai")), r"session_1_date_time"),
    "category": (lambda: read_locomo(LOCOMO.replace(b'"category": 2', b'"category": 6')), r"item 0.*category.*1 to 5"),
    "turn id twice": (lambda: read_locomo(LOCOMO.replace(b"D2:1", b"D1:1")), r"item 0.*dia_id"),
    "audit of no question": (lambda: read_locomo(LOCOMO, AUDIT.replace(b"qa0", b"qa1")), r"audit, item 0: question_id"),
    "audit's odd name": (lambda: read_locomo(LOCOMO, AUDIT.replace(b"locomo_0", b"other_0")), r"audit, item 0"),
    "trial twice": (one(runs.taubench, b"[" + TAU + b"," + TAU + b"]"), r"item 1.*each trial once"),
    "arguments no JSON": (one(runs.taubench, b"[" + TAU.replace(b'"{}"', b'"{"') + b"]"), r"tool_calls, item 0.*JSON"),
    "arguments no object": (one(runs.taubench, b"[" + TAU.replace(b'"{}"', b'"7"') + b"]"), r"arguments.*an object"),
    "huge task number": (
        one(runs.taubench, b"[" + TAU.replace(b'task_id": 0', b'task_id": 999999999') + b"]"),
        r"task_id.*0 to 99999",
    ),
    "role": (one(runs.taubench, b"[" + TAU.replace(b'"assistant"', b'"robot"') + b"]"), r"role.*robot"),
    "step out of the run": (
        lambda: runs.whoandwhen({"1.json": Content("p:1.json", RUN.replace(b'"0"', b'"1"'))}, "L"),
        r"p:1.json: mistake_step.*0 to 0",
    ),
    "trial missing": (lambda: read_reflexion(base_0=TRIAL, reflexion_1=TRIAL), r"reflexion trials 0, 1"),
    "odd name of a trial": (
        lambda: runs.reflexion({"x.json": Content("p:x.json", b"[]")}, "L"),
        r"p:x.json.*env_results",
    ),
    "memory that shrinks": (
        lambda: read_reflexion(base_0=TRIAL, reflexion_0=TRIAL, reflexion_1=FORGOT),
        r"p reflexion_1, item 0: memory",
    ),
    "environments differ": (
        lambda: read_reflexion(base_0=TRIAL.replace('"e"', '"f"'), reflexion_0=TRIAL),
        r"p base_0.*environments",
    ),
    "score above 1": (lambda: read_scores(b'[{"question": "q", "scores": {"a": 1.5}}]'), r"item 0: scores: a.*1.5"),
    "model without price": (lambda: read_scores(b'[{"question": "q", "scores": {"b": 1}}]'), r"'b'"),
    "score missing": (
        lambda: read_scores(b'[{"question": "q", "scores": {"a": 1}}, {"question": "q", "scores": {}}]'),
        r"item 1: scores.*each of a",
    ),
    "query not described": (lambda: read_scores(b'[{"question": "z", "scores": {"a": 1}}]'), r"item 0: question.*'z'"),
    "similarity": (lambda: pairs.stsb(Content("p", b"a,b,5.5\n")), r"p, line 1: similarity.*0 to 5"),
    "similarity nan": (lambda: pairs.stsb(Content("p", b"a,b,nan\n")), r"similarity.*nan"),
    "cells": (lambda: pairs.stsb(Content("p", b"a,b,1\na,b\n")), r"p, line 2.*3 cells"),
    "open quote": (lambda: pairs.stsb(Content("p", b'"a,b,1\n')), r"p, line 1"),
    "header": (lambda: pairs.sick({"t": Content("p", b"a\tb\n")}), r"p, line 1.*pair_ID"),
    "empty table": (lambda: pairs.sick({"t": Content("p", b"")}), r"p.*header"),
    "label": (
        lambda: pairs.fever_symmetric(
            Content("p", b'{"id": "1", "claim": "c", "evidence": "e", "gold_label": "MAYBE"}')
        ),
        r"p, line 1: gold_label.*SUPPORTS or REFUTES",
    ),
    "no YAML": (lambda: read_aider(b"- a: [\n"), r"p.*YAML"),
    "YAML that runs code": (lambda: read_aider(b"- !!python/object/apply:os.getcwd []\n"), r"p.*YAML"),
    "YAML of another shape": (lambda: read_aider(b"a: 1\n"), r"p.*list of runs"),
    "date": (lambda: read_aider(b"- {model: m, date: soon}\n"), r"p, item 0: date.*'soon'"),
    "number as text": (
        lambda: read_aider(b"- {model: m, date: 2025-01-31, seconds_per_case: fast}\n"),
        r"seconds_per_case",
    ),
    "law's name": (
        lambda: read_theories(
            entries=b'[{"variant": {"implication": {"lhs": "Eq1", "rhs": "Equation2", "finite": false}}}]'
        ),
        r"p, item 0: variant: implication: lhs.*'Eq1'",
    ),
    "law 0": (
        lambda: read_theories(
            entries=b'[{"variant": {"facts": {"satisfied": ["Equation0"], "refuted": [], "finite": false}}}]'
        ),
        r"facts: satisfied.*Equation0",
    ),
    "dual of no law": (lambda: read_theories(duals=b"[[1, 2], [1, 3]]"), r"p, item 1.*1 to 2"),
    "duals of another shape": (lambda: read_theories(duals=b"7"), r"p, item 0.*two numbers"),
    "proof of nothing": (
        lambda: graphs.blueprint({"c": Content("p:c", rb"\begin{proof}x\end{proof}")}, "L"),
        r"p:c.*after what it proves",
    ),
    "label of two nodes": (
        lambda: graphs.blueprint({"c": Content("p:c", rb"\begin{lemma}\label{a}\end{lemma}" * 2)}, "L"),
        r"p:c: label.*'a'",
    ),
    "use of no label": (
        lambda: graphs.blueprint({"c": Content("p:c", rb"\begin{lemma}\uses{z}\end{lemma}")}, "L"),
        r"p:c: uses.*'z'",
    ),
    "statement without end": (one(graphs.metamath, b"x $p |- a $= ( ) A"), r"p.*\$\. at its end"),
    "comment without end": (one(graphs.metamath, b"$( x"), r"p.*\$\) at its end"),
    "scope without begin": (one(graphs.metamath, b"$} x"), r"p.*closes"),
    "scope without end": (one(graphs.metamath, b"${ ${"), r"p.*2 open"),
    "file before a commit": (one(touches.git_touches, b"A\tx\n"), r"p, line 1.*after the line of a commit"),
    "status": (one(touches.git_touches, b"\x01abc 1\n\nR\tx\n"), r"p, line 3"),
    "time of a commit": (one(touches.git_touches, b"\x01abc soon\n"), r"p, line 1.*unix seconds"),
    "late commit": (one(touches.git_touches, b"\x01abc 99999999999999\n"), r"p, line 1.*unix seconds"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_content_names_the_place(case: str) -> None:
    read, pattern = MALFORMED[case]
    with pytest.raises(InvalidInput, match=pattern):
        read()
