"""What is read of each language, as queries of tree-sitter.

@class, @function and @module are symbols; @owner is a part of the file whose @name
stands before the names of the symbols in it (or, where it lies in a symbol, before that
symbol's); @call and @import count for the innermost symbol around them. @target is what
a function or class is assigned to, whose last part is its name; @hidden is the name of
a definition that the grammar does not parse, as in a call of a macro.

@definition is whatever the grammar calls a definition: each is a symbol, or is
reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theorex_lab.text.line import folded

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME = 200
_DEEPEST = 20
_SHOWN_LINES = 5
# The fields of a node that hold its object, and the name in it.
_PARTS = {
    "member_expression": ("object", "property"),
    "subscript_expression": ("object", "index"),
    "attribute": ("object", "attribute"),
    "subscript": ("value", "subscript"),
    "selector_expression": ("operand", "field"),
}
# A function or class with one of these names is called by its own, if it has one.
_UNNAMED: tuple[list[str], ...] = ([], ["exports"], ["default"])
# These stand for the file, for all files, or for the object itself.
_THIS = frozenset("module exports this self cls window globalThis global root".split())

# A function or a class without a name of its own, as the value of something.
_FUNCTION_VALUE = """[
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)
  (parenthesized_expression [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ])
]"""
_CLASS_VALUE = "(class body: (_) @body)"
# What JavaScript and TypeScript share: definitions that are values.
_ASSIGNED = f"""
(variable_declarator name: (identifier) @name value: {_FUNCTION_VALUE}) @function

(variable_declarator name: (identifier) @name value: {_CLASS_VALUE}) @class

(variable_declarator name: (identifier) @name value: (object)) @owner

(assignment_expression left: (_) @target right: {_FUNCTION_VALUE}) @function

(assignment_expression left: (_) @target right: {_CLASS_VALUE}) @class

(assignment_expression left: (_) @target right: (object)) @owner

(augmented_assignment_expression left: (_) @target right: {_FUNCTION_VALUE}) @function

(pair key: (_) @name value: {_FUNCTION_VALUE}) @function

(pair key: (_) @name value: {_CLASS_VALUE}) @class

(pair key: (_) @name value: (object)) @owner

(call_expression
  function: (member_expression property: (property_identifier) @_define)
  arguments: (arguments
    . (_) @target
    . (string) @name
    . (object [
        (pair value: {_FUNCTION_VALUE}) @function
        (method_definition body: (_) @body) @function
      ]))
  (#eq? @_define "defineProperty"))

(function_expression name: (_) @name body: (_) @body) @function

(generator_function name: (_) @name body: (_) @body) @function

(class name: (_) @name body: (_) @body) @class

(export_statement value: {_FUNCTION_VALUE}) @function

(export_statement value: {_CLASS_VALUE}) @class
"""

PYTHON = """
(class_definition name: (_) @name body: (_) @body) @class

(function_definition name: (_) @name body: (_) @body) @function

(type_alias_statement left: (_) @name right: (_) @body) @class

(assignment left: (_) @target right: (lambda body: (_) @body)) @function

(named_expression name: (_) @name value: (lambda body: (_) @body)) @function

(call function: (_) @call)

[
  (import_statement)
  (import_from_statement)
] @import
"""

JAVASCRIPT = """
(class_declaration name: (_) @name body: (_) @body) @class

[
  (function_declaration name: (_) @name body: (_) @body)
  (generator_function_declaration name: (_) @name body: (_) @body)
] @function

(method_definition name: (_) @name body: (_) @body) @function

(field_definition property: (_) @name value: FUNCTION) @function

(field_definition property: (_) @name value: CLASS) @class

[
  (call_expression function: (_) @call)
  (new_expression constructor: (_) @call)
]

(import_statement source: (_) @import)
"""

TYPESCRIPT = """
[
  (class_declaration name: (_) @name body: (_) @body)
  (abstract_class_declaration name: (_) @name body: (_) @body)
] @class

[
  (interface_declaration name: (_) @name body: (_) @body)
  (enum_declaration name: (_) @name body: (_) @body)
] @class

(type_alias_declaration name: (_) @name value: (_) @body) @class

[
  (internal_module name: (_) @name body: (_) @body)
  (module name: (_) @name body: (_) @body)
] @module

(function_signature name: (_) @name) @function

[
  (function_declaration name: (_) @name body: (_) @body)
  (generator_function_declaration name: (_) @name body: (_) @body)
] @function

(method_definition name: (_) @name body: (_) @body) @function

[
  (method_signature name: (_) @name)
  (abstract_method_signature name: (_) @name)
] @function

(public_field_definition name: (_) @name value: FUNCTION) @function

(public_field_definition name: (_) @name value: CLASS) @class

[
  (call_expression function: (_) @call)
  (new_expression constructor: (_) @call)
]

(import_statement source: (_) @import)
"""

GO = """
(type_spec name: (_) @name type: (_) @body) @class

(type_alias name: (_) @name type: (_) @body) @class

(method_elem name: (_) @name) @function

(function_declaration name: (_) @name body: (_) @body) @function

(function_declaration name: (_) @name !body) @function

(var_spec
  name: (identifier) @name
  value: (expression_list . (func_literal body: (_) @body) .)) @function

(short_var_declaration
  left: (expression_list . (_) @target .)
  right: (expression_list . (func_literal body: (_) @body) .)) @function

(assignment_statement
  left: (expression_list . (_) @target .)
  right: (expression_list . (func_literal body: (_) @body) .)) @function

(method_declaration name: (_) @name body: (_) @body) @function

(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @name
        (generic_type type: (_) @name)
        (pointer_type [
          (type_identifier) @name
          (generic_type type: (_) @name)
        ])
      ]))) @owner

