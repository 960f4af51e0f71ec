"""Pictures of a comparison of memories."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from matplotlib.axes import Axes

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.plots import axes
from theorex_lab.evolution.cases import FailureCase, ReviewVerdict
from theorex_lab.evolution.decisive import likely_words
from theorex_lab.evolution.failure_signs import RunStep, read_run
from theorex_lab.memory.intervals import bootstrap_means
from theorex_lab.text.line import one_line

WORDS = {
    "mean": "mean of file, edit and term recall",
    "file": "share of the files needed next",
    "evidence_recall": "share of the evidence given",
    "precision": "share of the items that are evidence",
    "bleed": "share of the items of other projects",
    "answer_words": "share of the answer's words given",
    "stale": "share of the stale events given",
}
_FIRST = ("mean", "evidence_recall", "answer_words")


class ComparedMemories(Protocol):
    """What a picture needs of a comparison, see `Comparison`."""

    @property
    def cells(self) -> Sequence[tuple[str, str, int, str]]:
        """Return what was scored: design, mode, budget, score."""

    @property
    def designs(self) -> Sequence[str]:
        """Return the memories by name."""

    @property
    def logs(self) -> Sequence[str]:
        """Return the logs by name."""

    @property
    def plan(self) -> Any:
        """Return what was asked, among it the budgets."""

    def value(
        self,
        design: str,
        mode: str,
        budget: int,
        score: str,
    ) -> Any:
        """Return a mean with its interval."""


class ReplayedSessions(Protocol):
    """What a picture needs of replayed sessions, see `SessionReplay`."""

    @property
    def frame(self) -> Any:
        """Return a row a session."""

    @property
    def design(self) -> str:
        """Return the memory by name."""

    @property
    def tokens(self) -> int:
        """Return the budget of a context."""


def plot_comparison(
    compared: ComparedMemories,
    *,
    score: str = "",
    mode: str = "inject",
    ax: Axes | None = None,
) -> Axes:
    """Draw a score against the tokens given for it, a line for each design.

    Args:
        compared: The comparison, as `compare` makes it.
        score: The name of the score; '' is the first of mean, evidence_recall,
            answer_words that was scored.
        mode: inject or retrieve.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.

    Raises:
        InvalidInput: The mode is unknown, or no design has the score.
    """
    ax = axes.new_axes(ax, width=9.0)
    score = _chosen_score(compared, score, mode)
    if not score:
        return axes.say(
            ax,
            "nothing was scored: the logs hold neither probes nor more than five"
            " sessions",
        )
    _draw_designs(ax, compared, score, mode)
    axes.legend_beside(ax)
    budgets = sorted(compared.plan.budgets)
    ax.set_xscale("symlog", linthresh=budgets[0])
    ax.set_xticks([0, *budgets], ["0", *map(str, budgets)])
    ax.set_xlim(left=-budgets[0] / 10)
    moment = "a session's start" if mode == "inject" else "the question"
    return axes.finish_axes(
        ax,
        xlabel=f"tokens given at {moment} (mean)",
        ylabel=WORDS.get(score, score.replace("_", " ")),
        ylim=(0, 1.05),
        title=f"{', '.join(compared.logs[:3])}: what a context was worth",
    )


def _draw_designs(
    ax: Axes,
    compared: ComparedMemories,
    score: str,
    mode: str,
) -> None:
    """Draw a line for each design, with 95 % intervals, a point a budget."""
    for number, design in enumerate(compared.designs):
        tokens = []
        values = []
        lows = []
        highs = []
        for budget in compared.plan.budgets:
            mean = compared.value(design, mode, budget, score)
            tokens.append(compared.value(design, mode, budget, "tokens").value)
            values.append(mean.value)
            lows.append(mean.ci_low)
            highs.append(mean.ci_high)
        look = axes.method_look(design, number, markersize=5, linewidth=1.2)
        axes.draw_interval(
            ax,
            tokens,
            values,
            ci_low=lows,
            ci_high=highs,
            label=design,
            **look,
        )


def plot_sessions(replayed: ReplayedSessions, *, ax: Axes | None = None) -> Axes:
    """Draw the share of the needed files that the context named, session by session.

    It is compared with the share that the files touched last cover. A line is the mean
    of all sessions up to there; a mark is a session.

    Args:
        replayed: The sessions, as `replay_sessions` makes them.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.
    """
    ax = axes.new_axes(ax, width=9.0)
    rows = replayed.frame.dropna(subset=["share"])
    if rows.empty:
        return axes.say(ax, "no session needed a file that was known before")
    number = range(1, len(rows) + 1)
    for line, (column, label) in enumerate(
        {"share": replayed.design, "recent_files": "recent files"}.items()
    ):
        look = axes.method_look(label.replace(" ", "_"), line)
        ax.scatter(
            number,
            rows[column],
            s=14,
            alpha=0.4,
            **look,
        )
        ax.plot(
            number,
            rows[column].expanding().mean(),
            color=look["color"],
            label=f"{label}, mean so far",
        )
    axes.legend_beside(ax)
    return axes.finish_axes(
        ax,
        xlabel="sessions that needed a known file, in order",
        ylabel="share of the needed files named",
        ylim=(-0.03, 1.05),
        title=f"What {replayed.tokens} tokens at a session's start would have named",
    )


def _chosen_score(
    compared: ComparedMemories,
    score: str,
    mode: str,
) -> str:
    """Return the score to draw: the wanted one, else the first that was scored.

    It is '' where nothing was scored.

    Raises:
        InvalidInput: The mode is unknown, or no design has the wanted score.
    """
    score_names = {name for _, of_mode, _, name in compared.cells if of_mode == mode}
    if not score:
        score = next((name for name in _FIRST if name in score_names), "")
    if score in score_names:
        return score
    if score or mode not in ("inject", "retrieve"):
        allowed = ", ".join(sorted(score_names)) or "inject, retrieve"
        raise InvalidInput(
            f"got the score {score!r} in mode {mode!r}; allowed are {allowed}"
        )
    return ""


def plot_recall(score: Any, *, ax: Axes | None = None) -> Axes:
    """Draw recall against how many texts come back, a line a method.

    Args:
        score: A Retrieval, each point with its 95 % interval over questions; or a table
            like its frame.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.

    Raises:
        InvalidInput: A column is missing.
    """
    depths = (5, 10, 25, 50)
    table = axes.frame_of(score, *(f"recall@{depth}" for depth in depths))
    ax = axes.new_axes(ax)
    scores = getattr(score, "scores", {})
    if table.empty:
        return axes.say(ax, "nothing was scored yet")
    for number, (method, row) in enumerate(table.iterrows()):
        recalls = [row[f"recall@{depth}"] for depth in depths]
        look = axes.method_look(str(method), number)
        ax.plot(
            depths,
            recalls,
            label=_method_name(str(method)),
            **look,
        )
        intervals = bootstrap_means(scores[method]) if method in scores else ()
        for depth, interval in zip(depths, intervals, strict=False):
            ax.vlines(
                depth,
                interval.ci_low,
                interval.ci_high,
                color=look["color"],
                linewidth=1,
            )
    axes.legend_beside(ax)
    ax.set_xscale("log")
    ax.minorticks_off()
    return axes.finish_axes(
        ax,
        xticks=depths,
        xticklabels=depths,
        xlabel="Texts that come back",
        ylabel="Recall",
        title="Share of the right texts among those that come back",
    )


METHOD_NAMES = {
    "bm25_okapi": "BM25Okapi",
    "letters": "letters",
    "lexical": "words",
    "vector": "vectors",
    "fused": "words +\nvectors",
    "default_words": "default\nwithout\nvectors",
    "default": "default",
}


def _method_name(method: str) -> str:
    """Return a way of searching in words, on one line."""
    return METHOD_NAMES.get(method, method).replace("\n", " ")


def plot_recall_by_kind(
    score: Any,
    *,
    metric: str = "recall@5",
    reasons: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric by kind of question and by method, as a heat map.

    Args:
        score: A Retrieval whose questions have kinds.
        metric: The metric.
        reasons: By kind, what makes it hard, which stands beside its row.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.

    Raises:
        InvalidInput: The metric is unknown.
    """
    table = score.by_kind(metric)
    ax = axes.new_axes(ax, width=11.5, height=1.6 + 0.45 * len(table))
    if table.empty:
        return axes.say(ax, "nothing was scored yet")
    kinds = list(score.kinds)
    axes.heat_map(
        ax,
        table.to_numpy(),
        table.map("{:.2f}".format).to_numpy(),
        rows=[f"{kind} (n = {kinds.count(kind)})" for kind in table.index],
        columns=[METHOD_NAMES.get(name, name) for name in table.columns],
        size=9.5,
        cmap="cividis",
        vmin=0.0,
        vmax=1.0,
    )
    for row, kind in enumerate(table.index):
        reason = (reasons or {}).get(kind, "")
        axes.note(ax, reason, (1.0, row), 8, in_width=True)
    return axes.finish_axes(
        ax,
        title=f"{metric} by kind of question: share of the right texts that come back",
    )


