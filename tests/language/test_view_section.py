"""A declared `view`: what prompts tell in place of the history, in every form and on every backend;
that it changes no rule, shows nothing hidden, and never says a masked name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gamedsl
from gamedsl import cli
from gamedsl.prompting.labels import secret_words
from gamedsl.runtime.kernels import BACKENDS
from gamedsl.solve import tabulate
from tests.export.games import every_history, loaded, play, written

FORMS = """\
game: forms
roles: {player: 2}
types:
  Card: {rank: [J, Q], suit: [r, s]}
  Colour: [red, blue]
state:
  board: {grid: [2, 3], of: role or none}
  heap: {grid: [1, 3], of: 0..19, start: 7}
  hand: {per: role, list: Card, at_most: 4, seen_by: owner}
  purse: {bag: Colour}
  some: {set: 0..19}
  pot: {per: role, start: 0}
  pile: {per: Colour, start: 1}
  best: none
  half: {of: number, start: 1/2}
turns:
  - repeat: 2
    count: n
    turns:
      - {each: roles, draw: hand.me, from: Card, seen_by: owner}
      - {draw: top, from: Card, seen_by: all}
      - {each: roles, choose: bid, from: {low: 2, high: 8}}
      - {role: all, choose: vote, from: [yea, nay]}
      - do: |
          board[0, n] = player_2; board[1, 0] = player_1; heap[0, n] = 12
          add red to purse; add red to purse; add blue to purse
          add 10 + n to some; add 2 to some; best = player_2
          pot.player_1 += 3
          pile[red] += n
  - {role: player_2, choose: final, from: [stop, go]}
payoffs: pot.me
"""

TEXTS = [
    ("board", "board:\n    0 1 2\n  0 . 2 2\n  1 1 . .\n  1 is player 1, 2 is player 2"),
    ("heap", "heap:\n     0  1  2\n  0  7 12 12"),
    ("hand.me", "your hand: J,r; J,r"),
    ("hand[me]", "your hand: J,r; J,r"),
    ("first(hand.me)", "first(your hand): rank J, suit r"),
    ("{what I hold: hand.me}", "what I hold: J,r; J,r"),
    ("purse", "purse: blue x3, red x5"),
    ("some", "some: {2 11 12}"),
    ("pot", "pot: player 1 6, player 2 0"),
    ("pot.other", "pot.other: 6"),
    ("pile", "pile: red 4, blue 1"),
    ("best", "best: player 2"),
    ("half", "half: 1/2"),
    ("n == 2", "n == 2: true"),
    ("bid", "bid: high"),
    ("bid.player_1", "bid.player_1: low"),
    ("past(bid)", "past(bid): low, high, low, high"),
    ("last(past(bid))", "last(past(bid)): high"),
    ("prev(bid)", "prev(bid): low"),
    ("vote", "vote: player 1 yea, player 2 nay"),
    ("vote.me", "your vote: nay"),
    ("final", "final: nothing"),
    ("past(final)", "past(final): nothing"),
    ("list(p for p in roles)", "list(p for p in roles): player 1, player 2"),
    ("set(roles)", "set(roles): {player 1, player 2}"),
    ("[[1, 2], [3]]", "[[1, 2], [3]]: 1, 2; 3"),
    ("list(zip(roles, [1, 2]))", "list(zip(roles, [1, 2])): player 1,1; player 2,2"),
]


def last_prompt(game: gamedsl.Game, backend: str = "interpreter") -> str:
    """What is told before the last choice, if all draws are the first and so are all choices but
    those of player 2."""
    episode = game.env(backend=backend).reset(chance="asked")
    while not (episode.decisions and episode.decisions[0].step == "final"):
        if episode.chance:
            episode.draw(0)
            continue
        chosen = {d.seat: d.legal[d.seat == "player_2"] for d in episode.decisions}
        episode.step({seat: gamedsl.Action(name) for seat, name in chosen.items()})
    return str(dict(episode.decisions[0].messages)["user"])


@pytest.mark.parametrize(("entry", "text"), TEXTS)
def test_values_are_told_as_text(entry: str, text: str, tmp_path: Path) -> None:
    quoted = entry if entry.startswith("{") else f'"{entry}"'
    told = last_prompt(written(tmp_path, f"{FORMS}view: [{quoted}]\n"))
    names = {"player 1": "player_1", "player 2": "player_2"}
    if entry == "board":  # by their names, wide as they are
        board = "\n".join(
            ("board:", "           0        1        2", "  0        . player_2 player_2",
             "  1 player_1        .        .")
        )  # fmt: skip
        assert told.startswith(f"{board}\nYou are player_2.\n")
        return
    for shown, name in names.items():
        text = text.replace(shown, name)
    if "set(roles)" in entry:
        text = text.replace("player_1, player_2", "player_1 player_2")
    assert told == f"{text}\nYou are player_2.\nMake your choice (final).\nOptions:\nstop\ngo"


@pytest.mark.parametrize(("entry", "text"), TEXTS)
def test_masked_games_tell_labels(entry: str, text: str, tmp_path: Path) -> None:
    titled = entry if entry.startswith("{") else f'{{it: "{entry}"}}'
    game = written(tmp_path, f"{FORMS}view: [{titled}]\nlabels: masked\n")
    labels = dict(game.env().reset().transcript["labels"]["labels"])
    title = "what I hold" if entry.startswith("{") else "it"
    shown = re.sub(r"[a-z]+", lambda m: labels.get(m[0], m[0]), text.partition(":")[2])
    assert last_prompt(game).startswith(f"{title}:{shown}\nYou are player 2.\n")
    bare = written(tmp_path, f'{FORMS}view: ["{entry}"]\nlabels: masked\n') if (
        title == "it") else game  # fmt: skip
    assert last_prompt(bare).startswith(("Now:", "what I hold:"))


MASKED = """\
game: hunt
roles: [fox, hound]
types: {Way: [north, south]}
state:
  den: {grid: [2, 2], of: role or none}
  ways: {list: Way, at_most: 6}
  first_way: {of: Way or none}
  owned: {per: Way, of: role or none, start: none}
