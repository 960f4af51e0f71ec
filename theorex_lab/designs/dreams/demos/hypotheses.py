"""Rerun the document's validation of its hypothesis, offline.

The document publishes twelve tests in seven groups, with Gemini's embeddings and a
dreaming model. Here each group runs on made-up traces of the same kinds of work, with
the embedder and the rules of this machine. Each row says what was measured here, what
the document publishes, and whether the claim holds here. A claim that needs a dreaming
model says so, and does not hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theorex_lab.core.progress import working
from theorex_lab.designs.dreams.face import Dreams
from theorex_lab.designs.dreams.temporary import temporary_home
from theorex_lab.memory.retrieve import Searcher

if TYPE_CHECKING:
    from theorex_lab.core.settings import Settings
    from theorex_lab.memory.contract import Home
    from theorex_lab.search.embed import Embedder

_TRACES = Path(__file__).with_name("traces.json")
_ALIKE = (
    (
        "implement JWT authentication tokens",
        "create JSON web token auth system",
        0.9100,
    ),
    ("linear algebra matrix multiplication", "eigenvalue decomposition", 0.7202),
)
_UNLIKE = (
    (
        "implement JWT authentication tokens",
        "bake chocolate chip cookies at 350 degrees",
        0.5407,
    ),
    (
        "linear algebra matrix multiplication",
        "quantum chromodynamics gluon interactions",
        0.5708,
    ),
)
# A domain's trace, the question about it, and the confidence that is published.
_DOMAINS = (
    ("jwt", "how to implement JWT authentication?", 0.897),
    ("fourier", "how do Fourier transforms work?", 0.881),
    ("arc", "how to craft a narrative arc?", 0.805),
    ("experiment", "how to design a controlled experiment?", 0.843),
)
_ISOLATED = {
    "how to create JSON web tokens?": "jwt",
    "how to bake sourdough bread?": "bread",
}
_LIFE = {
    "how to write tests for data processing code?": "pytest",
    "pytest fixtures and test cases": "pytest",
    "pandas data analysis trends": "analysis",
}


class HypothesisResult(NamedTuple):
    """What came of one claim of the document.

    Attributes:
        test: The number and name of the document's test.
        claim: What is claimed.
        here: What was measured here.
        document: What the document publishes.
        holds: Whether the claim holds here.
    """

    test: str
    claim: str
    here: str
    document: str
    holds: bool


class HypothesisReport(NamedTuple):
    """The results, and the embedder with which they were measured."""

    embedder: str
    results: list[HypothesisResult]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        return {
            "embedder": self.embedder,
            "results": [result._asdict() for result in self.results],
        }

    def __str__(self) -> str:
        n_holding = sum(result.holds for result in self.results)
        n_results = len(self.results)
        lines = [f"{n_holding} of {n_results} claims hold here, with {self.embedder}"]
        for result in self.results:
            verdict = "holds" if result.holds else "does not hold"
            lines += [
                "",
                f"{result.test}: {result.claim}: {verdict}",
                f"  here      {result.here}",
                f"  document  {result.document}",
            ]
        return "\n".join(lines)


def made_up_traces() -> dict[str, dict[str, Any]]:
    """Return traces of an agent's work in twelve fields, by name.

    They are made up after those of the document.

    >>> made_up_traces()["bread"]["goal"]
    'master sourdough bread'
    """
    traces: dict[str, dict[str, Any]] = json.loads(_TRACES.read_text("utf-8"))
    return traces


def run_hypotheses(
    settings: Settings | None = None, embedder: Embedder | None = None
) -> HypothesisReport:
    """Rerun all seven tests, each in a home of its own.

    Args:
        settings: The settings; by default those that ship.
        embedder: The embedder; by default the best that there is.

    Raises:
        ModelUnavailable: The embedder does not answer.
    """
    tests: tuple[Callable[[Dreams], list[HypothesisResult]], ...] = (
        _embeddings,
        _domains,
        _isolation,
        _links,
        _failures,
        _accumulation,
        _life_cycle,
    )
    results: list[HypothesisResult] = []
    name = ""
    for number, test in enumerate(tests, start=1):
        what = f"reruns test {number} of {len(tests)}"
        with working(what), temporary_home(settings, embedder) as home:
            name = home.embedder.id
            results += test(_dreams(home))
    return HypothesisReport(name, results)


def _dreams(home: Home) -> Dreams:
    """Return the design's face in a home that no lab opened."""
    return Dreams(home, lambda: Searcher(home))


