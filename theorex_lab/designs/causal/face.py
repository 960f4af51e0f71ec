"""Give `lab.causal`.

It records signals, hypotheses, attempts and outcomes, and reads advice from them.
"""

from typing import Any

from theorex_lab.designs.causal import (
    advice,
    candidates,
    capture,
    filling,
    graph,
    graph_files,
    graph_reading,
    keys,
    mutations,
    personalities,
)
from theorex_lab.designs.causal import genes as gene_log
from theorex_lab.designs.causal import narrative as narratives
from theorex_lab.memory.contract import DesignApi, on_home


class Causal(DesignApi):
    """Give causal memory in one home.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     signals = ["log_error", "errsig:TypeError: undefined"]
    ...     gene = {"id": "gene_repair", "category": "repair"}
    ...     done = lab.causal.record_attempt(signals, gene)
    ...     outcome = lab.causal.record_outcome_from_state([])
    ...     advice = lab.causal.get_advice(signals, [gene, {"id": "gene_other"}])
    >>> (
    ...     outcome["outcome"]["note"],
    ...     advice.preferred_gene_id,
    ...     round(advice.scores["gene_repair"], 3),
    ... )
    ('error_cleared|heuristic_delta', 'gene_repair', 0.747)

    What is no method of its own does what the function that it names does, in the
    face's home.
    """

    compute_signal_key = staticmethod(keys.compute_signal_key)
    normalize_error_signature = staticmethod(keys.normalize_error_signature)
    stable_hash = staticmethod(keys.stable_hash)
    record_signal_snapshot = on_home(capture.record_signal_snapshot)
    record_hypothesis = on_home(capture.record_hypothesis)
    record_attempt = on_home(capture.record_attempt)
    record_outcome_from_state = on_home(capture.record_outcome_from_state)
    close = on_home(capture.close)
    get_advice = on_home(advice.get_advice)
    open_attempts = on_home(graph.open_attempts)
    select_gene = on_home(gene_log.select_gene)
    record_gene = on_home(gene_log.record_gene)
    record_capsule = on_home(gene_log.record_capsule)
    mark_genes = on_home(gene_log.mark_genes)
    distill = on_home(gene_log.distill)
    task_match = on_home(gene_log.task_match)
    fill = on_home(filling.fill)
    export_graph = on_home(graph_files.export_graph)
    import_graph = on_home(graph_reading.import_graph)
    build_mutation = on_home(mutations.build_mutation)
    select_capsule = on_home(candidates.select_capsule)
    record_external_candidate = on_home(candidates.record_external_candidate)
    external_candidates = on_home(candidates.external_candidates)
    personality = on_home(personalities.personality)
    set_personality = on_home(personalities.set_personality)
    adapt_personality = on_home(personalities.adapt_personality)
    narrative = on_home(narratives.narrative)
    narrative_summary = on_home(narratives.narrative_summary)
    _assets = on_home(graph.assets_of)

    def genes(self) -> list[dict[str, Any]]:
        """Return the genes that are known, each as it was told last."""
        return list(self._assets())

    def capsules(self) -> list[dict[str, Any]]:
        """Return the capsules that are known, each as it was told last."""
        return list(self._assets(genes=False))