protocol: {use: alternate, at_most: 4}
actions:
  dig: {args: {cell: empty(den)}, do: "den[cell] = me"}
  run: {args: {way: Way}, do: "add way to ways; first_way = way; owned[way] = me"}
end: full(den) or len(ways) > 3
payoffs: 1 if len(ways) > 2 else 0
view:
  - {den: den, 1: ways, 2: move.other, 3: past(move), 4: first_way, 5: owned, 6: roles, 7: me}
  - {8: list(m for m in past(move)), 9: set(past(move)), few: set(ways)}
  - move.me
  - "[move.me, move.other]"
labels: masked
"""


def test_masked_views_say_no_name(tmp_path: Path) -> None:
    game = written(tmp_path, MASKED)
    secret = re.compile(r"\b(fox|hound|hunt|dig|run)\b")
    assert all(secret.match(name) for name in secret_words(game.ir))
    told = 0
    for seed in range(6):
        for episode in play(game.env(), seed):
            for decision in episode.decisions:
                prompt = "\n".join(text for _, text in decision.messages)
                assert not secret.search(prompt), prompt
                told += 1
    assert told > 15
    assert "1 is player 1, 2 is player 2" in prompt


def test_all_backends_tell_the_same(tmp_path: Path) -> None:
    entries = "".join(f"  - {entry if entry[0] == '{' else chr(34) + entry + chr(34)}\n"
                      for entry, _ in TEXTS if entry != "hand[me]")  # fmt: skip
    forms = written(tmp_path, f"{FORMS}view:\n{entries}")
    plain = written(tmp_path, PLAIN)
    games = [(forms, ("interpreter", "generated")), (plain, tuple(BACKENDS))]
    games += [(loaded(name), ("interpreter", "generated")) for name in ("pursuit", "spread")]
    games.append((gamedsl.load("tic_tac_toe", params={"rows": 2, "run": 2}), tuple(BACKENDS)))
    games.append((gamedsl.load("nim", params={"piles": [1, 2, 2]}), tuple(BACKENDS)))
    for game, backends in games:
        assert game.ir.view
        for seed in range(2):
            plays = [play(game.env(backend=backend), seed) for backend in backends]
            for moments in zip(*plays, strict=True):
                told = [[d.messages for d in episode.decisions] for episode in moments]
                assert told == [told[0]] * len(told)


PLAIN = """\
game: plain
roles: [a, b]
turns:
  - {role: a, choose: bid, from: [low, high]}
  - {role: b, choose: bid, from: [low, high]}
  - {role: all, choose: vote, from: [yea, nay]}
