"""The files of the memory graph, as they are kept elsewhere too, written from the memory and taken in again.

memory_graph.jsonl         signals, hypotheses, attempts, outcomes and candidates, a line each, in the journal's order; after an
                           outcome what it makes of the confidence in its gene, for these signals and for any
genes.json, capsules.json  the genes and capsules, each as it was told last
evolution_narrative.md     the last outcomes in words

What a line of elsewhere has no member for (whose it was, its session, project and source) stands in its member `theorex`.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from theorex_lab.clock import EARLIEST, to_microseconds
from theorex_lab.config import Settings
from theorex_lab.designs.causal import KINDS, capture
from theorex_lab.designs.causal.capture import EVENT_TYPE, LINES, USED, checked_id, document_form, in_ms
from theorex_lab.designs.causal.genes import checked_asset
from theorex_lab.designs.causal.graph import Graph
from theorex_lab.designs.causal.items import causal_settings, runs_of
from theorex_lab.designs.causal.keys import checked_signals, compute_signal_key, has_error
from theorex_lab.designs.causal.narrative import narrative
from theorex_lab.designs.causal.personality import PARAMETERS, checked_mutation, personality_key
from theorex_lab.designs.causal.selector import texts_in
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.files import Exported, Importing, Reports, each_file
from theorex_lab.exchange.flat_files import append_new, each_noted, parse_object, write_lines
from theorex_lab.home import Home
from theorex_lab.ids import UUID, check_agent, check_session, derived_event_id
from theorex_lab.journal.event import Event, encode, new_event
from theorex_lab.journal.foreign import open_file, read_file
from theorex_lab.project import check_project
from theorex_lab.text.doors import kept_value

Told = dict[str, Any]
GRAPH, NARRATIVE = "memory_graph.jsonl", "evolution_narrative.md"
ASSETS = {"genes.json": "Gene", "capsules.json": "Capsule"}  # the type of what each holds
DERIVED = ("confidence_edge", "confidence_gene_outcome")
ABOUT = {"agent": "main", "session": "", "source": "agent", "project": ""}  # with what is not said
_NAMES = (GRAPH, *ASSETS, NARRATIVE)
_SCOPE_CHARACTERS = 128


def export_graph(home: Home, _searcher: object, folder: Path, *, agent: str | None = None) -> Exported:
    """Write the files of all agents, or of one, into a folder; nothing where the design was never used.

    Each file is replaced as a whole. Raises StorageError where one cannot be written.
    """
    return _write(home, agent, folder, {name: folder / name for name in _NAMES})


def export_named(home: Home, *, agent: str | None = None) -> Exported:
    """Write the files where `named_places` has them. Raises as `export_graph`, InvalidInput as `named_places`."""
    named = named_places()
    done = _write(home, agent, next(iter(named.values()), Path()).parent, named)
    done.files = {str(named[name]): count for name, count in done.files.items()}
    return done


def named_files(home: Home, *, agent: str | None = None) -> list[Path]:
    """The files that `export_named` writes."""
    return [*named_places().values()] if _used(home, agent) else []


def places(_settings: Settings) -> list[Path]:
    """Where others keep the files that are taken in, also what is not there. Raises as `named_places`."""
    return [path for name, path in named_places().items() if name in (GRAPH, *ASSETS)]


def named_places() -> dict[str, Path]:
    """The files by name where others keep them, by the variables of the environment: empty where they say nothing.

    EVOLUTION_DIR is the folder, else `evolution` in MEMORY_DIR; EVOLVER_SESSION_SCOPE names one in its `scopes`; MEMORY_GRAPH_PATH
    is the file of lines. Raises InvalidInput for a scope that would lead elsewhere.
    """
    memory, graph = os.environ.get("MEMORY_DIR"), os.environ.get("MEMORY_GRAPH_PATH")
    base = os.environ.get("EVOLUTION_DIR") or (memory and str(Path(memory) / "evolution"))
    folder = Path(base or "").expanduser() / _scope_folder(os.environ.get("EVOLVER_SESSION_SCOPE", "").strip())
    found = {name: folder / name for name in _NAMES} if base else {}
    return found | ({GRAPH: Path(graph).expanduser()} if graph else {})


def _scope_folder(scope: str) -> str:
    if ".." in scope or scope == ".":
        raise InvalidInput(f"got EVOLVER_SESSION_SCOPE={scope!r:.100}; allowed is a name without '..', such as team-a")
    return f"scopes/{re.sub(r'[^A-Za-z0-9_.-]', '_', scope)[:_SCOPE_CHARACTERS]}" if scope else ""


def _used(home: Home, agent: str | None) -> bool:
    return any(agent in (None, event.agent) for event in home.journal.tail(0, kinds=[*KINDS]))


def _write(home: Home, agent: str | None, folder: Path, named: Mapping[str, Path]) -> Exported:
    lines: dict[str, Iterable[str]] = {name: _assets(home, agent, name) for name in ASSETS}
    lines |= {GRAPH: map(encode, graph_lines(home, agent)), NARRATIVE: narrative(home, agent=agent).splitlines()}
    used = _used(home, agent)
    return Exported(folder, {name: write_lines(path, lines[name]) for name, path in named.items() if used})


def _assets(home: Home, agent: str | None, name: str) -> Iterator[str]:
    """The genes or the capsules, each as it was told last, in the order in which they came; beside them whose they are."""
    found: dict[str, Event] = {}
    for event in home.journal.tail(0, kinds=["asset"]):
        if agent in (None, event.agent) and event.body["asset"]["type"] == ASSETS[name]:
            found[event.body["asset"]["id"]] = event
    told = [{**event.body["asset"], "asset_id": event.body["asset_id"]} for event in found.values()]
    about = {named: said["theorex"] for named, event in found.items() if (said := _about(event))}
    yield encode({"version": 1, name.removesuffix(".json"): told, **({"theorex": about} if about else {})})


def graph_lines(home: Home, agent: str | None = None) -> Iterator[Told]:
    """The lines of memory_graph.jsonl, of all agents or of one."""
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, EARLIEST])
    for event in home.journal.tail(0, kinds=[*LINES.values()]):
        if agent in (None, event.agent):
            line = document_form(event)
            line["id"] = line.pop("line_id", event.id)
            yield {**line, **_about(event)}
            yield from _confidence(home, event, line, sums) if event.kind == LINES["outcome"] else ()


def _about(event: Event) -> Told:
    """The member that says whose an event is, where it is not what is taken for granted."""
    said = {"agent": event.agent, "session": event.session, **event.body}
    differing = {name: said[name] for name, default in ABOUT.items() if said.get(name, "") != default}
    return {"theorex": differing} if differing else {}


def _confidence(home: Home, event: Event, line: Told, sums: dict[tuple[str, str], list[int]]) -> Iterator[Told]:
    """What was expected of a gene after this outcome, when nothing of it had aged: for its signals, and for any."""
    settings, key = causal_settings(home), line["signal"]["key"]
    days_of = (settings.edge_half_life_days, settings.gene_half_life_days)
    for kind, edge, days, run in zip(DERIVED, ({"signal_key": key}, {}), days_of, runs_of(event), strict=False):
        success, fail, last = sums[run.key, run.option]
        success, fail, last = success + run.success, fail + (not run.success), max(last, event.at)
        sums[run.key, run.option] = [success, fail, last]
        p = (success + 1) / (success + fail + 2)
        yield {
            "type": EVENT_TYPE, "kind": kind, "id": derived_event_id(kind, event.id), "ts": line["ts"], "signal": {"key": key},
            "gene": line["gene"], "edge": {**edge, "gene_id": run.option}, "derived_from": {"outcome_event_id": line["id"]},
            "stats": {"success": success, "fail": fail, "attempts": success + fail, "p": p, "decay_weight": 1.0, "value": p,
                      "half_life_days": days, "updated_at": in_ms(last)}}  # fmt: skip


def graph_files(path: Path) -> list[Path]:
    """The files of lines, genes and capsules in a folder, or the one that is given, by its name."""
    if path.is_dir():
        return [path / name for name in (GRAPH, *ASSETS) if (path / name).is_file()]
    return [path] * (path.name in ASSETS or path.match(f"*{GRAPH}"))


T = TypeVar("T")
Place = int | str
_GLUED = re.compile(rb'(?=\{\s*"type"\s*:\s*"MemoryGraphEvent")')
_MOST_GLUED, _DEEPEST, _LARGEST = 100, 32, 2**62
_OBSERVED = ("observed", "baseline")
_NEEDED = {
    "external_candidate": "asset", "hypothesis": "signal hypothesis", "signal_snapshot": "signal", "attempt": "signal action",
    "attempt_closed": "signal action outcome"}  # fmt: skip


def import_graph(home: Home, _searcher: object, path: Path, *, agent: str = "main", trust_own: bool = False) -> Reports:
    """Take in the files of a folder, or one, each in one transaction; what is there already stays as it is.

    A line that is damaged, of another type or there twice is named by its number and passed over; of a line on which several
    stand, since one was torn, the sound ones are read. Without `trust_own`, which is for exports of one's own, all is
    `agent`'s and only heard: it is no evidence, and closes no attempt of the home. Raises InvalidInput for an agent outside
    the rule, StorageError on a full disk.
    """
    _ = home.designs  # its kinds become known
    how = Importing(home.settings, home.clock.now(), check_agent(agent), trust_own)

    def take(file: Path, problems: list[str]) -> tuple[int, int]:
        reading = _Reading(home, how, problems)
        events = reading.assets(file) if file.suffix == ".json" else reading.lines(file)
        new, known = append_new(home.journal, ((how.believed(event, problems, where), 1) for where, event in events))
        return new, known + reading.known

    return each_file(path, graph_files(path), take)


class _Reading:
    """One file. known: how many of its genes and capsules are here already, as they are there."""

    def __init__(self, home: Home, how: Importing, problems: list[str]) -> None:
        self.home, self.how, self.problems, self.known = home, how, problems, 0
        self.seen, self.attempts = set[str](), dict[str, str]()

    def lines(self, file: Path) -> Iterator[tuple[Place, Event]]:
        """The events of the lines of a memory graph, with their numbers."""
        placed = ((where, (where, record)) for where, record in _records(file, self.problems))
        return each_noted(self.problems, placed, self._line)

    def _line(self, placed: tuple[Place, Told]) -> Event | None:
        where, record = placed
        named, lineage = record.get("kind"), list[str]()
        if record.get("type") != EVENT_TYPE or named not in [*LINES, *DERIVED]:
            got = f"type {record.get('type')!r:.60} and kind {named!r:.60}"
            raise InvalidInput(f"got {got}; allowed are {EVENT_TYPE} and {', '.join([*LINES, *DERIVED])}")
        if named in DERIVED:
            return None
        kind, line_id = LINES[named], checked_id("line", record.get("id"))
        at = to_microseconds(str(record.get("ts"))[:80])
        body = self._body(record, kind)
        if "signal" in body and record["signal"].get("key") != compute_signal_key(record["signal"]["signals"]):
            self.problems.append(f":{where}: the key is not that of the signals, which was computed")
        event_id, action_id = line_id, (body.get("action") or {}).get("id", "")
        if kind == "attempt_closed":
            event_id, lineage = derived_event_id(kind, action_id), [*filter(None, [self.attempts.get(action_id)])]
        elif not re.fullmatch(UUID, line_id):  # elsewhere other lines of the same millisecond may have the same id
            event_id = derived_event_id("memory graph", line_id, encode([kind, at, body]))
        if event_id in self.seen:
            raise InvalidInput("the line, or an outcome of its action, is there above")
        self.seen.add(event_id)
        event = self._event(kind, body, record, event_id, at, lineage, line_id)
        if kind == "attempt":
            self.attempts[action_id] = event.id if event else event_id
        return event

    def _event(self, kind: str, body: Told, record: Told, event_id: str, at: int, lineage: list[str],
               line_id: str = "") -> Event | None:  # fmt: skip
        """The event; None where it is here as one's own, or was and was erased."""
        stated, own = record.get("theorex"), self.how.trust_own
        said = {**ABOUT, "agent": self.how.agent, "project": self.home.project}
        said |= stated if own and isinstance(stated, dict) else {}
        drawn = event_id[14] == "7"  # by chance: no step of this home will take it
        made = event_id if own or drawn else derived_event_id("heard", event_id)
        if made != event_id and self.home.journal.read(ids=[event_id], erased=True):
            self.known += 1
            return None
        kept = {**body, "source": self.how.source(said, "source"), "project": check_project(said["project"])}
        kept |= {"line_id": line_id} if line_id not in ("", made) else {}
        who = {"agent": check_agent(said["agent"]), "session": check_session(said["session"])}
        event = new_event(kind, kept, **who, lineage=lineage, at=at, event_id=made)
        self.how.check_size(event)
        return event

    def _body(self, record: Told, kind: str) -> Told:
        """The members of a line that events hold, in its order. Raises InvalidInput for what they may not hold."""
        given = {name: value for name, value in record.items() if name in _MEMBERS}
        given |= {name: _shallow(given[name]) for name in given if name in _OBSERVED}
        _check_plain(given)
        body: Told = kept_value({name: _MEMBERS[name](value) for name, value in given.items()})
        capture.check_used({name: body[name] for name in USED if name in body})
        needed = _NEEDED[kind].split()
        if not all(body.get(name) for name in needed) or ("action" in needed and not body["action"].get("id")):
            raise InvalidInput(f"got no {', '.join(needed)}, or no id in it; allowed is {kind} with them")
        if not self.how.trust_own:
            body.pop("cause", None)  # it would answer for a failure of this home
        if kind == "attempt":  # what whoever closes it reads
            body.setdefault("had_error", has_error(body["signal"]["signals"], causal_settings(self.home).error_tokens))
            body.setdefault("observed", None)
        return body

    def assets(self, file: Path) -> Iterator[tuple[Place, Event]]:
        """The events of genes and capsules, with their places: of an object that lists them, or of a list."""
        content = read_file(file).strip()
        document = parse_object(b'{"genes":%b}' % content if content.startswith(b"[") else content)
        lists = [(name, document[name]) for name in ("genes", "capsules") if isinstance(document.get(name), list)]
        if not lists:
            raise InvalidInput("got neither genes nor capsules; allowed is an object with such a list, or the list")
        with self.home.views.reading(Graph) as view:  # one's own takes the place of what was only heard
            rows = zip(view.ids, view.known["place"].tolist(), view.known["own"].tolist(), strict=True)
            here = {named: view.assets[place] for named, place, own in rows if own or not self.how.trust_own}
        placed = ((f"{name}:{number}", one) for name, found in lists for number, one in enumerate(found, 1))
        return each_noted(self.problems, placed, self._asset, here, _of(dict, document.get("theorex") or {}))

    def _asset(self, given: Any, here: dict[str, str], about: Told) -> Event | None:
        _check_plain(given)
        asset = kept_value(checked_asset(_of(dict, given)))
        body, named = {"asset": asset, "asset_id": capture.asset_id(asset)}, asset["id"]
        if named not in here:
            here[named] = encode(asset)
            event_id = derived_event_id("asset", body["asset_id"])
            return self._event("asset", body, {"theorex": about.get(named)}, event_id, self.how.now, [])
        if capture.asset_id(json.loads(here[named])) != body["asset_id"]:
            raise InvalidInput(f"{named} is here already in another form, and stays as it is")
        self.known += 1
        return None


