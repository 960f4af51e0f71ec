"""The command that measures: eval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from theorex_lab.app.cli.context import write_picture
from theorex_lab.app.cli.shared_work import (
    OUT,
    SCHEDULER,
    WORKERS,
    check_out,
    name_lost,
    shared_executor,
)
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.progress import working
from theorex_lab.files.command_line import command, emit
from theorex_lab.files.command_line.options import (
    MARGIN,
    PICTURE,
    SEED,
    WILLINGNESS,
    parse_budgets,
)

if TYPE_CHECKING:
    import pandas as pd

    from theorex_lab.eval.datasets.needs_rows import ProjectNeeds
    from theorex_lab.eval.datasets.routing_sets import RoutingSet
    from theorex_lab.eval.metrics.failures import FailureScores
    from theorex_lab.eval.metrics.needs import SessionMean
    from theorex_lab.eval.metrics.routing import PolicyScore, RoutingScore
    from theorex_lab.eval.metrics.step_calibration import StepCalibration
    from theorex_lab.eval.replay.needs import NeedsScore
    from theorex_lab.routing.noninferiority import RouteRule

Report = tuple[dict[str, Any], str]
# What two options of `eval` take, by its part.
_DATASET_HELP = """The data set; the first of a part is its default.

\b
routing, routing-curve: llmrouter, routellm,
  routellm_mmlu, routellm_gsm8k,
  simulated_calls; with routing also all
costs: llmrouter, routellm, simulated_calls,
  local_runs
failures: whoandwhen (where it is not at hand,
  simulated_failures), reflexion_alfworld
retrieval: locomo, qmsum, fact_updates,
  precisionmembench, simulated_questions
signals: signals, signals_en, signals_ru
supersede: fact_updates
factconsolidation: a file, see --path
duplicates: stsb
contradictions: fever_symmetric, sick
strategies: taubench_airline, or a log of
  coding sessions
causal: taubench_airline, or another log
research: metamath_ql, equational_theories,
  pfr_blueprint, precisionmembench,
  reflexion_alfworld
needs: session_needs, simulated_needs
"""
_PATH_HELP = """A file of your own in place of the data set's.

\b
routing, routing-curve: a table of models'
  results (see docs/how-to/router.md)
failures: your runs in the format of
  whoandwhen, a JSON file or a folder
supersede: 1k, 8k, or a log with questions;
  default: both files of the set
factconsolidation: the Parquet file of
  MemoryAgentBench's Conflict_Resolution, or
  its rows as .json or .jsonl; default: a
  generated set
