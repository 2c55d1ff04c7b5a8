"""Variables that positions hold and no rule reads: found, and not where a rule reads them."""

import pytest

import gamedsl
from gamedsl.solve import Unfit, solve
from gamedsl.solve.smaller_state import smaller_state

LINES = """
game: lines
about: Two draw edges in turn, which hold who drew them; whoever draws the last one wins.
params: {edges: {default: 6, in: 2..12}}
roles: [left, right]
state:
  edge: {grid: [1, edges], of: role or none}
  winner: none
turns:
  - repeat: edges
    turns:
      - each: r in roles
        turns:
          - {role: r, choose: line, from: empty(edge), if: "size(empty(edge)) > 0"}
          - {do: "edge[line] = r; winner = r", if: "line != none"}
end: size(empty(edge)) == 0
"""
LAST = "payoffs: 1 if me == winner else -1\n"
OWNER = "payoffs: 1 if edge[0, 0] == me else -1\n"


def lines(folder, payoffs):
    path = folder / "lines.yaml"
    path.write_text(LINES + payoffs, encoding="utf-8")
    return gamedsl.load(path)


def test_a_variable_that_no_rule_reads_is_named(tmp_path):
    game = lines(tmp_path, LAST)
    found = smaller_state(game, 200)
    assert (found.variable, found.whole, found.positions) == ("edge", False, 69)
    report = solve(game, limit=100, iterations=5)
    said = " ".join(report.did)
    assert "`edge` is read only for where it is none" in said
    assert "69 positions, and is solved exactly" in said
    with pytest.raises(Unfit, match="`edge` is read only"):
        solve(game, "backward", limit=100)


def test_variable_read_at_the_end_is_not_named(tmp_path):
    assert smaller_state(lines(tmp_path, OWNER), 200) is None


def test_too_large_a_game_has_no_hint(tmp_path):
    assert smaller_state(lines(tmp_path, LAST), 50) is None