TIMELINE_STEPS = (
    24  # of a longer run the beginning, the end and what is around the marks are drawn
)
FOUND_COLOUR = axes.TIER_COLOURS["ACTIVE"]
LABEL_COLOUR = axes.LINE_COLOURS[0]
_RINGS = {FOUND_COLOUR: 15, LABEL_COLOUR: 20}  # points; the one lies in the other
_TEXT_LANES = 9  # the texts are as wide as so many columns
_TEXT_CHARACTERS = 88
_NAME_CHARACTERS = 24
_TITLE_CHARACTERS = 60
_ENDS = 3
Steps = Sequence[RunStep]
Mark = int | None


def plot_failure(
    case: FailureCase, verdict: ReviewVerdict, *, ax: Axes | None = None
) -> Axes:
    r"""Draw the run of a failure as a timeline, with the decisive step.

    Args:
        case: The failure and its run.
        verdict: The review, which found the decisive step.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.

    >>> from theorex_lab.evolution.outcomes import Outcome
    >>> outcome = Outcome(
    ...     "o1", "main", "deploy", "it broke", False, "2026-03-02T09:00:00Z"
    ... )
    >>> case = FailureCase(outcome, None, (RunStep(0, "main", "deploy"),))
    >>> plot_failure(
    ...     case, ReviewVerdict(0.5, "Try it first.", "rules", 0, "wrong_plan")
    ... ).get_title()
    'main: deploy\nfound: wrong_plan at step 0'
    """
    ax = plot_timeline(case.steps, found=verdict.decisive_step, ax=ax)
    title = one_line(
        f"{case.outcome.agent_id}: {case.outcome.decision}", _TITLE_CHARACTERS
    )
    ax.set_title(f"{title}\n{_words_of_verdict(verdict)}", parse_math=False)
    return ax


