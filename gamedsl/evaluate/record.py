"""An evaluation and a leaderboard as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gamedsl.evaluate.intervals import Estimate
from gamedsl.evaluate.replies import ReplyCount, ReplySite
from gamedsl.evaluate.results import Evaluation
from gamedsl.evaluate.seating import Pairing
from gamedsl.evaluate.standings import Standings
from gamedsl.runtime.transcripts import params_as_data
from gamedsl.training.runfolder import versions

FORMAT = "gamedsl evaluation 1"


def as_record(found: Evaluation) -> dict[str, Any]:
    """All that was found, as JSON-able data."""
    game, options = found.game, found.options
    return {
        "format": FORMAT,
        "game": game.name,
        "hash": game.hash,
        "rules_hash": game.ir.rules_hash,
        "rows": game.ir.rows,
        "params": params_as_data(dict(game.params)),
        "seats": list(found.seats),
        "utility": options.utility,
        "exact": found.exact,
        "games_per_pairing": None if found.exact else options.games,
        **({"carry": options.carry} if options.carry > 1 else {}),
        "seed": options.seed,
        "sampled_because": found.why_sampled or None,
        "stopped": None if found.stopped is None else found.stopped.fact,
        "constant_sum": found.contest is not None,
        "fixed": {seat: one.name for seat, one in found.plan.fixed.items()},
        "contestants": [
            {
                "name": one.name,
                "player": one.spec,
                "identity": one.identity,
                "exploitability": _exploitability(found, one.name),
                "invalid_replies": _estimate_data(found.invalid(one.name)),
            }
            for one in found.plan.everybody
        ],
        "referees": {seat: one.name for seat, one in found.plan.referees.items()},
        **({"referee_payoffs": _estimates_data(paid)} if (paid := found.referee_payoffs) else {}),
        "engine": "hf" if options.vllm is None else "vllm",
        "own_ends": _estimate_data(found.own_ends) if found.in_words else None,
        "replies": [_replies(place, count) for place, count in found.reply_counts.items()],
        "endpoints": {
            name: {**spent._asdict(), "refused": dict(found.refused[name])}
            for name, spent in found.spent.items()
        },
        "pairings": [_pairing(found, one) for one in found.pairings if found.played(one)],
        "policies": found.policies if options.decisions else None,
        "equilibrium_ranges": found.ranges,
        "versions": versions(),
    }


def standings_record(found: Standings) -> dict[str, Any]:
    """A leaderboard of one game as JSON-able data."""
    return {
        "game": found.game,
        "hash": found.hash,
        "params": dict(found.params),
        "referees": dict(found.referees),
        "ranked_by": found.system if found.rated else "mean payoff",
        "anchor": found.anchor,
        "rows": [
            {
                "name": row.name,
                "identity": row.identity,
                "rating": _estimate_data(row.rating),
                "games": row.games,
                "exact": row.exact,
                "won_drawn_lost": list(row.score[:3]),
                "points": row.score.points,
                "mean_payoff": _estimate_data(row.mean),
                "mean_payoff_with_itself": _estimate_data(row.own),
                "exploitability": row.exploitability,
                "invalid_replies": _estimate_data(row.invalid),
            }
            for row in found.rows
        ],
    }


def _replies(place: ReplySite, count: ReplyCount) -> dict[str, Any]:
    return {
        "contestant": place.who,
        "role": place.role,
        "step": place.step,
        "replies": count.replies,
        "valid": _estimate_data(count.valid),
        "tokens": count.length,
        "invalid": dict(count.invalid),
        "forfeits": dict(count.forfeits),
    }


def _pairing(found: Evaluation, one: Pairing) -> dict[str, Any]:
    record, lived = found.record(one), found.by_episode(one)
    return {
        "contestant": one.focal,
        "against": one.background,
        "payoff": _estimate_data(found.earned(one, "payoffs")),
        "reward": _estimate_data(found.earned(one, "rewards")),
        "payoff_by_role": _estimates_data(found.by_role(one, "payoffs")),
        "reward_by_role": _estimates_data(found.by_role(one, "rewards")),
        **({"by_episode": [_estimate_data(mean) for mean in lived]} if lived else {}),
        "won": None if record is None else _estimate_data(record.won),
        "drawn": None if record is None else _estimate_data(record.drawn),
        "lost": None if record is None else _estimate_data(record.lost),
        "seatings": [
            {
                "holders": dict(zip(found.seats, seating.holders, strict=True)),
                "games": found.games[seating.holders].games,
                "exact": found.games[seating.holders].exact,
                "payoffs": {
                    seat: _estimate_data(found.games[seating.holders].mean([number], "payoffs"))
                    for number, seat in enumerate(found.seats)
                },
            }
            for seating in one.seatings
        ],
    }


def _exploitability(found: Evaluation, name: str) -> dict[str, Any] | None:
    one = found.exploitability.get(name)
    if one is None:
        return None
    return {
        "kind": one.kind,
        "why": one.why or None,
        **({"tried": one.tried} if one.tried else {}),
        **({"thoughts": one.thoughts} if one.thoughts else {}),
        **(_estimate_data(one.estimate) or {"value": None}),
    }


def _estimate_data(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    kind = {
        "exact": "exact", "none": "one game", "t": "95% t", "wilson": "95% Wilson",
        "bootstrap": "95% bootstrap",
    }  # fmt: skip
    sure = None if estimate.kind in ("exact", "none") else [estimate.low, estimate.high]
    return {"value": estimate.value, "interval": sure, "interval_kind": kind[estimate.kind]}


def _estimates_data(found: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: _estimate_data(estimate) for name, estimate in found.items()}
