"""Names of a snapshot are found without numbering all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.journal.columns import Names

texts = st.text(alphabet="abé", max_size=4)


def loaded(stored: list[str]) -> Names:
    """Return names as a snapshot has them."""
    names = Names()
    for name in stored:
        names.number(name)
    copy = Names()
    copy.load("names", names.columns("names"))
    return copy


@given(
    stored=st.lists(texts, max_size=12, unique=True),
    asked=st.lists(st.tuples(texts, st.booleans()), max_size=40),
)
def test_names_after_a_load_have_the_numbers_of_names_that_were_never_stored(
    stored: list[str], asked: list[tuple[str, bool]]
) -> None:
    expected = {name: number for number, name in enumerate(stored)}
    names = loaded(stored)
    for name, is_added in asked:
        if is_added:
            number = expected.setdefault(name, len(expected))
            assert names.number(name) == number
        else:
            assert names.find(name) == expected.get(name)
    assert list(names) == list(expected)
    assert names.numbers(*expected) == list(expected.values())


def test_a_few_names_are_found_without_numbering_all_of_them() -> None:
    names = loaded([f"session-{number}" for number in range(2_000)])
    assert names.find("session-7") == 7
    assert names.find("session-none") is None
    assert names.find("\ud800") is None
    assert names.number("another") == 2_000
    assert names.find("another") == 2_000
    assert names._by_name is None
    for number in range(100):
        assert names.find(f"session-{number}") == number
    assert names._by_name is not None
