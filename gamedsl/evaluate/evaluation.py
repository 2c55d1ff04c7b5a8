"""Evaluations: the games of all pairings and seatings, and the exploitability of each contestant.

If the game is small enough to write out and all players tell their distributions, nothing is
sampled. Otherwise `games` games are played for each pairing, shared evenly by its seatings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import ceil, hypot
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from gamedsl.evaluate.contestants import Contestant
from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.exact import DECISIONS, NODES, ExactGame, Policy, write_out
from gamedsl.evaluate.games import Contest, Games, Utility, one_sum
from gamedsl.evaluate.intervals import LEVEL, Estimate, Z, exact
from gamedsl.evaluate.matches import Matches, as_eval_error
from gamedsl.evaluate.plan import Plan
from gamedsl.evaluate.results import Evaluation, Exploitability, Options, Spent
from gamedsl.evaluate.seating import Holders, Pairing
from gamedsl.players.base import DrawingPlayer, Player, PlayerError
from gamedsl.players.episode_search import EpisodeSearch
from gamedsl.players.model import SpeakingPlayer
from gamedsl.players.policy_file import PolicyError
from gamedsl.policies.budget import Usage
from gamedsl.policies.endpoint import Endpoint, EndpointError, Interrupted
from gamedsl.solve.probability_ranges import equilibrium_ranges
from gamedsl.solve.response_search import searched
from gamedsl.solve.sampled_policy import mean_policy, sampled_exploitability
from gamedsl.solve.tree import UNLISTED

if TYPE_CHECKING:
    from gamedsl.evaluate.match_workers import MatchQueue
    from gamedsl.runtime import Game
    from gamedsl.solve.response_search import Progress

After = Callable[[Sequence[Games], Contest | None], None]


def evaluate(
    game: Game,
    plan: Plan,
    options: Options | None = None,
    after: After = lambda games, contest: None,
) -> Evaluation:
    """Evaluates a plan. `after` receives the games of every pairing as soon as they are played,
    with the contest as far as it is known by then.

    Raises EvalError for a plan that cannot be evaluated, and EvaluationError if the rules fail.
    """
    lacking = [seat for seat in game.ir.everyone if seat not in (*game.ir.seats, *plan.referees)]
    if lacking:
        raise EvalError(
            f"nobody is {' and '.join(lacking)} in {game.name}",
            "give `Plan` its `referees`; `gamedsl.evaluate.referees_of` finds who usually is",
        )
    options = options or Options()
    if options.carry > 1 and not game.ir.lasting:
        raise EvalError(
            f"{game.name} has no state that lasts from episode to episode",
            "leave `--carry` out, or give a state `lasts: run`",
        )
    return _Bench(game, plan, options).run(after)


class _Bench:
    """One evaluation under way."""

    def __init__(self, game: Game, plan: Plan, options: Options) -> None:
        self.game, self.plan, self.options = game, plan, options
        self.matches = Matches(game, plan, options)
        self.env, self.opener = self.matches.env, self.matches.opener
        self.players: dict[str, Player] = {
            one.name: self.matches.player(one.name) for one in plan.everybody
        }
        for referee in plan.referees.values():
            self.matches.player(referee.name)
        self.whole, self.why_sampled = self._write_out()
        self.tables: dict[tuple[str, str], Policy] = {}
        """Policies by contestant and seat."""
        self.thought: dict[str, Policy] = {}
        """Mean policies of contestants that think."""

    def run(self, after: After) -> Evaluation:
        pairings = self.plan.pairings(self.env.seats)
        todo = list(self._todo(pairings))
        self._check_kept(todo)
        with self._workers(pairings, todo) as self.queue:
            return self._run(pairings, todo, after)

    def _todo(self, pairings: Sequence[Pairing]) -> Iterator[list[Holders]]:
        """Yields the seatings of each pairing that none before has."""
        seen: set[Holders] = set()
        for pairing in pairings:
            wanted = [one.holders for one in pairing.seatings if one.holders not in seen]
            seen.update(wanted)
            yield wanted

    def _check_kept(self, todo: Sequence[Sequence[Holders]]) -> None:
        """Raises EvalError where transcripts are asked for, and no game is played."""
        if self.options.keep is None or self.whole is None:
            return
        with as_eval_error():
            if all(self._exact(wanted) is not None for wanted in todo if wanted):
                raise EvalError(
                    "all results are exact: no game is played that could be kept",
                    "add `--method sampled`, or leave out `--transcripts`",
                )

    @contextmanager
    def _workers(
        self, pairings: Sequence[Pairing], todo: Sequence[Sequence[Holders]]
    ) -> Iterator[MatchQueue | None]:
        """Gives the queue of the games that workers play; None where all are played here."""
        if self.options.workers is None:
            yield None
            return
        with as_eval_error():
            sampled = {
                number: (wanted, self._games(pairing))
                for number, (pairing, wanted) in enumerate(zip(pairings, todo, strict=True))
                if wanted and self._exact(wanted) is None
            }
        if not sampled:
            yield None
            return
        from gamedsl.evaluate.match_workers import MatchOpening, MatchQueue, MatchWorker

        opening = MatchOpening.of(self.game, self.plan, self.options)
        self.options.tell("starting workers", 0, 0)
        workers = self.options.workers(opening, MatchWorker)
        try:
            usages = {name: workers.share(Usage) for name in self.opener.budgets}
            self.opener.share(usages)
            yield MatchQueue(workers, sampled, usages)
        finally:
            workers.close()

    def _run(
        self, pairings: tuple[Pairing, ...], todo: Sequence[list[Holders]], after: After
    ) -> Evaluation:
        played: dict[Holders, Games] = {}
        stopped: EndpointError | None = None
        for number, (pairing, wanted) in enumerate(zip(pairings, todo, strict=True)):
            if not wanted or (stopped is not None and not self._under_way(number, stopped)):
                continue
            found: list[Games] = []
            try:
                with as_eval_error():
                    found, ended = self._play(pairing, wanted, number, len(pairings))
            except EndpointError as error:
                ended = error
            if ended is not None:
                stopped = ended if isinstance(ended, Interrupted) else stopped or ended
                if self.queue is not None:
                    self.queue.end()
            if found:
                played |= {games.holders: games for games in found}
                after(found, self._contest(played.values()))
        if isinstance(stopped, Interrupted) and not played:
            raise KeyboardInterrupt
        if stopped is not None and not played:
            raise EvalError(stopped.fact, stopped.fix) from stopped
        evaluation = Evaluation(
            self.game, self.plan, self.options, pairings, played, {},
            self._contest(played.values()),
            "" if all(games.exact for games in played.values()) else self.why_sampled,
            {}, None, stopped,
            {name: Spent(one.calls, one.tokens) for name, one in self._endpoints().items()},
            {name: dict(one.budget.refused) for name, one in self._endpoints().items()},
        )  # fmt: skip
        return self._measured(evaluation)

    def _under_way(self, number: int, stopped: EndpointError) -> bool:
        """Whether a worker plays a pairing, or has played it, when an endpoint stops another."""
        if self.queue is None or isinstance(stopped, Interrupted):
            return False
        return self.queue.under_way(number)

    def _measured(self, found: Evaluation) -> Evaluation:
        """Adds the exploitability of contestants, and the ranges of equilibria. An interruption
        leaves what is not yet known open."""
        known: dict[str, Exploitability] = {}
        try:
            if not isinstance(found.stopped, Interrupted):
                for one in self.plan.contestants:
                    measured = self._exploitability(one)
                    known[one.name] = with_cross_play(measured, found, one.name)
                found = replace(found, ranges=self._ranges())
        except KeyboardInterrupt:
            if not self.options.report_interrupted:
                raise
            found = replace(found, stopped=Interrupted())
        open_still = Exploitability("unknown", why="the evaluation was interrupted")
        every = {one.name: known.get(one.name, open_still) for one in self.plan.contestants}
        return replace(found, exploitability=every, policies=self._policies())

    def _endpoints(self) -> dict[str, Endpoint]:
        """The endpoints that were opened, by the contestant's name."""
        named = {one.spec: one.name for one in (*self.plan.referees.values(), *self.plan.everybody)}
        return {named[spec]: endpoint for spec, endpoint in self.opener.called.items()}

    def _policies(self) -> dict[str, Policy]:
        found: dict[str, Policy] = {}
        for one in self.plan.contestants:
            tables = [self.tables.get((one.name, seat)) for seat in self.env.seats]
            known = [table for table in tables if table is not None]
            if len(known) == len(tables):
                found[one.name] = {key: row for table in known for key, row in table.items()}
        return found | self.thought

    def _ranges(self) -> Mapping[str, Any] | None:
        if self.whole is None or not self.options.decisions or not self.whole.recall:
            return None
        self.options.tell("ranges of equilibria", 0, 0)
        found = equilibrium_ranges(self.whole.tree, self.options.utility)
        return None if found is None else found.as_dict()

    def _contest(self, played: Iterable[Games]) -> Contest | None:
        """The contest: by the claims of the file, all ends of the game, or all games so far."""
        if len(self.env.seats) != 2:
            return None
        if self.whole is not None:
            return self.whole.contest
        known = [games for games in played if len(games.weights_G)]
        claimed = {claim.kind for claim in self.game.ir.claims} & {"zero_sum", "constant_sum"}
        if not claimed and not one_sum(known):
            return None
        sums = np.concatenate([[], *(games.payoffs_GS.sum(axis=1) for games in known)])
        least = [self.env.least[seat] for seat in self.env.seats]
        sums = sums[~np.isnan(sums)]
        if None in least or not len(sums):
            return Contest(None, None)
        low, other = (float(amount or 0) for amount in least)
        return Contest(low, float(sums[0]) - other)

    def _write_out(self) -> tuple[ExactGame | None, str]:
        """The game written out, if somebody's distribution can be laid over it; and why games are
        sampled, should any be."""
        stubborn = [n for n, p in self.players.items() if not isinstance(p, DrawingPlayer)]
        whole, why = None, f"{', '.join(stubborn)} cannot say what it would do"
        if self.game.ir.open or self.game.ir.referees:
            why = UNLISTED
        elif len(stubborn) < len(self.players) or self.options.decisions:
            self.options.tell("writing the game out", 0, 0)
            whole = write_out(self.env)
            if whole is None and self.game.ir.labels_last:
                why = f"the game has over {NODES:,} nodes or {DECISIONS:,} information sets"
            elif whole is None:
                why = "labels are drawn anew for each game"
        if self.options.method == "exact" and (whole is None or stubborn):
            raise EvalError(
                f"there is no exact result: {why}", "leave `--method` at `auto` to sample"
            )
        return whole, "as asked for" if self.options.method == "sampled" else why

    def _tables(self, holders: Holders) -> list[Policy] | None:
        """Returns the policies of the holders of all seats; None if they cannot be written out."""
        found = []
        for seat, name in zip(self.env.seats, holders, strict=True):
            player = self.players[name]
            if self.whole is None or not isinstance(player, DrawingPlayer):
                return None
            if (name, seat) not in self.tables:
                self.options.tell(f"asking {name}", 0, 0)
                self.tables[name, seat] = self.whole.table(player, seat)
            found.append(self.tables[name, seat])
        return found

    def _play(
        self, pairing: Pairing, wanted: Sequence[Holders], number: int, count: int
    ) -> tuple[list[Games], EndpointError | None]:
        """The games of some seatings of a pairing."""
        if self.whole is not None and (tables := self._exact(wanted)) is not None:
            return [self.whole.games(*one) for one in zip(wanted, tables, strict=True)], None
        games = self._games(pairing)
        total, done = games * len(wanted), 0
        what = " – ".join(dict.fromkeys(filter(None, (pairing.focal, pairing.background))))

        def progress(more: int) -> None:
            nonlocal done
            done += more
            self.options.tell(f"{number + 1}/{count} {what}", done, total)

        progress(0)
        if self.queue is None:
            return self.matches.play(wanted, games, progress, self.options.keep)
        try:
            found = self.queue.played(number)
        except KeyboardInterrupt:
            if not self.options.report_interrupted:
                raise
            raise Interrupted from None
        keep = self.options.keep
        if keep is not None:
            for holders, records in found.kept:
                keep(holders, records)
        progress(total)
        return list(found.games), found.stopped

    def _games(self, pairing: Pairing) -> int:
        """Returns the games of each seating of a pairing: whole lineages."""
        carry = self.options.carry
        return ceil(self.options.games / len(pairing.seatings) / carry) * carry

    def _exact(self, wanted: Sequence[Holders]) -> list[list[Policy]] | None:
        """Returns the policies of all seats in each seating; None where games are played."""
        if self.options.method == "sampled":
            return None
        tables = [self._tables(holders) for holders in wanted]
        known = [found for found in tables if found is not None]
        return known if len(known) == len(wanted) else None

    def _exploitability(self, one: Contestant) -> Exploitability:
        player = self.players[one.name]
        if isinstance(player, SpeakingPlayer) and self.options.decisions:
            return self._after_thoughts(one.name, player)
        if not isinstance(player, DrawingPlayer):
            return Exploitability("unknown", why="it does not tell its distribution")
        try:
            tables = self._tables((one.name,) * len(self.env.seats))
            if self.whole is not None and tables is not None:
                found = self.whole.exploitability(tables, self.options.utility)
                if found is None:
                    return Exploitability("unknown", why="a seat forgets what it knew")
                return Exploitability("exact", exact(max(0.0, found)))
            return self._bound(one.name, player)
        except (PlayerError, PolicyError) as error:
            return Exploitability("unknown", why=str(error).partition("\n")[0])

    def _after_thoughts(self, name: str, player: SpeakingPlayer) -> Exploitability:
        """Returns the exploitability of a player that thinks, from thoughts drawn at each decision,
        and keeps its mean policy."""
        if self.whole is None or not self.whole.recall:
            forgets = self.whole is not None
            why = "a seat forgets what it knew" if forgets else "its decisions cannot be listed"
            return Exploitability("unknown", why=why)
        count, seed = self.options.thoughts, self.options.seed
        self.options.tell(f"thoughts of {name}", 0, 0)
        try:
            drawn = player.odds_after_thoughts(list(self.whole.asked.values()), count, seed)
        except (PlayerError, PolicyError) as error:
            return Exploitability("unknown", why=str(error).partition("\n")[0])
        samples = {
            key: np.array(rows) for key, rows in zip(self.whole.asked, drawn, strict=True) if rows
        }
        if len(samples) < len(drawn):
            return Exploitability("unknown", why="at a decision no thought led to a choice")
        tree = self.whole.tree
        self.thought[name] = mean_policy(tree, samples)
        found = sampled_exploitability(tree, samples, seed=seed, utility=self.options.utility)
        return Exploitability("sampled", Estimate(*found, "bootstrap", count), thoughts=count)

    def _bound(self, name: str, player: DrawingPlayer) -> Exploitability:
        """Returns a lower bound of its exploitability, by a search for responses."""
        if not self.options.search:
            return Exploitability("unknown", why="no search was asked for")
        if self.game.ir.open or self.game.ir.referees:
            return Exploitability("unknown", why="what may be said cannot be searched")
        bound, tried = lower_bound(
            self.game, player, simulations=self.options.search, games=max(2, self.options.search),
            seed=self.options.seed, utility=self.options.utility,
            progress=lambda n, of: self.options.tell(f"replies to {name}", n, of),
        )  # fmt: skip
        return Exploitability("least", bound, tried=tried)


