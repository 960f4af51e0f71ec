"""Replay: what a memory under other settings would have kept, given back, forgotten and been asked for again.

The events are read once, into columns, and never touched. Scans, prunes and graduations that were recorded are
decisions of the settings of their day: a replay takes its own. It graduates and scans at every point of a grid of
times, renders a context there, and prunes nothing. Flash scores are taken as they were recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.config import Settings
from theorex_lab.designs.theorex.short_term import ShortTerm, graduates, graduation_event
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.replay.contexts import ContextReplay, LinePrices
from theorex_lab.experiments.replay.event_log import EventLog, KnownItems, Memory, last_mention, mentions_in
from theorex_lab.experiments.scores.fitting import Curve
from theorex_lab.journal.columns import Columns
from theorex_lab.memory.counts import Integers, Links
from theorex_lab.memory.decay import Floats
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.rows import Rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MAX_STEPS = 100_000
_SCAN_COLUMNS = [
    "active", "mild", "less", "sleeping", "context_items", "context_fixes", "context_avoid", "context_tokens",
    "asked_again", "asked_asleep", "asked_absent",
]  # fmt: skip


class Graduation(NamedTuple):
    """A concept that would have entered an agent's axon: when (µs), which, whose, after how many days in a row."""

    at: int
    concept: str
    agent: str
    days: int


def replay(recorded: EventLog, settings: Settings, *, every_days: float = 1.0, now: int | None = None) -> Replay:
    """What a memory under these settings would have held, had it graduated and scanned every `every_days` days.

    The grid of scans ends at `now` (µs; default: the last mention); what came after `now` is left out. Raises
    InvalidInput where nothing was mentioned by then, or for an `every_days` that is not above 0 or gives over
    100,000 scans; ConfigError for a law that the settings get wrong.

    >>> from theorex_lab.experiments.scores.access_log import AccessLog
    >>> day = 86_400_000_000
    >>> log = AccessLog.of([(0, "a", None, False), (35 * day, "b", None, False), (60 * day, "a", None, False)])
    >>> seen = replay(EventLog.of(log), Settings()).summary()
    >>> seen["active"], seen["less"], seen["asked_again"], seen["asked_asleep"]
    (1, 1, 1, 1)
    """
    return replay_all(recorded, [settings], every_days=every_days, now=now)[0]


def replay_all(
    recorded: EventLog, settings: Sequence[Settings], *, every_days: float = 1.0, now: int | None = None
) -> list[Replay]:
    """`replay` under each of the settings; what does not hang on them is computed once for all."""
    times = _grid(recorded, every_days, now)
    by_graduation: dict[tuple[float, float], list[int]] = {}
    for number, each in enumerate(settings):
        by_graduation.setdefault((each.flush_threshold, each.graduation_threshold), []).append(number)
    found: dict[int, Replay] = {}
    for numbers in by_graduation.values():
        found.update(zip(numbers, _run(recorded, [settings[number] for number in numbers], times), strict=True))
    return [found[number] for number in range(len(settings))]


