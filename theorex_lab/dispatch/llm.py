"""Language models behind OpenAI-compatible endpoints: one call with a deadline, and a
chain of models to fall back on.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

from theorex_lab.core.errors import (
    ConfigError,
    InvalidInput,
    ModelUnavailable,
    UnusableAnswer,
)
from theorex_lab.core.settings import Settings
from theorex_lab.core.strict_json import unambiguous
from theorex_lab.search.endpoint import (
    checked_key,
    encodable,
    endpoint_url,
    excerpt,
    key_from,
)

if TYPE_CHECKING:
    import httpx

    from theorex_lab.search.wire import Deadline, HttpReply

ChatMessage = dict[str, str]
Prompt = str | list[ChatMessage]
Clients = MutableMapping[str, "ModelClient"] | None
Check = Callable[[Any], Any]
ROLES = ("system", "user", "assistant")
_LONGEST_TIMEOUT_SECONDS = 86_400.0
_FIRST_WAIT_SECONDS = 0.25


@dataclass(frozen=True)
class Completion:
    """What a model answered.

    `model`: the name that was asked. Token counts are None where the endpoint gave none
    that make sense. `latency_ms`: of the request that was answered, without the tries
    before it. `cut`: the answer stopped at `max_tokens`. `data`: the parsed answer
    where a JSON schema was asked for.
    """

    text: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_ms: float
    cut: bool = False
    data: Any = None

    @property
    def tokens(self) -> int | None:
        """Tokens of prompt and answer together, or None."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Attempt:
    """How one model of a chain did; latency, tokens and cost are None where it did not
    answer.

    `tokens`: of prompt and answer together, which may be known where the parts are not.

    `unavailable`: no answer came at all, which says nothing of the model's answers.
    """

    model: str
    success: bool
    latency_ms: float | None = None
    tokens: int | None = None
    cost: float | None = None
    error: str | None = None
    unavailable: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class ChainAnswer:
    """What came of a chain: the first completion, or None, and every attempt in order.

    `kinds`: of each model that failed, the `kind` of its ModelUnavailable.
    """

    completion: Completion | None
    attempts: list[Attempt]
    kinds: dict[str, str] = field(default_factory=dict)


class _Busy(ModelUnavailable):
    """The endpoint asks to come back later, in `wait_seconds` where it says so."""

    def __init__(self, text: str, wait_seconds: float | None) -> None:
        super().__init__(text, "busy")
        self.wait_seconds = wait_seconds


