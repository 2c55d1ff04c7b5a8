"""`gamedsl play`: every shipped game is played to its end by a script that reads what is printed,
types lines, and knows nothing else."""

from __future__ import annotations

import io
import json
import re
import sys
from itertools import takewhile
from pathlib import Path
from random import Random

import pytest

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, main
from tests.shipped import CLOSED, OPEN

OPTION = re.compile(r"(?:^|  )\s*(\d+) (\S.*?)(?=  |$)")


class Person(io.StringIO):
    """Reads what was printed since its last line, and types an answer that it offers."""

    def __init__(self, out: io.StringIO, seed: int, first: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._out, self._read, self._dice = out, 0, Random(seed)
        self._first = list(first)
        self._options: list[str] = []
        """The lines of options that were printed last."""
        self.typed: list[str] = []

    def readline(self, size: int = -1) -> str:
        shown = self._out.getvalue()[self._read :]
        self._read += len(shown)
        line = self._first.pop(0) if self._first else self._reply(shown)
        self.typed.append(line)
        assert len(self.typed) < 3000, "the game does not end"
        return f"{line}\n"

    def _reply(self, shown: str) -> str:
        asked = shown.rpartition("\n")[2]
        if "then press Enter" in shown:
            return ""
        if asked == ". ":  # more of a text of several lines
            return "."
        if field := re.fullmatch(r"([\w.]+) \((.+)\)> ", asked):
            return self._value(field[2])
        if "Reply with one JSON object" in shown:
            return self._object(shown.rpartition("Reply with one JSON object")[2])
        if "Reply " in shown:
            return "print(1)" if "code" in shown else self._dice.choice(["tea", "no", "I see 3"])
        block = shown.rpartition("\n")[0].split("\n")
        block = list(takewhile(lambda line: line.startswith("  "), reversed(block)))
        self._options = block or self._options
        numbered = [found[1] for line in self._options for found in OPTION.finditer(line)]
        return self._dice.choice(numbered or " ".join(self._options).split())

    def _value(self, described: str) -> str:
        if "text" in described:
            return "tea"
        if words := re.findall(r'"([^"]+)"', described):
            return self._dice.choice(words)
        if "true or false" in described:
            return "true"
        if bounds := re.search(r"(-?\d+) ?(?:\.\.|to) ?(-?\d+)", described):
            return str(self._dice.randint(int(bounds[1]), int(bounds[2])))
        return re.findall(r"-?\d+", described)[0]

    def _object(self, described: str) -> str:
        """An object of the form that is described."""
        if "null" in described and self._dice.random() < 0.3:
            return "null"
        body = described[described.index("{") :]
        for pattern, value in (
            (r"text( of at most \d+ characters)?(?=[,}])", '"tea"'),
            (r"a whole number from (-?\d+) to -?\d+", r"\1"),
            (r'("[^"]+")( or "[^"]+")+', r"\1"),
            (r"(, or null|true or )", ""),
        ):
            body = re.sub(pattern, value, body)
        found, _ = json.JSONDecoder().raw_decode(body)
        return json.dumps(found)


def play(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], seed: int = 0,
    first: tuple[str, ...] = (),
) -> tuple[int, str, Person]:  # fmt: skip
    """Runs the command with a person; returns the exit code, what was printed, and the person."""
    out = io.StringIO()
    person = Person(out, seed, first)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stdin", person)
    code = main(["play", *arguments])
    return code, out.getvalue(), person


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", sorted((*CLOSED, *OPEN)))
def test_a_shipped_game_is_played_to_its_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [name, "--against", "random", "--seed", "5", "--no-review"]
    code, text, _ = play(monkeypatch, given)
    assert code == CLEAN, text[-800:]
    assert "The game is over" in text, text[-800:]
    saved = next(Path("plays").iterdir())
    assert main(["replay", name, str(saved), "--quiet"]) == CLEAN


def test_a_dealt_card_is_shown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _, text, _ = play(monkeypatch, ["kuhn_poker", "--against", "random", "--seed", "3"])
    before, _, _ = text.partition("Make your choice")
    assert before.count("│  Q  │") == 1
    assert "card for first" not in before


def test_a_model_is_named_while_it_is_opened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["stag_hunt", "--seed", "1", "--no-review", "--against"]
    play(monkeypatch, [*given, "model:tiny"])
    assert capsys.readouterr().err.startswith("opening model:tiny")
    play(monkeypatch, [*given, "random"])
    assert "opening" not in capsys.readouterr().err


def test_all_seats_by_people_hand_over(monkeypatch: pytest.MonkeyPatch) -> None:
    code, text, _ = play(monkeypatch, ["kuhn_poker", "--as", "all", "--seed", "5"])
    assert code == CLEAN
    assert "It is second's turn. Hand over, then press Enter." in text
    before, _, after = text.partition("It is second's turn")
    cards = ["└─────┘\n first\n", "└─────┘\nsecond\n"]
    assert [card in before for card in cards] == [True, False]
    assert [card in after for card in cards] == [False, True]
    assert "card for first" not in after


