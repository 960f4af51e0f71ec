"""What a session is given of insights: whether what fits is among it, and what does not is not, by each way to rank them."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from theorex_lab.clock import FixedClock
from theorex_lab.config import check_settings
from theorex_lab.lab import Lab
from theorex_lab.search.embed import Embedder

DEPTHS = (1, 4, 10)
# By way: the settings of the design, and whether texts have vectors.
WAYS: Mapping[str, tuple[Mapping[str, Any], bool]] = {
    "search": ({"rank_by": "search"}, True), "search, words alone": ({"rank_by": "search"}, False),
    "cosine": ({"rank_by": "cosine"}, True), "newest": ({"rank_by": "cosine"}, False)}  # fmt: skip


class Asked(NamedTuple):
    """What is asked of insights: a query, the titles of those that fit, and of those that must not be given."""

    query: str
    right: frozenset[str]
    wrong: frozenset[str]


@contextmanager
def taught(insights: Iterable[tuple[str, str, str]], embedder: Embedder, settings: Mapping[str, Any]) -> Iterator[Lab]:
    """A lab in a folder of its own with these insights: category, title and content."""
    clock = FixedClock(0)
    own = {"settings": check_settings({"designs": {"research": dict(settings)}}), "embedder": embedder}
    with (
        tempfile.TemporaryDirectory(prefix="theorex-") as folder,
        Lab(folder, designs=["research"], clock=clock, **own) as lab,
    ):
        for category, title, content in insights:
            clock.advance(seconds=1)
            lab.research.add_insight(category, title, content, confidence=1.0)
        if embedder.kind == "semantic":
            lab.searcher.vectors.embed_pending()
        yield lab
