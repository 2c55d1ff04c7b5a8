"""Metrics of a policy and of its games, after each step.

For a small game everything is known: all its decisions are scored in one pass, and its tree gives
the exact distance from equilibrium and where training is heading. For a larger one only what the
games of the step came past is measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from gamedsl.players.model_replies import query_of
from gamedsl.policies.base import Policy, Query
from gamedsl.recipe.table import Recipe
from gamedsl.training.errors import TrainError
from gamedsl.training.information_sets import measured_sets
from gamedsl.training.monitors import monitors_of
from gamedsl.training.monitors.extinction import ExtinctionMonitor, gains_in
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.summary import is_complete, policy_of
from gamedsl.training.trajectories import Batch, Place, place_of
from gamedsl.training.warm_start import Fitted

if TYPE_CHECKING:
    from gamedsl.runtime import Env

PolicyRows = dict[str, dict[str, Any]]

MANY_PLACES = 256
"""Information sets of which the metrics keep the policy, the first met first."""


class PolicyMetrics:
    """Measures a policy in one game under one recipe.

    `queries` and `places` are all decisions that the policy answers in a small game, in one order,
    and empty for a larger one; `learned` are the queries of roles that are trained. Raises
    TrainError where `exploitability: on` cannot be had.
    """

    def __init__(self, env: Env, recipe: Recipe, seating: SeatAssignment | None = None) -> None:
        seating = seating or SeatAssignment(env.ir, recipe)
        info_sets = measured_sets(env, recipe)
        self.known = info_sets is not None
        asked = [d for d, _ in (info_sets or {}).values() if d.role not in seating.players]
        self.queries: list[Query] = [query_of(d, seating.adapter(d.role)) for d in asked]
        self.places: list[Place] = [place_of(d) for d in asked]
        self.learned = [
            query
            for d, query in zip(asked, self.queries, strict=True)
            if d.role in seating.learners
        ]
        self._player_odds = {
            key: (place_of(d), seating.odds(seating.players[d.role], d, episode))
            for key, (d, episode) in (info_sets or {}).items()
            if d.role in seating.players
        }
        """The odds of players' moves by information set; None where they are not known."""
        self.odds_known = all(row_A is not None for _, row_A in self._player_odds.values())
        """Whether the odds of everybody's moves are known, if all decisions are."""
        all_learn = len(seating.learners) == len(env.ir.roles)
        self._flows = all_learn and recipe.curriculum.rows is None
        self._coupling = _coupling(env, recipe, seating)
        self.tree = self._tabulate(env, recipe)
        self._monitors = monitors_of(env.ir)
        self._extinct = recipe.extinct
        self._learners = seating.learners
        self._watch = ExtinctionMonitor(None, None)
        self._ranges: dict[str, Any] | None = None

    @property
    def all_learned(self) -> bool:
        """Whether all decisions of the game are known, and trained."""
        return self.known and self.learned == self.queries

    def opening(
        self, scorer: Scorer, batch: Batch, policy: Policy, warm: Fitted | None
    ) -> dict[str, Any]:
        """Returns the record of the start: the first policy, and where it is predicted to go."""
        measured = self.measured(scorer, batch)
        ranges = self.ranges()
        self.recall([{"ranges": ranges}])
        return {
            "event": "start",
            "step": 0,
            **measured,
            **self.watched(measured),
            "ranges": ranges,
            "prediction": self.prediction(self.policy(scorer, batch)),
            "model": policy.name,
            "adapters": list(policy.adapters),
            "parameters": sum(p.numel() for p in policy.parameters()),
            "warm_start": None if warm is None else vars(warm),
        }

    def measured(self, scorer: Scorer, batch: Batch) -> dict[str, Any]:
        """Returns the metrics of the policy that played a batch."""
        shown = self.policy(scorer, batch)
        return {
            "policy": dict(islice(shown.items(), MANY_PLACES)),
            "decisions": len(shown),
            "entropy": role_entropy(scorer, batch),
            "exploitability": self.exploitability(shown),
            **{one.field: found for one in self._monitors if (found := one.measure(scorer, batch))},
        }

    def recall(self, records: Sequence[dict[str, Any]], level: Any = None) -> None:
        """Goes on from the records of a run, the start's first. Of a run that goes level by level
        only those of the `level` count: another is another game."""
        own = [record for record in records if record.get("level") == level]
        begun = own[0] if own else {}
        self._ranges = begun["ranges"] if "ranges" in begun else self.ranges()
        known = self.tree is not None and all(
            is_complete(self.tree, policy_of(one)) for one in own if "policy" in one
        )
        whole = (
            len(self.places) + len(self._player_odds) <= MANY_PLACES
        )  # a record has all of the policy
        gains = partial(gains_in, self.tree) if known and whole else None
        self._watch = ExtinctionMonitor(self._extinct, self._ranges, gains, self._learners)
        for record in own:
            self._watch.look(record)

    def watched(self, record: dict[str, Any]) -> dict[str, Any]:
        """Returns the fields by which a record's policy is told from the ones before it."""
        return self._watch.fields(record)

    def ranges(self) -> dict[str, Any] | None:
        """Returns the intervals of the probabilities of each decision over all equilibria; None
        where they are not known."""
        if self.tree is None:
            return None
        from gamedsl.solve import equilibrium_ranges

        try:
            found = equilibrium_ranges(self.tree)
        except ImportError:
            return None
        return None if found is None else found.as_dict()

    def policy(self, scorer: Scorer, batch: Batch) -> PolicyRows:
        """Returns the policy by information set, and the odds of players; where labels differ
        between games, the mean over them."""
        asked = (self.queries, self.places) if self.known else (batch.queries, batch.places)
        pi: dict[Place, list[np.ndarray]] = defaultdict(list)
        for query, place in zip(*asked, strict=True):
            pi[place].append(scorer.probabilities(query))
        rows = [(place, np.mean(rows, axis=0)) for place, rows in pi.items()]
        rows += [(place, row_A) for place, row_A in self._player_odds.values() if row_A is not None]
        return {
            place.information_set: {
                "role": place.role,
                "seat": place.seat,
                "step": place.step,
                "probs": dict(zip(place.legal, row_A.tolist(), strict=True)),
            }
            for place, row_A in rows
        }

    @property
    def players(self) -> dict[str, dict[str, float]]:
        """The odds of players: information set -> action -> odds, where they are known."""
        known = (
            (p, row_A.tolist()) for p, row_A in self._player_odds.values() if row_A is not None
        )
        return {p.information_set: dict(zip(p.legal, row, strict=True)) for p, row in known}

    def exploitability(self, shown: PolicyRows) -> float | None:
        """Returns NashConv divided by the number of players; None where the game is too large."""
        if self.tree is None:
            return None
        from gamedsl.solve import exploitability

        return float(exploitability(self.tree, _policy(shown)).per_player)

    def prediction(self, shown: PolicyRows) -> dict[str, Any] | None:
        """Returns where the policy-gradient flow goes from here; None where that is not known,
        where somebody does not learn, or where rows have other odds than in the game."""
        if self.tree is None or not self._flows:
            return None
        from gamedsl.solve import predict_basin

        found = predict_basin(self.tree, _policy(shown), self._coupling)
        return None if found is None else found.as_dict()

    def _tabulate(self, env: Env, recipe: Recipe) -> Any:
        if recipe.exploitability == "off":
            return None
        from gamedsl.solve import ImperfectRecall, TooLarge, tabulate

        try:
            tree = tabulate(env) if self.known and self.odds_known else None
        except (TooLarge, ImperfectRecall):
            tree = None
        wanted = recipe.exploitability == "on" or recipe.until.exploitability is not None
        if tree is None and wanted:
            raise TrainError(
                f"`{env.ir.name}` has no exact exploitability: it is too large, a seat forgets,"
                " or a player cannot tell the odds of its moves",
                "leave `exploitability` at `auto` and `until` out, or lower the game's params",
            )
        return tree


