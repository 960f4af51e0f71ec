"""Plain statements are read with whole names, and questions are answered over several."""

from pathlib import Path

import pytest

from theorex_lab.eval.datasets.fact_consolidation import numbered_facts
from theorex_lab.eval.datasets.generated_facts import generated_fact_rows
from theorex_lab.memory.chains import NOT_KNOWN, AnswerFromStatements, StatementChains
from theorex_lab.memory.fact_statements import read_fact, read_facts
from theorex_lab.memory.relation_senses import relation_stem, sense_of, stems_of

DATA = Path(__file__).parent.parent / "data"


def _set_of(name: str) -> tuple[StatementChains, list[list[str]]]:
    """Return the statements of a file of tests/data, and its questions with answers."""
    text = (DATA / f"{name}.txt").read_text("utf-8")
    facts, _, questions = text.partition("[questions]")
    statements = [line for line in facts.splitlines()[1:] if line.strip()]
    rows = [line.split("\t") for line in questions.splitlines() if line.strip()]
    return StatementChains(statements), rows


@pytest.mark.parametrize(
    ("text", "subject", "value"),
    [
        (
            "The headquarters of University of Minnesota is located in the city of"
            " Minneapolis.",
            "University of Minnesota",
            "Minneapolis",
        ),
        (
            "J. R. R. Tolkien is famous for The Lord of the Rings.",
            "J. R. R. Tolkien",
            "The Lord of the Rings",
        ),
        (
            "The type of music that Miles Davis plays is jazz.",
            "Miles Davis",
            "jazz",
        ),
        ("Norway's capital is New York.", "Norway", "New York"),
        ("Ida Holm wrote Salt Lanterns.", "Salt Lanterns", "Ida Holm"),
        ("Salt Lanterns was written by Ida Holm.", "Salt Lanterns", "Ida Holm"),
        ("Ann Lee is the mayor of New Bath.", "New Bath", "Ann Lee"),
        ("Ann Lee is a citizen of New Zealand.", "Ann Lee", "New Zealand"),
        ("Vana Labs is where Ann Lee works.", "Ann Lee", "Vana Labs"),
        ("Esk has Port Orrin as its capital.", "Esk", "Port Orrin"),
        (
            "The univeristy where Ann Lee was educated is Columbia University.",
            "Ann Lee",
            "Columbia University",
        ),
        (
            "The name of the current head of the India government is Rahul Gandhi.",
            "India",
            "Rahul Gandhi",
        ),
        ("till-api runs version 4.0.8.", "till-api", "4.0.8"),
    ],
)
def test_subjects_and_values_are_whole_names(
    text: str, subject: str, value: str
) -> None:
    fact = read_fact(text)
    assert fact is not None
    assert (fact.subject, fact.value) == (subject, value)


def test_names_that_look_like_words_are_told_by_what_other_statements_say() -> None:
    facts = read_facts(
        [
            "Hey Jude was performed by The Beatles.",
            "Salt Song was performed by Ida Holm.",
            "This is the Day was performed by The The.",
        ]
    )
    last = facts[-1]
    assert last is not None
    assert (last.subject, last.value) == ("This is the Day", "The The")


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("was founded in the city of", "founded where"),
        ("is married to", "spouse"),
        ("is a citizen of", "nationality"),
        ("the origianl broadcaster of", "originally aired"),
        ("was written by", "author"),
        ("is located in the continent of", "continent"),
    ],
)
def test_relations_are_the_same_in_other_words(statement: str, question: str) -> None:
    assert _sense(statement) == _sense(question) != ""


def test_prepositions_and_kinds_tell_relations_apart() -> None:
    assert _sense("was created @by") == "creator"
    assert _sense("was created country @in") == "origin"
    assert _sense("written language @in") == "written language"


def _sense(words: str) -> str:
    sense = sense_of(stems_of(words.split()))
    return sense.name if sense else ""


def test_misspelt_words_are_mended_and_others_left() -> None:
    assert relation_stem("origianl") == relation_stem("original")
    assert relation_stem("zebras") == "zebra"


def test_the_newest_statement_of_each_step_counts() -> None:
    chains = StatementChains(
        [
            "The author of Salt Lanterns is Ida Holm.",
            "Ida Holm is married to Per Lund.",
            "Per Lund was born in the city of Oslo.",
            "Ida Holm is married to Jon Moe.",
            "Jon Moe was born in the city of Bergen.",
        ]
    )
    question = "Where was the spouse of the author of Salt Lanterns born?"
    assert chains.answer(question) == AnswerFromStatements("Bergen", (0, 3, 4))
    assert chains.current() == {0, 2, 3, 4}


def test_a_statement_that_ends_another_leaves_nothing() -> None:
    chains = StatementChains(
        [
            "Ida Holm is married to Per Lund.",
            "Ida Holm is no longer married to Per Lund.",
        ]
    )
    assert chains.answer("Who is the spouse of Ida Holm?").text == NOT_KNOWN


@pytest.mark.parametrize(
    "question",
    [
        "",
        "?",
        "Who is the spouse of Nobody Known?",
        "What city was the founder of Apple Inc. born in?",
        "Who is Tim Cook's dentist?",
    ],
)
def test_what_is_not_read_is_not_known(question: str) -> None:
    chains, _ = _set_of("published_style_facts")
    assert chains.answer(question) == AnswerFromStatements(NOT_KNOWN)


def test_no_statements_answer_nothing() -> None:
    assert StatementChains([]).answer("Who is Ann?").text == NOT_KNOWN
    assert StatementChains(["", "Hm.", "?"]).answer("Who is Ann?").text == NOT_KNOWN


@pytest.mark.parametrize(
    ("name", "least"),
    [("published_style_facts", 0.95), ("natural_facts", 0.85)],
)
def test_sets_written_by_hand_are_answered(name: str, least: float) -> None:
    chains, rows = _set_of(name)
    right = [answer in chains.answer(question).text for question, answer in rows]
    assert sum(right) >= least * len(rows)


def test_generated_questions_over_several_statements_are_answered() -> None:
    for row in generated_fact_rows(3, n_questions=40):
        chains = StatementChains(numbered_facts(row["context"]))
        questions = zip(row["questions"], row["answers"], strict=True)
        right = [
            chains.answer(question).text == answers[0].removesuffix(".")
            or answers[0] in chains.answer(question).text
            for question, answers in questions
        ]
        assert sum(right) >= 0.9 * len(right)
