"""Leaderboard files: sets of matches, over runs, models and evaluations.

A match is the games of one seating. Adding a match again changes nothing. The order of matches does
not matter, nor whether several processes add them at once. The key of a match is the rules it was
played under, the holders of its seats, and its seed. Of two matches with one key the longer
replaces the other, since it begins with the same games. An exact result replaces all sampled ones
between the same contestants in the same seats.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.games import Contest, Games
from gamedsl.evaluate.ratings import Score
from gamedsl.storage.reader import FileRefused, read_bytes
from gamedsl.storage.refusals import reason, remedy
from gamedsl.storage.strict_json import MAX_CHARACTERS, parse
from gamedsl.storage.writer import make_folder, write_text

if TYPE_CHECKING:
    from gamedsl.evaluate.contestants import Contestant
    from gamedsl.evaluate.results import Exploitability
    from gamedsl.runtime import Game

FORMAT = "gamedsl leaderboard 1"
KINDS = ("exact", "least")
"""Whether an exploitability is exact or a lower bound."""

EXACT_GAMES = 1000
"""Games that an exact result counts as, in ratings."""


@dataclass(frozen=True)
class Match:
    """The games of one seating. All tuples are by seat, but `result`."""

    game: str
    hash: str
    """The hash of the game and of the share of its rows that was played."""
    params: Mapping[str, Any]
    seats: tuple[str, ...]
    holders: tuple[str, ...]
    """Identities."""
    names: tuple[str, ...]
    seed: int
    games: int
    """0: exact."""
    means: tuple[float | None, ...]
    """The mean payoffs; None if all games were void."""
    variances: tuple[float | None, ...]
    result: tuple[float, float, float] | None
    """Games that the first seat won, drew and lost, or their shares where exact; None unless there
    are two seats."""
    points: float | None
    """The mean points of the first seat, from 0 to 1; None unless the game is for two and of
    constant sum."""
    asked: tuple[int, ...]
    invalid: tuple[int, ...]
    versions: Mapping[str, str]
    referees: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The identity and name of each referee, by seat."""

    @property
    def key(self) -> str:
        """The identity of a match: equal for two matches of the same contestants, game and
        settings."""
        known: list[object] = [self.hash, self.holders, None if self.exact else self.seed]
        known += [self.judges] if self.referees else []
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]

    @property
    def judges(self) -> tuple[tuple[str, str], ...]:
        """The seats of referees, each with the identity of its holder."""
        return tuple(sorted((seat, identity) for seat, (identity, _) in self.referees.items()))

    @property
    def exact(self) -> bool:
        return self.games == 0

    @property
    def void(self) -> bool:
        """Whether none of the games of two was worth anything to anybody."""
        return len(self.seats) == 2 and all(mean is None for mean in self.means)

    @property
    def rank(self) -> tuple[int, str]:
        """The precedence among matches with one key: the greatest stands; the text only breaks
        ties between equally long ones, independently of their order."""
        return self.games, json.dumps(asdict(self))

    @property
    def score(self) -> Score:
        """The first seat's result in games."""
        scale = EXACT_GAMES if self.exact else 1
        won, drawn, lost = (scale * x for x in self.result or (0.0, 0.0, 0.0))
        return Score(won, drawn, lost, (won + drawn + lost) * (self.points or 0.0))


@dataclass(frozen=True)
class Board:
    """The contents of a leaderboard file."""

    matches: Mapping[str, Match] = field(default_factory=dict)
    """By key."""
    exploitability: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """Hash of the game -> identity -> `kind` and `value`."""

    def with_matches(self, more: Iterable[Match]) -> Board:
        """This and more matches; see the module."""
        found = dict(self.matches)
        for match in more:
            known = found.get(match.key)
            if known is None or match.rank > known.rank:
                found[match.key] = match
        known_exactly = {(m.hash, m.holders) for m in found.values() if m.exact}
        kept = {
            key: match
            for key, match in found.items()
            if match.exact or (match.hash, match.holders) not in known_exactly
        }
        return Board(dict(sorted(kept.items())), self.exploitability)

    def with_exploitability(self, hash: str, found: Mapping[str, Exploitability]) -> Board:
        """This and how exploitable contestants (by identity) are; an exact number outlives
        bounds, and the larger bound the smaller."""
        here = dict(self.exploitability.get(hash, {}))
        for identity, one in found.items():
            if one.estimate is None or one.kind == "sampled":
                continue  # an estimate is neither exact nor a bound
            if one.kind == "least" and one.estimate.low <= 0:
                continue
            value = one.estimate.value if one.kind == "exact" else one.estimate.low
            before = here.get(identity, {"kind": "least", "value": -1.0})
            rank = (one.kind == "exact", value)
            if rank > (before["kind"] == "exact", before["value"]):
                here[identity] = {"kind": one.kind, "value": value}
        every = {**self.exploitability, hash: dict(sorted(here.items()))}
        return Board(self.matches, dict(sorted(every.items())))

    def text(self) -> str:
        """The file."""
        record = {
            "format": FORMAT,
            "matches": [asdict(match) for match in self.matches.values()],
            "exploitability": self.exploitability,
        }
        return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_board(path: Path) -> Board:
    """The board of a file, empty where there is none. Raises EvalError for another file."""
    if not path.exists():
        return Board()
    try:
        record = parse(read_bytes(path, limit=MAX_CHARACTERS))
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise ValueError(f"its `format` is not `{FORMAT}`")
        matches, exploitability = record.get("matches"), record.get("exploitability")
        if not isinstance(matches, list):
            raise ValueError("its `matches` are not a list")
        read = [_match(one, number) for number, one in enumerate(matches, start=1)]
        return Board({}, _exploitability_of(exploitability)).with_matches(read)
    except (FileRefused, ValueError) as error:
        reason = error.reason if isinstance(error, FileRefused) else error
        raise EvalError(
            f"{path} is no leaderboard that can be read: {reason}",
            "name another file, which is then made",
        ) from error


