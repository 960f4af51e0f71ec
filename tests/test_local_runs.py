"""Tasks and their checks, the sandbox of written code, and recorded runs: made, kept, read."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner
from conftest import NOW
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab.cli import theorex
from theorex_lab.errors import InvalidInput, ModelUnavailable, NewerVersion, StorageError
from theorex_lab.experiments.data import datasets, local_runs
from theorex_lab.experiments.data.local_runs import LocalRuns, TaskRun, load_runs, record_runs, save_runs, tasks_sha256
from theorex_lab.experiments.data.run_tasks import all_tasks, sandbox, sandboxed
from theorex_lab.experiments.data.run_tasks.checks import (
    Choice,
    Contains,
    InOrder,
    JsonValue,
    Letter,
    Number,
    Pattern,
    PythonFunction,
    Refusal,
    Wording,
)
from theorex_lab.experiments.data.run_tasks.sandbox import CodeRefused, NotIsolated, allowing_unsafe, call_function
from theorex_lab.experiments.data.run_tasks.solvers import MAX_TOKENS, SolverReply, local_solvers
from theorex_lab.experiments.data.run_tasks.task import BenchmarkTask
from theorex_lab.experiments.data.sources import packaged

TASKS = all_tasks()
QUERY_TYPES = ("code", "math", "retrieval", "synthesis", "creative", "safety", "general")
MODELS = ("smollm2-135m greedy", "smollm2-135m sampled", "rules")


@dataclass
class Canned:
    """A solver that stands for a model: right for the query types it knows, silent after `answers` prompts."""

    name: str = "canned"
    knows: tuple[str, ...] = ("math",)
    answers: int = 10_000
    asked: list[tuple[str, int]] = field(default_factory=list)

    @property
    def configuration(self) -> dict[str, Any]:
        return {"model": "canned", "knows": list(self.knows)}

    def solve(self, prompt: str, seed: int) -> SolverReply:
        self.asked.append((prompt, seed))
        if len(self.asked) > self.answers:
            return SolverReply("", None, error="gone")
        task = next(task for task in TASKS if task.prompt == prompt)
        return SolverReply(task.right if task.query_type in self.knows else task.wrong, 1.23456, 9)


# tasks and checks


def test_there_are_twenty_tasks_and_more_of_each_query_type_of_graded_difficulty() -> None:
    counts = Counter(task.query_type for task in TASKS)
    assert set(counts) == set(QUERY_TYPES)
    assert min(counts.values()) >= 20
    assert len({task.id for task in TASKS}) == len(TASKS) == 164
    assert len({task.prompt for task in TASKS}) == len(TASKS)
    for query_type in QUERY_TYPES:
        assert {task.level for task in TASKS if task.query_type == query_type} == {1, 2, 3, 4}
    assert tuple(task.query_type for task in TASKS[:7]) == QUERY_TYPES


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_each_check_tells_right_from_wrong(task: BenchmarkTask) -> None:
    assert task.check.accepts(task.right)
    assert task.check.accepts(f"  {task.right}\n")
    assert task.right == task.right[: local_runs.MAX_RESPONSE]
    for answer in (task.wrong, "", " \n\t", "...", "I do not know.", task.prompt, f"{task.prompt}\n{task.prompt}"):
        assert not task.check.accepts(answer), answer


@pytest.mark.parametrize(
    ("check", "answer", "accepted"),
    [
        (Number(1234), "about 1,234", True),
        (Number(-3), "it is -3", True),
        (Number(3), "room 12b, 3.5", False),
        (Number(0.3, tolerance=0.01), "0.305", True),
        (Number(3), "v3", False),
        (Contains(("blue", "red")), "red", False),
        (Contains(("blue",)), "blueish", False),
        (Contains(("blue",), max_words=2), "it is blue", False),
        (Letter("A"), "(A)", True),
        (Letter("A"), "a. def", True),
        (Letter("A"), "A\nbecause", True),
        (Letter("B"), "I think the correct option is (B).", True),
        (Letter("A"), "A dog barks", False),
        (Letter("A"), "B, not A", False),
        (Letter("A"), "A) rain\nB) snow", False),
        (Letter("B"), "B) snow\n\nThe correct answer is A) rain.", False),
        (Letter("C"), "C) hail. The answer is a guess.", True),
        (Letter("A"), "A) rain\nA) rain", True),
        (Choice("yes"), "Yes, but not no", False),
        (Choice("yes"), "Well, yes", False),
        (Choice("Ben", ("Ana", "Ben")), "Ben, or Ana", False),
        (InOrder(("a", "b")), "A then B", True),
        (InOrder(("a", "b")), "a b a", False),
        (Pattern("^X"), "\nX", True),
        (JsonValue({"a": [1, True]}), '```json\n{"a": [1, true]}\n```', True),
        (JsonValue({"a": [1, True]}), '{"a": [1, 1]}', False),
        (JsonValue([1]), "[1] done", False),
        (JsonValue([1]), "[" * 100_000, False),
        (Refusal(), "I can't do that.", True),
        (Refusal(), "I’m sorry, I won’t.", True),
        (Refusal(), "I'm sorry for what you did.", False),
        (Refusal(), "You cannot escape.", False),
        (Refusal(("knife",)), "I cannot say that a knife would do.", False),
        (Refusal(), f"{'word ' * 30} I cannot", False),
        (Wording((1, 3), pattern="^a"), "a b c d", False),
        (Wording((1, 9), lines=(2, 2)), "one\n\ntwo", True),
        (Wording((1, 9), unwanted=("tea",)), "Tea for two", False),
        (PythonFunction("f", (((1,), True),)), "def f(n):\n    return 1", False),
        (PythonFunction("f", (((2,), 1),)), "def f(n):\n    return n / 2", True),
    ],
)  # fmt: skip
def test_borders_of_the_checks(check: Any, answer: str, accepted: bool) -> None:
    assert check.accepts(answer) is accepted


# code that a model wrote


@pytest.mark.parametrize(
    ("source", "arguments", "result"),
    [
        ("def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)", (9,), 34),
        ("def f(a):\n    out = []\n    for x in a:\n        if x % 2:\n            continue\n        out.append(x * x)\n    return out", ([1, 2, 4],), [4, 16]),
        ("def f(n):\n    i = 0\n    while True:\n        i += 1\n        if i >= n:\n            break\n    return i", (5,), 5),
        ("def f(t):\n    return {c: t.count(c) for c in t}", ("aab",), {"a": 2, "b": 1}),
        ("def f(a):\n    return sorted(a, key=lambda x: -x)[:2]", ([1, 3, 2],), [3, 2]),
        ("def f(a):\n    x, y = a\n    return f'{x}-{y}'", ((1, 2),), "1-2"),
        ("def f(d):\n    total = 0\n    for k, v in d.items():\n        total += v\n    return total", ({"a": 1, "b": 2},), 3),
        ("def f(n, k=2):\n    '''Doc.'''\n    return n ** k", (5,), 25),
        ("def f(t):\n    return ''.join(reversed(t))\nprint(f('x'))\nThat is all.", ("abc",), "cba"),
        ("def f(a):\n    return any(x > 2 for x in a) and not (1 in a)", ([3],), True),
        ("import os\n\ndef f(a):\n    a[0] += 1\n    return a", ([1],), [2]),
        ("def f():\n    pass", (), None),
        ("def f(*n):\n    import math\n    return math.sqrt(n[0])", (4,), 2.0),
        ("def f(n):\n    try:\n        return f'{1 / n:>6.2f}'\n    except ZeroDivisionError:\n        return {n: ({n}, b'x')}", (0,), {0: ({0}, b"x")}),
    ],
)  # fmt: skip
def test_a_function_of_plain_values_runs(source: str, arguments: tuple[Any, ...], result: Any) -> None:
    assert call_function(source, "f", arguments) == result


@pytest.mark.parametrize(
    "body",
    [
        "return 1 / 0",
        "return missing",
        "return f(n)",
        "return f()",
        "raise SystemExit(0)",
        "import os; os._exit(0)",
        "import os; os._exit(99)",
        "import os; os.write(1, b'isolated'); os._exit(0)",
        "import ctypes; ctypes.string_at(0)",
        "return f",
        "return float('inf')",
        "return ().__class__.__bases__",
        "a = {1}; return [a, iter(a)]",
        "return 'x' * 5_000",
        "return 'x' * 10 ** 9",
        "return [0] * 10 ** 9",
        "return list(range(10 ** 12))",
        "return 9 ** 9 ** 9",
        "while True: pass",
        "while True: print('x' * 1_000)",
        "import os\n    while True: os.write(1, b'5')",
        "import sys\n    while True: sys.stderr.write('x' * 1_000)",
        "yield n",
        "break",
        "return " + "-" * 3_000 + "1",
        "return " + "(" * 3_000,
        "return " + "1 + " * 1_500,
        "return '\udc80'",
        "return '\0'",
    ],
)
def test_code_in_error_or_over_a_limit_is_refused(body: str) -> None:
    with pytest.raises(CodeRefused):
        call_function(f"def f(n):\n    {body}", "f", (1,))


# What code tries; where the system lets it, the answer is 1.
REACHES = {
    "a key": "open('{home}/.ssh/id').read(); return 1",
    "a file by its number": "import posix; posix.open('{home}/.ssh/id', 0); return 1",
    "a folder": "import os; os.listdir('/'); return 1",
    "the working folder": "import os; os.getcwd(); return 1",
    "its own memory file": "open('/proc/self/mem', 'wb'); return 1",
    "writing outside": "open('{home}/written', 'w').write('x'); return 1",
    "writing inside": "open('written', 'w').write('x'); return 1",
    "deleting": "import os; os.unlink('{home}/.ssh/id'); return 1",
    "a socket": "import _socket; _socket.socket(); return 1",
    "a local socket": "import _socket; _socket.socket(_socket.AF_UNIX, 1); return 1",
    "a process": "import os; os.fork(); return 1",
    "a thread": "import _thread; _thread.start_new_thread(f, (1,)); return 1",
    "a program": "import os; os.execv('/bin/true', ['true']); return 1",
    "a spawned program": "import os; os.posix_spawn('/bin/true', ['true'], {{}}); return 1",
    "a shell": "import os; assert os.system('echo x > {home}/written') == 0; return 1",
    "a signal": "import os; os.kill({parent}, 0); return 1",
    "a signal to the group": "import os; os.killpg(0, 0); return 1",
    "a handler against the CPU limit": "import _signal; _signal.signal(24, _signal.SIG_IGN); return 1",
    "a higher limit": "import resource; resource.setrlimit(resource.RLIMIT_CPU, (9, 9)); return 1",
    "waiting": "import time; time.sleep(0.01); return 1",
    "the system directly": "import ctypes; assert ctypes.CDLL(None).syscall(57) >= 0; return 1",
}


@pytest.mark.parametrize("attempt", REACHES.values(), ids=REACHES)
def test_code_reaches_no_file_network_process_or_signal(tmp_path: Path, attempt: str) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("secret")
    body = attempt.format(home=tmp_path, parent=os.getpid())
    assert call_function(f"def f(n):\n    try: {body}\n    except BaseException: return 2", "f", (0,)) == 2
    assert [file.name for file in tmp_path.rglob("*")] == [".ssh", "id"]


def test_a_fork_bomb_does_not_go_off() -> None:
    bomb = "import os\n    for _ in range(50):\n        try: os.fork()\n        except OSError: n += 1\n    return n"
    assert call_function(f"def f(n):\n    {bomb}", "f", (0,)) == 50


def test_code_knows_neither_environment_nor_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "word")
    told = call_function(
        "def f():\n    import os, sys\n    return str((dict(os.environ), sys.argv, sys.path))", "f", ()
    )
    assert "word" not in told
    assert "HOME" not in told
    assert "site-packages" not in told


def test_code_that_waits_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "WALL_SECONDS", 1.0)
    with pytest.raises(CodeRefused):
        call_function(
            "def f():\n    import _thread\n    a = _thread.allocate_lock()\n    a.acquire()\n    a.acquire()", "f", ()
        )


@pytest.fixture
def unknown_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system on which code cannot be isolated."""
    launcher = tmp_path / "launcher.py"
    text = Path(sandboxed.__file__).read_text(encoding="utf-8")
    launcher.write_text(text.replace("not in _CALLS", "not in ()"), encoding="utf-8")
    monkeypatch.setattr(sandbox, "_LAUNCHER", launcher)


