"""A game document to a `GameIR`: every section read once, in the order that names need."""

from __future__ import annotations

from collections.abc import Mapping as Map
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gamedsl.diagnostics import FloodError, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir.expr import Expr
from gamedsl.ir.game import GameIR, NoMove, Param, Reward, Role, Setting
from gamedsl.ir.program import Choose, Pay, Step, walk_steps
from gamedsl.ir.program import Stage as StageStep
from gamedsl.ir.statements import State
from gamedsl.ir.types import BOOL, NUMBER, PerSeat, Type
from gamedsl.sema.actions import DeclaredActions, declare_actions, is_declared_form
from gamedsl.sema.claims import read_claims
from gamedsl.sema.data import Data
from gamedsl.sema.direct_values import bind_values
from gamedsl.sema.game_checks import (
    check_acting_roles,
    check_assigned_state,
    check_game,
    leave_out_actions,
)
from gamedsl.sema.lets import declare_lets, typed_lets
from gamedsl.sema.library import Document, find
from gamedsl.sema.params import Params, resolve_names, retype_roles
from gamedsl.sema.payoffs import Payoffs, read_amounts, read_payoffs, read_referee_payoffs
from gamedsl.sema.prompt_sections import (
    constants_in_templates,
    read_history,
    read_labels,
    read_templates,
    read_view,
)
from gamedsl.sema.replies import read_on_invalid, read_respond
from gamedsl.sema.rewards import read_reward
from gamedsl.sema.roles import declare_referees, declare_roles, read_swaps
from gamedsl.sema.scope import Namespace, StreamName, is_reserved_stream
from gamedsl.sema.state import States
from gamedsl.sema.step_context import ProgramDraft, Stages, StepContext, UseBudget
from gamedsl.sema.step_readers import read_program, read_step
from gamedsl.sema.typer import Typer
from gamedsl.sema.types import Types
from gamedsl.sema.values import entries_of

MAX_ROUNDS = 4
"""How often a game is read to learn the types of state that starts as none."""


def build_game(
    document: Document, params: Map[str, Any] | None, problems: Problems
) -> GameIR | None:
    """Returns the game, or None with the problems found. `params` override the file's defaults."""
    given = entries_of(params, "--param")
    return build_stage(document, given, problems, (document.name,), UseBudget())


def build_stage(
    document: Document, given: Map[str, Entry], problems: Problems, chain: tuple[str, ...],
    budget: UseBudget,
) -> GameIR | None:  # fmt: skip
    """Builds a game with params given as entries, inside the games of `chain`; what it uses is of
    the budget that they share.

    State that starts as none has the type of what is assigned to it, which is known once the
    game has been read: it is then read again, knowing it. So is a game with params that are lists
    of a type's names, if it is wrong without their types: what is valid without keeps its hash."""
    for types_of_lists in (False, True):
        learned: dict[str, Type] = {}
        for _ in range(MAX_ROUNDS):
            found, ir = Problems(problems.limit), None
            reader = GameReader(document, given, found, chain, budget, learned, types_of_lists)
            with suppress(FloodError):  # raised again below, where this reading is the last
                ir = reader.read()
            if reader.typer.context.learned == learned:
                break
            learned = dict(reader.typer.context.learned)
        if not found.errors or not reader.has_lists:
            break
    problems.extend(found.found)
    return ir


@dataclass(frozen=True)
class _Declarations:
    """The declarations of a game that its steps may name."""

    params: tuple[Param, ...]
    roles: tuple[Role, ...]
    referees: tuple[Role, ...]
    types: Types
    state: tuple[State, ...]


@dataclass(frozen=True)
class _Rules:
    """The typed steps of a game, its end, the streams that it scores, and their split."""

    context: StepContext
    steps: tuple[Step, ...]
    end: Expr | None
    scores: tuple[tuple[str, Payoffs], ...]
    reward: Reward

    @cached_property
    def decisions(self) -> list[Choose]:
        return decisions_in(self.steps)


