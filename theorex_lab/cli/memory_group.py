"""Commands by which a person sees and steers what comes back: context, show, pin, unpin, dismiss, correct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.cli import open_lab
from theorex_lab.console import command, emit, one_row, reads_project
from theorex_lab.console.number import TOKENS
from theorex_lab.console.options import LIMIT

if TYPE_CHECKING:
    from theorex_lab.lab import Lab

_TOKENS = click.option("--tokens", type=TOKENS, help="Within so many tokens; default: the setting contextTokens.")


@command("memory-context")
@reads_project
@click.option("--query", default="", show_default=False, help="A first prompt; default: what a session starts with.")
@_TOKENS
@click.option("--why", is_flag=True, help="Why each line is given, and its items, to pin, correct or dismiss.")
def memory_context(query: str, tokens: int | None, why: bool) -> None:
    """Nothing is written, and it counts nowhere as given.

    JSON: {text, tokens, lines: [{section, text, why, items, events, trust}]}
    """
    lab = open_lab()
    context, lines = lab.context(query, tokens=tokens), _lines(lab, tokens, query)
    result = {"text": context.text, "tokens": context.tokens, "lines": lines}
    emit(result, _told(lines) if why else context.text.rstrip("\n"))


@command("memory-show")
@reads_project
@_TOKENS
@LIMIT
def memory_show(tokens: int | None, limit: int) -> None:
    """An item counts as used where the session then touched a file that it names, or said at least half of its words.

    JSON: {project, tokens, lines: [{section, text, why, items, events, trust}], before: [{at, how, agent, session, query, tokens, items, used}], given, used}
    """
    from theorex_lab.memory.context import given_before

    lab = open_lab()
    lines, before = _lines(lab, tokens), given_before(lab.home, limit)
    size = lab.context(tokens=tokens).tokens
    known = [given for given in before if given["used"] is not None]
    total, used = (sum(given[name] for given in known) for name in ("items", "used"))
    share = f"of {total} items given in known sessions {used} were used then" if known else "no use is known yet"
    told = [f"given now, in {size} tokens:", _told(lines), "", "given before:", *map(_row, before), share]
    result = {"project": lab.home.project, "tokens": size, "lines": lines}
    emit({**result, "before": before, "given": total, "used": used}, "\n".join(told))


@command("pin")
@click.argument("item", metavar="ID")
def pin(item: str) -> None:
    """ID is an item's id as `search` and `memory context --why` show it, or the beginning that it alone has. So it is
    for unpin, dismiss and correct.

    JSON: {item}
    """
    _emit(open_lab().pin(item), "comes first from now on")


@command("unpin")
@click.argument("item", metavar="ID")
def unpin(item: str) -> None:
    """It stays in the memory.

    JSON: {item}
    """
    _emit(open_lab().unpin(item), "comes first no more")


@command("dismiss")
@click.argument("item", metavar="ID")
@click.option("--undo", is_flag=True, help="Let it come back again.")
def dismiss(item: str, undo: bool) -> None:
    """It stays in the memory, where `search --cold` finds it; `erase` removes it for good.

    JSON: {item}
    """
    _emit(open_lab().dismiss(item, undo=undo), "may come back again" if undo else "comes back no more")


@command("correct")
@click.argument("item", metavar="ID")
@click.argument("text", nargs=-1)
@click.option("--undo", is_flag=True, help="Take the correction back.")
def correct(item: str, text: tuple[str, ...], undo: bool) -> None:
    """The new text stands under the item's id, as the word of the user. Several words are one text.

    JSON: {item}
    """
    if undo == bool(text):
        raise click.UsageError("Give one of TEXT and --undo.")
    _emit(open_lab().correct(item, " ".join(text), undo=undo), "has its own words again" if undo else "is corrected")


def _emit(item: str, what: str) -> None:
    emit({"item": item}, f"{item} {what}")


def _lines(lab: Lab, tokens: int | None, query: str = "") -> list[dict[str, Any]]:
    from theorex_lab.evolution.boot import boot_lines
    from theorex_lab.memory.context import shown_lines

    return shown_lines(lab.home, boot_lines(lab.home, tokens=tokens, query=query))


def _told(lines: Sequence[Mapping[str, Any]]) -> str:
    told = []
    for section, its in groupby(lines, key=itemgetter("section")):
        told.append(f"{one_row(section)}:")
        for line in its:
            about = f"{line['why']}, trust {line['trust']}  ({', '.join(line['items']) or 'no item'})"
            told += [f"  {line['text']}", f"      {about}"]
    return "\n".join(told) or "nothing is remembered yet"


def _row(given: Mapping[str, Any]) -> str:
    used = "" if given["used"] is None else f", {given['used']} used"
    return one_row("{at:.16}  {how:<13}  {agent} {session}  {tokens} tokens, {items} items".format(**given) + used)
