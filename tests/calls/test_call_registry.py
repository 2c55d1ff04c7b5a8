"""The registry: what may enter it, what a call checks, keeps and refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from gamedsl.calls import registry
from gamedsl.calls.registry import CallError, Function, function, lookup
from gamedsl.calls.sandbox.report import sandbox_report
from gamedsl.calls.types import ListOf, OrNone, Type, WrongType, checked, type_text


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is gone after it."""
    registry.names()
    monkeypatch.setattr(registry, "_FUNCTIONS", dict(registry._FUNCTIONS))
    yield
    registry._import_others.cache_clear()


def registered(body: Any, **settings: Any) -> Function:
    defaults: dict[str, Any] = {
        "arguments": {"x": "any"}, "result": OrNone("bool"), "pure": True, "version": 1,
        "time_limit": 1, "on_timeout": None,
    }  # fmt: skip
    function(**{**defaults, **settings})(body)
    found = lookup(body.__name__)
    assert found is not None
    return found


GOOD: list[tuple[Type, Any, Any]] = [
    ("text", "a", "a"),
    ("int", 3, 3),
    ("number", Fraction(1, 2), Fraction(1, 2)),
    ("number", 3, 3),
    ("bool", False, False),
    (("low", "high"), "low", "low"),
    (OrNone("int"), None, None),
    (ListOf("int"), [1, 2], (1, 2)),
    ({"a": "int", "b": OrNone("text")}, {"b": None, "a": 1}, {"a": 1, "b": None}),
    ("any", {"a": (1, frozenset({"b"}))}, {"a": (1, frozenset({"b"}))}),
]
BAD: list[tuple[Type, Any, str]] = [
    ("text", 1, "it is 1, not text"),
    ("int", True, "it is True, not int"),
    ("int", Fraction(1, 2), "not int"),
    ("number", 0.5, "it is 0.5, not number"),
    ("number", True, "not number"),
    ("bool", 1, "not bool"),
    (("low", "high"), "mid", "it is 'mid', not one of low, high"),
    (OrNone("int"), "x", "not int"),
    (ListOf("int"), [1, "x"], r"\[1\] is 'x', not int"),
    (ListOf("int"), "ab", "not list of int"),
    ({"a": ListOf("int")}, {"a": [1, None]}, r"a\[1\] is None, not int"),
    ({"a": "int"}, {"a": 1, "b": 2}, "not {a: int}"),
    ("any", 0.5, "it holds 0.5, which no game value is"),
    ("any", [object()], "which no game value is"),
]


@pytest.mark.parametrize(("type", "value", "canonical"), GOOD)
def test_values_of_a_type(type: Type, value: Any, canonical: Any) -> None:
    assert checked(type, value) == canonical


@pytest.mark.parametrize(("type", "value", "said"), BAD)
def test_values_of_another_type(type: Type, value: Any, said: str) -> None:
    with pytest.raises(WrongType, match=said):
        checked(type, value)


def test_a_value_too_deep() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(WrongType, match="levels deep"):
        checked("any", deep)


def test_types_in_words() -> None:
    assert type_text({"ok": "bool", "of": ListOf(OrNone("int")), "size": ("s", "l")}) == (
        "{ok: bool, of: list of int or none, size: one of s, l}"
    )


def test_pure_function_is_cached_by_arguments() -> None:
    calls: list[Any] = []

    def echo(x: Any) -> Any:
        """Give it back."""
        calls.append(x)
        return {"x": [str(x)]}

    kept = registered(echo, result={"x": ListOf("text")}, on_timeout={"x": []})
    first = kept.call(x=1)
    assert first == {"x": ("1",)}
    first["x"] = "spoiled"
    assert kept.call(x=1) == {"x": ("1",)}
    assert kept.call(x=True) == {"x": ("True",)}
    assert kept.call(x="1") == {"x": ("1",)}
    assert calls == [1, True, "1"]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(registry, "KEPT", 2)

    def seen(x: int) -> None:
        """Count."""
        calls.append(x)

    kept = registered(seen, arguments={"x": "int"}, result=OrNone("int"))
    for x in (1, 2, 1, 3, 1, 2):
        kept.call(x=x)
    assert calls == [1, 2, 3, 2]


