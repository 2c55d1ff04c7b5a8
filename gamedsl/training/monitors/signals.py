"""Signals: the mapping from types to words that the senders of a signalling game have learned.

A word is a choice that nothing in the rules reads, cheap talk (Lewis 1969; Crawford and Sobel
1982), of a seat that knows something of chance that a later reader of the word does not. What it
knows alone is its type. The information of the words is their mutual information with the types, in
bits; two types collide if one word is the likeliest for both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np

from gamedsl.ir.expr import LastBy, LetCall, LetMap, Past, Read, expressions_in
from gamedsl.ir.program import Draw, walk_steps
from gamedsl.training.scoring import Scorer
from gamedsl.training.trajectories import Batch, Sample, Trajectory

if TYPE_CHECKING:
    from gamedsl.ir.game import GameIR

Table = Mapping[str, Mapping[str, float]]
"""Type -> word -> probability."""

SHOWN = 0.005
"""The least probability of a word that a record keeps; the likeliest is always kept."""


class SignalMonitor:
    """Measures the mapping of every signal of a game."""

    field = "mapping"

    def __init__(self, words: frozenset[str], draws: frozenset[str]) -> None:
        """The ids of the steps at which words are chosen, and of those at which chance draws."""
        self._words = words
        self._draws = draws

    @classmethod
    def of(cls, ir: GameIR) -> SignalMonitor | None:
        """Returns None for a game without chance, or without words."""
        draws = frozenset(step.id for step in walk_steps(ir.turns) if isinstance(step, Draw))
        words = frozenset(step.id for step in ir.steps if step.variable not in _read(ir))
        return cls(words, draws) if words and draws else None

    def measure(self, scorer: Scorer, batch: Batch) -> dict[str, Any]:
        """Returns for each signal (`sender:word`) the types with their shares and words, and the
        information of the words. A word's probability is the policy's own, averaged over the games
        of its type."""
        games: dict[str, Counter[str]] = defaultdict(Counter)
        mass: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for history in batch.trajectories:
            for sample, kind in self._signals(history):
                signal = f"{sample.seat}:{sample.step}"
                games[signal][kind] += history.games
                query, _ = sample.scored
                pi_A = scorer.probabilities(batch.queries[query])
                for name, p in zip(batch.places[query].legal, pi_A, strict=True):
                    mass[signal, kind][name] += history.games * float(p)
        found = {}
        for signal, counts in games.items():
            total = counts.total()
            shares = {kind: counts[kind] / total for kind in sorted(counts)}
            table = {
                kind: {name: m / counts[kind] for name, m in mass[signal, kind].items()}
                for kind in shares
            }
            found[signal] = described(shares, table)
        return found

    def _signals(self, history: Trajectory) -> Iterator[tuple[Sample, str]]:
        """Yields the words of a course of play, each with its sender's type then."""
        episode = history.episode
        for place, sample in enumerate(history.samples):
            if sample.step not in self._words:
                continue
            own = episode.seen(sample.seat)
            mark = (sample.step, sample.occurrence, sample.seat)
            before = []
            for event in own:
                if event[:3] == mark:
                    break
                if event.step in self._draws:
                    before.append((event.step, event.seat, event.name))
            for reader in {s.seat for s in history.samples[place + 1 :]} - {sample.seat}:
                seen = {(event.step, event.seat, event.name) for event in episode.seen(reader)}
                alone = [name for step, seat, name in before if (step, seat, name) not in seen]
                heard = any(
                    (event.step, event.seat) == (sample.step, sample.seat)
                    for event in episode.seen(reader)
                )
                if alone and heard:
                    yield sample, ", ".join(alone)
                    break


def described(shares: Mapping[str, float], table: Table) -> dict[str, Any]:
    """Returns the types, each with its share of the games, its likeliest words and whether it
    collides; `information` and `entropy` are those of the words with the types, and of the types,
    in bits."""
    best = {kind: max(row, key=lambda name: row[name]) for kind, row in table.items()}
    uses = Counter(best.values())
    return {
        "types": {
            kind: {
                "share": round(share, 5),
                "probs": {
                    name: round(p, 4)
                    for name, p in table[kind].items()
                    if p >= SHOWN or name == best[kind]
                },
            }
            for kind, share in shares.items()
        },
        "information": information(shares, table),
        "entropy": -sum(p * log2(p) for p in shares.values() if p),
        "collisions": sum(uses[word] > 1 for word in best.values()),
    }


def information(shares: Mapping[str, float], table: Table) -> float:
    """Returns I(T; W) in bits, of p(t) in `shares` and p(w | t) in `table`."""
    words = list(dict.fromkeys(name for row in table.values() for name in row))
    p_T = np.array([shares[kind] for kind in table])
    p_TW = np.array([[row.get(name, 0.0) for name in words] for row in table.values()])
    p_W = p_T @ p_TW
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(p_TW > 0, p_TW * np.log2(p_TW / p_W), 0.0)
    return max(float(p_T @ bits.sum(axis=1)), 0.0)


_NAMING = Read, LastBy, Past, LetCall, LetMap


def _read(ir: GameIR) -> set[str]:
    """Returns the variables that the rules and payoffs read, by way of `let`s too."""
    lets, found = ir.lets_by_name, set[str]()
    pending: list[Any] = [(ir.turns, ir.end, ir.payoffs, ir.scores, ir.referee_payoffs)]
    while pending:
        names = {e.name for e in expressions_in(pending.pop()) if isinstance(e, _NAMING)}
        pending += [lets[name].body for name in names - found if name in lets]
        found |= names
    return found
