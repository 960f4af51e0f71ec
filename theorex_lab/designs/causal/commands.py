"""The commands of causal memory: `theorex causal …`."""

import json
from typing import Any

import click

from theorex_lab.console import command, emit, keeps_secrets, open_lab, reads_project
from theorex_lab.console.agents import own_agent
from theorex_lab.console.options import OWN_AGENT
from theorex_lab.errors import InvalidInput

_SIGNALS = click.option(
    "--signals", "--signal", "signals", multiple=True, metavar="S…", help="Signals, such as log_error or errsig:TEXT."
)
_OBSERVED = click.option("--observed", metavar="JSON", help='What was observed, such as {"recent_error_count": 5}.')
_GENE = click.option("--gene", metavar="ID", help="The gene that is tried.")
_CATEGORY = click.option("--category", metavar="C", help="Its category: repair, optimize or innovate.")


def _object(text: str | None) -> dict[str, Any] | None:
    """A JSON object that was given as an option. Raises InvalidInput for another text."""
    try:
        found = None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"got {text!r:.100} ({error}); allowed is a JSON object") from error
    if found is not None and not isinstance(found, dict):
        raise InvalidInput(f"got {text!r:.100}; allowed is a JSON object")
    return found


@command("snapshot")
@keeps_secrets
@OWN_AGENT
@_SIGNALS
@_OBSERVED
def causal_snapshot(agent: str | None, signals: tuple[str, ...], observed: str | None) -> None:
    """Signals that are there now, whatever is then done about them.

    JSON: {type, kind, id, ts, signal: {key, signals, error_signature}, observed}
    """
    told = open_lab().causal.record_signal_snapshot(signals, _object(observed), agent=own_agent(agent))
    emit(told, f"{told['id']}: {told['signal']['key']}")


def _tried(record: Any, agent: str | None, signals: tuple[str, ...], gene: str | None, category: str | None, observed: str | None,
           **more: Any) -> None:  # fmt: skip
    selected = {"id": gene, "category": category} if gene else None
    found = record(signals, selected, observations=_object(observed), agent=own_agent(agent), **more)
    emit({"id": found.id, "signal_key": found.signal_key, "event": found.event}, f"{found.id}: {found.signal_key}")


@command("hypothesis")
@keeps_secrets
@OWN_AGENT
@_SIGNALS
@_GENE
@_CATEGORY
@_OBSERVED
def causal_hypothesis(**given: Any) -> None:
    """What a gene is expected to do, before it is tried.

    JSON: {id, signal_key, event}
    """
    _tried(open_lab().causal.record_hypothesis, **given)


@command("attempt")
@keeps_secrets
@OWN_AGENT
@_SIGNALS
@_GENE
@_CATEGORY
@_OBSERVED
@click.option("--hypothesis", "hypothesis_id", metavar="ID", help="The hypothesis that it tests.")
def causal_attempt(**given: Any) -> None:
    """That a gene is tried; `close` says what came of it.

    JSON: {id, signal_key, event}
    """
    _tried(open_lab().causal.record_attempt, **given)


@command("close")
@keeps_secrets
@OWN_AGENT
@click.option("--action", "action_id", metavar="ID", help="The attempt; default: the agent's last open one.")
@_SIGNALS
@_OBSERVED
@click.option(
    "--status", type=click.Choice(["success", "failed"]), help="How it came out; default: read from --signals."
)
@click.option("--score", type=float, help="0 to 1, with --status.")
@click.option("--cost", type=float, help="What it took, in money.")
@click.option("--latency-ms", type=float, help="What it took, in ms.")
def causal_close(agent: str | None, action_id: str | None, signals: tuple[str, ...], observed: str | None, status: str | None,
                 score: float | None, **used: float | None) -> None:  # fmt: skip
    """Without --status an error that is gone is a success, one that stays or is new a failure.

    JSON: {closed, event}
    """
    causal, who = open_lab().causal, own_agent(agent)
    if status is None:
        told = causal.record_outcome_from_state(signals, _object(observed), action_id=action_id, agent=who, **used)
    else:
        told = causal.close(action_id or _last_open(causal, who), status, score, agent=who, signals=signals, **used)
    said = (
        f"{told['action']['id']}: {told['outcome']['status']} ({told['outcome']['note']})"
        if told
        else "nothing is open"
    )
    emit({"closed": told is not None, "event": told}, said)


def _last_open(causal: Any, agent: str) -> str:
    waiting = causal.open_attempts(agent)
    if not waiting:
        raise InvalidInput("got no --action, and no attempt is open; allowed is the id that `attempt` gave")
    return str(waiting[-1].action_id)


@command("advice")
@reads_project
@_SIGNALS
@click.option(
    "--genes",
    "--gene",
    "genes",
    multiple=True,
    metavar="G…",
    help="Genes to choose from; default: those that are known.",
)
@click.option("--drift", is_flag=True, help="Ban nothing.")
@click.option(
    "--cheapest/--best", default=None, help="The cheapest that is not told from the best; default: as the settings say."
)
def causal_advice(signals: tuple[str, ...], genes: tuple[str, ...], drift: bool, cheapest: bool | None) -> None:
    """By what came of each gene under these signals and signals alike. Without evidence no gene is preferred.

    JSON: {signal_key, preferred_gene_id, banned_gene_ids, scores, explanation}
    """
    causal = open_lab().causal
    among = genes or [gene["id"] for gene in causal.genes()]
    told = causal.get_advice(signals, among, drift, cheapest=cheapest).to_dict()
    rows = [
        f"{score:.3f} {gene}{' (banned)' if gene in told['banned_gene_ids'] else ''}"
        for gene, score in told["scores"].items()
    ]
    emit(
        told,
        "\n".join([f"prefer {told['preferred_gene_id'] or 'none: nothing is known'}", *rows, *told["explanation"]]),
    )
