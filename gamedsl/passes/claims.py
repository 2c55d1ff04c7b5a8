"""What is true of the payoffs of every play: what a file claims, and what is found unasked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import NamedTuple

from gamedsl.backends.kernel import Amounts
from gamedsl.diagnostics import Note, Problems
from gamedsl.ir.game import Claim, GameIR
from gamedsl.passes.atlas import QUICK, Atlas, Node, made, path_of, replay, told
from gamedsl.passes.proof import Proof


def payoffs_are_as_claimed(atlas: Atlas, problems: Problems) -> Iterator[Proof]:
    """GD0470: payoffs do not sum to what is claimed. GD0471: not all are paid the same. GD0472:
    exchanging two seats changes more than their names. Each with the play.

    What is not claimed and true is reported too.
    """
    claims = {claim.kind: claim for claim in atlas.ir.claims}
    if not atlas.ends or atlas.failure is not None:
        why = "a play fails" if atlas.failure else "no play comes to an end"
        for claim in claims.values():
            yield Proof(_named(claim), _SAID[claim.kind].format(claim.amount), "undecided", why)
        return
    yield from _sum(atlas, claims.get("zero_sum") or claims.get("constant_sum"), problems)
    if "zero_sum" in claims and "constant_sum" in claims:
        yield from _sum(atlas, claims["constant_sum"], problems)
    yield from _common(atlas, claims.get("common_payoff"), problems)
    yield from _symmetric(atlas, claims.get("symmetric"), problems)


_SAID = {
    "zero_sum": "the payoffs of every play sum to 0",
    "constant_sum": "the payoffs of every play sum to {}",
    "common_payoff": "all are paid the same in every play",
    "symmetric": "exchange any two seats, and nothing but their payoffs is exchanged",
}


def _worth_saying(atlas: Atlas) -> bool:
    """Whether what holds of the payoffs met says something of a game: there are several seats, and
    not all plays were paid the same if there are more than these."""
    if len(atlas.ir.seats) < 2:
        return False
    return atlas.whole or len({tuple(end.payoffs.values()) for end in atlas.ends}) > 1


def _named(claim: Claim) -> str:
    return f"claims.{claim.kind}"


def _sum(atlas: Atlas, claim: Claim | None, problems: Problems) -> Iterator[Proof]:
    first = total_of(atlas.ends[0].payoffs)
    total = first if claim is None else claim.amount
    wrong = next((end for end in atlas.ends if total_of(end.payoffs) != total), None)
    name = "claims." + ("zero_sum" if total == 0 else "constant_sum")
    said = _SAID["constant_sum"].format(total)
    if wrong is None:
        if claim is not None or _worth_saying(atlas):
            short = "zero-sum" if total == 0 else f"constant sum {total}"
            yield Proof(name, said, atlas.grade, atlas.extent, short=short)
        return
    if claim is None:
        return
    found = total_of(wrong.payoffs)
    constant = atlas.whole and all(total_of(end.payoffs) == found for end in atlas.ends)
    witness = (*told(wrong), f"payoffs: {amounts_of(wrong.payoffs)}; their sum is {found}")
    problems.add(
        "GD0470", f"the payoffs of this play sum to {found}, not to {total}", claim.span,
        why="claimed of every play", notes=_paying(atlas.ir), witness=witness,
        help=f"write `{{constant_sum: {found}}}`" if constant and found else
        "write `zero_sum`" if constant else "correct the payoffs, or delete this claim",
    )  # fmt: skip
    yield Proof(name, said, "refuted", atlas.extent, ("GD0470",), witness, (replay(wrong),))


def _common(atlas: Atlas, claim: Claim | None, problems: Problems) -> Iterator[Proof]:
    ends = atlas.ends
    wrong = next((end for end in ends if len(set(end.payoffs.values())) > 1), None)
    said = _SAID["common_payoff"]
    if wrong is None:
        if claim is not None or _worth_saying(atlas):
            short = "common payoff"
            yield Proof("claims.common_payoff", said, atlas.grade, atlas.extent, short=short)
    elif claim is not None:
        payoffs = wrong.payoffs
        low, high = (f(payoffs, key=lambda seat: payoffs[seat]) for f in (min, max))
        witness = (*told(wrong), f"payoffs: {amounts_of(payoffs)}")
        problems.add(
            "GD0471", f"in this play `{low}` is paid {payoffs[low]}, and `{high}` {payoffs[high]}",
            claim.span, why="all are paid the same, it is claimed", notes=_paying(atlas.ir),
            help="correct the payoffs, or delete this claim", witness=witness,
        )  # fmt: skip
        codes = ("GD0471",)
        yield Proof(
            "claims.common_payoff", said, "refuted", atlas.extent, codes, witness, (replay(wrong),)
        )


def _symmetric(atlas: Atlas, claim: Claim | None, problems: Problems) -> Iterator[Proof]:
    name, said = "claims.symmetric", _SAID["symmetric"]
    if claim is None and (not atlas.whole or len(atlas.nodes) > QUICK or len(atlas.ir.seats) < 2):
        return
    if not atlas.whole:
        why = f"only whole trees are compared, and this game has {atlas.size}"
        yield Proof(name, said, "undecided", why)
        return
    broken = next(_asymmetries(atlas), None)
    if broken is None:
        yield Proof(name, said, "enumerated", atlas.extent, short="symmetric")
    elif claim is not None:
        problems.add(
            "GD0472", f"exchanging `{broken.one}` and `{broken.other}` changes the game: "
            f"{broken.how}", claim.span, why="it is claimed that no seat is special",
            help="correct the rules or the payoffs, or delete this claim", witness=broken.witness,
        )  # fmt: skip
        codes, histories = ("GD0472",), (replay(broken.node),)
        yield Proof(name, said, "refuted", atlas.extent, codes, broken.witness, histories)


class _Asymmetry(NamedTuple):
    """What differs once two seats are exchanged, after the history `node`."""

    one: str
    other: str
    node: Node
    how: str
    witness: tuple[str, ...]


Group = tuple[str, frozenset[tuple[str, str]]]
"""What happens at a step, in no order: who chooses what, or what chance brings for whom."""


class _Like(NamedTuple):
    """What must be alike in two histories that an exchange of seats makes one of the other: what
    everybody who is asked may choose and has seen; at the end, what is paid; and the odds."""

    odds: Fraction
    asked: frozenset[tuple[object, ...]]
    paid: frozenset[tuple[str, object]]


def _asymmetries(atlas: Atlas) -> Iterator[_Asymmetry]:
    """A game is symmetric if every exchange of two seats (in who acts, whom outcomes are for, and
    in names of seats that are chosen or drawn) makes of every history an equally likely one, in
    which the exchanged seats are asked the same, have seen the same, and are paid the same.
    Exchanges of neighbours are enough: all others are made of them."""
    found: dict[tuple[Group, ...], tuple[Node, _Like]] = {}
    for node in atlas.nodes:
        if node.state.kind != "chance":
            found[_key(node)] = node, _like(node)
    seats = atlas.ir.seats
    for one, other in pairwise(seats):
        swap = _Swap(one, other)
        for key, (node, like) in found.items():
            twin = found.get(swap.key(key))
            how = _difference(swap, like, twin[1]) if twin else "what comes of it cannot happen"
            if how:
                lines = [*told(node)]
                if node.state.kind == "end":
                    lines.append(f"payoffs: {amounts_of(node.payoffs)}")
                if twin is not None and node.state.kind == twin[0].state.kind == "end":
                    lines += ["exchanged:", *told(twin[0])]
                    lines.append(f"payoffs: {amounts_of(twin[0].payoffs)}")
                yield _Asymmetry(one, other, node, how, tuple(lines))


def _key(node: Node) -> tuple[Group, ...]:
    groups: list[tuple[str, bool, dict[str, str]]] = []
    for before, after in pairwise(path_of(node)):
        state, drawn = before.state, before.state.kind == "chance"
        step = state.draws[0] if drawn else state.asks[0].step
        part = made(after)
        last = groups[-1] if groups else None
        if drawn and last and last[:2] == (step, True) and not last[2].keys() & part.keys():
            last[2].update(part)
        else:
            groups.append((step, drawn, dict(part)))
    return tuple((step, frozenset(part.items())) for step, _, part in groups)


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


def _difference(swap: _Swap, like: _Like, twin: _Like) -> str:
    if like.odds != twin.odds:
        return "the odds of chance differ"
    asked = swap.asked(like.asked)
    if asked != twin.asked:
        others = {each[:2] for each in asked} != {each[:2] for each in twin.asked}
        return "others are asked" if others else "what they may choose, or have seen, differs"
    same = {(swap(seat), amount) for seat, amount in like.paid} == twin.paid
    return "" if same else "the payoffs are not exchanged"


class _Swap:
    """Two seats exchanged wherever a text names one."""

    def __init__(self, one: str, other: str) -> None:
        self._twin = {one: other, other: one}
        self._word = re.compile(rf"(?<!\w)({re.escape(one)}|{re.escape(other)})(?!\w)")

    def __call__(self, text: str) -> str:
        return self._word.sub(lambda found: self._twin[found[0]], text)

    def key(self, groups: tuple[Group, ...]) -> tuple[Group, ...]:
        return tuple(
            (step, frozenset((self(who), self(what)) for who, what in part))
            for step, part in groups
        )

    def asked(self, asked: frozenset[tuple[object, ...]]) -> frozenset[tuple[object, ...]]:
        """Every text in it."""

        def exchanged(part: object) -> object:
            if isinstance(part, str):
                return self(part)
            if isinstance(part, tuple | frozenset):
                return type(part)(map(exchanged, part))
            return part

        return frozenset(tuple(map(exchanged, each)) for each in asked)


def total_of(payoffs: Amounts) -> Fraction:
    """What all seats get together."""
    return sum(map(Fraction, payoffs.values()), Fraction())


def amounts_of(payoffs: Amounts) -> str:
    """Amounts for people: `first 1, second -1`."""
    return ", ".join(f"{seat} {amount}" for seat, amount in payoffs.items())


def _paying(ir: GameIR) -> tuple[Note, ...]:
    """Where the payoffs are, for a note."""
    spans = dict.fromkeys(payoff.span for _, payoff in ir.payoffs)
    return tuple(Note(span, "paid here") for span in [*spans][:1])
