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
        data,
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
        shared,
    )
    from theorex_lab.designs.causal import choice_commands as causal_choice_commands
    from theorex_lab.designs.causal import commands as causal_commands
    from theorex_lab.designs.causal import file_commands as causal_file_commands
    from theorex_lab.designs.dreams import commands as dream_commands
    from theorex_lab.designs.dreams import demo_commands as dream_demo_commands
    from theorex_lab.designs.dreams import file_commands as dream_file_commands
    from theorex_lab.designs.dreams import isa_commands as dream_isa_commands
    from theorex_lab.designs.dropin import commands as dropin_commands
    from theorex_lab.designs.facts import commands as fact_commands
    from theorex_lab.designs.facts import domain_commands, folder_commands
    from theorex_lab.designs.research import commands as research_commands
    from theorex_lab.designs.theorex import commands as theorex_commands
    from theorex_lab.designs.theorex import (
        document_commands as theorex_document_commands,
    )
else:
    data = LazyModule("theorex_lab.app.cli.data")
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
    shared = LazyModule("theorex_lab.app.cli.shared")
    causal_choice_commands = LazyModule("theorex_lab.designs.causal.choice_commands")
    causal_commands = LazyModule("theorex_lab.designs.causal.commands")
    causal_file_commands = LazyModule("theorex_lab.designs.causal.file_commands")
    dream_commands = LazyModule("theorex_lab.designs.dreams.commands")
    dream_demo_commands = LazyModule("theorex_lab.designs.dreams.demo_commands")
    dream_file_commands = LazyModule("theorex_lab.designs.dreams.file_commands")
    dream_isa_commands = LazyModule("theorex_lab.designs.dreams.isa_commands")
    dropin_commands = LazyModule("theorex_lab.designs.dropin.commands")
    fact_commands = LazyModule("theorex_lab.designs.facts.commands")
    domain_commands = LazyModule("theorex_lab.designs.facts.domain_commands")
    folder_commands = LazyModule("theorex_lab.designs.facts.folder_commands")
    research_commands = LazyModule("theorex_lab.designs.research.commands")
    theorex_commands = LazyModule("theorex_lab.designs.theorex.commands")
    theorex_document_commands = LazyModule(
        "theorex_lab.designs.theorex.document_commands"
    )


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
        words: What the words of the design's document mean; "" for a job.
        left_out: Names that the document prints and that are no command, each with the
            reason.
    """

    name: str
    about: str
    commands: tuple[CommandEntry, ...]
    words: str = ""
    left_out: tuple[tuple[str, str], ...] = ()


def _first_day() -> CommandGroupEntry:
    return CommandGroupEntry(
        "First day",
        "",
        (
            CommandEntry(
                "tour",
                lambda: research.tour,
                "Show what an agent would remember of your git history.",
            ),
            CommandEntry(
                "write",
                lambda: memory.write,
                "Write a text into an agent's memory.",
            ),
            CommandEntry(
                "search",
                lambda: memory.search,
                "Search what agents remember.",
            ),
            CommandEntry(
                "briefing",
                lambda: memory.briefing,
                "Show what an agent reads at a session's start or at a prompt.",
            ),
            CommandEntry(
                "import",
                lambda: home.import_,
                "Import recorded sessions, or files that `export` wrote.",
            ),
            CommandEntry(
                "install-hooks",
                lambda: hooks.install_hooks,
                "Connect a coding agent: its hooks and, if wanted, MCP.",
            ),
            CommandEntry(
                "status",
                lambda: memory.status,
                "Show how much each agent remembers.",
            ),
            CommandEntry(
                "doctor",
                lambda: doctor.doctor,
                "Check whether the memory works, and say what to mend.",
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
                "Show a line or an item first from now on.",
            ),
            CommandEntry(
                "dismiss",
                lambda: memory.dismiss,
                "Hide a line or an item from now on.",
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
                "Read documents, code, images or videos into the memory.",
            ),
            CommandEntry(
                "embed",
                lambda: memory.embed,
                "Compute the missing vectors, which search by meaning needs.",
            ),
            CommandEntry(
                "maintain",
                lambda: learn.maintain,
                "Run all maintenance steps, or print a daily schedule for them.",
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
                "Send a task to a model, and record the call as a trace.",
            ),
            CommandEntry(
                "traces",
                lambda: routing.traces,
                "Show how the calls of models went, or one call in full.",
            ),
            CommandEntry(
                "matrix",
                lambda: routing.matrix,
                "Show how often each model succeeds at each type of query.",
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
                "Show success rates by tag, and how many failures wait for a review.",
            ),
            CommandEntry(
                "review",
                lambda: learn.review,
                "Review failures, and write down their fixes.",
            ),
            CommandEntry(
                "policy",
                lambda: learn.policy,
                "Show, test, keep or roll back the settings that decide (policies).",
            ),
        ),
    )


def _safety() -> CommandGroupEntry:
    return CommandGroupEntry(
        "Keep a home safe",
        "",
        (
            CommandEntry(
                "sync",
                lambda: shared.sync,
                "Bring this machine and the journal that it shares up to date.",
            ),
            CommandEntry(
                "snapshot",
                lambda: shared.snapshot,
                "Take over computed views between machines of a shared journal.",
            ),
            CommandEntry(
                "backup",
                lambda: home.backup,
                "Copy the whole memory into one file, while others write.",
            ),
            CommandEntry(
                "restore",
                lambda: home.restore,
                "Replace the memory with a backup.",
            ),
            CommandEntry(
                "verify",
                lambda: home.verify,
                "Check the journal and every view; --salvage mends a damaged home.",
            ),
            CommandEntry(
                "erase",
                lambda: home.erase,
                "Erase events for good, with everything derived from them.",
            ),
            CommandEntry(
                "archive",
                lambda: home.archive,
                "Move old raw events into compressed files.",
            ),
            CommandEntry(
                "export",
                lambda: home.export,
                "Write the memory into files that other programs read.",
            ),
            CommandEntry(
                "config",
                lambda: home.config,
                "Show the settings, or change one.",
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
                "Fit the laws of forgetting to a log of uses, and compare them.",
            ),
            CommandEntry(
                "eval",
                lambda: evaluate.eval,
                "Score a part of the toolkit on a public data set.",
            ),
            CommandEntry(
                "compare",
                lambda: research.compare,
                "Compare memories on recorded sessions: designs, baselines, your own.",
            ),
            CommandEntry(
                "data",
                lambda: data.data,
                "List the data sets, and download public ones.",
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
                "Serve the memory over HTTP and web sockets, with a web page.",
            ),
            CommandEntry(
                "mcp",
                lambda: serve.mcp,
                "Serve the memory over the Model Context Protocol (MCP).",
            ),
        ),
    )


_TIERS_WORDS = """A concept is a name or a phrase that an agent's texts share. Its tier
says how present it is: ACTIVE, MILD or LESS; below LESS it sleeps, that is, the search
leaves it out until it is mentioned again. The words of the document mean:

