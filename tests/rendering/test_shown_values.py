"""What was drawn or shown, and what was chosen before something is said, as prompts tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.analysis.prompt_bounds import PromptBounds
from gamedsl.prompting.labels import draw_labels
from gamedsl.runtime import Action

TYPES = """
game: case
roles: [north, south]
types:
  Place: [nor, nub, lon]
  Unit: [first, second]
  Card: {rank: 1..3, suit: [red, black]}
state:
  at: {per: [role, Unit], of: Place, start: nor}
  none_yet: {list: Place, at_most: 3}
  two: {list: Place, at_most: 3, start: [nor, lon]}
  hands: {per: role, list: Card, at_most: 2}
  closed: {set: Place}
  board: {grid: [1, 2], of: role or none}
  counts: {per: Place, of: 0..3, start: 2}
  kept: {per: role, of: Card or none}
"""

SHOWN = [
    ("at", "told:\n  north: first nor, second nor\n  south: first nor, second nor"),
    ("at.me", "told: first nor, second nor."),
    ("none_yet", "told: nothing."),
    ("two", "told: nor, lon."),
    ("hands", "told:\n  north: nothing\n  south: nothing"),
    ("closed", "told: nothing."),
    ("set(two)", "told: {lon nor}."),
    ("board", "told:\n    0 1\n  0 . ."),
    ("counts", "told: nor 2, nub 2, lon 2."),
    ("kept", "told:\n  north: nothing\n  south: nothing"),
    ("argmax(points)", "told: nobody."),
    ("points", "told: north 0, south 0."),
    ("points.north", "told: 0."),
    ("first([none_yet, two])", "told: nothing."),
]


def load(text: str, folder: Path) -> gamedsl.Game:
    (folder / "case.yaml").write_text(text, encoding="utf-8")
    return gamedsl.load(folder / "case.yaml")


def last_message(episode: gamedsl.Episode) -> str:
    return episode.decisions[0].messages[-1][1]


@pytest.mark.parametrize(("value", "text"), SHOWN)
def test_shown_values_are_written_for_reading(value: str, text: str, tmp_path: Path) -> None:
    each, readers = ("each: roles, ", "owner") if ".me" in value else ("", "all")
    turns = f"""
  points: {{per: role, start: 0}}
turns:
  - {{{each}show: "{value}", as: told, seen_by: {readers}}}
  - {{role: all, choose: move, from: [left, right]}}
payoffs: 0
"""
    game = load(TYPES + turns.lstrip("\n"), tmp_path)
    prompt = last_message(game.env().reset())
    assert prompt.startswith(f"{text}\n"), prompt
    book = draw_labels(game.ir, run_seed=0, seed=0)
    sent = "\n".join(t for _, t in game.env().reset().decisions[0].messages)
    assert len(sent) <= PromptBounds(game.ir, book).most


def test_masked_games_show_labels_in_what_is_shown(tmp_path: Path) -> None:
    game = load(
        """
game: case
roles: [north, south]
types: {Place: [nor, nub]}
state:
  at: {per: role, of: Place, start: nor}
turns:
  - {show: at, as: told}
  - {role: all, choose: move, from: Place}
payoffs: 0
labels: masked
""",
        tmp_path,
    )
    label = game.env().reset().transcript["labels"]["labels"]["nor"]
    expected = f"Shown: player 1 {label}, player 2 {label}."
    assert last_message(game.env().reset()).startswith(expected)


DRAWN = """
game: case
roles: [north, south]
types: {Lot: [vase, coin]}
turns:
  - {draw: worth, per: [role, Lot], from: [4], seen_by: owner}
  - {draw: pool, per: Lot, from: [3], seen_by: all}
  - {draw: number, per: 1..2, from: [5], seen_by: all}
  - {role: all, choose: move, from: [left, right]}
payoffs: 0
"""


def test_outcomes_say_for_what_they_are(tmp_path: Path) -> None:
    lines = last_message(load(DRAWN, tmp_path).env().reset()).split("\n")
    assert lines[:6] == [
        "worth of vase for north: 4.", "worth of coin for north: 4.",
        "pool of vase: 3.", "pool of coin: 3.", "number of 1: 5.", "number of 2: 5.",
    ]  # fmt: skip
    own = "prompts: {seen: {worth: 'I pay {{ choice }}', number: 'No. {{ choice }}'}}\n"
    lines = last_message(load(DRAWN + own, tmp_path).env().reset()).split("\n")
    assert lines[:2] == ["I pay vase 4", "I pay coin 4"]
    assert lines[4:6] == ["No. 1: 5", "No. 2: 5"]


def test_outcomes_seen_in_part_say_for_what_they_are(tmp_path: Path) -> None:
    """Drawn again in each pass, too; the key is that of the value."""
    text = """
game: case
roles: [north, south]
types: {Lot: [vase, coin], Card: {rank: 1..9, suit: [red, black]}}
turns:
  - repeat: 2
    turns:
      - {draw: card, per: [role, Lot], from: Card, seen_by: {rank: owner, suit: others}}
      - {draw: mark, per: Lot, from: Card, seen_by: {rank: all}}
      - {role: all, choose: move, from: [left, right]}
