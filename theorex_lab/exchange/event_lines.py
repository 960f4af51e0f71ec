"""A file layout for any design: its events as JSON Lines, and back."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from theorex_lab.design import FileLayout
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.files import Exported, Importing, Reports, each_file, upcast_of_file
from theorex_lab.exchange.flat_files import FlatRecord, append_new, each_noted, read_lines
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.text.doors import kept_value


def event_lines(name: str, *kinds: str) -> FileLayout:
    """A layout that writes the events of these kinds into the file `name`, one a line, and takes them in again.

    Ids stay, so that importing twice imports once. What looks like a secret is masked. A line that cannot be read is named
    and left out. Unless the file is trusted as one's own, what is taken in is only heard; see `Importing.heard`.
    """
    return FileLayout(name, partial(_export, name, kinds), partial(_files_of, name), partial(_take, name, kinds))


def _export(name: str, kinds: Sequence[str], home: Home, _: Any, folder: Path, *, agent: str | None) -> Exported:
    done = Exported(folder)
    events = (event for event in home.journal.tail(0, kinds=kinds) if agent in (None, event.agent))
    done.write(name, ({key: told for key, told in event._asdict().items() if key != "seq"} for event in events))
    return done


def _files_of(name: str, path: Path) -> list[Path]:
    file = path / name if path.is_dir() else path
    return [file] if file.name == name and file.is_file() else []


def _take(name: str, kinds: Sequence[str], home: Home, _: Any, path: Path, *, agent: str, trust_own: bool) -> Reports:
    how = Importing(home.settings, home.clock.now(), agent, trust_own)

    def take(file: Path, problems: list[str]) -> tuple[int, int]:
        events = each_noted(problems, read_lines(file, problems), _event, kinds, how)
        return append_new(home.journal, ((event, 1) for _, event in events))

    return each_file(path, _files_of(name, path), take)


def _event(record: FlatRecord, kinds: Sequence[str], how: Importing) -> Event:
    from theorex_lab.exchange import records, schema  # an export does without pydantic

    line = schema.checked(records.DesignLine, record)
    if line.kind not in kinds:
        raise InvalidInput(f"kind is {line.kind!r}; allowed are {', '.join(kinds)}")
    named = line.agent or how.agent, line.session, line.kind, tuple(line.lineage)
    event = upcast_of_file(Event(0, line.id, line.at, *named, {"v": 1, **kept_value(line.body)}))
    return event if how.trust_own else how.heard(event)
