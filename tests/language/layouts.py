"""Other layouts of a file: the same values with other indents, quotes, brackets and comments."""

from __future__ import annotations

from random import Random

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Source
from gamedsl.frontend.layout.spacing import tokens_of
from gamedsl.frontend.source import scalars
from gamedsl.frontend.source.compose import compose
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence

LOOSE = ("let", "payoffs", "end")
"""Sections with expressions alone, in which spaces mean nothing."""


def tree_of(text: str) -> Mapping:
    problems = Problems()
    tree = compose(Source("text", text), problems)
    assert isinstance(tree, Mapping)
    assert not problems.errors
    return tree


def other_layout(text: str, random: Random) -> str:
    """Returns the values of a file in a layout that is drawn at random, with comments."""
    return _Writer(random).whole(tree_of(text))


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.comments = 0
        self.loose = True

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def whole(self, tree: Mapping) -> str:
        lines = ["---"] if self.chance(0.1) else []
        for entry in tree:
            self.loose = entry.key.text in LOOSE
            lines += self.entry(entry.key, entry.value, 0)
        return "\n".join([*lines, *self.above(0)]) + self.random.choice(["\n", "", "\n\n\n"])

    def above(self, indent: int) -> list[str]:
        """Returns empty lines and comments before an entry."""
        lines = [""] * self.random.choice([0] * 9 + [1, 3])
        if self.chance(0.1):
            lines.append(" " * indent + self.comment())
        return lines

    def comment(self) -> str:
        self.comments += 1
        return self.random.choice([f"# note {self.comments}", f"#{self.comments}: 'a' {{"])

    def end(self) -> str:
        """Returns what stands at the end of a line that is no text: spaces, perhaps a comment."""
        if self.chance(0.1):
            return " " * self.random.randint(1, 9) + self.comment()
        return " " * self.random.choice([0] * 5 + [1, 4])

    def entry(self, key: Scalar, value: Node, indent: int) -> list[str]:
        head = " " * indent + self.scalar(key, True) + ":"
        return [*self.above(indent), *self.below(head, value, indent, False)]

    def below(self, head: str, value: Node, indent: int, dashed: bool) -> list[str]:
        """Returns the lines of a value behind a colon or a dash."""
        if isinstance(value, Scalar):
            block = self.block_text(value, indent)
            if block is not None and self.chance(0.5):
                return [f"{head} {block[0]}{self.end()}", *block[1:]]
            if self.chance(0.1):
                text = self.scalar(value, False)
                return [head + self.end(), " " * (indent + 3) + text + self.end()]
            space = " " * self.random.choice([1, 1, 3])
            return [head + space + self.scalar(value, False) + self.end()]
        parts = value.entries if isinstance(value, Mapping) else value.items
        if not parts or self.chance(0.5):
            first, *rest = self.brackets(value, indent + 1).split("\n")
            return [f"{head} {first}", *(" " * (indent + 2) + line for line in rest)]
        if isinstance(value, Sequence):
            inner = indent + (self.random.randrange(5) if not dashed else self.random.randint(1, 4))
            lines = [head + self.end()]
            for item in value:
                lines += [*self.above(inner), *self.below(" " * inner + "-", item, inner, True)]
            return lines
        inner = indent + self.random.randint(1, 6)
        lines = [head + self.end()]
        for entry in value:
            lines += self.entry(entry.key, entry.value, inner)
        return lines

    def brackets(self, node: Node, indent: int) -> str:
        if isinstance(node, Scalar):
            return self.scalar(node, True)
        if isinstance(node, Sequence):
            parts, ends = [self.brackets(item, indent) for item in node], "[]"
        else:
            ends = "{}"
            parts = [
                self.scalar(entry.key, True) + ": " + self.brackets(entry.value, indent)
                for entry in node
            ]
        gap = self.random.choice(["", "", " ", "\n"])
        between = self.random.choice([", ", ",", " ,  ", ",\n", ",  # why\n"])
        return ends[0] + gap + between.join(parts) + gap + ends[1]

    def block_text(self, value: Scalar, indent: int) -> list[str] | None:
        """Returns a text as a block (`|`); None where it cannot be one, or is no text."""
        text = value.text
        if not isinstance(value.value, str) or not text.strip() or "\t" in text:
            return None
        if text.endswith("\n\n") or text.startswith("\n"):
            return None
        step = self.random.randint(1, 5)
        digit = str(step) if text.startswith(" ") else ""
        head = "|" + digit + ("" if text.endswith("\n") else "-")
        lines = text.removesuffix("\n").split("\n")
        return [head, *(" " * (indent + step) + line if line else "" for line in lines)]

    def scalar(self, scalar: Scalar, brackets: bool) -> str:
        if not isinstance(scalar.value, str):
            return scalar.text
        text = scalar.text
        tokens = tokens_of(text) if self.loose and len(text.split()) > 1 else None
        if tokens is not None and "\n" not in text and "add" not in tokens and "drop" not in tokens:
            text = "".join(token + " " * self.random.choice([1, 1, 2]) for token in tokens).strip()
        if _plain(text, brackets) and self.chance(0.6):
            return text
        if text.isprintable() and self.chance(0.5):
            return "'" + text.replace("'", "''") + "'"
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'


def _plain(text: str, brackets: bool) -> bool:
    bad = {"\n", ": ", " #", *(",[]{}?" if brackets else "")}
    if not text or text != text.strip() or text[0] in "-?:,[]{}#&*!|>'\"%@`" or text[-1] == ":":
        return False
    return not any(sign in text for sign in bad) and scalars.resolve(text) == text
