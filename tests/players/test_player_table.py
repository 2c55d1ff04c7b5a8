"""Players by their names: what opens, what is refused and what is said then."""

from __future__ import annotations

from collections import Counter

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.players import PLAYERS, DrawingPlayer, PlayerError, open_player, play
from gamedsl.players.table import player_spec

SCRIPT = """
from gamedsl import Action

class Last:
    def __init__(self, *, seed):
        self.seed = seed
    def act(self, decision, episode):
        return Action(decision.legal[-1])

def first(decision, episode):
    return Action(decision.legal[0])

def rude(decision, episode):
    return "no such label"

number = 3
"""


@pytest.fixture(scope="module")
def stag():
    return gamedsl.load("stag_hunt")


def choices(game, player, seeds=range(1)) -> Counter:
    env, players = game.env(), dict.fromkeys(game.ir.seats, player)
    plays = [play(env, players, seed=seed).transcript["steps"] for seed in seeds]
    return Counter(name for steps in plays for s in steps for name in s["choices"].values())


def test_random_is_uniform_and_seeded(stag) -> None:
    seen = choices(stag, open_player("random", stag, seed=1), range(500))
    assert set(seen) == {"stag", "hare"}
    assert abs(seen["stag"] - 500) < 4 * 1000**0.5 / 2
    assert seen == choices(stag, open_player("random", stag, seed=1), range(500))
    assert seen != choices(stag, open_player("random", stag, seed=2), range(500))


def test_a_seat_that_nobody_holds_is_named(stag) -> None:
    first, second = stag.ir.seats
    with pytest.raises(PlayerError, match=f"nobody holds the seat `{second}`"):
        play(stag.env(), {first: open_player("random", stag, seed=0)})


def test_fixed_takes_the_first_that_is_legal(stag) -> None:
    assert choices(stag, open_player("fixed:hare", stag, seed=1)) == {"hare": 2}
    game = gamedsl.load("tic_tac_toe")
    player = open_player("fixed:mark(1,1), mark(0,2)", game, seed=1)
    episode = game.env().reset()
    for cell in ("mark(1,1)", "mark(0,2)"):
        (decision,) = episode.decisions
        episode.step({decision.seat: player.act(decision, episode)})
        assert cell not in episode.decisions[0].legal
    with pytest.raises(PlayerError, match="not legal at"):
        player.act(episode.decisions[0], episode)


def test_a_policy_from_a_file(tmp_path) -> None:
    path = tmp_path / "policy.json"
    assert main(["solve", "ultimatum", "--save", str(path)]) == 0
    game = gamedsl.load("ultimatum")
    player = open_player(f"policy:{path}", game, seed=1)
    assert isinstance(player, DrawingPlayer)
    assert play(game.env(), dict.fromkeys(game.ir.seats, player)).payoffs["proposer"] == 8
    with pytest.raises(PlayerError, match="is a policy for `ultimatum`"):
        open_player(f"policy:{path}", gamedsl.load("stag_hunt"), seed=1)


def test_players_written_in_python(stag, tmp_path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SCRIPT, encoding="utf-8")

    def opened(name):
        return open_player(f"module:{path}:{name}", stag, seed=7, allow_code=True)

    last, first = stag.ir.steps[0].options[0][-1].name, stag.ir.steps[0].options[0][0].name
    assert choices(stag, opened("Last")) == {last: 2}
    assert opened("Last").seed == 7
    assert choices(stag, opened("first")) == {first: 2}
    rude = play(stag.env(), {"hunter_1": opened("rude"), "hunter_2": opened("first")})
    assert set(rude.failures) == {"hunter_1"}
    with pytest.raises(PlayerError, match="has no player `number`"):
        opened("number")
    with pytest.raises(PlayerError, match="would run a Python file"):
        open_player(f"module:{path}:Last", stag, seed=7)


