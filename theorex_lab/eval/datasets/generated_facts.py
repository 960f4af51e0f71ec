"""Generate facts that are corrected later, and questions about what holds at the end.

The rows have the form of MemoryAgentBench's Conflict_Resolution. All names are invented.
The reader of statements was developed on these wordings, so a score on them shows that
it works, and nothing about other texts.
"""

from typing import Any, NamedTuple

import numpy as np

_SYLLABLES = (
    "bal cor den fal gar hol jun kel lor mar nor pel quin ras sol tav ulm ver wex yor zan"
).split()
_ENDINGS = {
    "person": "a en is o ette ard",
    "city": "ford ham by stadt ville",
    "country": "ia land stan or",
    "continent": "asia opia",
    "language": "ish ese ic",
    "company": "tech corp works",
    "university": "ton dale",
    "team": "wick port",
    "work": "light fall song",
    "sport": "ball racing",
    "religion": "ism ianity",
    "genre": "core wave",
    "field": "ology ometry",
}
_FORMS = {
    "university": ("University of {}", "{} College"),
    "team": ("{} F.C.", "{} United"),
    "company": ("{} Inc.", "{}", "{} & Co."),
    "work": ("The {}", "A {} of Ash", "{} and the {}", "Who Is {}", "{} 39"),
    "city": ("{}", "New {}", "Saint-{}"),
    "country": ("{}", "Kingdom of {}"),
}
_LOWER_CASE = ("sport", "genre", "field")


class GeneratedRelation(NamedTuple):
    """A relation, and how it is put.

    Attributes:
        name: Of the relation.
        domain: The kind of its subject.
        range: The kind of its value.
        statements: Sentences with {s} for the subject and {v} for the value.
        questions: Questions with {s}.
        phrases: What stands for the value inside a longer question.
    """

    name: str
    domain: str
    range: str
    statements: tuple[str, ...]
    questions: tuple[str, ...]
    phrases: tuple[str, ...]


