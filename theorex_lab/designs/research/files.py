"""The folders of research tiers, as EurekaClaw has them, written from the memory.

memory/persistent.json         records by key memory/knowledge_graph.json    theorems by
id, and their links memories/DOMAIN/               an insight a file, YYYYMMDD_title.md
with front matter; _index.json has fingerprints and vectors skills/NAME/SKILL.md
a skill with front matter, its statistics among it runs/SESSION/post_run.json     what
was learnt from a session

What these files have no member for (whose it was, its project and source) stands in the
member `theorex`.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, check_session, derived_event_id
from theorex_lab.core.project import check_project
from theorex_lab.core.settings import Settings
from theorex_lab.designs.research import CATEGORIES, GENERAL, KINDS, ORIGINS, RELATIONS
from theorex_lab.designs.research.insights import (
    Insight,
    insight_by_id,
    insight_events,
    insights_of,
    stands_for,
)
from theorex_lab.designs.research.items import domain_slug, record_id_of
from theorex_lab.designs.research.learning import RunState, post_run
from theorex_lab.designs.research.records import (
    all_records,
    record_body,
    record_of,
)
from theorex_lab.designs.research.skills import (
    Skill,
    Skills,
    is_known,
    skill_event,
    skills_of,
)
from theorex_lab.designs.research.theorems import (
    Theorems,
    check_same,
    link_event,
    theorem_event,
)
from theorex_lab.files.formats.flat_files import (
    append_new,
    each_noted,
    parse_object,
    write_lines,
)
from theorex_lab.files.formats.foreign import read_file
from theorex_lab.files.formats.reports import (
    Exported,
    ImportOptions,
    Reports,
    each_file,
    portable,
)
from theorex_lab.journal.event import Event, encode, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.memory.retrieve import Searcher

RECORDS = "memory/persistent.json"
GRAPH = "memory/knowledge_graph.json"
INDEX = "_index.json"
SKILL = "SKILL.md"
STATISTICS = "skills/seed_skill_stats.json"
_SEED = "seed"  # the origin of a skill that came with the program
FOLDERS = ("memory", "memories", "skills", "runs")
VARIABLE = "EUREKACLAW_DIR"
_TITLE_CHARACTERS = 40
_FINGERPRINT = 4
Document = tuple[str, str, str]  # the pattern of its name, its name, its text
_SKILL_MEMBERS = (
    "name",
    "version",
    "tags",
    "agent_roles",
    "pipeline_stages",
    "description",
    "origin",
    "usage_count",
    "success_rate",
)
_STATISTICS = ("usage_count", "success_rate")


def export_tiers(
    home: Home, _searcher: object, folder: Path, *, agent: str | None = None
) -> Exported:
    """Write the folders of all agents, or of one.

    Nothing is written where the design was never used.

    Raises:
        StorageError: A file cannot be written.
    """
    exported = Exported(folder)
    if not _is_used(home, agent):
        return exported
    for pattern, name, text in tier_documents(home, agent):
        write_lines(folder / name, text.splitlines())
        exported.files[pattern] = exported.files.get(pattern, 0) + 1
    return exported


def export_named_tiers(home: Home, *, agent: str | None = None) -> Exported:
    """Write the folders where EUREKACLAW_DIR says.

    Raises:
        StorageError: A file cannot be written.
    """
    folder = named_folder()
    if folder is None:
        return Exported(Path())
    return export_tiers(home, None, folder, agent=agent)


def named_tier_files(home: Home, *, agent: str | None = None) -> list[Path]:
    """Return the files that `export_named_tiers` writes."""
    folder = named_folder()
    if folder is None or not _is_used(home, agent):
        return []
    return [folder / name for _, name, _ in tier_documents(home, agent)]


def places(_settings: Settings) -> list[Path]:
    """Return where others keep such folders, by the environment."""
    folder = named_folder()
    if folder is None:
        return []
    return [folder]


def named_folder() -> Path | None:
    """Return the folder that EUREKACLAW_DIR names; None where it is not set."""
    name = os.environ.get(VARIABLE)
    if not name:
        return None
    return Path(name).expanduser()


def _is_used(home: Home, agent: str | None) -> bool:
    """Return whether the design was ever used, by an agent or by any."""
    events = home.journal.tail(0, kinds=[*KINDS])
    return any(agent in (None, event.agent) for event in events)


def tier_documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """Yield every file, of all agents or of one."""
    records = _records(home, agent)
    yield RECORDS, RECORDS, _in_json(records)
    graph = _graph(home, agent)
    yield GRAPH, GRAPH, _in_json(graph)
    insights = insights_of(home)
    if agent is not None:
        insights = [insight for insight in insights if insight.agent == agent]
    yield from _insights(home, insights)
    yield from _skills(home, agent)
    for event in home.journal.tail(0, kinds=["post_run"]):
        if agent in (None, event.agent) and event.session:
            folder = portable(event.session)
            name = f"runs/{folder}/post_run.json"
            members = _run_members(event)
            yield "runs/*/post_run.json", name, _in_json(members)


def _skills(home: Home, agent: str | None) -> Iterator[Document]:
    """Yield a file a skill, and the statistics of the seeds that were tried."""
    projects = _skill_projects(home)
    statistics = {}
    for skill in skills_of(home):
        if agent not in (None, skill.agent):
            continue
        folder = portable(skill.name)
        text = _skill_text(skill, projects[skill.name])
        name = f"skills/{folder}/{SKILL}"
        yield f"skills/*/{SKILL}", name, text
        if skill.origin == _SEED and skill.usage_count:
            statistics[folder] = {
                "usage_count": skill.usage_count,
                "success_rate": skill.success_rate,
            }
    if statistics:
        yield STATISTICS, STATISTICS, _in_json(statistics)


def _records(home: Home, agent: str | None) -> dict[str, Any]:
    """Return the records by key.

    A key of several projects has the project before it.
    """
    last_events = {}
    for event in home.journal.tail(0, kinds=["record"]):
        record_id = event.body["record_id"]
        last_events[record_id] = event
    records = []
    for record in all_records(home):
        last_event = last_events[record.record_id]
        if agent in (None, last_event.agent):
            records.append(record)
    n_records = Counter(record.key for record in records)
    by_name = {}
    for record in records:
        about = _about(last_events[record.record_id])
        name = record.key
        if n_records[name] > 1:
            name = f"{about['project']}:{name}"
        by_name[name] = {**record.to_dict(), "theorex": about}
    return by_name


def _skill_projects(home: Home) -> dict[str, str]:
    """Return by name the projects of the skills that `skills_of` returns."""
    projects = {}
    with home.views.reading(Skills) as view:
        for row in view.chosen(home):
            project, _, name = view.names[row].partition("\0")
            projects[name] = project
    return projects


def _skill_text(skill: Skill, project: str) -> str:
    """Return a skill as its file holds it."""
    members = {name: getattr(skill, name) for name in _SKILL_MEMBERS}
    members |= {
        "source": skill.origin,
        "created_at": skill.created_at.isoformat(),
        "theorex": {
            "agent": skill.agent,
            "project": project,
            "source": skill.source,
        },
    }
    return f"{front_matter(members)}\n{skill.body}"


def _run_members(event: Event) -> dict[str, Any]:
    """Return what was learnt from a session, as its file holds it."""
    names = ("session_id", "status", "domain", "learnt")
    members = {name: event.body[name] for name in names}
    return {**members, "theorex": _about(event)}


def _about(event: Event) -> dict[str, str]:
    """Return whose an event is, its project and its source."""
    return {
        "agent": event.agent,
        "project": event.body.get("project", ""),
        "source": event.body["source"],
    }


def _graph(home: Home, agent: str | None) -> dict[str, Any]:
    """Return the theorems by id, and the links between them."""
    events = {}
    for event in home.journal.tail(0, kinds=["theorem"]):
        if agent in (None, event.agent):
            events[event.id] = event
    nodes = {}
    edges = []
    with home.views.reading(Theorems) as view:
        for row in view.chosen(home).tolist():
            node_id = view.ids[row]
            if node_id not in events:
                continue
            members = view.node(row).to_dict()
            del members["distance"]
            members["theorex"] = _about(events[node_id])
            nodes[node_id] = members
        starts = view.links["start"].tolist()
        ends = view.links["end"].tolist()
        relations = view.links["relation"].tolist()
        for start, end, relation in zip(starts, ends, relations, strict=True):
            start_id = view.ids[start]
            end_id = view.ids[end]
            if start_id in nodes and end_id in nodes:
                edges.append([start_id, end_id, RELATIONS[relation]])
    return {"nodes": nodes, "edges": edges}


def _insights(home: Home, insights: list[Insight]) -> Iterator[Document]:
    """Yield a file an insight, and of each domain the index."""
    ids = [insight.insight_id for insight in insights]
    events = {event.id: event for event in home.journal.read(ids=ids)}
    vectors = _vectors(home, ids)
    index = dict[str, dict[str, Any]]()
    taken_names = set[str]()
    for insight in insights:
        slug = domain_slug(insight.domain)
        title = _title_slug(insight.title or insight.content)
        base = f"{insight.created_at:%Y%m%d}_{title}"
        name = _free_name(insight, slug, base, taken_names)
        taken_names |= {f"{slug}/{base}".lower(), f"{slug}/{name}".lower()}
        members: dict[str, Any] = {
            "category": insight.category,
            "title": insight.title,
            "domain": insight.domain,
            "confidence": f"{insight.confidence:.2f}",
            "created_at": insight.created_at.isoformat(),
            "insight_id": insight.insight_id,
            "theorex": _about(events[insight.insight_id]),
        }
        heading = f"# {insight.title or base}"
        yield (
            f"memories/{slug}/*.md",
            f"memories/{slug}/{name}",
            f"{front_matter(members)}\n{heading}\n\n{insight.content}",
        )
        entries = index.setdefault(slug, {})
        entries[name] = {
            "fingerprint": insight.fingerprint,
            "created_at": members["created_at"],
            "embedding": vectors.get(insight.insight_id),
            "category": insight.category,
        }
    for slug, entries in index.items():
        index_name = f"memories/{slug}/{INDEX}"
        yield index_name, index_name, _in_json(entries)


def _free_name(insight: Insight, slug: str, base: str, taken_names: set[str]) -> str:
    """Return a name for an insight's file that no other in its folder has."""
    name = f"{base}.md"
    if f"{slug}/{base}".lower() in taken_names:
        name = f"{base}_{insight.fingerprint[:_FINGERPRINT]}.md"
    if f"{slug}/{name}".lower() in taken_names:
        return f"{base}_{insight.insight_id}.md"
    return name