def _words_of_verdict(verdict: ReviewVerdict) -> str:
    """Return what a review found: a step, likely ones, or the kind of mistake alone."""
    if verdict.decisive_step is not None:
        return f"found: {verdict.failure_class} at step {verdict.decisive_step}"
    if verdict.likely_steps:
        likely = likely_words(verdict.likely_steps)
        return f"not known; most likely {likely}"
    return f"found: {verdict.failure_class}"


def plot_timeline(
    steps: Steps, *, found: Mark = None, labelled: Mark = None, ax: Axes | None = None
) -> Axes:
    """Draw a run from top to bottom: who took each step, and which one decided.

    Answers of tools are squares, steps that failed are crosses. Of more than 24 steps
    the beginning, the end and those around the marks are drawn, and the axis says so.

    Args:
        steps: The steps of the run.
        found: The index of the decisive step as the review found it; None for none.
        labelled: The index of the decisive step as a person labelled it; None for none.
        ax: Where it is drawn; a new figure by default.

    Raises:
        InvalidInput: A mark is no step of the run.
    """
    marks = [mark for mark in (found, labelled) if mark is not None]
    unknown = set(marks) - {step.index for step in steps}
    if unknown:
        raise InvalidInput(
            f"got the decisive step {unknown.pop()!r} of a run of {len(steps)} steps;"
            " name one of its own"
        )
    n_rows = max(min(len(steps), TIMELINE_STEPS), 3)
    ax = axes.new_axes(
        ax,
        width=10.5,
        height=1.7 + 0.27 * n_rows,
    )
    if not steps:
        return axes.say(ax, "No steps yet: no run was recorded")
    rows = _rows(steps, marks)
    lanes = list(dict.fromkeys(steps[row].agent for row in rows))
    _draw_steps(ax, steps, rows, lanes, {FOUND_COLOUR: found, LABEL_COLOUR: labelled})
    _name_lanes(ax, lanes)
    numbers = [str(steps[row].index) for row in rows]
    ax.set_yticks(range(len(rows)), numbers, fontsize=8)
    ax.set_ylim(len(rows) - 0.5, -0.7)
    n_hidden = len(steps) - len(rows)
    ax.set_ylabel(f"Step ({n_hidden} are not drawn)" if n_hidden else "Step")
    keys = _timeline_keys(found, labelled)
    ax.legend(
        handles=keys,
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        ncols=len(keys),
        frameon=False,
        fontsize=8,
    )
    title = "The run, and the step that decided its failure" if marks else "The run"
    return axes.finish_axes(ax, hidden=("top", "right", "bottom"), title=title)


