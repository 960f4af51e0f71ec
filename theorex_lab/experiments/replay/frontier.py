"""The rows of a table that no other row beats in both cost and loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from theorex_lab.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd


def frontier(table: Any, cost: str, loss: str) -> pd.DataFrame:
    """The rows that none beats in both: lower cost without more loss, or less loss at no more cost; by cost.

    `table`: a Sweep or its frame; of equal rows the first stays, and rows with NaN are left out. Raises InvalidInput
    where it has no such column.

    >>> import pandas as pd
    >>> frontier(pd.DataFrame({"cost": [1, 2, 3, 2], "loss": [9, 4, 4, 7]}), "cost", "loss").values.tolist()
    [[1, 9], [2, 4]]
    """
    frame: pd.DataFrame = getattr(table, "frame", table)
    missing = [name for name in (cost, loss) if name not in frame]
    if missing:
        raise InvalidInput(
            f"got a table without {', '.join(missing)}; allowed are {', '.join(map(str, frame.columns))}"
        )
    ordered = frame.dropna(subset=[cost, loss]).sort_values([cost, loss], kind="stable")
    least = np.minimum.accumulate(ordered[loss].to_numpy(dtype=np.float64))
    kept = np.append(True, least[1:] < least[:-1])[: len(ordered)]
    return ordered[kept].reset_index(drop=True)
