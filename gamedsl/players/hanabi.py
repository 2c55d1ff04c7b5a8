"""A player of Hanabi that keeps a convention, and sees its own view alone.

Everybody reads a hint the same way. A colour says: play the oldest card that it touches. A rank
says: play the newest card that it touches, unless it touches the oldest card of the hand; then it
says that nothing is to be played. What a hint asks to be played is a card that could be played when
it was given. With two cards in hand, whatever they are, there is a hint for either card and for
none.

The table that all players share is worked out from what a seat has seen; of its own cards a seat
knows what the table says, less the cards that it sees elsewhere. Who hints tries out how it would
be read, and never gives a hint by which a wrong card would be played.

Of two players, each also reads every move of the other, and that no hint was given: of the hands
that it may hold, those are left with which the other would have done the same. The convention is a
rule, so both know what is left (public beliefs: Foerster et al. 2019; hats: Cox et al. 2015).
`hanabi_convention:hints` reads hints and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import log, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from gamedsl.players.base import DrawingPlayer, Player, PlayerError, PlayerRequest, PlayerSpec

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode, Game

Card = tuple[str, int]
Hands = Mapping[str, Sequence[Card]]

RISK = 0.3
"""How likely a card is the last of its kind that is not discarded while there are two hints."""

HANDS = 64
"""Of a hand that may be more than this, other players' moves say nothing."""

_TABLES = 4096
_PARAMS = ("colours", "copies", "hand_size", "clues", "lives")


class HanabiPlayer(DrawingPlayer):
    """Plays `hanabi` and what extends it, with partners who keep the same convention."""

    def __init__(self, game: Game, *, moves: bool = True, seed: int = 0) -> None:
        """moves: whether it reads all moves, or hints alone. `PlayerError` for another game."""
        super().__init__(seed=seed)
        if any(name not in game.params for name in _PARAMS):
            raise PlayerError(
                f"`{game.name}` is not Hanabi", "take a player that fits it, such as `random`"
            )
        self._params, self._seats = game.params, tuple(game.ir.seats)
        self._moves = moves and len(self._seats) == 2
        self._after = lru_cache(_TABLES)(self._knowledge_after)

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        chosen = self.choose(decision.view)
        return [float(name == chosen) for name in decision.legal]

    def choose(self, view: Mapping[str, Any]) -> str:
        """The action at a view, as `Decision.view` has it."""
        table, hands = self.table(view)
        return HanabiTurn(table, view["seat"], hands, tuple(view["legal"])).choose()

    def table(self, view: Mapping[str, Any]) -> tuple[PublicKnowledge, Hands]:
        """Returns the public knowledge, and the hands that the seat sees."""
        hands: dict[str, list[Card]] = {s: [] for s in self._seats if s != view["seat"]}
        moves: tuple[HanabiMove, ...] = ()
        events = iter(view["seen"])
        for event in events:
            verb, arguments = _parsed(event["name"])
            if verb == "hint":
                touched = next(events)["name"].strip("{}").split()
                moves += (HanabiMove(event["name"], event["seat"], tuple(map(int, touched))),)
            elif verb in ("play", "discard"):
                (slot,) = map(int, arguments)
                if event["seat"] in hands:
                    del hands[event["seat"]][slot]
                moves += (HanabiMove(event["name"], event["seat"], _card(next(events)["name"])),)
            elif event["seat"] in hands:
                hands[event["seat"]].append(_card(event["name"]))
        return self._after(moves), hands

    def _knowledge_after(self, moves: tuple[HanabiMove, ...]) -> PublicKnowledge:
        """Returns the public knowledge after some moves; cached for continuations of them."""
        if not moves:
            return PublicKnowledge(self._params, self._seats)
        table, move = self._after(moves[:-1]).copy(), moves[-1]
        verb, arguments = _parsed(move.name)
        other = next(seat for seat in self._seats if seat != move.seat)
        meant = table.meant(move, other) if self._moves else []
        if verb == "hint":
            table.hint(arguments[0], arguments[1], move.shown)
        else:
            table.remove(move.seat, int(arguments[0]), move.shown, verb == "play")
        if meant:
            table.maybe[other] = [frozenset(cards) for cards in zip(*meant, strict=True)]
        return table


