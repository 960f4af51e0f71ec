"""The flat names of Theorex's commands, each with one line of help; `commands` holds a function of each name."""

COMMANDS = {
    "scan": "Set tiers anew; put to sleep what faded.",
    "prune": "Take faded concepts out of the axon.",
    "scan-agent": "The same as scan.",
    "prune-agent": "The same as prune.",
    "flush": "Move what mattered in a session to short-term memory.",
    "graduate": "Take into the axon what was kept on seven days in a row.",
    "promote": "Give an agent's concepts to the shared web.",
    "query-shared": "Search the shared web, or list it.",
    "flash-inject": "Show what a running session knows now.",
    "boot-aware": "Show an agent's context, cut to a model's budget.",
    "confirm": "Vouch for a fix that was only heard.",
    "moment": "Write a story worth keeping, with the places it tells of.",
    "drift": "Show whether what an agent's moments anchor is still ACTIVE.",
    "context-monitor": "Note how full a context is; sum the session up where it is due.",
}
