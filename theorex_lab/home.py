"""A home: what every policy takes, so that none asks for a journal, views, settings and
a clock one by one.
"""

from __future__ import annotations

import re
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorex_lab.clock import Clock, SystemClock
from theorex_lab.core.settings import Settings, load_settings, part_of
from theorex_lab.errors import InvalidInput
from theorex_lab.journal.event import register_kinds
from theorex_lab.journal.sqlite.store import open_journal
from theorex_lab.project import check_project
from theorex_lab.search.items import OWN_ITEMS, ItemKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from theorex_lab.design import Design
    from theorex_lab.journal.base import Journal
    from theorex_lab.journal.view import Views
    from theorex_lab.search.embed import Embedder
    from theorex_lab.search.index import ItemIndex

CONFIG_FILE = "config.json"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_ABSENT = object()
# What an embedder must have. Nothing of it is called, since it may ask a model.
_MEMBERS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "id": (
        "a text that is not empty",
        lambda value: isinstance(value, str) and bool(value.strip()),
    ),
    "dimensions": (
        "a whole number from 1",
        lambda value: type(value) is int and value > 0,
    ),
    "kind": ("'semantic' or 'lexical'", lambda value: value in ("semantic", "lexical")),
    "embed": ("a method", callable),
}


class Home:
    """A folder with its journal, the views folded from it, settings, a clock, an
    embedder, and the designs that work in it.

    `settings` are replaced as a whole where a policy is changed: who needs them reads
    them here each time. `project`: what is written is of it, and only what is of it or
    of none is given back; '' is none, to which all is given.
    """

    def __init__(
        self,
        folder: Path,
        *,
        journal: Journal | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        designs: Callable[[], Sequence[Design]] = tuple,
        project: str = "",
    ) -> None:
        """What is not given is the folder's own; its journal is opened, or created.
        `designs` is asked for them once they are needed.

        Raises ConfigError for a broken config.json, StorageError where the folder
        cannot be written, CorruptJournal where its journal is damaged, InvalidInput for
        a project outside the rule.
        """
        self.folder = folder
        self.project = check_project(project)
        self.clock: Clock = clock or SystemClock()
        self.settings = (
            settings if settings is not None else load_settings(self.config_file)
        )
        self.journal = journal or open_journal(folder, clock=self.clock)
        self._find_designs = designs
        self._given_embedder = embedder

    @property
    def config_file(self) -> Path:
        """The file of settings that were changed."""
        return self.folder / CONFIG_FILE

    @cached_property
    def designs(self) -> tuple[Design, ...]:
        """The designs that work here, whose kinds of events are known from then on; a
        write asks for none.

        Raises InvalidInput where two have one name, or one kind of event or of items,
        or where a kind has another version.
        """
        found = tuple(self._find_designs())
        for design in found:
            if not _NAME.fullmatch(design.name):
                allowed = "1 to 32 of a-z 0-9 _ starting with a letter"
                raise InvalidInput(
                    f"got a design named {design.name!r}; allowed are {allowed}"
                )
        names = [name for design in found for name in (design.name, *design.kinds)]
        items = [kind.name for kind in (*OWN_ITEMS, *item_kinds(found))]
        if twice := [
            name for known in (names, items) for name in known if known.count(name) > 1
        ]:
            allowed = "one of each name, of each kind of event and of items"
            raise InvalidInput(
                f"got two designs with {twice[0]!r}; allowed is {allowed}"
            )
        for design in found:
            register_kinds(design.kinds, design.upcasters)
        return found

    @property
    def shown(self) -> tuple[Design, ...]:
        """The designs whose sections a context has: those that the setting
        contextDesigns names; where it names none, those that lead, and of other
        packages all; where there is none of these, every one.

        Raises InvalidInput for a name that no design has.
        """
        named, known = (
            self.settings.context_designs,
            {design.name: design for design in self.designs},
        )
        if unknown := [name for name in named if name not in known]:
            raise InvalidInput(
                f"got the design {unknown[0]!r} in contextDesigns; allowed are"
                f" {', '.join(known)}"
            )
        chosen = [known[name] for name in named] or [
            design for design in self.designs if design.leads
        ]
        return (
            tuple(chosen) if any(design.sections for design in chosen) else self.designs
        )

    @property
    def closed_projects(self) -> frozenset[str]:
        """The projects that designs closed to others: of what was captured there
        nothing is given in any other project.
        """
        if not self.project:
            return frozenset()
        found = (
            design.silos(self) for design in self.designs if design.silos is not None
        )
        return frozenset().union(*found) - {self.project}

    @property
    def projects(self) -> tuple[str, ...] | None:
        """The projects whose memory is returned, beside memory without a project; None:
        all projects.
        """
        return (self.project,) if self.project else None

    def in_project(self, project: str) -> Home:
        """The same home for another project, '' for all; it shares journal, views and
        clock with this one.

        Raises InvalidInput for a project outside the rule.
        """
        _ = self.views, self.designs  # made once, for both
        other = copy(self)
        other.project = self.journal.places().current(check_project(project))
        return other

    @cached_property
    def item_view(self) -> type[ItemIndex]:
        """The search index over the texts of every design that works here."""
        return item_view(self.designs)

    @cached_property
    def label_view(self) -> type[ItemIndex]:
        """The search index over the labels of every design that works here."""
        return item_view(self.designs, labels=True)

    @cached_property
    def views(self) -> Views:
        """The views of this home; a write opens none."""
        from theorex_lab.journal.view import Views

        self.designs  # noqa: B018 - what older events become is known before one is folded
        return Views(
            self.journal,
            self.folder / "views",
            snapshot_after_events=self.settings.snapshot_after_events,
        )

    def agents(self) -> list[str]:
        """Names of the agents who have something in a design, in order of their first."""
        found = (
            design.agents(self) for design in self.designs if design.agents is not None
        )
        return list(dict.fromkeys(name for names in found for name in names))

    def settings_of(self, design: Design) -> Any:
        """A design's own settings, as they stand in `designs.NAME` of config.json;
        without pydantic once they were checked.

        Raises ConfigError for what is wrong in them, InvalidInput for a design without
        settings.
        """
        if design.settings is None:
            raise InvalidInput(
                f"got the design {design.name!r}; allowed is one that has settings"
            )
        return part_of(self.settings, design.name, design.settings, self.config_file)

    def taken_in(self) -> dict[tuple[str, str], int]:
        """By agent and session, the seq up to which every design has taken in what was
        captured.
        """
        found = [
            design.consolidated(self)
            for design in self.designs
            if design.consolidated is not None
        ]
        taken = (
            {
                key: min(upto[key] for upto in found)
                for key in set.intersection(*map(set, found))
            }
            if found
            else {}
        )
        for needed in (
            design.needs(self) for design in self.designs if design.needs is not None
        ):
            taken |= {
                key: min(taken[key], first - 1)
                for key, first in needed.items()
                if key in taken
            }
        return taken

    @property
    def embedder(self) -> Embedder:
        """The embedder in use."""
        return self.chosen_embedder[0]

    @cached_property
    def chosen_embedder(self) -> tuple[Embedder, str]:
        """The embedder in use, and why it was chosen."""
        from theorex_lab.search.embed import choose_embedder

        if self._given_embedder is not None:
            return self._given_embedder, "it was handed in"
        settings = self.settings
        how: dict[str, Any] = {
            "api_key_env": settings.lm_studio_api_key_env,
            "threads": settings.embed_threads,
        }
        if settings.is_set(
            "lm_studio_url"
        ):  # naming a host in the config is the consent
            how |= {
                "url": settings.lm_studio_url,
                "model": settings.lm_studio_embed_model,
                "allow_remote": True,
            }
        return choose_embedder(**how)

    def __repr__(self) -> str:
        return f"Home({str(self.folder)!r})"


