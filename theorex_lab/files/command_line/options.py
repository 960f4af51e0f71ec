"""Options that several commands share, with one help each.

Numbers that are out of range are wrong usage (exit code 2).

A command is about the memory of the agent that --agent names, else $THEOREX_AGENT,
else of the agent main.
"""

import math
import os
from collections.abc import Callable, Iterable
from typing import Any

import click

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent

# As memory.retrieve.MAX_RESULTS, whose module imports numpy.
RESULTS = click.IntRange(1, 1_000)
TOKENS = click.IntRange(min=0)
CONCEPT_ID = click.IntRange(0, (1 << 53) - 1)


class NumberType(click.FloatRange):
    """A number in a range; NaN, which no comparison refuses, is refused too."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the number; refuse one out of range, and NaN."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(
                f"{value} is not in the range {self._describe_range()}.", param, ctx
            )
        return number


PERCENT = NumberType(0, 100)
DAYS = NumberType(min=0, min_open=True, max=36_500)
# As dispatch.tasks.MAX_LEASE_SECONDS.
LEASE_SECONDS = NumberType(min=0, min_open=True, max=864_000)


def agent_option(
    about: str,
    *names: str,
    default: str | None = None,
    required: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --agent.

    A name outside the rule is refused, the empty one too.

    Args:
        about: Its help.
        names: Other names of the option, as click declares them.
        default: The agent where none is given, None for nobody.
        required: Whether one must be given.
    """
    declared_names = names or ("--agent",)
    if default is None:
        return click.option(
            *declared_names, callback=_checked, help=about, required=required
        )
    return click.option(
        *declared_names,
        callback=_checked,
        help=about,
        required=required,
        default=default,
    )


def own_agent(agent: str | None) -> str:
    """Return the agent that --agent names, or $THEOREX_AGENT, or main.

    An empty variable names nobody.
    """
    if agent is None:
        agent = os.environ.get("THEOREX_AGENT") or "main"
    return check_agent(agent)


def parse_budgets(text: str) -> list[int]:
    """Return budgets that are written with commas.

    Raises:
        InvalidInput: One is no whole number.

    >>> parse_budgets("500,2000")
    [500, 2000]
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InvalidInput(
            f"got the budgets {text!r}; allowed are whole numbers with commas, as"
            " 500,2000"
        ) from error


def nearest(word: str, words: Iterable[str], *, likeness: float = 0.0) -> str:
    """Return the known word that is most like this one; '' where none is.

    Args:
        word: The word that is not known.
        words: The known ones.
        likeness: From 0 to 1, how like a known word has to be.

    >>> nearest("decison", ["discovery", "decision"])
    'decision'
    >>> nearest("model", ["home", "limit"], likeness=0.6)
    ''
    """
    import difflib

    matches = difflib.get_close_matches(word, list(words), n=1, cutoff=likeness)
    return matches[0] if matches else ""


def printable(text: str) -> str:
    """Return the text without control characters, by which it could rule the terminal."""
    letters = [
        letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text
    ]
    return "".join(letters)


def note(text: str) -> None:
    """Print a remark about the result to standard error."""
    click.echo(printable(f"theorex: {text}"), err=True)


def _checked(
    context: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    value: str | None,
) -> str | None:
    return None if value is None else check_agent(value)


OWN_AGENT = agent_option("The agent; default: $THEOREX_AGENT, else main.")
ANY_AGENT = agent_option("Only this agent; default: all agents.")
SESSION = click.option(
    "--session",
    default="",
    show_default=False,
    help="The id of the session that it belongs to.",
)
LIMIT = click.option(
    "--limit", type=RESULTS, default=10, help="Show at most this many results."
)
PICTURE = click.option(
    "--picture", metavar="FILE", help="Draw the scores into this PNG file."
)
MARGIN = click.option(
    "--margin",
    type=click.FloatRange(0, 1),
    help=(
        "By how much the success of a cheaper model may be lower; default: routeMargin."
    ),
)
WILLINGNESS = click.option(
    "--willingness",
    type=click.FloatRange(0, min_open=True),
    help=(
        "The cost a run that a point of success is worth, in place of the margin;"
        " default: routeWillingness."
    ),
)
SEED = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    help="The seed of random draws, such as those of intervals.",
)
_REVIEWER_HELP = (
    "Who reviews: a model of the setting reviewers, rules (heuristic), or auto: a"
    " model where one accepts a connection, else rules."
)
FURTHER_DESIGNS = click.option(
    "--design",
    "designs",
    metavar="NAME",
    multiple=True,
    help="Run the steps of this design too, active or not; may be repeated.",
)
NO_VECTORS = click.option(
    "--no-vectors",
    is_flag=True,
    help="With --replay: compute no vectors at the end.",
)
REVIEWER = click.option(
    "--reviewer",
    type=click.Choice(["auto", "heuristic", "model"]),
    default="auto",
    help=_REVIEWER_HELP,
)
