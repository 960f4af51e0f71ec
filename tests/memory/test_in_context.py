"""What a context would have held of what was needed next: counted by hand on small
logs.
"""

from __future__ import annotations

import pytest
from conftest import DAY

from theorex_lab import InvalidInput, make_law
from theorex_lab.eval.metrics.access_log import AccessLog, shares_in_context
from theorex_lab.memory.briefing.token_budget import HEADING_TOKENS
from theorex_lab.memory.next_use import line_tokens, name_bytes

LAWS = {"recency": make_law("recency"), "frequency": make_law("frequency")}
LINE = line_tokens(name_bytes("a.py"))
# Six known files in turn, and a new one beside the last; the scored events are the last
# third of those that ask.
ROUND = [(day * DAY, f"{'abcdef'[day % 6]}.py", str(day), False) for day in range(18)]


def test_the_oracle_misses_only_what_is_new_and_laws_what_they_rank_too_low() -> None:
    log = AccessLog.of([*ROUND, (17 * DAY, "new.py", "17", False)])
    held = shares_in_context(log, LAWS, tokens=HEADING_TOKENS + 5 * LINE)
    assert held["oracle"].tolist() == [1.0, 1.0, 1.0, 0.5]
    assert held["recency"].tolist() == [0.0] * 4, (
        "in a round what is needed next was used longest ago"
    )
    assert shares_in_context(log, LAWS, tokens=HEADING_TOKENS + 6 * LINE)[
        "recency"
    ].tolist() == [1.0, 1.0, 1.0, 0.5]


def test_without_room_nobody_holds_anything() -> None:
    held = shares_in_context(
        AccessLog.of(ROUND), LAWS, tokens=HEADING_TOKENS + LINE - 1
    )
    assert not held[["oracle", *LAWS]].to_numpy().any()


def test_no_law_holds_more_than_the_oracle_and_more_room_never_less() -> None:
    rows = [(n * DAY, f"{n * n % 11}.py", str(n // 2), False) for n in range(120)]
    small, large = (
        shares_in_context(AccessLog.of(rows), LAWS, tokens=tokens)
        for tokens in (60, 120)
    )
    for name in LAWS:
        assert (small[name] <= small["oracle"]).all()
        assert (small[name] <= large[name]).all()
    assert small["timestamp"].is_monotonic_increasing


def test_a_log_too_short_to_ask_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use a longer log"):
        shares_in_context(AccessLog.of(ROUND[:7]), LAWS)
