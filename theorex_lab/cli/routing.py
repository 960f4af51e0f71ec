"""Commands of routing: route, role-route, roles, energy-check, trace-stats, matrix-build, matrix-show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

import click

from theorex_lab.cli import open_lab
from theorex_lab.config import ModelTier
from theorex_lab.console import command, emit, one_row, printable
from theorex_lab.console.agents import agent_option
from theorex_lab.console.number import DAYS, PERCENT, TOKENS

if TYPE_CHECKING:
    from theorex_lab.routing.heuristic import Complexity


_AMOUNTS = ("median_latency_ms", "p95_latency_ms", "mean_prompt_tokens", "mean_completion_tokens", "mean_tokens")


@command("route")
@agent_option("Who asks: an operative that takes the type of the query proposes its own model.")
@click.option("--urgent", is_flag=True, help="A small model, unless a role prefers otherwise.")
@click.option("--context", "context_pct", type=PERCENT, default=0.0, help="Percent of the context in use.")
@click.option("--tokens", "query_tokens", type=TOKENS, default=0, help="Length of the query; default: estimated.")
@click.argument("query", nargs=-1, required=True)
def route(query: tuple[str, ...], agent: str | None, **details: Any) -> None:
    """Role preference, energy, recall of like queries, confidence matrix, heuristic, in that order; each says what it did.
    Nothing is called. A query whose first word is the name of a command in this group goes after `--`: theorex route -- roles
    of a cache

    JSON: {query_type, tier, model, confidence, reasons, fallbacks}
    """
    decision = open_lab().route(" ".join(query), agent=agent, **details)
    head = f"{decision.model or 'no model'}  ({decision.tier}, {decision.query_type}, confidence {decision.confidence:.2f})"
    then = f"  then: {', '.join(decision.fallbacks) or 'nothing'}"
    emit(asdict(decision), "\n".join([head, *(f"  {reason}" for reason in decision.reasons), then]))


@command("role-route")
@click.argument("query", nargs=-1, required=True)
def role_route(query: tuple[str, ...]) -> None:
    """The operative with the highest priority that takes this type of query, else the orchestrator.

    JSON: {agent, role, model, query_type, reason}
    """
    from theorex_lab.routing.heuristic import classify
    from theorex_lab.routing.roles import route_to_agent

    query_type = classify(" ".join(query)).query_type
    choice = route_to_agent(query_type, open_lab().settings.roles)
    agent, role, model = choice.agent_id, choice.role, choice.model_preference
    result = {"agent": agent, "role": role, "model": model, "query_type": query_type, "reason": choice.reason}
    emit(result, f"{agent} ({role}, {model or 'any model'}): {choice.reason}")


@command("roles")
def roles() -> None:
    """They are set in config.json, under roles.

    JSON: {roles: [{agent_id, role, capabilities, model_preference, priority, active}]}
    """
    found = [role.model_dump() for role in open_lab().settings.roles]
    table = [["agent", "role", "priority", "model", "takes"]]
    for role in found:
        takes = ", ".join(role["capabilities"]) + ("" if role["active"] else "  (not active)")
        table.append([role["agent_id"], role["role"], str(role["priority"]), role["model_preference"] or "any", takes])
    emit({"roles": found}, "\n".join(_aligned(table)) if found else "no roles")


@command("energy-check")
@click.option("--complexity", type=click.Choice(["low", "high"]), default="high", help="How hard the query is.")
def energy_check(complexity: Complexity) -> None:
    """On battery no large model runs for what is of low complexity, nor below batteryThreshold.

    JSON: {percent, on_battery, source, allowed, reason}
    """
    from theorex_lab.routing import energy

    settings, power = open_lab().settings, energy.read_power()
    allowed = {tier: energy.allows(tier, power, complexity, settings) for tier in get_args(ModelTier)}
    reason = energy.veto(power, complexity, settings) or f"{energy.describe_power(power)}: every size may run"
    names = ", ".join(tier for tier, may in allowed.items() if may)
    emit({**asdict(power), "allowed": allowed, "reason": reason}, f"{names}  ({reason}; source: {power.source})")


@command("trace-stats")
@agent_option("Only this agent's calls.")
def trace_stats(agent: str | None) -> None:
    """By query type and model: success with its 95 % interval, latency, tokens; lost calls and those that no model answered are counted apart.

    JSON: {stats: [{query_type, model, n, success_rate, low, high, lost, unavailable, …}], open}
    """
    found = open_lab().trace_stats(agent=agent)
    rows = found.to_dict()
    head = "type|model|calls|success|95 % interval|median ms|p95 ms|prompt tokens|answer tokens|tokens|lost|unavailable"
    table = [head.split("|")]
    for row in rows:
        success = [_shown(row["success_rate"], "{:.0%}"), f"{row['low']:.0%} – {row['high']:.0%}"]
        amounts = [_shown(row[name], "{:.0f}") for name in _AMOUNTS]
        apart = [str(row["lost"]), str(row["unavailable"])]
        table.append([row["query_type"], row["model"] or "–", str(row["n"]), *success, *amounts, *apart])
    lines = _aligned(table) if rows else ["no call has ended"]
    emit({"stats": rows, "open": found.open}, "\n".join([*lines, f"{found.open} calls are open"]))


@command("matrix-build")
def matrix_build() -> None:
    """Takes in what other processes have recorded since, and keeps the result for the next start.

    JSON: {records, cells}
    """
    from theorex_lab.memory.evidence import QUERY_TYPE_PREFIX, evidence_view

    lab = open_lab()
    with lab.views.reading(evidence_view(lab.home)) as view:
        cells = view.table.cells(QUERY_TYPE_PREFIX)
        lab.views.snapshot(view)
    result = {"records": int(cells.n.sum()), "cells": len(cells)}
    emit(result, f"{result['records']} runs in {result['cells']} cells")


@command("matrix-show")
@click.option("--half-life", "half_life_days", type=DAYS, metavar="DAYS", help="Default matrixHalfLifeDays.")
@click.option("--min-samples", type=click.IntRange(min=1), help="Runs of a usable cell; default matrixMinSamples.")
def matrix_show(**how: Any) -> None:
    """A call succeeds where a model answered, unless its outcome says later that it went wrong. Cells without enough runs
    are dimmed: they have no score and are not used. Runs that were imported without --trust-own stand below; no query is
    routed by them.

    JSON: {cells: [{query_type, model, n, success_rate, low, high, latency_ms, score, usable, …}], heard}
    """
    lab = open_lab()
    rows, heard = lab.matrix(**how).to_dict(), lab.matrix(**how, heard=True).to_dict()
    told = [*_matrix_lines(rows)] if rows else ["no evidence yet"]
    if heard:
        unused = _matrix_lines([{**row, "usable": False} for row in heard])
        told += ["", "imported without --trust-own, not used:", *unused]
    emit({"cells": rows, **({"heard": heard} if heard else {})}, "\n".join(told), styled=True)


def _matrix_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A head and a line a cell, those that are not used dimmed."""
    table = [["type", "model", "runs", "success", "95 % interval", "ms", "score"]]
    for row in rows:
        success = [_shown(row["success_rate"], "{:.0%}"), f"{row['low']:.0%} – {row['high']:.0%}"]
        amounts = [_shown(row["latency_ms"], "{:.0f}"), _shown(row["score"], "{:.2f}")]
        table.append([row["query_type"], row["model"], f"{row['n']:.4g}", *success, *amounts])
    head, *lines = _aligned(table)
    # click leaves the style out where the output is no terminal.
    cells = zip(lines, rows, strict=True)
    return [head, *(line if row["usable"] else click.style(line, dim=True) for line, row in cells)]


def _shown(value: float | None, pattern: str) -> str:
    return "–" if value is None else pattern.format(value)


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the columns below each other; what was imported may be named anything."""
    clean = [[one_row(printable(text)) for text in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in clean]
