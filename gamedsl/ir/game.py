"""A compiled game: frozen, closed, hashed.

Everything below the compiler (environment, prompts, solver, trainer, exports) is driven by this
alone. Three hashes say what changed between two versions of a file: `rules_hash` (the tree and the
payoffs), `rendering_hash` (what players read and write), and their sum, `hash`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from gamedsl.ir.expr import Expr
from gamedsl.ir.types import Enum, Type
from gamedsl.source.spans import Span


@dataclass(frozen=True)
class Role:
    """A part in the game. It has one seat of its own name, or several: `player_1`, `player_2`, …"""

    name: str
    seats: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Choice:
    """One option of a decision: the canonical name it is known by and the value it binds."""

    name: str
    value: Any
    span: Span | None = field(default=None, compare=False, repr=False)
    """Where it was written, if by name."""


@dataclass(frozen=True)
class Choose:
    """One closed decision of one seat, or of several at once, each blind to the others.

    `id` is unique among the steps (the variable, with a number from its second use on). `joint`
    says that the variable is bound to a per-seat map; else to the one actor's value.
    """

    id: str
    variable: str
    actors: tuple[str, ...]
    joint: bool
    options: tuple[tuple[Choice, ...], ...]
    """Per actor, in the order of `actors`."""
    type: Type
    span: Span = field(compare=False, repr=False)

    def options_of(self, seat: str) -> tuple[Choice, ...]:
        return self.options[self.actors.index(seat)]

    def forced(self, seat: str) -> str | None:
        """The only option of a seat, which is taken without asking; None where it has a choice."""
        options = self.options_of(seat)
        return options[0].name if len(options) == 1 else None


Step = Choose


@dataclass(frozen=True)
class Let:
    """A named expression, evaluated when read; per seat where it depends on `me`."""

    name: str
    parameters: tuple[str, ...]
    body: Expr
    per_seat: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Reward:
    """How payoffs become rewards: a reward file, its params folded in.

    `split` is evaluated once per seat with the stream `payoff` bound to the map of payoffs.
    """

    name: str
    split: Expr
    lets: tuple[Let, ...]
    span: Span = field(compare=False, repr=False)
    use: Span = field(compare=False, repr=False)
    """Where the game names the file; the whole game where it names none."""
    params: tuple[Param, ...] = field(default=(), compare=False, repr=False)
    """The file's own, for what they read of the game's."""
    places: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)
    """Where the game sets each param of the file that it sets."""


@dataclass(frozen=True)
class Labels:
    """How actions are called in prompts and replies.

    kind "plain": by their canonical names. "masked": by seeded meaningless words of `style`,
    re-drawn per game, run or episode. "fixed": by the texts in `fixed` (canonical name, label).
    """

    kind: Literal["plain", "masked", "fixed"]
    style: str = "auto"
    per: Literal["game", "run", "episode"] = "run"
    fixed: tuple[tuple[str, str], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    places: tuple[tuple[Span, Span], ...] = field(default=(), compare=False, repr=False)
    """Where each pair of `fixed` was written: the name and the label."""


@dataclass(frozen=True)
class Template:
    """A prompt slot that the file overrides: `slot` is rules, who, ask or seen; `key` names the
    role (who) or the step's variable (ask, seen), and is empty where one text serves all."""

    slot: str
    key: str
    text: str
    span: Span = field(compare=False, repr=False)
    offsets: tuple[int, ...] | range | None = field(default=None, compare=False, repr=False)
    """As `gamedsl.source.nodes.Scalar.offsets`: where each character of `text` was written."""
    key_span: Span | None = field(default=None, compare=False, repr=False)
    """Where `key` (or `slot`, where `key` is empty) was written."""


@dataclass(frozen=True)
class Setting:
    """One key of the `train:` section (nested maps as dotted keys), with its plain value."""

    key: str
    value: Any
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Param:
    name: str
    value: Any
    type: Type
    span: Span = field(compare=False, repr=False)
    reads: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The params that its value was computed from."""


@dataclass(frozen=True)
class GameIR:
    """A compiled game. See the module docstring."""

    name: str
    about: str
    params: tuple[Param, ...]
    roles: tuple[Role, ...]
    enums: tuple[Enum, ...]
    steps: tuple[Step, ...]
    lets: tuple[Let, ...]
    payoffs: tuple[tuple[str, Expr], ...]
    """Utility of each seat, in seat order, evaluated at the end of an episode."""
    reward: Reward
    labels: Labels
    templates: tuple[Template, ...]
    settings: tuple[Setting, ...]
    span: Span = field(compare=False, repr=False)

    @cached_property
    def seats(self) -> tuple[str, ...]:
        return tuple(seat for role in self.roles for seat in role.seats)

    @cached_property
    def role_of(self) -> dict[str, str]:
        """The role each seat belongs to."""
        return {seat: role.name for role in self.roles for seat in role.seats}

    @cached_property
    def lets_by_name(self) -> dict[str, Let]:
        return {let.name: let for let in self.lets}

    @cached_property
    def rules_hash(self) -> str:
        from gamedsl.ir.hashing import digest

        return digest(
            self.params, self.roles, self.enums, self.steps, self.lets, self.payoffs, self.reward
        )

    @cached_property
    def rendering_hash(self) -> str:
        from gamedsl.ir.hashing import digest

        return digest(self.name, self.about, self.labels, self.templates)

    @cached_property
    def hash(self) -> str:
        from gamedsl.ir.hashing import digest

        return digest(self.rules_hash, self.rendering_hash)
