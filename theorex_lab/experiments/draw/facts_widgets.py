"""Facts to look through: chains of what replaced what, beliefs as of a day, and contradictions to settle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets
from matplotlib.figure import Figure

from theorex_lab.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.designs.facts.facts import Fact
from theorex_lab.errors import InvalidInput, TheorexError
from theorex_lab.experiments.draw.explorer import Explorer, control, paragraph
from theorex_lab.experiments.draw.facts_plots import plot_beliefs, plot_chain
from theorex_lab.text.line import one_line

if TYPE_CHECKING:
    from theorex_lab.designs.facts.face import FactsMemory

_VERDICTS = {
    "Accept": "The newest fact stands in the place of the others",
    "Reject": "All of them hold side by side",
    "Undo": "Take back what was said of this one",
}


def draw_chain(chain: Sequence[Fact]) -> Figure:
    """`facts_plots.plot_chain` as a figure of its own."""
    return _figure(1.2 + 0.75 * max(len(chain), 1), partial(plot_chain, chain))


def draw_beliefs(facts: Sequence[Fact], as_of: int) -> Figure:
    """`facts_plots.plot_beliefs` as a figure of its own."""
    return _figure(1.4 + 0.3 * min(len(facts), 20), partial(plot_beliefs, facts, as_of))


def _figure(height: float, plot: Callable[..., Any]) -> Figure:
    figure = Figure(figsize=(10, height), layout="constrained")
    plot(ax=figure.add_subplot())
    return figure


def chain_explorer(memory: FactsMemory) -> Any:
    """A choice of facts that stand in another's place, over `draw_chain`; returns an ipywidgets VBox.

    memory: `lab.facts`. Raises InvalidInput where nothing was replaced.
    """
    newest = [fact for fact in memory.list(active=None) if fact.supersedes and not fact.superseded_by]
    chains = {one_line(f"{fact.id}: {fact.text}", 70): partial(memory.chain, fact.id) for fact in newest}
    explorer: Explorer[Sequence[Fact]] = Explorer(chains, "a chain of facts")

    def drawn(chain: Sequence[Fact]) -> tuple[str, Figure]:
        return paragraph(f"{len(chain)} facts; now: {chain[-1].text}"), draw_chain(chain)

    explorer.source.description = "Fact"
    return explorer.box([], lambda _=None: explorer.show(drawn))


def belief_explorer(memory: FactsMemory) -> Any:
    """A choice of entities and a slider over days, over `draw_beliefs`: what was believed on that day; returns a VBox.

    Raises InvalidInput where there are no facts.
    """
    groups = {"all": (facts := memory.list(active=None))}
    for fact in facts:
        groups.setdefault(fact.entity, []).append(fact)
    if not facts:
        raise InvalidInput("got a memory without facts; write one: theorex fact write")
    first, last = facts[0].at, max(max(fact.at, fact.superseded_at or 0) for fact in facts)
    days = [to_iso(at)[:10] for at in range(first, last + 2 * MICROSECONDS_PER_DAY, MICROSECONDS_PER_DAY)]
    explorer: Explorer[list[Fact]] = Explorer({name: partial(list, group) for name, group in groups.items()}, "facts")
    slider = control("SelectionSlider", "Believed on", options=days, value=days[-1])

    def drawn(shown: list[Fact]) -> tuple[str, Figure]:
        as_of = first + days.index(slider.value) * MICROSECONDS_PER_DAY
        held = sum(fact.at <= as_of and not 0 < (fact.superseded_at or 0) <= as_of for fact in shown)
        return paragraph(f"{held} facts were believed on {slider.value}"), draw_beliefs(shown, as_of)

    explorer.source.description = "Entity"
    return explorer.box([slider], lambda _=None: explorer.show(drawn))


def contradiction_explorer(memory: FactsMemory) -> Any:
    """Facts that may not hold side by side, one tension after the other: accept, reject, undo, each written to the journal.

    Returns an ipywidgets VBox that works by mouse and by keyboard. Raises InvalidInput where no tension was noted.
    """
    if not (tensions := memory.notes(tensions=True)):
        raise InvalidInput("got no tension between facts; note one: theorex fact tension --fact1 A --fact2 B")
    titles = {one_line(f"{note.id}: {memory.show(note.facts[-1]).text}", 90): note.id for note in tensions}
    explorer: Explorer[str] = Explorer({name: partial(str, id) for name, id in titles.items()}, "a tension")
    explorer.source.description = "Tension"

    def drawn(note_id: str) -> tuple[str, Figure]:
        notes = {note.id: note for note in memory.notes(tensions=True)}
        note, left = notes[note_id], sum(note.status == "pending" for note in notes.values())
        kept = f", in favour of {note.fact}" if note.fact else ", both hold" if note.status == "resolved" else ""
        line = paragraph(f"{note.id} is {note.status}{kept}. {left} of {len(notes)} are pending.")
        return line, draw_chain([memory.show(fact_id) for fact_id in note.facts])

    def judge(button: Any) -> None:
        """Do what the button says; why it cannot be done stands in the line of status."""
        try:
            memory.review(titles[explorer.source.value], button.description.lower())
            explorer.show(drawn)
        except TheorexError as error:
            explorer.status.value = paragraph(str(error))

    buttons = [widgets.Button(description=name, tooltip=tip) for name, tip in _VERDICTS.items()]
    for button in buttons:
        button.on_click(judge)
    return explorer.box([widgets.HBox(buttons)], lambda _=None: explorer.show(drawn))
