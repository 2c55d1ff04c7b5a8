"""Expressions in words: `stake if me == winner else -stake` as `stake if it is the winner, else
-stake`.

Every expression has a text. Sums, conditions and the common built-ins read as sentences; of the
rest, the notation of the language stands, and `unexplained` holds the built-ins that a reader must
be told the meaning of, which their rows give. Names are those of the file, `_` read as a space.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any, NamedTuple, assert_never

from gamedsl.calls.registry import lookup
from gamedsl.ir.builtins import BUILTINS
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.expr import (
    Apply,
    Build,
    Cell,
    Collect,
    Const,
    Consult,
    Expr,
    Field,
    Get,
    If,
    LastBy,
    LetCall,
    LetMap,
    Local,
    Logic,
    Me,
    Past,
    Read,
    Stream,
    Table,
    expressions_in,
    loops_of,
    walk,
)  # fmt: skip
from gamedsl.ir.game import GameIR
from gamedsl.ir.graphs import Adjacency, grid_shape
from gamedsl.ir.program import Choose, Loop, walk_steps
from gamedsl.ir.rows import is_rows
from gamedsl.ir.types import (
    SEAT,
    TEXT,
    Bag,
    Bool,
    Grid,
    List,
    Number,
    PerSeat,
    PerValue,
    Record,
    Set,
    Text,
    Tuple,
    Type,
    domain,
    plain,
    text_or_record,
    valued,
)  # fmt: skip
from gamedsl.ir.values import Bag as BagValue
from gamedsl.ir.values import name_of
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.templates import as_prompt_text

LISTED = 12
"""Values of a collection that are listed; of a longer one their number is told."""


class Person(NamedTuple):
    """States how a sentence refers to the seat that its expressions are for."""

    subject: str
    possessive: str


IT = Person("it", "its")
"""The seat that the sentence has named."""

_CLAUSE, _AND, _COMPARISON, _PHRASE, _NOUN, _SUM, _PRODUCT, _POWER, _ATOM = range(9)
"""How closely a text holds together, the loosest first: a phrase has a clause in it, a noun has
none."""

_CLAUSES = (" where ", " whose ", " for each ", " that are ", " if ")

_SYMBOLS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT}

_COMPARED = {
    "==": ("is", "is not"), "!=": ("is not", "is"),
    "<": ("is less than", "is not less than"), "<=": ("is at most", "is more than"),
    ">": ("is more than", "is at most"), ">=": ("is at least", "is less than"),
    "in": ("is in", "is not in"), "not in": ("is not in", "is in"),
}  # fmt: skip
"""Each comparison, as it holds and as it does not."""

_CALLED = {
    "abs": "the size of {0} without its sign", "floor": "{0}, rounded down",
    "ceil": "{0}, rounded up", "sign": "the sign of {0} (1, 0 or -1)",
    "len": "the number of items of {0}", "size": "the number of items of {0}",
    "distance": "the number of steps from {0} to {1}", "other": "the player other than {0}",
    "others": "the players other than {0}", "cells": "all cells of {0}",
    "empty": "the empty cells of {0}",
    "lowest_empty": "the lowest empty cells of the columns of {0}",
    "slots": "the places in {0} (from 0)", "keys": "the different items of {0}",
    "first": "the first of {0}", "last": "the last of {0}", "reversed": "{0} from its end",
    "sorted": "{0} in order, the least first", "set": "the different items of {0}",
    "list": "{0}", "mean": "the mean of {0}", "sum": "the sum of {0}",
    "line": "the mark that fills {1} cells in a row of {0}, along a row, a column or a diagonal",
    "neighbors": "the neighbors of {0}",
    "reachable": "what a chain of neighbors in {1} joins to {0}, both included",
    "component": "all that a chain of neighbors with one content joins to {1} in {0}",
    "intersection": "all in both {0} and {1}",
    "difference": "all in {0} and not in {1}",
    "ranked": "the players, the one with the highest of {0} first",
    "argmax": "the player with the highest of {0} (nobody on a tie)",
    "best": "the players with the highest of {0}",
}  # fmt: skip
"""The phrases for built-ins whose arguments are told in order. A built-in that has none is written
as a call, and its row explains it."""


_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
"""The words for the places in a list, by their index."""


_NEIGHBORS = {
    "square": "cells that share an edge",
    "king": "cells that share an edge or a corner",
    "torus": "cells that share an edge, where the first row is also beside the last, and the "
    "first column beside the last",
    "hex": "the cell (r, c) touches (r, c-1), (r, c+1), (r-1, c), (r-1, c+1), (r+1, c-1) and "
    "(r+1, c)",
}
"""Which cells are neighbors, by the neighborhood of their grid."""


def named(name: str) -> str:
    """Returns a name of the file as words: without the file that it comes from (`stage.move`) and
    the number of its use (`owed.2`), `_` as a space."""
    parts = [part for part in name.split(".") if not part.isdigit()]
    return parts[-1].replace("_", " ")


def plural(name: str) -> str:
    """Returns several of what a name stands for: `guesses` of `guess`."""
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh", "z")) else f"{name}s"


def listed(parts: Iterable[str], last: str = "and") -> str:
    """Returns texts as a list in a sentence: `a, b and c`; with `;` where one holds a comma."""
    *start, end = list(parts) or ["nothing"]
    if not start:
        return end
    mark = "; " if any("," in part for part in (*start, end)) else ", "
    return f"{mark.join(start)} {last} {end}"


class Phrases:
    """The texts of the expressions of one game, under the labels of `book`."""

    def __init__(self, ir: GameIR, book: LabelBook, shown_role: Mapping[str, str]) -> None:
        self._book, self._roles = book, shown_role
        self._names = frozenset(book.label(name) for name, _ in book.pairs)
        self._me = IT
        self._called: dict[str, str] = {}
        """What locals are called that have no name in the game."""
        self._lets = ir.lets_by_name
        self._once = _single_reads(ir)
        self._bare = _items_of(ir)
        self._referees = _only_of_referees(ir)
        self._replied = _fields_of_replies(ir)
        self.used: dict[str, None] = {}
        """The lets that the texts so far name, in order."""
        self.unexplained: dict[str, str] = {}
        """The built-ins that the texts so far call by name, in order."""
        self.counts_places = False
        """Whether the texts so far find an item of a list by a place that play decides: a loop's
        variable is told with its values."""
        self.constants: dict[str, Any] = {}
        """The params whose entries the texts so far look up, with their values."""
        self.let_names: dict[str, str] = {let.name: named(let.name) for let in ir.lets}

    @contextmanager
    def spoken_of(self, person: Person) -> Iterator[None]:
        """Has `me` be a person in the texts made inside."""
        before, self._me = self._me, person
        try:
            yield
        finally:
            self._me = before

    @contextmanager
    def calling(self, **locals: str) -> Iterator[None]:
        """Has locals be called so in the texts made inside."""
        before, self._called = self._called, {**self._called, **locals}
        try:
            yield
        finally:
            self._called = before

    @property
    def me(self) -> Person:
        """The seat that expressions are for, as sentences refer to it now."""
        return self._me

    def role(self, seat: str) -> str:
        """Returns how prompts call a seat."""
        return self._roles.get(seat, seat)

    def field(self, name: str) -> str:
        """Returns the name of a record's field: as replies write it, or as words."""
        return name if name in self._replied else name.replace("_", " ")

    # values

    def value(self, value: Any, type: Type | None = None) -> str:
        """Returns a value as prompts name it; a long collection by its size."""
        if value is None:
            return "nobody" if type is not None and plain(type) == SEAT else "nothing"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | Fraction):
            return str(as_prompt_text(value))
        if isinstance(value, str):
            return self._roles.get(value) or self._label(value)
        if isinstance(value, BagValue):
            return self._bag(value)
        if isinstance(value, dict):
            entries = [f"{self.value(k)}: {self.value(v)}" for k, v in value.items()]
            nested = any("," in entry for entry in entries)
            return "; ".join(entries) if nested else listed(entries)
        if isinstance(value, frozenset):
            value = in_order(value, type)
        if isinstance(value, tuple) and isinstance(plain(type) if type else None, Record | Tuple):
            return self._label(name_of(value))
        form = parts_of(element_type(type)) if type is not None else ""
        return self.items(value, form=form)

    def items(self, values: Iterable[Any], last: str = "", form: str = "") -> str:
        """Returns the values of a collection: a range of numbers, all of a short one, else how
        many there are."""
        known = list(values)
        if len(known) > 2 and all(type(value) is int for value in known):
            low, high = known[0], known[-1]
            if known == list(range(low, high + 1)):
                return f"{low} to {high}"
        parts = [self._part(value) for value in known]
        if len(parts) > LISTED:
            return f"{len(parts)} values{f' ({form})' if form else ''}, such as {parts[0]}"
        if last:
            return listed(parts, last)
        return ("; " if any("," in part for part in parts) else ", ").join(parts) or "nothing"

    def nested(self, value: Any) -> str:
        """Returns a constant with brackets around each of its lists."""
        if isinstance(value, tuple):
            return f"[{', '.join(map(self.nested, value))}]"
        return self.value(value)

    def _part(self, value: Any) -> str:
        """Returns an item of a collection: a tuple by its name."""
        return self._label(name_of(value)) if isinstance(value, tuple) else self.value(value)

    def _bag(self, bag: BagValue) -> str:
        parts = [
            self._part(item) if count == 1 else f"{count} times {self._part(item)}"
            for item, count in bag.items()
        ]
        if not parts:
            return "nothing"
        if all(count == 1 for count in bag.values()):
            return self.items(bag)
        return listed(parts) if len(parts) <= LISTED else f"{sum(bag.values())} items"

    def _label(self, name: str) -> str:
        return self._book.relabelled(name, self._roles)

    # expressions

    def text(self, expr: Expr) -> str:
        """Returns the text of a value."""
        return self._at(expr, _CLAUSE)

    def operand(self, expr: Expr) -> str:
        """Returns the text of a value inside a sentence, in brackets where it has parts."""
        return self._at(expr, _PHRASE)

    def condition(self, expr: Expr, holds: bool = True) -> str:
        """Returns a clause that says that a condition holds, or does not."""
        return self._clause(expr, holds)[0]

    def _at(self, expr: Expr, least: int) -> str:
        text, level = self._phrase(expr)
        return text if level >= least else f"({text})"

    def _phrase(self, expr: Expr) -> tuple[str, int]:
        """Returns the text of a value, and how closely it holds together."""
        expr = self.inlined(expr)
        match expr:
            case Const(value=str() as value, type=Text(), origin=origin):
                return (json.dumps(value) if origin is None else named(origin)), _ATOM
            case Const(origin=str() as origin) if is_rows(expr):
                return f"the rows of {named(origin)}", _PHRASE
            case Const(value=value, type=type):
                text = self.value(value, type)
                return text, _ATOM if " " not in text else _PHRASE
            case Me():
                return self._me.subject, _ATOM
            case Local(name=name) if name in self._called:
                return self._called[name], _ATOM
            case Read(name=name) | LastBy(name=name) | Local(name=name) | Stream(name=name):
                if referees := self._referees_of(expr):
                    return f"the {named(name)} of {referees}", _PHRASE
                if isinstance(expr.type, PerSeat):
                    return f"all players' {named(name)}", _PHRASE
                if plain(expr.type) == SEAT and isinstance(expr, Read) and name not in self._bare:
                    return f"the {named(name)}", _ATOM
                return named(name), _ATOM
            case LetMap(name=name):
                self.used[name] = None
                return f"all players' {self.let_names.get(name, named(name))}", _PHRASE
            case LetCall():
                return self._let(expr)
            case Past(name=name):
                return f"all {plural(named(name))} so far", _PHRASE
            case If(test=test, then=then, other=other):
                if isinstance(decided := self.decided(test), Const):
                    return self._phrase(then if decided.value else other)
                text = f"{self._branch(then, expr.type, _PHRASE)} if {self.condition(test)}"
                return f"{text}, else {self._branch(other, expr.type, _CLAUSE)}", _CLAUSE
            case Get(of=of, key=key):
                return self._got(of, key)
            case Field(of=of, index=index):
                return self._field(of, index)
            case Cell(of=of, key=key):
                return f"cell {self._at(key, _ATOM)} of {self._at(of, _ATOM)}", _PHRASE
            case Build(items=items):
                return f"({', '.join(map(self.text, items))})", _ATOM
            case Collect():
                return self._collected(expr), _CLAUSE
            case Table(keys=keys):
                return f"the entry of the table for {listed(map(self.text, keys))}", _PHRASE
            case Apply():
                chained = loops_of(expr)
                return (self._collected(expr), _CLAUSE) if chained else self._applied(expr)
            case Consult(function=function, arguments=given):
                found = lookup(function)
                assert found is not None, "the compiler has looked it up"
                self.unexplained[function] = found.doc
                told = ", ".join(self._many(argument) for _, argument in given)
                return f"{function}({told})", _ATOM
            case Logic():
                return f"whether {self.condition(expr)}", _COMPARISON
            case _:
                assert_never(expr)

    def inlined(self, expr: Expr) -> Expr:
        """Returns what a name of a protocol stands for, where nothing else reads it."""
        while isinstance(expr, LetCall) and expr.name in self._once and not expr.arguments:
            if not isinstance(expr.seat, Me | None):
                break
            expr = self._lets[expr.name].body
        return expr

    def decided(self, expr: Expr) -> Expr:
        """Returns a condition without what a constant, such as a param, decides in it."""
        expr = self.inlined(expr)
        if isinstance(expr, Logic):
            for one, other in ((expr.left, expr.right), (expr.right, expr.left)):
                one = self.decided(one)
                if isinstance(one, Const):
                    return one if one.value == (expr.op == "or") else self.decided(other)
        if isinstance(expr, Apply) and all(isinstance(one, Const) for one in expr.arguments):
            with suppress(EvaluationError):
                return Const(expr.type, expr.span, evaluate(expr, Scope()))
        return expr

    def _branch(self, expr: Expr, type: Type, least: int) -> str:
        """Returns one of the values of a conditional; none as its type has it."""
        if isinstance(expr, Const) and expr.value is None:
            return self.value(None, type)
        return self._at(expr, least)

    def _let(self, expr: LetCall) -> tuple[str, int]:
        self.used[expr.name] = None
        name = self.let_names.get(expr.name, named(expr.name))
        if expr.arguments:
            return f"{name}({', '.join(map(self.text, expr.arguments))})", _ATOM
        if expr.seat is None:
            return (f"the {name}" if plain(expr.type) == SEAT else name), _ATOM
        return self.owned(name, expr.seat), _ATOM

    def _referees_of(self, expr: Expr) -> str:
        """Returns the referees that a variable has an entry for each of, where none is a
        player's."""
        if not isinstance(expr, Read | LastBy) or not isinstance(expr.type, PerSeat):
            return ""
        seats = self._referees.get(expr.name)
        return listed(map(self.role, seats)) if seats else ""

    def owned(self, name: str, seat: Expr) -> str:
        """Returns what is a seat's own: `its card`, `ann's card`, `the card of winner`."""
        match seat:
            case Me():
                return f"{self._me.possessive} {name}"
            case Const(value=str() as known):
                return f"{self.role(known)}'s {name}"
            case Apply(function="other", arguments=(Me(), *_)):
                return f"the other's {name}"
            case Local(name=local):
                owner = self._called.get(local, local)
                return f"the {name} of {owner}" if " " in owner else f"{owner}'s {name}"
            case Read(name=read) if read in self._bare:
                return f"{read}'s {name}"
            case _:
                return f"the {name} of {self._at(seat, _ATOM)}"

    def _got(self, of: Expr, key: Expr) -> tuple[str, int]:
        kind = plain(of.type)
        match of:
            case Read(name=name) | LastBy(name=name) | Local(name=name) | Stream(name=name):
                whose = named(name)
            case LetMap(name=name):
                self.used[name] = None
                whose = self.let_names.get(name, named(name))
            case _:
                whose = ""
        if whose and isinstance(kind, PerSeat):
            return self.owned(whose, key), _ATOM
        if isinstance(of, Const) and of.origin is not None:
            whose = named(of.origin)
            if not is_rows(of):
                self.constants[of.origin] = of.value
        fields = isinstance(kind, Record)
        if fields and isinstance(key, Apply) and key.function == "index":
            key = key.arguments[0]  # a record that is read as a map finds its field by the key
        if isinstance(kind, PerValue) or (fields and not isinstance(of, Local)):
            article = "the " if whose else ""
            return f"{article}{whose or self._at(of, _ATOM)} of {self._at(key, _ATOM)}", _ATOM
        if isinstance(kind, PerSeat):
            return f"{self._at(of, _ATOM)} of {self._at(key, _ATOM)}", _PHRASE
        if isinstance(kind, List) and isinstance(key, Const) and key.value in range(len(_ORDINALS)):
            return f"the {_ORDINALS[key.value]} of {whose or self._at(of, _NOUN)}", _NOUN
        return self.item(whose or self._at(of, _ATOM), key), _ATOM

    def item(self, of: str, place: Expr) -> str:
        """Returns the item of a list at a place: `deck[n]`."""
        self.counts_places |= not isinstance(place, Local)
        return f"{of}[{self.text(place)}]"

    def _field(self, of: Expr, index: int) -> tuple[str, int]:
        kind = plain(of.type)
        if isinstance(kind, Record):
            whole, field = self._at(of, _ATOM), self.field(kind.fields[index][0])
            chained = "'s " in whole or (" of " in whole and not whole.startswith("("))
            return (f"the {field} of {whole}" if chained else f"{whole}'s {field}"), _ATOM
        part = ("row", "column")[index] if is_cell(kind) else f"part {index + 1}"
        return f"the {part} of {self._at(of, _ATOM)}", _ATOM

    def _collected(self, expr: Expr) -> str:
        """Returns the items of a comprehension: `its value of g for each g in Good`."""
        *outer, last = loops = loops_of(expr)
        if not outer and isinstance(last.item, Local) and last.targets == (last.item.name,):
            if (one := self._left_out(last)) is not None:
                return f"each of {self.source(last.source)} other than {self._at(one, _NOUN)}"
            return f"each {self._loop(last)}"
        return f"{self._at(last.item, _PHRASE)} for {self._loops(loops, 'each')}"

    def _left_out(self, loop: Collect) -> Expr | None:
        """Returns the one item that a loop leaves out, where that is all that its condition
        says."""
        match None if loop.condition is None else self.decided(loop.condition):
            case Apply(
                function="!=",
                arguments=(Local(name=name), one) | (one, Local(name=name)),
            ) if (name,) == loop.targets and not _reads(one, name):
                return one
            case _:
                return None

    def _loops(self, loops: Iterable[Collect], every: str) -> str:
        """Returns what some loops go through: `each a of A and each b of B`."""
        return _joined([f"{every} {self._loop(loop)}" for loop in loops])

    def _loop(self, loop: Collect) -> str:
        names, test = ", ".join(loop.targets), self._condition_clause(loop.condition)
        return f"{names} of {self.source(loop.source)}{test}"

    def _condition_clause(self, condition: Expr | None) -> str:
        """Returns ` where ...`; nothing where every item passes."""
        decided = None if condition is None else self.decided(condition)
        if decided is None or (isinstance(decided, Const) and decided.value is True):
            return ""
        return f" where {self.condition(decided)}"

    def source(self, source: Expr) -> str:
        """Returns the collection of a comprehension; all roles as `the players`."""
        if isinstance(source, Const) and source.value == tuple(self._roles)[: len(source.value)]:
            return "the players"
        return self._at(source, _PHRASE)

    # operators and built-ins

    def _members(self, collection: Expr) -> str:
        """Returns the members of a collection, of which others are added: those of a list one by
        one, and without a word of the set that is made of it."""
        match collection:
            case Apply(function="set", arguments=(inner,)):
                return self._members(inner)
            case Build(items=items) if items:
                return listed(map(self.text, items))
            case _:
                return self._at(collection, _NOUN)

    def _applied(self, expr: Apply) -> tuple[str, int]:
        """Returns an operator or a built-in in words; a constant result as its value."""
        is_told = isinstance(expr.type, Number | Bool) or not any(map(is_rows, expr.arguments))
        if is_told and all(isinstance(part, Const) for part in expr.arguments):
            with suppress(EvaluationError):
                return self._phrase(Const(expr.type, expr.span, evaluate(expr, Scope())))
        name, given = expr.function, written(expr)
        self._note_graph(expr)
        if isinstance(expr.type, Bool):
            return f"whether {self.condition(expr)}", _COMPARISON
        if name == "neg":
            text, level = self._phrase(given[0])
            return (f"-{text}", _POWER) if level >= _POWER else (f"minus {text}", _PHRASE)
        if name in _SYMBOLS:
            level = _SYMBOLS[name]
            return f"{self._at(given[0], level)} {name} {self._at(given[1], level + 1)}", level
        match name:
            case "min" | "max":
                return self._extreme(name, given)
            case "argmax" | "best" | "ranked":
                found = self._greatest(name, given)
            case "index" | "value_of":
                found = self._looked_up(name, given, expr.arguments[-1])
            case _:
                found = self._built_in(name, given)
        return found or self._by_pattern(name, given)

    def _extreme(self, name: str, given: tuple[Expr, ...]) -> tuple[str, int]:
        """Returns `min` or `max`, of numbers or of a collection."""
        least = "least" if name == "min" else "greatest"
        if len(given) == 1:
            if (extreme := self._of_players(given[0])) is not None:
                return _leveled(f"the {'lowest' if name == 'min' else 'highest'} {extreme}")
            return _leveled(f"the {least} of {self._many(given[0])}")
        if len(given) == 2:
            least = "smaller" if name == "min" else "larger"
        return f"the {least} of {listed(self._at(one, _SUM) for one in given)}", _NOUN

    def _greatest(self, name: str, given: tuple[Expr, ...]) -> tuple[str, int] | None:
        """Returns `argmax`, `best` or `ranked`, of a value that each player has or of a
        comprehension; None for another collection."""
        match name, given:
            case "argmax", (over,) if _is_map(over):
                who = f"the one of {whose}" if (whose := self._referees_of(over)) else "the player"
                text = f"{who} with the highest {self._map_name(over)}"
                return f"{text} (nobody on a tie)", _NOUN
            case _, (Collect() as of, Collect() as elements, *_):
                return _of_greatest(name, self._many(elements), self._at(of.item, _PHRASE))
            case "best", (over,) if _is_map(over):
                who = f"those of {whose}" if (whose := self._referees_of(over)) else "the players"
                return f"{who} with the highest {self._map_name(over)}", _NOUN
            case "ranked", (over,) if _is_map(over):
                highest = f"the one with the highest {self._map_name(over)}"
                return f"{self._referees_of(over) or 'the players'}, {highest} first", _NOUN
            case _:
                return None

    def _looked_up(self, name: str, given: tuple[Expr, ...], table: Expr) -> tuple[str, int] | None:
        """Returns `index` or `value_of`: the place of a value in an order, or its entry in the
        table of its type."""
        match name, given:
            case "index", (Me(),):
                return f"{self._me.possessive} place among the players (from 0)", _NOUN
            case "index", (value,):
                order = self._at(table, _CLAUSE)
                return f"the place of {self._at(value, _NOUN)} in {order} (from 0)", _NOUN
            case "value_of", (named_value,):
                enum = valued(named_value.type)
                if isinstance(table, Const) and all(
                    self._label(name) == name_of(value) for name, value in table.value.items()
                ):  # numbers or roles by their own names
                    return self._phrase(named_value)
                if enum is not None and isinstance(table, Const):
                    self.constants[f"values of {enum.name or 'names'}"] = table.value
                return f"the value of {self._many(named_value)}", _NOUN
            case _:
                return None

    def _built_in(self, name: str, given: tuple[Expr, ...]) -> tuple[str, int] | None:
        """Returns a built-in whose sentence depends on its arguments; None without one."""
        match name, given:
            case "**", (base, power):
                return f"{self._at(base, _ATOM)} ** {self._at(power, _ATOM)}", _POWER
            case "..", (low, high):
                return f"{self._at(low, _SUM)} to {self._at(high, _SUM)}", _PHRASE
            case "other", (Me(), *_):
                return "the other", _ATOM
            case "union", (one, two):
                return f"{self._members(one)} and {self._members(two)}", _CLAUSE
            case "abs", (Apply(function="-", arguments=(one, two)),):
                between = f"{self._at(one, _SUM)} and {self._at(two, _SUM)}"
                return f"the difference between {between}", _NOUN
            case "sign", (Apply(function="-", arguments=(one, two)),):
                more = f"1 if {self._at(one, _SUM)} is more than {self._at(two, _SUM)}"
                return f"{more}, -1 if it is less, 0 if they are equal", _CLAUSE
            case "count" | "len" | "size", (over,) if loops_of(over):
                return f"the number of {self._passing(over)}", _PHRASE
            case "count", (over, value):
                return self._counted(over, self._at(value, _PHRASE)), _PHRASE
            case "prev", (Read(name=read), *_):
                return f"the {named(read)} before the last", _NOUN
            case "clip", (number, *_):
                return f"{self._at(number, _SUM)}, moved to the nearest value allowed", _CLAUSE
            case _:
                return None

    def _by_pattern(self, name: str, given: tuple[Expr, ...]) -> tuple[str, int]:
        """Returns a built-in by its pattern, or else as a call, which its row explains."""
        pattern = _CALLED.get(name)
        if pattern is None:
            self.unexplained[name] = BUILTINS[name].about
            return f"{name}({', '.join(map(self.text, given))})", _ATOM
        return _leveled(pattern.format(*(self._many(one) for one in given)))

    def _of_players(self, over: Expr) -> str | None:
        """Returns `bid of all players`, or of those that a test leaves, of values that a name has
        for each player; None for any other values."""
        if _is_map(over):
            return f"{self._map_name(over)} of {self._referees_of(over) or 'all players'}"
        loops = loops_of(over)
        if len(loops) != 1 or self.source(loops[0].source) != "the players":
            return None
        match loops[0]:
            case Collect(item=Get(of=of, key=Local(name=key)), targets=(target,)) if (
                key == target and _is_map(of)
            ):
                value, test = self._map_name(of), loops[0].condition
            case _:
                return None
        match None if test is None else self.decided(test):
            case Apply(function="!=", arguments=(Local(name=name), one)) if name == target:
                return f"{value} of the players other than {self._at(one, _NOUN)}"
            case Apply(function="!=", arguments=(one, Local(name=name))) if name == target:
                return f"{value} of the players other than {self._at(one, _NOUN)}"
            case None:
                return f"{value} of all players"
            case decided:
                return f"{value} of the players {target} where {self.condition(decided)}"

    def _note_graph(self, expr: Apply) -> None:
        """Has the words below the rules say which nodes are neighbors."""
        graph = _graph_of(expr)
        if graph is None:
            return
        shape = grid_shape(graph)
        if shape is not None:
            self.constants["neighbors"] = _NEIGHBORS[shape]
            return
        place = {node: number for number, (node, _) in enumerate(graph)}
        pairs = ((n, m) for n, near in graph for m in near if place[n] < place[m])
        self.constants["neighbors"] = tuple(pairs)

    def _many(self, expr: Expr) -> str:
        """Returns an argument inside a phrase."""
        return self._collected(expr) if loops_of(expr) else self._at(expr, _PHRASE)

    def _map_name(self, over: Expr) -> str:
        match over:
            case LetMap(name=name):
                self.used[name] = None
                return self.let_names.get(name, named(name))
            case Read(name=name) | LastBy(name=name) | Stream(name=name):
                return named(name)
            case _:
                return self.text(over)

    def _counted(self, over: Expr, value: str) -> str:
        match over:
            case Past(name=name):
                return f"the number of {plural(named(name))} so far that are {value}"
            case Read() | LastBy() if referees := self._referees_of(over):
                return f"how many of {referees} have {value} as {self._map_name(over)}"
            case Read() | LastBy() | LetMap() if isinstance(over.type, PerSeat):
                return f"the number of players whose {self._map_name(over)} is {value}"
            case _:
                return f"the number of times that {value} is in {self._many(over)}"

    def _passing(self, over: Expr) -> str:
        """Returns what is counted: `n of 1 to 3 where n is more than 1`."""
        *outer, last = loops_of(over)
        if not outer and isinstance(last.item, Local):
            return self._collected(over).removeprefix("each ")
        counted = isinstance(last.item.type, Bool)
        tests = [test for test in (last.condition, last.item if counted else None) if test]
        names, source = ", ".join(last.targets), self.source(last.source)
        where = f" where {' and '.join(map(self.condition, tests))}" if tests else ""
        if not outer:
            return f"{names} of {source}{where}"
        return (
            f"combinations of {_joined([*map(self._loop, outer), f'{names} of {source}{where}'])}"
        )

    # conditions

    def _clause(self, expr: Expr, holds: bool) -> tuple[str, int]:
        expr = self.decided(expr)
        match expr:
            case Const(value=bool() as value):
                return ("always" if value == holds else "never"), _ATOM
            case Apply(function="not", arguments=(of,)):
                return self._clause(of, not holds)
            case Logic(op=op, left=left, right=right):
                joint = op if holds else "or" if op == "and" else "and"
                level = _AND if joint == "and" else _CLAUSE
                parts = [self._clause(one, holds) for one in (left, right)]
                other = _CLAUSE if joint == "and" else _AND  # `and` within `or` reads either way
                texts = [f"({t})" if at == other else t for t, at in parts]
                return f" {joint} ".join(texts), level
            case Apply(function=name) if name in _COMPARED:
                left, right = written(expr)
                return self._compared(name, left, right, holds), _COMPARISON
            case Apply(function="full", arguments=(board, *_)):
                return f"{self._at(board, _ATOM)} is {'' if holds else 'not '}full", _COMPARISON
            case Apply(function="is text", arguments=(of,)):
                return f"{self._at(of, _NOUN)} is {'a' if holds else 'no'} text", _COMPARISON
            case Apply(function="connected"):
                self._note_graph(expr)
                board, held, *groups = written(expr)
                ends = listed(map(self._many, groups))
                chain = f"a chain of neighbors in {self._many(board)} that hold"
                joins = "joins" if holds else "does not join"
                return f"{chain} {self._at(held, _NOUN)} {joins} {ends}", _COMPARISON
            case Apply(function="any" | "all" as name, arguments=(over, *_)):
                return self._quantified(name, over, holds), _COMPARISON
            case If(test=test, then=then, other=other):
                text = f"{self._clause(then, holds)[0]} where {self.condition(test)}"
                return f"({text}, else {self._clause(other, holds)[0]})", _ATOM
            case Apply(function=name) if isinstance(expr.type, Bool) and name not in _CALLED:
                self.unexplained[name] = BUILTINS[name].about
                called = f"{name}({', '.join(map(self.text, written(expr)))})"
                return f"{called} is {'true' if holds else 'false'}", _COMPARISON
            case _:
                return f"{self._at(expr, _NOUN)} is {'true' if holds else 'false'}", _COMPARISON

    def _compared(self, name: str, left: Expr, right: Expr, holds: bool) -> str:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Const) and isinstance(one.value, bool) and name in ("==", "!="):
                return self.condition(other, (one.value == holds) == (name == "=="))
        if isinstance(left, Const) and not isinstance(right, Const) and name in ("==", "!="):
            left, right = right, left
        if isinstance(right, Me) and not isinstance(left, Local) and name in ("==", "!="):
            left, right = right, left
        if isinstance(left, Me) and isinstance(right, Local) and right.name not in self._called:
            left, right = (right, left) if name in ("==", "!=") else (left, right)
        verb = _COMPARED[name][0 if holds else 1]
        truths = isinstance(left.type, Bool) and isinstance(right.type, Bool)
        if truths and name in ("==", "!="):
            same = (name == "==") == holds
            told = f"{self._truth(left)} is {'' if same else 'not '}the same as"
            return f"{told} {self._truth(right)}"
        if isinstance(right, Const) and right.value is None:
            none = self.value(None, left.type)
            some = "somebody" if none == "nobody" else "something"
            return f"{self._at(left, _NOUN)} is {none if verb == 'is' else some}"
        if name in ("in", "not in") and isinstance(right, Const | Build):
            verb = verb.replace(" in", " one of")
            items = right.items if isinstance(right, Build) else ()
            told = listed(map(self.text, items), "or") if items else self._at(right, _PHRASE)
            return f"{self._at(left, _NOUN)} {verb} {told}"
        return f"{self._at(left, _NOUN)} {verb} {self._at(right, _NOUN)}"

    def _truth(self, expr: Expr) -> str:
        text, level = self._phrase(expr)
        return text if level == _ATOM else f"({text})"

    def _quantified(self, name: str, over: Expr, holds: bool) -> str:
        some = (name == "any") == holds
        every = "some" if some else "every"
        if loops := loops_of(over):
            held = self.condition(loops[-1].item, holds)
            return f"for {self._loops(loops, every)}, {held}"
        if isinstance(over.type, PerSeat):
            told = f"is {'true' if holds else 'false'}"
            referees = self._referees_of(over)
            who = f"{'one' if some else 'each'} of {referees}" if referees else f"{every} player"
            return f"{self._map_name(over)} {told} for {who}"
        told = f"{'some' if some else 'all'} of {self._many(over)}"
        return f"{told} are {'true' if holds else 'false'}"


