"""Secrets that a server was sent, struck out of all text that comes back from it.

A key comes back as it is, or in a form that servers and proxies give to what they quote: escaped
as in addresses, JSON, HTML or Python, in base64, in other letter case. Each of these is struck out.
A key that a server takes apart on purpose cannot be recognised: it knows the key anyway.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from typing import Any
from urllib.parse import quote, quote_plus

STRUCK = "…"
"""What stands in the place of a secret."""
SHORTEST = 8
"""Characters that a secret has. A shorter key, such as `EMPTY`, fills a place where no key is
needed: struck out of replies it would change words that only look like it."""
QUOTED = 200
"""Characters of a server's text that a message quotes."""
PART = 8
"""Characters of a key that are struck out of a message wherever they stand together: a proxy may
have damaged the rest."""
CUT = 4
"""Characters at the end of a text from which the beginning of a key is struck out: a body that was
cut off may end inside of one."""
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")

_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$")


class Secrets:
    """Values that must not be printed or stored. It prints none of them itself."""

    def __init__(self, *values: str | None) -> None:
        """Values that are None or empty are left out."""
        known = [value for value in values if value]
        self._forms = {form.lower() for value in known for form in _forms(value)}
        self._parts = {
            form[at : at + PART] for form in self._forms for at in range(len(form) - PART + 1)
        }
        self._any = _pattern(known)
        self._long = _pattern([value for value in known if len(value) >= SHORTEST])

    def __repr__(self) -> str:
        return "Secrets(…)"

    def strike(self, text: str) -> str:
        """Returns a reply without secrets. Keys shorter than `SHORTEST` stay."""
        return text if self._long is None else self._long.sub(STRUCK, text)

    def strike_data(self, data: Any) -> Any:
        """Returns JSON data with every text in it struck, keys of objects included."""
        if self._long is None:
            return data
        if isinstance(data, str):
            return self.strike(data)
        if isinstance(data, list):
            return [self.strike_data(one) for one in data]
        if isinstance(data, dict):
            return {self.strike(name): self.strike_data(one) for name, one in data.items()}
        return data

    def quote(self, text: str | bytes, most: int = QUOTED) -> str:
        """Returns the beginning of a server's text for a message: one line of printable characters,
        without any key, however short, or part of one."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text).replace("\\/", "/")
        text = "".join(c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}"
                       for c in text)  # fmt: skip
        line = " ".join(text.split())
        if self._any is not None:
            line = self._strike_parts(self._strike_end(self._any.sub(STRUCK, line)))
        return line if len(line) <= most else line[: most - 1] + "…"

    def _strike_parts(self, line: str) -> str:
        """Returns a text without parts of keys that have at least `PART` characters."""
        small = line.lower() if len(line.lower()) == len(line) else line
        kept, end = [], 0
        for at in range(len(small) - PART + 1):
            if small[at : at + PART] in self._parts:
                if at >= end:
                    kept += [line[end:at], STRUCK]
                end = at + PART
        return "".join([*kept, line[end:]])

    def _strike_end(self, line: str) -> str:
        """Returns a text without the beginning of a key at its end."""
        whole = _CUT_ESCAPE.sub("", line)
        end = whole[-max(map(len, self._forms)) :].lower()
        sizes = (
            size
            for form in self._forms
            for size in range(min(len(form), len(end)), CUT - 1, -1)
            if end.endswith(form[:size])
        )
        cut = max(sizes, default=0)
        return whole[:-cut] + STRUCK if cut else line


def _pattern(values: list[str]) -> re.Pattern[str] | None:
    """Returns what finds all forms of some values, the longest first; None for no values."""
    forms = {form for value in values for form in _forms(value)}
    if not forms:
        return None
    return re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))), re.IGNORECASE)


def _forms(value: str) -> set[str]:
    """Returns a value as it may come back."""
    forms = {
        value, quote(value, safe=""), quote(value), quote_plus(value), html.escape(value),
        json.dumps(value)[1:-1], repr(value)[1:-1], " ".join(value.split()),
    }  # fmt: skip
    if len(value) >= SHORTEST:
        forms |= _in_base64(value)
    return forms


def _in_base64(value: str) -> set[str]:
    """Returns the letters that stand for a value in the base64 of any text with it, by the place
    at which it begins there, without those that its neighbours have a say in."""
    forms = set()
    for before in range(3):
        whole = b64encode(b"\0" * before + value.encode()).decode()
        letters = whole[(before * 8 + 5) // 6 : (before + len(value.encode())) * 8 // 6]
        forms |= {letters, letters.replace("+", "-").replace("/", "_")}
    return forms
