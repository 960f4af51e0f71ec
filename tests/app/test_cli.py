"""The command line: stable JSON keys, exit codes, options before and after the
command's name.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import matplotlib.pyplot as plt
import pytest
from conftest import Run

from theorex_lab import HashedNgramEmbedder, Lab, ObservationEntry
from theorex_lab.app.cli import former_names
from theorex_lab.app.cli.groups import COMMANDS, GROUPS, DesignCommands, load
from theorex_lab.memory.observation import new_observation

ROOT = Path(__file__).parents[2]


def test_the_journey_of_a_text(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where there is no git history to tell
    assert run("config", "activeDesigns", '["theorex"]').code == 0
    written = run(
        "write",
        "--agent",
        "main",
        "--type",
        "decision",
        "TTL",
        "invalidation",
        "prevents",
        "cache",
        "stampedes",
        "--json",
    )
    assert written.code == 0
    assert written.json.keys() == {"event_id", "concepts"}
    assert written.json["concepts"] == ["ttl invalidation", "cache stampede"]
    asked = (
        "search",
        "cache",
        "stampede",
        "--agent",
        "main",
        "--limit",
        "2",
        "--kind",
        "concept",
        "--kind",
        "observation",
    )
    hits = run(*asked, "--json").json["hits"]
    assert {
        "id",
        "kind",
        "text",
        "agent",
        "score",
        "subject",
        "timestamp",
        "signals",
        "replaced_at",
    } == hits[0].keys()
    assert {hit["text"] for hit in hits} == {
        "TTL invalidation prevents cache stampedes",
        "cache stampede",
    }
    status = run("status", "--json").json
    # What was written, and that the agent was given it.
    assert (status["events"], status["concepts"], status["agents"][0]["agent"]) == (
        2,
        2,
        "main",
    )
    assert run("tiers", "scan", "--json").json == {
        "tiers": {"NEUTRAL": 0, "LESS": 0, "MILD": 0, "ACTIVE": 2, "SLEEPING": 0},
        "changed": 2,
        "slept": 0,
        "links_dropped": 0,
    }
    assert run("tiers", "prune", "--json").json == {"pruned": 0}
    file = tmp_path / "context.md"
    injected = run("tiers", "boot-inject", "--output", str(file), "--json").json
    assert (injected["path"], injected["lines"]) == (str(file), 1)
    assert "cache stampedes" in file.read_text()
    embedded = run("embed", "--json").json
    assert (embedded["queued"], embedded["covered"]) == (
        0,
        1,
    ), "the text; labels have none"
    verified = run("verify", "--json").json
    assert verified["ok"] is True
    assert verified["events"] == 3
    assert verified["views"] == dict.fromkeys(
        [
            "axon",
            "event_directory",
            "items",
            "labels",
            "projects",
            "flash",
            "short_term",
            "shared",
            "session_words",
            "session_ends",
            "session_list",
            "capture_times",
            "maintenance_reports",
            "touches",
            "facts",
            "channels",
            "trajectories",
            "strategies",
            "causal_graph",
            "causal_failures",
            "causal_experience",
            "causal_personalities",
            "research_episodes",
            "research_records",
            "research_theorems",
            "research_insights",
            "research_skills",
            "research_runs",
            "notes",
            "graph_entries",
            "memory_files",
            "traces",
            "evidence",
            "recall",
            "tasks",
            "outcomes",
            "marks",
            "documents",
        ],
        True,
    )
    assert (
        run("erase", "--match", "stampedes", "--dry-run", "--json").json["erased"] == []
    )
    assert run("erase", "--match", "stampedes", "--json").json["erased"] == [
        written.json["event_id"]
    ]
    assert run("search", "stampede", "--json").json["hits"] == []


def test_a_search_prints_a_hit_a_line_and_says_why(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = ("--now", "2026-03-01T09:00:00Z")
    written = run(
        "write",
        "The lock leaked.\nThe pool gave the connection back too early.",
        *now,
        "--json",
    ).json["event_id"]
    run("embed")
    line = run("search", "lock", *now).out
    text = "The lock leaked. The pool gave the connection back too early."
    assert re.fullmatch(
        rf"0\.\d\d  2026-03-01  main observation  {written}  {re.escape(text)}  \[lock,"
        r" pool, connection\]  \(words, meaning\)\n",
        line,
    )
    assert "words +" in run("search", "lock", "--why", *now).out
    (hit,) = run("search", "lock", "--why", "--json", *now).json["hits"]
    assert hit["why"]["words"] > 0
    assert hit["signals"] == ["words", "meaning"]
    assert hit["subject"] == "lock, pool, connection"
    (named,) = run("search", "lock", "--kind", "concept", "--why", "--json", *now).json[
        "hits"
    ]
    assert (named["subject"], next(iter(named["why"]))) == ("The lock leaked.", "words")
    run("write", "--keep-secrets", "The key is sk-ant-api03-" + "Ab3" * 30, *now)
    assert "Ab3Ab3" not in run("search", "key", *now).out
    monkeypatch.setattr(
        "theorex_lab.memory.contract.Home.chosen_embedder",
        (HashedNgramEmbedder(), "it was handed in"),
    )
    told = run("embed", "--json").json
    assert (told["embedded"], told["covered"], told["queued"]) == (0, 0, 0)
    assert "knows spelling, not meaning" in told["note"]
    assert "no vectors are made of texts" in run("embed").out


def test_a_search_shows_what_of_a_long_text_matched_and_status_what_is_embedded(
    run: Run,
) -> None:
    run(
        "write",
        f"{'It rained in the valley. ' * 30}The turbine stalled at dawn."
        f" {'The sun shone. ' * 40}",
    )
    assert "; 0 of 1 texts embedded\n" in run("status").out
    line = run("search", "stalled turbines").out
    assert "…" in line
    assert "The turbine stalled at dawn." in line
    assert len(line) < 500
    asked = run("search", "stalled", "turbines", "--vectors", "never", "--why")
    assert "words +" in asked.out
    assert run("search", "x", "--vectors", "sometimes").code == 2
    run("write", "a lantern", "--session", "s")
    assert run("tiers", "flush", "--session", "s").code == 0
    assert run("status", "--json").json["vectors"] == "2 of 2 texts embedded"


def test_several_words_are_one_text_and_no_option_leaks_into_it(run: Run) -> None:
    run(
        "write",
        "--type",
        "decision",
        "use",
        "sqlite",
        "--agent",
        "sage",
        "--tag",
        "storage",
    )
    hit = run("--json", "search", "sqlite", "--agent", "sage", "--tag", "storage").json[
        "hits"
    ]
    assert {"use sqlite"} == {
        each["text"] for each in hit if each["kind"] == "observation"
    }
    assert run("--json", "write", "--", "-k", "is", "an", "option").code == 0
    assert "-k is an option" in run("search", "option").out


@pytest.mark.parametrize("where", ["before", "after"])
def test_common_options_stand_before_or_after_the_name(
    run: Run, tmp_path: Path, where: str
) -> None:
    common = [
        "--json",
        "--home",
        str(tmp_path / "elsewhere"),
        "--now",
        "2026-01-01T00:00:00Z",
    ]
    arguments = (
        [*common, "write", "a cache"]
        if where == "before"
        else ["write", "a cache", *common]
    )
    assert run(*arguments).json["concepts"] == ["cache"]
    later = run(
        "status",
        "--json",
        "--home",
        str(tmp_path / "elsewhere"),
        "--now",
        "2026-01-20T00:00:00Z",
    ).json
    assert later["agents"][0]["tiers"]["MILD"] == 1
    assert not (tmp_path / "home").exists()


def test_the_same_time_gives_the_same_context(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        for text in ("a stale cache", "the cache was flushed"):
            run(
                "write",
                text,
                "--home",
                str(tmp_path / name),
                "--now",
                "2026-01-01T00:00:00Z",
            )
        run(
            "tiers",
            "boot-inject",
            "--home",
            str(tmp_path / name),
            "--now",
            "2026-01-05T00:00:00Z",
        )
    assert (tmp_path / "one/SHARED_CONTEXT.md").read_bytes() == (
        tmp_path / "two/SHARED_CONTEXT.md"
    ).read_bytes()


def test_failures_end_with_1_and_print_json_too(run: Run, tmp_path: Path) -> None:
    for arguments in (
        ["write", "--agent", "../etc", "x"],
        ["write", "--type", "No Type", "x"],
        ["write", "--source", "nobody", "x"],
        ["write", "--now", "2026-01-01", "x"],
        ["erase"],
        ["erase", "no-such-id"],
        ["status", "--home", "/proc/nowhere"],
    ):
        ended = run("--json", *arguments)
        assert ended.code == 1, arguments
        assert ended.json.keys() == {"error"}
        assert ended.json["error"] in ended.err
    assert run("status", "--json").json["events"] == 0


def test_wrong_usage_ends_with_2(run: Run) -> None:
    for arguments in (
        ["wrte", "x"],
        ["write"],
        ["write", "--colour", "red", "x"],
        ["search", "x", "--limit", "many"],
        ["search", "x", "--limit", "many"],
        ["search", "x", "--limit", "0"],
    ):
        ended = run("--json", *arguments)
        assert ended.code == 2, arguments
        assert "error" in ended.json
    assert "got the command" in run("wrte").err


def test_a_broken_config_is_named(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.json").write_text('{"halfLifeDay": 3}')
    ended = run("status", "--json")
    assert ended.code == 1
    assert "halfLifeDay is 3" in ended.json["error"]
    assert "nearest is halfLifeDays" in ended.json["error"]
    (home / "config.json").write_text('{"half_life_days": 3}')
    rows = {row["key"]: row for row in run("config", "--json").json["settings"]}
    assert rows["halfLifeDays"]["value"] == 3
    assert rows["halfLifeDays"].keys() == {
        "key",
        "value",
        "default",
        "range",
        "unit",
        "source",
        "description",
    }
    assert (rows["halfLifeDays"]["source"], rows["activeThreshold"]["source"]) == (
        "config.json",
        "default",
    )


def test_a_damaged_journal_is_an_error_of_every_command(
    run: Run, tmp_path: Path
) -> None:
    run("write", "a cache")
    for file in (tmp_path / "home").glob("theorex.db*"):
        file.write_bytes(b"")
    for words in (["status"], ["tiers", "scan"], ["verify"], ["tiers", "boot-inject"]):
        ended = run(*words, "--json")
        assert ended.code == 1
        assert "theorex.db" in ended.json["error"]
        assert "backup" in ended.json["error"]


def test_verify_fails_when_a_row_was_changed_behind_its_back(
    run: Run, tmp_path: Path
) -> None:
    run("write", "an innocent sentence")
    from theorex_lab.journal.sqlite.connection import connect

    connection = connect(tmp_path / "home" / "theorex.db")
    connection.execute("DROP TRIGGER events_are_not_changed")
    connection.execute("UPDATE events SET body = replace(body, 'innocent', 'guilty')")
    connection.close()
    ended = run("verify", "--json")
    assert ended.code == 1
    assert ended.json["ok"] is False
    assert "checksum" in ended.json["error"]


# What the documents of the designs print: a name stays what it is there.
PRINTED = {
    "tiers": (
        "write status search scan scan-agent prune prune-agent promote boot-inject"
        " session-summary synthesize ingest ingest-code ingest-image ingest-video"
        " dispatch route role-route roles energy-check boot-aware trace-stats"
        " matrix-build matrix-show outcome evolve-review evolve-status trace-review"
        " policy-snapshot mcp-start a2a-tasks query-shared context-monitor graduate"
    ).split(),
    "facts": (
        "memory-signal memory-write memory-observe memory-tension memory-contradict"
        " memory-dedup init add-session add-domain validate validate-kg migrate-v2"
        " heartbeat"
    ).split(),
}
MOST_COMMANDS = 44  # `snapshot` is of homes that share a journal


def test_the_toolkit_has_few_commands_with_one_name_each(run: Run) -> None:
    rows = run("commands", "--json").json["commands"]
    product = [row["path"] for row in rows if row["job"] not in GROUPS]
    assert len(product) <= MOST_COMMANDS
    assert len({*product}) == len(product)
    assert {*COMMANDS} == {path.split()[0] for path in product}


def test_every_command_is_listed_with_help_and_keys(run: Run) -> None:
    rows = run("commands", "--json").json["commands"]
    text = run("commands").out
    for row in rows:
        assert row["keys"].startswith("{"), row["path"]
        assert f"theorex {row['path']} {row['usage']}".rstrip() in text
        assert row["about"].endswith(".")
        assert row["keys"] in text
    usage = {row["path"]: row["usage"] for row in rows}
    assert (
        usage["review"] == "[--agent AGENT] [--reviewer auto|heuristic|model] [--again]"
    )
    assert usage["tiers a2a-claim"].endswith("[--lease SECONDS]")
    assert "--to TO" in usage["tiers a2a-send"].replace("[--to", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_the_common_options(run: Run, name: str) -> None:
    ended = run(name, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert COMMANDS[name].about in " ".join(ended.out.split())
    for option in ("--json", "--home", "--now"):
        assert option in ended.out


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group in PRINTED for name in PRINTED[group]]
)
def test_a_group_accepts_the_names_that_its_document_prints(
    run: Run, group: str, name: str
) -> None:
    ended = run(group, name, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert f"{group} {name}" in ended.out


def test_a_former_name_is_refused_with_the_present_one(run: Run) -> None:
    for words, present in (
        (["salvage"], "theorex verify --salvage"),
        (["learn", "gate"], "theorex policy --test"),
        (["fact", "list"], "theorex facts list"),
        (["dream-recall", "x"], "theorex dreams recall"),
        (["memory", "write", "x"], "theorex write"),
        (["task", "send"], "theorex tiers a2a-send"),
        (["lab", "tune"], "theorex tune"),
        (["confirm", "x"], "theorex trust"),
    ):
        ended = run(*words, "--json")
        assert ended.code == 2, words
        assert f"is now `{present}`" in ended.json["error"]


def test_every_present_name_of_a_former_one_is_a_command() -> None:
    paths = set[str]()
    for name, entry in COMMANDS.items():
        made = load(entry)
        paths.add(name)
        if isinstance(made, click.Group):
            paths |= {f"{name} {member}" for member in made.commands}
    for name in GROUPS:
        commands = DesignCommands(name)
        printed = PRINTED.get(name, [])
        paths |= {
            f"{name} {each}" for each in [*commands.list_commands(None), *printed]
        }  # type: ignore[arg-type]
    present = [*former_names.KEPT.values(), *former_names._COMMANDS.values()]
    present += former_names._IN_GROUPS.values()
    for name in present:
        assert name.partition(" --")[0] in paths, name


def test_a_name_in_the_files_of_other_programs_still_runs(run: Run) -> None:
    assert run("mcp-start", "--help").code == 0
    ended = run("nightly", "--json")
    assert (ended.code, ended.json["ok"]) == (0, True)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_its_commands(run: Run, group: str) -> None:
    listed = run(group, "--help").out
    assert GROUPS[group].commands
    for entry in GROUPS[group].commands:
        assert f"  {entry.name} " in listed
        if entry.printed:
            assert entry.printed in " ".join(listed.split()).replace("- ", "-")
    assert run(group, "--help", "--json").code == 0


def test_the_help_is_short_and_names_what_people_look_for(run: Run) -> None:
    shown = run("--help").out
    assert len(shown.splitlines()) <= 45
    assert max(map(len, shown.splitlines())) <= 80
    for word in (*GROUPS, "search", "import", "briefing"):
        assert f"  {word} " in shown


@pytest.mark.parametrize(
    "words",
    [
        ["fix", "it"],
        ["--urgent", "roles of a cache"],
        ["roles", "of", "a", "cache"],
        ["--agent", "roles", "fix it"],
    ],
)
def test_the_words_of_a_query_are_never_taken_for_a_command(
    run: Run, words: list[str]
) -> None:
    for before, after in ((["--json"], []), ([], ["--json"])):
        ended = run(*before, "route", *after, *words)
        assert ended.code == 0, ended.err
        assert "query_type" in ended.json
    assert run("route").code == 2


def test_lab_opens_the_notebooks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from theorex_lab.app.cli import research

    monkeypatch.setattr(research, "_become", lambda _: None)
    for words in (
        [],
        ["--no-browser"],
        ["--", "--allow-root"],
        ["--port", "8899"],
    ):
        ended = run("--json", "lab", *words)
        assert (ended.code, ended.json["command"][1:3]) == (0, ["-m", "jupyterlab"])
        assert ended.json["command"][4:] == ["--ServerApp.port=8899"] * (
            "8899" in words
        ) + [each for each in words if each in ("--no-browser", "--allow-root")]
    assert "--log" in run("tune").err


def test_lab_says_what_it_runs_and_has_its_exit_code(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "theorex_lab",
        "lab",
        "--json",
        "--folder",
        str(tmp_path / "own"),
        "--",
    ]
    ended = subprocess.run(
        [*command, "--version"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    said, version = ended.stdout.splitlines()
    assert json.loads(said)["command"][1:3] == ["-m", "jupyterlab"]
    assert version[0].isdecimal()
    assert subprocess.run(
        [*command, "--no-such=1", "--ServerApp.port=x"],
        capture_output=True,
        check=False,
    ).returncode


def test_an_unknown_command_is_refused_with_the_nearest(run: Run) -> None:
    for words, nearest in (
        (["wrte", "x"], "'write'"),
        (["serch"], "'search'"),
        (["bakup", "f"], "'backup'"),
        (["tiers", "scn"], "'scan'"),
    ):
        ended = run(*words, "--json")
        assert (ended.code, nearest in ended.json["error"]) == (2, True)
        assert "got the command" in ended.err


def test_every_option_has_help() -> None:
    entries = [*COMMANDS.values()]
    for group in GROUPS.values():
        entries += group.commands
    for entry in entries:
        for parameter in load(entry).params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{entry.name} {parameter.opts}"


def test_a_process_of_its_own_works_from_another_folder(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "theorex_lab",
            "--home",
            home,
            "write",
            "a cache",
            "--json",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["concepts"] == ["cache"]


def test_stored_text_does_not_rule_the_terminal(run: Run, tmp_path: Path) -> None:
    text = "the cache\x1b[2J of \x9b31m Berlin\u202e fell over"
    run("write", text)
    seen = text.replace("\u202e", "")
    assert seen in [
        hit["text"] for hit in run("search", "cache", "--json").json["hits"]
    ], "what is hidden is not taken in"
    with Lab(tmp_path / "home") as lab:  # as an earlier release kept it
        event, _ = new_observation(
            ObservationEntry(seen, "main"), lab.settings, lab.clock.now()
        )
        lab.journal.append([event._replace(body={**event.body, "text": text})])
    for command in (
        ["search", "cache"],
        ["status"],
        ["tiers", "boot-aware"],
        ["tiers", "flash-inject", "--session", "s"],
        ["audit"],
    ):
        shown = run(*command)
        assert (shown.code, shown.err) == (0, "")
        assert not set(shown.out) & {"\x1b", "\x9b", "\u202e"}
    assert (
        run("search", "cache").out.count("the cache [2J of 31m Berlin fell over") == 2
    ), "both, each on one line"
    assert text in [
        hit["text"] for hit in run("search", "cache", "--json").json["hits"]
    ], "programs are given all of it"
    assert "\x1b" not in run("traces", "a\x1b[2J").err


def test_the_pictures_of_the_readme_are_small_say_what_they_find_and_name_their_command() -> (
    None
):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    all_pictures = re.findall(r"!\[(.*?)\]\((.*?)\)", readme)
    # What shows a page has no figures; tests/helpers/screenshots.py takes it.
    pages = [path for _, path in all_pictures if path.startswith("docs/pictures/")]
    for path in pages:
        assert len((ROOT / path).read_bytes()) < 60_000
    pictures = [row for row in all_pictures if row[1] not in pages]
    assert pictures
    for found, path in pictures:
        assert re.search(r"\.\d\d", found), (
            "the text in place of the picture has its figures"
        )
        content = (ROOT / path).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 60_000
        assert re.search(rf"`theorex [^`]*--picture {re.escape(path)}", readme)


MOST_WORDS_OF_README = 900


def run_blocks(page: str, home: Path) -> list[str]:
    """Run the Python blocks of a page in their order, in one namespace; return them."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = [part.partition("```")[0] for part in text.split("```python\n")[1:]]
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block.replace("~/.theorex", str(home)), page, "exec"), names)
    plt.close("all")
    return blocks


