"""Comparisons of memories: what they hold, that they are saved and loaded, and what bad
memories cannot do to them.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import compared_logs as made
import notes_design
import numpy as np
import pytest
from compared_logs import Forgets, Misses, Remembers, asked_log, worked_log
from conftest import DAY, NOW, Run

from theorex_lab import Event, InvalidInput, StorageError, installed, new_event
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery
from theorex_lab.eval.datasets.recorder import Recorder
from theorex_lab.eval.metrics import compare as module
from theorex_lab.eval.metrics.compare import Comparison, compare
from theorex_lab.eval.plots.comparison import plot_comparison
from theorex_lab.eval.replay.baselines import ReplayAdapter, names_of
from theorex_lab.eval.replay.trials import Plan, try_out
from theorex_lab.journal.event import register_kinds

pytestmark = pytest.mark.usefixtures("shared_logs")

RETRIEVED = ("retrieve", 500, "evidence_recall")


def test_it_scores_sessions_and_probes_in_the_order_that_was_given() -> None:
    compared = compare(
        [asked_log(), worked_log()],
        ["recent_files", "nothing", "bm25"],
        budgets=(150, 500),
    )
    assert (compared.logs, compared.designs) == (
        ["asked", "worked"],
        ["recent_files", "nothing", "bm25"],
    )
    assert compared.value("bm25", *RETRIEVED).value == 1.0
    assert compared.value("nothing", *RETRIEVED) == (0.0, 0.0, 0.0, 8)
    assert compared.value("recent_files", "inject", 150, "file").value == 1.0
    assert math.isnan(compared.value("recent_files", "inject", 150, "no score").value)


def test_its_frame_has_a_row_for_each_log_design_mode_budget_and_score() -> None:
    compared = compare(
        [asked_log("one"), asked_log("two")], ["bm25", "nothing"], budgets=(500,)
    )
    frame = compared.frame
    assert list(frame.columns) == [
        "log",
        "design",
        "mode",
        "budget",
        "score",
        "value",
        "ci_low",
        "ci_high",
        "n",
    ]
    assert set(frame.log) == {"one", "two"}
    row = frame.query(
        "log == 'two' and design == 'bm25' and mode == 'retrieve' and score =="
        " 'answer_words'"
    )
    assert row[["value", "n"]].values.tolist() == [[1.0, 8]]
    assert set(compared.costs.columns) == {
        "log",
        "design",
        "cpu_seconds",
        "bytes",
        "problems",
    }


def test_memories_are_named_by_mappings_classes_and_places() -> None:
    named = {"mine": Remembers, "place": "compared_logs:Remembers"}
    compared = compare([asked_log()], named, budgets=(500,))
    assert compared.designs == ["mine", "place"]
    assert compared.value("mine", *RETRIEVED) == compared.value("place", *RETRIEVED)
    assert list(names_of([Remembers, "compared_logs:Misses"])) == [
        "Remembers",
        "compared_logs:Misses",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["recal"], "got the memory 'recal'; allowed are sessions, theorex"),
        ({"mine": "recal"}, "got the memory 'recal'"),
        (["bm25", "bm25"], "got bm25 twice"),
        (["compared_logs:Nobody"], "compared_logs:Nobody.*give module:Name"),
        (["no_module:Nobody"], "No module named"),
    ],
)
def test_a_wrong_name_is_refused_before_anything_is_run(
    given: list[str], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        compare([asked_log()], given)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"budgets": (0,)}, "got the budgets"),
        ({"budgets": ()}, "got the budgets"),
        ({"every_days": 0}, "every_days 0"),
    ],
)
def test_a_wrong_plan_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        compare([asked_log()], ["nothing"], **more)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="allowed is one or more, each once"):
        compare([asked_log(), asked_log()], ["nothing"])


def values_of(compared: Comparison) -> str:
    """All that was scored, as JSON, without what depends on the clock."""
    told = compared.to_dict("nothing")
    return json.dumps(
        {name: told[name] for name in ("designs", "logs", "paired")}, sort_keys=True
    )


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_give_what_one_thread_gives(executor: type[Executor]) -> None:
    logs = [asked_log(), worked_log()]
    names = ["recent_files", "compared_logs:Remembers", "nothing"]
    with executor(2) as running:  # type: ignore[call-arg]
        side_by_side = compare(logs, names, budgets=(150,), executor=running)
    alone = compare(logs, names, budgets=(150,))
    assert values_of(side_by_side) == values_of(alone)
    assert side_by_side.designs == names


def test_the_seed_draws_the_intervals_and_nothing_else() -> None:
    one, same, other = (
        compare([worked_log(n=20)], ["recent_files"], budgets=(12,), seed=seed).frame
        for seed in (0, 0, 1)
    )
    assert one.equals(same)
    assert one.value.equals(other.value)
    assert not one.ci_low.equals(other.ci_low)


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    compared = compare(
        [asked_log(), worked_log()], [Remembers, "nothing"], budgets=(150,)
    )
    compared.save(kept)
    loaded = Comparison.load(kept)
    assert (loaded.plan, loaded.logs, loaded.designs) == (
        compared.plan,
        compared.logs,
        compared.designs,
    )
    assert loaded.to_dict("nothing") == compared.to_dict("nothing")
    assert [len(trial.given) for trial in loaded.trials] == [
        len(trial.given) for trial in compared.trials
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]


@pytest.mark.parametrize(
    "content",
    ["", "my precious notes", "{}", '{"plan": {"budgets": [1]}, "trials": [1]}'],
)
def test_a_file_that_holds_no_comparison_is_refused_and_left_alone(
    content: str, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "notes"
    file.write_text(content)
    with pytest.raises(InvalidInput, match="holds no comparison"):
        Comparison.load(file)
    ended = run(
        "compare", "--log", "simulated_team", "--design", "nothing", "--out", str(file)
    )
    assert ("allowed is a folder" in ended.err, file.read_text()) == (True, content)


def test_a_place_for_a_comparison_that_is_none_is_told_before_the_work(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "no" / "kept.json"
    ended = run(
        "compare", "--log", "simulated_team", "--design", "nothing", "--out", str(file)
    )
    assert "in a folder that is there" in ended.err
    with pytest.raises(StorageError, match="cannot be written.*give another file"):
        compare([asked_log()], ["nothing"], budgets=(150,)).save(file)
    with pytest.raises(StorageError, match="cannot read"):
        Comparison.load(file)


def test_progress_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    compare([asked_log()], ["nothing", "bm25"], budgets=(150,), progress=True)
    assert "2/2" in capsys.readouterr().err


def test_a_verdict_says_better_worse_or_not_enough() -> None:
    compared = compare(
        [asked_log()],
        {"good": Remembers, "bad": Misses, "same": Remembers},
        budgets=(500,),
    )
    paired = (
        compared.paired("same")
        .query("mode == 'retrieve'")
        .set_index(["design", "score"])["verdict"]
    )
    assert paired["bad", "evidence_recall"] == "worse"
    assert paired["good", "evidence_recall"] == "not enough evidence"
    assert paired["bad", "tokens"] == "not enough evidence", (
        "neither more nor fewer tokens are better"
    )
    against_bad = compared.paired("bad").set_index(["design", "mode", "score"])[
        "verdict"
    ]
    assert against_bad["good", "retrieve", "evidence_recall"] == "better"
    with pytest.raises(InvalidInput, match="allowed are good, bad, same"):
        compared.paired("nobody")


def test_a_stale_answer_is_worse_and_few_pairs_say_nothing() -> None:
    compared = compare(
        [asked_log()], {"bad": Misses, "nothing": "nothing"}, budgets=(500,)
    )
    stale = compared.difference(
        "bad", "nothing", mode="retrieve", budget=500, score="stale"
    )
    assert stale.verdict == "worse"
    few = compare(
        [asked_log(n=3)], {"good": Remembers, "nothing": "nothing"}, budgets=(500,)
    )
    mode, budget, score = RETRIEVED
    assert few.difference("good", "nothing", mode=mode, budget=budget, score=score) == (
        1.0,
        1.0,
        1.0,
        3,
        "not enough evidence",
    )


def test_from_five_logs_on_logs_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs of which some are answered whole and others not at all: drawn as logs they
    say less than as probes.
    """

    def width(n: int) -> float:
        monkeypatch.setattr(module, "_FEW_LOGS", n)
        found = compared.value("half", *RETRIEVED)
        return found.ci_high - found.ci_low

    logs = [asked_log(f"log{number}", 8 if number % 2 else 3) for number in range(6)]
    compared = compare(logs, {"half": made.Half}, budgets=(500,))
    assert width(5) > 1.2 * width(7)


