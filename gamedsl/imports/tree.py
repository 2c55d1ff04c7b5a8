"""An extensive game as a game file: a program whose tree is the one that was read.

What a role is told, chooses and is paid is written in terms of earlier moves, and
`gamedsl.imports.plan` finds the steps. Payoffs at inner nodes are added to those below them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from fractions import Fraction

from gamedsl.diagnostics import Problems
from gamedsl.imports.clauses import Clauses, Row, Value
from gamedsl.imports.efg import EfgNode, Extensive, InfoSet
from gamedsl.imports.layout import WIDTH, amount, head, listed, step
from gamedsl.imports.names import Names, are_numbers, is_name, places, slug
from gamedsl.imports.plan import MAX_WORK, Plan, Step, TooManyStepsError

MAX_NODES = 50_000
MAX_OPTIONS = 4096
MAX_ROLES = 64


def tree_file(form: Extensive, name: str, problems: Problems) -> str | None:
    """The text of a game file; None with problems, where the language has no such game."""
    if not _fits(form, problems):
        return None
    names = Names()
    roles = list(names.of(places(form.players), "player", lower=True).values())
    options = _options(form, names)
    clauses = Clauses(names.new("case"))
    try:
        plan = Plan(form, options, _variables(names, form), clauses)
    except TooManyStepsError as error:
        message = f"{error.steps:,} moves after one another are too many"
        most = f"at most {MAX_WORK // len(form.nodes):,} in a tree of {len(form.nodes):,} nodes"
        problems.add("GD0809", message, form.nodes[0].span, why=most)
        return None
    lines = ["turns:", *_idle(form, roles, names)]
    for one in plan.steps:
        lines += step(_fields(one, roles))
    paid = _payoffs(plan, roles, clauses, names)
    top = head(slug(name), form.title, form.comment, names, roles)
    return "\n".join([*top, *lines, *paid]) + "\n"


def _options(form: Extensive, names: Names) -> dict[InfoSet, tuple[Value, ...]]:
    """Returns the name of each action: a whole number if all of its set are, else a name."""
    texts = [info for info in form.sets if not are_numbers(info.actions)]
    named = names.of((place for info in texts for place in places(info.actions)), "a")
    return {
        info: tuple(map(int, info.actions))
        if are_numbers(info.actions)
        else tuple(named[place] for place in places(info.actions))
        for info in form.sets
    }


def _variables(names: Names, form: Extensive) -> Callable[[str, set[str]], str]:
    """Names for what steps bind: the label of its sets, where they have one and it can be a name,
    or what it is."""
    words = {"choose": "move", "draw": "chance", "show": "told"}
    alone = {"draw"} if sum(not info.player for info in form.sets) == 1 else set()
    counts = dict.fromkeys(words, 0)

    def name(kind: str, labels: set[str]) -> str:
        if len(labels) == 1 and is_name(label := next(iter(labels))):
            return names.new(label)
        counts[kind] += 1
        return names.new(words[kind] if kind in alone else f"{words[kind]}_{counts[kind]}")

    return name


def _idle(form: Extensive, roles: list[str], names: Names) -> list[str]:
    """A step with one option for each player who is paid but never moves: every role must act."""
    movers = {info.player for info in form.sets}
    idle = [role for player, role in enumerate(roles, 1) if player not in movers]
    option = names.new("wait") if idle else ""
    steps = ([("role", role), ("choose", names.new("idle")), ("from", f"[{option}]")]
             for role in idle)  # fmt: skip
    return [line for fields in steps for line in step(fields)]


def _fields(one: Step, roles: list[str]) -> list[tuple[str, str]]:
    """The keys of a step."""
    fields = []
    if one.kind == "choose":
        fields += [("role", roles[one.player - 1]), ("choose", one.variable)]
        fields.append(("from", listed(one.options)))
        if one.knows is not None:
            fields.append(("knows", one.knows))
    elif one.kind == "draw":
        odds = (f"{option}: {p}" for option, p in zip(one.options, one.odds, strict=True))
        fields += [("draw", one.variable), ("from", f"{{{', '.join(odds)}}}")]
    elif one.value is not None:
        fields += [("show", one.value.text), ("as", one.variable)]
    if one.condition is not None:
        fields.append(("if", one.condition.text))
    seen = [roles[player - 1] for player in sorted(one.readers)]
    if len(seen) < len(roles) or one.kind != "choose":
        sight = "all" if len(seen) == len(roles) else seen[0] if len(seen) == 1 else listed(seen)
        own = one.kind == "choose" and one.readers == {one.player}
        fields.append(("seen_by", "owner" if own else sight if seen else "nobody"))
    return fields


def _payoffs(plan: Plan, roles: list[str], clauses: Clauses, names: Names) -> list[str]:
    """The lines of `let` and `payoffs`; what the second of two loses and the first wins is written
    once."""
    rows: list[tuple[EfgNode, tuple[Fraction, ...]]] = [(n, _total(n)) for n, _ in plan.ends()]
    zero_sum = len(roles) == 2 and not any(sum(paid) for _, paid in rows)
    count = 1 if zero_sum else len(roles)
    table: list[Row] = []
    for node, paid in rows:
        shown = ", ".join(map(amount, paid[:count]))
        table.append((plan.env[node], f"({shown})" if count > 1 else shown))
    name = names.new("outcome")
    found = clauses.express(table, dict.fromkeys(plan.moved, 0))
    lines = [f"  {part}: {text}" for part, text in clauses.lets.items()]
    if len(found.lines) == 1:
        lines.append(f"  {name}: {found.text}")
    else:
        wrapped = (textwrap.wrap(line, WIDTH - 4) for line in found.lines)
        lines += [f"  {name}:", *(f"    {line}" for part in wrapped for line in part)]
    if zero_sum:
        paid_to = [name, f"-{name}"]
    else:
        paid_to = [f"{name}[{i}]" if count > 1 else name for i in range(count)]
    pays = [f"  {role}: {text}" for role, text in zip(roles, paid_to, strict=True)]
    return ["let:", *lines, "payoffs:", *pays]


def _total(node: EfgNode) -> tuple[Fraction, ...]:
    """Returns the sum of payments on the way to a node and at it."""
    paid = node.paid
    while node.parent is not None:
        node = node.parent
        paid = tuple(a + b for a, b in zip(paid, node.paid, strict=True))
    return paid


# what cannot be imported


def _fits(form: Extensive, problems: Problems) -> bool:
    most = max((len(info.actions) for info in form.sets), default=0)
    for count, limit, what in (
        (len(form.nodes), MAX_NODES, "nodes"),
        (most, MAX_OPTIONS, "actions at one node"),
        (len(form.players), MAX_ROLES, "players"),
    ):
        if count > limit:
            message = f"{count:,} {what} are too many"
            problems.add("GD0809", message, form.nodes[0].span, why=f"at most {limit:,}")
            return False
    return True
