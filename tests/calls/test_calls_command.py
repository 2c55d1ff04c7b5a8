"""`gamedsl calls` lists what the registry holds, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from gamedsl.calls import registry
from gamedsl.calls.registry import SHIPPED, function
from gamedsl.cli import main

BROKEN = EntryPoint("torn", "no_such_module_of_anybody", registry.GROUP)


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is gone after it."""
    registry.names()
    monkeypatch.setattr(registry, "_FUNCTIONS", dict(registry._FUNCTIONS))
    yield
    registry._import_others.cache_clear()


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["calls", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def register() -> None:
    @function(
        arguments={"text": "text"}, result={"words": "int"}, pure=False, version=3,
        time_limit=0.5, on_timeout={"words": 0},
    )  # fmt: skip
    def word_count(text: str) -> dict[str, Any]:
        """The number of words."""
        return {"words": len(text.split())}


def test_lists_every_function(capsys: pytest.CaptureFixture[str]) -> None:
    register()
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    heads = [line for line in out.splitlines() if line and not line.startswith(" ")]
    assert [head.partition("(")[0] for head in heads] == [*SHIPPED, "word_count"]
    assert "same_number(text: text, value: number or none) -> bool\n  Whether the one" in out
    assert out.endswith(
        "word_count(text: text) -> {words: int}\n  The number of words.\n"
        "  version 3, not pure, at most 0.5 s\n"
    )


def test_describes_one_function_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    register()
    code, out, _ = run(capsys, "word_count", "--format", "json")
    assert code == 0
    assert json.loads(out) == [
        {
            "name": "word_count",
            "usage": "word_count(text: text) -> {words: int}",
            "about": "The number of words.",
            "arguments": {"text": "text"},
            "result": "{words: int}",
            "pure": False,
            "version": 3,
            "time_limit": 0.5,
            "in_valid": False,
            "on_timeout": {"words": 0},
            "shipped": False,
            "missing_here": None,
        }
    ]


def test_unknown_function(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "same_numbr")
    assert (code, out) == (2, "")
    assert err == "gamedsl calls: there is no function `same_numbr`; did you mean `same_number`?\n"


def test_says_what_is_missing_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lame = replace(registry._FUNCTIONS["exact"], missing=lambda: "no left leg")
    monkeypatch.setitem(registry._FUNCTIONS, "exact", lame)
    assert "  cannot run on this machine: no left leg\n" in run(capsys, "exact")[1]
    found = json.loads(run(capsys, "exact", "--format", "json")[1])
    assert found[0]["missing_here"] == "no left leg"


def test_a_package_that_cannot_be_imported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda group: [BROKEN])
    registry._import_others.cache_clear()
    code, out, err = run(capsys)
    assert code == 1
    assert "`torn`: the package that brings it cannot be imported" in err
    assert out.count(" -> ") == len(SHIPPED)
