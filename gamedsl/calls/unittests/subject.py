"""The side of the code: loads it, and does with its functions and objects what the tests ask."""

from __future__ import annotations

import builtins
import operator
import os

from gamedsl.calls.unittests.wire import Link, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

OPERATIONS: dict[str, Callable[..., Any]] = {
    "call": lambda function, *args, **options: function(*args, **options),
    "isinstance": lambda kind, value: isinstance(value, kind),
    "enter": lambda manager: type(manager).__enter__(manager),
    "exit": lambda manager: type(manager).__exit__(manager, None, None, None),
    "getattr": getattr, "setattr": setattr, "delattr": delattr,
    "len": len, "iter": iter, "next": next, "str": str, "repr": repr, "bool": bool, "hash": hash,
    **{name: getattr(operator, name) for name in (
        "getitem", "setitem", "delitem", "eq", "ne", "lt", "le", "gt", "ge", "neg", "add", "sub",
        "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor",
    )},
}  # fmt: skip

_CHANGEABLE = (list, dict, set, bytearray)


class Callback:
    """A function of the tests, which the code was given and may call."""

    def __init__(self, subject: Subject, number: int) -> None:
        self._subject = subject
        self._number = number

    def __call__(self, *args: Any, **options: Any) -> Any:
        subject = self._subject
        subject.link.send(["call", self._number, subject.encoded([list(args), options])])
        return subject.serve()


class Subject:
    """The code, with the objects that the tests know by number."""

    def __init__(self, code: str, link: Link) -> None:
        self.code = code
        self.link = link
        self.known: list[Any] = []
        self.numbers: dict[int, int] = {}

    def serve(self) -> Any:
        """Do what is asked until an answer comes to a question of ours."""
        while True:
            kind, *rest = self.link.receive()
            if kind == "returned":
                return self.decoded(rest[0])
            if kind == "raised":
                raise RuntimeError(rest[0])
            try:
                self.link.send(["returned", *self.done(kind, *rest)])
            except EOFError:
                raise
            except BaseException as error:
                self.link.send(self.raised(error))

    def done(self, name: str, arguments: Any) -> list[Any]:
        """Returns the result of an operation, and the arguments that it changed, by place."""
        if name == "load":
            return [self.encoded(self.loaded()), []]
        args, options = self.decoded(arguments)
        result = self.encoded(OPERATIONS[name](*args, **options))
        before = arguments[1][0][1]
        changed = [
            [place, now]
            for place, value in enumerate(args)
            if type(value) in _CHANGEABLE and (now := self.encoded(value)) != before[place]
        ]
        return [result, changed]

    def loaded(self) -> dict[str, Any]:
        """Run the code; the names that it defines."""
        scope: dict[str, Any] = {"__name__": "solution"}
        exec(compile(self.code, "solution", "exec", dont_inherit=True), scope)
        module = type(builtins)
        return {
            name: value
            for name, value in scope.items()
            if not name.startswith("__") and type(value) is not module
        }

    def encoded(self, value: Any) -> Any:
        return encode(value, self.refer)

    def refer(self, value: Any) -> list[Any]:
        """Returns the reference to an object of the code; a class of exceptions comes with the
        built-in class that it derives from."""
        if type(value) is Callback:
            return ["yours", value._number]
        number = self.numbers.setdefault(id(value), len(self.known))
        if number == len(self.known):
            self.known.append(value)
        if not isinstance(value, type) or not issubclass(value, BaseException):
            return ["mine", number, "", ""]
        base = next(c for c in value.__mro__ if getattr(builtins, c.__name__, None) is c)
        return ["mine", number, value.__name__, base.__name__]

    def decoded(self, data: Any) -> Any:
        return decode(data, self.find)

    def find(self, owner: str, number: int) -> Any:
        return self.known[number] if owner == "yours" else Callback(self, number)

    def raised(self, error: BaseException) -> list[Any]:
        """Returns an exception in the form that the tests get: its class, its arguments and its
        text."""
        try:
            text = str(error)[:1000]
            arguments = self.encoded(list(error.args))
        except Exception:
            text, arguments = "", ["list", []]
        return ["raised", self.encoded(type(error)), arguments, text]


def main(code: str, fd: int) -> NoReturn:
    """Serve until the tests are gone."""
    try:
        Subject(code, Link(fd)).serve()
    finally:
        os._exit(0)
