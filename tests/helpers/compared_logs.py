"""Small logs and memories for the tests of comparisons; importable by other processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from conftest import DAY, NOW

from theorex_lab import Event, Item, new_event
from theorex_lab.core.ids import derived_event_id
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery, SessionLine

LETTERS = "abcdefghijklmnopqrst"


def said(log: str, number: int, text: str) -> Event:
    body = {"text": text, "source": "user", "project": ""}
    at = NOW + number * DAY // 4
    return new_event(
        "prompt",
        body,
        agent="main",
        session=f"s{number}",
        at=at,
        event_id=derived_event_id(log, number),
    )


def asked_log(name: str = "asked", n: int = 8) -> EvalLog:
    """Ports of services: each is said once, and asked for at the end; the one before is
    stale.
    """
    events = [
        said(
            name,
            number,
            f"Service {LETTERS[number] * 5} listens on port {8000 + number}",
        )
        for number in range(n)
    ]
    probes = [
        EvalQuery(
            NOW + 9 * DAY,
            f"which port has {LETTERS[number] * 5}",
            frozenset({events[number].id}),
            (str(8000 + number),),
            frozenset({events[number - 1].id}) if number else frozenset(),
        )
        for number in range(n)
    ]
    return EvalLog(name, events, probes)


def worked_log(name: str = "worked", n: int = 9) -> EvalLog:
    """Sessions of which each edits the file of the session before and one of its own."""
    events = []
    lines = []
    for number in range(n):
        edits = [
            f"src/{LETTERS[file] * (4 + file)}.py"
            for file in range(number, max(-1, number - 2), -1)
        ]
        at = NOW + number * DAY
        session = f"s{number}"
        lines += [
            SessionLine(
                at, session, prompt=f"Mend the {LETTERS[number] * 6} machinery"
            ),
            SessionLine(at + 1, session, edits=tuple(edits)),
        ]
        body = {
            "tool": "Edit",
            "input": "",
            "response": "",
            "source": "tool",
            "ok": True,
            "command": "",
            "project": "",
            "paths": {"read": [], "edited": edits},
        }
        event_id = derived_event_id(name, number)
        events.append(
            new_event(
                "tool_used",
                body,
                agent="main",
                session=session,
                at=at + 1,
                event_id=event_id,
            )
        )
    return EvalLog(name, events, (), lines)


class Remembers:
    """Gives every text that it was shown, newest first, as far as the tokens reach;
    asked, those that share a word.
    """

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.n_runs = 0

    def observe(self, events: Sequence[Event]) -> None:
        self.items += [
            Item(str(event.body.get("text", "")), (event.id,)) for event in events
        ]

    def consolidate(self, now: int) -> None:
        self.n_runs += 1

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        return self.items[::-1][: tokens // 15]

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        words = set(query.split())
        return [item for item in self.items[::-1] if words & set(item.text.split())][
            : tokens // 15
        ]

    def size(self) -> int:
        return sum(len(item.text) for item in self.items)


class Misses(Remembers):
    """Always gives what is stale: the text before the one that is asked for."""

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        found = [
            number
            for number, item in enumerate(self.items)
            if query.split()[-1] in item.text
        ]
        return [self.items[number - 1] for number in found if number]


class Forgets(Remembers):
    """Loses half of what it holds in each maintenance without events."""

    def __init__(self) -> None:
        super().__init__()
        self._last = 0

    def consolidate(self, now: int) -> None:
        if len(self.items) == self._last:
            self.items = self.items[: len(self.items) // 2]
        self._last = len(self.items)


class Half(Remembers):
    """Knows the logs of which it sees all, and of those gives everything."""

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        return self.items if len(self.items) > 6 else []


def _broken(answer: Callable[[int], Any]) -> type[Remembers]:
    class Broken(Remembers):
        def retrieve(self, query: str, now: int, tokens: int) -> Any:
            return answer(tokens)

    return Broken


def _raise(error: BaseException) -> Any:
    raise error


def _hang(_: int = 0) -> Any:
    threading.Event().wait(5)


Raises = _broken(lambda _: _raise(KeyError("key")))
Exits = _broken(lambda _: _raise(SystemExit(3)))
Hangs = _broken(_hang)
HangsInItsItems = _broken(lambda _: (_hang() for _ in range(1)))
Invents = _broken(
    lambda _: [Item("port 8001", ("00000000-0000-8000-a000-000000000000",))]
)
Foretells = _broken(lambda _: [Item("port 8001", (derived_event_id("early", 7),))])
Spends = _broken(lambda tokens: [Item("word " * 8 * tokens)])
GivesNone = _broken(lambda _: None)
GivesText = _broken(lambda _: "port 8001")
GivesNumbers = _broken(lambda _: [(8001, ())])
GivesOddIds = _broken(lambda _: [("port 8001", None)])
GivesHalfALetter = _broken(lambda _: [Item("\ud800")])


class FailsToOpen(Remembers):
    def __init__(self) -> None:
        raise OSError("no disk")


class FailsToObserve(Remembers):
    def observe(self, events: Sequence[Event]) -> None:
        raise ValueError("no")


class FailsInMaintenance(Remembers):
    def consolidate(self, now: int) -> None:
        raise ValueError("dark")


class LacksAMethod:
    observe = Remembers.observe