@pytest.mark.parametrize(
    ("spec", "said", "help"),
    [
        ("randm", "there is no player `randm`", "did you mean `random`?"),
        ("xyzzy", "there is no player `xyzzy`", "there are random, fixed"),
        ("random:3", "the player `random` takes nothing after its name", "write `random`"),
        ("fixed", "the player `fixed` needs ACTION", "write `fixed:ACTION`"),
        ("fixed:stagg", "`stag_hunt` has no action `stagg`", "did you mean `stag`?"),
        ("policy:nowhere.json", "nowhere.json cannot be read", "gamedsl solve stag_hunt --save"),
        ("module:nowhere.py:Me", "there is no file `nowhere.py`", "module:FILE.py:NAME"),
        ("module:nowhere.py", "does not name a player in a file", "module:FILE.py:NAME"),
    ],
)
def test_what_is_refused(spec, said, help, stag) -> None:
    with pytest.raises(PlayerError) as caught:
        open_player(spec, stag, seed=0, allow_code=True)
    assert said in caught.value.message
    assert help in caught.value.help


def test_a_file_that_fails(stag, tmp_path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("1 / 0", encoding="utf-8")
    with pytest.raises(PlayerError, match="ZeroDivisionError"):
        open_player(f"module:{path}:Me", stag, seed=0, allow_code=True)


def test_the_table_says_of_each_what_it_is() -> None:
    for name in PLAYERS:
        row = player_spec(name)
        assert row.doc, name
        assert row.fits, name
        assert row.usage(name).startswith(name)


STUBBORN = """
from gamedsl.players.base import PlayerError, PlayerSpec
from gamedsl.runtime import Action


class Stubborn:
    def __init__(self, number: int) -> None:
        self._number = number

    def act(self, decision, episode):
        return Action(decision.legal[self._number - 1])


PLAYER = PlayerSpec(
    "NUMBER", "always the option of this number", "all games",
    lambda request: Stubborn(request.whole(request.argument, "stubborn:2")), speaks=False,
)
"""


def test_a_player_is_one_file_and_one_row(stag, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "stubborn_player.py").write_text(STUBBORN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(PLAYERS, "stubborn", "stubborn_player")
    player = open_player("stubborn:2", stag, seed=0)
    played = play(stag.env(), dict.fromkeys(stag.ir.seats, player), seed=1)
    assert set(played.payoffs.values()) == {2}
    with pytest.raises(PlayerError, match="no whole number from 1 up"):
        open_player("stubborn:none", stag, seed=0)
    with pytest.raises(PlayerError, match="write `stubborn:NUMBER`"):
        open_player("stubborn", stag, seed=0)
    with pytest.raises(PlayerError, match="did you mean `stubborn`"):
        open_player("stuborn:2", stag, seed=0)
    argv = ["eval", "stubborn:2", "random", "--game", "stag_hunt", "--games", "4"]
    assert main(argv) == 0
    assert "stubborn:2" in capsys.readouterr().out


def test_tit_for_tat_does_as_the_other_did() -> None:
    game = gamedsl.load("repeated_prisoners_dilemma")
    fox = open_player("fixed:defect", game, seed=1)
    players = {"row": open_player("tit_for_tat", game, seed=1), "column": fox}
    chosen = [s["choices"] for s in play(game.env(), players).transcript["steps"]]
    assert [one["row"] for one in chosen] == ["cooperate", *["defect"] * 4]
    pair = dict.fromkeys(game.ir.seats, players["row"])
    kept = [s["choices"] for s in play(game.env(), pair).transcript["steps"]]
    assert all(name == "cooperate" for one in kept for name in one.values())


def test_tit_for_tat_slips_at_its_rate() -> None:
    game = gamedsl.load("repeated_prisoners_dilemma")
    (first, _) = game.env().reset().decisions
    player = open_player("tit_for_tat:0.2", game, seed=1)
    assert player.odds(first, game.env().reset()) == pytest.approx([0.9, 0.1])
    with pytest.raises(PlayerError, match="no share from 0 to 1"):
        open_player("tit_for_tat:2", game, seed=1)
