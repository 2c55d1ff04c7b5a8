"""`gamedsl schema`: what editors load."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from gamedsl import cli
from gamedsl.sema.library import FOLDERS, Kind, shipped
from gamedsl.storage.shipped import shipped_folder


@pytest.mark.parametrize("kind", FOLDERS)
def test_schema_accepts_shipped_files(capsys: pytest.CaptureFixture[str], kind: Kind) -> None:
    assert cli.main(["schema", kind]) == 0
    printed = capsys.readouterr().out
    assert cli.main(["schema", kind, "--path"]) == 0
    path = Path(capsys.readouterr().out.rstrip("\n"))
    assert path.is_absolute()
    schema = json.loads(printed)
    own = json.loads(path.read_text(encoding="utf-8"))
    assert list(own["properties"]) == list(schema["properties"])
    file = shipped_folder() / FOLDERS[kind] / f"{shipped(kind)[0]}.yaml"
    jsonschema.validate(yaml.safe_load(file.read_text(encoding="utf-8")), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({kind: "a", "wibble": 1}, schema)


def test_kind_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema", "gmae"]) == 2
    assert "game" in capsys.readouterr().err
