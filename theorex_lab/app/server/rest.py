"""The memory for programs that speak no protocol of agents, and the page for its owner.

Here are the briefing, and the routes that designs bring, over HTTP and web sockets.
What a request may hold and the OpenAPI document come from one table, `Design.routes`.
What the page asks stands below /memory/, and needs a key that agents do not have.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from anyio import CapacityLimiter, create_task_group, from_thread, to_thread
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic_core import from_json, to_json
from starlette import (
    datastructures,
    exceptions,
    requests,
    responses,
    routing,
    websockets,
)

from theorex_lab.app.server import asgi, auth, listening
from theorex_lab.app.server.briefing_route import BRIEFING
from theorex_lab.app.server.limits import (
    DEFAULT_RATE,
    Caller,
    LimitedServer,
    Rank,
    ServerLimits,
    address_of,
)
from theorex_lab.app.server.listening import host_names
from theorex_lab.app.server.memory_page.keys import PageKeys
from theorex_lab.app.server.memory_page.projects import PAGE_ROUTES
from theorex_lab.app.server.memory_page.scope import object_schema
from theorex_lab.app.server.page_files import PAGE_FILES, PRIVATE, page_response
from theorex_lab.app.server.scoped import (
    AgentId,
    design_for,
    is_the_owners,
    naming,
    tell_owner,
)
from theorex_lab.core.errors import TheorexError
from theorex_lab.memory.contract import Route
from theorex_lab.store.lab import Lab

MOST_BYTES = 4 << 20  # of a request's body, or of a message
UVICORN: dict[str, Any] = {
    "ws": "websockets-sansio",
    "ws_max_size": MOST_BYTES,
    "lifespan": "off",
}
_PAGE_PATH = "/memory/"  # below it is what the page asks
_OPEN_PATH = "/memory/open"
_WAY_IN = frozenset((_OPEN_PATH, *PAGE_FILES))
_FREE = _WAY_IN | {"/health", "/openapi.json"}
_HEALTHY = {"status": "ok"}
_NO_SECURITY: list[dict[str, list[str]]] = []
_PAGE_SECURITY: list[dict[str, list[str]]] = [{"page": []}]
_LinkCode = Annotated[
    str, Field(description="The code of a link.", min_length=1, max_length=128)
]
_MOST_CODE_BYTES = 4 << 10  # of the body that has the code of a link
# How many requests compute at once. The owner's wait for none of the others.
_AGENTS_THREADS = 24
_OWNERS_THREADS = 16
_MOST_REASONS = 5  # of one refusal
_REFUSED = (
    TheorexError,
    asgi.RequestRefused,
    ValidationError,
    exceptions.HTTPException,
)


def _key_for(keys: PageKeys, *, code: _LinkCode) -> dict[str, str]:
    """Return a key of the page for the code of a link, which then ends."""
    return {"key": keys.key_for(code)}


_OPEN = Route("POST", _OPEN_PATH, _key_for, object_schema({"key": "string"}))


class _Endpoint:
    """A route of the lab or of a design.

    Arguments are checked, its function runs in a thread, what it returns is sent as JSON.
    """

    def __init__(
        self,
        asked: Callable[[str], Any],
        route: Route,
        named: Callable[[str | None], str],
        *,
        threads: CapacityLimiter,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Read the arguments of a route.

        Args:
            asked: Returns what the route's function is given first, for an agent.
            route: The route.
            named: Whom a call speaks of, by the name in it.
            threads: In which of them the function runs.
            most_bytes: How much a body may hold.
        """
        self._asked = asked
        self._threads = threads
        self._most_bytes = most_bytes
        self.route = route
        self._named = named
        self._media = "application/x-ndjson" if route.lines else "application/json"
        fields: dict[str, Any] = {}
        for name, parameter in [
            *inspect.signature(route.run, eval_str=True).parameters.items()
        ][1:]:
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[name] = (
                (AgentId, None)
                if name == "agent_id"
                else (parameter.annotation, default)
            )
        fields.pop("progress", None)
        self._arguments = create_model(
            route.path, __config__=ConfigDict(extra="forbid"), **fields
        )

    def _check(
        self, body: bytes | str | None, strings: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the arguments from JSON with these strings beside, or from strings alone.

        Raises:
            ValidationError: The arguments are others.
        """
        if body is None:
            arguments = dict(self._arguments.model_validate_strings(strings))
        else:
            body_values = TypeAdapter(dict[str, Any]).validate_json(body or b"{}")
            arguments = dict(
                self._arguments.model_validate_json(
                    to_json({**body_values, **strings}), strict=True
                )
            )
        return arguments | (
            {"agent_id": self._named(arguments["agent_id"])}
            if "agent_id" in arguments
            else {}
        )

    def _run(self, arguments: Mapping[str, Any]) -> Any:
        agent = arguments.get("agent_id") or self._named(None)
        return self.route.run(self._asked(agent), **arguments)

    def _encoded(self, body: bytes | None, strings: Mapping[str, str]) -> bytes:
        result = self._run(self._check(body, strings))
        if self.route.lines:
            return b"".join(to_json(item) + b"\n" for item in result)
        return to_json(result)

    async def answer(self, request: requests.Request) -> responses.Response:
        """Return the response to a request."""
        has_body = request.method == "POST"
        in_query = {} if has_body else _once_each(request.query_params)
        strings = {**in_query, **request.path_params}
        body = (
            await auth.read_body(
                request.headers, request.receive, self._most_bytes, optional=True
            )
            if has_body
            else None
        )
        content = await to_thread.run_sync(
            self._encoded, body, strings, limiter=self._threads
        )
        return responses.Response(content, headers=PRIVATE, media_type=self._media)

    async def talk(self, socket: websockets.WebSocket) -> None:
        """Take one message, the body; send what is told meanwhile, then the answer.

        A client that leaves stops nothing.
        """
        await socket.accept(
            "bearer" if "bearer" in socket.scope["subprotocols"] else None
        )
        async with (
            create_task_group() as sending
        ):  # in order; what computes waits for no reader

            def tell(event: Mapping[str, Any]) -> None:
                if event["event"] != "completed":
                    from_thread.run_sync(sending.start_soon, _send, socket, {**event})

            try:
                message = await socket.receive()
                arguments = self._check(
                    message.get("text") or message.get("bytes") or "null", {}
                )
                event_fields = {
                    **await to_thread.run_sync(
                        self._run,
                        {**arguments, "progress": tell},
                        limiter=self._threads,
                    ),
                    "event": "completed",
                }
            except _REFUSED as error:
                event_fields = {"event": "error", **_refusal(error)[1]}
            sending.start_soon(_send, socket, event_fields)
        await _send(socket, None)

    def describe(
        self,
        document: dict[str, Any],
        security: list[dict[str, list[str]]] | None = None,
    ) -> routing.BaseRoute:
        """Put the route into an OpenAPI document, and return it.

        Web sockets, which OpenAPI does not know, stand in `x-websockets`.

        Args:
            document: The document.
            security: What a request needs; None for the token of the agent.
        """
        path = self.route.path
        method = self.route.method
        schema = self._arguments.model_json_schema(
            ref_template="#/components/schemas/{model}"
        )
        document["components"]["schemas"] |= schema.pop("$defs", {})
        about: dict[str, Any] = {"summary": inspect.getdoc(self.route.run)}
        if security is not None:
            about["security"] = security
        if method == "WS":
            document["x-websockets"][path] = {
                **about,
                "message": schema,
                "completed": self.route.answer,
            }
            return routing.WebSocketRoute(path, self.talk)
        strings = self._string_parameters(schema)
        if schema["properties"]:
            about["requestBody"] = {
                "required": bool(schema["required"]),
                "content": {"application/json": {"schema": schema}},
            }
        success = {
            "description": "Done.",
            "content": {self._media: {"schema": self.route.answer}},
        }
        refused = {
            code: {"$ref": f"#/components/responses/{code}"}
            for code in document["components"]["responses"]
        }
        document["paths"][path] = {
            method.lower(): {
                **about,
                "parameters": strings,
                "responses": {"200": success, **refused},
            }
        }
        return routing.Route(path, self.answer, methods=[method])

    def _string_parameters(self, schema: dict[str, Any]) -> list[dict[str, Any]]:
        """Take the arguments that are strings of the address out of a schema.

        Those are all of a GET, and of others what the path names. What is left in the
        schema is the body.

        Returns:
            The arguments as OpenAPI describes them.
        """
        members = schema["properties"]
        required = schema.pop("required", [])
        parameters: list[dict[str, Any]] = []
        for name in list(members):
            is_in_path = f"{{{name}}}" in self.route.path
            if self.route.method != "GET" and not is_in_path:
                continue
            parameters.append(
                {
                    "name": name,
                    "in": "path" if is_in_path else "query",
                    "required": name in required,
                    "schema": members.pop(name),
                }
            )
        if members:
            schema["required"] = [name for name in required if name in members]
        return parameters


class RestServer(LimitedServer):
    """The server as an ASGI application: the briefing, and the routes of the designs.

    Free of the token are /health, /openapi.json, and the files of the page. What the
    page asks needs one of `keys`, which the token of an agent is not; without them
    nobody has one.

    `hosts`: names under which it may be reached, beside those of this machine. `rate`:
    requests a second by the home's clock, twice as many at once, for the token, and for
    each address without it; not for the owner. A web socket may bring the token as the
    second of its subprotocols, after `bearer`, since a page can set no header.

    Raises:
        InvalidInput: A host is no name.
    """

    def __init__(
        self,
        lab: Lab,
        token: str,
        *,
        hosts: Sequence[str] = (),
        agent: str = "main",
        any_agent: bool = False,
        rate: float = DEFAULT_RATE,
        keys: PageKeys | None = None,
    ) -> None:
        super().__init__(ServerLimits.of(lab.settings, rate), lab.clock.now)
        self._token = token
        self._keys = keys or PageKeys(secrets.token_urlsafe(32))
        self._hosts = host_names(hosts)
        named = naming(agent, any_agent=any_agent)
        document = from_json((Path(__file__).parent / "openapi.json").read_bytes())
        endpoint_of = partial(
            _Endpoint, named=named, threads=CapacityLimiter(_AGENTS_THREADS)
        )
        owners_endpoint_of = partial(
            _Endpoint, named=named, threads=CapacityLimiter(_OWNERS_THREADS)
        )
        routes = [endpoint_of(lambda _: lab, BRIEFING).describe(document)]
        for design in lab.home.designs:
            for route in design.routes():
                asked = partial(design_for, lab, design.name, changes=route.changes)
                routes.append(endpoint_of(asked, route).describe(document))
        for route in PAGE_ROUTES:
            endpoint = owners_endpoint_of(lambda _: lab, route)
            routes.append(endpoint.describe(document, _PAGE_SECURITY))
        opening = owners_endpoint_of(
            lambda _: self._keys, _OPEN, most_bytes=_MOST_CODE_BYTES
        )
        routes.append(opening.describe(document, _NO_SECURITY))
        routes += self._fixed(document)
        self._router = routing.Router(routes, redirect_slashes=False)

    def _fixed(self, document: dict[str, Any]) -> list[routing.BaseRoute]:
        """Return the routes whose answers are always the same."""
        answers: dict[str, Any] = {}
        for path in PAGE_FILES:
            answers[path] = page_response(path)
        for path, content in (("/health", _HEALTHY), ("/openapi.json", document)):
            answers[path] = responses.JSONResponse(content, headers=PRIVATE)
        return [
            routing.Route(path, answer, methods=["GET"])
            for path, answer in answers.items()
        ]

    def caller(self, scope: asgi.RpcMessage) -> Caller:
        """Return who sends a request: the owner, the agent or a stranger."""
        headers = datastructures.Headers(scope=scope)
        _, _, credential = headers.get("authorization", "").partition(" ")
        if self._keys.is_open_to(credential.strip()):
            return Caller(Rank.OWNER, "")
        try:
            self._check_token(headers)
        except asgi.RequestRefused:
            return Caller(Rank.STRANGER, address_of(scope))
        return Caller(Rank.AGENT, "")

    def is_way_in(self, scope: asgi.RpcMessage) -> bool:
        """Return whether a request belongs to how the owner gets a key."""
        return scope["path"] in _WAY_IN

    def refusing(self, refusal: asgi.RequestRefused) -> asgi.Application:
        """Return the application that says what was refused."""
        return _refusing(refusal)

    async def answer(
        self,
        scope: asgi.RpcMessage,
        receive: asgi.Receive,
        send: asgi.Send,
        caller: Caller,
    ) -> None:
        """Check what the caller may ask, and answer."""
        listening.called.set()
        try:
            self._check(scope["path"], datastructures.Headers(scope=scope), caller)
            await self._router({**scope, "app": self}, receive, send)
        except _REFUSED as error:
            await _refusing(error)(scope, receive, send)

    def _check(
        self, path: str, headers: datastructures.Headers, caller: Caller
    ) -> None:
        """Refuse a request without the page's key, or without the agent's token."""
        auth.check_host(headers, self._hosts)
        if path in _FREE:
            return
        if path.startswith(_PAGE_PATH):
            self._keys.check(headers.get("authorization", ""))
        elif caller.rank is not Rank.AGENT:
            self._check_token(headers)

    def _check_token(self, headers: datastructures.Headers) -> None:
        offered = headers.get("sec-websocket-protocol", "").partition(",")
        credential = headers.get("authorization")
        auth.check_bearer(
            credential or f"{offered[0]} {offered[2].strip()}", self._token
        )


def _once_each(parameters: datastructures.QueryParams) -> dict[str, str]:
    """Return the parameters of an address. Each may stand there once.

    Raises:
        RequestRefused: One stands there twice.
    """
    once: dict[str, str] = {}
    for name, value in parameters.multi_items():
        if name in once:
            text = f"got the parameter {name[:64]!r} twice; allowed is once: give one"
            raise asgi.RequestRefused(422, text)
        once[name] = value
    return once


async def _send(socket: websockets.WebSocket, event: Mapping[str, Any] | None) -> None:
    """Send an event, or with None the end, unless the client is gone."""
    if (
        socket.client_state
        is socket.application_state
        is websockets.WebSocketState.CONNECTED
    ):
        with suppress(websockets.WebSocketDisconnect):
            await (
                socket.close()
                if event is None
                else socket.send_text(to_json(event).decode())
            )


def _refusing(error: Exception) -> asgi.Application:
    """Return the application that says what was refused."""
    status, reason = _refusal(error)
    headers = {**PRIVATE, **(getattr(error, "headers", None) or {})}
    return responses.JSONResponse(reason, status, headers)


def _refusal(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status of what is refused, and the reason.

    Of what is wrong with the memory the reason says only that something is.
    """
    status = getattr(error, "status", getattr(error, "status_code", 422))
    detail = getattr(error, "detail", str(error))
    if isinstance(error, ValidationError):
        wrong = error.errors(include_url=False)[:_MOST_REASONS]
        places = [".".join(map(str, at["loc"])) or "body" for at in wrong]
        field_errors = [
            f"{field_path}: {at['msg']} (got {at['input']!r:.80})"
            for field_path, at in zip(places, wrong, strict=True)
        ]
        detail = "; ".join(field_errors)
    elif is_the_owners(error):
        status = 503
        detail = tell_owner(error)
    return status, {"status": status, "detail": detail}
