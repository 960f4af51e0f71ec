"""Wrong usage in one line: what was given, what is allowed, and where to read on."""

from __future__ import annotations

import re
from typing import Any

import click

from theorex_lab.files.command_line.options import nearest

# How click begins the sentence on a value that it refuses: the value stands first.
_REFUSED = re.compile(
    r"(?P<value>'.*'|\S+) is not (?P<rule>a valid|one of|in the range|').*", re.DOTALL
)
_EXTRA = re.compile(r"Got unexpected extra arguments? \((?P<words>.*)\)", re.DOTALL)
_MISSING_COMMAND = "Missing command."
# How like a known name one has to be to be taken for a slip of the pen.
_LIKENESS = 0.6


def usage_message(error: click.UsageError) -> str:
    """Return one sentence about a wrong usage.

    It says what was given, what is allowed, and the command that says more.
    """
    message = " ".join(_message(error).split()).removesuffix(".")
    if error.ctx is None or "`theorex" in message:
        return message
    return f"{message}; `{error.ctx.command_path} --help` says more"


def shows_help(error: click.UsageError) -> bool:
    """Return whether the error is that a group was called without any argument."""
    # Older releases of click print the help themselves.
    kind = getattr(click.exceptions, "NoArgsIsHelpError", None)
    return kind is not None and isinstance(error, kind)


def _message(error: click.UsageError) -> str:
    if shows_help(error) or error.message == _MISSING_COMMAND:
        return _no_command(error)
    if isinstance(error, click.NoSuchOption):
        return _no_such_option(error)
    if isinstance(error, click.MissingParameter):
        return _missing(error)
    if isinstance(error, click.BadParameter):
        return _refused(error)
    if isinstance(error, click.BadOptionUsage):
        return _without_value(error)
    if extra := _EXTRA.fullmatch(error.message):
        return f"got {extra['words']!r}, which is more than the command takes"
    return error.format_message()


def _no_command(error: click.UsageError) -> str:
    names: list[str] = []
    if error.ctx is not None and isinstance(error.ctx.command, click.Group):
        names = error.ctx.command.list_commands(error.ctx)
    return f"got no command; allowed are {', '.join(names)}"


def _no_such_option(error: click.NoSuchOption) -> str:
    """Return which option is not known, with the nearest that is, else with all."""
    name = error.option_name
    options = [] if error.ctx is None else _options_of(error.ctx)
    similar = nearest(name, options, likeness=_LIKENESS)
    if similar:
        return f"got the option {name}; the nearest is {similar}"
    return f"got the option {name}; allowed are {', '.join(options)}"


def _options_of(ctx: click.Context) -> list[str]:
    """Return the long names of a command's options."""
    names = []
    for parameter in ctx.command.get_params(ctx):
        names += [name for name in parameter.opts if name.startswith("--")]
    return names


def _without_value(error: click.BadOptionUsage) -> str:
    """Return which option lacks its value, or has one although it takes none."""
    name = error.option_name
    if "does not take a value" in error.message:
        return f"got {name} with a value; it takes none"
    return f"got {name} without a value; allowed is {name} VALUE"


def _missing(error: click.MissingParameter) -> str:
    """Return what was not given, and how it is given."""
    parameter = error.param
    if parameter is None or error.ctx is None:
        return error.format_message()
    name = _name(parameter)
    allowed = _allowed(parameter.type)
    if allowed:
        return f"{name} is missing; allowed {allowed}"
    if isinstance(parameter, click.Option):
        value = parameter.metavar or "VALUE"
        return f"{name} is missing; give it as {name} {value}"
    pieces = error.ctx.command.collect_usage_pieces(error.ctx)
    usage = " ".join([error.ctx.command_path, *pieces])
    return f"{name} is missing; usage: {usage}"


def _refused(error: click.BadParameter) -> str:
    """Return which value was refused, and what is allowed in its place."""
    parameter = error.param
    if parameter is None:
        hint = f"{error.param_hint}: " if isinstance(error.param_hint, str) else ""
        return f"{hint}{error.message}"
    match = _REFUSED.fullmatch(error.message)
    allowed = _allowed(parameter.type)
    if match is None or not allowed:
        return f"{_name(parameter)}: {error.message}"
    return f"{_name(parameter)}: got {match['value']}; allowed {allowed}"


def _name(parameter: click.Parameter) -> str:
    """Return the name of an option as it is typed, or of an argument in capitals."""
    long_names = [name for name in parameter.opts if name.startswith("--")]
    if long_names:
        return long_names[0]
    return (parameter.metavar or str(parameter.name)).upper()


def _allowed(kind: click.ParamType[Any]) -> str:
    """Return what a type of values allows; '' where it takes any text."""
    if isinstance(kind, click.Choice):
        return f"are {', '.join(str(choice) for choice in kind.choices)}"
    if isinstance(kind, click.IntRange):
        return f"is a whole number{_range(kind)}"
    if isinstance(kind, click.FloatRange):
        return f"is a number{_range(kind)}"
    if kind is click.INT:
        return "is a whole number"
    return "is a number" if kind is click.FLOAT else ""


def _range(kind: click.IntRange | click.FloatRange) -> str:
    """Return the bounds of a range in words.

    >>> _range(click.IntRange(1, 1_000))
    ' from 1 to 1000'
    >>> _range(click.FloatRange(min=0, min_open=True))
    ' above 0'
    """
    low = "" if kind.min is None else f"{kind.min:g}"
    high = "" if kind.max is None else f"{kind.max:.15g}"
    if low and high and not kind.min_open:
        return f" from {low} to {high}"
    parts = []
    if low:
        parts.append(f"above {low}" if kind.min_open else f"of at least {low}")
    if high:
        parts.append(f"up to {high}")
    return f" {' and '.join(parts)}" if parts else ""
