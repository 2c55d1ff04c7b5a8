"""The side of the tests: runs them, counts, and tells nobody but who started it."""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
from functools import partial

from gamedsl.calls.unittests.wire import Link, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

MAX_TESTS = 1000
_BLOCKS = (ast.For, ast.While, ast.With, ast.Try)


class CodeEnded(Exception):
    """The interpreter that held the code is gone."""


class Code:
    """The code on the other side."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.remotes: dict[int, Any] = {}
        self.lent: list[Callable[..., Any]] = []

    def ask(self, operation: str, *args: Any, **options: Any) -> Any:
        """Have something done, answering the calls of our functions that come meanwhile; its
        result, or the exception that it raised. Lists, dicts, sets and bytearrays among the
        arguments are changed as they were changed there."""
        try:
            self.link.send([operation, encode([list(args), options], self.refer)])
            while True:
                kind, *rest = self.link.receive()
                if kind == "call":
                    self.link.send(self.called(*rest))
                elif kind == "returned":
                    for place, data in rest[1]:
                        _change(args[place], self.decoded(data))
                    return self.decoded(rest[0])
                else:
                    break
        except (EOFError, OSError) as error:
            raise CodeEnded("the code has ended") from error
        raised = self.exception(*rest)
        if isinstance(raised, StopIteration) and operation != "next":
            # it would end the loop of a test, as `all(map(…))`, which then saw nothing wrong
            raise RuntimeError("the code raised StopIteration")
        raise raised

    def called(self, number: int, data: Any) -> list[Any]:
        """The answer to a call of a function of ours."""
        try:
            args, options = self.decoded(data)
            result = self.lent[number](*args, **options)
            return ["returned", encode(result, self.refer)]
        except Exception as error:
            return ["raised", f"{error.__class__.__name__}: {error}"[:1000]]

    def exception(self, kind: Any, arguments: Any, text: Any) -> BaseException:
        found = self.decoded(kind)
        try:
            error = found(*self.decoded(arguments))
        except Exception:
            error = None
        return error if isinstance(error, BaseException) else RuntimeError(str(text)[:1000])

    def refer(self, value: Any) -> list[Any]:
        if type(value) is Remote:
            return ["yours", value._number]
        if not callable(value):
            raise TypeError(f"{value!r:.50} of the tests cannot be handed to the code")
        self.lent.append(value)
        return ["mine", len(self.lent) - 1]

    def decoded(self, data: Any) -> Any:
        return decode(data, self.find)

    def find(self, owner: str, number: int, name: str = "", base: str = "") -> Any:
        """One of our functions, or what stands for an object of the code: for a class of
        exceptions, one of our own, so that tests can catch it."""
        if owner == "yours":
            return self.lent[number]
        if number not in self.remotes:
            kind = getattr(builtins, base, None) if base else None
            if isinstance(kind, type) and issubclass(kind, BaseException):
                self.remotes[number] = type(name, (kind,), {})
            else:
                self.remotes[number] = Remote(self, number)
        return self.remotes[number]


def _change(value: Any, new: Any) -> None:
    if type(value) is not type(new):
        raise ValueError("no change of this value")
    if isinstance(value, list | bytearray):
        value[:] = new
    elif isinstance(value, dict | set):
        value.clear()
        value.update(new)


class Remote:
    """An object of the code. It answers for itself, with three limits: it equals no plain value,
    it does not become one by arithmetic with one, and what comes of that arithmetic (`mixed`) has
    no truth value. So no object of the code can pass for the number or text that a test expects."""

    __slots__ = ("_code", "_mixed", "_number")
    __doc__: Any = property(lambda self: self._code.ask("getattr", self, "__doc__"))

    def __init__(self, code: Code, number: int, mixed: bool = False) -> None:
        object.__setattr__(self, "_code", code)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_mixed", mixed)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._code.ask("call", self, *args, **options)

    def __getattr__(self, name: str) -> Any:
        return self._code.ask("getattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._code.ask("setattr", self, name, value)

    def __bool__(self) -> bool:
        if self._mixed:  # `not f() - 3` asks whether f() is 3, which no class may answer
            raise TypeError("an object of the code has no truth value after arithmetic")
        return self._code.ask("bool", self) is True

    def __neg__(self) -> Any:
        return _operated(self._code.ask("neg", self), self._mixed)

    def __instancecheck__(self, value: Any) -> bool:
        return self._code.ask("isinstance", self, value) is True

    def __exit__(self, *error: Any) -> None:
        self._code.ask("exit", self)


def _forwarded(operation: str, *kinds: type) -> Callable[..., Any]:
    """A method that has the code do something, which must give one of these types if any are
    named."""

    def method(self: Remote, *args: Any) -> Any:
        result = self._code.ask(operation, self, *args)
        if kinds and type(result) not in kinds:
            raise TypeError(f"`{operation}` of an object of the code gave {result!r:.50}")
        return result

    return method


def _compared(operation: str) -> Callable[[Remote, Any], Any]:
    def method(self: Remote, other: Any) -> Any:
        if type(other) is not Remote:
            return NotImplemented
        return self._code.ask(operation, self, other) is True

    return method


def _computed(operation: str, *, swapped: bool = False) -> Callable[[Remote, Any], Any]:
    def method(self: Remote, other: Any) -> Any:
        pair = (other, self) if swapped else (self, other)
        mixed = self._mixed or type(other) is not Remote or other._mixed
        return _operated(self._code.ask(operation, *pair), mixed)

    return method


def _operated(result: Any, mixed: bool) -> Any:
    """Returns the result of arithmetic; of `mixed` operands only an object of the code."""
    if not mixed:
        return result
    if type(result) is not Remote:
        raise TypeError("an object of the code does not become a plain value by arithmetic")
    return Remote(result._code, result._number, mixed=True)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Remote, f"__{_name}__", _compared(_name))
for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
):
    setattr(Remote, f"__{_name.rstrip('_')}__", _computed(_name))
    setattr(Remote, f"__r{_name.rstrip('_')}__", _computed(_name, swapped=True))
for _name, _kinds in {
    "len": (int,), "str": (str,), "repr": (str,), "hash": (int,),
    "iter": (Remote,), "next": (), "getitem": (), "setitem": (), "delitem": (), "delattr": (),
    "enter": (),
}.items():  # fmt: skip
    setattr(Remote, f"__{_name}__", _forwarded(_name, *_kinds))


def units(tree: ast.Module) -> tuple[list[ast.stmt], list[str]]:
    """The statements of the module that are tests, and the names of its test functions. A statement
    is a test if it is an `assert`, or a loop, `with` or `try` that holds one; what stands under an
    `if` may never run."""
    statements: list[ast.stmt] = [
        node
        for node in tree.body
        if isinstance(node, ast.Assert)
        or (isinstance(node, _BLOCKS) and any(isinstance(n, ast.Assert) for n in ast.walk(node)))
    ]
    functions = {
        node.name: None
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    return statements, list(functions)


class TestModule:
    """The tests, as they are run: the module from top to bottom, then its test functions."""

    def __init__(self, text: str, scope: dict[str, Any]) -> None:
        self.text = text
        self.scope = scope
        self.passed = 0
        self.error = ""

    def everything(self, tree: ast.Module) -> None:
        tests, functions = units(tree)
        for node in tree.body:
            module = ast.Module([node], [])
            code = compile(module, "tests", "exec", dont_inherit=True)
            ran = self.ran(self.source(node), partial(exec, code, self.scope))
            if node in tests:
                self.passed += ran
            elif not ran:
                return
        for name in functions:
            self.passed += self.ran(name, self.scope[name])

    def ran(self, name: str, test: Callable[[], Any]) -> bool:
        """Whether it ends without an exception; the first that does not is remembered."""
        try:
            test()
        except BaseException as error:
            self.error = self.error or f"{name}: {described(error)}"
            return False
        return True

    def source(self, node: ast.stmt) -> str:
        lines = self.text.splitlines()
        return lines[node.lineno - 1].strip()[:80] if node.lineno <= len(lines) else ""


def described(error: BaseException) -> str:
    said = str(error)
    return f"{error.__class__.__name__}: {said}" if said else error.__class__.__name__


def namespace(found: dict[str, Any]) -> dict[str, Any]:
    """Returns the names of the code that the tests see, all of them in a module `solution` too.
    Names of built-ins stay Python's."""
    module = type(builtins)("solution")
    vars(module).update(found)
    sys.modules["solution"] = module
    own = {name: value for name, value in found.items() if not hasattr(builtins, name)}
    return {**own, "__name__": "tests", "__builtins__": builtins}


def main(text: str, link_fd: int, results_fd: int) -> NoReturn:
    """Write the number of tests, and, when all have run, how many passed and the first fault."""

    def tell(*values: Any) -> None:
        os.write(results_fd, json.dumps(values).encode() + b"\n")

    def stop(passed: int, error: str) -> NoReturn:
        tell(passed, error[:200])
        os._exit(0)

    try:
        tree = ast.parse(text)
        statements, functions = units(tree)
        count = len(statements) + len(functions)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        tell(0)
        stop(0, f"the tests cannot be read: {described(error)}")
    tell(min(count, MAX_TESTS))
    if not 0 < count <= MAX_TESTS:
        stop(0, f"there are {count} tests, and should be 1 to {MAX_TESTS}")
    try:
        scope = namespace(Code(Link(link_fd)).ask("load"))
    except BaseException as error:
        stop(0, f"the code does not load: {described(error)}")
    run = TestModule(text, scope)
    run.everything(tree)
    stop(run.passed, run.error)
