import re
from xml.etree import ElementTree

import pytest

from gamedsl.view.canvas import Canvas
from gamedsl.view.charts import Series, line_chart, spread, ticks


def paths(svg: str, style: str) -> list[str]:
    return re.findall(rf'<path d="([^"]*)" class="{style}"', svg)


def test_a_line_goes_up_when_the_value_does():
    (line,) = paths(line_chart("t", [0, 1], [Series("a", [0.0, 1.0], 0)]), "line c0")
    (x0, y0), (x1, y1) = (map(float, p.split()) for p in line.removeprefix("M").split("L"))
    assert x1 > x0
    assert y1 < y0


def test_missing_values_break_lines_and_leave_dots():
    svg = line_chart("t", [1, 2, 3, 4], [Series("a", [1.0, 2.0, None, 3.0], 1)])
    assert len(paths(svg, "line c1")) == 2
    assert svg.count('class="dot c1"') == 1


def test_one_step_and_flat_values_are_drawn():
    ElementTree.fromstring(line_chart("t", [5], [Series("a", [2.0], 0)]))
    ElementTree.fromstring(line_chart("t", [1, 2], [Series("a", [2.0, 2.0], 0)], low=0.0))
    assert line_chart("t", [1], [Series("a", [None], 0)]) == ""
    assert line_chart("t", [], []) == ""


def test_text_is_escaped_and_has_descriptions():
    svg = line_chart("a < b", [0, 2], [Series("<script>", [0.25, 0.75], 0)], percent=True)
    root = ElementTree.fromstring(svg)
    assert root[0].text == "a < b"
    assert root[1].text == "From step 0 to 2. <script>: from 25% to 75%."
    assert root.get("aria-labelledby").split() == [root[0].get("id"), root[1].get("id")]
    assert "<script>" not in svg


def test_every_chart_has_ids_of_its_own():
    one, two = (Canvas(1, 1).inline("t", "d") for _ in range(2))
    assert set(re.findall(r'id="(\w+)"', one)).isdisjoint(re.findall(r'id="(\w+)"', two))


def test_noise_is_not_blown_up():
    def height(least: float) -> float:
        (line,) = paths(
            line_chart("t", [0, 1], [Series("a", [1.0, 1.1], 0)], least=least), "line c0"
        )
        ys = [float(p.split()[1]) for p in line.removeprefix("M").split("L")]
        return ys[0] - ys[1]

    assert height(2.0) < 0.1 * height(0.0)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.25, 0.5, 0.75, 1]),
        (1, 40, [10, 20, 30, 40]),
        (-0.3, 0.3, [-0.2, 0, 0.2]),
        (0, 0.031, [0, 0.01, 0.02, 0.03]),
    ],
)
def test_ticks_are_round_and_inside(low, high, expected):
    assert ticks(low, high, 5) == pytest.approx(expected)


def test_names_keep_their_distance_and_order():
    assert spread([50, 52, 10], 14, 0, 200) == [50, 64, 10]
    assert spread([100, 100], 14, 0, 100) == [86, 100]
