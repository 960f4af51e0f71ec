"""Dreams: programs of the instruction set."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from theorex_lab.designs.dreams.isa import parse
from theorex_lab.designs.dreams.vm import run
from theorex_lab.experiments.bench.made import texts
from theorex_lab.experiments.bench.measure import Ground, Round, alternately, row


@row("isa", "a program read and run, processor time", "shlex.split of the same lines", at_most=2)
def _isa(ground: Ground) -> Iterator[Round]:
    lines = [
        f'BUILD_CHILD node {place} "{text}" "{text}" done' for place, text in enumerate(texts(ground.rows, length=4))
    ]
    program = "\n".join(lines)
    yield alternately(
        lambda: run(parse(program), max_instructions=len(lines)), lambda: [shlex.split(line) for line in lines]
    )
