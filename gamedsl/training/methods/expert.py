"""`expert`: do as the best of the policy's own games did, or as a teacher does.

With n(q, a) how often an action is an example at a prompt, the loss is the cross-entropy
-sum n log pi / sum n. It has no baseline and no negative examples: what was not kept is neither
raised nor lowered but by the softmax.

Best: of the games that share everything but choices up to a role's first decision, a share
`expert.keep` by what they brought the role, and only those that brought more than the mean; equals
at the border are kept in part. Keeping one's best samples and learning to do as they did is what
rejection sampling and STaR do (Zelikman et al. 2022).

A teacher is asked at every distinct prompt that the policy came to, and each counts once: with a
search player this is expert iteration (Anthony et al. 2017), with any other DAgger (Ross et al.
2011).

In games in words all valid replies of the games that are kept are examples, the tokens of texts and
thoughts as well as options (`gamedsl.training.losses.ImitationLoss`). A teacher says which option
to take. So with one the options are learned, each after the thought that the policy wrote, and no
token is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from gamedsl.recipe.conflicts import Conflict, writes_all
from gamedsl.recipe.methods import MethodSpec
from gamedsl.recipe.setting import setting
from gamedsl.storage.shapes import NUMBER

if TYPE_CHECKING:
    import numpy as np
    import torch

    from gamedsl.players.base import Player
    from gamedsl.training.advantages import Advantage
    from gamedsl.training.estimators import Experience
    from gamedsl.training.losses import Loss
    from gamedsl.training.methods.base import Learner, Record
    from gamedsl.training.trajectories import Batch, Sample


@dataclass(frozen=True)
class ExpertSettings:
    """The examples of the method: the best share `keep` of the games, or those of a `teacher`."""

    keep: float = setting(
        0.25,
        "share of each group's games that `expert` imitates, by what they brought each role",
        low=0, high=1, above=True,
    )  # fmt: skip
    teacher: str | None = setting(
        "none",
        "the player whose moves `expert` imitates wherever the policy came, such as `mcts:200`",
        absent="none", names_player=True,
    )  # fmt: skip


class Expert:
    """Keeps nothing from step to step."""

    def __init__(self, learner: Learner) -> None:
        """Raises TrainError where there is no such player as the recipe's teacher."""
        self._learner, self._expert = learner, learner.recipe.of(ExpertSettings)
        teacher = self._expert.teacher
        self._teacher = None if teacher is None else Teacher(learner, teacher)

    def update(self, experience: Experience) -> Record:
        from gamedsl.training.losses import descend

        learner, batch, learns = self._learner, experience.batch, experience.learns
        if self._teacher is not None:
            loss, total = self._taught(batch, self._teacher.labels(batch, learns))
        elif learner.written:
            loss, total = self._repeated(batch, learns)
        else:
            loss, total = self._taught(batch, best(batch, self._expert.keep, learns))
        if loss is None:  # no game did better than another
            return learner.idle(experience.step) | {"examples": 0.0}
        record = descend(learner, [loss] * learner.recipe.inner_steps, experience)
        return record | {"examples": total}

    def _taught(self, batch: Batch, examples_A: Sequence[np.ndarray]) -> tuple[Loss | None, float]:
        """Returns the loss by how often each option is an example, per query, and the number of
        examples; None without any."""
        import numpy as np
        import torch

        from gamedsl.training.losses import LabelLoss

        learner = self._learner
        pairs = zip(batch.queries, examples_A, strict=True)
        examples = [(query, counts) for query, counts in pairs if counts.any()]
        if not examples:
            return None, 0.0
        total = float(sum(counts.sum() for _, counts in examples))
        wanted_L = torch.from_numpy(np.concatenate([counts for _, counts in examples])).float()

        def loss(log_pi_A: Sequence[torch.Tensor]) -> torch.Tensor:
            played_L = torch.cat(learner.played(log_pi_A))
            return -(wanted_L.to(played_L) * played_L).sum() / total

        labels = LabelLoss(learner, [query for query, _ in examples], loss)
        labels.record = {"trained": 0} if learner.written else {}  # tokens, of which none is
        return labels, total

    def _repeated(self, batch: Batch, learns: Collection[str]) -> tuple[Loss | None, float]:
        """Returns the loss by the replies of the games that are kept, and their number; None
        without any."""
        from gamedsl.training.losses import ImitationLoss

        examples = [
            one for one in kept(batch, self._expert.keep, learns)
            if one.amount and one.sample.invalid is None
        ]  # fmt: skip
        if not examples:
            return None, 0.0
        loss = ImitationLoss(self._learner, examples, batch.queries)
        return loss, loss.total

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None: ...


class _Played(NamedTuple):
    """The decisions of a seat in `games` equal games, by the number of their trajectory, and its
    reward."""

    trajectory: int
    games: int
    reward: Fraction
    samples: tuple[Sample, ...]


