"""What other settings change in a context, compared with counts made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import DAY

from theorex_lab import InvalidInput
from theorex_lab.eval.metrics.access_log import AccessLog, LogReplay
from theorex_lab.eval.replay.context_change import (
    ContextPolicy,
    context_change,
    items_before,
    policy_in_force,
    ranked_for_context,
)
from theorex_lab.memory.briefing.token_budget import HEADING_TOKENS
from theorex_lab.memory.decay import Law, make_law
from theorex_lab.memory.next_use import Candidates, line_tokens, name_bytes, needed_next

# `old` was used ten times, then `new` once; after the moment `old` is used again.
ROWS = [(hour * DAY // 24, "old", None, False) for hour in range(10)]
ROWS += [(20 * DAY, "new", None, False), (21 * DAY, "else", None, False)]
ROWS += [(22 * DAY, "old", None, False), (40 * DAY, "new", None, False)]
LOG = AccessLog.of(ROWS)
LINE = line_tokens(name_bytes("else"))
ONE_LINE = HEADING_TOKENS + LINE


def policy(law: str, tokens: int = ONE_LINE) -> ContextPolicy:
    return ContextPolicy(make_law(law), tokens=tokens)


def test_what_is_gained_and_lost_is_judged_by_what_was_used_next() -> None:
    change = context_change(
        LOG, 12, policy("frequency"), compared_with=policy("recency")
    )
    assert change.held == change.gained == ("old",)
    assert change.before == change.lost == ("else",)
    assert change.used == {"old"}  # `new` is used too late
    assert change.sentence() == (
        "Gained 1, of which 1 was used in the next 7 days; lost 1, of which 0 were used."
    )


def test_equal_settings_change_nothing() -> None:
    same = policy("recency")
    change = context_change(LOG, 12, same, compared_with=same)
    assert (change.gained, change.lost) == ((), ())
    assert change.sentence() == "Nothing changes in the context."


def test_a_threshold_leaves_out_what_faded() -> None:
    law = make_law("product", half_life_days=1.0)
    change = context_change(LOG, 12, ContextPolicy(law, 0.3, 500))
    assert change.held == ("else",)
    assert change.ranking[0] == "else"
    assert context_change(LOG, 12, ContextPolicy(law, 0.0, 500)).held == change.ranking


def test_the_days_that_are_told_end_with_the_log() -> None:
    change = context_change(LOG, 12, policy("recency"))
    assert change.next_days == 7.0
    assert context_change(LOG, LOG.n_events - 1, policy("recency")).next_days == 0.0


def test_settings_in_force_are_those_of_files_or_concepts() -> None:
    of_files = AccessLog.of(ROWS, of_files=True)
    assert str(policy_in_force(of_files)) == "power (age^-0.75), 500 tokens"
    assert str(policy_in_force(LOG, 900)) == (
        "product (half-life 14.0 days), from importance 0.30, 900 tokens"
    )


def test_an_event_that_the_log_lacks_is_refused() -> None:
    with pytest.raises(InvalidInput, match="got the event 14 of a log with 14"):
        items_before(LOG, 14)
    with pytest.raises(InvalidInput, match="got the event -1"):
        context_change(LOG, -1, policy("recency"))


@pytest.mark.parametrize("law", [make_law("product"), make_law("power")])
@pytest.mark.parametrize("tokens", [40, 90, 400])
def test_a_context_holds_what_the_measure_of_laws_finds_in_it(
    law: Law, tokens: int
) -> None:
    rows = [(n * DAY // 3, f"f{n * n % 31}.py", None, False) for n in range(200)]
    log = AccessLog.of(rows)
    known = LogReplay(log).snapshots([150])
    order, n_held = ranked_for_context(known, ContextPolicy(law, 0.0, tokens))
    candidates = Candidates(
        law.raw(known.items),
        known.items.count,
        -known.items.age_days,
        known.id,
        known.tokens,
    )
    standing = needed_next(candidates, np.arange(len(known.id)), tokens)
    assert sorted(order[:n_held].tolist()) == np.flatnonzero(standing.inside).tolist()
