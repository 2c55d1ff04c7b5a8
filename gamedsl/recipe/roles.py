"""The settings `roles` and `opponents`: what answers for each role, what learns, and against whom.

`roles: {second: {adapter: theirs, trained: false}}` names adapters and holds what is not trained;
`roles: {second: {player: random}}` gives a role to a player, and `{model: NAME}` a model other than
the run's; `{lr: 1e-4, lora: {rank: 8}}` a learning rate and a size of its adapter, and
`{expert: minimax}` what it imitates before the first step. The rest is as `adapters`, `lr`, `lora`
and `warm_up` say. A referee is trained where `{judge: {trained: true}}` says so, on its payoff.
`opponents: {self: 0.5, pool: 0.35, random: 0.15}` are shares of games, by opponent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.ir.game import GameIR, Role, Setting
from gamedsl.recipe.conflicts import RecipeCheck, report_unknown
from gamedsl.recipe.setting import is_number
from gamedsl.recipe.table import LARGE, AdapterSize, Recipe, RoleSettings


def read_roles(
    ir: GameIR, settings: Iterable[Setting], problems: Problems
) -> tuple[RoleSettings, ...]:
    """The settings under `roles.`, in the order of the game's roles."""
    rows = RoleSettings.rows()
    given: dict[str, dict[str, Any]] = {role.name: {} for role in (*ir.roles, *ir.referees)}
    for setting in settings:
        role, _, name = setting.key.partition(".")[2].partition(".")
        if role not in given:
            message = f"`roles` names no role `{role}`" if role else "`roles` is a map of roles"
            report_unknown(problems, "GD0710", message, role, given, setting.span, "its roles")
        elif name not in rows:
            message = f"nothing of a role is called `{name}`" if name else f"`{role}` needs a map"
            report_unknown(problems, "GD0710", message, name, rows, setting.span, "its settings")
        elif not (rows[name].fits(setting.value) and rows[name].in_range(setting.value)):
            row = rows[name]
            own = "" if row.example else f", as the setting `{name}`"
            example = row.example or row.default
            problems.add(
                "GD0702", f"`{name}` must be {row.accepts()}{own}", setting.span,
                why="this is something else", help=f"such as `{name}: {example}`",
            )  # fmt: skip
        else:
            given[role][name] = rows[name].converted(setting.value)
    return tuple(_role_settings(role, values) for role, values in given.items() if values)


def _role_settings(role: str, given: Mapping[str, Any]) -> RoleSettings:
    size = {name[5:]: value for name, value in given.items() if name.startswith("lora.")}
    plain = {name: value for name, value in given.items() if not name.startswith("lora.")}
    return RoleSettings(role, **plain, lora=AdapterSize(**size) if size else None)


def read_opponents(
    settings: Iterable[Setting], problems: Problems
) -> tuple[tuple[str, float], ...]:
    """The opponents and the share of each; one with a share of 0 is left out."""
    shares: dict[str, float] = {}
    for setting in settings:
        name = setting.key.partition(".")[2]
        if not name or not is_number(setting.value):
            problems.add(
                "GD0702", "`opponents` must be a map of `self`, `pool` or a player to its share",
                setting.span, why="this is something else",
                help="such as `opponents: {self: 0.5, pool: 0.5}`",
            )  # fmt: skip
        elif not 0 <= setting.value <= LARGE:
            problems.add(
                "GD0703", f"the share of an opponent must be a number from 0 to {LARGE:,}",
                setting.span,
                why="out of range", help="shares may have any sum, and leave one out or give it 0",
            )  # fmt: skip
        elif setting.value:
            shares[name] = float(setting.value)
    return tuple(shares.items())


def check_roles(check: RecipeCheck) -> None:
    """Report settings that a role cannot have, and a recipe in which no role learns."""
    recipe = check.recipe
    parts = {part.role: part for part in recipe.parts(check.ir)}
    referees = {role.name: role for role in check.ir.referees}
    paid = {check.ir.role_of[seat] for seat, _ in check.ir.referee_payoffs}
    for given in recipe.roles:
        if given.player is not None:
            _check_player(check, given)
        elif given.role in referees and not parts[given.role].learns:
            for name in ("adapter", "lr", "lora", "expert"):
                if getattr(given, name):
                    check.conflict(
                        f"`{given.role}` is a referee that is not trained",
                        f"leave `{name}` out, or write `trained: true` beside it",
                        f"roles.{given.role}.{name}",
                    )  # fmt: skip
        elif given.role in referees and given.role not in paid:
            _report_unpaid(check, referees[given.role])
        else:
            _check_frozen(check, parts, given)
        for own, what in (("lr", "how fast it learns"), ("expert", "what it learns from")):
            if getattr(given, own) is None or given.role in referees or parts[given.role].learns:
                continue
            check.conflict(
                f"`{given.role}` is not trained, and `{own}` is {what}",
                f"leave `{own}` out, or train it",
                *(f"roles.{given.role}.{name}" for name in ("player", "trained", own)),
            )  # fmt: skip
    for one, other in _sharing(parts.values()):
        _check_shared(check, one, other)
    if not any(part.learns for part in parts.values()):
        check.conflict(
            "no role is trained", "leave `trained: false` or `player` out at one of them",
            *(f"roles.{one.role}.{name}" for one in recipe.roles for name in ("trained", "player")),
        )  # fmt: skip


