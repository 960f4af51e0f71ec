"""Who dreams: rules without a model, or a language model that answers with programs of the instruction set."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from theorex_lab.designs.dreams import Edge
from theorex_lab.designs.dreams.isa import MOST_INSTRUCTIONS, Effects, parse, run
from theorex_lab.designs.dreams.items import dream_settings
from theorex_lab.designs.dreams.lessons import CONFIDENCE, MOST_LESSONS, critical_of, lessons_of, summary_of
from theorex_lab.designs.dreams.strategies import Strategy, StrategyVectors, strategy_by_id, vectors_of
from theorex_lab.designs.dreams.trajectories import TEXTS, Act, Trajectory
from theorex_lab.dispatch.llm import Completion, client_for
from theorex_lab.errors import ConfigError, ModelUnavailable, UnusableAnswer
from theorex_lab.home import Home
from theorex_lab.search.endpoint import encodable
from theorex_lab.text.line import count_tokens, fence, one_line

_SHOWN_ACTIONS, _SHOWN_CHARACTERS, _SUMMARY_CHARACTERS, _WHY_CHARACTERS = 60, 300, 400, 200
_READ_CHARACTERS, _ANSWER_TOKENS, _NEAR = 200_000, 2_048, 5
_KEPT = "-"  # stands in a program for words that are kept as they were recorded
Link = tuple[str, str, str]  # ids of two strategies, and the type of the edge: causal or context_jump


class Curated(NamedTuple):
    """What a dreamer made of a trajectory. critical: indices of its actions, rising.  constraints: text, fault class, source.

    whys: by index of an action, what it is for.  source: whose words the summary is told in, a key of `TRUST`.  groups,
    prunes: ids of strategies to be one, and to be put to sleep.  program: the answer of a model, of so many `tokens`.
    """

    critical: tuple[int, ...]
    constraints: tuple[tuple[str, str, str], ...]
    summary: str
    confidence: float
    whys: dict[int, str]
    source: str
    groups: tuple[tuple[str, str], ...] = ()
    prunes: tuple[str, ...] = ()
    program: str = ""
    tokens: int = 0


class HeuristicDreamer:
    """Rules without a model; see `lessons`. Other dreamers derive from it.

    A model that does not answer raises ModelUnavailable; UnusableAnswer where it answers nonsense.
    """

    name: str = "heuristic"

    def curate(self, trajectory: Trajectory) -> Curated:
        """The actions that changed something, a sentence of what was done, and one for each kind of failure."""
        kept = critical_of(trajectory.actions, trajectory.goal), lessons_of(trajectory), summary_of(trajectory)
        return Curated(*kept, CONFIDENCE[trajectory.outcome] * trajectory.confidence, {}, "agent")

    def links(self, new: Strategy, near: Sequence[Strategy]) -> list[Link]:  # noqa: ARG002
        """None: what leads to what is not told by rules."""
        return []

    def shorten(self, strategy: Strategy) -> str:  # noqa: ARG002
        """'': a summary stays."""
        return ""


class DreamDomainAdapter(NamedTuple):
    """What a domain adds to what a model is asked: its role, what to look for, and the classes of failures there."""

    role: str
    look_for: str
    faults: str


ADAPTERS = {name: DreamDomainAdapter(*TEXTS[name].split("\n")) for name in ("default", "robotics")}


@dataclass(frozen=True)
class DreamPromptBuilder:
    """What a model is asked; everything that was recorded is fenced. adapters: by domain, `default` for all others.

    >>> DreamPromptBuilder().adapters["robotics"].faults.split()[0]
    'physical_slip'
    """

    adapters: Mapping[str, DreamDomainAdapter] = field(default_factory=lambda: ADAPTERS)

    def curate(self, trajectory: Trajectory, near: Sequence[Strategy] = ()) -> str:
        """Which actions counted, what not to do again, and the strategy; `near`: strategies that may be the same."""
        shown, half = [*enumerate(trajectory.actions)], _SHOWN_ACTIONS // 2
        shown[half : max(half, len(shown) - half)] = []
        ended = f"It took {len(trajectory.actions)} actions; {TEXTS[trajectory.outcome.value]}. {trajectory.error}"
        told = fence([trajectory.goal], "goal") + fence([*map(_told, shown), ended], "actions")
        return self._asked("curate", trajectory.domain, told, near)

    def links(self, new: Strategy, near: Sequence[Strategy]) -> str:
        """Which of the strategies near a new one lead to it, or it to them."""
        return self._asked("links", new.domain, ["The new one:", *_listed([new])], near)

    def shorten(self, strategy: Strategy) -> str:
        """The summary in fewer words."""
        return self._asked("shorten", strategy.domain, fence([strategy.summary], "summary"))

    def _asked(self, what: str, domain: str, data: Iterable[str], near: Sequence[Strategy] = ()) -> str:
        adapter = self.adapters.get(domain, self.adapters["default"])
        known = ["Strategies that are there:", *_listed(near)] if near else []
        return "\n".join([adapter.role, TEXTS["data"], *data, *known, TEXTS[what].format(**adapter._asdict())])


def _told(numbered: tuple[int, Act]) -> str:
    index, action = numbered
    words = {"why": action.reasoning, "did": action.action, "failed" if action.ok is False else "came": action.result}
    parts = [f"{name}: {one_line(text, _SHOWN_CHARACTERS)}" for name, text in words.items() if text]
    return " | ".join([str(index), *parts])


def _listed(strategies: Iterable[Strategy]) -> list[str]:
    return fence([f"{one.id}: {one_line(f'{one.goal}. {one.summary}')}" for one in strategies], "strategies")


@dataclass
class ModelDreamer(HeuristicDreamer):
    """A language model that answers with programs; what it says of actions counts by their index alone.

    complete: a prompt to a completion.  near: strategies that a trajectory may belong to, which the model may group or
    prune.  most_tokens: what it may spend, None without a limit.  tokens: what it has spent.
    """

    complete: Callable[[str], Completion]
    prompts: DreamPromptBuilder = field(default_factory=DreamPromptBuilder)
    name: str = "model"
    most_tokens: int | None = None
    max_instructions: int = MOST_INSTRUCTIONS
    near: Callable[[Trajectory], Sequence[Strategy]] = lambda _: ()
    tokens: int = 0

    def curate(self, trajectory: Trajectory) -> Curated:
        """What the model's program asks for, as far as it is sound; the summary is the rules' where it has none.

        Raises UnusableAnswer for a program that did not end within the limit, or that keeps nothing.
        """
        near, before, rules = self.near(trajectory), self.tokens, super().curate(trajectory)
        program, found = self._run(self.prompts.curate(trajectory, near), len(trajectory.actions), near)
        whys = {index: one_line(why, _WHY_CHARACTERS) for _, index, why, *_ in found.children}
        critical = {*found.critical, *whys} - {*found.noise}
        told = [(one_line(text), fault.value, "model") for text, fault in found.constraints if text.strip()]
        if not critical and not told:
            raise UnusableAnswer(f"{self.name} answered {one_line(program, 120)!r}, which keeps nothing")
        _, summary, confidence = found.parents[0] if found.parents else ("", "", rules.confidence)
        summary = one_line(summary, _SUMMARY_CHARACTERS)
        return Curated(
            tuple(sorted(critical)), tuple(told[:MOST_LESSONS]), summary or rules.summary, min(confidence, CONFIDENCE[trajectory.outcome]),
            {index: why for index, why in whys.items() if why != _KEPT}, "model" if summary else rules.source,
            tuple(found.groups), tuple(found.prunes), program, self.tokens - before)  # fmt: skip

    def links(self, new: Strategy, near: Sequence[Strategy]) -> list[Link]:
        """The causal edges and context jumps between the new strategy and those near it that the model names."""
        found = dict.fromkeys(self._run(self.prompts.links(new, near), 0, [new, *near])[1].links)
        kept = [link for link in found if link[2] in (Edge.CAUSAL, Edge.CONTEXT_JUMP) and link[0] != link[1]]
        return [(first, second, edge.value) for first, second, edge in kept if new.id in (first, second)]

    def shorten(self, strategy: Strategy) -> str:
        """The model's summary where it is shorter and has words, else ''."""
        text = one_line(self._ask(self.prompts.shorten(strategy)), len(strategy.summary) + 1)
        return text if any(letter.isalnum() for letter in text) and len(text) < len(strategy.summary) else ""

    def _ask(self, prompt: str) -> str:
        if self.most_tokens is not None and self.tokens + count_tokens(prompt) + _ANSWER_TOKENS > self.most_tokens:
            told = f"{self.name} has spent {self.tokens} of the {self.most_tokens} tokens that it may spend"
            raise ModelUnavailable(f"{told}; set dreams.nightTokens for more")
        done = self.complete(prompt)
        text = encodable(done.text[:_READ_CHARACTERS])
        self.tokens += count_tokens(prompt + text) if done.tokens is None else done.tokens
        return text

    def _run(self, prompt: str, actions: int, near: Iterable[Strategy]) -> tuple[str, Effects]:
        nodes, program = {strategy.id for strategy in near}, self._ask(prompt)
        done = run(parse(program), actions=actions, nodes=nodes, max_instructions=self.max_instructions)
        if not done.success:
            raise UnusableAnswer(f"{self.name} answered {one_line(program, 120)!r}: {done.errors[-1]}")
        return program, done.effects


