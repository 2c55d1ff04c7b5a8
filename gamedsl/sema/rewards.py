"""Reward files: how the payoffs of all roles become the reward that each is trained on."""

from __future__ import annotations

from pathlib import Path

from gamedsl.diagnostics import Problems
from gamedsl.ir.game import Reward
from gamedsl.ir.types import NUMBER, PerSeat
from gamedsl.sema.infer import Typer
from gamedsl.sema.lets import declare_lets, typed_lets
from gamedsl.sema.library import find
from gamedsl.sema.params import Params
from gamedsl.sema.scope import Names, StreamName
from gamedsl.sema.turns import open_used, settings_of
from gamedsl.sema.values import NOTHING, syntax
from gamedsl.source.nodes import Entry, Mapping, Node
from gamedsl.source.spans import Span

DEFAULT = "individual"


def read_reward(
    node: Node | None, near: Path, game: Names, problems: Problems, where: Span
) -> Reward:
    """The reward file that a game names (`individual` where it names none), params folded in."""
    if node is None:
        document = find("reward", DEFAULT, near, problems, where)
    else:
        document = open_used("reward", node, near, problems)
    if document is None:
        return Reward(DEFAULT, NOTHING, (), where, where)
    settings = settings_of(node) if node is not None else {}
    use = node.span if node is not None else where
    return check_split(document.name, document.root, settings, game, problems, use)


def check_split(
    name: str,
    root: Mapping,
    settings: dict[str, Entry],
    game: Names,
    problems: Problems,
    use: Span,
) -> Reward:
    """Type a reward file for the roles of a game, whose names its settings may use."""
    names = Names(game.seats, game.roles, game.role_spans)
    names.declared["payoff"] = StreamName(PerSeat(NUMBER), root.span)
    params = Params(names, problems, f"the reward `{name}`", use, settings, game)
    folded = params.declare(root.get("params"))
    declare_lets(root.get("let"), names, problems)
    typer = Typer(names, problems)
    split = root.get("split")
    tree = syntax(split, problems) if split is not None else None
    typed = typer.check(tree, NUMBER, "a split", me=True) if tree else NOTHING
    places = tuple((entry.key.text, entry.value.span) for entry in settings.values())
    return Reward(name, typed, typed_lets(typer), root.span, use, folded, places)
