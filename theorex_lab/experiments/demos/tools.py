"""The demos' tools, made for the trap that is in each: a database in Spanish, a calculator, pages named in a header."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from theorex_lab.text.sections import read_sections

DATA: dict[str, Any] = json.loads(Path(__file__).with_name("demos.json").read_text(encoding="utf-8"))
_GUARD = read_sections(__file__, "calc_guard.txt")["guard"]
_MOST_ROWS, _MOST_STEPS, _LONGEST_CHARACTERS, _SECONDS = 50, 1_000_000, 10_000, 5
_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
_SALES = "CREATE TABLE ventas_q3 (id INTEGER PRIMARY KEY, categoria TEXT, semana INTEGER, ingresos_centavos INTEGER, unidades_vendidas INTEGER)"


class Seen(NamedTuple):
    """What a tool gave back, and whether it did its work."""

    text: str
    ok: bool = True


Tool = Callable[[str], Seen]


def sales_db_query(query: str) -> Seen:
    """Run a query on the sales of a quarter, 18 rows of `ventas_q3`; only reading is allowed, at most 50 rows are shown.

    >>> print(sales_db_query("SELECT semana, ingresos_centavos FROM ventas_q3 WHERE id < 3").text)
    semana | ingresos_centavos
    --------------------------
    1 | 125000
    2 | 137500
    >>> sales_db_query("DELETE FROM ventas_q3")
    Seen(text='SQL Error: not authorized', ok=False)
    """
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(_SALES)
        rows = ((None, *row) for row in DATA["sql"]["rows"])
        database.executemany("INSERT INTO ventas_q3 VALUES (?, ?, ?, ?, ?)", rows)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 16)
        database.set_progress_handler(lambda: 1, _MOST_STEPS)
        database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY)
        try:
            cursor = database.execute(query)
            found = cursor.fetchmany(_MOST_ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            return Seen(f"SQL Error: {error}", ok=False)
    if not found:
        return Seen("Query returned 0 rows.")
    header = " | ".join(name for name, *_ in cursor.description)
    lines = [header, "-" * len(header), *(" | ".join(map(str, row)) for row in found[:_MOST_ROWS])]
    return Seen("\n".join([*lines, *["... (more rows than the 50 shown)"] * (len(found) > _MOST_ROWS)]))


def python_calc(code: str) -> Seen:
    """Run Python with the standard library alone, in a process of its own, for 5 s at most; what it printed.

    Files, sockets and other processes are refused by an audit hook, memory and output are bounded. That holds off a
    model's mistakes; no audit hook holds off an attacker.

    >>> python_calc("import math; print(math.sqrt(2) ** 2 > 2)")
    Seen(text='True', ok=True)
    >>> python_calc("open('/etc/passwd')").ok
    False
    """
    command = [sys.executable, "-I", "-S", "-c", _GUARD, str(_SECONDS)]
    with TemporaryDirectory() as folder, TemporaryFile() as out:
        how: dict[str, Any] = {"stdout": out, "stderr": subprocess.STDOUT, "cwd": folder, "env": {}, "check": False}
        try:
            how |= {"input": code.encode(errors="replace"), "timeout": _SECONDS}
            code_of_exit = subprocess.run(command, **how).returncode
        except subprocess.TimeoutExpired:
            return Seen(f"Error: it did not end within {_SECONDS} s", ok=False)
        out.seek(0)
        text = out.read(_LONGEST_CHARACTERS).decode(errors="replace").strip()
    if code_of_exit:
        return Seen(f"Error:\n{text.splitlines()[-1] if text else 'it was stopped'}", ok=False)
    return Seen(text or "Code executed successfully (no output printed).")


def stripe_charges_api(url: str) -> Seen:
    """14 charges on pages of 5, 5 and 4; the next page's cursor stands in the header Stripe-Cursor alone.

    >>> stripe_charges_api("/v1/charges?page=2").ok, stripe_charges_api("/v1/charges?starting_after=cur_page3_c7e1").ok
    (False, True)
    """
    path, _, query = url.partition("?")
    asked, cursors = dict(parse_qsl(query)), DATA["stripe"]["cursors"]
    if path.rstrip("/") != "/v1/charges":
        return _refused(404, f"Unrecognized request URL {path}")
    if wrong := [name for name in DATA["stripe"]["refused"] if name in asked]:
        return _refused(400, f"Unknown parameter '{wrong[0]}'. Use 'starting_after' with a cursor value.")
    if (cursor := asked.get("starting_after", "")) not in cursors:
        return _refused(400, f"Invalid cursor: '{cursor}'.")
    page = cursors.index(cursor)
    names = ("id", "amount", "status", "disputed", "refunded")
    rows = [dict(zip(names, row, strict=True)) for row in DATA["stripe"]["charges"][5 * page : 5 * page + 5]]
    following = {"Stripe-Cursor": cursors[page + 1]} if page + 1 < len(cursors) else {}
    return _reply(200, following, {"object": "list", "data": rows, "has_more": bool(following), "url": "/v1/charges"})


def issue_refund(request: str, *, with_risk: bool = True) -> Seen:
    """Refund a charge as a JSON object {charge, amount} says; the company's second rules ask for a risk_level too.

    >>> issue_refund('{"charge": "ch_01", "amount": 249900}').ok
    False
    """
    try:
        asked = dict(json.loads(request))
    except (ValueError, TypeError, RecursionError) as error:
        return _refused(400, f"no JSON object: {error}")
    if with_risk and asked.get("risk_level") not in DATA["risk"]:
        return _refused(422, f"risk_level is missing; allowed are {', '.join(DATA['risk'])}")
    return _reply(200, {}, {"refunded": asked.get("charge"), "amount": asked.get("amount")})


def _refused(status: int, told: str) -> Seen:
    return _reply(status, {}, {"error": {"message": told}})


def _reply(status: int, headers: dict[str, str], body: dict[str, Any]) -> Seen:
    shown = {"status": status, "headers": {"Content-Type": "application/json", **headers}, "body": body}
    return Seen(json.dumps(shown, indent=1), status < 400)


_ALL = (sales_db_query, python_calc, stripe_charges_api, issue_refund)
TOOLS: dict[str, Tool] = {tool.__name__: tool for tool in _ALL}
