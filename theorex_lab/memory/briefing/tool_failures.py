"""How a tool call failed: the command that failed, and what it complained of.

An event keeps the first characters of what a call returned, as a text or as cut JSON.
A failure is stated by the event, or hidden by a pipe and told by the output alone.
English: the words of complaints stand in this module. Standard library only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.memory.briefing.command_roles import (
    FORMAT,
    LINT,
    arguments_of,
    is_everyday,
    launched,
    program_of,
    role_of,
)
from theorex_lab.memory.briefing.session_log import ToolUse
from theorex_lab.text.shell_lines import SimpleCommand, simple_commands

LONGEST_COMPLAINT = 110  # characters of a complaint that is shown
NEAR = 0.5  # command_likeness from which on one command may stand for another
_LONGEST_LINE = 400
_LONGEST_HIDDEN = 200  # characters of a complaint that no status confirms
_FEWEST_WORDS = 3
_SIGNATURE_CHARACTERS = 90

# Members of a response in which the output stands, those of errors first.
_OUTPUT_MEMBER = lazy_pattern(
    r'"(stderr|error|stdout|output|content|text|result|message)"\s*:\s*'
    r'"((?:[^"\\]|\\.)*)'
)
_ERROR_MEMBERS = ("stderr", "error")
_CUT_ESCAPE = lazy_pattern(r"\\(?:u[0-9a-fA-F]{0,3})?$")
# A terminal's line that only repeats the command.
_TERMINAL_PROMPT = lazy_pattern(r"^\S+@\S+ .{0,80}?[%$#❯](?: |$)")
_MARKUP = lazy_pattern(r"</?(?:tool_use_error|stderr|stdout|error)>")
_TERMINAL_COLOR = lazy_pattern(r"\x1b\[[\d;]*m")
# Lines that only say that something failed, not what.
_BARE_FAILURE = lazy_pattern(
    r"(?:Exit code:? \d+|Error:?|Command failed.*|\$.*|\^+|[=\-_*~. ]+)$", re.I
)
_COMPLAINT = lazy_pattern(
    r"""
    \b(?:
        errors? | fatal | failed | failure | cannot | can't | couldn't | could[ ]not
      | not[ ](?:found|installed|allowed|supported|recognized|properly|a[ ]valid)
      | no[ ](?:such|matches|module|rule) | unknown | unrecognized
      | invalid | illegal | denied | refused | exceeds | missing | unable | requires?
      | must[ ](?:be|use|have) | unexpected | expected | time[ds]?[ ]?out | ENOENT
      | EACCES | does[ ]not[ ]exist | already[ ]in[ ]use | not[ ]in[ ]the
      | command[ ]not | either | too[ ]many | too[ ]few | accepts
    )\b
    """,
    re.I | re.VERBOSE,
)
_WARNING = lazy_pattern(r"\bwarning\b", re.I)
_WORD = lazy_pattern(r"[A-Za-z]{2,}")
# What stands before a complaint: the shell's own place, a file with its line.
_PLACE_BEFORE = lazy_pattern(
    r"^(?:\(eval\):(?:\w+:)?\d+:\s*|(?:/bin/)?(?:ba|z|da)?sh: (?:line \d+: )?(?:\d+: )?"
    r"|[\w./@+-]+:\d+(?::\d+)?:?\s+|(?:Error|error):\s*)"
)
# A program that complains by its own name at the beginning of a line.
_SPEAKER = lazy_pattern(r"^(?:\(eval\):\d+: )?(?:error: )?([\w.+-]+): ")
# How any program begins to say that it failed.
_SAYS_FAILURE = lazy_pattern(r"(?:Error|Failed|Cannot|Could not|Unable)\b")
# Names under which any program complains.
_NAMELESS = frozenset(("error", "fatal", "failed", "usage"))
_NOT_FOUND = lazy_pattern(
    r"command not found: ([\w.+-]+)|^(?:.*: )?([\w.+-]+): (?:command )?not found"
)
_CHANGED_FOLDER = lazy_pattern(
    r"^(?:\(eval\):)?cd:(?:\d+:)? (?:no such file or directory: )?([^\s:]+)"
)
_NO_MATCHES = lazy_pattern(r"no matches found: (.+)$")
_BAD_WORD = lazy_pattern(r"(?:^|: )(=+)\w* not found")
_FORMAT_ERROR = lazy_pattern(
    r"not properly formatted|would reformat|code style issues|needs? formatting"
    r"|\(gofmt\)|\(goimports\)|prettier/prettier|Delete `|Insert `",
    re.I,
)
# What is wrong with the work at hand, which tells nothing of how to work here: errors
# of compilers, failed assertions and tests, merges, files that are being written.
_WORK_ERROR = lazy_pattern(
    r"""
      undefined: | (?:declared|imported)[ ]and[ ]not[ ]used | \bassert
    | expected[ ].*\b(?:got|found|but|to)\b | ---[ ]FAIL | ^FAIL\b | ^\(fail\)
    | syntax[ ]?error | SyntaxError | IndentationError | NameError | TypeError
    | AttributeError | ValueError | KeyError | ReferenceError | \berror[ ]?TS\d+
    | cannot[ ](?:find[ ]name|use[ ].*[ ]as|infer|assign|borrow)
    | is[ ]not[ ]assignable | does[ ]not[ ]exist[ ]on[ ]type | error\[E\d+\]
    | has[ ]no[ ]field[ ]or[ ]method | missing[ ]return | is[ ]not[ ]defined
    | panic: | CONFLICT | could[ ]not[ ]apply | [Mm]erge[ ]conflict | unmerged
    | not[ ]enough[ ]arguments | too[ ]many[ ]arguments[ ]in[ ]call | \[build[ ]failed\]
    | [Ee]rror[ ]return[ ]value | [Uu]nhandled[ ]error[ ]between | \d+[ ]failed
    | tests?[ ]failed | timed[ ]out[ ]after | \(errcheck\) | \(staticcheck\)
    | \(unused\) | \(govet\) | no-unused-vars | [ ]problems?[ ]\(
    | [Uu]ncommitted | unstaged[ ]changes | would[ ]be[ ]overwritten
    | no[ ]such[ ](?:column|table) | did[ ]not[ ]match[ ]any | already[ ]exists
    | rejected | nothing[ ]to[ ]commit
    """,
    re.VERBOSE,
)
# Where a complaint can be cut and is still whole.
_CLAUSE_END = lazy_pattern(r"; |\. |, | - |: ")
_QUOTED = lazy_pattern(r"[\"'`“‘][^\"'`”’]*[\"'`”’]")
_PATH = lazy_pattern(r"\S*/\S+|\S+\.\w{1,4}\b")
_NUMBER = lazy_pattern(r"\d[\d.,]*")
_RULE_NAME = lazy_pattern(r"\s*\([\w-]+\)$")  # of a linter, at the end of its complaint
_UNCLOSED_QUOTE = lazy_pattern(r"\s[\"'`“][^\"'`”]*$")


@dataclass(frozen=True, slots=True)
class Failure:
    """How a tool call failed.

    Attributes:
        command: The command that failed; None for a tool that runs none, and where the
            shell itself refused to run anything.
        shown: What failed, as it is shown.
        program: Its program with the subcommand, or the tool's name.
        complaint: The line that says what was wrong, without its place.
        signature: The complaint without numbers, quotations and paths.
        is_hidden: Whether the call passed for a success.
        is_of_tool: Whether another tool failed than one that runs commands.
    """

    command: SimpleCommand | None
    shown: str
    program: str
    complaint: str
    signature: str
    is_hidden: bool
    is_of_tool: bool = False

    @property
    def is_of_format(self) -> bool:
        """Whether files only have to be formatted."""
        return _FORMAT_ERROR.search(self.complaint) is not None

    @property
    def is_of_work(self) -> bool:
        """Whether the work at hand is wrong, not the way in which it was tried."""
        return _WORK_ERROR.search(self.complaint) is not None

    def shown_complaint(self, longest: int) -> str:
        """Return the complaint in at most so many characters, cut between clauses."""
        is_cut = _UNCLOSED_QUOTE.search(self.complaint) is not None
        if len(self.complaint) <= longest and not is_cut:
            return self.complaint
        ends = [
            match.start()
            for match in _CLAUSE_END.finditer(self.complaint[: longest + 1])
        ]
        if ends and ends[-1] > longest // 3:
            return self.complaint[: ends[-1]]
        start, _, _ = self.complaint[:longest].rpartition(" ")
        return f"{start} …"


@remembered(1 << 14)
def cut_commands(line: str) -> tuple[SimpleCommand, ...]:
    """Return the simple commands of a call's command."""
    return tuple(simple_commands(line))


@remembered(1 << 14)
def failure_of(tool: ToolUse) -> Failure | None:
    """Return how a call failed; None where it did not, or where nobody can tell how."""
    is_hidden = tool.ok is not False
    complaint = _complaint_of(tool)
    if not complaint:
        return None
    if not tool.command:
        failure = _failure(None, tool.tool, tool.tool, complaint, is_hidden)
        return replace(failure, is_of_tool=True)
    shell_failure = _failure_of_shell(tool, complaint, is_hidden)
    if shell_failure is not None:
        return shell_failure
    command = _failed_command(cut_commands(tool.command), complaint)
    if command is None:
        return None
    program = program_of(command.words)
    return _failure(command, command.text, program, complaint, is_hidden)


def command_likeness(words: tuple[str, ...], other_words: tuple[str, ...]) -> float:
    """Return which share of the shorter command's arguments the other has too.

    The program does not count, nor does its subcommand where both have the same.

    >>> command_likeness(("go", "build", "-o", "x", "./..."), ("go", "build", "-o", "x"))
    1.0
    >>> command_likeness(("bun", "run", "lint"), ("bun", "test"))
    0.0
    """
    if program_of(words) == program_of(other_words):
        arguments = set(arguments_of(words))
        other_arguments = set(arguments_of(other_words))
    else:
        arguments = set(launched(words)[1:])
        other_arguments = set(launched(other_words)[1:])
    smaller = min(len(arguments), len(other_arguments))
    if smaller == 0:
        return 1.0
    return len(arguments & other_arguments) / smaller


def _failure(
    command: SimpleCommand | None,
    shown: str,
    program: str,
    complaint: str,
    is_hidden: bool,
) -> Failure:
    """Return a failure whose complaint has lost its place."""
    bare_complaint = _PLACE_BEFORE.sub("", complaint)
    name, _, _ = program.partition(" ")
    bare_complaint = bare_complaint.removeprefix(f"{name}: ")
    return Failure(
        command=command,
        shown=shown,
        program=program,
        complaint=bare_complaint,
        signature=signature_of(bare_complaint),
        is_hidden=is_hidden,
    )


def signature_of(complaint: str) -> str:
    """Return a complaint without what differs from one time to the next.

    >>> signature_of("open 'a b.md': no such file pkg/x.go:12")
    'open Q: no such file P'
    """
    text = _RULE_NAME.sub("", complaint)
    text = _QUOTED.sub("Q", text)
    text = _PATH.sub("P", text)
    text = _NUMBER.sub("N", text)
    return " ".join(text.split())[:_SIGNATURE_CHARACTERS]


def output_lines(tool: ToolUse) -> tuple[str, ...]:
    """Return the lines of what a call printed, without what repeats its command."""
    text = _printed(tool.response)
    rest = text.removeprefix(tool.command)
    if not rest or rest.startswith(("\n", "\r", " \n")):
        text = rest
    text = _TERMINAL_COLOR.sub("", _MARKUP.sub("", text))
    lines: list[str] = []
    for raw_line in text.splitlines():
        line = raw_line.strip()[:_LONGEST_LINE]
        if line and not _TERMINAL_PROMPT.match(line):
            lines.append(line)
    return tuple(lines)


def _printed(response: str) -> str:
    """Return what a call printed out of its response, which may be cut JSON."""
    if not response.lstrip().startswith("{"):
        return response
    errors: list[str] = []
    outputs: list[str] = []
    for member, escaped in _OUTPUT_MEMBER.findall(response):
        text = _unescaped(escaped)
        if member in _ERROR_MEMBERS:
            errors.append(text)
        else:
            outputs.append(text)
    if not errors and not outputs:
        return response
    return "\n".join(errors + outputs)


def _unescaped(text: str) -> str:
    """Return the text of a JSON string that may be cut within an escape."""
    whole_text = _CUT_ESCAPE.sub("", text)
    try:
        unescaped: str = json.loads(f'"{whole_text}"', strict=False)
    except json.JSONDecodeError:
        return text
    return unescaped


def _is_complaint(line: str) -> bool:
    """Return whether a line says what was wrong."""
    if _BARE_FAILURE.match(line) or not _COMPLAINT.search(line):
        return False
    return len(_WORD.findall(line)) >= _FEWEST_WORDS


def _complaint_of(tool: ToolUse) -> str:
    """Return the first line that says what was wrong; '' for none.

    Where the call passed for a success, only its very first line may be one.
    """
    lines = output_lines(tool)
    if tool.ok is not False:
        return _hidden_complaint(tool, lines)
    for line in lines:
        if _is_complaint(line):
            return line
    return ""


def _hidden_complaint(tool: ToolUse, lines: Sequence[str]) -> str:
    """Return the first line where it is the complaint of a program that was run."""
    if not tool.command or not lines:
        return ""
    line = lines[0]
    if len(line) >= _LONGEST_HIDDEN or not _is_complaint(line):
        return ""
    commands = cut_commands(tool.command)
    is_surely_one = _is_of_shell(line) or _is_of_program(line, commands)
    return line if is_surely_one and not _WARNING.search(line) else ""


def _is_of_shell(line: str) -> bool:
    """Return whether a complaint is the shell's own."""
    return line.startswith("(eval):") or _NOT_FOUND.search(line) is not None


def _is_of_program(line: str, commands: Sequence[SimpleCommand]) -> bool:
    """Return whether a complaint is of one of the programs that were run."""
    speaker = _speaker(line)
    if speaker in _NAMELESS or speaker in _programs(commands):
        return True
    only_looks = all(is_everyday(command.words) for command in commands)
    return not only_looks and _SAYS_FAILURE.match(line) is not None


def _speaker(line: str) -> str:
    """Return the name with which a complaint begins; '' for none."""
    match = _SPEAKER.match(line)
    return match[1].lower() if match else ""


def _programs(commands: Sequence[SimpleCommand]) -> set[str]:
    """Return the names of the programs of a line."""
    names: set[str] = set()
    for command in commands:
        work = launched(command.words)
        if work:
            names.add(work[0].lower())
    return names


def _failure_of_shell(tool: ToolUse, complaint: str, is_hidden: bool) -> Failure | None:
    """Return the failure of the shell itself to run a command; None for another."""
    folder = _CHANGED_FOLDER.match(complaint)
    if folder:
        target = folder[1]
        complaint = f"no such file or directory: {target}"
        return _failure(None, f"cd {target}", "cd", complaint, is_hidden)
    absent = _NOT_FOUND.search(complaint)
    if absent and "=" not in complaint:
        program = absent[1] or absent[2]
        if program in _NAMELESS:
            return None
        return _failure(None, program, program, "command not found", is_hidden)
    pattern = _NO_MATCHES.search(complaint)
    if pattern:
        return _unmatched(tool, pattern[1], is_hidden)
    if _BAD_WORD.search(complaint):
        return _failure(None, "echo ===", "echo", "== not found", is_hidden)
    return None


def _unmatched(tool: ToolUse, pattern: str, is_hidden: bool) -> Failure | None:
    """Return the failure of a pattern that the shell could not expand."""
    for command in cut_commands(tool.command):
        if pattern in command.words:
            program = launched(command.words)[0]
            complaint = f"no matches found: {pattern}"
            shown = f"{program} {pattern}"
            return _failure(None, shown, program, complaint, is_hidden)
    return None


def _failed_command(
    commands: Sequence[SimpleCommand],
    complaint: str,
) -> SimpleCommand | None:
    """Return the command that complained; None where several may have."""
    speaker = _speaker(complaint)
    for command in commands:
        if speaker in _programs([command]):
            return command
    if _FORMAT_ERROR.search(complaint):
        return _only_one(commands, (LINT, FORMAT))
    candidates = [command for command in commands if not is_everyday(command.words)]
    if not candidates:
        candidates = [command for command in commands if not command.reads_pipe]
    return _only_program(candidates)


def _only_program(commands: Sequence[SimpleCommand]) -> SimpleCommand | None:
    """Return the first command where all are of one program."""
    programs = {program_of(command.words) for command in commands}
    return commands[0] if len(programs) == 1 else None


def _only_one(
    commands: Sequence[SimpleCommand], roles: Sequence[str]
) -> SimpleCommand | None:
    """Return the first command of the first of these roles that any has."""
    for role in roles:
        for command in commands:
            if role_of(command.words) == role:
                return command
    return None
