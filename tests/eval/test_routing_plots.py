"""Pictures of routing and the controls over them: they show the numbers they were
given, and follow their settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from conftest import DAY, NOW
from drawing import PictureContract, no_window, own_axes, texts  # noqa: F401 - a fixture
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from theorex_lab import Event, FixedClock, InvalidInput, Lab, Settings, new_event
from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.settings import ModelSettings
from theorex_lab.eval.datasets.recorded_runs import load_local_runs
from theorex_lab.eval.metrics.costs import (
    MatrixSettings,
    ModelRuns,
    home_runs,
    local_routing_set,
    local_runs,
    run_sources,
    score_costs,
    set_runs,
)
from theorex_lab.eval.metrics.routing import PolicyScore
from theorex_lab.eval.plots import routing as plots
from theorex_lab.eval.plots.point_labels import PointLabel, label_points
from theorex_lab.eval.widgets import routing as widgets
from theorex_lab.eval.widgets.explorer import to_png
from theorex_lab.eval.widgets.routing import (
    describe_choices,
    describe_flips,
    describe_trade,
    draw_matrix,
    matrix_explorer,
    success_difference,
)

MODELS = {"careful": ModelSettings(tier="large"), "quick": ModelSettings(tier="small")}


def made_runs(*, settings: Settings | None = None, quick: int = NOW) -> ModelRuns:
    """code: `careful` 9 of 10 in 2 s, `quick` 8 of 10 in 0.5 s; math: `quick` 2 of 3
    without a latency.
    """
    rows = [("code", "careful", number < 9, NOW - DAY, 2_000.0) for number in range(10)]
    rows += [
        ("code", "quick", number < 8, quick - DAY * (number % 3), 500.0)
        for number in range(10)
    ]
    rows += [("math", "quick", number < 2, NOW, math.nan) for number in range(3)]
    return ModelRuns.of(
        rows,
        settings or Settings(models=MODELS, roles=[], matrix_success_weight=0.6),
        NOW,
    )


RUNS = made_runs()
NO_RUNS = ModelRuns.of([], RUNS.settings, NOW)
SCORES = [
    PolicyScore(name, score, score - 0.1, score + 0.1, 0.0, cost, 0.0, 0.0, 0.0)
    for name, score, cost in (
        ("luck", 0.4, 0.3),
        ("oracle", 0.9, 0.2),
        ("heuristic", 0.5, 0.9),
    )
]
LOCAL_SET = local_routing_set(load_local_runs())
FLIPPED = MatrixSettings(success_weight=0.95)

DRAWINGS: dict[str, Callable[..., Axes]] = {
    "matrix": lambda **to: plots.plot_matrix(
        RUNS.matrix(), choices=RUNS.choices(), **to
    ),
    "costs": lambda **to: plots.plot_costs(SCORES, "coins", "a set", **to),
}
EMPTY: dict[str, Callable[..., Axes]] = {
    "matrix": lambda **to: plots.plot_matrix(NO_RUNS.matrix(), **to),
    "costs": lambda **to: plots.plot_costs([], "coins", "a set", **to),
}


class TestEveryPlot(PictureContract):
    drawings = DRAWINGS
    empty = EMPTY


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InvalidInput, match="without ci_low, usable;"):
        plots.plot_matrix(RUNS.matrix().frame.drop(columns=["ci_low", "usable"]))
    assert plt.get_fignums() == []


class TestMatrix:
    def test_every_cell_says_rate_runs_and_interval_and_thin_ones_are_hatched(
        self,
    ) -> None:
        ax = plots.plot_matrix(RUNS.matrix(), ax=own_axes())
        assert texts(ax) == [
            "90%\nn 10, 60–98%",
            "80%\nn 10, 49–94%",
            "67%\nn 3, 21–94%",
        ]
        hatched = [each for each in ax.patches if each.get_hatch()]
        assert [
            (each.get_x(), each.get_y())
            for each in hatched
            if isinstance(each, Rectangle)
        ] == [(0.5, 0.5)]

    def test_the_chosen_cell_of_a_row_is_framed(self) -> None:
        ax = plots.plot_matrix(
            RUNS.matrix(), choices={"code": "quick", "math": None}, ax=own_axes()
        )
        framed = [
            each
            for each in ax.patches
            if isinstance(each, Rectangle) and not each.get_fill()
        ]
        assert [(round(each.get_x()), round(each.get_y())) for each in framed] == [
            (1, 0)
        ]

    def test_models_stand_from_cheap_to_expensive_where_all_costs_are_known(
        self,
    ) -> None:
        rows = [("code", name, True, NOW, 1.0) for name in "abc" for _ in range(6)]
        costs = {"a": 2.0, "b": 3.0, "c": 1.0}
        orders = {}
        for known in ("abc", "ab"):
            priced = {name: costs[name] for name in known}
            runs = ModelRuns.of(rows, Settings(), NOW, costs=priced)
            ax = plots.plot_matrix(runs.matrix(), ax=own_axes())
            orders[known] = [label.get_text() for label in ax.get_xticklabels()]
        assert orders == {"abc": ["c", "a", "b"], "ab": ["a", "b", "c"]}

    @pytest.mark.parametrize("models", [2, 3, 7])
    def test_no_name_of_a_model_covers_another(self, models: int) -> None:
        names = [f"a-long-name-{number} greedy" for number in range(models)]
        rows = [("code", name, True, NOW, 1.0) for name in names for _ in range(6)]
        runs = ModelRuns.of(rows, Settings(), NOW)
        ax = plots.plot_matrix(runs.matrix())
        ax.figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
        assert not any(first.overlaps(second) for first, second in pairwise(boxes))


def test_a_model_that_the_settings_do_not_know_is_not_chosen() -> None:
    known = made_runs(
        settings=Settings(models={"careful": MODELS["careful"]}, roles=[])
    )
    assert known.choices() == {"code": "careful", "math": None}


def test_the_interval_of_a_difference_is_newcombes() -> None:
    """His example (1998, table II): 56 of 70 and 48 of 80 give .0524 to .3339."""
    rows = [("code", "a", number < 56, NOW, 1.0) for number in range(70)]
    rows += [("code", "b", number < 48, NOW, 1.0) for number in range(80)]
    first, second = ModelRuns.of(rows, Settings(), NOW).matrix()
    expected = pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert success_difference(first, second) == expected


def test_a_set_gives_a_run_of_every_model_on_every_training_query() -> None:
    runs = set_runs(LOCAL_SET)
    assert set(runs.settings.models) == set(LOCAL_SET.models)
    assert sum(cell.n for cell in runs.matrix()) == LOCAL_SET.train.scores.size
    successes = sum(cell.n * cell.success_rate for cell in runs.matrix())
    assert successes == pytest.approx(LOCAL_SET.train.scores.sum())


class TestCosts:
    def test_the_line_joins_what_no_other_beats_without_the_oracle_and_wide_costs_are_logarithmic(
        self,
    ) -> None:
        ax = plots.plot_costs(SCORES, "coins", "a set", ax=own_axes())
        assert ax.lines[0].get_xdata().tolist() == [0.3, 0.9]
        names = [text for text in texts(ax) if text]
        assert names == ["luck", "oracle (hindsight)", "heuristic"]
        assert ax.get_xscale() == "linear"
        wide = [SCORES[0], SCORES[2]._replace(cost=30.0)]
        assert (
            plots.plot_costs(wide, "coins", "a set", ax=own_axes()).get_xscale()
            == "log"
        )

    def test_models_stand_beside_the_policies_and_share_a_name_where_they_are_one(
        self,
    ) -> None:
        rows = score_costs(LOCAL_SET)
        ax = plots.plot_costs(
            rows.policies, "ms", "a set", models=rows.models, ax=own_axes()
        )
        assert {row.policy for row in rows.models} == set(LOCAL_SET.models)
        best = "best single model\n(rules)"
        assert best in texts(ax)
        assert "smollm2-135m greedy" in texts(ax)
        assert "rules" not in texts(ax)
        single = next(row for row in rows if row.policy == "best single")
        rules = next(row for row in rows.models if row.policy == "rules")
        assert single[1:] == rules[1:]

    def test_no_name_covers_another_or_leaves_the_picture(self) -> None:
        crowd = [
            PointLabel(f"a name of {number}", 0.5 + number / 100, 0.5, "black")
            for number in range(8)
        ]
        ax = own_axes()
        ax.set(xlim=(0, 1), ylim=(0, 1))
        label_points(ax, crowd, lines=[((0.1, 0.5), (0.9, 0.5))])
        named = [text for text in ax.texts if text.get_text()]
        boxes = [text.get_window_extent() for text in named]
        assert len(boxes) == len(crowd)
        assert not any(
            first.overlaps(second) for first, second in combinations(boxes, 2)
        )
        frame = ax.get_window_extent()
        assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)
        line = ax.transData.transform((0.5, 0.5))[1]
        assert not any(box.y0 < line < box.y1 for box in boxes)

    def test_the_recording_is_split_in_halves(self) -> None:
        found = local_routing_set(load_local_runs(), seed=3)
        assert (len(found.train.scores), len(found.test.scores)) == (82, 82)
        assert found.models[int(found.sizes.argmin())] == "rules"


class TestRuns:
    def test_the_recording_is_laid_out_in_time_by_its_latencies(self) -> None:
        recorded = load_local_runs()
        runs = local_runs()
        elapsed_ms = (runs.now - to_microseconds(recorded.header["date"])) / 1_000
        assert elapsed_ms == pytest.approx(recorded.frame["latency_ms"].sum(), abs=1)
        assert sorted(runs.settings.models) == sorted(
            {cell.model for cell in runs.matrix()}
        )
        cells = runs.evidence.cells()
        assert int(cells.n.sum()) == len(recorded.runs)
        assert int(cells.last.max()) == runs.now

    def test_a_home_gives_its_attempts_and_its_settings(self, tmp_path: Path) -> None:
        home = tmp_path / "home"
        with Lab(home, clock=FixedClock(NOW)) as lab:
            lab.journal.append(
                [*ended("a"), *ended("b", lost=True), *ended("c", outcome_id="o1")]
            )
            wrong = {"outcome_id": "o1", "success": False}
            lab.journal.append(
                [new_event("outcome_scored", wrong, agent="main", at=NOW + 1)]
            )
            lab.config_file.write_text('{"matrixSuccessWeight": 0.9}')
        runs = home_runs(home)
        told = [
            (cell.query_type, cell.model, cell.n, cell.success_rate)
            for cell in runs.matrix()
        ]
        assert told == [("code", "careful", 2.0, 0.5), ("code", "quick", 2.0, 0.0)]
        assert [cell.latency_ms for cell in runs.matrix()] == pytest.approx(
            [40.0, math.nan], nan_ok=True
        )
        assert runs.evidence.cells().last.tolist() == [NOW, NOW]
        with Lab(home) as lab:
            assert [cell.success_rate for cell in lab.matrix()] == [
                cell.success_rate for cell in runs.matrix()
            ]
        assert MatrixSettings.of(runs.settings).success_weight == 0.9
        assert next(iter(run_sources(home))) == f"your home: {home}"

    def test_a_home_without_calls_or_none_at_all_is_no_source_and_is_not_made(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Lab(tmp_path / "empty").close()
        monkeypatch.setenv("THEOREX_HOME", str(tmp_path / "none"))
        assert (
            list(run_sources(tmp_path / "empty"))
            == list(run_sources())
            == ["recorded local runs"]
        )
        assert not (tmp_path / "none").exists()


def ended(
    trace_id: str, *, lost: bool = False, outcome_id: str | None = None
) -> list[Event]:
    """A call that one model failed and the next answered."""
    attempts = [
        {
            "model": "quick",
            "success": False,
            "latency_ms": None,
            "tokens": None,
            "cost": None,
            "error": "silent",
        },
        {
            "model": "careful",
            "success": True,
            "latency_ms": 40.0,
            "tokens": 9,
            "cost": None,
            "error": None,
        },
    ]
    body = {
        "trace_id": trace_id,
        "query_type": "code",
        "success": not lost,
        "lost": lost,
        "model": "careful",
        "tokens": 9,
        "latency_ms": 40.0,
        "error": None,
        "response": "done",
        "attempts": attempts,
        "outcome_id": outcome_id,
    }
    return [
        new_event(
            "trace_ended",
            body,
            agent="main",
            at=NOW,
            event_id=derived_event_id("trace ended", trace_id),
        )
    ]


class TestMatrixExplorer:
    @staticmethod
    def _explorer(**sources: Callable[[], ModelRuns]) -> tuple[Any, ...]:
        return tuple(matrix_explorer(sources or {"made": lambda: RUNS}).children)

    def test_the_drawing_opens_nothing_and_is_the_same_twice(self) -> None:
        assert to_png(draw_matrix(RUNS, FLIPPED)) == to_png(draw_matrix(RUNS, FLIPPED))
        assert plt.get_fignums() == []
        assert to_png(draw_matrix(NO_RUNS))

    def test_the_choices_follow_the_weight(self) -> None:
        _, success, _, _, _, _, measure, status, picture = self._explorer()
        before = picture.value
        assert success.value == 0.6
        success.value = 0.95
        (flip,) = describe_flips(RUNS, FLIPPED)
        lines = describe_choices(RUNS, FLIPPED), flip, describe_trade(RUNS, FLIPPED)
        assert status.value == f'<p role="status">{"<br>".join(lines)}</p>'
        assert flip == (
            "code: careful 90% (60 to 98), 2,000 ms, instead of quick 80% (49 to 94),"
            " 500 ms; +10 points [-24, +42], not significantly different from zero."
        )
        assert lines[2] == (
            "Traded, on the mix of these runs: success 80% → 90%, latency 500 ms → 2,000 ms."
        )
        assert "Flipped: code: quick → careful." in status.value
        assert picture.value == to_png(draw_matrix(RUNS, FLIPPED)) != before
        for shown in ("latency", "cost"):
            measure.value = shown
            drawing = draw_matrix(RUNS, FLIPPED, measure=shown)
            assert picture.value == to_png(drawing) != before

    def test_runs_that_a_cell_needs_take_a_model_out(self) -> None:
        _, _, samples, *_, status, _ = self._explorer()
        samples.value = 11
        assert "Flipped: code: quick → heuristic." in status.value
        samples.value = 1
        assert "Flipped: math: heuristic → quick." in status.value

    def test_the_half_life_ages_what_was_not_used_for_long(self) -> None:
        _, _, _, half_life, *_, status, _ = self._explorer(
            made=lambda: made_runs(quick=NOW - 30 * DAY)
        )
        assert half_life.value == 0
        half_life.value = 7.0
        assert "code: quick → careful" in status.value

    def test_the_controls_take_up_the_settings_of_a_source(self) -> None:
        own = Settings(
            models=MODELS,
            roles=[],
            matrix_success_weight=0.75,
            matrix_min_samples=200,
            matrix_half_life_days=9.0,
        )
        sources = {"made": lambda: RUNS, "own": lambda: made_runs(settings=own)}
        controls = self._explorer(**sources)
        source, success, samples, half_life, margin, confidence, *_ = controls
        *_, status, _ = controls
        source.value = "own"
        assert (success.value, samples.value, half_life.value) == (0.75, 200, 9.0)
        assert margin.value == own.route_margin
        assert confidence.value == own.route_confidence
        assert "Flipped: nothing.<br>Traded: no type has a choice" in status.value

    def test_a_wider_margin_takes_the_cheaper_model(self) -> None:
        rows = [("code", "good", number < 90, NOW, 1.0) for number in range(100)]
        rows += [("code", "cheap", number < 83, NOW, 1.0) for number in range(100)]
        models = {"good": MODELS["careful"], "cheap": MODELS["quick"]}
        runs = ModelRuns.of(
            rows,
            Settings(models=models, roles=[]),
            NOW,
            costs={"good": 9.0, "cheap": 1.0},
        )
        *_, margin, _, _, status, _ = self._explorer(made=lambda: runs)
        assert "chosen: code: good." in status.value
        margin.value = 0.2
        assert "Flipped: code: good → cheap." in status.value
        assert "-7 points [-17, +3], not significantly" in status.value
        assert "success 90% → 83%, latency 1 ms → 1 ms, cost 9 → 1." in status.value

    def test_names_of_a_journal_are_escaped(self) -> None:
        rows = [("<b>code</b>", "quick", True, NOW, 1.0) for _ in range(6)]
        runs = ModelRuns.of(rows, RUNS.settings, NOW)
        *_, status, _ = self._explorer(made=lambda: runs)
        assert "<b>" not in status.value
        assert "&lt;b&gt;code&lt;/b&gt;" in status.value

    def test_another_source_is_drawn_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        drawn = []

        def counted(*args: Any, **options: Any) -> Any:
            drawn.append(args)
            return draw_matrix(*args, **options)

        monkeypatch.setattr(widgets, "draw_matrix", counted)
        own = made_runs(
            settings=Settings(models=MODELS, roles=[], matrix_min_samples=1)
        )
        source, *_ = self._explorer(made=lambda: RUNS, own=lambda: own)
        drawn.clear()
        source.value = "own"
        assert len(drawn) == 1

    def test_what_cannot_be_read_says_why_and_the_others_still_show(self) -> None:
        def broken() -> ModelRuns:
            raise InvalidInput("row 3 <b>is bad</b>")

        source, *_, status, picture = self._explorer(broken=broken, sound=lambda: RUNS)
        assert (status.value, picture.value) == (
            '<p role="status">row 3 &lt;b&gt;is bad&lt;/b&gt;</p>',
            b"",
        )
        source.value = "sound"
        assert bytes(picture.value).startswith(b"\x89PNG")

    def test_no_source_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="got no source"):
            matrix_explorer({})
