"""`gamedsl train` as a person meets it, and the folder it leaves behind."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import peft
import pytest
import torch

import gamedsl
from gamedsl.cli import main
from gamedsl.extras import install_command
from gamedsl.policies import random_models
from gamedsl.training import engine
from gamedsl.training.runfolder import open_run
from tests.train.conftest import ANEW, DILEMMA, untimed


@pytest.fixture
def game_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "dilemma.yaml"
    path.write_text(DILEMMA, encoding="utf-8")
    return path


def _train(*arguments: str) -> int:
    return main(["train", *map(str, arguments), "--format", "concise"])


def test_a_run_and_its_folder(game_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("dilemma.yaml", "--model", "tiny", "--steps", "2", "--set", "lora.rank=4")
    assert _train(*arguments, "--set", "threads=1") == 0
    out = capsys.readouterr().out
    folder = Path("runs/dilemma-tiny-0-1")
    assert f"run folder: {folder}" in out
    assert "step 2/2" in out
    assert sorted(path.name for path in folder.iterdir()) == [
        ".lock", "adapters", "checkpoints", "checksums.json", "game", "labels.json",
        "metrics.jsonl", "recipe.yaml", "report.html", "run.json", "transcripts",
    ]  # fmt: skip
    assert (folder / "game" / "dilemma.yaml").read_text() == DILEMMA
    info = json.loads((folder / "run.json").read_text())
    assert info["file"] == str(game_file.resolve())
    assert len(info["hash"]) == 64
    assert {"python", "torch", "numpy", "transformers", "peft"} <= set(info["versions"])

    run = open_run(folder)
    assert run.settings()["lora"]["rank"] == 4
    records = run.records()
    assert [(r["event"], r["step"]) for r in records] == [
        ("start", 0), ("step", 1), ("step", 2), ("end", 2)
    ]  # fmt: skip
    assert records[-1]["summary"] in out
    for record in records[1:3]:
        assert record["games"] == 128
        assert record["sequences"] == 256
        assert record["prompts"] == 2
    lines = (folder / "transcripts" / "step-000002.jsonl").read_text().splitlines()
    played = [json.loads(line) for line in lines]
    assert sum(one["games"] for one in played) == 128
    assert played[0]["labels"]["labels"] == run.labels()

    assert _train(*arguments, "--set", "threads=1") == 0
    assert untimed(open_run(Path("runs/dilemma-tiny-0-2")).records()) == untimed(records)


def test_copied_game_compiles_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ("--set", "games=16", "--param", "objects=8", "--param", "words=4")
    assert _train("lewis_signaling", "--model", "tabular", "--steps", "1", *small) == 0
    copy = Path("runs/lewis_signaling-tabular-0-1/game/lewis_signaling.yaml")
    params = {"objects": 8, "words": 4}
    assert gamedsl.load(copy, params=params).hash == open_run(copy.parents[1]).info()["hash"]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft's own
def test_adapters_load_in_plain_peft(game_file: Path) -> None:
    assert _train("dilemma.yaml", "--model", "tiny", "--steps", "2", "--out", "run") == 0
    base, _ = random_models.build_tiny()
    model = peft.PeftModel.from_pretrained(base, "run/adapters/shared")
    weights = [p for name, p in model.named_parameters() if "lora_B" in name]
    assert weights
    assert any(weight.abs().sum() > 0 for weight in weights)


def test_dry_run_trains_nothing(game_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _train("dilemma.yaml", "--model", "tiny", "--dry-run") == 0
    out = capsys.readouterr().out
    assert not Path("runs").exists()
    assert "trained parameters  74,752" in out
    assert "256 decisions" in out
    assert "nothing was trained" in out
    assert "(cooperate)" not in out


def test_dry_run_fits_on_a_screen(game_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("dilemma.yaml", "--model", "tabular", "--set", "clip=0.3", "--dry-run")
    assert _train(*asked) == 0
    brief = capsys.readouterr().out
    assert len(brief.splitlines()) <= 30
    assert [line.split()[0] for line in brief.splitlines()[:3]] == ["game", "model", "time"]
    settings = brief.partition("train:\n")[2].partition("\n\n")[0]
    assert settings.split() == ["model:", "tabular", "clip:", "0.3"]
    assert _train(*asked, "--verbose") == 0
    whole = capsys.readouterr().out
    assert "(cooperate)" in whole
    assert "  temperature: 1.0" in whole
    assert "more lines" not in whole


def test_verbose_is_for_dry_runs(game_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _train("dilemma.yaml", "--model", "tabular", "--verbose") == 2
    assert "--dry-run --verbose" in capsys.readouterr().err


def test_dry_run_counts_replays(game_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    credit = ("--set", "credit=counterfactual", "--set", "replays=8")
    assert _train("dilemma.yaml", "--model", "tabular", "--dry-run", *credit) == 0
    out = capsys.readouterr().out
    assert "other choices a step, each on at most 8 courses of play, about " in out


def test_wrong_settings_are_shown_and_nothing_starts(game_file: Path, capsys) -> None:
    assert _train("dilemma.yaml", "--model", "tiny", "--set", "stepps=3") == 1
    assert "GD0701" in capsys.readouterr().err
    assert not Path("runs").exists()


def test_missing_file_to_imitate_is_reported(game_file: Path, capsys) -> None:
    for run in ([], ["--dry-run"]):
        asked = ["train", str(game_file), "--set", "warm_up.expert=file:nowhere.jsonl", *run]
        assert main(asked) == 1
        printed = capsys.readouterr().err
        assert "error[GD0711]: there is no file `nowhere.jsonl` to imitate" in printed
        assert "warm_up.expert=file:nowhere.jsonl\n" in printed


def test_missing_torch(game_file: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "torch" else found(name)
    )
    assert _train("dilemma.yaml") == 2
    err = capsys.readouterr().err
    assert "training needs torch" in err
    assert install_command("train") in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a game, or a run to go on with"),
        (("dilemma.yaml", "--param", "x"), "not of the form name=value"),
        (("dilemma.yaml", "--set", "lr"), "not of the form key=value"),
        (("--resume", "nowhere"), "is not a run folder"),
        (("--resume", "run", "--set", "lr=1"), "--set cannot be changed"),
        (("dilemma.yaml", "--model", "tinny"), "did you mean `tiny`?"),
        (("majority", "--model", "tabular"), "there is no file"),
    ],
)
def test_requests_that_cannot_be_meant(game_file: Path, capsys, arguments, said: str) -> None:
    assert _train(*arguments) in (1, 2)
    assert said in capsys.readouterr().err


def test_full_folder_is_refused_before_a_model(game_file: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(engine, "open_policy", lambda *_, **__: pytest.fail("a model is loaded"))
    assert _train("dilemma.yaml", "--model", "tiny", "--out", ".") == 2
    assert "exists and is not empty" in capsys.readouterr().err


def test_a_changed_game_is_not_resumed(game_file: Path, capsys) -> None:
    assert _train("dilemma.yaml", "--model", "tabular", "--steps", "2", "--out", "run") == 0
    game_file.write_text(DILEMMA.replace("3, 3", "4, 4"))
    assert _train("--resume", "run", "--steps", "3") == 2
    assert "its file has changed" in capsys.readouterr().err
    game_file.write_text(DILEMMA + "\n# nothing but a comment\n")
    assert _train("--resume", "run", "--steps", "3") == 0
    assert open_run(Path("run")).records()[-1]["step"] == 3


def test_without_a_file_nothing_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert _train() == 2
    assert capsys.readouterr().err.startswith("gamedsl train: name a game")


def test_fewer_steps_than_are_done_are_refused(
    game_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _train("dilemma.yaml", "--model", "tabular", "--steps", "3", "--out", "run") == 0
    before = Path("run/recipe.yaml").read_text()
    for request in (("--steps", "1"), ("--set", "steps=2")):
        assert _train("--resume", "run", *request) == 2
        assert "and step 3 is done" in capsys.readouterr().err
    assert Path("run/recipe.yaml").read_text() == before
    assert _train("--resume", "run", "--steps", "3") == 0


def test_labels_drawn_anew_have_no_book(game_file: Path) -> None:
    game_file.write_text(ANEW)
    assert _train("dilemma.yaml", "--model", "tabular", "--steps", "1", "--out", "run") == 0
    assert not Path("run/labels.json").exists()


def test_checkpoints_are_safe_to_load(game_file: Path) -> None:
    assert _train("dilemma.yaml", "--model", "tabular", "--steps", "1", "--out", "run") == 0
    (path,) = [p for p in Path("run/checkpoints").iterdir() if "000001" in p.name]
    content = torch.load(path, weights_only=True)
    assert content["step"] == 1
    assert content["format"] == 3


def test_warning_is_not_repeated_by_resume(
    game_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game_file.write_text(DILEMMA + "train: {project: {fit: 0.5}}\n", encoding="utf-8")
    started = ("dilemma.yaml", "--model", "tabular", "--steps", "1", "--out", "run")
    assert _train(*started, "--set", "pool.size=4") == 0
    err = capsys.readouterr().err
    assert err.count("GD0716") == 2
    assert err.count("nothing reads `project.fit`") == err.count("nothing reads `pool.size`") == 1
    assert _train("--resume", "run", "--steps", "2") == 0
    assert "pool.size" not in capsys.readouterr().err


def test_equilibrium_moving_rewards_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the plays that show it, and before a model is loaded."""
    path = tmp_path / "game.yaml"
    path.write_text("game: team\nextends: prisoners_dilemma\nrewards: shared\n")
    asked = ["train", str(path), "--model", "tabular", "--dry-run", "--set", "method=project"]
    assert main(asked) == 1
    assert "error[GD0706]: `project` holds equilibria" in (said := capsys.readouterr().err)
    assert "`row` has payoff 5, reward 5/2" in said
    assert main([*asked, "--set", "allow=[split]"]) == 0
    assert main([*asked[:-1], "method=grpo"]) == 0
    path.write_text("game: own\nextends: matching_pennies\nrewards: zero_sum\n")
    assert main(asked) == 0


def test_summary_states_each_roles_contribution(
    game_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _train("dilemma.yaml", "--model", "tabular", "--steps", "2", "--out", "run") == 0
    found = open_run(Path("run")).records()[-1]["contributions"]
    ranked = sorted(found.items(), key=lambda one: -one[1])
    told = ", ".join(f"{role} {value:+.2f}" for role, value in ranked)
    assert f"to what all earn, over random play: {told}." in capsys.readouterr().out
