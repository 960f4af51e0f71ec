"""Plots: they draw on the Axes given, open nothing, are the same twice, and show the
numbers they were given.
"""

from __future__ import annotations

import gzip
import subprocess
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from conftest import DAY
from drawing import PictureContract, no_window, own_axes  # noqa: F401 - a fixture
from matplotlib.axes import Axes

from theorex_lab import InvalidInput
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.eval.plots import decay
from theorex_lab.eval.plots.axes import TIER_COLOURS
from theorex_lab.eval.replay.context_change import ContextChange, ContextPolicy
from theorex_lab.eval.widgets.decay import (
    context_lists,
    decay_explorer,
    describe_context,
    draw_context,
    log_sources,
)
from theorex_lab.eval.widgets.explorer import to_png
from theorex_lab.memory.decay import Product, Recency, make_law

SIMULATIONS = [
    "simulation of a developer's sessions",
    "simulation of a team of agents",
]

OCCUPANCY = pd.DataFrame(
    {
        "at_days": [0.0, 10.0, 40.0],
        "active": [3, 4, 1],
        "mild": [0, 2, 3],
        "less": [0, 1, 4],
        "sleeping": [0, 0, 2],
    }
)
CHANGE = ContextChange(
    ("a", "b", "c", "d"), 2, ("b", "c", "a", "d"), 2, frozenset("a"), 7.0
)
SHARES = pd.DataFrame(
    {
        "timestamp": pd.to_datetime(
            ["2026-01-01", "2026-01-01", "2026-01-02", "2026-02-01"], utc=True
        ),
        "oracle": [1.0, 1.0, 0.5, 1.0],
        "recency": [0.5, 0.0, 0.5, 1.0],
        "product": [1.0, 0.5, 0.5, 1.0],
    }
)
SCORES = pd.DataFrame(
    {
        "law": ["recency", "product", "frequency"],
        "mrr": [0.3, 0.4, 0.1],
        "ci_low": [0.25, 0.33, 0.08],
        "ci_high": [0.36, 0.45, 0.13],
        "chosen": [False, True, False],
    }
)