payoffs: 0
"""
    episode = load(text, tmp_path).env().reset(seed=3)
    for _ in range(2):
        true = episode.state.variables
        (decision, _) = episode.decisions
        told = decision.messages[-1][1].split("\n")
        told = told[told.index("south chose left.") :] if "south chose left." in told else told
        for lot in ("vase", "coin"):
            mine, theirs = true["card"]["north"][lot], true["card"]["south"][lot]
            assert f"card of {lot} for north: rank={mine[0]}." in told
            assert f"card of {lot} for south: suit={theirs[1]}." in told
            assert f"mark of {lot}: rank={true['mark'][lot][0]}." in told
        episode.step({"north": Action("left"), "south": Action("left")})


TALK = """
game: case
roles: [north, south]
turns:
  - {each: roles, turns: [{choose: act, from: [talk, wait]}, STEP]}
  - {role: south, choose: move, from: [left, right]}
payoffs: 0
"""


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("{say: word, max_tokens: 9, if: act == talk}", "north said: hi"),
        ("{say: word, max_tokens: 9, if: act.me == talk}", "north said: hi"),
        ("{if: act == talk, turns: [{say: word, max_tokens: 9}]}", "north said: hi"),
        ("{say: word, max_tokens: 9}", "north chose talk.\nnorth said: hi"),
        ("{say: word, max_tokens: 9, if: act != wait}", "north chose talk.\nnorth said: hi"),
        (
            "{say: word, max_tokens: 9, if: act == talk or act == wait}",
            "north chose talk.\nnorth said: hi",
        ),
    ],
)
def test_message_implies_the_choice_to_speak(step: str, told: str, tmp_path: Path) -> None:
    episode = load(TALK.replace("STEP", step), tmp_path).env().reset()
    episode.step({"north": Action("talk")})
    episode.step({"north": "hi"})
    assert last_message(episode).startswith(f"You are south.\n{told}\nMake your choice (act).")


def test_only_implied_choices_are_left_out(tmp_path: Path) -> None:
    text = TALK.replace("STEP", "{say: word, max_tokens: 9, if: act == talk}")
    episode = load(text, tmp_path).env().reset()
    episode.step({"north": Action("wait")})
    assert "north chose wait." in last_message(episode)
    written = text + "prompts: {seen: {act: '{{ actor }} picks {{ choice }}'}}\n"
    episode = load(written, tmp_path).env().reset()
    episode.step({"north": Action("talk")})
    episode.step({"north": "hi"})
    assert "north picks talk\nnorth said: hi" in last_message(episode)


def test_later_choice_implies_no_earlier_one(tmp_path: Path) -> None:
    text = """
game: case
roles: [north, south, west]
turns:
  - {each: [north, south], choose: act, from: [talk, wait]}
  - {role: north, say: word, max_tokens: 9, if: act == talk}
  - {role: west, choose: move, from: [left, right]}
payoffs: 0
"""
    episode = load(text, tmp_path).env().reset()
    episode.step({"north": Action("talk")})
    episode.step({"south": Action("talk")})
    episode.step({"north": "hi"})
    told = "north chose talk.\nsouth chose talk.\nnorth said: hi"
    assert told in last_message(episode)


NOTES = """
game: case
roles: [ann, bob]
state: {note: {per: role, of: text(40)}}
turns:
  - {role: all, say: note, max_tokens: 20}
  - {show: note, as: notes}
  - {role: ann, choose: move, from: [left, right]}
payoffs: 0
"""


def test_texts_of_each_role_stand_below_each_other(tmp_path: Path) -> None:
    episode = load(NOTES, tmp_path).env().reset()
    episode.step({"ann": "I, ann, say: {yes}", "bob": "no bob:really"})
    assert ("\nnotes:\n  ann: I, ann, say: {yes}\n  bob: no bob:really\nMake") in last_message(
        episode
    )


@pytest.mark.parametrize("labels", ["masked", "{warm: A, cold: B}"])
def test_fields_of_drawn_rows_have_labels(tmp_path: Path, labels: str) -> None:
    """As the options have that are the same values; a text is as it is."""
    (tmp_path / "rows.jsonl").write_text(
        '{"word": "worm words", "kind": "cold"}\n', encoding="utf-8"
    )
    path = tmp_path / "kinds.yaml"
    path.write_text(
        f"""
game: kinds
roles: [teller]
types: {{Kind: [warm, cold]}}
data: {{rows: {{file: rows.jsonl, fields: {{word: text(20), kind: Kind}}}}}}
turns:
  - {{draw: row, from: rows, seen_by: {{word: teller, kind: teller}}}}
  - {{role: teller, choose: hint, from: Kind}}
payoffs: 1 if hint == row.kind else 0
labels: {labels}
prompts: {{seen: {{row: "It is {{{{ choice.kind }}}}."}}}}
""",
        encoding="utf-8",
    )
    plain = tmp_path / "plain.yaml"
    text = path.read_text(encoding="utf-8").partition("prompts:")[0]
    plain.write_text(text.replace("game: kinds", "game: plain"), encoding="utf-8")
    for file in (path, plain):
        episode = gamedsl.load(file).env().reset(seed=0)
        (decision,) = episode.decisions
        cold = dict(zip(decision.legal, decision.labels, strict=True))["cold"]
        told = decision.messages[-1][1].splitlines()
        assert any(line.endswith((f" {cold}", f" {cold}.")) for line in told), told
        assert not any("cold" in line for line in told)
    assert any("worm words" in line for line in told)
