"""The recording of a terminal that README.md shows, made of a short command."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("pty", reason="needs the terminals of Unix")
    pytest.importorskip("pyte", reason='needs pip install -e ".[docs]"')
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("run_pictures")


def test_recording_ends_with_the_output(pictures: ModuleType, tmp_path: Path) -> None:
    frames = pictures.recorded(["gamedsl", "validate", "stag_hunt"], tmp_path)
    assert [start for start, _ in frames] == sorted(start for start, _ in frames)
    root = ElementTree.fromstring(pictures.drawn(frames, "A terminal"))
    end = root.find(f"{SVG}desc").text
    assert end.startswith("$ gamedsl validate stag_hunt\n")
    assert "stag_hunt.yaml: ok" in end
    shown = {group.get("class") for group in root.iter(f"{SVG}g")} - {None}
    assert shown == {"f", "l"}
    defined = {group.get("id") for group in root.iter(f"{SVG}g")}
    assert {use.get("href")[1:] for use in root.iter(f"{SVG}use")} <= defined


def test_failing_command_is_not_recorded(pictures: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        pictures.recorded(["gamedsl", "validate", "stag_hnt"], tmp_path)


def test_colours_and_faint_letters_are_kept(pictures: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "said.py").write_text("print('\\x1b[2mfaint\\x1b[0m \\x1b[1;32mgreen\\x1b[0m')\n")
    drawing = pictures.drawn(pictures.recorded(["said"], tmp_path), "A terminal")
    styles = {
        text.text: text.get("class") for text in ElementTree.fromstring(drawing).iter(f"{SVG}text")
    }
    assert styles["faint"] == "brightblack"
    assert styles["green"] == "green b"
    assert set(styles["green"].split()) <= {*pictures.COLOURS, "b", "i"}


def test_page_without_a_portrait_is_refused(pictures: ModuleType) -> None:
    with pytest.raises(ValueError, match="no phase portrait"):
        pictures.portrait("<style></style><main></main>")
