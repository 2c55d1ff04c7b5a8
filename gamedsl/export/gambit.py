"""Games as Gambit's files: extensive form (.efg) and strategic form (.nfg), exact in every number.

    Path("kuhn.efg").write_text(to_efg(gamedsl.load("kuhn_poker")))

Players are the seats in order; utilities are payoffs, as fractions (Gambit refuses 0.333… for a
third). The formats: https://gambitproject.readthedocs.io/en/latest/formats.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import Literal

from gamedsl.runtime.game import Game
from gamedsl.solve.imperfect_recall import (
    MAX_PROFILES,
    Strategy,
    TooManyStrategies,
    called,
    strategies,
)
from gamedsl.solve.table import pure_values
from gamedsl.solve.tree import CHANCE, TERMINAL, ImperfectRecall, Tree, require_recall, tabulate


class NormalFormTooLarge(ValueError):
    """The strategic form has more than `MAX_PROFILES` cells. `counts`: strategies of each seat,
    where they were counted: not those of a seat that forgets."""

    def __init__(self, counts: dict[str, int] | None = None) -> None:
        each = (f"{seat} has {_count_text(n)} strategies" for seat, n in (counts or {}).items())
        many = _count_text(prod(counts.values())) if counts else f"more than {MAX_PROFILES:,}"
        sizes = f": {', '.join(each)}" if counts else ""
        super().__init__(f"a strategic form of {many} cells is too large{sizes}; export the tree")
        self.counts = counts or {}


def to_efg(
    game: Game | Tree, *, limit: int = 200_000, forced: Literal["taken", "asked"] = "asked"
) -> str:
    """A game in extensive form.

    Information sets are numbered for each player and labelled by their keys; payoffs stand at the
    ends alone, and equal ones are one outcome. Moves without an alternative are nodes too, unless
    `forced` is "taken". Raises `TooLarge` beyond `limit` nodes.
    """
    tree = game if isinstance(game, Tree) else tabulate(game.env(), limit, forced, forgetful=True)
    lines = [
        f"EFG 2 R {_quoted(_title(game))} {_list(map(_quoted, tree.seats))}",
        _comment(game),
        "",
    ]
    number = _numbers(tree)
    paid: dict[tuple[Fraction, ...], int] = {}
    chances = 0
    pending = [0]
    while pending:
        node = pending.pop()
        info = tree.info[node]
        if info == TERMINAL:
            got = tree.payoffs[node]
            outcome = paid.setdefault(got, len(paid) + 1)
            amounts = ", ".join(map(str, got))
            lines.append(f't "" {outcome} "({amounts})" {{ {amounts} }}')
            continue
        if info == CHANCE:
            chances += 1
            names = zip(tree.outcomes[node], tree.odds[node], strict=True)
            moves = _list(f"{_quoted(name)} {p}" for name, p in names)
            lines.append(f'c "" {chances} "" {moves} 0')
        else:
            here = tree.info_sets[info]
            moves = _list(map(_quoted, here.actions))
            player = tree.owner[info] + 1
            lines.append(f'p "" {player} {number[info]} {_quoted(here.key)} {moves} 0')
        pending += reversed(tree.children[node])
    return "\n".join(lines) + "\n"


def to_nfg(game: Game | Tree, *, limit: int = 200_000) -> str:
    """A game in strategic form, with payoffs written out.

    A strategy says what its seat does wherever its own earlier choices let it come (a reduced
    strategy); it is called by these actions, `*` where it cannot come. Raises `TooLarge` beyond
    `limit` nodes, `NormalFormTooLarge` beyond `MAX_PROFILES` cells.
    """
    tree = game if isinstance(game, Tree) else tabulate(game.env(), limit, forgetful=True)
    found = _strategies(tree)
    named = _list(
        _list(_quoted(called(tree, seat, strategy)) for strategy in own)
        for seat, own in enumerate(found)
    )
    lines = [
        f"NFG 1 R {_quoted(_title(game))} {_list(map(_quoted, tree.seats))}",
        named, _comment(game), "",
    ]  # fmt: skip
    for profile in product(*reversed(found)):  # the first seat's varies fastest
        chosen = {
            tree.info_sets[info].key: tree.info_sets[info].actions[place]
            for strategy in profile
            for info, place in strategy.items()
        }
        lines.append(" ".join(map(str, pure_values(tree, chosen)[1])))
    return "\n".join(lines) + "\n"


def _strategies(tree: Tree) -> list[list[Strategy]]:
    """The reduced strategies of each seat. Raises as `to_nfg`."""
    seats = range(len(tree.seats))
    try:
        require_recall(tree)
    except ImperfectRecall:
        try:
            found = [list(strategies(tree, seat, MAX_PROFILES)) for seat in seats]
        except TooManyStrategies:
            raise NormalFormTooLarge from None
        if prod(map(len, found)) > MAX_PROFILES:
            raise NormalFormTooLarge(dict(zip(tree.seats, map(len, found), strict=True))) from None
        return found
    reduced = _Reduced(tree)
    counts = {seat: reduced.count(i) for i, seat in enumerate(tree.seats)}
    if prod(counts.values()) > MAX_PROFILES:
        raise NormalFormTooLarge(counts)
    return [reduced.strategies(seat) for seat in seats]


class _Reduced:
    """The reduced strategies of a tree of perfect recall."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._after = _after(tree)

    def count(self, seat: int) -> int:
        """Returns the number of reduced strategies without listing them."""
        many: dict[int, int] = {}
        for info in reversed(self._order(seat)):
            actions = range(len(self._tree.info_sets[info].actions))
            many[info] = sum(prod(many[i] for i in self._after.get((info, a), ())) for a in actions)
        return prod(many[i] for i in self._after.get((~seat, 0), ()))

    def strategies(self, seat: int) -> list[Strategy]:
        """All of them; the action of a later set varies faster."""
        below: dict[int, list[Strategy]] = {}
        for info in reversed(self._order(seat)):
            below[info] = [
                {info: action} | rest
                for action in range(len(self._tree.info_sets[info].actions))
                for rest in _combinations(below[i] for i in self._after.get((info, action), ()))
            ]
        return list(_combinations(below[i] for i in self._after.get((~seat, 0), ())))

    def _order(self, seat: int) -> list[int]:
        """A seat's sets, each after those that it comes after."""
        order = list(self._after.get((~seat, 0), ()))
        for info in order:
            for action in range(len(self._tree.info_sets[info].actions)):
                order += self._after.get((info, action), ())
        return order


