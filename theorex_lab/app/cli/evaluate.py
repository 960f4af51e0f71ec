"""The command that measures: eval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from theorex_lab.app.cli.context import write_picture
from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.command_line import command, emit
from theorex_lab.files.command_line.options import PICTURE, SEED

if TYPE_CHECKING:
    import pandas as pd

    from theorex_lab.eval.metrics.routing import PolicyScore, RoutingScore

Report = tuple[dict[str, Any], str]
# What two options of `eval` take, by its part.
_DATASET_HELP = (
    "routing: llmrouter (the default), routellm, routellm_mmlu or routellm_gsm8k."
    " failures: whoandwhen (the default) or\nreflexion_alfworld. retrieval: locomo (the"
    " default), qmsum, fact_updates, precisionmembench. signals: signals"
    " (the\ndefault), signals_en, signals_ru. supersede: fact_updates. duplicates:"
    " stsb. contradictions: fever_symmetric (the\ndefault) or sick. strategies:"
    " taubench_airline (the default), or\na log of coding sessions. costs: llmrouter"
    " (the default), routellm, local_runs. research:\nmetamath_ql (the default),"
    " equational_theories, pfr_blueprint, precisionmembench, reflexion_alfworld."
)
_PATH_HELP = (
    "speech-acts: the table of labels. failures: your runs in the format of whoandwhen, a"
    " JSON file or a folder;"
    " supersede: 1k, 8k, or a log with questions;\ndefault both files of the set."
)
# Notes on the failures that are scored.
_WHOANDWHEN_NOTES = (
    (
        "the algorithm-generated part, questions of odd SHA-1; signs and weights were"
        " made on the even ones"
    ),
    (
        "runs of more than ten steps, with a user, or with known tool calls get the"
        " last call or step, not the signs"
    ),
    "gain: find_decisive less the baseline, paired run by run",
    "published: over all runs of that part, so not paired",
)
_REFLEXION_NOTES = (
    (
        "environments whose shared first trial failed; solved by a trial with fixes"
        " less solved without, in pairs"
    ),
    (
        "one run of each arm; fixes add up from the third trial on; what they say is"
        " not told apart from the longer prompt"
    ),
)
_NAMES = (
    "routing failures retrieval signals supersede duplicates contradictions strategies"
    " costs causal research speech-acts"
)


class EvalRequest(NamedTuple):
    """What is asked of a part of the evaluation.

    Attributes:
        dataset: The data set, None for the part's own.
        seed: The seed of what is drawn.
        path: Another file than the set's own, '' for none.
        picture: The file of a picture, None for none.
        fit: The file that takes what is fitted, None for none.
    """

    dataset: str | None
    seed: int
    path: str
    picture: str | None
    fit: str | None = None


@command("eval")
@click.argument("part", type=click.Choice(_NAMES.split()))
@click.option("--dataset", help=_DATASET_HELP)
@click.option("--path", "--file", "path", default="", help=_PATH_HELP)
@SEED
@PICTURE
@click.option("--fit", help="speech-acts: write the fitted weights to this file.")
def eval(
    part: str,
    dataset: str | None,
    path: str,
    seed: int,
    picture: str | None,
    fit: str | None,
) -> None:
    """Every score stands beside trivial baselines and its 95 % interval.

    Public sets are downloaded unless THEOREX_DATA names a folder that holds them.

    routing: the training queries are recorded in a home as calls, then `route` is asked
    where each test query goes, with the settings that ship; policies fitted on the same
    training stand beside it.

    failures: which agent and step made a run fail; whether fixes help.

    retrieval: what search finds of the texts that answer questions: by words alone, by
    vectors, by both, as it ships with and without vectors. --picture draws it.

    signals: whether messages are seen to tell preferences, decisions, corrections,
    milestones, instructions and who someone is: 524 English messages and half of 156
    self-written Russian ones chose the patterns; the other half and 206 English ones
    that were drawn when the patterns were final report them.

    supersede: whether what is found first holds now, where later statements correct
    earlier ones, add to them or end them.

    duplicates: how alike people find two sentences, and thresholds from which they say
    the same; contradictions: whether they contradict each other. Half of the pairs made
    weights and rules, the other half reports them.

    strategies: the actions that a strategy foretells of a task, what is still found
    after ten dreams, and which tasks constraints reach; the files and commands that it
    names of a coding session.

    costs: what ways to choose a model bring and cost: the cheapest that is not
    distinguishably worse, cascades with a check of the first answer, Thompson sampling.
    --picture draws policies.

    causal: a log is walked in the order of time: what advice expected of each attempt
    after a failed call, what it banned and preferred, and whether what then helped was
    among what it offers; says in words where advice does not help.

    research: graphs of theorems as they were published, the premises that a theorem's
    likes foretell, and which insights a query is given, by each way to rank them.

    speech-acts: which sentences of sessions are rules, tasks, questions, reports,
    decisions, facts, small talk or pasted; each project by a model that was fitted on
    the others. --path names the table of labels; --fit writes the weights of all.

    JSON: {dataset, n, metrics, baselines, published, …}; routing: policies too;
    failures: notes too; retrieval: methods instead of metrics; strategies: {dataset,
    scores, cycles}; causal: {dataset, n, figures, verdict}; costs: {dataset, policies,
    …}; signals: make too; duplicates and contradictions: thresholds too; speech-acts:
    unsure and classes too
    """
    if picture and part not in ("retrieval", "costs"):
        raise InvalidInput(
            f"got --picture with {part}; allowed is it with retrieval or costs"
        )
    if fit and part != "speech-acts":
        raise InvalidInput(f"got --fit with {part}; allowed is it with speech-acts")
    request = EvalRequest(dataset, seed, path, picture, fit)
    result, text = _PARTS[part](request)
    emit(result, text)


def _routing(request: EvalRequest) -> Report:
    from theorex_lab.eval.metrics.routing import score_routing

    score = score_routing(request.dataset or "llmrouter", seed=request.seed)
    return score.result(), _routing_text(score)


def _speech_acts(request: EvalRequest) -> Report:
    """See `score_speech_acts`, which raises what this does.

    Raises:
        InvalidInput: No table of labels is named.
    """
    from theorex_lab.eval.metrics import speech_acts

    if not request.path:
        raise InvalidInput(
            "got no table of labels; name it with --path, such as"
            " tests/data/speech_acts.tsv"
        )
    sentences = speech_acts.labelled_sentences(request.path)
    if request.fit:
        speech_acts.write_model(speech_acts.fit(sentences), request.fit)
    score = speech_acts.score_speech_acts(sentences)
    return score.result(), score.text()


def _retrieval(request: EvalRequest) -> Report:
    """See `score_retrieval`, which raises what this does."""
    from theorex_lab.eval.metrics.retrieval import (
        known_figures,
        retrieval_logs,
        score_retrieval,
    )
    from theorex_lab.eval.plots.comparison import plot_recall

    name = request.dataset or "locomo"
    score = score_retrieval(retrieval_logs(name, request.path))
    figures = known_figures(name)
    write_picture(request.picture, partial(plot_recall, score))
    result = {"dataset": name, "n": score.n, "methods": score.result(), **figures}
    lines = [f"{name}, n = {score.n}", score.frame.round(3).to_string()]
    for kind in ("baselines", "published"):
        lines += _figure_lines(kind, figures[kind])
    return result, "\n".join(lines)


def _supersede(request: EvalRequest) -> Report:
    """See `score_fact_updates`; the path says which of the set's, or another log.

    Raises:
        InvalidInput: The set is another.
    """
    from theorex_lab.eval.metrics.labelled import score_fact_updates

    if request.dataset not in (None, "fact_updates"):
        raise InvalidInput(
            f"got data set {request.dataset!r}; allowed is fact_updates, with --file"
            " another log"
        )
    return _beside_baselines(score_fact_updates(request.path, seed=request.seed))


def _signals(request: EvalRequest) -> Report:
    """See `score_signals`, which raises what this does."""
    from theorex_lab.eval.metrics.labelled import score_signals

    result = score_signals(request.dataset or "signals", seed=request.seed)
    about = (
        f"{result['dataset']}, n = {result['n']} messages that did not choose the"
        f" patterns, as {result['make']['n']} others did; last, F1 of baselines"
    )
    return result, f"{about}\n{_by_category(result)}"


def _pairs(part: str, request: EvalRequest) -> Report:
    """See `score_duplicates` or `score_contradictions`, as `part` says.

    Raises:
        InvalidInput: The set is another.
    """
    from theorex_lab.eval.metrics import labelled

    score = (
        labelled.score_duplicates
        if part == "duplicates"
        else labelled.score_contradictions
    )
    if not request.dataset:
        return _beside_baselines(score(seed=request.seed))
    return _beside_baselines(score(request.dataset, seed=request.seed))


def _strategies(request: EvalRequest) -> Report:
    """See `score_taubench`, `score_constraints`, `score_coding` and `survivors`.

    They raise what this does.
    """
    from theorex_lab.eval.metrics.strategies import (
        score_coding,
        score_constraints,
        score_taubench,
        survivors,
    )

    name = request.dataset or "taubench_airline"
    if name == "taubench_airline":
        scored = [
            *score_taubench(seed=request.seed),
            score_constraints(seed=request.seed),
        ]
    else:
        scored = [score_coding(name, seed=request.seed)]
    cycles = survivors(name)
    cycled = f"after each cycle:\n{cycles.round(3).to_string(index=False)}"
    text = "\n\n".join([*(_beside_baselines(score)[1] for score in scored), cycled])
    return {
        "dataset": name,
        "scores": scored,
        "cycles": cycles.to_dict(orient="records"),
    }, text


def _costs(request: EvalRequest) -> Report:
    """See `score_costs`, which raises what this does."""
    from theorex_lab.eval.metrics import costs

    score = costs.score_costs(request.dataset or "llmrouter", seed=request.seed)
    write_picture(request.picture, score.plot)
    head = (
        f"{score.dataset}: {score.n:,} test queries, {score.n_train:,} for training;"
        f" cost: {score.cost_unit}"
    )
    return score.result(), f"{head}\n{_policies(score)}"


def _causal(request: EvalRequest) -> Report:
    """See `score_advice`, which raises what this does."""
    from theorex_lab.eval.metrics.causal import score_advice

    score = score_advice(request.dataset or "taubench_airline", seed=request.seed)
    return score.result(), str(score)


def _research(request: EvalRequest) -> Report:
    """See `score_injection` and `score_theorems`, which raise what this does."""
    from theorex_lab.eval.metrics import injection

    name = request.dataset or "metamath_ql"
    score = injection.score_theorems
    if name in injection.SETS:
        score = injection.score_injection
    result, text = _beside_baselines(score(name, request.seed))
    published = _figure_lines("published", result.get("published", {}))
    return result, "\n".join([text, *published])


def _failures(request: EvalRequest) -> Report:
    """See `report`."""
    return report(request.dataset or "whoandwhen", request.path)


def _figure_lines(kind: str, figures: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return figures from elsewhere, a line each."""
    lines = []
    for system, values in figures.items():
        metrics = [f"{metric} {value:.3f}" for metric, value in values.items()]
        lines.append(f"{kind}: {system}: {', '.join(metrics)}")
    return lines


