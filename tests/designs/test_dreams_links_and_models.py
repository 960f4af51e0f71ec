"""Links by rule, models of one's own, and what a domain adds to what they are asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NOW, Meanings
from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.dreams.cross_links import links_by_rule
from theorex_lab.designs.dreams.engine import DreamDomainAdapter, dream, dreamer_for
from theorex_lab.designs.dreams.providers import (
    BaseLLMProvider,
    LLMJsonResponse,
    LLMProgramResponse,
    ScriptedProvider,
)
from theorex_lab.designs.dreams.strategies import Strategy, StrategyStep

ADAPTER = DreamDomainAdapter(
    "You are a head cook.", "Look for heat and time.", "timeout logic_error"
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW), embedder=Meanings()) as opened:
        yield opened


def way(name: str, *actions: str, ok: bool | None = True) -> Strategy:
    steps = tuple(StrategyStep("", action, "", ok=ok) for action in actions)
    return Strategy(name, name, "", steps)


@pytest.mark.parametrize(
    ("maker", "user"),
    [
        ("Write src/jwt_utils.py", "Edit src/jwt_utils.py"),
        ("Write src/jwt_utils.py", "pytest -q app/src/jwt_utils.py"),
        ("create_file(path='src/jwt_utils.py')", "read(path='./src/jwt_utils.py')"),
        ("jq . in.json > out/sums.json", "load(file='out/sums.json')"),
        ("Write setup.cfg", "cat setup.cfg"),
    ],
)
def test_what_one_made_another_works_with(maker: str, user: str) -> None:
    made = way("st-1", maker)
    assert links_by_rule(way("st-2", user), [made]) == [("st-1", "st-2", "causal")]


@pytest.mark.parametrize(
    ("maker", "user"),
    [
        (["Edit src/a.py"], "Edit src/a.py"),
        (["Write src/a.py"], "Write src/a.py"),
        (["Write src/a.py"], "Edit other/a.py"),
        (["Write a.py"], "Edit src/a.py"),
        (["Write src/a.py", "rm src/a.py"], "Edit src/a.py"),
        (["Write /tmp/a.py"], "cat /tmp/a.py"),
        (["make all 2> build/log.txt"], "cat build/log.txt"),
        (["Write src/a.py"], "pytest -q"),
    ],
)
def test_what_is_no_work_of_the_other_is_no_link(maker: list[str], user: str) -> None:
    assert links_by_rule(way("st-2", user), [way("st-1", *maker)]) == []
    failed = way("st-1", "Write src/a.py", ok=False)
    assert links_by_rule(way("st-2", "Edit src/a.py"), [failed]) == []


def test_rules_link_a_new_strategy_with_what_it_rests_on(lab: Lab) -> None:
    def done(*actions: str) -> list[dict[str, Any]]:
        return [{"action": action, "ok": True} for action in actions]

    lab.dreams.capture("plan the sign-in", done("Write docs/plan.md", "ask(who='Ann')"))
    lab.dreams.capture("bake bread", done("mix()", "bake()"))
    lab.dreams.dream()
    lab.dreams.capture("build the sign-in", done("Edit docs/plan.md", "make()"))
    report = lab.dreams.dream()
    assert report.cross_edges_created == 1
    by_goal = {each.goal: each.id for each in lab.dreams.strategies()}
    out, _ = lab.dreams.edges(by_goal["plan the sign-in"])
    assert [(edge.target, edge.type) for edge in out] == [
        (by_goal["build the sign-in"], "causal")
    ]


class MyProvider(BaseLLMProvider):
    """As the document prints it."""

    name = "mine"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def complete(self, prompt: str, system: str = "") -> str:
        self.asked.append(prompt)
        return "In short."

    async def complete_json(self, prompt: str, system: str = "") -> LLMJsonResponse:
        return LLMJsonResponse({})

    async def emit_program(self, prompt: str, system: str = "") -> LLMProgramResponse:
        self.asked.append(prompt)
        return LLMProgramResponse(
            'BUILD_PARENT "x" "Bake it slowly." 0.8\n'
            'BUILD_CHILD $LAST_PARENT 1 "it has to rise" a b\nHALT'
        )


BAKE = [
    {"action": "mix()", "result": "dough", "ok": True},
    {"action": "bake(minutes=40)", "result": "bread", "ok": True},
]


def test_a_provider_of_ones_own_dreams(lab: Lab) -> None:
    lab.dreams.capture("bake bread", BAKE, domain="kitchen")
    provider = MyProvider()
    report = lab.dreams.dream(provider)
    (found,) = lab.dreams.strategies()
    assert (report.dreamer, report.nodes_created) == ("mine", 1)
    assert (found.summary, found.source) == ("Bake it slowly.", "model")
    # The steps are the recorded actions, whatever the model retypes.
    assert [(step.action, step.why) for step in found.steps] == [
        ("bake(minutes=40)", "it has to rise")
    ]


def test_a_provider_dreams_within_a_running_loop(lab: Lab) -> None:
    lab.dreams.capture("bake bread", BAKE)

    async def night() -> int:
        report = lab.dreams.dream(MyProvider())
        return int(report.nodes_created)

    assert asyncio.run(night()) == 1


class Broken(BaseLLMProvider):
    async def complete(self, prompt: str, system: str = "") -> Any:
        raise ConnectionError("nobody there")


@pytest.mark.parametrize(
    "provider",
    [Broken(), ScriptedProvider([]), ScriptedProvider(["NOP\n" * 900 + "HALT"])],
    ids=["silent", "empty", "endless"],
)
def test_where_a_provider_fails_the_trajectory_waits(
    lab: Lab, provider: BaseLLMProvider
) -> None:
    lab.dreams.capture("bake bread", BAKE)
    report = lab.dreams.dream(provider)
    assert (report.nodes_created, len(report.held)) == (0, 1)
    assert lab.dreams.strategies() == []
    assert lab.dreams.dream(MyProvider()).nodes_created == 1


def test_json_of_a_provider_is_found_or_refused() -> None:
    provider = ScriptedProvider(['Sure:\n```json\n{"risk": "low"}\n```', "no idea"])
    assert asyncio.run(provider.complete_json("?")).data == {"risk": "low"}
    with pytest.raises(Exception, match="an answer in JSON"):
        asyncio.run(provider.complete_json("?"))


def test_a_domain_is_asked_about_in_the_words_of_its_adapter(lab: Lab) -> None:
    lab.dreams.register_domain_adapter("kitchen", ADAPTER)
    lab.dreams.capture("bake bread", BAKE, domain="kitchen")
    lab.dreams.capture("mend the till", BAKE, domain="shop")
    provider = MyProvider()
    lab.dreams.dream(provider)
    kitchen, shop = [asked for asked in provider.asked if "actions" in asked]
    assert kitchen.startswith("You are a head cook.")
    assert "Look for heat and time." in kitchen
    assert "head cook" not in shop
    with pytest.raises(InvalidInput, match="DreamDomainAdapter"):
        lab.dreams.register_domain_adapter("kitchen", "cook")  # type: ignore[arg-type]


def test_the_settings_bring_adapters_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    adapter = {"role": "You are a head cook.", "lookFor": "Look for heat."}
    models = {"m": {"tier": "small", "url": "http://127.0.0.1:1"}}
    design = {"dreamingModel": "m", "domainAdapters": {"kitchen": adapter}}
    (home / "config.json").write_text(
        json.dumps({"models": models, "designs": {"dreams": design}})
    )
    with Lab(home, clock=FixedClock(NOW), embedder=Meanings()) as lab:
        dreamer: Any = dreamer_for(lab.home)
        assert dreamer.prompts.adapters["kitchen"].look_for == "Look for heat."
        assert set(dreamer.prompts.adapters) == {"default", "robotics", "kitchen"}
        own: Any = dreamer_for(lab.home, adapters={"kitchen": ADAPTER})
        assert own.prompts.adapters["kitchen"] is ADAPTER
        assert dream(lab.home).traces_processed == 0
