"""The registry of functions that a game's `call:` steps may name.

A function enters it by the decorator `function` alone: Python code that somebody chose to import.
A game file names functions and cannot bring any. Those that are shipped are always there; those of
other packages come by the entry point group `gamedsl.calls`, or when their module is imported.

Time limits. A function of the registry is held to its limit in one of two ways, and says which: one
that starts a process kills it and raises `TimeoutError`; one that runs in this process is fast by
construction, because it bounds what it takes (length, depth, magnitude) and answers for what is
larger as for any other input. A Python function cannot be stopped from outside safely, so the
registry does not try.
"""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from gamedsl.calls.types import Type, WrongType, checked, is_definite, key_of, size_of, type_text

GROUP = "gamedsl.calls"
SHIPPED = {
    "exact": "texts",
    "same_number": "numbers",
    "arithmetic": "numbers",
    "names": "texts",
    "matches": "texts",
    "search": "search",
    "run_python": "run_python",
}
"""The functions that are shipped, and the module of this package that each is in."""

SOON = 1
"""Seconds: a pure function with a longer limit may time out on one machine and not on another."""

KEPT = 1024
"""Results of one pure function that are kept, the last used."""

KEPT_CHARACTERS = 20_000_000
"""Characters of all arguments of these results together."""

Body = TypeVar("Body", bound=Callable[..., Any])


class CallError(Exception):
    """A call that has no result: wrong arguments, a fault of the function, a missing library or
    sandbox. Never the doing of a player."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"`{name}`: {reason}")
        self.name = name
        self.reason = reason


class NameTaken(ValueError):
    """A function cannot be registered, since there is one of its name."""


class ResultCache:
    """Results of one pure function by its arguments, the last used; threads may share it."""

    def __init__(self) -> None:
        self._results: OrderedDict[Hashable, tuple[int, Any]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> tuple[Any] | None:
        """Returns the result kept for a key, in a tuple; None where there is none."""
        with self._lock:
            if key not in self._results:
                return None
            self._results.move_to_end(key)
            return (self._results[key][1],)

    def keep(self, key: Hashable, result: Any) -> None:
        """Keeps a result, and gives up those that were not used for longest."""
        size = size_of(key)
        with self._lock:
            self._size += size - self._results.get(key, (0, None))[0]
            self._results[key] = size, result
            while len(self._results) > KEPT or self._size > KEPT_CHARACTERS:
                self._size -= self._results.popitem(last=False)[1][0]


@dataclass(frozen=True, eq=False)
class Function:
    """A registered function. `time_limit` is in seconds, `on_timeout` its result then; `version`
    changes whenever any result does, and goes into the hash of a game that calls it."""

    name: str
    arguments: Mapping[str, Type]
    result: Type
    pure: bool
    version: int
    time_limit: float
    on_timeout: Any
    doc: str
    body: Callable[..., Any]
    fault: Callable[[Mapping[str, Any]], str | None] | None = None
    missing: Callable[[], str | None] | None = None
    digest: str = ""
    """The SHA-256 of the file that registered it, where a file was allowed to; otherwise empty."""
    _kept: ResultCache = field(default_factory=lambda: ResultCache(), repr=False)

    @property
    def repeatable(self) -> bool:
        """Whether it gives the same result again, whenever and wherever it is asked: pure, and fast
        by construction. Results of all others are kept in transcripts."""
        return self.pure and self.time_limit <= SOON

    @property
    def unfit_for_conditions(self) -> str | None:
        """Returns the reason why `valid` may not call it, or None: it is called there as often as
        is asked, also for replies that are only tried, and nothing records what it gave."""
        if not self.pure:
            return "it need not give the same again"
        if self.time_limit > SOON:
            return f"it may take {self.time_limit:g} seconds"
        return None

    @property
    def usage(self) -> str:
        """The signature as text, such as `exact(text: text, value: any) -> bool`."""
        arguments = ", ".join(f"{name}: {type_text(type)}" for name, type in self.arguments.items())
        return f"{self.name}({arguments}) -> {type_text(self.result)}"

    def fault_of(self, known: Mapping[str, Any]) -> str | None:
        """Returns the fault in arguments that are known before the game is played, or None."""
        return self.fault(known) if self.fault else None

    def missing_here(self) -> str | None:
        """Returns the missing library or sandbox that keeps it from running on this machine, or
        None. Ask before a game is played, since a call then raises `CallError`."""
        return self.missing() if self.missing else None

    def call(self, **arguments: Any) -> Any:
        """The result, canonical and new at every call. Results of a pure function are kept; what a
        time-out gave is not. Raises `CallError`."""
        if arguments.keys() != self.arguments.keys():
            wanted = ", ".join(self.arguments)
            raise CallError(self.name, f"takes {wanted}, not {', '.join(arguments) or 'nothing'}")
        try:
            given = {name: checked(type, arguments[name]) for name, type in self.arguments.items()}
        except WrongType as error:
            raise CallError(self.name, f"a wrong argument: {error}") from None
        if not self.pure:
            return self._result(given)[0]
        key = tuple(key_of(value) for value in given.values())
        if (known := self._kept.find(key)) is not None:
            return checked(self.result, known[0])
        result, final = self._result(given)
        if final:
            self._kept.keep(key, result)
        return checked(self.result, result)

    def _result(self, given: Mapping[str, Any]) -> tuple[Any, bool]:
        """Returns the function's result, and whether it ended in time."""
        final = True
        try:
            found = self.body(**given)
        except TimeoutError:
            found, final = self.on_timeout, False
        except CallError:
            raise
        except Exception as error:
            raise CallError(self.name, f"failed: {error.__class__.__name__}: {error}") from error
        try:
            return checked(self.result, found), final
        except WrongType as error:
            raise CallError(self.name, f"gave a wrong result: {error}") from None


