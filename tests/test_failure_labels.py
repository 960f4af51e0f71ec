"""Labels of failures: on disk at once, taken back in order, exported whole; and the widget that gives them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from theorex_lab import FixedClock, InvalidInput, Lab, StorageError
from theorex_lab.config import check_settings
from theorex_lab.dispatch.bus import ToolUse
from theorex_lab.dispatch.llm import Attempt, ChainAnswer, Completion
from theorex_lab.dispatch.worker import Dispatcher, DispatchTask
from theorex_lab.experiments.data.datasets import load_local_runs, prompts
from theorex_lab.experiments.data.failure_labels import FailureQueue, local_failures
from theorex_lab.experiments.draw.explorer import to_png
from theorex_lab.experiments.draw.failure_widgets import draw_failure, failure_explorer
from theorex_lab.routing.energy import Power


@pytest.fixture
def lab(tmp_path: Path, clock: FixedClock) -> Iterator[Lab]:
    """A home with three failures: of `main` one with a trace and one without, of `sage` one; and a success."""
    settings = check_settings({"models": {"m": {"tier": "small", "url": "http://localhost:1"}}, "roles": []})
    with Lab(tmp_path / "home", clock=clock, settings=settings) as lab:
        first = lab.outcomes.record("main", "publish the handbook", "it is not online", success=False)
        lab.outcomes.record("sage", "sum the <orders>", "the sum is wrong", success=False)
        lab.outcomes.record("main", "count the tickets", "done", success=True)
        lab.outcomes.record("main", "translate the manual", "nothing came", success=False)
        _run(lab, first.outcome_id)
        yield lab


def _run(lab: Lab, outcome_id: str) -> None:
    def ask(names: Any, *_: Any) -> ChainAnswer:
        tool = ToolUse("run", lab.clock.now(), "Bash", "make publish", "bash: make: command not found")
        dispatcher.bus.publish(tool)
        return ChainAnswer(
            Completion("It is published.", names[0], None, None, latency_ms=1.0), [Attempt(names[0], True, 1.0)]
        )

    dispatcher = Dispatcher(lab.home, power=Power(None, False), ask=ask)
    dispatcher.dispatch(DispatchTask("1", "main", "publish the handbook", outcome_id=outcome_id, trace_id="run"))
    dispatcher.close()


@pytest.fixture
def queue(lab: Lab) -> FailureQueue:
    return FailureQueue(lab)


class TestQueue:
    def test_it_holds_the_failures_oldest_first_with_their_runs(self, queue: FailureQueue) -> None:
        decisions = [queue.case(each).outcome.decision for each in queue.ids]
        assert decisions == ["publish the handbook", "sum the <orders>", "translate the manual"]
        assert [step.agent for step in queue.case(queue.ids[0]).steps][1:3] == ["main", "Bash"]
        assert queue.verdict(queue.ids[0]).decisive_step == 1

    def test_reviewed_failures_stay_in_it(self, lab: Lab) -> None:
        lab.review_failures(reviewer="heuristic")
        assert len(FailureQueue(lab).ids) == 3

    def test_of_one_agent_and_the_newest_alone(self, lab: Lab, queue: FailureQueue) -> None:
        assert FailureQueue(lab, agent="sage").ids == queue.ids[1:2]
        assert FailureQueue(lab, limit=2).ids == queue.ids[1:]

    def test_looking_writes_nothing(self, lab: Lab, queue: FailureQueue) -> None:
        before = lab.journal.last_seq()
        assert len(queue.frame) == 3
        assert lab.journal.last_seq() == before

    def test_a_run_that_was_erased_is_a_failure_without_one(self, lab: Lab) -> None:
        (end,) = lab.journal.tail(0, kinds=["trace_ended"])
        lab.erase(ids=[end.id])
        queue = FailureQueue(lab)
        assert queue.case(queue.ids[0]).trace is None


class TestLabels:
    def test_a_label_is_there_for_the_next_process(self, lab: Lab, queue: FailureQueue, clock: FixedClock) -> None:
        given = queue.label(queue.ids[0], "wrong_code", decisive_step=1, note="  make is missing ")
        with Lab(lab.folder, clock=clock) as other:
            assert FailureQueue(other).labels() == {queue.ids[0]: given}
        assert (given.failure_class, given.decisive_step, given.note) == ("wrong_code", 1, "make is missing")

    def test_a_label_changes_no_score_and_ends_no_waiting(self, lab: Lab, queue: FailureQueue) -> None:
        before = lab.outcomes.outcomes()
        for each in queue.ids:
            queue.label(each, "other")
        assert lab.outcomes.outcomes() == before
        assert [each.outcome_id for each in lab.outcomes.queue()] == queue.ids

    def test_undo_takes_back_from_the_newest_on(self, lab: Lab, queue: FailureQueue) -> None:
        first, second = queue.ids[:2]
        queue.label(first, "wrong_plan")
        queue.label(second, "no_answer")
        queue.label(first, "wrong_code")
        seen = []
        while (taken := FailureQueue(lab).undo()) is not None:
            standing = {each: label.failure_class for each, label in queue.labels().items()}
            seen.append((taken.failure_class, standing))
        assert seen == [
            ("wrong_code", {first: "wrong_plan", second: "no_answer"}),
            ("no_answer", {first: "wrong_plan"}),
            ("wrong_plan", {}),
        ]
        assert lab.verify().ok

    def test_undo_touches_no_label_of_another_queue(self, lab: Lab, queue: FailureQueue) -> None:
        queue.label(queue.ids[1], "no_answer")
        assert FailureQueue(lab, agent="main").undo() is None
        assert list(queue.labels()) == [queue.ids[1]]

    def test_a_label_is_erased_with_its_outcome(self, lab: Lab, queue: FailureQueue) -> None:
        queue.label(queue.ids[0], "wrong_code", note="secret word")
        lab.erase(ids=[queue.ids[0]])
        assert FailureQueue(lab).labels() == {}
        assert "secret word" not in "".join(json.dumps(event.body) for event in lab.journal.tail(0))

    def test_a_judge_s_score_is_no_label(self, lab: Lab, queue: FailureQueue) -> None:
        lab.outcomes.correct(queue.ids[0], judge_score=0.1, reason="poor")
        assert queue.labels() == {}
        assert queue.undo() is None

    def test_the_frame_sets_labels_beside_what_the_rules_find(self, queue: FailureQueue) -> None:
        queue.label(queue.ids[1], "made_up_data", decisive_step=0, note="guessed")
        table = queue.frame.set_index("outcome_id")
        assert table["label_class"].dropna().tolist() == ["made_up_data"]
        assert table.loc[queue.ids[1], ["label_step", "note", "found_step"]].tolist()[:2] == [0, "guessed"]
        assert table.loc[queue.ids[0], "found_step"] == 1

    def test_the_export_holds_the_labelled_ones_a_line_each(self, queue: FailureQueue, tmp_path: Path) -> None:
        file = tmp_path / "labels.jsonl"
        queue.label(queue.ids[0], "wrong_code", decisive_step=1, note="größer\n“quoted”")
        queue.label(queue.ids[2], "other")
        assert queue.export(file) == 2
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
        assert [(row["outcome_id"], row["label_class"], row["label_step"]) for row in rows] == [
            (queue.ids[0], "wrong_code", 1), (queue.ids[2], "other", None),
        ]  # fmt: skip
        assert rows[0]["note"] == "größer\n“quoted”"
        assert set(rows[0]) == set(queue.frame.columns)
        queue.undo()
        assert queue.export(file) == 1

    @pytest.mark.parametrize(
        ("failure_class", "more", "message"),
        [
            ("clumsy", {}, "got the failure class 'clumsy'; allowed are wrong_plan, made_up_data"),
            ("other", {"decisive_step": 5}, "got the decisive step 5; allowed are 0 to 4, or None"),
            ("other", {"decisive_step": -1}, "got the decisive step -1"),
            ("other", {"note": "x" * 301}, "got a note of 301 characters; allowed are up to 300"),
            ("other", {"note": "a\0b"}, "NUL byte"),
            ("other", {"note": "\ud800"}, "surrogate"),
        ],
    )
    def test_what_is_no_label_is_refused_and_nothing_written(
        self, lab: Lab, queue: FailureQueue, failure_class: str, more: dict[str, Any], message: str
    ) -> None:
        before = lab.journal.last_seq()
        with pytest.raises(InvalidInput, match=message):
            queue.label(queue.ids[0], failure_class, **more)
        assert lab.journal.last_seq() == before

    def test_what_is_no_failure_of_the_queue_is_refused(self, lab: Lab, queue: FailureQueue) -> None:
        for call in (queue.case, queue.verdict, lambda each: queue.label(each, "other")):
            with pytest.raises(InvalidInput, match="'o1', which is no failure of this queue"):
                call("o1")
        with pytest.raises(InvalidInput, match="got the limit 0"):
            FailureQueue(lab, limit=0)

    def test_a_file_that_cannot_be_written_is_said(self, queue: FailureQueue, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match="cannot be written"):
            queue.export(tmp_path / "home" / "theorex.db" / "labels.jsonl")


class _Explorer:
    """The widget's parts by what they are called."""

    def __init__(self, queue: FailureQueue, file: Path) -> None:
        self.box = failure_explorer(queue, file)
        self.failure, self.picture, self.fix, self.kind, self.step, self.note, self.file, row, self.status = (
            self.box.children
        )
        self.press = {button.description: button.click for button in row.children}