def _name_lanes(ax: Axes, lanes: Sequence[str]) -> None:
    """Name the columns of agents above them, and leave room for the texts."""
    ax.set_xticks(
        range(len(lanes)),
        [one_line(lane, _NAME_CHARACTERS) for lane in lanes],
        rotation=20,
        ha="left",
        fontsize=8,
        parse_math=False,
    )
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.5, len(lanes) - 0.5 + _TEXT_LANES)


def _timeline_keys(found: Mark, labelled: Mark) -> list[Any]:
    """Return the entries of a timeline's legend: kinds of steps, and the marks."""
    keys = [
        axes.key("an agent's step", "o", color="#444444", ms=6),
        axes.key("what came back", "s", color="#444444", ms=6),
        axes.key("failed", "X", color=FOUND_COLOUR, ms=6),
    ]
    rings = (("found", found, FOUND_COLOUR), ("labelled", labelled, LABEL_COLOUR))
    for name, mark, colour in rings:
        if mark is not None:
            label = f"decisive, {name}"
            keys.append(
                axes.key(
                    label,
                    "o",
                    mfc="none",
                    mec=colour,
                    mew=2,
                    ms=11,
                )
            )
    return keys


def _rows(steps: Sequence[RunStep], marks: Sequence[int]) -> list[int]:
    """Return positions of the steps that are drawn, in order."""
    n = len(steps)
    if n <= TIMELINE_STEPS:
        return list(range(n))
    centres = [k for k, step in enumerate(steps) if step.index in marks] or [0]
    ends = {*range(_ENDS), *range(n - _ENDS, n)}
    near = sorted(
        set(range(n)) - ends,
        key=lambda k: (min(abs(k - centre) for centre in centres), k),
    )
    return sorted([*ends, *near][:TIMELINE_STEPS])


def _draw_steps(
    ax: Axes, steps: Steps, rows: list[int], lanes: list[str], marks: Mapping[str, Mark]
) -> None:
    """Draw each step in the column of its agent with the beginning of its text.

    Around each mark stands a ring of its colour.
    """
    readings = read_run(steps)
    columns = [lanes.index(steps[k].agent) for k in rows]
    ax.plot(
        columns,
        range(len(rows)),
        "-",
        color="#D0D0D0",
        linewidth=1,
        zorder=1,
    )
    for row, (k, column) in enumerate(zip(rows, columns, strict=True)):
        reading = readings[k]
        marker = "X" if reading.failed else "s" if reading.is_result else "o"
        ax.plot(
            column,
            row,
            marker,
            color=FOUND_COLOUR if reading.failed else "#444444",
            ms=7,
            zorder=2,
        )
        rings = [colour for colour, mark in marks.items() if mark == steps[k].index]
        for colour in rings:
            ax.plot(
                column,
                row,
                "o",
                mfc="none",
                mec=colour,
                mew=2,
                ms=_RINGS[colour],
                zorder=3,
            )
        text = one_line(steps[k].text.replace("```", ""), _TEXT_CHARACTERS)
        axes.note(
            ax,
            text,
            (len(lanes) - 0.4, row),
            fontsize=8,
            weight="bold" if rings else "normal",
        )
