"""Language models as contestants: a run with its adapters, or a model as it comes.

A run answers as it did when it was trained: each role by the adapter, or the player, that held it,
at the temperature of the recipe, and shown the labels that it learnt. So two runs can meet that
call the same action by different words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gamedsl.backends.labels import LabelBook, draw_labels
from gamedsl.diagnostics import Problems
from gamedsl.evaluate.errors import EvalError
from gamedsl.ir.recipe import Recipe
from gamedsl.players.base import DrawingPlayer, Player
from gamedsl.players.table import open_player
from gamedsl.policies.base import Message, Policy, Query
from gamedsl.runtime.game import Game
from gamedsl.sema.recipe import override, resolve
from gamedsl.train.errors import TrainError

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode
    from gamedsl.train.runfolder import RunFolder


class TrainedPlayer(DrawingPlayer):
    """A policy at any seat of a game, under the labels of its run."""

    def __init__(
        self,
        game: Game,
        policy: Policy,
        recipe: Recipe,
        others: Mapping[str, DrawingPlayer] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        """`others` hold roles that no adapter of the policy plays."""
        from gamedsl.train.scoring import Scorer

        super().__init__(seed=seed)
        self._game, self._recipe, self._others = game, recipe, dict(others or {})
        self._scorer = Scorer(policy, temperature=recipe.temperature, graph_tokens=0)

    def odds(self, decision: Decision, episode: Episode) -> Sequence[float]:
        if decision.role in self._others:
            return self._others[decision.role].odds(decision, episode)
        query = self._query(decision, episode)
        self._scorer.score([query])
        found: list[float] = self._scorer.probabilities(query).tolist()
        return found

    def prepare(self, asked: Iterable[tuple[Decision, Episode]]) -> None:
        """Score all these decisions in one pass, before they are asked for one by one."""
        self._scorer.score(
            [self._query(d, episode) for d, episode in asked if d.role not in self._others]
        )

    def _query(self, decision: Decision, episode: Episode) -> Query:
        book = self._book(episode)
        messages = cast("tuple[Message, ...]", decision.told(book))
        labels = tuple(book.label(name) for name in decision.legal)
        return Query(messages, labels, self._recipe.part(decision.role).adapter or "shared")

    def _book(self, episode: Episode) -> LabelBook:
        return draw_labels(
            self._game.ir, run_seed=self._recipe.seed, seed=episode.seed,
            tokenizer=self._scorer.policy.tokenizer,
        )  # fmt: skip


def open_trained(spec: str, game: Game, *, seed: int) -> Player:
    """The player of `run:FOLDER` or `model:NAME`. Raises EvalError, and as `open_policy`."""
    kind, _, argument = spec.partition(":")
    if kind == "run":
        return _open_run(Path(argument).expanduser(), game, seed)
    recipe = _recipe(game, {"model": argument, "seed": seed})
    return TrainedPlayer(game, _policy(game, recipe), recipe, seed=seed)


def _open_run(path: Path, game: Game, seed: int) -> Player:
    from gamedsl.train.runfolder import open_run

    try:
        run = open_run(path)
    except TrainError as error:
        raise EvalError(error.fact, error.fix) from error
    info = run.info()
    if info["rules_hash"] != game.ir.rules_hash:
        said = ", ".join(f"{name}={value}" for name, value in info["params"].items())
        raise EvalError(
            f"{path} was trained for other rules: those of `{info['game']}`"
            + (f" with {said}" if said else ""),
            "evaluate it in the game that it was trained for, with the same params",
        )
    recipe = _recipe(game, run.settings())
    policy = _policy(game, recipe)
    _load(run, policy)
    specs = {role.name: recipe.part(role.name).player for role in game.ir.roles}
    others = {}
    for role, spec in specs.items():
        if spec is not None:
            player = open_player(spec, game, seed=seed)
            if not isinstance(player, DrawingPlayer):
                raise EvalError(
                    f"in {path} the role {role} was held by `{spec}`, whose odds are not known",
                    f"say who holds it here: --role {role}={spec}",
                )
            others[role] = player
    return TrainedPlayer(game, policy, recipe, others, seed=seed)


def _recipe(game: Game, settings: Mapping[str, Any]) -> Recipe:
    problems = Problems()
    recipe = resolve(game.ir, [override(*pair) for pair in settings.items()], problems)
    if problems.errors:
        raise EvalError(
            f"the settings of the run cannot be read: {problems.sorted()[0].message}",
            "evaluate it with the version of gamedsl that its run.json names",
        )
    return recipe


def _policy(game: Game, recipe: Recipe) -> Policy:
    from gamedsl.train.engine import open_policy, require

    try:
        require(recipe)
    except TrainError as error:
        raise EvalError(error.fact, error.fix) from error
    return open_policy(game, recipe, lambda line: None)


def _load(run: RunFolder, policy: Policy) -> None:
    """The adapters of the last checkpoint, or else those that were written at the end."""
    from gamedsl.train import checkpoint as checkpoints

    try:
        found = checkpoints.latest(run)
        if found is not None:
            checkpoints.put_back(policy, found.adapters)
            return
        for name in policy.adapters:
            policy.load_adapter(name, run.path / "adapters" / name)
    except TrainError as error:
        raise EvalError(error.fact, error.fix) from error
    except (OSError, KeyError, ValueError) as error:
        raise EvalError(
            f"the adapters of {run.path} cannot be read: {error}",
            f"go on with the run: gamedsl train --resume {run.path}",
        ) from error
