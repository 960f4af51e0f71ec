"""Whether search finds what was taken in: functions by what they are for, and what was
said in a meeting by its sections.

python tests/helpers/ingested_scores.py code theorex_lab
THEOREX_DATA=… python tests/helpers/ingested_scores.py documents qmsum
"""

import ast
import json
import posixpath
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from theorex_lab import Embedder, FixedClock, Hits, InvalidInput, Lab, new_event
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.metrics.retrieval import kept_embedder, remembering
from theorex_lab.files.ingest.code import CODE, read_code
from theorex_lab.files.ingest.folders import FolderWalk
from theorex_lab.files.ingest.text import TextBlock, sections
from theorex_lab.memory.briefing.token_budget import count_tokens
from theorex_lab.memory.documents import Part, document_body
from theorex_lab.memory.intervals import bootstrap_mean
from theorex_lab.search.lexical import tokenize

_LEAST_WORDS = 5
_FIRST = 10
_BUDGETS = (300, 600, 1_200)


class _Function(NamedTuple):
    """A function that says what it is for: where it stands, that text, and the lines
    without it.
    """

    file: str
    line: int
    doc: str
    source: str


def score_code(folder: str, *, n: int = 200, seed: int = 0) -> dict[str, Any]:
    """{dataset, n, metrics, baselines}: of `n` functions below a folder, the share
    found among the first ten by their docstrings.

    Asked is the whole docstring of a function in Python, at least five words; that text
    is left out of the index, and of what grep reads. grep: the functions whose lines
    hold most of its words. Raises InvalidInput where no function has a docstring.
    """
    root = Path(folder or ".").resolve()
    files = {
        posixpath.relpath(str(path), root): path.read_bytes()
        for path in FolderWalk((".py",)).files(root, root)
    }
    known = [
        function
        for file, source in files.items()
        for function in _functions(file, source)
    ]
    able = [
        number
        for number, function in enumerate(known)
        if len(function.doc.split()) >= _LEAST_WORDS
    ]
    if not able:
        raise InvalidInput(
            f"got {root}, in which no function in Python says what it is for; give the"
            " folder of a project"
        )
    asked = [
        known[row] for row in np.random.default_rng(seed).permutation(able)[:n].tolist()
    ]
    left_out = {(function.file, function.line): function.doc for function in asked}
    clock = FixedClock(1)
    with (
        tempfile.TemporaryDirectory(prefix="theorex-") as place,
        Lab(place, clock=clock, embedder=kept_embedder()) as lab,
    ):
        for file, source in files.items():
            parts = [
                _without(part, left_out.get((file, part.line)))
                for part in read_code(file, source)[0]
            ]
            body = document_body(
                file,
                CODE.name,
                parts,
                before=None,
                salt="",
                source="import",
                project="",
            )
            lab.journal.append([new_event("document", body, agent="main", at=1)])
        lab.searcher.vectors.embed_pending()
        ways = {
            way: [_is_found(lab, one, way) for one in asked]
            for way in ("always", "never")
        }
    grepped = [*_grepped(known, asked)]
    rows = {
        "search": ways["always"],
        "search, words alone": ways["never"],
        "grep": grepped,
    }
    told = {
        name: _told({f"found@{_FIRST}": found}, seed) for name, found in rows.items()
    }
    return {
        "dataset": root.name,
        "n": len(asked),
        "metrics": told.pop("search"),
        "baselines": told,
    }


def _functions(file: str, source: bytes) -> Iterator[_Function]:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a template, or of another version of Python
        return
    lines = source.decode("utf-8", "replace").split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            doc = ast.get_docstring(node) or ""
            body = node.body[1:] if doc else node.body
            held = [
                *lines[node.lineno - 1 : node.body[0].lineno - 1],
                *(lines[body[0].lineno - 1 : node.end_lineno] if body else ()),
            ]
            yield _Function(file, node.lineno, doc, "\n".join(held))


def _without(part: Part, doc: str | None) -> Part:
    return (
        part
        if doc is None
        else part._replace(text=part.text.replace(doc[:2_000].strip(), "", 1))
    )


def _is_found(lab: Lab, wanted: _Function, vectors: Any) -> bool:
    query = re.sub(r"\s+", " ", wanted.doc)
    hits = lab.search(query, kinds=["symbol"], limit=_FIRST, vectors=vectors)
    return any(hit.subject.startswith(f"{wanted.file}:{wanted.line} ") for hit in hits)


