"""Settings: precedence, types, words, and the way there and back."""

from __future__ import annotations

from dataclasses import is_dataclass
from fractions import Fraction

import pytest
import yaml

from gamedsl.diagnostics import Problems
from gamedsl.recipe.keys import KEYS
from gamedsl.recipe.model import Start
from gamedsl.recipe.resolve import override, parse_overrides, resolve
from tests.train.conftest import DILEMMA, OFFER, recipe_of


def _problems(game, *texts: str) -> list[tuple[str, str, str]]:
    problems = Problems()
    resolve(game.ir, parse_overrides(texts), problems)
    return [(d.code, d.span.text, d.help) for d in problems.sorted()]


def test_defaults_then_file_then_command_line(compiled) -> None:
    game = compiled(DILEMMA + "train: {steps: 7, games: 64, lora: {rank: 4}}\n")
    problems = Problems()
    texts = ["games=32", "lora.layers=3", "betas=[0, 0.99]", "lr=1e-3", "games=16"]
    recipe = resolve(game.ir, parse_overrides(texts), problems)
    assert not problems.found
    assert (recipe.steps, recipe.games, recipe.seed) == (7, 16, 0)
    assert (recipe.lora.rank, recipe.lora.layers, recipe.lora.targets) == (4, 3, None)
    assert (recipe.betas, recipe.lr) == ((0.0, 0.99), 0.001)


def test_every_key_is_a_field_and_every_default_is_right(compiled) -> None:
    game = compiled(DILEMMA)
    problems = Problems()
    given = [override(key.name, key.default) for key in KEYS if key.kind != "map"]
    recipe = resolve(game.ir, given, problems)
    assert not problems.found
    assert recipe == resolve(game.ir, (), problems)
    groups = {name for name, part in vars(recipe).items() if is_dataclass(part)}
    inside = {f"{group}.{name}" for group in groups for name in vars(getattr(recipe, group))}
    fields = {*vars(recipe), *inside} - groups
    assert {key.name for key in KEYS} == fields


def test_there_and_back(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(
        game, lora__layers=2, threads=3, lr=3e-4, start={"responder": {"answer": {"accept": 0.1}}}
    )
    assert recipe.start == (Start("responder", "answer", (("accept", 0.1),)),)
    read = yaml.safe_load(yaml.safe_dump(recipe.as_dict()))
    problems = Problems()
    again = resolve(game.ir, [override(key, value) for key, value in read.items()], problems)
    assert not problems.found
    assert again == recipe


def test_the_command_line_is_a_source(compiled) -> None:
    game = compiled(DILEMMA)
    heads = dict.fromkeys(key.name.partition(".")[0] for key in KEYS)
    assert _problems(game, "lerning_rate=3") == [
        ("GD0701", "3", f"the settings are {', '.join(heads)}")
    ]
    assert _problems(game, "step=3") == [("GD0701", "3", "did you mean `steps`?")]
    assert _problems(game, "lr_schedule=linaer") == [("GD0702", "linaer", "did you mean `linear`?")]
    assert _problems(game, "lora.rank=0") == [("GD0703", "0", "the default is `16`")]
    assert _problems(game, "start.row.coperate=0.5") == [
        ("GD0705", "0.5", "did you mean `cooperate`?")
    ]
    assert _problems(game, "start={row: {defect: 0.2}}") == []


def test_settings_that_nothing_reads_are_told(compiled) -> None:
    """Of a file where the file decides, and of the command line whoever decides."""
    plain = compiled(DILEMMA)
    given = compiled(DILEMMA + "train: {method: project, project: {eta: [0.5, 0.1]}, games: 64}\n")
    wrong = compiled(DILEMMA + "train: {project: {eta: [0.5, 0.1]}}\n")
    for game, texts, unread in (
        (plain, ["clip=0.1"], []),
        (plain, ["clip=0.1", "method=project"], ["0.1"]),
        (plain, ["clip=0.2", "method=project"], []),
        (plain, ["pool.size=3"], ["3"]),
        (plain, ["pool.size=3", "opponents={self: 1, pool: 1}"], []),
        (plain, ["expert.keep=0.5", "magnet.every=3"], ["0.5", "3"]),
        (plain, ["baseline=none", "estimator=tree"], ["none"]),
        (given, [], []),
        (given, ["method=grpo"], []),
        (given, ["method=grpo", "magnet.every=3"], ["3"]),
        (given, ["clip=0.1"], ["0.1"]),
        (wrong, [], ["[0.5, 0.1]"]),
        (wrong, ["games=64"], ["[0.5, 0.1]"]),
        (wrong, ["method=magnet"], []),
    ):
        problems = Problems()
        resolve(game.ir, parse_overrides(texts), problems)
        assert [(d.code, d.span.text) for d in problems.found] == [("GD0716", t) for t in unread]
        assert not problems.errors


@pytest.mark.parametrize("text", ["lr", "=3", "lr="])
def test_what_sets_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not of the form key=value"):
        parse_overrides([text])


def test_numbers_are_exact_until_they_are_floats(compiled) -> None:
    assert override("lr", 0.1).value == Fraction(1, 10)
    assert recipe_of(compiled(DILEMMA), lr=0.1).lr == 0.1
