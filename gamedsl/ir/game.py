"""A compiled game: frozen, closed, hashed.

Everything below the compiler (environment, prompts, solver, trainer, exports) is driven by this
alone. Three hashes say what changed between two versions of a file: `rules_hash` (the tree and the
payoffs), `rendering_hash` (what players read and write), and their sum, `hash`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from gamedsl.diagnostics.spans import Span
from gamedsl.ir.expr import Consult, Expr, expressions_in
from gamedsl.ir.option_calls import OptionCall, option_calls
from gamedsl.ir.program import (
    Call,
    Choose,
    Draw,
    Entry,
    Loop,
    Stage,
    Step,
    walk_steps,
    walk_with_path,
)
from gamedsl.ir.replies import FORFEIT, LABEL, VOID, Form, OnInvalid
from gamedsl.ir.statements import State
from gamedsl.ir.types import UNLESS_NONE, Enum, Type

NoMove = Literal["error", "pass", "end"]

Wording = Literal["explained", "brief"]
"""The default texts of prompts: with the rules of the game, and a question for each decision; or as
version 0.1.0 wrote them, for runs that it trained."""

Rows = Literal["all", "training", "held_out"]
"""Which rows of its data files a game draws from: see `gamedsl.ir.rows`."""


@dataclass(frozen=True)
class Role:
    """A part in the game. It has one seat of its own name, or several: `player_1`, `player_2`, …"""

    name: str
    seats: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Let:
    """A named expression, evaluated when read; per seat where it depends on `me`."""

    name: str
    parameters: tuple[str, ...]
    body: Expr
    per_seat: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Claim:
    """Something that a file says is true of a game, and that is checked: no rule, and no part of
    any hash. `amount` is that of `constant_sum`, 0 for `zero_sum`."""

    kind: Literal["zero_sum", "constant_sum", "common_payoff", "symmetric", "keeps_sum", "common"]
    span: Span = field(compare=False, repr=False)
    amount: int | Fraction = 0


@dataclass(frozen=True)
class Reward:
    """The split of payoffs into rewards: a reward file, its params folded in.

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
    needs: tuple[str, ...] = ()
    """The streams that the split reads besides `payoff`."""
    claims: tuple[Claim, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Labels:
    """The labels of actions in prompts and replies.

    kind "plain": by their canonical names. "masked": by seeded meaningless words of `style`,
    re-drawn per game, run or episode. "partly": as masked for the names in `only`, the values of
    some types, and plain for all others. "fixed": by the texts in `fixed` (canonical name, label).
    """

    kind: Literal["plain", "masked", "partly", "fixed"]
    style: str = "auto"
    per: Literal["game", "run", "episode"] = "run"
    fixed: tuple[tuple[str, str], ...] = ()
    only: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    places: tuple[tuple[Span, Span], ...] = field(default=(), compare=False, repr=False)
    """Where each pair of `fixed` was written: the name and the label; of masked ones, where the
    style was, after the key `masked`."""


@dataclass(frozen=True)
class Template:
    """A prompt slot that the file overrides: `slot` is rules, who, ask, seen or view; `key` names
    the role (who, view) or the step's variable (ask, seen), and is empty where one text serves
    all. `reader` is the role or seat that alone reads a text of `seen`; None: all who have no text
    of their own."""

    slot: str
    key: str
    text: str
    span: Span = field(compare=False, repr=False)
    offsets: tuple[int, ...] | range | None = field(default=None, compare=False, repr=False)
    """Where each character of `text` was written, as `Scalar.offsets` has it."""
    key_span: Span | None = field(default=None, compare=False, repr=False)
    """Where `key` (or `slot`, where `key` is empty) was written."""
    reader: str | None = field(default=None, metadata=UNLESS_NONE)


@dataclass(frozen=True)
class Window:
    """The window of a seat's prompts on recurring events: from its choice that was so many
    (`last`) before, or from its last choice at `since`; one of the two is None. Events that
    happen once, or once for each role, are always told."""

    last: int | None
    since: str | None
    span: Span = field(compare=False, repr=False)


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
    turns: tuple[Step, ...]
    lets: tuple[Let, ...]
    payoffs: tuple[tuple[str, Expr], ...]
    """Utility of each seat, in seat order, evaluated at the end of an episode, besides what is paid
    to the stream `payoffs` during it; empty where that is all."""
    reward: Reward
    labels: Labels
    templates: tuple[Template, ...]
    settings: tuple[Setting, ...]
    span: Span = field(compare=False, repr=False)
    state: tuple[State, ...] = ()
    end: Expr | None = None
    """When this holds after a step, the game is over."""
    no_move: NoMove = "error"
    """What happens when a seat that must act has no legal action."""
    scores: tuple[tuple[str, tuple[tuple[str, Expr], ...]], ...] = ()
    """Further streams, evaluated at the end: name, and each seat's expression."""
    view: tuple[tuple[str, tuple[Entry, ...]], ...] = ()
    """What prompts tell a seat in place of events, or beside those of its window, for each seat
    that has a declared view, in seat order. It restricts what is told and is no rule: see
    `code_hash`."""
    history: tuple[tuple[str, Window], ...] = ()
    """The seats whose prompts leave out what is long ago, in seat order. As `view`, it restricts
    what is told, and is no rule."""
    uses: tuple[tuple[str, tuple[Span, ...]], ...] = field(default=(), compare=False, repr=False)
    """The sources of the protocols and stages that it uses, by name, and where they are used."""

    switched_off: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The words of parts that the game is without, sorted: its params switch them off, or they are
    in actions that no step offers."""

    claims: tuple[Claim, ...] = ()
    """What the file says of the payoffs."""
    referees: tuple[Role, ...] = ()
    """Those who act and see, and are not paid by the game: `roles`, and the seats, are the
    others."""
    referee_payoffs: tuple[tuple[str, Expr], ...] = ()
    """What training pays the referees' seats that it can train, evaluated at the end of an episode.
    It is no payoff of the game: no sum, reward or solution has a part in it."""
    swaps: tuple[tuple[str, tuple[str, str]], ...] = ()
    """The referees' seats that read two roles in each other's places, and which. It is rendering:
    names stay with what their roles did."""
    respond: Form = LABEL
    """How closed decisions are answered."""
    on_invalid: tuple[tuple[str, OnInvalid], ...] = ()
    """What an invalid reply costs, by role, where the file says it."""
    constants: tuple[Param, ...] = ()
    """What templates name besides params: declared types, each with the list of its values, and
    lets that are lists or maps of constants. What they show is no rule."""
    rows: Rows = "all"
    wording: Wording = field(default="explained", compare=False)
    """The default texts that its prompts use. It is no part of any hash: a run keeps its own."""
    whole: GameIR | None = field(default=None, compare=False, repr=False)
    """The game with all its rows, where this one has a share of them."""

    @cached_property
    def views(self) -> dict[str, tuple[Entry, ...]]:
        """The declared views by seat."""
        return dict(self.view)

    @cached_property
    def windows(self) -> dict[str, Window]:
        """The windows by seat, of the seats whose prompts leave out early events."""
        return dict(self.history)

    @cached_property
    def limited_seats(self) -> frozenset[str]:
        """The seats whose prompts leave out events that they have seen: by a view or a window."""
        return frozenset(self.views) | frozenset(self.windows)

    @cached_property
    def steps(self) -> tuple[Choose, ...]:
        """The decisions in the order written, those inside loops, blocks and actions included."""
        return tuple(step for step in walk_steps(self.turns) if isinstance(step, Choose))

    @cached_property
    def open(self) -> bool:
        """Whether a step asks for text or calls a function: histories cannot be listed then."""
        return any(
            isinstance(step, Call) or (isinstance(step, Choose) and step.said is not None)
            for step in walk_steps(self.turns)
        )

    @cached_property
    def functions(self) -> frozenset[str]:
        """The registered functions that steps and conditions of replies call."""
        steps = {step.function for step in walk_steps(self.turns) if isinstance(step, Call)}
        tests = (step.said.valid for step in self.steps if step.said is not None)
        inside = (part for test in tests for part in expressions_in(test))
        return frozenset(steps | {one.function for one in inside if isinstance(one, Consult)})

    @cached_property
    def is_chat(self) -> bool:
        """Whether a seat's prompts continue each other."""
        return any(step.said is not None for step in self.steps) and not self.view

    @cached_property
    def in_words(self) -> bool:
        """Whether training writes replies token by token: for open decisions, thoughts before
        answers, or referees."""
        return self.open or bool(self.referees) or self.respond.think is not None

    @cached_property
    def in_form(self) -> bool:
        """Whether a reply is more than a bare label: free text, or a tag or tool call."""
        return self.in_words or self.respond != LABEL

    @cached_property
    def option_calls(self) -> dict[str, OptionCall]:
        """The tool call of each option that is one of a typed tool, by its canonical name; none
        where options are no tool calls, or are called by labels that are not their names."""
        if self.respond.kind != "tool" or self.labels.kind != "plain":
            return {}
        return option_calls(self.steps, self.everyone)

    @cached_property
    def written(self) -> bool:
        """Whether part of a reply is written token by token, where options are scored otherwise."""
        return self.respond.think is not None or any(step.said is not None for step in self.steps)

    @cached_property
    def states(self) -> tuple[State, ...]:
        """All declared state, that of stages included."""
        stages = (step for step in walk_steps(self.turns) if isinstance(step, Stage))
        return (*self.state, *(state for stage in stages for state in stage.state))

    @cached_property
    def lasting(self) -> tuple[State, ...]:
        """The state with which the next episode of a run goes on."""
        return tuple(state for state in self.state if state.lasts is not None)

    @cached_property
    def asked_as(self) -> dict[str, str]:
        """The first step that asks the same, for each step with `knows`: its actor cannot tell one
        from the other."""
        found: dict[str, str] = {}
        first: list[Choose] = []
        for step in self.steps:
            if step.knows is not None:
                alike = (other for other in first if other.question == step.question)
                same = next(alike, step)
                first += [step] if same is step else []
                found[step.id] = same.id
        return found

    def entries_at(self, seat: str, step: str) -> tuple[Entry, ...] | None:
        """Returns the entries that a seat is told at a step in place of all its events: the
        knowledge declared there, or its declared view; None if it is told all."""
        knows = self._knows.get(step)
        return self.views.get(seat) if knows is None else knows

    @cached_property
    def _knows(self) -> dict[str, tuple[Entry, ...]]:
        return {step.id: step.knows for step in self.steps if step.knows is not None}

    @cached_property
    def asked_counts(self) -> dict[str, tuple[str, ...]]:
        """The counts of the loops around a step that its question may name, by the step's id; steps
        whose question is no template of the file have none."""
        asked = {
            template.key: template.text for template in self.templates if template.slot == "ask"
        }
        found: dict[str, tuple[str, ...]] = {}
        for step, path in walk_with_path(self.turns):
            if isinstance(step, Choose):
                keys = (key for key in (step.id, step.variable, "") if key in asked)
                text = asked[key] if (key := next(keys, None)) is not None else ""
                counts = (loop.count for loop in path if isinstance(loop, Loop))
                found[step.id] = tuple(name for name in counts if name is not None and name in text)
        return {id: names for id, names in found.items() if names}

    @cached_property
    def plain(self) -> bool:
        """Whether it is a fixed sequence of decisions: no chance, state, loops, guards or secrets,
        so that its histories are the products of its options."""
        return (
            not self.state
            and self.end is None
            and all(
                isinstance(step, Choose)
                and step.said is None
                and step.static
                and step.condition is None
                and step.place is None
                and step.actor is None
                and step.knows is None
                and step.readers.kind == "all"
                for step in self.turns
            )
        )

    @cached_property
    def costs(self) -> dict[str, OnInvalid]:
        """The cost of an invalid reply for each seat, referees included."""
        said = dict(self.on_invalid)
        usual = dict.fromkeys((role.name for role in self.referees), VOID)
        return {
            seat: said.get(role, usual.get(role, FORFEIT)) for seat, role in self.role_of.items()
        }

    @cached_property
    def one_group(self) -> bool:
        """Whether nothing but the players' choices differs between two episodes of a run: no step
        is chance, and labels are not drawn for each episode."""
        return self.labels_last and not self.has_chance

    @cached_property
    def labels_last(self) -> bool:
        """Whether an action has the same label in all episodes of a run."""
        return self.labels.kind not in ("masked", "partly") or self.labels.per != "episode"

    @cached_property
    def has_chance(self) -> bool:
        """Whether some step is chance."""
        return any(isinstance(step, Draw) for step in walk_steps(self.turns))

    @cached_property
    def seats(self) -> tuple[str, ...]:
        return tuple(seat for role in self.roles for seat in role.seats)

    @cached_property
    def everyone(self) -> tuple[str, ...]:
        """The seats, then those of referees: all who act and see."""
        return (*self.seats, *(seat for role in self.referees for seat in role.seats))

    @cached_property
    def role_of(self) -> dict[str, str]:
        """The role each seat belongs to, those of referees too."""
        return {seat: role.name for role in (*self.roles, *self.referees) for seat in role.seats}

    @cached_property
    def lets_by_name(self) -> dict[str, Let]:
        return {let.name: let for let in self.lets}

    @cached_property
    def rules_hash(self) -> str:
        """The same whichever share of the rows is drawn from."""
        from gamedsl.ir.hashing import digest

        if self.whole is not None:
            return self.whole.rules_hash
        return digest(
            self.params, self.roles, self.enums, self.turns, self.lets, self.payoffs, self.reward,
            self.state, self.end, self.no_move, self.scores,
            *((self.referees,) if self.referees else ()),
            *((("referee_payoffs", self.referee_payoffs),) if self.referee_payoffs else ()),
            *((self.on_invalid,) if self.on_invalid else ()),
        )  # fmt: skip

    @cached_property
    def rendering_hash(self) -> str:
        from gamedsl.ir.hashing import digest

        views = (self.view,) if self.view else ()
        form = (self.respond,) if self.respond != LABEL else ()
        windows = (self.history,) if self.history else ()
        swaps = ("swaps", self.swaps) if self.swaps else ()
        asked = tuple((step.id, step.about) for step in self.steps if step.about)
        asks = ("asks", asked) if asked else ()
        parts = self.name, self.about, self.labels, self.templates
        return digest(*parts, *views, *form, *windows, *swaps, *asks)

    @cached_property
    def tree_hash(self) -> str:
        """The hash of the rules and of the share of the rows that chance draws from: equal for
        games with one tree."""
        from gamedsl.ir.hashing import digest

        return self.rules_hash if self.rows == "all" else digest(self.rules_hash, self.rows)

    @cached_property
    def code_hash(self) -> str:
        """The hash of the tree and of the views, which need earlier bindings: equal for games
        that the same code can run."""
        from gamedsl.ir.hashing import digest

        return digest(self.tree_hash, self.view) if self.view else self.tree_hash

    @cached_property
    def hash(self) -> str:
        from gamedsl.ir.hashing import digest

        return digest(self.rules_hash, self.rendering_hash)