def _policy(shown: PolicyRows) -> dict[str, dict[str, float]]:
    return {key: one["probs"] for key, one in shown.items()}


def _coupling(env: Env, recipe: Recipe, seating: SeatAssignment) -> Any:
    """Returns which information sets move together: those of one adapter; none in a table."""
    from gamedsl.policies.tabular import NAME

    if set(recipe.models(env.ir).values()) == {NAME}:
        return "independent"
    return {role.name: seating.adapter(role.name) for role in env.ir.roles}


def role_means(batch: Batch) -> dict[str, dict[str, float | None]]:
    """Returns the mean reward and payoff of each role, and of each referee that has a payoff, over
    the games of a step in which no opponent had its seat; None where all were void."""
    means: dict[str, dict[str, float | None]] = {"reward": {}, "payoff": {}}
    ir = batch.played[0].episode.env.ir
    role_of = ir.role_of
    roles = [role.name for role in ir.roles]
    roles += dict.fromkeys(role_of[seat] for seat, _ in ir.referee_payoffs)
    for name in means:
        total: dict[str, Fraction] = defaultdict(Fraction)
        games: dict[str, int] = defaultdict(int)
        for one in batch.played:
            paid = getattr(one.episode, f"{name}s") | one.episode.referee_payoffs
            for seat, amount in paid.items():
                if amount is not None and seat not in batch.lineup(one).seats:
                    total[role_of[seat]] += one.games * Fraction(amount)
                    games[role_of[seat]] += one.games
        for role in roles:
            means[name][role] = float(total[role] / games[role]) if games[role] else None
    return means


