"""Tasks that bring pieces together: summaries, what things share, orders of events, one form made of another."""

from theorex_lab.experiments.data.run_tasks.checks import Choice, InOrder, JsonValue, Letter, Number, Wording
from theorex_lab.experiments.data.run_tasks.task import numbered

_HARBOUR = (
    "The harbour was closed for two days because of the storm. On Thursday the ferries sailed again, with long queues."
)
_GARDEN = (
    "Ruth waters the garden every morning. She grows beans, peas and pumpkins, and gives most of them to neighbours."
)
_LETTER = "Answer with the letter."

TASKS = numbered(
    "synthesis",
    [
        (1, f"Text: {_GARDEN}\n\nWhat is the text about? One word: garden, football or music?", Choice("garden", ("garden", "football", "music")), "Garden", "Music"),
        (1, f"Text: {_HARBOUR}\n\nWhat is the text about?\nA) a recipe\nB) a closed harbour\nC) a football match\n{_LETTER}", Letter("B"), "B", "A) a recipe"),
        (1, "Apples, pears and plums are all:\nA) fruits\nB) tools\nC) cities\n" + _LETTER, Letter("A"), "A) fruits", "B"),
        (1, "Hammer, saw and drill are all:\nA) animals\nB) songs\nC) tools\n" + _LETTER, Letter("C"), "C", "A"),
        (1, "Combine into one sentence: The dog is old. The dog is friendly.", Wording((4, 14), ("dog", "old", "friendly"), pattern=r"^[^.!?]+[.!?]?$"), "The dog is old and friendly.", "The dog is old. The dog is friendly."),
        (2, "Combine into one sentence: Mia opened the window. The room was hot.", Wording((6, 18), ("Mia", "window", "hot"), pattern=r"^[^.!?]+[.!?]?$"), "Mia opened the window because the room was hot.", "Mia opened the window. The room was hot."),
        (2, "Red, green and blue are ...? Answer with one word.", Wording((1, 6), pattern=r"(?i)\bcolou?rs\b"), "Colors", "Animals"),
        (2, "Dog, horse and cow are ...? Answer with one word.", Wording((1, 6), ("animals",)), "They are animals.", "Plants"),
        (2, "Which word does not belong with the others: cat, dog, table, rabbit? Answer with one word.", Choice("table", ("cat", "dog", "table", "rabbit")), "table", "rabbit"),
        (2, f"Text: {_GARDEN}\n\nWhich title fits best?\nA) Ruth's garden\nB) The football season\nC) How to build a boat\n{_LETTER}", Letter("A"), "A", "C"),
        (2, f"Text: {_HARBOUR}\n\nWhich summary is right?\nA) The ferries never stopped.\nB) A storm closed the harbour for two days.\nC) A new harbour was built.\n{_LETTER}", Letter("B"), "B) A storm closed the harbour for two days.", "A"),
        (2, f"Text: {_HARBOUR}\n\nSummarise the text in one sentence of at most 12 words.", Wording((4, 12), ("harbour",), pattern=r"(?i)storm|ferries"), "A storm closed the harbour until the ferries sailed on Thursday.", f"{_HARBOUR}"),
        (2, f"Text: {_GARDEN}\n\nGive the text a title of at most five words.", Wording((1, 5), pattern=r"(?i)garden|Ruth|neighbo|vegetable|beans"), "Ruth's Generous Garden", "The closed harbour"),
        (3, "Anna is older than Ben. Ben is older than Cleo. Who is the youngest? Answer with the name.", Choice("Cleo", ("Anna", "Ben", "Cleo")), "Cleo", "Anna"),
        (3, "First the bell rang. Before the bell, Max ate. After the bell, Ida left. Order the three: left, rang, ate. Begin with the earliest.", InOrder(("ate", "rang", "left")), "ate, rang, left", "rang, ate, left"),
        (3, "Report 1: 12 parcels came. Report 2: 30 parcels came. Report 3: 8 parcels came. How many parcels came in all? Answer with the number only.", Number(50), "50", "42"),
        (3, "Row: item=lamp; price=40; colour=green. Write the row as one sentence.", Wording((5, 20), ("lamp", "40", "green"), unwanted=("item", "row"), pattern=r"^[^=;]+$"), "The green lamp costs 40.", "item=lamp; price=40; colour=green"),
        (3, "Mia says: the train was late. Jon says: the train was on time. Eva says: it came an hour late. Who disagrees with the other two? Answer with the name.", Choice("Jon", ("Mia", "Jon", "Eva")), "Jon", "Eva"),
        (3, "Make a JSON list of the three animals: We saw a fox near the mill, then an owl, and at the end a hare. Use single words, in the order of the text. Give only the JSON.", JsonValue(["fox", "owl", "hare"]), '["fox", "owl", "hare"]', '["fox", "hare", "owl"]'),
        (3, "Claim: All birds of the island can fly. Note: The island's rail is a bird that cannot fly. Does the note support the claim or contradict it? Answer with one word: support or contradict.", Choice("contradict", ("support", "contradict")), "Contradict", "Support"),
        (4, "Sales: Monday 4, Tuesday 9, Wednesday 7. Visitors: Monday 8, Tuesday 30, Wednesday 10. On which day was the share of visitors who bought the highest? Answer with the day.", Choice("Wednesday", ("Monday", "Tuesday", "Wednesday")), "Wednesday", "Tuesday"),
        (4, f"Text A: {_HARBOUR}\nText B: {_GARDEN}\n\nWrite one sentence of exactly 11 words that names something of both texts.", Wording((11, 11), pattern=r"(?is)(?=.*\b(?:harbour|storm|ferr))(?=.*\b(?:garden|Ruth|beans|peas|pumpkins|neighbours))^[^.!?]+[.!?]?$"), "While the storm closed the harbour, Ruth quietly watered her garden.", "The storm closed the harbour."),
        (4, "Tasks: paint needs 2 hours, sand needs 1 hour and must be before paint, varnish needs 3 hours and must be after paint, sweep needs 1 hour and may be at any time by another person. How many hours pass at least? Answer with the number only.", Number(6), "6", "7"),
    ],
)  # fmt: skip
