"""`gamedsl push`: a run as a model card folder and a data set, and their upload."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import yaml

import gamedsl
from gamedsl.api.model_card import reproduce, upload, write_card
from gamedsl.diagnostics import Problems
from gamedsl.errors import UserError
from gamedsl.recipe.resolve import parse_overrides, read_recipe, resolve
from gamedsl.runs.saved import open_saved
from gamedsl.solve import tabulate
from gamedsl.view.report.run_data import read_run
from tests.report.hub import Hub, serving
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


def pushed(run: Path, out: Path, hub: Hub, *more: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own: the client reads the address as it is imported."""
    command = [sys.executable, "-m", "gamedsl", "push", str(run), "-o", str(out)]
    settings = {"HF_ENDPOINT": hub.address, "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_TELEMETRY": "1"}
    return subprocess.run(
        [*command, "--to", "ann/hunt", *more], env={**os.environ, **settings},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_push_uploads_model_and_plays(run: Path, tmp_path: Path) -> None:
    """The Hub's own client sends each file as it is, with the token, which is told nowhere."""
    out = tmp_path / "card"
    with serving() as hub:
        done = pushed(run, out, hub, "--private")
    assert done.returncode == 0, done.stderr
    assert [(one["name"], one.get("type", "model")) for one in hub.made] == [
        ("hunt", "model"), ("hunt-plays", "dataset"),
    ]  # fmt: skip
    assert all(one.get("private") or one.get("visibility") == "private" for one in hub.made)
    assert hub.tokens == {f"Bearer {TOKEN}"}
    for part, name in (("model", "ann/hunt"), ("plays", "ann/hunt-plays")):
        files = [path for path in (out / part).rglob("*") if path.is_file()]
        assert hub.files[name] == {
            path.relative_to(out / part).as_posix(): path.read_bytes() for path in files
        }
        assert not any(TOKEN in path.read_text(errors="replace") for path in files)
    assert f"{hub.address}/ann/hunt" in done.stdout
    assert TOKEN not in done.stdout + done.stderr


def test_upload_needs_a_token(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    write_card(run, tmp_path / "card")
    with pytest.raises(UserError, match="there is no token for the Hub"):
        upload(tmp_path / "card", "ann/hunt")


def test_refusal_of_the_hub_is_told(run: Path, tmp_path: Path) -> None:
    with serving(refuse=True) as hub:
        done = pushed(run, tmp_path / "card", hub)
    assert done.returncode == 1
    assert "the Hub refuses `ann/hunt`" in done.stderr
    assert "403" in done.stderr
    assert TOKEN not in done.stderr
    assert "Traceback" not in done.stderr


def test_folder_with_other_files_is_refused(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "card"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="has other files"):
        write_card(run, out)
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]