needs: a file of needs, or a folder of them
speech-acts: the table of labels (required)
"""
_PROJECT_HELP = "With needs: score only this project."
_SYSTEM_HELP = (
    "With needs: score only this system, or this memory that `theorex compare` knows;"
    " may be repeated."
)
_BUDGETS_HELP = (
    "With needs: budgets in tokens, separated by commas; default: 150,500,2000."
)
_LINES_HELP = "With needs: show which line covers which need of this session."
# The budget at which coverage by kind of need is printed.
_KINDS_BUDGET = 500
_NEED_CHARACTERS = 110
# Notes on the failures that are scored.
_WHOANDWHEN_NOTES = (
    (
        "the algorithm-generated part, questions with an odd SHA-1; signs and weights"
        " were made on those with an even one"
    ),
    (
        "in runs with known tool calls the last call is the guess; a step is named where"
        " its chance is above one half, else it is not known"
    ),
    "gain: find_decisive minus the baseline, paired run by run",
    "published: over all runs of that part, so not paired",
)
_LONG_HEAD = (
    "the same runs, made long and led by an orchestrator; nobody ran them, they show"
    " whether length and names mislead the rules:"
)
_REFLEXION_NOTES = (
    (
        "only environments whose shared first trial failed; the difference is solved"
        " with fixes minus solved without, in pairs"
    ),
    (
        "one run of each arm; fixes add up from the third trial on; the effect of their"
        " words is not distinguished from that of a longer prompt"
    ),
)
# What is counted of second tries.
_COUNTED = ("solved_with", "solved_without", "only_with", "only_without")
_NAMES = (
    "routing failures retrieval signals supersede factconsolidation duplicates"
    " contradictions strategies costs causal research needs line-weights speech-acts"
    " routing-curve"
)
# The parts with which options are allowed; the others belong to needs.
_PARTS_OF_OPTIONS = {
    "--picture": ("retrieval", "costs", "routing-curve"),
    "--fit": ("speech-acts",),
    "--margin": ("routing", "costs"),
    "--willingness": ("routing", "costs"),
}


class EvalRequest(NamedTuple):
    """What is asked of a part of the evaluation.

    Attributes:
        dataset: The data set, None for the part's own.
        seed: The seed of what is drawn.
        path: Another file than the set's own, '' for none.
        picture: The file of a picture, None for none.
        project: The project whose needs are scored, '' for all.
        systems: The systems that are scored by needs, none for all.
        budgets: Their budgets in tokens with commas, '' for the usual ones.
        lines: The session whose covering lines are printed, '' for none.
        fit: The file that takes what is fitted, None for none.
        margin: By how much a cheaper model may be worse, None for the default.
        willingness: What a point of success is worth, None for nothing.
        workers: How many processes share the work.
        scheduler: The address of a scheduler whose workers share it, None for none.
        out: The folder in which results are kept, None for none.
    """

    dataset: str | None
    seed: int
    path: str
    picture: str | None
    project: str = ""
    systems: tuple[str, ...] = ()
    budgets: str = ""
    lines: str = ""
    fit: str | None = None
    margin: float | None = None
    willingness: float | None = None
    workers: int = 1
    scheduler: str | None = None
    out: Path | None = None


@command("eval")
@click.argument("part", metavar="PART", type=click.Choice(_NAMES.split()))
@click.argument("path_argument", metavar="[PATH]", default="")
@click.option("--dataset", help=_DATASET_HELP)
@click.option(
    "--path", "--file", "path", default="", show_default=False, help=_PATH_HELP
)
@SEED
@PICTURE
@click.option(
    "--project", metavar="NAME", default="", show_default=False, help=_PROJECT_HELP
)
@click.option("--system", "systems", metavar="NAME", multiple=True, help=_SYSTEM_HELP)
@click.option("--budgets", default="", show_default=False, help=_BUDGETS_HELP)
@click.option(
    "--lines", metavar="SESSION", default="", show_default=False, help=_LINES_HELP
)
@click.option(
    "--fit",
    help="With speech-acts: write the weights fitted on all projects to this file.",
)
@MARGIN
@WILLINGNESS
@WORKERS
@SCHEDULER
@OUT
def eval(
    part: str,
    path_argument: str,
    dataset: str | None,
    path: str,
    seed: int,
    picture: str | None,
    project: str,
    systems: tuple[str, ...],
    budgets: str,
    lines: str,
    fit: str | None,
    margin: float | None,
    willingness: float | None,
    workers: int,
    scheduler: str | None,
    out: Path | None,
) -> None:
    """Every score has its 95 % interval, and is compared with simple baselines.

    Public data sets are downloaded, unless THEOREX_DATA names a folder with them. Name
    one part:

    \b
        routing         Records training queries as calls of models, asks
                        `theorex route` about test queries, and compares it
                        with policies fitted on the same training.
                        --margin and --willingness turn it.
        routing-curve   Scores routing under one margin after the other;
                        --picture draws what quality costs.
        costs           Scores ways to choose a model by quality and cost:
                        fixed models, cascades with a check of the first
                        answer, Thompson sampling. --picture draws them.
        failures        Scores which agent and which step of a failed run a
                        review blames, and whether its fixes help.
        retrieval       Scores how well the search finds the texts that
                        answer questions: by words, by vectors, by both.
                        --picture draws it.
        signals         Scores whether messages with a preference, decision,
                        correction, milestone, instruction or identity are
                        recognized, in English and in Russian.
        supersede       Scores whether the first hit still holds where later
                        statements correct it, add to it or end it.
        factconsolidation
                        Scores which systems answer from numbered facts
                        that later ones correct, over one statement or
                        several. PATH is the file of
                        MemoryAgentBench's Conflict_Resolution; without it
                        the facts are generated.
        duplicates      Scores how well similarity finds sentences that
                        say the same, and from which threshold.
        contradictions  Scores how well sentences that contradict each other
                        are found.
        strategies      Scores which actions strategies predict for a task,
                        what is still found after ten cycles, and which
                        tasks are reached by constraints.
        causal          Walks through a log in time order and scores the
                        advice of `theorex causal` after failed calls. It
                        says in words where advice does not help.
        research        Scores which premises of a theorem are predicted
                        from similar ones, and which insights a query gets.
        needs           Scores how much of what real sessions needed to know
                        each system's context covers, at the start and with
                        the first prompt. THEOREX_DATA must name the folder
                        of the needs. --lines shows which line covers what.
                        --system briefing --system briefing_with_facts
                        shows what a design adds to the briefing. --workers,
                        --scheduler and --out are for it alone.
        line-weights    Compares the weights of a briefing's lines with
                        weights fitted on the other projects. It takes
                        minutes.
        speech-acts     Scores whether sentences are recognized as rules,
                        tasks, questions, reports, decisions, facts, small
                        talk or pasted text. Each project is scored by a
                        model that was fitted on the others.

    The patterns, weights and rules of signals, duplicates and contradictions were made
    on other data than the data of the scores.

    JSON: {dataset, n, metrics, baselines, published, …}; with routing also policies;
    with failures also calibration, named, made_long and notes; with retrieval methods
    instead of metrics; with strategies {dataset, scores, cycles}; with causal {dataset,
    n, figures, verdict}; with costs {dataset, policies, …}; with signals also make; with
    duplicates or contradictions also thresholds; with factconsolidation also rows and
    damaged; with needs {dataset, n, budgets, projects, mean, gains, lines}, and lost
    where any system was; with line-weights {dataset, rows}; with speech-acts also
    unsure and classes
    """  # noqa: D301 - click takes \b for a paragraph that it leaves as it is
    if path_argument and (path or part != "factconsolidation"):
        raise InvalidInput(
            f"got {path_argument!r} behind {part}; allowed is one path, behind"
            " factconsolidation, or with --path"
        )
    _refuse_options(
        part,
        {
            "--picture": picture,
            "--project": project,
            "--system": systems,
            "--budgets": budgets,
            "--lines": lines,
            "--fit": fit,
            "--margin": margin,
            "--willingness": willingness,
            "--workers": None if workers == 1 else workers,
            "--scheduler": scheduler,
            "--out": out,
        },
    )
    request = EvalRequest(
        dataset,
        seed,
        path or path_argument,
        picture,
        project=project,
        systems=systems,
        budgets=budgets,
        lines=lines,
        fit=fit,
        margin=margin,
        willingness=willingness,
        workers=workers,
        scheduler=scheduler,
        out=out,
    )
    with working(f"measures {part}"):
        result, text = _PARTS[part](request)
    emit(result, text)
    name_lost(result.get("lost", ()))


def _refuse_options(part: str, options: Mapping[str, object]) -> None:
    """Raise InvalidInput where options of another part have a value."""
    for name, value in options.items():
        if value in (None, "", ()):
            continue
        parts = _PARTS_OF_OPTIONS.get(name, ("needs",))
        if part not in parts:
            raise InvalidInput(
                f"got {name} with {part}; it is allowed with {' or '.join(parts)}"
            )


def _routing(request: EvalRequest) -> Report:
    """See `score_routing`, which raises what this does."""
    from theorex_lab.eval.metrics.routing import score_routing

    if request.dataset == "all":
        return _all_routing(request)
    score = score_routing(
        _routing_set(request), rule=_rule_of(request), seed=request.seed
    )
    return score.result(), _routing_text(score)


def _all_routing(request: EvalRequest) -> Report:
    """Return the scores of every set on which routing is scored."""
    from theorex_lab.eval.metrics.costs import load_cost_set
    from theorex_lab.eval.metrics.routing import ALL_SETS, score_routing

    results = []
    texts = []
    for name in ALL_SETS:
        routing_set = load_cost_set(name, seed=request.seed)
        score = score_routing(routing_set, rule=_rule_of(request), seed=request.seed)
        results.append(score.result())
        texts.append(_routing_text(score))
    n_queries = sum(result["n"] for result in results)
    return {"dataset": "all", "n": n_queries, "scores": results}, "\n\n".join(texts)


def _routing_curve(request: EvalRequest) -> Report:
    """See `score_curve`, which raises what this does."""
    from theorex_lab.eval.metrics.routing_curve import score_curve

    curve = score_curve(_routing_set(request), seed=request.seed)
    write_picture(request.picture, curve.plot)
    head = (
        f"{curve.dataset}: {curve.n:,} test queries; {', '.join(curve.notes)};"
        f" cost: {curve.cost_unit}; 95 % intervals: ci_low, ci_high"
    )
    table = curve.frame.round(3).to_string(index=False, na_rep="–")
    return curve.result(), f"{head}\n{table}\n\n{_policies(curve.baselines)}"


def _routing_set(request: EvalRequest) -> RoutingSet:
    """Return the set that is asked for, or the table of one's own."""
    from theorex_lab.eval.datasets.routing_sets import load_routing_set
    from theorex_lab.eval.datasets.routing_tables import load_routing_table

    if request.path:
        return load_routing_table(request.path, name=request.dataset, seed=request.seed)
    return load_routing_set(request.dataset or "llmrouter", seed=request.seed)


