"""What the page of one's memory asks over HTTP: who may, what comes, what is refused,
and that each write is one that the commands could have made.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import observation
from faults import opened
from page_memory import (
    BANK,
    BANK_RULE,
    DECISION,
    OWNER,
    PAGE_TOKEN,
    RULE,
    SHOP,
    fail,
    remember,
    said,
)
from test_mcp import PLAIN, TOKEN
from test_rest import RIGHT, running

from theorex_lab import Lab
from theorex_lab.app.server.memory_page.keys import PageKeys
from theorex_lab.app.server.memory_page.projects import PAGE_ROUTES
from theorex_lab.app.server.page_files import PAGE_FILES

PATHS = sorted((route.method, route.path) for route in PAGE_ROUTES)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened(tmp_path / "home") as lab:
        remember(lab)
        yield lab


@pytest.fixture
def client(lab: Lab) -> Iterator[httpx.Client]:
    with asking(lab) as client:
        yield client


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab that no test writes to."""
    with opened(tmp_path_factory.mktemp("calm") / "home") as lab:
        remember(lab)
        yield lab


@pytest.fixture(scope="module")
def reader(calm: Lab) -> Iterator[httpx.Client]:
    with asking(calm) as client:
        yield client


class asking:  # noqa: N801 - it stands where a function would
    """A client of a server of a lab, with the owner's token."""

    def __init__(self, lab: Lab, keys: PageKeys | None = None) -> None:
        self._server = running(lab, keys=keys or PageKeys(PAGE_TOKEN))

    def __enter__(self) -> httpx.Client:
        url = self._server.__enter__()
        self._client = httpx.Client(
            base_url=url, headers=OWNER, timeout=60, verify=PLAIN
        )
        return self._client

    def __exit__(self, *error: Any) -> None:
        self._client.close()
        self._server.__exit__(*error)