\b
axon               an agent's concepts and the links between them
shared web         the concepts that agents published to each other
flash              what a running session did and was given
flush              moves what mattered of a session's flash to
                   short-term memory, where it stays for 14 days
graduate           takes a concept that was kept on enough days
                   into the axon
promote            publishes a concept to the shared web
moment             a story that is told in full and never fades
anchor             a concept of a moment
boot, flash-inject what a session is given at its start, and later
"""


def _tiers() -> CommandGroupEntry:
    return CommandGroupEntry(
        "tiers",
        "Theorex: concepts that fade through tiers, and texts of sessions.",
        (
            CommandEntry(
                "write",
                lambda: memory.write,
                "Write a text into an agent's memory.",
            ),
            CommandEntry(
                "status",
                lambda: memory.status,
                "Show how much each agent remembers, by tier.",
            ),
            CommandEntry(
                "search",
                lambda: memory.search,
                "Search what agents remember.",
            ),
            CommandEntry(
                "scan",
                lambda: theorex_commands.scan,
                "Compute the tiers again, and put faded items to sleep.",
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
                "Take concepts that were kept on enough days into the axon.",
            ),
            CommandEntry(
                "promote",
                lambda: theorex_commands.promote,
                "Publish an agent's strong concepts to the shared web.",
            ),
            CommandEntry(
                "moment",
                lambda: theorex_commands.moment,
                "Write a moment: a story that never fades.",
            ),
            CommandEntry(
                "drift",
                lambda: theorex_commands.drift,
                "Show whether the concepts of an agent's moments are still ACTIVE.",
            ),
            CommandEntry(
                "context-monitor",
                lambda: theorex_commands.context_monitor,
                "Record how full a session's context is, and sum the session up in time.",
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
                "Show the concepts and texts that matter to a running session.",
            ),
            CommandEntry(
                "query-shared",
                lambda: theorex_commands.query_shared,
                "Search the shared web, or list it.",
            ),
            CommandEntry(
                "session-summary",
                lambda: ingest.session_summary,
                "Record what a session looked into, learned and did, and what is next.",
            ),
            CommandEntry(
                "synthesize",
                lambda: ingest.synthesize,
                "Let a model draw lessons from a text, and keep them.",
            ),
            CommandEntry(
                "ingest",
                lambda: ingest.ingest,
                "Read documents into the memory: files or whole folders.",
            ),
            CommandEntry(
                "ingest-code",
                lambda: ingest.ingest_code,
                "Read source code into the memory, symbol by symbol.",
            ),
            CommandEntry(
                "ingest-image",
                lambda: ingest.ingest_image,
                "Read images into the memory: metadata, words and description.",
            ),
            CommandEntry(
                "ingest-video",
                lambda: ingest.ingest_video,
                "Read videos into the memory as a timeline of images.",
            ),
            CommandEntry(
                "dispatch",
                lambda: routing.dispatch,
                "Send a task to a model, and record the call as a trace.",
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
                "Show how the calls of models went.",
            ),
            CommandEntry(
                "trace-review",
                lambda: learn.review,
                "Review failures, and write down their fixes.",
            ),
            CommandEntry(
                "trace-events",
                lambda: theorex_document_commands.show_bus_events,
                "Show a call as the events of the document's EventBus.",
            ),
            CommandEntry(
                "trace-emit",
                lambda: theorex_document_commands.trace_emit,
                "Record calls of models from a file of such events.",
            ),
            CommandEntry(
                "matrix-build",
                lambda: routing.matrix_build,
                "Bring the confidence matrix up to date.",
            ),
            CommandEntry(
                "matrix-show",
                lambda: routing.matrix,
                "Show how often each model succeeds at each type of query.",
            ),
            CommandEntry(
                "outcome",
                lambda: learn.outcome,
                "Record how something went, or correct what was recorded.",
            ),
            CommandEntry(
                "evolve-status",
                lambda: learn.evolve_status,
                "Show success rates by tag, and how many failures wait for a review.",
            ),
            CommandEntry(
                "evolve-review",
                lambda: learn.evolve_review,
                "Review failures, learn from win rates, promote, write the briefing.",
            ),
            CommandEntry(
                "policy-snapshot",
                lambda: learn.policy_snapshot,
                "Keep the policy in force, with its scores.",
            ),
            CommandEntry(
                "mcp-start",
                lambda: serve.mcp,
                "Serve the memory over the Model Context Protocol (MCP).",
            ),
            CommandEntry(
                "submit",
                lambda: theorex_document_commands.submit,
                "Hand a task to a model, and do not wait for the answer.",
            ),
            CommandEntry(
                "export",
                lambda: theorex_document_commands.export,
                "Write the memory as the files of Theorex's document.",
            ),
            CommandEntry(
                "a2a-send",
                lambda: routing.a2a_send,
                "Send a task to another agent.",
            ),
            CommandEntry(
                "a2a-tasks",
                lambda: routing.a2a_tasks,
                "Show the tasks of an agent.",
            ),
            CommandEntry(
                "a2a-claim",
                lambda: routing.a2a_claim,
                "Take the oldest task that waits for an agent.",
            ),
            CommandEntry(
                "a2a-complete",
                lambda: routing.a2a_complete,
                "Report that a task is done.",
            ),
            CommandEntry(
                "a2a-fail",
                lambda: routing.a2a_fail,
                "Report that a task failed.",
            ),
        ),
        _TIERS_WORDS,
    )


_FACTS_WORDS = """The words of the document mean:

