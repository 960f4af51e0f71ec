"""Domains: what a subagent that forgets everything works from, as four files that are folded from events.

decisions.md    rules and limits; the main agent writes them
workflow.md     how it is done, where that is written down; the main agent writes it
status.md       where it stands; subagents write it
changelog.md    what was done, a line each, only added to; `PROPOSAL: …` in it asks for a decision
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from theorex_lab.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.design import Face
from theorex_lab.designs.facts.writing import NewFact, check_entity, check_line, one_of, write_fact
from theorex_lab.errors import InvalidInput
from theorex_lab.home import Home
from theorex_lab.journal.event import Body, Event
from theorex_lab.memory.observation import TRUST, check_text

FILES = ("decisions", "workflow", "status", "changelog")
BY_SUBAGENTS = ("status", "changelog")
TYPES = ("cron-task", "dev-project")
NEW: Mapping[str, Any] = {"type": TYPES[0], "description": "", "entity": "", "interval": 0, "paused": False}
_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")
_PROPOSAL = re.compile(r"\bPROPOSAL:\s*(\S.*\S|\S)")
_STALE_DAYS, _STALE_INTERVALS = 7, 2
_MINUTE = 60_000_000  # µs
_LONGEST_INTERVAL = 525_600  # minutes


class DomainProposal(NamedTuple):
    """A line that asks for a decision. id: eight digits of its hash.  event_id: of what wrote it."""

    id: str
    domain: str
    text: str
    event_id: str
    source: str


@dataclass
class Domain:
    """A domain: what it is (the members of `NEW`; interval in minutes, 0 for none), and the lines of its files.

    written_at: when something of it was last written (µs).  last_event: the id of that event.  judged: the ids of
    proposals that had a verdict.
    """

    name: str
    project: str
    stated: dict[str, Any] = field(default_factory=lambda: {**NEW})
    written_at: int = 0
    last_event: str = ""
    files: dict[str, list[str]] = field(default_factory=lambda: {file: [] for file in FILES})
    proposed: dict[str, DomainProposal] = field(default_factory=dict)
    judged: set[str] = field(default_factory=set)

    @property
    def proposals(self) -> list[DomainProposal]:
        """Those that stand in its files and wait for a verdict."""
        standing = {text for file in FILES for text in _proposals_in(self.files[file])}
        return [line for line in self.proposed.values() if line.text in standing and line.id not in self.judged]

    def is_stale(self, now: int) -> bool:
        """Whether nothing was written for two intervals, without an interval for seven days; never while it is paused."""
        limit = _STALE_INTERVALS * self.stated["interval"] * _MINUTE or _STALE_DAYS * MICROSECONDS_PER_DAY
        return not self.stated["paused"] and now - self.written_at > limit

    def take(self, event: Event) -> None:
        """Take in what was written of it."""
        body = event.body
        self.written_at, self.last_event = max(self.written_at, event.at), event.id
        if body["file"] == "domain":
            self.stated |= {name: body[name] for name in NEW if name in body}
            return
        lines = body["text"].splitlines()
        self.files[body["file"]] = [*(self.files[body["file"]] if body["append"] else ()), *lines]
        self.judged |= {body["proposal"]} if "proposal" in body else set()
        for text in _proposals_in(lines):
            key = sha256(f"{self.name}\n{text}".encode()).hexdigest()[:8]
            self.proposed.setdefault(key, DomainProposal(key, self.name, text, event.id, body["source"]))


class Scan(NamedTuple):
    """How many domains there are, the names of those that are stale, and the proposals that wait."""

    domains: int
    stale: list[str]
    proposals: list[DomainProposal]


def domains_of(home: Home, *, everywhere: bool = False) -> dict[str, Domain]:
    """The domains of the home's project or of none, or of all projects, by their names."""
    found: dict[str, Domain] = {}
    for event in home.journal.tail(0, kinds=["domain_written"], projects=None if everywhere else home.projects):
        name, project = event.body["domain"], event.body.get("project", "")
        found.setdefault(name, Domain(name, project)).take(event)
    return found


def domain_called(home: Home, name: str) -> Domain:
    """The domain of this name. Raises InvalidInput where there is none."""
    found = domains_of(home)
    return found[one_of("domain", name, found, "; `domain add` makes one")]


