"""What `lab.facts` does with notes of the work, domains, MEMORY.md and SOUL.md, and the chains of facts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from theorex_lab.design import Face, later
from theorex_lab.designs.facts import domains as areas
from theorex_lab.designs.facts import notes as work
from theorex_lab.designs.facts import self_notes

R = TypeVar("R")

_CHECKS = "theorex_lab.designs.facts.tree_checks"


def on_home(function: Callable[..., R]) -> Callable[..., R]:
    """A function of a home as a method of a face, which has one."""

    @wraps(function)
    def method(self: Face, *given: Any, **named: Any) -> R:
        return function(self.home, *given, **named)

    return method


class WorkFace(Face):
    """Each does what the function of its name does in the face's home.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     noted = lab.facts.observe("The build is slow", "friction")
    ...     again = lab.facts.observe("The build is so slow", "friction")
    >>> noted.id, again.repeats
    ('obs-0001', 'obs-0001')
    """

    observe = on_home(work.observe)
    note_tension = on_home(work.note_tension)
    notes = on_home(work.notes_of)
    review = on_home(work.review)
    alerts = on_home(work.alerts)
    add_domain = on_home(areas.add_domain)
    domains = on_home(areas.domains_of)
    write_domain = on_home(areas.write)
    scan_domains = on_home(areas.scan_domains)
    judge_proposal = on_home(areas.judge_proposal)
    add_line = on_home(self_notes.add_line)
    lines = on_home(self_notes.self_lines)
    check_chains = on_home(later(f"{_CHECKS}:check_home"))
    duplicates = on_home(later(f"{_CHECKS}:duplicates"))
