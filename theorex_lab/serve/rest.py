"""The memory for programs that speak no protocol of agents: the routes that designs bring, over HTTP and web sockets.

What a request may hold, the OpenAPI document and the page come from one table, `Design.routes`.
"""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import from_thread, to_thread
from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic_core import to_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route, Router, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from theorex_lab import design
from theorex_lab.errors import ConfigError, InvalidInput, TheorexError
from theorex_lab.ids import check_agent
from theorex_lab.lab import Lab
from theorex_lab.serve import auth, idle
from theorex_lab.serve.listening import host_names, listen
from theorex_lab.serve.scoped import AgentId, naming

DEFAULT_RATE = 50.0  # requests a second; twice as many at once
MOST_BYTES = 4 << 20  # of a request's body, or of a message

_FREE = ("/", "/page.js", "/health", "/openapi.json")
_MOST_PEERS = 1024
_MOST_TOLD = 5  # reasons of one refusal
_PRIVATE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"}


class _Endpoint:
    """A route of a design: arguments are checked, its function runs in a thread, what it returns is sent as JSON."""

    def __init__(self, route: design.Route, face: Callable[[], Any], named: Callable[[str | None], str]) -> None:
        self.route, self._face, self._named = route, face, named
        self._media = "application/x-ndjson" if route.lines else "application/json"
        fields: dict[str, Any] = {}
        for name, taken in [*inspect.signature(route.run, eval_str=True).parameters.items()][1:]:
            if name != "progress":
                default = ... if taken.default is taken.empty else taken.default
                fields[name] = AgentId if name == "agent_id" else taken.annotation, default
        self._arguments = create_model(route.path, __config__=ConfigDict(extra="forbid"), **fields)

    def _check(self, body: bytes | str | None, strings: Mapping[str, str]) -> dict[str, Any]:
        """Arguments from JSON with these strings beside, or from strings alone. Raises ValidationError for others."""
        if body is None:
            given = dict(self._arguments.model_validate_strings(strings))
        else:
            said = TypeAdapter(dict[str, Any]).validate_json(body or b"{}")
            given = dict(self._arguments.model_validate_json(to_json({**said, **strings}), strict=True))
        return given | ({"agent_id": self._named(given["agent_id"])} if "agent_id" in given else {})

    def _run(self, given: Mapping[str, Any]) -> Any:
        return _shaped(self.route.answer, self.route.run(self._face(), **given))

    def _encoded(self, body: bytes | None, strings: Mapping[str, str]) -> bytes:
        found = self._run(self._check(body, strings))
        return b"".join(to_json(line) + b"\n" for line in found) if self.route.lines else to_json(found)

    async def answer(self, request: Request) -> Response:
        """The response to a request."""
        strings, body = {**request.query_params, **request.path_params}, None
        if request.method == "POST":
            body = await auth.read_body(request.headers, request.receive, MOST_BYTES, optional=True)
        found = await to_thread.run_sync(self._encoded, body, strings)
        return Response(found, headers=_PRIVATE, media_type=self._media)

    async def talk(self, websocket: WebSocket) -> None:
        """Take one message, the body, and send what is told meanwhile, then the answer; a client that leaves stops nothing."""
        await websocket.accept("bearer" if "bearer" in websocket.scope["subprotocols"] else None)
        async with anyio.create_task_group() as sending:  # in order; what computes waits for no reader

            def tell(event: Mapping[str, Any]) -> None:
                from_thread.run_sync(sending.start_soon, _send, websocket, {**event})

            try:
                message = await websocket.receive()
                given = self._check(message.get("text") or message.get("bytes") or "null", {})
                sending.start_soon(_send, websocket, {"event": "started", **given})
                told = {"event": "completed", **await to_thread.run_sync(self._run, {**given, "progress": tell})}
            except _REFUSED as error:
                status, detail = _refusal(error)
                told = {"event": "error", "status": status, "detail": detail}
            sending.start_soon(_send, websocket, told)
        await _send(websocket, None)

    def describe(self, told: dict[str, Any]) -> Route | WebSocketRoute:
        """Put the route into an OpenAPI document; web sockets, which that does not know, stand in `x-websockets`."""
        path, method = self.route.path, self.route.method
        taken = self._arguments.model_json_schema(ref_template="#/components/schemas/{model}")
        told["components"]["schemas"] |= taken.pop("$defs", {})
        about: dict[str, Any] = {"summary": inspect.getdoc(self.route.run)}
        if method == "WS":
            told["x-websockets"][path] = {**about, "message": taken, "completed": self.route.answer}
            return WebSocketRoute(path, self.talk)
        members, needed = taken["properties"], taken.pop("required", [])
        places = {name: "path" if f"{{{name}}}" in path else "query" for name in members}
        about["parameters"] = [
            {"name": name, "in": place, "required": name in needed, "schema": members.pop(name)}
            for name, place in places.items() if method == "GET" or place == "path"
        ]  # fmt: skip
        if members:
            taken["required"] = [name for name in needed if name in members]
            about["requestBody"] = {
                "required": bool(taken["required"]),
                "content": {"application/json": {"schema": taken}},
            }
        refused = {code: {"$ref": f"#/components/responses/{code}"} for code in told["components"]["responses"]}
        about["responses"] = {
            "200": {"description": "Done.", "content": {self._media: {"schema": self.route.answer}}},
            **refused,
        }
        told["paths"][path] = {method.lower(): about}
        return Route(path, self.answer, methods=[method])


