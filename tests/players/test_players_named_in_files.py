"""A file that was handed on names players: it runs no code, and has no stranger's server called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import gamedsl
from gamedsl.cli import main
from gamedsl.players import PlayerError, open_player
from gamedsl.policies.budget import Budget
from tests.evaluate.serving import Body, Reply, Served, options_in, serving

GAME = """
game: verdicts
roles: [ann, bob]
referees: [judge]
turns:
  - {{role: all, choose: side, from: [left, right]}}
  - {{role: judge, choose: verdict, from: roles}}
payoffs: 1 if verdict == me else 0
labels: masked
train: {{model: tabular, roles: {{{role}: {{player: "{player}"}}}}}}
"""
CODE = "open({mark!r}, 'w').close()\ndef me(decision, episode):\n    return decision.legal[0]\n"
DILEMMA = ["prisoners_dilemma", "--model", "tabular", "--steps", "1", "--format", "json"]


def _first_option(number: int, body: Body) -> Reply:
    return Reply(min(options_in(body)))


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    with serving(_first_option) as served:
        yield served


def _game(folder: Path, player: str, role: str = "judge") -> str:
    file = folder / "verdicts.yaml"
    file.write_text(GAME.format(player=player, role=role), encoding="utf-8")
    return str(file)


def _run_with(folder: Path, player: str) -> str:
    """A run whose recipe was edited by whoever handed it on."""
    run = folder / "run"
    assert main(["train", *DILEMMA, "--out", str(run)]) == 0
    recipe = yaml.safe_load((run / "recipe.yaml").read_text("utf-8"))
    recipe["roles"] = {"column": {"player": player}}
    (run / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    (run / "checksums.json").unlink()
    return str(run)


def test_a_game_calls_no_endpoint_by_itself(
    tmp_path: Path, served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _game(tmp_path, f"endpoint:{served.url}#m", role="bob")
    train = ["train", file, "--steps", "1", "--dry-run"]
    assert main(train) == 1
    assert f"--allow-endpoint {served.url}" in capsys.readouterr().err
    assert served.asked == []
    assert main(["eval", "random", "--game", _game(tmp_path, f"endpoint:{served.url}#m")]) == 2
    assert f"--allow-endpoint {served.url}" in capsys.readouterr().err
    assert served.asked == []


def test_leave_is_given_for_an_address(tmp_path: Path, served: Served) -> None:
    evaluated = ["eval", "random", "--games", "2", "--game"]
    file = _game(tmp_path, f"endpoint:{served.url}#m")
    assert main([*evaluated, file, "--allow-endpoint", "http://localhost:1/v1"]) == 2
    assert served.asked == []
    assert main([*evaluated, file, "--allow-endpoint", served.url]) == 0
    assert served.asked


def test_a_command_line_needs_no_leave(tmp_path: Path, served: Served) -> None:
    player = f"roles.column.player=endpoint:{served.url}#m"
    train = ["train", *DILEMMA, "--set", "games=4", "--set", player]
    assert main([*train, "--out", str(tmp_path / "run")]) == 0
    assert served.asked


def test_a_run_calls_no_endpoint_by_itself(
    tmp_path: Path, served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _run_with(tmp_path, f"endpoint:{served.url}#m")
    capsys.readouterr()
    assert main(["eval", run, "--game", "prisoners_dilemma", "--method", "sampled"]) == 2
    assert f"--allow-endpoint {served.url}" in capsys.readouterr().err
    assert main(["train", "--resume", run, "--steps", "2"]) != 0
    assert f"--allow-endpoint {served.url}" in capsys.readouterr().err
    assert served.asked == []


@pytest.mark.parametrize("way", ["referee", "run"])
def test_a_file_runs_no_code(tmp_path: Path, way: str, capsys: pytest.CaptureFixture[str]) -> None:
    mark, code = tmp_path / "ran", tmp_path / "evil.py"
    code.write_text(CODE.format(mark=str(mark)), encoding="utf-8")
    player = f"module:{code}:me"
    asked = ["random", "--game", _game(tmp_path, player)]
    if way == "run":
        asked = [_run_with(tmp_path, player), "--game", "prisoners_dilemma"]
    capsys.readouterr()
    assert main(["eval", *asked, "--games", "2"]) == 2
    assert "would run a Python file" in capsys.readouterr().err
    assert not mark.exists()
    assert main(["eval", f"module:{code}:me", "--game", "stag_hunt", "--games", "2"]) == 0
    assert mark.exists(), "whoever runs the program may name it"


def test_a_budget_names_the_addresses(served: Served) -> None:
    game, spec = gamedsl.load("stag_hunt"), f"endpoint:{served.url}#m"
    for budget in (None, Budget(9, None), Budget(9, None, addresses=["http://localhost:1/v1"])):
        with pytest.raises(PlayerError, match="a file names an endpoint"):
            open_player(spec, game, seed=0, budget=budget, from_file=True)
    leave = Budget(9, None, addresses=[f"{served.url}/"])
    assert open_player(spec, game, seed=0, budget=leave, from_file=True)
    assert open_player(spec, game, seed=0)


def test_parts_of_a_player_have_its_rights(served: Served) -> None:
    game, spec = gamedsl.load("stag_hunt"), f"best_response:endpoint:{served.url}#m"
    with pytest.raises(PlayerError, match="a file names an endpoint"):
        open_player(spec, game, seed=0, from_file=True)
    with pytest.raises(PlayerError, match="odds of"):
        open_player(spec, game, seed=0)


def test_a_resume_says_which_leave_it_needs(
    tmp_path: Path, served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    player = f"roles.column.player=endpoint:{served.url}#m"
    train = ["train", *DILEMMA, "--set", "games=4", "--set", player, "--set", "budget.calls=2"]
    assert main([*train, "--out", str(tmp_path / "run")]) == 1
    said = capsys.readouterr().err
    assert f"--resume {tmp_path / 'run'} --allow-endpoint {served.url}" in said
    assert json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["game"]


def test_a_model_may_also_be_the_referee(tmp_path: Path) -> None:
    """Named on the command line, and as the model of the game's recipe."""
    file = tmp_path / "verdicts.yaml"
    text = GAME.format(role="judge", player="random").partition("train:")[0]
    file.write_text(f"{text}train: {{model: tiny}}\n", encoding="utf-8")
    assert main(["eval", "tiny", "--against", "random", "--game", str(file), "--games", "2"]) == 0
