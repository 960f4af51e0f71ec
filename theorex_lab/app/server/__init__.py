"""The memory for other programs: MCP, REST and web sockets."""
