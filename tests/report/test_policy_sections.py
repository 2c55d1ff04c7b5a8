"""What a run tells: in sentences, on the screen and on the page, from records made by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from runs import pure, write_run
from test_page import page, words
from test_screen import panel, screen

from gamedsl.solve import tabulate
from gamedsl.training.monitors.text import (
    alarms,
    contributed,
    contributions,
    meanings,
    sentences,
)
from gamedsl.view.charts import Series, heat_map, line_chart

JACK, KING = "first:open [first.card=J]", "first:open [first.card=K]"
RANGES = {
    "concept": "Nash equilibria", "method": "sequence-form linear programs",
    "of": {JACK: {"check": [[2 / 3, 1]], "bet": [[0, 1 / 3]]},
           KING: {"check": [[0, 0.2]], "bet": [[0.8, 1]]}},
}  # fmt: skip
ALARM = {
    "information_set": JACK, "action": "bet", "event": "extinct", "probability": 0.0004,
    "range": [0, 1 / 3],
}  # fmt: skip
MAPPING = {
    "sender:word": {
        "types": {"apple": {"share": 0.5, "probs": {"word_1": 0.75, "word_2": 0.25}},
                  "bell": {"share": 0.25, "probs": {"word_10": 1.0}},
                  "cup": {"share": 0.25, "probs": {"word_1": 0.6, "word_10": 0.4}}},
        "information": 0.9, "entropy": 1.5, "collisions": 2,
    }
}  # fmt: skip
AFTER = {
    "row:move": {"first round": {"games": 10, "probs": {"cooperate": 0.5, "defect": 0.5}},
                 "cooperate, defect": {"games": 5, "probs": {"cooperate": 0.25, "defect": 0.75}}}
}  # fmt: skip


def step(number: int, bet: float, **more: object) -> dict:
    policy = {JACK: {"probs": {"check": 1 - bet, "bet": bet}},
              KING: {"probs": {"check": 0.5, "bet": 0.5}}}  # fmt: skip
    record = {"event": "step", "step": number, "policy": policy, "extinct": 0, "reward": {}}
    return record | {"in_range": {"inside": 1, "of": 2}} | more


START = {"event": "start", "step": 0, "ranges": RANGES, "policy": step(0, 0.2)["policy"]}


def test_sentences_at_the_end() -> None:
    found = sentences(START, [step(1, 0.0004, alarms=[ALARM], extinct=1)])
    assert found == [
        f"1 of 2 decisions are in the range of Nash equilibria; outside are {KING} "
        "(check 50%, not 0% to 20%).",
        f"1 action died out on the way (bet at {JACK}), 1 of them to the end.",
    ]
    told = sentences({}, [step(1, 0.2, mapping=MAPPING, after=AFTER)])
    assert told[0] == (
        "sender:word tells 0.90 of 1.50 bits; 2 of 3 types share their word with another: "
        "apple is word_1 75%, bell is word_10 100%, cup is word_1 60%."
    )
    assert told[1] == "row:move plays cooperate 50% at first, 25% after (cooperate, defect)."
    assert sentences(None, []) == []


def test_contributions_as_they_were_measured_last() -> None:
    steps = [step(1, 0.2, contributions={"scout": 0.5, "digger": -0.125}), step(2, 0.2)]
    found = contributions(None, steps)
    assert contributed(found) == (
        "What each role adds to what all earn, over random play: scout +0.50, digger -0.12."
    )
    assert contributions({"event": "end", "contributions": {"scout": 2.0}}, steps) == {"scout": 2}
    assert contributions({"event": "end"}, steps[1:]) == {}
    many = contributed({f"role_{n}": n / 10 for n in range(10)})
    assert "role_9 +0.90" in many
    assert many.endswith("role_2 +0.20 and 2 more.")


def test_many_alarms_of_one_step_are_counted() -> None:
    lines = alarms({"step": 7, "alarms": [ALARM] * 6})
    assert len(lines) == 4
    assert lines[0].startswith(f"step 7: {JACK}: bet has died out")
    assert lines[-1] == "step 7: and 3 more alarms"
    assert len(alarms({"step": 7, "alarms": [ALARM] * 4})) == 4


def test_words_that_collide_are_marked() -> None:
    rows = meanings({"mapping": MAPPING})
    assert [(row.name, row.mark) for row in rows] == [("apple", "="), ("bell", ""), ("cup", "=")]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (60, 12)])
def test_screen_shows_decision_meanings_and_rounds(width: int, height: int) -> None:
    made, out = screen(width, height)
    made.start(START)
    made.step(step(1, 0.0004, alarms=[ALARM], extinct=1, mapping=MAPPING, after=AFTER))
    lines = panel(made)
    made.close()
    assert len(lines) < height
    text = "\n".join(lines)
    assert "in range" in text
    assert "bet has died out" in out.getvalue()
    if height > 12:
        assert "died out" in text
        assert re.search(r"= apple .*word_1", text)
        assert re.search(r"after cooperate, defect.*cooperate  ?25%", text)
        assert re.search(r"✓ .*card=J\]", text)
        assert re.search(r"✗ .*card=K\]", text)


def test_nothing_died_out_is_not_shown() -> None:
    made, _ = screen()
    made.start(START)
    made.step(step(1, 0.2))
    text = "\n".join(panel(made))
    made.close()
    assert "died out" not in text


POOL = {
    "members": [0, 25],
    "payoff": {"first": [[0.0, -0.5], [0.126, 0.25]], "second": [[0.0, 0.5], [0.5, -0.25]]},
    "half": {"first": [[0.0, 0.0], [0.031, 0.0]], "second": [[0.0, 0.0], [0.0, 0.0]]},
    "mixture": "equilibrium",
    "weights": {"first": [0.0, 1.0], "second": [0.25, 0.75]},
}


@pytest.fixture(scope="module")
def poker(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run in Kuhn poker, with ranges, an alarm, a mapping and rounds put in."""
    import gamedsl

    folder = tmp_path_factory.mktemp("runs") / "poker"
    tree = tabulate(gamedsl.load("kuhn_poker").env())
    final = pure(tree, {info.key: info.actions[0] for info in tree.info_sets}, 0.999)
    write_run(folder, "kuhn_poker", final, steps=4)
    _put(
        folder,
        {
            0: {"ranges": RANGES},
            3: {"alarms": [ALARM]},
            4: {"mapping": MAPPING, "after": AFTER},
            5: {"contributions": {"first": -0.25, "second": 0.5}, "population": POOL},
        },
    )
    return page(folder)


