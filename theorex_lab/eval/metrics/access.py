"""Read access logs from git, files and the journal, and fit a decay law to one.

A log says which items were used when; `tune` finds the law that predicts such a log
best. It chooses the thresholds by the tokens that keeping costs and by the items that
were forgotten and then asked for again.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import (
    EARLIEST,
    LATEST,
    MICROSECONDS_PER_DAY,
    to_microseconds,
)
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.progress import working
from theorex_lab.core.settings import Settings, check_settings
from theorex_lab.eval.datasets.git_history import Commit, git_commits
from theorex_lab.eval.metrics.access_log import AccessLog, split
from theorex_lab.eval.metrics.file_order_scores import (
    steps_of_access_log,
    steps_of_sessions,
)
from theorex_lab.eval.metrics.fitting import FILE_POWERS, PRESENT, Fit, fit
from theorex_lab.eval.replay.decay_replay import replay_all
from theorex_lab.eval.replay.event_log import EventLog
from theorex_lab.eval.replay.kept_calls import KeptCall, SharedCalls
from theorex_lab.eval.replay.trial_files import (
    LogReference,
    file_key,
    package_code,
    write_source,
)
from theorex_lab.files.formats.flat_files import each_noted, parse_object
from theorex_lab.files.isolated.limits import unpacked
from theorex_lab.memory.decay import Floats, Law, make_law
from theorex_lab.memory.file_order import WorkStep
from theorex_lab.memory.intervals import bootstrap_means
from theorex_lab.memory.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from theorex_lab.eval.adapters.protocol import EvalLog


MIN_DAYS, MIN_EVENTS = (
    14.0,
    60,
)  # of a history that tells anything of half-lives of days
MICROSECONDS_PER_SECOND = 1_000_000
SHOWN_BAD_ROWS = 5
TRUE_WORDS = {"true", "1", "yes"}
FALSE_WORDS = {"false", "0", "no", ""}
COST = "mean_context_tokens"
LOSS = "absent_rate"
_SCANS = 60
# From the strictest on: of equal ones that is chosen. A law whose importance is a
# chance of use needs low ones, closely.
_THRESHOLDS = tuple(hundredths / 100 for hundredths in range(50, 0, -1))
_ACTIVE_OF_MILD = 2.0  # as the defaults have it: .6 of .3

Access = tuple[
    int, str, object, bool
]  # time in microseconds, item, event or None, deleted


def log_of_commits(commits: Iterable[Commit]) -> AccessLog:
    """Return the access log of commits: an event each.

    Its files are the items, under the names that the commits have for them.
    """
    return AccessLog.of(_accesses(commits), of_files=True)


def _accesses(commits: Iterable[Commit]) -> Iterator[Access]:
    """Yield a row for each file of each commit."""
    for commit in commits:
        for status, path in commit.files:
            yield commit.at, path, commit.sha, status == "D"


def from_git(path: str | Path) -> AccessLog:
    """Return the files that each commit of a git repository touched, named as at HEAD.

    Raises:
        InvalidInput: As `git_commits`.
    """
    return log_of_commits(git_commits(path))


def from_git_touches(file: str | Path) -> AccessLog:
    """Return the access log of a saved `git log`.

    Args:
        file: The output of `git log --name-status --format='%x01%H %ct'`, plain or
            gzipped.

    Raises:
        InvalidInput: The file cannot be read; or some lines cannot, the first few of
            which are named.
    """
    return _log(_read_lines(file), _touches(), file, of_files=True)


def _touches() -> Callable[[str], Access | None]:
    commit: list[tuple[str, int]] = []

    def read(line: str) -> Access | None:
        if line.startswith("\x01"):
            commit.clear()
            sha, _, seconds = line[1:].partition(" ")
            commit.append((sha, _time(seconds)))
            return None
        status, tab, path = line.partition("\t")
        if not tab or not path:
            raise InvalidInput(
                f"got {line[:60]!r}; allowed are a status, a tab and a path"
            )
        if not commit:
            raise InvalidInput("got a file before the first readable commit line")
        sha, at = commit[0]
        return at, path, sha, status.startswith("D")

    return read


def from_jsonl(file: str | Path) -> AccessLog:
    """Return the access log of a JSON Lines file, plain or gzipped.

    Each line is an object of time, item and, if it has them, event and deleted. `time`
    is ISO 8601 with an offset, or unix seconds. Rows of one `event` happened together.

    Raises:
        InvalidInput: Rows are bad; the first few are named.
    """
    return _log(_read_lines(file), _json_row, file)


def _json_row(line: str) -> Access:
    fields = parse_object(line.encode())
    item = fields.get("item")
    if not isinstance(item, str) or not item:
        raise InvalidInput(
            f"got the item {item!r}; allowed is a text that is not empty"
        )
    event = fields.get("event")
    if isinstance(event, list | dict):
        raise InvalidInput(f"got the event {event!r}; allowed is a text or a number")
    deleted = str(fields.get("deleted") or "").strip().lower()
    if deleted not in TRUE_WORDS | FALSE_WORDS:
        raise InvalidInput(
            f"got deleted {fields['deleted']!r}; allowed are true, false, 1, 0, yes, no"
            " or nothing"
        )
    return (
        _time(fields.get("time")),
        item,
        None if event in (None, "") else event,
        deleted in TRUE_WORDS,
    )


def _time(value: object) -> int:
    """Return microseconds of ISO 8601 with an offset, or of unix seconds."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidInput(
            f"got the time {value!r}; allowed are ISO 8601 with an offset, or unix"
            " seconds"
        )
    try:
        seconds = float(value)
    except ValueError:
        return to_microseconds(str(value))
    if not EARLIEST <= seconds * MICROSECONDS_PER_SECOND <= LATEST:
        raise InvalidInput(
            f"got the time {value!r}; allowed are unix seconds within the years 1 to"
            " 9999"
        )
    return round(seconds * MICROSECONDS_PER_SECOND)


