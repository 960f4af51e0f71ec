r"""Read what LaTeX declares: environments of theorems, and macros around them.

Declared are they by `\newtheorem` and its kin. A macro is followed where its body
begins or ends such an environment, or holds a mark such as `\uses`; no other one is.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from theorex_lab.designs.research.tex_tokens import TexArgument, TexText, TexToken

# How the arguments of what declares a theorem follow each other: `o` may stand in
# brackets, `n` is the name (or several), `m` any other group, `p` a prefix of labels.
_DECLARATIONS = {
    "newtheorem": "nomo",
    "spnewtheorem": "nommmo",
    "newtheoremrep": "nomo",
    "newmdtheoremenv": "onomo",
    "mdtheorem": "onomo",
    "newframedtheorem": "nomo",
    "newshadedtheorem": "nomo",
    "newshadetheorem": "nomo",
    "declaretheorem": "ono",
    "newkeytheorem": "no",
    "newtcbtheorem": "onmmp",
    "renewtcbtheorem": "onmmp",
    "NewTcbTheorem": "onmmp",
    "RenewTcbTheorem": "onmmp",
    "ProvideTcbTheorem": "onmmp",
    "DeclareTcbTheorem": "onmmp",
}
_PROOF_DECLARATIONS = {"newproof": "nm"}
_COMMANDS = frozenset(
    "newcommand renewcommand providecommand DeclareRobustCommand".split()
)
_ENVIRONMENTS = frozenset("newenvironment renewenvironment provideenvironment".split())
_DOCUMENT_COMMANDS = frozenset(
    "NewDocumentCommand RenewDocumentCommand ProvideDocumentCommand"
    " DeclareDocumentCommand".split()
)
_DOCUMENT_ENVIRONMENTS = frozenset(
    "NewDocumentEnvironment RenewDocumentEnvironment ProvideDocumentEnvironment"
    " DeclareDocumentEnvironment".split()
)
_PRIMITIVES = frozenset("def gdef edef xdef".split())
DECLARING_WORDS = frozenset([*_DECLARATIONS, *_PROOF_DECLARATIONS])
DEFINING_WORDS = frozenset().union(
    _COMMANDS, _ENVIRONMENTS, _DOCUMENT_COMMANDS, _DOCUMENT_ENVIRONMENTS, _PRIMITIVES
)
_PARAMETERS = re.compile(r"((?:\s*#[1-9])*)\s*(?=\{)")
_ANY_PARAMETERS = re.compile(r"[^{}\\\n]*(?=\{)")
_CONTROL_WORD = re.compile(r"\s*(\\[a-zA-Z@]+)")
_SPECIFIED = re.compile(r"\s*[+!]*([moOs])")
_PARAMETER = re.compile(r"##|#([1-9])")
_WORDS = re.compile(r"\\([a-zA-Z@]+)")
_BEGUN = re.compile(r"\\(?:begin|end)\s*\{\s*([^{}\\]*?)\s*\}")
_MOST_ARGUMENTS = 9
_MOST_ROUNDS = 12  # macros that call macros are followed so deep


class TheoremNames:
    """The names of environments that a document declares.

    Attributes:
        theorems: Those of theorems.
        proofs: Those of proofs.
        prefixes: By an environment whose label is an argument, what stands before it.
    """

    def __init__(self) -> None:
        self.theorems = set[str]()
        self.proofs = set[str]()
        self.prefixes = dict[str, str]()


class TexMacro(NamedTuple):
    """Hold a macro of a document.

    Attributes:
        name: Its name; that of an environment has no backslash.
        kinds: Its arguments: `m` each, `o` for one in brackets, `s` for a star; None
            where they are of a kind that is not followed.
        defaults: The values of those in brackets.
        begin: What stands for the macro, or for the beginning of an environment.
        finish: What stands for the end of an environment.
    """

    name: str
    kinds: str | None
    defaults: tuple[str, ...]
    begin: str
    finish: str = ""

    def expanded(self, arguments: list[str], *, finish: bool = False) -> str:
        """Return what the macro stands for with these arguments."""
        body = self.finish if finish else self.begin

        def value(match: re.Match[str]) -> str:
            if not match[1]:
                return "#"
            number = int(match[1]) - 1
            return arguments[number] if number < len(arguments) else ""

        return _PARAMETER.sub(value, body)


class TexDefinition(NamedTuple):
    """Hold what a definition defines (None where it is not read), and its end."""

    macro: TexMacro | None
    end: int


def declare_theorems(tex: TexText, token: TexToken, names: TheoremNames) -> int | None:
    """Add what a token declares to the names.

    Returns:
        Where the declaration ends; None where the token declares nothing.
    """
    word = token.word.rstrip("*")
    form = _DECLARATIONS.get(word) or _PROOF_DECLARATIONS.get(word)
    if form is None:
        return None
    arguments = _declared(tex, token.end, form)
    prefix = None
    for kind, argument in arguments:
        if kind == "p":
            prefix = argument.text.strip()
    target = names.proofs if word in _PROOF_DECLARATIONS else names.theorems
    for name in _declared_names(arguments):
        target.add(name)
        if prefix is not None:
            names.prefixes[name] = prefix
    return arguments[-1][1].end if arguments else token.end


def _declared_names(arguments: list[tuple[str, TexArgument]]) -> list[str]:
    """Return the names among the arguments of a declaration."""
    names = list[str]()
    for kind, argument in arguments:
        if kind == "n":
            names += [name.strip() for name in argument.text.split(",")]
    return list(filter(None, names))


def _declared(tex: TexText, offset: int, form: str) -> list[tuple[str, TexArgument]]:
    """Return the arguments of a declaration that are there, with their kinds."""
    arguments = []
    for kind in form:
        argument = tex.option(offset) if kind == "o" else tex.argument(offset)
        if argument is None and kind == "o":
            continue
        if argument is None:
            break
        arguments.append((kind, argument))
        offset = argument.end
    return arguments


def read_definition(tex: TexText, token: TexToken) -> TexDefinition | None:
    """Return the macro that a token defines; None where it defines none."""
    word = token.word.rstrip("*")
    if word in _COMMANDS:
        return _command(tex, token.end, is_environment=False)
    if word in _ENVIRONMENTS:
        return _command(tex, token.end, is_environment=True)
    if word in _DOCUMENT_COMMANDS:
        return _document_macro(tex, token.end, is_environment=False)
    if word in _DOCUMENT_ENVIRONMENTS:
        return _document_macro(tex, token.end, is_environment=True)
    if word in _PRIMITIVES:
        return _primitive(tex, token.end)
    return None


def _command(tex: TexText, offset: int, *, is_environment: bool) -> TexDefinition:
    r"""Return what \newcommand or \newenvironment defines."""
    name = tex.one_argument(offset)
    if name is None:
        return TexDefinition(None, offset)
    offset = name.end
    kinds = ""
    defaults: tuple[str, ...] = ()
    count = tex.option(offset)
    if count is not None:
        offset = count.end
        kinds = "m" * _number_of_arguments(count.text)
        default = tex.option(offset)
        if default is not None:
            offset = default.end
            kinds = "o" + kinds[1:]
            defaults = (default.text,)
    return _with_bodies(
        tex,
        offset,
        TexMacro(_macro_name(name.text), kinds, defaults, ""),
        is_environment=is_environment,
    )


def _number_of_arguments(text: str) -> int:
    digits = text.strip()
    if digits.isascii() and digits.isdigit() and len(digits) == 1:
        return int(digits)
    return 0


def _document_macro(
    tex: TexText, offset: int, *, is_environment: bool
) -> TexDefinition:
    r"""Return what \NewDocumentCommand or \NewDocumentEnvironment defines."""
    name = tex.one_argument(offset)
    if name is None:
        return TexDefinition(None, offset)
    specified = tex.argument(name.end)
    if specified is None:
        return TexDefinition(None, name.end)
    kinds, defaults = _specified(specified.text)
    return _with_bodies(
        tex,
        specified.end,
        TexMacro(_macro_name(name.text), kinds, defaults, ""),
        is_environment=is_environment,
    )


def _specified(text: str) -> tuple[str | None, tuple[str, ...]]:
    """Return the kinds of arguments that a specification lists, and their defaults."""
    specification = TexText("", text)
    kinds = ""
    defaults = []
    offset = 0
    while match := _SPECIFIED.match(text, offset):
        offset = match.end()
        kinds += match[1].lower()
        default = None
        if match[1] == "O":
            default = specification.argument(offset)
        if default is not None:
            offset = default.end
        if match[1] in "oO":
            defaults.append(default.text if default else "")
    is_read = not text[offset:].strip() and len(kinds) <= _MOST_ARGUMENTS
    if not is_read:
        return None, ()
    return kinds, tuple(defaults)


def _primitive(tex: TexText, offset: int) -> TexDefinition:
    r"""Return what \def defines; delimited arguments are not followed."""
    name = _CONTROL_WORD.match(tex.text, offset)
    if name is None:
        return TexDefinition(None, offset)
    offset = name.end()
    kinds: str | None = None
    parameters = _PARAMETERS.match(tex.text, offset)
    if parameters is not None:
        kinds = "m" * parameters[1].count("#")
    else:
        parameters = _ANY_PARAMETERS.match(tex.text, offset)
    if parameters is None:
        return TexDefinition(None, offset)
    macro = TexMacro(name[1], kinds, (), "")
    return _with_bodies(tex, parameters.end(), macro, is_environment=False)


def _with_bodies(
    tex: TexText, offset: int, macro: TexMacro, *, is_environment: bool
) -> TexDefinition:
    """Return a macro with its body, or the two of an environment."""
    begin = tex.argument(offset)
    if begin is None:
        return TexDefinition(None, offset)
    macro = macro._replace(begin=begin.text)
    if not is_environment:
        if not macro.name.startswith("\\"):
            return TexDefinition(None, begin.end)
        return TexDefinition(macro, begin.end)
    finish = tex.argument(begin.end)
    if finish is None:
        return TexDefinition(None, begin.end)
    name = macro.name.lstrip("\\")
    return TexDefinition(macro._replace(name=name, finish=finish.text), finish.end)


def _macro_name(text: str) -> str:
    return text.strip()


def followed_macros(
    macros: Iterable[TexMacro], words: frozenset[str], environments: Iterable[str]
) -> dict[str, TexMacro]:
    r"""Return the macros that are to be followed, by their names.

    Args:
        macros: All that a document defines, in their order; the last of a name counts.
        words: The control words that a reader looks for, without backslash.
        environments: The environments that a reader looks for.

    >>> lemma = TexMacro("lem", "", (), r"\begin{lemma}", r"\end{lemma}")
    >>> bold = TexMacro(r"\bold", "m", (), r"\textbf{#1}")
    >>> list(followed_macros([lemma, bold], frozenset(["uses"]), ["lemma"]))
    ['lem']
    """
    by_name = {}
    for macro in macros:
        if macro.name.lstrip("\\") not in words:
            by_name[macro.name] = macro
    wanted = set(environments)
    followed = dict[str, TexMacro]()
    for _ in range(_MOST_ROUNDS):
        new = {}
        for name, macro in by_name.items():
            if name not in followed and _is_wanted(macro, words, wanted):
                new[name] = macro
        if not new:
            break
        followed |= new
        wanted.update(new)
    return followed


def _is_wanted(macro: TexMacro, words: frozenset[str], names: set[str]) -> bool:
    """Return whether a macro's body holds what a reader looks for."""
    body = f"{macro.begin} {macro.finish}"
    for environment in _BEGUN.findall(body):
        if environment in names or "#" in environment:
            return True
    called = _WORDS.findall(body)
    return any(word in words or f"\\{word}" in names for word in called)
