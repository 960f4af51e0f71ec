"""The notebooks in a real browser: they run in JupyterLab, and the sliders work there and in Voila, by keyboard."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from theorex_lab.cli.research import EXPLORER_NOTEBOOK, _voila, lab
from theorex_lab.errors import TheorexError

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
MILLISECONDS = 1_000
SETTLED_SECONDS = 5
MOST_CLICKS = 10
LONGEST_SECONDS = 180  # a busy machine is slow: nothing is ever waited for that long unless it does not come

# Tests of one group share a process, and so the servers.
pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.filterwarnings("default:.* is tried again")]

IDLE = ".jp-Notebook-ExecutionIndicator[data-status='idle']"
ERRORS = "[data-mime-type='application/vnd.jupyter.stderr']"  # of a cell that failed too
STATUS = "p[role='status']"
# What stands before each cell of code: [ ]: unless it ran, [*]: while it runs or waits, then its number.
PROMPTS = "() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(each => each.textContent.trim())"


class Lost(AssertionError):
    """What a page was asked to do has not come."""


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
    "notebook-extension/tracker": {"windowingMode": "none"},  # every cell is in the page, in view or not
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


def _environment(home: Path) -> dict[str, str]:
    """The user's own Jupyter settings stay out; ours ask for nothing from the network."""
    for name, values in SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(values))
    folders = {f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    more = {"JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "IPYTHONDIR": str(home / "ipython")}
    # The memory of who runs the tests stays out too.
    return {**os.environ, **folders, **more, "THEOREX_HOME": str(home / "memory")}


@contextmanager
def served(home: Path, *options: str) -> Iterator[str]:
    """The address that `theorex lab` prints, with its token, while it runs on copies of the notebooks."""
    command = [sys.executable, "-m", "theorex_lab", "lab", "--no-browser", "--port", str(_free_port())]
    command += ["--folder", str(home / "notebooks"), *options]
    log = home / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, env=_environment(home), cwd=home, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        found = _wait_for(
            lambda: re.search(r"(http://localhost:\S+token=\w+)\s", log.read_text(errors="replace")),
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
def jupyterlab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    home = tmp_path_factory.mktemp("jupyterlab")
    # In a container all runs as root, which JupyterLab wants to hear.
    with served(home, "--", "--allow-root") as address:
        yield address, home / "notebooks"


@contextmanager
def opened(browser: Any, address: str, picture: Path) -> Iterator[Any]:
    """The page; of a test that fails a screenshot stays behind."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(LONGEST_SECONDS * MILLISECONDS)
    try:
        page.goto(address)
        yield page
    except BaseException:
        page.screenshot(path=picture)
        raise
    finally:
        page.close()


@contextmanager
def notebook(browser: Any, jupyterlab: tuple[str, Path], name: str, picture: Path) -> Iterator[tuple[Any, Path]]:
    """The page of a notebook in which every cell has run, and the file that it was saved to; its kernel ends with it.

    JupyterLab, Chromium and the sockets between them lose a message now and then, without a word. A page whose cells
    do not come to an end is opened again, up to twice, and a warning tells; what a test does afterwards it does once.
    """
    address, folder = jupyterlab
    file = folder / name
    token = parse_qs(urlsplit(address).query)["token"][0]
    server = f"http://{urlsplit(address).netloc}"
    with httpx.Client(base_url=server, headers={"Authorization": f"token {token}"}, timeout=LONGEST_SECONDS) as client:

        def kernels() -> list[dict[str, Any]]:
            return [each for each in client.get("/api/sessions").json() if each["path"] == name]

        def end_kernels() -> None:
            for each in kernels():
                client.delete(f"/api/sessions/{each['id']}")

        @contextmanager
        def run() -> Iterator[Any]:
            shutil.copy(NOTEBOOKS / name, file)
            # A workspace of its own, so that no other notebook is opened again beside it.
            with opened(browser, f"{server}/lab/workspaces/{name[:2]}/tree/{name}?token={token}", picture) as page:
                page.wait_for_selector(IDLE)
                _run_all(page, lambda: [each["kernel"]["execution_state"] for each in kernels()])
                _click(page, "File", "Save Notebook")
                _until(page, lambda: _saved(file), f"{name} saved with every cell run")
                yield page

        with ExitStack() as stack:
            stack.callback(end_kernels)
            yield _first_that_ran(stack, run, end_kernels), file


def _first_that_ran(stack: ExitStack, run: Callable[[], Any], end_kernels: Callable[[], None]) -> Any:
    """The page of the first of three runs whose cells came to an end."""
    from playwright.sync_api import TimeoutError as PageTimeout

    for left in (2, 1, 0):
        try:
            return stack.enter_context(run())
        except (Lost, PageTimeout) as error:
            if not left:
                raise
            end_kernels()
            warnings.warn(f"the notebook is tried again: {str(error).splitlines()[0]}", stacklevel=2)


def _until(page: Any, found: Callable[[], Any], what: str, *, pause: float = 0.2) -> None:
    """Look until it is so, while the page goes on."""
    end = time.monotonic() + LONGEST_SECONDS
    while not found():
        if time.monotonic() > end:
            raise Lost(f"waited {LONGEST_SECONDS} s in vain: {what}")
        page.wait_for_timeout(pause * MILLISECONDS)


def _click(page: Any, menu: str, item: str) -> None:
    page.click(f'.lm-MenuBar-itemLabel:text-is("{menu}")')
    page.click(f'.lm-Menu-itemLabel:text-is("{item}")')


def _run_all(page: Any, states: Callable[[], list[str]]) -> None:
    """Run every cell from the menu, until each has its number; one that fails, after which the rest is not run, is told.

    The page says idle before it has taken over its kernel, and drops what is run until then: a page in which nothing
    runs and nothing changes for some seconds is asked again.
    """
    seen: Any = None
    since = asked = time.monotonic()
    clicks = 0
    while True:
        assert page.locator(ERRORS).all_inner_texts() == []
        now, prompts = time.monotonic(), page.evaluate(PROMPTS)
        if prompts and all(re.fullmatch(r"\[\d+\]:?", each) for each in prompts):
            break
        if seen != (seen := (prompts, states())):
            since = now
        if now - since > LONGEST_SECONDS or clicks == MOST_CLICKS:
            raise Lost(f"the cells do not end after {clicks} clicks, the kernel is {seen[1]}: {' '.join(prompts)}")
        if seen[1] == ["idle"] and now - max(since, asked) > SETTLED_SECONDS:
            _click(page, "Run", "Run All Cells")
            asked, clicks = time.monotonic(), clicks + 1
        page.wait_for_timeout(MILLISECONDS)
    page.wait_for_selector(IDLE)


def _saved(file: Path) -> bool:
    try:
        return all(cell["execution_count"] for cell in _code(file))
    except ValueError:  # just being written
        return False


def _closed_without_token(address: str, path: str) -> bool:
    """Whether a path of the server answers 403, or leads to the page that asks for the token."""
    answer = httpx.get(f"http://{urlsplit(address).netloc}{path}")
    return answer.status_code == 403 or (answer.status_code == 302 and "login" in answer.headers["location"])


def _code(file: Path) -> list[Any]:
    return [cell for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]


def _outputs(file: Path) -> list[Any]:
    return [output for cell in _code(file) for output in cell["outputs"]]


def _no_error(outputs: list[Any]) -> None:
    assert [output for output in outputs if output["output_type"] == "error"] == []
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []


def _picture(page: Any) -> bytes:
    """The bytes of the widget's picture; none where there is no picture now."""
    numbers = page.evaluate(
        """async () => {
            const image = document.querySelector("img.widget-image");
            // A picture that is just being replaced has an address that is gone.
            const answer = image && image.src ? await fetch(image.src).catch(() => null) : null;
            return answer ? [...new Uint8Array(await answer.arrayBuffer())] : [];
        }"""
    )
    return bytes(numbers)


def _shown(page: Any) -> bytes:
    """The picture once it is there: it comes after the text."""
    _until(page, lambda: _picture(page).startswith(b"\x89PNG"), "a picture")
    return _picture(page)


def _move_half_life(page: Any) -> None:
    """Steps to the right by keyboard: the counts and the picture follow."""
    status = page.locator(STATUS)
    status.scroll_into_view_if_needed()
    before, picture = status.inner_text(), _shown(page)
    assert "(half-life 14.0 days)" in before
    handle = page.locator(".widget-slider .noUi-handle").first
    handle.focus()
    for _ in range(12):
        handle.press("ArrowRight")

    def counts(text: str) -> list[str]:
        return re.findall(r"[A-Z]+ \d+", text)

    _until(page, lambda: counts(status.inner_text()) != counts(before), f"other counts than {before}")
    assert float(re.findall(r"half-life ([\d.]+) days", status.inner_text())[0]) > 14
    _until(page, lambda: _picture(page) not in (picture, b""), "another picture")
    assert page.locator(ERRORS).count() == 0


def test_the_quickstart_runs_in_jupyterlab(browser: Any, jupyterlab: tuple[str, Path], tmp_path: Path) -> None:
    assert _closed_without_token(jupyterlab[0], "/api/contents")
    with notebook(browser, jupyterlab, "00_quickstart.ipynb", tmp_path / "quickstart.png") as (page, file):
        assert page.locator(ERRORS).count() == 0
        outputs = _outputs(file)
        _no_error(outputs)
        assert sum("image/png" in output.get("data", {}) for output in outputs) >= 4


def test_the_sliders_of_the_tuning_notebook_move_by_keyboard(
    browser: Any, jupyterlab: tuple[str, Path], tmp_path: Path
) -> None:
    with notebook(browser, jupyterlab, "01_decay_tuning.ipynb", tmp_path / "tuning.png") as (page, file):
        _no_error(_outputs(file))
        _move_half_life(page)


def test_the_choices_of_the_matrix_notebook_follow_its_sliders_and_its_task(
    browser: Any, jupyterlab: tuple[str, Path], tmp_path: Path
) -> None:
    with notebook(browser, jupyterlab, "02_confidence_matrix.ipynb", tmp_path / "matrix.png") as (page, file):
        _no_error(_outputs(file))
        choices, reasons = page.locator(STATUS).nth(0), page.locator(STATUS).nth(1)
        choices.scroll_into_view_if_needed()
        assert choices.inner_text().endswith("general: rules. Flipped: nothing.")
        picture = _shown(page)
        handle = page.locator(".widget-slider .noUi-handle").first
        handle.focus()
        for _ in range(8):
            handle.press("ArrowRight")
        weights = page.locator(".widget-slider .widget-readout")
        _until(page, lambda: weights.all_inner_texts()[:2] == ["1.00", "0.00"], "the weights at their ends")
        flipped = "Flipped: general: rules → smollm2-135m greedy."
        _until(page, lambda: choices.inner_text().endswith(flipped), flipped)
        _until(page, lambda: _picture(page) not in (picture, b""), "another picture")
        assert reasons.inner_text().startswith("code → rules")
        page.locator(".widget-text input").fill("What is 17 * 23?")
        page.keyboard.press("Enter")
        page.wait_for_function(
            "selector => document.querySelectorAll(selector)[1].textContent.startsWith('math → rules')", arg=STATUS
        )
        assert page.locator(ERRORS).count() == 0


def test_a_failure_is_labelled_by_keyboard_and_stands_in_the_export(
    browser: Any, jupyterlab: tuple[str, Path], tmp_path: Path
) -> None:
    def press(button: str, then: str) -> None:
        page.locator(f"button.jupyter-button:text-is('{button}')").focus()
        page.keyboard.press("Space")
        page.wait_for_function(
            "([selector, then]) => document.querySelector(selector).textContent.includes(then)", arg=[STATUS, then]
        )

    with notebook(browser, jupyterlab, "03_failure_review.ipynb", tmp_path / "failures.png") as (page, file):
        _no_error(_outputs(file))
        page.locator(STATUS).scroll_into_view_if_needed()
        picture = _shown(page)
        failure, kind, step = (page.locator(".widget-dropdown select").nth(place) for place in range(3))
        kind.select_option("no_answer")
        step.select_option("0")
        page.locator(".widget-text input").first.fill("it asked instead of working")
        page.keyboard.press("Tab")
        press("Label", "Labelled as no_answer at step 0. 1 of ")
        _until(page, lambda: failure.locator("option").first.inner_text().startswith("✓"), "a mark at the failure")
        _until(page, lambda: _picture(page) not in (picture, b""), "the picture of the next failure")
        press("Export", "Labels in failure_labels.jsonl: 1.")
        (label,) = map(json.loads, file.with_name("failure_labels.jsonl").read_text(encoding="utf-8").splitlines())
        said = [label[member] for member in ("label_class", "label_step", "note")]
        assert said == ["no_answer", 0, "it asked instead of working"]
        press("Undo", "Taken back: no_answer at step 0. 0 of ")
        assert page.locator(ERRORS).count() == 0


def test_voila_serves_the_tuning_notebook_and_its_sliders_move(browser: Any, tmp_path: Path) -> None:
    if find_spec("voila") is None:
        pytest.skip("voila is not installed")
    with served(tmp_path, "--voila") as address, opened(browser, address, tmp_path / "voila.png") as page:
        assert _closed_without_token(address, "/")
        page.wait_for_selector(STATUS)
        _move_half_life(page)
        text = page.inner_text("body")
        assert "There was an error" not in text
        assert "decay_explorer(" not in text


def test_without_voila_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "voila", None)
    with pytest.raises(TheorexError, match=r"^Voila is not installed; install it with: pip install voila.*$"):
        lab.main(["--voila"], standalone_mode=False)


def test_voila_is_made_to_ask_for_a_token(tmp_path: Path) -> None:
    assert _voila(tmp_path, 8_866)[1:] == ["-m", "voila", str(tmp_path / EXPLORER_NOTEBOOK), "--token", "--port=8866"]
