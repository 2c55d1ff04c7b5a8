"""Advantages: the return of each reply from its decision on, less a baseline.

The return to go is the seat's reward less what it had earned already when it was asked; of a reply
that was refused it is the cost of an invalid reply (`on_invalid: {pay: ...}`). A written reply that
comes near its limit of tokens loses a penalty (`overlong`; Yu et al. 2025). A trajectory that n
games took counts n times. Arithmetic is exact until the end, so that a batch in which all earn the
same has advantages of exactly zero. Samples whose reward is None (somebody forfeited) are void, and
take part in nothing.

A sample is compared with others of its group and deal by `compare`: the same turn of its role
(AT-GRPO; Zhao et al. 2025, "Stronger Together"), all turns of its role (M-GRPO; Hong et al. 2025),
or all of the team. By default the baseline is their mean (GRPO; Shao et al. 2024, without the
division by the standard deviation, which Liu et al. 2025 found to bias it and which kills mixed
strategies). Written replies come to so many different turns that one which stands alone there is
compared with all of its role.

The return of a referee that is trained is its payoff: it has a part in no team's reward, and no
team in its.

Subtracting what does not depend on a sample's own action leaves the expected gradient as it is and
lowers its variance. The means of a step contain the game itself, so each takes a share of about
1/n of the signal away, the same for all actions, n being the games in the mean; where several
seats of a role share a mean, what an action earned the others is in it too, with that weight.
`leave_one_out` (Kool et al. 2019) leaves the whole game out and is free of both; of written
replies it leaves out the reply. `running` is known before the step is played, and so exactly
unbiased: the baseline of each role of its own of SPIRAL (Liu et al. 2025), which takes it after
the update. `critic` is a value that is learned, of each decision (`gamedsl.training.critic`).
`global` is the known-bad control: one number for all roles, which penalises every
action of the lower-paid role.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from gamedsl.recipe.table import Overlong, Recipe
from gamedsl.training.credit import Redraws, Replays
from gamedsl.training.critic import Critic, Earned
from gamedsl.training.moving_means import MovingMeans
from gamedsl.training.trajectories import Batch, Sample, Trajectory, compared, earned, return_to_go


class Return(NamedTuple):
    """The return to go of `games` equal samples. The baseline is over samples of the same `cell`;
    one that stands alone there has those of its `wider` cell. Samples of one `unit` leave a mean
    together."""

    role: str
    games: int
    amount: Fraction
    cell: Hashable
    wider: Hashable
    unit: Hashable


class Advantage(NamedTuple):
    """A sample that counts for `games` games, by the number of its trajectory, with its
    advantage."""

    trajectory: int
    sample: Sample
    games: int
    amount: float


@dataclass(frozen=True)
class Weighed:
    """The samples of the roles that learn in a step, and how many were left out as void."""

    advantages: list[Advantage]
    void: int

    @property
    def samples(self) -> int:
        """The number of samples, each counted once for each of its games."""
        return sum(one.games for one in self.advantages)


class Advantages:
    """Turns rewards into advantages, as a recipe says. One lasts for a run, and what it keeps is in
    the checkpoint."""

    def __init__(
        self, recipe: Recipe, replays: Replays | Redraws | None = None, *, written: bool = False,
        critic: Critic | None = None,
    ) -> None:  # fmt: skip
        """replays: plays out alternatives, for a `credit` that asks for them. written: replies are
        written, not scored. critic: for the `baseline` of that name."""
        self._recipe, self._written = recipe, written
        self._replays = replays if recipe.credit in ("difference", "counterfactual") else None
        self._critic = critic
        self._running = Running(Fraction(recipe.baseline_rate).limit_denominator(10**9))

    def weigh(self, batch: Batch, learns: Collection[str]) -> Weighed:
        """Returns the advantages of a step's games, of the roles that learn in it."""
        samples = self._counted(batch, learns)
        returns = [self._return(batch, unit, *one) for unit, one in enumerate(samples)]
        if self._replays is not None:
            amounts = list(map(Fraction, self._replays.advantages(batch, samples)))
        elif self._critic is not None:
            amounts = list(
                map(Fraction, self._critic.advantages(batch, self._earned(samples, returns)))
            )
        elif self._recipe.baseline == "running":
            amounts = self._running.over(returns)
        else:
            amounts = BASELINES[self._recipe.baseline](returns)
        games = batch.trajectories
        cells = [self._scale_cells(games[number], sample) for number, sample in samples]
        divisors = _divisors(returns, amounts, cells)
        advantages = [
            Advantage(number, sample, one.games, float(amount) / divisor)
            for (number, sample), one, amount, divisor in zip(
                samples, returns, amounts, divisors, strict=True
            )
            if one.role in learns
        ]
        void = sum(
            games[number].games
            for number, sample in batch.samples
            if sample.role in learns and earned(games[number], sample) is None
        )
        return Weighed(advantages, void)

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint must hold of it."""
        kept = {"running": self._running.state()}
        return kept if self._critic is None else kept | {"critic": self._critic.state()}

    @property
    def record(self) -> dict[str, Any]:
        """The fields of the last step's record."""
        return {} if self._critic is None else self._critic.record

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned."""
        self._running.restore(state["running"])
        if self._critic is not None:
            self._critic.restore(state["critic"])

    def _earned(
        self, samples: Sequence[tuple[int, Sample]], returns: Sequence[Return]
    ) -> list[Earned]:
        """Returns what the critic learns from."""
        found = []
        for (number, sample), one in zip(samples, returns, strict=True):
            lost = overlong(self._recipe.overlong, sample)
            found.append(Earned(number, sample, one.games, one.amount + lost, lost))
        return found

    def _counted(self, batch: Batch, learns: Collection[str]) -> list[tuple[int, Sample]]:
        """Returns the samples that take part in anything: not void, and of a role that is trained.
        Credit by replays compares nothing with what other roles earned, so only those that learn
        now."""
        games = batch.trajectories
        trained = self._recipe.learners(games[0].episode.env.ir) if games else ()
        return [
            (number, sample)
            for number, sample in batch.samples
            if earned(games[number], sample) is not None
            and sample.role in trained
            and (self._replays is None or sample.role in learns)
        ]

    def _return(self, batch: Batch, unit: int, number: int, sample: Sample) -> Return:
        one = batch.trajectories[number]
        amount = return_to_go(one, sample, team=self._recipe.credit == "team")
        amount -= overlong(self._recipe.overlong, sample)
        cells = self._cells(one, sample)
        return Return(sample.role, one.games, amount, *cells, unit if self._written else number)

    def _cells(self, one: Trajectory, sample: Sample) -> tuple[Hashable, Hashable]:
        """Returns the cell that the baseline is over, and the wider one."""
        match self._recipe.baseline:
            case "global":
                return None, None
            case "information_set" if self._written:
                return _prompt(sample), compared("turn", one, sample)[1:]  # of all groups
            case "information_set":
                return sample.query, sample.query
            case "mean" | "leave_one_out" | "running" | "critic" | "none":
                cell = compared(self._recipe.compare, one, sample)
                return cell, compared("role", one, sample) if self._written else cell

    def _scale_cells(self, one: Trajectory, sample: Sample) -> tuple[Hashable, Hashable]:
        """Returns the key of the samples whose advantages are divided by one deviation, and that
        of the wider cell for one that stands alone; None for no division."""
        match self._recipe.scale:
            case "none":
                return None, None
            case "group":
                cell = compared(self._recipe.compare, one, sample)
                return cell, compared("role", one, sample) if self._written else cell
            case "batch":
                role = None if self._written else sample.role
                return ("batch", role), ("batch", role)


def overlong(plan: Overlong, sample: Sample) -> Fraction:
    """Returns what a reply loses for its length: `penalty` at its limit of tokens, and from a
    `share` of the limit before it on a part that rises in a straight line."""
    if not plan.penalty or sample.written is None:
        return Fraction(0)
    over = len(sample.written.reply_ids) - (1 - Fraction(plan.share)) * sample.limit
    part = over / (Fraction(plan.share) * sample.limit)
    return Fraction(plan.penalty) * min(max(part, Fraction(0)), Fraction(1))


def _prompt(sample: Sample) -> Hashable:
    """Returns what was asked, word by word, of which adapter."""
    if sample.written is not None:
        return sample.adapter, sample.written.prompt_ids
    return sample.query


def over_nothing(returns: Sequence[Return]) -> list[Fraction]:
    """Returns the returns themselves."""
    return [one.amount for one in returns]


def over_mean(returns: Sequence[Return]) -> list[Fraction]:
    """Returns the returns less the means over their cells. One that stands alone gets zero, unless
    its wider cell has others."""
    cells = _effective(returns)
    mean = means(returns, [one.cell for one in returns])
    if any(cell not in mean for cell in cells):
        mean = means(returns, [one.wider for one in returns]) | mean
    return [one.amount - mean[cell] for one, cell in zip(returns, cells, strict=True)]


def over_others(returns: Sequence[Return]) -> list[Fraction]:
    """Returns the returns less the means over the samples of other units in their cells; zero where
    there are none."""
    cells = _effective(returns)
    total: dict[Hashable, Fraction] = defaultdict(Fraction)
    count: dict[Hashable, int] = defaultdict(int)
    own: dict[Hashable, Fraction] = defaultdict(Fraction)
    seats: dict[Hashable, int] = defaultdict(int)
    for one in returns:
        for cell in {one.cell, one.wider}:
            total[cell] += one.games * one.amount
            count[cell] += one.games
            own[cell, one.unit] += one.amount
            seats[cell, one.unit] += 1
    found = []
    for one, cell in zip(returns, cells, strict=True):
        others = count[cell] - seats[cell, one.unit]
        mean = (total[cell] - own[cell, one.unit]) / others if others else one.amount
        found.append(one.amount - mean)
    return found


BASELINES: dict[str, Callable[[Sequence[Return]], list[Fraction]]] = {
    "mean": over_mean,
    "leave_one_out": over_others,
    "information_set": over_mean,
    "global": over_mean,
    "none": over_nothing,
}
"""The baselines that need nothing but the step, over the cells of `Advantages`."""


class Running:
    """Each role's mean return over the steps so far. The first step is compared with its own
    mean."""

    def __init__(self, rate: Fraction = Fraction(1, 10)) -> None:
        self._means = MovingMeans(rate)

    def over(self, returns: Sequence[Return]) -> list[Fraction]:
        """Returns the returns less the roles' means before this step, which it then adds to
        them."""
        now = means(returns, [one.role for one in returns])
        before = {role: Fraction(mean) for role, mean in self._means.means.items()}
        found = [one.amount - before.get(one.role, now[one.role]) for one in returns]
        for role in dict.fromkeys(one.role for one in returns):
            self._means.see(role, now[role])
        return found

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint must hold of it."""
        return self._means.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned."""
        self._means.restore(state)


def means(returns: Sequence[Return], keys: Sequence[Hashable]) -> dict[Hashable, Fraction]:
    """Returns the mean over all samples of each key; `keys` is parallel to `returns`."""
    total: dict[Hashable, Fraction] = defaultdict(Fraction)
    count: dict[Hashable, int] = defaultdict(int)
    for one, key in zip(returns, keys, strict=True):
        total[key] += one.games * one.amount
        count[key] += one.games
    return {key: amount / count[key] for key, amount in total.items()}


def _effective(returns: Sequence[Return]) -> list[Hashable]:
    """Returns the cell of each sample: the wider one where it is alone in its own."""
    count: dict[Hashable, int] = defaultdict(int)
    for one in returns:
        count[one.cell] += one.games
    return [one.cell if count[one.cell] > 1 else one.wider for one in returns]


def _divisors(
    returns: Sequence[Return], amounts: Sequence[Fraction],
    cells: Sequence[tuple[Hashable, Hashable]],
) -> list[float]:  # fmt: skip
    """Returns what each advantage is divided by: the root mean square over its scale cell, or over
    the wider one where it stands alone (1 where that is 0, or the cell is None)."""
    squares: dict[Hashable, Fraction] = defaultdict(Fraction)
    games: dict[Hashable, int] = defaultdict(int)
    for one, both, amount in zip(returns, cells, amounts, strict=True):
        for cell in {*both} - {None}:
            squares[cell] += one.games * amount**2
            games[cell] += one.games
    roots = {cell: math.sqrt(squares[cell] / games[cell]) or 1.0 for cell in squares}
    taken = [cell if games[cell] > 1 else wider for cell, wider in cells]
    return [1.0 if cell is None else roots[cell] for cell in taken]
