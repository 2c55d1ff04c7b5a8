"""Games of OpenSpiel as game files: the same trees, node by node."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyspiel
import pytest

import gamedsl
from gamedsl import cli
from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.render import render
from gamedsl.extras import install_command
from gamedsl.imports.openspiel import GameRefused, import_openspiel
from gamedsl.solve import tabulate
from tests.export import shapes

QUICK = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "tiny_hanabi",
    "matrix_rps",
    "matrix_pd",
    "lewis_signaling",
    "goofspiel(num_cards=3,imp_info=True,points_order=descending)",
    "first_sealed_auction(max_value=4)",
    "coordinated_mp",
)


def shape_of(game: Any) -> shapes.Shape:
    """The tree as OpenSpiel walks it, as `shapes` has it."""
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    shape, numbers, pending = [], {}, [game.new_initial_state()]
    while pending:
        state = pending.pop()
        if state.is_terminal():
            shape.append(("end", tuple(state.returns())))
        elif state.is_chance_node():
            shape.append(("chance", tuple(odds for _, odds in state.chance_outcomes())))
        else:
            player = state.current_player()
            key = player, state.information_state_string(player)
            number = numbers.setdefault(key, len(numbers))
            shape.append((player, number, len(state.legal_actions())))
        moves = [] if state.is_terminal() else state.legal_actions()
        pending += [state.child(action) for action in reversed(moves)]
    return shape


def in_floats(shape: shapes.Shape) -> shapes.Shape:
    return [
        (node[0], tuple(map(float, node[1]))) if len(node) == 2 else node for node in shape
    ]  # fmt: skip


def imported(name: str, folder: Path) -> gamedsl.Game:
    problems = Problems()
    text = import_openspiel(name, problems, "imported")
    assert text is not None, render(problems.found)
    path = folder / "imported.yaml"
    path.write_text(text)
    return gamedsl.load(path)


@pytest.mark.parametrize("name", [*QUICK, pytest.param("leduc_poker", marks=pytest.mark.slow)])
def test_trees_agree_node_by_node(name: str, tmp_path: Path) -> None:
    tree = tabulate(imported(name, tmp_path).env(), forced="asked")
    theirs = shape_of(pyspiel.load_game(name))
    assert len(theirs) >= 7
    assert in_floats(shapes.of_tree(tree)) == theirs


def test_chance_is_exact_fractions(tmp_path: Path) -> None:
    tree = tabulate(imported("kuhn_poker", tmp_path).env())
    assert tree.odds[0] == (Fraction(1, 3),) * 3


def test_command_writes_a_valid_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hanabi.yaml"
    assert cli.main(["import", "--from", "openspiel", "tiny_hanabi", "-o", str(path)]) == 0
    assert cli.main(["validate", str(path)]) == 0
    assert path.read_text().startswith("game: hanabi\nabout: Tiny Hanabi\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kuhnpoker", "OpenSpiel has no game `kuhnpoker`; fix: write `kuhn_poker`"),
        ("kuhn_poker(x=1)", "Unknown parameter 'x'. Available parameters are: players"),
        ("mfg_crowd_modelling", "is a mean-field game, which has no tree"),
        ("repeated_game(stage_game=matrix_pd(),num_repetitions=2)", "it has no information states"),
        ("hanabi", "does not say what a player knows"),
    ],
)
def test_other_games_are_refused(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    with pytest.raises(GameRefused, match=said.replace("(", r"\(")):
        import_openspiel(name, Problems())
    assert cli.main(["import", "--from", "openspiel", name]) == 2
    assert said in capsys.readouterr().err


def test_large_trees_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gamedsl.imports.openspiel.MAX_NODES", 50)
    problems = Problems()
    assert import_openspiel("kuhn_poker", problems) is None
    assert [(one.code, one.span.line) for one in problems.found] == [("GD0809", 1)]


def test_missing_openspiel_names_the_command() -> None:
    code = "import sys; sys.modules['pyspiel'] = None; import gamedsl.imports.openspiel"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"open_spiel is not installed; fix: {install_command('openspiel')}" in done.stderr
