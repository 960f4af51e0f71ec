"""What search reaches on recorded conversations, as it ships: it needs the data and the
sentence model.
"""

from __future__ import annotations

import pytest

from theorex_lab.eval.datasets import sources
from theorex_lab.eval.metrics.retrieval import (
    Retrieval,
    retrieval_logs,
    score_retrieval,
)
from theorex_lab.search.embed import bundled_embedder

recorded = sources.data_folder()
pytestmark = [
    pytest.mark.usefixtures("shared_logs"),
    pytest.mark.skipif(
        recorded is None
        or not all((recorded / name).is_dir() for name in ("locomo", "qmsum")),
        reason="needs locomo and qmsum under THEOREX_DATA",
    ),
    pytest.mark.skipif(bundled_embedder() is None, reason="needs the embeddings extra"),
    pytest.mark.filterwarnings(
        "ignore::theorex_lab.eval.datasets.dataset_files.LicenceNotice"
    ),
]


def values(score: Retrieval, metric: str) -> dict[str, float]:
    return {method: round(score.value(method, metric), 3) for method in score.scores}


def test_the_blend_reaches_more_than_its_parts_in_long_conversations() -> None:
    """Two of the ten conversations of LoCoMo; all ten: recall@10 .781, recall@50 .904."""
    logs = retrieval_logs("locomo")[:2]
    score = score_retrieval(logs)
    assert score.n == 302
    ten = values(score, "recall@10")
    fifty = values(score, "recall@50")
    assert ten["default"] >= 0.81
    assert fifty["default"] >= 0.92
    assert ten["default"] > ten["fused"] > ten["lexical"] > ten["vector"]
    assert ten["default_words"] > ten["lexical"]


def test_the_blend_reaches_as_much_as_its_parts_in_meetings() -> None:
    """Four of the 35 meetings of QMSum; all of them: hit@5 .734 with vectors, .717
    without.
    """
    score = score_retrieval(retrieval_logs("qmsum")[8:12])
    hit = values(score, "hit@5")
    ten = values(score, "recall@10")
    assert hit["default"] >= 0.8
    for found in (hit, ten):
        assert found["default"] >= max(found["fused"], found["lexical"])
        assert found["default_words"] >= found["lexical"]
