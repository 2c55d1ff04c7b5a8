"""`types:` sections, and the texts that name a type wherever one is wanted.

A type is a name (`Card`, `role`, `truth`, `integer`, `text`), a text of so many characters
(`text(80)`), a range, a list of names or numbers, an
expression over params that gives one, `A | B`, `T or none`, `set of T`, `list of T`, `bag of T`, or
a map: `{values: …}`, `{cell: …}`, `{fresh: n}`, `{file: …, take: n}`, or a record of fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.ir.builtins import values as elements
from gamedsl.ir.types import (
    BOOL,
    NUMBER,
    SEAT,
    TEXT,
    WHOLE,
    Bag,
    Enum,
    List,
    Number,
    Option,
    Record,
    Set,
    Text,
    Tuple,
    Type,
    Union,
    cell_type,
    domain,
    join,
    range_type,
    walk_types,
)
from gamedsl.ir.values import name_of
from gamedsl.sema.scope import Namespace, ParamName, TypeName, report_taken
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import constant

WORDS: dict[str, Type] = {
    "role": SEAT, "truth": BOOL, "number": NUMBER, "integer": WHOLE, "text": TEXT,
}  # fmt: skip
"""Types that have a name without being declared."""

FORMS = ("values", "cell", "fresh", "file", "take")
"""Keys that make a map something else than a record."""

MAX_TEXT = 1_000_000
"""Characters that a text may be allowed."""

MAX_VALUES = 4096
"""Values of a declared type."""

_TEXT = re.compile(r"text\((.+)\)\Z", re.DOTALL)
_COLLECTION = re.compile(r"(set|list|bag)\s+of\s+")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def part_of(scalar: Scalar, start: int, end: int) -> Scalar:
    """Returns characters `start` to `end` of a scalar, without the blanks around them."""
    text = scalar.text[start:end]
    start += len(text) - len(text.lstrip())
    text = text.strip()
    span = scalar.locate(start, start + len(text))
    offsets = scalar.offsets
    if offsets:
        offsets = offsets[start : start + len(text)]
    return Scalar(text, text, span, offsets)


@dataclass(frozen=True)
class Types:
    """Reads types with the names of a game. `near` is the file that paths are relative to."""

    typer: Typer
    near: Path

    @property
    def names(self) -> Namespace:
        return self.typer.names

    @property
    def problems(self) -> Problems:
        return self.typer.problems

    def declare(self, section: Node | None) -> None:
        """Declares each entry of a `types:` section."""
        for entry in section.entries if isinstance(section, Mapping) else ():
            name, span = entry.key.text, entry.key.span
            if name in WORDS:
                self.problems.add(
                    "GD0316", f"`{name}` already has a meaning", span,
                    why="a type that is always known", help="choose another name",
                )  # fmt: skip
                continue
            if report_taken(name, span, self.names.anywhere(name), self.problems):
                continue
            found = self.read(entry.value, name)
            if found is None:
                self.names.broken.add(name)
                continue
            self.names.declared[name] = found
            self.claim(found, entry.value)

    def claim(self, found: TypeName, node: Node) -> None:
        """Declares the members of an enum as names that an expression may use."""
        for enum in walk_types(found.type):
            if not isinstance(enum, Enum) or enum in self.names.enums:
                continue
            self.names.enums.append(enum)
            items = node.items if isinstance(node, Sequence) else ()
            places = {item.text: item.span for item in items if isinstance(item, Scalar)}
            for member in enum.members:
                place = places.get(member, node.span)
                first = self.names.place(member)
                if member not in self.names.seats:
                    report_taken(member, place, first, self.problems)
                self.names.members.setdefault(member, place)

    def read(self, node: Node, name: str = "") -> TypeName | None:
        """Reads a type, and its values where they are finite; None (and a diagnostic) if it is
        wrong."""
        before = self.problems.count_errors()
        if isinstance(node, Mapping):
            found = self.mapped(node, name)
        elif isinstance(node, Sequence):
            found = self.listed(node, name)
        else:
            found = self.text(node, name)
        return found if self.problems.count_errors() == before else None

    def type(self, node: Node, name: str = "") -> Type | None:
        found = self.read(node, name)
        return found.type if found is not None else None

    def of(self, type: Type, span: Span) -> TypeName:
        """Returns a type with all its values; none where they cannot be listed."""
        listed = domain(type, self.names.seats) or ()
        if len(listed) > MAX_VALUES:
            listed = ()
        return TypeName(type, tuple((name_of(v), v) for v in listed), span)

    # the three ways to write one

    def listed(self, node: Sequence, name: str) -> TypeName | None:
        items = [item for item in node if isinstance(item, Scalar)]
        if all(_NAME.match(item.text) and isinstance(item.value, str) for item in items):
            names = tuple(item.text for item in items)
            if all(n in self.names.seats for n in names):
                return TypeName(SEAT, tuple((n, n) for n in names), node.span)
            return self.of(Enum(name, names), node.span)
        found = constant(node, self.typer)
        return self.collection(found[1], found[2], node.span, name) if found else None

    def text(self, scalar: Scalar, name: str) -> TypeName | None:
        text = scalar.text
        if text.endswith(" or none"):
            inner = self.type(part_of(scalar, 0, len(text) - len(" or none")), name)
            return None if inner is None else self.of(Option(inner), scalar.span)
        if "|" in text:
            return self.union(scalar)
        head = _COLLECTION.match(text)
        if head is not None:
            inner = self.type(part_of(scalar, head.end(), len(text)))
            kinds: dict[str, Any] = {"set": Set, "list": List, "bag": Bag}
            return None if inner is None else TypeName(kinds[head[1]](inner), (), scalar.span)
        if limited := _TEXT.match(text):
            limit = self.number(part_of(scalar, *limited.span(1)), 1, MAX_TEXT)
            return None if limit is None else TypeName(Text(limit), (), scalar.span)
        known = self.names.declared.get(text)
        if isinstance(known, TypeName):
            return known
        if text in WORDS:
            return self.of(WORDS[text], scalar.span)
        if _NAME.match(text) and not isinstance(known, ParamName):
            self.report_unknown(text, scalar.span)
            return None
        found = constant(scalar, self.typer)
        return self.collection(found[1], found[2], scalar.span, name) if found else None

    def union(self, scalar: Scalar) -> TypeName | None:
        pieces, at = [], 0
        for piece in scalar.text.split("|"):
            pieces.append(part_of(scalar, at, at + len(piece)))
            at += len(piece) + 1
        parts = [self.type(piece) for piece in pieces]
        sound = tuple(part for part in parts if part is not None)
        if len(sound) < len(parts) or not self.disjoint(pieces, sound):
            return None
        return self.of(Union(sound), scalar.span)

    def disjoint(self, pieces: list[Scalar], parts: tuple[Type, ...]) -> bool:
        """Whether every value of a union is in one part of it only; reported if not."""
        earlier: dict[Any, Scalar] = {}
        for piece, part in zip(pieces, parts, strict=True):
            listed = domain(part, self.names.seats)
            if listed is None:
                self.problems.add(
                    "GD0425", "this part of the type has no list of its values", piece.span,
                    why=f"{part}, without bounds", help="join finite types, such as `1..5`",
                )  # fmt: skip
                return False
            twice = [value for value in listed if value in earlier]
            if twice:
                self.problems.add(
                    "GD0425", "the parts of this type cannot be told apart", piece.span,
                    why=f"`{name_of(twice[0])}` is in this",
                    notes=(Note(earlier[twice[0]].span, "and in this"),),
                    help="join types that share no value",
                )  # fmt: skip
                return False
            earlier |= dict.fromkeys(listed, piece)
        return True

    def mapped(self, node: Mapping, name: str) -> TypeName | None:
        keys = [entry.key.text for entry in node]
        if "values" in keys:
            return self.named_values(node)
        if "cell" in keys:
            size = self.size(node.get("cell"))
            return size and self.of(cell_type(*size), node.span)
        if "fresh" in keys:
            count = self.number(node.get("fresh"), 1, MAX_VALUES)
            stem = (name or "thing").lower()
            members = tuple(f"{stem}_{i}" for i in range(1, (count or 0) + 1))
            return self.of(Enum(name, members), node.span) if count else None
        if "file" in keys:
            return self.from_file(node, name)
        return self.record(node, name)

    def record(self, node: Mapping, name: str) -> TypeName | None:
        fields: list[tuple[str, Type]] = []
        for entry in node:
            type = self.type(entry.value, entry.key.text)
            if type is not None:
                fields.append((entry.key.text, type))
                self.claim(TypeName(type, (), entry.key.span), entry.value)
        return self.of(Record(name, tuple(fields)), node.span) if len(fields) == len(node) else None

    def named_values(self, node: Mapping) -> TypeName | None:
        inner = node.get("values")
        assert isinstance(inner, Mapping)
        choices, types = [], []
        for entry in inner:
            found = constant(entry.value, self.typer)
            if found is None:
                return None
            _, value, type = found
            tuple_type = Tuple((type.of,) * type.length) if (
                isinstance(type, List) and type.length) else type  # fmt: skip
            if report_taken(entry.key.text, entry.key.span, None, self.problems):
                return None
            choices.append((entry.key.text, value))
            types.append(tuple_type)
        common = types[0]
        for type in types[1:]:
            joined = join(common, type)
            if joined is None:
                first, odd = (
                    inner.entries[0].value.span,
                    inner.entries[types.index(type)].value.span,
                )
                self.problems.add(
                    "GD0305", "the values of this type have different types", odd,
                    why=f"this is {type}", notes=(Note(first, f"this is {common}"),),
                )  # fmt: skip
                return None
            common = joined
        return TypeName(common, tuple(choices), node.span)

    def from_file(self, node: Mapping, name: str) -> TypeName | None:
        """Reads the first words of a text file, one a line."""
        file, take = node.get("file"), node.get("take")
        assert isinstance(file, Scalar)
        text = self.file(file)
        if text is None:
            return None
        words = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
        count = len(words)
        if take is not None:
            taken = self.number(take, 1, MAX_VALUES)
            if taken is not None and taken > len(words):
                self.problems.add(
                    "GD0421", f"`{file.text}` has no {taken} words", take.span,
                    why=f"it has {len(words)}",
                )  # fmt: skip
                return None
            count = taken or 0
        return self.of(Enum(name, words[:count]), node.span) if count else None

    # parts

    def file(self, file: Scalar) -> str | None:
        """Returns the text of a file that the game names, relative to the game's own."""
        path = file.span.source.folder / file.text
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            beside = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
            guess = did_you_mean(path.name, sorted(beside))
            guess = guess and str(Path(file.text).with_name(guess))
            self.problems.add(
                "GD0424", f"`{file.text}` cannot be read", file.span,
                why=getattr(error, "strerror", None) or "not UTF-8",
                help=f"did you mean `{guess}`?" if guess
                else "a path is relative to the file that names it",
            )  # fmt: skip
            return None

    def collection(self, value: Any, type: Type, span: Span, name: str) -> TypeName | None:
        """Returns the type whose values are the elements of a collection."""
        if not isinstance(type, List | Set):
            self.problems.add(
                "GD0420", "this is not a type", span, why=f"this is {type}",
                help=f"for the numbers up to it write `1..{span.text}`"
                if isinstance(type, Number) and len(span.text) < 40
                else "a type is a list of its values, a range such as `1..6`, or a record",
            )  # fmt: skip
            return None
        if not elements(value):
            self.problems.add(
                "GD0420", "this type has no values", span, why="it is empty",
                help="make its range larger, or delete what has this type",
            )  # fmt: skip
            return None
        listed = tuple(dict.fromkeys(elements(value)))
        if all(isinstance(v, str) for v in listed) and type.of != SEAT:
            return self.of(Enum(name, listed), span)
        inner: Type = type.of
        if isinstance(inner, Number) and all(isinstance(v, int) for v in listed):
            inner = range_type(min(listed), max(listed))
        return TypeName(inner, tuple((name_of(v), v) for v in listed), span)

    def number(self, node: Node | None, low: int, high: int) -> int | None:
        """Reads a whole number that is known before the game starts, in a range."""
        if node is None:
            return None
        found = constant(node, self.typer, WHOLE)
        if found is None:
            return None
        value = found[1]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.problems.add(
                "GD0421", f"a whole number from {low} to {high} is needed here", node.span,
                why=f"this is {name_of(value)}",
            )  # fmt: skip
            return None
        return value

    def size(self, node: Node | None) -> tuple[int, int] | None:
        """Reads `[rows, columns]`."""
        if not isinstance(node, Sequence) or len(node) != 2:
            if node is not None:
                self.problems.add(
                    "GD0421", "a size is `[rows, columns]`", node.span, why="not two numbers"
                )
            return None
        rows, columns = (self.number(item, 1, 1000) for item in node)
        return (rows, columns) if rows and columns else None

    def report_unknown(self, text: str, span: Span) -> None:
        if text in self.names.broken:
            return
        known = [n for n, d in self.names.declared.items() if isinstance(d, TypeName)]
        guess = did_you_mean(text, [*known, *WORDS])
        place = self.names.place(guess) if guess else None
        self.problems.add(
            "GD0422", f"unknown type `{text}`", span, why="not declared under `types`",
            notes=(Note(place, "declared here"),) if place else (),
            help=f"did you mean `{guess}`?" if guess
            else "known: " + ", ".join([*known, *WORDS]),
        )  # fmt: skip
