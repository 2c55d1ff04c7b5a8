"""The games of Gambit's catalog, read from the installed package: imported, compiled, exported,
read again by Gambit, and their equilibria held against ours."""

from __future__ import annotations

import io
from collections.abc import Iterator
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.render import render
from gamedsl.export.gambit import to_efg, to_nfg
from gamedsl.imports import import_file
from gamedsl.solve import exploitability, solve, tabulate
from gamedsl.solve.equilibria import mixed_equilibria, pure_equilibria
from gamedsl.solve.table import one_shot
from gamedsl.solve.tree import Tree
from tests.export import shapes
from tests.export.test_gambit_peers import gambit_reads, payoffs, policy

gambit = pytest.importorskip("pygambit")

CATALOG = Path(str(files("pygambit") / "catalog_data"))
TREES = sorted(str(path.relative_to(CATALOG)) for path in CATALOG.rglob("*.efg"))
TABLES = sorted(str(path.relative_to(CATALOG)) for path in CATALOG.rglob("*.nfg"))

FORGETFUL = {
    "books/shohamleytonbrown2008/fig5_12.efg", "books/vonstengel2022/fig10.7.efg",
    "journals/geb/gilboa1997/fig1.efg", "journals/geb/gilboa1997/fig2.efg",
    "journals/geb/wichardt2008.efg",
}  # fmt: skip
"""Games of imperfect recall."""

ORDERLESS = {
    "conf/itcs/jakobsen2016/fig1a.efg", "conf/itcs/jakobsen2016/fig1c.efg",
    "conf/itcs/jakobsen2016/fig3.efg", "journals/mor/vonstengelforges2008/fig6.efg",
}  # fmt: skip
"""Games whose moves have no order."""

NOT_EXACT = {"journals/ijgt/nau2004/sec4.nfg": 1e-5}
"""Games whose equilibrium is found in floats, with what their seats may gain together. The only
equilibrium of this one is irrational (Nau et al. 2004)."""


def imported(name: str, folder: Path) -> gamedsl.Game:
    problems = Problems()
    text = import_file(CATALOG / name, problems)
    assert text is not None, render(problems.found)
    path = folder / f"{Path(name).stem.replace('.', '_')}.yaml"
    path.write_text(text)
    result = compile_file(path)
    assert result.ok, render(result.diagnostics)
    assert not [d for d in result.diagnostics if d.severity == "warning"]
    return gamedsl.load(path)


def test_the_catalog() -> None:
    assert (len(TREES), len(TABLES)) == (32, 6)
    assert set(TREES) >= FORGETFUL | ORDERLESS


@pytest.mark.parametrize("name", TREES)
def test_recall_is_told_as_gambit_does(name: str) -> None:
    assert gambit.read_efg(str(CATALOG / name)).is_perfect_recall == (name not in FORGETFUL)


@pytest.mark.parametrize("name", TREES)
def test_steps_say_what_is_known_where_they_must(name: str, tmp_path: Path) -> None:
    steps = imported(name, tmp_path).ir.steps
    assert any(s.knows is not None for s in steps) == (name in FORGETFUL | ORDERLESS)


@pytest.mark.parametrize("name", TREES)
def test_trees_there_and_back(name: str, tmp_path: Path) -> None:
    """Gambit reads of its own file and of ours the same tree, and so do we."""
    game = imported(name, tmp_path)
    text = to_efg(game)
    theirs = shapes.of_gambit(gambit.read_efg(str(CATALOG / name)))
    assert shapes.of_gambit(gambit.read_efg(io.StringIO(text))) == theirs
    assert shapes.of_text((CATALOG / name).read_text()) == theirs
    assert shapes.of_tree(tabulate(game.env(), forced="asked", forgetful=True)) == theirs


@pytest.mark.parametrize("name", TABLES)
def test_tables_there_and_back(name: str, tmp_path: Path) -> None:
    game = imported(name, tmp_path)
    table = one_shot(tabulate(game.env()))
    assert table is not None
    assert cells(gambit.read_nfg(str(CATALOG / name))) == list(table.payoffs.values())
    assert cells(gambit_reads(to_nfg(game), table=True)) == list(table.payoffs.values())


def cells(game: Any) -> list[tuple[Fraction, ...]]:
    """The payoffs of all profiles, the last player's strategy varying fastest."""
    from itertools import product

    players = list(game.players)
    found = []
    for profile in product(*(list(player.strategies) for player in players)):
        paid = game[profile]
        found.append(tuple(Fraction(str(paid[player.label])) for player in players))
    return found


@pytest.mark.parametrize("name", [name for name in TREES if name not in FORGETFUL])
def test_equilibria_of_trees(name: str, tmp_path: Path) -> None:
    """At what Gambit finds, in rationals, nobody gains by leaving; and of pure equilibria both find
    as many."""
    tree = tabulate(imported(name, tmp_path).env(), forced="asked")
    game = gambit.read_efg(str(CATALOG / name))
    for found in equilibria(game):
        behaviour = found.as_behavior() if hasattr(found, "as_behavior") else found
        assert exploitability(tree, policy(behaviour, game, tree), "payoffs").nash_conv == 0
    ours = pure_equilibria(tree, "payoffs").found
    assert ours is not None
    assert bool(ours) == bool(gambit.nash.enumpure_solve(game).equilibria)


