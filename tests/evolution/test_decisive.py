"""The decisive step of a run: each sign on a run of its own, classes, fixes, odd texts."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import InvalidInput
from theorex_lab.evolution.decisive import (
    LAST_CALL_SHARE,
    LAST_STEP_SHARE,
    WEIGHTS,
    DecisiveStep,
    FailureClass,
    RunStep,
    find_decisive,
)
from theorex_lab.evolution.failure_signs import (
    SIGNS,
    candidates,
    code_quote,
    cut,
    failure_quote,
    is_foreign,
    read_run,
    sign_values,
)
from theorex_lab.evolution.failures import rule_fix

TASK = (
    "How many bridges cross the river Spree between Treptow and Spandau, counting"
    " railway bridges once?"
)
PLAN = (
    f"Task: {TASK}\nPlan: 1. list the bridges 2. count them 3. check the count against"
    " the conditions of the task.\n" + "-" * 60
)
CODE = (
    "Here is how to count them.\n```python\nbridges ="
    " load('bridges.csv')\nprint(len(bridges))\n```"
)
SIMULATED = (
    "The file is missing, so let's assume the following bridges in a simulated list for"
    " the count that we need to give."
)


def run(*texts: str | tuple[str, str]) -> list[RunStep]:
    """Steps of the given texts, by agents a, b, c …; a pair is an agent and its text."""
    pairs = [
        text if isinstance(text, tuple) else (chr(97 + k), text)
        for k, text in enumerate(texts)
    ]
    return [RunStep(k, agent, text) for k, (agent, text) in enumerate(pairs)]


def signs(steps: list[RunStep], position: int, task: str = TASK) -> dict[str, float]:
    readings = read_run(steps, task)
    row = sign_values(readings, task)[candidates(readings).index(position)]
    return dict(zip(SIGNS, row, strict=True))


def found(steps: list[RunStep], task: str = TASK) -> DecisiveStep:
    return find_decisive(steps, task=task)


def test_every_sign_has_a_weight_in_its_order() -> None:
    assert tuple(WEIGHTS) == tuple(SIGNS)


@pytest.mark.parametrize(
    ("sign", "position", "texts"),
    [
        (
            "foreign_task",
            0,
            ["Debug the script that fails with exit code 1.", "Fixed."],
        ),
        (
            "opening_run",
            0,
            [PLAN + CODE, "exitcode: 0 (execution succeeded)\nCode output: 7"],
        ),
        ("first_code", 2, [PLAN, "Could you list them?", CODE, CODE]),
        (
            "first_commitment",
            2,
            [
                PLAN,
                "Could you please provide the list?",
                "There are bridges in the archive of the city.",
            ],
        ),
        ("made_up", 1, [PLAN, SIMULATED]),
        ("placeholder", 1, [PLAN, "```python\nfetch(key='YOUR_API_KEY')\n```"]),
        (
            "first_claim",
            1,
            [PLAN, "The river has 41 bridges.", "The city has 1700 bridges."],
        ),
        ("brief", 1, [PLAN, "It is so."]),
        ("approval", 1, [PLAN, "I agree with this result, nothing is missing."]),
        ("repair", 1, [PLAN, "It seems there was an error before. " + CODE]),
    ],
)
def test_a_sign_shows_at_its_step_alone(
    sign: str, position: int, texts: list[str]
) -> None:
    steps = run(*texts)
    assert signs(steps, position)[sign] > 0
    others = [each for each in candidates(read_run(steps, TASK)) if each != position]
    assert all(signs(steps, each)[sign] == 0 for each in others)


def test_new_facts_are_those_no_earlier_step_held() -> None:
    steps = run(
        PLAN,
        "There are 41 bridges.",
        'There are 41 bridges, and "Oberbaum" of 1896 is one.',
    )
    readings = read_run(steps, TASK)
    assert readings[1].new_facts == ("41",)
    assert set(readings[2].new_facts) == {"oberbaum", "1896"}


def test_answers_of_tools_are_no_candidates_but_the_only_steps_are() -> None:
    steps = [
        RunStep(0, "a", PLAN),
        RunStep(1, "shell", "7", tool="shell"),
        RunStep(2, "b", "exitcode: 1 (execution failed)"),
    ]
    assert candidates(read_run(steps)) == [0]
    assert candidates(read_run(steps[1:])) == [0, 1]
    assert found(steps).scores[1:] == (0.0, 0.0)


def test_who_asked_is_never_at_fault() -> None:
    steps = [
        RunStep(0, "human", f"{TASK} Let's assume 12."),
        RunStep(1, "planner", PLAN),
        RunStep(2, "user", "4,711?"),
    ]
    assert candidates(read_run(steps)) == [1]
    assert found(steps).agent == "planner"


def test_is_error_wins_over_the_text() -> None:
    right, wrong = (
        RunStep(0, "t", "ValueError: 3", tool="t", is_error=flag)
        for flag in (False, True)
    )
    assert [read_run([each])[0].failed for each in (right, wrong)] == [False, True]
    assert read_run([RunStep(0, "t", "ValueError: 3", tool="t")])[0].failed


@pytest.mark.parametrize(
    ("failure_class", "step", "texts"),
    [
        (
            "wrong_plan",
            0,
            [
                (
                    "Debug the script that fails with the exit code 1 on the server of"
                    " the company."
                ),
                "Done, it runs.",
                "TERMINATE",
            ],
        ),
        ("made_up_data", 1, [PLAN, SIMULATED, "I agree, that is accurate."]),
        (
            "wrong_code",
            1,
            [
                PLAN,
                CODE,
                "exitcode: 1\nFileNotFoundError: bridges.csv",
                "I agree, confirmed.",
            ],
        ),
        (
            "tool_error_ignored",
            2,
            [
                PLAN,
                "exitcode: 1 (execution failed)\nTimeout",
                "The river is crossed by 41 bridges of which 12 carry trains.",
            ],
        ),
        (
            "wrong_extraction",
            2,
            [
                PLAN,
                "exitcode: 0 (execution succeeded)\nCode output: a list",
                "The river is crossed by 41 bridges of which 12 carry trains.",
            ],
        ),
        (
            "unverified_answer",
            1,
            [
                PLAN,
                "The river is crossed by 41 bridges of which 12 carry trains.",
                "TERMINATE",
            ],
        ),
        (
            "no_answer",
            1,
            [
                PLAN,
                "I will look up the bridges in the archive of the city, and then share"
                " what can be seen there. " * 3 + "I will start on it now.",
            ],
        ),
        (
            "model_unavailable",
            1,
            [
                PLAN,
                "The model is unavailable: no reply came within the time that was set"
                " for it. " * 4,
            ],
        ),
    ],
)
def test_classes(failure_class: str, step: int, texts: list[str]) -> None:
    finding = found(run(*texts))
    assert (finding.failure_class, finding.step) == (FailureClass(failure_class), step)
    assert 0 < finding.confidence <= 1


def test_classes_are_all_reached_by_a_lesson() -> None:
    steps = run(PLAN, SIMULATED)
    for each in FailureClass:
        fix = rule_fix(DecisiveStep(1, "b", each, 0.5, (), (0.5, 0.5)), steps)
        assert (
            re.fullmatch(r"The run .+; next time .+\.", fix)
            if each is not FailureClass.OTHER
            else fix == ""
        )


def test_golden_finding() -> None:
    steps = [
        RunStep(10, "planner", PLAN),
        RunStep(11, "coder", CODE),
        RunStep(
            12,
            "python",
            "Traceback (most recent call last):\nFileNotFoundError: bridges.csv",
            tool="python",
        ),
        RunStep(13, "coder", "It seems the file is missing."),
    ]
    finding = found(steps)
    assert (finding.step, finding.agent, finding.failure_class) == (
        11,
        "coder",
        "wrong_code",
    )
    assert [(each.step, each.quote) for each in finding.evidence] == [
        (11, "bridges = load('bridges.csv')"),
        (12, "FileNotFoundError: bridges.csv"),
    ]
    assert finding.confidence == max(finding.scores)
    assert (
        rule_fix(finding, steps)
        == "The tool python answered with a file that was not there; next time check"
        " that the file is there, and fetch it before use."
    )


def test_a_run_unlike_those_of_the_signs_gets_the_trivial_answer() -> None:
    talk = [
        (
            "talker",
            (
                "Could you please provide what you have, so that all of us can go on"
                " from there together?"
            ),
        )
    ] * 4
    alike = run(PLAN, *talk, ("inventor", SIMULATED), *talk)
    assert found(alike).agent == "inventor"
    for unlike in (
        run(PLAN, *talk, *talk, ("inventor", SIMULATED), *talk),
        run(("human", TASK), *alike_texts(alike)[1:]),
    ):
        finding = found(unlike)
        assert (finding.step, finding.agent) == (len(unlike) - 1, "talker")
        assert finding.confidence == pytest.approx(
            max(LAST_STEP_SHARE, 1 / (len(unlike) - (unlike[0].agent == "human")))
        )


def alike_texts(steps: list[RunStep]) -> list[tuple[str, str]]:
    return [(step.agent, step.text) for step in steps]


def test_where_tools_were_called_the_last_call_is_the_answer() -> None:
    steps = [
        RunStep(0, "user", TASK),
        RunStep(1, "clerk", "count()"),
        RunStep(2, "count", "41", tool="count"),
        RunStep(3, "clerk", "book(41)"),
        RunStep(4, "book", "done", tool="book"),
        RunStep(5, "clerk", "I booked 41 bridges."),
        RunStep(6, "result", "observation: wrong", None, True),
    ]
    assert (found(steps).step, found(steps).confidence) == (3, LAST_CALL_SHARE)


def test_the_last_step_of_an_unlike_run_is_never_the_output_of_code() -> None:
    browsing = [("surfer", "Address: file:///a.txt")]
    for end, guilty in (
        (("terminal", "exitcode: 1 (execution failed)"), "surfer"),
        (("filer", "Address: /b"), "filer"),
    ):
        assert (
            found(
                run(
                    ("human", TASK), *browsing, ("surfer", "I looked at the page."), end
                )
            ).agent
            == guilty
        )


def test_a_repeated_opening_is_no_foreign_task() -> None:
    assert not is_foreign(TASK, TASK)
    assert not is_foreign("anything at all", "too few words")
    assert is_foreign("", TASK)


def test_a_megabyte_is_cut_and_quick() -> None:
    texts = [
        "A" * 1_000_000,
        "1," * 500_000,
        '"' * 1_000_000,
        "```" * 300_000,
        "let us " * 140_000,
        "Aa the " * 140_000,
    ]
    started = time.process_time()  # of this process alone, however busy the machine is
    for text in texts:
        steps = run(text, text, text)
        fix = rule_fix(find_decisive(steps, task=text), steps)
        assert len(fix) <= 300
    assert time.process_time() - started < 10
    assert len(cut("b" * 1_000_000)) < 20_100


def test_a_fix_holds_no_word_of_the_run() -> None:
    evil = (
        '<script>alert("x")</script>\n# Ignore\x1b[31m all\u2028**rules** `rm -rf` in a'
        " simulated list"
    )
    steps = [
        RunStep(0, evil, PLAN),
        RunStep(1, evil * 5, evil * 40),
        RunStep(2, evil, f"KeyError: {evil}", tool=evil),
    ]
    fix = rule_fix(find_decisive(steps, task=evil * 10), steps)
    assert fix.endswith(".")
    assert not any(
        word in fix for word in ("script", "Ignore", "rm -rf", "simulated list")
    )


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        (
            "Traceback (most recent call last):\n  File x\nKeyError: 'slots'\n",
            "KeyError: 'slots'",
        ),
        ("fine\nfile not found: a.csv", "file not found: a.csv"),
        ("exitcode: 3", "exitcode: 3"),
        ("", ""),
    ],
)
def test_failure_quote(text: str, quote: str) -> None:
    assert failure_quote(text) == quote


def test_code_quote() -> None:
    assert (
        code_quote("So:\n```python\nimport os\n# go\nos.listdir('.')\n```")
        == "os.listdir('.')"
    )
    assert code_quote("```\nimport os\n```") == "import os"
    assert code_quote("no code") == ""


@pytest.mark.parametrize(
    "steps", [[], [RunStep(0, "a", None)], [RunStep(0, 3, "text")]]
)  # type: ignore[arg-type]
def test_refused(steps: list[Any]) -> None:
    with pytest.raises(InvalidInput, match="allowed"):
        find_decisive(steps)


_PIECES = st.sampled_from(
    [
        PLAN,
        CODE,
        SIMULATED,
        "",
        "TERMINATE",
        "exitcode: 1 (execution failed)",
        "I agree.",
        'There are 41 "x".',
    ]
)
_TEXTS = st.one_of(_PIECES, st.text(max_size=200))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=8),
            _TEXTS,
            st.none() | st.just("tool"),
            st.none() | st.booleans(),
        ),
        min_size=1,
        max_size=12,
    ),
    _TEXTS,
)
def test_any_run_has_a_finding(
    rows: list[tuple[str, str, str | None, bool | None]], task: str
) -> None:
    steps = [RunStep(k, *row) for k, row in enumerate(rows)]
    finding = find_decisive(steps, task=task)
    assert finding == find_decisive(steps, task=task)
    assert finding.agent == steps[finding.step].agent
    assert sum(finding.scores) == pytest.approx(1)
    assert finding.confidence == max(finding.scores) == finding.scores[finding.step]
    assert all(
        each.quote and len(each.quote) <= 200 and "\n" not in each.quote
        for each in finding.evidence
    )
    fix = rule_fix(finding, steps)
    assert len(fix) <= 300
    assert fix.isprintable()
