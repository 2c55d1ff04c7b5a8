"""Imports go one way: up the table of the architecture page, the late ones in functions and those
for types included."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "gamedsl"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

TABLE = PAGE.partition("| folder or file |")[2].partition("\n\n")[0]
LAYERS = [
    re.findall(r"`(\w+)(?:/|\.py)`", cell) for cell in re.findall(r"^\| (`.+?) \|", TABLE, re.M)
]
"""What each row of the table names, from the top."""

LAYER_OF = {part: layer for layer, parts in enumerate(LAYERS) for part in parts}

NARROWER = {
    "calls": {"extras", "storage"},
    "policies": {"call_syntax", "collector", "errors", "extras", "storage", "thought_syntax"},
    "players": {
        "call_syntax",
        "runtime",
        "policies",
        "solve",
        "prompting",
        "engine",
        "recipe",
        "diagnostics",
        "ir",
        "extras",
        "storage",
        "thought_syntax",
        "runs",
    },
    "solve": {"collector", "runtime", "engine", "extras", "tables"},
}
"""Parts that may import less than all above them: these alone."""

BLIND = {
    "train": {"frontend", "sema", "analysis", "compiler", "__init__"},
}
"""What a part may not import although it stands above: the trainer never sees YAML or the AST."""


class Import(NamedTuple):
    """A part of the package that a file imports."""

    file: str
    line: int
    part: str
    of: str
    """The part that the file is in."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.of} imports {self.part}"


def part_of(file: Path) -> str:
    """What the table calls a file of the package: its folder, or its own name."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line, and the part of the package, of each name that a module imports."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=module, names=aliases, lineno=line):
                assert node.level == 0, "imports are written in full"
                names = [f"{module}.{alias.name}" for alias in aliases]
            case ast.Import(names=aliases, lineno=line):
                names = [alias.name for alias in aliases]
            case _:
                continue
        for name in names:
            package, first, *_ = [*name.split("."), ""]
            if package == "gamedsl":
                yield line, first if first in LAYER_OF else "__init__"


def parsed() -> Iterator[tuple[Path, ast.Module]]:
    """The modules of the package, one at a time: all together are a million objects, which every
    later pass of the collector would look at."""
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file, ast.parse(file.read_text(encoding="utf-8"))


@cache
def read() -> tuple[list[Import], dict[str, set[str]]]:
    """The parts that each file imports, and the modules that each module imports. The package is
    parsed once for both."""
    files = {name_of(file) for file in PACKAGE.rglob("*.py")}
    parts: list[Import] = []
    modules: dict[str, set[str]] = {}
    for file, tree in parsed():
        parts += [
            Import(str(file.relative_to(ROOT)), line, part, part_of(file))
            for line, part in imported(tree)
            if part != part_of(file)
        ]
        modules[name_of(file)] = imported_modules(tree, files)
    return parts, modules


def all_imports() -> list[Import]:
    return read()[0]


def faults(allowed: Callable[[Import], bool]) -> list[str]:
    return [str(found) for found in all_imports() if not allowed(found)]


def test_every_part_has_a_place_in_the_table() -> None:
    assert set(map(part_of, PACKAGE.rglob("*.py"))) == set(LAYER_OF)
    assert sum(map(len, LAYERS)) == len(LAYER_OF)


def test_imports_go_up_the_table() -> None:
    assert len(all_imports()) > 1000
    assert faults(lambda found: LAYER_OF[found.part] <= LAYER_OF[found.of]) == []
    assert faults(lambda found: found.part in NARROWER.get(found.of, LAYER_OF)) == []
    assert faults(lambda found: found.part not in BLIND.get(found.of, ())) == []


def imported_modules(tree: ast.Module, files: set[str]) -> set[str]:
    """The modules among `files` that a module imports, late ones in functions included, those for
    types alone left out."""
    found: set[str] = set()
    for node in nodes_that_run(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=aliases):
                wholes = {f"{module}.{alias.name}" for alias in aliases}
                found |= (wholes & files) or {module} & files
            case ast.Import(names=aliases):
                found |= {alias.name for alias in aliases} & files
    return found


def nodes_that_run(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
        for child in ast.iter_child_nodes(node):
            yield from nodes_that_run(child)


def name_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_modules_import_one_another_one_way() -> None:
    left = dict(read()[1])
    del left["gamedsl"]  # gives out the public names, each from its module when it is asked for
    assert len(left) > 300
    while first := [name for name, imported in left.items() if imported.isdisjoint(left)]:
        for name in first:
            del left[name]
    assert sorted(left) == []
