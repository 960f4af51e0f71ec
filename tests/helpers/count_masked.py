"""How many texts of each open data set the mask changes, with samples: `THEOREX_DATA=…
python tests/helpers/count_masked.py [SET…]`.

The sets hold no secrets on purpose, so that what is changed is mostly wrong, or an
example of a secret in a dialogue.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import tarfile
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from theorex_lab.text.redact.masking import mask

_SAMPLES = int(os.environ.get("SAMPLES", "5"))
_AROUND = 60
_SUFFIXES = {
    ".json",
    ".jsonl",
    ".ndjson",
    ".csv",
    ".tsv",
    ".txt",
    ".md",
    ".tex",
    ".yml",
    ".yaml",
    ".lean",
    ".log",
    ".mm",
    ".tar",
}


def texts(file: Path) -> Iterator[str]:
    """The texts in a file, also in the files of an archive: strings of JSON, cells of a
    table, else its lines.
    """
    if file.name.endswith(".tar.gz"):
        with tarfile.open(file) as archive:
            for member in archive:
                stream = archive.extractfile(member)
                if stream is not None and {*Path(member.name).suffixes} & _SUFFIXES:
                    yield from _texts(
                        Path(member.name), stream.read().decode("utf-8", "replace")
                    )
        return
    with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream:
        yield from _texts(
            Path(file.stem) if file.suffix == ".gz" else file,
            stream.read().decode("utf-8", "replace"),
        )


def _texts(name: Path, content: str) -> Iterator[str]:
    if name.suffix == ".json":
        yield from _strings(json.loads(content))
    elif name.suffix in (".jsonl", ".ndjson"):
        for line in content.split("\n"):
            yield from _strings(json.loads(line)) if line.strip() else ()
    elif name.suffix in (".csv", ".tsv"):
        for row in csv.reader(
            content.split("\n"), delimiter="\t" if name.suffix == ".tsv" else ","
        ):
            yield from row
    else:
        yield from content.split("\n")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def sample(text: str, masked: str) -> str:
    """The first difference with what stands around it."""
    blocks = SequenceMatcher(
        None, text[:4_000], masked[:4_000], autojunk=False
    ).get_matching_blocks()
    end = blocks[0].size if blocks and blocks[0].a == 0 else 0
    return repr(text[max(0, end - _AROUND) : end + _AROUND])


def main() -> None:
    csv.field_size_limit(1 << 30)
    folder = Path(os.environ["THEOREX_DATA"])
    chosen = sys.argv[1:]
    for place in sorted(
        each
        for each in folder.iterdir()
        if each.is_dir() and (not chosen or each.name in chosen)
    ):
        count = changed = 0
        shown: list[str] = []
        for file in sorted(place.rglob("*")):
            if not file.is_file() or not {*file.suffixes} & _SUFFIXES:
                continue
            for text in texts(file):
                count += 1
                masked = mask(text)
                changed += masked != text
                if masked != text and len(shown) < _SAMPLES:
                    shown.append(sample(text, masked))
        sys.stdout.write(
            f"{place.name}: {changed} of {count} texts changed ({changed / max(count, 1):.4%})\n"
        )
        sys.stdout.write("".join(f"    {each}\n" for each in shown))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
