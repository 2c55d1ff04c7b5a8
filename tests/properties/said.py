"""Types that replies are read as, with values and the JSON of each, written out independently."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import strategies as st

from gamedsl.ir import types as t
from gamedsl.ir.program import Said

SEATS = ("ann", "bob", "cid")
JSON, TEXT, CODE, EITHER = (
    Said(form, max_tokens=100) for form in ("json", "text", "code", "either")
)
EXACT = 2**53 - 1


@dataclass(frozen=True)
class Sample:
    """A value, the data that a model may write for it, and the data of its canonical name."""

    value: Any
    data: Any
    named: Any


@dataclass(frozen=True)
class Kind:
    """A type, and a strategy of samples of it; `listed` are all of them, in order, where few."""

    type: t.Type
    samples: st.SearchStrategy[Sample]
    listed: tuple[Sample, ...] = ()


def same(value: Any) -> Sample:
    return Sample(value, value, value)


def listed(type: t.Type, values: Iterable[Any]) -> Kind:
    samples = tuple(map(same, values))
    return Kind(type, st.sampled_from(samples), samples)


def number(value: float) -> Sample:
    exact = Fraction(repr(value))
    if exact.denominator == 1:
        return Sample(int(exact), value, int(exact))
    return Sample(exact, value, f"{exact.numerator}/{exact.denominator}")


characters = st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from('\n\t{}"\\<`')
names = st.text(st.sampled_from('abcXYZ_ 019é"\\{}\u2028😀'), min_size=1, max_size=4)
members = st.lists(names, min_size=1, max_size=4, unique=True).map(tuple)


def texts(limit: int | None) -> Kind:
    size = 8 if limit is None else limit
    return Kind(t.Text(limit), st.text(characters, max_size=size).map(same))


bools = st.just(listed(t.BOOL, [False, True]))
enums = members.map(lambda found: listed(t.Enum("E", found), found))
ranges = st.builds(
    lambda low, size: listed(t.range_type(low, low + size), range(low, low + size + 1)),
    st.integers(-4, 4),
    st.integers(0, 3),
)
seats = st.just(listed(t.SEAT, SEATS))
nothing = st.just(listed(t.NONE, [None]))
wholes = st.just(Kind(t.WHOLE, st.integers(-EXACT, EXACT).map(same)))
numbers = st.just(
    Kind(t.NUMBER, st.floats(-EXACT, EXACT).map(number) | st.integers(-9, 9).map(same))
)

finite = st.one_of(bools, enums, ranges, seats, st.builds(lambda a, b: pair(a, b), ranges, enums))
leaves = st.one_of(
    finite, nothing, wholes, numbers, st.none().map(texts), st.integers(0, 5).map(texts)
)


def together(parts: Iterable[Sample], value: Any, json: Any = list) -> Sample:
    found = list(parts)
    return Sample(
        value(p.value for p in found), json(p.data for p in found), json(p.named for p in found)
    )


def pair(a: Kind, b: Kind) -> Kind:
    both = tuple(together(p, tuple) for p in product(a.listed, b.listed))
    return Kind(t.Tuple((a.type, b.type)), st.sampled_from(both), both)


def optional(of: Kind) -> Kind:
    return Kind(t.Option(of.type), st.just(same(None)) | of.samples)


def union(texts: Kind, numbers: Kind) -> Kind:
    return Kind(t.Union((texts.type, numbers.type)), texts.samples | numbers.samples)


def row(of: Kind, least: int, most: int, type: t.Type) -> Kind:
    items = st.lists(of.samples, min_size=least, max_size=most)
    return Kind(type, items.map(lambda found: together(found, tuple)))


def fixed(of: Kind, length: int) -> Kind:
    return row(of, length, length, t.List(of.type, length))


def bounded(of: Kind, most: int) -> Kind:
    return row(of, 0, most, t.List(of.type, at_most=most))


def several(of: Kind) -> Kind:
    """A set: a model may name its elements in any order, the name has them in theirs."""

    def sample(places: list[int]) -> Sample:
        found = [of.listed[place] for place in places]
        inner = together(found, frozenset)
        return Sample(inner.value, inner.data, [of.listed[i].named for i in sorted(places)])

    places = st.lists(st.sampled_from(range(len(of.listed))), unique=True)
    return Kind(t.Set(of.type), places.map(sample))


def grid(of: Kind, rows: int, columns: int) -> Kind:
    def sample(found: list[list[Sample]]) -> Sample:
        lines = [together(line, tuple) for line in found]
        return together(lines, lambda values: tuple(cell for line in values for cell in line))

    line = st.lists(of.samples, min_size=columns, max_size=columns)
    cells = st.lists(line, min_size=rows, max_size=rows)
    return Kind(t.Grid(rows, columns, of.type), cells.map(sample))


def record(parts: list[Kind], fields: tuple[str, ...]) -> Kind:
    named = list(zip(fields, parts, strict=False))
    type = t.Record("R", tuple((name, part.type) for name, part in named))

    def sample(found: tuple[Sample, ...]) -> Sample:
        """A field that is always none is not written."""
        written = [(n, p) for (n, part), p in zip(named, found, strict=True) if part.type != t.NONE]
        data = {name: part.data for name, part in reversed(written)}
        return Sample(
            tuple(part.value for part in found), data, {name: part.named for name, part in written}
        )

    return Kind(type, st.tuples(*(part.samples for _, part in named)).map(sample))


def text_or(text: Kind, object: Kind) -> Kind:
    return Kind(t.Union((text.type, object.type)), text.samples | object.samples)


def key_text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(key_text, value))
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def per(key: Kind, of: Kind) -> Kind:
    keys = [sample.value for sample in key.listed]

    def sample(found: list[Sample]) -> Sample:
        shown = [key_text(k) for k in keys]
        return together(
            found,
            lambda values: dict(zip(keys, values, strict=True)),
            lambda data: dict(zip(shown, data, strict=True)),
        )

    values = st.lists(of.samples, min_size=len(keys), max_size=len(keys)).map(sample)
    return Kind(t.PerSeat(of.type) if key.type == t.SEAT else t.PerValue(key.type, of.type), values)


def some_seats(of: Kind) -> Kind:
    def sample(found: dict[str, Sample]) -> Sample:
        ordered = {seat: found[seat] for seat in SEATS if seat in found}

        def by_seat(parts: Iterable[Any]) -> dict[str, Any]:
            return dict(zip(ordered, parts, strict=True))

        return together(ordered.values(), by_seat, by_seat)

    chosen = st.dictionaries(st.sampled_from(SEATS), of.samples)
    return Kind(t.PerSeat(of.type, partial=True), chosen.map(sample))


def nest(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    small = st.integers(0, 3)
    return st.one_of(
        inner.map(optional),
        st.builds(union, enums, ranges),
        st.builds(fixed, inner, small),
        st.builds(bounded, inner, small),
        finite.map(several),
        st.builds(grid, inner, st.integers(1, 2), st.integers(1, 2)),
        st.builds(record, st.lists(inner, max_size=4), fields4),
        st.builds(per, finite, inner),
        inner.map(some_seats),
        st.builds(
            text_or, small.map(texts), st.builds(record, st.lists(inner, max_size=2), fields4)
        ),
    )


fields4 = st.lists(names, min_size=4, max_size=4, unique=True).map(tuple)
kinds = st.recursive(leaves, nest, max_leaves=4)
records = st.builds(record, st.lists(kinds, max_size=4), fields4)
objects = records | records.map(optional)
either = st.builds(text_or, st.none().map(texts), records)
