"""`--json`: what each command prints has the fields that its help names.

Every command is run once in a small home, in the order of the table; what one prints is
an argument of later ones.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from conftest import Ended
from first_day import Newcomer
from hostile_server import HostileServer, completion
from json_fields import differences, forms_in, nested_fields, objects_in, remarks_in
from PIL import Image
from test_ingest_media import film, scenes

from theorex_lab.app import cli
from theorex_lab.app.cli import theorex

PROGRAMS = Path(sys.executable).parent
ROLES = [{"agentId": "sage", "role": "orchestrator", "capabilities": ["code"]}]


class Case(NamedTuple):
    """A call of a command.

    Attributes:
        path: The words of the command after `theorex`.
        arguments: What follows them; {name} stands for what an earlier call saved.
        form: Which of the forms in its help the answer has.
        remarks: Fields that stand beside the form, as words of the help.
        saves: What is kept for later calls: the way to a value in the answer, by name.
        folder: The folder that it is called in, within the working folder.
    """

    path: str
    arguments: str = ""
    form: int = 0
    remarks: tuple[str, ...] = ()
    saves: dict[str, str] = {}  # noqa: RUF012 - no case changes it
    folder: str = "."


CASES = [
    # the first day
    Case("write", "--session s --type decision 'The till rounds each line'"),
    Case("write", "'The shelf is counted on Monday'", saves={"second": "event_id"}),
    Case("write", "'Another shop writes too'", folder="../other"),
    Case("embed"),
    Case("search", "till --agent main"),
    Case("search", "till --why", 1),
    Case("import", "--transcripts {transcripts} --trusted", 1),
    Case("briefing", "", saves={"line": "lines.0.id", "other": "lines.1.id"}),
    Case("briefing", "--given", 1),
    Case("install-hooks", "--yes --settings settings.json"),
    Case("status"),
    Case("doctor"),
    Case("tour"),
    # what comes back
    Case("pin", "{line}"),
    Case("pin", "{line} --undo"),
    Case("dismiss", "{line}"),
    Case("dismiss", "{line} --undo"),
    Case("correct", "{line} 'Prices are cents'"),
    Case("trust", "{other}"),
    # bring in and look after
    Case("ingest", "docs"),
    Case("ingest", "--kind code till"),
    Case("maintain", "--replay --no-vectors --design facts", 1),
    Case(
        "maintain", "--design facts --design dreams --design causal --design research"
    ),
    Case("maintain", "--schedule cron", 2),
    Case("audit"),
    Case("projects", saves={"old": "projects.0.project", "new": "projects.1.project"}),
    Case("projects merge", "{old} {new}"),
    # models
    Case("config", "models {models}", 1),
    Case("config", 'reviewers ["only"]', 1),
    Case("config", "roles {roles}", 1),
    Case("config", "halfLifeDays", 0),
    Case("config", "--unset halfLifeDays", 1),
    Case("config"),
    Case("route", "'extract a method'"),
    Case("dispatch", "'extract a method' --tag code", saves={"trace": "trace_id"}),
    Case("traces"),
    Case("traces", "{trace}", 1),
    Case("matrix"),
    # outcomes
    Case("outcome", "--decision d --result r --fail --tags code"),
    Case(
        "outcome",
        "--decision e --result r --success --judge",
        0,
        ("judge_score", "problem"),
    ),
    Case("outcome", "--trace-id {trace} --result 'it broke' --fail"),
    Case("outcomes"),
    Case("outcomes", "--judge", 1),
    Case("review", "--reviewer heuristic"),
    Case("policy", "--snapshot", 2),
    Case("policy"),
    Case("policy", "--test", 1),
    Case("policy", "--rollback 1", 2),
    # which memory works
    Case("tune", "--log ."),
    Case("eval", "causal --dataset simulated_sessions", 2),
    Case("eval", "costs --dataset local_runs", 3),
    Case(
        "compare", "--log {transcripts} --design sessions --design bm25 --budgets 500"
    ),
    Case("data list"),
    Case("data get", "simulated_team local_runs"),
    Case("lab", "--folder own"),
    Case("serve", "--port 0"),
    Case("mcp", "--port 0"),
    Case("commands"),
    # tiers
    Case("tiers scan"),
    Case("tiers flush", "--session s"),
    Case("tiers graduate"),
    Case("tiers promote"),
    Case("tiers prune"),
    Case("tiers query-shared"),
    Case("tiers moment", "'The day the till stood still'"),
    Case("tiers drift"),
    Case("tiers context-monitor", "--session s --context 5"),
    Case("tiers boot-inject"),
    Case("tiers boot-aware"),
    Case("tiers flash-inject", "--session s"),
    Case("tiers session-summary", "--next 'count the shelves'"),
    Case("tiers synthesize", "'The till was slow. A cache made it fast.'"),
    Case("tiers ingest-code", "stock"),
    Case("tiers ingest-image", "till.png"),
    Case("tiers ingest-video", "till.mp4"),
    Case("tiers role-route", "'fix the till'"),
    Case("tiers roles"),
    Case("tiers energy-check"),
    Case("tiers trace-stats"),
    Case("tiers trace-emit", "calls.jsonl"),
    Case("tiers trace-events", "call-1"),
    Case("tiers matrix-build"),
    Case("tiers matrix-show"),
    Case("tiers evolve-status"),
    Case("tiers evolve-review", "--reviewer heuristic"),
    Case("tiers policy-snapshot"),
    Case("tiers a2a-send", "--to sage --type review 'look'", saves={"task": "task_id"}),
    Case("tiers a2a-tasks", "--agent sage"),
    Case("tiers a2a-claim", "--agent sage --worker w"),
    Case("tiers a2a-complete", "{task} --worker w done"),
    Case(
        "tiers a2a-send", "--to sage --type review 'again'", saves={"task": "task_id"}
    ),
    Case("tiers a2a-claim", "--agent sage --worker w"),
    Case("tiers a2a-fail", "{task} --worker w no"),
    Case("tiers submit", "'add the till' --context 20"),
    Case("tiers export", "tiers-files"),
    # facts
    Case("facts signal", "--text 'Ann lives in York'"),
    Case(
        "facts write",
        "--entity people/ann --fact 'Lives in York'",
        saves={"fact": "id"},
    ),
    Case(
        "facts write",
        "--entity people/ann --fact 'Does not live in York'",
        saves={"fact2": "id"},
    ),
    Case("facts list"),
    Case("facts show", "{fact}"),
    Case("facts contradict"),
    Case("facts access", "--id {fact}"),
    Case("facts summary", "people/ann"),
    Case("facts render", "--output pages"),
    Case("facts add-session", "--platform chat --id 7"),
    Case("facts observe", "--text 'the build is slow'", saves={"note": "id"}),
    Case("facts tension", "--fact1 {fact} --fact2 {fact2} --text 'both at once'"),
    Case("facts tension", "", 1),
    Case("facts notes"),
    Case("facts review", "{note} archive"),
    Case("facts self add", "--text 'Ann owns the shop'"),
    Case("facts self render", "self"),
    Case("facts validate"),
    Case("facts dedup", "--seed"),
    Case("facts dedup", "--entity people/ann --fact 'Ann lives in York'", 1),
    Case("facts add-domain", "--domain digest --description 'Daily digest'"),
    Case("facts domain list"),
    Case("facts domain show", "digest"),
    Case("facts domain write", "digest status --text 'All is well'"),
    Case("facts domain propose", "digest --text 'Ten items'"),
    Case("facts domain propose", "digest --text 'Five items'"),
    Case("facts domain scan", saves={"proposal": "proposals.0.id"}),
    Case("facts domain accept", "digest {proposal}"),
    Case("facts domain scan", saves={"proposal2": "proposals.0.id"}),
    Case("facts domain reject", "digest {proposal2}"),
    Case("facts domain pause", "digest"),
    Case("facts domain render", "engram"),
    Case("facts domain import", "engram --trusted"),
    Case("facts handoff notes"),
    Case("facts handoff template", "domains"),
    Case("facts handoff run", "domains"),
    Case("facts init", "engram"),
    Case("facts migrate-v2", "engram"),
    Case("facts handoff parse", "--file engram/references/HB-DOMAINS.md"),
    Case("facts heartbeat", "--once"),
    Case("facts supersede", "{fact2} --why gone"),
    Case("facts archive", "people/ann"),
    # dreams
    Case("dreams run"),
    Case("import", "--transcripts {again} --trusted", 1),
    Case("dreams run"),
    Case("dreams strategies", saves={"strategy": "strategies.0.node_id"}),
    Case("dreams recall", "'print the tax on the receipt'"),
    Case("dreams traverse", "{strategy}"),
    Case("dreams undo", "{strategy}"),
    Case("dreams export", "memory.db"),
    Case("dreams import", "memory.db"),
    Case("dreams export-training-data", "--output chats.jsonl --outcome ''"),
    Case("dreams prepare-sft-dataset", "--input chats.jsonl"),
    Case("dreams isa-versions"),
    Case("dreams isa-parse", "program.isa"),
    Case("dreams isa-run", "program.isa"),
    Case("dreams demo", "stripe"),
    Case("dreams hypotheses"),
    # causal
    Case("causal snapshot", "--signals log_error"),
    Case("causal hypothesis", "--signals log_error --gene retry"),
    Case("causal attempt", "--signals log_error --gene retry", saves={"action": "id"}),
    Case("causal close", "--action {action} --status success"),
    Case("causal advice", "--signals log_error"),
    Case("causal genes"),
    Case("causal select", "--signals log_error"),
    Case("causal mutation", "--signals log_error"),
    Case("causal personality", "--set rigor=0.8"),
    Case("causal narrative"),
    Case("causal candidate", "capsule.json"),
    Case("causal export", "graph"),
    Case("causal import", "graph"),
    # research
    Case("research remember", "bound 'n log n'"),
    Case("research recall", "bound"),
    Case("research forget", "bound"),
    Case("research theorem add", "plus 'a + b = b + a'"),
    Case("research theorem add", "double 'a + a = 2 a'"),
    Case("research theorem link", "double plus"),
    Case("research theorem related", "double"),
    Case("research theorem import", "paper.mm"),
    Case("research theorem closure"),
    Case("research theorem premises", "'a + b'"),
    Case("research insight add", "pitfalls 'union bound' 'It is loose here'"),
    Case("research insight list"),
    Case("research insight inject", "'union bound' --session s"),
    Case("research skill inject", "--session s"),
    Case("research import", "old"),
    Case("research skill list"),
    Case("research skill stats", "counting --success"),
    Case("research post-run", "--session s"),
    Case("research export", "papers"),
    Case("research import", "papers"),
    # other products' memory tools
    Case("dropin call", "{memory_file}"),
    Case("dropin call", "{memory_view}"),
    Case("dropin graph"),
    # a past, day by day
    Case("import", "--transcripts {past} --trusted --replay --no-vectors", 2),
    # the home's files, last
    Case("backup", "shop.backup"),
    Case("sync"),
    Case("snapshot", "push"),  # of machines that share; see `test_view_sharing`
    Case("verify"),
    Case("archive", "--before 2026-01-02T00:00:00Z"),
    Case("export", "out"),
    Case("import", "out"),
    Case("erase", "{second}"),
    Case("restore", "shop.backup"),
    Case("verify", "--salvage", 1),
]
# Lists that are empty in this home, by command.
UNSEEN = {
    "status": {"bad_events"},
    "verify": {"bad_events"},
    "projects": {"hints"},
    "sync": {"hints"},  # of two machines; see `test_syncing`
    "tiers ingest-image": {"left_out"},
    "tiers ingest-video": {"left_out"},
    # It is written over MCP; see `test_mcp_reference`.
    "dropin graph": {"entities", "relations"},
}
# Forms that are printed of data that do not come with the package.
NEED_DATA = {("eval", 0), ("eval", 1), ("eval", 4), ("eval", 5)}


def _commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that can be called, with its path."""
    context = click.Context(theorex)
    for name in theorex.list_commands(context):
        yield from _below(name, theorex.get_command(context, name))


