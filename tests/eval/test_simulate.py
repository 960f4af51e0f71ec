"""The simulation of a team: its file, its statistics, what it refuses; and where
recorded sets are found.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from itertools import combinations, pairwise
from pathlib import Path

import pytest
import simulate as simulation
import simulation_words
from hypothesis import given
from hypothesis import strategies as st
from simulate import AGENTS, TEAM_TOPIC, main, save, simulate
from simulation_draws import stored_gzip

from theorex_lab import InvalidInput, StorageError
from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_datetime, to_microseconds
from theorex_lab.core.errors import NewerVersion
from theorex_lab.core.sections import read_sections
from theorex_lab.eval.datasets import sources
from theorex_lab.eval.datasets.sources import (
    KINDS,
    Activity,
    data_folder,
    describe_source,
    load,
    packaged,
    read_header,
)
from theorex_lab.memory.observation import check_text

SEEDS = (1, 2, 3, 7)
TEAMS = {seed: simulate(seed=seed) for seed in SEEDS}


@pytest.fixture(params=SEEDS)
def team(request: pytest.FixtureRequest) -> list[Activity]:
    return TEAMS[request.param]


def _commits(team: list[Activity]) -> list[Activity]:
    return [activity for activity in team if activity.kind == "commit"]


def _days_of_topics(team: list[Activity]) -> dict[str, list[int]]:
    days = defaultdict(set)
    for activity in team:
        days[activity.topic].add((activity.at - team[0].at) // MICROSECONDS_PER_DAY)
    return {topic: sorted(found) for topic, found in days.items()}


def _causes(activity: Activity) -> list[str]:
    return [tag for tag in activity.tags if tag.startswith("cause:")]


# The same for a seed, everywhere.


def test_same_seed_same_team_and_other_seeds_differ() -> None:
    assert simulate(seed=7) == TEAMS[7]
    texts = [[activity.text for activity in team[:50]] for team in TEAMS.values()]
    assert all(one != other for one, other in combinations(texts, 2))


def test_packaged_file_is_regenerated_byte_for_byte(tmp_path: Path) -> None:
    output = tmp_path / "again.jsonl.gz"
    # Another process with another hash seed: nothing may hang on the order of a set.
    command = [sys.executable, simulation.__file__, "--seed", "7", "--days", "180"]
    done = subprocess.run(
        [*command, "--output", str(output)],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    shipped = packaged("simulated_team.jsonl.gz")
    assert output.read_bytes() == shipped.read_bytes()
    assert "simulation of" in done.stdout
    assert shipped.stat().st_size < 1_000_000
    assert load(shipped) == TEAMS[7]


def test_file_holds_no_time_and_no_name_and_nothing_compressed(tmp_path: Path) -> None:
    file = tmp_path / "team.jsonl.gz"
    save(TEAMS[7][:3], file, seed=7, days=180)
    data = file.read_bytes()
    assert data[:10] == bytes.fromhex("1f8b08000000000000ff")
    text = gzip.decompress(data)
    assert text in data
    lines = [json.loads(line) for line in text.decode().splitlines()]
    assert lines[0] == {"simulation": True, "seed": 7, "days": 180, "version": 1}
    assert all(list(line) == sorted(line) for line in lines)


@given(st.binary(max_size=200), st.integers(0, 3))
def test_stored_gzip_is_read_by_any_gzip_reader(data: bytes, blocks: int) -> None:
    padded = data + bytes(65_535 * blocks)
    if padded:
        assert gzip.decompress(stored_gzip(padded)) == padded


def test_whole_blocks_are_stored_to_the_last_byte() -> None:
    for size in (65_534, 65_535, 65_536, 131_070):
        assert gzip.decompress(stored_gzip(b"x" * size)) == b"x" * size


_paths = st.text(min_size=1, max_size=12).filter(lambda text: text.isprintable())
_activities = st.builds(
    Activity,
    at=st.integers(0, 10**15),
    agent=st.sampled_from(AGENTS),
    session=st.from_regex(r"[A-Za-z0-9._:-]{0,12}", fullmatch=True),
    kind=st.sampled_from(KINDS),
    text=_paths,
    files=st.lists(st.tuples(st.sampled_from("AMD"), _paths), max_size=3).map(tuple),
    success=st.sampled_from([True, False, None]),
    topic=_paths,
    tags=st.lists(_paths, max_size=2).map(tuple),
)


@given(st.lists(_activities, max_size=5))
def test_what_is_saved_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, activities: list[Activity]
) -> None:
    file = tmp_path_factory.mktemp("saved") / "team.jsonl.gz"
    ordered = sorted(activities, key=lambda activity: activity.at)
    save(ordered, file, seed=0, days=1)
    assert load(file) == ordered


# What the simulation claims of itself.


def test_size_and_order(team: list[Activity]) -> None:
    assert 1_200 <= len(team) <= 2_500
    assert len(_commits(team)) >= 400
    assert [activity.at for activity in team] == sorted(
        activity.at for activity in team
    )
    assert {activity.kind for activity in team} == set(KINDS)
    first = to_microseconds("2026-01-05T00:00:00Z")
    assert first <= team[0].at < team[-1].at < first + 180 * MICROSECONDS_PER_DAY


def test_short_simulations() -> None:
    began = time.process_time()
    assert 300 <= len(simulate(seed=7, days=60)) <= 900
    assert time.process_time() - began < 1
    for days in range(1, 12):
        assert all(activity.text for activity in simulate(seed=5, days=days))


def test_commits_per_day_sets_the_pace() -> None:
    many, few = (
        len(_commits(simulate(seed=7, commits_per_day=pace))) for pace in (10.0, 3.0)
    )
    working_days = 180 * 5 / 7 - 8
    assert 0.8 < many / (10 * working_days) < 1.2
    assert 0.7 < few / (3 * working_days) < 1.3


def test_every_agent_is_active_and_has_its_role(team: list[Activity]) -> None:
    counts = Counter(activity.agent for activity in team)
    assert set(counts) == set(AGENTS)
    assert all(count > 0.15 * len(team) for count in counts.values())
    notes = Counter(
        activity.agent for activity in team if activity.kind in ("decision", "fact")
    )
    assert (
        notes["secretarius"] / counts["secretarius"]
        > 2 * notes["main"] / counts["main"]
    )


def test_a_session_belongs_to_one_agent_and_one_day(team: list[Activity]) -> None:
    sessions = defaultdict(list)
    for activity in team:
        sessions[activity.session].append(activity)
    assert len(sessions) > 300
    for session, activities in sessions.items():
        assert {activity.agent for activity in activities} == {activities[0].agent}
        date = to_datetime(activities[0].at).strftime("%Y%m%d")
        assert session.startswith(f"{activities[0].agent}-{date}-")
        assert (
            activities[-1].at // MICROSECONDS_PER_DAY
            == activities[0].at // MICROSECONDS_PER_DAY
        )


def test_working_hours_weekends_and_a_holiday(team: list[Activity]) -> None:
    times = [to_datetime(activity.at) for activity in team]
    assert 0 < sum(moment.weekday() >= 5 for moment in times) / len(times) < 0.04
    assert sum(7 <= moment.hour < 19 for moment in times) / len(times) > 0.9
    days = sorted({activity.at // MICROSECONDS_PER_DAY for activity in team})
    pauses = [later - earlier for earlier, later in pairwise(days)]
    assert 8 <= max(pauses) <= 16
    assert sum(pause >= 8 for pause in pauses) == 1


def test_gaps_between_activities_are_bursty(team: list[Activity]) -> None:
    gaps = sorted(later.at - earlier.at for earlier, later in pairwise(team))
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    # Goh and Barabási's burstiness: 0 for a Poisson process, 1 at most.
    assert (deviation - mean) / (deviation + mean) > 0.5
    assert mean > 10 * gaps[len(gaps) // 2]


def test_reuse_gaps_of_files_and_topics_are_heavy_tailed(team: list[Activity]) -> None:
    touched = defaultdict(list)
    for commit in _commits(team):
        for _, path in commit.files:
            touched[path].append(commit.at)
    gaps = [
        (later - earlier) / MICROSECONDS_PER_DAY
        for times in touched.values()
        for earlier, later in pairwise(times)
    ]
    over_a_week, over_a_month = (
        sum(gap > limit for gap in gaps) / len(gaps) for limit in (7, 30)
    )
    assert 0.05 < over_a_week < 0.40
    # Gaps drawn from an exponential law with that share over a week would almost never
    # pass a month.
    assert over_a_month > 2 * over_a_week ** (30 / 7)
    pauses = [
        later - earlier
        for days in _days_of_topics(team).values()
        for earlier, later in pairwise(days)
    ]
    assert 0.05 < sum(pause > 7 for pause in pauses) / len(pauses) < 0.40


def test_topics_are_forgotten_recur_and_persist(team: list[Activity]) -> None:
    days = _days_of_topics(team)
    rhythms = {topic.name: topic.rhythm for topic in simulation_words.topics()}
    assert len(days) >= 24
    assert set(days) <= {*rhythms, TEAM_TOPIC}
    forgotten = [topic for topic, found in days.items() if found[-1] < 120]
    assert len(forgotten) >= 6
    assert {topic for topic in days if rhythms.get(topic) == "once"} <= set(forgotten)
    returned = [
        topic
        for topic, found in days.items()
        if any(b - a > 20 for a, b in pairwise(found)) and found[-1] >= 120
    ]
    assert len(returned) >= 4
    core = [topic for topic, rhythm in rhythms.items() if rhythm == "core"]
    assert all({day // 30 for day in days[topic]} == set(range(6)) for topic in core)


def test_release_work_comes_every_two_weeks(team: list[Activity]) -> None:
    days = _days_of_topics(team)["release"]
    starts = [later for earlier, later in pairwise([-99, *days]) if later - earlier > 5]
    assert len(starts) >= 9
    between = [later - earlier for earlier, later in pairwise(starts)]
    assert sum(12 <= gap <= 16 or 26 <= gap <= 30 for gap in between) >= 0.8 * len(
        between
    )


def test_files_change_together_within_a_topic(team: list[Activity]) -> None:
    commits = [{path for _, path in commit.files} for commit in _commits(team)]
    alone: Counter[str] = Counter(path for paths in commits for path in paths)
    together: Counter[tuple[str, str]] = Counter(
        pair for paths in commits for pair in combinations(sorted(paths), 2)
    )
    pairs = {"own": (0, 0.0), "foreign": (0, 0.0)}
    for (one, other), count in together.items():
        kind = (
            "own"
            if one.split("/")[1:2] == other.split("/")[1:2] and "/" in one
            else "foreign"
        )
        seen, expected = pairs[kind]
        pairs[kind] = (
            seen + count,
            expected + alone[one] * alone[other] / len(commits),
        )
    assert pairs["own"][0] > 5 * pairs["own"][1]
    assert (
        pairs["own"][0] / pairs["own"][1]
        > 2 * pairs["foreign"][0] / pairs["foreign"][1]
    )


def test_files_have_a_life(team: list[Activity]) -> None:
    """What is added was not there, what is changed or removed was; only commits touch
    files, 1 to 20 of them.
    """
    present: dict[str, bool] = {}
    for activity in team:
        assert (
            1 <= len(activity.files) <= 20
            if activity.kind == "commit"
            else not activity.files
        )
        assert len({path for _, path in activity.files}) == len(activity.files)
        for status, path in activity.files:
            assert present.get(path, status != "A") == (status != "A"), (status, path)
            present[path] = status != "D"
    assert Counter(present.values())[False] >= 10
    sizes = [len(commit.files) for commit in _commits(team)]
    assert max(sizes) >= 12
    assert sorted(sizes)[len(sizes) // 2] <= 4
    tags = Counter(tag for commit in _commits(team) for tag in commit.tags)
    assert tags["rename"] >= 5
    assert tags["removal"] >= 2


def test_failures_have_causes_and_some_fixes_hold(team: list[Activity]) -> None:
    failures = [activity for activity in team if activity.kind == "failure"]
    assert 0.08 < len(failures) / len(team) < 0.20
    assert all(
        activity.success is False and len(_causes(activity)) == 1
        for activity in failures
    )
    fixes = [activity for activity in team if activity.kind == "fix"]
    assert all(
        "trace_fix" in fix.tags and isinstance(fix.success, bool) for fix in fixes
    )
    assert 0.4 < len(fixes) / len(failures) < 0.8
    assert 0.7 < sum(fix.success is True for fix in fixes) / len(fixes) < 0.95
    failed_at = {}
    for activity in team:
        if activity.kind == "failure":
            failed_at.setdefault(_causes(activity)[0], activity.at)
        if activity.kind == "fix":
            assert failed_at[_causes(activity)[0]] < activity.at


def test_what_was_not_mended_comes_back_more_often() -> None:
    returned: Counter[bool] = Counter()
    fixed: Counter[bool] = Counter()
    for team in TEAMS.values():
        latest: dict[tuple[str, str], bool] = {}
        for activity in team:
            for cause in _causes(activity):
                if activity.kind == "fix":
                    latest[activity.topic, cause] = activity.success is True
                    fixed[activity.success is True] += 1
                elif activity.kind == "failure" and (activity.topic, cause) in latest:
                    returned[latest.pop((activity.topic, cause))] += 1
    assert returned[True] > 0
    assert returned[False] / fixed[False] > 1.5 * returned[True] / fixed[True]


def test_decisions_and_facts_are_superseded(team: list[Activity]) -> None:
    for kind in ("decision", "fact"):
        changed = [
            activity
            for activity in team
            if activity.kind == kind and "supersedes" in activity.tags
        ]
        assert len(changed) >= 5
        assert all(
            "instead of" in activity.text or "until now" in activity.text
            for activity in changed
        )
    assert sum(activity.topic == TEAM_TOPIC for activity in team) >= 30


def test_texts_are_varied_whole_sentences(team: list[Activity]) -> None:
    texts = [activity.text for activity in team]
    assert len(set(texts)) > 0.9 * len(texts)
    assert len({word for text in texts for word in text.lower().split()}) > 900
    assert not any("{" in text or "}" in text or "  " in text for text in texts)
    assert all(15 <= len(check_text(text, 65_536)) <= 300 for text in texts)


def test_commits_name_what_they_change(team: list[Activity]) -> None:
    phrases = {
        aspect.phrase: aspect.stem
        for topic in simulation_words.topics()
        for aspect in topic.aspects
    }
    for commit in _commits(team):
        if commit.text.startswith(("Guard ", "Document ")):
            phrase = next(
                each
                for each in phrases
                if commit.text.split(" ", 1)[1].startswith(each)
            )
            assert any(phrases[phrase] in path for _, path in commit.files), commit


@pytest.mark.parametrize(
    "section", read_sections(simulation_words.__file__, "simulation_words.txt")
)
def test_no_line_of_the_simulation_stands_twice(section: str) -> None:
    lines = [line for line in simulation_words.lines(section) if line]
    assert len(lines) == len(set(lines))


def test_the_words_are_complete() -> None:
    topics = simulation_words.topics()
    assert len(topics) >= 20
    causes = [failure.name for topic in topics for failure in topic.failures]
    assert len(set(causes)) == len(causes) >= 60
    for topic in topics:
        stems = {aspect.stem for aspect in topic.aspects}
        assert len(stems) >= 5, topic.name
        assert len(topic.options) == 3, topic.name
        assert {failure.stem for failure in topic.failures} <= stems, topic.name
    assert len({topic.folder for topic in topics}) == len(topics)


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"seed": -1}, "seed -1"),
        ({"seed": True}, "seed True"),
        ({"seed": 1.0}, "seed 1.0"),
        ({"days": 0}, "1 to 3650"),
        ({"days": 3_651}, "1 to 3650"),
        ({"days": 30.0}, "days 30.0"),
        ({"commits_per_day": 0}, "above 0"),
        ({"commits_per_day": float("nan")}, "above 0"),
        ({"commits_per_day": 101}, "up to 100"),
    ],
)
def test_simulate_refuses(arguments: dict[str, object], part: str) -> None:
    with pytest.raises(InvalidInput, match=part):
        simulate(**{"seed": 7, **arguments})  # type: ignore[arg-type]


HEADER = {"simulation": True, "seed": 7, "days": 180, "version": 1}
LINE = {
    "at": 1,
    "agent": "main",
    "session": "s",
    "kind": "commit",
    "text": "Add it",
    "files": [["A", "a.py"]],
    "success": None,
    "topic": "t",
    "tags": [],
}


def _write(path: Path, *lines: object) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_bytes(gzip.compress(("\n".join(texts) + "\n").encode(), mtime=0))
    return path


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"at": 1, ', "JSON"),
        ("", "JSON"),
        ("[" * 100_000, "recursion"),
        ([], "dictionary|object|Activity"),
        (
            {key: value for key, value in LINE.items() if key != "topic"},
            "topic: .*required",
        ),
        ({**LINE, "extra": 1}, "extra: Unexpected"),
        ({**LINE, "at": 1.0}, "at: "),
        ({**LINE, "at": True}, "at: "),
        ({**LINE, "at": 10**20}, "at: "),
        ({**LINE, "agent": "Main"}, "agent: .*agent id"),
        ({**LINE, "agent": 3}, "agent: "),
        ({**LINE, "session": "a b"}, "session: .*session id"),
        ({**LINE, "kind": "push"}, "kind: .*'commit'"),
        ({**LINE, "kind": ["commit"]}, "kind: .*'commit'"),
        ({**LINE, "text": ""}, "text: "),
        ({**LINE, "success": 1}, "success: "),
        ({**LINE, "tags": "trace_fix"}, "tags: "),
        ({**LINE, "files": [["R", "a"]]}, "files: 0: "),
        ({**LINE, "files": ["AM"]}, "files: 0: "),
        ({**LINE, "files": [["A", ""]]}, "files: 0: "),
        ({**LINE, "at": 0}, "earlier than the line before"),
    ],
)
def test_load_refuses_a_damaged_line_with_its_number(
    tmp_path: Path, line: object, reason: str
) -> None:
    file = _write(tmp_path / "team.jsonl.gz", HEADER, LINE, line, {**LINE, "at": 2})
    with pytest.raises(InvalidInput, match=rf"1 damaged lines.*line 3: .*{reason}"):
        load(file)


def test_load_counts_all_damage_and_shows_five(tmp_path: Path) -> None:
    file = _write(tmp_path / "team.jsonl.gz", HEADER, *["broken"] * 8)
    with pytest.raises(
        InvalidInput, match=r"8 damaged lines.*line 2.*line 6.*and 3 more$"
    ):
        load(file)


@pytest.mark.parametrize(
    "header",
    ["", "{", "[]", LINE, {**HEADER, "simulation": "yes"}, {**HEADER, "version": "1"}],
)
def test_load_refuses_what_is_no_simulation(tmp_path: Path, header: object) -> None:
    with pytest.raises(InvalidInput, match="line 1"):
        load(_write(tmp_path / "team.jsonl.gz", header, LINE))


def test_load_refuses_a_newer_version_and_broken_files(tmp_path: Path) -> None:
    with pytest.raises(NewerVersion, match="version 2"):
        load(_write(tmp_path / "newer.jsonl.gz", {**HEADER, "version": 2}))
    whole = packaged("simulated_team.jsonl.gz").read_bytes()
    flipped = bytearray(whole)
    flipped[5_000] ^= 1
    for data in (b"", b"text", whole[:-100], bytes(flipped)):
        broken = tmp_path / "broken.jsonl.gz"
        broken.write_bytes(data)
        with pytest.raises(InvalidInput, match=r"broken\.jsonl\.gz"):
            load(broken)
    with pytest.raises(InvalidInput, match="cannot be read"):
        load(tmp_path / "missing.jsonl.gz")


def test_save_and_the_command_name_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing" / "team.jsonl.gz"
    with pytest.raises(StorageError, match="cannot be written"):
        save([], missing, seed=1, days=1)
    for arguments, part in (
        (["--days", "0"], "1 to 3650"),
        (["--days", "2"], "cannot be written"),
    ):
        with pytest.raises(SystemExit):
            main(["--seed", "1", *arguments, "--output", str(missing)])
        assert part in capsys.readouterr().err


# Where recorded sets are found.


def test_packaged_prefers_the_repository_and_falls_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "theorex_lab"
    shared = package / "_share" / "datasets"
    beside = tmp_path / "datasets"
    shared.mkdir(parents=True)
    beside.mkdir()
    monkeypatch.setattr(sources, "_FOLDERS", (beside, shared))
    with pytest.raises(InvalidInput, match="neither in"):
        packaged("team.jsonl.gz")
    (shared / "team.jsonl.gz").touch()
    assert packaged("team.jsonl.gz") == shared / "team.jsonl.gz"
    (beside / "team.jsonl.gz").touch()
    assert packaged("team.jsonl.gz") == beside / "team.jsonl.gz"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../pyproject.toml", "a/b", "a\\b", "c:x", "a\0b", 3]
)
def test_packaged_refuses_paths(name: object) -> None:
    with pytest.raises(InvalidInput, match="plain file name"):
        packaged(name)  # type: ignore[arg-type]


def test_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THEOREX_DATA", raising=False)
    assert data_folder() is None
    monkeypatch.setenv("THEOREX_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("THEOREX_DATA", str(tmp_path / "gone"))
    with pytest.raises(InvalidInput, match=r"THEOREX_DATA.*gone.*does not exist"):
        data_folder()


def test_describe_source_says_simulation_wherever_the_file_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THEOREX_DATA", raising=False)
    shipped = packaged("simulated_team.jsonl.gz")
    assert "simulation" in describe_source(shipped)
    copy = tmp_path / "mine.jsonl.gz"
    copy.write_bytes(shipped.read_bytes())
    assert (
        "simulation of a small team of agents (mine.jsonl.gz, seed 7, 180 days)"
        in describe_source(copy)
    )
    assert (
        describe_source(shipped.with_name("README.md"))
        == "Data: README.md, recorded and packaged by the project."
    )
    own = tmp_path / "log.jsonl.gz"
    own.write_bytes(b"not gzip")
    assert describe_source(own) == f"Data: {own}, chosen by you."
    monkeypatch.setenv("THEOREX_DATA", str(tmp_path))
    assert (
        describe_source(own)
        == f"Data: your own, {own} in the folder that THEOREX_DATA names."
    )
    with pytest.raises(InvalidInput, match="does not exist"):
        describe_source(tmp_path / "nothing")


def test_readme_names_the_command_and_every_kind() -> None:
    readme = packaged("README.md").read_text(encoding="utf-8")
    command = (
        "python tests/helpers/simulate.py --seed 7 --days 180 --output"
        " datasets/simulated_team.jsonl.gz"
    )
    assert command in readme
    tags = {tag.split(":")[0] for activity in TEAMS[7] for tag in activity.tags}
    assert all(
        f"`{name}`" in readme
        for name in [
            *KINDS,
            *Activity.__slots__,
            *read_header(packaged("simulated_team.jsonl.gz")),
        ]
    )
    assert all(f"`{tag}" in readme for tag in tags)
