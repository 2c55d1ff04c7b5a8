"""Random replies to open decisions, for games that are tried out without players.

A reply is of the right type; whether it meets the step's `valid` is for the caller to check. It
depends on the type and the state of the generator alone.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any, assert_never

from gamedsl.ir.json_types import fields_of, lengths, range_of
from gamedsl.ir.program import Said
from gamedsl.ir.types import (
    Bag,
    Bool,
    Enum,
    Grid,
    List,
    Never,
    NoneType,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Set,
    Text,
    Tuple,
    Type,
    Union,
    domain,
    plain,
    text_or_record,
)  # fmt: skip
from gamedsl.prompting.replies import open_reply_name

PHRASES = (
    "a", "no", "Yes.", "42", "hm…", "Why not?", "I am not sure.", "That is {all} I have to say.",
    "nächste Runde", "どうぞ", "да", "👍🏽", 'She said "so what" \\ and left.',
    "First this,\n\tthen that.", "</think> <answer>a</answer>",
)  # fmt: skip
"""Phrases that texts are drawn from; prompts and replies must get along with the odd ones."""

PLAIN_PHRASES = (
    "Yes.", "No.", "Why not?", "I agree.", "I am not sure.", "Let us wait and see.",
    "That is all I have to say.",
)  # fmt: skip
"""Phrases from which a model may learn: plain sentences."""

PLAIN_WORDS = "no", "a"
"""Where no sentence fits the limit of a text: plain words, the longest first."""

PROGRAMS = (
    "x",
    "pass",
    "def f(n):\n    return n + 1",
    "print('```')",
    "assert f(2) == 3\n\nassert f(-1) == 0\n",
)

PLAIN_PROGRAMS = tuple(p for p in PROGRAMS if "`" not in p)
"""Programs from which a model may learn."""

_MOST_ITEMS = 3
_FAR = 99


def random_reply(
    said: Said, type: Type, seats: tuple[str, ...], random: Random, number: int | None = None,
    *, plain_words: bool = False,
) -> str:  # fmt: skip
    """Returns the canonical name of a random reply. Raises ValueError where the type has no value,
    or none that fits its limits. Of several replies, by their `number`, every second one is a text
    where a text or an object may be said. With `plain_words` a text is a plain sentence; where none
    fits its limit a plain word; and empty where that does not fit either."""
    spoken = PLAIN_PHRASES if plain_words else PHRASES
    texts = spoken if plain_words else ("", *PHRASES)
    kinds = text_or_record(type) if said.form == "either" else None
    if kinds is not None and number is None:
        number = random.randrange(2)
    value: Any
    if kinds is not None and number is not None and number % 2 == 0:
        value = _text(kinds.text, tuple(p for p in spoken if "{" not in p), random)
    elif said.form in ("json", "either"):
        value = _value(type if kinds is None else kinds.record, seats, random, texts)
    elif said.form == "tool":
        assert isinstance(type, Record)
        called = random.randrange(len(type.fields))
        parts = enumerate(type.types)
        value = tuple(
            _value(plain(of), seats, random, texts) if at == called else None for at, of in parts
        )
    else:
        programs = PLAIN_PROGRAMS if plain_words else PROGRAMS
        value = _text(type, programs if said.form == "code" else spoken, random)
    return open_reply_name(value, said, type, seats)


def _text(type: Type, phrases: tuple[str, ...], random: Random) -> str:
    limit = type.limit if isinstance(type, Text) else None
    fitting = [p for p in phrases if limit is None or len(p) <= limit]
    if not fitting:
        fitting = [word for word in PLAIN_WORDS if limit is not None and len(word) <= limit][:1]
    return random.choice(fitting or [""])


def _value(
    type: Type, seats: tuple[str, ...], random: Random, texts: tuple[str, ...]
) -> Any:  # fmt: skip
    match type:
        case Bool():
            return random.random() < 0.5
        case Number():
            return _number(type, random)
        case Enum(members=names):
            return random.choice(names)
        case Seat():
            return random.choice(seats)
        case Text():
            return _text(type, texts, random)
        case Option(of=inner):
            return None if random.random() < 0.5 else _value(inner, seats, random, texts)
        case Union(of=options):
            return _value(random.choice(options), seats, random, texts)
        case List(of=inner):
            least, most = lengths(type)
            count = random.randint(least, max(least, min(most, _MOST_ITEMS)))
            return tuple(_value(inner, seats, random, texts) for _ in range(count))
        case Grid(rows=rows, columns=columns, of=inner):
            return tuple(_value(inner, seats, random, texts) for _ in range(rows * columns))
        case Tuple(of=types):
            return tuple(_value(of, seats, random, texts) for of in types)
        case Set(of=inner):
            values = domain(inner, seats) or ()
            count = random.randint(0, min(len(values), _MOST_ITEMS))
            return frozenset(random.sample(values, count))
        case Record(types=types):
            return tuple(_value(of, seats, random, texts) for of in types)
        case PerValue() | PerSeat():
            fields = (f for f in fields_of(type, seats) if f.needed or random.random() < 0.5)
            return {field.key: _value(field.type, seats, random, texts) for field in fields}
        case NoneType() | Never() | Bag():
            return None
    assert_never(type)


def _number(type: Number, random: Random) -> int | Fraction:
    low, high = range_of(type)
    if type.low is None:
        low, high = -_FAR, _FAR
    number = random.randint(low, high)
    return number if type.whole or random.random() < 0.5 else Fraction(number, 4)
