"""Tokens, and BM25 scores against a reference, at every split of documents over calls
and files.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from theorex_lab.search import lexical
from theorex_lab.search.lexical import STOP_WORDS, LexicalIndex, tokenize

ROWAN = "rowan"
PLUM = "plum"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The retries were failing", ["retri", "fail"]),
        ("Don't you know the user's name?", ["know", "user", "name"]),
        ("snake_case", ["snake_cas", "snake", "case"]),
        ("parseHTTPHeader", ["parsehttphead", "pars", "http", "header"]),
        ("APIs on YouTube", ["api", "youtub", "tube"]),
        ("see theorex.db", ["see", "theorex.db", "theorex", "db"]),
        (
            "src/my_app/Main.py",
            ["src/my_app/main.pi", "src", "my_app", "app", "main", "py"],
        ),
        ("__init__ of 1.2.3", ["init", "1.2.3"]),
        ("CAFÉ ﬁles café", ["cafe", "file", "cafe"]),
        ("Straße", ["strass"]),
        ("東京都 猫", ["東京", "京都", "猫"]),
        ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),
        ("हिन्दी लिपि", ["हिन्द", "लिप"]),
        ("память агента", ["памя", "агент"]),
        ("東京tower", ["東京", "tower"]),
        ("... — !?", []),
        ("", []),
    ],
)
def test_tokens_of_words_identifiers_and_scripts(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_an_identifier_is_found_by_itself_and_by_its_parts() -> None:
    parts = set(tokenize("load_userProfile"))
    assert set(tokenize("LOAD_USERPROFILE")) & parts
    assert set(tokenize("loading a user")) <= parts


@given(st.text())
def test_tokens_are_stable_nonempty_and_free_of_stop_words(text: str) -> None:
    tokens = tokenize(text)
    assert tokens == tokenize(text)
    assert all(tokens)
    assert not any(
        word in STOP_WORDS for word in text.split() if tokenize(word) == [word]
    )


words = st.integers(0, 12).map(lambda number: f"w{number}")
corpora = st.lists(st.lists(words, max_size=8), min_size=2, max_size=24)


def without_common_words(corpus: list[list[str]]) -> list[list[str]]:
    """The corpus without words of more than half of its documents, and one word more in
    the last document.
    """
    common = {word for document in corpus for word in document}
    common = {
        word
        for word in common
        if 2 * sum(word in document for document in corpus) > len(corpus)
    }
    kept = [[word for word in document if word not in common] for document in corpus]
    return [*kept[:-1], [*kept[-1], "last"]]


def mapped(
    columns: dict[str, npt.NDArray[np.generic]], folder: Path
) -> dict[str, npt.NDArray[np.generic]]:
    """The columns written to files and mapped read-only."""
    for name, column in columns.items():
        np.save(folder / f"{name}.npy", column)
    return {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in columns}


@settings(max_examples=80)
@given(
    corpora,
    st.lists(
        st.one_of(words, st.just("last"), st.just("absent")), min_size=1, max_size=6
    ),
    st.data(),
)
def test_scores_equal_the_reference_at_every_split(
    corpus: list[list[str]], query: list[str], data: st.DataObject
) -> None:
    documents = without_common_words(corpus)
    reference = BM25Okapi(documents).get_scores(query)
    cuts = sorted(
        data.draw(st.lists(st.integers(1, len(documents)), max_size=6, unique=True))
    )
    saved_at = data.draw(st.sampled_from([*cuts, None]))
    index = LexicalIndex()
    with (
        TemporaryDirectory() as folder,
        patch.object(lexical, "_RECENT_OCCURRENCES", 6),
    ):
        for start, stop in zip([0, *cuts], [*cuts, len(documents)], strict=True):
            if start == saved_at:
                index = LexicalIndex.from_columns(mapped(index.columns(), Path(folder)))
            index.add(documents[start:stop])
            index.search(query)
        assert len(index) == len(documents)
        np.testing.assert_allclose(index.scores(query), reference, rtol=0, atol=1e-6)


@settings(max_examples=50)
@given(corpora, st.lists(words, min_size=1, max_size=5), st.integers(0, 30), st.data())
def test_search_is_the_sorted_scores_of_allowed_documents(
    corpus: list[list[str]], query: list[str], limit: int, data: st.DataObject
) -> None:
    index = LexicalIndex()
    index.add(corpus)
    allowed = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus)))
    )
    scores = index.scores(query)
    holding = [
        number for number, document in enumerate(corpus) if set(document) & set(query)
    ]
    expected = sorted(
        (number for number in holding if allowed[number]),
        key=lambda n: (scores[n], n),
        reverse=True,
    )
    found, found_scores = index.search(query, allowed, limit)
    assert found.tolist() == expected[:limit]
    assert found_scores.tolist() == scores[found].tolist()


def test_equal_documents_come_newest_first() -> None:
    index = LexicalIndex()
    index.add([[ROWAN], [PLUM], [ROWAN], [PLUM, PLUM], [ROWAN]])
    assert index.search([ROWAN], limit=2)[0].tolist() == [4, 2]


def test_a_word_of_most_documents_orders_them_but_weighs_next_to_nothing() -> None:
    index = LexicalIndex()
    index.add([[ROWAN], [ROWAN, ROWAN], [ROWAN, PLUM], ["oak"]])
    assert index.search([ROWAN])[0].tolist() == [1, 0, 2]
    assert 0 < index.scores([ROWAN]).max() < 1e-8
    assert index.search([ROWAN, PLUM])[0].tolist()[0] == 2


def test_the_only_document_is_found() -> None:
    index = LexicalIndex()
    index.add([[ROWAN]])
    assert index.search([ROWAN])[0].tolist() == [0]


def test_an_empty_index_and_an_unknown_word_find_nothing() -> None:
    index = LexicalIndex.from_columns(LexicalIndex().columns())
    assert index.search([ROWAN])[0].tolist() == []
    index.add([[], []])
    assert index.scores([ROWAN, PLUM]).tolist() == [0.0, 0.0]
    assert index.search([])[0].tolist() == []


def test_opening_copies_nothing_and_adding_leaves_the_files_as_they_were(
    tmp_path: Path,
) -> None:
    index = LexicalIndex()
    index.add([[f"w{number % 7}", f"v{number}"] for number in range(600)])
    columns = mapped(index.columns(), tmp_path)
    before = {name: column.copy() for name, column in columns.items()}
    opened = LexicalIndex.from_columns(columns)
    assert all(
        np.shares_memory(opened.columns()[name], columns[name])
        for name in ("documents", "terms", "lengths")
    )
    opened.add([["w1"]] * 2000)
    assert len(opened.columns()["lengths"]) == 2600
    assert all(
        np.array_equal(before[name], np.load(tmp_path / f"{name}.npy"))
        for name in columns
    )


def test_documents_added_one_by_one_are_merged_a_logarithmic_number_of_times() -> None:
    moved = 0
    merged = lexical._merged

    def counting(older: lexical._Segment, newer: lexical._Segment) -> lexical._Segment:
        nonlocal moved
        result = merged(older, newer)
        moved += len(result.documents)
        return result

    index = LexicalIndex()
    with (
        patch.object(lexical, "_merged", counting),
        patch.object(lexical, "_RECENT_OCCURRENCES", 8),
    ):
        for number in range(4096):
            index.add([[f"w{number % 50}", f"v{number}"]])
        assert moved < 2 * 4096 * 12
        assert len(index._segments) <= 12


def test_columns_hold_no_text() -> None:
    index = LexicalIndex()
    index.add([tokenize("the vault code is hunter2")])
    assert all(column.dtype.kind in "iu" for column in index.columns().values())
    assert b"hunter2" not in b"".join(
        column.tobytes() for column in index.columns().values()
    )
