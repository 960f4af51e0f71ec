"""Take the pictures of pages that stand in docs/pictures, with Chromium.

    python tests/helpers/screenshots.py tour memory

`tour` is the page of `theorex tour`, `memory` that of `theorex serve`, both of the small
shop whose sessions docs/first-day.md takes in. Main figures of notebooks need no picture:
the site takes them from the outputs of the notebooks.

Any other page is taken by its address, or by its file:

    python tests/helpers/screenshots.py --page docs/_build/html/docs/index.html \
        --to /tmp/index.png --width 420 --scroll 0
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from doc_references import ROOT
from first_day import Newcomer, Step
from PIL import Image

PICTURES = ROOT / "docs" / "pictures"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
]
WIDTH, HEIGHT = 1200, 800
_SETTLE_MILLISECONDS = 1_000  # a page that draws by a script is ready then


@contextmanager
def opened_page(width: int = WIDTH, height: int = HEIGHT) -> Iterator[Any]:
    """Give an empty page of a browser."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("There is no chromium; install it, such as by apt-get.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser.new_page(viewport={"width": width, "height": height})
        finally:
            browser.close()


def take(page: Any, file: Path) -> None:
    """Write a picture of what a page shows, with 256 colours."""
    page.wait_for_timeout(_SETTLE_MILLISECONDS)
    image = Image.open(io.BytesIO(page.screenshot()))
    few_colours = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    file.parent.mkdir(parents=True, exist_ok=True)
    few_colours.save(file, "PNG", optimize=True)
    print(f"{file}: {file.stat().st_size:,} bytes")


def take_tour(newcomer: Newcomer) -> None:
    """Take the page of `theorex tour`."""
    run(newcomer, "theorex tour --output tour.html")
    with opened_page() as page:
        page.goto((newcomer.repository / "tour.html").as_uri())
        take(page, PICTURES / "tour.png")


def take_memory(newcomer: Newcomer) -> None:
    """Take the page of `theorex serve`, with the token entered where it asks for one."""
    run(newcomer, "theorex import --transcripts ~/.claude/projects --trusted")
    run(newcomer, 'theorex write --type decision "The till rounds each line."')
    run(newcomer, "theorex maintain")
    with serving(newcomer) as info, opened_page() as page:
        page.goto(info.get("page", info["url"]))
        token = Path(info["token_file"]).read_text(encoding="utf-8").strip()
        entry = page.locator("input[type=password]")
        if entry.count() and entry.first.is_visible():
            entry.first.fill(token)
            entry.first.press("Enter")
        take(page, PICTURES / "memory.png")


@contextmanager
def serving(newcomer: Newcomer) -> Iterator[dict[str, Any]]:
    """Run `theorex serve`; give what it says of itself."""
    command = [str(newcomer.programs / "theorex"), "serve", "--port", "0", "--json"]
    with subprocess.Popen(
        command,
        cwd=newcomer.repository,
        env=newcomer.environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def run(newcomer: Newcomer, command: str) -> None:
    """Run a command in the shop; stop where it fails."""
    ended = newcomer.run(Step("", "console", command, ""))
    if ended.returncode:
        raise SystemExit(f"{command} ended with {ended.returncode}:\n{ended.stdout}")


TAKEN = {"tour": take_tour, "memory": take_memory}


def main() -> None:
    """Take the pictures that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TAKEN))
    parser.add_argument("--page", help="an address, or a file")
    parser.add_argument("--to", type=Path, help="the file of the picture")
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--height", type=int, default=HEIGHT)
    parser.add_argument("--scroll", type=int, default=0, help="pixels down")
    options = parser.parse_args()
    for name in options.names:
        if name not in TAKEN:
            parser.error(f"got {name}; allowed are {', '.join(TAKEN)}")
        with tempfile.TemporaryDirectory() as folder:
            programs = Path(sys.executable).parent
            TAKEN[name](Newcomer(Path(folder), programs=programs))
    if options.page:
        address = options.page
        if "://" not in address:
            address = Path(address).resolve().as_uri()
        with opened_page(options.width, options.height) as page:
            page.goto(address)
            page.evaluate(f"window.scrollTo(0, {options.scroll})")
            take(page, options.to)


if __name__ == "__main__":
    main()
