"""The setting `start`: where a role's policy is put before training begins.

`start: {hunter_1: {stag: 0.8}}` speaks of all decisions of a role; with a step's variable between
role and action (`start: {hunter_1: {move: {stag: 0.8}}}`) of that step alone, which wins over the
former. What is left of the probability is shared evenly by the actions that are not named.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.ir.game import GameIR, Setting
from gamedsl.ir.program import Choose
from gamedsl.recipe.conflicts import report_unknown
from gamedsl.recipe.setting import is_number
from gamedsl.recipe.table import Start

StepKey = tuple[str, str | None]
Given = dict[str, tuple[Fraction, Span]]


def read_start(ir: GameIR, settings: Iterable[Setting], problems: Problems) -> tuple[Start, ...]:
    """The warm starts that settings under `start.` ask for."""
    places: dict[StepKey, Given] = {}
    span = None
    for setting in settings:
        span = setting.span
        _place(ir, tuple(setting.key.split(".")[1:]), setting.value, span, places, problems)
    if span is not None and ir.labels.kind in ("masked", "partly") and ir.labels.per == "episode":
        problems.add(
            "GD0704", "a warm start needs labels that last: here they are drawn anew each episode",
            span, why="fits one set of labels",
            help="leave `start` out, or let the labels last: `per: run`",
        )  # fmt: skip
    return tuple(
        start for place, given in places.items() for start in _starts(ir, place, given, problems)
    )


def _place(
    ir: GameIR, path: tuple[str, ...], value: Any, span: Span, places: dict[StepKey, Given],
    problems: Problems,
) -> None:  # fmt: skip
    """Take one `role[.step].action: probability` into `places`, or say what is wrong with it."""
    role = path[0] if path else ""
    roles = [role.name for role in ir.roles]
    if role not in roles:
        report_unknown(
            problems, "GD0705", f"`start` names no role `{role}`", role, roles, span, "its roles"
        )
        return
    steps = {name for step in _steps(ir, role) for name in (step.id, step.variable)}
    named = len(path) > 2 and path[1] in steps
    action = ".".join(path[2:] if named else path[1:])
    step = path[1] if named else None
    known = _actions(ir, role, step)
    if action not in known:
        where = f"`{role}`" if step is None else f"`{role}` at `{step}`"
        report_unknown(
            problems, "GD0705", f"{where} has no action `{action}`", action, known, span,
            "its actions",
        )  # fmt: skip
    elif not _is_probability(value):
        problems.add(
            "GD0703", f"the probability of `{action}` must be a number from 0 to 1", span,
            why="not a probability", help=f"such as `{action}: 0.8`",
        )  # fmt: skip
    else:
        places.setdefault((role, step), {})[action] = (Fraction(value), span)


def _is_probability(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def _starts(ir: GameIR, place: StepKey, given: Given, problems: Problems) -> list[Start]:
    """Returns what was given as data, with a step's variable replaced by its steps. Reports
    probabilities that cannot add up at some step."""
    role, step = place
    for options in _option_sets(ir, role, step):
        named = [name for name in options if name in given]
        total = sum((given[name][0] for name in named), Fraction(0))
        if named and (total > 1 or (total < 1 and len(named) == len(options))):
            problems.add(
                "GD0703",
                f"the probabilities of `{role}` in `start` sum to {float(total):g}, not 1",
                given[named[-1]][1], why="with this one",
                help="leave an action out and it gets what is left",
            )  # fmt: skip
            return []
    probs = tuple((name, float(p)) for name, (p, _) in given.items())
    ids = [one.id for one in _steps(ir, role) if step in (one.id, one.variable)]
    return [Start(role, id, probs) for id in (ids if step is not None else [None])]


def _option_sets(ir: GameIR, role: str, step: str | None) -> list[tuple[str, ...]]:
    """The options, by name, of a role's seats at the steps of one name, or at all its steps."""
    return [
        tuple(choice.name for choice in one.options_of(seat))
        for one in _steps(ir, role)
        if step is None or step in (one.id, one.variable)
        for seat in one.actors
        if ir.role_of[seat] == role
    ]


def _steps(ir: GameIR, role: str) -> list[Choose]:
    steps = (step for step in ir.steps if isinstance(step, Choose))
    return [step for step in steps if any(ir.role_of[seat] == role for seat in step.actors)]


def _actions(ir: GameIR, role: str, step: str | None) -> list[str]:
    """Names of the options, in order, each once."""
    sets = _option_sets(ir, role, step)
    return list(dict.fromkeys(name for options in sets for name in options))