_PARTS: dict[str, Callable[[EvalRequest], Report]] = {
    "routing": _routing,
    "retrieval": _retrieval,
    "signals": _signals,
    "failures": _failures,
    "supersede": _supersede,
    "duplicates": partial(_pairs, "duplicates"),
    "contradictions": partial(_pairs, "contradictions"),
    "strategies": _strategies,
    "costs": _costs,
    "causal": _causal,
    "research": _research,
    "speech-acts": _speech_acts,
}


def _routing_text(score: RoutingScore) -> str:
    head = (
        f"{score.dataset}: {score.n:,} test queries, {score.n_train:,} for training,"
        f" {len(score.models)} models"
    )
    heading = (
        f"without the {score.n_repeated} training queries that are also in the test, as"
        " on queries never seen:"
    )
    lines = [head, f"cost: {score.cost_unit}", "", _policies(score.policies)]
    lines += ["", heading, _policies(score.without_repeats)] if score.n_repeated else []
    return "\n".join(
        [
            *lines,
            *(
                f"published: {name} {value:.3f}"
                for name, value in score.published.items()
            ),
        ]
    )


def _policies(policies: Iterable[PolicyScore]) -> str:
    best_first = sorted(policies, key=lambda policy: -policy.score)
    rows = {
        row.policy: {**row._asdict(), "score_low": row.low, "score_high": row.high}
        for row in best_first
    }
    table = _table(rows, "score", "regret", "cost", "gain", "difference", "cost_ratio")
    head = (
        "95 % intervals: low, high; gain over the task matrix, difference to the best"
        " single, cost by its cost"
    )
    return f"{head}\n{table}"


