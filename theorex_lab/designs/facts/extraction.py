"""Find the facts that a capture states, each with what it is about.

What a person says of themself, and how they want work to be done, is of the person.
What is stated of a thing is of that thing, and of the project where no thing is named.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from theorex_lab.core.ids import derived_event_id
from theorex_lab.designs.facts import signals, writing
from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.designs.facts.channels import Channels
from theorex_lab.designs.facts.standing_facts import StandingFact, standing_facts
from theorex_lab.designs.facts.subjects import Subject
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing import rule_cues
from theorex_lab.memory.briefing.rule_signs import score_of, states_a_wish, wish_signs
from theorex_lab.memory.briefing.rule_wording import is_objection, standing_wording
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE
from theorex_lab.search.index import SPEAKER
from theorex_lab.search.items import MOMENT_TYPE
from theorex_lab.text.lexicon import singular
from theorex_lab.text.speech_acts import classify_sentence
from theorex_lab.text.spoken import Speaker, sentences_of

# Kind of a capture -> the member of its body that holds the text.
TEXT_OF = {"prompt": "text", "observation": "text", "turn_ended": "message"}
# Kinds whose text is an agent's answer: of it only statements are kept.
_ANSWERS = ("turn_ended",)
# Of several categories that a sentence signals, the first of these is the fact's.
_ORDER = (
    "correction",
    "decision",
    "preference",
    "instruction",
    "identity",
    "milestone",
)
_OF_THE_PERSON = frozenset(("preference", "instruction", "identity"))
_CHECKSUM = re.compile(r"-[0-9a-f]{8}$")  # of a project's name
# Names a file, a command or a place: of its project.
_LOCAL = re.compile(r"[`/\\$_]|\w\.\w|(?:^|\s)--?\w|\d")
_DERIVED = frozenset((FIX_TYPE, AVOID_TYPE, MOMENT_TYPE, "summary", "graduated"))
_FEWEST_WORDS = 3  # of what a person says of themself or wants
_MOST_WORDS = 40
_NAMED_BEFORE = 5  # words before "it" that may name what it stands for
_SURE_WISH = 1.9  # the score from which a sentence without "always" is a standing wish
_STATED = 0.8  # the confidence of a statement of a user
_ANSWERED = 0.7  # and of an agent
# What a user's sentence does where it may be a statement.
_STATING = frozenset(("fact", "decision", "rule"))


class Capture(NamedTuple):
    """What of a capture is read for facts.

    Attributes:
        text: The text without its speaker's name.
        source: Whether a user or an agent speaks.
        speaker: The speaker's name.
    """

    text: str
    source: Speaker
    speaker: str


class KnownFact(NamedTuple):
    """A fact before it is placed: its words, and what it is about.

    Attributes:
        text: The fact in words that stand alone.
        category: Of `CATEGORIES`, or a category of signals.
        confidence: How sure it is, 0..1.
        subject: What it is about; None for its speaker.
        is_lasting: Whether it is a pattern rather than an episode.
    """

    text: str
    category: str
    confidence: float
    subject: Subject | None
    is_lasting: bool = False


def facts_stated(home: Home, event: Event) -> Iterator[writing.NewFact]:
    """Yield the facts that a capture states, each of whom or what it is about."""
    body = event.body
    if body.get("subagent") or body.get("type") in _DERIVED:
        return
    capture = _capture_of(event)
    for number, fact in enumerate(_facts_in(capture, event.kind)):
        entity, project = _placed(home, body.get("project", ""), capture, fact)
        yield writing.NewFact(
            entity,
            fact.text,
            signals.FACT_CATEGORY.get(fact.category, fact.category),
            fact.confidence,
            "pattern" if fact.is_lasting else "episode",
            source=body.get("source", "import"),
            origin=event.kind,
            lineage=(event.id,),
            at=min(event.at, home.clock.now()),
            event_id=derived_event_id("fact", event.id, number),
            agent=event.agent,
            project=project,
            noted=event.id if event.kind == "observation" else "",
        )


def _capture_of(event: Event) -> Capture:
    """Return what a capture says, and who says it."""
    body = event.body
    text = str(body.get(TEXT_OF[event.kind], ""))
    source: Speaker = "agent"
    speaker_name = event.agent
    if body.get("source") == "user":
        source = "user"
        speaker_name = "user"
    if event.kind == "observation":
        speaker = SPEAKER.match(text)
        if speaker:
            speaker_name = speaker[1]
            text = text[speaker.end() :]
    return Capture(text, source, speaker_name)


def _facts_in(capture: Capture, kind: str) -> list[KnownFact]:
    """Return the facts of a capture, each once."""
    facts = dict[str, KnownFact]()
    if kind not in _ANSWERS:
        for stated in signals.facts_in(capture.text, capture.source):
            fact = _signalled(stated, capture)
            if fact is not None:
                facts.setdefault(fact.text, fact)
    if capture.source == "user" and capture.speaker == "user":
        for sentence in _wishes(capture.text):
            wish = _standing_wish(sentence)
            if wish:
                fact = KnownFact(wish, "instruction", _STATED, None, is_lasting=True)
                facts.setdefault(wish, fact)
    for standing in standing_facts(capture.text, capture.source):
        fact = _stated(standing, capture)
        if fact is not None:
            facts.setdefault(fact.text, fact)
    return list(facts.values())


def _stated(standing: StandingFact, capture: Capture) -> KnownFact | None:
    """Return a statement as a fact; None where its speaker asks for work by it."""
    confidence = _ANSWERED
    if capture.source == "user":
        confidence = _STATED
        act = classify_sentence(standing.text, speaker="user")
        if act.label not in _STATING:
            return None
    category = "status" if standing.is_change else "context"
    return KnownFact(standing.text, category, confidence, standing.subject)


def _signalled(stated: signals.StatedFact, capture: Capture) -> KnownFact | None:
    """Return a sentence that signals something as a fact, if it stands alone."""
    category = min(stated.categories, key=_ORDER.index)
    if category in _OF_THE_PERSON:
        return _of_person(stated, category, capture)
    if category == "correction" and "preference" in stated.categories:
        return _of_person(stated, "preference", capture)
    text = stated.sentence.strip()
    lead_in = cues.LEAD_IN.match(text)
    if lead_in:
        text = text[lead_in.end() :]
    if category not in ("decision", "milestone") or not _TOLD_BY_US.match(text):
        return None
    if _POINTING_BACK.search(text) or cues.OF_ONE_RUN.search(text):
        return None
    return KnownFact(text, category, stated.confidence, Subject("", "project"))


_TOLD_BY_US = re.compile(
    r"(?:we|i|our team|the team)(?:['’]ve| have)? (?:just |finally |now |both |all )?"
    r"(?:decided|chose|agreed|settled|picked|opted|launched|released|shipped|deployed"
    r"|published|finished|completed|graduated|won)\b"
    r"|(?:мы |я )?(?:решил|договорил|выбрал|запустил|выпустил|закончил|защитил)",
    re.I,
)
_POINTING_BACK = re.compile(
    r"\b(?:this|that|these|those|it|them|they|he|she|here|there|above|below|you"
    r"|your)\b",
    re.I,
)
_LATIN_ONLY = re.compile(r"[^А-Яа-яЁё]*")


def _of_person(
    stated: signals.StatedFact, category: str, capture: Capture
) -> KnownFact | None:
    """Return what a person says of themself or wants, in words that stand alone."""
    text = stated.sentence
    if capture.speaker == "user" and _LATIN_ONLY.fullmatch(text):
        text = _standing_wish(text) if category == "instruction" else _of_user(text)
        if not text:
            return None
    elif _POINTING_BACK.search(text):
        return None
    return KnownFact(text, category, stated.confidence, None, is_lasting=True)


def _of_user(sentence: str) -> str:
    """Return what a user says of themself as a statement; '' where it points back."""
    if _POINTING_BACK.search(sentence) or len(sentence.split()) < _FEWEST_WORDS:
        return ""
    return standing_wording(sentence)


def _wishes(text: str) -> Iterator[str]:
    """Yield the sentences of a user that say in some way how work is to be done."""
    for span in sentences_of(text, "user"):
        wording = standing_wording(span.text)
        signs = wish_signs(wording)
        is_wish = states_a_wish(wording, signs, span.text)
        if is_wish and score_of(signs) >= _SURE_WISH:
            yield span.text


def _standing_wish(sentence: str) -> str:
    """Return a user's wish in words that stand alone; '' where it cannot."""
    wording = _OF_THE_USER.sub(_third_person, standing_wording(sentence))
    if not _FEWEST_WORDS <= len(wording.split()) <= _MOST_WORDS:
        return ""
    plain = _QUOTED.sub("x", wording)
    if is_objection(wording) or _NO_WISH.search(plain):
        return ""
    if rule_cues.SMALL_TALK.search(plain) or rule_cues.WITHOUT_REFERENT.search(plain):
        return ""
    if _ABOUT_THE_RULE.search(plain) or rule_cues.RECORD_REQUEST.search(plain):
        return ""
    if any(_lacks_referent(plain, match) for match in _POINTING_BACK.finditer(plain)):
        return ""
    return wording