def _put(folder: Path, more: dict[int, dict]) -> None:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    rows = (json.dumps({**line, **more.get(i, {})}) + "\n" for i, line in enumerate(lines))
    (folder / "metrics.jsonl").write_text("".join(rows))


def test_the_page_holds_the_policy_against_the_equilibria(poker: str) -> None:
    said = words(poker)
    assert "The last policy and the range of Nash equilibria" in said
    assert f"{JACK} check 100% 67% to 100% ✓ in range bet 0% 0% to 33%" in said
    assert f"{KING} check 100% 0% to 20% ✗ outside" in said
    assert "Step 3: first:open [first.card=J]: bet has died out, at 0.0004" in said


def test_charts_show_ranges_and_alarms(poker: str) -> None:
    figure = next(f for f in re.findall(r"<figure>.*?</figure>", poker, flags=re.S) if JACK in f)
    assert figure.count('class="band b0"') == figure.count('class="band b1"') == 1
    assert figure.count('class="alarm"') == 2
    assert poker.count('class="alarm"') == 2


def test_the_page_has_meanings_rounds_and_contributions(poker: str) -> None:
    said = words(poker)
    assert "0.90 of 1.50 bits; 2 types collide, framed" in said
    assert poker.count('class="framed"') == 2
    assert said.index("word_1 ") < said.index("word_10")
    assert "(cooperate, defect)" in said
    assert "first −0.25 second 0.5" in said


def test_the_page_has_what_the_pool_earns(poker: str) -> None:
    said = words(poker)
    assert "step weight 0 25 0 0% 0 −0.5 25 100% 0.13 ± 0.03 0.25" in said
    assert "step weight 0 25 0 25% 0 0.5 25 75% 0.5 −0.25" in said


def test_a_logarithmic_axis_has_even_decades() -> None:
    drawn = line_chart("x", [0, 1, 2], [Series("", [1.0, 0.1, 0.01], 0)], logarithmic=True)
    ticks = dict(re.findall(r'y="([\d.]+)" class="tick" text-anchor="end">([\d.]+)<', drawn))
    height = {float(text): float(y) for y, text in ticks.items()}
    assert height[0.1] - height[1] == pytest.approx(height[0.01] - height[0.1], abs=0.11)
    assert "NaN" not in line_chart("x", [0, 1], [Series("", [1.0, 0.0], 0)], logarithmic=True)


def test_heat_map_darkness_follows_values() -> None:
    drawn = heat_map("x", ["a"], ["left", "right"], [[0.25, 0.75]], marked=[(0, 1)])
    assert re.findall(r'fill-opacity="([\d.]+)"', drawn) == ["0.250", "0.750"]
    assert "a: right 75%" in drawn
