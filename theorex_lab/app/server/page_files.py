"""The files of the pages, and the headers under which browsers may show them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from starlette.responses import FileResponse

_FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
}
# Nothing is loaded from elsewhere, no text becomes code or markup, and no other page
# may hold this one in a frame.
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
PRIVATE: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PAGES = {"/": "index.html", "/api": "api.html"}


def _files() -> dict[str, Path]:
    """Return the files by their paths on the server."""
    files = {path: _FOLDER / name for path, name in _PAGES.items()}
    for suffix in (".css", ".js"):
        for file in sorted(_FOLDER.glob(f"*{suffix}")):
            files[f"/page/{file.name}"] = file
    return files


PAGE_FILES: Mapping[str, Path] = _files()


def page_response(path: str) -> FileResponse:
    """Return the answer with a file of a page."""
    file = PAGE_FILES[path]
    return FileResponse(file, headers=PRIVATE, media_type=_TYPES[file.suffix])
