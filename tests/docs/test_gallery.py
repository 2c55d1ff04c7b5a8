"""The gallery: every game has a place, and its pages are what `docs/generate.py` writes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shipped import CLOSED, OPEN

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery"
FEW = ("stag_hunt", "ultimatum", "debate_by_rule")
"""A table, a tree with a curve, and a game in words; the slow suite compares all pages."""

UNMEASURED = {"hanabi_thinking", "hanabi_tools"}
"""Games whose pages say that no run is measured."""


def stale(*names: str) -> str:
    """What `docs/generate.py` says of pages that it would write otherwise."""
    pytest.importorskip("scipy", reason='needs pip install -e ".[solve]"')
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "gallery", *names, "--check"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr


def test_some_pages_are_up_to_date() -> None:
    assert stale(*FEW) == ""


@pytest.mark.slow
def test_all_pages_are_up_to_date() -> None:
    assert stale() == ""


def test_every_game_has_one_place_and_page() -> None:
    index = (GALLERY / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[`(\w+)`\]\(\1\.md\) \|", index, re.MULTILINE)
    assert sorted(listed) == sorted(OPEN + CLOSED)
    assert {page.stem for page in GALLERY.glob("*.md")} == {"index", *listed}


def test_pictures_are_those_that_pages_show() -> None:
    shown = {
        picture
        for page in GALLERY.glob("*.md")
        for picture in re.findall(r"\]\(pictures/(\w+\.svg)\)", page.read_text(encoding="utf-8"))
    }
    assert {path.name for path in (GALLERY / "pictures").iterdir()} == shown
    measured = {*OPEN, *CLOSED} - UNMEASURED
    assert {f"{name}_curve.svg" for name in measured} == {
        picture for picture in shown if picture.endswith("_curve.svg")
    }


def test_curves_have_colours_for_light_and_dark() -> None:
    curve = (GALLERY / "pictures" / "ultimatum_curve.svg").read_text(encoding="utf-8")
    assert curve.startswith("<svg xmlns=")
    assert "prefers-color-scheme: dark" in curve
    assert "chart1" not in curve, "identifiers that count would differ from run to run"