def _rule_of(request: EvalRequest) -> RouteRule:
    """Return when a cheaper model is taken."""
    from theorex_lab.core.settings import ROUTE_MARGIN
    from theorex_lab.routing.noninferiority import RouteRule

    margin = ROUTE_MARGIN if request.margin is None else request.margin
    return RouteRule(margin=margin, willingness=request.willingness)


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


def _fact_consolidation(request: EvalRequest) -> Report:
    """See `score_fact_consolidation`, which raises what this does.

    Raises:
        InvalidInput: A data set is named.
    """
    from theorex_lab.eval.metrics.fact_consolidation import score_fact_consolidation

    if request.dataset:
        raise InvalidInput(
            f"got data set {request.dataset!r}; name a file with --path, or none for a"
            " generated set"
        )
    score = score_fact_consolidation(request.path, seed=request.seed)
    return score.result(), score.text()


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

    score = costs.score_costs(
        request.dataset or "llmrouter", rule=_rule_of(request), seed=request.seed
    )
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


def _needs(request: EvalRequest) -> Report:
    """See `load_session_needs` and `score_needs`, which raise what this does.

    Raises:
        InvalidInput: The set is another, or the budgets are no numbers.
    """
    from theorex_lab.eval.replay.needs import BUDGETS, score_needs

    budgets: Sequence[int] = BUDGETS
    if request.budgets:
        budgets = parse_budgets(request.budgets)
    dataset = request.dataset or "session_needs"
    projects = _projects_with_needs(dataset, request)
    check_out(request.out)
    with shared_executor(request.scheduler, request.out) as executor:
        score = score_needs(
            projects,
            request.systems,
            budgets=budgets,
            sessions=[request.lines] if request.lines else (),
            seed=request.seed,
            executor=executor,
            workers=request.workers,
            out=request.out,
        )
    result = {"dataset": dataset, **score.result()}
    if score.lost:
        result["lost"] = list(score.lost)
    text = "\n".join([_needs_text(score, projects), *_earlier_run(score)])
    if request.lines:
        result["lines"] = _lines_result(score)
        text = f"{_lines_text(score)}\n\n{text}"
    return result, text


