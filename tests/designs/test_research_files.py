"""The folders of research tiers, written and taken in; and what is broken or hostile in
them.
"""

import json
from datetime import UTC, datetime

import pytest
import yaml
from faults import at_once

from theorex_lab import FixedClock, Lab
from theorex_lab.designs.research import files

PUBLISHED = {
    "memory/persistent.json": {
        "theory.failed": {
            "record_id": "r1",
            "key": "theory.failed",
            "value": ["Hoeffding"],
            "tags": ["bounds"],
            "source_session": "s0",
            "created_at": "2025-01-01T10:00:00",
            "updated_at": "2025-01-02T10:00:00+00:00",
        }
    },
    "memory/knowledge_graph.json": {
        "nodes": {
            "n1": {
                "node_id": "n1",
                "theorem_name": "A",
                "formal_statement": "a",
                "domain": "tails",
                "session_id": "s0",
                "tags": [],
                "created_at": "2025-01-01T10:00:00",
                "related_to": [],
            },
            "n2": {"theorem_name": "B", "formal_statement": "b", "domain": "tails"},
            "n3": {
                "theorem_name": "B",
                "formal_statement": "another",
                "domain": "tails",
            },
        },
        "edges": [
            ["n1", "n2", "uses"],
            ["n1", "n2", "uses"],
            ["n1", "gone", "uses"],
            ["n1", "n2", "implies"],
        ],
    },
    "runs/s9/theory_state.json": {
        "domain": "tails",
        "status": "failed",
        "failed_attempts": [{"lemma_id": "m", "failure_reason": "too slow"}],
    },
}
INSIGHT = """---
category: pitfalls
title: Union bound
domain: tails
confidence: 0.80
created_at: 2025-01-01T10:00:00
---
# Union bound

It costs a logarithm.
"""
SKILL = """---
name: other name
version: 2
tags: [nets]
agent_roles: [theory]
pipeline_stages: []
description: How a net is built
source: seed
created_at: 2025-01-01T10:00:00
usage_count: 4
success_rate: 0.75
---
Take a maximal separated set.
"""


def published(folder):
    for name, value in PUBLISHED.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    for name, text in {
        "memories/tails/20250101_union_bound.md": INSIGHT,
        "skills/nets/SKILL.md": SKILL,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "skills/empty").mkdir()
    (folder / "memories/tails/_index.json").write_text("{torn")
    return folder


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path / "home", clock=FixedClock.at("2026-05-01T00:00:00Z")) as opened:
        yield opened


def take(lab, folder, **how):
    return {
        report.file: report
        for report in files.import_tiers(lab.home, None, folder, **how)
    }


def test_the_folders_of_the_original_are_taken_in_once(lab, tmp_path):
    folder = published(tmp_path / "eureka")
    found = take(lab, folder)
    assert {name: report.imported for name, report in found.items()} == {
        "memory/persistent.json": 1,
        "memory/knowledge_graph.json": 3,
        "memories/tails/20250101_union_bound.md": 1,
        "skills/nets/SKILL.md": 1,
        "runs/s9/theory_state.json": 1,
    }
    record = lab.research.record_of("theory.failed")
    assert (
        record.value,
        record.tags,
        record.created_at.isoformat(),
        record.updated_at.day,
    ) == (
        ["Hoeffding"],
        ["bounds"],
        "2025-01-01T10:00:00+00:00",
        2,
    )
    problems = "\n".join(found["memory/knowledge_graph.json"].problems)
    assert "another name or domain" in problems or "n3" in problems
    assert "gone" in problems
    assert "implies" in problems
    assert [node.theorem_name for node in lab.research.find_related_theorems("A")] == [
        "B"
    ]
    assert {one.content for one in lab.research.insights("tails")} == {
        "It costs a logarithm.",
        "m: too slow",
    }
    (skill,) = lab.research.skills()
    assert (skill.name, skill.origin, skill.source) == ("nets", "seed", "import")
    assert skill.success_rate is None, "what a stranger says of a skill is no evidence"
    assert all(not report.imported for report in take(lab, folder).values())


def test_statistics_of_ones_own_are_where_a_skill_begins(lab, tmp_path):
    folder = published(tmp_path / "eureka")
    (folder / "skills/seed_skill_stats.json").write_text(
        '{"nets": {"usage_count": 10, "success_rate": 0.9}}'
    )
    take(lab, folder, trusted=True)
    (skill,) = lab.research.skills()
    assert (skill.success_rate, skill.usage_count, skill.successes) == (0.9, 10, 9)
    assert lab.research.update_stats("nets", False).success_rate == pytest.approx(
        0.7 * 0.9
    )