class GameReader:
    """One reading of a game, section by section."""

    def __init__(
        self,
        document: Document,
        given: Map[str, Entry],
        problems: Problems,
        chain: tuple[str, ...],
        budget: UseBudget,
        learned: Map[str, Type],
        types_of_lists: bool,
    ) -> None:
        self.document, self.root, self.near = document, document.root, document.files[0]
        self.given, self.problems = given, problems
        self.names = Namespace()
        self.typer = Typer(self.names, problems)
        self.typer.context.learned = dict(learned)
        self.stages = Stages(build_stage, chain, budget)
        self.types_of_lists = types_of_lists
        self.has_lists = False
        """Whether params are lists of names that a type has, as they could be before it was known
        whose these are."""

    @property
    def inner(self) -> bool:
        """Whether the game is read as a stage of another."""
        return len(self.stages.chain) > 1

    def read(self) -> GameIR | None:
        """Returns the game; None with problems where it is wrong."""
        declared = self._read_declarations()
        if self.problems.errors:
            return None
        rules = self._read_rules(declared)
        if self.problems.errors:
            return None
        check_acting_roles(rules.decisions, self.names, self.problems)
        if not rules.steps:
            return None
        ir = self._assemble(declared, rules)
        check_game(ir, self.root, rules.context, inner=self.inner)
        if self.problems.errors:
            return None
        return ir if self.inner else bind_values(ir)

    def _read_declarations(self) -> _Declarations:
        """Reads the sections that declare names, each after those whose names it may use."""
        root, names, problems = self.root, self.names, self.problems
        what = f"the game `{self.document.name}`" if self.inner else "this game"
        params = Params(names, problems, what, root.span, self.given, names, before_types=True)
        folded = params.declare(root.get("params"))
        roles = declare_roles(root.get("roles") or self.roles_of_stage(), names, problems)
        retype_roles(names)
        referees = declare_referees(root.get("referees"), names, problems)
        types = Types(self.typer)
        types.declare(root.get("types"))
        self.has_lists = resolve_names(params, lists=self.types_of_lists)
        state = States(types).declare(root.get("state"))
        Data(types).declare(root.get("data"))
        return _Declarations(folded, roles, referees, types, state)

    def _read_rules(self, declared: _Declarations) -> _Rules:
        """Reads the steps of a play and how it ends, then what is scored and how it is split."""
        root = self.root
        declare_lets(root.get("let"), self.names, self.problems)
        context = self.step_context(list(declared.state))
        steps = read_program(context, root)
        leave_out_actions(context)
        check_assigned_state(context)
        end = root.get("end")
        ended = context.check(end, BOOL, "the end") if end is not None else None
        scores = self.scores(context, steps)
        return _Rules(context, steps, ended, scores, self.reward(scores, steps))

    def _assemble(self, declared: _Declarations, rules: _Rules) -> GameIR:
        """Reads the payoffs and the sections that prompts and replies need, and returns the game
        with all that was read."""
        root, names, problems = self.root, self.names, self.problems
        roles, referees, program = declared.roles, declared.referees, rules.context.program
        payoffs = self.payoffs(root.get("payoffs"), rules.steps, bool(rules.reward.needs))
        referee_payoffs = read_referee_payoffs(root.get("referees"), referees, self.typer)
        view = read_view(root.get("view"), self.typer)
        templates = read_templates(root, problems)
        lets = typed_lets(self.typer)
        return GameIR(
            name=self.document.name,
            about=_text_of(root.get("about")),
            params=declared.params,
            roles=roles,
            enums=tuple(names.enums),
            turns=rules.steps,
            lets=(*lets, *self.stages.lets),
            payoffs=payoffs,
            reward=rules.reward,
            labels=read_labels(root.get("labels"), names, problems),
            templates=templates,
            constants=constants_in_templates(templates, lets, names),
            settings=tuple(read_settings(root.get("train"))),
            span=head_of(root),
            state=tuple(program.state),
            end=rules.end,
            no_move=read_no_move(root.get("no_move")),
            scores=rules.scores,
            view=view,
            history=read_history(root.get("history"), rules.decisions, dict(view), declared.types),
            uses=tuple((name, tuple(places)) for name, places in program.used_at.items()),
            switched_off=tuple(sorted(names.switched_off)),
            claims=read_claims(root.get("claims"), self.typer),
            referees=referees,
            referee_payoffs=referee_payoffs,
            swaps=read_swaps(root.get("referees"), referees, names, problems),
            respond=read_respond(root.get("respond"), names, problems),
            on_invalid=read_on_invalid(
                root.get("on_invalid"), roles, referees, rules.decisions, names, problems
            ),
        )

    def roles_of_stage(self) -> Node | None:
        """Returns the roles of a game that has none of its own: those of the stage that it
        repeats."""
        protocol = self.root.get("protocol")
        settings = protocol.entries if isinstance(protocol, Mapping) else ()
        found = None
        for entry in settings:
            if isinstance(entry.value, Scalar) and entry.key.text == "stage":
                span = entry.value.span
                document = find("game", entry.value.text, self.near, self.problems, span)
                found = document.root.get("roles") if document is not None else None
        return found

    def step_context(self, state: list[State]) -> StepContext:
        """Returns the context in which the game's own steps are read."""
        section = self.root.get("actions")
        actions = declare_actions(section, self.names, self.problems)
        declared = None
        if is_declared_form(section):
            assert isinstance(section, Mapping)
            declared = DeclaredActions(section, self.names, self.problems)
        program = ProgramDraft(read_step, self.stages, state)
        return StepContext(self.typer, program, self.near, actions, declared)

    def scores(
        self, context: StepContext, steps: tuple[Step, ...]
    ) -> tuple[tuple[str, Payoffs], ...]:
        """Reads the streams worked out at the end, from the play and from what was paid in it: a
        stream that is paid is there the map of its sums."""
        section, declared = self.root.get("scores"), self.names.declared
        paid = {
            step.stream: StreamName(PerSeat(NUMBER), step.span)
            for step in walk_steps(steps)
            if isinstance(step, Pay)
            and step.stream != "payoffs"
            and not self.names.anywhere(step.stream)
        }
        declared.update(paid)
        found = tuple(
            (entry.key.text, read_amounts(context, entry.value, "a score"))
            for entry in (section.entries if isinstance(section, Mapping) else ())
            if not is_reserved_stream(entry.key, self.problems, "payoffs")
        )
        for stream in paid:
            del declared[stream]
        return found

    def reward(self, scores: tuple[tuple[str, Payoffs], ...], steps: tuple[Step, ...]) -> Reward:
        """Reads the split of the streams; it may read all streams that are paid or scored."""
        streams = {name for name, _ in scores}
        streams |= {step.stream for step in walk_steps(steps) if isinstance(step, Pay)}
        return read_reward(
            self.root.get("rewards"), self.near, self.names, self.problems, head_of(self.root),
            streams - {"payoffs"},
        )  # fmt: skip

    def payoffs(self, section: Node | None, steps: tuple[Step, ...], split: bool) -> Payoffs:
        """Reads the payoffs at the end; none where they are paid during play, or the split is
        all."""
        if section is not None:
            return read_payoffs(section, self.typer, decisions_in(steps))
        paid = any(
            isinstance(step, StageStep) or (isinstance(step, Pay) and step.stream == "payoffs")
            for step in walk_steps(steps)
        )
        if not paid and not split:
            self.problems.add(
                "GD0435",
                "this game pays nothing",
                head_of(self.root),
                why="no `payoffs`, no stage, and no `pay: payoffs`",
                help="add `payoffs: …`, what each role gets at the end",
            )
        return ()


