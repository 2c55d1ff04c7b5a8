"""Checks beyond JSON Schema of steps, actions and params: keys that need, or exclude, another
one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gamedsl.diagnostics.fixes import Fix, respell
from gamedsl.diagnostics.model import Note, Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.schema.tagged_unions import LOOPS, MOST_KEYS, STEP_HEADS
from gamedsl.frontend.source.edits import add_entry
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence

_ASKING = (["choose"], ["say"])
PARAM_KEYS = ("default", "type", "in", "about")
"""Keys that make a map the declaration of a param; any other map is a value."""

_BINDS = re.compile(r"([a-z][a-z0-9_]*)\s+in\s")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+")


def check_steps(kind: str, root: Mapping, problems: Problems) -> None:
    """Report loops that are none, or two, and decisions of nobody, in all steps of a file.

    Who acts in a protocol may be said by the file that uses it.
    """
    roles = _role_words(root.get("roles"))
    for step, acted, item in _steps(root.get("turns"), kind != "game", roles):
        _check_loop(step, problems)
        if not acted and step.get("role") is None and _heads(step) in _ASKING:
            _nobody_chooses(step, item or "all", problems)
    actions = root.get("actions")
    for entry in actions.entries if isinstance(actions, Mapping) else ():
        body = entry.value.get("turns") if isinstance(entry.value, Mapping) else None
        for step, _, _ in _steps(body, True):
            _check_loop(step, problems)


def walk_steps(turns: Node | None) -> Iterator[Mapping]:
    """The steps of a `turns` list and the steps inside them, each before what is inside it."""
    return (step for step, _, _ in _steps(turns, True))


def _steps(
    turns: Node | None, acted: bool, roles: frozenset[str] = frozenset(), item: str = ""
) -> Iterator[tuple[Mapping, bool, str]]:
    """Steps and the steps inside them, each with whether it is known who acts in it, and with the
    name of the role that the innermost loop over `roles` has come to; empty where it has none."""
    for step in turns.items if isinstance(turns, Sequence) else ():
        if isinstance(step, Mapping):
            each = step.get("each")
            inside = acted or _acts_in_turn(each)
            of = _item_of_roles(each, roles) or item
            yield step, inside, of
            yield from _steps(step.get("turns"), inside or step.get("role") is not None, roles, of)


def _role_words(section: Node | None) -> frozenset[str]:
    """The words of an expression that stand for roles: their names, and those for several."""
    items = section.items if isinstance(section, Sequence) else ()
    entries = section.entries if isinstance(section, Mapping) else ()
    names = {item.text for item in items if isinstance(item, Scalar)}
    return frozenset({"roles", "others", *names, *(entry.key.text for entry in entries)})


def _item_of_roles(each: Node | None, roles: frozenset[str]) -> str:
    """The name that `each: mover in cycle(roles)` gives to a role; empty for all other loops."""
    named = _BINDS.match(each.text) if isinstance(each, Scalar) else None
    if named is None or not isinstance(each, Scalar):
        return ""
    words = set(_WORD.findall(each.text[named.end() :])) - {"cycle"}
    return named[1] if words and words <= roles else ""


def _acts_in_turn(order: Node | None) -> bool:
    """Whether `each:` goes over roles, who then act; `size in [2, 4]` binds a name."""
    if isinstance(order, Scalar):
        return _BINDS.match(order.text) is None
    return order is not None


def _heads(step: Mapping) -> list[str]:
    return [entry.key.text for entry in step if entry.key.text in STEP_HEADS]


def _nobody_chooses(step: Mapping, role: str, problems: Problems) -> None:
    problems.add(
        "GD0102",
        "`role` is missing",
        step.entries[0].key.span,
        why=f"a `{_heads(step)[0]}` step needs `role`, or an `each` of roles around it",
        help=Fix(f"add `role: {role}`", add_entry(step.entries[0].key.span, f"role: {role}")),
    )


def _check_loop(step: Mapping, problems: Problems) -> None:
    heads = _heads(step)
    if len(heads) != 1 or heads == ["use"]:
        return
    head = heads[0]
    loops = [e for e in step if e.key.text in (LOOPS if head == "turns" else ("each",))]
    repeat, each = step.entry("repeat"), step.entry("each")
    if head == "turns" and repeat is not None and each is not None:
        _excluded(
            repeat, each, "a loop goes round in one way", "put one loop into the other", problems
        )
    until, stays = step.entry("until"), step.entry("while")
    if until is not None and stays is not None:
        help = "write one of them: `while: e` is `until: not e`, tested before the first pass too"
        _excluded(until, stays, "a loop ends in one way", help, problems)
    for name in () if loops else ("count", "at_most", "until", "while"):
        entry = step.entry(name)
        if entry is not None:
            problems.add(
                "GD0122",
                f"`{name}` belongs to a loop, and this step is none",
                entry.key.span,
                why="without a loop",
                help="add `repeat: 3`, `each: cycle(roles)`, `while:` or `until:`, or delete this"
                if head == "turns"
                else f"add `each: cycle(roles)`, or write the `{head}` step below `turns:`",
            )


def check_params(root: Mapping, problems: Problems) -> None:
    """Report a misspelt `default`: without it a map is a value of its own."""
    params = root.get("params")
    for entry in params.entries if isinstance(params, Mapping) else ():
        value = entry.value
        if not isinstance(value, Mapping) or any(value.get(key) for key in PARAM_KEYS):
            continue
        for inner in value.entries[:MOST_KEYS]:
            if did_you_mean(inner.key.text, ["default"]):
                problems.add(
                    "GD0101",
                    f"unknown key `{inner.key.text}`",
                    inner.key.span,
                    why="not a key of a param",
                    help=respell(inner.key.span, "default"),
                )


def check_actions(root: Mapping, problems: Problems) -> None:
    """Report actions of roles among declared ones, and effects that are written twice."""
    actions = root.get("actions")
    entries = actions.entries if isinstance(actions, Mapping) else ()
    declared = [entry for entry in entries if isinstance(entry.value, Mapping)]
    listed = [entry for entry in entries if isinstance(entry.value, Sequence)]
    if declared and listed:
        problems.add(
            "GD0123",
            f"`{listed[0].key.text}` is a list of actions, among declared actions",
            listed[0].key.span,
            why="a list",
            notes=(Note(declared[0].key.span, "a declared action"),),
            help="write all of them in one form: " + _as_declared(listed[0]),
        )
    for entry in declared:
        assert isinstance(entry.value, Mapping)
        do, turns = entry.value.entry("do"), entry.value.entry("turns")
        if do is not None and turns is not None:
            _excluded(
                do, turns, "an action says once what it does", "write all as `turns`", problems
            )


def _as_declared(entry: Entry) -> str:
    """The actions that a role lists, as declared ones."""
    assert isinstance(entry.value, Sequence)
    names = [item.text for item in entry.value if isinstance(item, Scalar)][:4]
    return ", ".join(f"`{name}: {{roles: [{entry.key.text}]}}`" for name in names)


def _excluded(first: Entry, second: Entry, rule: str, help: str, problems: Problems) -> None:
    first, second = sorted((first, second), key=lambda entry: entry.key.span.start)
    problems.add(
        "GD0125",
        f"{rule}: `{first.key.text}` or `{second.key.text}`, not both",
        second.key.span,
        why=f"besides `{first.key.text}`",
        notes=(Note(first.key.span, f"`{first.key.text}` is given here"),),
        help=help,
    )
