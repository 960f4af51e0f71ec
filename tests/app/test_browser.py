"""The notebooks in a real browser: they run in JupyterLab, and the sliders work there,
by keyboard.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import nbformat
import pytest
from conftest import reads_data
from lab_page import ERRORS, EXPOSED, LONGEST_SECONDS, MILLISECONDS, LabPage, until
from nbformat.v4 import new_code_cell, new_notebook
from notebook_outputs import differences, environment, make_fit
from warm_kernels import warm_kernels

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]

# Tests of one group share a process, and so the servers. All tests of notebooks are in
# this file: a browser and a server cost as much as two notebooks.
pytestmark = pytest.mark.xdist_group("browser")

SESSIONS = "**/api/sessions*"
STATUS = "p[role='status']"
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium on this machine")
    if find_spec("playwright") is None:
        pytest.skip("playwright is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield running
        running.close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


SETTINGS: dict[str, dict[str, Any]] = {
    "notebook-extension/tracker": {
        "windowingMode": "none"
    },  # every cell is in the page, in view or not
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


def _environment(home: Path) -> dict[str, str]:
    """The user's own settings stay out; ours ask for nothing from the network."""
    for name, values in SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(values))
    folders = {
        f"JUPYTER_{name}_DIR": str(home / name.lower())
        for name in ("CONFIG", "DATA", "RUNTIME")
    }
    more = {
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "IPYTHONDIR": str(home / "ipython"),
    }
    # That a set of data has a licence is no error of a notebook.
    more["PYTHONWARNINGS"] = "ignore:locomo,ignore:precisionmembench"
    if "THEOREX_DATA" in os.environ:
        more["THEOREX_DATA"] = os.environ["THEOREX_DATA"]
    return environment(home) | folders | more


@contextmanager
def served(home: Path, variables: dict[str, str], *options: str) -> Iterator[str]:
    """The address that `theorex lab` prints, with its token, while it runs on copies of
    the notebooks.
    """
    command = [
        sys.executable,
        "-m",
        "theorex_lab",
        "lab",
        "--no-browser",
        "--port",
        str(_free_port()),
    ]
    command += ["--folder", str(home / "notebooks"), *options]
    log = home / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            env=variables,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        found = _wait_for(
            lambda: re.search(
                r"(http://localhost:\S+token=\w+)\s", log.read_text(errors="replace")
            ),
            lambda: server.poll() is None,
        )
        assert found, log.read_text(errors="replace")
        yield found[1]
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(LONGEST_SECONDS)


def _wait_for(found: Callable[[], Any], alive: Callable[[], bool]) -> Any:
    end = time.monotonic() + LONGEST_SECONDS
    while not (result := found()) and alive() and time.monotonic() < end:
        time.sleep(0.2)
    return result


