"""A pytest plugin: the fixture `memory`, which replays logs to a memory.

It is registered as `theorex`, and imports the toolkit only where a test asks for the
fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from theorex_lab.eval.testing.memory_after import MemoryUnderTest

# What a coding agent is given by a home as it comes.
_USUAL_MEMORY = "sessions"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixture."""
    group = parser.getgroup("theorex", "tests of an agent's memory")
    group.addoption(
        "--theorex-memory",
        metavar="NAME",
        help="The memory that the fixture `memory` tests: a design or baseline, or"
        " module:Name of a class of yours.",
    )
    group.addoption(
        "--theorex-update",
        action="store_true",
        help="Write the figures that `keeps_up` compares with, in place of the earlier ones.",
    )
    parser.addini(
        "theorex_memory",
        "The memory that the fixture `memory` tests, where no option names one.",
        default=_USUAL_MEMORY,
    )


@pytest.fixture(name="memory")
def memory_of_a_test(request: pytest.FixtureRequest) -> Iterator[MemoryUnderTest]:
    """Give the memory under test; what it made is closed after the test."""
    from theorex_lab.eval.testing.memory_after import memory_under_test

    config = request.config
    name = config.getoption("--theorex-memory") or config.getini("theorex_memory")
    update = bool(config.getoption("--theorex-update"))
    with memory_under_test(name, update=update) as tested:
        yield tested
