"""Generate pairs of facts: of different things, and of one thing that has changed.

The words come in two halves. The rules were chosen on the first half; the second half
is for the report alone.
"""

from __future__ import annotations

from itertools import product

Pair = tuple[str, str]

# Two things of one kind, by the half.
THINGS: dict[str, list[Pair]] = {
    "made": [
        ("Order 311", "Order 312"),
        ("Room 2", "Room 9"),
        ("The left pump", "The right pump"),
        ("Host us-east", "Host eu-west"),
        ("Paul", "Paula"),
        ("Her laptop", "His laptop"),
        ("The staging site", "The production site"),
        ("Alice's dog", "Bob's dog"),
        ("The Monday meeting", "The Tuesday meeting"),
        ("Shard A", "Shard B"),
        ("config/dev.yaml", "config/prod.yaml"),
        ("Version 1.2 of the client", "Version 1.3 of the client"),
    ],
    "held": [
        ("Invoice A-17", "Invoice A-18"),
        ("Gate 40", "Gate 41"),
        ("The upper valve", "The lower valve"),
        ("Switch core-1", "Switch core-2"),
        ("Martin", "Martina"),
        ("My desk", "Your desk"),
        ("The red team", "The blue team"),
        ("Carla's bike", "Dan's bike"),
        ("The spring course", "The autumn course"),
        ("Lane X", "Lane Y"),
        ("src/load.py", "src/save.py"),
        ("Release 7 of the kernel", "Release 8 of the kernel"),
        ("Port COM3", "Port COM4"),
        ("The German manual", "The French manual"),
        ("Building North", "Building South"),
        ("Sensor 0x1f", "Sensor 0x2f"),
        ("The customer table", "The supplier table"),
        ("Apollo", "Artemis"),
    ],
}
PREDICATES: dict[str, list[str]] = {
    "made": [
        "has a new display",
        "is blocked by legal",
        "needs a token",
        "was checked on 3 May",
        "runs Linux",
        "starts at 08:30",
    ],
    "held": [
        "carries a yellow label",
        "is reserved for guests",
        "belongs to the second floor",
        "was repaired last week",
        "costs 40 euros",
        "waits for an answer",
        "smells of paint",
    ],
}
# A state, and a later wording of it with another value.
UPDATES: dict[str, list[Pair]] = {
    "made": [
        ("{} listens on port 8080", "{} listens on port 9090"),
        ("{} listens on port 8080", "{} now listens on port 9090"),
        ("{} uses Postgres 14", "{} was upgraded to Postgres 15"),
        ("{} is located in Lyon", "{} moved to Paris"),
        ("{} is enabled", "{} is disabled"),
        ("{} supports Windows", "{} no longer supports Windows"),
        ("The deadline of {} is Monday", "The deadline of {} is Friday"),
    ],
    "held": [
        ("{} has 3 workers", "{} has 5 workers"),
        ("{} is open", "{} is closed now"),
        ("{} uses npm", "{} switched from npm to pnpm"),
        ("The limit of {} is 20", "The limit of {} was raised to 30"),
        ("{} deploys on Tuesdays", "{} deploys on Thursdays now"),
        ("{} uses tabs", "{} does not use tabs any more"),
        ("The owner of {} is Ann Lee", "The owner of {} is Bo Kim"),
        ("{} starts at 09:00", "From now on {} starts at 10:00"),
    ],
}
CHANGING: dict[str, list[str]] = {
    "made": ["the parser", "the till", "host us-east", "db-1"],
    "held": ["the gateway", "the mail relay", "node eu-7", "worker-3", "the archive"],
}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def side_by_side(half: str) -> list[Pair]:
    """Return pairs of facts that hold side by side."""
    pairs = product(THINGS[half], PREDICATES[half])
    return [
        (f"{first} {predicate}", f"{second} {predicate}")
        for (first, second), predicate in pairs
    ]


def updates(half: str) -> list[Pair]:
    """Return pairs of a fact and a later one about the same thing."""
    pairs = product(UPDATES[half], CHANGING[half])
    return [
        (_sentence(older.format(thing)), _sentence(newer.format(thing)))
        for (older, newer), thing in pairs
    ]
