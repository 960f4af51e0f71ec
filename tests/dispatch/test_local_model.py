"""A model in a GGUF file is asked as an endpoint is, in this process."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

from theorex_lab import ConfigError, Lab, ModelUnavailable
from theorex_lab.core.settings import ModelSettings, Settings
from theorex_lab.dispatch import local_model
from theorex_lab.dispatch.llm import client_for
from theorex_lab.evolution.failures import is_reached

# The path of a model of one's own, such as SmolLM2. Without it the wire alone is tested.
MODEL_VARIABLE = "THEOREX_GGUF"


class FakeServer:
    """Answers as the library does, and keeps what it was asked."""

    asked: ClassVar[list[dict[str, Any]]] = []
    answer: Any = "The till rounds half up."

    def __init__(self, params: Any) -> None:
        self.path = params.model.path

    def handle_chat_completions(self, body: dict[str, Any]) -> Any:
        self.asked.append(body)
        if isinstance(self.answer, Exception):
            raise self.answer
        message = {"role": "assistant", "content": self.answer}
        return {
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 7},
        }


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> type[FakeServer]:
    module = ModuleType("xllamacpp")
    server = type("Server", (FakeServer,), {"asked": []})
    module.CommonParams = lambda: SimpleNamespace(model=SimpleNamespace())  # type: ignore[attr-defined]
    module.Server = server  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "xllamacpp", module)
    monkeypatch.setattr(local_model, "find_spec", lambda _: module)
    local_model._loaded.cache_clear()
    return server


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    file = tmp_path / "small.gguf"
    file.write_bytes(b"GGUF and more")
    return local_settings(file)


def local_settings(file: Path) -> Settings:
    model = ModelSettings(tier="small", url=f"local:{file}")
    return Settings(models={"small": model}, reviewers=["small"])


def test_it_is_asked_as_an_endpoint_is(
    library: type[FakeServer], settings: Settings
) -> None:
    with client_for("small", settings) as client:
        completion = client.complete("How does the till round?", seed=3)
    assert (completion.text, completion.tokens) == ("The till rounds half up.", 12)
    (body,) = library.asked
    assert body["messages"] == [{"role": "user", "content": "How does the till round?"}]
    assert body["seed"] == 3
    assert is_reached("small", settings)


def test_a_schema_is_passed_on_and_checked(
    library: type[FakeServer], settings: Settings
) -> None:
    library.answer = json.dumps({"score": 0.5})
    schema = {"type": "object", "properties": {"score": {"type": "number"}}}
    with client_for("small", settings) as client:
        assert client.complete("score it", json_schema=schema).data == {"score": 0.5}
    assert library.asked[0]["response_format"]["type"] == "json_schema"


def test_what_the_library_refuses_is_an_unusable_model(
    library: type[FakeServer], settings: Settings
) -> None:
    library.answer = RuntimeError("the context is full")
    with (
        client_for("small", settings) as client,
        pytest.raises(ModelUnavailable, match="the context is full"),
    ):
        client.complete("x")


def test_a_broken_file_is_told_at_once_by_its_name(
    library: type[FakeServer], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_server: FakeServer, _params: Any) -> None:
        raise RuntimeError("the tensors end too early")

    monkeypatch.setattr(library, "__init__", broken)
    with (
        client_for("small", settings) as client,
        pytest.raises(ModelUnavailable, match=r"small\.gguf.*end too early"),
    ):
        client.complete("x")


def test_the_loop_of_failures_runs_without_a_server(
    library: type[FakeServer], settings: Settings, tmp_path: Path
) -> None:
    with Lab(tmp_path / "home", settings=settings) as lab:
        done = lab.agent("main").dispatch("Which port does the gateway use?")
        assert done.success
        lab.outcomes.record("main", "open port 81", "it was taken", success=False)
        library.answer = json.dumps(
            {"score": 0.2, "fix_description": "Ask the gateway for a free port first."}
        )
        (review,) = lab.review_failures()
    assert review.written_to_axon
    assert review.fix_description == "Ask the gateway for a free port first."


def test_a_file_that_is_no_model_is_refused_with_what_is_allowed(
    library: type[FakeServer],
    tmp_path: Path,
) -> None:
    (tmp_path / "notes.gguf").write_text("no model")
    for name in ("notes.gguf", "absent.gguf"):
        with pytest.raises(ConfigError, match="local:PATH of a GGUF file"):
            client_for("small", local_settings(tmp_path / name))


def test_without_the_library_the_extra_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_model, "find_spec", lambda _: None)
    with pytest.raises(ModelUnavailable, match=r"theorex_lab\[local-model\]"):
        client_for("small", settings)
    assert not is_reached("small", settings)


if MODEL_VARIABLE in os.environ:

    def test_a_real_model_answers() -> None:
        settings = local_settings(Path(os.environ[MODEL_VARIABLE]))
        with client_for("small", settings) as client:
            completion = client.complete("Say hello.", max_tokens=8)
        assert completion.text
        assert completion.completion_tokens