def kept(batch: Batch, keep: float, learns: Collection[str]) -> Iterator[Advantage]:
    """Yields the replies of the roles that learn, each with the share of its games that is
    kept."""
    from gamedsl.training.advantages import Advantage

    cells: dict[tuple[int, int, str], list[_Played]] = defaultdict(list)
    for number, one in enumerate(batch.trajectories):
        for seat, reward in one.episode.earnings.items():
            mine = tuple(s for s in one.samples if s.seat == seat and s.role in learns)
            if mine and reward is not None:
                cell = (one.group, mine[0].deal, mine[0].role)
                cells[cell].append(_Played(number, one.games, Fraction(reward), mine))
    for played in cells.values():
        for seat_games, share in zip(played, _shares(played, keep), strict=True):
            for sample in seat_games.samples:
                yield Advantage(seat_games.trajectory, sample, seat_games.games, share)


def best(batch: Batch, keep: float, learns: Collection[str]) -> list[np.ndarray]:
    """Returns per query of a batch how many of the kept games took each action [labels]; zeros
    where a role does not learn."""
    import numpy as np

    counts = [np.zeros(len(query.labels)) for query in batch.queries]
    for one in kept(batch, keep, learns):
        query, action = one.sample.scored
        counts[query][action] += one.games * one.amount
    return counts


def _shares(played: list[_Played], keep: float) -> list[float]:
    """Returns how much of each is kept."""
    total = sum(one.games for one in played)
    mean = sum(one.games * one.reward for one in played) / Fraction(total)
    left, share = keep * total, dict[Fraction, float]()
    for reward in sorted({one.reward for one in played if one.reward > mean}, reverse=True):
        games = sum(one.games for one in played if one.reward == reward)
        share[reward] = min(left / games, 1.0)
        left -= share[reward] * games
    return [share.get(one.reward, 0.0) for one in played]


class Teacher:
    """The player that a recipe names as teacher. One that draws without telling its odds is opened
    anew at each step, so that a run that was stopped goes on with the same answers."""

    def __init__(self, learner: Learner, spec: str) -> None:
        """Raises TrainError where there is no such player."""
        self._learner, self._spec = learner, spec
        self._player = self._open(learner.recipe.seed)

    def labels(self, batch: Batch, learns: Collection[str]) -> list[np.ndarray]:
        """Returns per query of a batch the teacher's odds [labels]; zero where the role does not
        learn, or the teacher has no valid answer."""
        import numpy as np

        from gamedsl.players.base import DrawingPlayer
        from gamedsl.training.imitated_prompts import PlayerOdds
        from gamedsl.training.rollout import generator

        # in words a teacher may answer in writing, and now and then its reply is not valid
        player, odds = self._player, PlayerOdds(must_answer=not self._learner.written)
        if not isinstance(player, DrawingPlayer):
            rng = generator(self._learner.recipe.seed, batch.step, "teacher")
            player = self._open(int(rng.integers(2**31)))
        taught = [
            (number, (decision, query, episode))
            for number, (query, (decision, episode)) in enumerate(
                zip(batch.queries, batch.points, strict=True)
            )
            if decision.role in learns
        ]
        rows = odds.of(player, [one for _, one in taught])
        found = [np.zeros(len(query.labels)) for query in batch.queries]
        for (number, _), pi_A in zip(taught, rows, strict=True):
            found[number] = pi_A
        return found

    def _open(self, seed: int) -> Player:
        assert self._learner.open_player is not None, "a run opens players"
        return self._learner.open_player(self._spec, seed)


def _unused(name: str) -> Conflict:
    """The conflict with a term that the objective does not have."""
    return Conflict(
        ("method", name), lambda recipe, _: recipe.value(name),
        f"`expert` imitates, and has no `{name}` in its objective",
        f"leave `{name}` out, or write `method: grpo`",
    )  # fmt: skip


METHOD = MethodSpec(
    doc="imitation of the best games, or of a teacher",
    start=Expert,
    settings={"expert": ExpertSettings},
    reads=("max_grad_norm", "max_change"),
    defaults={"inner_steps": 4},
    conflicts=(
        *map(_unused, ("kl", "entropy", "entropy_floor", "overlong.penalty")),
        Conflict(
            ("method", "estimator"), lambda recipe, _: recipe.estimator == "tree",
            "`expert` imitates games that were played, and exact action values are no games",
            "write `estimator: sampled`, or another `method`",
        ),
        Conflict(
            ("expert.teacher", "expert.keep"),
            lambda recipe, _: recipe.of(ExpertSettings).teacher is not None,
            "with a teacher every decision is labelled, and no games are chosen",
            "leave `expert.keep` or `expert.teacher` out",
            unusual=("expert.keep",),
        ),
        Conflict(
            ("expert.teacher", "replies"),
            lambda recipe, ir: recipe.of(ExpertSettings).teacher is not None
            and writes_all(recipe, ir),
            "a teacher says which option it would take, and here all replies are written",
            "leave `expert.teacher` out, or imitate what it writes: `warm_up.expert` with"
            " `warm_up.rounds`",
        ),
    ),
    records={"examples": (NUMBER, "decisions that were imitated")},
)  # fmt: skip
