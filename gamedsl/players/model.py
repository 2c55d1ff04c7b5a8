"""Players that are language models: as a run has trained them, or as they come.

Such a player reads every decision under labels of its own: those of the run that trained it. So it
reads what it was trained on, whatever actions are called in the environment in which it plays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gamedsl.players.base import DrawingPlayer, Player, PlayerError
from gamedsl.players.replying import odds_of, query_of
from gamedsl.players.speaking import SpeakingPlayer
from gamedsl.policies.base import Query
from gamedsl.policies.factory import PolicyOptions, open_policy
from gamedsl.prompting.tokenizers import together

if TYPE_CHECKING:
    from gamedsl.policies.base import Policy
    from gamedsl.policies.factory import VllmOptions
    from gamedsl.policies.generation import Writing
    from gamedsl.runtime import Decision, Episode, Game

INSTALL = 'pip install "gamedsl[train]"'


class ModelPlayer(DrawingPlayer):
    """A policy that answers for each role with an adapter, under labels of its own."""

    def __init__(
        self,
        policy: Policy,
        adapters: Mapping[str, str],
        *,
        held: Mapping[str, DrawingPlayer] | None = None,
        run_seed: int = 0,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        """`adapters` are by role, and so are the players that hold roles in the policy's place;
        `run_seed` draws the labels."""
        super().__init__(seed=seed)
        self.policy, self.adapters, self.held = policy, dict(adapters), dict(held or {})
        self._run_seed, self._temperature = run_seed, temperature

    def odds(self, decision: Decision, episode: Episode) -> Sequence[float]:
        return self.all_odds([(decision, episode)])[0]

    def all_odds(self, asked: Sequence[tuple[Decision, Episode]]) -> list[Sequence[float]]:
        queries = {
            i: self._query(decision, episode)
            for i, (decision, episode) in enumerate(asked)
            if decision.role not in self.held
        }
        distinct = list(dict.fromkeys(queries.values()))
        scores = self.policy.log_probs(distinct) if distinct else []
        rows: dict[Query, list[float]] = {
            query: odds_of(score, self._temperature)
            for query, score in zip(distinct, scores, strict=True)
        }
        return [
            rows[queries[i]] if i in queries else self.held[d.role].odds(d, e)
            for i, (d, e) in enumerate(asked)
        ]

    def _query(self, decision: Decision, episode: Episode) -> Query:
        from gamedsl.prompting.labels import draw_labels

        book = draw_labels(
            episode.env.ir, run_seed=self._run_seed, seed=episode.seed,
            tokenizer=self.policy.tokenizer,
        )  # fmt: skip
        return query_of(decision.under(book), self.adapters[decision.role])


def untrained(
    name: str, game: Game, *, seed: int, temperature: float = 1.0, constrain: bool = False,
    vllm: Mapping[str, Any] | None = None,
) -> ModelPlayer | SpeakingPlayer:  # fmt: skip
    """A model as it comes; `seed` draws the labels too, and `constrain` holds JSON to its schema.
    With `vllm`, settings of vLLM, that writes its replies. Raises `PlayerError`."""
    options = PolicyOptions(
        finetuning="lora" if game.ir.written else None,
        vllm=_vllm_settings(vllm) if game.ir.written and vllm is not None else None,
    )  # the same weights, and copies of whole models do not write
    policy = load_policy({"shared": name}, options)
    roles = (*game.ir.roles, *game.ir.referees)
    return player_of(
        policy, game, {role.name: "shared" for role in roles}, {}, run_seed=seed,
        temperature=temperature, constrain=constrain, seed=seed,
    )  # fmt: skip


def _vllm_settings(given: Mapping[str, Any]) -> VllmOptions:
    from gamedsl.policies.vllm_engine import VllmSettings

    return VllmSettings(**given)


def player_of(
    policy: Policy, game: Game, adapters: Mapping[str, str], held: Mapping[str, Player], *,
    run_seed: int, temperature: float = 1.0, free: bool = False, constrain: bool = False, seed: int,
) -> ModelPlayer | SpeakingPlayer:  # fmt: skip
    """A policy in the seats of a game; where no reply is written its odds are known, if those of
    `held` are. `free` and `constrain` are as in `SpeakingPlayer`. Raises `PlayerError` for one that
    cannot write where replies are written."""
    if not (game.ir.written or free):
        return ModelPlayer(
            policy, adapters, held=cast("Mapping[str, DrawingPlayer]", held), run_seed=run_seed,
            temperature=temperature, seed=seed,
        )  # fmt: skip
    from gamedsl.policies.multi_model import mute_model

    if (mute := mute_model(policy)) is not None:
        raise PlayerError(
            f"replies are written in {game.name}, and `{mute}` only scores labels",
            "take a language model, such as `model:smollm2-135m`",
        )
    return SpeakingPlayer(
        cast("Writing", policy), adapters, held=held, run_seed=run_seed, temperature=temperature,
        free=free, constrain=constrain, seed=seed,
    )  # fmt: skip


def load_policy(
    models: Mapping[str, str], options: PolicyOptions, states: Mapping[str, Any] | None = None
) -> Policy:
    """A policy of the `models` of adapters. `states` are of adapters that are not new: a folder
    that was saved, or a state as `adapter_state` gives it. Raises `PlayerError`."""
    from gamedsl.policies.errors import ModelError

    try:
        policy = open_policy(models, options, join_tokenizers=together)
        for name, state in (states or {}).items():
            if isinstance(state, Path):
                policy.load_adapter(name, state)
            else:
                policy.load_adapter_state(name, state)
    except ImportError as error:
        raise PlayerError(f"a model needs {error.name}, not installed here", INSTALL) from error
    except ModelError as error:
        raise PlayerError(error.fact, error.fix) from error
    except (OSError, KeyError, ValueError) as error:
        names = " + ".join(dict.fromkeys(models.values()))
        raise PlayerError(
            f"the adapters do not fit `{names}`: {error}", "take the model of the run"
        ) from error
    return policy
