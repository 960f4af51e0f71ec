"""What we start runs nothing of the folder in which the user stands, and one module
starts it.
"""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import theorex_lab
from theorex_lab.app import hook
from theorex_lab.core import processes
from theorex_lab.files.ingest.text import read_document
from theorex_lab.files.isolated.process import ReaderProcess

pytestmark = pytest.mark.fresh_readers

PACKAGE = Path(theorex_lab.__file__).parent
STARTER = "core/processes.py"
MODULES = (
    "bs4",
    "docutils",
    "pypdf",
    "token",
    "json",
    "resource",
    "jupyterlab",
    "jupyter_core",
    "jupyter_server_config",
    "sitecustomize",
    "usercustomize",
    "multiprocessing",
    "traitlets",
)
PACKAGES = ("theorex_lab", "encodings", "click")
# An empty value is as none; an empty or relative entry is the folder in which a process
# is started.
MODULE_FOLDERS = (None, "", os.pathsep, ".", f".{os.pathsep}docs{os.pathsep}")


# Starting in one place


FORBIDDEN_MODULES = {
    "subprocess",
    "multiprocessing",
    "pty",
    "pexpect",
    "webbrowser",
    "runpy",
    "popen2",
    "_posixsubprocess",
}
FORBIDDEN_NAMES = {
    "ProcessPoolExecutor",
    "create_subprocess_exec",
    "create_subprocess_shell",
    "subprocess_exec",
    "subprocess_shell",
}


# A module without one of these words has nothing that `starts` finds. Reading a module as
# a tree costs a hundred times as much as looking for words.
SIGNS = re.compile(
    "|".join([*FORBIDDEN_MODULES, *FORBIDDEN_NAMES])
    + r"|\b(?:os|posix|nt)\b|executable|\.which\b|import\b.*\bwhich\b|^ +which,"
    + r"|\b(?:sys|shutil)\b",
    re.MULTILINE,
)


def starts(source: str) -> list[str]:
    """What in a module starts a process, or names the interpreter."""
    if not SIGNS.search(source):
        return []
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [
                each.name
                for each in node.names
                if each.name.partition(".")[0] in FORBIDDEN_MODULES
            ]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.partition(".")[0] in FORBIDDEN_MODULES:
                found.append(module)
            found += [
                f"{module}.{each.name}"
                for each in node.names
                if is_forbidden(module, each.name)
            ]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if is_forbidden(node.value.id, node.attr):
                found.append(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_NAMES:
            found.append(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = (
                node.args[0]
                if node.func.id in ("__import__", "import_module") and node.args
                else None
            )
            if isinstance(named, ast.Constant) and named.value in FORBIDDEN_MODULES:
                found.append(str(named.value))
    return found


def is_forbidden(module: str, name: str) -> bool:
    starting = name.startswith(
        ("exec", "spawn", "posix_spawn", "popen", "fork")
    ) or name in ("system", "startfile")
    return (
        (module in ("os", "posix", "nt") and starting)
        or (module, name)
        in {("sys", "executable"), ("sys", "_base_executable"), ("shutil", "which")}
        or name in FORBIDDEN_NAMES
        or name in FORBIDDEN_MODULES
    )


def test_nothing_but_one_module_starts_a_process_or_names_the_interpreter() -> None:
    starting = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        found = starts(file.read_text(encoding="utf-8"))
        if found:
            starting[file.relative_to(PACKAGE).as_posix()] = found
    # Whether the commands in an agent's settings can be found is looked up, and nothing
    # is run.
    assert starting.pop("app/cli/doctor.py", []) in ([], ["shutil.which"])
    assert list(starting) == [STARTER]


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess as s",
        "from subprocess import run",
        "import os; os.execv('x', [])",
        "from os import spawnl",
        "import os\nos.system('x')",
        "from os import popen",
        "import multiprocessing.pool",
        "import sys; sys.executable",
        "from sys import executable",
        "from concurrent.futures import ProcessPoolExecutor",
        "__import__('subprocess')",
        "import concurrent.futures\nconcurrent.futures.ProcessPoolExecutor()",
        "import os; os.posix_spawn",
        "import asyncio\nasyncio.create_subprocess_exec",
        "from concurrent.futures.process import multiprocessing",
    ],
)
def test_each_way_to_start_a_process_is_noticed(code: str) -> None:
    assert starts(code)


