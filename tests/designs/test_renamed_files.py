"""Files that were moved or removed in sessions: a chain of names is one file, and what
is gone is not named.
"""

from __future__ import annotations

import posixpath
import shlex
from typing import Any

import pytest
from conftest import NOW
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import Event, Lab, new_event
from theorex_lab.designs.sessions.renamed import (
    FileMoves,
    FileSighting,
    moves_of,
    names_now,
)
from theorex_lab.designs.sessions.said import names_now_in, needed_files
from theorex_lab.memory import hook_payloads
from theorex_lab.memory.briefing.briefing import make_briefing
from theorex_lab.text.file_moves import ELSEWHERE, PATTERN, steps_of

SHOP = "shop-12345678"
HOUR = 3_600_000_000


def used(
    hour: int,
    command: str = "",
    *,
    ok: bool | None = True,
    session: str = "s",
    **more: Any,
) -> Event:
    body = {
        "tool": "Bash" if command else "Edit",
        "input": "",
        "response": "",
        "source": "tool",
        "ok": ok,
    }
    paths = {"read": more.pop("read", []), "edited": more.pop("edited", [])}
    body |= {"paths": paths, "command": command, "project": SHOP, **more}
    return new_event(
        "tool_used", body, agent="main", session=session, at=NOW - (100 - hour) * HOUR
    )


def files(lab: Lab, *events: Event) -> set[str]:
    lab.journal.append(events)
    return {file.path for file in needed_files(lab.home.in_project(SHOP), NOW)}


LIB = used(
    0,
    edited=["lib/core.py", "lib/util.py"],
    read=["my notes/plan b.md", "web/a.ts", "README.md"],
)


@pytest.mark.parametrize(
    ("command", "gone", "new"),
    [
        (
            "git mv lib src",
            {"lib/core.py", "lib/util.py"},
            {"src/core.py", "src/util.py"},
        ),
        ("mv lib/core.py lib/kernel.py", {"lib/core.py"}, {"lib/kernel.py"}),
        (
            "mkdir -p src && mv lib src/",
            {"lib/core.py", "lib/util.py"},
            {"src/lib/core.py", "src/lib/util.py"},
        ),
        (
            "mv -f lib/core.py lib/util.py web/",
            {"lib/core.py", "lib/util.py"},
            {"web/core.py", "web/util.py"},
        ),
        (
            "mv -t web lib/core.py README.md",
            {"lib/core.py", "README.md"},
            {"web/core.py", "web/README.md"},
        ),
        (
            "mv lib/*.py web",
            {"lib/core.py", "lib/util.py"},
            {"web/core.py", "web/util.py"},
        ),
        (
            "git mv lib/{core,util}.py web",
            {"lib/core.py", "lib/util.py"},
            {"web/core.py", "web/util.py"},
        ),
        ("cd lib && git mv core.py ../web/core.py", {"lib/core.py"}, {"web/core.py"}),
        ("git -C lib mv core.py kernel.py", {"lib/core.py"}, {"lib/kernel.py"}),
        (
            "(cd lib; mv core.py k.py) && mv README.md R.md",
            {"lib/core.py", "README.md"},
            {"lib/k.py", "R.md"},
        ),
        (
            "mv 'my notes/plan b.md' \"my notes/plan c.md\"",
            {"my notes/plan b.md"},
            {"my notes/plan c.md"},
        ),
        ("mv my\\ notes/plan\\ b.md plan.md", {"my notes/plan b.md"}, {"plan.md"}),
        ("rm -rf lib", {"lib/core.py", "lib/util.py"}, set()),
        (
            "git rm -q -- lib/core.py && git commit -m 'rm README.md'",
            {"lib/core.py"},
            set(),
        ),
        ("rm -f lib/core.py 2>/dev/null; echo rm README.md", {"lib/core.py"}, set()),
        ("mv lib/core.py ", {"lib/core.py"}, set()),
        ("mv lib/core.py a.py && mv a.py web/b.py", {"lib/core.py"}, {"web/b.py"}),
        (
            "Move-Item -Path lib\\core.py -Destination web\\core.py",
            {"lib/core.py"},
            {"web/core.py"},
        ),
        ("ren lib\\core.py kernel.py", {"lib/core.py"}, {"lib/kernel.py"}),
        ("rm lib/core.py && git checkout HEAD -- lib/core.py", set(), set()),
        ("mv lib/core.py attic", {"lib/core.py"}, set()),
        ("rm -n$x lib/$file", set(), set()),
        ("git rm --cached lib/core.py", set(), set()),
        ("git mv -n lib src", set(), set()),
        ("cat > x.sh <<'EOF'\nrm -rf lib\nEOF", set(), set()),
        ("true || rm -rf lib", set(), set()),
        ("cd src && rm -rf lib", set(), set()),
        ("# rm -rf lib", set(), set()),
        ("rm -rf li…", set(), set()),
    ],
)
def test_what_a_command_moves_has_its_new_name(
    lab: Lab, command: str, gone: set[str], new: set[str]
) -> None:
    before = files(lab, LIB)
    assert files(lab, used(1, command)) == before - gone | new


