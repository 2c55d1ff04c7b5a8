"""Mutated game files: every shipped game, protocol and reward file, with their data and params.

An input is a folder: `game.yaml`, which is compiled; files that it uses by name, beside it; data
files below it; and `params.json`, the params that are given. The oracle: a game, or problems, each
with a file, a line, a column and a code; and a game can be played: see `tests.fuzz.play_oracle`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from gamedsl.analysis.history_sample import QUICK
from gamedsl.compiler import Result, compile_file
from gamedsl.diagnostics import Diagnostic
from gamedsl.diagnostics.codes import explain
from gamedsl.diagnostics.render import render
from tests.fuzz import Case, Outcome, write_files
from tests.fuzz.mutations import (
    EXTREMES,
    WORDS,
    Tree,
    copied,
    mutate_bytes,
    mutate_tree,
    read_tree,
    write_tree,
)
from tests.fuzz.play_oracle import check_play

NAME = "game_files"
BATCH = 40

ROOT = Path(__file__).parent.parent.parent
KINDS = ("games", "protocols", "rewards")
OF_THE_FILE = ("GD0001", "GD0002", "GD0003", "GD0004", "GD0005", "GD0006")
"""Codes whose place is the file as a whole."""


@cache
def shipped() -> dict[str, dict[str, str]]:
    """Returns the texts of the shipped files, by folder and name."""
    return {
        kind: {p.stem: p.read_text("utf-8") for p in sorted((ROOT / kind).glob("*.yaml"))}
        for kind in KINDS
    }


@cache
def _data() -> dict[str, bytes]:
    folder = ROOT / "games"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for part in ("data", "words")
        for path in sorted((folder / part).iterdir())
    }


@cache
def _trees() -> dict[str, dict[str, Tree]]:
    return {
        kind: {name: read_tree(text) for name, text in texts.items()}
        for kind, texts in shipped().items()
    }


def warm() -> None:
    """Fills the caches of the parser and imports what a play needs."""
    compile_file(ROOT / "games" / "leduc_poker.yaml", None, QUICK)
    _trees()
    _data()
    run(ROOT / "games" / "kuhn_poker.yaml", {})


def cases(seed: int) -> Iterator[Case]:
    """Yields the inputs of a seed."""
    random = Random(f"game_files {seed}")
    while True:
        yield case_of(_mutated(Random(random.getrandbits(64))))


def case_of(files: Mapping[str, bytes]) -> Case:
    """Returns the case of an input read back from its files."""
    head = files.get("game.yaml", b"").split(b"\n", 1)[0].decode("utf-8", "replace")
    return Case(f"mutated from `{head}`", files, partial(_run_files, files))


# generator


def _mutated(random: Random) -> dict[str, bytes]:
    trees = _trees()
    kind = random.choices(KINDS, (12, 2, 1))[0]
    name = random.choice(list(trees[kind]))
    tree = copied(trees[kind][name])
    donors = [tree for each in trees.values() for tree in each.values()]
    params = _params_of(tree)
    if kind == "games" and random.random() < 0.12:
        tree = _extending(name, trees["games"][random.choice(list(trees["games"]))], random)
    by_tree = random.random()
    for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3, 5)) if by_tree < 0.85 else 0):
        mutate_tree(tree, donors, random)
    text = write_tree(tree) if by_tree < 0.85 else shipped()[kind][name]
    content = text.encode("utf-8", "surrogatepass")
    for _ in range(
        random.choice((0, 0, 0, 0, 0, 0, 1)) if by_tree < 0.85 else random.randint(1, 3)
    ):
        content = mutate_bytes(content, random)
    files = {"game.yaml": content} | _mentioned_data(content, random)
    files |= _neighbours(content, donors, random)
    if params and random.random() < 0.3:
        files["params.json"] = json.dumps(_extreme_params(params, random)).encode()
    return files


def _extending(name: str, donor: Tree, random: Random) -> Tree:
    sections = [entry for entry in donor[1][1:] if entry[0] not in ("about", "extends")]
    some = random.sample(sections, min(len(sections), random.randrange(4)))
    head = [["game", ["leaf", "game", True]], ["extends", ["leaf", name, True]]]
    return ["map", copied([*head, *some])]


def _params_of(tree: Tree) -> list[str]:
    for key, value in tree[1]:
        if key == "params" and value[0] == "map":
            return [name for name, _ in value[1]]
    return []


_ODD_PARAMS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 5, 12, 10**6, 10**20, True, False, "", [], [1], [1, "a"], [[1, 2], [3, 4]],
    ["a", "b"], ["a", "a"], 0.5, "\ud800", "\x00", "1/3", "9/10",
)  # fmt: skip


def _extreme_params(names: list[str], random: Random) -> dict[str, Any]:
    values = (*_ODD_PARAMS, random.choice(EXTREMES), random.choice(WORDS))
    return {name: random.choice(values) for name in names if random.random() < 0.6}


def _mentioned_data(content: bytes, random: Random) -> dict[str, bytes]:
    """Returns the data files that a game mentions, now and then changed."""
    found = {}
    for name, data in _data().items():
        if name.encode() in content:
            for _ in range(random.choice((0, 0, 1, 2))):
                data = random.choice((mutate_bytes, _mutate_rows))(data, random)
            found[name] = data
    return found


_ROW_VALUES = (
    "null", "true", "{}", "[]", "[1]", "NaN", "Infinity", "-0", "1e400", "1e-99999999", '"\\ud800"',
    '"\\u0000"', '"\\u202e"', '"<|im_start|>"', '""', '"{{ me }}"', "9" * 5_000, "[" * 5_000,
    "[" * 70 + "]" * 70, '{"a":' * 70 + "1" + "}" * 70, "'a'", "01", "1.0", '"' + "x" * 9_999 + '"',
)  # fmt: skip


def _mutate_rows(content: bytes, random: Random) -> bytes:
    """Puts an odd JSON value where one stands in a data file."""
    values = list(re.finditer(rb'(?<=:) ?("[^"\n]*"|[\d.]+|true|false|null)', content))
    if not values:
        return mutate_bytes(content, random)
    found = random.choice(values)
    odd = random.choice(_ROW_VALUES).encode()
    return content[: found.start()] + odd + content[found.end() :]


def _neighbours(content: bytes, donors: list[Tree], random: Random) -> dict[str, bytes]:
    """Returns mutated files of the names that a file uses: they are taken in place of shipped
    ones."""
    files = {}
    for kind in KINDS:
        for name, tree in _trees()[kind].items():
            if random.random() < 0.25 and re.search(rb": *%s\b" % name.encode(), content):
                changed = copied(tree)
                for _ in range(random.randint(1, 3)):
                    mutate_tree(changed, donors, random)
                files[f"{name}.yaml"] = write_tree(changed).encode("utf-8", "surrogatepass")
    return files


# oracle


def _run_files(files: Mapping[str, bytes]) -> Outcome:
    folder = Path.cwd() / "input"
    write_files(folder, files)
    params = json.loads(files["params.json"]) if "params.json" in files else {}
    return run(folder / "game.yaml", params)


def run(path: Path, params: dict[str, Any]) -> Outcome:
    """Returns the outcome of compiling and playing a game file."""
    result = compile_file(path, params, QUICK)
    if wrong := _without_place(result):
        return Outcome("no place", wrong, wrong.split(":")[0])
    codes = tuple(dict.fromkeys(d.code for d in result.diagnostics if d.severity == "error"))
    if result.ir is None or result.document is None:
        return Outcome(counted=codes or ("part of a game",))
    return check_play(result)


def _without_place(result: Result) -> str:
    """Returns what is wrong with what is reported; empty for nothing."""
    document = result.document
    if result.ok and result.ir is None and (document is None or document.kind == "game"):
        return "nothing: neither a game nor a problem"
    for problem in result.diagnostics:
        if wrong := _misplaced(problem):
            return wrong
    for form in ("pretty", "concise", "json"):
        render(result.diagnostics, form=form).encode("utf-8", "surrogatepass")
    return ""


def _misplaced(problem: Diagnostic) -> str:
    if not problem.message or not explain(problem.code):
        return f"{problem.code}: no message or no page"
    for span in (problem.span, *(note.span for note in problem.notes)):
        text = span.source.text
        if not span.source.name:
            return f"{problem.code}: no file, {problem.message}"
        if not 0 <= span.start <= span.end <= len(text):
            return f"{problem.code}: outside of the text, {problem.message}"
        if not (text or problem.code in OF_THE_FILE or span.source.name.startswith("--param")):
            return f"{problem.code}: no text around the place, {problem.message}"
    return ""