# Memories that do wrong.

CALM = ("nothing", "compared_logs:Remembers")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Raises", "retrieve: retrieve raised KeyError"),
        ("Exits", "retrieve: retrieve raised SystemExit: 3"),
        ("Hangs", "retrieve: retrieve did not answer within 0.2 s"),
        ("HangsInItsItems", "retrieve: retrieve did not answer within 0.2 s"),
        (
            "Invents",
            (
                "retrieve: got an item that rests on an unknown id; allowed are events"
                " that it was shown before"
            ),
        ),
        ("Spends", "allowed were 500"),
        ("GivesNone", "retrieve: got a NoneType that holds no items"),
        ("GivesText", "retrieve: got a str that holds no items"),
        ("GivesNumbers", "retrieve: got an item whose text is a int"),
        ("GivesOddIds", "retrieve: got event ids in a NoneType"),
        ("GivesHalfALetter", "retrieve: got half a surrogate pair"),
        ("FailsToOpen", "opening: make raised OSError: no disk"),
        ("FailsToObserve", "observing: observe raised ValueError: no"),
        ("FailsInMaintenance", "maintenance: consolidate raised ValueError: dark"),
        ("LacksAMethod", "raised AttributeError"),
    ],
)
def test_what_a_memory_does_wrong_is_named_and_counts_as_nothing(
    name: str, told: str
) -> None:
    compared = compare(
        [asked_log()], [f"compared_logs:{name}", *CALM], budgets=(500,), timeout=0.2
    )
    bad, *calm = compared.trials
    assert any(told in problem for problem in bad.problems), bad.problems
    expected = 1.0 if name == "FailsInMaintenance" else 0.0
    assert compared.value(bad.design, *RETRIEVED) == (expected, expected, expected, 8)
    assert [trial.problems for trial in calm] == [{}, {}]
    assert compared.value(CALM[1], *RETRIEVED).value == 1.0