def decisions_in(steps: tuple[Step, ...]) -> list[Choose]:
    """Returns the decisions among steps and inside them, in order."""
    return [step for step in walk_steps(steps) if isinstance(step, Choose)]


def head_of(root: Mapping) -> Span:
    """Returns the place of the game's name, where problems of the whole game are reported."""
    return root.entries[0].value.span if root.entries else root.span


def _text_of(node: Node | None) -> str:
    return node.text if isinstance(node, Scalar) else ""


def read_no_move(node: Node | None) -> NoMove:
    """Reads the rule for a seat that has no legal move."""
    match node:
        case Scalar(text="pass" | "end" as word):
            return word
        case _:  # also where nothing is written
            return "error"


def read_settings(node: Node | None, prefix: str = "") -> list[Setting]:
    """Reads the `train:` section as dotted keys and plain values, in the order written."""
    if not isinstance(node, Mapping):
        return []
    found = []
    for entry in node:
        key = f"{prefix}{entry.key.text}"
        if isinstance(entry.value, Mapping):
            found += read_settings(entry.value, f"{key}.")
        else:
            found.append(Setting(key, _plain_value(entry.value), entry.value.span))
    return found


def _plain_value(node: Node) -> Any:
    if isinstance(node, Sequence):
        return [_plain_value(item) for item in node]
    return node.value if isinstance(node, Scalar) else None