@pytest.mark.parametrize("name", sorted(FORGETFUL))
def test_equilibria_of_the_forgetful(name: str, tmp_path: Path) -> None:
    """Gambit solves no game of imperfect recall, but its strategic form: of two players both find
    the same, of others as many that are pure."""
    game = imported(name, tmp_path)
    report = solve(game)
    assert report.strategies
    assert report.one_shot is not None
    form = gambit.read_efg(str(CATALOG / name)).to_nfg()
    theirs = equilibria(gambit.read_nfg(io.StringIO(form)))
    found = [one.solution for one in report.one_shot.found]
    if len(game.ir.seats) != 2:
        assert len([one for one in report.one_shot.found if one.pure]) == len(theirs)
        return
    assert report.one_shot.complete
    ours = {tuple(shares(row.values()) for row in one.policy.values()) for one in found}
    assert ours == {
        tuple(shares(found[s] for s in player.strategies) for player in found.game.players)
        for found in theirs
    }


@pytest.mark.parametrize("name", [name for name in TREES if name not in FORGETFUL])
def test_trees_are_solved(name: str, tmp_path: Path) -> None:
    """What `gamedsl solve` says of a tree, Gambit says of the same policy: what it earns, and that
    nobody gains by leaving it. Where Gambit has an exact answer of its own, both agree."""
    game = imported(name, tmp_path)
    found, theirs = solve(game), gambit.read_efg(str(CATALOG / name))
    assert found.solution is not None
    assert not found.strategies
    solution = found.solution
    assert solution.exact
    profile = theirs.mixed_behavior_profile(rational=True)
    tree = tabulate(game.env(), forced="asked")
    for action, share in shares_in(solution.policy, theirs, tree):
        profile[action] = gambit.Rational(share.numerator, share.denominator)
    assert profile.max_regret() == 0
    assert payoffs(profile, theirs) == list(solution.values.values())
    if found.method == "lp":
        (best, *_) = gambit.nash.lp_solve(theirs, rational=True).equilibria
        assert payoffs(best, theirs) == list(solution.values.values())
    elif found.method == "backward":
        pure = gambit.nash.enumpure_solve(theirs).equilibria
        assert payoffs(profile, theirs) in [payoffs(one, theirs) for one in pure]


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_solved(name: str, tmp_path: Path) -> None:
    found, theirs = solve(imported(name, tmp_path)), gambit.read_nfg(str(CATALOG / name))
    assert found.one_shot is not None
    assert found.solution is not None
    exact = found.solution.exact
    assert exact == (name not in NOT_EXACT)
    for one in found.one_shot.found if exact else ():
        profile = theirs.mixed_strategy_profile(rational=True)
        for player, row in zip(theirs.players, one.solution.policy.values(), strict=True):
            for strategy, share in zip(player.strategies, row.values(), strict=True):
                profile[strategy] = gambit.Rational(share.numerator, share.denominator)
        assert profile.max_regret() == 0
        assert payoffs(profile, theirs) == list(one.solution.values.values())
    assert exact or float(found.solution.nash_conv) < NOT_EXACT[name]
    if found.one_shot.complete and len(theirs.players) == 2:
        assert len(found.one_shot.found) == len(equilibria(theirs))


def shares_in(policy: Any, game: Any, tree: Tree) -> Iterator[tuple[Any, Fraction]]:
    """The actions of a tree as Gambit has it, with their probabilities in a policy of ours; the
    only action of an information set needs none."""
    pending = [(game.root, 0)]
    while pending:
        node, number = pending.pop()
        if tree.info[number] >= 0:
            info = tree.info_sets[tree.info[number]]
            row = policy[info.key] if len(info.actions) > 1 else dict.fromkeys(info.actions, 1)
            for action, name in zip(node.infoset.actions, info.actions, strict=True):
                yield action, Fraction(row[name])
        pending += zip(node.children, tree.children[number], strict=True)


def shares(row: Any) -> tuple[Fraction, ...]:
    """The probabilities of a mixture that are not 0, in the order of the strategies."""
    return tuple(p for p in (Fraction(str(p)) for p in row) if p)


@pytest.mark.parametrize("name", TABLES)
def test_equilibria_of_tables(name: str, tmp_path: Path) -> None:
    tree = tabulate(imported(name, tmp_path).env())
    game = gambit.read_nfg(str(CATALOG / name))
    table = one_shot(tree)
    assert table is not None
    theirs = []
    for found in equilibria(game):
        mixed = {
            key: dict(
                zip(actions, (Fraction(str(found[s])) for s in player.strategies), strict=True)
            )
            for key, actions, player in zip(table.keys, table.actions, game.players, strict=True)
        }
        assert exploitability(tree, mixed, "payoffs").nash_conv == 0
        theirs.append(mixed)
    pure = pure_equilibria(tree, "payoffs").found
    assert pure is not None
    assert len(pure) == len(gambit.nash.enumpure_solve(game).equilibria)
    if len(table.seats) == 2:
        ours = mixed_equilibria(tree, "payoffs")
        assert ours is not None
        inner = [
            m for m in theirs if all(len([p for p in row.values() if p]) > 1 for row in m.values())
        ]
        assert sorted(map(repr, ours)) == sorted(map(repr, inner))


def equilibria(game: Any) -> list[Any]:
    """What Gambit finds exactly: all of a game of two, the pure ones of any other."""
    if len(list(game.players)) == 2:
        return list(gambit.nash.enummixed_solve(game, rational=True).equilibria)
    return list(gambit.nash.enumpure_solve(game).equilibria)