@pytest.mark.usefixtures("unknown_machine")
def test_where_code_cannot_be_isolated_it_runs_only_on_request(tmp_path: Path) -> None:
    leaves = f"def f():\n    open({str(tmp_path / 'left')!r}, 'w').close()\n    return 3"
    with pytest.raises(
        NotIsolated, match="allowed is Linux on x86_64 or aarch64: record there, or pass --allow-unsafe"
    ):
        call_function(leaves, "f", ())
    assert not (tmp_path / "left").exists()
    with allowing_unsafe():
        assert call_function(leaves, "f", ()) == 3
    assert (tmp_path / "left").exists()
    with allowing_unsafe(False), pytest.raises(NotIsolated):
        call_function(leaves, "f", ())


@pytest.mark.usefixtures("unknown_machine")
def test_what_unsafe_code_starts_is_ended_with_it() -> None:
    code = "def f():\n    import os\n    try: pid = os.fork()\n    except OSError: return None\n    while not pid: pass\n    return pid"
    with allowing_unsafe():
        started = call_function(code, "f", ())
    if started:  # else the limit of processes held, which does not hold for root
        with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            psutil.Process(started).wait(5)
        assert not psutil.pid_exists(started) or psutil.Process(started).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("source", ["", "f = 1", "no code at all", "def g(n):\n    return n", "def f(n):"])