def test_an_event_of_the_future_is_no_evidence() -> None:
    log = asked_log("early")
    early = EvalLog(
        "early",
        log.events,
        [EvalQuery(NOW + DAY // 2, "which port", frozenset({log.events[7].id}))],
    )
    trial = try_out(early, "Foretells", made.Foretells, Plan((500,)))
    assert "allowed are events that it was shown before" in next(iter(trial.problems))


# What a trial tells beside its scores.


def test_a_memory_in_a_home_is_scored_by_lineage_with_words_and_stale_events() -> None:
    register_kinds(notes_design.NOTES.kinds)

    def noted(entity: str, text: str, day: int) -> Event:
        body = {"entity": entity, "text": text, "source": "agent"}
        return new_event("note", body, agent="main", at=NOW + day * DAY)

    events = [
        noted("cache", "The cache lives for an hour", 0),
        noted("cache", "The cache lives for a day", 1),
    ]
    probe = EvalQuery(
        NOW + 2 * DAY,
        "how long does the cache live",
        frozenset({events[1].id}),
        ("day", "hour"),
        frozenset({events[0].id}),
    )
    trial = try_out(
        EvalLog("notes", events, [probe]),
        "notes",
        lambda: ReplayAdapter([notes_design.NOTES]),
        Plan((500,)),
    )
    found = next(given.scores for given in trial.given if given.mode == "retrieve")
    assert (found["evidence_recall"], found["answer_words"], found["stale"]) == (
        1.0,
        0.5,
        0.0,
    )
    assert trial.problems == {}
    assert trial.sizes[-1][1] > 10_000, "bytes of the home"
    assert trial.cpu_seconds["observe"] > 0
    assert trial.survivors == {"0": 1.0, "1": 1.0, "3": 1.0, "10": 1.0, "30": 1.0}


def test_theorex_finds_what_was_written() -> None:
    log = Recorder("written")
    log.wrote("a", NOW, "The staging database runs in Frankfurt", source="user")
    log.probes.append(
        EvalQuery(
            NOW + DAY,
            "where does the staging database run",
            log.ids(["a"]),
            ("Frankfurt",),
        )
    )
    trial = try_out(
        log.log(), "theorex", lambda: ReplayAdapter(installed()), Plan((500,))
    )
    found = next(given.scores for given in trial.given if given.mode == "retrieve")
    assert (found["evidence_recall"], found["answer_words"]) == (1.0, 1.0)


def test_what_is_forgotten_is_seen_after_maintenance_without_events() -> None:
    compared = compare(
        [asked_log()], {"keeps": Remembers, "forgets": Forgets}, budgets=(500,)
    )
    kept = compared.survivors
    assert list(kept.columns) == [0, 1, 3, 10, 30]
    assert kept.loc["keeps"].tolist() == [1.0] * 5
    forgotten = kept.loc["forgets"].tolist()
    assert forgotten == sorted(forgotten, reverse=True)
    assert (forgotten[0], forgotten[-1]) != (1.0, 1.0)
    assert forgotten[-1] == 0.0


def test_a_log_without_probes_and_with_few_sessions_is_told_not_scored(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = worked_log(n=3)
    compared = compare([empty], ["nothing"], budgets=(150,))
    assert (compared.cells, compared.frame.empty, compared.survivors.empty) == (
        [],
        True,
        True,
    )
    assert plot_comparison(compared).texts
    monkeypatch.setattr("theorex_lab.eval.datasets.logs.load_logs", lambda _: [empty])
    ended = run("compare", "--log", "worked", "--design", "nothing")
    assert ended.code == 0
    assert "neither probes nor more than five sessions" in ended.out


def test_the_pictures_draw_each_design() -> None:
    compared = compare(
        [asked_log(), worked_log()], ["recent_files", "bm25"], budgets=(50, 150)
    )
    for drawn in (compared.plot(), compared.plot("evidence_recall", "retrieve")):
        assert [text.get_text() for text in drawn.get_legend().get_texts()] == [
            "recent_files",
            "bm25",
        ]
    with pytest.raises(InvalidInput, match="got the score 'worth'"):
        compared.plot("worth")


# The command.


@pytest.fixture
def two_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"asked": asked_log(), "worked": worked_log()}
    monkeypatch.setattr(
        "theorex_lab.eval.datasets.logs.load_logs", lambda name: [known[name]]
    )


@pytest.mark.usefixtures("two_logs")
def test_the_command_gives_one_object(run: Run, tmp_path: Path) -> None:
    designs = [
        word
        for name in ("bm25", "recent_files", "nothing")
        for word in ("--design", name)
    ]
    words = ["--log", "asked", "--log", "worked", *designs, "--budgets", "150,500"]
    out = str(tmp_path / "kept")
    told = run("compare", *words, "--out", out, "--json").json
    assert {"logs", "designs", "paired", "trials"} <= told.keys()
    assert told["logs"] == ["asked", "worked"]
    assert told["designs"]["bm25"]["500"]["retrieve"]["evidence_recall"] == {
        "value": 1.0,
        "ci_low": 1.0,
        "ci_high": 1.0,
    }
    assert {"inject", "retrieve"} == told["designs"]["nothing"]["150"].keys()
    paired = told["paired"]
    assert (
        paired["baseline"],
        paired["designs"]["bm25"]["500"]["retrieve"]["evidence_recall"]["verdict"],
    ) == (
        "nothing",
        "better",
    )
    assert (
        paired["designs"]["recent_files"]["500"]["retrieve"]["waste"]["value"] is None
    ), "nothing given has no waste"
    assert [trial["log"] for trial in told["trials"]] == ["asked"] * 3 + ["worked"] * 3
    picture = tmp_path / "context.png"
    again = run("compare", *words, "--out", out, "--picture", str(picture))
    assert again.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "compared with nothing" in again.out
    assert "6 results are of an earlier run" in again.out
    kept = Comparison.load(tmp_path / "kept" / "comparison.json")
    assert kept.designs == ["bm25", "recent_files", "nothing"]


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (
            ["--log", "nowhere", "--design", "nothing"],
            "allowed are coding_sessions, locomo",
        ),
        (
            ["--log", "simulated_team/none", "--design", "nothing"],
            "allowed are simulated_team",
        ),
        (
            ["--log", "simulated_team", "--design", "nobody"],
            "allowed are sessions, theorex",
        ),
        (
            ["--log", "simulated_team", "--design", "nothing", "--baseline", "bm25"],
            "one of the designs: nothing",
        ),
        (
            ["--log", "simulated_team", "--design", "nothing", "--budgets", "many"],
            "whole numbers with commas",
        ),
    ],
)
def test_a_wrong_word_of_the_command_is_refused_with_the_allowed(
    run: Run, words: list[str], allowed: str
) -> None:
    ended = run("compare", *words)
    assert ended.code in (1, 2)
    assert allowed in ended.err


