"""The functions that read what others wrote.

They run in a process of their own, and nowhere else. A function that is not listed is
refused. What another package brings is not listed here, and may be any function of it.
"""

_PACKAGE = "theorex_lab."
_FILM_PATIENCE = 30

# By its module and name, how many times the seconds of the limits it may take.
READERS = {
    "theorex_lab.files.ingest.text:read_document": 1,
    "theorex_lab.files.ingest.code:read_symbols": 1,
    "theorex_lab.files.ingest.media:look_at": 1,
    "theorex_lab.files.ingest.media:watch": _FILM_PATIENCE,
    "theorex_lab.files.transcripts.folders:begins_as_specstory": 1,
    "theorex_lab.files.transcripts.folders:transcript_beginning": 1,
    "theorex_lab.files.transcripts.records:transcript_records": 1,
    "theorex_lab.designs.research.readers:read_theorems": 1,
}


def patience_of(place: str) -> int:
    """Return how many times the seconds of the limits a function may take.

    Raises:
        ValueError: It is a function of this package that is not listed.
    """
    if place.startswith(_PACKAGE) and place not in READERS:
        raise ValueError(f"got {place}, which is not listed in READERS; list it there")
    return READERS.get(place, 1)
