"""A fix as rules write it: the class of the mistake or of the error, the tool and its exit code. Nothing is quoted.

What a tool answered may have been written by anybody, so that of its text only the row of the table is taken into a
sentence that comes back in later sessions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from theorex_lab.evolution.decisive import FailureClass, Finding, RunStep

_READ_CHARACTERS = 20_000
_TOOL_NAME = re.compile(r"[A-Za-z][\w.-]{0,63}")
_EXIT_CODE = re.compile(
    r"(?:\b(?:exit|return)[_ ]?code\b|\bexit status\b|\bexited with(?: code| status)?)[\"']?[:= ]{1,3}(-?[1-9]\d{0,2})\b",
    re.I,
)
# Error class, how it is told from the text, what to do next time; the first that fits.
_ERRORS = tuple(
    (name, re.compile(sign, re.I), remedy)
    for name, sign, remedy in (
        ("an unknown option", r"(?:unknown|unrecogni[sz]ed|invalid|illegal|no such) (?:option|argument|flag|switch)", "look up in its help which options it takes before the call"),
        ("a file that was not there", r"FileNotFound|no such file|cannot open|file .{0,40}not found", "check that the file is there, and fetch it before use"),
        ("a program or module that was not installed", r"ModuleNotFound|No module named|command not found|not installed", "check what is installed, and take another way where it cannot be"),
        ("a name that was not defined", r"NameError|is not defined|ImportError", "import or define every name before its use"),
        ("a key, index or attribute that was not there", r"KeyError|IndexError|AttributeError|not in (?:the )?index", "print the keys and types that are there before reading them"),
        ("a syntax error", r"SyntaxError|IndentationError|unknown language|syntax error", "send one clean block of code of a known language"),
        ("refused access", r"\b40[13]\b|api.?key|denied|unauthori[sz]ed|not subscribed", "check the credentials first, or take a source that needs none"),
        ("no reply in time", r"time(?:d )?.?out|ConnectionError|unreachable|refused", "split the call or take another source after the first timeout"),
        ("a full disk", r"no space left|disk (?:is )?full|disk quota", "make room, or write elsewhere, before the call"),
        ("failing tests", r"\b[1-9]\d{0,5} (?:failed|failures?)\b|AssertionError", "make the first of the failing tests pass before going on"),
    )
)  # fmt: skip
# What went wrong, and what to do next time; `other` says nothing that would help.
_LESSONS: dict[FailureClass, tuple[str, str]] = {
    FailureClass.WRONG_PLAN: ("set a plan that does not lead to the task", "restate the task and check that every step serves it"),
    FailureClass.MADE_UP_DATA: ("used made-up data", "fetch the real data, or say that they cannot be had, before computing on them"),
    FailureClass.WRONG_CODE: ("relied on code that was wrong", "inspect the input first and check the output against the task before building on it"),
    FailureClass.TOOL_ERROR_IGNORED: ("went on after an error", "mend the call or take another tool before drawing conclusions"),
    FailureClass.WRONG_EXTRACTION: ("read the wrong thing out of what came back", "quote the passage that answers the task and compare it with the conditions"),
    FailureClass.UNVERIFIED_ANSWER: ("stated facts that nothing in the run backs", "look them up with a tool and cite the source before answering"),
    FailureClass.NO_ANSWER: ("brought the task no further", "call a tool or give a result in the same step instead of asking or announcing"),
    FailureClass.MODEL_UNAVAILABLE: ("got no answer from the language model", "check that the endpoint is up and repeat the call before giving up"),
}  # fmt: skip


def rule_fix(finding: Finding, steps: Sequence[RunStep]) -> str:
    """A sentence for the next run, in the words of this module alone; '' where the rules have nothing to say.

    >>> from theorex_lab.evolution.decisive import find_decisive
    >>> steps = [RunStep(0, "coder", "```python\\nprint(total)\\n```")]
    >>> steps += [RunStep(1, "python", "NameError: total", tool="python")]
    >>> rule_fix(find_decisive(steps), steps)
    'The tool python answered with a name that was not defined; next time import or define every name before its use.'
    """
    answer = _answer(finding, steps)
    if answer is not None:
        text = answer.text[:_READ_CHARACTERS]
        code = _EXIT_CODE.search(text)
        told = f"{_tool_name(answer)} answered with {{}}{f' (exit code {code[1]})' if code else ''}"
        for name, sign, remedy in _ERRORS:
            if sign.search(text):
                return f"{told.format(name)}; next time {remedy}."
    if finding.failure_class not in _LESSONS:
        return ""
    wrong, instead = _LESSONS[finding.failure_class]
    by = f" with {_tool_name(answer)[0].lower()}{_tool_name(answer)[1:]}" if answer is not None else ""
    return f"The run {wrong}{by}; next time {instead}."


def _answer(finding: Finding, steps: Sequence[RunStep]) -> RunStep | None:
    """The answer of the tool that the decisive step called, or whose error it passed over."""
    after = [steps[k + 1] for k in range(len(steps) - 1) if steps[k].index == finding.step]
    cited = {quote.step for quote in finding.evidence}
    answers = [*after, *(step for step in steps if step.index in cited)]
    return next((answer for answer in answers if answer.tool), None)


def _tool_name(answer: RunStep) -> str:
    name = answer.tool or ""
    return f"The tool {name}" if _TOOL_NAME.fullmatch(name) else "A tool"
