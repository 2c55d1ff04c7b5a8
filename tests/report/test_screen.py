import io
from types import SimpleNamespace

import pytest
from rich.cells import cell_len
from rich.console import Console

from gamedsl.train.screen import SPARKS, Screen, sparkline, split_bar

RECIPE = SimpleNamespace(model_names=lambda ir: "smollm2-135m", seed=0)
GAME = SimpleNamespace(name="a_game_with_quite_a_long_name_for_a_title", ir=None)
PREDICTION = {
    "kind": "pure", "text": "(hare, hare)", "margin": 0.166, "confidence": "clear",
    "profile": {}, "probabilities": {},
}  # fmt: skip


def row(step: int, sets: int = 2, actions: int = 2, roles: int = 2) -> dict:
    probs = {f"act{i}": 1 / actions for i in range(actions)}
    return {
        "event": "step", "step": step, "seconds": 2.0,
        "reward": {f"role_{i}": step / 3 for i in range(roles)},
        "policy": {f"role_{i}:move [role_0.first=left]": {"probs": probs} for i in range(sets)},
        "exploitability": 0.5 / (step + 1), "prediction": PREDICTION,
    }  # fmt: skip


def screen(width: int = 80, height: int = 24, tty: bool = True) -> tuple[Screen, io.StringIO]:
    out = io.StringIO()
    console = Console(
        file=out, width=width, height=height, force_terminal=tty, color_system=None, highlight=False
    )
    return Screen(RECIPE, GAME, 40, console=console), out


def panel(made: Screen) -> list[str]:
    lines = made.console.render_lines(made._panel(), pad=False)
    return ["".join(segment.text for segment in line) for line in lines]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("height", [5, 10, 16, 24, 50])
@pytest.mark.parametrize(("sets", "actions", "roles"), [(2, 2, 2), (60, 10, 9), (1, 3, 1)])
def test_the_panel_fits_every_terminal(width, height, sets, actions, roles):
    made, _ = screen(width, height)
    made.start(row(0, sets, actions, roles))
    for step in range(1, 30):
        made.step(row(step, sets, actions, roles))
    lines = panel(made)
    made.close()
    assert len(lines) < height
    assert max(cell_len(line) for line in lines) <= width


def test_what_the_panel_says():
    made, _ = screen()
    made.start(row(0))
    for step in range(1, 11):
        made.step(row(step))
    text = "\n".join(panel(made))
    made.close()
    assert "step 10 of 40" in text
    assert "2.0 s a step, 1 min left" in text
    assert "Predicted: (hare, hare)" in text
    assert "role_1" in text
    assert "3.33" in text
    assert "█ act0  50%  ▓ act1  50%" in text


def test_many_actions_show_likeliest_three():
    made, _ = screen(width=100)
    made.start(row(0, actions=10))
    assert "▒ act2  10%  +7" in "\n".join(panel(made))
    made.close()


def test_narrow_terminal_names_fewer_whole_actions():
    made, _ = screen(width=60)
    made.start(row(0, actions=10))
    assert panel(made)[-1].rstrip().endswith("█ act0  10%  +9")
    made.close()


def test_piped_output_has_one_line_per_step():
    made, out = screen(width=60, tty=False)
    made.start(row(0))
    made.step(row(1))
    made.end({"event": "end", "step": 1, "summary": "It is [over]."})
    lines = out.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("Predicted: (hare, hare)")
    assert lines[2].startswith("step 1/40 | reward role_0 0.33 role_1 0.33 | role_0:move")
    assert lines[2].endswith("exploitability 0.250 | 2.0 s a step")
    assert lines[3] == "It is [over]."
    assert "\x1b" not in out.getvalue()


def test_void_rewards_and_missing_numbers_are_marked():
    made, out = screen(tty=False)
    made.start({"event": "start", "step": 0, "policy": {}, "exploitability": None})
    made.step({"event": "step", "step": 1, "reward": {"a": None}, "exploitability": None})
    assert "reward a void" in out.getvalue()
    assert "exploitability" not in out.getvalue()


def test_closing_restores_the_cursor_and_repeats():
    made, out = screen()
    with made:
        made.start(row(0))
        assert "\x1b[?25l" in out.getvalue()
        made.message("half way")
    made.close()
    assert out.getvalue().rstrip().endswith("\x1b[?25h")
    assert "half way" in out.getvalue()


def test_sparklines():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == SPARKS
    assert sparkline([0, 7], 8, base=0.0) == "▁█"
    assert sparkline([5, 5], 8) == "▄▄"
    squeezed = sparkline([*range(100), 0], 10)
    assert len(squeezed) == 10
    assert squeezed[-1] == "▁"


@pytest.mark.parametrize("room", [1, 7, 24])
def test_bars_fill_their_exact_width(room):
    for probs in (
        {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3},
        {"a": 1.0},
        {str(i): 0.1 for i in range(10)},
    ):
        assert len(split_bar(probs, room).plain) == room
    assert split_bar({"a": 0.25, "b": 0.75}, 8).plain == "██▓▓▓▓▓▓"


def test_further_decisions_are_counted_beyond_the_record():
    """A record has 256 decisions at most; the policy may have more."""
    made, out = screen(width=400, tty=False)
    made.start(row(0))
    made.step(row(1, sets=256) | {"decisions": 1821})
    made.step(row(2, sets=6))
    lines = out.getvalue().splitlines()
    assert "and 1,817 more decisions" in lines[-2]
    assert "and 2 more decisions" in lines[-1]


def test_replays_are_told_inside_a_step():
    made, out = screen(width=400, tty=False)
    made.replays({"event": "replays", "step": 3, "move": 12, "done": 512, "courses": 2048})
    assert out.getvalue() == "step 3: other choices are played out, move 12, 512 of 2,048\n"