def _embeddings(dreams: Dreams) -> list[HypothesisResult]:
    """Test 1: pairs of like goals are nearer than pairs of unlike ones."""
    results = []
    for like, unlike in zip(_ALIKE, _UNLIKE, strict=True):
        near = _cosine(dreams, like[0], like[1])
        far = _cosine(dreams, unlike[0], unlike[1])
        result = HypothesisResult(
            "1 embeddings",
            f"{like[0]!r} is nearer to {like[1]!r} than to {unlike[1]!r}",
            f"{near:.3f} against {far:.3f}",
            f"{like[2]:.3f} against {unlike[2]:.3f}",
            near > far,
        )
        results.append(result)
    return results


def _cosine(dreams: Dreams, first: str, second: str) -> float:
    """Return the cosine of two texts."""
    start, end = np.asarray(dreams.home.embedder.embed([first, second]))
    lengths = np.linalg.norm(start) * np.linalg.norm(end)
    return float(start @ end / lengths)


def _learn(dreams: Dreams, *names: str) -> Any:
    """Capture traces, dream once, and return the report of the cycle."""
    traces = made_up_traces()
    for name in names:
        dreams.capture(**traces[name])
    return dreams.dream()


def _domains(dreams: Dreams) -> list[HypothesisResult]:
    """Test 2: the cycle of capture, dream, query and traversal works in each domain."""
    results = []
    for name, question, published in _DOMAINS:
        with temporary_home(dreams.home.settings, dreams.home.embedder) as home:
            domain = _dreams(home)
            report = _learn(domain, name)
            answer = domain.query(question)
            steps = answer.entry_point.steps if answer.entry_point else ()
        result = HypothesisResult(
            "2 domains",
            f"one trace of {name!r} answers {question!r}",
            f"{report.nodes_created} strategy, {answer.path}, confidence"
            f" {answer.confidence:.3f}, {len(steps)} steps",
            f"1 strategy, memory_traversal, confidence {published:.3f}, 3 steps",
            bool(steps),
        )
        results.append(result)
    return results


def _matches(
    dreams: Dreams, test: str, wanted: Mapping[str, str], document: str
) -> list[HypothesisResult]:
    """Return whether each question finds the trace that it is about."""
    traces = made_up_traces()
    results = []
    for question, name in wanted.items():
        answer = dreams.query(question)
        goal = answer.entry_point.goal if answer.entry_point else "no strategy"
        result = HypothesisResult(
            test,
            f"{question!r} finds {traces[name]['goal']!r}",
            f"{goal}, confidence {answer.confidence:.3f}",
            document,
            goal == traces[name]["goal"],
        )
        results.append(result)
    return results


def _isolation(dreams: Dreams) -> list[HypothesisResult]:
    """Test 3: two domains in one memory do not answer for each other."""
    _learn(dreams, "jwt", "bread")
    return _matches(dreams, "3 isolation", _ISOLATED, "the right one")


def _links(dreams: Dreams) -> list[HypothesisResult]:
    """Test 4: theory is linked to the practice that needs it."""
    _learn(dreams, "gradient")
    report = _learn(dreams, "classifier")
    n_links = report.cross_edges_created
    here = f"{n_links} links"
    if not n_links:
        here += "; rules cannot see that one leads to the other: this needs a model"
    return [
        HypothesisResult(
            "4 links",
            "gradient descent is linked to training a classifier",
            here,
            "1 link, causal",
            n_links > 0,
        )
    ]


def _failures(dreams: Dreams) -> list[HypothesisResult]:
    """Test 5: a failure leaves constraints."""
    report = _learn(dreams, "migration")
    constraints = []
    for strategy in dreams.strategies():
        constraints += [constraint.text for constraint in strategy.constraints]
    here = f"{report.constraints_extracted} constraints"
    if constraints:
        here += f", such as {constraints[0]!r}"
    return [
        HypothesisResult(
            "5 failures",
            "a failed migration leaves constraints",
            here,
            "2 constraints",
            report.constraints_extracted > 0,
        )
    ]


def _accumulation(dreams: Dreams) -> list[HypothesisResult]:
    """Test 6: the same work becomes one strategy."""
    first = _learn(dreams, "review")
    second = _learn(dreams, "review again")
    return [
        HypothesisResult(
            "6 accumulation",
            "a second review of code is merged into the first",
            f"{first.nodes_created} made, then {second.nodes_created} made and"
            f" {second.nodes_merged} merged",
            "1 made, then 0 made and 1 merged",
            second.nodes_merged == 1 and not second.nodes_created,
        )
    ]


def _life_cycle(dreams: Dreams) -> list[HypothesisResult]:
    """Test 7: knowledge of several days is found by what it is about."""
    _learn(dreams, "pytest")
    _learn(dreams, "analysis")
    return _matches(dreams, "7 life cycle", _LIFE, "the right one")
