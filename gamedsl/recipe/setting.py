"""The rows of the table of settings: how one setting is declared, and what follows from that.

A group of settings is a frozen dataclass whose fields are made by `setting`. The annotation of a
field is the type of the setting, so nothing is said twice:

    int, float              a number, from `low` to `high` (with `above`, `low` itself is excluded)
    bool                    true or false
    str                     any text, or one that matches `pattern`; `noun` describes it
    Literal["a", "b"]       one of these words
    tuple[float, float]     a list of two numbers in the range
    tuple[str, ...]         a list of names
    tuple[Literal[..], ...] a list of any of these words
    tuple[A | B, ...]       a list of plain values
    X | None                X, or the word `absent`, for which the group holds None

`specs` reads such a class back as rows. Checks, `--set`, the schema, the reference page and the
files of runs are made from the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from gamedsl.recipe.table import Recipe

AfterThoughts = Literal["no", "yes", "drawn"]
Kind = Literal["whole", "number", "truth", "word", "name", "names", "flags", "pair", "list", "map"]

_ROW = "setting"


@dataclass(frozen=True)
class ReadIf:
    """A condition under which a setting is read.

    `decider` names the setting that decides. `test` is given its value, or that of the recipe's
    `attribute` where one is named. `instead` is what a message proposes to write. A condition of a
    `method` holds under every other.
    """

    decider: str
    test: Callable[[Any], object]
    instead: str
    attribute: str = ""
    method: str = ""

    def holds(self, recipe: Recipe) -> bool:
        """Whether the recipe meets the condition; the decider may be a method's own setting."""
        if self.method and recipe.method != self.method:
            return True
        return bool(self.test(recipe.value(self.attribute or self.decider)))


def is_one_of(decider: str, *values: object) -> ReadIf:
    """Read where another setting has one of these values; the last is proposed."""
    return ReadIf(decider, lambda value: value in values, f"`{decider}: {values[-1]}`")


def is_set(decider: str, instead: str = "") -> ReadIf:
    """Read where another setting has a value at all."""
    return ReadIf(decider, lambda value: value is not None, instead or f"`{decider}`")


@dataclass(frozen=True)
class SettingSpec:
    """One setting of the table.

    `choices` are the words that it accepts, and `absent` the one of them that stands for None. A
    "map" has keys of the user's, and a module of its own reads it; `form` says what it maps.
    `in_words` holds the values, as the recipe has them, that games in words accept: None accepts
    all. A setting that is `closed_only` cannot be set for such a game, and one that is
    `written_only` for no other. Both limits of games in words fall `after_thoughts`: where all that
    is written are thoughts before choices, which are scored; for some settings only where the
    recipe has `thoughts` drawn ("drawn").
    """

    name: str
    kind: Kind
    default: Any
    doc: str
    low: float | None = None
    high: float | None = None
    above: bool = False
    choices: tuple[str, ...] = ()
    absent: str | None = None
    form: str = ""
    in_words: tuple[object, ...] | None = None
    closed_only: bool = False
    closed_because: str = ""
    """Why games in words cannot have it, or its other values."""
    after_thoughts: AfterThoughts = "no"
    written_only: bool = False
    read_if: tuple[ReadIf, ...] = ()
    names_player: bool = False
    """Whether the value names a player, as `roles` and `opponents` do."""
    noun: str = "a name"
    pattern: str = ""
    example: str = ""
    """A value as users write it, for messages about settings that have no default."""
    formerly: str = ""
    """The last part of an earlier name, which recipes and runs of that time have; "" for none."""

    @property
    def group(self) -> str:
        """The first part of its name: that of its group, or its own."""
        return self.name.partition(".")[0]

    def accepts(self) -> str:
        """Describes the values that it accepts, in words."""
        words = [f"`{word}`" for word in self.choices]
        match self.kind:
            case "word":
                return " or ".join(words)
            case "truth":
                return "`true` or `false`"
            case "name":
                return self.noun
            case "flags":
                return "a list of any of " + ", ".join(words)
            case "list":
                return "a list of values"
            case "map":
                return f"a map of {self.form}"
            case "whole":
                noun = "a whole number"
            case "number":
                noun = "a number"
            case "pair":
                noun = "a list of two numbers"
            case "names":
                noun = "a list of names"
        return " or ".join([noun + self._range(), *words])

    def _range(self) -> str:
        if self.low is None:
            return ""
        low = _bound(self.low)
        if self.high is None:
            return f" above {low}" if self.above else f" of at least {low}"
        if self.above:
            return f" above {low} and at most {_bound(self.high)}"
        return f" from {low} to {_bound(self.high)}"

    def fits(self, value: Any) -> bool:
        """Whether a value is of the right type, in range or not."""
        if isinstance(value, str):
            return value in self.choices or (self.kind == "name" and self._is_name(value))
        match self.kind:
            case "pair" | "names" | "flags" | "list" if not isinstance(value, list):
                return False
            case "whole":
                return is_number(value) and Fraction(value).denominator == 1
            case "number":
                return is_number(value)
            case "truth":
                return isinstance(value, bool)
            case "word" | "name" | "map":
                return False
            case "pair":
                return len(value) == 2 and all(map(is_number, value))
            case "names":
                return bool(value) and all(isinstance(one, str) for one in value)
            case "flags":
                return all(one in self.choices for one in value)
            case "list":
                return all(isinstance(one, int | Fraction | str) for one in value)

    def _is_name(self, text: str) -> bool:
        return bool(re.fullmatch(self.pattern, text) if self.pattern else text.strip())

    def in_range(self, value: Any) -> bool:
        """Whether all numbers of a value lie in the range."""
        numbers = [n for n in (value if isinstance(value, list) else [value]) if is_number(n)]
        return all(
            (self.low is None or (n > self.low if self.above else n >= self.low))
            and (self.high is None or n <= self.high)
            for n in numbers
        )

    def converted(self, value: Any) -> Any:
        """The value as a recipe holds it: floats for fractions, tuples for lists, None for the
        absent word."""
        if self.absent is not None and value == self.absent:
            return None
        match self.kind:
            case "whole":
                return int(value)
            case "number":
                return float(value)
            case "pair":
                return tuple(map(float, value))
            case "flags" if isinstance(value, str):
                return (value,)
            case "names" | "flags":
                return tuple(value)
            case "list":
                return tuple(float(one) if isinstance(one, Fraction) else one for one in value)
            case "truth" | "word" | "name" | "map":
                return value

    def plain(self, value: Any) -> Any:
        """The inverse of `converted`: the value as a `train:` section has it."""
        if value is None:
            return self.absent
        return list(value) if isinstance(value, tuple) else value


