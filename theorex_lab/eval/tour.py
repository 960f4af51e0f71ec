"""Give the tour: a history is remembered session by session.

It shows what the next session would be given, and what that was worth.
"""

import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from theorex_lab.core.clock import FixedClock, to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.git_history import NoRepository, git_commits
from theorex_lab.eval.datasets.log_sets.runs import record_commits
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.datasets.recorder import part
from theorex_lab.eval.datasets.sources import describe_source, packaged
from theorex_lab.eval.metrics.access import Tuning, log_of_commits, tune
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.eval.metrics.compare import ScoreDifference
from theorex_lab.eval.metrics.sessions import scenes
from theorex_lab.eval.plots import decay
from theorex_lab.eval.replay.sessions import (
    NOTHING,
    RECENT,
    SessionReplay,
    replay_sessions,
)
from theorex_lab.eval.widgets.explorer import drawn
from theorex_lab.memory.briefing.briefing import Briefing, briefing_of_repository
from theorex_lab.memory.observation import ObservationEntry
from theorex_lab.memory.rows import Rows
from theorex_lab.store.lab import Lab

MIN_COMMITS = 30
MAX_COMMITS = 5_000  # the newest; older ones change neither the fit nor what is awake
SIMULATION = "simulated_sessions"
SMALL_BUDGET = 500  # tokens, in which files have most of the room
_MOST_SESSIONS = {"session": 30, "commit": 40}  # that are replayed
_AGENT = "history"  # whose notes they are
_MOST_LETTERS = 2_000  # of a note


class TourHistory(NamedTuple):
    """What a tour starts from.

    Attributes:
        source: Where it came from.
        unit: What a session of it is, session or commit.
        repository: The git repository that it was read from, None for sessions.
    """

    source: str
    log: AccessLog
    lived: EvalLog
    unit: str = "session"
    repository: Path | None = None


@dataclass(frozen=True)
class Tour(Rows[dict[str, Any]]):
    """What a tour found.

    There is a row a law with its scores, best first; none where the history is too
    short to fit one.

    Attributes:
        unfit: Why no law was fitted, '' where one was.
        replayed: The replayed sessions; None where the history has five sessions or
            fewer.
    """

    source: str
    tuning: Tuning | None
    unfit: str
    settings: dict[str, Any]
    replayed: SessionReplay | None
    unit: str
    tiers: dict[str, int]
    context: Briefing
    observations: int
    now: int
    seconds: float
    figures: dict[str, str]  # caption -> picture as base64 PNG

    @property
    def concepts(self) -> int:
        """Return the number of concepts in the memory."""
        return sum(self.tiers.values())

    @property
    def html(self) -> str:
        """Return a page that stands alone.

        It has no scripts and no links to anything outside; every text from the history
        is escaped.
        """
        sources = (
            (escape(caption), f"data:image/png;base64,{data}")
            for caption, data in self.figures.items()
        )
        figures = (
            f'<img alt="{caption}" src="{data}"><figcaption>{caption}</figcaption>'
            for caption, data in sources
        )
        page = Template(
            Path(__file__).with_name("tour_page.html").read_text(encoding="utf-8")
        )
        return page.substitute(
            source=escape(self.source),
            day=to_iso(self.now)[:10],
            tokens=self.context.tokens,
            worth=escape(self.worth),
            context=escape(self.context.text),
            advice=escape(self.advice),
            observations=self.observations,
            laws=(
                self.tuning.frame.to_html(index=False, float_format="{:.3f}".format)
                if self.tuning
                else ""
            ),
            concepts=self.concepts,
            tiers=", ".join(f"{n} {tier}" for tier, n in self.tiers.items() if n)
            or "none",
            pictures="".join(f"<figure>{figure}</figure>" for figure in figures),
        )

    @property
    def advice(self) -> str:
        """Return whether to adopt what was fitted, and why."""
        return (
            str(self.tuning.advice["why"])
            if self.tuning
            else f"keep what you have: {self.unfit}"
        )

    @property
    def worth(self) -> str:
        """Return the closing figure in words.

        It says what the context would have named of what was needed, beside recency and
        nothing.
        """
        if self.replayed is None:
            return (
                "What the context is worth cannot be told yet: the history has too few"
                f" {self.unit}s."
            )
        return _worth(self.replayed, self.unit)

    def _records(self) -> Sequence[dict[str, Any]]:
        return self.tuning[:] if self.tuning else ()

    def result(self) -> dict[str, Any]:
        """Return the figures as values for JSON.

        They are source, law, params, scores, advice, concepts, tiers, context_tokens,
        figure, seconds, and others.
        """
        default_law = {
            "law": self.settings["decayLaw"],
            "params": self.settings["decayParams"],
            "scores": {},
        }
        fitted = (
            self.tuning.result()
            if self.tuning
            else {**default_law, "advice": {"adopt": False, "why": self.advice}}
        )
        counts = {
            name: getattr(self, name) for name in ("observations", "concepts", "tiers")
        }
        result = {
            "source": self.source,
            **fitted,
            **counts,
            "context_tokens": self.context.tokens,
        }
        figure = _figure(self.replayed, self.unit) if self.replayed else None
        return {
            **result,
            "figure": figure,
            "seconds": round(self.seconds, 2),
        }

    def __repr__(self) -> str:
        return f"Tour({self.source}: {self.concepts} concepts, {self.tuning!r})"


