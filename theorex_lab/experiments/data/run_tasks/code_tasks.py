"""Tasks on code: outputs of short programs, small functions, notation."""

from theorex_lab.experiments.data.run_tasks.checks import JsonValue, Letter, Number, Pattern, PythonFunction
from theorex_lab.experiments.data.run_tasks.task import numbered

_ONLY = "Answer with the output only."
_CODE = "Give only the code."

TASKS = numbered(
    "code",
    [
        (1, f"What does this Python line print?\nprint(2 + 3)\n{_ONLY}", Number(5), "5", "23"),
        (1, f"What does this Python line print?\nprint('ab' + 'cd')\n{_ONLY}", Pattern(r"\babcd\b"), "abcd", "ab cd"),
        (1, f"What does this Python line print?\nprint(len('river'))\n{_ONLY}", Number(5), "5", "river"),
        (
            1,
            "Which keyword begins a function in Python?\nA) def\nB) loop\nC) print\nAnswer with the letter.",
            Letter("A"),
            "A) def",
            "C",
        ),
        (
            1,
            "Which of these opens a list in Python?\nA) (\nB) [\nC) <\nAnswer with the letter.",
            Letter("B"),
            "B",
            "A",
        ),
        (
            2,
            f"What does this Python line print?\nprint('Hello'.upper())\n{_ONLY}",
            Pattern(r"\bHELLO\b"),
            "HELLO",
            "Hello",
        ),
        (2, f"What does this Python line print?\nprint([4, 8, 6][0])\n{_ONLY}", Number(4), "4", "8"),
        (2, f"What does this Python line print?\nprint(17 // 5)\n{_ONLY}", Number(3), "3", "3.4"),
        (2, f"What does this Python line print?\nprint(max([3, 9, 2]))\n{_ONLY}", Number(9), "9", "3"),
        (
            2,
            f"Write a Python function add(a, b) that returns the sum of a and b. {_CODE}",
            PythonFunction("add", (((2, 3), 5), ((-1, 1), 0), ((10, 5), 15))),
            "def add(a, b):\n    return a + b",
            "def add(a, b):\n    return a * b",
        ),
        (
            2,
            f"Write a Python function double(n) that returns n times two. {_CODE}",
            PythonFunction("double", (((2,), 4), ((7,), 14), ((0,), 0))),
            "```python\ndef double(n):\n    return n * 2\n```",
            "def double(n):\n    return n ** 2",
        ),
        (
            2,
            f"Write a Python function is_even(n) that returns True if n is even, else False. {_CODE}",
            PythonFunction("is_even", (((2,), True), ((7,), False), ((0,), True))),
            "def is_even(n):\n    return n % 2 == 0",
            "def is_even(n):\n    return n % 2",
        ),
        (
            2,
            f"Write a Python function first(items) that returns the first element of a list. {_CODE}",
            PythonFunction("first", ((([3, 4],), 3), ((["x"],), "x"))),
            "def first(items):\n    return items[0]",
            "def first(items):\n    return items[1]",
        ),
        (
            2,
            "The program\nx = [1, 2\nprint(x)\ndoes not start. What is missing?\nA) a colon\nB) a quotation mark\n"
            "C) a closing bracket\nAnswer with the letter.",
            Letter("C"),
            "C) a closing bracket",
            "A",
        ),
        (
            2,
            "Write an SQL query that selects all columns of the table users. Give only the query.",
            Pattern(r"(?i)\bselect\s+\*\s+from\s+users\s*(?:;|`|$)"),
            "SELECT * FROM users;",
            "SELECT users;",
        ),
        (
            2,
            "Write a JSON object with the key name set to the text Ada and the key age set to the number 36."
            " Give only the JSON.",
            JsonValue({"name": "Ada", "age": 36}),
            '{"name": "Ada", "age": 36}',
            '{"name": "Ada", "age": "36"}',
        ),
        (
            3,
            f"Write a Python function largest(items) that returns the largest number of a list. {_CODE}",
            PythonFunction("largest", ((([3, 9, 2],), 9), (([-4, -7],), -4), (([5],), 5))),
            "def largest(items):\n    best = items[0]\n    for item in items:\n        if item > best:\n"
            "            best = item\n    return best",
            "def largest(items):\n    return items[-1]",
        ),
        (
            3,
            f"Write a Python function reverse_text(text) that returns the text backwards. {_CODE}",
            PythonFunction("reverse_text", ((("abc",), "cba"), (("",), ""), (("noon!",), "!noon"))),
            "def reverse_text(text):\n    return text[::-1]",
            "def reverse_text(text):\n    return text",
        ),
        (
            3,
            f"Write a Python function count_vowels(text) that returns how many of a, e, i, o, u are in the text. {_CODE}",
            PythonFunction("count_vowels", ((("banana",), 3), (("sky",), 0), (("audio",), 4))),
            "def count_vowels(text):\n    return sum(1 for letter in text if letter in 'aeiou')",
            "def count_vowels(text):\n    return len(text)",
        ),
        (
            3,
            f"What does this Python program print?\ntotal = 0\nfor n in [1, 2, 3]:\n    total += n * n\nprint(total)\n{_ONLY}",
            Number(14),
            "14",
            "6",
        ),
        (
            4,
            f"Write a Python function median(items) that returns the median of a list of numbers. {_CODE}",
            PythonFunction("median", ((([3, 1, 2],), 2), (([4, 1, 3, 2],), 2.5), (([7],), 7))),
            "def median(items):\n    s = sorted(items)\n    m = len(s) // 2\n    if len(s) % 2:\n        return s[m]\n"
            "    return (s[m - 1] + s[m]) / 2",
            "def median(items):\n    return items[len(items) // 2]",
        ),
        (
            4,
            "What does this Python program print?\ndef f(n):\n    return n if n < 2 else f(n - 1) + 2 * f(n - 2)\n"
            f"print(f(6))\n{_ONLY}",
            Number(21),
            "21",
            "8",
        ),
        (
            4,
            f"Write a Python function roman(n) that returns the Roman numeral of n, from 1 to 39. {_CODE}",
            PythonFunction("roman", (((4,), "IV"), ((9,), "IX"), ((27,), "XXVII"), ((38,), "XXXVIII"))),
            "def roman(n):\n    out = 'X' * (n // 10)\n    n = n % 10\n    for value, sign in [(9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')]:\n"
            "        while n >= value:\n            out += sign\n            n -= value\n    return out",
            "def roman(n):\n    return 'I' * n",
        ),
    ],
)