def test_what_is_exported_comes_back_in_another_home(lab, tmp_path):
    lab.research.begin_session("s1", "Tails")
    lab.research.remember("a", {"x": [1, None]}, tags=["t"])
    for name in ("A", "B"):
        lab.research.add_theorem(name, name.lower(), domain="tails", tags=["lemma"])
    lab.research.link_theorems("A", "B")
    lab.research.add_insight(
        "pitfalls", "Union bound", "It costs a logarithm.\nAlways.", session_id="s1"
    )
    lab.research.add_insight(
        "pitfalls", "Union bound", "It costs more.", session_id="s1"
    )
    lab.research.record_skill("nets", "How a net is built", "Take a set.")
    lab.research.update_stats("nets", True)
    done = files.export_tiers(lab.home, None, tmp_path / "out")
    assert done.files["memories/tails/*.md"] == 2
    assert done.files["skills/*/SKILL.md"] == 1
    names = sorted(path.name for path in (tmp_path / "out/memories/tails").iterdir())
    assert names[0] == "20260501_union_bound.md"
    assert names[1].startswith("20260501_union_bound_")
    assert names[2] == "_index.json"
    front = yaml.safe_load(
        (tmp_path / "out/memories/tails" / names[0]).read_text().split("---")[1]
    )
    assert front["category"] == "pitfalls"
    assert front["confidence"] == "0.80"
    with Lab(tmp_path / "other", clock=FixedClock.at("2026-06-01T00:00:00Z")) as other:
        take(other, tmp_path / "out", trusted=True)
        assert other.research.recall("a") == {"x": [1, None]}
        assert [
            (one.title, one.content, one.source, one.domain)
            for one in other.research.insights()
        ] == [
            (one.title, one.content, one.source, one.domain)
            for one in lab.research.insights()
        ]
        assert other.research.skills()[0].success_rate == 1.0
        assert other.research.find_related_theorems("A")[0].tags == ["lemma"]
        assert all(
            not report.imported
            for report in take(other, tmp_path / "out", trusted=True).values()
        )
        assert other.verify().ok


def front_of(file):
    return yaml.safe_load(file.read_text().split("---")[1])


def in_utc(time):
    moment = datetime.fromisoformat(str(time))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def fields_of(folder):
    """Return the fields that the document names, of every file; ids become names."""
    record = json.loads((folder / "memory/persistent.json").read_text())[
        "theory.failed"
    ]
    graph = json.loads((folder / "memory/knowledge_graph.json").read_text())
    names = {key: node["theorem_name"] for key, node in graph["nodes"].items()}
    node_fields = (
        "theorem_name",
        "formal_statement",
        "domain",
        "session_id",
        "tags",
    )
    insight = front_of(folder / "memories/tails/20250101_union_bound.md")
    skill = front_of(folder / "skills/nets/SKILL.md")
    return {
        "record": [
            *(record[name] for name in ("key", "value", "tags", "source_session")),
            *(in_utc(record[name]) for name in ("created_at", "updated_at")),
        ],
        "nodes": [
            [node[name] for name in node_fields] + [in_utc(node["created_at"])]
            for node in graph["nodes"].values()
        ],
        "edges": [
            [names[start], names[end], relation]
            for start, end, relation in graph["edges"]
        ],
        "insight": [
            *(insight[name] for name in ("category", "title", "domain")),
            float(insight["confidence"]),
            in_utc(insight["created_at"]),
        ],
        "skill": [
            *(skill[name] for name in ("tags", "agent_roles", "pipeline_stages")),
            *(skill[name] for name in ("description", "source", "usage_count")),
            str(skill["version"]),
            skill["success_rate"],
            in_utc(skill["created_at"]),
        ],
        "stats": json.loads((folder / "skills/seed_skill_stats.json").read_text()),
    }


def test_each_field_that_comes_in_goes_out(lab, tmp_path):
    folder = published(tmp_path / "eureka")
    (folder / "skills/seed_skill_stats.json").write_text(
        '{"nets": {"usage_count": 4, "success_rate": 0.75}}'
    )
    node = PUBLISHED["memory/knowledge_graph.json"]["nodes"]["n1"]
    other_node = {**node, "theorem_name": "B", "formal_statement": "b"}
    graph = {"nodes": {"n1": node, "n2": other_node}, "edges": [["n1", "n2", "uses"]]}
    (folder / "memory/knowledge_graph.json").write_text(json.dumps(graph))
    take(lab, folder, trusted=True)
    files.export_tiers(lab.home, None, tmp_path / "out")
    assert fields_of(tmp_path / "out") == fields_of(folder)
    with Lab(tmp_path / "other", clock=FixedClock.at("2026-06-01T00:00:00Z")) as other:
        take(other, tmp_path / "out", trusted=True)
        files.export_tiers(other.home, None, tmp_path / "again")
    assert fields_of(tmp_path / "again") == fields_of(folder)