(call_expression function: (_) @call)

(import_spec path: (_) @import)
"""

RUST = """
[
  (struct_item name: (_) @name)
  (enum_item name: (_) @name)
  (union_item name: (_) @name)
  (type_item name: (_) @name)
  (associated_type name: (_) @name)
] @class

(trait_item name: (_) @name body: (_) @body) @class

(mod_item name: (_) @name body: (_) @body) @module

(function_item name: (_) @name body: (_) @body) @function

(function_signature_item name: (_) @name) @function

(macro_definition name: (_) @name) @function

(let_declaration
  pattern: (identifier) @name
  value: (closure_expression body: (_) @body)) @function

(const_item
  name: (_) @name
  value: (closure_expression body: (_) @body)) @function

(static_item
  name: (_) @name
  value: (closure_expression body: (_) @body)) @function

(token_tree ["fn" "struct" "enum" "trait" "union"] . (identifier) @hidden)

(impl_item type: (_) @name body: (_)) @owner

[
  (call_expression
    function: [
      (identifier)
      (scoped_identifier)
      (field_expression)
    ] @call)
  (macro_invocation macro: (_) @call)
]

(call_expression function: (generic_function function: (_) @call))

(use_declaration argument: (_) @import)
"""

# Of every language: what does not parse.
ERRORS = """
[
  (ERROR)
  (MISSING)
] @error
"""

# The kinds of nodes that define something with a name.
_DEFINITIONS = {
    "python": "class_definition function_definition type_alias_statement",
    "javascript": (
        "class_declaration function_declaration generator_function_declaration"
        " method_definition"
    ),
    "typescript": (
        "class_declaration abstract_class_declaration interface_declaration"
        " enum_declaration type_alias_declaration internal_module module"
        " function_declaration generator_function_declaration function_signature"
        " method_definition method_signature abstract_method_signature"
    ),
    "go": "type_spec type_alias function_declaration method_declaration method_elem",
    "rust": (
        "struct_item enum_item union_item type_item associated_type trait_item"
        " function_item function_signature_item macro_definition"
    ),
}
_TEXTS = {
    "python": PYTHON,
    "javascript": JAVASCRIPT + _ASSIGNED,
    "typescript": TYPESCRIPT + _ASSIGNED,
    "go": GO,
    "rust": RUST,
}


def query_text(language: str) -> str:
    """Return the query of a language: its symbols, its definitions and its errors."""
    text = _TEXTS[language]
    text = text.replace("value: FUNCTION", f"value: {_FUNCTION_VALUE}")
    text = text.replace("value: CLASS", f"value: {_CLASS_VALUE}")
    kinds = _DEFINITIONS[language].split()
    nodes = " ".join(f"({kind})" for kind in kinds)
    return f"{text}\n[{nodes}] @definition\n{ERRORS}"


def symbol_names(captured: dict[str, Node]) -> list[str]:
    """Return the name of a symbol, behind the names of what it is assigned to.

    Args:
        captured: What the query of the language captured of it.
    """
    names = _names_of(captured)
    body = captured.get("body")
    if body is not None and names in _UNNAMED:
        names = _own_name(body) or names
    return names or ["default"]


def owner_names(captured: dict[str, Node]) -> list[str]:
    """Return the names of what symbols lie in; none for the file itself."""
    names = _names_of(captured)
    if not names or names == ["exports"]:
        return []
    last = names[-1]
    without_types = last.partition("<")[0]
    return [*names[:-1], without_types]


def _names_of(captured: dict[str, Node]) -> list[str]:
    """Return the name of a definition, behind the names of what it is assigned to."""
    names = list[str]()
    if "target" in captured:
        names = _target_names(captured["target"])
    if "name" in captured:
        name = _name_text(captured["name"])
        names.append(name)
    while len(names) > 1 and names[0] in _THIS:
        names.pop(0)
    return names


def _target_names(target: Node) -> list[str]:
    """Return the names in a target such as `A.prototype.go`: A and go.

    What stands for the file or for the object itself is left out.
    """
    names = list[str]()
    node: Node | None = target
    while node is not None and len(names) < _DEEPEST:
        holder, field = _PARTS.get(node.type, ("", ""))
        last = node.child_by_field_name(field) if field else node
        if last is None:
            break
        name = _name_text(last)
        names.append(name)
        node = node.child_by_field_name(holder) if holder else None
    names.reverse()
    return [name for name in names if name != "prototype"]


def _own_name(body: Node) -> list[str]:
    """Return the name that a function or a class has itself, none for none."""
    value = body.parent
    if value is None:
        return []
    name = value.child_by_field_name("name")
    if name is None:
        return []
    return [_name_text(name)]


def _name_text(node: Node) -> str:
    """Return a name without quotes, on one line."""
    source = node.text or b""
    text = source.decode("utf-8", "replace")
    unquoted = text.strip("\"'`")
    return folded(unquoted)[:_NAME]


def shown_lines(nodes: list[Node]) -> str:
    """Return how many nodes there are, and the lines of the first."""
    numbers = [node.start_point[0] + 1 for node in nodes]
    first_numbers = map(str, numbers[:_SHOWN_LINES])
    shown = ", ".join(first_numbers)
    n_nodes = len(numbers)
    n_more = n_nodes - _SHOWN_LINES
    if n_more > 0:
        shown = f"{shown} and {n_more} more"
    return f"{n_nodes}, in line {shown}"