@pytest.fixture(scope="module")
def jupyterlab(
    browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    home = tmp_path_factory.mktemp("jupyterlab")
    variables = _environment(home)
    with warm_kernels(tmp_path_factory.mktemp("kernels"), variables) as kernels:
        # In a container all runs as root, which JupyterLab wants to hear.
        options = ["--", "--allow-root", EXPOSED]
        with served(home, variables | kernels, *options) as address:
            yield address, home / "notebooks"


class Pages:
    """The page in which notebooks are opened one after another.

    To start JupyterLab in a new page takes longer than to open one more notebook. After
    a failure the page is given up, so that no other test meets what it left.
    """

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.open_page: Any = None

    @contextmanager
    def page(self, picture: Path) -> Iterator[Any]:
        """The page that is open, else a new one; of a test that fails a screenshot
        stays behind.
        """
        page = self.open_page or self._new_page()
        self.open_page = None
        try:
            yield page
        except BaseException:
            try:
                page.screenshot(path=picture)
            finally:
                page.close()
            raise
        self.open_page = page

    def _new_page(self) -> Any:
        page = self.browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(LONGEST_SECONDS * MILLISECONDS)
        return page


@pytest.fixture(scope="module")
def pages(browser: Any) -> Pages:
    return Pages(browser)


@pytest.fixture
def marked_notebook(
    request: pytest.FixtureRequest,
    pages: Pages,
    jupyterlab: tuple[str, Path],
    tmp_path: Path,
) -> AbstractContextManager[tuple[Any, Path]]:
    """The notebook that a test is marked with, yet to be run."""
    (name,) = request.node.get_closest_marker("runs_notebook").args
    return notebook(pages, jupyterlab, name, tmp_path / f"{name}.png")


@contextmanager
def notebook(
    pages: Pages, jupyterlab: tuple[str, Path], name: str, picture: Path
) -> Iterator[tuple[Any, Path]]:
    """The page of a notebook in which every cell has run, and the file that it was
    saved to.

    What it prints is compared with what is committed where it reads no other data: see
    `pytest_collection_modifyitems`, which then leaves out the same comparison in
    tests/docs.
    """
    file = jupyterlab[1] / name
    file.write_text(_without_outputs(NOTEBOOKS / name), encoding="utf-8")
    with open_notebook(pages, jupyterlab, file, picture) as lab_page:
        lab_page.run_all()
        lab_page.click("File", "Save Notebook")
        until(lab_page.page, lambda: _saved(file), f"{name} saved with every cell run")
        if not reads_data(NOTEBOOKS / name):
            _compare(NOTEBOOKS / name, file)
        yield lab_page.page, file


def _compare(committed: Path, saved: Path) -> None:
    """Refuse a saved notebook that prints anything but what is committed."""
    ran = nbformat.read(saved, as_version=4)
    make_fit(ran, str(saved.parent))
    changes = differences(committed, ran)
    assert not changes, "\n".join(changes)


def _without_outputs(file: Path) -> str:
    """Return a notebook as it is before any cell has run."""
    notebook = nbformat.read(file, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    return nbformat.writes(notebook)


@contextmanager
def open_notebook(
    pages: Pages,
    jupyterlab: tuple[str, Path],
    file: Path,
    picture: Path,
    kind: type[LabPage] = LabPage,
) -> Iterator[LabPage]:
    """A notebook in which nothing has run; its kernel ends with it. A failure tells
    what the kernel said.
    """
    address = urlsplit(jupyterlab[0])
    server = f"http://{address.netloc}"
    token = parse_qs(address.query)["token"][0]
    try:
        with pages.page(picture) as page:
            lab_page = kind(page)
            try:
                lab_page.open(server, file.name, token)
                yield lab_page
            except Exception as error:
                error.add_note(lab_page.evidence())
                raise
            lab_page.leave()
    finally:
        _end_kernels(server, token, file.name)


def _end_kernels(server: str, token: str, name: str) -> None:
    with httpx.Client(
        base_url=server,
        headers={"Authorization": f"token {token}"},
        timeout=LONGEST_SECONDS,
    ) as client:
        for session in client.get("/api/sessions").json():
            if session["path"] == name:
                client.delete(f"/api/sessions/{session['id']}")


def _saved(file: Path) -> bool:
    try:
        return all(cell["execution_count"] for cell in _code(file))
    except ValueError:  # just being written
        return False


def _closed_without_token(address: str, path: str) -> bool:
    """Whether a path of the server answers 403, or leads to the page that asks for the
    token.
    """
    answer = httpx.get(f"http://{urlsplit(address).netloc}{path}")
    return answer.status_code == 403 or (
        answer.status_code == 302 and "login" in answer.headers["location"]
    )


def _code(file: Path) -> list[Any]:
    return [
        cell
        for cell in json.loads(file.read_text())["cells"]
        if cell["cell_type"] == "code"
    ]


def _outputs(file: Path) -> list[Any]:
    return [output for cell in _code(file) for output in cell["outputs"]]


def _no_error(outputs: list[Any]) -> None:
    assert [output for output in outputs if output["output_type"] == "error"] == []
    assert [
        output["text"] for output in outputs if output.get("name") == "stderr"
    ] == []


def _picture(page: Any) -> bytes:
    """The bytes of the widget's picture; none where there is no picture now."""
    # One text, since a list of numbers takes the browser's driver longer than the page.
    encoded = page.evaluate(
        """async () => {
            const image = document.querySelector("img.widget-image");
            // A picture that is just being replaced has an address that is gone.
            const answer = image && image.src ? await fetch(image.src).catch(() => null) : null;
            const bytes = answer ? new Uint8Array(await answer.arrayBuffer()) : [];
            return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
        }"""
    )
    return base64.b64decode(encoded)


def _shown(page: Any) -> bytes:
    """The picture once it is there: it comes after the text."""
    until(page, lambda: _picture(page).startswith(b"\x89PNG"), "a picture")
    return _picture(page)


def _move_half_life(page: Any) -> None:
    """Steps to the right by keyboard: the line and the picture follow."""
    status = page.locator(STATUS)
    status.scroll_into_view_if_needed()
    before = status.inner_text()
    picture = _shown(page)
    assert "(half-life 14.0 days)" in before
    handle = page.locator(".widget-slider .noUi-handle").first
    handle.focus()
    for _ in range(12):
        handle.press("ArrowRight")

    until(page, lambda: status.inner_text() != before, f"other words than {before}")
    assert float(re.findall(r"half-life ([\d.]+) days", status.inner_text())[0]) > 14
    # The line says what becomes of the context, and the lists name the items.
    assert re.search(r"Gained \d+, of which \d+ w|Nothing changes", before)
    titles = page.locator("details summary").all_inner_texts()
    assert [title.split(":")[0] for title in titles] == [
        "Gained",
        "Lost",
        "In the context",
    ]
    until(page, lambda: _picture(page) not in (picture, b""), "another picture")
    assert page.locator(ERRORS).count() == 0


class LateKernel(LabPage):
    """A page whose kernel is started only once it was asked whether there is one."""

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self.held: list[Any] = []
        page.route(SESSIONS, self._hold)

    def state(self) -> dict[str, Any]:
        found = super().state()
        while self.held and found["kernel"] == "initializing":
            self.held.pop().continue_()
        return found

    def leave(self) -> None:
        super().leave()
        self.page.unroute(SESSIONS, self._hold)

    def _hold(self, route: Any) -> None:
        if route.request.method == "POST":
            self.held.append(route)
        else:
            route.continue_()


def test_a_notebook_is_run_once_and_only_when_its_kernel_is_there(
    pages: Pages, jupyterlab: tuple[str, Path], tmp_path: Path
) -> None:
    file = jupyterlab[1] / "late.ipynb"
    cells = [
        new_code_cell(code, id=name)
        for name, code in (("sum", "total = 17 * 23"), ("told", "print(total)"))
    ]
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), file)
    with open_notebook(
        pages, jupyterlab, file, tmp_path / "late.png", LateKernel
    ) as lab_page:
        until(lab_page.page, lambda: lab_page.held, "the wish for a kernel")
        lab_page.run_all()
        assert [(cell["id"], cell["number"]) for cell in lab_page.state()["cells"]] == [
            ("sum", 1),
            ("told", 2),
        ]
        ran, told = lab_page.evidence().splitlines()[1:3]
    answers = {"status busy", "execute_input 1", "execute_reply ok 1", "status idle"}
    assert ran.startswith("[1]: sum: sent; ")
    assert set(ran.removeprefix("[1]: sum: sent; ").split(", ")) == answers
    assert "stream" in told
    assert "again" not in ran + told