def _vectors(home: Home, ids: Iterable[str]) -> dict[str, list[float]]:
    """Return, by id, the vectors that insights have by now."""
    texts = Searcher(home).vectors
    if texts.no_vectors or not getattr(texts.embedder, "is_sized", True):
        return {}
    vectors = {}
    with home.views.reading(home.item_view) as index:
        texts.follow(index)
        for insight_id in ids:
            rows = index.rows_of(insight_id)
            if not len(rows):
                continue
            has_vector, matrix = texts.of(rows[-1:])
            if has_vector[0]:
                vector = matrix[0]
                numbers = [round(float(number), 6) for number in vector]
                vectors[insight_id] = numbers
    return vectors


def _title_slug(title: str) -> str:
    """Return a title as a part of a file's name."""
    slug = re.sub(r"\W+", "_", title.lower())
    slug = slug.strip("_")[:_TITLE_CHARACTERS]
    return slug.strip("_") or "insight"


def front_matter(members: dict[str, Any]) -> str:
    """Return members between two lines of `---`, as YAML.

    JSON is YAML, so that no text can end it.
    """
    lines = ["---"]
    for name, value in members.items():
        text = json.dumps(value, ensure_ascii=True)
        lines.append(f"{name}: {text}")
    lines += ["---", ""]
    return "\n".join(lines)


