"""Compiled games: written as JSON, read back to the same game, and trusted in nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.compiled import compiled_schema
from gamedsl.compiler import compile_file
from gamedsl.ir.codec import MalformedIR, decode, decode_value, encode, encode_value
from gamedsl.ir.values import Bag
from tests.shipped import CLOSED, OPEN

VALIDATOR = jsonschema.Draft202012Validator(compiled_schema())


def compiled(game: str, folder: Path, *more: str) -> Path:
    out = folder / "compiled.json"
    assert main(["compile", game, "-o", str(out), *more]) == 0
    return out


@pytest.mark.parametrize("name", [*CLOSED, *OPEN])
def test_a_shipped_game_is_read_back_the_same(name: str, tmp_path: Path) -> None:
    out = compiled(name, tmp_path)
    content = json.loads(out.read_text("utf-8"))
    VALIDATOR.validate(content)
    game = gamedsl.load(name)
    assert decode(content) == game.ir
    again = gamedsl.load(out)
    assert (again.hash, again.ir) == (game.hash, game.ir)
    assert content["rules_hash"] == game.ir.rules_hash


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(compiled_schema())


def test_params_are_kept_and_may_be_changed(tmp_path: Path) -> None:
    out = compiled("kuhn_poker_n", tmp_path, "--param", "players=3")
    assert len(gamedsl.load(out).ir.seats) == 3
    assert len(gamedsl.load(out, {"players": 4}).ir.seats) == 4


def own_game(folder: Path) -> Path:
    """A game that takes a protocol, a base, words and rows from its folder."""
    folder.mkdir()
    (folder / "data").mkdir()
    (folder / "data" / "rows.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    (folder / "words.txt").write_text("red\nblue\n")
    (folder / "turn.yaml").write_text(
        "protocol: turn\nturns:\n  - {role: all, choose: word, from: Word}\n"
    )
    (folder / "base.yaml").write_text(
        "game: base\nroles: [x, y]\ntypes: {Word: {file: words.txt}}\n"
        "protocol: turn\npayoffs: 1 if word.x == word.y else 0\n"
    )
    game = folder / "mine.yaml"
    game.write_text(
        "game: mine\nextends: base\ndata: {rows: {file: data/rows.jsonl, fields: {a: 0..9}}}\n"
        "protocol: null\nturns:\n  - {draw: row, from: rows, seen_by: {a: all}}\n"
        "  - {use: turn}\n"
    )
    return game


def test_the_files_of_a_game_go_with_it(tmp_path: Path) -> None:
    game = own_game(tmp_path / "mine")
    expected = gamedsl.load(game).hash
    out = compiled(str(game), tmp_path)
    content = json.loads(out.read_text("utf-8"))
    assert set(content["files"]) == {
        "mine.yaml", "base.yaml", "turn.yaml", "words.txt", "data/rows.jsonl",
    }  # fmt: skip
    shutil.rmtree(game.parent)
    assert gamedsl.load(out).hash == expected


def test_every_command_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(compiled("stag_hunt", tmp_path))
    for arguments in (["validate", out], ["prompts", out], ["solve", out], ["show", out]):
        assert main(arguments) == 0
    assert main(["export", out, "--to", "efg"]) == 0
    assert "EFG 2 R" in capsys.readouterr().out
    assert main(["compile", out]) == 2
    assert "is compiled already" in capsys.readouterr().err


def codes(path: Path) -> list[str]:
    return [problem.code for problem in compile_file(path).diagnostics]


def changed(out: Path, **keys: Any) -> Path:
    content = json.loads(out.read_text("utf-8"))
    out.write_text(json.dumps(content | keys))
    return out


def test_rules_that_differ_from_files_are_refused(tmp_path: Path) -> None:
    out = compiled("prisoners_dilemma", tmp_path)
    content = json.loads(out.read_text("utf-8"))
    other = encode(gamedsl.load("stag_hunt").ir)
    changed(out, **json.loads(json.dumps(other)))
    assert codes(out) == ["GD0130"]  # the hash is that of the first
    changed(out, hash=gamedsl.load("stag_hunt").hash)
    assert codes(out) == ["GD0131"]
    changed(out, **content)
    assert codes(out) == []


@pytest.mark.parametrize(
    "name", ["../out.yaml", "/out.yaml", "a/../../out.yaml", ".hidden", "a/.b", "a//b", "a\\b",
             "c:x", "", ".", "a\0b", "a/b/c/d/e/f/g/h/i", "n" * 300],
)  # fmt: skip
def test_no_file_is_written_outside(name: str, tmp_path: Path) -> None:
    out = compiled("stag_hunt", tmp_path)
    files = json.loads(out.read_text("utf-8"))["files"]
    assert codes(changed(out, files={**files, name: "x"})) == ["GD0130"]


@pytest.mark.parametrize(
    "more", [{"stag_hunt.yaml/x": "x"}, {"a/x": "x", "a": "y"}, {"a": "y", "a/b/c": "x"}]
)
def test_no_file_is_a_folder_too(more: dict[str, str], tmp_path: Path) -> None:
    out = compiled("stag_hunt", tmp_path)
    files = json.loads(out.read_text("utf-8"))["files"]
    assert codes(changed(out, files={**files, **more})) == ["GD0130"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": "gamedsl-compiled/1"}', "[" * 5000, '{"a": NaN}',
             '{"format": "gamedsl-compiled/2", "types": [], "game": {}}', "\ud800"],
)  # fmt: skip
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert codes(file) == ["GD0130"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert codes(tmp_path / "none.json") == ["GD0001"]


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys = (
        list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list)
        else ()
    )  # fmt: skip
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


ODD: tuple[Any, ...] = (
    None, True, -1, 10**9, 2.5, "", "x", [], {}, [[]], {"is": "Const"}, {"number": "1/0"},
    {"number": "x"}, {"set": [{"map": []}]}, {"map": [[1]]}, {"bag": [[[], -1]]},
)  # fmt: skip


@pytest.mark.parametrize("game", ["leduc_poker", "proposer_solver"])
def test_ir_of_another_form_is_refused(game: str) -> None:
    whole = json.dumps(encode(gamedsl.load(game).ir))
    random = Random(16)
    reasons = []
    for _ in range(150):
        content = json.loads(whole)
        holder, key = random.choice(_places(content))
        holder[key] = random.choice(ODD)
        try:
            assert decode(content).hash
        except MalformedIR as error:
            reasons.append(str(error))
    assert len(reasons) > 50
    assert all("is wanted" in reason for reason in reasons)


def test_values_of_play_are_read_back() -> None:
    from fractions import Fraction

    value = (
        None, True, 0, -3, 2**80, Fraction(8, 5), "x", (1, (2,)), frozenset({1, ("a", 2)}),
        Bag.of("aab"), {("a", 1): frozenset(), None: (Fraction(1, 3),)},
    )  # fmt: skip
    written = json.loads(json.dumps(encode_value(value)))
    assert decode_value(written) == value
    assert isinstance(decode_value(written)[9], Bag)


def test_a_version_of_the_language_is_no_rule(tmp_path: Path) -> None:
    for number, text in enumerate(
        ("game: mine\nextends: stag_hunt\n", "gamedsl: 1\ngame: mine\nextends: stag_hunt\n",
         "game: mine\ngamedsl: 1\nextends: stag_hunt\n")
    ):  # fmt: skip
        (tmp_path / f"{number}.yaml").write_text(text)
    hashes = {gamedsl.load(tmp_path / f"{number}.yaml").hash for number in range(3)}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("version", "code"), [("2", "GD0132"), ("1.5", "GD0132"), ("0", "GD0104"), ("one", "GD0103")]
)
def test_other_versions_are_refused(version: str, code: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"game: mine\ngamedsl: {version}\nextends: stag_hunt\nlater_word: x\n")
    assert code in codes(file)
