"""Workers of Dask that are copies of one process, which has imported Dask already.

A worker that starts an interpreter imports for over a second before its first call, and
so does each that follows a killed one. A worker that is forked is killed, reported and
replaced in the same way. It has the variables of the process that it is a copy of, and
those that the cluster gives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import forkserver
from typing import Any

import pytest

_METHOD = "distributed.worker.multiprocessing-method"
# What each worker would import before its first call. `theorex_lab.eval` alone imports
# nothing before it is used.
_IMPORTED = [
    "distributed",
    "theorex_lab.eval.metrics.access",
    "theorex_lab.eval.metrics.compare",
    "theorex_lab.eval.replay.needs",
]


def forked_workers() -> AbstractContextManager[Any]:
    """Let the workers of local clusters be forked."""
    dask: Any = pytest.importorskip("dask")
    method: AbstractContextManager[Any] = dask.config.set({_METHOD: "forkserver"})
    return method


@contextmanager
def fork_server() -> Iterator[None]:
    """Start the process that forks workers; it runs nothing else, and ends with this."""
    utils: Any = pytest.importorskip("distributed.utils")
    server: Any = vars(forkserver)["_forkserver"]
    # One that runs already has imported something else.
    server._stop()
    with forked_workers():
        # Dask sets a list of its own at the first call in a process, and none later.
        utils.get_mp_context().set_forkserver_preload(_IMPORTED)
    forkserver.ensure_running()
    try:
        yield
    finally:
        # Python stops it at the end alone: a test after this may count processes.
        server._stop()
