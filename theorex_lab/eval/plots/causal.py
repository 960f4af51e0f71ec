"""Draw causal memory.

The pictures show chains from errors to outcomes, what helped and how sure that is,
bans, drift, and half-lives.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_microseconds
from theorex_lab.designs.causal import SIGNAL_KEY, SUCCESS
from theorex_lab.designs.causal.advice import advice_from, records
from theorex_lab.designs.causal.genes import drift_intensity
from theorex_lab.designs.causal.items import gene_text
from theorex_lab.designs.causal.settings import CausalSettings
from theorex_lab.eval.metrics.causal import lab_of as lab_of
from theorex_lab.eval.plots import axes
from theorex_lab.memory.evidence import EvidenceTable
from theorex_lab.memory.intervals import wilson
from theorex_lab.store.lab import Lab
from theorex_lab.text.line import one_line

Frame = Any  # attempts, as `attempts_of` gives them
_COLUMNS = ("timestamp", "signals", "key", "where", "gene", "did", "success")
_AGAIN = re.compile(r"call \S+ with another (\w+)")
_COLOURS = {"success": "#009E73", "failed": "#D55E00"}
_CELLS = {
    "unknown": "#F4F4F4",
    "tried": "#56B4E9",
    "banned": "#D55E00",
    "preferred": "#009E73",
}


def attempts_of(lab: Lab) -> pd.DataFrame:
    """Return a row an attempt that was closed.

    The columns are timestamp, signals, key, where (what failed), gene (its id), did (in
    words) and success.
    """
    acts_by_gene = {gene["id"]: gene_text(gene) for gene in lab.causal.genes()}
    rows = []
    for event in lab.journal.tail(0, kinds=["attempt_closed"]):
        signals = event.body["signal"]["signals"]
        gene = (event.body.get("gene") or {}).get("id")
        if gene:
            names = (
                event.body["signal"]["key"],
                _where(signals),
                gene,
                acts_by_gene.get(gene, gene),
            )
            rows.append(
                (event.at, signals, *names, event.body["outcome"]["status"] == SUCCESS)
            )
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    frame["timestamp"] = pd.to_datetime(frame["timestamp"], unit="us", utc=True)
    return frame


def _microseconds(attempts: Frame) -> list[int]:
    """Return the times of attempts (µs UTC)."""
    times: list[int] = attempts["timestamp"].map(to_microseconds).tolist()
    return times


def _where(signals: Sequence[str]) -> str:
    """Return what failed, and the class of its error, else the error itself."""
    parts = dict(signal.partition(":")[::2] for signal in signals)
    called = parts.get("command") or parts.get("tool") or "a call"
    error = parts.get("class") or parts.get("errsig", "").strip().removeprefix(
        "Error: "
    )
    return f"{called}: {error}" if error else called


def _short(text: str, most: int) -> str:
    return one_line(_AGAIN.sub(r"another \1", text), most)


def _most(column: Frame, most: int) -> list[Any]:
    counted: Counter[Any] = Counter(column)
    return [value for value, _ in counted.most_common(most)]


def plot_chain(
    attempts: Frame,
    *,
    most: int = 8,
    ax: Axes | None = None,
) -> Axes:
    """Draw what failed, what was then done, and what came of it.

    An arrow is the wider the more often it went so.

    Args:
        attempts: A row an attempt, as `attempts_of` makes it.
        most: How many of the actions tried most are drawn.
        ax: Where it is drawn; a new figure by default.
    """
    attempts_drawn = attempts[attempts.did.isin(_most(attempts.did, most))]
    columns = (
        _most(attempts_drawn["where"], most),
        _most(attempts_drawn.did, most),
        list(_COLOURS),
    )
    attempts_drawn = attempts_drawn[attempts_drawn["where"].isin(columns[0])]
    ax = axes.new_axes(
        ax,
        width=11,
        height=1.2 + 0.5 * max(map(len, columns)),
    )
    rows = zip(
        attempts_drawn["where"],
        attempts_drawn.did,
        np.where(attempts_drawn.success, *_COLOURS),
        strict=True,
    )
    edges: Counter[tuple[tuple[int, str], tuple[int, str]]] = Counter()
    for where, act, end in rows:
        edges[(0, where), (1, act)] += 1
        edges[(1, act), (2, end)] += 1
    graph = nx.DiGraph([*edges])
    places: dict[tuple[int, str], tuple[int, float]] = {}
    for x, column in enumerate(columns):
        for row, name in enumerate(column):
            places[x, name] = (x, -(row + 0.5) / len(column))
    colours = [_COLOURS.get(end[1], "#999999") for _, end in graph.edges]
    widths = [0.6 + 0.5 * edges[edge] for edge in graph.edges]
    nx.draw_networkx_nodes(
        graph,
        places,
        list(places),
        ax=ax,
        node_size=40,
        node_color="#444444",
    )
    nx.draw_networkx_edges(
        graph,
        places,
        ax=ax,
        edge_color=colours,
        width=widths,
        arrowsize=9,
        node_size=60,
        alpha=0.7,
    )
    for (x, name), position in places.items():
        clear = {
            "fc": "white",
            "ec": "none",
            "alpha": 0.7,
            "pad": 0,
        }
        axes.note(
            ax,
            _short(name, 46),
            position,
            (-8, 0, 8)[x],
            above=6 * (x == 1),
            fontsize=8,
            bbox=clear,
        )
    title = (
        f"{len(attempts_drawn)} attempts: what failed, what was done, what came of it"
    )
    return axes.finish_axes(
        ax, hidden=("top", "right", "bottom", "left"), xlim=(-0.9, 2.4), title=title
    )


def plot_success(
    attempts: Frame,
    *,
    most: int = 14,
    ax: Axes | None = None,
) -> Axes:
    """Draw the success of each action after each error, with its 95 % interval.

    A second mark shows what is left of the evidence at the log's end.
    """
    pairs = _most(zip(attempts.key, attempts.gene, strict=True), most)
    now = attempts["timestamp"].max()
    aggregations = {name: (name, "first") for name in ("did", "where")} | {
        "n": ("success", "size"),
        "hits": ("success", "sum"),
    }
    rows = (
        attempts.groupby(["key", "gene"])
        .agg(last=("timestamp", "max"), **aggregations)
        .loc[pairs]
    )
    ax = axes.new_axes(
        ax,
        width=10,
        height=1.6 + 0.34 * max(len(pairs), 2),
    )
    places = np.arange(len(pairs))
    look = [axes.key("success, 95 % interval", **axes.look_of(0))]
    look.append(
        axes.key(
            "expected, aged",
            "D",
            color=axes.colour_of(5),
        )
    )
    ci_low, ci_high = wilson(rows.hits, rows.n)
    axes.draw_interval(
        ax,
        rows.hits / rows.n,
        places,
        ci_low=ci_low,
        ci_high=ci_high,
        level=True,
        fmt="o",
        color=axes.colour_of(0),
    )
    aged = 0.5 ** (
        (now - rows["last"])
        / pd.Timedelta(days=1)
        / (CausalSettings().edge_half_life_days or math.inf)
    )
    ax.plot(
        (rows.hits + 1) / (rows.n + 2) * aged,
        places,
        "D",
        color=axes.colour_of(5),
        ms=5,
    )
    names = zip(rows["where"], rows.did, rows.n, strict=True)
    axes.name_rows(
        ax,
        [f"{_short(where, 44)} → {_short(act, 40)} ({n})" for where, act, n in names],
        fontsize=8,
    )
    axes.legend_below(ax, look)
    return axes.finish_axes(
        ax,
        xlim=(-0.03, 1.03),
        xlabel="success",
        title="What helped, and how sure that is",
    )


def evidence_of(attempts: Frame) -> EvidenceTable:
    """Return the evidence that attempts are."""
    table = EvidenceTable()
    columns = (attempts["key"], attempts["gene"], attempts["success"])
    for at, key, gene, success in zip(_microseconds(attempts), *columns, strict=True):
        for name in (SIGNAL_KEY + key, "option"):
            table.add(f"causal/{name}", gene, success, at=at)
    return table


def plot_bans(
    attempts: Frame,
    *,
    most: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw errors by actions: what advice prefers, and what it bans.

    The cells also say what was tried after such errors, and what is unknown there.
    """
    keys = _most(attempts.key, most)
    genes = _most(attempts.gene, most)
    now = max(_microseconds(attempts), default=0)
    first = attempts.drop_duplicates("key").set_index("key")
    acts_by_gene = attempts.drop_duplicates("gene").set_index("gene").did
    table = evidence_of(attempts)
    settings = CausalSettings()
    cells = np.zeros((len(keys), len(genes)))
    for row, key in enumerate(keys):
        history = records(table, first.signals[key], genes, settings, now=now)
        advice = advice_from(table, first.signals[key], genes, settings, now=now)
        for column, gene in enumerate(genes):
            states = (
                bool(history[gene].best),
                gene in advice.banned_gene_ids,
                gene == advice.preferred_gene_id,
            )
            cells[row, column] = max(
                (number + 1 for number, holds in enumerate(states) if holds), default=0
            )
    ax = axes.new_axes(
        ax,
        width=10,
        height=2.8 + 0.34 * len(keys),
    )
    rows = [_short(first["where"][key], 52) for key in keys]
    columns = [_short(acts_by_gene[gene], 30) for gene in genes]
    look: dict[str, Any] = {
        "cmap": ListedColormap([*_CELLS.values()]),
        "vmin": -0.5,
        "vmax": 3.5,
    }
    axes.heat_map(
        ax, cells, np.full(cells.shape, ""), rows=rows, columns=columns, **look
    )
    ax.set_xticks(
        ax.get_xticks(), columns, rotation=35, ha="right", fontsize=8, parse_math=False
    )
    axes.legend_beside(
        ax,
        [
            axes.key(name, "s", color=colour, mec="#999999")
            for name, colour in _CELLS.items()
        ],
    )
    ax.set_title("What advice prefers and bans")
    return ax


