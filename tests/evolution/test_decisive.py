"""The decisive step of a run: each sign on a run of its own, classes, fixes, odd texts."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import InvalidInput
from theorex_lab.evolution.decisive import (
    KNOWN_FROM,
    LAST_CALL_RUNS,
    LAST_CALL_SHARE,
    WEIGHTS,
    DecisiveStep,
    FailureClass,
    LikelyStep,
    RunStep,
    find_decisive,
    likely_words,
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
from theorex_lab.evolution.team_signs import TEAM_SIGNS, TeamRun

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
        ("doubted", 1, [PLAN, CODE, "It seems that this misses the railway bridges."]),
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


def test_a_step_is_named_only_where_it_is_likelier_than_all_others() -> None:
    made_up = found(run(PLAN, SIMULATED, "I agree, that is accurate."))
    assert made_up.is_known
    assert made_up.confidence > KNOWN_FROM
    talk = "Could you please provide what you have, so that all of us can go on? " * 4
    alike = found(run(PLAN, talk, talk, talk, talk))
    assert not alike.is_known
    assert alike.confidence < KNOWN_FROM
    assert len(alike.likely_steps) <= 3


def test_likely_steps_are_likelier_than_the_mean_and_best_first() -> None:
    steps = run(PLAN, SIMULATED, CODE, "It is so.", "The river has 41 bridges.")
    finding = found(steps)
    chances = [likely.chance for likely in finding.likely_steps]
    assert finding.likely_steps[0] == LikelyStep(finding.step, finding.confidence)
    assert chances == sorted(chances, reverse=True)
    assert all(chance > 1 / len(steps) for chance in chances)


def test_likely_steps_read_well() -> None:
    assert likely_words([LikelyStep(3, 0.4)]) == "step 3 (40 %)"
    two = [LikelyStep(3, 0.4), LikelyStep(0, 0.3)]
    assert likely_words(two) == "step 3 (40 %) or 0 (30 %)"


def tool_run(n_calls: int) -> list[RunStep]:
    steps = [RunStep(0, "user", TASK)]
    for number in range(n_calls):
        steps.append(RunStep(len(steps), "clerk", f"count({number})"))
        steps.append(RunStep(len(steps), "count", str(number), tool="count"))
    steps.append(RunStep(len(steps), "clerk", "I booked 41 bridges."))
    return steps


@pytest.mark.parametrize("n_calls", [1, 2, 6, 12, 60])
def test_where_tools_were_called_the_last_call_is_the_guess(n_calls: int) -> None:
    finding = found(tool_run(n_calls))
    assert finding.step == 2 * n_calls - 1
    measured = min(LAST_CALL_SHARE, LAST_CALL_RUNS / n_calls)
    assert finding.confidence == pytest.approx(max(measured, 1 / (n_calls + 1)))
    assert finding.is_known == (n_calls < 6)
    assert [likely.step for likely in finding.likely_steps] == [finding.step]


# Runs that a conductor leads.


def ledger(*, progress: bool = True, loop: bool = False) -> str:
    answers = {"is_in_loop": loop, "is_progress_being_made": progress}
    rows = {name: {"reason": "so", "answer": value} for name, value in answers.items()}
    return f"Updated Ledger:\n{json.dumps(rows, indent=2)}"


PAGE = (
    "\n\nHere is a screenshot of [Bridges](https://bridges.invalid/). The viewport shows"
    " 28% of the webpage.\nAutomatic OCR of the page screenshot has detected the"
    ' following text:\n\nOberbaum 1896, "Moltke" 1891, let\'s assume 4,711 visitors'
)


def led(*rows: tuple[str, str]) -> list[RunStep]:
    """Steps of pairs of a role, as Magentic-One writes it, and a text."""
    steps = [RunStep(0, "human", TASK)]
    plan = f"Initial plan:\n\nWe are to answer: {TASK}"
    for role, text in [("Orchestrator (thought)", plan), *rows]:
        agent, _, bracket = role.partition(" (")
        address = bracket.rstrip(")")
        steps.append(RunStep(len(steps), agent, text, address=address))
    return steps


def round_of(act: str, **state: bool) -> list[tuple[str, str]]:
    order = "Please find the list of the bridges of the river Spree."
    return [
        ("Orchestrator (thought)", ledger(**state)),
        ("Orchestrator (-> WebSurfer)", order),
        ("WebSurfer", act + PAGE),
    ]


def test_the_act_before_the_first_stall_is_the_likeliest() -> None:
    steps = led(
        *round_of("I typed 'bridges of the Spree' into the search bar."),
        *round_of("I clicked 'Hotels at the river'."),
        *round_of("I scrolled down one page.", progress=False),
        *round_of("I went back one page.", progress=False, loop=True),
        ("Orchestrator (termination condition)", "No agent selected."),
    )
    finding = found(steps)
    assert steps[finding.step].text.startswith("I clicked 'Hotels")
    assert finding.agent == "WebSurfer"
    assert not finding.is_known


def test_notes_of_a_conductor_are_never_at_fault() -> None:
    steps = led(
        *round_of("I opened the list."),
        ("Orchestrator (thought)", "Request satisfied."),
        ("Orchestrator (termination condition)", "Maximum rounds reached."),
        ("Orchestrator (final answer)", "FINAL ANSWER: there are 41 bridges."),
    )
    assert candidates(read_run(steps, TASK)) == [1, 3, 4, 7]


def test_what_stands_on_a_shown_page_is_no_word_of_the_agent() -> None:
    steps = led(*round_of("I opened the list."))
    reading = read_run(steps, TASK)[4]
    assert reading.prose.strip() == "I opened the list."
    assert not reading.made_up
    assert reading.new_facts == ()


@pytest.mark.parametrize(
    ("sign", "rows", "expected"),
    [
        ("repeated", round_of("I clicked the list of bridges there.") * 2, {4: 1.0}),
        ("off_instruction", round_of("Nothing of it."), {}),
        (
            "new_plan",
            [("Orchestrator (thought)", "New plan:\n\nAsk."), *round_of("I")],
            {2: 1.0},
        ),
        (
            "missed_form",
            [*round_of("I"), ("Orchestrator (final answer)", "They are many.")],
            {5: 1.0},
        ),
        ("last", round_of("I"), {4: 1.0}),
        ("before_stall", [*round_of("I"), *round_of("I", progress=False)], {4: 1.0}),
    ],
)
def test_signs_of_a_team(
    sign: str, rows: list[tuple[str, str]], expected: dict[int, float]
) -> None:
    steps = led(*rows)
    readings = read_run(steps, TASK)
    team = TeamRun(steps, readings, candidates(readings), TASK)
    assert getattr(team, sign)() == expected


def test_an_answer_that_passes_the_instruction_by_is_seen() -> None:
    rows = [
        ("Orchestrator (-> Coder)", "Write a script that counts the railway bridges."),
        ("Coder", "Tomorrow the weather will be fine in Treptow."),
    ]
    steps = led(*rows)
    readings = read_run(steps, TASK)
    team = TeamRun(steps, readings, candidates(readings), TASK)
    assert team.off_instruction() == {3: 1.0}


def test_every_sign_of_a_team_is_read() -> None:
    assert {sign.name for sign in TEAM_SIGNS} <= set(vars(TeamRun))


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
_AGENTS = st.sampled_from(["planner", "coder", "checker"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_AGENTS, _PIECES), min_size=1, max_size=12))
def test_names_of_agents_mean_nothing(rows: list[tuple[str, str]]) -> None:
    renamed = {"planner": "zeta", "coder": "alpha", "checker": "beta"}
    steps = run(*rows)
    others = run(*[(renamed[agent], text) for agent, text in rows])
    finding = found(steps)
    other = found(others)
    assert other.scores == finding.scores
    assert other.step == finding.step
    assert other.agent == renamed[finding.agent]


def test_a_run_of_one_step_has_this_step() -> None:
    finding = found(run("The river has 41 bridges."))
    assert (finding.step, finding.confidence) == (0, 1.0)
    assert finding.likely_steps == (LikelyStep(0, 1.0),)


_TEXTS = st.one_of(_PIECES, st.text(max_size=200))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=8),
            _TEXTS,
            st.none() | st.just("tool"),
            st.none() | st.booleans(),
            st.sampled_from(["", "thought", "-> b", "termination condition"]),
        ),
        min_size=1,
        max_size=12,
    ),
    _TEXTS,
)
def test_any_run_has_a_finding(
    rows: list[tuple[str, str, str | None, bool | None, str]], task: str
) -> None:
    steps = [RunStep(k, *row) for k, row in enumerate(rows)]
    finding = find_decisive(steps, task=task)
    assert finding == find_decisive(steps, task=task)
    assert finding.agent in {step.agent for step in steps}
    assert sum(finding.scores) == pytest.approx(1)
    assert finding.confidence == max(finding.scores) == finding.scores[finding.step]
    assert all(
        each.quote and len(each.quote) <= 200 and "\n" not in each.quote
        for each in finding.evidence
    )
    fix = rule_fix(finding, steps)
    assert len(fix) <= 300
    assert fix.isprintable()
