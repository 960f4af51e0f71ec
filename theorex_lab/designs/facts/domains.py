"""Hold domains: what a subagent that forgets everything works from.

A domain is four files and a folder of older lines, which are computed from events:

- `decisions.md`: rules and limits; the main agent writes them
- `workflow.md`: how it is done, where that is written down; the main agent writes it
- `status.md`: where it stands; subagents write it
- `changelog.md`: what was done, a line each, only added to; a line with `PROPOSAL: …`
  asks for a decision
- `archives/`: the lines of the changelog before the last thousand
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts.channels import open_projects
from theorex_lab.designs.facts.words import check_word
from theorex_lab.designs.facts.writing import (
    DESCRIPTION_CHARACTERS,
    NewFact,
    check_entity,
    check_line,
    write_fact,
)
from theorex_lab.journal.event import Body, Event
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.memory.observation import TRUST, check_text
from theorex_lab.text.redact.redaction_scope import kept_text

DOMAIN_FILES = ("decisions", "workflow", "status", "changelog")
SUBAGENT_FILES = ("status", "changelog")
DOMAIN_TYPES = ("cron-task", "dev-project")
WRITERS = ("main", "subagent")
ABOUT = "domain"  # of an event: it says what the domain is
MANY_DOMAINS = 20  # above which a domain that is added gets a warning
NEEDED_FILES = ("decisions", "status", "changelog")
_NAME = lazy_pattern(r"[a-z][a-z0-9-]{0,63}")
_PROPOSAL = lazy_pattern(r"\bPROPOSAL:\s*(\S.*\S|\S)")
_STALE_DAYS = 7
_STALE_INTERVALS = 2
_MINUTE = 60_000_000  # µs
_LONGEST_INTERVAL = 525_600  # minutes
_ID_CHARACTERS = 8


class DomainFacts(NamedTuple):
    """What a domain is said to be.

    Attributes:
        type: cron-task or dev-project.
        description: What it is for.
        entity: The entity of a dev-project; '' of a cron-task.
        interval: The minutes between two runs; 0 where it has none.
        paused: Whether it rests, so that it is never stale.
    """

    type: str = DOMAIN_TYPES[0]
    description: str = ""
    entity: str = ""
    interval: float = 0
    paused: bool = False


class DomainProposal(NamedTuple):
    """A line that asks for a decision.

    Attributes:
        id: Eight digits of its hash.
        event_id: Of the event that wrote it.
    """

    id: str
    domain: str
    text: str
    event_id: str
    source: str


@dataclass
class Domain:
    """A domain.

    Attributes:
        about: What it is said to be.
        files: The texts of the files that it has.
        written_at: When something of it was last written (µs).
        last_event: The id of that event.
        proposed: All proposals by their ids.
        judged_ids: The ids of those that were accepted or rejected.
    """

    name: str
    project: str
    about: DomainFacts = field(default_factory=DomainFacts)
    files: dict[str, str] = field(default_factory=dict)
    written_at: int = 0
    last_event: str = ""
    proposed: dict[str, DomainProposal] = field(default_factory=dict)
    judged_ids: set[str] = field(default_factory=set)

    @property
    def proposals(self) -> list[DomainProposal]:
        """Those that stand in its files and wait for a verdict."""
        standing = set[str]()
        for text in self.files.values():
            standing.update(_proposals_in(text.splitlines()))
        waiting = []
        for proposal in self.proposed.values():
            if proposal.text in standing and proposal.id not in self.judged_ids:
                waiting.append(proposal)
        return waiting

    def is_stale(self, now: int) -> bool:
        """Return whether nothing was written for two intervals.

        Without an interval it is stale after seven days; while it is paused, never.
        """
        if self.about.paused:
            return False
        limit = _STALE_DAYS * MICROSECONDS_PER_DAY
        if self.about.interval:
            limit = round(_STALE_INTERVALS * self.about.interval * _MINUTE)
        return now - self.written_at > limit

    def apply(self, event: Event) -> None:
        """Take in what was written of it."""
        body = event.body
        self.written_at = max(self.written_at, event.at)
        self.last_event = event.id
        file = body.get("file", "")
        if file == ABOUT:
            self._describe(body)
        elif file in DOMAIN_FILES:
            self._write(file, event)

    def _describe(self, body: Body) -> None:
        members = {name: body[name] for name in DomainFacts._fields if name in body}
        self.about = self.about._replace(**members)
        if body.get("made"):
            for file in NEEDED_FILES:
                self.files.setdefault(file, first_text(self.name, file))

    def _write(self, file: str, event: Event) -> None:
        body = event.body
        text = body.get("text", "")
        before = self.files.get(file)
        if body.get("append") and before:
            self.files[file] = f"{before}\n{text}"
        else:
            self.files[file] = text
        if "proposal" in body:
            self.judged_ids.add(body["proposal"])
        for line in _proposals_in(text.splitlines()):
            digest = sha256(f"{self.name}\n{line}".encode()).hexdigest()
            key = digest[:_ID_CHARACTERS]
            source = body.get("source", "agent")
            proposal = DomainProposal(key, self.name, line, event.id, source)
            self.proposed.setdefault(key, proposal)


class DomainScan(NamedTuple):
    """How many domains there are, which are stale, and the proposals that wait."""

    domains: int
    stale: list[str]
    proposals: list[DomainProposal]


def first_text(name: str, file: str) -> str:
    r"""Return the text of a file that nobody has written to.

    >>> first_text("digest", "status")
    '# digest: status\n'
    """
    return f"# {name}: {file}\n"


def domains_of(home: Home, *, everywhere: bool = False) -> dict[str, Domain]:
    """Return the domains of the home's project or of none, by their names.

    Args:
        home: Whose they are.
        everywhere: Return those of all projects.
    """
    projects = None if everywhere else open_projects(home)
    domains: dict[str, Domain] = {}
    for event in home.journal.tail(0, kinds=["domain_written"], projects=projects):
        name = event.body.get("domain", "")
        if not _NAME.fullmatch(name):
            continue
        project = event.body.get("project", "")
        domain = domains.setdefault(name, Domain(name, project))
        domain.apply(event)
    return domains


def domain_called(home: Home, name: str) -> Domain:
    """Return the domain of this name.

    Raises:
        InvalidInput: There is none.
    """
    domains = domains_of(home)
    if name not in domains:
        names = ", ".join(domains) or "none yet"
        raise InvalidInput(
            f"got the domain {name!r:.100}; there are: {names}; `theorex facts"
            " add-domain` makes one"
        )
    return domains[name]


def check_domain(name: str, stated: Mapping[str, Any]) -> DomainFacts:
    """Return what a domain of this name is stated to be; other members are left out.

    Raises:
        InvalidInput: Something is outside the rules.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            f"got the domain {name!r:.100}; allowed are 1 to 64 of a-z 0-9 -, a letter"
            " first"
        )
    members = {}
    for member in DomainFacts._fields:
        if stated.get(member) is not None:
            members[member] = stated[member]
    about = DomainFacts(**members)
    check_word("type", about.type, DOMAIN_TYPES)
    if about.entity and about.type != "dev-project":
        raise InvalidInput(
            f"got the entity {about.entity!r:.100} of a cron-task; allowed is one of a"
            " dev-project: add --type dev-project"
        )
    entity = check_entity(about.entity) if about.entity else ""
    return about._replace(
        entity=entity,
        description=str(about.description)[:DESCRIPTION_CHARACTERS],
        interval=_check_interval(about.interval),
        paused=about.paused is True,
    )


