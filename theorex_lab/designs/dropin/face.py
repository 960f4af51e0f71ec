"""Serve `lab.design("dropin")`: a knowledge graph, and files below /memories."""

from __future__ import annotations

from theorex_lab.designs.dropin import graph
from theorex_lab.designs.dropin.graph_view import KnowledgeGraph
from theorex_lab.designs.dropin.memory_tool import MemoryTool
from theorex_lab.memory.contract import DesignApi, on_home


class DropIn(DesignApi):
    """What agents keep through other products' memory tools.

    >>> from theorex_lab import Lab
    >>> from theorex_lab.designs.dropin.graph import NewEntity
    >>> with Lab.temporary() as lab:
    ...     kept = lab.design("dropin")
    ...     _ = kept.create_entities([NewEntity("till", "program", ["listens on 8080"])])
    ...     graph = kept.search_nodes("8080")
    >>> graph.entities["till"].texts()
    ['listens on 8080']

    A method does what the function of its name in `designs.dropin.graph` does, in the
    face's home; `read_graph` is `graph_of_agent` there.
    """

    create_entities = on_home(graph.create_entities)
    create_relations = on_home(graph.create_relations)
    add_observations = on_home(graph.add_observations)
    delete_entities = on_home(graph.delete_entities)
    delete_observations = on_home(graph.delete_observations)
    delete_relations = on_home(graph.delete_relations)
    read_graph = on_home(graph.graph_of_agent)
    open_nodes = on_home(graph.open_nodes)

    def search_nodes(self, query: str, agent: str = "main") -> KnowledgeGraph:
        """Return the entities that fit a query; see `designs.dropin.graph`.

        Args:
            query: The query.
            agent: Whose graph is searched.

        Raises:
            InvalidInput: As the function of this name.
        """
        return graph.search_nodes(self.home, lambda: self.searcher, query, agent)

    def memory_tool(self, agent: str = "main") -> MemoryTool:
        """Return what answers Anthropic's memory tool for an agent.

        Args:
            agent: The agent.

        Raises:
            InvalidInput: The agent is outside the rule.
        """
        return MemoryTool(self.home, agent)
