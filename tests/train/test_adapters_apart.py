"""Adapters are never mixed up: two that are paid for the opposite come to prefer the opposite, each
its own, in the run and from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest

from gamedsl.players.model import load_policy
from gamedsl.players.model_replies import Asked, replies
from gamedsl.policies.factory import PolicyOptions
from gamedsl.policies.generation import Writing
from gamedsl.runtime import Game
from gamedsl.training.runfolder import RunFolder
from gamedsl.training.sessions import writer
from tests.train import in_words
from tests.train.in_words import run_of

OPPOSITES = """
game: opposites
roles: [ann, bob]
turns:
  - {role: all, say: word, max_tokens: 8}
payoffs: 0
on_invalid: {ann: {then: skip, pay: -1}, bob: {then: skip, pay: 1}}
train: {adapters: per_role}
"""
"""Ann is paid for words that end, bob for words without an end."""
ASKED = 60
OWN = {"ann": "ann", "bob": "bob"}
SWAPPED = {"ann": "bob", "bob": "ann"}

recipe_of = partial(
    in_words.recipe_of, steps=10, games=40, group_size=40, lr=0.02, lr_schedule="constant"
)


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Game:
    import gamedsl

    path = tmp_path_factory.mktemp("game") / "opposites.yaml"
    path.write_text(OPPOSITES, encoding="utf-8")
    return gamedsl.load(path)


@pytest.fixture(scope="module")
def trained(game: Game, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, Writing]:
    return run_of(game, recipe_of(game), tmp_path_factory.mktemp("runs") / "run")


def habits(game: Game, policy: Writing, adapters: Mapping[str, str]) -> dict[str, float]:
    """How often the words of each role end, where they are those of an adapter."""
    found = {}
    for decision in game.env(tokenizer=policy.tokenizer).reset(seed=1).decisions:
        asked = [Asked(decision, adapters[decision.seat], seed) for seed in range(ASKED)]
        said = [one.written for one in replies(policy, asked, 1.0)]
        ended = [one for one in said if one is not None and one.finish == "stop"]
        found[decision.seat] = len(ended) / ASKED
    return found


def each_has_its_own(found: Mapping[str, float]) -> bool:
    return found["ann"] > 0.4 and found["bob"] < 0.1


def test_adapters_learn_their_roles_reward(game: Game, trained: tuple[RunFolder, Writing]) -> None:
    _, policy = trained
    found = habits(game, policy, OWN)
    assert each_has_its_own(found), found


def test_swapped_adapters_have_each_others_preferences(
    game: Game, trained: tuple[RunFolder, Writing]
) -> None:
    _, policy = trained
    found = habits(game, policy, SWAPPED)
    other = {SWAPPED[seat]: value for seat, value in found.items()}
    assert not each_has_its_own(found), found
    assert each_has_its_own(other), found


def test_saved_adapters_are_those_of_their_names(
    game: Game, trained: tuple[RunFolder, Writing]
) -> None:
    folder, _ = trained
    for names, own in ((OWN, True), (SWAPPED, False)):
        files = {role: folder.path / "adapters" / name for role, name in names.items()}
        options = PolicyOptions(lora=recipe_of(game).lora)
        policy = writer(load_policy(dict.fromkeys(files, "tiny"), options, files))
        found = habits(game, policy, OWN)
        assert each_has_its_own(found) == own, found