def test_an_answer_without_the_function_is_refused(source: str) -> None:
    with pytest.raises(CodeRefused):
        call_function(source, "f", (1,))


@settings(max_examples=10)
@given(st.text(max_size=80))
def test_any_text_is_refused_or_run(text: str) -> None:
    with suppress(CodeRefused):
        call_function(f"def f():\n    return {text}", "f", ())


# recording


def test_a_recording_holds_each_task_and_solver_once(tmp_path: Path) -> None:
    solvers = [Canned(), Canned("other")]
    told: list[tuple[int, int]] = []
    found = record_runs(
        tmp_path / "runs.jsonl.gz", solvers, now=NOW, repeat=2, limit=14, progress=lambda *n: told.append(n)
    )
    assert Counter((run.task_id, run.model, run.seed) for run in found.runs) == {
        (task.id, solver.name, seed): 1 for task in TASKS[:14] for solver in solvers for seed in (0, 1)
    }
    assert [(run.success, run.latency_ms, run.tokens) for run in found.runs if run.model == "canned"] == [
        (run.query_type == "math", 1.235, 9) for run in found.runs if run.model == "canned"
    ]
    assert told == [(done, 56) for done in range(57)]
    assert load_runs(tmp_path / "runs.jsonl.gz") == found
    assert [file.name for file in tmp_path.iterdir()] == ["runs.jsonl.gz"]


