"""What does not fit a game in which something is said gets a clear word, and what fits it works."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl import cli
from gamedsl.analysis.history_sample import HistorySample
from gamedsl.compiler import compile_file
from gamedsl.players import open_player
from gamedsl.players.base import PlayerError, play

POSED = """
game: case
roles: [ann, bob]
turns:
  - {role: all, say: number, read: {n: 1..9}, valid: number.me.n != 5}
  - {call: same_number, with: {text: word, value: 3}, gives: hit}
payoffs: 1 if hit else 0
"""
SAID = POSED.replace("  - {call", "  - {role: ann, say: word, max_tokens: 20}\n  - {call").lstrip()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "case.yaml"
    path.write_text(SAID, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "command",
    [
        ("solve",), ("show", "--view", "tree"), ("show", "--view", "table"),
        ("export", "--to", "efg"), ("export", "--to", "nfg"),
    ],
)  # fmt: skip
def test_what_lists_all_plays_says_why_not(
    command: tuple[str, ...], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command[0], file, *command[1:]]) != 0
    assert "written replies, calls or a referee" in capsys.readouterr().err


def test_show_has_flow_and_sight(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", file]) == 0
    shown = capsys.readouterr().out
    assert "say at once number" in shown
    assert "call same_number" in shown
    assert "choice of word" in shown


def test_random_players_say_what_is_valid(file: str) -> None:
    game = gamedsl.load(file)
    env, player = game.env(), open_player("random", game, seed=1)
    for seed in range(8):
        episode = play(env, dict.fromkeys(env.seats, player), seed)
        assert not episode.mistakes
        assert 5 not in {said[0] for said in episode.state.variables["number"].values()}


@pytest.mark.parametrize("spec", ["mcts:5", "minimax", "equilibrium"])
def test_players_of_closed_games_are_refused(spec: str, file: str) -> None:
    with pytest.raises(PlayerError, match="something is said"):
        open_player(spec, gamedsl.load(file), seed=0)


WHISPERED = """
game: case
roles: [ann, bob, cal]
turns:
  - {draw: x, per: role, from: 0..2, seen_by: owner}
  - {WHO, say: note, max_tokens: 10, if: x.me != 1, seen_by: owner}
  - {role: all, say: word, max_tokens: 10}
  - {role: all, choose: vote, from: [yes, no]}
payoffs: 0
""".lstrip()


@pytest.mark.parametrize("who", ["each: roles", "role: all"])
def test_examples_follow_from_what_authors_know(who: str, tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(WHISPERED.replace("WHO", who), encoding="utf-8")
    result = compile_file(path)
    assert result.ir is not None
    assert not result.diagnostics
    sample = HistorySample(result.ir)
    shared = [members for members in sample.sets.values() if len(members) > 1]
    said = [members for members in shared if members[0][1].step == "word"]
    secrets = [[node.state.variables["x"] for node, _ in members] for members in said]
    assert any(one != others[0] for others in secrets for one in others)
    for members in shared:
        assert len({ask.legal for _, ask in members}) == 1


def test_reply_refused_by_a_secret_has_a_witness(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    rest = "{role: all, say: guess, read: {n: 0..2}, valid: guess.me.n != x.bob}"
    text = WHISPERED.replace("WHO", "role: all")
    path.write_text(text.replace("{role: all, say: word, max_tokens: 10}", rest), encoding="utf-8")
    [found] = compile_file(path).diagnostics
    assert found.code == "GD0440"
    assert "but what it may say differs: " in found.witness[-1]


def test_a_condition_beside_say_is_of_each_role(tmp_path: Path) -> None:
    """Who speaks, who sees it and what prompts say of it; with readers by field, `valid`, silence
    and referees."""
    path = tmp_path / "case.yaml"
    path.write_text(
        "game: case\nroles: [ann, bob, cal]\nreferees: {judge: 2}\nturns:\n"
        "  - {draw: x, per: role, from: 0..2, seen_by: all}\n"
        "  - {role: all, say: note, read: {who: role, why: text(20)}, if: x.me != 1,\n"
        "     seen_by: {who: all, why: owner}, valid: note.me.who != me}\n"
        "  - {role: [judge], say: verdict, max_tokens: 9, if: me == judge_2}\n"
        "  - {role: all, choose: vote, from: [yes, no], if: note.me != none}\n"
        "payoffs: 0 if note.me == none else 1\non_invalid: {then: skip}\n",
        encoding="utf-8",
    )
    assert not compile_file(path).diagnostics
    episode = gamedsl.load(path).env().reset(0, chance="asked")
    for drawn in (0, 1, 2):
        episode.draw(drawn)
    assert [d.seat for d in episode.decisions] == ["ann", "cal"]
    assert "All who are asked reply at the same time." in str(episode.decisions[0].messages)
    episode.step({"ann": '{"who": "bob", "why": "so"}', "cal": '{"who": "cal", "why": "so"}'})
    assert [d.seat for d in episode.decisions] == ["judge_2"]
    assert "so" not in episode.information("judge_2")
    assert episode.information("bob").endswith("ann.note=who=bob, cal.note=who=none]")
    episode.step({"judge_2": "fine"})
    assert [d.seat for d in episode.decisions] == ["ann"]
    episode.step({"ann": gamedsl.Action("yes")})
    assert episode.payoffs == {"ann": 1, "bob": 0, "cal": 0}
