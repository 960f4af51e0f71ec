"""Options of commands that share their work, and keep what is finished in a folder."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from theorex_lab.core.errors import InvalidInput, TheorexError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor

_SECONDS = 20  # in which a scheduler must answer
_SCHEDULER_HELP = (
    "The address of a Dask scheduler, tcp://HOST:PORT, whose workers share the work;"
    " needs the extra dask and a --out that all of them see."
)
WORKERS = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    help="How many processes share the work.",
)
SCHEDULER = click.option("--scheduler", metavar="ADDRESS", help=_SCHEDULER_HELP)
OUT = click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Keep every result in this folder as it ends. A run that is repeated goes on.",
)


@contextmanager
def shared_executor(
    scheduler: str | None, out: Path | None
) -> Iterator[Executor | None]:
    """Give what runs the jobs on the workers of a scheduler; None without one.

    Raises:
        InvalidInput: Dask is not installed, or no folder is named.
    """
    if scheduler is None:
        yield None
        return
    if out is None:
        raise InvalidInput(
            "got --scheduler without --out; give a folder that all workers see"
        )
    try:
        import distributed
    except ImportError as error:
        raise InvalidInput(
            f"got --scheduler, whose package is not installed ({error}); give pip"
            " install 'theorex-lab[dask]'"
        ) from error
    try:
        client = distributed.Client(scheduler, timeout=_SECONDS)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"got --scheduler {scheduler}, which does not answer ({error}); give the"
            " address that `dask scheduler` prints"
        ) from error
    with client, client.get_executor() as executor:  # type: ignore[no-untyped-call]
        yield executor


def check_out(out: Path | None) -> None:
    """Check, before the work, the folder in which trials are kept.

    Raises:
        InvalidInput: It is a file, or is in no folder.
    """
    if out is None:
        return
    if out.is_file() or not out.absolute().parent.is_dir():
        raise InvalidInput(
            f"got --out {out}; allowed is a folder, which is made where it is missing,"
            " in a folder that is there"
        )


def name_lost(names: Sequence[str]) -> None:
    """End a command whose work was lost in part, after it showed the rest.

    Args:
        names: What no process survived.

    Raises:
        TheorexError: There is any.
    """
    if names:
        raise TheorexError(
            f"got no scores of {', '.join(names)}: the process died each time; all"
            " others are complete"
        )