\b
entity      a person or a project: people/NAME, projects/NAME
fact        a statement about an entity, with the time it holds
supersede   to put a fact in the place of another; the older one
            is kept, and the facts form a chain
hot, warm, cold
            tiers of facts by their use
note        a remark on how the work goes, to be reviewed later
tension     two facts that may not both hold
heartbeat   a round of upkeep, by default every half hour
channel     a chat whose facts stay in it
domain      the rules, state and log that a subagent works from
hand-off    the block in which a subagent says what it did
"""


def _facts() -> CommandGroupEntry:
    return CommandGroupEntry(
        "facts",
        "Engram: dated facts about people and projects.",
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
                "List facts, as they are or as they were believed at a time.",
            ),
            CommandEntry(
                "show",
                lambda: fact_commands.fact_show,
                "Show a fact with the facts that it replaced.",
            ),
            CommandEntry(
                "supersede",
                lambda: fact_commands.fact_supersede,
                "Replace a fact by another one, or end it.",
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
                "Count a use of facts, which keeps them warm.",
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
                "Write a note on how the work goes.",
                printed="memory-observe",
            ),
            CommandEntry(
                "tension",
                lambda: fact_commands.fact_tension,
                "Record a tension: two facts that may not both hold.",
                printed="memory-tension",
            ),
            CommandEntry(
                "notes",
                lambda: fact_commands.fact_notes,
                "List the notes on the work, and the tensions.",
            ),
            CommandEntry(
                "review",
                lambda: fact_commands.fact_review,
                "Decide what becomes of a note or a tension.",
            ),
            CommandEntry(
                "self",
                lambda: fact_commands.fact_self,
                "Keep what an agent always knows: MEMORY.md and SOUL.md.",
            ),
            CommandEntry(
                "dedup",
                lambda: folder_commands.fact_dedup,
                "Show facts that say the same.",
                printed="memory-dedup",
            ),
            CommandEntry(
                "add-domain",
                lambda: domain_commands.fact_add_domain,
                "Add a domain: what a subagent works from.",
            ),
            CommandEntry(
                "domain",
                lambda: domain_commands.fact_domain,
                "Keep domains: their files, and what subagents propose.",
            ),
            CommandEntry(
                "handoff",
                lambda: domain_commands.fact_handoff,
                "Let a subagent do a phase of the heartbeat, and read its block.",
            ),
            CommandEntry(
                "init",
                lambda: folder_commands.fact_init,
                "Make an Engram folder.",
            ),
            CommandEntry(
                "validate",
                lambda: folder_commands.fact_validate,
                "Check the chains of facts, or an Engram folder.",
                printed="validate-kg",
            ),
            CommandEntry(
                "migrate-v2",
                lambda: folder_commands.fact_migrate,
                "Bring the facts of an Engram folder to version two.",
            ),
            CommandEntry(
                "heartbeat",
                lambda: fact_commands.fact_heartbeat,
                "Run a heartbeat: read captures for facts, check, sum up, report.",
            ),
        ),
        _FACTS_WORDS,
        (
            (
                "install-qmd",
                "there is nothing to install, since search is built in: `theorex search`",
            ),
        ),
    )


_DREAMS_WORDS = """The words of the document mean:

