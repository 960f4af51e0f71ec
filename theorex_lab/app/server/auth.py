"""Who may speak to a server of this machine.

Here are a token kept in the home, checks of a request, and a guard in front of
JSON-RPC.
"""

import hmac
import os
import re
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from theorex_lab.app.server.asgi import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Application,
    Receive,
    RequestRefused,
    RpcMessage,
    Send,
)
from theorex_lab.app.server.limits import (
    Caller,
    LimitedServer,
    Rank,
    ServerLimits,
    address_of,
)
from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.files import make_folder
from theorex_lab.core.ids import check_agent

_TOKEN_FILE = "mcp-token"
_TOKEN_BYTES = 32
_SHORTEST_TOKEN = 16
_LONGEST_TOKEN = 512


def token_file(home: Path, agent: str) -> Path:
    """Return where the token of an agent lies.

    Each agent has its own, which opens that agent's memory alone.

    >>> token_file(Path("home"), "sage").name
    'mcp-token-sage'
    """
    return home / f"{_TOKEN_FILE}-{check_agent(agent)}"


def check_token_file(file: Path, home: Path, agent: str) -> Path:
    """Return `file`, checked that it is no other agent's.

    Raises:
        InvalidInput: It holds what opens, or once opened, another agent's memory.
    """
    own_file = token_file(home, agent)
    is_in_home = (
        file.name.startswith(_TOKEN_FILE) and file.absolute().parent == home.absolute()
    )
    if is_in_home and file.name != own_file.name:
        raise InvalidInput(
            f"got {file}, which is not of agent {agent!r}; allowed are {own_file.name}, and"
            " files elsewhere"
        )
    return file


def read_token(file: Path) -> str:
    """Return the token in `file`; made at first use, readable by its owner alone.

    Several processes may start at once: one of them makes it, and all get the same.

    Raises:
        StorageError: The file cannot be made or read.
        InvalidInput: Its content is no token, or others may read it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     token = read_token(Path(folder) / "mcp-token")
    ...     read_token(Path(folder) / "mcp-token") == token, len(token)
    (True, 43)
    """
    try:
        if not file.exists():
            _make_token(file)
        mode = stat.S_IMODE(file.stat().st_mode)
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(
            f"cannot read or make {file}: {error}; choose one with --token-file"
        ) from error
    advice = "remove the file, and a new one is made"
    if os.name == "posix" and mode & 0o077:
        raise InvalidInput(
            f"others may read or write the token file {file} (mode {mode:o}); allowed"
            f" is 600: {advice}"
        )
    if not re.fullmatch(f"[!-~]{{{_SHORTEST_TOKEN},{_LONGEST_TOKEN}}}", text):
        allowed = (
            f"{_SHORTEST_TOKEN} to {_LONGEST_TOKEN} ASCII characters without spaces"
        )
        raise InvalidInput(f"{file} holds no token; allowed are {allowed}: {advice}")
    return text


def _make_token(file: Path) -> None:
    """Write the file complete under another name, then link it.

    So it is never seen half written.
    """
    make_folder(str(file.parent))
    draft = file.with_name(f".{file.name}.{os.getpid()}-{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        with suppress(FileExistsError):  # another process was first
            os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)


