"""A seeded simulation of failed runs of teams of agents, each with a labelled mistake.

Nobody ran these teams. Each run is a question about a made-up table, which a team
fetches, reads, computes, hands over and checks. One step holds the mistake that decides
it. Runs also hold what looks like a mistake and is none: calls that fail and are
repaired, second pages, gaps that are looked up, assumptions that hold.

Each run is tried again three times with its written fix and three times without. What a
fix changes depends on the kind of mistake alone.
"""

# ruff: noqa: E501 - sentences of agents stand on one line
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import failure_stories as words
from simulation_draws import Dice, write_stored

VERSION = 1
N_RUNS = 240
N_TRIALS = 3
# So many of a thousand runs come with the same task done rightly.
_SIBLINGS = 220


class Kind(NamedTuple):
    """A kind of mistake.

    Attributes:
        weight: How often it happens, relative to the others.
        without: The chance, per thousand, that a second try without a fix succeeds.
        with_fix: The same with the fix.
    """

    weight: int
    without: int
    with_fix: int


KINDS = {
    "wrong_plan": Kind(38, 180, 560),
    "made_up_data": Kind(30, 180, 500),
    "wrong_tool_arguments": Kind(30, 220, 700),
    "wrong_extraction": Kind(22, 330, 360),
    "wrong_code": Kind(22, 400, 400),
    "lost_in_handoff": Kind(20, 200, 640),
    "ignored_colleague": Kind(24, 640, 120),
    "tool_error_ignored": Kind(18, 240, 620),
    "premature_end": Kind(14, 300, 620),
    "loop": Kind(12, 200, 200),
}
_SHARED_LUCK = 140
# How many of a thousand teams show their calls as code; the default is 400.
_SHOWS_CODE = {"wrong_tool_arguments": 750, "wrong_code": 150, "loop": 600}

Row = tuple[str, str, int]


class Case(NamedTuple):
    """A task: its table and what is asked of it.

    Attributes:
        slots: The words of the task by the names of the gaps that they fill.
        operation: What is asked: total, count, largest or range.
        rows: Label, status and value of each row.
        other_rows: What the table holds for another period.
    """

    field: words.Field
    slots: dict[str, Any]
    operation: str
    rows: list[Row]
    other_rows: list[Row]

    def counted(self, rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if row[1] != self.field.excluded]

    def answer(self, rows: Sequence[Row]) -> str:
        """The answer that these rows give."""
        values = [row[2] for row in rows]
        if self.operation == "largest":
            return max(rows, key=lambda row: row[2])[0]
        if self.operation == "count":
            return str(sum(value > self.slots["limit"] for value in values))
        if self.operation == "range":
            return str(max(values) - min(values))
        return str(sum(values))


def simulate_failures(*, seed: int, n_runs: int = N_RUNS) -> list[dict[str, Any]]:
    """Return the runs, each with its label, its fix and its second tries.

    >>> simulate_failures(seed=3, n_runs=2) == simulate_failures(seed=3, n_runs=2)
    True
    """
    dice = Dice(seed)
    names = list(KINDS)
    weights = [kind.weight for kind in KINDS.values()]
    return [
        _run(dice, number, names[dice.weighted(weights)])
        for number in range(1, n_runs + 1)
    ]


def _run(dice: Dice, number: int, mistake: str) -> dict[str, Any]:
    """Return one failed run; tasks that the mistake would not spoil are drawn again."""
    while True:
        case = _case(dice)
        story = _Story(dice, case, mistake)
        story.tell()
        truth = case.answer(case.counted(case.rows))
        if story.decisive >= 0 and story.answer != truth:
            break
    run = {
        "id": str(number),
        "question_ID": f"simulated-failure-{number:03d}",
        "question": case.slots["question"],
        "ground_truth": truth,
        "level": str(1 + (len(story.steps) > 8) + (len(story.steps) > 11)),
        "system_prompt": {
            name: f"You are {name.replace('_', ' ')}; you {duty}."
            for name, duty in story.duties().items()
        },
        "history": story.steps,
        "mistake_agent": story.steps[story.decisive]["name"],
        "mistake_step": story.decisive,
        "mistake_reason": story.fill(_reason(dice, story)),
    }
    row = {
        "run": run,
        "failure_class": mistake,
        "fix": story.fill(dice.pick(words.FIXES[mistake])),
        **_second_tries(dice, KINDS[mistake]),
    }
    if dice.chance(_SIBLINGS):
        sibling = _Story(dice, case, "")
        sibling.tell()
        row["successful_sibling"] = sibling.steps
    return row