def _check_interval(minutes: object) -> float:
    """Return the minutes between two runs."""
    is_number = isinstance(minutes, int | float) and not isinstance(minutes, bool)
    if is_number:
        assert isinstance(minutes, int | float)
        if 0 <= minutes <= _LONGEST_INTERVAL:
            return minutes
    raise InvalidInput(
        f"got the interval {minutes!r:.40}; allowed are 0 (none) to"
        f" {_LONGEST_INTERVAL} minutes"
    )


def add_domain(home: Home, name: str, about: DomainFacts, agent: str = "main") -> Event:
    """Add a domain, with its files.

    Args:
        home: Where it is added.
        name: Its name.
        about: What it is.
        agent: Who adds it.

    Raises:
        InvalidInput: It is there already, or something is outside the rules.
    """
    checked = check_domain(name, about._asdict())
    if checked.type == "dev-project" and not checked.entity:
        raise InvalidInput(
            "got a dev-project without an entity; allowed is one of an entity: add"
            " --kg-entity projects/NAME"
        )
    if name in domains_of(home, everywhere=True):
        raise InvalidInput(
            f"got the domain {name!r}, which is there already; choose another name"
        )
    body = {**checked._asdict(), "made": True}
    body["description"] = kept_text(checked.description)
    return _append(home, name, ABOUT, body, agent=agent)


def pause_domain(
    home: Home, name: str, *, paused: bool = True, agent: str = "main"
) -> Event:
    """Let a domain rest, so that it is never stale, or go on."""
    domain = domain_called(home, name)
    about = domain.about._replace(paused=paused)
    body = {**about._asdict(), "project": domain.project}
    return _append(home, name, ABOUT, body, agent=agent)


