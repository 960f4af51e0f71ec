"""Draws the English messages whose signals are labelled: the same ones each time, from
three public sets.

    uv run python tests/helpers/sample_signals.py > messages.jsonl

Of each set 48 messages at random and 8 for each of six weak cues, which are words that
a category often, but not always, comes with; so that rare categories have positives,
and words alone do not decide. Instructions, identities, preferences and milestones of
life were still rare among these when they had been read, so that a second draw adds
some by narrower cues (`RARE`). `FRESH` ones were drawn and labelled when the patterns
were final. One to 600 characters; none twice.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections.abc import Iterator

from theorex_lab.eval.datasets.logs import load_logs

SETS = ("locomo", "qmsum", "coding_sessions")
SEED = 23
LONGEST = 600
RANDOM = 48
CUED = 8
TEXTS = {"observation": "text", "prompt": "text", "turn_ended": "message"}
CUES = {
    "preference": r"like|love|prefer|enjoy|hate|favou?rite|rather|fan of|better",
    "decision": r"decid|choos|chose|agree|let's|go with|going with|settle|we'll",
    "correction": r"actually|mean|wrong|mistake|sorry|instead|correct|^no\b",
    "milestone": (
        r"finish|done|launch|releas|complet|finally|won|just"
        r" got|ship|merge|passed|works now"
    ),
    "instruction": r"always|never|remember|forget|must|make sure|keep|should|don't",
    "identity": (
        r"name is|I'm a|I am a|work as|live in|from|years old|my"
        r" (?:wife|husband|son|daughter|job)|born|married"
    ),
}
IDENTITY = (
    r"my (?:job|wife|husband|son|daughter|sister|brother|mom|dad|name)|I"
    r" (?:work|live|grew|moved|used to)|years old|hometown"
)
# Of which set, how many, and the cue.
RARE = {
    "instruction, rare": (
        (
            "coding_sessions",
            22,
            (
                r"always|never|remember|forget|from now on|in (?:the )?future|keep in"
                r" mind|every time"
            ),
        ),
        ("locomo", 6, r"always|never|remember to|don't forget|keep in mind|make sure"),
        ("qmsum", 6, r"always|never|remember|don't forget|keep in mind|make sure"),
    ),
    "identity, rare": (
        (
            "locomo",
            20,
            r"\bI(?:'m| am|'ve been) (?:an? |from|\d)|my"
            r" (?:job|wife|husband|son|daughter|sister|brother|mom|dad|name)|"
            r"I (?:work|live|grew|moved|used to)|years old|hometown",
        ),
        ("qmsum", 8, r"\bI ?'m (?:an? |the |from)|my name|I (?:work|live|come) "),
    ),
    "preference, rare": (
        ("locomo", 8, r"favou?rite|prefer|love|hate|fan|into"),
        ("coding_sessions", 6, r"prefer|I like|hate|rather"),
    ),
    "milestone, rare": (
        ("locomo", 10, r"just|finally|yesterday|last (?:week|month)|won|got"),
        ("qmsum", 4, r"finished|finally|completed|got"),
    ),
    "instruction, rarer": (
        (
            "coding_sessions",
            30,
            (
                r"\b(?:always|never|remember|from now on|in the future|don't"
                r" forget|must|be sure to|convention|make sure)\b"
            ),
        ),
        ("locomo", 4, r"\b(?:remember to|don't forget|make sure)\b"),
    ),
}


class Found(dict[tuple[str, str], list[object]]):
    """The messages of a set in which a cue is found, searched for once.

    Args:
        known: Of each set, its messages, before any was drawn.
    """

    def __init__(self, known: dict[str, dict[object, dict[str, object]]]) -> None:
        super().__init__()
        self._texts = {
            name: {key: str(said["text"]) for key, said in of_set.items()}
            for name, of_set in known.items()
        }

    def __missing__(self, wanted: tuple[str, str]) -> list[object]:
        name, pattern = wanted
        search = re.compile(pattern, re.IGNORECASE).search
        self[wanted] = [key for key, text in self._texts[name].items() if search(text)]
        return self[wanted]


def messages(name: str) -> Iterator[dict[str, object]]:
    """What was said in a set: of people among themselves without the name before it, of
    prompts and last messages whole.
    """
    for log in load_logs(name):
        for event in log.events:
            text = str(event.body.get(TEXTS.get(event.kind, ""), ""))
            offset = text.index(": ") + 2 if event.kind == "observation" else 0
            said = text[offset:]
            if said.strip() and len(said) <= LONGEST:
                talk = (
                    f"{name}/{event.session}" if name == "coding_sessions" else log.name
                )
                yield {
                    "set": name,
                    "talk": talk,
                    "id": event.id,
                    "offset": offset,
                    "sha256": digest(said),
                    "text": said,
                }


def digest(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def sample() -> Iterator[dict[str, object]]:
    known = {name: {said["sha256"]: said for said in messages(name)} for name in SETS}
    found = Found(known)
    rare = [
        (name, cue, count, pattern)
        for cue, of in RARE.items()
        for name, count, pattern in of
    ]
    first = [*draws(RANDOM, CUED), *rare]
    yield from drawn(known, found, random.Random(SEED), first)
    second = [*draws(12, 4), *identities(8, 3)]
    yield from drawn(known, found, random.Random(SEED + 1), second)
    fresh = [*draws(24, 7), *identities(6, 2)]
    for row in drawn(known, found, random.Random(SEED + 2), fresh):
        yield {**row, "drawn": f"fresh, {row['drawn']}"}


def identities(locomo: int, qmsum: int) -> list[tuple[str, str, int, str]]:
    return [
        ("locomo", "identity", locomo, IDENTITY),
        ("qmsum", "identity", qmsum, IDENTITY),
    ]


def draws(at_random: int, cued: int) -> list[tuple[str, str, int, str]]:
    """Of each set so many at random, and so many for each cue."""
    return [
        draw
        for name in SETS
        for draw in [
            (name, "random", at_random, ""),
            *((name, cue, cued, of) for cue, of in CUES.items()),
        ]
    ]


def drawn(
    known: dict[str, dict[object, dict[str, object]]],
    found: Found,
    generator: random.Random,
    wanted: list[tuple[str, str, int, str]],
) -> Iterator[dict[str, object]]:
    """So many messages of a set that its cue is found in; they are known no more."""
    for name, cue, count, pattern in wanted:
        fits = [key for key in found[name, pattern] if key in known[name]]
        for key in generator.sample(fits, min(count, len(fits))):
            yield {"drawn": cue, **known[name].pop(key)}


if __name__ == "__main__":
    for row in sample():
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")
