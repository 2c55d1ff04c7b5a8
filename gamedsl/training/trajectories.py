"""Trajectories: the decisions of the policy in finished games, with the replies to them.

One type serves both kinds of reply. An option that was scored is a query and an action, exact over
the labels; a written reply is its tokens with their log-probabilities under the sampler. A thought
before an option is both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from gamedsl.ir.outcome import rewards_so_far
from gamedsl.players.model_replies import Choice, text_of
from gamedsl.policies.base import Query
from gamedsl.policies.generation import Generated
from gamedsl.prompting.replies import ParseFailure
from gamedsl.training.seats import Lineup

if TYPE_CHECKING:
    import torch

    from gamedsl.runtime import Action, Decision, Episode


class Place(NamedTuple):
    """The decision at which a query was asked."""

    information_set: str
    role: str
    seat: str
    step: str
    legal: tuple[str, ...]


Moved = tuple[str, str, int, int]
"""The key of a reply in a game: its seat, step and occurrence, and how often it was refused."""


class DecisionPoint(NamedTuple):
    """An episode that waits for decisions, not to be moved, and the move that each seat made."""

    episode: Episode
    moves: Mapping[str, Action | str | ParseFailure]


class Sample(NamedTuple):
    """One reply of one seat.

    `query` and `action` are indices (into `Batch.queries`, and its labels) of an option that was
    scored; `written` holds the tokens of a written reply. Samples of one `deal` have all of chance
    so far in common, beside their group's. `paid` is the reward that the seat had before. `point`
    is the decision itself, where alternatives can be played from it. `invalid` says why the reply
    was refused; the seat then earns the cost of an invalid reply, and nothing else. `limit` is the
    most tokens that its written part might have had.
    """

    query: int | None
    action: int | None
    role: str
    seat: str
    step: str
    occurrence: int
    deal: int = 0
    paid: int | Fraction = 0
    point: DecisionPoint | None = None
    adapter: str = ""
    written: Generated | None = None
    attempt: int = 0
    invalid: ParseFailure | None = None
    limit: int = 0

    @property
    def scored(self) -> tuple[int, int]:
        """The query and the action of an option that was scored."""
        assert self.query is not None, "the reply was written, not scored"
        assert self.action is not None, "a scored query has an action"
        return self.query, self.action


@dataclass(frozen=True)
class Trajectory:
    """A finished course of play that `games` games of a group took. `samples` are the decisions
    that the policy answered, in order."""

    group: int
    games: int
    samples: Sequence[Sample]
    episode: Episode
    row: int | None = None
    """The number of its row, where rows are drawn by success (`gamedsl.training.rows`)."""
    moves: Mapping[Moved, Action | str | ParseFailure] = field(default_factory=dict)
    """All replies of a game that was played by itself."""


@dataclass
class Batch:
    """The games of one step, whose number keyed their random numbers. `places` and `points` are
    parallel to `queries`."""

    queries: list[Query] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    trajectories: list[Trajectory] = field(default_factory=list)
    points: list[tuple[Decision, Episode]] = field(default_factory=list)
    """The decision at which each query was first asked, with its episode."""
    step: int = 0
    set_aside: list[Trajectory] = field(default_factory=list)
    """Games of groups without signal, in whose place others were played: they count in measures of
    play, and not in the update."""
    round: int = 0
    """How often groups were set aside so far."""
    lineups: list[Lineup] = field(default_factory=list)
    """The opponents of each group; empty where the policy plays all games against itself."""
    tokens: int = 0
    """Distinct tokens that were scored for these games."""
    lag: int = 0
    """How many updates the policy that played these games is behind the one that learns."""
    scores: Mapping[Query, torch.Tensor] | None = None
    """log pi [A] of options under the policy that played them, where another one learns."""
    _index: dict[Query, int] = field(default_factory=dict)

    @property
    def played(self) -> list[Trajectory]:
        """All games, those that were set aside too."""
        return [*self.trajectories, *self.set_aside]

    def purpose(self, name: str) -> str:
        """Returns what random numbers are for: others in each round of play."""
        return f"{name}, again {self.round}" if self.round else name

    def lineup(self, trajectory: Trajectory) -> Lineup:
        """Returns the opponents of a trajectory."""
        return self.lineups[trajectory.group] if self.lineups else Lineup()

    def index(self, query: Query, decision: Decision, episode: Episode) -> int:
        """Returns the number of a query, adding it if it is new."""
        if query not in self._index:
            self._index[query] = len(self.queries)
            self.queries.append(query)
            self.places.append(place_of(decision))
            self.points.append((decision, episode))
        return self._index[query]

    @property
    def samples(self) -> Iterator[tuple[int, Sample]]:
        """All samples, each with the number of its trajectory."""
        for number, trajectory in enumerate(self.trajectories):
            for sample in trajectory.samples:
                yield number, sample

    def text(self, sample: Sample) -> str:
        """Returns a reply as it would be written."""
        if sample.query is None:
            return text_of(sample.written, None)
        query, action = sample.scored
        return text_of(sample.written, Choice(self.queries[query], action))


def place_of(decision: Decision) -> Place:
    """Returns a decision as metrics see it."""
    return Place(
        decision.information_set, decision.role, decision.seat, decision.step, decision.legal
    )


def earned(one: Trajectory, sample: Sample) -> Fraction | int | None:
    """Returns what a sample's seat is rewarded with; the cost of a refused reply; None where that
    is void."""
    if sample.invalid is not None:
        return one.episode.env.cost_of(sample.seat)
    return one.episode.earnings.get(sample.seat)


_COMPARED: dict[str, Callable[[Sample], tuple[Hashable, ...]]] = {
    "turn": lambda s: (s.deal, s.role, s.step, s.occurrence, s.attempt),
    "role": lambda s: (s.deal, s.role),
    "team": lambda s: (s.deal,),
}


def compared(by: str, one: Trajectory, sample: Sample) -> tuple[Hashable, ...]:
    """Returns the key of the samples that a sample is compared with, `by` turn, role or team; its
    group comes first. A referee is in no team."""
    alone = by == "team" and sample.seat not in one.episode.env.ir.seats
    return (one.group, *_COMPARED["role" if alone else by](sample))


def return_to_go(one: Trajectory, sample: Sample, *, team: bool) -> Fraction:
    """Returns what is earned from a sample on, by its seat, or with `team` by the mean of all
    seats: a referee is in no team, and a refused reply has its cost alone."""
    own = Fraction(earned(one, sample) or 0)
    if sample.invalid is not None:
        return own
    episode = one.episode
    if not team or sample.point is None or sample.seat not in episode.rewards:
        return own - sample.paid
    rewards = {seat: reward for seat, reward in episode.rewards.items() if reward is not None}
    before = rewards_so_far(episode.env.ir, sample.point.episode.paid)
    to_go = [Fraction(reward) - before.get(seat, 0) for seat, reward in rewards.items()]
    return sum(to_go, Fraction(0)) / len(to_go)


def transcripts(batch: Batch, *, replies: bool = False) -> Iterator[dict[str, Any]]:
    """Yields the episodes' transcripts as JSON-able records, by group and then the most played
    first, each with the number of games that took it. `replies` adds the text of each reply."""
    for one in sorted(batch.played, key=lambda one: (one.group, -one.games)):
        record: dict[str, Any] = {"games": one.games, "group": one.group}
        lineup = batch.lineup(one)
        if lineup.opponent != "self":
            record |= {"opponent": lineup.opponent, "member": lineup.member}
            record |= {"learner": lineup.learner}
        record |= one.episode.transcript
        if replies:
            record["replies"] = [
                {"seat": sample.seat, "step": sample.step, "text": batch.text(sample)}
                for sample in one.samples
            ]
        yield record
