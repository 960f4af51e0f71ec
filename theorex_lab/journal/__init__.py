"""The append-only journal, and the views and snapshots that are folded from it."""
