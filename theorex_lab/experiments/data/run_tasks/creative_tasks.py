"""Tasks that ask for a text of one's own, of which words, length and form are checked, never the beauty."""

from theorex_lab.experiments.data.run_tasks.checks import Wording
from theorex_lab.experiments.data.run_tasks.task import numbered

_STOP = r"[.!?]$"

TASKS = numbered(
    "creative",
    [
        (1, "Write one sentence with the word river.", Wording((4, 30), ("river",), pattern=_STOP, echoed="with the word river"), "The river was quiet that evening.", "The lake was quiet that evening."),
        (1, "Write one sentence with the word lantern.", Wording((4, 30), ("lantern",), pattern=_STOP, echoed="with the word lantern"), "An old lantern hung over the door.", "An old lamp hung over the door."),
        (1, "Write one sentence about the sea.", Wording((4, 30), pattern=r"(?i)\b(?:sea|ocean|waves?)\b.*[.!?]$", echoed="about the sea"), "The sea sang all night.", "The hills were green."),
        (1, "Write one short sentence about a cat.", Wording((3, 20), pattern=r"(?i)\b(?:cats?|kitten)\b.*[.!?]$", echoed="about a cat"), "The cat sleeps on the roof.", "The dog sleeps on the roof."),
        (1, "Give one name for a cat. Answer with the name only.", Wording((1, 2), unwanted=("name", "cat"), pattern=r"^[A-Z][a-z]+(?: [A-Z][a-z]+)?\W*$"), "Pepper", "a name for a cat"),
        (2, "Write one sentence that begins with the word Yesterday.", Wording((4, 30), pattern=r"^Yesterday\b.*[.!?]$"), "Yesterday the bells rang twice.", "The bells rang yesterday."),
        (2, "Write a question about the moon.", Wording((3, 25), ("moon",), pattern=r"\?$", echoed="a question about the moon"), "Why does the moon follow us?", "The moon follows us."),
        (2, "Write one sentence with the words snow and red.", Wording((4, 30), ("snow", "red"), pattern=_STOP, echoed="the words snow and red"), "A red scarf lay in the snow.", "A red scarf lay in the grass."),
        (2, "Name three colours, one in a line.", Wording((3, 6), lines=(3, 3), pattern=r"(?i)\b(?:red|blue|green|yellow|black|white|orange|purple)\b"), "red\ngreen\nblue", "red, green, blue"),
        (2, "Write a title of at most five words for a story about a lost key.", Wording((2, 5), pattern=r"(?i)\bkeys?\b", echoed="a story about a lost key"), "The Key Under the Ice", "A very long story about one small key"),
        (2, "Complete with a comparison: The night was as dark as", Wording((2, 16), unwanted=("complete", "comparison"), pattern=r"(?i)\bas dark as\b.{3,}|^(?:a|an)\b.{3,}"), "The night was as dark as ink in a well.", "The night was dark."),
        (2, "Write one sentence of at most eight words about rain.", Wording((3, 8), pattern=r"(?i)\brain\w*\b.*[.!?]$", echoed="words about rain"), "Rain wrote its name on the roof.", "All day long the rain fell upon the roofs of the town."),
        (3, "Write one word that rhymes with light. Answer with the word only.", Wording((1, 1), unwanted=("light",), pattern=r"(?i)^(?:\w*(?:ight|ite)|height)\W*$"), "night", "lamp"),
        (3, "Write two lines about a ship.", Wording((4, 40), lines=(2, 2), pattern=r"(?i)\bships?\b", echoed="two lines about a ship"), "A ship came in with torn grey sails\nand nobody spoke", "A ship came in with torn grey sails and nobody spoke"),
        (3, "Write three words that begin with the letter B, separated by commas.", Wording((3, 3), pattern=r"(?i)^b\w+\s*,\s*b\w+\s*,\s*b\w+\W*$"), "bell, brook, bread", "bell, lamp, bread"),
        (3, "Write one sentence with the words clock, orange and whisper.", Wording((5, 30), ("clock", "orange", "whisper"), pattern=_STOP, echoed="clock, orange and whisper"), "Beside the clock an orange lamp heard every whisper.", "Beside the clock an orange lamp stood."),
        (3, "Write a dialogue of two lines. The first line begins with Ana: and the second with Leo:", Wording((4, 40), lines=(2, 2), pattern=r"(?s)^Ana: .+\nLeo: .+", echoed="The first line begins"), "Ana: Did you hear the owl?\nLeo: Only the wind.", "Ana: Did you hear the owl?"),
        (3, "Write a sentence of exactly five words.", Wording((5, 5), pattern=_STOP), "The old gate stayed open.", "The gate stayed open."),
        (3, "Write one sentence that ends with the word home.", Wording((4, 25), pattern=r"(?i)\bhome[.!?]$", echoed="the word home"), "At last the fishermen came home.", "At home the fishermen slept."),
        (4, "Write a sentence of at least six words without the letter e.", Wording((6, 25), pattern=r"^[^eE]+[.!?]$"), "A small dog ran across our road.", "The small dog ran across the road."),
        (4, "Write four lines whose first letters spell WIND.", Wording((4, 50), lines=(4, 4), pattern=r"(?s)^W[^\n]+\s*\nI[^\n]+\s*\nN[^\n]+\s*\nD[^\n]+$"), "Wide is the field\nIn it a fox\nNobody calls\nDown by the wall", "Wide is the field\nA fox in it\nNobody calls\nDown by the wall"),
        (4, "Write a story of exactly ten words that holds the word letter.", Wording((10, 10), ("letter",), pattern=_STOP, echoed="exactly ten words"), "Forty years late, her letter arrived, still smelling of lavender.", "Her letter arrived forty years late."),
        (4, "Write two lines of at least four words each whose last words rhyme with stone.", Wording((8, 30), lines=(2, 2), unwanted=("stone",), pattern=r"(?i)^[^\n]*(?:one|own|oan)\W*\n[^\n]*(?:one|own|oan)\W*$"), "I walked the winter road alone\nand heard the northern branches moan", "I walked the winter road at night\nand saw a light"),
    ],
)  # fmt: skip