def test_kept_arguments_are_bounded_in_size(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(registry, "KEPT_CHARACTERS", 1_000)

    def measured(x: str) -> None:
        """Count."""
        calls.append(len(x))

    kept = registered(measured, arguments={"x": "text"}, result=OrNone("int"))
    for size in (400, 450, 400, 2_000, 2_000, 400, 300, 400, 450):
        kept.call(x="x" * size)
    assert calls == [400, 450, 2_000, 2_000, 400, 300, 450]


def test_an_impure_function_is_called_each_time() -> None:
    calls: list[int] = []

    def tick(x: int) -> int:
        """Count."""
        calls.append(x)
        return len(calls)

    found = registered(tick, result="int", on_timeout=0, pure=False)
    assert [found.call(x=1), found.call(x=1)] == [1, 2]


def test_time_out_result_is_not_cached() -> None:
    calls: list[int] = []

    def slow(x: int) -> int:
        """Once too slow."""
        calls.append(x)
        if len(calls) == 1:
            raise TimeoutError
        return 5

    found = registered(slow, result="int", on_timeout=-1)
    assert [found.call(x=1), found.call(x=1), found.call(x=1)] == [-1, 5, 5]
    assert len(calls) == 2


def test_faults_of_a_function_are_said() -> None:
    def wrong(x: Any) -> Any:
        """Wrong, or broken."""
        if x is None:
            raise KeyError("gone")
        return x

    found = registered(wrong, result={"n": "int"}, on_timeout={"n": 0})
    with pytest.raises(CallError, match=r"`wrong`: gave a wrong result: n is 'x', not int"):
        found.call(x={"n": "x"})
    with pytest.raises(CallError, match="`wrong`: failed: KeyError: 'gone'") as caught:
        found.call(x=None)
    assert (caught.value.name, caught.value.reason) == ("wrong", "failed: KeyError: 'gone'")
    with pytest.raises(CallError, match="takes x, not y"):
        found.call(y=1)
    with pytest.raises(CallError, match=r"a wrong argument: it holds 0\.5"):
        found.call(x=0.5)


def test_what_may_not_be_registered() -> None:
    def plain(x: Any) -> Any:
        """A function."""

    def exact(x: Any) -> Any:
        """A name that is taken."""

    def silent(x: Any) -> Any:
        pass

    for body, settings, said in [
        (exact, {}, "already"),
        (silent, {}, "docstring"),
        (plain, {"arguments": {"y": "any"}}, "parameters"),
        (plain, {"version": 0}, "version"),
        (plain, {"time_limit": 0}, "time limit"),
        (plain, {"result": "int", "on_timeout": None}, "time out"),
        (plain, {"result": "any"}, "any type"),
        (plain, {"result": {"a": ListOf(OrNone("any"))}, "on_timeout": {"a": []}}, "any type"),
    ]:
        with pytest.raises(ValueError, match=said):
            registered(body, **settings)


def test_functions_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def brought(x: Any) -> Any:
        """Of another package."""

    class Entry:
        name = "theirs"

        @staticmethod
        def load() -> None:
            registered_here()

    def registered_here() -> None:
        function(
            arguments={"x": "any"},
            result="bool",
            pure=True,
            version=1,
            time_limit=1,
            on_timeout=False,
        )(brought)

    asked: list[str] = []

    def entries(group: str) -> list[Any]:
        asked.append(group)
        return [Entry]

    monkeypatch.setattr(metadata, "entry_points", entries)
    registry._import_others.cache_clear()
    assert lookup("exact") is not None
    assert asked == []
    assert lookup("brought") is not None
    assert asked == ["gamedsl.calls"]
    assert lookup("nowhere") is None


def test_a_package_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("theirs", "no_such_module_anywhere", "gamedsl.calls")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    registry._import_others.cache_clear()
    with pytest.raises(CallError, match=r"`theirs`: .*cannot be imported"):
        lookup("brought")


def test_the_page_of_calls_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "calls.md"
    own, used, sandboxed = re.findall(
        r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
    )
    scope: dict[str, Any] = {}
    exec(own, scope)
    assert capsys.readouterr().out == "{'ok': True, 'words': 3}\n"
    exec(used, scope)
    assert capsys.readouterr().out == "length: ok true, words 7.\n"
    if sandbox_report().way is None:
        with pytest.raises(CallError, match="cannot be confined here"):
            exec(sandboxed, scope)
    else:
        exec(sandboxed, scope)
        assert capsys.readouterr().out.strip() in page.read_text(encoding="utf-8")


def test_the_declarations_of_what_is_shipped() -> None:
    usages = {name: found.usage for name in registry.names() if (found := lookup(name))}
    assert list(usages)[: len(registry.SHIPPED)] == list(registry.SHIPPED)
    assert usages["exact"] == "exact(text: text, value: any) -> bool"
    assert usages["arithmetic"] == "arithmetic(text: text) -> {ok: bool, value: number or none}"
    assert usages["same_number"] == "same_number(text: text, value: number or none) -> bool"
    assert usages["names"] == "names(text: text, name: text) -> bool"
    assert usages["matches"] == "matches(text: text, pattern: text) -> bool"
