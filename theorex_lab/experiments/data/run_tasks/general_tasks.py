"""Tasks on what most people know, and a few that few people know."""

from theorex_lab.experiments.data.run_tasks.checks import Choice, Contains, InOrder, Letter, Number, Pattern
from theorex_lab.experiments.data.run_tasks.task import numbered

_WORD = "Answer with one word."
_NUMBER = "Answer with the number only."
_YES_NO = "Answer yes or no."
_LETTER = "Answer with the letter."

TASKS = numbered(
    "general",
    [
        (1, f"What is the capital of France? {_WORD}", Contains(("Paris",)), "Paris", "Lyon"),
        (1, f"What is the capital of Italy? {_WORD}", Contains(("Rome",)), "The capital of Italy is Rome.", "Milan"),
        (1, f"What is the opposite of hot? {_WORD}", Contains(("cold",), max_words=8), "cold", "warm"),
        (1, f"How many days are in a week? {_NUMBER}", Number(7), "7", "5"),
        (1, f"Which animal says meow? {_WORD}", Contains(("cat",), ("dog",), 8), "cat", "dog"),
        (1, "Complete the pattern: A B A B A B A ... Answer with the next letter only.", Pattern(r"^\W*B\W*$"), "B", "A"),
        (1, f"Is ice cold? {_YES_NO}", Choice("yes"), "Yes, ice is cold.", "No."),
        (1, f"Which of these is an animal?\nA) stone\nB) horse\nC) chair\n{_LETTER}", Letter("B"), "B) horse", "C"),
        (2, f"Which day comes after Monday? {_WORD}", Contains(("Tuesday",), ("Wednesday",), 8), "Tuesday", "Sunday"),
        (2, f"Which month comes before May? {_WORD}", Contains(("April",), ("June",), 8), "April", "June"),
        (2, f"What is the plural of child? {_WORD}", Contains(("children",), max_words=8), "children", "childs"),
        (2, f"What is the past tense of go? {_WORD}", Contains(("went",), ("goed",), 8), "went", "goed"),
        (2, f"How many legs does a spider have? {_NUMBER}", Number(8), "8 legs", "6"),
        (2, f"Is the sun larger than the moon? {_YES_NO}", Choice("yes"), "Yes.", "No."),
        (2, f"Which language is mostly spoken in Brazil?\nA) Portuguese\nB) Dutch\nC) Polish\n{_LETTER}", Letter("A"), "A", "B"),
        (2, "Sort these words alphabetically: pear, apple, fig.", InOrder(("apple", "fig", "pear")), "apple, fig, pear", "pear, apple, fig"),
        (3, f"What is the chemical symbol of iron? {_WORD}", Pattern(r"\bFe\b"), "Fe", "Ir"),
        (3, f"Which planet is closest to the sun? {_WORD}", Contains(("Mercury",), ("Venus",), 10), "Mercury", "Venus"),
        (3, f"How do you say thank you in Spanish? {_WORD}", Contains(("gracias",), max_words=10), "Gracias", "Merci"),
        (3, f"On which continent is Kenya? {_WORD}", Contains(("Africa",), max_words=10), "Africa", "Asia"),
        (3, f"How many letters has the word elephant? {_NUMBER}", Number(8), "8", "9"),
        (4, f"What is the capital of Burkina Faso? {_WORD}", Contains(("Ouagadougou",)), "Ouagadougou", "Accra"),
        (4, f"Spell the word window backwards. {_WORD}", Pattern(r"(?i)^\W*w-?o-?d-?n-?i-?w\W*$"), "wodniw", "windows"),
        (4, f"What is the atomic number of hafnium? {_NUMBER}", Number(72), "72", "71"),
    ],
)  # fmt: skip
