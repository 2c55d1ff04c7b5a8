"""Claims about the rewards of every play: those of the reward file, and whether rewards preserve
the incentives of each seat's payoff.

They do if a seat's reward is, in all plays, a positive multiple of its own payoff plus an amount
that does not depend on what the seat does: then expected rewards and payoffs rank all its
strategies alike, whatever the others do, and the equilibria are the same (Moulin and Vial, 1978).
They do not if there are two plays that differ in the seat's own choices alone, of which its payoff
prefers one and its reward does not. Between the two nothing is decided: a reward that ranks plays
as the payoff does may still weigh risks differently.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from gamedsl.analysis.claims import amounts_of, total_of
from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.nodes import Node, history_lines, history_text, made, path_of, replay
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.ir.expr import Get, Me, Stream
from gamedsl.ir.game import Claim, GameIR

if TYPE_CHECKING:
    from gamedsl.recipe.table import Recipe

_SAID = {
    "zero_sum": "the rewards of every play sum to 0",
    "keeps_sum": "the rewards of every play sum to what its payoffs sum to",
    "common": "all are rewarded the same in every play",
}

INCENTIVES = "rewards leave to every seat the incentives that its payoff gives"


def check_reward_claims(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """GD0610: the rewards of a play are not what the reward file claims."""
    for claim in sample.ir.reward.claims:
        name, said = f"rewards.{claim.kind}", _SAID[claim.kind]
        wrong = next((end for end in sample.ends if _refutes(claim, end)), None)
        if wrong is not None:
            yield _refuted(sample, claim, wrong, problems)
        elif sample.failure is not None or not sample.ends:
            yield Proof(name, said, "undecided", "no play comes to its end, or one fails")
        else:
            yield Proof(name, said, sample.grade, sample.extent)


def _refutes(claim: Claim, end: Node) -> bool:
    rewards = end.rewards
    if claim.kind == "common":
        return len(set(rewards.values())) > 1
    return total_of(rewards) != (total_of(end.payoffs) if claim.kind == "keeps_sum" else 0)


def _refuted(sample: HistorySample, claim: Claim, wrong: Node, problems: Problems) -> Proof:
    reward, state = sample.ir.reward, wrong.state
    sums = f"sum {total_of(state.rewards)}"
    witness = (
        *history_lines(wrong), f"payoffs: {amounts_of(state.payoffs)}; their sum is "
        f"{total_of(state.payoffs)}", f"rewards: {amounts_of(state.rewards)}; their {sums}",
    )  # fmt: skip
    problems.add(
        "GD0610", f"the reward `{reward.name}` is not as its file claims: {_SAID[claim.kind]}",
        reward.use, why="used here", notes=(Note(claim.span, "claimed of every game"),),
        help=f"{'set its params otherwise' if reward.places else 'correct its `split`'}, "
        "or delete the claim",
        witness=witness,
    )  # fmt: skip
    return Proof(
        f"rewards.{claim.kind}", _SAID[claim.kind], "refuted", sample.extent, ("GD0610",), witness,
        (replay(wrong),),
    )  # fmt: skip


def check_incentives(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """GD0611, a note: a seat's reward does not prefer what its payoff prefers. It is not noted
    where a reward that claims to be `common` is not: then that is to be corrected first."""
    name = "rewards.incentives"
    if _own_payoff(sample.ir):
        yield Proof(name, INCENTIVES, "proved", "each is rewarded with its own payoff")
        return
    for seat in sample.ir.seats:
        pair = _reversal(sample, seat)
        if pair is not None:
            yield _reversed(sample, seat, pair, problems)
            return
    if not sample.whole:
        why = f"no play against it in {sample.extent}, which is too few to say so"
        yield Proof(name, INCENTIVES, "undecided", why)
        return
    odd = next((seat for seat in sample.ir.seats if not _multiple(sample, seat)), None)
    if odd is None:
        how = "each reward is a positive multiple of the own payoff plus what others decide"
        yield Proof(name, INCENTIVES, "enumerated", f"{sample.extent}: {how}")
    else:
        why = f"`{odd}`'s reward ranks plays as its payoff does, but is no multiple of it"
        yield Proof(name, INCENTIVES, "undecided", why)


def _own_payoff(ir: GameIR) -> bool:
    """Whether each is rewarded with its own payoff; by its form, for every game."""
    split = ir.reward.split
    return (
        isinstance(split, Get) and isinstance(split.of, Stream) and split.of.name == "payoff"
        and isinstance(split.key, Me)
    )  # fmt: skip


Context = tuple[object, ...]
"""What chance brings and all others choose in a play, in order, without what a seat chooses."""


def _context(end: Node, seat: str) -> Context:
    found: list[object] = []
    for after in path_of(end):
        found.append(tuple((who, what) for who, what in made(after).items() if who != seat))
    return tuple(part for part in found if part)


def _by_context(sample: HistorySample, seat: str) -> dict[Context, list[Node]]:
    found: dict[Context, list[Node]] = {}
    for end in sample.ends:
        found.setdefault(_context(end, seat), []).append(end)
    return found


def _reversal(sample: HistorySample, seat: str) -> tuple[Node, Node] | None:
    """Two plays that differ in the seat's own choices alone: its payoff prefers the second, and its
    reward does not; or it is indifferent, and its reward is not."""
    for ends in _by_context(sample, seat).values():
        ends.sort(key=lambda end: (end.payoffs[seat], end.rewards[seat]))
        for one, other in pairwise(ends):
            better = other.payoffs[seat] > one.payoffs[seat]
            paid, before = other.rewards[seat], one.rewards[seat]
            if (paid <= before) if better else paid != before:
                return one, other
    return None


def _multiple(sample: HistorySample, seat: str) -> bool:
    """Whether the reward is a positive multiple of the payoff, plus an amount that is the same for
    all plays; or, where all choose once, at once and last, for all plays in which the others (and
    chance) do the same."""
    once = all(_is_one_move(end) for end in sample.ends)
    groups = [*_by_context(sample, seat).values()] if once else [sample.ends]
    factors: set[Fraction] = set()
    for ends in groups:
        low, *rest = [(end.payoffs[seat], end.rewards[seat]) for end in ends]
        for payoff, reward in rest:
            if payoff == low[0] and reward != low[1]:
                return False
            if payoff != low[0]:
                factors.add(Fraction(reward - low[1]) / Fraction(payoff - low[0]))
    return len(factors) <= 1 and all(factor > 0 for factor in factors)


def _is_one_move(end: Node) -> bool:
    """Whether all that is chosen in a play is chosen in its last move."""
    kinds = [node.state.kind for node in path_of(end)]
    return kinds.count("decide") == 1 and kinds[-2] == "decide"


def _reversed(
    sample: HistorySample, seat: str, pair: tuple[Node, Node], problems: Problems
) -> Proof:
    reward = sample.ir.reward
    better = pair[0].payoffs[seat] < pair[1].payoffs[seat]
    lines = [
        f"{history_text(end)}: `{seat}` has payoff {end.payoffs[seat]}, reward {end.rewards[seat]}"
        for end in pair
    ]
    witness = (*lines, "the others, and chance, do the same in both")
    prefers = "does not prefer what its payoff prefers" if better else (
        "prefers one of two plays that its payoff finds equally good"
    )  # fmt: skip
    common = any(claim.kind == "common" for claim in reward.claims)
    noted = not (common and any(d.code == "GD0610" for d in problems.found))
    if noted:
        problems.add(
            "GD0611", f"under `{reward.name}` the reward of `{seat}` {prefers}", reward.use,
            severity="note", why="equilibria of rewards may be others than those of payoffs",
            help="use another reward, or keep it, if this is meant: what is learned are "
            "equilibria of rewards",
            witness=witness,
        )  # fmt: skip
    codes = ("GD0611",) if noted else ()
    histories = replay(pair[0]), replay(pair[1])
    return Proof(
        "rewards.incentives", INCENTIVES, "refuted", "by the two plays of the witness",
        codes, witness, histories,
    )  # fmt: skip


def check_equilibria(
    ir: GameIR, recipe: Recipe, spans: Mapping[str, Span], proofs: Collection[Proof],
    problems: Problems,
) -> None:  # fmt: skip
    """GD0706: the split of payoffs into rewards moves the equilibria that the method holds.

    `spans` are the places of the recipe's settings.
    """
    from gamedsl.recipe.methods import method_spec

    if not method_spec(recipe.method).mixes or "split" in recipe.allow:
        return
    found = [p for p in proofs if p.name == "rewards.incentives" and p.grade == "refuted"]
    for proof in found:
        problems.add(
            "GD0706",
            f"`{recipe.method}` holds equilibria, and under the reward `{ir.reward.name}` they are"
            " not those of the payoffs",
            spans.get("method", ir.span), why="would hold equilibria of the rewards",
            notes=(Note(ir.reward.use, "the rewards"),), witness=proof.witness,
            help="leave `rewards` out, or write `method: grpo`; to do it all the same,"
            " `allow: [split]`",
        )  # fmt: skip
