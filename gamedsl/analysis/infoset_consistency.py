"""Checks information sets on histories: in all of one set a seat is asked and shown the same.

Information flow is proved for all plays elsewhere (`gamedsl.analysis.infoflow`). Here it is checked
in the histories themselves, which gives a leak its witness, and tests the proof.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from gamedsl.analysis.history_prompts import text_of
from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.nodes import Node, history_text, replay
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Diagnostic, Problems
from gamedsl.engine.kernel import Ask
from gamedsl.ir.values import name_of
from gamedsl.prompting import events
from gamedsl.runtime.views import Viewer

LEAKS = (*(f"GD04{number}" for number in range(40, 49)), "GD0508")
"""The codes of information that flows where it must not."""

ALIKE = "where a seat has seen the same, it is asked the same, and shown the same"
RECALL = "every seat remembers all that it has chosen and seen"


class Leak(NamedTuple):
    """Two histories in which a seat has seen the same, and a difference for it there."""

    ask: Ask
    one: Node
    other: Node
    what: str
    shown: tuple[str, str]


def check_consistency(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """A seat that has seen the same is asked at the same step, has the same legal actions, the same
    view and the same prompt. GD0440, where nothing else has reported it."""
    found = [d for d in problems.found if d.code in LEAKS]
    leak = _leak(sample, found)
    shared = sum(len(members) > 1 for members in sample.sets.values())
    count = f"{shared:,} of {len(sample.sets):,} information sets hold several histories"
    if leak is None:
        yield Proof("told.alike", ALIKE, sample.grade, f"{sample.extent}; {count}")
        return
    witness = (
        f"one history:   {history_text(leak.one)}",
        f"another:       {history_text(leak.other)}",
        f"by then `{leak.ask.seat}` has seen, in both: "
        f"{leak.one.state.known(leak.ask.seat) or 'nothing'}"
        if leak.ask.key is None
        else f"`{leak.ask.seat}` knows here, in both: {events.known_in(leak.ask.key) or 'nothing'}",
        f"but {leak.what}: {leak.shown[0]} / {leak.shown[1]}",
    )
    step = next(step for step in sample.ir.steps if step.id == leak.ask.step)
    about = [d for d in found if not d.witness and _is_about(d, leak.ask.seat)]
    at_step = [d for d in about if any(note.span == step.span for note in d.notes)]
    if at_step or len(about) == 1:
        problem = (at_step or about)[0]
        problems.found[problems.found.index(problem)] = replace(problem, witness=witness)
    if not found:
        problems.add(
            "GD0440", f"`{leak.ask.seat}` is told what it has not seen: {leak.what}", step.span,
            why=f"`{leak.ask.seat}` chooses here", witness=witness,
        )  # fmt: skip
    codes = tuple(dict.fromkeys(d.code for d in found)) or ("GD0440",)
    histories = replay(leak.one), replay(leak.other)
    yield Proof("told.alike", ALIKE, "refuted", sample.extent, codes, witness, histories)


def _leak(sample: HistorySample, found: list[Diagnostic]) -> Leak | None:
    """Returns the first leak; where some are reported, the first to a seat that a report names."""
    first: Leak | None = None
    for leak in chain(_leaks(sample), _passed_over(sample) if found else ()):
        first = first or leak
        if not found or any(_is_about(problem, leak.ask.seat) for problem in found):
            return leak
    return first


def _is_about(problem: Diagnostic, seat: str) -> bool:
    """Returns whether a report of a leak is about a seat."""
    return f"`{seat}`" in problem.message or problem.message.startswith("all ")


def _leaks(sample: HistorySample) -> Iterator[Leak]:
    viewer = Viewer(sample.ir) if any(len(m) > 1 for m in sample.sets.values()) else None
    prompts = sample.prompts
    steps: dict[tuple[str, int], tuple[Node, Ask]] = {}
    for members in sample.sets.values():
        (one, ask), *others = members
        known = ask.seat, sample.known(one, ask.seat)
        elsewhere, asked = (one, ask) if ask.key else steps.setdefault(known, (one, ask))
        if asked.step != ask.step:
            what = "it is asked something else"
            yield Leak(ask, elsewhere, one, what, (asked.step, ask.step))
        for other, again in others:
            if again.legal != ask.legal:
                what = "what it may say differs" if ask.open else "it may choose from others"
                yield Leak(ask, one, other, what, (_listed(ask.legal), _listed(again.legal)))
        if not others or viewer is None:
            continue
        declared = ask.key is not None or ask.seat in sample.ir.views
        prompt = prompts.of(one, ask) if declared else None
        views = _Views(viewer, one, ask)
        for other, again in others:
            if (pair := views.differ(other, again)) is not None:
                yield Leak(ask, one, other, "what it sees differs", _unlike(*pair))
            if prompt is not None and prompts.of(other, again) != prompt:
                texts = text_of(prompt), text_of(prompts.of(other, again))
                yield Leak(ask, one, other, "its prompt differs", _different(*texts))


class _Views:
    """Compares the views of the histories of an information set with that of the first.

    A view is made of the state that its seat sees and of the events that it has seen. The events
    are equal in one information set, so that equal states and options mean equal views.
    """

    def __init__(self, viewer: Viewer, node: Node, ask: Ask) -> None:
        self._viewer, self._node, self._ask = viewer, node, ask
        self._state = viewer.visible_state(ask.seat, node.state) if ask.key is None else None

    def differ(self, node: Node, ask: Ask) -> tuple[object, object] | None:
        """Returns both views as data, where that of another history differs; else None."""
        alike = self._state is not None and ask.legal == self._ask.legal
        if alike and self._viewer.visible_state(ask.seat, node.state) == self._state:
            return None
        one, other = self._data(self._node, self._ask), self._data(node, ask)
        return None if one == other else (one, other)

    def _data(self, node: Node, ask: Ask) -> dict[str, object]:
        return self._viewer.view(ask.seat, node.state, ask.step, ask.legal).data


def _passed_over(sample: HistorySample) -> Iterator[Leak]:
    """Yields leaks of being asked: a seat is asked in one history and not in another in which it
    has seen the same, until it sees something else.

    Where `end` may read what is hidden this need be no leak. So it is looked for only in games in
    which another leak was reported.
    """
    asked = {
        (ask.seat, sample.known(node, ask.seat)): (node, ask)
        for members in sample.sets.values()
        for node, ask in members
        if ask.key is None
    }
    for node in sample.nodes:
        for seat in sample.ir.seats if node.before is not None else ():
            assert node.before is not None
            before, now = sample.known(node.before, seat), sample.known(node, seat)
            if before != now and (seat, before) in asked:
                new = node.state.seen(seat)[len(node.before.state.seen(seat)) :]
                other = f"it sees {events.known(new)}" if new else "the game is over"
                if not _was_asked(sample, node.before, seat):
                    yield _not_asked(*asked[seat, before], node, other)
            over = node.state.kind == "end" and (seat, now) in asked
            if over and not _was_asked(sample, node, seat):
                yield _not_asked(*asked[seat, now], node, "the game is over")


def _was_asked(sample: HistorySample, node: Node, seat: str) -> bool:
    """Returns whether a seat was asked, up to a node, since it last saw something."""
    known, at = sample.known(node, seat), node
    while seat not in at.state.asked:
        if at.before is None or sample.known(at.before, seat) != known:
            return False
        at = at.before
    return True


def _not_asked(node: Node, ask: Ask, other: Node, next: str) -> Leak:
    """Returns the leak of a seat that is asked in one history and not in another."""
    shown = f"it is asked for {ask.step}", next
    return Leak(ask, node, other, "what comes next differs", shown)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(events.unambiguous, names)) or "nothing"


def _unlike(one: object, other: object, path: str = "") -> tuple[str, str]:
    """Returns the first part in which two views differ, with its value in each."""
    if isinstance(one, dict) and isinstance(other, dict):
        key = next(k for k in {**one, **other} if one.get(k) != other.get(k))
        inner = path if key in ("state", "bound") and not path else f"{path}.{key}".lstrip(".")
        return _unlike(one.get(key), other.get(key), inner)
    return f"{path} is {_written(one)}", f"{path} is {_written(other)}"


def _written(value: object) -> str:
    """Returns a value of a view as the language writes it: names without quotes, `none`, `true`."""
    match value:
        case list() | tuple():
            return f"[{', '.join(map(_written, value))}]"
        case dict():
            return f"{{{', '.join(f'{_written(key)}: {_written(v)}' for key, v in value.items())}}}"
        case _:
            return name_of(value)


def _different(one: str, other: str) -> tuple[str, str]:
    """Returns the words in which two texts differ, from the first to the last."""
    a, b = one.split(), other.split()
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    while a and b and a[-1] == b[-1] and min(len(a), len(b)) > start + 1:
        a.pop()
        b.pop()
    return " ".join(a[start : start + 12]), " ".join(b[start : start + 12])


def check_recall(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """Checks perfect recall: an information set determines the seat's own earlier choices.

    Without `knows` it holds by construction, since what a seat has seen contains its choices and
    only grows; the histories met are a check. With `knows` the histories decide: a pair of them
    refutes it, all of them confirm it, and a sample without such a pair leaves it undecided, since
    two histories of one information set are seldom drawn together.
    """
    done: dict[int, dict[str, int]] = {}
    keys: dict[int, list[Hashable]] = {}
    known: dict[tuple[int, Hashable, str], int] = {}
    behind: dict[Hashable, tuple[int, Node]] = {}
    for node in sample.nodes:
        before, asks = node.before, node.state.asks
        past = {} if before is None else dict(done[id(before)])
        if before is not None:
            for ask, key, number in zip(
                before.state.asks, keys[id(before)], node.move, strict=False
            ):
                choice = past.get(ask.seat, 0), key, ask.legal[number]
                past[ask.seat] = known.setdefault(choice, len(known) + 1)
        done[id(node)] = past
        keys[id(node)] = [sample.key(node, ask) for ask in asks]
        for ask, key in zip(asks, keys[id(node)], strict=True):
            own = past.get(ask.seat, 0)
            first, other = behind.setdefault(key, (own, node))
            if first != own:
                witness = (f"`{ask.seat}` forgets:", history_text(other), history_text(node))
                pair = replay(other), replay(node)
                yield Proof("recall", RECALL, "refuted", sample.extent, (), witness, pair)
                return
    if any(step.knows is not None for step in sample.ir.steps):
        if sample.grade == "enumerated":
            yield Proof("recall", RECALL, "enumerated", sample.extent)
            return
        why = f"steps with `knows` may forget, and not all was gone through: {sample.extent}"
        yield Proof("recall", RECALL, "undecided", why)
        return
    how = f"by what an information set is; checked in {sample.extent}"
    yield Proof("recall", RECALL, "proved", how)
