"""The commands of a project, and what their words say that they are for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.briefing.candidates import COMMANDS, fits_a_line
from theorex_lab.memory.briefing.command_roles import (
    general_text,
    general_words,
    is_everyday,
    is_general,
    program_of,
    role_of,
)
from theorex_lab.memory.briefing.commands import command_candidates, told_commands
from theorex_lab.memory.briefing.session_log import sessions_of
from theorex_lab.text.shell_lines import simple_commands

_DAY = 86_400_000_000
_START = 1_740_000_000_000_000  # 19 February 2025


def ran(
    command: str,
    session: str,
    *,
    day: int = 0,
    ok: bool | None = True,
    response: str = "",
    source: str = "tool",
) -> Event:
    body: dict[str, Any] = {
        "tool": "Bash",
        "input": "",
        "response": response,
        "source": source,
        "ok": ok,
        "paths": {"read": [], "edited": []},
        "command": command,
        "project": "",
    }
    at = _START + day * _DAY
    return new_event("tool_used", body, agent="main", at=at, session=session)


def told(text: str, session: str, *, day: int = 0) -> Event:
    body = {"message": text, "source": "agent"}
    at = _START + day * _DAY
    return new_event("turn_ended", body, agent="main", at=at, session=session)


def lines_of(events: list[Event], *, day: int = 10) -> list[str]:
    candidates = command_candidates(sessions_of(events), _START + day * _DAY)
    return [candidate.text for candidate in candidates]


def texts_of(line: str) -> list[str]:
    return [command.text for command in simple_commands(line)]


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("npm test 2>&1 | tail -3", ["npm test", "tail -3"]),
        ("echo 'a && b; c' && make", ["echo 'a && b; c'", "make"]),
        ('grep -n "a|b" x.py || true', ['grep -n "a|b" x.py', "true"]),
        ("for x in a b; do go test $x; done; go vet ./...", ["go vet ./..."]),
        ("if [ -f x ]; then make; else\nls\nfi && make test", ["make test"]),
        ("while true; do\n  if x; then y; fi\ndone\nmake", ["make"]),
        ("f() { go test; }; go vet", ["go vet"]),
        ("cat > f <<'EOF'\n}\n\" && x\nEOF\nmake", ["cat", "make"]),
        ("cat <<-A <<B\none\nA\ntwo\nB\nmake", ["cat", "make"]),
        ("go test \\\n  ./...", ["go test ./..."]),
        ("X=1 go build . > /dev/null", ["X=1 go build ."]),
        ("X=$(ls | wc -l); make", ["make"]),
        ("make # then; nothing", ["make"]),
        ('echo "never closed; make', []),
        ("[[ -f x && -f y ]] && make", ["make"]),
        ("", []),
    ],
)
def test_a_shell_line_is_cut_into_its_commands(line: str, texts: list[str]) -> None:
    assert texts_of(line) == texts


def test_cd_gives_the_folder_of_what_follows_and_a_subshell_gives_it_back() -> None:
    commands = simple_commands("cd a && (cd b && make x) && make y; cd ~/z; make z")
    folders = [(command.words[-1], command.folder) for command in commands]
    assert folders == [("x", "a/b"), ("y", "a"), ("z", "")]


def test_a_command_that_the_shell_fills_in_is_not_whole() -> None:
    lines = ["ls $X", "ls `pwd`", 'ls "$(pwd)"', "python - <<E\n1\nE", "ls <(x)"]
    lines += ["tool --path  --all", "tool --path "]
    for line in lines:
        assert not simple_commands(line)[0].is_whole, line
    for line in ("ls '$X'", "ls a   # why", "ls a \\\n  b", "ls a && ls b"):
        assert simple_commands(line)[0].is_whole, line


@given(st.text(alphabet="ab '\"$(){}`\\|&;<>#\n=cd-E", max_size=60))
def test_any_line_is_cut_without_an_error(line: str) -> None:
    for command in simple_commands(line):
        assert command.words
        assert "\n" not in command.text
        role_of(command.words)
        program_of(command.words)
        general_words(command.words)
        is_everyday(command.words)


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("go test ./...", "test"),
        ("go vet ./...", "lint"),
        ("gofmt -w .", "format"),
        ("gofmt -l .", "lint"),
        ("golangci-lint run", "lint"),
        ("go mod tidy", "install"),
        (".venv/bin/python -m pytest -q", "test"),
        ("uv run --no-sync ruff check .", "lint"),
        ("ruff format .", "format"),
        ("ruff format --check .", "lint"),
        ("python3 -m app.main", "run"),
        ("python manage.py test", "test"),
        ("uv sync", "install"),
        ("pip install -r requirements.txt", "install"),
        ("npm run lint:fix", "lint"),
        ("npm ci", "install"),
        ("npx prettier --write .", "format"),
        ("npx prettier --check .", "lint"),
        ("pnpm exec vitest run", "test"),
        ("bun test", "test"),
        ("bun run tsc --noEmit", "lint"),
        ("bun run src/cli.ts tasks list", "run"),
        ("yarn", "install"),
        ("cargo clippy", "lint"),
        ("cargo fmt", "format"),
        ("./gradlew test", "test"),
        ("mvn -q package", "build"),
        ("bundle exec rspec", "test"),
        ("dotnet build", "build"),
        ("make", "build"),
        ("make test-unit", "test"),
        ("docker-compose up -d", "run"),
        ("docker compose build", "build"),
        ("gh pr diff 12", "review"),
        ("timeout 60 go test ./...", "test"),
        ("git status", ""),
        ("ls -la", ""),
    ],
)
def test_a_command_has_the_role_of_its_program(line: str, role: str) -> None:
    assert role_of(simple_commands(line)[0].words) == role


def test_a_command_of_one_file_is_not_general() -> None:
    assert is_general(("gofmt", "-w", "."))
    assert is_general(("go", "test", "./..."))
    assert is_general(("pip", "install", "-r", "requirements.txt"))
    assert not is_general(("gofmt", "-w", "pkg/x.go"))
    assert not is_general(("go", "test", "-run", "TestX", "./..."))
    assert not is_general(("pip", "install", "httpx"))


def test_the_check_names_each_role_its_folder_and_how_often() -> None:
    events = []
    for day, session in enumerate(("a", "b", "c")):
        events += [
            ran("cd cli && gofmt -w . && golangci-lint run", session, day=day),
            ran("cd cli && go build -o x . && go test ./... | tail", session, day=day),
        ]
    assert lines_of(events) == [
        "Check a change: format with `gofmt -w .`, lint with `golangci-lint run`,"
        " build with `go build -o x .`, test with `go test ./...`, in cli/ (3 sessions,"
        " last 21 Feb)."
    ]


def test_the_general_form_stands_for_a_role_though_single_files_are_usual() -> None:
    events = [ran("gofmt -w .", "a"), ran("gofmt -w .", "e")]
    for session in ("a", "b", "c", "d"):
        events.append(ran(f"gofmt -w pkg/{session}.go", session, day=1))
    assert "ormat with `gofmt -w .`" in lines_of(events)[0]


def test_without_a_general_form_a_mark_stands_for_the_file() -> None:
    events = [ran("gofmt -w a/x.go", "a"), ran("gofmt -w a/y.go a/z.go", "b")]
    assert "ormat with `gofmt -w <file>`" in lines_of(events)[0]


def test_of_equals_the_last_that_succeeded_wins() -> None:
    events = [
        ran("make test", "a", day=1),
        ran("make test", "b", day=1),
        ran("pytest -q", "a", day=2),
        ran("pytest -q", "b", day=2),
    ]
    assert "est with `pytest -q`" in lines_of(events)[0]


def test_a_variant_that_works_is_shown_with_the_one_that_fails() -> None:
    events = []
    complaint = "go: cannot write multiple packages to non-directory x"
    for session in ("a", "b", "c"):
        events += [
            ran("go build -o x ./...", session, ok=False, response=complaint),
            ran("go build -o x .", session),
        ]
    assert lines_of(events)[1] == (
        "Build with `go build -o x .`; `go build -o x ./...` fails: cannot write"
        " multiple packages to non-directory x (3 sessions, last 19 Feb)."
    )


def test_what_only_messages_tell_counts_less_than_what_was_run() -> None:
    events = [told("Run `make test` or:\n```bash\n$ make test\n```", "a")]
    events += [told("As before: `make test`.", "b"), ran("pytest -q", "c")]
    events += [ran("pytest -q", "d")]
    assert "est with `pytest -q`" in lines_of(events)[0]
    assert "est with `make test`" in lines_of(events[:2])[0]
    assert [command.text for command in told_commands("`GET /x` `a: b` `pip`")] == []


def test_imported_calls_tell_no_command() -> None:
    events = [ran("make test", session, source="import") for session in ("a", "b")]
    assert lines_of(events) == []


def test_no_junk_of_a_script_becomes_a_command() -> None:
    script = "cat > x.go <<'E'\nimport (\n}\nE\nfor f in *; do\n  tool $f\ndone\n}\n\""
    events = [ran(script, session) for session in ("a", "b", "c", "d")]
    assert lines_of(events) == []


def test_everyday_programs_are_no_commands_of_a_project() -> None:
    events = [ran("git status && ls -la | jq .", session) for session in "abcd"]
    assert lines_of(events) == []


def test_at_most_three_lines_follow_the_check() -> None:
    events = []
    for session in "abcd":
        for name in ("one", "two", "three", "four", "five"):
            events.append(ran(f"./{name} --all && make test", session))
    lines = lines_of(events)
    assert len(lines) == 4
    assert lines[1].startswith("Often run: `./")


@given(st.lists(st.text(max_size=80), max_size=6))
def test_each_line_fits_and_says_what_it_rests_on(texts: list[str]) -> None:
    events = [
        ran(f"make test; tool {text}", str(i % 3)) for i, text in enumerate(texts)
    ]
    ids = {event.id for event in events}
    for candidate in command_candidates(sessions_of(events), _START + _DAY):
        assert candidate.section == COMMANDS
        assert fits_a_line(candidate.text)
        assert 0 <= candidate.weight <= 1
        assert candidate.events
        assert ids.issuperset(candidate.events)


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("cargo +nightly fmt --all", "format"),
        ("cargo clippy --all-targets -- -D warnings", "lint"),
        ("terraform fmt -recursive", "format"),
        ("terraform fmt -check", "lint"),
        ("tofu validate", "lint"),
        ("terraform apply -auto-approve", "run"),
        ("docker compose exec -T web python manage.py test", "test"),
        ("docker compose -f dev.yml run --rm web pytest -q", "test"),
        ("docker compose -f dev.yml up -d", "run"),
        ("docker exec -it web ruff check .", "lint"),
        ("dotnet format --verify-no-changes", "lint"),
        ("./gradlew :app:testDebugUnitTest", "test"),
        ("./gradlew spotlessApply", "format"),
        ("./gradlew spotlessCheck", "lint"),
        ("pnpm --filter web test", "test"),
        ("yarn workspace web build", "build"),
        ("npm --prefix ui run lint", "lint"),
        ("turbo run build", "build"),
        ("make -C src lint", "lint"),
        ("make -j8", "build"),
        ("mix dialyzer", "lint"),
        ("flutter analyze", "lint"),
        ("bazel test //...", "test"),
        ("latexmk -pdf main.tex", "build"),
        ("xcodebuild -scheme App test", "test"),
        ("php artisan test", "test"),
        ("docker run --rm busybox ls", "run"),
    ],
)
def test_commands_of_other_ecosystems_have_their_roles(line, role):
    [command] = simple_commands(line)
    assert role_of(command.words) == role


def test_a_script_and_a_package_that_are_part_of_a_command_are_shown():
    for line in ("python manage.py test", "pnpm --filter web test"):
        [command] = simple_commands(line)
        assert general_text(command) == line
