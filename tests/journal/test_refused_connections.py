"""A server that refuses a connection, whatever language it answers in."""

from __future__ import annotations

import multiprocessing
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from theorex_lab import Lab
from theorex_lab.core.errors import ServerAway, StorageError
from theorex_lab.core.settings import check_settings
from theorex_lab.journal.postgres.answering import _is_answer

SSL_REQUEST = 80877103
ASK_FOR_PASSWORD = b"R" + struct.pack("!ii", 8, 3)


def error_answer(code: str, severity: str, message: str) -> bytes:
    """Return what a server sends that refuses a connection."""
    fields = {"S": severity, "V": "FATAL", "C": code, "M": message}
    parts = [f"{letter}{text}\0".encode() for letter, text in fields.items()]
    content = b"".join(parts) + b"\0"
    return b"E" + struct.pack("!i", 4 + len(content)) + content


@contextmanager
def answering_server(answer: bytes) -> Iterator[str]:
    """Give the URL of a server that answers each connection so.

    It is a process: while libpq pings, no other thread runs.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = multiprocessing.get_context("fork").Process(
            target=_serve, args=(listening, answer)
        )
        serving.start()
        port = listening.getsockname()[1]
        try:
            yield f"postgresql://team@127.0.0.1:{port}/memory?connect_timeout=5"
        finally:
            serving.kill()
            serving.join()


def _serve(listening: socket.socket, answer: bytes) -> None:
    while True:
        connection, _ = listening.accept()
        with connection:
            _answer(connection, answer)


def _answer(connection: socket.socket, answer: bytes) -> None:
    """Answer what one client asks to begin with."""
    while True:
        head = connection.recv(8)
        if len(head) < 8:
            return
        length, number = struct.unpack("!ii", head)
        if number == SSL_REQUEST:
            connection.sendall(b"N")
            continue
        connection.recv(length - 8)
        connection.sendall(answer)
        connection.recv(1)  # until the client goes
        return


def error_at(url: str, home: Path) -> StorageError:
    """Return the error of a sync with a server."""
    with (
        Lab(home, settings=check_settings({"journalUrl": url})) as lab,
        pytest.raises(StorageError) as caught,
    ):
        lab.sync()
    return caught.value


REFUSALS = [
    ("28000", "FATAL", "Rolle »team« existiert nicht"),
    ("28P01", "ВАЖНО", "пользователь не прошёл проверку подлинности"),
    ("3D000", "致命错误", "数据库 memory 不存在"),
    ("3D000", "FATAL", 'database "memory" does not exist'),
]


@pytest.mark.parametrize(("code", "severity", "message"), REFUSALS)
def test_a_refusal_is_recognized_in_any_language(
    tmp_path: Path, code: str, severity: str, message: str
) -> None:
    with answering_server(error_answer(code, severity, message)) as url:
        error = error_at(url, tmp_path)
        with pytest.raises(psycopg.OperationalError) as caught:
            psycopg.connect(url)
    assert not isinstance(error, ServerAway)
    assert "refuses the connection" in str(error)
    assert message in str(error)
    assert _is_answer(caught.value)


STARTS = [
    ("57P03", "FATAL", "das Datenbanksystem startet"),
    ("57P03", "ВАЖНО", "система баз данных останавливается"),
    ("53300", "FATAL", "sorry, too many clients already"),
]


@pytest.mark.parametrize(("code", "severity", "message"), STARTS)
def test_a_server_that_takes_no_connection_yet_is_away(
    tmp_path: Path, code: str, severity: str, message: str
) -> None:
    with answering_server(error_answer(code, severity, message)) as url:
        assert isinstance(error_at(url, tmp_path), ServerAway)


def test_a_password_that_is_missing_is_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    with answering_server(ASK_FOR_PASSWORD) as url:
        error = error_at(url, tmp_path)
    assert "refuses the connection" in str(error)


def test_a_server_that_is_not_there_is_away(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    url = f"postgresql://team@127.0.0.1:{port}/memory"
    error = error_at(url, tmp_path)
    assert isinstance(error, ServerAway)
    assert "nothing in it was changed" in str(error)
    assert "nothing was written" not in str(error)
