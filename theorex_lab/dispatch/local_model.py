"""Answer chat completions in this process, by a model in a GGUF file.

A url `local:PATH` in the setting `models` names the file. The client of any other
endpoint is used with it, so limits and checks are the same. The extra `local-model`
brings llama.cpp, which is loaded with the first question.
"""

from __future__ import annotations

import json
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from theorex_lab.core.errors import ConfigError, ModelUnavailable

LOCAL_PREFIX = "local:"
_LIBRARY = "xllamacpp"
_CONTEXT_TOKENS = 4_096
_GGUF_HEADER = b"GGUF"
# A model is loaded once, and answers one question after the other.
_ONE_AT_A_TIME = threading.Lock()


def is_local(url: str) -> bool:
    """Whether a url names a model's file.

    >>> is_local("local:~/models/small.gguf"), is_local("http://localhost:1234")
    (True, False)
    """
    return url.startswith(LOCAL_PREFIX)


def local_path(url: str) -> Path:
    """Return the file that a url names.

    Raises:
        ConfigError: It is no GGUF file.
    """
    path = Path(url.removeprefix(LOCAL_PREFIX)).expanduser()
    header = b""
    if path.is_file():
        with path.open("rb") as file:
            header = file.read(len(_GGUF_HEADER))
    if header != _GGUF_HEADER:
        raise ConfigError(
            f"got the model url {url!r}; allowed is {LOCAL_PREFIX}PATH of a GGUF file"
        )
    return path


def local_address(path: Path) -> str:
    """Return what the client believes to ask, which errors name; nothing is sent there.

    >>> local_address(Path("models/small.gguf"))
    'http://localhost/small.gguf'
    """
    return f"http://localhost/{quote(path.name)}"


def check_library() -> None:
    """Raise ModelUnavailable unless the extra is installed."""
    if find_spec(_LIBRARY) is None:
        raise ModelUnavailable(
            f"{_LIBRARY} is not installed, which runs models of {LOCAL_PREFIX}PATH;"
            " install the extra: pip install 'theorex_lab[local-model]'"
        )


class LocalModelTransport(httpx.BaseTransport):
    """Answer the requests of a client from a model in this process."""

    def __init__(self, path: Path) -> None:
        """Name the model's file, which is loaded with the first request.

        Args:
            path: The GGUF file.

        Raises:
            ModelUnavailable: The extra is not installed.
        """
        check_library()
        self._path = path

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the completion of a request's messages, as an endpoint does."""
        body = json.loads(request.read())
        try:
            with _ONE_AT_A_TIME:
                server = _loaded(self._path.resolve())
                answer = server.handle_chat_completions(body)
        except (RuntimeError, ValueError) as error:
            return httpx.Response(400, text=str(error))
        return httpx.Response(200, content=_encoded(answer))


def _encoded(answer: Any) -> bytes:
    """Return an answer as JSON, which the library gives as an object or as a text."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return text.encode()


@cache
def _loaded(path: Path) -> Any:
    """Return the server of a model's file, which is loaded once a process."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = _CONTEXT_TOKENS
    params.verbosity = 0  # it would write its log to stderr
    return xllamacpp.Server(params)