def _in_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


Members = Mapping[str, Any]
_STATE = "theory_state.json"
_FILE_NAMES = (Path(RECORDS).name, Path(GRAPH).name, SKILL, _STATE)
_FRONT_CHARACTERS = 20_000
_NO_DATE = "1970-01-01T00:00:00Z"
_MOST_USES = 1e9  # of a skill, as an import tells


def tier_files(path: Path) -> list[Path]:
    """Return the files of this layout below a folder.

    A file that is given is judged by its name and folder.
    """
    if not path.is_dir():
        is_note = path.suffix == ".md" and "memories" in path.parts
        if is_note or path.name in _FILE_NAMES:
            return [path]
        return []
    files = [path / name for name in (RECORDS, GRAPH, STATISTICS)]
    others = list[Path]()
    others += path.glob("memories/*/*.md")
    others += path.glob(f"skills/*/{SKILL}")
    others += path.glob(f"runs/*/{_STATE}")
    files += sorted(others)
    return [file for file in files if file.is_file()]


def import_tiers(
    home: Home,
    _searcher: object,
    path: Path,
    *,
    agent: str = "main",
    trusted: bool = False,
) -> Reports:
    """Take in such folders, or one file, each file in one transaction.

    What is there already stays as it is. What is damaged is named and passed over. An
    insight whose file was edited stands in the place of what it was.

    Args:
        home: Where it is kept.
        path: The folder or the file.
        agent: Who takes it in.
        trusted: For exports of one's own. Otherwise all is untrusted, and replaces
            nothing that was not.

    Raises:
        InvalidInput: The agent is outside the rule.
        StorageError: The disk is full.
    """
    _ = home.designs  # its kinds become known
    reading = _Reading(
        home,
        ImportOptions(home.settings, home.clock.now(), check_agent(agent), trusted),
    )

    def take(file: Path, problems: list[str]) -> tuple[int, int]:
        events = [
            (reading.options.believed(event, problems, where), 1)
            for where, event in reading.events(file, problems)
        ]
        n_new, n_known = append_new(home.journal, events)
        return n_new + reading.n_learnt, n_known + reading.n_known

    return each_file(path, tier_files(path), take)


