"""A notebook in JupyterLab, run as a user runs it; should something not come, what its
kernel and its page said.
"""

from __future__ import annotations

import json
import re
import struct
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

MILLISECONDS = 1_000
# a busy machine is slow: nothing is ever waited for that long unless it does not come
LONGEST_SECONDS = 180
LAST_MESSAGES = 30  # of those between page and kernel, how many are told

EXPOSED = "--LabApp.expose_app_in_browser=True"  # the page has window.jupyterapp
ERRORS = (  # of a cell that failed too
    "[data-mime-type='application/vnd.jupyter.stderr']"
)
# What JupyterLab holds: the state of its kernel; each cell of code with its number and
# with what stands before it in
# the page, [ ]: unless it ran, [*]: while it runs or waits, then its number.
STATE = """() => {
    const notebook = window.jupyterapp?.shell.currentWidget, session = notebook?.context?.sessionContext;
    const cells = session ? notebook.content.widgets.filter(cell => cell.model.type === "code") : [];
    return {kernel: session?.kernelDisplayStatus ?? "no notebook", cells: cells.map(cell => ({
        id: cell.model.sharedModel.getId(), number: cell.model.executionCount,
        prompt: cell.node.querySelector(".jp-InputPrompt")?.textContent.trim() ?? "not in the page",
    }))};
}"""


class Lost(AssertionError):
    """What a page was asked to do has not come."""


class Message(NamedTuple):
    """One message between a page and a kernel: when, which way, and what it says
    without its code and its pictures.
    """

    seconds: float
    way: str  # "sent" or "came", seen from the page
    kind: str
    id: str
    parent: str
    cell: str  # of a request to run one
    said: str  # a state, a status, a number

    def __str__(self) -> str:
        return f"{self.seconds:8.2f} s  {self.way}  {self.kind} {self.said}".rstrip()


def until(
    page: Any, found: Callable[[], Any], what: str, *, pause: float = 0.2
) -> None:
    """Look until it is so, while the page goes on."""
    end = time.monotonic() + LONGEST_SECONDS
    while not found():
        if time.monotonic() > end:
            raise Lost(f"waited {LONGEST_SECONDS} s in vain: {what}")
        page.wait_for_timeout(pause * MILLISECONDS)


def decoded(frame: bytes, seconds: float, way: str) -> Message:
    """The message in a frame of v1.kernel.websocket.jupyter.org: how many offsets, the
    offsets, then the parts.
    """
    (count,) = struct.unpack_from("<Q", frame)
    parts = [
        frame[start:end]
        for start, end in pairwise(struct.unpack_from(f"<{count}Q", frame, 8))
    ]
    header, parent, metadata, content = map(json.loads, parts[1:5])
    said = [
        str(content[name])
        for name in ("execution_state", "status", "execution_count")
        if name in content
    ]
    kind = header["msg_type"]
    cell = metadata.get("cellId", "")
    return Message(
        seconds,
        way,
        kind,
        header["msg_id"],
        parent.get("msg_id", ""),
        cell,
        " ".join(said),
    )


# The file browser opens a notebook by this command too. What the notebook before holds is
# dropped without a question whether to save it.
OPEN = """async path => {
    await window.jupyterapp.commands.execute("docmanager:open", {path});
}"""
DROP = "() => window.jupyterapp.shell.currentWidget.dispose()"


