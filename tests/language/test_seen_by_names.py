"""The names that expressions of `seen_by` give to who acts, and to whose a value is."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from random import Random

import pytest

import gamedsl
from gamedsl import Action
from gamedsl.compiler import compile_file
from gamedsl.prompting.default_texts import default_rules
from gamedsl.prompting.labels import draw_labels
from gamedsl.runtime import Episode
from gamedsl.runtime.kernels import BACKENDS
from tests.properties.walking import nodes, standing
from tests.writing import write

HEAD = "game: spied\nroles: [ann, bob, spy]\n"
END = "on_invalid: {then: forfeit, pay: -1}\npayoffs: 0\n"

SEEN = {
    "choose": (
        "  - {each: [ann, bob], choose: x, from: [a, b], seen_by: me == actor or me == spy}\n",
        {"ann": {"ann", "spy"}, "bob": {"bob", "spy"}},
    ),
    "choose at once": (
        "  - {role: all, choose: x, from: [a, b], seen_by: 'owner == ann and me != bob'}\n",
        {"ann": {"ann", "spy"}, "bob": {"bob"}, "spy": {"spy"}},
    ),
    "a list": (
        "  - {role: all, choose: x, from: [a, b], seen_by: [actor, spy]}\n",
        {"ann": {"ann", "spy"}, "bob": {"bob", "spy"}, "spy": {"spy"}},
    ),
    "the actor alone": (
        "  - {role: all, choose: x, from: [a, b], seen_by: actor}\n",
        {"ann": {"ann"}, "bob": {"bob"}, "spy": {"spy"}},
    ),
    "draw": (
        "  - {draw: x, per: role, from: [a, b], seen_by: 'me == owner or owner == bob'}\n",
        {"ann": {"ann"}, "bob": {"ann", "bob", "spy"}, "spy": {"spy"}},
    ),
    "draw fields": (
        "  - {draw: x, per: role, from: Card,"
        " seen_by: {rank: 'me == owner', suit: [owner, spy]}}\n",
        {"ann": {"ann", "spy"}, "bob": {"bob", "spy"}, "spy": {"spy"}},
    ),
}  # fmt: skip
"""Steps that bind `x`, and who sees it of each seat."""

IN_TURN = {
    "draw": ("{draw: x, from: 1..2, seen_by: [actor, spy]}", {"ann", "spy"}),
    "draw of its own": ("{draw: x, from: 1..2, seen_by: owner}", {"ann"}),
    "draw for all": ("{draw: x, per: role, from: 1..2, seen_by: me == actor}", {"ann"}),
    "show": ("{show: n, as: x, seen_by: me != actor}", {"bob", "spy"}),
    "draw for another": (
        "{draw: 'hand[bob]', from: 1..2, seen_by: [owner, actor]}", {"ann", "bob"},
    ),
    "draw for its own": ("{draw: hand.me, from: 1..2, seen_by: me == owner}", {"ann"}),
    "a list of two roles": ("{show: n, as: x, seen_by: [actor, bob, spy]}", {"ann", "bob", "spy"}),
}  # fmt: skip
"""Steps in a turn of ann, and who sees what they bind."""


def audiences(episode: Episode, step: str) -> list[tuple[str, set[str]]]:
    """Returns whose the events of a step are, and who has seen each, in order."""
    found: dict[tuple[int, str], set[str]] = defaultdict(set)
    for seat in ("ann", "bob", "spy"):
        for at, event in enumerate(e for e in episode.seen(seat) if e.step == step):
            found[event.occurrence, event.seat or str(at)].add(seat)
    return [(key[1], seats) for key, seats in found.items()]


def played(game: gamedsl.Game, backend: str) -> Episode:
    episode, random = game.env(backend=backend).reset(3), Random(0)
    while not episode.done:
        episode.step(
            {
                d.seat: "word" if d.said else Action(random.choice(d.legal))
                for d in episode.decisions
            }
        )
    return episode


@pytest.mark.parametrize("backend", ["interpreter", "generated"])
@pytest.mark.parametrize(("turns", "seen"), SEEN.values(), ids=SEEN)
def test_seats_see_what_names_say(
    turns: str, seen: dict[str, set[str]], backend: str, tmp_path: Path
) -> None:
    types = "types: {Card: {rank: 1..2, suit: [red, black]}}\n" if "Card" in turns else ""
    last = "  - {role: all, choose: last, from: [c, d]}\n"
    game = gamedsl.load(write(tmp_path, f"{HEAD}{types}turns:\n{turns}{last}{END}"))
    assert dict(audiences(played(game, backend), "x")) == seen


@pytest.mark.parametrize("backend", ["interpreter", "generated"])
@pytest.mark.parametrize(("step", "seen"), IN_TURN.values(), ids=IN_TURN)
def test_actor_is_whose_turn_it_is(step: str, seen: set[str], backend: str, tmp_path: Path) -> None:
    text = (
        f"{HEAD}state: {{n: 0, hand: {{per: role, of: 1..2, start: 1, seen_by: nobody}}}}\n"
        f"turns:\n  - {{role: ann, turns: [{step}]}}\n"
        "  - {role: all, choose: last, from: [c, d]}\npayoffs: n + 0 * hand.me\n"
    )
    name = "hand" if "hand" in step else "x"
    events = audiences(played(gamedsl.load(write(tmp_path, text)), backend), name)
    assert set().union(*(seats for _, seats in events)) == seen


def test_words_are_seen_as_choices_are(tmp_path: Path) -> None:
    """What is said, and what a call finds in it."""
    turns = (
        "  - {each: [ann, spy, bob], say: x, max_tokens: 3, seen_by: me == actor or actor == bob}\n"
        "  - role: bob\n    turns:\n"
        "      - {call: same_number, with: {text: x, value: 1}, gives: y, seen_by: [actor, spy]}\n"
    )
    game = gamedsl.load(write(tmp_path, f"{HEAD}turns:\n{turns}{END}"))
    episode = played(game, "interpreter")
    assert dict(audiences(episode, "x")) == {
        "ann": {"ann"}, "bob": {"ann", "bob", "spy"}, "spy": {"spy"},
    }  # fmt: skip
    assert set().union(*(seats for _, seats in audiences(episode, "y"))) == {"bob", "spy"}


def test_state_is_seen_by_its_owner(tmp_path: Path) -> None:
    text = (
        f"{HEAD}state: {{hand: {{per: role, of: 1..3, start: 2, seen_by: [owner, spy]}}}}\n"
        "turns: [{role: all, choose: last, from: 1..hand.me}]\npayoffs: hand.me\n"
    )
    episode = gamedsl.load(write(tmp_path, text)).env().reset(0)
    shown = {seat: episode.view(seat).state["hand"] for seat in ("ann", "bob", "spy")}
    known = {
        seat: {whose for whose, part in hand.items() if part == 2} for seat, hand in shown.items()
    }
    assert known == {"ann": {"ann"}, "bob": {"bob"}, "spy": {"ann", "bob", "spy"}}


def test_a_name_of_the_file_is_meant_instead(tmp_path: Path) -> None:
    """A role may be called `actor`, and state `owner`."""
    text = (
        "game: named\nroles: [ann, actor]\nstate: {owner: {of: role, start: ann}}\n"
        "turns:\n  - {role: ann, choose: one, from: [a, b], seen_by: me == actor}\n"
        "  - {role: actor, choose: two, from: [a, b], seen_by: me == owner}\n"
        "  - {role: all, choose: three, from: [a, b], seen_by: actor}\npayoffs: 0\n"
    )
    game = gamedsl.load(write(tmp_path, text))
    assert not any(step.readers.locals for step in game.ir.steps)
    assert game.ir.steps[2].readers.seats == ("actor",)


def test_who_is_not_told_learns_nothing(tmp_path: Path) -> None:
    """What the actor alone is shown may decide its options, and nobody else's."""
    turn = (
        "      - {draw: die, from: 1..2, seen_by: [actor, spy]}\n"
        "      - {choose: move, from: 1..die, seen_by: owner}\n"
    )
    text = f"{HEAD}turns:\n  - each: [ann, bob]\n    turns:\n{turn}OTHERpayoffs: move\n"
    right = compile_file(write(tmp_path, text.replace("OTHER", "")))
    assert {d.code for d in right.diagnostics} <= {"GD0418"}
    other = "  - {role: ann, choose: last, from: 1..die}\n"
    wrong = compile_file(write(tmp_path, text.replace("OTHER", other)))
    assert "GD0440" in {d.code for d in wrong.diagnostics}


