"""Closed games as OpenSpiel games, so that its algorithms run on ours.

    name = register(gamedsl.load("kuhn_poker"))
    pyspiel.load_game(name)

Players are the seats in order; an action is the number of its name among all names of the game; a
chance outcome is its number at its node. Seats that choose at once are a simultaneous node. One
legal action is taken without asking, and one outcome of chance. Payoffs are utility, as floats.

The information state string is all that a seat has seen, canonical and exact: OpenSpiel's notion
of perfect recall. Its tensor, where it is not too large, is the same as floats. The observation is
`View`: its text and its vector, which forget.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gamedsl.engine.kernel import Outcome
from gamedsl.export.facts import Utility, facts_of, require_closed
from gamedsl.export.history_tensor import HistoryTensor
from gamedsl.export.ledger import Ledger
from gamedsl.extras import missing
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose, Draw, walk_steps
from gamedsl.runtime.decision import Action
from gamedsl.runtime.env import Env
from gamedsl.runtime.episode import Episode
from gamedsl.runtime.game import Game

try:
    import numpy as np
    import pyspiel
except ImportError as error:
    raise missing("open_spiel", "openspiel") from error

TENSOR = 50_000
"""Floats that an information state tensor has at most."""

Moved = int | tuple[int, ...]
"""An outcome of chance or an action, or everybody's actions."""

_registered: dict[str, tuple[object, ...]] = {}
_rules: dict[str, Rules] = {}


def register(
    game: Game,
    short_name: str | None = None,
    *,
    payoffs: tuple[float, float] | None = None,
    utility: Utility | None = None,
    max_length: int | None = None,
    run_seed: int = 0,
) -> str:
    """Register a game with pyspiel under `short_name`, by default `gamedsl_` and its name (with a
    part of its hash, where another version has that); the name is returned.

    `payoffs`, the least and the most that a seat can be paid, `utility` and `max_length` (moves of
    players) are worked out as `gamedsl.export.facts` says. What is not seen there must be given:
    ValueError says so. A utility that is neither seen nor given is general-sum. What is given is
    held against every play: one that pays anything else raises ValueError.
    """
    require_closed(game.ir)
    key = (game.hash, run_seed, payoffs, utility, max_length)
    name = short_name or f"gamedsl_{game.name}"
    if short_name is None and _registered.get(name, key) != key:
        name = f"{name}_{game.hash[:8]}"
    if _registered.get(name) == key:
        return name
    if name in pyspiel.registered_names():
        raise ValueError(f"OpenSpiel has a game `{name}` already; give another `short_name`")
    rules = Rules(game, name, run_seed, payoffs, utility, max_length)
    _registered[name], _rules[name] = key, rules
    # A class of its own: pyspiel lets go of it when Python is over, which only a class survives.
    pyspiel.register_game(rules.type, type("SpielGame", (SpielGame,), {"rules": rules}))
    return name


class Rules:
    """A game and what its OpenSpiel game and states share."""

    def __init__(
        self,
        game: Game,
        name: str,
        run_seed: int,
        payoffs: tuple[float, float] | None,
        utility: Utility | None,
        max_length: int | None,
    ) -> None:
        self.name = name
        self.env: Env = game.env(run_seed)
        ir = game.ir
        self.ledger = Ledger(ir, "payoffs")
        self.names = tuple(
            dict.fromkeys(name for seat in ir.seats for name in self.env.action_names(seat))
        )
        self.action = {name: number for number, name in enumerate(self.names)}
        self.facts = facts_of(self.env, payoffs, utility, max_length)
        self.recall = None if ir.asked_as else HistoryTensor.of(self.env.viewer, TENSOR)
        self.type = _type(ir, name, self)
        self.info = pyspiel.GameInfo(
            num_distinct_actions=max(len(self.names), 1),
            max_chance_outcomes=self.facts.outcomes,
            num_players=len(ir.seats),
            min_utility=self.facts.low,
            max_utility=self.facts.high,
            utility_sum=self.facts.total,
            max_game_length=self.facts.length,
        )


