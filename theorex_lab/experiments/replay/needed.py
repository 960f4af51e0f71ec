"""A metric of sweeps: how high what was used next ranked before each use, under every setting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from theorex_lab.config import Settings
from theorex_lab.designs.theorex.scores import law_of, needed_scores
from theorex_lab.experiments.replay.event_log import EventLog, KnownItems, Memory, mentions_in
from theorex_lab.experiments.scores.access_log import questions, split_questions
from theorex_lab.memory.counts import Integers, Links
from theorex_lab.memory.decay import Floats
from theorex_lab.memory.needed_next import Candidates, Standing, line_tokens, needed_next


def needed_scores_of_log(recorded: EventLog, settings: Sequence[Settings]) -> list[dict[str, float]]:
    """needed_next (see `memory.needed_next`), 0..1, and questions, how many uses were asked, for each of the settings.

    Asked are the uses that `scores.access_log.split` scores; graduations and scans are left out. Where the log's events
    are of one time, the later ones are asked without the links of the earlier. Raises InvalidInput for fewer than six
    uses of 1 to 20 items one of which is known, ConfigError for a law that settings get wrong.

    >>> from theorex_lab.experiments.scores.access_log import AccessLog
    >>> log = AccessLog.of([(day * 86_400_000_000, f"f{day % 3}", None, False) for day in range(30)])
    >>> needed_scores_of_log(EventLog.of(log), [Settings(mild_threshold=0.5), Settings(mild_threshold=1.0)])
    [{'needed_next': 0.3333333333333333, 'questions': 9}, {'needed_next': 0.3333333333333333, 'questions': 9}]
    """
    memory, links = Memory(recorded), Links.none(recorded.link_ends)
    starts, asked = _asked(recorded)
    bounds, done, linked = np.append(starts, len(recorded.time)), 0, 0
    scores = []
    for event in asked.tolist():
        start, now = int(starts[event]), int(recorded.time[starts[event]])
        memory.take_in(mentions_in(recorded, slice(done, start)))
        together = int(np.searchsorted(recorded.together_time, now))
        links.take_in(recorded.together_link[linked:together], recorded.together_time[linked:together])
        done, linked = start, together
        moment = KnownItems(recorded, memory, now)
        wanted = recorded.item_id[recorded.item[start : bounds[event + 1]]]
        rows = np.flatnonzero(np.isin(recorded.item_id[moment.rows], wanted))
        scores.append(needed_scores(settings, partial(_ranked, moment, links, rows)))
    means = np.mean(scores, axis=0).tolist()
    return [{"needed_next": mean, "questions": len(asked)} for mean in means]


def _asked(recorded: EventLog) -> tuple[Integers, Integers]:
    """Where each event's mentions begin, and the events that are asked, by their place among these."""
    starts = np.flatnonzero(np.diff(recorded.event, prepend=-2))
    mentioned = recorded.item_id[recorded.item]
    known, sizes = questions(starts, mentioned, np.zeros(len(mentioned), np.bool_))
    said = recorded.event[starts[known]] >= 0
    return starts, split_questions(known[said], sizes[said])[1]


def _ranked(moment: KnownItems, links: Links, rows: NDArray[np.intp], settings: Settings) -> tuple[Standing, Floats]:
    recorded, law = moment.recorded, law_of(settings)
    raw = law.raw(moment.items(settings, law, links))
    tokens = line_tokens(recorded.item_bytes[moment.rows, 0])
    candidates = Candidates(raw, moment.count, moment.last, recorded.item_id[moment.rows], tokens)
    return needed_next(candidates, rows, settings.context_tokens), law.importance(raw)
