"""A seeded simulation of queries that seven models answered, each with its strengths.

Nobody asked these models: their names are made up, and so are their skills. A query has
a type and a level of difficulty; whether a model answers it is drawn from its skill in
the type, less what the level takes away. Two models are specialists, and one of middle
size writes best, so that no single model leads everywhere. The largest costs two hundred
times the smallest. The slowest is not the dearest: the specialist for math thinks at
length. Late in the simulated time two models change, for worse and for better, so that
old evidence misleads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from simulation_draws import Dice, write_stored

VERSION = 1
DAYS = 60
LEVELS = 4
# How much each further level takes from the chance, per thousand.
_PER_LEVEL = 150
# A query is easier or harder for all models alike, by so much per thousand at most; and
# so many of a thousand nobody can answer.
_SHARED_LUCK = 160
_HOPELESS = 60
# A further level makes an answer so many percent slower.
_SLOWER_PERCENT = 20
_LEAST_CHANCE = 20
_MOST_CHANCE = 985


class ModelChange(NamedTuple):
    """What a new version of a model changes.

    Attributes:
        day: The first day of the new version.
        query_type: The type of query whose skill changes.
        skill: The new skill, per thousand.
    """

    day: int
    query_type: str
    skill: int


class SimulatedModel(NamedTuple):
    """A made-up model.

    Attributes:
        name: Its name.
        cost: Millionths of a US dollar for a thousand tokens.
        milliseconds: How long an answer takes in the middle.
        skills: The chance, per thousand, to answer an easy query of each type.
    """

    name: str
    cost: int
    milliseconds: int
    skills: dict[str, int]


def _skills(**by_type: int) -> dict[str, int]:
    return by_type


MODELS = (
    SimulatedModel(
        "sprout-1b",
        50,
        240,
        _skills(
            code=220, math=180, retrieval=840, synthesis=400, creative=560, safety=520
        ),
    ),
    SimulatedModel(
        "fern-8b",
        180,
        420,
        _skills(
            code=430, math=380, retrieval=960, synthesis=590, creative=640, safety=660
        ),
    ),
    SimulatedModel(
        "forge-14b",
        700,
        650,
        _skills(
            code=960, math=520, retrieval=760, synthesis=470, creative=330, safety=560
        ),
    ),
    SimulatedModel(
        "abacus-14b",
        760,
        4_800,
        _skills(
            code=540, math=920, retrieval=740, synthesis=460, creative=300, safety=590
        ),
    ),
    SimulatedModel(
        "linden-70b",
        900,
        1_100,
        _skills(
            code=640, math=580, retrieval=930, synthesis=780, creative=920, safety=780
        ),
    ),
    SimulatedModel(
        "oak-400b",
        3_000,
        1_900,
        _skills(
            code=740, math=710, retrieval=940, synthesis=830, creative=820, safety=850
        ),
    ),
    SimulatedModel(
        "sequoia-1t",
        10_000,
        3_600,
        _skills(
            code=800, math=790, retrieval=930, synthesis=880, creative=730, safety=890
        ),
    ),
)
CHANGES = {
    "forge-14b": ModelChange(50, "code", 560),
    "fern-8b": ModelChange(40, "creative", 1_020),
}
_REGAINED_PERCENT = {"linden-70b": 35, "oak-400b": 60, "sequoia-1t": 85}
_SPECIALISTS = {"forge-14b": "code", "abacus-14b": "math"}
_CUSTOMERS = (
    "Aldermoor",
    "Birchgate",
    "Coldbrook",
    "Dunmarsh",
    "Eastlea",
    "Fernhollow",
    "Greyford",
    "Highmere",
    "Ivyton",
    "Junewick",
    "Kestrelby",
    "Larkfield",
    "Millrace",
    "Northover",
    "Oakhithe",
    "Pinecombe",
    "Quarrydene",
    "Rookhurst",
    "Saltmere",
    "Thornbury Wharf",
    "Umberleigh",
    "Valegate",
    "Westering",
    "Yarrowby",
)
# By type: what is asked, with a gap for a thing, and the things.
_QUERIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "code": (
        (
            "Debug this function: the {} drops its last row",
            "Write a Python function that validates the {}",
            "Refactor the class that renders the {}",
            "Why does this code raise an exception for the {}?",
        ),
        (
            "price parser",
            "delivery table",
            "route planner",
            "login form",
            "stock import",
            "invoice printer",
            "date picker",
            "depot map",
        ),
    ),
    "math": (
        (
            "Calculate the monthly rate of {}",
            "Solve the equation for {}",
            "What is the probability of {}?",
            "Compute the average and the variance of {}",
        ),
        (
            "a loan over nine years",
            "two late trucks in a week",
            "the fill level of a tank",
            "a discount in three steps",
            "the shortest detour",
            "a queue with two counters",
            "the weights of forty parcels",
            "a returned deposit",
        ),
    ),
    "retrieval": (
        (
            "Find the page that says who owns {}",
            "Where did we write down the rules for {}?",
            "Look up the last decision on {}",
            "Which document lists {}?",
        ),
        (
            "the northern depot",
            "the alarm phone",
            "returned goods",
            "the test accounts",
            "holiday cover",
            "the backup schedule",
            "the map licence",
            "new suppliers",
        ),
    ),
    "synthesis": (
        (
            "Summarize the discussion about {} in three points",
            "Compare both proposals for {} and recommend one",
            "Combine these notes on {} into an outline",
            "Explain the trade-offs of {} to a newcomer",
        ),
        (
            "the new pricing",
            "moving the archive",
            "night deliveries",
            "the pilot depot",
            "a second database",
            "paperless returns",
            "shared calendars",
            "the on-call rota",
        ),
    ),
    "creative": (
        (
            "Write a short poem about {}",
            "Invent a friendly name for {}",
            "Write a story in which {} plays a part",
            "Draft a cheerful announcement of {}",
        ),
        (
            "the first delivery van",
            "a rainy depot",
            "the summer party",
            "a lost parcel",
            "the new canteen",
            "the oldest forklift",
            "a quiet Monday",
            "the harbour at night",
        ),
    ),
    "safety": (
        (
            "Is it safe to share {}?",
            "Which harm can {} do in the wrong hands?",
            "Could somebody exploit {}?",
            "May the carrier see {}?",
        ),
        (
            "the driver list",
            "this log file",
            "the customer export",
            "the camera pictures",
            "the support mailbox",
            "a backup of the tills",
            "the visitor book",
            "the signed contracts",
        ),
    ),
}


def simulate_calls(*, seed: int, queries: int = 1_200) -> list[dict[str, Any]]:
    """Return the queries in the order in which they were asked, each with its answers.

    Args:
        seed: The seed of all draws, from 0.
        queries: How many, from 1.

    Returns:
        By query: id, day (from 0), text, type, level (1 to 4), and by model success and
        latency_ms.
    """
    dice = Dice(seed)
    return [_row(dice, number, number * DAYS // queries) for number in range(queries)]


def _row(dice: Dice, number: int, day: int) -> dict[str, Any]:
    """Return one query of a day with the answer of every model."""
    query_type = dice.pick(list(_QUERIES))
    level = 1 + dice.weighted([4, 3, 2, 1])
    luck = dice.below(2 * _SHARED_LUCK + 1) - _SHARED_LUCK
    is_hopeless = dice.chance(_HOPELESS)
    answers = {}
    for model in MODELS:
        lost = _PER_LEVEL * (level - 1)
        if query_type == "retrieval":  # what is looked up is there or not
            lost //= 4
        # The larger a model, the less a hard query takes from it; a specialist loses
        # little in its own type.
        kept_skill = (
            _skill_on(day, model, query_type)
            - lost
            + _regained(model, query_type, lost)
        )
        chance = min(max(kept_skill + luck, _LEAST_CHANCE), _MOST_CHANCE)
        is_right = dice.chance(chance) and not is_hopeless
        percent = 60 + dice.below(81) + _SLOWER_PERCENT * (level - 1)
        answers[model.name] = [int(is_right), model.milliseconds * percent // 100]
    return {
        "id": f"query-{number:04d}",
        "day": day,
        "text": _text(dice, query_type, level),
        "type": query_type,
        "level": level,
        "answers": answers,
    }


def _skill_on(day: int, model: SimulatedModel, query_type: str) -> int:
    """Return the skill of a model on a day, in its version of that day."""
    change = CHANGES.get(model.name)
    if change and change.query_type == query_type and day >= change.day:
        return change.skill
    return model.skills[query_type]


def _regained(model: SimulatedModel, query_type: str, lost: int) -> int:
    """Return what a model wins back of what a level takes."""
    percent = _REGAINED_PERCENT.get(model.name, 0)
    if _SPECIALISTS.get(model.name) == query_type:
        percent = 90
    return lost * percent // 100


def _text(dice: Dice, query_type: str, level: int) -> str:
    """Return the words of a query; a hard one names more things."""
    forms, things = _QUERIES[query_type]
    text = dice.pick(forms).format(f"{dice.pick(things)} of {dice.pick(_CUSTOMERS)}")
    further = [thing for thing in dice.several(things, level) if thing not in text]
    if level > 1 and further:
        end = "" if text.endswith("?") else "."
        text += f"{end} Take care of this too: {', '.join(further[: level - 1])}."
    return text


def save_calls(seed: int, path: Path) -> int:
    """Write the simulation into a file, and return how many queries it has.

    Raises:
        StorageError: The file cannot be written.
    """
    rows = simulate_calls(seed=seed)
    header = {
        "simulation": True,
        "of": "calls of models",
        "seed": seed,
        "days": DAYS,
        "version": VERSION,
        "models": {model.name: model.cost for model in MODELS},
    }
    write_stored(header, rows, path)
    return len(rows)
