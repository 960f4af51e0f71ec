"""The instruction set and its machine: text to programs and back, what is rejected, and
that nothing is changed.
"""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.designs.dreams.isa import (
    LAST_PARENT,
    Instruction,
    Opcode,
    Program,
    ProgramEffects,
    parse,
    run,
)

CODES = {
    "MEM_PTR": 0x10,
    "MEM_READ": 0x11,
    "MEM_NEXT": 0x12,
    "MEM_PREV": 0x13,
    "MEM_PARENT": 0x14,
    "MEM_JMP": 0x15,
    "EXTRACT_CONSTRAINT": 0x20,
    "MARK_CRITICAL": 0x21,
    "MARK_NOISE": 0x22,
    "BUILD_PARENT": 0x23,
    "BUILD_CHILD": 0x24,
    "LNK_NODE": 0x25,
    "GRP_NODE": 0x26,
    "PRN_NODE": 0x27,
    "NOP": 0xF0,
    "YIELD": 0xF1,
    "HALT": 0xF2,
}
DOCUMENT = """
# Phase 1: SWS
EXTRACT_CONSTRAINT trace_001 "Do not retry API calls without exponential backoff" timeout
MARK_CRITICAL trace_001 0
// noise
mark_noise trace_001 1
BUILD_PARENT "implement JWT auth" "Strategy for JWT with HS256 signing" 0.85
BUILD_CHILD $LAST_PARENT 0 "Research JWT spec" "Read RFC 7519" "Understood claims and signing"
HALT
MARK_CRITICAL trace_001 2
"""
TEXTS = st.text(max_size=40) | st.sampled_from(
    [
        '"',
        "\\",
        "'",
        "$'",
        "$'\\x0a'",
        ";",
        "# no comment",
        "//",
        "1.",
        "```",
        "",
        " ",
        "a\nb",
        "\r",
        "\x00",
    ]
)
INSTRUCTIONS = st.builds(
    Instruction,
    st.sampled_from(list(Opcode)),
    st.lists(TEXTS, max_size=6).map(tuple),
    st.integers(0, 9),
)
PROGRAMS = st.lists(INSTRUCTIONS, max_size=20).map(lambda found: Program(tuple(found)))


def test_the_seventeen_opcodes_have_their_values() -> None:
    assert {opcode.name: opcode.value for opcode in Opcode} == CODES


@given(PROGRAMS)
def test_what_is_written_is_read_as_the_same_program(program: Program) -> None:
    again = parse("\n".join(map(str, program.instructions)))
    assert again == program
    assert again.warnings == ()


@given(st.text())
def test_any_text_is_a_program_that_is_read_again_as_the_same(text: str) -> None:
    found = parse(text)
    assert parse("\n".join(map(str, found.instructions))) == found


@given(
    st.text(alphabet="ab \"'\\$#;x", max_size=20).filter(
        lambda line: not line.strip().endswith(";")
    )
)
def test_words_are_split_as_a_posix_shell_does(line: str) -> None:
    line = f"YIELD {line}".strip()
    if "$'" in line:
        return
    try:
        words = shlex.split(line)
    except ValueError:
        assert parse(line).warnings == ("L1: a quote has no end",)
        return
    assert [list(one.operands) for one in parse(line).instructions] == [words[1:]]


def test_the_program_of_the_document_runs() -> None:
    done = run(parse(DOCUMENT), actions=5, nodes=())
    assert (done.success, done.instructions_executed, done.errors, done.warnings) == (
        True,
        6,
        [],
        [],
    )
    assert done.effects.constraints == [
        ("Do not retry API calls without exponential backoff", "timeout")
    ]
    assert (done.effects.critical, done.effects.noise) == ([0], [1])
    assert done.effects.parents == [
        ("implement JWT auth", "Strategy for JWT with HS256 signing", 0.85)
    ]
    assert done.effects.children == [
        ("$0", 0, "Research JWT spec", "Read RFC 7519", "Understood claims and signing")
    ]
    assert done.side_effects[1] == "L4: MARK_CRITICAL trace_001 0"


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (
            "```asm\nNOP\n```",
            [
                "L1: a Markdown fence was passed over",
                "L3: a Markdown fence was passed over",
            ],
        ),
        (
            "1. NOP\n2) NOP\n- NOP",
            [f"L{n}: a list mark was passed over" for n in (1, 2, 3)],
        ),
        ("NOP;", ["L1: a semicolon was passed over"]),
        ("\n\nDROP_ALL x", ["L3: unknown opcode 'DROP_ALL'"]),
        ('YIELD "a b', ["L1: a quote has no end"]),
        ("NOP # no comment", []),
        ("nop\n\n# NOP\n  // NOP", []),
    ],
)
def test_what_is_no_instruction_is_a_warning_and_the_rest_runs(
    text: str, warned: list[str]
) -> None:
    done = run(parse(f"{text}\nYIELD end"))
    assert done.success
    assert done.warnings == warned
    assert done.effects.yields[-1] == "end"