def _below(
    path: str, command: click.Command | None
) -> Iterator[tuple[str, click.Command]]:
    assert command is not None, path
    if not isinstance(command, click.Group) or command.callback is not None:
        yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _below(f"{path} {name}", command.get_command(context, name))


COMMANDS = dict(_commands())


class Answers(NamedTuple):
    """What every call ended with, and the listing of the commands."""

    ended: list[Ended]
    helps: dict[str, str]


def call(*arguments: str) -> Ended:
    """Run the command line in this process."""
    printed, errors = io.StringIO(), io.StringIO()
    code = 0
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(errors),
    ):
        patch.setattr(sys, "argv", ["theorex", *arguments])
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        except Exception:  # noqa: BLE001 - the other commands are judged all the same
            code = -1
            traceback.print_exc()
    return Ended(code, printed.getvalue(), errors.getvalue())


def value_at(way: str, answer: Any) -> str:
    """Return the value at the end of a way such as "lines.0.id"."""
    for step in way.split("."):
        answer = answer[int(step)] if step.isdecimal() else answer[step]
    return str(answer)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """Run all cases."""
    newcomer = Newcomer(tmp_path_factory.mktemp("day"), programs=PROGRAMS)
    place = newcomer.repository
    with (
        pytest.MonkeyPatch.context() as patch,
        HostileServer(completion('{"score": 25}')) as server,
    ):
        prepare(place, patch, newcomer)
        saved = first_saved(newcomer, server)
        ended = []
        for case in CASES:
            patch.chdir(place / case.folder)
            answer = call(*words_of(case, saved), "--json")
            ended.append(answer)
            for name, way in case.saves.items():
                # What is not there leaves {name} in later calls, which then fail.
                with contextlib.suppress(LookupError, ValueError):
                    saved[name] = value_at(way, answer.json)
        patch.chdir(place)
        rows = call("commands", "--json").json["commands"]
        yield Answers(ended, {row["path"]: row["keys"] for row in rows})


