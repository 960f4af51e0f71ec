"""Standing rules: what a user told an agent to do always or never, counted when repeated, gone when reversed."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.sessions.said import Said, Told, spoken, told
from theorex_lab.home import Home
from theorex_lab.text.directives import STANDING, Directive, directive_of, reverses, same_rule, stems
from theorex_lab.text.spoken import Span

CONVENTION_DAYS = 3  # on which a user says the very same, so that it is a rule whatever its words
_CONVENTION_WORDS = 6
_LABEL = re.compile(r"[\w /-]{1,40}:\s|.*[\[(](?:\d+/\d+|\d+ ?%|skipped|done|ok)[\])]\W*$", re.I)
# What names a file, a command or a place: such a rule belongs to its project.
_LOCAL = re.compile(r"[`/\\$_]|\w\.\w|(?:^|\s)--?\w|\d")


@dataclass
class Rule:
    """A rule in the words in which it was last given. said: each time that it was, oldest first.  projects: where.

    taken_back: projects in which a later word took it back.
    """

    directive: Directive
    said: list[Told]
    projects: set[str] = field(default_factory=set)
    taken_back: set[str] = field(default_factory=set)

    @property
    def last(self) -> Told:
        """Where it was given last."""
        return self.said[-1]

    @property
    def days(self) -> int:
        """On how many days it was given, in the same words or in others."""
        return max(*(told.days for told in self.said), len({told.at // MICROSECONDS_PER_DAY for told in self.said}), 1)

    @property
    def is_personal(self) -> bool:
        """Whether it is about the person: given in two projects, and naming no file or command."""
        return len(self.projects - {""}) > 1 and not _LOCAL.search(self.last.text)

    def stands_in(self, project: str) -> bool:
        """Whether it holds in a project, '' for any: given there or in none, or about the person, and not taken back."""
        if not project:
            return bool(self.projects) and "" not in self.taken_back
        return bool(self.projects & {"", project} or self.is_personal) and not self.taken_back & {"", project}


def standing_rules(home: Home, now: int) -> list[Rule]:
    """The rules that stand: of the home's project and of none, then those about the person; often and lately given first.

    Only a user's own word makes a rule. One that a later word takes back is gone.
    """
    rules = [rule for rule in _given(home, now) if rule.stands_in(home.project)]
    own = [rule for rule in rules if not home.project or rule.projects & {"", home.project}]
    return [*_ranked(own), *_ranked(rule for rule in rules if rule not in own)]


def taken_back(home: Home, now: int) -> set[str]:
    """The words of rules that stand no more in the home's project."""
    rules = _given(home, now)
    gone = [rule for rule in rules if rule.taken_back and not rule.stands_in(home.project)]
    standing = [rule for rule in rules if rule.stands_in(home.project)]
    lost, held = ({sentence.text for rule in part for sentence in rule.said} for part in (gone, standing))
    return lost - held


def _given(home: Home, now: int) -> list[Rule]:
    with home.views.reading(Said) as view:
        found, table = spoken(view, None, now, by_users=True), view.sentences
        standing = table["standing"][found.rows]
        long = np.array([_is_convention(view, row) for row in found.rows.tolist()], bool)
        again = ((found.days >= CONVENTION_DAYS) & long) | ((found.days > 1) & (standing > 0))
        kept = (standing >= STANDING) | again
        rows, days = found.rows[kept], found.days[kept]
        order = np.lexsort((table["seq"][rows], table["at"][rows]))
        names, closed = ["", *view.projects], home.closed_projects
        ordered = zip(rows[order].tolist(), days[order].tolist(), strict=True)
        placed = ((told(view, row, n), names[int(table["project"][row])]) for row, n in ordered)
        return _merged([(said, project) for said, project in placed if project not in closed])


def _is_convention(view: Said, row: int) -> bool:
    """Whether a sentence is long enough to say how something is done, and is no label or status line of what is pasted."""
    text = view.texts[int(view.sentences["text"][row])]
    return len(text.split()) >= _CONVENTION_WORDS and text.lstrip("*_\"'`“«")[:1].isalpha() and not _LABEL.match(text)


def _ranked(rules: Iterable[Rule]) -> list[Rule]:
    return sorted(rules, key=lambda rule: (-min(rule.days, 4), -rule.last.standing, -rule.last.at))


def _merged(given: Iterable[tuple[Told, str]]) -> list[Rule]:
    """The rules in order of their first word, each once, with where a later word took them back."""
    rules: dict[int, Rule] = {}
    about: dict[str, set[int]] = defaultdict(set)  # by stem of a subject
    for number, (sentence, project) in enumerate(given):
        span = Span(0, len(sentence.text), sentence.text)
        new = directive_of(span) or Directive(span, "rule", "do", STANDING, stems(sentence.text))
        near = sorted({n for stem in new.subject | new.replaces for n in about[stem]})
        against = {n for n in near if reverses(new, rules[n].directive)}
        for n in against:
            rules[n].projects.discard(project)
            rules[n].taken_back.add(project)
        again = next((n for n in near if n not in against and same_rule(new, rules[n].directive)), number)
        rule = rules.setdefault(again, Rule(new, []))
        rule.directive = new
        rule.said.append(sentence)
        rule.projects.add(project)
        rule.taken_back -= {project} if project else rule.taken_back
        for stem in new.subject | new.replaces:
            about[stem].add(again)
    return list(rules.values())