def _joined(loops: list[str]) -> str:
    """Returns what several loops go through, so that a condition is read with its own loop."""
    return (", " if any(" where " in loop for loop in loops[:-1]) else " and ").join(loops)


def _reads(expr: Expr, name: str) -> bool:
    """Returns whether an expression reads a local name."""
    return any(isinstance(part, Local) and part.name == name for part in walk(expr))


def _is_map(expr: Expr) -> bool:
    """Returns whether an expression is a name that has a value for each player."""
    return isinstance(expr, Read | LastBy | LetMap | Stream) and isinstance(expr.type, PerSeat)


def written(expr: Apply) -> tuple[Expr, ...]:
    """Returns the arguments of a built-in that the file gives it, without those that typing
    appends."""
    row, given = BUILTINS[expr.function], expr.arguments
    match row.appended:
        case "":
            return given
        case "order of the type":
            return given[:1]
        case "order of the values":
            last = given[-1]
            ordered = (
                isinstance(last, Const) and last.type == TEXT and not isinstance(last.value, str)
            )
            return given[:-1] if ordered and len(given) > 1 else given
        case "values of the type":
            return given[:1]
        case "size of the grid":
            return given[:-2] if isinstance(given[0].type, Grid) else given
        case "graph":
            return given[:-1]
        case "graph instead":
            return given[1:]
        case _:
            assert_never(row.appended)


