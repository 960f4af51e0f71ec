"""The facade: a memory with all its designs, and an agent in it."""
