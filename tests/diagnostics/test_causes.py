"""One cause is one error, whose help says what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.analysis.proof import Proof
from gamedsl.commands.validate import _facts
from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic
from gamedsl.diagnostics.fixes import apply_edits

HEAD = "game: case\nroles: [ann, bob]\n"
TURN = "turns:\n  - {role: all, choose: move, from: [up, down]}\n"

SETS = (
    "state:\n  closed: {set: 1..3}\n  row: {list: 1..3, at_most: 2}\n"
    "  deck: {per: role, bag: 1..3}\n  board: {grid: [2, 2], of: role or none}\n"
    "  points: {per: role, start: 0}\n"
)
"""Collections, none of which is ever none."""

TEXT = (
    "text is stored, shown, or given to a function (`call:`); no rule looks into it. "
    "`gamedsl calls` lists the functions, and `--allow-calls FILE.py` adds your own"
)

CAUSES = {
    "a section of another tool": (
        "game: case\nplayers: [ann, bob]\n" + TURN + "payoffs: 1\n",
        "GD0101", "did you mean `roles`?",
    ),
    "a description": (
        HEAD + "description: two people\n" + TURN + "payoffs: 1\n",
        "GD0101", "did you mean `about`?",
    ),
    "states": (
        HEAD + "states: {n: 0}\n" + TURN + "payoffs: n\n",
        "GD0101", "did you mean `state`?",
    ),
    "agents": (
        "game: case\nagents: [ann, bob]\n" + TURN + "payoffs: 1\n",
        "GD0101", "did you mean `roles`?",
    ),
    "a judge": (
        HEAD + "judge: eve\n" + TURN + "payoffs: 1\n",
        "GD0101", "who judges acts as a role does: write `referees: [judge]`, and a step for it",
    ),
    "a list in braces": (
        HEAD + "params: {sizes: 1, 2, 3, 4, 5, 6, 7}\n" + TURN + "payoffs: sizes[0]\n",
        "GD0016",
        "for a list, write sizes: [1, 2, 3, 4, 5, 6, 7]; "
        'for a text, sizes: "1, 2, 3, 4, 5, 6, 7"',
    ),
    "a list of a step in braces": (
        HEAD + "turns:\n  - {role: all, choose: move, from: up, down}\npayoffs: 1\n",
        "GD0016", 'for a list, write from: [up, down]; for a text, from: "up, down"',
    ),
    "a list on a line": (
        HEAD + "types:\n  Rank: jack, queen, king\n" + TURN
        + "let: {best: king, worst: jack}\npayoffs: 1 if best == queen else 0\n",
        "GD0201", "a list is written `[jack, queen, king]`",
    ),
    "a list of actions": (
        HEAD + "actions: up, down\nprotocol: simultaneous\npayoffs: 1\n",
        "GD0103", "a list has brackets: `[up, down]`",
    ),
    "a name that is read four times": (
        HEAD + TURN + "payoffs: {ann: 1 if moev.ann == up else 2 if moev.bob == up else 3,"
        " bob: 1 if moev.ann == up else moev.bob}\n",
        "GD0301", "did you mean `move`?",
    ),
    "a type that is read twice": (
        HEAD + "types: {Rank: 1..3}\nturns:\n  - {role: ann, choose: x, from: Rnak}\n"
        "  - {role: bob, choose: y, from: Rnak}\npayoffs: x - y\n",
        "GD0301", "did you mean `Rank`?",
    ),
    "a role that acts twice": (
        HEAD + "turns:\n  - {role: anne, choose: x, from: [up, down]}\n"
        "  - {role: anne, choose: y, from: [up, down]}\n"
        "  - {role: bob, choose: z, from: [up, down]}\npayoffs: 1 if x == y else 0\n",
        "GD0320", "did you mean `ann`?",
    ),
    "a role of a step and of an expression": (
        HEAD + "turns:\n  - {role: anne, choose: x, from: [up, down], seen_by: all}\n"
        "  - {role: all, choose: z, from: [up, down]}\npayoffs: 1 if z.anne == up else 0\n",
        "GD0320", "did you mean `ann`?",
    ),
    "an action of a table": (
        HEAD + "actions: [up, dwon]\nprotocol: simultaneous\npayoffs: |\n"
        "  ann, bob | up   | down\n  up       | 1, 1 | 0, 0\n  down     | 0, 0 | 1, 1\n",
        "GD0414", "did you mean `dwon`?",
    ),
    "an action that no other is near": (
        HEAD + "actions: [up, dive]\nprotocol: simultaneous\npayoffs: |\n"
        "  ann, bob | up   | left\n  up       | 1, 1 | 0, 0\n  left     | 0, 0 | 1, 1\n",
        "GD0414", "write one of `up`, `dive`, or declare `left` as an action",
    ),
    "a count of a comparison": (
        HEAD + TURN + "payoffs: count(move == up)\n",
        "GD0305", "to count those that are equal, write `count(move, up)`",
    ),
    "cells without others": (
        HEAD + "state: {board: {grid: [2, 2], of: 0..1}}\n" + TURN
        + "payoffs: size(cells(board) - empty(board))\n",
        "GD0305",
        "of sets and of cells write `difference(cells(board), empty(board))`",
    ),
    "a whole number that may be a half": (
        HEAD + TURN + "let: {half: len(roles) / 2}\npayoffs: sum(1..half)\n",
        "GD0305", "a whole number is needed, and this may be any: `floor(half)`",
    ),
    "nobody acts in a loop over roles": (
        HEAD + "turns:\n  - each: mover in cycle(roles)\n    at_most: 4\n    turns:\n"
        "      - {choose: move, from: [up, down]}\npayoffs: 1\n",
        "GD0102", "add `role: mover`",
    ),
    "nobody acts in a loop over some roles": (
        HEAD + "turns:\n  - each: who in [bob, ann]\n    turns:\n      - each: n in [1, 2]\n"
        "        turns:\n          - {say: word, max_tokens: 3}\n"
        "payoffs: 1\non_invalid: {then: forfeit, pay: -1}\n",
        "GD0102", "add `role: who`",
    ),
    "nobody acts in a loop over numbers": (
        HEAD + "turns:\n  - {each: n in 1..2, choose: move, from: [up, down]}\npayoffs: 1\n",
        "GD0102", "add `role: all`",
    ),
    "a set that is no truth": (
        HEAD + SETS + "turns:\n  - {role: all, choose: move, from: [up, down], if: not closed}\n"
        "payoffs: 1\n",
        "GD0305", "that it is empty is `size(closed) == 0`",
    ),
    "a list that is no condition": (
        HEAD + SETS + TURN + "let: {some: 1 if row and move.ann == up else 0}\npayoffs: some\n",
        "GD0306", "that something is in it is `size(row) > 0`",
    ),
    "a set that is never none": (
        HEAD + SETS + TURN + "payoffs: 1 if closed == none else 0\n",
        "GD0305", "that it is empty is `size(closed) == 0`",
    ),
    "a bag that is never none": (
        HEAD + SETS + TURN + "payoffs: 1 if deck.me != none else 0\n",
        "GD0305", "that something is in it is `size(deck.me) > 0`",
    ),
    "a result that is never none": (
        HEAD + SETS + TURN
        + "let: {free: \"difference(1..3, closed)\"}\npayoffs: 1 if none == free else 0\n",
        "GD0305", "that it is empty is `size(free) == 0`",
    ),
    "a grid that is never none": (
        HEAD + SETS + TURN + "payoffs: 1 if board == none else 0\n",
        "GD0305", "compare an entry of it: `board[…] == none`",
    ),
    "a map that is never none": (
        HEAD + SETS + TURN + "payoffs: 1 if points == none else 0\n",
        "GD0322", "take one role's: `points.me`, `points.other`, `points.ann`",
    ),
    "a field without bounds": (
        HEAD + "types: {Bid: {price: number, side: [left, right]}}\nstate: {bids: {set: Bid}}\n"
        "turns:\n  - {role: all, choose: bid, from: bids}\npayoffs: 1\n",
        "GD0427", "give the field a range, such as `price: 0..10`",
    ),
    "a field in a field": (
        HEAD + "types: {Pair: {words: list of 1..3, n: 1..2}, Bid: {pair: Pair, m: 1..2}}\n"
        "state: {bids: {set: Bid}}\nturns:\n  - {role: all, choose: bid, from: bids}\npayoffs: 1\n",
        "GD0427", "give the field finite values: no text, list or bag is one of `pair.words`",
    ),
    "a reader that sounds like a role": (
        "game: case\nroles: [alpha, beta]\n"
        "turns:\n  - {draw: card, from: 1..3, seen_by: alfa}\n"
        "  - {role: all, choose: move, from: [up, down]}\npayoffs: 1\n",
        "GD0320", "did you mean `alpha`?",
    ),
    "values of a type that are joined": (
        HEAD + "types: {Cost: low | high}\n" + TURN + "payoffs: 1\n",
        "GD0422", "the values of a type are listed: `[low, high]`",
    ),
    "a bracket of a test that is not closed": (
        HEAD + TURN + "payoffs: 3 if (move.ann == up else 0\n",
        "GD0207", "add the `)` before `else`: `(move.ann == up) else`",
    ),
    "a list of a test that is not closed": (
        HEAD + TURN + "payoffs: max(1, 3 if move.ann in [up, down else 0)\n",
        "GD0207", "add the `]` before `else`: `[up, down] else`",
    ),
    "a word that is sought in a text": (
        HEAD + TURN + "  - {role: ann, say: pitch, max_tokens: 20}\n"
        "payoffs: 1 if 'good' in pitch else 0\non_invalid: {then: forfeit, pay: -1}\n",
        "GD0202",
        "no expression looks into a text; a function does, in a step before: "
        "`- {call: names, with: {text: pitch, name: word}, gives: found}`, with "
        "`params: {word: {type: text, default: 'good'}}`; then `found` is true or false, and "
        "`gamedsl calls` lists all functions",
    ),
    "a text that is compared with words": (
        HEAD + TURN + "  - {role: ann, say: pitch, read: {line: text(20), n: 1..3}}\n"
        "payoffs: 1 if pitch.line == 'very good' else 0\non_invalid: {then: forfeit, pay: -1}\n",
        "GD0202",
        "no expression looks into a text; a function does, in a step before: "
        "`- {call: exact, with: {text: pitch.line, value: word}, gives: found}`, with "
        "`params: {word: {type: text, default: 'very good'}}`; then `found` is true or false, and "
        "`gamedsl calls` lists all functions",
    ),
    "a name in quotes that is sought in a list": (
        HEAD + TURN + "payoffs: 1 if 'up' in [move.ann] else 0\n",
        "GD0202", "names stand without quotes: `up`",
    ),
    "the length of a text": (
        HEAD + TURN + "  - {role: ann, say: pitch, max_tokens: 20}\n"
        "payoffs: length(pitch)\non_invalid: {then: forfeit, pay: -1}\n",
        "GD0311", TEXT,
    ),
    "the size of a text": (
        HEAD + TURN + "  - {role: ann, say: pitch, max_tokens: 20}\n"
        "payoffs: len(pitch)\non_invalid: {then: forfeit, pay: -1}\n",
        "GD0305", TEXT,
    ),
    "the length of a list": (
        HEAD + TURN + "payoffs: length([1, 2])\n", "GD0311", "did you mean `len`?",
    ),
    "the length of what is gone through": (
        HEAD + TURN + "payoffs: length(r for r in roles)\n", "GD0311", "did you mean `len`?",
    ),
}  # fmt: skip


def errors(text: str, folder: Path) -> list[Diagnostic]:
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return [d for d in compile_file(path).diagnostics if d.severity == "error"]


@pytest.mark.parametrize("name", CAUSES)
def test_one_cause_is_one_error(name: str, tmp_path: Path) -> None:
    text, code, help = CAUSES[name]
    found = errors(text, tmp_path)
    assert [(d.code, d.help) for d in found] == [(code, help)]


def test_the_fix_mends_every_place(tmp_path: Path) -> None:
    (found,) = errors(CAUSES["a name that is read four times"][0], tmp_path)
    assert [edit.text for edit in found.edits] == ["move"] * 4
    assert len({edit.span for edit in found.edits}) == 4
    assert [note.text for note in found.notes if note.text == "and here"] == ["and here"] * 3
    assert all(
        note.span.start > found.span.start for note in found.notes if note.text == "and here"
    )


def test_what_is_given_twice_shows_both_places(tmp_path: Path) -> None:
    text = (
        "game: case\nroles: {p: 2}\nactions:\n  p: [up, down]\n  p_1: [up]\n"
        "protocol: simultaneous\npayoffs: 1\n"
    )
    (found,) = errors(text, tmp_path)
    assert found.code == "GD0319"
    assert found.span.line == 5
    assert [note.span.line for note in found.notes] == [4]


def test_facts_begin_with_no_semicolon() -> None:
    proof = Proof("recall", "every seat remembers", "sampled", short="perfect recall")
    assert _facts((proof,)) == "  sampled: perfect recall (1 sampled)"


PASSED_OVER = """game: case
roles: [ann, bob]
no_move: pass
state:
  hand: {per: role, set: 1..3, seen_by: owner}
  kept: {per: role, set: 1..3, seen_by: owner}
