"""Closed games as PettingZoo environments.

Agents are the seats. An observation is `{"observation": View.vector, "action_mask": …}`; an action
is the number of a name in `Env.action_names`. Chance is drawn from the seed of `reset`. A seat with
one legal action is asked like any other, so that an episode that begins has somebody to ask. Seats
that choose at once are asked one after the other in an AEC environment, each blind to the others.
An action that is not legal is a reply that is not: it forfeits, the other seats are truncated and
get nothing.
"""

from __future__ import annotations

from typing import Any

from gamedsl.export.facts import require_closed
from gamedsl.export.ledger import Ledger, What
from gamedsl.extras import missing
from gamedsl.ir.expr import Me, walk
from gamedsl.ir.game import GameIR
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime.decision import Action
from gamedsl.runtime.env import Env
from gamedsl.runtime.episode import Episode
from gamedsl.runtime.game import Game

try:
    import numpy as np
    from gymnasium import spaces
    from gymnasium.utils import seeding
    from pettingzoo import AECEnv, ParallelEnv

    from gamedsl.export.spaces import action_space, mask_of, vector_space
except ImportError as error:
    raise missing("pettingzoo", "pettingzoo") from error

Observation = dict[str, Any]


def aec_env(
    game: Game,
    run_seed: int = 0,
    *,
    reward: What = "rewards",
    render_mode: str | None = None,
    backend: str | None = None,
) -> AECGame:
    """A game as an AEC environment: one seat acts at a time.

    `reward` says whether agents get what they are trained on or their utility. `render_mode` is
    "ansi" (`render` gives a text), "human" (it prints one) or None.
    """
    require_closed(game.ir)
    return AECGame(EnvGame(game.env(run_seed, backend=backend), reward), render_mode)


def parallel_env(
    game: Game,
    run_seed: int = 0,
    *,
    reward: What = "rewards",
    render_mode: str | None = None,
    backend: str | None = None,
) -> ParallelGame:
    """A game in which all seats act at once in every step as a Parallel environment.

    The rest is as in `aec_env`. ValueError for a game in which some step is not everybody's.
    """
    require_closed(game.ir)
    why = not_parallel(game.ir)
    if why:
        raise ValueError(
            f"`{game.name}` cannot be a parallel environment: {why}; fix: use `aec_env`"
        )
    return ParallelGame(EnvGame(game.env(run_seed, backend=backend), reward), render_mode)


def not_parallel(ir: GameIR) -> str:
    """Why not all seats of a game act at once in every step; empty where they do."""
    for step in ir.steps:
        alone = len(ir.seats) == 1
        if set(step.actors) != set(ir.seats) or not (step.joint or alone):
            who = ", ".join(step.actors)
            return f"at `{step.id}` " + (f"one of {who}" if step.actor else who) + " acts alone"
        guard = step.condition
        if guard is not None and not alone and any(isinstance(p, Me) for p in walk(guard)):
            return f"at `{step.id}` only those act for whom its condition holds"
    return ""


class EnvGame:
    """A game, the episode under way, and what both kinds of environment make of them."""

    def __init__(self, env: Env, reward: What) -> None:
        self.env = env
        self.seats = list(env.seats)
        self.names = {seat: env.action_names(seat) for seat in env.seats}
        self.actions = {seat: action_space(names) for seat, names in self.names.items()}
        self.observations = {seat: self._observations(seat) for seat in env.seats}
        self.ledger = Ledger(env.ir, reward)
        self.episode: Episode | None = None
        self._earned = self._nothing()
        self._seed: int | None = None
        self._random: np.random.Generator | None = None
        """Draws the seeds of episodes that are given none; made when the first of them begins."""

    def begin(self, seed: int | None) -> Episode:
        """A new episode: of this seed, or of the next that the last seed leads to."""
        if seed is not None:
            self._seed, self._random, chosen = seed, None, seed
        else:
            if self._random is None:
                self._random, _ = seeding.np_random(self._seed)
            chosen = int(self._random.integers(2**31))
        self.episode = self.env.reset(seed=chosen, forced="asked")
        self._earned = self._nothing()
        return self.episode

    def playing(self) -> Episode:
        """The episode under way. ValueError before the first."""
        if self.episode is None:
            raise ValueError("there is no episode: call `reset` first")
        return self.episode

    def observe(self, seat: str) -> Observation:
        view = self.playing().view(seat)
        mask = mask_of(self.names[seat], view.legal)
        return {"observation": np.array(view.vector, np.float32), "action_mask": mask}

    def mask(self, seat: str) -> Any:
        """The mask of an observation, without the rest of it."""
        asked = (one.legal for one in self.playing().decisions if one.seat == seat)
        return mask_of(self.names[seat], next(asked, None))

    def reply(self, seat: str, action: Any) -> Action | ParseFailure:
        """The action with a number; a failure if it is not legal now."""
        names, place = self.names[seat], int(action)
        name = names[place] if 0 <= place < len(names) else ""
        legal = next(d.legal for d in self.playing().decisions if d.seat == seat)
        return Action(name) if name in legal else ParseFailure("illegal", name or str(action))

    def earnings(self) -> dict[str, float]:
        """The amounts earned by each seat since the last call."""
        before, self._earned = self._earned, dict(self.ledger.earned(self.playing()))
        return {seat: float(amount - before[seat]) for seat, amount in self._earned.items()}

    def ends(self) -> tuple[dict[str, bool], dict[str, bool]]:
        """Whether each seat is terminated, and whether it is truncated by another's failure."""
        episode = self.playing()
        cut = {s: bool(episode.failures) and s not in episode.failures for s in self.seats}
        return {s: episode.done and not cut[s] for s in self.seats}, cut

    def info(self, seat: str) -> dict[str, Any]:
        info: dict[str, Any] = {"action_mask": self.mask(seat)}
        failure = self.playing().failures.get(seat)
        return info if failure is None else {**info, "failure": failure.reason}

    def text(self) -> str:
        """The whole state, as the referee sees it, and the seats that act."""
        episode = self.playing()
        if episode.done:
            paid = ", ".join(f"{s} {a}" for s, a in episode.payoffs.items())
            return f"{episode.table}\npayoffs: {paid}".lstrip("\n")
        asked = ", ".join(f"{d.seat} chooses {d.step}" for d in episode.decisions)
        return f"{episode.table}\n{asked}".lstrip("\n")

    def _nothing(self) -> dict[str, Any]:
        return dict.fromkeys(self.env.seats, 0)

    def _observations(self, seat: str) -> spaces.Dict:
        mask = spaces.Box(0, 1, (self.actions[seat].n,), np.int8)
        return spaces.Dict({"observation": vector_space(self.env, seat), "action_mask": mask})