def _earlier_run(score: NeedsScore) -> list[str]:
    """Return lines on what an earlier run left in the folder of results."""
    lines = list(score.file_problems)
    if score.n_taken_over:
        lines.append(f"{score.n_taken_over} results are of an earlier run")
    return lines


def _projects_with_needs(dataset: str, request: EvalRequest) -> list[ProjectNeeds]:
    """Return the projects of a data set of needs.

    Raises:
        InvalidInput: The data set is another, or an option does not belong to it.
    """
    from theorex_lab.eval.datasets.session_needs import (
        SIMULATED_NEEDS,
        SIMULATED_SESSIONS,
        load_session_needs,
    )

    if dataset == "session_needs":
        return load_session_needs(request.project, path=request.path)
    if dataset != SIMULATED_NEEDS:
        raise InvalidInput(
            f"got data set {dataset!r}; allowed are session_needs, with --path another"
            f" folder, and {SIMULATED_NEEDS}"
        )
    if request.path or request.project not in ("", SIMULATED_SESSIONS):
        raise InvalidInput(
            f"got --path or --project with {SIMULATED_NEEDS}, which has one project;"
            " they are allowed with session_needs"
        )
    return load_session_needs(SIMULATED_SESSIONS)


def _line_weights(request: EvalRequest) -> Report:
    """See `compare_needs_weights`, which raises what this does."""
    from theorex_lab.eval.datasets.session_needs import load_session_needs
    from theorex_lab.eval.replay.needs_fit import (
        compare_needs_weights,
        session_starts,
    )

    starts = {}
    for project in load_session_needs(path=request.path):
        starts[project.name] = session_starts(project)
    rows = [row._asdict() for row in compare_needs_weights(starts)]
    table = _table(
        {f"{row['project']}, {row['weights']}": row for row in rows},
        "start_150",
        "start_500",
        "start_2000",
        "useful_500",
    )
    return {"dataset": "session_needs", "rows": rows}, table


