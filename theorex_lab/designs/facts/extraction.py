"""Find the facts that a capture states, each with what it is about.

What a person says of themself, and how they want work to be done, is of the person.
What is stated of a thing is of that thing, and of the project where no thing is named.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts import TEXT_OF, signals, writing
from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.designs.facts.channels import Channels
from theorex_lab.designs.facts.facts import Facts
from theorex_lab.designs.facts.reported_changes import (
    GONE,
    GONE_FROM_USE,
    StandingFact,
)
from theorex_lab.designs.facts.standing_facts import standing_facts
from theorex_lab.designs.facts.subjects import Subject
from theorex_lab.designs.facts.wishes import (
    POINTING_BACK,
    standing_wish,
    told_of_user,
    wishes_in,
)
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE
from theorex_lab.search.index import SPEAKER
from theorex_lab.search.items import MOMENT_TYPE
from theorex_lab.text.speech_acts import classify_sentence
from theorex_lab.text.spoken import Speaker

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
_CHECKSUM = lazy_pattern(r"-[0-9a-f]{8}$")  # of a project's name
# Names a file, a command or a place: of its project.
_LOCAL = lazy_pattern(r"[`/\\$_]|\w\.\w|(?:^|\s)--?\w|\d")
_DERIVED = frozenset((FIX_TYPE, AVOID_TYPE, MOMENT_TYPE, "summary", "graduated"))
_NOTED_SOUND = lazy_pattern(r"\{[a-z]+\}")  # in a transcript: "{vocalsound}"
_FEWEST_WORDS = 3
_STATED = 0.8  # the confidence of a statement of a user
_ANSWERED = 0.7  # and of an agent
# What a user's sentence does where it may be a statement.
_STATING = frozenset(("fact", "decision", "rule"))
_PROJECT = Subject("", "project")
# How a decision or a milestone of the project is told.
_TOLD_BY_US = lazy_pattern(
    r"""
    (?:we|i|our[ ]team|the[ ]team) (?:['’]ve|[ ]have)?[ ]
    (?:just[ ]|finally[ ]|now[ ]|both[ ]|all[ ])?
    (?:decided|chose|agreed|settled|picked|opted|launched|released|shipped|deployed
      |published|finished|completed|graduat\w+|won)\b
    | (?:мы[ ]|я[ ])?(?:решил|договорил|выбрал|запустил|выпустил|закончил|защитил)
    """,
    re.I | re.VERBOSE,
)
_LATIN_ONLY = lazy_pattern(r"[^А-Яа-яЁё]*")


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
    """

    text: str
    category: str
    confidence: float
    subject: Subject | None = None

    @property
    def abstraction(self) -> str:
        """How general it is: what a person wants or is holds for long."""
        if self.subject is None:
            return "pattern"
        return "episode"


def facts_stated(home: Home, event: Event) -> Iterator[writing.NewFact]:
    """Yield the facts that a capture states, each of whom or what it is about."""
    body = event.body
    if body.get("subagent") or body.get("type") in _DERIVED:
        return
    capture = _capture_of(event)
    for number, fact in enumerate(_facts_in(capture, event.kind)):
        entity, project = _placed(home, body.get("project", ""), capture, fact)
        if _is_end_of_nothing(home, entity, project, fact.text):
            continue
        yield writing.NewFact(
            entity,
            fact.text,
            signals.FACT_CATEGORY.get(fact.category, fact.category),
            fact.confidence,
            fact.abstraction,
            source=body.get("source", "import"),
            origin=event.kind,
            lineage=(event.id,),
            at=min(event.at, home.clock.now()),
            event_id=derived_event_id("fact", event.id, number),
            agent=event.agent,
            project=project,
            noted=event.id if event.kind == "observation" else "",
        )


def _is_end_of_nothing(home: Home, entity: str, project: str, text: str) -> bool:
    """Return whether a text says only that a thing is gone that nobody spoke of."""
    if not GONE.fullmatch(text) or GONE_FROM_USE.fullmatch(text):
        return False
    with home.views.reading(Facts) as facts:
        return not len(facts.active_in((entity, project)))


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
    facts = list(_stated_facts(capture))
    if kind not in _ANSWERS:
        facts = [*_signalled_facts(capture), *_wished_facts(capture), *facts]
    by_text: dict[str, KnownFact] = {}
    for fact in facts:
        by_text.setdefault(fact.text, fact)
    return list(by_text.values())


def _signalled_facts(capture: Capture) -> Iterator[KnownFact]:
    """Yield the facts of the sentences that signal something."""
    for stated in signals.facts_in(capture.text, capture.source):
        fact = _signalled(stated, capture)
        if fact is not None:
            yield fact


def _wished_facts(capture: Capture) -> Iterator[KnownFact]:
    """Yield the standing wishes of a user, whatever words they are put in."""
    if capture.source != "user" or capture.speaker != "user":
        return
    for wish in wishes_in(capture.text):
        yield KnownFact(wish, "instruction", _STATED)


def _stated_facts(capture: Capture) -> Iterator[KnownFact]:
    """Yield the statements of a capture that stand alone."""
    for standing in standing_facts(capture.text, capture.source):
        fact = _stated(standing, capture)
        if fact is not None:
            yield fact


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
    if category not in ("decision", "milestone"):
        return None
    if not _TOLD_BY_US.match(text):
        return None
    if POINTING_BACK.search(text) or cues.OF_ONE_RUN.search(text):
        return None
    return KnownFact(text, category, stated.confidence, _PROJECT)


def _of_person(
    stated: signals.StatedFact, category: str, capture: Capture
) -> KnownFact | None:
    """Return what a person says of themself or wants, in words that stand alone."""
    text = stated.sentence
    is_worded = capture.speaker == "user" and _LATIN_ONLY.fullmatch(text) is not None
    if not is_worded and not _stands_alone(text):
        return None
    if is_worded and category == "instruction":
        text = standing_wish(text)
    elif is_worded:
        text = told_of_user(text)
    if not text:
        return None
    return KnownFact(text, category, stated.confidence)


def _stands_alone(text: str) -> bool:
    """Return whether what others than the user say is understood by itself."""
    if POINTING_BACK.search(text) or _NOTED_SOUND.search(text):
        return False
    return len(text.split()) >= _FEWEST_WORDS


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
    subject = fact.subject
    if subject is not None and subject.kind == "project":
        # A chat is no project, and one without a project speaks for its speaker.
        subject = None
        if group is None and project:
            name = _CHECKSUM.sub("", project)
            return f"projects/{writing.slug_of(name)}", scope
    if subject is None:
        person = writing.slug_of(capture.speaker)
        is_local = group is not None or _LOCAL.search(fact.text) is not None
        return f"people/{person}", scope if is_local else ""
    folder = "people" if subject.kind == "person" else "projects"
    return f"{folder}/{writing.slug_of(subject.name)}", scope