class HanabiMove(NamedTuple):
    """A seat's action and its public result: the slots that a hint touched, or the card."""

    name: str
    seat: str
    shown: Any


def _parsed(name: str) -> tuple[str, list[str]]:
    verb, bracket, rest = name.partition("(")
    return (verb, rest.rstrip(")").split(",")) if bracket else ("", [])


def _card(name: str) -> Card:
    colour, rank = name.split(",")
    return colour, int(rank)


class PublicKnowledge:
    """Public knowledge: piles, tokens, discarded cards, and the possible values of each card in
    a hand. Slots are counted from the oldest card."""

    def __init__(self, params: Mapping[str, Any], seats: Sequence[str]) -> None:
        copies: Mapping[int, int] = params["copies"]
        self.copies = {(c, r): n for c in params["colours"] for r, n in copies.items()}
        self.pile = dict.fromkeys(params["colours"], 0)
        self.top = max(copies)
        self.clues = self.most_clues = params["clues"]
        self.lives = params["lives"]
        self.gone = dict.fromkeys(self.copies, 0)
        self.seats = tuple(seats)
        size = params["hand_size"]
        self.could = {seat: [frozenset(self.copies)] * size for seat in seats}
        """What a card may be by what was hinted; `maybe` is what it may be if nobody misleads."""
        self.maybe = {seat: list(slots) for seat, slots in self.could.items()}
        self.deck = sum(self.copies.values()) - size * len(seats)

    def copy(self) -> PublicKnowledge:
        new = PublicKnowledge.__new__(PublicKnowledge)
        vars(new).update(vars(self))
        new.pile, new.gone = dict(self.pile), self.gone.copy()
        new.could = {seat: list(slots) for seat, slots in self.could.items()}
        new.maybe = {seat: list(slots) for seat, slots in self.maybe.items()}
        return new

    def playable(self, card: Card) -> bool:
        return card[1] == self.pile[card[0]] + 1

    def dead(self, card: Card) -> bool:
        """Whether it can never be played any more."""
        colour, rank = card
        below = range(self.pile[colour] + 1, rank)
        return rank <= self.pile[colour] or any(
            not self.remaining_copies((colour, r)) for r in below
        )

    def remaining_copies(self, card: Card) -> int:
        """Copies that are neither played nor discarded."""
        return self.copies[card] - self.gone[card]

    def critical(self, card: Card) -> bool:
        """Whether it is the last of a card that is still wanted."""
        return self.remaining_copies(card) == 1 and not self.dead(card)

    def hint(self, seat: str, what: str, touched: Sequence[int]) -> None:
        """A hint is given, and read as everybody reads it."""
        self.clues -= 1
        slots = self.maybe[seat]
        for i, maybe in enumerate(slots):
            fits = frozenset(c for c in self.copies if (what in hints_of(c)) == (i in touched))
            self.could[seat][i] &= fits
            slots[i] = maybe & fits or self.could[seat][i]
        if what in self.pile:
            self._say(seat, [min(touched)], True)
        elif 0 not in touched:
            self._say(seat, [max(touched)], True)
        else:
            self._say(seat, range(len(slots)), False)

    def _say(self, seat: str, slots: Iterable[int], playable: bool) -> None:
        """Cards of a hand can be played, or cannot, where that is possible."""
        maybe = self.maybe[seat]
        for i in slots:
            maybe[i] = frozenset(c for c in maybe[i] if self.playable(c) == playable) or maybe[i]

    def meant(self, move: HanabiMove, seat: str) -> list[tuple[Card, ...]]:
        """The hands that a seat may hold, of those with which the other one does this move; none
        where they are too many to ask."""
        maybe = self.maybe[seat]
        if prod(map(len, maybe)) > HANDS:
            return []
        verb, arguments = _parsed(move.name)
        found = []
        for hand in product(*map(sorted, maybe)):
            if any(count > self.remaining_copies(card) for card, count in Counter(hand).items()):
                continue
            if verb == "hint":
                touched = tuple(i for i, card in enumerate(hand) if arguments[1] in hints_of(card))
                if touched != move.shown:
                    continue
            turn = HanabiTurn(self, move.seat, {seat: hand}, self.legal(move.seat, seat, hand))
            if turn.choose() == move.name:
                found.append(hand)
        return found

    def legal(self, seat: str, other: str, hand: Sequence[Card]) -> tuple[str, ...]:
        """Returns the legal actions of a seat that sees another one's hand."""
        slots = range(len(self.maybe[seat]))
        hints = (
            dict.fromkeys(what for card in hand for what in hints_of(card)) if self.clues else ()
        )
        return (
            *(f"play({i})" for i in slots),
            *(f"discard({i})" for i in slots if self.clues < self.most_clues),
            *(f"hint({other},{what})" for what in hints),
        )

    def remove(self, seat: str, slot: int, card: Card, played: bool) -> None:
        """A card is played or discarded, and another drawn if there is one."""
        del self.could[seat][slot], self.maybe[seat][slot]
        self.gone[card] += 1
        if not played:
            self.clues += 1
        elif self.playable(card):
            self.pile[card[0]] += 1
            self.clues = min(self.clues + (card[1] == self.top), self.most_clues)
        else:
            self.lives -= 1
        if self.deck:
            self.deck -= 1
            self.could[seat].append(frozenset(self.copies))
            self.maybe[seat].append(frozenset(self.copies))

    def known(self, seat: str, others: Mapping[Card, int]) -> list[frozenset[Card]]:
        """Returns the possible values of each card of a seat, for an observer who sees these
        other cards."""
        return [
            frozenset(c for c in maybe if self.remaining_copies(c) > others.get(c, 0)) or maybe
            for maybe in self.maybe[seat]
        ]

    def plays(self, seat: str, others: Mapping[Card, int]) -> list[int]:
        """The slots of which a seat knows that they can be played."""
        return [
            i for i, maybe in enumerate(self.known(seat, others)) if all(map(self.playable, maybe))
        ]


