"""The document's validation is rerun offline, and says what does not hold."""

from __future__ import annotations

from theorex_lab.designs.dreams.demos.hypotheses import run_hypotheses
from theorex_lab.search.embed import HashedNgramEmbedder


def test_each_claim_has_a_figure_of_here_and_one_of_the_document() -> None:
    report = run_hypotheses(embedder=HashedNgramEmbedder())
    assert report.embedder == "lexical-ngram-v1-256"
    tests = [result.test.split()[0] for result in report.results]
    assert sorted(set(tests)) == ["1", "2", "3", "4", "5", "6", "7"]
    assert all(result.here and result.document for result in report.results)
    by_claim = {result.claim: result for result in report.results}
    accumulated = by_claim["a second review of code is merged into the first"]
    assert accumulated.holds
    assert accumulated.here == "1 made, then 0 made and 1 merged"
    bread = by_claim["'how to bake sourdough bread?' finds 'master sourdough bread'"]
    assert bread.holds


def test_what_does_not_hold_is_said() -> None:
    report = run_hypotheses(embedder=HashedNgramEmbedder())
    failing = [result for result in report.results if not result.holds]
    # Words alone do not tell that JSON web tokens are JWT.
    assert "'how to create JSON web tokens?' finds 'implement JWT tokens'" in [
        result.claim for result in failing
    ]
    (link,) = [result for result in report.results if result.test == "4 links"]
    assert not link.holds
    assert "needs a model" in link.here
    text = str(report)
    n_holding = len(report.results) - len(failing)
    assert text.startswith(f"{n_holding} of {len(report.results)} claims hold here")
    assert text.count("does not hold") == len(failing)