def test_a_command_that_failed_moved_nothing(lab: Lab) -> None:
    before = files(lab, LIB)
    assert files(lab, used(1, "git mv lib src", ok=False)) == before
    assert files(lab, used(2, "git mv lib src", ok=None)) != before


def test_a_file_that_is_made_again_is_there_again(lab: Lab) -> None:
    assert "lib/core.py" not in files(lab, LIB, used(1, "rm lib/core.py"))
    assert "lib/core.py" not in files(lab, used(2, read=["lib/core.py"], ok=False))
    assert "lib/core.py" in files(lab, used(3, edited=["lib/core.py"]))
    assert "lib/core.py" not in files(lab, used(4, "rm lib/core.py"))


def test_a_file_has_under_its_last_name_what_it_was_touched_under_others(
    lab: Lab,
) -> None:
    files(
        lab,
        LIB,
        used(1, edited=["lib/core.py"]),
        used(2, "mv lib/core.py lib/k.py"),
        used(3, "git mv lib src"),
    )
    found = {file.path: file for file in needed_files(lab.home.in_project(SHOP), NOW)}
    assert found["src/k.py"].score > 0
    assert found["src/k.py"].last_at == NOW - 99 * HOUR
    assert names_now_in(lab.home.in_project(SHOP), NOW)["lib/core.py"] == "src/k.py"


def test_events_that_come_late_are_taken_by_their_times(lab: Lab) -> None:
    assert files(lab, used(9, edited=["lib/core.py"])) == {"lib/core.py"}
    assert files(
        lab, used(2, "git mv lib src"), used(1, edited=["lib/core.py"], session="t")
    ) == {
        "lib/core.py",
        "src/core.py",
    }


def test_nothing_of_another_project_is_moved(lab: Lab) -> None:
    other = new_event(
        "tool_used",
        {**LIB.body, "project": "other-12345678"},
        agent="main",
        session="o",
        at=LIB.at,
    )
    lab.journal.append([other])
    assert files(lab, LIB, used(1, "rm -rf lib")) == {
        "my notes/plan b.md",
        "web/a.ts",
        "README.md",
    }
    assert "lib/core.py" in {
        file.path for file in needed_files(lab.home.in_project("other-12345678"), NOW)
    }


def test_a_briefing_names_what_is_there(lab: Lab) -> None:
    for hour, session in ((0, "r"), (10, "s"), (20, "t")):
        text = f"Please mend the till of hour {hour}."
        asked = new_event(
            "prompt",
            {"text": text, "source": "user", "project": SHOP},
            agent="main",
            session=session,
            at=LIB.at + hour * HOUR,
        )
        edited = ["lib/core.py", "lib/util.py"]
        lab.journal.append([asked, used(hour + 1, edited=edited, session=session)])
    before = make_briefing(lab.home.in_project(SHOP), tokens=2_000).text
    assert "core.py" in before
    assert "util.py" in before
    moves = "git mv lib/core.py lib/kernel.py && rm lib/util.py"
    lab.journal.append([used(22, moves, session="t")])
    home = lab.home.in_project(SHOP)
    for tokens in (1_000, 2_000, 8_000):
        text = make_briefing(home, tokens=tokens).text
        assert "kernel.py" in text
        assert "core.py" not in text
        assert "util.py" not in text