payoffs: 0
view: [past(bid), bid.a, vote.other]
"""


def test_a_fixed_sequence_of_choices_has_views_too(tmp_path: Path) -> None:
    game = written(tmp_path, PLAIN)
    assert game.ir.plain
    votes = [d for e in every_history(game.env()) for d in e.decisions if d.step == "vote"]
    told = [dict(d.messages)["user"].split("\n")[0] for d in votes]
    bids = ("high", "low")
    assert told == [f"past(bid): {x}, {y}" for x in bids for y in bids for _ in "ab"]


def test_a_view_is_no_rule(tmp_path: Path) -> None:
    board = "view: [board]\n"
    text = (Path(gamedsl.__file__).parent.parent / "games/tic_tac_toe.yaml").read_text()
    assert board in text
    text = text.replace("rows: 3", "rows: 2").replace("run: 3", "run: 2")
    game, bare = written(tmp_path, text), written(tmp_path, text.replace(board, ""))
    assert game.ir.rules_hash == bare.ir.rules_hash
    assert game.ir.rendering_hash != bare.ir.rendering_hash
    assert game.ir.hash != bare.ir.hash
    trees = tabulate(game.env()), tabulate(bare.env())
    assert trees[0].info_sets == trees[1].info_sets
    assert trees[0].children == trees[1].children
    prompts: dict[object, set[str]] = {}
    for episode in every_history(game.env()):
        for decision in episode.decisions:
            assert [(e["seat"], e["name"]) for e in decision.view["seen"]] == [
                (event.seat, event.name) for event in decision.seen
            ]
            assert episode.view(decision.seat).seen == decision.seen
            prompts.setdefault(decision.messages, set()).add(decision.information_set)
    assert max(map(len, prompts.values())) == 4  # two marks of each, in any order


def test_equal_observations_give_equal_events(tmp_path: Path) -> None:
    game = written(tmp_path, """\
game: hidden
roles: [a, b]
types: {Card: [J, Q, K]}
state: {held: {per: role, of: Card, seen_by: owner}}
view: {a: [held.me, past(open)], b: [held.me]}
turns:
  - {deal: held, from: Card}
  - {role: a, choose: open, from: [check, bet]}
  - {role: b, choose: reply, from: [fold, call]}
payoffs: 0
""")  # fmt: skip
    told: dict[str, set[object]] = {}
    for episode in every_history(game.env()):
        for decision in episode.decisions:
            told.setdefault(decision.information_set, set()).add(decision.messages)
    assert len(told) == 9
    assert {len(found) for found in told.values()} == {1}
    assert len({prompt for found in told.values() for prompt in found}) == 6


def test_a_role_without_a_view_is_told_all(tmp_path: Path) -> None:
    game = written(tmp_path, PLAIN.replace("view: [past(bid), bid.a, vote.other]", "view: {b: []}"))
    asked = {d.seat: d for e in every_history(game.env()) for d in e.decisions if d.step == "vote"}
    assert dict(asked["a"].messages)["user"].startswith("a chose low.\nb chose low.\nYou are a.")
    assert dict(asked["b"].messages)["user"].startswith("You are b.")


def test_a_template_may_tell_a_view(tmp_path: Path) -> None:
    game = written(tmp_path, PLAIN.replace("vote.other]", "{their vote: vote.other}]") + """\
prompts:
  view:
    a: 'So far {{ view["past(bid)"] }}; they: {{ view["their vote"] }}; {{ other }}.'
""")  # fmt: skip
    asked = {d.seat: d for e in every_history(game.env()) for d in e.decisions if d.step == "vote"}
    assert dict(asked["a"].messages)["user"].startswith("So far low, low; they: nothing; b.\n")
    assert dict(asked["b"].messages)["user"].startswith("past(bid): low, low\nbid.a: low\n")


def test_a_view_is_inherited_merged_and_deleted(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(PLAIN.replace("game: plain", "game: base").replace(
        "view: [past(bid), bid.a, vote.other]", "view: {a: [past(bid)], b: [bid.a]}"))  # fmt: skip
    for text, views in [
        ("", {"a": ["past(bid)"], "b": ["bid.a"]}),
        ("view: {b: vote}\n", {"a": ["past(bid)"], "b": ["vote"]}),
        ("view: {b: null}\n", {"a": ["past(bid)"]}),
        ("view: null\n", {}),
        ("view: bid.b\n", {"a": ["bid.b"], "b": ["bid.b"]}),
    ]:
        game = written(tmp_path, f"game: case\nextends: base\n{text}")
        found = {seat: [e.name for e in shown] for seat, shown in game.ir.views.items()}
        assert found == views


def test_the_command_shows_views(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["prompts", "tic_tac_toe", "--role", "o"]) == 0
    out = capsys.readouterr().out
    assert "[user]\nboard:\n    0 1 2\n  0 " in out
    assert "chose" not in out.replace("x chose mark(2,0))", "")
