"""State that lasts for a run: what an episode leaves, the next begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.players.base import play
from gamedsl.players.table import open_player
from gamedsl.runtime import Episode, Game
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read
from gamedsl.view.conversation import conversation_of, text_of

LIFE = """
game: life
roles: [ann, bob]
params: {creed: {type: text, default: be kind}}
state:
  diary: {per: role, of: text(30), lasts: run, seen_by: owner}
  motto: {of: text(20), lasts: run, start: creed}
turns:
  - {draw: weather, from: [sun, rain], seen_by: all}
  - {each: roles, show: diary.me, as: earlier, seen_by: owner, if: diary.me != none}
  - {show: motto, as: old_motto}
  - {role: ann, say: motto, max_tokens: 5}
  - {role: all, choose: go, from: [x, y]}
  - {role: all, say: diary, max_tokens: 20}
payoffs: 1 if go.me == x else 0
on_invalid: {then: forfeit, pay: -1}
"""


@pytest.fixture(name="game")
def _game(tmp_path: Path) -> Game:
    path = tmp_path / "life.yaml"
    path.write_text(LIFE, encoding="utf-8")
    return gamedsl.load(path)


def lived(episode: Episode, mark: str, *, silent: bool = False) -> Episode:
    while not episode.done:
        episode.step({
            d.seat: "" if silent and d.step == "diary" else f"{d.seat} {d.step} {mark}" if d.said
            else d.labels[0]
            for d in episode.decisions
        })  # fmt: skip
    return episode


def told(episode: Episode, seat: str) -> list[str]:
    return [event.name for event in episode.seen(seat) if event.step in ("earlier", "old_motto")]


def test_memory_persists_to_the_next_episode(game: Game) -> None:
    env = game.env()
    first = env.reset(1)
    assert told(first, "bob") == ["be kind"], "the first begins as declared"
    left = lived(first, "A").memory
    assert left == {
        "diary": {"ann": "ann diary A", "bob": "bob diary A"}, "motto": "ann motto A",
    }  # fmt: skip
    second = env.reset(2, memory=left)
    assert told(second, "bob") == ["bob diary A", "ann motto A"]
    assert told(second, "ann") == ["ann diary A", "ann motto A"]
    assert "ann diary A" in second.decisions[0].messages[1][1]
    assert told(env.reset(2), "bob") == ["be kind"], "nothing lasts that is not given"
    assert second.memory == left, "so far nothing new was written"


def test_equal_memory_and_seed_repeat_the_episode(game: Game) -> None:
    left = lived(game.env().reset(0), "A").memory
    one, two = (lived(game.env().reset(5, memory=left), "B") for _ in range(2))
    assert dump(one) == dump(two)
    other = lived(game.env().reset(5), "B")
    assert dump(one) != dump(other)
    assert one.fork().memory == one.memory


def test_a_forfeit_leaves_what_there_was(game: Game) -> None:
    left = lived(game.env().reset(0), "A").memory
    failed = lived(game.env().reset(1, memory=left), "B", silent=True)
    assert failed.failures
    assert failed.memory == left


def test_transcripts_hold_the_memory_that_they_begin_with(game: Game) -> None:
    left = lived(game.env().reset(0), "A").memory
    text = dump(lived(game.env().reset(3, memory=left), "B"))
    (transcript,) = read(text)
    assert transcript.head["memory"] == left
    found = replay(game, transcript)
    assert not found.faults
    assert found.episode.memory["motto"] == "ann motto B"
    assert "bob diary A" in text_of(conversation_of(found))
    (wrong,) = read(text.replace('"motto": "ann motto A"', '"moto": "ann motto A"'))
    (fault,) = replay(game, wrong).faults
    assert "`moto` does not last in `life`" in fault.message


@pytest.mark.parametrize(
    ("memory", "why"),
    [
        ({"moto": "x"}, "what lasts is `diary`, `motto`"),
        ({"motto": "x" * 21}, "a text of at most 20 characters"),
        ({"motto": 3}, "a text of at most 20 characters"),
        ({"diary": {"eve": "x"}}, "a map of roles to texts"),
        ({"diary": "x"}, "a map of roles to texts"),
        (["motto"], "a map of what lasts"),
    ],
)
def test_a_memory_is_of_its_game(game: Game, memory: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        game.env().reset(0, memory=memory)


def test_persistent_state_is_a_bounded_rule(game: Game, tmp_path: Path) -> None:
    path = tmp_path / "day.yaml"
    path.write_text(LIFE.replace("lasts: run, ", "").replace("life", "day"), encoding="utf-8")
    assert gamedsl.load(path).ir.rules_hash != game.ir.rules_hash
    episode = game.env().reset(0)
    episode.step({"ann": "this motto is far too long for it"})
    assert episode.failures


def test_villagers_read_their_diaries_and_no_others() -> None:
    game = gamedsl.load("village")
    players = {seat: open_player("random", game, seed=0) for seat in game.ir.seats}
    first = play(game.env(), players, 0)
    left = {"diary": {"villager_1": "Chop more.", "villager_3": "Rest."}}
    second = game.env().reset(1, memory=left)
    texts = {d.seat: d.messages[1][1] for d in second.decisions}
    assert "Your diary says of the last time: Chop more." in texts["villager_1"]
    assert "last time" not in texts["villager_2"]
    assert "Chop" not in texts["villager_3"]
    players = {seat: open_player("random", game, seed=0) for seat in game.ir.seats}
    assert play(game.env(), players, 0).memory == first.memory
