"""The driver that all exports to other libraries' loops share.

A peer is a library with a loop of its own, such as a trainer or an evaluator. It holds some seats
of a game, and players of `gamedsl.players` hold the others. A `PeerGame` is the game with that
division; `begin(seed)` starts a play. The loop is the same for every peer:

    play = game.begin(seed)
    while not play.done:
        for decision in play.waiting:
            play.answer(decision.seat, reply_to(chat(decision)))
    outcomes = {seat: outcome(play.episode, seat) for seat in game.held}

Nothing of the rules is decided here. `PlaySession` asks, and keeps simultaneous replies from each
other; `Episode` reads replies, refuses them, asks again, forfeits and pays. A peer's module only
says how its loop calls these five lines, and where it wants prompts, masks and rewards.

Players answer by the seed of the play, the seat and what it knows. So a play depends on its seed
and the peer's replies alone, also when many are under way at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from gamedsl.export.counting import counted_for, counter_of
from gamedsl.play.seats import SeatError, names_seat, players_named, seats_named
from gamedsl.play.session import PlaySession
from gamedsl.players.base import Player, Posed, answer
from gamedsl.players.table import open_player
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime.decision import Action, Decision, Mistake
from gamedsl.runtime.env import Env
from gamedsl.runtime.episode import Episode
from gamedsl.runtime.game import Game

if TYPE_CHECKING:
    from gamedsl.runtime.min_payoff import Amount

OTHERS = "random"
"""The player of a seat that neither the peer nor a named player holds."""


class PeerGame:
    """A game whose seats `held` a peer's loop answers, and players the others.

    `game` is a loaded game, a path, or the name of a shipped game, with `params`; `calls` are the
    Python files of functions that it calls, which are executed. `held` names
    seats or roles, and referees; by default they are all those that no player holds. `against` has
    players as `SEAT=PLAYER`, or `PLAYER` for all others, as `gamedsl play --against`; a seat that
    is neither held nor named has a random player. `run_seed` draws the labels of options.

    `tokenizer` is that of the model that the peer asks: one of transformers, a `TokenCounter`, or
    the name of a model. Limits of replies count its tokens, and labels are equal in them; without
    one words are counted.

    Raises `CompileError`, CallFileError, SeatError, PlayerError, ValueError where the peer holds no
    seat, and ModelError for a tokenizer that cannot be loaded.
    """

    def __init__(
        self,
        game: Game | str | Path,
        held: Iterable[str] = (),
        against: Iterable[str] = (),
        *,
        params: Mapping[str, Any] | None = None,
        calls: Iterable[str | Path] = (),
        run_seed: int = 0,
        tokenizer: Any = None,
    ) -> None:
        self.game = game if isinstance(game, Game) else _compiled(game, params, calls)
        ir = self.game.ir
        given = seats_named(ir, held)
        self.players = players_named(ir, given, against)
        """The players of the other seats, as texts, by seat."""
        taken = given or frozenset(ir.everyone) - self.players.keys()
        self.held = tuple(seat for seat in ir.everyone if seat in taken)
        """The seats that the peer holds, in the order of the game; referees come last."""
        if not self.held:
            raise ValueError(f"players hold all seats of {ir.name}; fix: leave one to the loop")
        self.players |= {
            seat: OTHERS for seat in ir.everyone if seat not in self.players and seat not in taken
        }
        self.env: Env = self.game.env(run_seed=run_seed)
        if tokenizer is not None:
            self.env = self._env_of(tokenizer)
        self._lent: tuple[Any, Self] | None = None
        opened = {
            spec: _Seeded(open_player(spec, self.game, seed=run_seed, allow_code=True))
            for spec in dict.fromkeys(self.players.values())
        }
        self._opened = {seat: opened[spec] for seat, spec in self.players.items()}

    @classmethod
    def of_one(
        cls,
        game: Game | str | Path,
        seat: str = "",
        against: Iterable[str] = (),
        *,
        params: Mapping[str, Any] | None = None,
        calls: Iterable[str | Path] = (),
        run_seed: int = 0,
        tokenizer: Any = None,
    ) -> Self:
        """Returns a game of which the peer holds one seat; empty: the first that no player holds.

        Raises as `PeerGame`, and SeatError where `seat` names several seats.
        """
        opened = game if isinstance(game, Game) else _compiled(game, params, calls)
        ir = opened.ir
        if not seat:
            taken = players_named(ir, frozenset(), list(filter(names_seat, against)))
            seat = next((one for one in ir.everyone if one not in taken), ir.seats[0])
        made = cls(opened, [seat], against, run_seed=run_seed, tokenizer=tokenizer)
        if len(made.held) > 1:
            raise SeatError(
                f"`{seat}` is {len(made.held)} seats of {ir.name}, and the loop holds one; "
                f"fix: take one of {', '.join(made.held)}"
            )
        return made

    def begin(self, seed: int) -> PeerPlay:
        """Starts the play of a seed, and lets players move until the peer is asked. Raises what a
        player raises."""
        return PeerPlay(
            self.game, frozenset(self.held), self._opened, seed=seed, env=self.env, recorded=False
        )  # fmt: skip

    def counted_by(self, tokenizer: Any) -> Self:
        """Returns the game with a tokenizer that the loop knows, in place of none; one that was
        given stays. Players are the same."""
        if self.env.tokenizer is not None:
            return self
        if self._lent is None or self._lent[0] is not tokenizer:
            lent = copy(self)
            lent.env = self._env_of(tokenizer)
            self._lent = tokenizer, lent
        return self._lent[1]

    def _env_of(self, tokenizer: Any) -> Env:
        role_of = self.game.ir.role_of
        own = dict.fromkeys(role_of[seat] for seat in self.held)
        others = [role for role in role_of.values() if role not in own]
        counter = counted_for(counter_of(tokenizer), own, others)
        return self.game.env(run_seed=self.env.run_seed, tokenizer=counter)

    @property
    def in_words(self) -> bool:
        """Whether some reply is written, or a referee judges: such a game has no vectors."""
        return bool(self.game.ir.open or self.game.ir.referees)


class PeerPlay(PlaySession):
    """One play of a `PeerGame`. `waiting` are the decisions that the peer must answer now, and
    `answer(seat, reply)` answers one; see `PlaySession`."""

    @property
    def done(self) -> bool:
        return self.episode.done

    def outcome(self, seat: str) -> Outcome:
        """Returns the result of a seat; its amounts are None before the end."""
        return outcome(self.episode, seat)


class Outcome(NamedTuple):
    """The result of a seat in a play.

    `reward` and `payoff` are exact; None: the play is void for the seat, since another seat
    forfeited, or the seat is a referee, or its own forfeit has no known cost. `refused` are its
    invalid replies, in order. `forfeited`: one of them ended the play.
    """

    reward: Amount
    payoff: Amount
    refused: tuple[Mistake, ...]
    forfeited: bool

    @property
    def trains(self) -> bool:
        """Whether the seat's replies belong in an update: an innocent seat of a void play has no
        reward, and is left out."""
        return self.reward is not None

    def metrics(self) -> dict[str, float]:
        """Returns the numbers that peers log: the payoff, if there is one, the number of refused
        replies, whether the seat forfeited, and whether it trains."""
        paid = {} if self.payoff is None else {"payoff": float(self.payoff)}
        return paid | {
            "refused": float(len(self.refused)),
            "forfeited": float(self.forfeited),
            "trains": float(self.trains),
        }


def outcome(episode: Episode, seat: str) -> Outcome:
    """Returns the result of a seat in an episode."""
    return Outcome(
        episode.rewards.get(seat),
        episode.payoffs.get(seat),
        tuple(one for one in episode.mistakes if one.decision.seat == seat),
        seat in episode.failures,
    )


def cut(text: str) -> ParseFailure:
    """Returns a reply that was cut off at a limit of tokens: it is invalid, whatever can be read of
    it."""
    return ParseFailure("truncated", text)


def chat(decision: Decision) -> list[dict[str, str]]:
    """Returns a prompt as the messages of a chat API: `{"role": …, "content": …}`."""
    return [{"role": role, "content": content} for role, content in decision.messages]


class _Seeded:
    """A player whose random numbers depend on the play, the seat, what it knows and how often it
    was asked alone."""

    def __init__(self, player: Player) -> None:
        self._player = player

    def act(self, decision: Decision, episode: Episode) -> Action | str | ParseFailure:
        key = f"{episode.seed} {decision.seat} {decision.information_set} {len(decision.failed)}"
        key += f" after {decision.occurrence}" if decision.occurrence else ""
        posed = Posed(decision, episode, Random(key).getrandbits(31))
        return answer(self._player, [posed])[0].reply


def _compiled(
    path: str | Path, params: Mapping[str, Any] | None, calls: Iterable[str | Path]
) -> Game:
    from gamedsl.compiler import compile_game

    for file in calls:
        from gamedsl.calls.files import allow_calls

        allow_calls(file)
    ir, document = compile_game(path, params)
    return Game(ir, document.files)
