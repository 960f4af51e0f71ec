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
    insight_events,
    insights_of,
    stands_for,
)
from theorex_lab.designs.research.items import domain_slug, record_id_of
from theorex_lab.designs.research.learning import RunState, post_run
from theorex_lab.designs.research.records import all_records, record_body, record_of
from theorex_lab.designs.research.skills import is_known, skill_event, skills_of
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
FOLDERS = ("memory", "memories", "skills", "runs")
VARIABLE = "EUREKACLAW_DIR"
_TITLE_CHARACTERS = 40
_FINGERPRINT = 4
Document = tuple[str, str, str]  # as it is told, its name, its text


def export_tiers(
    home: Home, _searcher: object, folder: Path, *, agent: str | None = None
) -> Exported:
    """Write the folders of all agents, or of one; nothing where the design was never
    used. Raises StorageError.
    """
    done = Exported(folder)
    for told, name, text in tier_documents(home, agent) if _used(home, agent) else ():
        write_lines(folder / name, text.splitlines())
        done.files[told] = done.files.get(told, 0) + 1
    return done


def export_named_tiers(home: Home, *, agent: str | None = None) -> Exported:
    """Write the folders where EUREKACLAW_DIR says. Raises StorageError."""
    place = named_folder()
    return export_tiers(home, None, place, agent=agent) if place else Exported(Path())


def named_tier_files(home: Home, *, agent: str | None = None) -> list[Path]:
    """The files that `export_named_tiers` writes."""
    place = named_folder()
    return (
        [place / name for _, name, _ in tier_documents(home, agent)]
        if place and _used(home, agent)
        else []
    )


def places(_settings: Settings) -> list[Path]:
    """Where others keep such folders, by the environment."""
    return [named_folder()] if named_folder() else []  # type: ignore[list-item]


def named_folder() -> Path | None:
    """The folder that EUREKACLAW_DIR names; None where it is not set."""
    return Path(found).expanduser() if (found := os.environ.get(VARIABLE)) else None


def _used(home: Home, agent: str | None) -> bool:
    return any(
        agent in (None, event.agent) for event in home.journal.tail(0, kinds=[*KINDS])
    )


