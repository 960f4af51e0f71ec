"""The table of commands: their groups, their names and one line of help each.

A command stands beside the function that it runs, in a module that is imported when the
command is called: agents start `theorex` often. The rest of its help, and the keys of
its answer in JSON, are the docstring of that function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from theorex_lab.core.lazy import LazyModule

if TYPE_CHECKING:
    import click

    from theorex_lab.app.cli import (
        doctor,
        evaluate,
        home,
        hooks,
        ingest,
        learn,
        memory,
        projects,
        research,
        routing,
        serve,
    )
    from theorex_lab.designs.causal import commands as causal_commands
    from theorex_lab.designs.dreams import commands as dream_commands
    from theorex_lab.designs.facts import commands as fact_commands
    from theorex_lab.designs.research import commands as research_commands
    from theorex_lab.designs.theorex import commands as theorex_commands
else:
    doctor = LazyModule("theorex_lab.app.cli.doctor")
    evaluate = LazyModule("theorex_lab.app.cli.evaluate")
    home = LazyModule("theorex_lab.app.cli.home")
    hooks = LazyModule("theorex_lab.app.cli.hooks")
    ingest = LazyModule("theorex_lab.app.cli.ingest")
    learn = LazyModule("theorex_lab.app.cli.learn")
    memory = LazyModule("theorex_lab.app.cli.memory")
    projects = LazyModule("theorex_lab.app.cli.projects")
    research = LazyModule("theorex_lab.app.cli.research")
    routing = LazyModule("theorex_lab.app.cli.routing")
    serve = LazyModule("theorex_lab.app.cli.serve")
    causal_commands = LazyModule("theorex_lab.designs.causal.commands")
    dream_commands = LazyModule("theorex_lab.designs.dreams.commands")
    fact_commands = LazyModule("theorex_lab.designs.facts.commands")
    research_commands = LazyModule("theorex_lab.designs.research.commands")
    theorex_commands = LazyModule("theorex_lab.designs.theorex.commands")


class CommandEntry(NamedTuple):
    """A command of the table.

    Attributes:
        name: Its name: `theorex NAME`, or `theorex GROUP NAME` in a design's group.
        load: Imports the module of the command, and returns the command.
        about: One line of help.
        printed: The name that the design's document prints for it, where that is
            another; it is accepted in the group too.
    """

    name: str
    load: Callable[[], click.Command]
    about: str
    printed: str = ""


class CommandGroupEntry(NamedTuple):
    """Commands that belong together, in their order.

    Attributes:
        name: The job that they do, or the published design that they belong to.
        about: One line of help; "" for a job.
        commands: The commands.
    """

    name: str
    about: str
    commands: tuple[CommandEntry, ...]


def _first_day() -> CommandGroupEntry:
    return CommandGroupEntry(
        "First day",
        "",
        (
            CommandEntry(
                "tour",
                lambda: research.tour,
                "Show what the next session is given of a history, and what that is worth.",
            ),
            CommandEntry(
                "write",
                lambda: memory.write,
                "Write a text into an agent's memory.",
            ),
            CommandEntry(
                "search",
                lambda: memory.search,
                "Search what is remembered.",
            ),
            CommandEntry(
                "briefing",
                lambda: memory.briefing,
                "Show what an agent reads at a session's start or at a prompt.",
            ),
            CommandEntry(
                "import",
                lambda: home.import_,
                "Take in recorded sessions, or files that were exported.",
            ),
            CommandEntry(
                "install-hooks",
                lambda: hooks.install_hooks,
                "Connect a coding agent: its hooks, and the MCP server.",
            ),
            CommandEntry(
                "status",
                lambda: memory.status,
                "Show what is remembered, by agent.",
            ),
            CommandEntry(
                "doctor",
                lambda: doctor.doctor,
                "Check what keeps the memory from working, and say what to do.",
            ),
        ),
    )


def _steering() -> CommandGroupEntry:
    return CommandGroupEntry(
        "Steer what comes back",
        "",
        (
            CommandEntry(
                "pin",
                lambda: memory.pin,
                "Put a line or an item first.",
            ),
            CommandEntry(
                "dismiss",
                lambda: memory.dismiss,
                "Show a line or an item no more.",
            ),
            CommandEntry(
                "correct",
                lambda: memory.correct,
                "Replace the text of a line or an item.",
            ),
            CommandEntry(
                "trust",
                lambda: memory.trust,
                "Make a statement a standing rule, or trust a fix.",
            ),
        ),
    )


def _upkeep() -> CommandGroupEntry:
    return CommandGroupEntry(
        "Bring in and look after",
        "",
        (
            CommandEntry(
                "ingest",
                lambda: ingest.ingest,
                "Take in documents, code, images or videos.",
            ),
            CommandEntry(
                "embed",
                lambda: memory.embed,
                "Compute the vectors that are missing.",
            ),
            CommandEntry(
                "maintain",
                lambda: learn.maintain,
                "Run all maintenance steps, or print how to run them every day.",
            ),
            CommandEntry(
                "audit",
                lambda: learn.audit,
                "Show what changed in the memory, and when.",
            ),
            CommandEntry(
                "projects",
                lambda: projects.projects,
                "List the projects; `projects merge` joins two.",
            ),
        ),
    )


def _models() -> CommandGroupEntry:
    return CommandGroupEntry(
        "Choose a model",
        "",
        (
            CommandEntry(
                "route",
                lambda: routing.route,
                "Say which model a query should go to, and why.",
            ),
            CommandEntry(
                "dispatch",
                lambda: routing.dispatch,
                "Give a task to a model, and keep a trace of it.",
            ),
            CommandEntry(
                "traces",
                lambda: routing.traces,
                "Show how calls of models went, or one call.",
            ),
            CommandEntry(
                "matrix",
                lambda: routing.matrix,
                "Show the confidence matrix with its intervals.",
            ),
        ),
    )


def _learning() -> CommandGroupEntry:
    return CommandGroupEntry(
        "Learn from outcomes",
        "",
        (
            CommandEntry(
                "outcome",
                lambda: learn.outcome,
                "Record how something went, or correct what was recorded.",
            ),
            CommandEntry(
                "outcomes",
                lambda: learn.outcomes,
                "Show how outcomes went, by tag, and which failures wait.",
            ),
            CommandEntry(
                "review",
                lambda: learn.review,
                "Review failures, and write down their fixes.",
            ),
            CommandEntry(
                "policy",
                lambda: learn.policy,
                "Show, test, keep or roll back policies.",
            ),
        ),
    )


def _safety() -> CommandGroupEntry:
    return CommandGroupEntry(
        "Keep a home safe",
        "",
        (
            CommandEntry(
                "backup",
                lambda: home.backup,
                "Copy the whole memory into one file, while others write.",
            ),
            CommandEntry(
                "restore",
                lambda: home.restore,
                "Put a backup in the place of the memory.",
            ),
            CommandEntry(
                "verify",
                lambda: home.verify,
                "Check the journal and every view; --salvage mends a damaged home.",
            ),
            CommandEntry(
                "erase",
                lambda: home.erase,
                "Erase events and all that was derived from them.",
            ),
            CommandEntry(
                "archive",
                lambda: home.archive,
                "Move old raw events into compressed files.",
            ),
            CommandEntry(
                "export",
                lambda: home.export,
                "Write the memory into a folder of files.",
            ),
            CommandEntry(
                "config",
                lambda: home.config,
                "Show the settings; set or unset one.",
            ),
        ),
    )


def _laboratory() -> CommandGroupEntry:
    return CommandGroupEntry(
        "Find out which memory works",
        "",
        (
            CommandEntry(
                "tune",
                lambda: research.tune,
                "Fit decay laws to an access log and compare them.",
            ),
            CommandEntry(
                "eval",
                lambda: evaluate.eval,
                "Score a part of the toolkit on a public data set.",
            ),
            CommandEntry(
                "compare",
                lambda: research.compare,
                "Compare memories on recorded logs: designs, baselines, your own.",
            ),
            CommandEntry(
                "lab",
                lambda: research.lab,
                "Open JupyterLab on the numbered notebooks.",
            ),
        ),
    )


def _servers() -> CommandGroupEntry:
    return CommandGroupEntry(
        "Serve other programs",
        "",
        (
            CommandEntry(
                "serve",
                lambda: serve.serve,
                "Serve the memory over HTTP and web sockets, with a page.",
            ),
            CommandEntry(
                "mcp",
                lambda: serve.mcp,
                "Serve the memory over the Model Context Protocol.",
            ),
        ),
    )


def _tiers() -> CommandGroupEntry:
    return CommandGroupEntry(
        "tiers",
        "Theorex: concepts in tiers, by the names of its document.",
        (
            CommandEntry(
                "write",
                lambda: memory.write,
                "Write a text into an agent's memory.",
            ),
            CommandEntry(
                "status",
                lambda: memory.status,
                "Show what is remembered, by agent and tier.",
            ),
            CommandEntry(
                "search",
                lambda: memory.search,
                "Search what is remembered.",
            ),
            CommandEntry(
                "scan",
                lambda: theorex_commands.scan,
                "Update the tiers; put faded items to sleep.",
            ),
            CommandEntry(
                "scan-agent",
                lambda: theorex_commands.scan,
                "Do the same as scan.",
            ),
            CommandEntry(
                "prune",
                lambda: theorex_commands.prune,
                "Take faded concepts out of the axon.",
            ),
            CommandEntry(
                "prune-agent",
                lambda: theorex_commands.prune,
                "Do the same as prune.",
            ),
            CommandEntry(
                "flush",
                lambda: theorex_commands.flush,
                "Move what mattered in a session to short-term memory.",
            ),
            CommandEntry(
                "graduate",
                lambda: theorex_commands.graduate,
                "Take into the axon what was kept on enough days.",
            ),
            CommandEntry(
                "promote",
                lambda: theorex_commands.promote,
                "Give an agent's concepts to the shared web.",
            ),
            CommandEntry(
                "moment",
                lambda: theorex_commands.moment,
                "Write a story worth keeping.",
            ),
            CommandEntry(
                "drift",
                lambda: theorex_commands.drift,
                "Show whether what an agent's moments anchor is still ACTIVE.",
            ),
            CommandEntry(
                "context-monitor",
                lambda: theorex_commands.context_monitor,
                "Note how full a context is; sum the session up where it is due.",
            ),
            CommandEntry(
                "boot-inject",
                lambda: theorex_commands.boot_inject,
                "Write the briefing of the next session into a file.",
            ),
            CommandEntry(
                "boot-aware",
                lambda: theorex_commands.boot_aware,
                "Show an agent's concepts and fixes, cut to a model's budget.",
            ),
            CommandEntry(
                "flash-inject",
                lambda: theorex_commands.flash_inject,
                "Show what a running session knows now.",
            ),
            CommandEntry(
                "query-shared",
                lambda: theorex_commands.query_shared,
                "Search the shared web, or list it.",
            ),
            CommandEntry(
                "session-summary",
                lambda: ingest.session_summary,
                "Say what a session found, decided and did, and what is next.",
            ),
            CommandEntry(
                "synthesize",
                lambda: ingest.synthesize,
                "Let a model draw lessons from a text.",
            ),
            CommandEntry(
                "ingest",
                lambda: ingest.ingest,
                "Take in documents: files, or what folders hold.",
            ),
            CommandEntry(
                "ingest-code",
                lambda: ingest.ingest_code,
                "Take in source code, symbol by symbol.",
            ),
            CommandEntry(
                "ingest-image",
                lambda: ingest.ingest_image,
                "Take in pictures: their metadata, words and description.",
            ),
            CommandEntry(
                "ingest-video",
                lambda: ingest.ingest_video,
                "Take in films as a timeline of pictures.",
            ),
            CommandEntry(
                "dispatch",
                lambda: routing.dispatch,
                "Give a task to a model, and keep a trace of it.",
            ),
            CommandEntry(
                "route",
                lambda: routing.route,
                "Say which model a query should go to, and why.",
            ),
            CommandEntry(
                "role-route",
                lambda: routing.role_route,
                "Say which agent a query should go to.",
            ),
            CommandEntry(
                "roles",
                lambda: routing.roles,
                "Show the agents' roles.",
            ),
            CommandEntry(
                "energy-check",
                lambda: routing.energy_check,
                "Say which sizes of model the machine's power allows.",
            ),
            CommandEntry(
                "trace-stats",
                lambda: routing.trace_stats,
                "Show how calls of models went.",
            ),
            CommandEntry(
                "trace-review",
                lambda: learn.review,
                "Review failures, and write down their fixes.",
            ),
            CommandEntry(
                "matrix-build",
                lambda: routing.matrix_build,
                "Bring the confidence matrix up to date.",
            ),
            CommandEntry(
                "matrix-show",
                lambda: routing.matrix,
                "Show the confidence matrix with its intervals.",
            ),
            CommandEntry(
                "outcome",
                lambda: learn.outcome,
                "Record how something went, or correct what was recorded.",
            ),
            CommandEntry(
                "evolve-status",
                lambda: learn.evolve_status,
                "Show how outcomes went, by tag, and which failures wait.",
            ),
            CommandEntry(
                "evolve-review",
                lambda: learn.evolve_review,
                "Review failures, learn from win rates, promote, write the briefing.",
            ),
            CommandEntry(
                "policy-snapshot",
                lambda: learn.policy_snapshot,
                "Keep the policy in force, with how it scores.",
            ),
            CommandEntry(
                "mcp-start",
                lambda: serve.mcp,
                "Serve the memory over the Model Context Protocol.",
            ),
            CommandEntry(
                "a2a-send",
                lambda: routing.a2a_send,
                "Ask another agent for work.",
            ),
            CommandEntry(
                "a2a-tasks",
                lambda: routing.a2a_tasks,
                "Show the tasks of an agent.",
            ),
            CommandEntry(
                "a2a-claim",
                lambda: routing.a2a_claim,
                "Take the oldest task that waits.",
            ),
            CommandEntry(
                "a2a-complete",
                lambda: routing.a2a_complete,
                "Report a task as done.",
            ),
            CommandEntry(
                "a2a-fail",
                lambda: routing.a2a_fail,
                "Report a task as failed.",
            ),
        ),
    )


def _facts() -> CommandGroupEntry:
    return CommandGroupEntry(
        "facts",
        "Engram: what is known of people and projects, and was believed when.",
        (
            CommandEntry(
                "signal",
                lambda: fact_commands.fact_signal,
                "Say whether a message is worth keeping.",
                printed="memory-signal",
            ),
            CommandEntry(
                "write",
                lambda: fact_commands.fact_write,
                "Write a fact about an entity.",
                printed="memory-write",
            ),
            CommandEntry(
                "list",
                lambda: fact_commands.fact_list,
                "Show facts, as they are or as they were believed.",
            ),
            CommandEntry(
                "show",
                lambda: fact_commands.fact_show,
                "Show one fact with those that it replaced.",
            ),
            CommandEntry(
                "supersede",
                lambda: fact_commands.fact_supersede,
                "Replace a fact by another, or end it.",
            ),
            CommandEntry(
                "contradict",
                lambda: fact_commands.fact_contradict,
                "Show facts that may contradict each other.",
                printed="memory-contradict",
            ),
            CommandEntry(
                "access",
                lambda: fact_commands.fact_access,
                "Count a use of facts.",
            ),
            CommandEntry(
                "archive",
                lambda: fact_commands.fact_archive,
                "Move an entity to archives/.",
            ),
            CommandEntry(
                "summary",
                lambda: fact_commands.fact_summary,
                "Show the page of an entity.",
            ),
            CommandEntry(
                "render",
                lambda: fact_commands.fact_render,
                "Write the page of every entity.",
            ),
            CommandEntry(
                "add-session",
                lambda: fact_commands.fact_session_add,
                "Give a chat a channel of its own.",
            ),
            CommandEntry(
                "observe",
                lambda: fact_commands.fact_observe,
                "Note how the work goes.",
                printed="memory-observe",
            ),
            CommandEntry(
                "tension",
                lambda: fact_commands.fact_tension,
                "Note that two facts may not both hold.",
                printed="memory-tension",
            ),
            CommandEntry(
                "notes",
                lambda: fact_commands.fact_notes,
                "Show notes of the work and tensions.",
            ),
            CommandEntry(
                "review",
                lambda: fact_commands.fact_review,
                "Decide what becomes of a note.",
            ),
            CommandEntry(
                "self",
                lambda: fact_commands.fact_self,
                "Keep what is always known: MEMORY.md and SOUL.md.",
            ),
            CommandEntry(
                "validate",
                lambda: fact_commands.fact_validate,
                "Check the chains of facts.",
            ),
            CommandEntry(
                "heartbeat",
                lambda: fact_commands.fact_heartbeat,
                "Run one round of upkeep: facts, summaries, checks, a report.",
            ),
        ),
    )


def _dreams() -> CommandGroupEntry:
    return CommandGroupEntry(
        "dreams",
        "Evolving Memory: strategies made of what was done.",
        (
            CommandEntry(
                "run",
                lambda: dream_commands.dream_run,
                "Make strategies of what was done since the last dream.",
            ),
            CommandEntry(
                "recall",
                lambda: dream_commands.dream_recall,
                "Show the strategy that answers a task.",
            ),
            CommandEntry(
                "traverse",
                lambda: dream_commands.dream_traverse,
                "Follow a strategy step by step.",
            ),
            CommandEntry(
                "strategies",
                lambda: dream_commands.dream_strategies,
                "Show strategies.",
            ),
            CommandEntry(
                "undo",
                lambda: dream_commands.dream_undo,
                "Undo the last merge of a strategy.",
            ),
        ),
    )


def _causal() -> CommandGroupEntry:
    return CommandGroupEntry(
        "causal",
        "GEP memory graph: what was tried, what came of it, and advice.",
        (
            CommandEntry(
                "snapshot",
                lambda: causal_commands.causal_snapshot,
                "Record the signals that are present now.",
            ),
            CommandEntry(
                "hypothesis",
                lambda: causal_commands.causal_hypothesis,
                "Record what is expected of a gene.",
            ),
            CommandEntry(
                "attempt",
                lambda: causal_commands.causal_attempt,
                "Record that a gene is tried.",
            ),
            CommandEntry(
                "close",
                lambda: causal_commands.causal_close,
                "Record the outcome of an attempt.",
            ),
            CommandEntry(
                "advice",
                lambda: causal_commands.causal_advice,
                "Say which gene to try, and which not to.",
            ),
            CommandEntry(
                "genes",
                lambda: causal_commands.causal_genes,
                "Show the known genes with their outcomes.",
            ),
        ),
    )


def _research() -> CommandGroupEntry:
    return CommandGroupEntry(
        "research",
        "EurekaClaw: records by key, theorems, insights, skills.",
        (
            CommandEntry(
                "remember",
                lambda: research_commands.REMEMBER,
                "Keep a value under a key.",
            ),
            CommandEntry(
                "recall",
                lambda: research_commands.RECALL,
                "Show the values of a key, a tag or a prefix.",
            ),
            CommandEntry(
                "forget",
                lambda: research_commands.FORGET,
                "Take a record back.",
            ),
            CommandEntry(
                "theorem",
                lambda: research_commands.THEOREM,
                "Keep theorems and what they rest on.",
            ),
            CommandEntry(
                "insight",
                lambda: research_commands.INSIGHT,
                "Keep what sessions taught, and give it to the next.",
            ),
            CommandEntry(
                "skill",
                lambda: research_commands.SKILL,
                "Show skills and how they did.",
            ),
            CommandEntry(
                "post-run",
                lambda: research_commands.POST_RUN,
                "Learn from a session that is over.",
            ),
            CommandEntry(
                "export",
                lambda: research_commands.EXPORT,
                "Write the folders memory/, memories/ and skills/.",
            ),
            CommandEntry(
                "import",
                lambda: research_commands.IMPORT,
                "Take in such folders, whoever wrote them.",
            ),
        ),
    )


# The commands of the toolkit, by the job that they do.
JOBS = (
    _first_day(),
    _steering(),
    _upkeep(),
    _models(),
    _learning(),
    _safety(),
    _laboratory(),
    _servers(),
)
# The commands of the published designs, a group each.
DESIGN_GROUPS = (
    _tiers(),
    _facts(),
    _dreams(),
    _causal(),
    _research(),
)
