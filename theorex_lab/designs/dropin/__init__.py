"""Declare the events of what agents keep through other products' memory tools.

These are a knowledge graph, as the reference memory server of the Model Context
Protocol has it, and files below /memories, as Anthropic's memory tool has them. One
graph and one tree of files belong to each agent and project.
"""

from theorex_lab.journal.kinds import PROJECT, SOURCE
from theorex_lab.journal.shapes import COUNT, FILLED, Kind

_SAID = {"source": SOURCE, "project?": PROJECT}
KINDS = {
    "graph_entity": Kind(
        1,
        "an entity of the knowledge graph: its name and its type",
        {"name": FILLED, "entity_type": str, **_SAID},
    ),
    "graph_observation": Kind(
        1,
        "what was observed of an entity of the knowledge graph",
        {"entity": FILLED, "text": FILLED, **_SAID},
    ),
    "graph_relation": Kind(
        1,
        "how an entity of the knowledge graph relates to another one",
        {"from": FILLED, "to": FILLED, "relation": FILLED, **_SAID},
    ),
    "graph_removed": Kind(
        1,
        "ids of the entities, observations and relations that an agent deleted",
        {"ids": [FILLED], **_SAID},
    ),
    "memory_file": Kind(
        1,
        "a file below /memories as it is from now on: which of its passages are new,"
        " and the ids of those that it holds no more",
        {
            "path": FILLED,
            "text": str,
            "added": [COUNT],
            "gone": [FILLED],
            **_SAID,
        },
    ),
    "memory_file_removed": Kind(
        1,
        "a file below /memories was deleted, with the ids of its passages",
        {"path": FILLED, "gone": [FILLED], **_SAID},
    ),
}
