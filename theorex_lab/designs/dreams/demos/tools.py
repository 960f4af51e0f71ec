"""The demos' tools, each with the trap that the document gives it.

There is a database with Spanish columns, a calculator without pandas, and two services
that name the next page in a header alone. The data are those of the document.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from theorex_lab.core.processes import ProgramTimeout, python_program, run_program

_FOLDER = Path(__file__).parent
DATA: dict[str, Any] = json.loads((_FOLDER / "demos.json").read_text(encoding="utf-8"))
_MOST_ROWS = 50
_MOST_STEPS = 1_000_000
_MOST_CHARACTERS = 10_000
_LONGEST_ERROR = 300
_LONGEST_BYTES = 1 << 16
_PAGE_ROWS = 5
CALC_SECONDS = 5
_READS = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)
_SALES = """
CREATE TABLE ventas_q3 (
    id INTEGER PRIMARY KEY,
    categoria TEXT,
    semana INTEGER,
    ingresos_centavos INTEGER,
    unidades_vendidas INTEGER
)
"""


class DemoAnswer(NamedTuple):
    """Hold what a tool gave back, and whether it did its work."""

    text: str
    ok: bool = True


Tool = Callable[[str], DemoAnswer]


def sales_db_query(query: str) -> DemoAnswer:
    """Run a query on the sales of a quarter, 18 rows of `ventas_q3`.

    Only reading is allowed, and at most 50 rows are shown.

    >>> answer = sales_db_query("SELECT semana, ingresos_centavos FROM ventas_q3")
    >>> answer.text.splitlines()[2]
    '1 | 125000'
    >>> sales_db_query("DELETE FROM ventas_q3")
    DemoAnswer(text='SQL Error: not authorized', ok=False)
    """
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(_SALES)
        rows = [(None, *row) for row in DATA["sql"]["rows"]]
        database.executemany("INSERT INTO ventas_q3 VALUES (?, ?, ?, ?, ?)", rows)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_BYTES)
        database.set_progress_handler(lambda: 1, _MOST_STEPS)
        database.set_authorizer(_authorize)
        try:
            cursor = database.execute(query)
            result = cursor.fetchmany(_MOST_ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            return DemoAnswer(f"SQL Error: {error}", ok=False)
    if not result:
        return DemoAnswer("Query returned 0 rows.")
    names = [name for name, *_ in cursor.description]
    return DemoAnswer(_table(names, result))


def _authorize(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    header = " | ".join(names)
    lines = [header, "-" * len(header)]
    for row in rows[:_MOST_ROWS]:
        lines.append(" | ".join(map(str, row)))
    if len(rows) > _MOST_ROWS:
        lines.append(f"... (more rows than the {_MOST_ROWS} shown)")
    return "\n".join(lines)


def python_calc(code: str) -> DemoAnswer:
    """Run Python with the standard library alone; return what it printed.

    It runs in a process of its own, for five seconds at most. Files, sockets and other
    processes are refused, memory and output are bounded. That holds off a model's
    mistakes, and no attacker.

    >>> python_calc("import math; print(math.sqrt(16))")
    DemoAnswer(text='4.0', ok=True)
    >>> python_calc("open('/etc/passwd')").ok
    False
    """
    guard = str(_FOLDER / "calc_guard.py")
    with TemporaryDirectory() as folder:
        printed = Path(folder) / "printed.txt"
        try:
            ended = run_program(
                python_program(),
                ["-I", "-S", guard, str(CALC_SECONDS), str(printed)],
                variables={},
                folder=folder,
                given=code.encode(errors="replace"),
                seconds=CALC_SECONDS,
            )
        except ProgramTimeout:
            problem = f"Error: it did not end within {CALC_SECONDS} s"
            return DemoAnswer(problem, ok=False)
        text = _beginning_of(printed)
    if ended.code:
        last_line = text.splitlines()[-1][:_LONGEST_ERROR] if text else "it was stopped"
        return DemoAnswer(f"Error:\n{last_line}", ok=False)
    return DemoAnswer(text or "Code executed successfully (no output printed).")


def _beginning_of(file: Path) -> str:
    """Return the first characters of a file, '' where it is not there."""
    try:
        with file.open("rb") as printed:
            return printed.read(_MOST_CHARACTERS).decode(errors="replace").strip()
    except FileNotFoundError:
        return ""


def stripe_charges_api(url: str) -> DemoAnswer:
    """Answer a request for 14 charges on pages of 5, 5 and 4.

    The next page's cursor stands in the header Stripe-Cursor alone.

    >>> stripe_charges_api("/v1/charges?page=2").ok
    False
    >>> stripe_charges_api("/v1/charges?starting_after=cur_page3_c7e1").ok
    True
    """
    path, parameters = _request(url)
    about = DATA["stripe"]
    if path.rstrip("/") != "/v1/charges":
        return _refused(404, f"Unrecognized request URL {path}")
    for name in about["refused"]:
        if name in parameters:
            advice = "Use 'starting_after' with a cursor value."
            return _refused(400, f"Unknown parameter '{name}'. {advice}")
    cursor = parameters.get("starting_after", "")
    if cursor not in about["cursors"]:
        return _refused(400, f"Invalid cursor: '{cursor}'.")
    names = ("id", "amount", "status", "disputed", "refunded")
    rows, next_cursor = _page(about["charges"], about["cursors"], cursor)
    data = _objects(names, rows)
    headers = {}
    if next_cursor:
        headers["Stripe-Cursor"] = next_cursor
    body = {
        "object": "list",
        "data": data,
        "has_more": bool(headers),
        "url": "/v1/charges",
    }
    return _reply(200, headers, body)


def paginated_api_fetch(url: str) -> DemoAnswer:
    """Answer a request for 13 employees; the header X-Next-Page names the next page.

    >>> paginated_api_fetch("/api/employees?token=page_beta").ok
    True
    """
    path, parameters = _request(url)
    about = DATA["employees"]
    if path.rstrip("/") != "/api/employees":
        return _refused(404, f"Unrecognized request URL {path}")
    for name in about["refused"]:
        if name in parameters:
            return _refused(400, f"Unknown parameter '{name}'.")
    token = parameters.get("token", "")
    if token not in about["cursors"]:
        return _refused(400, f"Invalid token: '{token}'.")
    rows, next_token = _page(about["rows"], about["cursors"], token)
    data = _objects(("id", "name", "team"), rows)
    headers = {}
    if next_token:
        headers["X-Next-Page"] = next_token
    return _reply(200, headers, {"employees": data, "total_pages": 3})


def issue_refund(request: str, *, with_risk: bool = True) -> DemoAnswer:
    """Refund a charge as a JSON object {charge, amount} says.

    The company's second rules ask for a risk_level too.

    Args:
        request: The object.
        with_risk: Whether the second rules hold.

    >>> issue_refund('{"charge": "ch_01", "amount": 249900}').ok
    False
    """
    try:
        members = json.loads(request)
    except (ValueError, RecursionError) as error:
        return _refused(400, f"no JSON object: {error}")
    if not isinstance(members, dict):
        return _refused(400, "no JSON object")
    if with_risk and members.get("risk_level") not in DATA["risk"]:
        allowed = ", ".join(DATA["risk"])
        return _refused(422, f"risk_level is missing; allowed are {allowed}")
    body = {
        "refunded": members.get("charge"),
        "amount": members.get("amount"),
    }
    return _reply(200, {}, body)


def _request(url: str) -> tuple[str, dict[str, str]]:
    """Return the path and the parameters of a request."""
    path, _, query = url.partition("?")
    return path, dict(parse_qsl(query))


def _page(
    rows: Sequence[Any], cursors: Sequence[str], cursor: str
) -> tuple[Sequence[Any], str]:
    """Return the rows of a page, and the cursor of the next one, '' for the last."""
    page = cursors.index(cursor)
    start = page * _PAGE_ROWS
    end = start + _PAGE_ROWS
    next_cursor = ""
    if page + 1 < len(cursors):
        next_cursor = cursors[page + 1]
    return rows[start:end], next_cursor


def _objects(names: Sequence[str], rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Return rows as objects with these members."""
    objects = []
    for row in rows:
        pairs = zip(names, row, strict=True)
        objects.append(dict(pairs))
    return objects


def _refused(status: int, message: str) -> DemoAnswer:
    return _reply(status, {}, {"error": {"message": message}})


def _reply(
    status: int, headers: Mapping[str, str], body: Mapping[str, Any]
) -> DemoAnswer:
    shown = {
        "status": status,
        "headers": {"Content-Type": "application/json", **headers},
        "body": body,
    }
    return DemoAnswer(json.dumps(shown, indent=1), status < 400)


_ALL = (
    sales_db_query,
    python_calc,
    stripe_charges_api,
    paginated_api_fetch,
    issue_refund,
)
TOOLS: dict[str, Tool] = {tool.__name__: tool for tool in _ALL}