def test_another_logs_memory_is_not_the_logs_own() -> None:
    logs = [worked_log("one"), worked_log("two")]
    compared = compare(logs, ["shuffled", "recent_files"], budgets=(150,))
    given = {
        trial.log: trial for trial in compared.trials if trial.design == "shuffled"
    }
    assert [trial.problems for trial in given.values()] == [{}, {}]
    assert compared.value("shuffled", "inject", 150, "tokens").value > 0, (
        "it gives what the other log says"
    )
    assert np.isfinite(compared.value("shuffled", "inject", 150, "mean").value)


def test_another_logs_memory_answers_no_question_of_this_one() -> None:
    compared = compare(
        [asked_log("one"), asked_log("two")], ["shuffled", "bm25"], budgets=(150,)
    )
    assert [trial.problems for trial in compared.trials] == [{}] * 4
    assert compared.value("shuffled", "retrieve", 150, "evidence_recall").value == 0
    assert compared.value("shuffled", "retrieve", 150, "tokens").value > 0


_UNDER_A_SEED = """
import json
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.datasets.needs_rows import LogNeeds
from theorex_lab.eval.metrics.compare import compare
from theorex_lab.eval.replay.trial_files import content_hash
log = load_logs("simulated_team")[0]
log = EvalLog(log.name, log.events[:400], log.probes[:20], log.lines[:400])
print(json.dumps(compare([log], ["bm25", "oracle_lines", "short_files"], budgets=(60, 300)).to_dict()["designs"]))
files = {'s': frozenset({'a.py', 'b.py', 'c.py', 'd.py'})}
print(content_hash(EvalLog('a', [], needs=LogNeeds((), files))))
"""  # noqa: E501


class UnderASeed(NamedTuple):
    """What a process with a seed of hashes of its own prints."""

    comparison: str
    hash_of_needs: str


@pytest.fixture(scope="module")
def by_seed() -> list[UnderASeed]:
    """Give what processes print that have different seeds of hashes."""
    printed = []
    for seed in ("1", "2", "3"):
        ended = subprocess.run(
            [sys.executable, "-c", _UNDER_A_SEED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        printed.append(UnderASeed(*ended.stdout.splitlines()))
    return printed


def test_a_comparison_is_the_same_whatever_the_seed_of_hashes(
    by_seed: list[UnderASeed],
) -> None:
    assert len({printed.comparison for printed in by_seed}) == 1


def test_a_log_with_needs_has_one_hash_in_every_process(
    by_seed: list[UnderASeed],
) -> None:
    assert len({printed.hash_of_needs for printed in by_seed}) == 1
