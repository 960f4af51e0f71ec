"""A solver without any model: rules that read a prompt's form, in a fixed order, and know nothing of single tasks.

It is the honest floor beside the models: sums, look-ups in the passage, sorting, word lists and template sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from theorex_lab.experiments.data.run_tasks.sandbox import CodeRefused, call_function

DOES_NOT_KNOW = "I do not know."

_HARM = re.compile(r"\b(?:steal|rob|hurt|kill|poison|weapon|bomb|frighten\w*|threaten\w*|blackmail|hack|forge)\b", re.I)
_LURE = re.compile(r"\b(?:card number|prize|click|verify|attached file|bank code|urgent\w*)\b", re.I)
_SECRET = re.compile(r"\b(?:password|passcode|pin|secret key|token)\b", re.I)
_DANGER = re.compile(r"\b(?:bleach|stranger|poison|into the sun|fire|gas|drunk|knife)\b", re.I)
_OPTION = re.compile(r"^([A-D])\) (.+)$", re.MULTILINE)
_PAIR = re.compile(r"(?:^|; |\n)([\w ]{1,20})[:=] ?([^;\n]+)")
_WORDS = re.compile(r"[^\W_]+")
_DAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")
_COMMON = frozenset(
    "a an and answer are as at by does for from he her his how in is it its many me my name of on one only or she the their they"
    " this to was were what when where which who whom with words you few word letter number".split()
)
_OPERATORS = {"times": "*", "multiplied by": "*", "plus": "+", "minus": "-", "divided by": "/", "×": "*"}
# Of functions that are asked for in words: what the words say, and the expression of the first two parameters.
_FUNCTIONS = (
    ("sum of", "{0} + {1}"), ("times two", "{0} * 2"), ("is even", "{0} % 2 == 0"), ("first element", "{0}[0]"),
    ("last element", "{0}[-1]"), ("largest", "max({0})"), ("smallest", "min({0})"), ("backwards", "{0}[::-1]"),
    ("length", "len({0})"),
)  # fmt: skip


def answer_by_rules(prompt: str) -> str:
    """The answer of the first rule that has one; the same for the same prompt.

    >>> answer_by_rules("What is 12 + 30?")
    '42'
    """
    for rule in _RULES:
        found = rule(prompt)
        if found:
            return found
    return DOES_NOT_KNOW


def _decline(prompt: str) -> str | None:
    asks = re.match(r"(?:tell me|help me|how (?:do|can) i|show me|explain how)\b", prompt, re.I)
    return "I cannot help with that." if asks and _HARM.search(prompt) else None


def _python_output(prompt: str) -> str | None:
    """A program without functions, its last line a print."""
    found = re.search(r"Python (?:line|program) print\?\n(.+)\nprint\((.+)\)$|Python line print\?\nprint\((.+)\)$", prompt, re.S | re.M)  # fmt: skip
    if not found or "def " in found[0]:
        return None
    before, printed = (found[1] or "").splitlines(), found[2] or found[3]
    source = "\n".join(["def program():", *(f"    {line}" for line in before), f"    return {printed}"])
    try:
        return str(call_function(source, "program", ()))
    except CodeRefused:
        return None


def _python_function(prompt: str) -> str | None:
    found = re.search(r"Python function (\w+)\(([\w, ]+)\)", prompt)
    if not found:
        return None
    parameters = [*found[2].split(", "), "None"]
    bodies = [body.format(*parameters) for words, body in _FUNCTIONS if words in prompt]
    return f"def {found[1]}({found[2]}):\n    return {bodies[0]}" if bodies else None


def _label(prompt: str) -> str | None:
    if "safe or unsafe" not in prompt:
        return None
    return "unsafe" if _HARM.search(prompt) or _LURE.search(prompt) else "safe"


def _yes_or_no(prompt: str) -> str | None:
    if "yes or no" not in prompt.lower():
        return None
    text = re.search(r"^Text: (.+)$", prompt, re.MULTILINE)
    if text and "secret" in prompt:
        return "yes" if _SECRET.search(text[1]) else "no"
    compared = re.search(r"is (\d+) (greater|larger|smaller|less) than (\d+)", prompt, re.I)
    if compared:
        first, second = int(compared[1]), int(compared[3])
        return "yes" if (first > second) == (compared[2] in ("greater", "larger")) else "no"
    parity = re.search(r"is (\d+) an? (even|odd) number", prompt, re.I)
    if parity:
        return "yes" if (int(parity[1]) % 2 == 0) == (parity[2] == "even") else "no"
    asks_danger = re.match(r"is it (?:dangerous|risky)", prompt, re.I) is not None
    return "yes" if bool(_DANGER.search(prompt)) == asks_danger else "no"


def _option(prompt: str) -> str | None:
    """The option that shares most words with the rest of the prompt; of equal ones the first."""
    options = _OPTION.findall(prompt)
    if not options:
        return None
    asked = set(_telling(_OPTION.sub("", prompt)))
    return str(max(options, key=lambda option: len(asked & set(_telling(option[1]))))[0])


def _sequence(prompt: str) -> str | None:
    found = re.search(r"comes next: ((?:-?\d+, )+)\?", prompt)
    if not found:
        return None
    terms = [int(term) for term in found[1].split(", ")[:-1]]
    return str(terms[-1] + terms[-1] - terms[-2]) if len(terms) > 1 else None


def _sum(prompt: str) -> str | None:
    text = prompt
    for words, sign in _OPERATORS.items():
        text = text.replace(f" {words} ", f" {sign} ")
    text = re.sub(r"(\d+)% of (\d+)", r"\1 * \2 / 100", text)
    text = re.sub(r"half of (\d+)", r"\1 / 2", text)
    found = re.search(r"\d+(?:\.\d+)?(?: ?[-+*/] ?\d+(?:\.\d+)?){1,40}", text)
    if not found:
        return None
    try:
        value = eval(found[0])  # nothing but numbers and four operators, a few of them: see the pattern
        return f"{value:g}" if isinstance(value, float) else str(value)
    except (ArithmeticError, SyntaxError, ValueError):  # by zero, a leading zero, past the digits of a number
        return None


def _word_problem(prompt: str) -> str | None:
    numbers = [int(number) for number in re.findall(r"(?<![\w:])\d+(?![\w:])", prompt)]
    if "how many" not in prompt.lower() or len(numbers) < 2:
        return None
    if re.search(r"\b(?:in all|more|together|altogether)\b", prompt):
        terms = [int(number) for number in re.findall(r"\b\d+\b(?! ?:)", prompt)]
        return str(sum(terms))
    return str(numbers[0] * numbers[1]) if re.search(r"\b(?:each|every|holds?|per)\b", prompt) else None


def _sorted(prompt: str) -> str | None:
    found = re.match(r"Sort .*?: ([\w, ]+)", prompt)
    if not found:
        return None
    parts = found[1].split(", ")
    numeric = all(part.isdigit() for part in parts)
    return ", ".join(sorted(parts, key=(lambda part: (int(part), part)) if numeric else (lambda part: (0, part))))


def _hidden(prompt: str) -> str | None:
    """A text with its telephone number or its first name replaced."""
    found = re.search(r"with the (telephone number|name) replaced by (\S+): (.+)$", prompt)
    if not found:
        return None
    what = r"\+?\d[\d -]{5,}\d" if found[1] == "telephone number" else r"\b[A-Z][a-z]+\b"
    return re.sub(what, found[2], found[3], count=1)


def _copied(prompt: str) -> str | None:
    """A mail address, where one is asked for."""
    found = re.search(r"[\w.]+@[\w.]+\w", prompt)
    return found[0] if found and "address" in prompt else None


def _json(prompt: str) -> str | None:
    keys = re.findall(r"key (\w+) set to the (text|number) (\w+)", prompt)
    members = [f'"{key}": {value if kind == "number" else chr(34) + value + chr(34)}' for key, kind, value in keys]
    return "{" + ", ".join(members) + "}" if members else None


def _looked_up(prompt: str) -> str | None:
    """The value of the key that the question names, in lines of keys and values."""
    passage, _, question = prompt.partition("\n\nQuestion: ")
    asked = set(_telling(question))
    for key, value in _PAIR.findall(passage) if question else ():
        if set(_telling(key)) & asked:
            return str(value).strip()
    return None


def _found_in_passage(prompt: str) -> str | None:
    """Of the sentence that shares most words with the question: a day, a time, a name, else the words after the verb."""
    passage, _, question = prompt.partition("\n\nQuestion: ")
    if not question:
        return None
    asked = question.split("?")[0]
    sentences = [part for part in re.split(r"(?<=[.!?])\s+|\n|, ", passage) if part]
    best = max(sentences, key=lambda sentence: len(set(_telling(sentence)) & set(_telling(asked))))
    for words, pattern in ((r"\bday\b", _DAY), (r"\btime\b", re.compile(r"\b\d{1,2}(?::\d\d)?\b"))):
        found = pattern.search(best) if re.search(words, asked) else None
        if found:
            return found[0]
    names = [
        name
        for name in re.findall(r"(?<!^)\b[A-Z][a-z]+(?: [A-Z][a-z]+)*|^[A-Z][a-z]+(?= \w+s\b)", best)
        if name not in asked
    ]
    if re.match(r"who|in which (?:street|town|city)", asked, re.I) and names:
        return str(names[0])
    rest = re.search(r"\b(?:is|are|holds?|in|was)\s+(.+)$", best)
    return str(rest[1]).rstrip(".") if rest else None


def _template(prompt: str) -> str | None:
    """What is said to the first form that the prompt has, with the words that the form holds."""
    for form, answer in _TEMPLATES:
        found = re.search(form, prompt)
        if found:
            return answer(found)
    return None


def _beginning(found: re.Match[str]) -> str:
    """The first words of a text that is to have a summary or a title."""
    limit = int(found[2]) if found[2].isdigit() else 5
    return " ".join(re.split(r"[.!?]", found[1])[0].split()[:limit])


_TEMPLATES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"\ACombine into one sentence: (.+?)\. (.+?)\.?$", lambda two: f"{two[1]} and {two[2][0].lower()}{two[2][1:]}."),
    (r"^Text: (.+)\n\n(?:Summarise|Give the text a title).*?at most (\w+)", _beginning),
    (
        r"sentence (?:with|about) (?:the words? )?(?:a |the )?(\w+(?:(?:, | and )\w+)*)\.?$",
        lambda named: f"Beside the {' and the '.join(re.split(', | and ', named[1]))} it was quiet that evening.",
    ),
    (r"begins with the word (\w+)", lambda begins: f"{begins[1]} it rained again."),
    (r"ends with the word (\w+)", lambda ends: f"After the rain they all spoke of {ends[1]}."),
    (r"question about (.+?)\.?$", lambda asks: f"What do we know about {asks[1]}?"),
)


def _telling(text: str) -> Sequence[str]:
    return [word for word in _WORDS.findall(text.casefold()) if word not in _COMMON]


_RULES: tuple[Callable[[str], str | None], ...] = (
    _decline, _python_output, _python_function, _label, _yes_or_no, _option, _sequence, _sorted, _hidden, _json,
    _looked_up, _copied, _found_in_passage, _template, _sum, _word_problem,
)  # fmt: skip
