"""Kernels that are copies of one process: each has a state, folder and end of its own."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from notebook_outputs import environment

CODE = """
import builtins, os, sys
print(os.getcwd(), os.environ["HOME"], os.environ["MARK"])
print(hasattr(builtins, "mark"), "module_of_a_copy" in sys.modules)
builtins.mark = sys.modules["module_of_a_copy"] = True
print(os.getpid())
"""


@pytest.fixture
def started(
    kernels: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> NotebookClient:
    """Give what runs the code in a copy that is yet to be asked for."""
    for name, value in kernels.items():
        monkeypatch.setenv(name, value)
    return NotebookClient(
        new_notebook(cells=[new_code_cell(CODE)]),
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )


def printed(client: NotebookClient) -> list[str]:
    """Return the lines that the cell prints in the kernel that runs."""
    cell: Any = client.execute_cell(client.nb.cells[0], 0)
    return "".join(output.text for output in cell.outputs).splitlines()


@pytest.mark.parametrize("mark", ["first", "second"])
def test_a_copy_has_its_own_folder_variables_and_state(
    started: NotebookClient, tmp_path: Path, mark: str
) -> None:
    variables = environment(tmp_path) | {"MARK": mark}
    with started.setup_kernel(env=variables):
        where, state, _ = printed(started)
    assert where == f"{tmp_path} {tmp_path} {mark}"
    assert state == "False False"


def test_a_copy_ends_once_the_program_that_asked_for_it_is_killed(
    started: NotebookClient, tmp_path: Path
) -> None:
    variables = environment(tmp_path) | {"MARK": "killed"}
    with started.setup_kernel(env=variables):
        pid = int(printed(started)[-1])
        starter: Any = started.km.provisioner
        assert pid != starter.pid, "the starter is no kernel"
        copy = os.pidfd_open(pid)
        os.kill(starter.pid, signal.SIGKILL)
        assert ended_within_a_minute(copy)


def ended_within_a_minute(process: int) -> bool:
    """Return whether a process ends, whose descriptor is read once it has."""
    with os.fdopen(process, "rb", buffering=0) as watched:
        return bool(select.select([watched], [], [], 60)[0])