def concept_graph(
    n: int = 24, *, agents: int = 1, order: list[int] | None = None
) -> nx.Graph:
    """A ring of concepts of falling importance, with chords; `order` is that in which
    nodes and links are put in.
    """
    tiers = ("ACTIVE", "MILD", "LESS")
    graph = nx.Graph()
    for number in order or range(n):
        graph.add_node(
            number,
            canonical_form=f"concept number {number}",
            agent_id=f"agent-{number % agents}",
            relevance_tier=tiers[3 * number // n],
            importance_weight=1 - number / n,
            frequency_count=n - number,
        )
    for number in order or range(n):
        for other in {(number + 1) % n, (number * 5 + 3) % n} - {number}:
            strength = 0.1 + (number + other) % 5 / 10
            graph.add_edge(number, other, strength=strength, stored_strength=strength)
    return graph


FADING_NOW = pd.Timestamp("2026-03-01T00:00:00Z")
FADING = pd.DataFrame(
    {
        "surface_form": ["cache", "a queue with a name that is far too long", "till"],
        "importance_weight": [1.0, 0.98, 0.4],
        "last_seen": [FADING_NOW - pd.Timedelta(days=days) for days in (1, 2, 40)],
    }
)


def draw_fading(**to: Any) -> Axes:
    now = FADING_NOW.value // 1_000
    return decay.plot_fading(FADING, Product(), now=now, **to)


DRAWINGS: dict[str, Callable[..., Axes]] = {
    "curves": lambda **to: decay.plot_forgetting_curves([Product(), Recency()], **to),
    "fading": draw_fading,
    "context": lambda **to: decay.plot_context_change(CHANGE, **to),
    "graph": lambda **to: decay.plot_graph(concept_graph(agents=2), **to),
    "in_context": lambda **to: decay.plot_in_context(SHARES, tokens=500, **to),
    "law_scores": lambda **to: decay.plot_law_scores(SCORES, **to),
}
EMPTY: dict[str, Callable[..., Axes]] = {
    "context": lambda **to: decay.plot_context_change(
        ContextChange((), 0, (), 0, frozenset(), 0.0), **to
    ),
    "graph": lambda **to: decay.plot_graph(nx.Graph(), **to),
    "in_context": lambda **to: decay.plot_in_context(SHARES[:0], **to),
    "law_scores": lambda **to: decay.plot_law_scores(SCORES[:0], **to),
}


class TestEveryPlot(PictureContract):
    drawings = DRAWINGS
    empty = EMPTY

    def test_it_says_what_is_seen(self) -> None:
        unlabelled = {
            name
            for name, draw in DRAWINGS.items()
            if not draw(ax=own_axes()).get_xlabel()
        }
        assert unlabelled == {"graph"}


def test_names_of_concepts_that_are_as_present_do_not_overlap() -> None:
    ax = draw_fading(ax=own_axes())
    names = {text.get_text() for text in ax.texts}
    assert {"cache", "till"} <= names
    assert not any(name.startswith("a queue") for name in names)
    assert "(3 concepts)" in ax.get_title()


class TestForgettingCurves:
    def test_the_lines_are_the_importances(self) -> None:
        law = Product(half_life_days=10.0)
        once, often = decay.plot_forgetting_curves(
            law, longest_days=40, ax=own_axes()
        ).lines[:2]
        days = once.get_xdata()
        assert days[0] == 0
        assert days[-1] == 40
        np.testing.assert_allclose(once.get_ydata(), 2 ** (-days / 10))
        np.testing.assert_allclose(
            often.get_ydata(), np.minimum(1, (1 + np.log(10)) * 2 ** (-days / 10))
        )

    def test_thresholds_are_lines_between_named_bands(self) -> None:
        ax = decay.plot_forgetting_curves(
            Recency(), active_threshold=0.8, mild_threshold=0.2, ax=own_axes()
        )
        assert [line.get_ydata()[0] for line in ax.lines[-2:]] == [0.8, 0.2]
        assert [text.get_text() for text in ax.texts] == ["ACTIVE", "MILD", "LESS"]

    def test_a_band_too_narrow_for_its_name_has_none(self) -> None:
        ax = decay.plot_forgetting_curves(
            Recency(), active_threshold=0.3, mild_threshold=0.3, ax=own_axes()
        )
        assert [text.get_text() for text in ax.texts] == ["ACTIVE", "LESS"]

    @pytest.mark.parametrize(
        ("laws", "more", "message"),
        [
            ([], {}, "got 0 laws"),
            (Recency(), {"longest_days": 0.0}, "longest_days 0.0"),
            (Recency(), {"longest_days": float("nan")}, "longest_days nan"),
            (
                Recency(),
                {"active_threshold": 0.2},
                "mild_threshold <= active_threshold",
            ),
        ],
    )
    def test_what_cannot_be_drawn_is_refused(
        self, laws: Any, more: dict[str, float], message: str
    ) -> None:
        with pytest.raises(InvalidInput, match=message):
            decay.plot_forgetting_curves(laws, **more)
        assert plt.get_fignums() == []


class TestGraph:
    def test_the_strongest_are_shown_and_the_rest_is_counted(self) -> None:
        ax = decay.plot_graph(concept_graph(57), ax=own_axes())
        assert (
            ax.get_title()
            == "The 40 concepts of highest importance (17 more are not drawn)"
        )
        assert {text.get_text() for text in ax.texts} == {
            f"concept number {number}" for number in range(40)
        }

    @pytest.mark.parametrize("n", [1, 2, 12, 40])
    def test_labels_cover_neither_each_other_nor_the_outside(self, n: int) -> None:
        ax = decay.plot_graph(concept_graph(n))
        ax.figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in ax.texts]
        assert len(boxes) == n
        assert not [
            1 for first, second in combinations(boxes, 2) if first.overlaps(second)
        ]
        assert all(box.x0 >= 0 and box.x1 <= ax.figure.bbox.width for box in boxes)

    def test_the_order_of_insertion_does_not_show(self) -> None:
        order = np.random.default_rng(3).permutation(24).tolist()
        first = decay.plot_graph(concept_graph(24), ax=own_axes())
        second = decay.plot_graph(concept_graph(24, order=order), ax=own_axes())
        assert to_png(first.figure) == to_png(second.figure)

    def test_another_seed_is_another_layout(self) -> None:
        first, second = (
            decay.plot_graph(concept_graph(), seed=seed, ax=own_axes())
            for seed in (0, 1)
        )
        assert to_png(first.figure) != to_png(second.figure)

    def test_size_is_importance_and_colour_is_tier(self) -> None:
        ax = decay.plot_graph(concept_graph(6), ax=own_axes())
        nodes = [line for line in ax.lines if line.get_marker() == "o"]
        sizes = [node.get_markersize() for node in nodes]
        assert sizes == sorted(sizes, reverse=True)
        assert len(set(sizes)) == 6
        assert [node.get_color() for node in nodes[::2]] == [
            TIER_COLOURS[t] for t in ("ACTIVE", "MILD", "LESS")
        ]

    def test_long_or_mathematical_labels_stay_text(self) -> None:
        graph = nx.Graph()
        graph.add_node(
            1,
            canonical_form="$\\frac{" + "x" * 60,
            agent_id="main",
            relevance_tier="MILD",
            importance_weight=0.4,
            frequency_count=1,
        )
        ax = decay.plot_graph(graph, ax=own_axes())
        assert to_png(ax.figure)
        assert ax.texts[0].get_text() == "$\\frac{" + "x" * 18 + "…"


