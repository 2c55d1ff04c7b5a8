"""Maps that a key of theirs makes one thing or another: what to say when it is none, or two.

A step is recognised by its head, a state variable by what it holds, a type by its form. In the
schemas each is an `anyOf` with a `family`, whose branches have a `head`.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from itertools import islice
from typing import Any, NamedTuple

from gamedsl.diagnostics.fixes import respell
from gamedsl.diagnostics.model import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.schema.wording import listed
from gamedsl.frontend.source.nodes import Mapping

STEP_HEADS = (
    "choose", "say", "draw", "deal", "show", "do", "pay", "call", "use", "turns",
)  # fmt: skip
"""The heads of steps anywhere; those of an action may have fewer."""

LOOPS = ("repeat", "each", "until", "while")
"""The keys that make a step with `turns` a loop."""

_LOOP_HELP = (
    "write the steps of the loop below it, under `turns:` beside `{}` and indented more, each "
    "beginning with `- `"
)

MOST_KEYS = 50
"""Keys of one map that are reported."""

Branch = dict[str, Any]


class _Words(NamedTuple):
    """The wording of one family's messages."""

    code: str
    two: str
    none: str
    apart: str
    example: str


_FAMILIES = {
    "step": _Words(
        "GD0109",
        "a step does one thing",
        "this step does nothing: it needs",
        "make two steps of it, each beginning with `- `",
        "write `{role: all, choose: move, from: actions}`",
    ),
    "effect": _Words(
        "GD0109",
        "a step does one thing",
        "this step does nothing: it needs",
        "make two steps of it, each beginning with `- `",
        "write `{do: clue -= 1}`",
    ),
    "state": _Words(
        "GD0121",
        "a state variable holds one thing",
        "this state variable has no type: it needs",
        "make two variables of it",
        "add `start: 0`, or `of:` and a type",
    ),
    "type": _Words(
        "GD0119",
        "a type is one thing",
        "this is no type: it needs",
        "make two types of it",
        "write a list of its values",
    ),
}


def head_of(root: Mapping) -> Span:
    """Returns the start of a map: its first key."""
    return root.entries[0].key.span if root.entries else root.span


def heads_of(branch: Branch) -> tuple[str, ...]:
    """The keys by which a branch is recognised; none where its type alone tells."""
    head = branch.get("head", ())
    return (head,) if isinstance(head, str) else tuple(head)


def present(branches: Items[Branch], node: Mapping) -> list[int]:
    """The branches whose heads are there. A head that is also a key of another branch that is there
    (the `of` of a grid) counts for that one."""
    there = [i for i, branch in enumerate(branches) if _has(branch, node)]

    def belongs(i: int) -> bool:
        others = (branches[j] for j in there if j != i)
        return any(set(heads_of(branches[i])) <= other["properties"].keys() for other in others)

    return [i for i in there if not belongs(i)]


def _has(branch: Branch, node: Mapping) -> bool:
    return any(node.get(head) is not None for head in heads_of(branch))


def two_heads(family: str, heads: Items[str], node: Mapping, problems: Problems) -> None:
    """Report a map with several heads."""
    words = _FAMILIES[family]
    first, second = sorted(
        (entry for entry in node.entries if entry.key.text in heads),
        key=lambda entry: entry.key.span.start,
    )[:2]
    problems.add(
        words.code,
        f"{words.two}: `{first.key.text}` or `{second.key.text}`, not both",
        second.key.span,
        why="a second head" if words.code == "GD0109" else "besides the other",
        notes=(Note(first.key.span, "the first"),),
        help=words.apart,
    )


