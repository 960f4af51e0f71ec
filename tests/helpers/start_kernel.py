"""Start a kernel as a copy of another process: see `warm_kernels.py`."""

import json
import os
import signal
import socket
import sys
from pathlib import Path

_FIRST_LINE = 32  # bytes: a number of a process


def main() -> None:
    """Ask for a copy, and end with it; what it is sent is sent to the copy."""
    address, *options = sys.argv[1:]
    wanted = {
        "environment": dict(os.environ),
        "folder": str(Path.cwd()),
        "options": options,
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as kernel:
        kernel.connect(address)
        socket.send_fds(kernel, [json.dumps(wanted).encode()], [0, 1, 2])
        pid = int(kernel.recv(_FIRST_LINE))
        for sent in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sent, lambda number, _: os.kill(pid, number))
        while kernel.recv(1):
            pass


if __name__ == "__main__":
    main()
