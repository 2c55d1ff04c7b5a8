"""An OpenSpiel game that speaks our interface, right or with one fault: tests of the tests.

Options and outcomes are named by their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gamedsl import Action


@dataclass(frozen=True)
class Asked:
    seat: str
    information_set: str
    legal: tuple[str, ...]


@dataclass(frozen=True)
class Drawn:
    name: str
    probability: Fraction


class SpielEnv:
    """Presents a game as an `Env` would. A subclass that overrides one method is a wrong engine."""

    def __init__(self, game: Any) -> None:
        self.game = game
        self.seats = tuple(f"p{i}" for i in range(game.num_players()))

    def reset(self, seed: int = 0, *, chance: str, forced: str) -> SpielEpisode:
        assert (chance, forced) == ("asked", "asked")
        return SpielEpisode(self, self.game.new_initial_state())

    def legal(self, state: Any, seat: int) -> list[int]:
        return list(state.legal_actions(seat))

    def outcomes(self, state: Any) -> list[tuple[int, Fraction]]:
        return [(a, Fraction(p).limit_denominator(1000)) for a, p in state.chance_outcomes()]

    def actors(self, state: Any) -> list[int]:
        if state.is_simultaneous_node():
            return list(range(state.num_players()))
        return [state.current_player()]

    def done(self, state: Any) -> bool:
        return bool(state.is_terminal())

    def payoffs(self, state: Any) -> list[Fraction]:
        return [Fraction(r).limit_denominator(1000) for r in state.returns()]

    def known(self, state: Any, seat: int) -> str:
        return str(state.information_state_string(seat))

    def decided(self, state: Any, seat: int) -> str:
        """Returns the information set that a decision names."""
        return self.known(state, seat)


class SpielEpisode:
    def __init__(self, env: SpielEnv, state: Any) -> None:
        self.env, self.state = env, state

    @property
    def done(self) -> bool:
        return self.env.done(self.state)

    @property
    def payoffs(self) -> dict[str, Fraction]:
        return dict(zip(self.env.seats, self.env.payoffs(self.state), strict=True))

    @property
    def paid(self) -> dict[str, dict[str, Fraction]]:
        return {"payoffs": self.payoffs}

    @property
    def chance(self) -> tuple[Drawn, ...]:
        if not self.state.is_chance_node():
            return ()
        return tuple(Drawn(str(a), p) for a, p in self.env.outcomes(self.state))

    @property
    def decisions(self) -> tuple[Asked, ...]:
        return tuple(
            Asked(
                self.env.seats[seat],
                f"{seat} {self.env.decided(self.state, seat)}",
                tuple(map(str, self.env.legal(self.state, seat))),
            )
            for seat in self.env.actors(self.state)
        )

    def draw(self, i: int) -> None:
        self.state.apply_action(int(self.chance[i].name))

    def step(self, replies: Mapping[str, Action]) -> None:
        actions = [int(reply.name) for reply in replies.values()]
        if self.state.is_simultaneous_node():
            self.state.apply_actions(actions)
        else:
            self.state.apply_action(actions[0])

    def fork(self) -> SpielEpisode:
        return SpielEpisode(self.env, self.state.clone())

    def information(self, seat: str) -> str:
        return self.env.known(self.state, self.env.seats.index(seat))
