"""What messages signal, by patterns; their labels, and how the patterns are scored."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from conftest import Run

from theorex_lab import InvalidInput
from theorex_lab.designs.facts.signals import HIGH, facts_in, keywords, signal_of
from theorex_lab.eval.datasets import sources
from theorex_lab.eval.datasets.sources import read_lines
from theorex_lab.eval.metrics import labelled as scores
from theorex_lab.eval.metrics.labelled import (
    SIGNALS,
    LabelledMessage,
    labelled_messages,
    score_signals,
)

pytestmark = pytest.mark.usefixtures("shared_logs")

needs_data = pytest.mark.skipif(
    not os.environ.get(sources.DATA_VARIABLE),
    reason=f"{sources.DATA_VARIABLE} names no folder with the public sets",
)


def labels(language: str) -> list[LabelledMessage]:
    return read_lines(
        sources.packaged(f"signals_{language}.jsonl.gz"), LabelledMessage, SIGNALS, 1
    )[1]


@pytest.mark.parametrize(
    ("text", "signal", "categories", "confidence"),
    [
        ("Я предпочитаю TypeScript", "high", ("preference",), 0.88),
        ("Actually, I prefer tabs", "high", ("correction", "preference"), 0.91),
        (
            "we decided to ship; deployed and launched",
            "high",
            ("decision", "milestone"),
            0.91,
        ),
        ("ok!", "none", (), 0.95),
        ("working on the parser", "low", ("context",), 0.5),
        ("where is it?", "none", (), 0.8),
        ("grey clouds drift", "none", (), 0.3),
    ],
)
def test_golden_signals(
    text: str, signal: str, categories: tuple[str, ...], confidence: float
) -> None:
    assert signal_of(text)[:3] == (signal, categories, confidence)


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("My name is Ann and I work at the mill.", "identity"),
        ("Меня зовут Олег, живу в Перми.", "identity"),
        ("Always run the linter before you commit.", "instruction"),
        ("Remember that the server reboots at night.", "instruction"),
        ("Никогда не удаляй старые отчёты.", "instruction"),
        ("That's wrong, the port is 8081.", "correction"),
        ("Порт у базы 8081, а не 8080.", "correction"),
        ("Let's go with the second option.", "decision"),
        ("Решили переехать осенью.", "decision"),
        ("I finished my thesis!", "milestone"),
        ("Наконец-то защитил диплом.", "milestone"),
        ("I can't stand long meetings.", "preference"),
        ("Терпеть не могу сырой лук.", "preference"),
    ],
)
def test_every_category_is_found_in_both_languages(text: str, category: str) -> None:
    assert signal_of(text).categories == (category,)


@pytest.mark.parametrize(
    "text",
    [
        "It's not finished yet.",
        "We haven't decided yet.",
        "I'm amazed.",
        "Did you finish it?",
        "What do you prefer?",
        "If we finish by five, we go.",
        "He said he was never there.",
        "Never heard of it.",
        "I would like a table.",
        "You won't regret it.",
        "The decision is how to stop it.",
        "> Always run curl.",
        "```\nI prefer tabs\n```",
        "Отчёт ещё не готов.",
        "Мы ещё ничего не выбрали.",
        "Ты уже решил?",
        "Любимов ставил спектакль.",
        "Он всегда опаздывает.",
    ],
)
def test_what_is_denied_asked_supposed_quoted_or_a_part_of_a_word_signals_nothing_high(
    text: str,
) -> None:
    assert signal_of(text).signal != "high"


@pytest.mark.parametrize(
    "text",
    [
        "Thanks a lot, see you tomorrow!",
        "Спасибо большое",
        "👍",
        "?!",
        "",
        " \n",
        "Yep, sounds good",
        "Доброе утро, коллеги",
    ],
)
def test_courtesies_and_signs_are_none_for_sure(text: str) -> None:
    assert signal_of(text)[:3] == ("none", (), 0.95)


def test_confidence_grows_with_the_categories_and_stays_below_one() -> None:
    found = signal_of(
        "Actually, I prefer tabs. We decided to move. I finished my thesis. Always use"
        " tabs. My name is Ann."
    )
    assert found[:3] == ("high", tuple(sorted(HIGH)), 0.95)


def test_keywords_are_ten_at_most_as_they_are_written() -> None:
    assert keywords("We should use the TypeScript compiler") == (
        "TypeScript",
        "compiler",
    )
    assert len(keywords(" ".join(f"word{n}" for n in range(50)))) == 10


def test_facts_are_the_sentences_worth_keeping_in_their_speakers_words() -> None:
    said = (
        "Hi Bob! Done. I prefer TABS, not spaces. Where is it?\n\n```\nI love curl very"
        " much\n```\nМеня зовут Ann."
    )
    found = facts_in(said)
    assert [fact.sentence for fact in found] == [
        "I prefer TABS, not spaces.",
        "Меня зовут Ann.",
    ]
    assert [fact.categories for fact in found] == [
        ("correction", "preference"),
        ("identity",),
    ]
    assert found[0].confidence == 0.91
    assert facts_in("Done.") == facts_in("") == facts_in("ok, thanks") == []


def test_facts_are_short_and_what_a_user_pasted_is_none() -> None:
    long = "I prefer " + "very " * 200 + "tabs."
    assert all(
        len(fact.sentence) <= 500
        for fact in facts_in(f"{long}\nI prefer tabs in code.\n" * 3)
    )
    pasted = "The README says:\n\nWe decided to drop tabs for good."
    assert facts_in(pasted) == []
    assert len(facts_in(pasted, "agent")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "\x00\x01",
        "\ud800 I prefer tabs",
        "İ" * 500,
        "a" * 1_000_000,
        "\u202eI prefer tabs",
        "<system-reminder>",
        "`" * 999,
    ],
)
def test_odd_texts_are_read_without_an_error(text: str) -> None:
    assert signal_of(text).signal in ("high", "low", "none")
    assert isinstance(facts_in(text), list)


HOSTILE = [
    "a",
    "i ",
    "i'm ",
    "my ",
    "not ",
    "let's ",
    "(",
    "` ",
    "мне ",
    "не ",
    " ",
    "\n",
    "- ",
    "?",
    "never. ",
    "every time ",
    "i have two ",
    "i am x, ",
    "thanks ",
    "no, ",
    "it is",
    "running ",
    "как ",
    "what is ",
    "<a>",
    "i prefer tabs. ",
    f"{'what ' * 76}. ",
    f"{'я ' * 190}? ",
    f"{'my a ' * 76}. ",
    f"{'i really ' * 42}. ",
    f"{'done x ' * 55}. ",
]


@pytest.mark.parametrize("part", HOSTILE, ids=[repr(part[:12]) for part in HOSTILE])
def test_time_is_linear_in_a_hostile_message(part: str) -> None:
    def seconds(size: int) -> float:
        text = (part * size)[:size]
        took = []
        for _ in range(3):
            start = time.process_time()
            signal_of(text)
            facts_in(text)
            took.append(time.process_time() - start)
        return min(took)

    seconds(100)
    assert seconds(4_000) < 4 * seconds(2_000) + 0.005
    assert seconds(4_000) < 0.1


def test_a_message_costs_less_than_two_milliseconds() -> None:
    said = [message.text for message in labelled_messages("ru")]
    took = []
    for text in said * 3:
        start = time.process_time()
        signal_of(text)
        took.append(time.process_time() - start)
    best = np.array(took).reshape(3, -1).min(axis=0)
    assert np.quantile(best, 0.99) < 0.002
    assert len(said) / best.sum() > 2_500


def test_english_labels_are_places_and_russian_messages_are_self_written() -> None:
    english = labels("en")
    russian = labels("ru")
    assert all(
        not label.text
        and label.talk.partition("/")[0] in ("locomo", "qmsum", "coding_sessions")
        for label in english
    )
    assert all(label.text and label.drawn == "written" for label in russian)
    for label in [*english, *russian]:
        assert set(label.categories) <= set(HIGH)
        assert bool(label.categories) == (label.signal == "high")
        assert len(label.sha256) == 12
        assert int(label.sha256, 16) >= 0
    reported = [label for label in english if label.half == "report"]
    assert len(reported) >= 200
    assert all(label.drawn.startswith("fresh") for label in reported)
    assert len({label.id for label in english}) == len(english) == 730


def test_another_message_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = LabelledMessage(
        "ru-001",
        "ru-001",
        1,
        labels("ru")[0].sha256,
        "written",
        "none",
        (),
        "user",
        labels("ru")[0].text,
    )
    monkeypatch.setattr(scores, "read_lines", lambda *_: ({}, [moved]))
    with pytest.raises(InvalidInput, match="another message at ru-001"):
        labelled_messages("ru")


def test_another_set_is_refused(run: Run) -> None:
    with pytest.raises(
        InvalidInput, match="allowed are signals, signals_en, signals_ru"
    ):
        score_signals("nowhere")
    assert "allowed are signals" in run("eval", "signals", "--dataset", "nowhere").err


def test_shares_are_those_counted_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two tabs one is found, and one is found that is none."""
    rows = [
        ("1", "I prefer tabs.", "preference"),
        ("2", "Tabs, please.", "preference"),
        ("3", "I love tea.", ""),
    ]
    made = [
        LabelledMessage(
            id,
            id,
            0,
            "",
            "written",
            "high" if of else "none",
            (of,) if of else (),
            "user",
            text,
        )
        for id, text, of in rows
    ]
    found = scores._scored(made, 0)["metrics"]
    assert (
        found["preference"]["precision"],
        found["preference"]["recall"],
        found["preference"]["f1"],
    ) == (
        0.5,
        0.5,
        0.5,
    )
    assert found["macro"]["f1"] == found["micro"]["f1"] == 0.5
    assert found["signal"]["f1"] == pytest.approx(1 / 3)
    assert (found["preference"]["labelled"], found["identity"]["labelled"]) == (2, 0)


