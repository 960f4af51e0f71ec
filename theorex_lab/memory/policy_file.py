"""The policy in force where several machines share a journal.

There the newest policy of the journal is in force on every machine, but for what the
owner of a machine has set in its config.json. A home keeps a copy beside its settings,
so that what opens the home needs no server.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from theorex_lab.core.errors import ConfigError
from theorex_lab.core.files import write_atomically, writing
from theorex_lab.core.settings import Settings, check_settings, to_snake

POLICY_FILE = "policy.json"


def write_policy(folder: Path, number: int, settings: dict[str, Any]) -> None:
    """Keep the policy of the shared journal in the home, replaced as a whole.

    Raises:
        StorageError: The file cannot be written.
    """
    path = folder / POLICY_FILE
    content = {
        "number": number,
        "settings": settings,
    }
    text = json.dumps(content)
    with writing(path, "the old file is untouched"):
        write_atomically(path, text.encode())


def remove_policy(folder: Path) -> None:
    """Remove the copy: the shared journal has no policy."""
    path = folder / POLICY_FILE
    with writing(path, "remove it by hand"), suppress(FileNotFoundError):
        path.unlink()


def read_policy(folder: Path) -> dict[str, Any]:
    """Return the settings of the home's copy by camelCase keys; none without one."""
    path = folder / POLICY_FILE
    try:
        text = path.read_bytes()
        content = json.loads(text)
        settings = content["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return settings if isinstance(settings, dict) else {}


def with_policy(own_settings: Settings, folder: Path) -> tuple[Settings, str]:
    """Return the settings with the policy in force, and what is wrong with it.

    What the owner has set, or chosen by a preset, stands above the policy. A policy
    that does not fit what the owner has set is not in force here.

    Args:
        own_settings: What the owner of the machine has set.
        folder: The folder of the home.
    """
    changes: dict[str, Any] = {}
    policy = read_policy(folder)
    for key, value in policy.items():
        name = to_snake(key)
        if not hasattr(own_settings, name):  # of a later release
            continue
        if own_settings.source(name) == "default":
            changes[key] = value
    if not changes:
        return own_settings, ""
    own_values = own_settings.to_dict(only_given=True)
    changed = {**own_values, **changes}
    try:
        return check_settings(changed, where="the shared policy"), ""
    except ConfigError as error:
        return own_settings, f"the shared policy is not in force here: {error}"