def _records(file: Path, problems: list[str]) -> Iterator[tuple[Place, Told]]:
    """The objects of the lines of a file with the numbers of the lines, also where several stand on one."""
    with open_file(file) as lines:
        for number, line in enumerate(map(bytes.strip, lines), 1):
            for parts in ([line], _GLUED.split(line, _MOST_GLUED)):
                noted: list[str] = []
                found = [*each_noted(noted, [(number, part) for part in parts if part], parse_object)]
                if not noted:
                    break
            problems += noted
            yield from found


def _check_plain(value: Any, levels: int = _DEEPEST) -> None:
    """Raise InvalidInput for a number that no column holds, and for what is nested deeper than anything of use."""
    if not levels or (isinstance(value, int | float) and abs(value) > _LARGEST):
        raise InvalidInput(f"got a number beyond 2^62, or more than {_DEEPEST} levels of JSON; allowed is less")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_plain(part, levels - 1)


def _shallow(given: Any) -> Told | None:
    """What was observed, without what lies deeper, such as ends of logs."""
    if not isinstance(given, dict):
        return None
    plain = {name: value for name, value in given.items() if name != "evidence" and not isinstance(value, dict | list)}
    return capture.checked_observations(dict([*plain.items()][: capture.MOST_OBSERVED]))