def _after(tree: Tree) -> dict[tuple[int, int], tuple[int, ...]]:
    """The sets that come next for their seat, after an action of a set, or, under (~seat, 0), at
    first."""
    last: list[tuple[tuple[int, int], ...]] = [()] * len(tree)
    last[0] = tuple((~seat, 0) for seat in range(len(tree.seats)))
    found: dict[tuple[int, int], dict[int, None]] = {}
    for node, info in enumerate(tree.info):
        mover = tree.owner[info] if info >= 0 else None
        if mover is not None:
            found.setdefault(last[node][mover], {})[info] = None
        for place, child in enumerate(tree.children[node]):
            own = last[node]
            last[child] = own if mover is None else (*own[:mover], (info, place), *own[mover + 1 :])
    return {key: tuple(infos) for key, infos in found.items()}


def _combinations(parts: Iterable[list[Strategy]]) -> Iterator[Strategy]:
    """Every combination of strategies for different sets, as one strategy."""
    for combination in product(*parts):
        whole: Strategy = {}
        for part in combination:
            whole |= part
        yield whole


def _numbers(tree: Tree) -> list[int]:
    """The number of each information set among its seat's, from 1."""
    counts = [0] * len(tree.seats)
    numbers = []
    for seat in tree.owner:
        counts[seat] += 1
        numbers.append(counts[seat])
    return numbers


def _title(game: Game | Tree) -> str:
    return "" if isinstance(game, Tree) else game.name


def _comment(game: Game | Tree) -> str:
    """Returns the game's description and the hash of its rules."""
    if isinstance(game, Tree):
        return '""'
    about = game.ir.about.replace('"', "'")  # OpenSpiel's reader knows no escape
    return _quoted(f"{about} (gamedsl {game.hash[:16]})".strip())


def _quoted(text: str) -> str:
    """A text as the formats have it: quotes behind a backslash, on one line."""
    return '"' + " ".join(text.replace('"', '\\"').split()) + '"'


def _list(items: Iterable[str]) -> str:
    return f"{{ {' '.join(items)} }}"


def _count_text(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"more than 10^{len(str(count)) - 1}"
