"""Read packaged text files of named sections, beside the module that reads them.

Words and sentences are edited as plain text there. A line `[name]` opens a section,
lines from `# ` on are comments; blank lines around a section do not count.
"""

import os
from functools import cache


@cache
def read_sections(module_file: str, name: str) -> dict[str, str]:
    """Return the text of each section of a file, by the name of the section.

    Args:
        module_file: The file of the module, whose folder holds the file of sections.
        name: The name of the file of sections.

    Returns:
        The texts, which are not to be changed.
    """
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    with open(
        os.path.join(os.path.dirname(module_file), name), encoding="utf-8"
    ) as file:
        for line in file.read().split("\n"):
            if line.startswith("["):
                lines = sections.setdefault(line[1:-1], [])
            elif not line.startswith("# "):
                lines.append(line)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}