\b
trajectory  a goal, the actions for it, and how it came out
strategy    the steps that worked for a goal, with warnings of
            what failed (constraints)
dream       a run that makes strategies of new trajectories, and
            merges and links them
"""


def _dreams() -> CommandGroupEntry:
    return CommandGroupEntry(
        "dreams",
        "Evolving Memory: steps that worked, learned from recorded work.",
        (
            CommandEntry(
                "run",
                lambda: dream_commands.dream_run,
                "Run a dream: make strategies of what was done since the last one.",
            ),
            CommandEntry(
                "recall",
                lambda: dream_commands.dream_recall,
                "Show the strategy that fits a task.",
            ),
            CommandEntry(
                "traverse",
                lambda: dream_commands.dream_traverse,
                "Follow a strategy step by step.",
            ),
            CommandEntry(
                "strategies",
                lambda: dream_commands.dream_strategies,
                "List the strategies, or show one in full.",
            ),
            CommandEntry(
                "undo",
                lambda: dream_commands.dream_undo,
                "Undo the last merge of a strategy.",
            ),
            CommandEntry(
                "export",
                lambda: dream_file_commands.dream_export,
                "Write the memory into Evolving Memory's SQLite file.",
            ),
            CommandEntry(
                "import",
                lambda: dream_file_commands.dream_import,
                "Read Evolving Memory's SQLite file.",
            ),
            CommandEntry(
                "export-training-data",
                lambda: dream_file_commands.dream_export_training_data,
                "Write trajectories as chats to train a model on.",
                "export_training_data.py",
            ),
            CommandEntry(
                "prepare-sft-dataset",
                lambda: dream_file_commands.dream_prepare_sft_dataset,
                "Thin, balance and split a file of chats.",
                "prepare_sft_dataset.py",
            ),
            CommandEntry(
                "isa-versions",
                lambda: dream_isa_commands.isa_versions,
                "List the versions of the instruction set.",
            ),
            CommandEntry(
                "isa-parse",
                lambda: dream_isa_commands.isa_parse,
                "Check a program of the instruction set.",
            ),
            CommandEntry(
                "isa-run",
                lambda: dream_isa_commands.isa_run,
                "Run a program of the instruction set.",
            ),
            CommandEntry(
                "demo",
                lambda: dream_demo_commands.dream_demo,
                "Show an agent without and with what it dreamt.",
            ),
            CommandEntry(
                "hypotheses",
                lambda: dream_demo_commands.dream_hypotheses,
                "Rerun the document's tests of its claims.",
            ),
        ),
        _DREAMS_WORDS,
    )


_CAUSAL_WORDS = """The words of the document mean:

