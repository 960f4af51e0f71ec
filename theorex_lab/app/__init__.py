"""Where people, agents and other programs come in: the hook, the command line, the servers."""