class TestInContext:
    def test_a_line_a_law_best_first_with_its_interval_over_days(self) -> None:
        ax = decay.plot_in_context(SHARES, tokens=500, ax=own_axes())
        assert (
            ax.get_title()
            == "What a context of 500 tokens held of what was needed next"
        )
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert [label.partition(":")[0] for label in labels] == [
            "oracle",
            "product",
            "recency",
            "new",
        ]
        assert labels[1].startswith("product: 0.75 [")
        assert [line.get_ydata().tolist() for line in ax.lines] == [
            SHARES[name].tolist() for name in SHARES.columns[[1, 3, 2]]
        ]

    def test_many_events_are_drawn_as_a_dozen_means(self) -> None:
        many = pd.concat([SHARES] * 30, ignore_index=True).sort_values(
            "timestamp", ignore_index=True
        )
        lines = decay.plot_in_context(many, ax=own_axes()).lines
        assert [len(line.get_xdata()) for line in lines] == [12, 12, 12]
        assert np.mean(lines[0].get_ydata()) == pytest.approx(many["oracle"].mean())


class TestLawScores:
    def test_best_on_top_and_the_chosen_marked(self) -> None:
        ax = decay.plot_law_scores(SCORES, ax=own_axes())
        assert [label.get_text() for label in ax.get_yticklabels()] == [
            "product (chosen)  0.400",
            "recency  0.300",
            "frequency  0.100",
        ]
        bars = [bar.get_segments()[0][:, 0].tolist() for bar in ax.collections]
        np.testing.assert_allclose(bars, [[0.33, 0.45], [0.25, 0.36], [0.08, 0.13]])
        assert ax.get_ylim()[0] > ax.get_ylim()[1]

    def test_the_number_of_events_is_named_and_the_axis_begins_at_nothing(self) -> None:
        ax = decay.plot_law_scores(SCORES, n_scored=1234, ax=own_axes())
        assert ax.get_xlabel() == "Mean reciprocal rank over 1,234 events (0 to 1)"
        assert ax.get_xlim()[0] == 0


@pytest.mark.parametrize(
    ("draw", "table", "missing"),
    [
        (decay.plot_law_scores, SCORES.drop(columns="chosen"), "chosen"),
        (decay.plot_in_context, SHARES.drop(columns="oracle"), "oracle"),
    ],
)
def test_a_missing_column_is_named(
    draw: Callable[..., Axes], table: pd.DataFrame, missing: str
) -> None:
    with pytest.raises(InvalidInput, match=f"without {missing};"):
        draw(table)
    assert plt.get_fignums() == []