def draw_advice(
    attempts: Frame, half_life_days: float = 30.0, drift: bool = False, genes: int = 6
) -> Figure:
    """Draw what another half-life would have advised, attempt by attempt.

    It shows the advice after the most frequent error, and how drift spreads the choice.

    Args:
        attempts: A row an attempt, as `attempts_of` makes it.
        half_life_days: That of all evidence; infinity: it never ages.
        drift: Whether the choice drifts.
        genes: How many, of those tried most, are chosen among.
    """
    days = None if math.isinf(half_life_days) else half_life_days
    settings = CausalSettings(edge_half_life_days=days, gene_half_life_days=days)
    ordered = attempts.sort_values("timestamp")
    attempts_of_error = attempts[attempts.key == attempts.key.mode()[0]]
    signals = attempts_of_error.signals.iloc[0]
    pool = _most(attempts_of_error.gene, genes)
    acts_by_gene = ordered.drop_duplicates("gene").set_index("gene").did
    at = _microseconds(ordered)
    advice_by_attempt = [
        advice_from(evidence_of(ordered[: n + 1]), signals, pool, settings, now=moment)
        for n, moment in enumerate(at)
    ]
    figure = Figure(figsize=(10, 6.5), layout="constrained")
    above, below = figure.subplots(2, height_ratios=(3, 2))
    for number, gene in enumerate(pool):
        look = {
            "color": axes.colour_of(number),
            "label": _short(acts_by_gene[gene], 60),
            "drawstyle": "steps-post",
        }
        above.plot(
            (np.array(at) - at[0]) / MICROSECONDS_PER_DAY,
            [advice.scores[gene] for advice in advice_by_attempt],
            **look,
        )
    axes.legend_below(above, columns=2)
    order = list(advice_by_attempt[-1].scores)
    intensity = drift_intensity(len(pool), explicit=drift)
    among = min(len(order), max(2, math.ceil(len(order) * intensity))) if drift else 1
    below.barh(
        range(among),
        [1 / among] * among,
        color=[axes.colour_of(pool.index(gene)) for gene in order[:among]],
    )
    axes.name_rows(
        below, [_short(acts_by_gene[gene], 46) for gene in order], fontsize=8
    )
    title = _short(f"After {_where(signals)}", 80)
    axes.finish_axes(
        above,
        ylabel="score",
        xlabel="days",
        title=f"{title}; {describe_half_life(half_life_days)}",
    )
    drift_title = f"Drift {'on' if drift else 'off'}: intensity {intensity:.2f}"
    axes.finish_axes(
        below, xlim=(0, 1), xlabel="chance to be chosen", title=drift_title
    )
    return figure


def describe_half_life(days: float) -> str:
    """Return the half-life in words."""
    return "evidence never ages" if math.isinf(days) else f"half-life {days:g} days"
