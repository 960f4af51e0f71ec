"""What an agent's token opens: the agent's own memory and what was shared, no more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW
from starlette.testclient import TestClient

from theorex_lab import FixedClock, HashedNgramEmbedder, Lab
from theorex_lab.app.server.mcp import build_server
from theorex_lab.app.server.memory_page.projects import PAGE_ROUTES
from theorex_lab.app.server.rest import RestServer
from theorex_lab.designs.dreams import Ended
from theorex_lab.store.lifecycle import SessionHome, take_event

HOUR = 3_600_000_000
TOKEN = "a-token-for-tests-of-43-characters-in-length"
# Words of what alice wrote, did and was asked; they stand nowhere else.
PRIVATE = ["zanzibar", "quixotry", "jabberwocky", "mulligatawny", "palimpsest"]
OWN = "sarsaparilla"
SHARED = "harbour lantern"
QUESTION = "Why does the receipt printer of the till stop after the second page?"


SAID = (
    (
        "Move the {0} receipt printer into {0}.go",
        "Moved the receipt printer into `{0}.go`, all tests pass.",
        "The {0} printer stops after one page where its paper sensor in `sensor.go` is"
        " dirty.",
    ),
    (
        "Add a second {0} till to the shop in shop.go",
        "Added the second till: `shop.go` now opens tills by their number.",
        "The receipt of the second {0} till is printed on page two of the ledger.",
    ),
    (
        "Paint the {0} door of the shop green in door.go",
        "Painted the door: `door.go` has the colour of the awning now.",
        "The {0} awning is blue in winter, since the shop is closed on Sundays.",
    ),
)


def record(home: Path, folder: Path, agent: str, word: str) -> None:
    """Record the sessions of an agent, an hour apart, as hooks do."""
    for number, (asked, *answers) in enumerate(SAID):
        recorded = SessionHome(str(home), clock=FixedClock(NOW - (10 - number) * HOUR))
        place = {"session_id": f"{agent}-{number}", "cwd": str(folder)}
        events: list[dict[str, Any]] = [
            {"hook_event_name": "UserPromptSubmit", "prompt": asked.format(word)},
            {
                "hook_event_name": "PostToolUse",
                "tool_name": "Bash",
                "tool_input": {"command": f"go test ./{word}"},
                "tool_response": {"stdout": "ok", "exit_code": 0},
            },
        ]
        for answer in answers:
            text = answer.format(word)
            events.append({"hook_event_name": "Stop", "last_assistant_message": text})
        for event in events:
            take_event(recorded, {**place, **event}, agent=agent)
        recorded.close()


def trace(lab: Lab, agent: str, goal: str) -> None:
    """Capture a trajectory of an agent."""
    actions = [
        {"reasoning": f"{goal}, step {number}", "action": "turn the key", "ok": True}
        for number in range(3)
    ]
    lab.dreams.capture(goal, actions, outcome=Ended.SUCCESS, agent=agent)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A home where alice and bob wrote notes, had sessions, and did things."""
    folder = tmp_path_factory.mktemp("agents")
    (folder / "shop").mkdir()
    home = folder / "home"
    record(home, folder / "shop", "alice", "jabberwocky")
    record(home, folder / "shop", "bob", OWN)
    with Lab(home, clock=FixedClock(NOW), embedder=HashedNgramEmbedder()) as memory:
        alice = memory.agent("alice")
        alice.write(
            "The zanzibar till always rounds half up, so quixotry is never sold",
            observation_type="decision",
            tags=["mulligatawny"],
        )
        for number in range(6):
            alice.write(f"The {SHARED.title()} of zanzibar is lit, says note {number}")
        memory.agent("bob").write(
            f"The {OWN} till always rounds half down", observation_type="decision"
        )
        trace(memory, "alice", "Open the palimpsest till of the large harbour")
        trace(memory, "bob", f"Open the {OWN} till of the small mill")
        memory.dreams.dream()
        yield memory


# A call of every tool, and a reading of every resource; a new one must join them.
TOOLS: dict[str, list[dict[str, Any]]] = {
    "status": [{}],
    "search": [
        {"query": QUESTION, "limit": 100},
        {"query": QUESTION, "limit": 100, "cold": True},
        {"query": "zanzibar harbour lantern", "kinds": ["concept"]},
        {"query": "palimpsest", "kinds": ["strategy"]},
    ],
    "write": [{"text": "The mill is small", "type": "change"}],
    "boot-inject": [{}, {"query": QUESTION}],
    "promote": [{}],
}
RESOURCES = {
    "theorex://context": ["theorex://context"],
    "theorex://context/{agent}/{model}": [
        "theorex://context/-/claude-sonnet",
        "theorex://context/bob/claude-sonnet",
    ],
    "theorex://project/{project}/context": ["theorex://project/PROJECT/context"],
    "theorex://project/{project}/context/{agent}/{model}": [
        "theorex://project/PROJECT/context/-/claude-sonnet"
    ],
}
STEP = {"reasoning": "It is closed", "action_payload": "turn the key"}
Asked = tuple[dict[str, Any], dict[str, Any]]  # what stands in the query, and the body
ROUTES: dict[str, list[Asked]] = {
    "GET /briefing": [({}, {}), ({"query": QUESTION}, {})],
    "GET /stats": [({}, {})],
    "GET /domains": [({}, {})],
    "GET /isa/version": [({}, {})],
    "POST /traces": [({}, {"goal": "Close the till", "actions": [STEP]})],
    "POST /dream/run": [({}, {})],
    "POST /domains/{domain}/dream": [({}, {})],
    "GET /query": [({"q": "Open the palimpsest till of the large harbour"}, {})],
    "POST /route": [({}, {"query": "Open the palimpsest till of the large harbour"})],
    "GET /nodes/{node_id}": [({}, {})],
    "GET /nodes/{node_id}/children": [({}, {})],
    "GET /nodes/{node_id}/traverse": [({}, {})],
    "GET /export/training-data": [({}, {})],
    "WS /ws/dream": [],  # its answer is that of /dream/run
}
# What no agent's token opens, and what is the same for all.
OTHERS = {
    *(f"{route.method} {route.path}" for route in PAGE_ROUTES),
    "POST /memory/open",
}


