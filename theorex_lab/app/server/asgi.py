"""What the servers have in common: ASGI's types, and how a request is refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

# JSON-RPC 2.0, section 5.1.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602

RpcMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[RpcMessage]]
Send = Callable[[RpcMessage], Awaitable[None]]
Application = Callable[[RpcMessage, Receive, Send], Awaitable[None]]


class RequestRefused(Exception):
    """A request that the guard answers itself."""

    def __init__(
        self,
        status: int,
        text: str,
        *,
        code: int = INVALID_REQUEST,
        identity: Any = None,
        **headers: str,
    ):
        super().__init__(text)
        self.status = status
        self.code = code
        self.identity = identity
        self.headers = {
            name.replace("_", "-"): value for name, value in headers.items()
        }

    def answer(self) -> dict[str, Any]:
        """Return what the client is told, as JSON-RPC has it."""
        return {
            "jsonrpc": "2.0",
            "id": self.identity,
            "error": {"code": self.code, "message": str(self)},
        }
