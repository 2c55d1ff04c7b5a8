"""Unit tests of code: what is counted, what goes between code and tests, and that no code can pass
tests that it does not pass."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import pytest

from gamedsl.calls import run_python as module
from gamedsl.calls.registry import CallError, lookup
from gamedsl.calls.run_python import run_python
from gamedsl.calls.sandbox.launch import Limits, Way, confined
from gamedsl.calls.sandbox.report import sandbox_report

CONFINED = sys.platform == "linux" and sandbox_report().way is not None
pytestmark = pytest.mark.skipif(not CONFINED, reason="refused here: see test_sandbox")

SQUARE = """
assert f(2) == 4
assert f(3) == 9
def test_f():
    assert f(4) == 16
"""


def tried(code: str, tests: str) -> tuple[int, int, str]:
    found = run_python(code, tests)
    assert found["ok"] == (found["failed"] == 0 < found["passed"])
    count = found["passed"] + found["failed"]
    assert found["share"] == (Fraction(found["passed"], count) if count else 0)
    return found["passed"], found["failed"], found["error"]


def test_as_the_registry_declares_it() -> None:
    function = lookup("run_python")
    assert function is not None
    assert function.usage == (
        "run_python(code: text, tests: text) -> "
        "{ok: bool, passed: int, failed: int, share: number, error: text}"
    )
    assert function.call(code="def f(x): return x * x", tests=SQUARE) == {
        "ok": True, "passed": 3, "failed": 0, "share": 1, "error": "",
    }  # fmt: skip


COUNTED: list[tuple[str, str, tuple[int, int, str]]] = [
    ("def f(x): return 4", SQUARE, (1, 2, "assert f(3) == 9: AssertionError")),
    ("def f(x): return {}[x]", SQUARE, (0, 3, "assert f(2) == 4: KeyError: 2")),
    ("f = 3", SQUARE, (0, 3, "assert f(2) == 4: TypeError: 'int' object is not callable")),
    ("def f(:", SQUARE, (0, 3, "the code does not load: SyntaxError: invalid syntax")),
    ("", SQUARE, (0, 3, "assert f(2) == 4: NameError: name 'f' is not defined")),
    ("f = int", "x =", (0, 0, "the tests cannot be read: SyntaxError: invalid syntax")),
    ("f = int", "x = f('3')", (0, 0, "there are 0 tests, and should be 1 to 1000")),
    ("f = int", "assert 1\n" * 1001, (0, 1000, "there are 1001 tests")),
    ("f = int", "1 / 0\nassert f('3') == 3", (0, 1, "1 / 0: ZeroDivisionError")),
    ("f = int", "assert f('3') == 3\n1 / 0\nassert True", (1, 1, "1 / 0: ZeroDivisionError")),
    (
        "f = int",
        "def test_a(x): pass\ndef test_b(): assert f('1') == 1",
        (1, 1, "test_a: TypeError"),
    ),
    ("f = int", "if __name__ == '__main__':\n    assert f('1') == 1", (0, 0, "there are 0 tests")),
    ("f = int", "for i in range(3):\n    assert f(str(i)) == i", (1, 0, "")),
    ("f = int", "import os\nos._exit(0)\nassert True", (0, 1, "the tests ended before their end")),
    ("f = int", "assert True\nimport sys\nsys.exit(0)", (1, 0, "import sys")),
    ("x" * 100_001, "assert True", (0, 0, "more than 100000 characters")),
    ("f = '\ud800'", "assert f == '\ud800'", (0, 0, "the tests cannot be read: ")),
    ("f = '\ud800'", "assert f", (0, 1, "the code does not load: UnicodeEncodeError")),
    ("f = '\0'", "assert f", (0, 1, "the code does not load: ")),
    ("f = int", "assert " + "(" * 500 + ")" * 500, (0, 0, "the tests cannot be read: ")),
]


@pytest.mark.parametrize(("code", "tests", "wanted"), COUNTED)
def test_what_is_counted(code: str, tests: str, wanted: tuple[int, int, str]) -> None:
    passed, failed, error = tried(code, tests)
    assert (passed, failed) == wanted[:2]
    if not error.startswith("import sys") and "sys.exit" not in tests:
        assert error.startswith(wanted[2]), error


CODE = '''
import math
class Stack:
    """Last in, first out."""
    made = 0
    def __init__(self, *items): self.items = list(items); Stack.made += 1
    def push(self, x): self.items.append(x); return self
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __getitem__(self, i): return self.items[i]
    def __eq__(self, other): return isinstance(other, Stack) and self.items == other.items
    def __hash__(self): return len(self.items)
    def __add__(self, other): return Stack(*self.items, *other)
    def __mul__(self, n): return Stack(*self.items * n)
    def __repr__(self): return f"Stack({self.items})"
    def __enter__(self): return self
    def __exit__(self, *error): self.items.clear()
class Empty(LookupError):
    pass
LIMIT = 10
def same(x): return x
def fail(kind=ValueError, *args): raise kind(*args)
def empty(): raise Empty("nothing in it")
def sort(xs): xs.sort()
def put(d, k, v): d[k] = v
def each(function, xs): return [function(x) for x in xs]
def again(function, x): return function(function, x)
def odd(n): yield from (i for i in range(n) if i % 2)
def total(*xs, start=0): return sum(xs, start)
async def later(): return 1
def sum(xs, start): return math.fsum([start, *xs])
'''
TESTS = """
from solution import Stack, sum as own_sum
import solution
values = [None, True, 3, -2**70, 0.1, float("inf"), 1j, "é\\ud800", b"\\x00", bytearray(b"a"),
          [1, [2]], (1, (2,)), {1, 2}, frozenset("a"), {"a": [1], (1, 2): None}, range(9), int,
          ValueError, KeyError]