def _of(kind: type[T], given: Any) -> T:
    if not isinstance(given, kind):
        raise InvalidInput(f"got {given!r:.80}; allowed is {'an object' if kind is dict else 'a list'}")
    return given


def _signal(given: Any) -> Told:
    member, stated = capture.signal_member(_of(list, _of(dict, given).get("signals"))), given.get("error_signature")
    return {**member, "error_signature": stated if stated is None else str(stated)}


def _named(what: str, given: Any) -> Told | None:
    """An object, whose id is sound where it has one; None for none."""
    if given and _of(dict, given).get("id") is not None:
        checked_id(what, given["id"])
    return given or None


def _personality(given: Any) -> Told | None:
    told = _of(dict, _of(dict, given or {}).get("state") or {})
    state = {name: told[name] for name in told if name in PARAMETERS}
    return {"key": personality_key(state), "state": state} if state else None


def _outcome(given: Any) -> Told:
    score, seen = _of(dict, given).get("score"), _of(dict, given.get("observed") or {})
    capture.checked_fraction("score", 0 if score is None else score)
    told = {"status": checked_id("status", given.get("status")), "score": score, "note": str(given.get("note") or "")}
    return {**told, "observed": {"current_signals": checked_signals(_of(list, seen.get("current_signals") or []))}}


def _capsules(given: Any) -> Told:
    return {"used": [checked_id("capsule", one) for one in texts_in(_of(dict, given or {}), "used")]}


# What becomes of the members of a line; others are passed over.
_MEMBERS: dict[str, Callable[[Any], Any]] = {
    "signal": _signal, "mutation": checked_mutation, "personality": _personality, **dict.fromkeys([*_OBSERVED, *USED], kept_value),
    **{name: partial(_named, name) for name in ("gene", "action", "hypothesis", "asset", "external", "candidate", "content", "confidence")},
    "capsules": _capsules, "outcome": _outcome, "had_error": bool, "cause": partial(checked_id, "cause"), "told": str}  # fmt: skip
