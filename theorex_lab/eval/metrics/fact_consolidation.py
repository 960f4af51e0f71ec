"""Score answers from facts that were corrected, as FactConsolidation does.

An answer counts where one of the accepted answers is a part of it, after both were
normalised as SQuAD does: in lower case, without punctuation and articles. Source:
Hu, Wang and McAuley (2025), "Evaluating Memory in LLM Agents via Incremental Multi-Turn
Interactions", arXiv:2507.05257.

All systems but the chains return the first text that they find, a whole statement. It
has more words than an answer, so the measure is more lenient with them.
"""

import re
import string
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from theorex_lab.designs.facts.superseding import Superseding
from theorex_lab.eval.datasets.fact_consolidation import (
    FactRow,
    FactRows,
    fact_rows,
    read_fact_rows,
)
from theorex_lab.eval.datasets.generated_facts import generated_fact_rows
from theorex_lab.eval.datasets.recorder import Recorder
from theorex_lab.eval.metrics.retrieval import found_by, kept_embedder, remembering
from theorex_lab.memory.chains import StatementChains
from theorex_lab.memory.intervals import wilson_of_one
from theorex_lab.search.embed import Embedder
from theorex_lab.store.lab import Lab

WORDS = "words alone"
SEARCH = "search that ships"
CURRENT = "superseding + search"
NEWEST = "newest + search"
CHAINS = "chains"
SYSTEMS = (WORDS, SEARCH, CURRENT, NEWEST, CHAINS)
GENERATED = "generated"
_START = 1_700_000_000_000_000  # µs UTC
_MINUTE = 60_000_000
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised_answer(text: str) -> str:
    """Return an answer as SQuAD compares it.

    >>> normalised_answer("The Lord of the Rings!")
    'lord of rings'
    """
    plain = text.lower().translate(_PUNCTUATION)
    words = _ARTICLES.sub(" ", plain).split()
    return " ".join(words)


def is_substring_match(prediction: str, answers: Sequence[str]) -> bool:
    """Return whether one of the accepted answers is a part of what was answered.

    >>> is_substring_match("The capital of Norway is Oslo.", ["Oslo"])
    True
    >>> is_substring_match("not known", ["Oslo"])
    False
    """
    normalised = normalised_answer(prediction)
    accepted = [normalised_answer(answer) for answer in answers]
    return any(answer and answer in normalised for answer in accepted)


class SystemScore(NamedTuple):
    """How often a system answers the questions of a source.

    Attributes:
        source: Of the row.
        system: One of SYSTEMS.
        n_facts: The statements of the source.
        n: The questions.
        n_right: Those that are answered.
        n_unanswered: Those of which the system says that it does not know.
        seconds: What the questions took, and what was made ready for this system.
    """

    source: str
    system: str
    n_facts: int
    n: int
    n_right: int
    n_unanswered: int
    seconds: float

    def result(self) -> dict[str, Any]:
        """Return the score with its Wilson interval of 95 %."""
        ci_low, ci_high = wilson_of_one(self.n_right, self.n)
        return {
            "source": self.source,
            "system": self.system,
            "n_facts": self.n_facts,
            "n": self.n,
            "substring_match": self.n_right / self.n,
            "ci_low": ci_low,
            "ci_high": ci_high,
            "not_known": self.n_unanswered,
            "seconds": round(self.seconds, 2),
        }


@dataclass(frozen=True)
class FactConsolidationScore:
    """The scores of all sources.

    Attributes:
        dataset: The file, or "generated".
        scores: A score for each source and system.
        damaged: What is wrong with each row that could not be read.
    """

    dataset: str
    scores: tuple[SystemScore, ...]
    damaged: tuple[str, ...] = ()

    @property
    def frame(self) -> pd.DataFrame:
        """The scores as rows."""
        return pd.DataFrame([score.result() for score in self.scores])

    def result(self) -> dict[str, Any]:
        """Return {dataset, n, metrics, baselines, rows, damaged}.

        metrics and baselines are {substring_match, ci_low, ci_high} over all sources:
        of chains, and by the name of each other system. n is the number of questions.
        """
        totals = {system: self._total(system) for system in SYSTEMS}
        chains = totals.pop(CHAINS)
        return {
            "dataset": self.dataset,
            "n": chains["n"],
            "metrics": chains,
            "baselines": totals,
            "rows": [score.result() for score in self.scores],
            "damaged": list(self.damaged),
        }

    def _total(self, system: str) -> dict[str, Any]:
        scores = [score for score in self.scores if score.system == system]
        n = sum(score.n for score in scores)
        n_right = sum(score.n_right for score in scores)
        ci_low, ci_high = wilson_of_one(n_right, n)
        return {
            "n": n,
            "substring_match": n_right / n,
            "ci_low": ci_low,
            "ci_high": ci_high,
        }

    def text(self) -> str:
        """Return the scores as a text."""
        lines = [f"{self.dataset}; substring exact match, 95 % Wilson intervals"]
        if self.dataset == GENERATED:
            lines.append(
                "These facts are generated, and the reader was developed on them. Name"
                " the published file to score it: theorex eval factconsolidation"
                " Conflict_Resolution-00000-of-00001.parquet"
            )
        lines.append(self.frame.round(3).to_string(index=False))
        lines.append(
            f"{CHAINS}: the accepted answer is a part of the answer; the others: a part"
            " of the first text found, which is more lenient"
        )
        lines.append(
            f"{CURRENT}: without what `theorex facts write` replaces; {NEWEST}: without"
            " what the reader of the chains replaces"
        )
        lines += [f"left out, damaged: {problem}" for problem in self.damaged]
        return "\n".join(lines)


