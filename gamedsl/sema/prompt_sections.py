"""The sections that say what prompts contain: `view`, `history`, `labels`, `prompts`, `rules`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.edits import respell_key
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.expr import reads_play
from gamedsl.ir.game import Labels, Let, Param, Template, Window
from gamedsl.ir.program import Choose
from gamedsl.ir.program import Entry as ShownEntry
from gamedsl.ir.types import List, PerSeat, PerValue
from gamedsl.sema.library import ONE_VALUE
from gamedsl.sema.narrow import Facts
from gamedsl.sema.roles import entries_by_seat
from gamedsl.sema.scope import Namespace, TypeName
from gamedsl.sema.typer import Typer
from gamedsl.sema.types import Types
from gamedsl.sema.values import syntax

MOST_TURNS = 256
"""Turns that a window may hold."""

Views = tuple[tuple[str, tuple[ShownEntry, ...]], ...]


def read_view(node: Node | None, typer: Typer) -> Views:
    """Reads `view`: what prompts tell a seat of the play, in place of all that it has seen.

    Returns the view of each seat that has one, in seat order; a role that is not named has none,
    and a referee only if it is named.
    """
    names = typer.names
    if isinstance(node, Sequence | Scalar):
        entries = read_entries(node, typer)
        return tuple((seat, entries) for seat in names.seats)
    if not isinstance(node, Mapping):
        return ()
    found: dict[str, tuple[ShownEntry, ...]] = {}
    for part, seats in entries_by_seat(node, "the view", found, names, typer.problems):
        found |= dict.fromkeys(seats, read_entries(part.value, typer))
    return tuple((seat, found[seat]) for seat in names.everyone if seat in found)


def read_entries(
    node: Node, typer: Typer, where: str = "in this view", facts: Facts = frozenset()
) -> tuple[ShownEntry, ...]:
    """Reads the entries of one list, or the only one; each has a name of its own. `facts` is what
    is known not to be none, `where` names the list in messages."""
    problems = typer.problems
    found: list[ShownEntry] = []
    places: dict[str, Span] = {}
    for title, expression in _titled(node):
        tree = syntax(expression, problems)
        if tree is None:
            continue
        text = " ".join(expression.text.split())
        span = title.span if title else expression.span
        entry = ShownEntry(
            title.text if title else "", text, typer.expression(tree, me=True, facts=facts), span
        )
        first = places.setdefault(entry.name, span)
        if first is not span:
            problems.add(
                "GD0319", f"`{entry.name}` stands twice {where}", span,
                why="the second time", notes=(Note(first, "the first time"),),
                help=f"give it another title: `{{a title: {text}}}`, or delete one of the two",
            )  # fmt: skip
            continue
        found.append(entry)
    return tuple(found)


def _titled(node: Node) -> Iterator[tuple[Scalar | None, Scalar]]:
    """Yields the expressions of a list in order, each with its title, if it has one."""
    for item in node.items if isinstance(node, Sequence) else (node,):
        if isinstance(item, Scalar):
            yield None, item
        elif isinstance(item, Mapping):
            yield from ((e.key, e.value) for e in item if isinstance(e.value, Scalar))


def read_history(
    node: Node | None, steps: Iterable[Choose], viewers: Iterable[str], types: Types
) -> tuple[tuple[str, Window], ...]:
    """Reads `history`: how much of it the prompts of each role tell.

    Returns the window of each seat that has one, in seat order; `viewers` have a view. A window for
    all is that of the seats that ever say what it begins with: of those without a view, where there
    are some, as these are told events anyway.
    """
    if not isinstance(node, Mapping):
        return ()
    names, problems, with_view = types.names, types.problems, frozenset(viewers)
    spoken = {
        seat: [step for step in steps if step.said is not None and seat in step.actors]
        for seat in names.everyone
    }
    found: dict[str, Window] = {}
    if any(entry.key.text in ONE_VALUE["history"] for entry in node):
        window = _window(node, types)
        if window is None:
            return ()
        told = [seat for seat in names.everyone if seat not in with_view] or names.everyone
        fitting = [seat for seat in told if _begins(window, spoken[seat])]
        if not fitting:
            _check_window(told[0], window, spoken[told[0]], problems)
        return tuple((seat, window) for seat in fitting)
    for entry, seats in entries_by_seat(node, "the history", found, names, problems):
        if isinstance(entry.value, Mapping):
            window = _window(entry.value, types)
            if window is not None and all(
                _check_window(seat, window, spoken[seat], problems) for seat in seats
            ):
                found |= dict.fromkeys(seats, window)
    return tuple((seat, found[seat]) for seat in names.everyone if seat in found)


def _window(node: Mapping, types: Types) -> Window | None:
    last, since = node.entry("last"), node.entry("since")
    if last is not None and since is not None:
        first, second = sorted((last, since), key=lambda entry: entry.key.span.start)
        types.problems.add(
            "GD0125", "a history begins in one place: `last` or `since`, not both", second.key.span,
            why=f"besides `{first.key.text}`",
            notes=(Note(first.key.span, f"`{first.key.text}` is given here"),),
            help="delete one of the two",
        )  # fmt: skip
        return None
    if since is not None:
        assert isinstance(since.value, Scalar)
        return Window(None, since.value.text, since.value.span)
    assert last is not None
    count = types.number(last.value, 1, MOST_TURNS)
    return None if count is None else Window(count, None, last.value.span)


def _begins(window: Window, spoken: list[Choose]) -> bool:
    """Whether a seat with these open decisions ever says what its history begins with."""
    return window.since is None or any(step.variable == window.since for step in spoken)


def _check_window(seat: str, window: Window, spoken: list[Choose], problems: Problems) -> bool:
    """Whether a seat can have a window; reported where it cannot. `spoken` are its open
    decisions."""
    if _begins(window, spoken):
        return True
    said = list(dict.fromkeys(step.variable for step in spoken))
    guess = did_you_mean(window.since or "", said)
    problems.add(
        "GD0534", f"`{seat}` never says `{window.since}`", window.span,
        why="what it said last by this name stands for what came before",
        notes=tuple(
            Note(step.span, "this it says") for step in spoken if step.variable == guess
        )[:1],
        help=respell(
            window.span, guess,
            "it says " + ", ".join(f"`{one}`" for one in said) if said
            else f"add a step: `{{role: {seat}, say: {window.since}, max_tokens: 100}}`",
        ),
    )  # fmt: skip
    return False


def read_labels(node: Node | None, names: Namespace, problems: Problems) -> Labels:
    """Reads `labels`, what options are called in prompts: `plain` (the default), `masked`,
    `{masked: style, per: …}`, a map of name to text, or a map of type to masked labels."""
    if node is None:
        return Labels("plain")
    if isinstance(node, Scalar):
        return Labels("masked" if node.text == "masked" else "plain", span=node.span)
    assert isinstance(node, Mapping)
    if node.get("masked") is not None:
        return _masked_labels(node)
    by_type = [entry for entry in node if isinstance(entry.value, Mapping)]
    if by_type:
        return _labels_by_type(node, by_type, names, problems)
    written = [(e.key, e.value) for e in node if isinstance(e.value, Scalar)]
    fixed = tuple((key.text, value.text) for key, value in written)
    places = tuple((key.span, value.span) for key, value in written)
    return Labels("fixed", fixed=fixed, span=node.span, places=places)


def _masked_labels(node: Mapping) -> Labels:
    style = node.get("masked")
    name = style.text if isinstance(style, Scalar) else "auto"
    written = node.entry("masked")
    places = () if written is None else ((written.key.span, written.value.span),)
    match node.get("per"):
        case Scalar(text="game" | "episode" as per):
            return Labels("masked", name, per, span=node.span, places=places)
        case _:  # without `per`, the default of `Labels`
            return Labels("masked", name, span=node.span, places=places)


def _labels_by_type(
    node: Mapping, entries: list[Entry], names: Namespace, problems: Problems
) -> Labels:
    """Reads `{Word: {masked: alien, per: run}}`: meaningless labels for values of some types."""
    only: list[str] = []
    first: Labels | None = None
    named = next((entry for entry in node if not isinstance(entry.value, Mapping)), None)
    if named is not None:
        problems.add(
            "GD0432", "labels are given by name or by type, not both", named.key.span,
            why="by name", notes=(Note(entries[0].key.span, "by type"),),
            help="give all labels in one of the two forms",
        )  # fmt: skip
    for entry in entries:
        known = names.declared.get(entry.key.text)
        assert isinstance(entry.value, Mapping)
        if not isinstance(known, TypeName):
            types = [n for n, d in names.declared.items() if isinstance(d, TypeName)]
            guess = did_you_mean(entry.key.text, types)
            place = names.place(guess) if guess else None
            problems.add(
                "GD0422", f"unknown type `{entry.key.text}`", entry.key.span,
                why="not declared under `types`",
                notes=(Note(place, "declared here"),) if place else (),
                help=respell_key(entry.key.span, guess, "known: " + ", ".join(types)),
            )  # fmt: skip
            continue
        labels = _masked_labels(entry.value)
        if first is not None and (labels.style, labels.per) != (first.style, first.per):
            problems.add(
                "GD0436", "all masked types of a game have one style", entry.value.span,
                why="not as the first", notes=(Note(entries[0].value.span, "the first"),),
                help="write the same `masked` and `per` for each",
            )  # fmt: skip
        first = first or labels
        only += [name for name, _ in known.choices]
    if first is None:
        return Labels("plain", span=node.span)
    return Labels(
        "partly", first.style, first.per, only=tuple(only), span=node.span, places=first.places
    )


def read_templates(root: Mapping, problems: Problems) -> tuple[Template, ...]:
    """Reads `prompts` and `rules`, the texts that replace parts of the prompts."""
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
            for e in entry.value:
                if isinstance(e.value, Scalar):
                    found.append(_template(slot, e.key.text, e.value, e.key))
                elif isinstance(e.value, Mapping):
                    found += [
                        _template(slot, e.key.text, each.value, each.key, each.key.text)
                        for each in e.value if isinstance(each.value, Scalar)
                    ]  # fmt: skip
    return tuple(found)


def constants_in_templates(
    templates: tuple[Template, ...], lets: tuple[Let, ...], names: Namespace
) -> tuple[Param, ...]:
    """Returns the constants besides params whose names stand in templates: declared types, as lists
    of their values, and lets that are lists or maps and read neither the play nor another let."""
    words = {word for template in templates for word in re.findall(r"\w+", template.text)}
    found = [
        Param(name, tuple(value for _, value in declared.choices),
              List(declared.type, len(declared.choices)), declared.span)
        for name, declared in names.declared.items()
        if isinstance(declared, TypeName) and declared.choices and name in words
    ]  # fmt: skip
    for let in lets:
        holds = isinstance(let.body.type, List | PerValue | PerSeat)
        if holds and let.name in words and not let.parameters and not reads_play(let.body):
            with suppress(EvaluationError):
                value = evaluate(let.body, Scope(seats=names.seats))
                found.append(Param(let.name, value, let.body.type, let.span))
    return tuple(found)


def _template(
    slot: str, key: str, scalar: Scalar, written: Scalar, reader: str = "all"
) -> Template:
    own = None if reader == "all" else reader
    return Template(slot, key, scalar.text, scalar.span, scalar.offsets, written.span, own)
