"""Figures of a memory on a log, kept in a file and compared with a later run."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

from pydantic import TypeAdapter, ValidationError

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.files import told, write_atomically
from theorex_lab.eval.replay.trials import LOWER_IS_BETTER, NEITHER, Trial

_DECIMALS = 4
_FIGURES = TypeAdapter(dict[str, float])


def figures_of(trial: Trial) -> dict[str, float]:
    """Return the mean of each score that says which of two memories is better.

    Args:
        trial: How the memory did on the log.

    Returns:
        The means by `mode@budget:score`, such as `inject@500:mean`.

    Raises:
        InvalidInput: Nothing was scored.
    """
    values: dict[str, list[float]] = defaultdict(list)
    for answer in trial.given:
        asked = f"{answer.mode}@{answer.budget}"
        for score, value in answer.scores.items():
            if score in NEITHER or math.isnan(value):
                continue
            values[f"{asked}:{score}"].append(value)
    if not values:
        raise InvalidInput(
            f"got the log {trial.log!r}, and nothing in it can be scored; allowed is one"
            " with sessions that touch files, or with questions"
        )
    figures: dict[str, float] = {}
    for name in sorted(values):
        mean = fmean(values[name])
        figures[name] = round(mean, _DECIMALS)
    return figures


def check_against(
    earlier: Mapping[str, float], figures: Mapping[str, float], *, drop: float
) -> list[str]:
    """Return a line for each figure that became worse by more than `drop`.

    A figure that is gone counts as worse. New figures are no fault.

    >>> check_against({"inject@500:mean": 0.5}, {"inject@500:mean": 0.4}, drop=0.05)
    ['  inject@500:mean: 0.4 after 0.5']
    """
    lines: list[str] = []
    for name, before in earlier.items():
        value = figures.get(name)
        if value is None:
            lines.append(f"  {name}: gone after {before:g}")
            continue
        score = name.partition(":")[2]
        loss = before - value
        if score in LOWER_IS_BETTER:
            loss = -loss
        # Figures are rounded, so that equality up to that is no loss.
        excess = round(loss - drop, _DECIMALS)
        if excess > 0:
            lines.append(f"  {name}: {value:g} after {before:g}")
    return lines


def write_figures(path: Path, figures: Mapping[str, float]) -> None:
    """Write figures to a file, at once and whole.

    Raises:
        StorageError: The file cannot be written.
    """
    text = json.dumps(dict(figures), indent=2, sort_keys=True)
    content = f"{text}\n"
    with told(f"cannot write {path}", "give a file in a folder that you can write to"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.encode())


def read_figures(path: Path) -> dict[str, float]:
    """Return the figures of a file.

    Raises:
        InvalidInput: There is no such file, or it holds no figures.
        StorageError: The file cannot be read.
    """
    if not path.is_file():
        raise InvalidInput(
            f"got {path}, which is no file of earlier figures; run pytest once with"
            " --theorex-update to write it, and keep it under version control"
        )
    with told(f"cannot read {path}", "give a file that can be read"):
        content = path.read_bytes()
    try:
        return _FIGURES.validate_json(content, strict=True)
    except ValidationError as error:
        raise InvalidInput(
            f"{path} holds no figures by their names; run pytest once with"
            " --theorex-update to replace it"
        ) from error
