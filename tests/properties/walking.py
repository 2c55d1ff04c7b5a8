"""Going through games: every history of a small one, some of a larger one, and random plays."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import gamedsl
from gamedsl import Action, EvaluationError
from gamedsl.compiler import Result, compile_file
from gamedsl.diagnostics import Problems
from gamedsl.sema.game import build_game
from gamedsl.sema.library import load_document

MOST = 600
"""Histories of one game that are gone through."""


def compiled(text: str, name: str = "generated") -> Result:
    """What comes of a file's text. The path of the file is the same each time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return compile_file(path)


def load(text: str) -> gamedsl.Game:
    """A generated game, without the passes, which take more time than all the rest: that they
    accept such games has a test of its own. `CompileError` shows what else is wrong with it."""
    problems = Problems()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.yaml"
        path.write_text(text, encoding="utf-8")
        document = load_document(path, problems)
        ir = build_game(document, {}, problems) if document is not None else None
    if ir is None or document is None:
        raise gamedsl.CompileError(problems.sorted())
    return gamedsl.Game(ir, document.files)


Move = int | dict[str, str]
"""The number of an outcome, or what each seat that is asked chooses, by canonical name."""


@dataclass(frozen=True)
class Node:
    """A history: where it is, how it came there, and how likely that is if all play uniformly."""

    episode: gamedsl.Episode
    path: tuple[Move, ...] = ()
    probability: Fraction = Fraction(1)


def moves(episode: gamedsl.Episode) -> list[tuple[Move, Fraction]]:
    """All that may happen next, with its probability if all play uniformly."""
    if episode.chance:
        return [(i, outcome.probability) for i, outcome in enumerate(episode.chance)]
    asked = episode.decisions
    each = Fraction(1, prod(len(d.legal) for d in asked))
    seats = [d.seat for d in asked]
    return [
        (dict(zip(seats, names, strict=True)), each)
        for names in product(*(d.legal for d in asked))
        if asked
    ]


def make(episode: gamedsl.Episode, move: Move) -> None:
    """Take a move."""
    if isinstance(move, int):
        episode.draw(move)
    else:
        episode.step({seat: Action(name) for seat, name in move.items()})


def nodes(env: gamedsl.Env, most: int = MOST, **how: Any) -> Iterator[Node]:
    """The histories of a game, each before those that follow from it, at most so many; chance and
    forced moves are asked for, unless `how` says otherwise."""
    given: Any = {"seed": 0, "chance": "asked", "forced": "asked"} | how
    pending = [Node(env.reset(**given))]
    found = 0
    while pending and found < most:
        node = pending.pop()
        found += 1
        yield node
        for move, chance in reversed(moves(node.episode)):
            after = node.episode.fork()
            make(after, move)
            pending.append(Node(after, (*node.path, move), node.probability * chance))


Fate = tuple[str, str, int] | str
"""How a history ends: what it pays, or why it cannot go on and where that is written."""


def fates(env: gamedsl.Env, most: int = 300) -> Iterator[Fate]:
    """How the histories of a game end whose rules may have no value."""
    try:
        pending = [env.reset(0, chance="asked", forced="asked")]
    except EvaluationError as error:
        yield error.message, error.span.text, error.span.start
        return
    found = 0
    while pending and found < most:
        episode = pending.pop()
        found += 1
        if episode.done:
            yield f"{episode.payoffs} {episode.rewards}"
        for move, _ in reversed(moves(episode)):
            after = episode.fork()
            try:
                make(after, move)
            except EvaluationError as error:
                yield error.message, error.span.text, error.span.start
            else:
                pending.append(after)


def finish(episode: gamedsl.Episode, random: Random) -> gamedsl.Episode:
    """Play on at random to the end."""
    while not episode.done:
        make(episode, random.choice(moves(episode))[0])
    return episode


def fault(episode: gamedsl.Episode, random: Random) -> EvaluationError | None:
    """What has no value in a random play; None where all have."""
    try:
        finish(episode, random)
    except EvaluationError as error:
        return error
    return None


def same_where_it_looks_the_same(env: gamedsl.Env, most: int) -> None:
    """Within an information set: the same options, labels, prompt, view and vector."""
    known: dict[tuple[str, str], object] = {}
    for node in nodes(env, most):
        for decision in node.episode.decisions:
            view = node.episode.view(decision.seat)
            asked = (
                decision.step, decision.occurrence, decision.legal, decision.labels,
                decision.messages, decision.view, view.text, view.vector,
                json.dumps(view.data, sort_keys=True),
            )  # fmt: skip
            key = decision.seat, decision.information_set
            assert known.setdefault(key, asked) == asked


def standing(episode: gamedsl.Episode) -> dict[str, Any]:
    """All that a backend says of a history."""
    chance = episode.chance
    return {
        "decisions": [
            (d.seat, d.role, d.step, d.occurrence, d.information_set, d.legal, d.labels)
            for d in episode.decisions
        ],
        "chance": [tuple(outcome) for outcome in chance],
        "count": episode.outcome_count,
        "drawing": episode.drawing if chance else None,
        "known": [episode.information(seat) for seat in episode.env.seats],
        "done": episode.done,
        "paid": {stream: dict(amounts) for stream, amounts in episode.paid.items()},
        "payoffs": episode.payoffs,
        "rewards": episode.rewards,
    }