class HanabiTurn:
    """One decision of a seat: what all know, and the hands that it sees."""

    def __init__(
        self, table: PublicKnowledge, seat: str, hands: Hands, legal: Sequence[str]
    ) -> None:
        self.table, self.seat, self.hands, self.legal = table, seat, hands, legal
        self.seen = Counter(card for hand in hands.values() for card in hand)
        seats = table.seats
        self.next = seats[(seats.index(seat) + 1) % len(seats)]

    def choose(self) -> str:
        """Play what is known, unless who is next would throw away the last of a card and a hint
        helps; else ask for a card that can be played; else discard, unless that is a risk and there
        are hints to spare; else hint that nothing can be played."""
        plays = self.table.plays(self.seat, self.seen)
        hints = sorted(self._hints(), reverse=True)
        best = hints[0] if hints and hints[0].fair else None
        saves = best is not None and best.safe and not self._safe(self.table)
        if plays and not saves:
            return f"play({self._first(plays)})"
        if best is not None and best.plays:
            return best.name
        discards = [name for name in self.legal if name.startswith("discard")]
        slot, risk = self._least_wanted()
        waits = best is not None and self.table.clues > 1 and risk >= RISK
        if discards and not saves and not waits:
            return f"discard({slot})"
        return hints[0].name if hints else (discards or self.legal)[0]

    def _first(self, plays: Sequence[int]) -> int:
        """Which of several cards to play: one of the lowest rank, the oldest of these."""
        known = self.table.known(self.seat, self.seen)
        return min(plays, key=lambda i: (min(rank for _, rank in known[i]), i))

    def _hints(self) -> Iterator[Hint]:
        """Yields the possible hints with their effects."""
        for name in self.legal:
            verb, arguments = _parsed(name)
            if verb != "hint":
                continue
            to, what = arguments
            hand, others = self.hands[to], self._visible_cards(to)
            after = self.table.copy()
            after.hint(to, what, [i for i, card in enumerate(hand) if what in hints_of(card)])
            before, now = self.table.maybe[to], after.maybe[to]
            plays = after.plays(to, others)
            true = all(card in maybe for card, maybe in zip(hand, now, strict=True))
            fair = true and all(self.table.playable(hand[i]) for i in plays)
            more = {hand[i] for i in plays} - {hand[i] for i in self.table.plays(to, others)}
            kept = sum(
                share(maybe, after.critical)
                for card, maybe in zip(hand, now, strict=True)
                if after.critical(card)
            )
            nats = sum(log(len(b) / len(n)) for b, n in zip(before, now, strict=True))
            yield Hint(fair, self._safe(after), len(more), kept, nats, name)

    def _safe(self, table: PublicKnowledge) -> bool:
        """Whether who is next plays, or would discard nothing that is the last of its kind."""
        if table.plays(self.next, self._visible_cards(self.next)):
            return True
        slot = least_wanted(table, table.maybe[self.next])
        return not table.critical(self.hands[self.next][slot])

    def _visible_cards(self, seat: str) -> Counter[Card]:
        """The cards that both this seat and another one see."""
        return self.seen - Counter(self.hands[seat])

    def _least_wanted(self) -> tuple[int, float]:
        """Returns the slot to discard and its probability of being useless: a card that surely
        is of no use; else the card that all others expect, since they would have hinted at the
        last of its kind."""
        table = self.table
        known = table.known(self.seat, self.seen)
        for slot, maybe in enumerate(known):
            if all(table.dead(card) or self.seen[card] for card in maybe):
                return slot, 0.0
        slot = least_wanted(table, table.maybe[self.seat])
        return slot, share(
            known[slot], table.critical, lambda c: table.remaining_copies(c) - self.seen[c]
        )


