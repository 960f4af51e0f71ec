"""What the designs of a home offer a briefing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from theorex_lab import InvalidInput, Lab, Settings, new_event
from theorex_lab.core.clock import FixedClock
from theorex_lab.dispatch.bus import CallEnd, CallStart, ToolCall
from theorex_lab.memory.briefing.candidates import (
    COMMANDS,
    DECISIONS,
    LONGEST_LINE,
    PITFALLS,
    SECTIONS,
    WORK,
)
from theorex_lab.memory.briefing.design_lines import design_candidates
from theorex_lab.memory.contract import Design
from theorex_lab.memory.documents import sum_up
from theorex_lab.search.embed import HashedNgramEmbedder

FIX = "Renew the token with `make token` before an upload"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    clock = FixedClock.at("2026-03-02T09:00:00+00:00")
    embedder = HashedNgramEmbedder()
    with Lab(tmp_path / "home", clock=clock, embedder=embedder) as opened:
        yield opened


def shown(lab: Lab, query: str | None = None) -> dict[str, list[str]]:
    """The lines of a briefing by the titles of their sections."""
    lines: dict[str, list[str]] = {}
    for line in lab.briefing(query, tokens=2_000).lines:
        lines.setdefault(line.section, []).append(line.text)
    return lines


def offered(lab: Lab, query: str = "", *, automatic: bool = False) -> list[str]:
    candidates = design_candidates(
        lab.home, lab.clock.now(), query=query, automatic=automatic
    )
    return [candidate.text for candidate in candidates]


def write_fix(lab: Lab, text: str = FIX, *, source: str = "agent") -> str:
    written = lab.agent("main").write(text, observation_type="trace_fix", source=source)
    return str(written.event_id)


def traced_failure(lab: Lab) -> None:
    """A failed outcome, with a trace of what was called for it."""
    outcome = lab.outcomes.record(
        "main", "Publish the price list.", "The upload was refused", success=False
    )
    now = lab.clock.now()
    start = CallStart(
        "t-1",
        "main",
        now,
        "publish the price list",
        "general",
        "small",
        outcome_id=outcome.outcome_id,
    )
    answer = '{"exit_code": 7, "stderr": "permission denied"}'
    call = ToolCall("t-1", now, "Bash", "./publish.sh", answer)
    end = CallEnd("t-1", now, success=True, model="small")
    lab.journal.append([start.event(), call.event(start), end.event(start)])


def test_a_failure_stands_in_the_next_briefing_until_its_fix_does(lab: Lab) -> None:
    traced_failure(lab)
    failure = "Publish the price list failed: The upload was refused (2 Mar)."
    assert shown(lab) == {PITFALLS: [failure]}
    [review] = lab.review_failures(reviewer="heuristic")
    assert shown(lab) == {}, "what tools said is no pitfall before a person trusts it"
    lab.theorex.trust(str(review.observation_id))
    [text] = shown(lab)[PITFALLS]
    assert text.startswith("Publish the price list: The tool Bash answered with")
    assert text.endswith("(2 Mar).")
    [line] = lab.briefing().lines
    assert line.why == "it was written down as a fix, confirmed by you"
    assert line.events == (review.observation_id,)


def test_a_fix_that_a_person_confirmed_is_worth_more(lab: Lab) -> None:
    write_fix(lab)
    model_fix = write_fix(lab, "Wait for the index before a search", source="model")
    lab.theorex.trust(model_fix)
    weights = {
        line.text: line.weight for line in design_candidates(lab.home, lab.clock.now())
    }
    assert weights["Wait for the index before a search (2 Mar)."] == 0.9
    assert weights[f"{FIX} (2 Mar)."] == 0.6


@pytest.mark.parametrize("source", ["import", "tool", "model"])
def test_untrusted_lines_are_not_offered(lab: Lab, source: str) -> None:
    write_fix(lab, source=source)
    lab.outcomes.record("main", "Ship it", "It broke", success=False, source=source)
    lab.facts.write("projects/till", "The till rounds up", source=source)
    lab.research.add_insight("pitfalls", "", "Locks time out at night", source=source)
    assert offered(lab, automatic=True) == []


def test_a_fix_is_dismissed_corrected_and_pinned_as_any_item(lab: Lab) -> None:
    fix = write_fix(lab)
    lab.correct(fix, "Renew the token by hand")
    assert shown(lab) == {PITFALLS: ["Renew the token by hand (2 Mar)."]}
    lab.pin(fix)
    [line] = lab.briefing().lines
    assert line.why.endswith("pinned by you")
    lab.dismiss(fix)
    assert shown(lab) == {}


def test_a_line_that_does_not_fit_is_left_out(lab: Lab) -> None:
    write_fix(lab, "Renew the token before an upload and then " + "wait " * 60)
    lab.outcomes.record(
        "main", "Move the archive", "The disk was full. " * 20, success=False
    )
    assert offered(lab) == ["Move the archive failed: The disk was full (2 Mar)."]


def test_facts_of_hand_are_offered_and_those_of_captures_are_not(lab: Lab) -> None:
    lab.facts.write("projects/till", "The till rounds up to five cents")
    prompt = {"text": "I prefer short commit subjects.", "source": "user"}
    lab.journal.append(
        [new_event("prompt", prompt, agent="main", at=lab.clock.now(), session="s")]
    )
    lab.facts.extract()
    assert offered(lab) == ["The till rounds up to five cents (2 Mar)."]
    assert len(offered(lab, automatic=True)) == 2
    assert shown(lab)[DECISIONS] == ["The till rounds up to five cents (2 Mar)."]


def test_a_pinned_fact_of_a_capture_is_offered(lab: Lab) -> None:
    prompt = {"text": "I prefer short commit subjects.", "source": "user"}
    lab.journal.append(
        [new_event("prompt", prompt, agent="main", at=lab.clock.now(), session="s")]
    )
    lab.facts.extract()
    [fact] = lab.facts.list()
    lab.pin(fact.id)
    assert len(offered(lab)) == 1


def test_what_a_design_learnt_is_offered_where_the_design_is_active(
    tmp_path: Path,
) -> None:
    prompt = {"text": "I prefer short commit subjects.", "source": "user"}
    settings = Settings(active_designs=["theorex", "facts"])
    clock = FixedClock.at("2026-03-02T09:00:00+00:00")
    with Lab(
        tmp_path / "active",
        clock=clock,
        embedder=HashedNgramEmbedder(),
        settings=settings,
    ) as lab:
        lab.journal.append(
            [new_event("prompt", prompt, agent="main", at=clock.now(), session="s")]
        )
        lab.end_session("s")
        [fact] = lab.facts.list()
        assert len(offered(lab)) == 1
        lab.dismiss(fact.id)
        assert offered(lab) == []


def test_a_session_that_ends_is_given_to_the_active_designs_alone(lab: Lab) -> None:
    prompt = {"text": "I prefer short commit subjects.", "source": "user"}
    lab.journal.append(
        [new_event("prompt", prompt, agent="main", at=lab.clock.now(), session="s")]
    )
    lab.end_session("s")
    assert lab.facts.list() == []
    assert [design.name for design in lab.home.active] == ["sessions", "theorex"]
    report = lab.maintain(designs=["facts"])
    assert "heartbeat" in [step.name for step in report.steps]
    assert len(lab.facts.list()) == 1, "what it missed is made good"
    assert "heartbeat" not in [step.name for step in lab.maintain().steps]


def test_a_design_that_is_not_installed_is_refused(lab: Lab) -> None:
    allowed = "allowed are sessions, theorex, facts, dreams, causal, research"
    with pytest.raises(InvalidInput, match=f"got the design 'fact'.*{allowed}"):
        lab.maintain(designs=["fact"])
    assert lab.journal.last_seq() == 0


def test_insights_and_skills_stand_in_the_sections_of_their_kinds(lab: Lab) -> None:
    lab.research.add_insight("pitfalls", "Locks", "The nightly lock times out")
    lab.research.add_insight("open_problems", "", "Nobody knows why the feed stops")
    lab.research.add_insight("domain_knowledge", "", "Prices are stored in cents")
    assert shown(lab) == {
        WORK: ["Nobody knows why the feed stops (2 Mar)."],
        PITFALLS: ["Locks: The nightly lock times out (2 Mar)."],
        DECISIONS: ["Prices are stored in cents (2 Mar)."],
    }


def run(*actions: str, failed_with: str | None = None) -> list[dict[str, object]]:
    steps: list[dict[str, object]] = [{"action": action} for action in actions]
    if failed_with is not None:
        steps[-1] |= {"result": failed_with, "ok": False}
    return steps


def test_what_a_captured_run_teaches_is_a_command_or_a_pitfall(lab: Lab) -> None:
    lab.dreams.capture("Deploy the shop", run("make build", "make deploy"))
    refund = run("get(order)", "pay(order)", failed_with="")
    lab.dreams.capture("Refund an order", refund, outcome="failure")
    lab.dreams.dream()
    lines = shown(lab)
    assert lines[COMMANDS] == [
        "Deploy the shop: 1. Build (`make build`); 2. Run `make deploy`. Worked 1 of 1"
        " times (2 Mar)."
    ]
    [pitfall] = lines[PITFALLS]
    assert pitfall.startswith("Refund an order: Do not stop where")


def test_what_quotes_a_tool_is_not_offered(lab: Lab) -> None:
    refund = run("get(order)", "pay(order)", failed_with="obey the tool")
    lab.dreams.capture("Refund an order", refund, outcome="failure")
    lab.dreams.dream()
    assert offered(lab, automatic=True) == []


def test_a_gene_that_was_told_by_hand_and_helped_is_a_pitfall(lab: Lab) -> None:
    lab.causal.record_gene(
        {"type": "Gene", "id": "gene_clean", "strategy": ["run make clean"]}
    )
    for _ in range(3):
        attempt = lab.causal.record_attempt(["log_error"], {"id": "gene_clean"})
        lab.causal.close(attempt.id, "success")
    assert shown(lab) == {
        PITFALLS: ["after an error: run make clean; worked 3 of 3 times (2 Mar)."]
    }


def test_a_gene_that_a_stranger_names_does_not_become_the_users_own(lab: Lab) -> None:
    gene = {"type": "Gene", "id": "gene_x", "strategy": ["run what a file says"]}
    lab.causal.record_gene(gene, source="model")
    attempt = lab.causal.record_attempt(["log_error"], {"id": "gene_x"})
    lab.causal.close(attempt.id, "success")
    assert offered(lab) == []


def test_the_last_summary_of_a_session_is_recent_work(lab: Lab) -> None:
    sum_up(lab.home, {"next": "Port the upload tests"}, agent="main", session="s1")
    lab.clock.advance(days=1)  # type: ignore[attr-defined]
    said = {"learned": "The feed needs a token", "next": "Move the archive"}
    sum_up(lab.home, said, agent="main", session="s2")
    lines = shown(lab)
    assert lines[WORK] == [
        "Next: Move the archive (3 Mar).",
        "Learned: The feed needs a token (3 Mar).",
    ]
    assert "Learned" not in str(lines.get(DECISIONS))


def test_at_a_prompt_only_what_shares_telling_words_is_offered(lab: Lab) -> None:
    write_fix(lab)
    lab.facts.write("projects/till", "The till rounds up to five cents")
    assert offered(lab, "Why is the upload token refused?") == [f"{FIX} (2 Mar)."]
    assert offered(lab, "Add a logo") == []
    assert offered(lab, "What does `make token` do") == [f"{FIX} (2 Mar)."]


def test_what_the_start_gave_does_not_come_again_at_a_prompt(lab: Lab) -> None:
    write_fix(lab)
    assert shown(lab) == {PITFALLS: [f"{FIX} (2 Mar)."]}
    assert shown(lab, "Why is the upload token refused?") == {}


def test_concepts_are_no_statements(lab: Lab) -> None:
    lab.agent("main").write("The cache of the till is slow", observation_type="feature")
    assert offered(lab, automatic=True) == []


def test_every_kind_of_a_design_stands_in_a_section_of_the_briefing(lab: Lab) -> None:
    parts = [
        part
        for design in lab.home.designs
        for section in design.sections
        for part in section.briefing.values()
    ]
    assert parts
    assert {part.section for part in parts} <= set(SECTIONS)
    assert all(0 < part.weight <= 1 for part in parts)


def test_each_published_design_offers_something() -> None:
    from theorex_lab.designs import installed

    def offers(design: Design) -> bool:
        return any(section.briefing for section in design.sections)

    names = [design.name for design in installed() if offers(design)]
    assert names == ["theorex", "facts", "dreams", "causal", "research", "dropin"]


def test_every_offered_line_fits(lab: Lab) -> None:
    write_fix(lab, "é" * 150)
    write_fix(lab, "Renew the token " * 14)
    for text in offered(lab):
        assert len(f"- {text}".encode()) <= LONGEST_LINE
