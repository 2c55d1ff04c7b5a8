"""A `show` of a value per role: `seen_by: owner` tells each role its own, `others` all but that."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.export.history_tensor import HistoryTensor
from gamedsl.runtime.game import Game
from gamedsl.runtime.views import Viewer
from gamedsl.view.game.sight import visibility_rows
from tests.runtime.test_backends import TwinKernel

PASSING = """\
game: passing
roles: {player: 3}
state:
  hand: {per: role, bag: 1..3, copies: 0, seen_by: owner, size: hidden}
turns:
  - {deal: card, from: 1..3, seen_by: owner}
  - {each: roles, do: add card.me to hand.me}
  - {show: incoming, as: got, seen_by: READERS}
  - {each: roles, do: hand.me = got.me}
  - {role: all, choose: guess, from: [low, high]}
let:
  incoming: hand[roles[(index(me) + 1) % 3]]
payoffs: sum(hand.me)
"""

PEEKING = """\
game: peeking
roles: [a, b, c]
turns:
  - {deal: card, from: 1..3, seen_by: nobody}
  - {show: card, as: seen, seen_by: others}
  - {role: all, choose: guess, from: 1..3}
payoffs: 1 if guess.me == card.me else 0
"""

MARKED = """\
game: marked
roles: [a, b]
turns:
  - {role: all, say: guess, max_tokens: 10, seen_by: owner}
  - {call: exact, with: {text: guess, value: VALUE}, gives: hit, seen_by: owner}
  - {role: all, choose: move, from: [x, y]}
payoffs: 1 if hit.me else 0
"""


def passing(folder: Path, readers: str) -> Game:
    path = folder / f"passing_{readers}.yaml"
    path.write_text(PASSING.replace("READERS", readers), encoding="utf-8")
    return gamedsl.load(path)


def test_each_role_is_told_its_own_entry(tmp_path: Path) -> None:
    episode = passing(tmp_path, "owner").env().reset(chance="asked")
    for outcome in (1, 0):
        episode.draw(outcome)
    assert episode.information("player_1") == "player_1 [player_1.card=2, player_1.got={1}]"
    assert episode.information("player_3") == "player_3 [player_3.card=3, player_3.got={2}]"
    (message,) = (d.messages for d in episode.decisions if d.seat == "player_2")
    assert "got for player_2: 3." in str(message)
    assert "Each player is told its got: its incoming." in str(message)


def test_what_others_hold_stays_hidden_from_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "others.yaml"
    text = PASSING.replace("READERS", "others").replace("hand.me = got.me", "hand.me = hand.me")
    path.write_text(text, encoding="utf-8")
    episode = gamedsl.load(path).env().reset(chance="asked")
    for outcome in (1, 0):
        episode.draw(outcome)
    known = episode.information("player_1")
    assert known == "player_1 [player_1.card=2, player_2.got={3}, player_3.got={2}]"


def test_entry_may_not_reach_the_uninformed(tmp_path: Path) -> None:
    with pytest.raises(gamedsl.CompileError) as refused:
        passing(tmp_path, "others")
    assert {problem.code for problem in refused.value.diagnostics} == {"GD0441"}


def test_sight_says_who_sees_which_entry(tmp_path: Path) -> None:
    rows = {row.name: row for row in visibility_rows(passing(tmp_path, "owner").ir)}
    assert {glance.note for glance in rows["got"].glances} == {"its own"}


def test_readers_of_an_entry_may_name_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "spied.yaml"
    text = PEEKING.replace("seen_by: others", "seen_by: me == owner or me == c")
    path.write_text(text, encoding="utf-8")
    episode = gamedsl.load(path).env().reset(chance="asked")
    for outcome in (1, 0):
        episode.draw(outcome)
    assert episode.information("a") == "a [a.seen=2]"
    assert episode.information("c") == "c [a.seen=2, b.seen=1, c.seen=3]"


def test_each_author_is_told_its_own_result(tmp_path: Path) -> None:
    path = tmp_path / "marked.yaml"
    path.write_text(MARKED.replace("VALUE", "3"), encoding="utf-8")
    episode = gamedsl.load(path).env().reset()
    episode.step({"a": "3", "b": "4"})
    asked = {d.seat: str(d.messages) for d in episode.decisions}
    assert "hit for a: true." in asked["a"]
    assert "hit for" not in asked["b"].replace("hit for b: false.", "")
    assert "hit[a]" in str(episode.env.vector_names("a"))


def test_a_result_may_not_tell_what_others_said(tmp_path: Path) -> None:
    path = tmp_path / "marked.yaml"
    path.write_text(MARKED.replace("VALUE", "guess.b"), encoding="utf-8")
    with pytest.raises(gamedsl.CompileError) as refused:
        gamedsl.load(path)
    assert "GD0448" in {problem.code for problem in refused.value.diagnostics}


def test_backends_tell_the_same_entries(tmp_path: Path) -> None:
    ir = passing(tmp_path, "owner").ir
    for number in range(20):
        state = TwinKernel(ir).start()
        while state.kind != "end":
            if state.kind == "chance":
                state.draw(state.pick(seed=number))
            else:
                state.choose([ask.legal[number % len(ask.legal)] for ask in state.asks])


def test_views_and_tensors_hold_each_entry(tmp_path: Path) -> None:
    path = tmp_path / "peeking.yaml"
    path.write_text(PEEKING, encoding="utf-8")
    game = gamedsl.load(path)
    tensor = HistoryTensor.of(Viewer(game.ir), 10_000)
    assert tensor is not None
    assert ("seen", "b", "2") in tensor.places
    names = game.env().vector_names("b")
    assert "seen[a]=2" in names
    assert "seen[b]=2" not in names