def test_backends_agree_on_who_sees(tmp_path: Path) -> None:
    text = (
        f"{HEAD}types: {{Card: {{rank: 1..2, suit: [red, black]}}}}\n"
        "state: {hand: {per: role, of: 1..2, start: 1, seen_by: 'me == owner or owner == bob'}}\n"
        "turns:\n"
        "  - {draw: card, per: role, from: Card,"
        " seen_by: {rank: [owner, spy], suit: me == owner}}\n"
        "  - {each: [ann, bob], choose: x, from: [a, b], seen_by: me == actor or me == spy}\n"
        "  - {role: bob, turns: [{draw: hand.me, from: 1..2, seen_by: all}]}\n"
        "payoffs: hand.me + card.me.rank\n"
    )
    game = gamedsl.load(write(tmp_path, text))
    reached = [list(nodes(game.env(backend=name), 1000)) for name in BACKENDS]
    for others in reached[1:]:
        for ours, theirs in zip(reached[0], others, strict=True):
            assert standing(ours.episode) == standing(theirs.episode)
            for seat in game.ir.seats:
                assert ours.episode.view(seat).data == theirs.episode.view(seat).data


def test_rules_call_seats_by_what_they_do(tmp_path: Path) -> None:
    text = (
        f"{HEAD}state: {{hand: {{per: role, of: 1..3, start: 2, seen_by: [owner, spy]}}}}\nturns:\n"
        "  - {role: all, choose: x, from: 1..hand.me, seen_by: me == actor or owner == bob}\n"
        "  - role: ann\n    turns: [{show: x.ann, as: told, seen_by: [actor, spy]}]\n"
        "payoffs: x.me\n"
    )
    ir = gamedsl.load(write(tmp_path, text)).ir
    told = default_rules(ir, draw_labels(ir, run_seed=0, seed=0))
    assert "a player sees it if it is its owner or it is spy" in told
    assert "A player sees it if it is who chooses or who chooses is bob" in told
    assert "ach player is, if it is the player in turn or it is spy, told told" in told


def test_owner_of_a_field_is_its_author(tmp_path: Path) -> None:
    """A map by role in a record is its author's alone; as the whole reply, entries have owners."""
    path = tmp_path / "letters.yaml"
    path.write_text(
        "game: letters\nroles: [ann, bob]\ntypes: {Notes: {per: role, of: text(20)}}\nturns:\n"
        "  - {role: ann, say: letter, read: {open: text(9), private: Notes},\n"
        "     seen_by: {open: all, private: owner}}\n"
        "  - {role: bob, choose: x, from: [red, green]}\npayoffs: 0\n"
        "on_invalid: {retry: 1, then: forfeit, pay: -1}\n",
        encoding="utf-8",
    )
    episode = gamedsl.load(path).env().reset(seed=0)
    episode.step({"ann": '{"open": "hello", "private": {"ann": "mine", "bob": "for bob"}}'})
    prompt = str(episode.decisions[0].messages)
    assert "hello" in prompt
    assert "for bob" not in prompt
