"""What a command is for in the work on a project: to test, to lint, to build.

The tables are of programs that many projects use; another ecosystem is another entry.
Words are those of a simple command, as `text.shell_lines` cuts it. Standard library
only.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.text.shell_lines import SimpleCommand

FORMAT = "format"
LINT = "lint"
BUILD = "build"
TEST = "test"
RUN = "run"
INSTALL = "install"
REVIEW = "review"

# The roles that check a change, in the order in which one runs them.
CHECK_ROLES = (FORMAT, LINT, BUILD, TEST)
# Programs that have one role, whatever follows.
_ROLE_BY_PROGRAM = {
    "gofmt": FORMAT,
    "goimports": FORMAT,
    "gofumpt": FORMAT,
    "black": FORMAT,
    "isort": FORMAT,
    "autopep8": FORMAT,
    "yapf": FORMAT,
    "prettier": FORMAT,
    "dprint": FORMAT,
    "rustfmt": FORMAT,
    "clang-format": FORMAT,
    "google-java-format": FORMAT,
    "ktfmt": FORMAT,
    "rufo": FORMAT,
    "csharpier": FORMAT,
    "shfmt": FORMAT,
    "swiftformat": FORMAT,
    "ormolu": FORMAT,
    "latexindent": FORMAT,
    "tflint": LINT,
    "tfsec": LINT,
    "checkov": LINT,
    "ansible-lint": LINT,
    "yamllint": LINT,
    "actionlint": LINT,
    "swiftlint": LINT,
    "chktex": LINT,
    "vale": LINT,
    "hlint": LINT,
    "elm-test": TEST,
    "busted": TEST,
    "latexmk": BUILD,
    "pdflatex": BUILD,
    "xelatex": BUILD,
    "lualatex": BUILD,
    "tectonic": BUILD,
    "ansible-playbook": RUN,
    "snakemake": RUN,
    "Rscript": RUN,
    "golangci-lint": LINT,
    "staticcheck": LINT,
    "govulncheck": LINT,
    "flake8": LINT,
    "pylint": LINT,
    "mypy": LINT,
    "pyright": LINT,
    "basedpyright": LINT,
    "ty": LINT,
    "bandit": LINT,
    "compileall": LINT,
    "pre-commit": LINT,
    "lint-imports": LINT,
    "eslint": LINT,
    "oxlint": LINT,
    "stylelint": LINT,
    "standard": LINT,
    "tsc": LINT,
    "vue-tsc": LINT,
    "svelte-check": LINT,
    "markdownlint": LINT,
    "shellcheck": LINT,
    "hadolint": LINT,
    "checkstyle": LINT,
    "ktlint": LINT,
    "detekt": LINT,
    "rubocop": LINT,
    "standardrb": LINT,
    "clang-tidy": LINT,
    "pytest": TEST,
    "py.test": TEST,
    "unittest": TEST,
    "tox": TEST,
    "nox": TEST,
    "jest": TEST,
    "vitest": TEST,
    "mocha": TEST,
    "ava": TEST,
    "playwright": TEST,
    "cypress": TEST,
    "gotestsum": TEST,
    "nextest": TEST,
    "rspec": TEST,
    "phpunit": TEST,
    "ctest": TEST,
    "bats": TEST,
    "cmake": BUILD,
    "ninja": BUILD,
    "webpack": BUILD,
    "rollup": BUILD,
    "esbuild": BUILD,
    "tsup": BUILD,
    "goreleaser": BUILD,
    "javac": BUILD,
    "msbuild": BUILD,
    "uvicorn": RUN,
    "gunicorn": RUN,
    "hypercorn": RUN,
    "nodemon": RUN,
    "ts-node": RUN,
    "tsx": RUN,
    "streamlit": RUN,
    "puma": RUN,
    "air": RUN,
    "coderabbit": REVIEW,
}
_TERRAFORM = {
    "test": TEST,
    "plan": LINT,
    "validate": LINT,
    "fmt": FORMAT,
    "apply": RUN,
    "init": INSTALL,
}
# Programs whose first word after the options says what they do.
_ROLE_BY_SUBCOMMAND = {
    "go": {
        "test": TEST,
        "vet": LINT,
        "fmt": FORMAT,
        "build": BUILD,
        "generate": BUILD,
        "run": RUN,
        "mod": INSTALL,
        "get": INSTALL,
        "install": INSTALL,
    },
    "ruff": {"check": LINT, "format": FORMAT},
    "biome": {"check": LINT, "lint": LINT, "ci": LINT, "format": FORMAT},
    "deno": {
        "test": TEST,
        "lint": LINT,
        "check": LINT,
        "fmt": FORMAT,
        "run": RUN,
        "task": RUN,
        "install": INSTALL,
    },
    "cargo": {
        "test": TEST,
        "nextest": TEST,
        "clippy": LINT,
        "check": LINT,
        "fmt": FORMAT,
        "build": BUILD,
        "run": RUN,
        "add": INSTALL,
        "fetch": INSTALL,
        "install": INSTALL,
    },
    "uv": {"sync": INSTALL, "lock": INSTALL, "add": INSTALL, "build": BUILD},
    "poetry": {"install": INSTALL, "lock": INSTALL, "add": INSTALL, "build": BUILD},
    "pdm": {"install": INSTALL, "sync": INSTALL, "add": INSTALL, "build": BUILD},
    "pipenv": {"install": INSTALL, "sync": INSTALL},
    "pip": {"install": INSTALL},
    "conda": {"install": INSTALL},
    "brew": {"install": INSTALL},
    "bundle": {"install": INSTALL},
    "gem": {"install": INSTALL},
    "composer": {"install": INSTALL, "require": INSTALL},
    "mvn": {
        "test": TEST,
        "verify": TEST,
        "package": BUILD,
        "compile": BUILD,
        "install": BUILD,
    },
    "dotnet": {
        "test": TEST,
        "build": BUILD,
        "publish": BUILD,
        "format": FORMAT,
        "run": RUN,
        "restore": INSTALL,
        "add": INSTALL,
    },
    "mix": {
        "test": TEST,
        "format": FORMAT,
        "credo": LINT,
        "dialyzer": LINT,
        "compile": BUILD,
        "deps.get": INSTALL,
    },
    "rails": {"test": TEST, "server": RUN, "s": RUN},
    "flask": {"run": RUN},
    "django-admin": {"test": TEST, "runserver": RUN},
    "manage.py": {"test": TEST, "runserver": RUN, "check": LINT},
    "docker": {"build": BUILD, "run": RUN},
    "docker compose": {
        "build": BUILD,
        "up": RUN,
        "restart": RUN,
        "logs": RUN,
        "run": RUN,
    },
    "vite": {"build": BUILD, "dev": RUN, "preview": RUN},
    "next": {"build": BUILD, "dev": RUN, "start": RUN, "lint": LINT},
    "swift": {"test": TEST, "build": BUILD, "run": RUN},
    "xcodebuild": {"test": TEST, "build": BUILD, "archive": BUILD},
    "terraform": _TERRAFORM,
    "tofu": _TERRAFORM,
    "terragrunt": _TERRAFORM,
    "pulumi": {"preview": LINT, "up": RUN},
    "helm": {"lint": LINT, "template": LINT, "upgrade": RUN},
    "kubectl": {"apply": RUN, "rollout": RUN},
    "bazel": {"test": TEST, "build": BUILD, "run": RUN},
    "sbt": {"test": TEST, "compile": BUILD, "scalafmtAll": FORMAT, "run": RUN},
    "zig": {"build": BUILD, "test": TEST, "fmt": FORMAT, "run": RUN},
    "flutter": {"test": TEST, "analyze": LINT, "build": BUILD, "run": RUN},
    "dart": {"test": TEST, "analyze": LINT, "format": FORMAT, "run": RUN},
    "stack": {"test": TEST, "build": BUILD, "run": RUN},
    "cabal": {"test": TEST, "build": BUILD, "run": RUN},
    "lake": {"test": TEST, "build": BUILD, "lint": LINT},
    "meson": {"test": TEST, "compile": BUILD},
    "hatch": {"test": TEST, "fmt": FORMAT, "build": BUILD},
    "nix": {"build": BUILD, "flake": LINT, "run": RUN},
    "dvc": {"repro": RUN},
    "artisan": {"test": TEST, "serve": RUN},
    "clj": {"-M:test": TEST},
    "gh pr": {"diff": REVIEW, "view": REVIEW, "checks": REVIEW, "review": REVIEW},
}
# Programs that run a script or a target which the project names itself.
SCRIPT_RUNNERS = frozenset(
    (
        "npm",
        "yarn",
        "pnpm",
        "bun",
        "make",
        "just",
        "task",
        "rake",
        "gradle",
        "gradlew",
        "nx",
        "turbo",
        "composer",
        "invoke",
    )
)
_PACKAGE_MANAGERS = frozenset(("npm", "yarn", "pnpm", "bun"))
_RUNNERS_OF_SCRIPTS = _PACKAGE_MANAGERS | {"turbo"}
_RUN_WORDS = frozenset(("run", "run-script"))  # before the name of a script
# Tasks of Gradle may stand in a module, and are named in one word: ":app:testDebug".
_GRADLE = frozenset(("gradle", "gradlew"))
_CAPITAL = lazy_pattern(r"(?=[A-Z])")
# Options before a subcommand that take the next word, by program.
_OPTIONS_WITH_VALUE = {
    "git": frozenset(("-C", "-c", "--git-dir", "--work-tree")),
    "make": frozenset(("-C", "-f", "--directory", "--file")),
    "just": frozenset(("-f", "--justfile", "-d")),
    "pnpm": frozenset(("--filter", "-F", "-C", "--dir")),
    "npm": frozenset(("--prefix", "-w", "--workspace")),
    "yarn": frozenset(("--cwd", "workspace")),
    "docker compose": frozenset(("-f", "--file", "-p", "--env-file", "--profile")),
    "gradle": frozenset(("-p",)),
    "gradlew": frozenset(("-p",)),
    "kubectl": frozenset(("-n", "--namespace", "--context")),
    "xcodebuild": frozenset(("-scheme", "-project", "-workspace", "-destination")),
    "helm": frozenset(("-n", "--namespace")),
}
_NAME = lazy_pattern(r"[A-Za-z][\w:.-]*")
# What scripts and targets are named, up to a `:`, `-` or `.`.
_ROLE_BY_SCRIPT = {
    "test": TEST,
    "tests": TEST,
    "t": TEST,
    "check": TEST,
    "spec": TEST,
    "e2e": TEST,
    "lint": LINT,
    "typecheck": LINT,
    "type": LINT,
    "types": LINT,
    "vet": LINT,
    "tsc": LINT,
    "format": FORMAT,
    "fmt": FORMAT,
    "prettier": FORMAT,
    "build": BUILD,
    "compile": BUILD,
    "all": BUILD,
    "assemble": BUILD,
    "bundle": BUILD,
    "ktlint": LINT,
    "detekt": LINT,
    "spotless": FORMAT,
    "bootRun": RUN,
    "dev": RUN,
    "start": RUN,
    "run": RUN,
    "serve": RUN,
    "up": RUN,
    "install": INSTALL,
    "i": INSTALL,
    "ci": INSTALL,
    "add": INSTALL,
    "deps": INSTALL,
    "setup": INSTALL,
    "review": REVIEW,
}
# Programs that only run the program that follows, with the words before it.
_LAUNCHERS = (
    ("uv", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("pipenv", "run"),
    ("rye", "run"),
    ("conda", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("npm", "exec"),
    ("bun", "x"),
    ("mise", "exec"),
    ("npx",),
    ("bunx",),
    ("uvx",),
    ("pipx", "run"),
    ("sudo",),
    ("env",),
    ("nohup",),
    ("command",),
    ("exec",),
    ("timeout",),
    ("gtimeout",),
    ("nice",),
    ("xvfb-run",),
)
# By their first word.
_LAUNCHERS_OF: dict[str, list[tuple[str, ...]]] = {}
for _launcher in _LAUNCHERS:
    _LAUNCHERS_OF.setdefault(_launcher[0], []).append(_launcher)
# Options of launchers that take the next word, and a launcher's own first operand.
_LAUNCHER_OPTIONS_WITH_VALUE = frozenset(
    ("--with", "--extra", "--group", "--python", "-p", "-n", "-u", "-k", "-s")
)
_DURATION = lazy_pattern(r"\d+(?:\.\d+)?[smhd]?")
_MOST_LAUNCHERS = 4
_PYTHON = lazy_pattern(r"python(?:\d(?:\.\d+)?)?|pypy3?|py")
_SCRIPT_FILE = lazy_pattern(r"[\w./-]+\.(?:py|m?js|cjs|ts|rb|php|pl|sh)")
_INTERPRETERS = frozenset(("node", "bun", "deno", "ruby", "php", "tsx", "ts-node"))
_NAME_END = lazy_pattern(r"[:.\-]")
# Options by which a formatter only says what it would do.
_ONLY_CHECKS = frozenset(
    (
        "--check",
        "--diff",
        "-l",
        "-d",
        "--list-different",
        "-c",
        "-check",
        "--check-formatted",
        "--verify-no-changes",
        "--set-exit-if-changed",
        "--lint",
    )
)
_WRITES = frozenset(("--write", "-w", "--fix", "-i"))
_FORMATTERS_THAT_PRINT = frozenset(("prettier", "gofmt", "goimports", "gofumpt"))

# Programs by which one looks about and moves files: no command of a project.
_EVERYDAY = frozenset(
    """
    ls cat head tail grep egrep fgrep rg ag ugrep find fd cd pwd echo wc sed awk gawk
    which type whereis true false sleep mkdir rm rmdir cp mv touch diff cmp comm sort
    uniq xargs stat file tree less more printf test [ [[ export source . kill pkill
    killall ps pgrep lsof chmod chown ln env date jq yq curl wget open cut tr tee read
    set unset wait eval xxd od strings column paste nl basename dirname realpath
    readlink du df whoami id uname hostname clear history alias exit return bat exa eza
    tar zip unzip gzip gunzip base64 md5 md5sum shasum sha256sum seq shopt trap umask
    command time break continue shift local declare pbcopy pbpaste man top watch
    """.split()
)
_NO_OPTIONS: frozenset[str] = frozenset()
# Subcommands of containers that run a program of the project's in one.
_IN_A_CONTAINER = frozenset(("exec", "run"))
_CONTAINERS = frozenset(("docker compose", "podman compose"))
_CONTAINER_OPTIONS_WITH_VALUE = frozenset(
    ("-e", "--env", "-w", "--workdir", "-u", "--user", "-v", "--volume", "--entrypoint")
)


def launched(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words from the program on that does the work.

    >>> launched(("uv", "run", "--with", "x", "python3.12", "-m", "pytest", "-q"))
    ('pytest', '-q')
    >>> launched((".venv/bin/ruff", "check", "."))
    ('ruff', 'check', '.')
    >>> launched(("docker-compose", "up"))
    ('docker compose', 'up')
    >>> launched(("docker", "compose", "exec", "-T", "web", "pytest", "-q"))
    ('pytest', '-q')
    """
    rest = tuple(words)
    for _ in range(_MOST_LAUNCHERS):
        shorter = _without_launcher(rest)
        if shorter == rest:
            break
        rest = shorter
    if not rest:
        return ()
    program = rest[0].removeprefix("\\")
    is_module = len(rest) > 2 and rest[1] == "-m"
    if _PYTHON.fullmatch(_base_name(program)) and is_module:
        return _module_words(rest[2:])
    return _inside_container(_with_first_words_joined((program, *rest[1:])))


def _with_first_words_joined(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return words whose first one is the program, which may have two words."""
    if words[0] == "docker-compose":
        return ("docker compose", *words[1:])
    if words[:2] in (("docker", "compose"), ("podman", "compose"), ("gh", "pr")):
        return (" ".join(words[:2]), *words[2:])
    program = _base_name(words[0])
    if words[:2] == ("php", "artisan"):
        return words[1:]
    if program == "cargo" and len(words) > 2 and words[1].startswith("+"):
        return (program, *words[2:])
    return (program, *words[1:])


def _inside_container(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of what is run in a container; all words of another command.

    A command of `docker run` names an image, not a service of the project.
    """
    if words[0] in _CONTAINERS:
        subcommand = _subcommand(words)
    elif words[:2] in (("docker", "exec"), ("podman", "exec")):
        subcommand = "exec"
    else:
        return words
    if subcommand not in _IN_A_CONTAINER:
        return words
    after = words[words.index(subcommand) + 1 :]
    operands = _from_operand(after)
    if len(operands) < 2:
        return words
    return launched(operands[1:])


def _from_operand(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return words from the first on that is neither an option nor its value."""
    skips_next = False
    for index, word in enumerate(words):
        if skips_next:
            skips_next = False
        elif word in _CONTAINER_OPTIONS_WITH_VALUE:
            skips_next = True
        elif not word.startswith("-"):
            return words[index:]
    return ()


def _module_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command that runs a module of Python."""
    module = words[0]
    is_tool = module in _ROLE_BY_PROGRAM or module in _ROLE_BY_SUBCOMMAND
    if is_tool:
        return words
    return ("python -m", *words)


def _base_name(program: str) -> str:
    """Return a program without its folder and without `.exe`."""
    _, _, name = program.replace("\\", "/").rpartition("/")
    return name.removesuffix(".exe")


def _without_launcher(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words after a launcher at their start, or all of them."""
    if not words:
        return words
    named_words = (_base_name(words[0]), *words[1:])
    for launcher in _LAUNCHERS_OF.get(named_words[0], ()):
        n_words = len(launcher)
        if named_words[:n_words] == launcher and len(words) > n_words:
            return _after_options(words[n_words:]) or words
    return words


def _after_options(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words after a launcher's options, durations and assignments."""
    skips_next = False
    for index, word in enumerate(words):
        if skips_next:
            skips_next = False
        elif word in _LAUNCHER_OPTIONS_WITH_VALUE:
            skips_next = True
        elif not _is_launchers_own(word):
            return words[index:]
    return ()


def _is_launchers_own(word: str) -> bool:
    """Return whether a word is an option, a duration or an assignment."""
    is_option = word.startswith("-") or "=" in word
    return is_option or _DURATION.fullmatch(word) is not None


@remembered(1 << 13)
def program_of(words: tuple[str, ...]) -> str:
    """Return the name of the program that does the work, with its subcommand.

    >>> program_of(("go", "build", "-o", "x", ".")), program_of(("npx", "jest", "-w"))
    ('go build', 'jest')
    >>> program_of(("git", "-C", "web", "log")), program_of(("./tool", "sync", "x"))
    ('git log', 'tool sync')
    """
    work = launched(words)
    if not work:
        return ""
    program = work[0]
    operand = _subcommand(work)
    if _is_interpreter(program) and _SCRIPT_FILE.fullmatch(operand):
        return f"{program} {operand.removeprefix('./')}"
    if program in _ROLE_BY_PROGRAM and program != "golangci-lint":
        return program
    script = _named_script(work, operand)
    if script:
        return f"{program} {operand} {script}"
    return f"{program} {operand}" if _is_name(operand) else program


def _is_interpreter(program: str) -> bool:
    """Return whether a program runs the file that it is given."""
    return program in _INTERPRETERS or _PYTHON.fullmatch(program) is not None


def _named_script(work: Sequence[str], operand: str) -> str:
    """Return the script that a package manager is asked to run; '' for none."""
    is_run = work[0] in _PACKAGE_MANAGERS and operand in _RUN_WORDS
    if not is_run or len(work) < 3 or work[2].startswith("-"):
        return ""
    return work[2].removeprefix("./")


def _is_name(word: str) -> bool:
    """Return whether a word may be a subcommand or the name of a script."""
    return bool(_NAME.fullmatch(word)) and not _SCRIPT_FILE.fullmatch(word)


def _subcommand(work: Sequence[str]) -> str:
    """Return the first word after the program that is no option; '' for none."""
    options_with_value = _OPTIONS_WITH_VALUE.get(work[0], _NO_OPTIONS)
    skips_next = False
    for word in work[1:]:
        if skips_next:
            skips_next = False
        elif word in options_with_value:
            skips_next = True
        elif not word.startswith("-"):
            return word
    return ""


@remembered(1 << 13)
def role_of(words: tuple[str, ...]) -> str:
    """Return what a command is for; '' where the tables do not tell.

    >>> role_of((".venv/bin/python", "-m", "pytest")), role_of(("npm", "run", "lint:fix"))
    ('test', 'lint')
    >>> role_of(("gofmt", "-w", ".")), role_of(("gofmt", "-l", "."))
    ('format', 'lint')
    >>> role_of(("docker", "compose", "up", "-d")), role_of(("git", "status"))
    ('run', '')
    """
    work = launched(words)
    if not work:
        return ""
    program = work[0]
    if program in SCRIPT_RUNNERS:
        return _role_of_script(work)
    if program in _ROLE_BY_SUBCOMMAND:
        role = _ROLE_BY_SUBCOMMAND[program].get(_subcommand(work), "")
        if program == "pip" and len(work) < 3:
            return ""
    else:
        role = _ROLE_BY_PROGRAM.get(program, "")
    if role == FORMAT:
        return _role_of_formatter(work)
    return role or _role_of_interpreter(work)


def _role_of_formatter(work: Sequence[str]) -> str:
    """Return FORMAT, or LINT for a formatter that changes no file."""
    options = set(work[1:])
    if options & _ONLY_CHECKS and not options & _WRITES:
        return LINT
    if work[0] in _FORMATTERS_THAT_PRINT and not options & _WRITES:
        return LINT
    return FORMAT


def _role_of_interpreter(work: Sequence[str]) -> str:
    """Return RUN for an interpreter that runs a program of the project."""
    program = work[0]
    operand = _subcommand(work)
    if program == "python -m":
        return RUN if operand not in ("json.tool", "venv", "pip") else ""
    if not _SCRIPT_FILE.fullmatch(operand):
        return ""
    if not _is_interpreter(program):
        return ""
    script_words = (_base_name(operand), *work[2:])
    if script_words[0] == "manage.py":
        return role_of(script_words) or RUN
    return RUN


def _role_of_script(work: Sequence[str]) -> str:
    """Return the role of a script or target by its name."""
    operand = _subcommand(work)
    is_run = operand in _RUN_WORDS and work[0] in _RUNNERS_OF_SCRIPTS
    if is_run:
        index = list(work).index(operand)
        inner_words = work[index + 1 :]
        operand = _subcommand(("", *inner_words))
        if operand in _ROLE_BY_PROGRAM:
            return _ROLE_BY_PROGRAM[operand]
    if _SCRIPT_FILE.fullmatch(operand):
        return RUN
    if not operand:
        return _role_without_target(work)
    if work[0] in _GRADLE:
        return _role_of_gradle_task(operand)
    name = _NAME_END.split(operand)[0]
    return _ROLE_BY_SCRIPT.get(name, "")


def _role_of_gradle_task(task: str) -> str:
    """Return the role of a task such as ":app:testDebugUnitTest" by its first word."""
    if task in _ROLE_BY_SCRIPT:
        return _ROLE_BY_SCRIPT[task]
    first_word = _CAPITAL.split(task.rpartition(":")[2])[0]
    role = _ROLE_BY_SCRIPT.get(first_word, "")
    if role == FORMAT and task.endswith("Check"):
        return LINT
    return role


def _role_without_target(work: Sequence[str]) -> str:
    """Return the role of a runner that is given no script and no target."""
    if work[0] == "make":
        return BUILD
    if len(work) > 1:
        return ""
    return INSTALL if work[0] == "yarn" else ""


def arguments_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command's words after the program and its subcommand.

    >>> arguments_of(("npx", "jest", "-w")), arguments_of(("go", "build", "-o", "x"))
    (('-w',), ('-o', 'x'))
    """
    work = launched(words)
    if not work:
        return ()
    subcommands = program_of(words)[len(work[0]) :]
    return work[1 + subcommands.count(" ") :]


@remembered(1 << 13)
def is_everyday(words: tuple[str, ...]) -> bool:
    """Return whether a command only looks about, moves files or keeps versions."""
    work = launched(words)
    if not work:
        return True
    program = work[0]
    return program in _EVERYDAY or program in ("git", "gh")


_ASKS_FOR_HELP = frozenset(("--help", "-h", "help", "--version", "version"))


def asks_for_help(words: Sequence[str]) -> bool:
    """Return whether a command only says how its program is used."""
    return not _ASKS_FOR_HELP.isdisjoint(words)


# A word that names one file, one package, or one test.
_FILE_NAME = lazy_pattern(
    r"(?:.*[/\\])?[\w.@+-]*\w\.(?:go|py|pyi|[mc]?[jt]sx?|vue|svelte|rs|rb|java|kt|cs|php"
    r"|c|cc|cpp|h|hpp|swift|exs?|sh|md|json|css|scss|html|sql)(?::.*)?"
)
_ONE_TEST = lazy_pattern(r".*::.*")
_DEEP_PATH = lazy_pattern(r"(?:\./)?[\w.@+-]+/[\w.@+/-]+(?:\.\.\.)?")
_NUMBER = lazy_pattern(r"#?\d+")
_NAMES_TESTS = frozenset(
    ("-run", "--run", "-k", "-t", "--testNamePattern", "--grep", "--filter", "--test")
)
_TAKES_FILE = frozenset(("-c", "--config", "-f", "--file", "-r", "-p", "--project"))
_TAKES_OUTPUT = frozenset(("-o", "--out", "--outfile", "--output"))

FILE_MARK = "<file>"
PATH_MARK = "<path>"
TEST_MARK = "<test>"
NUMBER_MARK = "<number>"
TEXT_MARK = "<text>"
_DIGITS_OF_ID = 3  # after an option; fewer are an amount
_MOST_BLANKS = 2  # of a word that is no text, such as the message of a commit
_TO_QUOTE = lazy_pattern(r"[\s'\"|&;()*?#`\\]")


@remembered(1 << 13)
def general_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command's words with marks for the one file, path or test it names.

    The words are the same where the command names none.

    >>> general_words(("gofmt", "-w", "pkg/x.go", "pkg/y.go"))
    ('gofmt', '-w', '<file>')
    >>> general_words(("go", "test", "-run", "TestX", "./pkg/cmd/"))
    ('go', 'test', '-run', '<test>', '<path>')
    >>> general_words(("go", "build", "-o", "bin/x", "."))
    ('go', 'build', '-o', 'bin/x', '.')
    """
    role = role_of(words)
    program = next(iter(launched(words)), "")
    own_options = _OPTIONS_WITH_VALUE.get(program, _NO_OPTIONS)
    general: list[str] = []
    option = ""
    for index, word in enumerate(words):
        is_own = index == 0 or option in own_options or _base_name(word) == "manage.py"
        mark = word if is_own else _mark_of(word, option, role)
        is_repeated = mark != word and general and general[-1] == mark
        if not is_repeated:
            general.append(mark)
        option = word if word.startswith("-") else ""
    return tuple(general)


def general_text(command: SimpleCommand) -> str:
    """Return a command as it is shown: with marks for what is of one time only.

    >>> from theorex_lab.text.shell_lines import simple_commands
    >>> [general_text(command) for command in simple_commands("black a.py && make 'x y'")]
    ['black <file>', "make 'x y'"]
    """
    words = general_words(command.words)
    if words == command.words:
        return command.text
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    """Return a word in quotes where the shell would not take it as it is."""
    if "$" in word or not _TO_QUOTE.search(word):
        return word
    return shlex.quote(word)


def _mark_of(word: str, option: str, role: str) -> str:
    """Return the mark that a word is to have, or the word itself.

    Args:
        word: The word.
        option: The option before it, '' for none.
        role: What its command is for.
    """
    if option in _NAMES_TESTS:
        return TEST_MARK
    if word.count(" ") > _MOST_BLANKS:
        return TEXT_MARK
    if word.startswith("-") or option in _TAKES_FILE or option in _TAKES_OUTPUT:
        return word
    if role in CHECK_ROLES:
        return _mark_of_target(word, role)
    is_amount = bool(option) and len(word) < _DIGITS_OF_ID
    if _NUMBER.fullmatch(word) and not is_amount:
        return NUMBER_MARK
    return word


def _mark_of_target(word: str, role: str) -> str:
    """Return the mark for one file or path that a check is of, or the word itself."""
    if _FILE_NAME.fullmatch(word) or _ONE_TEST.fullmatch(word):
        return FILE_MARK
    is_path = role != BUILD and word != "./..."
    if is_path and _DEEP_PATH.fullmatch(word):
        return PATH_MARK
    return word


@remembered(1 << 13)
def is_general(words: tuple[str, ...]) -> bool:
    """Return whether a command names no one file, path, test, number or package."""
    has_mark = any(word.startswith("<") for word in words)
    if has_mark or general_words(words) != words:
        return False
    return role_of(words) != INSTALL or not _installs_package(words)


def _installs_package(words: Sequence[str]) -> bool:
    """Return whether a command of INSTALL names what it installs."""
    work = launched(words)
    option = ""
    operands: list[str] = []
    for word in work[1:]:
        if not word.startswith("-") and option not in _TAKES_FILE:
            operands.append(word)
        option = word
    is_of_modules = work[:2] == ("go", "mod")
    if is_of_modules or len(operands) < 2:
        return False
    return operands[1] not in (".", "./...", ".[dev]")