def _grepped(known: Sequence[_Function], asked: Sequence[_Function]) -> Iterator[bool]:
    """Whether each function is among the first of those whose lines hold most words of
    what is asked; first come, first named.
    """
    left_out = {*asked}
    held = [
        {*tokenize(one.source if one in left_out else f"{one.source}\n{one.doc}")}
        for one in known
    ]
    for one in asked:
        words = {*tokenize(one.doc)}
        counts = np.array([len(words & each) for each in held])
        yield known.index(one) in np.argsort(-counts, kind="stable")[:_FIRST].tolist()


def score_documents(name: str = "qmsum", *, seed: int = 0) -> dict[str, Any]:
    """{dataset, n, metrics, baselines}: evidence recall within budgets of tokens, of
    meetings taken in as documents, beside turns.

    A meeting is a text of a turn a paragraph; a section counts for the turns of which
    it holds more than half. Half of the meetings, the even ones, chose how long a
    section is; the odd ones are reported.
    """
    embedder = kept_embedder()
    rows = {"sections": list[list[float]](), "turns": list[list[float]]()}
    for log in load_logs(name)[1::2]:
        document, covers = _as_document(log)
        for way, held in (("sections", document), ("turns", log)):
            rows[way] += _recalls(held, covers, embedder)
    told = {
        way: _told(dict(zip(_METRICS, zip(*found, strict=True), strict=True)), seed)
        for way, found in rows.items()
    }
    return {
        "dataset": name,
        "n": len(rows["turns"]),
        "metrics": told.pop("sections"),
        "baselines": told,
    }


_METRICS = [f"recall in {budget} tokens" for budget in _BUDGETS]


def _as_document(log: EvalLog) -> tuple[EvalLog, dict[str, frozenset[str]]]:
    """The log as one file, and by section the turns that it holds."""
    turns = [(event.id, event.body["text"]) for event in log.events]
    text = "\n\n".join(turn for _, turn in turns)
    spans = list[tuple[str, int, int]]()
    at = 0
    for number, turn in turns:
        spans.append((number, at, at + len(turn)))
        at += len(turn) + 2
    parts = [*sections([TextBlock(0, text)], "meeting.txt")]
    body = document_body(
        "meeting.txt", "", parts, before=None, salt="", source="import", project=""
    )
    covers = {}
    start = 0
    for item, _, _, piece, *_ in body["parts"]:
        start = text.index(piece, start)
        end = start + len(piece)
        covers[item] = frozenset(
            number
            for number, first, last in spans
            if 2 * (min(last, end) - max(first, start)) > last - first
        )
    event = new_event(
        "document", body, agent="main", at=max(event.at for event in log.events)
    )
    return EvalLog(log.name, [event], log.probes), covers


def _recalls(
    log: EvalLog, covers: dict[str, frozenset[str]], embedder: Embedder
) -> list[list[float]]:
    with remembering(log, embedder) as lab:
        asked = [probe for probe in log.probes if probe.answers and probe.query.strip()]
        return [
            _within(lab.search(probe.query, limit=100, vectors="always"), covers, probe)
            for probe in asked
        ]


def _within(
    hits: Hits, covers: dict[str, frozenset[str]], probe: EvalQuery
) -> list[float]:
    recalls = []
    for left in _BUDGETS:
        found: set[str] = set()
        for hit, event in zip(hits, hits.events, strict=True):
            if (size := count_tokens(hit.text)) <= left:
                left -= size
                found |= covers.get(hit.id, frozenset([event]))
        recalls.append(len(found & probe.answers) / len(probe.answers))
    return recalls


def _told(columns: dict[str, Sequence[float]], seed: int) -> dict[str, float]:
    told: dict[str, float] = {}
    for name, values in columns.items():
        found = bootstrap_mean(np.array(values, float), seed)
        told |= {
            name: found.mean,
            f"{name}_ci_low": found.ci_low,
            f"{name}_ci_high": found.ci_high,
        }
    return told


if __name__ == "__main__":
    measure = {"code": score_code, "documents": score_documents}[sys.argv[1]]
    sys.stdout.write(f"{json.dumps(measure(*sys.argv[2:]), indent=1)}\n")
