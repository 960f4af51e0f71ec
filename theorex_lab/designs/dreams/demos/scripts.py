"""Play the demos' agents: scripts that know nothing but their prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from theorex_lab.designs.dreams.demos.agents import (
    ANSWER,
    SEEN_MARK,
    TASK_MARK,
    Call,
    Decide,
)
from theorex_lab.designs.dreams.demos.tools import DATA
from theorex_lab.dispatch.llm import ChatMessage

_STEP = re.compile(
    r"^\d+\. .*?\b(\w+)\((\"(?:[^\"\\]|\\.)*\")\)",
    re.MULTILINE,
)
_FEWEST_LINES = 3  # of a table with rows
_NEEDED_COLUMNS = ("semana", "ingresos")
_QUERY_BY_COLUMNS = (
    "SELECT {columns} FROM ventas_q3 WHERE categoria = 'Electronica' ORDER BY semana"
)
_OK = 200
CHARGES = "stripe_charges_api"
QUERY = "sales_db_query"
CALC = "python_calc"
REFUND = "issue_refund"


class PastCall(NamedTuple):
    """Hold a call of a run, and what came back."""

    tool: str
    argument: str
    answer: str


class Situation(NamedTuple):
    """Hold all that a script knows.

    Attributes:
        memory: What stands before the task in its prompt.
        goal: The task.
        calls: Its calls in this run.
    """

    memory: str
    goal: str
    calls: Sequence[PastCall]

    def answers_of(self, tool: str) -> list[str]:
        """Return what came back from a tool."""
        answers = []
        for call in self.calls:
            if call.tool == tool:
                answers.append(call.answer)
        return answers

    def remembered(self, tool: str) -> list[str]:
        """Return what a tool was given in the numbered steps of the memory."""
        arguments = []
        for name, argument in _STEP.findall(self.memory):
            if name == tool:
                arguments.append(json.loads(argument, strict=False))
        return arguments

    def first_untried(self, options: Iterable[str]) -> str:
        """Return the first of these that it has not tried; '' for none."""
        tried = {call.argument for call in self.calls}
        for option in options:
            if option not in tried:
                return option
        return ""


Script = Callable[[Situation], tuple[str, str]]


def scripted(script: Script) -> Decide:
    """Return an agent that follows a script.

    Args:
        script: From what it knows to a tool and what that is given.
    """

    def decide(messages: list[ChatMessage]) -> tuple[Call, int | None]:
        memory, _, goal = messages[1]["content"].rpartition(TASK_MARK)
        calls = []
        asked_messages = messages[2::2]
        answer_messages = messages[3::2]
        for asked, answered in zip(asked_messages, answer_messages, strict=True):
            call = json.loads(asked["content"])
            past_call = PastCall(
                tool=call["tool"],
                argument=call["input"],
                answer=answered["content"].removeprefix(SEEN_MARK),
            )
            calls.append(past_call)
        tool, argument = script(Situation(memory, goal, calls))
        return {"thought": "", "tool": tool, "input": argument}, None

    return decide


def sales_analyst(situation: Situation) -> tuple[str, str]:
    """Guess English columns and pandas, unless the memory holds what worked."""
    tables = []
    for answer in situation.answers_of(QUERY):
        if answer.count("\n") >= _FEWEST_LINES:
            tables.append(answer)
    if not tables:
        return QUERY, _next_query(situation)
    printed = situation.answers_of(CALC)
    if printed and not printed[-1].startswith("Error"):
        return ANSWER, printed[-1]
    code = _growth_code(tables[-1])
    if printed or _remembers_plain_code(situation):
        return CALC, code
    return CALC, f"import pandas\n{code}"


def _growth_code(table: str) -> str:
    """Return the code that computes the growth of the weeks in a table."""
    header, _, *lines = table.splitlines()
    rows = []
    for line in lines:
        cells = line.split(" | ")
        rows.append(tuple(map(int, cells)))
    unit = 100 if "centavos" in header else 1
    template = "\n".join(DATA["code"])
    return template.format(rows=rows, unit=unit)


def _remembers_plain_code(situation: Situation) -> bool:
    """Return whether the memory holds a calculation without pandas."""
    remembered = situation.remembered(CALC)
    return any("pandas" not in text for text in remembered)


def _next_query(situation: Situation) -> str:
    """Return a query that the memory holds, one by columns that were seen, or a guess."""
    columns: list[str] = []
    for answer in situation.answers_of(QUERY):
        lines = answer.splitlines()
        columns += lines[0].split(" | ")
    needed = []
    for start in _NEEDED_COLUMNS:
        for name in columns:
            if name.startswith(start):
                needed.append(name)
    by_columns = _QUERY_BY_COLUMNS.format(columns=", ".join(needed))
    options = []
    for query in situation.remembered(QUERY):
        if "*" not in query:
            options.append(query)
    if len(needed) == len(_NEEDED_COLUMNS):
        options.append(by_columns)
    options += DATA["sql"]["guesses"]
    return situation.first_untried(options) or by_columns


def reconciler(situation: Situation) -> tuple[str, str]:
    """Follow a cursor where the memory names its parameter and its header; else guess.

    As the document's small model it makes nothing of the words of an error, and
    answers with what it has.
    """
    pages = []
    for answer in situation.answers_of(CHARGES):
        reply = json.loads(answer)
        if reply["status"] == _OK:
            pages.append(reply)
    if not pages:
        return CHARGES, "/v1/charges"
    last = pages[-1]
    if last["body"]["has_more"]:
        url = _next_page(situation, last["headers"])
        if url:
            return CHARGES, url
    return ANSWER, _reconciled(pages)


def _reconciled(pages: Iterable[Mapping[str, Any]]) -> str:
    """Return the report of the charges on these pages."""
    charges: dict[str, Mapping[str, Any]] = {}
    for page in pages:
        for charge in page["body"]["data"]:
            charges[charge["id"]] = charge
    sums = dict.fromkeys(("amount", "disputed", "refunded"), 0)
    for charge in charges.values():
        for name in sums:
            sums[name] += charge[name]
    dollars = sums["amount"] / 100
    return (
        f"{len(charges)} charges, gross ${dollars:,.2f},"
        f" {sums['disputed']} disputed, {sums['refunded']} refunded"
    )


def _next_page(situation: Situation, headers: Mapping[str, str]) -> str:
    """Return the address of the next page, or a guess; '' after the last guess."""
    parameter = re.search(r"Use '(\w+)' with", situation.memory)
    header = re.search(r"[A-Z]\w+-Cursor", situation.memory)
    name = "Stripe-Cursor"
    if header:
        name = header[0]
    cursor = headers.get(name)
    if parameter and header and cursor:
        return f"/v1/charges?{parameter[1]}={cursor}"
    guesses = []
    for text in DATA["stripe"]["guesses"]:
        guesses.append(text.format(cursor=cursor))
    return situation.first_untried(guesses)


def refund_clerk(situation: Situation) -> tuple[str, str]:
    """Look the charges up, and refund the one with the risk that the memory names."""
    if not situation.calls:
        return CHARGES, "/v1/charges"
    refunded = situation.answers_of(REFUND)
    if refunded:
        return ANSWER, refunded[-1]
    request: dict[str, Any] = {}
    reply = json.loads(situation.calls[-1].answer)
    for row in reply["body"]["data"]:
        if row["id"] in situation.goal:
            request["charge"] = row["id"]
            request["amount"] = row["amount"]
    risk = re.search(r"risk_level: (\w+)", situation.memory)
    if risk:
        request["risk_level"] = risk[1]
    return REFUND, json.dumps(request)
