"""Who may read what: flows that are refused, by the diagnostic, and flows that are right."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import gamedsl
from gamedsl.analysis.history_prompts import sample_book
from gamedsl.analysis.infoflow import check_information_flow, is_open
from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic, Problems
from gamedsl.diagnostics.fixes import apply_edits
from gamedsl.engine.interpreter import Interpreter
from gamedsl.prompting.prompts import Prompter

GAMES = Path(gamedsl.__file__).parent.parent / "games"

HEAD = """game: example
roles: [ROLES]
types: {Card: [J, Q, K, A, T, N, E], Pair: {rank: 1..3, suit: [a, b]}}
state:
  pot: 0
  secret: {start: 0, seen_by: nobody}
  mine: {per: role, start: 0, seen_by: owner}
  back: {per: role, start: 0, seen_by: others}
  hers: {start: 0, seen_by: ann}
  cards: {per: role, list: 0..9, at_most: 9, seen_by: owner}
  marks: {set: 0..9, seen_by: ann}
  lead: {of: role, start: ann}
"""

TAIL = """  - {role: all, choose: last, from: [stop, go]}
payoffs: 0
"""

Check = Callable[..., list[Diagnostic]]


@pytest.fixture(params=["ann, bob, cyd", "ann, bob, cyd, dan, eve, fay, gus"])
def check(request: pytest.FixtureRequest, tmp_path: Path) -> Check:
    """The problems of a game with these steps, lets and actions, found by this pass alone; for few
    roles, and for so many that those who are alike are not all gone through."""

    def found(turns: str, let: str = "", actions: str = "", more: str = "") -> list[Diagnostic]:
        text = HEAD.replace("ROLES", request.param) + more
        text += f"let:\n{let}" if let else ""
        text += f"actions:\n{actions}" if actions else ""
        path = tmp_path / "example.yaml"
        path.write_text(f"{text}turns:\n{turns}{TAIL}", encoding="utf-8")
        diagnostics = compile_file(path).diagnostics
        errors = [d for d in diagnostics if d.severity == "error"]
        strange = [d for d in errors if not d.code.startswith("GD044")]
        assert not [d for d in strange if d.code not in ("GD0402", "GD0437")], strange
        return [d for d in diagnostics if d.code.startswith("GD044")]

    return found


CARD = "  - {deal: card, from: Card, seen_by: owner}\n"
DIE = "  - {draw: die, per: role, from: 1..6, seen_by: owner}\n"
X = "  - {draw: x, from: 0..3, seen_by: ann}\n"

REFUSED = {
    # being asked is an observation
    "if": (X + "  - {role: bob, choose: c, from: [u, v], if: x > 1}\n", "GD0440", "x"),
    "if of a block": (
        X + "  - if: x > 1\n    turns:\n      - {role: bob, choose: c, from: [u, v]}\n",
        "GD0440", "x",
    ),
    "if of one of several at once": (
        DIE + "  - {role: all, choose: c, from: [u, v], if: 'max(die[r] for r in others) > 1'}\n",
        "GD0440", "die[r]",
    ),
    "until": (
        X + "  - repeat: 3\n    until: x > 1\n    turns:\n"
        "      - {role: bob, choose: c, from: [u, v]}\n", "GD0440", "x",
    ),
    "what a loop goes through": (
        X + "  - each: k in 1..x\n    turns:\n      - {role: bob, choose: c, from: [u, v]}\n",
        "GD0440", "x",
    ),
    "who acts": (
        "  - {draw: w, from: roles, seen_by: ann}\n  - {role: w, choose: c, from: [u, v]}\n",
        "GD0440", "w",
    ),
    "options": (
        DIE + "  - {role: bob, choose: c, from: list(k for k in 0..6 if k != die.ann)}\n",
        "GD0440", "die.ann",
    ),
    "through lets": (
        DIE + "  - {role: bob, choose: c, from: [u, v], if: high > 3}\n", "GD0440", "die", None,
        "  high: best_of(ann)\n  best_of(r): die[r] + 1\n",
    ),
    "guard": (
        X + "  - {role: bob, choose: c, from: actions}\n", "GD0440", "x",
        "  up: {when: x > 1}\n  down: {}\n",
    ),
    "arguments": (
        X + "  - {role: bob, choose: c, from: actions}\n", "GD0440", "x",
        "  up: {args: {k: list(j for j in 0..3 if j <= x)}}\n  down: {}\n",
    ),
    "how often a hidden loop went round": (
        X + "  - repeat: 3\n    count: i\n    until: i > x\n    turns:\n      - do: secret += 1\n"
        "  - {role: bob, choose: c, from: [u, v], if: i > 1}\n", "GD0440", "i",
    ),
    "what others bound last": (
        "  - {each: roles, choose: c, from: [0, 1], seen_by: owner}\n"
        "  - {role: cyd, choose: d, from: [u, v], if: 'c[ann] == 1'}\n", "GD0440", "c",
    ),
    "how many acted at once": (
        DIE + "  - {role: all, choose: c, from: [0, 1], seen_by: owner, if: die.me > 1}\n"
        "  - {role: cyd, choose: d, from: [u, v], if: 'len(list(r for r, k in c)) > 1'}\n",
        "GD0440", "c",
    ),
    "a past": (
        "  - repeat: 2\n    turns:\n      - {draw: y, from: 0..1, seen_by: ann}\n"
        "  - {role: bob, choose: d, from: [u, v], if: prev(y) == 1}\n", "GD0440", "y",
    ),
    "whether it is bound": (
        X + "  - {draw: y, from: 0..1, seen_by: nobody, if: x > 1}\n"
        "  - {role: bob, choose: d, from: [u, v], if: y != none}\n", "GD0440", "y",
    ),
    "my own card on my forehead": (
        "  - {deal: card, from: Card, seen_by: others}\n"
        "  - {each: roles, choose: c, from: [u, v], if: card.me == K}\n", "GD0440", "card.me",
    ),
    "a field that is hidden": (
        "  - {draw: pair, from: Pair, seen_by: {rank: all}}\n"
        "  - {role: bob, choose: c, from: [u, v], if: pair.suit == a}\n", "GD0440", "pair.suit",
    ),
    "an entry that a hidden role says": (
        "  - {draw: w, from: roles, seen_by: ann}\n"
        "  - {role: bob, choose: c, from: [u, v], if: 'points[w] > 1'}\n", "GD0440", "w",
    ),
    "bound again for fewer": (
        "  - {draw: y, from: 0..1, seen_by: all}\n"
        "  - if: pot > 0\n    turns:\n      - {draw: y, from: 0..1, seen_by: ann}\n"
        "  - {role: bob, choose: c, from: [u, v], if: y == 1}\n", "GD0440", "y",
    ),
    "bound again in another pass": (
        "  - {draw: y, from: 0..1, seen_by: all}\n"
        "  - repeat: 2\n    turns:\n"
        "      - {role: bob, choose: c, from: [u, v], if: y == 1}\n"
        "      - {draw: y, from: 0..1, seen_by: ann}\n", "GD0440", "y",
    ),
    "a role that has changed": (
        DIE + "  - if: lead == ann\n    turns:\n      - do: lead = bob\n"
        "      - {role: ann, choose: c, from: [u, v], if: 'die[lead] > 1', seen_by: owner}\n",
        "GD0440", "die[lead]",
    ),
    "a role that changes in one statement": (
        DIE + "  - {do: 'lead = bob; mine.ann = die[lead]', if: lead == ann}\n",
        "GD0441", "die[lead]",
    ),
    "a role that changes in the next pass": (
        DIE + "  - if: lead == ann\n    turns:\n      - repeat: 2\n        turns:\n"
        "          - do: mine.ann = die[lead]\n          - do: lead = bob\n", "GD0441", "die[lead]",
    ),
    "all but some role": (
        DIE + "  - {draw: w, from: roles, seen_by: all}\n  - {role: bob, choose: c, from: [u, v],"
        " if: 'max((die[r] if r != w else 0) for r in roles) > 1'}\n", "GD0440", "die[r]",
    ),
    "a branch that a secret chooses": (
        X + "  - {role: bob, choose: c, from: [u, v], if: (1 if x > 1 else 0) > 0}\n",
        "GD0440", "x",
    ),
    # who sees a step
    "seen under a condition": (
        X + "  - {draw: y, from: 0..1, seen_by: [ann, bob], if: x > 1}\n", "GD0442", "x",
    ),
    "shown under a condition": (X + "  - {show: x, as: y, if: x > 1}\n", "GD0442", "x"),
    "a choice that others see": (
        X + "  - {role: ann, choose: c, from: [u, v], if: x > 1}\n", "GD0442", "x",
    ),
    "who acted": (
        "  - {draw: w, from: [ann, bob], seen_by: [ann, bob]}\n"
        "  - {role: w, choose: c, from: [u, v], seen_by: [ann, bob, cyd]}\n", "GD0442", "w",
    ),
    # what is stored
    "stored": (X + "  - do: pot = x\n", "GD0441", "x"),
    "stored for others": (DIE + "  - do: back[r] = die[r] for r in roles\n", "GD0441", "die[r]"),
    "stored in another's place": (
        DIE + "  - {each: roles, do: 'mine[r] = die.me for r in others'}\n", "GD0441", "die.me",
    ),
    "stored where a hidden role says": (
        "  - {draw: w, from: roles, seen_by: ann}\n  - do: mine[w] = 1\n", "GD0441", "w",
    ),
    "stored under a condition": (X + "  - {do: pot = 1, if: x > 1}\n", "GD0441", "x"),
    "stored in some passes": (
        X + "  - repeat: 3\n    until: x > 1\n    turns:\n      - do: pot += 1\n", "GD0441", "x",
    ),
    "stored for some": (DIE + "  - do: pot = 1 for r in roles if die[r] > 3\n", "GD0441", "die[r]"),
    "stored by a hidden choice": (
        "  - {role: ann, choose: c, from: actions, seen_by: owner}\n", "GD0441", "c",
        "  up: {do: pot += 1}\n  down: {}\n",
    ),
    "an argument of a hidden choice": (
        "  - {role: ann, choose: c, from: actions, seen_by: owner}\n", "GD0441", "c",
        "  up: {args: {k: 0..3}, do: pot = k}\n",
    ),
    "drawn into state under a condition": (
        X + "  - {draw: pot, from: 0..1, if: x > 1, seen_by: all}\n", "GD0441", "x",
    ),
    "added to a public set": (X + "  - do: add x to seen\n", "GD0441", "x"),
    # others
    "a test of readers": (
        "  - {draw: w, from: roles, seen_by: ann}\n  - {draw: y, from: 0..3, seen_by: me == w}\n",
        "GD0443", "w",
    ),
    "what is left in a bag": (
        "  - {draw: y, from: open, seen_by: ann}\n", "GD0444", "open",
    ),
    "the length of a list": (X + "  - {do: add x to cards.ann, if: x > 1}\n", "GD0445", "x"),
    "the length of a new list": (
        "  - do: add 1 to cards.ann\n"
        "  - do: cards.ann = list(k for k in cards.ann if k > 1)\n", "GD0445", "cards.ann",
    ),
    "whose list grows": (
        "  - {draw: w, from: roles, seen_by: ann}\n  - do: add 1 to cards[w]\n", "GD0441", "w",
    ),
    "drawn unseen into public state": (
        "  - {draw: pot, from: 0..1, seen_by: ann}\n", "GD0446", "ann",
    ),
    "chosen unseen into public state": (
        "  - {role: ann, choose: pot, from: [0, 1], seen_by: ann}\n", "GD0446", "ann",
    ),
    "until, told to another": (
        "  - each: roles\n    turns:\n      - repeat: 3\n        until: found > 1\n        turns:\n"
        "          - {choose: c, from: [u, v], seen_by: owner}\n"
        "          - {show: secret, as: found, seen_by: others}\n",
        "GD0440", "found",
    ),
    "until, told to me in some passes": (
        "  - each: roles\n    turns:\n      - repeat: 3\n"
        "        until: found == none\n        turns:\n"
        "          - {choose: c, from: [u, v], seen_by: owner}\n"
        "          - {show: secret, as: found, seen_by: owner, if: c == u}\n",
        "GD0440", "found",
    ),
    "what another item of a loop sees": (
        "  - each: r in roles\n    turns:\n"
        "      - {draw: found, from: 0..3, seen_by: me != r}\n"
        "      - {role: r, choose: c, from: [u, v], if: found > 1, seen_by: r}\n",
        "GD0440", "found",
    ),
    "what a role that is drawn in secret sees": (
        "  - {draw: w, from: roles, seen_by: nobody}\n"
        "  - {show: secret, as: found, seen_by: w}\n",
        "GD0443", "w",
    ),
    "told in a loop that may have no pass": (
        "  - each: roles\n    turns:\n"
        "      - {show: secret, as: found, seen_by: others}\n"
        "      - each: k in 1..pot\n        at_most: 3\n        turns:\n"
        "          - {show: secret, as: found, seen_by: owner}\n"
        "      - {do: mine.me = found}\n",
        "GD0441", "found",
    ),
}  # fmt: skip

MORE = "  seen: {set: 0..9}\n  open: {bag: 0..3}\n  points: {per: role, start: 0}\n"


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, check: Check) -> None:
    turns, code, text, *more = REFUSED[name]
    actions = more[0] if more and more[0] else ""
    let = more[1] if len(more) > 1 else ""
    found = check(turns, let=let, actions=actions, more=MORE)
    assert [d.code for d in found] == [code], found
    assert text in found[0].span.text or f"`{text}`" in found[0].message


PASTED = ("if", "if of a block", "until", "guard", "seen under a condition", "stored",
          "stored under a condition", "added to a public set", "the length of a list")  # fmt: skip


@pytest.mark.parametrize("name", PASTED)
def test_the_remedy_can_be_pasted(name: str, check: Check, tmp_path: Path) -> None:
    """With the edits, or the step that `help` gives and reading what it tells, nothing is hidden
    any more."""
    turns, _, _, *more = REFUSED[name]
    actions = more[0] if more else ""
    (found,) = check(turns, actions=actions, more=MORE)
    if found.edits:
        fixed = tmp_path / "fixed.yaml"
        fixed.write_text(apply_edits(found.span.source.text, found.edits), encoding="utf-8")
        assert not {d.code for d in compile_file(fixed).diagnostics} & {"GD0440", "GD0445"}
        return
    step = found.help.split("`")[3]
    assert step.startswith("- {show: x, as: known_x, ")
    rest = re.sub(r"\bx\b", "known_x", turns.removeprefix(X))
    actions = re.sub(r"\bx\b", "known_x", actions)
    assert check(f"{X}  {step}\n{rest}", actions=actions, more=MORE) == []


RIGHT = {
    "what I see": (X + "  - {role: ann, choose: c, from: [u, v], if: x > 1, seen_by: owner}\n",),
    "a card on another's forehead": (
        "  - {deal: card, from: Card, seen_by: others}\n"
        "  - {each: roles, choose: c, from: actions, seen_by: owner}\n",
        "  name: {args: {to: others}, when: 'card[to] == K'}\n  rest: {}\n",
    ),
    "another than me": (
        "  - {deal: card, from: Card, seen_by: others}\n"
        "  - {each: roles, choose: c, from: actions, seen_by: owner}\n",
        "  name: {args: {to: roles}, when: 'to != me and card[to] == K'}\n  rest: {}\n",
    ),
    "every other": (
        "  - {deal: card, from: Card, seen_by: others}\n"
        "  - {each: roles, choose: c, from: [u, v], seen_by: owner,"
        " if: 'any(card[r] == K for r in others)'}\n",
    ),
    "mine among all": (
        CARD + "  - {each: roles, choose: c, from: [u, v], seen_by: owner,"
        " if: 'any(k == K for r, k in card if r == me)'}\n",
    ),
    "one for each": (DIE + "  - do: mine[r] = die[r] for r in roles\n",),
    "under a condition for each": (DIE + "  - do: mine[r] = 1 for r in roles if die[r] > 3\n",),
    "each its own": (DIE + "  - {each: roles, do: mine.me += die.me, if: die.me > 3}\n",),
    "kept for the only reader": (X + "  - {do: hers = x, if: x > 1}\n",),
    "kept from all": (DIE + "  - {do: secret = die.ann + die.bob, if: die.cyd > 1}\n",),
    "a set of one's own": (X + "  - {do: add x to marks, if: x > 1}\n",),
    "shown before": (
        X + "  - {show: x > 1, as: high}\n  - {role: bob, choose: c, from: [u, v], if: high}\n",
    ),
    "bound again for all": (
        "  - {draw: y, from: 0..1, seen_by: ann}\n  - {draw: y, from: 0..1, seen_by: all}\n"
        "  - {role: bob, choose: c, from: [u, v], if: y == 1}\n",
    ),
    "the length of what is hidden": (
        "  - {each: roles, draw: cards.me, from: 0..3}\n"
        "  - {role: bob, choose: c, from: [u, v], if: len(cards.ann) == 1}\n",
    ),
    "a list that is replaced": (
        "  - {each: roles, draw: cards.me, from: 0..3}\n"
        "  - {each: roles, do: 'cards.me = list(min(k + 1, 9) for k in cards.me)'}\n",
    ),
    "a branch that is not mine": (
        DIE + "  - {each: roles, choose: c, from: [u, v], seen_by: owner,"
        " if: '(die.ann if me == ann else 0) > 3'}\n",
    ),
    "a role that is known": (
        DIE + "  - {do: 'mine.ann = die[lead]', if: lead == ann}\n",
    ),
    "a step that is not mine": (
        X + "  - {each: roles, choose: c, from: [u, v], if: me == ann and x > 1, seen_by: ann}\n",
    ),
    "a loop until what is told to who acts": (
        "  - each: roles\n    turns:\n      - repeat: 3\n        until: found > 1\n        turns:\n"
        "          - {choose: c, from: [u, v], seen_by: owner}\n"
        "          - {show: secret, as: found, seen_by: owner}\n"
        "          - {do: mine.me = found}\n"
        "      - {do: mine.me = found if c == u else 0}\n",
    ),
    "what the item of a loop sees": (
        "  - each: r in roles\n    turns:\n"
        "      - {draw: found, from: 0..3, seen_by: r}\n"
        "      - {role: r, choose: c, from: [u, v], if: found > 1, seen_by: r}\n"
        "      - {do: 'mine[r] = found'}\n",
    ),
    "what a role that is drawn sees": (
        "  - {draw: w, from: roles, seen_by: all}\n"
        "  - {show: secret, as: found, seen_by: w}\n"
        "  - {role: w, choose: c, from: [u, v]}\n",
    ),
    "a loop that nobody sees": (
        X + "  - repeat: 3\n    until: x > 1\n    turns:\n      - do: secret += 1\n"
        "  - {role: bob, choose: c, from: [u, v]}\n",
    ),
    "a hidden choice between hidden effects": (
        "  - {role: ann, choose: c, from: actions, seen_by: owner}\n",
        "  up: {args: {k: 0..3}, do: hers = k}\n  down: {}\n",
    ),
    "what was shown to who acts": (
        DIE + "  - each: roles\n    turns:\n"
        "      - {show: 'max(die[r] for r in others)', as: top, seen_by: owner}\n"
        "      - {choose: c, from: [u, v], if: top > 3, seen_by: owner}\n",
    ),
    "the role that argues": (
        "  - {role: ann, choose: c, from: actions}\n",
        "  tell:\n    args: {to: others}\n    turns:\n"
        "      - {show: mine.me, as: told, seen_by: me == to}\n",
    ),
    "an action's own condition": (
        "  - {each: roles, choose: c, from: actions, seen_by: owner}\n",
        "  spend: {when: mine.me > 0, do: mine.me -= 1}\n  rest: {}\n",
    ),
    "the referee reads all": (DIE + "  - {pay: payoffs, value: die.ann, if: die.bob > 2}\n",),
    "a role in turn": (
        "  - {draw: w, from: roles, seen_by: all}\n  - {role: w, choose: c, from: [u, v]}\n",
    ),
    "cards from a deck": (
        "  - {each: roles, draw: cards.me, from: deck}\n"
        "  - {draw: top, from: deck, seen_by: all}\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str, check: Check) -> None:
    turns, *more = RIGHT[name]
    deck = "  deck: {bag: 0..9, copies: 2, seen_by: nobody}\n"
    assert check(turns, actions=more[0] if more else "", more=deck) == []


@pytest.mark.parametrize(
    ("no_move", "source", "codes"),
    [
        ("pass", "hand.me", []),
        ("pass", "list(k for k in 0..3 if k in hand.me)", ["GD0447"]),
        ("end", "list(k for k in 0..3 if k in hand.me)", []),
    ],
)
def test_being_passed_over(no_move: str, source: str, codes: list[str], tmp_path: Path) -> None:
    """That a hand is empty is public, as its length is; what is in it is not."""
    path = tmp_path / "example.yaml"
    path.write_text(
        f"""game: example
