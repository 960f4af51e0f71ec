"""The journal in a PostgreSQL database, which several machines share.

Only homes that name one in the setting journalUrl import this, and with it psycopg.
"""

from theorex_lab.core.errors import StorageError

try:
    import psycopg  # noqa: F401
except ImportError as error:
    raise StorageError(
        "the setting journalUrl needs the package psycopg, which cannot be imported"
        f" ({error}); install it with: pip install 'theorex-lab[postgres]'"
    ) from error
