"""Reads an extensive game: its nodes, in the order in which a walk down the tree meets them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.spans import Span
from gamedsl.imports.tokens import Token, TokenReader


@dataclass(frozen=True, eq=False)
class InfoSet:
    """An information set of a player, or (`player` is 0) a chance move; `odds` are parallel to
    the actions of a chance move. Compared by identity."""

    player: int
    number: int
    label: str
    actions: tuple[str, ...]
    odds: tuple[Fraction, ...]
    span: Span = field(repr=False)


@dataclass(eq=False)
class EfgNode:
    """A node of the tree: a move of `set`, or an end if that is None. `paid` has the payoff of each
    player here."""

    set: InfoSet | None
    paid: tuple[Fraction, ...]
    span: Span = field(repr=False)
    parent: EfgNode | None = field(default=None, repr=False)
    children: list[EfgNode] = field(default_factory=list, repr=False)

    @property
    def full(self) -> bool:
        """Whether every action has its child."""
        return self.set is None or len(self.children) == len(self.set.actions)


@dataclass(frozen=True)
class Extensive:
    """An extensive game as it was written; `nodes` come in prefix order, the root first."""

    title: str
    comment: str
    players: tuple[str, ...]
    sets: tuple[InfoSet, ...]
    nodes: tuple[EfgNode, ...]


def read_efg(reader: TokenReader) -> Extensive:
    """The game behind `EFG 2 R`. Raises WrongFile, with problems."""
    title = reader.text("a title in quotes").text
    players = reader.texts("a player's name in quotes")
    if not players:
        reader.fail("GD0802", "a game needs a player", reader.next.span, "none before this")
    comment = reader.take().text if reader.next.kind == "text" else ""
    body = _Body(reader, tuple(token.text for token in players))
    nodes = body.nodes()
    return Extensive(title, comment, body.players, tuple(body.sets.values()), nodes)


class _Body:
    """Reads nodes, and keeps the sets and outcomes that they share."""

    def __init__(self, reader: TokenReader, players: tuple[str, ...]) -> None:
        self.reader = reader
        self.players = players
        self.sets: dict[tuple[int, int], InfoSet] = {}
        self._outcomes: dict[int, tuple[tuple[Fraction, ...], Span]] = {}

    def nodes(self) -> tuple[EfgNode, ...]:
        """All nodes; after a node with actions stand its children's subtrees, in their order."""
        found: list[EfgNode] = []
        open: list[EfgNode] = []
        while open or not found:
            node = self._node(open[-1] if open else None)
            found.append(node)
            if node.parent is not None:
                node.parent.children.append(node)
            open.append(node)
            while open and open[-1].full:
                open.pop()
        self.reader.done("the last node of the tree")
        return self._possible(found)

    def _possible(self, nodes: list[EfgNode]) -> tuple[EfgNode, ...]:
        """The nodes that are not below an outcome which chance never brings; `sets` are then those
        of these nodes, with the other outcomes."""
        sets = {
            one: replace(
                one,
                actions=tuple(a for a, p in zip(one.actions, one.odds, strict=True) if p),
                odds=tuple(p for p in one.odds if p),
            )
            for one in self.sets.values()
            if 0 in one.odds
        }
        if not sets:
            return tuple(nodes)
        found, pending = [], nodes[:1]
        while pending:
            node = pending.pop()
            found.append(node)
            if node.set in sets:
                odds = node.set.odds
                node.children = [n for n, p in zip(node.children, odds, strict=True) if p]
                node.set = sets[node.set]
            pending += reversed(node.children)
        left = {node.set for node in found}
        kept = {place: sets.get(one, one) for place, one in self.sets.items()}
        self.sets = {place: one for place, one in kept.items() if one in left}
        return tuple(found)

    def _node(self, parent: EfgNode | None) -> EfgNode:
        kind = self.reader.next
        if kind.kind != "word" or kind.text not in ("c", "p", "t"):
            where = ""
            if parent is not None and parent.set is not None:
                where = f' for the action "{parent.set.actions[len(parent.children)]}"'
            self.reader.expected(f"a node (`c`, `p` or `t`){where}")
        self.reader.take()
        self.reader.text("the node's name in quotes")
        if kind.text == "c":
            info = self._chance()
        elif kind.text == "p":
            info = self._personal()
        else:
            info = None
        return EfgNode(info, self._outcome(), kind.span, parent)

    def _chance(self) -> InfoSet:
        start = self.reader.next.span
        number = self.reader.count("the number of a chance move")
        label = self._label()
        if not self.reader.opens():
            return self._info_set(0, number, start)
        actions, odds = [], []
        while not self.reader.closes():
            actions.append(self.reader.text("an outcome of chance in quotes or `}`"))
            place = self.reader.next.span
            odds.append(self.reader.number("its probability"))
            if odds[-1] < 0:
                self.reader.fail(
                    "GD0804", f"a probability is {odds[-1]}, and must not be below 0", place,
                    "chance cannot bring this", "delete this outcome, and all nodes below it",
                )  # fmt: skip
            if odds[-1] == 0 and (0, number) not in self.sets:
                self.reader.problems.add(
                    "GD0810", f'chance never brings "{actions[-1].text}": it is left out', place,
                    why="and all nodes below it", severity="note",
                    help="nothing need be done: all that can happen is the same without it",
                )  # fmt: skip
        if sum(odds) != 1:
            self.reader.problems.add(
                "GD0804", f"these probabilities sum to {sum(odds)}, not to 1", start,
                why=f"chance move {number}",
                help="write fractions, such as `1/3`: 0.333 is not a third",
            )  # fmt: skip
        return self._set(InfoSet(0, number, label, _texts(actions), tuple(odds), start))

    def _personal(self) -> InfoSet:
        place = self.reader.next.span
        player = self.reader.count("the number of a player")
        if not 1 <= player <= len(self.players):
            self.reader.fail(
                "GD0805", f"there is no player {player}", place,
                f"they are numbered 1 to {len(self.players)}",
            )  # fmt: skip
        start = self.reader.next.span
        number = self.reader.count("the number of an information set")
        label = self._label()
        if (self.reader.next.kind, self.reader.next.text) != ("brace", "{"):
            return self._info_set(player, number, start)
        actions = self.reader.texts("an action's name in quotes")
        return self._set(InfoSet(player, number, label, _texts(actions), (), start))

    def _label(self) -> str:
        return self.reader.take().text if self.reader.next.kind == "text" else ""

    def _info_set(self, player: int, number: int, span: Span) -> InfoSet:
        """A set that was written out before."""
        known = self.sets.get((player, number))
        if known is None:
            self.reader.fail(
                "GD0805", f"{_called(player, number)} has no actions", span, "named here first",
                'write them here: `"" { "left" "right" }`',
            )  # fmt: skip
        return known

    def _set(self, info: InfoSet) -> InfoSet:
        """The set that a node names: the one known by its number, which must be alike."""
        if not info.actions:
            self.reader.fail(
                "GD0805", f"{_called(info.player, info.number)} has no actions", info.span,
                "every move needs one",
            )  # fmt: skip
        known = self.sets.setdefault((info.player, info.number), info)
        if (known.actions, known.odds) != (info.actions, info.odds):
            what = "probabilities" if known.actions == info.actions else "actions"
            self.reader.fail(
                "GD0805", f"{_called(info.player, info.number)} has other {what} here", info.span,
                "at this node", "give this node a number of its own, or the same actions",
                (Note(known.span, "written here first"),),
            )  # fmt: skip
        return known

    def _outcome(self) -> tuple[Fraction, ...]:
        """Reads the payment at a node: nothing for outcome 0, else the payoffs here or those of
        an earlier node."""
        reader, players = self.reader, len(self.players)
        start = reader.next.span
        number = reader.count("the number of an outcome")
        if reader.next.kind == "text":
            reader.take()
        known = self._outcomes.get(number)
        if not reader.opens():
            if number == 0:
                return (Fraction(0),) * players
            if known is None:
                reader.fail(
                    "GD0806", f"outcome {number} has no payoffs", start, "named here first",
                    f"write them here: `{number} \"\" {{ {', '.join(['0'] * players)} }}`",
                )  # fmt: skip
            return known[0]
        paid = reader.payoffs(players, f"outcome {number}", start, "written here")
        if known is not None and known[0] != paid:
            reader.fail(
                "GD0806", f"outcome {number} pays something else here", start, "at this node",
                "give it a number of its own", (Note(known[1], "written here first"),),
            )  # fmt: skip
        self._outcomes.setdefault(number, (paid, start))
        return paid


def _texts(tokens: list[Token] | tuple[Token, ...]) -> tuple[str, ...]:
    return tuple(token.text for token in tokens)


def _called(player: int, number: int) -> str:
    if player == 0:
        return f"chance move {number}"
    return f"information set {number} of player {player}"
