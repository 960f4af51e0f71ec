"""The commands of causal memory: `theorex causal …`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.command_line import (
    command,
    emit,
    keeps_secrets,
    open_lab,
    reads_project,
)
from theorex_lab.files.command_line.options import OWN_AGENT, own_agent
from theorex_lab.text.line import one_line

if TYPE_CHECKING:
    from theorex_lab.designs.causal.capture import RecordedAction

_STRATEGY_CHARACTERS = 120
_SIGNALS = click.option(
    "--signals",
    "--signal",
    "signals",
    multiple=True,
    metavar="S…",
    help="The signals, such as log_error or errsig:TEXT.",
)
# How an explanation says that a gene is preferred by its outcomes after other errors.
_GENE = click.option("--gene", metavar="ID", help="The id of the gene.")
_CATEGORY = click.option(
    "--category",
    metavar="C",
    help="The category of the gene: repair, optimize or innovate.",
)


def _object(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> dict[str, Any] | None:
    from theorex_lab.files.formats.flat_files import parse_object

    return None if text is None else parse_object(text.encode("utf-8", "surrogatepass"))


def _mutation(
    context: click.Context, option: click.Parameter, text: str | None
) -> dict[str, Any] | None:
    from theorex_lab.designs.causal.capture import CATEGORIES, RISKS, checked_mutation

    mutation = _object(context, option, text)
    if mutation is not None and checked_mutation(mutation) is None:
        raise InvalidInput(
            f"got the mutation {text!r:.100}; allowed is what `theorex causal mutation"
            f" --json` prints, with a category of {', '.join(CATEGORIES)} and a"
            f" risk_level of {', '.join(RISKS)}"
        )
    return mutation


_OBSERVED = click.option(
    "--observed",
    metavar="JSON",
    callback=_object,
    help='What was observed, such as {"recent_error_count": 5}.',
)


_MUTATION = click.option(
    "--mutation",
    metavar="JSON",
    callback=_mutation,
    help="The mutation, as `theorex causal mutation --json` prints it; the personality"
    " in force is recorded with it.",
)
_CAPSULES = click.option(
    "--capsule",
    "capsules",
    multiple=True,
    metavar="ID",
    help="A capsule that is used; may be repeated.",
)


def _recording(
    *options: Callable[..., Any],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the options of a command that records something.

    They are the agent, the signals, what was observed, and the given options.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in (_OBSERVED, *options[::-1], _SIGNALS):
            function = option(function)
        return keeps_secrets(OWN_AGENT(function))

    return declare


@command("snapshot")
@_recording()
def causal_snapshot(
    agent: str | None, signals: tuple[str, ...], observed: dict[str, Any] | None
) -> None:
    """It records the signals alone, whether or not anything is done about them.

    JSON: {type, kind, id, ts, signal: {key, signals, error_signature}, observed}
    """
    event = open_lab().causal.record_signal_snapshot(
        signals, observed, agent=own_agent(agent)
    )
    emit(event, f"{event['id']}: {_signals_in_words(event)}")


def _signals_in_words(event: dict[str, Any]) -> str:
    """Return the signals of an event, the text of an error without its prefix."""
    signals = event["signal"]["signals"]
    words = [signal.removeprefix("errsig:") for signal in signals]
    return one_line(", ".join(words)) or "no signals"


def _selected(gene: str | None, category: str | None) -> dict[str, str | None] | None:
    """Return the gene that is tried, as it is recorded; None without an id."""
    return {"id": gene, "category": category} if gene else None


def _in_force(mutation: dict[str, Any] | None) -> dict[str, float] | None:
    """Return the personality within which a mutation is made; None without one."""
    from theorex_lab.designs.causal.personalities import current_personality

    return current_personality(open_lab().home) if mutation else None


def _emit_action(action: RecordedAction) -> None:
    """Print what was recorded."""
    emit(action._asdict(), f"{action.id}: {_signals_in_words(action.event)}")


@command("hypothesis")
@_recording(_GENE, _CATEGORY, _MUTATION, _CAPSULES)
def causal_hypothesis(
    agent: str | None,
    signals: tuple[str, ...],
    gene: str | None,
    category: str | None,
    mutation: dict[str, Any] | None,
    capsules: tuple[str, ...],
    observed: dict[str, Any] | None,
) -> None:
    """The output is its id, which `attempt --hypothesis` takes.

    JSON: {id, signal_key, event}
    """
    action = open_lab().causal.record_hypothesis(
        signals,
        _selected(gene, category),
        observations=observed,
        mutation=mutation,
        personality_state=_in_force(mutation),
        capsules_used=capsules,
        agent=own_agent(agent),
    )
    _emit_action(action)


@command("attempt")
@_recording(
    _GENE,
    _CATEGORY,
    _MUTATION,
    _CAPSULES,
    click.option(
        "--hypothesis",
        "hypothesis_id",
        metavar="ID",
        help="The hypothesis that the attempt tests.",
    ),
)
def causal_attempt(
    agent: str | None,
    signals: tuple[str, ...],
    gene: str | None,
    category: str | None,
    mutation: dict[str, Any] | None,
    capsules: tuple[str, ...],
    hypothesis_id: str | None,
    observed: dict[str, Any] | None,
) -> None:
    """The output is the id of the attempt; `close` records its outcome.

    `select` chooses the gene for --gene, and `mutation` builds what --mutation takes.

    JSON: {id, signal_key, event}
    """
    action = open_lab().causal.record_attempt(
        signals,
        _selected(gene, category),
        hypothesis_id=hypothesis_id,
        observations=observed,
        mutation=mutation,
        personality_state=_in_force(mutation),
        capsules_used=capsules,
        agent=own_agent(agent),
    )
    _emit_action(action)


@command("close")
@click.option(
    "--action",
    "action_id",
    metavar="ID",
    help="The id of the attempt; default: the agent's last open one.",
)
@_recording()
@click.option(
    "--status",
    type=click.Choice(["success", "failed"]),
    help="The outcome; default: read from --signals.",
)
@click.option(
    "--score", type=float, help="With --status: how good the outcome is, from 0 to 1."
)
@click.option("--cost", type=float, help="What the attempt cost, in money.")
@click.option(
    "--latency-ms", type=float, help="How long the attempt took, in milliseconds."
)
def causal_close(
    agent: str | None,
    action_id: str | None,
    signals: tuple[str, ...],
    observed: dict[str, Any] | None,
    status: str | None,
    score: float | None,
    cost: float | None,
    latency_ms: float | None,
) -> None:
    """Give --status, or the signals that are present now (--signals).

    With --signals alone the outcome is read from them: an error that is gone is a
    success, and one that stays or is new is a failure.

    JSON: {closed, event}
    """
    causal = open_lab().causal
    owner = own_agent(agent)
    if status is None:
        event = causal.record_outcome_from_state(
            signals,
            observed,
            action_id=action_id,
            latency_ms=latency_ms,
            cost=cost,
            agent=owner,
        )
    else:
        attempts = [] if action_id else causal.open_attempts(owner)
        if not (action_id or attempts):
            raise InvalidInput(
                "got no --action, and no attempt is open; allowed is the id that"
                " `attempt` gave"
            )
        event = causal.close(
            action_id or attempts[-1].action_id,
            status,
            score,
            signals=signals,
            latency_ms=latency_ms,
            cost=cost,
            agent=owner,
        )
    text = "nothing is open"
    if event:
        outcome = event["outcome"]
        note = outcome["note"].replace("_", " ").replace("|", ", ")
        text = f"{event['action']['id']}: {outcome['status']} ({note})"
    emit({"closed": event is not None, "event": event}, text)


@command("genes")
@reads_project
@_SIGNALS
def causal_genes(signals: tuple[str, ...]) -> None:
    """For each gene it shows how often it succeeded, and of how many attempts.

    The counts have their 95 % interval. With --signals they are of attempts for these
    signals and for similar ones, without it of all attempts. A banned gene has failed
    too often to be tried again for these signals. A gene is shown by what it does; its
    id is in the JSON.

    JSON: {genes: [{id, category, strategy, n, successes, ci_low, ci_high, banned}]}
    """
    from theorex_lab.designs.causal.genes import gene_rows

    rows = gene_rows(open_lab().home, signals)
    rows.sort(key=lambda row: -row["n"])
    lines = [_gene_line(row) for row in rows]
    nothing = (
        "no genes yet: they are made of what was done about failures, or recorded with"
        " `theorex causal attempt`"
    )
    emit({"genes": rows}, "\n".join(lines) or nothing)


def _gene_line(row: dict[str, Any]) -> str:
    """Return a gene as a line: what it does, and how often it helped."""
    words = one_line(row["strategy"], _STRATEGY_CHARACTERS) or row["id"]
    banned = " (banned)" if row["banned"] else ""
    if not row["n"]:
        return f"{words}: not tried to the end{banned}"
    interval = f"{row['ci_low']:.2f} to {row['ci_high']:.2f}"
    outcome = f"helped {row['successes']:.0f} of {row['n']:.0f} times"
    return f"{words}: {outcome} ({interval}){banned}"


@command("advice")
@reads_project
@_SIGNALS
@click.option(
    "--genes",
    "--gene",
    "genes",
    multiple=True,
    metavar="G…",
    help="Choose among these genes; default: all known ones.",
)
@click.option(
    "--drift",
    is_flag=True,
    help="Ban no gene, so that failed ones can be tried again (genetic drift).",
)
@click.option(
    "--cheapest/--best",
    default=None,
    help="Prefer the best gene, or the cheapest of those not significantly worse;"
    " default: the setting.",
)
def causal_advice(
    signals: tuple[str, ...], genes: tuple[str, ...], drift: bool, cheapest: bool | None
) -> None:
    """Genes are ranked by how they went for these signals and for similar ones.

    Without evidence no gene is preferred. The output says after which error what helped
    how often, and what did not. What was tried once is shown only where nothing else is
    known. The scores are in the JSON.

    JSON: {signal_key, preferred_gene_id, banned_gene_ids, scores, explanation, words}
    """
    from theorex_lab.designs.causal.advice import is_known_here, known_gene_ids
    from theorex_lab.designs.causal.experience import advice_in_words
    from theorex_lab.designs.causal.items import gene_text

    lab = open_lab()
    causal = lab.causal
    gene_by_id = {gene["id"]: gene for gene in causal.genes()}
    candidates = genes or known_gene_ids(lab.home)
    advice = causal.get_advice(signals, candidates, drift, cheapest=cheapest).to_dict()

    def in_words(gene_id: str) -> str:
        return one_line(gene_text(gene_by_id.get(gene_id, {})) or gene_id)

    words = advice_in_words(lab.home, signals)
    lines = []
    preferred = advice["preferred_gene_id"]
    if preferred is None:
        lines.append("prefer none: nothing is known")
    elif signals:
        is_of_others = not is_known_here(lab.home, signals, preferred)
        lines += _preference(in_words(preferred), is_of_others, bool(words))
    lines += [f"do not: {in_words(gene)}" for gene in advice["banned_gene_ids"]]
    emit({**advice, "words": words}, "\n".join([*lines, *words]))


def _preference(act: str, is_of_others: bool, has_words: bool) -> list[str]:
    """Return which act is preferred, as a line; none where the words say more.

    Args:
        act: The act, in words.
        is_of_others: Whether it is known from other errors only.
        has_words: Whether anything is known of these errors.
    """
    from theorex_lab.designs.causal.remedies import says_what_helped

    if says_what_helped(act) and not is_of_others:
        return [f"prefer: {act}"]
    if has_words:
        return []
    if says_what_helped(act):
        return [f"nothing is known of such errors; after others this helped: {act}"]
    return ["prefer none: nothing is known of such errors"]
