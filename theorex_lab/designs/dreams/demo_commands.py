"""The command of the document's demos: `theorex dreams demo NAME`."""

from __future__ import annotations

from pathlib import Path

import click

from theorex_lab.files.command_line import command, emit, named_home


@command("demo")
@click.option(
    "--model",
    metavar="NAME",
    default="",
    help="A model of the settings plays the agent; default: a script.",
)
@click.argument("name", metavar="DEMO")
def dream_demo(name: str, model: str) -> None:
    r"""DEMO is one of three; the document's file names are accepted too.

    \b
    sql     a table with Spanish columns (beeai_benchmark)
    stripe  pages that only a header names (beeai_distillation)
    isa     an older strategy after the rules changed (isa_lifecycle)

    An agent works without memory, a dream makes a strategy of what it did, and it works
    once more with that. The figures stand beside those of the document. Your memory is
    not touched; its config.json says which models there are.

    JSON: {demo, without: {…}, with_memory: {…}, document: {…}, memory, notes}
    """
    from theorex_lab.core.settings import load_settings
    from theorex_lab.designs.dreams.demos.run import run_demo
    from theorex_lab.memory.contract import CONFIG_FILE

    home = Path(named_home()).expanduser()
    settings = load_settings(home / CONFIG_FILE)
    report = run_demo(name, model=model, settings=settings)
    emit(report.to_dict(), str(report))


@command("hypotheses")
def dream_hypotheses() -> None:
    """Rerun the document's validation on this machine, each test in a home of its own.

    No model is asked: rules dream, and the embedder is the one of your config.json. Each
    claim stands beside the figures of the document. Your memory is not touched.

    JSON: {embedder, results: [{test, claim, here, document, holds}]}
    """
    from theorex_lab.core.settings import load_settings
    from theorex_lab.designs.dreams.demos.hypotheses import run_hypotheses
    from theorex_lab.memory.contract import CONFIG_FILE

    home = Path(named_home()).expanduser()
    report = run_hypotheses(load_settings(home / CONFIG_FILE))
    emit(report.to_dict(), str(report))
