"""Says what a command loads: each part as it begins, with how long it took the last time.

Times are kept in the user's cache, by the text of the part. Where there is no cache, nothing is
known of the last time.
"""

from __future__ import annotations

import json
import sys
import time

from gamedsl.storage.cache import CacheRefused, own_folder, read_entry, write_entry
from gamedsl.tables.numbers import duration

NAME = "loading.json"
MANY = 200
"""Parts that are remembered, the latest ones."""
WORTH_SAYING = 1.0
"""Seconds from which on a part's last time is said."""


class LoadingTimes:
    """Says the parts that a command loads, on the error stream. A part lasts until the next."""

    def __init__(self) -> None:
        self._times = _read()
        self._part = ""
        self._since = 0.0

    def begin(self, part: str) -> None:
        """Says a part, once, and ends the one before it."""
        if part == self._part:
            return
        self.end()
        self._part, self._since = part, time.monotonic()
        last = self._times.get(part)
        known = f" (last time {duration(last)})" if last and last >= WORTH_SAYING else ""
        print(f"{part}{known}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Ends the part that loads, and keeps how long it took."""
        if not self._part:
            return
        self._times.pop(self._part, None)
        self._times[self._part] = round(time.monotonic() - self._since, 3)
        self._part = ""
        kept = dict(list(self._times.items())[-MANY:])
        try:
            write_entry(own_folder() / NAME, json.dumps(kept).encode())
        except CacheRefused:
            return


def _read() -> dict[str, float]:
    """Returns the times that are kept; none where there are none, or they are not times."""
    try:
        content = read_entry(own_folder() / NAME)
        found = json.loads(content or b"{}")
    except (CacheRefused, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {part: float(s) for part, s in found.items() if isinstance(s, int | float) and s >= 0}