turns:
  - {draw: card, per: role, from: 1..3, seen_by: owner}
  - each: roles
    turns:
      - {do: add card.me to hand.me, if: card.me > 1}
  - each: roles
    turns:
      - {choose: move, from: hand.me, seen_by: owner}
      - {do: add move to kept.me, if: move != none}
payoffs: size(kept.me)
"""


def test_who_is_passed_over_knows_it(tmp_path: Path) -> None:
    """Its options are its own, so that it knows what it chose, or that it could not."""
    assert errors(PASSED_OVER, tmp_path) == []
    text = PASSED_OVER.replace(
        "kept: {per: role, set: 1..3, seen_by: owner}", "kept: {per: role, set: 1..3}"
    )
    assert [d.code for d in errors(text, tmp_path)] == ["GD0441"]


def test_an_earlier_choice_of_another_is_not_known(tmp_path: Path) -> None:
    """Whoever is passed over still reads what the other chose before it in the same pass."""
    text = PASSED_OVER.replace(
        "      - {choose: move, from: hand.me, seen_by: owner}\n",
        "      - {role: other, choose: move, from: 1..3, seen_by: owner}\n"
        "      - {choose: move, from: hand.me, seen_by: owner}\n",
    )
    assert "GD0441" in [d.code for d in errors(text, tmp_path)]


@pytest.mark.parametrize(("reads", "leaks"), [("cells", False), ("empty", True)])
def test_the_shape_of_a_hidden_grid_is_known(reads: str, leaks: bool, tmp_path: Path) -> None:
    text = (
        "game: case\nroles: [ann, bob]\n"
        "state: {board: {grid: [2, 2], of: 0..1, seen_by: nobody}}\n"
        f"turns:\n  - {{role: all, choose: place, from: {reads}(board)}}\npayoffs: 1\n"
    )
    assert ("GD0440" in [d.code for d in errors(text, tmp_path)]) == leaks


MAY_BE_NONE = {
    "a variable": (
        "", "  - {draw: hand, from: 2 of 1..3, seen_by: all, if: move.ann == up}\n", "hand",
    ),
    "state without a start": ("state: {kept: {of: set of 1..3}}\n", "", "kept"),
    "an entry without a start": ("state: {kept: {per: role, of: list of 1..3}}\n", "", "kept.me"),
    "a param": ("params: {order: [1, 2]}\n", "", "order"),
    "what a param gives": (
        "params: {order: [1, 2]}\nlet: {listed: order, turned: reversed(listed)}\n", "", "turned",
    ),
    "state by a param": ("params: {first: [1, 2]}\nstate: {kept: {start: first}}\n", "", "kept"),
    "the parameter of a let": (
        "let: {none_yet(x): x == none}\n", "", "none_yet([1]) or prev(move)",
    ),
}  # fmt: skip
"""What may be none, or could with other params: declarations, a step, and the expression."""


@pytest.mark.parametrize("name", MAY_BE_NONE)
def test_what_may_be_none_is_compared(name: str, tmp_path: Path) -> None:
    head, step, read = MAY_BE_NONE[name]
    text = HEAD + head + TURN + step + f"payoffs: 1 if {read} == none else 0\n"
    assert errors(text, tmp_path) == []


@pytest.mark.parametrize("name", ["a count of a comparison", "cells without others",
                                  "a whole number that may be a half",
                                  "nobody acts in a loop over roles",
                                  "nobody acts in a loop over some roles",
                                  "nobody acts in a loop over numbers",
                                  "a set that is no truth", "a list that is no condition",
                                  "a set that is never none", "a bag that is never none",
                                  "a result that is never none"])  # fmt: skip
def test_what_is_written_instead_is_right(name: str, tmp_path: Path) -> None:
    (found,) = errors(CAUSES[name][0], tmp_path)
    assert errors(apply_edits(found.span.source.text, found.edits), tmp_path) == []


def test_remedy_uses_an_earlier_show() -> None:
    path = Path(__file__).parent / "cases" / "game" / "stored_though_it_is_shown.yaml"
    told, untold, entry = compile_file(path).diagnostics
    assert entry.help == "read `hands` instead, where `hand` stands, which tells it"
    assert told.help.startswith("read `told` instead, which tells it")
    assert "`- {show: card, as: known_card, seen_by: all}`" in untold.help


LEAKING = """\
game: case
roles: [ann, bob]
state: {pot: 0}
turns:
  - {draw: coin, from: [heads, tails], seen_by: ann}
  - {draw: card, from: 1..3, seen_by: nobody}