RELATIONS = (
    GeneratedRelation(
        "author",
        "work",
        "person",
        ("The author of {s} is {v}.", "{v} wrote {s}."),
        ("Who is the author of {s}?", "Who wrote {s}?"),
        ("the author of {s}", "{s}'s author", "the person who wrote {s}"),
    ),
    GeneratedRelation(
        "illustrator",
        "work",
        "person",
        ("{s} was illustrated by {v}.", "The illustrator of {s} is {v}."),
        ("Who illustrated {s}?", "Who is the illustrator of {s}?"),
        ("the illustrator of {s}",),
    ),
    GeneratedRelation(
        "work language",
        "work",
        "language",
        ("{s} was written in the language of {v}.",),
        ("Which language was {s} written in?",),
        ("the language that {s} was written in",),
    ),
    GeneratedRelation(
        "citizen",
        "person",
        "country",
        ("{s} is a citizen of {v}.", "{s}'s nationality is {v}."),
        ("Which country is {s} a citizen of?", "What is the nationality of {s}?"),
        (
            "the country of citizenship of {s}",
            "the country that {s} is a citizen of",
        ),
    ),
    GeneratedRelation(
        "spouse",
        "person",
        "person",
        ("{s} is married to {v}.", "{s}'s wife is {v}."),
        ("Who is {s} married to?", "Who is the spouse of {s}?"),
        ("the spouse of {s}", "{s}'s spouse", "the person {s} is married to"),
    ),
    GeneratedRelation(
        "birthplace",
        "person",
        "city",
        ("{s} was born in the city of {v}.", "{v} is the birthplace of {s}."),
        ("Where was {s} born?", "What is the birthplace of {s}?"),
        ("the birthplace of {s}", "the city where {s} was born"),
    ),
    GeneratedRelation(
        "workplace",
        "person",
        "city",
        ("{s} worked in the city of {v}.",),
        ("Which city did {s} work in?",),
        ("the city in which {s} worked",),
    ),
    GeneratedRelation(
        "employer",
        "person",
        "company",
        ("{s} is employed by {v}.", "{s} works for {v}."),
        ("Who is {s}'s employer?", "Which company employs {s}?"),
        ("the employer of {s}", "the company that employs {s}"),
    ),
    GeneratedRelation(
        "religion",
        "person",
        "religion",
        ("{s} is affiliated with the religion of {v}.",),
        ("Which religion does {s} follow?", "What is the religion of {s}?"),
        ("the religion of {s}",),
    ),
    GeneratedRelation(
        "education",
        "person",
        "university",
        ("The university where {s} was educated is {v}.", "{s} studied at {v}."),
        ("Where did {s} study?", "Which university was {s} educated at?"),
        ("the university where {s} was educated", "the alma mater of {s}"),
    ),
    GeneratedRelation(
        "field",
        "person",
        "field",
        ("{s} works in the field of {v}.",),
        ("What field does {s} work in?",),
        ("the field that {s} works in",),
    ),
    GeneratedRelation(
        "sport",
        "team",
        "sport",
        ("{s} is associated with the sport of {v}.",),
        ("Which sport is {s} associated with?",),
        ("the sport associated with {s}", "the sport of {s}"),
    ),
    GeneratedRelation(
        "coach",
        "team",
        "person",
        ("The head coach of {s} is {v}.", "{s} is coached by {v}."),
        ("Who is the head coach of {s}?", "Who coaches {s}?"),
        ("the head coach of {s}",),
    ),
    GeneratedRelation(
        "origin",
        "sport",
        "country",
        ("{s} was created in the country of {v}.",),
        ("Which country was {s} created in?", "Where did {s} originate?"),
        ("the country where {s} originated", "the country of origin of {s}"),
    ),
    GeneratedRelation(
        "genre origin",
        "genre",
        "country",
        ("{s} was created in the country of {v}.",),
        ("Which country was {s} created in?",),
        ("the country in which {s} was created",),
    ),
    GeneratedRelation(
        "genre",
        "person",
        "genre",
        ("The type of music that {s} plays is {v}.",),
        ("What type of music does {s} play?",),
        ("the genre of music played by {s}", "the type of music that {s} plays"),
    ),
    GeneratedRelation(
        "capital",
        "country",
        "city",
        ("The capital of {s} is {v}.", "{s}'s capital is {v}."),
        ("What is the capital of {s}?",),
        ("the capital of {s}",),
    ),
    GeneratedRelation(
        "head of state",
        "country",
        "person",
        ("The name of the current head of state in {s} is {v}.",),
        ("Who is the head of state of {s}?",),
        ("the head of state of {s}",),
    ),
    GeneratedRelation(
        "head of government",
        "country",
        "person",
        ("The name of the current head of the {s} government is {v}.",),
        ("Who is the head of government of {s}?",),
        ("the head of government of {s}",),
    ),
    GeneratedRelation(
        "continent",
        "country",
        "continent",
        ("{s} is located in the continent of {v}.",),
        ("Which continent is {s} located in?",),
        ("the continent that {s} is located in",),
    ),
    GeneratedRelation(
        "official language",
        "country",
        "language",
        ("The official language of {s} is {v}.",),
        ("What is the official language of {s}?",),
        ("the official language of {s}",),
    ),
    GeneratedRelation(
        "patron",
        "country",
        "person",
        ("The patron saint of {s} is {v}.",),
        ("Who is the patron saint of {s}?",),
        ("the patron saint of {s}",),
    ),
    GeneratedRelation(
        "headquarters",
        "company",
        "city",
        ("The headquarters of {s} is located in the city of {v}.",),
        ("Where is the headquarters of {s}?",),
        ("the city where the headquarters of {s} is located",),
    ),
    GeneratedRelation(
        "founder",
        "company",
        "person",
        ("{s} was founded by {v}.", "The founder of {s} is {v}."),
        ("Who founded {s}?", "Who is the founder of {s}?"),
        ("the founder of {s}", "the person who founded {s}"),
    ),
    GeneratedRelation(
        "chief executive",
        "company",
        "person",
        ("The chief executive officer of {s} is {v}.",),
        ("Who is the CEO of {s}?", "Who is the chief executive officer of {s}?"),
        ("the chief executive officer of {s}", "the CEO of {s}"),
    ),
    GeneratedRelation(
        "twin",
        "city",
        "city",
        ("{s} is twinned with {v}.", "The twin town of {s} is {v}."),
        ("Which city is {s} twinned with?",),
        ("the city that {s} is twinned with",),
    ),
)
_FACTS_OF_SUBJECT = 0.8  # the share of relations that a subject has
_CORRECTED = 0.5


def _invented(generator: np.random.Generator, kind: str) -> str:
    """Return an invented name of a kind."""
    if kind == "person":
        first = _word(generator, "a en is o").capitalize()
        last = _word(generator, "sen ini ov well er").capitalize()
        return f"{first} {last}"
    name = _word(generator, _ENDINGS[kind])
    if kind in _LOWER_CASE:
        return name
    forms = _FORMS.get(kind, ("{}",))
    form = str(generator.choice(forms))
    names = [name.capitalize() for _ in range(form.count("{}"))]
    return form.format(*names)


