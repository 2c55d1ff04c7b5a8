"""Reward files: how the payoffs of all roles become the reward that each is trained on."""

from __future__ import annotations

from pathlib import Path

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir.game import Reward
from gamedsl.ir.types import NEVER, NUMBER, PerSeat, PerValue
from gamedsl.sema.claims import read_claims
from gamedsl.sema.lets import declare_lets, typed_lets
from gamedsl.sema.library import find, find_used, given_params
from gamedsl.sema.params import Params
from gamedsl.sema.scope import Namespace, ParamName, StreamName, report_taken
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import NOTHING, syntax

DEFAULT = "individual"


def read_reward(
    node: Node | None,
    near: Path,
    game: Namespace,
    problems: Problems,
    where: Span,
    streams: set[str],
) -> Reward:
    """Reads the reward file that a game names (`individual` where it names none), params folded
    in."""
    if node is None:
        document = find("reward", DEFAULT, near, problems, where)
    else:
        document = find_used("reward", node, near, problems)
    if document is None:
        return Reward(DEFAULT, NOTHING, (), where, where)
    settings = given_params(node) if node is not None else {}
    use = node.span if node is not None else where
    reward = check_split(document.name, document.root, settings, game, problems, use)
    missing = [name for name in reward.needs if name not in streams]
    if missing and not problems.errors:
        known, name = ", ".join(sorted(streams)), missing[0]
        plural = "s" if len(missing) > 1 else ""
        problems.add(
            "GD0603",
            f"the reward `{reward.name}` needs the stream{plural} "
            + ", ".join(f"`{each}`" for each in missing),
            use,
            why=f"this game pays {known}" if known else "this game pays no stream",
            notes=(Note(reward.span, "declared here"),),
            help=f"add `scores: {{{name}: …}}`, or a step `{{pay: {name}, value: …}}`",
        )
    return reward


def check_split(
    name: str,
    root: Mapping,
    settings: dict[str, Entry],
    game: Namespace,
    problems: Problems,
    use: Span,
) -> Reward:
    """Types a reward file for the roles of a game, whose names its settings may use."""
    names = Namespace(game.seats, game.roles, game.role_spans)
    names.declared["payoff"] = StreamName(PerSeat(NUMBER), root.span)
    params = Params(names, problems, f"the reward `{name}`", use, settings, game)
    folded = params.declare(root.get("params"))
    streams = _streams(root.get("needs"), names, problems)
    declare_lets(root.get("let"), names, problems)
    typer = Typer(names, problems)
    split = root.get("split")
    tree = syntax(split, problems) if split is not None else None
    typed = typer.check(tree, NUMBER, "a split", me=True) if tree else NOTHING
    places = tuple((entry.key.text, entry.value.span) for entry in settings.values())
    claims = read_claims(root.get("claims"), typer)
    lets = typed_lets(typer)
    return Reward(name, typed, lets, root.span, use, folded, places, streams, claims)


def _streams(needs: Node | None, names: Namespace, problems: Problems) -> tuple[str, ...]:
    """Returns the streams that a reward file reads: those listed, each by its own name, or the keys
    of a param that is a map, as `streams[key]`."""
    if isinstance(needs, Sequence):
        listed = tuple(item.text for item in needs if isinstance(item, Scalar))
        for stream, item in zip(listed, needs, strict=True):
            first = names.anywhere(stream)
            if not report_taken(stream, item.span, first, problems):
                names.declared[stream] = StreamName(PerSeat(NUMBER), item.span)
        return listed
    if not isinstance(needs, Scalar):
        return ()
    names.broken.add("streams")
    param = names.declared.get(needs.text)
    if isinstance(param, ParamName) and isinstance(param.type, PerValue):
        type = PerValue(param.type.key, PerSeat(NUMBER))
        names.declared["streams"] = StreamName(type, needs.span)
        return tuple(map(str, param.value))
    if not problems.errors and not (isinstance(param, ParamName) and param.type == NEVER):
        problems.add(
            "GD0604",
            "streams are listed, or are the keys of a param",
            needs.span,
            why="no param that is a map",
            help=f"write a list: `needs: [{needs.text}]`",
        )
    return ()