def item_view(designs: Iterable[Design], *, labels: bool = False) -> type[ItemIndex]:
    """The search index over the texts, or the labels, of these designs, in whatever
    order they are named.
    """
    from theorex_lab.search.index import item_index

    items = (*OWN_ITEMS, *item_kinds(sorted(designs, key=lambda design: design.name)))
    items = tuple(kind for kind in items if kind.label == labels)
    return item_index(items, "labels" if labels else "items")


def item_kinds(designs: Iterable[Design]) -> list[ItemKind]:
    """The kinds of items of these designs; one that several bring, as that of
    observations, once.
    """
    return list(
        {id(kind): kind for design in designs for kind in design.items}.values()
    )


def check_given(
    clock: Clock | None, settings: Settings | None, embedder: Embedder | None
) -> None:
    """Raises InvalidInput for an object that is not what it is handed in as: later it
    would fail far from here.
    """
    if clock is not None and (
        isinstance(clock, type) or not callable(getattr(clock, "now", None))
    ):
        raise InvalidInput(
            f"got {clock!r:.100} for a clock; allowed is an object whose now() tells"
            " the time in µs UTC"
        )
    if settings is not None and not isinstance(settings, Settings):
        raise InvalidInput(
            f"got {settings!r:.100} for settings; allowed is such as"
            " Settings(half_life_days=7)"
        )
    if embedder is not None:
        _check_embedder(embedder)


def _check_embedder(given: Any) -> None:
    """Raises InvalidInput, naming all that is wrong, where `given` is no
    `search.embed.Embedder`.

    What is computed when it is asked for (a property) is only looked for.
    """
    if isinstance(given, type):
        raise InvalidInput(
            f"got the class {given.__name__} for an embedder; allowed is an object"
            " of it"
        )
    import inspect  # which takes longer than most commands

    wrong = []
    for name, (allowed, is_right) in _MEMBERS.items():
        if (found := inspect.getattr_static(given, name, _ABSENT)) is _ABSENT:
            wrong.append(f"it has no {name} (allowed: {allowed})")
        elif not hasattr(type(found), "__get__") and not is_right(found):
            wrong.append(f"{name} is {found!r:.100} (allowed: {allowed})")
    if wrong:
        raise InvalidInput(
            f"got a {type(given).__name__} for an embedder: {'; '.join(wrong)}"
        )