@dataclass(frozen=True, kw_only=True)
class DomainText:
    """What is written to a file of a domain.

    Attributes:
        append: Whether it is added at the end; a line of the changelog always is.
        by: main or subagent.
        source: Who it is from, a key of `TRUST`.
        lineage: The ids of the events that it rests on.
        proposal: The id of the proposal that this decides on; '' for none.
    """

    text: str
    append: bool = False
    by: str = "main"
    source: str = "agent"
    lineage: Sequence[str] = ()
    proposal: str = ""


def write_domain(
    home: Home, name: str, file: str, written: DomainText, *, agent: str = "main"
) -> Event:
    """Write a file of a domain.

    A line of the changelog gets its time, and is always added.

    Raises:
        InvalidInput: Something is outside the rules, or a subagent writes a file that
            the main agent alone may write.
    """
    domain = domain_called(home, name)
    check_word("file", file, DOMAIN_FILES)
    check_word("source", written.source, TRUST)
    _check_writer(written, file)
    text = written.text
    append = written.append
    if file == "changelog":
        time = to_iso(home.clock.now())[:16]
        line = check_line(home, text, written.source)
        text = f"- {time}Z {line}"
        append = True
    text = check_text(text, home.settings.max_text_bytes).strip("\n")
    body = {
        "text": text,
        "append": append,
        "by": written.by,
        "source": written.source,
        "project": domain.project,
    }
    if written.proposal:
        body["proposal"] = written.proposal
    return _append(home, name, file, body, agent=agent, lineage=written.lineage)


def _check_writer(written: DomainText, file: str) -> None:
    """Raise InvalidInput where a subagent writes what is not its own."""
    writer = check_word("writer", written.by, WRITERS)
    asks = _PROPOSAL.search(written.text) is not None
    # The document lets a subagent propose in decisions.md too, by adding a line.
    may_ask = file == "decisions" and written.append and asks
    is_one_line = "\n" not in written.text.strip()
    if writer == "main" or file in SUBAGENT_FILES or (may_ask and is_one_line):
        return
    raise InvalidInput(
        f"got the file {file} from a subagent; allowed are status and changelog:"
        " `theorex facts domain propose` asks for a decision"
    )


def propose(
    home: Home, name: str, text: str, *, by: str = "subagent", agent: str = "main"
) -> Event:
    """Ask for a decision, in a line of the domain's changelog."""
    written = DomainText(text=f"PROPOSAL: {text}", by=by)
    return write_domain(home, name, "changelog", written, agent=agent)


def judge_proposal(
    home: Home, name: str, proposal_id: str, *, accept: bool, agent: str = "main"
) -> DomainProposal:
    """Accept a proposal, or reject it.

    An accepted one becomes a decision, and of a domain with an entity a fact of it too.
    The same words that are proposed again have their verdict already.

    Raises:
        InvalidInput: The proposal does not wait.
    """
    domain = domain_called(home, name)
    waiting = {proposal.id: proposal for proposal in domain.proposals}
    proposal = waiting[check_word("proposal", proposal_id, waiting)]
    entity = domain.about.entity
    if accept and entity:
        new = NewFact(
            entity,
            proposal.text[:DESCRIPTION_CHARACTERS],
            "decision",
            source=proposal.source,
            origin=f"domain {name}",
            lineage=[proposal.event_id],
            agent=agent,
            project=domain.project,
        )
        write_fact(home, new)
    written = DomainText(
        text=f"- {proposal.text}" if accept else f"Rejected: {proposal.text}",
        append=True,
        source=proposal.source,
        lineage=[proposal.event_id],
        proposal=proposal.id,
    )
    file = "decisions" if accept else "changelog"
    write_domain(home, name, file, written, agent=agent)
    return proposal


def scan_domains(home: Home) -> DomainScan:
    """Return which domains nobody wrote to for too long, and which proposals wait."""
    domains = domains_of(home)
    now = home.clock.now()
    stale = [domain.name for domain in domains.values() if domain.is_stale(now)]
    proposals: list[DomainProposal] = []
    for domain in domains.values():
        proposals += domain.proposals
    return DomainScan(len(domains), stale, proposals)


def _proposals_in(lines: Iterable[str]) -> list[str]:
    matches = [_PROPOSAL.search(line) for line in lines]
    return [match[1] for match in matches if match]


def _append(
    home: Home,
    name: str,
    file: str,
    more: Mapping[str, Any],
    *,
    agent: str,
    lineage: Sequence[str] = (),
) -> Event:
    body = {"domain": name, "file": file, "text": "", "project": home.project, **more}
    return DesignApi(home).append("domain_written", body, agent=agent, lineage=lineage)
