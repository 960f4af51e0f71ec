"""`python -m benchmarks.leaderboard`: compare memories on public logs, and write the page."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from benchmarks.__main__ import THREADS
from theorex_lab.app.cli import run_command
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.files import write_atomically
from theorex_lab.files.command_line import command, emit

if TYPE_CHECKING:
    from theorex_lab.eval import Comparison
    from theorex_lab.eval.datasets.needs_rows import ProjectNeeds
    from theorex_lab.eval.replay.needs import NeedsScore

DOCS = Path(__file__).parents[1] / "docs"
VERSIONS = Path(__file__).with_name("leaderboard.txt")
BUDGET = 500
OURS = "sessions"
OTHERS = (
    "chroma",
    "mem0",
    "langgraph",
    "graphiti",
    "rank_bm25",
    "fts5",
    "full_history",
)
NEEDS_SET = "session_needs"
# The smallest of its four projects; the others take hours.
NEEDS_PROJECTS = ("session_needs/gryag",)
_BRIEFING = "briefing"
NEEDS_SYSTEMS = (_BRIEFING, "best_lines")
# Three of LoCoMo's ten conversations, so that the page can be rebuilt in an hour.
QUESTION_SETS = (
    "fact_updates/1k",
    "precisionmembench",
    "locomo/conv-26",
    "locomo/conv-30",
    "locomo/conv-41",
)
_PAGE = "leaderboard.md"
_PICTURE = "pictures/leaderboard.png"
_FIGURE_TITLES = {
    "start": "At the start",
    "all": "With the first prompt",
    "useful": "The share of the bytes that is worth reading",
}
_SIGNS = {"better": " ▲", "worse": " ▼"}
_HEAD = """# Leaderboard

Memories on public logs, each asked the same within {budget} tokens, without a judge. A
cell is a mean with its 95 % bootstrap interval. `{ours}` is ours with its settings as they
come; the others are [as they are documented](how-to/compare-a-memory.md), with the same
vectors where they have vectors, and no model that extracts facts. mem0 searches by vectors
alone here: its search by words needs a package that downloads a model.

This page is written by one command, in an environment with the pinned versions. A run that
was stopped goes on where it ended:

```text
pip install -c benchmarks/leaderboard.txt -e '.[embeddings,chroma,mem0,langgraph,graphiti]'
python -m benchmarks.leaderboard --out compared
```

Measured with {versions}.

What the page cannot say: other settings of these memories, with a model that extracts what
is worth keeping, may do better, and cost a call of the model for each message. Our own
defaults were chosen while we looked at parts of these logs; the others' were not.
"""
_NEEDS = """## What a session needs to know

Readers of recorded coding sessions wrote down what an agent would have wanted to be told
when each began. A cell is the share of it, by grade, that a memory tells: first with what
it gives unasked at the start, then with what it finds for the first prompt in addition.
Most stores answer questions alone, and have nothing for a start. `briefing` is what our
hooks give to an agent; `best_lines` knows the needs, and is a bound. ▲ is better than
`briefing`, ▼ worse, in the paired difference on the same sessions.
"""
_QUESTIONS = """## Questions about earlier messages

The share of the events that answer a question and come back. ▲ is better than `{ours}`,
▼ worse, in the paired difference on the same questions; without a sign there is not enough
evidence.
"""
_STALE = """The share of stale events, those that were corrected since, that come back though
they must not. Lower is better.
"""
_COSTS = """## What it costs

