"""Reward files: how the payoffs of all roles become the reward that each is trained on."""

from __future__ import annotations

from pathlib import Path

from gamedsl.diagnostics import Problems
from gamedsl.ir.game import Reward
from gamedsl.ir.types import NUMBER, PerSeat
from gamedsl.sema.infer import Typer
from gamedsl.sema.lets import declare_lets, typed_lets
from gamedsl.sema.library import find
from gamedsl.sema.params import declare_params
from gamedsl.sema.scope import Names, StreamName
from gamedsl.sema.turns import open_used, settings_of
from gamedsl.sema.values import NOTHING, syntax
from gamedsl.source.nodes import Mapping, Node
from gamedsl.source.spans import Span

DEFAULT = "individual"


def read_reward(
    node: Node | None, near: Path, game: Names, problems: Problems, where: Span
) -> Reward:
    """The reward file that a game names (`individual` where it names none), its params folded in."""
    if node is None:
        document = find("reward", DEFAULT, near, problems, where)
    else:
        document = open_used("reward", node, near, problems)
    if document is None:
        return Reward(DEFAULT, NOTHING, (), where)
    settings = settings_of(node) if node is not None else {}
    names = Names(game.seats, game.roles, game.role_spans)
    names.declared.update({n: d for n, d in game.declared.items() if n in _named(settings)})
    return check_split(
        document.name, document.root, settings, names, problems, node.span if node else where
    )


def _named(settings: dict[str, Node]) -> set[str]:
    """Words in the settings of a `use:`: they may be params of the game."""
    return {
        w
        for n in settings.values()
        for w in n.span.text.replace("[", " ").replace(",", " ").split()
    }


def check_split(
    name: str, root: Mapping, settings: dict[str, Node], names: Names, problems: Problems, use: Span
) -> Reward:
    """Type a reward file for the roles of a game."""
    declare_params(
        root.get("params"), settings, names, problems, what=f"the reward `{name}`", use=use
    )
    names.declared["payoff"] = StreamName(PerSeat(NUMBER), root.span)
    declare_lets(root.get("let"), names, problems)
    typer = Typer(names, problems)
    split = root.get("split")
    tree = syntax(split, problems) if split is not None else None
    typed = typer.check(tree, NUMBER, "a split", me=True) if tree else NOTHING
    return Reward(name, typed, typed_lets(typer), root.span)