def private_words(text: str) -> list[str]:
    return [word for word in PRIVATE if word in text.lower()]


def project_of(lab: Lab) -> str:
    (row,) = lab.projects()
    return str(row["project"])


def test_every_tool_and_resource_is_in_the_table(lab: Lab) -> None:
    server = build_server(lab, agent="bob")
    tools = {tool.name for tool in asyncio.run(server.list_tools())}
    uris = {str(each.uri) for each in asyncio.run(server.list_resources())}
    templates = asyncio.run(server.list_resource_templates())
    uris |= {each.uri_template for each in templates}
    assert (tools, uris) == (set(TOOLS), set(RESOURCES))


def test_every_route_is_in_the_table(lab: Lab) -> None:
    document = TestClient(RestServer(lab, TOKEN), base_url="http://127.0.0.1").get(
        "/openapi.json"
    )
    routes = {f"WS {path}" for path in document.json()["x-websockets"]}
    for path, methods in document.json()["paths"].items():
        routes |= {f"{method.upper()} {path}" for method in methods}
    fixed = {route for route in routes if route in ("GET /health", "GET /openapi.json")}
    assert routes - OTHERS - fixed == set(ROUTES)


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("name", TOOLS)
def test_no_tool_tells_an_agent_of_anothers_own(
    lab: Lab, name: str, project: bool
) -> None:
    server = build_server(lab, agent="bob")
    takes_project = name != "promote"
    for arguments in TOOLS[name]:
        more = {"project": project_of(lab)} if project and takes_project else {}
        result = asyncio.run(server.call_tool(name, {**arguments, **more}))
        text = json.dumps(result.structured_content)
        assert private_words(text) == private_words(json.dumps(arguments)) or (
            private_words(text) == []
        )


@pytest.mark.parametrize("name", RESOURCES)
def test_no_resource_tells_an_agent_of_anothers_own(lab: Lab, name: str) -> None:
    server = build_server(lab, agent="bob")
    for uri in RESOURCES[name]:
        address = uri.replace("PROJECT", project_of(lab))
        contents = asyncio.run(server.read_resource(address))
        text = " ".join(str(each.content) for each in contents)
        assert private_words(text) == []


@pytest.mark.parametrize("name", [name for name in ROUTES if not name.startswith("WS")])
def test_no_route_tells_an_agent_of_anothers_own(lab: Lab, name: str) -> None:
    method, path = name.split()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    server = RestServer(lab, TOKEN, agent="bob", rate=1e6)
    client = TestClient(server, base_url="http://127.0.0.1")
    nodes = [each.id for each in lab.dreams.strategies()]
    assert nodes
    for query, body in ROUTES[name]:
        for node in nodes if "{node_id}" in path else [""]:
            answer = client.request(
                method,
                path.replace("{node_id}", node).replace("{domain}", "general"),
                params=query,
                json=body if method == "POST" else None,
                headers=headers,
            )
            assert answer.status_code in (200, 404, 422), answer.text
            assert private_words(answer.text) == []


def test_the_own_memory_is_there(lab: Lab) -> None:
    server = build_server(lab, agent="bob")
    found = asyncio.run(server.call_tool("search", {"query": QUESTION}))
    assert OWN in json.dumps(found.structured_content)
    briefing = asyncio.run(server.call_tool("boot-inject", {}))
    assert OWN in json.dumps(briefing.structured_content)


def test_a_prompt_brings_the_own_sessions_alone(lab: Lab) -> None:
    for agent, word in (("alice", "jabberwocky"), ("bob", OWN)):
        read = lab.in_project(project_of(lab)).as_read_by(agent)
        text = read.briefing(QUESTION, tokens=200).text
        assert word in text
        assert ({"jabberwocky", OWN} - {word}).pop() not in text


def test_what_was_published_is_there(lab: Lab) -> None:
    assert lab.theorex.promote(agent="alice").concepts
    server = build_server(lab, agent="bob")
    query = {"query": SHARED, "kinds": ["concept"]}
    found = asyncio.run(server.call_tool("search", query))
    hits = found.structured_content["hits"]
    assert SHARED in [hit["text"] for hit in hits]
    assert private_words(json.dumps(hits)) == []


def test_the_file_of_the_owner_holds_what_all_agents_know(lab: Lab) -> None:
    server = build_server(lab, agent="bob")
    asyncio.run(server.call_tool("boot-inject", {}))
    assert "zanzibar" in lab.context_file.read_text(encoding="utf-8").lower()


def test_a_home_of_one_agent_is_read_as_it_is(tmp_path: Path) -> None:
    with Lab(tmp_path / "home", embedder=HashedNgramEmbedder()) as lab:
        lab.agent("bob").write("The mill is small", observation_type="decision")
        assert lab.as_read_by("bob") is lab
        alices = lab.as_read_by("alice")
        assert alices is not lab
        assert list(alices.journal.tail(0)) == []
        alices.agent("alice").write("The mill is tall", observation_type="decision")
        assert [event.agent for event in lab.journal.tail(0)] == ["bob", "alice"]
        assert [event.agent for event in alices.journal.tail(0)] == ["alice"]
        assert alices.journal.read(seqs=[1]) == []
