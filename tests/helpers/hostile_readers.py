"""Functions that read as no reader should, called in the process that reads files."""

import os
import signal
import sys
import threading
from collections.abc import Iterator


def echo(content: bytes) -> str:
    return content.decode()


def echo_each(*words: str) -> Iterator[str]:
    yield from words


def hang(content: bytes) -> None:
    """Wait for what never comes."""
    threading.Event().wait()


def work_for_ever(content: bytes) -> None:
    while True:
        pass


def want_memory(content: bytes) -> int:
    return len(bytearray(1 << 31))


def give_much(content: bytes) -> str:
    return "x" * 2_000_000


def crash(content: bytes) -> None:
    signal.raise_signal(signal.SIGSEGV)


def leave(content: bytes) -> None:
    os._exit(3)


def stop(content: bytes) -> None:
    sys.exit("stopped")


def fail(content: bytes) -> None:
    raise RuntimeError("no such page")


def fail_late(*words: str) -> Iterator[str]:
    yield from words
    raise RuntimeError("no such page")


def hang_late(*words: str) -> Iterator[str]:
    for word in words:
        yield word * 200_000
    threading.Event().wait()
