"""What outcomes may say of amounts, and advice under signals with secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from theorex_lab import FixedClock, InvalidInput, Lab

ERROR = ["log_error", "errsig:TypeError: Cannot read /srv/app/x.js:10 at 0xFF"]
AT = "2026-03-10T00:00:00Z"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], Lab]]:
    """Makes empty homes whose clocks stand at the same time."""
    labs: list[Lab] = []

    def make() -> Lab:
        labs.append(Lab(tmp_path / f"home-{len(labs)}", clock=FixedClock.at(AT)))
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()


def test_signals_with_secrets_are_advised_as_they_were_recorded(
    opened: Callable[[], Lab],
) -> None:
    lab = opened()
    signals = ["errsig:login with password=hunter2secret refused"]
    done = lab.causal.record_attempt(signals, {"id": "gene_login"})
    lab.causal.close(done.id, "success")
    advice = lab.causal.get_advice(signals, ["gene_login"])
    assert advice.signal_key == done.signal_key
    assert (
        advice.scores["gene_login"] > 2 / 3
    )  # not by what the gene did elsewhere alone


@pytest.mark.parametrize("amount", [10**400, float("inf"), float("nan"), -1, True])
def test_an_amount_that_no_sum_holds_is_refused(
    opened: Callable[[], Lab], amount: float
) -> None:
    lab = opened()
    done = lab.causal.record_attempt(ERROR, {"id": "gene_a"})
    with pytest.raises(InvalidInput, match="got latency_ms="):
        lab.causal.close(done.id, "success", latency_ms=amount)
    assert lab.causal.get_advice(ERROR, ["gene_a"]).preferred_gene_id is None
