"""Tasks whose answer stands in the passage that comes with them, or is not there at all."""

from theorex_lab.experiments.data.run_tasks.checks import Contains, Number, Wording
from theorex_lab.experiments.data.run_tasks.task import numbered


def _ask(passage: str, question: str) -> str:
    return f"{passage}\n\nQuestion: {question} Answer in a few words."


_MEETING = "The planning meeting is on Tuesday at noon in the blue room. Marta brings the notes, Ivo brings the maps."
_SERVER = "host: heron\nport: 8412\nowner: Leila\nregion: north\nbackup: every Sunday"
_SHOP = (
    "The shop on Mill Lane sells bread and honey. It opens at 7 in the morning and closes at 6. On Monday it is closed."
)
_TRIP = "Nora left Lund by train on 3 May, stayed two nights in Ghent, and reached Porto on 8 May, where her brother Emil met her."
_STORE = "Crate 1 holds lamps. Crate 2 holds ropes and nails. Crate 3 holds paint. Crate 4 is empty."
_LOG = "09:02 start\n09:05 cache cold\n09:17 disk full\n09:20 writer stopped\n09:41 disk cleared\n09:43 writer started"
_PEOPLE = "name: Anna; job: pilot; city: Turin\nname: Boris; job: baker; city: Riga\nname: Chen; job: nurse; city: Oslo"

TASKS = numbered(
    "retrieval",
    [
        (1, _ask(_MEETING, "On which day is the meeting?"), Contains(("Tuesday",)), "Tuesday", "Monday"),
        (1, _ask(_MEETING, "In which room is the meeting?"), Contains(("blue",)), "In the blue room.", "the red room"),
        (1, _ask(_SERVER, "What is the host?"), Contains(("heron",), ("Leila",)), "heron", "Leila"),
        (1, _ask(_SERVER, "What is the port?"), Contains(("8412",)), "The port is 8412.", "8421"),
        (1, _ask(_SERVER, "Who is the owner?"), Contains(("Leila",), ("heron",)), "Leila", "heron"),
        (1, _ask(_SHOP, "In which street is the shop?"), Contains(("Mill Lane",)), "Mill Lane", "Main Street"),
        (1, "The code word is lantern.\n\nQuestion: What is the code word? Answer with one word.", Contains(("lantern",), max_words=5), "Lantern.", "word"),
        (1, "My name is Oskar and I live in Bergen.\n\nQuestion: What is my name? Answer with one word.", Contains(("Oskar",), ("Bergen",), max_words=6), "Oskar", "Bergen"),
        (2, _ask(_MEETING, "Who brings the maps?"), Contains(("Ivo",), ("Marta",)), "Ivo", "Marta"),
        (2, _ask(_SERVER, "On which day is the backup?"), Contains(("Sunday",)), "Every Sunday", "Saturday"),
        (2, _ask(_SHOP, "On which day is the shop closed?"), Contains(("Monday",)), "On Monday", "Sunday"),
        (2, _ask(_SHOP, "At what time does the shop open?"), Contains(("7",), ("6",)), "At 7 in the morning", "at 6"),
        (2, _ask(_TRIP, "Who met Nora in Porto?"), Contains(("Emil",)), "Her brother Emil", "Nora"),
        (2, _ask(_STORE, "What is in crate 3?"), Contains(("paint",), ("lamps", "ropes", "nails")), "paint", "ropes"),
        (2, _ask(_PEOPLE, "What is the job of Boris?"), Contains(("baker",), ("pilot", "nurse")), "baker", "pilot"),
        (2, _ask(_PEOPLE, "Who lives in Oslo?"), Contains(("Chen",), ("Anna", "Boris")), "Chen", "Anna"),
        (3, _ask(_TRIP, "In which town did Nora stay before Porto?"), Contains(("Ghent",), ("Lund",)), "Ghent", "Lund"),
        (3, _ask(_STORE, "Which crate holds nothing?"), Contains(("4",), ("1", "2", "3")), "Crate 4", "Crate 2"),
        (3, _ask(_LOG, "At what time was the disk full?"), Contains(("09:17",), ("09:20", "09:41")), "09:17", "09:41"),
        (3, _ask(_STORE, "Name the things in crate 2, in their order."), Wording((2, 8), pattern=r"(?i)ropes\W.*nails"), "ropes and nails", "nails, ropes"),
        (3, _ask(_SHOP, "What is the telephone number of the shop? If the text does not say it, answer: unknown."), Contains(("unknown",), max_words=4), "unknown", "Mill Lane 7"),
        (4, _ask(_LOG, "For how many minutes was the writer stopped?"), Number(23), "23 minutes", "9:20"),
        (4, _ask(_TRIP, "Nora's brother lives where she arrived. In which town does he live, and how many days after her departure did she get there?"), Wording((2, 14), pattern=r"(?i)Porto\W.*\b(?:5|five)\b"), "Porto, five days", "Porto on 8 May"),
    ],
)  # fmt: skip