def got(client: httpx.Client, path: str, **parameters: Any) -> Any:
    answer = client.get(f"/memory/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def sent(client: httpx.Client, path: str, **body: Any) -> Any:
    answer = client.post(f"/memory/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def line_of(client: httpx.Client, text: str, **parameters: Any) -> Any:
    """The line of the briefing that begins so; None without one."""
    for line in got(client, "briefing", **parameters)["lines"]:
        if line["text"].startswith(text.rstrip(".")):
            return line
    return None


# Who may


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_no_part_of_the_page_is_open_to_another_than_its_owner(
    reader: httpx.Client, method: str, path: str
) -> None:
    for header in ("", f"Bearer {TOKEN}", "Bearer guessed", f"Basic {PAGE_TOKEN}"):
        headers = {"Authorization": header}
        answer = reader.request(method, path, headers=headers, json={})
        assert answer.status_code == 401
        assert "page-token" in answer.json()["detail"]


def test_the_token_of_the_owner_opens_no_memory_of_an_agent(
    reader: httpx.Client,
) -> None:
    assert reader.get("/stats").status_code == 401
    assert reader.get("/stats", headers=RIGHT).status_code == 200


def test_a_link_opens_the_page_once(lab: Lab) -> None:
    keys = PageKeys(PAGE_TOKEN)
    earlier = keys.new_code()
    code = keys.new_code()
    with asking(lab, keys) as client:
        for wrong in (earlier, "guessed", "ü"):
            answer = client.post(
                "/memory/open", json={"code": wrong}, headers={"Authorization": ""}
            )
            assert answer.status_code == 401
        answer = client.post(
            "/memory/open", json={"code": code}, headers={"Authorization": ""}
        )
        key = answer.json()["key"]
        by_key = {"Authorization": f"Bearer {key}"}
        assert client.get("/memory/projects", headers=by_key).status_code == 200
        assert client.post("/memory/open", json={"code": code}).status_code == 401
    with asking(lab) as another:
        assert another.get("/memory/projects", headers=by_key).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Host": "evil.example"}, 421), ({"Origin": "https://evil.example"}, 403)],
)
def test_another_site_reaches_neither_the_page_nor_what_it_asks(
    reader: httpx.Client, headers: dict[str, str], status: int
) -> None:
    for path in ("/", "/memory/projects"):
        assert reader.get(path, headers=headers).status_code == status


@pytest.mark.parametrize("path", sorted(PAGE_FILES))
def test_the_files_of_the_page_hold_nothing_and_load_nothing_foreign(
    reader: httpx.Client, path: str
) -> None:
    answer = reader.get(path, headers={"Authorization": ""})
    assert answer.status_code == 200
    policy = answer.headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    for rule in ("default-src 'none'", "frame-ancestors 'none'", "script-src 'self'"):
        assert rule in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "://" not in answer.text.replace("http://127.0.0.1", "")
    for forbidden in ("innerHTML", "insertAdjacentHTML", "document.write", "style="):
        assert forbidden not in answer.text


# What comes


def test_the_briefing_is_the_agents_and_a_look_is_not_noted_as_given(
    calm: Lab, reader: httpx.Client
) -> None:
    before = calm.journal.last_seq()
    answer = got(reader, "briefing", project="shop")
    expected = calm.in_project(SHOP).briefing(tokens=calm.settings.context_tokens)
    assert answer["text"] == expected.text
    assert [line["id"] for line in answer["lines"]] == list(expected.items)
    assert all(line["why"] and line["events"] for line in answer["lines"])
    assert calm.journal.last_seq() == before
    prompt = got(reader, "briefing", project=SHOP, query="fix the till")
    assert prompt["text"] == calm.in_project(SHOP).briefing("fix the till").text


def test_a_search_comes_page_by_page(reader: httpx.Client) -> None:
    everything = got(reader, "search", query="always", limit=50)
    first = got(reader, "search", query="always", limit=1)
    second = got(reader, "search", query="always", limit=1, offset=1)
    ids = [hit["id"] for hit in everything["hits"]]
    assert [first["hits"][0]["id"], second["hits"][0]["id"]] == ids[:2]
    assert (first["more"], everything["more"]) == (True, False)
    assert all(hit["events"] for hit in everything["hits"])
    assert got(reader, "search", query="always", offset=150)["hits"] == []


def test_the_events_of_a_line_come_with_the_newest_first(reader: httpx.Client) -> None:
    line = line_of(reader, RULE, project=SHOP)
    answer = sent(reader, "events", ids=[*line["events"], "gone"], project=SHOP)
    texts = [event["text"] for event in answer["events"]]
    assert RULE in texts
    times = [event["timestamp"] for event in answer["events"]]
    assert times == sorted(times, reverse=True)
    assert (answer["total"], answer["absent"]) == (len(line["events"]), 1)


def test_the_timeline_has_the_sessions_of_a_project(reader: httpx.Client) -> None:
    answer = got(reader, "sessions", project=SHOP, limit=2)
    assert answer["total"] == 3
    newest, older = answer["sessions"]
    assert (newest["session"], older["session"]) == ("three", "two")
    assert (older["first_prompt"], older["prompts"], older["events"]) == (RULE, 2, 6)
    assert older["files"] == ["app/two.py", "README.md"]
    assert (older["edited"], older["n_files"], older["project"]) == (1, 2, SHOP)
    (last,) = got(reader, "sessions", project=SHOP, limit=2, offset=2)["sessions"]
    assert last["session"] == "one"


def test_a_session_opens_to_its_prompts_and_last_messages(reader: httpx.Client) -> None:
    place = {"agent": "main", "session": "one", "project": SHOP}
    answer = got(reader, "session", **place)
    steps = [(step["speaker"], step["text"]) for step in answer["steps"]]
    assert steps[:2] == [("prompt", RULE), ("agent", f"Done with {RULE}")]
    assert answer["total"] == 4
    rest = got(reader, "session", offset=3, limit=1, **place)
    assert [step["text"] for step in rest["steps"]] == ["Done with Fix the till."]


def test_a_long_text_is_cut_and_a_secret_is_masked(
    lab: Lab, client: httpx.Client
) -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
    lab.journal.append([said(f"{secret} {'x' * 50_000}", session="big")])
    place = {"agent": "main", "session": "big"}
    (step,) = got(client, "session", **place)["steps"]
    assert (step["cut"], secret in step["text"], len(step["text"])) == (
        True,
        False,
        4_000,
    )


def test_the_tables_and_the_pictures_say_what_the_lab_says(
    calm: Lab, reader: httpx.Client
) -> None:
    decay = got(reader, "decay")
    frame = calm.theorex.axon().frame()
    assert decay["total"] == len(frame) > 0
    assert [row["concept"] for row in decay["concepts"]] == list(frame["surface_form"])
    cells = got(reader, "matrix")["cells"]
    assert [cell["model"] for cell in cells] == [cell.model for cell in calm.matrix()]
    for name in ("decay", "matrix"):
        picture = got(reader, f"{name}/picture")["png"]
        assert picture.startswith("iVBOR"), "a PNG in base64"
        assert got(reader, f"{name}/picture")["png"] == picture


def test_projects_are_listed_and_a_server_of_one_opens_that_one(lab: Lab) -> None:
    with asking(lab) as client:
        answer = got(client, "projects")
        names = {row["name"] for row in answer["projects"]}
        assert (names, answer["project"]) == ({"shop", "bank"}, "")
    with asking(lab.in_project(SHOP)) as client:
        answer = got(client, "projects")
        assert [row["project"] for row in answer["projects"]] == [SHOP]
        assert answer["project"] == SHOP
        for path in ("briefing", "sessions", "failures", "changes"):
            refused = client.get(f"/memory/{path}", params={"project": BANK})
            assert refused.status_code == 422
            assert "for shop-0a1b2c3d alone" in refused.json()["detail"]


def test_nothing_of_another_project_comes_or_can_be_erased(
    calm: Lab, reader: httpx.Client
) -> None:
    (prompt, *_) = calm.journal.tail(0, kinds=["prompt"], projects=[BANK])
    ids = [prompt.id]
    assert BANK_RULE not in reader.get("/memory/briefing?project=shop").text
    assert "balance" not in reader.get("/memory/search?query=balance&project=shop").text
    assert sent(reader, "events", ids=ids, project=SHOP)["events"] == []
    place = {"agent": "main", "session": "four", "project": SHOP}
    assert reader.get("/memory/session", params=place).status_code == 404
    for path, more in (("reach", {}), ("erase", {"expected": 1})):
        body = {"ids": ids, "project": SHOP, **more}
        refused = reader.post(f"/memory/{path}", json=body)
        assert (refused.status_code, "another project" in refused.text) == (422, True)
    assert calm.journal.read(ids=ids)


# What is changed


def test_a_line_is_pinned_corrected_and_dismissed_and_each_is_taken_back(
    lab: Lab, client: httpx.Client
) -> None:
    line = line_of(client, RULE, project=SHOP)
    place = {"item": line["id"], "project": SHOP}
    kinds = ["pinned", "corrected", "dismissed"]
    for action, name in (("pin", "pinned"), ("correct", "correction")):
        text = "Run make check first." if action == "correct" else ""
        assert sent(client, "mark", action=action, text=text, **place) == {
            "item": line["id"]
        }
        (change,) = got(client, "changes", project=SHOP)["changes"]
        assert change["id"] == line["id"]
        assert change[name]
        sent(client, "mark", action=action, undo=True, **place)
        assert got(client, "changes", project=SHOP)["changes"] == []
    sent(client, "mark", action="dismiss", **place)
    assert line_of(client, RULE, project=SHOP) is None
    sent(client, "mark", action="dismiss", undo=True, **place)
    assert line_of(client, RULE, project=SHOP)["id"] == line["id"]
    marks = list(lab.journal.tail(0, kinds=kinds))
    assert len(marks) == 6, "one event for each word"
    assert {mark.body["source"] for mark in marks} == {"user"}


def test_an_imported_text_becomes_a_rule_where_its_owner_trusts_it(
    lab: Lab, client: httpx.Client
) -> None:
    text = "Always lock the stock room."
    lab.journal.append([observation(text, source="import", event_id="e-imported")])
    assert line_of(client, text) is None
    sent(client, "mark", action="trust", item="e-imported")
    assert line_of(client, text)["section"] == "Standing rules"
    sent(client, "mark", action="trust", item="e-imported", undo=True)
    assert line_of(client, text) is None


def test_an_erasure_says_first_what_goes_and_takes_nothing_else(
    lab: Lab, client: httpx.Client
) -> None:
    written = lab.agent("main").write("The harbour alarm rings at noon.")
    lab.pin(written.event_id)
    ids = [written.event_id]
    reached = sent(client, "reach", ids=ids)
    assert reached["total"] == 2, "the text, and the pin that was put on it"
    assert "harbour" in reached["events"][0]["text"]
    before = lab.journal.last_seq()
    refused = client.post("/memory/erase", json={"ids": ids, "expected": 1})
    assert (refused.status_code, "look again" in refused.text) == (409, True)
    assert lab.journal.last_seq() == before
    assert sent(client, "erase", ids=ids, expected=2) == {"erased": 2}
    assert lab.journal.read(ids=ids) == []
    assert client.post("/memory/reach", json={"ids": ids}).status_code == 422


def test_a_failure_waits_with_its_step_and_fix_until_it_is_trusted(
    lab: Lab, client: httpx.Client
) -> None:
    before = lab.journal.last_seq()
    answer = got(client, "failures")
    (failure,) = answer["failures"]
    assert (failure["decision"], failure["step"]) == (DECISION, 1)
    assert "print(total)" in failure["step_text"]
    assert "define every name" in failure["fix"]
    assert lab.journal.last_seq() == before, "a look writes nothing"
    fix_id = sent(client, "failures/trust", outcome=failure["outcome"])["item"]
    (fix,) = lab.journal.read(ids=[fix_id])
    assert failure["fix"] in fix.body["text"]
    kinds = [event.kind for event in lab.journal.tail(before)]
    assert kinds == ["observation", "reviewed", "confirmed"]
    assert got(client, "failures") == {"failures": [], "total": 0}
    again = client.post("/memory/failures/trust", json={"outcome": failure["outcome"]})
    assert (again.status_code, "does not wait" in again.text) == (422, True)


def test_one_failure_is_reviewed_and_the_others_wait_on(
    lab: Lab, client: httpx.Client
) -> None:
    other = fail(lab, "count the stock")
    failures = got(client, "failures")["failures"]
    assert failures[0]["outcome"] == other
    sent(client, "failures/trust", outcome=other)
    (left,) = got(client, "failures")["failures"]
    assert (left["decision"], left["fix_id"]) == (DECISION, "")
    sent(client, "mark", action="dismiss", item=left["outcome"])
    assert got(client, "failures")["total"] == 0
    sent(client, "mark", action="dismiss", item=left["outcome"], undo=True)
    lab.review_failures(reviewer="heuristic")
    (reviewed,) = got(client, "failures")["failures"]
    assert reviewed["fix_id"]
    sent(client, "mark", action="trust", item=reviewed["fix_id"])
    assert got(client, "failures")["total"] == 0


# What is refused

WRONG: list[tuple[str, str, dict[str, Any], str]] = [
    ("GET", "search", {}, "query: Field required"),
    ("GET", "search", {"query": " "}, "query: String should match"),
    ("GET", "search", {"query": "x", "limit": "51"}, "limit: Input should be"),
    ("GET", "search", {"query": "x", "offset": "-1"}, "offset: Input should be"),
    ("GET", "search", {"query": "x", "agent": "main"}, "agent: Extra inputs"),
    ("GET", "briefing", {"tokens": "19"}, "tokens: Input should be"),
    ("GET", "briefing", {"project": "nowhere"}, "got the project 'nowhere'"),
    ("GET", "sessions", {"limit": "many"}, "limit: Input should be"),
    ("GET", "session", {"agent": "main"}, "session: Field required"),
    ("POST", "events", {"ids": []}, "ids: List should have at least 1"),
    ("POST", "events", {"ids": ["x" * 65]}, "ids.0: String should have at most"),
    ("POST", "erase", {"ids": ["x"]}, "expected: Field required"),
    ("POST", "erase", {"ids": ["x"], "expected": "1"}, "expected: Input should be"),
    ("POST", "reach", {"ids": ["x"]}, "got events that are not here"),
    ("POST", "mark", {"action": "burn", "item": "x"}, "action: Input should be 'pin'"),
    ("POST", "mark", {"action": "pin", "item": "x"}, "got the id 'x'"),
    ("POST", "mark", {"action": "pin", "item": ""}, "item: String should have"),
    ("POST", "failures/trust", {"outcome": "x"}, "does not wait for a review"),
]


@pytest.mark.parametrize(("method", "path", "given", "told"), WRONG)
def test_what_is_wrong_is_told_in_a_sentence_and_nothing_is_written(
    calm: Lab,
    reader: httpx.Client,
    method: str,
    path: str,
    given: dict[str, Any],
    told: str,
) -> None:
    before = calm.journal.last_seq()
    how = {"params": given} if method == "GET" else {"json": given}
    answer = reader.request(method, f"/memory/{path}", **how)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert calm.journal.last_seq() == before


def test_a_correction_that_is_no_line_is_refused(reader: httpx.Client) -> None:
    line = line_of(reader, RULE, project=SHOP)
    for text, told in ((" ", "text"), ("word " * 400, "allowed are")):
        body = {"action": "correct", "item": line["id"], "text": text}
        answer = reader.post("/memory/mark", json=body)
        assert (answer.status_code, told in answer.json()["detail"]) == (422, True)


def test_who_owns_the_memory_is_told_what_is_wrong_with_it(
    lab: Lab, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from theorex_lab import StorageError

    def full(*_: Any, **__: Any) -> None:
        raise StorageError("the disk is full; remove something")

    monkeypatch.setattr(lab.journal, "last_seq", full)
    answer = client.get("/memory/projects")
    assert (answer.status_code, answer.json()["detail"]) == (
        503,
        "the disk is full; remove something",
    )
