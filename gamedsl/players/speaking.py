"""Language models in seats of games in words: as a run has trained them, or as they come.

Such a player answers many decisions at once, those of all games that are played side by side, as
training does: one scoring pass, and one batch of replies that are written. It answers under labels
of its own, those of the run that trained it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gamedsl.players.base import Answered, Dice, Player, Posed, answer
from gamedsl.players.replying import Asked, Reply, replies

if TYPE_CHECKING:
    from gamedsl.policies.generation import Writing
    from gamedsl.runtime import Action, Decision, Episode, ParseFailure


class SpeakingPlayer:
    """A policy that answers for each role, referees included, with an adapter."""

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
    ) -> None:
        """`adapters` are by role, and so are the players that hold roles in the policy's place;
        `run_seed` draws the labels, `seed` what `act` answers. `free`: closed decisions are
        answered in writing; `constrain`: what is read as JSON is held to its schema."""
        self._free, self._constrain = free, constrain
        self.policy, self.adapters, self.held = policy, dict(adapters), dict(held or {})
        self._run_seed, self._temperature, self._dice = run_seed, temperature, Dice(seed)

    def act(self, decision: Decision, episode: Episode) -> Action | str | ParseFailure:
        seed = self._dice[decision.seat].getrandbits(31)
        return self.answers([Posed(decision, episode, seed)])[0].reply

    def answers(self, posed: Sequence[Posed]) -> list[Answered]:
        """One answer to each. Raises KeyError, PlayerError and ModelError as engines and the
        players of `held` do."""
        own = [i for i, one in enumerate(posed) if one.decision.role not in self.held]
        said = replies(
            self.policy, [self._asked(posed[i]) for i in own], self._temperature,
            constrain=self._constrain, free=self._free,
        )  # fmt: skip
        found = {i: _answered(reply) for i, reply in zip(own, said, strict=True)}
        for role, player in self.held.items():
            theirs = [i for i, one in enumerate(posed) if one.decision.role == role]
            found |= zip(theirs, answer(player, [posed[i] for i in theirs]), strict=True)
        return [found[i] for i in range(len(posed))]

    def _asked(self, one: Posed) -> Asked:
        """A decision under the labels of the run."""
        from gamedsl.prompting.labels import draw_labels

        book = draw_labels(
            one.episode.env.ir, run_seed=self._run_seed, seed=one.episode.seed,
            tokenizer=self.policy.tokenizer,
        )  # fmt: skip
        return Asked(one.decision.under(book), self.adapters[one.decision.role], one.seed)


def _answered(reply: Reply) -> Answered:
    if reply.written is None:
        return Answered(reply.answer)
    return Answered(reply.answer, reply.text, len(reply.written.reply_ids))
