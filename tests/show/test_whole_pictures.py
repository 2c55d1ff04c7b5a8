"""Pictures are whole: nothing leaves its frame, nothing is cut, and colours have contrast."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gamedsl.tables.text import rendered
from gamedsl.view.canvas import palette
from gamedsl.view.game.sight import visibility_rows
from gamedsl.view.game.views import Views
from tests.show.pictures import GAMES, built, views


def reach(svg: str) -> float:
    """The rightmost place of all curves of a picture."""
    drawn = re.findall(r' d="([^"]+)"', svg)
    return max(float(x) for one in drawn for x, _ in re.findall(r"(-?[\d.]+) (-?[\d.]+)", one))


@pytest.mark.parametrize("name", ["leduc_poker", "kuhn_poker", "goofspiel", "liars_dice"])
def test_links_of_information_sets_stay_in_the_frame(name: str) -> None:
    drawn = views(name).picture("tree")
    width = re.search(r'width="([\d.]+)"', drawn)
    assert width is not None
    assert reach(drawn) <= float(width[1])


def test_owner_sees_what_it_is_shown() -> None:
    (row,) = [r for r in visibility_rows(built(GAMES / "battleship.yaml").ir) if r.what == "shown"]
    assert [(one.sees, one.note) for one in row.glances] == [("some", "its own")] * 2


KNOWS = """
game: know
roles: [first, second]
types: {Card: [J, Q, K]}
turns:
  - {deal: card, from: Card, seen_by: owner}
  - {role: first, choose: open, from: [check, bet]}
  - {role: second, choose: reply, from: [fold, call], knows: [card.me, open]}
payoffs: 1 if reply == call and me == first else 0
"""


def test_declared_knowledge_has_its_rows(tmp_path: Path) -> None:
    (tmp_path / "know.yaml").write_text(KNOWS, encoding="utf-8")
    found = Views(built(tmp_path / "know.yaml"))
    known = [row for row in visibility_rows(found.game.ir) if row.what == "known"]
    assert [row.name for row in known] == ["card.me", "open"]
    assert [[one.sees for one in row.glances] for row in known] == [["nothing", "all"]] * 2
    assert "and is told open" in rendered(found.text("sight"))
    assert "and is told open" in found.picture("sight")


def test_flow_charts_are_whole_where_piped(tmp_path: Path) -> None:
    condition = " or ".join(f"(open == check and {n} > 0)" for n in range(12))
    text = KNOWS.replace("knows: [card.me, open]", f'if: "{condition}"')
    (tmp_path / "long.yaml").write_text(text, encoding="utf-8")
    shown = rendered(Views(built(tmp_path / "long.yaml")).text("flow"))
    assert condition[1:-1] in shown
    assert "…" not in shown


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1])
def test_text_has_contrast_in_light_and_dark(mode: int) -> None:
    """4.5 to 1, as WCAG 2.2 asks of text, on the paper and on tints."""
    blocks = re.findall(r":root \{(.*?)\}", palette(), re.DOTALL)
    colours = dict(re.findall(r"--(\w+): (#\w+)", blocks[mode]))
    texts = ["ink", "soft", "alarm", *(f"c{number}" for number in range(8))]
    low = {
        name: round(contrast(colours[name], colours[ground]), 2)
        for name in texts
        for ground in ("paper", "tint")
        if contrast(colours[name], colours[ground]) < 4.5
    }
    assert low == {}


@pytest.mark.parametrize("view", ["table", "tree", "flow", "sight"])
def test_every_picture_has_light_and_dark(view: str) -> None:
    name = "stag_hunt" if view == "table" else "kuhn_poker"
    drawn = views(name).picture(view)
    assert "prefers-color-scheme: dark" in drawn