def test_statistics_are_written_of_seeds_that_were_tried(lab, tmp_path):
    lab.research.record_skill("nets", "How a net is built", "Take a set.")
    lab.research.update_stats("nets", True)
    files.export_tiers(lab.home, None, tmp_path / "out")
    assert not (tmp_path / "out/skills/seed_skill_stats.json").exists()


def test_a_file_edited_by_hand_replaces_what_it_was(lab, tmp_path):
    old = lab.research.add_insight(
        "pitfalls", "Union bound", "It costs a logarithm.", domain="tails"
    )
    files.export_tiers(lab.home, None, tmp_path / "out")
    (file,) = (tmp_path / "out/memories/tails").glob("*.md")
    file.write_text(file.read_text().replace("a logarithm", "two logarithms"))
    assert take(lab, tmp_path / "out")[f"memories/tails/{file.name}"].imported == 1
    assert len(lab.research.insights()) == 2, "a stranger's file replaces nothing"
    file.write_text(file.read_text().replace("two logarithms", "three logarithms"))
    take(lab, tmp_path / "out", trusted=True)
    texts = {one.content for one in lab.research.insights()}
    assert "It costs three logarithms." in texts
    assert old.content not in texts
    assert next(
        hit.text for hit in lab.search("three logarithms", kinds=["insight"])
    ).endswith("three logarithms.")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('title: "Union bound"', 'title: "The union bound"'),
        ('category: "pitfalls"', 'category: "open_problems"'),
        ('domain: "tails"', 'domain: "nets"'),
        ('confidence: "0.80"', 'confidence: "0.60"'),
    ],
)
def test_an_edit_of_front_matter_alone_replaces_too(lab, tmp_path, old, new):
    lab.research.add_insight(
        "pitfalls", "Union bound", "It costs a logarithm.", domain="tails"
    )
    files.export_tiers(lab.home, None, tmp_path / "out")
    (file,) = (tmp_path / "out/memories/tails").glob("*.md")
    file.write_text(file.read_text().replace(old, new))
    assert (
        take(lab, tmp_path / "out", trusted=True)[
            f"memories/tails/{file.name}"
        ].imported
        == 1
    )
    (one,) = lab.research.insights()
    told = {
        "title": one.title,
        "category": one.category,
        "domain": one.domain,
        "confidence": f"{one.confidence:.2f}",
    }
    name = old.partition(":")[0]
    assert f'{name}: "{told[name]}"' == new
    assert not take(lab, tmp_path / "out", trusted=True)[
        f"memories/tails/{file.name}"
    ].imported
    assert lab.verify().ok


def test_a_file_is_edited_again_after_it_was_taken_in(lab, tmp_path):
    lab.research.add_insight(
        "pitfalls", "Union bound", "It costs a logarithm.", domain="tails"
    )
    files.export_tiers(lab.home, None, tmp_path / "out")
    (file,) = (tmp_path / "out/memories/tails").glob("*.md")
    for old, new in (
        ("a logarithm", "two logarithms"),
        ("two", "three"),
        ("0.80", "0.30"),
    ):
        file.write_text(file.read_text().replace(old, new))
        report = take(lab, tmp_path / "out", trusted=True)[
            f"memories/tails/{file.name}"
        ]
    assert [one.content for one in lab.research.insights()] == [
        "It costs three logarithms."
    ]
    assert "insightConfidence" in "".join(report.problems)


def test_an_insight_without_a_title_comes_back_without_one(lab, tmp_path):
    lab.research.add_insight(
        "pitfalls", "", "The union bound costs a logarithm.", domain="tails"
    )
    files.export_tiers(lab.home, None, tmp_path / "out")
    assert not sum(
        report.imported for report in take(lab, tmp_path / "out", trusted=True).values()
    )
    with Lab(tmp_path / "other") as other:
        take(other, tmp_path / "out")
        assert [(one.title, one.content) for one in other.research.insights()] == [
            ("", "The union bound costs a logarithm.")
        ]


