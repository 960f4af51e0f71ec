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
        name: Its flat name: `theorex NAME`.
        short: Its name in its group: `theorex GROUP SHORT`; "" where it has none.
        load: Imports the module of the command, and returns the command.
        about: One line of help.
        group: Its group; "" where it is in none.
    """

    name: str
    short: str
    load: Callable[[], click.Command]
    about: str
    group: str = ""

    @property
    def path(self) -> str:
        """The words after `theorex`, such as "memory write"."""
        return f"{self.group} {self.short}".strip()


class GroupEntry(NamedTuple):
    """A group of commands: its name, its line of help, its commands in their order."""

    name: str
    about: str
    commands: tuple[CommandEntry, ...]


def _memory() -> GroupEntry:
    return GroupEntry(
        "memory",
        "Write, search, the briefing, scan, flush, promote.",
        (
            CommandEntry(
                "write",
                "write",
                lambda: memory.write,
                "Write a text into an agent's memory.",
            ),
            CommandEntry(
                "search", "search", lambda: memory.search, "Search what is remembered."
            ),
            CommandEntry(
                "status",
                "status",
                lambda: memory.status,
                "Show what is remembered, by agent and tier.",
            ),
            CommandEntry(
                "scan",
                "scan",
                lambda: theorex_commands.scan,
                "Recompute tiers; put faded items to sleep.",
            ),
            CommandEntry(
                "prune",
                "prune",
                lambda: theorex_commands.prune,
                "Take faded concepts out of the axon.",
            ),
            CommandEntry(
                "scan-agent", "scan", lambda: theorex_commands.scan, "The same as scan."
            ),
            CommandEntry(
                "prune-agent",
                "prune",
                lambda: theorex_commands.prune,
                "The same as prune.",
            ),
            CommandEntry(
                "flush",
                "flush",
                lambda: theorex_commands.flush,
                "Move what mattered in a session to short-term memory.",
            ),
            CommandEntry(
                "graduate",
                "graduate",
                lambda: theorex_commands.graduate,
                "Take into the axon what was kept on enough days.",
            ),
            CommandEntry(
                "promote",
                "promote",
                lambda: theorex_commands.promote,
                "Give an agent's concepts to the shared web.",
            ),
            CommandEntry(
                "moment",
                "moment",
                lambda: theorex_commands.moment,
                "Write a story worth keeping.",
            ),
            CommandEntry(
                "drift",
                "drift",
                lambda: theorex_commands.drift,
                "Show whether what an agent's moments anchor is still ACTIVE.",
            ),
            CommandEntry(
                "context-monitor",
                "context-monitor",
                lambda: theorex_commands.context_monitor,
                "Note how full a context is; sum the session up where it is due.",
            ),
            CommandEntry(
                "briefing",
                "briefing",
                lambda: memory.briefing,
                "Show what an agent would read now.",
            ),
            CommandEntry(
                "pin", "pin", lambda: memory.pin, "Let a line or an item come first."
            ),
            CommandEntry("unpin", "unpin", lambda: memory.unpin, "Take a pin back."),
            CommandEntry(
                "dismiss",
                "dismiss",
                lambda: memory.dismiss,
                "Let a line or an item come back no more.",
            ),
            CommandEntry(
                "correct",
                "correct",
                lambda: memory.correct,
                "Put a text in the place of a line's or an item's own.",
            ),
            CommandEntry(
                "trust",
                "trust",
                lambda: memory.trust,
                "Make what a line or an item says a standing rule.",
            ),
            CommandEntry(
                "embed",
                "embed",
                lambda: memory.embed,
                "Compute the vectors that are still queued.",
            ),
            CommandEntry(
                "ingest",
                "ingest",
                lambda: ingest.ingest,
                "Take in documents: files, or what folders hold.",
            ),
            CommandEntry(
                "ingest-code",
                "ingest-code",
                lambda: ingest.ingest_code,
                "Take in source code, symbol by symbol.",
            ),
            CommandEntry(
                "ingest-image",
                "ingest-image",
                lambda: ingest.ingest_image,
                "Take in pictures: their metadata, words and description.",
            ),
            CommandEntry(
                "ingest-video",
                "ingest-video",
                lambda: ingest.ingest_video,
                "Take in films as a timeline of pictures.",
            ),
            CommandEntry(
                "session-summary",
                "session-summary",
                lambda: ingest.session_summary,
                "Say what a session found, decided, did, and what is next.",
            ),
            CommandEntry(
                "synthesize",
                "synthesize",
                lambda: ingest.synthesize,
                "Let a model draw lessons from a text.",
            ),
            CommandEntry(
                "audit",
                "audit",
                lambda: learn.audit,
                "Show the audit log: what changed in the memory, and when.",
            ),
        ),
    )


def _tiers() -> GroupEntry:
    return GroupEntry(
        "tiers",
        "Theorex's own forms of what is given, by the names of its document.",
        (
            CommandEntry(
                "boot-inject",
                "boot-inject",
                lambda: theorex_commands.boot_inject,
                "Write the briefing of the next session into a file.",
            ),
            CommandEntry(
                "boot-aware",
                "boot-aware",
                lambda: theorex_commands.boot_aware,
                "Show an agent's concepts and fixes, cut to a model's budget.",
            ),
            CommandEntry(
                "flash-inject",
                "flash-inject",
                lambda: theorex_commands.flash_inject,
                "Show what a running session knows now.",
            ),
            CommandEntry(
                "query-shared",
                "query-shared",
                lambda: theorex_commands.query_shared,
                "Search the shared web, or list it.",
            ),
        ),
    )


def _route() -> GroupEntry:
    return GroupEntry(
        "route",
        "Which model for a query, and why; dispatch, traces, the matrix.",
        (
            CommandEntry(
                "route",
                "",
                lambda: routing.route,
                "Say which model a query should go to, and why.",
            ),
            CommandEntry(
                "role-route",
                "role-route",
                lambda: routing.role_route,
                "Say which agent a query should go to.",
            ),
            CommandEntry(
                "roles", "roles", lambda: routing.roles, "Show the agents' roles."
            ),
            CommandEntry(
                "energy-check",
                "energy-check",
                lambda: routing.energy_check,
                "Say which sizes of model the machine's power allows.",
            ),
            CommandEntry(
                "trace-stats",
                "trace-stats",
                lambda: routing.trace_stats,
                "Show how calls of models went.",
            ),
            CommandEntry(
                "matrix-build",
                "matrix-build",
                lambda: routing.matrix_build,
                "Bring the confidence matrix up to date.",
            ),
            CommandEntry(
                "matrix-show",
                "matrix-show",
                lambda: routing.matrix_show,
                "Show the confidence matrix with its intervals.",
            ),
            CommandEntry(
                "dispatch",
                "dispatch",
                lambda: routing.dispatch,
                "Give a task to a model, and keep a trace of it.",
            ),
            CommandEntry(
                "trace-show",
                "trace-show",
                lambda: routing.trace_show,
                "Show one trace.",
            ),
        ),
    )


def _learn() -> GroupEntry:
    return GroupEntry(
        "learn",
        "Outcomes, reviews of failures, policies, the nightly steps.",
        (
            CommandEntry(
                "outcome",
                "outcome",
                lambda: learn.outcome,
                "Record how something went, or set right what was recorded.",
            ),
            CommandEntry(
                "judge",
                "judge",
                lambda: learn.judge,
                "Let a model score outcomes that no judge has scored.",
            ),
            CommandEntry(
                "evolve-status",
                "status",
                lambda: learn.evolve_status,
                "Show how outcomes went, by tag, and which failures wait.",
            ),
            CommandEntry(
                "trace-review",
                "trace-review",
                lambda: learn.trace_review,
                "Review failures, and write down their fixes.",
            ),
            CommandEntry(
                "evolve-review",
                "review",
                lambda: learn.evolve_review,
                "Review failures, act on win rates, promote, render the context.",
            ),
            CommandEntry(
                "confirm",
                "confirm",
                lambda: theorex_commands.confirm,
                "Vouch for a fix that was only heard.",
            ),
            CommandEntry(
                "policy-snapshot",
                "policy-snapshot",
                lambda: learn.policy_snapshot,
                "Keep the policy in force, with how it scores.",
            ),
            CommandEntry(
                "policy-list",
                "policy-list",
                lambda: learn.policy_list,
                "Show the policies that were kept.",
            ),
            CommandEntry(
                "policy-rollback",
                "policy-rollback",
                lambda: learn.policy_rollback,
                "Put an earlier policy in force again.",
            ),
            CommandEntry(
                "gate",
                "gate",
                lambda: learn.gate,
                "Propose a policy, and put it in force where it does better.",
            ),
            CommandEntry(
                "nightly",
                "nightly",
                lambda: learn.nightly,
                "Run a night's steps: review, gate, scan, promote, briefing.",
            ),
            CommandEntry(
                "schedule",
                "schedule",
                lambda: learn.schedule,
                "Print what runs the nightly steps every day.",
            ),
        ),
    )


def _task() -> GroupEntry:
    return GroupEntry(
        "task",
        "Tasks between agents: send, list, claim, complete, fail.",
        (
            CommandEntry(
                "a2a-send",
                "send",
                lambda: routing.a2a_send,
                "Ask another agent for work.",
            ),
            CommandEntry(
                "a2a-tasks",
                "list",
                lambda: routing.a2a_tasks,
                "Show the tasks of an agent.",
            ),
            CommandEntry(
                "a2a-claim",
                "claim",
                lambda: routing.a2a_claim,
                "Take the oldest task that waits.",
            ),
            CommandEntry(
                "a2a-complete",
                "complete",
                lambda: routing.a2a_complete,
                "Report a task as done.",
            ),
            CommandEntry(
                "a2a-fail", "fail", lambda: routing.a2a_fail, "Report a task as failed."
            ),
        ),
    )


def _home() -> GroupEntry:
    return GroupEntry(
        "home",
        "A home's files: backup, restore, verify, erase, export, config.",
        (
            CommandEntry(
                "doctor",
                "doctor",
                lambda: doctor.doctor,
                "Say what keeps the memory from working, and what to do.",
            ),
            CommandEntry(
                "backup",
                "backup",
                lambda: home.backup,
                "Copy the whole memory into one file, while others write.",
            ),
            CommandEntry(
                "restore",
                "restore",
                lambda: home.restore,
                "Put a backup in the place of the memory.",
            ),
            CommandEntry(
                "verify",
                "verify",
                lambda: home.verify,
                "Read the whole journal, fold every view again, compare.",
            ),
            CommandEntry(
                "salvage",
                "salvage",
                lambda: home.salvage,
                "Make a damaged home usable again without a backup; what is sound is kept.",
            ),
            CommandEntry(
                "erase",
                "erase",
                lambda: home.erase,
                "Erase events and all that was derived from them.",
            ),
            CommandEntry(
                "archive",
                "archive",
                lambda: home.archive,
                "Move old raw events into compressed segment files.",
            ),
            CommandEntry(
                "export",
                "export",
                lambda: home.export,
                "Write the memory into a folder of files.",
            ),
            CommandEntry(
                "import",
                "import",
                lambda: home.import_,
                "Take in a folder or a file that was exported.",
            ),
            CommandEntry(
                "config",
                "config",
                lambda: home.config,
                "Show every setting with its value, default, range and unit; set or unset one.",
            ),
        ),
    )


def _projects() -> GroupEntry:
    return GroupEntry(
        "projects",
        "Which projects there are, and where; making one of two.",
        (
            CommandEntry(
                "projects",
                "list",
                lambda: projects.projects,
                "List the projects: id, name, folders, events, the last activity.",
            ),
            CommandEntry(
                "projects-merge",
                "merge",
                lambda: projects.projects_merge,
                "Make all that is of one project another's.",
            ),
        ),
    )


def _lab() -> GroupEntry:
    return GroupEntry(
        "lab",
        "Find out which memory works: tune and eval measure; tour and open show.",
        (
            CommandEntry(
                "tune",
                "tune",
                lambda: research.tune,
                "Fit decay laws to an access log and compare them.",
            ),
            CommandEntry(
                "eval",
                "eval",
                lambda: evaluate.eval,
                "Score a part of the toolkit on a public data set.",
            ),
            CommandEntry(
                "compare",
                "compare",
                lambda: research.compare,
                "Compare memories on recorded logs: designs, baselines, your own.",
            ),
            CommandEntry(
                "tour",
                "tour",
                lambda: research.tour,
                "What the next session would be given of a history, and its worth.",
            ),
            CommandEntry(
                "lab",
                "open",
                lambda: research.lab,
                "Open JupyterLab on the numbered notebooks.",
            ),
        ),
    )


def _mcp() -> GroupEntry:
    return GroupEntry(
        "mcp",
        "How coding agents come in: the MCP server, the hook.",
        (
            CommandEntry(
                "mcp-start",
                "start",
                lambda: serve.mcp_start,
                "Serve the memory over the Model Context Protocol.",
            ),
            CommandEntry(
                "serve",
                "serve",
                lambda: serve.serve,
                "Serve what designs bring over HTTP and web sockets.",
            ),
            CommandEntry(
                "install-hooks",
                "install-hooks",
                lambda: hooks.install_hooks,
                "Put the hook into a coding agent's settings, or take it out.",
            ),
        ),
    )


def _fact() -> GroupEntry:
    return GroupEntry(
        "fact",
        "What is known of people and projects, and was believed when.",
        (
            CommandEntry(
                "memory-signal",
                "signal",
                lambda: fact_commands.fact_signal,
                "Say whether a message is worth keeping.",
            ),
            CommandEntry(
                "memory-write",
                "write",
                lambda: fact_commands.fact_write,
                "Write a fact about an entity.",
            ),
            CommandEntry(
                "fact-list",
                "list",
                lambda: fact_commands.fact_list,
                "Show facts, as they are or as they were believed.",
            ),
            CommandEntry(
                "fact-show",
                "show",
                lambda: fact_commands.fact_show,
                "Show one fact with those in whose place it stands.",
            ),
            CommandEntry(
                "fact-supersede",
                "supersede",
                lambda: fact_commands.fact_supersede,
                "Let a fact stand in the place of another, or end.",
            ),
            CommandEntry(
                "memory-contradict",
                "contradict",
                lambda: fact_commands.fact_contradict,
                "Show facts that may not hold side by side.",
            ),
            CommandEntry(
                "fact-access",
                "access",
                lambda: fact_commands.fact_access,
                "Count a use of facts.",
            ),
            CommandEntry(
                "fact-archive",
                "archive",
                lambda: fact_commands.fact_archive,
                "Move an entity to archives/.",
            ),
            CommandEntry(
                "fact-summary",
                "summary",
                lambda: fact_commands.fact_summary,
                "Show the page of an entity.",
            ),
            CommandEntry(
                "fact-render",
                "render",
                lambda: fact_commands.fact_render,
                "Write the page of every entity.",
            ),
            CommandEntry(
                "fact-session",
                "session",
                lambda: fact_commands.fact_session,
                "Chats that keep to themselves.",
            ),
            CommandEntry(
                "add-session",
                "",
                lambda: fact_commands.fact_session_add,
                "Make a chat a channel of its own.",
            ),
            CommandEntry(
                "memory-observe",
                "observe",
                lambda: fact_commands.fact_observe,
                "Note how the work goes.",
            ),
            CommandEntry(
                "memory-tension",
                "tension",
                lambda: fact_commands.fact_tension,
                "Note that two facts may not both hold.",
            ),
            CommandEntry(
                "fact-notes",
                "notes",
                lambda: fact_commands.fact_notes,
                "Show notes of the work and tensions.",
            ),
            CommandEntry(
                "fact-review",
                "review",
                lambda: fact_commands.fact_review,
                "Say what becomes of a note.",
            ),
            CommandEntry(
                "fact-self",
                "self",
                lambda: fact_commands.fact_self,
                "What is known always: MEMORY.md and SOUL.md.",
            ),
            CommandEntry(
                "validate",
                "validate",
                lambda: fact_commands.fact_validate,
                "Check the chains of facts.",
            ),
            CommandEntry(
                "heartbeat",
                "heartbeat",
                lambda: fact_commands.fact_heartbeat,
                "One round of upkeep: facts, summaries, checks, a report.",
            ),
        ),
    )


def _dream() -> GroupEntry:
    return GroupEntry(
        "dream",
        "Strategies made of what was done: dreams, recall, programs.",
        (
            CommandEntry(
                "dream-run",
                "run",
                lambda: dream_commands.dream_run,
                "Make strategies of what was done since the last dream.",
            ),
            CommandEntry(
                "dream-recall",
                "recall",
                lambda: dream_commands.dream_recall,
                "Show the strategy that answers a task.",
            ),
            CommandEntry(
                "dream-traverse",
                "traverse",
                lambda: dream_commands.dream_traverse,
                "Follow a strategy step by step.",
            ),
            CommandEntry(
                "dream-strategies",
                "strategies",
                lambda: dream_commands.dream_strategies,
                "Show strategies.",
            ),
            CommandEntry(
                "dream-undo",
                "undo",
                lambda: dream_commands.dream_undo,
                "Give up the last merge of a strategy.",
            ),
        ),
    )


def _causal() -> GroupEntry:
    return GroupEntry(
        "causal",
        "What was tried after which errors and signals, what came of it, and advice.",
        (
            CommandEntry(
                "causal-snapshot",
                "snapshot",
                lambda: causal_commands.causal_snapshot,
                "Record the signals that are there now.",
            ),
            CommandEntry(
                "causal-hypothesis",
                "hypothesis",
                lambda: causal_commands.causal_hypothesis,
                "Record what is expected of a gene.",
            ),
            CommandEntry(
                "causal-attempt",
                "attempt",
                lambda: causal_commands.causal_attempt,
                "Record that a gene is tried.",
            ),
            CommandEntry(
                "causal-close",
                "close",
                lambda: causal_commands.causal_close,
                "Say what came of an attempt.",
            ),
            CommandEntry(
                "causal-advice",
                "advice",
                lambda: causal_commands.causal_advice,
                "Which gene to try, and which not to.",
            ),
            CommandEntry(
                "causal-genes",
                "genes",
                lambda: causal_commands.causal_genes,
                "Show the genes that are known, with what came of them.",
            ),
        ),
    )


def _research() -> GroupEntry:
    return GroupEntry(
        "research",
        "Records by key, a graph of theorems, insights by domain, skills.",
        (
            CommandEntry(
                "research-remember",
                "remember",
                lambda: research_commands.REMEMBER,
                "Keep a value under a key.",
            ),
            CommandEntry(
                "research-recall",
                "recall",
                lambda: research_commands.RECALL,
                "Show what is kept under a key, a tag or a beginning of keys.",
            ),
            CommandEntry(
                "research-forget",
                "forget",
                lambda: research_commands.FORGET,
                "Take a record back.",
            ),
            CommandEntry(
                "research-theorem",
                "theorem",
                lambda: research_commands.THEOREM,
                "Theorems and what they rest on.",
            ),
            CommandEntry(
                "research-insight",
                "insight",
                lambda: research_commands.INSIGHT,
                "What sessions taught, and what the next is given of it.",
            ),
            CommandEntry(
                "research-skill",
                "skill",
                lambda: research_commands.SKILL,
                "Skills and how they did.",
            ),
            CommandEntry(
                "research-post-run",
                "post-run",
                lambda: research_commands.POST_RUN,
                "Learn from a session that is over.",
            ),
            CommandEntry(
                "research-export",
                "export",
                lambda: research_commands.EXPORT,
                "Write the folders memory/, memories/ and skills/.",
            ),
            CommandEntry(
                "research-import",
                "import",
                lambda: research_commands.IMPORT,
                "Take in such folders, of whoever wrote them.",
            ),
        ),
    )


GROUPS = (
    _memory(),
    _tiers(),
    _route(),
    _learn(),
    _task(),
    _home(),
    _projects(),
    _lab(),
    _mcp(),
    _fact(),
    _dream(),
    _causal(),
    _research(),
)
