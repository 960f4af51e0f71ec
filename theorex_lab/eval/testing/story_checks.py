"""Check what any memory promises, on a drawn story.

The checks need no judge: every fact of the story has one right answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from theorex_lab.eval.replay.trials import text_of
from theorex_lab.eval.testing.memory_after import (
    USUAL_BUDGET,
    MemoryAfter,
    MemoryFailedTest,
    MemoryUnderTest,
)
from theorex_lab.eval.testing.says import line_says
from theorex_lab.eval.testing.story import Story, StoryFact, draw_story
from theorex_lab.memory.contract import Item

# Of the facts, so many must come back when they are asked for.
RECALLED_SHARE = 0.85
# What fits within it is about two statements: the right one must stand at the top.
_SMALL_BUDGET = 40
_QUIET_DAYS = 30
_ODD_QUESTIONS = ("?", "Wie heißt das Ding 日本?", "port " * 2_000, 'a\' OR "b" -- (')

Check = Callable[[MemoryAfter, Story, Story], Iterator[str]]


def story_problems(memory: MemoryUnderTest, *, seed: int = 0) -> list[str]:
    """Return what a memory does wrong on a drawn story.

    Two memories of the same kind live two stories: what one was told must not come back
    from the other.

    Args:
        memory: The memory under test.
        seed: Draws the stories.

    Returns:
        A line for each promise that it breaks; none where it keeps all.

    >>> from theorex_lab.eval.testing.memory_after import memory_under_test
    >>> with memory_under_test("nothing") as memory:
    ...     problems = story_problems(memory)
    >>> problems[0]
    'recalls facts: 0 of 9 came back; allowed are 0.85 of them'
    """
    story = draw_story(seed, name="story")
    other = draw_story(seed, name="other")
    problems: list[str] = []
    # The one that lives the other story stays open meanwhile.
    try:
        memory.after(other.log)
        after = memory.after(story.log)
    except MemoryFailedTest as error:
        return [f"lives a log: {error}"]
    for promise, check in _CHECKS.items():
        try:
            problems += [
                f"{promise}: {problem}" for problem in check(after, story, other)
            ]
        except MemoryFailedTest as error:
            problems.append(f"{promise}: {error}")
    return problems


def _recalls(after: MemoryAfter, story: Story, _other: Story) -> Iterator[str]:
    """Every fact comes back when it is asked for."""
    yield from _too_few(after, story.facts, USUAL_BUDGET)


def _best_first(after: MemoryAfter, story: Story, _other: Story) -> Iterator[str]:
    """What is asked for stands at the top."""
    yield from _too_few(after, story.facts, _SMALL_BUDGET)


def _newest_first(after: MemoryAfter, story: Story, _other: Story) -> Iterator[str]:
    """A replaced value never stands before the one that holds."""
    for fact in story.facts:
        if not fact.replaced:
            continue
        items = after.answer(fact.question)
        replaced = _first(items, fact.replaced)
        newest = _first(items, fact.statement)
        if replaced < newest:
            yield f"{fact.replaced!r} came before {fact.statement!r}"


def _apart(after: MemoryAfter, story: Story, other: Story) -> Iterator[str]:
    """What another memory was told does not come back."""
    everything = text_of(after.at_start())
    for fact in (*story.facts, *other.facts):
        answer = after.answer(fact.question)
        everything += text_of(answer)
    for fact in other.facts:
        if fact.value in everything:
            yield f"{fact.value!r}, which another memory was told, came back"


def _as_said(after: MemoryAfter, story: Story, _other: Story) -> Iterator[str]:
    """A value comes back with its capital letters and digits."""
    for fact in story.facts:
        items = after.answer(fact.question)
        item = _item_that_says(items, fact)
        if item is None:
            continue
        if fact.value not in item.text:
            yield f"{fact.value!r} came back as {item.text!r}"


def _evidence(after: MemoryAfter, story: Story, _other: Story) -> Iterator[str]:
    """An item names the event that it rests on."""
    for fact in story.facts:
        items = after.answer(fact.question)
        item = _item_that_says(items, fact)
        if item is None:
            continue
        if fact.event not in item.events:
            yield f"{item.text!r} does not name the event that said it"


def _same_twice(after: MemoryAfter, story: Story, _other: Story) -> Iterator[str]:
    """The same question at the same time gets the same answer."""
    for fact in story.facts:
        question = fact.question
        first = after.answer(question)
        second = after.answer(question)
        if first != second:
            yield f"{fact.question!r} got two answers at the same time"


def _each_once(after: MemoryAfter, story: Story, _other: Story) -> Iterator[str]:
    """No answer says the same line twice."""
    for fact in story.facts:
        items = after.answer(fact.question)
        texts = {item.text for item in items}
        if len(texts) < len(items):
            yield f"{fact.question!r} got the same line twice"


def _odd_questions(after: MemoryAfter, _story: Story, _other: Story) -> Iterator[str]:
    """An odd question gets an answer within the budget, or none."""
    for question in _ODD_QUESTIONS:
        try:
            after.answer(question)
        except MemoryFailedTest as error:
            yield str(error)


def _repeated_maintenance(
    after: MemoryAfter, story: Story, _other: Story
) -> Iterator[str]:
    """Maintenance that is repeated changes nothing."""
    after.maintain()
    questions = [fact.question for fact in story.facts]
    before = [after.answer(question) for question in questions]
    after.maintain()
    again = [after.answer(question) for question in questions]
    if again == before:
        return
    yield "a second maintenance at the same time changed an answer"


def _quiet_time(after: MemoryAfter, story: Story, _other: Story) -> Iterator[str]:
    """Facts still come back after a month in which nothing happened."""
    after.rest(_QUIET_DAYS)
    yield from _too_few(after, story.facts, USUAL_BUDGET)


# In this order: the last lets time pass.
_CHECKS: dict[str, Check] = {
    "recalls facts": _recalls,
    "gives the best first": _best_first,
    "gives the newest value first": _newest_first,
    "keeps memories apart": _apart,
    "gives values as they were said": _as_said,
    "names its evidence": _evidence,
    "answers the same twice": _same_twice,
    "says each line once": _each_once,
    "bears odd questions": _odd_questions,
    "repeats its maintenance": _repeated_maintenance,
    "keeps facts over a month": _quiet_time,
}


def _too_few(
    after: MemoryAfter, facts: Sequence[StoryFact], within: int
) -> Iterator[str]:
    """Yield a problem where too few facts come back."""
    n_recalled = 0
    for fact in facts:
        items = after.answer(fact.question, within)
        n_recalled += _first(items, fact.statement) < len(items)
    n_expected = RECALLED_SHARE * len(facts)
    if n_recalled < n_expected:
        allowed = f"allowed are {RECALLED_SHARE:g} of them"
        yield f"{n_recalled} of {len(facts)} came back; {allowed}"


def _first(items: Sequence[Item], statement: str) -> int:
    """Return the number of the first item that says a statement.

    It is the number of items where none does.
    """
    for number, item in enumerate(items):
        if line_says(item.text, statement):
            return number
    return len(items)


def _item_that_says(items: Sequence[Item], fact: StoryFact) -> Item | None:
    """Return the first item that says a fact, whatever the case of its letters."""
    number = _first(items, fact.statement)
    if number == len(items):
        return None
    return items[number]