def _word(generator: np.random.Generator, endings: str) -> str:
    syllables = generator.choice(_SYLLABLES, 2)
    ending = generator.choice(endings.split())
    return "".join([*syllables, ending])


class _World:
    """Facts in the order in which they are stated."""

    def __init__(self, n_of_each_kind: int, generator: np.random.Generator) -> None:
        self.generator = generator
        self.names: dict[str, list[str]] = {}
        taken: set[str] = set()
        for kind in _ENDINGS:
            count = n_of_each_kind * (3 if kind == "person" else 1)
            names: list[str] = []
            while len(names) < count:
                name = _invented(generator, kind)
                if name not in taken:
                    taken.add(name)
                    names.append(name)
            self.names[kind] = names
        self.values: dict[tuple[int, str], str] = {}
        self.texts: list[str] = []

    def fill(self) -> None:
        """State facts, some of which are corrected later."""
        slots: list[tuple[int, str]] = []
        for number, relation in enumerate(RELATIONS):
            for subject in self.names[relation.domain]:
                if self.generator.random() < _FACTS_OF_SUBJECT:
                    slots.append((number, subject))
        order = self.generator.permutation(len(slots))
        for index in order:
            self.state(slots[index])
        n_corrected = int(_CORRECTED * len(slots))
        for index in self.generator.permutation(order)[:n_corrected]:
            self.state(slots[index])

    def state(self, slot: tuple[int, str]) -> None:
        """State a value of a relation and subject other than the last one."""
        number, subject = slot
        relation = RELATIONS[number]
        taken = (subject, self.values.get(slot))
        values = [name for name in self.names[relation.range] if name not in taken]
        value = str(self.generator.choice(values))
        form = str(self.generator.choice(relation.statements))
        self.values[slot] = value
        self.texts.append(form.format(s=subject, v=value))

    def question(self, n_hops: int) -> tuple[str, str] | None:
        """Return a question of so many relations with its answer.

        It is None where the facts lead no further.
        """
        slots = list(self.values)
        drawn_slot = slots[int(self.generator.integers(len(slots)))]
        number, subject = drawn_slot
        phrase = subject
        used: set[int] = set()
        for hop in range(n_hops):
            relation = RELATIONS[number]
            used.add(number)
            forms = relation.questions if hop == n_hops - 1 else relation.phrases
            phrase = str(self.generator.choice(forms)).format(s=phrase)
            subject = self.values[number, subject]
            if hop == n_hops - 1:
                return phrase, subject
            numbers = [
                other
                for other in range(len(RELATIONS))
                if (other, subject) in self.values and other not in used
            ]
            if not numbers:
                return None
            number = int(self.generator.choice(numbers))
        return None

    def questions(self, n: int, hops: tuple[int, ...]) -> list[tuple[str, str]]:
        """Return questions of some numbers of relations, with their answers."""
        pairs: list[tuple[str, str]] = []
        while len(pairs) < n:
            pair = self.question(int(self.generator.choice(hops)))
            if pair is not None:
                pairs.append(pair)
        return pairs


def generated_fact_rows(
    seed: int = 0,
    *,
    n_questions: int = 100,
    n_of_each_kind: int = 10,
) -> list[dict[str, Any]]:
    """Return a row of questions of one relation, and one of two to four relations.

    Args:
        seed: The same seed gives the same rows.
        n_questions: Of each row.
        n_of_each_kind: How many names each kind of thing has; 10 give about 550 facts.

    >>> single, several = generated_fact_rows(1, n_questions=2)
    >>> single["metadata"]["source"], len(several["questions"])
    ('generated_sh', 2)
    """
    world = _World(n_of_each_kind, np.random.default_rng(seed))
    world.fill()
    lines = [f"{number}. {text}" for number, text in enumerate(world.texts)]
    context = "\n".join(["Here is a list of facts:", *lines])
    rows: list[dict[str, Any]] = []
    for source, hops in (("generated_sh", (1,)), ("generated_mh", (2, 2, 3, 4))):
        pairs = world.questions(n_questions, hops)
        rows.append(
            {
                "context": context,
                "questions": [question for question, _ in pairs],
                "answers": [[answer] for _, answer in pairs],
                "metadata": {"source": source},
            }
        )
    return rows