_FUNCTIONS: dict[str, Function] = {}


@dataclass(frozen=True)
class _Registering:
    """A file that is executed now, whose functions have its version, and their names so far."""

    version: int
    digest: str
    names: list[str] = field(default_factory=list)


_FILE: _Registering | None = None


@contextmanager
def registering(version: int, digest: str) -> Iterator[list[str]]:
    """Gives what is registered meanwhile the version and the hash of a file, and yields its names.
    Where the file fails, none of it is registered."""
    global _FILE
    _import_shipped()
    before, _FILE = _FILE, _Registering(version, digest)
    names = _FILE.names
    try:
        yield names
    except BaseException:
        for name in names:
            del _FUNCTIONS[name]
        raise
    finally:
        _FILE = before


def function(
    *,
    arguments: Mapping[str, Type],
    result: Type,
    pure: bool,
    version: int,
    time_limit: float,
    on_timeout: Any,
    fault: Callable[[Mapping[str, Any]], str | None] | None = None,
    missing: Callable[[], str | None] | None = None,
) -> Callable[[Body], Body]:
    """Register a Python function under its own name; the first line of its docstring documents it.

    Its parameters must be those of `arguments`, in any order. `fault`, given the arguments that a
    game writes out, says what is wrong with them, or None; `missing` says what keeps the function
    from running on this machine, or None. Raises `ValueError` for a declaration that contradicts
    itself, and for a name that is taken.
    """

    def register(body: Body) -> Body:
        name = body.__name__
        doc = (inspect.getdoc(body) or "").partition("\n\n")[0].replace("\n", " ")
        if not doc:
            raise ValueError(f"the function `{name}` has no docstring")
        if set(inspect.signature(body).parameters) != set(arguments):
            raise ValueError(f"the parameters of `{name}` are not {', '.join(arguments)}")
        if not is_definite(result):
            raise ValueError(f"the result of `{name}` is of any type; games need to know which")
        if time_limit <= 0 or version < 1:
            raise ValueError(f"`{name}`: its time limit is above 0 and its version 1 or more")
        try:
            checked(result, on_timeout)
        except WrongType as error:
            raise ValueError(f"`{name}` cannot time out like this: {error}") from None
        if name in _FUNCTIONS:
            raise NameTaken(f"there is already a function `{name}`")
        own = version if _FILE is None else _FILE.version
        _FUNCTIONS[name] = Function(
            name, dict(arguments), result, pure, own, time_limit, on_timeout, doc, body, fault,
            missing, "" if _FILE is None else _FILE.digest,
        )  # fmt: skip
        if _FILE is not None:
            _FILE.names.append(name)
        return body

    return register


def lookup(name: str) -> Function | None:
    """The function of a name, or None. Raises `CallError` where another package's cannot be
    imported."""
    _import_shipped()
    if name not in _FUNCTIONS:
        _import_others()
    return _FUNCTIONS.get(name)


def names() -> tuple[str, ...]:
    """All names, those that are shipped first."""
    _import_shipped()
    _import_others()
    return (*SHIPPED, *(name for name in _FUNCTIONS if name not in SHIPPED))


@cache
def _import_shipped() -> None:
    for module in SHIPPED.values():
        import_module(f"gamedsl.calls.{module}")


@cache
def _import_others() -> None:
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:
            said = f"the package that brings it cannot be imported: {error}"
            raise CallError(entry.name, said) from error