@pytest.mark.runs_notebook("00_quickstart.ipynb")
def test_the_quickstart_runs_in_jupyterlab(
    marked_notebook: AbstractContextManager[tuple[Any, Path]],
    jupyterlab: tuple[str, Path],
) -> None:
    assert _closed_without_token(jupyterlab[0], "/api/contents")
    with marked_notebook as (page, file):
        assert page.locator(ERRORS).count() == 0
        outputs = _outputs(file)
        _no_error(outputs)
        assert sum("image/png" in output.get("data", {}) for output in outputs) >= 3


@pytest.mark.runs_notebook("01_decay_tuning.ipynb")
def test_the_sliders_of_the_tuning_notebook_move_by_keyboard(
    marked_notebook: AbstractContextManager[tuple[Any, Path]],
) -> None:
    with marked_notebook as (page, file):
        _no_error(_outputs(file))
        _move_half_life(page)


@pytest.mark.runs_notebook("02_confidence_matrix.ipynb")
def test_the_choices_of_the_matrix_notebook_follow_its_sliders(
    marked_notebook: AbstractContextManager[tuple[Any, Path]],
) -> None:
    with marked_notebook as (page, file):
        _no_error(_outputs(file))
        choices = page.locator(STATUS)
        choices.scroll_into_view_if_needed()
        page.locator(".widget-dropdown select").first.select_option(
            "recorded local runs"
        )
        until(
            page,
            lambda: "general: rules. Flipped: nothing." in choices.inner_text(),
            "the choices of the recording",
        )

        def move(slider: int, arrow: str, times: int, then: str) -> None:
            """Move a slider of those in view by keyboard: line and picture follow."""
            picture = _shown(page)
            handle = page.locator(".widget-slider .noUi-handle").nth(slider)
            handle.focus()
            for _ in range(times):
                handle.press(arrow)
            until(page, lambda: then in choices.inner_text(), then)
            until(
                page,
                lambda: _picture(page) not in (picture, b""),
                f"another picture after slider {slider}",
            )

        move(0, "ArrowLeft", 2, "Flipped: general: rules → smollm2-135m greedy.")
        assert (
            page.locator(".widget-slider .widget-readout").first.inner_text() == "0.90"
        )
        move(
            1, "ArrowRight", 19, "code: heuristic"
        )  # from five runs to one more than it has
        move(1, "ArrowRight", 1, "math: heuristic")
        assert page.locator(ERRORS).count() == 0


