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
    folder = os.path.dirname(module_file)
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        content = file.read()
    lines_of: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in content.split("\n"):
        if line.startswith("["):
            section = line[1:-1]
            lines = lines_of.setdefault(section, [])
            continue
        is_comment = line.startswith("# ")
        if not is_comment:
            lines.append(line)
    texts: dict[str, str] = {}
    for section, lines in lines_of.items():
        text = "\n".join(lines)
        texts[section] = text.strip()
    return texts