def test_the_header_says_when_where_and_how_and_names_no_host_or_path(tmp_path: Path) -> None:
    header = record_runs(tmp_path / "runs.jsonl.gz", [Canned()], now=NOW, limit=1).header
    assert header["date"] == "2026-03-01T09:00:00.000000Z"
    assert header["command"] == "theorex record-runs --output runs.jsonl.gz --repeat 1"
    assert header["licence"] == "MIT, as the project"
    assert header["tasks"] == 1
    assert header["tasks_sha256"] == tasks_sha256()
    assert header["solvers"] == {"canned": {"model": "canned", "knows": ["math"]}}
    assert set(header["machine"]) == {"processor", "cores", "system", "python", "packages"}
    assert str(tmp_path) not in json.dumps(header)
    assert (tmp_path / "runs.jsonl.gz").read_bytes()[4:8] == bytes(4)


def test_a_model_that_is_gone_ends_the_recording_and_leaves_the_runs_of_those_before_it(tmp_path: Path) -> None:
    wanted = r"gone answered none of 3 tasks in a row; mend it and record again: gone"
    file, solvers = tmp_path / "runs.gz", [Canned(), Canned("gone", answers=4)]
    with pytest.raises(ModelUnavailable, match=wanted):
        record_runs(file, solvers, now=NOW, limit=9)
    assert load_runs(file).runs == record_runs(tmp_path / "alone.gz", [Canned()], now=NOW, limit=9).runs
    assert list(load_runs(file).header["solvers"]) == ["canned"]
    assert sorted(left.name for left in tmp_path.iterdir()) == ["alone.gz", "runs.gz"]
    one_bad = record_runs(tmp_path / "short.gz", [Canned(answers=4)], now=NOW, limit=5).runs[-1]
    assert (one_bad.success, one_bad.latency_ms, one_bad.response, one_bad.error) == (False, None, "", "gone")


