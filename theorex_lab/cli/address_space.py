"""A limit of address space (`ulimit -v`): the library under numpy ends the process where it finds no room, so it is asked before."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_NUMPY_BYTES = (
    160 << 20
)  # measured with one thread: 88 MiB, and 32 more at the first product of matrices, with tables beside it
_STATM = Path("/proc/self/statm")


class _Numpy:
    """Stands first where modules are looked for, finds none, and raises MemoryError where numpy would have no room."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes

    def find_spec(self, name: str, *_: object) -> None:
        """As the import system has it."""
        if name == "numpy" and self._limit_bytes - _used_bytes() < _NUMPY_BYTES:
            raise MemoryError(f"numpy needs {_NUMPY_BYTES} bytes of address space")


def mind_limit() -> None:
    """Under a memory limit, use one thread for numpy and tokenizers; without enough room, no numpy."""
    try:
        import resource
    except ImportError:  # Windows knows no such limit
        return
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit_bytes == resource.RLIM_INFINITY or not _STATM.exists():
        return
    for name in ("OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    sys.meta_path.insert(0, _Numpy(limit_bytes))


def _used_bytes() -> int:
    return int(_STATM.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