def no_head(family: str, branches: Items[Branch], node: Mapping, problems: Problems) -> None:
    """Report a map that has none of the heads: at a misspelt one, or at what is unknown."""
    words = _FAMILIES[family]
    heads = [head for branch in branches for head in heads_of(branch)]
    entries = node.entries[:MOST_KEYS]
    near = next((e for e in entries if did_you_mean(e.key.text, heads)), None)
    if near is None and family == "effect" and elsewhere(family, node, problems):
        return
    known = list(dict.fromkeys(key for branch in branches for key in branch.get("properties", ())))
    strangers = [entry for entry in entries if entry.key.text not in known]
    if near is None and strangers:
        name = strangers[0].key.text
        guess = did_you_mean(name, known)
        problems.add(
            "GD0101",
            f"unknown key `{name}`",
            strangers[0].key.span,
            why=f"not a key of {'a state variable' if family == 'state' else 'a step'}",
            help=respell(strangers[0].key.span, guess, f"one of these: {', '.join(heads)}"),
        )
        return
    word = did_you_mean(near.key.text, heads) if near else None
    loop = next((e.key.text for e in entries if e.key.text in LOOPS), None)
    example = words.example if loop is None or "turns" not in heads else _LOOP_HELP.format(loop)
    problems.add(
        words.code,
        f"{words.none} {listed(heads)}",
        near.key.span if near else head_of(node),
        why="no head" if words.code == "GD0109" else "none of these",
        help=respell(near.key.span, word) if near else example,
    )


def misspelt_head(branches: Items[Branch], node: Mapping, problems: Problems) -> bool:
    """Report the first key of what is no record, if it is nearly a head; True where it is."""
    if not node.entries:
        return False
    key = node.entries[0].key
    head = did_you_mean(key.text, [head for branch in branches for head in heads_of(branch)])
    if head is None:
        return False
    problems.add(
        "GD0101", f"unknown key `{key.text}`", key.span,
        why="not a key of a type, and what it holds is none", help=respell(key.span, head),
    )  # fmt: skip
    return True


def elsewhere(family: str, node: Mapping, problems: Problems) -> bool:
    """Report the steps that an action may not have; True where there was one."""
    wrong = [e for e in node.entries if e.key.text in STEP_HEADS and e.key.text not in _EFFECTS]
    for entry in wrong if family == "effect" else ():
        problems.add(
            "GD0124",
            f"an action's `turns` hold `show` and `do` steps, and no `{entry.key.text}`",
            entry.key.span,
            why="not in an action",
            help="write this step behind the one in which the action is chosen",
        )
    return bool(wrong)


_EFFECTS = ("show", "do")


def reserved(branch: Branch, node: Mapping, problems: Problems) -> bool:
    """Report a record with a field whose name makes it another type; True where it is one."""
    known = branch["properties"]
    strangers = [entry for entry in node.entries if entry.key.text not in known]
    if not strangers or any(did_you_mean(entry.key.text, known) for entry in strangers):
        return False
    head = node.entry(heads_of(branch)[0])
    assert head is not None
    reserved_field(head.key.text, head.key.span, problems, Note(strangers[0].key.span, "a field"))
    return True


def reserved_field(name: str, span: Span, problems: Problems, *notes: Note) -> None:
    """Report a field of a record whose name is reserved."""
    problems.add(
        "GD0119",
        f"`{name}` cannot be a field of a record",
        span,
        why="reserved: it makes a type of another kind",
        notes=notes,
        help="choose another name for the field"
        if name in ("values", "cell", "nodes", "fresh", "file", "take", "per", "of")
        else "choose another name; bags, lists, sets and grids are declared under `state`",
    )


def misfits(
    branch: Branch, branches: Items[Branch], node: Mapping, problems: Problems
) -> frozenset[str]:
    """Report the keys that go with other heads than the one that is there; returns them."""
    own = branch["properties"]
    head = next((e.key.text for e in node.entries if e.key.text in heads_of(branch)), "")
    found = set()
    for entry in islice((e for e in node.entries if e.key.text not in own), MOST_KEYS):
        name = entry.key.text
        others = [heads_of(other) for other in branches if name in other.get("properties", ())]
        homes = list(dict.fromkeys(each[0] for each in others if each))
        if not homes:
            continue
        found.add(name)
        only_turns = homes == ["turns"]
        problems.add(
            "GD0120",
            f"`{name}` does not go with `{head}`",
            entry.key.span,
            why=f"no key of {branch['says']}",
            help=f"`{name}` goes with {listed(homes)}"
            + (f": write the `{head}` step below `turns:`" if only_turns else ""),
        )
    return frozenset(found)