@pytest.mark.parametrize(
    "name",
    [*PUBLISHED, "memories/tails/20250101_union_bound.md", "skills/nets/SKILL.md"],
)
@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"\xff\xfe\0",
        b"[" * 5_000,
        b'{"a": NaN}',
        b"---\na: &x [1]\nb: *x\n---\n",
        b"---\n- 1\n---\n",
    ],
)
def test_a_torn_file_is_told_and_the_others_are_taken_in(lab, tmp_path, name, broken):
    lab.research.remember("kept", 1)
    folder = published(tmp_path / "eureka")
    (folder / name).write_bytes(broken)
    found = take(lab, folder)
    assert found[name].problems
    assert not found[name].imported
    assert sum(report.imported > 0 for report in found.values()) == 4
    assert lab.research.recall("kept") == 1
    assert lab.verify().ok


HOSTILE = (5, True, "texts", {"a": [1]}, [[1]], [{}])


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("memory/persistent.json", ["theory.failed", "tags"]),
        ("memory/knowledge_graph.json", ["nodes", "n1", "tags"]),
        ("memory/knowledge_graph.json", ["edges", 0, 0]),
        ("memory/knowledge_graph.json", ["edges", 0, 2]),
        ("runs/s9/theory_state.json", ["failed_attempts", 0]),
        ("runs/s9/theory_state.json", ["proven_lemmas"]),
    ],
)
def test_members_of_another_form_stop_no_other_file(lab, tmp_path, name, path, value):
    folder = published(tmp_path / "eureka")
    told = held = json.loads(json.dumps(PUBLISHED[name]))
    for member in path[:-1]:
        held = held[member]
    held[path[-1]] = (
        [{"statement": "s", "tool_calls": value}]
        if path[-1] == "proven_lemmas"
        else value
    )
    (folder / name).write_text(json.dumps(told))
    found = take(lab, folder)
    assert sum(report.imported > 0 for report in found.values()) >= 4
    assert lab.verify().ok


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("member", ["tags", "agent_roles", "pipeline_stages"])
def test_a_skill_with_lists_of_another_form_stops_no_other_file(
    lab, tmp_path, member, value
):
    folder = published(tmp_path / "eureka")
    front = yaml.safe_load(SKILL.split("---")[1])
    body = SKILL.split("---")[2]
    front = {**front, "created_at": "2025-01-01T10:00:00", member: value}
    (folder / "skills/nets/SKILL.md").write_text(
        f"---\n{json.dumps(front)}\n---\n{body}"
    )
    assert sum(report.imported > 0 for report in take(lab, folder).values()) >= 4
    assert all(
        "allowed is a list" in one
        for one in take(lab, folder)["skills/nets/SKILL.md"].problems
    )


def test_torn_statistics_are_told_and_the_skill_comes_in_untried(lab, tmp_path):
    folder = published(tmp_path / "eureka")
    (folder / "skills/seed_skill_stats.json").write_text('{"nets": {"usage')
    found = take(lab, folder)
    assert found["skills/seed_skill_stats.json"].problems
    assert found["skills/nets/SKILL.md"].imported == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pitfalls", "secrets"),
        ("0.80", "high"),
        ("0.80", "7"),
        ("2025-01-01T10:00:00", "someday"),
        ("tails\n", "[1, 2]\n\n"),
    ],
)
def test_front_matter_outside_the_rules_is_told(lab, tmp_path, old, new):
    folder = published(tmp_path / "eureka")
    file = folder / "memories/tails/20250101_union_bound.md"
    file.write_text(file.read_text().replace(old, new, 1))
    report = take(lab, folder)[str(file.relative_to(folder))]
    assert (
        report.problems
        or not report.imported
        or "[1, 2]" in lab.research.insights()[0].domain
    )


def test_a_link_out_of_the_folder_is_refused(lab, tmp_path):
    folder = published(tmp_path / "eureka")
    secret = tmp_path / "secret.md"
    secret.write_text(INSIGHT.replace("Union bound", "Private"))
    (folder / "memories/tails/link.md").symlink_to(secret)
    assert "outside" in "".join(take(lab, folder)["memories/tails/link.md"].problems)
    assert not [one for one in lab.research.insights() if one.title == "Private"]


def test_a_record_of_ours_that_is_newer_stays(lab, tmp_path):
    lab.research.remember("theory.failed", "newer")
    assert (
        take(lab, published(tmp_path / "eureka"))["memory/persistent.json"].skipped == 1
    )
    assert lab.research.recall("theory.failed") == "newer"


def test_the_environment_names_the_folder(lab, tmp_path, monkeypatch):
    monkeypatch.delenv("EUREKACLAW_DIR", raising=False)
    assert files.places(lab.settings) == []
    assert files.named_tier_files(lab.home) == []
    monkeypatch.setenv("EUREKACLAW_DIR", str(tmp_path / "claw"))
    lab.research.remember("a", 1)
    assert files.places(lab.settings) == [tmp_path / "claw"]
    assert tmp_path / "claw/memory/persistent.json" in files.named_tier_files(lab.home)
    files.export_named_tiers(lab.home)
    assert (
        json.loads((tmp_path / "claw/memory/persistent.json").read_text())["a"]["value"]
        == 1
    )


