"""The page docs/first-day.md: its commands, and the folder in which they run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from doc_references import ROOT

PAGE = ROOT / "docs" / "first-day.md"
ELLIPSIS = "…"
_BLOCK = re.compile(r"^(`{3,})(console|python)\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
_JANUARY = 1_767_225_600  # 1 January 2026, in seconds
_DAY = 86_400
_N_COMMITS = 90

# Plugins of what this repository is developed with, which take longer to import than
# what a page tests.
_WITHOUT_PLUGINS = "-p no:langsmith_plugin -p no:schemathesis -p no:hypothesispytest"

Row = dict[str, Any]


class Step(NamedTuple):
    """A command of the page.

    Attributes:
        heading: The heading that it stands under.
        language: Of the block: "console" or "python".
        command: The command line, or the Python program.
        shown: What the page says that it prints.
    """

    heading: str
    language: str
    command: str
    shown: str


def steps_of(page: str) -> list[Step]:
    """Return the commands of a page in their order, each with what it prints."""
    steps: list[Step] = []
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        heading = part.partition("\n")[0]
        for _, language, block in _BLOCK.findall(part):
            steps += _steps_of_block(heading, language, block)
    return steps


def _steps_of_block(heading: str, language: str, block: str) -> list[Step]:
    """Return the commands of a block.

    A block of Python is one program. What it prints stands in the next block, which is
    read with the program: the lines below a line `# prints:`, each a comment.
    """
    if language == "python":
        program, _, printed = block.partition("# prints:\n")
        shown = "".join(
            f"{line.removeprefix('#').removeprefix(' ')}\n"
            for line in printed.splitlines()
        )
        return [Step(heading, language, program, shown)]
    steps = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        n_lines = 1
        while lines[n_lines - 1].endswith("\\\n"):
            n_lines += 1
        command = "".join(lines[:n_lines]).rstrip("\n")
        steps.append(Step(heading, language, command, "".join(lines[n_lines:])))
    return steps


def matches(shown: str, printed: str) -> bool:
    """Return whether what is printed is what the page shows.

    An ellipsis within a line stands for anything in that line. A line that is nothing
    but an ellipsis stands for any number of lines. Spaces at the end of a line count
    for nothing.

    >>> matches("a … c\\n", "a b c\\n"), matches("a\\n…\\nd\\n", "a\\nb\\nc\\nd\\n")
    (True, True)
    >>> matches("a\\n", "a\\nb\\n")
    False
    """
    pattern = ""
    for line in shown.splitlines():
        if line.strip() == ELLIPSIS:
            pattern += r"(?:[^\n]*\n)*?"
            continue
        parts = [re.escape(part) for part in line.rstrip().split(ELLIPSIS)]
        pattern += r"[^\n]*?".join(parts) + r"\n"
    stripped = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    return re.fullmatch(pattern, stripped) is not None


class Newcomer:
    """A person on the first day: a home folder, a small repository, own transcripts."""

    def __init__(self, folder: Path, *, programs: Path) -> None:
        """Make the folders.

        Args:
            folder: An empty folder.
            programs: The folder of the program `theorex`.
        """
        self.programs = programs
        self.user_home = folder / "home"
        self.transcripts = self.user_home / ".claude" / "projects"
        self.repository = folder / "shop"
        self.user_home.mkdir()
        self.environment = {
            "HOME": str(self.user_home),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "THEOREX_HOME": str(self.user_home / ".theorex"),
            "TMPDIR": str(folder),
            "LANG": "C.UTF-8",
            "COLUMNS": "80",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "SHELL": "/bin/bash",
            # Who installs this package to use it has none of these.
            "PYTEST_ADDOPTS": _WITHOUT_PLUGINS,
        }
        make_repository(self.repository, environment=self.environment)
        self._write_documents()
        self._write_transcripts()

    def run(self, step: Step) -> subprocess.CompletedProcess[str]:
        """Run a step of the page; what it prints and its errors are one text."""
        if step.language == "python":
            return self._ended([f"{self.programs}/python", "-c", step.command])
        return self.shell(step.command)

    def shell(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command line in the repository."""
        return self._ended(["bash", "--norc", "-c", command])

    def _ended(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments,
            cwd=self.repository,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def _write_documents(self) -> None:
        docs = self.repository / "docs"
        docs.mkdir()
        (docs / "till.md").write_text(
            "# The till\n\n## Closing\n\nThe till closes at nine. The day's takings are"
            " counted twice.\n\n## Refunds\n\nA refund needs the receipt number.\n",
            encoding="utf-8",
        )
        (docs / "stock.md").write_text(
            "# The stock\n\nShelves are counted on Monday, before the shop opens.\n",
            encoding="utf-8",
        )

    def _write_transcripts(self) -> None:
        for number in range(len(_SESSIONS)):
            self.write_session(number, self.transcripts / "shop")

    def write_session(self, number: int, folder: Path) -> None:
        """Write the transcript of a session; after the eighth they begin anew."""
        messages = _SESSIONS[number % len(_SESSIONS)]
        rows = _transcript(number, messages, str(self.repository))
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{_session_id(number)}.jsonl").write_text(text, encoding="utf-8")


def make_repository(folder: Path, *, environment: Mapping[str, str]) -> None:
    """Make a repository of ninety commits in ninety days, in one call of git.

    Args:
        folder: Where; it is made.
        environment: The variables that git is given.
    """

    def git(*words: str, stream: str = "") -> None:
        subprocess.run(
            ["git", *words],
            cwd=folder,
            env=environment,
            input=stream,
            check=True,
            capture_output=True,
            text=True,
        )

    folder.mkdir()
    git("init", "-q", "-b", "main")
    git("fast-import", "--quiet", stream="".join(map(_commit, range(_N_COMMITS))))
    git("reset", "-q", "--hard", "main")


def _commit(number: int) -> str:
    """Return a commit as `git fast-import` reads it."""
    seconds = _JANUARY + number * _DAY
    message = f"Change {number}"
    lines = [
        "commit refs/heads/main",
        f"committer Ann <ann@example.org> {seconds} +0000",
        f"data {len(message)}",
        message,
    ]
    for path in _changed_files(number):
        content = f"# change {number}\n" * 5
        lines += [f"M 100644 inline {path}", f"data {len(content)}", content]
    return "\n".join(lines) + "\n\n"


def _changed_files(number: int) -> list[str]:
    """Return the files that a commit changes.

    The work goes from the till to the stock and back, ten commits at a time.
    """
    if number // 10 % 2 == 0:
        paths = ["till/prices.py"]
        if number % 3:
            paths.append("till/receipts.py")
        if number % 4 == 0:
            paths.append("till/refunds.py")
    else:
        paths = ["stock/shelves.py"]
        if number % 3 == 0:
            paths.append("stock/orders.py")
    if number % 9 == 0:
        paths.append("README.md")
    if number % 7 == 0:
        paths.append(f"notes/day{number}.md")
    return paths


# What was said and done in each session: the person's request, a command with its
# result and whether it failed, the file that was changed, and the agent's last words.
_SESSIONS = (
    (
        "Always keep prices as integer cents. Round the price of a basket.",
        ("pytest till -q", "12 passed", False),
        "till/prices.py",
        "I rounded the price of a basket in `till/prices.py` to whole cents.",
    ),
    (
        "Always keep prices as integer cents. Print the tax on the receipt.",
        ("make receipts", "make: *** No rule to make target 'receipts'", True),
        "till/receipts.py",
        "I print the tax on the receipt in `till/receipts.py`.",
    ),
    (
        "Let the stock page show what is nearly sold out.",
        ("pytest stock -q", "7 passed", False),
        "stock/shelves.py",
        "The stock page shows shelves with fewer than five pieces.",
    ),
    (
        "Refuse a basket without prices.",
        ("pytest till -q", "14 passed", False),
        "till/prices.py",
        "A basket without prices is refused in `till/prices.py`.",
    ),
    (
        "Number the receipts without gaps.",
        ("pytest till -q", "15 passed", False),
        "till/receipts.py",
        "Receipts are numbered without gaps, also after a refund.",
    ),
    (
        "Count a shelf twice when it holds glass.",
        ("pytest stock -q", "9 passed", False),
        "stock/shelves.py",
        "Shelves that hold glass are counted twice.",
    ),
    (
        "Show the tax of a basket before it is paid.",
        ("pytest till -q", "16 passed", False),
        "till/prices.py",
        "The basket shows its tax before it is paid.",
    ),
    (
        "Send the receipt by mail.",
        ("pytest till -q", "17 passed", False),
        "till/receipts.py",
        "Receipts go out by mail; printing them still works.",
    ),
)


def _session_id(number: int) -> str:
    return f"5f0c7a10-0000-4000-8000-{number + 1:012d}"


def _transcript(
    number: int,
    messages: tuple[str, tuple[str, str, bool], str, str],
    folder: str,
) -> list[Row]:
    """Return a session as Claude Code writes it."""
    request, (command, result, failed), path, last_words = messages
    edit = {"file_path": f"{folder}/{path}", "old_string": "a", "new_string": "b"}
    contents: list[tuple[str, object]] = [
        ("user", request),
        ("assistant", [_call("t1", "Edit", edit)]),
        ("user", [_result("t1", "The file has been updated.", failed=False)]),
        ("assistant", [_call("t2", "Bash", {"command": command})]),
        ("user", [_result("t2", result, failed=failed)]),
        ("assistant", [{"type": "text", "text": last_words}]),
    ]
    rows = []
    for second, (role, content) in enumerate(contents):
        message: Row = {"role": role, "content": content}
        if role == "assistant":
            is_last = second == len(contents) - 1
            message["stop_reason"] = "end_turn" if is_last else "tool_use"
        rows.append(
            {
                "type": role,
                "uuid": f"u{number}-{second}",
                "sessionId": _session_id(number),
                "timestamp": f"2026-04-{10 + number}T09:00:{second:02d}.000Z",
                "cwd": folder,
                "version": "2.1.0",
                "isSidechain": False,
                "message": message,
            }
        )
    return rows


def _call(tool_id: str, name: str, arguments: Row) -> Row:
    return {"type": "tool_use", "id": tool_id, "name": name, "input": arguments}


def _result(tool_id: str, content: str, *, failed: bool) -> Row:
    return {
        "type": "tool_result",
        "tool_use_id": tool_id,
        "content": content,
        "is_error": failed,
    }


def _show_differences() -> None:
    """Print what each command of the page prints where the page shows something else."""
    with tempfile.TemporaryDirectory() as folder:
        newcomer = Newcomer(Path(folder), programs=Path(sys.executable).parent)
        for step in steps_of(PAGE.read_text(encoding="utf-8")):
            start = time.perf_counter()
            ended = newcomer.run(step)
            seconds = time.perf_counter() - start
            is_right = ended.returncode == 0 and matches(step.shown, ended.stdout)
            print(f"{'ok' if is_right else 'WRONG'} {seconds:.1f} s: {step.command}")
            if not is_right:
                print(f"exit code {ended.returncode}\n{ended.stdout}")


if __name__ == "__main__":
    _show_differences()