def dreamer_for(home: Home, *, night: bool = False) -> HeuristicDreamer:
    """Who dreams in a home by its setting dreamingModel; at night a model that costs has nightTokens for all that it does.

    Any model of `models` does that has an OpenAI-compatible url; Anthropic's are reached by the one of theirs.

    Raises ConfigError for an unknown model.
    """
    settings, every = dream_settings(home), home.settings
    vectors, most = StrategyVectors(home), settings.isa_max_instructions
    if not (name := settings.dreaming_model):
        return HeuristicDreamer()
    if name not in every.models:
        raise ConfigError(f"dreams.dreamingModel is {name!r}; allowed are '' and the models {', '.join(every.models)}")

    def complete(prompt: str) -> Completion:
        with client_for(name, every) as client:
            return client.complete(prompt, temperature=0.0, max_tokens=_ANSWER_TOKENS)

    def near(trajectory: Trajectory) -> list[Strategy]:
        found = vectors.nearest(vectors_of(home, [trajectory.goal])[0], _NEAR, trajectory.domain)
        return [strategy_by_id(home, one) for one, cosine in found if cosine >= settings.link_similarity]

    limit = settings.night_tokens if night and every.models[name].cost_per_million_tokens else None
    return ModelDreamer(complete, name=name, most_tokens=limit, max_instructions=most, near=near)
