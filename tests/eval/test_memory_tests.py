"""Tests of a memory as a user writes them: what they demand, what they notice, and the
pytest plugin that runs them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mutated_memories import MUTANTS, FirstValueWins, Sound

from theorex_lab import InvalidInput
from theorex_lab.eval import EvalLog, load_logs, memory_under_test, story_problems
from theorex_lab.eval.datasets.needs_rows import LogNeeds, Need, SessionNeeds
from theorex_lab.eval.testing.given_log import log_given, sentences_log
from theorex_lab.eval.testing.memory_after import MemoryFailedTest, MemoryUnderTest
from theorex_lab.eval.testing.says import line_says
from theorex_lab.eval.testing.story import draw_story

SAID = [
    "The port of the till is 8080.",
    "We deploy on Fridays, never on Mondays.",
    "The port of the till is 9090 now.",
]


# When a line says a statement


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        ("The port is 8080", "the port is 8080"),
        ("- **Port**: `8080` (till)", "the port is 8080"),
        ("8080 is the till's port", "port 8080"),
        ("Never deploy on Mondays.", "never deploy on Mondays"),
        ("We deploy on Fridays, never on Mondays.", "deploy on Fridays"),
        ("Порт кассы 8080", "порт кассы 8080"),
    ],
)
def test_a_line_says_what_all_its_words_say(line: str, statement: str) -> None:
    assert line_says(line, statement)


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        ("The port is 80801", "the port is 8080"),
        ("The port is not 8080", "the port is 8080"),
        ("The port is 9090, not 8080", "the port is 8080"),
        ("It isn't port 8080", "the port is 8080"),
        ("The port used to be 8080", "the port is 8080"),
        ("The port is 9090", "the port is 8080"),
        ("Deploy on Mondays", "never deploy on Mondays"),
        ("", "the port is 8080"),
    ],
)
def test_a_line_that_denies_or_lacks_a_word_does_not_say_it(
    line: str, statement: str
) -> None:
    assert not line_says(line, statement)


# What a test may demand


def test_what_was_said_is_recalled(memory: MemoryUnderTest) -> None:
    after = memory.after(SAID)
    after.recalls("the port of the till is 9090", asked="Which port has the till?")
    after.recalls("deploy on Fridays")
    after.prefers(
        "the port of the till is 9090",
        over="the port of the till is 8080",
        asked="What is the port of the till?",
    )
    after.never("JWT secret", asked=["What is the secret?"])
    assert after.covers(["deploy on Fridays", "port of the till is 9090"]) == 1


def test_what_was_not_said_fails_and_shows_what_was_given(
    memory: MemoryUnderTest,
) -> None:
    after = memory.after(SAID)
    with pytest.raises(MemoryFailedTest, match=r"(?s)'the port is 7070'.*9090"):
        after.recalls("the port is 7070", asked="Which port has the till?")
    with pytest.raises(MemoryFailedTest, match="must never come back"):
        after.never("on fridays")
    with pytest.raises(
        MemoryFailedTest, match=r"(?s)got from sessions 0\.500.*Sundays"
    ):
        after.covers(["deploy on Fridays", "deploy on Sundays"])
    with pytest.raises(MemoryFailedTest, match="at the start, no line within 500"):
        after.recalls("the port is 7070", at_start=True)


def test_a_value_that_was_replaced_must_not_stand_first() -> None:
    demanded = {
        "statement": "the port of the till is 9090",
        "over": "the port of the till is 8080",
        "asked": "What is the port of the till?",
    }
    with memory_under_test(Sound) as sound:
        sound.after(SAID).prefers(**demanded)
    with (
        memory_under_test(FirstValueWins) as stale,
        pytest.raises(MemoryFailedTest, match="no line"),
    ):
        stale.after(SAID).prefers(**demanded)
    with (
        memory_under_test(MUTANTS["StaleFirst"]) as stale,
        pytest.raises(MemoryFailedTest, match="8080' before"),
    ):
        stale.after(SAID).prefers(**demanded)


def test_needs_of_sessions_are_asked_for_when_these_begin() -> None:
    log = sentences_log([*SAID, "Which port has the till?"])
    last = log.events[-3]

    def session(id: str, *match: str) -> SessionNeeds:
        need = Need(id, "fact", 2, "asked", f"the port ({id})", (match,))
        return SessionNeeds(last.session, "2026-03-03T03:00:00Z", (need,))

    class WithLines(Sound):
        pass

    lines = load_logs("simulated_sessions")[0].lines[:1]
    prompt = lines[0]._replace(
        at=last.at, session=last.session, prompt="Which port has the till?"
    )
    told = EvalLog(
        "told", log.events, (), [prompt], LogNeeds([session("told", "9090")], {})
    )
    with memory_under_test(WithLines) as memory:
        after = memory.after(told)
        assert after.covers() == 1
        # What only the session itself says was not known when it began.
        assert after.covers([session("later", "which port has")], at_least=0) == 0
        with pytest.raises(MemoryFailedTest, match=r"(?s)missing are:.*the port \(x\)"):
            after.covers([session("x", "7070")])


def test_wrong_demands_are_refused(memory: MemoryUnderTest) -> None:
    after = memory.after(SAID)
    for wrong in ("", " ", None):
        with pytest.raises(InvalidInput, match="allowed is a text"):
            after.recalls(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="brings none"):
        after.covers()
    with pytest.raises(InvalidInput, match="statements alone, or sessions alone"):
        after.covers(["a", 1])  # type: ignore[list-item]
    for nothing in ([], EvalLog("empty", []), [1, 2]):
        with pytest.raises(InvalidInput, match="allowed"):
            memory.after(nothing)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no-such"):
        log_given("no-such")


# Figures that may fall by so much


def test_figures_of_a_log_may_fall_by_the_allowed_drop(tmp_path: Path) -> None:
    (log,) = load_logs("simulated_sessions")
    end = log.events[0].at + 14 * 86_400_000_000
    events = [event for event in log.events if event.at < end]
    month = EvalLog(
        "two weeks", events, (), [line for line in log.lines if line.at < end]
    )
    file = tmp_path / "figures" / "memory.json"
    with memory_under_test("recent_files") as files:
        after = files.after(month)
        with pytest.raises(InvalidInput, match="--theorex-update"):
            after.keeps_up(file)
        figures = after.keeps_up(file, update=True)
        assert json.loads(file.read_text()) == figures
        assert after.keeps_up(file, drop=0) == figures
    with (
        memory_under_test("nothing") as nothing,
        pytest.raises(MemoryFailedTest, match=r"inject@500:mean: 0 after 0\.\d"),
    ):
        nothing.after(month).keeps_up(file)
    file.write_text('{"inject@500:mean": "high"}')
    with memory_under_test("nothing") as nothing, pytest.raises(InvalidInput):
        nothing.after(month).keeps_up(file)


# What the promises notice


def test_a_sound_memory_keeps_every_promise() -> None:
    for seed in range(100):
        with memory_under_test(Sound) as memory:
            assert story_problems(memory, seed=seed) == []


def test_the_memory_of_a_home_keeps_every_promise(memory: MemoryUnderTest) -> None:
    assert story_problems(memory, seed=3) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_a_memory_that_does_one_thing_wrong_is_noticed(name: str) -> None:
    for seed in range(5):
        with memory_under_test(MUTANTS[name]) as memory:
            assert story_problems(memory, seed=seed) != []


def test_a_story_is_drawn_from_its_seed() -> None:
    assert draw_story(4).facts == draw_story(4).facts
    assert draw_story(4).facts != draw_story(5).facts
    assert not {fact.value for fact in draw_story(4).facts} & {
        fact.value for fact in draw_story(4, name="other").facts
    }
    for n_facts in (2, 43):
        with pytest.raises(InvalidInput, match="allowed are 3 to 42"):
            draw_story(0, n_facts=n_facts)


# The plugin


_TEST = """
def test_port(memory):
    after = memory.after(["The port of the till is 8080."])
    after.recalls("the port is 8080", asked="Which port?")
