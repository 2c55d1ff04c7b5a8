"""Players that are policies: as a run has trained them, as they come, or opened from Python.

The player of a model reads every decision under labels of its own: those of the run that trained
it. So it reads what it was trained on, whatever actions are called in the environment in which it
plays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gamedsl.extras import LibraryMissing, install_command
from gamedsl.players.base import (
    Answered,
    Dice,
    DrawingPlayer,
    Player,
    PlayerError,
    PlayerRequest,
    PlayerSpec,
    Posed,
    answer,
)
from gamedsl.players.model_replies import (
    Asked,
    Reply,
    odds_after_thoughts,
    odds_of,
    query_of,
    replies,
)
from gamedsl.policies.base import Query
from gamedsl.policies.factory import PolicyOptions, open_policy
from gamedsl.prompting.tokenizers import call_syntax_of, together

if TYPE_CHECKING:
    from gamedsl.ir.game import Wording
    from gamedsl.policies.base import Policy
    from gamedsl.policies.factory import VllmOptions
    from gamedsl.policies.generation import Writing
    from gamedsl.runtime import Action, Decision, Episode, Game, ParseFailure


class PolicyPlayer(DrawingPlayer):
    """Plays one adapter of a policy."""

    def __init__(self, policy: Policy, adapter: str = "shared", *, seed: int = 0) -> None:
        """KeyError if the policy has no such adapter."""
        if adapter not in policy.adapters:
            raise KeyError(f"no adapter `{adapter}`; there are {', '.join(policy.adapters)}")
        super().__init__(seed=seed)
        self._policy, self._adapter = policy, adapter

    def odds(self, decision: Decision, episode: Episode) -> Sequence[float]:
        return self.all_odds([(decision, episode)])[0]

    def all_odds(self, asked: Sequence[tuple[Decision, Episode]]) -> list[Sequence[float]]:
        queries = [query_of(decision, self._adapter) for decision, _ in asked]
        distinct = list(dict.fromkeys(queries))
        scores = self._policy.log_probs(distinct)
        rows = {query: score.exp().tolist() for query, score in zip(distinct, scores, strict=True)}
        return [rows[query] for query in queries]


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
        wording: Wording | None = None,
    ) -> None:
        """`adapters` are by role, and so are the players that hold roles in the policy's place;
        `run_seed` draws the labels, and `wording` are the default texts that it was trained on."""
        super().__init__(seed=seed)
        self.policy, self.adapters, self.held = policy, dict(adapters), dict(held or {})
        self._run_seed, self._temperature = run_seed, temperature
        self._wording = wording

    def __repr__(self) -> str:
        return f"<ModelPlayer: roles {', '.join((*self.adapters, *self.held))}>"

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
        syntax = call_syntax_of(self.policy.tokenizer, decision.role)
        asked = decision.under(book, self._wording).calling(syntax)
        return query_of(asked, self.adapters[decision.role])


class SpeakingPlayer:
    """A language model in seats of games in words: each role, referees included, has an adapter.

    It answers many decisions at once, those of all games that are played side by side, as training
    does: one scoring pass, and one batch of replies that are written.
    """

    def __init__(
        self,
        policy: Writing,
        adapters: Mapping[str, str],
        *,
        held: Mapping[str, Player] | None = None,
        run_seed: int = 0,
        temperature: float = 1.0,
        free: bool = False,
        constrain: bool = False,
        seed: int = 0,
        wording: Wording | None = None,
    ) -> None:
        """`adapters` are by role, and so are the players that hold roles in the policy's place;
        `run_seed` draws the labels, `seed` what `act` answers. `free`: closed decisions are
        answered in writing; `constrain`: what is read as JSON is held to its schema."""
        self._free, self._constrain, self._wording = free, constrain, wording
        self.policy, self.adapters, self.held = policy, dict(adapters), dict(held or {})
        self._run_seed, self._temperature, self._dice = run_seed, temperature, Dice(seed)

    def __repr__(self) -> str:
        return f"<SpeakingPlayer: roles {', '.join((*self.adapters, *self.held))}>"

    def act(self, decision: Decision, episode: Episode) -> Action | str | ParseFailure:
        seed = self._dice[decision.seat].getrandbits(31)
        return self.answers([Posed(decision, episode, seed)])[0].reply

    def answers(self, posed: Sequence[Posed]) -> list[Answered]:
        """One answer to each. Raises KeyError, PlayerError and ModelError as engines and the
        players of `held` do."""
        own = [i for i, one in enumerate(posed) if one.decision.role not in self.held]
        said = replies(
            self.policy, [self._relabelled(posed[i]) for i in own], self._temperature,
            constrain=self._constrain, free=self._free,
        )  # fmt: skip
        found = {i: _answered(reply) for i, reply in zip(own, said, strict=True)}
        for role, player in self.held.items():
            theirs = [i for i, one in enumerate(posed) if one.decision.role == role]
            found |= zip(theirs, answer(player, [posed[i] for i in theirs]), strict=True)
        return [found[i] for i in range(len(posed))]

    def odds_after_thoughts(
        self, asked: Sequence[tuple[Decision, Episode]], thoughts: int, seed: int
    ) -> list[list[list[float]]]:
        """Returns for each decision the odds of its options, in its order, after each of so many
        thoughts; those that lead to no choice are left out. Raises PlayerError where it writes its
        choices too, or where another holds a role."""
        if self._free or self.held:
            raise PlayerError(
                "its choices have no odds: it writes them, or another player makes some",
                "leave `replies: free` and `roles: {…: {player: …}}` out",
            )
        dice = Dice(seed)
        posed = [
            self._relabelled(Posed(decision, episode, dice[decision.seat].getrandbits(31)))
            for decision, episode in asked
        ]
        return odds_after_thoughts(self.policy, posed, thoughts, self._temperature)

    def _relabelled(self, one: Posed) -> Asked:
        """A decision under the labels of the run."""
        from gamedsl.prompting.labels import draw_labels

        book = draw_labels(
            one.episode.env.ir, run_seed=self._run_seed, seed=one.episode.seed,
            tokenizer=self.policy.tokenizer,
        )  # fmt: skip
        syntax = call_syntax_of(self.policy.tokenizer, one.decision.role)
        asked = one.decision.under(book, self._wording)
        asked = asked.calling(None if self._constrain else syntax)
        return Asked(asked, self.adapters[one.decision.role], one.seed)


def _answered(reply: Reply) -> Answered:
    if reply.written is None:
        return Answered(reply.answer)
    return Answered(reply.answer, reply.text, len(reply.written.reply_ids))


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
    wording: Wording | None = None,
) -> ModelPlayer | SpeakingPlayer:  # fmt: skip
    """A policy in the seats of a game; where no reply is written its odds are known, if those of
    `held` are. `free`, `constrain` and `wording` are as in `SpeakingPlayer`. Raises `PlayerError`
    for one that cannot write where replies are written."""
    if not (game.ir.written or free):
        return ModelPlayer(
            policy, adapters, held=cast("Mapping[str, DrawingPlayer]", held), run_seed=run_seed,
            temperature=temperature, seed=seed, wording=wording,
        )  # fmt: skip
    from gamedsl.policies.multi_model import mute_model

    if (mute := mute_model(policy)) is not None:
        raise PlayerError(
            f"replies are written in {game.name}, and `{mute}` only scores labels",
            "take a language model, such as `model:smollm2-135m`",
        )
    return SpeakingPlayer(
        cast("Writing", policy), adapters, held=held, run_seed=run_seed, temperature=temperature,
        free=free, constrain=constrain, seed=seed, wording=wording,
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
    except LibraryMissing as error:
        raise PlayerError(error.fact, error.fix) from error
    except ImportError as error:
        raise PlayerError(
            f"a model needs {error.name}, not installed here", install_command("train")
        ) from error
    except ModelError as error:
        raise PlayerError(error.fact, error.fix) from error
    except (OSError, KeyError, ValueError) as error:
        names = " + ".join(dict.fromkeys(models.values()))
        raise PlayerError(
            f"the adapters do not fit `{names}`: {error}", "take the model of the run"
        ) from error
    return policy


def _open_model(request: PlayerRequest) -> Player:
    return untrained(request.argument, request.game, seed=request.seed, vllm=request.vllm)


PLAYER = PlayerSpec(
    "NAME", "a language model as it comes, untrained", "all games", _open_model,
    in_files=True, seeded=True,
)  # fmt: skip
