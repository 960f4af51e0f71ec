"""Pairs of sentences with a human's judgement: STS benchmark, SICK and symmetric FEVER, as tables."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import TYPE_CHECKING

from theorex_lab.experiments.data.dataset_files import Content
from theorex_lab.experiments.data.parsing.fields import cell_number, json_line_records, table_rows

if TYPE_CHECKING:
    import pandas as pd

SICK_COLUMNS = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
JUDGEMENTS = ("NEUTRAL", "ENTAILMENT", "CONTRADICTION")


def stsb(content: Content) -> pd.DataFrame:
    """Columns sentence_a, sentence_b, similarity (0 to 5, the mean of several people).

    >>> stsb(Content("demo.csv", b"A cat.,A dog.,1.5\\n")).similarity.tolist()
    [1.5]
    """
    import pandas as pd

    rows = [
        (row.text("sentence_a"), row.text("sentence_b"), cell_number(row, "similarity", 0.0, 5.0))
        for row in table_rows(content, ("sentence_a", "sentence_b", "similarity"), header=False)
    ]
    return pd.DataFrame(rows, columns=["sentence_a", "sentence_b", "similarity"])


def sick(splits: Mapping[str, Content]) -> pd.DataFrame:
    """Of the content of each split: columns split, pair_id, sentence_a, sentence_b, relatedness (1 to 5), judgement."""
    import pandas as pd

    rows = [
        (
            split,
            row.whole("pair_ID"),
            row.text("sentence_A"),
            row.text("sentence_B"),
            cell_number(row, "relatedness_score", 1.0, 5.0),
            row.choice("entailment_judgment", JUDGEMENTS),
        )
        for split, content in splits.items()
        for row in table_rows(content, SICK_COLUMNS, delimiter="\t", quoting=csv.QUOTE_NONE)
    ]
    columns = ["split", "pair_id", "sentence_a", "sentence_b", "relatedness", "judgement"]
    return pd.DataFrame(rows, columns=columns)


def fever_symmetric(content: Content) -> pd.DataFrame:
    """Columns id, claim, evidence, refuted (False: the evidence supports the claim)."""
    import pandas as pd

    rows = [
        (
            row.text("id"),
            row.text("claim"),
            row.text("evidence"),
            row.choice("gold_label", ("SUPPORTS", "REFUTES")) == "REFUTES",
        )
        for row in json_line_records(content)
    ]
    return pd.DataFrame(rows, columns=["id", "claim", "evidence", "refuted"])