@pytest.mark.runs_notebook("03_failure_review.ipynb")
def test_failed_runs_are_stepped_through_and_a_fix_is_kept_in_the_browser(
    marked_notebook: AbstractContextManager[tuple[Any, Path]],
) -> None:
    with marked_notebook as (page, file):
        _no_error(_outputs(file))
        status = page.locator("div[role='status']")
        status.scroll_into_view_if_needed()
        step = page.locator(".widget-html p", has_text=re.compile(r"^Step \d+, "))
        picture = _shown(page)
        before = step.inner_text()
        page.get_by_role("button", name="Next step").press("Enter")
        until(page, lambda: step.inner_text() != before, "the next step")
        until(page, lambda: _picture(page) not in (picture, b""), "another picture")
        keep = page.get_by_role("button", name="Keep this fix")
        assert keep.is_disabled()
        source = page.get_by_label("Source", exact=True)
        source.select_option("your own failures")
        until(page, lambda: "this home recorded" in status.inner_text(), "own failures")
        page.get_by_label("Fix", exact=True).fill("Read the task once more.")
        page.get_by_label("Fix", exact=True).blur()
        keep.press("Enter")
        kept = page.locator(STATUS)
        until(page, lambda: "kept and trusted" in kept.inner_text(), "the kept fix")
        assert page.locator(ERRORS).count() == 0


@pytest.mark.runs_notebook("05_dream_cycles.ipynb")
def test_the_sliders_of_the_dreams_notebook_move_by_keyboard(
    marked_notebook: AbstractContextManager[tuple[Any, Path]],
) -> None:
    with marked_notebook as (page, file):
        _no_error(_outputs(file))
        status = page.locator(STATUS).first
        status.scroll_into_view_if_needed()
        before = status.inner_text()
        picture = _shown(page)
        handle = page.locator(".widget-slider .noUi-handle").first
        handle.focus()
        for _ in range(3):
            handle.press("ArrowRight")
        until(
            page, lambda: status.inner_text() != before, f"another line than {before}"
        )
        assert "12 traces became 12 strategies" in status.inner_text()
        until(page, lambda: _picture(page) not in (picture, b""), "another picture")
        assert page.locator(ERRORS).count() == 0


@pytest.mark.runs_notebook("06_causal_advice.ipynb")
def test_the_widget_of_the_advice_notebook_works_by_keyboard(
    marked_notebook: AbstractContextManager[tuple[Any, Path]],
) -> None:
    with marked_notebook as (page, file):
        _no_error(_outputs(file))
        status = page.locator(STATUS)
        status.scroll_into_view_if_needed()
        assert "half-life 30 days, drift off" in status.inner_text()

        def moved(press: Callable[[], object], then: str) -> None:
            picture = _shown(page)
            press()
            until(page, lambda: then in status.inner_text(), then)
            until(
                page,
                lambda: _picture(page) not in (picture, b""),
                f"another picture: {then}",
            )

        half_life, genes = (
            page.locator(".widget-slider .noUi-handle").nth(place) for place in range(2)
        )
        choice = page.locator(".widget-dropdown select")
        drift = page.locator(".widget-checkbox input")
        moved(
            lambda: choice.select_option(label="by hand"),
            "25 attempts, half-life 30 days",
        )
        moved(lambda: half_life.press("ArrowLeft"), "half-life 7 days")
        moved(lambda: drift.press("Space"), "drift on")
        moved(lambda: [genes.press("ArrowLeft") for _ in range(3)], "among 3 genes")
        assert page.locator(ERRORS).count() == 0


def test_a_cell_that_fails_is_told_at_once_with_what_the_kernel_said(
    pages: Pages, jupyterlab: tuple[str, Path], tmp_path: Path
) -> None:
    file = jupyterlab[1] / "fails.ipynb"
    nbformat.write(
        new_notebook(
            cells=[new_code_cell("1 / 0", id="fails")], metadata={"kernelspec": KERNEL}
        ),
        file,
    )
    with (
        pytest.raises(AssertionError, match=r"^-+\nZeroDivisionError") as failed,
        open_notebook(pages, jupyterlab, file, tmp_path / "fails.png") as lab_page,
    ):
        lab_page.run_all()
    assert "execute_reply error 1" in failed.value.__notes__[0]
    assert (tmp_path / "fails.png").exists()
    assert pages.open_page is None, "no other test meets this page"