def _grid(recorded: EventLog, every_days: float, now: int | None) -> Integers:
    """Times of the scans: backwards from the last to the first mention."""
    end = last_mention(recorded) if now is None else now
    first = int(recorded.time[0]) if len(recorded.time) else end + 1
    if not first <= end:
        raise InvalidInput(f"got no mention up to {to_iso(end)}; write something first, or give a later now")
    if not 0 < every_days < np.inf or (end - first) / MICROSECONDS_PER_DAY >= every_days * MAX_STEPS:
        raise InvalidInput(f"got every_days {every_days!r}; allowed is above 0 with at most {MAX_STEPS:,} scans")
    step = round(every_days * MICROSECONDS_PER_DAY)
    return end - step * np.arange((end - first) // step, -1, -1, dtype=np.int64)


def _run(recorded: EventLog, settings: Sequence[Settings], times: Integers) -> list[Replay]:
    """The replays of settings that graduate alike."""
    graduated, entered = _graduations(recorded, times, settings[0])
    memory, lines = Memory(recorded), LinePrices(recorded, (times[-1] - recorded.time[0]) / MICROSECONDS_PER_DAY)
    links = {each.half_life_days: Links.none(recorded.link_ends) for each in settings}
    policies = [ContextReplay(recorded, each) for each in settings]
    bounds = np.searchsorted(recorded.time, times, "right").tolist()
    together = np.searchsorted(recorded.together_time, times, "right").tolist()
    for step, now in enumerate(times.tolist()):
        new = slice(bounds[step - 1] if step else 0, bounds[step])
        item, at = np.unique(recorded.item[new], return_index=True)
        again = memory.counts.count[item] > 0
        item, time = item[again], recorded.time[new][at[again]]
        days_unseen = (time - memory.counts.last[item]) / MICROSECONDS_PER_DAY
        arrived = [mentions_in(recorded, new), *entered.get(step, [])]
        for mentions in arrived:
            memory.take_in(mentions)
        for policy in policies:
            policy.ask(time, item, days_unseen)
            for mentions in arrived:
                policy.asleep[mentions["item"]] = False
        moment = KnownItems(recorded, memory, now)
        prices = lines.concepts(moment)
        both = slice(together[step - 1] if step else 0, together[step])
        for each in links.values():
            each.take_in(recorded.together_link[both], recorded.together_time[both])
        for policy in policies:
            policy.scan(moment, links[policy.settings.half_life_days], lines, prices)
        for half_life, each in links.items():
            each.keep(each.strengths(now, half_life) > 0)
    return [_result(policy, recorded, times, graduated) for policy in policies]


def _result(policy: ContextReplay, recorded: EventLog, times: Integers, graduated: Sequence[Graduation]) -> Replay:
    reasks = [np.concatenate(column) for column in zip(*policy.reasks, strict=True)]
    return Replay(
        recorded, policy.settings, times, np.array(policy.steps), np.array(policy.asked), tuple(policy.injected),
        tuple(graduated), dict(zip(("time", "item", "days_unseen", "asleep"), reasks, strict=True)),
    )  # fmt: skip


def _graduations(
    recorded: EventLog, times: Integers, settings: Settings
) -> tuple[list[Graduation], dict[int, list[Columns]]]:
    """Who graduates, and the mentions that enter with them at each step."""
    view = ShortTerm()
    view.load(recorded.short_term)
    view.records.keep(view.records["score"] >= settings.flush_threshold)
    found: list[Graduation] = []
    entered: dict[int, list[Columns]] = {}
    if not len(view.records):
        return found, entered
    keys = zip(recorded.item_agent.tolist(), recorded.item_id.tolist(), strict=True)
    items = {key: item for item, key in enumerate(keys)}
    for step, now in enumerate(times.tolist()):
        for agent in view.agents:
            for each in graduates(view, now, settings, agent=agent):
                event = graduation_event(view, each, [], settings, agent=agent, at=now)
                view.fold([event])
                found.append(Graduation(now, event.body["surface"], agent, len(each.days)))
                n, item = len(event.body["times"]), items[recorded.agents.index(agent), each.concept_id]
                columns: Columns = {"item": np.full(n, item), "time": np.array(event.body["times"], np.int64)}
                columns["count"], columns["fix_count"] = np.array(event.body["counts"], np.int64), np.zeros(n, np.int64)
                columns["trust"] = np.full(n, TRUST[event.body["source"]])
                entered.setdefault(step, []).append(columns)
    return found, entered


@dataclass(frozen=True, eq=False)
class Replay(Rows[dict[str, Any]]):
    """What a memory under `settings` would have done: a row a scan; `.summary()` has the figures.

    A row holds at, at_days (since the first scan), the items by tier, context_items, context_fixes, context_avoid,
    context_tokens (those charged against the budget: each line rounded up, headings included), asked_again,
    asked_asleep and asked_absent.

    steps   by scan: items ACTIVE, MILD, LESS, SLEEPING; concepts, fixes, what to avoid and tokens in the context
    asked   by scan, for the time since the last: known items mentioned again, those of them asleep, those absent
        from the last context
    shown   by scan: items and sentences in the context, each in its order (positions in `recorded`)
    """

    recorded: EventLog
    settings: Settings
    times: Integers
    steps: Integers
    asked: Integers
    shown: tuple[tuple[Integers, Integers], ...]
    graduations: tuple[Graduation, ...]
    absent: Mapping[str, NDArray[Any]]

    def _records(self) -> Sequence[dict[str, Any]]:
        table = self.frame.assign(at=[to_iso(at) for at in self.times.tolist()])
        names = "at", "at_days", *_SCAN_COLUMNS
        return [dict(zip(names, row, strict=True)) for row in table.itertuples(index=False, name=None)]

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame, times as UTC timestamps."""
        import pandas as pd

        table = pd.DataFrame(np.column_stack([self.steps, self.asked]), columns=_SCAN_COLUMNS)
        table.insert(0, "at", pd.to_datetime(self.times, unit="us", utc=True))
        table.insert(1, "at_days", (self.times - self.times[0]) / MICROSECONDS_PER_DAY)
        return table

    @property
    def injected(self) -> pd.DataFrame:
        """What the context of each scan would have held, a row an entry: at, kind (fix, avoid or concept), text, agent.

        Fixes stand first, newest first, then what to avoid, then concepts, hottest first, whichever agent's they are.
        """
        import pandas as pd

        recorded = self.recorded
        rows = [
            row
            for at, (items, sentences) in zip(self.times.tolist(), self.shown, strict=True)
            for row in (
                *((at, *sentence) for sentence in map(self._sentence, sentences.tolist())),
                *((at, "concept", recorded.names[item], recorded.agents[recorded.item_agent[item]]) for item in items),
            )
        ]
        table = pd.DataFrame(rows, columns=["at", "kind", "text", "agent"])
        return table.assign(at=pd.to_datetime(table["at"].astype("int64"), unit="us", utc=True))

    def _sentence(self, row: int) -> tuple[str, str, str]:
        recorded = self.recorded
        kind = "avoid" if recorded.sentence_avoid[row] else "fix"
        return kind, recorded.sentence_texts[recorded.sentence_text[row]], recorded.owners[recorded.sentence_owner[row]]

    @property
    def reasks(self) -> pd.DataFrame:
        """Items asked for again that were absent from the last context: at, item, agent, days_unseen, asleep."""
        import pandas as pd

        columns = self.absent
        item = columns["item"].tolist()
        return pd.DataFrame(
            {
                "at": pd.to_datetime(columns["time"], unit="us", utc=True),
                "item": [self.recorded.names[number] for number in item],
                "agent": [self.recorded.agents[self.recorded.item_agent[number]] for number in item],
                "days_unseen": columns["days_unseen"],
                "asleep": columns["asleep"],
            }
        )

    def summary(self) -> dict[str, float]:
        """Plain numbers. At the last scan: items, active, mild, less, sleeping. Over all scans: means of what was awake
        and in the context. asked_*: known items mentioned again, those asleep and those absent, and as rates 0..1.
        """
        held, context, asked = self.steps[-1, :4].tolist(), self.steps[:, 4:].mean(axis=0), self.asked.sum(axis=0)
        again = max(int(asked[0]), 1)
        return {
            "items": sum(held),
            **dict(zip(("active", "mild", "less", "sleeping"), held, strict=True)),
            "graduated": len(self.graduations),
            "mean_awake": float(self.steps[:, :3].sum(axis=1).mean()),
            "mean_context_items": float(context[:3].sum()),
            "mean_context_tokens": float(context[3]),
            "asked_again": int(asked[0]),
            "asked_asleep": int(asked[1]),
            "asked_absent": int(asked[2]),
            "asleep_rate": int(asked[1]) / again,
            "absent_rate": int(asked[2]) / again,
        }

    def _days(self) -> Floats:
        days: Floats = (self.times - self.recorded.time[0]) / MICROSECONDS_PER_DAY
        return days

    def __repr__(self) -> str:
        figures = self.summary()
        return (
            f"Replay({figures['items']} items, {figures['sleeping']} asleep; {figures['mean_context_tokens']:.0f} tokens a "
            f"context; asked again {figures['asked_again']}, asleep then {figures['asleep_rate']:.1%})"
        )

    def _shown(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(self.summary().items(), columns=["figure", "value"])


@dataclass(frozen=True, eq=False)
class SettingsComparison(Rows[dict[str, Any]]):
    """Two replays of the same recording side by side: a row a figure, with both values and second less first."""

    first: Replay
    second: Replay
    names: tuple[str, str] = ("first", "second")

    def _records(self) -> Sequence[dict[str, Any]]:
        first, second, one, other = *self.names, self.first.summary(), self.second.summary()
        return [
            {"figure": name, first: one[name], second: other[name], "difference": other[name] - one[name]}
            for name in one
        ]

    def changed(self) -> dict[str, tuple[Any, Any]]:
        """The settings in which the two differ, by name."""
        one, other = self.first.settings.model_dump(), self.second.settings.model_dump()
        return {name: (one[name], other[name]) for name in one if one[name] != other[name]}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Tiers over time under both settings, on one scale, and below them what was asked for again while asleep.

        The three panels are `child_axes` of the Axes returned.
        """
        from theorex_lab.experiments.draw.axes import LINE_COLOURS, new_axes
        from theorex_lab.experiments.draw.plots import plot_occupancy

        ax = new_axes(ax, width=11.0, height=7.0)
        ax.set_axis_off()
        top = 1.05 * max(int(each.steps[:, :4].sum(axis=1).max()) for each in (self.first, self.second))
        below = ax.inset_axes((0.0, 0.0, 1.0, 0.34))
        for number, (name, each) in enumerate(zip(self.names, (self.first, self.second), strict=True)):
            panel = ax.inset_axes((0.54 * number, 0.5, 0.46, 0.46))
            plot_occupancy(each.frame.assign(at_days=each._days()), ax=panel).set(title=name, ylim=(0, top))
            legend = panel.get_legend()
            if number == 1:
                panel.set_ylabel("")
            elif legend is not None:
                legend.remove()
            for column, style, what in ((1, "-", "asleep"), (2, ":", "not in the context")):
                below.step(
                    each._days(), np.cumsum(each.asked[:, column]), style, where="post", label=f"{name}: {what}",
                    color=LINE_COLOURS[number], linewidth=1.8,
                )  # fmt: skip
        below.set(xlabel="Days since the first event", ylabel="Asked for again, so far", ylim=(0, None))
        below.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        below.spines[["top", "right"]].set_visible(False)
        return ax

    def __repr__(self) -> str:
        changed = "; ".join(f"{name}: {one} / {other}" for name, (one, other) in self.changed().items())
        return f"Comparison({self.names[0]}, {self.names[1]}; settings that differ: {changed or 'none'})"


def compare_settings(
    recorded: EventLog,
    settings_a: Settings,
    settings_b: Settings,
    *,
    names: tuple[str, str] = ("first", "second"),
    every_days: float = 1.0,
    now: int | None = None,
) -> SettingsComparison:
    """Any two settings on one page. Raises as `replay` does, and InvalidInput where the names are equal."""
    if names[0] == names[1]:
        raise InvalidInput(f"got the name {names[0]!r} twice; allowed are two different ones")
    one, other = replay_all(recorded, [settings_a, settings_b], every_days=every_days, now=now)
    return SettingsComparison(one, other, names)


def plot_survival(table: Curve, *, ax: Axes | None = None) -> Axes:
    """The curve of `recorded.survival` or `kaplan_meier` with its 95 % interval; time on a square-root scale."""
    from theorex_lab.experiments.draw.axes import LINE_COLOURS, finish_axes, new_axes

    ax, columns = new_axes(ax, width=6.5, height=4.2), table.columns
    days = columns["at_days"]
    ax.fill_between(days, columns["low"], columns["high"], step="post", color=LINE_COLOURS[0], alpha=0.2, linewidth=0)
    ax.step(days, columns["surviving"], where="post", color=LINE_COLOURS[0])
    ax.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0.0)), np.square))
    ax.set(xlim=(0, max(float(days[-1]), 1.0)), ylim=(0, 1.02), xlabel="Days", ylabel="Share not over yet (0 to 1)")
    return finish_axes(ax, title=f"Survival, n = {columns['at_risk'][0]:,} (band: 95 % interval)")
