"""Whole processes: the hook and the commands that agents start often, and other systems on the same texts and vectors."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from theorex_lab.experiments.bench import measure
from theorex_lab.experiments.bench.made import as_installed, lay_home, texts
from theorex_lab.experiments.bench.measure import Amounts, Ground, Round

_SYSTEMS = "theorex_lab.experiments.bench.systems"
_EVENT = {
    "hook_event_name": "PostToolUse", "session_id": "a-session", "tool_name": "Bash",
    "tool_input": {"command": "make test", "description": "Run the tests"},
    "tool_response": {"stdout": "203 passed in 8.1 s", "stderr": "", "interrupted": False},
}  # fmt: skip
_HOOK = "import os, sys; os.environ['THEOREX_HOME'] = sys.argv[1]; from theorex_lab.hook import main; main()"


def _process(arguments: tuple[str, ...], ground: Ground) -> Iterator[Round]:
    """The command of these arguments, the hook without any, beside an interpreter that does nothing."""
    home = lay_home(ground.folder, ground.rows, as_installed())
    asked = texts(ground.rows)[-1].split()[:3] if "search" in arguments else ()
    command = measure.theorex(home, *arguments, *asked) if arguments else (measure.PYTHON, "-c", _HOOK, home)
    nothing = partial(measure.run, measure.PYTHON, "-c", "pass")
    ours = partial(measure.run, *command, given=json.dumps(_EVENT).encode(), cwd=ground.folder)
    yield measure.alternately(ours, nothing, meter=measure.child_seconds)


for _name, _about, _at_most, _arguments in (
    ("hook", "theorex-hook PostToolUse", 3, ()),
    ("write", "theorex write", 10, ("write", "TTLs prevent cache stampedes")),
    ("status", "theorex status", 25, ("status",)),
    ("search-words", "theorex search for words that a text holds", 25, ("search", "--all-agents")),
    ("search-process", "theorex search --vectors always", None, ("search", "--all-agents", "--vectors", "always")),
):
    measure.row(_name, f"{_about}, process", "python -c pass", at_most=_at_most)(partial(_process, _arguments))


def figures(system: str, folder: Path, rows: int) -> dict[str, float]:
    """What a system takes, by what it does: processor seconds, bytes on disk, and bytes of memory at the most."""

    def process(act: str) -> bytes:
        return measure.run(measure.PYTHON, "-m", _SYSTEMS, system, act, folder, str(rows), cwd=folder)

    folder.mkdir(parents=True)
    measured: dict[str, float] = json.loads(process("fill").splitlines()[-1])
    measured["open and search, process"] = measure.child_seconds(lambda: process("find"))
    return measured


def _beside(peer: str, ground: Ground) -> Iterator[Round]:
    def one_round() -> Iterator[Amounts]:
        number = len(list(ground.folder.iterdir()))
        theirs = figures(peer, ground.folder / f"{number}-{peer}", ground.rows)
        ours = figures("theorex", ground.folder / f"{number}-theorex", ground.rows)
        for what, amount in ours.items():
            yield Amounts(amount, theirs[what], what)

    yield one_round


for _name, _title, _targets, _needs in (
    ("chroma", "Chroma, by vectors", {"search": 1.5, "bytes on disk": 1.5, "add one and find it": 1.5}, ("chromadb",)),
    ("mem0", "mem0 with faiss, by vectors", {"search": 1.5, "add one and find it": 1.5}, ("mem0", "faiss")),
    ("fts5", "SQLite FTS5, by words", None, ()),
):
    _more = {"at_most": _targets, "needs": _needs, "most_rounds": 3}
    measure.row(f"store-{_name}", "the same texts and given vectors", _title, **_more)(partial(_beside, _name))
