"""`install-hooks`: nothing in the settings is lost or moved, and taking the hooks out
of a file gives back its bytes.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import InvalidInput
from theorex_lab.app.cli import hooks
from theorex_lab.app.cli.hooks import EVENTS, hook_command, install, install_server

HOOK = "'/opt/my env/bin/theorex-hook'"
OTHER = {
    "matcher": "Bash",
    "hooks": [{"type": "command", "command": "echo theorex-hook is not the program"}],
}


def run(
    *arguments: str, stdin: Any = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "theorex_lab", "install-hooks", *arguments]
    return subprocess.run(
        command, stdin=stdin, capture_output=True, text=True, check=False
    )


def ours(text: str) -> dict[str, list[str]]:
    """Our commands by event."""
    return {event: hooks._ours(json.loads(text), event) for event in EVENTS}


def ordered(text: str) -> str:
    """What a JSON text holds, with the order of its keys and without its layout."""
    return json.dumps(json.loads(text))


def test_the_form_of_the_entries() -> None:
    command = {"type": "command", "command": HOOK, "timeout": 30}
    expected = {event: [{"hooks": [command]}] for event in EVENTS}
    for event in ("PostToolUse", "PostToolUseFailure"):
        expected[event] = [{"matcher": "*", "hooks": [command]}]
    assert json.loads(install(None, HOOK)) == {"hooks": expected}
    assert list(json.loads(install(None, HOOK))["hooks"]) == list(EVENTS)


@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
def test_what_is_there_keeps_its_place_and_the_file_its_indentation(
    indent: Any,
) -> None:
    value = {
        "model": "x",
        "hooks": {
            "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "beep"}]}]
        },
        "last": ["é", {}, 1.5, []],
    }
    before = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    after = install(before, "theorex-hook")
    assert (
        after == json.dumps(json.loads(after), indent=indent, ensure_ascii=False) + "\n"
    )
    found = json.loads(after)
    assert list(found) == list(value)
    assert (found["hooks"]["Stop"][0], found["last"]) == (
        value["hooks"]["Stop"][0],
        value["last"],
    )
    assert install(after, None) == before


STYLES = [
    '{"a": 1}',
    '{"a":1}',
    '{"a":1}\n',
    '{\n  "a": 1\n}\n',
    '{\r\n\t"a": 1\r\n}\r\n',
    '{\n"a": 1\n}',
    '  {"a" : [1,2 , {}]}  \n\n',
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    '{"hooks": {"Other": [1, 2]}, "b": "\\ud83d\\ude00 😀"}',
    '{\n   "hooks" :\n{ "PostToolUse":[\n{"matcher":"*"\n}\n]\n},\n\n "z":0}',
    "{}",
    "{\r\n}\r\n",
    '{\n\n  "a": [1e3, -0.0, 12345678901234567890]}',
]


@pytest.mark.parametrize("before", STYLES)
def test_installing_twice_is_installing_once_and_uninstalling_gives_back_the_data(
    before: str,
) -> None:
    after = install(before, HOOK)
    assert ours(after) == {event: [HOOK] for event in EVENTS}
    assert install(after, HOOK) == after
    assert ordered(install(after, None)) == ordered(before)
    assert after[len(after.rstrip()) :] == before[len(before.rstrip()) :]
    assert ("\r\n" in before) == ("\r\n" in after)
    assert after.replace("\r\n", "").count("\r") == 0


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
ENTRIES = st.just({"type": "command", "command": "other"}) | VALUES
GROUPS = (
    st.just(OTHER)
    | st.fixed_dictionaries({"hooks": st.lists(ENTRIES, max_size=2) | VALUES})
    | VALUES
)
HOOKS = st.dictionaries(
    st.sampled_from([*EVENTS, "PreToolUse"]), st.lists(GROUPS, max_size=3), max_size=4
)
SETTINGS = st.builds(
    lambda first, found, last: {**first, **found, **last},
    st.dictionaries(
        st.text(max_size=5).filter(lambda key: key != "hooks"), VALUES, max_size=3
    ),
    st.fixed_dictionaries({}, optional={"hooks": HOOKS}),
    st.dictionaries(st.sampled_from(["model", "env"]), VALUES, max_size=2),
)


@settings(max_examples=60, deadline=None)
@given(
    SETTINGS,
    st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "\n"]),
)
def test_random_settings_keep_all_they_hold(
    value: Any, indent: Any, plain: bool, dense: bool, end: str
) -> None:
    separators = (",", ":") if dense else None
    before = (
        json.dumps(value, indent=indent, ensure_ascii=plain, separators=separators)
        + end
    )
    after = install(before, HOOK)
    parsed = json.loads(after)
    assert [key for key in parsed if key in value] == list(value)
    assert {key: part for key, part in parsed.items() if key != "hooks"} == {
        key: part for key, part in value.items() if key != "hooks"
    }
    former = value.get("hooks", {})
    assert [event for event in parsed["hooks"] if event in former] == list(former)
    for event, groups in parsed["hooks"].items():
        assert groups[: len(former.get(event, []))] == former.get(event, [])
        assert len(groups) == len(former.get(event, [])) + (event in EVENTS)
    assert install(after, HOOK) == after
    gone = install(after, None)
    # Containers that were empty before go too; all else is there again.
    assert (
        ordered(gone) == ordered(before)
        or any(former.get(event) == [] for event in EVENTS)
        or value.get("hooks") == {}
    )
    assert not any(ours(gone).values())


def test_another_home_replaces_the_entry_of_before() -> None:
    first = install(
        json.dumps({"hooks": {"Stop": [OTHER]}, "z": 1}, indent=2), "theorex-hook"
    )
    second = install(first, f"THEOREX_HOME=/tmp/x {HOOK}")
    assert ours(second) == {event: [f"THEOREX_HOME=/tmp/x {HOOK}"] for event in EVENTS}
    assert json.loads(second)["hooks"]["Stop"][0] == OTHER
    assert install(second, None) == install(first, None)


def test_our_entry_in_a_group_of_others_goes_alone() -> None:
    shared = {
        "matcher": "*",
        "hooks": [
            OTHER["hooks"][0],
            {"type": "command", "command": "/v/bin/theorex-hook"},
            {"type": "x"},
        ],
    }
    before = json.dumps(
        {"hooks": {"PostToolUse": [shared], "SessionEnd": [{"hooks": []}]}}
    )
    assert json.loads(install(before, None))["hooks"] == {
        "PostToolUse": [{"matcher": "*", "hooks": [OTHER["hooks"][0], {"type": "x"}]}],
        "SessionEnd": [{"hooks": []}],
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[]",
        "null",
        "1",
        '"a"',
        "{} {}",
        "// no\n{}",
        '{"a": 1, "a": 2}',
        '{"b": [{"a": 1, "a": 1}]}',
        "[" * 100_000,
        '{"hooks": []}',
        '{"hooks": null}',
        '{"hooks": {"Stop": {}}}',
        '{"hooks": {"PostToolUse": "x"}}',
    ],
)
def test_settings_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        install(text, HOOK)
    with pytest.raises(InvalidInput):
        install(text, None)


def test_a_byte_order_mark_stays_in_front_of_the_settings() -> None:
    before = '\ufeff{\r\n  "theme": "dark"\r\n}\r\n'
    after = install(before, HOOK)
    assert after.startswith("\ufeff{\r\n")
    assert ours(after.removeprefix("\ufeff")) == {event: [HOOK] for event in EVENTS}
    assert install(after, HOOK) == after
    assert install(after, None) == before


@pytest.mark.parametrize(
    "text",
    [
        '{\n  // mine\n  "theme": "dark"\n}',
        '{"theme": "dark", // mine\n "x": 1}',
        '/* mine */ {"theme": "dark"}',
    ],
)
def test_comments_in_settings_are_named_as_what_is_wrong(text: str) -> None:
    with pytest.raises(InvalidInput, match="JSON has no comments: take them out first"):
        install(text, HOOK)
    with pytest.raises(InvalidInput, match="repair it first"):
        install('{"url": "http://x", }', HOOK)


def test_settings_in_utf_16_stay_as_they_are_and_that_is_said(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"theme": "dark"}', encoding="utf-16")
    before = file.read_bytes()
    refused = run("install-hooks", "--settings", str(file), "--yes")
    assert (refused.code, file.read_bytes()) == (1, before)
    assert "is in UTF-16; save it as UTF-8 first" in refused.err


@pytest.mark.parametrize("value", ['"\\ud800"', "1e999", "NaN"])
def test_a_value_that_cannot_be_written_again_is_refused(value: str) -> None:
    text = f'{{\n"a": {value}}}'
    with pytest.raises(InvalidInput, match="cannot be written again"):
        install(text, HOOK)
    assert install(text, None) == text


def test_the_command_is_found_beside_this_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my env"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    assert hook_command(None, None) == "theorex-hook"
    (folder / "theorex-hook").touch()
    assert shlex.split(hook_command(None, None)) == [str(folder / "theorex-hook")]
    given = hook_command(str(tmp_path / "a home"), "qwen-sage")
    assert shlex.split(given) == [
        f"THEOREX_HOME={tmp_path}/a home",
        "THEOREX_AGENT=qwen-sage",
        str(folder / "theorex-hook"),
    ]
    with pytest.raises(InvalidInput):
        hook_command(None, "../x")


def test_install_and_uninstall_from_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    before = b'{"odd":   [ ],\n "hooks": { "Stop": [ ], "Other": [1] }}\n\n'
    file.write_bytes(before)
    file.chmod(0o640)
    done = run("--settings", str(file), "--yes", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["file"], result["changed"], result["backup"]) == (
        str(file),
        True,
        f"{file}.theorex-backup-1",
    )
    assert "theorex-hook" in result["diff"]
    assert result["diff"] in done.stderr
    assert Path(result["backup"]).read_bytes() == before
    assert (
        stat.S_IMODE(file.stat().st_mode)
        == stat.S_IMODE(Path(result["backup"]).stat().st_mode)
        == 0o640
    )
    again = run("--settings", str(file), "--yes")
    assert (again.returncode, "nothing was changed" in again.stdout) == (0, True)
    gone = run("--settings", str(file), "--uninstall", "--yes")
    assert gone.returncode == 0, gone.stderr
    assert json.loads(file.read_bytes()) == {"odd": [], "hooks": {"Other": [1]}}
    assert "\n-" in gone.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"settings.json{end}" for end in ("", ".theorex-backup-1", ".theorex-backup-2")
    ]


def test_an_installation_of_the_first_five_events_is_completed_and_taken_out_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.json"
    before = '{\n  "model": "x"\n}\n'
    file.write_text(before)
    with monkeypatch.context() as patch:
        patch.setattr(hooks, "EVENTS", EVENTS[:5])
        older = install(before, hook_command(None, None))
    assert run("--settings", str(file), "--yes").returncode == 0
    file.write_text(older)
    assert run("--settings", str(file), "--yes").returncode == 0
    assert all(len(found) == 1 for found in ours(file.read_text()).values())
    assert file.read_text() == install(before, hook_command(None, None))
    assert run("--settings", str(file), "--yes", "--uninstall").returncode == 0
    assert file.read_text() == before


def test_a_later_change_is_kept_when_the_hooks_go(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"a": 1, "hooks": {}}')
    text = install(file.read_text(), HOOK)
    hooks._replace(file, file.read_text(), text)
    changed = text.replace('"a": 1', '"a": 2')
    file.write_text(changed)
    assert install(changed, None) == '{"a": 2}'


def test_a_file_that_was_not_there_is_gone_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "settings.json"
    assert (
        run(
            "--settings",
            str(file),
            "--yes",
            "--home",
            str(tmp_path / "h"),
            "--agent",
            "me",
        ).returncode
        == 0
    )
    command = json.loads(file.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert command.startswith(f"THEOREX_HOME={tmp_path}/h THEOREX_AGENT=me ")
    assert run("--settings", str(file), "--uninstall", "--yes").returncode == 0
    assert not file.exists()
    nothing = run("--settings", str(file), "--uninstall", "--yes", "--json")
    assert json.loads(nothing.stdout) == {
        "file": str(file),
        "changed": False,
        "backup": None,
        "diff": "",
        "mcp": None,
    }


def test_without_a_terminal_the_difference_is_shown_and_nothing_changed(
    tmp_path: Path,
) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    done = run("--settings", str(file))
    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert f"--- {file}\n" in done.stdout
    assert file.read_text() == "{}"
    as_json = run("--settings", str(file), "--json")
    assert as_json.returncode == 1
    assert json.loads(as_json.stdout)["changed"] is False
    assert "--yes" in json.loads(as_json.stdout)["error"]
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]


@pytest.mark.parametrize(
    ("answer", "written"), [(b"y\n", True), (b"n\n", False), (b"\n", False)]
)
def test_in_a_terminal_it_asks(tmp_path: Path, answer: bytes, written: bool) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    leader, follower = os.openpty()
    try:
        os.write(leader, answer)
        done = run("--settings", str(file), stdin=follower)
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == (0 if written else 1)
    assert ("theorex-hook" in file.read_text()) is written


@pytest.mark.parametrize(
    "content",
    [
        b"{ not JSON",
        b"\xff\xfe{}",
        b'{"hooks": []}',
        b"[]",
        b'{"a": 1, "a": 2}',
        b"{} // no",
    ],
)
def test_a_refused_file_is_untouched(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(content)
    done = run("--settings", str(file), "--yes", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]
    assert "Traceback" not in done.stderr
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    assert run("--settings", str(tmp_path), "--yes").returncode == 1


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    target = tmp_path / "dotfiles" / "settings.json"
    link = tmp_path / "settings.json"
    target.write_text("{}\n")
    link.symlink_to(target)
    assert run("--settings", str(link), "--yes").returncode == 0
    assert link.is_symlink()
    assert "theorex-hook" in target.read_text()


def test_a_change_while_it_asked_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"changed": true}')
    with pytest.raises(Exception, match="changed by another program"):
        hooks._replace(file, "{}", install("{}", HOOK))
    assert file.read_text() == '{"changed": true}'


ENTRY = {"command": "theorex", "args": ["mcp", "--stdio"]}
SERVERS = st.dictionaries(st.sampled_from(["other", "a b", ""]), VALUES, max_size=3)


@settings(max_examples=60, deadline=None)
@given(
    value=st.dictionaries(
        st.sampled_from(["a", "projects", "hooks"]), VALUES, max_size=3
    ),
    servers=st.none() | SERVERS,
    indent=st.sampled_from([None, 0, 2, "\t"]),
    plain=st.booleans(),
    end=st.sampled_from(["", "\n"]),
)
def test_a_list_of_servers_keeps_all_it_holds(
    value: Any, servers: Any, indent: Any, plain: bool, end: str
) -> None:
    content = value if servers is None else {**value, "mcpServers": servers}
    before = json.dumps(content, indent=indent, ensure_ascii=plain) + end
    after = install_server(before, ENTRY)
    assert json.loads(after) == {
        **value,
        "mcpServers": {**(servers or {}), "theorex": ENTRY},
    }
    assert install_server(after, ENTRY) == after
    assert ordered(install_server(after, None)) == ordered(before) or servers == {}
    other = install_server(after, {**ENTRY, "args": []})
    assert json.loads(other)["mcpServers"]["theorex"]["args"] == []
    assert install_server(other, None) == install_server(after, None)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"mcpServers": []}', '{"mcpServers": null}', "[" * 100_000]
)
def test_a_list_of_servers_of_another_form_is_refused(text: str) -> None:
    for change in (
        lambda: install_server(text, ENTRY),
        lambda: install_server(text, None),
    ):
        with pytest.raises(InvalidInput):
            change()


def test_an_entry_of_our_name_is_replaced_whatever_it_is() -> None:
    for value in ("null", "1", '{"type": "http"}'):
        after = install_server(
            f'{{"mcpServers": {{"theorex": {value}, "b": 1}}}}', ENTRY
        )
        assert json.loads(after) == {"mcpServers": {"b": 1, "theorex": ENTRY}}
        assert after.count("theorex") == 2


def test_the_server_is_entered_only_when_asked_and_taken_out_again(
    tmp_path: Path,
) -> None:
    file = tmp_path / "settings.json"
    servers = tmp_path / "project" / ".mcp.json"
    servers.parent.mkdir()
    before = '{"mcpServers":{"other" : {"command":"x"}},  "n": 1.0e5}\n'
    servers.write_text(before)
    servers.chmod(0o640)
    assert run("--settings", str(file), "--yes").returncode == 0
    assert servers.read_text() == before
    given = [
        "--settings",
        str(file),
        "--mcp",
        str(servers),
        "--yes",
        "--home",
        str(tmp_path / "a home"),
        "--agent",
        "me",
    ]
    done = run(*given, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["mcp"]
    assert (result["file"], result["changed"]) == (str(servers), True)
    assert result["diff"] in done.stderr
    assert Path(result["backup"]).read_text() == before
    found = json.loads(servers.read_text())
    assert (list(found), found["mcpServers"]["other"], found["n"]) == (
        ["mcpServers", "n"],
        {"command": "x"},
        1.0e5,
    )
    entry = found["mcpServers"]["theorex"]
    assert entry["args"] == [
        "--home",
        str(tmp_path / "a home"),
        "mcp",
        "--stdio",
        "--agent",
        "me",
    ]
    assert stat.S_IMODE(servers.stat().st_mode) == 0o640
    again = run(*given)
    assert (again.returncode, "nothing was changed" in again.stdout) == (0, True)
    gone = run("--settings", str(file), "--mcp", str(servers), "--yes", "--uninstall")
    assert gone.returncode == 0, gone.stderr
    assert json.loads(servers.read_text()) == json.loads(before)
    assert not file.exists()


def test_a_list_of_servers_that_was_not_there_is_gone_again(tmp_path: Path) -> None:
    given = [
        "--settings",
        str(tmp_path / "settings.json"),
        "--mcp",
        str(tmp_path / ".mcp.json"),
        "--yes",
    ]
    assert run(*given).returncode == 0
    assert list(json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]) == [
        "theorex"
    ]
    assert run(*given, "--uninstall").returncode == 0
    assert not (tmp_path / ".mcp.json").exists()


@pytest.mark.parametrize("content", [b"{ not JSON", b"\xff", b'{"mcpServers": []}'])
def test_where_one_of_the_two_files_is_refused_neither_is_written(
    tmp_path: Path, content: bytes
) -> None:
    servers = tmp_path / ".mcp.json"
    servers.write_bytes(content)
    done = run(
        "--settings", str(tmp_path / "settings.json"), "--mcp", str(servers), "--yes"
    )
    assert done.returncode == 1
    assert str(servers) in done.stderr
    assert servers.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [".mcp.json"]
    same = run("--settings", str(tmp_path / "s"), "--mcp", str(tmp_path / "s"), "--yes")
    assert (same.returncode, (tmp_path / "s").exists()) == (1, False)
