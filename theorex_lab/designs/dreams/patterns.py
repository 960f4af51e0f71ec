"""How actions and their results are read."""

import re

from theorex_lab.core.patterns import lazy_pattern

# That a call failed; the group is an exit code.
STATED = lazy_pattern(r"\s*(?:<tool_use_error>|(exit code:? *[1-9]\d*))\s*", re.I)
REFUSED = lazy_pattern(r"\s*the user doesn.t want to proceed with this tool use", re.I)
# What an error says in JSON.
MESSAGE = lazy_pattern(
    r"""
    "(?:message|detail|error)":\s*"((?:[^"\\]|\\.)+)"
    """,
    re.VERBOSE,
)
# How an error begins with the program that says it.
SPEAKER = lazy_pattern(r"(?:\(eval\):\d+: )?([\w.+-]+): ")
# What every error has.
FURNITURE = lazy_pattern(r"</?\w+>|^\s*error:\s*", re.I)
# How a tool is used, which is nobody's task.
FRICTION = lazy_pattern(
    r"""
      string[ ]to[ ]replace[ ]not[ ]found
    | not[ ]been[ ]read[ ]yet
    | modified[ ]since
    | matches[ ]of[ ]the[ ]string
    | sibling[ ]tool[ ]call
    | exceeds[ ]maximum[ ]allowed
    | file[ ]does[ ]not[ ]exist
    """,
    re.I | re.VERBOSE,
)
# Errors from which nothing is to be learnt.
EMPTY = lazy_pattern(
    r"""
      sibling[ ]tool[ ]call[ ]errored
    | errors?
    | exit[ ]status[ ]\d+
    | failed
    | unknown
    """,
    re.I | re.VERBOSE,
)
# What an exit code must come with.
TELLING = lazy_pattern(
    r"""
      error
    | time(?:d[ ])?.?out
    | fail
    | fatal
    | \bno(?:t|ne)?\b
    | n't\b
    | denied
    | refused
    | invalid
    | illegal
    | unknown
    | unrecogni
    | usage
    | unable
    | undefined
    | missing
    | exceed
    | blocked
    | must
    | required
    | exception
    | conflict
    | already
    | rejected
    | panic
    | accepts[ ](?:at|exactly|between|no|\d)
    """,
    re.I | re.VERBOSE,
)
# The same for a check, which may fail and have been called well.
MISUSE = lazy_pattern(
    r"""
      not[ ]found
    | no[ ]such
    | illegal
    | unknown[ ](?:flag|option|command|shorthand)
    | unrecogni
    | usage:
    | accepts[ ](?:at|exactly|between|no|\d)
    | denied
    | cannot[ ]find
    """,
    re.I | re.VERBOSE,
)
CHECK = lazy_pattern(
    r"""
    \b(?:
          test
        | tests
        | lint
        | vet
        | build
        | check
        | pytest
        | mypy
        | ruff
        | tsc
        | eslint
        | gofmt
        | golangci-lint
        | make
    )\b
    """,
    re.VERBOSE,
)
CALL = lazy_pattern(r"([A-Za-z_][\w.-]*)\(\{")
VALUE = lazy_pattern(
    r"""
    "(\w+)":[ ]?(?:"((?>(?:[^"\\]|\\.)*))"|([\w.+-]+))
    """,
    re.VERBOSE,
)
WORD = lazy_pattern(r"\w+")
# A call and its tool.
NAMED = lazy_pattern(r"\s*([A-Za-z_][\w.-]{0,127})\s*\(")
EXIT = lazy_pattern(r"(?:Error: )?Exit code:? [1-9]")
# Tools that only look.
LOOKS = lazy_pattern(
    r"""
    (?:
          get
        | list
        | search
        | read
        | find
        | fetch
        | view
        | show
        | look
        | query
        | select
        | grep
        | glob
        | ls
        | cat
        | check
        | describe
        | think
        | calculate
        | calc
        | web
        | todo
        | task
        | ask
        | agent
        | exitplan
        | enterplan
        | skill
    )
    """,
    re.VERBOSE,
)
# Commands that only look.
LOOKING = lazy_pattern(
    r"""
    (?:cd[ ][^;&|]+(?:&&|;)\s*)*(?:
          ls
        | cat
        | head
        | tail
        | grep
        | rg
        | find
        | wc
        | pwd
        | which
        | echo
        | env
        | stat
        | file
        | tree
        | sed[ ]-n
        | git[ ]
          (?:status|log|diff|show|branch|blame|remote|rev-parse|worktree[ ]list)
        | gh[ ]\w+[ ](?:view|diff|list|checks)
    )\b(?:[^>]|2>)*$
    """,
    re.VERBOSE,
)
# A call that hands the work over.
HANDED = lazy_pattern(
    r"""
    \s*\w*(?:transfer_to|hand_?over|hand_?off|escalate|abort|give_?up)\w*\(
    """,
    re.I | re.VERBOSE,
)
# What a call was given: its keys.
KEY = lazy_pattern(
    r"""
    (?:"(\w+)"\s*:|\b(\w+)=)
    """,
    re.VERBOSE,
)
# What a call was given: its quoted values.
QUOTED = lazy_pattern(
    r"""
    (["'])([^"'\n]{0,300})\1(?!\s*:)
    """,
    re.VERBOSE,
)
# Of what a call was given, a path.
PLACE = lazy_pattern(r"/|\.\w{1,5}$")
# A word such as mia_li_3668, no path.
ID = lazy_pattern(r"(?<![\w./-])(?=\w*[\d_])\w{4,}(?![\w/-]|\.\w)")
FILE = lazy_pattern(r"[\w@+./-]*\w\.[A-Za-z]\w{0,5}")
# The first of a command that is no word of the shell.
PROGRAM = lazy_pattern(
    r"""
    (?:^|&&|[;|\n]|\bdo\b|\bthen\b)\s*(?:\w+=\S*\s+|sudo[ ])*(?!
        (?:
              cd
            | echo
            | for
            | while
            | if
            | then
            | do
            | done
            | else
            | fi
            | command
            | set
            | export
            | read
            | printf
            | true
            | false
            | function
            | case
            | in
            | local
            | return
            | eval
            | import
            | from
            | break
        )\b
    )(
          (?:
                git
              | go
              | npm
              | npx
              | pnpm
              | yarn
              | uv
              | pip
              | cargo
              | docker
              | kubectl
              | brew
              | apt
              | make
              | gh
              | poetry
          )[ ][a-z][a-z-]+
        | [a-z][\w.+-]++
    )(?!\s*=)
    """,
    re.VERBOSE,
)