def report(dataset: str, path: str = "") -> Report:
    """Score how failures are reviewed.

    Args:
        dataset: whoandwhen or reflexion_alfworld.
        path: A file or a folder with runs of the user's own in the format of
            whoandwhen; all are scored. '' for the set's.

    Returns:
        The result, which has dataset, n, metrics (with 95 % intervals: `_low`,
        `_high`), baselines and published by name, and notes; and the text for people.

    Raises:
        InvalidInput: The set is another.
        TheorexError: The set cannot be read, as its `fetch_*` says.
    """
    if dataset not in _REPORTS:
        raise InvalidInput(
            f"got data set {dataset!r}; allowed are {', '.join(_REPORTS)}"
        )
    if path and dataset != "whoandwhen":
        raise InvalidInput(
            f"got a path of runs for {dataset}; allowed is one with --dataset"
            " whoandwhen"
        )
    return _whoandwhen(path) if path else _REPORTS[dataset]()


def _whoandwhen(path: str = "") -> Report:
    from theorex_lab.eval.datasets.recorded_runs import load_failed_runs
    from theorex_lab.eval.metrics.failures import PUBLISHED, score_failures

    scores = (
        score_failures(load_failed_runs(path), half="all") if path else score_failures()
    )
    columns = ["agent_accuracy", "step_accuracy"]
    gains = ["agent_gain", "step_gain"]
    table = scores.frame.set_index("method")
    baselines = {
        name: _row(table, name, _columns(*columns, *gains))
        for name in table.index.drop("find_decisive")
    }
    notes = list(_WHOANDWHEN_NOTES)
    result: dict[str, Any] = {
        "dataset": "whoandwhen",
        "n": scores.n,
        "metrics": _row(table, "find_decisive", _columns(*columns)),
        "baselines": baselines,
        "published": (
            {} if path else {"best_language_model_given_ground_truth": PUBLISHED}
        ),
        "notes": [f"all runs of {path}", *notes[1:-1]] if path else notes,
    }
    if not path:
        table.loc["published, best model"] = PUBLISHED
    return result, _failures_text(result, table, [*columns, *gains], ())


