"""What is known of a loop over items before play: how many passes it has, and what an item is."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.compiler import compile_file
from gamedsl.ir.program import Choose, walk_steps
from gamedsl.prompting.history_bounds import most_reply_tokens
from gamedsl.runtime.kernels import BACKENDS
from tests.properties.walking import nodes, standing
from tests.writing import write

HEAD = "game: passes\nparams: {m: 2, ns: [1, 2]}\nroles: [ann, bob]\n"

TWICE = {
    "a number of passes": "repeat: m",
    "a range": "each: x in 1..m",
    "a list": "each: x in [1, m]",
    "a param": "each: x in ns",
    "a comprehension": "each: x in [2 * i for i in 1..m]",
    "what is left of a list": "each: x in difference(1..3, [m])",
}
"""Heads of loops that have two passes, whatever happens."""

SHOWN = """\
turns:
  - LOOP
    turns:
      - {draw: card, from: 1..3, seen_by: all}
  - {role: bob, choose: move, from: [up, down], if: card > 1}
  - {draw: card, from: 1..3, seen_by: nobody}
  - {role: ann, choose: guess, from: [low, high]}
payoffs: card
"""

SAID = """\
turns:
  - {role: bob, say: creed, max_tokens: 100}
  - LOOP
    turns:
      - {role: ann, say: word, max_tokens: 5}
  - {role: bob, say: reply, max_tokens: 7}
payoffs: 0
on_invalid: {then: forfeit, pay: -1}
history: {ann: {last: 1}, bob: {last: 1}}
"""


def codes(path: Path) -> list[str]:
    return [d.code for d in compile_file(path).diagnostics if d.severity == "error"]


@pytest.mark.parametrize("loop", TWICE.values(), ids=TWICE)
def test_names_are_bound_after_sure_passes(loop: str, tmp_path: Path) -> None:
    """What every pass shows is known behind the loop: no leak is reported."""
    path = write(tmp_path, HEAD + SHOWN.replace("LOOP", loop))
    assert not codes(path)


@pytest.mark.parametrize("loop", ["each: x in [i for i in 1..m if i > 2]", "each: x in 1..kept"])
def test_names_may_be_unbound_without_passes(loop: str, tmp_path: Path) -> None:
    state = "state: {kept: {of: 0..2, start: 1}}\n" if "kept" in loop else ""
    assert "GD0440" in codes(write(tmp_path, HEAD + state + SHOWN.replace("LOOP", loop)))


@pytest.mark.parametrize("loop", TWICE.values(), ids=TWICE)
def test_windows_begin_within_sure_passes(loop: str, tmp_path: Path) -> None:
    """The last word of ann, in any pass, is behind the creed: her prompts need not hold both."""
    ir = gamedsl.load(write(tmp_path, HEAD + SAID.replace("LOOP", loop))).ir
    assert most_reply_tokens(ir) == 100 + 5 + 5


BOUNDED = {
    "a list": ("each: n in [1, 3]", "0..n", (0, 3)),
    "a param": ("each: n in ns", "0..n", (0, 2)),
    "a let": ("each: n in listed", "1..n + 1", (1, 5)),
    "a comprehension": ("each: n in [2 * i for i in 1..m]", "n - 1..n", (1, 4)),
    "a list computed from it": ("each: n in [1, 3]", "[n - 1, n + 1]", (0, 4)),
    "a loop inside a loop": ("each: n in [1, 3]\n    count: k", "k..n + k", (1, 5)),
    "the number of a pass": ("repeat: 3\n    count: n", "0..n", (0, 3)),
}
"""Loops, options that read their variables, and the range of the options."""

CHOSEN = """\
let: {listed: "[1, 4]"}
turns:
  - LOOP
    turns:
      - {role: ann, choose: number, from: "OPTIONS"}
      - {role: bob, choose: answer, from: 0..number}
