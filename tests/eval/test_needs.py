"""What sessions needed to know, read from files and covered by contexts; the figures
equal those of the program that came with the needs.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import math
import os
import random
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.eval import NeedsScore, load_session_needs, score_needs
from theorex_lab.eval.datasets import sources
from theorex_lab.eval.datasets.dataset_table import SESSION_NEEDS
from theorex_lab.eval.datasets.needs_rows import Need, ProjectNeeds, read_needs
from theorex_lab.eval.metrics.needs import (
    ContextTexts,
    is_wall,
    match_lines,
    mean_interval,
    score_context,
    statement_lines,
)
from theorex_lab.eval.replay import needs_systems as systems
from theorex_lab.eval.replay.needs import BUDGETS
from theorex_lab.journal.event import Event

pytestmark = pytest.mark.usefixtures("shared_logs")

needs_data = pytest.mark.skipif(
    not os.environ.get(sources.DATA_VARIABLE),
    reason=f"{sources.DATA_VARIABLE} names no folder with the public sets",
)
ALL_SYSTEMS = ("nothing", "last_message", "recent_files", "bm25")


def need(id: str, *match: Sequence[str], **members: Any) -> dict[str, Any]:
    return {
        "id": id,
        "kind": "rule",
        "grade": 2,
        "when": "start",
        "need": f"what {id} says",
        "evidence": [{"session": "s1", "quote": "words"}],
        "match": [[*parts] for parts in match] or [["never", "commit"]],
        **members,
    }


def row(session: str, day: int, *needs: dict[str, Any]) -> dict[str, Any]:
    return {
        "session": session,
        "at": f"2026-03-{day:02}T10:00:00.000Z",
        "gist": f"about {session}",
        "needs": [*needs],
    }


def session_events(session: str, day: int, prompt: str, answer: str) -> list[Any]:
    """A session in the form in which hooks report it."""
    stem = f"2026-03-{day:02}T10:00:"
    common = {"session": session}
    return [
        {
            **common,
            "hook_event_name": "SessionStart",
            "at": f"{stem}00.000Z",
            "cwd": ".",
        },
        {
            **common,
            "hook_event_name": "UserPromptSubmit",
            "at": f"{stem}01.000Z",
            "prompt": prompt,
        },
        {
            **common,
            "hook_event_name": "PostToolUse",
            "at": f"{stem}02.000Z",
            "tool_name": "Edit",
            "tool_input": {"file_path": "src/Store.py"},
            "tool_response": "done",
            "reads": ["docs/Plan.md"],
            "edits": ["src/Store.py"],
        },
        {
            **common,
            "hook_event_name": "Stop",
            "at": f"{stem}03.000Z",
            "agent_text": answer,
        },
        {**common, "hook_event_name": "SessionEnd", "at": f"{stem}04.000Z"},
    ]


LOG = [
    *session_events("s1", 1, "Never commit by yourself.", "Not committed, as asked."),
    *session_events(
        "s2",
        2,
        "Which port does the store use?",
        "The store listens on port 8123.\nRun the tests with `make check`.",
    ),
    *session_events("s3", 3, "Change the port of the store.", "Changed."),
    *session_events("s4", 4, "Thanks.", "You are welcome."),
]
ROWS = [
    row(
        "s3",
        3,
        need("n1", ["never", "commit"]),
        need("n2", ["make check"], kind="command", grade=1),
        need("n3", ["port 8123"], kind="fact", when="asked"),
    ),
    row("s4", 4),
]


@pytest.fixture
def write_project(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a project into a data folder, which it returns."""

    def write(
        name: str = "shop",
        *,
        rows: Sequence[Any] = ROWS,
        log: Sequence[Any] = LOG,
        log_folder: str = "coding_sessions",
    ) -> Path:
        needs_folder = tmp_path / "session_needs"
        needs_folder.mkdir(exist_ok=True)
        lines = [
            line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)
            for line in rows
        ]
        (needs_folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        logs = tmp_path / log_folder
        logs.mkdir(exist_ok=True)
        content = "".join(f"{json.dumps(event)}\n" for event in log)
        (logs / f"{name}.jsonl.gz").write_bytes(gzip.compress(content.encode()))
        return tmp_path

    return write


@pytest.fixture
def project(
    write_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> ProjectNeeds:
    monkeypatch.setenv(sources.DATA_VARIABLE, str(write_project()))
    (loaded,) = load_session_needs()
    return loaded


def checked_need(**members: Any) -> Need:
    members = {"kind": "rule", "grade": 1, "when": "start", "need": "it", **members}
    return Need(**members)


class TestReading:
    def test_needs_are_paired_with_the_log_of_their_project(
        self, project: ProjectNeeds
    ) -> None:
        assert project.name == "shop"
        assert [row.session for row in project.sessions] == ["s3", "s4"]
        assert project.first_prompt("s3") == "Change the port of the store."
        assert project.touched_files["s3"] == {"docs/plan.md", "src/store.py"}
        assert len({event.session for event in project.log.events}) == 4
        assert not project.is_published

    def test_a_log_may_lie_beside_the_needs(
        self, write_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_project(log_folder="session_needs")
        monkeypatch.delenv(sources.DATA_VARIABLE, raising=False)
        by_folder = load_session_needs(path=str(folder / "session_needs"))
        file = folder / "session_needs" / "shop.jsonl"
        by_file = load_session_needs(path=str(file))
        assert [each.name for each in (*by_folder, *by_file)] == ["shop", "shop"]

    def test_projects_are_chosen_by_name(
        self, write_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_project("yard")
        monkeypatch.setenv(sources.DATA_VARIABLE, str(write_project("shop")))
        names = [loaded.name for loaded in load_session_needs()]
        assert names == ["shop", "yard"]
        assert [loaded.name for loaded in load_session_needs("yard")] == ["yard"]
        with pytest.raises(InvalidInput, match="'zoo'; allowed are shop, yard"):
            load_session_needs("zoo")

    def test_without_a_data_folder_the_error_says_that_needs_are_not_packaged(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv(sources.DATA_VARIABLE, raising=False)
        with pytest.raises(StorageError, match=r"not packaged.*set THEOREX_DATA"):
            load_session_needs()

    def test_a_data_folder_without_needs_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(sources.DATA_VARIABLE, str(tmp_path))
        with pytest.raises(StorageError, match="holds no needs of sessions"):
            load_session_needs()

    def test_needs_without_a_log_are_refused(
        self, write_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_project()
        (folder / "coding_sessions" / "shop.jsonl.gz").unlink()
        monkeypatch.setenv(sources.DATA_VARIABLE, str(folder))
        with pytest.raises(StorageError, match="has no log"):
            load_session_needs()

    def test_a_session_that_the_log_does_not_hold_is_named(
        self, write_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_project(rows=[row("s9", 9)])
        monkeypatch.setenv(sources.DATA_VARIABLE, str(folder))
        with pytest.raises(InvalidInput, match="the session s9 is not in"):
            load_session_needs()

    @pytest.mark.parametrize(
        ("bad_row", "reason"),
        [
            ("{", "line 3: Invalid JSON"),
            ("[]", "line 3"),
            (row("s9", 9, need("n1", grade=3)), "line 3: needs.0.grade"),
            (row("s9", 9, need("n1", grade="2")), "line 3: needs.0.grade"),
            (row("s9", 9, need("n1", when="later")), "line 3: needs.0.when"),
            (row("s9", 9, need("n1", match=[])), "line 3: needs.0.match"),
            (row("s9", 9, need("n1", match=[[]])), "line 3: needs.0.match.0"),
            (row("s9", 9, need("n1", match=[[" "]])), "line 3: needs.0.match.0.0"),
            (row("s9", 9, need("n1"), need("n1")), "line 3: needs: .*the id n1 twice"),
            ({**row("s9", 9), "at": "soon"}, "line 3: at"),
            ({"session": "s9"}, r"line 3: at: .*\(and 1 more in this row\)"),
            (row("s3", 3), "line 3: the session s3 again"),
        ],
    )
    def test_a_damaged_row_is_named_with_its_line(
        self, write_project: Callable[..., Path], bad_row: Any, reason: str
    ) -> None:
        folder = write_project(rows=[ROWS[0], "", bad_row, ROWS[1]])
        with pytest.raises(InvalidInput, match=reason):
            read_needs(folder / "session_needs" / "shop.jsonl")

    def test_all_damaged_rows_are_counted(
        self, write_project: Callable[..., Path]
    ) -> None:
        folder = write_project(rows=["{", ROWS[0], "[]", ROWS[1]])
        with pytest.raises(InvalidInput, match="2 damaged lines") as raised:
            read_needs(folder / "session_needs" / "shop.jsonl")
        assert "line 1" in str(raised.value)
        assert "line 3" in str(raised.value)


class TestRules:
    def test_headings_fences_quotes_markup_and_titles_are_passed_over(self) -> None:
        text = "# a\n```\n> b\n<c>\n\nRules:\nNever commit.\n- `make`: builds\n"
        assert statement_lines(text, 500) == ["Never commit.", "- `make`: builds"]
        long_title = "x" * 60 + ":"
        assert statement_lines(long_title, 500) == [long_title]

    def test_a_cut_within_a_character_drops_it(self) -> None:
        assert statement_lines("abcdé", 1) == ["abcd"]
        assert statement_lines("abcé", 1) == ["abc"]

    def test_a_need_beyond_240_bytes_of_a_line_is_not_told(self) -> None:
        rule = checked_need(id="n", match=(("never commit",),))
        near = f"{'x' * 227} never commit"
        far = f"{'x' * 228} never commit"
        assert [bool(match_lines([line], [rule])[0].line) for line in (near, far)] == [
            True,
            False,
        ]

    def test_case_space_and_escapes_make_no_difference(self) -> None:
        rule = checked_need(id="n", match=(("go_test  ./...",),))
        lines = ["Run  GO\\_TEST\t./\\.\\.\\.", "run go_test ./..."]
        for line in lines:
            assert match_lines([line], [rule])[0].line == line
        assert match_lines(["go test ./..."], [rule])[0].line == ""

    def test_a_line_tells_the_two_gravest_needs(self) -> None:
        rules = [
            checked_need(id="a", match=(("x",),)),
            checked_need(id="b", match=(("x",),)),
            checked_need(id="c", match=(("x",),), grade=2),
        ]
        once = match_lines(["x marks it"], rules)
        assert [bool(row.line) for row in once] == [True, False, True]
        twice = match_lines(["x marks it", "x again"], rules)
        assert [row.line for row in twice] == ["x marks it", "x again", "x marks it"]

    def test_a_wall_of_names_tells_nothing(self) -> None:
        wall = "a/b.py c/d.py e/f.py never commit"
        assert is_wall(wall)
        rule = checked_need(id="n", match=(("never commit",),))
        assert match_lines([wall], [rule])[0].line == ""
        score = score_context(ContextTexts(wall), [rule], 500)
        assert score.figures["start"] == 0
        assert score.figures["wall"] == 3

    def test_names_of_touched_files_are_useful(self) -> None:
        context = ContextTexts("See ~/src/Store.py and other.py")
        score = score_context(context, (), 500, touched_files={"lib/src/store.py"})
        n_bytes = len(context.start)
        assert score.figures["useful"] == (len("~/src/Store.py") + 1) / n_bytes

    def test_what_nobody_needs_is_no_figure(self) -> None:
        score = score_context(ContextTexts(), (), 500)
        are_missing = {name: math.isnan(v) for name, v in score.figures.items()}
        assert are_missing == {
            "start": True,
            "all": True,
            "useful": True,
            "tokens": False,
            "wall": False,
        }

    def test_the_mean_of_nothing_is_no_number(self) -> None:
        assert math.isnan(mean_interval([math.nan]).value)
        assert mean_interval([1.0, math.nan]) == (1.0, 1.0, 1.0, 1)


class TestSystems:
    def test_each_system_is_scored_on_each_session(self, project: ProjectNeeds) -> None:
        score = score_needs([project], progress=False)
        assert set(ALL_SYSTEMS) < set(score.systems)
        assert score.budgets == [*BUDGETS]
        assert score.value("best_lines", 500, "start").value == 1
        assert score.value("best_lines", 500, "all").value == 1
        assert score.value("nothing", 500, "all").value == 0
        assert score.value("last_message", 500, "start").value == pytest.approx(1 / 3)
        assert score.value("bm25", 500, "start").value == 0
        assert score.value("bm25", 500, "all").value == pytest.approx(2 / 5)
        assert score.value("last_message", 500, "start_kind:command").value == 1
        assert score.value("last_message", 500, "start_kind:rule").value == 0
        assert json.loads(json.dumps(score.result(), allow_nan=False))["n"] == 2

    def test_the_frame_has_stable_columns(self, project: ProjectNeeds) -> None:
        score = score_needs([project], ["nothing"], budgets=[150], progress=False)
        assert [*score.frame.columns] == [
            "project",
            "system",
            "budget",
            "figure",
            "value",
            "ci_low",
            "ci_high",
            "n",
        ]
        assert {*score.frame["project"]} == {"shop", ""}

    def test_a_system_sees_what_happened_before_the_start_alone(
        self, project: ProjectNeeds
    ) -> None:
        calls = []

        def watch(events: Sequence[Event], now: int, prompt: str, tokens: int) -> str:
            calls.append((len(events), to_iso(now)[:10], prompt, tokens))
            assert all(event.at < now for event in events)
            return ""

        score_needs([project], {"watch": lambda: watch}, budgets=[7], progress=False)
        assert calls == [
            (8, "2026-03-03", "", 7),
            (8, "2026-03-03", "Change the port of the store.", 7),
            (12, "2026-03-04", "", 7),
            (12, "2026-03-04", "Thanks.", 7),
        ]

    def test_sessions_are_chosen_by_id(self, project: ProjectNeeds) -> None:
        score = score_needs([project], ["nothing"], sessions=["s4"], progress=False)
        assert score.sessions_of("shop") == ["s4"]
        with pytest.raises(InvalidInput, match="sessions s9; allowed are s3, s4"):
            score_needs([project], ["nothing"], sessions=["s9"], progress=False)

    def test_what_cannot_be_scored_is_refused(self, project: ProjectNeeds) -> None:
        with pytest.raises(InvalidInput, match="got the system 'best'"):
            score_needs([project], ["best"])
        for budgets in ([], [0], [1.5], [True]):
            with pytest.raises(InvalidInput, match="got the budgets"):
                score_needs([project], ["nothing"], budgets=budgets)  # type: ignore[arg-type]
        wrong: Any = {"wrong": lambda: lambda *_: None}
        with pytest.raises(InvalidInput, match="got a NoneType as context"):
            score_needs([project], wrong, progress=False)

    def test_a_system_is_closed_when_another_fails_too(
        self, project: ProjectNeeds
    ) -> None:
        closed = []

        class Failing:
            def __call__(self, *_: Any) -> str:
                raise ValueError("no")

            def close(self) -> None:
                closed.append(1)

        with pytest.raises(ValueError, match="no"):
            score_needs([project], {"failing": Failing}, progress=False)
        assert closed == [1]

    def test_with_vectors_meaning_counts_beside_words(
        self, project: ProjectNeeds, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[list[str]] = []

        class Model:
            def embed(self, texts: Sequence[str]) -> np.ndarray:
                asked.append(list(texts))
                return np.ones((len(texts), 2))

        monkeypatch.setattr(systems, "bundled_embedder", Model)
        names = [systems.BRIEFING, systems.BRIEFING_WITH_VECTORS]
        score = score_needs([project], names, progress=False)
        texts = [text for batch in asked for text in batch]
        assert texts
        assert len(texts) == len(set(texts))
        # Where all texts are equally like the prompt, words decide as without a model.
        for budget in BUDGETS:
            alone, both = (score.value(name, budget, "all").value for name in names)
            assert both == alone

    def test_a_gain_compares_each_session_with_itself(
        self, project: ProjectNeeds
    ) -> None:
        def tell(_: Sequence[Event], now: int, prompt: str, tokens: int) -> str:
            return "You must never commit anything."

        score = score_needs(
            [project],
            {
                "briefing": lambda: systems.give_nothing,
                "briefing_with_more": lambda: tell,
            },
            budgets=[500],
            progress=False,
        )
        assert score.further_designs == ["briefing_with_more"]
        gain = score.gain("briefing_with_more", 500, "all")
        value = score.value("briefing_with_more", 500, "all")
        assert gain.value == value.value > 0
        assert gain.n == value.n
        assert (
            score.result()["gains"]["briefing_with_more"]["500"]["all"]["n"] == gain.n
        )

    def test_a_gain_without_the_briefing_is_refused(
        self, project: ProjectNeeds
    ) -> None:
        score = score_needs([project], ["nothing"], budgets=[500], progress=False)
        assert score.further_designs == []
        with pytest.raises(InvalidInput, match="briefing: score it too"):
            score.gain("nothing", 500, "all")

    def test_designs_beside_the_briefing_are_systems(
        self, project: ProjectNeeds
    ) -> None:
        names = ["briefing", "briefing_with_facts", "briefing_with_all_designs"]
        score = score_needs([project], names, budgets=[500], progress=False)
        assert score.systems == names
        assert all(row.context.start or row.context.asked for row in score.results)

    def test_without_a_model_of_meaning_there_is_none_with_vectors(
        self, project: ProjectNeeds, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(systems, "bundled_embedder", lambda: None)
        with pytest.raises(InvalidInput, match=r"install theorex-lab\[embeddings\]"):
            score_needs([project], [systems.BRIEFING_WITH_VECTORS], progress=False)

    @given(st.text())
    def test_statements_stand_on_one_line_of_240_bytes(self, text: str) -> None:
        for statement in systems.statements(text):
            assert len(statement.encode()) <= 240
            assert len(statement.splitlines()) <= 1

    def test_all_words_of_a_long_line_stand_in_some_statement(self) -> None:
        words = [f"word{number}" for number in range(300)]
        joined = " ".join(systems.statements(" ".join(words)))
        assert set(joined.split()) == set(words)


class TestCommand:
    def test_a_table_for_each_project_and_their_mean(
        self,
        write_project: Callable[..., Path],
        monkeypatch: pytest.MonkeyPatch,
        run: Any,
    ) -> None:
        write_project("yard")
        monkeypatch.setenv(sources.DATA_VARIABLE, str(write_project("shop")))
        options = ["--system", "nothing", "--system", "best_lines"]
        shown = run("eval", "needs", "--dataset", "session_needs", *options).out
        for title in (
            "shop, n = 2",
            "yard, n = 2",
            "mean of the 2 projects",
            "start 2,000",
            "all 500+500",
            "start needs covered at 500 tokens, by kind",
            "rule (n = 1)",
        ):
            assert title in shown
        one = run("eval", "needs", "--project", "yard", *options, "--json").json
        assert [*one["projects"]] == ["yard"]
        assert one["mean"]["best_lines"]["500"]["start_kinds"]["rule"]["value"] == 1

    def test_lines_say_what_covers_which_need(
        self, project: ProjectNeeds, run: Any
    ) -> None:
        options = ["--system", "last_message", "--budgets", "500", "--lines", "s3"]
        shown = run("eval", "needs", *options).out
        assert "- 2 start rule     what n1 says" in shown
        assert "+ 1 start command  what n2 says  <- Run the tests with" in shown
        lines = run("eval", "needs", *options, "--json").json["lines"]
        assert [line["line"] is None for line in lines] == [True, False, False]
        assert "allowed are s3, s4" in run("eval", "needs", "--lines", "s9").err

    def test_options_of_needs_are_refused_elsewhere(self, run: Any) -> None:
        for option in ("--project", "--system", "--budgets", "--lines"):
            ended = run("eval", "costs", option, "1")
            assert ended.code == 1
            assert f"got {option} with costs" in ended.err

    def test_another_data_set_is_refused(self, run: Any) -> None:
        ended = run("eval", "needs", "--dataset", "locomo")
        assert "allowed are session_needs" in ended.err

    def test_budgets_that_are_no_numbers_are_refused(
        self, project: ProjectNeeds, run: Any
    ) -> None:
        assert "allowed are whole numbers" in run("eval", "needs", "--budgets", "x").err


@pytest.fixture(scope="module")
def their_program() -> Any:
    """The program that came with the needs."""
    path = Path(os.environ[sources.DATA_VARIABLE]) / "session_needs" / "score.py"
    spec = importlib.util.spec_from_file_location("score_of_needs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def odd_context(row: Any, generator: random.Random) -> str:
    """A text of lines that tell needs, walls, titles, escapes and pieces of both."""
    lines = ["# Heading", "Rules:", "> quoted", "<mark>", "", "```", "  ", "ä" * 300]
    needs = [*row.needs]
    for each in needs:
        parts = list(generator.choice(each.match))
        told_line = " … ".join(parts)
        lines += [
            f"- {told_line}",
            told_line.upper(),
            "\t".join(parts),
            "".join(f"\\{sign}" if sign in "_*`.-" else sign for sign in told_line),
            f"{'é' * generator.randrange(90, 130)} {told_line}",
            f"`a_b` src/{generator.randrange(9)}.go `c d` {told_line} x.py y/z.ts",
            f"{told_line}:",
            f"{told_line}\u2028{told_line}\x0b{each.need}",
        ]
    if needs:
        both = generator.sample(needs, min(3, len(needs)))
        lines.append(" ".join(" ".join(each.match[0]) for each in both))
    lines += [
        "main.go",
        "see pkg/cmd/Main.go, ~/x/utils.go and ./.env.local",
        "🦊" * 70,
    ]
    lines += [f"{n}/a{n}.py" + " b_c" * n for n in range(4)]
    generator.shuffle(lines)
    return "\n".join(lines)


@needs_data
@pytest.mark.parametrize("name", ["minsky", "gryag", "calibrate_backend"])
def test_figures_equal_those_of_the_needs_own_program(
    name: str,
    their_program: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (loaded,) = load_session_needs(name)
    generator = random.Random(7)
    texts = {}
    for row in loaded.sessions:
        texts[row.session, ""] = odd_context(row, generator)
        texts[row.session, "asked"] = odd_context(row, generator)
    session_by_start = {row.start: row.session for row in loaded.sessions}

    def odd(_: Sequence[Event], now: int, prompt: str, tokens: int) -> str:
        text = texts[session_by_start[now], "asked" if prompt else ""]
        return text[tokens % 11 :]

    budgets = (1, 37, 150, 151, 500, 2_000)
    score = score_needs([loaded], {"odd": lambda: odd}, budgets=budgets, progress=False)
    contexts: dict[str, Any] = {}
    for result in score.results:
        modes = contexts.setdefault(result.session, {"start": {}, "asked": {}})
        modes["start"][str(result.budget)] = result.context.start
        modes["asked"][str(result.budget)] = result.context.asked
    file = tmp_path / "contexts.json"
    file.write_text(json.dumps({"odd": contexts}))
    data = Path(os.environ[sources.DATA_VARIABLE])
    arguments = [
        str(data / "session_needs" / f"{name}.jsonl"),
        str(data / "coding_sessions" / f"{name}.jsonl.gz"),
    ]
    words = ["score.py", *arguments, "--contexts", str(file)]
    monkeypatch.setattr(sys, "argv", words)
    with warnings.catch_warnings():
        # It leaves its files to be closed with it.
        warnings.simplefilter("ignore", ResourceWarning)
        their_program.main()
    their_lines = capsys.readouterr().out.splitlines()[1:]
    assert their_lines == [_as_they_print(score, budget) for budget in budgets]
    assert 0 < score.value("odd", 500, "start").value <= 1
    assert 0 < score.value("odd", 500, "useful").value < 1


def _as_they_print(score: NeedsScore, budget: int) -> str:
    """The figures as the needs' own program prints them."""
    parts = []
    for figure in ("start", "all", "useful"):
        mean = score.value("odd", budget, figure, project=score.projects[0])
        interval = f"{mean.value:.3f} [{mean.ci_low:.2f}, {mean.ci_high:.2f}]"
        parts.append(f"{figure} {interval}")
    tokens = score.value("odd", budget, "tokens").value
    wall = score.value("odd", budget, "wall").value
    figures = "  ".join(parts)
    return f"{'odd':24} {budget:5}  {figures}  tokens {tokens:6.0f}  wall {wall:5.1f}"


@needs_data
def test_each_line_tells_what_the_needs_own_program_says(their_program: Any) -> None:
    (loaded,) = load_session_needs("minsky")
    generator = random.Random(11)
    data = Path(os.environ[sources.DATA_VARIABLE])
    raw = (data / "session_needs" / "minsky.jsonl").read_text().splitlines()
    for row, line in zip(loaded.sessions, raw, strict=True):
        their_needs = json.loads(line)["needs"]
        for budget in (40, 200, 1_000):
            text = odd_context(row, generator)
            lines = statement_lines(text, budget)
            assert lines == their_program.lines_of(text, budget)
            theirs = their_program.told(lines, their_needs)
            ours = {
                told_need.need.id: told_need.line
                for told_need in match_lines(lines, row.needs)
                if told_need.line
            }
            assert ours == theirs


@needs_data
def test_counts_are_those_that_the_table_lists() -> None:
    projects = load_session_needs()
    published = [loaded for loaded in projects if loaded.is_published]
    counts = {
        "projects": len(published),
        "sessions": sum(len(loaded.sessions) for loaded in published),
        "needs": sum(len(row.needs) for loaded in published for row in loaded.sessions),
    }
    assert counts == SESSION_NEEDS.counts


@needs_data
def test_baselines_reach_what_the_set_publishes() -> None:
    projects = load_session_needs("minsky")
    names = ["best_lines", "recent_files"]
    score = score_needs(projects, names, budgets=[500], progress=False)
    assert score.value("best_lines", 500, "all").value > 0.95
    assert score.value("best_lines", 500, "useful").value == 1
    assert score.value("recent_files", 500, "wall").value <= 1
