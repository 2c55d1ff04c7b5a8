"""`knows`: what a role is told at a step, and that it is told nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl import Action
from gamedsl.cli import main
from gamedsl.compiler import compile_file
from gamedsl.runtime.kernels import BACKENDS
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read
from tests.writing import DRIVER

KUHN = """
game: forgetful_kuhn
roles: [first, second]
types: {Card: [J, Q, K]}
turns:
  - {deal: card, from: Card, seen_by: owner}
  - {role: first, choose: open, from: [check, bet]}
  - {role: second, choose: reply, from: [check, bet], if: open == check}
  - {role: second, choose: answer, from: [fold, call], if: open == bet}
  - {role: first, choose: answer, from: [fold, call], if: reply == bet, knows: [reply]}
let:
  bettor: first if open == bet else second if reply == bet else none
  stake: 2 if answer == call else 1
  winner: bettor if answer == fold else argmax(card)
payoffs: stake if me == winner else -stake
"""

RECALLED = """
game: recalled
roles: [ann, bob]
turns:
  - {draw: coin, from: [heads, tails], seen_by: ann}
  - {role: ann, choose: one, from: [low, high], knows: nothing, seen_by: SEEN}
  - {role: ann, choose: two, from: [left, right]}
  - {role: bob, choose: three, from: [up, down]}
payoffs: 1 if one == high and two == left and three == up and coin == heads else 0
"""


LOOP = """
game: loop
roles: [ann, bob]
turns:
  - {draw: coin, from: [heads, tails], seen_by: bob}
  - repeat: 2
    turns:
      - {role: ann, choose: pick, from: [a, b], knows: nothing, if: coin == heads, seen_by: nobody}
  - {role: bob, choose: guess, from: [a, b]}