def first_saved(newcomer: Newcomer, server: HostileServer) -> dict[str, str]:
    """Return what stands for a name in braces before the first call."""
    models = json.dumps({"only": {"tier": "medium", "url": server.url}})
    return {
        "transcripts": str(newcomer.transcripts),
        "again": str(newcomer.repository.parent / "again"),
        "past": str(newcomer.repository.parent / "past"),
        "roles": json.dumps(ROLES).replace(" ", ""),
        "models": models.replace(" ", ""),
        "memory_file": '{"command":"create","path":"/memories/a.md","file_text":"a"}',
        "memory_view": '{"command":"view","path":"/memories"}',
        "memory_path": '{"command":"view","path":"/etc"}',
    }


def prepare(place: Path, patch: pytest.MonkeyPatch, newcomer: Newcomer) -> None:
    """Write the files that are taken in; let no command run for ever."""
    from theorex_lab.app.cli import research
    from theorex_lab.app.server import listening

    for name in ("HOME", "THEOREX_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
        patch.setenv(name, newcomer.environment[name])
    patch.delenv("THEOREX_DATA", raising=False)
    patch.delenv("THEOREX_AGENT", raising=False)
    patch.setattr(research, "_become", lambda _: None)
    patch.setattr(
        listening, "listen", lambda *_, started, **__: started("http://127.0.0.1:1")
    )
    for folder in ("till", "stock"):
        (place / folder / "sums.py").write_text('def total():\n    """Add up."""\n')
    for folder in ("docs", "stock"):
        (place / folder / "shelf.xyz").write_text("of no form that is read\n")
    Image.new("RGB", (30, 20), (200, 0, 0)).save(place / "till.png")
    film(place / "till.mp4", scenes(((200, 0, 0), 10), ((0, 200, 0), 10)))
    (place / "calls.jsonl").write_text(
        '{"event": "LM_INFERENCE_START", "trace_id": "call-1", "model": "m"}\n'
    )
    (place / "paper.mm").write_text("$c |- $.\nax $a |- $.\nth $p |- $= ax $.\n")
    skill = place / "old" / "skills" / "counting"
    skill.mkdir(parents=True)
    head = "---\nname: counting\ndescription: Count a shelf\n---\n"
    (skill / "SKILL.md").write_text(f"{head}Count it twice.\n")
    capsule = {"type": "Capsule", "id": "capsule_far", "trigger": ["log_error"]}
    (place / "capsule.json").write_text(json.dumps(capsule))
    (place / "program.isa").write_text("MEM_PTR print the tax on the receipt\nHALT\n")
    (place.parent / "other").mkdir()
    for number in range(8, 11):
        newcomer.write_session(number, place.parent / "again")
    newcomer.write_session(11, place.parent / "past")


def words_of(case: Case, saved: dict[str, str]) -> list[str]:
    """Return the words of a call, with what earlier ones saved."""
    words = case.path.split()
    for quoted, plain in re.findall(r"'([^']*)'|(\S+)", case.arguments):
        word = quoted or plain
        for name, value in saved.items():
            word = word.replace(f"{{{name}}}", value)
        words.append(word)
    return words


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=lambda number: CASES[number].path
)
def test_an_answer_has_the_fields_that_the_help_names(
    answers: Answers, number: int
) -> None:
    case, ended = CASES[number], answers.ended[number]
    assert ended.code == 0, ended.err
    keys = answers.helps[case.path]
    form = forms_in(keys)[case.form]
    answer = dict(ended.json)
    for field in case.remarks:
        assert field in remarks_in(keys)
        assert field in answer
        del answer[field]
    assert differences(form, answer) == []


