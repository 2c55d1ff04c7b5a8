import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pyte
import pytest
from rich.cells import cell_len
from rich.console import Console

from gamedsl.training.screen import SPARKS, Screen, _tail, sparkline, split_bar

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


PLAYED = {"event": "progress", "step": 2, "part": "games", "piece": "move 12", "done": 512,
          "of": 2048, "what": "played"}  # fmt: skip


def test_logs_say_seldom_how_far_a_step_is(monkeypatch):
    made, out = screen(width=400, tty=False)
    made.start(row(0))
    made.step(row(1))
    began, before = made._under_way, len(out.getvalue().splitlines())
    for seconds in range(0, 1000, 5):
        monkeypatch.setattr("gamedsl.training.screen.time.monotonic", lambda s=seconds: began + s)
        made.progress(PLAYED)
    lines = out.getvalue().splitlines()[before:]
    assert lines[0] == "step 2: games, move 12, 512 of 2,048 played, 30 s so far"
    assert len(lines) == 6


def test_labels_keep_who_acts_at_72_columns():
    key = "second:answer [second.card=Q, first.open=check, second.reply=bet, first.raise=raise]"
    for wide in range(18, 80):
        assert _tail(key, wide).startswith("second:answer […" if wide > 18 else "second:answer")
        assert len(_tail(key, wide)) <= wide
    assert _tail(key, 40).endswith("first.raise=raise]")
    made, _ = screen(width=72)
    made.start(row(0) | {"policy": {key: {"probs": {"call": 0.5, "fold": 0.5}}}})
    assert "second:answer" in "\n".join(panel(made))
    made.close()


def test_words_show_validity_and_length():
    record = {"event": "step", "step": 1, "reward": {"ann": 0.5}, "valid": {"ann": 0.25},
              "reply_tokens": {"ann": 31.4}, "invalid": {"empty": 12}}  # fmt: skip
    made, out = screen(width=200, tty=False)
    made.start({"event": "start", "step": 0})
    made.step(record)
    assert "valid replies 25% | reply tokens 31 | 12 refused" in out.getvalue()
    made, _ = screen()
    made.start({"event": "start", "step": 0})
    made.step(record)
    text = "\n".join(panel(made))
    made.close()
    assert "valid replies" in text
    assert "reply tokens" in text


def test_curves_survive_a_resume():
    made, _ = screen()
    made.recall([row(0) | {"event": "start"}, *(row(step) for step in range(1, 9))])
    made.start(row(0))
    made.step(row(6))
    text = "\n".join(panel(made))
    made.close()
    assert "step 6 of 40" in text
    assert made._rewards["role_0"] == [step / 3 for step in range(1, 7)]
    assert sparkline(made._rewards["role_0"], 60) in text


def test_a_long_step_shows_how_far_it_is(monkeypatch):
    made, _ = screen(width=100)
    made.start(row(0))
    made.step(row(1) | {"seconds": 40.0})
    before = panel(made)[1].count("━")
    monkeypatch.setattr("gamedsl.training.screen.time.monotonic", lambda: made._under_way + 30)
    made.progress(PLAYED)
    bar, inside = panel(made)[1:3]
    made.close()
    assert "40 s a step" in bar
    assert bar.count("━") >= before
    assert inside.strip() == "step 2: 30 s, games, move 12, 512 of 2,048 played"


class Terminal:
    """A command in a pseudo-terminal, and what its screen shows."""

    def __init__(self, folder, *arguments):
        self.ours, theirs = pty.openpty()
        environment = {**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gamedsl", *arguments], cwd=folder, stdin=theirs,
            stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
            preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        self.screen = pyte.HistoryScreen(80, 24, history=500)
        self.stream = pyte.ByteStream(self.screen)

    @property
    def text(self):
        above = ["".join(line[x].data for x in range(80)) for line in self.screen.history.top]
        return "\n".join(line.rstrip() for line in (*above, *self.screen.display))

    def read(self, until=None, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end and (until is None or until not in self.text):
            if select.select([self.ours], [], [], 0.1)[0]:
                try:
                    piece = os.read(self.ours, 65536)
                except OSError:
                    return
                if not piece:
                    return
                self.stream.feed(piece)
            elif self.process.poll() is not None:
                return


def test_ctrl_c_leaves_one_header(tmp_path):
    """Through a pseudo-terminal: the first line comes before the packages are imported."""
    made = Terminal(tmp_path, "train", "stag_hunt", "--model", "tabular", "--steps", "4000",
                    "--out", "run")  # fmt: skip
    try:
        made.read("reading stag_hunt")
        assert "step" not in made.text
        made.read("a step,")
        os.write(made.ours, b"\x03")
        made.read()
        made.process.wait(60)
    finally:
        if made.process.poll() is None:
            made.process.send_signal(signal.SIGKILL)
        os.close(made.ours)
    assert made.process.returncode == 130
    assert "go on with: gamedsl train --resume run" in made.text
    assert made.text.count("stag_hunt · tabular") == 1
    assert "^C" not in made.text
    steps = len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) - 1
    assert steps >= 1


def test_loading_says_how_long_it_took_last_time(tmp_path, monkeypatch, capsys):
    from gamedsl.commands._loading import NAME, LoadingTimes

    monkeypatch.setenv("GAMEDSL_CACHE", str(tmp_path / "cache"))
    now = iter([0.0, 12.5, 12.5, 13.0, 20.0])
    monkeypatch.setattr("gamedsl.commands._loading.time.monotonic", lambda: next(now))
    for _ in range(2):
        times = LoadingTimes()
        times.begin("loading smollm2-135m")
        times.begin("loading smollm2-135m")
        if _ == 0:
            times.end()
    assert capsys.readouterr().err.splitlines() == [
        "loading smollm2-135m", "loading smollm2-135m (last time 12 s)",
    ]  # fmt: skip
    entry = tmp_path / "cache" / NAME
    assert json.loads(entry.read_bytes().partition(b"\n")[2]) == {"loading smollm2-135m": 12.5}
    entry.write_bytes(b"nonsense")
    assert LoadingTimes()._times == {}
