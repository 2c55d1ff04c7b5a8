"""Memories: texts that roles wrote into state that `lasts: run`, from episode to episode.

A memory is JSON-able data: the text by variable, and for a variable per role by seat. Text that was
never written is left out, so that the memory of a run that begins is empty. An episode begins with
a memory and leaves one for the next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gamedsl.ir.game import GameIR
from gamedsl.ir.statements import State
from gamedsl.ir.types import PerSeat, Text

Memory = Mapping[str, Any]
"""`{"motto": "…", "diary": {"ann": "…"}}`."""


def initial_values(ir: GameIR, memory: Memory | None) -> dict[str, Any]:
    """Returns the values with which an episode begins, by variable, of those that a memory has.
    Raises ValueError where a memory is not of this game."""
    states, found = {state.name: state for state in ir.lasting}, {}
    if memory is not None and not isinstance(memory, Mapping):
        raise ValueError("a memory is a map of what lasts")
    for name, left in (memory or {}).items():
        state = states.get(name)
        if state is None:
            last = ", ".join(f"`{known}`" for known in states) or "nothing"
            raise ValueError(f"`{name}` does not last in `{ir.name}`: what lasts is {last}")
        found[name] = _value(ir, state, left)
    return found


def _value(ir: GameIR, state: State, left: Any) -> Any:
    if not isinstance(state.type, PerSeat):
        return _text(state, state.name, state.type, left)
    if not isinstance(left, Mapping) or not set(left) <= set(ir.seats):
        raise ValueError(f"a memory of `{state.name}` is a map of roles to texts")
    of = state.type.of
    return state.start | {s: _text(state, f"{state.name}.{s}", of, t) for s, t in left.items()}


def _limit(state: State) -> int:
    type = state.type.of if isinstance(state.type, PerSeat) else state.type
    assert isinstance(type, Text), "no other type may last"
    assert type.limit is not None, "nor a text without one"
    return type.limit


def _text(state: State, name: str, type: Any, left: Any) -> str:
    assert isinstance(type, Text), "no other type may last"
    if not isinstance(left, str) or (type.limit is not None and len(left) > type.limit):
        raise ValueError(f"a memory of `{name}` is a text of at most {type.limit} characters")
    return left


def refused_memory(before: GameIR, after: GameIR) -> tuple[State, str, str] | None:
    """Returns, where a memory that `before` leaves may be none of `after`, the same game with other
    params, the state that it is of, what does not fit and what to do about it; None where all
    fit."""
    fewer = [seat for seat in before.seats if seat not in after.seats]
    for earlier, state in zip(before.lasting, after.lasting, strict=True):
        left, most = _limit(earlier), _limit(state)
        if left > most:
            return (
                state,
                f"`{state.name}` holds at most {most} characters, and {left} may be left to it",
                f"declare `{state.name}` as `text({left})` at each level",
            )
        if isinstance(state.type, PerSeat) and fewer:
            return (
                state, f"there is no `{fewer[0]}`, whose `{state.name}` lasts",
                "keep the seats of each level at those after it",
            )  # fmt: skip
    return None


def memory_after(ir: GameIR, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the memory that an episode leaves, from the values of its variables."""
    found: dict[str, Any] = {}
    for state in ir.lasting:
        value = variables.get(state.name)
        if isinstance(state.type, PerSeat):
            value = {seat: text for seat, text in (value or {}).items() if text is not None}
        if value:
            found[state.name] = value
    return found


def key_of_memory(memory: Memory) -> str:
    """Returns a text that is equal for equal memories."""
    return json.dumps(memory, sort_keys=True, ensure_ascii=False)
