"""Standing rules: what a user told an agent to do always or never, counted when repeated, gone when reversed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from theorex_lab.designs.sessions.said import Said
from theorex_lab.designs.sessions.telling import Told, told
from theorex_lab.home import Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.directives import STANDING, Directive, directive_of, reverses, same_rule
from theorex_lab.text.spoken import Span

# What names a file, a command or a place: such a rule belongs to its project.
_LOCAL = re.compile(r"[`/\\$_]|\w\.\w|(?:^|\s)--?\w|\d")


@dataclass
class Rule:
    """A rule in the words in which it was last given. said: each time that it was, oldest first.  projects: where."""

    directive: Directive
    said: list[Told]
    projects: set[str] = field(default_factory=set)

    @property
    def last(self) -> Told:
        """Where it was given last."""
        return self.said[-1]

    @property
    def is_personal(self) -> bool:
        """Whether it is about the person: given in two projects, and naming no file or command."""
        return len(self.projects - {""}) > 1 and not _LOCAL.search(self.last.text)


def standing_rules(home: Home, now: int) -> list[Rule]:
    """The rules that stand: of the home's project and of none, then those about the person; often and lately given first.

    Only a user's own word makes a rule. One that a later word takes back is gone.
    """
    view = home.views.get(Said)
    with view.lock:
        table = view.sentences
        rows = np.flatnonzero((table["standing"] >= STANDING) & (table["trust"] >= TRUST["user"]) & (table["at"] <= now))
        rows = rows[np.lexsort((table["seq"][rows], table["at"][rows]))]
        given = [(told(view, row), ["", *view.projects][int(table["project"][row])]) for row in rows.tolist()]
    rules = _merged(given)
    own = [rule for rule in rules if not home.project or rule.projects & {"", home.project}]
    others = [rule for rule in rules if rule not in own and rule.is_personal]
    return [*_ranked(own), *_ranked(others)]


def _ranked(rules: Iterable[Rule]) -> list[Rule]:
    return sorted(rules, key=lambda rule: (-min(len(rule.said), 3), -rule.last.standing, -rule.last.at))


def _merged(given: Iterable[tuple[Told, str]]) -> list[Rule]:
    """The rules in order of their first word, each once, without those that were taken back where they were given."""
    rules: dict[int, Rule] = {}
    about: dict[str, set[int]] = defaultdict(set)  # by stem of a subject
    for number, (sentence, project) in enumerate(given):
        new = directive_of(Span(0, len(sentence.text), sentence.text))
        if new is None:
            continue
        near = sorted({n for stem in new.subject | new.replaces for n in about[stem] if n in rules})
        for n in near:
            if reverses(new, rules[n].directive):
                rules[n].projects.discard(project)
                if not rules[n].projects or not project:
                    del rules[n]
        again = next((n for n in near if n in rules and same_rule(new, rules[n].directive)), number)
        rule = rules.setdefault(again, Rule(new, []))
        rule.directive = new
        rule.said.append(sentence)
        rule.projects.add(project)
        for stem in new.subject | new.replaces:
            about[stem].add(again)
    return list(rules.values())
