"""What prompts merge: information sets of a seat that have one prompt are one to its policy.

Without a declared view nothing is merged: a prompt tells all that its reader has seen, and where a
template leaves something out that matters, that is an error. A view is declared to forget; whether
what it forgets matters is worked out where a game is gone through whole (`gamedsl.solve.merging`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from gamedsl.backends.templating import template_for
from gamedsl.diagnostics import Note, Problems
from gamedsl.ir.game import GameIR, Template
from gamedsl.ir.program import Choose, Draw, Show, walk_steps
from gamedsl.passes.atlas import Atlas, Node, replay, story
from gamedsl.passes.proof import Proof
from gamedsl.passes.told import text_of
from gamedsl.runtime.decision import key_of

APART = "where a seat has seen something else, it is told something else"
HARMLESS = "what prompts leave out makes no difference to what may follow"


class Pair(NamedTuple):
    """Two histories that a seat can tell apart, and its prompt, which is the same in both."""

    seat: str
    keys: tuple[Hashable, Hashable]
    nodes: tuple[Node, Node]
    prompt: str

    @property
    def witness(self) -> tuple[str, ...]:
        one, other = self.nodes
        last = self.prompt.splitlines()[-6:]
        return (
            f"one history:   {story(one)}", f"another:       {story(other)}",
            f"`{self.seat}` is told in both:", *(f"  {line}" for line in last),
        )  # fmt: skip


def different_is_told_apart(atlas: Atlas, problems: Problems) -> Iterator[Proof]:
    """GD0530: a prompt without a view does not tell apart what its reader has seen (a warning where
    no template is at fault). GD0531, a note: a view forgets what may matter."""
    if problems.errors:
        yield Proof("told.apart", APART, "undecided", "there are errors that come before it")
        return
    pairs = list(_merged(atlas))
    if not pairs:
        yield Proof("told.apart", APART, atlas.grade, atlas.extent)
        return
    forgets = [pair for pair in pairs if pair.seat in atlas.ir.views]
    if forgets:
        pair = forgets[0]
        claim = f"the view of `{pair.seat}` forgets something that it has seen"
        histories = replay(pair.nodes[0]), replay(pair.nodes[1])
        how = "by the two histories of the witness"
        yield Proof("view.forgets", claim, "proved", how, (), pair.witness, histories)
    if not atlas.whole:
        why = f"only whole games are compared, and this one has {atlas.size}"
        witness = () if forgets else pairs[0].witness
        yield Proof("told.harmless", HARMLESS, "undecided", why, (), witness)
        return
    yield from _compared(atlas, pairs, problems)


def _merged(atlas: Atlas) -> Iterator[Pair]:
    """Each information set whose prompt an earlier one has, with that one."""
    first: dict[object, tuple[Hashable, Node]] = {}
    for node, ask in atlas.asked:
        key = atlas.key(node, ask)
        if len(ask.legal) > 1 and (messages := atlas.prompts.of(node, ask)):
            known, other = first.setdefault((ask.seat, messages), (key, node))
            if known != key:
                yield Pair(ask.seat, (known, key), (other, node), text_of(messages))


def _compared(atlas: Atlas, pairs: list[Pair], problems: Problems) -> Iterator[Proof]:
    from gamedsl.runtime import Env
    from gamedsl.solve.merging import merging

    found = merging(Env(atlas.ir), len(atlas.nodes) + 1)
    if found.lossless:
        yield Proof("told.harmless", HARMLESS, "enumerated", atlas.extent)
        return
    named = {
        key_of(node.state, ask): (key, node) for key, ((node, ask), *_) in atlas.sets.items()
    }  # fmt: skip
    told: set[str] = set()
    for difference in found.differences:
        seat, keys = difference.seat, difference.information_sets
        code = "GD0531" if seat in atlas.ir.views else "GD0530"
        if code in told:
            continue
        told.add(code)
        (one, node), (other, after) = named[keys[0]], named[keys[1]]
        nodes = node, after
        prompt = next((p.prompt for p in pairs if other in p.keys), "")
        pair = Pair(seat, (one, other), nodes, prompt)
        report = _forgets if seat in atlas.ir.views else _same_prompt
        report(atlas.ir, pair, difference.reason, problems)
        histories = replay(nodes[0]), replay(nodes[1])
        yield Proof(
            "told.harmless", HARMLESS, "refuted", f"{atlas.extent}; {difference.reason}", (code,),
            pair.witness, histories,
        )  # fmt: skip


def _same_prompt(ir: GameIR, pair: Pair, reason: str, problems: Problems) -> None:
    template = _silent(ir, pair)
    problems.add(
        "GD0530", f"`{pair.seat}` is told the same after two histories that it can tell apart",
        ir.span if template is None else template.span,
        why="no prompt says which" if template is None else "this does not say what was seen",
        help="write a `seen` template that does" if template is None else "say it: `{{ choice }}`",
        severity="warning" if template is None else "error",
        witness=(*pair.witness, reason),
    )  # fmt: skip


def _silent(ir: GameIR, pair: Pair) -> Template | None:
    """The template that leaves out the first event in which the histories differ for the seat."""
    one, other = (node.state.seen(pair.seat) for node in pair.nodes)
    steps = {step.id: step for step in walk_steps(ir.turns)}
    for events in zip_longest(one, other):
        for event in events if events[0] != events[1] else ():
            step = steps[event.step] if event is not None else None
            if isinstance(step, Choose | Draw | Show):
                found = template_for(ir, "seen", step.id, step.variable)
                if found is not None:
                    return found
    return None


def _forgets(ir: GameIR, pair: Pair, reason: str, problems: Problems) -> None:
    entries = ir.views[pair.seat]
    span = entries[0].span if entries else ir.span
    problems.add(
        "GD0531", f"the view of `{pair.seat}` forgets what may matter", span, severity="note",
        why="this is told, and no events",
        notes=tuple(Note(entry.span, "and this") for entry in entries[1:4]),
        help="show what differs too, or accept it: policies that only see this are compared alone",
        witness=(*pair.witness, reason),
    )  # fmt: skip
