"""Histories of a game as nodes of its tree: the way to them, to be told and to be played again."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from gamedsl.analysis.proof import Moves
from gamedsl.engine.kernel import Amounts, Ask, State
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.prompting.events import SILENCE

NO_REPLY = "gives no valid reply"
"""The words for silence in a history."""


class Node:
    """A history: its state, which is never moved, and the history that it follows by a move (the
    numbers of options in the order of `asks`, or that of an outcome, whose name is `drawn`);
    `payoffs` and `rewards` where the game is over."""

    __slots__ = ("after", "before", "drawn", "move", "payoffs", "rewards", "state")

    def __init__(
        self, state: State, before: Node | None, move: tuple[int, ...], drawn: str = ""
    ) -> None:
        self.state = state
        self.before = before
        self.move = move
        self.drawn = drawn
        self.payoffs: Amounts = {}
        self.rewards: Amounts = {}
        self.after: dict[tuple[int, ...], Node] = {}


class Failure(NamedTuple):
    """A failure of the rules: after `node`, or before anything has happened (None), by a move."""

    error: EvaluationError
    node: Node | None
    move: tuple[int, ...]


def path_of(node: Node) -> list[Node]:
    """The histories on the way to one, from the first, itself included."""
    path = [node]
    while path[-1].before is not None:
        path.append(path[-1].before)
    return path[::-1]


def made(after: Node) -> Mapping[str, str]:
    """The move that a history follows another by: what each seat chose, or what chance brought (of
    the index, in words). Empty for the first history."""
    if after.before is None:
        return {}
    state = after.before.state
    if state.kind == "chance":
        return {" ".join(state.draws[1]): after.drawn}
    return {ask.seat: ask.legal[n] for ask, n in zip(state.asks, after.move, strict=True)}


def replay(node: Node) -> Moves:
    """The moves of a history, to play it again."""
    return tuple(name for after in path_of(node) for name in made(after).values())


def history_lines(node: Node, most: int = 12) -> tuple[str, ...]:
    """Returns a history for people: a line for each step, the last `most`."""
    lines, last = list[str](), ""
    for before, after in pairwise(path_of(node)):
        state = before.state
        step = state.draws[0] if state.kind == "chance" else state.asks[0].step
        parts = [f"{who} {what or NO_REPLY}".strip() for who, what in made(after).items()]
        text = ", ".join(parts[:8]) + (", …" if len(parts) > 8 else "")
        if step == last and state.kind == "chance":
            lines[-1] += f", {text}"
        else:
            lines.append(f"{step}: {text}")
        last = step
    return tuple(lines) if len(lines) <= most else ("…", *lines[-most:])


def silent_in(failure: Failure) -> dict[str, str]:
    """Returns the seats that gave no valid reply in a play that failed, each with the last step
    at which it gave none."""
    asked = list[tuple[Ask, int]]()
    if failure.node is not None:
        for before, after in pairwise(path_of(failure.node)):
            asked += zip(before.state.asks, after.move, strict=False)
        asked += zip(failure.node.state.asks, failure.move, strict=False)
    return {ask.seat: ask.step for ask, number in asked if ask.legal[number] == SILENCE}


def history_text(node: Node, most: int = 12) -> str:
    """A history in one line."""
    return "; ".join(history_lines(node, most)) or "nothing has happened"
