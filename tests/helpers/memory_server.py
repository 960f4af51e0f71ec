"""A memory that speaks MCP, as small as one can be: it searches by substring."""

from __future__ import annotations

from mcp.server import MCPServer

server = MCPServer("substrings")
notes: list[dict[str, object]] = []


@server.tool()
def keep(note: str, number: int) -> str:
    """Keep a note."""
    if not isinstance(number, int):
        raise TypeError
    notes.append({"number": number, "note": note})
    return "kept"


@server.tool()
def look(words: str, most: int) -> list[dict[str, object]]:
    """Return the notes that hold the words."""
    hits = [entry for entry in notes if words.lower() in str(entry["note"]).lower()]
    return hits[:most]


if __name__ == "__main__":
    server.run("stdio")
