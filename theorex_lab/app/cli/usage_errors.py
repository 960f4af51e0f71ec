"""Wrong usage in one line: what was given, what is allowed, and where to read on."""

from __future__ import annotations

import re

import click
from click import (
    BadOptionUsage,
    BadParameter,
    Choice,
    Context,
    FloatRange,
    Group,
    IntRange,
    MissingParameter,
    NoSuchOption,
    Option,
    Parameter,
    UsageError,
)

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.files.command_line.options import nearest

# How click begins the sentence on a value that it refuses: the value stands first.
_REFUSED = lazy_pattern(
    r"(?P<value>'.*'|\S+) is not (?P<rule>a valid|one of|in the range|').*",
    re.DOTALL,
)
_EXTRA = lazy_pattern(
    r"Got unexpected extra arguments? \((?P<words>.*)\)",
    re.DOTALL,
)
_MISSING_COMMAND = "Missing command."
_TAKES_NONE = "does not take a value"
# How like a known name one has to be to be taken for a slip of the pen.
_LIKENESS = 0.6


def usage_message(error: UsageError) -> str:
    """Return one sentence about a wrong usage.

    It says what was given, what is allowed, and the command that says more.
    """
    words = _message(error).split()
    message = " ".join(words).removesuffix(".")
    if error.ctx is None or "`theorex" in message:
        return message
    return f"{message}; `{error.ctx.command_path} --help` says more"


def shows_help(error: UsageError) -> bool:
    """Return whether the error is that a group was called without any argument.

    Older releases of click print the help themselves.
    """
    kind = getattr(click.exceptions, "NoArgsIsHelpError", None)
    return kind is not None and isinstance(error, kind)


def _message(error: UsageError) -> str:
    """Return what was given and what is allowed."""
    if shows_help(error) or error.message == _MISSING_COMMAND:
        return _no_command(error)
    if isinstance(error, NoSuchOption):
        return _no_such_option(error)
    if isinstance(error, MissingParameter):
        return _missing(error)
    if isinstance(error, BadParameter):
        return _refused(error)
    if isinstance(error, BadOptionUsage):
        return _without_value(error)
    extra = _EXTRA.fullmatch(error.message)
    if extra:
        words = extra["words"]
        return f"got {words!r}, which is more than the command takes"
    return error.format_message()


def _no_command(error: UsageError) -> str:
    """Return which commands a group has."""
    names: list[str] = []
    ctx = error.ctx
    if ctx is not None and isinstance(ctx.command, Group):
        names = ctx.command.list_commands(ctx)
    all_names = ", ".join(names)
    return f"got no command; allowed are {all_names}"


def _no_such_option(error: NoSuchOption) -> str:
    """Return which option is not known, with the nearest that is, else with all."""
    name = error.option_name
    options: list[str] = []
    if error.ctx is not None:
        options = _options_of(error.ctx)
    similar = nearest(name, options, likeness=_LIKENESS)
    if similar:
        return f"got the option {name}; the nearest is {similar}"
    all_options = ", ".join(options)
    return f"got the option {name}; allowed are {all_options}"


def _options_of(ctx: Context) -> list[str]:
    """Return the long names of a command's options."""
    names: list[str] = []
    for parameter in ctx.command.get_params(ctx):
        names += _long_names(parameter)
    return names


def _without_value(error: BadOptionUsage) -> str:
    """Return which option lacks its value, or has one although it takes none."""
    name = error.option_name
    if _TAKES_NONE in error.message:
        return f"got {name} with a value; it takes none"
    return f"got {name} without a value; allowed is {name} VALUE"


def _missing(error: MissingParameter) -> str:
    """Return what was not given, and how it is given."""
    parameter = error.param
    ctx = error.ctx
    if parameter is None or ctx is None:
        return error.format_message()
    name = _name(parameter)
    allowed = _allowed(parameter.type)
    if allowed:
        return f"{name} is missing; allowed {allowed}"
    if isinstance(parameter, Option):
        value = parameter.metavar or "VALUE"
        return f"{name} is missing; give it as {name} {value}"
    pieces = ctx.command.collect_usage_pieces(ctx)
    usage = " ".join([ctx.command_path, *pieces])
    return f"{name} is missing; usage: {usage}"


def _refused(error: BadParameter) -> str:
    """Return which value was refused, and what is allowed in its place."""
    parameter = error.param
    message = error.message
    if parameter is None:
        hint = error.param_hint
        return f"{hint}: {message}" if isinstance(hint, str) else message
    name = _name(parameter)
    allowed = _allowed(parameter.type)
    match = _REFUSED.fullmatch(message)
    if match is None or not allowed:
        return f"{name}: {message}"
    value = match["value"]
    return f"{name}: got {value}; allowed {allowed}"


def _name(parameter: Parameter) -> str:
    """Return the name of an option as it is typed, or of an argument in capitals."""
    long_names = _long_names(parameter)
    if long_names:
        return long_names[0]
    name = parameter.metavar or str(parameter.name)
    return name.upper()


def _long_names(parameter: Parameter) -> list[str]:
    """Return the names of an option that begin with two dashes."""
    return [name for name in parameter.opts if name.startswith("--")]


def _allowed(kind: object) -> str:
    """Return what a type of values allows; '' where it takes any text."""
    if isinstance(kind, Choice):
        choices = ", ".join(map(str, kind.choices))
        return f"are {choices}"
    if isinstance(kind, IntRange):
        bounds = _range(kind)
        return f"is a whole number{bounds}"
    if isinstance(kind, FloatRange):
        bounds = _range(kind)
        return f"is a number{bounds}"
    if kind is click.INT:
        return "is a whole number"
    if kind is click.FLOAT:
        return "is a number"
    return ""


def _range(kind: IntRange | FloatRange) -> str:
    """Return the bounds of a range in words.

    >>> _range(click.IntRange(1, 1_000))
    ' from 1 to 1000'
    >>> _range(click.FloatRange(min=0, min_open=True))
    ' above 0'
    """
    low = _as_text(kind.min)
    high = _as_text(kind.max)
    if low and high and not kind.min_open:
        return f" from {low} to {high}"
    bounds = ""
    if low and kind.min_open:
        bounds = f" above {low}"
    elif low:
        bounds = f" of at least {low}"
    if high:
        conjunction = " and" if low else ""
        bounds += f"{conjunction} up to {high}"
    return bounds


def _as_text(bound: float | None) -> str:
    """Return a bound as a person writes it; '' where there is none."""
    if bound is None:
        return ""
    return f"{bound:.16g}"
