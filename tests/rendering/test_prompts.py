"""Prompts: what each seat is told, by default and by a file's own templates."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gamedsl.ir.replies import LABEL
from gamedsl.prompting import prompts
from gamedsl.prompting.events import Event
from gamedsl.prompting.labels import draw_labels
from gamedsl.prompting.prompts import Prompter, RenderError
from gamedsl.prompting.reply_instructions import instruction
from tests.rendering.games import STAG_HUNT, ULTIMATUM, options_game

FORM = instruction(LABEL)
LABELS = "labels: {low: A, fair: B, high: C, accept: Y, reject: N}\n"


def messages(game, seat, step, seen=(), run_seed=0):
    found = next(s for s in game.steps if s.id == step)
    legal = tuple(choice.name for choice in found.options_of(seat))
    book = draw_labels(game, run_seed=run_seed, seed=0)
    return dict(Prompter(game).messages(seat, found, legal, book, seen))


def test_a_masked_game(ir):
    game = ir(STAG_HUNT + "labels: masked\n")
    assert messages(game, "hunter_2", "move", run_seed=1) == {
        "system": f"Game for 2 players. {FORM}",
        "user": "You are player 2.\nAll choose at the same time.\nOptions:\nV\nC",
    }


def test_a_plain_game_says_what_it_is(ir):
    told = messages(ir(ULTIMATUM), "proposer", "offer")
    assert told["system"].startswith(
        "This is ultimatum, a game for 2 players: proposer and responder. One offers a split; the "
        "other takes it, or both get nothing.\nThe play, in this order:\n"
    )
    assert told["system"].endswith(f"\n{FORM}")
    assert told["user"] == "You are proposer.\nMake your choice (offer).\nOptions:\nlow\nfair\nhigh"


def test_shared_observations_come_first_in_prompts(ir):
    game = ir(
        """
game: two_steps
roles: [ann, bob]
turns:
  - {role: ann, choose: first, from: [up, down]}
  - {role: all, choose: second, from: [left, right]}
payoffs: 1 if second.ann == second.bob else 0
labels: {up: U, down: D, left: L, right: R}
"""
    )
    seen = (Event("first", 0, "ann", "down"),)
    ann, bob = (messages(game, seat, "second", seen)["user"] for seat in ("ann", "bob"))
    assert ann == (
        "ann chose D.\nYou are ann.\nAll choose at the same time.\n"
        "Make your choice (second).\nOptions:\nL\nR"
    )
    assert bob == ann.replace("You are ann", "You are bob")


def test_a_step_of_some_names_them(ir):
    game = ir(
        """
game: three
roles: [a, b, c]
turns:
  - {role: [a, c], choose: first, from: [up, down]}
  - {role: b, choose: second, from: [up, down]}
payoffs: count(first, up)
labels: masked
"""
    )
    assert "player 1 and player 3 choose at the same time." in messages(game, "c", "first")["user"]


def test_single_player_prompt_omits_identity(ir):
    game = ir(
        """
game: alone
roles: [it]
turns:
  - {role: it, choose: first, from: [up, down]}
  - {role: it, choose: second, from: [up, down]}
payoffs: 1 if first == second else 0
"""
    )
    seen = (Event("first", 0, "it", "up"),)
    told = messages(game, "it", "second", seen)
    assert told["system"].startswith("This is alone, a game for 1 player.\n")
    assert told["user"] == "You chose up.\nMake your choice (second).\nOptions:\nup\ndown"


def test_templates_fill_their_slots(ir):
    game = ir(
        ULTIMATUM
        + LABELS
        + """
rules: "{{ roles | join(' and ') }} share {{ pie / 4 }} of {{ pie }}: {{ labels.low }}."
prompts:
  who:
    responder: "{{ me }} against {{ other }} ({{ others }}), not {{ proposer }}."
  ask:
    answer: "{{ offer }} of {{ seen[0].actor }}/{{ seen[0].step }}: {{ options | join('|') }}"
  seen: "{{ actor }}: {{ choice }}{% if actor == me %} (you){% endif %}"
"""
    )
    seen = (Event("offer", 0, "proposer", "fair"),)
    assert messages(game, "responder", "answer", seen) == {
        "system": f"proposer and responder share 2.5 of 10: A. {FORM}",
        "user": "proposer: B\nresponder against proposer (proposer), not proposer.\n"
        "B of proposer/offer: Y|N",
    }
    assert messages(game, "proposer", "offer")["user"] == (
        "You are proposer.\nMake your choice (offer).\nOptions:\nA\nB\nC"
    )


def test_a_joint_choice_is_a_map_by_role(ir):
    game = ir(
        """
game: joint
roles: [ann, bob]
turns:
  - {role: all, choose: first, from: [up, down]}
  - {role: ann, choose: second, from: [left, right]}
payoffs: 1 if first.ann == first.bob else 0
prompts:
  ask:
    second: "{{ first.ann }}, {{ first['bob'] }}: {{ options }}"
"""
    )
    seen = (Event("first", 0, "ann", "up"), Event("first", 0, "bob", "down"))
    assert messages(game, "ann", "second", seen)["user"].endswith("up, down: left, right")


def test_options_stand_in_the_order_of_the_book(ir):
    game = ir(options_game(6) + "prompts: {ask: '{{ options }}'}\n")
    book = draw_labels(game, run_seed=0, seed=0)
    names = book.order("move", "bob", tuple(name for name, _ in book.pairs))
    assert names != tuple(name for name, _ in book.pairs)
    shown = messages(game, "bob", "move")["user"].splitlines()[-1]
    assert shown == ", ".join(map(book.label, names))


def test_a_template_that_fails_says_where(check):
    text = STAG_HUNT + "params: {n: 2}\nrules: '{{ 1 / (n - 2) }}'\n"
    game = check(text.replace("n: 2", "n: 3")).ir
    object.__setattr__(game.params[0], "value", 2)
    with pytest.raises(RenderError, match=r"game.yaml:12:12: .*`rules` failed: division by zero"):
        messages(game, "hunter_1", "move")


def test_a_game_without_templates_does_not_load_jinja(tmp_path):
    path = tmp_path / "game.yaml"
    path.write_text(STAG_HUNT + "labels: masked\n", encoding="utf-8")
    code = (
        "import sys; from gamedsl.compiler import compile_file\n"
        f"assert compile_file({str(path)!r}).ok\n"
        "assert not {'jinja2', 'torch', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=sys.path[0])


def test_cached_prompts_are_bounded_in_size(ir, monkeypatch):
    monkeypatch.setattr(prompts, "_CACHED_CHARACTERS", 1_000)
    game, sizes = ir(STAG_HUNT + "labels: masked\n"), []
    step, prompter = game.steps[0], Prompter(game)
    legal = tuple(choice.name for choice in step.options_of("hunter_1"))
    for seed in range(20):
        book = draw_labels(game, run_seed=seed, seed=0)
        prompter.messages("hunter_1", step, legal, book, ())
        kept = prompter._cache.values()
        sizes.append(sum(len(text) for messages in kept for _, text in messages))
    assert 0 < max(sizes) <= 1_000
