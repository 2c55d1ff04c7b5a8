"""The rules that prompts tell by default, the questions of steps, and how to switch both off."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

import gamedsl
from gamedsl.analysis.history_prompts import sample_book
from gamedsl.analysis.masking import check_names_masked
from gamedsl.analysis.prompt_bounds import PromptBounds
from gamedsl.diagnostics import Problems
from gamedsl.ir.codec import decode, encode
from gamedsl.ir.game import GameIR, Labels, Wording
from gamedsl.ir.types import Enum, Set
from gamedsl.prompting import default_texts
from gamedsl.prompting.default_texts import default_rules, role_names
from gamedsl.prompting.expression_text import in_order
from gamedsl.prompting.labels import draw_labels
from gamedsl.prompting.prompts import Prompter
from gamedsl.prompting.rules_text import written_rules
from gamedsl.runs.errors import RunDamaged
from gamedsl.runs.saved import wording_of
from tests.properties.strategies import game_files
from tests.properties.walking import compiled
from tests.rendering.games import STAG_HUNT, ULTIMATUM
from tests.shipped import GAMES

NAMES = sorted(path.stem for path in GAMES.glob("*.yaml"))


def rules(ir: GameIR) -> str:
    return default_rules(ir, draw_labels(ir, run_seed=0, seed=0))


def system(ir: GameIR) -> str:
    step, book = ir.steps[0], draw_labels(ir, run_seed=0, seed=0)
    legal = tuple(option.name for option in step.options[0])
    return Prompter(ir).messages(step.actors[0], step, legal, book, ())[0][1]


def question(ir: GameIR) -> str:
    step, book = ir.steps[0], draw_labels(ir, run_seed=0, seed=0)
    legal = tuple(option.name for option in step.options[0])
    return Prompter(ir).messages(step.actors[0], step, legal, book, ())[-1][1]


def test_kuhn_poker_is_explained() -> None:
    assert rules(gamedsl.load("kuhn_poker").ir) == KUHN


KUHN = """\
This is kuhn_poker, a game for 2 players: first and second. \
Three cards, one each, a chip of ante, at most one bet.
The play, in this order:
  - Each player is dealt its card at random: one of J, Q, K, no two the same. Only it sees it.
  - first chooses open: check or bet.
  - If open is check, second chooses reply: check or bet.
  - If open is bet, second chooses answer: fold or call.
  - If reply is bet, first chooses answer: fold or call.
All see everything else.
Each player is paid at the end: stake if it is the winner, else -stake.
The words above:
  - stake: 2 if answer is call, else 1
  - the winner: the bettor if answer is fold, else the player with the highest card \
(nobody on a tie)
  - the bettor: first if open is bet, else second if reply is bet, else nobody"""


def test_small_games_list_what_outcomes_pay(ir) -> None:
    told = rules(ir(STAG_HUNT))
    assert "What is paid at the end to hunter_1 and hunter_2" in told
    assert "  - stag, hare: 0, 3" in told


def test_larger_games_tell_a_formula(ir) -> None:
    told = rules(ir(ULTIMATUM.replace("{low: 2, fair: 5, high: 8}", "0..pie")))
    assert "proposer is paid at the end: 10 - offer if answer is accept, else 0." in told
    assert "proposer chooses offer: a number from 0 to 10." in told


def test_the_highest_of_players_is_told_of_them(ir) -> None:
    told = rules(ir(
        "game: auction\nroles: {bidder: 3}\nparams: {reserve: 1}\nturns:\n"
        "  - {role: all, choose: bid, from: 0..3}\n"
        "let:\n  winner: argmax(bid)\n  top: max(bid)\n"
        "  second: max(bid[r] for r in roles if r != winner)\n"
        "  price: max(second, reserve)\n"
        "  keen: min(bid[r] for r in roles if bid[r] > 0)\n"
        "payoffs: 0 if winner == none else top + keen - price if me == winner else 1\n"
        "on_invalid: {then: play, play: 0, pay: -1}\n"
    ))  # fmt: skip
    assert "  - top: the highest bid of all players" in told
    assert "  - second: the highest bid of the players other than the winner" in told
    assert "  - price: the larger of second and 1" in told
    assert "  - keen: the lowest bid of the players r where r's bid is more than 0" in told
    assert "A reply that is not valid counts as 0; its author is paid -1." in told


def test_options_of_both_halves_are_told(ir) -> None:
    told = rules(ir(
        "game: rise\nroles: [a, b]\nstate: {bid: 0}\npayoffs: bid\nturns:\n"
        '  - {each: roles, choose: move, from: "[up, down]"}\n'
        "  - {do: bid += 1, if: move == up}\n"
        '  - {role: a, choose: last, from: "[up, stop] if bid < 1 else [stop]"}\n'
    ))  # fmt: skip
    assert "last: up or stop if bid is less than 1, else stop." in told


def test_state_and_its_changes_are_told() -> None:
    told = rules(gamedsl.load("goofspiel").ir)
    assert "  - hand of each player: 1 to 3 at first; only its owner sees it" in told
    assert "- If the taker is somebody, the points of the taker grows by prize." in told
    assert "- For each player, its bid is taken out of its hand." in told


def test_fields_are_told_by_their_key() -> None:
    told = rules(gamedsl.load("negotiation").ir)
    assert "the sum of its worth of g * mine(g) for each g of hats, books, balls" in told
    assert "the offer of g if it is the proposer, else the pool of g - the offer of g" in told
    assert "for every g of hats, books, balls, s[g] is at most the pool of g" in told


def test_what_a_param_decides_is_left_out() -> None:
    shot = "chooses shot: one c of 0,0; 0,1; 1,0; 1,1"
    once, often = (gamedsl.load("battleship", params={"repeats": b}).ir for b in (False, True))
    assert f"{shot} where c is not in its fired, written row,column." in rules(once)
    assert f"{shot}, written row,column." in rules(often)


@pytest.mark.parametrize("lost", ["zero", "keep"])
def test_a_comparison_of_params_is_decided(ir, lost: str) -> None:
    game = f"""\
