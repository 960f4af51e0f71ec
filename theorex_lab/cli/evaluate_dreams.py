"""What `theorex eval strategies` shows of a memory of strategies."""

from __future__ import annotations

from typing import Any

from theorex_lab.cli.evaluate_facts import Report, reported


def strategies(dataset: str | None, seed: int) -> Report:
    """See `score_taubench`, `score_constraints`, `survivors`, `score_coding` and `hypotheses`, which raise what this does."""
    from theorex_lab.experiments.scores import dream_tests
    from theorex_lab.experiments.scores.strategies import score_coding, score_taubench

    name = dataset or "taubench_airline"
    result: dict[str, Any] = {"dataset": name}
    tables = (
        {"tests": dream_tests.hypotheses} if name == "document" else {"cycles": lambda: dream_tests.survivors(name)}
    )
    scored = [] if name == "document" else [score_coding(name, seed=seed)]
    if name == "taubench_airline":
        scored = [*score_taubench(seed=seed), dream_tests.score_constraints(seed=seed)]
    frames = {key: make() for key, make in tables.items()}
    result |= {"scores": scored, **{key: frame.to_dict(orient="records") for key, frame in frames.items()}}
    texts = [reported(one)[1] for one in scored] + [frame.round(3).to_string(index=False) for frame in frames.values()]
    return result, "\n\n".join(texts)
