"""Kernels that are copies of one process, which has imported what notebooks import.

    python tests/helpers/warm_kernels.py ADDRESS   # the process that is copied

A kernel and the first cell of a notebook import for some two seconds. A copy of a
process that has done so is a process of its own: with names, variables and a folder of
its own, and with what its notebook imports besides.

A kernel specification starts `start_kernel.py` in place of a kernel. It asks the process
for a copy, hands it its own output, passes signals on, and ends as the copy ends. Where
it is killed, the copy ends too.
"""

from __future__ import annotations

import builtins
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

STARTER = Path(__file__).with_name("start_kernel.py")
LONGEST_REQUEST = 1 << 20  # bytes: the variables, the folder, the options
# What most notebooks import, and what a kernel needs for its first picture.
# `matplotlib_inline` is none of it: it asks at its import for the shell that it serves.
_IMPORTED = (
    "ipykernel.ipkernel",
    "ipykernel.kernelapp",
    "ipykernel.zmqshell",
    "ipywidgets",
    "matplotlib.backends.backend_agg",
    "matplotlib.pyplot",
    "numpy",
    "pandas",
    "theorex_lab",
    "theorex_lab.eval.plots.axes",
)


@contextmanager
def warm_kernels(
    folder: Path, variables: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """Start the process that is copied; it ends with this, and so do its copies.

    Args:
        folder: An empty folder, for its address and its kernel specification.
        variables: Those that are read at the start of Python, and by what is imported.

    Yields:
        The variables by which Jupyter takes these kernels for `python3`.
    """
    address = folder / "kernels.sock"
    _specify(folder / "kernels" / "python3", address)
    process = subprocess.Popen(
        [sys.executable, __file__, str(address)],
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process:
        process.stdout.readline()  # it waits for who asks, or has failed
        try:
            yield {"JUPYTER_PATH": str(folder)}
        finally:
            process.terminate()


def _specify(folder: Path, address: Path) -> None:
    """Write the specification of a kernel that is a copy."""
    folder.mkdir(parents=True)
    start = [sys.executable, "-IS", str(STARTER), str(address)]
    specification = {
        "argv": [*start, "-f", "{connection_file}"],
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "metadata": {"debugger": True},
        "kernel_protocol_version": "5.5",
    }
    (folder / "kernel.json").write_text(json.dumps(specification), encoding="utf-8")


def _serve(address: str) -> None:
    """Import, and make a copy for each that asks, until this process is ended."""
    _import()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    copies: set[int] = set()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        try:
            while True:
                asking = listening.accept()[0]
                pid = os.fork()
                if pid == 0:
                    listening.close()
                    _become_kernel(asking)
                copies.add(pid)
                asking.close()
                copies -= _ended(copies, os.WNOHANG)
        finally:
            for pid in copies - _ended(copies, os.WNOHANG):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _import() -> None:
    # pandas asks at its import whether this is a kernel, and writes tables accordingly.
    vars(builtins)["get_ipython"] = lambda: SimpleNamespace(kernel=None)
    for name in _IMPORTED:
        import_module(name)
    del vars(builtins)["get_ipython"]
    # A search for garbage in a copy would copy the pages of all that is here.
    gc.collect()
    gc.freeze()


def _ended(copies: set[int], options: int) -> set[int]:
    """Return the copies that have ended; the system forgets them."""
    return {pid for pid in copies if os.waitpid(pid, options)[0]}


def _become_kernel(asking: socket.socket) -> NoReturn:
    """Be the kernel that was asked for, with the output of who asked."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    request, outputs, _, _ = socket.recv_fds(asking, LONGEST_REQUEST, 3)
    wanted = json.loads(request)
    for number, output in enumerate(outputs):
        os.dup2(output, number)
        os.close(output)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["folder"])
    asking.sendall(f"{os.getpid()}\n".encode())
    threading.Thread(target=_end_with, args=(asking,), daemon=True).start()
    from ipykernel.kernelapp import IPKernelApp

    parent = f"--IPKernelApp.parent_handle={os.getppid()}"
    kernel = IPKernelApp.instance()
    try:
        kernel.initialize([*wanted["options"], parent])
        _draw_as_shown()
        kernel.start()
    finally:
        sys.stdout.flush()
        os._exit(0)


def _draw_as_shown() -> None:
    """Draw a picture as it is shown, and not once before, which nobody would see."""
    import_module("matplotlib_inline.backend_inline")
    from matplotlib import pyplot

    pyplot.uninstall_repl_displayhook()


def _end_with(asking: socket.socket) -> None:
    """End this process once who asked for it is gone."""
    asking.recv(1)
    os._exit(1)


if __name__ == "__main__":
    _serve(sys.argv[1])
