"""A report of what was solved as plain JSON data. Exact numbers are texts, others are numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from gamedsl.solve.dominance import Elimination
from gamedsl.solve.oneshot import OneShot
from gamedsl.solve.positions import PositionsSolved
from gamedsl.solve.solution import Solution
from gamedsl.solve.solver import Report


def as_record(report: Report) -> dict[str, Any]:
    """Everything that is known; keys of methods that were not used are not there."""
    from gamedsl.runtime.transcripts import params_as_data

    game = report.game
    record: dict[str, Any] = {
        "game": game.name,
        "rules": game.ir.rules_hash,
        "hash": game.hash,
        "params": params_as_data(game.params),
        "utility": report.utility,
        "method": report.method,
        "did": list(report.did),
        "size": report.size,
        "seconds": round(report.seconds, 3),
        "solution": None if report.solution is None else solution_record(report.solution),
    }
    if report.one_shot is not None:
        record["one_shot"] = _one_shot(report.one_shot)
    if report.perfect is not None:
        record["path"] = [list(move) for move in report.perfect.path]
        if isinstance(report.perfect, PositionsSolved):
            record["first_moves"] = plain(report.perfect.openings)
        else:
            record["ties"] = report.perfect.ties
            record["outcomes"] = plain(report.perfect.outcomes)
    if report.staged is not None:
        record["stages"] = {"solved": report.staged.stages, "choices": report.staged.choices}
    if report.public is not None:
        found = report.public
        record["stages"] = {"solved": found.stages, "choices": found.choices}
        record["first"] = plain(found.first)
        record["complete"] = found.complete
    if report.team is not None:
        record["team"] = {"bound": plain(report.team.bound), "proved": report.team.proved}
    if report.path is not None:
        record["responses"] = [
            {"precision": p.precision, "nash_conv": p.nash_conv, "policy": p.policy}
            for p in report.path.points
        ]
    if report.sampled is not None:
        record["sampled"] = report.sampled.as_dict()
    return record


def solution_record(solution: Solution) -> dict[str, Any]:
    return {
        "concept": solution.concept,
        "method": solution.method,
        "exact": solution.exact,
        "values": plain(solution.values),
        "regrets": plain(solution.regrets),
        "note": solution.note,
        "policy": plain(solution.policy),
    }


def plain(value: Any) -> Any:
    """Fractions as texts, tuples as lists, whatever is inside what."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return value


def _one_shot(game: OneShot) -> dict[str, Any]:
    record: dict[str, Any] = {
        "complete": game.complete,
        "note": game.note,
        "equilibria": [
            {"names": list(one.names), "component": one.component, **solution_record(one.solution)}
            for one in game.found
        ],
        "pick": None if game.pick is None else 1 + game.pick,
        "dominance": [_elimination(e) for e in (game.strict, game.weak)],
        "pareto_set": plain(game.pareto),
    }
    if game.every is not None:
        record["finite"] = game.every.finite
        record["components"] = [
            [
                {
                    game.table.seats[0]: plain([game.every.first[m] for m in part.first]),
                    game.table.seats[1]: plain([game.every.second[m] for m in part.second]),
                }
                for part in parts
            ]
            for parts in game.every.components
        ]
    if (found := game.welfare) is not None:
        record["welfare"] = {
            "best": str(found.best),
            "best_profiles": plain(found.best_profiles),
            "equilibria": [str(found.worst_equilibrium), str(found.best_equilibrium)],
            "price_of_anarchy": plain(found.price_of_anarchy),
            "price_of_stability": plain(found.price_of_stability),
        }
    if game.security is not None:
        record["security"] = {
            s.seat: {"value": plain(s.value), "mixture": plain(s.mixture)} for s in game.security
        }
    if (joint := game.correlated) is not None:
        record["correlated"] = {
            "distribution": [[list(names), plain(p)] for names, p in joint.distribution.items()],
            "values": plain(joint.values),
            "ranges": plain(joint.ranges),
            "regret": plain(joint.regret),
            "exact": joint.exact,
        }
    if game.basins is not None:
        record["basins"] = {
            name: [[list(names), share] for names, share in shares.items()]
            for name, shares in (("replicator", game.basins.replicator),
                                 ("grpo", game.basins.gradient))
        }  # fmt: skip
    if game.missing:
        record["missing"] = game.missing
    return record


def _elimination(found: Elimination) -> dict[str, Any]:
    return {
        "strength": found.strength,
        "removed": [
            {"round": r.round, "seat": r.seat, "action": r.action, "by": plain(r.by)}
            for r in found.removed
        ],
        "left": plain(found.left),
        "mixtures": found.mixtures,
    }
