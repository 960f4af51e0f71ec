"""What a fix made by rules says: of a tool's answer, and of a class of failures."""

import re
from typing import NamedTuple


class ErrorRule(NamedTuple):
    """A class of errors, how it is recognised in a tool's answer, and what to do next time."""

    name: str
    sign: re.Pattern[str]
    remedy: str


class Lesson(NamedTuple):
    """A class of failures, what went wrong in it, and what to do next time."""

    failure_class: str
    wrong: str
    instead: str


# The first that fits names the error.
ERRORS = (
    ErrorRule(
        "an unknown option",
        re.compile(
            r"(?:unknown|unrecogni[sz]ed|invalid|illegal|no such) (?:option|argument|flag|switch)",
            re.I,
        ),
        "look up in its help which options it takes before the call",
    ),
    ErrorRule(
        "a file that was not there",
        re.compile(
            r"FileNotFound|no such file|cannot open|file .{0,40}not found", re.I
        ),
        "check that the file is there, and fetch it before use",
    ),
    ErrorRule(
        "a program or module that was not installed",
        re.compile(
            r"ModuleNotFound|No module named|command not found|not installed", re.I
        ),
        "check what is installed, and take another way where it cannot be",
    ),
    ErrorRule(
        "a name that was not defined",
        re.compile(r"NameError|is not defined|ImportError", re.I),
        "import or define every name before its use",
    ),
    ErrorRule(
        "a key, index or attribute that was not there",
        re.compile(r"KeyError|IndexError|AttributeError|not in (?:the )?index", re.I),
        "print the keys and types that are there before reading them",
    ),
    ErrorRule(
        "a syntax error",
        re.compile(r"SyntaxError|IndentationError|unknown language|syntax error", re.I),
        "send one clean block of code of a known language",
    ),
    ErrorRule(
        "refused access",
        re.compile(r"\b40[13]\b|api.?key|denied|unauthori[sz]ed|not subscribed", re.I),
        "check the credentials first, or take a source that needs none",
    ),
    ErrorRule(
        "no reply in time",
        re.compile(r"time(?:d )?.?out|ConnectionError|unreachable|refused", re.I),
        "split the call or take another source after the first timeout",
    ),
    ErrorRule(
        "a full disk",
        re.compile(r"no space left|disk (?:is )?full|disk quota", re.I),
        "make room, or write elsewhere, before the call",
    ),
    ErrorRule(
        "failing tests",
        re.compile(r"\b[1-9]\d{0,5} (?:failed|failures?)\b|AssertionError", re.I),
        "make the first of the failing tests pass before going on",
    ),
)

# The class `other` has none: nothing that would help can be said of it.
LESSONS = (
    Lesson(
        "wrong_plan",
        "set a plan that does not lead to the task",
        "restate the task and check that every step serves it",
    ),
    Lesson(
        "made_up_data",
        "used made-up data",
        "fetch the real data, or say that they cannot be had, before computing on them",
    ),
    Lesson(
        "wrong_code",
        "relied on code that was wrong",
        "inspect the input first and check the output against the task before building on it",
    ),
    Lesson(
        "tool_error_ignored",
        "went on after an error",
        "mend the call or take another tool before drawing conclusions",
    ),
    Lesson(
        "wrong_extraction",
        "read the wrong thing out of what came back",
        "quote the passage that answers the task and compare it with the conditions",
    ),
    Lesson(
        "unverified_answer",
        "stated facts that nothing in the run backs",
        "look them up with a tool and cite the source before answering",
    ),
    Lesson(
        "no_answer",
        "brought the task no further",
        "call a tool or give a result in the same step instead of asking or announcing",
    ),
    Lesson(
        "model_unavailable",
        "got no answer from the language model",
        "check that the endpoint is up and repeat the call before giving up",
    ),
)