def _graph_of(expr: Apply) -> Adjacency | None:
    """Returns the graph that a built-in is given; None if it is given none."""
    place = {"graph": -1, "graph instead": 0}.get(BUILTINS[expr.function].appended)
    graph = expr.arguments[place] if place is not None else None
    return graph.value if isinstance(graph, Const) else None


def _of_greatest(name: str, elements: str, value: str) -> tuple[str, int]:
    """Returns `argmax`, `best` or `ranked` of what has a value for each of some elements."""
    if name == "ranked":
        return f"{elements}, that with the greatest {value} first", _NOUN
    if name == "best":
        return f"those of {elements} for which {value} is greatest", _CLAUSE
    return f"the one of {elements} for which {value} is greatest (none on a tie)", _CLAUSE


def _leveled(text: str) -> tuple[str, int]:
    """Returns the text of a phrase, and whether it has a clause in it."""
    return text, _PHRASE if any(mark in text for mark in _CLAUSES) else _NOUN


def _single_reads(ir: GameIR) -> frozenset[str]:
    """Returns the names without parameters that a protocol brings and that are read once."""
    parts = (ir.turns, ir.lets, ir.payoffs, ir.end, ir.scores, ir.referee_payoffs)
    calls = [expr for expr in expressions_in(parts) if isinstance(expr, LetCall | LetMap)]
    read = Counter(expr.name for expr in calls)
    mapped = {expr.name for expr in calls if isinstance(expr, LetMap)}
    return frozenset(
        let.name
        for let in ir.lets
        if "." in let.name and not let.parameters and read[let.name] == 1 and let.name not in mapped
    )