\b
signal      a sign of trouble, such as log_error or the text of
            an error (errsig:TEXT)
gene        something that can be done about signals, such as a
            fix; its category is repair, optimize or innovate
hypothesis  what a gene is expected to change
attempt     a gene that was tried for signals; closing it records
            the outcome
advice      which gene to try for signals, and which are banned
            since they failed
capsule     a gene as it was applied once, with its outcome
mutation    the kind of a change, and its risk
personality five parameters that say how much change is dared

One turn is `snapshot`, `select`, `mutation`, `attempt` and `close`: the gene
and the capsule of `select` and the mutation go into the attempt.
"""


def _causal() -> CommandGroupEntry:
    return CommandGroupEntry(
        "causal",
        "GEP memory graph: what was tried, how it went, and advice.",
        (
            CommandEntry(
                "snapshot",
                lambda: causal_commands.causal_snapshot,
                "Record the signals that are present now.",
            ),
            CommandEntry(
                "hypothesis",
                lambda: causal_commands.causal_hypothesis,
                "Record what a gene is expected to do, before it is tried.",
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
                "Say which gene to try, and which ones not to.",
            ),
            CommandEntry(
                "genes",
                lambda: causal_commands.causal_genes,
                "List the known genes with their outcomes.",
            ),
            CommandEntry(
                "select",
                lambda: causal_choice_commands.causal_select,
                "Choose a gene and a capsule for signals.",
            ),
            CommandEntry(
                "mutation",
                lambda: causal_choice_commands.causal_mutation,
                "Build the mutation that signals call for.",
            ),
            CommandEntry(
                "personality",
                lambda: causal_choice_commands.causal_personality,
                "Show, set or adapt the personality.",
            ),
            CommandEntry(
                "narrative",
                lambda: causal_file_commands.causal_narrative,
                "Tell the last outcomes in words.",
            ),
            CommandEntry(
                "candidate",
                lambda: causal_file_commands.causal_candidate,
                "Keep a gene or a capsule that others offer.",
            ),
            CommandEntry(
                "export",
                lambda: causal_file_commands.causal_export,
                "Write memory_graph.jsonl, genes, capsules and the state.",
            ),
            CommandEntry(
                "import",
                lambda: causal_file_commands.causal_import,
                "Read such files.",
            ),
        ),
        _CAUSAL_WORDS,
    )


_RESEARCH_WORDS = """The words of the document mean:

\b
record      a value that is kept under a key
theorem     a named statement; links say which theorems it uses
premise     a theorem that another one uses
insight     something that a session taught, with a domain and a
            confidence
skill       how something is done, with how sessions went that
            used it
"""


def _research() -> CommandGroupEntry:
    return CommandGroupEntry(
        "research",
        "EurekaClaw: records by key, theorems, insights and skills.",
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
                "Delete a record.",
            ),
            CommandEntry(
                "theorem",
                lambda: research_commands.THEOREM,
                "Keep theorems, and which theorems they use.",
            ),
            CommandEntry(
                "insight",
                lambda: research_commands.INSIGHT,
                "Keep insights of sessions, and give them to later ones.",
            ),
            CommandEntry(
                "skill",
                lambda: research_commands.SKILL,
                "Show skills and how well they worked.",
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
                "Read the folders memory/, memories/ and skills/.",
            ),
        ),
        _RESEARCH_WORDS,
    )


_DROPIN_WORDS = """The words of these tools mean:

\b
entity       something with a name and a type
observation  a sentence about an entity
relation     how one entity relates to another
file         a text below /memories; no file of this machine is touched
"""


def _dropin() -> CommandGroupEntry:
    return CommandGroupEntry(
        "dropin",
        "Other products' memory tools: a knowledge graph, and files below /memories.",
        (
            CommandEntry(
                "call",
                lambda: dropin_commands.CALL,
                "Run a command of Anthropic's memory tool.",
            ),
            CommandEntry(
                "graph",
                lambda: dropin_commands.GRAPH,
                "Show the knowledge graph of an agent.",
            ),
        ),
        _DROPIN_WORDS,
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
# The commands of the designs, a group each.
DESIGN_GROUPS = (
    _tiers(),
    _facts(),
    _dreams(),
    _causal(),
    _research(),
    _dropin(),
)
