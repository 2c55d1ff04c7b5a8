"""The interface of pages: the fields of a form in, a response out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

Form = Mapping[str, str]
"""The fields of a form; empty for a page that is opened."""

Handler = Callable[[Request, Form], Response]
"""Answers a request. Raises Refused, which becomes a page that says why."""

Page = tuple[str, str, Handler]
"""The method and the path of requests, and what answers them."""


def html(text: str) -> HTMLResponse:
    """Returns a page."""
    return HTMLResponse(text)


def see(address: str) -> RedirectResponse:
    """Sends a browser to a page after a form."""
    return RedirectResponse(address, status_code=303)


def prefixed(given: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Returns the fields whose names begin with a prefix, without it and without empty ones."""
    return {
        name.removeprefix(prefix): value
        for name, value in given.items()
        if name.startswith(prefix) and value.strip()
    }


def whole_number(text: str) -> int:
    """Returns a number of a page's address; 0 for what is none."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def move_of(given: Mapping[str, str]) -> int | None:
    """Returns the move at which a play is to be shown, None where none is named."""
    return whole_number(given["move"]) if given.get("move") else None