class LabPage:
    """One notebook in a page of Playwright, which may have shown others before.

    From its making on it writes down what goes over the sockets to kernels, and what
    the page complains of, until the notebook is left.
    """

    def __init__(self, page: Any) -> None:
        self.page = page
        self._began = time.monotonic()
        self._frames: list[tuple[bytes, float, str]] = []
        self._events: list[str] = []
        self._state: dict[str, Any] = {"kernel": "never asked for", "cells": []}
        self._listeners: dict[str, Callable[[Any], None]] = {
            "websocket": self._follow,
            "pageerror": lambda error: self._note(f"the page: {error}"),
            "console": lambda line: (
                self._note(f"the console: {line.text}")
                if line.type == "error"
                else None
            ),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def open(self, server: str, name: str, token: str) -> None:
        """Open a notebook: by its address in a new page, else in the page as it is.

        An address starts all of JupyterLab anew, which takes longer than the notebook.
        """
        if self.page.url.startswith(server):
            self.page.evaluate(OPEN, name)
        else:
            # A workspace of its own, so that no other notebook is opened again beside it.
            workspace = f"{server}/lab/workspaces/{name[:2]}"
            self.page.goto(f"{workspace}/tree/{name}?token={token}")

    def leave(self) -> None:
        """Close the notebook, so that the page can open another."""
        self.page.evaluate(DROP)
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)

    def state(self) -> dict[str, Any]:
        """What JupyterLab holds now: the state of the kernel, and `id`, `number` and
        `prompt` of each cell of code.
        """
        self._state = self.page.evaluate(STATE)
        return self._state

    def click(self, menu: str, item: str) -> None:
        self.page.click(f'.lm-MenuBar-itemLabel:text-is("{menu}")')
        self.page.click(f'.lm-Menu-itemLabel:text-is("{item}")')

    def run_all(self) -> None:
        """Run every cell from the menu, until each has its number; one that fails,
        after which the rest is not run, is told.

        A cell that is run while JupyterLab has no kernel yet is never sent to one, and
        its number never comes. The sign beside the notebook says idle from the start,
        and the server knows of the kernel before the page does; so the page itself is
        asked.
        """
        until(self.page, self._kernel_waits, "a kernel that waits")
        self.click("Run", "Run All Cells")
        before = None
        since = time.monotonic()
        while not self._all_ran():
            self._tell_errors()
            if before != (before := self._state):
                since = time.monotonic()
            if time.monotonic() - since > LONGEST_SECONDS:
                raise Lost(f"for {LONGEST_SECONDS} s no cell has ended")
            self.page.wait_for_timeout(MILLISECONDS)
        self._tell_errors()
        until(self.page, self._kernel_waits, "a kernel that waits again")

    def evidence(self) -> str:
        """What came for each cell that was sent, what JupyterLab held when last asked,
        and the last messages.
        """
        messages = [decoded(*frame) for frame in self._frames]
        cells = [
            f"{cell['prompt']} {cell['id']}: {_answers(cell['id'], messages)}"
            for cell in self._state["cells"]
        ]
        last = [str(message) for message in messages[-LAST_MESSAGES:]]
        return "\n".join(
            [f"kernel: {self._state['kernel']}", *cells, *self._events, *last]
        )

    def _kernel_waits(self) -> bool:
        return self.state()["kernel"] == "idle"

    def _tell_errors(self) -> None:
        errors = self.page.locator(ERRORS).all_inner_texts()
        assert errors == [], "\n".join(errors)

    def _all_ran(self) -> bool:
        """Whether each cell has its number, in the notebook and in the page."""
        cells = self.state()["cells"]
        return bool(cells) and all(
            re.fullmatch(rf"\[{cell['number']}\]:?", cell["prompt"]) for cell in cells
        )

    def _follow(self, socket: Any) -> None:
        if "/channels" not in socket.url:
            return
        self._note("a socket to a kernel was opened")
        socket.on("framesent", lambda frame: self._keep(frame, "sent"))
        socket.on("framereceived", lambda frame: self._keep(frame, "came"))
        socket.on(
            "socketerror",
            lambda error: self._note(f"a socket to a kernel failed: {error}"),
        )
        socket.on("close", lambda _: self._note("a socket to a kernel was closed"))

    def _keep(self, frame: bytes, way: str) -> None:
        self._frames.append((frame, time.monotonic() - self._began, way))

    def _note(self, event: str) -> None:
        self._events.append(f"{time.monotonic() - self._began:8.2f} s  {event}")


def _answers(cell: str, messages: list[Message]) -> str:
    """What came back for each time a cell was sent to be run."""
    requests = [
        each.id
        for each in messages
        if (each.way, each.kind, each.cell) == ("sent", "execute_request", cell)
    ]
    answers = [
        ", ".join(
            f"{each.kind} {each.said}".rstrip()
            for each in messages
            if each.parent == request
        )
        for request in requests
    ]
    return (
        "; again ".join(f"sent; {each or 'nothing came'}" for each in answers)
        or "was never sent"
    )