class Guard(LimitedServer):
    """An ASGI application in front of another, which checks each request.

    It checks host, origin, token, size and form.

    `hosts`: values of the Host header, a port of `*` standing for any. `max_body_bytes`
    bounds one request's body.
    """

    def __init__(
        self,
        application: Application,
        token: str,
        hosts: Sequence[str],
        *,
        max_body_bytes: int = 1 << 20,
        path: str = "/mcp",
        limits: ServerLimits | None = None,
    ) -> None:
        super().__init__(limits or ServerLimits())
        self.application = application
        self.token = token
        self.hosts = hosts
        self.path = path
        self.max_body_bytes = max_body_bytes

    def caller(self, scope: RpcMessage) -> Caller:
        """Return who sends a request."""
        try:
            check_bearer(Headers(scope=scope).get("authorization", ""), self.token)
        except RequestRefused:
            return Caller(Rank.STRANGER, address_of(scope))
        return Caller(Rank.AGENT, "")

    def refusing(self, refusal: RequestRefused) -> Application:
        """Return the application that says what was refused, as JSON-RPC has it."""
        return JSONResponse(refusal.answer(), refusal.status, refusal.headers)

    async def answer(
        self, scope: RpcMessage, receive: Receive, send: Send, caller: Caller
    ) -> None:
        """Check a request, and hand it on."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        headers = Headers(scope=scope)
        check_host(headers, self.hosts)
        if (scope["method"], scope["path"]) == ("GET", "/health"):
            await JSONResponse({"status": "ok"})(scope, receive, send)
            return
        if caller.rank is Rank.STRANGER:
            raise _token_needed()
        if scope["path"] != self.path:
            raise RequestRefused(
                404, f"there is nothing here; the server's path is {self.path}"
            )
        if scope["method"] != "POST":
            # A GET would wait for messages that this server never sends.
            raise RequestRefused(405, "requests are taken by POST", Allow="POST")
        body = await read_body(headers, receive, self.max_body_bytes)
        check_message(body)
        await self.application(scope, _replay(body, receive), send)


def check_host(headers: Headers, hosts: Sequence[str]) -> None:
    """Refuse DNS rebinding.

    By that a page of another site reaches this server under that site's name.
    """
    if not _is_listed(headers.get("host", ""), hosts):
        raise RequestRefused(
            421, "the Host header names another server; --allowed-host adds a name"
        )
    if (origin := headers.get("origin")) is not None:
        scheme, separator, name = origin.partition("://")
        if (
            not separator
            or scheme not in ("http", "https")
            or not _is_listed(name, hosts)
        ):
            raise RequestRefused(
                403, "requests from pages of other origins are refused"
            )


def check_bearer(header: str, token: str) -> None:
    """Refuse an Authorization header that does not hold the token."""
    scheme, _, credential = header.partition(" ")
    is_valid = (
        hmac.compare_digest(credential.strip().encode(), token.encode())
        and scheme.lower() == "bearer"
    )
    if not is_valid:
        raise _token_needed()


def _token_needed() -> RequestRefused:
    needed = (
        "the bearer token of the server's agent is needed: see its mcp-token file in"
        " the home"
    )
    return RequestRefused(401, needed, WWW_Authenticate="Bearer")


async def read_body(
    headers: Headers, receive: Receive, limit: int, *, optional: bool = False
) -> bytes:
    """Return the JSON of a request of at most `limit` bytes.

    `optional`: there need not be any, and then no Content-Type.
    """
    is_json = (
        headers.get("content-type", "").partition(";")[0].strip().lower()
        == "application/json"
    )
    if not is_json and not optional:
        raise RequestRefused(415, "the Content-Type must be application/json")
    size = 0
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise RequestRefused(400, "the request was broken off")
        size += len(message.get("body", b""))
        if size <= limit:
            body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    # Only now, though the rest was let go: a client that is still sending would miss
    # the answer.
    if size > limit:
        raise RequestRefused(
            413, f"a request may hold up to {limit} bytes", Connection="close"
        )
    if size and not is_json:
        raise RequestRefused(415, "the Content-Type must be application/json")
    return bytes(body)


def check_message(body: bytes | str) -> dict[str, Any]:
    """Return the message in `body`, which is a single JSON-RPC 2.0 request.

    Others are refused: with -32700 what is not JSON, with -32600 what has another form,
    answers too, since these servers ask nothing, and with -32602 parameters by position.

    >>> check_message('{"jsonrpc": "2.0", "id": "a", "method": "ping"}')["method"]
    'ping'
    """
    try:
        # The parser of the protocol's own library, so that nothing passes here that
        # fails there.
        message = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise RequestRefused(
            400, "the request is not JSON", code=PARSE_ERROR
        ) from error
    if not isinstance(message, dict):
        raise RequestRefused(400, "a request is one JSON object; batches are not taken")
    identity = message.get("id")
    if "id" in message and (
        isinstance(identity, bool) or not isinstance(identity, str | int)
    ):
        raise RequestRefused(400, "an id is a text or a whole number")
    if message.get("jsonrpc") != "2.0":
        raise RequestRefused(400, 'the member jsonrpc must be "2.0"', identity=identity)
    if not isinstance(message.get("method"), str):
        raise RequestRefused(
            400, "the member method must be there, and a text", identity=identity
        )
    parameters = message.get("params", {})
    if not isinstance(parameters, dict):
        code = INVALID_PARAMS if isinstance(parameters, list) else INVALID_REQUEST
        raise RequestRefused(
            400, "the member params must be an object", code=code, identity=identity
        )
    return message


def _is_listed(host: str, allowed: Sequence[str]) -> bool:
    name, _, port = host.rpartition(":")
    any_port = f"{name}:*" if port.isdecimal() else f"{host}:*"
    return host in allowed or any_port in allowed


def _replay(body: bytes, receive: Receive) -> Receive:
    messages: list[RpcMessage] = [
        {"type": "http.request", "body": body, "more_body": False}
    ]

    async def replay() -> RpcMessage:
        return messages.pop() if messages else await receive()

    return replay
