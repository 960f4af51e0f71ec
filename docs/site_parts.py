"""Parts of the site that are made of the package: commands, settings, notebooks.

It is an extension of Sphinx. A page names a part by a directive, and holds no copy of it.
"""

from __future__ import annotations

import base64
import builtins
import importlib
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

import click
import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

import theorex_lab
import theorex_lab.eval
from theorex_lab.app.cli import command_table
from theorex_lab.app.cli.groups import load
from theorex_lab.core.settings import SettingRule, Settings, rules_of, to_camel
from theorex_lab.files.command_line import COMMON_OPTIONS

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
MAIN_FIGURE = "main-figure"  # the tag of the cell whose picture the gallery shows
_AS_IT_IS = "\b\n"  # click's sign of a paragraph whose lines stay as they are
_BEFORE_NAPOLEON = 400
_JSON = "\n\nJSON: "
_PICTURE = "image/png"
_SIGNS = re.compile(r"([\\*_\[\]<>|#$~{}])")  # what Markdown would read
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


class Part(SphinxDirective):
    """A directive whose content is Markdown that it makes itself."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the Markdown."""
        text = "\n".join(self.markdown())
        return self.parse_text_to_nodes(text, allow_section_headings=True)

    def markdown(self) -> Iterator[str]:
        """Yield the lines of the part."""
        raise NotImplementedError


# --- Commands ---


class ProductCommands(Part):
    """The commands of the toolkit, by the job that they do."""

    def markdown(self) -> Iterator[str]:
        """Yield a section for each job, with a section for each command."""
        for job in command_table.JOBS:
            yield f"## {job.name}\n"
            for entry in job.commands:
                yield from command_lines(load(entry), f"theorex {entry.name}", 3)


class DesignCommands(Part):
    """The commands of the published designs, group by group."""

    def markdown(self) -> Iterator[str]:
        """Yield a section for each group, with a section for each command."""
        for group in command_table.DESIGN_GROUPS:
            yield f"## theorex {group.name}\n"
            yield f"{plain(group.about)}\n"
            yield f"{plain(group.words)}\n"
            for entry in group.commands:
                path = f"theorex {group.name} {entry.name}"
                yield from command_lines(load(entry), path, 3)


def command_lines(command: click.Command, path: str, level: int) -> Iterator[str]:
    """Yield the section of a command, and those of the commands below it."""
    yield f"{'#' * level} {path}\n"
    text, _, keys = (command.help or "").partition(_JSON)
    for paragraph in text.split("\n\n"):
        yield f"{paragraph_of(paragraph)}\n"
    below = command.commands if isinstance(command, click.Group) else {}
    if command.callback is not None:
        yield f"```text\n{usage_of(command, path)}\n```\n"
        yield from option_rows(command)
        if keys:
            yield f"JSON: {as_code(' '.join(keys.split()))}\n"
    for name, child in below.items():
        yield from command_lines(child, f"{path} {name}", min(level + 1, 6))


def paragraph_of(paragraph: str) -> str:
    """Return a paragraph of a help as Markdown."""
    if paragraph.startswith(_AS_IT_IS):
        return f"```text\n{paragraph.removeprefix(_AS_IT_IS)}\n```"
    return plain(paragraph)


def plain(text: str) -> str:
    """Return a text in one line in which no sign of Markdown but a backtick counts."""
    as_written = []
    for part in re.split(r"(`[^`]+`)", " ".join(text.split())):
        if not part.startswith("`"):
            part = _SIGNS.sub(r"\\\1", part)
            part = _OPTION.sub(r"`\g<0>`", part)
        as_written.append(part)
    return "".join(as_written)


def as_code(text: str) -> str:
    """Return a text as code, for a line or for a cell of a table."""
    return f"`{text}`"


def usage_of(command: click.Command, path: str) -> str:
    """Return how a command is called: its name, options and arguments."""
    context = click.Context(command, info_name=path)
    return " ".join([path, *command.collect_usage_pieces(context)])


def option_rows(command: click.Command) -> Iterator[str]:
    """Yield a table of the options of a command, without those of every command."""
    context = click.Context(command)
    rows = []
    for parameter in command.params:
        if parameter in COMMON_OPTIONS or not isinstance(parameter, click.Option):
            continue
        record = parameter.get_help_record(context)
        if record is not None:
            option, what = record
            rows.append((as_code(in_cell(option)), in_cell(plain(what))))
    if rows:
        yield from table(("option", "what it does"), rows)