class _Rendered:
    """The rendering that both kinds of environment share."""

    _table: EnvGame
    render_mode: str | None

    def observation_space(self, agent: str) -> spaces.Dict:
        return self._table.observations[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        return self._table.actions[agent]

    def render(self) -> str | None:
        """The whole table as text, hidden things too; printed instead in mode "human"."""
        text = self._table.text()
        if self.render_mode == "human":
            print(text)
            return None
        return text

    def close(self) -> None:
        """There is nothing to release."""


class AECGame(_Rendered, AECEnv):
    """A game in turn order. See the module docstring."""

    agent_selection: str

    def __init__(self, table: EnvGame, render_mode: str | None = None) -> None:
        super().__init__()
        self._table = table
        self.render_mode = render_mode
        self.metadata = _metadata(table.env.ir)
        self.possible_agents = list(table.seats)
        self.agents: list[str] = []
        self._waiting: list[str] = []
        """The seats that have not acted yet in the present step."""
        self._replies: dict[str, Action | ParseFailure] = {}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self._table.begin(seed)
        self.agents = list(self._table.seats)
        self.rewards = self._table.earnings()
        self._cumulative_rewards = dict(self.rewards)
        self._skip_agent_selection = None
        self._go_on()

    def observe(self, agent: str) -> Observation:
        return self._table.observe(agent)

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._replies[agent] = self._table.reply(agent, action)
        self._waiting.remove(agent)
        if self._waiting:
            self.agent_selection = self._waiting[0]
            return
        self._table.playing().step(self._replies)
        self.rewards = self._table.earnings()
        self._accumulate_rewards()
        self._go_on()

    def _go_on(self) -> None:
        """Ask for the next step, or end."""
        self._replies = {}
        self._waiting = [decision.seat for decision in self._table.playing().decisions]
        self.terminations, self.truncations = self._table.ends()
        self.infos = {seat: self._table.info(seat) for seat in self.agents}
        self.agent_selection = (self._waiting or self.agents)[0]


class ParallelGame(_Rendered, ParallelEnv):
    """A game in which all act at once. See the module docstring."""

    def __init__(self, table: EnvGame, render_mode: str | None = None) -> None:
        self._table = table
        self.render_mode = render_mode
        self.metadata = _metadata(table.env.ir)
        self.possible_agents = list(table.seats)
        self.agents: list[str] = []

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        self._table.begin(seed)
        self.agents = list(self._table.seats)
        return self._observations(), self._infos()

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """ValueError where somebody's action is missing."""
        episode = self._table.playing()
        if not self.agents:
            raise ValueError("the episode is done: call `reset`")
        asked = [decision.seat for decision in episode.decisions]
        absent = [seat for seat in asked if seat not in actions]
        if absent:
            raise ValueError(f"an action is needed from {', '.join(absent)}")
        episode.step({seat: self._table.reply(seat, actions[seat]) for seat in asked})
        rewards = self._table.earnings()
        terminations, truncations = self._table.ends()
        result = self._observations(), rewards, terminations, truncations, self._infos()
        if episode.done:
            self.agents = []
        return result

    def _observations(self) -> dict[str, Observation]:
        return {seat: self._table.observe(seat) for seat in self._table.seats}

    def _infos(self) -> dict[str, dict[str, Any]]:
        return {seat: self._table.info(seat) for seat in self._table.seats}


def _metadata(ir: GameIR) -> dict[str, Any]:
    return {
        "name": ir.name,
        "render_modes": ["ansi", "human"],
        "is_parallelizable": not not_parallel(ir),
    }