Processor seconds of all calls of a memory, with those of the embedding model.
"""


@command("leaderboard", "Compare memories on public logs, and write the page of it.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The folder in which each trial is kept; a repeated run goes on.",
)
@click.option(
    "--memory",
    "memories",
    multiple=True,
    default=(OURS, *OTHERS),
    help="A memory by name; may be given several times.",
)
@click.option(
    "--set",
    "sets",
    multiple=True,
    default=(*NEEDS_PROJECTS, *QUESTION_SETS),
    help="A data set; may be given several times. session_needs takes hours more than"
    " one of its projects, session_needs/NAME.",
)
@click.option("--workers", type=click.IntRange(1), default=1)
@click.option(
    "--any-versions", is_flag=True, help="Take the installed versions of others."
)
@click.option(
    "--docs",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=DOCS,
    help="The folder of the documentation.",
)
def leaderboard(
    out: Path,
    memories: tuple[str, ...],
    sets: tuple[str, ...],
    workers: int,
    any_versions: bool,
    docs: Path,
) -> None:
    """It takes about an hour. The logs are those that THEOREX_DATA names, or are
    downloaded.

    JSON: {page, memories, sets, problems}
    """
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    versions = installed_versions()
    if not any_versions:
        check_versions(versions)
    compared: dict[str, Comparison] = {}
    for name in sets:
        if not _is_of_needs(name):
            compared[name] = compared_on(name, memories, out, workers)
            click.echo(f"{name}\n{compared[name]}\n", err=True)
    needs_sets = list(filter(_is_of_needs, sets))
    needs = needs_of(memories, needs_sets, out, workers) if needs_sets else None
    write_page(compared, needs, versions, docs)
    problems = list(problem_lines(compared))
    result = {
        "page": str(docs / _PAGE),
        "memories": list(memories),
        "sets": list(sets),
        "problems": problems,
    }
    emit(result, "\n".join([*problems, f"written: {docs / _PAGE}"]))


def installed_versions() -> dict[str, str]:
    """Return the installed version of each pinned package, '' where it is missing."""
    versions: dict[str, str] = {}
    for name in pinned_versions():
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = ""
    return versions


def pinned_versions() -> dict[str, str]:
    """Return the versions with which the page is measured, by package."""
    pinned: dict[str, str] = {}
    for line in VERSIONS.read_text(encoding="utf-8").splitlines():
        name, equals, number = line.partition("==")
        if equals:
            pinned[name] = number
    return pinned


def check_versions(versions: Mapping[str, str]) -> None:
    """Check that the pinned versions are installed.

    Args:
        versions: The installed versions by package.

    Raises:
        InvalidInput: Another version is installed, or none.
    """
    wrong: list[str] = []
    for name, number in pinned_versions().items():
        if versions[name] != number:
            wrong.append(f"{name} {versions[name] or 'not installed'}, not {number}")
    if wrong:
        raise InvalidInput(
            f"got {'; '.join(wrong)}; install them by pip install -c"
            f" benchmarks/{VERSIONS.name}, or give --any-versions"
        )


def compared_on(
    name: str, memories: Sequence[str], out: Path, workers: int
) -> Comparison:
    """Return how the memories answer the questions of a data set.

    Args:
        name: The name of the set.
        memories: Their names.
        out: Where trials are kept.
        workers: How many processes share the work.
    """
    from theorex_lab.eval import compare, load_logs

    folder = out / name.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    return compare(
        load_logs(name), memories, budgets=(BUDGET,), workers=workers, out=folder
    )


def _is_of_needs(name: str) -> bool:
    """Return whether a set is of what sessions needed to know."""
    return name.partition("/")[0] == NEEDS_SET


def needs_of(
    memories: Sequence[str], sets: Sequence[str], out: Path, workers: int
) -> NeedsScore:
    """Return how much of what recorded sessions needed to know the memories tell.

    Our briefing stands for our memory, and the best lines for what can be reached.

    Args:
        memories: The names of memories.
        sets: All projects, or some of them by name.
        out: Where results are kept.
        workers: How many processes share the work.
    """
    from theorex_lab.eval import load_session_needs, score_needs

    others = [name for name in memories if name != OURS]
    systems = [*NEEDS_SYSTEMS, *others]
    projects: list[ProjectNeeds] = []
    for project in load_session_needs():
        if NEEDS_SET in sets or f"{NEEDS_SET}/{project.name}" in sets:
            projects.append(project)
    return score_needs(
        projects, systems, budgets=(BUDGET,), workers=workers, out=out / NEEDS_SET
    )


def write_page(
    compared: Mapping[str, Comparison],
    needs: NeedsScore | None,
    versions: Mapping[str, str],
    docs: Path,
) -> None:
    """Write the page and its picture.

    Args:
        compared: The comparison on each set of questions, by its name.
        needs: How much of what sessions needed to know each memory tells.
        versions: The installed versions by package.
        docs: The folder of the documentation.
    """
    measured_with = ", ".join(f"{name} {number}" for name, number in versions.items())
    sections = [_HEAD.format(budget=BUDGET, ours=OURS, versions=measured_with)]
    if needs is not None:
        sections += [_NEEDS]
        for figure, title in _FIGURE_TITLES.items():
            sections += [f"{title}:\n", needs_table(needs, figure)]
    if compared:
        sections += [_QUESTIONS.format(ours=OURS)]
        sections += [score_table(compared, "evidence_recall")]
        picture = docs / _PICTURE
        picture.parent.mkdir(exist_ok=True)
        draw(compared, picture)
        sections += [f"![Evidence that comes back, by memory and log]({_PICTURE})\n"]
        sections += [_STALE, score_table(compared, "stale")]
        sections += [_COSTS, cost_table(compared)]
    problems = list(problem_lines(compared))
    if problems:
        listed = "\n".join(f"- {line}" for line in problems)
        sections += [f"## What went wrong\n\n{listed}\n"]
    write_atomically(docs / _PAGE, "\n".join(sections).encode())


def needs_table(needs: NeedsScore, figure: str) -> str:
    """Return a row for each memory, with a column a project and one for all.

    Args:
        needs: How much of the needs each memory tells.
        figure: start, all or useful.
    """
    rows: dict[str, list[str]] = {}
    for system in needs.systems:
        cells = list[str]()
        for project in [*needs.projects, ""]:
            mean = needs.value(system, BUDGET, figure, project=project)
            cell = interval(mean.value, mean.ci_low, mean.ci_high)
            cells.append(cell + _needs_sign(needs, system, figure, project))
        rows[system] = cells
    return markdown_table(["memory", *needs.projects, "all"], rows)


def _needs_sign(needs: NeedsScore, system: str, figure: str, project: str) -> str:
    """Return a sign of how a memory compares with our briefing, session by session."""
    if _BRIEFING not in needs.systems or system == _BRIEFING:
        return ""
    gain = needs.gain(system, BUDGET, figure, project=project)
    if gain.ci_low > 0:
        return _SIGNS["better"]
    return _SIGNS["worse"] if gain.ci_high < 0 else ""


def score_table(compared: Mapping[str, Comparison], score: str) -> str:
    """Return a row for each memory, with a column a set that has such a score.

    Args:
        compared: The comparison on each set, by its name.
        score: The name of a score of questions.
    """
    sets: list[str] = []
    rows: dict[str, list[str]] = {}
    for name, comparison in compared.items():
        cells = {
            design: _score_cell(comparison, design, score)
            for design in comparison.designs
        }
        if not any(cells.values()):
            continue
        sets.append(name)
        for design, cell in cells.items():
            rows.setdefault(design, []).append(cell)
    return markdown_table(["memory", *sets], rows)


def _score_cell(comparison: Comparison, design: str, score: str) -> str:
    """Return a mean with its interval, and a sign of how it compares with ours."""
    mean = comparison.value(design, "retrieve", BUDGET, score)
    if math.isnan(mean.value):
        return ""
    cell = interval(mean.value, mean.ci_low, mean.ci_high)
    if design == OURS or OURS not in comparison.designs:
        return cell
    difference = comparison.difference(
        design, OURS, mode="retrieve", budget=BUDGET, score=score
    )
    return cell + _SIGNS.get(difference.verdict, "")


def cost_table(compared: Mapping[str, Comparison]) -> str:
    """Return a row for each memory, with its processor seconds on each set."""
    rows: dict[str, list[str]] = {}
    for comparison in compared.values():
        seconds = comparison.costs.groupby("design", sort=False)["cpu_seconds"].sum()
        for design, spent in seconds.items():
            rows.setdefault(str(design), []).append(f"{spent:,.1f}")
    return markdown_table(["memory", *compared], rows)


def problem_lines(compared: Mapping[str, Comparison]) -> Iterator[str]:
    """Yield what went wrong with memories, a line each."""
    for comparison in compared.values():
        yield from comparison.file_problems
        for trial in comparison.trials:
            for problem, times in trial.problems.items():
                yield f"{trial.design} on {trial.log}: {problem} ({times} times)"


def interval(value: float, low: float, high: float) -> str:
    """Return a mean with its interval as text.

    >>> interval(0.5, 0.41, 0.6)
    '0.50 [0.41, 0.60]'
    """
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def markdown_table(head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Return a table in Markdown.

    Args:
        head: The titles of the columns, that of the names first.
        rows: The cells by the name of the row.
    """
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, cells in rows.items():
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw(compared: Mapping[str, Comparison], path: Path) -> None:
    """Draw the evidence that comes back: a panel a set, a point with interval a memory.

    Args:
        compared: The comparison on each set, by its name.
        path: The PNG file.
    """
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1,
        len(compared),
        figsize=(3.1 * len(compared) + 1.2, 3.4),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axes, (name, comparison) in zip(panels[0], compared.items(), strict=True):
        designs = comparison.designs[::-1]
        for height, design in enumerate(designs):
            mean = comparison.value(design, "retrieve", BUDGET, "evidence_recall")
            color = "tab:blue" if design == OURS else "0.35"
            axes.plot([mean.ci_low, mean.ci_high], [height, height], color=color, lw=2)
            axes.plot(mean.value, height, "o", color=color)
        axes.set_yticks(range(len(designs)), designs)
        axes.set(title=name, xlim=(-0.02, 1.02), xlabel="evidence recall")
        axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> NoReturn:
    """Run it; exit code 0 ok, 1 failed, 2 wrong usage."""
    run_command(leaderboard, "python -m benchmarks.leaderboard")


if __name__ == "__main__":
    main()
