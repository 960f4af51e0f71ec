"""Say which data sets are at hand: packaged, in the user's own folder or in the cache.

`theorex data list` and `theorex data get NAME` say and do the same in a shell.
"""

from contextlib import suppress

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.dataset_files import is_at_hand
from theorex_lab.eval.datasets.dataset_table import DATASETS
from theorex_lab.eval.datasets.sources import packaged


def available(name: str) -> bool:
    """Return whether a data set can be read now, without a download.

    A packaged set is always available. A public set is available where each of its
    files is in the folder that THEOREX_DATA names, or in the cache that
    `theorex data get NAME` fills.

    Args:
        name: A data set that `theorex data list` shows.

    Raises:
        InvalidInput: No set has the name, or what THEOREX_DATA names is no folder.

    >>> available("simulated_sessions")
    True
    """
    if name in DATASETS:
        info = DATASETS[name]
        return all(is_at_hand(info, file) for file in info.files)
    for ending in _PACKAGED_ENDINGS:
        with suppress(InvalidInput):
            packaged(name + ending)
            return True
    raise InvalidInput(
        f"got the data set {name!r}; allowed are those that `theorex data list` shows"
    )


_PACKAGED_ENDINGS = (".jsonl.gz", ".json.gz")
