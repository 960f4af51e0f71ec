"""Keys like other keys, and what was said of their runs since."""

from __future__ import annotations

from theorex_lab.memory.evidence import EvidenceTable


def test_an_outcome_that_was_taken_back_counts_at_once() -> None:
    table = EvidenceTable()
    for number in range(5):
        table.add(f"p:a|b|{number}", "g", True, at=number)
    rows, _ = table.alike("p:", {"a", "b", "new"}, 0.34)
    for row in range(5):
        table.correct(row, -1)
    rows, _ = table.alike("p:", {"a", "b", "new"}, 0.34)
    assert len(rows) == 5
    assert table.runs(rows).successes.sum() == 0
    assert table.runs(rows).last.max() == 4


def test_keys_of_another_prefix_are_not_alike_and_new_ones_are_found() -> None:
    table = EvidenceTable()
    table.add("q:a|b", "g", True, at=0)
    table.add("p:a|b", "g", True, at=1)
    assert table.alike("p:", {"a", "b"}, 0.5)[0].tolist() == [1]
    table.add("p:a|b", "h", True, at=2)
    table.add("p:a", "g", True, at=3)
    rows, likeness = table.alike("p:", {"a", "b"}, 0.5)
    assert dict(zip(rows.tolist(), likeness.tolist(), strict=True)) == {
        1: 1.0,
        2: 1.0,
        3: 0.5,
    }