roles: [ann, bob]
no_move: {no_move}
state:
  hand: {{per: role, bag: 0..3, seen_by: owner}}
turns:
  - repeat: 5
    turns:
      - {{each: roles, choose: bid, from: {source}, seen_by: all}}
      - {{each: roles, do: 'drop bid[me] from hand.me', if: len(hand.me) > 0}}
payoffs: 0
""",
        encoding="utf-8",
    )
    assert [d.code for d in compile_file(path).diagnostics] == codes


STAGE = """game: inner
roles: [ann, bob]
turns:
  - {draw: x, from: 0..1, seen_by: nobody}
  - {role: all, choose: move, from: [up, down]}
  - {role: all, choose: again, from: [up, down]}
end: END
payoffs: 0
"""


@pytest.mark.parametrize(("end", "codes"), [("x == 1", ["GD0440"]), ("move.ann == up", [])])
def test_the_end_of_a_stage_is_a_condition(end: str, codes: list[str], tmp_path: Path) -> None:
    """After a stage the game goes on, so that its end is seen; the end of a game is exempt."""
    inner, outer = tmp_path / "inner.yaml", tmp_path / "outer.yaml"
    inner.write_text(STAGE.replace("END", end), encoding="utf-8")
    outer.write_text(
        "game: outer\nroles: [ann, bob]\nturns:\n  - {use: inner}\n  - {use: inner}\n",
        encoding="utf-8",
    )
    assert compile_file(inner).diagnostics == []
    assert [d.code for d in compile_file(outer).diagnostics] == codes


def test_all_that_hides_is_gone_through() -> None:
    names = ("kuhn_poker", "leduc_poker", "hanabi", "goofspiel", "lewis_signaling", "liars_dice",
             "guess_the_number")  # fmt: skip
    for name in names:
        ir = compile_file(GAMES / f"{name}.yaml").ir
        assert ir is not None
        assert not is_open(ir)
        problems = Problems()
        check_information_flow(ir, problems)
        assert problems.found == []


PROMPTS = """game: example
roles: [first, second]
types: {Card: [J, Q, K]}
turns:
  - {deal: card, from: Card, seen_by: owner}
  - {draw: board, from: Card, seen_by: all}
  - {draw: pair, per: role, from: Card, seen_by: others}
  - {role: first, choose: open, from: [check, bet]}
  - {role: second, choose: reply, from: [fold, call]}