game: piles
roles: [a]
params: {{lost: {lost}}}
types: {{Lost: [keep, zero]}}
state: {{life: 1}}
turns:
  - {{role: a, choose: move, from: [go, stop]}}
  - {{do: life = 0, if: move == go}}
payoffs: 2 if life > 0 or lost == keep else 0
"""
    paid = "2" if lost == "keep" else "2 if life is more than 0, else 0"
    assert f"is paid at the end: {paid}." in rules(ir(game))


def test_who_is_told_is_said_plainly() -> None:
    assert "All are told landed" in rules(gamedsl.load("dark_hex").ir)
    abrupt = rules(gamedsl.load("dark_hex", params={"abrupt": True}).ir)
    assert "Each player is, if it is the player in turn, told landed" in abrupt


def test_the_turn_of_one_role_is_told(ir) -> None:
    told = rules(ir(
        "game: turns\nroles: [a, b]\nstate: {mover: a}\npayoffs: 0\nturns:\n"
        "  - repeat: 3\n    role: mover\n    turns:\n"
        "      - {choose: move, from: [stay, pass]}\n"
        "      - {do: mover = other, if: move == pass}\n"
    ))  # fmt: skip
    assert "  - 3 times:\n    - In the turn of the mover:\n" in told


def test_and_within_or_stands_in_brackets() -> None:
    told = rules(gamedsl.load("go", params={"size": 3}).ir)
    assert "is r or ((cell p of board) is nobody and for every n of around(p), " in told


def test_stages_loops_and_ends_are_told() -> None:
    stage = replace(gamedsl.load("repeated_prisoners_dilemma").ir, labels=Labels("plain"))
    assert "  - 5 times:\n    - A round of prisoners dilemma is played:" in rules(stage)
    assert "        - defect, cooperate: 5, 0" in rules(stage)
    board = rules(gamedsl.load("tic_tac_toe").ir)
    assert "The game ends as soon as the winner is somebody or board is full." in board


def test_costs_of_invalid_replies_are_told(ir) -> None:
    told = rules(ir(ULTIMATUM + "on_invalid: {retry: 1, then: forfeit, pay: -1}\n"))
    assert "not valid, after 1 more try, ends the game; its author is paid -1." in told


def test_fields_say_who_sees_them() -> None:
    told = rules(gamedsl.load("support").ir)
    assert "(story, need, budget). Only customer sees story, need and budget." in told


def test_fields_of_what_each_says_have_an_owner(ir) -> None:
    told = rules(
        ir(
            "game: case\nroles: [ann, bob, cal]\nturns:\n  - role: all\n    say: note\n"
            "    read: {whom: role, why: text(9)}\n    seen_by: {whom: owner}\npayoffs: 0\n"
        )
    )
    assert "Only it sees whom. Only who says it sees the rest." in told


def test_what_others_see_is_seen_by_all(ir) -> None:
    """Its actor knows it. Masked or not."""
    text = ULTIMATUM.replace("choose: offer", "choose: offer, seen_by: others", 1)
    assert text != ULTIMATUM
    for more in ("", "labels: masked\n"):
        told = rules(ir(text + more))
        assert "All see every choice." in told
        assert told.count(" see ") == 1


def test_a_seat_that_forgets_is_no_other(ir) -> None:
    """What a seat chose and does not know later is not seen by all; of fields likewise."""
    text = "game: case\nroles: [ann, bob]\nturns:\n" + (
        "  - {role: ann, choose: first, from: [a, b], seen_by: others, knows: nothing}\n"
        "  - {role: bob, say: note, read: {whom: role, why: text(9)}, seen_by: {whom: all, why: "
        "others}}\n  - {role: ann, choose: last, from: [a, b]}\npayoffs: 0\n"
    )
    told = rules(ir(text))
    assert "All but it see it." in told
    assert "All but it see why" not in told
    assert "All see everything else." in told


def test_owners_in_tests_have_no_apostrophe(ir) -> None:
    told = rules(
        ir(
            "game: case\nroles: [ann, bob, cal]\nturns:\n  - role: all\n    say: note\n"
            '    read: {whom: role, why: text(9)}\n    seen_by: {why: "note[actor].whom"}\n'
            "payoffs: 0\n"
        )
    )
    assert "A player sees why if it is the whom of the note of who says." in told


def test_the_length_of_a_list_is_asked_for(ir) -> None:
    asked = question(
        ir(
            "game: case\nroles: [ann]\nturns:\n"
            "  - {role: ann, say: want, read: {n: {list: 1..3, at_most: 2}}}\npayoffs: 0\n"
        )
    )
    assert '"n": a list of whole numbers from 1 to 3, 2 at most' in asked


def test_referees_are_no_players(ir) -> None:
    told = rules(
        ir(
            "game: contest\nroles: [ann, bob]\nreferees: {judge: {seats: 2}}\nturns:\n"
            "  - {role: all, say: line, max_tokens: 20}\n"
            "  - {role: [judge], choose: better, from: roles}\npayoffs: count(better, me)\n"
        )
    )
    assert "how many of judge_1 and judge_2 have it as better" in told


@pytest.mark.parametrize(
    ("payoffs", "told"),
    [
        ("2 if argmax(mark) == judge_1 else 1", "the one of judge_1 and judge_2 with the highest"),
        ("len(best(mark))", "those of judge_1 and judge_2 with the highest mark"),
        ("1 if ranked(mark)[0] == judge_1 else 0", "judge_1 and judge_2, the one with the highest"),
        ("count(pair, 2)", "the number of times that 2 is in pair"),
    ],
)
def test_referees_have_words_of_their_own(ir, payoffs: str, told: str) -> None:
    text = (
        "game: contest\nroles: [ann, bob]\nreferees: {judge: {seats: 2}, clerk: {seats: 1}}\n"
        "turns:\n"
        "  - {role: all, say: line, max_tokens: 20}\n"
        "  - {role: [judge], choose: mark, from: 1..9}\n"
        '  - {role: clerk, choose: pair, from: "[(1, 2), (2, 2)]"}\n'
    )
    assert told in rules(ir(f"{text}payoffs: '{payoffs}'\n"))


def test_masked_games_tell_their_form(ir) -> None:
    game = ir(ULTIMATUM + "labels: masked\n")
    assert rules(game) == (
        "Game for 2 players. Player 1 chooses from 3 options. Player 2 chooses from 2 options. "
        "All see every choice."
    )


def test_masked_games_tell_who_sees_what() -> None:
    told = rules(replace(gamedsl.load("kuhn_poker").ir, labels=Labels("masked")))
    assert "Something is drawn for each player, which only it sees." in told
    assert "In some cases player 2 chooses from 2 options." in told
    assert "All see everything else." in told


MASKED = """\
game: hush
roles: [ann, bob, cat]
referees: {judge: {seats: 1}}
types: {Card: {rank: 1..2, suit: [h, s]}}
{STATE}turns:
  - {role: judge, choose: rule, from: [o, n]}
  - {role: ann, choose: pick, from: [r, b]}
{STEP}
  - {role: all, choose: last, from: [u, v]}
