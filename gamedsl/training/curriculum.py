"""Training level by level: the same game with one param set to more and more.

Every level is the game compiled anew, and a run of its own that goes on from the checkpoint of the
one before: adapters, optimiser and all that lasts. A level is passed when the success of the last
`over` steps is `at` or more on average (`gamedsl.training.success`).

Levels that are held out are never trained on: the run ends with their success.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.errors import CompileError
from gamedsl.recipe.table import Recipe
from gamedsl.runtime.game import Game
from gamedsl.training import checkpoint as checkpoints
from gamedsl.training.context_length import check_context
from gamedsl.training.errors import TrainError
from gamedsl.training.loop import Conclude, Observer, Outcome, engine_of, env_of, train
from gamedsl.training.metrics import role_means
from gamedsl.training.rollout import play
from gamedsl.training.runfolder import RunFolder
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment, assign_seats, budget_of
from gamedsl.training.sessions import writer
from gamedsl.training.success import Bounds, bounds_of, success

if TYPE_CHECKING:
    from gamedsl.policies.base import Policy
    from gamedsl.training.interrupt import Interrupt

Level = int | float | str | bool
Record = dict[str, Any]
Load = Callable[[Path, dict[str, Any]], Game]
"""Compiles a file with some params. Raises CompileError."""
NAME = "curriculum"


class Climb:
    """The progress of a run through its levels. A part of the loop that keeps state."""

    def __init__(self, recipe: Recipe, games: Mapping[Level, Game]) -> None:
        self._plan, self._steps = recipe.curriculum, recipe.steps
        self.bounds = {level: bounds_of(game, recipe) for level, game in games.items()}
        self._number = 0
        self._recent: list[float] = []
        self.done = 0
        """The steps that were taken."""

    @property
    def level(self) -> Level:
        """The value of the param in the next step; behind the last step, that of the last."""
        return self._plan.levels[self._number + (self._passed and self.done < self._steps)]

    @property
    def _passed(self) -> bool:
        """Whether another level follows that of the last step, which was passed."""
        if len(self._recent) < self._plan.over or self._number + 1 == len(self._plan.levels):
            return False
        return sum(self._recent) / self._plan.over >= self._plan.at

    def see(self, record: Record) -> Record:
        """Takes a step's record; returns what it says of the level."""
        if self._passed:
            self._number, self._recent = self._number + 1, []
        level = self._plan.levels[self._number]
        reached = success(record, self.bounds[level])
        self._recent = [*self._recent, reached][-self._plan.over :]
        self.done = record["step"]
        return {"level": level, "success": reached}

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint must hold of it."""
        return {"number": self._number, "recent": list(self._recent)}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned."""
        self._number, self._recent = state["number"], list(state["recent"])


def climb(
    game: Game,
    recipe: Recipe,
    run: RunFolder,
    policy: Policy,
    *,
    observers: Sequence[Observer] = (),
    conclude: Conclude = lambda run, tree, end: {},
    interrupt: Interrupt | None = None,
    seating: SeatAssignment | None = None,
    load: Load,
) -> Outcome:
    """Trains as `gamedsl.training.loop.train` does, through the levels of the recipe's curriculum
    where it has one; `load` (`gamedsl.load`) compiles them. Raises as it does, and TrainError for a
    level that cannot be had."""
    plan = recipe.curriculum
    if plan.param is None:
        return train(
            game, recipe, run, policy,
            observers=observers, conclude=conclude, interrupt=interrupt, seating=seating,
        )  # fmt: skip
    budget = budget_of(recipe) if seating is None else seating.budget
    games = _games_of(game, recipe, run.info()["params"], policy, load)
    reached = Climb(recipe, games)
    _restore(reached, run)

    def seats_at(level: Level) -> SeatAssignment:
        return assign_seats(games[level], recipe, budget)

    def concluded(folder: RunFolder, tree: Any, end: Record) -> Record:
        shown = {
            str(level): _evaluate(
                games[level], recipe, policy, seats_at(level), reached.bounds[level]
            )
            for level in plan.held_out
        }
        return {**conclude(folder, None, end), **({"held_out": shown} if shown else {})}

    while True:
        level = reached.level
        outcome = train(
            games[level], recipe, run, policy, observers=observers, conclude=concluded,
            interrupt=interrupt, seating=seats_at(level), levels=reached,
        )  # fmt: skip
        if outcome.finished or reached.level == level:
            return outcome
        observers = [_Started(observer) for observer in observers]


def _games_of(
    game: Game, recipe: Recipe, params: Mapping[str, Any], policy: Policy, load: Load
) -> dict[Level, Game]:
    """Returns the game at each level, those that are held out too. Raises TrainError where one does
    not compile, or has prompts that are longer than the model reads."""
    plan = recipe.curriculum
    assert plan.param is not None
    games = {
        level: _at_level(game, {**params, plan.param: level}, load)
        for level in dict.fromkeys((*plan.levels, *plan.held_out))
    }
    for level, at_level in games.items():
        if recipe.in_words(at_level.ir):
            _check_context(level, at_level, recipe, policy)
    return games


def _restore(reached: Climb, run: RunFolder) -> None:
    """Goes on at the level of the latest checkpoint, if the run has one. Raises TrainError where
    that does not say its level."""
    found = checkpoints.latest(run)
    if found is None:
        return
    try:
        reached.restore(found.parts[NAME])
        reached.done = found.step
    except (KeyError, TypeError) as error:
        raise TrainError(
            f"the checkpoint of `{run.path}` does not say at which level it was",
            "delete it to go on from the one before",
        ) from error


def _evaluate(
    game: Game, recipe: Recipe, policy: Policy, seats: SeatAssignment, bounds: Bounds
) -> Record:
    """Plays a step's games without training on them; returns the means of the roles and the
    success."""
    scorer = Scorer(policy, temperature=recipe.temperature, keeps_graphs=False)
    engine = engine_of(policy, scorer, written=recipe.in_words(game.ir))
    whole = replace(recipe, dynamic_sampling=None)
    batch = play(env_of(game, recipe, policy, seats), engine, whole, recipe.steps + 1, seats)
    record = role_means(batch)
    return {**record, "success": success(record, bounds)}


class _Started:
    """An observer that heard of the start already."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.warm_up, self.step, self.end = observer.warm_up, observer.step, observer.end
        self.progress = observer.progress

    def start(self, record: Record) -> None: ...


def _check_context(level: Level, game: Game, recipe: Recipe, policy: Policy) -> None:
    """Raises TrainError where a level's prompts are longer than the model reads."""
    problems = Problems()
    check_context(game, recipe, writer(policy), problems)
    if problems.errors:
        message = problems.found[0].message
        raise TrainError(f"at the level {level}, {message}", "name levels with shorter prompts")


def _at_level(game: Game, params: dict[str, Any], load: Load) -> Game:
    """Returns the game with other params. Raises TrainError where it does not compile, or has other
    roles."""
    shown = ", ".join(f"{name}={value}" for name, value in params.items())
    try:
        found = load(game.files[0], params).of("training").worded(game.ir.wording)
    except CompileError as error:
        raise TrainError(
            f"`{game.name}` with {shown} has problems: {error.diagnostics[0].message}",
            "name levels that the game can have",
        ) from error
    if [role.name for role in found.ir.roles] != [role.name for role in game.ir.roles]:
        raise TrainError(
            f"`{game.name}` with {shown} has other roles",
            "choose a param that leaves the roles as they are",
        )
    return found
