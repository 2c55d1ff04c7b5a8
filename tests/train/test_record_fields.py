"""The table of record fields: what runs write, and what others read of them, stands in it."""

from __future__ import annotations

import ast
from importlib import import_module
from inspect import getsource
from pathlib import Path

import pytest

from gamedsl.runs.record_fields import FIELDS, shape_of
from tests.train.conftest import DILEMMA, recipe_of, run_of

READERS = (
    "gamedsl.training.screen", "gamedsl.training.summary", "gamedsl.training.monitors.text",
    "gamedsl.view.report.page", "gamedsl.view.report.sections", "gamedsl.view.report.policy",
    "gamedsl.view.report.comparison", "gamedsl.view.report.portrait",
)  # fmt: skip
EPOCHS = {"epoch", "held_out_loss", "held_out_kl", "held_out_accuracy"}
"""Fields of the epochs of a warm-up, which observers hear of."""
TRANSCRIPTS = {"rewards", "after_step", "share"}
"""Fields of the last line of a transcript, which the report reads too."""
RECORDS = {"record", "last", "first", "start", "end", "_last"}
"""The names under which readers have records."""


def _is_record(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):  # `(run.end or {})`
        return _is_record(node.values[0])
    name = getattr(node, "id", None) or getattr(node, "attr", None)
    return name in RECORDS


def _read_fields(module: str) -> set[str]:
    """The constant keys by which a module reads records."""
    found = set()
    for node in ast.walk(ast.parse(getsource(import_module(module)))):
        match node:
            case ast.Call(
                func=ast.Attribute(value=of, attr="get"), args=[ast.Constant(value=str(key)), *_]
            ) if _is_record(of):
                found.add(key)
            case ast.Subscript(value=of, slice=ast.Constant(value=str(key))) if _is_record(of):
                found.add(key)
            case ast.Compare(left=ast.Constant(value=str(key)), comparators=[of]) if _is_record(of):
                found.add(key)
            case _:
                pass
    return found


@pytest.mark.parametrize("module", READERS)
def test_readers_read_fields_of_the_table(module: str) -> None:
    assert _read_fields(module) <= {row.name for row in FIELDS} | EPOCHS | TRANSCRIPTS


def test_fields_that_are_read_are_found() -> None:
    assert {"reward", "seconds", "policy"} <= _read_fields("gamedsl.training.screen")


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"method": "magnet"}, {"method": "project"}, {"method": "expert"},
        {"contributions": "on"}, {"opponents": {"self": 1, "pool": 1}, "pool__every": 1},
        {"learn__who": "rotate", "learn__every": 1, "adapters": "per_role"},
        {"warm_up__expert": "random"}, {"start": {"row": {"cooperate": 0.9}}},
    ],
)  # fmt: skip
def test_runs_write_fields_of_the_table(compiled, tmp_path: Path, settings) -> None:
    game = compiled(DILEMMA)
    run, _ = run_of(game, recipe_of(game, steps=2, games=8, **settings), tmp_path / "run")
    start, step, *_ = run.records()
    assert {"policy", "entropy", "adapters"} <= set(start)
    assert {"reward", "payoff", "loss", "seconds"} <= set(step)
    assert set(step) <= shape_of("step").optional.keys()


def test_no_field_has_two_rows() -> None:
    names = [row.name for row in FIELDS]
    assert len(set(names)) == len(names)
