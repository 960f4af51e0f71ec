"""The command that measures: eval."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.cli import open_lab, write_picture
from theorex_lab.console import command, emit
from theorex_lab.console.options import PICTURE, SEED
from theorex_lab.design import later
from theorex_lab.errors import InvalidInput

if TYPE_CHECKING:
    from theorex_lab.experiments.scores.routing import PolicyScore, RoutingScore


_PATH = (
    "retrieval: where a set is that you have; failures: your runs in the format of whoandwhen, a JSON file or a folder; "
    "supersede: 1k, 8k, or a log with questions; default both files of the set."
)


@command("eval")
@click.argument("part", type=click.Choice([*"routing failures retrieval search sentences supersede growth".split()]))
@click.option(
    "--dataset",
    help="routing: llmrouter (the default), routellm, routellm_mmlu or routellm_gsm8k. "
    "failures: whoandwhen (the default) or reflexion_alfworld. "
    "retrieval: locomo (the default), qmsum, fact_updates, precisionmembench; with --path longmemeval, beam, realtalk. "
    "supersede: fact_updates. growth: simulated_sessions (the default), or any log.",
)
@click.option("--path", "--file", "path", default="", help=_PATH)
@click.option(
    "--log", metavar="NAME|PATH", default="", help="search: a data set, transcripts or a home; default this one."
)
@click.option("--queries", type=click.IntRange(min=1), default=300, help="search: how many are made.")
@click.option("--fit", is_flag=True, help="search: fit weights to half of the queries, score them on the other half.")
@SEED
@PICTURE
def eval(part: str, dataset: str | None, seed: int, **given: Any) -> None:
    """Every score stands beside trivial baselines and its 95 % interval. Public sets are downloaded unless THEOREX_DATA
    names a folder that holds them.

    routing: the training queries are recorded in a home as calls, then `route` is asked where each test query goes, with
    the settings that ship; policies fitted on the same training stand beside it.

    failures: which agent and step made a run fail; whether fixes help.

    retrieval: what search finds of the texts that answer questions: by words alone, by vectors, by both, as it ships with
    and without vectors, and with weights fitted to the texts without labels. --picture draws it.

    search: the same on a log of your own, without labels: a few words of a text must find it, though most of them were
    deleted from it. --fit proposes weights for it where held-back queries say that they help.

    sentences: directives in prompts, and sentences worth keeping in prompts and last messages, on 450 labelled turns of
    coding_sessions: half of the sessions made the rules, the other half reports them.

    supersede: whether what is found first holds now, where later statements correct earlier ones, add to them or end
    them.

    growth: what a session's start costs over 180 days as all daily notes, as the summaries of facts, as one query, beside
    the figures that Engram claims. --picture draws it.

    JSON: {dataset, n, metrics, baselines, published, …}; routing: policies too; failures: notes too; retrieval: methods
    instead of metrics; search: {log, n, methods, weights, gain, adopt};
    growth: {dataset, days, own_days, metrics, document, verdicts, curve};
    sentences: {dataset, n, methods, types_right}
    """
    if given["picture"] and part not in ("retrieval", "growth"):
        raise InvalidInput(f"got --picture with {part}; allowed is it with retrieval or growth, or leave it out")
    result, text = _PARTS[part](dataset, seed, **given)
    emit(result, text)


def _routing(dataset: str | None, seed: int, **_: Any) -> tuple[dict[str, Any], str]:
    from theorex_lab.experiments.data.routing_sets import load_routing_set
    from theorex_lab.experiments.scores.routing import score_routing
    from theorex_lab.experiments.scores.routing_curves import cost_quality

    found = load_routing_set(dataset or "llmrouter", seed=seed)
    score = score_routing(found, seed=seed)
    result, text = score.result(), _routing_text(score)
    if len(found.models) == 2:
        table = cost_quality(found, seed=seed).frame
        result["cost_quality"] = table.to_dict(orient="records")
        text += f"\n\nquality against the share sent to the strong model:\n{table.to_string(index=False, float_format='{:.4f}'.format)}"
    return result, text


def _failures(dataset: str | None, _seed: int, path: str, **_: Any) -> tuple[dict[str, Any], str]:
    result: tuple[dict[str, Any], str] = later("theorex_lab.cli.evaluate_failures:report")(
        dataset or "whoandwhen", path
    )
    return result


def _retrieval(dataset: str | None, seed: int, path: str, picture: str | None, **_: Any) -> tuple[dict[str, Any], str]:
    from theorex_lab.experiments.draw.retrieval_plots import plot_recall
    from theorex_lab.experiments.scores.retrieval import known_figures, retrieval_logs, score_retrieval

    name = dataset or "locomo"
    score, known = score_retrieval(retrieval_logs(name, path), seed=seed), known_figures(name)
    write_picture(picture, partial(plot_recall, score))
    result = {"dataset": name, "n": score.n, "methods": score.result(), **known, "weights": score.weights}
    lines = [f"{name}, n = {score.n}", score.frame.round(3).to_string()]
    for kind in ("baselines", "published"):
        lines += [
            f"{kind}: {who}: {', '.join(f'{metric} {value:.3f}' for metric, value in values.items())}"
            for who, values in known[kind].items()
        ]
    return result, "\n".join(lines)


def _search(_dataset: str | None, seed: int, log: str, queries: int, fit: bool, **_: Any) -> tuple[dict[str, Any], str]:
    from theorex_lab.experiments.scores.search_log import logs_to_search, score_search

    score = score_search(logs_to_search(log or str(open_lab().folder)), queries=queries, seed=seed, fit=fit)
    lines = [f"{score.name}, n = {score.found.n}", score.found.frame.round(3).to_string()]
    if score.gain is not None:
        lines += [f"fitted weights gain {score.gain} in nDCG@10 on queries held back", score.adopt or "keep what ships"]
    return score.result(), "\n".join(lines)


def _sentences(_dataset: str | None, seed: int, **_: Any) -> tuple[dict[str, Any], str]:
    from theorex_lab.experiments.scores.sentences import score_sentences

    scores = score_sentences(seed=seed)
    told = f"types right in the report half: {scores.types_right:.3f}"
    return scores.result(), f"{scores.frame.round(2).to_string(index=False)}\n{told}"


_PARTS: dict[str, Callable[..., tuple[dict[str, Any], str]]] = {
    "routing": _routing,
    "failures": _failures,
    "retrieval": _retrieval,
    "search": _search,
    "sentences": _sentences,
    "growth": lambda dataset, _seed, picture, **_: later("theorex_lab.cli.evaluate_facts:growth")(dataset, picture),
    "supersede": lambda dataset, seed, path, **_: later("theorex_lab.cli.evaluate_facts:supersede")(
        dataset or "fact_updates", path, seed
    ),
}


def _routing_text(score: RoutingScore) -> str:
    head = f"{score.dataset}: {score.n:,} test queries, {score.n_train:,} for training, {len(score.models)} models"
    lines = [head, f"cost: {score.cost_unit}", "", *_rows(score.policies)]
    if score.n_repeated:
        seen = f"without the {score.n_repeated} training queries that are also in the test, as on queries never seen:"
        lines += ["", seen, *_rows(score.without_repeats)]
    published = ", ".join(f"{name} {value:.3f}" for name, value in score.published.items())
    return "\n".join([*lines, *([f"published: {published}"] if published else [])])


def _rows(policies: tuple[PolicyScore, ...]) -> list[str]:
    head = f"  {'policy':<35} score   95 % interval  regret   cost  gain over the task matrix"
    return [head] + [
        f"  {policy.policy:<35} {policy.score:.3f}  {policy.low:.3f} – {policy.high:.3f}   {policy.regret:.3f}  {policy.cost:.3f}  "
        f"{policy.gain:+.3f} [{policy.gain_low:+.3f}, {policy.gain_high:+.3f}]"
        for policy in sorted(policies, key=lambda policy: -policy.score)
    ]