def check_stated(name: str, stated: Mapping[str, Any]) -> Body:
    """What a domain of this name is stated to be. Raises InvalidInput for what is outside the rules."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(f"got the domain {name!r}; allowed are 1 to 64 of a-z 0-9 -, a letter first")
    given = {**NEW, **{key: value for key, value in stated.items() if key in NEW and value is not None}}
    one_of("type", given["type"], TYPES)
    if bool(given["entity"]) != (given["type"] == "dev-project"):
        raise InvalidInput(f"got the entity {given['entity']!r} of a {given['type']}; allowed: one of each dev-project")
    minutes = given["interval"]
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 <= minutes <= _LONGEST_INTERVAL:
        raise InvalidInput(f"got the interval {minutes!r}; allowed are 0 (none) to {_LONGEST_INTERVAL} minutes")
    given["description"] = str(given["description"])
    return {**given, "entity": given["entity"] and check_entity(given["entity"]), "paused": given["paused"] is True}


def add_domain(home: Home, name: str, *, agent: str = "main", **stated: Any) -> Event:
    """Add a domain: its type, description, entity and interval in minutes. Raises InvalidInput where it is there already."""
    if name in domains_of(home, everywhere=True):
        raise InvalidInput(f"got the domain {name!r}, which is there already; choose another name")
    return _append(home, name, "domain", agent=agent, project=home.project, **check_stated(name, stated))


def pause(home: Home, name: str, *, paused: bool = True, agent: str = "main") -> Event:
    """Say that a domain rests, so that it is never stale; or that it goes on."""
    domain = domain_called(home, name)
    return _append(home, name, "domain", agent=agent, project=domain.project, **{**domain.stated, "paused": paused})


def write(home: Home, name: str, file: str, text: str, *, append: bool = False, by: str = "main", source: str = "agent",
          agent: str = "main", lineage: Sequence[str] = (), **more: Any) -> Event:  # fmt: skip
    """Write a file of a domain: as a whole, or with `append` at its end. A line of the changelog is dated and always added.

    by: main, or subagent, which may write status and changelog alone. Raises InvalidInput for what is outside the rules.
    """
    domain, _ = domain_called(home, name), one_of("source", source, TRUST)
    one_of("file", file, FILES)
    if one_of("writer", by, ("main", "subagent")) == "subagent":
        one_of("file from a subagent", file, BY_SUBAGENTS, "; `domain propose` asks for a decision")
    if file == "changelog":
        text, append = f"- {to_iso(home.clock.now())[:16]}Z {check_line(home, text, source)}", True
    text = check_text(text, home.settings.max_text_bytes).strip("\n")
    given = {"text": text, "append": append, "by": by, "source": source, "project": domain.project, **more}
    return _append(home, name, file, agent=agent, lineage=lineage, **given)


def propose(home: Home, name: str, text: str, *, by: str = "subagent", agent: str = "main") -> Event:
    """Ask for a decision, in a line of the domain's changelog."""
    return write(home, name, "changelog", f"PROPOSAL: {text}", by=by, agent=agent)


def judge_proposal(home: Home, name: str, proposal_id: str, *, accept: bool, agent: str = "main") -> DomainProposal:
    """Accept a proposal, so that it becomes a decision, and of a domain with an entity a fact of it too; or reject it.

    The same words proposed again have their verdict already. Raises InvalidInput for a proposal that does not wait.
    """
    domain = domain_called(home, name)
    waiting = {line.id: line for line in domain.proposals}
    found = waiting[one_of("proposal", proposal_id, waiting)]
    told: dict[str, Any] = {"source": found.source, "agent": agent, "lineage": [found.event_id]}
    if accept and (entity := domain.stated["entity"]):
        about = told | {"origin": f"domain {name}", "project": domain.project}
        write_fact(home, NewFact(entity, found.text, "decision", **about))
    file, text = ("decisions", f"- {found.text}") if accept else ("changelog", f"Rejected: {found.text}")
    write(home, name, file, text, append=True, proposal=found.id, **told)
    return found


def scan_domains(home: Home) -> Scan:
    """The domains that nothing was written of for too long, and the proposals that wait for a verdict."""
    found, now = domains_of(home), home.clock.now()
    stale = [domain.name for domain in found.values() if domain.is_stale(now)]
    return Scan(len(found), stale, [line for domain in found.values() for line in domain.proposals])


def _proposals_in(lines: Iterable[str]) -> list[str]:
    return [found[1] for line in lines if (found := _PROPOSAL.search(line))]


def _append(home: Home, name: str, file: str, *, agent: str, lineage: Sequence[str] = (), **given: Any) -> Event:
    body = {"domain": name, "file": file, "text": "", "append": False, "by": "main", "source": "agent", **given}
    return Face(home).append("domain_written", body, agent=agent, lineage=lineage)