HOSTILE = '<img src=x onerror="alert(1)">$a_b$&.py'


def two_weeks(*names: str) -> AccessLog:
    """Files that are used daily, of which the first is used often and long ago."""
    rows = [(hour * DAY // 24, names[0], None, False) for hour in range(20)]
    rows += [
        (day * DAY, names[1 + day % (len(names) - 1)], None, False)
        for day in range(1, 15)
    ]
    return AccessLog.of(rows, of_files=True)


class TestDecayExplorer:
    log = two_weeks("often.py", "one.py", "two.py", HOSTILE)

    def _controls(self) -> dict[str, Any]:
        box = decay_explorer({"two weeks": lambda: self.log})
        names = "source law half_life exponent mild budget moment status picture"
        return dict(zip(names.split(), box.children, strict=True))

    def test_the_drawing_opens_nothing_and_shows_every_item(self) -> None:
        policy = ContextPolicy(make_law("recency"), tokens=60)
        figure = draw_context(self.log, policy)
        assert plt.get_fignums() == []
        dots = figure.axes[0].lines[:4]
        assert sum(len(line.get_xdata()) for line in dots) == 4
        assert to_png(figure) == to_png(draw_context(self.log, policy))

    def test_a_slider_redraws_the_line_the_lists_and_the_picture(self) -> None:
        controls = self._controls()
        status, picture = controls["status"], controls["picture"]
        before = status.value, picture.value
        controls["budget"].value = 100
        policy = ContextPolicy(make_law("product"), 0.3, 100)
        assert describe_context(self.log, policy).split(":")[0] in status.value
        assert picture.value == to_png(draw_context(self.log, policy))
        controls["mild"].value = 1.0
        controls["half_life"].value = 0.5
        assert (status.value, picture.value) != before
        assert "(half-life 0.5 days), from importance 1.00, 100 tokens" in status.value
        assert "lost" in status.value

    def test_a_slider_that_the_law_does_not_read_is_greyed(self) -> None:
        controls = self._controls()
        half_life, exponent = controls["half_life"], controls["exponent"]
        assert (half_life.disabled, exponent.disabled) == (False, True)
        controls["law"].value = "power"
        assert (half_life.disabled, exponent.disabled) == (True, False)
        controls["law"].value = "recency"
        assert (half_life.disabled, exponent.disabled) == (True, True)

    def test_controls_are_described_and_bounded(self) -> None:
        controls = self._controls()
        described = [
            controls[name].description
            for name in ("law", "half_life", "exponent", "mild", "budget", "moment")
        ]
        assert described == [
            "Law",
            "Half-life (days)",
            "Exponent of age",
            "MILD from importance",
            "Tokens",
            "Moment (share of events)",
        ]
        controls["half_life"].value = 1e9
        assert controls["half_life"].value == pytest.approx(120.0)
        controls["budget"].value = 1
        assert controls["budget"].value == 100

    def test_names_of_files_are_escaped(self) -> None:
        controls = self._controls()
        assert "<img" not in controls["status"].value
        assert (
            "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;" in controls["status"].value
        )
        assert bytes(controls["picture"].value).startswith(b"\x89PNG")

    def test_many_names_are_counted(self) -> None:
        names = [f"file{number}.py" for number in range(40)]
        change = ContextChange((*names,), 40, (*names,), 0, frozenset(names[:1]), 7.0)
        text = context_lists(change)
        assert text.count("<li>") == 50
        assert text.count("and 15 more") == 2
        assert text.count("file0.py</li>") == 0
        assert text.count("file0.py (used next)</li>") == 2

    def test_a_redraw_is_quick(self) -> None:
        """Half of the moves of the slider take less than 400 ms of the processor."""
        many = [(n * DAY // 9, f"file{n % 1500}", None, False) for n in range(5_000)]
        box = decay_explorer({"many": lambda: AccessLog.of(many, of_files=True)})
        half_life = box.children[2]
        seconds = []
        for half_life_days in range(10, 100, 10):
            started = time.process_time()
            half_life.value = half_life_days
            seconds.append(time.process_time() - started)
        assert np.median(seconds) < 0.4


class TestSources:
    log = AccessLog.of(
        [(day * DAY, f"file {day % 3}", None, False) for day in range(9)]
    )

    def test_a_source_is_read_once_when_it_is_chosen(self) -> None:
        calls: list[str] = []

        other = two_weeks("a.py", "b.py", "c.py")

        def weeks() -> AccessLog:
            calls.append("weeks")
            return other

        def log() -> AccessLog:
            calls.append("log")
            return self.log

        source, *_, status, picture = decay_explorer(
            {"two weeks": weeks, "nine accesses": log}
        ).children
        assert (source.options, source.value, calls) == (
            ("two weeks", "nine accesses"),
            "two weeks",
            ["weeks"],
        )
        before = status.value, picture.value
        source.value = "nine accesses"
        assert calls == ["weeks", "log"]
        assert "3 items" in status.value
        source.value = "two weeks"
        assert (status.value, picture.value) == before
        assert calls == ["weeks", "log"]

    def test_what_cannot_be_read_says_why_and_the_others_still_show(self) -> None:
        def broken() -> AccessLog:
            raise InvalidInput("row 3 <b>is bad</b>")

        sources = {"broken": broken, "sound": lambda: self.log}
        source, *_, counts, picture = decay_explorer(sources).children
        assert (counts.value, picture.value) == (
            '<p role="status">row 3 &lt;b&gt;is bad&lt;/b&gt;</p>',
            b"",
        )
        source.value = "sound"
        assert "3 items" in counts.value
        assert bytes(picture.value).startswith(b"\x89PNG")

    def test_no_source_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="got no source"):
            decay_explorer({})

    def test_a_log_without_events_says_so(self) -> None:
        box = decay_explorer({"empty": lambda: AccessLog.of([])})
        assert "of a log with 0 events" in box.children[-2].value

    def test_logs_at_hand(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recorded = tmp_path / "data" / "git_touches_helm" / "touches.log.gz"
        recorded.parent.mkdir(parents=True)
        recorded.write_bytes(
            gzip.compress(
                b"\x01abc 86400\nA\tone.py\nA\ttwo.py\n\x01abd 172800\nM\tone.py\n"
            )
        )
        monkeypatch.setenv("THEOREX_DATA", str(recorded.parents[1]))
        found = log_sources(tmp_path)
        assert list(found) == [
            "recorded: git_touches_helm",
            *SIMULATIONS,
        ]
        assert found["recorded: git_touches_helm"]().n_events == 2
        assert found["simulation of a developer's sessions"]().n_events > 100
        assert found["simulation of a team of agents"]().n_events > 500
        (recorded.parents[1] / "coding_sessions").mkdir()
        assert next(iter(log_sources(tmp_path))) == "recorded: coding_sessions"
        monkeypatch.delenv("THEOREX_DATA")
        assert list(log_sources(tmp_path / "not there")) == SIMULATIONS

    @pytest.mark.parametrize(("commits", "there"), [(29, False), (30, True)])
    def test_a_repository_of_thirty_commits_comes_first(
        self, tmp_path: Path, commits: int, there: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("THEOREX_DATA", raising=False)
        stream = "".join(
            f"commit refs/heads/main\ncommitter A <a@example.org> {86_400 * number}"
            f" +0000\ndata 1\nx\nM 100644 inline file{number % 4}.py\ndata"
            f" {len(str(number))}\n{number}\n"
            for number in range(1, commits + 1)
        )
        for arguments, text in (
            (["init", "--quiet", "-b", "main"], ""),
            (["fast-import", "--quiet"], stream),
        ):
            subprocess.run(
                ["git", "-C", str(tmp_path), *arguments],
                input=text,
                text=True,
                check=True,
            )
        (tmp_path / "notebooks").mkdir()
        found = log_sources(tmp_path / "notebooks")
        name = f"your repository: {tmp_path.name}"
        assert (name in found) is there
        if there:
            assert next(iter(found)) == name
            assert found[name]().n_events == 30