class _Reading:
    """Read a folder.

    Attributes:
        home: Where it is taken in.
        options: How far it is believed, and whose it is.
        n_known: How many records of the last file are here as they are there.
        n_learnt: How many of them are kept otherwise.
        stats: By name, the statistics of skills that a file of its own tells.
    """

    def __init__(self, home: Home, options: ImportOptions) -> None:
        self.home = home
        self.options = options
        self.n_known = 0
        self.n_learnt = 0
        self.stats: Members = {}

    def events(
        self, file: Path, problems: list[str]
    ) -> Iterator[tuple[int | str, Event]]:
        """Yield what a file becomes, with its places."""
        self.n_known = 0
        self.n_learnt = 0
        if file.name == Path(STATISTICS).name:
            self.stats = _object_in(file)
        elif file.name == Path(RECORDS).name:
            records = _object_in(file).items()
            yield from each_noted(problems, records, self._record)
        elif file.name == Path(GRAPH).name:
            yield from _GraphReading(self, problems).events(_object_in(file))
        elif file.name == _STATE:
            self._run(file)
        elif file.name == SKILL:
            for event in self._skill(file):
                yield file.name, event
        else:
            for event in self._insight(file):
                yield file.name, event

    def home_of(self, record: Members) -> tuple[Home, dict[str, Any]]:
        """Return the home in the project of a record, and its source and agent.

        The source is told as far as the record is believed.
        """
        about = record.get("theorex")
        members: dict[str, Any] = {}
        if isinstance(about, Mapping):
            members = dict(about)
        project = members.get("project", self.home.project)
        home = self.home.in_project(check_project(str(project)))
        agent = members.get("agent", self.options.agent)
        source = self.options.source(members, "source")
        return home, {"source": source, "agent": check_agent(str(agent))}

    def _record(self, record: Members) -> Event | None:
        """Return the event of a record; None where it is here, or a newer one."""
        if not isinstance(record, Mapping) or "value" not in record:
            raise InvalidInput(
                f"got {record!r:.100}; allowed is a record with key and value"
            )
        home, about = self.home_of(record)
        key: Any = record.get("key")
        body = record_body(home, key, record["value"], _texts(record.get("tags")))
        created = _time(record.get("created_at"))
        updated = _time(record.get("updated_at") or record.get("created_at"))
        old = record_of(home, body["key"])
        if old is not None:
            is_same = old.value == body["value"]
            if is_same or to_microseconds(old.updated_at) >= updated:
                self.n_known += 1
                return None
            self._check_replaces(home, "record", record_id=old.record_id)
        session = check_session(str(record.get("source_session") or ""))
        body |= {
            "source_session": session,
            "created_at": created,
            "source": about["source"],
            "project": home.project,
        }
        event_id = derived_event_id(
            "record",
            record_id_of(home.project, body["key"]),
            updated,
            encode(body["value"]),
        )
        return new_event(
            "record",
            body,
            agent=about["agent"],
            session=session,
            at=updated,
            event_id=event_id,
        )

    def _check_replaces(self, home: Home, kind: str, **members: str) -> None:
        """Raise InvalidInput where a stranger's file would replace one's own word.

        Args:
            home: Where it is kept.
            kind: The kind of the events that tell it.
            members: Members of their bodies by which they are known.
        """
        if self.options.trusted:
            return
        for event in home.journal.tail(0, kinds=[kind]):
            body = event.body
            is_of_it = members.items() <= body.items()
            is_own_word = body["source"] != "import"
            if is_of_it and is_own_word:
                raise InvalidInput(
                    f"a {kind} of this name is here already by your own word; with"
                    " --trusted it is replaced"
                )

    def _insight(self, file: Path) -> list[Event]:
        """Return the events of an insight's file; none where it is here."""
        front, text = _parts(file)
        home, about = self.home_of(front)
        heading, content = _heading_and_content(text)
        title = str(front.get("title", heading) or "")
        domain = str(front.get("domain") or file.parent.name)
        category = front.get("category")
        if category not in CATEGORIES:
            raise InvalidInput(
                f"got the category {category!r:.60}; allowed are"
                f" {', '.join(CATEGORIES)}"
            )
        confidence = _number(front.get("confidence", 0.8))
        members = (category, title, content, domain, f"{confidence:.2f}")
        edited_ids = self._edited(home, str(front.get("insight_id")), members)
        insight_id, events = insight_events(
            home,
            str(category),
            title,
            content,
            confidence=confidence,
            domain=domain,
            at=_time(front.get("created_at")),
            replaces=edited_ids,
            **about,
        )
        if not insight_id:
            raise InvalidInput(
                f"got the confidence {confidence}; allowed is one from the setting"
                " insightConfidence on"
            )
        self.n_known += not events
        return events

    def _edited(
        self, home: Home, insight_id: str, members: tuple[str, ...]
    ) -> list[str]:
        """Return the id of the insight that a file edits; none where it edits none.

        Args:
            home: Where the insight is kept.
            insight_id: The id that the file names.
            members: Category, title, content, domain and confidence in the file.
        """
        standing_id = stands_for(home, insight_id)
        insight = insight_by_id(home, standing_id)
        if insight is None:
            return []
        may_replace = self.options.trusted or insight.source == "import"
        recorded = (
            insight.category,
            insight.title,
            insight.content,
            insight.domain,
            f"{insight.confidence:.2f}",
        )
        return [standing_id] if may_replace and recorded != members else []

    def _skill(self, file: Path) -> list[Event]:
        """Return the event of a skill's file; none where it is here."""
        front, body = _parts(file)
        home, about = self.home_of(front)
        name = file.parent.name
        lists: dict[str, Any] = {
            member: _texts(front.get(member))
            for member in ("tags", "agent_roles", "pipeline_stages")
        }
        stats = self._stats_of(name, front)
        if self._has_skill(home, name.strip("_").lower(), front, body.strip()):
            self.n_known += 1
            return []
        origin = front.get("source") if front.get("source") in ORIGINS else "manual"
        event = skill_event(
            home,
            name.strip("_").lower(),
            str(front.get("description") or front.get("name") or name),
            body.strip(),
            version=str(front.get("version") or "1"),
            origin=str(origin),
            stats=stats,
            at=_time(front.get("created_at")),
            **lists,
            **about,
        )
        if is_known(home, event):
            self.n_known += 1
            return []
        self._check_replaces(
            home,
            "skill",
            name=event.body["name"],
            project=event.body["project"],
        )
        return [event._replace(id=derived_event_id("skill", encode(event.body)))]

    def _has_skill(self, home: Home, name: str, front: Members, body: str) -> bool:
        """Return whether a skill is here as its file tells it, with its statistics.

        What a stranger says of these does not count.
        """
        for skill in skills_of(home):
            if skill.name == name and skill.body.strip() == body:
                return self._is_told_by(skill, front)
        return False

    def _is_told_by(self, skill: Skill, front: Members) -> bool:
        """Return whether front matter tells a skill as it is."""
        for member in _SKILL_MEMBERS:
            if member in _STATISTICS and not self.options.trusted:
                continue
            if getattr(skill, member) != front.get(member):
                return False
        return True

    def _stats_of(self, name: str, front: Members) -> dict[str, Any] | None:
        """Return the statistics of a skill; None where they are no evidence.

        They stand in a file of their own, or else in the skill's front matter. What a
        stranger says is no evidence.
        """
        stats = self.stats.get(name)
        if not isinstance(stats, Mapping):
            stats = front
        uses = _number(stats.get("usage_count") or 0)
        rate = _number(stats.get("success_rate") or 0)
        if not self.options.trusted:
            return None
        is_used = 0 < uses < _MOST_USES
        is_rate = 0 <= rate <= 1
        if not is_used or not is_rate:
            return None
        return {"usage_count": int(uses), "success_rate": rate}

    def _run(self, file: Path) -> None:
        """Learn from the state of a session."""
        state = RunState.of(_object_in(file))
        session = check_session(file.parent.name)
        source = "agent" if self.options.trusted else "import"
        summary = post_run(
            self.home, session, state, agent=self.options.agent, source=source
        )
        self.n_learnt = 0
        for name in ("insights", "skills", "patterns"):
            self.n_learnt += len(summary[name])
        self.n_known = not self.n_learnt


