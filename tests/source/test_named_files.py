"""Files that a game names: regular and small ones, in its own folder alone, and what they hold."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic
from gamedsl.diagnostics.render import render
from gamedsl.frontend.source import loader
from gamedsl.sema import data, types

HEAD = "game: g\nroles: [left, right]\n"
TAIL = "turns:\n  - {role: all, choose: move, from: [up, down]}\npayoffs: 1\n"
SECTIONS = {
    "types": "types: {Noun: {file: FILE}}\n",
    "data": "data: {rows: {file: FILE, fields: {word: text}}}\n",
}
SECRET = "swordfish"


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """Ends a test that waits for what never comes."""

    def ring(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a game, beside a secret and with every sort of link and special file in it."""
    (tmp_path / "secret.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    (tmp_path / "secret.jsonl").write_text(f'{{"word": "{SECRET}"}}\n', encoding="utf-8")
    (tmp_path / "base.yaml").write_text(f"game: base\nabout: {SECRET}\n{TAIL}", encoding="utf-8")
    folder = tmp_path / "game"
    (folder / "words").mkdir(parents=True)
    (folder / "words" / "some.txt").write_text("up\ndown\n", encoding="utf-8")
    (folder / "words" / "some.jsonl").write_text('{"word": "up"}\n', encoding="utf-8")
    (folder / ".env").write_text(f'{{"word": "{SECRET}"}}\n', encoding="utf-8")
    (folder / "link").symlink_to("../secret.jsonl")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    (folder / "base.yaml").symlink_to("../base.yaml")
    os.mkfifo(folder / "fifo")
    return folder


def problems(folder: Path, text: str) -> list[Diagnostic]:
    (folder / "g.yaml").write_text(text, encoding="utf-8")
    return compile_file(folder / "g.yaml").diagnostics


REFUSED = {
    "'{outside}/secret.jsonl'": "outside",
    "'{outside}/none'": "outside",
    "../secret.jsonl": "outside",
    "../secre.jsonl": "outside",
    "words/../../secret.jsonl": "outside",
    "link": "outside",
    "up/secret.jsonl": "outside",
    "up/secre.jsonl": "outside",
    "loop": "levels of symbolic links",
    "/etc/passwd": "outside",
    "/dev/stdin": "outside",
    "/dev/zero": "outside",
    "/proc/self/environ": "outside",
    "/proc/self/fd/0": "outside",
    "fifo": "regular file",
    ".": "folder",
    "words": "folder",
    "g.yaml/x": "no such file",
    ".env": "hidden",
    "words/../.env": "hidden",
    "'" + "x" * 300 + "'": "too long",
    "'" + "x/" * 3000 + "'": "too long",
    "none": "no such file",
}


@pytest.mark.parametrize("section", SECTIONS)
def test_name_with_a_nul_is_refused(section: str, folder: Path) -> None:
    found = problems(folder, HEAD + SECTIONS[section].replace("FILE", '"a\\0b"') + TAIL)
    assert [(d.code, d.span.line) for d in found if d.severity == "error"] == [("GD0007", 3)]


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("name", REFUSED, ids=lambda name: name[:30])
def test_files_that_are_refused(section: str, name: str, folder: Path) -> None:
    written = name.replace("{outside}", str(folder.parent))
    found = problems(folder, HEAD + SECTIONS[section].replace("FILE", written) + TAIL)
    (first,) = [problem for problem in found if problem.severity == "error"]
    assert first.code == "GD0424"
    assert first.span.line == 3
    assert REFUSED[name] in first.why
    text = render(found)
    assert SECRET not in text
    assert "did you mean" not in text


@pytest.mark.parametrize("section", SECTIONS)
def test_files_that_are_read(section: str, folder: Path) -> None:
    suffix = "txt" if section == "types" else "jsonl"
    for way in ("words", "words/../words", "up/game/words", f"{folder}/words"):
        name = f"'{way}/some.{suffix}'"
        actions = TAIL.replace("[up, down]", "Noun") if section == "types" else TAIL
        found = problems(folder, HEAD + SECTIONS[section].replace("FILE", name) + actions)
        assert [p.message for p in found if p.severity == "error"] == []


def test_sizes_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for section, most in (("types", types.MAX_WORD_BYTES), ("data", data.MAX_BYTES)):
        with (folder / "large").open("wb") as stream:
            stream.truncate(most + 1)
        (found,) = problems(folder, HEAD + SECTIONS[section].replace("FILE", "large") + TAIL)
        assert (found.code, found.why) == (
            "GD0424", f"it has {most + 1:,} bytes, and at most {most:,} are read",
        )  # fmt: skip


def test_lists_of_words_are_bounded(folder: Path) -> None:
    words = "\n".join(f"w{number}" for number in range(types.MAX_VALUES + 1))
    (folder / "many").write_text(words, encoding="utf-8")
    text = HEAD + SECTIONS["types"].replace("FILE", "many")
    (found,) = problems(folder, text + TAIL)
    assert (found.code, found.why) == ("GD0421", "this file has 4097")
    fixed = text.replace("file: many", "file: many, take: 4096") + TAIL.replace(
        "[up, down]", "Noun"
    )
    assert problems(folder, fixed) == []


@pytest.mark.parametrize("use", ["extends: base", "protocol: base", "rewards: base"])
def test_links_out_of_the_folder_are_not_used(use: str, folder: Path) -> None:
    turns = "" if use.startswith("protocol") else TAIL.partition("payoffs")[0]
    found = problems(folder, f"{HEAD}{use}\n{turns}payoffs: 1\n")
    assert [(p.code, p.span.line) for p in found if p.severity == "error"][:1] == [("GD0424", 3)]
    assert SECRET not in render(found)


def test_links_within_the_folder_are_used(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "base.yaml").unlink()
    (folder / "inner" / "real.yaml").write_text(f"{HEAD}{TAIL}", encoding="utf-8")
    (folder / "base.yaml").symlink_to("inner/real.yaml")
    assert problems(folder, "game: g\nextends: base\n") == []


def test_a_base_reads_in_its_own_folder(folder: Path) -> None:
    """The words of a shipped game are beside it, whoever extends it."""
    assert problems(folder, "game: g\nextends: lewis_signaling\n") == []


def test_installed_files_may_be_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some installers put links to a cache in the place of a package's files."""
    text = HEAD + SECTIONS["data"].replace("FILE", "link") + TAIL
    assert [p.code for p in problems(folder, text)] == ["GD0424"]
    monkeypatch.setattr(loader, "PACKAGED", folder)
    assert problems(folder, text) == []


def test_a_game_file_that_never_ends_is_refused(folder: Path) -> None:
    for path in (folder / "fifo", Path("/dev/zero"), Path("/dev/stdin")):
        if not (path.name == "stdin" and sys.stdin is None):
            (found,) = compile_file(path).diagnostics
            assert found.code in ("GD0001", "GD0002", "GD0006")


@pytest.mark.parametrize("char", ["\x07", "\x1b", "\u202e", "\u2066", "\x85", "\ufeff", "\x00"])
def test_words_have_visible_characters(char: str, folder: Path) -> None:
    (folder / "odd.txt").write_text(f"up\ndo{char}wn\n", encoding="utf-8")
    (found,) = problems(folder, HEAD + SECTIONS["types"].replace("FILE", "odd.txt") + TAIL)
    assert (found.code, found.span.line, found.span.column) == ("GD0007", 2, 3)
    assert Path(found.span.source.name).name == "odd.txt"
    assert char not in render([found])


ROWS = {
    "1e-99999999": ("exponent", 10),
    "1e400": ("too large", 10),
    "9" * 101: ("at most 100", 10),
    "[" * 5000 + "]" * 5000: ("nested", 10 + 63),
    "NaN": ("NaN", 10),
    "-Infinity": ("Infinity", 10),
    '"\\ud800"': ("surrogate", 10),
    '"\\u0007"': ("U+0007", 10),
    '"\\u001b[2J"': ("U+001B", 10),
    '"\\u202e"': ("U+202E", 10),
    '"a\u202eb"': ("U+202E", 10),
    '["a"]': ("a list", 10),
    '{"a": 1}': ("an object", 10),
    "null": ("none", 10),
    '"up", "word": "down"': ("given twice", 16),
    '"up"} {': ("ended", 16),
    "": ("a value", 10),
}


@pytest.mark.parametrize("value", ROWS, ids=lambda value: ascii(value[:20]))
def test_rows_that_are_refused(value: str, folder: Path) -> None:
    line = f'{{"word": {value}}}\n'
    (folder / "odd.jsonl").write_text(f'{{"word": "up"}}\n\n{line}', encoding="utf-8")
    (found,) = problems(folder, HEAD + SECTIONS["data"].replace("FILE", "odd.jsonl") + TAIL)
    reason, column = ROWS[value]
    assert found.code == "GD0438"
    assert (found.span.line, found.span.column) == (3, column)
    assert Path(found.span.source.name).name == "odd.jsonl"
    assert reason in found.why
    (note,) = found.notes
    assert note.span.text == "odd.jsonl"


def test_rows_that_are_not_utf8(folder: Path) -> None:
    (folder / "odd.jsonl").write_bytes(b'{"word": "up"}\n{"word": "\xff"}\n')
    (found,) = problems(folder, HEAD + SECTIONS["data"].replace("FILE", "odd.jsonl") + TAIL)
    assert (found.code, found.why) == ("GD0424", "it is not UTF-8: byte 0xff on line 2")
