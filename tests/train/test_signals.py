"""The mapping of a signalling game: what the words mean, how much they tell, what collides."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.training.monitors import monitors_of
from gamedsl.training.monitors.signals import described, information
from gamedsl.training.monitors.text import sentences
from tests.train.conftest import recipe_of, run_of


def test_information_in_bits() -> None:
    shares = {"a": 0.5, "b": 0.25, "c": 0.25}
    perfect = {"a": {"x": 1.0}, "b": {"y": 1.0}, "c": {"z": 1.0}}
    assert information(shares, perfect) == pytest.approx(1.5)
    assert information(shares, {kind: {"x": 0.5, "y": 0.5} for kind in shares}) == 0
    partial = {"a": {"x": 1.0}, "b": {"y": 1.0}, "c": {"y": 1.0}}
    assert information(shares, partial) == pytest.approx(1.0)


def test_collisions_are_types_with_one_likeliest_word() -> None:
    shares = dict.fromkeys("abc", 1 / 3)
    told = described(shares, {"a": {"x": 0.9, "y": 0.1}, "b": {"x": 0.6, "y": 0.4}, "c": {"y": 1}})
    assert told["collisions"] == 2
    assert told["types"]["b"]["probs"] == {"x": 0.6, "y": 0.4}
    assert told["information"] < told["entropy"] == pytest.approx(1.585, abs=1e-3)


def test_the_likeliest_of_very_many_words_is_kept() -> None:
    told = described({"a": 1.0}, {"a": {f"w{n}": 1 / 300 for n in range(300)}})
    assert told["types"]["a"]["probs"] == {"w0": 0.0033}
    (line,) = sentences(None, [{"mapping": {"sender:word": told}}])
    assert line.endswith(": a is w0 0%.")


def test_the_words_of_many_types_are_said() -> None:
    told = described(
        {f"t{n}": 1 / 9 for n in range(9)}, {f"t{n}": {f"w{n}": 0.9, "w": 0.1} for n in range(9)}
    )
    (line,) = sentences(None, [{"mapping": {"sender:word": told}}])
    pairs = ", ".join(f"t{n} w{n}" for n in range(9))
    assert line.startswith("sender:word tells ")
    assert line.endswith(f" bits: {pairs}.")


def test_rounds_may_have_different_actions() -> None:
    rows = {"first round": {"probs": {"stay": 0.5, "go": 0.5}}, "go": {"probs": {"go": 1.0}}}
    (line,) = sentences(None, [{"after": {"left:move": rows}}])
    assert line == "left:move plays stay 50% at first, 0% after (go)."


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("lewis_signaling", ["mapping"]), ("advice", ["mapping"]), ("kuhn_poker", []),
        ("tiny_hanabi", []), ("repeated_prisoners_dilemma", ["after"]), ("stag_hunt", []),
        ("information_cascade", []),
    ],
)  # fmt: skip
def test_which_games_have_what_to_tell(name: str, fields: list[str]) -> None:
    """A bet in poker is paid for, and no word; words that follow no draw stand for nothing."""
    assert [one.field for one in monitors_of(gamedsl.load(name).ir)] == fields


def test_senders_that_learn_tell_more(tmp_path: Path) -> None:
    """From nearly nothing to the whole type: what both see of the scene is no part of it."""
    game = gamedsl.load("lewis_signaling", {"words": 2, "objects": 2, "shown": 2})
    recipe = recipe_of(game, steps=25, games=256, lr=5e-4, group_by="deal")
    run, _ = run_of(game, recipe, tmp_path / "run")
    first, *_, last, _ = run.records()
    assert list(first["mapping"]) == ["sender:word"]
    before, after = first["mapping"]["sender:word"], last["mapping"]["sender:word"]
    assert list(after["types"]) == ["anchor", "apple"]
    assert sum(row["share"] for row in after["types"].values()) == pytest.approx(1)
    assert before["information"] == pytest.approx(0, abs=1e-6)
    assert after["information"] > 0.9
    assert after["entropy"] == pytest.approx(1, abs=0.01)
    assert (before["collisions"], after["collisions"]) == (2, 0)
