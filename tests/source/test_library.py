"""Files found by name, and `extends` merged one level deep."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.diagnostics.model import Problems
from gamedsl.diagnostics.render import render
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.nodes import Mapping
from gamedsl.sema import library
from gamedsl.sema.library import Document, load_document
from gamedsl.storage import shipped as places

BASE = """\
game: base
about: The base.
roles: [left, right]
params: {a: 1, b: 2, c: 3}
actions: [up, down]
protocol: {use: simultaneous}
payoffs: {left: a, right: b}
labels: {masked: alien, per: run}
prompts: {who: {left: L, right: R}, ask: Choose.}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(BASE)
    return tmp_path


def load(folder: Path, text: str) -> Document:
    (folder / "child.yaml").write_text(f"game: child\nextends: base\n{text}")
    problems = Problems()
    document = load_document("child.yaml", problems)
    assert document is not None, render(problems.found)
    return document


def flow(root: Mapping, name: str) -> str:
    node = root.get(name)
    assert isinstance(node, Mapping)
    return ", ".join(f"{e.key.text}: {e.value.span.text}" for e in node)


def test_extends_replaces_adds_and_deletes_entries(folder: Path) -> None:
    root = load(folder, "params: {b: [4, 5], d: 6, a: null}\n").root
    assert flow(root, "params") == "b: [4, 5], c: 3, d: 6"


def test_entries_are_replaced_whole(folder: Path) -> None:
    root = load(folder, "prompts: {who: {left: New}}\n").root
    assert flow(root, "prompts") == "who: {left: New}, ask: Choose."


def test_lists_and_scalars_are_replaced_and_sections_deleted(folder: Path) -> None:
    document = load(folder, "roles: [one]\nabout: null\npayoffs: 1\nprotocol: simultaneous\n")
    root = document.root
    assert root.get("roles").span.text == "[one]"
    assert root.get("about") is None
    assert root.get("payoffs").span.text == "1"
    assert root.get("protocol").span.text == "simultaneous"
    assert [entry.key.text for entry in root] == [
        *("game", "roles", "params", "actions", "protocol", "payoffs", "labels", "prompts")
    ]
    assert (document.kind, document.name) == ("game", "child")


def test_what_is_one_value_is_replaced_whole(folder: Path) -> None:
    assert flow(load(folder, "labels: {up: A, down: B}\n").root, "labels") == "up: A, down: B"
    assert flow(load(folder, "labels: {masked: alien}\n").root, "labels") == "masked: alien"
    used = load(folder, "protocol: {use: simultaneous, x: 1}\n").root
    assert flow(used, "protocol") == "use: simultaneous, x: 1"


def test_nodes_keep_their_files(folder: Path) -> None:
    document = load(folder, "params: {b: 9}\n")
    params = document.root.get("params")
    names = [entry.value.span.source.name for entry in params]
    assert names == ["base.yaml", "child.yaml", "base.yaml"]
    assert document.files == (Path("child.yaml"), Path("base.yaml"))


def test_chains_of_three(folder: Path) -> None:
    load(folder, "params: {b: 9}\n")
    (folder / "last.yaml").write_text("game: last\nextends: child\nparams: {c: 8}\n")
    document = load_document("last.yaml", Problems())
    assert document is not None
    assert flow(document.root, "params") == "a: 1, b: 9, c: 8"
    assert [path.name for path in document.files] == ["last.yaml", "child.yaml", "base.yaml"]


def test_problems_of_the_base_are_reported_there(folder: Path) -> None:
    (folder / "base.yaml").write_text(BASE + "wibble: 1\n")
    (folder / "child.yaml").write_text("game: child\nextends: base\n")
    problems = Problems()
    assert load_document("child.yaml", problems) is None
    assert [(d.code, d.span.source.name) for d in problems.found] == [("GD0101", "base.yaml")]


def test_local_file_wins_with_note(folder: Path) -> None:
    shipped = library.locate("game", "chicken", folder / "user.yaml")
    assert shipped is not None
    assert shipped.parent == library.shipped_folder() / "games"
    (folder / "chicken.yaml").write_text("game: chicken\nextends: chicken\n")
    assert library.locate("game", "chicken", folder / "chicken.yaml") == shipped
    local = library.locate("game", "chicken", folder / "user.yaml")
    assert local == folder / "chicken.yaml"
    problems = Problems()
    place = Span(Source("user.yaml", "x"), 0, 1)
    document = library.find("game", "chicken", folder / "user.yaml", problems, place)
    assert document is not None
    assert [(d.code, d.severity) for d in problems.found] == [("GD0115", "note")]


def test_local_file_of_other_kind_is_skipped(folder: Path) -> None:
    (folder / "simultaneous.yaml").write_text("game: simultaneous\nextends: base\n")
    found = library.locate("protocol", "simultaneous", folder / "user.yaml")
    assert found == library.shipped_folder() / "protocols" / "simultaneous.yaml"


@pytest.mark.parametrize("name", ["../base", "/etc/passwd", "Base", "", "base.yaml", "a\0b"])
def test_names_are_no_paths(name: str, folder: Path) -> None:
    (folder / "sub").mkdir()
    assert library.locate("game", name, folder / "sub" / "x.yaml") is None


def test_arguments(folder: Path) -> None:
    assert library.resolve_argument("base.yaml") == Path("base.yaml")
    shipped = library.shipped_folder()
    assert library.resolve_argument("stag_hunt") == shipped / "games" / "stag_hunt.yaml"
    assert library.resolve_argument("mixing") == shipped / "rewards" / "mixing.yaml"
    assert library.resolve_argument("nothing") == Path("nothing")
    (folder / "stag_hunt").write_text("game: x\n")
    assert library.resolve_argument("stag_hunt") == Path("stag_hunt")


def test_wheel_libraries_are_in_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "gamedsl"
    (package / "storage").mkdir(parents=True)
    monkeypatch.setattr(places, "__file__", str(package / "storage" / "shipped.py"))
    assert places.shipped_folder() == tmp_path
    (package / "_library" / "games").mkdir(parents=True)
    (package / "_library" / "games" / "chess.yaml").write_text("game: chess\n")
    assert places.shipped_folder() == package / "_library"
    assert library.shipped("game") == ["chess"]


@pytest.mark.parametrize("kind", ["game", "protocol", "reward"])
def test_shipped_files_load_under_their_names(kind: library.Kind) -> None:
    names = library.shipped(kind)
    assert names
    for name in names:
        problems = Problems()
        path = library.locate(kind, name, Path("x.yaml"))
        assert path is not None
        document = load_document(path, problems)
        assert document is not None, render(problems.found)
        assert (document.kind, document.name) == (kind, name)
        first = path.read_text(encoding="utf-8").split("\n")[0]
        wanted = f"# yaml-language-server: $schema=../gamedsl/frontend/schema/{kind}.schema.json"
        assert first == wanted


def test_shared_protocols_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        uses = f"[{{use: p{number + 1}}}, {{use: p{number + 1}}}]"
        (folder / f"p{number}.yaml").write_text(f"protocol: p{number}\nturns: {uses}\n")
    (folder / "p20.yaml").write_text("protocol: p20\nroles: [a]\nturns: []\n")
    (folder / "child.yaml").write_text("game: child\nturns: [{use: p0}]\npayoffs: 1\n")
    read, load = [], library.load_document

    def counted(path: Path, problems: Problems) -> Document | None:
        read.append(path)
        return load(path, problems)

    monkeypatch.setattr(library, "load_document", counted)
    library.load_document(Path("child.yaml"), Problems())
    assert len(read) <= 22
