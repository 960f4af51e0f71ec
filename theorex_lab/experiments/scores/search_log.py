"""How well search finds texts of your own log, without labels, and weights that are fitted to it where they help."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from theorex_lab.design import Log
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.logs import load_logs
from theorex_lab.experiments.scores import retrieval
from theorex_lab.experiments.scores.search_weights import fit_weights
from theorex_lab.journal.sqlite.opening import DATABASE_FILE
from theorex_lab.lab import Lab
from theorex_lab.memory.intervals import Interval, bootstrap_mean
from theorex_lab.search.embed import Embedder

_FEWEST_TO_FIT = 20


@dataclass(frozen=True, eq=False)
class SearchScore:
    """How each method finds shortened texts. fitted: what the log's weights gain in nDCG@10 on queries held back.

    Where they were fitted, `found` is over the held-back queries alone.
    """

    name: str
    found: retrieval.Retrieval
    gain: Interval | None = None

    @property
    def helps(self) -> bool:
        """Whether the fitted weights are better than those that ship, by the held-back queries' interval."""
        return self.gain is not None and self.gain.low > 0

    @property
    def adopt(self) -> str:
        """The command that puts the fitted weights in force; '' where they do not help."""
        return f"theorex config set searchWeights '{json.dumps(self.found.weights)}'" if self.helps else ""

    def result(self) -> dict[str, Any]:
        """JSON values: log, n, methods, weights, gain, adopt."""
        gain = self.gain and {"value": self.gain.mean, "low": self.gain.low, "high": self.gain.high}
        told = {"log": self.name, "n": self.found.n, "methods": self.found.result()}
        return {**told, "weights": self.found.weights, "gain": gain, "adopt": self.adopt}


def score_search(logs: Sequence[Log], *, queries: int = 300, seed: int = 0, fit: bool = False,
                 embedder: Embedder | None = None) -> SearchScore:  # fmt: skip
    """Search for texts of the logs by a few of their words, most of which were deleted from them; see `without_words`.

    fit: weights are fitted to every other query, and scored on those between. Raises InvalidInput for fewer than 1
    queries (20 to fit), and for logs without sentences.
    """
    if fit and queries < _FEWEST_TO_FIT:
        raise InvalidInput(f"got {queries} queries; allowed is {_FEWEST_TO_FIT} or more to fit weights to")
    used = retrieval.kept_embedder() if embedder is None else embedder
    made = retrieval.made_logs(logs, queries, seed)
    weights, gain = None, None
    if fit:
        halves = [[replace(log, probes=log.probes[half::2]) for log in made] for half in (0, 1)]
        choices, made = retrieval.choices_of(halves[0], used), halves[1]
        weights = fit_weights(choices, kept=retrieval.MADE_SO, trust=retrieval.TRUST)
    scored = retrieval.score_methods(made, used, weights)
    if fit:
        after, before = (scored.scores[name][:, retrieval.METRICS.index("ndcg@10")] for name in ("fitted", "default"))
        gain = bootstrap_mean(after - before, seed)
    return SearchScore(", ".join(log.name for log in logs), scored, gain)


def logs_to_search(name: str) -> list[Log]:
    """The texts of a home, by its folder; or the logs that `load_logs` gives by this name."""
    if not (Path(name).expanduser() / DATABASE_FILE).exists():
        return load_logs(name)
    with Lab(Path(name).expanduser()) as lab:
        kinds = [kind for item in retrieval.TEXTS.items for kind in item.texts]
        return [Log(name, sorted(lab.journal.tail(0, kinds=kinds), key=lambda event: event.at), [])]
