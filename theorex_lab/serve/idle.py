"""What a server does while nobody asks it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from theorex_lab.lab import Lab

called = threading.Event()  # a tool, since `embedding` looked last
_SECONDS = 2.0


@contextmanager
def embedding(lab: Lab) -> Iterator[None]:
    """Meanwhile compute the vectors that texts wait for, whenever no tool was called for some seconds."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(_SECONDS):
            if not called.is_set():
                lab.searcher.vectors.embed_some(_SECONDS)
            called.clear()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_SECONDS)
