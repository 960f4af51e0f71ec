"""The demos' agents: a loop of one call at a time, decided by a model, or by a script that knows nothing but its prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from theorex_lab.dispatch.llm import ChatMessage, ModelClient
from theorex_lab.errors import UnusableAnswer
from theorex_lab.experiments.demos.tools import DATA, Tool
from theorex_lab.text.line import count_tokens

Decided = tuple[dict[str, str], int | None]  # {thought, tool, input}, and the tokens that this took where they are told
Decide = Callable[[list[ChatMessage]], Decided]
MOST_STEPS = 11  # as many as the document's agent took
ANSWER = "answer"
_TASK = "Task: "
_MEMBERS = ("thought", "tool", "input")
_STEP = re.compile(r"^\d+\. .*?\b(\w+)\((\"(?:[^\"\\]|\\.)*\")\)", re.MULTILINE)
_PLAIN_CODE = """rows = {rows}
before = None
for week, amount in rows:
    growth = "" if before is None else f"{{(amount / before - 1) * 100:+.1f}} %"
    print(week, f"{{amount / {unit}:.2f}}", growth)
    before = amount"""


@dataclass(frozen=True)
class AgentRun:
    """What an agent did: calls of {thought, tool, input, output, error}, its answer (None: it gave none), and what it took."""

    turns: list[dict[str, Any]]
    answer: str | None
    steps: int
    tokens: int

    def figures(self, *, success: bool) -> dict[str, Any]:
        """steps, tool_calls, tool_errors, tokens, success."""
        errors = sum(turn["error"] for turn in self.turns)
        return {
            "steps": self.steps,
            "tool_calls": len(self.turns),
            "tool_errors": errors,
            "tokens": self.tokens,
            "success": success,
        }


def run_agent(decide: Decide, goal: str, tools: Mapping[str, Tool], memory: str = "") -> AgentRun:
    """Let an agent work for a goal until it answers, 11 steps at most; `memory` stands before the task.

    Tokens are those of all prompts and answers, estimated where a model does not tell them. Raises ModelUnavailable.
    """
    listed = "\n".join(f"- {name}: {DATA['tools'][name]}" for name in tools)
    messages = [{"role": "system", "content": f"{DATA['agent']}\nTools:\n{listed}"}]
    messages.append({"role": "user", "content": f"{memory}\n\n{_TASK}{goal}".strip()})
    turns: list[dict[str, Any]] = []
    spent = 0
    for step in range(1, MOST_STEPS + 1):
        try:
            said, tokens = decide(messages)
        except UnusableAnswer as error:
            said, tokens = {"thought": "", "tool": "", "input": str(error)}, None
        told = json.dumps(said)
        spent += (
            sum(count_tokens(message["content"]) for message in messages) + count_tokens(told)
            if tokens is None
            else tokens
        )
        if said["tool"] == ANSWER:
            return AgentRun(turns, said["input"], step, spent)
        tool = tools.get(said["tool"])
        seen, ok = (
            tool(said["input"])
            if tool
            else (f"Error: there is no tool {said['tool']!r}; allowed are {', '.join(tools)}", False)
        )
        turns.append({**said, "output": seen, "error": not ok})
        messages += [{"role": "assistant", "content": told}, {"role": "user", "content": f"Observation: {seen}"}]
    return AgentRun(turns, None, MOST_STEPS, spent)


def model_agent(client: ModelClient, tools: Sequence[str]) -> Decide:
    """An agent whose steps a model decides, in JSON of {thought, tool, input} and nothing else."""
    texts: dict[str, Any] = {name: {"type": "string"} for name in _MEMBERS}
    texts["tool"]["enum"] = [*tools, ANSWER]
    schema = {"type": "object", "properties": texts, "required": [*_MEMBERS], "additionalProperties": False}

    def decide(messages: list[ChatMessage]) -> Decided:
        said = client.complete(messages, json_schema=schema, temperature=0.0)
        return said.data, said.tokens

    return decide


class Known(NamedTuple):
    """All that a scripted agent knows: the memory in its prompt, its calls in this run as (tool, input, what came back), and the goal."""

    memory: str
    calls: list[tuple[str, str, str]]
    goal: str

    @property
    def steps(self) -> list[tuple[str, str]]:
        """The calls that the numbered steps in its memory tell of."""
        return [(tool, json.loads(given, strict=False)) for tool, given in _STEP.findall(self.memory)]

    def tried(self, text: str) -> bool:
        """Whether it made this call already."""
        return any(given == text for _, given, _ in self.calls)


def scripted(script: Callable[[Known], tuple[str, str]]) -> Decide:
    """An agent that follows a script: from what it knows to a tool and what that is given."""

    def decide(messages: list[ChatMessage]) -> Decided:
        memory, _, goal = messages[1]["content"].rpartition(_TASK)
        made = [json.loads(message["content"]) for message in messages[2::2]]
        seen = [message["content"].removeprefix("Observation: ") for message in messages[3::2]]
        calls = [(said["tool"], said["input"], came) for said, came in zip(made, seen, strict=True)]
        tool, given = script(Known(memory, calls, goal))
        return {"thought": "", "tool": tool, "input": given}, None

    return decide


def sales_analyst(known: Known) -> tuple[str, str]:
    """Guesses English columns and pandas, unless its memory holds a query by name and a calculation that worked without."""
    tables = [seen for tool, _, seen in known.calls if tool == "sales_db_query" and seen.count("\n") > 2]
    if not tables:
        return "sales_db_query", _next_query(known)
    printed = [seen for tool, _, seen in known.calls if tool == "python_calc"]
    if printed and not printed[-1].startswith("Error"):
        return ANSWER, printed[-1]
    header, _, *lines = tables[-1].splitlines()
    rows = [tuple(map(int, line.split(" | "))) for line in lines]
    code = _PLAIN_CODE.format(rows=rows, unit=100 if "centavos" in header else 1)
    plain = printed or any(tool == "python_calc" and "pandas" not in given for tool, given in known.steps)
    return "python_calc", code if plain else f"import pandas\n{code}"


def _next_query(known: Known) -> str:
    remembered = [given for tool, given in known.steps if tool == "sales_db_query" and "*" not in given]
    headers = [seen.splitlines()[0].split(" | ") for _, given, seen in known.calls if "*" in given]
    week, revenue = (
        next((name for name in (headers or [[]])[-1] if name.startswith(start)), "") for start in ("sem", "ingr")
    )
    seen = (
        [f"SELECT {week}, {revenue} FROM ventas_q3 WHERE categoria = 'Electronica' ORDER BY {week}"]
        if week and revenue
        else []
    )
    options = [*seen, *reversed(remembered), *DATA["sql"]["guesses"]]
    return next((query for query in options if not known.tried(query)), options[-1])


def reconciler(known: Known) -> tuple[str, str]:
    """Follows a cursor only where its memory names both the parameter and the header; else it guesses, and answers with what it has.

    As the document's small model it makes nothing of the words of an error.
    """
    replies = [json.loads(seen) for _, _, seen in known.calls]
    pages = [reply for reply in replies if reply["status"] == 200]
    if not pages:
        return "stripe_charges_api", "/v1/charges"
    parameter, header = (
        re.search(pattern, known.memory) for pattern in (r"Use '?(\w+)'? with a cursor", r"([A-Z]\w+-Cursor)")
    )
    if pages[-1]["body"]["has_more"] and parameter and header and (cursor := pages[-1]["headers"].get(header[1])):
        return "stripe_charges_api", f"/v1/charges?{parameter[1]}={cursor}"
    guesses = [text.format(cursor=pages[0]["headers"].get("Stripe-Cursor")) for text in DATA["stripe"]["guesses"]]
    if pages[-1]["body"]["has_more"] and (left := [guess for guess in guesses if not known.tried(guess)]):
        return "stripe_charges_api", left[0]
    charges = {charge["id"]: charge for page in pages for charge in page["body"]["data"]}.values()
    total, disputed, refunded = (
        sum(charge["amount"] for charge in charges),
        *(sum(charge[name] for charge in charges) for name in ("disputed", "refunded")),
    )
    return ANSWER, f"{len(charges)} charges, gross ${total / 100:,.2f}, {disputed} disputed, {refunded} refunded"


def refund_clerk(known: Known) -> tuple[str, str]:
    """Looks the charges up and refunds the one, with the level of risk that its memory tells; where it is refused, it gives up."""
    if not known.calls:
        return "stripe_charges_api", "/v1/charges"
    tool, _, seen = known.calls[-1]
    if tool == "issue_refund":
        return ANSWER, seen
    charge = re.findall(r"ch_\d+", known.goal)[-1]
    amount = {row["id"]: row["amount"] for row in json.loads(seen)["body"]["data"]}.get(charge)
    risk = re.findall(r"risk_level: (\w+)", known.memory)[-1:]
    return "issue_refund", json.dumps({"charge": charge, "amount": amount, **dict.fromkeys(["risk_level"] * len(risk), *risk)})
