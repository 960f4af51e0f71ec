"""The demos' agents: a loop of one call at a time, decided by a model, or by a script that knows nothing but its prompt."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from theorex_lab.dispatch.llm import ChatMessage, ModelClient
from theorex_lab.errors import UnusableAnswer
from theorex_lab.experiments.demos.tools import DATA, Tool
from theorex_lab.text.line import count_tokens

Call = dict[str, str]  # {thought, tool, input}
Decide = Callable[[list[ChatMessage]], tuple[Call, int | None]]  # also the tokens that this took, where they are told
MOST_STEPS = 11  # as many as the document's agent took
ANSWER = "answer"
_TASK, _SEEN = "Task: ", "Observation: "
_STEP = re.compile(r"^\d+\. .*?\b(\w+)\((\"(?:[^\"\\]|\\.)*\")\)", re.MULTILINE)


class AgentRun(NamedTuple):
    """What an agent did: calls of {thought, tool, input, output, error}, its answer (None: it gave none), and what it took."""

    turns: list[dict[str, Any]]
    answer: str | None
    figures: dict[str, int]


def run_agent(decide: Decide, goal: str, tools: Mapping[str, Tool], memory: str = "") -> AgentRun:
    """Let an agent work for a goal until it answers, 11 steps at most; `memory` stands before the task.

    figures: steps, tool_calls, tool_errors, and the tokens of all prompts and answers, estimated where a model does not tell
    them. Raises ModelUnavailable.
    """
    listed = "\n".join(f"- {name}: {DATA['tools'][name]}" for name in tools)
    messages = [{"role": "system", "content": f"{DATA['agent']}\nTools:\n{listed}"}]
    messages.append({"role": "user", "content": f"{memory}\n\n{_TASK}{goal}".strip()})
    turns, spent, answer, steps = list[dict[str, Any]](), 0, None, 0
    while answer is None and steps < MOST_STEPS:
        steps += 1
        try:
            said, tokens = decide(messages)
        except UnusableAnswer:  # a step, and no call
            said, tokens = {}, None
        texts = [*(message["content"] for message in messages), told := json.dumps(said)]
        spent += sum(map(count_tokens, texts)) if tokens is None else tokens
        if said.get("tool") == ANSWER:
            answer = said["input"]
            continue
        seen, ok = tools[said["tool"]](said["input"]) if said else (DATA["refused"], False)
        turns += [{**said, "output": seen, "error": not ok}] * bool(said)
        messages += [{"role": "assistant", "content": told}, {"role": "user", "content": _SEEN + seen}]
    errors = sum(turn["error"] for turn in turns)
    return AgentRun(turns, answer, {"steps": steps, "tool_calls": len(turns), "tool_errors": errors, "tokens": spent})


def model_agent(client: ModelClient, tools: list[str]) -> Decide:
    """An agent whose steps a model decides, in JSON of {thought, tool, input} and nothing else."""
    texts: dict[str, Any] = {name: {"type": "string"} for name in ("thought", "tool", "input")}
    schema = {"type": "object", "properties": texts, "required": [*texts], "additionalProperties": False}
    texts["tool"]["enum"] = [*tools, ANSWER]

    def decide(messages: list[ChatMessage]) -> tuple[Call, int | None]:
        said = client.complete(messages, json_schema=schema, temperature=0.0, max_tokens=512)
        return said.data, said.tokens

    return decide


class Situation(NamedTuple):
    """All that a script knows: the memory in its prompt, its goal, and its calls in this run as (tool, input, what came back)."""

    memory: str
    goal: str
    calls: list[tuple[str, str, str]]

    def came(self, tool: str) -> list[str]:
        """What came back from a tool."""
        return [seen for name, _, seen in self.calls if name == tool]

    def remembered(self, tool: str) -> list[str]:
        """What a tool was given in the numbered steps of the memory."""
        return [json.loads(given, strict=False) for name, given in _STEP.findall(self.memory) if name == tool]

    def first_new(self, options: list[str]) -> str:
        """The first of these that it has not tried yet; '' where it has tried all."""
        return next((option for option in options if option not in [given for _, given, _ in self.calls]), "")


def scripted(script: Callable[[Situation], tuple[str, str]]) -> Decide:
    """An agent that follows a script: from what it knows to a tool and what that is given."""

    def decide(messages: list[ChatMessage]) -> tuple[Call, int | None]:
        memory, _, goal = messages[1]["content"].rpartition(_TASK)
        made = [json.loads(message["content"]) for message in messages[2::2]]
        seen = [message["content"].removeprefix(_SEEN) for message in messages[3::2]]
        calls = [(said["tool"], said["input"], came) for said, came in zip(made, seen, strict=True)]
        tool, given = script(Situation(memory, goal, calls))
        return {"thought": "", "tool": tool, "input": given}, None

    return decide


def sales_analyst(known: Situation) -> tuple[str, str]:
    """Guesses English columns and pandas, unless its memory holds a query by name and a calculation that worked without."""
    tables, printed = [seen for seen in known.came("sales_db_query") if seen.count("\n") > 2], known.came("python_calc")
    if not tables:
        return "sales_db_query", _next_query(known)
    if printed and not printed[-1].startswith("Error"):
        return ANSWER, printed[-1]
    header, _, *lines = tables[-1].splitlines()
    rows = [tuple(map(int, line.split(" | "))) for line in lines]
    code = "\n".join(DATA["code"]).format(rows=rows, unit=100 if "centavos" in header else 1)
    is_plain = printed or any("pandas" not in given for given in known.remembered("python_calc"))
    return "python_calc", code if is_plain else f"import pandas\n{code}"


def _next_query(known: Situation) -> str:
    """One that its memory holds, one by the columns that it has seen, or a guess."""
    columns = [name for seen in known.came("sales_db_query") for name in seen.splitlines()[0].split(" | ")]
    found = [name for start in ("semana", "ingresos") for name in columns if name.startswith(start)]
    seen = f"SELECT {', '.join(found)} FROM ventas_q3 WHERE categoria = 'Electronica' ORDER BY semana"
    named = [query for query in known.remembered("sales_db_query") if "*" not in query]
    return known.first_new([*named, *[seen] * (len(found) == 2), *DATA["sql"]["guesses"]]) or seen


def reconciler(known: Situation) -> tuple[str, str]:
    """Follows a cursor where its memory names both the parameter and the header; else it guesses, and answers with what it has.

    As the document's small model it makes nothing of the words of an error.
    """
    replies = [json.loads(seen) for seen in known.came("stripe_charges_api")]
    pages = [reply for reply in replies if reply["status"] == 200]
    if not pages:
        return "stripe_charges_api", "/v1/charges"
    if pages[-1]["body"]["has_more"]:
        parameter, header = re.search(r"Use '(\w+)' with", known.memory), re.search(r"[A-Z]\w+-Cursor", known.memory)
        cursor = pages[-1]["headers"].get(header[0] if header else "Stripe-Cursor")
        if parameter and header and cursor:
            return "stripe_charges_api", f"/v1/charges?{parameter[1]}={cursor}"
        if guess := known.first_new([text.format(cursor=cursor) for text in DATA["stripe"]["guesses"]]):
            return "stripe_charges_api", guess
    charges = {charge["id"]: charge for page in pages for charge in page["body"]["data"]}.values()
    total, *marked = (sum(charge[name] for charge in charges) for name in ("amount", "disputed", "refunded"))
    return ANSWER, f"{len(charges)} charges, gross ${total / 100:,.2f}, {marked[0]} disputed, {marked[1]} refunded"


def refund_clerk(known: Situation) -> tuple[str, str]:
    """Looks the charges up and refunds the one, with the level of risk that its memory tells; where it is refused, it gives up."""
    if not known.calls:
        return "stripe_charges_api", "/v1/charges"
    if refunded := known.came("issue_refund"):
        return ANSWER, refunded[-1]
    rows = json.loads(known.calls[-1][2])["body"]["data"]
    wanted = next({"charge": row["id"], "amount": row["amount"]} for row in rows if row["id"] in known.goal)
    risk = re.search(r"risk_level: (\w+)", known.memory)
    return "issue_refund", json.dumps({**wanted, "risk_level": risk[1]} if risk else wanted)
