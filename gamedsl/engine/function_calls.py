"""Calls of registered functions during play: values of the game as plain data, and back."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gamedsl.calls.registry import CallError, lookup
from gamedsl.calls.types import WrongType, as_json, from_json
from gamedsl.ir.function_data import as_data, from_data
from gamedsl.ir.program import Call
from gamedsl.ir.types import List, PerSeat, Type, plain
from gamedsl.ir.values import name_of


class Caller(Protocol):
    """Works out a call. `arguments` are plain data, and so is the result."""

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> Any: ...


def call_registered(name: str, arguments: Mapping[str, Any]) -> Any:
    """Calls a function of the registry: the default `Caller`. Raises
    `gamedsl.calls.registry.CallError`."""
    found = lookup(name)
    assert found is not None, "the compiler has looked it up"
    return found.call(**arguments)


class RecordedCalls:
    """A `Caller` that returns the recorded results of an earlier play, in order, for functions that
    need not give the same again; the others are called. `results` are as `RecordingCaller` keeps
    them."""

    def __init__(self, results: Sequence[tuple[str, Sequence[Any]]]) -> None:
        self._left = deque((name, data) for name, row in results for data in row)

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> Any:
        found = lookup(name)
        assert found is not None, "the compiler has looked it up"
        if found.repeatable:
            return call_registered(name, arguments)
        if not self._left or self._left[0][0] != name:
            raise CallError(name, "it is not told what it gave here")
        try:
            return from_json(found.result, self._left.popleft()[1])
        except WrongType as error:
            raise CallError(name, f"it cannot have given this: {error}") from None

    @property
    def unused(self) -> int:
        """The number of results that no call has asked for."""
        return len(self._left)


class RecordingCaller:
    """A `Caller` that records, as JSON, the results of functions that need not give the same
    again."""

    def __init__(self, behind: Caller) -> None:
        self._behind = behind
        self.given: tuple[Any, ...] = ()

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> Any:
        result, found = self._behind(name, arguments), lookup(name)
        if found is not None and not found.repeatable:
            self.given = (*self.given, as_json(result))
        return result


def run_call(call: Call, values: Mapping[str, Any], caller: Caller) -> Any:
    """Returns the result of a call, as a value of the variable's type. `values` are those of its
    arguments.

    Raises `gamedsl.calls.registry.CallError`.
    """
    types = {name: _one_type(call, name, expr.type) for name, expr in call.arguments}

    def one(given: Mapping[str, Any], type: Type) -> Any:
        data = {name: as_data(given[name], types[name]) for name in given}
        return from_data(caller(call.function, data), type)

    if call.over == "one":
        return one(values, call.type)
    inner = plain(call.type)
    assert isinstance(inner, List | PerSeat)
    first = values[call.mapped[0]]
    keys = list(first) if isinstance(first, dict) else range(len(first))
    found = {
        key: one({n: v[key] if n in call.mapped else v for n, v in values.items()}, inner.of)
        for key in keys
    }
    return found if call.over == "seats" else tuple(found.values())


def _one_type(call: Call, name: str, type: Type) -> Type:
    """Returns the type of an argument in one call: of an element, where the call is for each."""
    whole = plain(type)
    return whole.of if name in call.mapped and isinstance(whole, PerSeat | List) else whole


def name_of_data(data: Any) -> str:
    """Returns a text that is equal for equal data."""
    if isinstance(data, Mapping):
        return "{" + ", ".join(f"{k}: {name_of_data(v)}" for k, v in data.items()) + "}"
    return repr(data) if isinstance(data, str) else name_of(data)
