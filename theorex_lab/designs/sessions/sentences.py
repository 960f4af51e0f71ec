"""The sentences of what was said in sessions, and their words."""

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.journal.event import Body, Event
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE
from theorex_lab.text.spoken import Span, Speaker, sentences_of

TEXT_OF = {
    "prompt": "text",
    "turn_ended": "message",
    "turn_message": "text",
    "observation": "text",
}
_WORD = lazy_pattern(r"[^\W\d_]\w{3,}")
_LONGEST_WORD = 40


def words(text: str) -> set[str]:
    """Return the words of at least four characters, in lower case.

    >>> sorted(words("Use the TTL cache, always."))
    ['always', 'cache']
    """
    if text.isascii():
        # Its length stays the same, and what is a letter stays one.
        all_words = _WORD.findall(text.lower())
        return {word for word in all_words if len(word) <= _LONGEST_WORD}
    short_words = set[str]()
    for word in _WORD.findall(text):
        if len(word) <= _LONGEST_WORD:
            short_words.add(word.lower())
    return short_words


def speaker(body: Body) -> Speaker:
    """Return who speaks in what was captured: its user, or an agent."""
    if body.get("source") == "user":
        return "user"
    return "agent"


@remembered(256)  # the index and the view read the same events one after the other
def spans(text: str, by: Speaker) -> tuple[Span, ...]:
    """Return the sentences of a text that are its speaker's own, each once.

    They are not judged: that takes several times as long, and a search needs only what
    they say.
    """
    span_of: dict[str, Span] = {}
    for span in sentences_of(text, by, doubtful=True):
        span_of.setdefault(span.text, span)
    return tuple(span_of.values())


def said_in(event: Event) -> str:
    """Return the text that an event holds; '' where a file of events left it out."""
    return str(event.body.get(TEXT_OF[event.kind], ""))


def spans_of_event(event: Event) -> tuple[Span, ...]:
    """Return the sentences that an event holds, unjudged; see `has_sentences`."""
    if not has_sentences(event):
        return ()
    return spans(said_in(event), speaker(event.body))


def texts_of_event(event: Event) -> tuple[str, ...]:
    """Return what the sentences of an event say, in the order of their numbers."""
    texts = []
    for span in spans_of_event(event):
        texts.append(span.text)
    return tuple(texts)


def has_sentences(event: Event) -> bool:
    """Return whether sentences of an event are kept.

    A helper's message has none, nor has a fix or what to avoid: these fade and are
    confirmed in a section of their own.
    """
    if event.body.get("subagent"):
        return False
    return event.body.get("type") not in (FIX_TYPE, AVOID_TYPE)


def item_id(event_id: str, number: int) -> str:
    """Return the id under which search knows a sentence of an event.

    >>> item_id("01ab", 2)
    '01ab.2'
    """
    return f"{event_id}.{number}"