payoffs: 0
labels: masked
"""


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("{role: ann, choose: note, from: [x, y], seen_by: bob}",
         "Player 1 chooses from 2 options. Of the others, only player 2 sees it."),
        ("{role: ann, choose: note, from: [x, y], seen_by: [owner, judge]}",
         "Player 1 chooses from 2 options. Of the others, only player 4 sees it."),
        ("{role: ann, choose: note, from: [x, y], seen_by: nobody}", "The others do not see it."),
        ("{role: ann, choose: note, from: [x, y], seen_by: [bob, cat, judge]}",
         "Player 1 chooses from 2 options. Each of"),
        ("{role: all, choose: note, from: [x, y], seen_by: [owner, bob]}",
         "all at the same time. Of the others, only player 2 sees it."),
        ("{role: all, choose: note, from: [x, y], seen_by: me == owner or pick == r}",
         "Some of the others may not see it."),
        ("{role: ann, say: note, max_tokens: 9, seen_by: bob}",
         "Player 1 replies in words. Of the others, only player 2 sees it."),
        ("{role: ann, say: note, read: {f: 1..2, g: 1..2}, seen_by: {f: all, g: bob}}",
         "Player 1 replies in words. Some of the others do not see all of it."),
        ("{role: ann, say: note, read: {f: 1..2, g: 1..2}, seen_by: {f: all, g: all}}",
         "Player 1 replies in words. Each of"),
        ("{role: ann, say: note, read: {f: 1..2, g: 1..2}, seen_by: {f: owner}}",
         "Player 1 replies in words. The others do not see it."),
        ("{draw: fate, from: 1..3, seen_by: [ann, judge]}",
         "Something is drawn, which only player 1 and player 4 see."),
        ("{draw: fate, from: 1..3, per: role, seen_by: owner}",
         "Something is drawn for each of player 1, player 2 and player 3, which only it sees."),
        ("{draw: fate, from: 1..3, per: role, seen_by: [owner, judge]}",
         "Something is drawn for each of player 1, player 2 and player 3, which not all see."),
        ("{draw: fate, from: Card, seen_by: {rank: all}}",
         "Something is drawn, of which all see a part."),
        ("{draw: fate, from: Card, seen_by: {rank: all, suit: bob}}",
         "Something is drawn, of which not all see the same."),
        ("{draw: fate, from: 1..3, if: pick == r, seen_by: bob}",
         "In some cases something is drawn, which only player 2 sees."),
        ("{each: roles, turns: [{draw: hand.me, from: 1..6}]}",
         "Something is drawn for each of player 1, player 2 and player 3, which only it sees."),
        ("{if: pick == r, turns: [{role: bob, choose: note, from: [x, y]}]}",
         "In some cases player 2 chooses from 2 options."),
    ],
)  # fmt: skip
def test_masked_games_tell_truly_who_sees_what(ir, step: str, told: str) -> None:
    state = 'state: {hand: {per: role, of: list of 1..6, start: "[]", seen_by: owner}}\n'
    text = MASKED.replace("{STATE}", state if "hand" in step else "")
    found = rules(ir(text.replace("{STEP}", f"  - {step}")))
    assert told in found
    assert found.startswith("Game for 4 players.")
    hides = any(word in found for word in (" sees", " not ", " see.", "see a part"))
    assert found.endswith("All see everything else." if hides else "All see every choice.")


def test_a_secret_without_its_sentence_leaves_no_rest(ir) -> None:
    """`sees` is an action, so that the sentence that hides it falls away."""
    step = "  - {role: ann, choose: note, from: [sees, y], seen_by: bob}"
    told = rules(ir(MASKED.replace("{STATE}", "").replace("{STEP}", step)))
    assert "sees" not in told
    assert "everything else" not in told


def test_those_who_choose_at_once_are_named(ir) -> None:
    """Referees and roles that are not asked are no part of all."""
    text = "game: case\nroles: [ann, bob, cat]\nturns:\n" + (
        "  - {role: [ann, bob], say: line, max_tokens: 9}\n"
        "  - {role: cat, choose: bet, from: [x, y]}\npayoffs: 0\n"
    )
    assert question(ir(text)).startswith("You are ann.\nann and bob reply at the same time.")
    judged = "game: case\nroles: [ann, bob]\nreferees: {judge: {seats: 1}}\nturns:\n" + (
        "  - {role: [ann, bob], choose: line, from: [x, y]}\n"
        "  - {role: judge, choose: bet, from: [o, n]}\npayoffs: 0\n"
    )
    assert "\nAll choose at the same time." in question(ir(judged))
    masked = question(ir(judged + "labels: masked\n"))
    assert "\nplayer 1 and player 2 choose at the same time." in masked


def test_who_chooses_sees_what_nobody_else_sees(ir) -> None:
    told = rules(
        ir(
            "game: case\nroles: [ann, bob]\ntypes: {Card: {rank: 1..2, suit: [h, s]}}\nturns:\n"
            "  - {role: ann, choose: act, from: [x, y], seen_by: nobody}\n"
            "  - {role: ann, choose: card, from: Card, seen_by: {rank: bob}}\n"
            "  - {role: ann, choose: more, from: Card, seen_by: {rank: bob, suit: owner}}\n"
            "  - {role: bob, choose: last, from: [x, y]}\npayoffs: 0\n"
        )
    )
    assert "ann chooses act: x or y. Only it sees it." in told
    assert "Only bob sees rank. Only ann sees the rest." in told
    assert "Only bob sees rank. Only ann sees suit." in told


def test_fields_of_a_result_have_readers(ir) -> None:
    """Masked, too, which says what the result of a function is by no name."""
    text = "game: case\nroles: [ann, bob]\nturns:\n" + (
        "  - {role: ann, say: total, max_tokens: 30}\n"
        "  - {call: arithmetic, with: {text: total}, gives: result, seen_by: {value: ann}}\n"
        "  - {role: bob, choose: act, from: [x, y]}\npayoffs: 0\n"
    )
    assert "(arithmetic); only ann sees value. Nobody sees the rest." in rules(ir(text))
    masked = rules(ir(text + "labels: masked\n"))
    assert "Something is worked out, of which not all see the same." in masked


def test_a_long_list_of_roles_leaves_nobody_out(ir) -> None:
    text = "game: case\nroles: {wolf: 2, sheep: 6}\nturns:\n" + (
        "  - {role: all, choose: act, from: [x, y], seen_by: [wolf_1, sheep_1, sheep_2, sheep_3, "
        "sheep_5]}\n  - {draw: fate, from: 1..3, seen_by: sheep}\npayoffs: 0\n"
    )
    told = rules(ir(text))
    assert "a game for 8 players: wolf_1, wolf_2 and sheep_1 to sheep_6." in told
    assert "Only wolf_1, sheep_1, sheep_2, sheep_3 and sheep_5 see it." in told
    assert "Only sheep_1 to sheep_6 see it." in told


def test_a_record_by_role_says_who_reads_an_entry(ir) -> None:
    told = rules(
        ir(
            "game: case\nroles: {partner: 3}\nturns:\n"
            "  - {role: all, say: split, read: {per: role, of: 0..6}, seen_by: owner}\n"
            "payoffs: split.me.partner_2\n"
        )
    )
    assert "its split at the same time: partner_1 (0 to 6), partner_2 (0 to 6) and" in told
    assert "Of what others say, a player sees only its own entry." in told
    assert "paid at the end: its split's partner_2." in told


def test_names_that_a_reply_writes_stand_as_they_are_written(ir) -> None:
    told = rules(
        ir(
            "game: case\nroles: [ann, bob]\nturns:\n"
            "  - {role: ann, say: tale, read: {truth_was: 0..6, why: text(9)}, "
            "seen_by: {truth_was: bob}}\n"
            "  - {role: bob, choose: act, from: [x, y]}\npayoffs: tale.truth_was\n"
        )
    )
    assert "ann says tale: truth_was (0 to 6)" in told
    assert "Only bob sees truth_was." in told
    assert "paid at the end: tale's truth_was." in told


def test_games_that_pay_stages_say_nothing_of_an_end_without_pay(ir) -> None:
    stages = (
        "game: case\nroles: {player: 2}\nturns:\n  - repeat: 2\n    turns: [{use: stag_hunt}]\n"
    )
    assert "paid at the end" not in rules(ir(stages + "payoffs: 0\n"))
    assert "Each player is paid at the end: 1." in rules(ir(stages + "payoffs: 1\n"))
    assert "Each player is paid at the end: 0." in rules(
        ir(
            "game: case\nroles: {player: 2}\nturns:\n"
            "  - {role: all, choose: act, from: 1..9}\npayoffs: 0\n"
        )
    )


def test_items_of_lists_are_told_by_their_places(ir) -> None:
    told = rules(
        ir(
            "game: case\nroles: {player: 3}\nturns:\n"
            "  - {role: all, choose: bid, from: 1..9}\n"
            'payoffs: "sorted(bid)[1] * 2"\n'
        )
    )
    assert "(the second of all players' bid in order, the least first) * 2" in told


PLACES = "Square brackets hold the place of an item, counted from 0."


@pytest.mark.parametrize(
    ("payoffs", "is_said"),
    [("deck[n]", True), ("deck[0] + n", False), ("sum(deck[i] for i in 0..2)", False)],
)
def test_rules_say_where_places_begin(ir, payoffs: str, is_said: bool) -> None:
    told = rules(
        ir(
            "game: case\nroles: [ann]\nstate: {deck: {list: 0..9, at_most: 3, start: [3, 1, 2]}}\n"
            f"turns:\n  - {{role: ann, choose: n, from: 0..2}}\npayoffs: {payoffs}\n"
        )
    )
    assert (PLACES in told) is is_said


def test_places_are_said_to_begin_once(ir) -> None:
    told = rules(
        ir(
            "game: case\nroles: [ann]\nstate: {deck: {list: 0..9, at_most: 3, start: [3, 1, 2]}}\n"
            "turns:\n  - {role: ann, choose: n, from: slots(deck)}\n"
            "  - {do: 'deck[n] = 2'}\npayoffs: 'deck[n]'\n"
        )
    )
    assert told.count("from 0") == 1


def test_names_with_brackets_stay_whole(ir) -> None:
    """Rules show a list of roles in brackets; a role's name may begin as the sentence does."""
    game = ir(
        "game: case\nroles: [ann, bob, cat]\nturns:\n"
        "  - {draw: w, from: roles, seen_by: all}\n"
        '  - {role: "[ann, w]", choose: m, from: [x, y]}\n'
        '  - {role: "[r for r in roles if r != w]", choose: k, from: [x, y]}\npayoffs: 1\n'
    )
    told = written_rules(
        game, draw_labels(game, run_seed=0, seed=0), role_names(game) | {"ann": "each one"}
    )
    assert "Each of (each one, the w) makes its choice (m)" in told
    assert "Each of the players other than the w makes its choice (k)" in told


