"""A game for TRL's `GRPOTrainer`: a `rollout_func` in which one model plays several seats.

`Rollout(game)` is that function, and `reward` its reward function:

    rollout = Rollout("kuhn_poker")
    trainer = GRPOTrainer(
        model, rollout.reward, args, Dataset.from_list(rollout.rows(100)), rollout_func=rollout
    )

A row of the data set is one decision of one seat in one deal, as "kuhn_poker 17 first 0": the seed
of the play, the seat, and which of the seat's decisions. TRL repeats each row `num_generations`
times; the n-th repetitions of all rows of a deal are one play. So each row's group has the same
seat, chance and turn, and its mean is the baseline of that role. Each prompt is the one of our
runtime, whole. A row whose decision was not reached, a referee's, and one of an innocent seat whose
play another's forfeit made void, has no reward: TRL leaves it out of baseline and loss.

Rows of one deal must not be shuffled apart, or the same play is written once for each batch that
has some of them: set `shuffle_dataset=False`, and `generation_batch_size` to a multiple of
`rows_per_deal * num_generations`.

`seat_environment(game, seat, against)` is a class for `environment_factory` instead: one seat
learns against players, by calls of the tool `act`, and all its replies are one completion.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gamedsl.bounds.programs import ProgramBounds
from gamedsl.export.peer_play import PeerGame, PeerPlay, chat, cut
from gamedsl.export.table import PEERS
from gamedsl.extras import importing
from gamedsl.ir.program import Choose, Step
from gamedsl.runtime.game import Game

with importing(PEERS["trl"].needs):
    pass  # nothing of it is imported: its trainer comes as an argument


class Reply(NamedTuple):
    """A decision as it was tokenised, and the reply that the model wrote."""

    prompt: list[int]
    completion: list[int]
    logprobs: list[float] | None


class Rollout:
    """A game as TRL's `rollout_func`. See the module docstring.

    `turns` is the most decisions of a seat in a play that are trained, in rows of their own; later
    ones are played, and not trained. By default it is the bound that the game's form gives, which
    does not count replies that are refused and asked again. `tokenizer` is by default the
    trainer's. A completion that was cut off at `max_completion_length` is refused. Other arguments
    are as in `PeerGame`. Raises ValueError where the form gives no bound, and as `PeerGame`.
    """

    __name__ = "gamedsl"

    def __init__(
        self,
        game: Game | str | Path,
        held: Iterable[str] = (),
        against: Iterable[str] = (),
        *,
        turns: int | None = None,
        params: Mapping[str, Any] | None = None,
        calls: Iterable[str | Path] = (),
        run_seed: int = 0,
        tokenizer: Any = None,
    ) -> None:
        self.table = PeerGame(
            game, held, against, params=params, calls=calls, run_seed=run_seed, tokenizer=tokenizer
        )
        bounds = ProgramBounds(self.table.game.ir)
        self.turns = {seat: turns or _turns(bounds, seat) for seat in self.table.held}
        """The rows of each seat in a deal; a referee has none."""
        for referee in set(self.turns) - set(self.table.game.ir.seats):
            del self.turns[referee]

    @property
    def rows_per_deal(self) -> int:
        return sum(self.turns.values())

    def rows(self, deals: int, first_seed: int = 0) -> list[dict[str, str]]:
        """Returns the rows of a data set: all decisions of the plays of `deals` seeds."""
        name = self.table.game.name
        return [
            {"prompt": f"{name} {seed} {seat} {turn}"}
            for seed in range(first_seed, first_seed + deals)
            for seat, most in self.turns.items()
            for turn in range(most)
        ]

    def __call__(self, prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
        """Plays all games of a batch in lock-step. Returns TRL's columns, and `reward`, `seat`,
        `refused` and `forfeited` for the reward function."""
        times: Counter[str] = Counter()
        places = []
        for prompt in prompts:
            _game, seed, seat, number = prompt.rsplit(" ", 3)
            places.append(((int(seed), times[prompt]), seat, int(number)))
            times[prompt] += 1
        table = self.table.counted_by(_tokenizer_of(trainer))
        plays = {key: table.begin(key[0]) for key in dict.fromkeys(k for k, _, _ in places)}
        replies = self._played(plays, trainer)
        eos = trainer.processing_class.eos_token_id
        rows = []
        for key, seat, turn in places:
            said = replies[key, seat]
            reached = turn < len(said)
            reply = said[turn] if reached else Reply([eos], [eos], [0.0])
            rows.append((reply, reached, seat, plays[key].outcome(seat)))
        return {
            "prompt_ids": [reply.prompt for reply, *_ in rows],
            "completion_ids": [reply.completion for reply, *_ in rows],
            "logprobs": _logprobs([(reply, reached) for reply, reached, *_ in rows]),
            "env_mask": [[int(reached)] * len(reply.completion) for reply, reached, *_ in rows],
            "reward": [
                float(found.reward) if reached and found.reward is not None else None
                for _, reached, _, found in rows
            ],
            "seat": [seat for _, _, seat, _ in rows],
            "refused": [len(found.refused) for *_, found in rows],
            "forfeited": [int(found.forfeited) for *_, found in rows],
        }  # fmt: skip

    def reward(
        self, completions: Any, reward: Sequence[float | None], seat: Sequence[str],
        refused: Sequence[int], forfeited: Sequence[int], log_metric: Any = None, **columns: Any,
    ) -> list[float | None]:  # fmt: skip
        """Returns the exact reward of each row's seat: TRL's reward function. Logs the means of
        each seat."""
        if log_metric is not None:
            for name in self.turns:
                own = [place for place, one in enumerate(seat) if one == name]
                paid = [value for place in own if (value := reward[place]) is not None]
                if paid:
                    log_metric(f"{name}/reward", sum(paid) / len(paid))
                if own:
                    log_metric(f"{name}/refused", sum(refused[p] for p in own) / len(own))
                    log_metric(f"{name}/forfeited", sum(forfeited[p] for p in own) / len(own))
        return list(reward)

    def _played(
        self, plays: Mapping[Any, PeerPlay], trainer: Any
    ) -> Mapping[tuple[Any, str], list[Reply]]:
        """Plays to the end, asking for the replies of all plays at once. Returns the replies of
        each play and seat, in order."""
        tokenizer = trainer.processing_class
        found: dict[tuple[Any, str], list[Reply]] = defaultdict(list)
        while asked := [(key, one) for key, play in plays.items() for one in play.waiting]:
            prompts = [
                tokenizer.apply_chat_template(
                    chat(one), add_generation_prompt=True, tokenize=True, return_dict=False,
                    **trainer.chat_template_kwargs,
                )
                for _, one in asked
            ]  # fmt: skip
            # one prompt, one completion: as TRL itself asks for the turns after a tool's result
            written, logprobs = trainer._generate_single_turn(prompts, None, {}, 1)
            for place, (key, one) in enumerate(asked):
                own = None if logprobs is None else logprobs[place]
                found[key, one.seat].append(Reply(prompts[place], list(written[place]), own))
                text = tokenizer.decode(written[place], skip_special_tokens=True)
                reply = cut(text) if _is_cut(written[place], trainer) else text
                plays[key].answer(one.seat, reply)
        return found


OVER = "The game is over."
CALL_ACT = "Send your reply by calling `act`."


class SeatEnvironment:
    """One seat of a game as TRL's environment; `seat_environment` makes subclasses with a game.

    A data set has a prompt as a chat and a `seed`. `reset` adds the first prompt of the seat to the
    last message. The model replies by calls of `act`, which returns the next prompt.
    """

    _table: PeerGame
    _play: PeerPlay

    def reset(self, seed: int = 0, **row: Any) -> str:
        """Starts the play of a seed. Returns the prompt of the seat, or that the game is over."""
        self._play = self._table.begin(seed)
        return self._shown()

    def act(self, reply: str) -> str:
        """Sends your reply to the game, and returns what you are asked next.

        Args:
            reply: Your reply, exactly as the game asks for it.
        """
        if self._play.waiting:
            self._play.answer(self._table.held[0], reply)
        return self._shown()

    def get_reward(self) -> float | None:
        """Returns the exact reward of the seat; None where another seat's forfeit made the play
        void, so that TRL leaves the completion out. What the model left unanswered counts as the
        empty reply, which costs what the game says."""
        while self._play.waiting:
            self._play.answer(self._table.held[0], "")
        reward = self._play.outcome(self._table.held[0]).reward
        return None if reward is None else float(reward)

    def _shown(self) -> str:
        waiting = self._play.waiting
        if not waiting:
            return OVER
        return "\n\n".join([*(part["content"] for part in chat(waiting[0])), CALL_ACT])


def seat_environment(
    game: Game | str | Path,
    seat: str = "",
    against: Iterable[str] = (),
    *,
    params: Mapping[str, Any] | None = None,
    calls: Iterable[str | Path] = (),
    run_seed: int = 0,
    tokenizer: Any = None,
) -> type[SeatEnvironment]:
    """Returns a class for the `environment_factory` of GRPOTrainer: one seat, by default the first
    that no player holds, against players. Arguments and errors as in `PeerGame.of_one`."""
    table = PeerGame.of_one(
        game, seat, against, params=params, calls=calls, run_seed=run_seed, tokenizer=tokenizer
    )
    return type("GameSeat", (SeatEnvironment,), {"_table": table})


def seat_rows(deals: int, first_seed: int = 0) -> list[dict[str, Any]]:
    """Returns a data set for `seat_environment`: one row a seed, with an empty message, to which
    the environment adds the prompt."""
    empty = [{"role": "user", "content": ""}]
    return [{"prompt": empty, "seed": seed} for seed in range(first_seed, first_seed + deals)]


def _turns(bounds: ProgramBounds, seat: str) -> int:
    def asks(step: Step) -> int:
        return int(isinstance(step, Choose) and seat in step.actors)

    most = bounds.total(asks)
    if most is None:
        raise ValueError(f"no bound on the decisions of {seat} is known; fix: give `turns=…`")
    return int(most)


def _tokenizer_of(trainer: Any) -> Any:
    """Returns the tokenizer of the trained model; a processor of texts and images has one."""
    return getattr(trainer.processing_class, "tokenizer", trainer.processing_class)


def _is_cut(completion: Sequence[int], trainer: Any) -> bool:
    """Returns whether a completion filled its room, and no token ended it."""
    if len(completion) < trainer.max_completion_length:
        return False
    return completion[-1] not in (*trainer.eos_token_ids, _tokenizer_of(trainer).pad_token_id)


def _logprobs(rows: Sequence[tuple[Reply, bool]]) -> list[Any] | None:
    """Returns the log-probabilities under the sampler, where it gives them."""
    if any(reached and reply.logprobs is None for reply, reached in rows):
        return None
    return [reply.logprobs for reply, _ in rows]