# What lies in the user's folder


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder whose modules and packages leave a file behind when they are imported."""
    folder = tmp_path / "checkout"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "a.html").write_text("<h1>Lamps</h1><p>The lamp is green.</p>")
    planted = f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__ + chr(10))\n"
    for name in MODULES:
        (folder / f"{name}.py").write_text(planted)
    for name in PACKAGES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(planted)
    return folder


def ran(trap: Path) -> str:
    file = trap.parent / "ran"
    return file.read_text() if file.exists() else ""


def set_path(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", value)


@pytest.mark.parametrize("module_folders", MODULE_FOLDERS)
def test_a_file_is_read_apart_with_nothing_of_the_folder(
    trap: Path, monkeypatch: pytest.MonkeyPatch, module_folders: str | None
) -> None:
    monkeypatch.chdir(trap)
    set_path(monkeypatch, module_folders)
    monkeypatch.setenv("PYTHONSTARTUP", str(trap / "json.py"))
    monkeypatch.setenv("PYTHONINSPECT", "1")
    with ReaderProcess() as process:
        blocks = process.call(
            read_document,
            "a.html",
            "a.html",
            content=b"<h1>Lamps</h1><p>It is green.</p>",
        )
    assert "It is green." in str(blocks)
    assert ran(trap) == ""


def environment(**more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON")
    }
    return {**kept, **more}


def theorex(
    trap: Path, *words: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """The installed command, which has no folder of the user's on its path, as a user
    starts it in the folder.
    """
    code = "import sys; from theorex_lab.app.cli import main; main()"
    command = [
        sys.executable,
        "-P",
        "-c",
        code,
        "--home",
        str(trap.parent / "home"),
        *words,
    ]
    return subprocess.run(
        command,
        cwd=trap,
        capture_output=True,
        text=True,
        check=False,
        env=environment(**variables),
    )


def test_ingest_runs_nothing_of_the_folder(trap: Path) -> None:
    done = theorex(trap, "ingest", "docs", "--json")
    assert (done.returncode, json.loads(done.stdout)["new"]) == (0, 1)
    assert ran(trap) == ""


@pytest.mark.parametrize("module_folders", [os.pathsep, "."])
def test_ingest_runs_nothing_of_the_folder_by_an_entry_that_means_it(
    trap: Path, module_folders: str
) -> None:
    for path in sorted(
        trap.iterdir()
    ):  # what the user's own interpreter loads, it loads before we are asked
        if path.stem not in ("bs4", "docutils", "pypdf", "resource", "docs"):
            path.rename(trap.parent / path.name)
    done = theorex(trap, "ingest", "docs", "--json", PYTHONPATH=module_folders)
    assert (done.returncode, json.loads(done.stdout)["new"]) == (0, 1)
    assert ran(trap) == ""


def test_the_server_of_notebooks_is_started_with_nothing_of_the_folder_or_of_the_notebooks(
    trap: Path,
) -> None:
    (trap / "jupyter_lab_config.py").write_text((trap / "json.py").read_text())
    done = theorex(trap, "lab", "--folder", ".", "--json", "--", "--version")
    said, version = done.stdout.splitlines()
    assert version[0].isdecimal(), done.stderr
    assert json.loads(said)["folder"] == str(trap.resolve())
    done = theorex(trap, "lab", "--folder", ".", "--", "--show-config-json")
    assert str(trap.resolve()) in done.stdout, done.stderr
    assert ran(trap) == ""


def test_what_the_server_gets(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    monkeypatch.chdir(trap)
    monkeypatch.setenv("PYTHONPATH", f".{os.pathsep}{os.pathsep}{trap / 'docs'}")
    monkeypatch.setenv("PYTHONINSPECT", "1")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setattr(os, "execve", lambda *given: begun.append((Path.cwd(), *given)))
    processes.become_python(processes.python_command("jupyterlab", "x"))
    ((place, program, command, variables),) = begun
    assert place == Path(place.anchor)
    assert program == sys.executable
    assert command == [sys.executable, "-m", "jupyterlab", "x"]
    assert variables["PYTHONPATH"] == str(trap / "docs")
    assert not {"PYTHONINSPECT", "PYTHONSAFEPATH"} & variables.keys(), (
        "kernels find modules as any Python does"
    )


@pytest.mark.parametrize("module_folders", MODULE_FOLDERS)
def test_what_a_hook_starts_in_the_background_runs_nothing_of_the_folder_nor_of_the_home(
    trap: Path, monkeypatch: pytest.MonkeyPatch, module_folders: str | None
) -> None:
    monkeypatch.chdir(trap)
    set_path(monkeypatch, module_folders)
    begun: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*command: Any, **options: Any) -> subprocess.Popen[bytes]:
        begun.append(popen(*command, **options))
        return begun[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    hook.start_flush(
        str(trap), "main", "s"
    )  # the home itself is the folder with the modules
    assert begun.pop().wait(120) == 0, (trap / "hook.log").read_text()
    assert "Error" not in (trap / "hook.log").read_text()
    assert ran(trap) == ""


# Variables and programs


def test_a_python_of_ours_gets_no_variable_that_names_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith("PYTHON"):
            monkeypatch.delenv(name)
    own = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONUSERBASE": str(tmp_path)}
    others = {
        "PYTHONSTARTUP": "x.py",
        "PYTHONINSPECT": "1",
        "PYTHONBREAKPOINT": "x.y",
        "PYTHONWARNINGS": "error::x.Y",
        "PYTHONHOME": "here",
        "PYTHONPYCACHEPREFIX": "cache",
        "PYTHONEXECUTABLE": "x",
        "PYTHONPLATLIBDIR": "x",
    }
    for name, value in {**own, **others}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", str(tmp_path), "bin"]))
    variables = processes.python_variables(MORE="1")
    python = {
        name: value for name, value in variables.items() if name.startswith("PYTHON")
    }
    assert python == {**own, "PYTHONSAFEPATH": "1"}
    assert (variables["PATH"], variables["MORE"]) == (str(tmp_path), "1")


@pytest.mark.parametrize("entry", ["{root}", "."])
def test_a_package_that_was_found_by_a_variable_is_found_by_what_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    monkeypatch.chdir(PACKAGE.parent)
    monkeypatch.setenv("PYTHONPATH", entry.format(root=PACKAGE.parent))
    assert processes.python_variables()["PYTHONPATH"] == str(PACKAGE.parent)


def test_a_package_that_only_its_own_folder_leads_to_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    elsewhere = [
        folder
        for folder in sys.path
        if Path(folder or ".").resolve() != PACKAGE.parent.resolve()
    ]
    monkeypatch.setattr(sys, "path", [str(PACKAGE.parent), *elsewhere])
    assert processes.python_variables()["PYTHONPATH"] == str(PACKAGE.parent)


def test_a_program_is_not_found_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "lamp").write_text("#!/bin/sh\n")
        (tmp_path / folder / "lamp").chmod(0o755)
    monkeypatch.chdir(tmp_path / "here")
    for entries in ([".", ""], ["", "../here"], []):
        monkeypatch.setenv("PATH", os.pathsep.join(entries))
        assert processes.find_program("lamp") is None
    monkeypatch.setenv("PATH", os.pathsep.join([".", str(tmp_path / "there")]))
    assert processes.find_program("lamp") == str(tmp_path / "there" / "lamp")
    (tmp_path / "there" / "lamp").chmod(0o644)
    assert processes.find_program("lamp") is None


def test_a_program_is_named_whole_and_ends_within_its_time() -> None:
    with pytest.raises(ValueError, match="allowed is an absolute path"):
        processes.run_program("git", [], variables={})
    with pytest.raises(processes.ProgramTimeout, match=r"longer than 0.2 seconds"):
        processes.run_program(
            sys.executable, ["-c", "while True: pass"], variables={}, seconds=0.2
        )
    ended = processes.run_program(
        sys.executable, ["-c", "import os; print(os.getcwd())"], variables={}
    )
    assert (ended.code, ended.output.decode().strip()) == (0, processes.root_folder())


def test_workers_do_not_look_for_modules_in_the_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with processes.worker_pool(1) as pool:
        assert pool.submit(os.getenv, "PYTHONSAFEPATH").result() == "1"
    assert "PYTHONSAFEPATH" not in os.environ


def _is_ended_by_sigterm() -> bool:
    return signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_worker_ends_when_it_is_asked_to_whatever_its_parent_does() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with processes.worker_pool(1) as pool:
            assert pool.submit(_is_ended_by_sigterm).result()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