def _fields_of_replies(ir: GameIR) -> frozenset[str]:
    """Returns the names of fields that some reply must write."""
    found: set[str] = set()
    for step in walk_steps(ir.turns):
        if isinstance(step, Choose) and step.said is not None:
            kind = plain(step.type)
            kinds = text_or_record(kind)
            record = kind if kinds is None else kinds.record
            found |= {name for name, _ in record.fields} if isinstance(record, Record) else set()
    return frozenset(found)


def _items_of(ir: GameIR) -> frozenset[str]:
    """Returns the names of actions' arguments and of loops' items."""
    found: set[str] = set()
    for step in walk_steps(ir.turns):
        if isinstance(step, Choose):
            found |= {name for action in step.moves for name, _ in action.parameters}
        elif isinstance(step, Loop) and step.item is not None:
            found.add(step.item)
    return frozenset(found)


def _only_of_referees(ir: GameIR) -> dict[str, tuple[str, ...]]:
    """Returns the variables that referees alone bind, and the seats that do."""
    actors: dict[str, set[str]] = {}
    for step in walk_steps(ir.turns):
        if isinstance(step, Choose):
            actors.setdefault(step.variable, set()).update(step.actors)
    return {
        name: tuple(seat for seat in ir.everyone if seat in seats)
        for name, seats in actors.items() if seats.isdisjoint(ir.seats)
    }  # fmt: skip


