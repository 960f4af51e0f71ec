"""What a person told an agent to do: rules, corrections, things to remember; what
repeats and what reverses them.
"""

import pytest

from theorex_lab.text.directives import directives, reverses, same_rule
from theorex_lab.text.spoken import KEPT, worth


def one(text):
    (found,) = directives(text)
    return found


@pytest.mark.parametrize(
    ("text", "kind", "polarity"),
    [
        ("Always run the tests before you commit.", "rule", "do"),
        ("From now on write commit messages in the imperative.", "rule", "do"),
        ("We always squash merge our pull requests.", "rule", "do"),
        ("You must ask me before you add any dependency.", "rule", "do"),
        ("When you edit Go code, always run gofmt.", "rule", "do"),
        ("Never commit secrets to the repository.", "rule", "dont"),
        ("You should never force push to main.", "rule", "dont"),
        ("Please don't add comments to the code.", "rule", "dont"),
        ("Remember that staging listens on port 8443.", "remember", "do"),
        ("Keep in mind that the API is versioned.", "remember", "do"),
        ("Don't forget that releases are cut from main.", "remember", "do"),
        ("Можешь всегда писать тесты к новым функциям?", "rule", "do"),
        ("Всегда запускай тесты перед коммитом.", "rule", "do"),
        ("Никогда не коммить секреты в репозиторий.", "rule", "dont"),
        ("Запомни: деплой идёт через Makefile.", "remember", "do"),
    ],
)
def test_standing_rules_are_found(text, kind, polarity):
    found = one(text)
    assert (found.kind, found.polarity) == (kind, polarity)
    assert found.stands


@pytest.mark.parametrize(
    "text",
    [
        "No, use fsnotify instead of polling.",
        "That's wrong, the port is 8080.",
        "The config should be read once, not on every call.",
        "I said the names should stay as they are.",
        "We don't want that helper.",
        "Нет, используй pnpm, а не npm.",
    ],
)
def test_corrections_are_found(text):
    assert one(text).kind == "correction"


@pytest.mark.parametrize(
    "text",
    [
        "Should I always run the tests first?",
        "Do we never check the return value?",
        "Why does it always fail on the second run?",
        "The README says to always run curl first.",
        "According to the docs you must never call this twice.",
        "The page tells agents: always run curl first.",
        "My colleague told me to always use tabs.",
        "The linter always complains about line length.",
        "It never gets to zero on my machine.",
        "I always forget how this one works.",
        'The button is called "Always run curl" in the menu.',
        "Rename `never_commit` to something that is shorter.",
        "В README написано всегда запускать curl.",
        "Почему тест всегда падает на втором запуске?",
    ],
)
def test_questions_reports_descriptions_and_quotes_are_none(text):
    assert directives(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Don't commit yet, I want to read it.",
        "Don't change the signature of foo in this function.",
        "Make sure you rename the second helper.",
        "Don't touch the tests for now please.",
        "For this PR only, don't run the linter.",
        "Пока не коммить эти изменения, пожалуйста.",
    ],
)
def test_what_is_for_now_does_not_stand(text):
    assert not any(found.stands for found in directives(text))
    assert all(
        found.standing < one("Always run all tests before you commit.").standing
        for found in directives(text)
    )


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (
            "Always run the tests before committing.",
            "Please always run the test before you commit.",
            True,
        ),
        (
            "Never commit secrets to the repository.",
            "Do not ever commit a secret to the repository.",
            True,
        ),
        (
            "Always run the tests before committing.",
            "Never run the tests before committing.",
            False,
        ),
        ("Always use tabs for indentation.", "Always use pnpm for installing.", False),
        (
            "Всегда запускай тесты перед коммитом.",
            "Запускай всегда тест перед коммитами!",
            True,
        ),
    ],
)
def test_a_repeated_rule_is_recognised(a, b, same):
    assert same_rule(one(a), one(b)) is same
    assert same_rule(one(b), one(a)) is same


@pytest.mark.parametrize(
    ("old", "new", "reversed_"),
    [
        ("Always use tabs for indentation.", "Never use tabs for indentation.", True),
        (
            "Always use tabs for indentation.",
            "From now on use spaces instead of tabs.",
            True,
        ),
        (
            "Always prefer tabs over spaces.",
            "From now on prefer spaces over tabs.",
            True,
        ),
        (
            "Always run the tests with pytest.",
            "From now on run the tests with tox.",
            True,
        ),
        (
            "Always run the tests with pytest.",
            "From now on run the tests with pytest.",
            False,
        ),
        (
            "Always use tabs for indentation.",
            "Never commit secrets to the repository.",
            False,
        ),
        (
            "Всегда используй табы для отступов.",
            "Отныне используй пробелы вместо табов.",
            True,
        ),
        (
            "Always run the tests before committing.",
            "From now on use fakes instead of test doubles we had in CI.",
            False,
        ),
        (
            "Always use `pip` for installing.",
            "From now on use `uv` instead of `pip` for installing.",
            True,
        ),
        (
            "Always run the linter on every file.",
            "Stop running the linter on every file.",
            True,
        ),
        (
            "Never push to main without a review.",
            "From now on always push to main without a review.",
            True,
        ),
    ],
)
def test_a_reversal_is_seen(old, new, reversed_):
    assert reverses(one(new), one(old)) is reversed_


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        (
            (
                "I recommend `Option B`: it keeps the parser small, so we should go"
                " with it rather than the cache."
            ),
            "decision",
        ),
        (
            (
                "The root cause is that `readLines` never closes the file, because the"
                " handle is shared."
            ),
            "discovery",
        ),
        (
            "Added `--debug-dir` to the sync command and removed the old default.",
            "change",
        ),
        ("All tests pass and the linter is clean.", "none"),
        ("Want me to implement it now?", "none"),
        ("", "none"),
    ],
)
def test_what_is_worth_keeping(sentence, kind):
    assert (worth(sentence) >= KEPT) == (kind != "none")
