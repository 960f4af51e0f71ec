"""How well graphs of theorems that others published are read, and which premises a theorem's likes foretell."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from theorex_lab.designs.research.premises import PremiseIndex
from theorex_lab.designs.research.readers import closure_of_theories, read_theorems
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.sources import data_folder
from theorex_lab.memory.intervals import bootstrap_mean

SETS = ("equational_theories", "metamath_ql", "pfr_blueprint")
_CREDITS = re.compile(r"\((?:Contributed|Revised|Proof|New usage).*")
_K = 10


def set_folder(name: str) -> Path:
    """The folder of a set in $THEOREX_DATA. Raises InvalidInput where it is not there."""
    folder = data_folder()
    if name not in SETS or folder is None or not (folder / name).is_dir():
        raise InvalidInput(f"got the data set {name!r}; allowed are {', '.join(SETS)} in the folder that THEOREX_DATA names")  # fmt: skip
    return folder / name


def score_theorems(name: str, seed: int = 0) -> dict[str, Any]:
    """{dataset, n, metrics, baselines}: of equational_theories its closure, of pfr_blueprint what was read, of metamath_ql `premise_recall`.

    Raises InvalidInput as `set_folder`.
    """
    folder = set_folder(name)
    if name == "metamath_ql":
        return premise_recall(folder, seed)
    if name == "equational_theories":
        found = closure_of_theories(folder)
        told: dict[str, Any] = {part: getattr(found, part) for part in ("nodes", "edges", "pairs", "seconds")}
        return {"dataset": name, "n": found.nodes, "metrics": told, "baselines": {"published": {"pairs": 8_178_279}}}
    read = read_theorems(folder)
    known = {node for node, *_ in read.nodes}
    unresolved = sum(end not in known for _, end, _ in read.links)
    metrics = {"nodes": len(read.nodes), "links": len(read.links), "unresolved": unresolved, "problems": len(read.problems)}  # fmt: skip
    return {"dataset": name, "n": len(read.nodes), "metrics": metrics, "baselines": {"counted": {"nodes": 218, "links": 497}}}  # fmt: skip


def premise_recall(folder: Path, seed: int = 0) -> dict[str, Any]:
    """Recall of ten premises, each theorem asked for in the order of the file with what stands before it; weights are of the first half.

    metrics: of the second half and of all.  baselines: the most used, likeness of texts alone, what neighbours use alone.
    """
    read, index = read_theorems(folder), PremiseIndex()
    number = {name: place for place, (name, *_) in enumerate(read.nodes)}
    used: dict[str, list[int]] = {name: [] for name in number}
    for start, end, _ in read.links:
        used[start].append(number[end])
    ways: dict[str, Callable[[str, str], Any]] = {
        "premises": lambda *told: [found for found, _ in index.suggest(told[0], _K, told[1])],
        "most used": lambda *_: np.argsort(-index.uses(), kind="stable")[:_K].tolist(),
        "text alone": lambda *told: np.argsort(-index.likeness(*told), kind="stable")[:_K].tolist(),
        "neighbours alone": lambda *told: np.argsort(-index.votes(*told), kind="stable")[:_K].tolist()}  # fmt: skip
    hits: dict[str, list[float]] = {way: [] for way in ways}
    for name, statement, _ in read.nodes:
        comment, wanted = _CREDITS.sub("", read.comments[name]), used[name]
        if wanted and len(index):
            for way, find in ways.items():
                hits[way].append(len({*wanted}.intersection(find(statement, comment))) / len(wanted))
        index.add(statement, wanted, comment)
    half = len(hits["premises"]) // 2
    told = {way: bootstrap_mean(np.array(found), seed).named("recall@10") for way, found in hits.items()}
    later = {way: bootstrap_mean(np.array(found[half:]), seed).named("second_half") for way, found in hits.items()}
    rows = {way: {**told[way], **later[way]} for way in ways}
    metrics = rows.pop("premises")
    return {"dataset": "metamath_ql", "n": len(hits["premises"]), "metrics": metrics, "baselines": rows}
