"""Tasks on numbers: sums, sequences, short word problems."""

from theorex_lab.experiments.data.run_tasks.checks import Choice, InOrder, Number
from theorex_lab.experiments.data.run_tasks.task import numbered

_ONLY = "Answer with the number only."

TASKS = numbered(
    "math",
    [
        (1, f"What is 3 + 4? {_ONLY}", Number(7), "7", "34"),
        (1, f"What is 9 - 5? {_ONLY}", Number(4), "9 - 5 = 4", "14"),
        (1, f"What is 10 + 10? {_ONLY}", Number(20), "20", "100"),
        (1, f"What is 5 times 2? {_ONLY}", Number(10), "10", "7"),
        (1, f"What comes next: 2, 4, 6, 8, ? {_ONLY}", Number(10), "10", "8"),
        (1, f"What comes next: 5, 10, 15, 20, ? {_ONLY}", Number(25), "25", "20"),
        (1, f"What is half of 8? {_ONLY}", Number(4), "4", "16"),
        (2, f"Which number is larger, 71 or 17? {_ONLY}", Number(71), "71", "17"),
        (2, f"What is 6 times 7? {_ONLY}", Number(42), "42", "36"),
        (2, f"What is 20 divided by 4? {_ONLY}", Number(5), "5", "4"),
        (2, f"What is 12 + 30? {_ONLY}", Number(42), "42", "32"),
        (2, "Is 15 an even number? Answer yes or no.", Choice("no"), "No, 15 is odd.", "Yes."),
        (2, "Is 100 greater than 99? Answer yes or no.", Choice("yes"), "Yes", "No"),
        (
            2,
            f"Tom has 3 apples and buys 2 more. How many apples does Tom have? {_ONLY}",
            Number(5),
            "Tom has 5 apples.",
            "6",
        ),
        (2, f"A box holds 6 eggs. How many eggs are in 4 boxes? {_ONLY}", Number(24), "24", "10"),
        (3, f"What is 48 - 19? {_ONLY}", Number(29), "29", "31"),
        (3, f"What is 13 times 12? {_ONLY}", Number(156), "156", "144"),
        (3, f"What is 15% of 200? {_ONLY}", Number(30), "30", "15"),
        (3, "Sort these numbers from small to large: 9, 2, 5.", InOrder(("2", "5", "9")), "2, 5, 9", "9, 5, 2"),
        (
            3,
            f"A garden is 5 metres long and 3 metres wide. How long is the fence around it, in metres? {_ONLY}",
            Number(16),
            "16",
            "15",
        ),
        (3, f"How many minutes are two and a half hours? {_ONLY}", Number(150), "150 minutes", "120"),
        (
            4,
            f"A train covers 180 km in 2 hours. How many km does it cover in 5 hours at the same speed? {_ONLY}",
            Number(450),
            "450",
            "900",
        ),
        (4, f"What is 347 times 29? {_ONLY}", Number(10_063), "10,063", "10,073"),
        (4, f"How many prime numbers are smaller than 50? {_ONLY}", Number(15), "15", "16"),
    ],
)