def _reason(dice: Dice, story: _Story) -> str:
    """Return why the labelled step decided the run."""
    reasons = words.REASONS[story.mistake]
    if story.mistake == "wrong_extraction":
        return reasons[story.fault]
    return dice.pick(reasons)


def _second_tries(dice: Dice, kind: Kind) -> dict[str, list[bool]]:
    """Return which of the trials had solved the task by then; solved stays solved.

    A task is easier or harder for both arms alike.
    """
    luck = dice.below(2 * _SHARED_LUCK + 1) - _SHARED_LUCK
    tries = {}
    for arm, chance in (("with_fix", kind.with_fix), ("without", kind.without)):
        solved = [False]
        for _ in range(N_TRIALS):
            solved.append(dice.chance(max(20, chance + luck)) or solved[-1])
        tries[arm] = solved[1:]
    return tries


def _case(dice: Dice) -> Case:
    """Return a task with its table."""
    field = dice.pick(words.FIELDS)
    place, other_place = dice.several(field.places, 2)
    period, other_period = dice.several(field.periods, 2)
    low, high = field.bounds
    operation = dice.pick(("total", "total", "count", "largest", "range"))
    rows = _rows(dice, field)
    other_rows = _rows(dice, field)
    values = sorted(row[2] for row in rows)
    slots: dict[str, Any] = {
        **field._asdict(),
        "place": place,
        "other_place": other_place,
        "period": period,
        "other_period": other_period,
        "limit": values[len(values) // 2 - 1],
        "low": low,
        "high": high,
        "first": rows[0][0],
        "gap": "",
        "wrong_argument": "",
    }
    operation_words = dice.pick(words.OPERATIONS[operation])
    slots["operation"] = operation_words.format(**slots)
    slots["question"] = dice.pick(words.QUESTIONS[operation]).format(**slots)
    return Case(field, slots, operation, rows, other_rows)


def _rows(dice: Dice, field: words.Field) -> list[Row]:
    """Return six to nine rows of different values, one or two of them excluded."""
    low, high = field.bounds
    labels = dice.several(field.labels, 6 + dice.below(4))
    values: list[int] = []
    while len(values) < len(labels):
        value = low + dice.below(high - low)
        if value not in values:
            values.append(value)
    excluded = dice.several(labels, 1 + dice.below(2))
    rows = []
    for label, value in zip(labels, values, strict=True):
        status = field.excluded if label in excluded else dice.pick(field.statuses)
        rows.append((label, status, value))
    return rows


class _Story:
    """A run, told step by step; with a mistake, what follows believes it.

    Attributes:
        steps: What was said, in the form of Who&When.
        decisive: The position of the mistake, -1 for none.
        rows: The rows that the team believes to count by now.
        answer: What it answers in the end.
    """

    def __init__(self, dice: Dice, case: Case, mistake: str) -> None:
        self.dice = dice
        self.case = case
        self.mistake = mistake
        self.steps: list[dict[str, str]] = []
        self.decisive = -1
        self.rows: list[Row] = []
        self.said: set[str] = set()
        self.fault = 0
        self.answer = ""
        self.period = case.slots["period"]
        self.keeps_excluded = False
        # Some teams show calls as code, others name the tool.
        self.shows_code = dice.chance(_SHOWS_CODE.get(mistake, 400))
        lead, fetcher, analyst, coder, checker = case.field.team
        if dice.chance(350):
            analyst = fetcher
        if dice.chance(350):
            coder = analyst
        if dice.chance(250):
            checker = lead
        self.team = {
            "lead": lead,
            "fetcher": fetcher,
            "analyst": analyst,
            "coder": coder,
            "checker": checker,
        }
        self.terminal = dice.pick(("Computer_terminal", "Tool_Runner", case.field.tool))

    def duties(self) -> dict[str, str]:
        """What each agent of the team does."""
        duties = {
            "lead": "set the plan and end the run",
            "fetcher": "fetch rows with the tool",
            "analyst": "read what comes back",
            "coder": "write small scripts",
            "checker": "check what is handed over",
        }
        merged: dict[str, str] = {}
        for role, duty in duties.items():
            name = self.team[role]
            merged[name] = f"{merged[name]}, and {duty}" if name in merged else duty
        return merged

    def fill(self, text: str, **more: Any) -> str:
        return text.format(**{**self.case.slots, **self.team, **more})

    def say(
        self, role: str, text: str, *, wrong: bool = False, plain: bool = False
    ) -> None:
        """Add a step of an agent, with some words around it."""
        if wrong:
            self.decisive = len(self.steps)
        name = self.team[role]
        if not plain:
            for _ in range(self.dice.weighted([5, 3, 1])):
                filler = self._fresh(words.FILLERS, name)
                if "```" in text or "Call of" in text:
                    text = f"{filler} {text}".strip()
                else:
                    text = f"{text} {filler}".strip()
        self.steps.append(
            {"name": self.team[role], "role": "assistant", "content": text}
        )

    def _fresh(self, texts: Sequence[str], speaker: str) -> str:
        """A sentence that nobody said in this run and that does not name who speaks."""
        text = self.fill(self.dice.pick(texts))
        if text in self.said or speaker in text:
            return ""
        self.said.add(text)
        return text

    def result(self, text: str) -> None:
        """Add what a tool answers."""
        self.steps.append({"name": self.terminal, "role": "user", "content": text})

    def aside(self, per_thousand: int) -> None:
        """Let somebody say something that changes nothing."""
        self.put_in(per_thousand, list(self.team), words.ASIDES)

    def acknowledge(self, per_thousand: int) -> None:
        """Let somebody nod at the step before."""
        self.put_in(per_thousand, ["lead", "checker", "coder"], words.NODS)

    def put_in(self, per_thousand: int, roles: list[str], texts: Sequence[str]) -> None:
        """Let one of these say one of these sentences, unless they spoke last."""
        if not self.dice.chance(per_thousand):
            return
        role = self.dice.pick(roles)
        text = self._fresh(texts, self.team[role])
        if text and self.steps[-1]["name"] != self.team[role]:
            self.say(role, text)

    def tell(self) -> None:
        """Tell the run from its opening to its end."""
        self.open()
        self.aside(200)
        if self.mistake == "loop":
            self.go_round()
            return
        self.fetch()
        if self.steps[-1]["content"].endswith("TERMINATE"):
            return
        self.compute()
        self.hand_over()
        self.check()
        self.end()

    def open(self) -> None:
        """The task, and a plan in the same or in the next step."""
        opening = self.fill(self.dice.pick(words.OPENINGS))
        plan = self.fill(self.dice.pick(words.PLANS))
        is_wrong = self.mistake == "wrong_plan"
        if is_wrong:
            plan = self._bad_plan()
        if self.dice.chance(450):
            self.say("lead", f"{opening}\n\n{plan}", wrong=is_wrong)
            self.acknowledge(350)
            return
        self.say("lead", opening)
        self.aside(150)
        planner = self.dice.pick(("lead", "analyst", "fetcher", "coder"))
        if is_wrong or self.dice.chance(700):
            self.say(planner, plan, wrong=is_wrong)
            self.acknowledge(420)

    def _bad_plan(self) -> str:
        fault = self.dice.pick(("status", "status", "period"))
        if fault == "period":
            self.period = self.case.slots["other_period"]
        else:
            self.keeps_excluded = True
        return self.fill(self.dice.pick(words.BAD_PLANS[fault]))

    def call(self, period: str, **more: Any) -> str:
        """A call of the tool, as one of four kinds of code."""
        slots = self.case.slots
        if not self.shows_code:
            arguments = {"place": slots["place"], "period": period, **more}
            listed = "; ".join(f"{name}: {value}" for name, value in arguments.items())
            return f"Call of {slots['tool']} with {listed}"
        form = self.dice.below(4)
        extra = "".join(f", {name}={value!r}" for name, value in more.items())
        if form == 0:
            condition = "".join(
                f" AND {name} = {value!r}" for name, value in more.items()
            )
            return (
                f"```sql\nSELECT label, status, value FROM {slots['table']}\n"
                f"WHERE place = '{slots['place']}' AND period = '{period}'{condition};\n```"
            )
        if form == 1:
            arguments = {"place": slots["place"], "period": period, **more}
            return f"```json\n{json.dumps({'tool': slots['tool'], 'arguments': arguments})}\n```"
        if form == 2:
            return (
                f"```python\nfrom tools import {slots['tool']}\n\n"
                f"rows = {slots['tool']}(place={slots['place']!r}, period={period!r}{extra})\n"
                "for row in rows:\n    print(*row, sep=',')\n```"
            )
        flags = "".join(f" --{name} '{value}'" for name, value in more.items())
        return (
            f"```sh\n{slots['tool'].replace('_', '-')} --place '{slots['place']}'"
            f" --period '{period}'{flags}\n```"
        )

    def table(self, rows: Sequence[Row], *, gap: str = "", note: str = "") -> str:
        """An answer of the tool with these rows, in one of three forms."""
        form = self.dice.below(3)
        lines = []
        for label, status, value in rows:
            shown = "" if label == gap else str(value)
            if form == 0:
                lines.append(f"{label},{status},{shown}")
            elif form == 1:
                lines.append(f"{label:<18}{status:<14}{shown:>7}")
            else:
                number = None if label == gap else value
                lines.append(
                    json.dumps({"label": label, "status": status, "value": number})
                )
        head = self.dice.pick(
            (
                "exitcode: 0 (execution succeeded)\nCode output:\n",
                "observation:\n",
                "Code output:\n",
            )
        )
        if self.dice.chance(70):
            head = "observation: ok, 0 failed\n"
        return head + "\n".join([*lines, note] if note else lines)

    def fetch(self) -> None:
        """The call and its answer, with what may go wrong and be put right; then reading."""
        fetch_words = self.fill(self.dice.pick(words.FETCHES))
        rows = self.case.rows
        if self.period != self.case.slots["period"]:
            rows = self.case.other_rows
        if self.mistake not in ("premature_end", "made_up_data") and self.dice.chance(
            160
        ):
            self.say("fetcher", f"{fetch_words}\n{self.call(self.period)}")
            self.result(self.fill(self.dice.pick(words.ERRORS)))
            fetch_words = self.dice.pick(words.REPAIRS)
        is_wrong = self.mistake == "wrong_tool_arguments"
        if is_wrong:
            rows = self._wrong_call(fetch_words)
        else:
            self.say("fetcher", f"{fetch_words}\n{self.call(self.period)}")
        trouble = self._trouble()
        if trouble == "pages":
            self._fetch_pages(rows)
        elif trouble == "gap":
            self._fetch_gap(rows)
        elif trouble == "partial":
            self._fetch_part(rows)
        else:
            self.result(self.table(rows))
            self.read(rows)

    def _trouble(self) -> str:
        """What the answer of the tool lacks, which is put right where it is no mistake."""
        of_mistake = {
            "premature_end": "pages",
            "made_up_data": "gap",
            "tool_error_ignored": "partial",
        }
        if self.mistake in of_mistake:
            return of_mistake[self.mistake]
        if self.dice.chance(130):
            return self.dice.pick(("pages", "gap", "partial"))
        return ""

    def _wrong_call(self, fetch_words: str) -> list[Row]:
        """Call the tool with an argument that the task does not have."""
        slots = self.case.slots
        kind = self.dice.below(3)
        if kind == 0:
            slots["wrong_argument"] = f"period {slots['other_period']}"
            self.say(
                "fetcher",
                f"{fetch_words}\n{self.call(slots['other_period'])}",
                wrong=True,
            )
            return self.case.other_rows
        if kind == 1:
            status = self.case.field.statuses[0]
            slots["wrong_argument"] = f"status {status}"
            self.say(
                "fetcher",
                f"{fetch_words}\n{self.call(self.period, status=status)}",
                wrong=True,
            )
            return [
                row for row in self.case.rows if row[1] == status
            ] or self.case.rows[:1]
        slots["wrong_argument"] = "limit 4"
        self.say(
            "fetcher", f"{fetch_words}\n{self.call(self.period, limit=4)}", wrong=True
        )
        return self.case.rows[:4]

    def _fetch_pages(self, rows: list[Row]) -> None:
        half = max(2, len(rows) // 2)
        self.result(
            self.table(rows[:half], note=f"page 1 of 2, {len(rows)} rows in all")
        )
        if self.mistake == "premature_end":
            self.rows = self.case.counted(rows[:half]) or rows[:1]
            self.answer = self.case.answer(self.rows)
            text = f"{self._read_words()} {self._computed_words()}"
            if self.dice.chance(500):
                self.say("analyst", text, wrong=True)
                self.say(
                    "lead",
                    self.fill(self.dice.pick(words.ENDS), answer=self.answer),
                    plain=True,
                )
            else:
                end = self.fill(self.dice.pick(words.ENDS), answer=self.answer)
                self.say("analyst", f"{text} {end}", wrong=True, plain=True)
            return
        self.say(
            "fetcher", f"There is a second page.\n{self.call(self.period, page=2)}"
        )
        self.result(self.table(rows[half:], note="page 2 of 2"))
        self.read(rows)

    def _fetch_gap(self, rows: list[Row]) -> None:
        counted = self.case.counted(rows) or rows
        label, status, value = self.dice.pick(counted)
        self.result(self.table(rows, gap=label))
        if self.mistake == "made_up_data":
            self.case.slots["gap"] = label
            low, high = self.case.field.bounds
            guess = low + self.dice.below(high - low)
            row = (label, status, guess)
            believed = [row if other[0] == label else other for other in rows]
            excuse = self.dice.pick(
                (
                    f"For {label} the field is empty, so let's assume {guess}, which is typical.",
                    f"{label} comes to {guess}.",
                    f"{label} stands at {guess} as far as I remember the earlier report.",
                    f"The value of {label} was {guess} {self.case.field.unit}.",
                    f"As we do not have {label} here, a usual value of {guess} is taken.",
                    f"I add {label} with {guess}.",
                )
            )
            self.read(believed, wrong=True, addition=excuse)
            return
        self.say(
            "fetcher",
            f"{label} has no value in this answer. I ask for it alone.\n{self.call(self.period, label=label)}",
        )
        self.result(self.table([(label, status, value)]))
        self.read(rows)

    def _fetch_part(self, rows: list[Row]) -> None:
        part = rows[: max(2, len(rows) - 2 - self.dice.below(2))]
        note = self.dice.pick(
            (
                f"warning: connection closed after {len(part)} of {len(rows)} rows",
                f"{len(part)} of {len(rows)} rows",
                f"note: {len(rows) - len(part)} rows were locked and left out",
                f"Error: stream ended early, {len(rows) - len(part)} rows missing",
            )
        )
        self.result(self.table(part, note=note))
        if self.mistake == "tool_error_ignored":
            self.read(part, wrong=True)
            return
        self.say(
            "fetcher", f"Rows are missing; I repeat the call.\n{self.call(self.period)}"
        )
        self.result(self.table(rows))
        self.read(rows)

    def read(
        self, rows: Sequence[Row], *, wrong: bool = False, addition: str = ""
    ) -> None:
        """Say which rows count."""
        believed = list(rows) if self.keeps_excluded else self.case.counted(rows)
        believed = believed or list(rows)
        if self.mistake == "wrong_extraction":
            believed = self._misread(believed)
            wrong = True
        self.rows = believed
        text = self._read_words()
        if addition:
            text = (
                f"{text} {addition}" if self.dice.chance(500) else f"{addition} {text}"
            )
        self.say("analyst", text, wrong=wrong)
        self.acknowledge(480)
        self.aside(100)

    def _misread(self, rows: list[Row]) -> list[Row]:
        """Leave a row out, take an excluded one in, or give a row its neighbour's value."""
        excluded = [row for row in self.case.rows if row not in rows]
        kind = self.dice.below(3)
        position = self.dice.below(len(rows))
        if kind == 0 and len(rows) > 2:
            self.fault = 1
            return rows[:position] + rows[position + 1 :]
        if kind == 1 and excluded:
            self.fault = 2
            return [*rows, excluded[0]]
        label, status, _ = rows[position]
        value = rows[position - 1][2]
        return [*rows[:position], (label, status, value), *rows[position + 1 :]]

    def _read_words(self) -> str:
        form = self.dice.below(3)
        parts = []
        for label, status, value in self.rows:
            if form == 0:
                parts.append(f"{label} {value}")
            elif form == 1:
                parts.append(f"{label}: {value} ({status})")
            else:
                parts.append(f"{value} for {label}")
        listing = ", ".join(parts)
        reading = self.dice.pick(words.READS)
        if self.keeps_excluded:
            reading = "All {n} {rows} of the answer: {listing}."
        return self.fill(reading, n=len(self.rows), listing=listing)

    def _computed_words(self) -> str:
        return self.fill(self.dice.pick(words.COMPUTED_ALOUD), answer=self.answer)

    def compute(self) -> None:
        """Compute the answer, by a script or in words."""
        self.answer = self.case.answer(self.rows)
        is_wrong = self.mistake == "wrong_code"
        if not (is_wrong or self.dice.chance(450)):
            if self.mistake != "ignored_colleague":
                self.say("coder", self._computed_words())
            return
        formula, output = self._formula(is_wrong)
        data = ", ".join(f"({label!r}, {value})" for label, _, value in self.rows)
        code = f"```python\nrows = [{data}]\n{formula}\n```"
        self.say("coder", f"{self.dice.pick(words.CODES)}\n{code}", wrong=is_wrong)
        self.result(f"exitcode: 0 (execution succeeded)\nCode output: {output}")
        self.answer = output

    def _formula(self, is_wrong: bool) -> tuple[str, str]:
        """A line of code, and what it prints."""
        rows = self.rows
        limit = self.case.slots["limit"]
        values = [row[2] for row in rows]
        right = {
            "total": "print(sum(value for _, value in rows))",
            "count": f"print(sum(value > {limit} for _, value in rows))",
            "largest": "print(max(rows, key=lambda row: row[1])[0])",
            "range": "values = [value for _, value in rows]\nprint(max(values) - min(values))",
        }
        if not is_wrong:
            return right[self.case.operation], self.answer
        faults = {
            "total": [
                ("print(sum(value for _, value in rows[1:]))", str(sum(values[1:]))),
                (
                    "total = 0\nfor number in range(len(rows) - 1):\n    total += rows[number][1]\nprint(total)",
                    str(sum(values[:-1])),
                ),
                (
                    "print(sum({value // 10 * 10 for _, value in rows}))",
                    str(sum({value // 10 * 10 for value in values})),
                ),
            ],
            "count": [
                (
                    f"print(sum(value >= {limit} for _, value in rows))",
                    str(sum(value >= limit for value in values)),
                ),
                (
                    f"print(sum(str(value) > '{limit}' for _, value in rows))",
                    str(sum(str(value) > str(limit) for value in values)),
                ),
                (
                    f"print(len([value for _, value in rows if value > {limit}]) - 1)",
                    str(sum(value > limit for value in values) - 1),
                ),
            ],
            "largest": [
                (
                    "print(sorted(rows, key=lambda row: row[1])[0][0])",
                    min(rows, key=lambda row: row[2])[0],
                ),
                (
                    "print(max(rows, key=lambda row: str(row[1]))[0])",
                    max(rows, key=lambda row: str(row[2]))[0],
                ),
                ("print(max(rows)[0])", max(rows)[0]),
            ],
            "range": [
                (
                    "values = [value for _, value in rows]\nprint(values[-1] - values[0])",
                    str(values[-1] - values[0]),
                ),
                (
                    "values = sorted(value for _, value in rows)\nprint(values[-2] - values[0])",
                    str(sorted(values)[-2] - min(values)),
                ),
            ],
        }
        return self.dice.pick(faults[self.case.operation])

    def hand_over(self) -> None:
        """Sum up for those who come next; a row may get lost here."""
        is_wrong = self.mistake == "lost_in_handoff"
        if not (is_wrong or self.dice.chance(400)):
            return
        if is_wrong:
            kept = self.dice.several(
                self.rows, max(1, len(self.rows) - 1 - self.dice.below(2))
            )
            self.rows = [row for row in self.rows if row in kept]
            self.answer = self.case.answer(self.rows)
        text = self.fill(
            self.dice.pick(words.HANDOFFS), n=len(self.rows), answer=self.answer
        )
        listing = ", ".join(f"{label} {value}" for label, _, value in self.rows)
        if is_wrong or self.dice.chance(400):
            text = f"{text} Rows: {listing}."
        role = self.dice.pick(("analyst", "coder", "fetcher"))
        self.say(role, text, wrong=is_wrong)

    def check(self) -> None:
        """Look over it; a right objection may be brushed aside."""
        if self.mistake == "ignored_colleague":
            self._brush_aside()
        elif self.dice.chance(550):
            self.say(
                "checker", self.fill(self.dice.pick(words.CHECKS), answer=self.answer)
            )

    def _brush_aside(self) -> None:
        """A draft with one row too few is objected to, and kept."""
        right = self.answer
        label, _, value = self.dice.pick(self.rows)
        self.rows = [row for row in self.rows if row[0] != label] or self.rows
        self.answer = self.case.answer(self.rows)
        draft = f"Draft for the report, without {label}, which I was not sure of: {self.answer}. Is that acceptable?"
        self.say("analyst", draft)
        objection = self.dice.pick(
            (
                f"I object: {label} has {value} and is not {self.case.field.excluded}. With it the result is {right}.",
                f"{label} belongs to it. Its status counts, so {right} is right and the draft is not.",
                f"Please look at {label} again: {value} {self.case.field.unit}, status fine. I get {right}.",
            )
        )
        self.say("checker", objection)
        verdict = self.dice.pick(
            (
                f"Thank you, but we stay with {self.answer}; the draft has been seen by everyone.",
                f"That is a detail. {self.answer} is close enough to the plan, and time is short.",
                f"I prefer the first figure, {self.answer}. Let us not open this again.",
                f"Noted. The analyst was not sure of {label}, so it stays out: {self.answer}.",
            )
        )
        checker = self.team["checker"]
        others = [
            role for role in ("lead", "coder", "analyst") if self.team[role] != checker
        ]
        self.say(self.dice.pick(others), verdict, wrong=True)

    def go_round(self) -> None:
        """Repeat a call whose answer cannot change, until the turns are used up."""
        answer = self.dice.pick(
            (
                "observation: 0 rows",
                "observation: []",
                "exitcode: 0 (execution succeeded)\nCode output:",
                "observation: the index of this table is being rebuilt",
            )
        )
        call = self.call(self.period)
        openings = [self.fill(text) for text in self.dice.several(words.FETCHES, 5)]
        for number in range(3 + self.dice.below(3)):
            again = (
                ""
                if number == 0
                else self.dice.pick(
                    (
                        " Once more.",
                        " Again, it may have been a hiccup.",
                        " Same call.",
                        "",
                    )
                )
            )
            self.say("fetcher", f"{openings[number]}{again}\n{call}", wrong=number == 1)
            self.result(answer)
            if number < 2:
                self.aside(140)
        self.answer = "none"
        self.say(
            "lead",
            self.dice.pick(
                (
                    "The turns are used up. No answer. TERMINATE",
                    "We stop here without a result; the limit of turns is reached. TERMINATE",
                    "I have to close this run: the budget is spent. TERMINATE",
                )
            ),
            plain=True,
        )

    def end(self) -> None:
        """Give the answer."""
        self.say(
            "lead",
            self.fill(self.dice.pick(words.ENDS), answer=self.answer),
            plain=True,
        )


def save_failures(seed: int, path: Path) -> int:
    """Write the simulation into a file, and return how many runs it has.

    Raises:
        StorageError: The file cannot be written.
    """
    rows = simulate_failures(seed=seed)
    header = {
        "simulation": True,
        "of": "failed runs of teams of agents",
        "seed": seed,
        "days": 1,
        "version": VERSION,
        "trials": N_TRIALS,
    }
    write_stored(header, rows, path)
    return len(rows)


def main() -> None:
    """Write the file: `python tests/helpers/simulate_failures.py --seed 7 --output FILE`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    n_runs = save_failures(options.seed, options.output)
    sys.stdout.write(f"{options.output}: simulation of {n_runs} failed runs\n")


if __name__ == "__main__":
    main()
