"""A game document to a `GameIR`: every section read once, in the order that names need."""

from __future__ import annotations

from collections.abc import Mapping as Map
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.ir.game import GameIR, Labels, Setting, Template
from gamedsl.sema.actions import declare_actions
from gamedsl.sema.infer import Typer
from gamedsl.sema.lets import declare_lets, typed_lets
from gamedsl.sema.library import Document
from gamedsl.sema.params import Params
from gamedsl.sema.payoffs import read_payoffs
from gamedsl.sema.rewards import read_reward
from gamedsl.sema.roles import declare_roles
from gamedsl.sema.scope import Names
from gamedsl.sema.turns import Turns
from gamedsl.sema.values import entries_of
from gamedsl.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.source.spans import Span

SLOTS_BY_KEY = ("who", "ask", "seen")
"""Prompt slots that may have a text per role or per step."""


def build_game(
    document: Document, params: Map[str, Any] | None, problems: Problems
) -> GameIR | None:
    """The game, or None with the problems found. `params` override the file's defaults."""
    root, near = document.root, document.files[0]
    names = Names()
    given = entries_of(params, "--param")
    declared = Params(names, problems, "this game", root.span, given, names)
    folded = declared.declare(root.get("params"))
    roles = declare_roles(root.get("roles"), names, problems)
    if problems.errors:
        return None
    turns = Turns(names, declare_actions(root.get("actions"), names, problems), near, problems)
    turns.read(root)
    reward = read_reward(root.get("rewards"), near, names, problems, head_of(root))
    sound = not problems.errors
    declare_lets(root.get("let"), names, problems)
    section = root.get("payoffs")
    if section is None or not turns.steps or not sound:
        return None
    _everyone_acts(turns, problems)
    typer = Typer(names, problems)
    payoffs = read_payoffs(section, typer, turns.steps, problems)
    about = root.get("about")
    ir = GameIR(
        name=document.name,
        about=about.text if isinstance(about, Scalar) else "",
        params=folded,
        roles=roles,
        enums=tuple(names.enums),
        turns=tuple(turns.steps),
        lets=typed_lets(typer),
        payoffs=payoffs,
        reward=reward,
        labels=read_labels(root.get("labels")),
        templates=read_templates(root, problems),
        settings=tuple(read_settings(root.get("train"))),
        span=head_of(root),
    )
    return None if problems.errors else ir


def head_of(root: Mapping) -> Span:
    """The name of the game, where problems of the whole game are told."""
    return root.entries[0].value.span if root.entries else root.span


def _everyone_acts(turns: Turns, problems: Problems) -> None:
    acting = {seat for step in turns.steps for seat in step.actors}
    for role, span in turns.names.role_spans.items():
        if role in turns.names.seats and role not in acting:
            problems.add(
                "GD0418",
                f"`{role}` never acts",
                span,
                why="no step is its own",
                notes=tuple(Note(s.span, f"{', '.join(s.actors[:4])}") for s in turns.steps[:3]),
                help="add it to the `role:` of a step, or delete it",
            )


def read_labels(node: Node | None) -> Labels:
    """`plain` (the default), `masked`, `{masked: style, per: …}`, or a map of name to text."""
    if node is None:
        return Labels("plain")
    if isinstance(node, Scalar):
        return Labels("masked" if node.text == "masked" else "plain", span=node.span)
    assert isinstance(node, Mapping)
    style = node.get("masked")
    if style is not None:
        per = node.get("per")
        when = per.text if isinstance(per, Scalar) else "run"
        name = style.text if isinstance(style, Scalar) else "auto"
        return Labels("masked", name, when, span=node.span)  # type: ignore[arg-type]
    written = [(e.key, e.value) for e in node if isinstance(e.value, Scalar)]
    fixed = tuple((key.text, value.text) for key, value in written)
    places = tuple((key.span, value.span) for key, value in written)
    return Labels("fixed", fixed=fixed, span=node.span, places=places)


def read_templates(root: Mapping, problems: Problems) -> tuple[Template, ...]:
    """The prompt texts that the file writes itself; `rules:` fills the slot of that name."""
    found = []
    rules = root.entry("rules")
    prompts = root.get("prompts")
    entries = prompts.entries if isinstance(prompts, Mapping) else ()
    if rules is not None and isinstance(rules.value, Scalar):
        found.append(_template("rules", "", rules.value, rules.key))
    for entry in entries:
        slot = entry.key.text
        if slot == "rules" and rules is not None:
            problems.add(
                "GD0416",
                "the rules are given twice",
                entry.key.span,
                why="`rules:` fills this slot",
                notes=(Note(rules.key.span, "here"),),
                help="keep one of them",
            )
        elif isinstance(entry.value, Scalar):
            found.append(_template(slot, "", entry.value, entry.key))
        elif isinstance(entry.value, Mapping):
            found += [
                _template(slot, e.key.text, e.value, e.key)
                for e in entry.value
                if isinstance(e.value, Scalar)
            ]
    return tuple(found)


def _template(slot: str, key: str, scalar: Scalar, written: Scalar) -> Template:
    return Template(slot, key, scalar.text, scalar.span, scalar.offsets, written.span)


def read_settings(node: Node | None, prefix: str = "") -> list[Setting]:
    """The `train:` section as dotted keys and plain values, in the order written."""
    if not isinstance(node, Mapping):
        return []
    found = []
    for entry in node:
        key = f"{prefix}{entry.key.text}"
        if isinstance(entry.value, Mapping):
            found += read_settings(entry.value, f"{key}.")
        else:
            found.append(Setting(key, _plain(entry.value), entry.value.span))
    return found


def _plain(node: Node) -> Any:
    if isinstance(node, Sequence):
        return [_plain(item) for item in node]
    return node.value if isinstance(node, Scalar) else None
