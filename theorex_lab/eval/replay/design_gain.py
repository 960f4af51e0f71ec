"""Say what one design adds to the briefing: needs covered with it and without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from theorex_lab.core.readable import Report
from theorex_lab.eval.datasets.needs_rows import ProjectNeeds
from theorex_lab.eval.datasets.session_needs import (
    SIMULATED_SESSIONS,
    load_session_needs,
)
from theorex_lab.eval.metrics.needs import (
    ALL_COVERED,
    START_COVERED,
    ContextTexts,
    SessionMean,
)
from theorex_lab.eval.replay.needs import NeedsScore, score_needs
from theorex_lab.eval.replay.needs_contexts import NeedsResult
from theorex_lab.eval.replay.needs_systems import BRIEFING, BRIEFING_WITH
from theorex_lab.memory.briefing.design_lines import design_candidates
from theorex_lab.store.lab import Lab

_WORDS = {
    START_COVERED: "at the start of a session",
    ALL_COVERED: "once the first prompt is known",
}
_FRAME_COLUMNS = (
    "project",
    "when",
    "without",
    "with",
    "gain",
    "ci_low",
    "ci_high",
    "n",
)


@dataclass(frozen=True, eq=False, repr=False)
class DesignGain(Report):
    """What a design adds to the briefing.

    Attributes:
        design: The name of the design.
        score: The scores of the briefing with the design and without it.
        tokens: The budget of the briefing.
    """

    design: str
    score: NeedsScore
    tokens: int

    def _facts(self) -> tuple[str, ...]:
        """Return what matters of it, each in a few words."""
        mean = self._difference(ALL_COVERED, "")
        return self.design, f"{mean.value:+.3f}", f"{self.tokens} tokens"

    def __str__(self) -> str:
        """Return a sentence for each project and figure."""
        return "\n".join(self._verdicts())

    @property
    def _system(self) -> str:
        """Return the name of the briefing with the design."""
        return f"{BRIEFING_WITH}{self.design}"

    def _difference(self, figure: str, project: str) -> SessionMean:
        """Return what the design adds to a figure."""
        return self.score.gain(
            self._system,
            self.tokens,
            figure,
            project=project,
        )

    def _share(self, system: str, figure: str, project: str) -> float:
        """Return the share of needs that a system covers."""
        mean = self.score.value(
            system,
            self.tokens,
            figure,
            project=project,
        )
        return mean.value

    def _verdicts(self) -> Iterator[str]:
        """Yield what the design adds, and whether that is distinguished from zero."""
        for project in self.score.projects:
            for figure, words in _WORDS.items():
                without = self._share(BRIEFING, figure, project)
                with_design = self._share(self._system, figure, project)
                mean = self._difference(figure, project)
                yield (
                    f"{project}, {words}: the briefing covers {without:.3f} of the"
                    f" needs, and {with_design:.3f} with {self.design};"
                    f" {_verdict(self.design, mean)}"
                )

    @property
    def frame(self) -> pd.DataFrame:
        """Return a row for each project and figure.

        The columns are project, when, without and with (the share of needs covered),
        gain with ci_low and ci_high, and n, the sessions.
        """
        rows = []
        for project in self.score.projects:
            for figure, words in _WORDS.items():
                mean = self._difference(figure, project)
                without = self._share(BRIEFING, figure, project)
                with_design = self._share(self._system, figure, project)
                rows.append((project, words, without, with_design, *mean))
        return pd.DataFrame(rows, columns=_FRAME_COLUMNS)

    def pairs(self, project: str = "", *, figure: str = ALL_COVERED) -> pd.DataFrame:
        """Return a row for each session: the share covered without and with the design.

        Args:
            project: The project; '' for the first.
            figure: start or all.
        """
        name = project or self.score.projects[0]
        shares: dict[str, dict[str, float]] = {}
        for row in self.score.results:
            if row.project == name:
                column = "without" if row.system == BRIEFING else "with"
                by_column = shares.setdefault(row.session, {})
                by_column[column] = row.score.figures[figure]
        frame = pd.DataFrame.from_dict(shares, orient="index")
        return frame.dropna().rename_axis("session").reset_index()

    def lines(self, project: str = "") -> pd.DataFrame:
        """Return the lines that stand in the briefing with the design alone.

        The columns are session, line, and tells, the kind of the need that it covers,
        '' for none.

        Args:
            project: The project; '' for the first.
        """
        name = project or self.score.projects[0]
        rows = [row for row in self.score.results if row.project == name]
        without = {row.session: row for row in rows if row.system == BRIEFING}
        added: list[tuple[str, str, str]] = []
        for row in rows:
            if row.system != BRIEFING:
                added += _added_lines(row, without[row.session].context)
        return pd.DataFrame(added, columns=["session", "line", "tells"])


def _verdict(design: str, mean: SessionMean) -> str:
    """Return in words what a mean difference says."""
    interval = f"{mean.value:+.3f} [{mean.ci_low:+.3f}, {mean.ci_high:+.3f}]"
    over = f"{interval} over {mean.n} sessions"
    if mean.ci_low > 0:
        return f"{design} adds {over}."
    if mean.ci_high < 0:
        return f"{design} takes away {over}."
    if mean.ci_low == mean.ci_high == 0:
        return f"{design} adds nothing, {over}."
    return f"the difference is not significantly different from zero, {over}."


def _added_lines(
    result: NeedsResult, without: ContextTexts
) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of a context that another does not have, and what they tell."""
    lines_without = set(without.start.splitlines())
    lines_without.update(without.asked.splitlines())
    kinds = {row.line: row.need.kind for row in result.score.all_needs}
    for text in result.context:
        for line in text.splitlines():
            if line.startswith("- ") and line not in lines_without:
                yield result.session, line.removeprefix("- "), kinds.get(line, "")


def design_gain(
    design: str,
    projects: Sequence[ProjectNeeds] = (),
    *,
    tokens: int = 500,
    progress: bool | None = None,
) -> DesignGain:
    """Score the briefing with a design and without it, session by session.

    Args:
        design: The name of a published design.
        projects: The projects whose needs count, as `load_session_needs` gives them;
            by default the packaged simulation.
        tokens: The budget of the briefing at a start, and again at the prompt.
        progress: Whether there is a bar (None: in a terminal or notebook).

    Returns:
        What the design adds.

    Raises:
        InvalidInput: There is no such design, or the budget is below 1.
    """
    score = score_needs(
        projects or load_session_needs(SIMULATED_SESSIONS),
        [BRIEFING, f"{BRIEFING_WITH}{design}"],
        budgets=[tokens],
        progress=progress,
    )
    return DesignGain(design, score, tokens)


def learnt_lines(lab: Lab) -> pd.DataFrame:
    """Return what the designs of a lab offer a briefing, what is worth most first.

    What they learnt by themselves of the recorded sessions counts too.

    Args:
        lab: The lab, in which the designs did their steps.

    Returns:
        A row for each line, with the columns section, line and weight.
    """
    candidates = design_candidates(lab.home, lab.clock.now(), automatic=True)
    candidates.sort(key=lambda candidate: -candidate.weight)
    columns: dict[str, list[object]] = {
        "section": [line.section for line in candidates],
        "line": [line.text for line in candidates],
        "weight": [line.weight for line in candidates],
    }
    return pd.DataFrame(columns)