def test_the_hook_keeps_where_a_command_began_and_what_a_patch_moves(
    tmp_path: Any,
) -> None:
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / "web").mkdir()

    def body(tool: str, given: object, cwd: Any) -> dict[str, Any]:
        event = {
            "hook_event_name": "PostToolUse",
            "tool_name": tool,
            "tool_input": given,
            "cwd": str(cwd),
        }
        return hook_payloads.tool_used(event)

    moved = body("Bash", {"command": "mv a.ts b.ts"}, shop / "web")
    assert moved["folder"] == "web"
    event = new_event("tool_used", moved, agent="main", at=2)
    assert names_now(
        [FileSighting(1, 1, "web/a.ts")], [FileMoves(2, 2, moves_of(event))]
    ) == ["web/b.ts"]
    entered = body(
        "Bash", {"command": f"cd {shop} && rm a.ts; cd /tmp && rm b.ts"}, shop
    )
    assert entered["command"] == "cd . && rm a.ts; cd  && rm b.ts"
    steps = moves_of(new_event("tool_used", entered, agent="main", at=2))
    assert names_now(
        [FileSighting(1, 1, "a.ts"), FileSighting(1, 1, "b.ts")],
        [FileMoves(2, 2, steps)],
    ) == ["", "b.ts"]
    patch = (
        "*** Update File: a.ts\n*** Move to: my b.ts\n@@\n*** Delete File: c.ts\n***"
        " Update File: d.ts\n"
    )
    assert body("apply_patch", {"input": patch}, shop)["moves"] == [
        ["a.ts", "my b.ts"],
        ["c.ts", ""],
    ]
    assert "moves" not in body("Edit", {"file_path": "a.ts"}, shop)


# A model: a small tree of files, all of them known

PATHS = (
    "a.py",
    "b.py",
    "my c.md",
    "lib/a.py",
    "lib/b.py",
    "lib/in/d.py",
    "src/[id].ts",
    "src/e.ts",
)
FOLDERS = ("lib", "src", "lib/in", "new")


class Disk:
    """A file system as far as mv, rm and mkdir tell: files, and folders that are there
    without any.
    """

    def __init__(self) -> None:
        self.files = set(PATHS)
        self.folders = {"lib", "src", "lib/in"}

    def below(self, path: str) -> set[str]:
        return {name for name in self.files if name.startswith(f"{path}/")}

    def move(self, source: str, target: str) -> bool:
        if source not in self.files | self.folders:
            return False
        if target in self.folders:
            target = f"{target}/{posixpath.basename(source)}"
        parent = posixpath.dirname(target)
        if (
            (parent and parent not in self.folders)
            or target == source
            or target.startswith(f"{source}/")
        ):
            return False
        if source in self.files:
            if target in self.folders:
                return False
            self.files = self.files - {source} | {target}
            return True
        if target in self.files or target in self.folders:
            return False
        inside = self.below(source)
        self.files = self.files - inside | {
            target + name[len(source) :] for name in inside
        }
        folders = {
            name
            for name in self.folders
            if name == source or name.startswith(f"{source}/")
        }
        self.folders = self.folders - folders | {
            target + name[len(source) :] for name in folders
        }
        return True

    def remove(self, path: str) -> bool:
        if path not in self.files | self.folders:
            return False
        self.files -= {path} | self.below(path)
        self.folders = {
            name
            for name in self.folders
            if name != path and not name.startswith(f"{path}/")
        }
        return True

    def make(self, path: str) -> bool:
        if path in self.files:
            return False
        self.folders.add(path)
        return True


places = st.sampled_from((*PATHS, *FOLDERS))
actions = st.one_of(
    st.tuples(st.sampled_from(["mv", "git mv", "mv -f", "cd . && mv"]), places, places),
    st.tuples(st.sampled_from(["rm -rf", "git rm -r", "rm -rf --"]), places),
    st.tuples(st.just("mkdir -p"), st.sampled_from(FOLDERS)),
    st.tuples(st.just("edit"), st.sampled_from(PATHS)),
)


