"""The tour: a history becomes dated observations and an access log; a law is fitted to it; a memory runs on that law."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY, FixedClock, to_iso
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.sources import describe_source, load, packaged
from theorex_lab.experiments.draw import plots
from theorex_lab.experiments.draw.explorer import drawn
from theorex_lab.experiments.replay.event_log import EventLog
from theorex_lab.experiments.replay.replay import replay
from theorex_lab.experiments.scores.access import Commit, Tuning, git_commits, log_of_commits, tune
from theorex_lab.experiments.scores.access_log import AccessLog
from theorex_lab.experiments.scores.fitting import calibration
from theorex_lab.lab import Lab
from theorex_lab.memory.context import Context
from theorex_lab.memory.observation import Entry
from theorex_lab.memory.rows import Rows

MIN_COMMITS = 30
MAX_COMMITS = 5_000  # the newest; older ones change neither the fit nor what is awake
SIMULATION = "simulated_team.jsonl.gz"
_AGENT = "git"
_SCANS = 100  # of the picture of tiers
_MAX_SUBJECT = 2_000


@dataclass(frozen=True)
class History:
    """What a tour starts from: where it came from, dated texts, and which items each event touched."""

    source: str
    entries: list[Entry]
    log: AccessLog


@dataclass(frozen=True)
class Tour(Rows[dict[str, Any]]):
    """What a tour found: a row a law with its scores, best first."""

    source: str
    tuning: Tuning
    tiers: dict[str, int]
    context: Context
    observations: int
    now: int
    seconds: float
    figures: dict[str, str]  # caption -> picture as base64 PNG

    @property
    def concepts(self) -> int:
        """Concepts in the memory."""
        return sum(self.tiers.values())

    @property
    def html(self) -> str:
        """A page that stands alone."""
        return _page(self)

    def _records(self) -> Sequence[dict[str, Any]]:
        return self.tuning[:]

    def result(self) -> dict[str, Any]:
        """source, law, params, scores, concepts, tiers, context_tokens, seconds; for JSON."""
        return {
            "source": self.source,
            **self.tuning.result(),
            "observations": self.observations,
            "concepts": self.concepts,
            "tiers": self.tiers,
            "context_tokens": self.context.tokens,
            "seconds": round(self.seconds, 2),
        }

    def __repr__(self) -> str:
        return f"Tour({self.source}: {self.concepts} concepts, {self.tuning!r})"


def history_of(repository: Path) -> History:
    """The history of a git repository, or the packaged simulation where it has fewer than 30 commits (or is none).

    `source` says which, and why. Raises InvalidInput for a folder that does not exist.
    """
    if not repository.is_dir():
        raise InvalidInput(f"got the repository {repository}, which is no folder; give one that holds a git repository")
    try:
        commits = git_commits(repository, limit=MAX_COMMITS)
        why = f"the folder {repository.resolve().name} has {len(commits)} commits, fewer than {MIN_COMMITS}"
    except InvalidInput as error:
        commits, why = [], str(error)
    if len(commits) >= MIN_COMMITS:
        return History(f"git history of {repository.resolve().name}", _texts(commits), log_of_commits(commits))
    return simulated_history(f"simulation, since {why}. {describe_source(packaged(SIMULATION))}")


def simulated_history(source: str) -> History:
    """The packaged simulation of a team: its texts, and the files of its commits as the access log."""
    activities = load(packaged(SIMULATION))
    entries = [
        Entry(
            done.text, done.agent, done.at, "trace_fix" if done.kind == "fix" else done.kind,
            "tool" if done.kind == "tool" else "agent", done.tags, done.session,
        )
        for done in activities
    ]  # fmt: skip
    commits = [Commit(str(n), done.at, done.text, done.files) for n, done in enumerate(activities) if done.files]
    return History(source, entries, log_of_commits(commits))


def run_tour(repository: Path, *, now: int | None = None, seed: int = 0) -> Tour:
    """Fit a law to the history, remember it under that law, scan, and render the context.

    The memory's present is the history's last moment, or `now` (µs): seen from today, all of an old history sleeps.
    It lives in a temporary home; the user's own is not touched. `seed` draws the bootstrap.
    """
    started = time.perf_counter()
    history = history_of(repository)
    tuning = tune(history.log, seed=seed)
    present = now if now is not None else max(int(entry.at) for entry in history.entries if isinstance(entry.at, int))
    with Lab.temporary(clock=FixedClock(present), **tuning.config_lines()) as lab:
        lab.write_all(history.entries, imported=True)
        tiers = lab.theorex.scan().tiers
        context, figures = lab.context(), _figures(lab, history, tuning)
    seconds = time.perf_counter() - started
    return Tour(history.source, tuning, tiers, context, len(history.entries), present, seconds, figures)


def _texts(commits: list[Commit]) -> list[Entry]:
    return [
        Entry(subject, _AGENT, at=commit.at, observation_type="commit", source="import")
        for commit in commits
        if (subject := commit.subject.replace("\0", " ").strip()[:_MAX_SUBJECT])
    ]


def _figures(lab: Lab, history: History, tuning: Tuning) -> dict[str, str]:
    """Caption -> the picture as base64 PNG."""
    recorded = EventLog.of(history.log)
    every_days = max(float(np.ptp(recorded.time)) / MICROSECONDS_PER_DAY / _SCANS, 0.01)
    pictures = {
        "How well each law foretells which known files the next commit touches (mean reciprocal rank, 95 % interval).": tuning.plot,
        "Tiers of the files over time, under the fitted law.": lambda ax: plots.plot_occupancy(
            replay(recorded, lab.settings, every_days=every_days), ax=ax
        ),
        **_calibrated(history.log, tuning),
        "The strongest concepts and their links.": lambda ax: plots.plot_graph(lab.theorex.axon().graph(), ax=ax),
    }
    return {caption: base64.b64encode(drawn(draw)).decode() for caption, draw in pictures.items()}


def _calibrated(log: AccessLog, tuning: Tuning) -> dict[str, Any]:
    """Caption -> what draws the calibration; nothing where the scored commits came too fast to tell what was used again."""
    try:
        table = calibration(log, tuning.law, tuning.fit.horizon_days)
    except InvalidInput:
        return {}
    caption = "Predicted against observed reuse: on the line, importance is the chance of being used again."
    return {caption: lambda ax: plots.plot_calibration(table, ax=ax)}


def _page(tour: Tour) -> str:
    """A page without scripts or links to anything outside; every text from the history is escaped."""
    pictures = "".join(
        f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}"><figcaption>{escape(caption)}'
        "</figcaption></figure>"
        for caption, data in tour.figures.items()
    )
    tiers = "".join(f"<tr><td>{tier}</td><td>{count}</td></tr>" for tier, count in tour.tiers.items())
    settings = "\n".join(f"{key}: {value}" for key, value in tour.tuning.config_lines().items())
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>theorex tour</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }}
table {{ border-collapse: collapse }} td, th {{ padding: .2rem .8rem; border-bottom: 1px solid #ddd; text-align: left }}
img {{ max-width: 100% }} figure {{ margin: 1.5rem 0 }} figcaption {{ color: #555 }}
pre {{ background: #f6f6f6; padding: 1rem; overflow-x: auto; white-space: pre-wrap }}
</style></head><body>
<h1>A memory fitted to its history</h1>
<p>Source: {escape(tour.source)}</p>
<p>{tour.observations} observations, {tour.concepts} concepts, as of {to_iso(tour.now)[:10]}.</p>
<h2>Which law fits</h2>
<p>Every law ranked the known files before each scored commit; it was chosen and fitted on the commits before those.</p>
{tour.tuning.frame.to_html(index=False, float_format="{:.3f}".format)}
<p>The settings to adopt:</p><pre>{escape(settings)}</pre>
{pictures}
<h2>What is awake</h2><table><tr><th>tier</th><th>concepts</th></tr>{tiers}</table>
<h2>What the next session is given</h2><p>{tour.context.tokens} tokens.</p><pre>{escape(tour.context.text)}</pre>
</body></html>
"""