def test_every_command_is_called() -> None:
    called = {COMMANDS[case.path].callback for case in CASES}
    left_out = [
        path for path, command in COMMANDS.items() if command.callback not in called
    ]
    assert left_out == []


def test_every_form_of_a_help_is_printed_once(answers: Answers) -> None:
    printed = {(case.path, case.form) for case in CASES}
    paths = {case.path for case in CASES}
    for path in sorted(paths):
        for number in range(len(forms_in(answers.helps[path]))):
            assert (path, number) in printed | NEED_DATA, path


def test_every_list_of_objects_holds_one_somewhere(answers: Answers) -> None:
    """An empty list says nothing of the fields of what it holds."""
    unseen: dict[str, set[str]] = {}
    seen: dict[str, set[str]] = {}
    for case, ended in zip(CASES, answers.ended, strict=True):
        form = forms_in(answers.helps[case.path])[case.form]
        for field in nested_fields(form):
            has_any = ended.code == 0 and objects_in(ended.json.get(field))
            (seen if has_any else unseen).setdefault(case.path, set()).add(field)
    left = {path: fields - seen.get(path, set()) for path, fields in unseen.items()}
    left = {path: fields for path, fields in left.items() if fields}
    assert left == UNSEEN, left


def test_the_help_names_the_fields_of_every_command(answers: Answers) -> None:
    assert set(answers.helps) == set(COMMANDS)
    for path, keys in answers.helps.items():
        assert forms_in(keys), path