def _type(ir: GameIR, name: str, rules: Rules) -> Any:
    kinds = pyspiel.GameType
    steps = tuple(walk_steps(ir.turns))
    at_once = any(isinstance(s, Choose) and s.joint and len(s.actors) > 1 for s in steps)
    chance = any(isinstance(step, Draw) for step in steps)
    told = (s.readers for s in (*steps, *rules.env.viewer.states) if hasattr(s, "readers"))
    public = all(readers.kind == "all" and not readers.fields for readers in told)
    public = public and not ir.asked_as
    if ir.plain and at_once and len(ir.steps) == 1:
        information = kinds.Information.ONE_SHOT
    elif public:
        information = kinds.Information.PERFECT_INFORMATION
    else:
        information = kinds.Information.IMPERFECT_INFORMATION
    during = rules.ledger.during
    return kinds(
        short_name=name,
        long_name=f"{ir.name} (gamedsl)",
        dynamics=kinds.Dynamics.SIMULTANEOUS if at_once else kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC
        if chance
        else kinds.ChanceMode.DETERMINISTIC,
        information=information,
        utility=getattr(kinds.Utility, rules.facts.utility.upper()),
        reward_model=kinds.RewardModel.REWARDS if during else kinds.RewardModel.TERMINAL,
        max_num_players=len(ir.seats),
        min_num_players=len(ir.seats),
        provides_information_state_string=True,
        provides_information_state_tensor=rules.recall is not None,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=False,
    )