def better_than_baselines(result: dict) -> None:
    own = result["metrics"]
    others = result["baselines"]
    assert own["micro"]["f1_ci_low"] > max(
        row["micro"]["f1"] for row in others.values()
    )
    assert own["signal"]["f1"] > max(row["signal"]["f1"] for row in others.values())
    for row in [*own.values(), *(row for of in others.values() for row in of.values())]:
        assert all(
            0 <= row[f"{share}_ci_low"] <= row[share] <= row[f"{share}_ci_high"] <= 1
            for share in scores.SHARES
        )


def test_patterns_find_more_than_every_baseline_in_russian(run: Run) -> None:
    result = run("eval", "signals", "--dataset", "signals_ru", "--json").json
    assert set(result) == {"dataset", "n", "metrics", "baselines", "make"}
    assert result["n"] + result["make"]["n"] == 156
    better_than_baselines(result)
    shown = run("eval", "signals", "--dataset", "signals_ru").out
    assert all(
        name in shown
        for name in (*HIGH, "high, low or none", "all, micro", "every category")
    )


@needs_data
@pytest.mark.filterwarnings("ignore:locomo")
def test_patterns_find_more_than_every_baseline_in_fresh_english_messages() -> None:
    result = score_signals("signals_en")
    assert result["n"] == 206
    assert result["metrics"]["micro"]["f1"] >= 0.6
    better_than_baselines(result)


@needs_data
@pytest.mark.filterwarnings("ignore:locomo")
def test_the_same_messages_are_drawn_again() -> None:
    from sample_signals import sample

    drawn = [
        tuple(row[key] for key in ("talk", "id", "offset", "sha256", "drawn"))
        for row in sample()
    ]
    assert drawn == [
        (label.talk, label.id, label.offset, label.sha256, label.drawn)
        for label in labels("en")
    ]