def add(
    path: Path,
    matches: Sequence[Match],
    hash: str = "",
    exploitability: Mapping[str, Exploitability] | None = None,
) -> Board:
    """Add to the file, whole or not at all, also while others do. Raises EvalError, and ImportError
    without filelock."""
    from gamedsl.extras import missing

    try:
        from filelock import FileLock
    except ImportError:
        raise missing("filelock", "eval") from None
    try:
        make_folder(path.parent)
        lock = path.with_name(f".{path.name}.lock")
        lock.touch()  # where it cannot be made, FileLock would wait for ever
        with FileLock(lock):
            board = read_board(path).with_matches(matches)
            if exploitability:
                board = board.with_exploitability(hash, exploitability)
            write_text(path, board.text())
    except OSError as error:
        raise EvalError(f"{path} cannot be written: {reason(error)}", remedy(error)) from error
    return board


def match_of(
    game: Game, games: Games, seed: int, who: Mapping[str, Contestant], contest: Contest | None,
    referees: Mapping[str, Contestant],
) -> Match:  # fmt: skip
    """A seating's games as a match; `who` are the contestants by name, `referees` by seat."""
    from gamedsl.runtime.transcripts import params_as_data
    from gamedsl.training.runfolder import versions

    columns = range(len(games.holders))
    moments = [_moments(games, seat) for seat in columns]
    return Match(
        game_title(game), game.share_hash, params_as_data(dict(game.params)), tuple(game.ir.seats),
        tuple(who[name].identity for name in games.holders), games.holders,
        seed, games.games, tuple(mean for mean, _ in moments),
        tuple(variance for _, variance in moments), _result(games),
        _average(games, contest.points(games)) if contest is not None else None,
        tuple(int(n) for n in games.asked_GS.sum(axis=0)),
        tuple(int(n) for n in games.invalid_GS.sum(axis=0)), versions(),
        {seat: (one.identity, one.name) for seat, one in referees.items()},
    )  # fmt: skip


def game_title(game: Game) -> str:
    """A game's name, with the share of its rows that is played."""
    rows = game.ir.rows
    return game.name if rows == "all" else f"{game.name}, {rows.replace('_', '-')} rows"


def _moments(games: Games, seat: int) -> tuple[float | None, float | None]:
    """Mean and variance of what a seat was paid."""
    rows, weights = games.payoffs_GS[:, seat], games.weights_G
    there = ~np.isnan(rows)
    if not there.any():
        return None, None
    weights = weights[there] / weights[there].sum()
    mean = float(weights @ rows[there])
    return mean, float(weights @ (rows[there] - mean) ** 2)


def _average(games: Games, rows_G: np.ndarray) -> float | None:
    there = ~np.isnan(rows_G)
    weights = games.weights_G[there]
    return float(weights @ rows_G[there] / weights.sum()) if there.any() else None


def _result(games: Games) -> tuple[float, float, float] | None:
    if len(games.holders) != 2:
        return None
    first = games.results_GS[:, 0]
    weights = games.weights_G if games.exact else np.ones(len(first))
    won, drawn, lost = (float(weights[first == r].sum()) for r in (1.0, 0.5, 0.0))
    return won, drawn, lost


def _exploitability_of(record: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """The part `exploitability` of a file. Raises ValueError for another form."""
    if not _is_exploitability(record):
        raise ValueError("its `exploitability` is not by game and contestant")
    return {
        hash: {i: {"kind": x["kind"], "value": float(x["value"])} for i, x in rows.items()}
        for hash, rows in record.items()
    }


def _match(record: Any, number: int) -> Match:
    """One entry of `matches`. Raises ValueError for another form."""
    if not isinstance(record, dict):
        raise ValueError(f"match {number} is not an object")
    record = {"referees": {}, **record}
    for name, is_right in _FORMS.items():
        if not is_right(record.get(name)):
            raise ValueError(f"the `{name}` of match {number} are not of their form")
    sizes = {len(record[name]) for name in _BY_SEAT}
    if sizes != {len(record["seats"])}:
        raise ValueError(f"match {number} has not one entry for each seat")
    read = {f.name: record[f.name] for f in fields(Match)}
    lists = {name: tuple(value) for name, value in read.items() if isinstance(value, list)}
    return Match(**{**read, **lists})


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _or_none(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or inner(value)


def _list_of(inner: Callable[[Any], bool], size: int | None = None) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, list) and size in (None, len(value)) and all(map(inner, value))
    )


def _values(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(inner, value.values()))


def _is_estimate(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") in KINDS and _is_number(value.get("value"))


_is_exploitability = _values(_values(_is_estimate))

_FORMS: Mapping[str, Callable[[Any], bool]] = {
    "game": _is_text,
    "hash": _is_text,
    "params": _is_object,
    "seats": _list_of(_is_text),
    "holders": _list_of(_is_text),
    "names": _list_of(_is_text),
    "seed": _is_whole,
    "games": lambda value: _is_whole(value) and value >= 0,
    "means": _list_of(_or_none(_is_number)),
    "variances": _list_of(_or_none(_is_number)),
    "result": _or_none(_list_of(_is_number, 3)),
    "points": _or_none(_is_number),
    "asked": _list_of(_is_whole),
    "invalid": _list_of(_is_whole),
    "versions": _values(_is_text),
    "referees": _values(_list_of(_is_text, 2)),
}
"""The form of each field of a match as JSON."""

_BY_SEAT = ("holders", "names", "means", "variances", "asked", "invalid")