payoffs: 0
prompts:
  ask:
    open: "You hold {{ card.first }}, the board is {{ board }}: {{ options | join(' or ') }}?"
    reply: "They have {{ pair.first }}: {{ options | join(' or ') }}?"
  seen:
    card: "A card for {{ actor }}: {{ choice }}."
"""


def test_prompts_show_what_their_readers_see(tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(PROMPTS, encoding="utf-8")
    ir = compile_file(path).ir
    assert ir is not None
    book, prompter, state = sample_book(ir), Prompter(ir), Interpreter(ir).start()
    assert book is not None
    told = []
    while state.kind != "end":
        if state.kind == "chance":
            told.append(state.draw(len(told) % 3))
            continue
        ask = state.asks[0]
        step = next(step for step in ir.steps if step.id == ask.step)
        told.append(prompter.messages(ask.seat, step, ask.legal, book, state.seen(ask.seat))[1][1])
        state.choose([ask.legal[0]])
    first, second, board, pair, _, open, reply = told
    assert f"A card for first: {first}." in open
    assert f"You hold {first}, the board is {board}: " in open
    assert f"A card for second: {second}." in reply
    assert f"They have {pair}: " in reply


def test_a_variable_that_holds_a_role_sees(tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(
        """game: example
roles: [ann, bob, cyd]
turns:
  - each: r in roles
    turns:
      - {draw: die, from: 1..6, seen_by: r}
      - {role: r, choose: bid, from: [low, high]}