class _GraphReading:
    """Read a graph of theorems.

    Attributes:
        reading: The folder that it belongs to.
        problems: What could not be read.
        theorems: By id, the theorems that were read.
        ids: By the name that the file gives a node, the id of its theorem.
    """

    def __init__(self, reading: _Reading, problems: list[str]) -> None:
        self.reading = reading
        self.problems = problems
        self.theorems = dict[str, Event]()
        self.ids = dict[str, str]()

    def events(self, graph: Members) -> Iterator[tuple[int | str, Event]]:
        """Yield the theorems, then the links between them, with their places."""
        nodes = graph.get("nodes")
        edges = graph.get("edges", [])
        if not isinstance(nodes, Mapping) or not isinstance(edges, list):
            raise InvalidInput(
                f"got members {', '.join(graph)!r:.100}; allowed are nodes {{id: node}}"
                " and edges [[from, to, relation]]"
            )
        named_nodes = ((key, (key, node)) for key, node in nodes.items())
        yield from each_noted(self.problems, named_nodes, self._theorem)
        yield from each_noted(self.problems, enumerate(edges, 1), self._link)

    def _theorem(self, named_node: tuple[str, Any]) -> Event:
        key, node = named_node
        if not isinstance(node, Mapping):
            raise InvalidInput(f"got {node!r:.100}; allowed is a theorem")
        home, about = self.reading.home_of(node)
        event = theorem_event(
            home,
            str(node.get("theorem_name") or ""),
            str(node.get("formal_statement") or ""),
            str(node.get("domain") or GENERAL),
            session_id=check_session(str(node.get("session_id") or "")),
            tags=_texts(node.get("tags")),
            at=_time(node.get("created_at")),
            **about,
        )
        if event.id in self.theorems:
            check_same([self.theorems[event.id]], event)
        elif home.journal.read(ids=[event.id], erased=True):
            check_same(home.journal.read(ids=[event.id]), event)
        self.ids[key] = event.id
        self.theorems[event.id] = event
        return event

    def _link(self, edge: Any) -> Event:
        is_edge = isinstance(edge, list) and len(edge) == 3
        if not is_edge or not all(self._is_node(end) for end in edge[:2]):
            raise InvalidInput(
                f"got {edge!r:.100}; allowed is [from, to, relation] of two of the"
                " nodes"
            )
        start, end, relation = edge
        options = self.reading.options
        return link_event(
            self.reading.home,
            self.ids[start],
            self.ids[end],
            str(relation),
            source="agent" if options.trusted else "import",
            agent=options.agent,
        )

    def _is_node(self, name: Any) -> bool:
        """Return whether the end of an edge is the name of a theorem that was read."""
        return isinstance(name, str) and name in self.ids


