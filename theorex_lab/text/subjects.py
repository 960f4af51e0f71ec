"""Tell what a work is about from the words that every work is done with.

A word that is a verb as often as a noun ("change", "test", "list") says what somebody
does, and a few nouns ("directory", "error", "option") are said of any software. Alone,
or among themselves, they are the subject of nothing. Where people join such a word to
many others ("task spec", "task list", "task id"), it names something of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.text import lexicon as lex

if TYPE_CHECKING:
    from theorex_lab.text.extract import Mention

# A word opens phrases where so many begin with it, and so many for each that ends with
# it.
_FEWEST_OPENED = 5
_OPENED_FOR_EACH_ENDED = 2
_DRAWN_OUT = lazy_pattern(r"([a-z])\1{2,}")  # as in "hmmm", which names nothing
_PLAIN_WORD = lazy_pattern(r"[a-z]+(?:-[a-z]+)?")


@remembered(16_384)
def is_everyday_word(word: str) -> bool:
    """Return whether a word, in its canonical form, is said of any work.

    >>> words = ("status", "changes", "hmmm", "mmmk", "origin", "parser", "a.py")
    >>> [word for word in words if not is_everyday_word(word)]
    ['parser', 'a.py']
    """
    if not _PLAIN_WORD.fullmatch(word):
        return False
    if word in lex.everyday_nouns() or _DRAWN_OUT.search(word):
        return True
    kinds = lex.word_kinds()
    kind = kinds.get(word)
    if kind is None:
        kind = lex.kind_by_form(word)
    return kind != lex.NOUN


def opening_words(labels: Iterable[str]) -> frozenset[str]:
    """Return the words that many phrases begin with, and few end with.

    Args:
        labels: Canonical forms of concepts; one said often counts once.

    >>> phrases = [f"task {noun}" for noun in ("spec", "list", "id", "log", "file")]
    >>> sorted(opening_words([*phrases, "markdown file"]))
    ['task']
    """
    opened = defaultdict[str, set[str]](set)
    ended = defaultdict[str, set[str]](set)
    for label in labels:
        words = label.split()
        if len(words) > 1:
            first = words[0]
            last = words[-1]
            opened[first].add(label)
            ended[last].add(label)
    words_that_open = set[str]()
    for word, phrases in opened.items():
        n_opened = len(phrases)
        n_ended = len(ended[word])
        is_open = n_opened >= _OPENED_FOR_EACH_ENDED * n_ended
        if is_open and n_opened >= _FEWEST_OPENED:
            words_that_open.add(word)
    return frozenset(words_that_open)


def may_be_subject(label: str, openings: Collection[str] = ()) -> bool:
    """Return whether a concept may stand for what a work is about.

    Names, identifiers, paths and phrases with a word of their own may.

    Args:
        label: Its canonical form.
        openings: The words that `opening_words` gives.

    >>> [may_be_subject(label) for label in ("session repo", "error message", "src/a.py")]
    [True, False, True]
    >>> may_be_subject("task", {"task"})
    True
    """
    for word in label.split():
        if word in openings:
            return True
        if not is_everyday_word(word):
            return True
    return False


def own_concepts(prompt: str, mentions: Collection[Mention]) -> list[int]:
    r"""Return the ids of the mentions that a prompt's user said, and did not paste.

    >>> from theorex_lab.text.extract import extract
    >>> prompt = "Look at the parser:\n```\nmy_store = open(path)\n```"
    >>> own = own_concepts(prompt, extract(prompt))
    >>> [mention.label for mention in extract(prompt) if mention.concept_id in own]
    ['parser']
    """
    if not mentions:
        return []
    own_ids = _own_ids(prompt)
    ids = [mention.concept_id for mention in mentions]
    return [concept_id for concept_id in ids if concept_id in own_ids]


# A flush asks it of each prompt, and once more where it keeps the prompt.
@remembered(1 << 10)
def _own_ids(prompt: str) -> frozenset[int]:
    """Return the ids of the concepts of what a prompt's user did not paste."""
    from theorex_lab.text.extract import extract
    from theorex_lab.text.pasted import is_likely_pasted, own_line_numbers

    own_numbers = own_line_numbers(prompt)
    lines = []
    for number, line in enumerate(prompt.splitlines()):
        if number not in own_numbers:
            continue
        if not is_likely_pasted(prompt, number):
            lines.append(line)
    own_text = "\n".join(lines)
    own_mentions = extract(own_text)
    return frozenset(mention.concept_id for mention in own_mentions)
