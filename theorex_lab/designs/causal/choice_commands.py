"""The commands that choose what to try: `theorex causal select …`."""

from __future__ import annotations

from typing import Any

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

_SIGNALS = click.option(
    "--signals",
    "--signal",
    "signals",
    multiple=True,
    metavar="S…",
    help="The signals, such as log_error or errsig:TEXT.",
)
_DRIFT = click.option(
    "--drift",
    is_flag=True,
    help="Leave bans aside and choose by chance among the best (genetic drift).",
)
# How the parts of an explanation begin, and what they say.
_REASONS = {
    "memory_prefer": "advice prefers {}",
    "memory_ban": "advice bans {}",
    "cheapest_not_worse": "it is the cheapest of those not significantly worse: {}",
    "gene_prior": "what it did under any signals counts {}, and fades with age",
    "random_drift": "drift is on: bans are left aside",
}
_SEED = click.option(
    "--seed", type=click.IntRange(0), default=0, help="The seed of random draws."
)


@command("select")
@reads_project
@_SIGNALS
@_DRIFT
@_SEED
@click.option(
    "--untrusted",
    is_flag=True,
    help="Choose among what only an import tells, too.",
)
def causal_select(
    signals: tuple[str, ...], drift: bool, seed: int, untrusted: bool
) -> None:
    """It chooses the gene and the capsule for these signals.

    Only genes whose patterns fit can be chosen. The one that advice prefers comes
    first, else the one with the most patterns that fit. A banned gene is left out. The
    capsule is the one with the most triggers that fit. Both must be trusted, unless
    --untrusted is given.

    Next: `attempt --gene` records that it is tried.

    JSON: {gene, capsule, selector: {…}}
    """
    from theorex_lab.designs.causal.items import gene_text

    causal = open_lab().causal
    selection = causal.select_gene(
        signals,
        causal.genes() if untrusted else None,
        drift_enabled=drift,
        seed=seed,
    )
    capsules = causal.capsules() if untrusted else None
    capsule = causal.select_capsule(signals, capsules)
    gene = selection.selected
    lines = ["gene: none"]
    if gene is not None:
        words = one_line(gene_text(gene)) or "it says nothing"
        lines = [f"gene: {gene['id']}: {words} (by {selection.selected_by})"]
    lines.append("capsule: none fits")
    if capsule is not None:
        words = one_line(gene_text(capsule)) or "it says nothing"
        lines[-1] = f"capsule: {capsule['id']}: {words}"
    result = {"gene": gene, "capsule": capsule, "selector": selection.to_dict()}
    lines += map(_reason_in_words, selection.why)
    emit(result, "\n".join(lines))


def _reason_in_words(reason: str) -> str:
    """Return a part of an explanation as a reader has it."""
    name, _, value = reason.partition(":")
    if name not in _REASONS:
        return reason
    return _REASONS[name].format(value)


@command("mutation")
@reads_project
@_SIGNALS
@click.option(
    "--drift", is_flag=True, help="Innovate where no error is told (genetic drift)."
)
@click.option(
    "--risk",
    type=click.Choice(["low", "medium", "high"]),
    help="The risk; default: medium for innovation, else low.",
)
@click.option("--target", default="", metavar="TEXT", help="What is changed.")
@click.option("--effect", default="", metavar="TEXT", help="What is expected of it.")
def causal_mutation(
    signals: tuple[str, ...], drift: bool, risk: str | None, target: str, effect: str
) -> None:
    """It builds the mutation for these signals, and records nothing.

    Errors call for repair, drift and opportunities for innovation, the rest for
    optimization. What the personality forbids becomes milder.

    Next: `attempt --mutation` takes what --json prints.

    JSON: {id, category, risk_level, trigger_signals, target, expected_effect}
    """
    mutation = open_lab().causal.build_mutation(
        signals,
        drift_enabled=drift,
        risk_level=risk or "",
        target=target,
        expected_effect=effect,
    )
    text = f"{mutation['category']}, {mutation['risk_level']} risk ({mutation['id']})"
    emit(mutation, text)


@command("personality")
@OWN_AGENT
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a parameter, from 0 to 1: rigor, creativity, verbosity, risk_tolerance or"
    " obedience.",
)
@click.option("--adapt", is_flag=True, help="Adapt it to the outcomes since.")
@click.option("--drift", is_flag=True, help="With --adapt: change one by chance.")
@_SEED
@keeps_secrets
def causal_personality(
    agent: str | None, parameters: tuple[str, ...], adapt: bool, drift: bool, seed: int
) -> None:
    """It shows the five parameters, and what came of each personality.

    Maintenance adapts it too: towards the personality that did best, and to more rigor
    where what was tried last failed. Only outcomes of attempts that name a personality
    or a mutation count.

    JSON: {state: {…}, key, statistics: {…}, history}
    """
    causal = open_lab().causal
    owner = own_agent(agent)
    shown = causal.personality()
    if parameters:
        state = dict(map(_parameter, parameters))
        shown = causal.set_personality(state, agent=owner)
    if adapt:
        shown = causal.adapt_personality(drift_enabled=drift, seed=seed, agent=owner)
    lines = [f"{name:<15} {value:g}" for name, value in shown["state"].items()]
    for key, record in shown["statistics"].items():
        lines.append(_record_line(key, record))
    emit(shown, "\n".join(lines))


def _parameter(text: str) -> tuple[str, float]:
    """Return the name and the value of a parameter that is set.

    Raises:
        InvalidInput: It is no NAME=VALUE.
    """
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise InvalidInput(
            f"got --set {text!r:.80}; allowed is NAME=VALUE, such as rigor=0.8"
        ) from None


def _record_line(key: str, record: dict[str, Any]) -> str:
    """Return what came of a personality, in words."""
    n_outcomes = record["success"] + record["failed"]
    score = "" if record["score"] is None else f", score {record['score']:.2f}"
    return f"{key}: helped {record['success']} of {n_outcomes} times{score}"