"""


@pytest.mark.parametrize(
    ("turns", "help", "edits"),
    [
        (
            "  - {show: coin, as: face}\n  - {do: pot = 2 if coin == heads else 1}\n",
            "read `face` instead, which tells it",
            ["face"],
        ),
        (
            "  - {do: pot = 2 if coin == heads else 1}\n",
            "declare `pot` with `seen_by: ann`, or tell it before, and read `known_coin` instead "
            'of `coin == heads`: `- {show: "coin == heads", as: known_coin, seen_by: all}`',
            ["{start: 0, seen_by: ann}"],
        ),
        (
            "  - {do: pot = card}\n  - {show: card, as: face}\n",
            "declare `pot` with `seen_by: nobody`, or show it before: move `- {show: card, as: "
            "face}` up to here, and read `face`",
            ["{start: 0, seen_by: nobody}"],
        ),
        (
            '  - {role: bob, choose: bid, from: "[a, b, c] if coin == heads else [a, b]", seen_by: '
            "owner}\n",
            "offer options that do not depend on it: `[a, b, c]`, or tell it before, and read "
            '`known_coin` instead of `coin == heads`: `- {show: "coin == heads", as: known_coin, '
            "seen_by: bob}`",
            ["[a, b, c]"],
        ),
    ],
)
def test_help_that_hides_comes_before_one_that_tells(
    turns: str, help: str, edits: list[str], tmp_path: Path
) -> None:
    last = "  - {role: all, choose: last, from: [u, v]}\npayoffs: 0\n"
    (found,) = errors(LEAKING + turns + last, tmp_path)
    assert (found.help, [edit.text for edit in found.edits]) == (help, edits)
    assert errors(apply_edits(found.span.source.text, found.edits), tmp_path) == []


def test_problems_in_an_extended_file_name_the_one_that_extends_it(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("game: mine\nextends: stag_hunt\nactions: [stag, hare, boar]\n", "utf-8")
    (found,) = compile_file(mine).diagnostics
    assert [(note.span.text, note.text) for note in found.notes] == [
        ("stag_hunt", "extended here")
    ]  # fmt: skip
    assert found.help == f"add the column `boar`; write the whole section `payoffs` in {mine}"
    mine.write_text("game: mine\nextends: tic_tac_toe\nparams: {rows: 0}\n", "utf-8")
    (found,) = compile_file(mine).diagnostics
    assert [(note.span.text, note.text) for note in found.notes] == [("rows", "changed here")]


def test_a_problem_of_what_a_param_sizes_names_the_flag() -> None:
    (found,) = compile_file("tic_tac_toe", {"rows": "0"}).diagnostics
    assert [(note.span.source.name, note.span.text) for note in found.notes] == [
        ("--param rows", "0")
    ]  # fmt: skip


def test_row_told_as_one_text_has_a_help(tmp_path: Path) -> None:
    """What the help says to write makes the game right."""
    (tmp_path / "finds.jsonl").write_text('{"coins": 1, "day": "Monday"}\n', "utf-8")
    text = (
        "game: case\nroles: [finder]\n"
        "data: {finds: {file: finds.jsonl, fields: {coins: 0..2, day: text(9)}}}\n"
        "turns:\n  - {draw: find, from: finds, seen_by: all}\n"
        "  - {role: finder, choose: move, from: [up, down]}\n"
        "payoffs: find.coins\nprompts: {seen: {find: 'It is {{ choice.day }}.'}}\n"
    )
    (found,) = errors(text, tmp_path)
    written = "seen_by: {coins: all, day: all}"
    assert found.help == f"say of each field who sees it, such as `{written}`"
    assert errors(text.replace("seen_by: all", written), tmp_path) == []


@pytest.mark.parametrize(
    "name", ["a word that is sought in a text", "a text that is compared with words"]
)
def test_the_call_that_looks_into_a_text_compiles(name: str, tmp_path: Path) -> None:
    text, _, help = CAUSES[name]
    call, params = help.split("`")[1], help.split("`")[3]
    head, _, rest = text.partition("payoffs:")
    game = f"{head}  {call}\n{params}\npayoffs: 1 if found else 0\n{rest.partition(chr(10))[2]}"
    assert errors(game, tmp_path) == []