def tier_documents(home: Home, agent: str | None = None) -> Iterator[Document]:
    """Every file, of all agents or of one."""
    last = {
        event.body["record_id"]: event
        for event in home.journal.tail(0, kinds=["record"])
    }
    told = [
        (record, last[record.record_id])
        for record in all_records(home)
        if agent in (None, last[record.record_id].agent)
    ]
    keys = [record.key for record, _ in told]
    named = {
        (
            record.key
            if keys.count(record.key) == 1
            else f"{_about(event)['project']}:{record.key}"
        ): {
            **record.to_dict(),
            "theorex": _about(event),
        }
        for record, event in told
    }
    yield RECORDS, RECORDS, _in_json(named)
    yield GRAPH, GRAPH, _in_json(_graph(home, agent))
    yield from _insights(
        home, [one for one in insights_of(home) if agent in (None, one.agent)]
    )
    for skill in skills_of(home):
        if agent in (None, skill.agent):
            names = (
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
            told_of = {name: getattr(skill, name) for name in names}
            about = {
                "created_at": skill.created_at.isoformat(),
                "theorex": {"agent": skill.agent, "source": skill.source},
            }
            origin = told_of.pop("origin")
            head = front_matter({**told_of, "source": origin, **about})
            text = f"{head}\n{skill.body}"
            yield f"skills/*/{SKILL}", f"skills/{portable(skill.name)}/{SKILL}", text
    for event in home.journal.tail(0, kinds=["post_run"]):
        if agent in (None, event.agent) and event.session:
            run = {
                **{
                    name: event.body[name]
                    for name in ("session_id", "status", "domain", "learnt")
                },
                "theorex": _about(event),
            }
            yield (
                "runs/*/post_run.json",
                f"runs/{portable(event.session)}/post_run.json",
                _in_json(run),
            )


def _about(event: Event) -> dict[str, str]:
    return {
        "agent": event.agent,
        "project": event.body.get("project", ""),
        "source": event.body["source"],
    }


def _graph(home: Home, agent: str | None) -> dict[str, Any]:
    events = {
        event.id: event
        for event in home.journal.tail(0, kinds=["theorem"])
        if agent in (None, event.agent)
    }
    with home.views.reading(Theorems) as view:
        rows = [row for row in view.chosen(home).tolist() if view.ids[row] in events]
        nodes = {
            view.ids[row]: {
                **view.node(row).to_dict(),
                "theorex": _about(events[view.ids[row]]),
            }
            for row in rows
        }
        ends = zip(
            *(view.links[name].tolist() for name in ("start", "end", "relation")),
            strict=True,
        )
        edges = [
            [view.ids[start], view.ids[end], RELATIONS[relation]]
            for start, end, relation in ends
        ]
    for node in nodes.values():
        del node["distance"]
    return {
        "nodes": nodes,
        "edges": [edge for edge in edges if edge[0] in nodes and edge[1] in nodes],
    }


def _insights(home: Home, found: list[Insight]) -> Iterator[Document]:
    """A file an insight, and of each domain the index."""
    events = {
        event.id: event
        for event in home.journal.read(ids=[one.insight_id for one in found])
    }
    vectors = _vectors(home, found)
    index = dict[str, dict[str, Any]]()
    taken = set[str]()
    for one in found:
        slug = domain_slug(one.domain)
        base = f"{one.created_at:%Y%m%d}_{_slug(one.title or one.content)}"
        name = (
            f"{base}.md"
            if f"{slug}/{base}".lower() not in taken
            else f"{base}_{one.fingerprint[:_FINGERPRINT]}.md"
        )
        name = (
            name
            if f"{slug}/{name}".lower() not in taken
            else f"{base}_{one.insight_id}.md"
        )
        taken |= {f"{slug}/{base}".lower(), f"{slug}/{name}".lower()}
        told: dict[str, Any] = {
            "category": one.category,
            "title": one.title,
            "domain": one.domain,
            "confidence": f"{one.confidence:.2f}",
        }
        told |= {
            "created_at": one.created_at.isoformat(),
            "insight_id": one.insight_id,
            "theorex": _about(events[one.insight_id]),
        }
        yield (
            f"memories/{slug}/*.md",
            f"memories/{slug}/{name}",
            f"{front_matter(told)}\n# {one.title or base}\n\n{one.content}",
        )
        entry = {
            "fingerprint": one.fingerprint,
            "created_at": told["created_at"],
            "embedding": vectors.get(one.insight_id),
        }
        index.setdefault(slug, {})[name] = {**entry, "category": one.category}
    for slug, entries in index.items():
        yield f"memories/{slug}/{INDEX}", f"memories/{slug}/{INDEX}", _in_json(entries)


def _vectors(home: Home, found: Iterable[Insight]) -> dict[str, list[float]]:
    """By id the vectors that insights have by now."""
    texts = Searcher(home).vectors
    if texts.no_vectors or not getattr(texts.embedder, "is_sized", True):
        return {}
    with home.views.reading(home.item_view) as index:
        texts.follow(index)
        rows = {one.insight_id: index.rows_of(one.insight_id) for one in found}
        held = {named: texts.of(row[-1:]) for named, row in rows.items() if len(row)}
    return {
        named: [round(float(value), 6) for value in matrix[0]]
        for named, (has, matrix) in held.items()
        if has[0]
    }


def _slug(title: str) -> str:
    return (
        re.sub(r"\W+", "_", title.lower()).strip("_")[:_TITLE_CHARACTERS].strip("_")
        or "insight"
    )


def front_matter(told: dict[str, Any]) -> str:
    """Members between two lines of `---`, as YAML; JSON is YAML, so that no text can
    end it.
    """
    return "\n".join(
        [
            "---",
            *(
                f"{name}: {json.dumps(value, ensure_ascii=True)}"
                for name, value in told.items()
            ),
            "---",
            "",
        ]
    )


def _in_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


Told = Mapping[str, Any]
_STATS = "seed_skill_stats.json"
_FRONT_CHARACTERS = 20_000
_NO_DATE = "1970-01-01T00:00:00Z"


def tier_files(path: Path) -> list[Path]:
    """The files of this layout below a folder, or the one that is given, by its name
    and folder.
    """
    if not path.is_dir():
        kinds = (
            path.name
            in (
                Path(RECORDS).name,
                Path(GRAPH).name,
                SKILL,
                "theory_state.json",
            ),
            path.suffix == ".md" and "memories" in path.parts,
        )
        return [path] * any(kinds)
    graph = [
        file
        for name in (RECORDS, GRAPH, f"skills/{_STATS}")
        if (file := path / name).is_file()
    ]
    listed = [
        *path.glob("memories/*/*.md"),
        *path.glob(f"skills/*/{SKILL}"),
        *path.glob("runs/*/theory_state.json"),
    ]
    return [*graph, *sorted(file for file in listed if file.is_file())]


def import_tiers(
    home: Home,
    _searcher: object,
    path: Path,
    *,
    agent: str = "main",
    trust_own: bool = False,
) -> Reports:
    """Take in such folders, or one file, each file in one transaction; what is there
    already stays as it is.

    What is damaged is named and passed over. Without `trust_own`, which is for exports
    of one's own, all is `agent`'s and only heard, and replaces nothing that was not. An
    insight whose file was edited stands in the place of what it was. Raises
    InvalidInput for an agent outside the rule, StorageError on a full disk.
    """
    _ = home.designs  # its kinds become known
    reading = _Reading(
        home,
        ImportOptions(home.settings, home.clock.now(), check_agent(agent), trust_own),
    )

    def take(file: Path, problems: list[str]) -> tuple[int, int]:
        events = [
            (reading.how.believed(event, problems, where), 1)
            for where, event in reading.events(file, problems)
        ]
        found = append_new(home.journal, events)
        return found[0] + reading.learnt, found[1] + reading.known

    return each_file(path, tier_files(path), take)


class _Reading:
    """A folder that is read. known: records of the last file that are here as they are
    there; learnt: those kept otherwise.
    """

    def __init__(self, home: Home, how: ImportOptions) -> None:
        self.home = home
        self.how = how
        self.known = 0
        self.learnt = 0
        self.stats: Told = {}

    def events(
        self, file: Path, problems: list[str]
    ) -> Iterator[tuple[int | str, Event]]:
        """What a file becomes, with its places."""
        self.known = self.learnt = 0
        if file.name == _STATS:
            self.stats = _object_in(file)
        elif file.name == Path(RECORDS).name:
            yield from each_noted(problems, _placed(_object_in(file)), self._record)
        elif file.name == Path(GRAPH).name:
            yield from self._graph(_object_in(file), problems)
        elif file.name == "theory_state.json":
            self._run(file)
        else:
            made = self._skill(file) if file.name == SKILL else self._insight(file)
            yield from ((file.name, event) for event in made)

    def _about(self, record: Told) -> tuple[Home, dict[str, Any]]:
        """The home in the project of a record, and its source and agent, as far as it
        is believed.
        """
        own = record.get("theorex")
        said = dict(own) if isinstance(own, Mapping) and self.how.trust_own else {}
        home = self.home.in_project(
            check_project(str(said.get("project", self.home.project)))
        )
        return home, {
            "source": self.how.source(said, "source"),
            "agent": check_agent(str(said.get("agent", self.how.agent))),
        }

    def _record(self, record: Told) -> Event | None:
        if not isinstance(record, Mapping) or "value" not in record:
            raise InvalidInput(
                f"got {record!r:.100}; allowed is a record with key and value"
            )
        home, about = self._about(record)
        tags = _texts(record.get("tags"))
        # A key that is no text is refused there.
        key: Any = record.get("key")
        body = record_body(home, key, record["value"], tags)
        created = _time(record.get("created_at"))
        updated = _time(record.get("updated_at") or record.get("created_at"))
        there = record_of(home, body["key"])
        if there is not None and (
            there.value == body["value"] or to_microseconds(there.updated_at) >= updated
        ):
            self.known += 1
            return None
        session = check_session(str(record.get("source_session") or ""))
        body |= {
            "source_session": session,
            "created_at": created,
            "source": about["source"],
            "project": home.project,
        }
        made = derived_event_id(
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
            event_id=made,
        )

    def _graph(
        self, told: Told, problems: list[str]
    ) -> Iterator[tuple[int | str, Event]]:
        nodes = told.get("nodes")
        edges = told.get("edges", [])
        if not isinstance(nodes, Mapping) or not isinstance(edges, list):
            raise InvalidInput(
                f"got members {', '.join(told)!r:.100}; allowed are nodes {{id: node}}"
                " and edges [[from, to, relation]]"
            )
        ids = dict[str, str]()
        made = dict[str, Event]()

        def theorem(named: tuple[str, Any]) -> Event:
            key, node = named
            if not isinstance(node, Mapping):
                raise InvalidInput(f"got {node!r:.100}; allowed is a theorem")
            home, about = self._about(node)
            name, said = (
                str(node.get(part) or "")
                for part in ("theorem_name", "formal_statement")
            )
            event = theorem_event(
                home,
                name,
                said,
                str(node.get("domain") or GENERAL),
                session_id=check_session(str(node.get("session_id") or "")),
                tags=_texts(node.get("tags")),
                at=_time(node.get("created_at")),
                **about,
            )
            if event.id in made or home.journal.read(ids=[event.id], erased=True):
                check_same(
                    (
                        [made[event.id]]
                        if event.id in made
                        else home.journal.read(ids=[event.id])
                    ),
                    event,
                )
            ids[key], made[event.id] = event.id, event
            return event

        yield from each_noted(
            problems, ((key, (key, node)) for key, node in nodes.items()), theorem
        )
        source = {
            "source": "agent" if self.how.trust_own else "import",
            "agent": self.how.agent,
        }

        def link(edge: Any) -> Event:
            if (
                not isinstance(edge, list)
                or len(edge) != 3
                or not all(isinstance(end, str) and end in ids for end in edge[:2])
            ):
                raise InvalidInput(
                    f"got {edge!r:.100}; allowed is [from, to, relation] of two of the"
                    " nodes"
                )
            return link_event(
                self.home, ids[edge[0]], ids[edge[1]], str(edge[2]), **source
            )

        yield from each_noted(problems, enumerate(edges, 1), link)

    def _insight(self, file: Path) -> list[Event]:
        front, text = _parts(file)
        home, about = self._about(front)
        content = text.strip()
        head = ""
        if content.startswith("# "):
            head, _, content = content.partition("\n")
        title = str(front.get("title", head[2:].strip()) or "")
        content = content.strip()
        domain = str(front.get("domain") or file.parent.name)
        category = front.get("category")
        if category not in CATEGORIES:
            raise InvalidInput(
                f"got the category {category!r:.60}; allowed are"
                f" {', '.join(CATEGORIES)}"
            )
        sure = _number(front.get("confidence", 0.8))
        old = stands_for(home, str(front.get("insight_id")))
        edited = [
            one.insight_id
            for one in insights_of(home)
            if one.insight_id == old
            and (self.how.trust_own or one.source == "import")
            and (
                one.category,
                one.title,
                one.content,
                one.domain,
                f"{one.confidence:.2f}",
            )
            != (category, title, content, domain, f"{sure:.2f}")
        ]
        made, events = insight_events(
            home,
            str(category),
            title,
            content,
            confidence=sure,
            domain=domain,
            at=_time(front.get("created_at")),
            replaces=edited,
            **about,
        )
        if not made:
            raise InvalidInput(
                f"got the confidence {sure}; allowed is one from the setting"
                " insightConfidence on"
            )
        self.known += not events
        return events

    def _skill(self, file: Path) -> list[Event]:
        front, body = _parts(file)
        home, about = self._about(front)
        lists: dict[str, Any] = {
            name: _texts(front.get(name))
            for name in ("tags", "agent_roles", "pipeline_stages")
        }
        said = self.stats.get(file.parent.name)
        stats = said if isinstance(said, Mapping) else front
        uses = _number(stats.get("usage_count") or 0)
        rate = _number(stats.get("success_rate") or 0)
        origin = front.get("source") if front.get("source") in ORIGINS else "manual"
        counted = (
            self.how.trust_own and 0 < uses < 1e9 and 0 <= rate <= 1
        )  # what a stranger says is no evidence
        brought = {"usage_count": int(uses), "success_rate": rate} if counted else None
        event = skill_event(
            home,
            file.parent.name.strip("_").lower(),
            str(front.get("description") or front.get("name") or file.parent.name),
            body.strip(),
            version=str(front.get("version") or "1"),
            origin=str(origin),
            stats=brought,
            at=_time(front.get("created_at")),
            **lists,
            **about,
        )
        self.known += (there := is_known(home, event))
        made = derived_event_id("skill", encode(event.body))
        return [] if there else [event._replace(id=made)]

    def _run(self, file: Path) -> None:
        state = RunState.of(_object_in(file))
        session = check_session(file.parent.name)
        source = "agent" if self.how.trust_own else "import"
        told = post_run(self.home, session, state, agent=self.how.agent, source=source)
        self.learnt = sum(
            len(told[name]) for name in ("insights", "skills", "patterns")
        )
        self.known = not self.learnt


def _placed(told: Told) -> Iterator[tuple[str, Any]]:
    return ((key, value) for key, value in told.items())


def _object_in(file: Path) -> dict[str, Any]:
    return parse_object(read_file(file))


def _parts(file: Path) -> tuple[dict[str, Any], str]:
    """The front matter of a file, and what follows it. Raises InvalidInput where it is
    no YAML of plain members.
    """
    import yaml  # type: ignore[import-untyped]

    text = read_file(file).decode("utf-8", "replace").replace("\r\n", "\n")
    parts = text.split("\n---\n", 1)
    if (
        not text.startswith("---\n")
        or len(parts) < 2
        or len(parts[0]) > _FRONT_CHARACTERS
        or ("&" in parts[0] and "*" in parts[0])
    ):
        raise InvalidInput(
            "got a file without front matter; allowed is one that begins with --- and"
            " members, and ---"
        )
    try:
        front = yaml.load(parts[0].removeprefix("---\n"), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"got front matter that is no YAML: {str(error)[:100]}"
        ) from error
    if not isinstance(front, dict) or not all(isinstance(name, str) for name in front):
        raise InvalidInput(
            "got front matter without members; allowed are lines such as category:"
            " pitfalls"
        )
    return front, parts[1]


def _texts(value: Any) -> list[str]:
    if not isinstance(value or [], list):
        raise InvalidInput(f"got {value!r:.60}; allowed is a list of texts")
    return [str(one) for one in value or ()]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"got {value!r:.60}; allowed is a number") from error


def _time(value: Any) -> int:
    """A time in µs UTC; one without a zone is taken as UTC. Raises InvalidInput for
    what is no time.
    """
    text = str(value or _NO_DATE).replace(" ", "T")
    return to_microseconds(
        text if text.endswith("Z") or text[-6:-5] in ("+", "-") else f"{text}Z"
    )