def _needs_text(score: NeedsScore, projects: Iterable[ProjectNeeds]) -> str:
    """Return a table for each project, and one of the projects' mean.

    Args:
        score: The scores.
        projects: The projects that were scored.
    """
    parts = []
    for project in projects:
        n_sessions = len(score.sessions_of(project.name))
        if not n_sessions:
            continue
        title = f"{project.name}, n = {n_sessions} sessions"
        if not project.is_published:
            title += ", needs that the data set's table does not list"
        parts.append(f"{title}\n{_needs_tables(score, project.name)}")
    if len(parts) > 1:
        title = f"mean of the {len(parts)} projects, each counting the same"
        parts.append(f"{title}\n{_needs_tables(score, '')}")
    parts.append(
        "start: share by grade of the needs known at the start; all: of all needs, with"
        " the prompt's text;\nuseful: share of the bytes; wall: names of files in one"
        " line, mean and longest; 95 % intervals over sessions"
    )
    return "\n\n".join(parts)


def _needs_tables(score: NeedsScore, project: str) -> str:
    """Return the coverage of each system, and that of kinds of needs."""
    import pandas as pd

    coverage: dict[str, dict[str, str]] = {}
    kinds: dict[str, dict[str, str]] = {}
    kinds_budget = score.budgets[0]
    if _KINDS_BUDGET in score.budgets:
        kinds_budget = _KINDS_BUDGET
    for system in score.systems:
        coverage[system] = _coverage_row(score, system, project)
        kinds[system] = _kinds_row(score, system, kinds_budget, project)
    title = f"start needs covered at {kinds_budget:,} tokens, by kind"
    parts = [
        pd.DataFrame.from_dict(coverage, orient="index").to_string(),
        title,
        pd.DataFrame.from_dict(kinds, orient="index").to_string(),
    ]
    gains = {
        system: _gain_row(score, system, project) for system in score.further_designs
    }
    if gains:
        parts.append("what a design adds to the briefing, session by session")
        parts.append(pd.DataFrame.from_dict(gains, orient="index").to_string())
    return "\n".join(parts)


def _gain_row(score: NeedsScore, system: str, project: str) -> dict[str, str]:
    """Return what a design adds to the briefing by column."""
    row = {}
    for budget in score.budgets:
        for figure in ("start", "all"):
            gain = score.gain(system, budget, figure, project=project)
            row[f"{figure} {budget:,}"] = _gain_text(gain)
    return row


