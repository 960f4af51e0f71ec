"""Files of exchange: JSON Lines, and graphs in the Graphology shape.

They are written whole or not at all.

A short report says what could not be imported: equal problems share one line with a
count.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from theorex_lab.core.errors import InvalidInput, NewerVersion
from theorex_lab.core.files import drafted, make_folder, open_private, writing
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.files.formats.foreign import open_file, read_file
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event, encode

FlatRecord = dict[str, Any]
Lines = Iterable[tuple[int | str, FlatRecord]]  # the number of each line and its object
T = TypeVar("T")
MOST_SHOWN = 100  # problems
_PLACE = lazy_pattern(
    r"(?P<place>[^:]*:(?: ?(?:node |edge )?\d+:)? )(?P<reason>.*)", re.DOTALL
)
_LOOKED_UP_AT_ONCE = 500
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BETWEEN = lazy_pattern(r"[\s\0]*")
_DECODER = json.JSONDecoder()


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write text lines to `path`, and return how many.

    The old file is replaced at the end, or left as it is. Only its owner may read the
    file, or enter the folders that are made for it.

    Raises:
        StorageError: Where that fails, on a full disk for instance.
    """
    n_lines = 0
    advice = "what was there is untouched: make room, or choose another folder"
    with writing(path, advice):
        make_folder(str(path.parent))
        with (
            drafted(path) as draft,
            open(
                draft, "x", encoding="utf-8", newline="\n", opener=open_private
            ) as file,
        ):
            for line in lines:
                file.write(line + "\n")
                n_lines += 1
            file.flush()
            os.fsync(file.fileno())
    return n_lines


def write_graph(
    path: Path,
    attributes: FlatRecord,
    nodes: Iterable[FlatRecord],
    edges: Iterable[FlatRecord],
) -> int:
    """Write an undirected graph as Graphology exports it, a node or an edge a line.

    Args:
        path: The file.
        attributes: The attributes of the graph as a whole.
        nodes: The nodes, as Graphology has them.
        edges: The edges, as Graphology has them.

    Returns:
        How many nodes and edges.

    Raises:
        StorageError: As `write_lines` does.
    """
    options = {
        "type": "undirected",
        "multi": False,
        "allowSelfLoops": False,
    }
    head = f'{{"options":{encode(options)},"attributes":{encode(attributes)},"nodes":['
    lines = chain(
        [head], _item_lines(nodes), ['],"edges":['], _item_lines(edges), ["]}"]
    )
    n_frame_lines = 3
    return write_lines(path, lines) - n_frame_lines


def _item_lines(items: Iterable[FlatRecord]) -> Iterator[str]:
    """Yield the items as lines of a JSON list, each but the first after a comma."""
    for number, item in enumerate(items):
        comma = "," if number > 0 else ""
        yield comma + encode(item)


def read_graph(path: Path) -> FlatRecord:
    """Return the graph in a file.

    Returns:
        The keys attributes (a dictionary), nodes and edges (lists).

    Raises:
        InvalidInput: For what is not such a graph, or no file.
        StorageError: For a file that cannot be read.
    """
    graph = parse_object(read_file(path))
    attributes = graph.get("attributes", {})
    nodes = graph.get("nodes")
    edges = graph.get("edges", [])
    has_lists = isinstance(nodes, list) and isinstance(edges, list)
    if not isinstance(attributes, dict) or not has_lists:
        raise InvalidInput(
            "got no graph; allowed is an object with the lists nodes and edges"
        )
    return {
        "attributes": attributes,
        "nodes": nodes,
        "edges": edges,
    }


def read_lines(path: Path, problems: list[str]) -> Lines:
    """Yield the number of each line that is not blank, from 1, and its object.

    A program that was killed may have left several objects on a line, and each is
    yielded, or bytes that are 0.

    Args:
        path: The file.
        problems: Is added to: what is wrong with other lines.

    Raises:
        InvalidInput: For what is no file.
        StorageError: For a file that cannot be read.
    """
    with open_file(path) as file:
        yield from each_noted(problems, _numbered_pieces(file), parse_object)


