"""The commands `theorex facts validate`, `migrate-v2`, `init` and `dedup`.

They are of Engram folders, and of facts that say the same.
"""

from pathlib import Path
from typing import Any

import click

from theorex_lab.designs.facts.duplicates import duplicate_of, seed
from theorex_lab.files.command_line import fail, home_command, one_row
from theorex_lab.memory.contract import Home

# The result of a command, and the text for people.
_Output = tuple[dict[str, Any], str]
_DIRECTORY = click.Path(file_okay=False, path_type=Path)


def _validate(home: Home, folder: Path | None, *, fix: bool) -> _Output:
    """DIR is an Engram folder, which life/ is in. Without it the memory is checked.

    A chain is a fact with the facts that it replaced, one after the other. It must have
    no gap and no circle. Of a folder the files of facts, notes and domains are checked
    too.

    --fix mends what can be: a missing or wrong member, an id that is there twice, a
    bare list, a file that was cut off, a missing folder. What a file held before stands
    beside it, in NAME.before. A record that cannot be mended is reported and stays. Of
    the memory a circle is opened, so that its newest fact holds.

    The exit code is 1 where a problem is left.

    JSON: {files, facts, problems, mended, written}
    """
    from theorex_lab.designs.facts.folder_check import (
        check_chains,
        check_folder,
        mend_home,
    )

    if folder is not None:
        return _checked(check_folder(folder, fix=fix).to_dict())
    if fix:
        return _checked(mend_home(home).to_dict())
    return _checked(check_chains(home).to_dict())


def _migrate(_home: Home, folder: Path) -> _Output:
    """DIR is an Engram folder; default: the working folder.

    Facts without a confidence get .7, facts without tags an empty list. Preferences and
    relationships become patterns, other facts episodes, where they do not say what they
    are. What a file held before stands beside it, in NAME.before.

    JSON: {files, facts, problems, mended, written}
    """
    from theorex_lab.designs.facts.folder_check import migrate_folder

    return _checked(migrate_folder(folder).to_dict())


def _checked(check: dict[str, Any]) -> _Output:
    """Return what was checked; end with 1 where a problem is left."""
    lines = [f"mended: {one_row(text)}" for text in check["mended"]]
    lines += [f"wrote {name}" for name in check["written"]]
    if check["problems"]:
        fail("\n".join([*lines, *map(one_row, check["problems"])]), **check)
    lines.append(f"{check['facts']} facts, and no problem is left")
    return check, "\n".join(lines)


def _init(_home: Home, folder: Path) -> _Output:
    """DIR is the new folder; default: the working folder. What is there stays.

    It gets life/, memory/, ops/, MEMORY.md and SOUL.md, and in references/ what
    subagents are told that do a phase of the heartbeat.

    JSON: {made, kept, next}
    """
    from theorex_lab.designs.facts.folder_check import init_folder

    result: dict[str, Any] = {**init_folder(folder)}
    result["next"] = [
        "theorex install-hooks",
        "theorex facts heartbeat --every 30m",
        f"theorex import {folder}",
    ]
    lines = [f"made {name}" for name in result["made"]]
    if not lines:
        lines = ["everything is there already"]
    lines += [f"next: {step}" for step in result["next"]]
    return result, "\n".join(lines)


def _dedup(
    home: Home, *, entity: str | None, text: str | None, seeds: str | None
) -> _Output:
    """Two facts are the same where their texts have one hash within an entity.

    The hash is the SHA-256 of the text in lower case, without punctuation. Signs that
    carry a meaning count: C++ is not C. With --entity and --fact it is said whether the
    entity has the fact already. With --seed the hashes of all active facts are
    computed, and facts that are there more than once are listed, at most N groups.
    Nothing is written: hashes are part of the memory.

    JSON: {seeded, entities, hashes, duplicates}; with a fact {duplicate, id,
    existingEntity, hash}
    """
    if text is None and entity is None:
        return _seeded(seed(home), seeds)
    if seeds is not None or text is None or entity is None:
        raise click.UsageError("Give --seed alone, or both --entity and --fact.")
    result = duplicate_of(home, entity, text)
    says = result["id"] or "no fact"
    return result, f"{says} says the same"


def _seeded(result: dict[str, Any], seeds: str | None) -> _Output:
    """Return the hashes of all facts, and at most so many groups of duplicates."""
    if seeds:
        if not seeds.isdecimal() or not 0 < int(seeds[:6]) <= 100_000:
            raise click.BadParameter(
                f"got {seeds!r}; allowed is a number from 1 to 100000",
                param_hint="--seed",
            )
        result["duplicates"] = result["duplicates"][: int(seeds[:6])]
    lines = [
        f"facts: {result['seeded']}, entities: {result['entities']}, hashes:"
        f" {result['hashes']}"
    ]
    lines += [f"the same: {', '.join(ids)}" for ids in result["duplicates"]]
    return result, "\n".join(lines)


fact_validate = home_command(
    "validate",
    "",
    _validate,
    click.argument("folder", metavar="[DIR]", required=False, type=_DIRECTORY),
    click.option("--fix", is_flag=True, help="Mend what can be."),
)
fact_migrate = home_command(
    "migrate-v2",
    "",
    _migrate,
    click.argument("folder", metavar="[DIR]", default=".", type=_DIRECTORY),
)
fact_init = home_command(
    "init",
    "",
    _init,
    click.argument("folder", metavar="[DIR]", default=".", type=_DIRECTORY),
)
fact_dedup = home_command(
    "dedup",
    "",
    _dedup,
    click.option("--entity", metavar="PATH", help="The entity of the fact."),
    click.option("--fact", "--text", "text", help="The text of the fact."),
    click.option(
        "--seed",
        "seeds",
        is_flag=False,
        flag_value="",
        metavar="[N]",
        help="Compute the hashes of all facts; this is the default.",
    ),
)
