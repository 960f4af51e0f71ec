"""Say which command of a shell line failed, by what was printed.

A line may build, lint and test one after the other. The program that an error names is
the one that failed, else the one that makes errors of this class.
"""

from collections.abc import Iterable, Sequence

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.memory.briefing.command_roles import (
    BUILD,
    LINT,
    TEST,
    is_everyday,
    program_of,
    role_of,
)
from theorex_lab.memory.briefing.tool_failures import cut_commands
from theorex_lab.memory.checks import family_of
from theorex_lab.text.line import one_line
from theorex_lab.text.shell_lines import SimpleCommand

_PROGRAM_CHARACTERS = 40
# The program that an error names: "awk: syntax error", "command not found: awk".
_SPEAKER = lazy_pattern(r"(?:\(eval\):\d+: )?([\w.+-]+): ")
_NOT_FOUND = lazy_pattern(
    r"command not found: ([\w.+-]+)|([\w.+-]+): command not found"
)
# Which commands make errors of a class, the likeliest first.
_ROLES_BY_CLASS = {
    "a failed test": (TEST,),
    "a type or build error": (BUILD, LINT, TEST),
    "a linter's finding": (LINT,),
}


def program_in(command: str) -> str:
    """Return the kind of check that a command runs, else its program.

    >>> program_in("cd cli && LANG=C cat -A notes"), program_in("cd cli && go test ./...")
    ('cat', 'go test')
    """
    family = family_of(command)
    if family:
        return family
    for simple in cut_commands(command):
        program = program_of(simple.words)
        if is_everyday(simple.words):
            program, _, _ = program.partition(" ")
        if program:
            return one_line(program, _PROGRAM_CHARACTERS)
    return ""


def failed_program(command: str, error: str, error_class: str = "") -> str:
    """Return the check or the program of a line that failed.

    Args:
        command: The line.
        error: The line of the output that tells the error.
        error_class: The class of the error of a check; '' for none.

    >>> line = "go build . && golangci-lint run && go test ./..."
    >>> failed_program(line, "--- FAIL: TestSync", "a failed test")
    'go test'
    >>> failed_program("gh pr diff 4 | awk '{'", "awk: syntax error at line 1")
    'awk'
    """
    commands = cut_commands(command)
    if len(commands) < 2:
        return program_in(command)
    named = _named_program(commands, error)
    if named:
        return named
    for role in _ROLES_BY_CLASS.get(error_class, ()):
        for simple in commands:
            if role_of(simple.words) == role:
                return program_in(simple.text)
    return program_in(command)


def _named_program(commands: Sequence[SimpleCommand], error: str) -> str:
    """Return the program of a line that an error names; '' for none."""
    names = set(_names_in(error))
    for simple in commands:
        program = program_in(simple.text)
        first, _, _ = program.partition(" ")
        if first in names:
            return program
    return ""


def _names_in(error: str) -> Iterable[str]:
    """Yield the names that an error may mean by the program that failed."""
    speaker = _SPEAKER.match(error)
    if speaker:
        yield speaker[1]
    for match in _NOT_FOUND.finditer(error):
        yield match[1] or match[2]


def runs_program(command: str, program: str) -> bool:
    """Return whether a line runs a check or a program.

    >>> runs_program("go build . && go test ./...", "go test")
    True
    """
    if program_in(command) == program:
        return True
    commands = cut_commands(command)
    return any(program_in(simple.text) == program for simple in commands)