payoffs: 1 if bid == high else 0
""",
        encoding="utf-8",
    )
    episode = gamedsl.load(path).env().reset(seed=3)
    while not episode.done:
        (decision,) = episode.decisions
        for seat in ("ann", "bob", "cyd"):
            told = [event.step for event in episode.seen(seat)].count("die")
            asked = ("ann", "bob", "cyd").index(decision.seat)
            assert told == (1 if ("ann", "bob", "cyd").index(seat) <= asked else 0)
        episode.step({decision.seat: decision.labels[0]})


@pytest.mark.parametrize("body", ["do: open = card", "turns: [{do: open = card}]"])
def test_statement_actions_are_reported_to_need_steps(body: str, tmp_path: Path) -> None:
    path = tmp_path / "game.yaml"
    path.write_text(
        "game: peeking\nroles: [ann, bob]\n"
        "state: {card: {start: 1, seen_by: nobody}, open: 0}\n"
        f"actions:\n  peek:\n    {body}\n  wait: {{}}\n"
        "turns:\n  - {draw: card, from: 1..3}\n  - {role: ann, choose: m, from: actions}\n"
        "  - {role: bob, choose: n, from: [u, v]}\npayoffs: open\n"
    )
    (found,) = [d for d in compile_file(path).diagnostics if d.code == "GD0441"]
    hidden, told = found.help.split(", or ")
    assert hidden == "declare `open` with `seen_by: nobody`"
    assert told.startswith("tell it before")
    assert ("the `do:` of `peek` becomes `turns:`" in found.help) == body.startswith("do")