def _gain_text(gain: SessionMean) -> str:
    """Return a difference with its sign and its interval."""
    if not gain.n:
        return "-"
    return f"{gain.value:+.3f} ({gain.ci_low:+.3f} to {gain.ci_high:+.3f})"


def _coverage_row(score: NeedsScore, system: str, project: str) -> dict[str, str]:
    """Return the figures of a system by their columns."""
    row = {}
    for budget in score.budgets:
        mean = score.value(system, budget, "start", project=project)
        row[f"start {budget:,}"] = _mean_text(mean)
    for budget in score.budgets:
        mean = score.value(system, budget, "all", project=project)
        row[f"all {budget:,}+{budget:,}"] = _mean_text(mean)
    for budget in score.budgets:
        mean = score.value(system, budget, "useful", project=project)
        row[f"useful {budget:,}"] = _mean_text(mean, with_interval=False)
    for budget in score.budgets:
        mean = score.value(system, budget, "wall", project=project)
        longest = score.longest_wall(system, budget, project=project)
        row[f"wall {budget:,}"] = f"{mean.value:.1f}, {longest}"
    return row


def _kinds_row(
    score: NeedsScore, system: str, budget: int, project: str
) -> dict[str, str]:
    """Return the coverage of each kind of start needs by its column."""
    row = {}
    for kind in score.kinds:
        mean = score.value(system, budget, f"start_kind:{kind}", project=project)
        if mean.n:
            row[f"{kind} (n = {mean.n})"] = _mean_text(mean)
    return row


def _mean_text(mean: SessionMean, *, with_interval: bool = True) -> str:
    """Return a mean as a table shows it, – for none."""
    if not mean.n:
        return "–"
    value = f"{mean.value:.3f}"
    if with_interval:
        value += f" [{mean.ci_low:.2f}, {mean.ci_high:.2f}]"
    return value


def _lines_result(score: NeedsScore) -> list[dict[str, Any]]:
    """Return which line covers which need, a row for each context and need."""
    rows = []
    for result in score.results:
        for told_need in result.score.all_needs:
            need = told_need.need
            rows.append(
                {
                    "session": result.session,
                    "system": result.system,
                    "budget": result.budget,
                    "need": need.need,
                    "kind": need.kind,
                    "grade": need.grade,
                    "when": need.when,
                    "line": told_need.line or None,
                }
            )
    return rows


def _lines_text(score: NeedsScore) -> str:
    """Return the needs of a session, each with the line that covers it."""
    from theorex_lab.text.line import one_line

    lines = []
    for result in score.results:
        gist = one_line(result.gist, _NEED_CHARACTERS)
        lines.append(
            f"{result.session} of {result.project}, {result.system} at"
            f" {result.budget:,}: {gist}"
        )
        for told_need in result.score.all_needs:
            need = told_need.need
            text = one_line(need.need, _NEED_CHARACTERS)
            sign = "+" if told_need.line else "-"
            row = f"  {sign} {need.grade} {need.when:5} {need.kind:8} {text}"
            if told_need.line:
                row += f"  <- {one_line(told_need.line, _NEED_CHARACTERS)}"
            lines.append(row)
    return "\n".join(lines)


def _failures(request: EvalRequest) -> Report:
    """See `report`."""
    from theorex_lab.eval.datasets.data_sets import available

    dataset = request.dataset or "whoandwhen"
    is_asked = bool(request.dataset or request.path)
    if is_asked or available(dataset):
        return report(dataset, request.path)
    result, text = report("simulated_failures")
    hint = (
        "whoandwhen is not at hand, so the packaged simulation is scored; `theorex data"
        " get whoandwhen` downloads the set"
    )
    result["notes"].append(hint)
    return result, f"{text}\n{hint}"


