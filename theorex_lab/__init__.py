"""theorex_lab: memory for LLM agents, and the lab that finds out which memory works."""

# what type checkers take for true; `typing` would cost every start of the hook 4 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from theorex_lab.core.clock import Clock, FixedClock
    from theorex_lab.core.errors import (
        AlreadyThere,
        ConfigError,
        CorruptJournal,
        InvalidInput,
        ModelUnavailable,
        StorageError,
        TheorexError,
    )
    from theorex_lab.core.settings import Settings
    from theorex_lab.designs import installed
    from theorex_lab.journal.event import Event, new_event
    from theorex_lab.journal.view import View
    from theorex_lab.memory.briefing.briefing import Briefing
    from theorex_lab.memory.contract import ContextLine, Design, Home, Item, Section
    from theorex_lab.memory.decay import Law, make_law
    from theorex_lab.memory.observation import ObservationEntry
    from theorex_lab.memory.retrieve import Hit, Hits
    from theorex_lab.search.embed import Embedder, HashedNgramEmbedder
    from theorex_lab.search.items import ItemKind
    from theorex_lab.store.lab import Agent, Lab

__version__ = "0.1.0"

# Where each name lives. It is imported when it is first asked for, so that importing
# the package is cheap.
_MODULES = {
    "Agent": "store.lab",
    "AlreadyThere": "core.errors",
    "Briefing": "memory.briefing.briefing",
    "Clock": "core.clock",
    "ConfigError": "core.errors",
    "CorruptJournal": "core.errors",
    "Design": "memory.contract",
    "Embedder": "search.embed",
    "ObservationEntry": "memory.observation",
    "Event": "journal.event",
    "FixedClock": "core.clock",
    "HashedNgramEmbedder": "search.embed",
    "Hit": "memory.retrieve",
    "Hits": "memory.retrieve",
    "Home": "memory.contract",
    "InvalidInput": "core.errors",
    "Item": "memory.contract",
    "ItemKind": "search.items",
    "Lab": "store.lab",
    "Law": "memory.decay",
    "ContextLine": "memory.contract",
    "ModelUnavailable": "core.errors",
    "Section": "memory.contract",
    "Settings": "core.settings",
    "StorageError": "core.errors",
    "TheorexError": "core.errors",
    "View": "journal.view",
    "installed": "designs",
    "make_law": "memory.decay",
    "new_event": "journal.event",
}

__all__ = [
    "Agent",
    "AlreadyThere",
    "Briefing",
    "Clock",
    "ConfigError",
    "ContextLine",
    "CorruptJournal",
    "Design",
    "Embedder",
    "Event",
    "FixedClock",
    "HashedNgramEmbedder",
    "Hit",
    "Hits",
    "Home",
    "InvalidInput",
    "Item",
    "ItemKind",
    "Lab",
    "Law",
    "ModelUnavailable",
    "ObservationEntry",
    "Section",
    "Settings",
    "StorageError",
    "TheorexError",
    "View",
    "installed",
    "make_law",
    "new_event",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(
            f"theorex_lab has no {name!r}; it has {', '.join(__all__)}"
        )
    from importlib import import_module

    return getattr(import_module(f"theorex_lab.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
