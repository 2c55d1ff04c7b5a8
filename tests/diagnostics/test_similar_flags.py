"""A misspelt flag, or choice of a flag, is answered with the one that it resembles."""

from __future__ import annotations

import pytest

from gamedsl.cli import main


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("--formta=json", "; did you mean `--format`?\n"),
        ("--format=jsn", "; did you mean `json`?\n"),
        ("--zzzzzzzzzz", "--zzzzzzzzzz\n"),
    ],
)
def test_a_misspelt_flag_has_a_hint(
    given: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "stag_hunt", given]) == 2
    assert capsys.readouterr().err.split("usage:")[0].endswith(hint)
