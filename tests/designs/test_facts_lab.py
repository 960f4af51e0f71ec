"""Facts in the lab: no evidence is lost beside notes alone, and what a session's start
costs day by day.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from theorex_lab import Design, Event, FixedClock, Lab, new_event
from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.facts.design import DESIGN
from theorex_lab.eval.replay.baselines import ReplayAdapter
from theorex_lab.search.items import OBSERVATION
from theorex_lab.text.line import BYTES_PER_TOKEN

DAY = MICROSECONDS_PER_DAY
NOTES = Design(name="notes", items=(OBSERVATION,))
SAID = [
    "Ann prefers the green tram to work",
    "We decided to move the tram depot",
    "The tram was late again",
    "Ann prefers tea",
    "Remember: the depot closes at noon",
    "Ben repaired the depot's door",
    "The green line is closed",
    "Tea is in the depot",
]


def _written(lab: Lab) -> None:
    for text in SAID:
        lab.agent("main").write(text, source="user")


def _said(text: str, day: int) -> Event:
    return new_event(
        "prompt",
        {"text": text, "source": "user", "project": ""},
        agent="main",
        session=f"s{day}",
        at=day * DAY,
    )


@pytest.mark.parametrize(
    "query", ["Who prefers the green tram?", "When does the depot close?", "tea"]
)
def test_facts_beside_their_notes_change_nothing_of_what_is_found(
    tmp_path: Path, query: str
) -> None:
    found = []
    for design in (NOTES, DESIGN):
        with Lab(
            tmp_path / design.name, clock=FixedClock(DAY), designs=[design]
        ) as lab:
            _written(lab)
            for step in design.steps:
                step.run(lab.home, None)
            hits = lab.search(query)
            found.append([(hit.text, hit.score) for hit in hits])
            if design is DESIGN:
                facts = lab.search(query, kinds=["fact"])
                assert {hit.kind for hit in hits} == {"observation"}
    assert found[0] == found[1]
    assert facts.hits


def test_a_fact_is_found_where_its_note_is_not(tmp_path: Path) -> None:
    kinds = {}
    for project in ("here", "there"):
        with Lab(tmp_path, clock=FixedClock(DAY), project=project) as lab:
            if project == "here":
                lab.agent("main").write("I prefer the green tram", source="user")
                lab.facts.extract()
            kinds[project] = [hit.kind for hit in lab.search("green tram")]
    assert kinds == {"here": ["observation"], "there": ["fact"]}


def test_a_query_fills_its_room_and_never_more() -> None:
    with closing(ReplayAdapter([DESIGN])) as memory:
        memory.observe(
            [
                _said(
                    "Remember: always " + "run the tests of the parser " * 6 + str(day),
                    day,
                )
                for day in range(1, 30)
            ]
        )
        memory.observe([_said("Remember: never push the parser on Fridays", 30)])
        memory.consolidate(31 * DAY)
        for tokens in (20, 150, 600):
            given = memory.retrieve("tests of the parser", 31 * DAY, tokens)
            size = sum(len(item.text.encode()) + 1 for item in given)
            assert size <= BYTES_PER_TOKEN * tokens + 1
        assert [
            item.text for item in memory.retrieve("nothing like it", 31 * DAY, 600)
        ], "what is known anyway fills the room"
        memory.close()
