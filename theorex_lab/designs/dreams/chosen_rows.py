"""Choose rows of views that have a domain and a project."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Projects = Sequence[str] | None


def rows_in(
    view: Any,
    mask: Any,
    domain: str | None,
    projects: Projects,
) -> list[int]:
    """Return rows of a view that a mask chooses.

    They are of a domain, and of these projects or of none.

    Args:
        view: Holds rows, domains and projects.
        mask: Which rows may be returned; it is changed.
        domain: Only of this domain.
        projects: Only of these projects, or of none.
    """
    if domain is not None:
        number = view.domains.find(domain)
        domain_numbers = view.rows["domain"]
        mask &= domain_numbers == number
    if projects is not None:
        numbers = view.projects.numbers("", *projects)
        project_numbers = view.rows["project"]
        mask &= np.isin(project_numbers, numbers)
    chosen = np.flatnonzero(mask)
    rows: list[int] = chosen.tolist()
    return rows
