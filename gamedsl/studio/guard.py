"""The guard of the studio: every request passes here first.

The studio listens on this machine. Other sites that a browser has open could still send it
requests, or have a name of theirs lead to it (DNS rebinding). So the `Host` must be the studio's
own, whatever changes something must come from a page of the studio (`Origin`), and no other site
may load anything. Pages need the studio's token, which the address that the command prints brings,
and a cookie keeps. A seat's page needs the token of that seat, which is part of its address, and
opens nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from secrets import compare_digest, token_urlsafe
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

FREE = ("/seat/", "/static/")
"""Paths that need no cookie: a seat's address has a token of its own."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The content that a page may have: the studio's own files, and nothing written into the page."""

HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

SAFE = ("GET", "HEAD")


def new_token() -> str:
    """Returns a token that nobody guesses: 192 random bits."""
    return token_urlsafe(24)


class Guard:
    """Lets requests through to `app`, or refuses them; adds the headers that pages need.

    `hosts` are what a `Host` header may be, and `token` opens the pages. `cookie` is the cookie's
    name, which differs by port, since cookies do not.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], token: str, cookie: str) -> None:
        self._app, self._token, self.cookie = app, token, cookie
        self._hosts = frozenset(hosts)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(Request(scope))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("content-security-policy", PAGE_POLICY)
            await send(message)

        if refusal is None:
            await self._app(scope, receive, with_headers)
        else:
            answer = PlainTextResponse(refusal + "\n", status_code=403)
            await answer(scope, receive, with_headers)

    def _refusal(self, request: Request) -> str | None:
        """Returns why a request is refused; None for one that is let through."""
        headers, path = request.headers, request.url.path
        if headers.get("host", "") not in self._hosts:
            return "This host is not the studio's. Open the address that the command printed."
        if request.method not in SAFE and headers.get("origin") not in self._origins:
            return "Another site sent this request. Use the pages of the studio."
        if _is_foreign(headers):
            return "Another site asked for this. Open the studio in a tab of its own."
        if path.startswith(FREE) or self.is_owner(request):
            return None
        if path == "/" and self._is_token(request.query_params.get("token", "")):
            return None
        return "The token is missing. Open the address that `gamedsl studio` printed."

    def is_owner(self, request: Request) -> bool:
        """Whether a request has the studio's cookie."""
        try:
            cookie = SimpleCookie(request.headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return cookie is not None and self._is_token(cookie.value)

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(), self._token.encode())


def _is_foreign(headers: Headers) -> bool:
    """Whether a browser says that another site loads a part of a page: links to pages are no such
    part."""
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    return (
        headers.get("sec-fetch-mode") != "navigate" or headers.get("sec-fetch-dest") != "document"
    )
