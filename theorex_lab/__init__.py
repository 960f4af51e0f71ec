"""theorex_lab: memory for LLM agents, and the lab that finds out which memory works."""

# what type checkers take for true; `typing` would cost every start of the hook 4 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from theorex_lab.clock import FixedClock, SystemClock
    from theorex_lab.core.settings import Settings

    # isort: off
    from theorex_lab.errors import (
        ConfigError,
        CorruptJournal,
        InvalidInput,
        ModelUnavailable,
        NewerVersion,
        StorageError,
        TheorexError,
    )

    # isort: on
    from theorex_lab.lab import Lab
    from theorex_lab.memory.observation import Entry

__version__ = "0.1.0"

# Where each name lives: a name is imported when it is first asked for, so that
# importing the package is cheap.
_NAMES = {
    "clock": ("FixedClock", "SystemClock"),
    "core.settings": ("Settings",),
    "lab": ("Lab",),
    "memory.observation": ("Entry",),
    "errors": tuple(
        "ConfigError CorruptJournal InvalidInput ModelUnavailable NewerVersion"
        " StorageError TheorexError".split()
    ),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "ConfigError",
    "CorruptJournal",
    "Entry",
    "FixedClock",
    "InvalidInput",
    "Lab",
    "ModelUnavailable",
    "NewerVersion",
    "Settings",
    "StorageError",
    "SystemClock",
    "TheorexError",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(
            f"theorex_lab has no {name!r}; it has {', '.join(__all__)}"
        )
    from importlib import import_module

    return getattr(import_module(f"theorex_lab.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
