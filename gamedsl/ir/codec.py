"""The IR as JSON, and back: one object for each dataclass, for programs in other languages.

An object's `is` names its class. Its other keys are the class's fields; those that have their
default are left out. A type is written once, in a list, after the types of its parts, and referred
to by its index there. `at` is a place in the source: file, line and column. Other fields that take
no part in comparison are left out: what is read back is equal to what was written, and has its
hashes.

A value of play is JSON's own where it has such values; a list, a tuple, a record and a grid are
arrays. A number that is no whole number of 53 bits is `{"number": "8/5"}`, a set `{"set": […]}`, a
bag `{"bag": [[item, copies], …]}`, a map `{"map": [[key, value], …]}`, and a list in a training
setting `{"list": […]}`.

The form of each field follows from its annotation (`_form_of`); from the same forms comes the JSON
Schema.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Literal, Protocol, Union, get_args, get_origin, get_type_hints

from gamedsl.diagnostics.spans import Source, Span
from gamedsl.ir.game import GameIR
from gamedsl.ir.json_types import LARGEST
from gamedsl.ir.types import Type
from gamedsl.ir.values import Bag
from gamedsl.storage.strict_json import exact_number

_TYPES: tuple[type, ...] = get_args(Type)
_NOWHERE = Span(Source("", ""), 0, 0)


class MalformedIR(ValueError):
    """A JSON value is no IR. The text says where, and what is wanted there."""


def encode(ir: GameIR) -> dict[str, Any]:
    """Returns a game as JSON: its object, `game`, and the list of its `types`."""
    types = _Types()
    game = _Objects((GameIR,)).write(ir, types)
    return {"types": types.written, "game": game}


def decode(content: Any) -> GameIR:
    """Returns the game that `encode` wrote, without its places. Raises MalformedIR."""
    if not isinstance(content, dict) or not isinstance(content.get("types"), list):
        raise _misfit("", "an object with `types` and `game`")
    types = _Types()
    for number, each in enumerate(content["types"]):
        types.read.append(_Objects(_TYPES).read(each, types, f"types[{number}]"))
    game = _Objects((GameIR,)).read(content.get("game"), types, "game")
    assert isinstance(game, GameIR)
    return game


def json_schema() -> dict[str, Any]:
    """Returns the JSON Schema (draft 2020-12) of what `encode` writes: of the keys `types` and
    `game`, and under `$defs` of each class."""
    definitions: dict[str, Any] = {
        "value": {"description": "a value of play", "anyOf": _VALUES},
        "place": {
            "description": "a file, a line and a column, the last two from 1",
            "type": "array", "prefixItems": [{"type": "string"}, {}, {}],
        },
    }  # fmt: skip
    pending: list[type] = [GameIR, *_TYPES]
    while pending:
        kind = pending.pop()
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = _schema_of(kind)
            pending += [part for one in _fields(kind) for part in one.form.classes()]
    return {
        "type": "object",
        "properties": {
            "types": {"type": "array", "items": {"oneOf": list(map(_reference, _TYPES))}},
            "game": _reference(GameIR),
        },
        "required": ["types", "game"],
        "$defs": dict(sorted(definitions.items())),
    }


def encode_value(value: Any) -> Any:
    """Returns a value of play as JSON. See the module docstring."""
    match value:
        case None | bool() | str():
            return value
        case int() if abs(value) <= LARGEST:
            return value
        case int() | Fraction():
            return {"number": str(value)}
        case tuple():
            return [encode_value(item) for item in value]
        case list():
            return {"list": [encode_value(item) for item in value]}
        case frozenset():
            return {"set": sorted((encode_value(item) for item in value), key=repr)}
        case Bag():
            return {"bag": [[encode_value(item), copies] for item, copies in value.items()]}
        case dict():
            return {"map": [[encode_value(k), encode_value(v)] for k, v in value.items()]}
        case _:
            raise TypeError(f"no JSON for {type(value).__name__}")


def decode_value(content: Any, at: str = "") -> Any:
    """Returns the value of play that `encode_value` wrote. Raises MalformedIR."""
    match content:
        case None | bool() | str() | int():
            return content
        case list():
            return tuple(decode_value(item, at) for item in content)
        case {"number": str(text), **rest} if not rest:
            return _number(text, at)
        case {"list": list(items), **rest} if not rest:
            return [decode_value(item, at) for item in items]
        case {"set": list(items), **rest} if not rest:
            return frozenset(_hashable(decode_value(item, at), at) for item in items)
        case {"bag": list(items), **rest} if not rest:
            return Bag({_hashable(decode_value(k, at), at): n for k, n in _pairs(items, at)})
        case {"map": list(items), **rest} if not rest:
            pairs = ((_hashable(decode_value(k, at), at), v) for k, v in _pairs(items, at))
            return {key: decode_value(value, at) for key, value in pairs}
    raise _misfit(at, "a value of play")


_VALUES: list[dict[str, Any]] = [
    {"type": ["null", "boolean", "integer", "string"]},
    {"type": "array", "items": {"$ref": "#/$defs/value"}},
    *(
        {"type": "object", "properties": {name: form}, "required": [name],
         "additionalProperties": False}
        for name, form in {
            "number": {"type": "string"},
            "list": {"type": "array", "items": {"$ref": "#/$defs/value"}},
            "set": {"type": "array", "items": {"$ref": "#/$defs/value"}},
            "bag": {"type": "array", "items": {"type": "array"}},
            "map": {"type": "array", "items": {"type": "array"}},
        }.items()
    ),
]  # fmt: skip


@dataclass
class _Types:
    """The types of one game: those `written`, with their indices, or those that were `read`."""

    written: list[Any] = field(default_factory=list)
    places: dict[Type, int] = field(default_factory=dict)
    read: list[Any] = field(default_factory=list)


class _Form(Protocol):
    """The form of a field: how it is written, read and described."""

    def write(self, part: Any, types: _Types) -> Any: ...
    def read(self, content: Any, types: _Types, at: str) -> Any: ...
    def schema(self) -> dict[str, Any]: ...
    def classes(self) -> Sequence[type]: ...


@dataclass(frozen=True)
class _Scalar:
    """A text, a whole number or a truth value; one of `choices`, where there are any."""

    kind: type
    choices: tuple[Any, ...] = ()

    def write(self, part: Any, types: _Types) -> Any:
        return part

    def read(self, content: Any, types: _Types, at: str) -> Any:
        if type(content) is not self.kind or (self.choices and content not in self.choices):
            choices = ", ".join(map(str, self.choices))
            raise _misfit(at, f"one of {choices}" if choices else f"a JSON {_SCALARS[self.kind]}")
        return content

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.choices)} if self.choices else {"type": _SCALARS[self.kind]}

    def classes(self) -> Sequence[type]:
        return ()


_SCALARS = {str: "string", int: "integer", bool: "boolean"}


@dataclass(frozen=True)
class _Value:
    """A value of play."""

    def write(self, part: Any, types: _Types) -> Any:
        return encode_value(part)

    def read(self, content: Any, types: _Types, at: str) -> Any:
        return decode_value(content, at)

    def schema(self) -> dict[str, Any]:
        return {"$ref": "#/$defs/value"}

    def classes(self) -> Sequence[type]:
        return ()


@dataclass(frozen=True)
class _TypeIndex:
    """A type, by its index."""

    def write(self, part: Any, types: _Types) -> Any:
        if part not in types.places:
            written = _Objects(_TYPES).write(part, types)
            types.places[part] = len(types.written)
            types.written.append(written)
        return types.places[part]

    def read(self, content: Any, types: _Types, at: str) -> Any:
        if type(content) is not int or not 0 <= content < len(types.read):
            raise _misfit(at, "the index of a type that stands before")
        return types.read[content]

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": 0, "description": "an index in `types`"}

    def classes(self) -> Sequence[type]:
        return ()


@dataclass(frozen=True)
class _Row:
    """A tuple: of any number of parts of one form, or of one part of each of `several`."""

    of: _Form | None
    several: tuple[_Form, ...] = ()

    def write(self, part: Any, types: _Types) -> Any:
        forms = self._forms(len(part), "")
        return [form.write(item, types) for form, item in zip(forms, part, strict=True)]

    def read(self, content: Any, types: _Types, at: str) -> Any:
        if not isinstance(content, list):
            raise _misfit(at, "an array")
        items = enumerate(zip(self._forms(len(content), at), content, strict=True))
        return tuple(form.read(item, types, f"{at}[{i}]") for i, (form, item) in items)

    def _forms(self, count: int, at: str) -> Sequence[_Form]:
        if self.of is not None:
            return [self.of] * count
        if count != len(self.several):
            raise _misfit(at, f"an array of {len(self.several)}")
        return self.several

    def schema(self) -> dict[str, Any]:
        if self.of is not None:
            return {"type": "array", "items": self.of.schema()}
        size = {"minItems": len(self.several), "maxItems": len(self.several)}
        return {"type": "array", "prefixItems": [form.schema() for form in self.several], **size}

    def classes(self) -> Sequence[type]:
        forms = (*self.several, *((self.of,) if self.of is not None else ()))
        return [kind for form in forms for kind in form.classes()]


@dataclass(frozen=True)
class _Map:
    """A map from values of play."""

    of: _Form

    def write(self, part: Any, types: _Types) -> Any:
        return [[encode_value(key), self.of.write(each, types)] for key, each in part.items()]

    def read(self, content: Any, types: _Types, at: str) -> Any:
        if not isinstance(content, list):
            raise _misfit(at, "an array of pairs")
        pairs = ((decode_value(key, at), each) for key, each in _pairs(content, at))
        return {_hashable(key, at): self.of.read(each, types, at) for key, each in pairs}

    def schema(self) -> dict[str, Any]:
        pair = [{"$ref": "#/$defs/value"}, self.of.schema()]
        return {"type": "array", "items": {"type": "array", "prefixItems": pair}}

    def classes(self) -> Sequence[type]:
        return self.of.classes()


@dataclass(frozen=True)
class _Objects:
    """An object of one of some classes."""

    kinds: tuple[type, ...]

    def write(self, part: Any, types: _Types) -> Any:
        written: dict[str, Any] = {"is": type(part).__name__}
        for one in _fields(_class_of(part)):
            held = getattr(part, one.name)
            if one.needed or held != one.default:
                written[one.name] = one.form.write(held, types)
        span = getattr(part, "span", None)
        if span is not None:
            written["at"] = [span.source.name, span.line, span.column]
        return written

    def read(self, content: Any, types: _Types, at: str) -> Any:
        name = content.get("is") if isinstance(content, dict) else None
        kind = next((kind for kind in self.kinds if kind.__name__ == name), None)
        if kind is None:
            raise _misfit(
                at, "an object whose `is` is " + " or ".join(k.__name__ for k in self.kinds)
            )
        known: tuple[_Field, ...] = _fields(kind)
        if strangers := content.keys() - {"is", "at"} - {one.name for one in known}:
            raise _misfit(at, f"no `{min(strangers)}`")
        parts: dict[str, Any] = {}
        for one in known:
            if one.name in content:
                parts[one.name] = one.form.read(content[one.name], types, f"{at}.{one.name}")
            elif one.needed:
                raise _misfit(at, f"`{one.name}`")
        return kind(**parts, **dict.fromkeys(_spans(kind), _NOWHERE))

    def schema(self) -> dict[str, Any]:
        found = list(map(_reference, self.kinds))
        return found[0] if len(found) == 1 else {"oneOf": found}

    def classes(self) -> Sequence[type]:
        return self.kinds


@dataclass(frozen=True)
class _Optional:
    """A part, or null."""

    of: _Form

    def write(self, part: Any, types: _Types) -> Any:
        return None if part is None else self.of.write(part, types)

    def read(self, content: Any, types: _Types, at: str) -> Any:
        return None if content is None else self.of.read(content, types, at)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.of.schema(), {"type": "null"}]}

    def classes(self) -> Sequence[type]:
        return self.of.classes()


@dataclass(frozen=True)
class _Field:
    name: str
    form: _Form
    needed: bool
    default: Any


def _class_of(part: object) -> type:
    return type(part)


@cache
def _fields(kind: Any) -> tuple[_Field, ...]:
    """Returns the fields of a class that take part in comparison."""
    hints = get_type_hints(kind)
    return tuple(
        _Field(one.name, _form_of(hints[one.name]), one.default is dataclasses.MISSING, one.default)
        for one in dataclasses.fields(kind)
        if one.compare
    )


@cache
def _spans(kind: Any) -> tuple[str, ...]:
    """Returns the fields of a class without default that take no part in comparison: places."""
    fields = dataclasses.fields(kind)
    return tuple(f.name for f in fields if not f.compare and f.default is dataclasses.MISSING)


def _form_of(hint: Any) -> _Form:
    """Returns the form of a field by its annotation. Raises TypeError for one without a form."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or set(arguments) == {int, Fraction} or hint is Fraction:
        return _Value()
    if hint in _SCALARS:
        return _Scalar(hint)
    if origin is Literal:
        return _Scalar(type(arguments[0]), arguments)
    if origin is tuple:
        one = len(arguments) == 2 and arguments[1] is Ellipsis
        return _Row(_form_of(arguments[0])) if one else _Row(None, tuple(map(_form_of, arguments)))
    if origin is dict:
        return _Map(_form_of(arguments[1]))
    kinds = arguments if origin in (Union, UnionType) else (hint,)
    if NoneType in kinds:
        rest = tuple(kind for kind in kinds if kind is not NoneType)
        return _Optional(_form_of(reduce(or_, rest)))
    if all(kind in _TYPES for kind in kinds):
        return _TypeIndex()
    if all(map(dataclasses.is_dataclass, kinds)):
        return _Objects(kinds)
    raise TypeError(f"no form for {hint}")


