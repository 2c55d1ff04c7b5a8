"""A run folder with a value of another shape is refused where it is read: file, line and field."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gamedsl.runs.errors import FileDamaged
from gamedsl.view.report.page import write_report
from tests.report.runs import write_run

HUNT = {"hunter_1:move": "stag", "hunter_2:move": "stag"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "run", "stag_hunt", HUNT, steps=2)


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def _edit(file: Path, line: int, path: tuple[Any, ...], value: Any) -> None:
    """Puts a value into one line of a file of JSON lines; a file of one value is line 1."""
    lines = file.read_text("utf-8").splitlines()
    *holders, key = path
    holder = record = json.loads(lines[line - 1])
    for one in holders:
        holder = holder[one]
    holder[key] = value
    lines[line - 1] = json.dumps(record)
    file.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.mark.parametrize(
    ("file", "line", "path", "value", "told"),
    [
        ("run.json", 1, ("versions",), "3.11", "its `versions` is not {package: text}"),
        ("run.json", 1, ("seed",), True, "its `seed` is not whole number"),
        ("labels.json", 1, ("kind",), [], "its `kind` is not text"),
        ("metrics.jsonl", 2, ("exploitability",), [[]],
         "line 2: its `exploitability` is not number or null"),
        ("metrics.jsonl", 1, ("prediction", "kind"), None,
         "line 1: its `prediction.kind` is not `pure` or `mixed` or `moving`"),
        ("metrics.jsonl", 1, ("prediction", "profile"), None,
         "line 1: its `prediction` is pure, and has no `profile`"),
        ("metrics.jsonl", 3, ("policy", "hunter_1:move", "probs"), None,
         "line 3: its `policy.'hunter_1:move'.probs` is not {action: share, …}"),
        ("metrics.jsonl", 2, ("rows",), {}, "line 2: its `rows` has no `solved`"),
        ("metrics.jsonl", 4, ("contributions",), {"row": None},
         "line 4: its `contributions.row` is not number"),
        ("transcripts/step-000002.jsonl", 1, ("failures",), {"hunter_1": {}},
         "line 1: its `failures.hunter_1` has no `reason`"),
        ("transcripts/step-000002.jsonl", 2, ("games",), 0, "line 2: its `games` is below 1"),
        ("transcripts/step-000002.jsonl", 2, ("rewards",), {},
         "line 2: its `rewards` are of other seats"),
    ],
)  # fmt: skip
def test_another_shape_is_refused(
    run: Path, file: str, line: int, path: tuple[Any, ...], value: Any, told: str
) -> None:
    _edit(run / file, line, path, value)
    with pytest.raises(FileDamaged) as found:
        write_report(run)
    assert found.value.file == run / file
    assert found.value.reason == told


def test_fields_that_nobody_knows_are_read_over(run: Path) -> None:
    _edit(run / "metrics.jsonl", 2, ("of_a_later_version",), [{}])
    _edit(run / "run.json", 1, ("of_a_later_version",), 1)
    write_report(run)


def test_a_policy_of_another_game_is_left_out(run: Path) -> None:
    _edit(run / "metrics.jsonl", 3, ("policy", "hunter_1:move", "probs"), {"hare": 1.0})
    _edit(run / "metrics.jsonl", 1, ("prediction", "probabilities"), {"x": {"y": 1}})
    write_report(run)


def test_labels_without_an_option_show_no_prompts(run: Path) -> None:
    """Of a run without checksums, as older ones: the page says what is missing."""
    labels = json.loads((run / "labels.json").read_text("utf-8"))
    del labels["labels"]["stag"]
    (run / "labels.json").write_text(json.dumps(labels), "utf-8")
    (run / "checksums.json").unlink(missing_ok=True)
    page = write_report(run).read_text("utf-8")
    assert "labels.json has no label of stag" in page


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    """A run whose folder is deleted while it trains ends in a sentence, which needs the file."""
    with pytest.raises(FileNotFoundError) as caught:
        write_report(tmp_path / "gone")
    assert caught.value.filename == str(tmp_path / "gone" / "run.json")