class Hint(NamedTuple):
    """The effects of a hint; better ones compare larger. `fair`: its meaning is true, and no
    wrong card is played for it. `safe`: the next player then loses nothing. `plays`: the number
    of cards that it asks for. `kept`: how well it marks cards that are the last of their kind.
    `nats`: its information about a hand, in nats."""

    fair: bool
    safe: bool
    plays: int
    kept: float
    nats: float
    name: str


def hints_of(card: Card) -> tuple[str, str]:
    """Returns the two hints that touch a card."""
    return card[0], str(card[1])


def least_wanted(table: PublicKnowledge, known: Sequence[frozenset[Card]]) -> int:
    """The slot that is least likely to hold the last of a card; of several, the least likely to be
    wanted at all; then the oldest."""

    def risk(slot: int) -> tuple[float, float, int]:
        last = share(known[slot], table.critical, table.remaining_copies)
        return last, 1 - share(known[slot], table.dead, table.remaining_copies), slot

    return min(range(len(known)), key=risk)


def share(
    cards: Iterable[Card], of: Callable[[Card], bool], weight: Callable[[Card], int] = lambda c: 1
) -> float:
    """Returns the probability that one of some cards is of a kind, by their weights."""
    weights = {card: weight(card) for card in cards}
    return sum(n for card, n in weights.items() if of(card)) / (sum(weights.values()) or 1)


def _open_hanabi(request: PlayerRequest) -> Player:
    if request.argument not in ("", "hints"):
        raise PlayerError(
            f"`hanabi_convention` has no setting `{request.argument}`",
            "write `hanabi_convention:hints`, or leave it out",
        )
    return HanabiPlayer(request.game, moves=not request.argument, seed=request.seed)


PLAYER = PlayerSpec(
    "[hints]",
    "a convention by which hints ask for cards; sees its view alone; with `hints` it reads nothing"
    " into other moves",
    "`hanabi` and what extends it",
    _open_hanabi,
)
