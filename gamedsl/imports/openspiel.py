"""Games of OpenSpiel as game files: any that is small enough to list.

`import_openspiel("kuhn_poker(players=3)")` walks the whole tree and writes a file with the same
players, information sets, chances and payoffs. Information sets are OpenSpiel's information state
strings. A game in which all choose once, at the same time, becomes a table; other simultaneous
moves come one after another, each unseen by the others. OpenSpiel's floats become the fractions
that they round.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import isfinite, prod
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.extras import missing
from gamedsl.imports.efg import EfgNode, Extensive, InfoSet
from gamedsl.imports.matrix import matrix_file
from gamedsl.imports.nfg import MAX_CELLS, Strategic
from gamedsl.imports.tree import MAX_NODES, tree_file

try:
    import pyspiel
except ImportError as error:
    raise missing("open_spiel", "openspiel") from error

DENOMINATOR = 1_000_000
"""The greatest denominator of a fraction that is looked for behind a float."""

CLOSE = 1e-12
"""How far a float may lie from the fraction that it rounds, relative to the float."""


class GameRefused(ValueError):
    """A game of OpenSpiel that cannot be imported. The text says why, and what to do."""


def import_openspiel(text: str, problems: Problems, name: str | None = None) -> str | None:
    """Returns the text of a game file for the game that `pyspiel.load_game(text)` loads; None with
    problems, where its tree is too large for the language.

    The game is called as OpenSpiel's is, unless it is given a name. Raises GameRefused for a name
    that OpenSpiel does not have, and for a game whose tree cannot be listed.
    """
    game = _loaded(text)
    kind = game.get_type()
    title = kind.long_name
    comment = f"Imported from OpenSpiel: {game}"
    if _is_one_shot(game):
        return matrix_file(_table(game, title, comment), name or text)
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    source = Source("openspiel", text)
    form = _Tree(game, Span(source, 0, len(text))).form(title, comment, problems)
    return None if form is None else tree_file(form, name or text, problems)


def _loaded(text: str) -> Any:
    """Returns a game. Raises GameRefused where there is none, or it has no tree that is known."""
    short = text.partition("(")[0].strip()
    known = pyspiel.registered_names()
    if short not in known:
        near = did_you_mean(short, known)
        fix = f"; fix: write `{near}`" if near else "; see `pyspiel.registered_names()`"
        raise GameRefused(f"OpenSpiel has no game `{short}`{fix}")
    try:
        game = pyspiel.load_game(text)
    except pyspiel.SpielError as error:
        raise GameRefused(
            f"OpenSpiel cannot load `{text}`: {str(error).splitlines()[-1]}"
        ) from None
    kind = game.get_type()
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise GameRefused(f"`{short}` is a mean-field game, which has no tree")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise GameRefused(
            f"`{short}` draws chance without saying its probabilities; fix: load it with "
            "parameters that list them, if it has some"
        )
    if not (kind.provides_information_state_string or _is_open(kind)):
        raise GameRefused(
            f"`{short}` does not say what a player knows: it has no information states"
        )
    return game


def _is_open(kind: Any) -> bool:
    """Whether the one who moves has seen all that happened."""
    return bool(
        kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        and kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    )


def _is_one_shot(game: Any) -> bool:
    """Whether all choose once and at the same time, in a table that is small enough."""
    state = game.new_initial_state()
    if not state.is_simultaneous_node():
        return False
    own = [state.legal_actions(player) for player in range(game.num_players())]
    return (
        all(own)
        and prod(map(len, own)) <= MAX_CELLS
        and all(_after(state, list(joint)).is_terminal() for joint in product(*own))
    )


def _after(state: Any, actions: list[int]) -> Any:
    child = state.clone()
    child.apply_actions(actions)
    return child


def _table(game: Any, title: str, comment: str) -> Strategic:
    state, players = game.new_initial_state(), range(game.num_players())
    own = [state.legal_actions(player) for player in players]
    return Strategic(
        title,
        comment,
        _players(game),
        tuple(
            tuple(state.action_to_string(p, action) for action in actions)
            for p, actions in zip(players, own, strict=True)
        ),
        {
            place: _paid(_after(state, [own[p][i] for p, i in enumerate(place)]))
            for place in product(*(range(len(actions)) for actions in own))
        },
    )


def _players(game: Any) -> tuple[str, ...]:
    return tuple(f"player_{number}" for number in range(game.num_players()))


def _paid(state: Any) -> tuple[Fraction, ...]:
    return tuple(map(_payoff, state.returns()))


def _payoff(value: float) -> Fraction:
    """Returns the fraction that a payoff rounds; its decimals where no short fraction is near."""
    if not isfinite(value):
        raise GameRefused(f"a payoff is {value}")
    return _near(value) or Fraction(repr(value))


def _near(value: float) -> Fraction | None:
    found = Fraction(value).limit_denominator(DENOMINATOR)
    return found if abs(found - Fraction(value)) <= CLOSE * max(1.0, abs(value)) else None


class _Tree:
    """Lists the tree of a sequential game."""

    def __init__(self, game: Any, span: Span) -> None:
        self.game = game
        self.span = span
        self.sets: dict[tuple[int, object], InfoSet] = {}
        self._moves: dict[InfoSet, tuple[int, ...]] = {}
        self._named = game.get_type().provides_information_state_string

    def form(self, title: str, comment: str, problems: Problems) -> Extensive | None:
        nodes: list[EfgNode] = []
        pending: list[tuple[Any, EfgNode | None]] = [(self.game.new_initial_state(), None)]
        nothing = (Fraction(0),) * self.game.num_players()
        while pending:
            state, parent = pending.pop()
            if state.is_terminal():
                node = EfgNode(None, _paid(state), self.span, parent)
            else:
                node = EfgNode(self._set(state, len(nodes)), nothing, self.span, parent)
                moves = reversed(list(self._children(state)))
                pending += ((child, node) for child in moves)
            nodes.append(node)
            if parent is not None:
                parent.children.append(node)
            if len(nodes) > MAX_NODES:
                problems.add(
                    "GD0809", f"more than {MAX_NODES:,} nodes are too many", self.span,
                    why=f"at most {MAX_NODES:,}",
                )  # fmt: skip
                return None
        return Extensive(
            title, comment, _players(self.game), tuple(self.sets.values()), tuple(nodes)
        )

    def _children(self, state: Any) -> Iterator[Any]:
        if state.is_chance_node():
            return (state.child(action) for action, odds in state.chance_outcomes() if odds > 0)
        return (state.child(action) for action in state.legal_actions())

    def _set(self, state: Any, number: int) -> InfoSet:
        """Returns the information set of a state; a chance node has one of its own."""
        if state.is_chance_node():
            return self.sets.setdefault((0, number), self._chance(state, number))
        player = state.current_player()
        legal = tuple(state.legal_actions())
        key = state.information_state_string(player) if self._named else state.history_str()
        known = self.sets.get((player + 1, key))
        if known is None:
            actions = tuple(state.action_to_string(player, action) for action in legal)
            known = InfoSet(player + 1, len(self.sets) + 1, "", actions, (), self.span)
            self.sets[player + 1, key] = known
            self._moves[known] = legal
        elif self._moves[known] != legal:
            raise GameRefused(
                f"player {player} has other actions in two histories that OpenSpiel calls the same "
                f"information state: {key!r}"
            )
        return known

    def _chance(self, state: Any, number: int) -> InfoSet:
        found = [(action, odds) for action, odds in state.chance_outcomes() if odds > 0]
        odds = tuple(_near(p) or Fraction(0) for _, p in found)
        if sum(odds) != 1:
            raise GameRefused(
                f"the probabilities {[p for _, p in found]} are no fractions that sum to 1; "
                f"they come after {state.history_str() or 'the start'}"
            )
        names = tuple(state.action_to_string(-1, action) for action, _ in found)
        return InfoSet(0, number, "", names, odds, self.span)