def _third_person(match: re.Match[str]) -> str:
    """Return how "me", "my" and "I" are told of the user."""
    return "the user's" if match[0].lower() == "my" else "the user"


def _lacks_referent(text: str, match: re.Match[str]) -> bool:
    """Return whether a word that points back has nothing in its sentence to point at.

    "Those modules" has it where modules were named before; "if it seems" and "the rule
    that holds" point at nothing.
    """
    word = match[0].lower()
    if word in ("you", "your"):
        return False
    following = text[match.end() :].split()
    next_word = following[0].strip(".,;:").lower() if following else ""
    if word == "it" and next_word in _AFTER_EXPLETIVE:
        return False
    before = text[: match.start()].lower()
    if word in ("those", "these", "that"):
        is_named = bool(next_word) and singular(next_word) in before
        return not (is_named or (word == "that" and bool(before.strip())))
    if word in ("it", "them", "they"):
        return len(before.split()) < _NAMED_BEFORE
    return True


_OF_THE_USER = re.compile(r"\b(?:me|my|I|i)\b")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`")
_AFTER_EXPLETIVE = frozenset("seems is makes".split())
# Of one moment or of one piece of work, or said in anger.
_NO_WISH = re.compile(
    r"\b(?:yet|right now|currently|today|now|was|were|did|stop talking|what to do"
    r"|update the (?:doc|plan)|create a (?:new )?task|no code changes|one more|this time"
    r"|the point|the latter|the former|hmm+|lines? \d+)\b"
    r"|^(?:first|second|third|finally|consider)\b|^ask questions",
    re.I,
)
_ABOUT_THE_RULE = re.compile(
    r"\b(?:the|that|this|a|each|another) (?:\w+[- ])?(?:rule|doc|document|section"
    r"|description|spec|sentence|paragraph|pr|task|message|file)s?\b (?:mention|should|must"
    r"|specif|state|include|say|explain|is|are|so that)",
    re.I,
)


def _placed(
    home: Home, project: str, capture: Capture, fact: KnownFact
) -> tuple[str, str]:
    """Return whom or what a fact is about, and the project that it stays in.

    The project is '' for what is known everywhere. What is said in a group stays there;
    what is said in a chat of two is known everywhere.
    """
    with home.views.reading(Channels) as channels:
        group = channels.is_group(project)
    scope = "" if group is False else project
    name = _CHECKSUM.sub("", project)
    subject = fact.subject
    if subject is None or (
        subject.kind == "project" and (group is not None or not name)
    ):
        person = f"people/{writing.slug_of(capture.speaker)}"
        if group is None and not _LOCAL.search(fact.text):
            scope = ""
        return person, scope
    if subject.kind == "project":
        return f"projects/{writing.slug_of(name)}", scope
    folder = "people" if subject.kind == "person" else "projects"
    return f"{folder}/{writing.slug_of(subject.name)}", scope
