"""What an agent did in a folder of Windows, taken in on another system."""

import pytest

from theorex_lab.core.project import project_of
from theorex_lab.memory import hook_payloads

FOLDER = r"C:\Users\me\shop"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (r"C:\Users\me\shop\src\cache.py", "src/cache.py"),
        (r"c:\users\ME\shop\src\cache.py", "src/cache.py"),
        ("C:/Users/me/shop/src/cache.py", "src/cache.py"),
        (r"src\cache.py", "src/cache.py"),
        ("src/cache.py", "src/cache.py"),
        (r"src\..\cache.py", "cache.py"),
        (r"C:\Users\me\other\a.py", ""),
        (r"..\other\a.py", ""),
        (r"D:\shop\a.py", ""),
        (r"\\server\share\a.py", ""),
        ("/etc/passwd", ""),
    ],
)
def test_paths_are_named_from_the_folder_with_slashes(path: str, shown: str) -> None:
    event = {"tool_name": "Edit", "tool_input": {"file_path": path}, "cwd": FOLDER}
    body = hook_payloads.tool_used(event)
    assert body["paths"]["edited"] == ([shown] if shown else [])
    assert body["project"] == project_of(FOLDER)
    assert body["project"].startswith("shop-")


def test_a_command_names_the_folders_paths_from_it() -> None:
    command = r"python C:\Users\me\shop\tools\run.py D:\secret\a.txt"
    event = {"tool_name": "Bash", "tool_input": {"command": command}, "cwd": FOLDER}
    assert hook_payloads.tool_used(event)["command"].split() == [
        "python",
        r"tools\run.py",
    ]


def test_a_folder_on_a_server_is_a_project_named_by_its_last_part() -> None:
    assert hook_payloads.project({"cwd": r"\\server\share\x"}).startswith("x-")
