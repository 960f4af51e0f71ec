"""What programs ask of dreams over HTTP, from a captured trace to a step that is
followed; the bodies are the document's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from faults import opened
from test_mcp import PLAIN
from test_rest import RIGHT, running, spoken

from theorex_lab import Lab
from theorex_lab.evolution.lease import Lease

STEPS = ["build(target='site')", "upload(to='web')"]
GOALS = [
    "deploy the site to the web server",
    "deploy the site to the web server again",
    "rotate the database password",
]
COUNTS = {"journal_id", "traces_processed", "nodes_created", "nodes_merged"}


@pytest.fixture
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with opened(tmp_path_factory.mktemp("rest") / "home") as lab:
        yield lab


@pytest.fixture
def client(lab: Lab) -> Iterator[httpx.Client]:
    with (
        running(lab) as url,
        httpx.Client(base_url=url, headers=RIGHT, timeout=60, verify=PLAIN) as client,
    ):
        yield client


def send(
    client: httpx.Client, goal: str, outcome: str = "success", domain: str = "default"
) -> str:
    actions = [
        {"reasoning": f"to {goal}", "action_payload": step, "result": "ok", "ok": True}
        for step in STEPS
    ]
    body = {
        "goal": goal,
        "outcome": outcome,
        "confidence": 0.9,
        "source": "agent",
        "actions": actions,
        "domain": domain,
    }
    return str(client.post("/traces", json=body).raise_for_status().json()["trace_id"])


def test_from_a_trace_to_a_step(client: httpx.Client) -> None:
    for goal in GOALS:
        send(client, goal)
    done = client.post("/dream/run").json()
    assert done.keys() >= COUNTS | {
        "edges_created",
        "constraints_extracted",
        "phase_log",
    }
    assert done["traces_processed"] == 3
    found = client.get("/query", params={"q": GOALS[0]}).json()
    assert found["path"] == "memory_traversal"
    entry = found["entry_point"]
    assert entry.keys() == {
        "node_id",
        "goal",
        "summary",
        "similarity_score",
        "composite_score",
    }
    routed = client.post("/route", json={"query": GOALS[0], "top_k": 3}).json()
    assert routed["entry_point"] == {
        name: entry[name] for name in ("node_id", "goal", "summary")
    }
    assert (
        client.get("/query", params={"q": "bake sourdough bread"}).json()["path"]
        == "zero_shot"
    )
    place = f"/nodes/{entry['node_id']}"
    parent, steps, edges = (
        client.get(f"{place}{more}").json() for more in ("", "/children", "/traverse")
    )
    assert (parent["type"], parent["success_rate"], parent["child_count"]) == (
        "parent",
        1.0,
        len(steps),
    )
    assert [step["action"] for step in steps] == STEPS
    assert (
        client.get(f"/nodes/{steps[1]['node_id']}").json().items()
        >= {
            "type": "child",
            "parent_node_id": parent["node_id"],
            "step_index": 1,
        }.items()
    )
    assert {edge["source"] for edge in edges["edges_in"]} >= {
        step["node_id"] for step in steps
    }
    following = client.get(f"/nodes/{steps[0]['node_id']}/traverse").json()["edges_out"]
    assert (steps[1]["node_id"], "next_step") in {
        (edge["target"], edge["type"]) for edge in following
    }
    assert client.get(f"{place}.99").status_code == 404
    assert client.get("/nodes/st-none/children").json() == []


def test_a_domain_is_dreamt_by_itself(client: httpx.Client) -> None:
    send(client, GOALS[0])
    send(client, GOALS[2], domain="web")
    told = client.post("/domains/web/dream").json()
    assert (told["domain"], told["traces_processed"]) == ("web", 1)
    assert client.get("/domains").json() == {"domains": ["default", "web"]}
    assert (
        client.get("/query", params={"q": GOALS[0], "domain": "web"}).json()["path"]
        == "zero_shot"
    )


def test_two_dreams_at_once_are_refused(lab: Lab, client: httpx.Client) -> None:
    send(client, GOALS[0])
    lease = Lease(lab.home, "nightly")
    assert lease.take()
    answer = client.post("/dream/run", json={})
    assert (answer.status_code, "maintenance" in answer.json()["detail"]) == (409, True)
    with spoken(str(client.base_url).rstrip("/"), "/ws/dream") as talk:
        talk.send("{}")
        (told,) = [json.loads(message) for message in talk]
    assert (told["event"], told["status"]) == ("error", 409)
    lease.release()
    assert client.post("/dream/run", json={}).json()["traces_processed"] == 1


def test_a_web_socket_tells_of_each_phase_and_trace(client: httpx.Client) -> None:
    ids = {send(client, goal) for goal in GOALS}
    with spoken(str(client.base_url).rstrip("/"), "/ws/dream") as talk:
        talk.send(json.dumps({"domain": "default"}))
        told = [json.loads(message) for message in talk]
    assert [told[0]["event"], told[-1]["event"]] == ["started", "completed"]
    assert {event["trajectory"] for event in told if event["event"] == "trace"} == ids
    assert len({event["phase"] for event in told if event["event"] == "phase"}) >= 3
    assert told[-1].keys() >= COUNTS


def test_unknown_nodes_are_not_found(client: httpx.Client) -> None:
    for path in ("", "/traverse"):
        answer = client.get(f"/nodes/st-none{path}")
        assert answer.status_code == 404
        assert "st-none" in answer.json()["detail"]
    send(client, GOALS[0])
    client.post("/dream/run", json={})
    found = client.get("/query", params={"q": GOALS[0]}).json()["entry_point"]
    answer = client.get(f"/nodes/{found['node_id']}.99/traverse")
    assert answer.status_code == 404


def test_training_data_is_lines_of_the_agents_own(
    lab: Lab, client: httpx.Client
) -> None:
    send(client, GOALS[0])
    send(client, GOALS[1], outcome="failure")
    secret = [{"reasoning": "sage knows", "action": "open()"}]
    lab.dreams.capture("a secret of sage", secret, agent="sage")
    chosen = {"outcome": "success", "source": "agent", "min_actions": "2"}
    answer = client.get("/export/training-data", params=chosen)
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    roles = [[part["role"] for part in line["messages"]] for line in lines]
    assert roles == [["system", "user", "assistant"]] * 2
    assert [line["messages"][2]["content"] for line in lines] == STEPS
    everything = client.get("/export/training-data", params={"format": "messages"}).text
    assert everything.count('"messages"') == 4
    assert "sage knows" not in everything
    assert client.get("/export/training-data?outcome=won").status_code == 422


def test_versions_of_the_instruction_set(client: httpx.Client) -> None:
    versions = client.get("/isa/version").json()
    assert versions == {"current": "1.0", "supported": ["1.0"]}
    assert client.get("/stats").json()["isa_version"] == "1.0"
    body = {"goal": "mend it", "actions": [], "isa_version": "1.0"}
    assert client.post("/traces", json=body).status_code == 200
    refused = client.post("/traces", json={**body, "isa_version": "7.0"})
    assert (refused.status_code, "latest, 1.0" in refused.text) == (422, True)
