"""Reward files: how the payoffs of all roles become the reward that each is trained on."""

from __future__ import annotations

from pathlib import Path

from gamedsl.diagnostics import Note, Problems
from gamedsl.ir.game import Reward
from gamedsl.ir.types import NUMBER, PerSeat
from gamedsl.sema.lets import declare_lets, typed_lets
from gamedsl.sema.library import find
from gamedsl.sema.params import Params
from gamedsl.sema.scope import Names, StreamName
from gamedsl.sema.typer import GameTyper
from gamedsl.sema.uses import open_used, settings_of
from gamedsl.sema.values import NOTHING, syntax
from gamedsl.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.source.spans import Span

DEFAULT = "individual"


def read_reward(
    node: Node | None,
    near: Path,
    game: Names,
    problems: Problems,
    where: Span,
    streams: set[str],
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
    reward = check_split(document.name, document.root, settings, game, problems, use)
    for name in reward.needs:
        if name not in streams and not problems.errors:
            known = ", ".join(sorted(streams))
            problems.add(
                "GD0603",
                f"the reward `{reward.name}` needs the stream `{name}`",
                use,
                why=f"this game pays {known}" if known else "this game pays no stream",
                notes=(Note(reward.span, "declared here"),),
                help=f"add it: `scores: {{{name}: …}}`, or a step `{{pay: {name}, value: …}}`",
            )
    return reward


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
    needs = root.get("needs")
    streams = tuple(
        item.text for item in (needs.items if isinstance(needs, Sequence) else ())
        if isinstance(item, Scalar)
    )  # fmt: skip
    for stream in streams:
        names.declared[stream] = StreamName(PerSeat(NUMBER), root.span)
    params = Params(names, problems, f"the reward `{name}`", use, settings, game)
    folded = params.declare(root.get("params"))
    declare_lets(root.get("let"), names, problems)
    typer = GameTyper(names, problems)
    split = root.get("split")
    tree = syntax(split, problems) if split is not None else None
    typed = typer.check(tree, NUMBER, "a split", me=True) if tree else NOTHING
    places = tuple((entry.key.text, entry.value.span) for entry in settings.values())
    return Reward(name, typed, typed_lets(typer), root.span, use, folded, places, streams)