def test_the_code_of_the_readme_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = run_blocks("README.md", tmp_path)
    shown = capsys.readouterr().out
    assert "TTL invalidation prevents cache stampedes" in shown
    assert "# Briefing" in shown
    assert len(block.strip().splitlines()) <= 10
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.split()) <= MOST_WORDS_OF_README


def test_the_commands_of_the_readme_are_commands(run: Run) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"(?:^    |`)(?:uv run )?theorex ([a-z][a-z-]*)", readme, re.M)
    assert len({*named}) > 20
    assert {*named} <= {*COMMANDS, *GROUPS}


def test_what_was_given_before_is_listed_with_its_use(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where there is no git history to tell
    run("write", "The till is closed at nine.", "--type", "decision")
    (kept,) = run("briefing", "--json").json["lines"]
    assert kept["text"].startswith("The till is closed at nine")
    assert run("search", "till", "--agent", "main").code == 0
    shown = run("briefing", "--given", "--json").json
    assert [row["how"] for row in shown["before"]] == ["search"]
    assert (shown["given"], shown["used"]) == (0, 0)
    for wrong in (["--given", "--why"], ["--save", "--query", "x"]):
        ended = run("briefing", *wrong)
        assert ended.code == 2
        assert "Give --" in ended.err


def test_a_saved_briefing_is_what_the_next_session_reads(
    run: Run, tmp_path: Path
) -> None:
    run("write", "The till is closed at nine.", "--type", "decision")
    saved = run("briefing", "--save", "--all-projects", "--json").json["text"]
    home = Path(run("status", "--json").json["home"])
    assert (home / "SHARED_CONTEXT.md").read_text() == saved
    assert "closed at nine" in saved