def setting(
    default: Any, doc: str, *, low: float | None = None, high: float | None = None,
    above: bool = False, absent: str | None = None, form: str = "",
    in_words: tuple[object, ...] | None = None, closed_only: bool = False,
    closed_because: str = "", after_thoughts: AfterThoughts = "no", written_only: bool = False,
    read_if: ReadIf | tuple[ReadIf, ...] = (), names_player: bool = False, noun: str = "a name",
    pattern: str = "", example: str = "", formerly: str = "",
) -> Any:  # fmt: skip
    """A field of a group of settings; the arguments are as in `SettingSpec`.

    `default` is written as users write it. It stands in the table alone, since methods have
    defaults of their own.
    """
    row = {
        "default": default, "doc": doc, "low": low, "high": high, "above": above, "absent": absent,
        "form": form, "in_words": in_words, "closed_only": closed_only,
        "closed_because": closed_because, "after_thoughts": after_thoughts,
        "written_only": written_only,
        "names_player": names_player, "noun": noun, "pattern": pattern, "example": example,
        "formerly": formerly,
        "read_if": (read_if,) if isinstance(read_if, ReadIf) else read_if,
    }  # fmt: skip
    return field(metadata={_ROW: row})


def optional_setting(doc: str, **row: Any) -> Any:
    """A field as `setting` makes it, whose value is None where nothing is given."""
    return field(default=None, metadata=setting(None, doc, **row).metadata)


def group(
    *read_if: ReadIf,
    closed_only: bool = False,
    closed_because: str = "",
    after_thoughts: AfterThoughts = "no",
    written_only: bool = False,
) -> dict[str, Any]:
    """The metadata of a field that holds a group; it applies to every setting in the group."""
    return {_ROW: {
        "closed_only": closed_only, "closed_because": closed_because,
        "after_thoughts": after_thoughts, "written_only": written_only, "read_if": read_if,
    }}  # fmt: skip


@cache
def field_types(settings: Any) -> Mapping[str, Any]:
    """The types of the fields of a class."""
    return get_type_hints(settings)


@cache
def specs(settings: Any, prefix: str = "") -> tuple[SettingSpec, ...]:
    """The rows of a class of settings and of the groups in it, in order."""
    return tuple(_specs(settings, prefix))


def _specs(settings: Any, prefix: str) -> Iterator[SettingSpec]:
    hints = field_types(settings)
    for one in fields(settings):
        row: Mapping[str, Any] = one.metadata.get(_ROW, {})
        if "default" in row:
            kind, words = ("map", ()) if row["form"] else _kind(hints[one.name])
            choices = words if row["absent"] is None else (row["absent"], *words)
            yield SettingSpec(f"{prefix}{one.name}", kind, choices=choices, **row)
        elif is_dataclass(hints[one.name]):
            for spec in specs(hints[one.name], f"{one.name}."):
                yield _within(spec, row)


def _within(spec: SettingSpec, row: Mapping[str, Any]) -> SettingSpec:
    """A setting of a group of which `row` says something."""
    closed = spec.closed_only or row.get("closed_only", False)
    written = spec.written_only or row.get("written_only", False)
    read = (*row.get("read_if", ()), *spec.read_if)
    because = spec.closed_because or row.get("closed_because", "")
    after = row.get("after_thoughts", "no") if spec.after_thoughts == "no" else spec.after_thoughts
    return replace(
        spec, closed_only=closed, closed_because=because, after_thoughts=after,
        written_only=written, read_if=read,
    )  # fmt: skip


def _kind(hint: Any) -> tuple[Kind, tuple[str, ...]]:
    """The kind of an annotation, and its words."""
    if get_origin(hint) is UnionType or NoneType in get_args(hint):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is Literal:
        return "word", get_args(hint)
    if get_origin(hint) is tuple:
        first, last = get_args(hint)
        if first is str:
            return "names", ()
        if get_origin(first) is Literal:
            return "flags", get_args(first)
        return ("list" if last is Ellipsis else "pair"), ()
    plain: dict[type, Kind] = {int: "whole", float: "number", bool: "truth", str: "name"}
    return plain[hint], ()


def _bound(number: float) -> str:
    """The end of a range, as people write it."""
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def is_number(value: Any) -> bool:
    """Whether a plain value is a number; truth values are none."""
    return isinstance(value, int | Fraction | float) and not isinstance(value, bool)