def _reflexion_alfworld() -> Report:
    from theorex_lab.eval.metrics.failures import effect_of_fixes

    effect = effect_of_fixes()
    table = effect.frame.set_index("trial")
    last = table.index[-1]
    counted = ["solved_with", "solved_without", "only_with", "only_without"]
    columns = [*counted, *_columns("difference"), "p_value"]
    result = {
        "dataset": "reflexion_alfworld",
        "n": effect.with_fixes.shape[1],
        "metrics": {"by_trial": int(last), **_row(table, last, columns)},
        "trials": {str(trial): _row(table, trial, columns) for trial in table.index},
        "baselines": {
            "without_fixes": {"share_solved": float(effect.without[-1].mean())}
        },
        "published": {
            "with_fixes": {"solved": 134, "of": 134},
            "without_fixes": {"solved": 101, "of": 134},
        },
        "notes": list(_REFLEXION_NOTES),
    }
    return result, _failures_text(result, table, ["difference"], counted)


_REPORTS: dict[str, Callable[[], Report]] = {
    "whoandwhen": _whoandwhen,
    "reflexion_alfworld": _reflexion_alfworld,
}


def _columns(*names: str) -> list[str]:
    columns = []
    for name in names:
        columns += [name, f"{name}_low", f"{name}_high"]
    return columns


def _row(table: pd.DataFrame, name: Any, columns: list[str]) -> dict[str, float]:
    return {column: float(table[column][name]) for column in columns}


def _failures_text(
    result: dict[str, Any],
    table: pd.DataFrame,
    measured: list[str],
    counted: Sequence[str],
) -> str:
    rows: dict[str, Any] = {
        str(name): row for name, row in table.to_dict(orient="index").items()
    }
    rows_text = _table(rows, *counted, *measured)
    return "\n".join(
        [
            f"{result['dataset']}, n = {result['n']}; 95 % intervals: low, high",
            rows_text,
            "",
            *result["notes"],
        ]
    )


def _table(rows: Mapping[str, Mapping[str, Any]], *names: str) -> str:
    """Return a table for people.

    It has a line for each row, with what is named of it, and its 95 % interval where it
    has one.
    """
    import pandas as pd

    frame = pd.DataFrame.from_dict({**rows}, orient="index")
    return (
        frame[[name for name in _columns(*names) if name in frame]]
        .round(3)
        .to_string(na_rep="–")
    )


def _by_category(scored: dict[str, Any]) -> str:
    """Return a line for each category.

    It has precision, recall and F1, then the F1 of the baselines.
    """
    names = {
        "signal": "high, low or none",
        "micro": "all, micro",
        "macro": "all, macro",
    }
    rows = {}
    for name, metrics in scored["metrics"].items():
        baseline_f1 = {
            method: figures[name]["f1"]
            for method, figures in scored["baselines"].items()
        }
        rows[names.get(name, name)] = {**metrics, **baseline_f1}
    return _table(rows, "labelled", "precision", "recall", "f1", *scored["baselines"])


def _beside_baselines(result: dict[str, Any]) -> Report:
    names = [name for name in result["metrics"] if not name.endswith(("_low", "_high"))]
    lines = [f"{result['dataset']}, n = {result['n']:,}; 95 % intervals: low, high"]
    lines.append(
        _table({"this project": result["metrics"], **result["baselines"]}, *names)
    )
    lines += [
        f"{name}precision, {name}recall: from {cut:g} on"
        for name, cut in result.get("thresholds", {}).items()
    ]
    return result, "\n".join(lines)
