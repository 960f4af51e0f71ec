"""What `theorex eval strategies` shows of a memory of strategies."""

from __future__ import annotations

from theorex_lab.cli.evaluate_facts import Report, reported


def strategies(dataset: str | None, seed: int) -> Report:
    """See `score_taubench`, `score_constraints`, `score_coding`, `survivors` and `hypotheses`, which raise what this does."""
    from theorex_lab.experiments.scores import dream_tests
    from theorex_lab.experiments.scores.strategies import score_coding, score_taubench

    name = dataset or "taubench_airline"
    if name == "document":
        tests = dream_tests.hypotheses()
        return {"dataset": name, "tests": tests.to_dict(orient="records")}, tests.to_string(index=False)
    if name == "taubench_airline":
        scored = [*score_taubench(seed=seed), dream_tests.score_constraints(seed=seed)]
    else:
        scored = [score_coding(name, seed=seed)]
    cycles = dream_tests.survivors(name)
    told = [*(reported(one)[1] for one in scored), f"after each cycle:\n{cycles.round(3).to_string(index=False)}"]
    return {"dataset": name, "scores": scored, "cycles": cycles.to_dict(orient="records")}, "\n\n".join(told)