def test_options_without_the_one_who_acts(ir) -> None:
    told = rules(
        ir(
            "game: case\nroles: {player: 3}\nstate: {left: {list: role, start: roles}}\n"
            "turns:\n  - each: roles\n    turns:\n"
            '      - {choose: out, from: "[r for r in left if r != me]"}\n'
            '      - {choose: aid, from: "[r for r in left if r != me and r != out]"}\n'
            "payoffs: 0\n"
        )
    )
    assert "chooses out: one of left other than the player in turn." in told
    assert "where r is not the player in turn and r is not the out" in told


def test_the_name_of_a_role_is_never_capitalized(ir) -> None:
    told = rules(
        ir(
            "game: case\nroles: [a, one]\nturns:\n  - {role: a, choose: g, from: [x, y]}\n"
            "  - {role: one, choose: h, from: [x, y]}\npayoffs: 0\n"
        )
    )
    assert "  - a chooses g: x or y." in told
    assert "  - one chooses h: x or y." in told


def test_masked_games_of_one_decision_tell_no_more(ir) -> None:
    assert rules(ir(STAG_HUNT + "labels: masked\n")) == "Game for 2 players."


def test_sentences_with_a_masked_name_are_left_out(ir) -> None:
    told = rules(ir(ULTIMATUM.replace("low:", "chooses:") + "labels: masked\n"))
    assert told == "Game for 2 players. All see every choice."


