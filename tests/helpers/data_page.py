"""Write the cards of docs/data.md, which the tables of data sets tell.

python tests/helpers/data_page.py
"""

from __future__ import annotations

from pathlib import Path

from theorex_lab.eval.datasets.dataset_table import (
    DATASETS,
    PACKAGED,
    PACKAGED_LICENCE,
    DatasetInfo,
)

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
MARK = "<!-- The rest is written by tests/helpers/data_page.py. -->\n"
_MEGABYTE = 1_000_000


def cards() -> str:
    """Return the part of the page that the tables tell."""
    lines = ["## Packaged sets", "", f"Licence: {PACKAGED_LICENCE}.", ""]
    lines += ["| name | what it is |", "|---|---|"]
    for packaged in PACKAGED.values():
        lines.append(f"| `{packaged.name}` | {packaged.about} |")
    lines += ["", "## Public sets"]
    for info in DATASETS.values():
        lines += ["", *_card(info)]
    return "\n".join(lines) + "\n"


def _card(info: DatasetInfo) -> list[str]:
    """Return the card of a public set."""
    counts = [
        f"{count:,} {name.replace('_', ' ')}" for name, count in info.counts.items()
    ]
    licence = info.licence
    if info.research_only:
        licence = f"{licence}. **For research only.**"
    return [
        f"### {info.name}",
        "",
        f"{info.about[0].upper()}{info.about[1:]}.",
        "",
        f"- what it scores: {info.scores}",
        f"- a complete set holds: {', '.join(counts)}",
        f"- licence: {licence}",
        f"- size: {info.size_bytes / _MEGABYTE:.1f} MB",
        f"- source: {_source(info)}",
        f"- get it: {_command(info)}",
    ]


def _source(info: DatasetInfo) -> str:
    if info.repository == "-":
        return "made by the project; no public address"
    address = f"https://github.com/{info.repository}"
    return f"[{info.repository}]({address}) at `{info.commit[:12]}`"


def _command(info: DatasetInfo) -> str:
    if not info.is_public:
        return f"put it into `$THEOREX_DATA/{info.name}/`"
    command = f"`theorex data get {info.name}`"
    if info.transcripts is not None:
        return f"{command}, which rebuilds it from the published transcripts"
    return command


if __name__ == "__main__":
    start, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(f"{start}{mark}\n{cards()}", encoding="utf-8")