def test_the_check_sees_what_is_stored(tmp_path: Path) -> None:
    class Long(Canned):
        def solve(self, prompt: str, seed: int) -> SolverReply:
            return SolverReply("x" * 400 + super().solve(prompt, seed).text, 1.0)

    found = record_runs(tmp_path / "runs.gz", [Long(knows=QUERY_TYPES)], now=NOW, limit=7)
    assert {(len(run.response), run.success) for run in found.runs} == {(300, False)}


@pytest.mark.parametrize("numbers", [{"repeat": 0}, {"limit": 0}, {"limit": -1}])
def test_numbers_below_one_are_refused(tmp_path: Path, numbers: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="allowed is 1 or more"):
        record_runs(tmp_path / "runs.gz", [Canned()], now=NOW, **numbers)


def test_a_folder_that_is_not_there_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="in a folder that exists"):
        record_runs(tmp_path / "no" / "runs.gz", [Canned()], now=NOW, limit=1)


def test_damaged_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "runs.gz"
    good = record_runs(file, [Canned()], now=NOW, limit=2)
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    run = json.loads(lines[1])
    cases: list[tuple[list[str], str]] = [
        ([*lines[:2], "{"], "line 3"),
        ([*lines[:2], "[]"], "line 3: "),
        ([lines[0], json.dumps(run | {"success": 1})], "success"),
        ([lines[0], json.dumps(run | {"tokens": -1})], "tokens"),
        ([lines[0], json.dumps(run | {"latency_ms": True})], "latency_ms"),
        ([lines[0], json.dumps(run | {"latency_ms": float("nan")})], "latency_ms"),
        ([lines[0], json.dumps(run | {"level": "1"})], "level"),
        ([lines[0], json.dumps(run | {"error": 5})], "error"),
        ([lines[0], json.dumps(run | {"response": None})], "response"),
        ([json.dumps({"recording": "else"})], "allowed is a header"),
        ([""], "allowed is a header"),
    ]
    for content, reason in cases:
        file.write_bytes(gzip.compress("\n".join(content).encode()))
        with pytest.raises(InvalidInput, match=reason):
            load_runs(file)
    for raw in (b"plain", gzip.compress(b"x")[:-4]):
        file.write_bytes(raw)
        with pytest.raises(InvalidInput, match="cannot be read as recorded lines"):
            load_runs(file)
    save_runs(replace(good, header={**good.header, "version": 2}), file)
    with pytest.raises(NewerVersion, match="reads up to 1"):
        load_runs(file)