def _read_lines(file: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the place and text of each line that is not blank."""
    path = Path(file)
    try:
        with (
            path.open("rb") as raw,
            io.TextIOWrapper(
                unpacked(raw) if path.suffix == ".gz" else raw,
                encoding="utf-8-sig",
                newline="\n",
            ) as lines,
        ):
            for number, line in enumerate(lines, start=1):
                if line.strip("\r\n"):
                    yield f"row {number}", line.rstrip("\r\n")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InvalidInput(
            f"got the log {file}, which cannot be read: {error}; give a text file in"
            " UTF-8"
        ) from error


def _log(
    numbered_lines: Iterable[tuple[str, str]],
    read: Callable[[str], Access | None],
    source: str | Path,
    *,
    of_files: bool = False,
) -> AccessLog:
    problems: list[str] = []
    log = AccessLog.of(
        (row for _, row in each_noted(problems, numbered_lines, read)),
        of_files=of_files,
    )
    if problems:
        first_problems = "; ".join(
            problem.lstrip(": ") for problem in problems[:SHOWN_BAD_ROWS]
        )
        raise InvalidInput(
            f"{source} has {len(problems)} bad rows: {first_problems}. Mend or remove them"
        )
    return log


def from_sessions(name: str | Path) -> AccessLog:
    """Return the files that coding sessions read or edited, an event a turn.

    Args:
        name: A name or path as of `load_logs`.

    Raises:
        InvalidInput: No session touched a file; or `load_logs` raises it.
    """
    from theorex_lab.eval.datasets.logs import load_logs

    return _log_of_sessions(load_logs(str(name)), name)


def _log_of_sessions(logs: Sequence[EvalLog], name: str | Path) -> AccessLog:
    """Return the files that recorded sessions read or edited, an event a turn.

    Raises:
        InvalidInput: No session touched a file.
    """
    rows = list[Access]()
    for log in logs:
        turn_of = Counter[str]()
        prefix = f"{log.name}/" if len(logs) > 1 else ""
        for line in sorted(log.lines, key=lambda line: line.at):
            turn_of[line.session] += bool(line.prompt)
            event = f"{log.name} {line.session} {turn_of[line.session]}"
            for path in (*line.reads, *line.edits):
                rows.append((line.at, prefix + path, event, False))
    if not rows:
        raise InvalidInput(
            f"got the sessions {name!r}, in which no file was read or edited; give"
            " other ones"
        )
    return AccessLog.of(rows, of_files=True)


@dataclass(frozen=True)
class ProjectLog:
    """What was used when, and the steps of one project.

    Attributes:
        accesses: The accesses.
        steps: The commits or sessions, with the files that they changed; none of a log
            that is not of the files of one project.
        unit: What a step is, in the plural; '' without steps.
    """

    accesses: AccessLog
    steps: tuple[WorkStep, ...] = ()
    unit: str = ""


def load_log(path: str | Path, format: str | None = None) -> AccessLog:
    """Return the access log at a path.

    Without a format its name decides: a git repository, else .jsonl or touches. Another
    folder, and a name that is no path, are `sessions`: transcripts, or a data set that
    `load_logs` knows.

    Raises:
        InvalidInput: The format is unknown; or the format's own reader raises it.
    """
    return _READERS[_checked_format(path, format)](path)


def load_project_log(path: str | Path, format: str | None = None) -> ProjectLog:
    """Return the access log at a path, with the steps of the project.

    Args:
        path: As of `load_log`.
        format: As of `load_log`.

    Raises:
        InvalidInput: As `load_log`.
    """
    from theorex_lab.eval.datasets.logs import load_logs

    if _checked_format(path, format) == "sessions":
        logs = load_logs(str(path))
        accesses = _log_of_sessions(logs, path)
        if len(logs) > 1:
            return ProjectLog(accesses)
        return ProjectLog(accesses, tuple(steps_of_sessions(logs[0])), "sessions")
    accesses = load_log(path, format)
    if not accesses.of_files:
        return ProjectLog(accesses)
    return ProjectLog(accesses, tuple(steps_of_access_log(accesses)), "commits")


def _checked_format(path: str | Path, format: str | None) -> str:
    """Return the format of a log, guessed where none is named.

    Raises:
        InvalidInput: The format is unknown, or the path tells none.
    """
    format_name = format or _format_of(Path(path))
    if format_name not in _READERS:
        raise InvalidInput(
            f"got the format {format!r}; allowed are {', '.join(_READERS)}"
        )
    return format_name


_READERS: dict[str, Callable[[str | Path], AccessLog]] = {
    "git": from_git,
    "git-touches": from_git_touches,
    "jsonl": from_jsonl,
    "sessions": from_sessions,
}


def _format_of(path: Path) -> str:
    """Return the format that a path stands for.

    Raises:
        InvalidInput: The path tells none.
    """
    if path.is_dir():
        is_repository = (path / ".git").exists()
        has_transcripts = any(path.rglob("*.jsonl"))
        return "sessions" if has_transcripts and not is_repository else "git"
    from theorex_lab.eval.datasets.logs import GIVEN, LOGS

    set_name = str(path).partition("/")[0].partition(":")[0]
    if not path.exists() and (set_name in LOGS or set_name in GIVEN):
        return "sessions"
    formats = {".jsonl": "jsonl", ".ndjson": "jsonl", ".log": "git-touches"}
    suffix = path.suffix
    if suffix == ".gz":
        suffix = path.with_suffix("").suffix
    if suffix not in formats:
        help_text = (
            f"name one of {', '.join(_READERS)}; of recorded sessions, transcripts or"
            f" one of {', '.join(LOGS)}"
        )
        raise InvalidInput(
            f"got the log {path}, whose format its name does not tell; {help_text}"
        )
    return formats[suffix]


@dataclass(frozen=True)
class Tuning(Rows[dict[str, Any]]):
    """The law that fits a log, as settings to adopt.

    It has the rows of its `Fit`, and a picture.

    Attributes:
        thresholds: The activeThreshold and mildThreshold that fit the law; none where
            the default ones stay.
        advice: What to adopt, as `tune` says.
        held_back: See `held_back`.
        lost: What no worker survived; then nothing is advised.
        n_taken_over: How many results are of an earlier run.
        file_problems: What was wrong with files of an earlier run.
    """

    fit: Fit
    thresholds: Mapping[str, float] = field(default_factory=dict)
    advice: Mapping[str, Any] = field(default_factory=dict)
    held_back: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    n_taken_over: int = 0
    file_problems: tuple[str, ...] = ()

    @property
    def law(self) -> Law:
        """Return the fitted law."""
        return make_law(self.fit.law, **self.fit.params)

    def _records(self) -> Sequence[dict[str, Any]]:
        return self.fit[:]

    def config_lines(self) -> dict[str, Any]:
        """Return the settings to adopt.

        They are decayLaw, decayParams, halfLifeDays where the product law was chosen,
        and thresholds.
        """
        params = dict(self.fit.params)
        lines: dict[str, Any] = {"decayLaw": self.fit.law, "decayParams": params}
        if self.fit.law == "product":
            lines["halfLifeDays"] = params.pop("half_life_days")
        return {**lines, **self.thresholds}

    def result(self) -> dict[str, Any]:
        """Return the figures as values for JSON.

        They are chosen, law, params, scores, n_train, n_scored, horizon_days, advice
        and held_back.
        """
        return {
            **asdict(self.fit),
            "advice": dict(self.advice),
            "held_back": dict(self.held_back),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the MRR of each law with its 95 % interval, best on top.

        It is drawn by `eval.plots.decay.plot_law_scores`.
        """
        from theorex_lab.eval.plots.decay import plot_law_scores

        return plot_law_scores(self.frame, n_scored=self.fit.n_scored, ax=ax)

    def __repr__(self) -> str:
        return f"Tuning({self.fit!r})"


def tune(
    log: AccessLog,
    seed: int = 0,
    laws: Sequence[Law] = (),
    *,
    executor: Executor | None = None,
    workers: int = 1,
    out: str | Path | None = None,
) -> Tuning:
    """Fit a decay law to an access log, and thresholds to it.

    The law is fitted as `eval.metrics.fitting.fit` does, the thresholds as
    `fitted_thresholds` does.

    Settings are advised only where the held-out events say, with the whole 95 %
    interval, that they are better, where neither recency nor frequency ranks these
    events better, and where the history is at least 14 days and 60 events long. For a
    log of files the advice is the sessions' `agePower`, its gain in MRR; else it is the
    law and thresholds of concepts, its gain in what was absent.

    Args:
        log: The accesses.
        seed: Draws the bootstrap intervals.
        laws: Your own laws, which are scored with the others.
        executor: Any of `concurrent.futures`, Dask's too. A law is tried by a call of
            its own, which gets a reference to the log.
        workers: How many processes share the calls, where no executor is given. A call
            whose process dies is tried twice more, by itself, and then named in `lost`.
        out: A folder in which the result of each call is kept as it ends. What is
            there for the same log, law and code is not tried again.

    Returns:
        The fitted law and its scores, the same whoever tries them; `advice` is {adopt,
        config, why, gain, ci_low, ci_high}.

    Raises:
        InvalidInput: The log asks fewer than six questions, or its held-out events
            have one time.
    """
    _check_times(log)
    shared = SharedCalls.of(executor, workers, out)
    with shared.log_folder() as folder:
        source = None if folder is None else _written(log, folder)
        with working("fits the laws"):
            fitted = fit(log, seed=seed, laws=laws, source=source, shared=shared)
        tuning = Tuning(fitted)
        with working("fits the thresholds"):
            thresholds = _kept(
                shared, source, fitted_thresholds, log, tuning.config_lines()
            )
        with working("scores the settings on the held-out events"):
            settings = {**tuning.config_lines(), **(thresholds or {})}
            comparison = _kept(shared, source, held_back, log, settings, seed)
    advice = _advised(log, tuning.fit, comparison, shared.lost)
    return Tuning(
        tuning.fit,
        thresholds or {},
        advice,
        comparison or {},
        lost=tuple(shared.lost),
        n_taken_over=shared.n_taken_over,
        file_problems=shared.file_problems,
    )


def _written(log: AccessLog, folder: Path) -> LogReference:
    """Write a log for the processes that try laws on it."""
    digest = hashlib.sha256(json.dumps([log.items, log.of_files]).encode())
    for column in (log.time, log.item, log.event, log.deleted):
        digest.update(np.ascontiguousarray(column).tobytes())
    return write_source(log, "accesses", folder, content=digest.hexdigest())


def _kept(
    shared: SharedCalls,
    source: LogReference | None,
    function: Callable[..., dict[str, Any]],
    log: AccessLog,
    *arguments: Any,
) -> dict[str, Any] | None:
    """Return what a function makes of a log, there or here; None where it was lost."""
    if source is None:
        return function(log, *arguments)
    name = function.__name__
    call = KeptCall(name, _on_log, (function, source, *arguments), dict[str, Any])
    if shared.files is not None:
        key = file_key(source.content, name, package_code(), repr(arguments))
        call = call._replace(key=key, folder=str(shared.files.folder))
    (result,) = shared.results([call], what=name, progress=False)
    return None if result is None else dict(result)


def _on_log(
    function: Callable[..., dict[str, Any]], source: LogReference, *arguments: Any
) -> dict[str, Any]:
    return function(source.read(), *arguments)


def _advised(
    log: AccessLog,
    fitted: Fit,
    compared: Mapping[str, Mapping[str, Any]] | None,
    lost: Sequence[str],
) -> dict[str, Any]:
    """Return what to adopt: nothing where something could not be scored."""
    if lost or compared is None:
        return {
            "adopt": False,
            "config": {},
            "why": f"keep what you have: {', '.join(lost)} could not be scored",
            "gain": math.nan,
            "ci_low": math.nan,
            "ci_high": math.nan,
        }
    advice = _advice_on_files(fitted) if log.of_files else _advice_on_concepts(compared)
    if advice["adopt"]:
        advice = _unless_simpler_is_better(advice, fitted.simple_gains)
    n_events = fitted.n_train + fitted.n_scored
    if fitted.days < MIN_DAYS or n_events < MIN_EVENTS:
        shortage = (
            f"the log has {n_events} events over {fitted.days:.1f} days; a fit needs"
            f" {MIN_EVENTS} over {MIN_DAYS:g}"
        )
        advice = {
            **advice,
            "adopt": False,
            "config": {},
            "why": f"keep what you have: {shortage} days",
        }
    return advice


def _check_times(log: AccessLog) -> None:
    """Refuse a log in which no time passes while its held-out events happen.

    Raises:
        InvalidInput: They have one time.
    """
    if _held_out_from(log) < int(log.time[-1]):
        return
    n_times = len(np.unique(log.time))
    times = "one time" if n_times == 1 else f"{n_times} times"
    raise InvalidInput(
        f"got a log of {len(log.starts)} events with {times}, and none between the"
        " held-out events; allowed are events at different times, since a decay law"
        " predicts from earlier uses what is used again"
    )


def _held_out_from(log: AccessLog) -> int:
    """Return the time of the first event that a fit is scored on."""
    first_scored = split(log)[1][0]
    return int(log.time[np.searchsorted(log.event, first_scored)])


def _advice_on_files(fitted: Fit) -> dict[str, Any]:
    """Return whether to adopt the order of files that fits, and why."""
    power = FILE_POWERS[fitted.files]
    remark = ""
    choice_gain = fitted.gains[fitted.chosen]
    if fitted.chosen not in FILE_POWERS and choice_gain["mean"] > 0:
        remark = (
            f"; {fitted.chosen}, which no setting gives files yet:"
            f" {_interval(choice_gain)}"
        )
    claim = (
        f"ranking files by age^-{power:g} (designs.sessions.agePower), best on the"
        " events before, changes the MRR by"
    )
    config = {"designs": {"sessions": {"agePower": power}}}
    advice = _advice(config, claim, fitted.gains[fitted.files], remark)
    if fitted.files == PRESENT:  # nothing changes, so that there is no gain to tell
        advice["why"] = (
            f"keep what you have: files ranked by age^-{power:g}, the default of the"
            f" sessions, did best on the events before{remark}"
        )
    return advice


def _advice_on_concepts(compared: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return whether to adopt what was best before, and why.

    Of equal ones it is the first, the more generous.
    """
    name = min(compared, key=lambda each: compared[each]["earlier"])
    claim = (
        f"{_SAID[name]}, best on the events before, lowers the share absent of what is"
        " used again by"
    )
    remark = f", with {compared[name]['mean_context_tokens']:.0f} tokens in context"
    return _advice(
        compared[name]["config"],
        claim,
        compared[name],
        remark,
    )


def _advice(
    config: Mapping[str, Any], claim: str, gain: Mapping[str, Any], remark: str
) -> dict[str, Any]:
    """Return {adopt, config, why, gain, ci_low, ci_high} of a change of settings.

    Args:
        config: The settings to adopt.
        claim: What they change, in words before the gain.
        gain: The gain with its interval: mean, ci_low, ci_high.
        remark: What is said after the gain.
    """
    adopt = gain["ci_low"] > 0
    verdict = "adopt" if adopt else "keep what you have"
    return {
        "adopt": adopt,
        "config": config if adopt else {},
        "why": f"{verdict}: {claim} {_interval(gain)}{remark}",
        "gain": gain["mean"],
        "ci_low": gain["ci_low"],
        "ci_high": gain["ci_high"],
    }


def _unless_simpler_is_better(
    advice: Mapping[str, Any], simple_gains: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    """Return the advice, or to keep what is there where recency or frequency is better.

    Args:
        advice: The advice to adopt a law.
        simple_gains: As `Fit` has them.
    """
    for law, gain in simple_gains.items():
        if gain["ci_low"] > 0:
            why = (
                f"keep what you have: {law} ranks the held-out events better than the"
                f" fitted law, by {_interval(gain)} in MRR"
            )
            return {**advice, "adopt": False, "config": {}, "why": why}
    return dict(advice)


def _interval(gain: Mapping[str, Any]) -> str:
    return f"{gain['mean']:+.3f} [{gain['ci_low']:+.3f}, {gain['ci_high']:+.3f}]"


_SAID = {
    "budget": "a context by rank alone until its budget is full",
    "fitted_budget": "the fitted law by rank alone",
    "default": "the default",
    "fitted": "the fitted law with its thresholds",
}


def fitted_thresholds(log: AccessLog, law: Mapping[str, Any]) -> dict[str, float]:
    """Return activeThreshold and mildThreshold for a fitted law.

    Laws differ in their scale. The thresholds are those that forget least at no higher
    cost than the default settings', on the events before those that a fit is scored on;
    ACTIVE begins at twice MILD, as by default. The result is empty where none costs so
    little.

    Args:
        log: The accesses.
        law: The settings that name the law.
    """
    recorded = EventLog.of(log)
    scored_from = split(log)[1][0]
    until = int(log.time[np.searchsorted(log.event, scored_from) - 1])
    pairs = [
        {"activeThreshold": min(1.0, _ACTIVE_OF_MILD * mild), "mildThreshold": mild}
        for mild in _THRESHOLDS
    ]
    settings = [Settings()]
    settings += [check_settings({**law, **pair}) for pair in pairs]
    runs = replay_all(
        recorded,
        settings,
        every_days=_every_days(log, until),
        now=until,
    )
    default, *rows = [run.summary() for run in runs]
    affordable = []
    for number, row in enumerate(rows):
        if row[COST] <= default[COST]:
            affordable.append((row[LOSS], number))
    if not affordable:
        return {}
    _, best = min(affordable)
    return pairs[best]


def held_back(
    log: AccessLog, fitted: Mapping[str, Any], seed: int = 0
) -> dict[str, dict[str, Any]]:
    """Return figures of default and fitted settings on the later part.

    Each stands also without thresholds: a context by rank until its budget is full. The
    most generous come first.

    Returns:
        For each: `config`, mean_context_tokens, the absent_rate on the events that a
        fit is scored on, how much lower that is than the default's (`mean`) with its
        paired bootstrap interval over scans (`ci_low`, `ci_high`), and `earlier`, the absent
        rate before those events, by which one of them is chosen.
    """
    open_to_all = {"mildThreshold": 0.0}
    law = {
        name: value for name, value in fitted.items() if not name.endswith("Threshold")
    }
    configs = {
        "budget": open_to_all,
        "fitted_budget": {**law, **open_to_all},
        "default": {},
        "fitted": dict(fitted),
    }
    since = _held_out_from(log)
    every_days = _every_days(log, int(log.time[-1])) / 3
    runs = replay_all(
        EventLog.of(log),
        [check_settings(each) for each in configs.values()],
        every_days=every_days,
    )
    steps = np.stack([run.steps for run in runs])
    is_later = runs[0].times > since
    n_asked = steps[..., 6]
    n_absent = steps[..., 8]
    tokens = steps[..., 5]
    of_default = n_absent[list(configs).index("default")]
    fewer_absent = (of_default - n_absent)[:, is_later]
    mean_asked = float(n_asked[0, is_later].mean())
    gains_by_scan = fewer_absent / max(mean_asked, 1e-9)
    gains = bootstrap_means(gains_by_scan.T, seed=seed)

    def absent_rates(is_counted: NDArray[np.bool_]) -> Floats:
        """Return the share absent of what was asked for in some scans, by setting."""
        n_missing = n_absent[:, is_counted].sum(axis=1)
        n_all = n_asked[:, is_counted].sum(axis=1)
        rates: Floats = n_missing / np.maximum(n_all, 1)
        return rates

    columns = {
        COST: tokens[:, is_later].mean(axis=1),
        LOSS: absent_rates(is_later),
        "earlier": absent_rates(~is_later),
    }
    rows = {}
    for number, (name, gain) in enumerate(zip(configs, gains, strict=True)):
        figures = {column: float(values[number]) for column, values in columns.items()}
        rows[name] = {
            "config": configs[name],
            **figures,
            **asdict(gain),
        }
    return rows


def _every_days(log: AccessLog, until: int) -> float:
    """Return the days from one scan to the next, 1 or more, for so many scans."""
    days = (until - int(log.time[0])) / MICROSECONDS_PER_DAY
    return max(1.0, days / _SCANS)
