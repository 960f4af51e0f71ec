"""Show the document's three demos: an agent without and with what it dreamt."""