def in_cell(text: str) -> str:
    """Return a text in which a bar does not end the cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


# --- Settings ---


class SettingsTable(Part):
    """The settings of a home, as `theorex config` shows them."""

    def markdown(self) -> Iterator[str]:
        """Yield a table with a row for each setting."""
        rules = rules_of(Settings)
        rows = []
        for field in fields(Settings):
            rule = rules[field.name]
            default = default_of(field)
            rows.append(
                (
                    as_code(to_camel(field.name)),
                    as_code(in_cell(default)),
                    in_cell(plain(allowed(rule))),
                    in_cell(plain(rule.what)),
                )
            )
        yield from table(("setting", "default", "allowed", "what it is for"), rows)


def default_of(field: Any) -> str:
    """Return the default of a setting, as config.json has it."""
    value = field.default
    if value is MISSING:
        value = field.default_factory()
    return json.dumps(value, ensure_ascii=False, default=str)


def allowed(rule: SettingRule) -> str:
    """Return the range of a setting with its unit."""
    return f"{rule.range} {rule.unit}".strip()


# --- Notebooks ---


class Gallery(Part):
    """The notebooks, each with its question and its main figure."""

    def markdown(self) -> Iterator[str]:
        """Yield a card for each notebook."""
        self.env.note_reread()
        yield ":::::{container} gallery"
        for path in sorted(NOTEBOOKS.glob("*.ipynb")):
            self.env.note_dependency(str(path))
            yield from self.card(path)
        yield ":::::"

    def card(self, path: Path) -> Iterator[str]:
        """Yield the card of a notebook: figure, title, and what one learns."""
        notebook = nbformat.read(path, as_version=4)
        title, learnt = introduction(notebook)
        yield "::::{container} gallery-card"
        picture = main_figure(notebook)
        if picture is not None:
            folder = ROOT / "docs" / "_build" / "gallery"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{path.stem}.png").write_bytes(picture)
            yield f":::{{image}} /docs/_build/gallery/{path.stem}.png"
            yield f":alt: The main figure of the notebook “{title}”"
            yield ":::\n"
        yield f"[{title}](/notebooks/{path.name})\n"
        yield f"{learnt}\n"
        yield "::::"


def introduction(notebook: Any) -> tuple[str, str]:
    """Return the title of a notebook, and the first sentence of what one learns."""
    first = notebook.cells[0].source
    title = first.partition("\n")[0].removeprefix("# ")
    learnt = first.partition("**You will learn**")[2].partition("\n\n")[0]
    sentence = re.split(r"[;.]\s|\.$|;", " ".join(learnt.split()))[0].rstrip(".")
    return title, f"{sentence[:1].upper()}{sentence[1:]}."


def main_figure(notebook: Any) -> bytes | None:
    """Return the picture of the cell that is tagged, else the first; None without one."""
    pictures = []
    for cell in notebook.cells:
        is_main = MAIN_FIGURE in cell.metadata.get("tags", [])
        for output in cell.get("outputs", []):
            picture = output.get("data", {}).get(_PICTURE)
            if picture is not None:
                pictures.append((not is_main, len(pictures), picture))
    if not pictures:
        return None
    return base64.b64decode(min(pictures)[2])


# --- Tables of contents of pages that a code host shows too ---

CHILDREN = {"docs/adr/README": "[0-9]*"}


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:  # noqa: ARG001
    """Put a folder's pages into the sidebar, without a directive in the page itself."""
    if page in CHILDREN:
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{CHILDREN[page]}\n```\n"


# --- References that have no page ---


def resolve_reference(
    app: Sphinx,
    env: BuildEnvironment,
    node: nodes.Element,
    text: nodes.Element,
) -> nodes.Element | None:
    """Return what stands for a reference that leads to no page.

    - A name in backticks becomes a link where its last part is a public name, else it
      stays code: `tests/docs/test_docstrings.py` checks those names.
    - A type in a signature stays code where it can be imported: it belongs to the
      standard library, to another package, or to a room of this one that is not public.
      A type that cannot be imported is left to Sphinx, which warns.
    """
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    linked = _public(app, env, node, text)
    if linked is not None:
        return linked
    if node["reftype"] == "obj" or _exists(target):
        return text
    return None


def _public(
    app: Sphinx, env: BuildEnvironment, node: nodes.Element, text: nodes.Element
) -> nodes.Element | None:
    """Return a link to a public name that a reference means, if it means one."""
    domain = env.get_domain("py")
    target = str(node["reftarget"])
    for candidate in _public_names(target):
        linked = domain.resolve_xref(
            env, node["refdoc"], app.builder, "obj", candidate, node, text
        )
        if linked is not None:
            return linked
    return None


def _public_names(target: str) -> Iterator[str]:
    """Yield the public names that a dotted name may mean."""
    parts = target.removesuffix("()").split(".")
    for start in range(len(parts)):
        for package in (theorex_lab, theorex_lab.eval):
            if parts[start] in package.__all__:
                yield ".".join([package.__name__, *parts[start:]])


def _exists(target: str) -> bool:
    """Return whether a dotted name can be imported, or is one of the builtins."""
    head, _, rest = target.partition(".")
    if not rest:
        return hasattr(builtins, head) or _is_type(head)
    module_name = target
    while "." in module_name:
        module_name = module_name.rpartition(".")[0]
        try:
            found: Any = importlib.import_module(module_name)
        except ImportError:
            continue
        for name in target[len(module_name) + 1 :].split("."):
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


@cache
def _is_type(name: str) -> bool:
    """Return whether a short name stands in the source of a public module.

    A module that imports a type for type checkers alone keeps its short name.
    """
    return name.isidentifier() and any(
        re.search(rf"\b{name}\b", source) for source in _public_sources()
    )


@cache
def _public_sources() -> tuple[str, ...]:
    """Return the sources of the modules that public names come from."""
    sources = []
    for package in (theorex_lab, theorex_lab.eval):
        for name in package.__all__:
            module = inspect.getmodule(getattr(package, name))
            sources.append(inspect.getsource(module) if module else "")
    return tuple(sources)


def keep_whole(app: Sphinx, what: str, *rest: Any) -> None:  # noqa: ARG001
    """Keep what a property's docstring says before a colon from being read as a type.

    Napoleon reads the first line of it so. An empty comment ahead of it is read instead.
    """
    lines = rest[-1]
    if what == "property":
        lines[:0] = ["..", ""]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives and the handler."""
    app.add_directive("product-commands", ProductCommands)
    app.add_directive("design-commands", DesignCommands)
    app.add_directive("settings-table", SettingsTable)
    app.add_directive("notebook-gallery", Gallery)
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", keep_whole, priority=_BEFORE_NAPOLEON)
    app.connect("missing-reference", resolve_reference)
    return {"version": theorex_lab.__version__, "parallel_read_safe": True}