def _numbered_pieces(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces of each line with its number, from 1."""
    for number, line in enumerate(lines, 1):
        for piece in _pieces(line):
            yield number, piece


def _pieces(line: bytes) -> Iterator[bytes]:
    """Yield the objects on a line of JSON Lines.

    From the first place that is no object the rest is yielded as one piece.
    """
    stripped = line.removeprefix(_BYTE_ORDER_MARK).strip()
    content = stripped.strip(b"\0 \t")
    if not content:
        if stripped:
            yield stripped
        return
    offset = 0
    try:
        text = content.decode()
        while offset < len(text):
            end = _DECODER.raw_decode(text, offset)[1]
            yield text[offset:end].encode()
            blank = _BETWEEN.match(text, end)
            offset = blank.end() if blank else end
    except UnicodeDecodeError:
        yield content
    except (ValueError, RecursionError):
        yield text[offset:].encode()


def without_nulls(value: Any) -> FlatRecord:
    """Return a JSON object without its members that are null.

    They say no more than missing ones.

    Raises:
        InvalidInput: For what is no object.
    """
    if not isinstance(value, dict):
        raise InvalidInput(f"got a {type(value).__name__}; allowed is a JSON object")
    return {key: member for key, member in value.items() if member is not None}


def append_new(
    journal: Journal, events: Iterable[tuple[Event, int]]
) -> tuple[int, int]:
    """Append those events whose id the journal lacks, all in one transaction.

    They are taken one by one. Their dates may lie in the future. Other processes wait
    to write until it is done. Nothing is written where it raises.

    Args:
        journal: The journal.
        events: Each event with the number of records that it stands for.

    Returns:
        How many records were new, and how many were known.

    Raises:
        InvalidInput: For what cannot be stored.
        StorageError: On a full disk.
    """
    new = 0
    n_known = 0
    iterator = iter(events)
    with journal.exclusive() as append:
        while batch := list(islice(iterator, _LOOKED_UP_AT_ONCE)):
            batch_ids = [event.id for event, _ in batch]
            stored = journal.read(ids=batch_ids, erased=True)
            stored_ids = {event.id for event in stored}
            for event, records in batch:
                if event.id in stored_ids:
                    n_known += records
                else:
                    append(event)
                    stored_ids.add(event.id)
                    new += records
    return new, n_known


def parse_object(content: bytes) -> FlatRecord:
    """Return the JSON object in these bytes.

    Raises:
        InvalidInput: For anything else, NaN among it.
    """
    try:
        value = json.loads(content.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"got a {type(value).__name__}; allowed is a JSON object")
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def each_noted(
    problems: list[str],
    numbered: Iterable[tuple[int | str, Any]],
    convert: Callable[..., T | None],
    *args: Any,
) -> Iterator[tuple[int | str, T]]:
    """Yield the place of each thing with what `convert(thing, *args)` makes of it.

    What it refuses is noted and passed over, as is what it makes nothing of.

    Args:
        problems: Is added to.
        numbered: The things, each with the number or name of its place.
        convert: Takes a thing and `args`.
        args: What `convert` is given besides.
    """
    for where, record in numbered:
        try:
            value = convert(record, *args)
            if value is not None:
                yield where, value
        except (InvalidInput, NewerVersion) as error:
            location = f":{where}:" if isinstance(where, int) else f": {where}:"
            problems.append(f"{location} {error}")


class ImportRemark(str):
    """A problem of a record that came in all the same, such as a time that was put right.

    Any other problem is of a record or line that was left out.
    """

    __slots__ = ()


def merged(problems: Iterable[str]) -> list[str]:
    """Return one line a kind of problem.

    It names the first place where the problem is met, and how often it is met
    elsewhere.

    >>> merged(["a.jsonl:1: not JSON", "a.jsonl:2: key is 'x'", "a.jsonl:9: not JSON"])
    ['a.jsonl:1: not JSON (and 1 more like it)', "a.jsonl:2: key is 'x'"]
    """
    kinds: dict[str, list[str]] = {}
    for problem in problems:
        place_match = _PLACE.fullmatch(problem)
        reason = place_match["reason"] if place_match else problem
        kinds.setdefault(reason, []).append(problem)
    groups = list(kinds.values())
    lines = list[str]()
    for group in groups[:MOST_SHOWN]:
        n_more = len(group) - 1
        line = group[0]
        if n_more > 0:
            line += f" (and {n_more} more like it)"
        lines.append(line)
    others = groups[MOST_SHOWN:]
    if others:
        n_problems = sum(map(len, others))
        lines.append(f"{n_problems} more problems, of {len(others)} other kinds")
    return lines
