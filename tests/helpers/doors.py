"""Every door of the package: each way by which a text can come into a home.

A guard that holds at one door and not at its neighbour is no guard. The tests of guards
go through these lists. What the package brings is read from the package itself. So a
new tool, route, method, event or kind of file that stands in no list here makes
`tests/app/test_doors.py` fail. The commands are those of `test_json_fields.CASES`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import transcripts

from theorex_lab import Lab, ObservationEntry
from theorex_lab.designs.dropin.graph import EntityTexts, NewEntity, NewRelation

MethodCall = Callable[[Lab, str], object]
Arguments = dict[str, Any]

# Of each tool of the MCP server, arguments that it takes. {text} stands for any text.
TOOL_ARGUMENTS: dict[str, Arguments] = {
    "status": {},
    "search": {"query": "{text}"},
    "write": {"text": "{text}", "tags": ["{text}"], "session": "{text}"},
    "boot-inject": {"query": "{text}"},
    "promote": {},
}
TOOLS_THAT_STORE = {"write"}
# Likewise of the tools of the reference memory server.
_GRAPH_ENTITY = {"name": "{text}", "entityType": "{text}", "observations": ["{text}"]}
_GRAPH_RELATION = {"from": "{text}", "to": "{text}", "relationType": "{text}"}
REFERENCE_TOOL_ARGUMENTS: dict[str, Arguments] = {
    "create_entities": {"entities": [_GRAPH_ENTITY]},
    "create_relations": {"relations": [_GRAPH_RELATION]},
    "add_observations": {
        "observations": [{"entityName": "{text}", "contents": ["{text}", "use {text}"]}]
    },
    "delete_entities": {"entityNames": ["{text}"]},
    "delete_observations": {
        "deletions": [{"entityName": "{text}", "observations": ["{text}"]}]
    },
    "delete_relations": {"relations": [_GRAPH_RELATION]},
    "read_graph": {},
    "search_nodes": {"query": "{text}"},
    "open_nodes": {"names": ["{text}"]},
}
REFERENCE_TOOLS_THAT_STORE = {"create_entities", "create_relations"}
# What a model may leave out, and a name of what it may ask for.
RESOURCES = (
    "theorex://context/{text}/{text}",
    "theorex://project/{text}/context",
    "theorex://project/{text}/context/{text}/{text}",
)

# Of each route of the REST server, arguments that it takes: in its path, in the query
# of a GET, or in the body of a POST or of a web socket.
ROUTE_ARGUMENTS: dict[str, Arguments] = {
    "GET /briefing": {"query": "{text}"},
    "GET /stats": {},
    "GET /domains": {},
    "GET /isa/version": {},
    "POST /traces": {
        "goal": "{text}",
        "actions": [
            {
                "action_payload": "{text}",
                "reasoning": "{text}",
                "result": "{text}",
            }
        ],
        "tags": ["{text}"],
    },
    "POST /dream/run": {},
    "POST /domains/{domain}/dream": {"domain": "{text}"},
    "GET /query": {"q": "{text}"},
    "POST /route": {"goal": "{text}"},
    "GET /nodes/{node_id}": {"node_id": "{text}"},
    "GET /nodes/{node_id}/children": {"node_id": "{text}"},
    "GET /nodes/{node_id}/traverse": {"node_id": "{text}"},
    "GET /export/training-data": {},
    "WS /ws/dream": {},
    "GET /memory/projects": {},
    "GET /memory/briefing": {"project": "{text}"},
    "GET /memory/search": {"query": "{text}"},
    "GET /memory/changes": {},
    "POST /memory/mark": {"action": "correct", "item": "{item}", "text": "{text}"},
    "POST /memory/events": {"ids": ["{text}"]},
    "POST /memory/reach": {"ids": ["{text}"]},
    "POST /memory/erase": {"ids": ["{text}"]},
    "GET /memory/sessions": {},
    "GET /memory/session": {"session": "{text}"},
    "GET /memory/failures": {},
    "POST /memory/failures/trust": {"item": "{text}"},
    "GET /memory/decay": {},
    "GET /memory/matrix": {},
    "GET /memory/decay/picture": {},
    "GET /memory/matrix/picture": {},
    "POST /memory/open": {"code": "{text}"},
}
ROUTES_THAT_STORE = {"POST /traces", "POST /memory/mark"}


def _item(lab: Lab) -> str:
    """Write a text; return its id."""
    return lab.agent("main").write("The shelf is counted on Monday.").event_id


def _fact(lab: Lab, text: str) -> str:
    """Write a fact of Ann; return its id."""
    return str(lab.facts.write("people/ann", text, source="user").id)


def _domain(lab: Lab) -> str:
    """Add a domain of work where there is none yet; return its name."""
    if "digest" not in {domain.name for domain in lab.facts.list_domains()}:
        lab.facts.add_domain("digest", description="Daily digest")
    return "digest"


def _actions(text: str) -> list[Arguments]:
    return [{"action": text, "reasoning": text, "result": text, "ok": True}]


def _task(lab: Lab) -> str:
    """Send a task and claim it; return its id."""
    lab.tasks.send("main", "sage", "review", {"look": "here"})
    task = lab.tasks.claim("sage", worker="w")
    assert task is not None
    return task.id


def _session_of_dreams(lab: Lab, text: str) -> None:
    with (
        lab.dreams.session(text, tags=[text]) as session,
        session.trace(goal=text) as trace,
    ):
        trace.action(text, text, text)


def _attempt(lab: Lab, text: str) -> str:
    gene = {"id": "retry", "category": "repair", "summary": text}
    return str(lab.causal.record_attempt(["log_error", text], gene).id)


def _handoff(lab: Lab, text: str) -> object:
    rows = json.dumps([{"entity": "people/ann", "fact": text}])
    return lab.facts.take_handoff(
        f"=== HB-EXTRACT HANDOFF ===\nStatus: ok\nFacts: {rows}\n=== END ===\n"
    )


def _observed(lab: Lab, text: str) -> object:
    """Add an observation to an entity of the graph."""
    lab.design("dropin").create_entities([NewEntity("till", "program")])
    return lab.design("dropin").add_observations([EntityTexts("till", [text])])


def _memory_file(lab: Lab, text: str) -> None:
    """Write a file by each command that takes a text, under a name that holds it."""
    tool = lab.design("dropin").memory_tool()
    path = f"/memories/{text}.md"
    tool.create(path, text)
    tool.insert(path, 0, f"first: {text}\n")
    tool.str_replace(path, "first: ", f"then: {text} ")
    tool.rename(path, f"/memories/old/{text}.md")


def _outcome(lab: Lab, text: str = "it broke") -> str:
    outcome = lab.outcomes.record("main", "deploy the site", text, success=False)
    return outcome.outcome_id


def _capsule(text: str) -> Arguments:
    return {
        "type": "Capsule",
        "id": "capsule_a",
        "trigger": ["log_error", text],
        "summary": text,
        "gene": "retry",
    }


def _run_of_a_tool(text: str) -> Arguments:
    return {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "tool_name": "Bash",
        "tool_input": {"command": text},
        "tool_response": {"stdout": text},
    }


# Of each object of the Python interface, the methods that take a text and keep it.
STORING_METHODS: dict[str, MethodCall] = {
    "Agent.write": lambda lab, text: lab.agent("main").write(
        text, tags=["till"], session="s"
    ),
    "Lab.write_all": lambda lab, text: lab.write_all([ObservationEntry(text, "main")]),
    "Lab.correct": lambda lab, text: lab.correct(_item(lab), text),
    "Lab.take_event": lambda lab, text: lab.take_event(
        {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": text}
    ),
    "Lab.take_prompt": lambda lab, text: lab.take_prompt(text, session="s"),
    "FactsMemory.write": _fact,
    "FactsMemory.observe": lambda lab, text: lab.facts.observe(text),
    "FactsMemory.add_line": lambda lab, text: lab.facts.add_line("MEMORY", text),
    "FactsMemory.add_domain": lambda lab, text: lab.facts.add_domain(
        "letters", description=text
    ),
    "FactsMemory.write_domain": lambda lab, text: lab.facts.write_domain(
        _domain(lab), "status", text
    ),
    "FactsMemory.propose": lambda lab, text: lab.facts.propose(_domain(lab), text),
    "FactsMemory.note_tension": lambda lab, text: lab.facts.note_tension(
        _fact(lab, "Lives in York"), _fact(lab, "Owns the shop"), text
    ),
    "FactsMemory.supersede": lambda lab, text: lab.facts.supersede(
        _fact(lab, "Sings in the choir"), why=text
    ),
    "Dreams.capture": lambda lab, text: lab.dreams.capture(text, _actions(text)),
    "Dreams.session": _session_of_dreams,
    "Causal.record_signal_snapshot": lambda lab, text: (
        lab.causal.record_signal_snapshot(["log_error", text])
    ),
    "Causal.record_hypothesis": lambda lab, text: lab.causal.record_hypothesis(
        ["log_error", text], {"id": "retry", "category": "repair", "summary": text}
    ),
    "Causal.record_attempt": _attempt,
    "Causal.close": lambda lab, text: lab.causal.close(
        _attempt(lab, "a plain text"), "success", note=text
    ),
    "Causal.record_gene": lambda lab, text: lab.causal.record_gene(
        {"id": "gene_a", "category": "repair", "summary": text}
    ),
    "Causal.record_capsule": lambda lab, text: lab.causal.record_capsule(
        _capsule(text)
    ),
    "Causal.record_external_candidate": lambda lab, text: (
        lab.causal.record_external_candidate(_capsule(text))
    ),
    "Causal.set_personality": lambda lab, text: lab.causal.set_personality(
        {"rigor": 0.8}, text
    ),
    "MemoryManager.add_insight": lambda lab, text: lab.research.add_insight(
        "pitfalls", "Union bound", text
    ),
    "MemoryManager.add_theorem": lambda lab, text: lab.research.add_theorem(
        "plus", text
    ),
    "MemoryManager.log_event": lambda lab, text: lab.research.log_event(
        "planner", text, {"note": text}
    ),
    "MemoryManager.record_skill": lambda lab, text: lab.research.record_skill(
        "counting", text, text
    ),
    "MemoryManager.remember": lambda lab, text: lab.research.remember(
        "bound", {"value": text, text: 1}, [text]
    ),
    "MemoryManager.begin_session": lambda lab, text: lab.research.begin_session(
        "s", text
    ),
    "MemoryManager.import_theorems": lambda lab, text: lab.research.import_theorems(
        [("plus", text, [text])], []
    ),
    "DropIn.create_entities": lambda lab, text: lab.design("dropin").create_entities(
        [NewEntity(text, text, [text])]
    ),
    "DropIn.create_relations": lambda lab, text: lab.design("dropin").create_relations(
        [NewRelation(text, text, text)]
    ),
    "DropIn.add_observations": _observed,
    "DropIn.memory_tool": _memory_file,
    "TaskBoard.send": lambda lab, text: lab.tasks.send(
        "main", "sage", "review", {"look": text}
    ),
    "TaskBoard.complete": lambda lab, text: lab.tasks.complete(
        _task(lab), {"done": text}, worker="w"
    ),
    "TaskBoard.fail": lambda lab, text: lab.tasks.fail(_task(lab), text, worker="w"),
    "OutcomeLog.record": lambda lab, text: lab.outcomes.record(
        "main", text, text, success=False, tags=["code"]
    ),
    "OutcomeLog.correct": lambda lab, text: lab.outcomes.correct(
        _outcome(lab), success=True, reason=text
    ),
}
# The others: they keep nothing of what they are called with, or the texts of a file,
# for which there is a list below, or they are one of the above by another name.
OTHER_METHODS = {
    "Lab": """
        agent agents archive as_read_by backup bad_events briefing close design dismiss
        end_session erase export_events export_files import_files
        import_transcripts
        in_project ingest maintain matrix merge_projects pin projects pull_views
        push_views replay
        review_failures reviewer route save_briefing search spool_status
        start_session status sync temporary trace trace_stats trust verify
    """,
    "Agent": """
        dispatch search
    """,
    "Sessions": """
        append digest files keep_digest rules
    """,
    "FactsMemory": """
        access add_channel alerts append archive beat chain contradict dedup
        domain duplicate_of extract handoff_template import_domains init_folder
        judge_proposal lines list list_domains migrate_folder notes pause_domain
        read_handoff render render_domains review run_phase scan_domains show
        signal summary take_handoff tier undo_supersede validate
        waiting_captures weekly_page
    """,
    "Dreams": """
        adapter append begin_traversal domains dream edges export_sqlite
        import_sqlite next_step query register_domain_adapter register_migration
        run_program stats strategies strategy traced training_data trajectories
        trajectory undo_merge
    """,
    "Causal": """
        adapt_personality append build_mutation capsules compute_signal_key
        distill export_graph external_candidates fill genes get_advice
        import_graph mark_genes narrative narrative_summary
        normalize_error_signature open_attempts personality
        record_outcome_from_state select_capsule select_gene stable_hash
        task_match
    """,
    "MemoryManager": """
        all_records append closure cycles delete domain_of find_related_theorems
        insights link_theorems load_for_injection post_run premises recall
        recall_by_tag recent_events record_of search_events search_keys skills
        skills_for_injection theorem to_networkx update_stats
    """,
    "DropIn": """
        append delete_entities delete_observations delete_relations open_nodes
        read_graph search_nodes
    """,
    "Theorex": """
        append axon boot_aware check_context check_turns drift flash_context
        flash_inject flush graduate observation_types promote prune query_shared
        refine scan sessions trust
    """,
    "Dispatcher": """
        checked_task close close_lost dispatch
    """,
    "TaskBoard": """
        claim task tasks
    """,
    "OutcomeLog": """
        get outcomes pending queue record_of_trace
    """,
}

# Of each event of a hook, what comes in beside the name of the session.
HOOK_EVENTS: dict[str, Arguments] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "{text}"},
    "PostToolUse": {
        "tool_name": "Edit",
        "tool_input": {"file_path": "/srv/shop/{text}.py", "new_string": "{text}"},
        "tool_response": {"stdout": "{text}"},
    },
    "PostToolUseFailure": {
        "tool_name": "Bash",
        "tool_input": {"command": "{text}", "description": "{text}"},
        "error": "{text}",
    },
    "Stop": {"last_assistant_message": "{text}"},
    "SubagentStop": {"last_assistant_message": "{text}", "agent_type": "{text}"},
    "PreCompact": {"trigger": "manual", "custom_instructions": "{text}"},
    "SessionEnd": {"reason": "{text}"},
}

# Of each ending of a document, a source file or a picture, one that can be read. Its
# name holds the text of a name, and {text} stands for any text.
_MODULE = {
    "python": 'def total():\n    """{text}"""\n    return 1\n',
    "javascript": "// {text}\nfunction total() {{ return 1; }}\n",
    "typescript": "// {text}\nfunction total(): number {{ return 1; }}\n",
    "go": "package till\n\n// Total adds up. {text}\nfunc Total() int {{ return 1 }}\n",
    "rust": "/// {text}\nfn total() -> i32 {{ 1 }}\n",
}
_MARKUP = {
    "html": "<html><body><h1>Till</h1><p>{text}</p></body></html>",
    "markdown": "# Till\n\n{text}\n",
    "plain": "Till\n\n{text}\n",
    "restructured": "Till\n====\n\n{text}\n",
}
DOCUMENTS = {
    ".adoc": "= Till\n\n{text}\n",
    ".asciidoc": "= Till\n\n{text}\n",
    ".htm": _MARKUP["html"],
    ".html": _MARKUP["html"],
    ".markdown": _MARKUP["markdown"],
    ".md": _MARKUP["markdown"],
    ".mdown": _MARKUP["markdown"],
    ".mdx": _MARKUP["markdown"],
    ".mkd": _MARKUP["markdown"],
    ".org": "* Till\n\n{text}\n",
    ".rest": _MARKUP["restructured"],
    ".rst": _MARKUP["restructured"],
    ".text": _MARKUP["plain"],
    ".txt": _MARKUP["plain"],
    ".xhtml": _MARKUP["html"],
}
SOURCES = {
    ".cjs": _MODULE["javascript"],
    ".cts": _MODULE["typescript"],
    ".go": _MODULE["go"],
    ".js": _MODULE["javascript"],
    ".jsx": _MODULE["javascript"],
    ".mjs": _MODULE["javascript"],
    ".mts": _MODULE["typescript"],
    ".py": _MODULE["python"],
    ".pyi": _MODULE["python"],
    ".rs": _MODULE["rust"],
    ".ts": _MODULE["typescript"],
    ".tsx": _MODULE["typescript"],
}


def notebook(text: str) -> str:
    """Return a notebook with the text in a cell of each kind."""
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": f"# Till\n\n{text}"},
        {
            "cell_type": "code",
            "metadata": {},
            "source": f"# {text}",
            "outputs": [],
            "execution_count": None,
        },
        {"cell_type": "raw", "metadata": {}, "source": text},
    ]
    content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(content)


def specstory(text: str) -> str:
    """Return a session in SpecStory's Markdown."""
    return (
        "<!-- Generated by SpecStory -->\n\n"
        f"# 2026-03-01 09:00Z\n\n_**User**_\n\n{text}\n\n---\n\n"
        f"_**Assistant**_\n\n{text}\n\n---\n\n"
    )


