"""Whole processes: the hook and the commands that agents start often, beside an interpreter that does nothing; a search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from theorex_lab.experiments.bench import measure
from theorex_lab.experiments.bench.made import as_installed, lay_home, texts
from theorex_lab.experiments.bench.measure import Ground, Round

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
