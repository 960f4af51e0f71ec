"""Say whether a tool call failed, and what kind of check a command runs.

Rules read this from the printed output.
"""

import re

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.event import Event

# What a command that checks work begins with; then the words that make it one kind of
# check.
_CHECK = lazy_pattern(
    r"""
    (?:^|&&|;|\|\|)\s*(?:
          [A-Z_]+=\S+\s+
        | sudo\s+
        | uv[ ]run\s+
        | poetry[ ]run\s+
        | npx\s+
        | bundle[ ]exec\s+
        | time\s+
    )*(
          (?:python3?[ ]-m[ ])?(?:pytest|unittest|tox|nox)
        | go[ ](?:test|build|vet|run)
        | golangci-lint[ ]run
        | gofmt
        | cargo[ ](?:test|build|check|clippy|run)
        | (?:npm|yarn|pnpm|bun)[ ](?:run[ ])?(?:test|build|lint|check|typecheck)
        | jest
        | vitest
        | tsc
        | eslint
        | ruff(?:[ ]check)?
        | mypy
        | pyright
        | flake8
        | make(?:[ ][\w-]+)?
        | mvn[ ]\w+
        | gradle[ ]\w+
        | \./gradlew[ ]\w+
        | dotnet[ ](?:test|build)
        | rspec
        | rake(?:[ ]\w+)?
        | phpunit
        | swift[ ](?:test|build)
        | bazel[ ](?:test|build)
        | ctest
        | cmake[ ]--build
        | just(?:[ ][\w-]+)?
        | terraform[ ](?:validate|plan)
        | shellcheck
    )(?=\s|$|;|&|\|)
    """,
    re.VERBOSE,
)
_EXIT = lazy_pattern(
    r"\s*(?:Exit code|exit status|Process exited with code)[: ]+(\d+)", re.I
)
_TIMEOUT = lazy_pattern(r"timed? ?out|deadline exceeded", re.I)
_CRASH = lazy_pattern(
    r"""
    ^\s*(?:panic:|Segmentation[ ]fault|fatal[ ]error|thread[ ]'.*'[ ]panicked)
    """,
    re.M | re.VERBOSE,
)
_MISSING_MODULE = lazy_pattern(
    r"""
      no[ ]required[ ]module
    | ModuleNotFoundError
    | Cannot[ ]find[ ](?:module|package)
    | unresolved[ ]import
    | ImportError
    """,
    re.VERBOSE,
)
_BUILD_ERROR = lazy_pattern(
    r"""
      undefined:
    | cannot[ ]use
    | undeclared
    | syntax[ ]error
    | SyntaxError
    | build[ ]failed
    | \b(?:Type|Name)Error\b
    | \berror(?:\[E\d+\]|:(?![ ](?:expect\(|Test[ ]"))|[ ]TS\d+)
    | does[ ]not[ ]compile
    """,
    re.I | re.VERBOSE,
)
_FAILED_TEST = lazy_pattern(
    r"""
      ^\s*(?:-+[ ]?)?FAIL(?:ED)?\b
    | AssertionError
    | assert(?:ion)?[ ]failed
    | \berror:[ ](?:expect\(|Test[ ]")
    | \d+[ ]failed
    | Tests?:.*\d+[ ]failed
    """,
    re.M | re.VERBOSE,
)
_LINTER_FINDING = lazy_pattern(r"\d+ issues?\b|gofmt|lint", re.I)
# Signs of failure at the start of a line of what a check printed; the first class that
# fits names it.
_CLASSES = (
    ("a timeout", _TIMEOUT),
    ("a crash", _CRASH),
    ("a missing module", _MISSING_MODULE),
    ("a type or build error", _BUILD_ERROR),
    ("a failed test", _FAILED_TEST),
    ("a linter's finding", _LINTER_FINDING),
)
_SIGNS = r"FAIL(?:ED)?\b|panic:|Traceback \(most|error(?:\[|:)|E   "
_ERRORS = lazy_pattern(rf"^\s*(?:-+ ?)?(?:{_SIGNS})|\b\d+ (?:failed|errors?)\b", re.M)
# A line that tells of an error, wherever the words stand in it.
_TELLING = lazy_pattern(
    r"""
    (?:
          error
        | exception
        | fail(?:ed|ure)?
        | panic
        | fatal
        | undefined
        | not[ ]found
        | no[ ]such
        | cannot
        | can't
        | unable
        | denied
        | refused
        | invalid
        | illegal
        | missing
        | unexpected
        | unresolved
        | timed?[ ]?out
        | mismatch
        | not[ ]enough
        | does[ ]not
        | not[ ]available
    )\b
    """,
    re.I | re.VERBOSE,
)
# Lines of progress and of quoted code, which tell of no error.
_DULL = lazy_pattern(
    r"""
    (?:
          ===[ ](?:RUN|PAUSE|CONT)
        | ---[ ]PASS
        | ok[ ]
        | PASS\b
        | \?[ ]
        | collecting
        | collected[ ]\d
        | platform[ ]
        | rootdir
        | plugins:
        | cachedir
        | [=.\-_ ]+$
        | [•*][ ](?:skipping|checking)
        | Compiling[ ]
        | Finished[ ]
        | Running[ ]
        | \$[ ]
        | \d+[ ]\|
        | \#[ ]\S+(?:[ ]\[\S+\])?$
    )
    """,
    re.VERBOSE,
)


def family_of(command: str) -> str:
    """Return the kind of check that a command runs, '' for any other command.

    >>> family_of("cd cli && go test -v ./... 2>&1 | head"), family_of("go help test")
    ('go test', '')
    """
    match = _CHECK.search(command)
    return match[1] if match else ""


def has_failed(event: Event) -> bool | None:
    """Return whether a command failed; None where that is open.

    The exit code, `ok` or the output of a check decides.
    """
    ok = event.body.get("ok")
    if ok is None:
        return None
    if ok is False:
        return True
    response = event.body.get("response", "")
    exit_code = _EXIT.match(response)
    if exit_code:
        return int(exit_code[1]) != 0
    if not family_of(event.body.get("command", "")):
        return False
    return _ERRORS.search(response) is not None


def error_of(response: str) -> str:
    """Return the class of an error by what was printed.

    It holds nothing of the text itself, which may be anybody's.

    >>> error_of("--- FAIL: TestSync (0.00s)")
    'a failed test'
    >>> error_of("error: expect(received).toBe(expected)")
    'a failed test'
    >>> (
    ...     error_of("E   AssertionError: 2 != 3"),
    ...     error_of("E   TypeError: no such argument"),
    ... )
    ('a failed test', 'a type or build error')
    """
    for name, sign in _CLASSES:
        if sign.search(response):
            return name
    return "an error"


def error_line(response: str) -> str:
    r"""Return the line of what was printed that tells most of an error.

    It is the first that reads like an error, else the first that tells more than
    progress; '' without one.

    >>> error_line("Exit code 1\nok  pkg/a\n--- FAIL: TestSync (0.00s)\nFAIL")
    '--- FAIL: TestSync (0.00s)'
    >>> error_line("Exit code 127\n(eval):1: command not found: goreleaser")
    '(eval):1: command not found: goreleaser'
    """
    stripped = [line.strip() for line in _EXIT.sub("", response, count=1).splitlines()]
    lines = [line for line in stripped if line and not _DULL.match(line)]
    for line in lines:
        if _TELLING.search(line):
            return line
    return lines[0] if lines else ""
