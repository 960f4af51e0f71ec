"""What is read of each language, as queries of tree-sitter.

@class, @function and @module are symbols; @owner is a part of the file whose @name
stands before the names of the symbols in it (or, where it lies in a symbol, before that
symbol's); @call and @import count for the innermost symbol around them.
"""

PYTHON = """
(class_definition name: (_) @name body: (_) @body) @class

(function_definition name: (_) @name body: (_) @body) @function

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

(variable_declarator
  name: (identifier) @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
  ]) @function

(field_definition
  property: (_) @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
  ]) @function

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

(internal_module name: (_) @name body: (_) @body) @module

[
  (function_declaration name: (_) @name body: (_) @body)
  (generator_function_declaration name: (_) @name body: (_) @body)
] @function

(method_definition name: (_) @name body: (_) @body) @function

[
  (method_signature name: (_) @name)
  (abstract_method_signature name: (_) @name)
] @function

(variable_declarator
  name: (identifier) @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
  ]) @function

(public_field_definition
  name: (_) @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
  ]) @function

[
  (call_expression function: (_) @call)
  (new_expression constructor: (_) @call)
]

(import_statement source: (_) @import)
"""

GO = """
(type_spec name: (_) @name type: (_) @body) @class

(function_declaration name: (_) @name body: (_) @body) @function

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
] @class

(trait_item name: (_) @name body: (_) @body) @class

(mod_item name: (_) @name body: (_) @body) @module

(function_item name: (_) @name body: (_) @body) @function

(function_signature_item name: (_) @name) @function

(macro_definition name: (_) @name) @function

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

QUERIES = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "go": GO,
    "rust": RUST,
}