def _schema_of(kind: type) -> dict[str, Any]:
    about = (kind.__doc__ or "").partition("\n\n")[0]
    properties = {one.name: one.form.schema() for one in _fields(kind)}
    for one in _fields(kind):
        if not one.needed:
            default = one.form.write(one.default, _Types())
            properties[one.name] = {**properties[one.name], "default": default}
    return {
        "description": " ".join(about.split()),
        "type": "object",
        "properties": {
            "is": {"const": kind.__name__}, **properties, "at": {"$ref": "#/$defs/place"},
        },
        "required": ["is", *(one.name for one in _fields(kind) if one.needed)],
        "additionalProperties": False,
    }  # fmt: skip


def _reference(kind: type) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _pairs(items: Any, at: str) -> Iterator[tuple[Any, Any]]:
    for item in items:
        if not isinstance(item, list) or len(item) != 2:
            raise _misfit(at, "an array of pairs")
        yield item[0], item[1]


def _hashable(value: Any, at: str) -> Any:
    try:
        hash(value)
    except TypeError:
        raise _misfit(at, "a value that may be in a set") from None
    return value


def _number(text: str, at: str) -> int | Fraction:
    try:
        number = exact_number(text)
    except ValueError:
        raise _misfit(at, "a number") from None
    return int(number) if number.denominator == 1 else number


def _misfit(at: str, wanted: str) -> MalformedIR:
    return MalformedIR(f"at `{at}`, {wanted} is wanted" if at else f"{wanted} is wanted")
