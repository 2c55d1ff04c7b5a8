"""`types:` sections, and the texts that name a type wherever one is wanted.

A type is a name (`Card`, `role`, `truth`, `integer`, `text`), a text of so many characters
(`text(80)`), a range, a list of names or numbers, an expression over params that gives one,
`A | B`, `T or none`, `set of T`, `list of T`, `bag of T`, or a map, which may stand in a text too
(`"text(80) | {keep: 1..3}"`): `{values: …}`, `{cell: …}`, `{nodes: …, edges: …}`, `{fresh: n}`,
`{file: …, take: n}`, `{per: …, of: …}`, or a record of fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Help, respell, substitute
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.schema.shape import check_part
from gamedsl.frontend.source import loader
from gamedsl.frontend.source.compose import check_characters, compose_part
from gamedsl.frontend.source.edits import nodes_around
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import values as elements
from gamedsl.ir.types import (
    BOOL,
    NONE,
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
    has_text,
    join,
    range_type,
    text_or_record,
    walk_types,
)
from gamedsl.ir.values import name_of
from gamedsl.sema.edges import with_graph
from gamedsl.sema.scope import (
    SPELLINGS,
    TYPE_WORDS,
    Namespace,
    ParamName,
    TypeName,
    kind_of,
    report_taken,
)
from gamedsl.sema.type_errors import same_type_help
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import constant, read_items, report_twice

WORDS: dict[str, Type] = dict(zip(TYPE_WORDS, (SEAT, BOOL, NUMBER, WHOLE, TEXT), strict=True))
"""The types of `TYPE_WORDS`."""

OTHERS = "others"
"""The word for all roles but the one that says something, under `per` in `read`."""

FORMS = ("values", "cell", "nodes", "fresh", "file", "take", "per", "of")
"""Keys that make a map something else than a record."""

MAX_TEXT = 1_000_000
"""Characters that a text may be allowed."""

MAX_VALUES = 4096
"""Values of a declared type."""

MAX_COMPONENTS = 256
"""Parts of a type, those of its parts included: types of earlier types can double them line by
line."""

MAX_LISTED = 1 << 18
"""Values of all declared types, and of the parts of one union."""

MAX_PARTS = 32
"""Words such as `set of` and `or none` in one type."""

MAX_WORD_BYTES = 1 << 23
"""Bytes of a file of words."""

_TEXT = re.compile(r"text\((.+)\)\Z", re.DOTALL)
_COLLECTION = re.compile(r"(set|list|bag)\s+of\s+")
_PART = re.compile(r"\bof\s| or none|\|")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def is_collection_type(text: str) -> bool:
    """Whether a text names the type of a collection, such as `set of Card`."""
    return _COLLECTION.match(text) is not None


def split_union(text: str) -> list[str]:
    """Returns the parts of `A | B`; a `|` inside brackets is part of a part."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


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
    """Reads types with the names of a game."""

    typer: Typer
    author: str | None = None
    """The seat whose reply is read, for which `others` are all other roles; empty: any of those
    who reply; None: no reply is read."""

    @property
    def names(self) -> Namespace:
        return self.typer.names

    @property
    def problems(self) -> Problems:
        return self.typer.problems

    def declare(self, section: Node | None) -> None:
        """Declares each entry of a `types:` section."""
        listed = 0
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
            listed += len(found.choices)
            if listed > MAX_LISTED:
                self.problems.add(
                    "GD0421", f"the types of a game have at most {MAX_LISTED:,} values", span,
                    why=f"with this type there are {listed:,}",
                    help="declare fewer or smaller types",
                )  # fmt: skip
                return

    def claim(self, found: TypeName, node: Node) -> None:
        """Declares the members of an enum as names that an expression may use."""
        for enum in walk_types(found.type):
            if not isinstance(enum, Enum) or enum in self.names.enums:
                continue
            self.names.enums.append(enum)
            if isinstance(node, Mapping) and (nodes := node.get("nodes")) is not None:
                node = nodes
            items = node.items if isinstance(node, Sequence) else ()
            entries = node.entries if isinstance(node, Mapping) else ()
            if len(entries) == 1 and isinstance(entries[0].value, Mapping):
                items = tuple(entry.key for entry in entries[0].value)
            places = {item.text: item.span for item in items if isinstance(item, Scalar)}
            for member in filter(str.isidentifier, enum.members):
                place = places.get(member, node.span)
                first = self.names.lasting(member)
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
        if self.problems.count_errors() > before or found is None:
            return None
        return found if self.is_small(found.type, node.span) else None

    def is_small(self, type: Type, span: Span) -> bool:
        """Returns whether a type has no more than `MAX_COMPONENTS`; reported if not."""
        if sum(1 for _ in islice(walk_types(type), MAX_COMPONENTS + 1)) <= MAX_COMPONENTS:
            return True
        self.problems.add(
            "GD0421", f"this type has more than {MAX_COMPONENTS} parts", span,
            why="the parts of its parts are counted, each as often as it is written",
            help="leave out what the rules do not read",
        )  # fmt: skip
        return False

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
        if not self.mixes_names(items):
            found = constant(node, self.typer)
            return self.collection(found[1], found[2], node.span, name) if found else None
        values = read_items(node, self.typer)
        if values is None:
            return None
        if any(isinstance(value, str) for value, _ in values):
            return self.of(Enum(name, tuple(value for value, _ in values)), node.span)
        numbers = tuple(value for value, _ in values)
        return self.collection(numbers, List(WHOLE), node.span, name)

    def mixes_names(self, items: list[Scalar]) -> bool:
        """Whether a list has ranges, numbers in quotes, or names that are no params."""
        return any(
            isinstance(item.value, str)
            and not isinstance(self.names.declared.get(item.text), ParamName)
            for item in items
        )

    def text(self, scalar: Scalar, name: str) -> TypeName | None:
        text = scalar.text
        if text in SPELLINGS and text not in self.names.declared:
            self.report_unknown(text, scalar.span)
            return None
        if len(_PART.findall(text)) > MAX_PARTS:
            self.problems.add(
                "GD0420", "this type has too many parts", scalar.span,
                why=f"at most {MAX_PARTS} may be joined or nested",
                help="declare a part as a type of its own, and write its name",
            )  # fmt: skip
            return None
        if text.startswith("{") and text.endswith("}"):
            written = compose_part(scalar, self.problems)
            if not isinstance(written, Mapping) or not check_part("type", written, self.problems):
                return None
            return self.mapped(written, name)
        if text.endswith(" or none"):
            inner = self.type(part_of(scalar, 0, len(text) - len(" or none")), name)
            return None if inner is None else self.of(Option(inner), scalar.span)
        if len(split_union(text)) > 1:
            return self.union(scalar, name)
        head = _COLLECTION.match(text)
        if head is not None:
            inner = self.type(part_of(scalar, head.end(), len(text)))
            if inner is None:
                return None
            if head[1] == "set":
                return self.of(Set(inner), scalar.span)
            return TypeName(List(inner) if head[1] == "list" else Bag(inner), (), scalar.span)
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

    def union(self, scalar: Scalar, name: str) -> TypeName | None:
        pieces, at = [], 0
        for piece in split_union(scalar.text):
            pieces.append(part_of(scalar, at, at + len(piece)))
            at += len(piece) + 1
        if self.report_names(scalar, pieces):
            return None
        parts = [self.type(piece, name if piece.text[:1] == "{" else "") for piece in pieces]
        sound = tuple(part for part in parts if part is not None)
        if len(sound) < len(parts):
            return None
        if text_or_record(Union(sound)) is None and not self.disjoint(pieces, sound):
            return None
        return self.of(Union(sound), scalar.span)

    def report_names(self, scalar: Scalar, pieces: list[Scalar]) -> bool:
        """Whether all parts of a union are names that stand for nothing, and resemble no type: the
        values of a type, which are listed. Reported if so."""
        texts = [piece.text for piece in pieces]
        types = [n for n, d in self.names.declared.items() if isinstance(d, TypeName)]
        for text in texts:
            known = text in WORDS or text in SPELLINGS or text in self.names.broken
            known = known or self.names.anywhere(text) is not None
            if known or not _NAME.match(text) or did_you_mean(text, [*types, *WORDS]):
                return False
        whole = f"[{', '.join(texts)}]"
        says = f"the values of a type are listed: `{whole}`"
        around = nodes_around(scalar.span)
        is_all = bool(around) and around[-1].span == scalar.span
        self.problems.add(
            "GD0422", f"unknown types `{'`, `'.join(texts[:-1])}` and `{texts[-1]}`", scalar.span,
            why="`|` joins types, and these are not declared under `types`",
            help=substitute(scalar.span, whole, says) if is_all else says,
        )  # fmt: skip
        return True

    def disjoint(self, pieces: list[Scalar], parts: tuple[Type, ...]) -> bool:
        """Whether every value of a union is in one part of it only; reported if not."""
        earlier: dict[Any, Scalar] = {}
        for piece, part in zip(pieces, parts, strict=True):
            listed = domain(part, self.names.seats)
            if listed is None:
                self.problems.add(
                    "GD0425", "this part of the type has no list of its values", piece.span,
                    why=f"{part}, without bounds",
                    help="join one text with one record: `text(80) | {name: type}`"
                    if any(map(has_text, parts)) else "join finite types, such as `1..5`",
                )  # fmt: skip
                return False
            if len(earlier) + len(listed) > MAX_LISTED:
                self.problems.add(
                    "GD0425", f"a type has at most {MAX_LISTED:,} values", piece.span,
                    why="with this part there are more", help="join smaller types",
                )  # fmt: skip
                return False
            names = [name_of(value) for value in listed]
            twice = [name for name in names if name in earlier]
            if twice:
                self.problems.add(
                    "GD0425", "the parts of this type cannot be told apart", piece.span,
                    why=f"`{twice[0]}` is in this",
                    notes=(Note(earlier[twice[0]].span, "and in this"),),
                    help="join types that share no value",
                )  # fmt: skip
                return False
            earlier |= dict.fromkeys(names, piece)
        return True

    def mapped(self, node: Mapping, name: str) -> TypeName | None:
        keys = [entry.key.text for entry in node]
        if "values" in keys:
            return self.named_values(node, name)
        if "per" in keys:
            return self.per_value(node, name)
        if "cell" in keys:
            size = self.size(node.get("cell"))
            cells = size and self.of(cell_type(*size), node.span)
            return cells and with_graph(cells, node, self.typer)
        if "nodes" in keys:
            return self.graph(node, name)
        if "fresh" in keys:
            count = self.number(node.get("fresh"), 1, MAX_VALUES)
            stem = (name or "thing").lower()
            members = tuple(f"{stem}_{i}" for i in range(1, (count or 0) + 1))
            return self.of(Enum(name, members), node.span) if count else None
        if "file" in keys:
            return self.from_file(node, name)
        return self.record(node, name)

    def graph(self, node: Mapping, name: str) -> TypeName | None:
        """Reads the nodes of a graph, a type, and the edges between them."""
        written = node.get("nodes")
        assert written is not None
        nodes = self.read(written, name)
        if nodes is None:
            return None
        return with_graph(replace(nodes, span=node.span, graph=None), node, self.typer)

    def record(self, node: Mapping, name: str) -> TypeName | None:
        fields: list[tuple[str, Type]] = []
        for entry in node:
            part = self.field(entry.value, entry.key.text)
            if part is not None:
                fields.append((entry.key.text, part))
                self.claim(TypeName(part, (), entry.key.span), entry.value)
        type = Record(name, tuple(fields))
        if len(fields) < len(node) or not self.is_small(type, node.span):
            return None
        return self.of(type, node.span)

    def per_value(self, node: Mapping, name: str) -> TypeName | None:
        """Reads `{per: Good, of: 0..5}`: a record with a field for each value of a type."""
        key_node, of_node = node.get("per"), node.get("of")
        assert key_node is not None
        assert of_node is not None
        others = self.author is not None and getattr(key_node, "text", "") == OTHERS
        key = SEAT if others else self.field(key_node, "")
        of = self.field(of_node, name)
        if key is None or of is None:
            return None
        keys = domain(key, self.names.seats)
        if keys is None or len(keys) > MAX_COMPONENTS:
            self.problems.add(
                "GD0421", f"one for each takes a type of at most {MAX_COMPONENTS} values",
                key_node.span, why=f"this is {key}" if keys is None else f"this has {len(keys)}",
                help="write a type with a list of its values, such as `1..5`",
            )  # fmt: skip
            return None
        fields = tuple((name_of(value), of) for value in keys)
        if others:
            common = of if isinstance(of, Option) or self.author else Option(of)
            fields = tuple((v, NONE if v == self.author else common) for v, _ in fields)
        return self.of(Record(name, fields, key), node.span)

    def has_listed_keys(self, node: Mapping) -> bool:
        """Whether a map is `{per: …, of: …}` for `others`, or for some of the values of a type,
        such as two of three roles."""
        key = node.get("per")
        if key is None or {entry.key.text for entry in node} != {"per", "of"}:
            return False
        if getattr(key, "text", "") == OTHERS:
            return True
        declared = self.names.declared.get(key.text) if isinstance(key, Scalar) else None
        found = self.read(key) if isinstance(key, Sequence) else declared
        if not isinstance(found, TypeName) or not found.choices:
            return False
        values = domain(found.type, self.names.seats)
        return values is not None and len(values) > len(found.choices)

    def field(self, node: Node, name: str) -> Type | None:
        """Reads the type of a field. A list of values with gaps, such as `[1, 3, 5]`, is a type of
        these values alone, each by its name."""
        found = self.read(node, name)
        if found is None or not found.choices:
            return None if found is None else found.type
        values = domain(found.type, self.names.seats)
        if values is not None and len(values) == len(found.choices):
            return found.type
        names, listed = (tuple(part) for part in zip(*found.choices, strict=True))
        declared = (
            node.text if isinstance(node, Scalar) and node.text in self.names.declared else ""
        )
        return Enum(declared or name, names, listed, found.type)

    def named_values(self, node: Mapping, name: str) -> TypeName | None:
        """Reads `{values: {ten: 10, jack: 10}}`: names, and what each stands for."""
        inner = node.get("values")
        assert isinstance(inner, Mapping)
        choices: list[tuple[str, Any]] = []
        types: list[Type] = []
        places: dict[str, Span] = {}
        for entry in inner:
            found = constant(entry.value, self.typer)
            names = self.names_of_key(entry, found)
            if found is None or names is None:
                return None
            _, value, type = found
            several = ".." in entry.key.text
            values = elements(value) if several else (value,)
            for key, each in zip(names, values, strict=True):
                if report_taken(key, entry.key.span, None, self.problems):
                    return None
                if key in places:
                    report_twice(key, entry.key.span, places[key], self.problems)
                    return None
                places[key] = entry.key.span
                choices.append((key, each))
            if isinstance(type, List) and several:
                type = type.of
            elif isinstance(type, List) and type.length:
                type = Tuple((type.of,) * type.length)
            types.append(type)
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
                    help=same_type_help(common),
                )  # fmt: skip
                return None
            common = joined
        members, values = (tuple(part) for part in zip(*choices, strict=True))
        if isinstance(common, Number) and all(isinstance(v, int) for v in values):
            common = range_type(min(values), max(values))
        return self.of(Enum(name, members, values, common), node.span)

    def names_of_key(
        self, entry: Entry, found: tuple[ir.Expr, Any, Type] | None
    ) -> tuple[str, ...] | None:
        """Returns the names of an entry of `values`: the key, or each number of a range, beside
        which stand as many values."""
        key = entry.key
        if ".." not in key.text:
            return (str(int(key.text)) if key.text.isdigit() else key.text,)
        low, high = map(int, key.text.split(".."))
        if found is None:
            return None
        value = found[1]
        many = len(value) if isinstance(value, tuple) else 1
        if high < low or high - low >= MAX_VALUES or many != high - low + 1:
            self.problems.add(
                "GD0421", f"a range of names takes as many values, such as `{key.text}`",
                entry.value.span, why=f"these are {many}, for {max(high - low + 1, 0)} names",
                help=f"write `{key.text}: {key.text}`, or an entry for each",
            )  # fmt: skip
            return None
        return tuple(map(str, range(low, high + 1)))

    def from_file(self, node: Mapping, name: str) -> TypeName | None:
        """Reads the first words of a text file, one a line."""
        file, take = node.get("file"), node.get("take")
        assert isinstance(file, Scalar)
        source = loader.read_named(file, MAX_WORD_BYTES, self.problems)
        if source is None or not check_characters(source, self.problems, words=True):
            return None
        lines = map(str.strip, source.text.splitlines())
        words = tuple(dict.fromkeys(line for line in lines if line))
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
        if count > MAX_VALUES:
            self.problems.add(
                "GD0421", f"a type has at most {MAX_VALUES} words", file.span,
                why=f"this file has {count}", help=f"take the first of them: `take: {MAX_VALUES}`",
            )  # fmt: skip
            return None
        return self.of(Enum(name, words[:count]), node.span) if count else None

    # parts

    def collection(self, value: Any, type: Type, span: Span, name: str) -> TypeName | None:
        """Returns the type whose values are the elements of a collection."""
        if not isinstance(type, List | Set):
            self.problems.add(
                "GD0420", "this is not a type", span, why=f"this is {type}",
                help=_range_fix(span)
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
                help=f"write a number from {low} to {high}",
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
        guess = SPELLINGS.get(text) or did_you_mean(text, [*known, *WORDS])
        if guess == "text" and self.author is not None:  # a reply has an end
            guess = "text(200)"
        place = self.names.place(guess) if guess else None
        otherwise = "known: " + ", ".join([*known, *WORDS])
        if text == OTHERS:
            otherwise = (
                "for a text to each of the others write `read: {per: others, of: text(80)}`; for "
                "one of them write `role`, and say in `valid` that it is not `me`"
            )
            guess = None
        declared = self.names.declared.get(text)
        if declared is not None:
            what, use = kind_of(declared)
            self.problems.add(
                "GD0422", f"`{text}` is {what}, and no type", span,
                why=f"it {use}", notes=(Note(declared.span, "declared here"),),
                help=otherwise, cause=f"name {text}",
            )  # fmt: skip
            return
        if self.names.seats_of(text):
            otherwise = "this is a role: write `role` for all roles, each of which has a value then"
            guess = None
        self.problems.add(
            "GD0422", f"unknown type `{text}`", span, why="not declared under `types`",
            notes=(Note(place, "declared here"),) if place else (),
            help=respell(span, guess, otherwise),
            cause=f"name {text}",
        )  # fmt: skip


_DASHED = re.compile(r"(\d+)\s*[-–—]\s*(\w+)")
"""A range as it is written in English; to YAML and expressions, a difference."""


def dashed_range(span: Span) -> Help:
    """Returns the fix of `1-6`, where a range is wanted; empty for what is no such difference."""
    dashed = _DASHED.fullmatch(span.text)
    if dashed is None or (dashed[2].isdigit() and int(dashed[1]) > int(dashed[2])):
        return ""
    whole = f"{dashed[1]}..{dashed[2]}"
    return substitute(
        span, whole, f"for the numbers from {dashed[1]} to {dashed[2]} write `{whole}`"
    )


def _range_fix(span: Span) -> Help:
    """Returns the fix of a number that stands where a type is wanted: the range up to it."""
    if dashed := dashed_range(span):
        return dashed
    whole = f"1..{span.text}"
    if not re.fullmatch(r"\w+", span.text):  # it may be no whole number
        return f"for the numbers up to it write `{whole}`"
    return substitute(span, whole, f"for the numbers up to it write `{whole}`")
