"""What is cut from a command without a pattern is what a pattern would cut."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.text.paths import (
    _FAR,
    _FAR_QUOTED,
    without_far_paths,
    without_root_path,
)

ROOT = "/srv/a"
PIECES = st.sampled_from(
    [
        *(ROOT, "/srv", "/", "a", "é", "²", " ", "\n", "\x1c", "'", '"', ";", "&", "|"),
        *(")", "(", "`", "-", "_", ".", "..", "~", "@", "+", "C:", "\\", "file:"),
    ]
)
COMMANDS = st.lists(PIECES, max_size=9).map("".join)


@given(COMMANDS)
def test_a_root_is_cut_as_by_the_pattern(command: str) -> None:
    start = rf"(?<![\w.@+:/~-]){re.escape(ROOT)}"
    below_cut = re.sub(rf"{start}/(?=[^\s\"'`;&|)])", "", command)
    expected = re.sub(rf"{start}/?(?![\w.@+/-])", ".", below_cut)
    assert without_root_path(command, ROOT) == expected


@given(COMMANDS)
def test_a_command_that_is_not_searched_has_no_far_path(command: str) -> None:
    without_quoted = re.sub(_FAR_QUOTED, r"\1\1", command)
    assert without_far_paths(command) == re.sub(_FAR, "", without_quoted)
