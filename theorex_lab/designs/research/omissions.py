"""Count what a reader of theorems leaves out, and say why and where."""

from collections.abc import Mapping
from typing import NamedTuple

_MOST_PLACES = 5


class OmissionReason(NamedTuple):
    """Hold why something was left out.

    Attributes:
        one: What it is called, such as `environment without a label`.
        many: The same for more than one.
        advice: What to do about it; '' for nothing.
    """

    one: str
    many: str
    advice: str = ""


class OmissionList:
    """Collect what is left out, by its reason, with its places.

    >>> left_out = OmissionList({"label": OmissionReason("lemma", "lemmas", "name them")})
    >>> left_out.add("label", "a.tex:3")
    >>> left_out.add("label", "a.tex:9")
    >>> left_out.problems()
    ['2 lemmas were left out: a.tex:3, a.tex:9; name them']
    """

    def __init__(self, reasons: Mapping[str, OmissionReason]) -> None:
        self._reasons = reasons
        self._places = dict[str, list[str]]()

    def add(self, reason: str, place: str) -> None:
        """Note something that is left out for one of the reasons, and its place."""
        places = self._places.setdefault(reason, [])
        places.append(place)

    def count(self, *reasons: str) -> int:
        """Return how many things were left out for these reasons."""
        count = 0
        for reason in reasons:
            if reason not in self._places:
                continue
            places = self._places[reason]
            count += len(places)
        return count

    def problems(self) -> list[str]:
        """Return a sentence for each reason, in the order in which they came up."""
        reasons = list(self._places)
        return list(map(self._sentence, reasons))

    def _sentence(self, reason: str) -> str:
        noun = self._reasons[reason]
        places = self._places[reason]
        first_places = places[:_MOST_PLACES]
        n_places = len(places)
        subject = f"{n_places:,} {noun.many} were"
        if n_places == 1:
            subject = f"1 {noun.one} was"
        shown = ", ".join(first_places)
        n_more = n_places - _MOST_PLACES
        if n_more > 0:
            more = f"{n_more:,} more"
            shown = f"{shown} and {more}"
        sentence = f"{subject} left out: {shown}"
        if not noun.advice:
            return sentence
        return f"{sentence}; {noun.advice}"