"""
_BASELINE = """
def test_figures(memory):
    memory.after("simulated_sessions").keeps_up("figures.json", budgets=[150])
"""


@pytest.fixture
def _no_plugins_of_others(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run within pytest would import these anew; see pyproject.toml."""
    others = "-p no:langsmith_plugin -p no:schemathesis"
    monkeypatch.setenv("PYTEST_ADDOPTS", others)


@pytest.mark.usefixtures("_no_plugins_of_others")
def test_the_plugin_brings_the_fixture_and_its_options(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(_TEST)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    pytester.runpytest_inprocess("--theorex-memory", "bm25").assert_outcomes(passed=1)
    failed = pytester.runpytest_inprocess("--theorex-memory", "nothing")
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*no line within 500 tokens that says*"])
    pytester.makeini("[pytest]\ntheorex_memory = nothing")
    pytester.runpytest_inprocess().assert_outcomes(failed=1)
    unknown = pytester.runpytest_inprocess("--theorex-memory", "no-such")
    unknown.assert_outcomes(errors=1)


@pytest.mark.usefixtures("_no_plugins_of_others")
def test_figures_are_written_where_pytest_is_told_to(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_BASELINE)
    chosen = ("--theorex-memory", "recent_files")
    pytester.runpytest_inprocess(*chosen).assert_outcomes(failed=1)
    pytester.runpytest_inprocess(*chosen, "--theorex-update").assert_outcomes(passed=1)
    pytester.runpytest_inprocess(*chosen).assert_outcomes(passed=1)
    worse = pytester.runpytest_inprocess("--theorex-memory", "nothing")
    worse.assert_outcomes(failed=1)
