"""A fix as rules write it: the class of the mistake or of the error, the tool and its exit code. Nothing is quoted.

What a tool answered may have been written by anybody, so that of its text only the row of the table is taken into a
sentence that comes back in later sessions.
"""

import re
from collections.abc import Sequence

from theorex_lab.evolution.decisive import Finding, RunStep
from theorex_lab.text.sections import read_sections

_READ_CHARACTERS = 20_000
_TOOL_NAME = re.compile(r"[A-Za-z][\w.-]{0,63}")
_CODE = r"(?:\b(?:exit|return)[_ ]?code\b|\bexit status\b|\bexited with(?: code| status)?)"
_EXIT_CODE = re.compile(rf"{_CODE}[\"']?[:= ]{{1,3}}(-?[1-9]\d{{0,2}})\b", re.I)
_SECTIONS = read_sections(__file__, "rule_fix.txt")
_ERRORS, _LESSONS = ([entry.split("\n") for entry in _SECTIONS[name].split("\n\n")] for name in ("errors", "lessons"))


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
            if re.search(sign, text, re.I):
                return f"{told.format(name)}; next time {remedy}."
    by = f" with {_tool_name(answer)[0].lower()}{_tool_name(answer)[1:]}" if answer is not None else ""
    lessons = {kind: f"The run {wrong}{by}; next time {instead}." for kind, wrong, instead in _LESSONS}
    return lessons.get(finding.failure_class, "")


def _answer(finding: Finding, steps: Sequence[RunStep]) -> RunStep | None:
    """The answer of the tool that the decisive step called, or whose error it passed over."""
    after = [steps[k + 1] for k in range(len(steps) - 1) if steps[k].index == finding.step]
    cited = {quote.step for quote in finding.evidence}
    answers = [*after, *(step for step in steps if step.index in cited)]
    return next((answer for answer in answers if answer.tool), None)


def _tool_name(answer: RunStep) -> str:
    name = answer.tool or ""
    return f"The tool {name}" if _TOOL_NAME.fullmatch(name) else "A tool"
