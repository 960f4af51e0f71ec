"""Download files of one commit of a public git repository.

Git itself checks what it gets: the id of a commit is a hash of its files, so nobody can
hand out other ones under it. The user's proxies and certificates are used, and nothing
else of the user's settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from theorex_lab.core.errors import StorageError
from theorex_lab.core.git_repository import GitRepository
from theorex_lab.core.processes import (
    ProgramResult,
    ProgramTimeout,
    find_program,
    plain_variables,
    run_program,
)

_SECONDS = 1_800.0  # for the whole download
_LARGEST_BYTES = 64 << 20  # of a file
_REASON_CHARACTERS = 300
# Of the user's variables, those that say how the network is reached.
_NETWORK_VARIABLES = (
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "GIT_SSL_CAINFO",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
)
_VARIABLES = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


def download_commit(
    address: str,
    commit: str,
    folders: Sequence[str],
) -> dict[str, bytes]:
    """Return the files below some folders of a commit, by their paths.

    Args:
        address: The repository's address.
        commit: The commit, 40 hexadecimal digits.
        folders: The folders, from the repository's root.

    Raises:
        StorageError: There is no git, or the commit cannot be downloaded.
    """
    program = find_program("git")
    if program is None:
        raise StorageError(
            f"{address} cannot be downloaded: git was not found on this machine;"
            " install it"
        )
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        _fetch(program, address, commit, folder)
        repository = GitRepository.at(folder)
        blobs = _blobs_below(repository, commit, folders)
        return {path: _content_of(repository, blobs[path]) for path in blobs}


def _fetch(
    program: str,
    address: str,
    commit: str,
    folder: str,
) -> None:
    """Fetch one commit, without its history, into a new repository.

    Raises:
        StorageError: Git says why.
    """
    variables = _variables(address)
    start = ["-c", "gc.auto=0", "-c", f"core.hooksPath={os.devnull}", "-C", folder]
    fetch = ["fetch", "--quiet", "--no-tags", "--depth=1", "--", address, commit]
    for arguments in (["init", "--quiet", "--bare"], fetch):
        result = _run(program, [*start, *arguments], variables, address)
        if result.code != 0:
            raise _not_downloaded(address, result.errors.decode("utf-8", "replace"))


def _run(
    program: str,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    address: str,
) -> ProgramResult:
    try:
        return run_program(program, arguments, variables=variables, seconds=_SECONDS)
    except (OSError, ProgramTimeout) as error:
        raise _not_downloaded(address, str(error)) from error


def _not_downloaded(address: str, reason: str) -> StorageError:
    """Return the error for a download that failed; the caller raises it."""
    words = " ".join(reason.split())
    return StorageError(
        f"{address} could not be downloaded: {words[:_REASON_CHARACTERS]}; look at the"
        " network, and call again"
    )


def _variables(address: str) -> dict[str, str]:
    """Return the variables that git is run with."""
    variables = {**plain_variables(), **_VARIABLES}
    # Only the protocol of the address, whatever the host answers.
    variables["GIT_ALLOW_PROTOCOL"] = urlsplit(address).scheme
    for name in _NETWORK_VARIABLES:
        for spelling in (name, name.lower()):
            if spelling in os.environ:
                variables[spelling] = os.environ[spelling]
    return variables


def _blobs_below(
    repository: GitRepository, commit: str, folders: Sequence[str]
) -> dict[str, str]:
    """Return the ids of the files below some folders, by path; links are none."""
    listed = repository.run("ls-tree", "-r", "-z", "-l", commit, "--", *folders)
    blobs = {}
    for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
        about, _, path = entry.partition("\t")
        words = about.split()
        if len(words) != len(("mode", "kind", "id", "size")):
            continue
        mode, _, blob, size = words
        if mode.startswith("100") and int(size) <= _LARGEST_BYTES:
            blobs[path] = blob
    return blobs


def _content_of(repository: GitRepository, blob: str) -> bytes:
    return repository.run("cat-file", "blob", blob)
