"""`gamedsl.train` trains as the command does, says what is wrong, and stops when it is asked."""

from __future__ import annotations

import importlib.util
import signal
from pathlib import Path

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.training.runfolder import RunFolder
from tests.evaluate.serving import serving
from tests.train.conftest import DILEMMA, untimed
from tests.train.test_endpoint_budget import last_option
from tests.writing import write

SMALL = {"games": 8, "threads": 1}
SIZED = """
game: sized
params: {size: {default: 2, in: 2..9}}
roles: [row, column]
turns:
  - {role: all, choose: place, from: 1..size}
payoffs: 1 if place.row == place.column else 0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_numbers_are_those_of_the_command() -> None:
    run = gamedsl.train("stag_hunt", 3, model="tabular", seed=5, settings={**SMALL, "lr": 0.05})
    command = "train stag_hunt --steps 3 --model tabular --seed 5 --set games=8 --set threads=1"
    assert main([*command.split(), "--set", "lr=0.05", "--out", "other", "--format", "json"]) == 0
    assert untimed(run.records) == untimed(gamedsl.Run("other").records)
    assert run.settings == gamedsl.Run("other").settings
    assert run.path == Path("runs/stag_hunt-tabular-5-1")


def test_a_loaded_game_is_trained_with_its_params(folder: Path) -> None:
    file = write(folder, SIZED)
    game = gamedsl.load(file, params={"size": 3})
    run = gamedsl.train(game, 1, model="tabular", settings=SMALL)
    assert run.game.hash == game.hash
    assert gamedsl.train(file, 1, params={"size": 3}, model="tabular").game.hash == game.hash
    with pytest.raises(gamedsl.UserError, match="its params are fixed"):
        gamedsl.train(game, 1, params={"size": 2})


def test_a_game_changed_since_loading_is_refused(folder: Path) -> None:
    file = write(folder, DILEMMA)
    game = gamedsl.load(file)
    file.write_text(DILEMMA.replace("5, 0", "4, 0"), encoding="utf-8")
    with pytest.raises(gamedsl.UserError, match="has changed since `dilemma` was loaded"):
        gamedsl.train(game, 1, model="tabular")
    assert not Path("runs").exists()


def test_nested_settings_are_those_of_a_train_section() -> None:
    settings = {**SMALL, "credit": "counterfactual", "lora": {"rank": 4}}
    with pytest.warns(UserWarning, match=r"nothing reads `lora\.rank` here"):
        found = gamedsl.train("stag_hunt", 1, model="tabular", settings=settings).settings
    assert (found["credit"], found["lora"]["rank"]) == ("counterfactual", 4)


def test_nothing_is_printed_without_progress(capfd: pytest.CaptureFixture[str]) -> None:
    gamedsl.train("stag_hunt", 2, model="tabular", settings=SMALL)
    assert capfd.readouterr() == ("", "")
    gamedsl.train("stag_hunt", 2, model="tabular", settings=SMALL, progress=True)
    shown = capfd.readouterr()
    assert "step 2/2" in shown.out
    assert "reading stag_hunt" in shown.err


def test_a_setting_without_effect_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="nothing reads `warm_up.epochs` here"):
        gamedsl.train("stag_hunt", 1, model="tabular", settings={**SMALL, "warm_up.epochs": 3})


def test_wrong_settings_have_a_place_and_a_fix() -> None:
    with pytest.raises(gamedsl.CompileError) as caught:
        gamedsl.train("stag_hunt", settings={"stepps": 3}, model="tabular")
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.source.name) == ("GD0701", "settings")
    assert caught.value.fix == "did you mean `steps`?"


@pytest.mark.parametrize(
    ("request_of", "fact"),
    [
        (lambda: gamedsl.train("stag_hunt", model="tinny"), "no model is called `tinny`"),
        (lambda: gamedsl.train("stag_hunt", out="."), "exists and is not empty"),
        (lambda: gamedsl.train("individual", model="tabular"), "not a game"),
        (lambda: gamedsl.Run("nowhere"), "is not a run folder"),
    ],
)
def test_requests_that_cannot_be_met_have_a_fix(folder: Path, request_of, fact: str) -> None:
    (folder / "full").touch()
    with pytest.raises(gamedsl.UserError, match=fact) as caught:
        request_of()
    assert caught.value.fix
    assert not Path("runs").exists()


def test_missing_torch_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "torch" else found(name)
    )
    with pytest.raises(gamedsl.UserError, match="training needs torch"):
        gamedsl.train("stag_hunt")


def test_ctrl_c_leaves_a_run_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    append = RunFolder.append

    def stopping(self: RunFolder, record: dict) -> None:
        append(self, record)
        if record["event"] == "step" and record["step"] == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(RunFolder, "append", stopping)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(
        gamedsl.TrainingInterrupted, match=r"after step 2 of 4.*\n.*resume\(\)"
    ) as it:
        gamedsl.train("stag_hunt", 4, model="tabular", settings=SMALL, out="stopped")
    assert isinstance(it.value, KeyboardInterrupt)
    assert signal.getsignal(signal.SIGINT) is before
    run = it.value.run
    assert (run.step, run.finished) == (2, False)
    monkeypatch.setattr(RunFolder, "append", append)
    assert run.resume() is run
    assert (run.step, run.finished) == (4, True)
    whole = gamedsl.train("stag_hunt", 4, model="tabular", settings=SMALL, out="whole")
    assert untimed(run.records) == untimed(whole.records)


def test_resume_may_add_steps_and_nothing_else() -> None:
    run = gamedsl.train("stag_hunt", 1, model="tabular", settings=SMALL)
    before = run.odds()
    assert run.resume(3).step == 3
    assert run.odds() != before
    assert run.odds(step=1) == before
    with pytest.raises(gamedsl.UserError, match="`lr` cannot be changed"):
        run.resume(settings={"lr": 1})


def test_endpoints_need_leave_where_a_file_names_them(folder: Path) -> None:
    with serving(last_option) as served:
        named = f"endpoint:{served.url}#m"
        roles = f"train: {{roles: {{column: {{player: '{named}'}}}}}}\n"
        file = write(folder, DILEMMA + roles)
        with pytest.raises(gamedsl.CompileError, match="a file names an endpoint"):
            gamedsl.train(file, 1, model="tabular", settings=SMALL)
        gamedsl.train(file, 1, model="tabular", settings=SMALL, endpoints=[served.url])
        settings = {**SMALL, "roles.column.player": named}
        gamedsl.train("prisoners_dilemma", 1, model="tabular", settings=SMALL)
        file.write_text(DILEMMA, encoding="utf-8")
        assert gamedsl.train(file, 1, model="tabular", settings=settings).finished


def test_a_spent_budget_says_how_to_go_on(folder: Path) -> None:
    file = write(folder, DILEMMA)
    with serving(last_option) as served:
        player = {"roles.column.player": f"endpoint:{served.url}#m", "budget.calls": 20}
        with pytest.raises(gamedsl.UserError, match="budget of 20 calls") as caught:
            gamedsl.train(file, 2, model="tabular", settings={**SMALL, **player}, out="run")
        assert "step 1 is saved" in caught.value.fact
        run: gamedsl.Run = eval(caught.value.fix, {"gamedsl": gamedsl})
        assert run.finished


def test_the_callers_threads_are_put_back() -> None:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        gamedsl.train("stag_hunt", 1, model="tabular", settings={**SMALL, "threads": 1})
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
