"""Words are found in other forms, in any script, without vectors."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from conftest import Run
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from theorex_lab import Lab
from theorex_lab.search import word_forms
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.lexical import STOP_WORDS, tokenize
from theorex_lab.search.word_forms import WordsOfTexts

# What is searched for, and a text that has it in another form.
INDEXED = [
    ("재시작", "서버는 매일 새벽에 재시작된다"),
    ("배포", "배포는 화요일에 한다"),
    ("집", "집에 간다"),
    ("再起動", "毎朝サーバーを再起動する"),
    ("部署", "每周二部署"),
    ("เซิร์ฟเวอร์", "รีสตาร์ทเซิร์ฟเวอร์ทุกวัน"),
    ("ພາສາ", "ພາສາລາວ"),
    ("ភាសា", "ភាសាខ្មែរ"),
    ("ကွန်ပျူတာ", "ကွန်ပျူတာကို"),
    ("བོད", "བོད་ཡིག"),
    ("книга", "Прочитали книги"),
    ("СЕРВЕР", "Перезапустили серверы"),
    ("елка", "Нарядили ёлку"),
    ("Αθήνα", "ΑΘΗΝΑ"),
    ("كتاب", "وجدت الكِتَاب"),
    ("בית", "בַּיִת"),
    ("ספרים", "קראתי את הספרים"),
    ("किताब", "दो किताबें"),
    ("வீடு", "வீட்டில்"),
    ("cafe", "Meet at the CAFÉ"),
    ("Łódź", "lodz"),
    ("abc", "ＡＢＣ"),
    ("école", "à l’ecole"),
]
# Forms that no stemmer here knows.
LAST_RESORT = [
    ("kitap", "Kitabımızdan alıntı"),
    ("talo", "Talossammekin on lämmin"),
    ("ház", "A házainkban"),
    ("maja", "Majadesse"),
    ("vitabu", "Kitabu kipo mezani"),
    ("wasi", "Wasikunapi tiyani"),
    ("etxe", "Etxearekin"),
    ("miasto", "Mieszka w mieście miasta"),
    ("Datenbank", "Der Datenbankserver steht"),
    ("server", "Der Datenbankserver steht"),
    ("память", "С памятью плохо"),
]
LAST_RESORT = [pair for pair in LAST_RESORT if len(pair[0]) > 3]


def other_forms(query: str, text: str) -> list[str]:
    """Return the words of a text that are forms of a query's."""
    words = WordsOfTexts()
    words.add(0, text)
    return words.forms_of(query, [0])


@pytest.mark.parametrize(("query", "text"), INDEXED)
def test_the_index_has_a_word_in_its_other_forms(query: str, text: str) -> None:
    assert set(tokenize(query)) & set(tokenize(text))


@pytest.mark.parametrize(("query", "text"), LAST_RESORT)
def test_a_word_of_any_language_is_found_at_last(query: str, text: str) -> None:
    assert other_forms(query, text)


def test_words_that_only_begin_alike_are_no_forms() -> None:
    assert other_forms("constant", "A constraint of conduct") == []


endings = st.lists(
    st.sampled_from("lar ımız dan ssa mme kin ban nak arekin kuna pi".split()),
    max_size=3,
).map("".join)
stems = st.text("abdeghiklmnoprstu", min_size=4, max_size=9)


@settings(max_examples=100, deadline=None)
@given(stems, endings)
def test_a_noun_with_any_chain_of_endings_is_found(noun: str, ending: str) -> None:
    assume(not {noun, noun + ending} & STOP_WORDS)
    assert other_forms(noun, f"x {noun}{ending} y") == [noun + ending]


hangul = st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), min_size=2)


@settings(max_examples=100, deadline=None)
@given(hangul, st.sampled_from("은 는 이 가 을 를 에 에서 으로 까지".split()))
def test_a_korean_noun_is_found_with_any_particle(noun: str, particle: str) -> None:
    assert set(tokenize(noun)) & set(tokenize(noun + particle))


@pytest.mark.parametrize(
    ("query", "text"), [INDEXED[0], INDEXED[1], INDEXED[14], *LAST_RESORT[:2]]
)
def test_the_command_finds_it_without_vectors(
    run: Run, monkeypatch: pytest.MonkeyPatch, query: str, text: str
) -> None:
    monkeypatch.setenv("THEOREX_SEARCH_VECTORS", "never")
    assert not run("write", text).code
    found = run("search", query, "--json").json
    assert [hit["text"] for hit in found["hits"]] == [text]


def test_an_index_of_an_older_release_is_built_again(run: Run) -> None:
    with patch.object(ItemIndex, "code", 8):
        assert not run("write", "배포는 화요일에 한다").code
        run("search", "화요일에", "--json")
    assert "배포는" in str(run("search", "배포", "--json").json)


def test_letters_are_counted_only_where_words_begin_or_end_alike() -> None:
    with patch.object(word_forms, "_n_common") as counted:
        assert other_forms("kitap", "Mutfak dolabında ekmek bulunur") == []

    counted.assert_not_called()


def test_a_text_is_read_once_for_the_forms_of_its_words(lab: Lab) -> None:
    main = lab.agent("main")
    main.write("Kitaplarımızdan biri kayıp")
    lab.search("anahtar", vectors="never")
    add = WordsOfTexts.add
    with patch.object(WordsOfTexts, "add", autospec=True, side_effect=add) as read:
        assert not len(lab.search("defter", vectors="never"))
        read.assert_not_called()
        main.write("Defterlerimizden biri de kayıp")
        assert len(lab.search("defter", vectors="never")) == 1
        read.assert_called_once()


def test_no_text_is_read_for_the_forms_of_english_words(lab: Lab) -> None:
    lab.agent("main").write("Kitaplarımızdan biri kayıp")
    with patch.object(WordsOfTexts, "add") as read:
        assert not len(lab.search("where are the broken windows"))
    read.assert_not_called()


def test_an_erased_text_has_no_forms(lab: Lab) -> None:
    lab.agent("main").write("Defterlerimizden biri de kayıp")
    assert len(lab.search("defter", vectors="never")) == 1
    lab.erase(match="Defterlerimizden")
    hits = lab.search("defter")
    assert not len(hits)
    assert "defterlerimizden" not in str(hits.notes)
