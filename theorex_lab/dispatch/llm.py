"""Language models behind OpenAI-compatible endpoints.

There are one call with a deadline, and a chain of models to fall back on.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

from theorex_lab.core.errors import (
    ConfigError,
    InvalidInput,
    ModelUnavailable,
    UnusableAnswer,
)
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.progress import working
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

    Token counts are None where the endpoint gave none that make sense.

    Attributes:
        model: The name that was asked.
        latency_ms: The latency of the answered request, without the tries before it.
        cut: The answer stopped at `max_tokens`.
        data: The parsed answer where a JSON schema was asked for.
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
        """Return the tokens of prompt and answer together, or None."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Attempt:
    """How one model of a chain did.

    Latency, tokens and cost are None where it did not answer.

    Attributes:
        tokens: The tokens of prompt and answer together; the sum may be known where
            the parts are not.
        unavailable: No answer came at all, which says nothing of the model's answers.
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
    """The result of a chain of models.

    Attributes:
        completion: The first completion, or None.
        attempts: Every attempt in order.
        kinds: The `kind` of the ModelUnavailable of each model that failed.
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
    """A model behind an OpenAI-compatible `/v1/chat/completions`.

    It is on this machine unless `allow_remote`. `url` may stop at the host, at `/v1` or
    at the route. Redirects are not followed, proxies of the environment are not used.
    Status 429 and 5xx and broken connections are tried again, up to `attempts` times
    within `timeout_seconds`. It may be used by several threads at once; `transport` and
    `sleep` are for tests.

    Raises:
        ConfigError: For a refused address or key.

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

    def complete(
        self,
        prompt: Prompt,
        *,
        json_schema: dict[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        timeout_seconds: float | None = None,
        images: Sequence[str] = (),
    ) -> Completion:
        """Ask the model once.

        Args:
            prompt: One user message, or messages {"role": system|user|assistant,
                "content": text}.
            json_schema: The answer has to be JSON that satisfies it (numbers written as
                text do not) and is found parsed in `data`.
            max_tokens: The longest answer, None for what is set.
            temperature: How freely it answers, None for what is set.
            seed: The seed of the endpoint's sampling, None for the endpoint's own.
            timeout_seconds: Bounds the whole call, with all its tries and waits; None
                for what is set.
            images: Data URIs, shown with the last message.

        Raises:
            InvalidInput: For a prompt or schema of another shape.
            UnusableAnswer: For an answer that cannot be used.
            ModelUnavailable: Where none came.
        """
        from theorex_lab.search.wire import Deadline

        body: dict[str, Any] = {
            "model": self.model,
            "messages": _with_images(_messages(prompt), images),
            **self._defaults,
        }
        options = {
            "max_tokens": max_tokens,
            "temperature": temperature,
            "seed": seed,
        }
        for name, value in options.items():
            if value is not None:
                body[name] = value
        check = None
        if json_schema is not None:
            check = _compiled(json_schema)
            described = {
                "name": "answer",
                "strict": True,
                "schema": json_schema,
            }
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        if timeout_seconds is None:
            timeout_seconds = self._timeout_seconds
        else:
            timeout_seconds = _checked_timeout(timeout_seconds)
        deadline = Deadline(timeout_seconds)
        reply, latency_ms = self._repeatedly(json.dumps(body).encode(), deadline)
        return self._completion(reply, latency_ms, check)

    def _repeatedly(self, body: bytes, deadline: Deadline) -> tuple[HttpReply, float]:
        """Ask until the endpoint answers, as often and as long as is allowed.

        It is asked again where it is busy or the connection broke.
        """
        from theorex_lab.search.wire import ConnectionLost

        number = 1
        while True:
            try:
                return self._once(body, deadline)
            except (_Busy, ConnectionLost) as error:
                wait_seconds = self._wait_seconds(error, number)
                if number >= self._attempts or wait_seconds >= deadline.left():
                    raise ModelUnavailable(
                        f"{error} (try {number})", error.kind
                    ) from error
            self._sleep(wait_seconds)
            number += 1

    def _wait_seconds(self, error: ModelUnavailable, number: int) -> float:
        """Return how long to wait after a try.

        It is what the endpoint asks for, else a wait that doubles each time, give or
        take a half.
        """
        if isinstance(error, _Busy) and error.wait_seconds is not None:
            return error.wait_seconds
        jitter = self._jitter.uniform(0.5, 1.5)
        return _FIRST_WAIT_SECONDS * 2.0 ** (number - 1) * jitter

    def _once(self, body: bytes, deadline: Deadline) -> tuple[HttpReply, float]:
        """Send one request; return the reply and its latency in ms."""
        from theorex_lab.search.wire import post

        started = time.perf_counter()
        reply = post(
            self._client,
            self.url,
            body,
            deadline=deadline,
            limit_bytes=self._max_response_bytes,
            key=self._api_key,
        )
        latency_ms = (time.perf_counter() - started) * 1000
        if reply.status == 429 or 500 <= reply.status < 600:
            raise self._busy(reply)
        if reply.status != 200:
            self._refuse(f"the status {reply.status}: {self._excerpt(reply.content)}")
        return reply, latency_ms

    def _busy(self, reply: HttpReply) -> _Busy:
        """Return the error of an endpoint that asks to come back later."""
        text = (
            f"{self.url} answered with the status {reply.status}:"
            f" {self._excerpt(reply.content)}"
        )
        retry_after = reply.headers.get("Retry-After", "")
        if re.fullmatch(r"[0-9]{1,9}", retry_after):
            return _Busy(f"{text}; it asks for {retry_after} s", float(retry_after))
        return _Busy(text, None)

    def _completion(
        self,
        reply: HttpReply,
        latency_ms: float,
        check: Check | None,
    ) -> Completion:
        """Return the completion in a reply, or raise where it holds none."""
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
        return Completion(
            encodable(text),
            self.model,
            _count(usage, "prompt_tokens"),
            _count(usage, "completion_tokens"),
            latency_ms,
            cut,
            data=None if check is None else self._checked_json(text, check, cut),
        )

    def _checked_json(
        self,
        text: str,
        check: Check,
        cut: bool,
    ) -> Any:
        """Return the parsed answer, or raise UnusableAnswer where it breaks the schema."""
        from fastjsonschema import JsonSchemaValueException

        quote = self._excerpt(text.encode(errors="replace"))
        if cut:
            quote += " (cut at max_tokens)"
        try:
            data = json.loads(
                text, object_pairs_hook=partial(unambiguous, "the answer")
            )
            # Values that JSON cannot hold: NaN, infinities, lone surrogates.
            json.dumps(data, allow_nan=False, ensure_ascii=False).encode()
            check(data)
        except JsonSchemaValueException as error:
            path = excerpt(str(error.name).encode())
            self._reject(
                f"JSON that breaks {error.rule!r} of the schema at {path}: {quote}",
                error,
            )
        except (ValueError, RecursionError) as error:
            self._reject(f"something other than JSON: {quote}", error)
        return data

    def _excerpt(self, content: bytes) -> str:
        return excerpt(content, self._api_key)

    def _refuse(self, what: str, cause: Exception | None = None) -> NoReturn:
        raise ModelUnavailable(f"{self.url} answered with {what}") from cause

    def _reject(self, what: str, cause: Exception | None = None) -> NoReturn:
        raise UnusableAnswer(f"{self.url} answered with {what}") from cause


def client_for(name: str, settings: Settings) -> ModelClient:
    """Return the client of a model of the settings, with the settings' limits.

    A host named in config.json may be remote.

    Raises:
        ModelUnavailable: Where the model has no url, its key is not set or unusable, or
            it is a local one and the extra `local-model` is not installed.
        ConfigError: For an unknown model, or a file that is no model.

    >>> published = Settings(preset="paper")
    >>> client_for("claude-sonnet", published)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    theorex_lab.core.errors.ModelUnavailable: claude-sonnet has no url; set ...
    """
    model = settings.models.get(name)
    if model is None:
        raise ConfigError(
            f"got the model {name!r}; known are {', '.join(settings.models)}"
        )
    if model.url is None:
        raise ModelUnavailable(
            f"{name} has no url; set models.{name}.url in config.json to call it"
        )
    from theorex_lab.dispatch.local_model import (
        LocalModelTransport,
        is_local,
        local_address,
        local_path,
    )

    if is_local(model.url):
        path = local_path(model.url)
        client = ModelClient(
            local_address(path),
            name,
            timeout_seconds=settings.model_timeout_seconds,
            max_response_bytes=settings.max_response_bytes,
            transport=LocalModelTransport(path),
        )
        client.base_url = model.url
        return client
    return ModelClient(
        model.url,
        name,
        allow_remote=settings.is_set("models"),
        api_key=key_from(model.api_key_env, name),
        timeout_seconds=settings.model_timeout_seconds,
        max_response_bytes=settings.max_response_bytes,
    )


def ask(
    names: Sequence[str],
    prompt: Prompt,
    settings: Settings,
    *,
    clients: Clients = None,
    json_schema: dict[str, Any] | None = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    timeout_seconds: float | None = None,
    images: Sequence[str] = (),
) -> ChainAnswer:
    """Ask the models of `names` in order until one answers.

    A timeout holds for each of them. A model that cannot be called counts as a failed
    attempt, which is marked as unavailable.

    Args:
        names: The models.
        prompt: As in `ModelClient.complete`.
        settings: The settings that name the models.
        clients: Clients by name. New ones are put there for the caller to close;
            without it they are closed here. One whose model has moved to another url
            since is replaced.
        json_schema: As in `ModelClient.complete`.
        max_tokens: As in `ModelClient.complete`.
        temperature: As in `ModelClient.complete`.
        seed: As in `ModelClient.complete`.
        timeout_seconds: As in `ModelClient.complete`, for each of the models.
        images: As in `ModelClient.complete`.

    Raises:
        InvalidInput: As `complete` does.

    >>> ask(["claude-sonnet"], "hello", Settings()).attempts[0].success
    False
    """
    own_clients: dict[str, ModelClient] = {}
    open_clients = own_clients if clients is None else clients
    attempts: list[Attempt] = []
    kinds: dict[str, str] = {}
    try:
        for name in dict.fromkeys(names):
            try:
                client = _client(name, settings, open_clients)
                with working(f"waits for the model {name}"):
                    completion = client.complete(
                        prompt,
                        json_schema=json_schema,
                        max_tokens=max_tokens,
                        temperature=temperature,
                        seed=seed,
                        timeout_seconds=timeout_seconds,
                        images=images,
                    )
            except ModelUnavailable as error:
                kinds[name] = error.kind
                attempts.append(_failed_attempt(name, error, error.kind))
            except ConfigError as error:
                kinds[name] = "refused"
                attempts.append(_failed_attempt(name, error, "refused"))
            else:
                attempts.append(_successful_attempt(name, completion, settings))
                return ChainAnswer(completion, attempts, kinds)
    finally:
        for client in own_clients.values():
            client.close()
    return ChainAnswer(None, attempts, kinds)


def _failed_attempt(
    name: str,
    error: Exception,
    kind: str,
) -> Attempt:
    """Return the attempt of a model that gave no usable answer."""
    return Attempt(name, False, error=str(error), unavailable=kind != "bad_reply")


def _successful_attempt(
    name: str,
    completion: Completion,
    settings: Settings,
) -> Attempt:
    """Return the attempt of a model that answered, with its cost where it is known."""
    price = settings.price(name)
    tokens = completion.tokens
    cost = None
    if price is not None and tokens is not None:
        cost = tokens * price / 1e6
    return Attempt(
        name,
        True,
        completion.latency_ms,
        tokens,
        cost,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
    )


def _client(
    name: str,
    settings: Settings,
    clients: MutableMapping[str, ModelClient],
) -> ModelClient:
    """Return the client of a model, a new one where its url has changed."""
    client = clients.get(name)
    model = settings.models.get(name)
    if client is not None and model is not None and client.base_url != model.url:
        clients.pop(name).close()
        client = None
    if client is not None:
        return client
    # Another thread may have put one there meanwhile.
    return clients.setdefault(name, client_for(name, settings))


def _messages(prompt: Prompt) -> list[ChatMessage]:
    """Return a prompt as messages, or raise InvalidInput for another shape."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": encodable(prompt)}]
    if not isinstance(prompt, list) or not prompt:
        raise InvalidInput(
            f"got a prompt of the type {type(prompt).__name__}; allowed is a text or a"
            " list of messages"
        )
    for message in prompt:
        _check_message(message)
    return [
        {"role": message["role"], "content": encodable(message["content"])}
        for message in prompt
    ]


def _check_message(message: Any) -> None:
    """Raise InvalidInput for what is no message of a role and a text."""
    if (
        not isinstance(message, dict)
        or set(message) != {"role", "content"}
        or message["role"] not in ROLES
    ):
        raise InvalidInput(
            "got a message that is not {role, content} with a role of"
            f" {', '.join(ROLES)}"
        )
    content = message["content"]
    if not isinstance(content, str):
        raise InvalidInput(
            f"got a content of the type {type(content).__name__}; allowed is a text"
        )


def _with_images(
    messages: list[ChatMessage], images: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the messages, with the images shown in the last one."""
    if not images:
        return [{**message} for message in messages]
    *earlier, last = messages
    content: list[dict[str, Any]] = [{"type": "text", "text": last["content"]}]
    for uri in images:
        content.append({"type": "image_url", "image_url": {"url": uri}})
    return [*earlier, {**last, "content": content}]


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
    """Return a token count of `usage`.

    It is None for anything but a whole number from 0 to what a float holds.
    """
    if not isinstance(usage, dict):
        return None
    value = usage.get(key)
    return value if type(value) is int and 0 <= value < 2**53 else None
