"""Names of ours for the texts of a file that was written elsewhere, and the comment that tells
which text became which name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from gamedsl.sema.scope import NOT_ROLES, WORDS
from gamedsl.storage.characters import blanked

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_WHOLE = re.compile(r"-?[1-9][0-9]{0,8}|0")
_NO_NAMES = {word.lower() for word in (*WORDS, *NOT_ROLES, "null")}
"""Words that no name may be, in any case: YAML reads `True` and `NULL` as `true` and `null`."""

LONGEST = 60
"""Characters of a name: it fits in a line. YAML reads no key of more than 1,024 in a flow map."""

Place = tuple[str, int]
"""A text, and how often it stood in the same list before."""


def places(texts: Iterable[str]) -> Iterator[Place]:
    """The texts of a list, with repeated ones made different."""
    seen: dict[str, int] = {}
    for text in texts:
        yield text, seen.get(text, 0)
        seen[text] = seen.get(text, 0) + 1


def are_numbers(texts: Sequence[str]) -> bool:
    """Whether the options of a decision can stay whole numbers."""
    return len(set(texts)) == len(texts) and all(map(_WHOLE.fullmatch, texts))


def is_name(text: str) -> bool:
    """Whether a text can be the name of a variable."""
    return bool(_NAME.fullmatch(text)) and text == text.lower()


class Names:
    """Gives names that differ from each other. `changed` holds the texts that are no names."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.changed: dict[str, str] = {}

    def of(self, found: Iterable[Place], prefix: str, *, lower: bool = False) -> dict[Place, str]:
        """A name for each text. A text that is a name is kept; `prefix` is put before one that does
        not begin with a letter. Names of roles have no capitals (`lower`)."""
        wanted = list(dict.fromkeys(found))
        keep = {text for text, again in wanted if not again and self._free(text)}
        if lower:
            keep = {text for text in keep if text == text.lower()}
        self.taken |= keep
        names = {(text, 0): text for text in keep}
        for place in wanted:
            if place not in names:
                plain = _identifier(place[0], prefix)
                names[place] = self.new(plain.lower() if lower else plain)
                self.changed[names[place]] = place[0]
        return {place: names[place] for place in wanted}

    def new(self, name: str) -> str:
        """This name, or one like it that is free."""
        number, found = 1, name
        while not self._free(found):
            number += 1
            found = f"{name[: LONGEST - 8]}_{number}"
        self.taken.add(found)
        return found

    def _free(self, name: str) -> bool:
        known = name in self.taken or name.lower() in _NO_NAMES
        return bool(_NAME.fullmatch(name)) and len(name) <= LONGEST and not known

    def comment(self) -> list[str]:
        """Lines that give the text of each name."""
        if not self.changed:
            return []
        pairs = [f"#   {name} = {quoted(text)}" for name, text in self.changed.items()]
        return ["# Names that had to be changed:", *pairs]


def slug(text: str) -> str:
    """A name for a game."""
    return _identifier(text.lower(), "game")[:60].rstrip("_")


def quoted(text: str) -> str:
    """A text in double quotes, on one line, as YAML and JSON have it."""
    import json

    return json.dumps(blanked(text), ensure_ascii=False)


def _identifier(text: str, prefix: str) -> str:
    ascii_only = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    found = re.sub(r"[^A-Za-z0-9]+", "_", ascii_only).strip("_")
    return found if found[:1].isalpha() else f"{prefix}_{found}".rstrip("_")