def test_an_open_quote_leaves_words() -> None:
    assert parse('YIELD "a b').instructions[0].operands == ('"a', "b")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("MARK_CRITICAL t", "got 1 operands; allowed are 2 or more: trace index"),
        ("MARK_CRITICAL t 5", "got the index '5'; allowed is 0 to 4"),
        ("MARK_NOISE t -1", "got the index '-1'; allowed is a whole number from 0"),
        ("MARK_NOISE t ²", "got the index '²'; allowed is a whole number from 0"),
        (
            'BUILD_PARENT "g" "s" 99',
            "got the confidence '99'; allowed is a number from 0 to 1",
        ),
        (
            'BUILD_PARENT "g" "s" NaN',
            "got the confidence 'NaN'; allowed is a number from 0 to 1",
        ),
        (
            'BUILD_PARENT "g" "s" 1.01',
            "got the confidence '1.01'; allowed is a number from 0 to 1",
        ),
        (
            "BUILD_CHILD $LAST_PARENT 0 a b c",
            (
                "got the node '$LAST_PARENT'; allowed are those that were offered, or"
                " built before"
            ),
        ),
        (
            "LNK_NODE n1 n2 friend",
            (
                "got the edge 'friend'; allowed is next_step, previous_step,"
                " is_child_of, causal, context_jump"
            ),
        ),
        (
            "LNK_NODE n1 n3 causal",
            "got the node 'n3'; allowed are those that were offered, or built before",
        ),
        (
            "PRN_NODE *",
            "got the node '*'; allowed are those that were offered, or built before",
        ),
        ("MEM_READ", "got 0 operands; allowed are 1 or more: node"),
    ],
)
def test_a_wrong_instruction_is_rejected_with_its_line_and_never_stored(
    line: str, said: str
) -> None:
    done = run(parse(f"\n{line}\nMARK_CRITICAL t 0"), actions=5, nodes=("n1", "n2"))
    assert done.errors == [f"L2: {line.split()[0]}: {said}"]
    assert done.success
    assert vars(done.effects) == {**vars(ProgramEffects()), "critical": [0]}


@pytest.mark.parametrize("confidence", ["0", "1", "0.5", ".5", "1.0", "0.", "1."])
def test_confidences_from_0_to_1_are_taken(confidence: str) -> None:
    assert run(parse(f"BUILD_PARENT g s {confidence}")).effects.parents == [
        ("g", "s", float(confidence))
    ]


def test_a_fault_class_counts_only_as_the_last_of_three() -> None:
    done = run(
        parse(
            "EXTRACT_CONSTRAINT t timeout\nEXTRACT_CONSTRAINT t a b"
            " TIMEOUT\nEXTRACT_CONSTRAINT t a b timeout"
        )
    )
    assert done.effects.constraints == [
        ("timeout", "unknown_failure"),
        ("a b TIMEOUT", "unknown_failure"),
        ("a b", "timeout"),
    ]


def test_the_last_parent_is_the_latest_and_stands_for_a_node_alone() -> None:
    text = (
        f"BUILD_PARENT a b 0\nBUILD_PARENT c d 1\nLNK_NODE {LAST_PARENT} n"
        f" causal\nYIELD {LAST_PARENT}\nMEM_PTR two words"
    )
    done = run(parse(text))
    assert done.effects.links == [("$1", "n", "causal")]
    assert done.effects.yields == [LAST_PARENT]
    assert done.effects.reads == [(Opcode.MEM_PTR, "two words")]


@pytest.mark.parametrize(
    ("lines", "success"), [(500, True), (501, False), (10_000, False)]
)
def test_a_program_over_the_limit_asks_for_nothing(lines: int, success: bool) -> None:
    done = run(parse("PRN_NODE n\n" * lines))
    assert (done.success, done.instructions_executed) == (success, min(lines, 500))
    assert len(done.effects.prunes) == (500 if success else 0)
    assert any("max_instructions" in error for error in done.errors) is not success


def test_a_halt_counts_and_the_limit_is_the_callers() -> None:
    assert run(parse("NOP\nHALT\nNOP"), max_instructions=2)[:2] == (True, 2)
    assert run(parse("NOP\nNOP\nHALT"), max_instructions=2)[:2] == (False, 2)


@given(st.text(), st.integers(0, 3))
def test_garbage_runs_to_its_end_and_repeats_itself(text: str, actions: int) -> None:
    first, second = (run(parse(text), actions=actions, nodes=()) for _ in range(2))
    assert first.success
    assert first == second


@given(PROGRAMS, st.integers(0, 5))
def test_effects_hold_only_what_is_there(program: Program, actions: int) -> None:
    effects = run(program, actions=actions, nodes=("n",)).effects
    assert all(
        0 <= index < actions
        for index in [
            *effects.critical,
            *effects.noise,
            *(child[1] for child in effects.children),
        ]
    )
    assert all(0 <= confidence <= 1 for _, _, confidence in effects.parents)
    assert all(node == "n" or node.startswith("$") for node in effects.prunes)