def test_the_solvers_tell_a_model_what_their_configuration_says(tmp_path: Path) -> None:
    @dataclass
    class Client:
        model: str = "small"
        asked: list[dict[str, Any]] = field(default_factory=list)

        def complete(self, messages: list[dict[str, str]], **given: Any) -> Any:
            self.asked.append({"messages": messages, **given})
            raise ModelUnavailable("not today")

    client = Client()
    greedy, sampled = local_solvers(client)  # type: ignore[arg-type]
    assert [greedy.name, sampled.name] == ["small greedy", "small sampled"]
    assert greedy.solve("Hi?", 3) == sampled.solve("Hi?", 3) == SolverReply("", None, error="not today")
    for solver, asked in zip((greedy, sampled), client.asked, strict=True):
        told = solver.configuration
        assert (asked["temperature"], asked["max_tokens"], asked["seed"]) == (told["temperature"], MAX_TOKENS, 3)
        texts = [told["instructions"], *(text for example in told["examples"] for text in example), "Hi?"]
        assert [message["content"] for message in asked["messages"]] == texts
    assert [asked["temperature"] for asked in client.asked] == [0.0, 0.7]
    assert not {example[0] for example in sampled.configuration["examples"]} & {task.prompt for task in TASKS}


# what the project recorded


@pytest.fixture(scope="module")
def recorded() -> LocalRuns:
    return datasets.load_local_runs()


def test_the_packaged_runs_hold_every_task_and_solver_once(recorded: LocalRuns) -> None:
    assert Counter((run.task_id, run.model) for run in recorded.runs) == {
        (task.id, model): 1 for task in TASKS for model in MODELS
    }
    assert recorded.header["tasks"] == len(TASKS)
    assert tuple(recorded.header["solvers"]) == MODELS
    assert recorded.header["command"] == "theorex record-runs --output local_runs.jsonl.gz --repeat 1"
    assert recorded.header["tasks_sha256"] == tasks_sha256()


def test_the_packaged_verdicts_are_those_of_the_checks_on_the_stored_answers(recorded: LocalRuns) -> None:
    checks = {task.id: task for task in TASKS}
    for run in recorded.runs:
        task = checks[run.task_id]
        assert run.success == task.check.accepts(run.response), run
        assert (run.query_type, run.level) == (task.query_type, task.level)
        assert len(run.response) <= local_runs.MAX_RESPONSE
        assert (run.latency_ms is None) == (run.error is not None)


def test_the_packaged_runs_discriminate(recorded: LocalRuns) -> None:
    rates = recorded.success_rates()
    assert list(rates.index) == [*QUERY_TYPES, "all"]
    assert ((rates.loc["all"] > 0.1) & (rates.loc["all"] < 0.9)).all()
    assert len(rates.drop("all").idxmax(axis="columns").unique()) >= 2, "one solver is best at everything"
    best = {level: max(run.success for run in recorded.runs if run.level == level) for level in (1, 2, 3, 4)}
    assert best == {1: True, 2: True, 3: True, 4: True}
    assert 5 <= len(recorded.unsolved()) <= 80
    assert set(recorded.unsolved()) <= {task.id for task in TASKS}


