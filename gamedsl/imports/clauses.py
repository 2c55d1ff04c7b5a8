"""Short expressions for functions given as tables.

A row has the value of each variable (None: not bound) and a result. `Clauses` finds the variables
that matter. It writes conditions (`x == a and y == b or z == c`), each as short as possible while
no row contradicts it. For long tables it writes a decision diagram in named parts, in which equal
parts are written once (Bryant 1986).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

Value = str | int | bool | None
Env = Mapping[str, Value]
Row = tuple[Env, Hashable]
Term = tuple[tuple[str, Value], ...]
"""Variables with a value each: a condition that all of them hold."""

LONG, LONG_TEXT = 60, 3000
"""Rows, and characters, from which on a table is written as a diagram."""


class Expression(NamedTuple):
    """The text of an expression, in one or several lines, and the variables that it reads."""

    lines: tuple[str, ...]
    reads: frozenset[str]

    @property
    def text(self) -> str:
        return " ".join(self.lines)


class Clauses:
    """Writes expressions; `lets` are the named parts that they use, each before its users."""

    def __init__(self, prefix: str) -> None:
        self.lets: dict[str, str] = {}
        self._prefix = prefix
        self._known: dict[Hashable, str] = {}

    def express(self, rows: Iterable[Row], rank: Mapping[str, int]) -> Expression:
        """An expression for a table. `rank` holds the variables in the order in which they are
        bound; those of a lower rank are read only where the others will not do. Equal rows must
        have equal results, which are texts of expressions, or truth values."""
        rows, names = _projected(rows, list(rank)), list(rank)
        if len(rows) > LONG:
            rows, names = _relevant(rows, sorted(rank, key=rank.__getitem__))
        results = list(dict.fromkeys(result for _, result in rows))
        if len(results) == 1:
            return Expression((_text(results[0]),), frozenset())
        if len(rows) > LONG:
            return Expression((self._diagram(rows, names),), frozenset(names))
        terms = {result: _cover(result, rows, names, rank) for result in results}
        if isinstance(results[0], bool):
            return Expression((_either(terms[True]),), _names_read(terms[True]))
        last = max(results, key=lambda result: (len(terms[result]), results.index(result)))
        others = [result for result in results if result != last]
        lines = [f"{result} if {_either(terms[result])} else" for result in others]
        if sum(map(len, lines)) > LONG_TEXT:
            return Expression((self._diagram(rows, names),), frozenset(names))
        reads = frozenset().union(*(_names_read(terms[result]) for result in others))
        return Expression((*lines, str(last)), reads)

    def _diagram(self, rows: list[Row], variables: Sequence[str]) -> str:
        """The name of the part that decides these rows, or their only result."""
        if len({result for _, result in rows}) == 1:
            return _text(rows[0][1])
        at = next(i for i, v in enumerate(variables) if len({env.get(v) for env, _ in rows}) > 1)
        variable = variables[at]
        groups: dict[Value, list[Row]] = {}
        for row in rows:
            groups.setdefault(row[0].get(variable), []).append(row)
        parts = {v: self._diagram(group, variables[at + 1 :]) for v, group in groups.items()}
        if len(set(parts.values())) == 1:
            return next(iter(parts.values()))
        key = (variable, frozenset(parts.items()))
        if key not in self._known:
            by_part: dict[str, list[Value]] = {}
            for value, part in parts.items():
                by_part.setdefault(part, []).append(value)
            self._known[key] = self._define(self._choice(variable, list(by_part.items())))
        return self._known[key]

    def _choice(self, variable: str, parts: list[tuple[str, list[Value]]]) -> str:
        """The choice among parts by the value of a variable, in as few steps as possible."""
        if len(parts) == 1:
            return parts[0][0]
        half = len(parts) // 2
        values = (value for _, own in parts[:half] for value in own)
        test = " or ".join(_literal(variable, value) for value in values)
        first, last = self._choice(variable, parts[:half]), self._choice(variable, parts[half:])
        if len(first) + len(last) > LONG_TEXT // 4:
            first, last = self._define(first), self._define(last)
        return f"{first if half == 1 else f'({first})'} if {test} else {last}"

    def _define(self, text: str) -> str:
        name = f"{self._prefix}_{len(self.lets) + 1}"
        self.lets[name] = text
        return name


def is_function(rows: Iterable[Row], variables: Sequence[str]) -> bool:
    """Whether rows that agree in these variables have one result."""
    found: dict[tuple[Value, ...], Hashable] = {}
    return all(
        found.setdefault(tuple(map(env.get, variables)), result) == result for env, result in rows
    )


def _relevant(rows: list[Row], variables: Sequence[str]) -> tuple[list[Row], list[str]]:
    """The rows in as few variables as will do, each once; the first are left out first."""
    kept = list(variables)
    for variable in variables:
        fewer = [v for v in kept if v != variable]
        if is_function(rows, fewer):
            kept = fewer
    return _projected(rows, kept), kept


def _projected(rows: Iterable[Row], names: Sequence[str]) -> list[Row]:
    """The rows in these variables, each once."""
    found: dict[tuple[Value, ...], Row] = {}
    for env, result in rows:
        found.setdefault(tuple(map(env.get, names)), (env, result))
    return list(found.values())


def _cover(
    result: Hashable, rows: list[Row], names: Sequence[str], rank: Mapping[str, int]
) -> list[Term]:
    """Conditions of which one holds in each row with this result, and none in any other."""
    others = [env for env, other in rows if other != result]
    left = [env for env, own in rows if own == result]
    terms: list[Term] = []
    while left:
        found = [_shortest(env, others, o, rank) for env in left for o in (names, names[::-1])]
        term = max(found, key=lambda term: (sum(_holds(term, env) for env in left), -len(term)))
        terms.append(term)
        left = [env for env in left if not _holds(term, env)]
    return terms


def _shortest(env: Env, others: list[Env], names: Sequence[str], rank: Mapping[str, int]) -> Term:
    """Returns the shortest conjunction that tells a row from all others. It drops low ranks
    first, then unbound names."""
    kept = list(names)
    for name in sorted(names, key=lambda v: (rank[v], env.get(v) is not None)):
        fewer = [v for v in kept if v != name]
        if all(any(env.get(v) != other.get(v) for v in fewer) for other in others):
            kept = fewer
    return tuple((name, env.get(name)) for name in rank if name in kept)


def _holds(term: Term, env: Env) -> bool:
    return all(env.get(name) == value for name, value in term)


def _either(terms: list[Term]) -> str:
    return " or ".join(" and ".join(_literal(*part) for part in term) for term in terms)


def _names_read(terms: list[Term]) -> frozenset[str]:
    return frozenset(name for term in terms for name, _ in term)


def _literal(variable: str, value: Value) -> str:
    if value is True:
        return variable
    if value is False:
        return f"not {variable}"
    return f"{variable} == {'none' if value is None else value}"


def _text(result: Hashable) -> str:
    return {True: "true", False: "false"}[result] if isinstance(result, bool) else str(result)