class SpielGame(pyspiel.Game):
    """A game of ours, as OpenSpiel has games; each is a subclass of its own, with its `rules`."""

    rules: Rules

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        super().__init__(self.rules.type, self.rules.info, params or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return pyspiel.load_game, (self.rules.name,)

    def new_initial_state(self) -> SpielState:
        return SpielState(self)

    def max_chance_nodes_in_history(self) -> int:
        return self.rules.facts.draws

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Observer:
        """Returns an observer of a player's observations: with perfect recall all that it has
        seen, else its view now. Raises ValueError for anything else, and for a tensor with
        perfect recall that is too large."""
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        single = pyspiel.PrivateInfoType.SINGLE_PLAYER
        if params or not kind.public_info or kind.private_info != single:
            raise ValueError("a player's own observation is all there is")
        return Observer(self.rules, kind.perfect_recall)


class Play:
    """The episode under way. A copy of a state has a fork of it; pickled are the moves alone."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.episode = rules.env.reset(chance="asked")
        self.before: dict[str, Any] = dict.fromkeys(rules.env.seats, 0)
        """The amounts that each seat had earned before the last move of a player."""
        self.moves: tuple[Moved, ...] = ()
        self._chance: tuple[Outcome, ...] | None = None
        self._likely: list[tuple[int, float]] | None = None
        self._player: int | None = None

    @property
    def player(self) -> int:
        """The number of the seat that acts, or of chance and the like, worked out once a move:
        OpenSpiel asks several times."""
        if self._player is None:
            self._player = self._who_acts()
        return self._player

    def _who_acts(self) -> int:
        if self.episode.done:
            return int(pyspiel.PlayerId.TERMINAL)
        asked = self.episode.decisions
        if not asked:
            return int(pyspiel.PlayerId.CHANCE)
        if len(asked) > 1:
            return int(pyspiel.PlayerId.SIMULTANEOUS)
        return self.rules.env.seats.index(asked[0].seat)

    @property
    def chance(self) -> tuple[Outcome, ...]:
        """Returns the possible chance outcomes, listed once."""
        if self._chance is None:
            self._chance = self.episode.chance
        return self._chance

    @property
    def likely(self) -> list[tuple[int, float]]:
        """The numbers of the outcomes, with their probabilities."""
        if self._likely is None:
            self._likely = [(i, float(o.probability)) for i, o in enumerate(self.chance)]
        return self._likely

    def __deepcopy__(self, memo: object) -> Play:
        twin = Play.__new__(Play)
        twin.rules, twin.episode = self.rules, self.episode.fork()
        twin.before, twin.moves = self.before, self.moves
        twin._chance, twin._likely, twin._player = self._chance, self._likely, self._player
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return _replayed_play, (self.rules.name, self.moves)

    def move(self, moved: Moved) -> None:
        """Go on. ValueError or IndexError for what cannot be done here."""
        episode = self.episode
        if isinstance(moved, int) and self.chance:
            episode.draw(moved)
        else:
            seats, names = self.rules.env.seats, self.rules.names
            given = moved if isinstance(moved, tuple) else (moved,) * len(seats)
            numbers = dict(zip(seats, given, strict=True))
            before = dict(self.rules.ledger.earned(episode))
            episode.step({d.seat: Action(names[numbers[d.seat]]) for d in episode.decisions})
            self.before = before
        self.moves = (*self.moves, moved)
        self._chance = self._likely = self._player = None


def _replayed_play(name: str, moves: tuple[Moved, ...]) -> Play:
    play = Play(_rules[name])
    for moved in moves:
        play.move(moved)
    return play


class SpielState(pyspiel.State):
    """A point of a play. Should only be made by `Game.new_initial_state`."""

    def __init__(self, game: SpielGame) -> None:
        super().__init__(game)
        self._play = Play(game.rules)
        self._check()

    def current_player(self) -> int:
        return self._play.player

    def _legal_actions(self, player: int) -> list[int]:
        """The legal actions in ascending order; empty for a player without a decision."""
        seat = self._play.rules.env.seats[player]
        action = self._play.rules.action
        for decision in self._play.episode.decisions:
            if decision.seat == seat:
                return sorted(action[name] for name in decision.legal)
        return []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return self._play.likely

    def _apply_action(self, action: int) -> None:
        self._play.move(int(action))
        self._check()

    def _apply_actions(self, actions: list[int]) -> None:
        self._play.move(tuple(map(int, actions)))
        self._check()

    def _check(self) -> None:
        """Checks a finished play against the facts registered with OpenSpiel. Raises ValueError."""
        play, facts = self._play, self._play.rules.facts
        if not play.episode.done:
            return
        paid = [float(amount or 0) for amount in play.episode.payoffs.values()]
        slack = 1e-9 * max(1.0, abs(facts.low), abs(facts.high))
        if min(paid) < facts.low - slack or max(paid) > facts.high + slack:
            raise ValueError(f"a play pays {paid}, not from {facts.low} to {facts.high}")
        if facts.total is not None and abs(sum(paid) - facts.total) > slack * len(paid):
            raise ValueError(f"a play pays {paid}, which is not {facts.total} in all")
        if facts.utility == "identical" and len(set(paid)) > 1:
            raise ValueError(f"a play pays {paid}, which is not the same to all")

    def _action_to_string(self, player: int, action: int) -> str:
        if player == int(pyspiel.PlayerId.CHANCE):
            step, index = self._play.episode.drawing
            place = step + "".join(f"[{part}]" for part in index)
            return f"{place}={self._play.chance[action].name}"
        return self._play.rules.names[action]

    def is_terminal(self) -> bool:
        return self._play.episode.done

    def returns(self) -> list[float]:
        """Returns each player's payments so far."""
        return [float(a) for a in self._play.rules.ledger.earned(self._play.episode).values()]

    def rewards(self) -> list[float]:
        """Returns each player's payments since the last move of a player."""
        play = self._play
        earned = play.rules.ledger.earned(play.episode)
        return [float(amount - play.before[seat]) for seat, amount in earned.items()]

    def __str__(self) -> str:
        episode = self._play.episode
        return "; ".join(episode.information(seat) for seat in episode.env.seats)


class Observer:
    """A player's observation in the form of OpenSpiel's observers: `tensor`, `dict` and a
    string."""

    def __init__(self, rules: Rules, recalls: bool) -> None:
        self._rules = rules
        self._recalls = recalls
        viewer = rules.env.viewer
        sizes = [len(viewer.layout(seat).components) for seat in rules.env.seats]
        size = max(sizes)
        if recalls:
            size = 0 if rules.recall is None else rules.recall.size
        self.tensor = np.zeros(size, np.float32) if size else None
        self.dict = {} if self.tensor is None else {"observation": self.tensor}

    def set_from(self, state: SpielState, player: int) -> None:
        """Fill `tensor`; the vectors of seats that see less end in zeros."""
        if self.tensor is None:
            return
        self.tensor.fill(0)
        for place, value in enumerate(self._floats(state._play.episode, player)):
            if value:
                self.tensor[place] = value

    def string_from(self, state: SpielState, player: int) -> str:
        episode = state._play.episode
        seat = episode.env.seats[player]
        if not self._recalls:
            return episode.view(seat).text
        asked = (d.information_set for d in episode.decisions if d.seat == seat)
        return next(asked, None) or episode.information(seat)

    def _floats(self, episode: Episode, player: int) -> Iterable[float]:
        seat = episode.env.seats[player]
        if not self._recalls:
            return episode.view(seat).vector
        assert self._rules.recall is not None
        asked = next((d.step for d in episode.decisions if d.seat == seat), None)
        return self._rules.recall.floats(seat, asked, episode.seen(seat))
