"""Settings of Sphinx for the documentation site.

The source folder is the root of the repository, so that a link between files is the same
on a code host and in the site. Build it with

    uv run --group docs sphinx-build -W --keep-going -q -c docs \\
        -d docs/_build/doctrees . docs/_build/html
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from theorex_lab import __version__

project = "theorex_lab"
author = "The theorex_lab authors"
copyright = author  # noqa: A001, RUF100 (the name that Sphinx reads)
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "site_parts",
]

# --- Which files are pages ---
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "notebooks/*.ipynb",
    "datasets/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [
    "docs/_build",
    ".*",
    "**/.ipynb_checkpoints",
    "theorex_lab",
    "tests",
    "benchmarks",
]

# --- Pages and notebooks ---
# The outputs are those that are committed; a test runs the notebooks and compares.
nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

# --- Docstrings ---
# Google style. One backtick stands for code, as in Markdown: site_parts links it where
# it is a public name; tests/docs/test_docstrings.py checks that each name exists.
default_role = "py:obj"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 70
add_module_names = False
toc_object_entries_show_parents = "hide"

# --- References ---
# Each reference must lead somewhere. What has no page of its own is decided, reason by
# reason, in site_parts.resolve_reference; nothing else is excepted.
nitpicky = True

# --- How it looks ---
html_theme = "furo"
html_title = "theorex_lab"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_copy_source = False
smartquotes_action = "D"  # of an argument and what it is: a dash in the place of two
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
# Without the output below a command, and without the number of a notebook's cell.
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"
