"""The router that ships, scored: a home that holds the training as recorded calls is asked where each query goes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from theorex_lab.config import ModelSettings, ModelTier
from theorex_lab.dispatch.bus import End, Start
from theorex_lab.dispatch.llm import Attempt
from theorex_lab.experiments.scores.advice import Queries, Training
from theorex_lab.experiments.scores.routing_scores import Floats, Ints
from theorex_lab.journal.event import Event
from theorex_lab.lab import Lab
from theorex_lab.routing.energy import Power
from theorex_lab.routing.heuristic import classify

SUCCESS_FROM = 0.5  # the score from which an answer counts as a success, as an outcome of that score would
MAINS = Power(None, False)
_AT = 0
_TIERS: tuple[ModelTier, ...] = ("small", "medium", "large")


def shipped_choices(calls: Sequence[Event], asked: Queries, models: Sequence[str], sizes: Floats) -> Ints:
    """The model that `route` picks for each query, (queries,), in a home of its own that recorded these calls.

    Every setting is the default's but the models, whose tiers are the thirds of `sizes`.
    """
    with Lab.temporary(models=models_of(models, sizes)) as lab:
        lab.journal.append(calls)
        number = {name: place for place, name in enumerate([*models])}
        picked = cache(lambda text: number[lab.route(text, power=MAINS).model or models[0]])
        return np.array([picked(text) for text in asked.texts], np.int64)


def models_of(names: Sequence[str], sizes: Floats) -> dict[str, ModelSettings]:
    """The models as settings.

    >>> [each.tier for each in models_of(["a", "b"], np.array([0.0, 1.0])).values()]
    ['small', 'large']
    """
    rank = np.argsort(np.argsort(sizes, kind="stable"))
    places = np.rint(rank / max(len(rank) - 1, 1) * (len(_TIERS) - 1)).astype(int).tolist()
    return {name: ModelSettings(tier=_TIERS[place]) for name, place in zip(names, places, strict=True)}


def calls_of(training: Training, models: Sequence[str]) -> list[tuple[Event, Event]]:
    """START and END of a call a training query, as a file of traces imported with --trust-own gives them.

    It holds an attempt of every model, which succeeds from a score of SUCCESS_FROM.
    """
    good = (training.scores >= SUCCESS_FROM).tolist()
    found = []
    for number, (text, successes) in enumerate(zip(training.queries.texts, good, strict=True)):
        start = Start(f"training-{number}", "main", _AT, text, classify(text).query_type, models[0])
        attempts = tuple(Attempt(name, success) for name, success in zip(models, successes, strict=True))
        end = End(start.trace_id, _AT, any(successes), models[0], attempts=attempts)
        found.append((start.event(), end.event(start)))
    return found
