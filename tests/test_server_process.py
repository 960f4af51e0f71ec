"""A server that runs as a child: told to end, nothing of it is left; Ctrl-C is its own affair."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals")
# Starts a server that starts a kernel in a session of its own; each says its number once it is ready.
RUNNER = """
import sys
from theorex_lab.cli.server_process import run_server
sys.exit(run_server([sys.executable, "-c", sys.argv[1]], stop_seconds=float(sys.argv[2])))
"""
SERVER = """
import os, signal, subprocess, sys, time
{server}
code = "import os, signal, time\\n{kernel}\\nprint(os.getpid(), flush=True)\\ntime.sleep(600)"
kernel = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
print(os.getpid(), flush=True)
time.sleep(600)
"""
IGNORES = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
OBEYS = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))"


def running(server: str, kernel: str, stop_seconds: float) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """The process that runs the server, and the server and its kernel."""
    command = [sys.executable, "-c", RUNNER, SERVER.format(server=server, kernel=kernel), str(stop_seconds)]
    runner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert runner.stdout is not None
    return runner, [psutil.Process(int(runner.stdout.readline())) for _ in range(2)]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(("server", "kernel"), [(OBEYS, OBEYS.replace("sys.exit", "os._exit")), (IGNORES, IGNORES)])
def test_told_to_end_it_leaves_nothing(name: str, server: str, kernel: str) -> None:
    obeys = server is OBEYS
    runner, started = running(server, kernel, 60 if obeys else 0.2)
    sign = getattr(signal, name)
    runner.send_signal(sign)
    assert runner.wait(30) == 128 + sign
    assert psutil.wait_procs(started, timeout=30)[1] == []
    runner.communicate()


def test_a_terminal_that_closes_tells_the_server_too_and_the_kernel_ends_all_the_same() -> None:
    runner, started = running("", "", 60)
    os.killpg(runner.pid, signal.SIGHUP)
    assert runner.wait(30) == 128 + signal.SIGHUP
    assert psutil.wait_procs(started, timeout=30)[1] == []
    runner.communicate()


def test_a_second_signal_waits_for_nothing() -> None:
    runner, started = running(IGNORES, IGNORES, 60)
    runner.send_signal(signal.SIGTERM)
    runner.send_signal(signal.SIGHUP)
    assert runner.wait(30) - 128 in (signal.SIGTERM, signal.SIGHUP)
    assert psutil.wait_procs(started, timeout=30)[1] == []
    runner.communicate()


def test_ctrl_c_reaches_the_server_which_may_go_on() -> None:
    runner, (one, other) = running("signal.signal(signal.SIGINT, lambda *_: print('asked', flush=True))", "", 60)
    os.killpg(runner.pid, signal.SIGINT)
    assert runner.stdout is not None
    assert runner.stdout.readline() == "asked\n"
    assert runner.poll() is None
    runner.terminate()
    assert runner.wait(30) == 128 + signal.SIGTERM
    assert psutil.wait_procs([one, other], timeout=30)[1] == []
    runner.communicate()


@pytest.mark.parametrize("code", [0, 3])
def test_the_servers_own_end_is_told(code: int) -> None:
    done = subprocess.run([sys.executable, "-c", RUNNER, f"raise SystemExit({code})", "60"], check=False)
    assert done.returncode == code


def test_a_server_that_cannot_be_started_is_an_error_and_the_signals_are_given_back(tmp_path: Path) -> None:
    from theorex_lab.cli.server_process import run_server

    before = [signal.getsignal(sign) for sign in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    with pytest.raises(FileNotFoundError):
        run_server([str(tmp_path / "nothing")])
    assert [signal.getsignal(sign) for sign in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before
