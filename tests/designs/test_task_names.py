"""How a prompt's task is named, how a step is said, and which tasks are of one kind."""

from __future__ import annotations

import pytest

from theorex_lab.designs.dreams.tasks import (
    is_same_task,
    task_in_words,
    task_likeness,
)
from theorex_lab.memory.briefing.step_words import step_in_words, step_kinds


@pytest.mark.parametrize(
    ("prompt", "task"),
    [
        ("could you please fix the login form? it hangs", "Fix the login form"),
        ("ok, now let's update the readme so that it names ports", "Update the readme"),
        ("go ahead and start working on #004", "Work on a task"),
        ("continue working on task 012. make sure it builds", "Work on a task"),
        ("implement phase 3", "Implement a phase"),
        ("add a task to create a `push` command", "Add a task"),
        ("update @docs/guide.md", "Update `guide.md`"),
        ("@guide.md fix the broken links of pages", "Fix the broken links of pages"),
        ("fix this error", "Fix the error"),
        ("add a port and use", "Add a port"),
        (
            "check the updated notes/2026-01-05/.history/the-long-one.md",
            "Check the updated file",
        ),
        ("/review 31", "Run /review"),
        ("Refuse a basket without prices.", "Refuse a basket"),
        (
            "Always keep prices as cents. Round the price of a basket.",
            "Round the price of a basket",
        ),
        (
            "Implement the following plan:\n\n# Plan: Replace polling with events\n\nx",
            "Replace polling with events",
        ),
    ],
)
def test_a_task_is_a_verb_and_its_object(prompt: str, task: str) -> None:
    assert task_in_words(prompt) == task


@pytest.mark.parametrize(
    "prompt",
    [
        "continue",
        "go ahead",
        "what's the status of task 12?",
        "yes, both",
        "fix it",
        "commit and push",
        "ran the tests on a second machine",
        "remove this completely",
        "why did you do that?",
        "show me the list",
        "[Request interrupted by user]",
        "<system-reminder>fix the login</system-reminder>",
        "",
    ],
)
def test_conversation_names_no_task(prompt: str) -> None:
    assert task_in_words(prompt) == ""


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("Edit src/git.ts", "Edit `src/git.ts`"),
        ("edit_file tasks/004/pr.md", "Edit `tasks/<number>/pr.md`"),
        ("bun test", "Run the tests (`bun test`)"),
        (
            "uv run ruff check . 2>&1 | tail -3",
            "Check the code (`uv run ruff check .`)",
        ),
        ("npm install left-pad", "Install a package (`npm install left-pad`)"),
        ("git checkout -b fix && git add . && git commit -m 'x y'", None),
        ("gh pr create --fill", "Open a pull request"),
        ("echo '== tests ==' && ls -la && cat a.txt", ""),
        ("cat > /tmp/x.py <<'EOF'\nprint(1)\nEOF\npython3 /tmp/x.py", ""),
        ("python3 - <<'EOF'\nprint(1)\nEOF", ""),
        ("Read src/git.ts", ""),
        ('Grep({"query":"x"})', ""),
        ("rm -rf dist", "Remove `dist`"),
        ("make(target='all')", "make(target='all')"),
        ('run_command({"command":"cd web && bun test"})', "Run the tests (`bun test`)"),
        ('run_command({"command":"git diff src/till.py"})', ""),
        ('edit_file_v2({"text":"Edit file: src/till.py"})', "Edit `src/till.py`"),
        ('rip_raw_search({"query":"till"})', ""),
        ('Edit({"text":""})', ""),
        ('delete_file({"text":"Explanation: it is old"})', ""),
        ("bun run src/cli.ts orders --help", ""),
        ("git grep till", ""),
        ('mv "$OLD/a.db" $NEW', ""),
        ("till orders get order#12", "Run `till orders get order#<number>`"),
        ("till show 8f01c24e", "Run `till show <hash>`"),
        ("KEY=secret till build --all", "Run `till build --all`"),
    ],
)
def test_a_step_is_said_without_the_line_of_the_shell(
    action: str, words: str | None
) -> None:
    expected = "Make a branch, then commit" if words is None else words
    assert step_in_words(action) == expected


def test_a_long_step_ends_with_a_whole_part() -> None:
    line = " && ".join(
        f"till {word} --with everything-there-is" for word in "ab cd ef gh".split()
    )
    words = step_in_words(line)
    assert words.startswith("Run `till ab")
    assert words.endswith("`")
    assert len(words) <= 160


def test_the_kind_of_a_step_names_no_file() -> None:
    assert step_kinds("Edit a/b.go") == step_kinds("Write c.go") == {"Edit .go"}
    tests = {"Run the tests"}
    assert step_kinds("go test ./pkg/x") == step_kinds("go test ./...") == tests
    assert step_kinds("go build . && go test ./...") == {"Build", "Run the tests"}


def test_tasks_are_of_one_kind_by_words_and_steps() -> None:
    tests = frozenset({"Edit .go", "Run the tests"})
    docs = frozenset({"Edit .md"})
    assert is_same_task("Add a test", "Write tests", tests, tests)
    assert not is_same_task("Add a test", "Write tests", tests, docs)
    assert not is_same_task("Add a test", "Remove a test", tests, tests)
    assert is_same_task("Fix the login form", "Fix the login", tests, tests)
    assert not is_same_task("Fix the login form", "Fix the login", tests, docs)
    assert task_likeness("Fix the login", "Fix the parser") == 0
