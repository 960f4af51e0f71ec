"""Commands of a home: verify, erase, config."""

from __future__ import annotations

import json
from typing import Any

import click

from theorex_lab.cli import command, emit, fail, open_lab
from theorex_lab.config import describe
from theorex_lab.ids import check_agent


@command("verify")
def verify() -> None:
    """Exit code 1 where anything is wrong."""
    lab = open_lab()
    report = lab.verify()
    views = {name: not columns for name, columns in report.views.items()}
    result: dict[str, Any] = {"ok": report.ok, "events": report.events, "views": views, "kinds": report.kinds}
    if not report.ok:
        as_json = bool(click.get_current_context().obj.get("as_json"))
        fail("; ".join(report.problems), as_json=as_json, **result)
    result["vectors"] = lab.searcher.coverage()
    emit(result, f"ok: {report.events} events; views {', '.join(views)} equal the fold of the journal")


@command("erase")
@click.argument("ids", nargs=-1)
@click.option("--agent", default=None, help="Everything of this agent.")
@click.option("--match", default=None, help="Everything whose body or session id holds this text.")
@click.option("--dry-run", is_flag=True, help="Only show which events would be erased.")
def erase(ids: tuple[str, ...], agent: str | None, match: str | None, dry_run: bool) -> None:
    """By event id, agent or text. It follows lineage to what was derived, and cannot be undone."""
    from theorex_lab.journal.erase import select

    lab = open_lab()
    owner = check_agent(agent) if agent is not None else None
    if dry_run:
        reached = select(lab.journal, ids=ids, agent=owner, match=match)
    else:
        reached = lab.erase(ids=ids, agent=owner, match=match)
    text = f"{len(reached)} events {'would be' if dry_run else 'were'} erased; exports and backups are not reached"
    emit({"erased": [] if dry_run else reached, "selected": reached}, "\n".join([text, *reached]))


@command("config")
def config() -> None:
    """Settings are changed in config.json in the home, camelCase or snake_case."""
    lab = open_lab()
    rows = describe(lab.settings)
    lines = [f"# {lab.config_file}"]
    for row in rows:
        unit = f" {row['unit']}" if row["unit"] else ""
        default = json.dumps(row["default"])
        lines.append(
            f"{row['key']} = {json.dumps(row['value'])}{unit}   ({row['source']}; default {default}; {row['range']})"
        )
        lines.append(f"    {row['description']}")
    emit({"file": str(lab.config_file), "settings": rows}, "\n".join(lines))