def in_order(values: Iterable[Any], type: Type | None) -> tuple[Any, ...]:
    """Returns the elements of a set in the order of their type, or of their names."""
    known = list(values)
    order = None if type is None else domain(element_type(type), ())
    if order and set(known) <= set(order):
        return tuple(value for value in order if value in set(known))
    numbers = sorted(value for value in known if isinstance(value, int))
    return (*numbers, *sorted((v for v in known if not isinstance(v, int)), key=name_of))


def element_type(type: Type) -> Type:
    """Returns the type of a collection's elements; of any other type that itself."""
    kind = plain(type)
    return kind.of if isinstance(kind, List | Set | Bag) else kind


def parts_of(type: Type) -> str:
    """Returns the names of the parts of a value, as its name writes them: `book,hat`; empty for a
    value without parts."""
    kind = plain(type)
    if isinstance(kind, PerSeat):
        return parts_of(kind.of)
    if isinstance(kind, Record):
        return ",".join(name for name, _ in kind.fields) if len(kind.fields) > 1 else ""
    return "row,column" if is_cell(kind) else ""


def is_cell(type: Type) -> bool:
    """Returns whether a type is that of a grid's places, (row, column)."""
    parts = type.of if isinstance(type, Tuple) else ()
    return len(parts) == 2 and all(getattr(part, "low", None) == 0 for part in parts)
