"""Protocol and reward files on their own: checked as a game of two roles would use them.

What depends on the game (its actions, how many roles) is checked again where a game uses the file.
"""

from __future__ import annotations

from gamedsl.diagnostics import Problems
from gamedsl.ir.game import Reward
from gamedsl.ir.program import Choice, Step
from gamedsl.ir.types import BOOL, NEVER, Enum, List
from gamedsl.sema.actions import Moves, is_declared_form
from gamedsl.sema.game import build_stage
from gamedsl.sema.lets import declare_lets, typed_lets
from gamedsl.sema.library import Document
from gamedsl.sema.options import Options
from gamedsl.sema.params import TYPES, Params
from gamedsl.sema.rewards import check_split
from gamedsl.sema.scope import Names
from gamedsl.sema.stages import Stages
from gamedsl.sema.state import States
from gamedsl.sema.turns import Turns
from gamedsl.sema.typer import GameTyper
from gamedsl.sema.types import Types
from gamedsl.sema.values import entries_of
from gamedsl.source.nodes import Entry, Mapping, Scalar

ROLES = ("first", "second")
ACTIONS = ("left", "right")


def check_part(document: Document, problems: Problems) -> str:
    """Check a file that is no game; the summary says what it defines."""
    if document.kind == "reward":
        count = len(example_reward(document, problems).lets)
        return f"reward, {count} let{'s' if count != 1 else ''}" if count else "reward"
    count = len(example_steps(document, problems))
    return f"protocol, {count} step{'s' if count != 1 else ''}"


def example_reward(document: Document, problems: Problems) -> Reward:
    """A reward file as the two roles would use it."""
    root, place = document.root, document.root.span
    return check_split(document.name, root, _samples(root), _names(root), problems, place)


def example_steps(document: Document, problems: Problems) -> tuple[Step, ...]:
    """The steps of a protocol for the two roles, each with two actions."""
    root, names, samples = document.root, _names(document.root), _samples(document.root)
    params = Params(names, problems, "this protocol", root.span, samples, names)
    params.declare(root.get("params"))
    options = Options(tuple(Choice(m, m) for m in ACTIONS), Enum("", ACTIONS))
    actions = dict.fromkeys(ROLES, options)
    turns = Turns(GameTyper(names, problems), actions, None, document.files[0], problems)
    turns.chain = (document.name,)
    turns.stages = Stages(build_stage, (document.name,))
    types = Types(names, problems, document.files[0])
    turns.state = list(States(types, problems).declare(root.get("state")))
    declare_lets(root.get("let"), names, problems)
    section = root.get("actions")
    if is_declared_form(section):
        assert isinstance(section, Mapping)
        turns.moves = Moves(section, names, problems)
    steps = turns.read(root)
    typed_lets(turns.typer)
    return steps


def _names(root: Mapping) -> Names:
    return Names(ROLES, role_spans=dict.fromkeys(ROLES, root.span))


def _samples(root: Mapping) -> dict[str, Entry]:
    """A value for each param that has none: ones of its declared type."""
    samples: dict[str, object] = {}
    section = root.get("params")
    for entry in section if isinstance(section, Mapping) else ():
        if isinstance(entry.value, Mapping) and entry.value.get("default") is None:
            kind = entry.value.get("type")
            type = TYPES.get(kind.text, NEVER) if isinstance(kind, Scalar) else NEVER
            sample: object = True if type == BOOL else 1
            if isinstance(type, List):
                row = [1] * len(ROLES)
                sample = [row] * len(ROLES) if isinstance(type.of, List) else row
            samples[entry.key.text] = sample
    return entries_of(samples, "param")
