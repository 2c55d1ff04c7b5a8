"""Wrong files of Gambit's: each has a place and a code, and none is imported."""

from __future__ import annotations

import pytest

from gamedsl.diagnostics import Problems, codes
from gamedsl.diagnostics.render import render
from gamedsl.imports import import_text

HEAD = 'EFG 2 R "a game" { "ann" "bob" }\n'
ENDS = 't "" 1 "" { 1, 0 }\nt "" 2 "" { 0, 1 }\n'
MOVE = 'p "" 1 1 "" { "l" "r" } 0\n'
TABLE = 'NFG 1 R "a game" { "ann" "bob" }\n'

WRONG = {
    "empty words": ("hello", "GD0801", 1, 1),
    "another version": ('EFG 3 R "x" { "ann" }', "GD0801", 1, 5),
    "no kind of numbers": ('EFG 2 "x" { "ann" }', "GD0802", 1, 7),
    "no title": ("EFG 2 R { }", "GD0802", 1, 9),
    "no players": ('EFG 2 R "x" { }\n' + ENDS, "GD0802", 2, 1),
    "a text without its end": (HEAD + 'p "" 1 1 "" { "l" "r } 0\n', "GD0802", 2, 19),
    "no node": (HEAD, "GD0802", 1, 32),
    "a node too few": (HEAD + MOVE + ENDS[:19], "GD0802", 3, 18),
    "a node too many": (HEAD + MOVE + ENDS + ENDS, "GD0802", 5, 1),
    "another word for a node": (HEAD + 'q "" 1 1\n', "GD0802", 2, 1),
    "a list without its end": (HEAD + MOVE + 't "" 1 "" { 1, 0\nt "" 2', "GD0802", 4, 1),
    "a word for a number": (HEAD + 'p "" one 1\n', "GD0802", 2, 6),
    "a player by half": (HEAD + 'p "" 1.5 1\n', "GD0803", 2, 6),
    "divided by zero": (HEAD + MOVE + 't "" 1 "" { 1/0 0 }', "GD0803", 3, 13),
    "a power that is too great": (HEAD + MOVE + 't "" 1 "" { 1e9999 0 }', "GD0803", 3, 13),
    "a number that is too long": (HEAD + MOVE + f't "" {"1" * 101}', "GD0803", 3, 6),
    "too little chance": (HEAD + 'c "" 7 "" { "a" .5 "b" .4 } 0\n' + ENDS, "GD0804", 2, 6),
    "chance below zero": (HEAD + 'c "" 7 "" { "a" 2 "b" -1 } 0\n' + ENDS, "GD0804", 2, 23),
    "no such player": (HEAD + 'p "" 3 1 "" { "l" "r" } 0\n', "GD0805", 2, 6),
    "a set without actions": (HEAD + 'p "" 1 1 0\n', "GD0805", 2, 8),
    "a set with none": (HEAD + 'p "" 1 1 "" { } 0\n', "GD0805", 2, 8),
    "a tree of too many levels": (
        HEAD + "".join(f'p "" 1 {i} "" {{ "l" }} 0\n' for i in range(1, 3000)) + ENDS[:19],
        "GD0809", 2, 1,
    ),
    "strategies without end": (TABLE + "{ 99999999999999999999 2 }", "GD0809", 2, 3),
    "other actions": (HEAD + MOVE + 'p "" 1 1 "" { "l" "x" } 0\n', "GD0805", 3, 8),
    "other probabilities": (
        HEAD + 'c "" 1 "" { "a" 1/2 "b" 1/2 } 0\nc "" 1 "" { "a" 1/3 "b" 2/3 } 0\n', "GD0805", 3, 6,
    ),
    "a payoff too few": (HEAD + MOVE + 't "" 4 "" { 1 }', "GD0806", 3, 6),
    "an outcome without payoffs": (HEAD + MOVE + 't "" 4 "x"', "GD0806", 3, 6),
    "an outcome that pays otherwise": (
        HEAD + MOVE + 't "" 4 "" { 1 2 }\nt "" 4 "" { 1 3 }', "GD0806", 4, 6,
    ),
    "too many combinations": (TABLE + "{ 200 200 }\n", "GD0809", 2, 1),
    "strategies of one": (TABLE + "{ 2 }\n", "GD0805", 2, 1),
    "a player without strategies": (TABLE + "{ 2 { } }\n", "GD0805", 1, 26),
    "payoffs that end early": (TABLE + "{ 1 2 }\n1 2 3", "GD0802", 3, 5),
    "payoffs that go on": (TABLE + "{ 1 2 }\n1 2 3 4 5", "GD0802", 3, 9),
    "no such outcome": (TABLE + '{ 1 2 }\n{ { "" 1, 2 } }\n1 2', "GD0806", 4, 3),
    "an outcome of one": (TABLE + '{ 1 2 }\n{ { "" 1 } }\n1 1', "GD0806", 3, 5),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file(name: str) -> None:
    text, code, line, column = WRONG[name]
    problems = Problems()
    assert import_text(text, "wrong", problems) is None
    found = [(d.code, d.span.line, d.span.column) for d in problems.found]
    assert found == [(code, line, column)], render(problems.found)


def test_what_chance_never_brings_is_left_out() -> None:
    """With the information sets below it; what is said of it twice is noted once."""
    tosses = 'c "" 1 "coin" { "heads" 1/2 "edge" 0 "tails" 1/2 } 0\n'
    again = 'c "" 1 0\n'
    move, last = 'p "" 1 1 "" { "l" "r" } 0\n', 'p "" 2 1 "" { "x" "y" } 0\n'
    never = 'p "" 2 9 "" { "up" "down" } 0\n' + ENDS
    problems = Problems()
    whole = (
        HEAD
        + move
        + tosses
        + last
        + ENDS
        + never
        + ENDS[:19]
        + again
        + ENDS[:19]
        + never
        + last
        + ENDS
    )
    text = import_text(whole, "coin", problems)
    assert [(d.code, d.severity) for d in problems.found] == [("GD0810", "note")]
    short = tosses.replace('"edge" 0 ', "")
    without = HEAD + move + short + last + ENDS + ENDS[:19] + again + ENDS[:19] + last + ENDS
    assert text == import_text(without, "coin", Problems())
    assert text is not None


@pytest.mark.parametrize("code", [code for code in codes.codes() if code.startswith("GD08")])
def test_examples_of_the_explanations(code: str) -> None:
    wrong, right = codes.text_examples(code)
    problems = Problems()
    text = import_text(wrong, "wrong", problems)
    assert (text is None) == any(d.severity == "error" for d in problems.found)
    assert {d.code for d in problems.found} == {code}
    problems = Problems()
    assert import_text(right, "right", problems) is not None
    assert problems.found == []


@pytest.mark.parametrize(
    "text", ["", '"', "EFG", 'EFG 2 R "', "{}" * 50, 'NFG 1 R "x" { "a" } { 3']
)
def test_whatever_the_text_is(text: str) -> None:
    problems = Problems()
    assert import_text(text, "x", problems) is None
    assert problems.errors
