"""What a design tells the audit log and judges at the gate, with nothing else changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NOW, THEOREX_SHOWN, observation

from theorex_lab import (
    Design,
    Event,
    FixedClock,
    Home,
    InvalidInput,
    Lab,
    Settings,
    installed,
    new_event,
)
from theorex_lab.core.ids import concept_id
from theorex_lab.core.settings import check_settings, load_settings
from theorex_lab.designs.theorex.sections import concept_lines
from theorex_lab.designs.theorex.upkeep import MemoryReplay, OutcomeNeed
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.eval.replay.decay_replay import replay_log
from theorex_lab.eval.replay.event_log import EventLog
from theorex_lab.evolution.acceptance import (
    digest,
    gate,
    parts_of,
    policies,
    rollback,
    score_policy,
)
from theorex_lab.evolution.audit import audit, kinds_of
from theorex_lab.memory.briefing.token_budget import (
    CONCEPT_HEADING_TOKENS,
    HEADING_TOKENS,
    count_tokens,
    price_of,
)
from theorex_lab.memory.contract import (
    AuditPart,
    AuditRecord,
    ContextRequest,
    PolicyPart,
    Proposal,
)


def _asked() -> Callable[[Event], Iterable[AuditRecord]]:
    asked = 0

    def take(event: Event) -> Iterable[AuditRecord]:
        nonlocal asked
        asked += 1
        if event.body["text"].endswith("?"):
            yield "question", event.agent, {"number": asked, "text": event.body["text"]}

    return take


PROMOTED = ("promotionThreshold",)


def _prompts(home: Home) -> list[int]:
    return [event.seq for event in home.journal.tail(0, kinds=["prompt"])]


def _propose(home: Home, turned_down: frozenset[str]) -> Proposal:
    changes = {"promotionThreshold": 0.9}
    changed = home.settings.replaced(promotion_threshold=0.9)
    new = (
        home.settings.promotion_threshold != 0.9
        and digest(changed, PROMOTED) not in turned_down
    )
    return Proposal(
        changes if new else {}, 0.5, 0.9 if new else 0.5, len(_prompts(home))
    )


TOY = Design(
    "toy",
    audit=AuditPart({"question": ("prompt",)}, _asked),
    policies={
        "toy": PolicyPart(
            PROMOTED,
            _propose,
            lambda home: {"score": 0.5, "n": len(_prompts(home))},
            _prompts,
        )
    },
)


def _lab(folder: Path, toy: Design = TOY) -> Lab:
    return Lab(folder, clock=FixedClock(NOW), designs=[*installed(), toy])


def _prompt(text: str, *, at: int = NOW, agent: str = "main") -> Event:
    return new_event("prompt", {"text": text, "source": "user"}, agent=agent, at=at)


def _lived(lab: Lab, *, rounds: int) -> None:
    """Prompts, moments and outcomes by turns, and a scan that changes tiers."""
    for number in range(rounds):
        lab.journal.append(
            [_prompt(f"what of {number}"), _prompt(f"why {number}?", agent="sage")]
        )
        lab.journal.append(
            [observation("a story", labels=[f"c{number}"], observation_type="moment")]
        )
        lab.outcomes.record("main", f"decided {number}", "done", success=True)
    lab.theorex.scan()
    lab.journal.append([_prompt("and now?")])


def test_a_design_that_reads_events_of_its_own_is_told_beside_the_others(
    tmp_path: Path,
) -> None:
    with _lab(tmp_path) as lab:
        _lived(lab, rounds=3)
        known = kinds_of(lab.home)
        assert (
            known.index("moment_capture")
            < known.index("question")
            < known.index("outcome_record")
        )
        told = [each.kind for each in audit(lab.home) if each.kind != "tier_change"]
        assert told == ["question", "moment_capture", "outcome_record"] * 3 + [
            "question"
        ]
        questions = audit(lab.home, kinds=["question"])
        assert [(each.agent, each.detail["number"]) for each in questions] == [
            ("sage", 2),
            ("sage", 4),
            ("sage", 6),
            ("main", 7),
        ]
        assert lab.journal.read(ids=[each.detail["event_id"] for each in questions])
    with (
        Lab(tmp_path, clock=FixedClock(NOW)) as lab,
        pytest.raises(InvalidInput, match="'question'"),
    ):
        audit(lab.home, kinds=["question"])


@pytest.mark.parametrize("limit", [1, 2, 4, 7, 30, 1_000])
def test_the_latest_of_several_designs_are_those_of_a_whole_reading(
    tmp_path: Path, limit: int
) -> None:
    with _lab(tmp_path) as lab:
        _lived(lab, rounds=6)
        kinds = kinds_of(lab.home)
        for chosen in (
            None,
            ["question", "policy_test"],
            ["tier_change", "outcome_record"],
            ["outcome_record"],
            kinds[3:7],
        ):
            assert (
                audit(lab.home, kinds=chosen, limit=limit)
                == audit(lab.home, kinds=chosen)[-limit:]
            )
            assert audit(lab.home, kinds=chosen, limit=limit, since=NOW + 1) == []


def test_the_latest_outcomes_are_told_whatever_stands_before_them(
    tmp_path: Path,
) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        felt = [observation("t", labels=[f"c{n % 50}"]) for n in range(9_000)]
        lab.journal.append(
            [event._replace(body={**event.body, "sentiment": 0.5}) for event in felt]
        )
        for number in range(5):
            lab.outcomes.record("main", f"decided {number}", "done", success=True)
        assert [each.kind for each in audit(lab.home, limit=5)] == [
            "outcome_record"
        ] * 5


def _toys(lab: Lab) -> Any:
    return next(each for each in gate(lab.home) if each.part == "toy")


def test_the_gate_judges_a_designs_part_puts_it_in_force_and_leaves_alone_what_was_undone(
    tmp_path: Path,
) -> None:
    with _lab(tmp_path) as lab:
        assert [*parts_of(lab.home)] == ["memory", "toy"]
        assert _toys(lab).decision == "hold", "no prompt was heard yet"
        lab.journal.append([_prompt(f"why {n}?") for n in range(6)])
        assert score_policy(lab.home)["toy"] == {"score": 0.5, "n": 6}
        said = _toys(lab)
        assert (said.decision, said.proposed, said.n) == (
            "accept",
            {"promotionThreshold": 0.9},
            6,
        )
        assert (
            load_settings(lab.config_file).promotion_threshold
            == lab.settings.promotion_threshold
            == 0.9
        )
        assert policies(lab.journal)[-1].metrics == {"toy": {"score": 0.9, "n": 6}}
        assert _toys(lab).repeated
        _, lab.settings = rollback(lab.journal, lab.settings, lab.folder, 1, at=NOW)
        lab.journal.append([_prompt("once more?")])
        assert (_toys(lab).decision, _toys(lab).proposed) == ("refuse", {})
        assert lab.settings.promotion_threshold != 0.9


@pytest.mark.parametrize(
    ("name", "part", "wrong"),
    [
        (
            "toy",
            replace(TOY.policies["toy"], settings=("maxTextBytes",)),
            "the setting 'maxTextBytes'",
        ),
        (
            "toy",
            replace(TOY.policies["toy"], settings=("halfLifeDays",)),
            "proposed .'promotionThreshold'.",
        ),
        ("memory", TOY.policies["toy"], "allowed is one of each name"),
    ],
)
def test_a_part_may_judge_only_settings_of_the_policy_that_are_its_own(
    tmp_path: Path, name: str, part: PolicyPart, wrong: str
) -> None:
    with _lab(tmp_path, replace(TOY, policies={name: part})) as lab:
        lab.journal.append([_prompt(f"why {n}?") for n in range(6)])
        with pytest.raises(InvalidInput, match=wrong):
            gate(lab.home)
        assert not lab.config_file.exists()


# The price of a context


LABELS = ["ttl", "a cache of *sessions*", "zürich"]


@pytest.mark.parametrize("label", LABELS)
def test_both_replays_price_a_line_and_the_heading_alike(
    tmp_path: Path, label: str
) -> None:
    """The smallest context in which a concept finds room; the gate's replay knows no
    sections.
    """
    thirteen_days_ago = NOW - 13 * 86_400_000_000
    with Lab(
        tmp_path, clock=FixedClock(NOW), settings=check_settings(THEOREX_SHOWN)
    ) as lab:
        lab.journal.append([observation("x", labels=[label], at=thirteen_days_ago)])
        recorded = EventLog.of(AccessLog.of([(thirteen_days_ago, label, None, False)]))

        def replayed(tokens: int) -> bool:
            return bool(
                replay_log(recorded, Settings(context_tokens=tokens), now=NOW).steps[
                    -1, 4
                ]
            )

        def judged(tokens: int) -> bool:
            need = OutcomeNeed(
                lab.journal.last_seq() + 1, NOW, np.array([concept_id(label)]), 1.0
            )
            return bool(
                MemoryReplay(lab.journal, context_tokens=tokens).scores(
                    [need], [lab.settings]
                )[0, 0]
            )

        (line,) = concept_lines(lab.home, ContextRequest(NOW, 500))
        price = price_of(len(line.text.encode()))
        assert price == count_tokens(f"- {line.text}\n")
        section = CONCEPT_HEADING_TOKENS + count_tokens("main")
        for fits, least in ((replayed, section), (judged, 0)):
            assert [
                fits(HEADING_TOKENS + price + least + more) for more in (-1, 0)
            ] == [False, True], fits.__name__
