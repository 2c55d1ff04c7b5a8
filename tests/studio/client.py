"""A studio that runs, and a client that sees nothing but its pages: HTML, forms and links."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Self
from urllib.parse import urlencode, urlsplit

from gamedsl.studio.serving import opened


@contextmanager
def running(*folders: Path, seconds: float = 60.0) -> Iterator[str]:
    """Runs a studio; yields its address with the token."""
    with opened(list(folders), host="127.0.0.1", port=0, seconds=seconds) as found:
        server, listening, address = found
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join(20)


@dataclass
class Form:
    """A form of a page: where it goes, its fields with their values, and its buttons."""

    method: str
    action: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)
    hints: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str, str]] = field(default_factory=list)
    """Name, value and text of each button."""


class Page(HTMLParser):
    """A page as a script may read it."""

    def __init__(self, text: str, status: int, headers: dict[str, str]) -> None:
        super().__init__(convert_charrefs=True)
        self.html, self.status, self.headers = text, status, headers
        self.forms: list[Form] = []
        self.links: list[tuple[str, str]] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self._words: list[str] = []
        self._form: Form | None = None
        self._select = self._area = ""
        self._button = self._label = False
        self._link: str | None = None
        self._hint = ""
        self.feed(text)
        self.text = " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.attributes |= given.keys()
        if tag == "a":
            self._link = given.get("href", "")
            self.links.append((self._link, ""))
        if tag == "label":
            self._label, self._hint = True, ""
        if tag == "form":
            self._form = Form(given.get("method", "get"), given.get("action", ""))
            self.forms.append(self._form)
        form = self._form
        if form is None:
            return
        name = given.get("name", "")
        if tag == "input":
            form.fields[name] = given.get("value", "")
            form.hints[name] = self._hint
        elif tag == "textarea":
            self._area = name
            form.fields[name] = ""
        elif tag == "select":
            self._select = name
            form.choices[name] = []
        elif tag == "option" and self._select:
            form.choices[self._select].append(given.get("value", "\0"))
            if "selected" in given:
                form.fields[self._select] = given.get("value", "")
        elif tag == "button":
            self._button = True
            form.buttons.append((name, given.get("value", ""), given.get("aria-label", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._area = ""
        elif tag == "button":
            self._button = False
        elif tag == "label":
            self._label = False
        elif tag == "a":
            self._link = None

    def handle_data(self, data: str) -> None:
        self._words.append(data)
        if self._label:
            self._hint += data
        if self._link is not None:
            href, text = self.links[-1]
            self.links[-1] = href, text + data
        form = self._form
        if form is None:
            return
        if self._select and form.choices[self._select]:
            if form.choices[self._select][-1] == "\0" and data.strip():
                form.choices[self._select][-1] = data.strip()
        elif self._area:
            form.fields[self._area] += data
        elif self._button:
            name, value, text = form.buttons[-1]
            form.buttons[-1] = name, value, text + data

    def form(self, action: str) -> Form:
        """The first form whose action ends like this."""
        return next(form for form in self.forms if form.action.endswith(action))


class Client:
    """A browser without a screen. With the address that the command prints, it has the cookie."""

    def __init__(self, address: str, *, enter: bool = True) -> None:
        parts = urlsplit(address)
        self.host, self.token = parts.netloc, parts.query.partition("=")[2]
        self._line = HTTPConnection(self.host, timeout=120)
        self.cookies: dict[str, str] = {}
        self.at = "/"
        if enter:
            self.get(f"/?token={self.token}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def get(self, path: str, **headers: str) -> Page:
        place = path.partition("#")[0]  # browsers keep the rest to themselves
        return self.request("GET", place, headers=headers)

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Page:
        return self.request("POST", path, fields, {"Origin": f"http://{self.host}", **headers})

    def request(
        self, method: str, path: str, fields: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Page:  # fmt: skip
        """Sends a request and follows where it leads."""
        sent = dict(headers or {})
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        body = None
        if fields is not None:
            body = urlencode(fields)
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        self._line.request(method, path, body, sent)
        answer = self._line.getresponse()
        text = answer.read().decode()
        found = {name.lower(): value for name, value in answer.getheaders()}
        for morsel in SimpleCookie(found.get("set-cookie", "")).values():
            self.cookies[morsel.key] = morsel.value
        self.at = path
        if answer.status == 303:
            return self.get(found["location"])
        return Page(text, answer.status, found)