@given(st.lists(actions, max_size=12))
def test_only_names_of_files_that_are_there_are_given(
    done: list[tuple[str, ...]],
) -> None:
    disk = Disk()
    touched = [FileSighting(0, 0, path) for path in sorted(disk.files)]
    moves: list[FileMoves] = []
    for at, (verb, *operands) in enumerate(done, 1):
        if verb == "edit":
            path = operands[0]
            if (
                posixpath.dirname(path) in {"", *disk.folders}
                and path not in disk.folders
            ):
                disk.files.add(path)
                touched.append(FileSighting(at, at, path))
            continue
        act = disk.move if "mv" in verb else disk.remove if "rm" in verb else disk.make
        if act(*operands):
            moves.append(
                FileMoves(
                    at, at, steps_of(shlex.join(["x", *operands]).replace("x", verb, 1))
                )
            )
    names = set(names_now(touched, moves)) - {""}
    assert names <= disk.files


@given(
    st.text(st.sampled_from(" \t\n'\"\\;&|()<>$`*?{},.…#-=/abmvrcdgit")),
    st.sampled_from([None, "", "web"]),
)
def test_any_command_has_its_steps(text: str, folder: str | None) -> None:
    for command in (text, f"mv {text}", f"git rm {text}", f"ren {text}"):
        for step in steps_of(command, folder):
            assert step.paths
            assert ELSEWHERE not in step.paths
            names_now(
                [FileSighting(0, 0, "a"), FileSighting(0, 0, "b/c")],
                [FileMoves(1, 1, [step])],
            )


def test_a_pattern_stands_for_names_of_one_folder() -> None:
    steps = steps_of("rm *.py")
    assert steps[0].paths == (f"{PATTERN}*.py",)
    touched = [
        FileSighting(0, 0, path) for path in ("a.py", ".b.py", "lib/c.py", "a*.py")
    ]
    assert names_now(touched, [FileMoves(1, 1, steps)]) == ["", ".b.py", "lib/c.py", ""]
    assert names_now(touched, [FileMoves(1, 1, steps_of("rm 'a*.py'"))]) == [
        "a.py",
        ".b.py",
        "lib/c.py",
        "",
    ]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("bash -c 'git mv a.py b.py'", ["b.py", "web/c.py"]),
        ('bash -lc "cd web && rm c.py"; rm a.py', ["", ""]),
        ("sh -c 'sh -c \"rm a.py\"'", ["", "web/c.py"]),
        ("bash script.sh rm a.py", ["a.py", "web/c.py"]),
        ("docker exec box bash -c 'rm a.py'", ["a.py", "web/c.py"]),
        ("bash -c " * 50 + "'rm a.py'", ["a.py", "web/c.py"]),
    ],
)
def test_a_command_within_a_shell_is_read_where_the_shell_stands(
    command: str, names: list[str]
) -> None:
    touched = [FileSighting(0, 0, "a.py"), FileSighting(0, 0, "web/c.py")]
    assert names_now(touched, [FileMoves(1, 1, steps_of(command))]) == names


def test_braces_that_multiply_out_to_too_many_words_are_left_alone() -> None:
    parts = ",".join("a" for _ in range(300))
    command = f"rm {{{parts}}}{{{parts}}}{{{parts}}}.py"
    steps = steps_of(command)
    assert sum(len(step.paths) for step in steps) <= 1
    assert steps_of("rm {a,b}.py") != steps


def test_an_empty_folder_that_takes_the_name_of_a_file_is_a_folder() -> None:
    commands = ["rm a.py", "mkdir -p new", "mv new a.py", "mv b.py a.py"]
    moves = [
        FileMoves(10 + number, 10 + number, steps_of(command))
        for number, command in enumerate(commands)
    ]
    files = [FileSighting(1, 1, "a.py"), FileSighting(2, 2, "b.py")]
    assert names_now(files, moves) == ["", "a.py/b.py"]
