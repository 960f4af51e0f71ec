"""Memories of others by name; a module is imported when its memory is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from theorex_lab.core.errors import InvalidInput

if TYPE_CHECKING:
    from theorex_lab.eval.adapters.protocol import MemoryDesign


class Adapter(NamedTuple):
    """Where an adapter is.

    Attributes:
        module: The module in this folder.
        name: The class.
        extra: What brings the package that it needs; '' where it needs none.
        takes: What follows the name and a colon; '' where nothing does.
    """

    module: str
    name: str
    extra: str = ""
    takes: str = ""


ADAPTERS = {
    "fts5": Adapter("fts5", "Fts5"),
    "rank_bm25": Adapter("rank_bm25_memory", "RankBm25"),
    "full_history": Adapter("full_history", "FullHistory"),
    "chroma": Adapter("chroma", "Chroma", extra="chroma"),
    "mem0": Adapter("mem0_memory", "Mem0", extra="mem0"),
    "langgraph": Adapter("langgraph_store", "LangGraphStore", extra="langgraph"),
    "graphiti": Adapter("graphiti_episodes", "GraphitiEpisodes", extra="graphiti"),
    "mcp": Adapter("mcp_server", "McpServer", takes="SERVER.toml"),
    "files": Adapter("agent_files", "AgentFiles", takes="FOLDER"),
    "claude_mem": Adapter("claude_mem", "ClaudeMem", takes="claude-mem.db"),
}


def names() -> list[str]:
    """Return the names as a user writes them.

    >>> names()[:2], names()[-1]
    (['fts5', 'rank_bm25'], 'claude_mem:claude-mem.db')
    """
    return [
        f"{name}:{adapter.takes}" if adapter.takes else name
        for name, adapter in ADAPTERS.items()
    ]


def adapter_named(name: str) -> Callable[[], MemoryDesign] | None:
    """Return what makes the memory of a name; None where it is no adapter's.

    Raises:
        InvalidInput: It needs a file or folder after a colon, or has one and needs none.
    """
    prefix, colon, given_path = name.partition(":")
    adapter = ADAPTERS.get(prefix)
    if adapter is None:
        return None
    if bool(given_path) != bool(adapter.takes) or (colon and not given_path):
        wanted = f"{prefix}:{adapter.takes}" if adapter.takes else prefix
        raise InvalidInput(f"got the memory {name!r}; give {wanted}")
    return partial(_made, adapter, given_path)


def _made(adapter: Adapter, path: str) -> MemoryDesign:
    """Return a fresh memory.

    Raises:
        InvalidInput: Its package is not installed, or as the adapter raises.
    """
    module = import_module(f"theorex_lab.eval.adapters.{adapter.module}")
    make = getattr(module, adapter.name)
    try:
        memory: MemoryDesign = make(Path(path).expanduser()) if path else make()
    except ImportError as error:
        if not adapter.extra:
            raise
        raise InvalidInput(
            f"got a memory whose package is not installed ({error}); give pip install"
            f" 'theorex-lab[{adapter.extra}]'"
        ) from error
    return memory
