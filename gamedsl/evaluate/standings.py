"""Standings of one game on a leaderboard, with their uncertainty."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.intervals import Estimate, Kind, Z, share
from gamedsl.evaluate.leaderboard import Board, Match
from gamedsl.evaluate.ratings import Score, elo, trueskill

System = Literal["elo", "trueskill"]

NONE = Score(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Standing:
    """One contestant in one game. `rating` is None where the game is not of constant sum for two,
    or no games link it to the others; `mean` is what it is paid against others, each seat and each
    table of opponents counting alike; `own` the same where it holds every seat. `games` were
    played against others; `exact` says that none had to be, since the results are exact."""

    identity: str
    name: str
    rating: Estimate | None
    games: int
    exact: bool
    score: Score
    mean: Estimate | None
    own: Estimate | None
    exploitability: Mapping[str, Any] | None
    invalid: Estimate | None


@dataclass(frozen=True)
class Standings:
    """A game's contestants, best first. `rated`: by the rating; else by what they are paid."""

    game: str
    hash: str
    params: Mapping[str, Any]
    system: System
    anchor: str | None
    rated: bool
    rows: tuple[Standing, ...]
    referees: Mapping[str, str]
    """The names of the referees, by seat."""


def standings(board: Board, system: System = "elo", anchor: str | None = None) -> list[Standings]:
    """Returns the standings of every game of a board. `anchor` names the contestant with rating
    1000 in Elo; by default `random` if it has played, else the mean is 1000. Raises as
    `trueskill`, and EvalError for an anchor that has played none of the games."""
    ordered = sorted(_by_game(board), key=lambda found: (found[0].game, *_rules(found[0])))
    if anchor is not None:
        check_anchor(anchor, names_on(board))
    return [_of_game(board, matches, system, anchor) for matches in ordered]


def names_on(board: Board) -> set[str]:
    """The names under which contestants are shown."""
    return {name for found in _by_game(board) for name in _names(found).values()}


def _by_game(board: Board) -> list[list[Match]]:
    games: dict[object, list[Match]] = defaultdict(list)
    for match in board.matches.values():
        games[_rules(match)].append(match)
    return list(games.values())


