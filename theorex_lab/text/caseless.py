r"""Test texts for patterns in any case, without trying each pattern at each sign.

`re.IGNORECASE` compares sign by sign, and a long alternation is tried anew at every
place of a text. Here a text is put into lower case once. A pattern is then tried only
where the text holds one of the literals that each of its matches has, and in lower case
alone, which is several times as fast. What comes out is what `pattern.search` says:

>>> import re
>>> test = CaselessTest(re.compile(r"\b(?:added|now (?:uses?|shows?))\b", re.I))
>>> test.literals
('added', 'now ')
>>> test.is_in("Now shows the total"), test.is_in("It shows the total")
(True, False)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from theorex_lab.core.patterns import lazy_pattern

# what type checkers take for true; `typing` would cost every hook 7 ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Signs that match an ASCII letter in any case but are not put into lower case as it is:
# the long s, the Kelvin sign, and the i with or without its dot.
_ODD_SIGNS = lazy_pattern("[ſ\u212aİı]")


def lower_case(text: str) -> str | None:
    """Return a text in lower case, sign by sign; None where that cannot be done."""
    if not text.isascii() and _ODD_SIGNS.search(text):
        return None
    return text.lower()


# What a test derives from its pattern.
_DERIVED = ("literals", "_is_anchored", "_is_lower", "_search_lower")


class CaselessTest:
    """Tells whether a pattern in any case matches anywhere in a text.

    What it needs of the pattern is made when it is first asked.

    Args:
        pattern: The pattern, with `re.IGNORECASE`. A lazy one is compiled only for texts
            that cannot be put into lower case, or where it has capitals itself.

    Attributes:
        pattern: The pattern.
        literals: Texts in lower case, of which every match has at least one; () where
            there are none that hold for every match.
    """

    literals: tuple[str, ...]
    _is_anchored: bool
    _is_lower: bool
    _search_lower: Callable[[str], re.Match[str] | None]

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern

    def __getattr__(self, name: str) -> Any:
        """Derive what matches have from the pattern, when that is first asked."""
        if name not in _DERIVED:
            raise AttributeError(f"a test has no attribute {name!r}")
        self._derive()
        return self.__dict__[name]

    def _derive(self) -> None:
        """Set what `_DERIVED` names."""
        self.literals = ()
        self._is_anchored = False
        self._is_lower = False
        self._search_lower = self._compile_and_search
        tree = _parsed(self.pattern)
        if tree is None:
            return
        self._is_anchored = _is_anchored(tree, self.pattern.flags)
        if not self._is_anchored:
            literals = _literals_of(tree) or ()
            self.literals = tuple(sorted(literals))
        self._is_lower = _is_lower(tree)

    def _compile_and_search(self, lower: str) -> re.Match[str] | None:
        """Search a text in lower case, and put the compiled search in this one's place."""
        flags = self.pattern.flags & ~re.IGNORECASE
        compiled = re.compile(
            self.pattern.pattern,
            flags,
        )
        self._search_lower = compiled.search
        if self._is_anchored:  # `search` would try each place of the text
            self._search_lower = compiled.match
        return self._search_lower(lower)

    def is_in(self, text: str, lower: str | None = None) -> bool:
        """Return whether the pattern matches anywhere in a text.

        Args:
            text: The text.
            lower: What `lower_case` gives for it, where the caller has it.
        """
        if lower is None:
            lower = lower_case(text)
        if lower is None:
            return self.pattern.search(text) is not None
        if not self.may_be_in(lower):
            return False
        if not self._is_lower:
            return self.pattern.search(text) is not None
        return self._search_lower(lower) is not None

    def may_be_in(self, lower: str) -> bool:
        """Return whether a text in lower case holds what every match has."""
        literals = self.literals
        if not literals:
            return True
        return any(map(lower.__contains__, literals))


