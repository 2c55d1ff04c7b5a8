"""Runs and models as players: what a run learned, under the labels that it learned it in."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import gamedsl
from gamedsl.cli import main
from gamedsl.extras import install_command, missing
from gamedsl.players import PlayerError, open_player, play
from gamedsl.players.model import load_policy
from gamedsl.policies.factory import PolicyOptions
from tests.train.conftest import DILEMMA

SETTINGS = ("model=tabular", "adapters=per_role", "start.row.defect=0.9", "steps=2",
            "start.column.defect=0.2", "lr=1e-9", "seed=5", "checkpoint_every=1")  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run that starts where it is told to, and stays there; without checksums, as older runs, so
    that its recipe can be changed by hand."""
    path = tmp_path_factory.mktemp("runs")
    (path / "dilemma.yaml").write_text(DILEMMA, encoding="utf-8")
    settings = [f"--set={setting}" for setting in SETTINGS]
    out = ["--out", str(path / "run"), "--format", "concise"]
    assert main(["train", str(path / "dilemma.yaml"), *settings, *out]) == 0
    (path / "run" / "checksums.json").unlink()
    return path


@pytest.fixture(scope="module")
def dilemma(folder):
    return gamedsl.load(folder / "dilemma.yaml")


def odds(player, game, **env) -> dict[str, float]:
    """How likely each role defects, by canonical name, whatever it is called."""
    episode = game.env(**env).reset(seed=3)
    rows = {}
    for decision in episode.decisions:
        row = dict(zip(decision.legal, player.odds(decision, episode), strict=True))
        rows[decision.role] = row["defect"]
    return rows


@pytest.mark.parametrize("spec", ["run:{}/run", "run:{}/run@1", "run:{}/run@2"])
def test_a_run_plays_what_it_was_trained_to(folder, dilemma, spec) -> None:
    player = open_player(spec.format(folder), dilemma, seed=1)
    expected = {"row": pytest.approx(0.9, abs=0.02), "column": pytest.approx(0.2, abs=0.02)}
    assert odds(player, dilemma) == expected
    assert odds(player, dilemma, run_seed=77) == expected
    episode = play(dilemma.env(), {"row": player, "column": player}, seed=1)
    assert episode.done


def test_many_decisions_are_answered_like_each(folder, dilemma) -> None:
    player, episode = open_player(f"run:{folder}/run", dilemma, seed=1), dilemma.env().reset()
    asked = [(decision, episode) for decision in (*episode.decisions, *episode.decisions[::-1])]
    each = [player.odds(decision, episode) for decision, _ in asked]
    assert player.all_odds(asked) == each
    assert each[0] == each[3] != each[1]


def test_a_temperature_is_played_too(folder, dilemma) -> None:
    path = folder / "run" / "recipe.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(yaml.safe_dump(yaml.safe_load(text) | {"temperature": 0.5}), encoding="utf-8")
    try:
        found = odds(open_player(f"run:{folder}/run", dilemma, seed=1), dilemma)["row"]
    finally:
        path.write_text(text, encoding="utf-8")
    usual = odds(open_player(f"run:{folder}/run", dilemma, seed=1), dilemma)["row"]
    assert found == pytest.approx(usual**2 / (usual**2 + (1 - usual) ** 2))


def test_seat_held_by_a_player_stays_held(folder, dilemma) -> None:
    path = folder / "run" / "recipe.yaml"
    text = path.read_text(encoding="utf-8")
    said = {"roles": {"row": {"player": "fixed:cooperate"}, "column": {"adapter": "row"}}}
    path.write_text(yaml.safe_dump(yaml.safe_load(text) | said), encoding="utf-8")
    try:
        found = odds(open_player(f"run:{folder}/run", dilemma, seed=1), dilemma)
    finally:
        path.write_text(text, encoding="utf-8")
    assert found["row"] == 0
    assert found["column"] == pytest.approx(0.5, abs=0.02)  # a decision it was not trained on


def test_an_unfinished_run_plays_its_last_checkpoint(folder, dilemma, tmp_path) -> None:
    run = tmp_path / "half"
    for name in ("run.json", "recipe.yaml", "checkpoints/step-000001.pt"):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_bytes((folder / "run" / name).read_bytes())
    found = odds(open_player(f"run:{run}", dilemma, seed=1), dilemma)
    assert found["row"] == pytest.approx(0.9, abs=0.02)
    (run / "checkpoints" / "step-000001.pt").write_bytes(b"half")
    with pytest.raises(PlayerError, match="cannot be read"):
        open_player(f"run:{run}", dilemma, seed=1)


@pytest.mark.parametrize(
    ("spec", "said", "help"),
    [
        ("run:nowhere", "is not the folder of a run", "run:FOLDER@STEP"),
        ("run:{}/run@7", "no checkpoint of step 7", "of steps 1, 2"),
        ("model:tabluar", "no model is called `tabluar`", "did you mean `tabular`"),
        ("model:smollm3", "no model is called `smollm3`", "did you mean `smollm2-135m`"),
    ],
)
def test_runs_and_models_that_are_refused(folder, dilemma, spec, said, help) -> None:
    with pytest.raises(PlayerError, match=said) as caught:
        open_player(spec.format(folder), dilemma, seed=1)
    assert help in caught.value.help


def test_a_run_of_another_game_is_refused(folder) -> None:
    with pytest.raises(PlayerError, match="trained on `dilemma` by other rules"):
        open_player(f"run:{folder}/run", gamedsl.load("stag_hunt"), seed=1)


def test_a_model_as_it_comes(dilemma) -> None:
    found = odds(open_player("model:tiny", dilemma, seed=1), dilemma)
    assert all(0 < p < 1 for p in found.values())
    assert found == odds(open_player("model:tiny", dilemma, seed=1), dilemma, run_seed=9)
    assert found != odds(open_player("model:tiny", dilemma, seed=2), dilemma)


def test_the_extra_that_a_model_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with `quantize: nf4` needs another extra than models do."""

    def refuse(*given: object, **more: object) -> None:
        raise missing("bitsandbytes", "quantized")

    monkeypatch.setattr("gamedsl.players.model.open_policy", refuse)
    with pytest.raises(PlayerError, match="bitsandbytes is not installed") as caught:
        load_policy({"player": "tiny"}, PolicyOptions())
    assert caught.value.help == install_command("quantized")