assert all(same(v) == v and type(same(v)) is type(v) for v in values)
assert str(same(float("nan"))) == "nan"
s = Stack(1, 2)
assert s.push(3) is s
assert (s.pop(), len(s), list(s), s[0], s.items) == (3, 2, [1, 2], 1, [1, 2])
assert s == Stack(1, 2) and s != Stack(1) and not s == [1, 2] and s != [1, 2]
assert (s + Stack(5)).items == [1, 2, 5] and (s * 2).items == [1, 2, 1, 2]
assert repr(s) == "Stack([1, 2])" and same.__doc__ is None and s.__doc__.startswith("Last")
assert isinstance(s, Stack) and not isinstance([], Stack) and Stack.made >= 3
assert len({s, Stack(1, 2), Stack(1)}) == 2
with Stack(1) as t:
    assert list(t) == [1]
assert not t
s.items = [7]
assert s.items == [7] and not hasattr(s, "nothing") and getattr(s, "nothing", 5) == 5
def raised(call, *args):
    try:
        call(*args)
    except Exception as error:
        return type(error).__name__, error.args
assert raised(fail) == ("ValueError", ())
assert raised(fail, KeyError, "k", 3) == ("KeyError", ("k", 3))
assert raised(empty) == ("Empty", ("nothing in it",))
def test_own_exception():
    try:
        empty()
    except solution.Empty as error:
        assert isinstance(error, LookupError)
    else:
        assert False
