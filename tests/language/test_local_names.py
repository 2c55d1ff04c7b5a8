"""Names that are local: of comprehensions, of a `let`'s parameters, of loops, of arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl import Action
from tests.writing import write

ROOT = Path(__file__).parents[2]
BACKENDS = ["interpreter", "generated", "tabulated"]

COUNTING = """\
game: counting
about: Locals have the names of values.
roles: [ann, bob]
params: {colours: [red, blue]}
types: {Colour: colours}
state: {seen: {per: Colour, start: 0}, total: 0, twos: 0}
turns:
  - {role: ann, choose: pick, from: Colour}
  - each: c in 1..3
    turns:
      - do: total += c
      - {do: twos += 1, if: c == 2}
  - each: c in Colour
    turns:
      - {do: 'seen[c] += 1', if: pick == c}
      - each: c in [50, 70]
        turns:
          - do: total += c
      - do: seen[c] += 10
  - {role: bob, choose: guess, from: Colour}
let:
  picks(c): count([pick, guess], c)
payoffs: total + 1000 * sum(picks(c) for c in Colour) + 10000 * twos + 100000 * sum(seen)
"""

ARGUMENTS = """\
game: arguments
about: An argument has the name of a value.
roles: [ann, bob]
types: {Mark: [a, b]}
state: {mark: Mark, sum: 0}
actions:
  put:
    args: {a: 1..3}
    when: a > 1
    do: sum += a
turns:
  - {role: all, choose: first, from: Mark}
  - {each: roles, choose: move, from: actions}
payoffs: sum + 10 * count(first, a)
"""


def paid(game: gamedsl.Game, backend: str, *names: str) -> dict[str, Any]:
    """Everyone's payoff when the decisions, in the order in which they are asked, are these."""
    episode, rest = game.env(backend=backend).reset(), iter(names)
    while not episode.done:
        episode.step({d.seat: Action(next(rest)) for d in episode.decisions})
    return dict(episode.payoffs)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("colours", ["[red, blue]", "[a, b, c]", "[c, picks_not]"])
def test_locals_hide_values(tmp_path: Path, colours: str, backend: str) -> None:
    game = gamedsl.load(write(tmp_path, COUNTING), params={"colours": colours})
    first, *others = colours.strip("[]").split(", ")
    size = len(others) + 1
    worth = 6 + size * 120 + 2000 + 10000 + 100000 * (1 + 10 * size)
    assert paid(game, backend, first, others[-1]) == {"ann": worth, "bob": worth}


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_hide_values(tmp_path: Path, backend: str) -> None:
    game = gamedsl.load(write(tmp_path, ARGUMENTS))
    assert paid(game, backend, "a", "b", "put(2)", "put(3)") == {"ann": 15, "bob": 15}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_let_parameter_may_be_a_value(tmp_path: Path, backend: str) -> None:
    text = """\
game: g
roles: [row, column]
types: {Colour: [a, b, c]}
turns: [{role: all, choose: vote, from: Colour}]
let: {total(c): 'count(vote, c)', most: 'max(total(c) for c in Colour)'}
payoffs: 10 * most + total(b) + count(c == Colour.c for c in vote)
"""
    game = gamedsl.load(write(tmp_path, text))
    assert paid(game, backend, "b", "c") == {"row": 12, "column": 12}


def test_loops_of_one_type_share_a_variable(tmp_path: Path) -> None:
    text = """\
game: g
roles: [row]
state: {sum: 0}
turns:
  - {each: n in 1..3, do: sum += n}
  - {each: n in 1..3, do: sum += n}
  - {role: row, choose: move, from: [up, down]}
payoffs: sum + 100 * n
"""
    game = gamedsl.load(write(tmp_path, text))
    assert paid(game, "interpreter", "up") == {"row": 312}


def test_the_page_holds_for_every_value(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    section = page.partition("### Local names")[2]
    path = write(tmp_path, section.partition("```yaml\n")[2].partition("```")[0])
    for colours in ("[red, blue]", "[a, b, c]"):
        game = gamedsl.load(path, params={"colours": colours})
        first = colours.strip("[]").split(", ")[0]
        assert set(paid(game, "generated", *[first] * 3).values()) == {3}
