"""Arguments of tools, in the forms in which models send them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from faults import opened
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field, ValidationError, create_model

from theorex_lab import Lab
from theorex_lab.app.server import mcp
from theorex_lab.app.server.argument_forms import (
    allowed_value,
    read_arguments,
    refused_arguments,
)

Server = Any
Schema = dict[str, Any]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with opened(tmp_path_factory.mktemp("arguments") / "home") as memory:
        yield memory


@pytest.fixture(scope="module")
def server(lab: Lab) -> Server:
    return mcp.build_server(lab)


def called(server: Server, name: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers."""
    result = asyncio.run(server.call_tool(name, arguments))
    return dict(result.structured_content)


def refused(server: Server, name: str, **arguments: Any) -> str:
    """What a tool says of arguments that it refuses."""
    with pytest.raises(MCPError) as error:
        asyncio.run(server.call_tool(name, arguments))
    return str(error.value)


MEANT_ALIKE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"limit": None}, {"limit": None}),
    ({"limit": "null"}, {"limit": None}),
    ({"limit": 3.0}, {"limit": 3}),
    ({"limit": "3"}, {"limit": 3}),
    ({"limit": " 3.0 "}, {"limit": 3}),
    ({"cold": "true"}, {"cold": True}),
    ({"cold": "False"}, {"cold": False}),
    ({"cold": None}, {}),
    ({"kinds": '["concept"]'}, {"kinds": ["concept"]}),
    ({"kinds": "concept"}, {"kinds": ["concept"]}),
    ({"kinds": None}, {"kinds": None}),
    ({"kinds": "null"}, {"kinds": None}),
    ({"kinds": "[concept"}, {"kinds": ["[concept"]}),
    ({"agent_id": None}, {"agent_id": None}),
]


@pytest.mark.parametrize(("sent", "meant"), MEANT_ALIKE, ids=repr)
def test_a_search_takes_what_models_send(
    server: Server, sent: dict[str, Any], meant: dict[str, Any]
) -> None:
    tool = server._tool_manager.get_tool("search")
    assert read_arguments(tool.parameters, sent) == meant


@pytest.mark.parametrize(
    ("tags", "labels"),
    [
        (None, []),
        ("", []),
        ("[]", []),
        ("boats", ["boats"]),
        ("boats, tugs", ["boats, tugs"]),
        ('["boats","7"]', ["boats", "7"]),
        (["boats"], ["boats"]),
    ],
)
def test_tags_are_written_as_they_were_meant(
    server: Server, lab: Lab, tags: Any, labels: list[str]
) -> None:
    event_id = called(server, "write", text="The tug is blue", tags=tags)["event_id"]
    (event,) = [each for each in lab.journal.tail(0) if each.id == event_id]
    assert event.body["tags"] == labels


TEXTS = ["3", "3.0", "true", "null", '["a"]', '{"a": 1}', '"a"', "[1, 2]"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_looks_like_json_stays_a_text(
    server: Server, lab: Lab, text: str
) -> None:
    event_id = called(server, "write", text=f"{text}", session=None)["event_id"]
    (event,) = [each for each in lab.journal.tail(0) if each.id == event_id]
    assert event.body["text"] == text


def test_the_name_null_is_no_missing_name(server: Server) -> None:
    for name in ("agent_id", "project"):
        with pytest.raises(Exception, match="got the (agent|project) 'null'"):
            called(server, "search", query="tug", **{name: "null"})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"limit": "many"},
            'limit: got "many"; allowed is a whole number from 1 to 100',
        ),
        ({"limit": True}, "limit: got true; allowed is a whole number from 1 to 100"),
        ({"limit": 101}, "limit: got 101; allowed is a whole number from 1 to 100"),
        ({"limit": "2.5"}, 'limit: got "2.5"; allowed is a whole number'),
        ({"cold": 1}, "cold: got 1; allowed is true or false"),
        ({"kinds": [3]}, "kinds.0: got 3; allowed is a list of values, each a text"),
        ({"query": None}, "query: got null; allowed is a text"),
        ({"query": 5}, "query: got 5; allowed is a text"),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_got_and_is_allowed(
    server: Server, arguments: dict[str, Any], words: str
) -> None:
    assert words in refused(server, "search", **{"query": "tug", **arguments})


def test_a_refusal_repeats_no_secret(server: Server) -> None:
    sent = {"kinds": "observation", "limit": "key AKIAB3JNHB77Q79RUIJK"}

    words = refused(server, "search", query="tug", **sent)

    assert 'limit: got "key [masked]"; allowed is a whole number' in words