payoffs: 1 if pick == guess else 0
"""


def game(text: str, folder: Path) -> gamedsl.Game:
    path = folder / "game.yaml"
    path.write_text(text)
    result = compile_file(path)
    assert result.ok, result.diagnostics
    return gamedsl.load(path)


def histories(env: gamedsl.Env) -> list[gamedsl.Episode]:
    """An episode at every decision."""
    found, waiting = [], [env.reset(chance="asked")]
    while waiting:
        episode = waiting.pop()
        for outcome in range(len(episode.chance)):
            after = episode.fork()
            after.draw(outcome)
            waiting.append(after)
        if episode.decisions:
            found.append(episode)
            (decision,) = episode.decisions
            for name in decision.legal:
                after = episode.fork()
                after.step({decision.seat: Action(name)})
                waiting.append(after)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_equal_asks_of_two_steps_are_merged(backend: str, tmp_path: Path) -> None:
    env = game(DRIVER, tmp_path).env(backend=backend)
    one, two = sorted(histories(env), key=lambda e: len(e.transcript["steps"]))
    asked = [e.decisions[0] for e in (one, two)]
    assert asked[0].information_set == asked[1].information_set == "driver:first"
    assert [(d.step, d.occurrence, d.seen) for d in asked] == [("first", 0, ())] * 2
    assert asked[0].messages == asked[1].messages
    assert asked[0].view == asked[1].view
    assert one.view("driver") == two.view("driver")
    assert one.view("driver").vector == two.view("driver").vector


@pytest.mark.parametrize(
    "change",
    [
        ("knows: nothing, if", "knows: [{exit: 2}], if"),
        ("second, from: [exit", "second, from: [off"),
    ],
    ids=["by what is known", "by what is offered"],
)  # fmt: skip
def test_steps_that_differ_are_two_questions(change: tuple[str, str], tmp_path: Path) -> None:
    env = game(DRIVER.replace(*change).replace("second == exit", "second != go"), tmp_path).env()
    assert len({e.decisions[0].information_set for e in histories(env)}) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hand_that_is_forgotten(backend: str, tmp_path: Path) -> None:
    env = game(KUHN, tmp_path).env(backend=backend)
    last = [e for e in histories(env) if e.decisions[0].step == "answer_2"]
    assert len(last) == 6
    assert {e.decisions[0].information_set for e in last} == {"first:answer_2 [reply=bet]"}
    (prompt,) = {e.decisions[0].messages for e in last}
    assert "reply: bet" in prompt[1][1]
    assert not any(card in prompt[1][1] for card in "JQK")
    view = last[0].view("first")
    assert (view.data["knows"], view.data["bound"], view.seen) == ({"reply": "bet"}, {}, ())
    assert view.text.splitlines()[1:] == ["reply: bet", "knows nothing else"]
    assert last[0].view("second").data["bound"]["card"].keys() == {"second"}


def test_vectors_show_what_is_known_where_it_is(tmp_path: Path) -> None:
    env = game(KUHN, tmp_path).env()
    names = env.vector_names("first")
    place = names.index("answer_2 knows reply=bet")
    for episode in histories(env):
        shown = dict(zip(names, episode.view("first").vector, strict=True))
        here = episode.decisions[0].step == "answer_2"
        assert shown[names[place]] == here
        assert any(shown[f"card[first]={card}"] for card in "JQK") == (not here)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("seen_by", "recalled"), [("owner", True), ("bob", False),
                                                   ("nobody", False)])  # fmt: skip
def test_own_choice_is_recalled_only_where_shown(
    seen_by: str, recalled: bool, backend: str, tmp_path: Path
) -> None:
    """And all that it saw before it, wherever it recalls."""
    env = game(RECALLED.replace("SEEN", seen_by), tmp_path).env(backend=backend)
    later = [e for e in histories(env) if e.decisions[0].step == "two"]
    keys = {e.decisions[0].information_set for e in later}
    assert len(keys) == (4 if recalled else 2)
    assert all("coin=" in key for key in keys)
    bob = {e.decisions[0].information_set for e in histories(env) if e.decisions[0].seat == "bob"}
    assert len(bob) == (4 if seen_by == "bob" else 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_question_in_a_loop_has_no_number(backend: str, tmp_path: Path) -> None:
    """Nor does its actor learn by being asked: what decides it may be hidden."""
    env = game(LOOP, tmp_path).env(backend=backend)
    asked = [e.decisions[0] for e in histories(env) if e.decisions[0].seat == "ann"]
    assert len(asked) == 3
    assert {(d.information_set, d.occurrence) for d in asked} == {("ann:pick", 0)}
    assert {d.information_set for e in histories(env) for d in e.decisions if d.seat == "bob"} == {
        "bob:guess [coin=heads]", "bob:guess [coin=tails]"
    }  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
def test_choice_is_seen_but_not_known(backend: str, tmp_path: Path) -> None:
    text = LOOP.replace("if: coin == heads, seen_by: nobody", "seen_by: all")
    env = game(text, tmp_path).env(backend=backend)
    asked = [e for e in histories(env) if e.decisions[0].seat == "ann"]
    assert {len(e.seen("ann")) for e in asked} == {0, 1}
    assert {(d.information_set, d.occurrence) for e in asked for d in e.decisions} == {
        ("ann:pick", 0)
    }  # fmt: skip


def test_what_is_known_is_a_rule(tmp_path: Path) -> None:
    """It changes the hash of the rules, which a view does not; files without it keep theirs."""
    forgetful = game(KUHN, tmp_path).ir
    plain = game(KUHN.replace(", knows: [reply]", ""), tmp_path).ir
    viewed = game(KUHN.replace(", knows: [reply]", "") + "view: {first: [reply]}\n", tmp_path).ir
    assert forgetful.rules_hash != plain.rules_hash == viewed.rules_hash
    assert "knows" not in repr(plain.steps[0].question[:5])


def test_transcripts_are_played_again(tmp_path: Path) -> None:
    driven = game(DRIVER, tmp_path)
    episode = driven.env().reset()
    for _ in range(2):
        episode.step({"driver": Action("go")})
    (transcript,) = read(dump(episode))
    again = replay(driven, transcript)
    assert (again.faults, len(again.moves)) == ((), 2)
    assert episode.payoffs == {"driver": 1}


def test_openspiel_is_told_the_same(tmp_path: Path) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    from gamedsl.export.openspiel import register

    state = pyspiel.load_game(register(game(KUHN, tmp_path))).new_initial_state()
    told = set()
    pending = [state]
    while pending:
        state = pending.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node() and state.current_player() == 0:
            told.add(state.information_state_string())
        pending += [state.child(action) for action in state.legal_actions()]
    assert sorted(told) == ["first:answer_2 [reply=bet]", *(
        f"first:open [first.card={card}]" for card in "JKQ"
    )]  # fmt: skip


def test_pictures_say_what_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game(LOOP, tmp_path)
    path = str(tmp_path / "game.yaml")
    assert main(["show", path, "--view", "flow"]) == 0
    assert "ann chooses pick: a, b; knows nothing" in capsys.readouterr().out
    assert main(["show", path, "--view", "sight"]) == 0
    line = next(row for row in capsys.readouterr().out.splitlines() if "choice of pick" in row)
    assert line.split()[-2:] == ["▸·", "○"]
