"""The memory for other programs: MCP."""