def test_play_is_decided_by_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["leduc_poker", "--against", "random", "--seed", "11", "--no-review", "--save", "a"]
    assert play(monkeypatch, given)[1] == play(monkeypatch, given)[1]


def test_end_of_input_saves_the_play(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["tic_tac_toe", "--against", "random", "--seed", "2", "--save", "left.jsonl"]
    code, text, _ = play(monkeypatch, given, first=("1", "quit"))
    assert code == CLEAN
    assert "saved: left.jsonl" in text
    steps = json.loads(Path("left.jsonl").read_text(encoding="utf-8"))["steps"]
    assert steps[0]["choices"] == {"x": "mark(0,0)"}


def test_another_play_of_a_seed_keeps_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        play(monkeypatch, ["kuhn_poker", "--seed", "5", "--against", "random", "--no-review"])
    assert {path.name for path in Path("plays").iterdir()} == {
        "kuhn_poker-5.jsonl", "kuhn_poker-5-2.jsonl"
    }  # fmt: skip


def test_a_mistyped_command_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["debate", "--against", "random", "--seed", "1"]
    _, text, _ = play(monkeypatch, given, first=("/hlep", "/help", "/quit"))
    assert "There is no command `/hlep`" in text
    assert "Type what you say." in text
    saved = next(Path("plays").iterdir()).read_text(encoding="utf-8")
    assert "hlep" not in saved


def test_hint_has_exact_values(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["tic_tac_toe", "--seed", "3", "--against", "minimax"]
    moves = ("undo", "mark(0,1)", "hint", "quit")
    _, text, _ = play(monkeypatch, given, first=moves)
    assert "You have not chosen anything yet." in text
    hint = text.partition("By the exact value")[2]
    worth = dict(re.findall(r"(mark\(\d,\d\))\s+\d+%\s+(\S+)", hint))
    assert set(worth.values()) <= {"0", "−1"}
    assert len(worth) == 7


def test_review_names_the_move_that_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["nim", "--against", "minimax", "--seed", "1"]
    _, text, _ = play(monkeypatch, given, seed=4)
    assert "Your choices, by the exact value of each position" in text
    lost = float(re.findall(r"In all they cost (\S+) of payoff", text)[0])
    paid = re.findall(r"Payoffs: (\S+ -?\d+), (\S+ -?\d+)", text)[0][0]
    assert lost in (0, 1, 2), text  # from what the start is worth to what was paid
    assert paid.endswith(("1", "-1"))


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("0 2", "chose"),
        ("MARK(0,2)", "chose"),
        ("mark(2", "could be mark(2,0), mark(2,1), mark(2,2)"),
        ("mork(0,0)", "did you mean `mark(0,0)`?"),
        ("17", "There are options 1 to 9."),
        ("", "Type the number or the name of an option"),
        ("hint please", "is not one of the options"),
    ],
)
def test_lines_are_moves_or_have_a_reason(
    line: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["tic_tac_toe", "--against", "minimax", "--seed", "1"]
    _, text, _ = play(monkeypatch, given, first=(line, "quit"))
    assert answer in text


def test_numbers_that_are_options_are_no_places(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["first_price_auction", "--against", "random", "--seed", "1", "--no-review"]
    _, text, person = play(monkeypatch, given, first=("0",))
    assert person.typed == ["0"]
    assert "The game is over" in text


def test_own_seats_and_opponents_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for given, message in (
        (["kuhn_poker", "--against", "third=random"], "no seat `third`; there are first, second"),
        (["kuhn_poker", "--as", "frist"], "has no seat `frist`; did you mean `first`?"),
        (["kuhn_poker", "--against", "minmax"], "there is no player `minmax`"),
        (["kuhn_poker", "--against", "first=random"], "first is yours"),
        (["kuhn_poker", "--against", "mcts:20"], "everybody sees everything"),
    ):
        code, _, _ = play(monkeypatch, given)
        assert code == USAGE
        assert message in capsys.readouterr().err


def test_wrong_game_is_a_diagnostic(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.yaml").write_text("game: bad\nroles: [a, b]\n", encoding="utf-8")
    code, _, _ = play(monkeypatch, ["bad.yaml"])
    assert code == PROBLEMS
    assert "error[GD" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("limit", "refused"),
    [
        ("read: text(12)", "(it has 16 characters, not 12 at most)"),
        ("max_tokens: 2", "(3, and at most 2 may be)"),
    ],
)
def test_a_long_reply_is_refused_with_its_length(
    limit: str, refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("word.yaml").write_text(
        "game: word\nroles: [a, b]\nturns:\n"
        f"  - {{role: a, say: word, {limit}}}\n"
        "  - {role: b, choose: good, from: [fine, poor]}\n"
        "payoffs: 1 if good == fine else 0\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO("three long words\nshort\n"))
    assert main(["play", "word.yaml"]) == CLEAN
    assert refused in capsys.readouterr().out
