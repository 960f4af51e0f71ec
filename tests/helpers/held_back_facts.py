"""A generator of corrected facts with questions that is held back.

Its relations, names and wordings were written before the reader of statements, and
have nothing to do with those of `theorex_lab.eval.datasets.generated_facts`. What it
shows is reported, and nothing is developed on it.

    python tests/helpers/held_back_facts.py FILE   write the rows of five seeds
    theorex eval factconsolidation FILE            score them
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

_FIRST = (
    "Odalys Brannoc Tivadar Ilse Marguerite Fenwick Zoran Petronella Kwame Ysolde"
    " Bartholomew Anneliese Tobiah Saoirse Lucasta Emeka Rosamund Halvard Xiomara"
    " Dagny"
).split()
_LAST = (
    "Quillfeather Ashgrove Mbeki-Lowe Van der Moer Thistlewood O'Dara Szentes"
    " Castellane Okonjo Wrenfield Haldorsen Peregrine Vasconcelos Lindqvist Drummond"
    " Ferreira Adeyemi Blackmoor Santangelo Rooksby"
).replace("Van der Moer", "Van_der_Moer")
_TOWN = (
    "Port Ellery|Sundmark|Vale of Orrin|Castel Brando|New Haverleigh|Tarrow-on-Sea|"
    "Ostrey|Marchetta|San Belisario|Upper Quarne|Dunmoor|Lake Hestia"
)
_NATION = (
    "Republic of Karrow|Velmora|United Provinces of Esk|Tazmeria|Isle of Corran|"
    "Bellunia|Grand Duchy of Stroma|Okavia"
)
_CONTINENT = "Northern Meridia|Austrane|Old Levantia|Boreas"
_TONGUE = "Karrish|Velmoran|Eskic|Old Tazmeri|Corranic|Bellunese"
_CREED = "Sun Monism|the Quiet Way|Reformed Orrinism|ancestor worship"
_GAME = "curling|water polo|kite racing|stave ball|canoe slalom|underwater hockey"
_TITLE = (
    "The Salt Lanterns|A Winter Without Clocks|Letters to the Tide|Is It Morning Yet|"
    "Seven Doors Down|The House at the End of Orrin Street|Glass and Gravel|"
    "What the Heron Knew|Ballad of the 39 Steps|To Catch a Comet|An Empty Orchard|"
    "The Cartographer's Daughter"
)
_FIRM = (
    "Brightwell & Sons|Korund Dynamics|Pelican Freight|Aster Foods|Nine Elms Optics|"
    "Halcyon Mills|Ironbridge Motors|Lumen and Lark"
)
_COLLEGE = (
    "University of Sundmark|Ostrey Institute of Technology|King Alban's College|"
    "Marchetta Conservatory"
)
_CLUB = "Dunmoor Rovers|Ostrey Athletic|Velmora Wanderers|FC Castel Brando|Esk 1899"
_INSTRUMENT = "cello|French horn|bagpipes|theremin|double bass"
_COIN = "karrow crown|velm|esker|silver taz"
_RIVER = "River Aume|the Blackwater|Quarne Beck"


class _Relation(NamedTuple):
    domain: str
    range: str
    statements: tuple[str, ...]  # of {s} and {o}
    questions: tuple[str, ...]  # of {s}
    phrases: tuple[str, ...]  # noun phrases of {s}, for a question of several hops
    what: str = "What"


_RELATIONS = (
    _Relation(
        "title",
        "person",
        (
            "{s} was written by {o}.",
            "{o} is the author of {s}.",
            "{o} penned {s}.",
            "The novelist behind {s} is {o}.",
        ),
        ("Who wrote {s}?", "Who is the author of {s}?", "Whose book is {s}?"),
        ("the author of {s}", "the person who wrote {s}", "{s}'s writer"),
        "Who",
    ),
    _Relation(
        "person",
        "person",
        (
            "{s} is the husband of {o}.",
            "{s} tied the knot with {o}.",
            "{s}'s spouse is {o}.",
            "{s} is married to {o}.",
        ),
        ("Who is {s} married to?", "Who is the spouse of {s}?"),
        ("the spouse of {s}", "{s}'s partner in marriage", "the person {s} married"),
        "Who",
    ),
    _Relation(
        "person",
        "nation",
        (
            "{s} holds a passport of {o}.",
            "{s} is a citizen of {o}.",
            "The nationality of {s} is that of {o}.",
            "{s} is a national of {o}.",
        ),
        (
            "What is the country of citizenship of {s}?",
            "Which country is {s} a citizen of?",
        ),
        ("the country of citizenship of {s}", "the country {s} is a citizen of"),
        "Which country",
    ),
    _Relation(
        "person",
        "town",
        (
            "{s} first saw the light of day in {o}.",
            "{s} was born in {o}.",
            "The birthplace of {s} is {o}.",
            "{s} hails from {o}.",
        ),
        ("Where was {s} born?", "In which town was {s} born?"),
        ("the birthplace of {s}", "the town where {s} was born"),
        "Where",
    ),
    _Relation(
        "person",
        "town",
        (
            "{s} passed away in {o}.",
            "{s} died in {o}.",
            "{s} drew a last breath in {o}.",
        ),
        ("Where did {s} die?", "In which town did {s} die?"),
        ("the place of death of {s}", "the town in which {s} died"),
        "Where",
    ),
    _Relation(
        "person",
        "college",
        (
            "{s} graduated from {o}.",
            "{s} is an alumnus of {o}.",
            "{o} is the alma mater of {s}.",
            "{s} took a degree at {o}.",
        ),
        ("Where did {s} study?", "Which university educated {s}?"),
        ("the alma mater of {s}", "the school that {s} graduated from"),
        "Which school",
    ),
    _Relation(
        "person",
        "creed",
        (
            "{s} adheres to {o}.",
            "{s} is a follower of {o}.",
            "The faith of {s} is {o}.",
        ),
        ("What is the religion of {s}?", "Which faith does {s} follow?"),
        ("the religion of {s}", "the faith that {s} follows"),
        "Which religion",
    ),
    _Relation(
        "person",
        "instrument",
        ("{s} plays the {o}.", "The instrument of {s} is the {o}."),
        ("Which instrument does {s} play?", "What is the instrument of {s}?"),
        ("the instrument of {s}",),
        "Which instrument",
    ),
    _Relation(
        "person",
        "club",
        (
            "{s} turns out for {o}.",
            "{s} plays for {o}.",
            "{s} is under contract at {o}.",
        ),
        ("Which club does {s} play for?", "What is the team of {s}?"),
        ("the club that {s} plays for", "the team of {s}"),
        "Which club",
    ),
    _Relation(
        "club",
        "person",
        (
            "{o} manages {s}.",
            "{s} is coached by {o}.",
            "The trainer of {s} is {o}.",
            "{s} hired {o} as its head coach.",
        ),
        ("Who coaches {s}?", "Who is the head coach of {s}?"),
        ("the head coach of {s}", "the person who coaches {s}"),
        "Who",
    ),
    _Relation(
        "club",
        "game",
        ("{s} competes in {o}.", "The sport of {s} is {o}.", "{s} is a {o} side."),
        ("Which sport does {s} compete in?", "What sport is {s} associated with?"),
        ("the sport of {s}", "the sport that {s} competes in"),
        "Which sport",
    ),
    _Relation(
        "game",
        "nation",
        (
            "The sport of {s} has its roots in {o}.",
            "{s} originated in {o}.",
            "The country of origin of {s} is {o}.",
        ),
        ("Where did {s} originate?", "Which country does {s} come from?"),
        ("the country of origin of {s}", "the country where {s} originated"),
        "Which country",
    ),
    _Relation(
        "nation",
        "person",
        (
            "{o} is the president of {s}.",
            "The head of state of {s} is {o}.",
            "{s} is ruled by {o}.",
        ),
        ("Who is the head of state of {s}?", "Who rules {s}?"),
        ("the head of state of {s}", "the ruler of {s}"),
        "Who",
    ),
    _Relation(
        "nation",
        "town",
        (
            "{o} serves as the capital of {s}.",
            "The seat of government of {s} is {o}.",
            "{s}'s capital is {o}.",
            "{s} has {o} as its capital city.",
        ),
        ("What is the capital of {s}?", "Which town is the capital of {s}?"),
        ("the capital of {s}", "{s}'s capital"),
        "What",
    ),
    _Relation(
        "nation",
        "continent",
        ("{s} lies in {o}.", "{s} belongs to the continent of {o}."),
        ("Which continent is {s} on?", "On which continent does {s} lie?"),
        ("the continent of {s}",),
        "Which continent",
    ),
    _Relation(
        "nation",
        "tongue",
        (
            "The people of {s} speak {o}.",
            "{o} is the official language of {s}.",
            "Courts in {s} use {o} as the official language.",
        ),
        ("What is the official language of {s}?", "Which language is spoken in {s}?"),
        ("the official language of {s}",),
        "What language",
    ),
    _Relation(
        "nation",
        "coin",
        (
            "{s} pays in the {o}.",
            "The currency of {s} is the {o}.",
            "The legal tender in {s} is the {o}.",
        ),
        ("What is the currency of {s}?", "Which currency does {s} use?"),
        ("the currency of {s}",),
        "Which currency",
    ),
    _Relation(
        "town",
        "river",
        ("{s} stands on {o}.", "The river through {s} is {o}."),
        ("Which river does {s} stand on?", "Which river flows through {s}?"),
        ("the river of {s}",),
        "Which river",
    ),
    _Relation(
        "town",
        "person",
        (
            "{o} is mayor of {s}.",
            "The mayor of {s} is {o}.",
            "Voters in {s} elected {o} as mayor.",
        ),
        ("Who is the mayor of {s}?",),
        ("the mayor of {s}",),
        "Who",
    ),
    _Relation(
        "firm",
        "person",
        (
            "{o} set up {s}.",
            "{s} was established by {o}.",
            "{o} is the founder of {s}.",
        ),
        ("Who founded {s}?", "Who set up {s}?"),
        ("the founder of {s}", "the person who established {s}"),
        "Who",
    ),
    _Relation(
        "firm",
        "person",
        (
            "{o} is at the helm of {s}.",
            "The CEO of {s} is {o}.",
            "{s} is headed by {o}.",
        ),
        ("Who is the chief executive of {s}?", "Who runs {s}?"),
        ("the chief executive of {s}", "the boss of {s}"),
        "Who",
    ),
    _Relation(
        "firm",
        "town",
        (
            "{s} has its head office in {o}.",
            "{s} is based in {o}.",
            "The headquarters of {s} are in {o}.",
        ),
        ("Where is {s} headquartered?", "Where are the headquarters of {s}?"),
        ("the town where {s} is headquartered", "the seat of {s}"),
        "Where",
    ),
    _Relation(
        "person",
        "firm",
        ("{s} draws a salary from {o}.", "{s} works for {o}.", "{o} employs {s}."),
        ("Who employs {s}?", "Which company does {s} work for?"),
        ("the employer of {s}", "the company {s} works for"),
        "Which company",
    ),
    _Relation(
        "person",
        "person",
        ("{o} mentored {s}.", "{s} was mentored by {o}.", "{s}'s mentor is {o}."),
        ("Who mentored {s}?", "Who is the mentor of {s}?"),
        ("the mentor of {s}",),
        "Who",
    ),
)


def _names(random_: random.Random) -> dict[str, list[str]]:
    """Return names of each kind; persons are drawn."""
    lasts = [last.replace("_", " ") for last in _LAST.split()]
    people = [f"{first} {random_.choice(lasts)}" for first in _FIRST for _ in range(3)]
    initials = [f"{random_.choice('ABCDEFG')}. {last}" for last in lasts[:6]]
    kinds = {
        "town": _TOWN,
        "nation": _NATION,
        "continent": _CONTINENT,
        "tongue": _TONGUE,
        "creed": _CREED,
        "game": _GAME,
        "title": _TITLE,
        "firm": _FIRM,
        "college": _COLLEGE,
        "club": _CLUB,
        "instrument": _INSTRUMENT,
        "coin": _COIN,
        "river": _RIVER,
    }
    names = {kind: text.split("|") for kind, text in kinds.items()}
    names["person"] = sorted({*people, *initials})
    return names


def _sentence(form: str, subject: str, value: str) -> str:
    text = form.format(s=subject, o=value)
    return text[:1].upper() + text[1:]


class _World:
    """Facts in their order, with corrections."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = _names(self.random)
        self.values: dict[tuple[int, str], str] = {}
        self.texts: list[str] = []

    def state(self, number: int, subject: str) -> None:
        relation = _RELATIONS[number]
        values = [
            name
            for name in self.names[relation.range]
            if name not in (subject, self.values.get((number, subject)))
        ]
        value = self.random.choice(values)
        self.values[number, subject] = value
        form = self.random.choice(relation.statements)
        self.texts.append(_sentence(form, subject, value))

    def fill(self) -> None:
        pairs: list[tuple[int, str]] = []
        for number, relation in enumerate(_RELATIONS):
            for subject in self.names[relation.domain]:
                if relation.domain != "person" or self.random.random() < 0.6:
                    pairs.append((number, subject))
        self.random.shuffle(pairs)
        for pair in pairs:
            self.state(*pair)
        corrected = self.random.sample(pairs, len(pairs) // 2)
        for pair in corrected:
            self.state(*pair)

    def single(self) -> tuple[str, str]:
        number, subject = self.random.choice(sorted(self.values))
        question = self.random.choice(_RELATIONS[number].questions)
        return _sentence(question, subject, ""), self.values[number, subject]

    def multi(self, n_hops: int) -> tuple[str, str] | None:
        number, subject = self.random.choice(sorted(self.values))
        phrase = subject
        value = subject
        kinds = {kind for kind, names in self.names.items() if subject in names}
        used: set[int] = set()
        for hop in range(n_hops):
            choices = [
                other
                for other, relation in enumerate(_RELATIONS)
                if relation.domain in kinds
                and (other, value) in self.values
                and other not in used
            ]
            if not choices:
                return None
            number = self.random.choice(choices)
            used.add(number)
            relation = _RELATIONS[number]
            is_last = hop == n_hops - 1
            forms = relation.questions if is_last else relation.phrases
            phrase = self.random.choice(forms).format(s=phrase)
            value = self.values[number, value]
            kinds = {relation.range}
        return phrase[:1].upper() + phrase[1:], value


def held_back_rows(seed: int = 0, n_questions: int = 100) -> list[dict[str, Any]]:
    """Return a row of single questions and a row of questions of two to four hops."""
    world = _World(seed)
    world.fill()
    lines = [f"{number}. {text}" for number, text in enumerate(world.texts)]
    context = "Here is a list of facts:\n" + "\n".join(lines)
    single = [world.single() for _ in range(n_questions)]
    multi: list[tuple[str, str]] = []
    while len(multi) < n_questions:
        pair = world.multi(world.random.choice((2, 3, 3, 4)))
        if pair is not None:
            multi.append(pair)
    rows: list[dict[str, Any]] = []
    for name, pairs in (("held_back_sh", single), ("held_back_mh", multi)):
        rows.append(
            {
                "context": context,
                "questions": [question for question, _ in pairs],
                "answers": [[answer] for _, answer in pairs],
                "metadata": {"source": name},
            }
        )
    return rows


if __name__ == "__main__":
    written = [json.dumps(row) for seed in range(5) for row in held_back_rows(seed)]
    Path(sys.argv[1]).write_text("\n".join(written), "utf-8")