xs, d, nested = [3, 1, 2], {}, [[1], [2]]
sort(xs), put(d, "k", 1), put(nested, 0, [9])
assert xs == [1, 2, 3] and d == {"k": 1} and nested == [[9], [2]]
assert each(lambda x: x + 1, [1, 2]) == [2, 3] and each(len, ["a", ""]) == [1, 0]
assert each(same, [1]) == [1] and each(Stack, [1])[0].items == [1]
assert again(lambda f, x: x * 2, 4) == 8
assert again(lambda f, x: total(x, 1), 4) == 5
assert raised(each, lambda x: 1 / 0, [1])[1] == ("ZeroDivisionError: division by zero",)
assert list(odd(6)) == [1, 3, 5] and sorted(odd(4)) == [1, 3]
assert total(1, 2, start=3) == 6 and LIMIT == 10
assert sum([1, 2]) == 3 and own_sum([1], 1) == 2.0 and math_is_not_shared()
"""


def test_what_goes_between_code_and_tests() -> None:
    tests = "def math_is_not_shared():\n    return 'math' not in globals()\n" + TESTS
    assert tried(CODE, tests) == (25, 0, "")


PASSES_FOR_ALL = """
class Yes(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    def __sub__(self, other): return 0
    def __rsub__(self, other): return 0
    def __neg__(self): return self
    def __mul__(self, other): return self
    __rmul__ = __truediv__ = __floordiv__ = __mod__ = __mul__
    def __bool__(self): return False
    def __len__(self): return 0
    def __abs__(self): return 0
    def __hash__(self): return 4
    def __index__(self): return 4
"""
FORGED = {
    "an object whose truth value lies": (
        PASSES_FOR_ALL + "class No(Yes):\n    __sub__ = __rsub__ = lambda s, o: s\n"
        "f = lambda x: No()"
    ),
    "an object that another stands in for": (
        PASSES_FOR_ALL + "class Far(Yes):\n    __sub__ = __rsub__ = lambda s, o: Yes()\n"
        "f = lambda x: Far()"
    ),
    "an object that equals everything": PASSES_FOR_ALL + "f = lambda x: Yes()",
    "a class of it": PASSES_FOR_ALL + "f = Yes",
    "a number that equals everything": (
        "class N(int):\n    __eq__ = lambda s, o: True\n    __hash__ = int.__hash__\n"
        "f = lambda x: N(0)"
    ),
    "an end, at once": "import os\nos._exit(0)",
    "an end, in the function": "import os\ndef f(x): os._exit(0)",
    "an end by exception": "raise SystemExit(0)",
    "a failure like the test's": "def f(x): raise AssertionError",
    "lines of results": (
        "import os\nfor fd in range(64):\n    try: os.write(fd, b'[3]\\n[3, \"\"]\\n')\n"
        "    except OSError: pass\nos._exit(0)"
    ),
    "messages of results": (
        "import os, json\ntext = json.dumps(['returned', ['dict', []], []]).encode()\n"
        "for fd in range(3, 64):\n"
        "    try: os.write(fd, (len(text).to_bytes(4, 'big') + text) * 9)\n"
        "    except OSError: pass"
    ),
    "built-ins of its own": (
        "import builtins\nbuiltins.AssertionError = builtins.all = lambda *a: True\n"
        "def all(xs): return True\ndef test_f(): pass\nf = lambda x: 0"
    ),
    "a runner of its own": (
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Subject':\n"
        "        o.encoded = o.done = lambda *a: [True, []]\nf = lambda x: True"
    ),
    "modules of its own": (
        "import sys, types\nfor name in ('gamedsl.calls.unittests.judge', 'ast', 'json'):\n"
        "    sys.modules[name] = types.ModuleType(name)\nf = lambda x: None"
    ),
    "tracing": "import sys\nsys.settrace(lambda *a: None)\nf = lambda x: 0",
    "the end of a loop": "def f(x): raise StopIteration",
    "a class for the end of a loop": (
        "class E(StopIteration): pass\ndef f(x): raise E\nclass L:\n"
        "    def __getattr__(self, name): raise StopIteration"
    ),
    "no end of its stack": "def f(x): return f(x)",
    "a value without end": "def f(x):\n    xs = []\n    xs.append(xs)\n    return xs",
    "a value too large": "def f(x): return 'x' * (2 << 20)",
    "a thousand levels": "def f(x):\n    for _ in range(1000): x = [x]\n    return x",
    "all memory": "def f(x): return bytearray(1 << 40)",
    "a crash": "import ctypes\ndef f(x): return ctypes.string_at(0)",
}


@pytest.mark.parametrize("code", FORGED.values(), ids=FORGED.keys())
def test_code_cannot_fake_passing_tests(code: str) -> None:
    tests = (
        SQUARE + "assert all(f(i) == i * i for i in (2, 3))\nassert f(2) in [4, 5]\n"
        "assert {f(2): 1} == {4: 1}\nassert abs(f(2) - 4) < 1e-9\nassert f(2) - 4 == 0\n"
        "assert not f(2) != 4\nassert f(2) > 3\nassert [f(2)] == [4]\n"
        "assert all(map(lambda i: f(i) == i * i, range(5)))\n"
        "for square in map(f, [2, 2]):\n    assert square == 4\nassert list(map(f, [2])) == [4]\n"
        "assert not f(2) - 4\nassert not 4 - f(2)\nassert not -(f(2) - 4)\n"
        "assert not (f(2) - 4) * (f(2) + 1)\nassert not any([f(2) - 4, f(3) - 9])\n"
        "if f(2) - 4:\n    raise ValueError\nassert False if f(2) % 3 - 1 else True\n"
    )
    passed, failed, error = tried(code, tests)
    assert passed == 0, error
    assert failed == 20, error


def test_what_the_channel_refuses() -> None:
    """Messages that no honest side sends; each ends the test, none the judge."""
    frames = ["", "[]", "[1]", "{", "[" * 5000, '["returned"]', '["raised", 1, 2, 3]',
              '["returned", ["type", "eval"], []]', '["returned", 1, [[0, ["list", []]]]]',
              '["returned", ["yours", 99], []]', '["returned", {"a": 1}, []]',
              '["call", 99, ["list", []]]', '["returned", ["float", "x"], []]',
              '["returned", ["mine", "x", 5, 6], []]']  # fmt: skip
    code = f"""
import os
frames = {frames!r}
def f(i):
    data = frames[i].encode()
    for fd in range(3, 64):
        try: os.write(fd, len(data).to_bytes(4, "big") + data)
        except OSError: pass
    return True
"""
    tests = "def sent(i):\n    assert f(i) == 'nothing'\n"
    tests += "".join(f"def test_{i}():\n    sent({i})\n" for i in range(len(frames)))
    passed, failed, _ = tried(code, tests + "assert 1\n")
    assert (passed, failed) == (1, len(frames))


def test_what_does_not_end_is_out_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    function = lookup("run_python")
    assert function is not None
    monkeypatch.setattr(module, "LIMITS", Limits(seconds=0.7))
    wanted = {"ok": False, "passed": 0, "failed": 0, "share": 0, "error": "out of time"}
    for code, tests in (
        ("while True: pass", "assert True"),
        ("def f():\n    while True: pass", "assert f()"),
        ("", "while True: pass\nassert True"),
    ):
        assert function.call(code=code, tests=tests) == wanted


@pytest.mark.parametrize("side", ["subject", "judge"])
def test_unconfined_side_gives_no_verdict(monkeypatch: pytest.MonkeyPatch, side: str) -> None:
    def failing(target: str, payload: str, *, limits: Limits, way: Way, fds: Any) -> Any:
        limits = Limits(files=0) if target.endswith(side) else limits
        return confined(target, payload, limits=limits, way=way, fds=fds)

    monkeypatch.setattr(module, "confined", failing)
    with pytest.raises(CallError, match=r"`run_python`: OSError: .*Too many open files"):
        run_python("x = 1", "assert x == 1")


def test_the_same_texts_give_the_same_result() -> None:
    code = "def f(): return list({'a', 'b', 'c', 'd', 'e'})"
    tests = "first = f()\nassert first == ['a', 'b', 'c', 'd', 'e'], first"
    first = run_python(code, tests)
    assert "AssertionError: [" in first["error"] or first["ok"]
    assert run_python(code, tests) == first