def _report_unpaid(check: RecipeCheck, referee: Role) -> None:
    """Report a referee that is trained, of which no payoff says what for."""
    check.problems.add(
        "GD0704", f"`{referee.name}` is trained, and the game does not say what it is paid",
        check.span(f"roles.{referee.name}.trained"), why="does not fit",
        notes=(Note(referee.span, "a referee has no payoff unless it is declared with one"),),
        help=f"write `referees: {{{referee.name}: {{payoff: …}}}}` in the game, or leave "
        "`trained` out",
    )  # fmt: skip


def _check_player(check: RecipeCheck, given: RoleSettings) -> None:
    """Report settings of the model at a role that a player holds."""
    role, place = given.role, f"roles.{given.role}"
    if given.trained:
        check.conflict(
            f"`{role}` is held by a player, and players are not trained",
            "leave `trained` out, or `player`", f"{place}.player", f"{place}.trained",
        )  # fmt: skip
    for name in ("adapter", "model", "lora"):
        if getattr(given, name) is not None:
            check.conflict(
                f"`{role}` is held by a player, which has no {name}",
                f"leave `{name}` out, or `player`", f"{place}.player", f"{place}.{name}",
            )  # fmt: skip
    if any(start.role == role for start in check.recipe.start):
        check.conflict(
            f"`start` puts the policy of `{role}` somewhere, and a player holds `{role}`",
            "leave it out of `start`, or leave `player` out", f"{place}.player",
        )  # fmt: skip


def _check_frozen(
    check: RecipeCheck, parts: Mapping[str, RoleSettings], given: RoleSettings
) -> None:
    """Report a frozen adapter that another role trains."""
    role, part, place = given.role, parts[given.role], f"roles.{given.role}"
    learning = (one for one in parts.values() if one.learns and not part.learns)
    other = next((one.role for one in learning if one.adapter == part.adapter), None)
    if other is not None:
        check.conflict(
            f"`{role}` is not trained, and its adapter `{part.adapter}` is, as `{other}`",
            "give it an adapter of its own, or train it",
            f"{place}.trained", f"{place}.adapter",
        )  # fmt: skip


def _sharing(parts: Iterable[RoleSettings]) -> Iterator[tuple[RoleSettings, RoleSettings]]:
    """The first role of each adapter, with every other that has it."""
    first: dict[str, RoleSettings] = {}
    for part in parts:
        if part.adapter is not None and first.setdefault(part.adapter, part) is not part:
            yield first[part.adapter], part


def _check_shared(check: RecipeCheck, one: RoleSettings, other: RoleSettings) -> None:
    """Report two roles that share an adapter, and differ in its rate, size or model."""
    roles = f"`{one.role}` and `{other.role}` share the adapter `{one.adapter}`"
    for name, why, own in (
        ("lr", "which learns at one rate", _rate),
        ("lora", "which has one rank and one alpha", _size),
    ):
        first, second = own(one, check.recipe), own(other, check.recipe)
        if first != second:
            check.conflict(
                f"{roles}, {why}: {first} or {second}",
                f"give each an adapter, as `adapters: per_role` does, or both one `{name}`",
                f"roles.{one.role}.{name}", f"roles.{other.role}.{name}",
            )  # fmt: skip
    if one.model != other.model:
        check.conflict(
            f"{roles}, and it is of one model: `{one.model}` or `{other.model}`",
            "give one of them another `adapter`, or both one `model`",
            *(f"roles.{x.role}.{name}" for x in (one, other) for name in ("model", "adapter")),
        )  # fmt: skip


def _rate(part: RoleSettings, recipe: Recipe) -> str:
    return f"{part.lr or recipe.lr:g}"


def _size(part: RoleSettings, recipe: Recipe) -> str:
    shape = (part.lora or AdapterSize()).of(recipe.lora)
    return f"{shape.rank} and {shape.alpha}"