def caseless_test(source: str, flags: int = 0) -> CaselessTest:
    """Return the test of a pattern in any case, compiled when it is first used.

    Args:
        source: The regular expression. In lower case throughout it is tried faster.
        flags: As `re.compile` takes them, beside `re.IGNORECASE`.

    >>> caseless_test("never|always").is_in("ALWAYS lint")
    True
    """
    pattern = lazy_pattern(
        source,
        flags | re.IGNORECASE,
    )
    return CaselessTest(pattern)


def _parsed(pattern: re.Pattern[str]) -> Sequence[Any] | None:
    """Return the tree of a pattern; None where the parser of `re` is not at hand.

    The parser is CPython's own. Without it each pattern is searched as it is.
    """
    try:
        from re import _parser  # type: ignore[attr-defined]

        tree: Sequence[Any] = _parser.parse(pattern.pattern, pattern.flags)
    except (ImportError, AttributeError):
        return None
    return tree


def _is_anchored(tree: Sequence[Any], flags: int) -> bool:
    """Return whether a pattern matches at the beginning of a text alone."""
    if not tree or flags & re.MULTILINE:
        return False
    operator, argument = tree[0]
    if str(operator) != "AT":
        return False
    return str(argument) == "AT_BEGINNING"


def _literals_of(tree: Iterable[Any]) -> frozenset[str] | None:
    """Return texts of which each match of a sequence has one; None for none.

    Of several choices it is the one whose shortest text is the longest.
    """
    choices: list[frozenset[str]] = []
    run = ""
    for operator, argument in tree:
        name = str(operator)
        if name == "LITERAL":
            sign = chr(argument)
            run += sign.lower()
            continue
        if run:
            choices.append(frozenset({run}))
            run = ""
        choice = _literals_of_part(name, argument)
        if choice:
            choices.append(choice)
    if run:
        choices.append(frozenset({run}))
    return max(
        choices,
        key=_usefulness,
        default=None,
    )


def _literals_of_part(operator: str, argument: Any) -> frozenset[str] | None:
    """Return texts of which each match of one part has one; None for none."""
    if operator == "SUBPATTERN":
        return _literals_of(argument[-1])
    if operator == "ATOMIC_GROUP":
        return _literals_of(argument)
    if operator.endswith("_REPEAT"):
        least, _, repeated = argument
        return _literals_of(repeated) if least else None
    if operator == "IN":
        return _signs_of(argument)
    if operator != "BRANCH":
        return None
    literals: set[str] = set()
    for branch in argument[1]:
        of_branch = _literals_of(branch)
        if of_branch is None:
            return None
        literals |= of_branch
    return frozenset(literals)


def _signs_of(choice: Iterable[Any]) -> frozenset[str] | None:
    """Return the signs among which a match has one; None where they are no list."""
    signs: set[str] = set()
    for operator, argument in choice:
        if str(operator) != "LITERAL":
            return None
        sign = chr(argument)
        signs.add(sign.lower())
    return frozenset(signs)


def _usefulness(literals: frozenset[str]) -> tuple[int, int]:
    """Return by what one choice of texts rules out more than another."""
    shortest = min(map(len, literals))
    n_literals = len(literals)
    return shortest, -n_literals


def _is_lower(tree: Any) -> bool:
    """Return whether a tree matches a text in lower case as it matches any case.

    It does where no letter of its own is a capital, or beyond ASCII.
    """
    if tree is None or isinstance(tree, int):
        return True
    name = ""
    argument: Any = None
    if isinstance(tree, tuple) and len(tree) == 2:
        operator, argument = tree
        name = str(operator)
    if name in ("LITERAL", "NOT_LITERAL"):
        return _is_lower_sign(argument)
    if name == "RANGE":
        return all(map(_is_lower_sign, argument))
    return all(map(_is_lower, tree))


def _is_lower_sign(code: int) -> bool:
    """Return whether a sign is no letter, or one of ASCII in lower case."""
    sign = chr(code)
    if sign.isascii():
        return sign == sign.lower()
    return sign.lower() == sign.upper()