def _rules(match: Match) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Returns the rules of a match: matches are compared only if these are equal, since games
    with other referees are other games."""
    return match.hash, match.judges


def check_anchor(anchor: str, names: Iterable[str]) -> None:
    """Raises EvalError for an anchor that is none of the names."""
    known = sorted(set(names))
    if anchor not in known:
        near = did_you_mean(anchor, known)
        raise EvalError(
            f"the anchor `{anchor}` has not played",
            f"did you mean `{near}`?" if near else f"those who have are {', '.join(known)}",
        )


def _of_game(
    board: Board, matches: Sequence[Match], system: System, wanted: str | None
) -> Standings:
    names = _names(matches)
    rated = all(match.points is not None or match.void for match in matches)
    scores = _scores(matches)
    met = {identity for pair in scores for identity in pair}
    anchor = next((i for i in sorted(met) if names[i] == (wanted or "random")), None)
    ratings: dict[str, Estimate] = {}
    if rated and system == "elo":
        ratings = elo(scores, anchor)
    elif rated:
        ratings = trueskill([(a, b, score) for (a, b), score in sorted(scores.items())])
    first = matches[0]
    measured = board.exploitability.get(first.hash, {})
    rows = [
        Standing(
            identity, name, ratings.get(identity), *_games(matches, identity),
            _mean_payoff(matches, identity, own=False), _mean_payoff(matches, identity, own=True),
            measured.get(identity), _invalid(matches, identity),
        )
        for identity, name in names.items()
    ]  # fmt: skip

    def place(row: Standing) -> tuple[float, float, str]:
        mean = row.mean or row.own
        return (
            -row.rating.value if row.rating else float("inf"),
            -mean.value if mean else float("inf"), row.name,
        )  # fmt: skip

    shown = names[anchor] if anchor is not None and rated and system == "elo" else None
    return Standings(
        first.game,
        first.hash,
        first.params,
        system,
        shown,
        rated,
        tuple(sorted(rows, key=place)),
        {seat: name for seat, (_, name) in sorted(first.referees.items())},
    )


def _names(matches: Sequence[Match]) -> dict[str, str]:
    """Identity -> name; where two have one name, with the beginning of their identities."""
    called: dict[str, set[str]] = defaultdict(set)
    for match in matches:
        for identity, name in zip(match.holders, match.names, strict=True):
            called[identity].add(name)
    names = {identity: min(every) for identity, every in sorted(called.items())}
    shared = [name for name in names.values() if list(names.values()).count(name) > 1]
    return {i: f"{name} ({i[:4]})" if name in shared else name for i, name in names.items()}


def _scores(matches: Sequence[Match]) -> dict[tuple[str, str], Score]:
    """The games of each pair, all seatings together."""
    found: dict[tuple[str, str], Score] = {}
    for match in matches:
        if match.points is None or match.holders[0] == match.holders[1]:
            continue
        first, second = sorted(match.holders)
        score = match.score if first == match.holders[0] else match.score.turned()
        found[first, second] = found.get((first, second), NONE).plus(score)
    return found


def _games(matches: Sequence[Match], identity: str) -> tuple[int, bool, Score]:
    """Returns how many games were played against others, whether all results are exact, and the
    score of all of them. Of a contestant that has met nobody, those with itself may be exact."""
    held = [match for match in matches if identity in match.holders]
    others = [match for match in held if set(match.holders) != {identity}]
    total = NONE
    for match in others:
        if match.result is not None:
            own = match.holders[0] == identity
            total = total.plus(match.score if own else match.score.turned())
    exact = all(match.exact for match in others or held)
    return sum(match.games for match in others), exact, total


def _mean_payoff(matches: Sequence[Match], identity: str, *, own: bool) -> Estimate | None:
    """The mean over all places where it sat; matches of one seating with other seeds are pooled."""
    cells: dict[tuple[int, tuple[str, ...]], list[tuple[float, float, int]]] = defaultdict(list)
    for match in matches:
        if (set(match.holders) == {identity}) != own:
            continue
        for seat, holder in enumerate(match.holders):
            mean, variance = match.means[seat], match.variances[seat]
            if holder == identity and mean is not None and variance is not None:
                cells[seat, match.holders].append((mean, variance, match.games))
    if not cells:
        return None
    value = sum(_mean(parts) for parts in cells.values()) / len(cells)
    errors = [_squared_error(parts) for parts in cells.values()]
    known = [error for error in errors if error is not None]
    half = Z * sqrt(sum(known)) / len(cells) if len(known) == len(errors) else 0.0
    kind: Kind = "t" if len(known) == len(errors) else "none"
    if all(games == 0 for parts in cells.values() for *_, games in parts):
        kind = "exact"
    return Estimate(value, value - half, value + half, kind)


def _mean(parts: Sequence[tuple[float, float, int]]) -> float:
    """Returns the mean of some matches, each with its mean, variance and games; an exact one
    stands alone."""
    games = sum(n for *_, n in parts)
    return sum(m * n for m, _, n in parts) / games if games else parts[0][0]


def _squared_error(parts: Sequence[tuple[float, float, int]]) -> float | None:
    """The squared standard error of their mean: 0 of an exact one, and not known of one game."""
    games = sum(n for *_, n in parts)
    if games < 2:
        return None if games else 0.0
    mean = _mean(parts)
    spread = sum(n * (v + (m - mean) ** 2) for m, v, n in parts) / (games - 1)
    return spread / games


def _invalid(matches: Sequence[Match], identity: str) -> Estimate | None:
    failed = asked = 0
    for match in matches:
        for seat, holder in enumerate(match.holders):
            if holder == identity:
                failed, asked = failed + match.invalid[seat], asked + match.asked[seat]
    return share(failed, asked)
