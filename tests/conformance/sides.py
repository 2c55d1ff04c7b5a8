"""A game of ours and one of theirs in the same form, and the agreement that compares them.

Where several act at once there is one node per actor, in seat order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from gamedsl import Action

Kind = Literal["chance", "decision", "terminal"]


@dataclass(frozen=True)
class Agreement:
    """The agreement by which a game of ours is compared with one of theirs.

    `action` and `chance` give for a canonical name of ours what theirs calls it: the number of an
    action, or the string that `action_to_string` gives for it.

    `information` says what of theirs is the information state of the seat to act:
    - `state`: `information_state_string`.
    - `observation`: `observation_string`, where that holds all that the seat has seen.
    - `observations`: the sequence of the seat's observation strings and of all players' actions,
      for games whose information state OpenSpiel does not give and whose actions are public.
    - None: not compared.

    `ours_has` and `theirs_has` name the kinds of nodes without a choice (one chance outcome, one
    legal action) that stand on that side only.

    `given` is for games of theirs that draw at random what they do not list as outcomes: from a new
    state of theirs, behind these draws, it gives what ours has to draw before. Their odds are not
    compared.

    `paid` is the stream of ours whose sums so far are their returns so far; None where nothing is
    paid before the end.
    """

    action: Callable[[int, str], int | str]
    chance: Callable[[str], int | str] = int
    information: Literal["state", "observation", "observations"] | None = "state"
    ours_has: frozenset[Kind] = frozenset()
    theirs_has: frozenset[Kind] = frozenset()
    given: Callable[[Any], Iterable[str]] | None = None
    paid: str | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One point of a game: `options` are names of ours, or numbers of actions of theirs."""

    kind: Kind
    seat: int
    options: tuple[Any, ...]
    odds: tuple[Any, ...] = ()


class Ours:
    """A place in our game: an episode, and what has been chosen of a step under way."""

    __slots__ = ("chosen", "episode", "seats")

    def __init__(self, episode: Any, seats: tuple[str, ...], chosen: tuple[str, ...] = ()) -> None:
        self.episode, self.seats, self.chosen = episode, seats, chosen

    def node(self) -> Node:
        if self.episode.done:
            return Node("terminal", -1, ())
        if self.episode.chance:
            outcomes = self.episode.chance
            return Node(
                "chance", -1,
                tuple(o.name for o in outcomes), tuple(o.probability for o in outcomes),
            )  # fmt: skip
        asked = self.episode.decisions[len(self.chosen)]
        return Node("decision", self.seats.index(asked.seat), tuple(asked.legal))

    def after(self, node: Node, i: int) -> Ours:
        if node.kind == "chance":
            episode = self.episode.fork()
            episode.draw(i)
            return Ours(episode, self.seats)
        chosen = (*self.chosen, node.options[i])
        asked = self.episode.decisions
        if len(chosen) < len(asked):
            return Ours(self.episode, self.seats, chosen)
        episode = self.episode.fork()
        episode.step({d.seat: Action(name) for d, name in zip(asked, chosen, strict=True)})
        return Ours(episode, self.seats)

    def given(self, names: Iterable[str]) -> Ours:
        """Returns the place behind draws of chance, by their names."""
        at = self
        for name in names:
            node = at.node()
            at = at.after(node, node.options.index(name))
        return at

    def keys(self) -> tuple[Hashable, Hashable]:
        """Returns the information of the seat to act, as the decision and as the episode name
        it."""
        asked = self.episode.decisions[len(self.chosen)]
        return hash(asked.information_set), hash((asked.seat, self.episode.information(asked.seat)))

    def returns(self, paid: str | None = None) -> list[Any]:
        """Returns the payoffs at the end, or before it what a stream has paid so far."""
        paid_to = self.episode.paid[paid] if paid else self.episode.payoffs
        return [paid_to[seat] for seat in self.seats]


class Theirs:
    """A place in their game; `observed` is what each player has observed, hashed as it goes."""

    __slots__ = ("agreement", "chosen", "observed", "state")

    def __init__(
        self,
        state: Any,
        agreement: Agreement,
        chosen: tuple[int, ...] = (),
        observed: tuple[int, ...] = (),
    ) -> None:
        self.state, self.agreement = state, agreement
        self.chosen, self.observed = chosen, observed

    def begun(self) -> Theirs:
        """Returns the place with what the players see before anything is done."""
        return Theirs(self.state, self.agreement, (), self._observe(self.state, self.node(), None))

    def node(self) -> Node:
        state = self.state
        if state.is_terminal():
            return Node("terminal", -1, ())
        if state.is_chance_node():
            actions, odds = zip(*state.chance_outcomes(), strict=True)
            return Node("chance", -1, actions, odds)
        seat = len(self.chosen) if state.is_simultaneous_node() else state.current_player()
        return Node("decision", seat, tuple(state.legal_actions(seat)))

    def after(self, node: Node, i: int) -> Theirs:
        action = node.options[i]
        if self.state.is_simultaneous_node():
            chosen = (*self.chosen, action)
            if len(chosen) < self.state.num_players():
                return Theirs(self.state, self.agreement, chosen, self.observed)
            state = self.state.clone()
            state.apply_actions(list(chosen))
        else:
            state = self.state.child(action)
        return Theirs(state, self.agreement, (), self._observe(state, node, action))

    def label(self, node: Node, action: int) -> str:
        return str(self.state.action_to_string(node.seat, action))

    def key(self, seat: int) -> Hashable:
        if self.agreement.information == "state":
            return hash((seat, self.state.information_state_string(seat)))
        if self.agreement.information == "observation":
            return hash((seat, self.state.observation_string(seat)))
        return hash((seat, self.observed[seat]))

    def returns(self) -> list[float]:
        return list(self.state.returns())

    def _observe(self, state: Any, node: Node, action: int | None) -> tuple[int, ...]:
        if self.agreement.information != "observations":
            return ()
        act = action if node.kind == "decision" else None
        before = self.observed or (0,) * state.num_players()
        return tuple(
            hash((behind, act, state.observation_string(player)))
            for player, behind in enumerate(before)
        )
