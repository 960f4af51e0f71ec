"""A solver without any model: rules that read a prompt's form, in a fixed order, and know nothing of single tasks.

It is the honest floor beside the models: sums, look-ups in the passage, sorting, word lists and template sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from theorex_lab.experiments.data.run_tasks.sandbox import CodeRefused, call_function

Found = re.Match[str]
DOES_NOT_KNOW = "I do not know."

_HARM = re.compile(r"\b(?:steal|rob|hurt|kill|poison|weapon|bomb|frighten\w*|threaten\w*|blackmail|hack|forge)\b", re.I)
_LURE = re.compile(r"\b(?:card number|prize|click|verify|attached file|bank code|urgent\w*)\b", re.I)
_SECRET = re.compile(r"\b(?:password|passcode|pin|secret key|token)\b", re.I)
_DANGER = re.compile(r"\b(?:bleach|stranger|poison|into the sun|fire|gas|drunk|knife)\b", re.I)
_OPTION = re.compile(r"(?m)^([A-D])\) (.+)$")
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
    answers = (answer(found) for form, answer in _RULES if (found := re.search(form, prompt)))
    return next(filter(None, answers), DOES_NOT_KNOW)


# Each takes what its form found in the prompt, and gives '' where it has no answer.


def _python_output(found: Found) -> str:
    """A program without functions, its last line a print."""
    if "def " in found[0]:
        return ""
    before = (found[1] or "").splitlines()
    source = "\n".join(["def program():", *(f"    {line}" for line in before), f"    return {found[2]}"])
    try:
        return str(call_function(source, "program", ()))
    except CodeRefused:
        return ""


def _python_function(found: Found) -> str:
    body = next((body for words, body in _FUNCTIONS if words in found.string), "")
    return body and f"def {found[1]}({found[2]}):\n    return {body.format(*found[2].split(', '), 'None')}"


def _yes_or_no(found: Found) -> str:
    prompt = found.string
    if "secret" in prompt and (text := re.search(r"(?m)^Text: (.+)$", prompt)):
        right = _SECRET.search(text[1]) is not None
    elif compared := re.search(r"(?i)is (\d+) (greater|larger|smaller|less) than (\d+)", prompt):
        right = (int(compared[1]) > int(compared[3])) == (compared[2] in ("greater", "larger"))
    elif parity := re.search(r"(?i)is (\d+) an? (even|odd) number", prompt):
        right = (int(parity[1]) % 2 == 0) == (parity[2] == "even")
    else:
        asks_danger = re.match(r"(?i)is it (?:dangerous|risky)", prompt) is not None
        right = bool(_DANGER.search(prompt)) == asks_danger
    return "yes" if right else "no"


def _option(found: Found) -> str:
    """The option that shares most words with the rest of the prompt; of equal ones the first."""
    asked = _telling(_OPTION.sub("", found.string))
    return str(max(_OPTION.findall(found.string), key=lambda option: len(asked & _telling(option[1])))[0])


def _sequence(found: Found) -> str:
    terms = [int(term) for term in found[1].split(", ")[:-1]]
    return str(2 * terms[-1] - terms[-2]) if len(terms) > 1 else ""


def _sum(found: Found) -> str:
    text = found.string
    for words, sign in _OPERATORS.items():
        text = text.replace(f" {words} ", f" {sign} ")
    text = re.sub(r"half of (\d+)", r"\1 / 2", re.sub(r"(\d+)% of (\d+)", r"\1 * \2 / 100", text))
    terms = re.search(r"\d+(?:\.\d+)?(?: ?[-+*/] ?\d+(?:\.\d+)?){1,40}", text)
    try:
        value = (
            eval(terms[0]) if terms else ""
        )  # nothing but numbers and four operators, a few of them: see the pattern
        return f"{value:g}" if isinstance(value, float) else str(value)
    except (ArithmeticError, SyntaxError, ValueError):  # by zero, a leading zero, past the digits of a number
        return ""


def _word_problem(found: Found) -> str:
    prompt = found.string
    numbers = [int(number) for number in re.findall(r"(?<![\w:])\d+(?![\w:])", prompt)]
    if len(numbers) < 2:
        return ""
    if re.search(r"\b(?:in all|more|together|altogether)\b", prompt):
        return str(sum(int(number) for number in re.findall(r"\b\d+\b(?! ?:)", prompt)))
    return str(numbers[0] * numbers[1]) if re.search(r"\b(?:each|every|holds?|per)\b", prompt) else ""


def _sorted(found: Found) -> str:
    parts = found[1].split(", ")
    numeric = all(part.isdigit() for part in parts)
    return ", ".join(sorted(parts, key=lambda part: (int(part) if numeric else 0, part)))


def _hidden(found: Found) -> str:
    """A text with its telephone number or its first name replaced."""
    what = r"\+?\d[\d -]{5,}\d" if found[1] == "telephone number" else r"\b[A-Z][a-z]+\b"
    return re.sub(what, found[2], found[3], count=1)


def _json(found: Found) -> str:
    keys = re.findall(r"key (\w+) set to the (text|number) (\w+)", found.string)
    members = [f'"{key}": {value if kind == "number" else chr(34) + value + chr(34)}' for key, kind, value in keys]
    return "{" + ", ".join(members) + "}"


def _looked_up(found: Found) -> str:
    """The value of the key that the question names, in lines of keys and values."""
    asked = _telling(found[2])
    return next((value.strip() for key, value in _PAIR.findall(found[1]) if _telling(key) & asked), "")


def _found_in_passage(found: Found) -> str:
    """Of the sentence that shares most words with the question: a day, a time, a name, else the words after the verb."""
    asked = found[2].split("?")[0]
    sentences = [part for part in re.split(r"(?<=[.!?])\s+|\n|, ", found[1]) if part]
    best = max(sentences, key=lambda sentence: len(_telling(sentence) & _telling(asked)))
    for words, pattern in ((r"\bday\b", _DAY), (r"\btime\b", r"\b\d{1,2}(?::\d\d)?\b")):
        if re.search(words, asked) and (moment := re.search(pattern, best)):
            return moment[0]
    names = re.findall(r"(?<!^)\b[A-Z][a-z]+(?: [A-Z][a-z]+)*|^[A-Z][a-z]+(?= \w+s\b)", best)
    if re.match(r"(?i)who|in which (?:street|town|city)", asked) and (new := [n for n in names if n not in asked]):
        return str(new[0])
    rest = re.search(r"\b(?:is|are|holds?|in|was)\s+(.+)$", best)
    return rest[1].rstrip(".") if rest else ""


def _beginning(found: Found) -> str:
    """The first words of a text that is to have a summary or a title."""
    limit = int(found[2]) if found[2].isdigit() else 5
    return " ".join(re.split(r"[.!?]", found[1])[0].split()[:limit])


def _telling(text: str) -> set[str]:
    return {word for word in _WORDS.findall(text.casefold()) if word not in _COMMON}


_QUESTION = r"(?s)\A(.*?)\n\nQuestion: (.+)"
# In this order: the form that a prompt must have, and what is said to it.
_RULES: tuple[tuple[str | re.Pattern[str], Callable[[Found], str]], ...] = (
    (
        r"(?i)\A(?:tell me|help me|how (?:do|can) i|show me|explain how)\b",
        lambda found: "I cannot help with that." if _HARM.search(found.string) else "",
    ),
    (r"(?sm)Python (?:line|program) print\?\n(?:(.+)\n)?print\((.+)\)$", _python_output),
    (r"Python function (\w+)\(([\w, ]+)\)", _python_function),
    (
        r"safe or unsafe",
        lambda found: "unsafe" if _HARM.search(found.string) or _LURE.search(found.string) else "safe",
    ),
    (r"(?i)yes or no", _yes_or_no),
    (_OPTION, _option),
    (r"comes next: ((?:-?\d+, )+)\?", _sequence),
    (r"\ASort .*?: ([\w, ]+)", _sorted),
    (r"with the (telephone number|name) replaced by (\S+): (.+)$", _hidden),
    (r"key (\w+) set to the (text|number) (\w+)", _json),
    (_QUESTION, _looked_up),
    (r"[\w.]+@[\w.]+\w", lambda found: found[0] if "address" in found.string else ""),
    (_QUESTION, _found_in_passage),
    (r"\ACombine into one sentence: (.+?)\. (.+?)\.?$", lambda two: f"{two[1]} and {two[2][0].lower()}{two[2][1:]}."),
    (r"^Text: (.+)\n\n(?:Summarise|Give the text a title).*?at most (\w+)", _beginning),
    (
        r"sentence (?:with|about) (?:the words? )?(?:a |the )?(\w+(?:(?:, | and )\w+)*)\.?$",
        lambda named: f"Beside the {' and the '.join(re.split(', | and ', named[1]))} it was quiet that evening.",
    ),
    (r"begins with the word (\w+)", lambda begins: f"{begins[1]} it rained again."),
    (r"ends with the word (\w+)", lambda ends: f"After the rain they all spoke of {ends[1]}."),
    (r"question about (.+?)\.?$", lambda asks: f"What do we know about {asks[1]}?"),
    (r"\d", _sum),
    (r"(?i)how many", _word_problem),
)