@pytest.mark.parametrize("name", NAMES)
def test_masked_rules_name_nothing(name: str) -> None:
    ir = replace(gamedsl.load(name).ir, labels=Labels("masked"), templates=(), view=())
    if sample_book(ir) is None:
        pytest.skip("no style has enough words for it")
    problems = Problems()
    check_names_masked(ir, problems)
    assert not [d for d in problems.found if "`rules`" in d.why or "`ask`" in d.why]


def test_fixed_labels_stand_for_options(ir) -> None:
    told = rules(ir(STAG_HUNT + "labels: {stag: A, hare: B}\n"))
    assert "  - A, B: 0, 3" in told
    assert not re.search("stag|hare", told.replace("stag_hunt", ""))


def test_rules_are_switched_off_and_replaced(ir) -> None:
    form = "Reply with exactly one of the options."
    assert system(ir(ULTIMATUM + 'prompts: {rules: ""}\n')) == form
    assert system(ir(ULTIMATUM + "rules: Share ten.\n")) == f"Share ten. {form}"


def test_long_rules_are_not_sent(ir, monkeypatch: pytest.MonkeyPatch) -> None:
    game = ir(ULTIMATUM)
    monkeypatch.setattr(default_texts, "LONGEST", 100)
    assert rules(game) == default_texts.brief_rules(game)


