"""Whose memory a command is about: the option --agent, else $THEOREX_AGENT, else main."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import click

from theorex_lab.ids import check_agent


def agent_option(about: str, *names: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option --agent (or `names`) with this help; a name outside the rule is refused, the empty one too."""
    return click.option(*(names or ("--agent",)), callback=_checked, help=about, **more)


def own_agent(given: str | None) -> str:
    """The agent that --agent names, or $THEOREX_AGENT, or main; an empty variable names nobody."""
    return check_agent(given if given is not None else os.environ.get("THEOREX_AGENT") or "main")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like this one; '' where none is known.

    >>> nearest("decison", ["discovery", "decision"])
    'decision'
    """
    import difflib

    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0)), "")


def note(text: str) -> None:
    """Say something beside the result, on standard error."""
    from theorex_lab.console import printable

    click.echo(printable(f"theorex: {text}"), err=True)


def _checked(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    return None if value is None else check_agent(value)
