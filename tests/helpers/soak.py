"""Four writers, two readers, scans and snapshots on one home for minutes: memory stays
flat, the journal stays sound.

Asked for by its file's name alone: `pytest tests/helpers/soak.py`; THEOREX_SOAK_MINUTES (10)
says how long.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from theorex_lab import HashedNgramEmbedder, Lab

MINUTES = float(os.environ.get("THEOREX_SOAK_MINUTES", "10"))
WARM_UP = 0.25  # of the time, in which caches fill
GROWTH = 0.1  # of the memory once warm, by which it may grow whatever is stored
# bytes for each byte stored: a column that is full is moved to one of twice its length
ROOM = 2.0
# Each process prints its resident memory and what its views and vectors hold, in KiB,
# once warm and at its end. A
# writer says the same few hundred sentences again and again: what grows are rows of
# some bytes, and any more is a leak.
PROCESS = """
import random, sys, time
from pathlib import Path
from theorex_lab import Lab
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.search.embed import HashedNgramEmbedder

DIMENSIONS = 16

def resident(lab):
    lines = Path("/proc/self/status").read_text().splitlines()
    views = [lab.views.get(kind).columns().values() for kind in list(lab.views._open)]
    vectors = 4 * DIMENSIONS * len(lab.views.get(Axon).observations) if views else 0
    held = sum(array.nbytes for columns in views for array in columns) + vectors
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))), held // 1_024

home, role, number, seconds, warm = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])
chance = random.Random(number)
topics = ["cache", "queue", "index", "token", "deploy", "retry", "schema", "login"]
def sentence():
    return f"the {chance.choice(topics)} of the {chance.choice(topics)} service needs a {chance.choice(topics)} check"
start, warmed, turns = time.monotonic(), (), 0
with Lab(home, embedder=HashedNgramEmbedder(DIMENSIONS)) as lab:
    agent = lab.agent(f"agent-{number}")
    while (elapsed := time.monotonic() - start) < seconds:
        turns += 1
        if role == "writer":
            agent.write(sentence())
            time.sleep(0.05)
        else:
            agent.search(sentence())
            lab.search(chance.choice(topics))
            if turns % 20 == number % 20:
                lab.theorex.scan()
                for kind in list(lab.views._open):
                    lab.views.snapshot(lab.views.get(kind))
            time.sleep(0.1)
        if not warmed and elapsed > warm * seconds:
            warmed = resident(lab)
    print(turns, *warmed, *resident(lab))
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads memory from /proc"
)
def test_soak(tmp_path: Path) -> None:
    home = tmp_path / "home"
    Lab(home).close()
    roles = ["writer"] * 4 + ["reader"] * 2
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                PROCESS,
                home,
                role,
                str(number),
                str(60 * MINUTES),
                str(WARM_UP),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, role in enumerate(roles)
    ]
    deadline = time.monotonic() + 60 * MINUTES + 120
    told = [
        process.communicate(timeout=max(deadline - time.monotonic(), 1.0))[0]
        for process in started
    ]
    assert [process.returncode for process in started] == [0] * len(started)
    writes = 0
    for role, numbers in zip(roles, told, strict=True):
        turns, warm, warm_held, end, end_held = map(int, numbers.split())
        writes += turns if role == "writer" else 0
        explained = GROWTH * warm + ROOM * (end_held - warm_held)
        assert end - warm <= explained, (
            f"a {role} grew from {warm} to {end} KiB in {turns} turns, {explained:.0f}"
            " of it for data"
        )
    with Lab(home, embedder=HashedNgramEmbedder(16)) as lab:
        found = lab.verify()
    assert found.ok, found.problems
    assert found.kinds["observation"] == writes, (
        "what a write returned for is there, once"
    )
    assert list((home / "views").glob("*/*/manifest.json")), (
        "snapshots were taken meanwhile"
    )
