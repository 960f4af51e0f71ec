"""Options that several commands share, with one help each."""

import click

from theorex_lab.console.agents import agent_option
from theorex_lab.console.number import RESULTS

OWN_AGENT = agent_option("The agent; default $THEOREX_AGENT, else main.")
ANY_AGENT = agent_option("Only this agent's; default: all agents'.")
SESSION = click.option("--session", default="", show_default=False, help="The session it belongs to.")
LIMIT = click.option("-k", "limit", type=RESULTS, default=10, help="How many results at most.")
PICTURE = click.option("--picture", metavar="FILE", help="Draw the scores into this PNG file.")
SEED = click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of intervals and of what is drawn.")
_AUTO = "auto: a model where one of the setting `reviewers` accepts a connection, else by rules."
REVIEWER = click.option("--reviewer", type=click.Choice(["auto", "heuristic", "model"]), default="auto", help=_AUTO)
