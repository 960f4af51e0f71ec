"""What concept extraction refuses."""

from __future__ import annotations

from typing import Any

import pytest

from theorex_lab import InvalidInput
from theorex_lab.text.extract import extract, sentiment


@pytest.mark.parametrize("function", [extract, sentiment])
@pytest.mark.parametrize("text", [None, b"bytes", 7, ["a text"]])
def test_what_is_no_text_is_refused(function: Any, text: Any):
    with pytest.raises(
        InvalidInput, match=f"got a {type(text).__name__}; allowed is a text"
    ):
        function(text)


@pytest.mark.parametrize("function", [extract, sentiment])
def test_a_nul_byte_is_refused_with_its_place(function: Any):
    with pytest.raises(InvalidInput, match="NUL byte at 5"):
        function("cache\0stampede")


@pytest.mark.parametrize("limit", [0, -1, 1.5, "3", None, True])
def test_a_limit_below_one_or_of_another_type_is_refused(limit: Any):
    with pytest.raises(InvalidInput, match="whole number of 1 or more"):
        extract("a cache", limit=limit)