def history_of(repository: Path | None = None) -> TourHistory:
    """Return the history of a git repository, or the packaged simulation.

    The simulation is taken where the repository has fewer than 30 commits. Without a
    repository it is that of the current folder, and the simulation where that lies in
    none. `source` says which, and why. Files are named as at HEAD throughout, in what a
    memory is told and in what is asked of it; of those that are gone there, nothing is
    told or asked.

    Raises:
        InvalidInput: The repository has no commit or cannot be read, or the folder lies
            in none or does not exist.
    """
    folder = repository or Path()
    if not folder.is_dir():
        raise InvalidInput(
            f"got the repository {folder}, which is no folder; give one that holds a"
            " git repository"
        )
    name = folder.resolve().name
    try:
        commits = git_commits(folder, limit=MAX_COMMITS)
        why = f"the folder {name} has {len(commits)} commits, fewer than {MIN_COMMITS}"
    except NoRepository as error:
        if repository is not None:
            raise
        commits = []
        why = str(error).partition(";")[0]
    if len(commits) < MIN_COMMITS:
        simulation = describe_source(packaged(f"{SIMULATION}.jsonl.gz"))
        return _of_sessions(
            f"simulation, since {why}. {simulation}", load_logs(SIMULATION)[0]
        )
    _, make_log = part(
        name,
        record_commits,
        commits,
        lambda commit: commit.sha[:12],
    )
    first, last = (to_iso(commit.at)[:10] for commit in (commits[0], commits[-1]))
    source = f"git history of {name}: {len(commits)} commits, {first} to {last}"
    return TourHistory(
        source, log_of_commits(commits), make_log(), "commit", repository=folder
    )


def transcripts_of(path: Path) -> TourHistory:
    """Return the sessions of coding agents in a file or folder.

    Of several projects it is the one with the most sessions.

    Raises:
        InvalidInput: As `load_logs` does.
    """
    if not path.exists():
        raise InvalidInput(
            f"got the transcripts {path}, which do not exist; give a file or folder of"
            " agents' sessions"
        )
    logs = load_logs(f"transcripts:{path}")
    log = max(logs, key=_n_sessions)
    first_day = to_iso(min(line.at for line in log.lines))[:10]
    last_day = to_iso(max(line.at for line in log.lines))[:10]
    source = f"{_n_sessions(log)} sessions of {log.name}, {first_day} to {last_day}"
    if len(logs) > 1:
        source += f"; the largest of {len(logs)} projects"
    return _of_sessions(source, log)


