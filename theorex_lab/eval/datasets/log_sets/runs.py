"""Work of agents: their prompts, tools, last messages and how it came out."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from theorex_lab.core.clock import to_iso, to_microseconds
from theorex_lab.dispatch.bus import CallEnd, CallStart
from theorex_lab.eval.datasets import recorded_runs
from theorex_lab.eval.datasets.git_history import Commit, git_commits
from theorex_lab.eval.datasets.log_sets.simulated_facts import FACTS
from theorex_lab.eval.datasets.parsing import FailedRun, Reflexion, TauRun
from theorex_lab.eval.datasets.recorder import (
    MINUTE,
    SECOND,
    UNDATED,
    Parts,
    Recorder,
    part,
)
from theorex_lab.eval.datasets.sources import Activity
from theorex_lab.memory.observation import FIX_TYPE

_HOUR = 60 * MINUTE
_TERMINAL = "Computer_terminal"
_STARTED = to_microseconds(
    "2024-05-15T15:00:00Z"
)  # the time that tau-bench's agents are told


def taubench_airline() -> Parts:
    """Return tau-bench airline: 200 runs of an agent, trial by trial, an hour apart.

    A model plays the person.
    """
    yield part("taubench_airline", _taubench)


def _taubench(log: Recorder) -> None:
    for number, run in enumerate(
        sorted(
            recorded_runs.fetch_taubench_airline().runs,
            key=lambda run: (run.trial, run.task),
        )
    ):
        _tau_run(log, run, _STARTED + number * _HOUR)


def _tau_run(
    log: Recorder,
    run: TauRun,
    at: int,
) -> None:
    session = f"trial{run.trial}-task{run.task}"
    actions = iter(run.actions)
    for number, message in enumerate(run.messages):
        key = f"{session}:{number}"
        at_message = at + number * 10 * SECOND
        if message.role == "user":
            log.asked(key, at_message, message.text, session=session)
        elif message.role == "assistant" and message.text:
            log.answered(key, at_message, message.text, session=session)
        elif message.role == "tool" and (action := next(actions, None)):
            failed = (action.result or "").startswith("Error")
            log.used(
                key,
                at_message,
                action.name,
                action.arguments,
                response=action.result,
                session=session,
                ok=not failed,
            )
    ended = at + len(run.messages) * 10 * SECOND
    first_request = next(m.text for m in run.messages if m.role == "user")
    log.came_out(
        f"{session}:end",
        ended,
        first_request,
        f"reward {run.reward:g}",
        success=run.reward == 1,
        session=session,
    )


def reflexion_alfworld() -> Parts:
    """Return Reflexion on ALFWorld: 134 tasks in 15 trials, a day apart.

    After a failure the agent writes what it learnt. Before the next trial of a task
    that failed, its lessons are asked for. A task has no text here but its number.
    """
    yield part("reflexion_alfworld", _reflexion)


def _reflexion(log: Recorder) -> None:
    runs = recorded_runs.fetch_reflexion_alfworld()
    lessons: dict[int, list[str]] = defaultdict(list)
    for trial in range(len(runs.success)):
        at = UNDATED + trial * 24 * _HOUR
        for task, keys in lessons.items():
            if keys and not runs.success[trial - 1][task]:
                log.probe(
                    at,
                    f"{runs.environments[task]}: what was learnt when it failed?",
                    keys,
                )
        _trial(log, runs, trial, at, lessons)


def _trial(
    log: Recorder, runs: Reflexion, trial: int, at: int, lessons: dict[int, list[str]]
) -> None:
    for task, success in enumerate(runs.success[trial]):
        name = runs.environments[task]
        at_task = at + (1 + task) * MINUTE
        session = f"trial{trial}-{name}"
        log.came_out(
            session,
            at_task,
            name,
            "solved" if success else "not solved",
            success=bool(success),
            session=session,
        )
    for number, written in enumerate(runs.reflections):
        if written.after_trial == trial:
            name = runs.environments[written.environment]
            at_task = at + (1 + written.environment) * MINUTE + SECOND
            log.wrote(
                f"lesson{number}",
                at_task,
                f"{name}: {written.text.strip()}",
                source="agent",
                kind=FIX_TYPE,
            )
            lessons[written.environment].append(f"lesson{number}")


def whoandwhen() -> Parts:
    """Return Who&When: 126 failed runs of several agents, an hour apart.

    At the end each question asks for the decisive step.
    """
    yield part("whoandwhen", _whoandwhen)


def _whoandwhen(log: Recorder) -> None:
    runs = recorded_runs.fetch_whoandwhen().runs
    for number, run in enumerate(runs):
        _failed_run(log, run, UNDATED + number * _HOUR)
    for run in runs:
        log.probe(
            UNDATED + len(runs) * _HOUR, run.question, [f"{run.id}:{run.mistake_step}"]
        )


def _failed_run(
    log: Recorder,
    run: FailedRun,
    at: int,
) -> None:
    """Record a trace from its start to its failed end.

    It has the steps between, and the outcome.
    """
    session = f"run{run.id}"
    start = CallStart(
        f"whoandwhen-{run.id}",
        "main",
        at,
        run.question,
        "multi_agent",
        session=session,
        project=log.project,
    )
    ended = at + (1 + len(run.steps)) * 10 * SECOND
    end = CallEnd(start.trace_id, ended, success=False, error="a wrong answer")
    log.add(start.event())
    log.add(end.event(start))
    for number, step in enumerate(run.steps):
        key = f"{run.id}:{number}"
        at_step = at + (1 + number) * 10 * SECOND
        agent = re.sub(r"[^a-z0-9]+", "-", step.agent.lower()).strip("-")[:64] or "main"
        if step.agent == _TERMINAL:
            ok = "exitcode: 0" in step.text or "exitcode" not in step.text
            log.used(
                key,
                at_step,
                "terminal",
                {},
                response=step.text,
                session=session,
                ok=ok,
            )
        else:
            log.answered(key, at_step, step.text, agent=agent, session=session)
    log.came_out(
        f"{run.id}:end",
        ended + 1,
        run.question,
        "a wrong answer",
        success=False,
        session=session,
    )


def simulated_team() -> Parts:
    """Return the packaged simulation: made up, not recorded.

    When a failure comes back, the fixes that held are asked for, and at the end every
    fact that changed; the fixes that did not hold and the outdated facts are stale.
    """
    yield part("simulated_team", _simulated_team)


def _simulated_team(log: Recorder) -> None:
    """Record the activities of the team, and ask for fixes and changed facts."""
    activities = recorded_runs.load_simulated_team()
    # By cause: whether each fix held, by the number of its activity.
    fixes: dict[str, dict[int, bool]] = defaultdict(dict)
    for number, activity in enumerate(activities):
        cause = next((tag for tag in activity.tags if tag.startswith("cause:")), "")
        if activity.kind == "failure":
            _ask_for_fixes(log, activity, fixes[cause])
        _activity(log, number, activity)
        if activity.kind == "fix" and cause:
            fixes[cause][number] = bool(activity.success)
    _ask_changed_facts(log, activities)


def _ask_for_fixes(
    log: Recorder,
    failure: Activity,
    fixes: Mapping[int, bool],
) -> None:
    """Ask, right before a failure, for the fixes of its cause that held.

    Nothing is asked where none held; those that did not are stale.
    """
    held = [key for key, success in fixes.items() if success]
    failed = [key for key, success in fixes.items() if not success]
    if held:
        log.probe(
            failure.at - 1,
            failure.text,
            held,
            stale=failed,
        )


def _activity(
    log: Recorder,
    number: int,
    activity: Activity,
) -> None:
    at = activity.at
    text = activity.text
    agent = activity.agent
    session = activity.session
    if activity.kind == "commit":
        edits = [path for _, path in activity.files]
        log.used(
            number,
            at,
            "edit",
            {},
            response=text,
            edits=edits,
            agent=agent,
            session=session,
        )
        log.answered(
            f"{number}:message",
            at + 1,
            text,
            agent=agent,
            session=session,
        )
    elif activity.kind == "tool":
        ok = activity.success is not False
        log.used(
            number,
            at,
            "shell",
            {"command": text},
            response=text,
            ok=ok,
            agent=agent,
            session=session,
        )
    else:
        kind = {"fix": FIX_TYPE, "decision": "decision"}.get(activity.kind, "discovery")
        log.wrote(
            number,
            at,
            text,
            source="agent",
            kind=kind,
            agent=agent,
            session=session,
        )


def _ask_changed_facts(log: Recorder, activities: list[Activity]) -> None:
    """Ask, after the last activity, for every fact that changed."""
    facts: dict[int, str] = {}
    for number, activity in enumerate(activities):
        if activity.kind == "fact":
            facts[number] = activity.text
    for sentence, values in FACTS:
        statements = _statements(facts, sentence, values)
        if len({value for _, value in statements}) < 2:
            continue
        current_value = statements[-1][1]
        current = [key for key, value in statements if value == current_value]
        outdated = [key for key, value in statements if value != current_value]
        log.probe(
            activities[-1].at + 1,
            sentence.format("").strip(),
            current,
            words=(current_value,),
            stale=outdated,
        )


def _statements(
    facts: Mapping[int, str],
    sentence: str,
    values: Iterable[str],
) -> list[tuple[int, str]]:
    """Return which fact gives the sentence which of its values, in order."""
    statements: list[tuple[int, str]] = []
    for number, text in facts.items():
        for value in values:
            if sentence.format(value) in text:
                statements.append((number, value))
    return statements


def git(path: Path) -> Parts:
    """Return a git repository: each commit as an edit of its files.

    The subject of a commit is its last message; a day is a session.
    """
    yield part(
        f"git/{path.resolve().name}",
        record_commits,
        git_commits(path),
        lambda commit: to_iso(commit.at)[:10],
    )


def record_commits(
    log: Recorder, commits: Iterable[Commit], session_of: Callable[[Commit], str]
) -> None:
    """Record commits as they came; session_of: the session that each is of.

    A file has one name throughout, the one that its commits give it. A file that does
    not exist at the end is not recorded: the events hold no deletions, so that a memory
    would go on naming it. Every memory is then asked about files that exist.
    """
    for commit in sorted(commits, key=lambda commit: commit.at):
        edits = [path for _, path in commit.files if path not in commit.gone]
        session = session_of(commit)
        log.used(
            commit.sha,
            commit.at,
            "git commit",
            {},
            response=None,
            edits=edits,
            session=session,
        )
        log.answered(
            f"{commit.sha}:message", commit.at + 1, commit.subject, session=session
        )
