"""The journal in one SQLite file: all SQL over events is in this room."""
