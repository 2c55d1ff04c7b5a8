"""`gamedsl push`: a run as a model card folder and a data set, and their upload."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
import yaml

import gamedsl
from gamedsl.api.model_card import reproduce, upload, write_card
from gamedsl.cli import main
from gamedsl.diagnostics import Problems
from gamedsl.errors import UserError
from gamedsl.recipe.resolve import parse_overrides, read_recipe, resolve
from gamedsl.runs.saved import open_saved
from gamedsl.solve import tabulate
from gamedsl.view.report.run_data import read_run
from tests.report.runs import write_run

TOKEN = "hf_never_to_be_seen"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    tree = tabulate(gamedsl.load("stag_hunt").env())
    folder = write_run(tmp_path / "run", "stag_hunt", {one.key: "stag" for one in tree.info_sets})
    adapter = folder / "adapters" / "shared"
    adapter.mkdir(parents=True)
    (adapter / "adapter_config.json").write_text("{}")
    return folder


def front(path: Path) -> dict[str, Any]:
    _, head, _ = path.read_text().split("---\n", 2)
    return yaml.safe_load(head)


def test_card_has_the_parts_of_a_run(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "card"
    written = {path.relative_to(out).as_posix() for path in write_card(run, out)}
    assert written == {
        "model/README.md", "model/adapters/shared/adapter_config.json", "model/game/stag_hunt.yaml",
        "model/recipe.yaml", "model/metrics.jsonl", "model/portrait.svg", "model/report.html",
        "plays/README.md", "plays/plays.jsonl",
    }  # fmt: skip
    assert all((out / name).stat().st_size for name in written)
    head = front(out / "model" / "README.md")
    assert head["tags"] == ["gamedsl", "self-play", "stag_hunt"]
    text = (out / "model" / "README.md").read_text()
    assert gamedsl.load(out / "model" / "game" / "stag_hunt.yaml").hash in text
    assert (out / "model" / "portrait.svg").read_text().startswith("<svg xmlns=")
    everything = "".join((out / name).read_text() for name in written if "html" not in name)
    assert str(tmp_path) not in everything, "no path of the machine that trained"


def test_command_of_the_card_gives_the_recipe(run: Path) -> None:
    """Its settings resolve to the run's own, whatever the game has by itself."""
    game, saved = gamedsl.load("stag_hunt"), open_saved(run)
    recipe = resolve(
        game.ir,
        parse_overrides(
            ["method=reinforce", "lr=0.003", "steps=8", "lora.rank=4", "max_change=off"]
        ),
        Problems(),
    )
    (run / "recipe.yaml").write_text(yaml.safe_dump(recipe.as_dict()))
    words = reproduce(read_run(run), saved)
    assert words[:3] == ["gamedsl", "train", "game/stag_hunt.yaml"]
    assert shlex.split(shlex.join(words)) == words
    again = resolve(game.ir, parse_overrides(words[4::2]), Problems())
    assert again.as_dict() == read_recipe(saved.settings()).as_dict()
    assert any(word.startswith("lr=") for word in words)


def test_plays_are_rows_of_one_shape(run: Path, tmp_path: Path) -> None:
    write_card(run, tmp_path / "card")
    text = (tmp_path / "card" / "plays" / "plays.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    assert sorted(row["games"] for row in rows) == [38, 90]
    for row in rows:
        assert row["step"] == 8
        assert {one["seat"] for one in row["choices"]} == {"hunter_1", "hunter_2"}
        record = json.loads(row["transcript"])
        assert [one["amount"] for one in row["rewards"]] == list(record["rewards"].values())
    assert front(tmp_path / "card" / "plays" / "README.md")["configs"][0]["data_files"]


class Hub:
    """Stands in for `huggingface_hub.HfApi`, and notes what it is asked."""

    asked: list[tuple[str, str, str, bool | list[str]]] = []

    def create_repo(self, repo: str, *, repo_type: str, private: bool, exist_ok: bool) -> Any:
        assert exist_ok
        self.asked.append(("create", repo, repo_type, private))
        return SimpleNamespace(repo_id=repo)

    def upload_folder(
        self, *, folder_path: Path, repo_id: str, repo_type: str, **more: Any
    ) -> None:
        self.asked.append(
            ("upload", repo_id, repo_type, sorted(path.name for path in folder_path.iterdir()))
        )


def test_push_uploads_model_and_plays(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Hub, "asked", [])
    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    out = tmp_path / "card"
    assert main(["push", str(run), "-o", str(out), "--to", "ann/hunt", "--private"]) == 0
    assert [one[:3] for one in Hub.asked] == [
        ("create", "ann/hunt", "model"), ("upload", "ann/hunt", "model"),
        ("create", "ann/hunt-plays", "dataset"), ("upload", "ann/hunt-plays", "dataset"),
    ]  # fmt: skip
    assert Hub.asked[0][3] is True
    assert "adapters" in Hub.asked[1][3]
    assert "plays.jsonl" in Hub.asked[3][3]
    printed = capsys.readouterr()
    assert TOKEN not in printed.out + printed.err
    files = [path for path in out.rglob("*") if path.is_file()]
    assert not any(TOKEN in path.read_text(errors="replace") for path in files)


def test_upload_needs_a_token(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    write_card(run, tmp_path / "card")
    with pytest.raises(UserError, match="there is no token for the Hub"):
        upload(tmp_path / "card", "ann/hunt")


def test_refusal_of_the_hub_is_told(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(self: Hub, repo: str, **options: Any) -> Any:
        raise OSError("403: no right to write")

    monkeypatch.setattr(Hub, "create_repo", refuse)
    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert main(["push", str(run), "-o", str(tmp_path / "card"), "--to", "ann/hunt"]) == 1
    said = capsys.readouterr().err
    assert "the Hub refuses `ann/hunt`: 403: no right to write" in said
    assert TOKEN not in said


def test_folder_with_other_files_is_refused(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "card"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="has other files"):
        write_card(run, out)
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]