def _heading_and_content(text: str) -> tuple[str, str]:
    """Return the heading of an insight's text, '' without one, and what follows it."""
    content = text.strip()
    if not content.startswith("# "):
        return "", content
    heading, _, content = content.partition("\n")
    return heading[2:].strip(), content.strip()


def _object_in(file: Path) -> dict[str, Any]:
    return parse_object(read_file(file))


def _parts(file: Path) -> tuple[dict[str, Any], str]:
    """Return the front matter of a file, and what follows it.

    Raises:
        InvalidInput: It is no YAML of plain members.
    """
    import yaml  # type: ignore[import-untyped]

    text = read_file(file).decode("utf-8", "replace").replace("\r\n", "\n")
    front, separator, rest = text.partition("\n---\n")
    may_repeat = "&" in front and "*" in front
    has_front = text.startswith("---\n") and bool(separator)
    if not has_front or len(front) > _FRONT_CHARACTERS or may_repeat:
        raise InvalidInput(
            "got a file without front matter; allowed is one that begins with --- and"
            " members, and ---"
        )
    try:
        members = yaml.load(front.removeprefix("---\n"), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"got front matter that is no YAML: {str(error)[:100]}"
        ) from error
    if not isinstance(members, dict) or not all(
        isinstance(name, str) for name in members
    ):
        raise InvalidInput(
            "got front matter without members; allowed are lines such as category:"
            " pitfalls"
        )
    return members, rest


def _texts(value: Any) -> list[str]:
    """Return a list of texts; of nothing none.

    Raises:
        InvalidInput: It is no list.
    """
    if not isinstance(value or [], list):
        raise InvalidInput(f"got {value!r:.60}; allowed is a list of texts")
    return [str(text) for text in value or ()]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"got {value!r:.60}; allowed is a number") from error


def _time(value: Any) -> int:
    """Return a time in µs UTC; one without a zone is taken as UTC.

    Raises:
        InvalidInput: It is no time.
    """
    text = str(value or _NO_DATE).replace(" ", "T")
    sign_of_zone = text[-6:-5]
    has_zone = text.endswith("Z") or sign_of_zone in ("+", "-")
    if not has_zone:
        text = f"{text}Z"
    return to_microseconds(text)