def _figure_lines(kind: str, figures: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return figures from elsewhere, a line each."""
    lines = []
    for system, values in figures.items():
        metrics = [f"{metric} {value:.3f}" for metric, value in values.items()]
        lines.append(f"{kind}: {system}: {', '.join(metrics)}")
    return lines


_PARTS: dict[str, Callable[[EvalRequest], Report]] = {
    "routing": _routing,
    "routing-curve": _routing_curve,
    "retrieval": _retrieval,
    "signals": _signals,
    "failures": _failures,
    "supersede": _supersede,
    "factconsolidation": _fact_consolidation,
    "duplicates": partial(_pairs, "duplicates"),
    "contradictions": partial(_pairs, "contradictions"),
    "strategies": _strategies,
    "costs": _costs,
    "causal": _causal,
    "research": _research,
    "needs": _needs,
    "line-weights": _line_weights,
    "speech-acts": _speech_acts,
}


def _routing_text(score: RoutingScore) -> str:
    head = (
        f"{score.dataset}: {score.n:,} test queries, {score.n_train:,} for training,"
        f" {len(score.models)} models"
    )
    lines = [head, *score.notes, f"cost: {score.cost_unit}"]
    lines += ["", _policies(score.policies)]
    for name, value in score.published.items():
        lines.append(f"published, with what was left out here: {name} {value:.3f}")
    return "\n".join(lines)


def _policies(policies: Iterable[PolicyScore]) -> str:
    best_first = sorted(policies, key=lambda policy: -policy.score)
    rows = {
        row.policy: {
            **row._asdict(),
            "score_ci_low": row.ci_low,
            "score_ci_high": row.ci_high,
        }
        for row in best_first
    }
    table = _table(rows, "score", "regret", "cost", "gain", "difference", "cost_ratio")
    head = (
        "95 % intervals: ci_low, ci_high; gain over the task matrix, difference to the best"
        " single, cost by its cost"
    )
    return f"{head}\n{table}"


def report(dataset: str, path: str = "") -> Report:
    """Score how failures are reviewed.

    Args:
        dataset: whoandwhen, simulated_failures or reflexion_alfworld.
        path: A file or a folder with runs of the user's own in the format of
            whoandwhen; all are scored. '' for the set's.

    Returns:
        The result, which has dataset, n, metrics (with 95 % intervals: `_ci_low`,
        `_ci_high`), baselines and published by name, and notes; and the text for people.

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
    from theorex_lab.eval.datasets.long_runs import lengthen_run
    from theorex_lab.eval.datasets.recorded_runs import (
        fetch_whoandwhen,
        load_failed_runs,
    )
    from theorex_lab.eval.metrics.failures import PUBLISHED, score_failures

    if path:
        loaded = load_failed_runs(path)
        notes = [f"all runs of {path}", *_WHOANDWHEN_NOTES[1:-1]]
        if loaded.damaged:
            notes.append(
                f"left out: {len(loaded.damaged)} damaged files, the first:"
                f" {loaded.damaged[0]}"
            )
        scores = score_failures(loaded.runs, half="all")
        result, text = _scored_runs("whoandwhen", scores, notes, {})
        result["damaged"] = len(loaded.damaged)
        return result, text
    published = {"best_language_model_given_ground_truth": PUBLISHED}
    runs = fetch_whoandwhen().runs
    result, text = _scored_runs(
        "whoandwhen", score_failures(runs), list(_WHOANDWHEN_NOTES), published
    )
    long_runs = [lengthen_run(run) for run in runs]
    long_table = score_failures(long_runs).frame.set_index("method")
    columns = ["agent_accuracy", "step_accuracy"]
    result["made_long"] = {
        name: _row(long_table, name, _columns(*columns)) for name in long_table.index
    }
    rows: dict[str, Any] = {
        str(name): row for name, row in long_table.to_dict(orient="index").items()
    }
    return result, f"{text}\n\n{_LONG_HEAD}\n{_table(rows, *columns)}"


def _simulated_failures() -> Report:
    from theorex_lab.eval.datasets.simulated_failures import load_simulated_failures
    from theorex_lab.eval.metrics.failures import effect_of_fixes, score_failures

    simulation = load_simulated_failures()
    scores = score_failures(simulation.runs, half="all")
    notes = ["all runs of a simulation, no recorded work", *_WHOANDWHEN_NOTES[1:-1]]
    result, text = _scored_runs("simulated_failures", scores, notes, {})
    effect = effect_of_fixes(simulation.second_tries()).frame.set_index("trial")
    columns = [*_COUNTED, *_columns("difference"), "p_value"]
    result["trials"] = {
        str(trial): _row(effect, trial, columns) for trial in effect.index
    }
    rows: dict[str, Any] = {
        f"trial {trial}": row for trial, row in effect.to_dict(orient="index").items()
    }
    table = _table(rows, *_COUNTED, "difference")
    return result, f"{text}\n\nsecond tries, with fixes and without:\n{table}"


def _scored_runs(
    dataset: str,
    scores: FailureScores,
    notes: list[str],
    published: dict[str, dict[str, float]],
) -> Report:
    """Return the report on scored runs; published figures become rows too."""
    columns = ["agent_accuracy", "step_accuracy"]
    gains = ["agent_gain", "step_gain"]
    table = scores.frame.set_index("method")
    baselines = {
        name: _row(table, name, _columns(*columns, *gains))
        for name in table.index.drop("find_decisive")
    }
    calibration = scores.calibration
    result: dict[str, Any] = {
        "dataset": dataset,
        "n": scores.n,
        "metrics": _row(table, "find_decisive", _columns(*columns)),
        "baselines": baselines,
        "published": published,
        "calibration": {
            "brier": calibration.brier,
            "base_rate_brier": calibration.base_rate_brier,
            "bins": calibration.to_dict(),
        },
        "named": _without_nan(calibration.named()),
        "notes": notes,
    }
    for figures in published.values():
        table.loc["published, best model"] = figures
    text = _failures_text(result, table, [*columns, *gains], ())
    return result, f"{text}\n\n{_calibration_text(calibration)}"


def _without_nan(figures: Mapping[str, float]) -> dict[str, float | None]:
    """Return figures with None for those that nothing was measured of."""
    return {
        name: None if math.isnan(value) else value for name, value in figures.items()
    }


def _calibration_text(calibration: StepCalibration) -> str:
    """Return what the chances of steps are worth, for people."""
    named = calibration.named()
    shares = [
        f"{label}: {named[name]:.3f} [{named[f'{name}_ci_low']:.3f},"
        f" {named[f'{name}_ci_high']:.3f}]"
        for name, label in (
            ("coverage", "runs in which a step is named"),
            ("named_accuracy", "right of the named"),
            ("unnamed_accuracy", "right of the likeliest where none is named"),
            ("unnamed_likely_accuracy", "among its three likeliest"),
        )
    ]
    bins = calibration.frame.round(3).to_string(index=False, na_rep="–")
    brier = (
        f"chance of the step, Brier {calibration.brier:.3f}; of the base rate"
        f" {calibration.base_rate_brier:.3f}"
    )
    return "\n".join([*shares, brier, bins])


def _reflexion_alfworld() -> Report:
    from theorex_lab.eval.metrics.failures import effect_of_fixes

    effect = effect_of_fixes()
    table = effect.frame.set_index("trial")
    last = table.index[-1]
    columns = [*_COUNTED, *_columns("difference"), "p_value"]
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
    return result, _failures_text(result, table, ["difference"], _COUNTED)


_REPORTS: dict[str, Callable[[], Report]] = {
    "whoandwhen": _whoandwhen,
    "simulated_failures": _simulated_failures,
    "reflexion_alfworld": _reflexion_alfworld,
}


def _columns(*names: str) -> list[str]:
    columns = []
    for name in names:
        columns += [name, f"{name}_ci_low", f"{name}_ci_high"]
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
            f"{result['dataset']}, n = {result['n']}; 95 % intervals: ci_low, ci_high",
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
    lines = [
        f"{result['dataset']}, n = {result['n']:,}; 95 % intervals: ci_low, ci_high"
    ]
    lines.append(
        _table({"this project": result["metrics"], **result["baselines"]}, *names)
    )
    lines += [
        f"{name}precision, {name}recall: from {cut:g} on"
        for name, cut in result.get("thresholds", {}).items()
    ]
    return result, "\n".join(lines)
