"""Facts to look through: chains of what replaced what, beliefs as of a day, and contradictions to settle."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import ipywidgets as widgets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theorex_lab.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.designs.facts.face import FactsMemory
from theorex_lab.designs.facts.facts import Fact
from theorex_lab.designs.facts.notes import Note
from theorex_lab.errors import InvalidInput, TheorexError
from theorex_lab.experiments.draw.axes import figure_of
from theorex_lab.experiments.draw.explorer import Explorer, control, paragraph, to_png
from theorex_lab.experiments.draw.facts_plots import plot_beliefs, plot_chain, row_height
from theorex_lab.text.line import one_line

_LOOK: dict[str, Any] = {"width": "52em", "label_width": "9em"}
_VERDICTS = {
    "Accept": "The newest fact stands in the place of the others",
    "Reject": "All of them hold side by side",
    "Undo": "Take back what was said of this one",
}


def draw_chain(chain: Sequence[Fact]) -> Figure:
    """`facts_plots.plot_chain` as a figure of its own."""
    return figure_of(plot_chain(chain, ax=_space(len(chain))))


def draw_beliefs(facts: Sequence[Fact], as_of: int) -> Figure:
    """`facts_plots.plot_beliefs` as a figure of its own."""
    return figure_of(plot_beliefs(facts, as_of, ax=_space(min(sum(fact.at <= as_of for fact in facts), 20))))


def _space(rows: int) -> Axes:
    return Figure(figsize=(10, row_height(rows)), layout="constrained").add_subplot()


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
    facts = memory.list(active=None)
    names = dict.fromkeys(fact.entity for fact in facts)
    groups = {"all": facts} | {name: [fact for fact in facts if fact.entity == name] for name in names}
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
    if not memory.notes(tensions=True):
        raise InvalidInput("got no tension between facts; note one: theorex fact tension --fact1 A --fact2 B")
    return _Queue(memory).box


class _Queue:
    """The controls of the tensions and what they do."""

    def __init__(self, memory: FactsMemory) -> None:

        self.memory, self.status, self.picture = memory, widgets.HTML(), widgets.Image(format="png")
        self.tension = control("Dropdown", "Tension", **_LOOK)
        buttons = [widgets.Button(description=name, tooltip=tip) for name, tip in _VERDICTS.items()]
        for button in buttons:
            button.on_click(self.judge)
        self.tension.observe(self.show, names="value")
        self.list(memory.notes(tensions=True)[0].id)
        self.box = widgets.VBox([self.tension, self.picture, widgets.HBox(buttons), self.status])

    def list(self, chosen: str) -> None:
        """List the tensions, those that are settled with a mark, and show the chosen one."""
        self.tension.unobserve(self.show, names="value")
        notes = self.memory.notes(tensions=True)
        marks = {"pending": ""}
        self.tension.options = [(marks.get(note.status, "✓ ") + self._name(note), note.id) for note in notes]
        self.tension.value = chosen
        self.tension.observe(self.show, names="value")
        self.show()

    def _name(self, note: Note) -> str:
        return one_line(f"{note.id}: {self.memory.show(note.facts[-1]).text}", 90)

    def show(self, _: Any = None) -> None:
        """The facts of the chosen tension, and how far the queue is."""
        notes = {note.id: note for note in self.memory.notes(tensions=True)}
        note = notes[self.tension.value]
        self.picture.value = to_png(draw_chain([self.memory.show(fact_id) for fact_id in note.facts]))
        left = sum(other.status == "pending" for other in notes.values())
        kept = f", in favour of {note.fact}" if note.fact else ", both hold" if note.status == "resolved" else ""
        self.status.value = paragraph(f"{note.id} is {note.status}{kept}. {left} of {len(notes)} are pending.")

    def judge(self, button: Any) -> None:
        """Do what the button says; why it cannot be done stands in the line of status."""
        try:
            self.memory.review(self.tension.value, button.description.lower())
        except TheorexError as error:
            self.status.value = paragraph(str(error))
            return
        self.list(self.tension.value)