def with_cross_play(measured: Exploitability, found: Evaluation, name: str) -> Exploitability:
    """Returns a bound that is no worse than what the games of the evaluation show: whoever held one
    seat against a contestant in all others is a reply to it as well.

    Of several replies the one with the largest lower end counts, each with an interval that is
    wider for their number (Bonferroni).
    """
    holders = (name,) * len(found.seats)
    base = found.games.get(holders)
    if measured.kind != "least" or measured.estimate is None or base is None:
        return measured
    replies: dict[int, list[tuple[float, float]]] = {}
    for seating, games in found.games.items():
        away = [i for i, holder in enumerate(seating) if holder != name]
        if len(away) != 1:
            continue
        here, there = (g.mean(away, found.options.utility) for g in (base, games))
        if here is not None and there is not None and "none" not in (here.kind, there.kind):
            error = hypot(here.half, there.half) / Z
            replies.setdefault(away[0], []).append((there.value - here.value, error))
    count = sum(map(len, replies.values()))
    if not count:
        return measured
    wide = NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / (count + 1))
    best = [max(rows, key=lambda row: row[0] - wide * row[1]) for rows in replies.values()]
    useful = [(gain, error) for gain, error in best if gain > wide * error]
    gain = sum(gain for gain, _ in useful) / len(found.seats)
    half = sum(wide * error for _, error in useful) / len(found.seats)
    tried = measured.tried + max(map(len, replies.values()))
    estimate = measured.estimate
    if useful and gain - half > estimate.low:
        estimate = Estimate(gain, gain - half, gain + half, "t", base.games)
    return replace(measured, estimate=estimate, tried=tried)


def lower_bound(
    game: Game, player: DrawingPlayer, *, simulations: int, games: int, seed: int,
    utility: Utility, progress: Progress | None = None,
) -> tuple[Estimate, int]:  # fmt: skip
    """Returns a lower bound of a player's exploitability (NashConv / seats): the gain of the
    responses found by search, with its 95% interval; and how many replies were tried for a seat.
    Equal seeds give equal bounds."""
    known: dict[str, Mapping[str, float]] = {}
    searches = [EpisodeSearch(game, player, seat, seed, utility, known) for seat in game.ir.seats]
    found = searched(searches, simulations, games, seed, progress)
    value, half = found.gain / len(searches), Z * found.error / len(searches)
    return Estimate(value, value - half, value + half, "t", games), found.tried