class ModelClient:
    """A model behind an OpenAI-compatible `/v1/chat/completions`, on this machine
    unless `allow_remote`.

    `url` may stop at the host, at `/v1` or at the route. Redirects are not followed,
    proxies of the environment are not used. Status 429 and 5xx and broken connections
    are tried again, up to `attempts` times within `timeout_seconds`. It may be used by
    several threads at once; `transport` and `sleep` are for tests. Raises ConfigError
    for a refused address or key.

    >>> ModelClient("http://localhost:1234", "ministral-3b").url
    'http://localhost:1234/v1/chat/completions'
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        timeout_seconds: float = 30.0,
        max_response_bytes: int = 4 << 20,
        api_key: str | None = None,
        allow_remote: bool = False,
        max_tokens: int = 1024,
        temperature: float = 0.3,
        attempts: int = 3,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        from theorex_lab.search.wire import new_client

        if not model:
            raise ConfigError(
                "got an empty model name; give the name that the endpoint knows"
            )
        if max_response_bytes <= 0 or attempts < 1:
            got = f"a limit of {max_response_bytes} bytes and {attempts} attempts"
            raise ConfigError(f"got {got}; allowed is 1 or more")
        self.url = endpoint_url(
            url, "chat/completions", what=f"{model} model", allow_remote=allow_remote
        )
        self.base_url = url
        self.model = model
        self._timeout_seconds = _checked_timeout(timeout_seconds)
        self._max_response_bytes = max_response_bytes
        self._api_key = checked_key(api_key, model)
        self._defaults = {"max_tokens": max_tokens, "temperature": temperature}
        self._attempts = attempts
        self._sleep = sleep or time.sleep
        # Waits of processes that failed together must differ, whatever seed an
        # experiment uses.
        self._jitter = random.SystemRandom()
        self._client = new_client(transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def complete(self, prompt: Prompt, **options: Any) -> Completion:
        """Ask the model once; `timeout_seconds` bounds the whole call, with all its
        tries and waits.

        `options`: json_schema, max_tokens, temperature, seed, timeout_seconds, images
        (data URIs, shown with the last message); None leaves what is set. `prompt`: one
        user message, or messages {"role": system|user|assistant, "content": text}. With
        `json_schema` the answer has to be JSON that satisfies it (numbers written as
        text do not) and is found parsed in `data`. Raises InvalidInput for a prompt or
        schema of another shape, UnusableAnswer for an answer that cannot be used, and
        ModelUnavailable where none came.
        """
        from theorex_lab.search.wire import Deadline

        json_schema = options.pop("json_schema", None)
        timeout_seconds = options.pop("timeout_seconds", None)
        messages = _with_images(_messages(prompt), options.pop("images", ()))
        body: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            **self._defaults,
        }
        body |= {name: value for name, value in options.items() if value is not None}
        check = None
        if json_schema is not None:
            check = _compiled(json_schema)
            described = {"name": "answer", "strict": True, "schema": json_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        deadline = Deadline(
            self._timeout_seconds
            if timeout_seconds is None
            else _checked_timeout(timeout_seconds)
        )
        reply, latency_ms = self._repeatedly(json.dumps(body).encode(), deadline)
        return self._completion(reply, latency_ms, check)

    def _repeatedly(self, body: bytes, deadline: Deadline) -> tuple[HttpReply, float]:
        """Ask again where the endpoint is busy or the connection broke, as often and as
        long as is allowed.
        """
        from theorex_lab.search.wire import ConnectionLost

        number = 1
        while True:
            try:
                return self._once(body, deadline)
            except (_Busy, ConnectionLost) as error:
                # What the endpoint asks for, else a wait that doubles each time, give
                # or take a half.
                wait_seconds = error.wait_seconds if isinstance(error, _Busy) else None
                if wait_seconds is None:
                    wait_seconds = (
                        _FIRST_WAIT_SECONDS
                        * 2.0 ** (number - 1)
                        * self._jitter.uniform(0.5, 1.5)
                    )
                if number >= self._attempts or wait_seconds >= deadline.left():
                    raise ModelUnavailable(
                        f"{error} (try {number})", error.kind
                    ) from error
            self._sleep(wait_seconds)
            number += 1

    def _once(self, body: bytes, deadline: Deadline) -> tuple[HttpReply, float]:
        from theorex_lab.search.wire import post

        started = time.perf_counter()
        limit = self._max_response_bytes
        reply = post(
            self._client,
            self.url,
            body,
            deadline=deadline,
            limit_bytes=limit,
            key=self._api_key,
        )
        latency_ms = (time.perf_counter() - started) * 1000
        if reply.status == 429 or 500 <= reply.status < 600:
            text = (
                f"{self.url} answered with the status {reply.status}:"
                f" {self._excerpt(reply.content)}"
            )
            wait = reply.headers.get("Retry-After", "")
            states = re.fullmatch(r"[0-9]{1,9}", wait)
            raise (
                _Busy(f"{text}; it asks for {wait} s", float(wait))
                if states
                else _Busy(text, None)
            )
        if reply.status != 200:
            self._refuse(f"the status {reply.status}: {self._excerpt(reply.content)}")
        return reply, latency_ms

    def _completion(
        self, reply: HttpReply, latency_ms: float, check: Check | None
    ) -> Completion:
        try:
            parsed = json.loads(reply.content)
            choice = parsed["choices"][0]
            text = choice["message"]["content"]
            finish_reason = choice.get("finish_reason")
            usage = parsed.get("usage")
        except (
            ValueError,
            KeyError,
            IndexError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            self._refuse(
                "something other than a chat completion:"
                f" {self._excerpt(reply.content)}",
                error,
            )
        if not isinstance(text, str | None):
            self._reject(f"a message that is no text: {self._excerpt(reply.content)}")
        cut = finish_reason == "length"
        if not text or text.isspace():
            self._reject(f"an empty text{', cut at max_tokens' if cut else ''}")
        tokens = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        data = None if check is None else self._checked_json(text, check, cut)
        return Completion(encodable(text), self.model, *tokens, latency_ms, cut, data)

    def _checked_json(self, text: str, check: Check, cut: bool) -> Any:
        from fastjsonschema import JsonSchemaValueException

        said = f"{self._excerpt(text.encode(errors='replace'))}{' (cut at max_tokens)' if cut else ''}"  # noqa: E501
        try:
            data = json.loads(
                text, object_pairs_hook=partial(unambiguous, "the answer")
            )
            # Values that JSON cannot hold: NaN, infinities, lone surrogates.
            json.dumps(data, allow_nan=False, ensure_ascii=False).encode()
            check(data)
        except JsonSchemaValueException as error:
            place = excerpt(str(error.name).encode())
            self._reject(
                f"JSON that breaks {error.rule!r} of the schema at {place}: {said}",
                error,
            )
        except (ValueError, RecursionError) as error:
            self._reject(f"something other than JSON: {said}", error)
        return data

    def _excerpt(self, content: bytes) -> str:
        return excerpt(content, self._api_key)

    def _refuse(self, what: str, cause: Exception | None = None) -> NoReturn:
        raise ModelUnavailable(f"{self.url} answered with {what}") from cause

    def _reject(self, what: str, cause: Exception | None = None) -> NoReturn:
        raise UnusableAnswer(f"{self.url} answered with {what}") from cause


def client_for(name: str, settings: Settings) -> ModelClient:
    """The client of a model of the settings, with the settings' limits; a host named in
    config.json may be remote.

    Raises ModelUnavailable where the model has no url or its key is not set or
    unusable, and ConfigError for an unknown model.

    >>> client_for("claude-sonnet", Settings())
    Traceback (most recent call last):
    theorex_lab.core.errors.ModelUnavailable: claude-sonnet has no url; set models.claude-sonnet.url in config.json to call it
    """  # noqa: E501
    if (model := settings.models.get(name)) is None:
        raise ConfigError(
            f"got the model {name!r}; known are {', '.join(settings.models)}"
        )
    if model.url is None:
        raise ModelUnavailable(
            f"{name} has no url; set models.{name}.url in config.json to call it"
        )
    how: dict[str, Any] = {
        "allow_remote": settings.is_set("models"),
        "api_key": key_from(model.api_key_env, name),
    }
    how |= {
        "timeout_seconds": settings.model_timeout_seconds,
        "max_response_bytes": settings.max_response_bytes,
    }
    return ModelClient(model.url, name, **how)


def ask(
    names: Sequence[str],
    prompt: Prompt,
    settings: Settings,
    *,
    clients: Clients = None,
    **options: Any,
) -> ChainAnswer:
    """Ask the models of `names` in order until one answers; a timeout holds for each of
    them.

    Clients are taken from `clients`, and those made are put there for the caller to
    close; without it they are closed here. One whose model has moved to another url
    since is replaced. A model that cannot be called counts as a failed attempt, which
    is marked as unavailable. Raises InvalidInput as `complete` does.

    >>> ask(["claude-sonnet"], "hello", Settings()).attempts[0].success
    False
    """
    made: dict[str, ModelClient] = {}
    known = made if clients is None else clients
    attempts: list[Attempt] = []
    kinds: dict[str, str] = {}
    try:
        for name in dict.fromkeys(names):
            try:
                completion = _client(name, settings, known).complete(prompt, **options)
            except (ModelUnavailable, ConfigError) as error:
                kinds[name] = (
                    error.kind if isinstance(error, ModelUnavailable) else "refused"
                )
                attempts.append(
                    Attempt(
                        name,
                        False,
                        error=str(error),
                        unavailable=kinds[name] != "bad_reply",
                    )
                )
            else:
                price = settings.price(name)
                tokens = completion.tokens
                cost = None if price is None or tokens is None else tokens * price / 1e6
                parts = {
                    key: getattr(completion, key)
                    for key in ("prompt_tokens", "completion_tokens")
                }
                attempts.append(
                    Attempt(name, True, completion.latency_ms, tokens, cost, **parts)
                )
                return ChainAnswer(completion, attempts, kinds)
    finally:
        for client in made.values():
            client.close()
    return ChainAnswer(None, attempts, kinds)


def _client(
    name: str, settings: Settings, known: MutableMapping[str, ModelClient]
) -> ModelClient:
    held = known.get(name)
    model = settings.models.get(name)
    if held is not None and model is not None and held.base_url != model.url:
        known.pop(name).close()
        held = None
    return held or known.setdefault(name, client_for(name, settings))


def _messages(prompt: Prompt) -> list[ChatMessage]:
    messages = (
        [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    )
    if not isinstance(messages, list) or not messages:
        raise InvalidInput(
            f"got a prompt of the type {type(prompt).__name__}; allowed is a text or a"
            " list of messages"
        )
    for message in messages:
        if (
            not isinstance(message, dict)
            or set(message) != {"role", "content"}
            or message["role"] not in ROLES
        ):
            raise InvalidInput(
                "got a message that is not {role, content} with a role of"
                f" {', '.join(ROLES)}"
            )
        if not isinstance(message["content"], str):
            raise InvalidInput(
                f"got a content of the type {type(message['content']).__name__};"
                " allowed is a text"
            )
    return [
        {"role": message["role"], "content": encodable(message["content"])}
        for message in messages
    ]


def _with_images(
    messages: list[ChatMessage], images: Sequence[str]
) -> list[dict[str, Any]]:
    if not images:
        return [{**message} for message in messages]
    shown = [{"type": "image_url", "image_url": {"url": uri}} for uri in images]
    return [
        *messages[:-1],
        {
            **messages[-1],
            "content": [{"type": "text", "text": messages[-1]["content"]}, *shown],
        },
    ]


def _checked_timeout(seconds: float) -> float:
    if not 0 < seconds <= _LONGEST_TIMEOUT_SECONDS:
        raise ConfigError(
            f"got a timeout of {seconds} s; allowed is above 0 to"
            f" {_LONGEST_TIMEOUT_SECONDS:g}"
        )
    return seconds


def _compiled(json_schema: dict[str, Any]) -> Check:
    # jsonschema would know more drafts, but takes seconds to import where a notebook's
    # packages are installed.
    import fastjsonschema

    handlers = dict.fromkeys(("", "http", "https", "ftp", "file"), _nothing_is_fetched)
    try:
        check: Check = fastjsonschema.compile(
            json_schema, handlers=handlers, use_default=False
        )
    except (ValueError, TypeError, AttributeError, re.error, RecursionError) as error:
        raise InvalidInput(
            f"got a JSON schema that is none: {error}; allowed is one of draft 7 in"
            " itself"
        ) from error
    return check


def _nothing_is_fetched(address: str) -> NoReturn:
    raise ValueError(f"it refers to {address}")


def _count(usage: object, key: str) -> int | None:
    """A token count of `usage`; None for anything but a whole number from 0 to what a
    float holds.
    """
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if type(value) is int and 0 <= value < 2**53 else None
