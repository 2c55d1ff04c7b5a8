"""Claims about the payoffs of every play: those of the file, and those found unasked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import NamedTuple

from gamedsl.analysis.history_sample import QUICK, HistorySample
from gamedsl.analysis.nodes import Node, history_lines, made, path_of, replay
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Fix, substitute
from gamedsl.engine.kernel import Amounts
from gamedsl.engine.storage import path_of as path_of_place
from gamedsl.frontend.source.edits import delete_entry, delete_item, nodes_around
from gamedsl.frontend.source.nodes import Sequence
from gamedsl.ir.evaluate import Scope
from gamedsl.ir.game import Claim, GameIR
from gamedsl.ir.program import Draw, walk_steps
from gamedsl.runtime.positions import acting


def check_claims(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """GD0470: payoffs do not sum to what is claimed. GD0471: not all are paid the same. GD0472:
    exchanging two seats changes more than their names. Each with the play.

    What is not claimed and true is reported too.
    """
    claims = {claim.kind: claim for claim in sample.ir.claims}
    if not sample.ends or sample.failure is not None:
        why = "a play fails" if sample.failure else "no play comes to an end"
        for claim in claims.values():
            yield Proof(_named(claim), _SAID[claim.kind].format(claim.amount), "undecided", why)
        return
    yield from _sum(sample, claims.get("zero_sum") or claims.get("constant_sum"), problems)
    if "zero_sum" in claims and "constant_sum" in claims:
        yield from _sum(sample, claims["constant_sum"], problems)
    yield from _common(sample, claims.get("common_payoff"), problems)
    yield from _symmetric(sample, claims.get("symmetric"), problems)


_SAID = {
    "zero_sum": "the payoffs of every play sum to 0",
    "constant_sum": "the payoffs of every play sum to {}",
    "common_payoff": "all are paid the same in every play",
    "symmetric": "exchange any two seats, and nothing but their payoffs is exchanged",
}


_FEW = 10
"""Random plays of which fewer say nothing of the others, where the file claims nothing."""


def _worth_saying(sample: HistorySample) -> bool:
    """Returns whether a claim about the payoffs met says something of a game: there are several
    seats, and if there are more plays than these, they are not few and their payoffs differ."""
    if len(sample.ir.seats) < 2:
        return False
    differ = len({tuple(end.payoffs.values()) for end in sample.ends}) > 1
    return sample.whole or (differ and len(sample.ends) >= _FEW)


def _named(claim: Claim) -> str:
    return f"claims.{claim.kind}"


def _sum(sample: HistorySample, claim: Claim | None, problems: Problems) -> Iterator[Proof]:
    first = total_of(sample.ends[0].payoffs)
    total = first if claim is None else claim.amount
    wrong = next((end for end in sample.ends if total_of(end.payoffs) != total), None)
    name = "claims." + ("zero_sum" if total == 0 else "constant_sum")
    said = _SAID["constant_sum"].format(total)
    if wrong is None:
        if claim is not None or _worth_saying(sample):
            short = "zero-sum" if total == 0 else f"constant sum {total}"
            yield Proof(name, said, sample.grade, sample.extent, short=short)
        return
    if claim is None:
        return
    found = total_of(wrong.payoffs)
    constant = sample.whole and all(total_of(end.payoffs) == found for end in sample.ends)
    witness = (*history_lines(wrong), f"payoffs: {amounts_of(wrong.payoffs)}; their sum is {found}")
    problems.add(
        "GD0470", f"the payoffs of this play sum to {found}, not to {total}", claim.span,
        why="claimed of every play", notes=_paying(sample.ir), witness=witness,
        help=_claim_that_holds(claim, f"{{constant_sum: {found}}}" if found else "zero_sum")
        if constant else _deleted(claim, "correct the payoffs, or delete this claim"),
    )  # fmt: skip
    yield Proof(name, said, "refuted", sample.extent, ("GD0470",), witness, (replay(wrong),))


def _claim_that_holds(claim: Claim, holds: str) -> Fix:
    """Returns the fix that claims what holds instead."""
    return substitute(claim.span, holds, f"write `{holds}`")


def _deleted(claim: Claim, text: str) -> Fix:
    """Returns the fix that deletes a claim, or the section of the only one."""
    around = nodes_around(claim.span)
    alone = next((node.span for node in reversed(around) if isinstance(node, Sequence)), claim.span)
    return Fix(text, delete_item(claim.span) or delete_entry(alone))


def _common(sample: HistorySample, claim: Claim | None, problems: Problems) -> Iterator[Proof]:
    ends = sample.ends
    wrong = next((end for end in ends if len(set(end.payoffs.values())) > 1), None)
    said = _SAID["common_payoff"]
    if wrong is None:
        if claim is not None or _worth_saying(sample):
            short = "common payoff"
            yield Proof("claims.common_payoff", said, sample.grade, sample.extent, short=short)
    elif claim is not None:
        payoffs = wrong.payoffs
        low, high = (f(payoffs, key=lambda seat: payoffs[seat]) for f in (min, max))
        witness = (*history_lines(wrong), f"payoffs: {amounts_of(payoffs)}")
        problems.add(
            "GD0471", f"in this play `{low}` is paid {payoffs[low]}, and `{high}` {payoffs[high]}",
            claim.span, why="all are paid the same, it is claimed", notes=_paying(sample.ir),
            help=_deleted(claim, "correct the payoffs, or delete this claim"), witness=witness,
        )  # fmt: skip
        codes = ("GD0471",)
        yield Proof(
            "claims.common_payoff", said, "refuted", sample.extent, codes, witness, (replay(wrong),)
        )


def _symmetric(sample: HistorySample, claim: Claim | None, problems: Problems) -> Iterator[Proof]:
    name, said = "claims.symmetric", _SAID["symmetric"]
    if claim is None and (
        not sample.whole or len(sample.nodes) > QUICK or len(sample.ir.seats) < 2
    ):
        return
    if not sample.whole:
        why = f"only whole trees are compared, and this game has {sample.size}"
        yield Proof(name, said, "undecided", why)
        return
    broken = next(_asymmetries(sample), None)
    if broken is None:
        yield Proof(name, said, "enumerated", sample.extent, short="symmetric")
    elif claim is not None:
        problems.add(
            "GD0472", f"exchanging `{broken.one}` and `{broken.other}` changes the game: "
            f"{broken.how}", claim.span, why="it is claimed that no seat is special",
            help=_deleted(claim, "correct the rules or the payoffs, or delete this claim"),
            witness=broken.witness,
        )  # fmt: skip
        codes, histories = ("GD0472",), (replay(broken.node),)
        yield Proof(name, said, "refuted", sample.extent, codes, broken.witness, histories)


class _Asymmetry(NamedTuple):
    """A difference between two seats once they are exchanged, after the history `node`."""

    one: str
    other: str
    node: Node
    how: str
    witness: tuple[str, ...]


Group = frozenset[tuple[str | int, ...]]
"""What happens at a step of choices: the step, who, and what. Or all that chance brings up to the
next choice: the step, for whom, how often that was before, and what. Chance is in no order, but for
what it brings to the same seat at the same step: the rest of its order says nothing more."""


Asked = frozenset[tuple[str, str, frozenset[str], frozenset[tuple[str, int, str, str]]]]
"""Who is asked, the step, the options, and what was seen: step, how often before, whose, what."""


class _Like(NamedTuple):
    """The features that must agree in two histories that an exchange of seats maps to each
    other: the options and observations of everybody who is asked; at the end, the payoffs; and
    the odds."""

    odds: Fraction
    asked: Asked
    paid: frozenset[tuple[str, object]]


def _asymmetries(sample: HistorySample) -> Iterator[_Asymmetry]:
    """Yields exchanges of two neighbouring seats that change the game.

    A game is symmetric if every exchange of two seats (in who acts, whom outcomes are for, and in
    names of seats that are chosen or drawn) makes of every history an equally likely one, in which
    the exchanged seats are asked the same, have seen the same, and are paid the same.
    Exchanges of neighbours are enough: all others are made of them."""
    found: dict[tuple[Group, ...], tuple[Node, _Like]] = {}
    keys = _Keys(sample.ir)
    for node in sample.nodes:
        key = keys.of(node)
        if node.state.kind != "chance":
            found[key] = node, _like(node)
    seats = sample.ir.seats
    for one, other in pairwise(seats):
        swap = _Swap(one, other)
        for key, (node, like) in found.items():
            exchanged = swap.key(key)
            twin = found.get(exchanged)
            how, shown = _difference(swap, like, twin[1]) if twin else (
                "what comes of it cannot happen", ()
            )  # fmt: skip
            if how:
                lines = [_history_text(key), "exchanged:", _history_text(exchanged), *shown]
                if twin is not None and node.state.kind == twin[0].state.kind == "end":
                    lines.insert(1, f"payoffs: {amounts_of(node.payoffs)}")
                    lines.append(f"payoffs: {amounts_of(twin[0].payoffs)}")
                yield _Asymmetry(one, other, node, how, tuple(lines))


class _Keys:
    """The events of a history, each in turn: those of a history extend those of its parent."""

    def __init__(self, ir: GameIR) -> None:
        self._draws = {step.id: step for step in walk_steps(ir.turns) if isinstance(step, Draw)}
        self._ir = ir
        self._known: dict[int, tuple[Group, ...]] = {}

    def of(self, node: Node) -> tuple[Group, ...]:
        self._known[id(node)] = key = () if node.before is None else self._after(node, node.before)
        return key

    def _after(self, node: Node, before: Node) -> tuple[Group, ...]:
        groups, state = self._known[id(before)], before.state
        if state.kind != "chance":
            step = state.asks[0].step
            return (*groups, frozenset((step, *part) for part in made(node).items()))
        step = state.draws[0]
        whom = " ".join(state.draws[1]) or self._owner(before, self._draws[step])
        drawn = before.before is not None and before.before.state.kind == "chance"
        here = groups[-1] if drawn else frozenset()
        many = sum(each[:2] == (step, whom) for each in here)
        return (*(groups[:-1] if drawn else groups), here | {(step, whom, many, node.drawn)})

    def _owner(self, node: Node, step: Draw) -> str:
        """The seat that a draw without an index is for, if it is for one: whose part of the state
        it goes to, or who acts and is alone to see it, or not to."""
        ir, state = self._ir, node.state
        if step.place is not None:
            scope = Scope(ir.seats, state.variables, ir.lets_by_name, state.streams, acting(state))
            return next((key for key in path_of_place(step.place, scope) if key in ir.seats), "")
        return (acting(state) or "") if step.readers.kind in ("owner", "others") else ""


def _history_text(key: tuple[Group, ...]) -> str:
    """Returns the end of a history in words."""
    parts = []
    for group in key:
        steps: dict[str | int, list[str]] = {}
        for step, whom, *_, what in sorted(group, key=str):
            steps.setdefault(step, []).append(f"{whom} {what}".strip())
        parts += [f"{step}: {', '.join(each)}" for step, each in steps.items()]
    return "; ".join(parts[-12:]) or "at the start"


def _like(node: Node) -> _Like:
    state = node.state
    odds = prod(
        (before.state.outcomes[after.move[0]].probability
         for before, after in pairwise(path_of(node)) if before.state.kind == "chance"),
        start=Fraction(1),
    )  # fmt: skip
    asked = frozenset(
        (ask.seat, ask.step, frozenset(ask.legal),
         frozenset((e.step, e.occurrence, e.seat, e.name) for e in state.seen(ask.seat)))
        for ask in state.asks
    )  # fmt: skip
    return _Like(odds, asked, frozenset(state.payoffs.items() if state.kind == "end" else ()))


def _difference(swap: _Swap, like: _Like, twin: _Like) -> tuple[str, tuple[str, ...]]:
    """Returns the feature that differs, empty for none, and lines that show it."""
    if like.odds != twin.odds:
        return "the odds of chance differ", (f"with odds of {twin.odds}, not {like.odds}",)
    asked = swap.asked(like.asked)
    if asked != twin.asked:
        if {each[:2] for each in asked} != {each[:2] for each in twin.asked}:
            names = ", ".join(sorted({str(each[0]) for each in twin.asked})) or "nobody"
            wanted = ", ".join(sorted({str(each[0]) for each in asked})) or "nobody"
            return "others are asked", (f"asked: {names}, not {wanted}",)
        return "what they may choose, or have seen, differs", _unlike(asked, twin.asked)
    same = {(swap(seat), amount) for seat, amount in like.paid} == twin.paid
    return "" if same else "the payoffs are not exchanged", ()


def _unlike(asked: Asked, twin: Asked) -> tuple[str, ...]:
    """Returns the options or observations of an asked seat that are in one history and not in
    the other."""
    seat, step, legal, seen = min(asked - twin, key=str)
    others = next(each for each in twin if each[:2] == (seat, step))
    if legal != others[2]:
        may, might = (", ".join(sorted(map(str, each))) for each in (others[2], legal))
        return (f"`{seat}` may choose {may}, not {might}",)
    has, had = (
        ", ".join(f"{e[2]}.{e[0]}={e[3]}".lstrip(".") for e in sorted(part, key=str)) or "nothing"
        for part in (others[3] - seen, seen - others[3])
    )
    return (f"`{seat}` has seen {has}, not {had}",)


class _Swap:
    """Exchanges two seats wherever a text names one."""

    def __init__(self, one: str, other: str) -> None:
        self._twin = {one: other, other: one}
        self._known: dict[Group, Group] = {}
        self._word = re.compile(rf"(?<!\w)({re.escape(one)}|{re.escape(other)})(?!\w)")

    def __call__(self, text: str) -> str:
        return self._word.sub(lambda found: self._twin[found[0]], text)

    def key(self, groups: tuple[Group, ...]) -> tuple[Group, ...]:
        return tuple(map(self._group, groups))

    def _group(self, group: Group) -> Group:
        if group not in self._known:
            self._known[group] = frozenset(
                (step, *(self(part) if isinstance(part, str) else part for part in rest))
                for step, *rest in group
            )
        return self._known[group]

    def asked(self, asked: Asked) -> Asked:
        return frozenset(
            (self(seat), step, frozenset(map(self, legal)),
             frozenset((e, n, self(whose), self(name)) for e, n, whose, name in seen))
            for seat, step, legal, seen in asked
        )  # fmt: skip


def total_of(payoffs: Amounts) -> Fraction:
    """Returns the sum of all payoffs."""
    return sum(map(Fraction, payoffs.values()), Fraction())


def amounts_of(payoffs: Amounts) -> str:
    """Returns amounts as text: `first 1, second -1`."""
    return ", ".join(f"{seat} {amount}" for seat, amount in payoffs.items())


def _paying(ir: GameIR) -> tuple[Note, ...]:
    """Returns the place of the payoffs, for a note."""
    spans = dict.fromkeys(payoff.span for _, payoff in ir.payoffs)
    return tuple(Note(span, "paid here") for span in [*spans][:1])
