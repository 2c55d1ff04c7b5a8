"""Protocol and reward files on their own: checked as a game of two roles would use them.

What depends on the game (its actions, how many roles) is checked again where a game uses the file.
"""

from __future__ import annotations

from gamedsl.diagnostics import Problems
from gamedsl.ir.game import Choice
from gamedsl.ir.types import NEVER, Enum, List
from gamedsl.sema.library import Document
from gamedsl.sema.params import TYPES, declare_params
from gamedsl.sema.rewards import check_split
from gamedsl.sema.roles import Options
from gamedsl.sema.scope import Names
from gamedsl.sema.turns import Turns
from gamedsl.sema.values import node_of
from gamedsl.source.nodes import Mapping, Node, Scalar
from gamedsl.source.spans import Source

ROLES = ("first", "second")


def check_part(document: Document, problems: Problems) -> str:
    """Check a file that is no game; the summary says what it defines."""
    names = Names(seats=ROLES)
    samples = _samples(document.root.get("params"))
    if document.kind == "reward":
        reward = check_split(
            document.name, document.root, samples, names, problems, document.root.span
        )
        return f"reward, {len(reward.lets)} lets" if reward.lets else "reward"
    names.role_spans = dict.fromkeys(ROLES, document.root.span)
    enum = Enum("", ("left", "right"))
    options = Options(tuple(Choice(m, m) for m in enum.members), enum)
    declare_params(
        document.root.get("params"),
        samples,
        names,
        problems,
        what="this protocol",
        use=document.root.span,
    )
    turns = Turns(
        names, dict.fromkeys(ROLES, options), document.files[0], problems, (document.name,)
    )
    turns.read(document.root)
    return f"protocol, {len(turns.steps)} step{'s' if len(turns.steps) != 1 else ''}"


def _samples(section: Node | None) -> dict[str, Node]:
    """A value for each param that has none: zeros of its declared type."""
    samples: dict[str, Node] = {}
    for entry in section if isinstance(section, Mapping) else ():
        if isinstance(entry.value, Mapping) and entry.value.get("default") is None:
            kind = entry.value.get("type")
            type = TYPES.get(kind.text, NEVER) if isinstance(kind, Scalar) else NEVER
            zero: object = 0
            if isinstance(type, List):
                zero = (
                    [[0] * len(ROLES)] * len(ROLES)
                    if isinstance(type.of, List)
                    else [0] * len(ROLES)
                )
            samples[entry.key.text] = node_of(zero, Source(entry.key.text, ""))
    return samples