def _n_sessions(log: EvalLog) -> int:
    """Return how many sessions a log has."""
    return len({line.session for line in log.lines})


def _of_sessions(source: str, log: EvalLog) -> TourHistory:
    """Return a history of sessions; each session is an event of the access log."""
    accesses: list[tuple[int, str, object, bool]] = []
    for line in log.lines:
        for file in (*line.reads, *line.edits):
            accesses.append((line.at, file, line.session, False))
    return TourHistory(source, AccessLog.of(accesses, of_files=True), log)


def run_tour(
    repository: Path | None = None,
    *,
    transcripts: Path | None = None,
    now: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Tour:
    """Remember a history, and show what the next session would be given.

    A law is fitted too, and adopted where `tune` advises it. The memory lives in a
    temporary home; the user's own is not touched.

    Args:
        repository: The git repository; without it and `transcripts` that of the current
            folder, as `history_of` says.
        transcripts: Sessions of coding agents, in the place of a repository.
        now: The memory's present, in µs UTC; the history's last moment by default.
        seed: Draws the bootstrap.
        progress: Whether there is a bar (None: in a terminal or notebook).
    """
    started = time.perf_counter()
    history = (
        history_of(repository) if transcripts is None else transcripts_of(transcripts)
    )
    tuning, unfit = _tuned(history.log, seed)
    config = dict(tuning.advice["config"]) if tuning else {}
    present = (
        now if now is not None else max(line.at for line in history.lived.lines) + 1
    )
    clock = FixedClock(present)
    with (
        Lab.temporary(clock=clock, **config) as lab,
        Lab.temporary(clock=clock, **config) as notes,
    ):
        tiers = _remembered(lab, notes, history.lived)
        replayed = _replayed(history, lab, seed, progress)
        tokens = lab.settings.context_tokens
        if history.repository is None:
            context = lab.briefing(tokens=tokens)
        else:
            # No session is recorded: an agent is told what the git history tells.
            context = briefing_of_repository(
                history.repository, present, tokens=tokens, in_haste=False
            )
        figures = _figures(notes, history, tuning, replayed)
        settings = {
            "decayLaw": lab.settings.decay_law,
            "decayParams": dict(lab.settings.decay_params),
        }
    return Tour(
        history.source,
        tuning,
        unfit,
        settings,
        replayed,
        history.unit,
        tiers,
        context,
        len(history.lived.events),
        present,
        time.perf_counter() - started,
        figures,
    )


def _tuned(log: AccessLog, seed: int) -> tuple[Tuning | None, str]:
    try:
        return tune(log, seed=seed), ""
    except InvalidInput as error:  # too few questions: then the default settings stay
        return None, str(error)


def _remembered(
    lab: Lab,
    notes: Lab,
    log: EvalLog,
) -> dict[str, int]:
    """Let `lab` take in what happened, and `notes` what was said, as notes.

    It returns how many concepts of it each tier has. Concepts are drawn from notes
    alone, and notes would stand in the context beside the captures that say the same.
    """
    lab.journal.append(log.events, allow_future=True)
    for design in lab.home.designs:
        if design.reads_sessions:
            for step in design.steps:
                step.run(lab.home, None)
    texts = (
        (
            line.at,
            (line.prompt or line.message).replace("\0", " ").strip()[:_MOST_LETTERS],
        )
        for line in log.lines
    )
    notes.write_all(
        [
            ObservationEntry(text, _AGENT, at=at, source="import")
            for at, text in texts
            if text
        ],
        imported=True,
    )
    return notes.theorex.scan().tiers


def _replayed(
    history: TourHistory, lab: Lab, seed: int, progress: bool | None
) -> SessionReplay | None:
    """Replay the last sessions, or as many of the last third of the commits.

    Returns None where there are too few.
    """
    n_sessions = len(scenes(history.lived))
    if not n_sessions:
        return None
    last = _MOST_SESSIONS[history.unit]
    if history.unit == "commit":
        last = min(last, max(1, n_sessions // 3))
    return replay_sessions(
        history.lived,
        tokens=lab.settings.context_tokens,
        also=(SMALL_BUDGET,),
        last=last,
        settings=lab.settings,
        seed=seed,
        progress=progress,
    )


def _worth(replayed: SessionReplay, unit: str) -> str:
    """Return a table in words: a row a memory, a column a budget; for diagnosis alone.

    The difference to the files touched last stands below.
    """
    budgets = replayed.compared.plan.budgets
    gains = [replayed.gain(tokens) for tokens in budgets]
    rows = {
        "": [f"in {tokens} tokens" for tokens in budgets],
        "this briefing": _percents(replayed, replayed.design),
        "files touched last": _percents(replayed, RECENT),
        "nothing": _percents(replayed, NOTHING),
        "difference in points": [_points(gain) for gain in gains],
    }
    widths = [len(cell) for row in rows.values() for cell in row]
    width = max(widths) + 2
    lines = [
        f"How many names it holds, for diagnosis: of the known files that a {unit}"
        f" touched, the share that a briefing of the {unit}s before it named.",
        "A briefing is made of statements, and a list of names wins here. How much it"
        " tells of what agents needed to know is measured by `theorex eval needs`.",
    ]
    for name, row in rows.items():
        cells = "".join(f"{cell:<{width}}" for cell in row)
        lines.append(f"  {name:<22}" + cells.rstrip())
    lines += [
        (
            f"Mean of {gains[0].n} {unit}s that touched any, among the last"
            f" {len(replayed)} of {replayed.of}, with its 95 % interval;"
        ),
        (
            "the difference is to the files touched last, which have the whole budget"
            " for paths and hold no sentence."
        ),
    ]
    return "\n".join(lines)


def _percents(replayed: SessionReplay, name: str) -> list[str]:
    """Return a memory's share of the needed files in each budget."""
    return [
        _percent(replayed, name, tokens) for tokens in replayed.compared.plan.budgets
    ]


def _points(gain: ScoreDifference) -> str:
    """Return a difference in points with its interval and verdict."""
    interval = f"({100 * gain.ci_low:+.0f} to {100 * gain.ci_high:+.0f})"
    return f"{100 * gain.value:+.0f} {interval}: {gain.verdict}"


def _percent(
    replayed: SessionReplay,
    name: str,
    tokens: int,
) -> str:
    value, ci_low, ci_high, _ = replayed.values(tokens)[name]
    return f"{value:.0%}" + (
        f" ({100 * ci_low:.0f} to {100 * ci_high:.0f})" if ci_high > ci_low else ""
    )


def _figure(replayed: SessionReplay, unit: str) -> dict[str, Any]:
    """Return the closing figure for JSON.

    By budget and memory it has the share with its interval, and the difference to
    recency.
    """
    by_budget = {}
    for tokens in replayed.compared.plan.budgets:
        values: dict[str, Any] = {
            **replayed.values(tokens),
            "gain": replayed.gain(tokens),
        }
        by_budget[str(tokens)] = {
            name: value._asdict() for name, value in values.items()
        }
    return {
        "unit": unit,
        "replayed": len(replayed),
        "of": replayed.of,
        "tokens": by_budget,
    }


def _figures(
    lab: Lab,
    history: TourHistory,
    tuning: Tuning | None,
    replayed: SessionReplay | None,
) -> dict[str, str]:
    """Return caption -> the picture as base64 PNG."""
    pictures: dict[str, Any] = {}
    if replayed is not None:
        pictures[
            f"What the context would have named, {history.unit} by {history.unit}."
        ] = replayed.plot
    if tuning is not None:
        caption = (
            "How well each law predicts the known files touched next (mean reciprocal"
            " rank, 95 % interval)."
        )
        pictures[caption] = tuning.plot
    pictures["The strongest concepts and their links."] = partial(
        decay.plot_graph, lab.theorex.axon().graph()
    )
    return {
        caption: base64.b64encode(drawn(draw)).decode()
        for caption, draw in pictures.items()
    }