def test_brief_wording_is_of_version_0_1_0(ir) -> None:
    game = replace(ir(ULTIMATUM), wording="brief")
    assert system(game) == (
        "This is ultimatum, a game for 2 players. One offers a split; the other takes it, or both "
        "get nothing. Reply with exactly one of the options."
    )
    assert question(game) == "You are proposer.\nOptions:\nlow\nfair\nhigh"


ASKED = ULTIMATUM.replace("choose: offer,", "choose: offer, about: 'How much do you offer?',")


def test_a_step_asks_its_question(ir) -> None:
    assert "You are proposer.\nHow much do you offer?\nOptions:\nlow" in question(ir(ASKED))
    assert "How much do you offer?\nOptions:" in question(ir(ASKED + "labels: masked\n"))
    assert "You are proposer.\nMake your choice (offer).\nOptions:\nlow" in question(ir(ULTIMATUM))


@pytest.mark.parametrize("name", ["sealed", "open", "clear", "talk"])
def test_any_name_is_asked_in_a_sentence(ir, name: str) -> None:
    closed = ir(ULTIMATUM.replace("offer", name))
    assert f"You are proposer.\nMake your choice ({name}).\nOptions:" in question(closed)
    said = ir(SAID.replace("hint", name))
    assert question(said) == f"Give your reply ({name}).\nReply in at most 9 tokens."
    brief = replace(said, wording="brief")
    assert question(brief).startswith(f"Now your {name}.")


TWICE = """
game: twice
roles: [left, right]
turns:
  - {role: left, choose: bet, from: [low, high]}
  - {role: right, choose: guess, from: [low, high]}
  - {role: left, choose: bet, from: [low, high]}
payoffs: {left: 1 if bet == guess else 0, right: 0}
"""


def asked_twice(ir: GameIR) -> list[str]:
    """Returns the lines with which the first role is asked at its two steps."""
    prompter, book = Prompter(ir), draw_labels(ir, run_seed=0, seed=0)
    steps, legal = (ir.steps[0], ir.steps[2]), ("low", "high")
    values = {"bet": "low"}
    chats = (prompter.messages("left", step, legal, book, (), values) for step in steps)
    return [chat[-1][1].partition("Options")[0].splitlines()[-1] for chat in chats]