@pytest.fixture
def explorer(queue: FailureQueue, tmp_path: Path) -> _Explorer:
    return _Explorer(queue, tmp_path / "labels.jsonl")


class TestExplorer:
    def test_it_opens_on_the_first_failure_with_what_the_rules_find(
        self, explorer: _Explorer, queue: FailureQueue
    ) -> None:
        verdict = queue.verdict(queue.ids[0])
        assert (explorer.kind.value, explorer.step.value) == (verdict.failure_class, 1)
        assert explorer.picture.value == to_png(draw_failure(queue.case(queue.ids[0]), verdict))
        assert bytes(explorer.picture.value[:4]) == b"\x89PNG"
        assert "check what is installed" in explorer.fix.value
        assert "0 of 3 are labelled" in explorer.status.value

    def test_label_writes_and_the_status_speaks_of_the_failure_in_view(
        self, explorer: _Explorer, queue: FailureQueue
    ) -> None:
        explorer.kind.value, explorer.step.value, explorer.note.value = "tool_error_ignored", 3, "it went on"
        before = explorer.picture.value
        explorer.press["Label"]()
        label = queue.labels()[queue.ids[0]]
        assert (label.failure_class, label.decisive_step, label.note) == ("tool_error_ignored", 3, "it went on")
        assert explorer.failure.value == queue.ids[0]
        assert explorer.failure.options[0][0].startswith("✓ 1. main: publish")
        assert explorer.note.value == "it went on"
        labelled = draw_failure(queue.case(queue.ids[0]), queue.verdict(queue.ids[0]), queue.labels()[queue.ids[0]])
        assert explorer.picture.value == to_png(labelled) != before
        said = "Failure 1: labelled as tool_error_ignored at step 3. 1 of 3 are labelled."
        assert explorer.status.value == f'<p role="status">{said}</p>'

    def test_next_goes_to_a_failure_without_label_and_says_so(self, explorer: _Explorer, queue: FailureQueue) -> None:
        explorer.press["Label"]()
        explorer.press["Next"]()
        assert (explorer.failure.value, explorer.note.value) == (queue.ids[1], "")
        assert "Failure 2: no label yet; the rules find " in explorer.status.value
        explorer.failure.value = queue.ids[0]
        assert "Failure 1: labelled as " in explorer.status.value

    def test_a_labelled_failure_opens_with_its_label(self, explorer: _Explorer, queue: FailureQueue) -> None:
        explorer.kind.value, explorer.step.value = "no_answer", None
        explorer.press["Label"]()
        explorer.failure.value = queue.ids[0]
        assert (explorer.kind.value, explorer.step.value) == ("no_answer", None)

    def test_undo_goes_back_to_what_was_labelled(self, explorer: _Explorer, queue: FailureQueue) -> None:
        explorer.press["Label"]()
        explorer.press["Undo"]()
        assert queue.labels() == {}
        assert explorer.failure.value == queue.ids[0]
        assert explorer.failure.options[0][0].startswith("1. ")
        explorer.press["Undo"]()
        assert "Failure 1: nothing to undo. 0 of 3" in explorer.status.value

    def test_export_writes_the_file_or_says_why_not(self, explorer: _Explorer, tmp_path: Path) -> None:
        explorer.press["Label"]()
        explorer.press["Export"]()
        assert len((tmp_path / "labels.jsonl").read_text().splitlines()) == 1
        assert "labels.jsonl: 1. 1 of 3 are labelled" in explorer.status.value
        explorer.file.value = str(tmp_path / "home" / "theorex.db" / "x")
        explorer.press["Export"]()
        assert "cannot be written" in explorer.status.value

    def test_a_note_that_is_too_long_is_said_and_not_lost(self, explorer: _Explorer, queue: FailureQueue) -> None:
        explorer.note.value = "x" * 301
        explorer.press["Label"]()
        assert "got a note of 301 characters" in explorer.status.value
        assert (explorer.note.value, explorer.failure.value, queue.labels()) == ("x" * 301, queue.ids[0], {})

    def test_once_all_are_labelled_it_stays_where_it_is(self, explorer: _Explorer, queue: FailureQueue) -> None:
        for _ in queue.ids:
            explorer.press["Next"]()
            explorer.press["Label"]()
        explorer.press["Next"]()
        assert explorer.failure.value == queue.ids[0]
        assert "3 of 3 are labelled" in explorer.status.value

    def test_texts_of_a_run_are_no_markup(self, explorer: _Explorer, queue: FailureQueue) -> None:
        explorer.failure.value = queue.ids[1]
        assert "<orders>" not in explorer.fix.value
        assert "no trace was kept" in explorer.fix.value

    def test_a_queue_without_failures_is_refused(self, tmp_path: Path) -> None:
        with Lab(tmp_path / "other") as lab, pytest.raises(InvalidInput, match="got a queue without failures"):
            failure_explorer(FailureQueue(lab), "labels.jsonl")


def test_the_picture_shows_both_rings(queue: FailureQueue) -> None:
    label = queue.label(queue.ids[0], "tool_error_ignored", decisive_step=3)
    figure = draw_failure(queue.case(queue.ids[0]), queue.verdict(queue.ids[0]), label)
    (ax,) = figure.axes
    assert ax.get_title().endswith("found: wrong_code at step 1; labelled: tool_error_ignored at step 3")
    assert [text.get_text() for text in ax.get_legend().get_texts()][-2:] == ["decisive, found", "decisive, labelled"]


def test_recorded_answers_that_were_refused_make_a_queue() -> None:
    frame = load_local_runs().frame
    failed = frame[(frame["model"] == "smollm2-135m greedy") & ~frame["success"]].iloc[::20]
    with Lab.temporary() as lab:
        queue = local_failures(lab, every=20)
        steps = [[step.text for step in queue.case(each).steps] for each in queue.ids]
        assert [step[0] for step in steps] == [prompts()[task] for task in failed["task_id"]]
        assert [step[1] for step in steps] == failed["response"].tolist()
