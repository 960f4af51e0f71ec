"""Pictures of a comparison of memories."""

from matplotlib.axes import Axes

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.draw import axes
from theorex_lab.experiments.replay.sessions import SessionReplay
from theorex_lab.experiments.scores.compare import Comparison

WORDS = {
    "mean": "mean of file, edit and term recall", "file": "share of the files needed next",
    "evidence_recall": "share of the evidence given", "answer_words": "share of the answer's words given",
    "stale": "share of the stale events given"}  # fmt: skip
_FIRST = ("mean", "evidence_recall", "answer_words")


def plot_comparison(compared: Comparison, *, score: str = "", mode: str = "inject", ax: Axes | None = None) -> Axes:
    """Draw a score against the tokens given for it, a line for each design, with 95 % intervals; returns the Axes.

    score: '' is the first of mean, evidence_recall, answer_words that was scored.  mode: inject or retrieve. Raises
    InvalidInput for another mode, or a score that no design has.
    """
    ax = axes.new_axes(ax, width=9.0)
    scored = {found for _, at, _, found in compared.cells if at == mode}
    score = score or next((name for name in _FIRST if name in scored), "")
    if score not in scored:
        if score or mode not in ("inject", "retrieve"):
            allowed = ", ".join(sorted(scored)) or "inject, retrieve"
            raise InvalidInput(f"got the score {score!r} in mode {mode!r}; allowed are {allowed}")
        return axes.say(ax, "nothing was scored: the logs hold neither probes nor more than five sessions")
    for number, design in enumerate(compared.designs):
        budgets = compared.plan.budgets
        tokens = [compared.value(design, mode, budget, "tokens").value for budget in budgets]
        value, low, high, _ = zip(*(compared.value(design, mode, budget, score) for budget in budgets), strict=True)
        look = axes.look_of(number, markersize=5, linewidth=1.2)
        axes.draw_interval(ax, tokens, value, low, high, label=design, **look)
    axes.legend_beside(ax)
    first, *_ = ticks = sorted(compared.plan.budgets)
    ax.set_xscale("symlog", linthresh=first)
    ax.set_xticks([0, *ticks], ["0", *map(str, ticks)])
    ax.set_xlim(left=-first / 10)
    unasked = "a session's start" if mode == "inject" else "the question"
    return axes.finish_axes(ax, xlabel=f"tokens given at {unasked} (mean)",
                            ylabel=WORDS.get(score, score.replace("_", " ")), ylim=(0, 1.05),
                            title=f"{', '.join(compared.logs[:3])}: what a context was worth")  # fmt: skip


def plot_sessions(replayed: SessionReplay, *, ax: Axes | None = None) -> Axes:
    """Draw, session by session, the share of the needed files that the context named, beside the files touched last.

    A line is the mean of all sessions up to there; a mark is a session.
    """
    ax, found = axes.new_axes(ax, width=9.0), replayed.frame.dropna(subset=["share"])
    if found.empty:
        return axes.say(ax, "no session needed a file that was known before")
    number = range(1, len(found) + 1)
    for place, (column, label) in enumerate({"share": replayed.design, "recent_files": "recent files"}.items()):
        look = axes.look_of(place)
        ax.scatter(number, found[column], s=14, alpha=0.4, **look)
        ax.plot(number, found[column].expanding().mean(), color=look["color"], label=f"{label}, mean so far")
    axes.legend_beside(ax)
    return axes.finish_axes(ax, xlabel="sessions that needed a known file, in order",
                            ylabel="share of the needed files named", ylim=(-0.03, 1.05),
                            title=f"What {replayed.tokens} tokens at a session's start would have named")  # fmt: skip