@pytest.mark.parametrize(
    ("more", "wording", "lines"),
    [
        ("", "explained", ["Make your choice (bet)."] * 2),
        ("view: [1]", "explained", ["Make your choice (bet).", "Make your choice (bet 2)."]),
        ("view: [1]", "brief", ["You are left."] * 2),
        ("history: {last: 1}", "explained",
         ["Make your choice (bet).", "Make your choice (bet 2)."]),
        ("view: {right: [1]}", "explained", ["Make your choice (bet)."] * 2),
        ("view: [1]\nlabels: masked", "explained",
         ["Make your choice (decision 1).", "Make your choice (decision 3)."]),
    ],
)  # fmt: skip
def test_limited_seats_read_the_step(check, more: str, wording: Wording, lines: list[str]) -> None:
    assert asked_twice(replace(check(TWICE + more).ir, wording=wording)) == lines


def test_questions_alike_gain_their_steps(check) -> None:
    text = TWICE.replace("choose: bet,", "choose: bet, about: Now bet.,") + "view: [1]\n"
    assert asked_twice(check(text).ir) == ["Now bet. (bet)", "Now bet. (bet 2)"]
    head, _, rest = text.rpartition("choose: bet,")
    again = f"{head}choose: again,{rest}"
    assert asked_twice(check(again).ir) == ["Now bet. (bet)", "Now bet. (again)"]
    more = again.replace("high]}\npayoffs", "high, top]}\npayoffs")
    assert asked_twice(check(more).ir) == ["Now bet.", "Now bet."]


def test_a_name_is_not_asked_twice(ir) -> None:
    closed, said = ir(ULTIMATUM.replace("offer", "choice")), ir(SAID.replace("hint", "reply"))
    assert "Make your choice.\nOptions:" in question(closed)
    assert question(said).startswith("Give your reply.")


SAID = """
game: hints
roles: [ann]
turns:
  - {role: ann, say: hint, max_tokens: 9}
payoffs: 0
"""


def test_an_open_step_asks_its_question(ir) -> None:
    game = ir(
        """
game: hints
roles: [ann]
turns:
  - {role: ann, say: hint, max_tokens: 9, about: "What do you say?"}
payoffs: 0
"""
    )
    assert question(game).startswith("What do you say?")


def test_a_question_may_not_say_a_masked_name(check) -> None:
    text = ASKED.replace("How much do you offer?", "Is it low?") + "labels: masked\n"
    assert "GD0520" in [d.code for d in check(text).diagnostics]


def test_steps_that_look_the_same_ask_the_same(ir) -> None:
    game = ir(
        """
game: absent_minded_driver
roles: [driver]
turns:
  - {role: driver, choose: first, from: [exit, go], knows: nothing}
  - {role: driver, choose: second, from: [exit, go], knows: nothing, if: first == go}
payoffs: 0 if first == exit else 4 if second == exit else 1
"""
    )
    book = draw_labels(game, run_seed=0, seed=0)
    one, other = (
        Prompter(game).messages("driver", step, ("exit", "go"), book, ()) for step in game.steps
    )
    assert one == other


def test_a_question_is_no_rule(ir) -> None:
    plain, asked = ir(ULTIMATUM), ir(ASKED)
    assert asked.rules_hash == plain.rules_hash
    assert asked.rendering_hash != plain.rendering_hash
    assert decode(encode(asked)).hash == asked.hash


def test_options_with_fields_name_them() -> None:
    cells, shares = gamedsl.load("tic_tac_toe").ir, gamedsl.load("bargaining").ir
    assert "Options (mark(row,column)):" in question(cells)
    assert "Options (book,hat,ball):" in question(shares)


@pytest.mark.parametrize("name", NAMES)
def test_shipped_rules_are_whole(name: str) -> None:
    ir = replace(gamedsl.load(name).ir, labels=Labels("plain"))
    told = written_rules(ir, draw_labels(ir, run_seed=0, seed=0), role_names(ir))
    assert len(told) < default_texts.LONGEST
    plain = re.sub(r"\S*[\\^]\S*|\w+\(…\)", "", told)
    assert plain.count("(") == plain.count(")")
    assert not re.search(r"Const|Fraction|frozenset|  +\S.*  |\bthe the\b|\bNone\b", plain)


def test_no_game_is_without_rules() -> None:
    @settings(max_examples=25, deadline=None)
    @given(game_files())
    def tell(text: str) -> None:
        ir = compiled(text).ir
        assert ir is not None
        book = draw_labels(ir, run_seed=0, seed=0)
        assert rules(ir)
        assert written_rules(replace(ir, labels=Labels("plain")), book, role_names(ir))

    tell()


def test_bounds_count_the_rules() -> None:
    ir = gamedsl.load("kuhn_poker").ir
    book = sample_book(ir)
    assert book is not None
    bound, brief = (PromptBounds(replace(ir, wording=w), book).most for w in ("explained", "brief"))
    assert bound is not None
    assert brief is not None
    assert bound - brief >= len(rules(ir)) - len(default_texts.brief_rules(ir))


def test_sets_are_told_in_type_order() -> None:
    kind = Set(Enum("Trait", ("swims", "flies", "big")))
    assert in_order(frozenset(("big", "swims")), kind) == ("swims", "big")