def claude_session(text: str) -> str:
    """Return a session of Claude Code: a prompt, a call and its answer, a last word."""
    prompt = transcripts.claude("user", 1, text)
    edit = {"file_path": f"{transcripts.CWD}/{text}.py", "new_string": text}
    called = transcripts.claude(
        "assistant", 2, transcripts.call("c1", "Edit", edit), stop="tool_use"
    )
    answered = transcripts.claude("user", 3, transcripts.answer("c1", text))
    last = [{"type": "text", "text": text}]
    ended = transcripts.claude("assistant", 4, last, stop="end_turn")
    return transcripts.lines([prompt, called, answered, ended])


def codex_session(text: str) -> str:
    """Return a session of Codex, as `claude_session`."""
    arguments = json.dumps({"command": ["bash", "-lc", text]})
    called = {
        "type": "function_call",
        "name": "shell",
        "call_id": "c1",
        "arguments": arguments,
    }
    rows = [
        transcripts.CODEX[0],
        transcripts.codex("response_item", 3, transcripts.said("user", text)),
        transcripts.codex("response_item", 4, called),
        transcripts.codex(
            "response_item",
            5,
            {"type": "function_call_output", "call_id": "c1", "output": text},
        ),
        transcripts.codex("response_item", 6, transcripts.said("assistant", text)),
        transcripts.codex(
            "event_msg", 7, {"type": "task_complete", "last_agent_message": text}
        ),
    ]
    return transcripts.lines(rows)


def hook_lines(text: str) -> str:
    """Return a session in the form that a hook gets."""
    rows = [
        {
            **json.loads(json.dumps(fields).replace("{text}", _escaped(text))),
            "hook_event_name": name,
            "session_id": "s",
            "cwd": transcripts.CWD,
            "at": transcripts.at(number),
        }
        for number, (name, fields) in enumerate(HOOK_EVENTS.items())
    ]
    return transcripts.lines(rows)


# Of each form of a recorded session, the ending of its file and what makes it.
SESSIONS: dict[str, tuple[str, Callable[[str], str]]] = {
    "Claude": (".jsonl", claude_session),
    "Codex": (".jsonl", codex_session),
    "Hooks": (".jsonl", hook_lines),
    "SpecStory": (".md", specstory),
}


def _escaped(text: str) -> str:
    """Return a text as it stands within a JSON string."""
    return json.dumps(text)[1:-1]


def filled(arguments: Any, text: str) -> Any:
    """Return a JSON value in which the text stands wherever {text} stood."""
    return json.loads(json.dumps(arguments).replace("{text}", _escaped(text)))
