"""The page of one's memory in a real browser: by keyboard alone, with hostile texts,
narrow and wide, light and dark.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from faults import opened
from page_check import problems_of
from page_memory import BANK, DECISION, PAGE_TOKEN, RULE, SHOP, remember
from test_rest import running

from theorex_lab import Lab
from theorex_lab.app.server.memory_page.keys import PageKeys

# Tests of one group share a process, and so the browser.
pytestmark = pytest.mark.xdist_group("browser")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
]
MOST_TABS = 200  # until a control has the focus
VIEWS = [
    "briefing",
    "sessions",
    "failures",
    "fading",
    "models",
    "changes",
    "projects",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium on this machine")
    if find_spec("playwright") is None:
        pytest.skip("playwright is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with opened(tmp_path / "home") as lab:
        remember(lab)
        yield lab


class Opened:
    """A page that was opened by a link, and all that it complained of."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        page.on("console", lambda line: self.complaints.append(line.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        page.on("request", self._look_at)

    def _look_at(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.complaints.append(request.url)
        if PAGE_TOKEN in request.url or "?code" in request.url:
            self.complaints.append(request.url)

    def show(self, view: str) -> None:
        link = self.page.locator(f"nav a[href='#{view}']")
        link.click()
        self.page.wait_for_function(
            "(title) => document.getElementById('view-title').textContent === title"
            " && !document.getElementById('view-body').textContent"
            ".includes('Reading the memory')",
            arg=link.inner_text(),
        )

    def line(self, text: str) -> Any:
        return self.page.locator("#view-body [data-item]", has_text=text).first

    def focus(self) -> str:
        """The text of what has the focus."""
        return str(
            self.page.evaluate(
                "() => document.activeElement.innerText || document.activeElement.id"
            )
        )

    def tab_to(self, name: str, *, key: str = "Tab") -> None:
        """Press Tab until a control of that name, or with that id, has the focus."""
        for _ in range(MOST_TABS):
            self.page.keyboard.press(key)
            if self.focus().strip() == name:
                return
        raise AssertionError(f"Tab does not lead to {name}")

    def told(self, words: str) -> None:
        """Wait until the status says so."""
        self.page.locator("#status", has_text=words).wait_for()


@pytest.fixture
def page_of(browser: Any) -> Callable[..., Any]:
    @contextmanager
    def page_of(lab: Lab, *, width: int = 1200, scheme: str = "light") -> Iterator[Any]:
        keys = PageKeys(PAGE_TOKEN)
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        context.set_default_timeout(30_000)
        try:
            with running(lab, keys=keys) as url:
                shown = Opened(context.new_page(), url)
                shown.page.goto(f"{url}/#{keys.new_code()}")
                shown.page.wait_for_selector("#view-body h3")
                yield shown
        finally:
            context.close()

    return page_of


def test_a_link_opens_the_page_and_its_code_is_left_nowhere(
    lab: Lab, page_of: Any
) -> None:
    with page_of(lab) as shown:
        page = shown.page
        assert page.url == f"{shown.url}/"
        page.reload()
        page.wait_for_selector("#view-body h3")
        other = page.context.new_page()
        other.goto(f"{shown.url}/#used-before")
        other.locator("#status", has_text="link was used").wait_for()
        other.fill("#token", "wrong")
        other.keyboard.press("Enter")
        other.locator("#status", has_text="page's token").wait_for()
        other.fill("#token", PAGE_TOKEN)
        other.keyboard.press("Enter")
        other.wait_for_selector("#view-body h3")
        assert shown.complaints == []


def test_hostile_text_is_shown_as_text_and_breaks_nothing(
    lab: Lab, page_of: Any
) -> None:
    with page_of(lab, width=320) as shown:
        page = shown.page
        for view in VIEWS:
            shown.show(view)
            assert problems_of(page) == [], view
            assert page.locator("main img[src='x'], main script").count() == 0
        shown.show("sessions")
        page.locator(".opener").first.click()
        page.locator(".detail", has_text="onerror=alert(1)").wait_for()
        assert "\u202e" not in page.content()
        assert problems_of(page) == []
        page.fill("#query", "escape")
        page.locator("#results-body", has_text="</script>").wait_for()
        page.locator("#results-body button", has_text="Evidence").first.click()
        page.locator("#results-body .stored", has_text="<img").wait_for()
        assert problems_of(page) == []
        assert shown.complaints == [], "no script ran, and the policy was kept"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_can_be_read_and_heard(lab: Lab, page_of: Any, scheme: str) -> None:
    with page_of(lab, scheme=scheme) as shown:
        for view in VIEWS:
            shown.show(view)
            if view == "fading":
                shown.page.wait_for_selector("figure img[alt]")
            assert problems_of(shown.page) == [], view
            current = shown.page.locator("nav a[aria-current='page']")
            assert current.inner_text() == shown.page.inner_text("#view-title")
        assert shown.complaints == []


def test_a_search_a_pin_and_its_undo_need_a_keyboard_alone(
    lab: Lab, page_of: Any
) -> None:
    with page_of(lab) as shown:
        shown.tab_to("query")
        shown.page.keyboard.type("vault keys")
        shown.told("for “vault keys”")
        shown.tab_to("Pin")
        shown.page.keyboard.press("Enter")
        shown.told("Pinned")
        assert shown.focus() == "Unpin", "the focus stays"
        (mark,) = lab.journal.tail(0, kinds=["pinned"])
        assert (mark.body["undo"], mark.body["source"]) == (False, "user")
        shown.page.keyboard.press("Enter")
        shown.told("taken back")
        assert shown.focus() == "Pin"
        assert [
            event.body["undo"] for event in lab.journal.tail(0, kinds=["pinned"])
        ] == [False, True]


def test_a_line_is_corrected_and_dismissed_by_keyboard(lab: Lab, page_of: Any) -> None:
    with page_of(lab) as shown:
        page = shown.page
        shown.line("run the tests").locator("button", has_text="Correct").focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.value") == RULE.rstrip(".")
        page.keyboard.press("Escape")
        assert shown.focus() == "Correct"
        page.keyboard.press("Enter")
        page.keyboard.press("Control+a")
        page.keyboard.type("Run make check before you commit.")
        shown.tab_to("Save")
        page.keyboard.press("Enter")
        shown.told("Corrected")
        assert shown.focus() == "Undo correction"
        assert "make check" in lab.in_project(SHOP).briefing().text
        page.keyboard.press("Enter")
        shown.told("former text")
        shown.line("run the tests").locator("button", has_text="Dismiss").focus()
        page.keyboard.press("Enter")
        shown.told("Dismissed")
        assert shown.focus() == "Undo dismiss"
        assert RULE.rstrip(".") not in lab.in_project(SHOP).briefing().text
        page.keyboard.press("Enter")
        shown.told("shown again")
        assert shown.focus() == "Dismiss"
        assert RULE.rstrip(".") in lab.in_project(SHOP).briefing().text


def test_an_erasure_says_what_goes_and_asks(lab: Lab, page_of: Any) -> None:
    with page_of(lab) as shown:
        page = shown.page
        page.fill("#query", "vault")
        page.locator("#results-body [data-item]").first.wait_for()
        page.locator("#results-body button", has_text="Erase").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog[open]")
        assert shown.focus() == "Keep everything"
        assert "The vault has two keys." in page.inner_text("dialog")
        assert problems_of(page) == []
        page.keyboard.press("Escape")
        shown.told("Nothing was erased")
        assert shown.focus() == "Erase …", "the focus is where it was"
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog[open]")
        shown.tab_to("Erase 1 event")
        page.keyboard.press("Enter")
        page.locator("#results-body", has_text="Nothing found").wait_for()
        assert shown.focus() == "Results"
        assert "vault" not in lab.search("vault", kinds=None).hits
        assert list(lab.journal.tail(0, kinds=["erasure"]))


def test_a_failure_is_trusted(lab: Lab, page_of: Any) -> None:
    with page_of(lab) as shown:
        shown.show("failures")
        item = shown.page.locator(".failures li", has_text=DECISION)
        assert "print(total)" in item.inner_text()
        item.locator("button", has_text="Trust this fix").click()
        shown.told("known fix")
        (trust,) = lab.journal.tail(0, kinds=["confirmed"])
        assert trust.body["observation_id"]


def test_what_is_written_elsewhere_is_there_after_a_reload(
    lab: Lab, page_of: Any
) -> None:
    with page_of(lab) as shown:
        page = shown.page
        second = page.context.new_page()
        second.goto(shown.url)
        second.fill("#token", PAGE_TOKEN)
        second.keyboard.press("Enter")
        second.wait_for_selector("#view-body [data-item]")
        second.locator("button", has_text="Pin").first.click()
        second.locator("#status", has_text="Pinned").wait_for()
        with opened(lab.folder) as elsewhere:  # as a command in a shell does
            shop = elsewhere.in_project(SHOP)
            lines = shop.briefing().lines
            (line,) = [line for line in lines if "Done with" in line.text]
            shop.dismiss(line.id)
        page.click("#reload")
        page.locator(".badge", has_text="Pinned").first.wait_for()
        assert page.locator(f"[data-item='{line.id}']").count() == 0
        shown.show("changes")
        assert page.locator("#view-body li").count() == 2
        page.select_option("#project", BANK)
        page.locator("#view-body", has_text="changed nothing").wait_for()
        shown.show("briefing")
        shown.line("balance").wait_for()
        assert shown.complaints == []


def test_a_server_that_ended_is_told_in_a_sentence(lab: Lab, page_of: Any) -> None:
    with page_of(lab) as shown:
        shown.page.route("**/memory/**", lambda route: route.abort())
        shown.page.click("#reload")
        shown.told("The server does not answer")
