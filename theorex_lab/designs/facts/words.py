"""Words from a short list, such as those of statuses and categories."""

from collections.abc import Collection

from theorex_lab.core.errors import InvalidInput


def check_word(name: str, value: str, allowed: Collection[str]) -> str:
    """Return a value that is one of those allowed.

    Raises:
        InvalidInput: It is none of them.

    >>> check_word("type", "cron-task", ["cron-task", "dev-project"])
    'cron-task'
    """
    if value not in allowed:
        raise InvalidInput(
            f"got the {name} {value!r:.100}; allowed: {', '.join(allowed) or 'none'}"
        )
    return value
