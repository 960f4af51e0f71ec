"""Say a recorded action in words: "Edit `git.ts`", "Run the tests (`bun test`)".

A shell line is read command by command, without what only looks or echoes, without
here-documents and temporary paths. English: the words stand in this module.
"""

import json
import re
from collections.abc import Sequence

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.memory.briefing.command_roles import (
    BUILD,
    FORMAT,
    INSTALL,
    LINT,
    REVIEW,
    RUN,
    TEST,
    asks_for_help,
    general_text,
    is_everyday,
    is_general,
    launched,
    program_of,
    role_of,
)
from theorex_lab.memory.briefing.tool_failures import cut_commands
from theorex_lab.text.line import one_line
from theorex_lab.text.shell_lines import SimpleCommand

_STEP_CHARACTERS = 160
_COMMAND_CHARACTERS = 80
_MOST_COMMANDS = 4
# Tools that edit a file, as their names begin or go on.
_EDITS = lazy_pattern(
    r"(?:multi_?)?edit\w*|write\w*|notebook_?edit|search_replace|str_replace\w*"
    r"|apply_\w*patch|create_file|update_file|reapply",
    re.I,
)
# Tools of agents that only look, plan or ask.
_LOOKS = lazy_pattern(
    r"read\w*|grep\w*|glob\w*|ls|list_?dir\w*|codebase_search|file_search|web_?search"
    r"|(?!search_?replace)\w*(?:grep|search|lints|diagnostics)\w*"
    r"|web_?fetch|todo\w*|task\w*|exit_?plan\w*|enter_?plan\w*|ask_?user\w*|skill|agent"
    r"|bash_?output|kill_?(?:shell|bash)|fetch_rules|notebook_?read|tool_?search",
    re.I,
)
_DELETES = lazy_pattern(r"delete_?file|remove_?file", re.I)
_CALL = lazy_pattern(r"\s*([A-Za-z_][\w.-]{0,127})\s*\(")
_TOOL_AND_FILES = lazy_pattern(r"([A-Za-z_][\w.-]*) (\S.*)")
_TEMPORARY = lazy_pattern(
    r"(?:/private)?/(?:tmp|var/folders)/|\bmktemp\b|\$TMPDIR|\.tmp\b"
)
# What a role is for, and the words that introduce its command.
_WORDS_BY_ROLE = {
    TEST: "Run the tests",
    LINT: "Check the code",
    FORMAT: "Format the code",
    BUILD: "Build",
    REVIEW: "Review the change",
    INSTALL: "Install what is needed",
}
# Commands that keep versions, by program and subcommand.
_WORDS_BY_PROGRAM = {
    "git commit": "Commit",
    "git push": "Push",
    "git merge": "Merge a branch",
    "git rebase": "Rebase the branch",
    "git pull": "Pull the latest changes",
    "git cherry-pick": "Pick a commit",
    "git revert": "Revert a commit",
    "git tag": "Tag the release",
    "git init": "Make a git repository",
    "git clone": "Clone the repository",
    "git mv": "Move files",
    "git rm": "Remove files",
    "git stash": "Stash the changes",
    "git restore": "Restore files",
    "git worktree": "Make a worktree",
    "gh pr": "Open or read a pull request",
    "gh pr create": "Open a pull request",
    "gh pr merge": "Merge the pull request",
    "gh pr comment": "Comment on the pull request",
    "gh pr review": "Review the pull request",
    "gh issue": "Open or read an issue",
    "gh release": "Publish a release",
}
_BRANCHES = frozenset(("git checkout", "git switch"))
_MAKES_BRANCH = frozenset(("-b", "-B", "-c", "--create"))
_WORDS_BY_FILE_COMMAND = {"rm": "Remove", "mv": "Move", "cp": "Copy"}
# Subcommands of `gh pr` and of git that only look.
_LOOKS_AT_VERSIONS = frozenset(
    "status log diff show branch blame remote rev-parse ls-files fetch add config"
    " describe reflog shortlog cat-file view list checks grep ls-tree merge-base"
    " rev-list check-ignore".split()
)
_SHELL_WORDS = frozenset("if for while then do done fi else { } ( ) ! function".split())
_PROSE = lazy_pattern(r"[A-Z][^`$|&;]*[.!?:]\s*$", re.S)
_WORDS_OF_PROSE = 8
# Programs that run a text that was written for the moment.
_INTERPRETERS = lazy_pattern(
    r"(?:python[\d.]*|node|bun|ruby|perl|bash|sh|zsh|deno|php)$"
)
# What a call of a tool was given: the line of a shell, or the file that it edits.
_COMMAND_OF_CALL = lazy_pattern(r'\{"(?:command|cmd)":\s?"((?:[^"\\]|\\.)*)')
_FILE_OF_CALL = lazy_pattern(r"\b(?:file|path)[\"':\s]+([\w@+./-]*\w\.\w{1,5})\b", re.I)
# Ids of one time, such as "task#012" and "order007".
_ID_OF_ONE_TIME = lazy_pattern(r"(?<=[A-Za-z]#)\d+\b|(?<=[A-Za-z])0\d+\b")
_HASH = lazy_pattern(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b")
_ASSIGNMENTS = lazy_pattern(r"^(?:[A-Za-z_]\w*=\S*\s+)+")
_GAP = lazy_pattern(r"(?<!\S)(?:\"\"|'')(?!\S)")
_FEWEST_CHARACTERS = 2
# A number that names a folder or begins a file's name, such as that of a task.
_NUMBERED_PART = lazy_pattern(r"(?<![\w.-])\d{2,}(?=[/_-]|$)")
_INLINE = frozenset(("-c", "-e", "-", "--eval", "-p"))


@remembered(1 << 13)
def step_in_words(action: str) -> str:
    """Return a recorded action in words; '' for one that does nothing of its own.

    >>> step_in_words("Edit src/git.ts")
    'Edit `src/git.ts`'
    >>> step_in_words("cd web && bun test src/a.test.ts 2>&1 | tail -5; echo done")
    'Run the tests (`bun test <file>`)'
    >>> step_in_words("git add . && git commit -m 'x' && git push")
    'Commit, then push'
    >>> step_in_words("echo '=== here ==='")
    ''
    """
    return _joined(step_phrases(action))


@remembered(1 << 13)
def step_phrases(action: str) -> tuple[str, ...]:
    """Return what a recorded action does, each thing in words, in order.

    >>> step_phrases("go build . && go test ./...")
    ('Build (`go build .`)', 'Run the tests (`go test ./...`)')
    """
    text = _line_of_call(action.strip())
    words = _call_in_words(text)
    if words is not None:
        phrase = one_line(words, _STEP_CHARACTERS)
        return (phrase,) if phrase else ()
    phrases: dict[str, None] = {}
    for command in cut_commands(text):
        phrase = _command_in_words(command)
        if phrase:
            phrases[phrase] = None
    return tuple(phrases)


def _line_of_call(text: str) -> str:
    """Return the line that a call gives to a shell; any other action as it is."""
    call = _CALL.match(text)
    if call is None:
        return text
    command = _COMMAND_OF_CALL.match(text, call.end())
    if command is None:
        return text
    try:
        line = json.loads(f'"{command[1]}"', strict=False)
    except ValueError:  # cut within a sign
        return command[1]
    return str(line)


def _call_in_words(text: str) -> str | None:
    """Return a call of a tool, or a message, in words; None for a shell line."""
    call = _CALL.match(text)
    if _is_look(text, call):
        return ""
    if call:
        return _edit_in_words(text, call[1])
    tool = _TOOL_AND_FILES.match(text)
    if tool and _EDITS.fullmatch(tool[1]):
        return f"Edit {_in_code(tool[2])}"
    if tool and _DELETES.fullmatch(tool[1]):
        return f"Remove {_in_code(tool[2])}"
    return text if _is_prose(text) else None


def _edit_in_words(text: str, tool: str) -> str:
    """Return a call of a tool in words; '' for a change that names no file."""
    if "{" not in text:
        return text
    if _DELETES.fullmatch(tool):
        return ""
    if not _EDITS.fullmatch(tool):
        return text
    file = _FILE_OF_CALL.search(text)
    if file is None:
        return ""
    return f"Edit {_in_code(file[1])}"


def _is_look(text: str, call: re.Match[str] | None) -> bool:
    """Return whether an action is a call of an agent's tool that only looks."""
    name, _, rest = text.partition(" ")
    if call is not None and _LOOKS.fullmatch(call[1]):
        return "{" in text
    is_tool_name = name[:1].isupper() or "_" in name
    return bool(rest) and is_tool_name and _LOOKS.fullmatch(name) is not None


def _is_prose(text: str) -> bool:
    """Return whether a text is a message, not a command."""
    return bool(_PROSE.match(text)) and len(text.split()) >= _WORDS_OF_PROSE


def _in_code(files: str) -> str:
    """Return names of files as code, without the numbers of one time."""
    names = []
    for name in files.split(", "):
        general = _NUMBERED_PART.sub("<number>", name.strip())
        if general:
            names.append(f"`{general}`")
    return ", ".join(names)


def _joined(phrases: Sequence[str]) -> str:
    """Return what is done one after the other as one sentence."""
    if not phrases:
        return ""
    first, *others = phrases[:_MOST_COMMANDS]
    sentence = one_line(first, _STEP_CHARACTERS)
    for phrase in others:
        longer = f"{sentence}, then {phrase[:1].lower()}{phrase[1:]}"
        if len(longer) > _STEP_CHARACTERS:
            break
        sentence = longer
    return sentence


def _command_in_words(command: SimpleCommand) -> str:
    """Return a command in words; '' for one that looks, or is of one time only."""
    work = launched(command.words)
    is_shell = not work or command.words[0] in _SHELL_WORDS
    if is_shell or _TEMPORARY.search(command.text) or asks_for_help(command.words):
        return ""
    if work[0] in ("git", "gh", "gh pr"):
        return _versions_in_words(command, work)
    if work[0] in _WORDS_BY_FILE_COMMAND:
        return _files_in_words(work)
    if is_everyday(command.words) or _is_written_for_once(work):
        return ""
    return _program_in_words(command)


def _is_written_for_once(work: tuple[str, ...]) -> bool:
    """Return whether a program only runs a text that stands in the line."""
    if not _INTERPRETERS.fullmatch(work[0]):
        return False
    return len(work) == 1 or not _INLINE.isdisjoint(work[1:])


def _program_in_words(command: SimpleCommand) -> str:
    """Return a command of a project's program in words."""
    role = role_of(command.words)
    shown = program_of(command.words)
    if not command.is_whole and (role == RUN or not role):
        return ""
    if command.is_whole:
        shown = _without_ids(general_text(command))
    if not _is_command(shown):
        return ""
    if role == INSTALL and not is_general(command.words):
        return f"Install a package (`{shown}`)"
    words = _WORDS_BY_ROLE.get(role)
    if words:
        return f"{words} (`{shown}`)"
    return f"Run `{shown}`"


def _without_ids(text: str) -> str:
    """Return a command without what is of one time: ids, hashes, assignments."""
    text = _ASSIGNMENTS.sub("", text, count=1)
    text = _HASH.sub("<hash>", text)
    text = _ID_OF_ONE_TIME.sub("<number>", text)
    return one_line(text, _COMMAND_CHARACTERS)


def _is_command(text: str) -> bool:
    """Return whether a text is a command on one line, without a gap."""
    if "\n" in text or len(text) < _FEWEST_CHARACTERS:
        return False
    return not text.startswith("-") and _GAP.search(text) is None


def _versions_in_words(command: SimpleCommand, work: tuple[str, ...]) -> str:
    """Return a command of git or of its host in words; '' for one that looks."""
    program = program_of(command.words)
    if work[0] == "gh pr":
        program = f"gh pr {_first_operand(work)}"
    subcommand = program.rpartition(" ")[2]
    if subcommand in _LOOKS_AT_VERSIONS:
        return ""
    if program in _BRANCHES:
        makes = not _MAKES_BRANCH.isdisjoint(work)
        return "Make a branch" if makes else ""
    words = _WORDS_BY_PROGRAM.get(program, "")
    if words or not program.startswith("git "):
        return words
    return f"Run `{program}`" if subcommand.isidentifier() else ""


def _first_operand(work: tuple[str, ...]) -> str:
    """Return the first word after the program that is no option; '' for none."""
    for word in work[1:]:
        if not word.startswith("-"):
            return word
    return ""


def _files_in_words(work: tuple[str, ...]) -> str:
    """Return a command that moves or removes files in words."""
    operands = [f"`{word}`" for word in work[1:] if not word.startswith("-")]
    fewest = 1 if work[0] == "rm" else 2
    if len(operands) < fewest or any("$" in word for word in operands):
        return ""
    words = _WORDS_BY_FILE_COMMAND[work[0]]
    if work[0] == "rm":
        return f"{words} {', '.join(operands[:3])}"
    return f"{words} {', '.join(operands[:-1][:2])} to {operands[-1]}"


@remembered(1 << 13)
def step_kinds(action: str) -> frozenset[str]:
    """Return what a step does in kind, without the one file it is about.

    >>> step_kinds("Edit src/git.ts") == step_kinds("Edit src/domain/task.ts")
    True
    >>> sorted(step_kinds("bun test a.test.ts && git commit -m x"))
    ['Commit', 'Run the tests']
    """
    return frozenset(map(_kind_of_phrase, step_phrases(action)))


def _kind_of_phrase(phrase: str) -> str:
    if phrase.startswith("Edit "):
        _, _, ending = phrase.rstrip("`").rpartition(".")
        return f"Edit .{ending}"
    kind, _, _ = phrase.partition(" (`")
    return kind