payoffs: {ann: number - answer + 0 * len(listed), bob: answer}
"""


@pytest.mark.parametrize(("loop", "options", "range"), BOUNDED.values(), ids=BOUNDED)
def test_options_may_read_loop_variables(
    loop: str, options: str, range: tuple[int, int], tmp_path: Path
) -> None:
    """The options have the range of what they read, and so has a later choice that reads them."""
    text = HEAD + CHOSEN.replace("LOOP", loop).replace("OPTIONS", options)
    game = gamedsl.load(write(tmp_path, text))
    types = [step.type for step in walk_steps(game.ir.turns) if isinstance(step, Choose)]
    assert [(type.low, type.high) for type in types] == [range, (0, range[1])]
    reached = [list(nodes(game.env(backend=name), 500)) for name in BACKENDS]
    assert len(reached[0]) > 4
    for others in reached[1:]:
        for ours, theirs in zip(reached[0], others, strict=True):
            assert standing(ours.episode) == standing(theirs.episode)


@pytest.mark.parametrize("loop", ["each: n in [1, 3]", "each: n in xs"])
def test_a_list_of_state_has_no_range(loop: str, tmp_path: Path) -> None:
    """Behind its loop, too, a variable has none: another loop may have bound it."""
    state = "state: {xs: {list: integer, at_most: 2, start: [1, 3]}}\n"
    inside = CHOSEN.replace("LOOP", loop).replace("OPTIONS", "0..n")
    behind = inside.replace(
        "      - {role: ann", "      - {role: ann, choose: k, from: [a, b]}\n  - {role: ann", 1
    ).replace("      - {role: bob", "  - {role: bob")
    text = inside if loop.endswith("xs") else behind
    assert "GD0427" in codes(write(tmp_path, HEAD + state + text))


def test_arguments_may_read_earlier_arguments(tmp_path: Path) -> None:
    path = write(tmp_path, (
        "game: take\nroles: [ann, bob]\nstate: {left: 5}\nprotocol: {use: alternate, at_most: 9}\n"
        "actions:\n  take:\n    args: {pile: '[1, 3]', count: 1..pile}\n    do: left -= count\n"
        "end: left <= 0\npayoffs: 0\n"
    ))  # fmt: skip
    (step,) = (s for s in walk_steps(gamedsl.load(path).ir.turns) if isinstance(s, Choose))
    assert [choice.value[1:] for choice in step.options[0]] == [
        (pile, count) for pile in (1, 2, 3) for count in (1, 2, 3)
    ]


def test_a_range_is_no_part_of_the_hash(tmp_path: Path) -> None:
    """What is known of an item bounds options that were refused before, and changes no type."""
    path = write(tmp_path, (
        "game: sizes\nroles: [ann, bob]\nstate: {total: 0}\nturns:\n"
        "  - each: size in [2, 4]\n    count: k\n    turns:\n"
        "      - {role: all, choose: give, from: [yes, no]}\n"
        "      - {do: total += size * k, if: give.ann == yes}\npayoffs: total\n"
    ))  # fmt: skip
    assert gamedsl.load(path).ir.rules_hash.startswith("66924b8ac9f4d181")


SHOWN_BEHIND = """
game: case
roles: {{player: {count}}}
turns:
  - {{draw: card, per: role, from: 1..3, seen_by: owner}}
  - {{show: card.player_1, as: told, seen_by: player_1}}
  - each: x in roles
    turns:
      - {{show: "card[x]", as: told, seen_by: {readers}}}
  - {{role: all, choose: bid, from: [left, right], if: told > 1}}
payoffs: 0
"""


@pytest.mark.parametrize("count", [3, 6])
def test_what_each_pass_shows_is_known_behind_it(count: int, tmp_path: Path) -> None:
    """Of one variable the first `show` is for one role, and that of each pass for all."""
    path = tmp_path / "case.yaml"
    for readers, codes in (("all", set()), ("x", {"GD0440"}), ("me != x", {"GD0440"})):
        path.write_text(SHOWN_BEHIND.format(count=count, readers=readers).lstrip())
        found = compile_file(path).diagnostics
        assert {one.code for one in found if one.severity == "error"} == codes, readers