def test_an_unused_design_writes_no_files(lab, tmp_path):
    lab.agent("main").write("the cache is cold")
    assert files.export_tiers(lab.home, None, tmp_path / "out").files == {}


def test_the_commands(run, tmp_path):
    def theorex(*arguments):
        ended = run("research", *arguments, "--json")
        return ended.code, json.loads(ended.out or "{}"), ended.err

    assert theorex("remember", "a.b", '{"x": 1}', "--tag", "t")[1]["key"] == "a.b"
    assert theorex("recall", "a.b")[1]["records"][0]["value"] == {"x": 1}
    assert [row["key"] for row in theorex("recall", "--tag", "t")[1]["records"]] == [
        "a.b"
    ]
    code, told, said = theorex("recall", "nothing")
    assert code == 1
    assert told["records"] == []
    assert "nothing is kept" in said
    assert theorex("recall")[0] == 1
    assert theorex("forget", "a.b")[1] == {"key": "a.b", "deleted": True}
    for name in ("A", "B"):
        assert (
            theorex("theorem", "add", name, "statement", "of", name)[1]["theorem_name"]
            == name
        )
    assert theorex("theorem", "link", "A", "B", "--relation", "generalizes")[1]["new"]
    assert theorex("theorem", "link", "A", "B")[1]["circles"] == []
    assert theorex("theorem", "link", "B", "A")[1]["circles"] == [["A", "B"]]
    assert [
        row["distance"] for row in theorex("theorem", "related", "A")[1]["related"]
    ] == [1]
    implied = theorex("theorem", "closure", "--relation", "generalizes")[1]
    assert (implied["relation"], implied["pairs"]) == ("generalizes", 3)
    assert theorex("theorem", "premises", "statement", "of", "A")[1]["premises"]
    code, told, said = theorex("theorem", "closure", "--dataset", "nowhere")
    assert code == 1
    assert "THEOREX_DATA" in said
    assert theorex("insight", "add", "pitfalls", "Union bound", "It", "costs.")[1][
        "kept"
    ]
    assert not theorex(
        "insight", "add", "pitfalls", "Doubt", "x", "--confidence", ".1"
    )[1]["kept"]
    assert len(theorex("insight", "list")[1]["insights"]) == 1
    assert "It costs." in theorex("insight", "inject")[1]["text"]
    (tmp_path / "state.json").write_text(
        json.dumps(PUBLISHED["runs/s9/theory_state.json"])
    )
    assert theorex(
        "post-run", "--session", "s9", "--state", str(tmp_path / "state.json")
    )[1]["insights"]
    told = run(
        "research",
        "post-run",
        "--session",
        "s8",
        "--state",
        str(tmp_path / "state.json"),
    )
    assert told.out.splitlines() == ["s8: failed", "nothing new"]
    assert theorex("skill", "list")[1]["skills"] == []
    assert theorex("skill", "stats", "x")[0] == 1
    assert (
        "memory/persistent.json" in theorex("export", str(tmp_path / "out"))[1]["files"]
    )
    assert theorex("export", str(tmp_path / "out"))[0] == 1
    assert theorex("import", str(tmp_path / "out"))[1]["skipped"] >= 4
    assert theorex("import", str(tmp_path / "nowhere"))[0] == 1


def _take(home, folder, name):
    with Lab(home) as lab:
        reports = files.import_tiers(lab.home, None, folder, trusted=True)
        lab.research.add_insight("pitfalls", "", f"Only process {name} says this.")
    assert all(report.imported + report.skipped for report in reports)


def test_two_processes_take_in_the_same_folder_and_keep_it_once(tmp_path):
    folder = published(tmp_path / "eureka")
    home = str(tmp_path / "home")
    assert at_once(_take, (home, folder, "one"), (home, folder, "two")) == [0, 0]
    with Lab(home) as lab:
        contents = [one.content for one in lab.research.insights()]
        assert sorted(contents) == [
            "It costs a logarithm.",
            "Only process one says this.",
            "Only process two says this.",
            "m: too slow",
        ]
        (skill,) = lab.research.skills()
        assert (skill.name, skill.usage_count) == ("nets", 4)
        assert len(list(lab.journal.tail(0, kinds=["record"]))) == 1
        assert len(lab.research.find_related_theorems("A")) == 1
        assert lab.verify().ok
