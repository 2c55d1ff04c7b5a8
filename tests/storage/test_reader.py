"""Files are read where they are regular, small enough, and in their folder."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from gamedsl.storage.reader import FileRefused, read_bytes, read_text


def refusal(path: Path | str, limit: int = 100, below: Path | None = None) -> str:
    with pytest.raises(FileRefused) as caught:
        read_text(path, limit=limit, below=below)
    assert caught.value.path == path
    return caught.value.kind


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    folder = tmp_path / "game"
    (folder / "words").mkdir(parents=True)
    (folder / "words" / "nouns.txt").write_text("äpple\n", encoding="utf-8")
    return folder


def test_a_regular_file_is_read(folder: Path) -> None:
    file = folder / "words" / "nouns.txt"
    assert read_text(file, limit=7) == "äpple\n"
    assert read_bytes(file, limit=7, below=folder) == "äpple\n".encode()
    assert read_text(folder / "words/../words/nouns.txt", limit=9, below=folder) == "äpple\n"


def test_a_file_that_is_too_large_is_refused(folder: Path) -> None:
    assert refusal(folder / "words" / "nouns.txt", limit=6) == "large"


def test_what_is_no_regular_file_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        names = ("fifo", "socket", "words", "none", "words/nouns.txt/x")
        kinds = {name: refusal(folder / name) for name in names}
    assert kinds == {
        "fifo": "special", "socket": "special", "words": "folder", "none": "missing",
        "words/nouns.txt/x": "missing",
    }  # fmt: skip
    assert refusal("/dev/zero") == refusal("/dev/null") == "special"


def test_paths_that_name_nothing_are_refused(folder: Path) -> None:
    names = {"a\0b": "path", "a\ud800b": "path", "x" * 300: "system", "": "folder", ".": "folder"}
    for name, kind in names.items():
        assert refusal(f"{folder}/{name}") == kind
        with pytest.raises(FileRefused):
            read_text(f"{folder}/{name}", limit=9, below=folder)


def test_text_that_is_not_utf8_is_refused(folder: Path) -> None:
    (folder / "latin").write_bytes(b"a\n\xe4")
    assert refusal(folder / "latin") == "text"
    with pytest.raises(FileRefused, match="byte 0xe4 on line 2"):
        read_text(folder / "latin", limit=9)


def test_nothing_outside_the_folder_is_read(folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent / "secret.txt")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    outside = ["../secret.txt", "words/../../secret.txt", "link", "up/secret.txt", "/etc/passwd",
               str(folder.parent / "secret.txt"), "/proc/self/environ", "/dev/stdin", "../none",
               "up/none"]  # fmt: skip
    for name in outside:
        assert refusal(folder / name, below=folder) == "outside", name
    assert refusal(folder / "loop", below=folder) in ("system", "missing")


def test_links_that_stay_inside_are_followed(folder: Path) -> None:
    (folder / "link").symlink_to("words/nouns.txt")
    (folder.parent / "way").symlink_to("game")
    for path in (folder / "link", folder.parent / "way" / "link"):
        for below in (folder, folder.parent / "way"):
            assert read_text(path, limit=9, below=below) == "äpple\n"


def test_hidden_files_are_not_read_for_a_game(folder: Path) -> None:
    (folder / ".env").write_text("KEY=1", encoding="utf-8")
    (folder / ".ssh").mkdir()
    (folder / ".ssh" / "id").write_text("key", encoding="utf-8")
    (folder / "open").symlink_to(".ssh/id")
    for name in (".env", ".ssh/id", "open"):
        assert refusal(folder / name, below=folder) == "hidden"
    assert read_text(folder / ".env", limit=9) == "KEY=1"
    hidden = folder / ".ssh" / "id"
    assert read_text(hidden, limit=9, below=hidden.parent) == "key"


def test_the_root_is_no_folder_of_a_game() -> None:
    assert refusal("/etc/hostname", below=Path("/")) == "root"