class RestServer:
    """The server as an ASGI application: the routes of the home's designs, and free of the token /health, /openapi.json and a page.

    `hosts`: names under which it may be reached, beside those of this machine. `rate`: requests a second by the home's clock,
    twice as many at once, for the token, and for each address without it. A web socket may bring the token as the second of
    its subprotocols, after `bearer`, since a page can set no header. Raises InvalidInput for a wrong name.
    """

    def __init__(
        self, lab: Lab, token: str, *, hosts: Sequence[str] | None = None, agent: str = "main", any_agent: bool = False,
        rate: float = DEFAULT_RATE,
    ) -> None:  # fmt: skip
        self._rules, self._now, self._rate = auth.Rules(token, host_names(hosts)), lab.clock.now, rate
        self._left: dict[str, tuple[float, int]] = {}  # who asks -> requests left, and when (µs)
        folder, named = Path(__file__).parent, naming(check_agent(agent), any_agent=any_agent)
        told = json.loads((folder / "openapi.json").read_bytes())
        served = [
            _Endpoint(route, partial(lab.design, own.name), named) for own in lab.home.designs for route in own.routes()
        ]
        routes = [each.describe(told) for each in served]
        page, script = (FileResponse(folder / name, headers=_PRIVATE) for name in ("page.html", "page.js"))
        free = page, script, JSONResponse({"status": "ok"}, headers=_PRIVATE), JSONResponse(told, headers=_PRIVATE)
        routes += [Route(path, answer, methods=["GET"]) for path, answer in zip(_FREE, free, strict=True)]
        self._router = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: auth.RpcMessage, receive: auth.Receive, send: auth.Send) -> None:
        """As ASGI has it."""
        try:
            self._check(scope, Headers(scope=scope))
            await self._router(scope, receive, send)
        except _REFUSED as error:
            status, detail = _refusal(error)
            headers = {**_PRIVATE, **getattr(error, "headers", {})}
            await JSONResponse({"detail": detail}, status, headers)(scope, receive, send)

    def _check(self, scope: auth.RpcMessage, headers: Headers) -> None:
        idle.called.set()
        auth.check_host(headers, self._rules.hosts)
        offered = headers.get("sec-websocket-protocol", "").partition(",")
        try:
            auth.check_bearer(headers.get("authorization") or f"{offered[0]} {offered[2].strip()}", self._rules.token)
        except auth.RequestRefused:
            self._take((scope.get("client") or ("?",))[0])
            if scope["path"] not in _FREE:
                raise
        else:
            self._take("")

    def _take(self, who: str) -> None:
        now, most = self._now(), 2 * self._rate
        left, before = self._left.pop(who, (most, now))
        left = min(most, left + max(0, now - before) * self._rate / 1e6)
        self._left[who] = left - (left >= 1), now
        if len(self._left) > _MOST_PEERS:
            del self._left[next(iter(self._left))]
        if left < 1:
            told = f"more than {self._rate:g} requests a second; --rate allows others"
            raise auth.RequestRefused(429, told, Retry_After=str(math.ceil((1 - left) / self._rate)))


async def _send(websocket: WebSocket, event: Mapping[str, Any] | None) -> None:
    """Send an event, or with None the end, unless the client is gone."""
    if websocket.client_state is websocket.application_state is WebSocketState.CONNECTED:
        with suppress(WebSocketDisconnect):
            await (websocket.close() if event is None else websocket.send_text(to_json(event).decode()))


def _shaped(schema: Mapping[str, Any], found: Any) -> Any:
    """What the schema names of what was found."""
    if isinstance(found, list):
        return [_shaped(schema["items"], item) for item in found]
    one = next((form for form in schema.get("oneOf", ()) if found.keys() >= {*form["required"]}), schema)
    known = one.get("properties")
    return {name: _shaped(known[name], found[name]) for name in known if name in found} if known else found


_REFUSED = (TheorexError, auth.RequestRefused, ValidationError)


def _refusal(error: Exception) -> tuple[int, str]:
    """Status and reason of what is refused; of what is wrong with the memory only that something is."""
    if isinstance(error, ValidationError):
        wrong = error.errors(include_url=False)[:_MOST_TOLD]
        return 422, "; ".join(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']} (got {each['input']!r:.80})" for each in wrong
        )
    if isinstance(error, ConfigError) or (isinstance(error, TheorexError) and not isinstance(error, InvalidInput)):
        print(f"theorex: {error}", file=sys.stderr)  # noqa: T201 - the server's own output, for who runs it
        return 503, "the memory cannot be read or written now; the server's own output says why"
    return getattr(error, "status", 422), str(error)


def serve_rest(lab: Lab, token: str, *, agent: str, any_agent: bool, rate: float = DEFAULT_RATE, **where: Any) -> None:
    """Serve until the process is told to end, at `where`, as `listening.listen` takes it and raises."""
    make = partial(RestServer, lab, token, agent=agent, any_agent=any_agent, rate=rate)
    listen(lab, make, ws="websockets-sansio", ws_max_size=MOST_BYTES, lifespan="off", **where)
