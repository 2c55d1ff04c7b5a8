"""The sections that say how players reply: `respond` and `on_invalid`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Fix, respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.edits import add_entry
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar
from gamedsl.ir.game import Role
from gamedsl.ir.program import Choose
from gamedsl.ir.replies import FORFEIT, LABEL, VOID, Form, OnInvalid
from gamedsl.ir.types import NUMBER, WHOLE, Type
from gamedsl.sema.roles import unknown_role
from gamedsl.sema.scope import Namespace
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import constant

MOST = 32_768
"""Tokens of a thought, and retries, at most."""

ON_INVALID_KEYS = ("retry", "then", "play", "pay")
"""The keys of one rule for invalid replies; a map without them is one of roles to rules."""


def read_respond(node: Node | None, names: Namespace, problems: Problems) -> Form:
    """Reads `label` (the default), `tag` or `tool`; or a map with `form`, `think` and
    `at_limit`."""
    if node is None:
        return LABEL
    if isinstance(node, Scalar):
        return Form(_form_kind(node))
    assert isinstance(node, Mapping)
    kind, think, limit = node.get("form"), node.get("think"), node.entry("at_limit")
    tokens = None if think is None else _read_number(think, WHOLE, names, problems, 1)
    assert isinstance(kind, Scalar)
    if limit is not None and think is None:
        problems.add(
            "GD0120", "`at_limit` does not go with `form` alone", limit.key.span,
            why="no thought is asked for", help="add `think: 64`, or leave `at_limit` out",
        )  # fmt: skip
    closes = limit is not None and isinstance(limit.value, Scalar) and limit.value.text == "close"
    return Form(_form_kind(kind), tokens, "close" if closes else "invalid")


def _form_kind(node: Scalar) -> Any:
    return node.text


def read_on_invalid(
    node: Node | None, roles: tuple[Role, ...], referees: tuple[Role, ...],
    steps: list[Choose], names: Namespace, problems: Problems,
) -> tuple[tuple[str, OnInvalid], ...]:  # fmt: skip
    """Reads the cost of an invalid reply for each role, if the file states it: for all, or in a
    map of `all` and roles. The default is `FORFEIT`, and `VOID` for a referee."""
    if not isinstance(node, Mapping):
        return ()
    known = [role.name for role in (*roles, *referees)]
    players = [role.name for role in roles]
    found: dict[str, OnInvalid] = {}
    if any(entry.key.text in ON_INVALID_KEYS for entry in node):
        rule = _read_rule(node, FORFEIT, _options_of(steps, roles), names, problems)
        found = dict.fromkeys(players, rule)
        _check_play(node, found, roles, steps, problems)
        return tuple(found.items())
    for entry in sorted(node, key=lambda entry: entry.key.text != "all"):
        if not isinstance(entry.value, Mapping):  # `null`, which deletes what a base says
            continue
        name = entry.key.text
        if name != "all" and name not in known:
            unknown_role(name, entry.key.span, names, problems, "all")
            continue
        meant = players if name == "all" else [name]
        usual = FORFEIT if meant[0] in players else VOID
        own_roles = tuple(role for role in (*roles, *referees) if role.name in meant)
        rule = _read_rule(entry.value, usual, _options_of(steps, own_roles), names, problems)
        own = dict.fromkeys(meant, rule)
        _check_play(entry.value, own, (*roles, *referees), steps, problems)
        found |= own
    return tuple((name, found[name]) for name in known if name in found)


def _options_of(steps: list[Choose], roles: tuple[Role, ...]) -> dict[str, Span | None]:
    """Returns the options that roles ever have, and where they are written."""
    return {
        option.name: option.span
        for step in steps for role in roles for seat in step.actors if seat in role.seats
        for option in step.options_of(seat)
    }  # fmt: skip


def _read_rule(
    node: Mapping, usual: OnInvalid, options: dict[str, Span | None], names: Namespace,
    problems: Problems,
) -> OnInvalid:  # fmt: skip
    then, play, retry, pay = (node.get(key) for key in ("then", "play", "retry", "pay"))
    how: Any = then.text if isinstance(then, Scalar) else "play" if play else usual.then
    if (how == "play") != (play is not None):
        place = then if then is not None else play
        assert place is not None
        one = next(iter(options), None)
        problems.add(
            "GD0484", "`then: play` names the option that is taken", place.span,
            why="no `play:`" if play is None else f"`then: {how}` takes none",
            help="write `then: play`, or leave `play` out" if play is not None
            else Fix(f"add `play: {one}`", add_entry(node.entries[0].key.span, f"play: {one}"))
            if one is not None
            else "there is no option to take: write `then: skip`",
        )  # fmt: skip
    return OnInvalid(
        int(_read_number(retry, WHOLE, names, problems, 0) or 0)
        if retry is not None
        else usual.retry,
        how,
        play.text if isinstance(play, Scalar) else None,
        None if pay is None else _read_number(pay, NUMBER, names, problems, None),
    )


def _read_number(
    node: Node, wanted: Type, names: Namespace, problems: Problems, least: int | None
) -> Any:
    found = constant(node, Typer(names, problems), wanted)
    if found is None:
        return None
    value = found[1]
    number = isinstance(value, int | Fraction) and not isinstance(value, bool)
    if number and (least is None or (isinstance(value, int) and least <= value <= MOST)):
        return value
    problems.add(
        "GD0421", f"a whole number from {least} to {MOST:,} is needed here"
        if least is not None else "a number is needed here", node.span,
        why=f"this is {found[2]}" if not number else f"this is {value}",
    )  # fmt: skip
    return None


def _check_play(
    node: Mapping, rules: dict[str, OnInvalid], roles: tuple[Role, ...], steps: list[Choose],
    problems: Problems,
) -> None:  # fmt: skip
    """Reports a role that never has the option which is taken for its invalid replies."""
    written = node.get("play")
    for role in roles:
        play = rules[role.name].play if role.name in rules else None
        if play is None or not isinstance(written, Scalar):
            continue
        options = _options_of(steps, (role,))
        if play not in options:
            guess = did_you_mean(play, list(options))
            place = options.get(guess) if guess else None
            problems.add(
                "GD0484", f"`{role.name}` never has an option `{play}`", written.span,
                why="taken in place of an invalid reply",
                notes=(Note(place, "written here"),) if place else (),
                help=respell(
                    written.span, guess,
                    "the options: " + ", ".join(list(options)[:8]) if options
                    else "it has no options to choose from: write `then: skip`",
                ),
            )  # fmt: skip
            return