def score_fact_consolidation(
    path: str = "", *, embedder: Embedder | None = None, seed: int = 0
) -> FactConsolidationScore:
    """Score systems side by side on the rows of a file.

    Args:
        path: A file of `read_fact_rows`; a generated set where it is empty.
        embedder: The installed one by default.
        seed: Draws the generated set.

    Raises:
        InvalidInput: The file cannot be read, as `read_fact_rows` says.
    """
    rows = read_fact_rows(path) if path else fact_rows(generated_fact_rows(seed))
    scores = score_rows(rows, embedder or kept_embedder())
    return FactConsolidationScore(path or GENERATED, scores, rows.damaged)


def score_rows(rows: FactRows, embedder: Embedder) -> tuple[SystemScore, ...]:
    """Return the scores of all systems on rows, by source.

    Rows with the same facts share what is made ready.
    """
    scores: list[SystemScore] = []
    rows_by_facts: dict[tuple[str, ...], list[FactRow]] = {}
    for row in rows.rows:
        rows_by_facts.setdefault(row.facts, []).append(row)
    for facts, same_rows in rows_by_facts.items():
        scores += _scores_of_facts(facts, same_rows, embedder)
    order = {row.source: index for index, row in enumerate(rows.rows)}
    scores.sort(key=lambda score: (order[score.source], SYSTEMS.index(score.system)))
    return tuple(scores)


def _scores_of_facts(
    facts: Sequence[str], rows: Sequence[FactRow], embedder: Embedder
) -> Iterator[SystemScore]:
    """Yield the scores of all systems on rows of the same facts."""
    started = time.perf_counter()
    chains = StatementChains(facts)
    chains_seconds = time.perf_counter() - started
    log = _log(facts)
    started = time.perf_counter()
    hidden_ids = _ids_without(_active(facts), log, facts)
    hidden_seconds = time.perf_counter() - started
    older_ids = _ids_without(chains.current(), log, facts)
    with remembering(log.log(), embedder) as lab:
        for row in rows:
            yield _score(row, CHAINS, _ChainAnswers(chains), chains_seconds)
            yield _score(row, WORDS, _FirstTexts(lab, "lexical"))
            yield _score(row, SEARCH, _FirstTexts(lab, "default"))
            current = _FirstTexts(lab, "default", hidden_ids)
            yield _score(row, CURRENT, current, hidden_seconds)
            newest = _FirstTexts(lab, "default", older_ids)
            yield _score(row, NEWEST, newest, chains_seconds)


@dataclass(frozen=True)
class _ChainAnswers:
    """Answers by chains of statements."""

    chains: StatementChains

    def answer(self, question: str) -> str:
        answer = self.chains.answer(question)
        return answer.text if answer.path else ""


@dataclass(frozen=True)
class _FirstTexts:
    """Answers by the first text that is found, without those that are hidden."""

    lab: Lab
    method: str
    hidden_ids: frozenset[str] = frozenset()

    def answer(self, question: str) -> str:
        hits = found_by(self.lab, question, self.method)
        for event_id, hit in zip(hits.events, hits.hits, strict=True):
            if event_id not in self.hidden_ids:
                return hit.text
        return ""


def _score(
    row: FactRow,
    system: str,
    answers: _ChainAnswers | _FirstTexts,
    seconds: float = 0.0,
) -> SystemScore:
    """Return how a system answers the questions of a row."""
    started = time.perf_counter()
    n_right = 0
    n_unanswered = 0
    for question in row.questions:
        text = answers.answer(question.text)
        n_right += is_substring_match(text, question.answers)
        n_unanswered += not text
    seconds += time.perf_counter() - started
    n = len(row.questions)
    n_facts = len(row.facts)
    return SystemScore(row.source, system, n_facts, n, n_right, n_unanswered, seconds)


def _log(facts: Sequence[str]) -> Recorder:
    """Return a log in which the facts are stated, a minute apart."""
    log = Recorder("factconsolidation")
    for number, text in enumerate(facts):
        log.wrote(number, _time_of(number), text)
    return log


def _time_of(number: int) -> int:
    """Return when a fact is stated, in µs UTC."""
    return _START + number * _MINUTE


def _active(facts: Sequence[str]) -> frozenset[int]:
    """Return the indices of the facts that hold at the end, as facts are written."""
    statements = Superseding()
    for number, text in enumerate(facts):
        statements.add(str(number), text)
    return frozenset(int(number) for number in statements.active())


def _ids_without(
    holding: frozenset[int], log: Recorder, facts: Sequence[str]
) -> frozenset[str]:
    """Return the ids of the facts that do not hold."""
    return frozenset(
        log.id(number) for number in range(len(facts)) if number not in holding
    )