def test_runs_without_a_wording_are_brief() -> None:
    assert wording_of({}) == "brief"
    assert wording_of({"wording": "explained"}) == "explained"
    with pytest.raises(RunDamaged):
        wording_of({"wording": "loud"})


def test_player_reads_the_wording_of_its_training() -> None:
    env = gamedsl.load("kuhn_poker").env()
    (decision,) = env.reset(0).decisions
    book = draw_labels(env.ir, run_seed=0, seed=0)
    assert "The play, in this order" in decision.messages[0][1]
    assert "The play, in this order" not in decision.under(book, "brief").messages[0][1]
    assert decision.under(book).messages == decision.messages


def test_new_runs_keep_their_wording(tmp_path: Path) -> None:
    from gamedsl.cli import main
    from gamedsl.runs.saved import SavedRun

    run = tmp_path / "run"
    arguments = ["train", "stag_hunt", "--model", "tabular", "--steps", "1", "--out", str(run)]
    assert main([*arguments, "--set", "games=4", "--format", "concise"]) == 0
    assert SavedRun(run).info()["wording"] == "explained"


def test_setting_chooses_the_wording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gamedsl.cli import main
    from gamedsl.runs.saved import SavedRun

    run, rules = tmp_path / "run", "The play, in this order"
    arguments = ["train", "kuhn_poker", "--model", "tabular", "--steps", "1"]
    assert main([*arguments, "--dry-run"]) == 0
    assert rules in capsys.readouterr().out
    brief = [*arguments, "--set", "wording=brief", "--set", "games=4"]
    assert main([*brief, "--dry-run"]) == 0
    assert rules not in capsys.readouterr().out
    assert main([*brief, "--out", str(run), "--format", "concise"]) == 0
    assert main(["train", "--resume", str(run), "--steps", "2", "--format", "concise"]) == 0
    assert SavedRun(run).info()["wording"] == "brief"
    assert "wording: brief" in (run / "recipe.yaml").read_text(encoding="utf-8")


UNITED = """
game: united
roles: [walker]
types: {Town: {nodes: [mill, harbor, market], edges: [[mill, harbor], [harbor, market]]}}
state: {at: {of: Town, start: mill}, seen: {set: Town}, known: {set: Town}}
turns:
  - {role: walker, choose: to, from: "union([at], neighbors(Town, at))"}
  - do: at = to; add to to seen; add at to known
payoffs: size(union(seen, known))
"""


def test_a_union_is_told_by_its_parts(ir) -> None:
    told = rules(ir(UNITED))
    assert "chooses to: one of at and the neighbors of at." in told
    assert "the number of items of (seen and known)." in told


def test_several_loops_are_told_in_order() -> None:
    text = """
game: loops
roles: [left, right]
types: {Row: [p, q], Column: [u, v]}
state: {x: {per: [Row, Column], of: 0..9, start: 1}}
turns:
  - {role: all, choose: r, from: Row}
  - {do: "x[i][j] += 1 for i in Row if i != r.left for j in Column"}
payoffs: >-
  count(x[i][j] > 1 for i in Row for j in Column)
  + sum(10 * y + z for y in 1..2 if y > 1 for z in y..2)
  + (1 if any(x[i][j] > 2 for i in Row for j in Column if i != r.me) else 0)
"""
    found = compiled(text)
    assert found.ir is not None
    told = rules(found.ir)
    for line in (
        "For each i of p, q where i is not left's r, for each j of u, v, i's x of j grows by 1.",
        "the number of combinations of i of p, q and j of u, v where the x of i of j is more",
        "the sum of 10 * y + z for each y of 1, 2 where y is more than 1, each z of y to 2",
        "for some i of p, q and some j of u, v where i is not its r, the x of i of j is more",
    ):
        assert line in told, told


def test_rows_of_a_file_are_not_listed(tmp_path: Path) -> None:
    """The default rules name a data file that they read, and tell no row of it."""
    rows = '{"name": "tin", "worth": 2}\n{"name": "gold", "worth": 5}\n'
    (tmp_path / "facts.jsonl").write_text(rows, encoding="utf-8")
    (tmp_path / "facts.yaml").write_text(
        """
game: facts
roles: [ann]
data: {facts: {file: facts.jsonl, fields: {name: text(20), worth: 1..9}}}
turns:
  - {draw: fact, from: facts, seen_by: {name: all}}
  - {role: ann, choose: guess, from: 1..9}
payoffs: >-
  sum(f.worth for f in facts if f.worth > guess) + size(facts) + facts[guess % 2].worth
  + (1 if first(facts).worth == guess else 0)
""",
        encoding="utf-8",
    )
    told = rules(gamedsl.load(tmp_path / "facts.yaml").ir)
    assert "the sum of f's worth for each f of the rows of facts where" in told
    assert "facts[guess % 2]'s worth" in told
    assert "(the first of the rows of facts)'s worth" in told
    assert " + 2 + " in told
    assert not any(word in told for word in ("tin", "gold", "5"))
