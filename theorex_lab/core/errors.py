"""Every error that theorex_lab raises on purpose.

TheorexError
├── InvalidInput        what was handed in is refused; nothing was written
│   │                   (also a ValueError)
│   ├── ConfigError     a setting: names the key, the value and what is allowed
│   ├── AlreadyThere    an event with this id was appended before, by this process
│   │                   or another
│   └── FilesThere      files are there that an export would replace, and nobody
│                       said that it may
├── StorageError        the home cannot be read or written (permissions, full disk)
│   ├── CorruptJournal  the journal's file is damaged; the memory is never taken
│   │                   for empty
│   └── ServerAway      the server of a shared journal does not answer
├── NewerVersion        an event was written by a newer release
└── ModelUnavailable    an embedder or a language model did not answer
    └── UnusableAnswer  it did, and what it said cannot be used
"""


class TheorexError(Exception):
    """Base of all errors that are raised on purpose.

    Its text says what was got, what is allowed, what to do.
    """


class InvalidInput(TheorexError, ValueError):
    """What was handed in is refused, and nothing was written."""


class ConfigError(InvalidInput):
    """A setting is unknown, of the wrong type or out of its range.

    Or the file of settings cannot be read.
    """


class AlreadyThere(InvalidInput):
    """An event with this id was appended before; nothing was written."""


class FilesThere(InvalidInput):
    """Files are there that would be replaced; nothing was written."""


class StorageError(TheorexError):
    """The home cannot be read or written."""


class CorruptJournal(StorageError):
    """The journal's file is damaged."""


class ServerAway(StorageError):
    """The server of a shared journal cannot be reached.

    What is captured meanwhile waits on this machine.
    """


class NewerVersion(TheorexError):
    """An event was written by a newer release than this one."""


class ModelUnavailable(TheorexError):
    """An embedder or a language model did not answer.

    `kind`: `silent` where nothing or no whole reply came in time, `busy` where it asks
    to come back later, `bad_reply` where it answered what cannot be used, else
    `refused`.

    Args:
        text: What went wrong.
        kind: Why, in one of the words above.
    """

    def __init__(self, text: str, kind: str = "refused") -> None:
        super().__init__(text)
        self.kind = kind


class UnusableAnswer(ModelUnavailable):
    """A language model answered, and what it said cannot be used.

    Args:
        text: What is wrong with the answer.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text, "bad_reply")
