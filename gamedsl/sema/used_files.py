"""Protocol and reward files on their own: checked as a game of two roles would use them.

What depends on the game (its actions, how many roles) is checked again where a game uses the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir.game import Reward
from gamedsl.ir.program import Choice, Step
from gamedsl.ir.types import Enum
from gamedsl.sema.actions import DeclaredActions, is_declared_form
from gamedsl.sema.game import build_stage
from gamedsl.sema.lets import declare_lets, typed_lets
from gamedsl.sema.library import Document
from gamedsl.sema.options import OptionSet
from gamedsl.sema.params import Params
from gamedsl.sema.rewards import check_split
from gamedsl.sema.scope import ANY, Namespace
from gamedsl.sema.state import States
from gamedsl.sema.step_context import ProgramDraft, Stages, StepContext, UseBudget
from gamedsl.sema.step_readers import read_step
from gamedsl.sema.typer import Typer
from gamedsl.sema.types import Types
from gamedsl.sema.values import entries_of

ROLES = ("first", "second")
ACTIONS = ("left", "right")
STAGE = "prisoners_dilemma"
PASSES = 10


def check_part(document: Document, problems: Problems) -> str:
    """Checks a file that is no game; the summary returned says what it defines."""
    if document.kind == "reward":
        count = len(example_reward(document, problems).lets)
        return f"reward, {count} let{'s' if count != 1 else ''}" if count else "reward"
    count = len(example_steps(document, problems))
    return f"protocol, {count} step{'s' if count != 1 else ''}"


def example_reward(document: Document, problems: Problems) -> Reward:
    """Returns a reward file as the two roles would use it."""
    root, place = document.root, document.root.span
    return check_split(document.name, root, _samples(root), _example_names(root), problems, place)


def example_steps(document: Document, problems: Problems) -> tuple[Step, ...]:
    """Returns the steps of a protocol for the two roles, each with two actions."""
    root, names, samples = document.root, _example_names(document.root), _samples(document.root)
    names.broken.add(ANY)
    params = Params(names, problems, "this protocol", root.span, samples, names)
    params.declare(root.get("params"))
    options = OptionSet(tuple(Choice(m, m) for m in ACTIONS), Enum("", ACTIONS))
    actions = dict.fromkeys(ROLES, options)
    typer, near = Typer(names, problems), document.files[0]
    state = list(States(Types(typer)).declare(root.get("state")))
    declare_lets(root.get("let"), names, problems)
    section, declared = root.get("actions"), None
    if is_declared_form(section):
        assert isinstance(section, Mapping)
        declared = DeclaredActions(section, names, problems)
    program = ProgramDraft(read_step, Stages(build_stage, (document.name,), UseBudget()), state)
    context = StepContext(typer, program, near, actions, declared, chain=(document.name,))
    steps = context.read_steps(root.get("turns"))
    typed_lets(typer)
    return steps


def _example_names(root: Mapping) -> Namespace:
    return Namespace(ROLES, role_spans=dict.fromkeys(ROLES, root.span))


def _samples(root: Mapping) -> dict[str, Entry]:
    """Returns a value for each param that has none, one of its declared type, and a bound for each
    loop whose bound is a param that is none."""
    section, limits = root.get("params"), set(_loop_limits(root.get("turns")))
    samples: dict[str, object] = {}
    for number, entry in enumerate(section if isinstance(section, Mapping) else ()):
        name, written = entry.key.text, entry.value
        default = written.get("default") if isinstance(written, Mapping) else written
        if isinstance(written, Mapping) and default is None:
            kind = written.get("type")
            word = kind.text if isinstance(kind, Scalar) else ""
            samples[name] = _sample_value(word, ROLES[number % len(ROLES)])
        if name in limits and getattr(default, "text", "") == "none":
            samples[name] = PASSES
    return entries_of(samples, "param")


def _sample_value(kind: str, role: str) -> object:
    """Returns a value of a param's type."""
    ones = [1] * len(ROLES)
    samples = {"truth": True, "list": ones, "matrix": [ones] * len(ROLES), "game": STAGE,
               "role": role, "text": "text", "map": _MAP,
               "expression": "given_by_the_game"}  # fmt: skip
    return samples.get(kind, 1)


def _loop_limits(turns: Node | None) -> Iterator[str]:
    """Yields the `at_most` of the loops among steps."""
    for item in turns if isinstance(turns, Sequence) else ():
        if isinstance(item, Mapping):
            limit = item.get("at_most")
            limit = limit.get("n") if isinstance(limit, Mapping) else limit
            if isinstance(limit, Scalar):
                yield limit.text
            yield from _loop_limits(item.get("turns"))


_PLACE = Span(Source("param", ""), 0, 0)
_MAP = Mapping((Entry(Scalar("a", "a", _PLACE), Scalar(1, "1", _PLACE)),), _PLACE)
