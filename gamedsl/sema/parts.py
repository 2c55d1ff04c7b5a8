"""Protocol and reward files on their own: checked as a game of two roles would use them.

What depends on the game (its actions, how many roles) is checked again where a game uses the file.
"""

from __future__ import annotations

from gamedsl.diagnostics import Problems
from gamedsl.ir.game import Choice
from gamedsl.ir.types import BOOL, NEVER, Enum, List
from gamedsl.sema.actions import Options
from gamedsl.sema.library import Document
from gamedsl.sema.params import TYPES, Params
from gamedsl.sema.rewards import check_split
from gamedsl.sema.scope import Names
from gamedsl.sema.turns import Turns
from gamedsl.sema.values import entries_of
from gamedsl.source.nodes import Entry, Mapping, Node, Scalar

ROLES = ("first", "second")


def check_part(document: Document, problems: Problems) -> str:
    """Check a file that is no game; the summary says what it defines."""
    root, place = document.root, document.root.span
    names = Names(ROLES, role_spans=dict.fromkeys(ROLES, place))
    samples = _samples(root.get("params"))
    if document.kind == "reward":
        reward = check_split(document.name, root, samples, names, problems, place)
        count = len(reward.lets)
        return f"reward, {count} let{'s' if count != 1 else ''}" if count else "reward"
    enum = Enum("", ("left", "right"))
    options = Options(tuple(Choice(m, m) for m in enum.members), enum)
    Params(names, problems, "this protocol", place, samples, names).declare(root.get("params"))
    actions = dict.fromkeys(ROLES, options)
    turns = Turns(names, actions, document.files[0], problems, (document.name,))
    turns.read(root)
    return f"protocol, {len(turns.steps)} step{'s' if len(turns.steps) != 1 else ''}"


def _samples(section: Node | None) -> dict[str, Entry]:
    """A value for each param that has none: ones of its declared type."""
    samples: dict[str, object] = {}
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
