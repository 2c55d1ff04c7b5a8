"""Python text: values as literals, free names, and the lines of a module."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics.spans import Span
from gamedsl.ir import types
from gamedsl.ir.types import Type
from gamedsl.ir.values import Bag
from gamedsl.storage.characters import blanked


class UnsupportedError(Exception):
    """The generator cannot write something: the reference plays the game instead."""


class Module:
    """The text of a module under way: constants, then functions, in the order they were made."""

    def __init__(self) -> None:
        self._constants: list[str] = []
        self._tables: dict[str, str] = {}
        """The names of constants, by their text."""
        self._names: set[str] = set()
        self._functions: list[CodeLines] = []
        self._later: list[str] = []
        self._slots: dict[str, str] = {}

    def name(self, *parts: object) -> str:
        """Returns a free name, made of the parts."""
        wanted = "_".join(identifier(str(part)) for part in parts)
        name, count = wanted, 1
        while name in self._names:
            count += 1
            name = f"{wanted}_{count}"
        self._names.add(name)
        return name

    def slot(self, kind: str, variable: str) -> str:
        """Returns the slot of a variable: `v` its value, `p` its past, `b` its value by seat, …"""
        key = f"{kind}@{variable}"
        if key not in self._slots:
            self._slots[key] = self.name(kind, variable)
        return self._slots[key]

    def slots(self) -> dict[str, str]:
        """Returns all slots so far: by kind and variable, `kind@variable`."""
        return dict(self._slots)

    def constant(self, value: Any) -> str:
        """Returns a value as an expression: itself where it is short, else the name of a
        constant."""
        if value is None or isinstance(value, bool | int | str):
            return repr(value)
        return self.table("C", literal(value))

    def table(self, hint: str, text: str) -> str:
        """Returns the name of a constant with this text, which is worked out once."""
        if text not in self._tables:
            self._tables[text] = self._define(self.name(hint, len(self._tables)), text)
        return self._tables[text]

    def own(self, hint: str, text: str) -> str:
        """Returns the name of a new variable that starts as this text."""
        return self._define(self.name(hint), text)

    def _define(self, name: str, text: str) -> str:
        self._constants.append(f"{name} = {text}")
        return name

    def add(self, lines: CodeLines) -> None:
        """Adds a function."""
        self._functions.append(lines)

    def later(self, line: str) -> None:
        """Adds a line below all functions."""
        self._later.append(line)

    def text(self) -> str:
        """Returns all constants and functions.

        Raises `UnsupportedError` for a line that Python could read as several: what is executed is
        what this package wrote, whatever stands in the names and texts of a game.
        """
        functions = joined(self._functions)
        lines = [line for function in functions for _, line in function.lines]
        if not all(map(str.isprintable, (*self._constants, *lines, *self._later))):
            raise UnsupportedError("a character that does not print")
        texts = [function.text() for function in functions]
        parts = ("\n".join(self._constants) + "\n", *texts, "\n".join(self._later))
        return "\n\n".join(parts) + "\n"


class CodeLines:
    """Lines of code at a depth."""

    def __init__(self, first: str) -> None:
        self.lines = [(0, first)]
        self._depth = 1

    def __call__(self, line: str) -> None:
        self.lines.append((self._depth, line))

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Opens a block: lines inside it are one level deeper, below `head`."""
        self(head)
        self._depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self("pass")
        self._depth -= 1

    def source(self, span: Span | None) -> None:
        """Adds a comment: the place in the game file, and its first line."""
        if span is None or not span.source.text:
            return
        text = span.text.splitlines()[:1]
        file = re.split(r"[/\\]", span.source.name)[-1]
        self(f"# {blanked(file)}:{span.line}: {blanked(text[0] if text else '')[:80]}")

    def begin(self, name: str, empty: str, code: str) -> None:
        """Adds to a list; if it has only just been begun, begin it with this."""
        depth, last = self.lines[-1]
        if (depth, last) == (self._depth, f"{name} = {empty}"):
            self.lines[-1] = depth, f"{name} = {code}"
        else:
            self(f"{name} += {code}")

    def text(self) -> str:
        return "".join("    " * depth + line + "\n" for depth, line in self.lines)


JUMP = re.compile(r"\bat_\d+\b")


def joined(functions: list[CodeLines]) -> list[CodeLines]:
    """Returns the functions, with each that one place alone jumps to written into that place."""
    by_name = {function.lines[0][1][4:].partition("(")[0]: function for function in functions}
    asked = Counter(
        name for function in functions for _, line in function.lines[1:]
        for name in JUMP.findall(line)
    )  # fmt: skip
    single = {name for name, count in asked.items() if count == 1 and name in by_name}
    gone = set()

    def inside(function: CodeLines, above: tuple[str, ...]) -> list[tuple[int, str]]:
        lines = []
        for depth, line in function.lines[1:]:
            name = line.removeprefix("return ")
            if name in single and line == f"return {name}" and name not in above:
                gone.add(name)
                rest = inside(by_name[name], (*above, name))
                lines += [(depth - 1 + deeper, text) for deeper, text in rest]
            else:
                lines.append((depth, line))
        return lines

    for name, function in by_name.items():
        if name not in gone:
            function.lines[1:] = inside(function, (name,))
    return [function for name, function in by_name.items() if name not in gone]


def identifier(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z_]", "_", name)


def literal(value: Any) -> str:
    """Returns an expression whose value is this one."""
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, Fraction):
        return f"Fraction({value.numerator}, {value.denominator})"
    if isinstance(value, tuple):
        return "(" + "".join(f"{literal(item)}, " for item in value).rstrip() + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, frozenset):
        return f"frozenset(({''.join(sorted(f'{literal(item)}, ' for item in value))}))"
    if isinstance(value, dict):
        pairs = ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items())
        return f"Bag({{{pairs}}})" if isinstance(value, Bag) else f"{{{pairs}}}"
    raise UnsupportedError(f"a value of {type(value).__name__}")


def type_literal(type: Type) -> str:
    """Returns an expression whose value is a type; `types` is `gamedsl.ir.types`."""
    fields = [getattr(type, name) for name in type.__dataclass_fields__]
    return f"types.{type.__class__.__name__}({', '.join(map(_part, fields))})"


def _part(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + "".join(f"{_part(item)}, " for item in value).rstrip() + ")"
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    assert type(value).__module__ == types.__name__
    return type_literal(value)
