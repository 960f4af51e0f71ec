"""The needs of the simulated sessions: they are packaged, and the log holds what they
say; and what a design adds to the briefing is told from them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from matplotlib import pyplot as plt
from simulate_needs import MOST_STARTS, save_needs, simulate_needs

from theorex_lab import InvalidInput, Lab
from theorex_lab.app import cli
from theorex_lab.core.ids import session_of
from theorex_lab.eval import (
    DesignGain,
    load_session_needs,
    plot_design_gain,
    score_needs,
)
from theorex_lab.eval.datasets.needs_rows import ProjectNeeds
from theorex_lab.eval.datasets.sources import DATA_VARIABLE, packaged
from theorex_lab.eval.metrics.needs import comparable, holds_match
from theorex_lab.eval.replay.design_gain import design_gain, learnt_lines
from theorex_lab.journal.event import Event

SHIPPED = packaged("simulated_needs.jsonl.gz")


@pytest.fixture(scope="module")
def project() -> ProjectNeeds:
    """The packaged needs with their log; no data folder is needed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(DATA_VARIABLE, raising=False)
        (loaded,) = load_session_needs("simulated_sessions")
    return loaded


@pytest.fixture(scope="module")
def texts(project: ProjectNeeds) -> dict[str, str]:
    """By session, all that stands in it."""
    by_session: dict[str, list[str]] = defaultdict(list)
    for line in project.log.lines:
        by_session[line.session] += [line.prompt, line.message, line.inputs]
    return {session: "\n".join(parts) for session, parts in by_session.items()}


def test_the_packaged_needs_are_made_again_byte_for_byte(tmp_path: Path) -> None:
    command = (
        "python tests/helpers/simulate.py --of needs --seed 7 --days 120 --output"
        " datasets/simulated_needs.jsonl.gz"
    )
    assert command in packaged("README.md").read_text(encoding="utf-8")
    output = tmp_path / "again.jsonl.gz"
    rows = simulate_needs(seed=7, days=120)
    save_needs(rows, output, seed=7, days=120)
    assert output.read_bytes() == SHIPPED.read_bytes()
    assert SHIPPED.stat().st_size < 100_000


def test_other_seeds_give_other_needs_and_too_few_days_are_refused() -> None:
    assert simulate_needs(seed=3, days=60) != simulate_needs(seed=4, days=60)
    with pytest.raises(InvalidInput, match="got 2 days"):
        simulate_needs(seed=7, days=2)


def test_every_quote_stands_in_an_earlier_session(
    project: ProjectNeeds, texts: dict[str, str]
) -> None:
    starts: dict[str, int] = {}
    for line in project.log.lines:
        starts.setdefault(line.session, line.at)
    assert len(project.sessions) == MOST_STARTS
    for row in project.sessions:
        for need in row.needs:
            assert need.evidence
            for evidence in need.evidence:
                session = session_of(evidence.session)
                assert starts[session] < row.start
                assert evidence.quote in texts[session]


def test_every_need_can_be_told_in_the_words_of_the_history(
    project: ProjectNeeds,
) -> None:
    for row in project.sessions:
        for need in row.needs:
            quotes = [comparable(evidence.quote) for evidence in need.evidence]
            assert any(holds_match(quote, need) for quote in quotes), need


def test_all_kinds_of_needs_are_there_and_files_are_known(
    project: ProjectNeeds,
) -> None:
    kinds = {need.kind for row in project.sessions for need in row.needs}
    assert kinds == {"rule", "state", "command", "pitfall", "decision", "location"}
    assert all(
        project.touched_files[session_of(row.session)] for row in project.sessions
    )


def test_lines_chosen_with_hindsight_cover_every_need(project: ProjectNeeds) -> None:
    chosen = [row.session for row in project.sessions[:3]]
    score = score_needs(
        [project], ["best_lines"], budgets=[500], sessions=chosen, progress=False
    )
    assert score.value("best_lines", 500, "all").value == 1


def test_the_command_scores_them_without_a_data_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    arguments = ["eval", "needs", "--dataset", "simulated_needs", "--budgets", "150"]
    run = CliRunner().invoke(cli.theorex, [*arguments, "--system", "nothing"])
    assert run.exit_code == 0, run.output
    assert f"simulated_sessions, n = {MOST_STARTS} sessions" in run.output
    refused = CliRunner().invoke(cli.theorex, [*arguments, "--project", "minsky"])
    assert "which has one project" in str(refused.exception)


class _Fixed:
    """Gives the same text at each start."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __call__(
        self, events: Sequence[Event], now: int, prompt: str, tokens: int
    ) -> str:
        return "" if prompt else self._text


def _gain(project: ProjectNeeds, added: str) -> DesignGain:
    """A design that adds these lines to a briefing of one line."""
    briefing = "- Test with `pytest <path> -q`.\n"
    systems = {
        "briefing": lambda: _Fixed(briefing),
        "briefing_with_facts": lambda: _Fixed(briefing + added),
    }
    score = score_needs([project], systems, budgets=[500], progress=False)
    return DesignGain("facts", score, 500)


def test_a_gain_is_paired_by_session_and_said_in_words(project: ProjectNeeds) -> None:
    gain = _gain(project, "- Always leave a comment on a workaround.\n- It rains.\n")
    by_figure = gain.frame.set_index("when")
    at_start = by_figure.loc["at the start of a session"]
    assert at_start["gain"] == pytest.approx(at_start["with"] - at_start["without"])
    assert at_start["ci_low"] > 0
    assert "facts adds +" in str(gain)
    pairs = gain.pairs()
    assert len(pairs) == MOST_STARTS
    assert (pairs["with"] >= pairs["without"]).all()
    lines = gain.lines()
    assert {*lines["line"]} == {"Always leave a comment on a workaround.", "It rains."}
    assert {*lines["tells"]} == {"rule", ""}
    assert not lines.loc[lines["line"] == "It rains.", "tells"].any()


def test_a_design_that_adds_nothing_is_said_to(project: ProjectNeeds) -> None:
    gain = _gain(project, "")
    assert str(gain).count("facts adds nothing, +0.000 [+0.000, +0.000]") == 2
    assert gain.lines().empty


def test_a_gain_is_drawn_session_by_session(project: ProjectNeeds) -> None:
    gain = _gain(project, "- Always leave a comment on a workaround.\n")
    ax = plot_design_gain(gain)
    more = int((gain.pairs()["with"] > gain.pairs()["without"]).sum())
    assert more
    title = f"Of {MOST_STARTS} sessions {more} are told more with facts, 0 less"
    assert ax.get_title() == title
    plt.close("all")


def test_an_unknown_design_is_refused(project: ProjectNeeds) -> None:
    with pytest.raises(InvalidInput, match="briefing_with_nobody"):
        design_gain("nobody", [project], progress=False)


def test_learnt_lines_are_what_designs_offer_the_best_first(
    lab: Lab,
) -> None:
    assert learnt_lines(lab).empty
    lab.facts.write("people/ann", "Ann lives in Bath", source="user")
    lines = learnt_lines(lab)
    assert [*lines.columns] == ["section", "line", "weight"]
    assert lines["line"].str.contains("Ann lives in Bath").any()
    assert lines["weight"].is_monotonic_decreasing