def test_a_missing_argument_is_named(server: Server) -> None:
    assert refused(server, "write") == "write: text is missing; allowed is a text"


class Step(BaseModel, extra="forbid"):
    """A member of a list."""

    name: str
    times: int = 1


Every = create_model(
    "Every",
    text=(str, ...),
    count=(Annotated[int, Field(ge=0, le=9)], 1),
    ratio=(float, 0.5),
    is_on=(bool, False),
    names=(list[str], []),
    numbers=(list[int] | None, None),
    steps=(list[Step], []),
    step=(Step | None, None),
    either=(int | str, 0),
)


def test_every_type_is_read_by_the_type_alone() -> None:
    schema = Every.model_json_schema()
    sent: dict[str, Any] = {
        "text": '{"name": "x"}',
        "count": "+4",
        "ratio": "0.25",
        "is_on": "TRUE",
        "names": '["1", "true"]',
        "numbers": '["1", 2.0]',
        "steps": '[{"name": "5", "times": "2"}]',
        "step": '{"name": "null"}',
        "either": "7",
    }
    assert read_arguments(schema, sent) == {
        "text": '{"name": "x"}',
        "count": 4,
        "ratio": 0.25,
        "is_on": True,
        "names": ["1", "true"],
        "numbers": [1, 2],
        "steps": [{"name": "5", "times": 2}],
        "step": {"name": "null"},
        "either": "7",
    }


@pytest.mark.parametrize(
    "step",
    ['{"name": "a", "name": "b"}', "[" * 9_000, '{"name": NaN}', "5", '["a"]', ""],
)
def test_an_object_that_is_none_is_refused(step: str) -> None:
    schema = Every.model_json_schema()
    read = read_arguments(schema, {"text": "x", "step": step})
    with pytest.raises(ValidationError) as error:
        Every.model_validate(read, strict=True)
    words = refused_arguments(schema, error.value)
    assert words.startswith("step: got ")
    assert words.endswith("; allowed is an object or null")


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["3", "3.0", "true", "null", "[]", "{}", '["a"]', "1e999", "[["]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=5,
)


@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(st.data())
def test_every_tool_reads_or_refuses_whatever_is_sent(
    server: Server, data: st.DataObject
) -> None:
    for tool in server._tool_manager.list_tools():
        names = sorted(tool.parameters["properties"])
        sent = {name: data.draw(values) for name in names}
        read = read_arguments(tool.parameters, sent)
        for name, value in read.items():
            parameter = tool.parameters["properties"][name]
            takes_text = takes(parameter, "string") and not takes(parameter, "array")
            if takes_text and isinstance(sent[name], str):
                assert value == sent[name]
        try:
            tool.fn_metadata.arg_model.model_validate(read, strict=True)
        except ValidationError as error:
            words = refused_arguments(tool.parameters, error)
            wrong = str(error.errors()[0]["loc"][0])
            assert wrong in words
            assert "allowed is " in words


@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(st.data())
def test_what_a_schema_allows_is_read_as_it_is(
    server: Server, data: st.DataObject
) -> None:
    """And in the form of JSON text it is read as the same."""
    for tool in server._tool_manager.list_tools():
        for name, parameter in tool.parameters["properties"].items():
            drawn = data.draw(values_of(parameter))
            assert read_arguments(tool.parameters, {name: drawn}) == {name: drawn}
            if not isinstance(drawn, str):
                text = json.dumps(drawn)
                assert read_arguments(tool.parameters, {name: text}) == {name: drawn}


def values_of(parameter: Schema) -> st.SearchStrategy[Any]:
    """Values of the type of a parameter."""
    if takes(parameter, "integer"):
        return st.integers(-(10**9), 10**9)
    if takes(parameter, "boolean"):
        return st.booleans()
    if takes(parameter, "array"):
        return st.lists(st.text(max_size=5), max_size=4)
    return st.text(max_size=8)


def takes(parameter: Schema, kind: str) -> bool:
    """Whether a parameter is of a type."""
    forms = parameter.get("anyOf", [parameter])
    return kind in {form["type"] for form in forms}


def test_the_published_schema_names_one_type_of_each_parameter(server: Server) -> None:
    for tool in asyncio.run(server.list_tools()):
        for name, parameter in tool.input_schema["properties"].items():
            forms = parameter.get("anyOf", [parameter])
            types = {form["type"] for form in forms} - {"null"}
            assert len(types) == 1, (tool.name, name)
            assert allowed_value(parameter, {}) != "any value"