def role_entropy(scorer: Scorer, batch: Batch) -> dict[str, float]:
    """Returns the mean entropy, in nats, of each role's policy over the decisions it came to, in
    games that count for it."""
    of_query = [_entropy(scorer.probabilities(query)) for query in batch.queries]
    total: dict[str, float] = defaultdict(float)
    games: dict[str, int] = defaultdict(int)
    for one in batch.played:
        for sample in one.samples:
            if sample.query is not None and one.episode.earnings.get(sample.seat) is not None:
                total[sample.role] += one.games * of_query[sample.query]
                games[sample.role] += one.games
    return {role: total[role] / games[role] for role in total}


def batch_sizes(batch: Batch) -> dict[str, int]:
    """Returns the numbers of games, distinct courses of play, prompts and tokens of a step."""
    return {
        "games": sum(one.games for one in batch.played),
        "histories": len(batch.played),
        "prompts": len(batch.queries),
        "tokens": batch.tokens,
        **games_set_aside(batch),
    }


def games_set_aside(batch: Batch) -> dict[str, int]:
    """Returns the number of games of groups without signal; nothing where no other was played."""
    return {"set_aside": sum(one.games for one in batch.set_aside)} if batch.round else {}


def opponent_games(batch: Batch) -> dict[str, dict[str, int]]:
    """Returns the number of games against each opponent; nothing where the policy played them
    all."""
    games: dict[str, int] = defaultdict(int)
    for one in batch.played:
        games[batch.lineup(one).opponent] += one.games
    return {} if set(games) == {"self"} else {"opponents": dict(games)}


def reply_metrics(batch: Batch) -> dict[str, Any]:
    """Returns the metrics of a step's replies: how many each role gave, the share of these that was
    valid, the mean lengths of written ones in tokens, the reasons why others were refused, and the
    share of games that came to an end of their own."""
    samples = [sample for one in batch.played for sample in one.samples]
    ir = batch.played[0].episode.env.ir
    replies: dict[str, int] = {}
    valid: dict[str, float] = {}
    length: dict[str, float] = {}
    for role in (*ir.roles, *ir.referees):
        own = [one for one in samples if one.role == role.name]
        written = [len(one.written.reply_ids) for one in own if one.written is not None]
        if own:
            replies[role.name] = len(own)
            valid[role.name] = sum(one.invalid is None for one in own) / len(own)
        if written:
            length[role.name] = sum(written) / len(written)
    reasons: dict[str, int] = defaultdict(int)
    for one in batch.played:
        for mistake in one.episode.mistakes:
            reasons[mistake.failure.reason] += 1
    ended = sum(not one.episode.failures for one in batch.played)
    return {
        "replies": replies,
        "valid": valid,
        "reply_tokens": length,
        "invalid": dict(reasons),
        "own_end": ended / len(batch.played),
        "games": len(batch.played),
        "tokens": sum(len(one.written.reply_ids) for one in samples if one.written is not None),
        **games_set_aside(batch),
    }


def _entropy(pi_A: np.ndarray) -> float:
    positive = pi_A[pi_A > 0]
    return float(-(positive * np.log(positive)).sum())