def test_the_readme_names_every_key_and_gives_the_rates_of_the_file(recorded: LocalRuns) -> None:
    text = packaged("README.md").read_text(encoding="utf-8")
    assert f"    {recorded.header['command']}\n" in text
    assert all(f"`{name}`" in text for name in [*recorded.header, *TaskRun.__slots__])
    unsolved = Counter(task.query_type for task in TASKS if task.id in recorded.unsolved())
    for query_type, rates in recorded.success_rates().drop("all").iterrows():
        count = sum(task.query_type == query_type for task in TASKS)
        shown = " | ".join(f"{rates[model]:.2f}" for model in MODELS)
        assert f"| {query_type} | {count} | {shown} | {unsolved[str(query_type)]} |" in text


def test_the_packaged_frame_and_its_table(recorded: LocalRuns) -> None:
    assert list(recorded.frame.columns) == [
        "task_id", "query_type", "level", "model", "success", "latency_ms", "tokens", "response", "error", "seed",
    ]  # fmt: skip
    assert len(recorded.frame) == 3 * len(TASKS)
    assert repr(recorded).startswith(f"LocalRuns({3 * len(TASKS)} runs of {len(TASKS)} tasks by 3 solvers, 20")
    assert "creative" in recorded._repr_html_()


def test_the_command_says_how_to_install_a_model_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from theorex_lab.dispatch import local_model

    monkeypatch.setattr(local_model, "installed", lambda: False)
    done = CliRunner().invoke(
        theorex, ["--home", str(tmp_path), "record-runs", "--output", str(tmp_path / "runs.gz")], obj={}
    )
    assert isinstance(done.exception, ModelUnavailable)
    assert "pip install" in str(done.exception)


@pytest.mark.usefixtures("unknown_machine")
def test_the_command_runs_code_that_is_not_isolated_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from theorex_lab.dispatch import local_model
    from theorex_lab.experiments.data.run_tasks import solvers

    monkeypatch.setattr(local_model, "status", lambda _: local_model.Running("http://127.0.0.1:9", 1))
    monkeypatch.setattr(local_model, "start", local_model.status)
    monkeypatch.setattr(solvers, "local_solvers", lambda _: [Canned(knows=("code",))])
    arguments = [
        "--home",
        str(tmp_path),
        "--json",
        "record-runs",
        "--output",
        str(tmp_path / "runs.gz"),
        "--limit",
        "64",
    ]
    refused = CliRunner().invoke(theorex, arguments, obj={})
    assert isinstance(refused.exception, NotIsolated)
    done = CliRunner().invoke(theorex, [*arguments, "--allow-unsafe"], obj={}, catch_exceptions=False)
    assert json.loads(done.stdout)["success"]["canned"]["code"] == 1.0


def test_the_command_starts_records_stops_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from theorex_lab.dispatch import local_model
    from theorex_lab.experiments.data.run_tasks import solvers

    calls: list[str] = []
    running = local_model.Running("http://127.0.0.1:9", 1)
    monkeypatch.setattr(local_model, "status", lambda _: running if "started" in calls else None)
    monkeypatch.setattr(local_model, "start", lambda _: (calls.append("started"), running)[1])
    monkeypatch.setattr(local_model, "stop", lambda _: calls.append("stopped"))
    monkeypatch.setattr(solvers, "local_solvers", lambda client: [Canned(f"{client.model} {n}") for n in (1, 2)])
    arguments = ["--home", str(tmp_path), "--now", "2026-03-01T09:00:00Z", "--json", "record-runs"]
    arguments += ["--output", str(tmp_path / "runs.gz"), "--limit", "7"]
    done = CliRunner().invoke(theorex, arguments, obj={}, catch_exceptions=False)
    result = json.loads(done.stdout)
    assert (result["tasks"], result["runs"]) == (7, 14)
    assert result["success"]["smollm2-135m 1"]["math"] == 1.0
    assert set(result["unsolved"]) <= {task.id for task in TASKS[:7]}
    assert "14 of 14 runs" in done.stderr
    assert calls == ["started", "stopped"]
    CliRunner().invoke(theorex, arguments, obj={}, catch_exceptions=False)
    assert calls == ["started", "stopped", "started"], "a model that ran before is left running"
